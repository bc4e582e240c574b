"""Bins: thresholds between values, exact where they can be, weights as repeated rows."""

import math
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import assume
from hypothesis import strategies as st

from crucial.data import Bins, Instances, arrays
from crucial.data.bins import cut_points, drawn_cut_points
from crucial.errors import DataError, DataTypeError
from naive.paths import PATHS, using
from naive.sweep import holds_for

ENDS = [-1.7e308, -1e300, -1.0, -2.3e-308, -5e-324, 0.0, 5e-324, 1e-310, 0.1, 1.0, 1.7e308]
doubles = st.sampled_from(ENDS) | st.floats(allow_nan=False, allow_infinity=False)
singles = st.floats(allow_nan=False, allow_infinity=False, width=32)
integers = st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5)


@st.composite
def columns(draw, min_size=1, max_size=40):
    kind = draw(st.sampled_from(["f8", "f4", "i8", "u1", "few", "neighbours"]))
    values = {
        "f8": doubles,
        "f4": singles,
        "i8": integers,
        "u1": st.integers(0, 255),
        "few": st.integers(0, 3).map(float),
        "neighbours": st.integers(0, 6).map(lambda k: np.nextafter(1.0, 2.0) ** k),
    }[kind]
    dtype = {"f4": np.float32, "i8": np.int64, "u1": np.uint8}.get(kind, np.float64)
    return np.array(draw(st.lists(values, min_size=min_size, max_size=max_size)), dtype)


def build(X, **how):
    X = np.asarray(X)
    instances = Instances.from_input(X[:, None] if X.ndim == 1 else X)
    return Bins.build(instances, np.arange(len(X)), **how)


def check_codes(bins, X):
    """A code is the number of thresholds below the value, or one more than all for NaN."""
    for f, j in enumerate(bins.features):
        thresholds = bins.thresholds[f]
        assert thresholds.dtype == np.float64
        assert np.isfinite(thresholds).all()
        assert (np.diff(thresholds) > 0).all()
        x = X[:, j].astype(np.float64)
        expected = np.array([(thresholds < v).sum() for v in x])
        expected[np.isnan(x)] = len(thresholds) + 1
        np.testing.assert_array_equal(bins.codes[f, : bins.n_rows], expected)
        assert bool(np.isnan(x).any()) == bool(bins.has_missing[f])
    assert bins.codes.shape[1] % 8 == 0
    assert not bins.codes[:, bins.n_rows :].any()


@pytest.mark.kernels
@holds_for(columns(), quick=60, full=10_000)
def test_every_distinct_value_has_a_bin_where_there_are_few(column):
    distinct = np.unique(column.astype(np.float64))
    for path in PATHS:
        with using(path):
            bins = build(column)
            if len(distinct) == 1:
                assert bins.constant == (0,)
                assert len(bins.features) == 0
                continue
            (thresholds,) = bins.thresholds
            # Exact: between any two neighbouring values, and never on the upper one.
            assert len(thresholds) == len(distinct) - 1
            assert (distinct[:-1] <= thresholds).all()
            assert (thresholds < distinct[1:]).all()
            check_codes(bins, column[:, None])


@pytest.mark.kernels
@holds_for(columns(max_size=120), st.integers(2, 20), quick=60, full=10_000)
def test_never_more_bins_than_asked_for(column, max_bins):
    """By the kernels gather_columns, copy_ranked, bin_column and bin_column8, or by NumPy."""
    distinct = np.unique(column.astype(np.float64))
    for path in PATHS:
        with using(path):
            bins = build(column, max_bins=max_bins)
            if len(distinct) == 1:
                continue
            (thresholds,) = bins.thresholds
            assert 1 <= len(thresholds) <= max_bins - 1
            check_codes(bins, column[:, None])
            at = np.searchsorted(distinct, thresholds, "right")
            assert (distinct[at - 1] <= thresholds).all()
            assert (thresholds < distinct[at]).all()


