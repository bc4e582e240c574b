"""RankBoostPlus: what it takes, tells and refuses, its weights and its independent rankers."""

import math

import numpy as np
import pytest

from crucial import RankBoostPlus
from crucial.data import Groups
from crucial.errors import DataError
from crucial.feedback.labels import LabelFeedback
from crucial.feedback.pairs import PairFeedback, SumFeedback
from crucial.kernels.pairs import PlusSums
from crucial.rankers import rankboost_plus
from crucial.rankers.rankboost_plus import (
    TOLERANCE,
    PlusWeights,
    Span,
    list_pairs,
    log_cosh,
    sample_numbers,
)
from naive.plus import ExactSpan

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
    monkeypatch.setattr(rankboost_plus, "_PAIR_BLOCK", 7)
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
    monkeypatch.setattr(rankboost_plus, "free_memory", lambda: 20_000)
    with pytest.raises(DataError, match=r"there are [\d,]+ pairs.*Learn from a sample of them"):
        RankBoostPlus(2).fit(X, Y, qid=QID)
    assert RankBoostPlus(2, max_pairs=200).fit(X, Y, qid=QID).n_pairs_ == 200


def test_a_static_set_beyond_memory_is_refused(monkeypatch):
    monkeypatch.setattr("crucial.data.arrays.free_memory", lambda: 20_000)
    monkeypatch.setattr(rankboost_plus, "_check_pair_memory", lambda *_: None)
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


# -- RankBoost+ where numbers grow large: weights are computed anew, and nothing is lost. --
def weights_of(n=8):
    random = np.random.default_rng(0)
    pairs = [(a, b) for a in range(n) for b in range(a)]
    feedback = PairFeedback(pairs, n, weight=random.random(len(pairs)) + 0.1)
    listed = list_pairs(feedback, None, 0)
    return PlusWeights(listed, PlusSums(listed.start, listed.low, 1)), random


def exact(weights, outputs, eta):
    """log F2 and log E1 by logarithms of every pair."""
    pairs = weights.pairs
    logs, others = [], []
    for hi, lo, w in zip(pairs.high, pairs.low, pairs.weight):
        m = outputs[:, hi].astype(float) - outputs[:, lo]
        others.append(math.log(w) - float(m @ eta))
        tie = float(log_cosh(np.asarray(eta))[m == 0].sum())
        logs.append(others[-1] + tie)
    return [max(x) + math.log(sum(math.exp(v - max(x)) for v in x)) for x in (logs, others)]


@pytest.mark.kernels
def test_far_steps_and_back_again():
    """Weights pass exp(+-800) on the way; pairs that underflow come back."""
    weights, random = weights_of()
    outputs = random.integers(0, 2, (3, 8)).astype(np.uint8)
    places = [weights.add(one) for one in outputs]
    eta = np.zeros(3)
    for place, alpha in [(0, 90.0), (1, -400.0), (2, 7.0), (0, -60.0), (1, 800.0), (1, -400.0),
                         (0, -29.5), (2, -6.0), (1, 0.25)]:  # fmt: skip
        before = weights.log_e2
        log_z = weights.step(places[place], outputs[place], alpha)
        eta[place] += alpha
        log_e2, log_e1 = exact(weights, outputs, eta)
        assert weights.log_e2 == pytest.approx(log_e2, abs=1e-9)
        assert weights.log_e1 == pytest.approx(log_e1, abs=1e-9)
        assert log_z == pytest.approx(log_e2 - before, abs=1e-9)
    assert np.isfinite(weights.potentials).all()
    assert weights.share_of(slice(None)).sum() == pytest.approx(1.0)


def test_what_is_not_weighed_anew_cannot_matter():
    """Bounds on W0 leave the largest |delta| and all that tie with it exact."""
    weights, random = weights_of(12)
    outputs = random.integers(0, 2, (9, 12)).astype(np.uint8)
    places = [weights.add(one) for one in outputs]
    skipped = 0
    for _ in range(300):
        at = int(random.integers(9))
        floor = float(random.choice([0.0, 0.05, 0.3]))
        before = weights._weighed[:9].copy()
        near, _ = weights.deltas(floor)
        skipped += int((weights._weighed[:9] == before).sum())
        exact_ones, _ = weights.deltas()
        top = np.abs(exact_ones).max()
        if top >= floor:
            assert np.abs(near).max() == pytest.approx(top, abs=1e-12)
            assert near[np.abs(exact_ones).argmax()] == pytest.approx(
                exact_ones[np.abs(exact_ones).argmax()], abs=1e-12
            )
        else:
            assert np.abs(near).max() < floor
        weights.step(places[at], outputs[at], float(random.normal(0, 0.2)))
        weights.deltas(floor)
    assert skipped > 100


def test_separable_data_stay_finite_for_long():
    X = np.arange(10.0)[:, None]
    for search in ("efficient", "optimal"):
        ranker = RankBoostPlus(2000, search=search).fit(X, np.arange(10))
        assert np.isfinite(ranker.model_.weights).all()
        assert np.isfinite(ranker.trace_.column("log_loss")).all()
        assert ranker.score(X, np.arange(10)) == 1.0


