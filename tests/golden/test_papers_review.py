"""Numbers of Werner (2019), and its losses against their definitions."""

from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucial.measures.names import get_measure

# Example 2.1.
Y = [-3, 10.3, -8, 12, 14, -0.5, 29, -1.1, -5.7, 119]
FIT = [0.02, 0.6, 0.1, 0.47, 0.82, 0.04, 0.77, 0.09, 0.01, 0.79]


@pytest.mark.parametrize(("name", "expected"), [
    ("weak_loss@4", 0.2), ("weak_loss@4(standard)", 0.25), ("localised_loss@4", 37 / 225),
    ("kendall", 16 / 90), ("localised_loss@5", 1 / 15),
])  # fmt: skip
def test_werner_2019_example_2_1(name, expected):
    assert get_measure(name)(Y, FIT) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("name", "printed"),
    [("localised_loss@4(standard)", 0.268), ("localised_loss@5(standard)", 0.092)],
)
def test_werner_2019_example_2_1_standardised_as_printed(name, printed):
    assert get_measure(name)(Y, FIT) == pytest.approx(printed, abs=5e-4)


def loss_of(y, order, k, ordered):
    """The loss of one order, by its definition; labels that tie at K are taken in every way."""
    n = len(y)
    k = min(k, n)
    found = list(order[:k])
    best = sorted(y, reverse=True)[k - 1]
    sure = [i for i in range(n) if y[i] > best]
    ways = list(combinations([i for i in range(n) if y[i] == best], k - len(sure)))
    missed = np.mean([k - len(set(found) & {*sure, *way}) for way in ways])
    weak = 2 * missed / n
    if not ordered:
        return weak
    negatives = y.count(min(y)) if len(set(y)) == 2 else n - k
    wrong = sum(y[a] < y[b] for a, b in combinations(found, 2))
    return negatives / n * weak + 2 / (n * (n - 1)) * wrong


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=2, max_size=5),
    st.integers(1, 6),
    st.booleans(),
)
def test_expected_over_every_order_of_ties(rows, k, ordered):
    y, scores = [r[0] for r in rows], [r[1] for r in rows]
    name = f"{'localised' if ordered else 'weak'}_loss@{k}"
    value = get_measure(name).prepare(y).per_query(scores)[0]
    if len(set(y)) == 1:
        assert np.isnan(value)
        return
    orders = [
        order
        for order in permutations(range(len(y)))
        if all(scores[a] >= scores[b] for a, b in pairwise(order))
    ]
    mean = np.mean([loss_of(y, order, k, ordered) for order in orders])
    assert value == pytest.approx(mean, rel=1e-12, abs=1e-12)
