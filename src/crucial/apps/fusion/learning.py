"""Learn to fuse runs from judgements (Freund, Iyer, Schapire & Singer 2003, section 6.1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec
import numpy as np

from crucial.apps.fusion.blending import RRF, blended, spread
from crucial.apps.fusion.choice import FusionChoice, FusionTrial, Setting
from crucial.apps.fusion.inputs import Runs
from crucial.apps.fusion.judging import Judging
from crucial.apps.fusion.methods import Fusion
from crucial.apps.fusion.options import LearningOptions
from crucial.apps.fusion.ordering import sorted_by_name
from crucial.apps.fusion.pool import Pool
from crucial.apps.fusion.ranker import FusionRanker
from crucial.data.groups import deal_at_random
from crucial.errors import DataError
from crucial.measures.base import Measure
from crucial.measures.names import get_measure
from crucial.types import Bools, Floats

__all__ = ["K_GRID", "Progress", "learn_fusion", "learn_judged", "relearn", "tuned_rrf"]

#: Receives the setting that is tried next, as text.
Progress: TypeAlias = Callable[[str], None]

#: Values of k that are tried for reciprocal rank fusion; the customary one first.
K_GRID = (60.0, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 100.0, 200.0, 500.0)

#: The share of the learned scores in the fusion; the rest is reciprocal rank fusion.
_SHARES = (0.25, 0.5, 0.75, 1.0)

# Part of the rounds after which stumps on positions may also stop; one weight per run converges.
_EARLY = 0.3

# Settings are chosen on queries with at most so many rows; the other queries are only learned from.
_CHOOSING_ROWS = 100_000


def tuned_rrf(judging: Judging, measure: str | Measure = "map") -> Fusion:
    """Return reciprocal rank fusion with the best k of `K_GRID` on judged queries."""
    target = get_measure(measure)
    sign = 1.0 if target.higher_is_better else -1.0
    values = [
        sign * _mean(judging.values(target, Fusion("rrf", k).scores(judging.pool))) for k in K_GRID
    ]
    best = max(values)
    return Fusion("rrf", next(k for k, one in zip(K_GRID, values) if one >= best - 1e-12))


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
    cross-validation over the judged queries: the features, the number of rounds, and the share of
    the learned scores in the fusion, the rest of which is reciprocal rank fusion with k = 60. The
    setting with the highest lower confidence bound (90%, one-sided) of its gain over reciprocal
    rank fusion is taken; if none is above 0, or fewer than five queries are judged, it is
    reciprocal rank fusion itself. The fewer the judged queries and the smaller the gain, the closer
    the fusion stays to it. Unjudged documents count as not relevant.

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
        Names in `FEATURES` to choose from; those of `DEFAULT_FEATURES` by default.
    balance : {"queries", "pairs", None}
        Whether all queries weigh the same, or all pairs of documents; None to choose.
    positive : bool or None
        Whether a better position may never lower the score; None to choose.
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
    judging = sorted_by_name(judging.only_judged())
    _check_learnable(judging)
    trials = _try_settings(_sample(judging, options), options, progress)
    best = max(trials, key=lambda one: -math.inf if one.bound is None else one.bound)
    if best.bound is None or best.bound <= 1e-12:
        best = trials[0]
    return _learn(judging, options, best.setting, tuple(trials))


def relearn(judging: Judging, options: LearningOptions, fusion: FusionRanker) -> FusionRanker:
    """Learn from the judged queries of another pool, with the settings of a learned fusion."""
    assert fusion.choice is not None
    judging = sorted_by_name(judging.only_judged())
    return _learn(judging, options, fusion.choice.setting, fusion.choice.trials)


def _learn(
    judging: Judging, options: LearningOptions, setting: Setting, trials: tuple[FusionTrial, ...]
) -> FusionRanker:
    """Learn with one setting from all queries of a pool."""
    pool = judging.pool
    plan = options.plan(pool, setting.features)
    model = None
    if setting.share > 0:
        table = plan.table(pool, plan.prepare(pool))
        model = options.fit(table, judging.labels, pool.query_of_row, setting)
    plan, model = blended(model, plan, pool, setting.share)
    longest = tuple(int(one.sizes.max(initial=0)) for one in pool.lists)
    choice = FusionChoice(
        setting, options.target.name, options.folds, pool.n_queries, longest, trials
    )
    return FusionRanker.learned(model, plan, choice, pool.queries)


def _check_learnable(judging: Judging) -> None:
    """Raise an error unless the judgements order documents in two queries or more."""
    n_ordered = int(_ordered(judging).sum())
    if n_ordered < 2:
        raise DataError(
            f"{n_ordered} of the {judging.pool.n_queries} judged queries have both a relevant and "
            "another document among those returned; learning to fuse needs two or more."
        )


def _ordered(judging: Judging) -> Bools:
    """Return which queries have documents of different labels among those returned."""
    labels, first = judging.labels, judging.pool.starts[:-1]
    return np.maximum.reduceat(labels, first) > np.minimum.reduceat(labels, first)


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


def _try_settings(
    judging: Judging, options: LearningOptions, progress: Progress | None
) -> list[FusionTrial]:
    """Cross-validate every setting with every share; reciprocal rank fusion is the first trial."""
    plain = judging.values(options.target, RRF.scores(judging.pool))
    first = options.settings()[0]
    start = Setting("reciprocal", first.balance, first.positive, 0, 0.0)
    trials = [FusionTrial(*msgspec.structs.astuple(start), value=_mean(plain))]
    for setting in options.settings():
        if progress is not None:
            sign = "positive weights" if setting.positive else "any weights"
            progress(f"{setting.features}, balance {setting.balance}, {sign}")
        for tried, scores in _cross_validate(judging, options, setting):
            values = judging.values(options.target, scores)
            gain, bound = options.gain(values, plain)
            low = bound if math.isfinite(bound) else None
            trials.append(
                FusionTrial(
                    *msgspec.structs.astuple(tried), value=_mean(values), gain=gain, bound=low
                )
            )
    return trials


def _cross_validate(
    judging: Judging, options: LearningOptions, setting: Setting
) -> list[tuple[Setting, Floats]]:
    """Return a setting with every number of rounds and share, and its scores out of fold."""
    pool = judging.pool
    random = np.random.default_rng(options.random_state)
    fold_of_query = deal_at_random(min(options.folds, pool.n_queries), pool.n_queries, random)
    stops = [setting.rounds]
    if setting.features.startswith("positions") and setting.rounds > 1:
        stops.append(math.ceil(_EARLY * setting.rounds))
    scores = np.zeros((len(stops), len(_SHARES), pool.n_rows))
    for fold in range(fold_of_query.max() + 1):
        test = fold_of_query == fold
        rows = test[pool.query_of_row]
        scores[:, :, rows] = _scores_of_fold(judging, options, setting, stops, test)
    return [
        (msgspec.structs.replace(setting, rounds=stop, share=share), scores[at, place])
        for at, stop in enumerate(stops)
        for place, share in enumerate(_SHARES)
    ]


def _scores_of_fold(
    judging: Judging, options: LearningOptions, setting: Setting, stops: list[int], test: Bools
) -> Floats:
    """Learn from the queries of the other folds, and score those of one by stop and share."""
    train, held = judging.of_queries(~test), judging.of_queries(test)
    rrf = RRF.scores(held.pool)
    out = np.tile(rrf, (len(stops), len(_SHARES), 1))
    if not _ordered(train).any():  # (nothing can be learned)
        return out
    plan = options.plan(train.pool, setting.features)
    table = plan.table(train.pool, plan.prepare(train.pool))
    new = plan.table(held.pool, plan.prepare(held.pool))
    model = options.fit(table, train.labels, train.pool.query_of_row, setting)
    width = spread(train.pool, RRF.scores(train.pool))
    for at, stop in enumerate(stops):
        part = model.truncate(min(stop, model.n_rounds))
        learned = spread(train.pool, part.predict(table, n_jobs=options.n_jobs))
        if learned > 0:
            scores = part.predict(new, n_jobs=options.n_jobs) / learned
            out[at] = [(1.0 - share) * rrf / width + share * scores for share in _SHARES]
    return out
