"""Malformed sparse matrices are refused before compiled code walks through them."""

import numpy as np
import pytest
import scipy.sparse as sp

from crucial import Dataset, RankBoost, cross_validate
from crucial.data import Instances
from crucial.data.arrays import checked_columns
from crucial.errors import DataError, DataTypeError
from refusals import refused

N = 6


def sound():
    return sp.csr_array(np.eye(N))


def with_arrays(matrix, **arrays):
    for name, values in arrays.items():
        setattr(matrix, name, np.array(values, np.int32))
    return matrix


def lists(**arrays):
    matrix = sp.lil_array(np.eye(N))
    for name, values in arrays.items():
        getattr(matrix, name)[1] = values
    return matrix


def shorter_lists():
    matrix = lists()
    matrix.rows = matrix.rows[:2]
    return matrix


def entry(place):
    matrix = sp.dok_array(np.eye(N))
    matrix._dict[place] = 1.0
    return matrix


MALFORMED = [
    ("list beyond the width", lambda: lists(rows=[10**8]), "column index 100,000,000 is outside"),
    ("negative column in a list", lambda: lists(rows=[-(10**8)]), "column index -100,000,000"),
    ("list without a value", lambda: lists(data=[]), "row 1 has 1 columns and 0 values"),
    ("too few lists", shorter_lists, "there are 2 lists of columns and 6 of values for 6 rows"),
    ("key below the matrix", lambda: entry((6, 0)), "row index 6 is outside its 6 rows"),
    ("key beside the matrix", lambda: entry((0, -1)), "column index -1 is outside its 6 columns"),
    ("column beyond the width", lambda: with_arrays(sound(), indices=[0, 1, 2, 3, 4, 99]),
     "column index 99 in row 5 is outside its 6 columns"),
    ("negative column", lambda: with_arrays(sound(), indices=[0, -7, 2, 3, 4, 5]),
     "column index -7 in row 1"),
    ("row beyond the height", lambda: with_arrays(sp.csc_array(np.eye(N)), indices=[6] * N),
     "row index 6 in column 0 is outside its 6 rows"),
    ("falling indptr", lambda: with_arrays(sound(), indptr=[0, 4, 2, 3, 4, 5, 6]), "never fall"),
    ("late indptr", lambda: with_arrays(sound(), indptr=[1, 1, 2, 3, 4, 5, 6]), "begin with 0"),
    ("short indptr", lambda: with_arrays(sound(), indptr=[0, 1]), "indptr has 2 numbers"),
    ("long indptr", lambda: with_arrays(sound(), indptr=[0, 1, 2, 3, 4, 5, 60]),
     "indptr ends at 60, and there are 6 indices and 6 values"),
    ("column of blocks", lambda: with_arrays(sp.bsr_array(np.eye(N), blocksize=(2, 2)),
     indices=[0, 1, 3]), "column index 3 in row 2 is outside its 3 columns"),
]  # fmt: skip


@pytest.mark.parametrize(("matrix", "words"), [case[1:] for case in MALFORMED],
                         ids=[case[0] for case in MALFORMED])  # fmt: skip
def test_a_malformed_matrix_is_refused(matrix, words):
    match, y = f"the sparse matrix is malformed: .*{words}", np.arange(N)
    refused(DataError, match, Instances.from_input, matrix())
    refused(DataError, "malformed", RankBoost(2).fit, matrix(), y)
    refused(DataError, "malformed", RankBoost(2).fit(np.eye(N), y).predict, matrix())
    refused(DataError, "malformed", Dataset, matrix(), y)
    # (which takes rows before it fits)
    refused(DataError, "malformed", cross_validate, RankBoost(2), matrix(), y)


def test_malformed_coordinates_are_refused():
    matrix = sp.coo_array(np.eye(N))
    matrix.coords = (matrix.coords[0], matrix.coords[1] + 3)
    refused(DataError, "column index 6 is outside its 6 columns", Instances.from_input, matrix)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_every_format_is_read_and_left_as_it_was(kind):
    values = np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 3.0]])
    matrix = sp.csr_array(values).asformat(kind)
    np.testing.assert_array_equal(Instances.from_input(matrix).table.toarray(), values)
    np.testing.assert_array_equal(matrix.toarray(), values)


def test_sparse_objects_are_no_numbers():
    matrix = sp.csr_array((np.array([1.0, 2.0]), np.array([0, 1]), np.array([0, 1, 2])))
    matrix.data = np.array(["a", "b"], object)
    refused(DataTypeError, "cannot be read as numbers", Instances.from_input, matrix)


def test_a_width_that_no_memory_has_is_refused():
    wide = sp.csr_array(([1.0], ([0], [2**31 - 3])), shape=(2, 2**31 - 2))
    match = r"at most 16,777,216 features\. Got 2,147,483,646\. Is an"
    refused(DataError, match, Instances.from_input, wide)


def test_kinds_of_numbers():
    complex_ = sp.csr_array(np.eye(2) * 1j)
    refused(DataError, "Complex data not supported: features", checked_columns, complex_)
    wide = checked_columns(sp.csr_array(np.eye(2, dtype=np.longdouble)))
    assert wide.dtype == np.float64
    for kind in (np.float32, np.int8, bool):
        assert checked_columns(sp.csr_array(np.eye(2, dtype=kind))).dtype == kind


@pytest.mark.parametrize("kind", [sp.csc_array, sp.csr_array, sp.coo_array])
def test_duplicates_are_added_up_in_a_copy(kind):
    twice = sp.coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    if kind is not sp.coo_array:
        arrays = ([1.0, 2.0, 4.0], [1, 1, 0], [0, 2, 3])
        twice = kind(arrays, shape=(2, 2))
    before = twice.data.copy(), twice.nnz
    table = checked_columns(twice)
    assert table.has_canonical_format
    np.testing.assert_array_equal(sorted(table.data), [3.0, 4.0])
    assert (twice.data == before[0]).all()
    assert twice.nnz == before[1] == 3


def test_sound_columns_are_not_copied():
    matrix = sp.csc_array(np.eye(3))
    assert np.shares_memory(checked_columns(matrix).data, matrix.data)
