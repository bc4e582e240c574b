"""Features coded as small whole numbers, ready for histograms."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crucial.data.coded_table import CodedTable
from crucial.data.cutting import Cutter, over_features
from crucial.data.instances import Instances
from crucial.data.memory import check_room
from crucial.data.stored_codes import StoredCodes, StoredColumns, stays_sparse
from crucial.errors import DataError, DataWarning
from crucial.types import Bools, Codes, Floats, Ints

__all__ = ["Bins", "abstains"]

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
        last bin, ``len(thresholds) + 1``, is an abstention. Without rows where ``stored`` has
        the codes.
    has_missing : bool array of shape (n_kept,)
    n_rows : int
    n_features : int
        Of the input.
    all_missing : tuple of int
        Features that abstain on every row.
    constant : tuple of int
        Features with one value and no abstention.
    stored : StoredCodes or None
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
    stored: StoredCodes | None = None

    def column(self, feature: int) -> Codes:
        """Return the codes of one of the kept features, padded; of sparse codes a fresh array."""
        return self.codes[feature] if self.stored is None else self.stored.column(feature)

    @property
    def n_bins(self) -> Ints:
        """Number of bins of every kept feature, without the one for abstentions."""
        return np.array([len(t) + 1 for t in self.thresholds], np.int64)

    @property
    def first(self) -> Ints:
        """Where each feature begins when all bins (abstentions too) are in one array."""
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
            return cls._build_stored(instances, live, rows, weight, max_bins, threads, drawn_by)
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
        kept = [p for p, (cuts, missing) in enumerate(found) if len(cuts) or 0 < missing < n]
        for place, p in enumerate(kept if bytes_fit else []):
            if place != p:
                codes[place] = codes[p]
        bins = cls._of_found(live, found, kept, codes[: len(kept)], n, n_features)
        if bytes_fit:
            return bins
        most = max((len(cuts) + 2 for cuts in bins.thresholds), default=2)
        dtype = np.uint8 if most <= 256 else np.uint16 if most <= 65536 else np.uint32
        bins = replace(bins, codes=np.zeros((len(kept), codes.shape[1]), dtype))
        bins._fill(instances, rows, bins.codes, threads)
        return bins

    @classmethod
    def _of_found(
        cls,
        live: Ints,
        found: list[tuple[Floats, int]],
        kept: list[int],
        codes: Codes,
        n: int,
        n_features: int,
    ) -> Bins:
        """Return the bins of the kept features, by what was found of all live ones."""
        return cls(
            live[kept],
            tuple(found[p][0] for p in kept),
            codes,
            np.array([found[p][1] > 0 for p in kept], bool),
            n,
            n_features,
            tuple(int(live[p]) for p, (_, missing) in enumerate(found) if missing == n),
            _constant(live, found, n_features),
        )

    @classmethod
    def _build_stored(
        cls,
        instances: Instances,
        live: Ints,
        rows: NDArray[np.integer],
        weight: Floats | None,
        max_bins: int | None,
        threads: int,
        drawn_by: int | None,
    ) -> Bins:
        """Cut and code the entries of sparse input."""
        n = len(rows)
        columns = StoredColumns(instances, live, rows, threads)
        found = columns.cut(weight, max_bins, drawn_by)
        kept = [p for p, (cuts, missing) in enumerate(found) if len(cuts) or 0 < missing < n]
        stored = columns.code(np.array(kept, np.int64))
        codes = np.zeros((0, stored.n_padded), stored.entries.code.dtype)
        bins = cls._of_found(live, found, kept, codes, n, instances.n_features)
        return replace(bins, stored=stored)

    def taken(self, places: NDArray[np.integer]) -> Bins:
        """Return the codes of some of the rows, under the same thresholds.

        Examples
        --------
        >>> bins = Bins.build(Instances.from_input([[3.0], [1.0], [np.nan]]), np.arange(3))
        >>> bins.taken(np.array([1, 0])).codes[:, :2].tolist()
        [[0, 1]]
        """
        if self.stored is not None:
            stored = self.stored.taken(places)
            absent = stored.abstains(self.n_bins)
            return replace(self, stored=stored, has_missing=absent, n_rows=len(places))
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
        self,
        instances: Instances,
        rows: NDArray[np.integer],
        codes: Codes,
        threads: int,
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


def _constant(live: Ints, found: list[tuple[Floats, int]], n_features: int) -> tuple[int, ...]:
    varies = np.zeros(n_features, bool)
    varies[live] = [len(cuts) > 0 or missing > 0 for cuts, missing in found]
    return tuple(np.flatnonzero(~varies).tolist())


def _check_room(n_rows: int, n_live: int, max_bins: int | None, n_stored: int) -> None:
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
    if needed >= _MUCH and n_stored * 10 <= n_rows * n_live:
        warnings.warn(f"{what} takes {needed / 2**30:.1f} GiB. {remedy}", DataWarning, stacklevel=2)
