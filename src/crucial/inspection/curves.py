"""Curves of a ranking: ROC, gain and lift, calibration, profit; those of trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crucial.errors import DataError, NotRankedError
from crucial.feedback.labels import check_labels, check_weights
from crucial.inspection.shape_functions import model_of
from crucial.kernels.elementary import dot, log, log2, logaddexp, sigmoid, solve_positive
from crucial.kernels.minimise import damped_newton
from crucial.kernels.predict import run_starts
from crucial.measures.intervals import percentile_interval
from crucial.measures.lists import as_numbers
from crucial.measures.names import get_measure
from crucial.model.additive import sparkline
from crucial.model.ranking_trees import RankingTrees
from crucial.parameters import at_least, between, check
from crucial.results import Axes, Frame, Result, as_frame, name_axes, new_axes
from crucial.types import Bools, Floats, Ints, TableLike, VectorLike
from crucial.wording import counted

# --- What curves of a ranking share: rows sorted into blocks, limits of steps, bootstrap bands


@dataclass(frozen=True)
class RankedRows:
    """Rows in the order of their scores, the best first.

    Attributes
    ----------
    y, weight : arrays of shape (n_rows,)
        Labels and weights, best score first.
    block : int array of shape (n_rows,)
        Number of the block of equal scores that a row is in.
    scores : array of shape (n_blocks,)
        Score of each block, falling.
    """

    y: Floats
    weight: Floats
    block: Ints
    scores: Floats

    def sums(self, values: Floats) -> Floats:
        """Return sums over the rows up to the end of each block, after a 0 for none of them."""
        blocks = np.bincount(self.block, values, minlength=len(self.scores))
        return np.concatenate([[0.0], np.cumsum(blocks)])

    def shares(self, values: Floats) -> Floats:
        """Return the sums as shares of the sum over all rows; the last is 1 exactly."""
        sums = self.sums(values)
        return np.asarray(sums / sums[-1])


def read_rows(
    y: VectorLike, scores: VectorLike, sample_weight: VectorLike | None, owner: str
) -> RankedRows:
    """Check labels, scores and weights, and sort them; rows of weight 0 are left out."""
    labels = as_numbers(y, "y")
    values = as_numbers(scores, "scores", len(labels))
    weight = check_weights(sample_weight, len(labels))
    weight = np.ones(len(labels)) if weight is None else weight
    kept = weight > 0
    if not kept.any():
        raise DataError(f"{owner} needs at least one row.")
    labels, values, weight = labels[kept], values[kept], weight[kept]
    distinct, block = np.unique(-values, return_inverse=True)
    order = np.argsort(block.ravel(), kind="stable")
    return RankedRows(labels[order], weight[order], block.ravel()[order], -distinct)


def two_classes(rows: RankedRows, owner: str, instead: str) -> Floats:
    """Return 1 for rows of the higher of two labels and 0 for the others."""
    labels = np.unique(rows.y)
    if len(labels) != 2:
        raise DataError(
            f"{owner} needs labels of two values. Got {len(labels)}. Pass y >= a threshold, or "
            f"use {instead}."
        )
    return np.asarray((rows.y == labels[1]).astype(np.float64))


def equal_parts(rows: RankedRows, count: int) -> Ints:
    """Return the part of each block, numbered from 0 without gaps, best scores first.

    Parts have about the same weight; rows of equal scores are in one part.

    Examples
    --------
    >>> rows = read_rows([0, 1, 1, 0, 1], [5.0, 4.0, 4.0, 2.0, 1.0], None, "example")
    >>> equal_parts(rows, 2).tolist()
    [0, 0, 1, 1]
    """
    weight = np.bincount(rows.block, rows.weight)
    end = np.cumsum(weight)
    # (a block belongs where its middle lies)
    middle = (end - weight / 2.0) / end[-1]
    part = np.minimum((middle * count).astype(np.int64), count - 1)
    return np.asarray(np.unique(part, return_inverse=True)[1].ravel(), np.int64)


def limits(x: Floats, y: Floats, at: Floats) -> tuple[Floats, Floats]:
    """Return the limits from the left and from the right of a curve with vertical steps.

    Parameters
    ----------
    x, y : arrays of shape (n_points,)
        Points of the curve, x from 0 to 1 and never falling.
    at : array
        Where to evaluate it, in [0, 1].

    Examples
    --------
    >>> left, right = limits(np.array([0, 0, 1.0]), np.array([0, 0.5, 1]), np.array([0, 0.5]))
    >>> left.tolist(), right.tolist()
    ([0.0, 0.75], [0.5, 0.75])
    """
    first = run_starts(x)
    last = np.append(first[1:], len(x)) - 1
    places, low, high = x[first], y[first], y[last]
    slope = np.append((low[1:] - high[:-1]) / np.diff(places), 0.0)

    def evaluate(piece: Ints) -> Floats:
        return np.asarray(high[piece] + slope[piece] * (at - places[piece]))

    below = np.searchsorted(places, at, side="left") - 1
    left = np.where(below < 0, low[0], evaluate(np.maximum(below, 0)))
    return left, evaluate(np.searchsorted(places, at, side="right") - 1)


@dataclass(frozen=True, eq=False)
class Band:
    """A bootstrap band around a curve or surface.

    Attributes
    ----------
    at : array
        Where it was computed.
    low, high : arrays
        The band, point by point.
    level : float
        Share of the resampled curves inside, at each point by itself.
    """

    at: Floats
    low: Floats
    high: Floats
    level: float


def band_of(
    curve: Callable[[Floats], Floats],
    at: Floats,
    weight: Floats,
    classes: Sequence[Ints],
    intervals: bool | float,
    resamples: int,
    random_state: int,
) -> Band | None:
    """Return the percentile band of a curve over bootstraps drawn inside each class.

    Parameters
    ----------
    curve : callable
        Returns the curve at the points ``at`` for weights of the rows.
    at : array
    weight : array of shape (n_rows,)
    classes : sequence of int arrays
        Rows of each class; one array with all rows draws from all of them.
    intervals : bool or float
        Level of the band; True is 0.95, False is no band.
    resamples, random_state : int
    """
    if intervals is False:
        return None
    level = 0.95 if intervals is True else intervals
    check("a curve", "intervals", level, between(0, 1, low_open=True, high_open=True))
    check("a curve", "resamples", resamples, at_least(1))
    check("a curve", "random_state", random_state, at_least(0))
    random = np.random.default_rng(random_state)
    drawn = []
    for _ in range(resamples):
        counts = np.zeros(len(weight))
        for rows in classes:
            picks = random.integers(0, len(rows), len(rows))
            counts[rows] = np.bincount(picks, minlength=len(rows))
        drawn.append(curve(weight * counts))
    return Band(at, *percentile_interval(np.array(drawn), level), level)


def curve_line(values: Floats) -> str:
    """Return a curve as blocks of text."""
    picked = np.unique(np.linspace(0, len(values) - 1, 32).astype(int))
    return sparkline(values[picked].tolist(), 32)


# --- ROC and gain curves of a ranking: computed, then printed or drawn


_GRID = np.linspace(0.0, 1.0, 101)


_LOW_HIGH = ("share of low rows", "share of high rows")


def _draw_roc(
    ax: Axes | None,
    curve: tuple[Floats, Floats],
    label: str,
    names: tuple[str, str],
    band: Band | None = None,
    marker: str = "",
) -> Axes:
    """Draw a curve with its band, beside that of chance, and return the axes."""
    ax = new_axes(ax)
    ax.plot(*curve, marker=marker, markersize=3, label=label)
    if band is not None:
        ax.fill_between(band.at, band.low, band.high, alpha=0.2, label=f"{band.level:.0%} band")
    ax.plot([0, 1], [0, 1], linestyle=":", color="0.5", label="chance")
    return name_axes(ax, *names)


@dataclass(frozen=True, eq=False, repr=False)
class RocCurve(Result):
    """Result of `roc_curve`.

    Attributes
    ----------
    alpha, beta : arrays of shape (n_points,)
        Share of all low and of all high rows with at least this score, from (0, 0) to (1, 1);
        rows of equal scores make one straight piece.
    thresholds : array of shape (n_points,)
        The score of each point; infinity for the first.
    auc : float
        Area under the curve.
    band : Band or None
        Bootstrap band of beta over alpha.
    """

    _bars = ("beta",)

    alpha: Floats
    beta: Floats
    thresholds: Floats
    auc: float
    band: Band | None = None

    def __str__(self) -> str:
        return (
            f"ROC curve  {curve_line(limits(self.alpha, self.beta, _GRID)[1])}  AUC {self.auc:.4f}"
        )

    def to_frame(self) -> Frame:
        """Return one row per point."""
        return as_frame({"threshold": self.thresholds, "alpha": self.alpha, "beta": self.beta})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve; needs matplotlib. Returns the axes."""
        return _draw_roc(ax, (self.alpha, self.beta), f"AUC {self.auc:.3f}", _LOW_HIGH, self.band)


