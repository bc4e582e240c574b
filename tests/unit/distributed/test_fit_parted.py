"""Fits on parts of the rows against the fit on one table: the same bytes at any cut."""

import threading
import warnings
from functools import partial

import numpy as np
import pytest

from crucial import GradientRanker, RankBoost, RankBoostPlus
from crucial.boosting.row_losses import LOSSES
from crucial.boosting.stumps import StumpLearner
from crucial.data.groups import Groups
from crucial.distributed.ranker import check_supported
from crucial.distributed.transport import LocalParts
from crucial.errors import DataError, NoProgressWarning, ParameterError
from crucial.feedback.labels import LabelFeedback
from crucial.kernels import runtime
from crucial.rankers import AdaBoostRanker, LogisticRanker
from naive.cuts import Forgetful, Problem, assert_same, fit_parted
from refusals import refused

STUMPS = [
    RankBoost(12),
    RankBoost(12, step="exact", gain="exp", default_rank=0),
    RankBoost(12, choice="steepest_positive", balance="queries", record_risks=True),
    RankBoost(12, subsample=0.4, learning_rate=1.0),
    RankBoost(12, step="exact", monotone_constraints=[1, 0, -1, 0, 1]),
    RankBoost(12, positive_weights="cumulative", on_perfect="stop"),
    RankBoost(12, choice="largest_drop", step="exact"),
    RankBoost(12, choice="largest_drop", subsample=0.5, gain="exp", balance="queries"),
    RankBoost(12, choice="largest_drop", step="exact", monotone_constraints=[1, 0, -1, 0, 1]),
]
TREES = [
    GradientRanker(6, min_rows=5),
    GradientRanker(6, min_rows=5, loss="softmax", subsample=0.5),
    GradientRanker(6, min_rows=5, loss="xendcg", max_features=0.6),
    GradientRanker(6, min_rows=5, loss="lambda", record_risks=True),
    GradientRanker(6, min_rows=5, loss="lambda", measure="map"),
    GradientRanker(6, min_rows=5, loss="yeti", monotone_constraints=[1, 0, -1, 0, 1]),
    GradientRanker(6, min_rows=5, loss="exponential", balance="queries", max_depth=2),
    GradientRanker(4, min_rows=5, loss="exponential", step="line"),
    GradientRanker(6, min_rows=5, weak="stump", gain="exp"),
    GradientRanker(6, min_rows=5, symmetric=True),
    GradientRanker(4, symmetric=True, max_leaves=16, min_rows=1, loss="yeti", interactions=2),
    RankBoost(4, weak="tree", min_rows=9, symmetric=True, monotone_constraints=[1, 0, -1, 0, 1]),
    GradientRanker(6, min_rows=5, subsample_rows=0.6, loss="xendcg", max_features=0.6),
    RankBoost(5, weak="tree", min_rows=2, subsample_rows=0.3, max_leaves=4),
    GradientRanker(5, min_rows=5, weak="stump", loss="logistic", subsample=0.5, record_risks=True),
    RankBoost(4, weak="tree", min_rows=5),
    RankBoost(6, weak="tree", min_rows=2, step="bound", interactions=1),
    *(GradientRanker(4, min_rows=5, loss=name) for name, loss in LOSSES.items() if loss.parted),
]
# (a trial of rounds precedes each of these)
PAIRED = [
    GradientRanker(3, min_rows=5, max_leaves=4, interactions=2, max_pairs=2),
    RankBoost(2, weak="tree", min_rows=5, max_leaves=3, interactions=2, max_pairs=1),
]


@pytest.fixture(autouse=True)
def short_trials(monkeypatch):
    monkeypatch.setattr("crucial.rankers.rankboost.TRIAL_ROUNDS", 8)


def _bound_to_a_lock():
    lock = threading.Lock()
    return lambda scores, labels, groups: (scores, labels, lock)


def name_of(estimator):
    return str(estimator).replace("\n", "").replace(" ", "")


