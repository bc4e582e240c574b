"""Scorecards: points per bin of each feature, scaled to odds; reason codes, SQL and page."""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from itertools import pairwise
from typing import Any

import numpy as np

from crucial.data.arrays import DAYS, number_text
from crucial.data.instances import Encodings
from crucial.errors import Argument, DataError, Message, NotRankedError
from crucial.feedback.labels import check_labels, check_weights
from crucial.inspection.curves import (
    Calibration,
    equal_parts,
    fit_calibration,
    read_rows,
    roc_curve,
    weight_unit,
)
from crucial.inspection.shape_functions import (
    FeatureShape,
    InnerRanker,
    additive_model,
    inner_ranker,
    shapes,
)
from crucial.kernels.elementary import dot, sigmoid
from crucial.measures.evaluation import evaluate
from crucial.model.additive import AdditiveRanker
from crucial.model.base import checked_rows
from crucial.model.tree_table import value_text
from crucial.pages import SavedAsHtml, page_html
from crucial.parameters import above, at_least, between, check, flag, instance_of, none_or, one_of
from crucial.results import Frame, Result, as_frame, listed
from crucial.types import Floats, Ints, TableLike, VectorLike
from crucial.wording import printable

# --- Merge neighbouring cells into few bins, and find short numbers for the edges between them


_EMPTY = 1e-9  # weight of a cell without rows, as a share of all rows
_SAME = 1e-12  # share of the spread that is rounding error


