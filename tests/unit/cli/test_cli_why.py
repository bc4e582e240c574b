"""``crucial why``: reasons add up to the margin, and items are found by name."""

import json
from pathlib import Path

import pytest

import crucial as package

TYPED = "why model.json test.txt"


@pytest.mark.parametrize("kind", ["stump", "tree"])
def test_reasons_add_up_to_the_margin(kind: str, model: Path, ok) -> None:
    if kind == "tree":
        ok("train train.txt -o model.json --weak tree --set min_rows=5 --rounds 10")
    found = json.loads(ok(f"{TYPED} d3 d5 --json").stdout)
    assert found["margin"] == found["a"]["score"] - found["b"]["score"]
    added = [one["adds"] for one in found["features"]]
    assert sum(added) == pytest.approx(found["margin"], abs=1e-9)
    assert [abs(part) for part in added] == sorted(map(abs, added), reverse=True)
    assert (found["a"]["item"], found["a"]["row"]) == ("d3", 4)
    data = package.read_svmlight("test.txt")
    assert found["b"]["score"] == package.load_model(model).predict(data.instances())[5]
    table = ok(f"{TYPED} d3 d5 -n 1").stdout
    side = "above" if found["margin"] > 0 else "below"
    assert f"ranks {side} d5" in table
    assert "other features" in table
    assert max(map(len, table.splitlines())) <= 100


def test_items_of_a_query_and_rows_without_names(model: Path, ok, refused) -> None:
    lines = [line.split(" #")[0] for line in Path("test.txt").read_text().splitlines()]
    Path("bare.txt").write_text("\n".join(lines) + "\n")
    Path("same.txt").write_text("".join(f"{line} # d{n % 10}\n" for n, line in enumerate(lines)))
    expected = json.loads(ok(f"{TYPED} d3 d5 --json").stdout)["features"]
    found = json.loads(ok("why model.json bare.txt 4 6 --json").stdout)
    assert found["features"] == expected
    assert found["a"]["item"] == "row 4"
    same = "why model.json same.txt d3 d5"
    assert json.loads(ok(f"{same} --query q0 --json").stdout)["features"] == expected
    assert "item 'd3' is in 6 rows. Name its query with --query" in refused(same)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("d3 d5 --query q77", "there is no query 'q77'"),
        ("d3 d5 --query q1", "there is no item 'd3' in query 'q1'"),
        ("d3 d33", "scores of different queries cannot be compared"),
        ("d3 d3x -n 0", "0 is not in the range"),
    ],
)
def test_items_that_are_not_there(model: Path, refused, words: str, said: str) -> None:
    assert said in refused(f"{TYPED} {words}")


def test_a_ranker_without_parts_is_refused(folder: Path, ok, refused) -> None:
    ok("train train.txt --ranker ranknet -o model.json")
    assert "kind='permutation'" in refused(f"{TYPED} d3 d5")


def test_categories_are_named(folder: Path, ok) -> None:
    rows = [f"q{n // 10},{'de' if n % 3 else 'en'},{n % 7},{int(n % 3 > 0)}" for n in range(80)]
    Path("d.csv").write_text("\n".join(["qid,lang,x,label", *rows]) + "\n")
    ok("train d.csv -o m.json --rounds 5")
    found = json.loads(ok("why m.json d.csv 2 1 --json").stdout)
    by_name = {one["name"]: one for one in found["features"]}
    assert (by_name["lang"]["a"], by_name["lang"]["b"]) == ("de", "en")
    assert "de" in ok("why m.json d.csv 2 1").stdout
