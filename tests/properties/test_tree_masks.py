"""Trees by the leaves that features exclude: those that a walk finds, for any shape of trees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucial.model.form import FormTree
from crucial.model.scorer import TreeMasks, TreeWalk

N_FEATURES = 3
values = st.sampled_from([-1.0, -0.0, 0.0, 0.25, 0.5, 1e-9, 5e-324, 1e300])


def grown(random, n_nodes, pool):
    """Return a tree of any shape: each node is put on a free side of one before it."""
    left, right = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    free = [(left, 0), (right, 0)]
    for node in range(1, n_nodes):
        side, at = free.pop(int(random.integers(len(free))))
        side[at] = node
        free += [(left, node), (right, node)]
    for leaf, (side, at) in enumerate(free):
        side[at] = ~leaf
    thresholds = random.choice(pool, n_nodes)
    thresholds[random.random(n_nodes) < 0.1] = np.nan
    return FormTree(
        random.integers(0, N_FEATURES, n_nodes),
        thresholds,
        random.random(n_nodes) < 0.5,
        left,
        right,
        random.normal(size=n_nodes + 1),
    )


def rows_at(random, pool, n_rows):
    near = np.concatenate([pool, np.nextafter(pool, np.inf), np.nextafter(pool, -np.inf)])
    return random.choice(np.append(near, [np.nan, np.nan, 3.0]), (n_rows, N_FEATURES))


@given(
    st.lists(st.integers(1, 63), min_size=1, max_size=6), st.lists(values, min_size=1, max_size=6),
    st.integers(1, 40), st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_the_first_leaf_that_is_left_is_that_of_the_walk(sizes, pool, n_rows, seed):
    random, pool = np.random.default_rng(seed), np.array(pool)
    trees = [grown(random, n, pool) for n in sizes]
    X = rows_at(random, pool, n_rows)
    found = TreeMasks.of(trees)
    assert found is not None
    wanted = np.zeros(n_rows)
    for tree in trees:  # (one after the other, as the model adds them)
        wanted += tree.scores(X)
    assert found.scores(X).tobytes() == (wanted + 0.0).tobytes()
    assert found.scores(X).tobytes() == TreeWalk.of(trees).scores(X).tobytes()
    assert found.scores(X[:0]).shape == (0,)


@pytest.mark.parametrize("n_rows", [1, 2, 50])
def test_blocks_of_trees_and_rows_change_nothing(n_rows, monkeypatch):
    random, pool = np.random.default_rng(3), np.array([-1.0, 0.0, 0.5, 2.0])
    trees = [grown(random, int(random.integers(1, 20)), pool) for _ in range(30)]
    X = rows_at(random, pool, n_rows)
    whole = TreeMasks.of(trees)
    assert len(whole.blocks) == 1
    monkeypatch.setattr("crucial.model.scorer._TABLE", 300)
    monkeypatch.setattr("crucial.model.scorer._GATHERED", 200)
    parts = TreeMasks.of(trees)
    assert len(parts.blocks) > 5
    assert parts.scores(X).tobytes() == whole.scores(X).tobytes()
    assert whole.scores(X.astype(np.float32)).tobytes() == parts.scores(X.astype("f4")).tobytes()


def test_trees_that_are_walked_more_quickly_have_no_masks(monkeypatch):
    random, pool = np.random.default_rng(5), np.array([0.0, 1.0])
    small, large = grown(random, 63, pool), grown(random, 64, pool)
    none = np.zeros(0, np.int64)
    leaf = FormTree(none, np.zeros(0), np.zeros(0, bool), none, none, np.array([1.0]))
    assert TreeMasks.of([small]) is not None
    for trees in ([small, large], [small, leaf], []):
        assert TreeMasks.of(trees) is None
    monkeypatch.setattr("crucial.model.scorer._MAX_NODES", 62)
    assert TreeMasks.of([small]) is None
    monkeypatch.undo()
    monkeypatch.setattr("crucial.model.scorer._BYTES_PER_STEP", 0)
    assert TreeMasks.of([small]) is None
