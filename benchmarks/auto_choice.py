"""How AutoRanker's way to choose and to average fares, on queries that were not chosen by.

Run as ``python -m benchmarks auto_choice --data FOLDER ... [--cells FOLDER] [--sets NAME ...]``,
with folders as in `benchmarks.quality`. Every candidate is fitted to four fifths of the queries,
five times, and its scores of the fifth left out are kept in a file, at all rounds at which
`crucial.AutoRanker` measures it. After that nothing is fitted: the queries are dealt into five
parts, again and again; four parts play the held-out queries of a search, of which every stage sees
the share that its folds hold out, and the kept average is measured on the part left out. The search
is the library's own, with other constants or other plans for the variants.

A search on new data differs in two things: it learns from fewer rows where it has few folds, and it
fits what it kept to all its rows. CPU seconds are those of the candidates that were tried, once per
fold, and of the members of the average, once more.
"""

from __future__ import annotations

import argparse
import re
import time
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import crucial.lab.auto_ranker as search
from benchmarks.contestants import Part
from benchmarks.datasets import Case, from_folder
from benchmarks.quality import RANKING, part_of
from benchmarks.timing import table
from crucial import RankBoost
from crucial.lab.auto_candidates import (
    Facts,
    RankerCandidate,
    Trial,
    _best_stage,
    candidates_for,
    plan_for,
    summarise_trials,
)
from crucial.lab.auto_ranker import _staged, folds_of, fresh, score_spread, stage_rounds
from crucial.lab.protocols import Rows
from crucial.lab.rankers import Adapter
from crucial.measures.names import get_measure

