"""Hinge losses over pairs, as functions of the scores of the rows.

A pair (lo, hi) of weight c asks for a margin and falls short of it by
``t = asked - (s_hi - s_lo)``. The hinge loss is the sum of ``c [t]_+``, the squared one that of
``c [t]_+^2 / 2``; the weights of all pairs sum to 1. Pairs that labels imply are not listed: value,
gradient and a product with the second derivative take O(n log n) (Joachims 2006; Lee & Lin 2014).

The hinge has smooth forms below it, `SmoothHinge`. With ``[t]_+ = max of a t over 0 <= a <= 1``,
a form of sharpness k is ::

    max over 0 <= a <= 1 of  a t - a^2 / (2 k)  =  (k / 2) ([t]_+^2 - [t - 1 / k]_+^2)

so that it is a difference of two squared hinges, and each a gives a lower bound on the minimum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from crucial.errors import DataError
from crucial.feedback.base import Feedback
from crucial.feedback.layout import LabelledRows, Layout, ListedPairs
from crucial.feedback.sums import SumFeedback
from crucial.kernels.elementary import dot, exp
from crucial.kernels.pairs import HingeSums
from crucial.types import Floats, Ints

__all__ = ["Hinges", "LabelHinges", "ListedHinges", "SmoothHinge", "SquaredHinge", "hinges_of"]


#: Largest distance of labels, and one over the smallest, whose square can be added up.
_FAR = 1e50


class Hinges(Protocol):
    """The hinges of weighted pairs, at scores of the rows.

    ``cut`` lowers the margin that is asked of every pair.
    """

    def hinge(self, scores: Floats, cut: float = 0.0) -> tuple[float, Floats]:
        """Return the sum of the hinges, and a subgradient by the scores."""

    def squared(self, scores: Floats, cut: float = 0.0) -> tuple[float, Floats]:
        """Return half of the sum of the squared hinges, and its gradient by the scores."""

    def curvature(self, scores: Floats, cut: float = 0.0) -> Callable[[Floats], Floats]:
        """Return the product with the second derivative of `squared`."""


class LabelHinges:
    """Hinges of the pairs that labels imply; see `Hinges`.

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
    >>> round(hinges.hinge(np.array([0.0, 0.5, 2.0]))[0], 6)  # (one of three falls short, by 1/2)
    0.166667
    """

    def __init__(self, rows: LabelledRows, margin: str, threads: int) -> None:
        layout = rows.layout
        if margin != "sign":
            _check_distances(layout, margin)
        self._sums = HingeSums(layout, rows.weight, layout.values, margin, threads)
        share = (rows.coefficient / exp(rows.log_total))[layout.query_of_row()]
        self._factor = share if rows.weight is None else share * rows.weight

    def hinge(self, scores: Floats, cut: float = 0.0) -> tuple[float, Floats]:
        """Return the sum of the hinges, and a subgradient by the scores."""
        short = self._sums.at(scores, cut, power=1)
        value = dot(self._factor, short.wins[:, 1])
        return value, self._factor * (short.losses[:, 0] - short.wins[:, 0])

    def squared(self, scores: Floats, cut: float = 0.0) -> tuple[float, Floats]:
        """Return half of the sum of the squared hinges, and its gradient by the scores."""
        short = self._sums.at(scores, cut, power=2)
        value = 0.5 * dot(self._factor, short.wins[:, 2])
        return value, self._factor * (short.losses[:, 1] - short.wins[:, 1])

    def curvature(self, scores: Floats, cut: float = 0.0) -> Callable[[Floats], Floats]:
        """Return the product with the second derivative of `squared`."""
        short = self._sums.at(scores, cut, power=2)
        partners = short.wins[:, 0] + short.losses[:, 0]

        def product(move: Floats) -> Floats:
            others = self._sums.moved(scores, move, cut, power=2)
            moved: Floats = self._factor * (partners * move - others)
            return moved

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


class ListedHinges:
    """Hinges of explicit pairs, each of which asks for 1; see `Hinges`.

    Parameters
    ----------
    pairs : ListedPairs
        Weights up to a common factor.
    n_rows : int
    """

    def __init__(self, pairs: ListedPairs, n_rows: int) -> None:
        self._pairs, self._n_rows = pairs, n_rows
        self._weight = pairs.weight / pairs.weight.sum()

    def _pulled(self, by_pair: Floats) -> Floats:
        """Return the gradient by the scores of a sum over pairs, given that by their margins."""
        out = np.zeros(self._n_rows)
        out += np.bincount(self._pairs.high, by_pair, self._n_rows)
        out -= np.bincount(self._pairs.low, by_pair, self._n_rows)
        return out

    def hinge(self, scores: Floats, cut: float = 0.0) -> tuple[float, Floats]:
        """Return the sum of the hinges, and a subgradient by the scores."""
        short = 1.0 - cut - self._pairs.margins(scores)
        active = np.where(short > 0.0, self._weight, 0.0)
        return dot(active, short), self._pulled(-active)

    def squared(self, scores: Floats, cut: float = 0.0) -> tuple[float, Floats]:
        """Return half of the sum of the squared hinges, and its gradient by the scores."""
        short = np.maximum(1.0 - cut - self._pairs.margins(scores), 0.0)
        force = self._weight * short
        return 0.5 * dot(force, short), self._pulled(-force)

    def curvature(self, scores: Floats, cut: float = 0.0) -> Callable[[Floats], Floats]:
        """Return the product with the second derivative of `squared`."""
        short = 1.0 - cut - self._pairs.margins(scores)
        active = np.where(short > 0.0, self._weight, 0.0)
        return lambda move: self._pulled(active * self._pairs.margins(move))


class _SumHinges:
    """Hinges of several feedbacks over the same rows; see `Hinges`."""

    def __init__(self, parts: Sequence[Hinges], shares: Floats, places: Sequence[Ints]) -> None:
        self._parts = list(zip(parts, shares.tolist(), places, strict=True))

    def _sum(
        self, scores: Floats, call: Callable[[Hinges, Floats], tuple[float, Floats]]
    ) -> tuple[float, Floats]:
        value, slope = 0.0, np.zeros(len(scores))
        for part, share, places in self._parts:
            own, by_score = call(part, scores[places])
            value += share * own
            slope[places] += share * by_score
        return value, slope

    def hinge(self, scores: Floats, cut: float = 0.0) -> tuple[float, Floats]:
        """Return the sum of the hinges, and a subgradient by the scores."""
        return self._sum(scores, lambda part, own: part.hinge(own, cut))

    def squared(self, scores: Floats, cut: float = 0.0) -> tuple[float, Floats]:
        """Return half of the sum of the squared hinges, and its gradient by the scores."""
        return self._sum(scores, lambda part, own: part.squared(own, cut))

    def curvature(self, scores: Floats, cut: float = 0.0) -> Callable[[Floats], Floats]:
        """Return the product with the second derivative of `squared`."""
        products = [part.curvature(scores[at], cut) for part, _, at in self._parts]

        def product(move: Floats) -> Floats:
            out = np.zeros(len(move))
            for (_, share, places), own in zip(self._parts, products, strict=True):
                out[places] += share * own(move[places])
            return out

        return product


def hinges_of(feedback: Feedback, margin: str, threads: int) -> Hinges:
    """Return the hinges of a feedback: of labels, explicit pairs, or both."""
    if isinstance(feedback, SumFeedback):
        place = np.full(feedback.n_rows, -1, np.int64)
        place[feedback.rows] = np.arange(len(feedback.rows))
        parts = [hinges_of(part, margin, threads) for part in feedback.parts]
        return _SumHinges(parts, feedback.shares, [place[part.rows] for part in feedback.parts])
    rows = feedback.labelled()
    if rows is not None:
        return LabelHinges(rows, margin, threads)
    pairs = feedback.listed()
    assert pairs is not None
    return ListedHinges(pairs, len(feedback.rows))


class SquaredHinge:
    """Half of the mean squared hinge, for `crucial.linear.truncated_newton`."""

    def __init__(self, hinges: Hinges) -> None:
        self._hinges = hinges

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the loss, and its gradient by the scores."""
        return self._hinges.squared(scores)

    def curvature(self, scores: Floats) -> Callable[[Floats], Floats]:
        """Return the product with the second derivative."""
        return self._hinges.curvature(scores)


