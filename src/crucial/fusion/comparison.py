"""Runs, fusion rules and the learned fusion on judged queries: a comparison, and a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any, TypeAlias

import numpy as np

from crucial.data.words import name_places
from crucial.errors import DataError
from crucial.fusion.learning import RRF, LearningOptions, Progress, learn_judged, tuned_rrf
from crucial.fusion.pool import Listing, Pool, Runs
from crucial.fusion.ranker import FusionRanker
from crucial.fusion.rules import MEASURED, METHODS, Fusion, Judging, sorted_by_name
from crucial.measures.base import summarise
from crucial.measures.intervals import paired_test, win_tie_loss
from crucial.measures.names import get_measure
from crucial.pages import Page
from crucial.parameters import at_least, between, check
from crucial.results import Frame, Result, as_frame, text_table
from crucial.types import Bools, Floats, Ints
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
    systems = table.systems(baseline, options.random_state)
    against_rrf = table.differences(shown_as[tuned], learned, options.random_state)
    loners = _loners(test, scores, tuned.scores(test.pool))
    queries = (train.pool.queries.tolist(), test.pool.queries.tolist())
    head = (tuple(measures), baseline, tuned.name, systems, against_rrf)
    return FusionComparison(*head, loners, fusion, *queries)


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
        return {
            m: _against(self._values[first][m], self._values[second][m], seed)
            for m in self._measures
        }

    def systems(self, baseline: str, seed: int) -> list[SystemResult]:
        """Return every system, compared with the baseline."""
        found = []
        for name, kind in self._kind.items():
            values = {m: _summary(m, some) for m, some in self._values[name].items()}
            change = self.differences(baseline, name, seed)
            found.append(SystemResult(name, kind, values, change, self._unjudged[name]))
        return found


def _against(first: Floats, second: Floats, seed: int) -> Difference:
    """Return the mean of the second values minus the first, with a bootstrap interval."""
    test = paired_test(first, second, resamples=1, random_state=seed)
    return test.difference, test.low, test.high


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
    good, others = _share(relevant, alone), _share(relevant, ~alone)
    first_ten = (_share(alone, top), _share(alone, top_rrf))
    return Loners(float(alone.mean()), good, others, *first_ten, by_run)


def _share(part: Bools, whole: Bools) -> float:
    return float(part[whole].mean()) if whole.any() else 0.0


def _first(pool: Pool, scores: Floats) -> Bools:
    """Return which rows are among the first ten of their query."""
    order = pool.best_first(scores)
    out = np.zeros(pool.n_rows, bool)
    out[order[pool.place_in_query(order) < UNJUDGED_DEPTH]] = True
    return out


# --- Compute what the page of a fusion shows: systems, runs, the documents at the top, queries


#: Documents of a query that are looked at, and queries that are listed as won and as lost.
TOP, LISTED = 10, 10
_POINTS = 60  # of a shape


@dataclass(frozen=True, eq=False)
class FusedQueries:
    """A fusion on judged queries.

    Attributes
    ----------
    fusion : FusionRanker
    judging : Judging
        Of the fusion's runs, in its order.
    measures : sequence of str
    seed : int
        Of the bootstrap.
    """

    fusion: FusionRanker
    judging: Judging
    measures: Sequence[str]
    seed: int = 0

    @property
    def pool(self) -> Pool:
        """The documents that the runs returned."""
        return self.judging.pool

    def systems(self) -> list[dict[str, Any]]:
        """Return every system: values, and differences from reciprocal rank fusion."""
        rankings: dict[str, tuple[str, Floats | Listing]] = {
            name: ("run", one) for name, one in zip(self.pool.names, self.pool.lists)
        }
        rankings[RRF.name] = ("rule", self.rrf)
        rankings["this fusion"] = ("fusion", self.scores)
        values = {
            name: {m: self.judging.values(m, ranking) for m in self.measures}
            for name, (_, ranking) in rankings.items()
        }
        found, plain = [], values[RRF.name]
        for name, (kind, _) in rankings.items():
            compared = {m: self._compared(m, plain[m], values[name][m]) for m in self.measures}
            found.append({"name": name, "kind": kind, "measures": compared})
        return found

    def _compared(self, measure: str, plain: Floats, values: Floats) -> dict[str, Any]:
        difference, low, high = _against(plain, values, self.seed)
        better = get_measure(measure).higher_is_better
        wins, level, losses = win_tie_loss(plain, values, better)
        return {
            "value": _summary(measure, values),
            "difference": difference, "low": low, "high": high,
            "wins": wins, "level": level, "losses": losses,
        }  # fmt: skip

    def runs(self) -> list[dict[str, Any]]:
        """Return the runs: weight, shape over positions, and part in the documents at the top."""
        weights = self.fusion.weights()
        parts = self._parts()
        rows = self.order[self.place < TOP]
        returned = np.zeros((len(self.pool.lists), self.pool.n_rows), bool)
        for at, one in enumerate(self.pool.lists):
            returned[at, one.rows] = True
        alone = returned & (self.pool.n_returned == 1)
        relevant = self.judging.labels[rows] > 0
        score = np.maximum(parts[:, rows], 0.0)
        share = score / np.maximum(score.sum(axis=0), 1e-300)
        out = []
        for at, (name, one) in enumerate(zip(self.pool.names, self.pool.lists)):
            longest = max(2, int(one.sizes.max(initial=0)))
            positions = np.unique(np.geomspace(1, longest, _POINTS).round()).astype(int)
            out.append(
                {
                    "name": name,
                    "weight": weights[name],
                    "positions": positions.tolist(),
                    "adds": self.fusion.contribution(name, positions).tolist(),
                    "queries": int((one.sizes > 0).sum()),
                    "documents": len(one.rows),
                    "top": int(returned[at, rows].sum()),
                    "alone": int(alone[at, rows].sum()),
                    "relevant": int((returned[at, rows] & relevant).sum()),
                    "relevant_alone": int((alone[at, rows] & relevant).sum()),
                    "share": float(share[at].mean()) if len(rows) else 0.0,
                }
            )
        return out

    def top(self) -> dict[str, Any]:
        """Return how many runs returned the documents at the top, and how many are relevant."""
        rows = self.order[self.place < TOP]
        count, relevant = self.pool.n_returned[rows], self.judging.labels[rows] > 0
        by_runs = [
            {"runs": n, "documents": int((count == n).sum()),
             "relevant": int(relevant[count == n].sum())}
            for n in range(1, len(self.pool.lists) + 1)
        ]  # fmt: skip
        return {
            "depth": TOP,
            "documents": len(rows),
            "relevant": int(relevant.sum()),
            "unjudged": int((~self.judging.is_judged[rows]).sum()),
            "by_runs": by_runs,
        }

    def queries(self) -> dict[str, Any]:
        """Return every query's values, and the queries that gained and lost most, with lists."""
        measure = get_measure(self.measures[0])
        own, plain = (self.judging.values(measure, one) for one in (self.scores, self.rrf))
        sign = 1.0 if measure.higher_is_better else -1.0
        change = sign * (own - plain)
        order = np.argsort(-change, kind="stable")
        known = order[~np.isnan(change[order])]
        won = [at for at in known.tolist() if change[at] > 1e-9][:LISTED]
        lost = [at for at in known[::-1].tolist() if change[at] < -1e-9][:LISTED]
        place_rrf = np.empty(self.pool.n_rows, np.int64)
        by_rrf = self.pool.best_first(self.rrf)
        place_rrf[by_rrf] = self.pool.place_in_query(by_rrf) + 1
        return {
            "changes": change[known].tolist(),
            "names": [str(self.pool.queries[at]) for at in known.tolist()],
            "undefined": int(np.isnan(change).sum()),
            "won": [self._query(at, own, plain, place_rrf) for at in won],
            "lost": [self._query(at, own, plain, place_rrf) for at in lost],
        }

    def _query(self, at: int, own: Floats, plain: Floats, place_rrf: Ints) -> dict[str, Any]:
        """Return the first documents of a query, with their place in every run."""
        rows = self.order[self.pool.starts[at] : self.pool.starts[at + 1]][:TOP]
        places = self.pool.dense(
            [one.position for one in self.pool.lists], *self.pool.starts[at : at + 2].tolist()
        )
        docs: list[dict[str, Any]] = []
        for row, doc in zip(rows.tolist(), self.pool.docs(rows).tolist()):
            label = float(self.judging.relevance[row]) if self.judging.is_judged[row] else None
            in_runs = places[row - self.pool.starts[at]].tolist()
            found = [None if np.isnan(one) else int(one) for one in in_runs]
            rrf = int(place_rrf[row])
            docs.append({"name": str(doc), "label": label, "places": found, "rrf": rrf})
        values = {"value": float(own[at]), "rrf": float(plain[at])}
        return {"name": str(self.pool.queries[at]), **values, "documents": docs}

    def _parts(self) -> Floats:
        """Return the part of each run in the score of every row, by run and row."""
        plan = self.fusion.plan
        table = plan.table(self.pool, plan.prepare(self.pool))
        nothing = np.full((1, table.shape[1]), np.nan, np.float32)
        base = self.fusion.model.predict(nothing)[0]
        out = np.zeros((len(self.pool.lists), len(table)))
        owner = np.array([-1 if one is None else one for one in plan.run_of_feature])
        for at in range(len(out)):
            own = np.where(owner == at, table, np.float32(np.nan))
            out[at] = self.fusion.model.predict(own) - base
        return out

    @cached_property
    def scores(self) -> Floats:
        """Scores of the fusion, row by row of the pool."""
        return self.fusion.scores(self.pool)

    @cached_property
    def rrf(self) -> Floats:
        """Scores of reciprocal rank fusion."""
        return RRF.scores(self.pool)

    @cached_property
    def order(self) -> Ints:
        """Rows query by query, best first."""
        return self.pool.best_first(self.scores)

    @property
    def place(self) -> Ints:
        """Place in its query, from 0, of each row of `order`."""
        return self.pool.place_in_query(self.order)


