"""Learned fusions as functions, which score the same, and as weights, whose loss is measured."""

import json
import runpy
import shutil
import sqlite3
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucial.apps.fusion.export import FUSION_TARGETS, export_fusion
from crucial.apps.fusion.flat_targets import FLAT_TARGETS
from crucial.apps.fusion.flatten import flatten_fusion
from crucial.apps.fusion.judging import Judging
from crucial.apps.fusion.methods import Fusion
from crucial.apps.fusion.normalise import normalised
from crucial.apps.fusion.plan import FusionPlan
from crucial.apps.fusion.pool import Pool
from crucial.apps.fusion.ranker import FusionRanker
from crucial.apps.fusion.sql_query import _ROUND, _SPLIT, _TINY
from crucial.errors import NotRankedError, ParameterError
from crucial.model.additive import AdditiveRanker
from crucial.model.export.sql_dialects import DIALECTS
from crucial.model.weak import ScaledFeature, Stump

RUNS = ("bm25", '</script> it\'s "dense"')


def fusion_of(columns="positions+reciprocal", scores="min-max", k=60.0, extra=None):
    """Return a fusion that looks at every column of its plan."""
    plan = FusionPlan(RUNS, ("", ""), columns, k, scores, extra)
    n = len(plan.feature_names)
    rankers = [Stump(at, -2.5 if at < 2 else 0.01, at % 2) for at in range(n)]
    rankers += [ScaledFeature(at, -5.0, 1.0, 0.25) for at in range(n)]
    weights = np.random.default_rng(1).random(2 * n).tolist()
    return FusionRanker(AdditiveRanker(n, rankers, weights, tuple(plan.feature_names)), plan)


def reciprocal(*weights, k=60.0):
    """Return a fusion that is a weighted sum of reciprocal ranks."""
    plan = FusionPlan(RUNS, ("", ""), "reciprocal", k)
    rankers = [ScaledFeature(at, 0.0, float(np.float32(1 / (k + 1))), 0.0) for at in range(2)]
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


RULES = (None, Fusion("rrf", k=10.0), Fusion("combsum", normalise="z-score"), Fusion("combmnz"))


@pytest.mark.parametrize("columns", ["positions", "reciprocal", "positions+reciprocal"])
@pytest.mark.parametrize("language", ["python", "javascript"])
def test_a_function_scores_as_the_fusion(language, columns, tmp_path):
    if language == "javascript" and shutil.which("node") is None:
        pytest.skip("there is no node")
    for scores, extra in zip((None, "min-max", "rank", "z-score"), RULES):
        done = fusion_of(columns, scores, extra=extra).export(tmp_path / "x", language)
        assert "identical order, scores equal" in str(done)


COLUMNS = ("positions", "reciprocal", "positions+reciprocal")


@pytest.mark.parametrize(
    ("dialect", "columns"),
    [(dialect, one) for dialect in ("sqlite", "duckdb") for one in COLUMNS]
    + [(dialect, COLUMNS[2]) for dialect in sorted({*DIALECTS} - {"sqlite", "duckdb"})],
)
def test_a_query_over_lists_scores_as_the_fusion(dialect, columns, tmp_path):
    if dialect == "duckdb":
        pytest.importorskip("duckdb")
    for scores, extra in zip(("z-score", "min-max", None, "rank"), RULES):
        done = fusion_of(columns, scores, extra=extra).export(
            tmp_path / "x", "sql", dialect=dialect, name='my "lists`'
        )
        by = "duckdb" if dialect == "duckdb" else "sqlite"
        assert f"made-up queries, {by}" in str(done)
        assert "identical order, scores equal" in str(done)


@pytest.mark.parametrize(
    ("size", "base"),
    [
        (5e-324, 0.0),
        (1e-300, 0.0),
        (1e-170, 0.0),
        (1e-139, 0.0),
        (1e149, 0.0),
        (1e200, 0.0),
        (1e-5, 1e8),
    ],
)
def test_small_large_and_close_scores_are_scaled_alike(size, base, tmp_path):
    fusion = fusion_of(scores="z-score")
    lists = {
        "bm25": {"a": base + 3 * size, "b": base + 2.5 * size, "c": base - size},
        RUNS[1]: {"b": base, "c": base + 2 * size, "d": base + size},
    }
    expected = fusion.rank(lists)
    fusion.export(tmp_path / "x.py", "python")
    assert runpy.run_path(str(tmp_path / "x.py"))["fuse"](lists) == expected
    fusion.export(tmp_path / "x.sql", "sql", dialect="sqlite")
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE results (run TEXT, query TEXT, doc TEXT, score REAL)")
    rows = [(run, "q", doc, score) for run in lists for doc, score in lists[run].items()]
    database.executemany("INSERT INTO results VALUES (?, ?, ?, ?)", rows)
    found = database.execute((tmp_path / "x.sql").read_text()).fetchall()
    assert [(doc, score) for _, doc, score in found] == expected
    if shutil.which("node") is None:
        return
    fusion.export(tmp_path / "x.js", "javascript")
    listed = json.dumps({run: list(found.items()) for run, found in lists.items()})
    code = f"console.log(JSON.stringify(require('./x.js').fuse({listed})))"
    run = subprocess.run(["node", "-e", code], cwd=tmp_path, capture_output=True, check=True)
    assert [tuple(one) for one in json.loads(run.stdout)] == expected


