"""Sums of feedbacks: labels and pairs together."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence

import numpy as np

from crucial.errors import DataError
from crucial.feedback.base import Codes, Feedback, Output, PairState, finite_total
from crucial.types import Floats, Ints

__all__ = ["SumFeedback"]


class SumFeedback(Feedback):
    """The pairs of several feedbacks over the same rows.

    Parameters
    ----------
    parts : feedbacks
    shares : numbers, optional
        What share of the whole each part weighs. Default: its own weight, so that all
        pairs of all parts compete with the weights they came with.

    Examples
    --------
    >>> from crucial.feedback.labels import LabelFeedback
    >>> from crucial.feedback.pairs import PairFeedback
    >>> both = SumFeedback([LabelFeedback([1, 0, 0]), PairFeedback([(1, 2)], 3)])
    >>> both.n_pairs, both.total
    (3, 3.0)
    """

    def __init__(self, parts: Sequence[Feedback], shares: Sequence[float] | None = None) -> None:
        if not parts:
            raise DataError("a sum of feedbacks needs at least one part.")
        sizes = {part.n_rows for part in parts}
        if len(sizes) > 1:
            raise DataError(f"feedbacks to be added speak about different rows: {sorted(sizes)}.")
        given = np.array([p.total for p in parts] if shares is None else shares, np.float64)
        if given.shape != (len(parts),) or not ((given > 0) & np.isfinite(given)).all():
            raise DataError(f"shares must be one positive finite number a part. Got {shares!r}.")
        self.parts = tuple(parts)
        given = given / given.max()  # (first: the sum of large ones overflows)
        self.shares = given / given.sum()
        self.n_rows = parts[0].n_rows
        # The order of the largest part: it works on contiguous rows, the others gather.
        largest = max(parts, key=lambda p: len(p.rows))
        others = np.unique(np.concatenate([p.rows for p in parts]))
        extra = np.setdiff1d(others, largest.rows)
        self.rows = np.concatenate((largest.rows, extra)) if len(extra) else largest.rows
        self.weight = None
        weights = [p for p in parts if p.weight is not None]
        if weights:
            per_row = np.ones(self.n_rows)
            for part in weights:
                assert part.weight is not None
                per_row[part.rows] = part.weight
            self.weight = per_row[self.rows]
        self.n_pairs = sum(p.n_pairs for p in parts)
        self.total = finite_total(sum(p.total for p in parts))
        self.n_queries = sum(p.n_queries for p in parts)
        self.n_skipped = sum(p.n_skipped for p in parts)

    def state(self, rows: Ints | None = None, threads: int = 1) -> PairState:
        """Begin at scores of 0."""
        wanted = self.rows if rows is None else rows
        states = [part.state(wanted, threads) for part in self.parts]
        return SumState(states, self.shares, len(wanted))

    def log_lightest(self) -> float:
        """Logarithm of the weight of the lightest pair, as a share of all weight."""
        logs = np.log(self.shares) + [part.log_lightest() for part in self.parts]
        return float(logs.min())

    def margin_range(self, scores: Floats) -> tuple[float, float]:
        """Smallest and largest margin, for scores in the order of ``self.rows``."""
        everywhere = np.zeros(self.n_rows)
        everywhere[self.rows] = scores
        found = [part.margin_range(everywhere[part.rows]) for part in self.parts]
        return min(low for low, _ in found), max(high for _, high in found)


class SumState:
    """See `crucial.feedback.base.PairState`."""

    def __init__(self, states: Sequence[PairState], shares: Floats, n_rows: int) -> None:
        self.scores = np.zeros(n_rows)
        self._states = states
        self._start = np.log(shares)
        self._now = shares
        self._buffer = np.zeros(-(-n_rows // 8) * 8)

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Potentials of the parts, each by its share of the loss."""
        found = []
        columns = []
        for state in self._states:
            buffer = np.zeros_like(self._buffer)
            found.append(state.potentials(buffer))
            columns.append(buffer)
        log_loss = self._start + np.array([f[1] for f in found])
        top = float(log_loss.max())
        now = np.exp(log_loss - top)
        self._now = now / now.sum()
        pi[:] = 0.0
        for share, (scale, _), column in zip(self._now, found, columns):
            pi += share * scale * column[: len(pi)]
        return 1.0, top + math.log(float(now.sum()))

    def advance(self, output: Output, alpha: float) -> None:
        """Add ``alpha * output`` to the scores."""
        self.scores += alpha * output[: len(self.scores)]
        for state in self._states:
            state.advance(output, alpha)

    def binary_weights(self, output: Output) -> tuple[float, float]:
        """W+ and W- of a {0, 1} ranker."""
        right, wrong = np.dot(self._now, [s.binary_weights(output) for s in self._states])
        return float(right), float(wrong)

    def moments(self, output: Output) -> tuple[float, float]:
        """Mean and mean square of the margins gained."""
        mean, square = np.dot(self._now, [s.moments(output) for s in self._states])
        return float(mean), float(square)

    def wrong_weights(self, codes: Codes, n_bins: int, missing_rank: int, out: Floats) -> None:
        """W- of every threshold of one feature."""
        out[:] = 0.0
        for share, state in zip(self._now, self._states):
            part = np.zeros_like(out)
            state.wrong_weights(codes, n_bins, missing_rank, part)
            out += share * part

    def prepare_scan(self) -> None:
        """Make what `wrong_weights` shares between features."""
        for state in self._states:
            state.prepare_scan()

    def risks(self) -> tuple[float, float]:
        """R1 and R2 of the current scores."""
        r1, r2 = np.dot(np.exp(self._start), [s.risks() for s in self._states])
        return float(r1), float(r2)

    def draw(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the queries (or pairs) of every part."""
        for state in self._states:
            state.draw(fraction, random)

    def fork(self) -> SumState:
        """A copy of the drawn pairs that can be moved without moving this state."""
        made = copy.copy(self)
        made.scores = self.scores.copy()
        made._states = [state.fork() for state in self._states]
        return made
