"""Losses of linear rankers as functions of the scores of the rows.

Hinges and squared errors over pairs, RSRank's discounted pairs, the infinite push, the likelihood
of lists, cosines with the labels, and the margin of average precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from crucial.boosting.stumps import TIE, first_largest
from crucial.errors import DataError
from crucial.feedback.base import Feedback, LabelledRows, Layout
from crucial.feedback.labels import LabelFeedback
from crucial.feedback.pairs import SumFeedback
from crucial.kernels.elementary import column_sums, dot, exp, exp2, log, log2, logaddexp, sigmoid
from crucial.kernels.pairs import HingeSums, ShortPairs
from crucial.rankers.linear.columns import Matrix
from crucial.types import Floats, Ints

#: Returns a convex loss of scores, never below 0, and a (sub)gradient by the scores.
Loss: TypeAlias = Callable[[Floats], tuple[float, Floats]]
#: Multiplies a move of the scores by a second derivative.
Product: TypeAlias = Callable[[Floats], Floats]


class CurvedLoss(Protocol):
    """A loss with a gradient, and a second derivative almost everywhere."""

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the loss, and its gradient by the scores."""

    def curvature(self, scores: Floats) -> Product:
        """Return the product with the second derivative."""


class BoundedLoss(CurvedLoss, Protocol):
    """A curved loss with planes below it, or below the loss that it is a smooth form of."""

    def plane(self, scores: Floats, value: float, by_score: Floats) -> tuple[float, float]:
        """Return a and b, given value and gradient at these scores.

        At any scores s the loss is at least ``share (a + by_score . s) - share^2 b``, for any
        share in [0, 1].
        """


# --- Losses over the pairs of a feedback: of labels, explicit pairs, or both
#
# A pair (lo, hi) of weight c asks for a margin and falls short of it by
# ``t = asked - (s_hi - s_lo)``. The hinge loss is the sum of ``c [t]_+``, the squared one that of
# ``c [t]_+^2 / 2``; the weights of all pairs sum to 1. Pairs that labels imply are not listed:
# value, gradient and a product with the second derivative take O(n log n) (Joachims 2006; Lee &
# Lin 2014).
#
# The hinge has smooth forms below it, `SmoothHinge`. With ``[t]_+ = max of a t over 0 <= a <= 1``,
# a form of sharpness k is ::
#
#     max over 0 <= a <= 1 of  a t - a^2 / (2 k)  =  (k / 2) ([t]_+^2 - [t - 1 / k]_+^2)
#
# so that it is a difference of two squared hinges, and each a gives a lower bound on the minimum.


#: Largest distance of labels, and one over the smallest, whose square can be added up.
_FAR = 1e50


class FeedbackLoss:
    """The sum of the losses of the parts of a feedback.

    Parameters
    ----------
    feedback : Feedback
    part_loss : callable
        Makes the loss of a feedback that is no sum; a loss takes the scores of its rows, and
        whatever else it is called with.
    factor : float
    """

    def __init__(
        self, feedback: Feedback, part_loss: Callable[[Feedback], Any], factor: float = 1.0
    ) -> None:
        self._parts: list[tuple[Any, float, Ints | slice]]
        if isinstance(feedback, SumFeedback):
            place = np.full(feedback.n_rows, -1, np.int64)
            place[feedback.rows] = np.arange(len(feedback.rows))
            self._parts = [
                (part_loss(part), factor * share, place[part.rows])
                for part, share in zip(feedback.parts, feedback.shares.tolist(), strict=True)
            ]
        else:
            self._parts = [(part_loss(feedback), factor, slice(None))]

    def __call__(self, scores: Floats, *form: float) -> tuple[float, Floats]:
        """Return the loss, and its gradient by the scores."""
        value, slope = 0.0, np.zeros(len(scores))
        for part, share, at in self._parts:
            part_value, by_score = part(scores[at], *form)
            value += share * part_value
            slope[at] += share * by_score
        return value, slope

    def curvature(self, scores: Floats, *form: float) -> Product:
        """Return the product with the second derivative."""
        products = [part.curvature(scores[at], *form) for part, _, at in self._parts]

        def product(move: Floats) -> Floats:
            out = np.zeros(len(move))
            for (_, share, at), part_product in zip(self._parts, products, strict=True):
                out[at] += share * part_product(move[at])
            return out

        return product


