"""Section 29: integrated AUC on set B."""

import numpy as np
import pytest

from crucial import CRank
from crucial.measures.names import get_measure
from naive.set_b import X12, YC, F


def test_section_29_iauc_of_set_b():
    assert get_measure("iauc")(YC, F) == pytest.approx(0.965277777778, abs=1e-12)
    assert get_measure("iauc(triples)")(YC, F) == pytest.approx(0.973214285714, abs=1e-12)


def test_section_29_iauc_of_distinct_labels_by_ranks():
    """The formula with A(r), the sum over thresholds 2..min(r, n-1) of 1/((t-1)(n-t))."""
    n, rank = len(YC), np.argsort(np.argsort(YC)) + 1

    def total(r):
        return sum(1 / ((t - 1) * (n - t)) for t in range(2, min(r, n - 1) + 1))

    value = sum(
        (total(rank[j] - 1) - total(rank[i])) * (1.0 * (F[i] < F[j]) + 0.5 * (F[i] == F[j]))
        for i in range(n)
        for j in range(n)
        if YC[i] < YC[j]
    ) / (n - 2)
    assert get_measure("iauc")(YC, F) == pytest.approx(value, abs=1e-14)


def stumps(depth, **more):
    return CRank(depth, splitter="stump", min_rows=2, **more).fit(X12, YC)


def leaf_sets(ranker):
    leaf = ranker.model_.leaves(X12)[:, 0]
    return [set(np.flatnonzero(leaf == k).tolist()) for k in range(leaf.max() + 1)]


def test_section_29_crank_of_depth_1():
    ranker = stumps(1)
    tree = ranker.model_.trees[0]
    assert (tree.feature, tree.threshold) == ((1,), (0.3125,))
    above = YC > 0.55  # the median
    left = X12[:, 1] > 0.3125
    assert left[above].mean() - left[~above].mean() == 0.75
    assert ranker.iauc_ == pytest.approx(0.790277777778, abs=1e-12)


def test_section_29_crank_of_depth_2():
    ranker = stumps(2)
    assert leaf_sets(ranker) == [{4, 6}, {0, 5, 7}, {1}, {2, 3}]
    assert ranker.iauc_ == pytest.approx(0.931944444444, abs=1e-12)
    assert ranker.kendall_ == pytest.approx(4.5 / 28, abs=1e-14)
    assert get_measure("kendall")(YC, ranker.predict(X12)) == pytest.approx(4.5 / 28)


def test_section_29_crank_of_depth_3():
    ranker = stumps(3)
    assert leaf_sets(ranker) == [{6}, {4}, {7}, {0, 5}, {1}, {2}, {3}]
    assert ranker.iauc_ == pytest.approx(0.968055555556, abs=1e-12)
    assert get_measure("iauc")(YC, ranker.predict(X12)) == pytest.approx(ranker.iauc_)
