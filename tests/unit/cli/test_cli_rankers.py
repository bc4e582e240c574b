"""Every ranker of the registry through the verbs: train, show, rank, evaluate, report."""

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

import crucial as package
from crucial.cli.train import PARAMETER_OF_OPTION, TrainOptions
from crucial.parameters import parameters_of
from crucial.rankers.registry import RANKERS, WITHOUT_QUERIES, ranker_class

from .conftest import bare, make_problem, write_rows

INSIDE_QUERIES = ["featurerank", "diffrank"]
TRAIN = "train train.txt -o m.json"


@pytest.fixture
def two_labels(tmp_path: Path, monkeypatch) -> None:
    """queries.txt of relevant and irrelevant rows, and bare.txt without queries."""
    monkeypatch.chdir(tmp_path)
    X, y, qid = make_problem(8, 0)
    write_rows("queries.txt", X, (y > 0).astype(int), qid)
    Path("bare.txt").write_text(bare("queries.txt"))


@pytest.mark.usefixtures("two_labels")
@pytest.mark.parametrize("name", sorted(RANKERS))
def test_every_ranker_from_file_to_ranking(name: str, ok) -> None:
    data = "bare.txt" if name in WITHOUT_QUERIES else "queries.txt"
    words = f"train {data} --ranker {name} -o m.json --valid {data} -m map"
    rounds = "eval_set" in inspect.signature(ranker_class(name).fit).parameters
    if "n_estimators" in parameters_of(ranker_class(name)):
        words += " --rounds 6"
    done = ok(f"{words} --trace t.tsv" if rounds else words)
    estimator = ranker_class(name).__name__
    assert f"{estimator} on {data}" in " ".join(done.stdout.split())
    assert "map" in done.stdout
    read = package.load_model("m.json")
    assert read.training["estimator"] == estimator
    n_rounds = getattr(read, "n_rounds", 0)  # (a tree has none)
    assert n_rounds > 0 or read.feature_importances().any()
    if rounds:
        assert len(Path("t.tsv").read_text().splitlines()) > n_rounds
        assert "map by round" in done.stdout
    else:
        assert "is measured at the end" in done.stderr
    assert estimator in ok("show m.json").stdout
    assert json.loads(ok("show m.json --json").stdout)["n_rounds"] == n_rounds
    ok(f"rank m.json {data} -o ranked.txt")
    assert len(Path("ranked.txt").read_text().splitlines()) >= 80
    assert "auc" in ok(f"evaluate m.json {data} -m auc").stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            "--rounds 5 --set positive_weights=cumulative --set default_rank=0 "
            "--set max_bins=None --set subsample=0.7 --seed 9 --jobs 1 --set n_bags=3",
            {"n_estimators": 5, "positive_weights": "cumulative", "default_rank": 0,
             "max_bins": None, "subsample": 0.7, "random_state": 9, "n_bags": 3},
        ),
        (
            "--ranker pnorm-push --set p=8 --rounds 4 --set learning_rate=0.5 --set gain=linear "
            "--set max_bins=null --set record_risks=true --set verbose=0",
            {"p": 8.0, "learning_rate": 0.5, "gain": "linear", "max_bins": None,
             "record_risks": True, "n_estimators": 4},
        ),
        (
            "--ranker gradient --loss xendcg --rounds 3 --set max_leaves=4",
            {"loss": "xendcg", "max_leaves": 4},
        ),
    ],
)  # fmt: skip
def test_options_and_settings_reach_the_ranker(
    folder: Path, ok, words: str, expected: dict[str, Any]
) -> None:
    ok(f"{TRAIN} {words}")
    parameters = package.load_model("m.json").training["parameters"]
    assert {name: parameters[name] for name in expected} == expected