class LabelHinges:
    """Hinges of the pairs that labels imply.

    Parameters
    ----------
    rows : LabelledRows
    margin : {"sign", "gap", "product"}
        What is asked of a pair; see `crucial.kernels.pairs`.
    threads : int

    Examples
    --------
    >>> from crucial.feedback.labels import LabelFeedback
    >>> feedback = LabelFeedback([0, 1, 2])
    >>> hinges = LabelHinges(feedback.labelled(), "sign", 1)
    >>> round(hinges(np.array([0.0, 0.5, 2.0]), 1)[0], 6)  # (one of three falls short, by 1/2)
    0.166667
    """

    def __init__(self, rows: LabelledRows, margin: str, threads: int) -> None:
        layout = rows.layout
        if margin != "sign":
            _check_distances(layout, margin)
        self._sums = HingeSums(layout, rows.weight, layout.values, margin, threads)
        share = (rows.coefficient / exp(rows.log_total))[layout.query_of_row()]
        self._factor = share if rows.weight is None else share * rows.weight

    def __call__(self, scores: Floats, power: int = 2, cut: float = 0.0) -> tuple[float, Floats]:
        """Return the sum of the hinges, or half of that of their squares, and its gradient."""
        short = self._sums.at(scores, cut, power=power)
        value = dot(self._factor, short.wins[:, power]) / power
        return value, self._factor * (short.losses[:, power - 1] - short.wins[:, power - 1])

    def curvature(self, scores: Floats, cut: float = 0.0) -> Product:
        """Return the product with the second derivative of the squares."""
        short = self._sums.at(scores, cut, power=2)
        partners = short.wins[:, 0] + short.losses[:, 0]

        def product(move: Floats) -> Floats:
            others = self._sums.moved(scores, move, cut, power=2)
            return np.asarray(self._factor * (partners * move - others))

        return product


def _check_distances(layout: Layout, margin: str) -> None:
    """Refuse labels so far apart, or so close, that a margin made of their distance overflows."""
    apart = np.diff(layout.values)
    apart[layout.query_first[1:-1] - 1] = 1.0
    if not (layout.values.max() - layout.values.min() <= _FAR and apart.min() >= 1.0 / _FAR):
        raise DataError(
            f"margin={margin!r} takes distances of labels from {1 / _FAR:g} to {_FAR:g}. Labels "
            f"here go from {layout.values.min():g} to {layout.values.max():g}.",
            remedy="Divide the labels by a constant, or set margin='sign'.",
            parameter="margin",
        )


class ListedLoss:
    """Hinges of explicit pairs, each of which asks for 1; or errors of either sign.

    Parameters
    ----------
    feedback : Feedback
        Of listed pairs; weights up to a common factor.
    hinge : bool
        Whether a margin may be larger than 1.
    """

    def __init__(self, feedback: Feedback, hinge: bool) -> None:
        pairs = feedback.listed()
        assert pairs is not None
        self._pairs, self._n_rows, self._hinge = pairs, len(feedback.rows), hinge
        self._weight = pairs.weight / pairs.weight.sum()

    def _short(self, scores: Floats, cut: float) -> tuple[Floats, Floats]:
        """Return by how much pairs fall short, and the weights of those that count."""
        short = 1.0 - cut - self._pairs.margins(scores)
        return short, np.where(short > 0.0, self._weight, 0.0) if self._hinge else self._weight

    def _pulled(self, by_pair: Floats) -> Floats:
        """Return the gradient by the scores of a sum over pairs, given that by their margins."""
        out = np.bincount(self._pairs.high, by_pair, self._n_rows)
        return np.asarray(out - np.bincount(self._pairs.low, by_pair, self._n_rows))

    def __call__(self, scores: Floats, power: int = 2, cut: float = 0.0) -> tuple[float, Floats]:
        """Return the sum of the shortfalls, or half of that of their squares, and its gradient."""
        short, weight = self._short(scores, cut)
        force = weight if power == 1 else weight * short
        return dot(force, short) / power, self._pulled(-force)

    def curvature(self, scores: Floats, cut: float = 0.0) -> Product:
        """Return the product with the second derivative of the squares."""
        weight = self._short(scores, cut)[1]
        return lambda move: self._pulled(weight * self._pairs.margins(move))


class Hinges(FeedbackLoss):
    """The hinges of a feedback; a `BoundedLoss`.

    Called with scores it is half of the mean squared hinge; with a power of 1 the mean hinge; with
    a power and a cut, the cut lowers the margin that is asked of every pair.

    Parameters
    ----------
    feedback : Feedback
    margin : {"sign", "gap", "product"}
    threads : int
    """

    def __init__(self, feedback: Feedback, margin: str, threads: int) -> None:
        def part_loss(part: Feedback) -> LabelHinges | ListedLoss:
            rows = part.labelled()
            return ListedLoss(part, True) if rows is None else LabelHinges(rows, margin, threads)

        super().__init__(feedback, part_loss)

    def plane(self, scores: Floats, value: float, by_score: Floats) -> tuple[float, float]:
        """Return a plane below half of the squares; see `BoundedLoss`.

        ``[t]_+^2 / 2`` is at least ``p t - p^2 / 2`` for any p, here a share of ``[t]_+`` at these
        scores, with t = 1 - margin. The sum of ``c p t`` is twice the loss.
        """
        return 2.0 * value - dot(by_score, scores), value


