"""Trees as weak rankers of the loop: what they learn, their pairs of features, refusals."""

from typing import Any

import numpy as np
import pytest

from crucial import GradientRanker, RankBoost, inspection, load_model
from crucial.boosting.trees import gains_of_pairs
from crucial.data import make_interactions
from crucial.errors import ParameterError
from crucial.model.weak import Tree
from crucial.rankers import (
    AdaBoostRanker,
    LogisticRanker,
    LogitBoost,
    PNormPush,
    SmoothMarginRanker,
    rankboost,
)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

RANDOM = np.random.default_rng(0)
N = 360
X = RANDOM.normal(size=(N, 4)).round(1)
QID = np.repeat(np.arange(12), 30)
Y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * RANDOM.normal(size=N), [0.0, 1.0, 2.0]) * 1.0
X[RANDOM.random(X.shape) < 0.03] = np.nan
TRAIN, TEST = QID < 9, QID >= 9
TWO = (Y >= 1) * 1

OF_QUERIES = [RankBoost, LogisticRanker, PNormPush, SmoothMarginRanker]
OF_CLASSES = [AdaBoostRanker, LogitBoost]


def fitted(kind: Any, rows: Any = TRAIN, n_estimators: int = 20, **how: Any) -> Any:
    how = {"weak": "tree", "min_rows": 5} | how
    ranker = kind(n_estimators=n_estimators, **how)
    if kind in OF_CLASSES:
        return ranker.fit(X[rows], TWO[rows])
    return ranker.fit(X[rows], Y[rows], qid=QID[rows])


def right(ranker: Any) -> float:
    if type(ranker) in OF_CLASSES:
        return float(ranker.score(X[TEST], TWO[TEST]))
    return float(ranker.score(X[TEST], Y[TEST], qid=QID[TEST]))


@pytest.mark.parametrize("kind", OF_QUERIES + OF_CLASSES)
def test_trees_learn_what_no_sum_of_features_can(kind: Any) -> None:
    tree, stump = fitted(kind, n_estimators=60), fitted(kind, weak="stump", min_rows=1.0)
    assert right(tree) > right(stump) + 0.03
    assert all(isinstance(one, Tree) for one in tree.model_.rankers)
    losses = tree.trace_.column("log_loss")
    assert (np.diff(losses, prepend=0.0) < 1e-9).all()


@pytest.mark.parametrize(
    ("kind", "interactions"),
    [(RankBoost, 1), *((kind, 2) for kind in [GradientRanker, *OF_QUERIES, *OF_CLASSES])],
)
def test_monotone_constraints_and_interactions(kind: Any, interactions: int) -> None:
    signs = [0, 1, 1, -1]
    ranker = fitted(
        kind, n_estimators=10, monotone_constraints=signs, interactions=interactions,
        subsample_rows=0.7,
    )  # fmt: skip
    assert max(len(set(one.features)) for one in ranker.model_.rankers) == interactions
    for feature, sign in enumerate(signs):
        rows = np.repeat(X[None, :20], 25, axis=0)
        rows[:, :, feature] = np.linspace(-3, 3, 25)[:, None]
        scores = ranker.predict(rows.reshape(-1, 4)).reshape(25, 20)
        assert (sign * np.diff(scores, axis=0) >= 0.0).all()


@pytest.mark.parametrize("seed", range(12))
def test_symmetric_trees_end_under_monotone_bounds(seed: int) -> None:
    """Leaves may be worth less than nothing there: no split may be tried for ever."""
    random = np.random.default_rng(seed)
    rows, labels = random.integers(0, 4, (16, 2)).astype(float), random.integers(0, 3, 16)
    ranker = GradientRanker(
        4, symmetric=True, max_leaves=32, min_rows=2, l2=0.0, monotone_constraints=[1, -1]
    )
    scores = ranker.fit(rows, labels).predict(np.indices((4, 4)).reshape(2, -1).T.astype(float))
    table = scores.reshape(4, 4)
    assert (np.diff(table, axis=0) >= 0.0).all()
    assert (np.diff(table, axis=1) <= 0.0).all()


