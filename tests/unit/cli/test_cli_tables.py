"""Tables as other programs write them, through the command line."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from crucial.model.file import load_model

from .conftest import make_problem

ALLOW = "--missing-features allow"


@pytest.fixture
def here(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows_of(seed: int) -> list[list[str]]:
    X, y, qid = make_problem(6, seed)
    return [
        [f"Stück {q}", str(label), *map(str, values)]
        for q, label, values in zip(qid.tolist(), y.tolist(), X.tolist())
    ]


def text_of(rows: list[list[str]], sep: str = ",") -> str:
    return "".join(sep.join(row) + "\n" for row in rows)


def scores_of(name: str = "s") -> list[float]:
    return np.loadtxt(name).tolist()


def test_words_for_missing_values_are_kept_in_the_model(here: Path, ok) -> None:
    rows = ["label,a,b", *(f"{i % 2},{i % 3 if i % 4 else -99},{i}.5" for i in range(12))]
    Path("x.csv").write_text("\n".join(rows))
    ok("train x.csv --missing -99 --rounds 3 -o m.json")
    ok("rank m.json x.csv -o s")
    X = np.array([[i % 3 if i % 4 else np.nan, i + 0.5] for i in range(12)])
    assert scores_of() == load_model("m.json").predict(X).tolist()


def test_features_that_are_0_everywhere(here: Path, ok, refused) -> None:
    """Where training left zeros out, rows may too, unless most of the features never occur."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (200, 6))
    y = (X[:, 0] + X[:, 1] + rng.random(200) > 1.2).astype(int)

    def write(name: str) -> None:
        rows = [[str(label), *(f"{j + 1}:1" for j in np.flatnonzero(x))] for x, label in zip(X, y)]
        Path(name).write_text(text_of(rows, " "))

    write("a.txt")
    ok("train a.txt --rounds 20 -o m.json")
    X[:, 2] = 0
    write("b.txt")
    ok("rank m.json b.txt -o s")
    X[:, :5], X[0, 5] = 0, 1
    write("b.txt")
    assert "5 of the model's 6 features never occur" in refused("rank m.json b.txt -o s")


SHOPS = ("corner", "market", "online")


def write_shops(name: str, rows: list[list[str]]) -> None:
    Path(name).write_text(text_of([["qid", "label", "shop", "since", "x"], *rows]))


def shop_rows(seed: int) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    shops, days = rng.choice(SHOPS, 120), rng.integers(1, 28, 120)
    x = rng.normal(size=120).round(3)
    labels = (shops == "market") + (x + 0.1 * days > 1.5)
    return [
        [f"q{k // 10}", str(int(labels[k])), shops[k], f"2024-03-{days[k]:02}", str(x[k])]
        for k in range(120)
    ]


def test_texts_and_dates_from_training_to_the_reasons_for_a_ranking(here, ok, refused) -> None:
    for seed, name in enumerate(("train", "valid", "test")):
        write_shops(f"{name}.csv", shop_rows(seed))
    done = ok("train train.csv --valid valid.csv --rounds 40 -o m.json")
    assert "categories, with how many there are: shop (3)" in done.output
    assert "dates and times, as numbers: since (days since 1970-01-01)" in done.output
    model = load_model("m.json")
    assert set(model.encodings.categories[0]) == set(SHOPS)
    found = json.loads(ok("evaluate m.json test.csv -m ndcg@10 --json").stdout)
    assert found["measures"][0]["value"] > 0.9
    few = [["a", "0", "kiosk", "2024-03-05", "1"], ["a", "1", "7", "", "0"]]
    write_shops("few.csv", few)
    ok("rank m.json few.csv -o s")
    expected = model.predict([[np.nan, 19787, 1], [np.nan, np.nan, 0]])
    assert scores_of() == expected.tolist()
    assert "missing, or a new category" in ok("show m.json").output
    ok("report m.json test.csv -o r.html")
    assert '"x":["market","2024-03-' in Path("r.html").read_text().replace(" ", "")
    write_shops("few.csv", [[*row[:4], "high"] for row in few])
    line = refused("rank m.json few.csv -o s")
    assert "few.csv" in line
    assert "'x'" in line


def write_odd(name: str, sep: str, decimal: str = ".", encoding: str = "utf-8") -> str:
    """Write the same rows with a letter in a name that Latin-1 has not."""
    rows = [["label", "qid", "url", "wagą", "b", "c", "d"]]
    for number, (qid, label, *values) in enumerate(rows_of(0)):
        rows.append([label, qid, f"d{number}", *(one.replace(".", decimal) for one in values)])
    Path(name).write_bytes(text_of(rows, sep).replace("ü", "u").encode(encoding))
    return name


ODD = "--item url --rounds 5 -o"


def test_every_verb_reads_text_as_training_did(here: Path, ok) -> None:
    """Separator, decimal sign and encoding, in a file whose name says nothing."""
    write_odd("odd.txt", "^", ",", "cp1250")
    write_odd("plain.csv", ",")
    ok(f"train odd.txt --sep ^ --decimal , --encoding cp1250 {ODD} odd.json")
    ok(f"train plain.csv {ODD} plain.json")
    stored = load_model("odd.json").training["data"]
    assert (stored["sep"], stored["decimal"], stored["encoding"]) == ("^", ",", "cp1250")
    assert not {"sep", "decimal", "encoding"} & set(load_model("plain.json").training["data"])
    for verb, rest in (("rank", "-o -"), ("evaluate", "-m map"), ("why", "d0 d1")):
        found = ok(f"{verb} odd.json odd.txt {rest}").stdout.replace("odd.txt", "plain.csv")
        expected = ok(f"{verb} plain.json plain.csv {rest}").stdout
        assert found.replace("odd.", "plain.").split() == expected.split()
    ok("report odd.json odd.txt -o page.html")
    Path("copy.json").write_bytes(Path("odd.json").read_bytes())
    ok("compare odd.txt odd.json copy.json")
    ok("export odd.json --to python --data odd.txt -o x.py")


