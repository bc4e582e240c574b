"""Section 28: volume under the ROC surface on set B."""

import numpy as np
import pytest

from crucial import TreeRankTournament
from crucial.measures.names import get_measure
from naive.set_b import X1, X2, X12, YB, YD, F


def test_section_28_vus_of_set_b():
    found = [get_measure("vus")(YD, scores) for scores in (F, X1, X2)]
    np.testing.assert_allclose(found, [13 / 18, 1 / 9, 5 / 9], rtol=1e-14)


def test_section_28_vus_of_two_labels_is_the_auc():
    for scores in (F, X1, X2):
        assert get_measure("vus")(YB, scores) == pytest.approx(get_measure("auc")(YB, scores))


def test_section_28_chance_is_one_over_d_factorial():
    for d, chance in ((2, 1 / 2), (3, 1 / 6), (4, 1 / 24)):
        assert get_measure("vus")(np.arange(3 * d) % d, np.zeros(3 * d)) == pytest.approx(chance)


def stumps(depth, pairs="neighbours", **more):
    ranker = TreeRankTournament(depth, splitter="stump", min_rows=2, pairs=pairs, **more)
    return ranker.fit(X12, YD)


def leaf_sets(ranker):
    leaf = ranker.model_.leaves(X12)[:, 0]
    return [set(np.flatnonzero(leaf == k).tolist()) for k in range(leaf.max() + 1)]


def test_section_28_tournament_of_neighbouring_classes():
    first = stumps(1)
    tree = first.model_.trees[0]
    assert (tree.feature, tree.threshold) == ((1,), (0.8125,))
    assert leaf_sets(first) == [{4, 6}, {0, 1, 2, 3, 5, 7}]
    assert first.vus_ == pytest.approx(1 / 2, abs=1e-14)
    second = stumps(2)
    assert second.vus_ == pytest.approx(5 / 6, abs=1e-14)
    assert leaf_sets(second) == [{4, 6}, {1, 3, 5, 7}, {0, 2}]
    tree = second.model_.trees[0]
    assert (tree.feature, tree.threshold) == ((1, 0), (0.8125, 0.3125))
    assert second.score(X12, YD, measure="vus") == pytest.approx(5 / 6, abs=1e-14)


def test_section_28_tournament_of_all_pairs():
    first, second = stumps(1, "all"), stumps(2, "all")
    assert leaf_sets(first) == [{4, 6, 7}, {0, 1, 2, 3, 5}]
    assert first.vus_ == pytest.approx(1 / 2, abs=1e-14)
    assert leaf_sets(second) == [{4, 6}, {7}, {1, 3, 5}, {0, 2}]
    assert second.vus_ == pytest.approx(8 / 9, abs=1e-14)
