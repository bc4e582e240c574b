"""Codes of sparse features: those of stored entries, and one for all other rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from crucial.data.instances import Instances
from crucial.data.quantiles import cut_points, drawn_cut_points
from crucial.kernels.runtime import is_small, run_all
from crucial.kernels.stumps import Entries, code_columns, cut_columns
from crucial.types import Bools, Codes, Floats, Ints

__all__ = ["StoredCodes", "StoredColumns", "stays_sparse"]

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
class StoredCodes:
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

    def taken(self, places: NDArray[np.integer]) -> StoredCodes:
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
        return StoredCodes(
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
    """Return where each of n rows is among some of them: its places, row after row."""
    counts = np.bincount(rows, minlength=n)
    row_start = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return row_start, np.argsort(rows, kind="stable").astype(np.int32)


def _repeated(rows: NDArray[np.integer], row_start: Ints, times: Ints) -> tuple[Ints, Ints]:
    """Return the positions of all places of some rows, and which of the rows each is of."""
    own = times[rows]
    ends = np.cumsum(own)
    again = np.repeat(np.arange(len(rows)), own)
    return np.arange(len(again)) + (row_start[rows] - (ends - own))[again], again


class StoredColumns:
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
        self._instances, self._features, self._threads = instances, features, threads
        self._n, self._rows = len(rows), rows
        self._row_start, self._places = _places_of(rows, instances.n_rows)
        self._times = np.diff(self._row_start)
        table = instances.table
        data = table.data
        if data.dtype not in (np.float32, np.float64):
            data = data.astype(np.float64)
        self._refuse_infinity(data)
        self._table = (table.indptr, table.indices, data)

    def _refuse_infinity(self, data: NDArray[np.floating]) -> None:
        """Raise where an entry of the rows is infinite, naming row and column."""
        table = self._instances.table
        at = np.flatnonzero(np.isinf(data))
        at = at[self._times[table.indices[at]] > 0]
        if len(at):
            feature = int(np.searchsorted(table.indptr, at[0], "right")) - 1
            self._instances.column(feature, self._rows)  # raises

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

    def code(self, kept: Ints) -> StoredCodes:
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
        return StoredCodes(code_columns(self._table, *inputs), self._n)