@pytest.mark.parametrize("estimator", STUMPS + TREES + PAIRED, ids=name_of)
def test_any_cut_gives_the_same_bytes(estimator):
    seed = len(name_of(estimator))
    problem = Problem(seed, weighted=seed % 2 == 0, levels=4)
    local = problem.fit(estimator)
    for n_parts in (1, 11, 40):  # (queries are fewer than 40)
        fitted = problem.fit_cut(_new(estimator), n_parts, seed=n_parts)
        assert_same(local, fitted)
        assert getattr(fitted, "feature_pairs_", 0) == getattr(local, "feature_pairs_", 0)


def _new(estimator):
    return type(estimator)(**estimator.get_params())


def cubes(scores, labels, groups):
    """Squares with the cubes of what is left, and the loss of every query."""
    left = scores - labels
    loss = np.add.reduceat(left**2 + np.abs(left) ** 3 / 3.0, groups.starts[:-1])
    return 2.0 * left + left * np.abs(left), 2.0 + 2.0 * np.abs(left), loss


@pytest.mark.parametrize("outputs", [2, 3])
def test_a_loss_of_ones_own_is_called_part_by_part(outputs):
    problem, options = Problem(12, weighted=True), {"min_rows": 5, "subsample": 0.7}
    options["loss"] = lambda *given: cubes(*given)[:outputs]
    local = problem.fit(GradientRanker(5, **options))
    for n_parts in (1, 6):
        assert_same(local, problem.fit_cut(GradientRanker(5, **options), n_parts))


def test_one_loss_for_all_queries_cannot_be_added_up():
    def loss(scores, labels, groups):
        return scores - labels, np.ones(len(scores)), 1.0

    with pytest.raises(DataError, match=r"for each of the \d+ queries, or none"):
        Problem().fit_cut(GradientRanker(2, loss=loss), 2)


def test_a_share_of_no_row_draws_one():
    problem, options = Problem(1), {"min_rows": 0, "subsample_rows": 1e-9}
    with pytest.warns(NoProgressWarning):
        local = problem.fit(GradientRanker(3, **options))
    with pytest.warns(NoProgressWarning):
        assert_same(local, problem.fit_cut(GradientRanker(3, **options), 3))


@pytest.mark.parametrize("estimator", [
    RankBoost(6, step="exact", record_risks=True),
    RankBoost(6, step="exact", choice="largest_drop"),
    GradientRanker(4, min_rows=5, loss="xendcg", record_risks=True),
    GradientRanker(4, min_rows=5, loss="lambda"),
    GradientRanker(4, min_rows=5, loss="yeti"),
    RankBoost(3, weak="tree", min_rows=5),
    GradientRanker(3, min_rows=5, loss="logistic"),
], ids=name_of)  # fmt: skip
def test_kernels_are_those_of_the_whole(estimator, monkeypatch):
    """Parts are so small that NumPy would run them, and the whole is not."""
    problem = Problem(5, weighted=True, levels=4)
    monkeypatch.setattr(runtime, "PLAIN_CELLS", 5 * len(problem.y))
    local = problem.fit(estimator)
    assert_same(local, problem.fit_cut(_new(estimator), 9))


def test_features_that_cannot_be_best_are_not_added_up(monkeypatch):
    problem = Problem(11, n_queries=60, n_features=40)
    monkeypatch.setattr(runtime, "PLAIN_CELLS", 10 * len(problem.y))
    asked = []

    class Counted(LocalParts):
        def total(self, method, *args, changes=False):
            if method == "advance":
                asked.append(len(args[1].features))
            return super().total(method, *args)

    local = problem.fit(RankBoost(30))
    parts = Counted(problem.cut(4)._parts)
    assert_same(local, fit_parted(RankBoost(30), parts, problem.schema))
    assert np.mean(asked) < 30


