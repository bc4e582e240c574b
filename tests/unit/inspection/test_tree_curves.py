"""The ROC curve of a tree: rows, labels and weights come together."""

import numpy as np
import pytest

from crucial import TreeRank, inspection
from crucial.errors import DataError

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(120, 2))
Y = (X[:, 0] + RANDOM.normal(size=120) > 0).astype(int)


@pytest.fixture(scope="module")
def ranker():
    return TreeRank(2, min_rows=10).fit(X, Y)


@pytest.mark.parametrize(("given", "match"), [
    ({"X": X}, r"Got X without y. Pass X and y, or neither"),
    ({"y": Y}, r"Got y without X. Pass X and y, or neither"),
    ({"sample_weight": np.ones(120)}, r"sample_weight.*Got it without X and y.*Pass X and y"),
    ({"X": X, "y": Y, "sample_weight": 1.0 - Y}, r"two values among the rows with a weight"),
    ({"X": X, "y": 0 * Y}, r"labels of two values.*Got 1. Pass rows of both labels"),
])  # fmt: skip
def test_what_has_no_curve_is_refused(ranker, given, match):
    with pytest.raises(DataError, match=match):
        inspection.tree_roc(ranker, **given)


def test_rows_of_weight_0_may_have_any_label(ranker):
    """They are left out, also with a third label."""
    some = np.arange(120) % 4 > 0
    found = inspection.tree_roc(ranker, X, np.where(some, Y, 7), sample_weight=some * 1.0)
    alone = inspection.tree_roc(ranker, X[some], Y[some])
    assert found.auc == pytest.approx(alone.auc)