class SmoothHinge:
    """A smooth form of the hinge, the closer below it the sharper it is; a `BoundedLoss`.

    Parameters
    ----------
    hinges : Hinges
    sharp : float
        It is lower than the hinge by at most ``1 / (2 sharp)``.
    """

    def __init__(self, hinges: Hinges, sharp: float) -> None:
        self._hinges, self._sharp = hinges, sharp

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the smooth form, and its gradient by the scores."""
        value, slope = self._hinges(scores)
        over, beyond = self._hinges(scores, 2, 1.0 / self._sharp)
        return self._sharp * (value - over), self._sharp * (slope - beyond)

    def curvature(self, scores: Floats) -> Product:
        """Return the product with the second derivative."""
        inner = self._hinges.curvature(scores)
        outer = self._hinges.curvature(scores, 1.0 / self._sharp)
        return lambda move: self._sharp * (inner(move) - outer(move))

    def plane(self, scores: Floats, value: float, by_score: Floats) -> tuple[float, float]:
        """Return a plane below the hinge; see `BoundedLoss`.

        With ``sum c a t = 2 smooth - sum c [t - 1/k]_+``, and ``t = asked - margin``. The height is
        lower by what rounding may have added: `smooth` is a difference of squares, times k.
        """
        over, _ = self._hinges(scores, 1, 1.0 / self._sharp)
        squares, slope = self._hinges(scores)
        size = squares + dot(np.abs(slope), np.abs(scores))
        rounding = 8.0 * np.finfo(np.float64).eps * self._sharp * size
        return 2.0 * value - over - dot(by_score, scores) - rounding, 0.0


# --- The loss of RSRank (Sun et al. 2009): pairs weigh what their exchange would cost in NDCG
#
# A pair of rows of one query, with labels y_i > y_j and positions k_i and k_j, weighs ::
#
#     (2^y_i - 2^y_j) |d_i - d_j| / (ideal DCG of the query),  d = 1 / log2(1 + k)
#
# All weights sum to 1. The loss of a margin z is the modified Huber loss: ``(1 - z)^2`` in [-1, 1],
# 0 above and ``-4 z`` below, which is ``[1 - z]_+^2 - [-1 - z]_+^2``. In the ideal order d rises
# with
# the label, so that the weight of a pair is a sum of four products of something of i with something
# of j: sums over pairs are four sums of hinges each, and no pair is listed.


# Rows that the weights of a query may add up to: positions beyond are not computed.
_MOST_ROWS = 1e7
_LEAST_ROWS = 1e-290  # (a share of less has no digits)
_HIGHEST_LABEL = 64.0


class HuberLoss:
    """The loss with the positions of the ideal order; a `BoundedLoss`.

    Parameters
    ----------
    feedback : LabelFeedback
    ties : {"mean", "first"}
        Rows of equal labels get the mean discount of their positions, or stand in the order of
        the rows.
    threads : int
    """

    def __init__(self, feedback: LabelFeedback, ties: str, threads: int) -> None:
        rows, layout = feedback.labelled(), feedback.labelled().layout
        labels, query = rows.labels, layout.query_of_row()
        ones = np.ones(len(labels))
        weight = ones if feedback.weight is None else feedback.weight
        mass = ones if rows.weight is None else rows.weight
        _check_grades(labels, np.bincount(query, weight).max())
        discount = _discounts(labels, query, weight, ties)
        by_mean = discount if ties == "mean" else _discounts(labels, query, weight, "mean")
        best = np.bincount(query, weight * (exp2(labels) - 1.0) * by_mean, layout.n_queries)
        if not (best > 0.0).all():
            raise DataError(
                "RSRank: labels are so small that 2^y - 1 of all labels of a query rounds to 0. "
                f"The largest is {labels.max():g}: multiply them, or use "
                "RankingSVM(penalty='l1').",
                parameter="y",
            )
        gain = exp2(labels) - exp2(layout.values[layout.query_first[:-1]])[query]
        # (gain_i - gain_j) (discount_i - discount_j): of row i, and of its partners
        self._terms = [
            (factor, HingeSums(layout, others, layout.values, "sign", threads))
            for factor, others in (
                (gain * discount, mass),
                (-gain, mass * discount),
                (-discount, mass * gain),
                (ones, mass * gain * discount),
            )
        ]
        scale = (rows.coefficient / best)[query] * mass
        self._scale = scale / dot(scale, self._at(np.zeros(len(labels)), 0.0).wins[:, 0])

    def _at(self, scores: Floats, cut: float) -> ShortPairs:
        """Return the sums over the pairs that fall short of ``1 - cut``."""
        wins, losses = np.zeros((len(scores), 3)), np.zeros((len(scores), 2))
        for factor, sums in self._terms:
            short = sums.at(scores, cut)
            wins += factor[:, None] * short.wins
            losses += factor[:, None] * short.losses
        return ShortPairs(wins, losses)

    def _near_less_far(self, scores: Floats) -> ShortPairs:
        """Return the sums of ``[1 - z]_+`` less those of ``[-1 - z]_+``."""
        near, far = (self._at(scores, cut) for cut in (0.0, 2.0))
        return ShortPairs(near.wins - far.wins, near.losses - far.losses)

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the loss, and its gradient by the scores."""
        short = self._near_less_far(scores)
        value = dot(self._scale, short.wins[:, 2])
        return value, 2.0 * self._scale * (short.losses[:, 1] - short.wins[:, 1])

    def curvature(self, scores: Floats) -> Product:
        """Return the product with the second derivative."""
        short = self._near_less_far(scores)
        partners = short.wins[:, 0] + short.losses[:, 0]

        def product(move: Floats) -> Floats:
            others = np.zeros(len(move))
            for factor, sums in self._terms:
                others += factor * (sums.moved(scores, move) - sums.moved(scores, move, 2.0))
            return np.asarray(2.0 * self._scale * (partners * move - others))

        return product

    def plane(self, scores: Floats, value: float, by_score: Floats) -> tuple[float, float]:
        """Return a plane below the loss; see `BoundedLoss`.

        The loss of a margin is at least ``p (1 - z) - p^2 / 4`` for any p in [0, 4], and equal at
        ``p = 2 ([1 - z]_+ - [-1 - z]_+)``.
        """
        pull = 2.0 * dot(self._scale, self._near_less_far(scores).wins[:, 1])
        return pull, pull + dot(by_score, scores) - value


