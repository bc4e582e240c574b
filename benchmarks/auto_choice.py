"""How AutoRanker's way to choose and to average fares, on queries that were not chosen by.

Run as ``python -m benchmarks auto_choice --data FOLDER ... [--cells FOLDER] [--sets NAME ...]``,
with folders as in `benchmarks.quality`. Every candidate is fitted to four fifths of the queries,
five times, and its scores of the fifth left out are kept in a file, at all rounds at which
`crucial.AutoRanker` measures it. After that nothing is fitted: the queries are dealt into five
parts, again and again; four parts play the held-out queries of a search, two fifths of which its
first stage, and the kept average is measured on the part left out. The search is the library's
own, with other constants for the variants.

A search on new data differs in one thing: it fits what it kept to all its rows. All variants
would profit alike.
"""

from __future__ import annotations

import argparse
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
SEED, NOISE, PARTS, FIRST_STAGE = 0, 0.25, 5, 0.4
#: Sets of more queries than the first are cut to the second: choosing by many is no art.
LARGE, DRAWN = 300, 120


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
    """

    candidate: RankerCandidate
    rounds: list[int]
    scores: Floats
    values: Floats


def rows_of(case: Case) -> Part:
    """Return the rows, or those of some queries of a large set."""
    rows = np.arange(len(case.y))
    queries = np.unique(np.asarray(case.qid))
    if len(queries) > LARGE:
        drawn = np.random.default_rng(100).permutation(len(queries))[:DRAWN]
        rows = rows[np.isin(np.asarray(case.qid), queries[drawn])]
    return part_of(case, rows)


def held_out(folder: Path, name: str, part: Part) -> list[HeldOut]:
    """Return all candidates of the normal budget; fit those that are not there yet."""
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
            rounds = [int(n) for n in kept["rounds"]]
        values = np.array([prepared.per_query(stage) for stage in scores])
        found.append(HeldOut(one, rounds, scores, values))
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
            fitted.fit(train)
        scores[:, fold.test], numbers[fold.test] = _staged(fitted, test, rounds), k
        own = _staged(fitted, train, rounds)
        spreads[:, k] = [score_spread(stage, train.groups) for stage in own]
    return {"S": scores, "SP": spreads, "fold": numbers, "rounds": rounds}


@dataclass(eq=False)
class Replayed(search.Search):
    """A search whose fits were done before: `_try` and `_average` look them up.

    Attributes
    ----------
    tried : dict
        Candidates by name.
    per_query : callable
        The measure of scores.
    stages : list of array
        Queries of the first stage, and of the last.
    seen : dict
        Values of all queries of everything that was tried.
    """

    tried: dict[str, HeldOut] = field(default_factory=dict)
    per_query: Any = None
    stages: list[Floats] = field(default_factory=list)
    seen: dict[str, Floats] = field(default_factory=dict)

    def kept(self, stages: list[Floats]) -> Floats:
        """Choose by some queries; return the values of all of them."""
        self.stages, self.seen = stages, {}
        nothing: list[Any] = [None, None]
        trials = self._halve(nothing, nothing)
        return self.seen[summarise_trials(trials, self.measure, "", NOISE).kept.name]

    def _climb(self, *arguments: Any) -> list[Trial]:
        """Try nothing: larger sizes were not fitted."""
        return []

    def _try(
        self, candidate: RankerCandidate, rows: Any, folds: Any, stage: int, until: Any
    ) -> Trial:
        own = self.tried[candidate.name]
        chosen = self.stages[stage]
        best = _best_stage(np.nanmean(own.values[:, chosen], axis=1))
        return self._trial(candidate, own.values[best], stage, own.rounds[best] or None)

    def _trial(
        self, candidate: RankerCandidate, values: Floats, stage: int, rounds: int | None
    ) -> Trial:
        self.seen[candidate.name] = values
        own = values[self.stages[stage]]
        return Trial(candidate, stage, PARTS, rounds, own, None, 0.0, 0.0)

    def _average(
        self, members: Sequence[Trial], rows: Any, folds: Any, stage: int, until: Any
    ) -> Trial | None:
        if len(members) < 2:
            return None
        average = search._average_of(members)
        scores: Any = 0.0
        for one, share in zip(members, average.shares, strict=True):
            own = self.tried[one.name]
            scores = scores + share * own.scores[own.rounds.index(one.rounds or 0)]
        return self._trial(average, self.per_query(scores), stage, None)


def _all_or_nothing(trial: Trial, best: Trial) -> float:
    """Return 1 within two standard errors of the best, 0 beyond."""
    gap = best.gap(trial)
    return float(not gap.mean > 2.0 * gap.error)


#: What is changed of the search, its plan or its last stage.
VARIANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "parts fade at two errors": {"_FADING": 2.0},
    "equal parts": {"_FADING": 1e9},
    "at most seven averaged": {"averaged": 7},
    "only the best of every loss stays": {"_ALIKE": 0.0},
    "everything stays": {"candidates": 99},
    "losses are dropped": {"families": False},
    "equal parts within two errors": {"_part": _all_or_nothing},
    "... at most seven, the best of every loss stays": {
        "_part": _all_or_nothing,
        "_ALIKE": 0.0,
        "averaged": 7,
    },
    "... at most seven, losses are dropped": {
        "_part": _all_or_nothing,
        "families": False,
        "averaged": 7,
    },
    "no symmetric trees": {"without": "symmetric"},
    "no average": {"average": False},
}


def deals(n_deals: int, queries: Floats) -> list[tuple[list[Floats], Floats]]:
    """Return the queries of both stages, and those left out; five of each deal."""
    found = []
    for number in range(n_deals):
        random = np.random.default_rng([SEED, number])
        part = random.permutation(len(queries)) % PARTS
        for k in range(PARTS):
            own = random.permutation(queries[part != k])
            first = own[: round(FIRST_STAGE * len(own))]
            found.append(([np.sort(first), np.sort(own)], queries[part == k]))
    return found


def results(tried: list[HeldOut], part: Part, n_deals: int) -> dict[str, Floats]:
    """Return the mean of the measure for every variant and deal."""
    rows = _rows(part)
    facts = Facts.of(part.X.shape[1], rows.y, part.groups, True)
    measure = get_measure(RANKING)
    plan = plan_for("thorough", facts)
    queries = np.flatnonzero(~np.isnan(tried[0].values[0]))
    found: dict[str, Floats] = {}
    for title, changes in VARIANTS.items():
        last = {k: v for k, v in changes.items() if k in ("families", "candidates")}
        own = replace(
            plan,
            stages=(plan.stages[0], replace(plan.stages[1], **last)),
            averaged=changes.get("averaged", plan.averaged),
        )
        player = Replayed(
            rows,
            [
                one.candidate
                for one in tried
                if changes.get("without", "?") not in one.candidate.name
            ],
            own,
            measure,
            SEED,
            1,
            changes.get("average", True),
            tried={one.candidate.name: one for one in tried},
            per_query=measure.prepare(rows.y, part.groups).per_query,
        )
        with ExitStack() as patched:
            for name in changes.keys() & {"_FADING", "_ALIKE", "_part"}:
                patched.enter_context(patch.object(search, name, changes[name]))
            values = [player.kept(stages)[rest].mean() for stages, rest in deals(n_deals, queries)]
        found[title] = np.reshape(values, (n_deals, PARTS)).mean(axis=1)
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
        changes = [one[title] - one[base] for one in columns.values()]
        mean = np.mean([change.mean() for change in changes])
        error = np.sqrt(sum(c.var() / len(c) for c in changes)) / len(changes)
        cells = [f"{one[title].mean():.4f} ± {one[title].std():.4f}" for one in columns.values()]
        rows.append([title, *cells, f"{mean:+.4f} ± {error:.4f}"])
    table(f"{RANKING} of queries not chosen by, ± its spread from deal to deal; mean difference "
          "to the first line, ± its standard error over the deals",
          ["variant", *columns, "difference"], rows)  # fmt: skip
