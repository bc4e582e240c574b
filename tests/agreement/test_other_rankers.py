"""`cross_validate` fits the rankers of other packages as they are fitted by hand."""

from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import crucial

DATA = crucial.make_letor(n_queries=9, docs_per_query=15, n_features=3, seed=4)
ORDER = np.random.default_rng(0).permutation(len(DATA.y))
X, Y = DATA.X[ORDER], DATA.y[ORDER].astype(int)
NAMES = np.array([f"q{i}" for i in range(9)])[np.asarray(DATA.qid)][ORDER]


def lightgbm_ranker() -> Any:
    package = pytest.importorskip("lightgbm")
    return package.LGBMRanker(n_estimators=5, min_child_samples=2, n_jobs=1, verbose=-1)


def xgboost_ranker() -> Any:
    return pytest.importorskip("xgboost").XGBRanker(n_estimators=5, n_jobs=1)


def catboost_ranker() -> Any:
    package = pytest.importorskip("catboost")
    return package.CatBoostRanker(
        iterations=5, verbose=False, thread_count=1, allow_writing_files=False
    )


def by_hand(ranker: Any, form: str) -> float:
    """Sort the rows by query, fit with sizes or ids, and measure, fold by fold."""
    folds = list(GroupKFold(3).split(X, Y, NAMES))
    scores = np.zeros(len(Y))
    for train, test in folds:
        rows = train[np.argsort(NAMES[train], kind="stable")]
        _, codes, sizes = np.unique(NAMES[rows], return_inverse=True, return_counts=True)
        ranker.fit(X[rows], Y[rows], **{form: sizes if form == "group" else codes})
        scores[test] = ranker.predict(X[test])
    return crucial.evaluate(Y, scores, NAMES, "ndcg@5")["ndcg@5"]


@pytest.mark.parametrize(
    ("make", "form"),
    [(lightgbm_ranker, "group"), (xgboost_ranker, "group"), (catboost_ranker, "group_id")],
)
def test_queries_in_any_order_and_of_any_type(make: Any, form: str) -> None:
    found = crucial.cross_validate(
        make(), X, Y, qid=NAMES, cv=GroupKFold(3), measures="ndcg@5", n_jobs=1
    )
    assert found["ndcg@5"] == pytest.approx(by_hand(make(), form))
    assert found["ndcg@5"] > crucial.evaluate(Y, np.zeros(len(Y)), NAMES, "ndcg@5")["ndcg@5"]


def test_without_queries_there_is_one_list() -> None:
    train, test = np.arange(90), np.arange(90, len(Y))
    found = crucial.cross_validate(lightgbm_ranker(), X, Y, cv=[(train, test)], measures="auc")
    scores = lightgbm_ranker().fit(X[train], Y[train], group=[90]).predict(X[test])
    assert found["auc"] == pytest.approx(crucial.evaluate(Y[test], scores, None, "auc")["auc"])


def test_a_pipeline_passes_sizes_on_where_it_is_told_to() -> None:
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        inside = make_pipeline(FunctionTransformer(), lightgbm_ranker().set_fit_request(group=True))
    folds = GroupKFold(3)
    found = crucial.cross_validate(inside, X, Y, qid=NAMES, cv=folds, measures="ndcg@5")
    alone = crucial.cross_validate(lightgbm_ranker(), X, Y, qid=NAMES, cv=folds, measures="ndcg@5")
    assert found["ndcg@5"] == pytest.approx(alone["ndcg@5"])


def test_weights_of_rows_and_of_queries() -> None:
    by_row = np.random.default_rng(1).random(len(Y))
    by_query = np.where(NAMES < "q5", 2.0, 1.0)
    crucial.cross_validate(lightgbm_ranker(), X, Y, qid=NAMES, cv=3, sample_weight=by_row)
    crucial.cross_validate(xgboost_ranker(), X, Y, qid=NAMES, cv=3, sample_weight=by_query)
    with pytest.raises(ValueError, match="XGBRanker takes one weight per query"):
        crucial.cross_validate(xgboost_ranker(), X, Y, qid=NAMES, cv=3, sample_weight=by_row)
