"""Peak memory of a fit at 480,000 x 136 float32, against LightGBM; a process each.

Stumps against trees of two leaves, and trees of 31 leaves against the same.
"""

from __future__ import annotations

import sys

from benchmarks.timing import THREADS, in_new_process, table


def reset_peak() -> None:
    """Let the kernel forget the peak so far (a child inherits that of its parent)."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as control:
        control.write("5")


def peak_mb() -> float:
    """Largest resident size since the peak was reset, in MB (Linux)."""
    with open("/proc/self/status", encoding="ascii") as lines:
        for line in lines:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    raise RuntimeError("the system does not tell the peak of a process")


def measure(who: str, leaves: int) -> None:
    """Print the peak before and after training, in MB."""
    import numpy as np

    from crucial import GradientRanker, RankBoost, make_letor

    small = make_letor(100, 120, 136, seed=1)
    made = make_letor(4000, 120, 136, seed=0)
    X, y, qid = made.X, made.y, made.qid
    if who == "crucial":

        def ranker(rounds: int) -> RankBoost | GradientRanker:
            if leaves == 2:
                return RankBoost(rounds, n_jobs=THREADS)
            return GradientRanker(
                rounds, loss="lambda", symmetric=False, max_leaves=leaves, n_jobs=THREADS
            )

        ranker(2).fit(small.X, small.y, qid=small.qid)
        reset_peak()
        before = peak_mb()
        ranker(20).fit(X, y, qid=qid)
    else:
        import lightgbm as lgb

        sizes = np.diff(np.flatnonzero(np.diff(qid, prepend=-1, append=-1)))
        parameters = {"objective": "lambdarank", "num_leaves": leaves, "verbose": -1}
        parameters["num_threads"] = THREADS
        reset_peak()
        before = peak_mb()
        lgb.train(parameters, lgb.Dataset(X, y, group=sizes, params=parameters), 20)
    print(before, peak_mb())


def main() -> None:
    rows = []
    bins = 480_000 * 136
    for leaves in ("2", "31"):
        for who in ("crucial", "LightGBM"):
            before, after = map(float, in_new_process("benchmarks.memory", who, leaves).split())
            extra = (after - before) * 2**20
            each = f"{(extra - bins) / 480_000:.0f}"
            rows.append([who, leaves, f"{before:.0f}", f"{after:.0f}", each])
    header = ["library", "leaves", "MB before", "MB at peak", "bytes a row beyond input and bins"]
    table("Peak memory, 480,000 x 136 float32, 20 rounds", header, rows)


if __name__ == "__main__":
    measure(sys.argv[1], int(sys.argv[2])) if len(sys.argv) > 1 else main()