PUSH, INFINITE, AUTO = "--ranker pnorm-push", "--ranker infinite-push", "--ranker auto"
REFUSED = [
    (f"{PUSH} --preset rb_c", "--preset rb_c is a variant of rankboost, and --ranker is pnorm-pus"),
    ("--ranker rankbost", "unknown ranker 'rankbost'; did you mean 'rankboost'"),
    ("--preset rbc", "unknown preset 'rbc'; did you mean 'rb_c'"),
    # Parameters that the ranker does not have.
    ("--set p=4", "--set p: rankboost has no parameter 'p' (pnorm-push has it)"),
    ("--loss xendcg", "--loss: rankboost has no parameter 'loss' ("),
    (f"{INFINITE} --rounds 5", "--rounds: infinite-push has no parameter 'n_estimators'"),
    (f"{INFINITE} --rounds 5", "'crucial list rankers infinite-push' lists them."),
    (f"{AUTO} --rounds 5", "--rounds: auto has no parameter 'n_estimators'"),
    ("--set learn_rate=0.3", "Did you mean learning_rate?"),
    # What the ranker cannot do.
    (f"{INFINITE} --trace t.tsv", "infinite-push has no rounds"),
    (f"{AUTO} --trace t.tsv", "--trace: auto has no rounds to trace"),
    (f"{INFINITE} --pairs p.tsv", "learns from labels only"),
    (f"{AUTO} --pairs p.tsv", "auto learns from labels only; use --ranker rankboost"),
    (INFINITE, "labels of query 'q1' are 0, 1, 2. Make them two"),
    # Values that the rule of a parameter does not allow.
    ("--rounds 0", "--rounds must be an int of at least 1. Got 0 instead"),
    ("--set learning_rate=NaN", "--set learning_rate must be a number in (0, 1]. Got NaN"),
    ("--set choice=steepst", "Did you mean 'steepest'"),
    ("--set max_bins=many", "must be an int in [2, 65535] or None. Got many"),
    (f"{PUSH} --set p=1e9", "use InfinitePush"),
    (f"{AUTO} --set budget=fast", "--set budget must be 'quick'"),
    # (a name that no file has: it is refused before anything is read)
    ("none.txt --set step=newton", "--set step must be one of None, 'bound', 'e"),
    # Values that do not go together, or not with the data.
    ("--max-leaves 4", "max_leaves is for weak='tree', and weak is 'stump'"),
    ("--ranker diffrank --set n_intervals=11", "'n_intervals' parameter of DiffRank must be at mo"),
    ("--ranker rankrls --set kernel=precomputed", "square matrix"),
    (f"{AUTO} --set store=train.txt", "store must be a folder"),
    # Settings.
    ("--set learning_rate", "a setting is NAME=VALUE, such as p=16"),
    ("--set =3", "a setting is NAME=VALUE"),
    ("--set eval_metric=map", "--set eval_metric: use --metric"),
    ("--set n_jobs=1", "--set n_jobs: use --jobs"),
    ("--rounds 3 --set n_estimators=4", "n_estimators is given twice"),
    ("--set step=bound --set step=exact", "step is given twice"),
]


@pytest.mark.parametrize(("words", "said"), REFUSED)
def test_what_a_ranker_cannot_take_is_said_in_one_line(
    folder: Path, refused, words: str, said: str
) -> None:
    none = words.startswith("none.txt")
    assert said in refused(f"train {'' if none else 'train.txt'} {words} -o m.json")
    assert not Path("m.json").exists()


def test_the_parameters_of_a_ranker_are_listed(ok, refused) -> None:
    for name in sorted(RANKERS):
        listed = ok(f"list rankers {name}")
        for key, parameter in parameters_of(ranker_class(name)).items():
            line = next(one for one in listed.stdout.splitlines() if one.startswith(f"{key} "))
            assert repr(parameter.default) in line
    assert "did you mean 'rankboost'" in refused("list rankers rankbost")


def test_defaults_in_the_help_are_those_of_rankboost() -> None:
    """They are written out, since reading the declarations would make --help slow."""
    declared = parameters_of(ranker_class("rankboost"))
    for name in ("rounds", "learning_rate", "weak", "max_leaves", "seed"):
        default = declared[PARAMETER_OF_OPTION.get(name, name)].default
        help_text = TrainOptions.__dataclass_fields__[name].metadata["option"][2]["help"]
        assert f"[default: {default}" in help_text


