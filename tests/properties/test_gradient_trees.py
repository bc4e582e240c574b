"""Trees grown on histograms against trees grown by trying every split.

By the kernels pack, quantise, add_rows, scan, level_gains, partition, leaf_sums and spread.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.naive.gradient_trees import NaiveSymmetricTree, NaiveTree, Node

from crucial import GradientRanker
from crucial.boosting.trees import GrownTree, PairLimit, TreeLimits, grow_tree
from crucial.data.bins import Bins
from crucial.data.instances import Instances
from crucial.kernels import trees as door
from crucial.kernels.trees import SplitSearch

pytestmark = [pytest.mark.kernels, pytest.mark.bounds]


@st.composite
def problems(draw: Any) -> dict[str, Any]:
    n, p = draw(st.integers(4, 24)), draw(st.integers(1, 9) | st.just(17))
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    # Few distinct values, so that there are ties and duplicates.
    X = random.integers(0, draw(st.integers(2, 6)), (n, p)).astype(float)
    X[random.random((n, p)) < draw(st.sampled_from([0.0, 0.3]))] = np.nan
    return {
        "X": X,
        "gradient": random.integers(-4, 5, n) / 8,
        "curvature": random.integers(1, 5, n) / 8,
        "weight": random.integers(1, 3, n).astype(float),
        "max_leaves": draw(st.integers(2, 9)),
        "max_depth": draw(st.sampled_from([None, 1, 2])),
        "min_rows": draw(st.sampled_from([0.0, 2.0, 4.0])),
        "l2": draw(st.sampled_from([0.0, 1.0])),
        "interactions": draw(st.sampled_from([None, 1, 2])),
        "signs": random.integers(-1, 2, p) if draw(st.booleans()) else np.zeros(p, int),
    }


def fast(
    problem: dict[str, Any], threads: int = 1, symmetric: bool = False
) -> tuple[GrownTree | None, Bins]:
    X, n = problem["X"], len(problem["X"])
    bins = Bins.build(Instances.from_input(X), np.arange(n), None, 255, 1)
    signs = problem["signs"][bins.features]
    search = SplitSearch(
        bins.codes, n, bins.n_bins, bins.has_missing, signs, problem["weight"], threads
    )
    limits = TreeLimits(
        problem["max_leaves"], problem["max_depth"], problem["min_rows"], problem["l2"],
        problem["interactions"], symmetric=symmetric,
    )  # fmt: skip
    rows, free = np.arange(n, dtype=np.int32), np.ones(len(bins.features), bool)
    if not len(bins.features):
        return None, bins
    gradient, curvature = problem["gradient"], problem["curvature"]
    tree = grow_tree(search, gradient, curvature, rows, limits, free, signs, PairLimit())
    if tree is not None:
        check_leaves(search, tree, gradient, curvature)
    return tree, bins


def check_leaves(search: SplitSearch, tree: GrownTree, gradient: Any, curvature: Any) -> None:
    """Compare what the kernels leaf_sums and spread write with sums over the rows of leaves."""
    leaves = [tree.rows[a:b] for a, b in pairwise(tree.starts)]
    sums = [[gradient[rows].sum(), curvature[rows].sum()] for rows in leaves]
    assert (search.leaf_sums(tree.starts, (0.125, 0.125)) / 8 == sums).all()
    assert tree.gradients.tolist() == [g for g, _ in sums]
    outputs = search.outputs(tree.starts, np.array(tree.values))
    assert all((outputs[rows] == v).all() for rows, v in zip(leaves, tree.values, strict=True))


def same(node: Node, tree: GrownTree, bins: Bins, at: int) -> None:
    """Compare the naive node with a node or leaf of the fast tree."""
    if at < 0:
        assert not node.children
        rows = tree.rows[tree.starts[~at] : tree.starts[~at + 1]]
        assert sorted(rows.tolist()) == node.rows
        np.testing.assert_allclose(tree.values[~at], node.value, rtol=1e-12, atol=1e-12)
        return
    assert node.children
    f, k = tree.feature[at], tree.place[at] // 2
    cuts = bins.thresholds[f]
    assert bins.features[f] == node.feature
    assert (cuts[k - 1] if k <= len(cuts) else None) == node.threshold
    assert tree.place[at] % 2 == node.missing
    np.testing.assert_allclose(tree.gain[at], node.gain, rtol=1e-8, atol=1e-12)
    same(node.children[0], tree, bins, tree.left[at])
    same(node.children[1], tree, bins, tree.right[at])


@pytest.mark.parametrize("twin", [NaiveTree, NaiveSymmetricTree], ids=["best first", "symmetric"])
@settings(deadline=None, max_examples=60)
@given(problem=problems())
def test_the_tree_is_that_of_trying_every_split(twin: type[NaiveTree], problem: Any) -> None:
    naive = twin(**problem).grow() if np.abs(problem["gradient"]).sum() else None
    tree, bins = fast(problem, symmetric=twin is NaiveSymmetricTree)
    assert (tree is None) == (naive is None)
    if tree is not None and naive is not None:
        same(naive, tree, bins, 0)
        assert len(tree.values) == len(naive.leaves())


@settings(deadline=None, max_examples=20)
@given(problem=problems(), seed=st.integers(0, 99), symmetric=st.booleans())
def test_order_of_rows_and_threads_change_nothing(problem: Any, seed: int, symmetric: bool) -> None:
    order = np.random.default_rng(seed).permutation(len(problem["X"]))
    moved = dict(problem)
    for name in ("X", "gradient", "curvature", "weight"):
        moved[name] = problem[name][order]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(door, "_SHARED_ROWS", 0)
        (one, _), (two, _) = fast(problem, 1, symmetric), fast(moved, 3, symmetric)
    assert (one is None) == (two is None)
    if one is not None and two is not None:
        assert (one.feature, one.place, one.gain) == (two.feature, two.place, two.gain)
        assert one.values == two.values


def test_rounding_does_not_choose_between_splits_that_are_as_good() -> None:
    """One row of weight 3, or three alike: the first feature is taken in either form."""
    y = np.repeat([1.0, 0.0], [8, 12])
    weight = np.ones(20)
    weight[0] = 3.0
    X = np.zeros((20, 2))
    X[1:4, 0] = 1.0
    X[0, 1] = 1.0
    again = np.repeat(np.arange(20), weight.astype(int))
    one = GradientRanker(1, max_leaves=2, min_rows=1).fit(X, y, sample_weight=weight)
    other = GradientRanker(1, max_leaves=2, min_rows=1).fit(X[again], y[again])
    assert one.model_.rankers[0].features == other.model_.rankers[0].features == (0,)
