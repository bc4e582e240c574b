"""What an export refuses before a line is written, and the parts of a form by hand."""

import ast
import builtins
import re
import shutil
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from crucial.errors import NotRankedError, ParameterError
from crucial.export import trees as forest
from crucial.export.export import check_export, engine_names, trial_rows, verified
from crucial.export.programs import RESERVED
from crucial.export.targets import target_named
from crucial.export.trees import EngineForest, ExportSettings, NestedNode, flattened
from crucial.model.additive import AdditiveRanker
from crucial.model.form import FormTree, ScoreForm, StepFunction, StraightPiece, score_form
from crucial.model.weak import ScaledFeature, Stump, Tree
from refusals import refused

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
        (NAMES, {"aa": "y"}, r"features names 'aa'.*Did you mean 'a'\?"),
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
    assert verify(no_engine=True).by == "our reference implementation of engine"
    assert verify(no_engine=True, engine_name="").by == "our reference implementation of target"
    found = verify(ImportError("no module"), twin=0.25)
    assert found.by == "our reference implementation of engine (no module)"
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
    refused(NotRankedError, r"the export was not written: .* differ on 2 of 2 rows", verify, **off)


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


# -- engines' trees, walked in blocks of rows, against a walk of one row and one tree at a time ---


def random_tree(rng, depth):
    """Return a nested tree: a leaf, or (feature, threshold, missing_left, children)."""
    if depth == 0 or rng.random() < 0.2:
        return float(rng.normal())
    children = (random_tree(rng, depth - 1), random_tree(rng, depth - 1))
    return int(rng.integers(3)), float(rng.integers(4)) / 3, bool(rng.integers(2)), children


def read(part):
    if isinstance(part, float):
        return NestedNode(part)
    feature, threshold, _, children = part
    return NestedNode(0.0, feature, threshold, children)


def engine_trees(nested):
    """Return nested trees with the sides of missing values, of which `flattened` knows nothing."""
    sides = []

    def noted(part):
        sides.append(not isinstance(part, float) and part[2])
        return read(part)

    return replace(flattened(nested, noted), missing_left=np.array(sides))


def naive(trees, X, test, numbers, sums, start):
    """Return the scores: every row down every tree, node after node."""
    out = []
    for row in X.astype(numbers):
        total = sums(start)
        for node in trees:
            while not isinstance(node, float):
                feature, threshold, missing_left, children = node
                x, t = row[feature], numbers(threshold)
                below = missing_left if np.isnan(x) else x < t if test == "<" else x <= t
                node = children[0 if below else 1]
            total = sums(total + sums(node))
        out.append(float(total))
    return out


@pytest.mark.parametrize("test", ["<", "<="])
@pytest.mark.parametrize("numbers", [np.float32, np.float64])
@pytest.mark.parametrize("sums", [np.float32, np.float64])
@pytest.mark.parametrize("cells", [1, 7, 24, 1 << 18])
def test_scores_are_those_of_a_walk_by_hand(monkeypatch, test, numbers, sums, cells):
    monkeypatch.setattr(forest, "_WALK_CELLS", cells)
    rng = np.random.default_rng(cells)
    nested = [random_tree(rng, 4) for _ in range(6)]
    X = rng.integers(0, 4, (25, 3)) / 3  # (many values are on a threshold)
    X[rng.random(X.shape) < 0.2] = np.nan
    made = EngineForest(engine_trees(nested), test, numbers, sums)
    assert made.scores(X, 0.1).tolist() == naive(nested, X, test, numbers, sums, 0.1)
    assert made.scores(X).tolist() == naive(nested, X, test, numbers, sums, 0.0)
    alone = [naive([one], X, test, numbers, sums, 0.0) for one in nested]
    assert made.leaves(X).tolist() == np.transpose(alone).tolist()
    assert made.leaves(X).dtype == sums
    counts, leaves = made.counts(X), made.trees.features < 0
    assert counts[~leaves].tolist() == [0] * int((~leaves).sum())
    assert counts.sum() == 6 * len(X)
    found = sorted(zip(made.trees.values[leaves].astype(sums), counts[leaves], strict=True))
    reached = Counter(value for values in alone for value in values)
    assert {value: count for value, count in found if count} == reached


def test_missing_values_go_right_where_no_node_says_otherwise():
    nested = [(0, 1.0, False, (1.0, (1, 2.0, False, (3.0, 5.0))))]
    made = EngineForest(flattened(nested, read), "<", np.float64, np.float64)
    assert made.scores(np.array([[np.nan, np.nan], [0.0, np.nan], [np.nan, 1.0]])).tolist() == [
        5.0, 1.0, 3.0,
    ]  # fmt: skip


def test_numbers_beyond_float32_become_infinite_without_a_note(recwarn):
    nested = [(0, 1e39, False, (1.0, 2.0))]
    made = EngineForest(flattened(nested, read), "<", np.float32, np.float64)
    assert made.scores(np.array([[3e38], [1e300], [-1e300]])).tolist() == [1.0, 2.0, 1.0]
    assert len(recwarn) == 0


