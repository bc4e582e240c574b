"""
Ranking trees
=============

A sum of functions of one feature only comes near to a ranking by nested squares. Ranking trees
can say "inside the square" (Clemencon & Vayatis 2009): every node is split so that the ROC curve
of the tree rises most, and the leaves from left to right are the ranking.

Run it with ``python examples/ranking_trees.py picture.png`` (it uses matplotlib); without a name
the picture goes to a temporary folder.
"""

import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import crucial
from crucial import inspection


def nested_squares(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows in a square; the nearer to its centre, the more of them are good."""
    random = np.random.default_rng(seed)
    X = random.uniform(-2, 2, (n, 2))
    ring = np.minimum((2 * np.abs(X).max(axis=1)).astype(int), 3)
    return X, (random.random(n) < np.array([0.9, 0.7, 0.4, 0.2])[ring]).astype(int)


# %%
# Four rankers, and how well they rank rows that they have not seen.

X, y = nested_squares(2000, seed=0)
X_test, y_test = nested_squares(4000, seed=1)
rankers = {
    "RankBoost": crucial.RankBoost(),
    "tree of stumps": crucial.rankers.TreeRank(splitter="stump"),
    "tree of small trees": crucial.rankers.TreeRank(),
    "forest": crucial.rankers.RankingForest(20),
}
for name, ranker in rankers.items():
    ranker.fit(X, y)
    print(f"{name:<20} AUC {ranker.score(X_test, y_test):.3f}")

# %%
# The curve of one tree has a straight piece per leaf. A tree that is pruned has fewer, and the
# price of a leaf is chosen by cross-validation. At the right: what the forest learned; the
# better the score, the darker.

pruned = crucial.rankers.TreeRank(pruning="cv").fit(X, y)
print(f"pruned at {pruned.penalty_:.4f} a leaf: {pruned.model_.size}")
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
inspection.tree_roc(rankers["tree of small trees"], X_test, y_test).plot(left)
inspection.tree_roc(pruned, X_test, y_test).plot(left)
left.set_title("before and after pruning")
grid = np.stack(np.meshgrid(np.linspace(-2, 2, 80), np.linspace(-2, 2, 80)), axis=-1)
scores = rankers["forest"].predict(grid.reshape(-1, 2)).reshape(80, 80)
right.imshow(scores, origin="lower", extent=(-2, 2, -2, 2), cmap="Greys")
right.set_title("scores of the forest")

picture = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "trees.png"
fig.savefig(picture)
print(f"picture: {picture}")
