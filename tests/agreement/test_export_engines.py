"""Engines score real data as the models do, read from the files by themselves.

The rows are those of scikit-learn's data sets with some values missing: rows that the models have
learned from, others, and rows that hit thresholds exactly. What an export verifies by itself is
switched off.
"""

import math
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_diabetes

import crucial
from crucial.errors import CrucialError, NotRankedError
from crucial.export.targets import TARGETS, target_named
from crucial.export.trees import ExportSettings, plain_trees
from crucial.model.form import score_form
from crucial.rankers.registry import RANKERS, ranker_class
from naive.random_models import KINDS, random_model
from refusals import refused


def real_rows(name):
    """Return rows and two labels; some values are missing, more often where the label is higher."""
    data = {"cancer": load_breast_cancer, "diabetes": load_diabetes}[name]()
    X, y = data.data.copy(), (data.target > np.median(data.target)).astype(int)
    random = np.random.default_rng(0)
    X[random.random(X.shape) < np.where(y, 0.15, 0.05)[:, None]] = np.nan
    return X, y if name == "diabetes" else data.target


MODELS = {
    "stumps": lambda: crucial.RankBoost(150),
    "trees": lambda: crucial.GradientRanker(30, symmetric=False, max_leaves=12, min_rows=5, l2=1.0),
    "symmetric": lambda: crucial.GradientRanker(12, max_leaves=8),
    "ranking forest": lambda: crucial.rankers.RankingForest(4, random_state=0),
    "lines": lambda: crucial.rankers.RankingSVM(),
}


@pytest.fixture(scope="module", params=["cancer", "diabetes"])
def data(request):
    return real_rows(request.param)


@pytest.fixture(scope="module", params=MODELS)
def held(request, data):
    """Return a model, the rows it has learned from, and more: also at every threshold."""
    X, y = data
    model = MODELS[request.param]().fit(X[::2], y[::2]).model_
    rows = [X]
    for feature, cuts in score_form(model).cuts().items():
        hit = np.repeat(X[:3], len(cuts), axis=0)
        hit[:, feature] = np.tile(cuts, 3)
        rows.append(hit)
    return model, X, np.concatenate(rows)


def named(model):
    return {f"f{at}": f"column {at}" for at in range(model.n_features)}


def exported(model, target, path, **settings):
    """Write a file; None, after a look at the refusal, where the target holds trees alone."""
    if score_form(model).pieces and "pieces" not in target_named(target).holds:
        refused(NotRankedError, "straight pieces", model.export, path, target, **settings)
        return None
    model.export(path, target, verify=False, **settings)
    return path


