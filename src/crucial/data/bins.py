"""Bins: every feature as small whole numbers, ready for histograms."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
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

# Working memory of binning, bytes a row: concurrent columns are limited to fit into it.
_ROOM = 64


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
        n_features = instances.n_features
        _check_room(instances, len(rows), max_bins)
        plan: list[Callable[[], Any]] = [
            partial(_cut, instances, j, rows, weight, max_bins) for j in range(n_features)
        ]
        found = run_all(_concurrent(threads, len(rows)), plan)
        kept = [
            j for j, (cuts, missing) in enumerate(found) if len(cuts) or 0 < missing < len(rows)
        ]
        most = max((len(found[j][0]) + 2 for j in kept), default=2)
        dtype = np.uint8 if most <= 256 else np.uint16 if most <= 65536 else np.uint32
        made = cls(
            np.array(kept, np.int64),
            tuple(found[j][0] for j in kept),
            np.zeros((len(kept), -(-len(rows) // 8) * 8), dtype),
            np.array([found[j][1] > 0 for j in kept], bool),
            len(rows),
            n_features,
            tuple(j for j, (_, missing) in enumerate(found) if missing == len(rows)),
            tuple(j for j, (c, missing) in enumerate(found) if not len(c) and missing == 0),
        )
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
        small = is_small(len(rows), len(self.features))
        code = _code_plain if small else _code_compiled
        plan: list[Callable[[], Any]] = [
            partial(code, instances, int(j), rows, self.thresholds[f], codes[f])
            for f, j in enumerate(self.features)
        ]
        run_all(_concurrent(threads, len(rows)), plan)


def _concurrent(threads: int, n_rows: int) -> int:
    # A column in work takes up to 32 bytes a row; for small inputs that does not matter.
    return threads if n_rows < 200_000 else max(1, min(threads, _ROOM // 32))


def _cut(
    instances: Instances,
    feature: int,
    rows: NDArray[np.integer],
    weight: NDArray[np.float64] | None,
    max_bins: int | None,
) -> tuple[NDArray[np.float64], int]:
    """Thresholds of one feature and the number of its abstentions."""
    if (
        instances.is_sparse
        and instances.table.indptr[feature] == instances.table.indptr[feature + 1]
    ):
        return np.zeros(0), 0  # nothing stored: 0 in every row
    values = instances.column(feature, rows)
    if weight is None:
        values.sort()
        missing = _count_missing(values)
        return cut_points(values[: len(values) - missing], None, max_bins), missing
    order = np.argsort(values, kind="stable")
    values = values[order]
    missing = _count_missing(values)
    ranked = len(values) - missing
    mass = weight[order[:ranked]]
    np.cumsum(mass, out=mass)
    return cut_points(values[:ranked], mass, max_bins), missing


def _count_missing(values: NDArray[Any]) -> int:
    """Number of NaN at the end of sorted values."""
    if not np.isnan(values[-1]):
        return 0
    return int(np.count_nonzero(np.isnan(values)))


def _code_plain(
    instances: Instances,
    feature: int,
    rows: NDArray[np.integer],
    thresholds: NDArray[np.float64],
    out: NDArray[Any],
) -> None:
    values = instances.column(feature, rows).astype(np.float64)
    codes = np.searchsorted(thresholds, values, "left")
    codes[np.isnan(values)] = len(thresholds) + 1
    out[: len(rows)] = codes


def _code_compiled(
    instances: Instances,
    feature: int,
    rows: NDArray[np.integer],
    thresholds: NDArray[np.float64],
    out: NDArray[Any],
) -> None:
    from crucial.kernels import compiled

    values = instances.column(feature, rows)
    compiled.bin_column(values, thresholds, len(thresholds) + 1, out)


def _check_room(instances: Instances, n_rows: int, max_bins: int | None) -> None:
    """Refuse sparse input whose dense codes would not fit, before anything is made."""
    if not instances.is_sparse:
        return
    width = 1 if max_bins is not None and max_bins <= 255 else 2 if n_rows <= 65535 else 4
    used = int(np.count_nonzero(np.diff(instances.table.indptr)))
    needed = n_rows * used * width
    there = _memory()
    if there is not None and needed > there // 2:
        raise DataError(
            f"Sparse input of {n_rows:,} rows and {used:,} non-empty features would take "
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