@st.composite
def matrices(draw):
    n, k = draw(st.integers(1, 15)), draw(st.integers(1, 4))
    cell = st.sampled_from([0.0, 0.0, 0.0, 1.0, -2.0, 3.5, math.nan])
    return np.array(draw(st.lists(cell, min_size=n * k, max_size=n * k))).reshape(n, k)


@pytest.mark.kernels
@holds_for(matrices(), st.sampled_from([2, 255, None]), st.integers(1, 3), quick=60, full=5_000)
def test_sparse_input_is_its_dense_twin(X, max_bins, threads):
    for path in PATHS:
        with using(path):
            dense = build(X, max_bins=max_bins)
            check_codes(dense, X)
            for form in (sp.csc_array, sp.csr_matrix, sp.coo_array):
                sparse = Bins.build(
                    Instances.from_input(form(X)), np.arange(len(X)), None, max_bins, threads
                )
                assert sparse.features.tolist() == dense.features.tolist()
                assert sparse.constant == dense.constant
                assert sparse.all_missing == dense.all_missing
                np.testing.assert_array_equal(sparse.codes, dense.codes)
                for one, two in zip(sparse.thresholds, dense.thresholds):
                    np.testing.assert_array_equal(one, two)


@holds_for(matrices(), quick=40, full=2_000)
def test_columns_that_order_nothing_are_named(X):
    bins = build(X)
    for j in range(X.shape[1]):
        absent = np.isnan(X[:, j])
        one_value = len(np.unique(X[~absent, j])) <= 1
        assert (j in bins.all_missing) == absent.all()
        assert (j in bins.constant) == (one_value and not absent.any())
        kept = not absent.all() and not (one_value and not absent.any())
        assert (j in bins.features) == kept


@pytest.mark.kernels
@holds_for(matrices(), matrices(), st.sampled_from([2, 255, None]), quick=40, full=5_000)
def test_other_rows_are_coded_under_the_same_thresholds(X, other, max_bins):
    assume(X.shape[1] == other.shape[1])
    for path in PATHS:
        with using(path):
            bins = build(X, max_bins=max_bins)
            rows = np.arange(len(other))[::-1]
            codes = bins.recode(Instances.from_input(other), rows)
            assert codes.dtype == bins.codes.dtype
            for f, j in enumerate(bins.features):
                expected = [
                    len(bins.thresholds[f]) + 1 if math.isnan(v) else (bins.thresholds[f] < v).sum()
                    for v in other[rows, j]
                ]
                assert codes[f, : len(other)].tolist() == expected


def test_only_the_rows_asked_for_are_cut_and_coded_in_their_order():
    X = np.array([[5.0], [1.0], [np.nan], [3.0], [9.0]])
    rows = np.array([3, 1, 0])
    bins = Bins.build(Instances.from_input(X), rows)
    assert bins.thresholds[0].tolist() == [2.0, 4.0]
    assert bins.codes[0, :3].tolist() == [1, 0, 2]
    assert not bins.has_missing[0]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("n", "max_bins", "dtype"), [
    (255, 255, np.uint8),
    (1000, 255, np.uint8),
    (1000, 256, np.uint16),
    (255, None, np.uint8),
    (256, None, np.uint16),
    (70_000, 65535, np.uint16),
    (65_535, None, np.uint16),
    (70_000, None, np.uint32),
])  # fmt: skip
def test_codes_are_as_wide_as_they_need_to_be(path, n, max_bins, dtype):
    column = np.random.default_rng(0).permutation(n).astype(float)
    with using(path):
        bins = build(np.append(column, np.nan), max_bins=max_bins)
    assert bins.codes.dtype == dtype
    bound = n if max_bins is None else min(n, max_bins)
    assert bins.n_bins.tolist() == [bound]
    assert bins.codes[0, n] == bound  # the abstention
    assert bins.codes[0, :n].max() == bound - 1
    if bound == n:
        np.testing.assert_array_equal(bins.codes[0, :n], column)
    else:
        counts = np.bincount(bins.codes[0, :n].astype(int))
        assert counts.max() - counts.min() <= 2  # equal shares


