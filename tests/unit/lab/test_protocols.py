"""How the protocols divide tasks, and folds that come in files."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from crucial.errors import DataError, FileError, ParameterError
from crucial.lab.protocols import (
    GivenFolds,
    HalfOfItems,
    PlainFolds,
    Task,
    TaskSplit,
    ThreeWayFolds,
    as_protocol,
    as_tasks,
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


def test_rows_are_dealt_by_label_without_queries():
    task = make_task(queries=False)
    for one in ThreeWayFolds().splits(task, 0):
        assert len(one.test) == len(one.valid) == 8
        counts = [np.bincount(task.y[part].astype(int), minlength=3) for part in (one.test,)]
        whole = np.bincount(task.y.astype(int), minlength=3) / 5
        assert np.abs(counts[0] - whole).max() <= 1


def test_plain_folds_have_no_validation_unless_asked_for():
    task = make_task(n_queries=8)
    splits = PlainFolds().splits(task, 0)
    assert len(splits) == 4
    assert all(one.valid is None for one in splits)
    assert all(len(queries_of(task, one.train)) == 6 for one in splits)
    assert not PlainFolds().has_valid
    for one in PlainFolds(valid=0.34).splits(task, 0):
        parts = [queries_of(task, rows) for rows in (one.train, one.valid, one.test)]
        assert [len(part) for part in parts] == [4, 2, 2]
        assert len(set.union(*parts)) == 8


def test_half_of_the_items_of_every_list():
    task = make_task(n_queries=3, rows=7)
    splits = HalfOfItems(repeats=2).splits(task, 0)
    for one in splits:
        assert not set(one.train) & set(one.test)
        for query in range(3):
            train, test = (int((task.qid[rows] == query).sum()) for rows in (one.train, one.test))
            assert (train, test) == (4, 3)
    assert splits[0].test.tolist() != splits[1].test.tolist()
    one = HalfOfItems(valid=0.25).splits(task, 0)[0]
    assert [int((task.qid[rows] == 0).sum()) for rows in (one.train, one.valid, one.test)] == [
        3, 1, 3,
    ]  # fmt: skip


@pytest.mark.parametrize("protocol", [ThreeWayFolds(), PlainFolds(valid=0.3), HalfOfItems()])
def test_a_task_is_dealt_alike_by_its_name_and_seed(protocol):
    def rows(task: Task, seed: int) -> list[list[int]]:
        return [one.test.tolist() for one in protocol.splits(task, seed)]

    task = make_task()
    assert rows(task, 0) == rows(make_task(), 0)
    assert rows(task, 0) != rows(task, 1)
    assert rows(task, 0) != rows(make_task(name="other"), 0)


def test_who_chooses():
    assert ThreeWayFolds(choose_by="MAP").chooser("ndcg@5") == "map"
    mapped = GivenFolds(choose_by={"ndcg@5": "map"})
    assert (mapped.chooser("ndcg@5"), mapped.chooser("r2")) == ("map", "r2")


def test_texts_say_what_is_done():
    assert ThreeWayFolds().text == (
        "5 folds, 3 to train, 1 to validate, 1 to test; round and parameters by validation, each "
        "measure by itself"
    )
    assert PlainFolds().text.endswith("3 to train, 1 to test; the last round of every ranker")
    assert "2 times" in HalfOfItems(repeats=2).text


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda: ThreeWayFolds(n_folds=2), ParameterError, "an int of at least 3. Got 2"),
        (lambda: PlainFolds(valid=1.0), ParameterError, "'valid' parameter of PlainFolds"),
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
        (
            lambda: PlainFolds(n_folds=2, valid=0.01).splits(make_task(), 0),
            DataError,
            "leaves none to learn from or none to choose by",
        ),
        (lambda: GivenFolds().splits(make_task(), 0), ParameterError, "has no folds"),
    ],
)
def test_refusals(call, kind, said):
    refused(kind, said, call)


# -- tasks ------------------------------------------------------------------------


def test_tasks_in_any_form():
    X, y = np.zeros((4, 1)), [0, 1, 0, 1]
    found = as_tasks({"a": (X, y), "b": (X, y, ["u", "u", "v", "v"]), "c": make_task(name="c")})
    assert [one.name for one in found] == ["a", "b", "c"]
    assert found[1].groups.n_groups == 2
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
    parts = task.parts(TaskSplit("Fold2"))
    assert [one.X.shape for one in (parts.train, parts.valid, parts.test)] == [
        (6, 3),
        (6, 3),
        (5, 3),
    ]
    assert parts.test.groups.ids.tolist() == [24, 25]
    assert parts.test.X[:, 2].tolist() == [0.0] * 5  # (the file does not mention feature 3)
    missing = read_folds(tmp_path / "MQ", absent="missing").parts(TaskSplit("Fold2"))
    assert np.isnan(missing.test.X[:, 2]).all()


def test_index_zero_in_one_file_counts_for_all(tmp_path):
    letor(tmp_path, 1)
    path = tmp_path / "Fold1" / "vali.txt"
    path.write_text(path.read_text().replace("1:0", "0:9 1:0", 1))
    parts = read_folds(tmp_path).parts(TaskSplit("Fold1"))
    assert (parts.train.X.shape, parts.test.X.shape) == ((6, 4), (5, 4))
    assert parts.train.X[:, 0].tolist() == [0.0] * 6
    assert parts.valid.X[0, 0] == 9.0


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
    refused(FileError, r"Fold2/vali\.txt, line 1", read_folds(tmp_path).parts, TaskSplit("Fold2"))
    (tmp_path / "Fold2" / "vali.txt").write_text("1 qid:20 1:1\n")
    with pytest.raises(FileError, match=r"vali\.txt: query 20 is also in train\.txt"):
        read_folds(tmp_path).parts(TaskSplit("Fold2"))
    (tmp_path / "Fold2" / "vali.txt").write_text("1 1:1\n0 1:0\n")
    with pytest.raises(FileError, match=r"vali\.txt: its rows have no query ids; other files"):
        read_folds(tmp_path).parts(TaskSplit("Fold2"))
    (tmp_path / "Fold2" / "valid.txt").write_text("1 qid:9 1:1\n")
    with pytest.raises(FileError, match=r"Fold2: this fold has two files .*vali.txt and valid.txt"):
        read_folds(tmp_path)


def test_tables_with_other_columns_are_refused(tmp_path):
    inside = tmp_path / "Fold1"
    inside.mkdir()
    for number, part in enumerate(("train", "vali", "test")):
        (inside / f"{part}.csv").write_text(f"qid,label,bm25\n{number},1,0.5\n{number},0,0.1\n")
    assert read_folds(tmp_path).parts(TaskSplit("Fold1")).test.X.tolist() == [[0.5], [0.1]]
    (inside / "test.csv").write_text("qid,label,clicks\n2,1,0.5\n")
    refused(FileError, r"test\.csv.*bm25", read_folds(tmp_path).parts, TaskSplit("Fold1"))
