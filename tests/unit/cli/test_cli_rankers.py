"""Every ranker of the registry through the verbs: train, show, rank, evaluate."""

from __future__ import annotations

import inspect
import json
from dataclasses import fields
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pytest

import crucial as package
from crucial.cli.train import PARAMETER_OF_OPTION, EstimatorOptions, parse_setting
from crucial.parameters import parameters_of
from crucial.rankers.registry import RANKERS, ranker_class

# They compare all rows with all, so their file has no query ids.
WITHOUT_QUERIES = {
    "adaboost",
    "crank",
    "crank-forest",
    "logitboost",
    "ranking-forest",
    "rankover",
    "tournament-forest",
    "treerank",
    "treerank-aggregation",
    "treerank-tournament",
}


@pytest.fixture
def two_labels(tmp_path: Path, small_problem, svmlight_lines) -> Path:
    """A file of relevant and irrelevant rows, with queries and without."""
    X, y, qid = small_problem(8, 0)
    lines = svmlight_lines(X, (y > 0).astype(int), qid)
    (tmp_path / "queries.txt").write_text(lines)
    bare = [" ".join(w for w in one.split() if "qid:" not in w) for one in lines.splitlines()]
    (tmp_path / "bare.txt").write_text("\n".join(bare) + "\n")
    return tmp_path


def data_for(name: str, folder: Path) -> Path:
    return folder / ("bare.txt" if name in WITHOUT_QUERIES else "queries.txt")


@pytest.mark.parametrize("name", sorted(RANKERS))
def test_every_ranker_from_file_to_ranking(name: str, two_labels: Path, crucial) -> None:
    data, model = data_for(name, two_labels), two_labels / "m.json"
    words = ["train", data, "--ranker", name, "-o", model, "--valid", data, "-m", "map"]
    rounds = "eval_set" in inspect.signature(ranker_class(name).fit).parameters
    if "n_estimators" in parameters_of(ranker_class(name)):
        words += ["--rounds", 6]
    if rounds:
        words += ["--trace", two_labels / "t.tsv"]
    done = crucial(*words)
    assert done.exit_code == 0, done.stderr
    estimator = ranker_class(name).__name__
    assert f"{estimator} on {data}" in " ".join(done.stdout.split())
    assert "map" in done.stdout
    read = package.load_model(model)
    assert read.training["estimator"] == estimator
    n_rounds = getattr(read, "n_rounds", 0)  # (a tree has none)
    assert n_rounds > 0 or read.feature_importances().any()
    if rounds:
        assert len((two_labels / "t.tsv").read_text().splitlines()) > n_rounds
        assert "map by round" in done.stdout
    else:
        assert "is measured at the end" in done.stderr
    shown = crucial("show", model)
    assert shown.exit_code == 0, shown.stderr
    assert estimator in shown.stdout
    assert json.loads(crucial("show", model, "--json").stdout)["n_rounds"] == n_rounds
    ranked = crucial("rank", model, data, "-o", two_labels / "ranked.txt")
    assert ranked.exit_code == 0, ranked.stderr
    assert len((two_labels / "ranked.txt").read_text().splitlines()) >= 80
    found = crucial("evaluate", model, data, "-m", "auc")
    assert found.exit_code == 0, found.stderr
    assert "auc" in found.stdout


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", sorted(set(RANKERS) - WITHOUT_QUERIES))
def test_the_model_is_what_the_library_makes(name: str, two_labels: Path, crucial) -> None:
    data = package.read_data(two_labels / "queries.txt")
    made = ranker_class(name)()
    words = ["train", two_labels / "queries.txt", "--ranker", name, "-o", two_labels / "m.json"]
    if "n_estimators" in made.get_params():
        made.set_params(n_estimators=5)
        words += ["--rounds", 5]
    assert crucial(*words).exit_code == 0
    made.fit(data.X, data.y, qid=data.qid)
    model = package.load_model(two_labels / "m.json")
    if hasattr(model, "rankers"):
        assert model.weights == made.model_.weights
        assert model.rankers == made.model_.rankers
    else:
        assert model.predict(data.X).tobytes() == made.predict(data.X).tobytes()


