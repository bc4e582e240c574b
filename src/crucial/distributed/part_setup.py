"""The rows of a part before the first round of a run: which count, and what their pairs weigh."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from crucial.data.bins import abstains
from crucial.data.groups import Groups
from crucial.distributed.messages import Numbers, Survey
from crucial.distributed.part_classes import ClassFacts, PartClasses
from crucial.distributed.part_facts import RowFacts
from crucial.distributed.part_feedback import PartFeedback
from crucial.distributed.part_pairs import PartPairs
from crucial.distributed.part_rows import PartRows
from crucial.distributed.part_shares import PartShares, Share, weighing
from crucial.distributed.part_watch import EvalFacts, PartWatch, Tallies
from crucial.feedback.label_weights import PairMass
from crucial.feedback.states import padded
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
        self._feedback: PartFeedback | PartPairs | PartClasses | None = None
        self._watch: PartWatch | None = None
        self._left_out: Bools | None = None
        self._shares = PartShares(rows.query)
        self._given = eval_rows
        self._unseen: Bools | None = None

    def survey(self) -> Survey:
        """Return the lowest label, and what is known of the eval rows."""
        found, labels = self._eval_rows, self._rows.labels
        facts = None if found is None or not found.n_rows else EvalFacts.of(found)
        lowest = float(labels[weighing(self._rows)].min(initial=math.inf))
        return Survey(lowest, facts)

    # -- rows that do not count -------------------------------------------------------

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

    def one_valued(self) -> Numbers | None:
        """Return the numbers of the queries whose rows, those of weight 0 apart, have one label."""
        keep = weighing(self._rows)
        labels, query = self._rows.labels[keep], self._rows.query[keep]
        if not len(labels):
            return None
        groups = Groups.from_qid(query, len(labels))
        return Numbers(groups.ids[groups.one_valued(labels)].astype(np.int64))

    def paired(self) -> Numbers | None:
        """Return the numbers of the queries that have a pair."""
        feedback = self._feedback
        return Numbers(feedback.paired) if isinstance(feedback, PartFeedback) else None

    def deal(self, n_folds: int, queries: Ints, one_valued: Ints, seed: int) -> None:
        """Deal the queries of all parts into folds; parameters as in `PartShares`."""
        self._shares.deal(n_folds, queries, one_valued, seed)

    def draw_bags(self, n_bags: int, queries: Ints, seed: int) -> None:
        """Draw the queries of all bags; parameters as in `PartShares`."""
        self._shares.draw(n_bags, queries, seed)

    def use(self, share: Share) -> None:
        """Begin a run on a share of the rows."""
        rows, shares = self._rows, self._shares
        self._watch, self._feedback, self._left_out, self._unseen = None, None, None, None
        self._eval_rows = self._given
        measured: Bools | None = None
        if share.fold is not None:
            measured = self._left_out = shares.in_fold(rows, share.fold)
        elif share.bag is not None:
            self._left_out = ~shares.in_bag(rows, share.bag)
        elif share.unseen and self._given is None:
            measured = shares.unseen(rows)
        if measured is not None:
            self._eval_rows = rows.taken(np.flatnonzero(measured & weighing(rows)))
        if share.unseen and self._given is None:
            assert self._eval_rows is not None
            self._unseen = shares.bags_unseen(self._eval_rows)

    # -- what the rows weigh ----------------------------------------------------------

    def watch(
        self, measures: tuple[Measure, ...], origins: Sequence[int] | None = None
    ) -> Tallies | None:
        """Begin to measure the eval rows; return the measures at scores of 0.

        Parameters
        ----------
        origins : sequence of int, optional
            The bag that each round to come is from.
        """
        if self._eval_rows is None or not self._eval_rows.n_rows:
            return None
        self._watch = PartWatch(self._eval_rows, measures)
        if self._unseen is not None and origins is not None:
            self._watch.look_through(self._unseen, origins)
        return self._watch.tallies()

    def look(self, contradictions: str = "keep") -> RowFacts | None:
        """Sort the rows; return what all parts have to know of them.

        Parameters
        ----------
        contradictions : {"keep", "net"}
            As in `PairFeedback`, for explicit pairs.
        """
        if not self._rows.n_rows:
            return None
        feedback = self._pairs_of_rows(contradictions)
        used = feedback.rows
        if not np.array_equal(used, np.arange(len(used))):
            # (one copy of the codes: all rows take the order in which they are used)
            order = _first(used, self._rows.n_rows)
            self._rows = self._rows.taken(order)
            if self._left_out is not None:
                self._left_out = self._left_out[order]
            feedback = self._pairs_of_rows(contradictions)
        self._feedback = feedback if len(used) else None
        return replace(feedback.facts, absent=self._use_first(len(used)))

    def _use_first(self, n: int) -> Bools:
        """Use the first rows; return which features abstain on one of them."""
        bins = self._rows.bins
        codes = bins.codes[:, : padded(n)]
        absent = abstains(codes[:, :n], bins.n_bins, bins.has_missing)
        self._bins = replace(bins, codes=codes, n_rows=n, has_missing=absent)
        return absent

    def look_at_classes(self) -> ClassFacts | None:
        """Sort the rows by their classes; return what all parts have to know of them."""
        if not self._rows.n_rows:
            return None
        used = PartClasses(self._rows).rows
        self._rows = self._rows.taken(_first(used, self._rows.n_rows))
        feedback = PartClasses(self._rows)
        self._feedback = feedback if len(used) else None
        return replace(feedback.facts, absent=self._use_first(len(used)))

    def join_classes(self, whole: ClassFacts) -> None:
        """Set what is known of the classes of all parts."""
        if isinstance(self._feedback, PartClasses):
            self._feedback.join(whole)

    def _pairs_of_rows(self, contradictions: str) -> PartFeedback | PartPairs:
        """Return the pairs that labels imply, or explicit ones."""
        rows = self._rows
        if rows.pairs is None:
            return PartFeedback(rows, self._left_out)
        assert rows.numbers is not None
        return PartPairs(rows.pairs, rows.numbers, contradictions)

    def weigh(self, facts: RowFacts, balance: str, gain: Any) -> PairMass | None:
        """Weigh the pairs; return what they weigh together."""
        if self._feedback is None or isinstance(self._feedback, PartClasses):
            return None
        return self._feedback.weigh(facts, balance, gain)


def _first(used: Ints, n_rows: int) -> Ints:
    """Return all row numbers, those in use first."""
    others = np.ones(n_rows, bool)
    others[used] = False
    return np.concatenate((used, np.flatnonzero(others)))