@pytest.mark.parametrize("weighted", [False, True])
def test_a_heavy_value_has_a_bin_of_its_own(weighted):
    """A feature that is mostly 0 keeps its bins for the rest."""
    rest = np.arange(1.0, 501.0)
    column = np.concatenate((np.zeros(9_500), rest, -rest[:20]))
    weight = None
    if weighted:
        column, weight = np.unique(column, return_counts=True)
    bins = build(column, weight=None if weight is None else weight * 1.0, max_bins=64)
    (thresholds,) = bins.thresholds
    assert len(thresholds) >= 50
    zero = (thresholds < 0.0).sum()
    assert thresholds[zero - 1] >= -1.0
    assert thresholds[zero] < 1.0
    above = np.bincount(np.searchsorted(thresholds, rest))[zero + 1 :]
    assert above.max() <= 2 * above.mean()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "dtype", [np.float16, np.float32, np.longdouble, ">f8", ">f4", np.int8, np.uint64, bool, object]
)
def test_any_type_of_numbers(path, dtype):
    X = np.array([[0, 1], [1, 0], [1, 1], [0, 0]]).astype(dtype)
    with using(path):
        for form in (X, np.asfortranarray(X), X[::-1][::-1], np.repeat(X, 2, axis=1)[:, ::2]):
            bins = build(form)
            assert [t.tolist() for t in bins.thresholds] == [[0.5], [0.5]]
            assert bins.codes[:, :4].tolist() == [[0, 1, 1, 0], [1, 0, 1, 0]]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("bad", [math.inf, -math.inf])
def test_infinities_are_named(path, bad):
    X = np.zeros((50, 3))
    X[:, 1] = np.arange(50)
    X[17, 1] = bad
    with using(path), pytest.raises(DataError, match=rf"row 17, column 1 is {bad}"):
        build(X)
    with using(path), pytest.raises(DataError, match=rf"row 17, column 1 is {bad}"):
        build(X, weight=np.full(50, 2.0))
    with using(path), pytest.raises(DataError, match=rf"row 17, column 1 is {bad}"):
        Bins.build(Instances.from_input(sp.csr_array(X)), np.arange(50))
    # A row that nobody asks for may hold anything.
    with using(path):
        Bins.build(Instances.from_input(X), np.delete(np.arange(50), 17))


def test_numbers_whose_sum_overflows_are_fine():
    X = np.full((4, 1), 1.7e308)
    X[0] = -1.7e308
    assert build(X).codes[0, :4].tolist() == [0, 1, 1, 1]
    assert build(np.float32(X / 1e270)).codes[0, :4].tolist() == [0, 1, 1, 1]


def test_sparse_input_that_would_explode_is_refused_with_the_numbers(monkeypatch):
    monkeypatch.setattr(arrays, "free_memory", lambda: 16_000)
    X = sp.csc_array(np.eye(100))
    with pytest.raises(DataError, match=r"100 rows and 100 .* would take 0\.0 GiB, .*weak='stump'"):
        Bins.build(Instances.from_input(X), np.arange(100))


def test_sparse_input_with_one_index_far_out_is_refused_before_memory_is_taken(monkeypatch):
    monkeypatch.setattr(arrays, "free_memory", lambda: 2**24)
    X = sp.csr_array((np.ones(2), ([0, 1], [0, 999_999])), shape=(2, 1_000_000))
    with pytest.raises(DataError, match=r"1,000,000 features.* would take 0\.1 GiB"):
        Instances.from_input(X)
    X = sp.csr_array((np.ones(2), ([0, 1], [0, 2_000_000_000])), shape=(2, 2_000_000_001))
    with pytest.raises(DataError, match=r"at most 16,777,216 features\. Got 2,000,000,001"):
        Instances.from_input(X)


