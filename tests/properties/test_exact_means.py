"""Means over queries, and differences in standard errors: any cut of the queries gives the same."""

import math
from functools import reduce

import numpy as np
import pytest
from hypothesis import strategies as st
from tests.naive.sweep import holds_for

from crucial.boosting.loop import Differences, worse_by
from crucial.distributed.transport import merge
from crucial.measures.base import Tally, summarise

NUMBERS = st.floats(-1, 1) | st.just(math.nan) | st.sampled_from([0.0, 1.0, 0.1])
# (an eval set has no weights of rows: those of its queries are numbers of pairs)
WEIGHTS = st.integers(0, 10**6).map(float) | st.floats(1e-3, 3)


@st.composite
def queries(draw):
    values = np.array(draw(st.lists(NUMBERS, max_size=12)), np.float64)
    n = len(values)
    weights = np.array(draw(st.lists(WEIGHTS, min_size=n, max_size=n)), np.float64)
    random = draw(st.randoms())
    cuts = sorted(random.randrange(n + 1) for _ in range(3))
    parts = np.split(np.array(random.sample(range(n), n), np.int64), cuts)
    return values, draw(st.sampled_from([None, weights])), parts


def merged(kind, values, weights, parts, *more):
    of_part = [
        kind(values[part], None if weights is None else weights[part], *more) for part in parts
    ]
    return reduce(merge, of_part)


@holds_for(
    queries(), st.sampled_from(["mean", "pool", "sum"]), st.sampled_from(["skip", 0, 1]),
    quick=60, full=2000,
)  # fmt: skip
def test_one_number_over_queries(drawn, how, empty):
    values, weights, parts = drawn
    found = summarise(values, weights, how, empty)
    in_parts = merged(Tally.of, values, weights, parts, how, empty).summary()
    np.testing.assert_array_equal(found, in_parts)
    absent = np.isnan(values)
    counts = ~absent if empty == "skip" else np.ones(len(values), bool)
    filled = np.where(absent, np.nan if empty == "skip" else float(empty), values)[counts]
    assert found[1:] == (len(filled), int(absent.sum()))
    if how == "sum" and len(filled):
        assert found[0] == math.fsum(filled)
    elif how == "pool" and weights is not None:
        share = np.where(absent, 0.0, weights)[counts]
        expected = math.fsum(filled * share) / share.sum() if share.sum() > 0 else math.nan
        assert found[0] == pytest.approx(expected, nan_ok=True)
    else:
        expected = math.fsum(filled) / len(filled) if len(filled) else math.nan
        assert found[0] == pytest.approx(expected, rel=1e-15, nan_ok=True)


@holds_for(queries(), quick=60, full=2000)
def test_differences_in_standard_errors(drawn):
    values, weights, parts = drawn
    found = worse_by(values, weights)
    assert found == merged(Differences.of, values, weights, parts).worse_by()
    known = ~np.isnan(values)
    d, n = values[known], int(known.sum())
    share = np.ones(n) if weights is None else weights[known]
    if n < 2 or not share.sum() > 0:
        assert found == math.inf
        return
    share = share / share.sum()
    mean = share @ d
    error = math.sqrt(share**2 @ (d - mean) ** 2 * n / (n - 1))
    if error > 1e-4 * np.abs(share * d).max():
        assert found == pytest.approx(mean / error, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("value", [0.1, -0.3, 0.0, 1 / 3])
def test_equal_differences_have_no_error(value):
    assert worse_by(np.full(7, value)) == math.inf
    assert worse_by(np.full(7, value), np.arange(1.0, 8.0)) == math.inf
