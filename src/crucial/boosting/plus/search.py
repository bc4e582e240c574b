"""Choose the next weak ranker of RankBoost+: the efficient search (algorithm 2).

Connamacher et al. (2019, section 4). Rankers in use are S, those never chosen R. Both are
compared by ``|delta|``, the slope of ln F2; rankers of R have eta = 0, so theirs is
``|W+ - W-|`` and costs no pass over the pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crucial.boosting.plus.candidates import Candidates, Offer
from crucial.boosting.plus.span import Span
from crucial.boosting.plus.weights import PlusWeights
from crucial.boosting.stump_search import NOISE, worst_tied
from crucial.data.arrays import free_memory
from crucial.errors import DataError
from crucial.types import Floats

__all__ = ["Direction", "EfficientSearch", "lowest"]


# Candidates that are tested for independence together.
_FEATURE_BLOCK = 128


@dataclass(frozen=True)
class Direction:
    """The direction that a round moves along.

    Attributes
    ----------
    number : int
        Of the candidate.
    delta : float
        Slope of ln F2: negative where its weight will rise.
    slope : float or None
        ``W+ - W-``, where it is known.
    place : int
        Its place among the rankers in use; -1 for a new one.
    beta : array over the rankers in use, or None
        Its coefficients, if it is not in use but in the span of the rankers in use.
    """

    number: int
    delta: float
    slope: float | None
    place: int = -1
    beta: Floats | None = None


def lowest(delta: Floats, numbers: list[int], top: float) -> int | None:
    """Return the place of the best: by the tie rule, rising weights first, the lowest number."""
    if not top > NOISE:
        return None
    tied = np.flatnonzero(np.abs(delta) >= worst_tied(top)).tolist()
    rising = [at for at in tied if delta[at] < 0.0]
    return min(rising or tied, key=numbers.__getitem__, default=None)


class EfficientSearch:
    """Greedy over R and S; from the first dependent choice on, over a fixed S alone.

    R wins only where it is strictly better, and what was chosen leaves R. The first time
    that the best of R is a combination of S, S gains a maximal independent subset of R, in
    a seeded random order, and is static from then on.

    Parameters
    ----------
    candidates, weights : what to choose from, and by
    component : int array
        Connected component of every row.
    seed : int
    static_after : int or None
        Make S static after this many rounds, if no dependent choice did it before.
    max_static : int or None
        Largest size of a static S.

    Attributes
    ----------
    members : list of int
        Numbers of S, those in use first.
    static_round : int or None
        Round, from 0, from which on S was static.
    """

    def __init__(
        self,
        candidates: Candidates,
        weights: PlusWeights,
        component: NDArray[np.integer],
        seed: int,
        static_after: int | None = None,
        max_static: int | None = None,
    ) -> None:
        self._candidates, self._weights, self._component = candidates, weights, component
        self._seed, self._static_after, self._max_static = seed, static_after, max_static
        self._offer = Offer(candidates, candidates.distinct)
        self._span: Span | None = Span(component)
        self._used: list[int] = []
        self.static_round: int | None = None

    @property
    def members(self) -> list[int]:
        """Numbers of S: those in use, in the order they came, then the others."""
        rest = [] if self.static_round is None else np.flatnonzero(self._offer.offered).tolist()
        return self._used + rest

    def propose(self, number: int) -> Direction | None:
        """Return the best choice for a round; None if nothing helps."""
        if self._span is not None and number == self._static_after:
            self._make_static(number)
        new, delta, slope, top = self._contenders()
        if self._span is not None:
            if new is None or not worst_tied(abs(new[1])) > top:
                return self._of_used(delta, slope, top)
            output = self._candidates.output(new[0])
            self._offer.withdraw(new[0])
            if self._span.add(output):
                return self._enter(new)
            self._make_static(number)
            new, delta, slope, top = self._contenders()
        return self._of_static(delta, slope, top, new)

    def _contenders(self) -> tuple[tuple[int, float] | None, Floats, Floats, float]:
        """Return the best of R, delta and slope of those in use, and their largest |delta|."""
        self._offer.renew(self._weights.potentials)
        new = self._offer.best()
        delta, slope = self._weights.deltas(0.0 if new is None else abs(new[1]))
        return new, delta, slope, float(np.abs(delta).max(initial=0.0))

    def _of_used(self, delta: Floats, slope: Floats, top: float) -> Direction | None:
        at = lowest(delta, self._used, top)
        if at is None:
            return None
        return Direction(self._used[at], float(delta[at]), float(slope[at]), at)

    def _enter(self, new: tuple[int, float]) -> Direction:
        self._used.append(new[0])
        return Direction(new[0], -new[1], new[1])

    def _of_static(
        self, delta: Floats, slope: Floats, top: float, new: tuple[int, float] | None
    ) -> Direction | None:
        """The best of S, whether in use already or not."""
        reach = 0.0 if new is None else abs(new[1])
        used = self._of_used(delta, slope, max(top, reach))
        if new is None or reach < worst_tied(max(top, reach)):
            return used
        if used is not None and (used.delta > 0.0, used.number) < (new[1] < 0.0, new[0]):
            return used
        self._offer.withdraw(new[0])
        return self._enter(new)

    def _make_static(self, number: int) -> None:
        """Extend S by a maximal independent subset of R, once."""
        span = self._span
        assert span is not None
        left = np.flatnonzero(self._offer.offered)
        left = np.random.default_rng([self._seed, 2]).permutation(left)
        patterns = self._candidates.row_patterns(self._component)
        rank = patterns - (int(self._component.max(initial=0)) + 1)
        limit = min(rank, span.largest, span.size + len(left))
        if self._max_static is not None:
            limit = min(limit, self._max_static)
        _check_room(self._candidates.n_rows, limit, number)
        taken = np.zeros(len(self._offer.offered), bool)
        for begin in range(0, len(left), _FEATURE_BLOCK):
            if span.size >= limit:
                break
            block = left[begin : begin + _FEATURE_BLOCK]
            outputs = self._candidates.outputs(block)
            for at in np.flatnonzero(span.outside(outputs)).tolist():
                if span.size < limit and span.add(outputs[at]):
                    taken[block[at]] = True
        self._offer = Offer(self._candidates, taken)
        self._span = None
        self.static_round = number


def _check_room(n_rows: int, limit: int, number: int) -> None:
    """Refuse a static set that would take more than half of the free memory."""
    there = free_memory()
    needed = 8 * limit * (n_rows + limit) * 3 // 2
    if there is not None and needed > there // 2:
        raise DataError(
            f"In round {number + 1} RankBoost+ has to make its set of weak rankers static, and up "
            f"to {limit:,} independent ones over {n_rows:,} rows would take about "
            f"{needed / 2**30:.1f} GiB, more than half of the {there / 2**30:.1f} GiB of free "
            "memory. Stop at fewer of them (max_static=1000, say), use fewer bins (max_bins), or "
            f"n_estimators={number}."
        )
