from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import crucial as package
from crucial.io.svmlight import read_svmlight


@pytest.fixture
def expected(folder: Path, model: Path):
    data = read_svmlight(folder / "test.txt")
    scores = package.load_model(model).predict(data.X)
    return package.evaluate(data.y, scores, data.qid, ["ndcg@10", "map"], intervals=True)


def test_table_states_its_conventions(folder: Path, model: Path, crucial, expected) -> None:
    done = crucial("evaluate", model, folder / "test.txt", "-m", "ndcg@10", "-m", "map")
    assert done.exit_code == 0, done.stderr
    flat = " ".join(done.stdout.split())
    values = [f"{expected[name]:.4f}" for name in ("ndcg@10", "map")]
    for said in (
        "60 rows, 6 queries", "equal scores by expectation", "left out", "linear gain", *values,
    ):  # fmt: skip
        assert said in flat, said
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert "\x1b" not in done.stdout


def test_default_measure(folder: Path, model: Path, crucial) -> None:
    assert "ndcg@10" in crucial("evaluate", model, folder / "test.txt").stdout


def test_json(folder: Path, model: Path, crucial, expected) -> None:
    done = crucial("evaluate", model, folder / "test.txt", "-m", "ndcg@10", "-m", "map", "--json",
                   "--intervals", "--by-query")  # fmt: skip
    found = json.loads(done.stdout)
    assert found["level"] == 0.95
    first = found["measures"][0]
    assert first["value"] == expected["ndcg@10"]
    assert (first["low"], first["high"]) == expected.results["ndcg@10"].interval
    assert "linear gain" in first["description"]
    assert found["by_query"]["map"] == expected.per_query["map"].tolist()


def test_by_query_on_standard_output(folder: Path, model: Path, crucial, expected) -> None:
    done = crucial("evaluate", model, folder / "test.txt", "-m", "map", "--by-query")
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert lines[0] == ["qid", "map"]
    assert [float(value) for _, value in lines[1:]] == expected.per_query["map"].tolist()
    assert "average precision" in done.stderr  # the table stays in sight


def test_by_query_in_a_file(folder: Path, model: Path, crucial) -> None:
    done = crucial("evaluate", model, folder / "test.txt", "-m", "map", "--by-query",
                   "-o", folder / "q.tsv")  # fmt: skip
    assert (folder / "q.tsv").read_text().startswith("qid\tmap\nq0\t")
    assert "average precision" in done.stdout


def test_empty_queries_are_counted(folder: Path, model: Path, crucial) -> None:
    with (folder / "test.txt").open("a") as file:
        file.write("0 qid:z 1:1\n0 qid:z 1:2\n")
    words = ("evaluate", model, folder / "test.txt", "-m", "map", "--json", "--by-query")
    values = {}
    for empty in ("skip", "0", "1"):
        found = json.loads(crucial(*words, "--empty", empty).stdout)
        values[empty] = found["measures"][0]["value"]
        assert found["measures"][0]["empty"] == 1
        assert found["by_query"]["map"][-1] is None
    assert values["0"] == pytest.approx(values["skip"] * 6 / 7)
    assert values["1"] == pytest.approx((values["skip"] * 6 + 1) / 7)
    table = crucial("evaluate", model, folder / "test.txt", "-m", "map").stdout
    assert "left out of the mean" in table
    text = crucial("evaluate", model, folder / "test.txt", "-m", "map", "--by-query").stdout
    assert text.endswith("z\t\n")


def test_ties_as_in_trec_eval_use_the_names(folder: Path, model: Path, crucial) -> None:
    """Equal scores: the greater name comes first."""
    (folder / "t.txt").write_text("1 qid:a # x\n0 qid:a # y\n1 qid:b # y\n0 qid:b # x\n")
    words = ("evaluate", model, folder / "t.txt", "-m", "mrr", "--json", "--by-query",
             "--missing-features", "allow")  # fmt: skip
    trec = json.loads(crucial(*words, "--ties", "trec").stdout)
    assert trec["by_query"]["mrr"] == [0.5, 1.0]
    assert json.loads(crucial(*words).stdout)["by_query"]["mrr"] == [0.75, 0.75]