def test_scores_beyond_the_exponentials():
    """One feature orders all but a few pairs: scores grow until weights are logarithms."""
    problem = Problem(2, n_queries=12, n_features=2, levels=2)
    changes = {"learning_rate": 1.0}
    problem.y = (np.nan_to_num(problem.table.dense_table()[:, 0]) > 0).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        local = problem.fit(RankBoost(90, **changes))
        assert sum(abs(one.alpha) for one in local.trace_) > 200
        for n_parts in (1, 2, 5):
            assert_same(local, problem.fit_cut(RankBoost(90, **changes), n_parts))
        changes["choice"] = "largest_drop"
        local = problem.fit(RankBoost(90, **changes))
        assert sum(abs(one.alpha) for one in local.trace_) > 200
        assert_same(local, problem.fit_cut(RankBoost(90, **changes), 3))
        del changes["choice"]
        changes |= {"loss": "logistic", "min_rows": 1, "l2": 0.0}
        local = problem.fit(GradientRanker(30, **changes))
        scores = local.predict(problem.X)
        assert max(np.ptp(scores[problem.qid == q]) for q in range(12)) > 60
        assert_same(local, problem.fit_cut(GradientRanker(30, **changes), 3))


WATCHED = [
    RankBoost(20, early_stopping_rounds=4),
    RankBoost(20, early_stopping_rounds=4, stopping_tolerance=0.0, eval_metric=["auc", "err"]),
    GradientRanker(12, min_rows=5, early_stopping_rounds=3, eval_metric=["map", "ndcg"]),
    GradientRanker(6, min_rows=5, eval_metric=["r2", "mrr", "kendall"]),
    PAIRED[0],
]


@pytest.mark.parametrize("estimator", WATCHED, ids=name_of)
def test_the_eval_set_is_measured_in_parts(estimator):
    problem = Problem(8, weighted=True, levels=4)
    unseen = Problem(9, n_queries=25, largest=30, levels=4).under(problem.bins)
    local = problem.fit(estimator, unseen)
    for n_parts in (3, 40):
        fitted = problem.fit_cut(_new(estimator), n_parts, seed=n_parts, eval_set=unseen)
        assert_same(local, fitted)
        assert fitted.best_round_ == local.best_round_


def test_queries_are_held_out_for_early_stopping():
    problem = Problem(10, weighted=True)
    options = {"early_stopping_rounds": 3, "stopping_tolerance": 0.0}
    local = problem.fit(RankBoost(30, **options))
    for n_parts in (1, 4):
        assert_same(local, problem.fit_cut(RankBoost(30, **options), n_parts))
    assert 0 < local.best_round_ < 30
    problem.qid[:] = 0
    with pytest.raises(DataError, match="all rows are of one: pass an eval set"):
        problem.fit_cut(RankBoost(3, early_stopping_rounds=2), 1)


@pytest.mark.parametrize(("lowest", "measure"), [(0, "ndcg@10"), (-1, "auc")])
def test_the_default_measure_is_that_of_all_queries(lowest, measure):
    problem = Problem(2, n_queries=5, largest=40)
    problem.y[problem.qid == 4] += lowest  # (labels below 0 in one query)
    local = problem.fit(RankBoost(5, early_stopping_rounds=2))
    fitted = problem.fit_cut(RankBoost(5, early_stopping_rounds=2), 3)
    assert_same(local, fitted)
    assert [*fitted.trace_[0].measures] == [measure]


def test_an_eval_set_without_a_value_is_refused():
    problem = Problem(8)
    unseen = Problem(9).under(problem.bins)
    unseen.y[:] = 0.0
    with pytest.raises(DataError, match="eval_set: ndcg@10 has no value on it"):
        problem.fit_cut(RankBoost(3), 2, eval_set=unseen)


def test_parts_that_are_loaded_again_replay_what_changed_them():
    problem = Problem(6, weighted=True, levels=4)
    unseen = Problem(9, n_queries=10).under(problem.bins)

    for estimator in (
        RankBoost(8, subsample=0.5, step="exact"),
        RankBoost(8, choice="largest_drop"),
        GradientRanker(3, min_rows=5, loss="xendcg"),
        RankBoost(3, weak="tree", min_rows=5),
        GradientRanker(3, min_rows=5, loss="logistic", subsample=0.5),
        GradientRanker(2, min_rows=5, max_leaves=4, interactions=2, max_pairs=1),
    ):
        local, make = problem.fit(estimator, unseen), partial(problem.cut, 4, 0, unseen)
        parts = Forgetful(lambda make=make: make()._parts)
        assert_same(local, fit_parted(_new(estimator), parts, problem.schema))


