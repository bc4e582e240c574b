"""The kernel's numbers are Python's, bit for bit."""

import struct

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crucial.data.words import to_number
from crucial.kernels.compiled import text as kernels

pytestmark = pytest.mark.kernels


def _bits(value):
    return struct.pack("<d", value)


def _parse(token):
    """Value, number of characters read and state, as the kernel says it."""
    raw = np.frombuffer(token.encode() + b"\n", np.uint8)
    value, end, state = kernels.parse_number(raw, 0)
    return float(value), int(end), int(state)


def _agrees(token):
    """Same value as float(), unless the kernel leaves it to float(); says which."""
    value, end, state = _parse(token)
    assert end == len(token)
    assert state in (kernels.EXACT, kernels.FOR_PYTHON)
    if state == kernels.EXACT:
        assert _bits(value) == _bits(float(token)), token
    return state == kernels.EXACT


digits = st.text("0123456789", min_size=1, max_size=25)
signs = st.sampled_from(["", "+", "-"])
exponents = st.one_of(
    st.just(""), st.builds("{}{}{}".format, st.sampled_from("eE"), signs, st.integers(0, 400))
)
decimals = st.one_of(
    st.builds("{}{}.{}{}".format, signs, digits, digits, exponents),
    st.builds("{}{}.{}".format, signs, digits, exponents),
    st.builds("{}.{}{}".format, signs, digits, exponents),
    st.builds("{}{}{}".format, signs, digits, exponents),
)


@settings(deadline=None)
@given(decimals)
@example("0" * 400 + "1" + "0" * 30)
@example("0." + "0" * 400 + "1")
@example("1e" + "0" * 50 + "5")
@example("1e99999999999999999999")
@example("0e99999999999999999999")
@example("-0")
@example("9007199254740993")  # between two doubles
@example("9007199254740992e22")
@example("9007199254740992e-22")
@example("9007199254740993e1")
@example("9999999999999999999e64")
@example("9999999999999999999e-64")
@example("1e-65")
@example("5e-324")
@example("1.7976931348623159e308")
def test_every_decimal(token):
    _agrees(token)


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_what_python_writes_comes_back(value):
    exact = _agrees(repr(value))
    if value == 0 or 1e-40 < abs(value) < 1e40:
        assert exact, "float() should not be needed for a shortest decimal"


@settings(deadline=None)
@given(st.integers(2**52, 2**53 - 1), st.integers(-150, 150), st.sampled_from([-1, 0, 1]))
def test_next_to_the_middle_between_two_doubles(mantissa, power, off):
    # The hardest numbers there are: as many digits of the middle as a token of 19 holds.
    middle = (2 * mantissa + 1) * 2 ** max(power, 0) * 10**60 // 2 ** max(-power, 0)
    text = str(middle)
    _agrees(f"{int(text[:19]) + off}e{len(text) - 19 - 60}")


def test_powers_of_ten_are_the_floor_of_the_true_ones():
    from fractions import Fraction

    for q in range(-64, 65):
        head, shift = int(kernels._TEN[q + 64]), int(kernels._TEN_SHIFT[q + 64])
        true = Fraction(10) ** q / Fraction(2) ** shift
        assert 2**63 <= head < 2**64
        assert head <= true < head + 1


@settings(deadline=None)
@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_high_product(a, b):
    assert int(kernels._high_product(np.uint64(a), np.uint64(b))) == a * b >> 64


@pytest.mark.parametrize("token", ["nan", "NaN", "NAN", "-nan", "+nan", "null", "NULL", "Null"])
def test_missing(token):
    value, end, state = _parse(token)
    assert np.isnan(value)
    assert (end, state) == (len(token), kernels.MISSING)


@pytest.mark.parametrize(
    "token",
    ["", "+", "-", ".", "-.", "e5", ".e5", "1e", "1e+", "1e-", "n", "na", "nu", "nul", "+-1", "x"],
)
def test_broken(token):
    assert _parse(token)[2] == kernels.BROKEN


@settings(deadline=None)
@given(st.text("0123456789+-.eEnNaAuUlLiIfFx_ :", max_size=12))
def test_same_tokens_are_numbers_as_for_the_plain_parser(token):
    _, end, state = _parse(token)
    expected = to_number(token)
    well_formed = state != kernels.BROKEN and end == len(token)
    assert well_formed == (expected is not None)
    if well_formed:
        assert (state == kernels.MISSING) == np.isnan(expected)
