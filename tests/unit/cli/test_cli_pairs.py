"""``crucial pairs`` and the parts of ``crucial prefer`` that need no browser."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from crucial.cli.terminal import REFUSED
from crucial.io.comparisons import read_comparisons
from crucial.model.file import load_model
from crucial.preferences import PreferenceSession


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """judged.csv of journey D and answers.csv, the features of its items."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 2)).round(3)
    s = 2 * X[:, 0]
    lines = ["prompt,winner,loser,judge,weight"]
    for row in range(300):
        a, b = rng.choice(20, 2, replace=False)
        if rng.random() > 1 / (1 + np.exp(s[b] - s[a])):
            a, b = b, a
        lines.append(f"p{row % 40},a{a},a{b},j{row % 3},{rng.integers(1, 3)}")
    (tmp_path / "judged.csv").write_text("\n".join(lines) + "\n")
    rows = "".join(f"a{k},{x},{y}\n" for k, (x, y) in enumerate(X.tolist()))
    (tmp_path / "answers.csv").write_text("item,depth,length\n" + rows)
    return tmp_path


def test_a_leaderboard(crucial, judged: Path) -> None:
    out = judged / "board.csv"
    said = crucial("pairs", judged / "judged.csv", "-o", out, "--top", 5)
    assert said.exit_code == 0, said.stderr
    assert "300 comparisons of 20 items by 3 judges" in said.stdout
    assert "the comparisons connect all items" in said.stdout
    assert "triples run in circles" in said.stdout
    assert "and 15 more (--top)" in said.stdout
    assert "reliability" in said.stdout
    rows = list(csv.DictReader(out.open()))
    assert [int(row["rank"]) for row in rows] == sorted(int(row["rank"]) for row in rows)
    assert len(rows) == 20
    assert float(rows[0]["low"]) < float(rows[0]["strength"]) < float(rows[0]["high"])
    alone = crucial("pairs", judged / "judged.csv", "-o", "-")
    assert list(csv.DictReader(io.StringIO(alone.stdout))) == rows


