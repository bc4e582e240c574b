"""Losses over pairs other than the exponential one, and what they have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol

import numpy as np

from crucial.errors import DataError
from crucial.feedback.base import Feedback, Output, PairState
from crucial.feedback.layout import LabelledRows, ListedPairs
from crucial.kernels.elementary import exp, log
from crucial.kernels.sums import exact_sum
from crucial.objectives.base import Objective
from crucial.types import Floats

__all__ = ["Line", "OwnLoss", "OwnLossState", "log_sum"]


class Line(Protocol):
    """A convex loss along one weak ranker of 0 and 1.

    Attributes
    ----------
    reach : float
        Factor on ``.5 ln(right / wrong)`` that gives the minimum of the simplest loss of this
        kind. A perfect round, whose own minimum is at infinity, uses it.
    """

    reach: float

    def __call__(self, alpha: float) -> tuple[float, float]:
        """Return the first and second derivative of the loss after a step of alpha."""

    def weights(self) -> tuple[float, float]:
        """Return the weight of the pairs ordered right, and wrong; all pairs weigh 1."""

    def closed_form(self) -> float | None:
        """Return where the minimum is, if there is a formula for it."""


class OwnLossState:
    """See `crucial.feedback.base.ScoreState`; weights of pairs are those of another loss.

    Parameters
    ----------
    inner : PairState
        Follows the scores and counts what is misordered.

    Attributes
    ----------
    reach : float
        Factor on the weight of RankBoost's method 3 that makes it one of this loss.
    """

    reach = 1.0

    def __init__(self, inner: PairState) -> None:
        self._inner = inner
        self.scores = inner.scores  # (the same array: it moves with the inner state)

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write the potentials; return their scale and the logarithm of the loss."""
        raise NotImplementedError

    def line(self, output: Output) -> Line:
        """Return the loss along a weak ranker of 0 and 1."""
        raise NotImplementedError

    def slope_along(self, output: Floats, alpha: float) -> float:
        """Return the derivative of the loss along a weak ranker of any scores, after a step.

        Up to a positive factor that is the same for all alpha. The scores must not span more
        than 1.
        """
        raise NotImplementedError

    def turns(self, output: Output, sign: float) -> bool:
        """Return whether a weight of that sign misorders any pair that counts, however light."""
        smallest, largest = self._margins(output)
        return smallest < 0.0 if sign > 0.0 else largest > 0.0

    def _margins(self, output: Output) -> tuple[float, float]:
        """Return the smallest and the largest margin of the pairs that count."""
        raise NotImplementedError

    def draw(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the queries (or pairs) until the next draw."""
        raise NotImplementedError

    def advance(self, output: Output, alpha: float) -> None:
        """Add ``alpha * output`` to the scores."""
        self._inner.advance(output, alpha)

    def binary_weights(self, output: Output) -> tuple[float, float]:
        """Return W+ and W-: weight of the pairs that a {0, 1} ranker orders right, and wrong."""
        return self.line(output).weights()

    def risks(self) -> tuple[float, float]:
        """Return R1 and R2 of the current scores."""
        return self._inner.risks()


class OwnLoss(Objective):
    """A loss with one form over labels and one over explicit pairs."""

    #: The estimator named where a feedback is of neither kind.
    estimator: str

    @abstractmethod
    def over_labels(self, rows: LabelledRows, inner: PairState, threads: int) -> OwnLossState:
        """Return the state of the loss over labels."""

    @abstractmethod
    def over_pairs(self, pairs: ListedPairs, inner: PairState) -> OwnLossState:
        """Return the state of the loss over explicit pairs."""

    def begin(self, feedback: Feedback, threads: int) -> OwnLossState:
        """Return the state of the loss at scores of 0."""
        rows, pairs = feedback.labelled(), feedback.listed()
        if rows is not None:
            return self.over_labels(rows, feedback.state(threads=threads), threads)
        if pairs is not None:
            return self.over_pairs(pairs, feedback.state())
        raise DataError(
            f"{self.estimator} learns from labels or from pairs, not from "
            f"{type(feedback).__name__}: use fit(X, y, qid=...), or fit_pairs(X, pairs) without y. "
            "RankBoost takes both together."
        )


def log_sum(logs: Floats, top: float | None = None) -> float:
    """Return the logarithm of the sum of exponentials, which is rounded once.

    Parameters
    ----------
    top : float, optional
        The largest of the logarithms.

    Examples
    --------
    >>> log_sum(np.array([1000.0, 1000.0])) - 1000.0
    0.69314718...
    """
    top = float(logs.max(initial=-np.inf)) if top is None else top
    if top == -np.inf:
        return top
    return top + log(exact_sum(exp(logs - top)))
