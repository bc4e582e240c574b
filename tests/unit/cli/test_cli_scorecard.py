"""``crucial scorecard``: the card in files, points of rows, and what is refused."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

TYPED = "scorecard loans.json loans.csv --low-is-good"


@pytest.fixture
def loans(model: Path, ok) -> str:
    """loans.csv and loans.json beside the files of `folder`; label 1 marks a default."""
    random = np.random.default_rng(0)
    lines = ["default,income,town,since"]
    for _ in range(250):
        income, town = random.integers(1, 99), random.choice(["Ulm", "Kiel", "Jena"])
        bad = int(income + 30 * (town == "Ulm") + random.normal() * 30 < 50)
        cell = "" if random.random() < 0.1 else str(income)
        lines.append(f"{bad},{cell},{town},2021-{random.integers(1, 13):02}-11")
    Path("loans.csv").write_text("\n".join(lines) + "\n")
    ok("train loans.csv --label default -o loans.json --set n_estimators=40")
    return Path("loans.csv").read_text()


def test_the_card_is_printed_and_written(ok, loans: str) -> None:
    shown = ok(TYPED).stdout
    for said in ("good (label 0", "missing (abstains)", "Ulm"):
        assert said in shown
    for ending in ("html", "csv", "sql", "json"):
        assert "by points" in ok(f"{TYPED} -o card.{ending} --title Loans").stdout
    assert "<h1>Loans</h1>" in Path("card.html").read_text()
    assert Path("card.sql").read_text().startswith("SELECT")
    card = json.loads(Path("card.json").read_text())
    table = list(csv.DictReader(Path("card.csv").read_text().splitlines()))
    assert sum(len(one["bins"]) for one in card["features"]) + 1 == len(table)
    points = [str(part["points"]) for part in card["features"][0]["bins"]]
    assert [one["points"] for one in table if one["code"] == "R1"] == points


def test_points_and_reasons_of_rows(ok, loans: str) -> None:
    ok(f"{TYPED} -o card.json --scores points.csv --reasons 2 --against neutral")
    rows = list(csv.DictReader(Path("points.csv").read_text().splitlines()))
    assert len(rows) == 250
    assert rows[0]["row"] == "1"
    assert "code_2" in rows[0]
    assert "code_3" not in rows[0]
    bands = json.loads(Path("card.json").read_text())["bands"]
    assert min(int(one["points"]) for one in rows) == bands[0]["low"]


def test_what_is_refused(refused, loans: str) -> None:
    Path("flipped.csv").write_text(loans.replace("\n0,", "\n2,").replace("\n1,", "\n0,"))
    Path("one.csv").write_text(loans.splitlines()[0] + "\n1,3,Ulm,2021-01-11\n1,4,Ulm,2021-01-11")
    Path("graded.csv").write_text(loans.replace("\n0,1", "\n3,1"))
    for words, said in (
        ("loans.json loans.csv -o card", "must end in one of"),
        ("loans.json loans.csv --scores loans.csv", "would overwrite"),
        ("loans.json loans.csv --scores -", "name it"),
        ("loans.json flipped.csv", "lower label first"),
        ("loans.json one.csv", "one label only"),
        ("loans.json graded.csv", "--good-from"),
        ("model.json test.txt", "without qid"),  # (a model that was trained with queries)
    ):
        assert said in refused(f"scorecard {words}")