def test_a_perfect_ranker_is_smoothed_or_ends_it():
    X, y = np.array([[0.0], [1.0]]), [0, 1]
    smooth = RankBoostPlus(3).fit(X, y)
    assert smooth.model_.weights[0] == pytest.approx(0.5 * math.log((1 + 1e-2) / 1e-2))
    with pytest.warns(UserWarning, match=r"no round could be made \(perfect weak ranker\)"):
        RankBoostPlus(3, on_perfect="stop").fit(X, y)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_weights_at_the_ends_of_the_range(scale):
    random = np.random.default_rng(1)
    X = random.normal(size=(10, 2))
    pairs = [(a, b) for a in range(10) for b in range(a)]
    plain = RankBoostPlus(10).fit_pairs(X, pairs)
    scaled = RankBoostPlus(10).fit_pairs(X, pairs, pair_weight=np.full(len(pairs), scale))
    assert scaled.model_.rankers == plain.model_.rankers
    assert scaled.model_.weights == pytest.approx(plain.model_.weights)


# -- Independence of weak rankers as vectors over pairs, tested in as many dimensions as rows. --
def over_pairs(component, output):
    """A ranker as a vector over all pairs of rows that are compared."""
    n = len(component)
    rows = [(a, b) for a in range(n) for b in range(a) if component[a] == component[b]]
    return [int(output[a]) - int(output[b]) for a, b in rows]


@pytest.mark.parametrize("seed", range(8))
def test_decisions_are_those_of_rational_numbers_over_pairs(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(3, 11))
    component = random.integers(0, random.integers(1, 4), n)
    component = np.unique(component, return_inverse=True)[1]
    span, exact = Span(component), ExactSpan()
    members = []
    for _ in range(3 * n):
        output = random.integers(0, 2, n).astype(np.uint8)
        independent = exact.add(over_pairs(component, output))
        assert span.outside(output[None, :])[0] == independent
        dependent, beta = span.coordinates(output[None, :])
        assert dependent[0] != independent
        if not independent:
            made = np.array(members).reshape(-1, n).T @ beta[0]
            assert over_pairs(component, output) == pytest.approx(
                [a - b for a, b in _differences(component, made)], abs=1e-9
            )
        assert span.add(output) == independent
        if independent:
            members.append(output)
    assert span.size == len(exact.rows) <= span.largest == n - len(np.unique(component))


def _differences(component, values):
    n = len(component)
    return [
        (values[a], values[b]) for a in range(n) for b in range(a) if component[a] == component[b]
    ]


def ill_conditioned(n):
    """A {0, 1} matrix whose inverse has Fibonacci numbers for entries, a ranker a row.

    Unit triangular with the pattern 1 1 0 1 0 1 ...; Graham & Sloane (1984) study such
    anti-Hadamard matrices. Its rows are independent, and nearly are not. A last row of the
    table that all rankers leave at 0 keeps constants out.
    """
    made = np.zeros((n, n + 1))
    for i in range(n):
        for j in range(i, n):
            made[i, j] = i == j or (j - i) % 2
    return made


def least_rest(span, outputs):
    """Add all; the smallest share of one that lay outside the span of those before."""
    shares = []
    for one in outputs:
        centred = span.centred(one[None, :])
        shares.append(np.linalg.norm(span._split(centred)[1]) / np.linalg.norm(centred))
        span.add(one)
    return min(shares)


def test_beyond_the_tolerance_a_column_counts_as_dependent():
    """60 of these rows: the last lies outside by less than rounding leaves of it; 24 all enter."""
    near = Span(np.zeros(25, np.int64))
    assert 10 * TOLERANCE < least_rest(near, ill_conditioned(24)) < 1e-3
    assert near.size == 24
    outputs = ill_conditioned(60)
    span = Span(np.zeros(61, np.int64))
    assert least_rest(span, outputs) < TOLERANCE
    assert span.size < 60


def test_the_tolerance_is_the_border():
    """What lies outside the span by less than the tolerance counts as inside."""
    n = 40
    random = np.random.default_rng(0)
    base = random.normal(size=n)
    other = random.normal(size=n)
    base, other = base - base.mean(), other - other.mean()
    base /= np.linalg.norm(base)
    other -= base * (base @ other)
    other /= np.linalg.norm(other)
    for share, independent in ((3 * TOLERANCE, True), (TOLERANCE / 3, False)):
        span = Span(np.zeros(n, np.int64))
        assert span.add(base)
        assert span.outside((base + share * other)[None, :])[0] == independent
        assert span.add(base + share * other) == independent


def test_a_row_without_a_pair_is_free():
    span = Span(np.array([0, 0, 1]))
    assert span.largest == 1
    assert span.add(np.array([1, 0, 0]))
    assert not span.outside(np.array([[1, 0, 1], [0, 0, 1]])).any()
