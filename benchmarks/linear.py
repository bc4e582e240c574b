"""Linear rankers against scikit-learn's LinearSVC on listed pairs, and NumPy's normal equations.

RankingSVM learns from all pairs that labels imply and lists none; LinearSVC gets a tenth of them as
differences of rows. RankRLS is timed beside one solution of the normal equations of the same table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.timing import THREADS, in_new_process, interleaved, table
from crucial.rankers import RankingSVM, RankRLS

N_ROWS, N_FEATURES, N_QUERIES = 100_000, 50, 1_000
L2 = 0.01
KINDS = ("rows only", "RankingSVM", "LinearSVC")


def problem(n_rows: int = N_ROWS) -> tuple[Any, Any, Any]:
    """Graded rows in queries of about a hundred."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, N_FEATURES))
    w = random.normal(size=N_FEATURES)
    scores = X @ w / np.linalg.norm(w) + random.normal(size=n_rows)
    return X, np.digitize(scores, [-1.0, 0.0, 1.0, 2.0]), np.sort(np.arange(n_rows) % N_QUERIES)


def listed(X: Any, y: Any, qid: Any, share: float = 0.1) -> tuple[Any, Any, int]:
    """Differences of a share of the pairs, half of them turned, and the number of all pairs."""
    random, high, low, n_pairs = np.random.default_rng(1), [], [], 0
    for rows in np.split(np.arange(len(y)), np.flatnonzero(np.diff(qid)) + 1):
        h, l = np.nonzero(y[rows][:, None] > y[rows])
        n_pairs += len(h)
        taken = random.choice(len(h), int(share * len(h)), replace=False)
        high.append(rows[h[taken]])
        low.append(rows[l[taken]])
    signs = np.where(np.arange(sum(map(len, high))) % 2, 1.0, -1.0)
    differences = X[np.concatenate(high)] - X[np.concatenate(low)]
    differences *= signs[:, None]
    return differences, signs, n_pairs


def main() -> None:
    """Print both comparisons and the memory of the first."""
    from sklearn.svm import LinearSVC

    X, y, qid = problem()
    differences, signs, n_pairs = listed(X, y, qid)
    # The same ridge beside the mean over pairs: liblinear has |w|^2 / 2 + C sum hinge^2.
    svc = LinearSVC(C=0.5 / (L2 * len(signs)), fit_intercept=False)
    default = LinearSVC(fit_intercept=False)
    calls = {
        "RankingSVM, hinge": lambda: RankingSVM(L2, n_jobs=THREADS).fit(X, y, qid=qid),
        "RankingSVM, squared hinge": lambda: RankingSVM(
            L2, loss="squared_hinge", n_jobs=THREADS
        ).fit(X, y, qid=qid),
        "LinearSVC, a tenth of the pairs, same ridge": lambda: svc.fit(differences, signs),
        "LinearSVC, a tenth of the pairs, C=1": lambda: default.fit(differences, signs),
    }
    calls["RankingSVM, hinge"]()  # (compiles the kernels, or loads them)
    seconds = interleaved(3, **calls)
    base = seconds["LinearSVC, a tenth of the pairs, same ridge"]
    rows = [[name, value, value / base] for name, value in seconds.items()]
    title = f"{N_ROWS:,} rows x {N_FEATURES}, {N_QUERIES:,} queries, {n_pairs:,} pairs"
    table(title, ["", "seconds", "of LinearSVC"], rows)

    memory = {kind: int(in_new_process("benchmarks.linear", kind)) for kind in KINDS}
    table("peak memory of the process", ["", "MB"], [[k, v / 1024] for k, v in memory.items()])

    X, y, qid = problem(1_000_000)
    labels = y.astype(float)
    seconds = interleaved(
        3,
        **{
            "numpy, X'X and solve": lambda: np.linalg.solve(X.T @ X, X.T @ labels),
            "RankRLS, one list": lambda: RankRLS(n_jobs=THREADS).fit(X, y),
            "RankRLS, queries": lambda: RankRLS(n_jobs=THREADS).fit(X, y, qid=qid),
        },
    )
    base = seconds["numpy, X'X and solve"]
    rows = [[name, value, value / base] for name, value in seconds.items()]
    table("1,000,000 rows x 50", ["", "seconds", "of numpy"], rows)


def peak(kind: str) -> None:
    """Print the peak memory in kB of a process that learns one way."""
    X, y, qid = problem()
    if kind == "RankingSVM":
        RankingSVM(L2, n_jobs=THREADS).fit(X, y, qid=qid)
    elif kind == "LinearSVC":
        from sklearn.svm import LinearSVC

        differences, signs, _ = listed(X, y, qid)
        LinearSVC(C=0.5 / (L2 * len(signs)), fit_intercept=False).fit(differences, signs)
    with open("/proc/self/status", encoding="utf-8") as status:
        print(next(line.split()[1] for line in status if line.startswith("VmHWM")))


if __name__ == "__main__":
    import sys

    peak(sys.argv[1])
