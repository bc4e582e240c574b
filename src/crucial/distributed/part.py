"""A part of the rows: what a worker keeps of a fit, and the questions it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from crucial.boosting.pair_losses import LabelLogistic
from crucial.distributed.messages import Move, Numbers, Question, RoundAnswer, Totals
from crucial.distributed.part_sums import PartState, PartSums
from crucial.distributed.replay import Call, needed_calls
from crucial.feedback.base import draw_share
from crucial.feedback.labels import LabelState
from crucial.kernels.runtime import part_of
from crucial.types import Ints

__all__ = ["Part"]


class Part(PartSums):
    """Rows of whole queries with their scores, on the worker that has them.

    Parameters are those of `PartSetup`.
    """

    def ask(self, question: Question) -> RoundAnswer | None:
        """Return totals of the scores as they are."""
        if self._feedback is None:
            return None
        state, pi = (self._trial, self._spare) if question.trial else (self._state, self._pi)
        scales = question.scales
        if scales is not None:
            self._pi_before[:] = self._pi
        if isinstance(state, LabelState) and state.logarithmic:
            if question.peaks is None:
                return RoundAnswer(None, state.peaks())
            totals: Totals = state.log_sums(pi, question.peaks)
        elif isinstance(state, LabelLogistic):
            totals = state.sums(pi, question.reach or state.score_reach())
        else:
            totals = state.sums(pi)
        if question.trial:
            return RoundAnswer(totals)
        self._curvature = None
        found, distance = None, 0.0
        if question.unit is not None:
            found = self.histogram(question.unit, question.features)
        if scales is not None:
            sums = self._stump_sums()
            distance = sums.distance(pi, scales[1], self._pi_before, scales[0])
        hist, sizes = None if found is None else found.sums, None
        if question.sizes:
            sizes = self.sizes()
        reach = None
        if isinstance(state, LabelLogistic):
            reach = question.reach or state.score_reach()
        return RoundAnswer(totals, None, hist, sizes, None, distance, reach)

    def advance(self, move: Move, question: Question) -> RoundAnswer | None:
        """Move the scores; return totals of those that they are then."""
        self.move(move, question.trial)
        answer = self.ask(question)
        if self._watch is None or question.trial or not self._watches:
            return answer
        # (a part may have eval rows alone)
        return replace(answer or RoundAnswer(None), tallies=self._watch.tallies())

    def move(self, move: Move, trial: bool = False) -> None:
        """Move the scores."""
        if self._watch is not None and self._watches and not trial:
            if move.best:
                self._watch.keep_best()
            self._watch.move(move.ranker, move.alpha)
        if self._feedback is None:
            return
        output, state = self._output(move.ranker), self._trial if trial else self._state
        with part_of(self._counts):
            if isinstance(state, LabelState) and output.dtype != np.uint8:
                state.advance(output, move.alpha, move.span)
            else:
                state.advance(output, move.alpha)

    def begin_trial(self) -> None:
        """Copy the state, to try steps on the copy."""
        if self._feedback is not None:
            self._trial = cast(PartState, self._pairs(False).fork())
            self._spare = np.zeros_like(self._pi)

    # -- queries drawn ----------------------------------------------------------------

    def counting(self) -> Numbers | None:
        """Return the numbers of the queries that count."""
        if self._feedback is None:
            return None
        return Numbers(self._numbers[self._state.counting])

    def set_counting(self, numbers: Ints) -> None:
        """Remember all queries of all parts that count, in rising order."""
        self._all_counting = numbers

    def draw(self, fraction: float, seed: Sequence[int]) -> None:
        """Count only a random share of the queries of all parts until the next draw."""
        if self._feedback is None:
            return
        count, random = len(self._all_counting), np.random.default_rng(seed)
        drawn = self._all_counting[draw_share(np.arange(count), fraction, random)]
        self._state.count_only(np.flatnonzero(np.isin(self._numbers, drawn)))

    def use_logarithms(self, trial: bool) -> None:
        """Compute weights from the logarithms of exponentials from now on."""
        if self._feedback is not None:
            self._pairs(trial).use_logarithms()

    # -- after a loss -----------------------------------------------------------------

    def replay(self, calls: Sequence[Call]) -> None:
        """Bring a part that was loaded again up to date.

        Parameters
        ----------
        calls : sequence of (method, arguments)
            All calls so far that changed the parts, the oldest first.
        """
        for method, arguments in needed_calls(calls):
            getattr(self, method)(*arguments)
