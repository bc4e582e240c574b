"""The ROC curve of a ranking tree: computed, then printed or drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crucial.errors import DataError, NotRankedError
from crucial.feedback.labels import check_labels, check_weights
from crucial.inspection.parts import model_of
from crucial.model.additive import sparkline
from crucial.model.ranking_trees import RankingTrees
from crucial.notebook import HtmlResult
from crucial.results import Axes, Frame, as_frame, new_axes
from crucial.types import Floats, TableLike, VectorLike
from crucial.wording import counted

__all__ = ["TreeRoc", "tree_roc"]


@dataclass(frozen=True, eq=False)
class TreeRoc(HtmlResult):
    """Result of `tree_roc`: a piecewise linear curve with one piece per leaf.

    Attributes
    ----------
    alpha, beta : arrays of shape (n_leaves,)
        Share of all low and of all high rows in each leaf, from left to right.
    scores : array of shape (n_leaves,)
        The scores of the leaves.
    auc : float
        Area under the curve.
    """

    _html_bars: ClassVar[Mapping[str, float | None]] = {"low": 1.0, "high": 1.0}

    alpha: Floats
    beta: Floats
    scores: Floats
    auc: float

    def __repr__(self) -> str:
        return f"TreeRoc({counted(len(self.scores), 'leaf')}, AUC {self.auc:.4f})"

    def __str__(self) -> str:
        points = self.points()
        grid = np.linspace(0.0, 1.0, 32)
        line = sparkline(np.interp(grid, points[0], points[1]).tolist(), 32)
        lines = [f"ROC curve of {counted(len(self.scores), 'leaf')}  {line}  AUC {self.auc:.4f}"]
        lines.append(f"{'score':>8}{'low rows':>10}{'high rows':>11}")
        for score, low, high in zip(self.scores, self.alpha, self.beta, strict=True):
            lines.append(f"{score:>8.4g}{low:>10.1%}{high:>11.1%}")
        return "\n".join(lines)

    def points(self) -> tuple[Floats, Floats]:
        """Return both coordinates of the corners, from (0, 0) to (1, 1)."""
        return (
            np.concatenate(([0.0], np.cumsum(self.alpha))),
            np.concatenate(([0.0], np.cumsum(self.beta))),
        )

    def to_frame(self) -> Frame:
        """Return one row per leaf: its score, its shares and where the curve is after it."""
        x, y = self.points()
        return as_frame(
            {
                "score": self.scores.tolist(),
                "low": self.alpha.tolist(),
                "high": self.beta.tolist(),
                "alpha": x[1:].tolist(),
                "beta": y[1:].tolist(),
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve with a mark per leaf; needs matplotlib. Returns the axes."""
        ax = new_axes(ax)
        ax.plot(*self.points(), marker="o", markersize=3, label=f"AUC {self.auc:.3f}")
        ax.plot([0, 1], [0, 1], linestyle=":", color="0.5", label="chance")
        ax.set_xlabel("share of low rows")
        ax.set_ylabel("share of high rows")
        ax.legend()
        return ax


def tree_roc(
    ranker: object,
    X: TableLike | None = None,
    y: VectorLike | None = None,
    *,
    sample_weight: VectorLike | None = None,
) -> TreeRoc:
    """Compute the ROC curve of a tree, leaf by leaf.

    Parameters
    ----------
    ranker : fitted TreeRank or RankOver, or RankingTrees of one tree
    X, y : rows and labels of two values, optional
        Without both, a fitted `TreeRank` shows the curve of its training rows.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows X.

    Examples
    --------
    >>> from crucial import TreeRank
    >>> X = np.array([[0.0], [0.5], [0.125], [0.75], [0.25], [1.0], [0.625], [0.875]])
    >>> ranker = TreeRank(1, splitter="stump", min_rows=2).fit(X, [1, 0, 1, 0, 1, 0, 0, 1])
    >>> tree_roc(ranker)
    TreeRoc(2 leaves, AUC 0.8750)
    >>> tree_roc(ranker).to_frame().beta.tolist()
    [0.75, 1.0]
    """
    model = model_of(ranker)
    if not isinstance(model, RankingTrees) or len(model.trees) != 1:
        raise NotRankedError(
            "tree_roc draws one tree. For a forest and every other ranker use "
            "roc_curve(y, ranker.predict(X))."
        )
    scores = np.array(model.trees[0].scores)
    _check_together(X, y, sample_weight)
    if X is None or y is None:
        alpha, beta = getattr(ranker, "leaf_alpha_", None), getattr(ranker, "leaf_beta_", None)
        if alpha is None or beta is None:
            raise DataError("tree_roc needs rows and labels, X and y, of a model from a file.")
    else:
        leaf = model.leaves(X)[:, 0]
        labels = check_labels(y, len(leaf))
        weight = check_weights(sample_weight, len(leaf))
        mass = np.ones(len(leaf)) if weight is None else weight
        values = np.unique(labels[mass > 0])
        if len(values) != 2:
            raise DataError(
                "tree_roc needs labels of two values among the rows with a weight above 0. Got "
                f"{len(values)}. Pass rows of both labels, or y >= a threshold.",
                parameter="y",
            )
        alpha, beta = (
            np.bincount(leaf[labels == one], mass[labels == one], len(scores))
            / mass[labels == one].sum()
            for one in values
        )
    area = float(alpha @ (np.cumsum(beta) - 0.5 * beta))
    return TreeRoc(alpha, beta, scores, area)


def _check_together(
    X: TableLike | None, y: VectorLike | None, sample_weight: VectorLike | None
) -> None:
    """Refuse rows without labels, labels without rows, and weights of no rows."""
    if (X is None) != (y is None):
        there, absent = ("y", "X") if X is None else ("X", "y")
        raise DataError(
            f"tree_roc needs rows with their labels. Got {there} without {absent}.",
            remedy="Pass X and y, or neither for the curve of the training rows.",
            parameter=absent,
        )
    if X is None and sample_weight is not None:
        raise DataError(
            "tree_roc: sample_weight has the weights of the rows X. Got it without X and y; the "
            "curve of the training rows has the weights of the training.",
            remedy="Pass X and y too, or leave sample_weight out.",
            parameter="sample_weight",
        )
