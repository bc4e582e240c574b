"""A state that works on its own order of rows, seen from another order."""

from __future__ import annotations

import copy

import numpy as np

from crucial.feedback.states import Output, PairState, padded
from crucial.types import Codes, Floats, Ints

__all__ = ["GatheredState"]


class GatheredState:
    """See `crucial.feedback.states.PairState`.

    Parameters
    ----------
    inner : PairState
        The state, on rows ``own``.
    own, rows : int arrays
        Row numbers of the state, and of the outside; ``rows`` contains ``own``.
    """

    def __init__(self, inner: PairState, own: Ints, rows: Ints) -> None:
        size = int(max(own.max(initial=-1), rows.max(initial=-1))) + 1
        where = np.full(size, -1, np.int64)
        where[rows] = np.arange(len(rows))
        self._inner, self._at = inner, where[own]
        self.scores = np.zeros(len(rows))
        self._buffer = np.zeros(padded(len(own)))

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write the potentials, in the outside order."""
        scale, log_loss = self._inner.potentials(self._buffer)
        pi[:] = 0.0
        pi[self._at] = self._buffer[: len(self._at)]
        return scale, log_loss

    def advance(self, output: Output, alpha: float) -> None:
        """Add ``alpha * output`` to the scores."""
        self.scores += alpha * output[: len(self.scores)]
        self._inner.advance(output[self._at], alpha)

    @property
    def curvature(self) -> Floats:
        """Weight of all pairs that a row is in."""
        out = np.zeros(len(self.scores))
        out[self._at] = self._inner.curvature
        return out

    def binary_weights(self, output: Output) -> tuple[float, float]:
        """Return W+ and W- of a {0, 1} ranker."""
        return self._inner.binary_weights(output[self._at])

    def moments(self, output: Output) -> tuple[float, float]:
        """Return mean and mean square of the margins gained."""
        return self._inner.moments(output[self._at])

    def wrong_weights(self, codes: Codes, n_bins: int, missing_rank: int, out: Floats) -> None:
        """Write W- of every threshold of one feature."""
        self._inner.wrong_weights(codes[self._at], n_bins, missing_rank, out)

    def prepare_scan(self) -> None:
        """Make what `wrong_weights` shares between features."""
        self._inner.prepare_scan()

    def risks(self) -> tuple[float, float]:
        """Return R1 and R2 of the current scores."""
        return self._inner.risks()

    def draw(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the queries (or pairs)."""
        self._inner.draw(fraction, random)

    def fork(self) -> GatheredState:
        """Return a copy of the drawn pairs that can be moved without moving this state."""
        other = copy.copy(self)
        other.scores, other._inner = self.scores.copy(), self._inner.fork()
        other._buffer = np.zeros_like(self._buffer)
        return other

    def tied(self, output: Output) -> GatheredState | None:
        """Return the pairs that a {0, 1} ranker ties, at scores of 0; None if there is none."""
        left = self._inner.tied(output[self._at])
        if left is None:
            return None
        other = copy.copy(self)
        other.scores, other._inner = np.zeros_like(self.scores), left
        other._buffer = np.zeros_like(self._buffer)
        return other
