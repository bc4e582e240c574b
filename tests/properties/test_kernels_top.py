"""Noise that is a hash of its place, and rows by falling value."""

import numpy as np
import pytest
from hypothesis import strategies as st

from crucial.kernels.compiled import sums
from crucial.kernels.compiled.sums import uniforms
from crucial.kernels.elementary import QueryNoise
from naive import top_losses as naive
from naive.sweep import holds_for

pytestmark = pytest.mark.kernels


@holds_for(st.integers(0, 2**63), st.integers(0, 500), quick=10, full=500)
def test_noise_is_a_hash_of_its_place(seed, number):
    starts = np.array([0, 3, 4, 9])
    queries = np.array([4, 0, 17])
    noise = QueryNoise(seed, queries, starts, 2)
    keys, out = noise.keys(number), np.empty(9)
    with np.errstate(over="ignore"):
        uniforms(keys, starts, 0, 2, out)
        uniforms(keys, starts, 2, 3, out)
    expected = []
    for query, key, size in zip(queries.tolist(), keys.tolist(), np.diff(starts).tolist()):
        assert key == naive.query_key(seed, number, query)
        expected += [naive.uniform_at(key, place) for place in range(size)]
    assert out.tolist() == noise.uniforms(number).tolist() == expected


@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 33, 100, 200, 201, 215, 400, 1025])
@pytest.mark.parametrize("values", [2, 10, 10**6])
def test_rows_by_falling_value_and_their_own_order(size, values):
    drawn = np.random.default_rng(size + values).integers(0, values, size + 3).astype(float)
    key, row = np.empty(size), np.empty(size, np.int64)
    sums.order_falling(drawn, 3, size, key, row, np.empty(size), np.empty(size, np.int64))
    assert row.tolist() == (3 + np.argsort(-drawn[3:], kind="stable")).tolist()
    assert key.tolist() == drawn[row].tolist()
