"""Rankers of this library and of others, fitted alike: for `benchmarks.quality`.

All learn from the same training rows on one thread, at rate 0.1, up to 500 rounds, and stop after
50 rounds without a better value of the same measure on the same validation rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from crucial import AutoRanker, GradientRanker, RankBoost
from crucial.data import Groups
from crucial.measures.names import get_measure
from crucial.rankers import ListMLE

Floats = np.ndarray
Setting = dict[str, Any]

SEED, RATE, ROUNDS, PATIENCE = 0, 0.1, 500, 50
LEAVES, DEPTHS = (2, 8, 31), (1, 3, 6)
GRADES = 4  # what labels that are not whole are rounded to, where a peer takes whole ones only


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of a data set, query after query; without queries ``qid`` is None."""

    X: Floats
    y: Floats
    qid: Floats | None

    @property
    def groups(self) -> Groups:
        return Groups.from_qid(self.qid, len(self.y))


@dataclass(frozen=True)
class Contestant:
    """A way to fit, with the settings that the validation rows choose from.

    Attributes
    ----------
    maker : str
        The package.
    name : str
    settings : list of dict
    fit : callable
        Takes training part, validation part, measure and a setting; returns the function that
        scores rows.
    """

    maker: str
    name: str
    settings: tuple[Setting, ...]
    fit: Callable[[Part, Part, str, Setting], Callable[[Floats], Floats]]

    @property
    def title(self) -> str:
        return f"{self.maker} {self.name}".strip()


def measured(part: Part, measure: str) -> Callable[[Floats], float]:
    """Return the measure as a function of the scores of a part."""
    return get_measure(measure).prepare(part.y, part.groups)


# -- this library -----------------------------------------------------------------------


