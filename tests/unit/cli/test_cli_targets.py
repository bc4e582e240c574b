"""No verb writes over what it reads, or two results into one file."""

import os

import pytest

READ = "would overwrite a file that is read"
TWICE = "would be written twice"


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
        ("train a.txt --valid b.txt --group-sizes g.query -o b.txt.query", READ),
        ("train a.txt -o x.json --trace x.json", TWICE),
        ("train a.txt --dask --resume m.json -o m.json", READ),
        ("pairs p.csv -o x.out --report x.out", TWICE),
    ],
)
def test_nothing_is_lost(crucial, here, words, problem):
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    result = crucial(*words.split())
    assert result.exit_code == 2
    assert problem in result.stderr
    assert result.stderr.count("\n") == 1
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


@pytest.mark.parametrize(
    "words",
    [
        ["train", "a.txt", "-o", ""],
        ["train", "a.txt", "-o", "x.json", "--trace", ""],
        ["evaluate", "m.json", "a.txt", "--json", "-o", ""],
        ["rank", "m.json", "", "-o", "x"],
        ["prefer", "p.csv", "--answers", "", "--no-open"],
    ],
)
def test_an_empty_name_is_an_unset_variable(crucial, here, words):
    result = crucial(*words)
    assert result.exit_code == 2
    assert "the name of the file is empty" in result.stderr
    assert not (here / "x.json").exists()


@pytest.mark.parametrize(
    "words", ["train a.txt -o new/", "report m.json a.txt -o new/", "export m.json --to c -o new/"]
)
def test_a_name_with_a_slash_at_its_end_is_a_folder(crucial, here, words):
    result = crucial(*words.split())
    assert result.exit_code == 2
    assert "new/: cannot be written: this is a directory" in result.stderr
    assert not (here / "new").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["fuse", "a.run", "b.run", "--method", "rrf", "--tag", "\udcff"],
        ["export", "m.json", "--to", "sql", "--name", "\udcff", "-o", "x"],
        ["rank", "m.json", "a.txt", "-f", "trec", "--tag", "\udcff"],
    ],
)
def test_bytes_that_are_no_text_are_no_names(crucial, here, words):
    result = crucial(*words)
    assert result.exit_code == 2
    assert "is not text in the encoding of this terminal" in result.stderr


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"q1": {"\\ud800": 1, "b": 2}}', "has half of a surrogate pair"),
        ('{"q1": ["\\ud800", "b"]}', "has half of a surrogate pair"),
        ('{"q1": {"a": 1, "a": 2}}', "it has the key 'a' twice"),
        ('{"q1": {"a": 1}, "q1": {"b": 2}}', "it has the key 'q1' twice"),
    ],
)
def test_runs_that_readers_would_disagree_on(crucial, here, text, problem):
    (here / "x.json").write_text(text)
    result = crucial("fuse", "x.json", "x.json", "--method", "rrf", "-o", "-")
    assert result.exit_code == 2
    assert result.stderr.startswith("crucial: error: x.json: ")
    assert problem in result.stderr


def test_items_of_odd_kinds(crucial, here):
    (here / "i.jsonl").write_text('{"item": "\\ud800"}\n{"item": "ok"}\n')
    assert "half of a surrogate pair" in crucial("prefer", "i.jsonl", "--no-open").stderr
    os.mkfifo(here / "f.png")
    (here / "i.csv").write_text("item,image\na,f.png\nb,f.png\n")
    assert "must be a file of at most" in crucial("prefer", "i.csv", "--no-open").stderr
    (here / "j.csv").write_text("item\na\nb\n")
    answers = crucial("prefer", "j.csv", "--answers", "f.png", "--no-open")
    assert "f.png: this is a pipe or a device" in answers.stderr


def test_exports_of_answers_leave_them_as_they_are(crucial, here):
    (here / "j.csv").write_text("item\ntea\nmilk\n")
    lines = (
        '{"crucial": "answers", "version": 1}\n'
        '{"n": 1, "left": "tea", "right": "milk", "answer": "left", "at": "x"}'
    )
    (here / "k.jsonl").write_text(lines)
    result = crucial("prefer", "j.csv", "--answers", "k.jsonl", "--export", "-")
    assert result.exit_code == 0
    assert "tea,milk" in result.stdout.replace("model_a", "")
    assert (here / "k.jsonl").read_text() == lines
    for more in ("\n// my notes\n", "\n" + lines.splitlines()[1].replace("milk", "tea") + "\n"):
        (here / "k.jsonl").write_text(lines + more)
        result = crucial("prefer", "j.csv", "--answers", "k.jsonl", "--export", "-")
        assert "k.jsonl, line 3: this is not an answer" in result.stderr
        assert (here / "k.jsonl").read_text() == lines + more