def fusion_page(
    fusion: FusionRanker,
    runs: Runs | Pool,
    qrels: object,
    *,
    measures: Sequence[str] = ("map", "ndcg@10"),
    title: str = "A learned fusion",
    subtitle: str = "",
    random_state: int = 0,
) -> Page:
    """Return a page on how a fusion ranks judged queries, beside its runs and RRF(60).

    Parameters
    ----------
    fusion : FusionRanker
    runs, qrels
        Runs of judged queries, as in `crucial.fusion.learn_fusion`; preferably queries that
        the fusion did not learn from.
    measures : sequence of str
        Won and lost queries are listed by the first.
    title, subtitle : str
    random_state : int
        Seed of the bootstrap intervals.

    Examples
    --------
    >>> from crucial.fusion import learn_fusion
    >>> judged = {str(query): {"a": 1} for query in range(6)}
    >>> runs = {"bm25": {query: ["a", "b", "c"] for query in judged},
    ...         "dense": {query: ["c", "b", "a"] for query in judged}}
    >>> page = fusion_page(learn_fusion(runs, judged), runs, judged, measures=["map"])
    >>> page.data["queries"]["changes"], page.to_html()[:15]
    ([0.25, 0.25, 0.25, 0.25, 0.25, 0.25], '<!doctype html>')
    """
    names = [get_measure(one).name for one in measures]
    pool = fusion.plan.align(Pool.of(runs))
    every = Judging.of(pool, qrels)
    judging = every.only_judged()
    found = FusedQueries(fusion, judging, names, random_state)
    facts: dict[str, Any] = {
        "version": version("crucial"),
        "title": title,
        "subtitle": subtitle or f"{judging.pool.n_queries:,} judged queries",
        "measures": names,
        "systems": found.systems(),
        "runs": found.runs(),
        "top": found.top(),
        "queries": found.queries(),
    }
    facts["notes"] = _notes(fusion, judging, every.n_unknown_queries)
    facts["sentences"] = _sentences(facts)
    return Page("fusion", title, facts, tuple(facts["sentences"]))


