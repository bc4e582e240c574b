"""The rows of a part before the first round: which count, and what their pairs weigh."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from crucial.data.bins import abstains
from crucial.distributed.messages import Numbers, PartSurvey
from crucial.distributed.part_facts import RowFacts
from crucial.distributed.part_feedback import PartFeedback, weighing
from crucial.distributed.part_rows import PartRows
from crucial.distributed.part_watch import EvalFacts, PartWatch, Tallies
from crucial.feedback.base import padded
from crucial.feedback.labels import PairMass
from crucial.measures.base import Measure
from crucial.types import Bools, Ints

__all__ = ["PartSetup"]


class PartSetup:
    """Rows of whole queries and their eval rows, on the worker that has them.

    Parameters
    ----------
    rows : PartRows
        The training rows; none is fine.
    eval_rows : PartRows, optional
        Rows of the eval set. All parts have some, or none has; a part may have 0 of them.

    Attributes
    ----------
    threads : int
        How many to use.
    """

    def __init__(self, rows: PartRows, eval_rows: PartRows | None = None) -> None:
        self._rows, self._eval_rows = rows, eval_rows
        self.threads = 1
        self._feedback: PartFeedback | None = None
        self._watch: PartWatch | None = None
        self._left_out: Bools | None = None

    def survey(self) -> PartSurvey:
        """Return the lowest label, and what is known of the eval rows."""
        found, labels = self._eval_rows, self._rows.labels
        facts = None if found is None or not found.n_rows else EvalFacts.of(found)
        lowest = float(labels[weighing(self._rows)].min(initial=math.inf))
        return PartSurvey(lowest, facts)

    def hold_out(self, queries: Ints, count: int, seed: tuple[int, ...]) -> None:
        """Set some queries of all parts aside, to be the eval set.

        Parameters
        ----------
        queries : int array
            Numbers of the queries of all parts that weigh anything, in rising order.
        """
        drawn = queries[np.random.default_rng(seed).permutation(len(queries))[:count]]
        self._left_out = np.isin(self._rows.query, drawn)
        self._eval_rows = self._rows.taken(np.flatnonzero(self._left_out & weighing(self._rows)))

    def weighing(self) -> Numbers | None:
        """Return the numbers of the queries that have a row that weighs anything."""
        found = np.unique(self._rows.query[weighing(self._rows)])
        return Numbers(found.astype(np.int64)) if len(found) else None

    def watch(self, measures: tuple[Measure, ...]) -> Tallies | None:
        """Begin to measure the eval rows; return the measures at scores of 0."""
        if self._eval_rows is None or not self._eval_rows.n_rows:
            return None
        self._watch = PartWatch(self._eval_rows, measures)
        return self._watch.tallies()

    def look(self) -> RowFacts | None:
        """Sort the rows; return what all parts have to know of them."""
        if not self._rows.n_rows:
            return None
        feedback = PartFeedback(self._rows, self._left_out)
        used = feedback.rows
        if not np.array_equal(used, np.arange(len(used))):
            # (one copy of the codes: all rows take the order in which they are used)
            order = _first(used, self._rows.n_rows)
            self._rows = self._rows.taken(order)
            if self._left_out is not None:
                self._left_out = self._left_out[order]
            feedback = PartFeedback(self._rows, self._left_out)
        self._feedback = feedback if len(used) else None
        return replace(feedback.facts, absent=self._use_first(len(used)))

    def _use_first(self, n: int) -> Bools:
        """Use the first rows; return which features abstain on one of them."""
        bins = self._rows.bins
        codes = bins.codes[:, : padded(n)]
        absent = abstains(codes[:, :n], bins.n_bins, bins.has_missing)
        self._bins = replace(bins, codes=codes, n_rows=n, has_missing=absent)
        return absent

    def weigh(self, facts: RowFacts, balance: str, gain: Any) -> PairMass | None:
        """Weigh the pairs; return what they weigh together."""
        if self._feedback is None:
            return None
        return self._feedback.weigh(facts, balance, gain)


def _first(used: Ints, n_rows: int) -> Ints:
    """Return all row numbers, those in use first."""
    others = np.ones(n_rows, bool)
    others[used] = False
    return np.concatenate((used, np.flatnonzero(others)))
