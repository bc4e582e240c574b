"""``crucial show``: weak rankers of every kind, models without a summary, hostile ones."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import crucial as package
from crucial.model.weak import Constant, Presence, ScaledFeature, Stump, Vote


def test_as_many_features_as_asked(model: Path, ok) -> None:
    said = ok("show model.json --features 1").stdout
    assert "feature 2" in said
    assert "feature 1 " not in said
    assert "lighter features are not shown" in said


def test_every_kind_of_weak_ranker(folder: Path, ok) -> None:
    rankers = [Stump(0, 0.5, 1), Presence(1, 0), ScaledFeature(2, 0.0, 4.0, 0.5)]
    names = ["[bold]a[/bold]", "b\x1b[2J", "c"]
    package.AdditiveRanker(3, rankers, [1.0, 0.5, 2.0], names).save("m.json")
    said = ok("show m.json").stdout
    assert "[bold]a[/bold]" in said  # names are no markup
    assert "\x1b" not in said
    assert "any value adds 0.5, no opinion 0" in said
    assert "from 0 at 0 to 2 at 4" in said
    rankers = [Vote(Stump(0, 1.0, 0)), Constant(), Constant()]
    package.AdditiveRanker(1, rankers, [0.5, 0.25, -1.0]).save("m.json")
    said = ok("show m.json").stdout
    assert "2 constant, 1 vote" in said
    assert "intercept     -0.75, the same for every row" in said
    assert json.loads(ok("show m.json --json").stdout)["intercept"] == -0.75


def test_model_without_summary_or_rounds(folder: Path, ok) -> None:
    package.AdditiveRanker(2, [], []).save("m.json")
    assert "0 rounds over 2 features, 0 used" in " ".join(ok("show m.json").stdout.split())
    assert json.loads(ok("show m.json --json").stdout)["features"] == []


@pytest.mark.parametrize(
    "training",
    [
        {"parameters": "x", "data": [1], "eval": 3, "rows": {"a": 1}, "queries": True},
        {"parameters": {"choice": {"a": "\x1b[2J"}}, "eval": {"map": None}},
    ],
)
def test_odd_summaries(model: Path, ok, training: dict[str, object]) -> None:
    """A model file is anybody's: nothing in its summary may break the terminal."""
    replace(package.load_model(model), training=training).save(model)
    assert "\x1b" not in ok("show model.json").stdout


def test_folds_and_limits_of_trees_are_shown(folder: Path, ok) -> None:
    data = package.make_interactions(8, 10, n_pairs=1, n_noise=1)
    ranker = package.GradientRanker(3, interactions=2, max_pairs=0, validation_folds=2, min_rows=2)
    ranker.fit(data.X, data.y, qid=data.qid).save("m.json")
    text = " ".join(ok("show m.json").stdout.split())
    for said in ("max_pairs=0", "validation_folds=2", "folds folds=2, measure=ndcg@10, value=0."):
        assert said in text, said