def merge_cells(weight: Floats, value: Floats, max_bins: int, min_weight: float) -> list[int]:
    """Merge neighbouring cells into bins whose values differ least from those of their cells.

    Minimises the sum over cells of ``weight * (value - mean of the bin) ** 2`` exactly, by the
    dynamic programme of Fisher (1958).

    Parameters
    ----------
    weight : array of shape (n_cells,)
        Weight of the rows in each cell.
    value : array of shape (n_cells,)
        What a cell adds.
    max_bins : int
        Most bins.
    min_weight : float
        Least weight of a bin, unless there is only one.

    Returns
    -------
    list of int
        First cell of each bin; no more bins than the least error needs.

    Examples
    --------
    >>> merge_cells(np.ones(5), np.array([0.0, 0.1, 2.0, 2.1, 9.0]), 3, 0.0)
    [0, 2, 4]
    >>> merge_cells(np.ones(5), np.array([0.0, 0.1, 2.0, 2.1, 9.0]), 3, 2.0)
    [0, 3]
    """
    n_cells = len(weight)
    counted = weight + _EMPTY * max(float(weight.sum()), 1.0)
    centred = value - np.average(value, weights=counted)
    sums = [
        np.concatenate([[0.0], np.cumsum(part)])
        for part in (counted, counted * centred, counted * centred**2, weight)
    ]
    mass, first, second, rows = (one[None, :] - one[:, None] for one in sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.maximum(second - first**2 / mass, 0.0)
    allowed = np.triu(np.ones((n_cells + 1, n_cells + 1), bool), 1)
    allowed &= rows >= min_weight * (1.0 - 1e-9)
    allowed[0, n_cells] = True
    error = np.where(allowed, error, np.inf)
    total = np.full(n_cells + 1, np.inf)
    total[0] = 0.0
    errors, begins = [], []
    for _ in range(min(max_bins, n_cells)):
        by_begin = total[:, None] + error
        begin = by_begin.argmin(axis=0)
        total = by_begin[begin, np.arange(n_cells + 1)]
        errors.append(float(total[n_cells]))
        begins.append(begin)
    least = min(errors) + _SAME * errors[0]
    count = next(number for number, one in enumerate(errors) if one <= least) + 1
    found, end = [], n_cells
    for begin in reversed(begins[:count]):
        end = int(begin[end])
        found.append(end)
    return found[::-1]


def short_edge(low: float, high: float, near: float, unit: int = 17) -> float:
    """Return the number in ``[low, high)`` with the fewest decimal places, close to another one.

    Parameters
    ----------
    low, high : float
        ``low < high``.
    near : float
        Of several such numbers, the one that is closest to this is returned.
    unit : int
        Most digits before the decimal point that may be rounded away.

    Examples
    --------
    >>> short_edge(11.0, 12.0, 11.5), short_edge(0.0871, 0.0902, 0.0889), short_edge(-3.0, 5.0, 0.2)
    (11.0, 0.09, 0.0)
    """
    near = min(max(near, low), high)
    if low <= 0.0 < high:
        return 0.0
    top = math.floor(math.log10(max(abs(low), abs(high))))
    for place in range(min(top, unit), top - 18, -1):
        middle = near / 10.0**place
        if not math.isfinite(middle):
            break
        found = [float(f"{int(k)}e{place}") for k in (math.floor(middle), math.ceil(middle))]
        inside = [one for one in found if low <= one < high]
        if inside:
            return min(inside, key=lambda one: (abs(one - near), one))
    return low


# --- The function of a feature cut into bins: of numbers by edges, of categories by groups


_CELLS = 256  # cells that are merged, at most
_MINUTES = 1440  # per day


def sums_by(places: Ints, values: Floats, count: int = 0) -> Floats:
    """Return the sums of values by place."""
    return np.bincount(places, values, minlength=count).astype(np.float64)


@dataclass(frozen=True, eq=False)
class BinnedFeature:
    """A feature cut into bins; the last bin is for missing values.

    Attributes
    ----------
    feature : int
    name : str
    edges : array of shape (n_bins - 2,)
        A value is in bin c where exactly c edges are below it; empty for categories.
    categories : tuple of tuples of str
        Categories of each bin; empty for numbers.
    numbers, bin_of : arrays of shape (n_numbers,)
        For categories: their numbers, ascending, and the bin of each.
    values : array of shape (n_bins,)
        What each bin adds to the score of the model.
    weight : array of shape (n_bins,)
        Weight of the rows in each bin.
    texts : tuple of str
        Each bin in words.
    """

    feature: int
    name: str
    edges: Floats
    categories: tuple[tuple[str, ...], ...]
    numbers: Floats
    bin_of: Ints
    values: Floats
    weight: Floats
    texts: tuple[str, ...]

    @property
    def n_bins(self) -> int:
        """Number of bins, with the one for missing values."""
        return len(self.values)

    def bins(self, column: Floats) -> Ints:
        """Return the bin of each value; a category that is not known is a missing value."""
        if not self.categories:
            return np.where(np.isnan(column), self.n_bins - 1, self.edges.searchsorted(column))
        place = np.minimum(self.numbers.searchsorted(column), len(self.numbers) - 1)
        return np.where(self.numbers[place] == column, self.bin_of[place], self.n_bins - 1)

    def merged(self, groups: Ints) -> BinnedFeature:
        """Return the feature with neighbouring bins of the same group merged.

        Parameters
        ----------
        groups : int array of shape (n_bins - 1,)
            Group of each bin, from 0 on and never falling.
        """
        last = int(groups[-1])
        to = np.append(groups, last + 1)
        mass = sums_by(to, self.weight)
        plain = sums_by(to, self.values) / np.bincount(to)
        means = sums_by(to, self.weight * self.values) / np.where(mass > 0, mass, 1.0)
        values = np.where(mass > 0, means, plain)
        if not self.categories:
            edges = self.edges[np.diff(groups) > 0]
            return replace(self, edges=edges, values=values, weight=mass, texts=())
        categories = tuple(
            tuple(text for b in np.flatnonzero(groups == g) for text in self.categories[b])
            for g in range(last + 1)
        )
        places = to[self.bin_of]
        return replace(
            self, categories=categories, bin_of=places, values=values, weight=mass, texts=()
        )

    def described(self, encodings: Encodings) -> BinnedFeature:
        """Return the feature with the texts of its bins."""
        if self.categories:
            texts = [", ".join(sorted(part)) for part in self.categories]
            missing = "missing or new (abstains)"
        else:
            ends = [_edge_text(encodings, self.feature, edge) for edge in self.edges.tolist()]
            texts = ["any value"] if not ends else [f"up to {ends[0]}"]
            texts += [f"above {low} to {high}" for low, high in pairwise(ends)]
            texts += [f"above {ends[-1]}"] if ends else []
            missing = "missing (abstains)"
        return replace(self, texts=(*texts, missing))


def _edge_text(encodings: Encodings, feature: int, value: float) -> str:
    """Return an edge with all its digits: what is printed is what is applied."""
    if encodings.times.get(feature) == DAYS:
        return value_text(encodings, feature, value)
    if value.is_integer() and abs(value) < 1e15:
        return number_text(value)
    return repr(value)


def bin_feature(
    shape: FeatureShape,
    column: Floats,
    weight: Floats,
    unit: str,
    max_bins: int | None,
    min_share: float,
) -> BinnedFeature:
    """Cut the function of a feature into bins.

    Parameters
    ----------
    shape : FeatureShape
    column, weight : arrays of shape (n_rows,)
        Values of the feature and weights of the rows.
    unit : str
        What the numbers of a date or time count, else "".
    max_bins : int or None
        Most bins besides the one for missing values; None keeps each step of the function that
        has rows.
    min_share : float
        Least share of the rows in a bin; not used if ``max_bins`` is None.
    """
    least = min_share * float(weight.sum())
    absent = np.isnan(column)
    silent = float(weight[absent].sum())
    if shape.categories:
        return _bin_categories(shape, column, weight, max_bins, least, silent)
    there = ~absent & (weight > 0)  # (rows without weight move no edge)
    values, mass = column[there], weight[there]
    distinct, cells = np.unique(values, return_inverse=True)
    if not shape.ramps:
        cells = shape.thresholds.searchsorted(values)
    # Cells without rows belong to no bin of their own.
    steps, cells = np.unique(cells, return_inverse=True)
    if not len(cells):
        known = np.array([float(shape.values.mean()), shape.missing])
        return _numbers(shape, np.zeros(0), known, np.array([0.0, silent]))
    counts = sums_by(cells, mass)
    means = shape.values[steps] if not shape.ramps else _added(shape, distinct)
    lowest, highest = np.full(len(counts), np.inf), np.full(len(counts), -np.inf)
    np.minimum.at(lowest, cells, values)
    np.maximum.at(highest, cells, values)
    begins = _begins(counts, means, max_bins, least)
    edges = [
        _edge(float(highest[b - 1]), float(lowest[b]), shape.thresholds, unit) for b in begins[1:]
    ]
    return _numbers(
        shape,
        np.array(edges),
        np.append(_bin_means(counts, means, begins), shape.missing),
        np.append(np.add.reduceat(counts, begins), silent),
    )


def _numbers(shape: FeatureShape, edges: Floats, values: Floats, weight: Floats) -> BinnedFeature:
    nothing, none = np.zeros(0), np.zeros(0, np.int64)
    return BinnedFeature(shape.feature, shape.name, edges, (), nothing, none, values, weight, ())


def _begins(counts: Floats, means: Floats, max_bins: int | None, least: float) -> Ints:
    """Return the first cell of each bin; many cells are first joined into parts of equal weight."""
    if max_bins is None:
        return np.arange(len(counts))
    starts = np.arange(len(counts))
    if len(counts) > _CELLS:
        share = np.cumsum(counts) / max(float(counts.sum()), 1e-300)
        part = np.minimum((share * _CELLS).astype(np.int64), _CELLS - 1)
        starts = np.flatnonzero(np.append(True, np.diff(part) > 0))
    joined = np.add.reduceat(counts, starts)
    merged = merge_cells(joined, _bin_means(counts, means, starts), max_bins, least)
    return np.asarray(starts[merged])


def _bin_means(counts: Floats, means: Floats, begins: Ints) -> Floats:
    """Return the mean value of each bin over its rows."""
    alone = np.diff(np.append(begins, len(counts))) == 1
    total = np.add.reduceat(counts, begins)
    pooled = np.add.reduceat(counts * means, begins) / np.where(total > 0, total, 1.0)
    plain = np.add.reduceat(means, begins) / np.diff(np.append(begins, len(counts)))
    # (a bin of one cell has its value exactly)
    return np.where(alone, means[begins], np.where(total > 0, pooled, plain))


def _added(shape: FeatureShape, values: Floats) -> Floats:
    """Return the value of a shape function at values that are not missing."""
    out = shape.values[shape.thresholds.searchsorted(values)].astype(np.float64)
    for ramp in shape.ramps:
        part = (np.clip(values, ramp.low, ramp.high) - ramp.low) / (ramp.high - ramp.low)
        out = out + ramp.weight * part
    return out


def _edge(low: float, high: float, thresholds: Floats, unit: str) -> float:
    """Return the edge between two neighbouring values, close to the threshold of the model."""
    inside = thresholds[(thresholds >= low) & (thresholds < high)]
    near = float(inside[len(inside) // 2]) if len(inside) else low / 2 + high / 2
    if unit != DAYS:
        return short_edge(low, high, near)
    if math.ceil(low) < high:
        return short_edge(low, high, near, unit=0)
    minute = math.ceil(low * _MINUTES) / _MINUTES
    return minute if low <= minute < high else low


def _bin_categories(
    shape: FeatureShape,
    column: Floats,
    weight: Floats,
    max_bins: int | None,
    least: float,
    silent: float,
) -> BinnedFeature:
    """Group categories that add about the same, in the order of what they add."""
    numbers = np.unique(np.array(list(shape.categories.values())))
    added = _added(shape, numbers)
    order = np.lexsort((numbers, added))
    known = ~np.isnan(column)
    places = numbers.searchsorted(column[known])
    counts = sums_by(places, weight[known], len(numbers))[order]
    begins = _begins(counts, added[order], max_bins, least)
    in_bin = np.zeros(len(numbers), np.int64)
    in_bin[order] = np.searchsorted(begins, np.arange(len(numbers)), side="right") - 1
    groups: list[list[str]] = [[] for _ in begins]
    for text, number in shape.categories.items():
        groups[in_bin[numbers.searchsorted(number)]].append(text)
    texts = tuple(tuple(sorted(group)) for group in groups)
    values = np.append(_bin_means(counts, added[order], begins), shape.missing)
    mass = np.append(np.add.reduceat(counts, begins), silent)
    head = (shape.feature, shape.name, np.zeros(0), texts)
    return BinnedFeature(*head, numbers, in_bin, values, mass, ())


# --- Reason codes: the features that cost a row the most points


#: What the points of a row are compared with.
AGAINST = ("best", "neutral")
_SHOWN = 10  # rows in the text


@dataclass(frozen=True, eq=False, repr=False)
class ReasonCodes(Result):
    """Result of `Scorecard.reasons`.

    Attributes
    ----------
    points : int array of shape (n_rows,)
    probabilities : array of shape (n_rows,)
        To be good.
    codes : int array of shape (n_rows, n_reasons)
        Places of features on the card, from 0, costliest first; -1 where there are no more.
    lost : array of the same shape
        Points that they cost.
    bins : int array of shape (n_rows, n_features)
        The bin of each row in each feature.
    features : tuple of CardFeature
    against : str
        What the points are compared with: "best" bin or "neutral" mean.
    """

    _bars = ("probability",)

    points: Ints
    probabilities: Floats
    codes: Ints
    lost: Floats
    bins: Ints
    features: tuple[CardFeature, ...] = field(repr=False)
    against: str = "best"

    def __len__(self) -> int:
        return len(self.points)

    def texts(self, row: int) -> list[str]:
        """Return the reasons of a row in words, costliest first."""
        found = []
        for slot, lost in zip(self.codes[row].tolist(), self.lost[row].tolist(), strict=True):
            if slot >= 0:
                one = self.features[slot]
                words = printable(one.bins[self.bins[row, slot]].text, 60)
                found.append(f"{one.code} {printable(one.name, 40)}: {words} (-{lost:.3g})")
        return found

    def __str__(self) -> str:
        rule = "the best bin" if self.against == "best" else "the mean of the rows"
        lines = [f"points lost against {rule} of each feature"]
        for row in range(min(_SHOWN, len(self))):
            said = "; ".join(self.texts(row)) or "no feature costs points"
            lines.append(
                f"row {row}: {self.points[row]} points, {self.probabilities[row]:.1%} good: {said}"
            )
        if len(self) > _SHOWN:
            lines.append(f"and {len(self) - _SHOWN} more rows")
        return "\n".join(lines)

    def to_frame(self) -> Frame:
        """Return one row per row: points, probability, and each reason with what it costs."""
        return as_frame(self.columns())

    def columns(self) -> dict[str, list[object]]:
        """Return the columns of `to_frame` as lists."""
        columns: dict[str, list[object]] = {
            "points": self.points.tolist(),
            "probability": self.probabilities.tolist(),
        }
        for number in range(self.codes.shape[1]):
            code, name, words = [], [], []
            for row, slot in enumerate(self.codes[:, number].tolist()):
                one = None if slot < 0 else self.features[slot]
                code.append("" if one is None else one.code)
                name.append("" if one is None else one.name)
                words.append("" if one is None else one.bins[self.bins[row, slot]].text)
            columns[f"code_{number + 1}"] = list(code)
            columns[f"feature_{number + 1}"] = list(name)
            columns[f"bin_{number + 1}"] = list(words)
            columns[f"lost_{number + 1}"] = self.lost[:, number].tolist()
        return columns


# --- The scorecard: bins with points, what the points mean, and the score of rows


@dataclass(frozen=True)
class Scale:
    """The scale that turns log odds into points.

    Attributes
    ----------
    points_to_double_odds, base_points, base_odds : float
        ``base_points`` stand for odds of ``base_odds`` to 1, and each ``points_to_double_odds``
        more double them.
    """

    points_to_double_odds: float
    base_points: float
    base_odds: float

    @property
    def factor(self) -> float:
        """Points per unit of log odds."""
        return self.points_to_double_odds / math.log(2.0)

    @property
    def offset(self) -> float:
        """Points at odds of 1 to 1."""
        return self.base_points - self.factor * math.log(self.base_odds)

    def points(self, log_odds: Floats) -> Floats:
        """Return points, not rounded."""
        return np.asarray(self.offset + self.factor * log_odds)

    def odds(self, points: float) -> float:
        """Return the odds that points stand for.

        Examples
        --------
        >>> Scale(20, 600, 50).odds(620)
        100.0
        """
        doublings = (points - self.base_points) / self.points_to_double_odds
        return float(self.base_odds * 2.0 ** min(max(doublings, -1000.0), 1000.0))

    def probabilities(self, points: Floats) -> Floats:
        """Return the probabilities that points stand for."""
        return sigmoid((points - self.offset) / self.factor)


@dataclass(frozen=True)
class CardBin:
    """A bin of a feature.

    Attributes
    ----------
    text : str
        The bin in words.
    above, up_to : float
        The bin has values x with ``above < x <= up_to``; NaN for categories and missing values.
    categories : tuple of str
        The categories in it, if the feature has categories.
    missing : bool
        Whether it is the bin of missing values, on which the feature abstains.
    points : int
    exact : float
        The points before rounding.
    rows, goods : float
        Weight of the rows, and of the good rows, in it.
    """

    text: str
    above: float
    up_to: float
    categories: tuple[str, ...]
    missing: bool
    points: int
    exact: float
    rows: float
    goods: float

    @property
    def good_share(self) -> float:
        """Share of good rows; NaN without rows."""
        return self.goods / self.rows if self.rows else math.nan


@dataclass(frozen=True, eq=False)
class CardFeature:
    """A feature of the card.

    Attributes
    ----------
    code : str
        Its reason code: R1 for the feature whose points vary most.
    name : str
    bins : tuple of CardBin
        The last one is for missing values.
    best : int
        Most points of a bin that has rows.
    neutral : float
        Mean points of the rows.
    cut : BinnedFeature
        Which bin a value is in.
    """

    code: str
    name: str
    bins: tuple[CardBin, ...]
    best: int
    neutral: float
    cut: BinnedFeature = field(repr=False)

    @property
    def points(self) -> Ints:
        """Points of the bins."""
        return np.array([one.points for one in self.bins], np.int64)


@dataclass(frozen=True)
class ScoreBand:
    """Rows of neighbouring points.

    Attributes
    ----------
    low, high : int
        Least and most points of its rows.
    rows, goods : float
        Weight of the rows, and of the good rows.
    expected : float
        Mean probability to be good that the points stand for.
    """

    low: int
    high: int
    rows: float
    goods: float
    expected: float


@dataclass(frozen=True, eq=False, repr=False)
class Scorecard(Result, SavedAsHtml):
    """Result of `scorecard`.

    Attributes
    ----------
    features : tuple of CardFeature
        Features with points; those whose points vary most over the rows come first.
    start : int
        Points that every row has; 0 if they are spread over the features.
    scale : Scale
    calibration : Calibration
        Log odds to be good as a line of the model's score.
    good : str
        Which labels are good.
    n_rows, n_good : float
        Weight of the rows that the card was made on, and of the good ones.
    auc : dict of str to float
        Area under the ROC curve: of the "model", of its "bins" before and of the "points" after
        rounding.
    auc_interval : (float, float) or None
        95% interval of the area by points, from the rows (see `crucial.evaluate`).
    ks : float
        Largest difference between the shares of good and bad rows below some points
        (Kolmogorov and Smirnov).
    bands : tuple of ScoreBand
        The rows by tenths of the points.
    left_out : tuple of str
        Features of the model that have no points on the card.
    title : str
    notes : tuple of str
        What to know before the card is used.
    model : AdditiveRanker
        The model behind the card.
    inner : InnerRanker
        The ranker with the steps of a pipeline in front of it, which rows go through first.
    """

    _bars = ("good_share",)

    features: tuple[CardFeature, ...]
    start: int
    scale: Scale
    calibration: Calibration
    good: str
    n_rows: float
    n_good: float
    auc: Mapping[str, float]
    auc_interval: tuple[float, float] | None
    ks: float
    bands: tuple[ScoreBand, ...]
    left_out: tuple[str, ...]
    title: str
    notes: tuple[str, ...]
    model: AdditiveRanker = field(repr=False)
    inner: InnerRanker = field(repr=False)

    @property
    def summary(self) -> str:
        """The card in one sentence."""
        bins = sum(len(one.bins) for one in self.features)
        return (
            f"{len(self.features)} features with {bins} bins; "
            f"AUC {self.auc['points']:.4f} by points, {self.auc['bins']:.4f} before rounding, "
            f"{self.auc['model']:.4f} of the model."
        )

    def __str__(self) -> str:
        lines = [printable(self.title, 200)]
        lines += [f"{name:<12} {text}" for name, text in facts(self)]
        lines += ["", *rule_lines(self), *(f"Note: {one}" for one in self.notes)]
        head = f"{'':<{_BIN}} {'points':>7} {'rows':>9} {'share':>7} {'good':>7}"
        lines += ["", f"{'every row':<{_BIN}} {self.start:>7}"] if self.start else [""]
        for one in self.features:
            lines += ["", *_wrapped(f"{one.code} {one.name}", len(head)), head]
            for part in one.bins:
                lines += _lines(part, self)
        lines += ["", f"{'points':<15} {'rows':>9} {'good':>7} {'expected':>9} {'odds':>12}"]
        for band in self.bands:
            span = f"{band.low} to {band.high}" if band.low < band.high else str(band.low)
            odds = band.expected / max(1.0 - band.expected, 1e-300)
            lines.append(
                f"{span:<15} {amount(band.rows):>9} {band.goods / band.rows:>7.1%} "
                f"{band.expected:>9.1%} {odds_text(max(odds, 1e-300)):>12}"
            )
        return "\n".join(lines)

    def to_frame(self) -> Frame:
        """Return one row per bin, after one for the points that every row has."""
        names = (
            "code", "feature", "bin", "above", "up_to", "missing", "points", "exact_points", "rows",
            "share", "goods", "good_share", "woe",
        )  # fmt: skip
        rows: list[tuple[object, ...]] = []
        nan = math.nan
        bads = self.n_rows - self.n_good
        if self.start:
            every = (self.n_rows, 1.0, self.n_good, self.n_good / self.n_rows, nan)
            rows.append(("", "every row", "", nan, nan, False, self.start, nan, *every))
        for one in self.features:
            for part in one.bins:
                bad = part.rows - part.goods
                known = part.goods > 0 and bad > 0
                woe = math.log((part.goods / self.n_good) / (bad / bads)) if known else nan
                counts = (part.rows, part.rows / self.n_rows, part.goods, part.good_share, woe)
                head = (one.code, one.name, part.text, part.above, part.up_to, part.missing)
                rows.append((*head, part.points, part.exact, *counts))
        return as_frame(dict(zip(names, zip(*rows), strict=True)))

    def to_sql(self, table: str = "data") -> str:
        """Return a query that computes the points of the rows of a table; NULL abstains.

        Columns are named as the features. Dates are compared with dates and times.
        """
        check("to_sql", "table", table, instance_of(str))
        times = self.model.encodings.times
        parts = [str(self.start)] if self.start else []
        parts += [_case(one, times.get(one.cut.feature) == DAYS) for one in self.features]
        body = "\n  + ".join(parts)
        return f"SELECT\n    {body} AS points\nFROM {_name(table)};\n"

    def to_html(self) -> str:
        """Return a page to print; the same card gives the same bytes."""
        body = (
            f'<main data-ready="yes">\n{_body(self)}<footer>Made by crucial {version("crucial")}. '
            "This page is complete in itself and loads nothing.</footer>\n</main>"
        )
        return page_html("scorecard", self.title, body=body)

    def _bins(self, X: TableLike) -> Ints:
        """Return the bin of each row in each feature."""
        rows = checked_rows(self.model, self.inner.rows(X))
        columns = (rows.column(one.cut.feature).astype(np.float64) for one in self.features)
        found = [one.cut.bins(x) for one, x in zip(self.features, columns, strict=True)]
        return np.stack(found, axis=1)

    def _points(self, bins: Ints) -> Ints:
        """Return the points of each row in each feature."""
        return np.stack([one.points[bins[:, j]] for j, one in enumerate(self.features)], axis=1)

    def score(self, X: TableLike) -> Ints:
        """Return the points of rows.

        Parameters
        ----------
        X : array, sparse matrix or frame
            The columns of the model; a missing value or a new category abstains.
        """
        return np.asarray(self.start + self._points(self._bins(X)).sum(axis=1))

    def probabilities(self, X: TableLike) -> Floats:
        """Return the probability to be good that the points of rows stand for."""
        return self.scale.probabilities(self.score(X).astype(np.float64))

    def reasons(self, X: TableLike, top: int = 4, against: str = "best") -> ReasonCodes:
        """Return the features that cost each row most points.

        Parameters
        ----------
        X : array, sparse matrix or frame
        top : int
            Most reasons per row. A feature that costs nothing is none.
        against : {"best", "neutral"}
            What points are compared with: the best bin of the feature that has rows, or the mean
            points of the rows that the card was made on.
        """
        check("reasons", "top", top, at_least(1))
        check("reasons", "against", against, one_of(*AGAINST))
        bins = self._bins(X)
        points = self._points(bins)
        full = [one.best if against == "best" else one.neutral for one in self.features]
        lost = np.array(full, np.float64) - points
        order = np.argsort(-lost, axis=1, kind="stable")[:, :top]
        costs = np.take_along_axis(lost, order, axis=1)
        total = np.asarray(self.start + points.sum(axis=1))
        chances = self.scale.probabilities(total.astype(np.float64))
        codes, costs = np.where(costs > 0, order, -1), np.where(costs > 0, costs, 0.0)
        return ReasonCodes(total, chances, codes, costs, bins, self.features, against)


# --- What a scorecard is made of: a model that can be one, labels of two values, weights


def card_model(ranker: object, names: tuple[str, ...] | None = None) -> AdditiveRanker:
    """Return the model of a ranker that can be a scorecard; refuse others.

    Parameters
    ----------
    ranker : fitted estimator or AdditiveRanker
    names : tuple of str, optional
        Names of the features, for a model that has none.

    Raises
    ------
    NotRankedError
        The ranker is no sum of functions of one feature; the error names what to train instead.
    DataError
        The ranker was trained with queries.
    """
    instead = (
        "Train a sum of functions of one feature: RankBoost, PNormPush, LogisticRanker, or boosted "
        "trees with interactions=1"
    )
    try:
        model = additive_model(ranker, "a scorecard", names=names)
    except NotRankedError as error:
        raise NotRankedError(f"{str(error).split('. ')[0]}. {instead}.") from None
    if model.training.get("with_qid") is True:
        raise DataError(
            "a scorecard needs scores that can be compared over all rows, and the ranker was "
            "trained with queries. Train it without qid."
        )
    return model


def two_labels(y: VectorLike, n_rows: int, good_from: float | None) -> Floats:
    """Return 1 for rows of the higher label, 0 for the others."""
    labels = check_labels(y, n_rows)
    if good_from is not None:
        return np.asarray((labels >= good_from).astype(np.float64))
    values = np.unique(labels)
    if len(values) > 2:
        raise DataError(
            f"a scorecard needs labels of two values. Got {len(values)}, from {values[0]:g} to "
            f"{values[-1]:g}.",
            remedy=Message(
                "Set ", Argument("good_from"), " to the lowest label that counts as the higher one."
            ),
        )
    return np.asarray((labels == values[-1]).astype(np.float64)) * (len(values) > 1)


def good_words(y: VectorLike, labels: Floats, low_is_good: bool, good_from: float | None) -> str:
    """Return which labels are good."""
    if good_from is not None:
        return f"label below {good_from:g}" if low_is_good else f"label {good_from:g} or more"
    given = check_labels(y, len(labels))
    value = float(given[labels == (0.0 if low_is_good else 1.0)][0])
    return f"label {value:g}"


# --- Points of the bins of a scorecard, and the rows by their points


_BANDS = 10


def exact_points(
    binned: Sequence[BinnedFeature],
    intercept: float,
    calibration: Calibration,
    scale: Scale,
    anchor: str,
) -> tuple[float, list[Floats]]:
    """Return the points that every row has, and those of the bins, before rounding.

    Parameters
    ----------
    binned : sequence of BinnedFeature
    intercept : float
        What the model adds to every row.
    calibration, scale : how a score becomes log odds, and those points
    anchor : {"lowest", "neutral", "spread"}
    """
    exact = [scale.factor * calibration.slope * one.values for one in binned]
    start = scale.offset + scale.factor * (calibration.intercept + calibration.slope * intercept)
    if anchor == "spread":
        return 0.0, [part + start / len(binned) for part in exact]
    for slot, (part, one) in enumerate(zip(exact, binned, strict=True)):
        shift = part.min() if anchor == "lowest" else np.average(part, weights=one.weight)
        exact[slot] = part - shift
        start += float(shift)
    return start, exact


def card_features(
    binned: Sequence[BinnedFeature],
    exact: Sequence[Floats],
    bins: Sequence[Ints],
    good: Floats,
    weight: Floats,
    unit: float,
    encodings: Encodings,
    start: float,
) -> tuple[tuple[CardFeature, ...], Ints]:
    """Return the features with points, and the points of the rows.

    Neighbouring bins of the same points are one bin. A feature whose bins all have 0 points is
    left out. Weights are in a unit, the rows of the bins are not.
    """
    found: list[CardFeature] = []
    total = np.full(len(good), round(start), np.int64)
    for one, part, at in zip(binned, exact, bins, strict=True):
        points = np.rint(part).astype(np.int64)
        total += points[at]
        if not points.any():
            continue
        groups = np.concatenate([[0], np.cumsum(np.diff(points[:-1]) != 0)])
        cut = one.merged(groups).described(encodings)
        to = np.append(groups, groups[-1] + 1)
        inside = to[at]
        mass = sums_by(inside, weight, cut.n_bins)
        goods = sums_by(inside, weight * good, cut.n_bins)
        first = np.append(np.searchsorted(groups, np.arange(groups[-1] + 1)), len(groups))
        sums = sums_by(to, one.weight * part)
        means = np.where(mass > 0, sums / np.where(mass > 0, mass, 1.0), part[first])
        own, last, edges = points[first], cut.n_bins - 1, cut.edges.tolist()
        above, up_to = [-math.inf, *edges, math.nan], [*edges, math.inf, math.nan]
        categories = [*cut.categories, ()]
        if cut.categories:
            above = up_to = [math.nan] * cut.n_bins
        else:
            categories = [()] * cut.n_bins
        numbers = (one.tolist() for one in (own, means, mass * unit, goods * unit))
        missing = [b == last for b in range(cut.n_bins)]
        columns: tuple[Any, ...] = (cut.texts, above, up_to, categories, missing, *numbers)
        made = tuple(CardBin(*row) for row in zip(*columns, strict=True))
        best, neutral = int(own[mass > 0].max()), dot(own, mass) / float(mass.sum())
        found.append(CardFeature(f"R{len(found) + 1}", cut.name, made, best, neutral, cut))
    return tuple(found), total


def score_bands(
    points: Ints, good: Floats, weight: Floats, unit: float, scale: Scale
) -> tuple[ScoreBand, ...]:
    """Return the rows in about equal parts, lowest points first; equal points stay together."""
    rows = read_rows(good, points, weight, "scorecard")
    part = equal_parts(rows, _BANDS)
    chance = scale.probabilities(rows.scores)
    found = []
    for number in np.unique(part)[::-1]:
        blocks = np.flatnonzero(part == number)
        inside = np.isin(rows.block, blocks)
        mass = rows.weight[inside]
        low, high = int(rows.scores[blocks].min()), int(rows.scores[blocks].max())
        counts = (float(mass.sum()) * unit, dot(mass, rows.y[inside]) * unit)
        expected = dot(mass, chance[rows.block[inside]]) / float(mass.sum())
        found.append(ScoreBand(low, high, *counts, expected))
    return tuple(found)


# --- Make a scorecard of an additive ranker: bins, odds, points


#: Where the points of each feature begin.
ANCHORS = ("lowest", "neutral", "spread")
#: What missing values get in a feature that no row misses, and what that is in words.
MISSING = {
    "neutral": "the mean of the rows",
    "lowest": "the lowest of the feature",
    "model": "the model's default",
}
_FEW = 50  # goods, or bads, below which the odds are hardly known


def scorecard(
    ranker: object,
    X: TableLike,
    y: VectorLike,
    *,
    sample_weight: VectorLike | None = None,
    points_to_double_odds: float = 20.0,
    base_points: float = 600.0,
    base_odds: float = 50.0,
    low_is_good: bool = False,
    good_from: float | None = None,
    max_bins: int | None = 6,
    min_share: float = 0.05,
    max_features: int | None = None,
    anchor: str = "lowest",
    missing_points: str = "neutral",
    title: str = "Scorecard",
) -> Scorecard:
    """Turn an additive ranker into a scorecard: integer points per bin of each feature.

    What each feature adds is cut into few bins, the sum is calibrated to odds by a logistic fit
    on the rows, and the log odds are scaled to points (Siddiqi 2006, chapter 6):
    ``points = base_points + points_to_double_odds * log2(odds / base_odds)``. The card states what
    bins and rounding cost, as areas under the ROC curve.

    Parameters
    ----------
    ranker : fitted estimator or AdditiveRanker
        A sum of functions of one feature, trained without queries: `RankBoost`, `PNormPush`,
        `LogisticRanker` and the other boosted stumps; linear rankers, whose lines become steps.
        Of a pipeline, the last step: features are those that arrive there.
    X, y : rows and labels
        To calibrate and count on; best rows that the ranker was not trained on, as its odds are
        too good on others. Labels have two values, or see ``good_from``.
    sample_weight : array-like of shape (n_rows,), optional
        A row of weight 2 counts as two rows.
    points_to_double_odds : float
        Points that double the odds.
    base_points, base_odds : float
        Points that stand for odds of ``base_odds`` good rows to 1 bad row.
    low_is_good : bool
        Whether the lower label is the good one, as where 1 marks a default: points then rise
        against the ranker's score.
    good_from : float, optional
        Labels from this value on count as the higher one.
    max_bins : int or None
        Most bins of a feature, besides the one for missing values. None keeps all steps.
    min_share : float
        Least share of the rows in a bin, in [0, 0.5]; missing values and categories that no row
        has are exempt.
    max_features : int, optional
        Keep the features whose points vary most.
    anchor : {"lowest", "neutral", "spread"}
        Where points begin. "lowest": the lowest bin of each feature has 0 points, and every row
        starts with the same points. "neutral": the mean points of each feature are about 0.
        "spread": rows start with 0 points, the rest is spread over the features.
    missing_points : {"neutral", "lowest", "model"}
        Points of missing values in features that no row misses, and of new categories in them:
        the mean points of the feature over the rows, which moves nobody up or down; its lowest
        points; or the model's default, which nothing was learned about and which may be the best
        points. Where rows miss values, the points are the model's.
    title : str

    Returns
    -------
    Scorecard
        ``score(X)``, ``reasons(X)``, ``to_frame()``, ``save("card.html")``.

    Notes
    -----
    ``max_bins`` and ``min_share`` were chosen on the German credit, crx, saheart and breast cancer
    data: on rows that neither ranker nor card had seen, these points lost no area under the ROC
    curve.

    Examples
    --------
    >>> from crucial.model.additive import AdditiveRanker
    >>> from crucial.model.weak import Stump
    >>> model = AdditiveRanker(2, [Stump(0, 2.5, 0), Stump(1, 7, 0)], [1.0, 0.5], ["age", "income"])
    >>> X = np.array([[1, 5], [2, 9], [3, 5], [4, 9], [1, 9], [4, 5]])
    >>> card = scorecard(model, X, [0, 1, 1, 1, 0, 0], base_points=100, base_odds=1)
    >>> [(one.text, one.points) for one in card.features[0].bins]
    [('up to 2', 0), ('above 2', 80), ('missing (abstains)', 40)]
    >>> card.start, card.score(X).tolist()
    (40, [40, 80, 120, 160, 80, 120])
    """
    for name, value, rule in (
        ("points_to_double_odds", points_to_double_odds, between(0, 1e9, low_open=True)),
        ("base_points", base_points, between(-1e9, 1e9)),
        ("base_odds", base_odds, above(0)),
        ("low_is_good", low_is_good, flag),
        ("good_from", good_from, none_or(between(-1e300, 1e300))),
        ("max_bins", max_bins, none_or(at_least(2))),
        ("min_share", min_share, between(0, 0.5)),
        ("max_features", max_features, none_or(at_least(1))),
        ("anchor", anchor, one_of(*ANCHORS)),
        ("missing_points", missing_points, one_of(*MISSING)),
        ("title", title, instance_of(str)),
    ):
        check("scorecard", name, value, rule)
    inner = inner_ranker(ranker)
    model = card_model(inner.ranker, inner.names)
    rows = checked_rows(model, inner.rows(X))
    labels = two_labels(y, rows.n_rows, good_from)
    weight = check_weights(sample_weight, rows.n_rows)
    # (divided by a power of two close to their mean, so that no sum overflows)
    row_unit = 1.0 if weight is None else weight_unit(weight)
    weight = np.ones(rows.n_rows) if weight is None else weight / row_unit
    if not (weight[labels > 0].sum() > 0 and weight[labels == 0].sum() > 0):
        raise DataError(
            "a scorecard needs good and bad rows to fit odds. Got rows of one label only."
        )
    scores = model.predict(rows)
    binned, bins = [], []
    for shape in shapes(model).features:
        column = rows.column(shape.feature).astype(np.float64)
        unit = model.encodings.times.get(shape.feature, "")
        one = bin_feature(shape, column, weight, unit, max_bins, min_share)
        one = _with_missing(one, missing_points, low_is_good)
        binned.append(one)
        bins.append(one.bins(column))
    kept = _most_varied(binned, max_features)
    total = np.zeros(rows.n_rows)
    for j in sorted(kept, key=lambda j: binned[j].feature):  # (added in the order of the model)
        total += binned[j].values[bins[j]]
    total += model.intercept
    calibration = _calibrated(total, labels, weight, row_unit)
    sign = -1.0 if low_is_good else 1.0
    good = 1.0 - labels if low_is_good else labels
    intercept, slope = sign * calibration.intercept, sign * calibration.slope
    signed = replace(calibration, intercept=intercept, slope=slope)
    scale = Scale(float(points_to_double_odds), float(base_points), float(base_odds))
    used, bins_of = [binned[j] for j in kept], [bins[j] for j in kept]
    start, exact = exact_points(used, model.intercept, signed, scale, anchor)
    features, points = card_features(
        used, exact, bins_of, good, weight, row_unit, model.encodings, start
    )
    if not features:
        raise DataError(
            "no feature has points: each rounds to 0 points in all bins.",
            remedy=Message("Set a larger ", Argument("points_to_double_odds"), "."),
        )
    names = {one.name for one in features}
    by_points = roc_curve(good, points, sample_weight=weight)
    measured = evaluate(good, points, measures="auc", sample_weight=weight, intervals=True)
    interval = measured.results["auc"].interval
    interval = None if interval is None or np.isnan(interval).any() else interval
    scored = (("model", scores), ("bins", total))
    auc = {name: roc_curve(labels, one, sample_weight=weight).auc for name, one in scored}
    auc["points"], ks = by_points.auc, float((by_points.beta - by_points.alpha).max())
    words = good_words(y, labels, low_is_good, good_from)
    counts = (float(weight.sum()) * row_unit, dot(weight, good) * row_unit)
    bands = score_bands(points, good, weight, row_unit, scale)
    left_out = tuple(one.name for one in binned if one.name not in names)
    notes = _notes(calibration, good, weight * row_unit, features, missing_points)
    head = (features, round(start), scale, signed, words, *counts, auc, interval, ks, bands)
    return Scorecard(*head, left_out, title, notes, model, inner)


def _with_missing(one: BinnedFeature, points: str, low_is_good: bool) -> BinnedFeature:
    """Return a feature with other points for missing values, if no row misses it."""
    if points == "model" or one.weight[-1] > 0:
        return one
    known, weight = one.values[:-1], one.weight[:-1]
    value = np.average(known, weights=weight)
    if points == "lowest":
        value = known.max() if low_is_good else known.min()
    return replace(one, values=np.append(known, value))


def _most_varied(binned: Sequence[BinnedFeature], max_features: int | None) -> list[int]:
    """Return the features to keep, largest standard deviation over the rows first."""
    spread = []
    for one in binned:
        mean = np.average(one.values, weights=one.weight)
        spread.append(float(np.sqrt(np.average((one.values - mean) ** 2, weights=one.weight))))
    order = sorted(range(len(binned)), key=lambda j: (-spread[j], binned[j].feature))
    return order[:max_features]


def _calibrated(total: Floats, labels: Floats, weight: Floats, unit: float) -> Calibration:
    """Return the logistic fit; refuse one that would turn the ranking around."""
    there = weight > 0
    total, labels, weight = total[there], labels[there], weight[there]
    if total.min() == total.max():
        raise DataError(
            "the ranker gives all rows the same score: there are no odds to fit. Pass other rows."
        )
    found = fit_calibration(total, labels, weight * unit)
    if found.slope <= 0:
        area = roc_curve(labels, total, sample_weight=weight).auc
        raise DataError(
            f"the ranker puts the lower label first on these rows (AUC {area:.3f}), and its points "
            "would say the opposite of its scores.",
            remedy=Message(
                "Check the labels; ", Argument("low_is_good"), " does not change what was learned."
            ),
        )
    return found


def _notes(
    calibration: Calibration,
    good: Floats,
    weight: Floats,
    features: Sequence[CardFeature],
    missing_points: str,
) -> tuple[str, ...]:
    """Return the notes to read before the card is used."""
    notes = []
    if calibration.separated:
        notes.append(
            "Some score separates all good rows from all bad ones, so the odds have no largest "
            "likelihood; they are fitted to Platt's targets, and stand for little beyond these "
            "rows."
        )
    few = min(float(weight @ good), float(weight @ (1.0 - good)))
    if few < _FEW:
        notes.append(
            f"The rarer label has {few:g} rows, fewer than {_FEW}: the odds are hardly known "
            "(see the standard errors)."
        )
    never = [one.name for one in features if not one.bins[-1].rows]
    if never:
        what = "any value" if len(never) == len(features) else f"a value of {listed(never)}"
        notes.append(
            f"No row misses {what}: the points of a missing value are "
            f"{MISSING[missing_points]} there, since these rows say nothing about it "
            "(missing_points sets others)."
        )
    return tuple(notes)


# --- A scorecard as SQL


_TICKS = 86_400e6  # microseconds per day


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _case(one: CardFeature, is_date: bool) -> str:
    """Return the points of a feature as one CASE expression."""
    column = _name(one.name)
    *known, missing = one.bins
    if one.cut.categories:
        tests = [
            f"WHEN {column} IN ({', '.join(map(_text, part.categories))}) THEN {part.points}"
            for part in known
        ]
        return f"CASE {' '.join(tests)} ELSE {missing.points} END"
    tests = [f"WHEN {column} IS NULL THEN {missing.points}"]
    tests += [
        f"WHEN {column} <= {_moment(part.up_to) if is_date else repr(part.up_to)} "
        f"THEN {part.points}"
        for part in known[:-1]
    ]
    return f"CASE {' '.join(tests)} ELSE {known[-1].points} END"


def _moment(days: float) -> str:
    """Return days since 1970 as a date, or as a timestamp where they are not whole."""
    if days == int(days):
        return f"DATE '{np.datetime64(int(days), 'D')}'"
    ticks = round(days * _TICKS)
    # The last microsecond whose number of days is not above the edge, as the card counts them:
    # rounded otherwise, a row could change sides.
    while ticks / _TICKS > days:
        ticks -= 1
    while (ticks + 1) / _TICKS <= days:
        ticks += 1
    text = str(np.datetime64(ticks, "us")).replace("T", " ")
    return f"TIMESTAMP '{text.removesuffix('.000000')}'"


# --- A scorecard as text and as the columns of a table


_BIN = 46  # width of a bin's words
_NAMED = 40  # categories that a bin names


def amount(value: float) -> str:
    """Return a weight of rows: whole numbers as such.

    Examples
    --------
    >>> amount(1200.0), amount(2.5)
    ('1,200', '2.5')
    """
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.6g}"


def odds_text(odds: float) -> str:
    """Return odds as "50 : 1" or "1 : 20".

    Examples
    --------
    >>> odds_text(50.0), odds_text(0.05), odds_text(1.5)
    ('50 : 1', '1 : 20', '1.5 : 1')
    """
    ratio = max(odds, 1.0 / odds)
    shown = f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}"
    return f"{shown} : 1" if odds >= 1.0 else f"1 : {shown}"


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.1%}" if whole else ""