def test_a_query_leaves_out_runs_that_the_fusion_does_not_know(tmp_path):
    fusion = fusion_of(scores="z-score")
    fusion.export(tmp_path / "x", "sql", dialect="sqlite")
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE results (run TEXT, query TEXT, doc INTEGER, rank, score REAL)")
    lists = {"bm25": {"7": 3.5, "10": 3.5, "8": -1.0}, RUNS[1]: {"8": 1e200, "9": -1e200}}
    rows = [(run, "q", doc, 99, score) for run in lists for doc, score in lists[run].items()]
    rows.append(("another run", "q", "11", 1, 5.0))
    database.executemany("INSERT INTO results VALUES (?, ?, ?, ?, ?)", rows)
    found = database.execute((tmp_path / "x").read_text()).fetchall()
    assert [(str(doc), score) for _, doc, score in found] == fusion.rank(lists)


@given(st.floats(-1e30, 1e30) | st.floats(0.0, 1.0).map(lambda x: 1.0 - x * 2**-40))
def test_numbers_are_rounded_to_float32_by_arithmetic(x):
    split = x * _SPLIT
    rounded = (x + _ROUND) - _ROUND if abs(x) < _TINY else (x - split) + split
    assert rounded == float(np.float32(x))


def test_z_scores_of_a_query_do_not_depend_on_others():
    few = {"a": 1e-9, "b": 3e-9, "c": 2e-9}
    alone = Pool.of({"run": {"1": few}})
    beside = Pool.of({"run": {"1": few, "2": {"a": 1e300, "b": -1e300}}})
    for method in ("z-score", "min-max"):
        assert normalised(beside, method)[0][:3].tolist() == normalised(alone, method)[0].tolist()


def test_a_function_that_scores_differently_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "crucial.apps.fusion.export.function_of",
        lambda fusion, target, dialect, name: "def fuse(lists):\n    return []\n",
    )
    with pytest.raises(NotRankedError, match="Python and the fusion differ"):
        fusion_of().export(tmp_path / "x", "python")
    assert not (tmp_path / "x").exists()


def test_the_function_refuses_what_the_fusion_refuses(tmp_path):
    fusion_of().export(tmp_path / "x", "python")
    space = {}
    exec((tmp_path / "x").read_text(), space)
    with pytest.raises(ValueError, match="no run is called 'bm52'"):
        space["fuse"]({"bm52": []})
    with pytest.raises(ValueError, match="'bm25' has a document twice"):
        space["fuse"]({"bm25": [("a", 1.0), ("a", 2.0)]})
    assert space["fuse"]({}) == []


def test_rules_that_a_function_does_not_compute_are_refused(tmp_path):
    with pytest.raises(NotRankedError, match="the ranking by condorcet, and functions compute"):
        fusion_of(extra=Fusion("condorcet")).export(tmp_path / "x", "python")
    with pytest.raises(ParameterError, match="a fusion in python takes no dialect"):
        fusion_of().export(tmp_path / "x", "python", dialect="sqlite")


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
    assert done.held in text
    assert "map over 20 queries" in done.held
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
    lists, qrels = judged
    with pytest.raises(ParameterError, match=r"takes one weight per run.* pass runs and qrels"):
        fusion_of().export(tmp_path / "x", "langchain")
    with pytest.raises(NotRankedError, match="no weights that are not negative"):
        reciprocal(-1.0, -1.0).export(tmp_path / "x", "langchain", runs=lists, qrels=qrels)
    with pytest.raises(ParameterError, match="did you mean 'langchain'"):
        export_fusion(fusion_of(), tmp_path / "x", "langchian")
    assert list(tmp_path.iterdir()) == []
    assert "python" in FUSION_TARGETS


def test_other_targets_take_the_columns_of_the_plan(tmp_path):
    done = fusion_of(scores=None).model.export(tmp_path / "x.sql", "sql", dialect="sqlite")
    assert done.verification.same_scores
