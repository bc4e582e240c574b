"""Search the stumps of binned features, dense or sparse, and cut features into bins."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crucial.kernels import plain
from crucial.kernels.runtime import cut_evenly, in_all, is_small, over_ranges, run_all
from crucial.types import Bools, Codes, Floats, Ints, Reals

# --- Slopes and Z of all stumps of binned features


# Potentials are compared in so many blocks, whatever the number of threads: sums stay fixed.
_BLOCKS = 8


class StumpSums:
    """Sums over the ones of every stump, feature after feature.

    Parameters
    ----------
    codes : unsigned array of shape (n_features, n_padded)
        Padding rows have a potential of 0.
    n_rows : int
    stumps : (int array of shape (n_features + 1,), bool array of shape (n_features,), int)
        Where the bins of a feature begin, of which the last is for abstentions; whether it has
        any; and their rank, 0 or 1, or -1 where both are to be tried.
    signed : bool
        Whether only the largest slope counts, or the largest magnitude.
    threads : int

    Attributes
    ----------
    scans_all : bool
        Whether a scan renews all features: in NumPy all of them cost hardly more than one.
    n_stumps : int
        Of all features and thresholds.
    drop_bounds, drops : functions
        See `crucial.kernels.plain`.
    """

    def __init__(
        self, codes: Codes, n_rows: int, stumps: tuple[Ints, Bools, int], signed: bool, threads: int
    ) -> None:
        n_features, first = len(codes), stumps[0]
        self._first, self._missing, self._fixed = stumps
        self._codes, self._signed, self._threads = codes[:, :n_rows], signed, threads
        self.n_stumps = int(first[-1])
        self._hist = np.zeros(self.n_stumps, np.int64)
        self._everything = np.arange(n_features)
        self.scans_all = is_small(in_all("rows", n_rows), n_features)
        self._kernels: ModuleType = plain
        if self.scans_all:
            self._all_sums = plain.FeatureSums(self._codes, self._everything, *stumps)
        else:
            from crucial.kernels.compiled import stumps as compiled

            self._kernels = compiled
            self._before = np.zeros(codes.shape[1])
            self._words = codes.view(np.uint64) if codes.dtype == np.uint8 else None
        self.drop_bounds: Callable[..., None] = self._kernels.drop_bounds
        self.drops: Callable[..., float] = self._kernels.drops

    def slope_change(self, pi: Floats, scale: float, unit: float) -> float:
        """Return how far any slope can have moved since the potentials of the last call.

        Since potentials sum to 0, that is half the sum of their absolute changes; rounding to
        units moves a slope by half a unit per row.
        """
        if self.scans_all:
            return np.inf
        bounds = cut_evenly(0, len(self._before), _BLOCKS)
        change = partial(self._kernels.change_of, pi, scale, self._before)
        found = over_ranges(bounds, self._threads, change)
        rounding = scale * unit * len(self._before) + 1e-15
        return 0.5 * math.fsum(one for one, _ in found) + rounding

    def distance(self, pi: Floats, scale: float, before: Floats, scale_before: float) -> float:
        """Return the sum of |scale * pi - scale_before * before|, up to rounding."""
        if self.scans_all:
            return float(np.abs(scale * pi - scale_before * before).sum())
        bounds = cut_evenly(0, len(pi), self._threads)
        between = self._kernels.distance_between
        call: Callable[..., float] = partial(between, pi, scale, before, scale_before)
        return math.fsum(over_ranges(bounds, self._threads, call))

    def scan(self, features: Ints, fixed: Ints, factor: float, slope: Floats, peak: Floats) -> Ints:
        """Renew the slopes and peaks of the features; return those that were renewed.

        Parameters
        ----------
        fixed : int64 array of shape (n_padded,)
            Potentials as whole numbers of a unit, whose magnitudes add up to less than 2^63.
        factor : float
            What a unit is worth in a slope.
        slope : array of shape (2, first[-1])  # OUT
            See `crucial.kernels.plain.FeatureSums.slopes`.
        peak : array of shape (n_features,)  # OUT
        """
        if self.scans_all:
            self._all_sums.histogram(fixed, self._hist)
            self._all_sums.slopes(self._hist, factor, self._signed, slope, peak)
            return self._everything
        scan, hist = self._scan, self._hist
        self._over(features, lambda part: scan(part, fixed, hist, factor, slope, peak))
        return features

    def histogram(self, features: Ints, fixed: Ints) -> Ints:
        """Return the sums of potentials per bin, of shape (first[-1],); 0 for other features.

        They are whole numbers: those of parts of the rows add up to those of all rows.
        """
        hist = np.zeros(self.n_stumps, np.int64)
        if self.scans_all:
            self._all_sums.histogram(fixed, hist)
        else:
            self._over(features, lambda part: self._add_up(part, fixed, hist))
        return hist

    def slopes(
        self, features: Ints, hist: Ints, factor: float, slope: Floats, peak: Floats
    ) -> Ints:
        """Scan stumps from a histogram, which may be the sum of those of several parts."""
        if self.scans_all:
            self._all_sums.slopes(hist, factor, self._signed, slope, peak)
            return self._everything
        inputs = (self._first, self._missing, features, self._fixed, self._signed)
        self._kernels.slopes(hist, factor, *inputs, slope, peak)
        return features

    def _over(self, features: Ints, call: Callable[[Ints], None]) -> None:
        """Call a function of one feature, or of two neighbours of one-byte codes, on threads."""
        step = 1 if self._words is None else 2
        parts = [features[i : i + step] for i in range(0, len(features), step)]
        run_all(self._threads, [partial(call, part) for part in parts])

    def _add_up(self, features: Ints, fixed: Ints, hist: Ints) -> None:
        """Write the histograms of one feature, or of two of one-byte codes."""
        one, two, first = int(features[0]), int(features[-1]), self._first
        if self._words is None:
            own = hist[first[one] : first[one + 1]]
            self._kernels.histogram_wide(self._codes[one], fixed, own)
        else:
            self._kernels.histogram8(self._words, one, two, fixed, first, hist)

    def _scan(
        self, features: Ints, fixed: Ints, hist: Ints, factor: float, slope: Floats, peak: Floats
    ) -> None:
        self._add_up(features, fixed, hist)
        self.slopes(features, hist, factor, slope, peak)


# --- Searching stumps that predict many labels at once


class LabelSums:
    """Weights of right and wrong labels, and how well thresholds part them.

    Parameters
    ----------
    codes : unsigned array of shape (n_features, n_rows)
    first : int array of shape (n_features + 1,)
        Where the bins of a feature begin; its last bin is for abstentions.
    n_labels : int
    threads : int
    """

    def __init__(self, codes: Codes, first: Ints, n_labels: int, threads: int) -> None:
        self._codes, self._first, self._n_labels = codes, first, n_labels
        self._threads, self._parts = threads, min(len(codes), 4 * threads)

    def _empty(self, feature: int) -> Floats:
        return np.empty((self._first[feature + 1] - self._first[feature], 2 * self._n_labels))

    def histogram(self, feature: int, pi: Floats) -> Floats:
        """Return the weight of right and of wrong labels of a feature, by bin and label.

        ``hist`` of `crucial.kernels.compiled.stumps.label_histogram`.
        """
        from crucial.kernels.compiled.stumps import label_histogram

        hist = self._empty(feature)
        label_histogram(self._codes[feature], pi, hist)
        return hist

    def criteria(self, pi: Floats, discrete: bool, out: Floats) -> None:
        """Write how well every threshold of every feature parts right labels from wrong ones.

        ``out[first[f] + k]`` becomes ``out[k]`` of
        `crucial.kernels.compiled.stumps.label_criteria` for feature f.
        """
        from crucial.kernels.compiled.stumps import label_criteria

        first = self._first

        def scan(begin: int, end: int) -> None:
            for f in range(begin, end):
                part = out[first[f] : first[f + 1] - 1]
                label_criteria(self._codes[f], pi, discrete, self._empty(f), part)

        over_ranges(cut_evenly(0, len(self._codes), self._parts), self._threads, scan)


# --- Cutting, coding and searching sparse features, over their stored entries alone


class Entries(NamedTuple):
    """Entries of sparse features, feature after feature.

    Attributes
    ----------
    start, stop : int64 arrays over the features
        Entries of a feature: by falling code, abstentions first, then by rising place.
    place : int32 array
        The row of an entry.
    code : unsigned array
        Its code.
    rest : int64 array over the features
        Code of all rows without an entry.
    """

    start: Ints
    stop: Ints
    place: NDArray[np.int32]
    code: Codes
    rest: Ints

    @property
    def counts(self) -> Ints:
        """Number of entries of every feature."""
        return self.stop - self.start


def _by_size(sizes: Ints, threads: int) -> list[slice]:
    """Cut features into parts of about the same size, several per thread."""
    if threads == 1 or not len(sizes):
        return [slice(0, len(sizes))]
    ends = np.cumsum(sizes)
    parts = 4 * threads
    marks = np.searchsorted(ends, ends[-1] * np.arange(1, parts) / parts)
    bounds = np.unique([0, *marks.tolist(), len(sizes)]).tolist()
    return [slice(a, b) for a, b in pairwise(bounds)]


def cut_columns(
    table: tuple[Ints, Ints, NDArray[Any]],
    features: Ints,
    counts: Ints,
    n_rows: int,
    max_bins: int,
    offset: Ints,
    cuts: Floats,
    threads: int,
) -> tuple[Ints, Ints]:
    """Write thresholds between all values of features that have at most ``max_bins`` of them.

    Parameters are those of `crucial.kernels.compiled.stumps.cut_sparse`.

    Returns
    -------
    n_cuts, missing : int64 arrays over the features
        -1 thresholds where there are more values.
    """
    from crucial.kernels.compiled.stumps import cut_sparse

    found = np.zeros((2, len(features)), np.int64)

    def cut(part: slice) -> None:
        own = (features[part], counts, n_rows, max_bins, offset[part], cuts, found[:, part])
        cut_sparse(*table, *own)

    parts = _by_size(table[0][features + 1] - table[0][features], threads)
    run_all(threads, [partial(cut, part) for part in parts])
    return found[0], found[1]


def code_columns(
    table: tuple[Ints, Ints, NDArray[Any]],
    features: Ints,
    row_start: Ints,
    places: NDArray[np.int32],
    offset: Ints,
    n_cuts: Ints,
    cuts: Floats,
    sizes: Ints,
    threads: int,
) -> Entries:
    """Return the entries of some features; parameters as in ``compiled.stumps.code_sparse``.

    Parameters
    ----------
    sizes : int array over the features
        The most entries that each can have.
    """
    from crucial.kernels.compiled.stumps import code_sparse

    ends = np.cumsum(sizes)
    most = int(n_cuts.max(initial=0)) + 2
    entries = Entries(
        ends - sizes,
        np.zeros(len(features), np.int64),
        np.empty(int(ends[-1]) if len(ends) else 0, np.int32),
        np.empty(
            int(ends[-1]) if len(ends) else 0,
            np.uint8 if most <= 256 else np.uint16 if most <= 65536 else np.uint32,
        ),
        np.zeros(len(features), np.int64),
    )

    def code(part: slice) -> None:
        thresholds = (offset[part], n_cuts[part], cuts)
        out = (entries.start[part], entries.place, entries.code)
        places_of = (features[part], row_start, places)
        code_sparse(*table, *places_of, *thresholds, *out, entries.rest[part], entries.stop[part])

    run_all(threads, [partial(code, part) for part in _by_size(sizes, threads)])
    return entries


class SparseSums:
    """Criteria of the stumps of sparse features.

    Parameters
    ----------
    entries : Entries
    n_padded : int
        Length of potentials.
    stumps : (int array of shape (n_features + 1,), bool array of shape (n_features,), int)
        Where the bins of a feature begin, of which the last is for abstentions; whether it has
        any; and their rank, 0 or 1, or -1 where both are to be tried.
    threads : int

    Attributes
    ----------
    drop_bounds, drops : functions
        See `crucial.kernels.plain`.
    """

    scans_all = False  # (see `StumpSums`)

    def __init__(
        self, entries: Entries, n_padded: int, stumps: tuple[Ints, Bools, int], threads: int
    ) -> None:
        self._entries, self._threads = entries, threads
        self._first, self._missing, self._fixed = stumps
        self._counts = entries.counts.astype(np.float64)
        self._before, self._total = np.zeros(n_padded), 0.0
        from crucial.kernels.compiled import stumps as compiled

        self.drop_bounds: Callable[..., None] = compiled.drop_bounds
        self.drops: Callable[..., float] = compiled.drops

    def slope_change(self, pi: Floats, scale: float, unit: float, factor: float) -> Floats:
        """Return how far ``factor`` times a slope of each feature can have moved since last time.

        No further than half the sum of all absolute changes of potentials, which sum to 0, and
        no further than the largest change for every entry; rounding to units moves a slope by half
        a unit per row.
        """
        from crucial.kernels.compiled.stumps import change_of

        change: Callable[..., tuple[float, float]] = partial(change_of, pi, scale, self._before)
        bounds = cut_evenly(0, len(self._before), _BLOCKS)
        found = over_ranges(bounds, self._threads, change)
        half = 0.5 * math.fsum(one for one, _ in found)
        largest = max(one for _, one in found)
        total = scale * float(pi.sum())
        apart = factor * self._counts * largest + abs(total - self._total)
        self._total = total
        rounding = factor * scale * unit * len(self._before) + 1e-15
        return np.minimum(apart, factor * half) + rounding

    def _run(self, features: Ints, kernel: Callable[..., None], out: Floats) -> None:
        """Call a kernel for parts of the features, on all threads."""
        sizes = self._entries.counts[features] + self._first[features + 1] - self._first[features]
        parts = [features[part] for part in _by_size(sizes, self._threads)]
        run_all(self._threads, [partial(kernel, part, out) for part in parts])

    @property
    def _stumps(self) -> tuple[Any, ...]:
        return (*self._entries, self._first, self._missing, self._fixed)

    def peaks(
        self,
        features: Ints,
        fixed: Ints,
        factor: float,
        sign: Floats,
        signed: bool,
        line: tuple[float, float],
        slope: Floats,
        peak: Floats,
    ) -> None:
        """Write the largest criterion of some features; see ``compiled.stumps.sparse_peaks``.

        Parameters
        ----------
        fixed, factor : potentials as whole numbers of a unit, and what it is worth
        line : (times, shift)
        slope : array of shape (1 or 2, first[-1] or 0)  # OUT
            See `StumpSums.scan`; one row where no feature abstains, nothing where it is empty.
        """
        from crucial.kernels.compiled.stumps import sparse_peaks

        rules: tuple[Any, ...] = (sign, signed, *line, fixed, factor, int(fixed.sum()), slope)
        self._run(features, partial(sparse_peaks, *self._stumps, *rules), peak)

    def slopes(self, feature: int, fixed: Ints, factor: float) -> Floats:
        """Return the slopes of one feature, of shape (2, n_bins + 1)."""
        from crucial.kernels.compiled.stumps import feature_slopes

        entries, f = self._entries, feature
        width = int(self._first[f + 1] - self._first[f])
        out = np.zeros((2, width))
        where = (entries.start[f], entries.stop[f], entries.rest[f], width - 1)
        rules = (self._missing[f], self._fixed, fixed, factor, int(fixed.sum()))
        feature_slopes(entries.place, entries.code, *where, *rules, out)
        return out

    def fits(
        self,
        features: Ints,
        potentials: tuple[Ints, float],
        curvature: tuple[Ints, float],
        light: float,
        peak: Floats,
    ) -> None:
        """Write the squares that each feature explains; see ``compiled.stumps.sparse_fits``.

        Parameters
        ----------
        potentials, curvature : whole numbers of a unit, and what it is worth
        """
        from crucial.kernels.compiled.stumps import sparse_fits

        sums = (*potentials, int(potentials[0].sum()), *curvature, int(curvature[0].sum()))
        inputs: tuple[Any, ...] = (*self._stumps, *sums, light)
        self._run(features, partial(sparse_fits, *inputs), peak)


# --- Sorting and coding the values of features


# Sorting by bits goes through tables of 2,048 counts, which costs more than sorting so few.
_FEW_VALUES = 2000


class ColumnCutter:
    """Works on one column after the other, in memory that is used again.

    Parameters
    ----------
    n_rows : int
        Values of a column.
    n_features : int
        Columns of the whole table.
    dtype : float32 or float64
        Of the values.

    Attributes
    ----------
    gathers : bool
        Whether columns of a table that is stored by row are worth fetching by `gather`.
    """

    def __init__(self, n_rows: int, n_features: int, dtype: np.dtype[np.floating]) -> None:
        self.gathers = not is_small(n_rows, n_features)
        if self.gathers:
            self._ranked, self._spare = np.empty(n_rows, dtype), np.empty(n_rows, dtype)

    def gather(self, table: Reals, rows: NDArray[np.integer], first: int, out: Reals) -> None:
        """Write neighbouring columns of some rows: ``out[c, i] = table[rows[i], first + c]``."""
        from crucial.kernels.compiled.stumps import gather_columns

        gather_columns(table, rows, first, out)

    def ranked(self, values: Reals) -> tuple[Reals, bool]:
        """Return the values that are not NaN, ascending, and whether all of them are finite.

        They stay until the next call; not sorted where one is infinite.
        """
        if not self.gathers:
            order = np.argsort(values, kind="stable")  # NaN comes last
            ranked = values[order[: len(values) - np.count_nonzero(np.isnan(values))]]
            return ranked, not np.isinf(ranked[[0, -1]] if len(ranked) else ranked).any()
        from crucial.kernels.compiled.stumps import copy_ranked, sort_bits

        count = copy_ranked(values, self._ranked)
        ranked = self._ranked[:count]
        if 0 <= count <= _FEW_VALUES:
            ranked.sort()
        elif count >= 0:
            bits = np.dtype(np.uint32 if ranked.dtype.itemsize == 4 else np.uint64)
            sign = bits.type(1) << bits.type(8 * bits.itemsize - 1)
            shifts = np.arange(0, 8 * bits.itemsize, 11).astype(bits)
            spare = self._spare[:count].view(bits)
            sort_bits(ranked.view(bits), spare, sign, bits.type(2047), shifts)
        return ranked, count >= 0

    def code(self, values: Reals, thresholds: Floats, out: Codes) -> None:
        """Write the code of every value: how many thresholds are below it.

        NaN gets the number after the last bin, ``len(thresholds) + 1``.
        """
        absent = len(thresholds) + 1
        if not self.gathers:
            codes = np.searchsorted(thresholds, values.astype(np.float64), "left")
            codes[np.isnan(values)] = absent
            out[: len(values)] = codes
            return
        from crucial.kernels.compiled.stumps import bin_column, bin_column8

        if out.dtype == np.uint8:
            padded = np.full(255, np.inf)
            padded[: len(thresholds)] = thresholds
            bin_column8(values, padded, absent, out)
        else:
            bin_column(values, thresholds, absent, out)


# --- Summaries of sorted values: few of them, each with the mass that it stands for


def distinct(values: Floats, mass: Floats) -> tuple[Floats, Floats]:
    """Return the distinct ones of sorted values, with the mass of each."""
    if len(values) < 2:
        return values, mass
    first = np.concatenate(([0], np.flatnonzero(values[1:] != values[:-1]) + 1))
    return values[first], np.add.reduceat(mass, first)


def compressed(values: Floats, mass: Floats, size: int) -> tuple[Floats, Floats, float]:
    """Return at most ``size`` of ascending distinct values: neighbours move up to the last of them.

    The mass in a group before its last value is less than ``1 / size`` of the whole, and only
    that mass moves. Few values stay as they are.

    Returns
    -------
    values, mass : float64 arrays
    moved : float
        The most mass that moves past any number.
    """
    if len(values) <= size:
        return values, mass, 0.0
    upto = np.cumsum(mass)
    before, total = upto - mass, float(upto[-1])
    group = np.minimum((before * (size / total)).astype(np.int64), size - 1)
    first = np.concatenate(([0], np.flatnonzero(group[1:] != group[:-1]) + 1))
    last = np.append(first[1:], len(group)) - 1
    moved = float((before[last] - before[first]).max())
    return values[last], np.add.reduceat(mass, first), moved