def facts(card: Scorecard) -> list[tuple[str, str]]:
    """Return the facts about a card, as pairs of a name and a text."""
    scale, fit, auc = card.scale, card.calibration, card.auc
    span = ""
    if card.auc_interval is not None:
        span = " (95% interval {:.3f} to {:.3f})".format(*card.auc_interval)
    return [
        (
            "rows",
            f"{amount(card.n_rows)}, of which {amount(card.n_good)} good ({card.good}, "
            f"{card.n_good / card.n_rows:.1%})",
        ),
        (
            "scale",
            f"{scale.base_points:g} points are odds of {odds_text(scale.base_odds)}; "
            f"{scale.points_to_double_odds:g} points more double the odds",
        ),
        (
            "calibration",
            f"{fit}, standard errors {fit.intercept_error:.2g} and {fit.slope_error:.2g}; "
            f"a logistic fit on these rows",
        ),
        (
            "AUC",
            f"{auc['points']:.4f} by points{span}; {auc['bins']:.4f} before rounding, "
            f"{auc['model']:.4f} of the model before binning",
        ),
        ("Gini, KS", f"{2.0 * auc['points'] - 1.0:.4f}, {card.ks:.4f}"),
    ]


def rule_lines(card: Scorecard) -> list[str]:
    """Return how the card is used, in sentences."""
    start = f"Start with {card.start} points and add" if card.start else "Add"
    lines = [
        f"{start} the points of the bin that applies in each feature; a missing value has its own "
        "bin.",
        "Reasons for a score are the features that cost the most points against their best bin "
        "that has rows.",
    ]
    if card.left_out:
        few = ", ".join(printable(name, 30) for name in card.left_out[:8])
        more = f" and {len(card.left_out) - 8} more" if len(card.left_out) > 8 else ""
        lines.append(f"Features of the model without points: {few}{more}.")
    return lines


