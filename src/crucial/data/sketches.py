"""Quantile sketches: the values of a feature, part by part, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.data.quantiles import cut_points
from crucial.types import Floats, Reals

__all__ = ["QuantileSketch"]

#: Values that a sketch keeps of a summary once there are several blocks.
SIZE = 8192


@dataclass(frozen=True)
class _Summary:
    """Ascending distinct values, the mass at each, and how far their ranks may be off.

    The mass up to any number is between what the summary counts and ``error`` more.
    """

    values: Floats
    mass: Floats
    error: float = 0.0

    def __add__(self, other: _Summary) -> _Summary:
        """Return the summary of both: ranks add up, and so do their errors."""
        values = np.concatenate((self.values, other.values))
        mass = np.concatenate((self.mass, other.mass))
        order = np.argsort(values, kind="stable")
        return _Summary(*_distinct(values[order], mass[order]), self.error + other.error)

    def compressed(self, size: int) -> _Summary:
        """Return at most ``size`` values: neighbours move up to the last of their group.

        The mass in a group before its last value is less than ``1 / size`` of the whole, and
        only that mass moves. Few values stay as they are.
        """
        if len(self.values) <= size:
            return self
        upto = np.cumsum(self.mass)
        before, total = upto - self.mass, float(upto[-1])
        group = np.minimum((before * (size / total)).astype(np.int64), size - 1)
        first = np.concatenate(([0], np.flatnonzero(group[1:] != group[:-1]) + 1))
        last = np.append(first[1:], len(group)) - 1
        moved = float((before[last] - before[first]).max())
        mass = np.add.reduceat(self.mass, first)
        return _Summary(self.values[last], mass, self.error + moved)


class QuantileSketch:
    """The quantiles of one feature, from blocks of rows that are seen once each.

    A summary of at most ``size`` values stands for every run of blocks; two summaries of the
    same level become one of the next, like the digits of a binary counter (the multi-level
    scheme of Munro & Paterson 1980, with weights). The result depends on the blocks and their
    order, and on nothing else.

    Parameters
    ----------
    size : int
        At least 2. As long as there is one block, or no more than so many distinct values, the
        sketch is exact.

    Attributes
    ----------
    n_missing, n_rows : int
        Rows that abstain, and all rows that were added.

    Notes
    -----
    With ``W`` the mass of all rows and ``m`` blocks, ranks are off by at most
    ``W (1 + log2 m) / size``: a row takes part in one compression per level, and each moves less
    than ``1 / size`` of the mass that it compresses past any number. `rank_error` is the bound
    for the values at hand, mostly smaller.

    Examples
    --------
    >>> sketch = QuantileSketch()
    >>> sketch.add(np.array([3.0, 1.0, np.nan]))
    >>> sketch.add(np.array([1.0, 2.0]))
    >>> sketch.cut(255).tolist(), sketch.n_missing, sketch.rank_error
    ([1.5, 2.5], 1, 0.0)
    """

    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        self._levels: list[_Summary | None] = []
        self._only: _Summary | None = None  # the first block, whole until a second one comes
        self.n_rows = self.n_missing = 0

    def add(self, values: Reals, weight: Floats | None = None) -> None:
        """Add a block of rows.

        Parameters
        ----------
        values : float array without infinite values
            NaN where the feature abstains.
        weight : array of the same length, optional
            A row of weight 2 counts as two rows, of weight 0 as none.
        """
        known = ~np.isnan(values)
        if weight is not None:
            counted = weight > 0
            self.n_rows += int(np.count_nonzero(counted))
            self.n_missing += int(np.count_nonzero(counted & ~known))
            known &= counted
        else:
            self.n_rows += len(values)
            self.n_missing += len(values) - int(np.count_nonzero(known))
        present = values[known].astype(np.float64)
        if not len(present):
            return
        if weight is None:
            present.sort()
            mass = np.ones(len(present))
        else:
            order = np.argsort(present, kind="stable")
            present, mass = present[order], weight[known][order]
        self._add_block(_Summary(*_distinct(present, mass)))

    def merge(self, other: QuantileSketch) -> None:
        """Add the rows of another sketch of the same size, after the own ones."""
        self.n_rows += other.n_rows
        self.n_missing += other.n_missing
        if other._only is not None:
            self._add_block(other._only)
        if any(other._levels):
            self.compress()
        for level, summary in enumerate(other._levels):
            if summary is not None:
                self._carry(summary, level)

    def _add_block(self, block: _Summary) -> None:
        if self._only is None and not self._levels:
            self._only = block
            return
        self.compress()
        self._carry(block.compressed(self._size), 0)

    def compress(self) -> None:
        """Compress the first block now, as the next one would have it compressed.

        A sketch that is about to be merged with others is smaller that way, and the merged one
        is the same.
        """
        if self._only is not None:
            block, self._only = self._only, None
            self._carry(block.compressed(self._size), 0)

    def _carry(self, summary: _Summary, level: int) -> None:
        """Put a summary on its level; two of one level are one of the next."""
        while level < len(self._levels):
            same = self._levels[level]
            if same is None:
                break
            self._levels[level] = None
            summary = (same + summary).compressed(self._size)
            level += 1
        self._levels += [None] * (level + 1 - len(self._levels))
        self._levels[level] = summary

    def _whole(self) -> _Summary:
        """Return one summary of everything, highest level first."""
        whole = self._only or _Summary(np.zeros(0), np.zeros(0))
        for summary in reversed(self._levels):
            if summary is not None:
                whole = whole + summary
        return whole

    @property
    def rank_error(self) -> float:
        """How much more mass than `masses` counts may be up to any number."""
        return self._whole().error

    def masses(self) -> tuple[Floats, Floats]:
        """Return ascending values, and the mass of the rows up to each of them."""
        whole = self._whole()
        return whole.values, np.cumsum(whole.mass)

    def cut(self, max_bins: int | None) -> Floats:
        """Return thresholds for at most ``max_bins`` bins, as `Bins` cuts all rows at once."""
        values, mass = self.masses()
        return cut_points(values, mass, max_bins)


def _distinct(values: Floats, mass: Floats) -> tuple[Floats, Floats]:
    """Return the distinct ones of sorted values, with the mass of each."""
    if len(values) < 2:
        return values, mass
    first = np.concatenate(([0], np.flatnonzero(values[1:] != values[:-1]) + 1))
    return values[first], np.add.reduceat(mass, first)
