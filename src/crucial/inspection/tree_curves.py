"""The ROC curve of a ranking tree, the integrated ROC curve, the ROC surface of three classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crucial.errors import DataError, NotRankedError
from crucial.feedback.labels import check_labels, check_weights
from crucial.inspection.curves import Band, RankedRows, band_of, draw_band, limits, read_rows
from crucial.inspection.shape_functions import model_of
from crucial.measures.names import get_measure
from crucial.model.additive import sparkline
from crucial.model.ranking_trees import RankingTrees
from crucial.parameters import at_least, check
from crucial.results import Axes, Frame, Result, as_frame, name_axes, new_axes
from crucial.types import Bools, Floats, TableLike, VectorLike
from crucial.wording import counted

# --- The ROC curve of a ranking tree: computed, then printed or drawn


@dataclass(frozen=True, eq=False, repr=False)
class TreeRoc(Result):
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

    _bars = ("low", "high")

    alpha: Floats
    beta: Floats
    scores: Floats
    auc: float

    def __str__(self) -> str:
        line = sparkline(np.interp(np.linspace(0.0, 1.0, 32), *self.points()).tolist(), 32)
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
        columns = {"score": self.scores, "low": self.alpha, "high": self.beta}
        return as_frame({**columns, "alpha": x[1:], "beta": y[1:]})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve with a mark per leaf; needs matplotlib. Returns the axes."""
        ax = new_axes(ax)
        ax.plot(*self.points(), marker="o", markersize=3, label=f"AUC {self.auc:.3f}")
        ax.plot([0, 1], [0, 1], linestyle=":", color="0.5", label="chance")
        return name_axes(ax, "share of low rows", "share of high rows")


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
    ranker : fitted TreeRank or RankOver of two classes, or RankingTrees of one tree
    X, y : rows and labels of two values, optional
        Without both, a fitted `TreeRank` of two classes shows the curve of its training rows.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows X.

    Examples
    --------
    >>> from crucial.rankers import TreeRank
    >>> X = np.array([[0.0], [0.5], [0.125], [0.75], [0.25], [1.0], [0.625], [0.875]])
    >>> ranker = TreeRank(1, splitter="stump", min_rows=2).fit(X, [1, 0, 1, 0, 1, 0, 0, 1])
    >>> tree_roc(ranker).auc
    0.875
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


# --- The integrated ROC curve: for continuous labels, the mean of the ROC curves of all thresholds


#: Places of the curve where the exact ones are too many.
_GRID = np.linspace(0.0, 1.0, 201)
_EXACT_POINTS = 50_000