class SmoothHinge:
    """A smooth form of the hinge, the closer below it the sharper it is.

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
        value, slope = self._hinges.squared(scores)
        over, beyond = self._hinges.squared(scores, 1.0 / self._sharp)
        return self._sharp * (value - over), self._sharp * (slope - beyond)

    def curvature(self, scores: Floats) -> Callable[[Floats], Floats]:
        """Return the product with the second derivative."""
        inner = self._hinges.curvature(scores)
        outer = self._hinges.curvature(scores, 1.0 / self._sharp)
        return lambda move: self._sharp * (inner(move) - outer(move))

    def plane(self, scores: Floats) -> tuple[float, Floats]:
        """Return height and slope: the hinge is nowhere below ``height + slope . s``.

        With ``sum c a t = 2 smooth - sum c [t - 1/k]_+``, and ``t = asked - margin``. The height is
        lower by what rounding may have added: `smooth` is a difference of squares, times k.
        """
        smooth, slope = self(scores)
        over, _ = self._hinges.hinge(scores, 1.0 / self._sharp)
        value, by_score = self._hinges.squared(scores)
        size = value + dot(np.abs(by_score), np.abs(scores))
        rounding = 8.0 * np.finfo(np.float64).eps * self._sharp * size
        return 2.0 * smooth - over - dot(slope, scores) - rounding, slope
