"""The grid of step functions finds the cell that a search finds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crucial.model.additive import AdditiveRanker
from crucial.model.scorer import StepGrid
from crucial.model.weak import Presence, Stump

finite = st.floats(allow_nan=False, allow_infinity=False)
small = st.integers(-6, 6).map(lambda k: k / 4)
counts = st.integers(0, 40).map(lambda k: float(k * k * k) / 2)
thresholds = st.one_of(
    st.lists(finite, max_size=6), st.lists(small, max_size=8), st.lists(counts, max_size=12)
)


@given(st.lists(thresholds, min_size=1, max_size=4), st.integers(0, 2**32 - 1))
def test_the_grid_gives_the_bits_of_a_search(cuts, seed):
    random = np.random.default_rng(seed)
    rankers = [Stump(2 * j, t, int(random.integers(2))) for j, own in enumerate(cuts) for t in own]
    rankers.append(Presence(0, int(random.integers(2))))
    model = AdditiveRanker(2 * len(cuts), rankers, random.normal(size=len(rankers)))
    places = np.array([t for own in cuts for t in own] + [0.0, -0.0])
    near = np.concatenate([places, np.nextafter(places, np.inf), np.nextafter(places, -np.inf)])
    near = np.concatenate([near[np.isfinite(near)], [np.nan, 1.7e308, -1.7e308, 5e-324, 1.0]])
    X = random.choice(near, size=(int(random.integers(1, 60)), model.n_features))
    grid = StepGrid.of(model.step_tables())
    with np.errstate(all="raise", under="ignore"):
        found = grid.scores(X)
    wanted = model._steps.by_search(X)
    assert (found + 0.0).tobytes() == (wanted + 0.0).tobytes()


def test_counts_have_buckets_of_bits_and_crowded_thresholds_are_searched():
    tail = [0.0, 0.5, 1.5, 2.5, 20.5, 1e4, 1e6]
    crowded = [0.0, 1e-9, 1.0, -1.0]
    rankers = [Stump(0, t, 0) for t in tail] + [Stump(1, t, 1) for t in crowded]
    model = AdditiveRanker(2, rankers, np.linspace(0.1, 1.0, len(rankers)))
    grid = StepGrid.of(model.step_tables())
    assert grid.by_bits.tolist() == [0]
    assert [place for place, _, _ in grid.searched] == [1]
    values = np.array([-3.0, -0.0, *tail, *crowded, 5e-10, 3.0, 1e9, np.nan])
    X = np.array(np.meshgrid(values, values)).reshape(2, -1).T
    assert grid.scores(X).tobytes() == model._steps.by_search(X).tobytes()
    assert grid.scores(np.zeros((0, 2))).shape == (0,)
