"""``crucial scorecard``: the card on the screen and in files, and what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

LINES = ["default,income,town,since"]


@pytest.fixture
def loans(tmp_path: Path, crucial) -> Path:
    """A folder with train.csv, test.csv and model.json; label 1 marks a default."""
    random = np.random.default_rng(0)
    here = tmp_path / "loans"
    here.mkdir()
    for name in ("train", "test"):
        lines = list(LINES)
        for _ in range(250):
            income, town = random.integers(1, 99), random.choice(["Ulm", "Kiel", "Jena"])
            bad = int(income + 30 * (town == "Ulm") + random.normal() * 30 < 50)
            cell = "" if random.random() < 0.1 else str(income)
            lines.append(f"{bad},{cell},{town},2021-{random.integers(1, 13):02}-11")
        (here / f"{name}.csv").write_text("\n".join(lines) + "\n")
    done = crucial("train", here / "train.csv", "--label", "default", "-o",
                   here / "model.json", "--set", "n_estimators=40")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    return here


def test_the_card_is_printed_and_written(crucial, loans: Path) -> None:
    words = ("scorecard", loans / "model.json", loans / "test.csv", "--low-is-good")
    shown = crucial(*words)
    assert shown.exit_code == 0, shown.stderr
    assert "good (label 0" in shown.stdout
    assert "missing (abstains)" in shown.stdout
    assert "Ulm" in shown.stdout
    for ending in ("html", "csv", "sql", "json"):
        done = crucial(*words, "-o", loans / f"card.{ending}", "--title", "Loans")
        assert done.exit_code == 0, done.stderr
        assert "by points" in done.stdout
    assert "<h1>Loans</h1>" in (loans / "card.html").read_text()
    assert (loans / "card.sql").read_text().startswith("SELECT")
    card = json.loads((loans / "card.json").read_text())
    table = list(csv.DictReader((loans / "card.csv").open()))
    assert sum(len(one["bins"]) for one in card["features"]) + 1 == len(table)
    assert [one["points"] for one in table if one["code"] == "R1"] == [
        str(part["points"]) for part in card["features"][0]["bins"]
    ]


def test_points_and_reasons_of_rows(crucial, loans: Path) -> None:
    words = ("scorecard", loans / "model.json", loans / "test.csv", "--low-is-good")
    done = crucial(*words, "-o", loans / "card.json", "--scores", loans / "points.csv",
                   "--reasons", 2, "--against", "neutral")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    rows = list(csv.DictReader((loans / "points.csv").open()))
    assert len(rows) == 250
    assert rows[0]["row"] == "1"
    assert "code_2" in rows[0]
    assert "code_3" not in rows[0]
    bands = json.loads((loans / "card.json").read_text())["bands"]
    assert min(int(one["points"]) for one in rows) == bands[0]["low"]


def test_what_is_refused(crucial, loans: Path, folder: Path, model: Path, error_line) -> None:
    of, on = loans / "model.json", loans / "test.csv"
    assert "must end in one of" in error_line(crucial("scorecard", of, on, "-o", loans / "card"))
    assert "would overwrite" in error_line(crucial("scorecard", of, on, "--scores", on))
    assert "name it" in error_line(crucial("scorecard", of, on, "--scores", "-"))
    flipped = (loans / "test.csv").read_text().replace("\n0,", "\n2,").replace("\n1,", "\n0,")
    (loans / "flipped.csv").write_text(flipped)
    assert "lower label first" in error_line(crucial("scorecard", of, loans / "flipped.csv"))
    (loans / "one.csv").write_text(
        "\n".join([LINES[0], "1,3,Ulm,2021-01-11", "1,4,Ulm,2021-01-11"])
    )
    assert "one label only" in error_line(crucial("scorecard", of, loans / "one.csv"))
    graded = (loans / "test.csv").read_text().replace("\n0,1", "\n3,1")
    (loans / "graded.csv").write_text(graded)
    assert "--good-from" in error_line(crucial("scorecard", of, loans / "graded.csv"))
    # This model was trained with queries.
    assert "without qid" in error_line(crucial("scorecard", model, folder / "test.txt"))