@pytest.mark.parametrize("how", [{}, {"step": "bound"}])
def test_the_push_of_power_1_is_rankboost(how: Any) -> None:
    push = fitted(PNormPush, p=1, balance="pairs", n_estimators=8, **how)
    plain = fitted(RankBoost, n_estimators=8, **how)
    assert push.predict(X).tobytes() == plain.predict(X).tobytes()


@pytest.mark.parametrize("step", ["smooth", "line_search"])
def test_the_smooth_margin_never_falls_once_it_is_positive(step: str) -> None:
    ranker = SmoothMarginRanker(20, weak="tree", l2=1.0, step=step)
    ranker.fit(X[:90], Y[:90], qid=QID[:90])
    assert ranker.separable_round_ is not None
    g = ranker.trace_.column("smooth_margin")[ranker.separable_round_ - 1 :]
    assert (np.diff(g) >= -1e-9).all()
    found = inspection.margins(ranker, X[:90], Y[:90], qid=QID[:90])
    last = ranker.trace_[-1].extras
    assert found.minimum == pytest.approx(last["margin"], rel=1e-6)
    assert last["smooth_margin"] <= found.minimum <= 1.0
    two = AdaBoostRanker(20, 1.0, weak="tree", l2=1.0, step=step)
    two.fit(X[:90], TWO[:90])
    assert two.separable_round_ is not None
    found = inspection.class_margins(two, X[:90], TWO[:90])
    assert found.minimum == pytest.approx(two.trace_[-1].extras["margin"], rel=1e-6)


@pytest.mark.parametrize("kind", OF_QUERIES + OF_CLASSES)
def test_parameters_of_trees_are_refused_without_trees(kind: Any) -> None:
    for name, value in (("max_leaves", 4), ("interactions", 2), ("min_rows", 5), ("max_depth", 2)):
        with pytest.raises(ParameterError, match=f"{name} is for weak='tree', and weak is 'stump'"):
            fitted(kind, **{"weak": "stump", "min_rows": 1.0, name: value})
    if kind in OF_CLASSES:
        with pytest.raises(ParameterError, match="monotone_constraints is for weak='tree'"):
            fitted(kind, weak="stump", min_rows=1.0, monotone_constraints=[1, 0, 0, 0])


def test_leaves_that_no_data_can_fill_make_no_round() -> None:
    with pytest.warns(UserWarning, match="two leaves of min_rows=1000: set min_rows lower"):
        ranker = RankBoost(5, weak="tree", min_rows=1000).fit(X, Y, qid=QID)
    assert not ranker.predict(X).any()


def test_values_too_small_for_the_grid_end_the_rounds() -> None:
    x, y = np.arange(40.0)[:, None], np.arange(40) % 3
    ranker = GradientRanker(
        60, 0.5, symmetric=False, max_leaves=40, min_rows=0, l2=0, subsample_rows=1.0
    ).fit(x, y)
    assert ranker.trace_.stopped == "no weak ranker helps"
    assert 30 < len(ranker.trace_) < 60
    assert all(any(one.values) for one in ranker.model_.rankers)


def test_no_grid_tries_parameters_of_trees_with_stumps() -> None:
    from crucial.lab.rankers import as_contenders

    for one in as_contenders(["rankboost", "logistic", "pnorm-push", "adaboost"], "small"):
        assert {"max_leaves", "l2"}.isdisjoint(one.grid)


# -- max_pairs: trees of two features combine the pairs that gain most, and no others. --
DATA = make_interactions(n_queries=30, docs_per_query=20, n_pairs=3, n_noise=3, seed=1)
TRUE = [(0, 1), (2, 3), (4, 5)]
TRIAL = 30


