"""How the protocols divide tasks, and folds that come in files."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut

from crucial.data.groups import Groups
from crucial.errors import DataError, FileError, ParameterError
from crucial.lab.protocols import (
    Fold,
    GivenFolds,
    HalfOfItems,
    PlainFolds,
    Task,
    ThreeWayFolds,
    as_protocol,
    as_tasks,
    make_folds,
    read_folds,
)
from refusals import refused


def make_task(n_queries: int = 10, rows: int = 4, name: str = "toy", queries: bool = True) -> Task:
    random = np.random.default_rng(0)
    n = n_queries * rows
    qid = random.permutation(np.repeat(np.arange(n_queries), rows))
    return Task(name, random.random((n, 2)), random.integers(0, 3, n), qid if queries else None)


def queries_of(task: Task, rows: np.ndarray | None) -> set[int]:
    assert rows is not None
    return set(task.qid[rows].tolist())


def test_three_way_folds_take_turns():
    task = make_task()
    splits = ThreeWayFolds().splits(task, 0)
    tests = [queries_of(task, one.test) for one in splits]
    assert sorted(q for some in tests for q in some) == list(range(10))
    for number, one in enumerate(splits):
        train, valid = queries_of(task, one.train), queries_of(task, one.valid)
        assert valid == tests[(number + 1) % 5]
        assert train == set(range(10)) - valid - tests[number]
        rows = np.concatenate((one.train, one.valid, one.test))
        assert sorted(rows.tolist()) == list(range(40))


def test_half_of_the_items_of_every_list():
    task = make_task(n_queries=3, rows=7)
    (one,) = HalfOfItems().splits(task, 0)
    assert not set(one.train) & set(one.test)
    for query in range(3):
        train, test = (int((task.qid[rows] == query).sum()) for rows in (one.train, one.test))
        assert (train, test) == (4, 3)


@pytest.mark.parametrize("protocol", [ThreeWayFolds(), PlainFolds(), HalfOfItems()])
def test_a_task_is_dealt_alike_by_its_name_and_seed(protocol):
    def rows(task: Task, seed: int) -> list[list[int]]:
        return [one.test.tolist() for one in protocol.splits(task, seed)]

    task = make_task()
    assert rows(task, 0) == rows(make_task(), 0)
    assert rows(task, 0) != rows(task, 1)
    assert rows(task, 0) != rows(make_task(name="other"), 0)


@pytest.mark.parametrize(("call", "kind", "said"), [
    (lambda: ThreeWayFolds(n_folds=2), ParameterError, "an int of at least 3. Got 2"),
    (lambda: as_protocol("five-fold"), ParameterError, "did you mean 'five-folds'"),
    (lambda: as_protocol(5), ParameterError, "a name or a Protocol. Got 5"),
    (
        lambda: ThreeWayFolds().splits(make_task(3), 0),
        DataError,
        "task 'toy': n_folds=5 folds need as many queries, since none is divided. Got 3. Use "
        "n_folds=3 or less",
    ),
    (
        lambda: HalfOfItems().splits(Task("x", np.zeros((3, 1)), [0, 1, 1], [7, 7, 8]), 0),
        DataError,
        "list 8 has too few items",
    ),
    (lambda: GivenFolds().splits(make_task(), 0), ParameterError, "has no folds"),
])  # fmt: skip
def test_refusals(call, kind, said):
    refused(kind, said, call)


# -- tasks ------------------------------------------------------------------------


def test_tasks_in_any_form():
    X, y = np.zeros((4, 1)), [0, 1, 0, 1]
    found = as_tasks({"a": (X, y), "b": (X, y, ["u", "u", "v", "v"]), "c": make_task(name="c")})
    assert ([one.name for one in found], found[1].groups.n_groups) == (["a", "b", "c"], 2)
    assert [one.name for one in as_tasks([(X, y), (X, y)])] == ["task 1", "task 2"]


@pytest.mark.parametrize(("tasks", "said"), [
    ([], "tasks is empty"),
    ("file.txt", "tasks must be a Task"),
    ({"a": 3}, "Got int for 'a'"),
    ([make_task(), make_task()], "two tasks have the name 'toy'"),
    ({"a": (np.zeros((2, 1)), [0, np.nan])}, "task 'a': "),
    ({"a": (np.zeros((2, 1)), [0, 1, 2])}, "task 'a': "),
])  # fmt: skip
def test_bad_tasks_are_named(tasks, said):
    refused((ParameterError, DataError), said, as_tasks, tasks)


def test_digest_tells_data_apart():
    one = make_task()
    assert one.digest() == make_task().digest()
    others = [
        Task("toy", one.X + 1, one.y, one.qid),
        Task("toy", one.X, one.y[::-1], one.qid),
        Task("toy", one.X, one.y, one.qid + 1),
        Task("toy", one.X, one.y),
        Task("toy", one.X.astype(np.float32), one.y, one.qid),
    ]
    assert len({one.digest(), *(other.digest() for other in others)}) == 6


# -- folds in files -----------------------------------------------------------------


def letor(folder: Path, n_folds: int = 2, last: int = 3) -> Path:
    for fold in range(1, n_folds + 1):
        inside = folder / f"Fold{fold}"
        inside.mkdir(parents=True)
        for at, part in enumerate(("train", "vali", "test")):
            lines = []
            for row in range(6):
                query = 10 * fold + 2 * at + row // 3
                feature = f" {last}:{row}" if part == "train" or row == 5 else ""
                lines.append(f"{row % 3} qid:{query} 1:{row}{feature}\n")
            (inside / f"{part}.txt").write_text("".join(lines[: 5 if part == "test" else 6]))
    return folder


def test_letor_folds_have_the_same_columns(tmp_path):
    task = read_folds(letor(tmp_path / "MQ"))
    assert (task.name, [one.name for one in task.splits]) == ("MQ", ["Fold1", "Fold2"])
    parts = task.parts(Fold("Fold2"))
    shapes = [one.X.shape for one in (parts.train, parts.valid, parts.test)]
    assert shapes == [(6, 3), (6, 3), (5, 3)]
    assert parts.test.groups.ids.tolist() == [24, 25]
    assert parts.test.X[:, 2].tolist() == [0.0] * 5  # (the file does not mention feature 3)
    missing = read_folds(tmp_path / "MQ", absent="missing").parts(Fold("Fold2"))
    assert np.isnan(missing.test.X[:, 2]).all()


def test_index_zero_in_one_file_counts_for_all(tmp_path):
    letor(tmp_path, 1)
    path = tmp_path / "Fold1" / "vali.txt"
    path.write_text(path.read_text().replace("1:0", "0:9 1:0", 1))
    parts = read_folds(tmp_path).parts(Fold("Fold1"))
    assert (parts.train.X.shape, parts.test.X.shape) == ((6, 4), (5, 4))
    assert (parts.train.X[:, 0].tolist(), parts.valid.X[0, 0]) == ([0.0] * 6, 9.0)


def test_one_fold_and_other_names(tmp_path):
    letor(tmp_path / "a", 1)
    inside = tmp_path / "a" / "Fold1"
    (inside / "vali.txt").rename(inside / "valid.txt")
    with gzip.open(inside / "train.txt.gz", "wb") as file:
        file.write((inside / "train.txt").read_bytes())
    (inside / "train.txt").unlink()
    assert len(read_folds(inside).splits) == 1
    assert read_folds(inside).digest() == read_folds(inside).digest()


def test_folds_come_in_the_order_of_their_numbers(tmp_path):
    letor(tmp_path, 11)
    assert [one.name for one in read_folds(tmp_path).splits][-2:] == ["Fold10", "Fold11"]


def test_unusable_folds_say_which(tmp_path):
    refused(FileError, "is not a folder", read_folds, tmp_path / "none")
    refused(FileError, "there are no folds in this folder; expected Fold1", read_folds, tmp_path)
    letor(tmp_path)
    (tmp_path / "Fold2" / "vali.txt").rename(tmp_path / "Fold2" / "other.txt")
    refused(FileError, r"Fold2: this fold has no file vali", read_folds, tmp_path)
    (tmp_path / "Fold2" / "vali.txt").write_text("1 qid:22 1:x\n")
    refused(FileError, r"Fold2/vali\.txt, line 1", read_folds(tmp_path).parts, Fold("Fold2"))
    (tmp_path / "Fold2" / "vali.txt").write_text("1 qid:20 1:1\n")
    with pytest.raises(FileError, match=r"vali\.txt: query 20 is also in train\.txt"):
        read_folds(tmp_path).parts(Fold("Fold2"))
    (tmp_path / "Fold2" / "vali.txt").write_text("1 1:1\n0 1:0\n")
    with pytest.raises(FileError, match=r"vali\.txt: its rows have no query ids; other files"):
        read_folds(tmp_path).parts(Fold("Fold2"))
    (tmp_path / "Fold2" / "valid.txt").write_text("1 qid:9 1:1\n")
    with pytest.raises(FileError, match=r"Fold2: this fold has two files .*vali.txt and valid.txt"):
        read_folds(tmp_path)


def test_tables_with_other_columns_are_refused(tmp_path):
    inside = tmp_path / "Fold1"
    inside.mkdir()
    for number, part in enumerate(("train", "vali", "test")):
        (inside / f"{part}.csv").write_text(f"qid,label,bm25\n{number},1,0.5\n{number},0,0.1\n")
    assert read_folds(tmp_path).parts(Fold("Fold1")).test.X.tolist() == [[0.5], [0.1]]
    (inside / "test.csv").write_text("qid,label,clicks\n2,1,0.5\n")
    refused(FileError, r"test\.csv.*bm25", read_folds(tmp_path).parts, Fold("Fold1"))


# -- folds: whole queries, dealt evenly, never on both sides --------------------------------------


def folds_of(cv, y, qid=None, seed=0):
    y = np.asarray(y, float)
    groups = Groups.from_qid(qid, len(y))
    return make_folds(cv, y, groups, qid is not None, np.random.default_rng(seed))


@given(
    qid=st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=60),
    n_folds=st.integers(2, 6),
    seed=st.integers(0, 5),
)
def test_queries_stay_whole_and_are_tested_once(qid, n_folds, seed):
    ids = np.array(qid)
    n_queries = len(set(qid))
    if n_folds > n_queries:
        with pytest.raises(DataError, match=f"cv={n_folds} folds need as many queries"):
            folds_of(n_folds, np.zeros(len(ids)), ids, seed)
        return
    folds = folds_of(n_folds, np.arange(len(ids)) % 3, ids, seed)
    tested = np.concatenate([fold.test for fold in folds])
    assert sorted(tested) == list(range(len(ids)))
    sizes = []
    for fold in folds:
        assert sorted(np.concatenate((fold.train, fold.test))) == list(range(len(ids)))
        assert not set(ids[fold.train]) & set(ids[fold.test])
        sizes.append(len(set(ids[fold.test])))
    assert max(sizes) - min(sizes) <= 1


def test_queries_with_nothing_to_tell_apart_are_spread():
    qid = np.repeat(np.arange(12), 2)
    y = np.where((np.arange(24) % 2 == 1) & (qid < 4), 1.0, 0.0)  # only 4 of 12 have a pair
    for seed in range(5):
        for fold in folds_of(4, y, qid, seed):
            assert y[fold.test].sum() == 1


@given(
    y=st.lists(st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.5]), min_size=5, max_size=60),
    n_folds=st.integers(2, 5),
    seed=st.integers(0, 5),
)
def test_rows_are_dealt_label_by_label(y, n_folds, seed):
    labels = np.array(y)
    folds = folds_of(n_folds, labels, None, seed)
    assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(len(y)))
    for label in set(y):
        counts = [int((labels[fold.test] == label).sum()) for fold in folds]
        # A label begins and ends inside a round of dealing, so two rows may be uneven.
        assert max(counts) - min(counts) <= 2
    sizes = [len(fold.test) for fold in folds]
    assert max(sizes) - min(sizes) <= 1


def test_few_positives_go_to_different_folds():
    y = np.zeros(103)
    y[[3, 50, 77, 90, 101]] = 1
    for seed in range(5):
        assert [int(y[fold.test].sum()) for fold in folds_of(5, y, None, seed)] == [1] * 5


@pytest.mark.parametrize("numbers", [
    np.array([2, 1, 2, 1, 3, 3]),
    [2, 1, 2, 1, 3, 3],
    pd.Series([2, 1, 2, 1, 3, 3], index=list("fedcba")),
])  # fmt: skip
def test_fold_numbers(numbers):
    folds = folds_of(numbers, np.arange(6), ["a", "b", "a", "b", "c", "c"])
    assert [fold.name for fold in folds] == [1, 2, 3]
    assert [fold.test.tolist() for fold in folds] == [[1, 3], [0, 2], [4, 5]]


def test_fold_names_and_rows_that_are_always_learned_from():
    folds = folds_of(["x", "y", "x"], np.arange(3))
    assert [fold.name for fold in folds] == ["x", "y"]
    (only,) = folds_of([-1, 0, -1], np.arange(3))
    assert (only.train.tolist(), only.test.tolist()) == ([0, 2], [1])


def test_pairs_of_row_numbers_or_masks():
    pairs = ((train, test) for train, test in [([0, 1], [2]), ([2], [0, 1])])
    folds = folds_of(pairs, np.arange(3))
    assert [fold.test.tolist() for fold in folds] == [[2], [0, 1]]
    mask = np.array([True, False, True])
    (fold,) = folds_of([(mask, ~mask)], np.arange(3))
    assert (fold.train.tolist(), fold.test.tolist()) == ([0, 2], [1])


@pytest.mark.parametrize("splitter", [GroupKFold(3), LeaveOneGroupOut()])
def test_splitters_are_given_the_queries(splitter):
    qid = np.array(["b", "a", "c", "a", "b", "c"])
    folds = folds_of(splitter, [0, 1, 0, 0, 1, 1], qid)
    assert sorted(len(fold.test) for fold in folds) == [2, 2, 2]
    assert all(len(set(qid[fold.test])) == 1 for fold in folds)


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored by KFold")
def test_a_splitter_that_divides_a_query_is_refused():
    with pytest.raises(DataError, match=r"query 'a' has train rows and .* in fold 0"):
        folds_of(KFold(2), [0, 1, 0, 1], ["a", "b", "a", "b"])


@pytest.mark.parametrize(("cv", "error", "said"), [
    (1, ParameterError, "'cv' parameter of cross_validate must be an int of at least 2"),
    (True, ParameterError, "'cv' parameter of cross_validate must be"),
    ("five", ParameterError, "Got 'five' instead"),
    (None, ParameterError, "Got None instead"),
    ([], ParameterError, "cv is empty"),
    ([0, 1], DataError, "one fold number for each of the 4 rows. Got 2"),
    ([0, 0, 0, 0], DataError, "all rows are in fold 0"),
    ([-1, -1, -1, -1], DataError, "all fold numbers are -1"),
    ([0.0, 1.0, float("nan"), 1.0], DataError, "fold number of row 2 is NaN"),
    ([0, 0, 1, 1], DataError, "query 'a' has train rows and test rows"),
    ([([0, 2], [1, 3], [0])], ParameterError, "fold 0 must be a pair"),
    ([([0, 2], [])], DataError, "test rows of fold 0 must be a list of at least one"),
    ([([0, 2], [1, 4])], DataError, r"test rows of fold 0 must be ints in \[0, 3\]"),
    ([([-1], [0])], DataError, r"train rows of fold 0 must be ints in \[0, 3\]"),
    ([([0.5], [1])], DataError, "Got float64 values"),
    ([([0, 2], [1, 1])], DataError, "fold 0 has a test row twice"),
    ([([0, 2], [1, 3]), ([0], [2])], DataError, "query 'a' .* in fold 1"),
    (3, DataError, "cv=3 folds need as many queries.* Got 2. Use cv=2 or less"),
])  # fmt: skip
def test_folds_that_cannot_be(cv, error, said):
    refused(error, said, folds_of, cv, [0, 1, 0, 1], ["a", "b", "a", "b"])


def test_one_query_or_too_few_rows():
    refused(DataError, r"Got 1\. Leave qid out", folds_of, 2, [0, 1], ["a", "a"])
    refused(DataError, "cv=5 folds need as many rows", folds_of, 5, [0, 1, 0])
    with pytest.raises(DataError, match="row 1 is both a train row and a test row in fold 0"):
        folds_of([([0, 1], [1, 2])], [0, 1, 0])


# -- folds that are made of numbered parts, each trained, validated and tested on in turn ---------


def parts_of(folder, n=5, name="S{}.txt", zipped=False):
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(1, n + 1):
        lines = [f"{row % 3} qid:{10 * number + row // 4} 1:{row % 3 + 0.1 * row} 2:{number}\n"
                 for row in range(8)]  # fmt: skip
        text = "".join(lines).encode()
        path = folder / name.format(number)
        if zipped:
            with gzip.open(f"{path}.gz", "wb") as file:
                file.write(text)
        else:
            path.write_bytes(text)
    return folder


def used(part):
    return sorted(set(part.X[:, 1].astype(int).tolist()))


def test_letors_rule_of_five_parts(tmp_path):
    task = read_folds(parts_of(tmp_path / "MQ", zipped=True))
    assert [split.name for split in task.splits] == [f"Fold{k}" for k in range(1, 6)]
    found = [task.parts(split) for split in task.splits]
    assert [used(one.train) for one in found] == [
        [1, 2, 3], [2, 3, 4], [3, 4, 5], [1, 4, 5], [1, 2, 5],
    ]  # fmt: skip
    assert [used(one.valid) for one in found] == [[4], [5], [1], [2], [3]]
    assert [used(one.test) for one in found] == [[5], [1], [2], [3], [4]]
    first = found[0].train
    assert (first.X.shape, len(first.y), first.groups.n_groups) == ((24, 2), 24, 6)
    assert first.qid.tolist() == np.repeat([10, 11, 20, 21, 30, 31], 4).tolist()
    assert len({task.digest(), read_folds(tmp_path / "MQ", absent="missing").digest()}) == 2


def test_other_names_and_numbers_of_parts(tmp_path):
    task = read_folds(parts_of(tmp_path / "a", 3, "Fold{}.txt"))
    parts = task.parts(Fold("Fold2"))
    assert (used(parts.train), used(parts.valid), used(parts.test)) == ([2], [3], [1])
    assert len(read_folds(parts_of(tmp_path / "b", 11, "part-{}.txt")).splits) == 11


def test_named_queries_beside_numbers(tmp_path):
    parts_of(tmp_path, 3)
    second = tmp_path / "S2.txt"
    second.write_text(second.read_text().replace("qid:2", "qid:x2"))
    train = read_folds(tmp_path).parts(Fold("Fold1")).train
    assert used(train) == [1]
    both = read_folds(parts_of(tmp_path / "more", 4))
    (tmp_path / "more" / "S2.txt").write_text(second.read_text())
    mixed = both.parts(Fold("Fold1")).train
    assert mixed.qid.tolist() == ["10"] * 4 + ["11"] * 4 + ["x20"] * 4 + ["x21"] * 4


def test_unusable_parts_are_refused(tmp_path):
    parts_of(tmp_path, 2)
    with pytest.raises(FileError, match=r"at least three, numbered from 1 .* found S1.txt, S2.txt"):
        read_folds(tmp_path)
    parts_of(tmp_path, 4)
    (tmp_path / "S2.txt").unlink()
    refused(FileError, r"without a gap; found S1.txt, S3.txt, S4.txt", read_folds, tmp_path)
    parts_of(tmp_path, 3)
    (tmp_path / "S2.csv").write_text("a\n")
    refused(FileError, r"two files are part 2: S2.csv and S2.txt", read_folds, tmp_path)
    (tmp_path / "S2.csv").unlink()
    (tmp_path / "S3.txt").write_text((tmp_path / "S1.txt").read_text())
    (tmp_path / "S4.txt").unlink()
    with pytest.raises(FileError, match=r"S3.txt: query 10 is also in S1.txt"):
        read_folds(tmp_path).parts(Fold("Fold1"))
