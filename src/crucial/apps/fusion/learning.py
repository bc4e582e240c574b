"""Learn to fuse runs from judgements (Freund, Iyer, Schapire & Singer 2003, section 6.1)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crucial.apps.fusion.inputs import as_qrels
from crucial.apps.fusion.judging import Judging, judged_topics
from crucial.apps.fusion.methods import Fusion
from crucial.apps.fusion.normalise import NORMALISATIONS
from crucial.apps.fusion.plan import FusionPlan
from crucial.apps.fusion.pool import Pool
from crucial.apps.fusion.ranker import FusionRanker
from crucial.errors import DataError, NoProgressWarning
from crucial.estimators.rankboost import RankBoost
from crucial.measures.base import Measure
from crucial.measures.names import get_measure
from crucial.model.additive import AdditiveRanker
from crucial.types import Floats
from crucial.validation import check_choice, check_integer, check_real, lookup, refuse

__all__ = ["FEATURES", "K_GRID", "Learning", "Setting", "Trial", "learn_fusion", "tuned_rrf"]


#: Values of k that are tried for reciprocal rank fusion; the customary one first.
K_GRID = (60.0, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 100.0, 200.0, 500.0)

#: What a fusion may learn from, simplest first.
FEATURES = {
    "reciprocal": "1 / (k + position) in each run, one weight a run",
    "positions": "minus the position in each run, as stumps",
    "positions+rrf": "positions, and the ranking by reciprocal rank fusion",
    "positions+combsum": "positions, and the ranking by the sum of scores",
    "positions+scores": "positions, and normalised scores",
    "reciprocal+scores": "1 / (k + position) and normalised scores, two weights a run",
}

# Rounds after which a fusion is looked at.
_STOPS = (5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 500, 750, 1000)

# Rows that settings are chosen on: topics beyond are for learning alone.
_CHOOSING_ROWS = 100_000


@dataclass(frozen=True)
class Setting:
    """What cross-validation chooses between.

    Attributes
    ----------
    features : str
        A name in `FEATURES`.
    balance : {"queries", "pairs"}
        Whether all topics weigh the same, or all pairs of documents.
    positive : bool
        Whether a better position may never lower the score.
    rounds : int
    """

    features: str
    balance: str
    positive: bool
    rounds: int


@dataclass(frozen=True, eq=False)
class Trial:
    """A setting, and the measure on topics it did not learn from: the mean, and each."""

    setting: Setting
    value: float
    values: Floats


@dataclass(frozen=True)
class Learning:
    """How to learn; parameters as in `learn_fusion`."""

    measure: Measure
    folds: int
    rounds: int
    features: tuple[str, ...]
    balance: tuple[str, ...]
    positive: tuple[bool, ...]
    normalise: str
    default_rank: str | int
    learning_rate: float
    seed: int
    n_jobs: int | None

    @classmethod
    def checked(
        cls,
        *,
        measure: Any = "map",
        folds: int = 5,
        rounds: int = 100,
        features: str | Sequence[str] | None = None,
        balance: str | None = None,
        positive: bool | None = None,
        normalise: str = "min-max",
        default_rank: str | int = 0,
        learning_rate: float = 0.3,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> Learning:
        """Refuse what cannot be; None stands for all choices."""
        owner = "learn_fusion"
        check_integer(owner, "folds", folds, 2)
        check_integer(owner, "rounds", rounds, 1)
        check_integer(owner, "random_state", random_state, 0)
        check_real(owner, "learning_rate", learning_rate, 0.0, 1.0, low_open=True)
        check_choice(owner, "default_rank", default_rank, ["learned", 0, 1])
        check_choice(owner, "balance", balance, [None, "pairs", "queries"])
        check_choice(owner, "positive", positive, [None, True, False])
        lookup(NORMALISATIONS, normalise, "normalisation")
        chosen = tuple(FEATURES) if features is None else features
        chosen = (chosen,) if isinstance(chosen, str) else tuple(chosen)
        for one in chosen:
            lookup(FEATURES, one, "features")
        if not chosen:
            raise refuse(owner, "features", "one or more names, or None", features)
        return cls(
            get_measure(measure),
            folds,
            rounds,
            tuple(one for one in FEATURES if one in chosen),
            ("queries", "pairs") if balance is None else (balance,),
            (True, False) if positive is None else (positive,),
            normalise,
            default_rank,
            learning_rate,
            random_state,
            n_jobs,
        )

    def gain(self, values: Floats, plain: Floats) -> float:
        """How much better a setting is than a plainer one, 0 if that may well be chance.

        The mean difference over topics must be above its standard error (the rule of Breiman,
        Friedman, Olshen & Stone 1984): topics are few and their values far apart, so the best
        of many settings is often the luckiest.
        """
        change = (values - plain) * (1.0 if self.measure.higher_is_better else -1.0)
        change = change[~np.isnan(change)]
        if len(change) < 2:
            return 0.0
        mean = float(change.mean())
        error = float(change.std(ddof=1)) / math.sqrt(len(change))
        return mean if mean > error + 1e-12 else 0.0

    def plan(self, pool: Pool, features: str, k: float) -> FusionPlan:
        """The columns that a name in `FEATURES` stands for."""
        kind, _, more = features.partition("+")
        extra = {
            "rrf": Fusion("rrf", k),
            "combsum": Fusion("combsum", normalise=self.normalise),
        }.get(more)
        scores = self.normalise if more == "scores" else None
        return FusionPlan(pool.names, pool.tags, kind, k, scores, extra)

    def fit(self, table: Any, labels: Floats, topic: Any, setting: Setting) -> AdditiveRanker:
        """Learn with one setting."""
        ranker = RankBoost(
            setting.rounds,
            self.learning_rate,
            balance=setting.balance,
            positive_weights="cumulative" if setting.positive else None,
            default_rank=self.default_rank,
            weak="stump" if setting.features.startswith("positions") else "feature",
            n_jobs=self.n_jobs,
        )
        with warnings.catch_warnings():
            # (a fusion of few features is done early, which is no reason for concern)
            warnings.simplefilter("ignore", NoProgressWarning)
            return ranker.fit(table, labels, qid=topic).model_


def tuned_rrf(judging: Judging, measure: str | Measure = "map") -> Fusion:
    """Reciprocal rank fusion with the best of `K_GRID` on judged topics."""
    chosen = get_measure(measure)
    sign = 1.0 if chosen.higher_is_better else -1.0
    values = [sign * _mean(one) for one in _rrf_values(judging, chosen)]
    best = max(values)
    return Fusion("rrf", next(k for k, one in zip(K_GRID, values) if one >= best - 1e-12))


def _rrf_values(judging: Judging, measure: Measure) -> list[Floats]:
    """The measure of every topic, for each k."""
    return [judging.values(measure, Fusion("rrf", k).scores(judging.pool)) for k in K_GRID]


def _mean(values: Floats) -> float:
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else 0.0


def learn_fusion(
    runs: Any,
    qrels: Any,
    *,
    measure: Any = "map",
    folds: int = 5,
    rounds: int = 100,
    features: str | Sequence[str] | None = None,
    balance: str | None = None,
    positive: bool | None = None,
    normalise: str = "min-max",
    default_rank: str | int = 0,
    learning_rate: float = 0.3,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> FusionRanker:
    """Learn from judgements how to fuse runs.

    Documents are rows, runs are features: minus the position in the run, an abstention where
    the run did not return the document. What is left open is chosen by cross-validation over
    the judged topics: first balance and positivity with the simplest features, then the
    features, each with its number of rounds. What is simplest is left only for a gain above
    its standard error. Unjudged documents count as not relevant.

    Parameters
    ----------
    runs : mapping from name to run, or list of runs
        As in `crucial.apps.fusion.fuse`.
    qrels : path, frame, or object with qid, doc and relevance
        Judgements. Topics that the runs do not have are not used, nor are topics without.
    measure : str or Measure
        What cross-validation goes by.
    folds : int
        Of cross-validation, by whole topics.
    rounds : int
        The most rounds that may be chosen.
    features : str or list of str, optional
        Names in `FEATURES` to choose from; all of them by default.
    balance : {"pairs", "queries"}, optional
        Chosen by default.
    positive : bool, optional
        Whether a better position may never lower the score; chosen by default.
    normalise : {"min-max", "z-score", "rank"}
        For features that need scores.
    default_rank : {0, 1, "learned"}
        What a run that did not return a document says of it: 0 as in the paper, behind
        everything it returned.
    learning_rate : float
        Of RankBoost.
    random_state : int
        Seeds the folds.
    n_jobs : int, optional
        Threads.
    progress : function of str, optional
        Told what is tried.

    Returns
    -------
    FusionRanker
    """
    how = Learning.checked(
        measure=measure, folds=folds, rounds=rounds, features=features, balance=balance,
        positive=positive, normalise=normalise, default_rank=default_rank,
        learning_rate=learning_rate, random_state=random_state, n_jobs=n_jobs,
    )  # fmt: skip
    pool, judgements = Pool.of(runs), as_qrels(qrels)
    judged = judged_topics(pool, judgements)
    return learn_judged(Judging.of(pool, judgements).of_topics(judged), how, progress)


def learn_judged(
    judging: Judging, how: Learning, progress: Callable[[str], None] | None = None
) -> FusionRanker:
    """Learn from a pool whose topics are all judged."""
    _check_learnable(judging)
    choosing = _sample(judging, how)
    customary, *others = _rrf_values(choosing, how.measure)
    k = K_GRID[_most([0.0, *(how.gain(one, customary) for one in others)])]
    tried = _trials(choosing, how, k, progress)
    best = _most([how.gain(one.values, tried[0].values) for one in tried])
    return refit(judging, how, tried[best].setting, k, tried)


def _most(gains: Sequence[float]) -> int:
    """Place of the largest, the first of equal ones."""
    return max(range(len(gains)), key=lambda at: gains[at])


def refit(
    judging: Judging, how: Learning, setting: Setting, k: float, trials: Sequence[Trial] = ()
) -> FusionRanker:
    """Learn from all topics with a setting that was chosen before."""
    pool = judging.pool
    plan = how.plan(pool, setting.features, k)
    table = plan.table(pool, plan.prepare(pool))
    model = how.fit(table, judging.labels, pool.topic_of_row, setting)
    summary: dict[str, Any] = {
        "plan": plan.to_plain(),
        "setting": {**vars(setting)},
        "measure": how.measure.name,
        "folds": how.folds,
        "topics": pool.n_topics,
        "longest": [int(one.sizes.max(initial=0)) for one in pool.lists],
        "trials": [{**vars(one.setting), "value": one.value} for one in trials],
    }
    return _with_summary(model, plan, summary)


def _with_summary(model: AdditiveRanker, plan: FusionPlan, summary: dict[str, Any]) -> FusionRanker:
    """The model with names for its columns and a word on how it was chosen."""
    training = {**model.training, "fusion": summary}
    names = plan.feature_names
    named = AdditiveRanker(model.n_features, model.rankers, model.weights, names, training)
    return FusionRanker(named, plan)


def refit_ranker(judging: Judging, how: Learning, fusion: FusionRanker) -> FusionRanker:
    """Learn anew, from other topics, with the settings of a fusion that was learned."""
    said = fusion.model.training["fusion"]
    made = refit(judging, how, Setting(**said["setting"]), fusion.plan.k)
    trials = {**made.model.training["fusion"], "trials": said["trials"]}
    return _with_summary(made.model, made.plan, trials)


def _check_learnable(judging: Judging) -> None:
    """Refuse judgements that order nothing."""
    pool, labels = judging.pool, judging.labels
    first = pool.starts[:-1]
    differ = np.maximum.reduceat(labels, first) > np.minimum.reduceat(labels, first)
    if differ.sum() < 2:
        raise DataError(
            f"{int(differ.sum())} of the {pool.n_topics} judged topics have both a relevant and "
            "another document among those returned; learning to fuse needs two or more."
        )


def _sample(judging: Judging, how: Learning) -> Judging:
    """The topics that settings are chosen on: all, or a drawn part where there are many rows."""
    pool = judging.pool
    if pool.n_rows <= _CHOOSING_ROWS:
        return judging
    order = np.random.default_rng(how.seed).permutation(pool.n_topics)
    enough = np.cumsum(pool.sizes[order]) <= _CHOOSING_ROWS
    enough[: min(4 * how.folds, pool.n_topics)] = True  # (however large they are)
    wanted = np.zeros(pool.n_topics, bool)
    wanted[order[enough]] = True
    return judging.of_topics(wanted)


def _trials(
    judging: Judging, how: Learning, k: float, progress: Callable[[str], None] | None
) -> list[Trial]:
    """Try balances and signs on the simplest features, then the other features."""
    first, *others = how.features
    tried = [
        _tried(judging, how, k, Setting(first, balance, positive, how.rounds), progress)
        for balance in how.balance
        for positive in how.positive
    ]
    best = tried[_most([how.gain(one.values, tried[0].values) for one in tried])]
    for features in others:
        again = replace(best.setting, features=features, rounds=how.rounds)
        tried.append(_tried(judging, how, k, again, progress))
    return tried


def _tried(
    judging: Judging,
    how: Learning,
    k: float,
    setting: Setting,
    progress: Callable[[str], None] | None,
) -> Trial:
    """Cross-validate a setting; find how many rounds it needs."""
    if progress is not None:
        sign = "positive weights" if setting.positive else "any weights"
        progress(f"{setting.features}, balance {setting.balance}, {sign}")
    pool = judging.pool
    plan = how.plan(pool, setting.features, k)
    table = plan.table(pool, plan.prepare(pool))
    labels, topic = judging.labels, pool.topic_of_row
    folds = min(how.folds, pool.n_topics)
    fold = np.random.default_rng(how.seed).permutation(pool.n_topics) % folds
    stops = [setting.rounds, *(stop for stop in _STOPS if stop < setting.rounds)]
    scores = np.zeros((len(stops), pool.n_rows))
    for held in range(folds):
        inside = (fold != held)[topic]
        model = how.fit(table[inside], labels[inside], topic[inside], setting)
        for at, stop in enumerate(stops):
            part = model.truncate(min(stop, model.n_rounds))
            scores[at, ~inside] = part.predict(table[~inside], n_jobs=how.n_jobs)
    values = [judging.values(how.measure, one) for one in scores]
    best = _most([how.gain(one, values[0]) for one in values])
    return Trial(replace(setting, rounds=stops[best]), _mean(values[best]), values[best])