@dataclass(frozen=True, eq=False, repr=False)
class IrocCurve(Result):
    """Result of `iroc_curve`.

    Attributes
    ----------
    alpha, beta : arrays of shape (n_points,)
        Mean over thresholds of the share of the rows above the threshold with at least some
        score, where that score leaves the share alpha of the rows below it. A vertical step has
        two points.
    iauc : float
        Integrated AUC over all thresholds: the measure ``iauc``.
    n_thresholds : int
        Number of labels that were thresholds.
    exact : bool
        Whether all labels were thresholds and the points are all the corners of the curve; the
        area under it is then iauc.
    band : Band or None
        Bootstrap band of beta over alpha.
    """

    _bars = ("beta",)

    alpha: Floats
    beta: Floats
    iauc: float
    n_thresholds: int
    exact: bool
    band: Band | None = None

    def __str__(self) -> str:
        line = sparkline(limits(self.alpha, self.beta, np.linspace(0, 1, 32))[1].tolist(), 32)
        return (
            f"IROC curve  {line}  IAUC {self.iauc:.4f}, {counted(self.n_thresholds, 'threshold')}"
        )

    def to_frame(self) -> Frame:
        """Return one row per point."""
        return as_frame({"alpha": self.alpha, "beta": self.beta})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve; needs matplotlib. Returns the axes."""
        ax = new_axes(ax)
        ax.plot(self.alpha, self.beta, label=f"IAUC {self.iauc:.3f}")
        draw_band(ax, self.band)
        ax.plot([0, 1], [0, 1], linestyle=":", color="0.5", label="chance")
        return name_axes(
            ax, "share of rows below the threshold", "share of rows above the threshold"
        )


def iroc_curve(
    y: VectorLike,
    scores: VectorLike,
    *,
    sample_weight: VectorLike | None = None,
    max_thresholds: int = 200,
    intervals: bool | float = False,
    resamples: int = 100,
    random_state: int = 0,
) -> IrocCurve:
    """Compute the integrated ROC curve of scores for continuous labels.

    For every row in turn its label is a threshold; the curve is the mean of the ROC curves of
    the rows above against the rows below (Clémençon & Achab 2017; Werner 2019, section 3.5).
    Rows of the label itself are on neither side, and a threshold with an empty side is left out.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels of at least three values.
    scores : array-like of shape (n_rows,)
        Of one query.
    sample_weight : array-like of shape (n_rows,), optional
    max_thresholds : int
        Labels to average over; of more, as many are taken at equal steps.
    intervals : bool or float
        Level of a bootstrap band; True is 0.95.
    resamples, random_state : int
        Number of bootstraps and their seed.

    Examples
    --------
    >>> curve = iroc_curve([1.0, 2.0, 3.0, 4.0], [0.1, 0.3, 0.2, 0.9])
    >>> round(curve.iauc, 6), curve.n_thresholds
    (1.0, 2)
    """
    check("iroc_curve", "max_thresholds", max_thresholds, at_least(1))
    rows = read_rows(y, scores, sample_weight, "iroc_curve")
    levels = np.unique(rows.y)
    if len(levels) < 3:
        raise DataError(
            f"iroc_curve needs labels of at least three values. Got {len(levels)}. Use roc_curve "
            "for two."
        )
    inner = levels[1:-1]
    every = len(inner) <= max_thresholds
    if not every:
        inner = inner[np.linspace(0, len(inner) - 1, max_thresholds).round().astype(int)]
    at, exact = _GRID, False
    if every and len(inner) * len(rows.scores) <= _EXACT_POINTS:
        at, exact = np.unique([_sides(rows, rows.weight, t)[0] for t in inner]), True
    left, right = _mean_curve(rows, rows.weight, inner, at)
    coarse = np.linspace(0.0, 1.0, 51)
    band = band_of(
        lambda weight: _mean_curve(rows, weight, inner, coarse)[1],
        coarse, rows.weight, [np.arange(len(rows.y))], intervals, resamples, random_state,
    )  # fmt: skip
    area = get_measure("iauc")(rows.y, rows.scores[rows.block], sample_weight=rows.weight)
    alpha, beta = np.repeat(at, 2), np.column_stack([left, right]).ravel()
    return IrocCurve(alpha, beta, area, len(inner), exact, band)


def _sides(rows: RankedRows, weight: Floats, threshold: float) -> tuple[Floats, Floats]:
    """Return the ROC curve of the rows above a threshold against the rows below it."""
    return rows.shares(weight * (rows.y < threshold)), rows.shares(weight * (rows.y > threshold))


def _mean_curve(
    rows: RankedRows, weight: Floats, thresholds: Floats, at: Floats
) -> tuple[Floats, Floats]:
    """Return the limits from both sides of the mean curve; a threshold weighs its rows."""
    sums, total = np.zeros((2, len(at))), 0.0
    for threshold in thresholds:
        mass = float(weight[rows.y == threshold].sum())
        below, above = weight[rows.y < threshold].sum(), weight[rows.y > threshold].sum()
        if mass > 0 and below > 0 and above > 0:
            sums += mass * np.array(limits(*_sides(rows, weight, threshold), at))
            total += mass
    left, right = sums / total if total > 0 else np.full_like(sums, np.nan)
    return left, right


# --- The ROC surface of three ordered classes


@dataclass(frozen=True, eq=False, repr=False)
class RocSurface(Result):
    """Result of `roc_surface`.

    With two thresholds, a row below both is put into the lowest class and a row above both into
    the highest.

    Attributes
    ----------
    alpha_low, alpha_high : arrays of shape (n_points,)
        Shares of the lowest and of the highest class that are put into it.
    beta_middle : array of shape (n_points, n_points)
        Share of the middle class between the thresholds, by alpha_low (rows) and alpha_high.
    vus : float
        Volume under the surface: the measure ``vus``.
    band : Band or None
        Bootstrap band of beta_middle; ``band.at`` is alpha_low.
    """

    alpha_low: Floats
    alpha_high: Floats
    beta_middle: Floats
    vus: float
    band: Band | None = None

    def __str__(self) -> str:
        picked = np.linspace(0, len(self.alpha_low) - 1, 6).round().astype(int)
        lines = [f"ROC surface, VUS {self.vus:.4f} (chance 0.1667): share of the middle class"]
        lines += ["low \\ high" + "".join(f"{self.alpha_high[j]:8.2f}" for j in picked)]
        for i in picked:
            cells = "".join(f"{self.beta_middle[i, j]:8.3f}" for j in picked)
            lines.append(f"{self.alpha_low[i]:10.2f}{cells}")
        return "\n".join(lines)

    def to_frame(self) -> Frame:
        """Return one row per point."""
        low, high = np.meshgrid(self.alpha_low, self.alpha_high, indexing="ij")
        columns = {"alpha_low": low, "alpha_high": high, "beta_middle": self.beta_middle}
        if self.band is not None:
            columns |= {"low": self.band.low, "high": self.band.high}
        return as_frame({name: values.ravel() for name, values in columns.items()})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the surface, and its band as two meshes; needs matplotlib. Returns the axes.

        ``ax`` must have the projection "3d".
        """
        canvas: Any = new_axes(ax, projection="3d")
        if not hasattr(canvas, "plot_surface"):
            raise DataError("a surface needs axes with projection='3d'.")
        low, high = np.meshgrid(self.alpha_low, self.alpha_high, indexing="ij")
        canvas.plot_surface(low, high, self.beta_middle, alpha=0.7)
        if self.band is not None:
            for edge in (self.band.low, self.band.high):
                canvas.plot_wireframe(low, high, edge, color="0.5", linewidth=0.5)
        canvas.set_xlabel("share of the lowest class")
        canvas.set_ylabel("share of the highest class")
        canvas.set_title(f"share of the middle class, VUS {self.vus:.3f}")
        drawn: Axes = canvas
        return drawn