def test_worst_queries(folder: Path, model: Path, crucial, expected) -> None:
    done = crucial("evaluate", model, folder / "test.txt", "-m", "map", "--worst", 2)
    listed = done.stdout.split("queries with the worst map")[1].split("─\n")[1].split()
    order = np.argsort(expected.per_query["map"])[:2]
    assert listed[::2] == [f"q{q}" for q in order]


def test_queries_are_required_of_a_model_that_had_them(
    folder: Path, model: Path, crucial, error_line
) -> None:
    (folder / "t.txt").write_text("1 1:1\n0 2:1\n")
    said = error_line(crucial("evaluate", model, folder / "t.txt", "-m", "auc"))
    assert "the model was trained with queries" in said


def test_no_queries_at_all(folder: Path, crucial) -> None:
    rows = "\n".join(f"{i % 2} 1:{i % 3} 2:{i}" for i in range(30))
    (folder / "b.txt").write_text(rows + "\n")
    done = crucial("train", folder / "b.txt", "-o", folder / "m.json", "--rounds", 5)
    assert "none given: all rows are compared" in done.stdout
    done = crucial("evaluate", folder / "m.json", folder / "b.txt")
    assert done.exit_code == 0, done.stderr
    assert "auc" in done.stdout
    assert "30 rows; equal scores" in done.stdout
    assert not re.search(r"\bquer", done.stdout)
    done = crucial("evaluate", folder / "m.json", folder / "b.txt", "--intervals", "-m", "auc",
                   "-m", "p@5")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert "0.5644" in done.stdout
    assert "95% interval of auc: DeLong from rows" in done.stdout
    assert "95% interval of p@5: bootstrap over rows, label by label" in done.stdout
    assert "seed 0" in done.stdout
    assert not re.search(r"\bquer", done.stdout)


def test_labels_are_needed(folder: Path, crucial, error_line) -> None:
    crucial("train", folder / "train.csv", "--label", "grade", "--qid", "query", "--item", "url",
            "-o", folder / "m.json", "--rounds", 2)  # fmt: skip
    text = (folder / "test.csv").read_text().replace("grade", "label", 1)
    (folder / "t.csv").write_text(text)
    said = error_line(crucial("evaluate", folder / "m.json", folder / "t.csv"))
    assert "there is no column 'grade'" in said
    (folder / "u.csv").write_text(text.replace("label", "g", 1))
    said = error_line(crucial("evaluate", folder / "m.json", folder / "u.csv", "--label", "label"))
    assert "no labels to measure by" in said


def test_labels_below_0_are_measured_by_pairs(folder: Path, crucial) -> None:
    rows = "".join(f"{i % 2 * 2 - 1} qid:{i // 6} 1:{i % 3} 2:{i % 5}\n" for i in range(30))
    (folder / "s.txt").write_text(rows)
    words = (folder / "s.txt", "-o", folder / "m.json", "--rounds", 5)
    done = crucial("train", *words, "--early-stopping", 3)
    assert done.exit_code == 0, done.stderr
    assert "auc" in done.stdout
    assert "auc" in crucial("evaluate", folder / "m.json", folder / "s.txt").stdout


def test_weights_of_rows_count_for_measures_of_pairs(crucial, tmp_path) -> None:
    lines = [(int(7 * k % 20 > 9), k / 20, 1 + k % 5) for k in range(20)]
    rows = "".join(f"{y},{x},{w}\n" for y, x, w in lines)
    (tmp_path / "rows.csv").write_text(f"label,x,w\n{rows}")
    model = tmp_path / "m.json"
    trained = crucial("train", tmp_path / "rows.csv", "--weight", "w", "--rounds", "3", "-o", model)
    assert trained.exit_code == 0, trained.stderr
    plain = crucial("evaluate", model, tmp_path / "rows.csv", "-m", "auc")
    weighted = crucial("evaluate", model, tmp_path / "rows.csv", "-m", "auc", "--weight", "w")
    assert plain.exit_code == weighted.exit_code == 0, weighted.stderr
    assert plain.stdout != weighted.stdout
    lists = crucial("evaluate", model, tmp_path / "rows.csv", "-m", "map", "--weight", "w")
    assert lists.exit_code == 2
    assert "has no meaning for weights of rows" in lists.stderr
