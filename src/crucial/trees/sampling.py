"""Bootstraps and folds that depend on what the rows are, and not on their order.

Rows are numbered by a hash of their binned features. So the same rows in another order draw the
same bootstraps, and a row of weight 2 draws like the same row twice.
"""

from __future__ import annotations

import numpy as np

from crucial.trees.scan import NodeRows
from crucial.types import Bytes, Floats, Ints

__all__ = ["ClassSampler"]


# Rows are drawn one by one up to this number; so that a weight of 2 draws like two rows.
_MOST_DRAWS = 1 << 24


class ClassSampler:
    """Draws rows class by class.

    Parameters
    ----------
    rows : TreeRows
    classes : uint8 array, one entry per row
        Each class is drawn from separately, and keeps its weight.
    """

    def __init__(self, rows: NodeRows, classes: Bytes) -> None:
        self._n = len(rows.rows)
        self._hash = _hashes(rows)
        self._members: list[Ints] = []
        self._sums: list[Floats] = []
        self._whole: list[bool] = []
        for one in np.unique(classes):
            members = np.flatnonzero(classes == one)
            members = members[np.argsort(self._hash[members], kind="stable")]
            weight = rows.weight[members]
            self._members.append(members)
            self._sums.append(np.cumsum(weight))
            self._whole.append(bool(np.all(weight == np.floor(weight))))

    def bootstrap(self, random: np.random.Generator) -> Floats:
        """Return how often each row is drawn, with replacement.

        As many rows are drawn from a class as it weighs, if weights are whole numbers; else as
        many as it has. The chance of a row is proportional to its weight.
        """
        counts = np.zeros(self._n)
        for members, sums, whole in zip(self._members, self._sums, self._whole, strict=True):
            if whole and sums[-1] > _MOST_DRAWS:
                shares = np.diff(sums, prepend=0.0) / sums[-1]
                counts[members] = random.multinomial(int(sums[-1]), shares)
                continue
            if whole:
                drawn = random.integers(0, int(sums[-1]), int(sums[-1])).astype(np.float64)
            else:
                drawn = random.random(len(members)) * sums[-1]
            at = np.searchsorted(sums, drawn, side="right")
            counts[members] = np.bincount(np.minimum(at, len(members) - 1), minlength=len(members))
        return counts

    def folds(self, n_folds: int, random: np.random.Generator) -> Ints:
        """Return a fold per row; rows that are alike are in the same fold."""
        fold = np.zeros(self._n, np.int64)
        for members in self._members:
            _, which = np.unique(self._hash[members], return_inverse=True)
            order = random.permutation(int(which.max()) + 1)
            fold[members] = order[which] % n_folds
        return fold


def _hashes(rows: NodeRows) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Return 64 random bits per row that depend on its codes alone."""
    bins = rows.bins
    factors = np.random.default_rng(0).integers(0, 2**64, (len(bins.features), 2), np.uint64)
    out = np.zeros(len(rows.rows), np.uint64)
    with np.errstate(over="ignore"):
        for codes, (factor, _) in zip(bins.codes, factors, strict=True):
            out += codes[: len(out)].astype(np.uint64) * (factor | np.uint64(1))
        out ^= out >> np.uint64(31)  # (high bits are mixed better than low ones)
        out *= np.uint64(0x9E3779B97F4A7C15)
    return out
