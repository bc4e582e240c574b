"""Netted feedback, and the sum of several judges, equal their listed pairs."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucial import RankBoost, RankBoostPlus
from crucial.data import Groups
from crucial.errors import DataError
from crucial.feedback import LabelFeedback, PairFeedback
from crucial.feedback.pairs import add_feedback, net_feedback
from crucial.rankers import SmoothMarginRanker
from naive.pairs import Pairs, from_labels, from_list

GAINS = {"linear": lambda y: y, None: None}


@st.composite
def cases(draw, max_judges=1, explicit=True):
    """Labels of some judges over queries, pairs that may contradict them, and weights."""
    n = draw(st.integers(2, 9))
    qid = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    judges = draw(st.integers(1, max_judges))
    label = st.integers(0, 3)
    y = [draw(st.lists(label, min_size=n, max_size=n)) for _ in range(judges)]
    row = st.integers(0, n - 1)
    pair = st.tuples(row, row).filter(lambda p: p[0] != p[1])
    pairs = draw(st.lists(pair, min_size=1, max_size=10)) if explicit else []
    size = st.sampled_from([0.5, 1.0, 1.0, 2.0, 0.3])
    return {
        "y": y,
        "qid": qid,
        "pairs": pairs,
        "pair_weight": [draw(size) for _ in pairs],
        "weight": draw(st.none() | st.lists(size, min_size=n, max_size=n)),
        "balance": draw(st.sampled_from(["pairs", "queries"])),
        "gain": draw(st.sampled_from([None, "linear"])),
        "factors": [draw(size) for _ in y],
        "scores": [draw(st.floats(-3, 3)) for _ in range(n)],
    }


def naive_parts(case):
    """The listed pairs of every judge with their own weights, and the explicit ones."""
    parts = []
    for y, factor in zip(case["y"], case["factors"]):
        options = (case["qid"], case["weight"])
        listed = from_labels(y, *options, case["balance"], gain=GAINS[case["gain"]])
        raw = from_labels(y, *options, gain=GAINS[case["gain"]])
        if len(listed):  # (all pairs of a part together weigh what they do without balance)
            parts.append(listed.times(factor * raw.total / listed.total))
    if case["pairs"]:
        parts.append(from_list(case["pairs"], len(case["qid"]), case["pair_weight"]))
    return parts


def netted(parts, n_rows):
    """The positive part of the antisymmetric sum; differences of rounding are none."""
    table = {}
    for part in parts:
        for a, b, w in zip(part.lo, part.hi, part.weight):
            table[a, b] = table.get((a, b), 0.0) + w
    left = Pairs([], [], [], n_rows)
    for (a, b), w in sorted(table.items()):
        against = table.get((b, a), 0.0)
        if w - against > 1e-12 * against:
            left.lo.append(a)
            left.hi.append(b)
            left.weight.append(w - against)
    return left


def built(case):
    groups = Groups.from_qid(case["qid"], len(case["qid"]))
    labels = [
        LabelFeedback(y, groups, weight=case["weight"], balance=case["balance"], gain=case["gain"])
        for y in case["y"]
    ]
    explicit = None
    if case["pairs"]:
        explicit = PairFeedback(case["pairs"], len(case["qid"]), weight=case["pair_weight"])
    return labels, explicit


def assert_same(feedback, expected, scores):
    np.testing.assert_allclose(feedback.potentials(scores), expected.potentials(scores), atol=1e-11)
    assert feedback.log_loss(scores) == pytest.approx(expected.log_loss(scores), abs=1e-11)
    np.testing.assert_allclose(
        (feedback.r1(scores), feedback.r2(scores)), expected.risks(scores), atol=1e-11
    )
    high, low, weight = feedback.pairs_at(np.arange(feedback.n_pairs))
    found = {}
    for a, b, w in zip(feedback.rows[low].tolist(), feedback.rows[high].tolist(), weight.tolist()):
        found[a, b] = found.get((a, b), 0.0) + w
    wanted = {}
    for a, b, w in zip(expected.lo, expected.hi, expected.weight):
        wanted[a, b] = wanted.get((a, b), 0.0) + w / expected.total
    assert found == pytest.approx(wanted, abs=1e-12)


@given(cases())
def test_labels_and_pairs(case):
    check_netted(case)


@given(cases(max_judges=3, explicit=False) | cases(max_judges=3))
def test_several_judges_netted(case):
    check_netted(case)


def check_netted(case):
    expected = netted(naive_parts(case), len(case["qid"]))
    try:
        labels, explicit = built(case)
    except DataError:
        return  # (a judge without any pair)
    if not len(expected):
        with pytest.raises(DataError, match="No comparable pair"):
            net_feedback(labels, netted_alone(explicit, case), case["factors"])
        return
    feedback = net_feedback(labels, netted_alone(explicit, case), case["factors"])
    assert_same(feedback, expected, case["scores"])


def netted_alone(explicit, case):
    """Explicit pairs as an estimator passes them: netted among themselves, if any are left."""
    if explicit is None:
        return None
    try:
        return PairFeedback(
            case["pairs"], len(case["qid"]), weight=case["pair_weight"], contradictions="net"
        )
    except DataError:
        return None


@given(cases(max_judges=3))
def test_several_judges_kept(case):
    try:
        labels, explicit = built(case)
    except DataError:
        return
    feedback = add_feedback(labels, np.array(case["factors"]), explicit, "keep")
    parts = naive_parts(case)
    expected = parts[0]
    for part in parts[1:]:
        expected = expected + part
    assert_same(feedback, expected, case["scores"])
    assert math.isclose(feedback.total, expected.total, rel_tol=1e-12)


def test_a_contradicted_row_leaves_the_other_pairs_unlisted():
    n = 5000
    labels = LabelFeedback(np.arange(n))
    feedback = net_feedback([labels], PairFeedback([(0, 7), (0, 4000)], n))
    # Row 0 is in both contradicted pairs: its pairs are listed, the other 12 million are not.
    rest, listed = feedback.parts
    assert rest.n_pairs == (n - 1) * (n - 2) // 2
    assert listed.n_pairs == n - 3
    assert feedback.total == pytest.approx(n * (n - 1) / 2 - 2)


RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 4))
JUDGES = np.column_stack([(X[:, j] + RNG.normal(size=60) > 0).astype(float) for j in range(3)])
QID = np.repeat(np.arange(6), 10)


def fitted(y, **arguments):
    return RankBoost(15, 1.0).fit(X, y, qid=QID, **arguments)


def test_judges_of_different_rows_are_like_rows_without_the_others():
    y = np.where(np.arange(60)[:, None] < 30, [1.0, np.nan], [np.nan, 1.0]) * JUDGES[:, :2]
    joined = np.where(np.arange(60) < 30, JUDGES[:, 0], JUDGES[:, 1])
    np.testing.assert_allclose(fitted(y).predict(X), fitted(joined).predict(X), atol=1e-9)


@pytest.mark.parametrize("mark", [None, pd.NA, float("nan")])
def test_marks_of_missing_labels_in_frames(mark):
    y = JUDGES[:, :2].astype(object)
    y[:20, 1] = mark
    numbers = JUDGES[:, :2].copy()
    numbers[:20, 1] = np.nan
    expected = fitted(numbers).predict(X).tolist()
    assert fitted(pd.DataFrame(y, columns=["ann", "bob"])).predict(X).tolist() == expected
    assert fitted(pl.DataFrame(numbers)).predict(X).tolist() == expected


def test_judges_are_the_pairs_that_they_imply():
    pairs = [from_labels(JUDGES[:, j], QID.tolist()) for j in range(3)]
    listed = pairs[0].times(2.0) + pairs[1] + pairs[2]
    explicit = RankBoost(15, 1.0).fit_pairs(
        X, np.column_stack((listed.hi, listed.lo)), pair_weight=listed.weight
    )
    judged = fitted(JUDGES, judge_weight=[2.0, 1.0, 1.0])
    np.testing.assert_allclose(judged.predict(X), explicit.predict(X), atol=1e-9)
    net = RankBoost(15, 1.0, contradictions="net")
    left = netted([pairs[0].times(2.0), *pairs[1:]], 60)
    of_net = net.fit(X, JUDGES, qid=QID, judge_weight=[2, 1, 1]).predict(X)
    of_left = RankBoost(15, 1.0).fit_pairs(
        X, np.column_stack((left.hi, left.lo)), pair_weight=left.weight
    )
    np.testing.assert_allclose(of_net, of_left.predict(X), atol=1e-9)


@pytest.mark.parametrize("ranker", [SmoothMarginRanker(10), RankBoostPlus(8)])
@pytest.mark.filterwarnings("ignore:.*smooth margin")
def test_judges_of_other_rankers(ranker):
    pairs = [from_labels(JUDGES[:, j], QID.tolist()) for j in range(2)]
    listed = pairs[0] + pairs[1]
    judged = ranker.fit(X, JUDGES[:, :2], qid=QID).predict(X)
    explicit = ranker.fit_pairs(X, np.column_stack((listed.hi, listed.lo))).predict(X)
    np.testing.assert_allclose(judged, explicit, atol=1e-9)


def test_rows_keep_their_weights_in_what_is_netted():
    """Bins of features are quantiles by row weights: netting must not make all rows equal."""
    weight = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    labels = LabelFeedback([2, 1, 0, 1, 0], weight=weight)
    of_pairs = net_feedback([labels], PairFeedback([(2, 0), (4, 3)], 5))
    of_judges = net_feedback([labels, LabelFeedback([0, 1, 2, 0, 1], weight=weight)])
    for found in (of_pairs, of_judges):
        assert found.weight.tolist() == weight[found.rows].tolist()
        for part in getattr(found, "parts", [found]):
            assert part.weight.tolist() == weight[part.rows].tolist()
    plain = net_feedback([LabelFeedback([2, 1, 0, 1, 0])], PairFeedback([(2, 0), (4, 3)], 5))
    assert all(part.weight is None for part in getattr(plain, "parts", [plain]))
