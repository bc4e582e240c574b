"""What `crucial.AutoRanker` chooses from and by: candidates, budget, trials, the final choice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone

from crucial.boosting.row_losses import LOSSES
from crucial.data.groups import Groups
from crucial.kernels.elementary import dot
from crucial.lab.comparison import Row
from crucial.lab.results import Cell
from crucial.measures.base import Measure
from crucial.rankers.gradient import GradientRanker
from crucial.rankers.linear.estimators import ListMLE, RankCosine, RankRLS
from crucial.rankers.rankboost import RankBoost
from crucial.results import Result, text_table
from crucial.types import Floats
from crucial.wording import counted

# --- The rankers and settings that `crucial.AutoRanker` chooses from


#: Kinds of rankers, the simplest first: a weighted sum of the features, a sum of functions of one
#: feature each, of one and two features, and trees without limits.
KINDS = ("linear", "stumps", "pairs", "trees")

#: Labels above this are no exponents: 2^y - 1 would drown all other rows.
_LARGEST_GRADE = 10.0
#: ListMLE sorts every query in every step: beyond this many cells of X it takes too long.
_LIST_CELLS = 1_000_000
#: Without queries, logistic pairs of more rows take too long: all are compared.
_ROWS_FOR_LOGISTIC = 2_000
#: Times as many rounds, where a ranker still gains at its last one.
_LONGER = 3
#: Rankers of more rounds do not get them.
_LONG = 400


@dataclass(frozen=True)
class Facts:
    """What decides which rankers may suit the data.

    Attributes
    ----------
    n_rows, n_features : int
    n_queries : int or None
        Queries with different labels; None where there are no queries.
    n_labels : int
        Different labels.
    lowest, highest : float
        Extreme labels.
    """

    n_rows: int
    n_features: int
    n_queries: int | None
    n_labels: int
    lowest: float
    highest: float

    @classmethod
    def of(cls, n_features: int, y: Floats, groups: Groups, has_qid: bool) -> Facts:
        """Look at the labels of the rows."""
        queries = int((~groups.one_valued(y)).sum()) if has_qid else None
        values = np.unique(y)
        return cls(len(y), n_features, queries, len(values), values[0], values[-1])

    @property
    def has_gains(self) -> bool:
        """Whether labels can be gains: none below 0."""
        return self.lowest >= 0.0

    @property
    def has_large_gains(self) -> bool:
        """Whether gains are large enough to be seen beside XE-NDCG's noise, which is up to 1."""
        return self.has_gains and self.highest >= 1.0

    @property
    def has_grades(self) -> bool:
        """Whether 2^y - 1 is a gain that tells more than y."""
        return self.has_gains and self.n_labels > 2 and 1.0 < self.highest <= _LARGEST_GRADE


@dataclass(frozen=True, eq=False)
class RankerCandidate:
    """A ranker with its settings.

    Attributes
    ----------
    name : str
    kind : str
        One of `KINDS`.
    family : str
        Its loss, or algorithm. An average has one ranker of every family.
    estimator : object
        Unfitted.
    cost : float
        Time of a fit, relative to others: that of one round per row and feature.
    members : tuple of str
        What an average is made of; empty for a single ranker.
    shares : tuple of float
        Share of every member.
    larger : tuple of RankerCandidate
        The same with larger trees, to try where this one gains by its size.
    """

    name: str
    kind: str
    family: str
    estimator: Any
    cost: float = 1.0
    members: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()
    larger: tuple[RankerCandidate, ...] = ()

    @property
    def longer(self) -> RankerCandidate | None:
        """The same with more rounds; None for one that has many, or chooses them itself."""
        if self.rounds is None or self.rounds > _LONG:
            return None
        rounds = _LONGER * self.rounds
        estimator = clone(self.estimator).set_params(n_estimators=rounds)
        return replace(self, name=f"{self.name}, {rounds} rounds", estimator=estimator, larger=())

    @property
    def rounds(self) -> int | None:
        """Number of rounds; None for a ranker that has none.

        (RankCosine's are steps of a solver: fewer are not the first of many.)
        """
        if self.kind == "linear":
            return None
        found: int | None = getattr(self.estimator, "n_estimators", None)
        return found


