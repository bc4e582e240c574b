"""Portable exp, log and products: right to a few units, the same bytes in every form."""

import hashlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucial.kernels import elementary
from crucial.kernels.compiled import elementary as compiled
from crucial.kernels.compiled import elementary as compiled_products

pytestmark = pytest.mark.kernels

ODD = [0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324, 2.0**-1022, 1e308, -1e308, -1.0]
ODD += [709.782712893384, 709.79, -745.13, -745.14, -708.4, 1.0, 0.5, 2.0**0.5, 0.5**0.5]
NAMES = ("exp", "exp2", "expm1", "log", "log1p", "log2", "sigmoid", "tanh")
numbers = st.lists(
    st.floats() | st.floats(-50, 50) | st.floats(-1, 1) | st.sampled_from(ODD), min_size=1
)


def reference(name, x):
    """Return NumPy's value; of the sigmoid, one that does not overflow."""
    with np.errstate(all="ignore"):
        if name == "sigmoid":
            return np.where(x >= 0, 1.0, np.exp(-np.abs(x))) / (1.0 + np.exp(-np.abs(x)))
        return getattr(np, name)(x)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=100)
@given(x=numbers.map(np.array))
def test_functions_are_right_and_alike_in_every_form(name, x):
    found = getattr(elementary, name)(x)
    one_by_one = np.array([getattr(elementary, name)(value) for value in x.tolist()])
    np.testing.assert_array_equal(found, one_by_one)
    assert np.signbit(found).tolist() == np.signbit(one_by_one).tolist()
    if hasattr(compiled, f"{name}_all"):
        again = np.empty_like(x)
        with np.errstate(all="ignore"):
            getattr(compiled, f"{name}_all")(x, again)
        np.testing.assert_array_equal(found, again)
    expected = reference(name, x)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(found[~finite], expected[~finite])
    units = np.abs(found[finite] - expected[finite]) / np.spacing(np.abs(expected[finite]))
    assert (units <= 4.0).all()  # (either may be 2 away from the true value)


def test_whole_powers_and_their_logarithms_are_exact():
    k = np.arange(-1074.0, 1024.0)
    powers = np.ldexp(1.0, k.astype(int))
    np.testing.assert_array_equal(elementary.exp2(k), powers)
    np.testing.assert_array_equal(elementary.log2(powers), k)
    assert elementary.exp(0.0) == elementary.power(3.0, 0.0) == 1.0
    assert elementary.power(1.5, 3.0) == 1.5**3
    assert elementary.power(2.0, 0.5) == pytest.approx(math.sqrt(2.0), rel=1e-15)


def test_large_arrays_keep_shape_and_bytes():
    x = np.linspace(-30.0, 30.0, 60_000).reshape(300, 200).T
    found = elementary.exp(x)
    assert found.shape == (200, 300)
    small = [elementary.exp(x[:, k]) for k in range(300)]
    assert found.tobytes() == np.stack(small, axis=1).tobytes()


@given(a=st.floats(-800, 800), b=st.floats(-800, 800) | st.just(-math.inf))
def test_logaddexp(a, b):
    expected = float(np.logaddexp(a, b))
    assert elementary.logaddexp(a, b) == pytest.approx(expected, rel=1e-15, abs=1e-15)
    assert elementary.logaddexp(np.array([a]), b)[0] == elementary.logaddexp(a, b)


def test_bytes_are_those_of_every_other_machine():
    """Digests that hold wherever additions and multiplications are those of IEEE 754."""
    x = (np.arange(200_001) - 100_000) / 1024.0
    made = {
        "exp": elementary.exp(x),
        "log": elementary.log(np.abs(x)),
        "log1p": elementary.log1p(np.abs(x)),
        "tanh": elementary.tanh(x),
    }
    digests = {k: hashlib.sha256(v.tobytes()).hexdigest()[:16] for k, v in made.items()}
    assert digests == {
        "exp": "394c0864a55174ed",
        "log": "f045fb0328212346",
        "log1p": "61a4c3d0d82381b4",
        "tanh": "f00daa3c887c3559",
    }


@settings(max_examples=40)
@given(
    shape=st.tuples(st.integers(0, 9), st.integers(0, 21), st.integers(1, 9)),
    seed=st.integers(0, 99),
)
def test_products_are_right_and_alike_in_every_form(shape, seed):
    n, inner, width = shape
    random = np.random.default_rng(seed)
    a, b = random.random((n, inner)) - 0.5, random.random((inner, width)) - 0.5
    found = elementary.matrix_product(a, b)
    np.testing.assert_allclose(found, a @ b, rtol=0, atol=1e-15 * max(inner, 1))
    again = np.zeros((n, width))
    compiled_products.matrix_product(a, b, again)
    assert found.tobytes() == again.tobytes() == elementary.row_products(a, b.T.copy()).tobytes()
    column = np.empty(n)
    compiled_products.row_sums(a, b[:, 0].copy(), column)
    assert column.tobytes() == elementary.row_sums(a, b[:, 0]).tobytes() == found[:, 0].tobytes()
    if n:
        assert elementary.dot(a[0], b[:, 0]) == pytest.approx(float(a[0] @ b[:, 0]), abs=1e-14)
