"""Cutting, coding and searching sparse features, over their stored entries alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.threads import cut_evenly, over_ranges, run_all
from crucial.types import Bools, Codes, Floats, Ints

__all__ = ["Entries", "StoredSums", "code_columns", "cut_columns"]

# Potentials are compared in so many blocks, whatever the number of threads: sums stay fixed.
_BLOCKS = 8


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

    Parameters are those of `crucial.kernels.compiled.stored_codes.cut_stored`.

    Returns
    -------
    n_cuts, missing : int64 arrays over the features
        -1 thresholds where there are more values.
    """
    from crucial.kernels.compiled.stored_codes import cut_stored

    found = np.zeros((2, len(features)), np.int64)

    def cut(part: slice) -> None:
        own = (features[part], counts, n_rows, max_bins, offset[part], cuts, found[:, part])
        cut_stored(*table, *own)

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
    """Return the entries of some features; parameters as in ``compiled.stored_codes.code_stored``.

    Parameters
    ----------
    sizes : int array over the features
        The most entries that each can have.
    """
    from crucial.kernels.compiled.stored_codes import code_stored

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
        code_stored(*table, *places_of, *thresholds, *out, entries.rest[part], entries.stop[part])

    run_all(threads, [partial(code, part) for part in _by_size(sizes, threads)])
    return entries


class StoredSums:
    """Criteria of the stumps of sparse features.

    Parameters
    ----------
    entries : Entries
    n_padded : int
        Length of potentials.
    first : int array of shape (n_features + 1,)
        Where the bins of a feature begin; its last bin is for abstentions.
    has_missing : bool array of shape (n_features,)
    fixed_default : int
        Rank of abstentions, 0 or 1, or -1 where both are to be tried.
    threads : int

    Attributes
    ----------
    drop_bounds, drops : functions
        See `crucial.kernels.plain.features`.
    """

    at_once = False  # (see `StumpSums`)

    def __init__(
        self,
        entries: Entries,
        n_padded: int,
        first: Ints,
        has_missing: Bools,
        fixed_default: int,
        threads: int,
    ) -> None:
        self._entries, self._first, self._missing = entries, first, has_missing
        self._fixed, self._threads = fixed_default, threads
        self._counts = entries.counts.astype(np.float64)
        self._before, self._total = np.zeros(n_padded), 0.0
        from crucial.kernels.compiled import features

        self.drop_bounds: Callable[..., None] = features.drop_bounds
        self.drops: Callable[..., float] = features.drops

    def drift(self, pi: Floats, scale: float, unit: float, factor: float) -> Floats:
        """Return how far ``factor`` times a slope of each feature can have moved since last time.

        No further than half the sum of all absolute changes of potentials, which sum to 0, and
        no further than the largest change for every entry; rounding to units moves a slope by half
        a unit per row.
        """
        from crucial.kernels.compiled.stored import change_of

        change: Callable[..., tuple[float, float]] = partial(change_of, pi, scale, self._before)
        bounds = cut_evenly(0, len(self._before), _BLOCKS)
        found = over_ranges(bounds, self._threads, change)
        half = 0.5 * sum(one for one, _ in found)
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
        """Write the largest criterion of some features; see ``compiled.stored.stored_peaks``.

        Parameters
        ----------
        fixed, factor : potentials as whole numbers of a unit, and what it is worth
        line : (times, shift)
        slope : array of shape (1 or 2, first[-1] or 0)  # OUT
            See `StumpSums.scan`; one row where no feature abstains, nothing where it is empty.
        """
        from crucial.kernels.compiled.stored import stored_peaks

        rules: tuple[Any, ...] = (sign, signed, *line, fixed, factor, int(fixed.sum()), slope)
        self._run(features, partial(stored_peaks, *self._stumps, *rules), peak)

    def slopes(self, feature: int, fixed: Ints, factor: float) -> Floats:
        """Return the slopes of one feature, of shape (2, n_bins + 1)."""
        from crucial.kernels.compiled.stored import feature_slopes

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
        """Write the squares that each feature explains; see ``compiled.stored.stored_fits``.

        Parameters
        ----------
        potentials, curvature : whole numbers of a unit, and what it is worth
        """
        from crucial.kernels.compiled.stored import stored_fits

        sums = (*potentials, int(potentials[0].sum()), *curvature, int(curvature[0].sum()))
        inputs: tuple[Any, ...] = (*self._stumps, *sums, light)
        self._run(features, partial(stored_fits, *inputs), peak)
