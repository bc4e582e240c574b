"""Step rules: how far to go along a weak ranker.

Methods 1, 2 and 3 of Freund et al. (2003, section 3.2), steps of one length, line searches for
other losses, perfect rounds, whose best weight is infinite, and steps on the smooth margin.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, TypeAlias, cast

import numpy as np
from msgspec.structs import replace as replaced

from crucial.boosting.loop import Candidate, StepRule
from crucial.boosting.pair_losses import PairLossState
from crucial.boosting.stumps import SNAP
from crucial.errors import ParameterError
from crucial.feedback.base import Feedback, Output, PairState, Potentials, exponential_pairs
from crucial.feedback.classes import BipartiteState
from crucial.kernels.elementary import exact_dot, exact_sum, exp, expm1, log
from crucial.model.weak import Tree
from crucial.types import Floats

__all__ = ["SmoothClassMarginStep", "SmoothMarginStep", "smooth_step"]

# --- Z along a weak ranker of any scores, and where it is smallest


# Beyond this a {0, 1} ranker has no finite optimum: its wrong pairs weigh less than what is 0. Any
# other ranker may have one, since its margins may be small.
_FAR = -0.5 * log(SNAP)
#: A weight that is as good as an infinite one, and leaves margins their digits.
AFAR = 1e12
# A step after which nothing weighs anything beside the pairs that a ranker orders worst.
_INFINITE = 1e200
# A step after which pairs in the right order, of a margin of 1 at least, weigh nothing.
_SETTLED = 60.0
# Moments of scores of a larger range are cut off, see `LabelState`.
_RANGE = 600.0
# Slopes of ln Z below this are treated as zero.
_FLAT = 1e-15
# Steps of alpha that change Z by less than rounding.
_CLOSE = 1e-8
# A function that has all but vanished, and whose tangent still leads further, has no zero.
_NEAR = 1e-3

#: ``ln Z(alpha)`` with its first and second derivative, as a function.
Derivatives: TypeAlias = Callable[[float], tuple[float, float, float]]


def log_z_along(candidate: Candidate, potentials: Potentials) -> Along:
    """Return ``ln Z(alpha)`` of a candidate with its derivatives."""
    if isinstance(potentials.pairs, BipartiteState) and isinstance(candidate.ranker, Tree):
        values = np.unique(candidate.ranker.values)
        bad, good = potentials.pairs.weights_by_value(candidate.output, values)
        return _AlongValues(np.concatenate((values, -values)), np.concatenate((bad, good)))
    return _AlongPairs(candidate, potentials)


class Along(Protocol):
    """``ln Z(alpha)`` of a weak ranker with its first and second derivative."""

    def __call__(self, alpha: float) -> tuple[float, float, float]:
        """Return ln Z and its two derivatives at a weight."""

    def turns(self, sign: float) -> bool:
        """Return whether a weight of that sign misorders any pair, however light.

        Z has a finite minimum on that side then; else it falls for ever.
        """

    def left(self, sign: float) -> float:
        """Return ``ln Z`` of an infinite weight of that sign, which misorders nothing."""


class _AlongPairs:
    """`Along` of any weak ranker, by a copy of the pairs that is moved."""

    def __init__(self, candidate: Candidate, potentials: Potentials) -> None:
        self._pairs, self._candidate = exponential_pairs(potentials), candidate
        self._spare = np.zeros_like(potentials.pi)
        self._trial: PairState | None = self._pairs.copy()
        self._start = self._trial.potentials(self._spare)[1]
        self._reached, self._last = 0.0, (0.0, 0.0)
        h = candidate.output
        # (trees do without, so that rows in parts, whose scores are elsewhere, give the same)
        self._wide = isinstance(h, np.ndarray) and not isinstance(candidate.ranker, Tree)
        if self._wide:
            self._begun, self._width = float(np.ptp(self._trial.scores)), float(np.ptp(h))

    def __call__(self, alpha: float) -> tuple[float, float, float]:
        if self._wide and self._begun + abs(alpha) * self._width > _RANGE:
            found = self._far(alpha)
        else:
            found = self._near(alpha)
        self._last = alpha, found[1]
        return found

    def _near(self, alpha: float) -> tuple[float, float, float]:
        if self._trial is None:
            self._trial, self._reached = self._pairs.copy(), 0.0
        self._trial.advance(self._candidate.output, alpha - self._reached)
        self._reached = alpha
        log_z = self._trial.potentials(self._spare)[1] - self._start
        mean, square = self._trial.moments(self._candidate.output)
        return log_z, -mean, max(square - mean * mean, 0.0)

    def _far(self, alpha: float) -> tuple[float, float, float]:
        """Return ln Z and its derivatives by the potentials alone, and the secant of the slope."""
        h = self._candidate.output
        if not isinstance(self._pairs, BipartiteState):
            h = h - np.median(h)  # (most rows near 0: an outlier takes their digits otherwise)
        trial = self._moved(h, alpha)
        scale, log_loss = trial.potentials(self._spare)
        slope, (at, before) = -scale * exact_dot(self._spare[: len(h)], h), self._last
        bend = (slope - before) / (alpha - at) if alpha != at else 0.0
        return log_loss - self._start, slope, max(bend, 0.0)

    def _moved(self, output: Output, alpha: float) -> PairState:
        """Return a copy that made one step. (There may be one copy at a time.)"""
        self._trial = None
        trial = self._pairs.copy()
        trial.advance(output, alpha)
        return trial

    def _says(self) -> Output:
        """Return the ranks of the candidate's outputs: pairs that it ties stay tied."""
        h, tree = self._candidate.output, self._candidate.ranker
        if isinstance(self._pairs, BipartiteState):
            return np.asarray(np.sign(h), np.float64)  # (of rows one by one)
        if not isinstance(tree, Tree):
            return np.unique(h, return_inverse=True)[1].astype(np.float64)
        values, places = np.unique(tree.values, return_inverse=True)
        if isinstance(h, np.ndarray):
            return np.searchsorted(values, h).astype(np.float64)
        ranks = tuple(places.astype(np.float64).tolist())
        return replace(h, ranker=replaced(tree, values=ranks))

    def turns(self, sign: float) -> bool:
        """Return whether a weight of that sign misorders any pair, however light."""
        trial = self._moved(self._says(), math.copysign(_INFINITE, sign))
        # (as one misordered pair costs; beside such steps, pairs that it ties lose their scores)
        return trial.potentials(self._spare)[1] > 0.5 * _INFINITE

    def left(self, sign: float) -> float:
        """Return ``ln Z`` of an infinite weight of that sign, which misorders nothing."""
        trial = self._moved(self._says(), math.copysign(_SETTLED, sign))
        return trial.potentials(self._spare)[1] - self._start


