"""Sums of feedbacks: labels and pairs together."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from crucial.errors import DataError
from crucial.feedback.base import Feedback, finite_total
from crucial.feedback.listed import ListedPairs
from crucial.feedback.margins import SumMargins
from crucial.feedback.states import Output, PairState, padded
from crucial.kernels.elementary import exp, log
from crucial.types import Codes, Floats, Ints

__all__ = ["SumFeedback"]

_LEAST_SHARE = 1e-300


class SumFeedback(Feedback):
    """The pairs of several feedbacks over the same rows.

    Parameters
    ----------
    parts : sequence of Feedback
    shares : sequence of numbers, optional
        Share of the whole that each part weighs. By default its own weight, so that all
        pairs of all parts keep their weights.
    factors : sequence of numbers, optional
        Instead of shares: a factor on the weights of the pairs of each part.

    Examples
    --------
    >>> from crucial.feedback.labels import LabelFeedback
    >>> from crucial.feedback.pairs import PairFeedback
    >>> both = SumFeedback([LabelFeedback([1, 0, 0]), PairFeedback([(1, 2)], 3)])
    >>> both.n_pairs, both.total
    (3, 3.0)
    """

    def __init__(
        self,
        parts: Sequence[Feedback],
        shares: Sequence[float] | None = None,
        factors: Sequence[float] | Floats | None = None,
    ) -> None:
        if not parts:
            raise DataError("a sum of feedbacks needs at least one part.")
        sizes = {part.n_rows for part in parts}
        if len(sizes) > 1:
            raise DataError(
                f"feedbacks to be added have different numbers of rows: {sorted(sizes)}."
            )
        self.factors = _positive(factors, len(parts), "factors")
        totals = [finite_total(p.total * f) for p, f in zip(parts, self.factors.tolist())]
        own = _positive(totals if shares is None else shares, len(parts), "shares")
        self.parts = tuple(parts)
        # (first: the sum of large ones overflows; and the logarithm of a share is a number)
        own = np.maximum(own / own.max(), _LEAST_SHARE)
        self.shares = own / own.sum()
        self.n_rows = parts[0].n_rows
        # The order of the largest part: it works on contiguous rows, the others gather.
        largest = max(parts, key=lambda p: len(p.rows))
        extra = np.setdiff1d(np.concatenate([p.rows for p in parts]), largest.rows)
        self.rows = np.concatenate((largest.rows, extra)) if len(extra) else largest.rows
        self.weight = None
        if any(part.weight is not None for part in parts):
            per_row = np.ones(self.n_rows)
            for part in parts:
                if part.weight is not None:
                    per_row[part.rows] = part.weight
            self.weight = per_row[self.rows]
        self.n_pairs = sum(p.n_pairs for p in parts)
        self.total = finite_total(sum(totals))
        self.n_queries = sum(p.n_queries for p in parts)
        self.n_skipped = sum(p.n_skipped for p in parts)

    def state(self, rows: Ints | None = None, threads: int = 1) -> PairState:
        """Return the state at scores of 0, for rows in this order (default: ``self.rows``)."""
        wanted = self.rows if rows is None else rows
        states = [part.state(wanted, threads) for part in self.parts]
        return SumState(states, self.shares, len(wanted))

    def pairs_at(self, numbers: Ints) -> ListedPairs:
        """Return the pairs with these numbers, those of one part after those of another."""
        place = np.full(self.n_rows, -1, np.int64)
        place[self.rows] = np.arange(len(self.rows))
        start = np.concatenate(([0], np.cumsum([part.n_pairs for part in self.parts])))
        owner = np.searchsorted(start, numbers, "right") - 1
        high, low = np.empty(len(numbers), np.int64), np.empty(len(numbers), np.int64)
        weight = np.empty(len(numbers))
        for number, (part, share) in enumerate(zip(self.parts, self.shares)):
            mine = owner == number
            h, l, w = part.pairs_at(numbers[mine] - start[number])
            high[mine], low[mine] = place[part.rows[h]], place[part.rows[l]]
            weight[mine] = share * w
        return ListedPairs(high, low, weight)

    def log_lightest(self) -> float:
        """Return the logarithm of the weight of the lightest pair, as a share of all weight."""
        logs = log(self.shares) + [part.log_lightest() for part in self.parts]
        return float(logs.min())

    def margin_range(self, scores: Floats) -> tuple[float, float]:
        """Return the smallest and largest margin, for scores like ``rows``."""
        ranges = [part.margin_range(own) for part, own in self._parted(scores)]
        return min(low for low, _ in ranges), max(high for _, high in ranges)

    def margin_counts(self, scores: Floats, threads: int = 1) -> SumMargins:
        """Return the distribution of the margins; a part weighs what its own pairs do."""
        parted = self._parted(scores)
        return SumMargins(
            [
                (part.margin_counts(own, threads), finite_total(part.total * factor))
                for (part, own), factor in zip(parted, self.factors.tolist())
            ]
        )

    def _parted(self, scores: Floats) -> list[tuple[Feedback, Floats]]:
        """Return every part with the scores of its rows."""
        everywhere = np.zeros(self.n_rows)
        everywhere[self.rows] = scores
        return [(part, everywhere[part.rows]) for part in self.parts]


def _positive(values: Sequence[float] | Floats | None, n: int, name: str) -> Floats:
    """Return one positive number per part, 1 by default."""
    numbers = np.ones(n) if values is None else np.asarray(values, np.float64)
    if numbers.shape != (n,) or not ((numbers > 0) & np.isfinite(numbers)).all():
        raise DataError(f"{name} must be one positive finite number per part. Got {values!r}.")
    return numbers


class SumState:
    """See `crucial.feedback.states.PairState`."""

    def __init__(self, states: Sequence[PairState], shares: Floats, n_rows: int) -> None:
        self.scores = np.zeros(n_rows)
        self._states = states
        self._start = log(shares)
        self._now = shares
        self._scale = shares  # on the potentials of each part
        self._n_padded = padded(n_rows)

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write the potentials of the parts, each by its share of the loss."""
        columns = [np.zeros(self._n_padded) for _ in self._states]
        found = [state.potentials(column) for state, column in zip(self._states, columns)]
        log_loss = self._start + np.array([f[1] for f in found])
        top = float(log_loss.max())
        now = exp(log_loss - top)
        self._now = now / now.sum()
        pi[:] = 0.0
        self._scale = self._now * [scale for scale, _ in found]
        for scale, column in zip(self._scale, columns):
            pi += scale * column[: len(pi)]
        return 1.0, top + log(float(now.sum()))

    def advance(self, output: Output, alpha: float) -> None:
        """Add ``alpha * output`` to the scores."""
        self.scores += alpha * output[: len(self.scores)]
        for state in self._states:
            state.advance(output, alpha)

    @property
    def curvature(self) -> Floats:
        """Weight of all pairs that a row is in, of all parts."""
        out = np.zeros(len(self.scores))
        for scale, state in zip(self._scale, self._states):
            out += scale * state.curvature
        return out

    def binary_weights(self, output: Output) -> tuple[float, float]:
        """Return W+ and W- of a {0, 1} ranker."""
        right, wrong = _mixed(self._now, [s.binary_weights(output) for s in self._states])
        return float(right), float(wrong)

    def moments(self, output: Output) -> tuple[float, float]:
        """Return mean and mean square of the margins gained."""
        mean, square = _mixed(self._now, [s.moments(output) for s in self._states])
        return float(mean), float(square)

    def wrong_weights(self, codes: Codes, n_bins: int, missing_rank: int, out: Floats) -> None:
        """Write W- of every threshold of one feature."""
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
        """Return R1 and R2 of the current scores."""
        r1, r2 = _mixed(exp(self._start), [s.risks() for s in self._states])
        return float(r1), float(r2)

    def draw(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the queries (or pairs) of every part."""
        for state in self._states:
            state.draw(fraction, random)

    def fork(self) -> SumState:
        """Return a copy of the drawn pairs that can be moved without moving this state."""
        other = copy.copy(self)
        other.scores = self.scores.copy()
        other._states = [state.fork() for state in self._states]
        return other

    def tied(self, output: Output) -> SumState | None:
        """Return the pairs that a {0, 1} ranker ties, at scores of 0; None if there is none."""
        parts = [state.tied(output) for state in self._states]
        left = [number for number, part in enumerate(parts) if part is not None]
        if not left:
            return None
        other = copy.copy(self)
        other.scores = np.zeros_like(self.scores)
        other._states = [part for part in parts if part is not None]
        other._start, other._now = self._start[left], self._now[left]
        return other


def _mixed(shares: Floats, values: list[tuple[float, float]]) -> Floats:
    """Return the sums of the values of the parts, each times its share."""
    return np.asarray((shares[:, None] * np.array(values)).sum(axis=0))
