"""The uncertainty of a leaderboard: strengths of resampled observations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.apps.preferences.strengths import Choices, fit_strengths
from crucial.measures.intervals import percentile_interval
from crucial.types import Bools, Floats, Ints

__all__ = ["Resampled", "resample", "runs_of_ties"]

_ENOUGH = 1e-6  # (far below what resampling changes)


@dataclass(frozen=True, eq=False)
class Resampled:
    """Strengths of all resamplings.

    Attributes
    ----------
    strengths : float64 array of shape (n_bootstrap, n_items)
    level : float
        Confidence level of the intervals.
    """

    strengths: Floats
    level: float

    def intervals(self) -> tuple[Floats, Floats]:
        """Return the lower and the upper end of every strength."""
        return percentile_interval(self.strengths, self.level)

    def above(self) -> Bools:
        """Return whether item i is surely above item j, in almost every resampling.

        The same as the percentile interval of their difference being above 0.
        """
        draws = self.strengths
        n = draws.shape[1]
        wins = np.zeros((n, n), np.int32)
        for one in draws:
            wins += one[:, None] > one[None, :]
        return np.asarray(wins >= (1.0 - (1.0 - self.level) / 2) * len(draws))


def resample(
    choices: Choices,
    best: Floats,
    part: Ints,
    *,
    prior: float,
    cluster: Ints | None,
    copies: Floats | None,
    n_bootstrap: int,
    level: float,
    seed: int,
) -> Resampled:
    """Draw observations (or whole clusters) with replacement, and fit again.

    With ``copies``, observation k stands for so many equal ones, each of which can be drawn.
    """
    rng = np.random.default_rng(seed)
    n = len(choices.weight)
    own = np.arange(n) if cluster is None else cluster
    n_units = int(own.max()) + 1
    draws = np.empty((n_bootstrap, choices.n_items))
    for k in range(n_bootstrap):
        if copies is None:
            drawn = np.bincount(rng.integers(0, n_units, n_units), minlength=n_units)[own]
            times = drawn.astype(np.float64)
        else:
            total = copies.sum()
            drawn = rng.multinomial(max(1, round(total)), copies / total)
            times = np.divide(drawn, copies, out=np.zeros(n), where=copies > 0)
        draws[k] = fit_strengths(
            choices, prior=prior, times=times, start=best, part=part, tol=_ENOUGH
        )
    return Resampled(draws, level)


def runs_of_ties(order: Ints, above: Bools) -> list[tuple[int, ...]]:
    """Return the longest runs of the order in which no item is surely above another.

    Examples
    --------
    >>> above = np.zeros((3, 3), bool)
    >>> above[0, 2] = True
    >>> runs_of_ties(np.array([0, 1, 2]), above)
    [(0, 1), (1, 2)]
    """
    runs: list[tuple[int, ...]] = []
    reached = 0
    for first in range(len(order)):
        last = first + 1
        while last < len(order) and not above[order[first:last], order[last]].any():
            last += 1
        if last > reached:
            runs.append(tuple(int(k) for k in order[first:last]))
            reached = last
    return runs
