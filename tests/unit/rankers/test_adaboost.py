"""AdaBoostRanker as an estimator: what it takes, what it refuses, what it tells."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from crucial import AdaBoostRanker
from crucial.errors import DataWarning, NoProgressWarning
from crucial.model.weak import Constant

X, Y = load_breast_cancer(return_X_y=True)
TRAIN, TEST = slice(0, 400), slice(400, None)


def test_the_constant_takes_part_where_classes_differ_in_size():
    """With no feature that says anything, the odds of the classes are all there is to learn."""
    y = np.array([1, 0, 0, 0])
    with pytest.warns(UserWarning, match="constant"):
        ranker = AdaBoostRanker(5, 1.0).fit(np.zeros((4, 1)), y)
    assert ranker.model_.rankers == (Constant(),)
    assert ranker.model_.weights[0] == pytest.approx(0.5 * np.log(1 / 3))
    assert ranker.score(np.zeros((4, 1)), y) == 0.5
    with pytest.warns() as said:
        AdaBoostRanker(5).fit([[1.0], [1.0]], [0, 1])
    assert {one.category for one in said} == {DataWarning, NoProgressWarning}


def test_a_perfect_hypothesis_is_smoothed_or_ends_the_rounds():
    x, y = np.arange(10.0)[:, None], np.arange(10) > 4
    smoothed = AdaBoostRanker(50, 1.0).fit(x, y)
    assert smoothed.score(x, y) == 1.0
    assert np.isfinite(smoothed.model_.weights).all()
    with pytest.warns(NoProgressWarning, match="perfect weak ranker"):
        AdaBoostRanker(50, on_perfect="stop").fit(x, y)
    long = AdaBoostRanker(2000, 1.0).fit(x, y)  # far beyond where weights underflow
    assert np.isfinite(long.trace_.column("log_loss")).all()
    assert np.diff(long.trace_.column("log_loss")).max() < 0
    assert long.trace_[-1].log_loss < -1000