def roc_surface(
    y: VectorLike,
    scores: VectorLike,
    *,
    sample_weight: VectorLike | None = None,
    n_points: int = 51,
    intervals: bool | float = False,
    resamples: int = 200,
    random_state: int = 0,
) -> RocSurface:
    """Compute the ROC surface of scores for labels of three values.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels of three values.
    scores : array-like of shape (n_rows,)
        Of one query. Rows of equal scores are spread evenly over their place, which makes m
        classes that tie count 1/m!, as in the measure ``vus``.
    sample_weight : array-like of shape (n_rows,), optional
    n_points : int
        Points per side.
    intervals : bool or float
        Level of a bootstrap band, drawn inside each class; True is 0.95.
    resamples, random_state : int
        Number of bootstraps and their seed.

    Examples
    --------
    >>> surface = roc_surface([0, 1, 2, 0, 1, 2], [1, 2, 3, 2, 4, 5], n_points=3)
    >>> round(surface.vus, 4)
    0.625
    >>> surface.beta_middle.tolist()
    [[1.0, 1.0, 0.5], [1.0, 1.0, 0.5], [0.5, 0.5, 0.0]]
    """
    check("roc_surface", "n_points", n_points, at_least(2))
    rows = read_rows(y, scores, sample_weight, "roc_surface")
    labels = np.unique(rows.y)
    if len(labels) != 3:
        raise DataError(
            f"roc_surface needs labels of three values. Got {len(labels)}. Use roc_curve for two, "
            "and the measures vus or iauc for more."
        )
    at = np.linspace(0.0, 1.0, n_points)
    members = [rows.y == label for label in labels]
    classes = [np.flatnonzero(member) for member in members]
    beta = _surface(rows, rows.weight, members, at)
    band = band_of(
        lambda weight: _surface(rows, weight, members, at),
        at, rows.weight, classes, intervals, resamples, random_state,
    )  # fmt: skip
    volume = get_measure("vus")(rows.y, rows.scores[rows.block], sample_weight=rows.weight)
    return RocSurface(at, at, beta, volume, band)


def _surface(rows: RankedRows, weight: Floats, members: list[Bools], at: Floats) -> Floats:
    """Return the share of the middle class between both thresholds.

    Both thresholds are as good for the middle class as the shares of the others allow: the
    lower one is the least that puts the share of the lowest class below it.
    """
    low, middle, high = (rows.shares(weight * member) for member in members)
    # The shares are those above a score; 1 - them, from the end, are those below.
    below = limits(1.0 - low[::-1], 1.0 - middle[::-1], at)[0]
    above = limits(high, middle, at)[0]
    return np.asarray(np.maximum(1.0 - below[:, None] - above, 0.0))