#: Shapes of trees: text, kind, rounds and settings.
_SHAPES: dict[str, tuple[str, str, int, dict[str, Any]]] = {
    "stumps": ("stumps", "stumps", 200, {"weak": "stump"}),
    "pairs": ("pairs", "pairs", 200, {"interactions": 2}),
    "trees": ("trees", "trees", 200, {"subsample_rows": 0.8}),
    "large": ("64 leaves", "trees", 200, {"max_leaves": 64, "subsample_rows": 0.8}),
    "huge": ("256 leaves", "trees", 200, {"max_leaves": 256, "subsample_rows": 0.8}),
    "large pairs": ("pairs, 16 leaves", "pairs", 200, {"interactions": 2, "max_leaves": 16}),
    "leaf by leaf": ("leaf by leaf", "trees", 200, {
        "symmetric": False, "max_leaves": 31, "max_depth": 6, "min_rows": 5.0, "l2": 10.0,
        "subsample_rows": 0.8, "max_features": 0.3,
    }),
}  # fmt: skip
_LARGER = {"pairs": "large pairs", "trees": "large", "large": "huge"}


def _boosted(loss: str, shape: str, family: str = "", **more: Any) -> RankerCandidate:
    """Return gradient boosting under a loss with trees of a shape; its family is the loss."""
    text, kind, rounds, settings = _SHAPES[shape]
    name = ", ".join([loss, text, *(f"{key} {value}" for key, value in more.items())])
    estimator = GradientRanker(rounds, loss=loss, **settings, **more)
    larger = (_boosted(loss, _LARGER[shape], family, **more),) if shape in _LARGER else ()
    return RankerCandidate(name, kind, family or loss, estimator, LOSSES[loss].cost, larger=larger)


def _with_queries(facts: Facts) -> list[RankerCandidate]:
    """Return candidates for labels in queries, those that add most to an average first.

    An average gains more from another loss, or from linear and additive rankers, than from another
    shape of trees under the same loss, and the first nine are cheap: none compares all pairs of a
    query. Larger trees are tried where smaller ones gain by their size (`crucial.lab.auto_ranker`).
    """
    small = facts.n_rows * facts.n_features <= _LIST_CELLS
    gains, large = facts.has_gains, facts.has_large_gains
    gain: dict[str, Any] = {"gain": "exp"} if facts.has_grades else {}
    wanted = [
        (True, _boosted("query_rmse", "trees")),
        (gains, _boosted("lambda", "trees")),
        (gains, _boosted("softmax", "trees")),
        (gains, _boosted("lambda", "pairs")),
        (True, _boosted("exponential", "pairs", **gain)),
        (True, _linear(RankRLS())),
        (small, _linear(ListMLE(), 30.0)),
        (gains, _linear(RankCosine(), 5.0)),
        (True, _boosted("query_rmse", "stumps", "stumps")),
        (gains, _boosted("yeti", "trees")),
        (True, _boosted("logistic", "trees", **gain)),
        (True, _boosted("query_rmse", "pairs", "pairs")),
        (large, _boosted("xendcg", "trees")),
        (True, _boosted("exponential", "trees", **gain)),
        (True, _boosted("logistic", "pairs", "logistic pairs", **gain)),
        (True, _boosted("query_rmse", "leaf by leaf", "leaf by leaf")),
        (True, _boosted("logistic", "stumps", "logistic pairs", **gain)),
        (gains, _boosted("yeti", "pairs")),
        (large, _boosted("xendcg", "pairs")),
        (True, RankerCandidate("RankBoost", "stumps", "RankBoost", RankBoost(300, **gain))),
        (large, _boosted("xendcg", "stumps")),
        (gains, _boosted("yeti", "stumps")),
    ]
    return [one for suits, one in wanted if suits]