class _AlongValues:
    """``ln sum weight e^(alpha move)`` along a weak ranker; weights sum to 1."""

    def __init__(self, moves: Floats, weights: Floats) -> None:
        self._moves, self._weights = moves, weights

    def __call__(self, alpha: float) -> tuple[float, float, float]:
        moves = self._moves
        with np.errstate(divide="ignore"):
            logs = log(self._weights) + alpha * moves
        top = float(logs.max())
        shares = exp(logs - top)
        total = exact_sum(shares)
        slope = exact_dot(shares, moves) / total
        bend = exact_dot(shares, (moves - slope) ** 2) / total
        return top + log(total), slope, bend

    def turns(self, sign: float) -> bool:
        """Return whether a weight of that sign misorders any pair, however light."""
        return bool((self._moves[self._weights > 0.0] * sign > 0.0).any())

    def left(self, sign: float) -> float:
        """Return ``ln Z`` of an infinite weight of that sign, which misorders nothing."""
        return log(exact_sum(self._weights[self._moves == 0.0]) or exp(-_RANGE))


def newton_root(
    slope_at: Callable[[float], tuple[float, float]],
    tolerance: float = 1e-15,
    turns: Callable[[float], bool] | None = None,
) -> float | None:
    """Return the zero of a rising function; None if there is none.

    Parameters
    ----------
    slope_at : function
        Returns the value and its derivative.
    tolerance : float
        The search stops at a smaller step.
    turns : function, optional
        Returns whether the function changes its sign at all on the way to an infinite number of
        that sign. Asked where it has all but vanished, or is far from 0; without it there is no
        zero then.

    Examples
    --------
    >>> round(newton_root(lambda x: (math.exp(x) - 2.0, math.exp(x))), 10)
    0.6931471806

    A function that comes ever closer to 0 has none:

    >>> newton_root(lambda x: (-math.exp(-4.0 * x), 4.0 * math.exp(-4.0 * x)))
    """
    low, high = -math.inf, math.inf
    alpha = vanished = 0.0
    known = False  # that there is a zero
    for _ in range(200):
        slope, curvature = slope_at(alpha)
        vanished = vanished or SNAP * abs(slope)
        if not known and abs(slope) <= vanished and abs(slope) > _NEAR * curvature:
            if turns is None or not turns(-slope):
                return None
            known = True
        if abs(slope) <= _FLAT:
            return alpha
        if slope > 0:
            high = alpha
        else:
            low = alpha
        step = -slope / curvature if curvature > 0 else math.copysign(math.inf, -slope)
        if abs(step) <= tolerance * max(1.0, abs(alpha)):
            return alpha
        reach = max(2.0, abs(alpha)) if known else 2.0
        proposal = alpha + max(-reach, min(reach, step))
        if not low < proposal < high:
            proposal = (low + high) / 2
        if not known and abs(proposal) > _FAR:
            if turns is None or not turns(proposal):
                return None
            known = True
        if proposal in (low, high):
            return proposal
        alpha = proposal
    return alpha


