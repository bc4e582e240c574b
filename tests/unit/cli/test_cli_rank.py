"""``crucial rank``: scores, tables and runs, and rows read as in training."""

from pathlib import Path

import numpy as np
import pytest

import crucial as package

from .conftest import make_problem, write_rows

TYPED = "rank model.json test.txt -o"


def numbers(text: str) -> list[float]:
    return [float(line) for line in text.splitlines()]


def test_scores_in_the_order_of_rows(model: Path, ok) -> None:
    done = ok(f"{TYPED} s.txt")
    assert done.stdout == ""
    expected = package.load_model(model).predict(package.read_svmlight("test.txt").X)
    assert numbers(Path("s.txt").read_text()) == expected.tolist()
    assert ok(f"{TYPED} -").stdout == Path("s.txt").read_text()


def test_tsv_is_ranked_by_query(model: Path, ok) -> None:
    head, *lines = [line.split("\t") for line in ok(f"{TYPED} - --format tsv").stdout.splitlines()]
    assert head == ["qid", "item", "score", "rank"]
    assert len(lines) == 60
    by_query: dict[str, list[tuple[float, int]]] = {}
    for qid, _, score, rank in lines:
        by_query.setdefault(qid, []).append((float(score), int(rank)))
    assert list(by_query) == [f"q{n}" for n in range(6)]
    for ranked in by_query.values():
        scores = [score for score, _ in ranked]
        assert scores == sorted(scores, reverse=True)
        expected = [1 + sum(other > score for other in scores) for score in scores]
        assert [rank for _, rank in ranked] == expected


def test_trec_run(model: Path, ok) -> None:
    ok(f"{TYPED} x.run --format trec --tag mine")
    lines = [line.split() for line in Path("x.run").read_text().splitlines()]
    assert {(line[1], line[5]) for line in lines} == {("Q0", "mine")}
    assert [int(line[3]) for line in lines] == list(range(1, 11)) * 6
    assert {line[2] for line in lines} == {f"d{row}" for row in range(60)}
    scores = np.array([float(line[4]) for line in lines]).reshape(6, 10)
    assert (np.diff(scores) <= 0).all()
    write_rows("t.txt", *make_problem(1, 5), names=False)  # (called by their rows)
    done = ok("rank model.json t.txt -o - -f trec")
    assert {line.split()[2] for line in done.stdout.splitlines()} == set(map(str, range(1, 11)))


def test_absent_is_read_as_in_training(folder: Path, ok) -> None:
    ok("train train.txt -o m.json --absent missing --rounds 20")
    X, y, qid = make_problem(2, 5)
    write_rows("t.txt", X[:, :2], y, qid)
    done = ok("rank m.json t.txt -o -")
    assert "read as missing (--absent missing)" in done.stderr
    filled = np.column_stack([X[:, :2], np.full((20, 2), np.nan)])
    assert numbers(done.stdout) == package.load_model("m.json").predict(filled).tolist()
    # What is typed wins over what the model remembers.
    done = ok("rank m.json t.txt -o - --absent zero")
    assert "read as 0 (--absent zero)" in done.stderr


def test_index_base_is_that_of_training(folder: Path, ok) -> None:
    """A test file that never mentions feature 0 still counts from 0."""
    X, y, qid = make_problem(6, 1)
    write_rows("zero.txt", X, y, qid, base=0)
    ok("train zero.txt -o m.json --rounds 20")
    X[:, 0] = 0.0
    write_rows("t.txt", X, y, qid, base=0)
    done = ok("rank m.json t.txt -o - --missing-features allow")
    assert numbers(done.stdout) == package.load_model("m.json").predict(X).tolist()
    assert "feature indices begin at 0" in done.stderr


def test_unknown_features_are_named(model: Path, refused) -> None:
    X, y, qid = make_problem(2, 5)
    write_rows("t.txt", np.column_stack([X, X]), y, qid)
    said = refused("rank model.json t.txt -o -")
    assert "t.txt, line 1, column" in said
    assert "5" in said


def test_columns_are_found_by_name(table_model: Path, ok) -> None:
    """Another order, no label, and a column more."""
    lines = [line.split(",") for line in Path("test.csv").read_text().splitlines()]
    turned = [",".join([line[j] for j in (6, 5, 4, 3, 1, 0)] + ["word"]) for line in lines]
    Path("t.csv").write_text("\n".join(turned))
    straight = ok("rank table.json test.csv -o - -f tsv").stdout
    assert ok("rank table.json t.csv -o - -f tsv").stdout == straight


def test_names_with_spaces_fit_no_run(table_model: Path, ok, refused) -> None:
    Path("t.csv").write_text(Path("test.csv").read_text().replace("d7,", "d 7,", 1))
    assert "'d 7'" in refused("rank table.json t.csv -o - -f trec")
    ok("rank table.json t.csv -o - -f tsv")


def test_options_of_the_other_kind_of_file(model: Path, refused) -> None:
    assert "--item is for a table with named columns" in refused(f"{TYPED} - --item url")
    assert "--absent is for svmlight" in refused("rank model.json test.csv -o - --absent zero")


def test_old_output_stays_when_ranking_fails(model: Path, refused) -> None:
    Path("s.txt").write_text("precious")
    Path("bad.txt").write_text("1 qid:1 1:2\n0 1:3\n")
    refused("rank model.json bad.txt -o s.txt")
    assert Path("s.txt").read_text() == "precious"
    assert "would overwrite" in refused(f"{TYPED} model.json")


def test_model_of_the_library(folder: Path, ok) -> None:
    """It remembers no file: the defaults hold."""
    X, y, qid = make_problem(12, 0)
    package.RankBoost(10).fit(X, y, qid=qid).save("model.json")
    assert len(ok(f"{TYPED} -").stdout.splitlines()) == 60


@pytest.mark.parametrize("format", ["tsv", "trec"])
def test_rows_without_queries_are_scored_and_not_ordered(
    table_model: Path, ok, refused, format: str
) -> None:
    lines = Path("test.csv").read_text().splitlines()
    Path("one.csv").write_text("\n".join(line.partition(",")[2] for line in lines))
    words = "rank table.json one.csv --qid qid -o -"
    assert ok(words).stdout == ok("rank table.json test.csv -o -").stdout
    line = refused(f"{words} -f {format}")
    assert "its rows have no query ids, and the model was trained with queries" in line
    assert "--qid" in line