def _without_queries(facts: Facts) -> list[RankerCandidate]:
    """Return candidates for rows that are all compared, those that win most often first."""
    few = facts.n_rows <= _ROWS_FOR_LOGISTIC
    wanted = [
        (few, _boosted("logistic", "trees")),
        (True, _boosted("exponential", "trees")),
        (few, _boosted("logistic", "pairs", "pairs")),
        (True, _linear(RankRLS())),
        (True, _boosted("query_rmse", "trees")),
        (few, _boosted("logistic", "stumps", "stumps")),
        (not few, _boosted("exponential", "pairs", "pairs")),
        (not few, _boosted("exponential", "stumps", "stumps")),
        (True, _boosted("query_rmse", "pairs")),
        (True, _boosted("query_rmse", "leaf by leaf", "leaf by leaf")),
        (True, RankerCandidate("RankBoost", "stumps", "RankBoost", RankBoost(300))),
        (few, _boosted("exponential", "pairs")),
        (True, _boosted("query_rmse", "stumps")),
        (few, _boosted("exponential", "stumps")),
    ]
    return [one for suits, one in wanted if suits]


def _linear(estimator: Any, cost: float = 1.0) -> RankerCandidate:
    name = type(estimator).__name__
    return RankerCandidate(name, "linear", name, estimator, cost)


def candidates_for(facts: Facts, interactions: int | None, count: int) -> list[RankerCandidate]:
    """Return the first candidates that suit the data.

    Parameters
    ----------
    facts : Facts
    interactions : 1, 2 or None
        Most features that may act together.
    count : int
        How many at most.

    Examples
    --------
    >>> facts = Facts(1000, 10, None, 2, 0.0, 1.0)
    >>> [one.name for one in candidates_for(facts, 1, 3)]
    ['RankRLS', 'logistic, stumps', 'RankBoost']
    """
    source = _without_queries(facts) if facts.n_queries is None else _with_queries(facts)
    allowed = {1: KINDS[:2], 2: KINDS[:3], None: KINDS}[interactions]
    return [one for one in source if one.kind in allowed][:count]


# --- How much work a budget allows: candidates, folds and rows, by the size of the data alone


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
    """The folds, stages and averages that a budget allows.

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
    climbs : int
        How many of the best rankers get larger trees or more rounds, where these pay.
    """

    n_folds: int
    stages: tuple[Stage, ...]
    averaged: int
    seconds: float | None = None
    climbs: int = 0