def roc_curve(
    y: VectorLike,
    scores: VectorLike,
    *,
    sample_weight: VectorLike | None = None,
    intervals: bool | float = False,
    resamples: int = 200,
    random_state: int = 0,
) -> RocCurve:
    """Compute the ROC curve of scores for labels of two values.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels of two values.
    scores : array-like of shape (n_rows,)
        Of one query: scores of different queries cannot be compared.
    sample_weight : array-like of shape (n_rows,), optional
    intervals : bool or float
        Level of a bootstrap band, drawn inside each class; True is 0.95.
    resamples, random_state : int
        Number of bootstraps and their seed.

    Examples
    --------
    >>> curve = roc_curve([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0])
    >>> curve.auc, curve.alpha.tolist(), curve.beta.tolist()
    (0.75, [0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0])
    """
    rows = read_rows(y, scores, sample_weight, "roc_curve")
    good = two_classes(rows, "roc_curve", "iroc_curve")

    def points(weight: Floats) -> tuple[Floats, Floats]:
        return rows.shares(weight * (1.0 - good)), rows.shares(weight * good)

    alpha, beta = points(rows.weight)
    classes = [np.flatnonzero(good == one) for one in (0.0, 1.0)]
    band = band_of(
        lambda weight: limits(*points(weight), _GRID)[1],
        _GRID, rows.weight, classes, intervals, resamples, random_state,
    )  # fmt: skip
    area = float(np.sum(np.diff(alpha) * (beta[1:] + beta[:-1])) / 2.0)
    return RocCurve(alpha, beta, np.append(np.inf, rows.scores), area, band)


