"""No verb writes over what it reads, or two results into one file."""

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
