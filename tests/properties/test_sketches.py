"""Quantile sketches: exact where they promise it, else within the error that they state."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st

from crucial.data.bins import cut_points
from crucial.io.parts import QuantileSketch
from naive.sweep import holds_for


def adversarial(kind, n, random):
    """Values in an order that is hard for sketches."""
    values = np.sort(random.normal(size=n) ** 3)
    if kind == "falling":
        return values[::-1]
    if kind == "outside in":  # every block widens what lies between its values
        return np.where(np.arange(n) % 2, values[::-1], values)
    if kind == "inside out":
        return np.where(np.arange(n) % 2, values[::-1], values)[::-1]
    if kind == "shuffled":
        return random.permutation(values)
    if kind == "heavy":  # one value has half of the rows, and comes last
        return np.where(np.arange(n) < n // 2, values, values[n // 3])
    return values


KINDS = ("rising", "falling", "outside in", "inside out", "shuffled", "heavy")


def true_mass(values, mass, at):
    """The mass up to each number, row by row."""
    order = np.argsort(values, kind="stable")
    upto = np.concatenate(([0.0], np.cumsum(mass[order])))
    return upto[np.searchsorted(values[order], at, "right")]


def check_error(sketch, values, mass, size, n_blocks):
    """The mass that the sketch counts up to any number is right within its guarantee."""
    places, upto = sketch.masses()
    asked = np.unique(np.concatenate((values, places, [values.min() - 1.0])))
    counted = np.concatenate(([0.0], upto))[np.searchsorted(places, asked, "right")]
    lacks = true_mass(values, mass, asked) - counted
    slack = 1e-9 * mass.sum()
    assert lacks.min() >= -slack
    assert lacks.max() <= sketch.rank_error + slack
    assert sketch.rank_error <= mass.sum() * (1 + math.log2(n_blocks)) / size + slack
    if n_blocks > 1:
        assert len(places) <= size * (1 + math.log2(n_blocks))


@holds_for(
    st.sampled_from(KINDS), st.integers(0, 2**31), st.integers(1, 40), st.booleans(),
    quick=40, full=1500,
)  # fmt: skip
def test_ranks_are_within_the_guarantee(kind, seed, n_blocks, weighted):
    random = np.random.default_rng(seed)
    n, size = int(random.integers(50, 3000)), int(random.integers(4, 64))
    values = adversarial(kind, n, random)
    mass = random.exponential(size=n) if weighted else np.ones(n)
    blocks = [b for b in np.array_split(np.arange(n), n_blocks) if len(b)]
    sketch = QuantileSketch(size)
    for rows in blocks:
        sketch.add(values[rows], mass[rows] if weighted else None)
    check_error(sketch, values, mass, size, len(blocks))


@holds_for(
    st.sampled_from(KINDS), st.integers(0, 2**31), st.lists(st.integers(0, 9), min_size=1),
    quick=30, full=1000,
)  # fmt: skip
def test_merged_sketches_have_the_same_guarantee(kind, seed, counts):
    # Sketches of several blocks each, joined in order, as workers send them.
    random = np.random.default_rng(seed)
    n_blocks, size = sum(counts), 16
    values = adversarial(kind, max(1, 40 * n_blocks), random)
    blocks = iter(np.array_split(values, max(1, n_blocks)))
    whole = QuantileSketch(size)
    for count in counts:
        one = QuantileSketch(size)
        for _ in range(count):
            one.add(next(blocks))
        whole.merge(one)
    assert whole.n_rows == 40 * n_blocks
    if n_blocks:
        check_error(whole, values, np.ones(len(values)), size, n_blocks)


@holds_for(
    st.lists(
        st.tuples(
            st.integers(-5, 5).map(float) | st.sampled_from([-1.7e308, -5e-324, 0.1, 1.7e308]),
            st.integers(0, 3),
        ),
        min_size=1, max_size=80,
    ),
    st.integers(1, 9), st.sampled_from([2, 3, 5, 255]),
    quick=40, full=1500,
)  # fmt: skip
def test_few_values_are_cut_as_all_rows_at_once(rows, n_blocks, max_bins):
    values, weight = (np.array(column, np.float64) for column in zip(*rows))
    sketch = QuantileSketch(16)
    for part in np.array_split(np.arange(len(values)), n_blocks):
        sketch.add(values[part], weight[part])
    repeated = np.sort(np.repeat(values, weight.astype(int)))
    assert sketch.rank_error == 0.0
    assert sketch.cut(max_bins).tolist() == cut_points(repeated, None, max_bins).tolist()


@pytest.mark.parametrize("max_bins", [7, 255])
def test_one_block_is_cut_as_all_rows_at_once(max_bins):
    values = np.random.default_rng(0).normal(size=3000)
    sketch = QuantileSketch(8)
    sketch.add(values)
    expected = cut_points(np.sort(values), None, max_bins)
    assert sketch.cut(max_bins).tolist() == expected.tolist()
    merged = QuantileSketch(8)
    merged.merge(sketch)  # (into an empty one)
    merged.merge(QuantileSketch(8))
    assert merged.cut(max_bins).tolist() == expected.tolist()


def test_abstentions_and_rows_of_weight_0_are_no_values():
    sketch = QuantileSketch()
    sketch.add(np.array([np.nan, 1.0, 9.0, np.nan]), np.array([1.0, 2.0, 0.0, 0.0]))
    sketch.add(np.array([np.nan]))
    assert (sketch.n_rows, sketch.n_missing) == (3, 2)
    assert [part.tolist() for part in sketch.masses()] == [[1.0], [2.0]]


@pytest.mark.parametrize("n", [3, 300, 3000])
def test_merged_sketches_count_the_rows_of_both(n):
    """Rows that abstain too, with whole sketches and with compressed ones."""
    random = np.random.default_rng(n)
    values = random.normal(size=(2, n))
    values[:, ::3] = np.nan
    weight = random.integers(0, 3, n).astype(float)
    for weights in (None, weight):
        left, right = QuantileSketch(64), QuantileSketch(64)
        left.add(values[0], weights)
        right.add(values[1], weights)
        left.merge(right)
        counted = np.ones(n, bool) if weights is None else weights > 0
        assert left.n_rows == 2 * np.count_nonzero(counted)
        assert left.n_missing == np.count_nonzero(np.isnan(values[:, counted]))
