"""The ranker that chooses among the others: successive halving, larger trees, averages."""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, Self

import numpy as np
from msgspec import structs
from sklearn.base import clone

from crucial.data.groups import Groups, deal
from crucial.errors import DataError, NotRankedError, ParameterError
from crucial.feedback.labels import LabelFeedback
from crucial.kernels.elementary import exact_sum, exp
from crucial.lab.auto_candidates import (
    BUDGETS,
    KINDS,
    Budget,
    Facts,
    Plan,
    RankerCandidate,
    Stage,
    Trial,
    TriedRankers,
    candidates_for,
    plan_for,
    summarise_trials,
)
from crucial.lab.experiment import run_cell, settings_record
from crucial.lab.protocols import Fold, Rows, Task, folds_by_number
from crucial.lab.rankers import Adapter, Contender
from crucial.lab.results import Cell, ExperimentSettings, Key, ResultFolder, cell_measure, key_of
from crucial.measures.base import Measure
from crucial.measures.names import CustomMeasure, MeasureLike, default_measure, get_measure
from crucial.model.additive import AdditiveRanker
from crucial.model.base import FrozenModel
from crucial.model.weak import Tree
from crucial.parameters import (
    Rule,
    above,
    anything,
    between,
    either,
    flag,
    function,
    none_or,
    one_of,
    parameter,
    with_parameters,
)
from crucial.progress import Show, progress_bar
from crucial.rankers.base import RANDOM_STATE, VERBOSE, RandomState, Ranker, documented
from crucial.rankers.rankboost import RankBoost
from crucial.types import Floats, PathLike, TableLike, VectorLike
from crucial.wording import counted

# --- Averages of rankers that stay one sum of weak rankers


#: Bits of a factor: sums of leaves on a grid stay exact if factors have few.
_BITS = 4


def score_spread(scores: Floats, groups: Groups) -> float:
    """Return the standard deviation of scores around the means of their queries.

    Examples
    --------
    >>> score_spread(np.array([1.0, 3.0, 10.0, 12.0]), Groups.from_qid([1, 1, 2, 2], 4))
    1.0
    """
    inside = scores[groups.order]
    means = np.add.reduceat(inside, groups.starts[:-1]) / groups.sizes
    return float(np.sqrt(np.mean((inside - np.repeat(means, groups.sizes)) ** 2)))


def scale_factors(spreads: Sequence[float], parts: Sequence[float] = ()) -> list[float]:
    """Return what to multiply the scores of several models by, to average them on one scale.

    Each is divided by its spread and multiplied by its share, to four binary digits; a model that
    gives all rows the same score is left out.

    Parameters
    ----------
    spreads : sequence of float
        Standard deviations of the scores of every model.
    parts : sequence of float
        What the shares are proportional to; empty where all are the same.

    Examples
    --------
    >>> scale_factors([0.5, 4.0])
    [1.0, 0.125]
    >>> scale_factors([0.5, 4.0], [3.0, 1.0])
    [1.5, 0.0625]
    """
    parts = parts or [1.0] * len(spreads)
    total = math.fsum(parts)
    return [
        _short(part / (total * one)) if one > 0 else 0.0
        for one, part in zip(spreads, parts, strict=True)
    ]


def _short(value: float) -> float:
    """Return the nearest number of few binary digits.

    Examples
    --------
    >>> _short(0.3), _short(1000.0)
    (0.3125, 1024.0)
    """
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(mantissa * 2**_BITS), exponent - _BITS)


def _sharing(rankers: Sequence[Any]) -> list[Any]:
    """Return weak rankers whose trees gain 1 together: the gains of losses have no common unit."""
    total = math.fsum(math.fsum(one.gains) for one in rankers if isinstance(one, Tree))
    if not total:
        return list(rankers)
    return [
        structs.replace(one, gains=tuple(gain / total for gain in one.gains))
        if isinstance(one, Tree)
        else one
        for one in rankers
    ]


