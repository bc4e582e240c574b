"""Exports that are programs: SQL dialects, names that attack, text, probabilities."""

import json
import math
import runpy
import shutil
import sqlite3
import subprocess
from datetime import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucial import RankBoost
from crucial.data.arrays import DAYS, time_number
from crucial.errors import NotRankedError, ParameterError
from crucial.export.sql import DIALECTS, exact_numbers
from crucial.export.targets import TARGETS, target_named
from crucial.export.trees import ExportSettings
from crucial.model.additive import AdditiveRanker
from crucial.model.form import region_tree, score_form
from crucial.model.weak import Presence, ScaledFeature, Stump, Tree
from crucial.rankers import RankingForest
from naive.random_models import random_model
from naive.sweep import holds_for

ATTACKS = ('pr"ice; DROP TABLE x--', "l`e'n gth", "clïcks */ \n */ ??/", "</script>" + "a" * 50)
CATEGORIES = {"it's": -0.2, "b\\": 0.3, "</x>\n": 0.6, 'd"': 2.0}
COLUMNS = {"1": {"kind": "category", "values": CATEGORIES}}


@pytest.fixture(autouse=True)
def fewer_rows(monkeypatch):
    monkeypatch.setattr("crucial.export.export._ROWS", 400)


def with_text(kind="mixed"):
    model = random_model(kind, 5, n_rounds=20, names=ATTACKS)
    training = {"columns": COLUMNS, "estimator": "LogitBoost"}
    return AdditiveRanker(4, model.rankers, model.weights, ATTACKS, training)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_scores_as_the_model(dialect, tmp_path):
    names = {name: f"c{at}" for at, name in enumerate(ATTACKS)} if dialect == "bigquery" else {}
    # (no table of BigQuery has quotes in its name)
    for name in (None, "data.rows" if dialect == "bigquery" else 'a "table`'):
        how = {"dialect": dialect, "name": name, "features": names}
        done = with_text().export(tmp_path / "x.sql", "sql", **how)
        assert done.verification.same_scores
    assert DIALECTS[dialect].quote in (tmp_path / "x.sql").read_text()


@pytest.mark.parametrize("target", ["sql", "python", "javascript"])
def test_text_and_probabilities(target, tmp_path):
    done = with_text().export(tmp_path / "x", target, probability=True)
    assert done.verification.difference < 1e-12
    assert done.verification.lowest >= 0.0


@pytest.mark.parametrize("target", ["python", "javascript"])
def test_numbers_of_categories_are_on_trial(target, tmp_path):
    model, X = with_text(), np.tile([[0.6], [-0.2], [0.3], [np.nan]], 4)
    form, settings = score_form(model), ExportSettings()
    model.export(tmp_path / "x", target)
    content, twin = (tmp_path / "x").read_bytes(), target_named(target).twin
    expected = form.scores(X).tolist()
    assert twin(content, X, form, settings).tolist() == expected
    between = b", " if target == "javascript" else b": "
    assert content.count(b"it's\"" + between + b"-0.2") == 1
    other = content.replace(b"it's\"" + between + b"-0.2", b"it's\"" + between + b"1.5")
    assert twin(other, X, form, settings).tolist() != expected


ODD_CATEGORIES = {
    "whole": [1, 4, 7, 10],
    "yes and no": [True, False],
    "fractions": [0.5, 1e-7, 1e22, -0.0],
    "beyond floats": [2**53, 2**53 + 1, 2**53 + 2],
    "words for nothing": ["null", "undefined", "NaN", "None", "__proto__", ""],
}


