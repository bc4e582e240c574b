"""Whole numbers of units: rounding, the unit of a round, and what does not fit."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st
from tests.naive.sweep import holds_for

from crucial.errors import DataError
from crucial.kernels.compiled import sums as compiled
from crucial.kernels.elementary import plain_fixed, round_unit, to_fixed, unit_for

pytestmark = pytest.mark.kernels

WHOLES = st.floats(1e-250, 1e250) | st.sampled_from([1.0, 2.0, 0.5, 3.0, 1e-260])


@holds_for(st.lists(st.floats(-1, 1), min_size=1, max_size=20), WHOLES, quick=40, full=2000)
def test_numbers_of_units(raw, whole):
    """NumPy = Numba (fill_fixed) = rounding by hand, and any sum of them fits."""
    size = math.fsum(map(abs, raw)) or 1.0
    values = np.array(raw) / size * whole
    unit = unit_for(whole)
    assert unit == 2.0 ** round(math.log2(unit))
    fixed = to_fixed(values, unit)
    assert fixed.tolist() == [round(value / unit) for value in values.tolist()]
    assert sum(abs(one) for one in fixed.tolist()) <= 2**60
    out = np.zeros((2, len(values)), np.int64)
    inputs = (values, 1.0 / unit, 0, len(values))
    ways = (plain_fixed, compiled.fill_fixed)
    found = [way(*inputs, one) for way, one in zip(ways, out)]
    assert found[0] == pytest.approx(found[1], rel=1e-12)
    assert out[0].tolist() == out[1].tolist() == fixed.tolist()


@holds_for(WHOLES, st.floats(-12, 12), quick=40, full=2000)
def test_the_unit_of_a_round_mostly_follows_from_the_round_before(before, change):
    now = before * 2.0**change
    unit = round_unit(before, now)
    assert now / unit <= 2.0**62.001
    assert now / unit >= 2.0**51.999
    assert unit in (unit_for(before), unit_for(now))
    if -5 < change < 2:
        assert unit == unit_for(before)
    assert round_unit(None, now) == unit_for(now)


def test_potentials_larger_than_their_scale_are_refused():
    values = np.full(10, 1.0)
    with pytest.raises(DataError, match="larger than their scale says"):
        to_fixed(values, 2.0**-62)
    with pytest.raises(DataError, match="larger than their scale says"):
        to_fixed(np.array([np.nan]), 1.0)
    many = np.full(40_000, 1.0)
    with pytest.raises(DataError, match="larger than their scale says"):
        to_fixed(many, 2.0**-50, threads=2)
    assert (to_fixed(many, 0.25, threads=2) == 4).all()


def test_wholes_without_an_exponent():
    assert unit_for(0.0) == unit_for(math.inf) == unit_for(math.nan) == 1.0
    assert round_unit(math.inf, 4.0) == unit_for(4.0)
    assert unit_for(1e-320) == 2.0**-1000