# -- names of exported functions, models and tables: what a language or format cannot hold --------


MODEL = AdditiveRanker(
    2,
    [Stump(0, 0.5, 0), Stump(1, -1.0, 1)],
    [1.0, 0.25],
    ["a", "b"],
    {"estimator": "LogitBoost"},  # (so that it has probabilities)
)


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("python", "float"), ("python", "FEATURES"), ("python", "_numbers"), ("python", "exp"),
        ("python", "class"), ("python", "print"),
        ("javascript", "class"), ("javascript", "eval"), ("javascript", "Math"),
        ("javascript", "module"), ("javascript", "let"),
        ("c", "int"), ("c", "values"), ("c", "exp"), ("c", "main"), ("c", "SEARCH"),
    ],
)  # fmt: skip
def test_words_of_the_language_and_of_the_file_are_no_names(target, name, tmp_path):
    with pytest.raises(ParameterError, match=f"'{name}' means something else in .*{name}_score"):
        MODEL.export(tmp_path / "x", target, name=name, verify=False)
    assert not (tmp_path / "x").exists()
    MODEL.export(tmp_path / "x", target, name=f"{name}_score")


@pytest.mark.parametrize("name", ["", "a b", "1st", "a-b", 'f"', "größe", "x;y", "a" * 3 + "\n"])
@pytest.mark.parametrize("target", ["python", "javascript", "c"])
def test_a_function_has_a_plain_name(target, name, tmp_path):
    refused(ParameterError, "must be a name of a", MODEL.export, tmp_path / "x", target, name=name)


def test_what_a_python_module_defines_is_reserved(tmp_path):
    MODEL.export(tmp_path / "x.py", "python", name="my_own", probability=True)
    tree = ast.parse((tmp_path / "x.py").read_text())
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    outside = [one for one in tree.body if not isinstance(one, ast.FunctionDef)]
    own = {node.id for part in outside for node in ast.walk(part) if isinstance(node, ast.Name)}
    own |= {name.name for part in outside for name in getattr(part, "names", [])}
    own |= {one.name for one in tree.body if isinstance(one, ast.FunctionDef)} - {"my_own"}
    assert own - {"my_own"} <= RESERVED["Python"]
    assert {name for name in stored if hasattr(builtins, name)} <= RESERVED["Python"]


def test_what_a_c_file_defines_is_reserved(tmp_path):
    MODEL.export(tmp_path / "x.c", "c", name="my_own", probability=True)
    text = (tmp_path / "x.c").read_text()
    own = set(re.findall(r"#define (\w+)", text))
    own |= set(re.findall(r"^static (?:const )?(?:int|double) (\w+)", text, re.MULTILINE))
    own |= set(re.findall(r"(?:static const double|,) (divisor|offset) = ", text))
    assert len(own) > 15
    assert own <= RESERVED["C"]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")
@pytest.mark.parametrize("name", ["free", "malloc", "printf", "powf"])
def test_functions_of_the_c_library_are_refused_by_the_compiler(name, tmp_path):
    with pytest.raises(ParameterError, match=f"refuses the file with a function called '{name}'"):
        MODEL.export(tmp_path / "x.c", "c", name=name)
    assert not (tmp_path / "x.c").exists()


@pytest.mark.parametrize(("name", "dialect", "message"), [
    ("", "sqlite", "a table in this dialect has a name of 1 to 255 bytes"),
    ("t\0", "ansi", "none of them NUL"),
    ("t" * 64, "postgres", "1 to 63 bytes.* Got 't{40}' .64 bytes."),
    ("a`b" + "t" * 64, "bigquery", "has no '`' in its name. Got 'a`bt{37}'"),
])  # fmt: skip
def test_tables_have_names_that_a_database_can_hold(name, dialect, message, tmp_path):
    with pytest.raises(ParameterError, match=f"{message}.*with name"):
        MODEL.export(tmp_path / "x", "sql", name=name, dialect=dialect)


def test_a_table_of_bigquery_is_named_with_its_data_set(tmp_path):
    MODEL.export(tmp_path / "x", "sql", name="project.data.rows", dialect="bigquery")
    assert "FROM `project.data.rows`" in (tmp_path / "x").read_text()


def test_rows_on_trial_have_every_side_and_none():
    """Cuts, their neighbours and missing values, of the used features alone."""
    made = form()
    rows = trial_rows(made, made.cuts(), 400, target_named("python"))
    assert np.isnan(rows).any(axis=0).tolist() == [True, True, False, False, False, False]
    assert (rows[:, 2:] == 0.0).all()
    for feature, cut in ((0, 0.5), (1, 2.0)):
        expected = {cut, np.nextafter(cut, -np.inf), np.nextafter(cut, np.inf)}
        assert expected <= {*rows[:, feature]}
