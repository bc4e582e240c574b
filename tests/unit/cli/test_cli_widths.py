"""Numbers are never cut: the tables of every verb in narrow terminals and in a pipe."""

import io
import re
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from crucial.cli.terminal import PLAIN_WIDTH, TextTable, label_column, number_column
from crucial.data.problems import make_film_club
from crucial.io.runs import Qrels, Run, write_qrels, write_run

WIDTHS = (40, 60, 80, PLAIN_WIDTH)
LONG = "a-system-with-a-name-that-no-terminal-has-room-for"


def text_of(printed: object, width: int) -> str:
    screen = Console(file=io.StringIO(), width=width, markup=False, highlight=False, emoji=False)
    screen.print(printed)
    return "".join(f"{line.rstrip()}\n" for line in screen.file.getvalue().splitlines())


def numbers(text: str) -> set[str]:
    return set(re.findall(r"[+-]?\d[\d,]*\.\d+%?|\d+%|\d+/\d+/\d+", text))


@pytest.fixture
def long_names(folder: Path) -> None:
    """The files of every verb, with long names where a name can be long."""
    random = np.random.default_rng(0)
    qid = np.array([f"q{k}" for k in np.repeat(np.arange(12), 6)], dtype=object)
    doc = np.array([f"d{k}" for k in np.tile(np.arange(6), 12)], dtype=object)
    grade = random.integers(0, 3, 72)
    write_qrels("qrels.txt", Qrels(qid, doc, grade))
    for name, amount in (("base", 3.0), (LONG, 0.3)):
        scores = grade + amount * random.normal(size=72)
        write_run(f"{name}.run", Run(qid, doc, scores, name))
    lines = ["winner,loser,judge"]
    for row in range(60):
        a, b = sorted(random.choice(6, 2, replace=False))
        a, b = (b, a) if random.random() < 0.3 else (a, b)
        lines.append(f"{LONG}-{a},{LONG}-{b},{LONG}-{row % 2}")
    Path("pairs.csv").write_text("\n".join(lines) + "\n")
    club = make_film_club(20, 60, 40)
    lines = ["user,item,rating"]
    lines += [f"0,{item},{stars}" for item, stars in zip(club.item[:30], club.y)]
    for row, viewer in np.argwhere(~np.isnan(club.X)):
        lines.append(f"{viewer + 1},{club.item[row]},{club.X[row, viewer]:g}")
    Path("ratings.csv").write_text("\n".join(lines) + "\n")


VERBS = (
    "train train.txt --valid valid.txt --rounds 5 -o new.json",
    "evaluate model.json test.txt -m ndcg@10 -m map -m auc --intervals --worst 3",
    f"compare qrels.txt base.run {LONG}.run -m ndcg@10 -m map",
    "experiment train.txt --rankers random,best-feature --folds 3",
    f"fuse base.run {LONG}.run --qrels qrels.txt -o f.json --holdout 0.3 --folds 2 --rounds 5",
    "pairs pairs.csv",
    "recommend ratings.csv --user 0 --top 4 --reasons 2 --min-raters 1",
    "show model.json",
    "why model.json test.txt d1 d2",
    "list",
    "list measures",
    "list rankers",
    "list rankers rankboost",
    "list presets",
)


@pytest.mark.parametrize("words", VERBS, ids=lambda words: " ".join(words.split()[:3]))
def test_no_verb_cuts_a_number(long_names, model: Path, ok, monkeypatch, words) -> None:
    printed: list[object] = []
    whole = Console.print

    def also_kept(self: Console, *objects: object, **options: object) -> None:
        printed.extend(objects)
        whole(self, *objects, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Console, "print", also_kept)
        ok(words)
    assert printed
    for one in printed:
        wide = numbers(text_of(one, 2000))
        for width in WIDTHS:
            narrow = text_of(one, width)
            assert wide <= numbers(narrow), (width, narrow)
            assert "…" not in narrow
            assert max(map(len, narrow.splitlines()), default=0) <= width


def test_a_table_turns_on_its_side_where_it_must() -> None:
    shown = TextTable(label_column("system", 30), *(number_column(f"ndcg@{k}") for k in (1, 5, 10)))
    shown.add_row(LONG, "0.123456", "0.234567", "")
    wide = text_of(shown, 80).splitlines()
    assert wide[0].split() == ["system", "ndcg@1", "ndcg@5", "ndcg@10"]
    assert [line.split()[0] for line in wide[2:]] == [LONG[:30], LONG[30:]]
    assert text_of(shown, 40).splitlines() == [
        "system", LONG[:40], LONG[40:], "  ndcg@1  0.123456", "  ndcg@5  0.234567"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "width"), [("60", 60), ("80", 80), ("", PLAIN_WIDTH), ("wide", PLAIN_WIDTH)]
)
def test_a_pipe_is_as_wide_as_columns_says(long_names, ok, monkeypatch, columns, width) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    lines = ok("pairs pairs.csv").stdout.splitlines()
    assert width - 20 < max(len(line.rstrip()) for line in lines) <= width