@pytest.mark.parametrize("X", [None, "train.txt", {"a": [1.0, 2.0]}, 3.0])
def test_what_is_no_table_is_called_by_its_type(X):
    with pytest.raises(DataTypeError, match=f"must be a table: .* Got {type(X).__name__}"):
        Instances.from_input(X)


def test_a_masked_value_is_no_value():
    X = np.ma.MaskedArray([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    np.testing.assert_array_equal(Instances.from_input(X).table, [[1.0, np.nan], [3.0, 4.0]])


def test_a_lazy_frame_is_not_looked_into():
    with pytest.raises(DataTypeError, match="is a LazyFrame; call its collect"):
        Instances.from_input(pl.DataFrame({"a": [1.0, 2.0]}).lazy())


def test_the_users_sparse_arrays_stay_as_they_are():
    indices, data = np.array([2, 0, 1, 1]), np.array([1.0, 2.0, 3.0, 4.0])
    X = sp.csc_array((data.copy(), indices.copy(), np.array([0, 2, 4])), shape=(3, 2))
    made = Instances.from_input(X)
    assert made.table.toarray().tolist() == [[2, 0], [0, 7], [1, 0]]
    np.testing.assert_array_equal(X.indices, indices)
    np.testing.assert_array_equal(X.data, data)


@holds_for(st.integers(3, 400), st.integers(2, 60), quick=40, full=2_000)
def test_distinct_values_are_cut_as_values_of_weight_1_are(n, max_bins):
    """Distinct values have a shorter way, which looks for no heavy value."""
    values = np.sqrt(np.arange(n))
    cuts = cut_points(values, None, max_bins)
    weighed = cut_points(values, np.arange(1.0, n + 1), max_bins)
    np.testing.assert_array_equal(cuts, weighed)
    assert len(cuts) == min(n, max_bins) - 1
    sizes = np.diff(np.searchsorted(values, np.concatenate(([-1.0], cuts, [np.inf]))))
    assert sizes.max() - sizes.min() <= 1


def test_two_bins_of_a_feature_that_is_mostly_its_largest_value():
    for path in PATHS:
        with using(path):
            bins = build(np.array([0.0, 1.0, 2.0, 2.0, 2.0, 2.0]), max_bins=2)
            assert bins.thresholds[0].tolist() == [1.5]


@holds_for(
    st.lists(st.integers(-9, 9), min_size=1, max_size=40), st.integers(2, 12),
    st.integers(0, 2**31), quick=60, full=3000,
)  # fmt: skip
def test_drawn_cuts_lie_between_neighbours(values, max_bins, seed):
    ranked = np.sort(np.array(values, float))
    levels = sorted(set(ranked.tolist()))
    middles = [(a + b) / 2 for a, b in pairwise(levels)]
    drawn = drawn_cut_points(ranked, max_bins, np.random.default_rng(seed)).tolist()
    assert set(drawn) <= set(middles)
    assert len(drawn) == min(len(middles), max_bins - 1)
    assert drawn == sorted(set(drawn))
    assert drawn_cut_points(ranked, None, np.random.default_rng(seed)).tolist() == middles


def test_every_cut_has_the_same_chance_to_be_drawn():
    """The first and the last too, whatever the rows of each value."""
    ranked = np.repeat(np.arange(6.0), [1, 9, 1, 1, 30, 1])
    counts = dict.fromkeys([0.5, 1.5, 2.5, 3.5, 4.5], 0)
    for seed in range(2000):
        for cut in drawn_cut_points(ranked, 3, np.random.default_rng(seed)).tolist():
            counts[cut] += 1
    # (800 expected of each, with a standard deviation of 22)
    assert all(abs(count - 800) < 110 for count in counts.values())