@pytest.mark.parametrize("kind", ODD_CATEGORIES)
def test_categories_that_are_numbers_or_names_of_nothing(kind, tmp_path):
    values = ODD_CATEGORIES[kind]
    which = np.arange(120) % len(values)
    column = pd.Categorical([values[at] for at in which])
    model = RankBoost(30).fit(pd.DataFrame({"shop": column}), which)
    assert len(np.unique(model.predict(pd.DataFrame({"shop": column})))) == len(values)
    asked = [*values, None, math.nan]
    expected = model.predict(pd.DataFrame({"shop": pd.Categorical(asked, column.categories)}))
    model.export(tmp_path / "x.py", "python")
    score = runpy.run_path(str(tmp_path / "x.py"))["score"]
    assert [score({"shop": one}) for one in asked] == expected.tolist()
    scorer = model.scorer()
    assert [scorer({"shop": one}) for one in asked] == expected.tolist()
    if shutil.which("node") is None:
        return
    model.export(tmp_path / "x.js", "javascript")
    words = [f"{one}n" if kind == "beyond floats" else json.dumps(one) for one in values]
    code = f"const {{ score }} = require('./x.js'); const rows = [{', '.join(words)}, null, NaN]; \
        console.log(JSON.stringify([rows.map((one) => score({{ shop: one }})), score({{}})]))"
    run = subprocess.run(["node", "-e", code], cwd=tmp_path, capture_output=True, check=True)
    found, nothing = json.loads(run.stdout)
    assert (found, nothing) == (expected.tolist(), expected[-1])


def test_text_ends_nowhere_in_databases_with_escapes(tmp_path):
    path = tmp_path / "x.sql"
    for dialect in ("bigquery", "snowflake"):
        names = {name: f"c{at}" for at, name in enumerate(ATTACKS)}
        with_text().export(path, "sql", dialect=dialect, features=names)
        text = path.read_text()
        assert r"'it\'s'" in text
        assert r"'b\\'" in text
        assert r"'</x>\n'" in text


def test_names_that_bigquery_cannot_hold_are_refused(tmp_path):
    with pytest.raises(ParameterError, match="has no '\"' in its name"):
        with_text().export(tmp_path / "x.sql", "sql", dialect="bigquery")


def test_sqlite_refuses_a_column_that_is_not_there(tmp_path):
    model = random_model("stumps", 1, names=("a", "b", "c", "d"))
    model.export(tmp_path / "x.sql", "sql", dialect="sqlite")
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE t (a REAL)")
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        database.execute(f"SELECT ({(tmp_path / 'x.sql').read_text()}) FROM t")


def test_c_takes_numbers(tmp_path):
    with pytest.raises(NotRankedError, match="is a column of text: pass encoded if"):
        with_text().export(tmp_path / "x.c", "c")
    assert with_text().export(tmp_path / "x.c", "c", encoded=True).verification.same_scores


NAMES = st.text(min_size=1, max_size=60) | st.sampled_from([
    "__proto__", "constructor", "f0", "1", "a" * 300, '"); DROP TABLE x;--', "ß", "ẞ", "\t", "a[0]",
])  # fmt: skip


@holds_for(st.lists(NAMES, min_size=4, max_size=4, unique=True), quick=6, full=150)
@pytest.mark.parametrize("target", TARGETS)
def test_any_name_is_held_or_refused(target, tmp_path_factory, names):
    path = tmp_path_factory.mktemp("names") / "x"
    own = target_named(target)
    try:
        model = random_model("stumps", 1, names=tuple(names), float32=True)
    except ParameterError:
        return  # (no name of a feature at all)
    more = {}
    if target == "solr":
        more["data"] = np.array([[-2.0], [-1.0], [0.0], [0.5], [1.0]]) * np.ones(4)
    try:
        done = model.export(path, target, **more)
    except ParameterError as problem:
        refused = str(problem)
    else:
        assert done.verification.same_scores or own.numbers == "float32"
        return
    assert "name" in refused
    assert not path.exists()


@pytest.mark.parametrize(
    ("target", "name"), [("python", "class"), ("javascript", "a b"), ("c", "1x")]
)
def test_a_name_that_is_no_function_is_refused(target, name, tmp_path):
    with pytest.raises(ParameterError, match="name"):
        random_model("stumps", 1).export(tmp_path / "x", target, name=name)


def test_columns_that_differ_in_case_alone_are_refused(tmp_path):
    model = random_model("stumps", 1, n_rounds=30, names=("a", "A", "b", "c"))
    with pytest.raises(ParameterError, match="upper from lower case"):
        model.export(tmp_path / "x.sql", "sql")


