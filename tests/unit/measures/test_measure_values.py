"""Values that can be worked out by hand or stand in the papers."""

import math

import numpy as np
import pytest

from crucial.errors import DataError
from crucial.measures.names import get_measure
from refusals import refused


def close(name: str, y, scores, expected: float, qid=None, **how) -> None:
    assert get_measure(name)(y, scores, qid, **how) == pytest.approx(expected, rel=1e-14)


# Freund et al. (2003), appendix A, worked out by hand.
@pytest.mark.parametrize(("name", "expected"), [
    ("freund_ap", 31 / 60), ("map", 31 / 60), ("prot", 4 / 9), ("mrr", 4 / 9),
    ("coverage", 11 / 20), ("r2", 11 / 24), ("disagreement", 11 / 24), ("kendall", 11 / 24),
    ("auc", 13 / 24),
    ("kendall(tau)", 2 / 24), ("kendall(tied=0)", 8 / 24), ("r1", 7 / 12),
])  # fmt: skip
def test_expected_measures(name: str, expected: float) -> None:
    close(name, [0, 1, 0, 1, 1, 0, 0], [3, 2, 2, 2, 1, 1, 0], expected)


def test_a_base_may_be_any_number_above_1() -> None:
    fall = math.log(2.5) / math.log(3)
    close("ndcg(b=2.5)", [0, 0, 1], [3, 2, 1], fall)


def test_rounding_never_lifts_a_value_above_1() -> None:
    rng = np.random.default_rng(0)
    y = np.round(rng.random(4000), 1)
    scores = y + np.where(rng.random(4000) < 0.5, 0, 1e-6 * rng.random(4000))
    values = get_measure("ndcg").per_query(y, scores, np.repeat(np.arange(400), 10))
    assert values.max() == 1.0


def test_gains() -> None:
    low, high = 1 + 3 / math.log2(3), 3 + 1 / math.log2(3)
    close("ndcg", [1, 3], [2, 1], low / high)
    close("ndcg_exp", [1, 3], [2, 1], (1 + 7 / math.log2(3)) / (7 + 1 / math.log2(3)))
    close("ndcg@1", [1, 3], [2, 1], 1 / 3)
    close("ndcg@1", [1, 3], [1, 1], 2 / 3)


def test_rank_of_the_best() -> None:
    y = [0] * 40 + [1]
    close("avg_rank", y, np.arange(41.0), 1.0)
    close("avg_rank", y, -np.arange(41.0), 31.0)
    close("avg_rank(cap=100)", y, -np.arange(41.0), 41.0)
    close("avg_rank", y, np.zeros(41), (30 * 31 / 2 + 11 * 31) / 41)
    close("top@10", y, np.zeros(41), 10 / 41)


def test_good_is_the_highest_label_of_the_query() -> None:
    y, scores, qid = [5, 3, 2, 1, 1, 1], [1, 2, 3, 1, 2, 3], [1, 1, 1, 2, 2, 2]
    found = get_measure("freund_ap").per_query(y, scores, qid)
    assert found[0] == 1 / 3
    assert math.isnan(found[1])  # all equal: nothing is better than the rest
    assert get_measure("map").per_query(y, scores, qid)[1] == 1.0
    assert get_measure("freund_ap(rel=2)").per_query(y, scores, qid)[0] == 1.0 * (1 + 1 + 1) / 3
    # labels may be anything that has an order
    close("prot", [-5.0, -3.5, -9.0], [1, 2, 3], 1 / 2)


def test_queries_without_a_value() -> None:
    y, scores, qid = [1, 0, 0, 0], [2, 1, 2, 1], [1, 1, 2, 2]
    for name in ("ndcg@10", "ndcg_exp", "map", "mrr", "p@1", "recall@1", "err", "auc", "r2", "rbp"):
        values = get_measure(name).per_query(y, scores, qid)
        assert np.isnan(values).tolist() == [False, True], name
        skip, zero, one = (get_measure(name)(y, scores, qid, empty=e) for e in ("skip", 0, 1))
        assert (zero, one) == (skip / 2, (skip + 1) / 2), name
    assert math.isnan(get_measure("map")([0, 0], [1, 2]))


def test_pooling_weighs_queries_by_their_pairs() -> None:
    y, scores, qid = [1, 0, 1, 0, 0, 0], [1, 2, 2, 1, 1, 1], [1, 1, 2, 2, 2, 2]
    close("r2", y, scores, 1 / 2, qid)
    close("r2(pool)", y, scores, 1 / 4, qid)
    close("r2(pool)", y, scores, 1 / 4, qid, empty=1)
    close("top@1(count)", y, scores, 1.0, qid)


def test_weights_of_rows() -> None:
    y, scores, weight = [2, 1, 0], [2, 3, 1], [1.0, 2.0, 4.0]
    # pairs: (2 > 1) weighs 2 and is wrong, (2 > 0) 4, (1 > 0) 8
    close("auc", y, scores, 12 / 14, sample_weight=np.multiply(weight, 1e300))
    qid = [1, 1, 1, 2, 2]
    pooled = get_measure("r1(pool)")(
        [*y, 1, 0], [*scores, 1, 1], qid, sample_weight=[*weight, 10.0, 1.0]
    )
    assert pooled == pytest.approx((2 + 10) / (14 + 10), rel=1e-14)
    nothing = get_measure("r1").per_query(y, scores, sample_weight=[0.0, 0.0, 1.0])
    assert np.isnan(nothing).all()


def test_trec_order_of_ties() -> None:
    y, scores = [1, 0, 0], [1.0, 1.0, 1.0]
    close("mrr", y, scores, 1.0, ties="trec")  # without ids: the order of the rows
    close("mrr", y, scores, 1 / 2, ties="trec", ids=["b", "c", "a"])
    close("mrr", y, scores, 1 / 3, ties="trec", ids=["a", "c", "b"])
    # single precision: these two are equal there
    close("mrr", [1, 0], [1 + 1e-9, 1.0], 1 / 2, ties="trec", ids=["a", "b"])
    # beyond it too: the last one is still there
    close("mrr", [0, 1], [1e300, -1e300], 1 / 2, ties="trec", ids=["a", "b"])
    # pairs count a tie by definition
    close("r2", y, scores, 1 / 2, ties="trec", ids=["a", "c", "b"])


@pytest.mark.parametrize("name", ["ndcg@10", "ndcg_exp@10", "err"])
def test_negative_labels_have_no_gain(name: str) -> None:
    with pytest.raises(DataError, match=rf"{name} needs labels of at least 0.*Got -1 in row 1"):
        get_measure(name)([1, -1], [1, 2])


def test_labels_that_overflow() -> None:
    for name, y, said in (
        ("ndcg_exp", [1001, 0], "ndcg_exp needs labels of at most 1000.*Got 1001 in row 0"),
        ("err", [1001, 0], "err needs labels of at most 1000"),
        ("err(max=3)", [4, 0], r"err\(max=3\) needs labels of at most max = 3. Got 4"),
        ("profit@3", [1, -1e308], r"profit@3 needs labels of at most 1e\+290.*row 1"),
    ):
        refused(DataError, said, get_measure(name), y, [1, 2])
    close("ndcg_exp", [1000] * 9, np.arange(9), 1.0)
    close("err", [1000, 0], [2, 1], 1.0)
    close("ndcg", [1e308] * 9, np.arange(9), 1.0)