class Counted(LocalParts):
    """Parts that count the calls that split leaves."""

    splits = 0

    def total(self, method, *args, changes=False):
        self.splits += args[:1] == ("split",)
        return super().total(method, *args, changes=changes)


@pytest.mark.parametrize(
    ("limits", "most"), [({"max_depth": 3}, 3), ({"max_leaves": 20}, 14)], ids=["depth", "leaves"]
)
def test_leaves_are_split_together(limits, most):
    """A tree of all leaves of a depth takes a call per level; of the best leaves, not many more."""
    problem = Problem(2, n_queries=200)
    ranker = GradientRanker(2, symmetric=False, min_rows=5, l2=1.0, **limits)
    local = problem.fit(ranker)
    parts = Counted(problem.cut(3)._parts)
    assert_same(local, fit_parted(ranker, parts, problem.schema))
    assert parts.splits <= most * 2
    assert sum(len(tree.features) for tree in local.model_.rankers) >= 2 * most + 2


def test_callbacks_end_a_fit():
    problem, seen = Problem(7), []

    def stop(finished):
        seen.append(finished.number)
        return finished.number == 3

    fitted = problem.fit_cut(RankBoost(10, callbacks=stop), 3)
    assert (seen, fitted.trace_.stopped) == ([1, 2, 3], "stopped by a callback")


@pytest.mark.parametrize(("estimator", "words"), [
    (RankBoost(warm_start=True), "warm_start=True .* use a checkpoint and resume"),
    (RankBoost(weak="feature"), "weak='feature' does not .* use weak='stump' or 'tree', or fit"),
    (RankBoost(weak=StumpLearner("steepest")), "weak=<.* use weak='stump' or 'tree'"),
    (RankBoost(thresholds="random"), "thresholds='random' .* use thresholds='quantiles'"),
    (RankBoost(n_bags=3), "RankBoost: n_bags=3 does not run on a cluster; use n_bags=1, or fit"),
    (GradientRanker(validation_folds=3), "validation_folds=3 .* use early_stopping_rounds, with"),
    (RankBoost(max_bins=None), "max_bins=None does not .* use max_bins=255 or less"),
    (GradientRanker(loss=_bound_to_a_lock()), "the function loss cannot be sent to workers"),
    (RankBoostPlus(), "RankBoostPlus does not run on a cluster; use RankBoost or Gradient"),
    (AdaBoostRanker(), "AdaBoostRanker does not run .* use RankBoost or GradientRanker, or fit"),
    (LogisticRanker(), r"LogisticRanker does .* use GradientRanker\(loss='logistic'\), or fit"),
])  # fmt: skip
def test_what_needs_all_rows_at_one_place_is_refused_before_they_are_loaded(estimator, words):
    class Untouched(LocalParts):
        def total(self, method, *args, changes=False):
            pytest.fail("a part was asked")

    refused(ParameterError, words, fit_parted, estimator, Untouched([]), Problem().schema)
    refused(ParameterError, words, check_supported, estimator)


def test_parts_without_a_pair_are_refused():
    problem = Problem()
    problem.y[:] = 1.0
    with pytest.raises(DataError, match="none of the 30 queries has two rows of different labels"):
        problem.fit_cut(RankBoost(3), 2)
    with pytest.raises(DataError, match="the parts have no rows"):
        fit_parted(RankBoost(3), LocalParts([]), problem.schema)
    problem = Problem(weighted=True)
    problem.weight, problem.query_weight = np.full(len(problem.y), 1e-150), None
    problem.weight[
        LabelFeedback(problem.y, Groups.from_qid(problem.qid, len(problem.y))).rows[0]
    ] = 1.0
    refused(DataError, "weights of rows are too far apart", problem.fit_cut, RankBoost(3), 2)
