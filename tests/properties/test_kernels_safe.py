"""Kernels stay inside their arrays, and end, whatever the numbers are: NaN and infinity too.

Every index that a kernel computes from a float, or from an order of floats, is tried here; codes,
places and row numbers come from this library, which checks what it makes them from.
"""

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucial.kernels.compiled import losses, pairs, predict
from crucial.kernels.compiled.losses import lambda_sums
from crucial.kernels.compiled.sums import order_falling
from crucial.kernels.compiled.trees import tree_sum
from crucial.rankers.feature_rank import IntervalRule, RankedQueries, interval_codes

pytestmark = [pytest.mark.kernels, pytest.mark.bounds]

ANY = st.sampled_from([0.0, 1.0, 2.0, -3.0, 1e308, -1e308, np.inf, -np.inf, np.nan])
SOME = st.lists(ANY, min_size=1, max_size=12).map(np.array)


@pytest.mark.skipif(not numba.config.BOUNDSCHECK, reason="indices are not checked in this run")
def test_indices_are_checked_in_this_run() -> None:
    with pytest.raises(IndexError, match="index is out of bounds"):
        tree_sum(np.ones(2), 0, 4)


@given(SOME, st.integers(0, 12))
def test_every_row_has_a_place(scores: np.ndarray, cut: int) -> None:
    """The rows without a score come last in their query."""
    starts = np.array([0, min(cut, len(scores)), len(scores)])
    order = np.full(len(scores), -1)
    predict.order_rows(scores, starts, 0, 2, order)
    for a, b in ((starts[0], starts[1]), (starts[1], starts[2])):
        assert sorted(order[a:b].tolist()) == list(range(a, b))
        np.testing.assert_array_equal(scores[order[a:b]], -np.sort(-scores[a:b]))


@given(SOME, st.sampled_from([1, 30]))
def test_rows_of_a_query_are_rows_of_it(values: np.ndarray, times: int) -> None:
    """Up to 200 rows are counted, more of them merged."""
    values = np.tile(values, times)
    n = len(values)
    key, spare = np.empty(n), np.empty(n)
    row, spare_row = np.full(n, 10**9), np.full(n, 10**9)
    order_falling(values, 0, n, key, row, spare, spare_row)
    assert row.min() >= 0
    assert row.max() < n
    if not np.isnan(values).any():
        assert sorted(row.tolist()) == list(range(n))


@given(SOME)
def test_sums_of_lambdas_end(scores: np.ndarray) -> None:
    n = len(scores)
    out = (np.zeros(n), np.zeros(n), np.zeros(1))
    ones = np.ones(n)
    how = (0, n, n, 1.0, True)
    starts = np.array([0, n])
    with np.errstate(all="ignore"):
        lambda_sums(scores, ones, ones, np.ones(1), np.ones(1), ones, how, starts, 0, 1, *out)


@given(SOME, st.sampled_from([16.0, 1e300, np.inf, np.nan]))
def test_nodes_of_scores_are_on_the_grid(scores: np.ndarray, per_unit: float) -> None:
    n, nodes, margin = len(scores), 20, 8
    ones, none = np.ones(n), np.zeros(0)
    whole = np.zeros((4, nodes + 2 * margin))
    place = (0, n, 0.0, 0.0, per_unit)
    with np.errstate(all="ignore"):
        losses.spread(scores, ones, none, 1.0, *place, whole[:, margin:-margin])
        assert not whole[:, :margin].any()
        assert not whole[:, -margin:].any()
        tables = np.full((2, 1, 2, nodes + 2 * margin), 1e9)
        tables[..., margin:-margin] = 1.0
        out = np.zeros((1, n))
        inner = tables[..., margin:-margin]
        losses.read_grid(scores, ones, none, 1.0, 0.0, 0.0, *place, inner, out)


def test_the_node_of_a_score() -> None:
    for place, node in ((0.0, 0), (3.9, 3), (11.5, 11), (12.0, 12), (19.9, 12), (20.0, 0)):
        assert losses._node(place, 20) == node
    for place in (-0.1, np.nan, np.inf, -np.inf, 1e300):
        assert losses._node(place, 20) == 0


@given(SOME)
def test_counting_of_misordered_pairs_ends(scores: np.ndarray) -> None:
    n = len(scores)
    level = np.arange(n) % 2
    out = np.zeros((1, 2))
    inputs = (scores, level, np.ones(n), np.zeros(0), np.array([0, 2]), np.array([0, n]))
    pairs.misordered(*inputs, 0, 1, out)
    assert np.isfinite(out).all()


@given(st.lists(st.sampled_from([1.0, 1e-300, 1e300, 1.7e308, np.inf]), min_size=4, max_size=9))
def test_intervals_have_numbers(weights: list[float]) -> None:
    """Their numbers were indices of NumPy's bincount, which does not check all of them."""
    n = len(weights)
    for kind in ("mean", "prior", "middle", "posterior"):
        with np.errstate(all="ignore"):
            labels = np.arange(float(n))
            if sum(weights) < 2:
                continue
            queries = RankedQueries(labels, np.array([0, n]), np.array(weights))
            codes = interval_codes(queries, IntervalRule(2, kind))
        assert codes.min() >= -1
        assert codes.max() < 2
