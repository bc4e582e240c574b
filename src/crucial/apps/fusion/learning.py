"""Learn to fuse runs from judgements (Freund, Iyer, Schapire & Singer 2003, section 6.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import msgspec
import numpy as np

from crucial.apps.fusion.choice import FusionChoice, Setting, Trial
from crucial.apps.fusion.inputs import Runs
from crucial.apps.fusion.judging import Judging
from crucial.apps.fusion.methods import Fusion
from crucial.apps.fusion.options import LearningOptions
from crucial.apps.fusion.pool import Pool
from crucial.apps.fusion.ranker import FusionRanker
from crucial.data.dealing import deal_at_random
from crucial.errors import DataError
from crucial.lab.folds import folds_by_number
from crucial.measures.base import Measure
from crucial.measures.names import get_measure
from crucial.types import Floats, Singles

__all__ = ["K_GRID", "Progress", "learn_fusion", "learn_judged", "relearn", "tuned_rrf"]

#: Receives the setting that is tried next, as text.
Progress: TypeAlias = Callable[[str], None]

#: Values of k that are tried for reciprocal rank fusion; the customary one first.
K_GRID = (60.0, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 100.0, 200.0, 500.0)

# Numbers of rounds among which cross-validation chooses.
_STOPS = (5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 500, 750, 1000)

# Settings are chosen on queries with at most so many rows; the other queries are only learned from.
_CHOOSING_ROWS = 100_000


def tuned_rrf(judging: Judging, measure: str | Measure = "map") -> Fusion:
    """Return reciprocal rank fusion with the best k of `K_GRID` on judged queries."""
    target = get_measure(measure)
    sign = 1.0 if target.higher_is_better else -1.0
    values = [sign * _mean(one) for one in _rrf_values(judging, target)]
    best = max(values)
    return Fusion("rrf", next(k for k, one in zip(K_GRID, values) if one >= best - 1e-12))


def _rrf_values(judging: Judging, measure: Measure) -> list[Floats]:
    """Return the measure of every query, for each k of `K_GRID`."""
    return [judging.values(measure, Fusion("rrf", k).scores(judging.pool)) for k in K_GRID]


def _mean(values: Floats) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else 0.0


def learn_fusion(
    runs: Runs | Pool,
    qrels: object,
    *,
    measure: str | Measure = LearningOptions.measure,
    folds: int = LearningOptions.folds,
    rounds: int = LearningOptions.rounds,
    features: str | Sequence[str] | None = LearningOptions.features,
    balance: str | None = LearningOptions.balance,
    positive: bool | None = LearningOptions.positive,
    normalise: str = LearningOptions.normalise,
    default_rank: str | int = LearningOptions.default_rank,
    learning_rate: float = LearningOptions.learning_rate,
    random_state: int = LearningOptions.random_state,
    n_jobs: int | None = LearningOptions.n_jobs,
    progress: Progress | None = None,
) -> FusionRanker:
    """Learn from judgements how to fuse runs.

    Documents are rows, runs are features: minus the position in the run, an abstention where
    the run did not return the document. Settings that are left open are chosen by
    cross-validation over the judged queries: first balance and positivity with the simplest
    features, then the features, each with its number of rounds. A setting other than the simplest
    must gain more than the standard error of its gain. Unjudged documents count as not relevant.

    Parameters
    ----------
    runs : mapping from name to run, or list of runs
        As in `crucial.apps.fusion.fuse`.
    qrels : path, frame, or object with qid, doc and relevance
        Judgements. Queries without judgements, and judged queries that no run has, are not used.
    measure : str or Measure
        What settings are chosen by.
    folds : int
        Number of folds of the cross-validation, of whole queries.
    rounds : int
        Largest number of rounds that may be chosen.
    features : str or list of str, optional
        Names in `FEATURES` to choose from; all of them by default.
    balance : {"pairs", "queries"}, optional
        Chosen by default.
    positive : bool, optional
        Whether a better position may never lower the score; chosen by default.
    normalise : {"min-max", "z-score", "rank"}
        For features that need scores.
    default_rank : {0, 1, "learned"}
        Output of a weak ranker for a document that the run did not return: 0 as in the paper,
        behind every document that it returned.
    learning_rate : float
        Learning rate of RankBoost.
    random_state : int
        Seed of the folds.
    n_jobs : int, optional
        Threads.
    progress : function of str, optional
        Called with the setting that is tried next.

    Returns
    -------
    FusionRanker
    """
    options = LearningOptions(
        measure=measure, folds=folds, rounds=rounds, features=features, balance=balance,
        positive=positive, normalise=normalise, default_rank=default_rank,
        learning_rate=learning_rate, random_state=random_state, n_jobs=n_jobs,
    )  # fmt: skip
    return learn_judged(Judging.of(runs, qrels), options, progress)


def learn_judged(
    judging: Judging, options: LearningOptions, progress: Progress | None = None
) -> FusionRanker:
    """Choose a setting, and learn with it from the judged queries of a pool."""
    judging = judging.only_judged()
    _check_learnable(judging)
    sample = _sample(judging, options)
    customary, *others = _rrf_values(sample, options.target)
    k = K_GRID[_most([0.0, *(options.gain(one, customary) for one in others)])]
    tried = _try_settings(sample, options, k, progress)
    best = tried[_best(tried, options)].trial.setting
    return _learn(judging, options, best, k, tuple(one.trial for one in tried))


def relearn(judging: Judging, options: LearningOptions, fusion: FusionRanker) -> FusionRanker:
    """Learn from the judged queries of another pool, with the settings of a learned fusion."""
    assert fusion.choice is not None
    judging = judging.only_judged()
    return _learn(judging, options, fusion.choice.setting, fusion.plan.k, fusion.choice.trials)


def _learn(
    judging: Judging,
    options: LearningOptions,
    setting: Setting,
    k: float,
    trials: tuple[Trial, ...],
) -> FusionRanker:
    """Learn with one setting from all queries of a pool."""
    pool = judging.pool
    plan = options.plan(pool, setting.features, k)
    table = plan.table(pool, plan.prepare(pool))
    model = options.fit(table, judging.labels, pool.query_of_row, setting)
    longest = tuple(int(one.sizes.max(initial=0)) for one in pool.lists)
    choice = FusionChoice(
        setting, options.target.name, options.folds, pool.n_queries, longest, trials
    )
    return FusionRanker.learned(model, plan, choice, pool.queries)


def _check_learnable(judging: Judging) -> None:
    """Raise an error unless the judgements order documents in two queries or more."""
    pool, labels = judging.pool, judging.labels
    first = pool.starts[:-1]
    differ = np.maximum.reduceat(labels, first) > np.minimum.reduceat(labels, first)
    if differ.sum() < 2:
        raise DataError(
            f"{int(differ.sum())} of the {pool.n_queries} judged queries have both a relevant and "
            "another document among those returned; learning to fuse needs two or more."
        )


def _sample(judging: Judging, options: LearningOptions) -> Judging:
    """Return the queries that settings are chosen on: all, or a random part of many rows."""
    pool = judging.pool
    if pool.n_rows <= _CHOOSING_ROWS:
        return judging
    order = np.random.default_rng(options.random_state).permutation(pool.n_queries)
    enough = np.cumsum(pool.sizes[order]) <= _CHOOSING_ROWS
    enough[: min(4 * options.folds, pool.n_queries)] = True  # (however large they are)
    wanted = np.zeros(pool.n_queries, bool)
    wanted[order[enough]] = True
    return judging.of_queries(wanted)


@dataclass(frozen=True, eq=False)
class _Tried:
    """A trial, and the value of the measure for each query."""

    trial: Trial
    values: Floats


def _most(gains: Sequence[float]) -> int:
    """Return the place of the largest gain, the first of equal ones."""
    return max(range(len(gains)), key=lambda at: gains[at])


def _best(tried: Sequence[_Tried], options: LearningOptions) -> int:
    """Return the place of the trial with the largest gain over the first."""
    return _most([options.gain(one.values, tried[0].values) for one in tried])


def _try_settings(
    judging: Judging, options: LearningOptions, k: float, progress: Progress | None
) -> list[_Tried]:
    """Try balances and signs with the simplest features, then the other features."""
    tried: list[_Tried] = []

    def try_all(settings: Sequence[Setting]) -> None:
        plan = options.plan(judging.pool, settings[0].features, k)
        table = plan.table(judging.pool, plan.prepare(judging.pool))
        for setting in settings:
            if progress is not None:
                sign = "positive weights" if setting.positive else "any weights"
                progress(f"{setting.features}, balance {setting.balance}, {sign}")
            tried.append(_cross_validate(judging, options, table, setting))

    try_all(options.settings())
    best = tried[_best(tried, options)].trial.setting
    for features in options.feature_sets[1:]:
        try_all([msgspec.structs.replace(best, features=features, rounds=options.rounds)])
    return tried


def _cross_validate(
    judging: Judging, options: LearningOptions, table: Singles, setting: Setting
) -> _Tried:
    """Cross-validate a setting, and choose its number of rounds."""
    pool, labels = judging.pool, judging.labels
    random = np.random.default_rng(options.random_state)
    fold_of_query = deal_at_random(min(options.folds, pool.n_queries), pool.n_queries, random)
    query = pool.query_of_row
    stops = [setting.rounds, *(stop for stop in _STOPS if stop < setting.rounds)]
    scores = np.zeros((len(stops), pool.n_rows))
    for fold in folds_by_number(fold_of_query[query]):
        train, test = fold.train, fold.test
        model = options.fit(table[train], labels[train], query[train], setting)
        for at, stop in enumerate(stops):
            part = model.truncate(min(stop, model.n_rounds))
            scores[at, test] = part.predict(table[test], n_jobs=options.n_jobs)
    values = [judging.values(options.target, one) for one in scores]
    best = _most([options.gain(one, values[0]) for one in values])
    trial = Trial(
        setting.features, setting.balance, setting.positive, stops[best], _mean(values[best])
    )
    return _Tried(trial, values[best])
