"""FeatureRank and BL-FeatureRank: rankings added up, and ranked again after every step.

Not the boosting loop: the sum is turned into ranks inside every query before the next
ranking is added ("rank addition"), and weights belong to queries, not to pairs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from crucial.boosting.steps import half_log_ratio
from crucial.boosting.trace import STOPPED, Progress, Round, Trace
from crucial.feedback.layout import Agreement
from crucial.kernels.elementary import dot, exp, log
from crucial.kernels.sums import exact_dot, exact_sum
from crucial.model.weak import QuasiKNN, middle_positions
from crucial.types import Floats, Ints
from crucial.weak.quasi_knn import FeatureRankings, RankedQueries, best_first

__all__ = ["Mixture", "RankAddition", "RankAdditionSteps", "balanced_share", "rank_weight"]


# Sums of E up to this are 0, and agreements this close are equal.
_ZERO = 1e-9
_EQUAL = 1e-12


@dataclass
class RankAdditionSteps:
    """The steps ``H <- ranks(keep * H + weight * h)`` of rank addition.

    Attributes
    ----------
    rankers, keeps, weights : lists, one entry per step
    trace : Trace
    """

    rankers: list[QuasiKNN] = field(default_factory=list)
    keeps: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    trace: Trace = field(default_factory=Trace)


def rank_weight(weights: Floats, agreement: Floats, smoothing: float) -> float:
    """Return ``.5 ln(sum w (1 + E) / sum w (1 - E))``, equation 11 of Wang et al.

    Where one of the sums is 0, every query being right (or wrong) in full, the weight would
    be infinite: both are then raised by a share of the whole.

    Examples
    --------
    >>> round(rank_weight(np.ones(2), np.array([0.2, 0.6]), 0.001), 9)
    0.42364893
    """
    whole = exact_sum(weights)  # (the order of the queries does not decide)
    right = exact_dot(weights, 1.0 + agreement) / (2.0 * whole)
    wrong = exact_dot(weights, 1.0 - agreement) / (2.0 * whole)
    if abs(right - wrong) <= _EQUAL:
        return 0.0  # (what rounding leaves of it would rank the rows that are equal so far)
    ratio = half_log_ratio(right, wrong, smoothing)
    assert ratio is not None  # (the smoothing is positive)
    return ratio


@dataclass(frozen=True, eq=False)
class Mixture:
    """The mixture ``a H + (1 - a) h`` that replaces a weak ranker h, query by query.

    Attributes
    ----------
    of_before : array over the queries
        a: 1 is H as it was, 0 is h, in between the mixture h''.
    agreement : array over the queries
        E of the mixture.
    """

    of_before: Floats
    agreement: Floats


def balanced_share(
    agreement: Agreement,
    before: Floats,
    past: Floats,
    ranking: Floats,
    sizes: Ints,
) -> Mixture:
    """Return the best of h, h'' and H in every query (Wang et al., equation 13).

    ``h'' = beta H + (1 - beta) h`` with ``beta = E_H / (E_h + E_H)``. The preview h' of
    equation 14 is h'' times ``E_h + E_H`` and ranks alike. h'' is on offer where neither E
    is negative (as definition 1 asks of a weak ranker) and their sum is not 0, so that beta
    is a share. Equal ones: H before h'' before h.

    Parameters
    ----------
    agreement : Agreement
    before : array over the rows
        H, as positions.
    past : array over the queries
        E_H times the weight of the pairs.
    ranking : array over the rows
        h, as positions.
    sizes : int array
        Rows of every query.
    """
    own, pairs = agreement.net(ranking)
    total = own + past
    offered = (own >= 0.0) & (past >= 0.0) & (total > _ZERO * pairs)
    beta = np.where(offered, past / np.where(offered, total, 1.0), 1.0)
    # h' and not h'': whole numbers and halves, so that rounding breaks no tie.
    preview = np.repeat(past, sizes) * before + np.repeat(own, sizes) * ranking
    mixed = np.where(offered, agreement.net(preview)[0] / pairs, -np.inf)
    share, best = np.ones(len(past)), past / pairs
    for value, at in ((mixed, beta), (own / pairs, np.zeros(len(own)))):
        better = value > best + _EQUAL
        share[better], best[better] = at[better], value[better]
    return Mixture(share, best)


@dataclass(frozen=True, eq=False)
class _Judged:
    """A ranking of all queries with its agreement; net is right minus wrong pairs."""

    positions: Floats
    agreement: Floats
    net: Floats
    r1: float = 1.0
    r2: float = 0.5
    loss: float = 1.0


class RankAddition:
    """The algorithm: figures 2 and 3 of Wang et al.

    Parameters
    ----------
    rankings : FeatureRankings
    queries : RankedQueries
    agreement : Agreement
    query_weight : array over the queries
        Weight of each query.
    balance : {None, "mean", "figure"}
        None: FeatureRank. "mean": balance control, with the mean of its shares over the
        queries used for all of them, in training as in prediction, where the best is not
        known. "figure": balance control query by query in training; the model adds the weak
        rankers themselves, as figure 3 prints it.
    smoothing : float
        See `rank_weight`.
    threads : int
    """

    def __init__(
        self,
        rankings: FeatureRankings,
        queries: RankedQueries,
        agreement: Agreement,
        query_weight: Floats,
        balance: str | None = None,
        smoothing: float = 1e-3,
        threads: int = 1,
    ) -> None:
        self._rankings, self._queries, self._agreement = rankings, queries, agreement
        self._factor, self._balance = query_weight / exact_sum(query_weight), balance
        self._smoothing, self._threads = smoothing, threads
        self._sizes = np.diff(queries.starts)

    def run(self, order: str, cycles: int, progress: Progress | None = None) -> RankAdditionSteps:
        """Go through the features, as they come or the best first, several times."""
        steps = RankAdditionSteps()
        # H has no opinion at the start: E_H is 0 and every query weighs the same.
        nothing = np.zeros(len(self._sizes))
        now = _Judged(np.zeros(len(self._queries.labels)), nothing, nothing)
        plain = now.positions  # (H of the model, where training uses more than it does)
        features = self._order(order)
        for cycle in range(1, cycles + 1):
            for ranker, ranking in self._turns(features):
                began = time.perf_counter()
                share = self._share(now, ranking, first=not steps.rankers)
                weights = self._factor * exp(-now.agreement)
                weight = rank_weight(weights, share.agreement, self._smoothing)
                keep, add, scores = self._added(now.positions, ranking, share, weight)
                before, now = now, self._judged(self._ranked(scores))
                notes = {"cycle": float(cycle), **self._notes(share, now)}
                if self._balance == "figure":
                    plain = self._ranked(plain + weight * ranking)
                    notes["model_r2"] = self._judged(plain).r2
                steps.rankers.append(ranker)
                steps.keeps.append(keep)
                steps.weights.append(add)
                steps.trace.add(
                    Round(
                        ranker,
                        weight,
                        dot(weights, share.agreement) / float(weights.sum()),
                        now.loss / before.loss,
                        log(now.loss),
                        now.r1,
                        now.r2,
                        extras=notes,
                        seconds=time.perf_counter() - began,
                    )
                )
                if progress is not None and progress(len(steps.rankers), steps.trace):
                    steps.trace.stopped = STOPPED
                    return steps
        return steps

    def _order(self, order: str) -> list[int]:
        """Return the features in the order in which a cycle takes them."""
        features = list(range(self._rankings.n_features))
        if order == "given":
            return features
        found = self._rankings.stream(features)
        return best_first([-1.0 if one is None else self._worth(one[1]) for one in found])

    def _worth(self, ranking: Floats) -> float:
        return exact_dot(self._factor, self._agreement.of(ranking))

    def _turns(self, features: Sequence[int]) -> Iterator[tuple[QuasiKNN, Floats]]:
        return (found for found in self._rankings.stream(features) if found is not None)

    def _share(self, now: _Judged, ranking: Floats, first: bool) -> Mixture:
        if self._balance is None or first:
            return Mixture(np.zeros(len(self._sizes)), self._agreement.of(ranking))
        return balanced_share(self._agreement, now.positions, now.net, ranking, self._sizes)

    def _added(
        self, before: Floats, ranking: Floats, share: Mixture, weight: float
    ) -> tuple[float, float, Floats]:
        """Return what the model keeps of H and adds of h, and the sum to rank in training."""
        if self._balance == "figure":
            of_rows = np.repeat(share.of_before, self._sizes)
            return 1.0, weight, before + weight * (of_rows * before + (1.0 - of_rows) * ranking)
        mean = exact_dot(self._factor, share.of_before)
        keep, add = 1.0 + weight * mean, weight * (1.0 - mean)
        return keep, add, keep * before + add * ranking

    def _ranked(self, scores: Floats) -> Floats:
        starts, weight = self._queries.starts, self._queries.weight
        return middle_positions(scores, starts, weight=weight, threads=self._threads)

    def _judged(self, positions: Floats) -> _Judged:
        """Return a ranking with its agreement, risks and loss."""
        right, wrong, tied = self._agreement.counts(positions).T
        pairs = right + wrong + tied
        agreement = (right - wrong) / pairs
        r1 = dot(self._factor, (wrong + tied) / pairs)
        r2 = dot(self._factor, (wrong + tied / 2.0) / pairs)
        loss = dot(self._factor, exp(-agreement))
        return _Judged(positions, agreement, right - wrong, r1, r2, loss)

    def _notes(self, share: Mixture, after: _Judged) -> dict[str, float]:
        """Return further values for the trace."""
        # exp(2 T - 1) is at least 2 T, so half the loss bounds the mean Kendall distance.
        notes = {"bound": after.loss / 2.0}
        if self._balance is not None:
            kept, taken = share.of_before == 1.0, share.of_before == 0.0
            notes |= {
                "kept": dot(self._factor, kept),
                "mixed": dot(self._factor, ~kept & ~taken),
                "share_kept": dot(self._factor, share.of_before),
            }
        return notes
