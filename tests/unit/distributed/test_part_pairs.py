"""Explicit pairs of rows in parts against the fit on one table."""

import numpy as np
import pytest

from crucial import GradientRanker, LogisticRanker, RankBoost
from crucial.distributed.fit import fit_parted
from crucial.distributed.part_pairs import NumberedPairs
from crucial.distributed.reach import check_reach
from crucial.errors import DataError, ParameterError
from naive.cuts import Forgetful, Problem, assert_same

FITS = [
    RankBoost(12, record_risks=True),
    RankBoost(8, step="exact", contradictions="net"),
    RankBoost(6, choice="largest_drop", monotone_constraints=[1, 0, -1, 0, 1]),
    RankBoost(4, weak="tree", min_rows=5, subsample_rows=0.7),
    GradientRanker(4, min_rows=5, loss="exponential"),
    GradientRanker(3, min_rows=5, loss="exponential", step="line"),
]


def name_of(estimator):
    return str(estimator).replace("\n", "").replace(" ", "")


def again(estimator):
    return type(estimator)(**estimator.get_params())


@pytest.mark.parametrize("estimator", FITS, ids=name_of)
def test_any_cut_gives_the_same_bytes(estimator):
    seed = len(name_of(estimator))
    problem = Problem(seed, levels=4).with_pairs(weighted=seed % 2 == 0)
    local = problem.fit(estimator)
    for n_parts in (1, 3, 12):
        assert_same(local, problem.fit_cut(again(estimator), n_parts, seed=n_parts))


def test_an_eval_set_is_measured_and_lost_parts_come_back():
    problem = Problem(8, levels=4).with_pairs()
    unseen = Problem(9, n_queries=25, largest=30, levels=4).under(problem.bins)
    estimator = RankBoost(20, early_stopping_rounds=3)
    local = problem.fit(estimator, unseen)
    parts = Forgetful(lambda: problem.cut(4, 0, unseen)._parts)
    assert_same(local, fit_parted(again(estimator), parts, problem.head))
    with pytest.raises(DataError, match="pairs have no queries to set aside"):
        problem.fit_cut(again(estimator), 2)


def test_pairs_of_two_queries_and_of_no_weight_are_refused():
    pairs = NumberedPairs(np.array([[4, 2], [5, 9]]))
    kept = pairs.among(np.array([2, 4]), np.array([7, 7]))
    assert kept.rows.tolist() == [[4, 2]]
    for numbers, query in (([5, 2, 4], [1, 7, 7]), ([5, 9], [1, 2])):
        with pytest.raises(DataError, match="rows 5 and 9 are of different queries"):
            pairs.among(np.array(numbers), np.array(query))
    problem = Problem().with_pairs()
    problem.pair_weight[:] = 0.0
    with pytest.raises(DataError, match="No comparable pair: every pair is contradicted"):
        problem.fit_cut(RankBoost(3), 2)


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (LogisticRanker(), "LogisticRanker does not learn from explicit pairs .* use RankBoost"),
        (GradientRanker(), "GradientRanker does not learn .* or GradientRanker.loss='exponential'"),
        (RankBoost(subsample=0.5), "subsample draws from all pairs.* use subsample=1"),
    ],
)
def test_what_does_not_learn_from_pairs_in_parts(estimator, words):
    with pytest.raises(ParameterError, match=words):
        check_reach(estimator, with_pairs=True)
    with pytest.raises(DataError, match="n_bags resamples the queries of labels"):
        check_reach(RankBoost(n_bags=2), with_pairs=True)
