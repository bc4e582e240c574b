"""Every ranker of the registry through the verbs: train, show, rank, evaluate, report."""

import inspect
import json
from pathlib import Path

import pytest

import crucial as package
from crucial.cli.listings import fusion_summaries, ranker_summaries
from crucial.cli.options import RANKER_NAMES, estimator_named
from crucial.cli.train import PARAMETER_OF_OPTION, TrainOptions
from crucial.fusion.learning import DEFAULT_FEATURES, FEATURES
from crucial.fusion.rules import METHODS, NORMALISATIONS
from crucial.lab.rankers import PEERS
from crucial.parameters import parameters_of
from crucial.rankers.registry import PEER_NAMES, RANKERS, WITHOUT_QUERIES, ranker_class

from .conftest import bare, make_problem, write_rows


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


def test_the_parameters_of_a_ranker_are_listed(ok) -> None:
    for name in sorted(RANKERS):
        listed = ok(f"list rankers {name}")
        for key, parameter in parameters_of(ranker_class(name)).items():
            line = next(one for one in listed.stdout.splitlines() if one.startswith(f"{key} "))
            assert repr(parameter.default) in line


def test_defaults_in_the_help_are_those_of_rankboost() -> None:
    """They are written out, since reading the declarations would make --help slow."""
    declared = parameters_of(ranker_class("rankboost"))
    for name in ("rounds", "learning_rate", "weak", "max_leaves", "seed"):
        default = declared[PARAMETER_OF_OPTION.get(name, name)].default
        default = {"learning_rate": 0.3, "max_leaves": 16}.get(name, default)  # (None: it depends)
        help_text = TrainOptions.__dataclass_fields__[name].metadata["option"][2]["help"]
        assert f"[default: {default}" in help_text


def test_the_table_and_the_choice_of_auto_are_shown(folder: Path, ok) -> None:
    words = "train train.txt -o m.json --valid valid.txt --ranker auto -m ndcg@5"
    done = ok(f"{words} --set budget=0.01 --set store=cells")
    said = " ".join(done.stdout.split())
    for text in ("seconds outcome", "kept, best", "Kept query_rmse, trees with", "ndcg@5",
                 "held-out queries", "(6 queries)", "wrote"):  # fmt: skip
        assert text in said, text
    assert "--ranker auto chooses by folds of" in done.stderr
    assert package.load_model("m.json").training["estimator"] == "GradientRanker"
    assert Path("cells", "cells.jsonl").exists()


def test_the_list_of_rankers_has_their_docstrings() -> None:
    """It is read from the source, and the names of peers from the registry."""
    for name, summary in ranker_summaries().items():
        text = inspect.getdoc(estimator_named(name)) or ""
        assert summary == text.split("\n\n")[0].replace("\n", " ")
    assert {*ranker_summaries()} == {*RANKER_NAMES}
    assert tuple(PEERS) == PEER_NAMES


def test_the_list_of_fusions_has_their_summaries() -> None:
    """It is read from the source, as that of rankers."""
    tried = {name: f"{text} *" for name, text in FEATURES.items() if name in DEFAULT_FEATURES}
    assert fusion_summaries() == {
        "--method": {name: rule.summary for name, rule in METHODS.items()},
        "--normalise": NORMALISATIONS,
        "--features": {**FEATURES, **tried},
    }
