"""What a data set says of itself."""

from __future__ import annotations

import numpy as np

from crucial import Dataset


def test_a_data_set_is_shown_in_one_line() -> None:
    X = np.zeros((900, 3))
    assert repr(Dataset(X)) == "Dataset(900 rows, 3 features; X)"
    whole = Dataset(X, np.zeros(900), np.repeat(["a", "b"], 450), weight=np.ones(900))
    assert repr(whole) == "Dataset(900 rows, 3 features, 2 queries; X, y, qid, weight)"
