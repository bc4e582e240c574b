"""The same arrays as scikit-learn's reader, where it can read the file."""

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from crucial.io.svmlight import read_svmlight
from crucial.kernels import runtime


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize(
    "small", [1 << 20, pytest.param(2, marks=pytest.mark.kernels)], ids=["plain", "compiled"]
)
def test_its_own_files(tmp_path, monkeypatch, zero_based, small):
    monkeypatch.setattr(runtime, "TEXT_PLAIN", small)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 7)) * 10.0 ** rng.integers(-30, 30, size=(50, 7))
    X[rng.random(X.shape) < 0.3] = 0
    X[0, 0] = 1.0
    y, qid = rng.integers(0, 5, 50).astype(float), np.sort(rng.integers(0, 9, 50))
    path = tmp_path / "x.txt"
    dump_svmlight_file(X, y, str(path), query_id=qid, zero_based=zero_based, comment="made")
    theirs = load_svmlight_file(str(path), query_id=True, zero_based=zero_based, n_features=7)
    ours = read_svmlight(path)
    np.testing.assert_array_equal(ours.X, theirs[0].toarray())
    np.testing.assert_array_equal(ours.y, theirs[1])
    np.testing.assert_array_equal(ours.qid, theirs[2])
