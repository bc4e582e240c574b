"""Ranks inside queries: the kernels against lists and loops, and what must not matter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.naive import feature_ranks as naive

from crucial.kernels.compiled.predict import order_rows, rank_rows
from crucial.model.weak import Regions

pytestmark = [pytest.mark.kernels, pytest.mark.bounds]

# Eighths: distances to centres and half ways are exact, so every way agrees on ties.
EIGHTHS = st.integers(-16, 16).map(lambda k: k / 8)


@st.composite
def problems(draw):
    sizes = draw(st.lists(st.integers(1, 7), min_size=1, max_size=4))
    n = sum(sizes)
    values = draw(st.lists(EIGHTHS | st.just(float("nan")), min_size=n, max_size=n))
    centres = draw(
        st.lists(EIGHTHS | st.none(), min_size=2, max_size=5).filter(
            lambda found: any(one is not None for one in found)
        )
    )
    weight = draw(st.none() | st.lists(st.integers(1, 3), min_size=n, max_size=n))
    return np.array(values), np.array(sizes), centres, weight


def positions(values, sizes, centres, weight):
    regions = Regions.around(centres)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    out = np.full(len(values), -1.0)
    mass = np.zeros(0) if weight is None else np.array(weight, float)
    cuts = (regions.cuts, regions.by_interval, regions.direction)
    args = (values, mass, cuts, starts)
    half = len(sizes) // 2
    rank_rows(*args, 0, half, out)
    rank_rows(*args, half, len(sizes), out)
    return out


@given(problem=problems())
def test_rows_are_ranked_as_lists_and_loops_do(problem):
    values, sizes, centres, weight = problem
    found = positions(*problem)
    rows = naive.expand(weight or [1] * len(values))
    qid = np.repeat(np.arange(len(sizes)), sizes)[rows]
    expected = naive.rank_feature(values[rows].tolist(), qid.tolist(), centres)
    assert (found[rows] + 0.5).tolist() == expected.tolist()


def by_falling_score(scores, starts):
    parts = [sorted(part.tolist(), reverse=True) for part in np.split(scores, starts[1:-1])]
    return [one for part in parts for one in part]


@pytest.mark.parametrize("kind", ["plain", "float32", "signs", "huge", "missing", "one"])
def test_many_rows_are_ranked_as_few_are(kind):
    """Enough rows for the sort by digits; queries of one row to many."""
    random = np.random.default_rng(11)
    sizes = np.concatenate(([1, 6000, 2], random.integers(1, 60, 60)))
    values = random.normal(size=sizes.sum()).round(3)
    if kind == "float32":
        values = values.astype(np.float32).astype(np.float64)
    elif kind == "signs":
        values = random.choice([-1.0, -0.0, 0.0, 1.0, 5e-324, -5e-324], len(values))
    elif kind == "huge":
        values = values * 10.0 ** random.integers(-300, 300, len(values))
    elif kind == "missing":
        values[random.random(len(values)) < 0.3] = np.nan
        values[-int(sizes[-1]) :] = np.nan
    elif kind == "one":
        values[:] = 2.5
    weight = random.integers(1, 4, len(values)).tolist()
    centres, starts = [-1.0, 0.5, None, 0.25, 0.0], np.concatenate(([0], np.cumsum(sizes)))
    for mass in (None, weight):
        expected = naive.positions(values, sizes, Regions.around(centres), mass)
        assert positions(values, sizes, centres, mass).tolist() == expected
    scores = np.nan_to_num(values)
    order = np.full(len(scores), -1)
    order_rows(scores, starts, 0, len(sizes), order)
    assert scores[order].tolist() == by_falling_score(scores, starts)
