"""Trees as weak rankers of every estimator of the loop: what they learn, and what is refused."""

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from crucial import (
    AdaBoostRanker,
    GradientRanker,
    Groups,
    LabelFeedback,
    LogisticRanker,
    LogitBoost,
    PNormPush,
    RankBoost,
    RankBoostPlus,
    SmoothMarginRanker,
    inspection,
)
from crucial.boosting.pair_losses import LogisticLoss, PNormLoss
from crucial.errors import ParameterError
from crucial.model.weak import Tree

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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if kind in OF_CLASSES:
            return ranker.fit(X[rows], TWO[rows])
        return ranker.fit(X[rows], Y[rows], qid=QID[rows])


def right(ranker: Any) -> float:
    if type(ranker) in OF_CLASSES:
        return float(ranker.score(X[TEST], TWO[TEST]))
    return float(ranker.score(X[TEST], Y[TEST], qid=QID[TEST]))


@pytest.mark.parametrize("kind", OF_QUERIES + OF_CLASSES)
def test_trees_learn_what_no_sum_of_features_can(kind: Any) -> None:
    tree, stump = fitted(kind), kind(n_estimators=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if kind in OF_CLASSES:
            stump.fit(X[TRAIN], TWO[TRAIN])
        else:
            stump.fit(X[TRAIN], Y[TRAIN], qid=QID[TRAIN])
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


@pytest.mark.parametrize(
    ("kind", "objective"), [(LogisticRanker, LogisticLoss()), (PNormPush, PNormLoss(4.0))]
)
@pytest.mark.parametrize("with_pairs", [False, True])
def test_the_first_weight_is_at_the_minimum_of_the_loss(
    kind: Any, objective: Any, with_pairs: bool
) -> None:
    pairs = [(a, b) for a in range(90) for b in range(90) if Y[a] > Y[b] and QID[a] == QID[b]]
    ranker = kind(n_estimators=1, learning_rate=1.0, weak="tree", min_rows=5)
    groups = Groups.from_qid(QID[:90], 90)
    feedback = LabelFeedback(Y[:90], groups, balance=ranker.balance)
    if with_pairs:
        ranker.fit_pairs(X[:90], pairs)
    else:
        ranker.fit(X[:90], Y[:90], qid=QID[:90])
    if not with_pairs:
        state = objective.begin(feedback, 1)
        spare, h = np.zeros(len(state.scores) + 8), ranker.predict(X[:90])[feedback.rows]

        def loss(alpha: float) -> float:
            again = objective.begin(feedback, 1)
            again.advance(alpha * h, 1.0)
            return float(again.potentials(spare)[1])

        best = minimize_scalar(loss, bounds=(0.2, 3.0), method="bounded", options={"xatol": 1e-9})
        assert best.x == pytest.approx(1.0, abs=1e-3)
        assert loss(1.0) == pytest.approx(ranker.trace_[0].log_loss, abs=1e-9)
    elif kind is LogisticRanker:
        labels = kind(n_estimators=1, learning_rate=1.0, weak="tree", min_rows=5)
        labels.fit(X[:90], Y[:90], qid=QID[:90])
        np.testing.assert_allclose(ranker.predict(X), labels.predict(X), rtol=1e-6, atol=1e-8)
    else:
        assert ranker.trace_[0].z < 0.95


def test_the_push_of_power_1_is_rankboost() -> None:
    push = fitted(PNormPush, p=1, balance="pairs", n_estimators=8)
    assert push.predict(X).tobytes() == fitted(RankBoost, n_estimators=8).predict(X).tobytes()
    bound = fitted(PNormPush, p=1, balance="pairs", step="bound", n_estimators=8)
    same = fitted(RankBoost, step="bound", n_estimators=8)
    assert bound.predict(X).tobytes() == same.predict(X).tobytes()


@pytest.mark.parametrize("kind", [RankBoost, LogisticRanker, PNormPush])
def test_method_3_keeps_its_bound_on_z(kind: Any) -> None:
    ranker = fitted(kind, step="bound", learning_rate=1.0)
    r, z = (ranker.trace_.column(name) for name in ("r", "z"))
    assert (r > 0.0).all()
    if kind is RankBoost:
        assert (z <= np.sqrt(1.0 - r**2) + 1e-9).all()
    assert (z < 1.0).all()


@pytest.mark.parametrize("step", ["smooth", "line_search"])
def test_the_smooth_margin_never_falls_once_it_is_positive(step: str) -> None:
    ranker = SmoothMarginRanker(20, weak="tree", min_rows=2, max_leaves=16, step=step)
    ranker.fit(X[:90], Y[:90], qid=QID[:90])
    assert ranker.separable_round_ is not None
    g = ranker.trace_.column("smooth_margin")[ranker.separable_round_ - 1 :]
    assert (np.diff(g) >= -1e-9).all()
    found = inspection.margins(ranker, X[:90], Y[:90], qid=QID[:90])
    last = ranker.trace_[-1].extras
    assert found.minimum == pytest.approx(last["margin"], rel=1e-6)
    assert last["smooth_margin"] <= found.minimum <= 1.0
    two = AdaBoostRanker(20, 1.0, weak="tree", min_rows=2, max_leaves=16, step=step)
    two.fit(X[:90], TWO[:90])
    assert two.separable_round_ is not None
    found = inspection.class_margins(two, X[:90], TWO[:90])
    assert found.minimum == pytest.approx(two.trace_[-1].extras["margin"], rel=1e-6)


def test_an_eval_set_chooses_the_round_and_staged_scores_agree() -> None:
    how = {"early_stopping_rounds": 5, "stopping_tolerance": 0.0, "eval_metric": "ndcg@5"}
    ranker = RankBoost(60, 0.5, weak="tree", **how)
    ranker.fit(X[TRAIN], Y[TRAIN], qid=QID[TRAIN], eval_set=(X[TEST], Y[TEST]), eval_qid=QID[TEST])
    values = ranker.trace_.column("ndcg@5")
    assert len(values) == ranker.best_round_ + 5 < 60
    stages = list(ranker.staged_predict(X))
    assert ranker.predict(X).tobytes() == stages[ranker.best_round_ - 1].tobytes()
    found = ranker.score(X[TEST], Y[TEST], qid=QID[TEST], measure="ndcg@5")
    assert found == pytest.approx(values.max(), abs=1e-12)
    assert ranker.truncate(3).n_rounds == 3


def test_judges_pairs_and_random_thresholds() -> None:
    judges = np.column_stack((Y, np.where(RANDOM.random(N) < 0.3, np.nan, Y)))
    ranker = RankBoost(10, weak="tree", thresholds="random", max_bins=16, random_state=3)
    ranker.fit(X, judges, qid=QID)
    assert ranker.score(X, Y, qid=QID) > 0.85
    again = RankBoost(10, weak="tree", thresholds="random", max_bins=16, random_state=4)
    assert again.fit(X, judges, qid=QID).predict(X).tobytes() != ranker.predict(X).tobytes()
    pairs = [(a, b) for a in range(60) for b in range(60) if Y[a] > Y[b] and QID[a] == QID[b]]
    both = RankBoost(10, weak="tree").fit_pairs(X[:60], pairs, y=Y[:60], qid=QID[:60])
    assert both.score(X[:60], Y[:60], qid=QID[:60]) > 0.85


@pytest.mark.parametrize(
    ("kind", "bad", "message"),
    [
        (RankBoost, {"max_leaves": 1}, "'max_leaves' parameter of RankBoost must be an int of at"),
        (RankBoost, {"step": "exact"}, "with weak='tree' use step='bound' or step='numeric'"),
        (RankBoost, {"choice": "largest_drop"}, "leave it at 'steepest'"),
        (SmoothMarginRanker, {"choice": "steepest"}, "leave it at 'steepest_positive'"),
        (RankBoost, {"default_rank": 0}, "'learned' with weak='tree'"),
        (RankBoost, {"max_bins": None}, r"an int in \[2, 255\] with weak='tree'"),
        (PNormPush, {"max_bins": 1000}, r"an int in \[2, 255\] with weak='tree'"),
        (RankBoost, {"positive_weights": "cumulative"}, "use monotone_constraints"),
        (RankBoostPlus, {}, r"use RankBoost\(weak='tree'\)"),
    ],
)
def test_what_trees_cannot_do_is_refused(kind: Any, bad: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        kind(3, weak="tree", **bad).fit(X, Y, qid=QID)


@pytest.mark.parametrize("kind", OF_QUERIES + OF_CLASSES)
def test_parameters_of_trees_are_refused_without_trees(kind: Any) -> None:
    for name, value in (("max_leaves", 4), ("interactions", 2), ("min_rows", 5), ("max_depth", 2)):
        with pytest.raises(ParameterError, match=f"{name} is for weak='tree', and weak is 'stump'"):
            fitted(kind, **{"weak": "stump", "min_rows": 20.0, name: value})
    if kind in OF_CLASSES:
        with pytest.raises(ParameterError, match="monotone_constraints is for weak='tree'"):
            fitted(kind, weak="stump", min_rows=20.0, monotone_constraints=[1, 0, 0, 0])


def test_leaves_that_no_data_can_fill_make_no_round() -> None:
    with pytest.warns(UserWarning, match="two leaves of min_rows=1000: set min_rows lower"):
        ranker = RankBoost(5, weak="tree", min_rows=1000).fit(X, Y, qid=QID)
    assert not ranker.predict(X).any()


def test_values_too_small_for_the_grid_end_the_rounds() -> None:
    x, y = np.arange(40.0)[:, None], np.arange(40) % 3
    ranker = GradientRanker(60, 0.5, max_leaves=40, min_rows=0, l2=0).fit(x, y)
    assert ranker.trace_.stopped == "no weak ranker helps"
    assert 30 < len(ranker.trace_) < 60
    assert all(any(one.values) for one in ranker.model_.rankers)


def test_no_grid_tries_parameters_of_trees_with_stumps() -> None:
    from crucial.lab.rankers import as_contenders

    for one in as_contenders(["rankboost", "logistic", "pnorm-push", "adaboost"], "small"):
        assert {"max_leaves", "l2"}.isdisjoint(one.grid)
