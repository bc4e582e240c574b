"""Learned fusions as weights, whose loss is measured, and as models of their columns."""

import json

import numpy as np
import pytest

from crucial.errors import NotRankedError, ParameterError
from crucial.fusion.export import FLAT_TARGETS, export_fusion, flatten_fusion
from crucial.fusion.pool import Pool
from crucial.fusion.ranker import FusionPlan, FusionRanker
from crucial.fusion.rules import Judging, normalised
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import ScaledFeature, Stump
from refusals import refused

RUNS = ("bm25", '</script> it\'s "dense"')


def fusion_of(scores="min-max", k=60.0):
    """Return a fusion that looks at every column of its plan."""
    plan = FusionPlan(RUNS, ("", ""), "positions+reciprocal", k, scores)
    n = len(plan.feature_names)
    rankers = [Stump(at, -2.5 if at < 2 else 0.01, at % 2) for at in range(n)]
    rankers += [ScaledFeature(at, -5.0, 1.0, 0.25) for at in range(n)]
    weights = np.random.default_rng(1).random(2 * n).tolist()
    return FusionRanker(AdditiveRanker(n, rankers, weights, tuple(plan.feature_names)), plan)


def reciprocal(*weights):
    """Return a fusion that is a weighted sum of reciprocal ranks."""
    plan = FusionPlan(RUNS, ("", ""), "reciprocal", 60.0)
    rankers = [ScaledFeature(at, 0.0, float(np.float32(1 / 61)), 0.0) for at in range(2)]
    return FusionRanker(AdditiveRanker(2, rankers, list(weights), RUNS), plan)


@pytest.fixture
def judged():
    random = np.random.default_rng(0)
    docs = [f"d{at}" for at in range(12)]
    qrels = {f"q{q}": {"d0": 1, "d1": 1, "d2": 0} for q in range(20)}
    lists = {
        run: {q: dict(zip(random.permutation(docs)[:9].tolist(), random.random(9))) for q in qrels}
        for run in RUNS
    }
    return lists, qrels


def test_z_scores_of_a_query_do_not_depend_on_others():
    few = {"a": 1e-9, "b": 3e-9, "c": 2e-9}
    alone = Pool.of({"run": {"1": few}})
    beside = Pool.of({"run": {"1": few, "2": {"a": 1e300, "b": -1e300}}})
    for method in ("z-score", "min-max"):
        assert normalised(beside, method)[0][:3].tolist() == normalised(alone, method)[0].tolist()


def test_weights_of_reciprocal_ranks_lose_nothing(judged):
    lists, qrels = judged
    flat = flatten_fusion(reciprocal(3.0, 1.0), Judging.of(lists, qrels), "rrf", "map")
    assert [*flat.weights.values()] == pytest.approx([0.75, 0.25], abs=1e-6)
    assert flat.flat == pytest.approx(flat.learned)
    assert (flat.k, flat.n_queries) == (60, 20)


def test_the_loss_of_weights_is_that_of_their_sums(judged):
    lists, qrels = judged
    fusion, judging = fusion_of(), Judging.of(lists, qrels)
    for kind in ("rrf", "linear"):
        flat = flatten_fusion(fusion, judging, kind, "map")
        pool = fusion.plan.align(judging.pool)
        assert flat.flat == pytest.approx(judging.values("map", flat.scores(pool)).mean())
        assert flat.learned == pytest.approx(judging.values("map", fusion.scores(pool)).mean())
        assert sum(flat.weights.values()) == pytest.approx(1.0)
        assert f"({flat.flat - flat.learned:+.4f})" in flat.loss


@pytest.mark.parametrize("target", FLAT_TARGETS)
def test_weights_are_written_with_their_loss(target, judged, tmp_path):
    lists, qrels = judged
    path = tmp_path / "x"
    done = fusion_of(k=20.4).export(path, target, runs=lists, qrels=qrels, measure="map")
    text = path.read_text()
    assert done.loss in text
    assert "map over 20 queries" in done.loss
    if text.startswith("{"):
        written = json.loads(text)
        assert set(written["weights"]) == set(RUNS)
        assert next(iter(written["weights"].values())) in _numbers(written["request"])
        assert ("rrf" not in target) or 20 in _numbers(written["request"])
    else:
        space = {}
        exec(text, space)
        assert space["RUNS"] == [*RUNS]
        assert sum(space["WEIGHTS"]) == pytest.approx(1.0)


def _numbers(value):
    if isinstance(value, dict):
        value = [*value.values()]
    return [n for one in value for n in _numbers(one)] if isinstance(value, list) else [value]


def test_mistakes_of_exports_of_fusions(judged, tmp_path):
    path, how = tmp_path / "x", dict(zip(("runs", "qrels"), judged))
    match = "takes one weight per run.* pass runs and qrels"
    refused(ParameterError, match, fusion_of().export, path, "langchain")
    negative = reciprocal(-1.0, -1.0).export
    refused(NotRankedError, "no weights that are not negative", negative, path, "langchain", **how)
    match = "did you mean 'langchain'"
    refused(ParameterError, match, export_fusion, fusion_of(), path, "langchian")
    assert list(tmp_path.iterdir()) == []


def test_other_targets_take_the_columns_of_the_plan(tmp_path):
    done = fusion_of(scores=None).export(tmp_path / "x.sql", "sql", dialect="sqlite")
    assert done.verification.same_scores
