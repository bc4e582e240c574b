"""Quantile sketches: the values of a feature, part by part, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.data.quantiles import cut_points
from crucial.kernels.stumps import compressed, distinct, summarised
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
        return _Summary(*distinct(values[order], mass[order]), self.error + other.error)

    def compressed(self, size: int) -> _Summary:
        """Return at most ``size`` values: neighbours move up to the last of their group."""
        values, mass, moved = compressed(self.values, self.mass, size)
        return _Summary(values, mass, self.error + moved)


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
        if weight is None:
            ranked = np.sort(values)
            n_missing = int(np.count_nonzero(np.isnan(ranked)))  # (they come last)
            self.add_ranked(ranked[: len(ranked) - n_missing], n_missing)
            return
        counted = weight > 0
        known = counted & ~np.isnan(values)
        self.n_rows += int(np.count_nonzero(counted))
        self.n_missing += int(np.count_nonzero(counted)) - int(np.count_nonzero(known))
        if not known.any():
            return
        present = values[known].astype(np.float64)
        order = np.argsort(present, kind="stable")
        self._add_block(_Summary(*distinct(present[order], weight[known][order])))

    def add_ranked(self, ranked: Reals, n_missing: int = 0, others: bool = False) -> None:
        """Add a block of rows that are sorted already.

        Parameters
        ----------
        ranked : float array without NaN and infinite values
            Ascending.
        n_missing : int
            Rows that abstain.
        others : bool
            Whether other blocks are known to follow: as after `compress`.
        """
        self.n_rows += len(ranked) + n_missing
        self.n_missing += n_missing
        if not len(ranked):
            return
        first = self._only is None and not self._levels
        if first and not others:
            self._add_block(_Summary(*summarised(ranked, len(ranked))))
            return
        self.compress()
        self._carry(_Summary(*summarised(ranked, self._size)), 0)

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
