"""Statistics of several rankers over several tasks: average ranks, Friedman's test, Nemenyi's.

Connamacher, Pancha, Liu & Ray (2019), section 5, compare rankers by them; the tests are those of
Demšar (2006).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from crucial.errors import DataError
from crucial.measures.intervals import SAME
from crucial.notebook import HtmlResult, HtmlTable
from crucial.parameters import at_least, between, check
from crucial.types import Floats
from crucial.wording import counted, p_text

__all__ = ["FriedmanTest", "average_ranks", "critical_difference", "friedman_test", "ranks_of"]


def ranks_of(values: ArrayLike, higher_is_better: bool = True) -> Floats:
    """Return the rank of every ranker in every block, 1 for the best; equal values share ranks.

    Parameters
    ----------
    values : array of shape (n_blocks, n_rankers)
        A block is a task, fold or query. NaN is refused.
    higher_is_better : bool

    Examples
    --------
    >>> ranks_of([[0.9, 0.5, 0.5], [0.1, 0.2, 0.3]]).tolist()
    [[1.0, 2.5, 2.5], [3.0, 2.0, 1.0]]
    """
    from scipy.stats import rankdata

    table = np.asarray(values, np.float64)
    if table.ndim != 2 or 0 in table.shape:
        raise DataError(
            f"values must be a table of blocks and rankers, neither empty. Got shape {table.shape}."
        )
    if np.isnan(table).any():
        row, column = (int(one) for one in np.argwhere(np.isnan(table))[0])
        raise DataError(
            f"values: ranker {column} has no value in block {row}; leave such blocks out."
        )
    # Values that differ by rounding alone are equal.
    steps = np.round(table / SAME / 4) if np.abs(table).max() < 1e3 else table
    return np.asarray(rankdata(-steps if higher_is_better else steps, axis=1), np.float64)


def average_ranks(values: ArrayLike, higher_is_better: bool = True) -> Floats:
    """Return the ranks of `ranks_of`, averaged over blocks.

    Examples
    --------
    >>> average_ranks([[0.9, 0.5, 0.5], [0.1, 0.2, 0.3]]).tolist()
    [2.0, 2.25, 1.75]
    """
    return np.asarray(ranks_of(values, higher_is_better).mean(axis=0))


@dataclass(frozen=True)
class FriedmanTest(HtmlResult):
    """Result of Friedman's test: do the rankers differ at all?

    Attributes
    ----------
    statistic, p : float
        Friedman's chi-square, corrected for equal ranks, and its p-value.
    f_statistic, f_p : float
        Iman and Davenport's less conservative form; infinite and 0 where all blocks agree.
    n_blocks, n_rankers : int
    """

    statistic: float
    p: float
    f_statistic: float
    f_p: float
    n_blocks: int
    n_rankers: int

    def __str__(self) -> str:
        return (
            f"Friedman chi-square {self.statistic:.3f} over {counted(self.n_blocks, 'block')} and "
            f"{counted(self.n_rankers, 'ranker')}, p {p_text(self.p)}; Iman-Davenport F "
            f"{self.f_statistic:.3f}, p {p_text(self.f_p)}"
        )

    def _html_title(self) -> str:
        return "Do the rankers differ at all?"

    def _html_tables(self) -> list[HtmlTable]:
        columns: dict[str, Sequence[object]] = {
            "test": ["Friedman's chi-square", "Iman and Davenport's F"],
            "statistic": [self.statistic, self.f_statistic],
            "p": [p_text(self.p), p_text(self.f_p)],
        }
        return [HtmlTable(columns)]

    def _html_notes(self) -> list[str]:
        return [f"{self.n_blocks:,} blocks, {self.n_rankers} rankers"]


def friedman_test(values: ArrayLike, higher_is_better: bool = True) -> FriedmanTest:
    """Test whether equally good rankers could have such average ranks.

    Parameters
    ----------
    values : array of shape (n_blocks, n_rankers), two rankers or more
    higher_is_better : bool

    Examples
    --------
    >>> found = friedman_test([[3, 2, 1], [3, 1, 2], [3, 2, 1], [2, 3, 1]])
    >>> round(found.statistic, 3), round(found.p, 4)
    (4.5, 0.1054)
    """
    from scipy.stats import chi2, f

    ranks = ranks_of(values, higher_is_better)
    n, k = ranks.shape
    if k < 2:
        raise DataError("Friedman's test compares two rankers or more. Got 1.")
    spread = 12.0 * float(((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum()) * n / (k * (k + 1))
    untied = 1.0 - sum(_tied(row) for row in ranks) / (n * k * (k * k - 1.0))
    if untied <= 0.0:  # every ranker is equal in every block
        return FriedmanTest(0.0, 1.0, 0.0, 1.0, n, k)
    statistic = spread / untied
    rest = n * (k - 1) - statistic
    if n < 2:
        f_statistic, f_p = math.nan, math.nan
    elif rest <= 1e-9 * n:
        f_statistic, f_p = math.inf, 0.0
    else:
        f_statistic = (n - 1) * statistic / rest
        f_p = float(f.sf(f_statistic, k - 1, (k - 1) * (n - 1)))
    return FriedmanTest(statistic, float(chi2.sf(statistic, k - 1)), f_statistic, f_p, n, k)


def _tied(ranks: Floats) -> float:
    """Return the sum of t^3 - t over the groups of t equal ranks."""
    counts = np.unique(ranks, return_counts=True)[1].astype(np.float64)
    return float((counts**3 - counts).sum())


def critical_difference(n_rankers: int, n_blocks: int, alpha: float = 0.05) -> float:
    """Return Nemenyi's critical difference: average ranks at least so far apart differ.

    ``q sqrt(k (k + 1) / (6 n))`` for k rankers and n blocks, where q is the studentized
    range at ``alpha`` over infinite degrees of freedom, divided by the root of 2.

    Examples
    --------
    >>> [round(critical_difference(3, n), 4) for n in (300, 357, 10)]
    [0.1914, 0.1754, 1.0481]
    """
    from scipy.stats import studentized_range

    check("critical_difference", "n_rankers", n_rankers, at_least(2))
    check("critical_difference", "n_blocks", n_blocks, at_least(1))
    check("critical_difference", "alpha", alpha, between(1e-6, 0.5))
    q = float(studentized_range.ppf(1 - alpha, n_rankers, np.inf)) / math.sqrt(2)
    return q * math.sqrt(n_rankers * (n_rankers + 1) / (6.0 * n_blocks))