@dataclass(frozen=True, eq=False, repr=False)
class GainCurve(Result):
    """Result of `gain_curve`.

    Attributes
    ----------
    share : array of shape (n_points,)
        Share of all rows that are examined, best score first.
    gain : array of shape (n_points,)
        Share of the labels found among them: of the high rows for two labels, of the sum of the
        labels otherwise.
    best : array of shape (n_points,)
        The gain of the best order.
    """

    _bars = ("gain",)

    share: Floats
    gain: Floats
    best: Floats

    @property
    def lift(self) -> Floats:
        """Gain relative to as many rows at random."""
        return np.append(np.nan, self.gain[1:] / self.share[1:])

    def __str__(self) -> str:
        tenth, half = np.interp([0.1, 0.5], self.share, self.gain)
        curve = curve_line(np.interp(_GRID, self.share, self.gain))
        return (
            f"gain curve  {curve}  {tenth:.1%} in the first 10 % of rows (lift {10 * tenth:.2f}), "
            f"{half:.1%} in the first half"
        )

    def to_frame(self) -> Frame:
        """Return one row per point."""
        names = ("share", "gain", "best", "lift")
        return as_frame({name: getattr(self, name) for name in names})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve; needs matplotlib. Returns the axes."""
        ax = new_axes(ax)
        ax.plot(self.share, self.gain, label="gain")
        ax.plot(self.share, self.best, linestyle="--", color="0.5", label="best order")
        ax.plot([0, 1], [0, 1], linestyle=":", color="0.5", label="chance")
        return name_axes(ax, "share of rows", "share found")


def _gains(rows: RankedRows) -> Floats:
    """Return the gain of each row: 1 or 0 for two labels, else the label."""
    labels = np.unique(rows.y)
    if len(labels) == 2:
        return np.asarray((rows.y == labels[1]).astype(np.float64))
    if labels[0] < 0 or labels[-1] <= 0:
        raise DataError(
            "gain_curve needs two labels, or amounts of at least 0 of which one is above 0. Got "
            f"{labels[0]:g}. profit_curve takes any amounts."
        )
    return rows.y


def gain_curve(
    y: VectorLike, scores: VectorLike, *, sample_weight: VectorLike | None = None
) -> GainCurve:
    """Compute the share of all positives found among the best-scored rows.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels of two values, or amounts of at least 0, of which shares of the sum are found.
    scores : array-like of shape (n_rows,)
        Of one query.
    sample_weight : array-like of shape (n_rows,), optional

    Examples
    --------
    >>> gain_curve([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0]).gain.tolist()
    [0.0, 0.5, 0.5, 1.0, 1.0]
    """
    rows = read_rows(y, scores, sample_weight, "gain_curve")
    worth = _gains(rows)
    share, gain = rows.shares(rows.weight), rows.shares(rows.weight * worth)
    order = np.argsort(-worth, kind="stable")
    mass = np.append(0.0, np.cumsum(rows.weight[order]))
    found = np.append(0.0, np.cumsum((rows.weight * worth)[order]))
    best = np.interp(share, mass / mass[-1], found / found[-1])
    return GainCurve(share, gain, best)


# --- A logistic fit of one score: the odds that it stands for


_MOST_ROWS = 2.0**40  # of a label in Platt's targets: more round to a target of 1 or 0


@dataclass(frozen=True)
class Calibration:
    """Log odds as a line of the score: ``intercept + slope * score``.

    Attributes
    ----------
    intercept, slope : float
    intercept_error, slope_error : float
        Standard errors, from the information matrix.
    separated : bool
        Whether some score separates both labels, so that the likelihood has no maximum and
        Platt's targets were fitted instead.
    """

    intercept: float
    slope: float
    intercept_error: float
    slope_error: float
    separated: bool

    def log_odds(self, scores: Floats) -> Floats:
        """Return the log odds of scores."""
        return np.asarray(self.intercept + self.slope * scores)

    def __str__(self) -> str:
        sign = "+" if self.slope >= 0 else "-"
        return f"log odds = {self.intercept:.4g} {sign} {abs(self.slope):.4g} x score"


def weight_unit(weight: Floats) -> float:
    """Return a power of two close to the mean weight; dividing by it loses no digit.

    Sums of products of weights of 1e-300 vanish, and those of 1e300 overflow. A result on
    divided weights, times the unit, is that on the weights themselves.

    Examples
    --------
    >>> weight_unit(np.ones(3)), weight_unit(np.array([5.0, 6.0]))
    (1.0, 4.0)
    """
    return float(2.0 ** np.floor(log2(weight.mean())))


def fit_calibration(scores: Floats, good: Floats, weight: Floats) -> Calibration:
    """Fit the log odds of ``good`` to a score by maximum likelihood, with Newton's method.

    Where a score separates both labels, the targets are those of Platt (1999, section 2.2):
    ``(n + 1) / (n + 2)`` for the good and ``1 / (m + 2)`` for the bad rows; n and m are at least 1.

    Parameters
    ----------
    scores : array of shape (n_rows,)
        Of at least two values.
    good : array of shape (n_rows,)
        1 and 0, both there.
    weight : array of shape (n_rows,)
        Above 0; a row of weight 2 counts as two rows.

    Raises
    ------
    DataError
        Floats cannot hold the fit.

    Examples
    --------
    >>> found = fit_calibration(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0, 1, 0, 1]), np.ones(4))
    >>> round(found.slope, 3), round(found.intercept, 3), found.separated
    (0.908, -1.362, False)
    """
    high, low = scores[good > 0], scores[good == 0]
    separated = bool(low.max() <= high.min() or high.max() <= low.min())
    target = good.astype(np.float64)
    if separated:
        n, m = (float(np.clip(weight[good == k].sum(), 1.0, _MOST_ROWS)) for k in (1, 0))
        target = np.where(good > 0, (n + 1.0) / (n + 2.0), 1.0 / (m + 2.0))
    # Divided by powers of two, squares of scores and of weights neither overflow nor vanish, and
    # no digit is lost.
    unit, exponent = weight_unit(weight), int(np.frexp(np.abs(scores).max())[1])
    with np.errstate(all="ignore"):  # (what is not finite is refused)
        line, errors = _fit_line(np.ldexp(scores, -exponent), target, weight / unit)
        errors = errors / np.sqrt(unit)
        slope, slope_error = (float(np.ldexp(one[1], -exponent)) for one in (line, errors))
    if not np.isfinite([line[0], slope]).all():
        step = np.diff(np.unique(scores)).min()
        raise DataError(
            f"floats cannot hold a logistic fit to these scores, which differ by {step:g} at least "
            f"and have weights from {weight.min():g} to {weight.max():g}. Multiply the scores by "
            "a constant, or leave out the rows of the smallest weights."
        )
    return Calibration(float(line[0]), slope, float(errors[0]), slope_error, separated)


def _fit_line(scores: Floats, target: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return intercept and slope, and their standard errors; NaN where there is no fit."""
    mean = float(np.average(scores, weights=weight))
    spread = np.sqrt(np.average((scores - mean) ** 2, weights=weight))
    x = (scores - mean) / spread
    try:
        beta, information = _newton(x, target, weight)
        inverse = np.array([solve_positive(information, one) for one in np.eye(2)])
    except np.linalg.LinAlgError:
        return np.full(2, np.nan), np.full(2, np.nan)
    slope = beta[1] / spread
    # The variance of a - b * mean / spread, of the fit to standardised scores.
    at = np.array([1.0, -mean / spread])
    errors = np.sqrt([dot(np.outer(at, at), inverse), inverse[1, 1]]) / [1.0, spread]
    return np.array([beta[0] - slope * mean, slope]), np.asarray(errors)


