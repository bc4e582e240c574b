"""Data sets: their columns, features like ids or dates, reversed runs, queries seen before."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from crucial import RankBoost
from crucial.data.dataset import Dataset, QuerySketch, find_overlap
from crucial.data.instances import Instances, leaking_features, suspicious_features
from crucial.errors import DataError, DataTypeError, DataWarning
from crucial.fusion import Pool
from crucial.io.runs import read_run
from refusals import refused

ROWS = np.arange(40.0)
rng = np.random.default_rng(0)


def suspects(column, name="a"):
    table = np.column_stack([column, rng.normal(size=len(column))])
    return suspicious_features(Instances(table, (name, "other")))


@pytest.mark.parametrize(("column", "name", "reason"), [
    (ROWS, "a", "distinct, rising whole numbers"),
    (1000 - 7 * ROWS, "a", "distinct, falling whole numbers"),
    (20240101 + ROWS % 28, "day", "dates written as whole numbers"),
    (rng.permutation(ROWS), "user_id", "ids, nearly all distinct"),
    (rng.permutation(ROWS), "userId", "ids, nearly all distinct"),
])  # fmt: skip
def test_suspicious(column, name, reason):
    assert suspects(column, name) == {0: reason}


@pytest.mark.parametrize(("column", "name"), [
    (ROWS + 0.5, "a"),
    (np.minimum(ROWS, 30), "a"),
    (rng.permutation(ROWS), "clicks"),
    (ROWS % 7, "id"),
    (np.where(ROWS == 9, np.nan, ROWS), "a"),
    (20241301 + ROWS % 28, "a"),
    (np.full(40, 20240101), "a"),
    (ROWS[:19], "a"),
])  # fmt: skip
def test_ordinary(column, name):
    assert suspects(column, name) == {}


def test_fit_warns_once_of_all():
    X = np.column_stack([ROWS, rng.normal(size=40), 500 - ROWS])
    match = r"2 features look like ids .* 0 \(distinct, rising .* 2 \("
    with pytest.warns(DataWarning, match=match):
        RankBoost(3).fit(X, ROWS % 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RankBoost(3).fit(X[:, 1:2], ROWS % 2)


def leaks(column, name="a", y=ROWS % 3):
    table = np.column_stack([rng.normal(size=len(column)), column])
    return leaking_features(Instances(table, ("other", name)), y)


@pytest.mark.parametrize("name", ["position", "Rank", "pos", "clicks", "click"])
def test_features_that_follow_an_earlier_ranking(name):
    assert list(leaks(rng.permutation(ROWS), name)) == [1]
    assert leaks(rng.permutation(ROWS), f"page_{name}") == {}


def test_features_that_are_the_label():
    y = ROWS % 3
    for copy in (y, 5 - 2 * y, y + rng.normal(size=40) * 0.01, y * 1e150):
        assert leaks(copy) == {1: "is the label, or nearly"}
    for other in (y + rng.normal(size=40) * 0.2, np.full(40, 2.0), y * np.nan, y == 0, np.sqrt(y)):
        assert leaks(other) == {}
    assert leaks(y[:19], y=y[:19]) == leaks(y, y=None) == leaks(y, y=y * 0) == {}


def test_fit_warns_of_leaks_and_says_why():
    table = pd.DataFrame({"a": rng.normal(size=40), "position": rng.normal(size=40)})
    with pytest.warns(
        DataWarning, match="A feature seems not to be known .* 'position' .follows an"
    ):
        RankBoost(3).fit(table, ROWS % 2)
    table["copy"] = ROWS % 2
    match = r"2 features seem not .*, 'copy' \(is the label, or nearly\).*'position', 'copy'"
    with pytest.warns(DataWarning, match=match):
        RankBoost(3).fit(table, ROWS % 2)


class TestReversedRuns:
    def write(self, path, scores):
        lines = [f"{q} Q0 d{i} {i + 1} {s} t\n" for q in (1, 2) for i, s in enumerate(scores)]
        path.write_text("".join(lines))
        return path

    def test_distances(self, tmp_path):
        path = self.write(tmp_path / "dense.run", [0.1, 0.2, 0.2, 0.7])
        with pytest.warns(DataWarning, match=r"dense\.run: scores rise .* with the other sign"):
            read_run(path)

    @pytest.mark.kernels
    def test_large_files_too(self, tmp_path, monkeypatch):
        monkeypatch.setattr("crucial.fusion.pool._LARGE", 0)
        path = self.write(tmp_path / "dense.run", [0.1, 0.2, 0.3, 0.7])
        with pytest.warns(DataWarning, match="scores rise"):
            Pool.of([path])


class TestSketch:
    def test_few_are_counted(self):
        sketch = QuerySketch.of(range(100))
        assert sketch.shared(["5", 7, "x"]) == 2
        assert QuerySketch.from_plain(sketch.to_plain()) == sketch

    def test_many_are_estimated(self):
        sketch = QuerySketch.of(range(20_000))
        assert len(sketch.hashes) == 500
        assert sketch.shared(range(20_000)) == 20_000
        assert 1200 < sketch.shared([*range(2000), *range(50_000, 52_000)]) < 2800
        assert sketch.shared(range(30_000, 40_000)) == 0

    @pytest.mark.parametrize("plain", [None, [], {}, {"hashes": 3}, {"hashes": ["x"]}])
    def test_anything_else_is_no_sketch(self, plain):
        assert QuerySketch.from_plain(plain) is None


def test_overlap_of_sparse_and_dense_rows():
    X = rng.integers(0, 3, (30, 5)).astype(float)
    y = np.zeros(30)
    other = np.vstack([X[:10], X[10:] + 5])
    dense = find_overlap(Dataset(other, y), Dataset(X, y))
    sparse = find_overlap(Dataset(csr_array(other), y), Dataset(csr_array(X), y))
    assert dense == sparse
    assert dense.n_rows == (X[:10] != 0).any(axis=1).sum()
    changed = y.copy()
    changed[:10] = 1
    assert find_overlap(Dataset(other, changed), Dataset(X, y)).n_rows == 0


def test_a_data_set_is_shown_in_one_line() -> None:
    X = np.zeros((900, 3))
    assert repr(Dataset(X)) == "Dataset(900 rows, 3 features; X)"
    whole = Dataset(X, np.zeros(900), np.repeat(["a", "b"], 450), weight=np.ones(900))
    assert repr(whole) == "Dataset(900 rows, 3 features, 2 queries; X, y, qid, weight)"


TABLE = np.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize("column", ["y", "qid", "item", "weight"])
def test_columns_of_another_length_are_named(column):
    match = f"X of a Dataset has 6 rows, and {column} has 2"
    refused(DataError, match, Dataset, TABLE, **{column: np.zeros(2)})
    assert Dataset(TABLE, **{column: np.zeros(6)}).n_rows == 6


@pytest.mark.parametrize("table", [None, "x", TABLE[0], [[1.0, 2.0]]])
def test_x_is_a_table(table):
    refused(DataTypeError, "X of a Dataset must be a table of rows and features", Dataset, table)