_MILLION = 1_000_000
_THOROUGH = (
    Stage(22, 1, 2, _MILLION, 8 * _MILLION),
    Stage(8, 1, 5, 2 * _MILLION, 32 * _MILLION, 4, True),
)
_PLANS = {
    "quick": Plan(4, (Stage(9, 1, 2, _MILLION // 2, _MILLION),), 7),
    "normal": Plan(5, (Stage(14, 1, 4, _MILLION, 8 * _MILLION),), 10, climbs=2),
    "thorough": Plan(5, _THOROUGH, 12, climbs=12),
}
#: Seconds up to which the plan of a name is taken.
_UP_TO = (("quick", 10.0), ("normal", 60.0), ("thorough", float("inf")))


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
    return replace(plan, stages=stages, seconds=seconds)


# --- Which of the tried rankers to keep: the simplest within noise of the best


@dataclass(frozen=True)
class Gap:
    """Mean of paired differences, and its standard error."""

    mean: float
    error: float


def mean_of(values: Floats, weights: Floats | None = None) -> float:
    """Return the weighted mean, without NaN."""
    there = ~np.isnan(values)
    if weights is None:
        return float(values[there].mean()) if there.any() else math.nan
    total = float(weights[there].sum())
    return float((weights * values)[there].sum()) / total if total > 0 else math.nan


def gap_of(
    first: Floats, second: Floats, weights: Floats | None = None, overlap: float = 0.0
) -> Gap:
    """Compare two rankers on the same held-out units.

    Parameters
    ----------
    first, second : arrays of shape (n_units,)
    weights : array of shape (n_units,), optional
    overlap : float
        Test rows per training row, where units are folds: training parts overlap, which makes the
        values of folds alike, and their spread too small (Nadeau & Bengio 2003, equation 9).

    Returns
    -------
    Gap
        Mean of ``first - second`` and its standard error; infinite for a single unit.

    Examples
    --------
    >>> gap_of(np.array([0.5, 0.7, 0.6]), np.array([0.4, 0.7, 0.5]))
    Gap(mean=0.066..., error=0.033...)
    """
    change = first - second
    there = ~np.isnan(change)
    change = change[there]
    n = len(change)
    if n < 2:
        return Gap(float(change.mean()) if n else math.nan, math.inf)
    w = np.full(n, 1.0 / n) if weights is None else weights[there] / weights[there].sum()
    mean = dot(w, change)
    # (n / (n - 1) makes the plain standard error of it where all weigh the same)
    variance = dot(w * w, (change - mean) ** 2) * n / (n - 1)
    return Gap(mean, math.sqrt(variance * (1.0 + n * overlap)))


# --- What was tried, what it cost, what was kept and why


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate, as far as it was validated.

    Attributes
    ----------
    name, kind : str
    candidate : RankerCandidate
    stage : int
        The last stage that it took part in, from 0.
    folds : int
        Held-out folds of that stage.
    rounds : int or None
        Best number of rounds; None for a ranker without rounds.
    values : array of shape (n_units,)
        Value of the measure on every held-out query, or fold where there are no queries, after
        these rounds; losses are negated.
    weights : array of shape (n_units,) or None
    overlap : float
        As in `crucial.lab.auto_candidates.gap_of`.
    seconds : float
        Time of all its fits.
    error : str or None
        Why it failed.
    enters : bool
        Whether it is one of those that the last choice is between.
    rising : bool
        Whether the last third of its rounds gained more than one standard error.
    """

    candidate: RankerCandidate
    stage: int
    folds: int
    rounds: int | None
    values: Floats
    weights: Floats | None
    overlap: float
    seconds: float
    error: str | None = None
    enters: bool = False
    rising: bool = False

    @classmethod
    def of(
        cls,
        candidate: RankerCandidate,
        cells: Sequence[Cell],
        measure: Measure,
        stage: int,
        seconds: float,
        has_queries: bool,
    ) -> Trial:
        """Put the folds together and choose the number of rounds by the mean over all of them."""
        failed = next((one for one in cells if one["status"] != "ok"), None)
        if failed is not None:
            nothing = np.empty(0)
            return cls(
                candidate, stage, len(cells), None, nothing, None, 0.0, seconds, failed["error"]
            )
        rounds = cells[0]["stages"]["rounds"]
        sign = 1.0 if measure.higher_is_better else -1.0
        tables = [sign * np.array(one["stages"]["values"], np.float64) for one in cells]
        pooled = measure.aggregate == "pool" and has_queries
        weights = [np.array(one["weights"][measure.name]) for one in cells] if pooled else None
        units, weight = _units(cells, tables, weights)
        curve = np.array([mean_of(row, weight) for row in units])
        best = _best_stage(curve)
        ratio = math.fsum(one["rows"]["test"] / one["rows"]["train"] for one in cells) / len(cells)
        overlap = 0.0 if has_queries else ratio
        at = next(k for k, number in enumerate(rounds) if number >= 2 / 3 * rounds[-1])
        late = gap_of(units[best], units[at], weight, overlap)
        found = (rounds[best] or None, units[best], weight, overlap, seconds)
        rising = best >= len(rounds) - 2 and late.mean > late.error
        return cls(candidate, stage, len(cells), *found, rising=rising)

    @property
    def name(self) -> str:
        """Name of the candidate."""
        return self.candidate.name

    @property
    def kind(self) -> str:
        """Kind of the candidate."""
        return self.candidate.kind

    @property
    def failed(self) -> bool:
        """Whether a fit failed, or no held-out unit has a value."""
        return self.error is not None or math.isnan(self.value)

    @property
    def value(self) -> float:
        """Mean over units; higher is better."""
        return mean_of(self.values, self.weights) if len(self.values) else math.nan

    @property
    def level(self) -> int:
        """How complicated the ranker is. The average of sums is such a sum, and no less simple."""
        return KINDS.index(self.kind)

    def gap(self, other: Trial) -> Gap:
        """Return how far this one is ahead of another on the same units."""
        return gap_of(self.values, other.values, self.weights, self.overlap)


def _units(
    cells: Sequence[Cell], tables: Sequence[Floats], weights: Sequence[Floats] | None
) -> tuple[Floats, Floats | None]:
    """Return one column of values per query, averaged over repeats; one per fold without any."""
    labels = [label for cell in cells for label in cell["per_query"]["qid"]]
    table = np.concatenate(tables, axis=1)
    weight = None if weights is None else np.concatenate(weights)
    names: dict[Any, int] = {}
    place = np.array([names.setdefault(label, len(names)) for label in labels])
    if len(names) == len(labels):
        return table, weight
    counts = np.bincount(place)
    mean = np.array([np.bincount(place, row) for row in table]) / counts
    return mean, None if weight is None else np.bincount(place, weight) / counts


def _best_stage(curve: Floats) -> int:
    """Return the stage with the best mean of itself and its neighbours; the first of equal ones."""
    if len(curve) < 3:
        return int(np.nanargmax(curve)) if not np.isnan(curve).all() else len(curve) - 1
    padded = np.concatenate([curve[:1], curve, curve[-1:]])
    smooth = (padded[:-2] + 2.0 * padded[1:-1] + padded[2:]) / 4.0
    return int(np.nanargmax(smooth)) if not np.isnan(smooth).all() else len(curve) - 1


def choose(trials: Sequence[Trial], noise: float) -> tuple[Trial, Trial]:
    """Return the best trial and the one to keep.

    The best has the highest mean. Of every level below its own, the one with the highest mean is
    compared with it, the simplest level first: the first that is behind by at most ``noise``
    standard errors of the paired difference is kept.
    """
    ranked = sorted(trials, key=lambda one: (-one.value, one.level))
    best = ranked[0]
    for level in range(best.level):
        simpler = next((one for one in ranked if one.level == level), None)
        if simpler is not None:
            gap = best.gap(simpler)
            if gap.mean <= noise * gap.error and not math.isinf(gap.error):
                return best, simpler
    return best, best


@dataclass(frozen=True, eq=False, repr=False)
class TriedRankers(Result):
    """Result of a search: what was tried, what it cost, what was kept and why.

    Attributes
    ----------
    measure : str
    higher_is_better : bool
    budget : str
        What the search was allowed.
    trials : tuple of Trial
        Every candidate that was tried, the best of the last stage first.
    best, kept : Trial
        The best of the last stage, and the one that was kept.
    rounds : int or None
        Rounds of the kept ranker on the rows it was validated on; None for an average, or a
        ranker without rounds.
    noise : float
        Standard errors that a simpler ranker may be behind.
    units : str
        What values are means over, such as "120 held-out queries".
    """

    measure: str
    higher_is_better: bool
    budget: str
    trials: tuple[Trial, ...]
    best: Trial
    kept: Trial
    rounds: int | None
    noise: float
    units: str

    @property
    def choice(self) -> str:
        """What was kept and why, in a few sentences."""
        kept, best = self.kept, self.best
        spread = _deviation(kept)
        rounds = f" with {counted(self.rounds, 'round')}" if self.rounds else ""
        lines = [
            f"Kept {kept.name}{rounds} ({_WORDS[kept.kind]}): {self.measure} "
            f"{self._shown(kept.value)} ± {spread:.4f} over {self.units}."
        ]
        if kept.candidate.members:
            pairs = zip(kept.candidate.members, kept.candidate.shares, strict=True)
            lines.append(f"It averages {'; '.join(f'{a}, {b:.0%}' for a, b in pairs)}.")
        if kept is best:
            near = f"within {self.noise:g} standard errors of it" if self.noise else "as good"
            lines.append(f"No simpler one is {near}.")
        else:
            gap = best.gap(kept)
            lines.append(
                f"The best, {best.name} ({_WORDS[best.kind]}), is ahead by {_plus_minus(gap)}: "
                f"within {self.noise:g} standard errors, and less simple."
            )
        lines.append(self._interactions())
        return " ".join(one for one in lines if one)

    def _interactions(self) -> str:
        """Compare the best ranker of interacting features with the best sum of single ones."""
        finals = [one for one in self.trials if one.stage == self.best.stage and not one.failed]
        entering = [one for one in finals if one.enters]
        if not any(KINDS.index(one.kind) >= 2 for one in entering):
            # (the best of every family is a sum of single features: compare single rankers)
            entering = [one for one in finals if not one.candidate.members]
        plain_ones = [one for one in entering if KINDS.index(one.kind) < 2]
        others = [one for one in entering if KINDS.index(one.kind) >= 2]
        if not plain_ones or not others:
            return ""
        alone = max(plain_ones, key=lambda one: one.value)
        joint = self.kept if self.kept in others else max(others, key=lambda one: one.value)
        gap = joint.gap(alone)
        worth = "not worth it"
        if self.kept is joint:
            worth = "worth it" if gap.mean > gap.error else "kept, though within one error"
        return f"Interactions ({joint.name} against {alone.name}) gain {_plus_minus(gap)}: {worth}."

    def _shown(self, value: float) -> str:
        return f"{value if self.higher_is_better else -value:.4f}"

    def _outcome(self, trial: Trial) -> str:
        if trial is self.kept:
            return "kept, best" if trial is self.best else "kept, simpler"
        if trial is self.best:
            return "best"
        if trial.error is not None:
            return f"failed: {trial.error.splitlines()[0]}"
        return "" if trial.stage == self.best.stage else "dropped"

    def _title(self) -> str:
        return f"{len(self.trials)} tried, kept {self.kept.name!r}"

    @property
    def notes(self) -> list[str]:
        """What was kept and why."""
        return [self.choice]

    def text(self, width: int = 120) -> str:
        """Return a table with one row per trial, and what was kept and why."""
        numbers = ("rounds", self.measure, "to the best", "folds", "seconds")
        rows = []
        for one in self.trials:
            value, behind = "-", ""
            if not one.failed:
                value = f"{self._shown(one.value)} ± {_deviation(one):.4f}"
                if one.stage == self.best.stage and one is not self.best:
                    behind = _plus_minus(one.gap(self.best))
            rounds = "-" if one.rounds is None else f"{one.rounds}"
            cells = (rounds, value, behind, f"{one.folds}", f"{one.seconds:.1f}")
            rows.append((one.name, one.kind, *cells, self._outcome(one)))
        table = text_table(("ranker", "kind", *numbers, "outcome"), rows, (0, 1, 7), width)
        return "\n".join([f"{self._title()}:", *table, "", self.choice])

    def to_rows(self) -> list[Row]:
        """Return one mapping per trial; values as the measure has them."""
        sign = 1.0 if self.higher_is_better else -1.0
        return [
            {
                "ranker": one.name,
                "kind": one.kind,
                "members": list(one.candidate.members),
                "shares": list(one.candidate.shares),
                "rounds": one.rounds,
                self.measure: None if one.failed else sign * one.value,
                "standard_error": None if one.failed else _deviation(one),
                "folds": one.folds,
                "stage": one.stage + 1,
                "seconds": one.seconds,
                "kept": one is self.kept,
                "best": one is self.best,
                "error": one.error,
            }
            for one in self.trials
        ]


_WORDS = {
    "linear": "a weighted sum of the features",
    "stumps": "a sum of functions of one feature each",
    "pairs": "a sum of functions of one and two features",
    "trees": "trees",
}


def _plus_minus(gap: Gap) -> str:
    return f"{gap.mean:.4f} ± {gap.error:.4f}"


def _deviation(trial: Trial) -> float:
    """Return the standard error of a trial's mean."""
    return gap_of(trial.values, np.zeros(len(trial.values)), trial.weights, trial.overlap).error


def summarise_trials(
    trials: Sequence[Trial], measure: Measure, budget: str, noise: float
) -> TriedRankers:
    """Choose among the trials of the last stage that any of them reached.

    Where there are averages, they are what is chosen from, or single rankers in their place: one
    per kind. The best of many single rankers owes part of its value to chance.
    """
    last = max(one.stage for one in trials if not one.failed)
    finals = [one for one in trials if one.stage == last and not one.failed]
    finals = [one for one in finals if one.enters] or finals
    best, kept = choose(finals, noise)
    n = int((~np.isnan(best.values)).sum())
    ordered = sorted(
        trials, key=lambda one: (one.failed, -one.stage, not one.candidate.members, -one.value)
    )
    measured = (measure.name, measure.higher_is_better)
    units = counted(n, "held-out fold" if best.overlap else "held-out query")
    return TriedRankers(*measured, budget, tuple(ordered), best, kept, kept.rounds, noise, units)