def _newton(x: Floats, target: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return the line of least logistic loss, and the information matrix there.

    ``1 - p`` is computed as the sigmoid of the negative log odds, so that it is not rounded to 0
    where nearly all of the weight is on one label.
    """
    beta = np.array([log(dot(weight, target)) - log(dot(weight, 1.0 - target)), 0.0])

    def likelihood(line: Floats) -> float:
        eta = line[0] + line[1] * x
        each = target * logaddexp(0.0, -eta) + (1.0 - target) * logaddexp(0.0, eta)
        return -dot(weight, each)

    def information(line: Floats) -> Floats:
        eta = line[0] + line[1] * x
        bend = weight * sigmoid(eta) * sigmoid(-eta)
        return np.array([[bend.sum(), dot(bend, x)], [dot(bend, x), dot(bend, x * x)]])

    def step_at(line: Floats) -> Floats:
        eta = line[0] + line[1] * x
        pull = weight * (target * sigmoid(-eta) - (1.0 - target) * sigmoid(eta))
        return solve_positive(information(line), np.array([pull.sum(), dot(pull, x)]))

    beta, _ = damped_newton(likelihood, step_at, beta, 1e-9)
    return beta, information(beta)


# --- The calibration curve: how often rows are good, beside how often they should be


_Z = 1.959963984540054  # of a 95% interval


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationCurve(Result):
    """Result of `calibration_curve`.

    Attributes
    ----------
    expected : array of shape (n_bins,)
        Mean probability of the rows of each bin, rising.
    observed : array of shape (n_bins,)
        Share of high rows in it.
    low, high : arrays of shape (n_bins,)
        Wilson's 95% interval of the share.
    rows : array of shape (n_bins,)
        Weight of the rows in it.
    calibration : Calibration or None
        The logistic fit that turned scores into probabilities; None where they were some.
    brier : float
        Mean squared difference of probability and label (Brier 1950).
    error : float
        Mean absolute difference of expected and observed, over rows.
    given : bool
        Whether the scores are the probabilities.
    """

    _bars = ("expected", "observed")

    expected: Floats
    observed: Floats
    low: Floats
    high: Floats
    rows: Floats
    calibration: Calibration | None
    brier: float
    error: float
    given: bool = True

    @property
    def source(self) -> str:
        """The source of the probabilities, in words."""
        if self.calibration is None:
            return (
                "the scores are the probabilities"
                if self.given
                else "all scores are equal: the probability is the share of high rows"
            )
        return f"probabilities by a logistic fit on the same rows, {self.calibration}"

    def __str__(self) -> str:
        lines = [
            f"calibration curve  Brier {self.brier:.4f}, mean difference {self.error:.4f}; "
            f"{self.source}"
        ]
        for expected, observed, low, high, rows in zip(
            self.expected, self.observed, self.low, self.high, self.rows, strict=True
        ):
            lines.append(
                f"  expected {expected:6.1%}  observed {observed:6.1%} "
                f"({low:.1%} to {high:.1%})  {rows:g} rows"
            )
        return "\n".join(lines)

    def to_frame(self) -> Frame:
        """Return one row per bin."""
        names = ("expected", "observed", "low", "high", "rows")
        return as_frame({name: getattr(self, name) for name in names})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve; needs matplotlib. Returns the axes."""
        ax = new_axes(ax)
        reach = np.maximum([self.observed - self.low, self.high - self.observed], 0.0)
        ax.errorbar(self.expected, self.observed, yerr=reach, marker="o", label="observed")
        ax.plot([0, 1], [0, 1], linestyle=":", color="0.5", label="exact")
        return name_axes(ax, "expected share", "observed share")


def calibration_curve(
    y: VectorLike,
    scores: VectorLike,
    *,
    probabilities: bool = False,
    bins: int = 10,
    sample_weight: VectorLike | None = None,
) -> CalibrationCurve:
    """Compare probabilities with the shares of high rows, in bins of about equally many rows.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels of two values.
    scores : array-like of shape (n_rows,)
        Of one query.
    probabilities : bool
        Whether the scores are probabilities of the higher label. If not, a logistic fit on these
        rows makes them some: the curve then shows how far log odds are from a line of the scores.
    bins : int
        Number of bins; rows of equal scores stay together.
    sample_weight : array-like of shape (n_rows,), optional

    Examples
    --------
    >>> curve = calibration_curve([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.2, 0.7, 0.8, 0.9],
    ...                           probabilities=True, bins=2)
    >>> curve.expected.round(3).tolist(), curve.observed.round(3).tolist(), curve.rows.tolist()
    ([0.167, 0.8], [0.333, 0.667], [3.0, 3.0])
    """
    check("calibration_curve", "bins", bins, at_least(1))
    rows = read_rows(y, scores, sample_weight, "calibration_curve")
    good = two_classes(rows, "calibration_curve", "gain_curve")
    values = rows.scores[rows.block]
    fit = None
    if probabilities:
        if values.min() < 0.0 or values.max() > 1.0:
            raise DataError(
                f"probabilities must be in [0, 1]. Got scores from {values.min():g} to "
                f"{values.max():g}; set probabilities=False to fit some."
            )
        chance = values
    elif len(rows.scores) == 1:
        chance = np.full(len(good), np.average(good, weights=rows.weight))
    else:
        fit = fit_calibration(values, good, rows.weight)
        chance = sigmoid(fit.log_odds(values))
    part = equal_parts(rows, bins)[rows.block]
    if fit is not None and fit.slope < 0:
        part = part.max() - part
    mass = np.bincount(part, rows.weight).astype(np.float64)
    expected = np.bincount(part, rows.weight * chance) / mass
    observed = np.bincount(part, rows.weight * good) / mass
    low, high = _wilson(observed, mass)
    brier = float(np.average((chance - good) ** 2, weights=rows.weight))
    error = float(np.average(np.abs(expected - observed), weights=mass))
    best_last = (expected[::-1], observed[::-1], low[::-1], high[::-1], mass[::-1])
    return CalibrationCurve(*best_last, fit, brier, error, probabilities)


def _wilson(share: Floats, count: Floats) -> tuple[Floats, Floats]:
    """Return the score interval of a share (Wilson 1927)."""
    z2 = _Z**2
    # Nothing is divided by the count, which may be tiny.
    middle = (share * count + z2 / 2.0) / (count + z2)
    reach = _Z * np.sqrt(share * (1.0 - share) * count + z2 / 4.0) / (count + z2)
    return np.maximum(middle - reach, 0.0), np.minimum(middle + reach, 1.0)


# --- Profit curves: what examining the best-scored rows yields


@dataclass(frozen=True, eq=False, repr=False)
class ProfitCurve(Result):
    """Result of `profit_curve`.

    Attributes
    ----------
    count : array of shape (n_points,)
        Rows that are examined (their weight), best score first.
    profit : array of shape (n_points,)
        Sum of their amounts less the cost of each.
    cost : float
        Cost of examining one row.
    best_count, best_profit : float
        The first count with the highest profit, and that profit.
    """

    _bars = ("profit",)

    count: Floats
    profit: Floats
    cost: float
    best_count: float
    best_profit: float

    def __str__(self) -> str:
        return (
            f"profit curve  {curve_line(self.profit)}  highest {self.best_profit:.6g} after "
            f"{self.best_count:g} rows at a cost of {self.cost:g} each"
        )

    def to_frame(self) -> Frame:
        """Return one row per point."""
        return as_frame({"count": self.count, "profit": self.profit})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve; needs matplotlib. Returns the axes."""
        ax = new_axes(ax)
        ax.plot(self.count, self.profit, label=f"cost {self.cost:g} per row")
        ax.axvline(self.best_count, linestyle=":", color="0.5", label="highest profit")
        return name_axes(ax, "rows examined", "profit")


def profit_curve(
    amounts: VectorLike,
    scores: VectorLike,
    *,
    cost: float = 0.0,
    sample_weight: VectorLike | None = None,
) -> ProfitCurve:
    """Compute what examining the best-scored rows yields (the audits of Werner 2019).

    The measure ``profit@k(cost=c)`` is one point of it.

    Parameters
    ----------
    amounts : array-like of shape (n_rows,)
        What a row yields if it is examined, of either sign.
    scores : array-like of shape (n_rows,)
        Of one query.
    cost : float
        Cost of examining one row.
    sample_weight : array-like of shape (n_rows,), optional
        A row of weight 2 counts as two rows.

    Examples
    --------
    >>> curve = profit_curve([5.0, 0.0, 3.0, 0.0], [4.0, 3.0, 2.0, 1.0], cost=1.0)
    >>> curve.profit.tolist(), curve.best_count, curve.best_profit
    ([0.0, 4.0, 3.0, 5.0, 4.0], 3.0, 5.0)
    """
    check("profit_curve", "cost", cost, between(-1e300, 1e300))
    rows = read_rows(amounts, scores, sample_weight, "profit_curve")
    count = rows.sums(rows.weight)
    profit = rows.sums(rows.weight * rows.y) - cost * count
    best = int(np.argmax(profit))
    return ProfitCurve(count, profit, float(cost), float(count[best]), float(profit[best]))


# --- The ROC curve of a ranking tree: computed, then printed or drawn


@dataclass(frozen=True, eq=False, repr=False)
class TreeRoc(Result):
    """Result of `tree_roc`: a piecewise linear curve with one piece per leaf.

    Attributes
    ----------
    alpha, beta : arrays of shape (n_leaves,)
        Share of all low and of all high rows in each leaf, from left to right.
    scores : array of shape (n_leaves,)
        The scores of the leaves.
    auc : float
        Area under the curve.
    """

    _bars = ("low", "high")

    alpha: Floats
    beta: Floats
    scores: Floats
    auc: float

    def __str__(self) -> str:
        line = sparkline(np.interp(np.linspace(0.0, 1.0, 32), *self.points()).tolist(), 32)
        lines = [f"ROC curve of {counted(len(self.scores), 'leaf')}  {line}  AUC {self.auc:.4f}"]
        lines.append(f"{'score':>8}{'low rows':>10}{'high rows':>11}")
        for score, low, high in zip(self.scores, self.alpha, self.beta, strict=True):
            lines.append(f"{score:>8.4g}{low:>10.1%}{high:>11.1%}")
        return "\n".join(lines)

    def points(self) -> tuple[Floats, Floats]:
        """Return both coordinates of the corners, from (0, 0) to (1, 1)."""
        return (
            np.concatenate(([0.0], np.cumsum(self.alpha))),
            np.concatenate(([0.0], np.cumsum(self.beta))),
        )

    def to_frame(self) -> Frame:
        """Return one row per leaf: its score, its shares and where the curve is after it."""
        x, y = self.points()
        columns = {"score": self.scores, "low": self.alpha, "high": self.beta}
        return as_frame({**columns, "alpha": x[1:], "beta": y[1:]})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve with a mark per leaf; needs matplotlib. Returns the axes."""
        return _draw_roc(ax, self.points(), f"AUC {self.auc:.3f}", _LOW_HIGH, marker="o")


def tree_roc(
    ranker: object,
    X: TableLike | None = None,
    y: VectorLike | None = None,
    *,
    sample_weight: VectorLike | None = None,
) -> TreeRoc:
    """Compute the ROC curve of a tree, leaf by leaf.

    Parameters
    ----------
    ranker : fitted TreeRank or RankOver of two classes, or RankingTrees of one tree
    X, y : rows and labels of two values, optional
        Without both, a fitted `TreeRank` of two classes shows the curve of its training rows.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows X.

    Examples
    --------
    >>> from crucial.rankers import TreeRank
    >>> X = np.array([[0.0], [0.5], [0.125], [0.75], [0.25], [1.0], [0.625], [0.875]])
    >>> ranker = TreeRank(1, splitter="stump", min_rows=2).fit(X, [1, 0, 1, 0, 1, 0, 0, 1])
    >>> tree_roc(ranker).auc
    0.875
    >>> tree_roc(ranker).to_frame().beta.tolist()
    [0.75, 1.0]
    """
    model = model_of(ranker)
    if not isinstance(model, RankingTrees) or len(model.trees) != 1:
        raise NotRankedError(
            "tree_roc draws one tree. For a forest and every other ranker use "
            "roc_curve(y, ranker.predict(X))."
        )
    scores = np.array(model.trees[0].scores)
    _check_together(X, y, sample_weight)
    if X is None or y is None:
        alpha, beta = getattr(ranker, "leaf_alpha_", None), getattr(ranker, "leaf_beta_", None)
        if alpha is None or beta is None:
            raise DataError("tree_roc needs rows and labels, X and y, of a model from a file.")
    else:
        leaf = model.leaves(X)[:, 0]
        labels = check_labels(y, len(leaf))
        weight = check_weights(sample_weight, len(leaf))
        mass = np.ones(len(leaf)) if weight is None else weight
        values = np.unique(labels[mass > 0])
        if len(values) != 2:
            raise DataError(
                "tree_roc needs labels of two values among the rows with a weight above 0. Got "
                f"{len(values)}. Pass rows of both labels, or y >= a threshold.",
                parameter="y",
            )
        alpha, beta = (
            np.bincount(leaf[labels == one], mass[labels == one], len(scores))
            / mass[labels == one].sum()
            for one in values
        )
    area = float(alpha @ (np.cumsum(beta) - 0.5 * beta))
    return TreeRoc(alpha, beta, scores, area)


def _check_together(
    X: TableLike | None, y: VectorLike | None, sample_weight: VectorLike | None
) -> None:
    """Refuse rows without labels, labels without rows, and weights of no rows."""
    if (X is None) != (y is None):
        there, absent = ("y", "X") if X is None else ("X", "y")
        raise DataError(
            f"tree_roc needs rows with their labels. Got {there} without {absent}.",
            remedy="Pass X and y, or neither for the curve of the training rows.",
            parameter=absent,
        )
    if X is None and sample_weight is not None:
        raise DataError(
            "tree_roc: sample_weight has the weights of the rows X. Got it without X and y; the "
            "curve of the training rows has the weights of the training.",
            remedy="Pass X and y too, or leave sample_weight out.",
            parameter="sample_weight",
        )


# --- The integrated ROC curve: for continuous labels, the mean of the ROC curves of all thresholds


#: Places of the curve where the exact ones are too many.
_FINE_GRID = np.linspace(0.0, 1.0, 201)
_EXACT_POINTS = 50_000


@dataclass(frozen=True, eq=False, repr=False)
class IrocCurve(Result):
    """Result of `iroc_curve`.

    Attributes
    ----------
    alpha, beta : arrays of shape (n_points,)
        Mean over thresholds of the share of the rows above the threshold with at least some
        score, where that score leaves the share alpha of the rows below it. A vertical step has
        two points.
    iauc : float
        Integrated AUC over all thresholds: the measure ``iauc``.
    n_thresholds : int
        Number of labels that were thresholds.
    exact : bool
        Whether all labels were thresholds and the points are all the corners of the curve; the
        area under it is then iauc.
    band : Band or None
        Bootstrap band of beta over alpha.
    """

    _bars = ("beta",)

    alpha: Floats
    beta: Floats
    iauc: float
    n_thresholds: int
    exact: bool
    band: Band | None = None

    def __str__(self) -> str:
        line = sparkline(limits(self.alpha, self.beta, np.linspace(0, 1, 32))[1].tolist(), 32)
        return (
            f"IROC curve  {line}  IAUC {self.iauc:.4f}, {counted(self.n_thresholds, 'threshold')}"
        )

    def to_frame(self) -> Frame:
        """Return one row per point."""
        return as_frame({"alpha": self.alpha, "beta": self.beta})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve; needs matplotlib. Returns the axes."""
        names = ("share of rows below the threshold", "share of rows above the threshold")
        return _draw_roc(ax, (self.alpha, self.beta), f"IAUC {self.iauc:.3f}", names, self.band)


def iroc_curve(
    y: VectorLike,
    scores: VectorLike,
    *,
    sample_weight: VectorLike | None = None,
    max_thresholds: int = 200,
    intervals: bool | float = False,
    resamples: int = 100,
    random_state: int = 0,
) -> IrocCurve:
    """Compute the integrated ROC curve of scores for continuous labels.

    For every row in turn its label is a threshold; the curve is the mean of the ROC curves of
    the rows above against the rows below (Clémençon & Achab 2017; Werner 2019, section 3.3).
    Rows of the label itself are on neither side, and a threshold with an empty side is left out.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels of at least three values.
    scores : array-like of shape (n_rows,)
        Of one query.
    sample_weight : array-like of shape (n_rows,), optional
    max_thresholds : int
        Labels to average over; of more, as many are taken at equal steps.
    intervals : bool or float
        Level of a bootstrap band; True is 0.95.
    resamples, random_state : int
        Number of bootstraps and their seed.

    Examples
    --------
    >>> curve = iroc_curve([1.0, 2.0, 3.0, 4.0], [0.1, 0.3, 0.2, 0.9])
    >>> round(curve.iauc, 6), curve.n_thresholds
    (1.0, 2)
    """
    check("iroc_curve", "max_thresholds", max_thresholds, at_least(1))
    rows = read_rows(y, scores, sample_weight, "iroc_curve")
    levels = np.unique(rows.y)
    if len(levels) < 3:
        raise DataError(
            f"iroc_curve needs labels of at least three values. Got {len(levels)}. Use roc_curve "
            "for two."
        )
    inner = levels[1:-1]
    every = len(inner) <= max_thresholds
    if not every:
        inner = inner[np.linspace(0, len(inner) - 1, max_thresholds).round().astype(int)]
    at, exact = _FINE_GRID, False
    if every and len(inner) * len(rows.scores) <= _EXACT_POINTS:
        at, exact = np.unique([_sides(rows, rows.weight, t)[0] for t in inner]), True
    left, right = _mean_curve(rows, rows.weight, inner, at)
    coarse = np.linspace(0.0, 1.0, 51)
    band = band_of(
        lambda weight: _mean_curve(rows, weight, inner, coarse)[1],
        coarse, rows.weight, [np.arange(len(rows.y))], intervals, resamples, random_state,
    )  # fmt: skip
    area = get_measure("iauc")(rows.y, rows.scores[rows.block], sample_weight=rows.weight)
    alpha, beta = np.repeat(at, 2), np.column_stack([left, right]).ravel()
    return IrocCurve(alpha, beta, area, len(inner), exact, band)


def _sides(rows: RankedRows, weight: Floats, threshold: float) -> tuple[Floats, Floats]:
    """Return the ROC curve of the rows above a threshold against the rows below it."""
    return rows.shares(weight * (rows.y < threshold)), rows.shares(weight * (rows.y > threshold))


def _mean_curve(
    rows: RankedRows, weight: Floats, thresholds: Floats, at: Floats
) -> tuple[Floats, Floats]:
    """Return the limits from both sides of the mean curve; a threshold weighs its rows."""
    sums, total = np.zeros((2, len(at))), 0.0
    for threshold in thresholds:
        mass = float(weight[rows.y == threshold].sum())
        below, above = weight[rows.y < threshold].sum(), weight[rows.y > threshold].sum()
        if mass > 0 and below > 0 and above > 0:
            sums += mass * np.array(limits(*_sides(rows, weight, threshold), at))
            total += mass
    left, right = sums / total if total > 0 else np.full_like(sums, np.nan)
    return left, right


# --- The ROC surface of three ordered classes


@dataclass(frozen=True, eq=False, repr=False)
class RocSurface(Result):
    """Result of `roc_surface`.

    With two thresholds, a row below both is put into the lowest class and a row above both into
    the highest.

    Attributes
    ----------
    alpha_low, alpha_high : arrays of shape (n_points,)
        Shares of the lowest and of the highest class that are put into it.
    beta_middle : array of shape (n_points, n_points)
        Share of the middle class between the thresholds, by alpha_low (rows) and alpha_high.
    vus : float
        Volume under the surface: the measure ``vus``.
    band : Band or None
        Bootstrap band of beta_middle; ``band.at`` is alpha_low.
    """

    alpha_low: Floats
    alpha_high: Floats
    beta_middle: Floats
    vus: float
    band: Band | None = None

    def __str__(self) -> str:
        picked = np.linspace(0, len(self.alpha_low) - 1, 6).round().astype(int)
        lines = [f"ROC surface, VUS {self.vus:.4f} (chance 0.1667): share of the middle class"]
        lines += ["low \\ high" + "".join(f"{self.alpha_high[j]:8.2f}" for j in picked)]
        for i in picked:
            cells = "".join(f"{self.beta_middle[i, j]:8.3f}" for j in picked)
            lines.append(f"{self.alpha_low[i]:10.2f}{cells}")
        return "\n".join(lines)

    def to_frame(self) -> Frame:
        """Return one row per point."""
        low, high = np.meshgrid(self.alpha_low, self.alpha_high, indexing="ij")
        columns = {"alpha_low": low, "alpha_high": high, "beta_middle": self.beta_middle}
        if self.band is not None:
            columns |= {"low": self.band.low, "high": self.band.high}
        return as_frame({name: values.ravel() for name, values in columns.items()})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the surface, and its band as two meshes; needs matplotlib. Returns the axes.

        ``ax`` must have the projection "3d".
        """
        canvas: Any = new_axes(ax, projection="3d")
        if not hasattr(canvas, "plot_surface"):
            raise DataError("a surface needs axes with projection='3d'.")
        low, high = np.meshgrid(self.alpha_low, self.alpha_high, indexing="ij")
        canvas.plot_surface(low, high, self.beta_middle, alpha=0.7)
        if self.band is not None:
            for edge in (self.band.low, self.band.high):
                canvas.plot_wireframe(low, high, edge, color="0.5", linewidth=0.5)
        canvas.set_xlabel("share of the lowest class")
        canvas.set_ylabel("share of the highest class")
        canvas.set_title(f"share of the middle class, VUS {self.vus:.3f}")
        drawn: Axes = canvas
        return drawn


def roc_surface(
    y: VectorLike,
    scores: VectorLike,
    *,
    sample_weight: VectorLike | None = None,
    n_points: int = 51,
    intervals: bool | float = False,
    resamples: int = 200,
    random_state: int = 0,
) -> RocSurface:
    """Compute the ROC surface of scores for labels of three values.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels of three values.
    scores : array-like of shape (n_rows,)
        Of one query. Rows of equal scores are spread evenly over their place, which makes m
        classes that tie count 1/m!, as in the measure ``vus``.
    sample_weight : array-like of shape (n_rows,), optional
    n_points : int
        Points per side.
    intervals : bool or float
        Level of a bootstrap band, drawn inside each class; True is 0.95.
    resamples, random_state : int
        Number of bootstraps and their seed.

    Examples
    --------
    >>> surface = roc_surface([0, 1, 2, 0, 1, 2], [1, 2, 3, 2, 4, 5], n_points=3)
    >>> round(surface.vus, 4)
    0.625
    >>> surface.beta_middle.tolist()
    [[1.0, 1.0, 0.5], [1.0, 1.0, 0.5], [0.5, 0.5, 0.0]]
    """
    check("roc_surface", "n_points", n_points, at_least(2))
    rows = read_rows(y, scores, sample_weight, "roc_surface")
    labels = np.unique(rows.y)
    if len(labels) != 3:
        raise DataError(
            f"roc_surface needs labels of three values. Got {len(labels)}. Use roc_curve for two, "
            "and the measures vus or iauc for more."
        )
    at = np.linspace(0.0, 1.0, n_points)
    members = [rows.y == label for label in labels]
    classes = [np.flatnonzero(member) for member in members]
    beta = _surface(rows, rows.weight, members, at)
    band = band_of(
        lambda weight: _surface(rows, weight, members, at),
        at, rows.weight, classes, intervals, resamples, random_state,
    )  # fmt: skip
    volume = get_measure("vus")(rows.y, rows.scores[rows.block], sample_weight=rows.weight)
    return RocSurface(at, at, beta, volume, band)


def _surface(rows: RankedRows, weight: Floats, members: list[Bools], at: Floats) -> Floats:
    """Return the share of the middle class between both thresholds.

    Both thresholds are as good for the middle class as the shares of the others allow: the
    lower one is the least that puts the share of the lowest class below it.
    """
    low, middle, high = (rows.shares(weight * member) for member in members)
    # The shares are those above a score; 1 - them, from the end, are those below.
    below = limits(1.0 - low[::-1], 1.0 - middle[::-1], at)[0]
    above = limits(high, middle, at)[0]
    return np.asarray(np.maximum(1.0 - below[:, None] - above, 0.0))
