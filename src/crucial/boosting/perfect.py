"""Perfect rounds: what to do where the best weight of a weak ranker is infinite.

Connamacher et al. (2019, appendix B) discuss four answers for a weak ranker that misorders
nothing, and show what each of them breaks: to stop before it (their figure 4), to give it an
infinite weight alone (lemma 1), to give it a large constant (lemma 2), and the limit of
equation 49, in which earlier infinite weights count more than later ones and all of them more
than any finite weight. Smoothing, the default here, is in `crucial.boosting.steps`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from crucial.errors import ParameterError
from crucial.feedback.potentials import Potentials, exponential_pairs
from crucial.feedback.states import Output
from crucial.kernels.elementary import log
from crucial.types import Floats
from crucial.weak.base import Candidate, StepRule
from crucial.weak.drops import SNAP

__all__ = ["LARGE", "PerfectStep", "Settled", "power_above"]

#: The weight of a perfect round under "constant": pairs it orders keep no weight in floats.
LARGE = 64.0
# An infinite weight takes one bit of a score, and these leave 23 to the finite ones.
_MOST_INFINITE = 30


class PerfectStep(StepRule):
    """A step rule with another answer for perfect rounds than smoothing.

    Parameters
    ----------
    step : StepRule
        Returns None in a perfect round.
    answer : {"limit", "infinite", "constant"}
    """

    def __init__(self, step: StepRule, answer: str) -> None:
        self.step, self._answer, self.alone = step, answer, answer == "infinite"
        infinite = () if answer == "constant" else ("binary_weights", "fork", "tied")
        self.needs = (*step.needs, *infinite)
        self._infinite = 0

    def accept(self, candidate: Candidate, alpha: float) -> None:
        """Count the infinite weights."""
        self._infinite += math.isinf(alpha)
        self.step.accept(candidate, alpha)

    def notes(self, potentials: Potentials) -> dict[str, float]:
        """Return the notes of the step rule."""
        return self.step.notes(potentials)

    def __call__(self, candidate: Candidate, potentials: Potentials) -> float | None:
        """Return the weight of the candidate, possibly infinite, or None to stop."""
        alpha = self.step(candidate, potentials)
        if alpha is not None:
            return alpha
        sign = math.copysign(1.0, candidate.slope)
        if self._answer == "constant":
            return sign * LARGE
        if candidate.output.dtype != np.uint8:
            raise ParameterError(
                f"on_perfect={self._answer!r} needs weak rankers of 0 and 1, and "
                f"{candidate.ranker!r} has other scores; use 'smooth', 'stop' or 'constant'."
            )
        if _misorders_some(candidate.output, potentials, sign):
            # A pair of no weight is in the wrong order: the weight is large, but finite.
            return -0.5 * sign * log(SNAP)
        return sign * math.inf if self._infinite < _MOST_INFINITE else None


def _misorders_some(output: Output, potentials: Potentials, sign: float) -> bool:
    """Return whether a ranker misorders a pair, however little it weighs."""
    pairs = exponential_pairs(potentials)
    trial = pairs.fork()
    trial.advance(-pairs.scores, 1.0)
    trial.potentials(np.zeros_like(potentials.pi))
    right, wrong = trial.binary_weights(output)
    return (wrong if sign > 0.0 else right) > SNAP


def power_above(value: float) -> float:
    """Return the smallest power of two above a number that is not negative.

    Examples
    --------
    >>> power_above(0.0), power_above(3.0), power_above(4.0)
    (1.0, 4.0, 8.0)
    """
    return math.ldexp(1.0, math.frexp(value)[1]) if value > 0.0 else 1.0


class Settled:
    """The rounds of an ensemble with infinite weights, and finite weights that act like them.

    Parameters
    ----------
    alone : bool
        The ranker of an infinite weight is all that is left of the ensemble, as in lemma 1;
        else the weights are a limit, as in equation 49.
    """

    def __init__(self, alone: bool) -> None:
        self._alone = alone
        self._outputs: list[tuple[int, Output]] = []

    def add(self, number: int, output: Output) -> None:
        """Add the round of that number, whose weight is infinite."""
        self._outputs.append((number, output))

    def weights(self, weights: Sequence[float], rounds: int) -> list[float]:
        """Return finite weights that rank any rows as infinite ones do.

        Weak rankers score 0 or 1, so that no sum of finite weights exceeds the sum of their
        absolute values; the last infinite weight becomes a power of two above that, and each
        earlier one twice the next.

        Parameters
        ----------
        weights : sequence of float
            Of all rounds.
        rounds : int
            Rounds of the model, which early stopping may have chosen.

        Examples
        --------
        >>> settled = Settled(alone=False)
        >>> settled.add(0, np.zeros(1, np.uint8)), settled.add(2, np.zeros(1, np.uint8))
        (None, None)
        >>> settled.weights([math.inf, 3.0, -math.inf, 0.5], 4)
        [8.0, 3.0, -4.0, 0.5]
        """
        found = list(weights)
        if self._alone and self._outputs:
            kept = rounds == len(found)  # (else an earlier round is the best)
            last = math.copysign(1.0, found[-1]) if kept else 0.0
            return [0.0 if kept else weight for weight in found[:-1]] + [last]
        finite = math.fsum(abs(weight) for weight in found if math.isfinite(weight))
        unit = power_above(finite)
        for place, (number, _) in enumerate(reversed(self._outputs)):
            found[number] = math.copysign(unit * 2.0**place, found[number])
        return found

    def scores(self, finite: Floats, weights: Sequence[float]) -> Floats:
        """Return the scores of the training rows under the weights.

        Parameters
        ----------
        finite : array over the rows
            Scores by the rounds with a finite weight.
        weights : sequence of float
            As `weights` returned them.
        """
        if not self._outputs:
            return finite
        total = np.zeros_like(finite) if self._alone else finite.copy()
        for number, output in self._outputs:
            total += weights[number] * output[: len(total)]
        return total
