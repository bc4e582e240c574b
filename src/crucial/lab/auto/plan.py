"""How much work a budget allows: candidates, folds and rows, by the size of the data alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from crucial.lab.auto.candidates import Facts

__all__ = ["BUDGETS", "Budget", "Plan", "Stage", "plan_for"]

#: A name of `BUDGETS`, or seconds.
Budget: TypeAlias = str | float

BUDGETS = ("quick", "normal", "thorough")

#: Less data say nothing about which ranker is better.
_FEWEST_QUERIES = 10
_FEWEST_ROWS = 200


@dataclass(frozen=True)
class Stage:
    """One stage of successive halving.

    Attributes
    ----------
    candidates : int
        How many of the best of the stage before take part.
    repeats : int
        How many times the data are dealt into folds.
    folds : int
        How many of the folds are held out, one after the other, in each repeat.
    cells : int
        Most cells of X (rows times features) that take part; queries are drawn beyond.
    work : int
        Most cells of all folds together, where there are many queries: of larger data more rows
        take part, in fewer folds. How large trees may be, few rows do not tell.
    per_kind : int
        How many of the best of every kind take part in any case, of different families: the last
        stage can then tell what interactions gain.
    families : bool
        Whether all that are within noise of the best of their family take part too, unless the
        family is clearly behind: what few held-out queries say of losses is mostly noise.
    """

    candidates: int
    repeats: int
    folds: int
    cells: int
    work: int = 0
    per_kind: int = 1
    families: bool = False

    def sized(self, n_cells: int) -> Stage:
        """Return the stage for data of a size, with more rows and fewer folds of large data.

        Examples
        --------
        >>> stage = Stage(4, repeats=1, folds=5, cells=100, work=2_000)
        >>> [(one.cells, one.folds) for one in map(stage.sized, (90, 240, 1_000, 9_000))]
        [(100, 5), (240, 2), (1000, 1), (2000, 1)]
        """
        least = self.cells * self.folds * self.repeats
        if n_cells <= self.cells or self.work <= least:
            return self
        work = min(self.work, max(least, n_cells))
        cells = min(n_cells, work)
        fits = max(1, work // cells)
        folds = min(self.folds, fits)
        return replace(self, repeats=max(1, fits // self.folds), folds=folds, cells=cells)


@dataclass(frozen=True)
class Plan:
    """What a budget allows.

    Attributes
    ----------
    n_folds : int
        Folds that the queries, or the rows, are dealt into.
    stages : tuple of Stage
        Empty where the data are too few to choose by.
    averaged : int
        Most rankers of an average.
    seconds : float or None
        When to stop, whatever the plan; None leaves the clock alone.
    """

    n_folds: int
    stages: tuple[Stage, ...]
    averaged: int
    seconds: float | None = None


_MILLION = 1_000_000
_PLANS = {
    "quick": Plan(
        4,
        (
            Stage(8, 1, 2, _MILLION // 2, 2 * _MILLION),
            Stage(3, 1, 4, _MILLION, 8 * _MILLION, 2),
        ),
        5,
    ),
    "normal": Plan(
        5,
        (
            Stage(23, 1, 2, _MILLION, 8 * _MILLION),
            Stage(4, 1, 5, 2 * _MILLION, 32 * _MILLION, 4, True),
        ),
        12,
    ),
    "thorough": Plan(
        5,
        (
            Stage(40, 1, 3, 4 * _MILLION, 24 * _MILLION),
            Stage(10, 2, 5, 16 * _MILLION, 200 * _MILLION, 6, True),
        ),
        12,
    ),
}
#: Seconds up to which the plan of a name is taken.
_UP_TO = (("quick", 60.0), ("normal", 600.0), ("thorough", float("inf")))


def plan_for(budget: Budget, facts: Facts) -> Plan:
    """Return the work that a budget allows on data of this size.

    A name always means the same work. Seconds take the plan of the name that is nearest and stop
    it by the clock.

    Examples
    --------
    >>> facts = Facts(1000, 10, 50, 3, 0.0, 2.0)
    >>> plan_for("quick", facts).n_folds, plan_for(90.0, facts).seconds
    (4, 90.0)
    >>> plan_for("thorough", Facts(40, 10, 4, 3, 0.0, 2.0)).stages
    ()
    """
    seconds = None
    if not isinstance(budget, str):
        seconds = float(budget)
        budget = next(name for name, limit in _UP_TO if seconds <= limit)
    plan = _PLANS[budget]
    few = (
        facts.n_rows < _FEWEST_ROWS
        if facts.n_queries is None
        else facts.n_queries < _FEWEST_QUERIES
    )
    if few:
        return Plan(plan.n_folds, (), 0, seconds)
    stages = plan.stages
    if facts.n_queries is not None:  # (without queries, folds are what tells noise)
        stages = tuple(one.sized(facts.n_rows * facts.n_features) for one in stages)
    return Plan(plan.n_folds, stages, plan.averaged, seconds)