def _check_grades(labels: Floats, heaviest: float) -> None:
    """Refuse labels that are no grades, and weights whose rows have no positions."""
    if labels.min() < 0.0 or labels.max() > _HIGHEST_LABEL:
        raise DataError(
            "RSRank: labels must be grades from 0 on, since a label y is worth 2^y - 1 in NDCG, "
            f"and at most {_HIGHEST_LABEL:g}. Got labels from {labels.min():g} to "
            f"{labels.max():g}. Move or rescale them, or use RankingSVM(penalty='l1'), for which "
            "only their order counts.",
            parameter="y",
        )
    if heaviest > _MOST_ROWS:
        raise DataError(
            f"RSRank: sample_weight adds up to {heaviest:g} rows in a query, and positions are "
            f"counted one by one, up to {_MOST_ROWS:g}. Use smaller weights, or "
            "RankingSVM(penalty='l1').",
            parameter="sample_weight",
        )
    if heaviest < _LEAST_ROWS:
        raise DataError(
            f"RSRank: sample_weight adds up to {heaviest:g} rows in a query, too few to take "
            "a share of. Multiply all weights by the same number.",
            parameter="sample_weight",
        )


def _discounts(labels: Floats, query: NDArray[np.integer], weight: Floats, ties: str) -> Floats:
    """Return the discount of every row at its position by falling label.

    A row of weight 2 is at two positions, whose mean discount it gets.
    """
    order = np.lexsort((np.arange(len(labels)), -labels, query))
    query, key, mass = query[order], labels[order], weight[order]
    new = np.ones(len(order), bool)
    if ties == "mean":
        new[1:] = (query[1:] != query[:-1]) | (key[1:] != key[:-1])
    first = np.flatnonzero(new)
    block = np.add.reduceat(mass, first)
    before = np.cumsum(block) - block
    starts = np.flatnonzero(np.diff(query[first], prepend=-1))
    begin = before - np.repeat(before[starts], np.diff(np.append(starts, len(first))))
    n_positions = int(np.ceil((begin + block).max()))
    table = np.concatenate(([0.0], np.cumsum(1.0 / log2(2.0 + np.arange(n_positions)))))
    inside = _between(table, begin + block) - _between(table, begin)
    out = np.empty(len(order))
    out[order] = np.repeat(inside / block, np.diff(np.append(first, len(order))))
    return out


def _between(table: Floats, at: Floats) -> Floats:
    """Return a table at places that need not be whole, on lines between its entries."""
    low = at.astype(np.int64)
    rise = table[np.minimum(low + 1, len(table) - 1)] - table[low]
    return np.asarray(table[low] + (at - low) * rise)


# --- The infinite push: winners against the highest loser of their query
#
# The limit of the p-norm push is the maximum over the rows lo that should lose of a sum over the
# rows hi that should win (Agarwal 2011; Rudin 2009, section 6). With a loss l that falls with the
# margin, the largest of these sums belongs to the highest lo of all: O(n), not O(pairs)::
#
#     L(s) = sum_q c_q sum_hi u_hi l(s_hi - max_lo s_lo)
#
# which is convex in the scores s; l is logistic, or a hinge (Rakotomamonjy 2012). In smooth forms
# the maximum is replaced by ``(1/b) ln sum_lo m_lo e^(b s_lo)`` with the rows' shares m of the
# weight, which is at most ``ln(1/m) / b`` less than the maximum.


