"""What an export refuses before a line is written, and the parts of a form by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from crucial.errors import NotRankedError, ParameterError
from crucial.export.export import Verification, check_export, engine_names, verified
from crucial.export.targets import target_named
from crucial.export.trees import ExportSettings
from crucial.model.additive import AdditiveRanker
from crucial.model.form import FormTree, ScoreForm, StepFunction, StraightPiece, score_form
from crucial.model.weak import ScaledFeature, Stump, Tree

NAMES = ("a", "b", "c", "d", "e", "f")
COLUMNS = {"columns": {"1": {"kind": "time", "unit": "days"}}}
X = np.array([[0.0, 1.0], [1.0, 2.0], [1.5, 0.0], [2.0, np.nan], [9.0, 3.0], [np.nan, 1.5]])


STUMPS = (Stump(0, 0.5, 0), Stump(1, 2.0, 1))


def form(rankers=STUMPS, weights=None, names=NAMES, training=None):
    weights = [1.0] * len(rankers) if weights is None else weights
    return score_form(AdditiveRanker(6, rankers, weights, names, training))


@pytest.mark.parametrize(
    ("target", "made", "settings", "error", "match"),
    [
        ("xgboost", {}, {"missing": "mean"}, ParameterError, "one of 'abstain', 'zero'"),
        ("xgboost", {}, {"dialect": "duckdb"}, ParameterError, "target xgboost takes no dialect"),
        ("onnx", {}, {"dialect": "ansi2"}, ParameterError, "target onnx takes no dialect: leave"),
        ("xgboost", {"rankers": [ScaledFeature(0, 0.0, 1.0, 0.5)]}, {}, NotRankedError,
         "straight pieces .* xgboost holds trees alone: export to .* or "),
        ("python", {}, {"probability": True}, NotRankedError, "this model has no probabilities"),
        ("xgboost", {"weights": [3e38, 1e38]}, {}, NotRankedError,
         "xgboost computes with float32, .* add up to 4e"),
        ("python", {"training": COLUMNS}, {}, NotRankedError,
         r"python takes numbers, and 'b' is a column of dates: .*days since 1970-01-01"),
    ],
)  # fmt: skip
def test_what_a_target_cannot_hold(target, made, settings, error, match):
    with pytest.raises(error, match=match):
        check_export(target_named(target), form(**made), ExportSettings(**settings))


@pytest.mark.parametrize(("target", "made", "settings"), [
    ("xgboost", {}, {}),
    ("sql", {}, {"dialect": "duckdb"}),
    ("python", {"rankers": [ScaledFeature(0, 0.0, 1.0, 0.5)]}, {}),
    ("xgboost", {}, {"missing": "zero"}),
    ("python", {"weights": [3e38, 1e38]}, {}),
    ("python", {"training": COLUMNS}, {"encoded": True}),
    ("python", {"training": COLUMNS, "rankers": [Stump(0, 0.5, 0)]}, {}),
])  # fmt: skip
def test_what_a_target_can_hold(target, made, settings):
    check_export(target_named(target), form(**made), ExportSettings(**settings))


@pytest.mark.parametrize(
    ("names", "features", "match"),
    [
        (NAMES, {"x": "y"}, r"features names 'x', which is no .* Its first is 'a'"),
        (NAMES, {"a": "b"}, "two features, 'a' and 'b', are called 'b' in the engine"),
        (None, {"f0": "title"}, r'finds features by their names, .* as in {"f1": "title_match"}'),
    ],
)  # fmt: skip
def test_names_that_an_engine_cannot_have(names, features, match):
    target = target_named("elasticsearch-ltr")
    with pytest.raises(ParameterError, match=match):
        engine_names(target, form(names=names), ExportSettings(features=features))


def test_names_in_the_engine():
    target = target_named("elasticsearch-ltr")
    settings = ExportSettings(features={"a": "title", "b": "a"})
    assert engine_names(target, form(), settings) == ("title", "a", "c", "d", "e", "f")


@pytest.mark.parametrize("k", [1, 2, 5])
def test_a_step_function_is_its_tree(k):
    step = StepFunction(0, np.arange(1.0, k + 1.0), np.arange(k + 1.0) ** 2, -1.0)
    x = np.append(np.arange(0.0, k + 1.5, 0.5), np.nan)[:, None]
    below = np.array([np.sum(step.thresholds < one) for one in x[:, 0]])
    expected = np.where(np.isnan(x[:, 0]), -1.0, below.astype(float) ** 2)
    assert step.scores(x).tolist() == expected.tolist()
    assert step.tree().scores(x).tolist() == expected.tolist()


def test_a_straight_piece():
    piece = StraightPiece(0, 1.0, 3.0, 1.0, 0.25, 4.0)
    found = piece.scores(np.array([[0.0], [1.0], [2.0], [5.0], [np.nan]]))
    assert found.tolist() == [0.0, 0.0, 2.0, 4.0, 1.0]


def shared():
    """Two nodes lead to the third: right if exactly one of two features is above 1."""
    return FormTree(
        np.array([0, 1, 1]), np.array([1.0, 1.0, 1.0]), np.array([False, True, False]),
        np.array([1, ~0, ~1]), np.array([2, ~1, ~0]), np.array([-1.0, 1.0]), np.zeros(3, int),
    )  # fmt: skip


def test_a_spread_tree_scores_the_same():
    whole, spread = shared(), shared().spread()
    assert spread.parts is None
    assert sorted([*spread.left, *spread.right]) == [-4, -3, -2, -1, 1, 2]
    assert spread.scores(X).tolist() == whole.scores(X).tolist() == [-1, 1, 1, 1, -1, 1]
    assert shared().spread(3) is not None
    assert shared().spread(2) is None
    assert spread.spread() is spread


def test_a_tree_without_a_node_is_its_leaf():
    none = np.zeros(0, int)
    leaf = FormTree(none, np.zeros(0), none.astype(bool), none, none, np.array([2.5]))
    assert leaf.scores(X).tolist() == [2.5] * 6


def test_a_form_adds_up_its_parts():
    step = StepFunction(0, np.array([1.0]), np.array([-2.0, 3.0]), -4.0)
    piece = StraightPiece(1, 0.0, 2.0, 1.0, 0.25, -8.0)
    whole = ScoreForm(
        3, ("a", "b", "c"), True, (step,), (shared(),), (piece,), 10.0, divisor=2.0, offset=1.0
    )
    parts = step.scores(X) + shared().scores(X) + piece.scores(X)
    assert whole.scores(X).tolist() == ((parts + 10.0) / 2.0 + 1.0).tolist()
    assert whole.used == (0, 1)
    assert {k: v.tolist() for k, v in whole.cuts().items()} == {0: [1.0], 1: [0.0, 1.0, 2.0]}
    assert whole.largest() == (4.0 + 1.0 + 8.0 + 10.0) / 2.0 + 1.0
    assert whole.lowest() == (-4.0 - 1.0 - 8.0 + 10.0) / 2.0 + 1.0
    assert [len(tree.features) for tree in whole.all_trees()] == [2, 3]


def test_bounds_of_pieces_with_far_defaults():
    far = ScoreForm(1, ("a",), True, (), (), (StraightPiece(0, 0.0, 1.0, 1.0, -3.0, 2.0),))
    assert (far.largest(), far.lowest()) == (6.0, -6.0)
    near = ScoreForm(1, ("a",), True, (), (), (StraightPiece(0, 0.0, 1.0, 1.0, 0.5, 2.0),))
    assert (near.largest(), near.lowest()) == (2.0, 0.0)


def test_columns_are_counted():
    training = {"columns": {str(j): {"kind": "time", "unit": "days"} for j in (0, 1)}}
    with pytest.raises(NotRankedError, match="'a', 'b' are columns of dates"):
        check_export(target_named("python"), form(training=training), ExportSettings())


@pytest.mark.parametrize(
    ("n_data", "same", "n_swapped", "text"),
    [
        (0, True, 0, "1,000 rows, 7 on thresholds, sqlite: identical order, scores equal"),
        (200, False, 0, "1,000 rows (200 of the data), 7 on thresholds, sqlite: identical order, "
         "scores within 1e-09"),
        (0, False, 3, "1,000 rows, 7 on thresholds, sqlite: 3 of 999 neighbours in the order "
         "differ, by rounding, scores within 1e-09"),
    ],
)  # fmt: skip
def test_what_is_said_of_a_verification(n_data, same, n_swapped, text):
    assert str(Verification(1000, n_data, 7, "sqlite", same, n_swapped, 1e-9, 0.0)) == text


def verify(engine=None, twin=0.0, numbers="float64", rounding=0.5, probability=False, **more):
    """Verify an export whose twin and engine are off by some amounts, at two rows."""

    def tried(content, rows, form, settings):
        if isinstance(engine, Exception):
            raise engine
        return (None if engine is None else rows[:, 0] + engine), "engine 1.0"

    target = SimpleNamespace(
        name="target", engine_name=more.get("engine_name", "engine"), numbers=numbers,
        twin=lambda content, rows, form, settings: rows[:, 0] + twin,
        engine=None if more.get("no_engine") else tried, rounding=lambda form: rounding,
    )  # fmt: skip
    settings, rows = ExportSettings(probability=probability), np.array([[0.5, 0.0], [2.0, 0.0]])
    return verified(target, b"", form(), settings, rows, rows[:, 0], 1)


def test_a_verified_export():
    found = verify()
    assert str(found) == (
        "2 rows (1 of the data), 1 on thresholds, engine 1.0: identical order, scores equal"
    )
    assert (found.difference, found.lowest, found.n_swapped) == (0.0, 0.5, 0)
    assert verify(no_engine=True).by == "the twin of engine's evaluation"
    assert verify(no_engine=True, engine_name="").by == "the twin of target's evaluation"
    found = verify(ImportError("no module"), twin=0.25)
    assert found.by == "the twin of engine's evaluation (no module)"
    assert (found.same_scores, found.difference, found.lowest) == (False, 0.25, 0.75)
    assert verify(0.25).difference == 0.25
    assert verify(0.25, 0.25, numbers="float32").difference == 0.25
    assert verify(5e-7, probability=True, rounding=1e-6).difference == pytest.approx(5e-7)
    assert verify(5e-13, probability=True, rounding=0.0).difference < 1e-12


@pytest.mark.parametrize("off", [
    {"twin": 0.75, "no_engine": True},
    {"engine": 0.75},
    {"engine": 0.25, "numbers": "float32"},
    {"engine": 2e-6, "probability": True},
    {"engine": 5e-7, "probability": True, "rounding": 0.0},
    {"engine": np.nan},
])  # fmt: skip
def test_an_export_that_scores_differently_is_not_written(off):
    with pytest.raises(
        NotRankedError, match=r"the export was not written: .* differ on 2 of 2 rows"
    ):
        verify(**off)


@pytest.mark.parametrize("name", ["elasticsearch", "elasticsearch-ltr", "solr"])
def test_trees_of_very_many_levels_are_refused(name, tmp_path):
    n = 1500
    chain = Tree(
        (0,) * n, tuple(map(float, range(n))), (0,) * n, tuple(~leaf for leaf in range(n)),
        (*range(1, n), ~n), (1.0,) * n, tuple(map(float, range(n + 1))),
    )  # fmt: skip
    model = AdditiveRanker(1, [chain], [1.0], ["a"])
    with pytest.raises(NotRankedError, match=f"too many levels for {name}.*or export to xgboost"):
        model.export(tmp_path / "x", name, data=[[1.0], [2.0]])
    assert list(tmp_path.iterdir()) == []
    for other in ("xgboost", "lightgbm", "python"):
        model.export(tmp_path / other, other)