def test_options_and_settings_reach_the_ranker(folder: Path, crucial) -> None:
    done = crucial(
        "train", folder / "train.txt", "-o", folder / "m.json", "--ranker", "pnorm-push",
        "--p", 8, "--rounds", 4, "--set", "learning_rate=0.5", "--set", "gain=linear",
        "--set", "max_bins=null", "--set", "record_risks=true", "--set", "verbose=0",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    parameters = package.load_model(folder / "m.json").training["parameters"]
    expected = {"p": 8.0, "learning_rate": 0.5, "gain": "linear", "max_bins": None,
                "record_risks": True, "n_estimators": 4}  # fmt: skip
    assert {name: parameters[name] for name in expected} == expected


def test_the_loss_of_trees(folder: Path, crucial) -> None:
    words = ["train", folder / "train.txt", "-o", folder / "m.json", "--loss", "xendcg"]
    done = crucial(*words, "--ranker", "gradient", "--rounds", 3, "--set", "max_leaves=4")
    assert done.exit_code == 0, done.stderr
    parameters = package.load_model(folder / "m.json").training["parameters"]
    assert (parameters["loss"], parameters["max_leaves"]) == ("xendcg", 4)
    refused = crucial(*words)
    assert refused.exit_code == 2
    assert "--loss: rankboost has no parameter 'loss' (" in refused.stderr


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("p=16", 16),
        ("p = 1.5", 1.5),
        ("search=optimal", "optimal"),
        ('search="optimal"', "optimal"),
        ("max_pairs=None", None),
        ("max_pairs=null", None),
        ("record_risks=True", True),
        ("record_risks=false", False),
        ("monotone_constraints=[1, 0, -1]", [1, 0, -1]),
        ('monotone_constraints={"age": -1}', {"age": -1}),
        ("name=a=b", "a=b"),
        ("deep=" + "[" * 100_000, "[" * 100_000),
    ],
)
def test_values_of_settings(text: str, value: object) -> None:
    assert parse_setting(text)[1] == value


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--ranker", "rankbost"], "'rankbost' is not one of"),
        (
            ["--ranker", "pnorm-push", "--preset", "rb_c"],
            "--preset rb_c is a variant of rankboost, and --ranker is pnorm-push",
        ),
        (
            ["--ranker", "pnorm-push", "--choice", "steepest"],
            "--choice: pnorm-push has no parameter 'choice' (rankboost",
        ),
        (["--p", "4"], "--p: rankboost has no parameter 'p' (pnorm-push has it)"),
        (
            ["--ranker", "infinite-push", "--rounds", "5"],
            "--rounds: infinite-push has no parameter 'n_estimators'",
        ),
        (
            ["--ranker", "infinite-push", "--rounds", "5"],
            "It takes balance, l1, l2, max_iter, n_jobs",
        ),
        (["--ranker", "infinite-push", "--trace", "t.tsv"], "infinite-push has no rounds"),
        (["--ranker", "infinite-push", "--pairs", "p.tsv"], "learns from labels only"),
        (["--ranker", "diffrank", "--pairs", "p.tsv"], "diffrank learns from labels only"),
        (["--n-bags", "0"], "0 is not in the range x>=1"),
        (
            ["--ranker", "infinite-push", "--n-bags", "3"],
            "--n-bags: infinite-push has no parameter 'n_bags'",
        ),
        (
            ["--ranker", "gradient", "--weak", "stump", "--max-leaves", "4"],
            "weak='stump' has trees of 2 leaves, and max_leaves is 4. Set weak='tree'",
        ),
        (["--ranker", "pnorm-push", "--p", "0.5"], "'p' parameter of PNormPush must be a number"),
        (["--ranker", "pnorm-push", "--p", "1e9"], "use InfinitePush"),
        (["--ranker", "pnorm-push", "--p", "x"], "'x' is not a valid float"),
        (["--ranker", "infinite-push"], "labels of query 'q1' are 0, 1, 2. Make them two"),
        (["--set", "rate=3"], "--set rate: rankboost has no parameter 'rate'. It takes"),
        (["--set", "learn_rate=0.3"], "Did you mean learning_rate?"),
        (["--set", "learning_rate"], "a setting is NAME=VALUE, such as p=16"),
        (["--set", "=3"], "a setting is NAME=VALUE"),
        (["--set", "learning_rate=2"], "'learning_rate' parameter of RankBoost must be"),
        (["--set", "learning_rate=NaN"], "'learning_rate' parameter of RankBoost must be"),
        (
            ["--set", "choice=steepst"],
            "'choice' parameter of RankBoost must be one of 'steepest', 'steepest_positive'",
        ),
        (["--set", "max_bins=many"], "must be an int in [2, 65535] or None. Got 'many'"),
        (["--set", "eval_metric=map"], "--set eval_metric: use --metric"),
        (["--set", "n_jobs=1"], "--set n_jobs: use --jobs"),
        (["--rounds", "3", "--set", "n_estimators=4"], "n_estimators is given twice"),
        (["--set", "step=bound", "--set", "step=exact"], "step is given twice"),
    ],
)
def test_what_a_ranker_cannot_take_is_said_in_one_line(
    folder: Path, crucial, error_line, words: list[str], said: str
) -> None:
    done = crucial("train", folder / "train.txt", "-o", folder / "m.json", *words)
    assert said in error_line(done)
    assert not (folder / "m.json").exists()


