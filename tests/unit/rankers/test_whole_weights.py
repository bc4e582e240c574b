"""Weights as whole numbers of a unit, so that rounding of their sums decides nothing."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucial import DiffRank, FeatureRank
from crucial.errors import ParameterError
from crucial.model.weak import middle_positions
from crucial.rankers.feature_rank import whole_weights


@given(
    st.lists(st.integers(1, 1000), min_size=1, max_size=30),
    st.sampled_from([0.1, 0.3, 1 / 3, 0.07, 1.0, 1e-9, 1e200]),
)
def test_the_unit_is_found(counts: list[int], unit: float) -> None:
    found, own = whole_weights(np.array(counts) * unit)
    common = np.gcd.reduce(counts)
    assert found.tolist() == [one // common for one in counts]
    assert own == pytest.approx(common * unit, rel=1e-12)


@given(st.lists(st.floats(1e-300, 1e300), min_size=1, max_size=30))
def test_whole_numbers_stand_for_any_weights(weights: list[float]) -> None:
    given_weights = np.array(weights)
    found, unit = whole_weights(given_weights)
    assert (found == np.rint(found)).all()
    assert found.min() >= 1.0
    assert found.sum() < 2.0**52
    # (no weight is off by more than a unit, which is nothing beside all of them)
    assert np.abs(found * unit - given_weights).max() <= 1e-12 * given_weights.sum()


def test_the_unit_is_the_same_in_any_order() -> None:
    random = np.random.default_rng(0)
    for _ in range(30):
        weight = random.random(40)
        weight *= 64.0 / weight.sum()  # (a sum that rounds to either side of a power of two)
        units = {whole_weights(random.permutation(weight))[1] for _ in range(10)}
        assert len(units) == 1


def test_a_row_in_the_middle_ties_with_one_that_abstains() -> None:
    weight, unit = whole_weights(np.array([0.2, 0.1, 0.2, 0.4]))
    found = middle_positions(np.array([0, 1, 2, np.nan]), np.array([0, 4]), weight=weight) * unit
    assert found[1] == found[3]


def test_as_many_intervals_as_rows_of_a_tenth() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 2))
    y = X[:, 0] + random.normal(size=80)
    ranker = FeatureRank(n_intervals=8).fit(X, y, sample_weight=np.full(80, 0.1))
    assert ranker.score(X, y) > 0.6
    with pytest.raises(ParameterError, match="at most 8, the number of rows"):
        FeatureRank(n_intervals=9).fit(X, y, sample_weight=np.full(80, 0.1))


SETTINGS = [
    FeatureRank(n_intervals=2),
    FeatureRank(n_intervals=2, order="best_first", centre="middle"),
    FeatureRank(n_intervals=2, balance_control="mean"),
    FeatureRank(n_intervals=2, balance_control="figure", centre="prior"),
    DiffRank(n_intervals=2),
    DiffRank(n_intervals=2, centre="posterior"),
]


@pytest.mark.parametrize("ranker", SETTINGS, ids=repr)
@pytest.mark.filterwarnings("ignore")
def test_fractions_as_weights_in_another_order(ranker: Any) -> None:
    for seed in range(40):
        random = np.random.default_rng(seed)
        n = int(random.integers(8, 14))
        X = random.integers(0, 5, (n, 2)).astype(float)
        X[random.random((n, 2)) < 0.2] = np.nan
        y, qid = random.integers(0, 4, n), random.integers(0, 2, n)
        y[:4], qid[:4] = [0, 1, 0, 1], [0, 0, 1, 1]
        weight = random.integers(3, 12, n) * random.choice([0.3, 0.7, 1.1])
        order = random.permutation(n)
        one = ranker.fit(X, y, qid=qid, sample_weight=weight).predict(X, qid=qid)
        ranker.fit(X[order], y[order], qid=qid[order], sample_weight=weight[order])
        np.testing.assert_allclose(ranker.predict(X, qid=qid), one, rtol=1e-9, atol=1e-12)


def test_rounding_does_not_decide_in_which_interval_a_row_is() -> None:
    X, y = np.array([[5.0], [0], [5], [1], [3]]), np.array([1, 3, 0, 3, 0])
    weight, order = np.array([0.4, 1.1, 0.4, 0.7, 1.3]), [1, 4, 3, 2, 0]
    # Positions 0 to 1.7, to 2.1 and to 3.9; intervals end at 1.9, the middle of the second, ...
    for rows in ([0, 1, 2, 3, 4], order):
        ranker = FeatureRank(n_intervals=3).fit(X[rows], y[rows], sample_weight=weight[rows])
        low, middle, high = ranker.trace_[0].ranker.centres
        assert low == pytest.approx((3 * 1.3 + 5 * 0.4 + 5 * 0.4) / 2.1)
        assert middle is None
        assert high == pytest.approx(0.7 / 1.8)