@pytest.fixture(autouse=True)
def short_trial(monkeypatch):
    monkeypatch.setattr(rankboost, "TRIAL_ROUNDS", TRIAL)


def fitted_pairs(kind=GradientRanker, n_estimators=8, **more):
    return kind(n_estimators, interactions=2, l2=1.0, **more).fit(DATA.X, DATA.y, qid=DATA.qid)


def pairs_of(ranker):
    return set(gains_of_pairs(ranker.model_.rankers))


def test_the_pairs_are_those_that_gain_most_in_a_trial():
    trial = fitted_pairs(n_estimators=TRIAL)
    ranked = list(gains_of_pairs(trial.model_.rankers))
    assert len(ranked) > 4
    limited = fitted_pairs(max_pairs=4)
    assert limited.feature_pairs_ == ranked[:4]
    assert pairs_of(limited) <= set(ranked[:4])
    assert set(TRUE) <= set(limited.feature_pairs_)
    # by hand: the same trees, of a learner that is told the pairs
    told = GradientRanker(8, interactions=2, max_pairs=4, l2=1.0)
    told._shared_pairs = ranked[:4]
    assert (
        told.fit(DATA.X, DATA.y, qid=DATA.qid).predict(DATA.X).tobytes()
        == limited.predict(DATA.X).tobytes()
    )


@pytest.mark.parametrize(("kind", "more"), [(GradientRanker, {}), (RankBoost, {"weak": "tree"})])
def test_no_pairs_are_trees_of_one_feature_and_many_are_all(kind, more):
    none, many = (fitted_pairs(kind, max_pairs=most, **more) for most in (0, 1000))
    one = kind(8, interactions=1, l2=1.0, **more).fit(DATA.X, DATA.y, qid=DATA.qid)
    assert none.predict(DATA.X).tobytes() == one.predict(DATA.X).tobytes()
    assert none.feature_pairs_ == []
    assert many.predict(DATA.X).tobytes() == fitted_pairs(kind, **more).predict(DATA.X).tobytes()
    assert len(pairs_of(fitted_pairs(kind, max_pairs=1, **more))) <= 1


def test_bags_folds_files_and_warm_starts_keep_the_limit(tmp_path):
    bagged = fitted_pairs(n_bags=3, max_pairs=2, subsample_rows=0.7)
    assert pairs_of(bagged) <= set(bagged.feature_pairs_)
    assert len(bagged.feature_pairs_) == 2
    assert fitted_pairs(validation_folds=2, max_pairs=2, n_estimators=5).feature_pairs_
    whole = fitted_pairs(max_pairs=2, n_estimators=8)
    grown = fitted_pairs(max_pairs=2, n_estimators=3, warm_start=True)
    grown.set_params(n_estimators=8).fit(DATA.X, DATA.y, qid=DATA.qid)
    assert grown.predict(DATA.X).tobytes() == whole.predict(DATA.X).tobytes()
    whole.save(tmp_path / "m.json")
    model = load_model(tmp_path / "m.json")
    assert model.training["feature_pairs"] == [list(pair) for pair in whole.feature_pairs_]
    assert "pairs of features together" in "\n".join(model.explain(5))
    assert not hasattr(
        whole.set_params(max_pairs=None).fit(DATA.X, DATA.y, qid=DATA.qid), "feature_pairs_"
    )


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_an_abstention_that_training_lacked_goes_where_most_rows_went(side: float) -> None:
    """One row in five is on the other side of the only cut."""
    X = side * np.where(np.arange(40) % 5 == 0, 1.0, 0.0)[:, None]
    y = np.arange(40) % 5 == 0
    for kind in (GradientRanker, RankBoost):
        ranker = kind(1, weak="tree", max_leaves=2, min_rows=1).fit(X, y)
        many, few, absent = ranker.predict([[0.0], [side], [np.nan]])
        assert absent == many < few
