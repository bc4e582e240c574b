from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import crucial as package
from crucial.io.svmlight import read_svmlight


def test_scores_in_the_order_of_rows(folder: Path, model: Path, crucial) -> None:
    done = crucial("rank", model, folder / "test.txt", "-o", folder / "s.txt")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == ""
    data = read_svmlight(folder / "test.txt")
    expected = package.load_model(model).predict(data.X)
    assert np.loadtxt(folder / "s.txt").tolist() == expected.tolist()
    assert "wrote" in done.stderr
    assert "60 rows in 6 queries" in done.stderr


def test_standard_output_holds_scores_alone(folder: Path, model: Path, crucial) -> None:
    crucial("rank", model, folder / "test.txt", "-o", folder / "s.txt")
    done = crucial("rank", model, folder / "test.txt", "-o", "-")
    assert done.stdout == (folder / "s.txt").read_text()


def test_tsv_is_ranked_by_query(folder: Path, model: Path, crucial) -> None:
    done = crucial("rank", model, folder / "test.txt", "-o", "-", "--format", "tsv")
    head, *lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert head == ["qid", "item", "score", "rank"]
    assert len(lines) == 60
    by_query: dict[str, list[tuple[float, int]]] = {}
    for qid, _, score, rank in lines:
        by_query.setdefault(qid, []).append((float(score), int(rank)))
    assert list(by_query) == [f"q{n}" for n in range(6)]
    for ranked in by_query.values():
        scores = [score for score, _ in ranked]
        assert scores == sorted(scores, reverse=True)
        assert [rank for _, rank in ranked] == [
            1 + sum(other > score for other in scores) for score in scores
        ]


def test_trec_run(folder: Path, model: Path, crucial) -> None:
    done = crucial("rank", model, folder / "test.txt", "-o", folder / "x.run",
                   "--format", "trec", "--tag", "mine")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    lines = [line.split() for line in (folder / "x.run").read_text().splitlines()]
    assert {(line[1], line[5]) for line in lines} == {("Q0", "mine")}
    assert [int(line[3]) for line in lines] == list(range(1, 11)) * 6
    assert {line[2] for line in lines} == {f"d{row}" for row in range(60)}
    scores = np.array([float(line[4]) for line in lines]).reshape(6, 10)
    assert (np.diff(scores) <= 0).all()


def test_items_without_name_are_called_by_row(
    folder: Path, model: Path, crucial, small_problem, svmlight_lines
) -> None:
    (folder / "t.txt").write_text(svmlight_lines(*small_problem(1, 5), names=False))
    done = crucial("rank", model, folder / "t.txt", "-o", "-", "-f", "trec")
    assert {line.split()[2] for line in done.stdout.splitlines()} == set(map(str, range(1, 11)))


def test_fewer_trailing_features_are_zero(
    folder: Path, model: Path, crucial, small_problem, svmlight_lines
) -> None:
    X, y, qid = small_problem(2, 5)
    (folder / "t.txt").write_text(svmlight_lines(X[:, :2], y, qid))
    words = ["rank", model, folder / "t.txt", "-o", "-", "--missing-features", "allow"]
    done = crucial(*words)
    assert done.exit_code == 0, done.stderr
    filled = np.column_stack([X[:, :2], np.zeros((20, 2))])
    expected = package.load_model(model).predict(filled)
    assert [float(line) for line in done.stdout.splitlines()] == expected.tolist()


def test_absent_is_read_as_in_training(
    folder: Path, crucial, small_problem, svmlight_lines
) -> None:
    crucial("train", folder / "train.txt", "-o", folder / "m.json", "--absent", "missing",
            "--rounds", 20)  # fmt: skip
    X, y, qid = small_problem(2, 5)
    (folder / "t.txt").write_text(svmlight_lines(X[:, :2], y, qid))
    done = crucial("rank", folder / "m.json", folder / "t.txt", "-o", "-")
    assert "read as missing (--absent missing)" in done.stderr
    filled = np.column_stack([X[:, :2], np.full((20, 2), np.nan)])
    expected = package.load_model(folder / "m.json").predict(filled)
    assert [float(line) for line in done.stdout.splitlines()] == expected.tolist()
    # What is typed wins over what the model remembers.
    done = crucial("rank", folder / "m.json", folder / "t.txt", "-o", "-", "--absent", "zero")
    assert "read as 0 (--absent zero)" in done.stderr


def test_index_base_is_that_of_training(
    folder: Path, crucial, small_problem, svmlight_lines
) -> None:
    """A test file that never mentions feature 0 still counts from 0."""
    X, y, qid = small_problem(6, 1)
    (folder / "zero.txt").write_text(svmlight_lines(X, y, qid, base=0))
    crucial("train", folder / "zero.txt", "-o", folder / "m.json", "--rounds", 20)
    X[:, 0] = 0.0
    (folder / "t.txt").write_text(svmlight_lines(X, y, qid, base=0))
    words = ["rank", folder / "m.json", folder / "t.txt", "-o", "-"]
    done = crucial(*words, "--missing-features", "allow")
    expected = package.load_model(folder / "m.json").predict(X)
    assert [float(line) for line in done.stdout.splitlines()] == expected.tolist()
    assert "feature indices begin at 0" in done.stderr