def same_order(found, expected, reach):
    """Scores agree to rounding, and rows whose scores differ by more have the same order."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=reach)
    order = np.argsort(expected, kind="stable")
    apart = np.diff(expected[order]) > 2 * reach
    assert (np.diff(found[order])[apart] > 0).all()


def float32_rows(model, rows):
    """Return the rows that float32 leaves on their sides of the thresholds, as all others are."""
    rounded = rows.astype(np.float32).astype(float)
    keep = np.ones(len(rows), bool)
    for feature, cuts in score_form(model).cuts().items():
        keep &= np.searchsorted(cuts, rows[:, feature]) == np.searchsorted(
            cuts, rounded[:, feature]
        )
    return keep


@pytest.mark.parametrize("reader", ["xgboost", "treelite"])
def test_readers_of_xgboost_files(reader, held, tmp_path):
    engine = pytest.importorskip(reader)
    model, X, rows = held
    path = exported(model, "xgboost", tmp_path / "x.json", data=X)
    if path is None:
        return
    # (all of the data are on their sides; of the rows at thresholds those that float32 keeps)
    keep = float32_rows(model, rows) | (np.arange(len(rows)) < len(X))
    rows = rows[keep]
    if reader == "xgboost":
        booster = engine.Booster(model_file=path)
        found = booster.predict(engine.DMatrix(rows, feature_names=booster.feature_names))
    else:
        forest = engine.frontend.load_xgboost_model(path)
        found = engine.gtil.predict(forest, rows.astype(np.float32)).ravel()
    same_order(found.astype(float), model.predict(rows), 1e-5 * score_form(model).largest())


@pytest.mark.parametrize("reader", ["lightgbm", "treelite"])
def test_readers_of_lightgbm_files(reader, held, tmp_path):
    engine = pytest.importorskip(reader)
    model, X, rows = held
    path = exported(model, "lightgbm", tmp_path / "x.txt", data=X)
    if path is None:
        return
    if reader == "lightgbm":
        found = engine.Booster(model_file=path).predict(rows)
    else:
        forest = engine.frontend.load_lightgbm_model(path)
        found = engine.gtil.predict(forest, rows).ravel()
    if reader == "lightgbm" and score_form(model).divisor == 1.0:
        assert found.tolist() == model.predict(rows).tolist()
    same_order(found, model.predict(rows), 1e-14 * score_form(model).largest())


def test_onnxruntime_gives_the_same_bits(held, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    model, _, rows = held
    path = exported(model, "onnx", tmp_path / "x.onnx")
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    found = session.run(["score"], {"X": rows})[0].ravel()
    assert found.tolist() == model.predict(rows).tolist()
    assert session.run(["score"], {"X": rows[:0]})[0].shape == (0, 1)


def shapley(tree, counts, row):
    """Return the Shapley values of a tree's features, and its mean, from all sets of features.

    A feature outside the set is averaged over: both sides of its nodes, by their counts of leaves.
    """
    if not len(tree.features):
        return np.zeros(len(row)), tree.values[0]

    def rows_below(node):
        if node < 0:
            return counts[~node]
        return rows_below(tree.left[node]) + rows_below(tree.right[node])

    def mean(node, known):
        if node < 0:
            return tree.values[~node]
        x, sides = row[tree.features[node]], (tree.left[node], tree.right[node])
        if tree.features[node] in known:
            right = tree.missing_right[node] if np.isnan(x) else x > tree.thresholds[node]
            return mean(sides[int(right)], known)
        weights = [rows_below(side) for side in sides]
        return np.average([mean(side, known) for side in sides], weights=weights)

    n, out = len(row), np.zeros(len(row))
    for feature in range(n):
        others = [one for one in range(n) if one != feature]
        for size in range(n):
            share = 1 / (n * math.comb(n - 1, size))
            for known in combinations(others, size):
                gained = mean(0, {*known, feature}) - mean(0, {*known})
                out[feature] += share * gained
    return out, mean(0, set())


def counted(tree, X):
    """Return how many rows end in each leaf, one row after the other; 1 where none does."""
    counts = [0] * len(tree.values)
    for row in X:
        node = 0 if len(tree.features) else ~0
        while node >= 0:
            x = row[tree.features[node]]
            right = tree.missing_right[node] if np.isnan(x) else x > tree.thresholds[node]
            node = tree.right[node] if right else tree.left[node]
        counts[~node] += 1
    return [max(1, count) for count in counts]


@pytest.mark.parametrize("with_data", [True, False])
@pytest.mark.parametrize("kind", ["stumps", "trees", "ranking forest"])
@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_shap_values_are_those_of_the_rows(name, kind, with_data, tmp_path, monkeypatch):
    engine = pytest.importorskip(name)
    monkeypatch.setattr("crucial.export.trees._CELLS", 100)  # (25 rows at a time)
    X, y = real_rows("diabetes")
    X = X[:120, [0, 2, 3, 8]].astype(np.float32).astype(float)
    model = MODELS[kind]().fit(X, y[:120]).model_
    rows = np.concatenate((X[:4], np.full((1, 4), np.nan)))
    done = model.export(tmp_path / "x.json", name, data=X if with_data else None)
    assert any("SHAP values" in note for note in done.notes)
    assert ("pass the training data" in str(done)) == (not with_data)
    trees = plain_trees(score_form(model), ExportSettings())
    expected = np.zeros((5, 5))
    for tree in trees:
        counts = counted(tree, X) if with_data else [1] * len(tree.values)
        for place, row in enumerate(rows):
            values, mean = shapley(tree, counts, row)
            expected[place] += [*values, mean]
    if name == "lightgbm":
        found = engine.Booster(model_file=tmp_path / "x.json").predict(rows, pred_contrib=True)
    else:
        booster = engine.Booster(model_file=tmp_path / "x.json")
        table = engine.DMatrix(rows, feature_names=booster.feature_names)
        found = booster.predict(table, pred_contribs=True)
    reach = 1e-12 if name == "lightgbm" else 1e-5
    np.testing.assert_allclose(found, expected, rtol=0, atol=reach)
    np.testing.assert_allclose(found.sum(axis=1), model.predict(rows), rtol=0, atol=reach)
    if with_data:
        model.export(tmp_path / "sparse", name, data=csr_array(np.nan_to_num(X)))
        model.export(tmp_path / "zeros", name, data=X, missing="zero")
        model.export(tmp_path / "dense", name, data=np.nan_to_num(X))
        same = (tmp_path / "dense").read_bytes()
        assert (tmp_path / "sparse").read_bytes() == same
        note = b'"missing":"Exported with --missing zero: 0 stands for a missing value."'
        assert (tmp_path / "zeros").read_bytes().replace(note, b"") == same


_SCORE_FILES = """
import pathlib
import numpy
import onnxruntime

print(onnxruntime.__version__)
for path in sorted(pathlib.Path(".").glob("*.onnx")):
    for threads in (1, 2):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        only = ["CPUExecutionProvider"]
        session = onnxruntime.InferenceSession(str(path), options, providers=only)
        X, expected = (numpy.load(path.stem + end) for end in (".rows.npy", ".scores.npy"))
        alone = [session.run(None, {"X": X[row : row + 1]})[0] for row in range(50)]
        found = session.run(None, {"X": X})[0].ravel()
        reach = 1e-12 if path.stem == "probability" else 0.0
        assert (abs(found - expected) <= reach).all(), (path.stem, threads)
        assert (abs(numpy.ravel(alone) - expected[:50]) <= reach).all(), (path.stem, threads)