def fitted_by(
    make: Callable[..., Any], fixed: Setting
) -> Callable[..., Callable[[Floats], Floats]]:
    def fit(train: Part, valid: Part, measure: str, setting: Setting) -> Callable[..., Floats]:
        ranker = make(**{"n_jobs": 1, "eval_metric": measure, **fixed, **setting})
        eval_set = (valid.X, valid.y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # (columns that are constant in a fold)
            ranker.fit(train.X, train.y, qid=train.qid, eval_set=eval_set, eval_qid=valid.qid)
        return lambda X: np.asarray(ranker.predict(X))

    return fit


def _list_mle(train: Part, valid: Part, measure: str, setting: Setting) -> Callable[..., Floats]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker = ListMLE(**setting).fit(train.X, train.y, qid=train.qid)
    return lambda X: np.asarray(ranker.predict(X))


def _auto(train: Part, valid: Part, measure: str, setting: Setting) -> Callable[..., Floats]:
    return _on_both(AutoRanker(measure=measure, **setting), train, valid)


def _plain(train: Part, valid: Part, measure: str, setting: Setting) -> Callable[..., Floats]:
    return _on_both(GradientRanker(**setting), train, valid)


def _bags(train: Part, valid: Part, measure: str, setting: Setting) -> Callable[..., Floats]:
    # (the rows that a bag leaves out choose the number of rounds)
    ranker = GradientRanker(200, RATE, eval_metric=measure, early_stopping_rounds=30, **setting)
    return _on_both(ranker, train, valid)


def _on_both(ranker: Any, train: Part, valid: Part) -> Callable[..., Floats]:
    """Fit a ranker that validates by itself."""
    X, y = np.concatenate([train.X, valid.X]), np.concatenate([train.y, valid.y])
    both = (train.qid, valid.qid)
    qid = None if train.qid is None else np.concatenate(both)
    ranker.set_params(random_state=SEED, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker.fit(X, y, qid=qid)
    return lambda rows: np.asarray(ranker.predict(rows))


_STOPPED = {"n_estimators": ROUNDS, "early_stopping_rounds": PATIENCE}


def _gradient(loss: str, graded: bool) -> Contestant:
    fixed = {"loss": loss, "learning_rate": RATE, "random_state": SEED, **_STOPPED}
    more = {"gain": "exp"} if graded and loss in ("exponential", "logistic") else {}
    settings = tuple({"max_leaves": n, **more} for n in (2, 16, 64))
    return Contestant(
        "crucial", f"GradientRanker {loss}", settings, fitted_by(GradientRanker, fixed)
    )


def ours(queries: bool) -> list[Contestant]:
    """Rankers of this library, for queries of graded labels or for two classes."""
    loss = "query_rmse" if queries else "logistic"
    found = [
        Contestant("crucial", "AutoRanker", ({},), _auto),
        Contestant("crucial", "AutoRanker quick", ({"budget": "quick"},), _auto),
        Contestant("crucial", "GradientRanker", ({"loss": loss},), _plain),
        Contestant("crucial", "GradientRanker, 5 bags", ({"loss": loss, "n_bags": 5},), _bags),
        Contestant("crucial", "RankBoost", ({},), fitted_by(RankBoost, {"random_state": SEED})),
    ]
    losses = ["exponential", "logistic", "query_rmse"]
    if queries:
        losses += ["xendcg", "lambda", "softmax", "yeti"]
        penalties = tuple({"l2": l2} for l2 in (0.001, 0.1, 10.0))
        found.append(Contestant("crucial", "ListMLE", penalties, _list_mle))
    return found + [_gradient(loss, queries) for loss in losses]


# -- others -----------------------------------------------------------------------------


def _lightgbm(objective: str) -> Contestant:
    def fit(train: Part, valid: Part, measure: str, setting: Setting) -> Callable[..., Floats]:
        import lightgbm

        values, ranks = np.unique(train.y, return_inverse=True)
        settings = {
            "objective": objective, "learning_rate": RATE, "metric": "None", "seed": SEED,
            "num_threads": 1, "deterministic": True, "force_col_wise": True, "verbosity": -1,
            **setting,
        }  # fmt: skip
        labels = train.y
        if objective == "lambdarank" and (values != np.round(values)).any():
            labels, settings["label_gain"] = ranks, list(np.exp2(values) - 1)
        elif (values != np.round(values)).any():
            labels = np.round(GRADES * train.y / values[-1])
        data = lightgbm.Dataset(train.X, labels, group=_sizes(train, objective))
        watched = lightgbm.Dataset(
            valid.X, np.zeros(len(valid.y)), group=_sizes(valid, objective), reference=data
        )
        value = measured(valid, measure)
        booster = lightgbm.train(
            settings,
            data,
            ROUNDS,
            valid_sets=[watched],
            feval=lambda scores, _: ("measure", value(scores), True),
            callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)],
        )
        return lambda X: np.asarray(booster.predict(X, num_threads=1))

    return Contestant("LightGBM", objective, tuple({"num_leaves": n} for n in LEAVES), fit)


def _sizes(part: Part, objective: str) -> Any:
    return None if objective == "binary" else part.groups.sizes


def _xgboost(objective: str) -> Contestant:
    def fit(train: Part, valid: Part, measure: str, setting: Setting) -> Callable[..., Floats]:
        import xgboost

        settings = {
            "objective": objective, "eta": RATE, "seed": SEED, "nthread": 1, "verbosity": 0,
            "tree_method": "hist", "disable_default_eval_metric": True, **setting,
        }  # fmt: skip
        if (train.y != np.round(train.y)).any():
            settings["ndcg_exp_gain"] = False  # (2^y - 1 needs whole labels there)
        queries = objective.startswith("rank:")
        data, watched = (
            xgboost.DMatrix(one.X, one.y, qid=one.groups.codes if queries else None)
            for one in (train, valid)
        )
        value = measured(valid, measure)
        booster = xgboost.train(
            settings,
            data,
            ROUNDS,
            evals=[(watched, "valid")],
            custom_metric=lambda scores, _: ("measure", value(scores.astype(np.float64))),
            maximize=True,
            early_stopping_rounds=PATIENCE,
            verbose_eval=False,
        )
        span = (0, booster.best_iteration + 1)

        def predict(X: Floats) -> Floats:
            return np.asarray(booster.predict(xgboost.DMatrix(X), iteration_range=span))

        return predict

    return Contestant("XGBoost", objective, tuple({"max_depth": n} for n in DEPTHS), fit)


