"""Compare runs, fusion rules and the learned fusion on held-out queries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np

from crucial.data.words import name_places
from crucial.errors import DataError
from crucial.fusion.learning import LearningOptions, Progress, learn_judged, tuned_rrf
from crucial.fusion.pool import Listing, Pool, Runs
from crucial.fusion.ranker import FusionRanker
from crucial.fusion.rules import METHODS, Fusion, Judging, sorted_by_name
from crucial.measures.base import summarise
from crucial.measures.intervals import paired_test
from crucial.measures.names import get_measure
from crucial.notebook import HtmlResult, HtmlTable
from crucial.parameters import at_least, between, check
from crucial.types import Bools, Floats
from crucial.wording import counted, printable

# --- The result of comparing runs, fusion rules and the learned fusion


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
class Loners(HtmlResult):
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

    def _html_title(self) -> str:
        return f"Documents of one run alone: {self.share:.1%} of the pool"

    def _html_tables(self) -> list[HtmlTable]:
        counts = list(zip(*self.by_run.values(), strict=True)) or [(), (), ()]
        columns: dict[str, Sequence[object]] = {
            "run": list(self.by_run),
            "documents": counts[0],
            "relevant": counts[1],
            "in the first ten": counts[2],
        }
        return [HtmlTable(columns, {"documents": None})]

    def _html_notes(self) -> list[str]:
        return [
            f"{self.relevant:.1%} of them are relevant ({self.relevant_others:.1%} of the others); "
            f"they are {self.first_ten:.1%} of the first ten, {self.first_ten_rrf:.1%} by "
            "reciprocal rank fusion."
        ]


@dataclass(frozen=True, eq=False)
class FusionComparison(HtmlResult):
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

    def to_rows(self) -> list[dict[str, object]]:
        """Return one dict per system."""
        return [asdict(one) for one in self.systems]

    def __str__(self) -> str:
        wide = max(len(printable(one.name, 30)) for one in self.systems)
        first = self.measures[0]
        lines = [
            f"{counted(len(self.test_queries), 'held-out query')}; differences of {first} from "
            f"{printable(self.baseline, 30)}, the best run on the {len(self.train_queries)} others"
        ]
        for one in self.systems:
            cells = "  ".join(f"{name} {one.values[name]:.4f}" for name in self.measures)
            span = "{:+.4f} [{:+.3f}, {:+.3f}]".format(*one.differences[first])
            span = "" if one.name == self.baseline else span
            lines.append(f"{printable(one.name, 30):<{wide}}  {cells}  {span}".rstrip())
        return "\n".join(lines)

    def _html_title(self) -> str:
        return str(self).partition("\n")[0]

    def _html_tables(self) -> list[HtmlTable]:
        first = self.measures[0]
        columns: dict[str, Sequence[object]] = {
            "system": [one.name for one in self.systems],
            "kind": [one.kind for one in self.systems],
        }
        for name in self.measures:
            columns[name] = [one.values[name] for one in self.systems]
        for place, end in enumerate(("difference", "low", "high")):
            columns[end] = [one.differences[first][place] for one in self.systems]
        columns["unjudged"] = [one.unjudged for one in self.systems]
        return [HtmlTable(columns, {first: 1.0, "difference": None})]


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
