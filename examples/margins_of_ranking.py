"""
RankBoost misses the largest margin, smooth margin ranking finds it
===================================================================

The margin of a ranker is by how much it orders its worst pair right, its weights summing
to 1. Rudin & Schapire (2009, theorem 6) give eight weak rankers and eight pairs whose
largest margin is 3/8, and on which RankBoost runs in circles: its margin tends to 1/3.
Smooth margin ranking goes on to 3/8.

Run it with ``python examples/margins_of_ranking.py picture.png`` (it uses matplotlib);
without a name the picture goes to a temporary folder.
"""

import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import crucial

ROUNDS = 20_000

# A row is a pair, a column a weak ranker: + where it orders the pair right, - where wrong.
MATRIX = [
    "-++++--+",
    "-++--+++",
    "+-+++-++",
    "+-++-+++",
    "+-+-+++-",
    "++-++++-",
    "++-+++-+",
    "++++--+-",
]


def as_weak_rankers(matrix: list[str]) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Two rows for every pair, one scored 1 and one 0 by each weak ranker."""
    right = np.array([[c == "+" for c in row] for row in matrix])
    return np.concatenate((right, ~right)).astype(float), [
        (i, i + len(matrix)) for i in range(len(matrix))
    ]


def margin_by_round(ranker, X: np.ndarray, pairs: list[tuple[int, int]]) -> np.ndarray:
    """The margin after every round, from the weights that each weak ranker has by then."""
    signs = np.array([X[a] - X[b] for a, b in pairs])
    steps = np.zeros((len(ranker.trace_), X.shape[1]))
    chosen = [one.ranker.feature for one in ranker.trace_]
    steps[np.arange(len(chosen)), chosen] = ranker.trace_.column("alpha")
    totals = steps.cumsum(axis=0)
    return (totals @ signs.T).min(axis=1) / totals.sum(axis=1)


def draw(curves: dict[str, np.ndarray], rho: float, path: Path) -> None:
    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    for name, curve in curves.items():
        ax.plot(np.arange(1, len(curve) + 1), curve, label=name)
    ax.axhline(rho, linestyle=":", color="0.3", label="largest margin, 3/8")
    ax.axhline(1 / 3, linestyle=":", color="0.7", label="1/3")
    ax.set(xscale="log", xlabel="round", ylabel="margin of the worst pair", ylim=(0.2, 0.4))
    ax.legend(loc="lower right")
    figure.savefig(path, dpi=120)


def main() -> None:
    X, pairs = as_weak_rankers(MATRIX)
    rho, weights = crucial.inspection.max_margin(X, pairs)
    print(f"largest margin, by linear programming: {rho:.5f}")
    print(f"with weights {np.round(weights, 3).tolist()}\n")

    descent = crucial.RankBoost.preset("coordinate_descent", weak="column", n_estimators=ROUNDS)
    smooth = crucial.rankers.SmoothMarginRanker(ROUNDS, weak="column")
    curves = {}
    for name, ranker in (("RankBoost", descent), ("smooth margin", smooth)):
        ranker.fit_pairs(X, pairs)
        curves[name] = margin_by_round(ranker, X, pairs)
        told = ", ".join(f"{curves[name][n - 1]:.5f} after {n:,}" for n in (100, 2_000, ROUNDS))
        print(f"{name:<14} {told} rounds")
    print(f"\nall pairs in order since round {smooth.separable_round_}")
    print(crucial.inspection.margins(smooth, X, pairs=pairs))

    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "margins.png"
        draw(curves, rho, path)
        print(f"\nthe picture has {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
