"""The columns of a data set have one length."""

import numpy as np
import pytest

from crucial.data.dataset import Dataset
from crucial.errors import DataError, DataTypeError

X = np.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize("column", ["y", "qid", "item", "weight"])
def test_columns_of_another_length_are_named(column):
    with pytest.raises(DataError, match=f"X of a Dataset has 6 rows, and {column} has 2"):
        Dataset(X, **{column: np.zeros(2)})
    assert Dataset(X, **{column: np.zeros(6)}).n_rows == 6


@pytest.mark.parametrize("table", [None, "x", X[0], [[1.0, 2.0]]])
def test_x_is_a_table(table):
    with pytest.raises(DataTypeError, match="X of a Dataset must be a table of rows and features"):
        Dataset(table)