Floats = np.ndarray
SEED, NOISE, PARTS = 0, 0.0, 5
#: Sets of more queries than the first are cut to the second: choosing by many is no art.
LARGE, DRAWN = 300, 300


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What a candidate says of rows that it did not learn from.

    Attributes
    ----------
    candidate : Candidate
    rounds : list of int
        When it was measured.
    scores : array of shape (n_stages, n_rows)
        Divided by their spread on the rows learned from.
    values : array of shape (n_stages, n_queries)
        The measure.
    seconds : float
        CPU seconds of a fit.
    """

    candidate: RankerCandidate
    rounds: list[int]
    scores: Floats
    values: Floats
    seconds: float


def rows_of(case: Case) -> Part:
    """Return the rows, or those of some queries of a large set."""
    rows = np.arange(len(case.y))
    queries = np.unique(np.asarray(case.qid))
    if len(queries) > LARGE:
        drawn = np.random.default_rng(100).permutation(len(queries))[:DRAWN]
        rows = rows[np.isin(np.asarray(case.qid), queries[drawn])]
    return part_of(case, rows)


def held_out(folder: Path, name: str, part: Part) -> list[HeldOut]:
    """Return all candidates; fit those that are not there yet."""
    y = np.asarray(part.y, np.float64)
    facts = Facts.of(part.X.shape[1], y, part.groups, True)
    prepared = get_measure(RANKING).prepare(y, part.groups)
    found = []
    for one in candidates_for(facts, None, plan_for("thorough", facts).stages[0].candidates):
        path = folder / name / f"auto.{one.name.replace(' ', '_')}.npz"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            other = path.with_suffix(".part.npz")
            np.savez(other, **_fitted(one, part))
            other.replace(path)
            print(f"{name}: {one.name}", flush=True)
        with np.load(path) as kept:
            scores = kept["S"].astype(np.float64) / np.maximum(kept["SP"], 1e-12)[:, kept["fold"]]
            rounds, seconds = [int(n) for n in kept["rounds"]], float(kept["seconds"])
        values = np.array([prepared.per_query(stage) for stage in scores])
        found.append(HeldOut(one, rounds, scores, values, seconds))
    return found


def _rows(part: Part) -> Rows:
    """Return the rows as a search has them."""
    instances = RankBoost()._input(part.X, part.y, part.qid, None).instances
    return Rows(instances, np.asarray(part.y, np.float64), part.qid, None)


def _fitted(candidate: RankerCandidate, part: Part) -> dict[str, Any]:
    """Return scores of held-out rows, their spreads on the others, and the fold of every row."""
    rows = _rows(part)
    rounds = [0] if candidate.rounds is None else stage_rounds(candidate.rounds)
    scores = np.zeros((len(rounds), len(rows.y)), np.float32)
    spreads, numbers = np.zeros((len(rounds), PARTS)), np.zeros(len(rows.y), int)
    seconds = 0.0
    for k, fold in enumerate(folds_of(rows, PARTS, 1, PARTS, SEED)):
        train, test = rows.take(fold.train), rows.take(fold.test)
        ranker = fresh(candidate, 1)
        if "random_state" in ranker.get_params(deep=False):
            ranker.set_params(random_state=SEED)
        if getattr(ranker, "early_stopping_rounds", None) is not None:
            ranker.set_params(eval_metric=RANKING)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = Adapter.of(ranker, True, False)
            began = time.process_time()
            fitted.fit(train)
            seconds += (time.process_time() - began) / PARTS
        scores[:, fold.test], numbers[fold.test] = _staged(fitted, test, rounds), k
        own = _staged(fitted, train, rounds)
        spreads[:, k] = [score_spread(stage, train.groups) for stage in own]
    return {"S": scores, "SP": spreads, "fold": numbers, "rounds": rounds, "seconds": seconds}


@dataclass(eq=False)
class Replayed(search.Search):
    """A search whose fits were done before: `_try` and `_average` look them up.

    Attributes
    ----------
    tried : dict
        Candidates by name.
    per_query : callable
        The measure of scores.
    noise : float
        As of `crucial.AutoRanker`.
    stages : list of array
        Queries of every stage.
    seen : dict
        Values of all queries of everything that was tried.
    seconds : dict
        CPU seconds of every fit of the search, and of the last one.
    """

    tried: dict[str, HeldOut] = field(default_factory=dict)
    per_query: Any = None
    noise: float = NOISE
    stages: list[Floats] = field(default_factory=list)
    seen: dict[str, Floats] = field(default_factory=dict)
    seconds: dict[tuple[str, int], float] = field(default_factory=dict)

    def kept(self, queries: Floats) -> tuple[Floats, float]:
        """Choose by some queries; return the values of all of them, and the seconds."""
        used = [s.repeats * s.folds / self.plan.n_folds for s in self.plan.stages]
        self.stages = [np.sort(queries[: round(share * len(queries))]) for share in used]
        self.seen, self.seconds = {}, {}
        nothing: list[Any] = [[]] * len(used)
        table = summarise_trials(self._halve(nothing, nothing), self.measure, "", self.noise)
        kept = table.kept
        last = kept.candidate.members or (kept.name,)
        growth = PARTS / (PARTS - 1)
        for name in last:
            own = self.tried[name.split(" (")[0]]
            share = (table.rounds if name == kept.name else _rounds_of(name)) or 1
            rounds = own.candidate.rounds or 1
            self.seconds[name, -1] = growth * own.seconds * (share / rounds if rounds > 1 else 1.0)
        return self.seen[kept.name], sum(self.seconds.values())

    def _climb(self, *arguments: Any) -> list[Trial]:
        """Try nothing: larger sizes were not fitted."""
        return []

    def _try(self, candidate: RankerCandidate, leg: Any) -> Trial:
        own = self.tried[candidate.name]
        chosen = self.stages[leg.stage]
        for fold in range(self.plan.stages[leg.stage].folds):
            self.seconds[candidate.name, fold] = own.seconds
        best = _best_stage(np.nanmean(own.values[:, chosen], axis=1))
        return self._seen(candidate, own.values[best], leg.stage, own.rounds[best] or None)

    def _seen(
        self, candidate: RankerCandidate, values: Floats, stage: int, rounds: int | None
    ) -> Trial:
        self.seen[candidate.name] = values
        own = values[self.stages[stage]]
        return Trial(candidate, stage, PARTS, rounds, own, None, 0.0, 0.0)

    def _average(self, members: Sequence[Trial], leg: Any) -> Trial | None:
        if len(members) < 2:
            return None
        average = search._average_of(members)
        scores: Any = 0.0
        for one, share in zip(members, average.shares, strict=True):
            own = self.tried[one.name]
            scores = scores + share * own.scores[own.rounds.index(one.rounds or 0)]
        return self._seen(average, self.per_query(scores), leg.stage, None)


def _rounds_of(member: str) -> int:
    """Return the rounds that the name of a member ends with, or 0.

    Examples
    --------
    >>> _rounds_of("yeti, trees (192 rounds)"), _rounds_of("RankRLS")
    (192, 0)
    """
    found = re.search(r"\((\d+) rounds?\)$", member)
    return int(found[1]) if found else 0


def _all_or_nothing(trial: Trial, best: Trial) -> float:
    """Return 1 within two standard errors of the best, 0 beyond."""
    gap = best.gap(trial)
    return float(not gap.mean > 2.0 * gap.error)


#: What is changed of the search, of its plan, which is that of "normal" otherwise, or of its stage.
VARIANTS: dict[str, dict[str, Any]] = {
    "normal": {},
    "quick": {"budget": "quick"},
    "thorough": {"budget": "thorough"},
    "normal, noise 0.25": {"noise": 0.25},
    "normal, noise 1": {"noise": 1.0},
    "quick, noise 0.25": {"budget": "quick", "noise": 0.25},
    "thorough, noise 0.25": {"budget": "thorough", "noise": 0.25},
    "parts fade at two errors": {"_FADING": 2.0},
    "equal parts": {"_FADING": 1e9},
    "equal parts within two errors": {"_part": _all_or_nothing},
    "at most seven averaged": {"averaged": 7},
    "no average": {"average": False},
}
_OF_STAGE, _OF_PLAN = ("candidates", "folds"), ("averaged",)
_OF_SEARCH = ("_FADING", "_ALIKE", "_SINGLE", "_part")


def deals(n_deals: int, queries: Floats) -> list[tuple[Floats, Floats]]:
    """Return the queries to choose by, shuffled, and those left out; five of each deal."""
    found = []
    for number in range(n_deals):
        random = np.random.default_rng([SEED, number])
        part = random.permutation(len(queries)) % PARTS
        found += [
            (random.permutation(queries[part != k]), queries[part == k]) for k in range(PARTS)
        ]
    return found


def results(tried: list[HeldOut], part: Part, n_deals: int) -> dict[str, tuple[Floats, float]]:
    """Return the mean of the measure for every variant and deal, and the mean CPU seconds."""
    rows = _rows(part)
    facts = Facts.of(part.X.shape[1], rows.y, part.groups, True)
    measure = get_measure(RANKING)
    queries = np.flatnonzero(~np.isnan(tried[0].values[0]))
    found: dict[str, tuple[Floats, float]] = {}
    for title, changes in VARIANTS.items():
        plan = plan_for(changes.get("budget", "normal"), facts)
        of_stage = {name: changes[name] for name in _OF_STAGE if name in changes}
        plan = replace(
            plan,
            stages=(*plan.stages[:-1], replace(plan.stages[-1], **of_stage)),
            **{name: changes[name] for name in _OF_PLAN if name in changes},
        )
        candidates = [one.candidate for one in tried]
        if "only" in changes:
            candidates = [c for n in changes["only"] for c in candidates if c.name.startswith(n)]
        player = Replayed(
            rows, candidates[: plan.stages[0].candidates], plan, measure, SEED, 1,
            changes.get("average", True),
            tried={one.candidate.name: one for one in tried},
            per_query=measure.prepare(rows.y, part.groups).per_query,
            noise=changes.get("noise", NOISE),
        )  # fmt: skip
        with ExitStack() as patched:
            for name in _OF_SEARCH:
                if name in changes:
                    patched.enter_context(patch.object(search, name, changes[name]))
            kept = [(player.kept(own), rest) for own, rest in deals(n_deals, queries)]
        values = np.reshape([one[rest].mean() for (one, _), rest in kept], (n_deals, PARTS))
        found[title] = values.mean(axis=1), float(np.mean([seconds for (_, seconds), _ in kept]))
    return found


def main(arguments: list[str] | None = None) -> None:
    text = __doc__.split("\n")[0]
    parser = argparse.ArgumentParser(prog="benchmarks auto_choice", description=text)
    parser.add_argument("--data", metavar="FOLDER", nargs="+", required=True, help="of data")
    parser.add_argument("--cells", metavar="FOLDER", default="quality-cells", help="where fits are")
    parser.add_argument("--sets", metavar="NAME", nargs="+", help="only these data sets")
    parser.add_argument("--deals", metavar="N", type=int, default=25, help="times five parts")
    options = parser.parse_args(arguments)
    cases = [case for one in options.data for case in from_folder(Path(one))]
    cases = [case for case in cases if options.sets is None or case.name in options.sets]
    columns = {}
    for case in sorted(cases, key=lambda case: len(case.y)):
        part = rows_of(case)
        tried = held_out(Path(options.cells), case.name, part)
        columns[case.name] = results(tried, part, options.deals)
    base = next(iter(VARIANTS))
    rows = []
    for title in VARIANTS:
        changes = [one[title][0] - one[base][0] for one in columns.values()]
        mean = np.mean([change.mean() for change in changes])
        error = np.sqrt(sum(c.var() / len(c) for c in changes)) / len(changes)
        cells = [
            f"{values.mean():.4f}, {seconds:.1f} s"
            for values, seconds in (one[title] for one in columns.values())
        ]
        rows.append([title, *cells, f"{mean:+.4f} ± {error:.4f}"])
    table(f"{RANKING} of queries not chosen by, and CPU seconds; mean difference to the first, "
          "± its standard error over the deals",
          ["variant", *columns, "difference"], rows)  # fmt: skip
