"""Bags averaged to one model and folds that choose the rounds, against runs made by hand."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from crucial import GradientRanker, RankBoost, evaluate
from crucial.data import Groups
from crucial.data.groups import deal
from crucial.data.instances import Instances
from crucial.errors import ParameterError
from crucial.feedback import LabelFeedback
from crucial.measures import get_measure
from crucial.rankers import AdaBoostRanker, ComponentwiseBoost, LogisticRanker, PNormPush
from crucial.rankers.base import RankingInput
from crucial.rankers.resampling import bag_weights as weights_of_bags
from naive.paths import using

RANDOM = np.random.default_rng(0)
N, BAGS, QUERIES = 240, 3, 12
X = RANDOM.integers(0, 6, size=(N, 4)) * 1.0  # (few values: a part of the rows has them all)
QID = np.repeat(np.arange(QUERIES), 20)
Y = np.digitize((X[:, 0] - 2) * (X[:, 1] - 2) + X[:, 2] + RANDOM.normal(size=N), [1, 4, 7]) * 1.0
NOISY = X + 0.01 * RANDOM.normal(size=X.shape)  # (all values differ)
GROUPS = Groups.from_qid(QID, N)
NDCG = get_measure("ndcg@10")
KINDS = [GradientRanker, RankBoost]


def bag_weights(with_qid=True, bags=BAGS):
    """The weights of all rows in every bag, and the seed of its run."""
    groups = GROUPS if with_qid else Groups.single(N)
    data = RankingInput(Instances.from_input(X), Y, groups, None, with_qid)
    weights = weights_of_bags(data, LabelFeedback(Y, groups).rows, bags, 0)
    seeds = [int(np.random.default_rng([0, 20043, b]).integers(2**31)) for b in range(bags)]
    return list(zip(weights, seeds, strict=True))


def runs_by_hand(kind, rounds, qid=QID, **more):
    """The model of each bag as a fit of its own."""
    return [
        kind(n_estimators=rounds, random_state=seed, **more).fit(
            X, Y, qid=qid, sample_weight=weight
        )
        for weight, seed in bag_weights(qid is not None)
    ]


@pytest.mark.parametrize("weak", ["stump", "tree"])
@pytest.mark.parametrize("kind", [*KINDS, LogisticRanker, PNormPush])
def test_the_mean_of_runs_is_one_model_and_so_are_its_first_rounds(kind, weak):
    more = {"subsample": 0.8, "weak": weak}
    if weak == "tree":
        more |= {"subsample_rows": 0.7, "max_features": 0.5}
    runs = runs_by_hand(kind, 6, **more)
    mean = kind(n_estimators=6, n_bags=BAGS, **more).fit(X, Y, qid=QID)
    assert len(mean.trace_) == 6 * BAGS
    for rounds in (1, 4, 6):
        expected = np.mean([one.truncate(rounds).predict(X) for one in runs], axis=0)
        found = mean.truncate(rounds * BAGS).predict(X)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    staged = list(mean.staged_predict(X))
    np.testing.assert_allclose(staged[-1], mean.predict(X), rtol=0, atol=1e-12)


def test_bags_leave_out_whole_queries_and_rows_of_every_label():
    weights = np.array([weight for weight, _ in bag_weights()])
    assert all(len({*weights[b, q == QID]}) == 1 for b in range(BAGS) for q in range(QUERIES))
    assert (weights > 0).mean() == round(0.632 * QUERIES) / QUERIES
    assert len({one.tobytes() for one in weights}) == BAGS
    rows = np.array([weight for weight, _ in bag_weights(with_qid=False)]) > 0
    for label in np.unique(Y):
        own = rows[:, label == Y]
        np.testing.assert_allclose(own.sum(axis=1), 0.632 * own.shape[1], atol=1.01)


def test_sums_of_averaged_trees_are_exact_in_tables_and_trees():
    mean = GradientRanker(8, n_bags=BAGS, interactions=2).fit(X, Y, qid=QID)
    sums = mean.model_.tree_sums
    assert sums.exact
    assert sums._tables.scores(X).tobytes() == sums._nodes.scores(X).tobytes()
    assert sums.scores(X).tobytes() == list(mean.staged_predict(X))[-1].tobytes()


@pytest.mark.parametrize(("kind", "more"), [
    (GradientRanker, {"loss": "exponential"}),
    (RankBoost, {"record_risks": True}),
    (RankBoost, {"record_risks": True, "weak": "tree"}),
])  # fmt: skip
def test_the_trace_is_that_of_the_mean_on_all_data(kind, more):
    mean = kind(5, n_bags=BAGS, **more).fit(X, Y, qid=QID)
    feedback = LabelFeedback(Y, GROUPS)
    for number, scores in enumerate(mean.staged_predict(X)):
        assert mean.trace_[number].loss == pytest.approx(feedback.loss(scores))
        if kind is RankBoost:
            assert feedback.r1(scores) == pytest.approx(mean.trace_[number].r1)
            assert mean.trace_[number].r1 <= mean.trace_[number].loss


@pytest.mark.parametrize("qid", [QID, None], ids=["queries", "rows"])
def test_out_of_bag_queries_choose_the_rounds(qid):
    more = {"min_rows": 2, "learning_rate": 0.5}
    bagged = GradientRanker(40, n_bags=BAGS, early_stopping_rounds=4, eval_metric="ndcg@10", **more)
    bagged.fit(X, Y, qid=qid)
    best, done = bagged.best_round_, len(bagged.trace_)
    assert best % BAGS == 0
    assert done == min(best + 4 * BAGS, 40 * BAGS)
    assert bagged.trace_.stopped == ("early stopping" if done < 40 * BAGS else "")
    # by hand: the mean of the runs that a query or row is new to
    runs = runs_by_hand(GradientRanker, done // BAGS, qid, **more)
    unseen = np.array([weight == 0 for weight, _ in bag_weights(qid is not None)])
    rows = unseen.any(axis=0)
    values = []
    for m in range(1, done // BAGS + 1):
        scores = np.array([one.truncate(m).predict(X) for one in runs])
        mean = (scores * unseen).sum(axis=0)[rows] / unseen.sum(axis=0)[rows]
        values.append(NDCG(Y[rows], mean, None if qid is None else qid[rows]))
    np.testing.assert_allclose(bagged.trace_.column("ndcg@10")[BAGS - 1 :: BAGS], values)
    assert best == BAGS * (int(np.argmax(values)) + 1)


def test_an_eval_set_chooses_the_rounds_of_bags():
    held = QID >= 9
    eval_set = {"eval_set": (X[held], Y[held]), "eval_qid": QID[held]}
    mean, later = (
        RankBoost(12, n_bags=BAGS, stopping_tolerance=tolerance).fit(
            X[~held], Y[~held], qid=QID[~held], **eval_set
        )
        for tolerance in (0.0, 100.0)
    )
    assert later.best_round_ == 12 * BAGS
    values = [NDCG(Y[held], s, QID[held]) for s in mean.staged_predict(X[held])]
    np.testing.assert_allclose(mean.trace_.column("ndcg@10"), values)
    assert mean.best_round_ == BAGS * (int(np.argmax(values[BAGS - 1 :: BAGS])) + 1)


@pytest.mark.parametrize("how", [{"n_bags": 3}, {"validation_folds": 3}])
def test_threads_order_of_rows_and_pickles_change_nothing(how):
    ranker = GradientRanker(5, loss="lambda", subsample=0.8, max_features=0.6, n_jobs=1, **how)
    expected = ranker.fit(X, Y, qid=QID).predict(X).tobytes()
    with using("compiled"):
        one, three = (
            clone(ranker).set_params(n_jobs=jobs).fit(X, Y, qid=QID).predict(X).tobytes()
            for jobs in (1, 3)
        )
    assert one == three
    mixed = RANDOM.permutation(N)
    names = np.array([f"q{q:02d}" for q in QID])
    moved = clone(ranker).fit(X[mixed], Y[mixed], qid=names[mixed])
    assert moved.predict(X).tobytes() == expected
    assert pickle.loads(pickle.dumps(moved)).predict(X).tobytes() == expected
    assert (
        clone(ranker).set_params(random_state=1).fit(X, Y, qid=QID).predict(X).tobytes() != expected
    )


@pytest.mark.parametrize("kind", KINDS)
def test_bags_continue_where_they_ended(kind):
    whole = kind(7, n_bags=BAGS, subsample=0.7).fit(X, Y, qid=QID)
    grown = kind(3, n_bags=BAGS, subsample=0.7, warm_start=True).fit(X, Y, qid=QID)
    grown.set_params(n_estimators=7).fit(X, Y, qid=QID)
    assert grown.model_.rankers == whole.model_.rankers
    assert grown.model_.weights == whole.model_.weights
    with pytest.raises(ParameterError, match="less than the 21 rounds"):
        grown.set_params(n_estimators=6).fit(X, Y, qid=QID)


@pytest.mark.parametrize("kind", [*KINDS, ComponentwiseBoost])
def test_folds_choose_the_rounds_of_a_fit_to_all_data(kind):
    weight = np.where(X[:, 0] > 0, 1.0, 2.0)
    how = {"validation_folds": 3, "eval_metric": "ndcg_exp@5"}
    ranker = kind(12, **how).fit(X, Y, qid=QID, sample_weight=weight)
    fold = deal(3, Y, GROUPS, True, np.random.default_rng([0, 20037]))
    curves = []
    for k in range(3):
        own, held = fold != k, fold == k
        one = kind(12, eval_metric="ndcg_exp@5").fit(
            X[own],
            Y[own],
            qid=QID[own],
            sample_weight=weight[own],
            eval_set=(X[held], Y[held]),
            eval_qid=QID[held],
        )
        curves.append(one.trace_.column("ndcg_exp@5"))
    np.testing.assert_allclose(ranker.fold_curves_.values, curves)
    best = ranker.fold_curves_.best_round
    assert ranker.best_round_ == len(ranker.trace_) == best
    plain = kind(best).fit(X, Y, qid=QID, sample_weight=weight)
    assert ranker.predict(X).tobytes() == plain.predict(X).tobytes()
    # with patience, the same curves as far as they go
    soon = kind(12, **how, early_stopping_rounds=3)
    soon.fit(X, Y, qid=QID, sample_weight=weight)
    seen = soon.fold_curves_.mean
    assert seen.tobytes() == ranker.fold_curves_.mean[: len(seen)].tobytes()
    assert soon.model_.training["folds"]["measure"] == "ndcg_exp@5"


def test_rows_without_queries_are_dealt_by_label():
    y = (Y > 0) * 1
    for kind in (RankBoost, AdaBoostRanker):
        ranker = kind(15, validation_folds=4).fit(X, y)
        assert ranker.fold_curves_.measure == "auc"
        assert ranker.fold_curves_.values.shape == (4, 15)
    bagged = RankBoost(10, n_bags=4, early_stopping_rounds=5).fit(X, y)
    assert evaluate(y, bagged.predict(X), measures="auc")["auc"] > 0.7


@pytest.mark.parametrize("how", [
    {"weak": "feature", "step": "numeric"},
    {"thresholds": "random", "max_bins": 4},
    {"positive_weights": "cumulative"},
    {"weak": "tree", "thresholds": "random", "max_bins": 4},
    {"max_bins": None},
])  # fmt: skip
def test_every_weak_ranker_can_be_averaged(how):
    mean = RankBoost(5, n_bags=BAGS, **how).fit(NOISY, Y, qid=QID)
    assert mean.trace_[-1].loss == pytest.approx(LabelFeedback(Y, GROUPS).loss(mean.predict(NOISY)))
    assert len(mean.trace_) == 5 * BAGS
    if how.get("thresholds") == "random":
        shapes = mean.model_.shapes()
        assert all(len(shape.thresholds) <= 3 for shape in shapes.values())
    if "positive_weights" in how:
        assert all((np.diff(s.values) >= 0).all() for s in mean.model_.shapes().values())
