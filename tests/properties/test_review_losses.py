"""The review's losses against enumeration, and what must not change them."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucial.errors import DataError, ParameterError
from crucial.kernels.pairs import sum_higher
from crucial.measures.names import get_measure
from naive import losses

row = st.tuples(st.integers(0, 3), st.integers(0, 4), st.sampled_from([0.5, 1.0, 2.0, 3.25]))


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from([0.5, 1.0, 3.0])),
        min_size=2,
        max_size=5,
    ),
    st.integers(1, 6),
    st.booleans(),
)
def test_weighted_losses_of_the_top_over_every_order_of_ties(rows, k, ordered):
    y, s, u = (list(one) for one in zip(*rows, strict=True))
    name = f"{'localised' if ordered else 'weak'}_loss@{k}"
    found = get_measure(name).per_query(y, s, sample_weight=u)[0]
    if len(set(y)) == 1:
        assert np.isnan(found)
        return
    orders = [
        order
        for order in permutations(range(len(y)))
        if all(s[a] >= s[b] for a, b in pairwise(order))
    ]
    mean = np.mean([losses.top_loss(y, order, k, ordered, u) for order in orders])
    assert found == pytest.approx(mean, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_ties_that_the_cutoff_divides(k):
    """Sure pairs, pairs with a tied row, and pairs of tied rows, all in the wrong order."""
    y, s = [0, 1, 2, 0, 1], [3, 2, 2, 2, 1]
    orders = [o for o in permutations(range(5)) if all(s[a] >= s[b] for a, b in pairwise(o))]
    for weight in (None, [0.5, 2.0, 1.0, 3.0, 1.0]):
        mean = np.mean([losses.top_loss(y, o, k, True, weight or [1.0] * 5) for o in orders])
        found = get_measure(f"localised_loss@{k}").per_query(y, s, sample_weight=weight)[0]
        assert found == pytest.approx(mean, rel=1e-12)


@settings(max_examples=25)
@given(
    st.lists(st.integers(0, 3), min_size=2, max_size=6).filter(lambda y: len(set(y)) > 1),
    st.integers(1, 7), st.booleans(),
)  # fmt: skip
def test_attained_maxima_are_the_largest_loss_of_any_order(y, k, ordered):
    kind = "localised" if ordered else "weak"
    most = losses.largest_top_loss(y, k, ordered)
    scores = np.arange(len(y)) % 3
    value = get_measure(f"{kind}_loss@{k}")(y, scores)
    share = get_measure(f"{kind}_loss@{k}(standard=attained)")(y, scores)
    assert share * most == pytest.approx(value, abs=1e-12)
    assert 0 <= share <= 1 + 1e-12


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.5, 1.0, 3.0])), min_size=2,
                max_size=5).filter(lambda rows: len({y for y, _ in rows}) > 1),
       st.integers(1, 4))  # fmt: skip
def test_attained_maximum_of_the_weighted_weak_loss(rows, k):
    y, u = (list(one) for one in zip(*rows, strict=True))
    most = losses.largest_top_loss(y, k, False, u)
    value = get_measure(f"weak_loss@{k}")(y, y[::-1], sample_weight=u)
    share = get_measure(f"weak_loss@{k}(standard=attained)")(y, y[::-1], sample_weight=u)
    assert share * most == pytest.approx(value, abs=1e-12)


@pytest.mark.kernels
@given(st.lists(st.lists(st.lists(row, min_size=1, max_size=4), max_size=4), max_size=3))
def test_sums_over_higher_items(lists):
    flat = [one for part in lists for block in part for one in block]
    level = np.array([one[0] for one in flat], np.int64)
    values = np.array([[one[2], one[1]] for one in flat], float).reshape(-1, 2)
    starts = np.cumsum([0] + [len(block) for part in lists for block in part])
    bounds = np.cumsum([0] + [len(part) for part in lists])
    block = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    expected = np.zeros(values.shape)
    for l in range(len(bounds) - 1):
        part = range(starts[bounds[l]], starts[bounds[l + 1]])
        for a in part:
            for b in part:
                if level[a] > level[b] and block[a] <= block[b]:
                    expected[b] += values[a] * (1.0 if block[a] < block[b] else 0.5)
    found = sum_higher(level, values, starts, bounds)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_many_labels_are_refused_for_vus():
    with pytest.raises(DataError, match=r"at most 30 different labels.*Got 31. Use iauc or hard"):
        get_measure("vus")(np.arange(31), np.arange(31))


def test_weights_with_the_attained_localised_loss_are_refused():
    with pytest.raises(ParameterError, match=r"use localised_loss@3\(standard\), or no weights"):
        get_measure("localised_loss@3(standard=attained)")([0, 1], [1, 2], sample_weight=[1, 2])
