"""Every target scores random models of every kind as they score themselves, or refuses them."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from crucial.errors import NotRankedError, ParameterError
from crucial.export.export import _shift
from crucial.export.targets import TARGETS, target_named
from crucial.export.trees import ExportSettings
from crucial.model.additive import AdditiveRanker
from crucial.model.form import score_form
from crucial.model.weak import Stump, Tree
from naive.random_models import KINDS, random_model, random_rows
from refusals import refused

NAMES = ("price", "length", "clicks", "age")
LOGIT = {"estimator": "LogitBoost"}


@pytest.fixture(autouse=True)
def fewer_rows(monkeypatch):
    monkeypatch.setattr("crucial.export.export._ROWS", 400)


def settings_of(target):
    """Return the settings that a target needs; Solr cannot have every threshold exactly."""
    rows = random_rows(None, 0).astype(np.float32).astype(np.float64)
    return {"data": rows} if target.name == "solr" else {}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 25), marks=pytest.mark.slow)])
def test_a_target_scores_as_the_model_or_refuses(name, kind, tmp_path, seeds):
    target = target_named(name)
    for seed in seeds:
        model = random_model(kind, seed, n_rounds=12, names=NAMES, float32=True)
        path = tmp_path / f"{seed}"
        settings = settings_of(target)
        if score_form(model).pieces and "pieces" not in target.holds:
            refused(NotRankedError, "straight pieces", model.export, path, name, **settings)
            assert not path.exists()
            continue
        done = model.export(path, name, **settings)
        assert path.read_bytes()
        assert done.verification.n_rows >= 200
        form = score_form(model)
        form = replace(form, offset=float(target.rejects_negative and form.may_be_negative))
        exact = target.numbers == "float64" and not target.reorders(form)
        assert done.verification.same_scores or not exact


LUCENE = ("elasticsearch", "elasticsearch-ltr", "opensearch-ltr", "solr")


@pytest.mark.parametrize("name", TARGETS)
def test_engines_of_lucene_get_no_negative_scores(name, tmp_path):
    model = random_model("trees", 3, names=NAMES, float32=True)
    settings = settings_of(target_named(name))
    form = score_form(model)
    assert form.lowest() < 0.0
    done = model.export(tmp_path / "x", name, **settings)
    plain = model.export(tmp_path / "plain", name, shift=False, **settings)
    same = (tmp_path / "x").read_bytes() == (tmp_path / "plain").read_bytes()
    assert same == (name not in LUCENE)
    assert (done.verification.lowest >= 0.0) == (name in LUCENE)
    assert plain.verification.lowest < 0.0
    negative = f"scores may be negative, down to {form.lowest():.3g}, which Lucene rejects"
    assert (negative in plain.notes) == (name in LUCENE)
    if name not in LUCENE:
        assert not any("negative" in note for note in (*done.notes, *plain.notes))
        return
    shift = float(re.search(r"model's plus (\S+), so that none is negative, which", str(done))[1])
    assert shift == pytest.approx(-form.lowest(), abs=1e-4)
    # What cannot be negative stays as it is, and so does a probability.
    steps = [Stump(at, 0.5, 0) for at in range(4)]
    upward = AdditiveRanker(4, steps, [0.5, 1.0, 2.0, 4.0], NAMES)
    assert not any(
        "score" in note for note in upward.export(tmp_path / "x", name, **settings).notes
    )
    if "probability" in target_named(name).takes:
        chances = AdditiveRanker(4, model.rankers, model.weights, NAMES, LOGIT)
        done = chances.export(tmp_path / "x", name, probability=True, **settings)
        assert 0.0 < done.verification.lowest < 0.5
        assert not any("negative" in note for note in done.notes)
        with pytest.raises(ParameterError, match="no probability is negative, and shifted"):
            chances.export(tmp_path / "x", name, probability=True, shift=True, **settings)


@pytest.mark.parametrize("kind", ["stumps", "trees", "ranking_trees"])
@pytest.mark.parametrize("name", LUCENE)
def test_a_shift_keeps_order_and_ties(name, kind, tmp_path):
    """The engine's own sum plus a constant is rounded once, which keeps the order."""
    target = target_named(name)
    settings = settings_of(target)
    for seed in range(4):
        model = random_model(kind, seed, n_rounds=60, names=NAMES, float32=True)
        form = score_form(model)
        X = random_rows(model, seed, 2000).astype(np.float32).astype(np.float64)
        X[np.abs(X) < 1e-30] = 0.0  # (Solr moves thresholds, and has no numbers there)
        plain, shifted = (
            target.twin((tmp_path / "x").read_bytes(), X, form, ExportSettings())
            for shift in (False, True)
            if model.export(tmp_path / "x", name, shift=shift, **settings)
        )
        constant = target.dtype(_shift(target, form, ExportSettings(shift=True)))
        assert shifted.tolist() == (plain.astype(target.dtype) + constant).tolist()
        order = np.argsort(plain, kind="stable")
        assert (np.diff(shifted[order]) >= 0.0).all()
        tied = np.diff(plain[order]) == 0.0
        assert (np.diff(shifted[order])[tied] == 0.0).all()
        assert shifted.min() >= 0.0


