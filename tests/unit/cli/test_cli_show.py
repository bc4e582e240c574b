from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import crucial as package
from crucial.cli.tables import bar, half_blocks
from crucial.model.weak import Presence, ScaledFeature, Stump


def test_what_was_learned(model: Path, crucial) -> None:
    done = crucial("show", model)
    assert done.exit_code == 0, done.stderr
    assert done.stderr == ""
    text = " ".join(done.stdout.split())  # (long paths of temporary folders wrap the first line)
    for said in ("30 rounds over 4 features", "trained with", "RankBoost", "pairs",
                 "learning_rate=0.3", "absent=zero", "feature 2", "of the weight, rising",
                 "no opinion: 0", "step"):  # fmt: skip
        assert said in text, said
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_heaviest_first_and_as_many_as_asked(model: Path, crucial) -> None:
    done = crucial("show", model, "--features", 1)
    assert "feature 2" in done.stdout
    assert "feature 1 " not in done.stdout
    assert "lighter features are not shown" in done.stdout


def test_json_is_complete(model: Path, crucial) -> None:
    found = json.loads(crucial("show", model, "--json", "--features", 4).stdout)
    loaded = package.load_model(model)
    assert found["training"] == loaded.training
    shapes = loaded.shapes()
    for one in found["features"]:
        shape = shapes[one["feature"]]
        assert one["thresholds"] == shape.thresholds.tolist()
        assert one["values"] == shape.values.tolist()
        assert one["missing"] == shape.missing
    assert sum(one["share"] for one in found["features"]) == pytest.approx(1.0)


def test_every_kind_of_weak_ranker(tmp_path: Path, crucial) -> None:
    rankers = [Stump(0, 0.5, 1), Presence(1, 0), ScaledFeature(2, 0.0, 4.0, 0.5)]
    model = package.AdditiveRanker(3, rankers, [1.0, 0.5, 2.0], ["[bold]a[/bold]", "b\x1b[2J", "c"])
    package.save_model(model, tmp_path / "m.json")
    done = crucial("show", tmp_path / "m.json")
    assert done.exit_code == 0, done.stderr
    assert "[bold]a[/bold]" in done.stdout  # names are no markup
    assert "\x1b" not in done.stdout
    assert "any value adds 0.5, no opinion 0" in done.stdout
    assert "from 0 at 0 to 2 at 4" in done.stdout


def test_model_without_summary_or_rounds(tmp_path: Path, crucial) -> None:
    package.save_model(package.AdditiveRanker(2, [], []), tmp_path / "m.json")
    done = crucial("show", tmp_path / "m.json")
    assert done.exit_code == 0, done.stderr
    assert "0 rounds over 2 features, 0 used" in " ".join(done.stdout.split())
    assert json.loads(crucial("show", tmp_path / "m.json", "--json").stdout)["features"] == []


@pytest.mark.parametrize(
    "training",
    [
        {"parameters": "x", "data": [1], "eval": 3, "rows": {"a": 1}, "queries": True},
        {"parameters": {"choice": {"a": "\x1b[2J"}}, "eval": {"map": None}},
    ],
)
def test_odd_summaries(model: Path, crucial, training: dict[str, object]) -> None:
    """A model file is anybody's: nothing in its summary may break the terminal."""
    odd = replace(package.load_model(model), training=training)
    package.save_model(odd, model)
    done = crucial("show", model)
    assert done.exit_code == 0, done.stderr
    assert "\x1b" not in done.stdout


def test_lists_of_names(crucial) -> None:
    from crucial.measures.names import MEASURES
    from crucial.rankers.registry import PRESETS

    presets, measures = (crucial("list", one).stdout for one in ("presets", "measures"))
    assert all(f"\n{name} " in presets for name in PRESETS)
    assert all(f"\n{name}" in measures for name in MEASURES)
    assert all(
        f"\n{name} " in crucial("list").stdout for name in ("measures", "rankers", "presets")
    )
    assert "takes no name of a ranker" in crucial("list", "presets", "rankboost").stderr


def test_bars() -> None:
    assert bar(0.0) == ""
    assert bar(1.0, 4) == bar(7.0, 4) == "████"
    assert [len(bar(share / 100, 10)) for share in (1, 10, 11, 99)] == [1, 1, 2, 10]


def test_pictures_need_pairs_of_rows() -> None:
    assert half_blocks([[1, 0], [1, 1], [0, 1], [0, 0]]) == ["█▄", " ▀"]
    with pytest.raises(ValueError, match="shorter"):
        half_blocks([[1, 0]])


def test_an_intercept_is_shown(tmp_path, crucial) -> None:
    from crucial.model.additive import AdditiveRanker
    from crucial.model.weak import Constant, Stump, Vote

    rankers = [Vote(Stump(0, 1.0, 0)), Constant(), Constant()]
    AdditiveRanker(1, rankers, [0.5, 0.25, -1.0]).save(tmp_path / "model.json")
    said = crucial("show", tmp_path / "model.json").stdout
    assert "2 constant, 1 vote" in said
    assert "intercept     -0.75, the same for every row" in said
    assert json.loads(crucial("show", tmp_path / "model.json", "--json").stdout)["intercept"] == (
        -0.75
    )


def test_folds_and_limits_of_trees_are_shown(tmp_path: Path, crucial) -> None:
    data = package.make_interactions(8, 10, n_pairs=1, n_noise=1)
    ranker = package.GradientRanker(3, interactions=2, max_pairs=0, validation_folds=2, min_rows=2)
    ranker.fit(data.X, data.y, qid=data.qid).save(tmp_path / "m.json")
    text = " ".join(crucial("show", tmp_path / "m.json").stdout.split())
    for said in ("max_pairs=0", "validation_folds=2", "folds folds=2, measure=ndcg@10, value=0."):
        assert said in text, said