"""


def _onnx_cases():
    """Yield names, models, settings and rows: at thresholds, around them, and special numbers."""
    X, y = real_rows("cancer")
    wide = np.random.default_rng(1).normal(size=(80, 500))
    fitted = {name: (make().fit(X[::2], y[::2]).model_, {}) for name, make in MODELS.items()}
    fitted["wide"] = (crucial.RankBoost(200).fit(wide, y[:80]).model_, {})
    fitted["many"] = (crucial.GradientRanker(300, max_leaves=4).fit(X, y).model_, {})
    fitted["probability"] = (crucial.rankers.LogitBoost(20).fit(X, y).model_, {"probability": True})
    fitted |= {f"random {kind}": (random_model(kind, 3, 40), {}) for kind in KINDS}
    special = [0.0, -0.0, 5e-324, -5e-324, 1e-310, 1e-40, np.inf, -np.inf, 1.7e308, np.nan]
    for name, (model, settings) in fitted.items():
        form, random = score_form(model), np.random.default_rng(2)
        rows = random.normal(size=(600, form.n_features))
        for feature, cuts in form.cuts().items():
            beside = (np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf))
            hit = random.random(len(rows)) < 0.7
            pool = np.concatenate((cuts, *beside, special, np.full(len(cuts) // 3, np.nan)))
            rows[hit, feature] = random.choice(pool, hit.sum())
        yield name, model, settings, rows


@pytest.mark.slow
def test_every_onnxruntime_gives_the_same_bits(tmp_path):
    """A runtime of each minor version from 1.17 on, which the package registry has."""
    for name, model, settings, rows in _onnx_cases():
        exported(model, "onnx", tmp_path / f"{name}.onnx", **settings)
        form = score_form(model)
        scores = form.scores(rows)  # (predict takes no infinite values)
        if settings:
            scores = 1.0 / (1.0 + np.exp(-form.slope * scores))
        np.save(tmp_path / f"{name}.rows.npy", rows)
        np.save(tmp_path / f"{name}.scores.npy", scores)
    # (what a test starts reaches no network, by a module on this path)
    there = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*command):
        return subprocess.run(command, cwd=tmp_path, env=there, capture_output=True, text=True)

    listed = run(sys.executable, "-m", "pip", "index", "versions", "onnxruntime")
    if listed.returncode:
        pytest.skip(f"the package registry cannot be reached: {listed.stderr.strip()[-200:]}")
    minors = sorted({int(one) for one in re.findall(r"\b1\.(\d+)\.\d+\b", listed.stdout)})
    minors = [minor for minor in minors if minor >= 17]
    assert len(minors) > 3, listed.stdout
    problems = []
    for minor in minors:
        own = tmp_path / f"runtime {minor}"
        run(sys.executable, "-m", "venv", own)
        wanted = [f"onnxruntime==1.{minor}.*", *(["numpy<2"] if minor < 19 else [])]
        done = run(own / "bin" / "pip", "install", *wanted)
        if not done.returncode:
            done = run(own / "bin" / "python", "-c", _SCORE_FILES)
        if done.returncode or not done.stdout.startswith(f"1.{minor}."):
            problems.append((minor, done.stderr[-500:]))
        shutil.rmtree(own)
    assert problems == []


@pytest.mark.parametrize("database", ["sqlite", "duckdb"])
def test_databases_give_the_same_bits(database, held, tmp_path):
    model, _, rows = held
    path = exported(model, "sql", tmp_path / "x.sql", dialect=database, features=named(model))
    columns = ", ".join(f'"{name}" DOUBLE' for name in named(model).values())
    if database == "sqlite":
        connection = sqlite3.connect(":memory:")
        connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, 10**9)
    else:
        connection = pytest.importorskip("duckdb").connect()
    connection.execute(f"CREATE TABLE given ({columns})")
    marks = ", ".join("?" * model.n_features)
    values = [[None if x != x else x for x in row] for row in rows.tolist()]
    connection.executemany(f"INSERT INTO given VALUES ({marks})", values)
    found = connection.execute(f"SELECT ({path.read_text()}) FROM given").fetchall()
    connection.close()
    assert [score for (score,) in found] == model.predict(rows).tolist()


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.filterwarnings("ignore")
def test_every_ranker_exports_or_says_why_not(name, tmp_path, monkeypatch):
    monkeypatch.setattr("crucial.export.export._ROWS", 100)
    X, y = real_rows("diabetes")
    X, y = np.nan_to_num(X[:120, :5]), y[:120]
    few = {"n_estimators": 3} if "n_estimators" in ranker_class(name)().get_params() else {}
    model = ranker_class(name)(**few).fit(X, y)
    remedies = ("export to", "score with crucial rank", "train ")
    messages = []
    for target in TARGETS:
        names = {f"f{at}": f"x{at}" for at in range(5)}
        try:
            model.export(tmp_path / target, target, data=X, features=names)
        except CrucialError as refused:
            messages.append(str(refused))
    for message in messages:
        assert "\n" not in message
        assert any(remedy in message for remedy in remedies)
    done = len(list(tmp_path.iterdir()))
    assert done == len(TARGETS) - len(messages)
    queries = {"diffrank", "featurerank", "ranknet"}
    assert done == 0 if name in queries else done >= 5