def test_other_files_than_those_of_training_are_read_as_they_are(here: Path, ok, refused) -> None:
    train = write_odd("train.csv", "^", ".", "cp1250")
    ok(f"train {train} --sep ^ --encoding cp1250 {ODD} m.json")
    expected = ok(f"rank m.json {train} -o -").stdout
    assert len(expected.splitlines()) == 60
    frame = pd.read_csv(write_odd("comma.csv", ","))
    frame.to_parquet("rows.parquet")
    frame.to_json("rows.jsonl", orient="records", lines=True, force_ascii=False)
    for name in (
        "comma.csv", "rows.parquet", "rows.jsonl", write_odd("tab.txt", "\t"),
        write_odd("semicolon.csv", ";", ","), write_odd("both.csv", ",", ".", "cp1250"),
        write_odd("wide.csv", "^", ".", "utf-16"), write_odd("marked.csv", "^", ".", "utf-8-sig"),
    ):  # fmt: skip
        assert ok(f"rank m.json {name} -o -").stdout == expected, name
    # What is typed wins over what the model remembers.
    bar = Path(write_odd("^.csv", "|", ".", "iso8859-2"))
    bar.write_bytes(bar.read_bytes().replace(b"|c|", b"|^|", 1))
    words = f"rank m.json ^.csv -o - {ALLOW}"
    line = refused(words)
    assert "It was read as in training, with --sep '^' --encoding cp1250; give other" in line
    ok(f"{words} --sep | --encoding iso8859-2")
    # svmlight has none of these.
    Path("rows.txt").write_text("1 qid:1 1:0.5 2:1\n0 qid:1 1:0.25 2:2\n")
    assert "its features have numbers, as svmlight lines do" in refused("rank m.json rows.txt -o -")


def test_what_a_model_file_says_about_its_data_is_checked(folder: Path, model: Path, ok) -> None:
    """It is taken only where it is one of the choices."""
    plain = write_odd("plain.csv", ",")
    ok(f"train {plain} {ODD} odd.json")
    of_text = [{"sep": 3}, {"sep": "ab"}, {"decimal": "x"}, {"encoding": "none"}, {"missing": 1}]
    odd = {"form": "svmlight", "absent": ["zero"], "index_base": True, "group_sizes": "/etc/x"}
    cases = [("odd.json", plain, {"form": "table", **one}) for one in of_text]
    cases += [("model.json", "test.txt", one) for one in (odd, "svmlight", {"form": 3})]
    for name, rows, data in cases:
        replace(load_model(name), training={"data": data}).save("changed.json")
        ok(f"rank changed.json {rows} -o -")


def test_an_arena_file_with_objects_in_its_lines(here: Path, ok, refused) -> None:
    rows = [
        {"model_a": a, "model_b": b, "winner": won, "is_code": k % 2 == 0,
         "meta": {"tokens_a": 9 + k % 5, "tokens_b": 4 + k % 3}, "tag": {"math": k % 3 == 0}}
        for k, (a, b, won) in enumerate(
            [("x", "y", "model_a"), ("y", "z", "tie (bothbad)"), ("z", "x", "model_b"),
             ("y", "x", "model_a"), ("z", "y", "model_a")] * 6)
    ]  # fmt: skip
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = "--covariate length=meta.tokens_a-meta.tokens_b --covariate position"
    shown = ok(f"pairs a.jsonl --by tag.math --by is_code {asked} --report b.html").stdout
    assert shown.index("covariate length:") < shown.index("covariate position:")
    table = shown[shown.index("by tag.math, is_code") :].splitlines()
    names = ["tag.math: false", "tag.math: true", "is_code: false", "is_code: true"]
    assert [line.partition("  ")[0] for line in table[3:7]] == names
    assert all(name in Path("b.html").read_text() for name in names)
    proposed = ok("pairs a.jsonl --next 2 -o -").stdout.splitlines()
    assert proposed[0] == "first,second,compared,chance,information"
    assert len(proposed) == 3
    assert "the 2 most informative next comparisons" in ok("pairs a.jsonl --next 2").stdout
    assert "--by is of a leaderboard" in refused("pairs a.jsonl --next 2 --by is_code")


def test_excel_files_are_rows_of_every_verb(here: Path, ok, refused) -> None:
    pytest.importorskip("openpyxl")
    rows = pd.DataFrame(rows_of(0), columns=["qid", "label", "a", "b", "c", "d"])
    rows[["label", "a", "b", "c", "d"]] = rows[["label", "a", "b", "c", "d"]].astype(float)
    rows.to_csv("t.csv", index=False)
    rows.to_excel("t.xlsx", index=False)
    for kind in ("csv", "xlsx"):
        ok(f"train t.{kind} --rounds 5 -o {kind}.json")
        ok(f"rank {kind}.json t.{kind} -o {kind}.txt")
        ok(f"evaluate {kind}.json t.{kind}")
    assert scores_of("xlsx.txt") == scores_of("csv.txt")
    assert "MODEL comes before DATA" in refused("evaluate t.xlsx csv.json")
