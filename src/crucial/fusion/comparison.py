"""Compare runs, fusion rules and the learned fusion on held-out queries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from crucial.data.words import name_places
from crucial.errors import DataError
from crucial.fusion.learning import LearningOptions, Progress, learn_judged, tuned_rrf
from crucial.fusion.pool import Listing, Pool, Runs
from crucial.fusion.ranker import FusionRanker
from crucial.fusion.rules import MEASURED, METHODS, Fusion, Judging, sorted_by_name
from crucial.measures.base import summarise
from crucial.measures.intervals import paired_test
from crucial.measures.names import get_measure
from crucial.parameters import at_least, between, check
from crucial.results import Frame, Result, as_frame, text_table
from crucial.types import Bools, Floats
from crucial.wording import counted, printable

# --- The result of comparing runs, fusion rules and the learned fusion


_SPAN = "{:+.4f} [{:+.3f}, {:+.3f}]"
#: A difference, and the lower and upper end of its interval.
Difference: TypeAlias = tuple[float, float, float]


@dataclass(frozen=True)
class SystemResult:
    """The quality of a run or a fusion on the held-out queries.

    Attributes
    ----------
    name : str
    kind : {"run", "fusion", "learned"}
    values : dict
        Value by measure.
    differences : dict
        By measure: the value minus that of the baseline, and the ends of a 95% bootstrap
        interval over the same queries.
    unjudged : float
        Share of unjudged documents among the first ten.
    """

    name: str
    kind: str
    values: dict[str, float]
    differences: dict[str, Difference]
    unjudged: float


@dataclass(frozen=True)
class Loners:
    """The documents that only one run returned, and how they are ranked.

    Attributes
    ----------
    share : float
        Their share of the held-out pool.
    relevant, relevant_others : float
        Share of relevant documents among them, and among the others.
    first_ten, first_ten_rrf : float
        Their share of the first ten of the learned fusion, and of reciprocal rank fusion.
    by_run : dict
        For each run: the number of documents that it alone returned, how many of them are
        relevant, and how many are in the first ten of the learned fusion.
    """

    share: float
    relevant: float
    relevant_others: float
    first_ten: float
    first_ten_rrf: float
    by_run: dict[str, tuple[int, int, int]]


@dataclass(frozen=True, eq=False, repr=False)
class FusionComparison(Result):
    """Every system on the same held-out queries.

    Attributes
    ----------
    measures : tuple of str
    baseline : str
        The run that is best on the training queries by the first measure.
    rrf : str
        Name of reciprocal rank fusion with the k tuned on the training queries.
    systems : list of SystemResult
        Runs, then fusion rules, then the learned fusion.
    against_rrf : dict
        By measure: learned minus tuned reciprocal rank fusion, with its interval.
    loners : Loners
    fusion : FusionRanker
        Learned from the training queries alone.
    train_queries, test_queries : list of str
    """

    _bars = ("difference",)

    measures: tuple[str, ...]
    baseline: str
    rrf: str
    systems: list[SystemResult]
    against_rrf: dict[str, Difference]
    loners: Loners
    fusion: FusionRanker
    train_queries: list[str]
    test_queries: list[str]

    def __getitem__(self, name: str) -> SystemResult:
        for one in self.systems:
            if one.name == name:
                return one
        raise KeyError(f"no system {name!r}; there are: {', '.join(s.name for s in self.systems)}")

    @property
    def learned(self) -> SystemResult:
        """The learned fusion."""
        return self.systems[-1]

    def to_frame(self) -> Frame:
        """Return one row per system; differences and their intervals are of the first measure."""
        first = self.measures[0]
        columns: dict[str, list[object]] = {
            "system": [one.name for one in self.systems],
            "kind": [one.kind for one in self.systems],
        }
        for name in self.measures:
            columns[name] = [one.values[name] for one in self.systems]
        for place, end in enumerate(("difference", "low", "high")):
            columns[end] = [one.differences[first][place] for one in self.systems]
        return as_frame({**columns, "unjudged": [one.unjudged for one in self.systems]})

    def text(self, width: int = 100) -> str:
        """Return the comparison as lines of text, with tables of at most some width."""
        first, baseline, alone = self.measures[0], printable(self.baseline, 200), self.loners
        rows = []
        for one in self.systems:
            span = "best run in training"
            if one.name != self.baseline:
                span = _SPAN.format(*one.differences[first])
            values = [f"{one.values[name]:.4f}" for name in self.measures]
            rows.append([printable(one.name, 200), *values, span, f"{one.unjudged:.1%}"])
        heads = ["system", *self.measures, f"{first} against best run", "unjudged@10"]
        counts = [
            [printable(name, 200), *(f"{count:,}" for count in three)]
            for name, three in alone.by_run.items()
        ]
        lines = [
            f"{counted(len(self.test_queries), 'held-out query')}, "
            f"{len(self.train_queries)} to learn from",
            *text_table(heads, rows, width=width),
            f"learned against {self.rrf}, its k tuned on training queries: {first} "
            + _SPAN.format(*self.against_rrf[first]),
            f"differences over the same queries, 95% bootstrap intervals; {baseline} is the best "
            f"run on training queries; unjudged documents count as not relevant; {MEASURED}",
            *(f"{name}: {get_measure(name).description_of('query')}" for name in self.measures),
            "\ndocuments that only one run returned",
            f"{alone.share:.0%} of all; {alone.relevant:.1%} of them are relevant, of the others "
            f"{alone.relevant_others:.1%}. They make up {alone.first_ten:.1%} of the first ten of "
            f"the learned fusion, {alone.first_ten_rrf:.1%} of {self.rrf}.",
            *text_table(["run", "alone", "relevant", "in the first ten"], counts, width=width),
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()


# --- Compare runs, fusion rules and the learned fusion on held-out queries


#: Depth at which unjudged documents and documents of a single run are counted.
UNJUDGED_DEPTH = 10


def compare_fusions(
    runs: Runs | Pool,
    qrels: object,
    *,
    holdout: float = 0.3,
    measures: Sequence[str] = ("map", "ndcg@10"),
    random_state: int = 0,
    progress: Progress | None = None,
    **learning: Any,
) -> FusionComparison:
    """Learn a fusion from a part of the queries, and compare it with all others on the rest.

    Everything is chosen on the training queries alone: the settings of the learned fusion, k of
    reciprocal rank fusion, and the run that is the baseline.

    Parameters
    ----------
    runs, qrels
        As in `learn_fusion`.
    holdout : float
        Share of the judged queries to hold out.
    measures : sequence of str
        Settings are chosen by the first.
    random_state : int
        Seed of the split of the queries and of the folds.
    progress : function of str, optional
        Called with the setting that is tried next.
    **learning
        As in `learn_fusion`.
    """
    names = [get_measure(one).name for one in measures]
    options = LearningOptions(measure=names[0], random_state=random_state, **learning)
    return compare_judged(Judging.of(runs, qrels), options, names, holdout, progress)


def compare_judged(
    judging: Judging,
    options: LearningOptions,
    measures: Sequence[str],
    holdout: float,
    progress: Progress | None = None,
) -> FusionComparison:
    """Compare systems on held-out queries of a pool; parameters as in `compare_fusions`."""
    judging = sorted_by_name(judging)
    held = hold_out(judging, holdout, options.random_state)
    train = judging.of_queries(judging.judged_queries & ~held)
    test = judging.of_queries(held)
    fusion = learn_judged(train, options, progress)
    tuned = tuned_rrf(train, measures[0])
    table = _Table(test, measures)
    for name, listing in zip(test.pool.names, test.pool.lists):
        table.add(name, "run", listing)
    rules = [Fusion("rrf", 60.0), *([tuned] if tuned.k != 60.0 else [])]
    rules += [Fusion(method, normalise=options.normalise) for method in METHODS if method != "rrf"]
    shown_as = {rule: table.add(rule.name, "fusion", rule.scores(test.pool)) for rule in rules}
    scores = fusion.scores(test.pool)
    learned = table.add("learned", "learned", scores)
    baseline = _best_run(train, measures[0])
    return FusionComparison(
        tuple(measures),
        baseline,
        tuned.name,
        table.systems(baseline, options.random_state),
        table.differences(shown_as[tuned], learned, options.random_state),
        _loners(test, scores, tuned.scores(test.pool)),
        fusion,
        train.pool.queries.tolist(),
        test.pool.queries.tolist(),
    )


def hold_out(judging: Judging, holdout: float, seed: int) -> Bools:
    """Return which queries of the pool are held out: a random part of the judged ones."""
    check("compare_fusions", "holdout", holdout, between(0, 0.9, low_open=True))
    check("compare_fusions", "random_state", seed, at_least(0))
    judged = np.flatnonzero(judging.judged_queries)
    # (by name, so that the order of the runs does not change the split)
    judged = judged[np.argsort(name_places(judging.pool.queries[judged].tolist()))]
    count = max(2, round(holdout * len(judged)))
    if len(judged) - count < 2:
        raise DataError(
            f"{len(judged)} judged queries are too few to hold out {count} of them; judge more "
            "queries, or hold out none."
        )
    out = np.zeros(judging.pool.n_queries, bool)
    out[np.random.default_rng(seed).permutation(judged)[:count]] = True
    return out


class _Table:
    """Measures of all systems on the test queries, by the name of the system."""

    def __init__(self, test: Judging, measures: Sequence[str]) -> None:
        self._test, self._measures = test, measures
        self._kind: dict[str, str] = {}
        self._values: dict[str, dict[str, Floats]] = {}
        self._unjudged: dict[str, float] = {}

    def add(self, name: str, kind: str, ranking: Floats | Listing) -> str:
        """Measure a system; return its name, which is starred if it is taken."""
        while name in self._kind:  # (a run may have the name of a fusion)
            name += "*"
        self._kind[name] = kind
        self._values[name] = {m: self._test.values(m, ranking) for m in self._measures}
        self._unjudged[name] = self._test.unjudged(UNJUDGED_DEPTH, ranking)
        return name

    def differences(self, first: str, second: str, seed: int) -> dict[str, Difference]:
        """Return the second system minus the first by measure, with bootstrap intervals."""
        out = {}
        for measure in self._measures:
            values = (self._values[name][measure] for name in (first, second))
            test = paired_test(*values, resamples=1, random_state=seed)
            out[measure] = (test.difference, test.low, test.high)
        return out

    def systems(self, baseline: str, seed: int) -> list[SystemResult]:
        """Return every system, compared with the baseline."""
        return [
            SystemResult(
                name,
                kind,
                {m: _summary(m, values) for m, values in self._values[name].items()},
                self.differences(baseline, name, seed),
                self._unjudged[name],
            )
            for name, kind in self._kind.items()
        ]


def _summary(measure: str, values: Floats) -> float:
    return summarise(values, None, get_measure(measure).aggregate, "skip")[0]


def _best_run(train: Judging, measure: str) -> str:
    """Return the name of the run that is best on the training queries."""
    target = get_measure(measure)
    sign = 1.0 if target.higher_is_better else -1.0
    values = [sign * _summary(measure, train.values(target, one)) for one in train.pool.lists]
    values = [-math.inf if math.isnan(value) else value for value in values]
    return train.pool.names[int(np.argmax(values))]


def _loners(test: Judging, learned: Floats, rrf: Floats) -> Loners:
    """Count the documents that one run alone returned."""
    pool = test.pool
    alone = pool.n_returned == 1
    relevant = test.labels > 0
    top, top_rrf = _first(pool, learned), _first(pool, rrf)
    by_run = {}
    for name, one in zip(pool.names, pool.lists):
        own = one.rows[alone[one.rows]]
        by_run[name] = (len(own), int(relevant[own].sum()), int(top[own].sum()))
    return Loners(
        float(alone.mean()),
        _share(relevant, alone),
        _share(relevant, ~alone),
        _share(alone, top),
        _share(alone, top_rrf),
        by_run,
    )


def _share(part: Bools, whole: Bools) -> float:
    return float(part[whole].mean()) if whole.any() else 0.0


def _first(pool: Pool, scores: Floats) -> Bools:
    """Return which rows are among the first ten of their query."""
    order = pool.best_first(scores)
    out = np.zeros(pool.n_rows, bool)
    out[order[pool.place_in_query(order) < UNJUDGED_DEPTH]] = True
    return out
