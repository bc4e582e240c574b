"""States: a feedback under changing scores, as objectives, weak learners and steps ask it."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crucial.types import Codes, Floats, Ints

__all__ = ["Output", "PairState", "ScoreState", "draw_share", "padded", "risks_of"]

#: Scores of a weak ranker on the rows: uint8 for a {0, 1} ranker, else float64.
Output: TypeAlias = NDArray[Any]


class ScoreState(Protocol):
    """An objective at the current scores H.

    This is all that the boosting loop needs. A step rule or a weak learner that needs more,
    such as the curvature of the loss, names it in ``needs``.
    """

    @property
    def scores(self) -> Floats:
        """H of every row of ``Feedback.rows``, in that order."""

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write the potentials: minus the gradient of the loss by the score of each row.

        Returns
        -------
        scale : float
            ``scale * pi`` belongs to pair weights that sum to 1.
        log_loss : float
            Logarithm of the loss, over its value at scores of 0.
        """

    def advance(self, output: Output, alpha: float) -> None:
        """Add ``alpha * output`` to H; an output of uint8 is 0 or 1."""

    def risks(self) -> tuple[float, float]:
        """Return R1 and R2 of the current scores."""

    def draw(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the queries (or pairs) until the next draw."""


class PairState(ScoreState, Protocol):
    """The pairs of a feedback, weighted by the exponential loss.

    Weights of pairs are ``D = w exp(H(lo) - H(hi))``, normalised to sum 1 wherever they are
    returned, so that the potentials are ``pi(x) = sum_{hi=x} D - sum_{lo=x} D`` and the loss
    is E1, the weighted mean of ``exp(H(lo) - H(hi))``.
    """

    @property
    def curvature(self) -> Floats:
        """Second derivative of the loss by the score of each row, in the units of ``pi``.

        It is the weight of all pairs that the row is in; of the scores that potentials were
        last asked for.
        """

    def binary_weights(self, output: Output) -> tuple[float, float]:
        """Return W+ and W-: weight of the pairs that a {0, 1} ranker orders right, and wrong."""

    def moments(self, output: Output) -> tuple[float, float]:
        """Return mean and mean square of ``output(hi) - output(lo)`` under D."""

    def wrong_weights(self, codes: Codes, n_bins: int, missing_rank: int, out: Floats) -> None:
        """Write W- of every threshold of a binned feature; ``out[k]``: ones are codes >= k."""

    def prepare_scan(self) -> None:
        """Make what `wrong_weights` shares between features, before threads ask for it."""

    def fork(self) -> PairState:
        """Return a copy of the drawn pairs that can be moved without moving this state."""

    def tied(self, output: Output) -> PairState | None:
        """Return the pairs that a {0, 1} ranker ties, at scores of 0; None if there is none.

        Losses and risks stay shares of the weight that all pairs had.
        """


def padded(n_rows: int) -> int:
    """Round a number of rows up to a multiple of 8, which kernels read at a time."""
    return -(-n_rows // 8) * 8


def draw_share(items: Ints, fraction: float, random: np.random.Generator) -> Ints:
    """Draw a share of some numbers, at least one."""
    return random.permutation(items)[: max(1, round(fraction * len(items)))]


def risks_of(wrong: float, tied: float) -> tuple[float, float]:
    """Return R1 and R2 of the shares of wrong and tied pairs, which may round to above 1."""
    return min(1.0, wrong + tied), min(1.0, wrong + tied / 2)
