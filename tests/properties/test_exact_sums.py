"""Exact sums: math.fsum is right about them, and neither order nor cuts into parts matter."""

import itertools
import math
import pickle
import sys

import numpy as np
import pytest
from hypothesis import strategies as st
from tests.naive.sweep import holds_for

from crucial.kernels import elementary
from crucial.kernels.elementary import ExactSum, exact_dot, exact_sum

pytestmark = pytest.mark.kernels

TINY, HUGE = 5e-324, sys.float_info.max
values = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [0.0, -0.0, TINY, -TINY, 2.0**-1022, 1.0, 1 / 3, -1.0, 1e16, HUGE / 4, -HUGE / 4]
)


def as_one(terms, small):
    """Return the sum by NumPy or by the compiled kernel."""
    array = np.array(terms, np.float64)
    if small:
        return ExactSum.of(array)
    return ExactSum(*elementary._of_many(array))


@holds_for(st.lists(values, max_size=12), st.randoms(), quick=60, full=2000)
def test_any_cut_and_order_gives_the_correctly_rounded_sum(terms, random):
    """NumPy and the kernel exact_limbs, as a whole and in parts of a shuffled list."""
    whole = as_one(terms, small=True)
    assert whole == as_one(terms, small=False)
    ratios = (x.as_integer_ratio() for x in terms)
    assert whole.units == sum(n * (2**1074 // d) for n, d in ratios)
    shuffled = random.sample(terms, len(terms))
    cuts = sorted(random.randrange(len(terms) + 1) for _ in range(3))
    bounds = [0, *cuts, len(terms)]
    parts = [
        as_one(shuffled[a:b], small=random.random() < 0.5) for a, b in itertools.pairwise(bounds)
    ]
    merged = parts[3].merge(parts[1]) + (parts[0] + parts[2])
    assert merged == whole
    assert pickle.loads(pickle.dumps(merged)) == whole
    try:
        expected = math.fsum(terms)
    except OverflowError:
        expected = None
    if expected is not None:
        assert whole.value == expected
        assert exact_sum(np.array(terms, np.float64)) == expected


def test_many_numbers_are_cut_among_threads(monkeypatch):
    """A long array of all sizes and signs, zeros among them, through the compiled kernel."""
    rng = np.random.default_rng(3)
    array = rng.normal(size=40_000) * 10.0 ** rng.integers(-300, 300, 40_000)
    array[::7] = 0.0
    array[:5000] = HUGE / 1e6  # (more of one exponent than fit into 63 bits at once)
    expected = math.fsum(array)
    assert exact_sum(array) == expected == exact_sum(array[::-1], threads=3)
    assert ExactSum.of(array) == ExactSum.of(array.reshape(200, 200).T, threads=2)
    calls = []
    monkeypatch.setattr(elementary, "_of_many", lambda part: calls.append(len(part)) or (0, 0.0))
    ExactSum.of(array, threads=3)
    assert sum(calls) == 40_000
    assert len(calls) == 3


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("lowest", [-1, -30, -60, -200])
def test_many_numbers_of_few_sizes(lowest, small):
    """They are added up by halves: the largest of every sign, zeros, and sizes at the edge."""
    rng = np.random.default_rng(-lowest)
    for size in (1.0, 2.0**-790, 2.0**890):
        array = rng.choice([-1.0, 1.0], 5000) * (1 - rng.random(5000) / 2)
        array *= 2.0 ** rng.integers(lowest, 1, 5000)
        array[:2100] = np.nextafter(1.0, 0.0)  # (whose sum fills the significand)
        array[4000:4100] = 0.0
        array *= size
        units = sum(n * (2**1074 // d) for n, d in (x.as_integer_ratio() for x in array.tolist()))
        assert as_one(array, small).units == units
        assert exact_sum(array) == math.fsum(array)


def test_products_are_rounded_one_by_one():
    """As documented: each product is a float, and only their sum is exact."""
    one, other = np.array([0.1, 0.2, -0.3]), np.array([3.0, 1e20, 1e20])
    assert exact_dot(one, other) == math.fsum([0.1 * 3.0, 0.2 * 1e20, -0.3 * 1e20])


@pytest.mark.parametrize("small", [True, False])
def test_what_is_not_finite_stays_so(small):
    """Infinities and NaN as in a float sum; a sum beyond the largest float is infinite."""
    inf, nan = math.inf, math.nan
    assert as_one([1.0, inf, 2.0], small).value == inf
    assert as_one([1.0, -inf], small).value == -inf
    assert math.isnan(as_one([inf, -inf], small).value)
    assert math.isnan(as_one([nan, 1.0], small).value)
    assert math.isnan((as_one([inf], small) + as_one([-inf], small)).value)
    assert as_one([HUGE, HUGE], small).value == inf == exact_sum(np.array([HUGE, HUGE]))
    assert as_one([-HUGE, -HUGE], small).value == -inf
    assert as_one([HUGE, HUGE, -HUGE], small).value == HUGE
    assert exact_sum(np.array([HUGE, HUGE, -HUGE])) == HUGE  # (which math.fsum refuses)
    assert as_one([], small) == ExactSum()
    assert ExactSum().value == 0.0
