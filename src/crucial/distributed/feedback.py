"""Feedback whose rows are in parts, and the objective over it."""

from __future__ import annotations

import numpy as np

from crucial.boosting.pair_losses import ExponentialLoss, LogisticLoss
from crucial.boosting.parts import Objective
from crucial.distributed.messages import Setup
from crucial.distributed.own_losses import PartedLogistic
from crucial.distributed.part_facts import RowFacts
from crucial.distributed.parts import Parts
from crucial.distributed.state import PartedPairs, PartedState
from crucial.distributed.watch import PartedWatch
from crucial.errors import DataError
from crucial.feedback.base import Feedback, Potentials, finite_total
from crucial.feedback.labels import PairMass
from crucial.rankers.boosted import BoostedRanker
from crucial.wording import counted

__all__ = ["PartedFeedback", "PartedObjective"]


class PartedFeedback(Feedback):
    """What is known of the feedback of all parts together: counts and weights, no pairs.

    Parameters
    ----------
    facts : RowFacts
    mass : PairMass
    """

    def __init__(self, facts: RowFacts, mass: PairMass) -> None:
        self.facts, self.log_total = facts, mass.log_total
        self.n_rows, self.n_pairs = facts.rows, facts.counts.pairs
        # (of the rows only their number is asked for)
        self.rows = np.broadcast_to(np.int64(0), facts.counts.rows)
        self.weight = None
        self.total = finite_total(mass.total.value)
        self.n_queries = facts.counts.queries
        self.n_skipped = facts.queries - facts.counts.queries

    @classmethod
    def of(cls, parts: Parts, ranker: BoostedRanker) -> PartedFeedback:
        """Let the parts sort and weigh the pairs that a ranker learns from."""
        facts: RowFacts | None = parts.total("look", changes=True)
        if facts is None:
            raise DataError("No comparable pair: the parts have no rows.")
        balance, gain = ranker.balance, ranker.gain
        if not facts.counts.rows:
            raise DataError(
                f"No comparable pair: none of the {counted(facts.queries, 'query')} has two rows "
                "of different labels (and of positive weight)."
            )
        mass: PairMass = parts.total("weigh", facts, balance, gain, changes=True)
        if facts.weighted and balance == "pairs" and mass.too_light:
            raise DataError(
                "the weights of rows are too far apart to be added up in parts; use weights of a "
                "similar size, or balance='queries'."
            )
        return cls(facts, mass)


class PartedObjective(Objective):
    """An objective whose state is in parts.

    Parameters
    ----------
    objective : Objective
    parts : Parts
    watch : PartedWatch or None
    """

    def __init__(self, objective: Objective, parts: Parts, watch: PartedWatch | None) -> None:
        self._objective, self._parts, self._watch = objective, parts, watch

    def begin(self, feedback: Feedback, threads: int) -> PartedState:
        """Let the parts begin; return what adds up their totals."""
        assert isinstance(feedback, PartedFeedback)
        facts, log_total = feedback.facts, feedback.log_total
        setup = Setup(
            self._objective, log_total, facts.counts, facts.weight.value, facts.absent,
            self._watch is not None,
        )  # fmt: skip
        self._parts.call("begin", setup, changes=True)
        state = _state_of(self._objective)(self._parts, log_total)
        state.watch = self._watch
        return state

    def notes(self, potentials: Potentials) -> dict[str, float]:
        """Return the notes of the objective."""
        return self._objective.notes(potentials)


def _state_of(objective: Objective) -> type[PartedState]:
    """Return what adds up the totals of an objective."""
    if isinstance(objective, ExponentialLoss):
        return PartedPairs
    return PartedLogistic if isinstance(objective, LogisticLoss) else PartedState
