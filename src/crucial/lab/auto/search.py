"""Successive halving: many candidates on few folds, the best of them on all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from sklearn.base import clone

from crucial import __version__
from crucial.errors import DataError
from crucial.kernels.elementary import exp
from crucial.lab.auto.blend import AverageRanker
from crucial.lab.auto.candidates import KINDS, RankerCandidate
from crucial.lab.auto.cells import TASK, average_cell, compute_cell, compute_scores, fresh
from crucial.lab.auto.climb import next_sizes
from crucial.lab.auto.plan import Plan, Stage
from crucial.lab.auto.rows import Rows, folds_of
from crucial.lab.auto.trials import Trial
from crucial.lab.experiment import measure_record, session_record
from crucial.lab.folds import Fold
from crucial.lab.rankers import Contender
from crucial.lab.records import Cell, ExperimentSettings, Key, key_of
from crucial.lab.store import FORMAT, ResultFolder
from crucial.measures.base import CustomMeasure, Measure
from crucial.progress import Show, progress_bar
from crucial.results import json_value
from crucial.types import PathLike
from crucial.wording import counted

__all__ = ["Search"]

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


@dataclass(eq=False)
class Search:
    """A search for the best candidate.

    Attributes
    ----------
    rows : Rows
        Rows to validate by.
    candidates : list of Candidate
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
        parts = [self.rows.drawn(stage.cells, self.seed) for stage in self.plan.stages]
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
        """Return everything that decides the cells."""
        splits = dict.fromkeys(str(fold.name) for held in folds for fold in held)
        rankers = {
            one.name: Contender(one.name, one.estimator).settings() for one in self.candidates
        }
        found: ExperimentSettings = json_value(
            {
                "format": FORMAT,
                "crucial": __version__,
                "seed": self.seed,
                "protocol": {"protocol": "AutoRanker", "text": "folds, the last round"},
                "measures": [measure_record(self.measure)],
                "tasks": {TASK: {"data": self.rows.digest(), "splits": list(splits)}},
                "rankers": rankers,
                "sessions": [session_record()],
            }
        )
        return found

    def _halve(self, parts: list[Rows], folds: list[list[Fold]]) -> list[Trial]:
        """Try all candidates in the first stage, and ever fewer of them in the next."""
        finished: dict[str, Trial] = {}
        alive = self.candidates
        count = len(self.plan.stages)
        for stage in range(count):
            until = self._until(_CANDIDATES_END * (stage + 1) / count)
            self._fitted.clear()  # (only those of the last stage are averaged)
            tried = (self._try(one, parts[stage], folds[stage], stage, until) for one in alive)
            now = [one for one in tried if one is not None]
            now += self._climb(now, parts[stage], folds[stage], stage, until)
            finished.update((one.name, one) for one in now)
            ready = [one for one in now if not one.failed]
            if not ready:
                break
            if stage + 1 < count:
                names = _survivors(ready, self.plan.stages[stage + 1])
                best_first = sorted(ready, key=lambda one: -one.value)
                alive = [one.candidate for one in best_first if one.name in names]
                continue
            if self.average:
                until = self._until(_AVERAGES_END)
                averages = self._averages(ready, parts[stage], folds[stage], stage, until)
                finished.update((one.name, one) for one in averages)
        if all(one.failed for one in finished.values()):
            raise DataError(f"no ranker could be fitted: {next(iter(finished.values())).error}")
        return list(finished.values())

    def _climb(
        self,
        trials: Sequence[Trial],
        rows: Rows,
        folds: Sequence[Fold],
        stage: int,
        until: float | None,
    ) -> list[Trial]:
        """Try larger trees and more rounds as long as they pay; return these trials."""
        found: list[Trial] = []
        tried = {one.name for one in trials}
        while True:
            ready = [one for one in (*trials, *found) if not one.failed]
            last = stage + 1 == len(self.plan.stages)
            # (a loss that is far behind with small trees may lead with larger ones)
            leaders = _members(ready) if last else _leaders(ready)
            more = next_sizes(leaders, ready, tried, len(folds[0].train), last)
            tried.update(one.name for one in more)
            steps = (self._try(self._seeded(one), rows, folds, stage, until) for one in more)
            there = [one for one in steps if one is not None]
            if not there:
                return found
            found += there

    def _until(self, share: float) -> float | None:
        """Return when a stage has to end, by the clock; None without one."""
        if self.plan.seconds is None:
            return None
        return self._began + share * self.plan.seconds

    def _try(
        self,
        candidate: RankerCandidate,
        rows: Rows,
        folds: Sequence[Fold],
        stage: int,
        until: float | None,
    ) -> Trial | None:
        """Validate a candidate on some folds; None where the clock does not allow it."""
        cells = []
        for fold in folds:
            key = (TASK, str(fold.name), candidate.name)
            if key not in self._cells:
                first = stage == 0 and candidate is self.candidates[0]
                if _is_over(until) and not first:
                    return None
                how = (self.measure, self.n_jobs, self._fitted)
                self._add(compute_cell(key, candidate, rows, fold, *how))
            cells.append(self._cells[key])
            self._advance(_work([candidate], rows, 1), candidate.name)
            if cells[-1]["status"] != "ok":
                break
        seconds = sum(c["seconds"] for key, c in self._cells.items() if key[2] == candidate.name)
        has_queries = rows.qid is not None
        return Trial.of(candidate, cells, self.measure, stage, seconds, has_queries)

    def _add(self, cell: Cell) -> None:
        """Keep a cell, in the store first."""
        self._keep(cell)
        self._cells[key_of(cell)] = cell

    def _advance(self, work: float, note: str) -> None:
        self._done += work
        if self._show is not None:
            self._show(min(999, round(1000 * self._done / self._total)), note)

    def _averages(
        self,
        ready: Sequence[Trial],
        rows: Rows,
        folds: Sequence[Fold],
        stage: int,
        until: float | None,
    ) -> list[Trial]:
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
            trial = self._average(members, rows, folds, stage, until)
            if trial is None:
                trial = members[0]
            else:
                found.setdefault(trial.name, trial)
                gap = members[0].gap(trial)
                if gap.mean > _SINGLE * gap.error:
                    trial = members[0]
            found[trial.name] = replace(trial, enters=True)
        return list(found.values())

    def _average(
        self,
        members: Sequence[Trial],
        rows: Rows,
        folds: Sequence[Fold],
        stage: int,
        until: float | None,
    ) -> Trial | None:
        """Measure the average of some candidates; None of a single one, or out of time."""
        if len(members) < 2:
            return None
        average = _average_of(members)
        cells, seconds = [], 0.0
        for fold in folds:
            scored = [self._scores(one, rows, fold, until) for one in members]
            there = [one for one in scored if one is not None and one["status"] == "ok"]
            if len(there) < len(members):
                return None
            # (what was tried already has measures, and is counted there)
            seconds += sum(one["seconds"] for one in there if "measures" not in one)
            key = (TASK, str(fold.name), average.name)
            cells.append(average_cell(key, there, average.shares, rows, fold, self.measure))
        return Trial.of(average, cells, self.measure, stage, seconds, rows.qid is not None)

    def _scores(self, trial: Trial, rows: Rows, fold: Fold, until: float | None) -> Cell | None:
        """Return the scores of held-out rows at a trial's number of rounds; None out of time."""
        tried = self._cells[TASK, str(fold.name), trial.name]
        if "scores" in tried:
            return tried
        key = (TASK, str(fold.name), f"{_with_rounds(trial)}: scores")
        if key not in self._cells:
            if _is_over(until):
                return None
            estimator = fresh(trial.candidate, self.n_jobs, trial.rounds)
            fitted = self._fitted.get((TASK, str(fold.name), trial.name))
            self._add(compute_scores(key, estimator, rows, fold, self.n_jobs, fitted))
        self._advance(_AVERAGE_WORK * _work([trial.candidate], rows, 1), f"average: {trial.name}")
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
    shares = tuple(round(part / sum(parts), 3) for part in parts)
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
    cells = float(len(rows.y) * max(1, rows.instances.n_features))
    return sum(one.cost * (one.rounds or 1) for one in candidates) * cells * folds


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
