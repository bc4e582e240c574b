"""``crucial pairs`` and the parts of ``crucial prefer`` that need no browser."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from crucial.io.comparisons import read_comparisons
from crucial.model.file import load_model
from crucial.preferences import PreferenceSession


@pytest.fixture
def judged(tmp_path: Path, monkeypatch) -> Path:
    """The current folder: judged.csv of journey D and answers.csv, the features of its items."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 2)).round(3)
    s = 2 * X[:, 0]
    lines = ["prompt,winner,loser,judge,weight"]
    for row in range(300):
        a, b = rng.choice(20, 2, replace=False)
        if rng.random() > 1 / (1 + np.exp(s[b] - s[a])):
            a, b = b, a
        lines.append(f"p{row % 40},a{a},a{b},j{row % 3},{rng.integers(1, 3)}")
    Path("judged.csv").write_text("\n".join(lines) + "\n")
    rows = "".join(f"a{k},{x},{y}\n" for k, (x, y) in enumerate(X.tolist()))
    Path("answers.csv").write_text("item,depth,length\n" + rows)
    return tmp_path


def test_a_leaderboard(ok, judged: Path) -> None:
    ok("pairs judged.csv -o board.csv")
    text = Path("board.csv").read_text()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [int(row["rank"]) for row in rows] == sorted(int(row["rank"]) for row in rows)
    assert len(rows) == 20
    assert float(rows[0]["low"]) < float(rows[0]["strength"]) < float(rows[0]["high"])
    alone = ok("pairs judged.csv -o -").stdout
    assert list(csv.DictReader(io.StringIO(alone))) == rows


def test_an_arena_file_and_its_page(ok, judged: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [
        f"m{a},m{b},{('model_a', 'model_b', 'tie (bothbad)')[rng.integers(3)]},"
        f"{('en', 'fr')[k % 2]},{rng.normal():.2f}"
        for k, (a, b) in enumerate(rng.permuted(np.tile(np.arange(6), (80, 1)), axis=1)[:, :2])
    ]
    head = "model_a,model_b,winner,language,length_diff"
    Path("battles.csv").write_text("\n".join([head, *rows]) + "\n")
    said = ok("pairs battles.csv --scale elo --by language --covariate position --covariate "
              "length_diff --report board.html --title Six")  # fmt: skip
    assert "'model_a' against 'model_b'; column 'winner' names the side that won" in said.stderr
    assert "covariate length_diff:" in said.stdout
    assert "the item shown first won" in said.stdout
    assert "…" not in said.stdout
    assert "<title>Six</title>" in Path("board.html").read_text()


def test_independent_contexts(ok, refused, judged: Path) -> None:
    words = "pairs judged.csv --independent context"
    ok(f"{words} --context prompt")
    assert "judged.csv: the data have no column of contexts" in refused(words)


def test_features_make_a_model_for_unseen_items(ok, judged: Path) -> None:
    said = ok("pairs judged.csv --no-intervals --features answers.csv --model m --rounds 30")
    assert "held out come out right" in said.stdout
    assert load_model("m").feature_names == ("depth", "length")
    assert "a23" in ok("rank m answers.csv -f tsv -o -").stdout


def test_rankings_and_their_consensus(ok, refused, judged: Path) -> None:
    names = "".join(
        f"# ALTERNATIVE NAME {k}: {n}\n" for k, n in ((1, "tea"), (2, "milk"), (3, "wine"))
    )
    head = f"# DATA TYPE: soc\n# NUMBER ALTERNATIVES: 3\n{names}"
    Path("drinks.soc").write_text(f"{head}4: 1,2,3\n2: 3,1,2\n1: 2,1,3\n")
    said = ok("pairs drinks.soc --consensus").stdout
    assert "   1  tea\n   2  milk\n   3  wine\n" in said
    assert "Mallows: theta" in said
    greedy = "pairs drinks.soc --consensus-method greedy"
    said = ok(f"{greedy} --consensus --no-intervals").stdout
    assert "   1  tea\n   2  milk\n   3  wine\n" in said
    assert "--consensus-method needs --consensus" in refused(greedy)
    said = refused("pairs drinks.soc --features drinks.soc")
    assert "--features is of comparisons; these are rankings" in said


def test_parts_are_shown_apart(ok, judged: Path) -> None:
    Path("x.tsv").write_text("a\tb\nb\ta\nx\ty\n")
    said = ok("pairs x.tsv").stdout
    assert "part 1 of 2: 2 items" in said
    assert "cannot be compared" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("pairs none.csv", "none.csv: cannot be read: no such file"),
        ("pairs judged.csv --model m.json", "--model needs --features"),
        ("pairs judged.csv --features answers.csv --model -", "to a file"),
        ("pairs judged.csv --report -", "a page is written to a file"),
        ("pairs judged.csv --title x", "--title needs --report"),
        ("pairs judged.csv --left winner", "--left and --right go together"),
        ("pairs judged.csv --by kind", "there is no column 'kind'"),
        ("pairs judged.csv --covariate position", "who was shown first is not known"),
        ("pairs judged.csv --covariate judge", "the covariate must be a number"),
        ("pairs judged.csv -o judged.csv", "would overwrite a file that is read"),
        ("pairs judged.csv --seed 1", "--seed needs --features"),
        ("pairs judged.csv --judge who", "there is no column 'who'"),
        ("pairs judged.csv --features judged.csv", "no column 'item'"),
        ("prefer none.csv", "none.csv: cannot be read: no such file"),
        ("prefer judged.csv", "is already the item of line"),
        ("prefer answers.csv --answers answers.csv", "would overwrite"),
        ("prefer answers.csv --answers judged.csv", "this is not a file of answers"),
        ("prefer answers.csv --export x.csv", "there are no answers yet"),
        ("prefer answers.csv --image photo", "there is no column 'photo'"),
        ("prefer answers.csv --top 0", "'--top': 0 is not in the range"),
        ("prefer answers.csv --port 99999", "'--port': 99999 is not in the range"),
        ("prefer names.txt --blind --no-open", "nothing else of 'tea' can be shown"),
    ],
)
def test_refusals(refused, judged: Path, words, said) -> None:
    Path("names.txt").write_text("tea\nmilk\n")
    before = {path.name: path.read_bytes() for path in judged.iterdir()}
    assert said in refused(words)
    assert {path.name: path.read_bytes() for path in judged.iterdir()} == before


def test_answers_are_exported(ok, judged: Path) -> None:
    with PreferenceSession([f"a{k}" for k in range(24)], "answers.answers.jsonl") as session:
        for word in ("left", "right", "skip", "tie"):
            session.answer(word)
    with open("answers.answers.jsonl", "ab") as file:
        file.write(b'{"n": 5')
    said = ok("prefer answers.csv --export out.csv --judge ann")
    assert "an answer was cut short when it was written, and is left out" in said.stderr
    read = read_comparisons("out.csv")
    assert (len(read), read.judges, int(read.tie.sum())) == (3, ("ann",), 1)
    ok("pairs out.csv")
    assert ok("prefer answers.csv --export -").stdout.startswith("winner,loser")