class PushLoss:
    """The loss of the infinite push.

    Parameters
    ----------
    layout : Layout
        Every query has two levels.
    weight : array of shape (n_rows,)
        Of the rows that should win: their weight, query factors included; all sum to 1. Of the
        others: their share of the weight in their query, which smooths the maximum.
    hinge : bool
        Whether a margin costs a hinge, ``[1 - z]_+``, or ``ln(1 + e^-z)``.
    """

    def __init__(self, layout: Layout, weight: Floats, *, hinge: bool) -> None:
        sizes = np.diff(layout.level_start)
        low = np.repeat(np.arange(len(sizes)) % 2 == 0, sizes)
        self.low, self.high = np.flatnonzero(low), np.flatnonzero(~low)
        self.low_start, self.high_start = (
            np.concatenate(([0], np.cumsum(sizes[side::2])[:-1])) for side in (0, 1)
        )
        self.of_low, self.of_high = (
            np.repeat(np.arange(layout.n_queries), sizes[side::2]) for side in (0, 1)
        )
        self._v, self._hinge = weight[self.high], hinge
        # (a share can be too small for a float, where weights are far apart)
        self.log_m = log(np.maximum(weight[self.low], np.finfo(np.float64).tiny))

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the loss, and a subgradient by the scores: of equal losers the first counts."""
        losers = scores[self.low]
        top = np.maximum.reduceat(losers, self.low_start)
        at_top = np.flatnonzero(losers == top[self.of_low])
        share = np.zeros(len(losers))
        share[at_top[np.unique(self.of_low[at_top], return_index=True)[1]]] = 1.0
        margin = scores[self.high] - top[self.of_high]
        return self.value(margin), self.gradient(self.pull(margin), share)

    def value(self, margin: Floats) -> float:
        """Return the loss of the winners' margins."""
        if self._hinge:
            return dot(self._v, np.maximum(1.0 - margin, 0.0))
        return dot(self._v, logaddexp(0.0, -margin))

    def pull(self, margin: Floats) -> Floats:
        """Return minus the derivative of the loss by every winner's margin."""
        return np.where(margin < 1.0, self._v, 0.0) if self._hinge else self._v * sigmoid(-margin)

    def by_loser(self, values: Floats) -> Floats:
        """Return the sum over the winners of its query for every loser."""
        return np.add.reduceat(values, self.high_start)[self.of_low]

    def gradient(self, pull: Floats, share: Floats) -> Floats:
        """Return the gradient by the scores, given the losers' shares in the maximum."""
        gradient = np.zeros(len(self.low) + len(self.high))
        gradient[self.high] = -pull
        gradient[self.low] = share * self.by_loser(pull)
        return gradient

    def entropy(self, margin: Floats) -> float:
        """Return ``sum v H(a / v)`` of the winners' pulls a, for the logistic loss."""
        # v H(s) = v (s ln(1/s) + (1-s) ln(1/(1-s))), s = 1 / (1 + e^margin)
        pull = self.pull(margin)
        entropy = pull * logaddexp(0.0, margin) + (self._v - pull) * logaddexp(0.0, -margin)
        return float(entropy.sum())


