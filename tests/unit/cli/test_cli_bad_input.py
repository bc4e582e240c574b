"""Bad input, as the command line sees it: one line, exit code 2, nothing written or lost."""

import gzip
import json
import os
import pickle
from pathlib import Path

import pytest

SVMLIGHT = {
    "no pair": (b"1 qid:1 1:1\n1 qid:1 1:2\n0 qid:2 1:3\n", "pair"),
    "infinite feature": (b"1 qid:1 1:inf\n0 qid:1 1:2\n", "line 1"),
    "text": (b"dear diary\n", "neither svmlight"),
}
LABELS = "Got 'x'. Write a number for each label, higher for rows that should rank"
TABLES = {
    "label text": ("label,qid,a\nx,1,1\n0,1,2\n", "line 2, column 1", LABELS),
    "text feature": ("label,qid,a\n1,1,x\n0,1,2\n", "--ignore a, make it the item with --item a"),
    "several": (
        "label,qid,a,url,b c\n1,1,2,u,z\n0,1,3,9,4\n",
        "2 columns cannot be features: 'url' (line 2: 'u'), 'b c' (line 2: 'z')",
        "--category url",
        "--ignore url --ignore 'b c'",
    ),
    "no head": ("1,2,3\n0,1,2\n", "must name the columns", "--no-header"),
    "no label": ("y,qid,a\n1,1,1\n0,1,2\n", "Name the column of labels, such as with --label y"),
    "nameless column": (",label,qid,a\n0,1,1,1\n1,0,1,2\n", "leave it out with --ignore ''"),
}
BAD = {f"txt {name}": (".txt", *case) for name, case in SVMLIGHT.items()}
BAD |= {f"csv {name}": (".csv", text.encode(), *said) for name, (text, *said) in TABLES.items()}


@pytest.mark.parametrize("name", BAD)
def test_rows(tmp_path: Path, monkeypatch, refused, name: str) -> None:
    ending, data, *said = BAD[name]
    monkeypatch.chdir(tmp_path)
    Path(f"bad{ending}").write_bytes(data)
    Path("m.json").write_text("precious")
    line = refused(f"train bad{ending} -o m.json")
    assert all(one in line for one in (f"bad{ending}", *said)), line
    assert Path("m.json").read_text() == "precious"
    assert sorted(os.listdir()) == [f"bad{ending}", "m.json"]


def test_the_advice_about_nameless_columns_works(folder: Path, ok) -> None:
    Path("p.csv").write_text(TABLES["nameless column"][0])
    ok("train p.csv -o m.json --ignore ''")


def test_cut_gzip(folder: Path, refused) -> None:
    Path("cut.txt.gz").write_bytes(gzip.compress(Path("train.txt").read_bytes())[:-20])
    assert "cut short" in refused("train cut.txt.gz -o m.json")


FILES = {
    "bare.txt": "1 1:1\n0 2:1\n",
    "v.txt": "0 qid:1 1:1\n0 qid:1 2:1\n",
    "n.txt": "-1 qid:1 1:1\n2 qid:1 1:2\n",
    "p.tsv": "0\t1\n0\t500\n",
    "q.tsv": "0\t1\nx\ty\n",
    "r.tsv": "0 1\n",
    "s.tsv": "",
    **{f"{w}.csv": f"label,w,a\n1,{w},1\n0,0,2\n" for w in ("-1", "0", "nan")},
}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (".", "directory"),
        ("none.txt", "no such file"),
        ("train.txt --valid none.txt", "no such file"),
        ("train.txt --valid bare.txt", "bare.txt: its rows have no query ids"),
        ("bare.txt --valid train.txt", "bare.txt: its rows have no query ids"),
        ("train.txt --valid v.txt", "v.txt: eval_set: ndcg@10 has no value"),
        ("n.txt -m err", "n.txt: err needs labels"),  # (before the training)
        ("train.txt --pairs-by row --pairs p.tsv", "p.tsv: pair 1 (from 0) names row 500"),
        ("train.txt --pairs-by row --pairs q.tsv", "row numbers"),
        ("train.txt --pairs-by row --pairs r.tsv", "winner TAB loser"),
        ("train.txt --pairs-by row --pairs s.tsv", "no pair"),
        ("train.txt --pairs-only", "--pairs-only needs --pairs"),
        ("./-1.csv --weight w", "negative"),
        ("./0.csv --weight w", "weight"),
        ("./nan.csv --weight w", "line"),
    ],
)
def test_files_that_do_not_go_together(folder: Path, refused, words: str, said: str) -> None:
    for name, text in FILES.items():
        Path(name).write_text(text)
    line = refused(f"train {words} -o m.json")
    assert said in line
    assert "--pairs-by" not in words or words.split()[-1] in line
    assert not Path("m.json").exists()


def _broken_models(good: Path) -> dict[str, tuple[bytes, str]]:
    data = good.read_bytes()
    newer = json.loads(data) | {"version": 99}
    return {
        "newer": (json.dumps(newer).encode(), "newer"),
        "pickle": (pickle.dumps({"model": 1}), "pickle"),
        "gzip": (gzip.compress(data), "gzip"),
        "empty": (b"", ""),
    }


def test_model_files(model: Path, refused) -> None:
    for name, (data, said) in _broken_models(model).items():
        Path("bad.json").write_bytes(data)
        line = refused("rank bad.json test.txt -o s.txt")
        assert "bad.json" in line, name
        assert said in line, name
    assert not Path("s.txt").exists()
    assert "no such file" in refused("rank none.json test.txt -o s.txt")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device is always full")
def test_full_disk(model: Path, refused) -> None:
    assert "no space left" in refused("rank model.json test.txt -o /dev/full")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_folder_and_model(model: Path, refused) -> None:
    Path("locked").mkdir(mode=0o500)
    assert "permission denied" in refused("train none.txt -o locked/m.json")
    model.chmod(0o400)
    assert "permission denied" in refused("train none.txt -o model.json")