def _wrapped(text: str, width: int) -> list[str]:
    """Return text as lines that break between words, the first one less indented."""
    safe = printable(text, len(text) * 10)
    return textwrap.wrap(safe, width, subsequent_indent="  ", break_on_hyphens=False) or [""]


def _words(part: CardBin) -> str:
    """Return the words of a bin; of very many categories the first ones."""
    if len(part.categories) <= _NAMED:
        return part.text
    return f"{', '.join(part.categories[:_NAMED])} and {len(part.categories) - _NAMED} more"


def _lines(part: CardBin, card: Scorecard) -> list[str]:
    words, *more = _wrapped(_words(part), _BIN - 2)
    first = (
        f"  {words:<{_BIN - 2}} {part.points:>7} {amount(part.rows):>9} "
        f"{_share(part.rows, card.n_rows):>7} {_share(part.goods, part.rows):>7}"
    )
    return [first.rstrip(), *(f"  {line}" for line in more)]


# --- The page of a scorecard: plain HTML without scripts, made to be printed


_ODDS = 12  # rows of the table of odds


def _safe(text: str) -> str:
    """Return text for HTML; a byte that was not text is shown as a question mark."""
    shown = "".join(c if c.isprintable() or c == " " else "\ufffd" for c in text)
    return html.escape(shown.encode("utf-8", "replace").decode())


