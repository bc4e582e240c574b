"""Time of the measures on 10,000 queries of 100 items, beside scikit-learn and ranx.

Run as ``python -m benchmarks.measures``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.timing import interleaved, table
from crucial.measures.evaluation import evaluate
from crucial.measures.names import get_measure

N_ROWS = 1_000_000
LONG_LISTS = {
    "hard_loss": "continuous",
    "iauc": "continuous",
    "iauc(triples)": "continuous",
    "localised_loss@1000": "continuous",
    "vus": "three",
    "neighbour_auc": "three",
    "auc": "two",
}


def one_list() -> None:
    from scipy.stats import kendalltau
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    true = rng.normal(size=N_ROWS)
    scores = true + rng.normal(size=N_ROWS)
    grades = np.digitize(true, [-0.5, 0.5])
    y = {"continuous": true, "three": grades, "two": (grades == 2).astype(int)}
    weight = rng.uniform(0.5, 2.0, N_ROWS)
    tied = np.round(scores, 2)
    lines = []
    for name, kind in LONG_LISTS.items():
        measure, labels = get_measure(name), y[kind]
        measure(labels, scores)  # (loads the kernels)
        seconds = interleaved(
            3,
            plain=lambda m=measure, l=labels: m(l, scores),
            tied=lambda m=measure, l=labels: m(l, tied),
            weighted=lambda m=measure, l=labels: m(l, scores, sample_weight=weight),
        )
        lines.append([name, kind, *seconds.values()])
    table(
        f"{N_ROWS:,} lines in one list, seconds (labels read and measured)",
        ["measure", "labels", "distinct scores", "tied scores", "weighted"],
        lines,
    )
    peers = interleaved(
        3,
        kendalltau=lambda: kendalltau(true, scores),
        roc_auc_score=lambda: roc_auc_score(y["two"], scores),
    )
    ours = {row[0]: row[2] for row in lines}
    table(
        "peers",
        ["call", "seconds", "times ours"],
        [
            ["scipy kendalltau", peers["kendalltau"], peers["kendalltau"] / ours["hard_loss"]],
            ["sklearn roc_auc_score", peers["roc_auc_score"], peers["roc_auc_score"] / ours["auc"]],
        ],
    )


if __name__ == "__main__":
    one_list()


N_QUERIES, N_ITEMS = 10_000, 100
NAMES = [
    "ndcg@10", "ndcg", "map", "mrr", "p@10", "recall@10", "rbp", "err", "r2", "kendall(tau)",
    "prot", "coverage", "top@10", "avg_rank",
]  # fmt: skip


def best_ms(work: Callable[[], Any], times: int = 5) -> float:
    """Least time of a few runs in a warm process, in milliseconds."""
    work()
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return 1e3 * min(taken)


def make_lists(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Graded labels and scores that know a little about them."""
    rng = np.random.default_rng(seed)
    y = rng.choice(5, N_QUERIES * N_ITEMS, p=[0.5, 0.3, 0.12, 0.06, 0.02])
    return y, 0.3 * y + rng.normal(size=len(y)), np.repeat(np.arange(N_QUERIES), N_ITEMS)


def ours() -> None:
    y, scores, qid = make_lists()
    steps = np.round(scores)  # about as many different scores as a small stump model gives
    mixed = np.random.default_rng(1).permutation(len(y))
    print(
        f"{'measure':<14}{'evaluate':>10}{'prepared':>10}{'tied':>10}{'trec':>10}{'mixed rows':>12}"
    )
    for name in NAMES:
        prepared = get_measure(name).prepare(y, qid)
        trec = get_measure(name).prepare(y, qid, ties="trec")
        shuffled = get_measure(name).prepare(y[mixed], qid[mixed])
        times = [
            best_ms(lambda name=name: evaluate(y, scores, qid, name)),
            best_ms(lambda prepared=prepared: prepared(scores)),
            best_ms(lambda prepared=prepared: prepared(steps)),
            best_ms(lambda trec=trec: trec(scores)),
            best_ms(lambda shuffled=shuffled: shuffled(scores[mixed])),
        ]
        print(f"{name:<14}" + "".join(f"{t:>10.1f}" for t in times[:4]) + f"{times[4]:>12.1f}")
    together = best_ms(lambda: evaluate(y, scores, qid, NAMES), 2)
    spans = best_ms(lambda: evaluate(y, scores, qid, "ndcg@10", intervals=0.95), 2)
    print(
        f"all {len(NAMES)} in one call: {together:.0f} ms; ndcg@10 with intervals: {spans:.0f} ms"
    )


def peers() -> None:
    from sklearn.metrics import ndcg_score

    y, scores, qid = make_lists()
    mine = best_ms(lambda: evaluate(y, scores, qid, "ndcg@10"))
    labels, values = y.reshape(N_QUERIES, -1), scores.reshape(N_QUERIES, -1)
    for ignore in (True, False):
        theirs = best_ms(
            lambda ignore=ignore: ndcg_score(labels, values, k=10, ignore_ties=ignore), 1
        )
        ties = "ties ignored" if ignore else "ties averaged"
        print(f"scikit-learn ndcg_score, {ties}: {theirs:.0f} ms, {theirs / mine:.1f} times ours")
    if find_spec("ranx") is None:
        print("ranx is not installed; left out")
        return
    import ranx

    names = [f"d{i}" for i in range(N_ITEMS)]
    start = time.perf_counter()
    qrels = ranx.Qrels(
        {f"q{i}": dict(zip(names, row.tolist(), strict=True)) for i, row in enumerate(labels)}
    )
    run = ranx.Run(
        {f"q{i}": dict(zip(names, row.tolist(), strict=True)) for i, row in enumerate(values)}
    )
    building = time.perf_counter() - start
    theirs = best_ms(lambda: ranx.evaluate(qrels, run, "ndcg@10"), 1)
    print(f"ranx ndcg@10: {theirs:.0f} ms after {building:.1f} s of building its objects, "
          f"{theirs / mine:.1f} times ours")  # fmt: skip


def main() -> None:
    print(f"{N_QUERIES:,} queries of {N_ITEMS} items, milliseconds, best of five in a warm process")
    ours()
    peers()
    one_list()


if __name__ == "__main__":
    main()