@pytest.mark.parametrize(
    ("ranker", "interactions"), [("rankboost", "2"), ("gradient", "1"), ("gradient", None)]
)
def test_every_verb_takes_trees(ranker: str, interactions: str | None, folder: Path, ok) -> None:
    words = f"--ranker {ranker} --weak tree --max-leaves 6 --set min_rows=5 --set l2=0.5"
    words += "" if interactions is None else f" --set interactions={interactions}"
    ok(f"{TRAIN} {words} --rounds 8 --valid valid.txt --trace t.tsv")
    loaded = package.load_model("m.json")
    assert max(len(one.values) for one in loaded.rankers) <= 6
    parameters = loaded.training["parameters"]
    assert (parameters["min_rows"], parameters["l2"]) == (5, 0.5)
    shown = ok("show m.json").stdout
    said = {"1": "of the gains, ", "2": "of features together:", None: "the first of them:"}
    assert said[interactions] in shown
    assert ("training bound" in shown) == (ranker == "rankboost")
    for verb in ("show --json", "rank test.txt -o run.txt", "evaluate test.txt"):
        first, _, rest = verb.partition(" ")
        ok(f"{first} m.json {rest}")
    ok("report m.json test.txt --trace t.tsv -o r.html")
    assert Path("r.html").stat().st_size > 50_000
    heads, first, *_ = (line.split("\t") for line in Path("t.tsv").read_text().splitlines())
    features = first[heads.index("feature")].split(", ")
    names = loaded.feature_names or [str(f) for f in range(loaded.n_features)]
    assert features == [names[f] for f in sorted(set(loaded.rankers[0].features))]


@pytest.mark.parametrize("ranker", INSIDE_QUERIES)
def test_rankers_inside_queries(ok, refused, folder: Path, ranker: str) -> None:
    settings = "--set n_intervals=4 --set cycles=2"
    ok(f"{TRAIN} --ranker {ranker} {settings} --valid valid.txt --trace t.tsv")
    columns = Path("t.tsv").read_text().splitlines()[0].split("\t")
    assert {"alpha", "loss", "bound", "ndcg@10"} <= set(columns)
    shown = ok("show m.json").stdout
    for said in ("quasi-KNN", "centres, lowest rank first:", "n_intervals=4"):
        assert said in shown
    plain = json.loads(ok("show m.json --json").stdout)
    assert len(plain["features"][0]["rankings"][0]["centres"]) == 4
    found = json.loads(ok("evaluate m.json test.txt -m kendall -m persistence@3 --json").stdout)
    values = {one["measure"]: one["value"] for one in found["measures"]}
    assert values["kendall"] < 0.3
    assert values["persistence@3"] > 0.6
    assert len(ok("rank m.json test.txt --format tsv -o -").stdout.splitlines()) == 61
    ok("report m.json test.txt -o page.html")
    Path("bare.txt").write_text(bare("test.txt"))
    said = refused("rank m.json bare.txt -o out.txt")
    assert "bare.txt: its rows have no query ids" in said
    assert "against the others of its query" in said
    assert not Path("out.txt").exists()


@pytest.mark.parametrize(("name", "kernel"), [("ranking-svm", "rbf"), ("rankrls", "poly")])
def test_a_kernel_ranker_from_file_to_ranking(name: str, kernel: str, folder: Path, ok) -> None:
    ok(f"{TRAIN} --ranker {name} --set kernel={kernel} --set l2=0.5 --set n_landmarks=12")
    read = package.load_model("m.json")
    assert isinstance(read, package.KernelRanker)
    assert read.kernel.form == kernel
    assert len(read.coefficients) == 12
    shown = ok("show m.json").stdout
    assert f"{kernel} kernel with 12 support rows" in " ".join(shown.split())
    assert "not additive" in shown
    assert json.loads(ok("show m.json --json").stdout)["n_rounds"] == 0
    ok("rank m.json train.txt -o ranked.txt")
    assert "auc" in ok("evaluate m.json train.txt -m auc").stdout
    ok("report m.json train.txt -o r.html")


def test_the_table_and_the_choice_of_auto_are_shown(folder: Path, ok) -> None:
    done = ok(f"{TRAIN} --valid valid.txt {AUTO} --set budget=0.01 -m ndcg@5 --set store=cells")
    said = " ".join(done.stdout.split())
    for text in ("> query_rmse, stumps", "Kept query_rmse, stumps with", "ndcg@5",
                 "held-out queries", "(6 queries)", "wrote"):  # fmt: skip
        assert text in said, text
    assert "--ranker auto chooses by folds of" in done.stderr
    assert package.load_model("m.json").training["estimator"] == "GradientRanker"
    assert Path("cells", "cells.jsonl").exists()