@pytest.mark.parametrize("name", [n for n in TARGETS if "probability" in target_named(n).takes])
def test_probabilities_are_those_of_the_model(name, tmp_path):
    drawn = random_model("trees", 3, names=NAMES, float32=True)
    model = AdditiveRanker(4, drawn.rankers, drawn.weights, NAMES, LOGIT)
    X = np.nan_to_num(random_rows(model, 0)).astype(np.float32).astype(np.float64)
    model.export(tmp_path / "x", name, probability=True, **settings_of(target_named(name)))
    form, settings = score_form(model), ExportSettings(probability=True)
    found = target_named(name).twin((tmp_path / "x").read_bytes(), X, form, settings)
    np.testing.assert_allclose(found, 1.0 / (1.0 + np.exp(-2.0 * form.scores(X))), rtol=1e-5)


def test_nodes_of_elasticsearch_are_numbered_and_found_by_their_numbers(tmp_path):
    model = random_model("trees", 3, names=NAMES, float32=True)
    settings = settings_of(target_named("elasticsearch-ltr"))
    model.export(tmp_path / "x", "elasticsearch-ltr", **settings)
    model.export(tmp_path / "named", "elasticsearch-ltr", name="mine", **settings)
    named = json.loads((tmp_path / "named").read_text())["model"]
    assert named["name"] == "mine"
    assert json.loads(named["model"]["definition"]) == json.loads((tmp_path / "x").read_text())

    def numbers(node):
        if "children" not in node:
            return [node["nodeid"]]
        left, right = node["children"]
        assert (left["nodeid"], right["nodeid"]) == (node["yes"], node["no"])
        return [node["nodeid"], *numbers(left), *numbers(right)]

    for tree in json.loads((tmp_path / "x").read_text())["splits"]:
        found = numbers(tree)
        assert found == list(range(len(found)))


def test_what_no_target_can_do_is_refused_in_one_line(tmp_path):
    model = random_model("stumps", 0, names=NAMES)
    for settings, match in (
        ({"missing": "none"}, "missing"),
        ({"shft": True}, "unknown setting of an export 'shft'; did you mean 'shift'"),
        ({"data": [[0.0, 1.0]]}, "2 features"),
    ):
        refused(ValueError, match, model.export, tmp_path / "x", "xgboost", **settings)
    said = "unknown target 'xgbost'; did you mean 'xgboost'"
    refused(ParameterError, said, model.export, tmp_path / "x", "xgbost")
    assert list(tmp_path.iterdir()) == []


def test_xgboost_finds_the_right_child_beside_the_left_one(tmp_path):
    # (nodes in an order in which the two children of one are not neighbours)
    tree = Tree(
        (0, 1, 2, 3), (0.0, 0.5, 1.0, -1.0), (0, 1, 0, 1), (1, 3, ~1, ~3), (2, ~0, ~2, ~4),
        (1.0,) * 4, (1.0, 2.0, 4.0, 8.0, 16.0),
    )  # fmt: skip
    model = AdditiveRanker(4, [tree], [1.0], NAMES)
    done = model.export(tmp_path / "x.json", "xgboost")
    assert done.verification.same_scores
    written = json.loads((tmp_path / "x.json").read_text())
    (one,) = written["learner"]["gradient_booster"]["model"]["trees"]
    for left, right in zip(one["left_children"], one["right_children"]):
        assert right == (left + 1 if left >= 0 else -1)


@pytest.mark.parametrize("kind", ["trees", "mixed", "ranking_trees"])
def test_onnx_adds_batches_of_trees_in_the_order_of_the_model(kind, tmp_path, monkeypatch):
    onnx = pytest.importorskip("onnx")
    monkeypatch.setattr("crucial.export.onnx_file._TREES", 3)
    model = random_model(kind, 4, n_rounds=40, names=NAMES)
    assert model.export(tmp_path / "x", "onnx").verification.same_scores
    form = score_form(model)
    operators = [one.op_type for one in onnx.load(tmp_path / "x").graph.node]
    batches = -(-len(form.steps) // 3) + -(-len(form.trees) // 3)
    assert operators.count("TreeEnsembleRegressor") == batches
    # (trees before sums: otherwise runtimes keep the leaves of all trees in memory)
    after = operators[operators.index("Concat") :]
    assert "TreeEnsembleRegressor" not in after or form.steps