def test_a_long_sum_is_cut_into_batches(tmp_path):
    model = random_model("trees", 1, n_rounds=450, names=("a", "b", "c", "d"))
    done = model.export(tmp_path / "x.sql", "sql")
    assert not done.verification.same_scores
    assert done.verification.difference < 1e-11


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_a_deep_tree_is_cut_into_parts(dialect, tmp_path):
    if dialect == "duckdb":
        pytest.importorskip("duckdb")
    n = 45
    tree = Tree(
        tuple(at % 4 for at in range(n)),
        tuple(float(at // 4) / 8 - 1 for at in range(n)),
        tuple(at % 2 for at in range(n)),
        tuple(~at if at % 3 else at + 1 if at + 1 < n else ~n for at in range(n)),
        tuple((at + 1 if at + 1 < n else ~n) if at % 3 else ~at for at in range(n)),
        (1.0,) * n,
        tuple(np.random.default_rng(0).normal(size=n + 1).tolist()),
    )
    model = AdditiveRanker(4, [tree] * 3, [0.1, 0.2, 0.3], ("a", "b", "c", "d"))
    X = np.linspace(-1.5, 0.5, 60)[:, None] + np.arange(4) / 20
    X[::7, 2] = np.nan
    done = model.export(tmp_path / "x.sql", "sql", dialect=dialect, data=X)
    assert done.verification.same_scores


def with_dates(unit="days since 1970-01-01"):
    random = np.random.default_rng(0)
    per = 86_400e6 if unit.startswith("days") else 1e6
    ticks = random.integers(0, 86_400_000_000 if per == 1e6 else 2 * 10**15, 30)
    rankers = [Stump(0, tick / per, at % 2) for at, tick in enumerate(ticks.tolist())]
    rankers += [Stump(1, 0.5, 0), ScaledFeature(0, 0.0, 9_000.0, 0.5)]
    training = {"columns": {"0": {"kind": "time", "unit": unit}}}
    return AdditiveRanker(2, rankers, random.random(32).tolist(), ("se'en \"at", "b"), training)


@pytest.mark.parametrize("unit", ["days since 1970-01-01", "seconds"])
@pytest.mark.parametrize("dialect", ["sqlite", "duckdb", "postgres"])
def test_dates_are_read_by_the_database(dialect, unit, tmp_path):
    done = with_dates(unit).export(tmp_path / "x.sql", "sql", dialect=dialect)
    assert done.verification.same_scores
    assert done.verification.n_thresholds > 100


def test_text_that_is_no_date_is_no_opinion_in_sqlite(tmp_path):
    model = with_dates()
    model.export(tmp_path / "x.sql", "sql", dialect="sqlite", name="data")
    database = sqlite3.connect(":memory:")
    database.execute('CREATE TABLE data ("se\'en ""at" TEXT, b REAL)')
    rows = [("rubbish", 1.0), (None, 1.0), ("2001-02-03", 1.0), ("2001-02-03", None)]
    database.executemany("INSERT INTO data VALUES (?, ?)", rows)
    found = [row[-1] for row in database.execute((tmp_path / "x.sql").read_text())]
    day = time_number(datetime(2001, 2, 3), DAYS)
    expected = model.predict([[np.nan, 1.0], [np.nan, 1.0], [day, 1.0], [day, np.nan]])
    assert found == expected.tolist()


def test_dates_say_what_the_engine_must_get(tmp_path):
    model = with_dates()
    with pytest.raises(
        NotRankedError, match=r"postgres, sqlite, duckdb can: pass dialect='postgres'"
    ):
        model.export(tmp_path / "x", "sql")
    with pytest.raises(NotRankedError, match=r"is a column of dates: .* days since 1970-01-01"):
        model.export(tmp_path / "x", "c")
    assert model.export(tmp_path / "x", "sql", encoded=True).verification.same_scores


@pytest.mark.parametrize(("text", "moment"), [
    ("2024-02-29", datetime(2024, 2, 29)),
    ("2024-02-29 10:11", datetime(2024, 2, 29, 10, 11)),
    ("2024-02-29T10:11:12", datetime(2024, 2, 29, 10, 11, 12)),
    ("2024-02-29 10:11:12.9999999", datetime(2024, 2, 29, 10, 11, 12, 999_999)),
    ("2024-02-29T10:11:12.5Z", datetime(2024, 2, 29, 10, 11, 12, 500_000)),
    ("2024-02-29 10:11:12.123456+02:00", datetime(2024, 2, 29, 8, 11, 12, 123_456)),
    ("2024-02-29 23:11-01:30", datetime(2024, 3, 1, 0, 41)),
    ("1969-07-20 20:17:40.000001", datetime(1969, 7, 20, 20, 17, 40, 1)),
    ("no date", None),
    (None, None),
    (19_782.5, datetime(2024, 2, 29, 12)),
])  # fmt: skip
def test_dates_of_sqlite_are_iso_text_with_or_without_a_zone(text, moment):
    found = DIALECTS["sqlite"].times[DAYS].format(x="?1")
    (day,) = sqlite3.connect(":memory:").execute(f"SELECT {found}", (text,)).fetchone()
    assert day == (None if moment is None else time_number(moment, DAYS))


def forest(n_trees=3):
    """Return trees in which several answers lead to the same node."""
    random = np.random.default_rng(2)
    X = random.normal(size=(400, 4)).round(2)
    y = (X[:, 0] * X[:, 1] + X[:, 2] + random.normal(size=400) > 0).astype(int)
    X[random.random(X.shape) < 0.1] = np.nan
    return RankingForest(n_trees, random_state=0).fit(X, y).model_, X


@pytest.mark.parametrize("target", ["sql", "python", "javascript", "c"])
def test_nodes_that_several_answers_lead_to_are_written_once(target, tmp_path):
    model, X = forest()
    shared, plain = score_form(model, shared=True), score_form(model)
    assert all(region_tree(tree) is not None for tree in shared.trees)
    many, few = (sum(len(tree.features) for tree in form.trees) for form in (plain, shared))
    assert many > 2 * few
    names = {f"f{at}": name for at, name in enumerate(ATTACKS)}
    done = model.export(tmp_path / "x", target, data=X, features=names)
    assert done.verification.same_scores


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_many_trees_are_walked_in_duckdb(dialect, tmp_path):
    model, X = forest(8)
    names = {f"f{at}": name for at, name in enumerate(ATTACKS)}
    done = model.export(tmp_path / "x.sql", "sql", data=X, features=names, dialect=dialect)
    assert done.verification.same_scores
    assert ("lambda" in (tmp_path / "x.sql").read_text()) == (dialect == "duckdb")
    trees = random_model("trees", 1, n_rounds=450, names=ATTACKS)
    training = {"columns": COLUMNS}
    trees = AdditiveRanker(4, trees.rankers, trees.weights, ATTACKS, training)
    done = trees.export(tmp_path / "x.sql", "sql", dialect=dialect, name="a table")
    assert done.verification.same_scores == (dialect == "duckdb")


@given(st.floats(1e-300, 1e300))
def test_numbers_that_sqlite_misreads_become_fractions(number):
    text = repr(number) if "e" in repr(number) else f"{number!r}e0"
    written = exact_numbers(text)
    assert sqlite3.connect(":memory:").execute(f"SELECT {written}").fetchone()[0] == number


@pytest.mark.parametrize("dialect", DIALECTS)
def test_databases_like_sqlite_get_fractions_of_what_it_misreads(dialect, tmp_path, monkeypatch):
    monkeypatch.setattr("crucial.export.sql._misread", set)
    model = random_model("stumps", 1, names=("a", "b", "c", "d"))
    assert model.export(tmp_path / "x.sql", "sql", dialect=dialect).verification.same_scores
    fractions = "/ CAST(" in (tmp_path / "x.sql").read_text()
    assert fractions == (dialect in ("ansi", "sqlite"))


@pytest.mark.parametrize("n_steps", [0, 1, 2, 3, 7, 8, 40, 200])
def test_searches_of_every_size_are_right_in_c(n_steps, tmp_path):
    cuts = np.random.default_rng(n_steps).normal(size=n_steps).tolist()
    rankers = [Presence(0, 1), *(Stump(0, cut, 0) for cut in cuts), Stump(1, 0.5, 1)]
    weights = np.random.default_rng(1).normal(size=len(rankers)).tolist()
    done = AdditiveRanker(2, rankers, weights).export(tmp_path / "x.c", "c")
    assert done.verification.same_scores