def _catboost(loss: str, refitted: bool = False) -> Contestant:
    """CatBoost's trees; refitted, they then learn as many rounds from training and validation."""

    def fit(train: Part, valid: Part, measure: str, setting: Setting) -> Callable[..., Floats]:
        import catboost

        fixed = {
            "loss_function": loss, "learning_rate": RATE, "random_seed": SEED, "thread_count": 1,
            "verbose": False, "allow_writing_files": False,
        }  # fmt: skip
        depths = [setting] if setting else [{"depth": n} for n in DEPTHS]
        value, best = measured(valid, measure), (-np.inf, None, {})
        for depth in depths:
            booster = catboost.CatBoost(
                {
                    **fixed, **depth, "iterations": ROUNDS, "od_type": "Iter", "od_wait": PATIENCE,
                    "use_best_model": True, "eval_metric": _CATBOOST_MEASURES[measure],
                }
            )  # fmt: skip
            booster.fit(_pool(train), eval_set=_pool(valid))
            found = value(np.asarray(booster.predict(valid.X), np.float64))
            if found > best[0]:
                best = (found, booster, depth)
        _, booster, depth = best
        if refitted:
            rounds = max(1, booster.tree_count_)
            booster = catboost.CatBoost({**fixed, **depth, "iterations": rounds})
            booster.fit(_pool(train, valid))
        return lambda X: np.asarray(booster.predict(X, prediction_type="RawFormulaVal"))

    if refitted:
        return Contestant("CatBoost", f"{loss}, refitted", ({},), fit)
    return Contestant("CatBoost", loss, tuple({"depth": n} for n in DEPTHS), fit)


def _pool(*parts: Part) -> Any:
    """Return the rows of some parts as CatBoost takes them; no two share a query."""
    import catboost

    X, y = (np.concatenate([getattr(one, name) for one in parts]) for name in ("X", "y"))
    if parts[0].qid is None:
        return catboost.Pool(X, y)
    starts = np.cumsum([0, *(one.groups.n_groups for one in parts)])
    codes = [one.groups.codes + start for one, start in zip(parts, starts)]
    return catboost.Pool(X, y, group_id=np.concatenate(codes))


_CATBOOST_MEASURES = {"ndcg_exp@10": "NDCG:top=10;type=Exp", "auc": "AUC"}


def _histogram_classifier() -> Contestant:
    def fit(train: Part, valid: Part, measure: str, setting: Setting) -> Callable[..., Floats]:
        from sklearn.ensemble import HistGradientBoostingClassifier

        model = HistGradientBoostingClassifier(
            learning_rate=RATE, max_iter=ROUNDS, early_stopping=False, random_state=SEED, **setting
        )
        model.fit(train.X, train.y)
        value = measured(valid, measure)
        values = [value(scores) for scores in model.staged_decision_function(valid.X)]
        model._predictors = model._predictors[: _stopped(values)]
        return lambda X: np.asarray(model.decision_function(X))

    settings = tuple({"max_leaf_nodes": n} for n in LEAVES)
    return Contestant("scikit-learn", "HistGradientBoosting", settings, fit)


def _stopped(values: list[float]) -> int:
    """Return how many rounds early stopping keeps."""
    best = 0
    for k, value in enumerate(values):
        if value > values[best]:
            best = k
        if k - best >= PATIENCE:
            break
    return best + 1


def _explainable() -> Contestant:
    def fit(train: Part, valid: Part, measure: str, setting: Setting) -> Callable[..., Floats]:
        from interpret.glassbox import ExplainableBoostingClassifier

        X, y = np.concatenate([train.X, valid.X]), np.concatenate([train.y, valid.y])
        model = ExplainableBoostingClassifier(n_jobs=1, random_state=SEED, **setting)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        return lambda rows: np.asarray(model.decision_function(rows))

    # (its own defaults: 14 bags, each with its own validation rows, averaged)
    return Contestant("interpret", "EBM", ({},), fit)


def others(queries: bool) -> list[Contestant]:
    """Rankers of other packages, for queries of graded labels or for two classes."""
    if not queries:
        return [_histogram_classifier(), _explainable()]
    return [
        _lightgbm("lambdarank"),
        _lightgbm("rank_xendcg"),
        _xgboost("rank:ndcg"),
        _xgboost("rank:pairwise"),
        _catboost("QueryRMSE"),
        _catboost("YetiRank"),
        _catboost("QueryRMSE", refitted=True),
    ]