class SmoothPush:
    """A smooth form of the logistic infinite push; a `BoundedLoss`.

    Parameters
    ----------
    push : PushLoss
    sharp : float
        b, above.
    """

    def __init__(self, push: PushLoss, sharp: float) -> None:
        self._push, self._sharp = push, sharp

    def _margins(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the winners' margins over the smooth maximum, and the losers' shares in it."""
        push = self._push
        logs = push.log_m + self._sharp * scores[push.low]
        highest = np.maximum.reduceat(logs, push.low_start)
        grown = exp(logs - highest[push.of_low])
        total = np.add.reduceat(grown, push.low_start)
        top = (highest + log(total)) / self._sharp
        return scores[push.high] - top[push.of_high], grown / total[push.of_low]

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the smooth form, and its gradient by the scores."""
        margin, share = self._margins(scores)
        return self._push.value(margin), self._push.gradient(self._push.pull(margin), share)

    def curvature(self, scores: Floats) -> Product:
        """Return the product with the second derivative."""
        push = self._push
        margin, share = self._margins(scores)
        pull = push.pull(margin)
        bend_of, spread_of = pull * sigmoid(margin), self._sharp * push.by_loser(pull)

        def product(move: Floats) -> Floats:
            mean = np.add.reduceat(share * move[push.low], push.low_start)
            bend = bend_of * (move[push.high] - mean[push.of_high])
            out = np.zeros(len(move))
            out[push.high] = bend
            spread = spread_of * (move[push.low] - mean[push.of_low])
            out[push.low] = share * (spread - push.by_loser(bend))
            return out

        return product

    def plane(self, scores: Floats, value: float, by_score: Floats) -> tuple[float, float]:
        """Return a plane below the infinite push itself; see `BoundedLoss`.

        For winners' pulls a in [0, v] and shares p of the losers, the loss is never below
        ``sum v H(a/v) + g . s``, with the entropy H and g the derivative by the scores.
        """
        return self._push.entropy(self._margins(scores)[0]), 0.0


# --- The likelihood of lists under Plackett and Luce's model (Xia et al. 2008, ListMLE)
#
# A list is made by choosing one row after the other, each among those that are left, with
# probability proportional to ``e^s``. The loss of a strict order is minus the logarithm of its
# probability. In a query whose labels tie, every row i above the lowest label is chosen among
# itself and the rows of lower labels, so that equal labels are not compared::
#
#     sum_i u_i (ln(e^s_i + sum_{k below i} u_k e^s_k) - s_i)
#
# which is ListMLE where the order is strict, convex in s, and the same for a row of weight 2 as
# for two rows. Value and gradient take O(n log n), all in logarithms: sums over the rows below are
# running sums over label levels from the lowest up, and the gradient of these rows is made of
# running
# sums from the highest down.


# Sums of terms up to the square root of e^600 have all digits, and so have their logarithms.
_UNIT = 600.0


def running_log_sums(logs: Floats, first: Ints) -> Floats:
    """Return the logarithms of running sums, which restart at every index in ``first``.

    Terms are divided by a power of e^600 that follows the largest so far: no difference of large
    sums is taken, so that small terms keep their digits next to large ones.

    Examples
    --------
    >>> running_log_sums(np.log([1.0, 2.0, 3.0, 5.0]), np.array([0, 3])).round(3).tolist()
    [0.0, 1.099, 1.792, 1.609]
    >>> np.log([1.0, 3.0, 6.0, 5.0]).round(3).tolist()
    [0.0, 1.099, 1.792, 1.609]
    """
    unit = np.zeros(len(logs))
    if logs.max() > _UNIT / 2.0 or logs[first].min() < -_UNIT / 2.0:
        for start, end in pairwise([*first.tolist(), len(logs)]):
            np.maximum.accumulate(logs[start:end], out=unit[start:end])
        unit = _UNIT * np.round(np.where(np.isfinite(unit), unit, 0.0) / _UNIT)
    sums = exp(logs - unit)
    begins = np.zeros(len(logs) + 1, bool)
    begins[first] = True
    grows = np.flatnonzero((unit[1:] != unit[:-1]) & ~begins[1:-1]) + 1
    begins[grows] = True
    before = set(grows.tolist())
    for start, end in pairwise([*np.flatnonzero(begins).tolist(), len(logs)]):
        if start in before and sums[start - 1] > 0.0:
            sums[start] += sums[start - 1] * exp(float(unit[start - 1] - unit[start]))
        np.add.accumulate(sums[start:end], out=sums[start:end])
    return unit + log(sums)


class ListLikelihood:
    """The mean loss per choice, as a function of scores; a `Loss`.

    Parameters
    ----------
    layout : Layout
        Rows by query and rising label.
    weight : array of shape (n_rows,), or None
        A row of weight 2 counts as two.
    factor : array of shape (n_queries,)
        Factor on the loss of each query.
    """

    def __init__(self, layout: Layout, weight: Floats | None, factor: Floats) -> None:
        self._starts = layout.level_start[:-1]
        self._segment = np.repeat(np.arange(len(self._starts)), np.diff(layout.level_start))
        self._first = layout.query_first[:-1]
        lengths = np.diff(layout.query_first)
        self._reversed = len(self._starts) - (self._first + lengths)[::-1]
        u = np.ones(len(layout.rows)) if weight is None else weight
        self._log_u = log(u)
        lowest = np.zeros(len(self._starts), bool)
        lowest[self._first] = True
        self._chosen = np.flatnonzero(~lowest[self._segment])
        value = u[self._chosen] / u.max() * factor[layout.query_of_row()[self._chosen]]
        self._value = value / value.sum()

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the loss, and its gradient by the scores."""
        logs = self._log_u + scores
        highest = np.maximum.reduceat(logs, self._starts)
        shares = np.add.reduceat(exp(logs - highest[self._segment]), self._starts)
        running = running_log_sums(highest + log(shares), self._first)
        below = np.empty_like(running)
        below[1:] = running[:-1]
        below[self._first] = -np.inf

        at = self._chosen
        margin = scores[at] - below[self._segment[at]]
        loss = dot(self._value, logaddexp(0.0, -margin))
        pull = self._value * sigmoid(-margin)
        gradient = np.zeros(len(scores))
        gradient[at] = -pull

        # A row below level l has the share e^(ln u + s - below_l) in the pull on that level.
        pulled = np.bincount(self._segment[at], pull, len(self._starts))
        back = np.full(len(pulled), -np.inf)
        some = np.flatnonzero(pulled > 0)
        back[some] = log(pulled[some]) - below[some]
        above = running_log_sums(back[::-1], self._reversed)[::-1]
        after = np.full(len(above), -np.inf)
        after[:-1] = above[1:]
        after[self._first[1:] - 1] = -np.inf
        gradient += exp(logs + after[self._segment])
        return loss, gradient


# --- Cosine between the scores of a query and its labels, feature by feature (Qin et al. 2008)
#
# The loss of a query with labels g and scores H is ``(1 - cos(g, H)) / 2``. Each round adds one
# feature h with a weight a. The derivative of the cosine by a is, but for a positive factor::
#
#     [(g.h)(H.H) - (g.H)(H.h)] + a [(g.h)(H.h) - (g.H)(h.h)]    over    |g| |H + a h|^3
#
# so that with ``|H|`` for ``|H + a h|`` the weight that makes the sum over queries 0 is a ratio of
# two sums; that is the paper's weight. The feature whose weight lowers the loss most is added.
# Where
# several lead to the same order, at different lengths of the scores, it is the smallest step.


# Scores of a query that spread less than this share of the widest query's are equal up to
# rounding: the cosine of the query is 0.
_FLAT = 1e-10


class AddedFeature(NamedTuple):
    """A column that was added, and its weight.

    Attributes
    ----------
    column : int
    weight : float
    loss : float
        Mean loss over queries, with this column.
    """

    column: int
    weight: float
    loss: float


class CosineLists:
    """Labels of queries, their weights, and sums over rows of a query.

    Parameters
    ----------
    layout : Layout
    weight : array of shape (n_rows,), or None
        A row of weight 2 counts as two.
    factor : array of shape (n_queries,)
        Weight of each query's loss.
    centred : bool
        Subtract the mean of a query from its labels and scores first: the cosine is then their
        correlation, and adding a constant to either changes nothing.
    """

    def __init__(
        self, layout: Layout, weight: Floats | None, factor: Floats, *, centred: bool
    ) -> None:
        self.n_queries, self.centred = layout.n_queries, centred
        self._query = layout.query_of_row()
        self._start = layout.row_start
        self._weight = np.ones(len(layout.rows)) if weight is None else weight / weight.max()
        self._mass = self.sums(np.ones(len(self._weight)))
        self.factor = factor / factor.sum()
        y = np.repeat(layout.values, np.diff(layout.level_start))
        largest = np.maximum.reduceat(np.abs(y), self._start[:-1])
        labels = self.centre(y / largest[self._query])
        size = np.sqrt(self.sums(labels * labels))
        self.labels = labels / size[self._query]

    def sums(self, values: Floats) -> Floats:
        """Return the weighted sum of every query."""
        return np.add.reduceat(self._weight * values, self._start[:-1])

    def centre(self, values: Floats) -> Floats:
        """Subtract the mean of their query from values, if ``centred``."""
        if not self.centred:
            return values
        return values - (self.sums(values) / self._mass)[self._query]

    def products(self, values: Floats, matrix: Matrix) -> Floats:
        """Return the products of centred values with every column, one row per query."""
        rows = sp.csr_array(
            (self._weight * values, np.arange(len(values)), self._start),
            shape=(self.n_queries, len(values)),
        )
        return _dense(rows @ matrix)

    def squares(self, matrix: Matrix) -> Floats:
        """Return the squared length of every column, centred if ``centred``, one row per query."""
        ones = np.ones(len(self._weight))
        square = matrix * matrix  # (cell by cell, for sparse arrays too)
        length = self.products(ones, square)
        if not self.centred:
            return length
        less = length - self.products(ones, matrix) ** 2 / self._mass[:, None]
        return np.where(less > _FLAT * length, less, 0.0)

    def loss(self, scores: Floats) -> float:
        """Return the mean loss over the pairs at some weights."""
        values = self.centre(scores)
        square = self.sums(values * values)
        live = square > _FLAT**2 * self.sums(scores * scores)
        length = np.sqrt(np.where(live, square, 1.0))
        cosine = np.where(live, self.sums(self.labels * values) / length, 0.0)
        return 0.5 * dot(self.factor, 1.0 - cosine)


def _dense(product: Matrix) -> Floats:
    return np.asarray(product.toarray() if hasattr(product, "toarray") else product, np.float64)


def add_features(
    lists: CosineLists, matrix: Matrix, rounds: int, tol: float
) -> Iterator[AddedFeature]:
    """Add one column after the other, until none lowers the loss by more than ``tol``.

    Parameters
    ----------
    lists : CosineLists
    matrix : array or sparse matrix of shape (n_rows, n_columns)
    rounds : int
        Largest number of columns.
    tol : float
    """
    if not matrix.shape[1]:
        return
    column_square = lists.squares(matrix)  # h.h
    spread = column_square > 0.0  # (anything else in a column of a query is rounding)
    label_column = lists.products(lists.labels, matrix) * spread  # g.h
    scores = np.zeros(matrix.shape[0])
    loss = 0.5  # (a cosine of 0 everywhere)
    for _ in range(rounds):
        square = lists.sums(scores * scores)  # H.H
        square[square <= _FLAT**2 * square.max()] = 0.0
        along = lists.sums(lists.labels * scores)[:, None]  # g.H
        if not square.any():
            weights = np.sign(column_sums(_cosine(label_column, column_square), lists.factor))
            across = np.zeros_like(label_column)
        else:
            across = lists.products(scores, matrix) * spread  # H.h
            weights = _weights(lists, square, along, label_column, across, column_square)
        length = square[:, None] + 2.0 * weights * across + weights**2 * column_square
        cosine = _cosine(along + weights * label_column, length)
        losses = 0.5 - 0.5 * column_sums(cosine, lists.factor)
        losses[weights == 0.0] = np.inf
        best = _smallest_step(losses, weights)
        if not losses[best] < loss - tol:
            return
        weight = float(weights[best])
        column = matrix[:, [best]]
        scores = lists.centre(scores + weight * _dense(column)[:, 0])
        loss = lists.loss(scores)
        yield AddedFeature(best, weight, loss)


def _smallest_step(losses: Floats, weights: Floats) -> int:
    """Return the column of the least loss, of equals that of the smallest weight.

    Examples
    --------
    >>> _smallest_step(np.array([0.3, 0.1, 0.1, np.inf]), np.array([1.0, 5.0, -2.0, 0.0]))
    2
    """
    tied = np.flatnonzero(losses <= losses.min() + TIE)
    return int(tied[first_largest(-np.abs(weights[tied]))])


def _weights(
    lists: CosineLists,
    square: Floats,
    along: Floats,
    label_column: Floats,
    across: Floats,
    column_square: Floats,
) -> Floats:
    """Return the paper's weight of every column, 0 where it has none."""
    live = square > 0
    share = np.zeros(lists.n_queries)
    share[live] = lists.factor[live] / (square[live] * np.sqrt(square[live]))
    down = column_sums(along * across - square[:, None] * label_column, share)
    bend = column_sums(across * label_column - along * column_square, share)
    weights = np.zeros(len(down))
    np.divide(down, bend, out=weights, where=np.abs(bend) > 1e-300)
    return np.where(np.isfinite(weights), weights, 0.0)


def _cosine(product: Floats, square: Floats) -> Floats:
    """Return products over lengths, clipped to [-1, 1]; 0 where a length is 0."""
    top = square.max(axis=0, keepdims=True)
    live = square > _FLAT**2 * np.where(top > 0, top, 1.0)
    out = np.zeros_like(product)
    np.divide(product, np.sqrt(np.where(live, square, 1.0)), out=out, where=live)
    return np.clip(out, -1.0, 1.0)


# --- The order that violates the margin of average precision most (Yue et al. 2007, section 4.2)
#
# With C relevant rows of scores ``s_1 >= s_2 >= ...`` and N others ``t_1 >= t_2 >= ...`` of a
# query, it is the order with the largest ``1 - AP + w.Psi``, where w.Psi is the mean
# over relevant i and other j of ``s_i - t_j``, with its sign turned where j is above i. Among
# the relevant rows, and among the others, the best order is by score; moving other j above relevant
# i changes the sum by ::
#
#     i / (C (i + j) (i + j - 1)) - 2 (s_i - t_j) / (C N)
#
# so that the best place of each j among the relevant rows is found separately, and these places
# never cross (their lemma 1). O(C N) per query.


#: Cells of a table that are in memory at a time.
_CELLS = 1 << 21


def relevant_above(relevant: Floats, other: Floats) -> Ints:
    """Return how many relevant rows are above each other row in the worst order.

    Parameters
    ----------
    relevant, other : arrays of scores, descending

    Examples
    --------
    >>> relevant_above(np.array([3.0, 0.1]), np.array([1.0, -8.0])).tolist()
    [1, 2]
    """
    n_relevant, n_other = len(relevant), len(other)
    places = np.empty(n_other, np.int64)
    i = np.arange(1, n_relevant + 1, dtype=np.float64)
    block = max(1, _CELLS // max(1, n_relevant))
    for start in range(0, n_other, block):
        part = other[start : start + block, None]
        j = np.arange(start + 1, start + 1 + len(part), dtype=np.float64)[:, None]
        gain = i / (n_relevant * (i + j) * (i + j - 1.0))
        gain -= 2.0 * (relevant - part) / (n_relevant * n_other)
        # Moving j above relevant k moves it above all from k down.
        total = np.cumsum(gain[:, ::-1], axis=1)[:, ::-1]
        best = np.argmax(total, axis=1)
        stays = total[np.arange(len(part)), best] <= 0.0
        places[start : start + block] = np.where(stays, n_relevant, best)
    return np.maximum.accumulate(places)  # (they cross only by rounding)


def average_precision(above: Ints, n_relevant: int) -> float:
    """Return the AP of an order, given how many relevant rows are above each other row.

    Examples
    --------
    >>> average_precision(np.array([1, 2]), 2)  # relevant, other, relevant, other
    0.8333333333333333
    """
    i = np.arange(1, n_relevant + 1)
    others = np.searchsorted(above, i, side="left")  # others above relevant i
    return float(np.mean(i / (i + others)))


def most_violated(scores: Floats, n_other: int) -> tuple[float, Floats]:
    """Return 1 - AP of the worst order of a query, and by how much its w.Psi falls short.

    Parameters
    ----------
    scores : array
        Scores of the ``n_other`` other rows, then of the relevant ones.
    n_other : int

    Returns
    -------
    loss : float
        ``1 - AP`` of that order.
    pull : array like scores
        ``w.Psi`` of the correct order minus that of this one is ``pull . scores``.
    """
    other = np.argsort(-scores[:n_other], kind="stable")
    relevant = n_other + np.argsort(-scores[n_other:], kind="stable")
    n_relevant = len(relevant)
    above = relevant_above(scores[relevant], scores[other])
    pull = np.empty(len(scores))
    pull[other] = above - n_relevant
    # Relevant i (from 0) has those others above it that have at most i relevant above them.
    pull[relevant] = np.searchsorted(above, np.arange(n_relevant), side="right")
    return 1.0 - average_precision(above, n_relevant), pull * (2.0 / (n_relevant * n_other))


class PrecisionLoss:
    """The mean margin loss in average precision; a `Loss`.

    Parameters
    ----------
    layout : Layout
        Every query has two levels, of which the upper is relevant.
    factor : array of shape (n_queries,)
        Weight of each query.
    """

    def __init__(self, layout: Layout, factor: Floats) -> None:
        self._factor = factor / factor.sum()
        starts = layout.row_start
        self._lists = [
            (slice(int(a), int(b)), int(m - a))
            for a, m, b in zip(starts[:-1], layout.level_start[1::2], starts[1:])
        ]

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the loss of the worst orders of all queries, and a subgradient by the scores."""
        slope, lost = np.empty(len(scores)), 0.0
        for (rows, n_other), factor in zip(self._lists, self._factor.tolist()):
            loss, pull = most_violated(scores[rows], n_other)
            slope[rows] = -factor * pull
            lost += factor * loss
        return lost + dot(slope, scores), slope
