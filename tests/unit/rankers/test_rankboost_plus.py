"""RankBoostPlus as an estimator: what it takes, what it tells, what it refuses."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from crucial import Groups, RankBoostPlus
from crucial.errors import DataError
from crucial.feedback.labels import LabelFeedback
from crucial.feedback.pairs import PairFeedback
from crucial.feedback.sums import SumFeedback
from crucial.rankers import rankboost_plus as plus_pairs
from crucial.rankers.rankboost_plus import list_pairs, sample_numbers

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(80, 5))
X[RANDOM.random(X.shape) < 0.1] = np.nan
Y = np.digitize(np.nan_to_num(X[:, 0] + X[:, 1]) + RANDOM.normal(size=80), [-0.5, 0.8])
QID = np.repeat(["a", "b", "c", "d"], 20)


# -- what it takes and tells --------------------------------------------------------------


def test_risks_in_the_trace_are_those_of_the_feedback():
    ranker = RankBoostPlus(12, record_risks=True).fit(X, Y, qid=QID)
    feedback = LabelFeedback(Y, ranker_groups())
    compared = 0
    for one, scores in zip(ranker.trace_, ranker.staged_predict(X), strict=True):
        # Scores that differ by rounding may count as ties or not.
        if len(np.unique(np.round(scores, 9))) == len(np.unique(scores)):
            assert one.r1 == pytest.approx(feedback.r1(scores), abs=1e-12)
            assert one.r2 == pytest.approx(feedback.r2(scores), abs=1e-12)
            compared += 1
    assert compared > 3


def ranker_groups():
    return Groups.from_qid(QID, 80)


def test_equal_and_opposite_columns_count_once():
    """Whatever feature they come from; the static set would have no more members anyway."""
    column = np.nan_to_num(X[:, :2])
    many = np.column_stack((column, column[:, ::-1], -column, 3 * column + 1, np.exp(column)))
    few = RankBoostPlus(40, max_bins=None).fit(column, Y)
    same = RankBoostPlus(40, max_bins=None).fit(many, Y)
    assert same.model_.rankers == few.model_.rankers
    assert same.model_.weights == few.model_.weights
    assert len(same.basis_) == len(few.basis_)


def test_columns_that_agree_on_every_compared_pair_are_one():
    """They differ by a constant in one query, where they order nothing."""
    y, qid = [0, 1, 0, 1], [1, 1, 2, 2]
    columns = np.array([[0, 1, 0, 0], [0, 1, 1, 1], [0, 1, 0, 1]], float).T
    ranker = RankBoostPlus(50, weak="column").fit(columns, y, qid=qid)
    assert {one.feature for one in ranker.basis_} <= {0, 2}


def test_columns_may_abstain():
    columns = np.where(np.isnan(X), np.nan, np.nan_to_num(X) > 0)
    ranker = RankBoostPlus(10, weak="column", default_rank=1).fit(columns, Y)
    assert {one.default for one in ranker.model_.rankers} == {1.0}
    learned = RankBoostPlus(10, weak="column").fit(columns, Y)
    assert learned.trace_[-1].loss <= ranker.trace_[-1].loss + 0.05


def test_static_sets_can_be_asked_for_and_held_small():
    small = np.round(np.nan_to_num(X), 1)
    early = RankBoostPlus(20, static_after=0).fit(small, Y, qid=QID)
    assert early.static_round_ == 1
    rows = 80 - 4
    assert len(early.basis_) <= rows
    held = RankBoostPlus(20, static_after=3, max_static=6).fit(small, Y, qid=QID)
    assert held.static_round_ == 4
    assert len(held.basis_) == 6
    assert len(set(held.model_.rankers)) <= 6
    # Another seed draws another set; the same one the same.
    other = RankBoostPlus(20, static_after=0, random_state=1).fit(small, Y, qid=QID)
    again = RankBoostPlus(20, static_after=0).fit(small, Y, qid=QID)
    assert again.basis_ == early.basis_ != other.basis_


def test_labels_and_pairs_together():
    extra = [(0, 1), (2, 3), (5, 9)]
    ranker = RankBoostPlus(10).fit_pairs(X, extra, pair_weight=[5, 1, 1], y=Y, qid=QID)
    labels, pairs = LabelFeedback(Y, ranker_groups()), PairFeedback(extra, 80, weight=[5, 1, 1])
    assert ranker.n_pairs_ == labels.n_pairs + 3
    both = SumFeedback([labels, pairs])
    scores = ranker.predict(X)
    assert ranker.trace_[-1].extras["e1"] == pytest.approx(both.loss(scores), rel=1e-9)


# -- pairs --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("whole", "count"), [(10, 10), (10, 4), (10, 3), (1000, 300), (10**15, 50)]
)
def test_numbers_are_drawn_without_repetition(whole, count):
    drawn = sample_numbers(whole, count, np.random.default_rng(0))
    assert len(drawn) == count
    assert (np.diff(drawn) > 0).all()
    assert 0 <= drawn[0] <= drawn[-1] < whole


def test_a_sample_of_pairs_is_drawn_from_all_and_again_the_same():
    whole = LabelFeedback(Y, ranker_groups())
    one = list_pairs(whole, 100, 3)
    assert one.n_pairs == 100
    assert len({(h, l) for h, l in zip(one.high.tolist(), one.low.tolist())}) == 100
    again, other = list_pairs(whole, 100, 3), list_pairs(whole, 100, 4)
    assert (one.high == again.high).all()
    assert (one.low == again.low).all()
    assert not (other.high == one.high).all()
    assert one.weight.sum() == pytest.approx(1.0)
    counts = np.zeros(whole.n_pairs)
    for seed in range(400):
        counts[sample_numbers(whole.n_pairs, 60, np.random.default_rng(seed))] += 1
    expected = 400 * 60 / whole.n_pairs
    assert np.abs(counts - expected).max() < 6 * np.sqrt(expected)
    ranker = RankBoostPlus(10, max_pairs=100, random_state=5).fit(X, Y, qid=QID)
    assert ranker.n_pairs_ == 100
    same = RankBoostPlus(10, max_pairs=100, random_state=5).fit(X, Y, qid=QID)
    assert same.model_.weights == ranker.model_.weights
    assert RankBoostPlus(10, max_pairs=10**9).fit(X, Y, qid=QID).n_pairs_ == whole.n_pairs


def test_blocks_of_pairs_change_nothing(monkeypatch):
    from crucial.kernels import pairs as plus_kernels

    whole = RankBoostPlus(15).fit(X, Y, qid=QID)
    monkeypatch.setattr(plus_pairs, "_PAIR_BLOCK", 7)
    listed = RankBoostPlus(15).fit(X, Y, qid=QID)
    assert listed.model_.weights == whole.model_.weights
    monkeypatch.setattr(plus_kernels, "_BLOCK", 50)
    shared = [RankBoostPlus(15, n_jobs=n).fit(X, Y, qid=QID).model_ for n in (1, 2, 5)]
    assert shared[0].weights == shared[1].weights == shared[2].weights
    assert shared[0].weights == pytest.approx(whole.model_.weights, rel=1e-9)


# -- what it refuses ----------------------------------------------------------------------


def test_more_pairs_than_memory_are_refused_before_they_are_made():
    """80 thousand million pairs: the numbers alone would not fit anywhere."""
    n = 400_000
    with pytest.raises(DataError, match=r"79,999,800,000 pairs.* GiB.*max_pairs=.*use RankBoost"):
        RankBoostPlus(2).fit(np.arange(n)[:, None], np.arange(n))


def test_memory_is_asked_for_and_a_sample_fits(monkeypatch):
    monkeypatch.setattr(plus_pairs, "free_memory", lambda: 20_000)
    with pytest.raises(DataError, match=r"there are [\d,]+ pairs.*Learn from a sample of them"):
        RankBoostPlus(2).fit(X, Y, qid=QID)
    assert RankBoostPlus(2, max_pairs=200).fit(X, Y, qid=QID).n_pairs_ == 200


def test_a_static_set_beyond_memory_is_refused(monkeypatch):
    monkeypatch.setattr(plus_pairs, "free_memory", lambda: 20_000)
    monkeypatch.setattr(plus_pairs, "_check_pair_memory", lambda *_: None)
    with pytest.raises(DataError, match=r"In round 1 .* static.*max_static.*max_bins"):
        RankBoostPlus(5, static_after=0).fit(X, Y, qid=QID)
    RankBoostPlus(5, static_after=0, max_static=5).fit(X, Y, qid=QID)


def test_columns_outside_0_and_1_are_named():
    columns = np.zeros((80, 3))
    columns[7, 2] = 0.5
    with pytest.raises(DataError, match=r"weak rankers of 0 and 1 .* Column 2 is 0\.5 in row 7"):
        RankBoostPlus(weak="column").fit(columns, Y)
    columns[7, 2] = -1
    with pytest.raises(DataError, match=r"Column 2 is -1 in row 7; use weak='stump'"):
        RankBoostPlus(weak="column").fit(columns, Y)


def test_pairs_that_weigh_nothing_are_no_sample():
    pairs = [(i, j) for i in range(20) for j in range(i)]
    weight = np.full(len(pairs), 1e-320)
    weight[0] = 1e300
    with pytest.raises(DataError, match="weigh nothing beside the others"):
        RankBoostPlus(2, max_pairs=3, random_state=2).fit_pairs(X[:20], pairs, pair_weight=weight)


# -- as scikit-learn wants it, for other parameters ---------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "parameters",
    [{"search": "optimal"}, {"balance": "queries", "static_after": 3, "learning_rate": 0.5}],
    ids=str,
)
def test_scikit_learns_checks_with_other_parameters(parameters):
    results = check_estimator(
        RankBoostPlus(n_estimators=40, **parameters), on_fail="raise", on_skip=None
    )
    skipped = {one["check_name"] for one in results if one["status"] == "skipped"}
    assert skipped <= {"check_array_api_input"}
