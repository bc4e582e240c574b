"""What losses have in common that are no sum of exponentials over pairs."""

from __future__ import annotations

import copy
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from crucial.errors import DataError, ParameterError
from crucial.feedback.base import Feedback, PairState
from crucial.feedback.potentials import Potentials
from crucial.types import Bytes, Floats

__all__ = ["Line", "OwnLossState", "begin_with", "log_sum", "refuse_sum"]


class Line(Protocol):
    """A convex loss along one weak ranker of 0 and 1.

    Attributes
    ----------
    reach : float
        Minimum of the loss, as a multiple of ``.5 ln(right / wrong)``, where the loss is as
        simple as can be; what a perfect round, whose minimum is at infinity, is given instead.
    """

    reach: float

    def __call__(self, alpha: float) -> tuple[float, float]:
        """First and second derivative of the loss after a step of alpha."""

    def weights(self) -> tuple[float, float]:
        """Weight of the pairs that the ranker orders right, and wrong; all pairs weigh 1."""

    def closed_form(self) -> float | None:
        """Where the minimum is, if there is a formula for it."""


class OwnLossState:
    """See `crucial.feedback.base.PairState`; weights of pairs are those of another loss.

    Parameters
    ----------
    inner : PairState
        Follows the scores and counts what is misordered.
    """

    def __init__(self, inner: PairState) -> None:
        self._inner = inner
        self.scores = inner.scores  # (the same array: it moves with the inner state)

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write the potentials; their scale and the logarithm of the loss, 0 at equal scores."""
        raise NotImplementedError

    def line(self, output: Bytes) -> Line:
        """The loss along a weak ranker of 0 and 1."""
        raise NotImplementedError

    def draw(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the queries (or pairs) until the next draw."""
        raise NotImplementedError

    def advance(self, output: NDArray[Any], alpha: float) -> None:
        """Let ``H += alpha * output``."""
        self._inner.advance(output, alpha)

    def binary_weights(self, output: Bytes) -> tuple[float, float]:
        """W+ and W-: weight of the pairs that a {0, 1} ranker orders right, and wrong."""
        return self.line(output).weights()

    def risks(self) -> tuple[float, float]:
        """R1 and R2 of the current scores."""
        return self._inner.risks()

    def fork(self) -> Self:
        """A copy that can be moved without moving this state."""
        made = copy.copy(self)
        made._inner = self._inner.fork()
        made.scores = made._inner.scores
        return made

    def prepare_scan(self) -> None:
        """Nothing is shared between features."""

    def moments(self, output: Floats) -> tuple[float, float]:
        """Refused: this loss is stepped along by `line`."""
        raise _only_exponential()

    def wrong_weights(
        self, codes: NDArray[Any], n_bins: int, missing_rank: int, out: Floats
    ) -> None:
        """Refused: only sums of exponentials are known for every threshold at once."""
        raise _only_exponential()


def _only_exponential() -> ParameterError:
    return ParameterError(
        "choice='largest_drop' and real-valued weak rankers need the exponential loss of RankBoost."
    )


def begin_with(state: PairState, n_rows: int) -> Potentials:
    """Potentials of a state that is still at scores of 0."""
    made = Potentials(np.zeros(-(-n_rows // 8) * 8), 1.0, 0.0, state)
    made.scale, made.log_loss = state.potentials(made.pi)
    return made


def refuse_sum(owner: str, feedback: Feedback) -> DataError:
    """The error for feedback of a kind that a loss has no form for."""
    return DataError(
        f"{owner} learns from labels or from pairs, not from {type(feedback).__name__}: fit(X, y, "
        "qid=...) or fit_pairs(X, pairs) without y. RankBoost takes both together."
    )


def log_sum(logs: Floats) -> float:
    """Logarithm of the sum of exponentials, one after the other.

    Examples
    --------
    >>> log_sum(np.array([1000.0, 1000.0])) - 1000.0
    0.69314718...
    """
    top = float(logs.max(initial=-np.inf))
    if top == -np.inf:
        return top
    return top + float(np.log(np.cumsum(np.exp(logs - top))[-1]))
