"""Rankers of two classes on rows that are cut anywhere: the bytes of the fit on one table."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from crucial import AdaBoostRanker, LogitBoost
from crucial.distributed.fit import fit_parted
from crucial.distributed.fitting import check_ranker
from crucial.distributed.part import Part
from crucial.distributed.parts import LocalParts
from crucial.errors import DataError, ParameterError
from crucial.kernels import sizes
from naive.cuts import Forgetful, Problem, assert_same

pytestmark = pytest.mark.filterwarnings("ignore::crucial.errors.NotSeparableWarning")


class Rows(Problem):
    """Rows of two classes without queries, cut anywhere."""

    def __init__(self, seed=0, **options):
        super().__init__(seed, levels=2, **options)
        self.query_weight = None
        self.qid[:] = 0

    def cut(self, n_parts, seed=0, eval_set=None):
        part_of = np.random.default_rng(seed).integers(0, n_parts, len(self.y))
        parts = []
        for k in range(n_parts):
            more = None
            if eval_set is not None:  # (a list is measured as a whole)
                more = eval_set.rows(np.arange(len(eval_set.y) if k == n_parts - 1 else 0))
            parts.append(Part(self.rows(np.flatnonzero(part_of == k)), more))
        return LocalParts(parts)

    @property
    def head(self):
        return replace(super().head, with_qid=False)

    def fit(self, estimator, eval_set=None):
        options = {} if eval_set is None else {"eval_set": (eval_set.X, eval_set.y)}
        return estimator.fit(self.table, self.y, sample_weight=self.weight, **options)


RANKERS = [
    AdaBoostRanker(15),
    AdaBoostRanker(15, learning_rate=1.0, on_perfect="stop", default_rank=0),
    AdaBoostRanker(15, step="line_search", learning_rate=1.0),
    AdaBoostRanker(4, weak="tree", min_rows=3),
    AdaBoostRanker(4, weak="tree", min_rows=3, step="smooth", monotone_constraints=[1, 0, 0, 0, 0]),
    LogitBoost(8),
    LogitBoost(8, clip=None, default_rank=1, learning_rate=1.0),
    LogitBoost(5, weak="tree", min_rows=3),
]


def new(estimator):
    return type(estimator)(**estimator.get_params())


def name_of(estimator):
    return str(estimator).replace("\n", "").replace(" ", "")


@pytest.mark.parametrize("estimator", RANKERS, ids=name_of)
@pytest.mark.parametrize("weighted", [False, True])
def test_any_cut_gives_the_same_bytes(estimator, weighted):
    problem = Rows(len(name_of(estimator)), weighted=weighted)
    local = problem.fit(estimator)
    assert len(local.trace_) > 1
    for n_parts in (1, 3, 30):
        fitted = problem.fit_cut(new(estimator), n_parts, seed=n_parts)
        assert_same(local, fitted)
        assert fitted._classes == local._classes


def test_kernels_are_those_of_the_whole(monkeypatch):
    problem = Rows(5, weighted=True)
    monkeypatch.setattr(sizes, "PLAIN_CELLS", 5 * len(problem.y))
    for estimator in (
        AdaBoostRanker(6),
        AdaBoostRanker(3, weak="tree", min_rows=3),
        LogitBoost(4),
    ):
        local = problem.fit(new(estimator))
        assert_same(local, problem.fit_cut(new(estimator), 4))


def test_scores_beyond_the_exponentials():
    problem = Rows(2, n_queries=8, n_features=2)
    problem.y = (np.nan_to_num(problem.X[:, 0]) > 0).astype(float)
    for weak in ("stump", "tree"):
        options = {"learning_rate": 1.0, "weak": weak}
        options |= {"min_rows": 1} if weak == "tree" else {}
        local = problem.fit(AdaBoostRanker(60, **options))
        if weak == "stump":
            assert sum(abs(one.alpha) for one in local.trace_) > 110
        assert_same(local, problem.fit_cut(AdaBoostRanker(60, **options), 3))


@pytest.mark.parametrize(("kind", "rounds"), [(AdaBoostRanker, 60), (LogitBoost, 8)])
def test_parts_that_are_loaded_again_replay_what_changed_them(kind, rounds):
    problem = Rows(2, n_queries=8, n_features=2)
    problem.y = (np.nan_to_num(problem.X[:, 0]) > 0).astype(float)
    local = problem.fit(kind(rounds, learning_rate=1.0))
    parts = Forgetful(lambda: problem.cut(3)._parts)
    assert_same(local, fit_parted(kind(rounds, learning_rate=1.0), parts, problem.head))


def test_an_eval_set_of_one_list():
    problem = Rows(8)
    unseen = Rows(9, n_queries=25).under(problem.bins)
    for estimator in (AdaBoostRanker(12), LogitBoost(6, weak="tree", min_rows=5)):
        estimator.set_params(early_stopping_rounds=2)
        local = problem.fit(new(estimator), unseen)
        fitted = problem.fit_cut(new(estimator), 3, eval_set=unseen)
        assert_same(local, fitted)
        assert fitted._classes == local._classes
    assert pickle.loads(pickle.dumps(fitted)).best_round_ == local.best_round_


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (AdaBoostRanker(subsample=0.5), "subsample .* use subsample=1"),
        (AdaBoostRanker(thresholds="random"), "use thresholds='quantiles'"),
        (AdaBoostRanker(record_risks=True), "record_risks .* use record_risks=False"),
        (LogitBoost(weak="linear"), "weak .* use weak='stump' or 'tree'"),
        (LogitBoost(eval_metric=["auc", "loss"]), "eval_metric='loss' .* use eval_metric='auc'"),
    ],
)
def test_what_needs_all_rows_at_one_place_is_refused(estimator, words):
    with pytest.raises(ParameterError, match=words):
        check_ranker(estimator, with_qid=False)


def test_queries_and_other_labels_are_refused():
    problem = Rows(1)
    with pytest.raises(ParameterError, match="not within queries; set qid=None"):
        check_ranker(AdaBoostRanker())
    with pytest.raises(ParameterError, match="set qid=None"):
        fit_parted(AdaBoostRanker(2), problem.cut(2), replace(problem.head, with_qid=True))
    problem.y[0] = 5.0
    with pytest.raises(DataError, match="needs labels of two values, and y has 3"):
        problem.fit_cut(AdaBoostRanker(2), 2)
    with pytest.raises(DataError, match="no row of positive weight"):
        fit_parted(AdaBoostRanker(2), LocalParts([]), problem.head)