def largest_drop(candidate: Candidate, potentials: Potentials) -> float:
    """Return ``1 - Z`` at the best weight of a candidate, for scores of any size.

    For a {0, 1} ranker in closed form, ``(sqrt(W+) - sqrt(W-))^2``; otherwise by Newton's method
    (method 1 of Freund et al. 2003, section 3.2). A ranker whose best weight is infinite leaves
    the pairs that it ties.
    """
    if candidate.output.dtype == np.uint8:
        weights = exponential_pairs(potentials).binary_weights(candidate.output)
        right, wrong = (0.0 if one < SNAP else one for one in weights)
        return (math.sqrt(right) - math.sqrt(wrong)) ** 2
    along = log_z_along(candidate, potentials)
    alpha = newton_root(lambda at: along(at)[1:], _CLOSE, along.turns)
    left = along.left(candidate.slope) if alpha is None else along(alpha)[0]
    return -expm1(min(left, 0.0))


# --- How far to go along a weak ranker: methods 1, 2 and 3 of Freund et al. (2003, section 3.2)
#
# A round is *perfect* when the weak ranker misorders nothing (or orders nothing right):
# its best weight is then infinite. Connamacher et al. (2019, appendix B) show that
# stopping, a large constant and an infinite weight each break a guarantee; here the
# weights of right and wrong pairs are smoothed in such a round, and in no other.


class Step(StepRule):
    """Base of the step rules.

    Parameters
    ----------
    smoothing : float
        See `smoothing_of`.
    stop_when_perfect : bool
        End before a perfect round instead of smoothing it.
    power : float
        Of the loss, which is a power of a sum of exponentials; for `BoundStep`.

    Attributes
    ----------
    smoothing : float
        0 where a perfect round ends the ensemble.
    """

    def __init__(
        self, smoothing: float = 1e-3, stop_when_perfect: bool = False, power: float = 1.0
    ) -> None:
        self.smoothing, self._power = 0.0 if stop_when_perfect else smoothing, power

    def __call__(self, candidate: Candidate, potentials: Potentials) -> float | None:
        """Return the weight of the candidate, or None to stop."""
        raise NotImplementedError


