"""Files of learned fusions: what is written, what is read, what is refused."""

import hashlib
import json
import re
from pathlib import Path

import msgspec
import numpy as np
import pytest

from crucial import load_model
from crucial.data.dataset import Run
from crucial.errors import ModelFileError, ParameterError
from crucial.fusion import FusionRanker, Pool, learn_fusion
from crucial.fusion.ranker import FusionPlan
from crucial.model.additive import AdditiveRanker
from crucial.model.file import row_model, save_model
from crucial.model.weak import Stump
from refusals import refused

GOLDEN = Path(__file__).parents[2] / "golden"


@pytest.fixture(scope="module")
def learned(search):
    runs, qrels = search
    return learn_fusion(runs, qrels, features="positions", folds=2, rounds=10)


class TestGolden:
    """Fusions have a kind of their own; before, they were written as additive models."""

    @pytest.mark.parametrize("name", ["fusion-1.json", "fusion-as-additive-1.json"])
    def test_scores_are_what_they_were(self, name):
        expected = json.loads((GOLDEN / "fusion-1.scores.json").read_text())
        fusion = load_model(GOLDEN / name)
        assert isinstance(fusion, FusionRanker)
        runs = {
            run: Run(table["qid"], table["doc"], np.array(table["score"]), run)
            for run, table in expected["runs"].items()
        }
        pool = Pool.of(runs)
        rows = [list(row) for row in zip(pool.queries[pool.query_of_row], pool.doc)]
        assert rows == expected["rows"]
        assert [value.hex() for value in fusion.scores(pool).tolist()] == expected["scores"]
        assert (fusion.choice.n_queries, fusion.choice.measure) == (8, "map")
        assert len(fusion.choice.trials) == 4

    @pytest.mark.parametrize("name", ["fusion-1.json", "fusion-as-additive-1.json"])
    def test_what_is_written_today_is_what_was_written(self, name, tmp_path):
        load_model(GOLDEN / name).save(tmp_path / "again.json")
        newest = (GOLDEN / "fusion-1.json").read_bytes()
        assert (tmp_path / "again.json").read_bytes() == newest


class TestFile:
    def test_other_models_are_no_fusions(self, tmp_path):
        save_model(AdditiveRanker(1, [Stump(0, 0.5, 0)], [1.0]), tmp_path / "m.json")
        match = "m.json: this model does not fuse runs"
        refused(ModelFileError, match, FusionRanker.load, tmp_path / "m.json")

    @pytest.mark.parametrize(("change", "match"), [
        ({"columns": "names"}, "the description of its fusion is malformed: Invalid enum"),
        ({"runs": ["a", "a"]}, "runs of its fusion must have distinct names"),
        ({"runs": [], "tags": []}, "runs of its fusion must have distinct names"),
        ({"tags": ["a"]}, "tags or k of its fusion are impossible"),
        ({"k": -1.0}, "tags or k of its fusion are impossible"),
        ({"scores": "log"}, "it normalises scores by 'log'"),
        ({"scores": "rank"}, "its fusion has 4 columns and its model 2"),
        ({"extra": {"method": "x", "k": 1, "normalise": "rank"}}, "unknown fusion method 'x'"),
        ({"extra": {"method": "rrf"}}, "the description of its fusion is malformed"),
        ({"more": 1}, "the description of its fusion is malformed"),
    ])  # fmt: skip
    def test_a_plan_that_cannot_be_is_refused(self, tmp_path, change, match):
        plan = {**FusionPlan(("a", "b"), ("", "")).to_plain(), **change}
        training = {"fusion": {"plan": plan}}
        model = AdditiveRanker(2, [Stump(0, -3.0, 0)], [1.0], ["a", "b"], training)
        save_model(model, tmp_path / "m.json")
        refused(ModelFileError, match, FusionRanker.load, tmp_path / "m.json")

    def test_what_is_said_of_the_choice_is_checked(self, learned, tmp_path):
        training = {**learned.training, "fusion": {**learned.summary(), "folds": "many"}}
        names = learned.feature_names
        model = AdditiveRanker(14, learned.model.rankers, learned.model.weights, names, training)
        match = "the description of its fusion is malformed"
        refused(ParameterError, match, FusionRanker.of_model, model)
        save_model(model, tmp_path / "m.json")
        refused(ModelFileError, rf"m\.json: .*{match[3:]}", load_model, tmp_path / "m.json")

    @pytest.mark.parametrize(("change", "match"), [
        (lambda model: model.pop("fusion"), "missing required field `fusion`"),
        (lambda model: model.update(fusion=[]), "Expected `object | null`, got `array`"),
        (lambda model: model.update(fusion=None), "this model does not fuse runs"),
        (lambda model: model.update(more=1), "unknown field `more`"),
        (lambda model: model["fusion"].update(more=1), "unknown field `more`"),
        (lambda model: model["fusion"].pop("plan"), "its fusion is malformed"),
        (lambda model: model["fusion"].pop("setting"), "missing required field `setting`"),
        (lambda model: model["fusion"].update(topics="8"), "Expected `int`, got `str`"),
        (lambda model: model["fusion"]["plan"].update(tags=[]), "tags or k of its fusion"),
        (lambda model: model["rounds"][0]["ranker"].update(feature=9), "features 0 to 3"),
    ])  # fmt: skip
    def test_what_is_wrong_with_a_file_is_named(self, tmp_path, change, match):
        data = json.loads((GOLDEN / "fusion-1.json").read_text())
        change(data["model"])
        minified = msgspec.json.encode(data["model"])
        data["checksum"] = hashlib.sha256(minified).hexdigest()
        (tmp_path / "m.json").write_bytes(msgspec.json.encode(data))
        match = rf"m\.json: .*{re.escape(match)}"
        refused(ModelFileError, match, load_model, tmp_path / "m.json")

    def test_other_things_called_fusion_are_left_alone(self, tmp_path):
        model = AdditiveRanker(1, [Stump(0, 0.5, 0)], [1.0], training={"fusion": "cold"})
        model.save(tmp_path / "m.json")
        assert load_model(tmp_path / "m.json") == model
        refused(ParameterError, "this model does not fuse runs", FusionRanker.of_model, model)

    def test_a_fusion_made_by_hand(self, tmp_path):
        model = AdditiveRanker(2, [Stump(0, -3.0, 0)], [1.0], ["a", "b"])
        fusion = FusionRanker(model, FusionPlan(("a", "b"), ("", "")))
        fusion.save(tmp_path / "m.json")
        back = load_model(tmp_path / "m.json")
        assert (back.plan, back.choice) == (fusion.plan, None)
        assert row_model(back).rankers == row_model(model).rankers
