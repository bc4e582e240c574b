"""Folds that are made of numbered parts, each trained, validated and tested on in turn."""

import gzip

import numpy as np
import pytest

from crucial import Experiment
from crucial.errors import FileError
from crucial.lab.protocols import TaskSplit, read_folds


def parts_of(folder, n=5, name="S{}.txt", zipped=False):
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(1, n + 1):
        lines = [
            f"{row % 3} qid:{10 * number + row // 4} 1:{row % 3 + 0.1 * row} 2:{number}\n"
            for row in range(8)
        ]
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
    parts = task.parts(TaskSplit("Fold2"))
    assert (used(parts.train), used(parts.valid), used(parts.test)) == ([2], [3], [1])
    assert len(read_folds(parts_of(tmp_path / "b", 11, "part-{}.txt")).splits) == 11


def test_named_queries_beside_numbers(tmp_path):
    parts_of(tmp_path, 3)
    second = tmp_path / "S2.txt"
    second.write_text(second.read_text().replace("qid:2", "qid:x2"))
    train = read_folds(tmp_path).parts(TaskSplit("Fold1")).train
    assert used(train) == [1]
    both = read_folds(parts_of(tmp_path / "more", 4))
    (tmp_path / "more" / "S2.txt").write_text(second.read_text())
    mixed = both.parts(TaskSplit("Fold1")).train
    assert mixed.qid.tolist() == ["10"] * 4 + ["11"] * 4 + ["x20"] * 4 + ["x21"] * 4


def test_unusable_parts_are_refused(tmp_path):
    parts_of(tmp_path, 2)
    with pytest.raises(FileError, match=r"at least three, numbered from 1 .* found S1.txt, S2.txt"):
        read_folds(tmp_path)
    parts_of(tmp_path, 4)
    (tmp_path / "S2.txt").unlink()
    with pytest.raises(FileError, match=r"without a gap; found S1.txt, S3.txt, S4.txt"):
        read_folds(tmp_path)
    parts_of(tmp_path, 3)
    (tmp_path / "S2.csv").write_text("a\n")
    with pytest.raises(FileError, match=r"two files are part 2: S2.csv and S2.txt"):
        read_folds(tmp_path)
    (tmp_path / "S2.csv").unlink()
    (tmp_path / "S3.txt").write_text((tmp_path / "S1.txt").read_text())
    (tmp_path / "S4.txt").unlink()
    with pytest.raises(FileError, match=r"S3.txt: query 10 is also in S1.txt"):
        read_folds(tmp_path).parts(TaskSplit("Fold1"))


def test_an_experiment_on_parts_and_two_processes(tmp_path):
    task = read_folds(parts_of(tmp_path, 3))
    trial = Experiment([task], ["rankboost", "random"], "r2", "given-folds",
                       changes={"n_estimators": 5})  # fmt: skip
    one, two = trial.run(), trial.run(n_jobs=2)
    assert not one.failures
    assert one.value("r2", "rankboost", "fold") == two.value("r2", "rankboost", "fold")
    assert one.value("r2", "rankboost", "fold") < 0.2 < one.value("r2", "random", "fold")