def _percent(share: float) -> str:
    return "" if math.isnan(share) else f"{share:.1%}"


def _body(card: Scorecard) -> str:
    said = "".join(f"<dt>{_safe(name)}</dt><dd>{_safe(text)}</dd>" for name, text in facts(card))
    rules = "".join(f"<p>{_safe(line)}</p>" for line in rule_lines(card))
    notes = "".join(f'<p class="note">Note: {_safe(line)}</p>' for line in card.notes)
    start = (
        f'<p class="start"><span>every row</span><b>{card.start}</b></p>\n' if card.start else ""
    )
    features = "".join(_feature_table(one, card) for one in card.features)
    return (
        f'<h1>{_safe(card.title)}</h1>\n<div class="head"><dl>{said}</dl>\n<div class="rules">'
        f"{start}{rules}{notes}</div></div>\n"
        f'<div class="features">\n{features}</div>\n'
        f'<h2>What the points mean</h2>\n<div class="meaning">\n{_odds(card)}{_bands(card)}'
        f"{_reliability(card.bands)}</div>\n"
    )


def _feature_table(one: CardFeature, card: Scorecard) -> str:
    """Return the table of a feature."""
    lines = []
    for part in one.bins:
        kind = "missing" if part.missing else ""
        kind += " best" if part.points == one.best and part.rows else ""
        share = part.rows / card.n_rows if card.n_rows else 0.0
        lines.append(
            f'<tr class="{kind.strip()}"><td>{_safe(_words(part))}</td><td class="points">'
            f"{part.points}</td><td>{amount(part.rows)} <small>{_percent(share)}</small></td>"
            f"<td>{_bar(part.good_share)}</td></tr>"
        )
    caption = f'<span class="code">{one.code}</span> {_safe(one.name)}'
    return _table(caption, ("bin", "points", "rows", "good"), lines)


