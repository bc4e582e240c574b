"""Bad input, as the command line sees it: one line, exit code 2, nothing written or lost."""

from __future__ import annotations

import gzip
import json
import os
import pickle
from pathlib import Path

import pytest

SVMLIGHT = {
    "label nan": (b"nan qid:1 1:1\n0 qid:1 1:2\n", "line 1"),
    "label text": (b"good qid:1 1:1\n0 qid:1 1:2\n", "line 1"),
    "no pair": (b"1 qid:1 1:1\n1 qid:1 1:2\n0 qid:2 1:3\n", "pair"),
    "infinite feature": (b"1 qid:1 1:inf\n0 qid:1 1:2\n", "line 1"),
    "qid missing": (b"1 qid:1 1:1\n0 1:2\n", "line 2"),
    "broken token": (b"1 qid:1 1:1\n0 qid:1 1;2\n", "line 2"),
    "decreasing index": (b"1 qid:1 2:1 1:1\n0 qid:1 1:2\n", "line 1"),
    "huge index": (b"1 qid:1 1000000000000000000:1\n0 qid:1 1:2\n", "line 1"),
    "NUL": (b"1 qid:1 1:1\n0 qid:1 1:\x002\n", "line 2"),
    "empty": (b"", "no row"),
    "comment": (b"# nothing\n\n", "no row"),
    "label alone": (b"1 qid:1\n0 qid:1\n", "no feature"),
    "text": (b"dear diary\n", "neither svmlight"),
}


@pytest.mark.parametrize(("data", "said"), SVMLIGHT.values(), ids=SVMLIGHT)
def test_svmlight(tmp_path: Path, crucial, error_line, data: bytes, said: str) -> None:
    (tmp_path / "bad.txt").write_bytes(data)
    (tmp_path / "m.json").write_text("precious")
    line = error_line(crucial("train", tmp_path / "bad.txt", "-o", tmp_path / "m.json"))
    assert "bad.txt" in line
    assert said in line
    assert (tmp_path / "m.json").read_text() == "precious"
    assert sorted(os.listdir(tmp_path)) == ["bad.txt", "m.json"]


TABLES = {
    "label text": ("label,qid,a\nx,1,1\n0,1,2\n", "line 2, column 1"),
    "label empty": ("label,qid,a\n,1,1\n0,1,2\n", "line 2, column 1"),
    "text feature": (
        "label,qid,a\n1,1,x\n0,1,2\n",
        "--ignore a, make it the item with --item a",
    ),
    "ragged": ("label,qid,a\n1,1,1\n0,1\n", "line 3"),
    "no head": ("1,2,3\n0,1,2\n", "must name the columns"),
    "no label": ("y,qid,a\n1,1,1\n0,1,2\n", "Name the column of labels, such as with --label y"),
    "empty qid": ("label,qid,a\n1,,1\n0,1,2\n", "line 2"),
    "no rows": ("label,qid,a\n", "no row"),
    "empty": ("", "empty"),
    "nameless column": (",label,qid,a\n0,1,1,1\n1,0,1,2\n", "leave it out with --ignore ''"),
}


@pytest.mark.parametrize(("text", "said"), TABLES.values(), ids=TABLES)
def test_tables(tmp_path: Path, crucial, error_line, text: str, said: str) -> None:
    (tmp_path / "bad.csv").write_text(text)
    line = error_line(crucial("train", tmp_path / "bad.csv", "-o", tmp_path / "m.json"))
    assert "bad.csv" in line
    assert said in line
    assert os.listdir(tmp_path) == ["bad.csv"]


def test_the_advice_about_nameless_columns_works(tmp_path: Path, crucial) -> None:
    (tmp_path / "p.csv").write_text(TABLES["nameless column"][0])
    done = crucial("train", tmp_path / "p.csv", "-o", tmp_path / "m.json", "--ignore", "")
    assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize(
    ("weights", "said"), [("-1", "negative"), ("0", "weight"), ("nan", "line")]
)
def test_weights(tmp_path: Path, crucial, error_line, weights: str, said: str) -> None:
    (tmp_path / "w.csv").write_text(f"label,w,a\n1,{weights},1\n0,0,2\n")
    words = ("train", tmp_path / "w.csv", "--weight", "w", "-o", tmp_path / "m.json")
    assert said in error_line(crucial(*words))
    assert not (tmp_path / "m.json").exists()


