"""No verb writes over what it reads, or two results into one file; odd names and odd files."""

import os
from pathlib import Path

import pytest

READ = "would overwrite a file that is read"
TWICE = "would be written twice"
EMPTY = "the name of the file is empty"
FOLDER = "new/: cannot be written: this is a directory"
NO_TEXT = "is not text in the encoding of this terminal"
PAIR = "has half of a surrogate pair"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with what the verbs below read; nothing of it is read before it is refused."""
    for name in ("a.txt", "b.txt", "b.txt.query", "g.query", "m.json", "names.json", "p.csv"):
        (tmp_path / name).write_text(f"what {name} has\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("experiment a.txt --rankers rankboost --save a.txt", READ),
        ("experiment a.txt --rankers rankboost --report a.txt", READ),
        ("experiment a.txt --rankers rankboost --save x.csv --report ./x.csv", TWICE),
        ("export m.json --to xgboost -o m.json", READ),
        ("export m.json --to c --data a.txt -o a.txt", READ),
        ("export m.json --to c --features names.json -o names.json", READ),
        ("train a.txt -o ./a.txt", READ),
        ("train a.txt -o x.json --trace ./a.txt", READ),
        ("train a.txt --valid b.txt --group-sizes g.query -o b.txt.query", READ),
        ("train a.txt -o x.json --trace x.json", TWICE),
        ("train a.txt --dask --resume m.json -o m.json", READ),
        ("pairs p.csv -o x.out --report x.out", TWICE),
        ("train none.txt -o no/m.json", "its folder does not exist"),
        ("train none.txt -o .", "this is a directory"),
        ("train none.txt -o -", "name it with -o"),
        ("train a.txt -o ''", EMPTY),
        ("train a.txt -o x.json --trace ''", EMPTY),
        ("evaluate m.json a.txt --json -o ''", EMPTY),
        ("rank m.json '' -o x", EMPTY),
        ("prefer p.csv --answers '' --no-open", EMPTY),
        ("train a.txt -o new/", FOLDER),
        ("report m.json a.txt -o new/", FOLDER),
        ("export m.json --to c -o new/", FOLDER),
        ("fuse a.run b.run --method rrf --tag \udcff", NO_TEXT),
        ("export m.json --to sql --name \udcff -o x", NO_TEXT),
        ("rank m.json a.txt -f trec --tag \udcff", NO_TEXT),
    ],
)
def test_nothing_is_lost(refused, here, words, problem):
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    assert problem in refused(words)
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"q1": {"\\ud800": 1, "b": 2}}', PAIR),
        ('{"q1": ["\\ud800", "b"]}', PAIR),
        ('{"q1": {"a": 1, "a": 2}}', "it has the key 'a' twice"),
        ('{"q1": {"a": 1}, "q1": {"b": 2}}', "it has the key 'q1' twice"),
    ],
)
def test_runs_that_readers_would_disagree_on(refused, here, text, problem):
    Path("x.json").write_text(text)
    said = refused("fuse x.json x.json --method rrf -o -")
    assert said.startswith("crucial: error: x.json: ")
    assert problem in said


def test_items_of_odd_kinds(refused, here):
    Path("i.jsonl").write_text('{"item": "\\ud800"}\n{"item": "ok"}\n')
    assert "half of a surrogate pair" in refused("prefer i.jsonl --no-open")
    os.mkfifo("f.png")
    Path("i.csv").write_text("item,image\na,f.png\nb,f.png\n")
    assert "must be a file of at most" in refused("prefer i.csv --no-open")
    Path("j.csv").write_text("item\na\nb\n")
    said = refused("prefer j.csv --answers f.png --no-open")
    assert "f.png: this is a pipe or a device" in said


def test_exports_of_answers_leave_them_as_they_are(ok, refused, here):
    Path("j.csv").write_text("item\ntea\nmilk\n")
    answer = '{"n": 1, "left": "tea", "right": "milk", "answer": "left", "at": "x"}'
    lines = f'{{"crucial": "answers", "version": 1}}\n{answer}'
    Path("k.jsonl").write_text(lines)
    words = "prefer j.csv --answers k.jsonl --export -"
    assert "tea,milk" in ok(words).stdout.replace("model_a", "")
    assert Path("k.jsonl").read_text() == lines
    for more in ("\n// my notes\n", "\n" + answer.replace("milk", "tea") + "\n"):
        Path("k.jsonl").write_text(lines + more)
        assert "k.jsonl, line 3: this is not an answer" in refused(words)
        assert Path("k.jsonl").read_text() == lines + more
