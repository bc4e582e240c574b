"""Bins: features cut at thresholds and coded as small whole numbers, dense or sparse."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from crucial.data.arrays import check_room
from crucial.data.instances import CodedTable, Instances
from crucial.errors import DataError, DataWarning
from crucial.kernels.runtime import is_small, run_all
from crucial.kernels.stumps import ColumnCutter, Entries, code_columns, cut_columns
from crucial.types import Bools, Codes, Floats, Ints, Reals

# --- Thresholds of a feature: weighted quantiles over its distinct values, or a random draw


# Masses that should be equal may differ by rounding; a cut must not depend on that.
_SLACK = 1e-12


def between(low: Reals, high: Reals) -> Floats:
    """Return thresholds with ``low <= threshold < high``, the middle where a float lies there.

    Examples
    --------
    >>> between(np.array([1.0, -1e308]), np.array([2.0, 1e308])).tolist()
    [1.5, 0.0]
    >>> float(between(np.array([1.0]), np.array([np.nextafter(1.0, 2.0)]))[0])
    1.0
    """
    low = low.astype(np.float64)
    high = high.astype(np.float64)
    middle = low / 2 + high / 2  # halves first: the sum of two large numbers overflows
    # Neighbouring numbers have no middle, and halves of the smallest ones round away.
    return np.where((middle >= low) & (middle < high), middle, low)


def _positions(counts: Reals) -> Ints:
    """Return where the number of values reaches each of these counts."""
    reached: Ints = np.ceil(counts * (1 - _SLACK)).astype(np.int64) - 1
    return reached


class _Ranked:
    """Sorted values and the mass (count or weight) up to each of them."""

    def __init__(self, values: Reals, mass: Floats | None) -> None:
        self.values = values
        self.mass = mass
        self.total = float(mass[-1]) if mass is not None else float(len(values))

    def before(self, position: Ints) -> Floats:
        """Return the mass of the values before each position."""
        if self.mass is None:
            return position.astype(np.float64)
        return np.where(position > 0, self.mass[np.maximum(position, 1) - 1], 0.0)

    def at(self, mass: Reals) -> Reals:
        """Return the value at which the cumulative mass reaches each of these masses."""
        if self.mass is None:
            position = _positions(mass)
        else:
            position = np.searchsorted(self.mass, mass * (1 - _SLACK), "left")
        found: Reals = self.values.take(position, mode="clip")
        return found


def cut_points(values: Reals, mass: Floats | None, max_bins: int | None) -> Floats:
    """Return thresholds that cut sorted values into at most ``max_bins`` bins.

    Every distinct value gets a bin if there are few enough. Otherwise a value with a bin's
    share of the mass or more gets a bin to itself (a feature that is mostly 0
    keeps its bins for the rest), and the others share what is left by equal mass.

    Parameters
    ----------
    values : sorted array without NaN
    mass : cumulative weights of the values, or None where each counts 1
    max_bins : at least 2, or None for a bin per distinct value
    """
    if len(values) < 2 or values[0] == values[-1]:
        return np.zeros(0)
    steps = values[1:] != values[:-1]
    distinct = np.count_nonzero(steps) + 1
    if max_bins is None or distinct <= max_bins:
        last = np.flatnonzero(steps)
        return between(values[last], values[last + 1])
    if mass is None and distinct == len(values):
        # None can have a bin's share: the same cuts without looking for such values.
        after = _positions(len(values) / max_bins * np.arange(1, max_bins)) + 1
        return between(values[after - 1], values[after])
    del steps
    last_values = _coarse_cuts(_Ranked(values, mass), max_bins)
    after = np.searchsorted(values, last_values, "right")
    after = np.unique(after[(after > 0) & (after < len(values))])
    if not len(after):  # (of two or three bins, the largest value may fill all but the first)
        after = np.searchsorted(values, values[-1:], "left")
    return between(values[after - 1], values[after])


def drawn_cut_points(values: Reals, max_bins: int | None, random: np.random.Generator) -> Floats:
    """Return all thresholds between distinct values or, if they are too many, a random draw.

    Every threshold has the same chance, so that the draw does not depend on weights, on
    repeated rows or on the scale of the feature (Connamacher et al. 2019, section 5).

    Parameters
    ----------
    values : sorted array without NaN
    max_bins : at least 2, or None for a bin per distinct value
        At most ``max_bins - 1`` thresholds are drawn.
    random : Generator

    Examples
    --------
    >>> drawn_cut_points(np.array([0.0, 0.0, 1.0, 3.0]), 3, np.random.default_rng(0)).tolist()
    [0.5, 2.0]
    >>> len(drawn_cut_points(np.arange(1000.0), 256, np.random.default_rng(0)))
    255
    """
    last = np.flatnonzero(values[1:] != values[:-1])
    if max_bins is not None and len(last) >= max_bins:
        last = np.sort(random.choice(last, max_bins - 1, replace=False))
    return between(values[last], values[last + 1])


def _coarse_cuts(ranked: _Ranked, max_bins: int) -> Reals:
    """Return the values after which to cut."""
    share = ranked.total / max_bins
    # A value with a share of the mass spans one of these points.
    candidates = np.unique(ranked.at(share * np.arange(1, max_bins + 1)))
    start = np.searchsorted(ranked.values, candidates, "left")
    stop = np.searchsorted(ranked.values, candidates, "right")
    held = ranked.before(stop) - ranked.before(start)
    heavy = held >= share * (1 - _SLACK)
    if not heavy.any() or 2 * np.count_nonzero(heavy) + 2 > max_bins:
        return ranked.at(share * np.arange(1, max_bins))
    start, stop, held = start[heavy], stop[heavy], held[heavy]
    # Stretches between heavy values; each gets whole bins, so one may be lost per stretch.
    first = ranked.before(np.append(0, stop))
    last = ranked.before(np.append(start, len(ranked.values)))
    light = np.maximum(last - first, 0.0)
    bins = max_bins - 2 * len(start) - 1
    size = light.sum() / bins if light.sum() > 0 else 1.0
    pieces = np.ceil(light / size * (1 - _SLACK)).astype(np.int64)
    cuts = [ranked.values[stop - 1]]
    before_heavy = start[start > 0]
    cuts.append(ranked.values[before_heavy - 1])
    for a, width, count in zip(first, light, pieces):
        if count > 1:
            cuts.append(ranked.at(a + width * np.arange(1, count) / count))
    return np.unique(np.concatenate(cuts))


# --- Cuts and codes one feature after the other, in memory that is used again


T = TypeVar("T")

# Bytes of one row that are fetched together: neighbours share a cache line, which has 64.
_BLOCK, _SMALL_BLOCK = 64, 16
# Rows beyond which memory counts more.
_MANY_ROWS = 200_000


def over_features(
    instances: Instances,
    features: Ints,
    rows: NDArray[np.integer],
    threads: int,
    work: Callable[[int, Cutter], T],
) -> list[T]:
    """Call ``work(place, cutter)`` for every place in ``features``; results in order.

    Each thread has a cutter of its own. On large inputs at most two of them work, since
    each takes up to 40 bytes per row there.
    """
    n_cutters = max(1, min(threads if len(rows) < _MANY_ROWS else min(threads, 2), len(features)))
    results: dict[int, T] = {}
    # Neighbours stay together, since they are fetched together.
    blocks = np.array_split(np.arange(len(features)), n_cutters)

    def run(places: Ints) -> None:
        cutter = Cutter(instances, features[places], rows)
        for place in places.tolist():
            results[place] = work(place, cutter)

    run_all(n_cutters, [partial(run, places) for places in blocks])
    return [results[place] for place in range(len(features))]


class Cutter:
    """Cuts and codes one feature at a time.

    Parameters
    ----------
    instances : Instances
    features : int array
        The features to work on, in that order.
    rows : int array
        The rows, in the order in which they are wanted.
    """

    def __init__(self, instances: Instances, features: Ints, rows: NDArray[np.integer]) -> None:
        self._instances, self._rows = instances, rows
        table = instances.table
        kind = table.dtype if table.dtype == np.float32 else np.dtype(np.float64)
        self._columns = ColumnCutter(len(rows), instances.n_features, kind)
        floats = (
            self._columns.gathers
            and isinstance(table, np.ndarray)
            and table.dtype in (np.float32, np.float64)
        )
        self._stored_by_row = floats and table.flags.c_contiguous
        self._stored_by_column = floats and not self._stored_by_row and table.flags.f_contiguous
        self._values: Reals = np.zeros(0)
        if self._stored_by_column:
            self._values = np.empty(len(rows), kind)
        if self._stored_by_row:
            width = _BLOCK if len(rows) < _MANY_ROWS else _SMALL_BLOCK
            self._block = np.empty((width // kind.itemsize, len(rows)), kind)
            self._fetched = range(0)
            self._last = int(features.max(initial=-1)) + 1

    def fetch(self, feature: int) -> Reals:
        """Return the values of a feature; they stay until the next is fetched."""
        if self._stored_by_column:
            column: Reals = self._instances.table[:, feature]
            # (a mode with which NumPy writes into the memory given)
            column.take(self._rows, out=self._values, mode="clip")
            return self._values
        if not self._stored_by_row:
            self._values = self._instances.column(feature, self._rows)
            return self._values
        if feature not in self._fetched:
            self._fetched = range(feature, min(feature + len(self._block), self._last))
            part = self._block[: len(self._fetched)]
            self._columns.gather(self._instances.table, self._rows, feature, part)
        self._values = self._block[feature - self._fetched.start]
        return self._values

    def ranked(self, feature: int) -> Reals:
        """Return the values of a feature that was fetched, ascending, without abstentions.

        They stay until the next call.
        """
        ranked, finite = self._columns.ranked(self._values)
        if not finite:
            self._instances.checked(self._values, feature, self._rows)  # raises, naming the row
        return ranked

    def cut(
        self,
        feature: int,
        weight: Floats | None,
        max_bins: int | None,
        random: np.random.Generator | None = None,
    ) -> tuple[Floats, int]:
        """Return the thresholds of a feature and the number of its abstentions.

        Parameters
        ----------
        weight : array over the rows, or None
            Not used where thresholds are drawn.
        random : Generator, optional
            Draws thresholds; without it they are quantiles.
        """
        values = self.fetch(feature)
        if weight is None or random is not None:
            ranked = self.ranked(feature)
            if random is not None:
                return drawn_cut_points(ranked, max_bins, random), len(values) - len(ranked)
            return cut_points(ranked, None, max_bins), len(values) - len(ranked)
        self._instances.checked(values, feature, self._rows)
        missing = int(np.count_nonzero(np.isnan(values)))
        order = np.argsort(values, kind="stable")[: len(values) - missing]  # NaN comes last
        mass = weight[order]
        np.cumsum(mass, out=mass)
        return cut_points(values[order], mass, max_bins), missing

    def code(self, thresholds: Floats, out: Codes) -> None:
        """Write the codes of the feature that was fetched last."""
        self._columns.code(self._values, thresholds, out)


# --- Codes of sparse features: those of stored entries, and one for all other rows


# Codes are stored for each cell if at least one cell in so many is an entry: an entry takes five
# bytes, and its row must be looked up.
_DENSE_SHARE = 10


def stays_sparse(instances: Instances, n_rows: int, n_live: int) -> bool:
    """Return whether codes of the entries alone are worth it.

    Parameters
    ----------
    n_rows : int
        Rows to code.
    n_live : int
        Features with entries.
    """
    if not instances.is_sparse or is_small(n_rows, n_live):
        return False
    return int(instances.table.nnz) * _DENSE_SHARE <= instances.n_rows * n_live


@dataclass(frozen=True)
class SparseCodes:
    """Codes of sparse features.

    Attributes
    ----------
    entries : Entries
    n_rows : int
    """

    entries: Entries
    n_rows: int

    @property
    def n_padded(self) -> int:
        """Number of rows, rounded up to a multiple of 8."""
        return -(-self.n_rows // 8) * 8

    def column(self, feature: int) -> Codes:
        """Return the codes of one feature, padded with zeros, as a fresh array."""
        start, stop, place, code, rest = self.entries
        out = np.zeros(self.n_padded, code.dtype)
        out[: self.n_rows] = rest[feature]
        own = slice(start[feature], stop[feature])
        out[place[own]] = code[own]
        return out

    def taken(self, places: NDArray[np.integer]) -> SparseCodes:
        """Return the codes of some of the rows, each as often as it is named."""
        row_start, new_place = _places_of(places, self.n_rows)
        times = np.diff(row_start)
        start, stop, place, code, rest = self.entries
        counts, parts, codes = [], [], []
        for a, b in zip(start.tolist(), stop.tolist()):
            old = place[a:b]
            kept, again = _repeated(old, row_start, times)
            new = new_place[kept]
            own = code[a:b][again]
            order = np.lexsort((new, -own.astype(np.int64)))
            parts.append(new[order])
            codes.append(own[order])
            counts.append(len(new))
        sizes = np.array(counts, np.int64)
        ends = np.cumsum(sizes)
        return SparseCodes(
            Entries(
                ends - sizes,
                ends,
                np.concatenate(parts) if parts else place[:0],
                np.concatenate(codes) if codes else code[:0],
                rest,
            ),
            len(places),
        )

    def abstains(self, n_bins: Ints) -> Bools:
        """Return which features have an abstention; ``n_bins`` is its code."""
        start, stop, _, code, _ = self.entries
        there = stop > start
        out = np.zeros(len(start), bool)
        # (abstentions come first)
        out[there] = code[start[there]] == n_bins[there]
        return out


def _places_of(rows: NDArray[np.integer], n: int) -> tuple[Ints, NDArray[np.int32]]:
    """Return the places of each of n rows in a selection of rows, row after row."""
    counts = np.bincount(rows, minlength=n)
    row_start = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return row_start, np.argsort(rows, kind="stable").astype(np.int32)


def _repeated(rows: NDArray[np.integer], row_start: Ints, times: Ints) -> tuple[Ints, Ints]:
    """Return the positions of all places of some rows, and which of the rows each is of."""
    own = times[rows]
    ends = np.cumsum(own)
    again = np.repeat(np.arange(len(rows)), own)
    return np.arange(len(again)) + (row_start[rows] - (ends - own))[again], again


class SparseColumns:
    """Cuts and codes the entries of sparse features.

    Parameters
    ----------
    instances : Instances
        Sparse.
    features : int array
        Those with entries.
    rows : int array
        The rows, in the order in which they are wanted.
    threads : int
    """

    def __init__(
        self, instances: Instances, features: Ints, rows: NDArray[np.integer], threads: int
    ) -> None:
        self._features, self._threads = features, threads
        self._n = len(rows)
        self._row_start, self._places = _places_of(rows, instances.n_rows)
        self._times = np.diff(self._row_start)
        table = instances.table
        data = table.data
        if data.dtype not in (np.float32, np.float64):
            data = data.astype(np.float64)
        infinite = instances.first_infinity(rows)
        if infinite is not None:
            instances.column(infinite[1], rows)  # (raises, naming row and column)
        self._table = (table.indptr, table.indices, data)

    def cut(
        self, weight: Floats | None, max_bins: int | None, drawn_by: int | None
    ) -> list[tuple[Floats, int]]:
        """Return thresholds and number of abstentions of every feature; see `Bins.build`."""
        indptr = self._table[0]
        stored = (indptr[self._features + 1] - indptr[self._features]).astype(np.int64)
        most = np.iinfo(np.int64).max if max_bins is None else max_bins
        room = np.minimum(stored, most)
        offset = np.cumsum(room) - room
        cuts = np.empty(int(room.sum()))
        inputs = (self._features, self._times, self._n, most, offset, cuts, self._threads)
        n_cuts, missing = cut_columns(self._table, *inputs)
        self._cuts, self._offset, self._n_cuts = cuts, offset, n_cuts

        whole = float(self._n) if weight is None else float(weight.sum())

        def coarse(at: int) -> None:
            feature = int(self._features[at])
            found = self._coarse(feature, weight, whole, max_bins, drawn_by)
            n_cuts[at] = len(found)
            cuts[offset[at] : offset[at] + len(found)] = found

        run_all(self._threads, [partial(coarse, at) for at in np.flatnonzero(n_cuts < 0).tolist()])
        ends = (offset + n_cuts).tolist()
        return [
            (cuts[a:b], absent) for a, b, absent in zip(offset.tolist(), ends, missing.tolist())
        ]

    def _coarse(
        self,
        feature: int,
        weight: Floats | None,
        whole: float,
        max_bins: int | None,
        drawn_by: int | None,
    ) -> Floats:
        """Return the thresholds of a feature with more values than bins.

        All rows without an entry are one value, 0, with their mass: what is left of the whole.
        """
        indptr, indices, data = self._table
        own = slice(indptr[feature], indptr[feature + 1])
        at, again = _repeated(indices[own], self._row_start, self._times)
        values = data[own][again].astype(np.float64)
        place = self._places[at]
        mass = np.ones(len(values)) if weight is None else weight[place]
        if len(values) < self._n:
            values = np.append(values, 0.0)
            mass = np.append(mass, max(whole - float(mass.sum()), 0.0))
        known = ~np.isnan(values)
        values, mass = values[known], mass[known]
        order = np.argsort(values, kind="stable")
        values = values[order]
        if drawn_by is not None:
            # Seeded by feature, so that the draw does not depend on the threads.
            return drawn_cut_points(values, max_bins, np.random.default_rng([drawn_by, feature]))
        return cut_points(values, np.cumsum(mass[order]), max_bins)

    def code(self, kept: Ints) -> SparseCodes:
        """Return the codes of some of the features, after `cut`.

        Parameters
        ----------
        kept : int array
            Their places among all features.
        """
        indptr, indices, _ = self._table
        features = self._features[kept]
        sizes = (indptr[features + 1] - indptr[features]).astype(np.int64)
        if int(self._times.max(initial=0)) > 1:
            ends = zip(indptr[features].tolist(), indptr[features + 1].tolist())
            sizes = np.array([self._times[indices[a:b]].sum() for a, b in ends], np.int64)
        thresholds = (self._offset[kept], self._n_cuts[kept], self._cuts)
        inputs = (features, self._row_start, self._places, *thresholds, sizes, self._threads)
        return SparseCodes(code_columns(self._table, *inputs), self._n)


# --- Features coded as small whole numbers, ready for histograms


# Bytes of dense codes of sparse input from which a fit says so.
_MUCH = 1 << 30


@dataclass(frozen=True)
class Bins:
    """Codes of the features that can order rows.

    Attributes
    ----------
    features : int64 array of shape (n_kept,)
        Columns of these features in the input; constant features are left out.
    thresholds : tuple of float64 arrays
        A value's code is the number of thresholds below it.
    codes : unsigned array of shape (n_kept, n_padded)
        Feature by feature, padded with zeros to a multiple of 8 rows. The code after the
        last bin, ``len(thresholds) + 1``, is an abstention. Without rows where ``sparse`` has
        the codes.
    has_missing : bool array of shape (n_kept,)
    n_rows : int
    n_features : int
        Of the input.
    all_missing : tuple of int
        Features that abstain on every row.
    constant : tuple of int
        Features with one value and no abstention.
    sparse : SparseCodes or None
        The codes of sparse input that stays sparse.
    """

    features: Ints
    thresholds: tuple[Floats, ...]
    codes: Codes
    has_missing: Bools
    n_rows: int
    n_features: int
    all_missing: tuple[int, ...] = ()
    constant: tuple[int, ...] = ()
    sparse: SparseCodes | None = None

    def column(self, feature: int) -> Codes:
        """Return the codes of one of the kept features, padded; of sparse codes a fresh array."""
        return self.codes[feature] if self.sparse is None else self.sparse.column(feature)

    @property
    def n_bins(self) -> Ints:
        """Number of bins of every kept feature, without the one for abstentions."""
        return np.array([len(t) + 1 for t in self.thresholds], np.int64)

    @property
    def first(self) -> Ints:
        """First place of each feature when all bins (abstentions too) are in one array."""
        return np.concatenate(([0], np.cumsum(self.n_bins + 1))).astype(np.int64)

    @classmethod
    def build(
        cls,
        instances: Instances,
        rows: NDArray[np.integer],
        weight: Floats | None = None,
        max_bins: int | None = 255,
        threads: int = 1,
        drawn_by: int | None = None,
        sparse: bool = False,
    ) -> Bins:
        """Cut and code some rows of every feature.

        Coded input has its bins already; they are taken as they are.

        Parameters
        ----------
        rows : int array
            Rows to code, in the order in which they are wanted.
        weight : array of the same length, optional
            Positive weights: a row of weight 2 cuts as two rows do.
        drawn_by : int, optional
            Seed to draw thresholds at random, where a feature has more than fit in
            ``max_bins``; by default they are quantiles.
        sparse : bool
            Whether the codes of sparse input may stay sparse; they do where few cells are stored.

        Raises
        ------
        DataError
            If sparse input does not fit into memory once every cell has a code, or if the bins
            that coded input has are others than those asked for.
        """
        if isinstance(instances.table, CodedTable):
            return _given(instances.table.bins, rows, max_bins, drawn_by)
        n, n_features = len(rows), instances.n_features
        if weight is not None and n:  # by a power of two, so that no sum overflows
            weight = np.ldexp(weight, -int(np.frexp(weight.max())[1]))
        live = _live(instances)
        if sparse and stays_sparse(instances, n, len(live)):
            columns = SparseColumns(instances, live, rows, threads)
            bins, kept = cls.of_cuts(live, columns.cut(weight, max_bins, drawn_by), n, n_features)
            coded = columns.code(np.array(kept, np.int64))
            codes = np.zeros((0, coded.n_padded), coded.entries.code.dtype)
            return replace(bins, codes=codes, sparse=coded)
        if instances.is_sparse:
            _check_room(n, len(live), max_bins, int(instances.table.nnz))
        # Rows that stay zero (constant features) are never touched, so they cost nothing.
        bytes_fit = max_bins is not None and max_bins <= 255
        codes = np.zeros((len(live) if bytes_fit else 0, -(-n // 8) * 8), np.uint8)

        def cut_and_code(place: int, cutter: Cutter) -> tuple[Floats, int]:
            feature = int(live[place])
            # Seeded by feature, so that the draw does not depend on the threads.
            random = None if drawn_by is None else np.random.default_rng([drawn_by, feature])
            cuts, missing = cutter.cut(feature, weight, max_bins, random)
            if bytes_fit and (len(cuts) or 0 < missing < n):
                cutter.code(cuts, codes[place])
            return cuts, missing

        found = over_features(instances, live, rows, threads, cut_and_code)
        bins, kept = cls.of_cuts(live, found, n, n_features)
        for place, p in enumerate(kept if bytes_fit else []):
            if place != p:
                codes[place] = codes[p]
        if bytes_fit:
            return replace(bins, codes=codes[: len(kept)])
        most = max((len(cuts) + 2 for cuts in bins.thresholds), default=2)
        dtype = np.uint8 if most <= 256 else np.uint16 if most <= 65536 else np.uint32
        bins = replace(bins, codes=np.zeros((len(kept), codes.shape[1]), dtype))
        bins._fill(instances, rows, bins.codes, threads)
        return bins

    @classmethod
    def of_cuts(
        cls, live: Ints, found: list[tuple[Floats, int]], n: int, n_features: int
    ) -> tuple[Bins, list[int]]:
        """Return bins without codes, and the places of their features among the live ones.

        Parameters
        ----------
        live : int array
            The features that may vary.
        found : list of (thresholds, number of abstentions)
            Of every live feature.
        n, n_features : int
            Rows that were cut, and features of the input.
        """
        kept = [p for p, (cuts, missing) in enumerate(found) if len(cuts) or 0 < missing < n]
        varies = np.zeros(n_features, bool)
        varies[live] = [len(cuts) > 0 or missing > 0 for cuts, missing in found]
        bins = cls(
            live[kept],
            tuple(found[p][0] for p in kept),
            np.zeros((len(kept), 0), np.uint8),
            np.array([found[p][1] > 0 for p in kept], bool),
            n,
            n_features,
            tuple(int(live[p]) for p, (_, missing) in enumerate(found) if missing == n),
            tuple(np.flatnonzero(~varies).tolist()),
        )
        return bins, kept

    def taken(self, places: NDArray[np.integer]) -> Bins:
        """Return the codes of some of the rows, under the same thresholds.

        Examples
        --------
        >>> bins = Bins.build(Instances.from_input([[3.0], [1.0], [np.nan]]), np.arange(3))
        >>> bins.taken(np.array([1, 0])).codes[:, :2].tolist()
        [[0, 1]]
        """
        if self.sparse is not None:
            sparse = self.sparse.taken(places)
            absent = sparse.abstains(self.n_bins)
            return replace(self, sparse=sparse, has_missing=absent, n_rows=len(places))
        codes = np.zeros((len(self.features), -(-len(places) // 8) * 8), self.codes.dtype)
        for own, part in zip(self.codes, codes, strict=True):
            part[: len(places)] = own[places]
        missing = abstains(codes[:, : len(places)], self.n_bins, self.has_missing)
        return replace(self, codes=codes, has_missing=missing, n_rows=len(places))

    def recode(self, instances: Instances, rows: NDArray[np.integer], threads: int = 1) -> Codes:
        """Return the codes of other rows under the same thresholds."""
        codes = np.zeros((len(self.features), -(-len(rows) // 8) * 8), self.codes.dtype)
        self._fill(instances, rows, codes, threads)
        return codes

    def _fill(
        self, instances: Instances, rows: NDArray[np.integer], codes: Codes, threads: int
    ) -> None:

        def code(place: int, cutter: Cutter) -> None:
            cutter.fetch(int(self.features[place]))
            cutter.code(self.thresholds[place], codes[place])

        over_features(instances, self.features, rows, threads, code)


def abstains(codes: Codes, n_bins: Ints, may: Bools) -> Bools:
    """Return which features abstain on some row, of those that may."""
    features = zip(codes, n_bins, may, strict=True)
    return np.array([some and bool((own == n).any()) for own, n, some in features], bool)


def _given(
    bins: Bins, rows: NDArray[np.integer], max_bins: int | None, drawn_by: int | None
) -> Bins:
    """Return the bins of some rows of coded input, if they are what is asked for."""
    if drawn_by is not None:
        raise DataError(
            "thresholds cannot be drawn at random for rows from Dataset.from_parts, which have "
            "their bins already. Leave thresholds at 'quantiles'."
        )
    most = int(bins.n_bins.max(initial=1))
    if max_bins is not None and most > max_bins:
        raise DataError(
            f"max_bins={max_bins} is less than the {most} bins that the rows from "
            f"Dataset.from_parts have. Pass max_bins={max_bins} to Dataset.from_parts as well.",
            parameter="max_bins",
            value=max_bins,
        )
    if np.array_equal(rows, np.arange(bins.n_rows)):
        return bins
    return bins.taken(rows)


def _live(instances: Instances) -> Ints:
    """Return the features that may vary: in sparse input, those with a stored entry."""
    if instances.is_sparse:
        return np.flatnonzero(np.diff(instances.table.indptr)).astype(np.int64)
    return np.arange(instances.n_features)


def _check_room(n_rows: int, n_live: int, max_bins: int | None, n_entries: int) -> None:
    """Refuse sparse input whose dense codes would not fit; warn where they take much more."""
    width = 1 if max_bins is not None and max_bins <= 255 else 2 if n_rows <= 65535 else 4
    needed = n_rows * n_live * width
    what = (
        f"Sparse input of {n_rows:,} rows and {n_live:,} non-empty features, once binned for weak "
        "rankers that need every cell,"
    )
    remedy = (
        "Use stumps (RankBoost with weak='stump'), which need only what is stored, choose fewer "
        "features (for example by sklearn.feature_selection), or fewer rows."
    )
    check_room(needed, what, remedy)
    if needed >= _MUCH and n_entries * 10 <= n_rows * n_live:
        warnings.warn(f"{what} takes {needed / 2**30:.1f} GiB. {remedy}", DataWarning, stacklevel=2)


# --- Bins that several runs on parts of the same rows share


class SharedBins:
    """The bins of all rows of a fit, from which a run on some of the rows takes its codes.

    The runs have the same thresholds, so that the sum of their models has no more of them than
    each, and features are cut once.

    Parameters
    ----------
    instances : Instances
    rows : int array
        The rows that any run may use.
    weight : array of the same length, or None
    threads : int

    Examples
    --------
    >>> table = Instances.from_input(np.arange(6.0)[:, None])
    >>> shared = SharedBins(table, np.arange(6), None, 1)
    >>> shared.of(np.array([4, 0]), 3).thresholds[0].tolist()
    [1.5, 3.5]
    >>> shared.of(np.array([4, 0]), 3).codes[0, :2].tolist()
    [2, 0]
    """

    def __init__(
        self, instances: Instances, rows: Ints, weight: Floats | None, threads: int
    ) -> None:
        self._instances, self._rows, self._weight = instances, rows, weight
        self._threads = threads
        self._key: tuple[int | None, int | None, bool] | None = None
        self._place = np.full(instances.n_rows, -1)
        self._place[rows] = np.arange(len(rows))

    def of(
        self, rows: Ints, max_bins: int | None, drawn_by: int | None = None, sparse: bool = False
    ) -> Bins:
        """Return the codes of some of the rows; parameters as in `Bins.build`."""
        if self._key != (max_bins, drawn_by, sparse):
            rows_of = (self._instances, self._rows, self._weight)
            self._bins = Bins.build(*rows_of, max_bins, self._threads, drawn_by, sparse)
            self._key = max_bins, drawn_by, sparse
        places = self._place[rows]
        if np.array_equal(places, np.arange(self._bins.n_rows)):
            return self._bins
        return self._bins.taken(places)
