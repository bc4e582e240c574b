"""Bags and folds of queries in parts, and pairs of features, against fits on one table."""

from functools import partial

import numpy as np
import pytest

from crucial import GradientRanker, LogisticRanker, RankBoost
from crucial.distributed.checkpoint import Checkpoint
from crucial.distributed.checkpoint_file import read_runs
from crucial.distributed.fit import fit_parted
from crucial.distributed.fitting import check_ranker
from crucial.distributed.part import Part
from crucial.errors import DataError
from naive.cuts import Forgetful, Problem, assert_same

DIVIDED = [
    RankBoost(5, n_bags=3),
    RankBoost(20, n_bags=3, early_stopping_rounds=2, record_risks=True, eval_metric=["map", "err"]),
    RankBoost(4, n_bags=2, weak="tree", min_rows=5, subsample=0.5),
    GradientRanker(4, n_bags=3, min_rows=5, loss="xendcg", max_features=0.6),
    GradientRanker(12, n_bags=3, min_rows=5, early_stopping_rounds=2),
    RankBoost(6, validation_folds=3),
    RankBoost(16, validation_folds=4, early_stopping_rounds=2, subsample=0.7),
    GradientRanker(9, validation_folds=2, min_rows=5, loss="yeti", early_stopping_rounds=3),
    LogisticRanker(4, n_bags=2),
    LogisticRanker(4, validation_folds=2),
]
# (a trial of 100 rounds precedes each of these)
PAIRED = [
    GradientRanker(3, min_rows=5, max_leaves=4, interactions=2, max_pairs=2),
    GradientRanker(2, min_rows=5, max_leaves=4, interactions=2, max_pairs=1, n_bags=2),
    RankBoost(2, weak="tree", min_rows=5, max_leaves=3, interactions=2, max_pairs=1),
]


def name_of(estimator):
    return str(estimator).replace("\n", "").replace(" ", "")


def again(estimator):
    return type(estimator)(**estimator.get_params())


@pytest.fixture(autouse=True)
def short_trials(monkeypatch):
    monkeypatch.setattr("crucial.boosting.feature_pairs.TRIAL_ROUNDS", 8)


@pytest.mark.parametrize("estimator", DIVIDED + PAIRED, ids=name_of)
def test_any_cut_gives_the_same_bytes(estimator):
    seed = len(name_of(estimator))
    problem = Problem(seed, weighted=seed % 2 == 0, levels=4)
    local = problem.fit(estimator)
    for n_parts in (1, 7):
        fitted = problem.fit_cut(again(estimator), n_parts, seed=n_parts)
        assert_same(local, fitted)
        if estimator.validation_folds is not None:
            assert np.array_equal(fitted.fold_curves_.values, local.fold_curves_.values)
        assert getattr(fitted, "feature_pairs_", 0) == getattr(local, "feature_pairs_", 0)


@pytest.mark.parametrize(
    "estimator",
    [
        RankBoost(5, validation_folds=3),
        RankBoost(5, n_bags=2, early_stopping_rounds=2),
        RankBoost(5, early_stopping_rounds=2),
    ],
    ids=name_of,
)
@pytest.mark.parametrize("lowest", [0, -1])
def test_the_default_measure_is_that_of_all_queries(estimator, lowest):
    problem = Problem(2, n_queries=5, largest=40)
    problem.y[problem.qid == 4] += lowest  # (labels below 0 in one query)
    local = problem.fit(again(estimator))
    fitted = problem.fit_cut(again(estimator), 3)
    assert_same(local, fitted)
    measure = "auc" if lowest < 0 else "ndcg@10"
    if estimator.validation_folds is None:
        assert [*fitted.trace_[0].measures] == [measure]
    else:
        assert fitted.fold_curves_.measure == local.fold_curves_.measure == measure


@pytest.mark.parametrize("estimator", [RankBoost(9, n_bags=2, early_stopping_rounds=2), PAIRED[0]])
def test_an_eval_set_is_measured_but_not_by_trials(estimator):
    problem = Problem(8, weighted=True, levels=4)
    unseen = Problem(9, n_queries=25, largest=30, levels=4).under(problem.bins)
    local = problem.fit(estimator, unseen)
    assert local.trace_[0].measures
    for n_parts in (2, 9):
        fitted = problem.fit_cut(again(estimator), n_parts, seed=n_parts, eval_set=unseen)
        assert_same(local, fitted)
        assert fitted.best_round_ == local.best_round_


