"""Weights of pairs under E2, the loss of RankBoost+ (Connamacher et al. 2019).

F2 is the mean over pairs of a product over the weak rankers in use: ``exp(-eta)`` where the
ranker orders the pair right, ``exp(eta)`` where wrong, ``cosh(eta)`` where it ties it
(equations 22 and 23; equation 6 lacks the minus sign of its exponent).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crucial.boosting.plus.pairs import PairList
from crucial.boosting.stump_search import worst_tied
from crucial.feedback.base import risks_of
from crucial.kernels.elementary import exp, log, log1p, row_sums, tanh
from crucial.kernels.pairs import PlusSums
from crucial.types import Bytes, Floats

__all__ = ["PlusWeights", "log_cosh"]


# Sum of |alpha| after which weights are computed anew. Relative to each other they can
# meanwhile change by no more than exp(2 * 100), so that what underflowed stays negligible.
_RENEW = 100.0
_LOG_2 = log(2.0)
# Distance after which nothing is known of a weight between 0 and 1.
_UNKNOWN = 1e9
# More is added up than rounding could hide from a bound.
_SLACK = 1e-12
# Rankers whose ties are weighed before the first look at the bounds of the others.
_FIRST_LOOK = 4


def log_cosh(x: Floats) -> Floats:
    """Return the logarithm of the hyperbolic cosine, for any argument."""
    size = np.abs(x)
    return size + log1p(exp(-2.0 * size)) - _LOG_2


def _log_cosh(x: float) -> float:
    size = abs(x)
    return size + log1p(exp(-2.0 * size)) - _LOG_2


class PlusWeights:
    """Pair weights D of equation 26, and those of E1 beside them.

    Attributes
    ----------
    pairs : PairList
    used : array of shape (n_rows, size)
        Outputs of the rankers in use.
    eta : array of shape (size,)
        Their cumulative weights.
    potentials : array of shape (n_rows,)
        Weight of the pairs a row should win minus that of those it should lose.
    log_e1, log_e2 : float
        Logarithms of E1 and E2 of the current ensemble.
    """

    def __init__(self, pairs: PairList, kernels: PlusSums) -> None:
        self.pairs, self._kernels = pairs, kernels
        n = pairs.n_rows
        self._d, self._e = pairs.weight.copy(), pairs.weight.copy()
        self._mass = 1.0
        self._other_mass = 1.0
        self._columns = np.zeros((n, 8))
        self._eta = np.zeros(8)
        # W0 of each ranker when it was last weighed, and how far D had come by then.
        self._ties = np.zeros(8)
        self._weighed = np.zeros(8)
        self._travel = 0.0
        self.size = 0
        self.log_e1 = self.log_e2 = 0.0
        self._moved = 0.0
        self._factors = np.ones((2, 4))
        self._multiply(np.zeros(n, np.uint8))

    @property
    def used(self) -> Floats:
        """Outputs of the rankers in use, one column each."""
        return self._columns[:, : self.size]

    @property
    def eta(self) -> Floats:
        """Cumulative weights of the rankers in use."""
        return self._eta[: self.size]

    def add(self, output: Bytes) -> int:
        """Put a ranker into use, at weight 0; return its place among those in use."""
        if self.size == len(self._eta):
            columns = self._columns
            self._columns = np.zeros((len(columns), 2 * self.size))
            self._columns[:, : self.size] = columns
            more = np.zeros(self.size)
            self._eta = np.concatenate((self._eta, more))
            self._ties = np.concatenate((self._ties, more))
            self._weighed = np.concatenate((self._weighed, more))
        self._weighed[self.size] = -_UNKNOWN
        self._columns[:, self.size] = output
        self.size += 1
        return self.size - 1

    def step(self, place: int, output: Bytes, alpha: float) -> float:
        """Add alpha to the weight of a ranker in use; return ln Z (equation 27)."""
        before = float(self._eta[place])
        self._eta[place] = before + alpha
        self._moved += abs(alpha)
        log_e2 = self.log_e2
        if self._moved > _RENEW:
            self._renew()
            return self.log_e2 - log_e2
        grow = exp(alpha)
        factors = self._factors
        # Divided by the mass so far, so that weights need no extra pass to sum to 1.
        factors[0, 1], factors[0, 2] = grow / self._mass, 1.0 / grow / self._mass
        factors[0, 0] = exp(_log_cosh(before + alpha) - _log_cosh(before)) / self._mass
        factors[1, 1], factors[1, 2] = grow / self._other_mass, 1.0 / grow / self._other_mass
        factors[1, 0] = 1.0 / self._other_mass
        factors[:, 3] = factors[:, 0]
        tie = factors[0, 0] * self._mass
        sums = self._multiply(output)
        # Half the sum of all changes of D: no W0 can have changed by more.
        left = sums[0] - sums[2] - sums[3]
        changes = ((sums[2], tie), (sums[3], 1.0 / grow), (left, grow))
        change = sum(abs(w / self._mass - w / factor) for w, factor in changes)
        self._travel += 0.5 * float(change) + 1e-15
        log_z = log(self._mass)
        self.log_e2 += log_z
        self.log_e1 += log(self._other_mass)
        return log_z

    def _multiply(self, output: Bytes) -> Floats:
        """Apply the factors and renew the potentials; return the sums of `pair_step`."""
        net, sums = self._kernels.pair_step(output, self._factors, self._d, self._e)
        self._mass, self._other_mass = float(sums[0]), float(sums[1])
        self.potentials = net / self._mass
        return sums

    def _weigh_ties(self, places: NDArray[np.integer]) -> None:
        """Renew W0 of some rankers in use."""
        columns = np.ascontiguousarray(self._columns[:, places])
        self._ties[places] = self._kernels.pair_ties(self._d, columns) / self._mass
        self._weighed[places] = self._travel

    def deltas(self, floor: float = -1.0) -> tuple[Floats, Floats]:
        """Return ``delta = -W+ + W- + W0 tanh(eta)`` of the rankers in use, and ``W+ - W-``.

        This is the slope of ln F2 along each of them (equations 31 and 32). Only W0 takes a
        pass over the pairs, and it cannot have moved further than D has: rankers that
        provably stay below the largest ``|delta|``, or below ``floor``, keep a W0 of before.

        Parameters
        ----------
        floor : float
            What is smaller in magnitude need not be exact; negative for all to be exact.
        """
        n = self.size
        slope = self._kernels.column_sums(self.potentials, self._columns, n)
        bent = tanh(self.eta)
        if floor < 0.0:
            self._weigh_ties(np.arange(n))
            return self._ties[:n] * bent - slope, slope
        delta = self._ties[:n] * bent - slope
        reach = np.minimum(self._travel - self._weighed[:n], 1.0) * np.abs(bent) + np.abs(delta)
        best, take = floor, _FIRST_LOOK
        while True:
            left = (reach >= worst_tied(best) - _SLACK).nonzero()[0]
            if not len(left):
                return delta, slope
            if len(left) > take:  # the most promising first: they may rule out the others
                left = left[np.argsort(-reach[left], kind="stable")[:take]]
            self._weigh_ties(left)
            found = self._ties[left] * bent[left] - slope[left]
            delta[left] = found
            reach[left] = -1.0  # (known)
            best, take = max(best, float(np.abs(found).max())), n

    def _renew(self) -> None:
        """Compute all weights from the rankers in use, in the logarithmic domain."""
        self._moved = 0.0
        self._travel += 1.0  # (nothing is known of a W0 any more)
        pairs, used = self.pairs, self.used
        tie = log_cosh(self.eta)
        scores, share = row_sums(used, self.eta), row_sums(used, tie)
        # A pair is tied by the rankers where both rows are 1, or neither is.
        whole = float(tie.sum())
        for begin in range(0, pairs.n_pairs, 1 << 16):
            part = slice(begin, begin + (1 << 16))
            high, low = pairs.high[part], pairs.low[part]
            both = (used[high] * tie * used[low]).sum(axis=1)
            with np.errstate(divide="ignore"):
                start = log(pairs.weight[part])
            self._e[part] = start + scores[low] - scores[high]
            self._d[part] = self._e[part] + whole - share[high] - share[low] + 2.0 * both
        tops = float(self._d.max()), float(self._e.max())
        self._d[:] = exp(self._d - tops[0])
        self._e[:] = exp(self._e - tops[1])
        self._factors[:] = 1.0
        self._multiply(np.zeros(pairs.n_rows, np.uint8))
        self.log_e2 = tops[0] + log(self._mass)
        self.log_e1 = tops[1] + log(self._other_mass)

    def share_of(self, part: slice) -> Floats:
        """Return the weights D of some pairs, normalised."""
        return self._d[part] / self._mass

    def risks(self, scores: Floats) -> tuple[float, float]:
        """Return R1 and R2 of the scores on the pairs (equations 3 and 4)."""
        margin = scores[self.pairs.high] - scores[self.pairs.low]
        wrong = float(self.pairs.weight[margin < 0.0].sum())
        return risks_of(wrong, float(self.pairs.weight[margin == 0.0].sum()))
