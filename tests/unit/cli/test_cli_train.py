from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import crucial as package


def test_summary_says_what_was_done(folder: Path, crucial) -> None:
    target = folder / "m.json"
    done = crucial(
        "train", folder / "train.txt", "--valid", folder / "valid.txt", "-o", target,
        "-m", "ndcg@5", "-m", "map", "--rounds", 40, "--learning-rate", 0.5,
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    for said in ("120 with 4 features", "12 used, 0 skipped", "pairs", "best ndcg@5 on",
                 "linear gain", "(12 queries)", "(6 queries)", "by round", "share of weight",
                 f"wrote {target}"):  # fmt: skip
        assert said in done.stdout.replace("\n", " "), said
    assert "decides the round to keep; training never stops early" in done.stderr
    assert "feature indices begin at 1" in done.stderr
    assert all(line.startswith("crucial: note: ") for line in done.stderr.splitlines())


def test_model_is_what_the_library_makes(folder: Path, crucial, small_problem) -> None:
    X, y, qid = small_problem(12, 0)
    ranker = package.RankBoost(
        25, 0.3, choice="largest_drop", step="exact", balance="queries", max_bins=20
    ).fit(X, y, qid=[f"q{one}" for one in qid])
    done = crucial(
        "train", folder / "train.txt", "-o", folder / "m.json", "--rounds", 25,
        "--learning-rate", 0.3, "--choice", "largest_drop", "--step", "exact",
        "--balance", "queries", "--max-bins", 20,
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    model = package.load_model(folder / "m.json")
    assert model.rankers == ranker.model_.rankers
    assert model.weights == ranker.model_.weights
    assert model.feature_names == ("1", "2", "3", "4")
    assert model.training["data"] == {
        "form": "svmlight", "absent": "zero", "index_base": 1, "complete": True,
    }  # fmt: skip
    assert model.training["with_qid"] is True


def test_same_command_same_bytes(folder: Path, crucial) -> None:
    for name in ("a.json", "b.json"):
        crucial("train", folder / "train.txt", "-o", folder / name, "--rounds", 10,
                "--subsample", 0.5, "--seed", 3)  # fmt: skip
    assert (folder / "a.json").read_bytes() == (folder / "b.json").read_bytes()


def test_options_reach_the_estimator(folder: Path, crucial) -> None:
    done = crucial(
        "train", folder / "train.txt", "-o", folder / "m.json", "--rounds", 5, "--positive",
        "--default-rank", 0, "--max-bins", "all", "--subsample", 0.7, "--seed", 9, "--jobs", 1,
        "--n-bags", 3,
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    parameters = package.load_model(folder / "m.json").training["parameters"]
    expected = {"n_estimators": 5, "positive_weights": "cumulative", "default_rank": 0,
                "max_bins": None, "subsample": 0.7, "random_state": 9, "n_bags": 3}  # fmt: skip
    assert {name: parameters[name] for name in expected} == expected


def test_preset_with_changes(folder: Path, crucial) -> None:
    done = crucial("train", folder / "train.txt", "-o", folder / "m.json",
                   "--preset", "rankboost.3.cum", "--rounds", 7,
                   "--valid", folder / "valid.txt")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    training = package.load_model(folder / "m.json").training
    assert training["parameters"]["learning_rate"] == 1.0
    assert training["parameters"]["positive_weights"] == "cumulative"
    assert training["parameters"]["early_stopping_rounds"] is None
    assert training["rounds"] == 7
    assert training["data"]["preset"] == "rankboost.3.cum"
    assert "never stops early" in done.stderr


def test_early_stopping_sets_queries_aside(folder: Path, crucial) -> None:
    done = crucial("train", folder / "train.txt", "-o", folder / "m.json",
                   "--early-stopping", 3, "--rounds", 200, "--learning-rate", 1)  # fmt: skip
    assert done.exit_code == 0, done.stderr
    training = package.load_model(folder / "m.json").training
    assert training["stopped"] == "early stopping"
    assert "held out" in done.stdout
    assert "10 used, 2 skipped" in done.stdout


def test_no_early_stopping_on_request(folder: Path, crucial) -> None:
    crucial("train", folder / "train.txt", "-o", folder / "m.json", "--early-stopping", 0,
            "--valid", folder / "valid.txt", "--rounds", 60)  # fmt: skip
    assert package.load_model(folder / "m.json").training["rounds"] == 60


def test_csv_with_named_columns(folder: Path, crucial) -> None:
    done = crucial("train", folder / "train.csv", "--valid", folder / "valid.csv",
                   "--label", "grade", "--qid", "query", "--item", "url",
                   "-o", folder / "m.json", "--rounds", 10)  # fmt: skip
    assert done.exit_code == 0, done.stderr
    model = package.load_model(folder / "m.json")
    assert model.feature_names == ("bm25", "clicks", "age", "length")
    assert model.training["data"] == {
        "form": "table", "label": "grade", "qid": "query", "item": "url",
    }  # fmt: skip
    assert "clicks" in done.stdout


def test_csv_weights_count(folder: Path, crucial) -> None:
    rows = "\n".join(f"{i % 2},{i % 3},{i},{i % 4}" for i in range(40))
    (folder / "w.csv").write_text(f"label,a,b,w\n{rows}\n")
    done = crucial("train", folder / "w.csv", "--weight", "w", "-o", folder / "m.json",
                   "--rounds", 5)  # fmt: skip
    assert done.exit_code == 0, done.stderr
    y, w = np.arange(40) % 2, np.arange(40) % 4
    X = np.column_stack([np.arange(40) % 3, np.arange(40)])
    same = package.RankBoost(5).fit(X, y, sample_weight=w)
    assert package.load_model(folder / "m.json").weights == same.model_.weights


def test_wider_valid_file_widens_the_model(
    folder: Path, crucial, small_problem, svmlight_lines
) -> None:
    X, y, qid = small_problem(6, 1)
    (folder / "wide.txt").write_text(svmlight_lines(np.column_stack([X, X[:, 0]]), y, qid))
    done = crucial("train", folder / "train.txt", "--valid", folder / "wide.txt",
                   "-o", folder / "m.json", "--rounds", 5)  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert package.load_model(folder / "m.json").n_features == 5


@pytest.mark.parametrize("zero_in", ["train", "valid"])
def test_index_0_in_either_file_is_the_first_feature_of_both(
    folder: Path, crucial, zero_in: str, small_problem, svmlight_lines
) -> None:
    other = {"train": "valid", "valid": "train"}[zero_in]
    for name, base in ((zero_in, 0), (other, 1)):
        X, y, qid = small_problem(6, 1)
        X = X[:, :3] if base else X
        (folder / f"{name}0.txt").write_text(svmlight_lines(X, y, qid, base))
    done = crucial("train", folder / "train0.txt", "--valid", folder / "valid0.txt",
                   "-o", folder / "m.json", "--rounds", 5)  # fmt: skip
    assert done.exit_code == 0, done.stderr
    model = package.load_model(folder / "m.json")
    assert model.feature_names == ("0", "1", "2", "3")
    assert model.training["data"]["index_base"] == 0


def test_group_sizes_of_both_files(
    folder: Path, crucial, error_line, small_problem, svmlight_lines
) -> None:
    for name, n_queries, seed in (("train", 12, 0), ("valid", 6, 1)):
        X, y, qid = small_problem(n_queries, seed)
        lines = svmlight_lines(X, y, qid).splitlines()
        bare = [" ".join(w for w in line.split() if not w.startswith("qid:")) for line in lines]
        (folder / f"{name}.bare").write_text("\n".join(bare) + "\n")
        (folder / f"{name}.bare.query").write_text("10\n" * n_queries)
    words = ("train", folder / "train.bare", "--group-sizes", folder / "train.bare.query",
             "--valid", folder / "valid.bare", "-o", folder / "m.json", "--rounds", 5)  # fmt: skip
    done = crucial(*words)
    assert done.exit_code == 0, done.stderr
    assert "12 used" in done.stdout
    (folder / "valid.bare.query").unlink()
    assert "put its group sizes into" in error_line(crucial(*words))
    hint = crucial("train", folder / "train.bare", "-o", folder / "m.json", "--rounds", 2)
    assert "pass it as --group-sizes" in hint.stderr


def test_trace_has_a_line_a_round(folder: Path, crucial) -> None:
    done = crucial("train", folder / "train.txt", "-o", folder / "m.json", "--rounds", 4,
                   "--valid", folder / "valid.txt", "--trace", folder / "t.tsv")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    lines = [line.split("\t") for line in (folder / "t.tsv").read_text().splitlines()]
    assert {"round", "feature", "threshold", "alpha", "loss", "ndcg@10"} <= set(lines[0])
    assert len(lines) == 5
    assert lines[1][lines[0].index("feature")] == "2"


def test_existing_model_stays_when_training_fails(
    folder: Path, model: Path, crucial, error_line
) -> None:
    before = model.read_bytes()
    (folder / "bad.txt").write_text("1 qid:1 1:2\n0 qid:1 1:oops\n")
    said = error_line(crucial("train", folder / "bad.txt", "-o", model))
    assert "bad.txt, line 2" in said
    assert model.read_bytes() == before
    assert not list(folder.glob(".crucial-*"))


def test_target_is_tried_before_the_data_are_read(folder: Path, crucial, error_line) -> None:
    said = error_line(crucial("train", folder / "absent.txt", "-o", folder / "no" / "m.json"))
    assert "its folder does not exist" in said
    said = error_line(crucial("train", folder / "absent.txt", "-o", folder))
    assert "this is a directory" in said
    said = error_line(crucial("train", folder / "absent.txt", "-o", "-"))
    assert "name it with -o" in said


@pytest.mark.parametrize("option", ["-o", "--trace"])
def test_never_writes_over_what_it_reads(folder: Path, crucial, option: str, error_line) -> None:
    before = (folder / "train.txt").read_bytes()
    words = ["train", folder / "train.txt", option, folder / "." / "train.txt"]
    words += [] if option == "-o" else ["-o", folder / "m.json"]
    assert "overwrite a file that is read" in error_line(crucial(*words))
    assert (folder / "train.txt").read_bytes() == before
    assert not (folder / "m.json").exists()


def test_features_without_use_are_noted(
    folder: Path, crucial, small_problem, svmlight_lines
) -> None:
    X, y, qid = small_problem(6, 1)
    X[:, 2] = 7.0
    (folder / "c.txt").write_text(svmlight_lines(X, y, qid))
    done = crucial("train", folder / "c.txt", "-o", folder / "m.json", "--rounds", 3)
    assert "1 feature is constant and is ignored: '3'" in done.stderr


def test_summary_is_json_the_model_can_hold(folder: Path, crucial) -> None:
    crucial("train", folder / "train.txt", "-o", folder / "m.json", "--rounds", 3, "-m", "map")
    assert json.loads((folder / "m.json").read_text())["model"]["training"]["pairs"] > 0


def test_pairs_by_row_and_by_item(folder: Path, crucial, small_problem) -> None:
    X, y, _ = small_problem(12, 0)
    pairs = [(a, b) for a, b in zip(range(0, 120, 3), range(1, 120, 3)) if y[a] > y[b]]
    same = package.RankBoost(10).fit_pairs(X, pairs)
    (folder / "rows.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairs))
    (folder / "items.tsv").write_text("".join(f"d{a}\td{b}\n" for a, b in pairs))
    for name, by in (("rows", "row"), ("items", "auto")):
        done = crucial("train", folder / "train.txt", "-o", folder / "m.json", "--rounds", 10,
                       "--pairs", folder / f"{name}.tsv", "--pairs-by", by,
                       "--pairs-only")  # fmt: skip
        assert done.exit_code == 0, done.stderr
        model = package.load_model(folder / "m.json")
        assert model.weights == same.model_.weights
        assert model.training["pairs"] == len(pairs)
        assert "queries  not used" in done.stdout
    done = crucial("train", folder / "train.txt", "-o", folder / "m.json", "--rounds", 10,
                   "--pairs", folder / "items.tsv")  # fmt: skip
    assert package.load_model(folder / "m.json").training["pairs"] > len(pairs)
    assert done.exit_code == 0, done.stderr
    assert "12 used, 0 skipped" in done.stdout
    said = crucial("train", folder / "train.txt", "-o", folder / "m.json",
                   "--pairs", folder / "rows.tsv").stderr  # fmt: skip
    assert "Use --pairs-by row" in said


def test_narrower_valid_file(folder: Path, crucial, small_problem, svmlight_lines) -> None:
    X, y, qid = small_problem(6, 1)
    (folder / "narrow.txt").write_text(svmlight_lines(X[:, :2], y, qid))
    done = crucial("train", folder / "train.txt", "--valid", folder / "narrow.txt",
                   "-o", folder / "m.json", "--rounds", 5)  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert package.load_model(folder / "m.json").n_features == 4


def test_parquet(folder: Path, crucial) -> None:
    from crucial.io.tables import read_table
    from crucial.io.writing import write_table

    pytest.importorskip("pyarrow")
    data = read_table(folder / "train.csv", label="grade", qid="query", item="url")
    write_table(folder / "train.parquet", data)
    done = crucial("train", folder / "train.parquet", "--item", "item", "-o", folder / "p.json",
                   "--rounds", 5)  # fmt: skip
    assert done.exit_code == 0, done.stderr
    crucial("train", folder / "train.csv", "--label", "grade", "--qid", "query", "--item", "url",
            "-o", folder / "c.json", "--rounds", 5)  # fmt: skip
    parquet, text = (package.load_model(folder / f"{name}.json") for name in "pc")
    assert parquet.weights == text.weights
    done = crucial("evaluate", folder / "p.json", folder / "train.parquet")
    assert done.exit_code == 0, done.stderr


def test_a_trace_that_cannot_be_written_leaves_the_model_alone(folder: Path, crucial) -> None:
    (folder / "m.json").write_text("old")
    done = crucial("train", folder / "train.txt", "-o", folder / "m.json", "--rounds", 2,
                   "--trace", "/dev/full")  # fmt: skip
    assert done.exit_code == 2
    assert (folder / "m.json").read_text() == "old"


def test_sparse_rows_stay_sparse_and_get_advice(folder: Path, crucial) -> None:
    far = 1_000_000
    rows = [f"{i % 2} qid:{i // 4} {1 + i % 3}:1.5 {far - i % 2}:2" for i in range(40)]
    (folder / "sparse.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")
    done = crucial("train", folder / "sparse.txt", "-o", folder / "m.json", "--rounds", 2)
    assert done.exit_code == 0, done.stderr
    assert "X is sparse: 80 of 40000000 cells are in the file" in done.stderr
    assert "--choice largest_drop --step exact mostly ranks" in done.stderr
    chosen = ("--choice", "largest_drop", "--step", "exact", "--rounds", 2)
    done = crucial("train", folder / "sparse.txt", "-o", folder / "m.json", *chosen)
    assert done.exit_code == 0, done.stderr
    assert "mostly ranks" not in done.stderr
    out = folder / "run.txt"
    ranked = crucial("rank", folder / "m.json", folder / "sparse.txt", "-o", out)
    assert ranked.exit_code == 0, ranked.stderr


def test_rows_in_no_pair_are_not_counted_as_features(folder: Path, crucial) -> None:
    text = (folder / "train.txt").read_text() + "1 qid:alone 1:0.5\n"
    (folder / "more.txt").write_text(text)
    done = crucial("train", folder / "more.txt", "-o", folder / "m.json", "--rounds", 2)
    assert "121 (1 in no pair) with 4 features" in done.stdout