class BoundStep(Step):
    """Method 3: minimises an upper bound of Z, ``.5 ln((1 + r) / (1 - r))``; h in [0, 1].

    For a p-th power it is ``ln((1 + r) / (1 - r)) / 2p``: with margins m in [-1, 1], ``e^(-alpha
    m)`` lies under its chord and the p-th power of a chord under the chord of the powers, so that
    ``F(alpha) / F(0) <= (1-r)/2 e^(p alpha) + (1+r)/2 e^(-p alpha)``, method 3 in ``p alpha``. F
    falls by at least ``sqrt(1 - r^2)``.
    """

    name, about = "bound", "RankBoost's method 3, for scores in [0, 1]"
    parted = True

    def __call__(self, candidate: Candidate, potentials: Potentials) -> float | None:
        """Return the weight of the candidate, or None to stop."""
        r = min(1.0, max(-1.0, candidate.slope))
        ratio = half_log_ratio((1.0 + r) / 2.0, (1.0 - r) / 2.0, self.smoothing)
        return None if ratio is None else ratio / self._power


class ExactStep(Step):
    """Method 2: minimises Z for a {0, 1} ranker, ``.5 ln(W+ / W-)``."""

    name, about = "exact", "method 2, for scores of 0 and 1"
    needs = ("binary_weights",)
    scores = "binary"
    parted = True

    def __call__(self, candidate: Candidate, potentials: Potentials) -> float | None:
        """Return the weight of the candidate, or None to stop."""
        if candidate.weights is None and candidate.output.dtype != np.uint8:
            raise ParameterError(
                "step='exact' needs weak rankers of 0 and 1, and "
                f"{candidate.ranker!r} has other scores; use step='bound' or 'numeric'."
            )
        return half_log_ratio(*binary_weights(candidate, potentials), self.smoothing)


class NumericStep(Step):
    """Method 1: minimises Z for any ranker, by Newton's method kept inside a bracket."""

    name, about = "numeric", "method 1, for any scores"
    needs = ("binary_weights", "moments", "copy")
    scores = "any"
    parted = True

    def __call__(self, candidate: Candidate, potentials: Potentials) -> float | None:
        """Return the weight of the candidate, or None to stop."""
        if candidate.output.dtype == np.uint8:
            # The same minimum in closed form.
            return half_log_ratio(*binary_weights(candidate, potentials), self.smoothing)
        along = log_z_along(candidate, potentials)
        alpha = newton_root(lambda at: along(at)[1:], turns=along.turns)
        if alpha is None and self.smoothing > 0.0:
            alpha = newton_root(lambda at: smoothed(*along(at), at, self.smoothing)[1:])
        return alpha


def binary_weights(candidate: Candidate, potentials: Potentials) -> tuple[float, float]:
    """Return W+ and W- of a {0, 1} ranker, as its learner knows them or as they are computed."""
    if candidate.weights is not None:
        return candidate.weights
    return exponential_pairs(potentials).binary_weights(candidate.output)


def half_log_ratio(right: float, wrong: float, smoothing: float) -> float | None:
    """Return ``.5 ln(right / wrong)``.

    Where one of them is 0, both are raised by the smoothing first; None if that is 0.

    Examples
    --------
    >>> round(half_log_ratio(0.75, 0.25, 0.001), 6), half_log_ratio(1.0, 0.0, 0.0)
    (0.549306, None)
    """
    if right < SNAP or wrong < SNAP:
        if smoothing == 0.0:
            return None
        right, wrong = right + smoothing, wrong + smoothing
    return 0.5 * log(right / wrong)


