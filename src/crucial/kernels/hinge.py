"""Sums of hinges over the pairs that labels imply.

A pair (lo, hi) asks for a margin, and falls short of it by ::

    short = asked - (score_hi - score_lo)

Only pairs that fall short count. Where ``margin`` is

"sign"
    1 is asked of every pair;
"gap"
    the difference of the labels is asked;
"product"
    the difference of the scores times that of the labels must reach 1: what is asked is one over
    the difference d of the labels, and the pair counts d times in a hinge and d^2 times in a
    squared hinge, which is ``power`` 1 or 2.

``cut`` lowers what is asked of every pair (of the product, in the third case).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.levels import Levels
from crucial.kernels.threads import cut_lists, over_ranges
from crucial.types import Floats, Ints

__all__ = ["HingeSums", "ShortPairs"]

# Sums that are kept for the same scores: solvers ask for value, gradient and curvature in turn, at
# two cuts.
_KEPT = 2


@dataclass(frozen=True)
class ShortPairs:
    """Sums over the pairs that fall short, from the side of every row.

    Attributes
    ----------
    wins : array of shape (n_rows, 3)
        Of the pairs a row should win, times the weight of the loser: their number, how short they
        fall together, and the sum of squares of that.
    losses : array of shape (n_rows, 2)
        Of the pairs a row should lose, times the weight of the winner: number and shortfall.
    """

    wins: Floats
    losses: Floats


class HingeSums:
    """Sums over the pairs of rows of one query with different labels.

    Parameters
    ----------
    levels : Levels
    weight : array over the rows, or None where all are 1
    values : array over the segments
        Label of every level.
    margin : {"sign", "gap", "product"}
    threads : int
        They share out queries and cannot change a result.
    """

    def __init__(
        self,
        levels: Levels,
        weight: Floats | None,
        values: Floats,
        margin: str,
        threads: int,
    ) -> None:
        self._levels, self._values, self._margin = levels, values, margin
        self._weight = np.ones(levels.n_rows) if weight is None else weight
        self._threads = threads
        self._level, self._depth = levels.level_of_row(), np.diff(levels.query_first)
        self._label = np.repeat(values, np.diff(levels.level_start)) if margin == "gap" else None
        self._bounds = cut_lists(levels.row_start, 4 * threads)
        self._order: tuple[Floats, Ints] | None = None
        self._found: dict[tuple[float, int], ShortPairs] = {}

    def at(self, scores: Floats, cut: float = 0.0, power: int = 1) -> ShortPairs:
        """Return the sums at these scores; those of the last scores are kept.

        Parameters
        ----------
        scores : array of shape (n_rows,)
        cut : float
            Lowers what is asked of every pair.
        power : {1, 2}
            How often a pair counts with margin "product"; see above.
        """
        from crucial.kernels.compiled import hinge as compiled

        keys, order = self._sorted(scores)
        wanted = cut, power if self._margin == "product" else 0
        if wanted in self._found:
            return self._found[wanted]
        out = np.zeros((len(scores), 5))
        if self._margin == "product":
            inputs = (keys, self._weight, self._values, power, cut, *self._levels.arrays, order)
            self._over_queries(lambda a, b: compiled.graded_sums(*inputs, a, b, out))
        else:
            one = (keys, self._weight, *self._places(cut), order)
            self._over_queries(lambda a, b: compiled.same_sums(*one, a, b, out))
        out.setflags(write=False)
        if len(self._found) == _KEPT:
            del self._found[next(iter(self._found))]
        self._found[wanted] = ShortPairs(out[:, :3], out[:, 3:])
        return self._found[wanted]

    def moved(self, scores: Floats, move: Floats, cut: float = 0.0, power: int = 1) -> Floats:
        """Return the weighted sum of a move over the partners of every row in short pairs.

        Parameters
        ----------
        scores, cut, power : see `at`
        move : array of shape (n_rows,)
        """
        values, out = self._weight * move, np.zeros(len(scores))
        from crucial.kernels.compiled import hinge as compiled

        keys, order = self._sorted(scores)
        if self._margin == "product":
            inputs = (keys, values, self._values, power, cut, *self._levels.arrays, order)
            self._over_queries(lambda a, b: compiled.graded_moved(*inputs, a, b, out))
        else:
            one = (keys, values, *self._places(cut), order)
            self._over_queries(lambda a, b: compiled.same_moved(*one, a, b, out))
        return out

    def _places(self, cut: float) -> tuple[NDArray[np.int32], Ints, Ints, float]:
        asked = (1.0 if self._margin == "sign" else 0.0) - cut
        return self._level, self._levels.row_start, self._depth, asked

    def _sorted(self, scores: Floats) -> tuple[Floats, Ints]:
        """Return the keys to compare and the rows by rising key; those of the last call are kept.

        A gap asked of a pair is asked of keys ``score - label`` as a margin of 0.
        """
        keys = scores if self._label is None else scores - self._label
        if self._order is not None and np.array_equal(self._order[0], keys):
            return self._order
        from crucial.kernels.compiled.hinge import sort_segments

        graded = self._margin == "product"
        starts = self._levels.level_start if graded else self._levels.row_start
        order = np.empty(len(keys), np.int64)
        bounds = cut_lists(starts, 4 * self._threads)
        over_ranges(bounds, self._threads, lambda a, b: sort_segments(keys, starts, a, b, order))
        self._order = keys.copy(), order
        self._found.clear()
        return self._order

    def _over_queries(self, call: Callable[[int, int], None]) -> None:
        over_ranges(self._bounds, self._threads, call)
