"""What pairs of features add to a score beyond what each adds alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crucial.data.instances import Instances
from crucial.model.additive import AdditiveRanker, Shape
from crucial.model.tree_sums import PairTerm
from crucial.notebook import HtmlResult, HtmlTable
from crucial.results import Axes, feature_name
from crucial.types import Floats

__all__ = ["PairShape", "pair_shapes"]

_PASSES = 50  # of moving what one feature explains out of the tables
_SETTLED = 1e-10


@dataclass(frozen=True, eq=False)
class PairShape(HtmlResult):
    """What two features add to a score together, beyond what each adds alone.

    Attributes
    ----------
    features : (int, int)
        Numbers of the features.
    names : (str, str)
    importance : float
        Share of the pair in what all splits of the ranker gained, in [0, 1].
    thresholds : pair of arrays
        Where the table steps, ascending, for each feature.
    values : array of shape (k1 + 2, k2 + 2)
        ``values[c1 + 1, c2 + 1]`` is added where ``c1`` and ``c2`` thresholds are below the values
        of the features; row 0 and column 0 are for missing values.
    """

    _html_bars: ClassVar[Mapping[str, float | None]] = {"adds": None}

    features: tuple[int, int]
    names: tuple[str, str]
    importance: float
    thresholds: tuple[Floats, Floats]
    values: Floats

    def __call__(self, first: float, second: float) -> float:
        """Return what is added at two values; NaN is a missing one."""
        cells = [
            0 if math.isnan(value) else 1 + int(cuts.searchsorted(value))
            for value, cuts in zip((first, second), self.thresholds, strict=True)
        ]
        return float(self.values[cells[0], cells[1]])

    def draw(self, ax: Axes) -> None:
        """Draw the table as a heat map, without missing values; the first feature goes right."""
        inside = self.values[1:, 1:].T
        limit = float(np.abs(inside).max(initial=0.0)) or 1.0
        edges = [_edges(cuts) for cuts in self.thresholds]
        ax.pcolormesh(*edges, inside, cmap="RdBu_r", vmin=-limit, vmax=limit)
        ax.set_xlabel(self.names[0], parse_math=False)
        ax.set_ylabel(self.names[1], parse_math=False)
        ax.set_title(f"up to {limit:.3g} ({self.importance:.0%})", fontsize=9)

    def _html_title(self) -> str:
        return f"{self.names[0]} with {self.names[1]} ({self.importance:.1%})"

    def _html_tables(self) -> list[HtmlTable]:
        order = np.argsort(-np.abs(self.values), axis=None, kind="stable")
        cells = np.unravel_index(order, self.values.shape)
        columns: dict[str, Sequence[object]] = {
            name: [_range(cuts, at) for at in places.tolist()]
            for name, cuts, places in zip(self.names, self.thresholds, cells, strict=True)
        }
        return [HtmlTable({**columns, "adds": self.values[cells].tolist()}, self._html_bars)]


def _edges(cuts: Floats) -> Floats:
    """Return the edges of the cells of a feature, with a margin for the outer ones."""
    if not len(cuts):
        return np.array([0.0, 1.0])
    margin = 0.08 * (cuts[-1] - cuts[0]) or 1.0
    return np.concatenate(([cuts[0] - margin], cuts, [cuts[-1] + margin]))


def _range(cuts: Floats, place: int) -> str:
    """Return in words which values fall into a cell of a table; the first is for missing ones."""
    if place == 0:
        return "missing"
    if not len(cuts):
        return "any"
    low = f"above {cuts[place - 2]:.4g}" if place > 1 else ""
    high = f"up to {cuts[place - 1]:.4g}" if place <= len(cuts) else ""
    return " ".join(filter(None, (low, high)))


def pair_shapes(
    model: AdditiveRanker, instances: Instances | None = None
) -> tuple[tuple[PairShape, ...], dict[int, Shape]]:
    """Split the trees of pairs of features into what is joint and what one feature explains.

    A table of a pair has no unique form: any function of one feature can be moved from it to the
    feature. Here the mean of every row and column is 0 over the rows of data, or over all cells
    if there are none (the purified form of Lengerich et al. 2020).

    Returns
    -------
    pairs : tuple of PairShape
        By importance.
    moved : dict from feature to Shape
        What was moved to each feature; a constant is left out.
    """
    if model.tree_sums is None:
        return (), {}
    shares = model.tree_sums.shares()
    pairs = []
    moved: dict[int, Shape] = {}
    for table in model.pair_tables():
        values, parts = _purified(table, instances)
        for feature, cuts, part in zip(table.features, table.thresholds, parts, strict=True):
            shape = Shape(feature, None, cuts, part[1:], float(part[0]))
            moved[feature] = moved[feature] + shape if feature in moved else shape
        first, second = (feature_name(model.feature_names, f) for f in table.features)
        share = shares[table.features]
        pairs.append(PairShape(table.features, (first, second), share, table.thresholds, values))
    return tuple(sorted(pairs, key=lambda one: (-one.importance, one.features))), moved


def _purified(table: PairTerm, instances: Instances | None) -> tuple[Floats, tuple[Floats, Floats]]:
    """Return the table with rows and columns of mean 0, and what was taken from either side."""
    values = table.values.copy()
    weight = np.ones_like(values)
    if instances is not None:
        cells = []
        for feature, cuts in zip(table.features, table.thresholds, strict=True):
            column = instances.column(feature).astype(np.float64)
            cells.append(np.where(np.isnan(column), 0, 1 + cuts.searchsorted(column)))
        # A little everywhere, so that cells without rows have a mean too.
        weight = np.full_like(values, 1e-6)
        np.add.at(weight, tuple(cells), 1.0)
    rows, columns = np.zeros(len(values)), np.zeros(values.shape[1])
    for _ in range(_PASSES):
        by_row = (values * weight).sum(axis=1) / weight.sum(axis=1)
        values -= by_row[:, None]
        rows += by_row
        by_column = (values * weight).sum(axis=0) / weight.sum(axis=0)
        values -= by_column
        columns += by_column
        if max(np.abs(by_row).max(), np.abs(by_column).max()) <= _SETTLED:
            break
    return values, (rows, columns)