def test_unknown_features_are_named(
    folder: Path, model: Path, crucial, small_problem, svmlight_lines, error_line
) -> None:
    X, y, qid = small_problem(2, 5)
    (folder / "t.txt").write_text(svmlight_lines(np.column_stack([X, X]), y, qid))
    said = error_line(crucial("rank", model, folder / "t.txt", "-o", "-"))
    assert "t.txt, line 1, column" in said
    assert "5" in said


@pytest.fixture
def csv_model(folder: Path, crucial) -> Path:
    done = crucial("train", folder / "train.csv", "--label", "grade", "--qid", "query",
                   "--item", "url", "-o", folder / "csv.json", "--rounds", 20)  # fmt: skip
    assert done.exit_code == 0, done.stderr
    return folder / "csv.json"


def test_columns_are_found_by_name(folder: Path, csv_model: Path, crucial) -> None:
    """Another order, no label, and a column more."""
    lines = [line.split(",") for line in (folder / "test.csv").read_text().splitlines()]
    order = [6, 5, 4, 3, 1, 0]
    (folder / "t.csv").write_text(
        "".join(",".join([line[j] for j in order] + ["word"]) + "\n" for line in lines)
    )
    straight = crucial("rank", csv_model, folder / "test.csv", "-o", "-", "-f", "tsv")
    turned = crucial("rank", csv_model, folder / "t.csv", "-o", "-", "-f", "tsv")
    assert straight.exit_code == 0, straight.stderr
    assert turned.stdout == straight.stdout


def test_missing_columns_are_named(folder: Path, csv_model: Path, crucial, error_line) -> None:
    text = (folder / "test.csv").read_text().replace("clicks", "klicks", 1)
    (folder / "t.csv").write_text(text)
    said = error_line(crucial("rank", csv_model, folder / "t.csv", "-o", "-"))
    assert "there is no column 'clicks'" in said


def test_numbers_are_no_names(folder: Path, csv_model: Path, crucial, error_line) -> None:
    said = error_line(crucial("rank", csv_model, folder / "test.txt", "-o", "-"))
    assert "test.txt: " in said
    assert "those of the model have names: 'bm25', 'clicks', 'age', 'length'" in said


def test_names_with_spaces_fit_no_run(folder: Path, csv_model: Path, crucial, error_line) -> None:
    text = (folder / "test.csv").read_text().replace("d7,", "d 7,", 1)
    (folder / "t.csv").write_text(text)
    said = error_line(crucial("rank", csv_model, folder / "t.csv", "-o", "-", "-f", "trec"))
    assert "'d 7'" in said
    assert crucial("rank", csv_model, folder / "t.csv", "-o", "-", "-f", "tsv").exit_code == 0


def test_options_of_the_other_kind_of_file(folder: Path, model: Path, crucial, error_line) -> None:
    said = error_line(crucial("rank", model, folder / "test.txt", "-o", "-", "--item", "url"))
    assert "--item is for a table with named columns" in said
    said = error_line(crucial("rank", model, folder / "test.csv", "-o", "-", "--absent", "zero"))
    assert "--absent is for svmlight" in said


def test_old_output_stays_when_ranking_fails(
    folder: Path, model: Path, crucial, error_line
) -> None:
    (folder / "s.txt").write_text("precious")
    (folder / "bad.txt").write_text("1 qid:1 1:2\n0 1:3\n")
    error_line(crucial("rank", model, folder / "bad.txt", "-o", folder / "s.txt"))
    assert (folder / "s.txt").read_text() == "precious"
    assert "would overwrite" in error_line(crucial("rank", model, folder / "test.txt", "-o", model))


def test_model_of_the_library(folder: Path, crucial, small_problem) -> None:
    """It remembers no file: the defaults hold."""
    X, y, qid = small_problem(12, 0)
    package.RankBoost(10).fit(X, y, qid=qid).save(folder / "m.json")
    done = crucial("rank", folder / "m.json", folder / "test.txt", "-o", "-")
    assert done.exit_code == 0, done.stderr
    assert len(done.stdout.splitlines()) == 60


def test_a_model_file_cannot_make_readers_misbehave(folder: Path, crucial) -> None:
    """What a model file says about data is taken only where it is one of the choices."""
    from dataclasses import replace

    crucial("train", folder / "train.txt", "-o", folder / "m.json", "--rounds", 3)
    model = package.load_model(folder / "m.json")
    odd = {"form": "svmlight", "absent": ["zero"], "index_base": True, "group_sizes": "/etc/x"}
    for data in (odd, "svmlight", {"form": 3}):
        package.save_model(replace(model, training={"data": data}), folder / "odd.json")
        done = crucial("rank", folder / "odd.json", folder / "test.txt", "-o", "-")
        assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize("format", ["tsv", "trec"])
def test_rows_without_queries_are_scored_and_not_ordered(
    folder: Path, csv_model: Path, crucial, error_line, format: str
) -> None:
    lines = (line.partition(",")[2] for line in (folder / "test.csv").open())
    (folder / "one.csv").write_text("".join(lines))
    words = ["rank", csv_model, folder / "one.csv", "--qid", "qid", "-o", "-"]
    whole = crucial("rank", csv_model, folder / "test.csv", "-o", "-").stdout
    assert crucial(*words).stdout == whole
    line = error_line(crucial(*words, "-f", format))
    assert "its rows have no query ids, and the model was trained with queries" in line
    assert "--qid" in line