@pytest.mark.parametrize(
    "estimator",
    [
        RankBoost(9, n_bags=2, early_stopping_rounds=2, subsample=0.7),
        GradientRanker(4, validation_folds=2, min_rows=5, loss="xendcg"),
        GradientRanker(2, min_rows=5, max_leaves=4, interactions=2, max_pairs=1),
    ],
    ids=name_of,
)
def test_parts_that_are_loaded_again_repeat_the_run_at_hand(estimator):
    problem = Problem(6, weighted=True, levels=4)
    make = partial(problem.cut, 4)
    parts = Forgetful(lambda: make()._parts)
    assert_same(problem.fit(estimator), fit_parted(again(estimator), parts, problem.head))


def test_runs_that_are_over_are_not_repeated(monkeypatch):
    problem, moved = Problem(6), []
    parts = Forgetful(lambda: problem.cut(2)._parts, every=10**9)
    fit_parted(RankBoost(5, n_bags=3), parts, problem.head)
    (part, _) = problem.cut(2)._parts
    whole = Part.move
    monkeypatch.setattr(Part, "move", lambda *args: (moved.append(args[1]), whole(*args)))
    part.replay(parts.log)
    assert len(moved) == 15  # (those of the mean)


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (RankBoost(n_bags=2), "n_bags on parts of the rows divides whole queries, .* pass qid"),
        (RankBoost(validation_folds=2), "validation_folds on parts .* pass qid"),
    ],
)
def test_rows_of_one_query_are_not_divided(estimator, words):
    problem = Problem()
    problem.qid[:] = 0
    with pytest.raises(DataError, match=words):
        fit_parted(estimator, problem.cut(1), problem.without_queries)


def test_what_does_not_go_with_runs_is_refused_before_rows_are_loaded():
    bags, folds = RankBoost(n_bags=2), RankBoost(validation_folds=2)
    with pytest.raises(DataError, match="pass qid"):
        check_ranker(bags, with_qid=False)
    with pytest.raises(DataError, match="pass one of them"):
        check_ranker(folds, has_eval_set=True)


@pytest.mark.parametrize("estimator", [DIVIDED[4], DIVIDED[6], DIVIDED[9]], ids=name_of)
def test_checkpoints_have_all_runs(estimator, tmp_path):
    path, problem = tmp_path / "rounds.json", Problem(6, weighted=True, levels=4)
    local, moments = problem.fit(estimator), (2, estimator.n_estimators + 2, 11)
    earlier = []
    for moment in moments:  # (each time the fit gets a little further)
        keeper, seen = Checkpoint(path, estimator), []

        def interrupt(done, trace, seen=seen, moment=moment):
            seen.append(done)
            if len(seen) >= moment:
                raise KeyboardInterrupt
            return False

        progress = keeper.watching_runs(interrupt, earlier, estimator.n_estimators)
        with pytest.raises(KeyboardInterrupt), keeper.kept():
            problem.fit_cut(again(estimator), 2, progress=progress, earlier=earlier)
        earlier = read_runs(path, estimator) if path.exists() else []
    assert sum(map(len, earlier)) > 5
    searched = Checkpoint(path, estimator).watching_runs(None, earlier, estimator.n_estimators)
    resumed = problem.fit_cut(again(estimator), 3, progress=searched, earlier=earlier)
    assert_same(local, resumed)
    with pytest.raises(DataError, match="has another loss on these data"):
        Problem(7).fit_cut(again(estimator), 3, progress=searched, earlier=earlier)


def test_too_few_queries_are_refused():
    problem = Problem()
    problem.y[problem.qid != 3] = 0.0
    problem.y[np.flatnonzero(problem.qid == 3)[:1]] = 1.0
    problem.y[np.flatnonzero(problem.qid == 3)[1:]] = 0.0
    assert (problem.qid == 3).sum() > 1
    with pytest.raises(DataError, match="only one of them has rows of different labels"):
        problem.fit_cut(RankBoost(n_bags=2), 2)
    with pytest.raises(DataError, match=r"needs as many queries .* Got 1\."):
        problem.fit_cut(RankBoost(validation_folds=2), 2)
    unseen = Problem(9).under(problem.bins)
    with pytest.raises(DataError, match="pass one of them"):
        problem.fit_cut(RankBoost(validation_folds=2), 2, eval_set=unseen)