def smoothed(
    log_z: float, slope: float, curvature: float, alpha: float, share: float
) -> tuple[float, float, float]:
    """Return ``ln Z`` with its derivatives, for one more right and wrong pair of that share."""
    z = exp(min(log_z, 600.0))
    more = share * (exp(alpha) + exp(-alpha))
    first = (z * slope + share * (exp(alpha) - exp(-alpha))) / (z + more)
    second = (z * (curvature + slope * slope) + more) / (z + more) - first * first
    return log((z + more) / (1.0 + 2.0 * share)), first, max(second, 0.0)


#: The step rules of RankBoost by name.
STEPS: dict[str, type[Step]] = {one.name: one for one in (BoundStep, ExactStep, NumericStep)}


# --- Steps of one length, for weak rankers that come with the values they ask for


class FixedStep(StepRule):
    """Give every weak ranker the same weight.

    Parameters
    ----------
    weight : float
        1 for a fit of the gradient and for values that are Newton steps; 1/2 for LogitBoost's,
        which fits twice the score.
    """

    scores = "any"
    parted = True

    def __init__(self, weight: float = 1.0) -> None:
        self._weight = weight

    def __call__(self, candidate: Candidate, potentials: Potentials) -> float | None:
        """Return the weight that every weak ranker gets."""
        return self._weight


# --- Steps for losses that are not sums of exponentials over pairs: the push, the logistic loss


# Newton's steps double the digits: after one this small nothing is left to gain.
_CLOSE_WEIGHTS = 1e-10


class LineStep(Step):
    """The minimum of the loss along the weak ranker, by formula or by Newton's method."""

    name, about = "exact", "the minimum of the loss along it"
    needs = ("line",)

    def __call__(self, candidate: Candidate, potentials: Potentials) -> float | None:
        """Return the weight of the candidate, or None to stop."""
        if candidate.output.dtype != np.uint8:
            return self._real(candidate, potentials)
        line = cast(PairLossState, potentials.pairs).line(candidate.output)
        right, wrong = line.weights()
        alpha: float | None = None
        if right >= SNAP and wrong >= SNAP:
            alpha = line.closed_form()
            if alpha is None:
                alpha = newton_root(line, _CLOSE_WEIGHTS, lambda _: True)  # (pairs of either sign)
        if alpha is None or not math.isfinite(alpha):
            ratio = half_log_ratio(right, wrong, self.smoothing)
            return None if ratio is None else line.reach * ratio
        return alpha

    def _real(self, candidate: Candidate, potentials: Potentials) -> float | None:
        """Return the weight of a ranker of any scores that span at most 1.

        Where the minimum is at infinity, the weight is that of method 3, which lowers the loss too.
        """
        state = cast(PairLossState, potentials.pairs)
        output = candidate.output
        alpha = newton_root(
            _Secants(state, output), _CLOSE_WEIGHTS, lambda sign: state.turns(output, sign)
        )
        if alpha is not None:
            return alpha
        if self.smoothing == 0.0:
            return None
        ratio = BoundStep(self.smoothing)(candidate, potentials)
        return None if ratio is None else state.reach * ratio


class _Secants:
    """The slope of a loss along a weak ranker of any scores; its own slope is that of a secant.

    Parameters
    ----------
    state : PairLossState
    output : array
    """

    def __init__(self, state: PairLossState, output: Floats) -> None:
        self._state, self._output = state, output
        self._last: tuple[float, float] | None = None

    def __call__(self, alpha: float) -> tuple[float, float]:
        slope = self._state.slope_along(self._output, alpha)
        bend = abs(slope)  # (a first step of 1)
        if self._last is not None and alpha != self._last[0]:
            bend = (slope - self._last[1]) / (alpha - self._last[0])
        self._last = alpha, slope
        return slope, max(bend, 0.0)


#: The step rules of other losses over pairs by name, which must be in `STEPS`: `PNormPush` of p = 1
#: is RankBoost.
LINE_STEPS: dict[str, type[Step]] = {one.name: one for one in (LineStep, BoundStep)}


