"""The model of a label ranker."""

import pickle

import numpy as np
import pytest

from crucial.errors import DataError
from crucial.rankers.label_ranker import LabelModel, LabelStump

MODEL = LabelModel(
    2,
    2,
    (
        LabelStump(0, 1.0, (0.0, 1.0), (2.0, -1.0), (0.5, 0.25)),
        LabelStump(0, 3.0, (0.0, 0.0), (8.0, 8.0), (0.0, 0.0)),
        LabelStump(1, None, (9.0, 9.0), (16.0, 0.0), (0.0, 16.0)),
    ),
    intercept=100.0,
)


def test_stumps_of_a_feature_add_up():
    X = [[1.0, 0.0], [2.0, np.nan], [4.0, 0.0], [np.nan, 5.0]]
    assert MODEL.predict(X).tolist() == [
        [116.0, 101.0],
        [102.0, 115.0],
        [126.0, 107.0],
        [116.5, 100.25],
    ]


def test_a_copy_predicts_the_same():
    X = [[1.0, 0.0], [2.0, np.nan]]
    MODEL.predict(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(MODEL)).predict(X), MODEL.predict(X))


def test_another_number_of_columns_is_refused():
    with pytest.raises(DataError, match="X has 3 features"):
        MODEL.predict([[1.0, 2.0, 3.0]])
