"""Larger trees and more rounds, where a search saw that they pay.

Most data that people rank are small, where trees of four to eight leaves and 300 rounds are enough
and larger ones lose. Where features act together in earnest, or rows are many, size pays: a search
climbs there, one size at a time, as long as the last step was clearly one up.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from crucial.lab.auto.candidates import KINDS, RankerCandidate
from crucial.lab.auto.trials import Trial

__all__ = ["next_sizes"]

#: Standard errors that a size must be ahead of the smaller ones for the next to be tried.
_CLEAR = 1.0
#: Rows per leaf that trees must have at the least, on average.
_ROWS = 100


def next_sizes(
    leaders: Sequence[Trial],
    trials: Sequence[Trial],
    tried: Collection[str],
    n_rows: int,
    more_rounds: bool,
) -> list[RankerCandidate]:
    """Return what to try next: larger trees, or more rounds, of the best rankers.

    Parameters
    ----------
    leaders : sequence of Trial
        The best of every family that is not far behind.
    trials : sequence of Trial
        All of the same stage.
    tried : collection of str
        Names that are not to be tried again.
    n_rows : int
        Rows to learn from.
    more_rounds : bool
        Whether rankers whose last rounds still gained get more of them.
    """
    found = []
    for first in leaders:
        longer = first.candidate.longer
        larger = [
            one
            for one in first.candidate.larger
            if one.name not in tried and _ROWS * one.estimator.max_leaves <= n_rows
        ]
        if larger and _pays(first, trials):
            found += larger
        elif more_rounds and first.rising and longer is not None and longer.name not in tried:
            found.append(longer)
    return found


def _pays(first: Trial, trials: Sequence[Trial]) -> bool:
    """Whether the size of the best of a family is clearly better than smaller ones."""
    own = [one for one in trials if one.candidate.family == first.candidate.family]
    smaller = [one for one in own if _is_smaller(one, first)]
    if not smaller:  # (those of its own loss were not tried, or dropped)
        smaller = [one for one in trials if KINDS.index(one.kind) < KINDS.index(first.kind)]
    if not smaller:
        return True
    gap = first.gap(max(smaller, key=lambda one: one.value))
    return gap.mean > _CLEAR * gap.error


def _is_smaller(one: Trial, other: Trial) -> bool:
    """Whether a ranker is of a simpler kind than another of its family, or has smaller trees."""
    if KINDS.index(one.kind) < KINDS.index(other.kind):
        return True
    return _leads_to(one.candidate, other.name)


def _leads_to(candidate: RankerCandidate, name: str) -> bool:
    return any(one.name == name or _leads_to(one, name) for one in candidate.larger)
