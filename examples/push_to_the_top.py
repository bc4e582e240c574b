"""
Push to the top
===============

When only the first screen counts, a ranking may give up some of its lower part for a clean
top. The p-norm push (Rudin 2009) does: the larger p, the more it costs a bad row to stand high.
Here real images of handwritten digits are ranked, 5 to 9 before 0 to 4, and looked at on
images that were not learned from.

Run it with ``python examples/push_to_the_top.py picture.png`` (it uses matplotlib); without a
name the picture goes to a temporary folder.
"""

import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import StratifiedKFold

import crucial

Ranker = crucial.rankers.PNormPush | crucial.rankers.InfinitePush
POWERS = (1, 2, 4, 16, 64)
MEASURES = ("above all bad", "p@50", "p@100", "auc")


def at_the_top(scores: np.ndarray, y: np.ndarray) -> float:
    """Share of the good rows that stand above every bad one."""
    return float((scores[y == 1] > scores[y == 0].max()).mean())


def measured(scores: np.ndarray, y: np.ndarray) -> list[float]:
    values = crucial.evaluate(y, scores, measures=["p@50", "p@100", "auc"])
    return [at_the_top(scores, y), *(values[name] for name in MEASURES[1:])]


def held_out(ranker: Ranker, X: np.ndarray, y: np.ndarray) -> list[float]:
    """Mean over two halves, each ranked by what the other taught."""
    halves = StratifiedKFold(2, shuffle=True, random_state=0).split(X, y)
    values = [measured(ranker.fit(X[a], y[a]).predict(X[b]), y[b]) for a, b in halves]
    return np.mean(values, axis=0).tolist()


def draw(table: dict[str, list[float]], path: Path) -> None:
    """The top and the whole list against p."""
    figure, left = plt.subplots(figsize=(7, 4), layout="constrained")
    right = left.twinx()
    for axis, column, form, colour in ((left, 0, "o-", "C0"), (right, 3, "s--", "C1")):
        *stumps, linear = (row[column] for row in table.values())
        axis.plot(range(len(stumps)), stumps, form, color=colour)
        axis.plot([len(stumps)], [linear], form[0], color=colour, fillstyle="none")
    left.set_xticks(range(len(table)), [*POWERS, "inf\n(linear)"])
    left.set_xlabel("p")
    left.set_ylabel("good digits above every bad one", color="C0")
    right.set_ylabel("AUC: pairs in the right order", color="C1")
    figure.savefig(path, dpi=120)


def main() -> None:
    X, digit = load_digits(return_X_y=True)
    X, y = X[:, np.ptp(X, axis=0) > 4], (digit >= 5).astype(int)  # (corners are always white)
    table = {str(p): held_out(crucial.rankers.PNormPush(p, 150), X, y) for p in POWERS}
    # The limit of a growing p, on weighted features instead of stumps.
    table["inf"] = held_out(crucial.rankers.InfinitePush(), X, y)
    print(f"{'p':>4}  " + "".join(f"{name:>15}" for name in MEASURES))
    for name, row in table.items():
        print(f"{name:>4}  " + "".join(f"{value:15.3f}" for value in row))

    first, last = table["1"], table["64"]
    print(
        f"\nRankBoost (p = 1) puts {first[0]:.1%} of the good digits above every bad one, p = 64 "
        f"puts {last[0]:.1%};\nof all pairs it orders {first[3]:.1%} right, p = 64 {last[3]:.1%}."
    )
    print(f"\nthe top gains: {last[0] > first[0]}; the whole list loses: {last[3] < first[3]}")

    # Stumps order the tumours they have seen almost without mistakes. Then there is nothing to
    # give up for the top, and a large p only follows fewer rows.
    X, benign = load_breast_cancer(return_X_y=True)
    few = {p: held_out(crucial.rankers.PNormPush(p, 150), X, 1 - benign)[0] for p in (1, 64)}
    print(f"\nnot everywhere: of the tumours, p = 1 puts {few[1]:.1%} first, p = 64 {few[64]:.1%}")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "push.png"
        draw(table, path)
        print(f"\nthe picture has {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
