"""Centres of the intervals of relevance on a feature: figure 5 of Wang et al."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.errors import DataError
from crucial.feedback.labels import LabelFeedback, check_labels
from crucial.model.additive import sparkline
from crucial.model.weak import MAX_INTERVALS
from crucial.notebook import HtmlResult, HtmlTable
from crucial.parameters import check, int_between, one_of
from crucial.rankers.feature_rank import CENTRES, centres_of, interval_codes
from crucial.results import Axes, Frame, as_frame, axes_grid, feature_name, padded
from crucial.types import Floats, TableLike, VectorLike
from crucial.wording import counted

__all__ = ["IntervalCentres", "centres"]


@dataclass(frozen=True, eq=False)
class IntervalCentres(HtmlResult):
    """Result of `centres`.

    Attributes
    ----------
    features : tuple of int
    names : tuple of str
        Names of the features.
    values : dict of str to array of shape (n_features, n_intervals)
        By kind of centre; the least relevant interval first, NaN where it has no value.
    """

    features: tuple[int, ...]
    names: tuple[str, ...]
    values: Mapping[str, Floats]

    @property
    def n_intervals(self) -> int:
        """Number of intervals."""
        return int(next(iter(self.values.values())).shape[1])

    def __repr__(self) -> str:
        kinds = ", ".join(self.values)
        features = counted(len(self.features), "feature")
        return f"IntervalCentres({features}, {self.n_intervals}: {kinds})"

    def __str__(self) -> str:
        lines = []
        for place, name in enumerate(self.names):
            for kind, table in self.values.items():
                row = table[place][np.isfinite(table[place])]
                text = " ".join("-" if np.isnan(v) else f"{v:.4g}" for v in table[place])
                bars = sparkline(row.tolist(), self.n_intervals)
                lines.append(f"{padded(name, 24)} {kind:<9} {bars}  {text}")
        return "\n".join(lines)

    def to_frame(self) -> Frame:
        """Return one row per interval of a feature, one column per kind of centre."""
        n, k = len(self.features), self.n_intervals
        columns: dict[str, Sequence[object]] = {
            "feature": np.repeat(self.names, k).tolist(),
            "interval": np.tile(np.arange(1, k + 1), n).tolist(),
        }
        return as_frame(columns | {name: t.ravel().tolist() for name, t in self.values.items()})

    def plot(self) -> list[Axes]:
        """Draw the centres over the intervals, one picture per feature; needs matplotlib."""
        axes = axes_grid(len(self.features))
        for place, ax in enumerate(axes):
            for kind, table in self.values.items():
                ax.plot(np.arange(1, self.n_intervals + 1), table[place], marker=".", label=kind)
            ax.set_title(self.names[place], parse_math=False)
            ax.set_xlabel("interval (more relevant to the right)")
        axes[0].set_ylabel("centre")
        axes[0].legend()
        return axes

    def _html_tables(self) -> list[HtmlTable]:
        (table,) = super()._html_tables()
        return [HtmlTable(table.columns, dict.fromkeys(self.values))]


def centres(
    X: TableLike,
    y: VectorLike,
    *,
    qid: VectorLike | None = None,
    features: Sequence[int] | None = None,
    n_intervals: int = 8,
    kinds: Sequence[str] = CENTRES,
) -> IntervalCentres:
    """Return the centres of the intervals of relevance, as quasi-KNN rankers use them.

    Where all kinds of centre rise and fall together, as in figure 5 of Wang et al., the choice
    of centre does not matter for a feature.

    Parameters
    ----------
    X, y, qid : rows, labels and queries
    features : sequence of int, optional
        Numbers of the features. Default: all.
    n_intervals : int
    kinds : sequence of {"mean", "prior", "middle", "posterior"}

    Returns
    -------
    IntervalCentres

    Examples
    --------
    >>> X = np.array([[2.0], [1.0], [3.0], [6.0], [4.0]])
    >>> found = centres(X, [5, 4, 3, 2, 1], n_intervals=2, kinds=["mean"])
    >>> found.values["mean"].round(3).tolist()
    [[4.333, 1.5]]
    """
    check("centres", "n_intervals", n_intervals, int_between(2, MAX_INTERVALS))
    for kind in kinds:
        check("centres", "kinds", kind, one_of(*CENTRES))
    instances = Instances.from_input(X)
    chosen = tuple(range(instances.n_features) if features is None else features)
    for feature in chosen:
        check("centres", "features", feature, int_between(0, instances.n_features - 1))
    if not chosen or not kinds:
        raise DataError("centres needs a feature and a kind of centre at least.")
    labels = check_labels(y, instances.n_rows)
    feedback = LabelFeedback(labels, Groups.from_qid(qid, instances.n_rows))
    tables = {kind: np.full((len(chosen), n_intervals), np.nan) for kind in kinds}
    rows = feedback.labelled()
    lists = (rows.labels, rows.layout.row_start)
    codes = {kind: interval_codes(*lists, n_intervals, None, kind, "centres") for kind in kinds}
    for place, feature in enumerate(chosen):
        values = instances.column(feature, feedback.rows).astype(np.float64)
        for kind, table in tables.items():
            found = centres_of(values, codes[kind], n_intervals)
            table[place] = [np.nan if one is None else one for one in found]
    names = tuple(feature_name(instances.names, feature) for feature in chosen)
    return IntervalCentres(chosen, names, tables)