def _sentences(facts: dict[str, Any]) -> list[str]:
    """Return the findings of the page in sentences."""
    measure = facts["measures"][0]
    *_, fused = facts["systems"]
    own = fused["measures"][measure]
    out = [
        f"{measure} of {own['value']:.4f}, {own['difference']:+.4f} "
        f"[{own['low']:+.4f}, {own['high']:+.4f}] from rrf(60): better on {own['wins']}, the same "
        f"on {own['level']}, worse on {own['losses']} queries."
    ]
    singles = [one for one in facts["systems"] if one["kind"] == "run"]
    sign = 1.0 if get_measure(measure).higher_is_better else -1.0
    best = max(singles, key=lambda one: sign * one["measures"][measure]["value"])
    out.append(
        f"The best single run is {best['name']} with {best['measures'][measure]['value']:.4f}."
    )
    heavy = max(facts["runs"], key=lambda one: one["weight"])
    out.append(f"{heavy['name']} has the largest weight, {heavy['weight']:.0%}.")
    top = facts["top"]
    several = sum(one["documents"] for one in top["by_runs"] if one["runs"] > 1)
    if top["documents"]:
        out.append(
            f"{several / top['documents']:.0%} of the first {top['depth']} documents come from "
            f"several runs; {top['relevant'] / top['documents']:.0%} are relevant."
        )
    return out


def _notes(fusion: FusionRanker, judging: Judging, n_unknown: int) -> list[str]:
    """Return how the fusion was chosen, and warnings."""
    notes = []
    known = fusion.n_learned_from(judging.pool.queries.tolist())
    if known:
        notes.append(
            f"The fusion learned from {known:,} of these {judging.pool.n_queries:,} queries: "
            "measures over them look better than they are for new queries."
        )
    choice = fusion.choice
    if choice is not None:
        setting, trial = choice.setting, choice.trial
        if setting.share == 0:
            chosen = "rrf(60) itself: no setting was surely better"
        else:
            chosen = f"{setting.features}, {setting.share:.0%} learned and the rest rrf(60)"
        notes.append(
            f"Learned from {choice.n_queries:,} judged queries; cross-validation by "
            f"{choice.measure} chose {chosen}."
        )
        if trial is not None and trial.share > 0 and trial.bound:
            notes.append(
                f"Gain over rrf(60) in cross-validation: {trial.gain:+.4f}, with a 90% lower bound "
                f"of {trial.bound:+.4f}."
            )
    notes.append(
        "Differences are over the same queries, with 95% bootstrap intervals. Documents without a "
        f"judgement count as not relevant; {MEASURED}."
    )
    if n_unknown:
        notes.append(
            f"{counted(n_unknown, 'judged query')} in no run left out; 'crucial evaluate' and "
            "evaluate_run count these as empty lists."
        )
    return notes
