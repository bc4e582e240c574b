"""What users pass as arrays: numbers of every kind as floats, everything else by name."""

import numpy as np
import pandas as pd
import pytest

from crucial.data.arrays import as_array, as_reals, check_sum, check_values, moderate, unmasked
from crucial.errors import DataError, DataTypeError
from refusals import refused

MASKED = np.ma.masked_array([1, 2, 3], mask=[False, True, False])


@pytest.mark.parametrize(("values", "expected"), [
    ([1, 2.5], [1.0, 2.5]),
    ((True, False), [1.0, 0.0]),
    (np.array([1, 2], np.uint8), [1.0, 2.0]),
    (np.array([1.5], np.float32), [1.5]),
    (np.array(["1", "2.5"]), [1.0, 2.5]),
    (np.array([1, None], object), [1.0, np.nan]),
    (pd.Series([3, 4]), [3.0, 4.0]),
    (MASKED, [1.0, np.nan, 3.0]),
    (np.ma.masked_array([1, 2]), [1.0, 2.0]),
    (np.ma.masked_array(["1", "2"], mask=[0, 1]), [1.0, np.nan]),
])  # fmt: skip
def test_numbers_become_floats(values, expected):
    found = as_reals(values, "y")
    assert type(found) is np.ndarray
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, expected)


def test_floats_are_not_copied():
    values = np.ones(3)
    assert as_reals(values, "y") is values
    assert as_array(values, "y") is values


@pytest.mark.parametrize(("values", "error", "match"), [
    ([1j], DataError, "Complex data not supported: y must be real numbers"),
    (np.ma.masked_array([1j, 2], mask=[0, 1]), DataError, "Complex data not supported: y"),
    (["1", "x"], DataTypeError, "y must be numbers. Row 1 is 'x'."),
    ([[1, 2], [3, "x"]], DataTypeError, "y must be numbers. Row 1 is 'x'."),
    ([1, 10**400], DataError, "y: row 1 is a whole number beyond the range of floats"),
    ([{}], DataTypeError, "y must be numbers. Row 0 is {}."),
    (np.array(["2020-01-01"], "M8[D]"), DataTypeError, r"y must be numbers, not datetime64"),
    (np.array([1], "m8[s]"), DataTypeError, "y must be numbers, not timedelta64"),
    ([[1], [2, 3]], DataError, "y is ragged: its rows are of different lengths"),
])  # fmt: skip
def test_anything_else_is_named(values, error, match):
    refused(error, match, as_reals, values, "y")


def test_masked_values():
    assert unmasked(np.ma.masked_array([1, 2])).dtype.kind == "i"
    assert unmasked(np.ma.masked_array(["a", "b"], mask=[1, 0])).tolist() == [None, "b"]
    assert unmasked(np.ma.masked_array([1j, 2j], mask=[1, 0])).tolist() == [1j, 2j]
    assert unmasked(MASKED).dtype == np.float64


def test_sums_that_are_infinite():
    check_sum(np.full(2, 8e307), "weight")
    match = "weight adds up to infinity: the largest of the 3 is 9e"
    refused(DataError, match, check_sum, np.array([9e307, 8e307, 8e307]), "weight")


def test_labels_to_compute_with():
    for labels in ([], [0.0], [0.0, 0.0], [1e100, -1e100], [0.0, 1e-100]):
        check_values(np.array(labels), "loss")
    match = r"loss computes .* at most 1e\+100, and 1e-100 apart\. The"
    for labels in ([1.1e100, 0.0], [-1.1e100, 0.0], [0.0, 9e-101], [1e101, 1e101]):
        refused(DataError, match, check_values, np.array(labels), "loss")


@pytest.mark.parametrize(
    ("largest", "factor"),
    [(1.0, 1.0), (2.0**200, 1.0), (1.9 * 2.0**200, 1.0), (2.0**201, 0.5), (2.0**1000, 2.0**-800),
     (2.0**-200, 1.0), (2.0**-201, 2.0), (2.0**-1000, 2.0**800), (0.0, 1.0)],
)  # fmt: skip
def test_weights_are_scaled_by_powers_of_two(largest, factor):
    weights = np.array([largest, 0.75 * largest, 0.0])
    assert (moderate(weights) == weights * factor).all()


def test_no_weights():
    assert moderate(None) is None
    assert len(moderate(np.zeros(0))) == 0
