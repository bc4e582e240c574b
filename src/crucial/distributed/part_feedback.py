"""The feedback of a part: its pairs, weighed together with those of all other parts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from crucial.data.groups import Groups
from crucial.distributed.part_facts import RowFacts
from crucial.distributed.part_rows import PartRows
from crucial.errors import DataError
from crucial.feedback.labels import (
    LabelFeedback,
    LabelState,
    Largest,
    PairMass,
    check_labels,
    gains_of,
    weigh,
)
from crucial.feedback.layout import Layout
from crucial.kernels.runtime import Counts
from crucial.kernels.sums import ExactSum
from crucial.types import Bools, Floats, Ints

__all__ = ["PartFeedback", "weighing"]


class PartFeedback(LabelFeedback):
    """The pairs that the labels of a part imply.

    Parameters
    ----------
    rows : PartRows
    left_out : bool array over the rows, optional
        Rows that count as if they weighed 0.
    """

    def __init__(self, rows: PartRows, left_out: Bools | None = None) -> None:
        labels = check_labels(rows.labels)
        self.n_rows = len(labels)
        self.groups = Groups.from_qid(rows.query, self.n_rows)
        keep = _kept_rows(rows, left_out)
        layout = Layout.of(labels, self.groups, keep)
        self.rows = layout.rows
        self.n_queries = layout.n_queries
        self.n_skipped = self.groups.n_groups - layout.n_queries
        self.n_pairs = layout.n_pairs if len(self.rows) else 0
        self.weight = None if rows.weight is None else rows.weight[self.rows]
        self._factor: Floats | None = None
        if rows.query_weight is not None:
            self._factor = rows.query_weight[self.rows][layout.row_start[:-1]]
        # (queries by the numbers that they have in all parts, which seed what is random)
        numbers: Ints = self.groups.ids[layout.queries].astype(np.int64)
        self._layout = replace(layout, queries=numbers)

    @property
    def facts(self) -> RowFacts:
        """What other parts have to know of these rows."""
        layout, weight = self._layout, self.weight
        numbers = (layout.n_queries, layout.n_segments, self.n_pairs, layout.deepest)
        counts = Counts(len(self.rows), *numbers)
        largest = Largest(1.0, 1.0)
        if len(self.rows):
            largest = Largest.of(weight, self._factor)
        weighted = weight is not None and bool((weight != 1.0).any())
        mass = ExactSum.of(np.ones(len(self.rows)) if weight is None else weight)
        return RowFacts(
            self.n_rows, self.groups.n_groups, counts, largest, weighted, mass, np.zeros(0, bool)
        )

    def weigh(self, facts: RowFacts, balance: str, gain: Any) -> PairMass:
        """Weigh the pairs together with those of all parts."""
        if not facts.weighted:
            self.weight = None
        layout, factor = self._layout, self._factor
        gains = gains_of(gain, layout)
        self._labelled, mass = weigh(
            layout, self.weight, gains, balance == "queries", factor, facts.largest
        )
        return mass

    def pairs(self, threads: int) -> LabelState:
        """Return the state of the pairs at scores of 0."""
        return LabelState(self._labelled, threads)

    def finish(self, log_total: float) -> None:
        """Set the logarithm of the weight of the pairs of all parts."""
        self._labelled = replace(self._labelled, log_total=log_total)


def _kept_rows(rows: PartRows, left_out: Bools | None) -> Bools | None:
    """Return which rows weigh anything; None where all do."""
    keep = None if left_out is None else ~left_out
    for name in ("weight", "query_weight"):
        values: Floats | None = getattr(rows, name)
        if values is None:
            continue
        wrong = np.flatnonzero(~((values >= 0) & (values < np.inf)))
        if len(wrong):
            raise DataError(
                f"{name} must be finite and not negative. Row {wrong[0]} of a part is "
                f"{values[wrong[0]]}."
            )
        keep = values > 0 if keep is None else keep & (values > 0)
    return keep


def weighing(rows: PartRows) -> Bools:
    """Return which rows weigh more than 0, and so do their queries."""
    keep = _kept_rows(rows, None)
    return np.ones(rows.n_rows, bool) if keep is None else keep