def test_an_arena_file_and_its_page(crucial, judged: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [
        f"m{a},m{b},{('model_a', 'model_b', 'tie (bothbad)')[rng.integers(3)]},"
        f"{('en', 'fr')[k % 2]},{rng.normal():.2f}"
        for k, (a, b) in enumerate(rng.permuted(np.tile(np.arange(6), (80, 1)), axis=1)[:, :2])
    ]
    path, page = judged / "battles.csv", judged / "board.html"
    path.write_text("\n".join(["model_a,model_b,winner,language,length_diff", *rows]) + "\n")
    said = crucial("pairs", path, "--scale", "elo", "--by", "language", "--covariate", "position",
                   "--covariate", "length_diff", "--report", page, "--title", "Six")  # fmt: skip
    assert said.exit_code == 0, said.stderr
    assert "'model_a' against 'model_b'; column 'winner' names the side that won" in said.stderr
    assert "400 points are odds of 10 to 1" in said.stdout
    assert "covariate length_diff:" in said.stdout
    assert "the item shown first won" in said.stdout
    assert "by category" in said.stdout
    assert "…" not in said.stdout
    assert "<title>Six</title>" in page.read_text()


@pytest.mark.parametrize("width", [60, 80, 200])
def test_numbers_are_never_cut(judged: Path, width: int) -> None:
    """Long names give way to numbers, whatever the width."""
    from rich.console import Console

    from crucial.cli.pairs import print_leaderboard
    from crucial.preferences import leaderboard

    text = (judged / "judged.csv").read_text().replace("a1,", f"{'long name ' * 9},")
    (judged / "long.csv").write_text(text)
    data = read_comparisons(judged / "long.csv")
    board = leaderboard(data)
    screen = Console(file=io.StringIO(), width=width, force_terminal=False)
    print_leaderboard(screen, board, data, 50)
    shown = screen.file.getvalue()
    if width >= 80:
        for one in board.standings:
            assert f"{board.points(one.low)} to {board.points(one.high)}" in shown
            assert f"{one.wins:g}-{one.losses:g}-{one.ties:g}" in shown


def test_independent_contexts(crucial, judged: Path) -> None:
    said = crucial("pairs", judged / "judged.csv", "--independent", "context",
                   "--context", "prompt")  # fmt: skip
    assert said.exit_code == 0
    none = crucial("pairs", judged / "judged.csv", "--independent", "context")
    assert none.exit_code == REFUSED
    assert "judged.csv: the data have no column of contexts" in none.stderr


def test_features_make_a_model_for_unseen_items(crucial, judged: Path) -> None:
    model = judged / "m.json"
    said = crucial("pairs", judged / "judged.csv", "--no-intervals", "--features",
                   judged / "answers.csv", "--model", model, "--rounds", 30)  # fmt: skip
    assert said.exit_code == 0, said.stderr
    assert "what drives wins" in said.stdout
    assert "held out come out right" in said.stdout
    assert load_model(model).feature_names == ("depth", "length")
    ranked = crucial("rank", model, judged / "answers.csv", "-f", "tsv", "-o", "-")
    assert ranked.exit_code == 0, ranked.stderr
    assert "a23" in ranked.stdout


def test_rankings_and_their_consensus(crucial, tmp_path: Path) -> None:
    path = tmp_path / "drinks.soc"
    path.write_text(
        "# DATA TYPE: soc\n# NUMBER ALTERNATIVES: 3\n# ALTERNATIVE NAME 1: tea\n"
        "# ALTERNATIVE NAME 2: milk\n# ALTERNATIVE NAME 3: wine\n4: 1,2,3\n2: 3,1,2\n1: 2,1,3\n"
    )
    said = crucial("pairs", path, "--consensus")
    assert said.exit_code == 0, said.stderr
    assert "7 rankings of 3 items" in said.stdout
    assert "   1  tea\n   2  milk\n   3  wine\n" in said.stdout
    assert "no ranking has less" in said.stdout
    assert "Mallows: theta" in said.stdout
    quick = crucial("pairs", path, "--consensus", "--no-intervals", "--consensus-method", "greedy")
    assert quick.exit_code == 0, quick.stderr
    assert "   1  tea\n   2  milk\n   3  wine\n" in quick.stdout
    alone = crucial("pairs", path, "--consensus-method", "greedy")
    assert "--consensus-method needs --consensus" in alone.stderr
    refused = crucial("pairs", path, "--features", path)
    assert "--features is of comparisons; these are rankings" in refused.stderr


def test_parts_are_shown_apart(crucial, tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("a\tb\nb\ta\nx\ty\n")
    said = crucial("pairs", path)
    assert "part 1 of 2: 2 items" in said.stdout
    assert "cannot be compared" in said.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("pairs", "none.csv"), "none.csv: cannot be read: no such file"),
        (("pairs", "judged.csv", "--model", "m.json"), "--model needs --features"),
        (("pairs", "judged.csv", "--features", "answers.csv", "--model", "-"), "to a file"),
        (("pairs", "judged.csv", "--report", "-"), "a page is written to a file"),
        (("pairs", "judged.csv", "--title", "x"), "--title needs --report"),
        (("pairs", "judged.csv", "--left", "winner"), "--left and --right go together"),
        (("pairs", "judged.csv", "--by", "kind"), "there is no column 'kind'"),
        (("pairs", "judged.csv", "--covariate", "position"), "who was shown first is not known"),
        (("pairs", "judged.csv", "--covariate", "judge"), "the covariate must be a number"),
        (("pairs", "judged.csv", "-o", "judged.csv"), "would overwrite a file that is read"),
        (("pairs", "judged.csv", "--seed", "1"), "--seed needs --features"),
        (("pairs", "judged.csv", "--judge", "who"), "there is no column 'who'"),
        (("pairs", "judged.csv", "--features", "judged.csv"), "no column 'item'"),
        (("pairs", "answers.csv"), "there is no column 'winner'"),
        (("prefer", "none.csv"), "none.csv: cannot be read: no such file"),
        (("prefer", "judged.csv"), "is already the item of line"),
        (("prefer", "answers.csv", "--answers", "answers.csv"), "would overwrite"),
        (("prefer", "answers.csv", "--answers", "judged.csv"), "this is not a file of answers"),
        (("prefer", "answers.csv", "--export", "x.csv"), "there are no answers yet"),
        (("prefer", "answers.csv", "--image", "photo"), "there is no column 'photo'"),
        (("prefer", "answers.csv", "--top", "0"), "'--top': 0 is not in the range"),
        (("prefer", "answers.csv", "--port", "99999"), "'--port': 99999 is not in the range"),
    ],
)
def test_refusals(crucial, judged: Path, monkeypatch, words, said) -> None:
    monkeypatch.chdir(judged)
    before = {path.name: path.read_bytes() for path in judged.iterdir()}
    result = crucial(*words)
    assert result.exit_code == REFUSED
    assert said in result.stderr
    assert result.stderr.startswith("crucial: error: ")
    assert result.stderr.count("\n") == 1
    assert {path.name: path.read_bytes() for path in judged.iterdir()} == before


def test_answers_are_exported(crucial, judged: Path, monkeypatch) -> None:
    monkeypatch.chdir(judged)
    with PreferenceSession([f"a{k}" for k in range(24)], "answers.answers.jsonl") as session:
        for word in ("left", "right", "skip", "tie"):
            session.answer(word)
    with open("answers.answers.jsonl", "ab") as file:
        file.write(b'{"n": 5')
    said = crucial("prefer", "answers.csv", "--export", "out.csv", "--judge", "ann")
    assert said.exit_code == 0, said.stderr
    assert "an answer was cut short when it was written, and is left out" in said.stderr
    read = read_comparisons("out.csv")
    assert (len(read), read.judges, int(read.tie.sum())) == (3, ("ann",), 1)
    assert crucial("pairs", "out.csv").exit_code == 0
    assert crucial("prefer", "answers.csv", "--export", "-").stdout.startswith("winner,loser")


def test_blind_needs_something_to_show(crucial, tmp_path: Path) -> None:
    items = tmp_path / "names.txt"
    items.write_text("tea\nmilk\n")
    result = crucial("prefer", items, "--blind", "--no-open")
    assert result.exit_code == REFUSED
    assert "names are hidden, and nothing else of 'tea' can be shown" in result.stderr
    assert result.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["names.txt"]
