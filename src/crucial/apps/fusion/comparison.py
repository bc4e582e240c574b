"""Runs, fusions and the learned fusion on topics that were held out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from crucial.apps.fusion.inputs import as_qrels
from crucial.apps.fusion.judging import Judging, judged_topics
from crucial.apps.fusion.learning import Learning, learn_judged, tuned_rrf
from crucial.apps.fusion.methods import METHODS, Fusion
from crucial.apps.fusion.pool import Pool
from crucial.apps.fusion.ranker import FusionRanker
from crucial.errors import DataError
from crucial.measures.base import summarise
from crucial.measures.names import get_measure
from crucial.measures.paired import paired_test
from crucial.model.text import printable
from crucial.types import Bools, Floats
from crucial.validation import check_integer, check_real

__all__ = ["FusionComparison", "Loners", "System", "compare_fusions", "split_topics"]


#: How deep unjudged documents are counted.
UNJUDGED_DEPTH = 10


@dataclass(frozen=True)
class System:
    """How good a run or a fusion is on the held-out topics.

    Attributes
    ----------
    name : str
    kind : {"run", "fusion", "learned"}
    values : dict
        Value by measure.
    differences : dict
        By measure: the value minus that of the baseline, and the ends of a 95% bootstrap
        interval over the same topics.
    unjudged : float
        Share of the first ten documents that nobody judged.
    """

    name: str
    kind: str
    values: dict[str, float]
    differences: dict[str, tuple[float, float, float]]
    unjudged: float


@dataclass(frozen=True)
class Loners:
    """What happens to the documents that only one run returned.

    Attributes
    ----------
    share : float
        Of the held-out pool.
    relevant, relevant_others : float
        Share of relevant documents among them, and among the others.
    first_ten, first_ten_others : float
        Their part of the first ten of the learned fusion; that of reciprocal rank fusion.
    by_run : dict
        For each run: documents that it alone returned, how many of them are relevant, how
        many are in the first ten of the learned fusion.
    """

    share: float
    relevant: float
    relevant_others: float
    first_ten: float
    first_ten_rrf: float
    by_run: dict[str, tuple[int, int, int]]


@dataclass(frozen=True, eq=False)
class FusionComparison:
    """Every system on the same held-out topics.

    Attributes
    ----------
    measures : tuple of str
    baseline : str
        The run that is best on the training topics, by the first measure.
    systems : list of System
        Runs, then fusions, then the learned fusion.
    against_rrf : dict
        By measure: learned minus reciprocal rank fusion with the k tuned on the training
        topics, with its interval.
    loners : Loners
    fusion : FusionRanker
        Learned from the training topics alone.
    train_topics, test_topics : list of str
    """

    measures: tuple[str, ...]
    baseline: str
    rrf: str
    systems: list[System]
    against_rrf: dict[str, tuple[float, float, float]]
    loners: Loners
    fusion: FusionRanker
    train_topics: list[str]
    test_topics: list[str]

    def __getitem__(self, name: str) -> System:
        for one in self.systems:
            if one.name == name:
                return one
        raise KeyError(f"no system {name!r}; there are: {', '.join(s.name for s in self.systems)}")

    @property
    def learned(self) -> System:
        """The learned fusion."""
        return self.systems[-1]

    def to_rows(self) -> list[dict[str, Any]]:
        """One dict a system."""
        return [asdict(one) for one in self.systems]

    def __str__(self) -> str:
        wide = max(len(printable(one.name, 30)) for one in self.systems)
        first = self.measures[0]
        lines = [
            f"{len(self.test_topics)} held-out topics; differences of {first} from "
            f"{printable(self.baseline, 30)}, the best run on the {len(self.train_topics)} others"
        ]
        for one in self.systems:
            cells = "  ".join(f"{name} {one.values[name]:.4f}" for name in self.measures)
            low, high = one.differences[first][1:]
            span = "" if one.name == self.baseline else _span(one.differences[first][0], low, high)
            lines.append(f"{printable(one.name, 30):<{wide}}  {cells}  {span}".rstrip())
        return "\n".join(lines)


def _span(difference: float, low: float, high: float) -> str:
    return f"{difference:+.4f} [{low:+.4f}, {high:+.4f}]"


def split_topics(pool: Pool, qrels: Any, holdout: float, seed: int) -> Bools:
    """Which topics of the pool are held out: a seeded part of the judged ones."""
    check_real("compare_fusions", "holdout", holdout, 0.0, 0.9, low_open=True)
    check_integer("compare_fusions", "random_state", seed, 0)
    judged = np.flatnonzero(judged_topics(pool, qrels))
    # (by name, so that the order of the runs does not change the split)
    judged = judged[np.argsort(pool.topics[judged].astype(str), kind="stable")]
    count = max(2, round(holdout * len(judged)))
    if len(judged) - count < 2:
        raise DataError(
            f"{len(judged)} judged topics are too few to hold out {count} of them; judge more "
            "topics, or hold out none."
        )
    out = np.zeros(pool.n_topics, bool)
    out[np.random.default_rng(seed).permutation(judged)[:count]] = True
    return out


def compare_fusions(
    runs: Any,
    qrels: Any,
    *,
    holdout: float = 0.3,
    measures: Sequence[str] = ("map", "ndcg@10"),
    random_state: int = 0,
    progress: Callable[[str], None] | None = None,
    **learning: Any,
) -> FusionComparison:
    """Learn a fusion on a part of the topics; measure it beside all else on the others.

    Everything that can be chosen is chosen on the training topics alone: the settings of the
    learned fusion, k of reciprocal rank fusion, and the run that is the baseline.

    Parameters
    ----------
    runs, qrels
        As in `learn_fusion`.
    holdout : float
        Share of the judged topics to hold out.
    measures : sequence of str
        The first is what is chosen by.
    random_state : int
        Seeds the split of the topics and the folds.
    progress : function of str, optional
        Told what is tried.
    **learning
        As in `learn_fusion`.
    """
    names = [get_measure(one).name for one in measures]
    how = Learning.checked(measure=names[0], random_state=random_state, **learning)
    pool, judgements = Pool.of(runs), as_qrels(qrels)
    held = split_topics(pool, judgements, holdout, random_state)
    everything = Judging.of(pool, judgements)
    train = everything.of_topics(judged_topics(pool, judgements) & ~held)
    test = everything.of_topics(held)
    fusion = learn_judged(train, how, progress)
    rrf = tuned_rrf(train, names[0])
    table: dict[str, tuple[str, dict[str, Floats], float]] = {}
    for name, one in zip(pool.names, test.pool.lists):
        values = {m: test.values(m, one) for m in names}
        table[name] = ("run", values, test.unjudged(UNJUDGED_DEPTH, one))
    fusions = [Fusion("rrf", 60.0), *([rrf] if rrf.k != 60.0 else [])]
    fusions += [Fusion(m, normalise=how.normalise) for m in METHODS if m != "rrf"]
    for rule in fusions:
        _measure(table, rule.name, "fusion", test, rule.scores(test.pool), names)
    learned = fusion.scores(test.pool)
    _measure(table, "learned", "learned", test, learned, names)
    baseline = _best_run(train, names[0])
    systems = [
        System(
            name,
            kind,
            {m: _summary(m, values[m]) for m in names},
            {m: _difference(table[baseline][1][m], values[m], m, random_state) for m in names},
            unjudged,
        )
        for name, (kind, values, unjudged) in table.items()
    ]
    mine, other = table["learned"][1], table[rrf.name][1]
    return FusionComparison(
        tuple(names),
        baseline,
        rrf.name,
        systems,
        {m: _difference(other[m], mine[m], m, random_state) for m in names},
        _loners(test, learned, rrf.scores(test.pool)),
        fusion,
        train.pool.topics.tolist(),
        test.pool.topics.tolist(),
    )


def _measure(
    table: dict[str, tuple[str, dict[str, Floats], float]],
    name: str,
    kind: str,
    test: Judging,
    scores: Floats,
    measures: Sequence[str],
) -> None:
    while name in table:  # (a run may be called as a fusion is)
        name += "*"
    values = {m: test.values(m, scores) for m in measures}
    table[name] = (kind, values, test.unjudged(UNJUDGED_DEPTH, scores))


def _summary(measure: str, values: Floats) -> float:
    return summarise(values, None, get_measure(measure).aggregate, "skip")[0]


def _difference(
    first: Floats, second: Floats, measure: str, seed: int
) -> tuple[float, float, float]:
    found = paired_test(first, second, resamples=1, random_state=seed)
    return found.difference, found.low, found.high


def _best_run(train: Judging, measure: str) -> str:
    """The run that is best on the training topics."""
    chosen = get_measure(measure)
    sign = 1.0 if chosen.higher_is_better else -1.0
    values = [sign * _summary(measure, train.values(chosen, one)) for one in train.pool.lists]
    values = [-math.inf if math.isnan(value) else value for value in values]
    return train.pool.names[int(np.argmax(values))]


def _loners(test: Judging, learned: Floats, rrf: Floats) -> Loners:
    """Look for the documents that one run alone returned."""
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


def _share(what: Bools, among: Bools) -> float:
    return float(what[among].mean()) if among.any() else 0.0


def _first(pool: Pool, scores: Floats) -> Bools:
    order = pool.best_first(scores)
    place = np.arange(len(order)) - pool.starts[pool.topic_of_row[order]]
    out = np.zeros(pool.n_rows, bool)
    out[order[place < UNJUDGED_DEPTH]] = True
    return out
