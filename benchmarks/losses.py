"""Time of hard loss, IAUC, VUS and the losses of the top on a million rows in one list.

Run as ``python -m benchmarks losses``. scikit-learn's AUC and scipy's Kendall tau run beside them.
"""

from __future__ import annotations

import numpy as np

from benchmarks.timing import interleaved, table
from crucial.measures.names import get_measure

N_ROWS = 1_000_000
LABELS = {
    "hard_loss": "continuous",
    "iauc": "continuous",
    "iauc(triples)": "continuous",
    "localised_loss@1000": "continuous",
    "vus": "three",
    "neighbour_auc": "three",
    "auc": "two",
}


def main() -> None:
    from scipy.stats import kendalltau
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    true = rng.normal(size=N_ROWS)
    scores = true + rng.normal(size=N_ROWS)
    grades = np.digitize(true, [-0.5, 0.5])
    y = {"continuous": true, "three": grades, "two": (grades == 2).astype(int)}
    weight = rng.uniform(0.5, 2.0, N_ROWS)
    tied = np.round(scores, 2)
    rows = []
    for name, kind in LABELS.items():
        measure, labels = get_measure(name), y[kind]
        measure(labels, scores)  # (loads the kernels)
        seconds = interleaved(
            3,
            plain=lambda m=measure, l=labels: m(l, scores),
            tied=lambda m=measure, l=labels: m(l, tied),
            weighted=lambda m=measure, l=labels: m(l, scores, sample_weight=weight),
        )
        rows.append([name, kind, *seconds.values()])
    table(
        f"{N_ROWS:,} rows in one list, seconds (labels read and measured)",
        ["measure", "labels", "distinct scores", "tied scores", "weighted"],
        rows,
    )
    peers = interleaved(
        3,
        kendalltau=lambda: kendalltau(true, scores),
        roc_auc_score=lambda: roc_auc_score(y["two"], scores),
    )
    ours = {row[0]: row[2] for row in rows}
    table(
        "peers",
        ["call", "seconds", "times ours"],
        [
            ["scipy kendalltau", peers["kendalltau"], peers["kendalltau"] / ours["hard_loss"]],
            ["sklearn roc_auc_score", peers["roc_auc_score"], peers["roc_auc_score"] / ours["auc"]],
        ],
    )


if __name__ == "__main__":
    main()