# A smooth margin that is 0 may be so much, by the rounding of the logarithm of the loss.
_OF_LOSS = 1e-13


def smooth_step(right: float, wrong: float, tied: float, g: float) -> float:
    """Return the step of a {0, 1} ranker on the smooth margin (equation 12; may be infinite).

    Uses the conjugate of the numerator: finite where nothing is wrong, and without the
    difference of two numbers that are nearly equal.

    Parameters
    ----------
    right, wrong, tied : float
        Weight of the pairs that the ranker orders so; sums to 1.
    g : float
        Smooth margin before the step, in (0, 1).

    Examples
    --------
    >>> round(smooth_step(0.7, 0.1, 0.2, 0.25), 10)
    0.6201065
    >>> smooth_step(1.0, 0.0, 0.0, 0.25)
    inf
    """
    below = g * tied + math.sqrt((g * tied) ** 2 + 4.0 * (1.0 - g) * (1.0 + g) * right * wrong)
    return log(2.0 * (1.0 - g) * right / below) if below > 0.0 else math.inf


class SmoothMarginStep(Step):
    """Coordinate descent until G > 0, then steps that raise G.

    Parameters
    ----------
    feedback : Feedback
        Its lightest pair has weight 1 in F, so that G stays below the margin.
    line_search : bool
        Maximise G along the weak ranker (equation 10) instead of solving equation 11.
    smoothing, stop_when_perfect
        See `crucial.boosting.steps.Step`.
    """

    needs = NumericStep.needs

    @staticmethod
    def _unit_of(tree: Tree) -> float:
        """Return the largest margin that a tree gives to a pair."""
        return tree.span

    def __init__(
        self,
        feedback: Feedback,
        line_search: bool = False,
        smoothing: float = 1e-3,
        stop_when_perfect: bool = False,
    ) -> None:
        super().__init__(smoothing, stop_when_perfect)
        self._feedback, self._line_search = feedback, line_search
        self.name = "line_search" if line_search else "smooth"
        self._log_lightest = self._lightest()
        self._descent = NumericStep(smoothing, stop_when_perfect)
        # |lambda|_1, where a weak ranker and its opposite are two
        self._norm = 0.0

    def _lightest(self) -> float:
        """Return the logarithm of the weight that F counts as 1, as a share of all weight."""
        return self._feedback.log_lightest()

    def _smallest(self, scores: Floats) -> float:
        """Return the smallest margin at the scores of ``feedback.rows``."""
        return self._feedback.margin_range(scores)[0]

    def smooth_margin(self, potentials: Potentials) -> float:
        """Return G of the ensemble so far; -inf before its first round."""
        if self._norm == 0.0:
            return -math.inf
        return (self._log_lightest - potentials.log_loss) / self._norm

    def accept(self, candidate: Candidate, alpha: float) -> None:
        """Add the weight of a round to |lambda|_1."""
        tree = candidate.ranker
        # (the weight of a tree is in its values)
        unit = self._unit_of(tree) if isinstance(tree, Tree) else 1.0
        self._norm += abs(alpha) * unit

    def notes(self, potentials: Potentials) -> dict[str, float]:
        """Return G, and the smallest margin of a pair over |lambda|_1."""
        return {
            "smooth_margin": self.smooth_margin(potentials),
            "margin": self._smallest(potentials.pairs.scores) / self._norm,
        }

    def __call__(self, candidate: Candidate, potentials: Potentials) -> float | None:
        """Return the weight of the candidate, or None to stop."""
        g = self.smooth_margin(potentials)
        if not g > _OF_LOSS:
            return self._descent(candidate, potentials)
        if min(abs(candidate.slope), 1.0) <= g:
            return 0.0  # (no ranker is better than the margin reached: all is done)
        # A ranker that points down is one that points up with a weight below 0.
        sign = 1.0 if candidate.slope > 0.0 else -1.0
        if candidate.output.dtype == np.uint8:
            right, wrong = binary_weights(candidate, potentials)[:: int(sign)]
            alpha = self._binary(right, wrong, g, self._norm)
        else:
            alpha = self._numeric(candidate, potentials, sign, g)
        # (below 0 where smoothing a perfect round makes it worse than g)
        return None if alpha is None else sign * max(alpha, 0.0)

    def _binary(self, right: float, wrong: float, g: float, norm: float) -> float | None:
        """Return the step of a {0, 1} ranker that points up."""
        tied = 1.0 - right - wrong
        wrong = 0.0 if wrong < SNAP else wrong
        tied = 0.0 if tied < SNAP else tied
        if wrong + tied == 0.0:
            if self.smoothing == 0.0:
                return None
            right, wrong = right + self.smoothing, self.smoothing
        if not self._line_search:
            return smooth_step(right, wrong, tied, g)
        whole = right + wrong + tied

        def derivatives(alpha: float) -> tuple[float, float, float]:
            up, down = right * exp(-alpha), wrong * exp(alpha)
            z = up + down + tied
            slope = (down - up) / z
            return log(z / whole), slope, (up + down) / z - slope * slope

        return self._root(derivatives, g, norm)

    def _numeric(
        self, candidate: Candidate, potentials: Potentials, sign: float, g: float
    ) -> float | None:
        """Return the step of a real-valued ranker, by its sign."""
        along = log_z_along(candidate, potentials)

        def derivatives(alpha: float) -> tuple[float, float, float]:
            log_z, slope, curvature = along(sign * alpha)
            return log_z, sign * slope, curvature

        def turns(way: float) -> bool:
            # (the slope afar is minus the smallest margin, which infinite weights would make G)
            return way > 0.0 and (along.turns(sign) or g + derivatives(AFAR)[1] > 0.0)

        return self._root(derivatives, g, self._norm, turns)

    def _root(
        self,
        derivatives: Derivatives,
        g: float,
        norm: float,
        turns: Callable[[float], bool] | None = None,
    ) -> float | None:
        """Return the zero of equation 10 or 11; smoothed, or None, where it is infinite."""

        def falling(log_z: float, slope: float, curvature: float, at: float) -> tuple[float, float]:
            """Return minus the slope of G, up to a positive factor, and its derivative."""
            if self._line_search:  # equation 10: G where the step leads
                grown = 1.0 + at / norm
                return g - log_z / norm + grown * slope, grown * curvature
            return g + slope, curvature  # equation 11: G where the step begins

        found = newton_root(lambda at: falling(*derivatives(at), at), turns=turns)
        if found is None and self.smoothing > 0.0:
            share = self.smoothing
            found = newton_root(lambda at: falling(*smoothed(*derivatives(at), at, share), at))
        return found


class SmoothClassMarginStep(SmoothMarginStep):
    """The same steps for classification into two (Rudin, Schapire & Daubechies 2007).

    F is AdaBoost's sum over instances of ``exp(-y_i H(x_i))``, and the margin of an instance is
    ``y_i H(x_i) / |lambda|_1``. AdaBoost's steps until G > 0, then those of *approximate
    coordinate ascent boosting*, ``.5 ln((1 + r)/(1 - r)) - .5 ln((1 + g)/(1 - g))`` (equation 12
    without ties), or with ``line_search`` those of *coordinate ascent boosting*.
    """

    @staticmethod
    def _unit_of(tree: Tree) -> float:
        """Return the largest margin that a tree gives to a row."""
        return tree.size

    def _lightest(self) -> float:
        mass = self._feedback.row_mass()
        # A row of weight 2 counts as two rows, so it is as light as they are.
        return log(min(1.0, mass.lightest)) - log(mass.total)

    def _smallest(self, scores: Floats) -> float:
        return self._feedback.least_row_margin(scores)