def _bar(share: float) -> str:
    """Return a share as a number over a bar."""
    if math.isnan(share):
        return ""
    return (
        f'{share:.1%}<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" '
        f'aria-hidden="true"><rect class="track" width="100" height="4"/>'
        f'<rect width="{100 * share:.2f}" height="4"/></svg>'
    )


def _odds(card: Scorecard) -> str:
    """Return the table of odds by points, in steps of doubled odds."""
    scale = card.scale
    low, high = card.bands[0].low, card.bands[-1].high
    step = scale.points_to_double_odds
    while (high - low) / step > _ODDS:
        step *= 2.0
    first = math.floor((low - scale.base_points) / step)
    last = math.ceil((high - scale.base_points) / step)
    lines = []
    for k in range(first, last + 1):
        points = scale.base_points + k * step
        odds = scale.odds(points)
        lines.append(
            f'<tr><td class="points">{points:g}</td><td>{odds_text(odds)}</td>'
            f"<td>{odds / (1.0 + odds):.2%}</td></tr>"
        )
    return _table("Odds", ("points", "good : bad", "good"), lines)


def _table(caption: str, heads: Sequence[str], lines: Sequence[str]) -> str:
    head, body = "".join(f"<th>{one}</th>" for one in heads), "".join(lines)
    rows = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f"<table><caption>{caption}</caption>{rows}</table>\n"


