"""Strengths from comparisons with ties and covariates: the likelihood of Davidson (1970).

Item i is chosen over item j, or neither, with probabilities proportional to

    e^(d/2),  e^(-d/2)  and  nu,      d = s_i - s_j + x beta

where x are covariates of the comparison, seen from i. Without ties nu is 0, which is the model of
Bradley & Terry (1952). A tie adds as much to both items as half a win each, as it does where ties
are split; but how often close items tie is fitted instead of assumed, so that many ties do not
shrink the strengths.

Equal comparisons are added up to cells first, so that a million comparisons of a hundred items
cost no more than ten thousand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from crucial.types import Floats, Ints

if TYPE_CHECKING:
    from crucial.data.comparisons import Comparisons

__all__ = ["PairedCells", "PairedLikelihood", "cells_of", "distinct", "sums"]

_DENSE = 1000  # up to so many items, the curvature is a dense matrix
_WEAK = 0.01  # precision of the prior of covariates, on their own scale

#: Dense, or sparse for many items.
Matrix: TypeAlias = Any


@dataclass(frozen=True, eq=False)
class PairedCells:
    """Comparisons added up by pair of items and values of the covariates.

    Attributes
    ----------
    n_items : int
    first, second : int64 arrays of shape (n_cells,)
    x : float64 array of shape (n_cells, n_covariates)
        Seen from ``first``.
    kind : int64 array of shape (n_comparisons,)
        ``3 * cell + outcome`` of each comparison; outcome 0: won by the first, 1: by the second,
        2: tied.
    weight : float64 array of shape (n_comparisons,)
    """

    n_items: int
    first: Ints
    second: Ints
    x: Floats
    kind: Ints
    weight: Floats

    def counts(self) -> Floats:
        """Return the weight won, lost and tied per cell."""
        return sums(self.kind, self.weight, 3 * len(self.first)).reshape(-1, 3)


def sums(where: Ints, values: Floats, n: int) -> Floats:
    """Return sums of values by place."""
    return np.bincount(where, values, minlength=n).astype(np.float64)


def distinct(keys: Ints) -> tuple[Ints, Ints]:
    """Return the distinct keys (at least 0) in order, and the place of every key among them.

    As `numpy.unique` with its inverse, without sorting where the keys are not far apart.

    Examples
    --------
    >>> distinct(np.array([7, 2, 7]))
    (array([2, 7]), array([1, 0, 1]))
    """
    most = int(keys.max(initial=-1)) + 1
    if most > 4 * len(keys) + 1000:
        found, place = np.unique(keys, return_inverse=True)
        return found, place.ravel()
    there = np.zeros(most, bool)
    there[keys] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[keys]


def cells_of(comparisons: Comparisons, x: Floats | None = None) -> PairedCells:
    """Add comparisons up; ``x`` are covariates seen from the winner."""
    n = len(comparisons.items)
    swap = comparisons.winner > comparisons.loser
    a = np.where(swap, comparisons.loser, comparisons.winner)
    b = np.where(swap, comparisons.winner, comparisons.loser)
    key = a * n + b
    columns = np.zeros((len(key), 0)) if x is None else np.where(swap[:, None], -x, x)
    for column in columns.T:
        values, place = np.unique(column, return_inverse=True)
        key = distinct(key)[1] * len(values) + place
    found, cell = distinct(key)
    at = np.zeros(len(found), np.int64)
    at[cell[::-1]] = np.arange(len(cell))[::-1]  # (the first comparison of every cell)
    outcome = np.where(comparisons.tie, 2, swap.astype(np.int64))
    return PairedCells(n, a[at], b[at], columns[at], 3 * cell + outcome, comparisons.weight)


class PairedLikelihood:
    """Log-likelihood of counts of cells, with a prior; and its derivatives.

    Parameters are the strengths, one slope per covariate, and the log of nu if there are ties.

    Parameters
    ----------
    cells : PairedCells
    counts : array of shape (n_cells, 3)
        Weight won, lost and tied.
    prior : float
        Number of drawn comparisons with an average item that every item is given.
    part : int array
        Connected part of each item.
    split_ties : bool
        Whether ties are half a win each way instead.
    """

    def __init__(
        self, cells: PairedCells, counts: Floats, prior: float, part: Ints, split_ties: bool = False
    ) -> None:
        if split_ties:
            half = counts[:, 2:] / 2
            counts = np.hstack((counts[:, :2] + half, np.zeros_like(half)))
        self.cells, self.prior, self.part = cells, prior, part
        self.n, self.k = cells.n_items, cells.x.shape[1]
        self.lead = (counts[:, 0] - counts[:, 1]) / 2
        self.tied, self.total = float(counts[:, 2].sum()), counts.sum(axis=1)
        self.has_ties = self.tied > 0
        self.size = self.n + self.k + int(self.has_ties)
        scale = np.sqrt((cells.x**2).mean(axis=0)) if len(cells.x) else np.ones(self.k)
        self.weak = _WEAK * scale**2

    def start(self) -> Floats:
        """Return the parameters of equal items."""
        return np.zeros(self.size)

    def difference(self, p: Floats) -> Floats:
        """Return d of every cell."""
        d = p[self.cells.first] - p[self.cells.second]
        return d + self.cells.x @ p[self.n : self.n + self.k] if self.k else d

    def _chances(self, p: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return d, the chances of a decision for the first and the second, and log of the sum."""
        d = np.clip(self.difference(p), -1000.0, 1000.0)
        top = np.abs(d) / 2
        won, lost = np.exp(d / 2 - top), np.exp(-d / 2 - top)
        total = won + lost
        if self.has_ties:
            total = total + np.exp(np.clip(p[-1], -700, 700) - top)
        return d, won / total, lost / total, top + np.log(total)

    def value(self, p: Floats) -> float:
        """Return the log-likelihood and the log of the prior."""
        d, _, _, logs = self._chances(p)
        s, beta = p[: self.n], p[self.n : self.n + self.k]
        drawn = self.prior * float((0.5 * s - np.logaddexp(0.0, s)).sum())
        value = float(self.lead @ d - self.total @ logs) + drawn
        value -= float(self.weak @ beta**2) / 2
        return value + self.tied * float(p[-1]) if self.has_ties else value

    def derivatives(self, p: Floats) -> tuple[Floats, Matrix]:
        """Return the slope and the negative curvature (a matrix)."""
        _, won, lost, _ = self._chances(p)
        edge = won - lost
        tie = 1.0 - won - lost
        by_d = self.lead - self.total * edge / 2
        curve = self.total * (won + lost - edge**2) / 4
        s = p[: self.n]
        at_prior = 1.0 / (1.0 + np.exp(-np.clip(s, -700, 700)))
        slope = np.zeros(self.size)
        slope[: self.n] = self._to_items(by_d) + self.prior * (0.5 - at_prior)
        columns = [*self.cells.x.T]
        bends = [curve * column for column in columns]
        diagonal = [float(bend @ column) for bend, column in zip(bends, columns)]
        for j, column in enumerate(columns):
            slope[self.n + j] = by_d @ column - self.weak[j] * p[self.n + j]
        if self.has_ties:
            slope[-1] = self.tied - float(self.total @ tie)
            bends.append(-self.total * edge * tie / 2)
            diagonal.append(float(self.total @ (tie * (1 - tie))))
        extra = np.column_stack([self._to_items(bend) for bend in bends]) if bends else None
        corner = np.diag(diagonal) if diagonal else np.zeros((0, 0))
        corner[: self.k, : self.k] += np.diag(self.weak)
        for j in range(self.k):
            for m in range(len(bends)):
                if m != j:
                    corner[j, m] = corner[m, j] = bends[m] @ columns[j]
        own = self.prior * at_prior * (1.0 - at_prior)
        return slope, self._matrix(curve, own, extra, corner)

    def _to_items(self, values: Floats) -> Floats:
        """Return sums over the cells of each item, negative for the second one."""
        plus = np.bincount(self.cells.first, values, minlength=self.n)
        return np.asarray(plus - np.bincount(self.cells.second, values, minlength=self.n))

    def _matrix(self, curve: Floats, own: Floats, extra: Floats | None, corner: Floats) -> Matrix:
        """Put the curvature of strengths, covariates and ties into one matrix."""
        n, a, b = self.n, self.cells.first, self.cells.second
        both = np.bincount(np.concatenate((a, b)), np.concatenate((curve, curve)), minlength=n)
        if n <= _DENSE:
            matrix = np.zeros((self.size, self.size))
            block = np.bincount(a * n + b, -curve, minlength=n * n).reshape(n, n)
            matrix[:n, :n] = block + block.T
            matrix[np.arange(n), np.arange(n)] += both + own
            if extra is not None:
                matrix[:n, n:], matrix[n:, :n], matrix[n:, n:] = extra, extra.T, corner
            return matrix
        from scipy.sparse import block_array, coo_array, csr_array

        every = np.arange(n)
        at = (np.concatenate((a, b, every)), np.concatenate((b, a, every)))
        items = coo_array((np.concatenate((-curve, -curve, both + own)), at), shape=(n, n)).tocsr()
        if extra is None:
            return items
        side = csr_array(extra)
        return block_array([[items, side], [side.T, csr_array(corner)]], format="csr")

    def group_slopes(self, p: Floats, groups: Ints) -> Matrix:
        """Return the slope of each group of comparisons, as a sparse matrix."""
        from scipy.sparse import csr_array, hstack

        _, won, lost, _ = self._chances(p)
        edge, tie = won - lost, 1.0 - won - lost
        cell, outcome = np.divmod(self.cells.kind, 3)
        reached = np.array([0.5, -0.5, 0.0])[outcome] - edge[cell] / 2
        by_d = self.cells.weight * reached
        rows = np.arange(len(cell))
        columns: Sequence[Floats] = [by_d * column for column in self.cells.x[cell].T]
        if self.has_ties:
            columns = [*columns, self.cells.weight * ((outcome == 2) - tie[cell])]
        at = (np.concatenate((rows, rows)),
              np.concatenate((self.cells.first[cell], self.cells.second[cell])))  # fmt: skip
        found = csr_array((np.concatenate((by_d, -by_d)), at), shape=(len(cell), self.n))
        if columns:
            found = hstack([found, csr_array(np.column_stack(columns))], format="csr")
        n_groups = int(groups.max()) + 1
        pick = csr_array((np.ones(len(rows)), (groups, rows)), shape=(n_groups, len(rows)))
        return pick @ found
