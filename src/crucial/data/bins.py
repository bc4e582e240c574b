"""Bins: every feature as small whole numbers, ready for histograms."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.instances import Instances
from crucial.data.quantiles import cut_points
from crucial.errors import DataError
from crucial.kernels.threads import run_all

__all__ = ["PLAIN_CELLS", "Bins", "is_small"]

# Up to here NumPy bins and boosts faster than Numba compiles. By size alone: the choice
# must not depend on what happens to be cached.
PLAIN_CELLS = 300_000

# Bytes of one row that are fetched together when features are cut.
_BLOCK = 16


def is_small(n_rows: int, n_features: int) -> bool:
    """Whether a problem is solved without compiled kernels."""
    return n_rows * n_features <= PLAIN_CELLS


@dataclass(frozen=True)
class Bins:
    """Codes of the features that can order anything.

    Attributes
    ----------
    features : int64 array of shape (n_kept,)
        Their numbers in the input; constant features are left out.
    thresholds : tuple of float64 arrays
        A value's code is the number of thresholds below it.
    codes : unsigned array of shape (n_kept, n_padded)
        Feature by feature, padded with zeros to a multiple of 8 rows. The code after the
        last bin, ``len(thresholds) + 1``, is an abstention.
    has_missing : bool array of shape (n_kept,)
    n_rows : int
    n_features : int
        Of the input.
    all_missing : tuple of int
        Features that abstain on every row.
    constant : tuple of int
        Features with one value and no abstention.
    """

    features: NDArray[np.int64]
    thresholds: tuple[NDArray[np.float64], ...]
    codes: NDArray[np.unsignedinteger[Any]]
    has_missing: NDArray[np.bool_]
    n_rows: int
    n_features: int
    all_missing: tuple[int, ...] = ()
    constant: tuple[int, ...] = ()

    @property
    def n_bins(self) -> NDArray[np.int64]:
        """Bins of every kept feature, the one for abstentions not counted."""
        return np.array([len(t) + 1 for t in self.thresholds], np.int64)

    @property
    def first(self) -> NDArray[np.int64]:
        """Where each feature begins when all bins (abstentions too) are laid end to end."""
        return np.concatenate(([0], np.cumsum(self.n_bins + 1))).astype(np.int64)

    @classmethod
    def build(
        cls,
        instances: Instances,
        rows: NDArray[np.integer],
        weight: NDArray[np.float64] | None = None,
        max_bins: int | None = 255,
        threads: int = 1,
    ) -> Bins:
        """Cut and code the given rows of every feature.

        Parameters
        ----------
        rows : int array
            Rows to code, in the order in which they are wanted.
        weight : array of the same length, optional
            Positive weights: a row of weight 2 cuts as two rows do.
        """
        n, n_features = len(rows), instances.n_features
        live = _live(instances)
        _check_room(n, len(live), max_bins, instances.is_sparse)
        # Rows that stay zero (constant features) are never touched, so they cost nothing.
        bytes_fit = max_bins is not None and max_bins <= 255
        codes = np.zeros((len(live) if bytes_fit else 0, -(-n // 8) * 8), np.uint8)
        small = is_small(n, n_features)

        def work(places: range) -> list[tuple[NDArray[np.float64], int]]:
            # Fetch a few neighbours at once, cut and code them one by one.
            first, last = int(live[places[0]]), int(live[places[-1]]) + 1
            if last - first == len(places):
                columns = instances.columns(first, last, rows)
            else:
                columns = [instances.column(int(live[p]), rows) for p in places]
            found = []
            for p in places:
                values = columns.pop(0)
                cuts, missing = _cut(values, weight, max_bins, small)
                if bytes_fit and (len(cuts) or 0 < missing < n):
                    _code(values, cuts, codes[p], small)
                found.append((cuts, missing))
            return found

        together = max(1, _BLOCK // instances.table.dtype.itemsize)
        plan: list[Callable[[], Any]] = [
            partial(work, range(p, min(p + together, len(live))))
            for p in range(0, len(live), together)
        ]
        found = [one for part in run_all(_concurrent(threads, n), plan) for one in part]
        kept = [p for p, (cuts, missing) in enumerate(found) if len(cuts) or 0 < missing < n]
        for place, p in enumerate(kept if bytes_fit else []):
            if place != p:
                codes[place] = codes[p]
        made = cls(
            live[kept],
            tuple(found[p][0] for p in kept),
            codes[: len(kept)],
            np.array([found[p][1] > 0 for p in kept], bool),
            n,
            n_features,
            tuple(int(live[p]) for p, (_, missing) in enumerate(found) if missing == n),
            _constant(live, found, n_features),
        )
        if bytes_fit:
            return made
        most = max((len(cuts) + 2 for cuts in made.thresholds), default=2)
        dtype = np.uint8 if most <= 256 else np.uint16 if most <= 65536 else np.uint32
        made = replace(made, codes=np.zeros((len(kept), codes.shape[1]), dtype))
        made._fill(instances, rows, made.codes, threads)
        return made

    def recode(
        self, instances: Instances, rows: NDArray[np.integer], threads: int = 1
    ) -> NDArray[np.unsignedinteger[Any]]:
        """Codes of other rows under the same thresholds."""
        codes = np.zeros((len(self.features), -(-len(rows) // 8) * 8), self.codes.dtype)
        self._fill(instances, rows, codes, threads)
        return codes

    def _fill(
        self,
        instances: Instances,
        rows: NDArray[np.integer],
        codes: NDArray[np.unsignedinteger[Any]],
        threads: int,
    ) -> None:
        small = is_small(len(rows), self.n_features)

        def work(f: int) -> None:
            values = instances.column(int(self.features[f]), rows)
            _code(values, self.thresholds[f], codes[f], small)

        plan: list[Callable[[], Any]] = [partial(work, f) for f in range(len(self.features))]
        run_all(_concurrent(threads, len(rows)), plan)


def _concurrent(threads: int, n_rows: int) -> int:
    # A thread at work takes up to 40 bytes a row; for small inputs that does not matter.
    return threads if n_rows < 200_000 else min(threads, 2)


def _live(instances: Instances) -> NDArray[np.int64]:
    """Features that may vary: in sparse input, those with anything stored."""
    if instances.is_sparse:
        return np.flatnonzero(np.diff(instances.table.indptr)).astype(np.int64)
    return np.arange(instances.n_features)


def _constant(
    live: NDArray[np.int64], found: list[tuple[NDArray[np.float64], int]], n_features: int
) -> tuple[int, ...]:
    varies = np.zeros(n_features, bool)
    varies[live] = [len(cuts) > 0 or missing > 0 for cuts, missing in found]
    return tuple(np.flatnonzero(~varies).tolist())


def _cut(
    values: NDArray[Any], weight: NDArray[np.float64] | None, max_bins: int | None, small: bool
) -> tuple[NDArray[np.float64], int]:
    """Thresholds of one feature and the number of its abstentions."""
    if weight is None:
        absent = np.isnan(values)
        missing = int(np.count_nonzero(absent))
        ranked = values[~absent] if missing else values.copy()
        _sort(ranked, small)
        return cut_points(ranked, None, max_bins), missing
    order = np.argsort(values, kind="stable")  # NaN comes last
    missing = int(np.count_nonzero(np.isnan(values)))
    order = order[: len(values) - missing]
    mass = weight[order]
    np.cumsum(mass, out=mass)
    return cut_points(values[order], mass, max_bins), missing


def _sort(values: NDArray[Any], small: bool) -> None:
    if small:
        values.sort()
        return
    from crucial.kernels import compiled

    kind = np.uint32 if values.dtype.itemsize == 4 else np.uint64
    bits = values.view(kind)
    sign = kind(1) << kind(8 * values.dtype.itemsize - 1)
    shifts = np.arange(0, 8 * values.dtype.itemsize, 11).astype(kind)
    compiled.sort_bits(bits, np.empty_like(bits), sign, kind(2047), shifts)


def _code(
    values: NDArray[Any], thresholds: NDArray[np.float64], out: NDArray[Any], small: bool
) -> None:
    """Write the codes of one feature."""
    absent = len(thresholds) + 1
    if small:
        codes = np.searchsorted(thresholds, values.astype(np.float64), "left")
        codes[np.isnan(values)] = absent
        out[: len(values)] = codes
        return
    from crucial.kernels import compiled

    if out.dtype == np.uint8:
        padded = np.full(255, np.inf)
        padded[: len(thresholds)] = thresholds
        compiled.bin_column8(values, padded, absent, out)
    else:
        compiled.bin_column(values, thresholds, absent, out)


def _check_room(n_rows: int, n_live: int, max_bins: int | None, sparse: bool) -> None:
    """Refuse sparse input whose dense codes would not fit, before anything is made."""
    if not sparse:
        return
    width = 1 if max_bins is not None and max_bins <= 255 else 2 if n_rows <= 65535 else 4
    needed = n_rows * n_live * width
    there = _memory()
    if there is not None and needed > there // 2:
        raise DataError(
            f"Sparse input of {n_rows:,} rows and {n_live:,} non-empty features would take "
            f"{needed / 2**30:.1f} GiB once binned, more than half of the {there / 2**30:.1f} GiB "
            "of free memory. Choose fewer features (for example by sklearn.feature_selection) or "
            "fewer rows."
        )


def _memory() -> int | None:
    """Bytes of memory that are free, where the system tells."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None
