"""Tables in parts: the same model as from the table, and what is wrong with a part."""

import pickle
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from crucial import Dataset, GradientRanker, RankBoost
from crucial.data import Bins, Instances, arrays
from crucial.errors import DataError, DataTypeError, FileError
from crucial.io import parquet
from crucial.rankers import AdaBoostRanker, LogisticRanker, RankingSVM
from refusals import refused

N = 600


def problem(digits=1):
    """Rows of which every one is in a pair, so that a fit cuts all of them."""
    random = np.random.default_rng(3)
    X = random.normal(size=(N, 6)).round(digits)
    X[random.random(X.shape) < 0.1] = np.nan
    X[:, 4], X[:, 5] = 7.0, np.nan
    y = random.integers(0, 2, N).astype(float)
    y[::20], y[1::20] = 1.0, 0.0
    y += np.nan_to_num(X[:, 0]) > 0.5
    return X, y, np.repeat(np.arange(N // 20), 20)


def cut_into(sizes, X, y, qid, weight=None):
    ends = np.cumsum([0, *sizes])
    return [
        Dataset(X[a:b], y[a:b], qid[a:b], weight=None if weight is None else weight[a:b])
        for a, b in pairwise(ends)
    ]


@pytest.mark.filterwarnings("ignore:1 feature:crucial.errors.DataWarning")
@pytest.mark.parametrize(
    "ranker",
    [
        RankBoost(15),
        RankBoost(5, weak="tree"),
        RankBoost(10, choice="largest_drop", n_bags=2),
        RankBoost(10, early_stopping_rounds=2, monotone_constraints={0: 1}),
        GradientRanker(5),
        LogisticRanker(10),
    ],
    ids=str,
)
def test_a_fit_on_parts_is_the_fit_on_the_table(ranker):
    X, y, qid = problem()
    sizes = [1, 7, 0, 250, 142, 200]  # (parts cut through queries; one is empty)
    data = Dataset.from_parts(cut_into(sizes, X, y, qid))
    assert repr(data) == "Dataset(600 rows, 6 features, 30 queries; X, y, qid)"
    assert data.X.table.bins.codes.dtype == np.uint8
    expected = ranker.fit(X, y, qid=qid).model_
    assert ranker.fit(data.X, data.y, qid=data.qid).model_ == expected
    if isinstance(ranker, RankBoost):
        weight = np.random.default_rng(0).integers(1, 3, N).astype(float)
        data = Dataset.from_parts(cut_into(sizes, X, y, qid, weight))
        expected = ranker.fit(X, y, qid=qid, sample_weight=weight).model_
        found = ranker.fit(data.X, data.y, qid=data.qid, sample_weight=data.weight)
        assert found.model_ == expected


def test_the_parts_do_not_matter_once_bins_are_given():
    X, y, qid = problem(digits=9)
    whole = Dataset.from_parts([Dataset(X, y, qid)], max_bins=20)
    own = Bins.build(Instances.from_input(X), np.arange(N), None, 20)
    bins = whole.X.table.bins
    assert all(map(np.array_equal, bins.thresholds, own.thresholds))
    assert np.array_equal(bins.codes, own.codes)
    assert (bins.constant, bins.all_missing) == (own.constant, own.all_missing) == ((4,), (5,))
    for count in (2, 40):
        parts = cut_into([N // count] * count, X, y, qid)
        for given in (whole, own):
            table = Dataset.from_parts(iter(parts), bins=given).X.table
            assert np.array_equal(table.bins.codes, own.codes)
            assert np.array_equal(table.bins.has_missing, own.has_missing)


@pytest.mark.filterwarnings("ignore:1 feature:crucial.errors.DataWarning")
def test_warm_start_and_a_classifier_from_parts():
    X, y, _ = problem()
    y = (y > 0).astype(float)
    data = Dataset.from_parts([Dataset(X[:200], y[:200]), Dataset(X[200:], y[200:])])
    ranker = RankBoost(3, warm_start=True, early_stopping_rounds=1).fit(data.X, data.y)
    plain = RankBoost(3, early_stopping_rounds=1).fit(X, y)
    assert np.array_equal(
        ranker.to_classifier().decision_function(X), plain.to_classifier().decision_function(X)
    )
    assert len(ranker.set_params(n_estimators=6).fit(data.X, data.y).trace_) >= len(plain.trace_)
    assert AdaBoostRanker(4).fit(data.X, data.y).model_ == AdaBoostRanker(4).fit(X, y).model_
    other = Dataset.from_parts([Dataset(X[::-1], y)])
    refused(DataError, "warm_start continues on the data", ranker.fit, other.X, other.y)


def test_a_large_parquet_file_is_read_by_row_groups(tmp_path, monkeypatch):
    X, y, qid = problem(digits=6)
    X = X[:, :3].astype(np.float32)
    columns = {f"f{j}": X[:, j] for j in range(3)}
    path = tmp_path / "one.parquet"
    frame = pl.DataFrame({"qid": qid, "label": y, **columns})
    frame.write_parquet(path, row_group_size=100)
    assert parquet.split_file(str(path)) == [str(path)]
    monkeypatch.setattr(parquet, "_CELLS", 5 * 250)
    pieces = parquet.split_file(str(path))
    assert [one.name for one in pieces] == [
        f"{path}, row groups {first} to {first + 1}" for first in (0, 2, 4)
    ]
    assert [one.first_row for one in pieces] == [0, 200, 400]
    again = pickle.loads(pickle.dumps(pieces[1]))
    assert (again, again.groups, again.first_row) == (path.as_posix(), (2, 4), 200)
    parts = cut_into([200, 200, 200], X.astype(np.float64), y, qid)
    expected, found = (Dataset.from_parts(one, max_bins=20) for one in (parts, path))
    for one, other in zip(expected.X.table.bins.thresholds, found.X.table.bins.thresholds):
        assert one.tobytes() == other.tobytes()
    assert expected.X.table.bins.codes.tobytes() == found.X.table.bins.codes.tobytes()
    assert found.qid.tolist() == qid.tolist()
    for place, name in ((450, "f1"), (50, "label")):
        bad = frame.with_columns(
            pl.when(pl.arange(N) == place).then(np.inf).otherwise(pl.col(name)).alias(name)
        )
        bad.write_parquet(path, row_group_size=100)
        match = rf"'{name}' must be finite. Got inf in row {place} "
        refused(FileError, match, Dataset.from_parts, [path])


def test_a_folder_of_parquet_and_one_of_svmlight(tmp_path):
    X, y, qid = problem()
    X = np.nan_to_num(X[:, :4])
    names = ["q" + str(one) for one in qid]
    frame = pl.DataFrame({"qid": names, "label": y, **{f"f{j}": X[:, j] for j in range(4)}})
    (tmp_path / "p").mkdir()
    frame[:250].write_parquet(tmp_path / "p" / "a.parquet")
    frame[:0].write_parquet(tmp_path / "p" / "b.parquet")
    frame[250:].select(frame.columns[::-1]).write_parquet(tmp_path / "p" / "c.parquet")
    (tmp_path / "p" / "_SUCCESS").write_text("")
    data = Dataset.from_parts(tmp_path / "p")
    assert data.feature_names == ["f0", "f1", "f2", "f3"]
    assert data.qid.tolist() == names
    assert data.qid[0] is data.qid[1]
    expected = RankBoost(10).fit(frame.select("f0", "f1", "f2", "f3"), y, qid=names).model_
    assert RankBoost(10).fit(data.X, data.y, qid=data.qid).model_ == expected
    for number, rows in enumerate(np.array_split(np.arange(N), 3)):
        lines = [
            f"{y[i]} qid:{qid[i]} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(X[i]))
            for i in rows
        ]
        (tmp_path / f"{number}.svm").write_text("\n".join(lines))
    (tmp_path / "3.svm").write_text("")
    data = Dataset.from_parts(str(tmp_path / "*.svm"))
    named = Instances(X, ("1", "2", "3", "4"))
    expected = RankBoost(10).fit(named, y, qid=qid).model_
    assert RankBoost(10).fit(data.X, data.y, qid=data.qid).model_ == expected
    (tmp_path / "4.svm").write_text("1 qid:900 1:1 2:2 3:3\n")
    match = r"4\.svm has 3 features.*0\.svm has 4.*Pass n_features"
    refused(DataError, match, Dataset.from_parts, str(tmp_path / "*.svm"))
    assert Dataset.from_parts(str(tmp_path / "*.svm"), n_features=4).n_rows == N + 1
    (tmp_path / "p" / "d.parquet").write_bytes(b"PAR1 and no more")
    refused(FileError, r"d\.parquet.*cannot be read", Dataset.from_parts, tmp_path / "p")


ROW = Dataset(np.ones((1, 2)), np.ones(1), np.array([1]))
FRAME = Dataset(np.ones((1, 2)), np.ones(1), np.array([1]), feature_names=["a", "b"])


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ([], "there are no parts"),
        ([Dataset(np.ones((0, 2)))], "no row in any part"),
        (ROW, "parts must be a folder.*Got Dataset"),
        (iter([ROW]), "read twice.*Pass a list"),
        ("no/such/*.parquet", "no file has such a name"),
        ([ROW, 3], r"part 1 \(from 0\) must be a file.*Got int"),
        ([ROW, Dataset(np.ones((1, 2)), np.ones(1))], "part 1 .* has no qid, and part 0"),
        ([ROW, Dataset(np.ones((1, 2)), None, np.ones(1))], "part 1 .* has no y, and part 0"),
        ([ROW, Dataset(np.ones((1, 2)), np.ones(1), np.array(["a"]))], "0 .* numbers, .* 1 .*text"),
        ([ROW, Dataset(np.ones((1, 3)), np.ones(1), np.ones(1))], "1 .* has 3 features.*has 2"),
        ([ROW, FRAME], "2 features with names, and .* 2 without names"),
        ([FRAME, Dataset(np.ones((1, 2)), np.ones(1), np.ones(1), feature_names=["a", "c"])],
         "part 1 .* lacks 'b'; its columns must be those of part 0"),
        ([FRAME, Dataset(np.ones((1, 3)), np.ones(1), np.ones(1), feature_names=["a", "b", "c"])],
         "part 1 .* also has 'c'"),
        ([ROW, Dataset(np.full((1, 2), np.inf), np.ones(1), np.ones(1))],
         "part 1 .*: Input X contains infinity.*row 0, column 0"),
        ([ROW, lambda: Dataset(np.ones((2, 2)), np.ones(1))], "X of a Dataset has 2 rows, and y"),
        ([ROW, Dataset(np.ones((1, 2)), np.full(1, np.nan), np.ones(1))],
         "part 1 .*: the label of row 0 is nan"),
        ([ROW, Dataset(np.ones((1, 2)), np.ones(1), np.full(1, np.nan))],
         "part 1 .*: qid is NaN in row 0"),
        ([Dataset(pl.DataFrame({"a": ["x"]}))], "part 0 .*: Input X: the values of 'a'"),
        ([Dataset(np.ones((1, 2)), weight=-np.ones(1))], "part 0 .*: weights must be finite"),
    ],
)  # fmt: skip
def test_a_part_that_does_not_fit_is_named(parts, problem):
    refused(DataError, problem, Dataset.from_parts, parts)


def test_what_goes_wrong_around_parts(monkeypatch):
    X, y, qid = problem()
    data = Dataset.from_parts([lambda: Dataset(X, y, qid)])
    fitted = RankBoost(2).fit(X[:, :4], y, qid=qid)
    wide = Bins.build(Instances.from_input(np.arange(300.0)[:, None]), np.arange(300), None, None)
    infinite = Dataset(np.full((1, 6), np.inf), np.ones(1), np.ones(1))
    for match, ranker in (
        ("bins of its cells instead of their values", RankingSVM()),
        ("bins of its cells instead of their values", RankBoost(weak="feature")),
        (r"max_bins=9 is less than the \d+ bins", RankBoost(max_bins=9)),
        ("cannot be drawn at random", RankBoost(thresholds="random")),
    ):
        refused(DataError, match, ranker.fit, data.X, data.y, qid=data.qid)
    refused(DataError, "to predict, pass the parts one by one", fitted.predict, data.X)
    for match, parts, how in (
        (r"was not made by Dataset\.from_parts", [data], {"bins": ROW}),
        ("has 2 features, and the bins are those of 6", [ROW], {"bins": data}),
        ("a feature with 300 bins", [ROW], {"bins": wide}),
        ("is no file: n_features cannot apply", [ROW], {"n_features": 4}),
        ("contains infinity", [infinite], {"bins": data}),
    ):
        refused(DataError, match, Dataset.from_parts, parts, **how)
    refused(DataTypeError, "Got int", Dataset.from_parts, [lambda: 3])
    monkeypatch.setattr(arrays, "free_memory", lambda: 1000)
    match = "600 rows of 4 features that vary.*one byte per cell"
    refused(DataError, match, Dataset.from_parts, [Dataset(X, y, qid)])


def test_cells_read_as_a_value_of_their_bin():
    X, y, qid = problem()
    table = Dataset.from_parts([Dataset(X, y, qid)]).X.table
    values = np.asarray(table)
    assert values.shape == table.shape == (N, 6)
    assert np.array_equal(np.isnan(values), np.isnan(X))
    again = Bins.build(Instances.from_input(X), np.arange(N))
    assert np.array_equal(again.recode(Instances(values), np.arange(N)), again.codes)
    assert table[3, 0] == values[3, 0]
    assert np.array_equal(np.asarray(table[5:9]), values[5:9], equal_nan=True)