def _bands(card: Scorecard) -> str:
    """Return the rows by points: how many are good, and how many were expected to be."""
    lines = []
    goods = bads = 0.0
    all_bads = card.n_rows - card.n_good
    for band in card.bands:
        goods += band.goods
        bads += band.rows - band.goods
        span = f"{band.low} to {band.high}" if band.low < band.high else f"{band.low}"
        lines.append(
            f'<tr><td class="points">{span}</td><td>{amount(band.rows)}</td>'
            f"<td>{band.goods / band.rows:.1%}</td><td>{band.expected:.1%}</td>"
            f"<td>{goods / card.n_good:.1%}</td><td>{bads / all_bads:.1%}</td></tr>"
        )
    heads = ("points", "rows", "good", "expected", "goods up to here", "bads up to here")
    return _table("The rows by points", heads, lines)


def _reliability(bands: tuple[ScoreBand, ...]) -> str:
    """Return observed over expected shares of good rows, as a drawing."""
    points = [(one.expected, one.goods / one.rows) for one in bands]
    limit = _round_up(max(max(one) for one in points))
    size, left = 200.0, 34.0

    def place(x: float, y: float) -> tuple[float, float]:
        return round(left + size * x / limit, 1), round(6 + size * (1 - y / limit), 1)

    def path(*ends: tuple[float, float]) -> str:
        return " ".join("{},{}".format(*place(*one)) for one in ends)

    axis = ""
    for t in (0.0, limit / 2, limit):
        (left_x, y), (x, _) = place(0, t), place(t, 0)
        axis += (
            f'<line class="grid" x1="{left_x}" x2="{left + size}" y1="{y}" y2="{y}"/>'
            f'<text x="{left - 5}" y="{y + 4}" text-anchor="end">{t:.3g}</text>'
            f'<text x="{x}" y="{size + 20}" text-anchor="middle">{t:.3g}</text>'
        )
    dots = "".join('<circle r="3.5" cx="{}" cy="{}"/>'.format(*place(*one)) for one in points)
    return (
        '<figure><figcaption>Good rows, observed over expected</figcaption><svg class="plot" '
        f'viewBox="0 0 {left + size + 16:g} {size + 38:g}" role="img" '
        'aria-label="Observed over expected share of good rows by points">'
        f'{axis}<polyline class="even" points="{path((0, 0), (limit, limit))}"/>'
        f'<polyline class="line" points="{path(*points)}"/>{dots}'
        f'<text x="{left + size}" y="{size + 34}" text-anchor="end">expected</text>'
        "</svg></figure>\n"
    )


def _round_up(share: float) -> float:
    """Return the next share with one digit, at most 1."""
    unit = 10.0 ** math.floor(math.log10(max(share, 1e-6)))
    return min(1.0, unit * math.ceil(share / unit - 1e-9))