@with_parameters
class AverageRanker(Ranker[AdditiveRanker]):
    """The average of several rankers that are sums of weak rankers: one such sum itself.

    The scores of each ranker are divided by their standard deviation inside queries, on the rows
    it learned from, and multiplied by its share.

    Attributes
    ----------
    model_ : AdditiveRanker
        The weak rankers of all.
    rankers_ : list
        The fitted rankers.
    """

    rankers: Any = parameter(anything("list of rankers"), "What to average.", default=())
    parts: Any = parameter(
        anything("list of numbers"),
        "What the share of every ranker is proportional to; none where all have the same.",
        default=(),
    )

    def fit(
        self,
        X: TableLike,
        y: VectorLike,
        *,
        qid: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> Self:
        """Fit every ranker; parameters as in `crucial.RankBoost.fit`."""
        data = self._input(X, y, qid, sample_weight)
        self.rankers_: list[Any] = []
        spreads = []
        for one in self.rankers:
            ranker = clone(one).set_params(n_jobs=self.n_jobs)
            ranker.fit(data.instances, data.labels, qid=qid, sample_weight=data.weight)
            self.rankers_.append(ranker)
            scores = ranker.model_.predict(data.instances, data.groups, n_jobs=self.n_jobs)
            spreads.append(score_spread(scores, data.groups))
        models = [one.model_ for one in self.rankers_]
        rankers: list[Any] = []
        weights: list[float] = []
        for model, factor in zip(models, scale_factors(spreads, self.parts), strict=True):
            if factor:
                rankers += _sharing(model.rankers)
                weights += [factor * weight for weight in model.weights]
        feedback = LabelFeedback(data.known_labels, data.groups, weight=data.weight)
        figures = {"averaged": [dict(model.training) for model in models]}
        summary = self._summary(figures, feedback, data.with_qid)
        names = data.instances.names
        model = AdditiveRanker(data.instances.n_features, rankers, weights, names, summary)
        self._set_model(model, data.with_qid)
        return self


# --- The rows that candidates are validated on, and how they are dealt into folds


def counted_rows(rows: Rows) -> Rows:
    """Return the rows without those of weight 0, and weights of 1 on average at least.

    Smaller ones, such as weights that sum to 1, are no numbers of rows: leaves of trees, which
    count weights, would find none.
    """
    if rows.weight is None:
        return rows
    there = np.flatnonzero(rows.weight > 0)
    rows = rows if len(there) == len(rows.weight) else rows.take(there)
    weight = rows.weight
    assert weight is not None
    # (the largest weight first: means of the largest numbers are finite too)
    mean = exact_sum(weight / weight.max()) / len(there) * float(weight.max())
    return rows if mean >= 1.0 else replace(rows, weight=weight / mean)


def drawn_rows(rows: Rows, cells: int, seed: int) -> Rows:
    """Return whole queries, or rows, drawn until X has so many cells; all where it has fewer.

    A larger number draws the same and more.
    """
    limit = max(1, cells // max(1, rows.X.n_features))
    if limit >= len(rows.y):
        return rows
    random = np.random.default_rng([seed, 2])
    if rows.qid is None:
        return rows.take(np.sort(random.permutation(len(rows.y))[:limit]))
    groups = rows.groups
    order = random.permutation(groups.n_groups)
    fit = int(np.searchsorted(np.cumsum(groups.sizes[order]), limit, side="right"))
    chosen = np.zeros(groups.n_groups, bool)
    chosen[order[: max(fit, 2)]] = True
    return rows.take(np.flatnonzero(chosen[groups.codes]))


def digest_of(rows: Rows) -> str:
    """Return a hash of the rows."""
    found = hashlib.blake2b(digest_size=16)
    found.update(Task("rows", rows.X.table, rows.y, rows.qid).digest().encode())
    found.update(repr((rows.X.names, rows.X.levels)).encode())
    if rows.weight is not None:
        found.update(np.ascontiguousarray(rows.weight).view(np.uint8).data)
    return found.hexdigest()


def folds_of(rows: Rows, n_folds: int, repeats: int, used: int, seed: int) -> Iterator[Fold]:
    """Yield the folds of every repeat, as far as they are used.

    A fold's name is that of its cell, and it does not depend on how many others there are.
    """
    groups, has_qid = rows.groups, rows.qid is not None
    n_folds = min(n_folds, groups.n_groups if has_qid else len(rows.y))
    for repeat in range(repeats):
        random = np.random.default_rng([seed, 1, repeat])
        numbers = deal(n_folds, rows.y, groups, has_qid, random)
        for fold in folds_by_number(numbers)[:used]:
            name = f"{len(rows.y)} rows, deal {repeat + 1}, fold {int(fold.name) + 1} of {n_folds}"
            yield Fold(name, fold.train, fold.test)


# --- One cell of the search: a candidate learns from a fold, and is measured as it grows


#: The task of every cell.
TASK = "rows"

#: Most rounds after which a ranker is measured.
_STAGES = 30


def stage_rounds(n_rounds: int) -> list[int]:
    """Return the rounds after which a ranker is measured: dense at first, then evenly spread.

    Examples
    --------
    >>> stage_rounds(12)
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    >>> len(stage_rounds(300)), stage_rounds(300)[:5], stage_rounds(300)[-2:]
    (28, [5, 7, 9, 12, 24], [288, 300])
    """
    if n_rounds <= _STAGES:
        return list(range(1, n_rounds + 1))
    early = np.geomspace(5, n_rounds / (_STAGES - 5), 4)[:-1]
    even = np.linspace(0, n_rounds, _STAGES - 4)[1:]
    return sorted({round(float(one)) for one in (*early, *even)})


def fresh(candidate: RankerCandidate, n_jobs: int | None, rounds: int | None = None) -> Any:
    """Return an unfitted copy of a candidate's estimator."""
    estimator = clone(candidate.estimator)
    if rounds is not None and candidate.rounds is not None:
        estimator.set_params(n_estimators=rounds)
    return estimator.set_params(n_jobs=n_jobs)


def refitted(
    candidate: RankerCandidate, n_jobs: int | None, rounds: int | None, growth: float
) -> Any:
    """Return an unfitted copy for all rows, where there are more than it was validated on.

    More rows bear more rounds: ``sqrt(growth)`` times as many, at most twice.
    """
    factor = min(2.0, math.sqrt(max(1.0, growth)))
    if rounds is not None:
        return fresh(candidate, n_jobs, round(factor * rounds))
    estimator = fresh(candidate, n_jobs)
    for one in estimator.rankers if candidate.members else ():
        if hasattr(one, "n_estimators"):
            one.set_params(n_estimators=round(factor * one.n_estimators))
    return estimator


def compute_cell(
    key: Key,
    candidate: RankerCandidate,
    rows: Rows,
    fold: Fold,
    measure: Measure,
    n_jobs: int | None,
    fitted_rankers: dict[Key, Any],
) -> Cell:
    """Fit a candidate to the training part of a fold and measure it on the other part.

    Parameters
    ----------
    fitted_rankers : dict
        Gets the ranker, if it has rounds.
    """

    def work() -> dict[str, object]:
        train, test = rows.take(fold.train), rows.take(fold.test)
        ranker = _adapter(fresh(candidate, n_jobs), rows)
        seconds = ranker.fit(train)
        fitted = time.perf_counter()
        rounds = [0] if candidate.rounds is None else stage_rounds(candidate.rounds)
        stages = _staged(ranker, test, rounds)
        found = measured(stages, rounds, test, fold, measure)
        if candidate.rounds is None:  # (an average can take these, and need not fit again)
            found |= _scored(ranker, train, stages[0])
        else:
            fitted_rankers[key] = ranker.estimator
        return {
            **found,
            "candidates": 1,
            "fit_seconds": seconds,
            "choose_seconds": 0.0,
            "test_seconds": time.perf_counter() - fitted,
            "rows": {"train": len(train.y), "valid": 0, "test": len(test.y)},
        }

    return run_cell(key, work)


def measured(
    stages: Sequence[Floats], rounds: Sequence[int], test: Rows, fold: Fold, measure: Measure
) -> dict[str, object]:
    """Return the part of a cell that has the values of a measure, for scores after some rounds."""
    groups = test.groups
    weight = test.weight if measure.takes_weights else None
    prepared = measure.prepare(test.y, groups, sample_weight=weight)
    values = [prepared.per_query(one) for one in stages]
    summary, last = prepared.summary(values[-1]), rounds[-1] or None
    weights, ids = prepared.bound.weights, [fold.name] if test.qid is None else groups.ids
    return {
        "status": "ok",
        "measures": {measure.name: cell_measure(summary, None, last, last)},
        "per_query": {"qid": ids, measure.name: values[-1]},
        "weights": {} if weights is None else {measure.name: weights},
        "stages": {"rounds": list(rounds), "values": values},
    }


def compute_scores(
    key: Key, estimator: Any, rows: Rows, fold: Fold, n_jobs: int | None, fitted: Any | None
) -> Cell:
    """Fit an estimator to the training part of a fold; keep its scores of the other part.

    Parameters
    ----------
    fitted : estimator or None
        The same with more rounds, fitted to that part: its first rounds are those of the
        estimator, which need not be fitted then.
    """

    def work() -> dict[str, object]:
        train, test = rows.take(fold.train), rows.take(fold.test)
        if fitted is None:
            ranker = _adapter(clone(estimator).set_params(n_jobs=n_jobs), rows)
            ranker.fit(train)
        else:
            rounds = min(estimator.n_estimators, fitted.ensemble_.n_rounds)
            fitted._set_ensemble(fitted.ensemble_, rounds, train.qid is not None)
            ranker = _adapter(fitted, rows)
        return {
            "status": "ok",
            **_scored(ranker, train, ranker.scores(test)),
            "rows": {"train": len(train.y), "valid": 0, "test": len(test.y)},
        }

    return run_cell(key, work)


def _adapter(estimator: Any, rows: Rows) -> Adapter:
    return Adapter.of(estimator, rows.qid is not None, rows.weight is not None)


def _scored(ranker: Adapter, train: Rows, scores: Floats) -> dict[str, object]:
    """Return what an average needs of a fitted ranker: scores of other rows, and their scale."""
    return {"scores": scores, "spread": score_spread(ranker.scores(train), train.groups)}


def average_cell(
    key: Key,
    members: Sequence[Cell],
    parts: Sequence[float],
    rows: Rows,
    fold: Fold,
    measure: Measure,
) -> Cell:
    """Measure the average of scores that `compute_scores` or `compute_cell` kept."""

    def work() -> dict[str, object]:
        factors = scale_factors([one["spread"] for one in members], parts)
        scores = sum(f * np.array(one["scores"]) for f, one in zip(factors, members, strict=True))
        found = measured([np.asarray(scores)], [0], rows.take(fold.test), fold, measure)
        return found | {"rows": members[0]["rows"]}

    return run_cell(key, work)


def _staged(ranker: Adapter, test: Rows, rounds: Sequence[int]) -> list[Floats]:
    """Return the scores after some rounds; those of the last where it stopped early."""
    stages = None if list(rounds) == [0] else ranker.stages(test)
    if stages is None:
        return [ranker.scores(test)]
    wanted, found = set(rounds), []
    scores = np.zeros(len(test.y))
    for number, scores in enumerate(stages, start=1):
        if number in wanted:
            found.append(scores)
    return found + [scores] * (len(rounds) - len(found))


# --- Larger trees and more rounds, where a search saw that they pay
#
# Most data that people rank are small, where trees of four to eight leaves and 300 rounds are
# enough
# and larger ones lose. Where features act together in earnest, or rows are many, size pays: a
# search
# climbs there, one size at a time, as long as the last step was clearly one up.


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
    """Return the rankers to try next: the best ones with larger trees, or more rounds.

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
    smaller = [
        one
        for one in own
        if KINDS.index(one.kind) < KINDS.index(first.kind) or _leads_to(one.candidate, first.name)
    ]
    if not smaller:  # (those of its own loss were not tried, or dropped)
        smaller = [one for one in trials if KINDS.index(one.kind) < KINDS.index(first.kind)]
    if not smaller:
        return True
    gap = first.gap(max(smaller, key=lambda one: one.value))
    return gap.mean > _CLEAR * gap.error


def _leads_to(candidate: RankerCandidate, name: str) -> bool:
    """Whether a candidate, or a larger one of it, has a larger one of this name."""
    return any(one.name == name or _leads_to(one, name) for one in candidate.larger)


# --- Successive halving: many candidates on few folds, the best of them on all


#: Shares of the seconds after which candidates, and averages of them, are not tried any more; the
#: rest is for the last fit.
_CANDIDATES_END, _AVERAGES_END = 0.55, 0.8

#: Time of an average, relative to that of trying its members, whose scores are computed again.
_AVERAGE_WORK = 0.1

#: A ranker that is z standard errors behind the best has exp(-(z / _FADING)^2 / 2) times its part
#: of an average, and none below _LEAST. The best of many owes part of its lead to chance: on few
#: queries nearly all have nearly the same part.
_FADING, _LEAST = 3.0, 0.1
#: Standard errors that a ranker may be behind the best of its family and stay in the search, and
#: that a single ranker must be ahead of its average to replace it. All were settled on samples of
#: CatBoost, LightGBM, MSLR, MQ2007 and ClueWeb09, on queries that were not chosen by.
_ALIKE = 1.0
_SINGLE = 2.0


@dataclass(frozen=True, eq=False)
class _Leg:
    """What the trials of a stage share: its rows, folds and number, and when it has to end."""

    rows: Rows
    folds: Sequence[Fold]
    stage: int
    until: float | None


@dataclass(eq=False)
class Search:
    """A search for the best candidate.

    Attributes
    ----------
    rows : Rows
        Rows to validate by.
    candidates : list of RankerCandidate
        What to choose from, the most promising first.
    plan : Plan
    measure : Measure
    seed : int
        Deals the folds and seeds the candidates.
    n_jobs : int or None
        Threads of every fit.
    average : bool
        Whether to try averages.
    """

    rows: Rows
    candidates: list[RankerCandidate]
    plan: Plan
    measure: Measure
    seed: int
    n_jobs: int | None
    average: bool = True
    _cells: dict[Key, Cell] = field(default_factory=dict)
    _fitted: dict[Key, Any] = field(default_factory=dict)
    _keep: Callable[[Cell], None] = field(default=lambda cell: None)
    _show: Show | None = None
    _total: float = 1.0
    _done: float = 0.0
    _began: float = 0.0

    def __post_init__(self) -> None:
        self.candidates = [self._seeded(one) for one in self.candidates]

    def _seeded(self, candidate: RankerCandidate) -> RankerCandidate:
        """Return the candidate with the seed of the search."""
        estimator = clone(candidate.estimator)
        if "random_state" in estimator.get_params(deep=False):
            estimator.set_params(random_state=self.seed)
        if getattr(estimator, "early_stopping_rounds", None) is not None:
            own = isinstance(self.measure, CustomMeasure)
            estimator.set_params(eval_metric=self.measure if own else self.measure.name)
        return replace(candidate, estimator=estimator)

    def run(self, store: PathLike | None, verbose: int) -> list[Trial]:
        """Compute what the plan asks for and is not in the store; return all trials.

        Parameters
        ----------
        store : str or path, optional
            Folder of finished cells.
        verbose : int
            Show the progress, as `progress_bar` does; 0 shows nothing.
        """
        self._began = time.perf_counter()
        parts = [drawn_rows(self.rows, stage.cells, self.seed) for stage in self.plan.stages]
        folds = [
            list(folds_of(part, self.plan.n_folds, stage.repeats, stage.folds, self.seed))
            for part, stage in zip(parts, self.plan.stages, strict=True)
        ]
        bar = progress_bar("choosing", 1000, wanted=bool(verbose), verbose=verbose)
        with self._opened(store, folds), bar as show:
            self._show = show
            self._total = self._all_work(parts, folds)
            return self._halve(parts, folds)

    def _all_work(self, parts: Sequence[Rows], folds: Sequence[Sequence[Fold]]) -> float:
        """Estimate the time of everything, in any unit."""
        total, last = 0.0, 0.0
        for stage, part, held in zip(self.plan.stages, parts, folds, strict=True):
            count = stage.candidates + 2 * stage.per_kind + 6 * stage.families
            last = _work(self.candidates[:count], part, len(held))
            total += last
        return total + (_AVERAGE_WORK * last if self.average else 0.0)

    @contextmanager
    def _opened(self, store: PathLike | None, folds: Sequence[Sequence[Fold]]) -> Iterator[None]:
        """Read the finished cells of a store, and keep it open for more."""
        if store is None:
            yield
            return
        folder = ResultFolder(store)
        with folder.opened(self._settings(folds)) as cells:
            self._cells, self._keep = dict(cells), folder.append
            yield

    def _settings(self, folds: Sequence[Sequence[Fold]]) -> ExperimentSettings:
        """Return the settings that decide the cells of the search."""
        splits = dict.fromkeys(str(fold.name) for held in folds for fold in held)
        protocol = {"protocol": "AutoRanker", "text": "folds, the last round"}
        tasks = {TASK: {"data": digest_of(self.rows), "splits": list(splits)}}
        contenders = (Contender(one.name, one.estimator) for one in self.candidates)
        return settings_record(self.seed, protocol, [self.measure], tasks, contenders)

    def _halve(self, parts: list[Rows], folds: list[list[Fold]]) -> list[Trial]:
        """Try all candidates in the first stage, and ever fewer of them in the next."""
        finished: dict[str, Trial] = {}
        alive = self.candidates
        count = len(self.plan.stages)
        for stage in range(count):
            until = self._until(_CANDIDATES_END * (stage + 1) / count)
            leg = _Leg(parts[stage], folds[stage], stage, until)
            self._fitted.clear()  # (only those of the last stage are averaged)
            now = [one for one in (self._try(one, leg) for one in alive) if one is not None]
            if self.plan.climbs:
                now += self._climb(now, leg)
            finished.update((one.name, one) for one in now)
            ready = [one for one in now if not one.failed]
            if not ready:
                break
            if stage + 1 < count:
                names = _survivors(ready, self.plan.stages[stage + 1])
                best_first = sorted(ready, key=lambda one: -one.value)
                alive = [one.candidate for one in best_first if one.name in names]
            elif self.average:
                averages = self._averages(ready, replace(leg, until=self._until(_AVERAGES_END)))
                finished.update((one.name, one) for one in averages)
        if all(one.failed for one in finished.values()):
            raise DataError(f"no ranker could be fitted: {next(iter(finished.values())).error}")
        return list(finished.values())

    def _climb(self, trials: Sequence[Trial], leg: _Leg) -> list[Trial]:
        """Try larger trees and more rounds as long as they pay; return these trials."""
        found: list[Trial] = []
        tried = {one.name for one in trials}
        while True:
            ready = [one for one in (*trials, *found) if not one.failed]
            last = leg.stage + 1 == len(self.plan.stages)
            # (a loss that is far behind with small trees may lead with larger ones)
            leaders = (_members(ready) if last else _leaders(ready))[: self.plan.climbs]
            more = next_sizes(leaders, ready, tried, len(leg.folds[0].train), last)
            tried.update(one.name for one in more)
            steps = (self._try(self._seeded(one), leg) for one in more)
            there = [one for one in steps if one is not None]
            if not there:
                return found
            found += there

    def _until(self, share: float) -> float | None:
        """Return when a stage has to end, by the clock; None without one."""
        return None if self.plan.seconds is None else self._began + share * self.plan.seconds

    def _try(self, candidate: RankerCandidate, leg: _Leg) -> Trial | None:
        """Validate a candidate on some folds; None where the clock does not allow it."""
        cells = []
        for fold in leg.folds:
            key = (TASK, str(fold.name), candidate.name)
            if key not in self._cells:
                first = leg.stage == 0 and candidate is self.candidates[0]
                if _is_over(leg.until) and not first:
                    return None
                how = (self.measure, self.n_jobs, self._fitted)
                self._add(compute_cell(key, candidate, leg.rows, fold, *how))
            cells.append(self._cells[key])
            self._advance(_work([candidate], leg.rows, 1), candidate.name)
            if cells[-1]["status"] != "ok":
                break
        seconds = math.fsum(
            c["seconds"] for key, c in self._cells.items() if key[2] == candidate.name
        )
        return self._trial(candidate, cells, leg, seconds)

    def _trial(
        self, candidate: RankerCandidate, cells: list[Cell], leg: _Leg, seconds: float
    ) -> Trial:
        has_queries = leg.rows.qid is not None
        return Trial.of(candidate, cells, self.measure, leg.stage, seconds, has_queries)

    def _add(self, cell: Cell) -> None:
        """Keep a cell, in the store first."""
        self._keep(cell)
        self._cells[key_of(cell)] = cell

    def _advance(self, work: float, note: str) -> None:
        self._done += work
        if self._show is not None:
            self._show(min(999, round(1000 * self._done / self._total)), note)

    def _averages(self, ready: Sequence[Trial], leg: _Leg) -> list[Trial]:
        """Try the average of the best of every family: of stumps, also of pairs, also of trees.

        Returns what there is to choose from: averages, or single rankers that are clearly better
        than theirs.
        """
        found: dict[str, Trial] = {}
        for kind in (1, 2, 3):
            simple = [one for one in ready if KINDS.index(one.kind) <= kind]
            members = _members(simple)[: self.plan.averaged]
            if not members:
                continue
            trial = self._average(members, leg)
            if trial is None:
                trial = members[0]
            else:
                found.setdefault(trial.name, trial)
                gap = members[0].gap(trial)
                if gap.mean > _SINGLE * gap.error:
                    trial = members[0]
            found[trial.name] = replace(trial, enters=True)
        return list(found.values())

    def _average(self, members: Sequence[Trial], leg: _Leg) -> Trial | None:
        """Measure the average of some candidates; None of a single one, or out of time."""
        if len(members) < 2:
            return None
        average = _average_of(members)
        cells, seconds = [], 0.0
        for fold in leg.folds:
            scored = [self._scores(one, leg, fold) for one in members]
            there = [one for one in scored if one is not None and one["status"] == "ok"]
            if len(there) < len(members):
                return None
            # (what was tried already has measures, and is counted there)
            seconds += math.fsum(one["seconds"] for one in there if "measures" not in one)
            key = (TASK, str(fold.name), average.name)
            cells.append(average_cell(key, there, average.shares, leg.rows, fold, self.measure))
        return self._trial(average, cells, leg, seconds)

    def _scores(self, trial: Trial, leg: _Leg, fold: Fold) -> Cell | None:
        """Return the scores of held-out rows at a trial's number of rounds; None out of time."""
        tried = self._cells[TASK, str(fold.name), trial.name]
        if "scores" in tried:
            return tried
        key = (TASK, str(fold.name), f"{_with_rounds(trial)}: scores")
        if key not in self._cells:
            if _is_over(leg.until):
                return None
            estimator = fresh(trial.candidate, self.n_jobs, trial.rounds)
            fitted = self._fitted.get((TASK, str(fold.name), trial.name))
            self._add(compute_scores(key, estimator, leg.rows, fold, self.n_jobs, fitted))
        work = _AVERAGE_WORK * _work([trial.candidate], leg.rows, 1)
        self._advance(work, f"average: {trial.name}")
        return self._cells[key]


def _is_over(until: float | None) -> bool:
    return until is not None and time.perf_counter() > until


def _with_rounds(trial: Trial) -> str:
    """Return the name of a trial with its number of rounds."""
    return (
        trial.name if trial.rounds is None else f"{trial.name} ({counted(trial.rounds, 'round')})"
    )


def _average_of(members: Sequence[Trial]) -> RankerCandidate:
    """Return the average of candidates, each with its best number of rounds."""
    estimators = [fresh(one.candidate, None, one.rounds) for one in members]
    kind = KINDS[max(KINDS.index(one.kind) for one in members)]
    names = tuple(_with_rounds(one) for one in members)
    name = f"average of {len(names)}, {kind}"
    parts = [_part(one, members[0]) for one in members]
    shares = tuple(round(part / math.fsum(parts), 3) for part in parts)
    estimator = AverageRanker(rankers=estimators, parts=shares)
    return RankerCandidate(name, kind, "average", estimator, members=names, shares=shares)


def _members(trials: Sequence[Trial]) -> list[Trial]:
    """Return the best of every family, best first, without those far behind the very best."""
    ranked = _leaders(trials)
    return [one for one in ranked if _part(one, ranked[0]) >= _LEAST]


def _leaders(trials: Sequence[Trial]) -> list[Trial]:
    """Return the best of every family, best first."""
    best: dict[str, Trial] = {}
    for one in sorted(trials, key=lambda one: -one.value):
        best.setdefault(one.candidate.family, one)
    return list(best.values())


def _part(trial: Trial, best: Trial) -> float:
    """Return the part of a ranker in an average, beside 1 for the best."""
    gap = best.gap(trial)
    if not gap.mean > 0.0:
        return 1.0
    return exp(-0.5 * (gap.mean / (_FADING * gap.error)) ** 2) if gap.error else 0.0


def _work(candidates: Sequence[RankerCandidate], rows: Rows, folds: int) -> float:
    """Estimate the time of some fits, in any unit."""
    cells = float(len(rows.y) * max(1, rows.X.n_features))
    return math.fsum(one.cost * (one.rounds or 1) for one in candidates) * cells * folds


def _survivors(ready: list[Trial], stage: Stage) -> set[str]:
    """Return who takes part in the next stage: the best, and some of every kind and family."""
    ranked = sorted(ready, key=lambda one: (-one.value, KINDS.index(one.kind)))
    kept = {one.name for one in ranked[: stage.candidates]}
    best: dict[tuple[str, str], Trial] = {}
    for one in ranked:
        best.setdefault((one.kind, one.candidate.family), one)
    for kind in KINDS:
        kept.update([one.name for key, one in best.items() if key[0] == kind][: stage.per_kind])
    for first in _members(ready) if stage.families else ():
        own = [one for one in ready if one.candidate.family == first.candidate.family]
        gaps = [first.gap(one) for one in own]
        kept.update(o.name for o, gap in zip(own, gaps) if not gap.mean > _ALIKE * gap.error)
    return kept


# --- The ranker that chooses among the others, as a scikit-learn estimator


_MEASURE = Rule(
    ("the name of a measure", "a Measure"),
    ("str", "Measure"),
    lambda value: isinstance(value, str) or hasattr(value, "prepare"),
)
_PATH = Rule(
    ("a path",), ("str", "path"), lambda value: isinstance(value, str | os.PathLike) and bool(value)
)


@with_parameters
class AutoRanker(Ranker[FrozenModel]):
    """Choose a ranker, its settings and its number of rounds by validation.

    Candidates are linear rankers, boosted stumps, tables of pairs of features and trees, under
    several losses. Whole queries are held out, or rows where there are no queries. Successive
    halving tries all candidates on few folds and the best of them on all; the number of rounds is
    the one with the best mean over all folds. The best rankers of all losses are averaged, which
    gives one sum of weak rankers again: of stumps and linear rankers alone, with pairs of
    features, and with trees. Their shares fade with the standard errors that they are behind the
    best, so that few queries, which tell losses apart by chance, leave them nearly equal. Of
    these averages the best is kept, or one that is simpler by ``noise``, and fitted to all rows.

    The fitted ranker is ``ranker_``, and ``model_`` is its model: what `save` writes is an
    ordinary model of that ranker.

    Attributes
    ----------
    ranker_ : object
        The chosen ranker, fitted to all rows.
    table_ : TriedRankers or None
        What was tried, what it cost, what was kept. None where the data are too few to choose by
        (fewer than 10 queries with different labels, or 200 rows without queries); the ranker is
        `RankBoost` then.
    choice_ : str
        What was kept and why.
    measure_ : str
        Name of the measure.

    Notes
    -----
    A named budget counts work, by the size of the data: the same data and seed give the same model
    on any machine, with any number of threads. Seconds are counted by the clock, which then decides
    which candidates are reached.

    Examples
    --------
    >>> from crucial import AutoRanker, make_letor
    >>> data = make_letor(n_queries=30, docs_per_query=10, n_features=5)
    >>> ranker = AutoRanker(0.1).fit(data.X, data.y, qid=data.qid)  # (a tenth of a second)
    >>> print(ranker.choice_)
    Kept ...: ndcg@10 ... over 14 held-out queries...
    """

    budget: Budget = parameter(
        either(one_of(*BUDGETS), above(0)),
        '"quick" tries nine rankers on two folds, "normal" fourteen on four and larger trees of '
        'the best two where these pay, "thorough" all, the best on five. Or seconds.',
        default="normal",
        kw_only=False,
    )
    measure: MeasureLike | None = parameter(
        none_or(either(_MEASURE, function)),
        'What to choose by. None: "ndcg@10", or "auc" without queries or with labels below 0.',
        default=None,
        kw_only=False,
    )
    interactions: int | None = parameter(
        one_of(None, 1, 2),
        "Most features that act together: 1 tries sums of functions of one feature each, 2 also "
        "pairs of features, None also trees without limits.",
        default=None,
    )
    average: bool = parameter(
        flag,
        "Average the best rankers of all losses into one model, which is steadier than any of "
        "them; a false value keeps a single ranker.",
        default=True,
    )
    noise: float = parameter(
        between(0, 10),
        "Standard errors of the paired difference that a simpler ranker may be behind the best. "
        "Larger values keep simpler rankers.",
        default=0.0,
    )
    store: PathLike | None = parameter(
        none_or(_PATH),
        "Folder that keeps every fit of the search as soon as it is finished: a search that was "
        "killed continues there. None keeps nothing.",
        default=None,
        shapes_model=False,
    )
    random_state: RandomState = RANDOM_STATE
    verbose: int = VERBOSE

    def _check_combinations(self) -> None:
        if self.store is not None and os.path.isfile(self.store):
            raise ParameterError(
                f"AutoRanker: store must be a folder, or a new name for one, and {self.store} is "
                "a file. Choose another name."
            )

    @documented
    def fit(
        self,
        X: TableLike,
        y: VectorLike,
        *,
        qid: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> Self:
        """Choose a ranker and fit it to all rows.

        Parameters
        ----------
        sample_weight : array of shape (n_rows,), optional
            A row of weight 2 counts as two rows in the fits, of weight 0 as none; weights below 1
            on average are first multiplied. Measures count all held-out rows equally, unless they
            are defined for weights.
        """
        data = self._input(X, y, qid, sample_weight)
        ids = data.groups.ids[data.groups.codes] if data.with_qid else None
        # Columns of text become numbers in every fit anew, by the labels it learns from.
        instances = data.instances.origin or data.instances
        rows = counted_rows(Rows(instances, data.known_labels, ids, data.weight))
        name = default_measure(rows.y, data.with_qid) if self.measure is None else self.measure
        measure = get_measure(name)
        self.measure_ = measure.name
        facts = Facts.of(data.instances.n_features, rows.y, rows.groups, data.with_qid)
        seed = self._seed()
        plan = plan_for(self.budget, facts)
        self.table_: TriedRankers | None = None
        if not plan.stages:
            ranker: Any = RankBoost(random_state=seed, n_jobs=self.n_jobs)
            count = f"{facts.n_queries} queries with different labels"
            if facts.n_queries is None:
                count = f"{facts.n_rows} rows"
            self.choice_ = f"RankBoost with its defaults: {count} are too few to choose by."
        else:
            candidates = candidates_for(facts, self.interactions, plan.stages[0].candidates)
            search = Search(rows, candidates, plan, measure, seed, self.n_jobs, self.average)
            trials = search.run(self.store, int(self.verbose))
            table = summarise_trials(trials, measure, str(self.budget), self.noise)
            self.table_, self.choice_ = table, table.choice
            validated = drawn_rows(rows, plan.stages[table.kept.stage].cells, seed)
            growth = len(rows.y) / len(validated.y)
            ranker = refitted(table.kept.candidate, self.n_jobs, table.rounds, growth)
        ranker.fit(rows.X, rows.y, qid=rows.qid, sample_weight=rows.weight)
        self.ranker_, self._encodings = ranker, ranker._encodings
        self._set_model(ranker.model_, data.with_qid)
        return self

    def fit_pairs(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: what is held out to choose by are queries of labels."""
        raise NotRankedError(
            "AutoRanker cannot learn from pairs: it chooses by held-out queries, or rows, with "
            "labels. Use fit(X, y, qid=...), or RankBoost().fit_pairs for pairs."
        )