def test_cut_gzip_directory_and_nothing(folder: Path, crucial, error_line) -> None:
    packed = gzip.compress((folder / "train.txt").read_bytes())
    (folder / "cut.txt.gz").write_bytes(packed[:-20])
    out = folder / "m.json"
    assert "cut short" in error_line(crucial("train", folder / "cut.txt.gz", "-o", out))
    assert "directory" in error_line(crucial("train", folder, "-o", out))
    assert "no such file" in error_line(crucial("train", folder / "none.txt", "-o", out))
    assert "no such file" in error_line(
        crucial("train", folder / "train.txt", "--valid", folder / "none.txt", "-o", out)
    )
    assert not out.exists()


def test_queries_in_one_file_only(folder: Path, crucial, error_line) -> None:
    (folder / "bare.txt").write_text("1 1:1\n0 2:1\n")
    for train, valid in (("train.txt", "bare.txt"), ("bare.txt", "train.txt")):
        said = error_line(
            crucial("train", folder / train, "--valid", folder / valid, "-o", folder / "m.json")
        )
        assert "bare.txt: its rows have no query ids" in said


def test_valid_without_a_relevant_row(folder: Path, crucial, error_line) -> None:
    (folder / "v.txt").write_text("0 qid:1 1:1\n0 qid:1 2:1\n")
    said = error_line(
        crucial("train", folder / "train.txt", "--valid", folder / "v.txt", "-o", folder / "m.json")
    )
    assert "v.txt: eval_set: ndcg@10 has no value" in said


def _broken_models(good: Path) -> dict[str, tuple[bytes, str]]:
    data = good.read_bytes()
    flipped = bytearray(data)
    place = data.index(b'"threshold":') + len(b'"threshold":')
    place += data[place : place + 1] == b" "
    flipped[place + 1] = ord("8") if data[place + 1 : place + 2] != b"8" else ord("7")
    newer = json.loads(data)
    newer["version"] = 99
    return {
        "cut short": (data[: len(data) // 2], ""),
        "flipped": (bytes(flipped), ""),
        "newer": (json.dumps(newer).encode(), "newer"),
        "pickle": (pickle.dumps({"model": 1}), "pickle"),
        "gzip": (gzip.compress(data), "gzip"),
        "other": (b"{}", ""),
        "empty": (b"", ""),
    }


@pytest.mark.parametrize("verb", ["show", "rank", "evaluate"])
def test_model_files(folder: Path, model: Path, crucial, error_line, verb: str) -> None:
    words = {
        "show": (),
        "rank": (folder / "test.txt", "-o", folder / "s.txt"),
        "evaluate": (folder / "test.txt",),
    }[verb]
    for name, (data, said) in _broken_models(model).items():
        (folder / "bad.json").write_bytes(data)
        line = error_line(crucial(verb, folder / "bad.json", *words))
        assert "bad.json" in line, name
        assert said in line, name
    assert not (folder / "s.txt").exists()
    assert "no such file" in error_line(crucial(verb, folder / "none.json", *words))


def test_full_disk(folder: Path, model: Path, crucial, error_line) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no device that is always full")
    said = error_line(crucial("rank", model, folder / "test.txt", "-o", "/dev/full"))
    assert "no space left" in said


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_folder(folder: Path, crucial, error_line) -> None:
    (folder / "locked").mkdir(mode=0o500)
    said = error_line(crucial("train", folder / "none.txt", "-o", folder / "locked" / "m.json"))
    assert "permission denied" in said


def test_read_only_model_stays(folder: Path, model: Path, crucial, error_line) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    model.chmod(0o400)
    assert "permission denied" in error_line(crucial("train", folder / "none.txt", "-o", model))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0\t1\n0\t500\n", "names row 500"),
        ("0\t1\nx\ty\n", "row numbers"),
        ("0 1\n", "winner TAB loser"),
        ("", "no pair"),
    ],
)
def test_pairs(folder: Path, crucial, error_line, text: str, said: str) -> None:
    (folder / "p.tsv").write_text(text)
    words = ("--pairs", folder / "p.tsv", "--pairs-by", "row", "-o", folder / "m.json")
    line = error_line(crucial("train", folder / "train.txt", *words))
    assert "p.tsv" in line
    assert said in line


def test_pairs_only_needs_pairs(folder: Path, crucial, error_line) -> None:
    words = ("train", folder / "train.txt", "-o", folder / "m.json", "--pairs-only")
    assert "--pairs-only needs --pairs" in error_line(crucial(*words))


def test_labels_that_a_measure_cannot_read(tmp_path: Path, crucial, error_line) -> None:
    """They are refused before the training, and no model is written."""
    (tmp_path / "n.txt").write_text("-1 qid:1 1:1\n2 qid:1 1:2\n")
    said = error_line(crucial("train", tmp_path / "n.txt", "-o", tmp_path / "m.json", "-m", "err"))
    assert "n.txt: err needs labels" in said
    assert not (tmp_path / "m.json").exists()
