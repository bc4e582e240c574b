"""Learn to fuse runs from judgements (Freund, Iyer, Schapire & Singer 2003, section 6.1).

Settings are chosen by cross-validation over queries, and the result is shrunk towards reciprocal
rank fusion.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import msgspec
import numpy as np
from scipy.special import stdtrit

from crucial.data.groups import deal_at_random
from crucial.errors import DataError, NoProgressWarning
from crucial.fusion.pool import Pool, Runs
from crucial.fusion.ranker import FusionChoice, FusionPlan, FusionRanker, FusionTrial, Setting
from crucial.fusion.rules import NORMALISATIONS, Fusion, Judging, sorted_by_name
from crucial.measures.base import Measure
from crucial.measures.names import get_measure
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import ScaledFeature
from crucial.parameters import at_least, between, check, lookup, one_of, refuse, with_fields
from crucial.rankers.rankboost import RankBoost
from crucial.types import Bools, Floats, Ints, Singles

# --- Shrink a learned fusion towards reciprocal rank fusion


#: Reciprocal rank fusion as it is customary (Cormack, Clarke & Buettcher 2009).
RRF = Fusion("rrf", 60.0)


def spread(pool: Pool, scores: Floats) -> float:
    """Return the standard deviation of scores around the mean of their query.

    Examples
    --------
    >>> from crucial import Run
    >>> pool = Pool.of([Run(["1", "1", "2"], ["a", "b", "a"], [2.0, 1.0, 5.0])])
    >>> round(spread(pool, np.array([3.0, 1.0, 9.0])), 4)
    0.8165
    """
    query = pool.query_of_row
    means = np.bincount(query, scores, pool.n_queries) / np.maximum(pool.sizes, 1)
    return float(np.sqrt(np.mean((scores - means[query]) ** 2)))


def _merged(model: AdditiveRanker) -> AdditiveRanker:
    """Return a model of features with one round per distinct feature."""
    if not all(isinstance(one, ScaledFeature) for one in model.rankers):
        return model
    weights: dict[object, float] = {}
    for ranker, weight in zip(model.rankers, model.weights):
        weights[ranker] = weights.get(ranker, 0.0) + float(weight)
    rankers = [one for one in model.rankers if isinstance(one, ScaledFeature)]
    distinct = list(dict.fromkeys(rankers))
    return AdditiveRanker(
        model.n_features, distinct, [weights[one] for one in distinct], training=model.training
    )


def blended(
    model: AdditiveRanker | None, plan: FusionPlan, pool: Pool, share: float
) -> tuple[FusionPlan, AdditiveRanker]:
    """Return a plan and a model of ``(1 - share) rrf / spread(rrf) + share learned / spread``.

    Both parts are divided by their spread within the queries of the pool. Reciprocal rank fusion
    is a sum of one `ScaledFeature` per run, so the blend is an additive model as well.

    Parameters
    ----------
    model : AdditiveRanker or None
        The learned scores over the columns of the plan; None for reciprocal rank fusion alone.
    plan : FusionPlan
    pool : Pool
        The queries that were learned from.
    share : float
        From 0 to 1.
    """
    if model is not None:
        model = _merged(model)
        if share >= 1:
            return plan, model
    if plan.columns == "positions":
        plan = msgspec.structs.replace(plan, columns="positions+reciprocal", k=RRF.k)
    n_features = len(plan.feature_names)
    best = float(np.float32(1.0 / (plan.k + 1.0)))
    uniform = [ScaledFeature(at, 0.0, best, 0.0) for at in plan.reciprocal_columns]
    if model is None:
        return plan, AdditiveRanker(n_features, uniform, [1.0] * len(uniform))
    parts = plan.prepare(pool)
    table = plan.table(pool, parts)
    learned = AdditiveRanker(n_features, model.rankers, model.weights, training=model.training)
    width = spread(pool, learned.predict(table))
    learned_weights = np.asarray(model.weights) * (share / width if width > 0 else 0.0)
    unit = (1.0 - share) / (spread(pool, RRF.scores(pool)) / best or 1.0)
    weights = [*learned_weights.tolist(), *[unit] * len(uniform)]
    rankers = [*model.rankers, *uniform]
    return plan, AdditiveRanker(n_features, rankers, weights, training=model.training)


# --- Options of learning a fusion, and the fit of one setting


#: What a fusion may learn from, simplest first.
FEATURES = {
    "reciprocal": "1 / (k + position) in each run, one weight per run",
    "positions": "minus the position in each run, as stumps",
    "positions+rrf": "positions, and the ranking by reciprocal rank fusion",
    "positions+combsum": "positions, and the ranking by the sum of scores",
    "positions+scores": "positions, and normalised scores",
    "reciprocal+scores": "1 / (k + position) and normalised scores, two weights per run",
}

#: The names in `FEATURES` that are tried unless others are named. The fewer are tried, the more
#: the best of them is worth; settled on TREC runs, learning-to-rank features used as runs, and
#: the built-in digits.
DEFAULT_FEATURES = ("reciprocal", "positions", "reciprocal+scores")

#: Number of judged queries below which nothing but reciprocal rank fusion is chosen.
MIN_QUERIES = 5

#: Confidence that the gain of a setting over reciprocal rank fusion is above its lower bound.
_CONFIDENCE = 0.9

_RULES = {
    "folds": at_least(2),
    "rounds": at_least(1),
    "random_state": at_least(0),
    "learning_rate": between(0, 1, low_open=True),
    "default_rank": one_of("learned", 0, 1),
    "balance": one_of(None, "pairs", "queries"),
    "positive": one_of(None, True, False),
}


@dataclass(frozen=True, kw_only=True)
class LearningOptions:
    """How to learn; parameters as in `learn_fusion`."""

    measure: str | Measure = "map"
    folds: int = 5
    rounds: int = 100
    features: str | Sequence[str] | None = None
    balance: str | None = "queries"
    positive: bool | None = True
    normalise: str = "min-max"
    default_rank: str | int = 0
    learning_rate: float = 0.3
    random_state: int = 0
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        for name, rule in _RULES.items():
            check("learn_fusion", name, getattr(self, name), rule)
        lookup(NORMALISATIONS, self.normalise, "normalisation")
        if not self.feature_sets:
            raise refuse("learn_fusion", "features", "one or more names, or None", self.features)
        get_measure(self.measure)

    @cached_property
    def target(self) -> Measure:
        """The measure that settings are chosen by."""
        return get_measure(self.measure)

    @cached_property
    def feature_sets(self) -> list[str]:
        """Names in `FEATURES` to choose from, simplest first."""
        if self.features is None:
            return list(DEFAULT_FEATURES)
        chosen = [self.features] if isinstance(self.features, str) else list(self.features)
        for one in chosen:
            lookup(FEATURES, one, "features")
        return [one for one in FEATURES if one in chosen]

    def settings(self) -> list[Setting]:
        """Return the settings to try, simplest first: features, balances and signs."""
        return [
            Setting(features, balance, positive, self.rounds)
            for features in self.feature_sets
            for balance in (["queries", "pairs"] if self.balance is None else [self.balance])
            for positive in ([True, False] if self.positive is None else [self.positive])
        ]

    def gain(self, values: Floats, plain: Floats) -> tuple[float, float]:
        """Return the mean gain over simpler fusion on the same queries, and its lower bound.

        The bound is one-sided, from Student's t over queries: with few of them the best of several
        settings is often the luckiest, and the bound of a lucky one is low. It is minus infinity
        for fewer than `MIN_QUERIES`.
        """
        change = (values - plain) * (1.0 if self.target.higher_is_better else -1.0)
        change = change[~np.isnan(change)]
        mean = float(change.mean()) if len(change) else 0.0
        if len(change) < MIN_QUERIES:
            return mean, -math.inf
        error = float(change.std(ddof=1)) / math.sqrt(len(change))
        # (the last digits of the quantile are SciPy's own, and differ between its versions)
        quantile = float(f"{stdtrit(len(change) - 1, _CONFIDENCE):.9g}")
        return mean, mean - quantile * error

    def plan(self, pool: Pool, features: str) -> FusionPlan:
        """Return the columns of a name in `FEATURES`."""
        kind, _, more = features.partition("+")
        return FusionPlan(
            pool.names,
            pool.tags,
            "positions" if kind == "positions" else "reciprocal",
            scores=self.normalise if more == "scores" else None,
            extra={"rrf": RRF, "combsum": Fusion("combsum", normalise=self.normalise)}.get(more),
        )

    def fit(self, table: Singles, labels: Floats, query: Ints, setting: Setting) -> AdditiveRanker:
        """Learn the weights of the runs under one setting."""
        signs = "cumulative" if setting.positive else None
        weak = "stump" if setting.features.startswith("positions") else "feature"
        ranker = RankBoost(
            setting.rounds, self.learning_rate, balance=setting.balance, positive_weights=signs,
            default_rank=self.default_rank, weak=weak, n_jobs=self.n_jobs,
        )  # fmt: skip
        with warnings.catch_warnings():
            # (a fusion of few features converges early, which is no reason for concern)
            warnings.simplefilter("ignore", NoProgressWarning)
            return ranker.fit(table, labels, qid=query).model_


# --- Learn to fuse runs from judgements (Freund, Iyer, Schapire & Singer 2003, section 6.1)


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


@with_fields(LearningOptions)
def learn_fusion(
    runs: Runs | Pool, qrels: object, *, progress: Progress | None = None, **options: Any
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
        As in `crucial.fusion.fuse`.
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
    return learn_judged(Judging.of(runs, qrels), LearningOptions(**options), progress)


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