def test_pairs_with_another_ranker(folder: Path, crucial, small_problem) -> None:
    X, y, _ = small_problem(12, 0)
    pairs = [(a, b) for a, b in zip(range(0, 120, 3), range(1, 120, 3)) if y[a] > y[b]]
    (folder / "rows.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairs))
    words = ("train", folder / "train.txt", "--ranker", "logistic", "-o", folder / "m.json",
             "--rounds", 5, "--pairs", folder / "rows.tsv", "--pairs-by", "row")  # fmt: skip
    done = crucial(*words, "--pairs-only")
    assert done.exit_code == 0, done.stderr
    same = package.LogisticRanker(5).fit_pairs(X, pairs)
    assert package.load_model(folder / "m.json").weights == same.model_.weights
    both = crucial(*words)
    assert both.exit_code == 2
    assert "learns from labels or from pairs" in both.stderr


def test_rankers_are_listed(crucial) -> None:
    said = crucial("list", "rankers")
    assert said.exit_code == 0
    assert all(name in said.stdout for name in RANKERS)
    assert "l2=0.01" in said.stdout
    assert np.mean([len(line) for line in said.stdout.splitlines()]) < 101


@pytest.mark.parametrize("name", sorted(RANKERS))
def test_the_parameters_of_a_ranker_are_listed(name: str, crucial) -> None:
    listed = crucial("list", "rankers", name)
    assert listed.exit_code == 0, listed.stderr
    for key, parameter in parameters_of(ranker_class(name)).items():
        line = next(one for one in listed.stdout.splitlines() if one.startswith(f"{key} "))
        assert repr(parameter.default) in line
    assert crucial("list", "rankers", "rankbost").exit_code == 2


def test_bad_settings_are_refused_before_anything_is_read(crucial, error_line) -> None:
    done = crucial("train", "no-such-file.txt", "-o", "m.json", "--set", "step=newton")
    assert "'step' parameter of RankBoost must be one of None, 'bound', 'exact'" in error_line(done)


def test_options_of_train_repeat_what_rankboost_declares() -> None:
    """They are written out, since reading the declarations would make --help slow."""
    hints = get_type_hints(EstimatorOptions)
    declared = parameters_of(ranker_class("rankboost"))
    for field in fields(EstimatorOptions):
        parameter = declared.get(PARAMETER_OF_OPTION.get(field.name, field.name))
        if parameter is None or field.name in ("positive", "early_stopping", "jobs"):
            continue
        help_text = field.metadata["option"][2]["help"]
        shown = f"{parameter.default:g}" if isinstance(parameter.default, float) else None
        if parameter.default is None:
            assert "y default" in help_text
        else:
            assert f"[default: {shown or parameter.default}]" in help_text
        choices = [value for kind in get_args(hints[field.name]) for value in get_args(kind)]
        known = [value for value in parameter.rule.choices if value is not None]
        assert not choices or choices == known


@pytest.mark.parametrize("ranker", ["rankboost", "gradient"])
@pytest.mark.parametrize("interactions", ["1", "2", None])
def test_every_verb_takes_trees(
    ranker: str, interactions: str | None, folder: Path, crucial
) -> None:
    model, trace, page = folder / "m.json", folder / "t.tsv", folder / "r.html"
    words = ["--ranker", ranker, "--weak", "tree", "--max-leaves", 6, "--min-rows", 5, "--l2", 0.5]
    words += [] if interactions is None else ["--interactions", interactions]
    done = crucial(
        "train", folder / "train.txt", *words, "--rounds", 8, "--max-depth", 4,
        "--valid", folder / "valid.txt", "-o", model, "--trace", trace,
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    loaded = package.load_model(model)
    assert max(len(one.values) for one in loaded.rankers) <= 6
    parameters = loaded.training["parameters"]
    assert (parameters["min_rows"], parameters["l2"], parameters["max_depth"]) == (5, 0.5, 4)
    shown = crucial("show", model)
    assert shown.exit_code == 0, shown.stderr
    said = {"1": "of the gains, ", "2": "of features together:", None: "the first of them:"}
    assert said[interactions] in shown.stdout
    assert ("training bound" in shown.stdout) == (ranker == "rankboost")
    assert crucial("show", model, "--json").exit_code == 0
    ranked = crucial("rank", model, folder / "test.txt", "-o", folder / "run.txt")
    assert ranked.exit_code == 0, ranked.stderr
    measured = crucial("evaluate", model, folder / "test.txt")
    assert measured.exit_code == 0, measured.stderr
    report = crucial("report", model, folder / "test.txt", "--trace", trace, "-o", page)
    assert report.exit_code == 0, report.stderr
    assert page.stat().st_size > 50_000
    heads, first, *_ = (line.split("\t") for line in trace.read_text().splitlines())
    features = first[heads.index("feature")].split(", ")
    names = loaded.feature_names or [str(f) for f in range(loaded.n_features)]
    assert features == [names[f] for f in sorted(set(loaded.rankers[0].features))]


def test_trees_by_the_wrong_ranker(folder: Path, crucial, error_line) -> None:
    done = crucial("train", folder / "train.txt", "-o", folder / "m.json", "--max-leaves", 4)
    assert "max_leaves is for weak='tree', and weak is 'stump'" in error_line(done)
    done = crucial(
        "train", folder / "train.txt", "-o", folder / "m.json", "--weak", "tree",
        "--ranker", "rankboost-plus",
    )  # fmt: skip
    assert "use RankBoost(weak='tree')" in error_line(done)
