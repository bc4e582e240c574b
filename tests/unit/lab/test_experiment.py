"""Experiments: what is chosen by validation alone, failures, repeatability, going on."""

import json
import re

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeRegressor

import crucial
from crucial.errors import DataError, FileError, ParameterError
from crucial.lab.cross_validation import curve
from crucial.lab.experiment import Experiment, run_job
from crucial.lab.protocols import PlainFolds, Rows, Task, ThreeWayFolds
from crucial.lab.rankers import as_contenders
from crucial.lab.results import load_experiment
from crucial.measures.names import get_measure
from refusals import refused


class Columns(BaseEstimator):
    """After round n: rank by column n. What is best in which round is known beforehand."""

    def __init__(self, sign=1, fail_on=None):
        self.sign = sign
        self.fail_on = fail_on

    def fit(self, X, y, *, qid=None):
        if self.fail_on is not None and len(y) == self.fail_on:
            raise ZeroDivisionError("no such luck")
        self.n_ = X.shape[1]
        return self

    def predict(self, X):
        return self.sign * X[:, self.n_ - 1]

    def staged_predict(self, X):
        return (self.sign * X[:, j] for j in range(self.n_))


def problem(n_queries=20, rows=8, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(0, 3, n_queries * rows)
    X = y[:, None] + random.normal(size=(len(y), 4)) * [2.0, 0.8, 1.0, 3.0]
    return X, y, np.repeat(np.arange(n_queries), rows)


def values(result):
    """Everything but times."""
    rows = result.to_rows("cell")
    return [{k: v for k, v in row.items() if not k.endswith("seconds")} for row in rows]


def place_of(row):
    return row["task"], row["split"], row["ranker"], row["measure"]


def test_each_measure_chooses_its_own_round_by_validation():
    X, y, qid = problem()
    measures = ["ndcg@3", "r2", "map"]
    found = Experiment(Task("toy", X, y, qid), {"columns": Columns()}, measures).run()
    splits = ThreeWayFolds().splits(Task("toy", X, y, qid), 0)
    for cell, split in zip(found.cells, splits):
        for name in measures:
            measure = get_measure(name)
            on = lambda rows, j, m=measure: m(y[rows], X[rows, j], qid[rows])  # noqa: E731
            on_valid = [on(split.valid, j) for j in range(4)]
            best = int(np.argmax(on_valid) if measure.higher_is_better else np.argmin(on_valid))
            one = cell["measures"][name]
            assert (one["round"], one["of_rounds"]) == (best + 1, 4)
            assert one["valid"] == pytest.approx(on_valid[best])
            assert one["value"] == pytest.approx(on(split.test, best))
    rounds = [tuple(one["measures"][m]["round"] for m in measures) for one in found.cells]
    assert any(len(set(some)) > 1 for some in rounds)  # (else the test would show nothing)


def test_one_measure_may_choose_for_others():
    X, y, qid = problem()
    protocol = ThreeWayFolds(choose_by={"ndcg@3": "map"})
    found = Experiment({"toy": (X, y, qid)}, {"c": Columns()}, ["ndcg@3", "map"], protocol).run()
    for cell in found.cells:
        assert cell["measures"]["ndcg@3"]["round"] == cell["measures"]["map"]["round"]
        assert cell["measures"]["ndcg@3"]["valid"] == cell["measures"]["map"]["valid"]


def test_parameters_are_chosen_by_validation_alone():
    X, y, qid = problem()
    task = Task("toy", X, y, qid)
    grids = {"c": {"sign": [-1, 1]}}
    found = Experiment(task, {"c": Columns()}, ["ndcg@3"], grids=grids).run()
    for cell in found.cells:
        assert cell["measures"]["ndcg@3"]["parameters"] == {"sign": 1}
        assert cell["candidates"] == 2
    # Test labels turned upside down change no choice.
    upside = task.y.copy()
    split = ThreeWayFolds().splits(task, 0)[0]
    trial = Experiment(task, {"c": Columns()}, ["ndcg@3"], grids=grids)
    job = next(iter(trial._jobs(None).values()))
    upside[split.test] = 2 - upside[split.test]
    changed = run_job(type(job)(Task("toy", X, upside, qid), *list(vars(job).values())[1:]))
    one, other = found.cells[0]["measures"]["ndcg@3"], changed["measures"]["ndcg@3"]
    assert one["value"] != other["value"]
    nothing = {"value": 0, "queries": 0, "empty": 0}
    assert one | nothing == other | nothing


def test_without_validation_the_last_round_counts():
    X, y, qid = problem()
    found = Experiment({"t": (X, y, qid)}, {"c": Columns()}, "ndcg@3", "four-folds").run()
    values = found.blocks("ndcg@3").values[:, 0]
    expected = get_measure("ndcg@3").per_query(y, X[:, 3], qid)
    assert found.cells[0]["measures"]["ndcg@3"]["round"] is None
    by_query = dict(zip(found.blocks("ndcg@3").names, values))
    assert by_query == pytest.approx(dict(zip(map(str, range(20)), expected)))


def test_same_as_cross_validate_where_nothing_is_chosen():
    X, y, qid = problem()
    ranker = crucial.RankBoost(n_estimators=5, n_jobs=1)
    task = Task("t", X, y, qid)
    found = Experiment(task, {"rb": ranker}, ["ndcg@5", "auc(pool)"], PlainFolds(n_folds=4)).run()
    pairs = [(one.train, one.test) for one in PlainFolds(n_folds=4).splits(task, 0)]
    theirs = crucial.cross_validate(
        ranker, X, y, qid=qid, cv=pairs, measures=["ndcg@5", "auc(pool)"]
    )
    for name in ("ndcg@5", "auc(pool)"):
        assert found.value(name, "rb") == pytest.approx(theirs[name], abs=1e-14)


def test_tasks_average_their_folds_and_rankers_are_ranked_over_tasks():
    tasks = {f"t{k}": problem(10, seed=k) for k in range(4)}
    found = Experiment(tasks, {"up": Columns(), "down": Columns(-1)}, ["r2"]).run()
    blocks = found.blocks("r2")
    assert (blocks.unit, blocks.names) == ("task", list(tasks))
    first = [c["measures"]["r2"]["value"] for c in found.cells if c["task"] == "t0"][0::2]
    assert blocks.values[0, 0] == pytest.approx(np.mean(first))
    ranks = found.ranks("r2")
    assert (ranks.rankers, ranks.ranks.tolist()) == (("up", "down"), [1.0, 2.0])
    difference = found.compare()["r2", "down"]
    assert (difference.wins, difference.losses, difference.n) == (0, 4, 4)
    assert difference.p == 0.125
    assert len(found.blocks("r2", "query").names) == 40
    assert len(found.blocks("r2", "fold").names) == 20


@pytest.mark.parametrize("name", ["ndcg@3", "r1", "auc(pool)", "map", "top@2(count)"])
def test_many_rounds_at_a_time_are_as_one_at_a_time(name):
    X, y, qid = problem(5)
    random = np.random.default_rng(0)
    qid = random.permutation(qid)
    scores = random.integers(0, 4, (7, len(y))).astype(float)
    part = Rows(X, (y > 1).astype(float), qid)
    measure = get_measure(name)
    expected = [measure(part.y, row, qid) for row in scores]
    assert curve(measure, part, scores) == pytest.approx(expected, abs=1e-14)


# -- failures -----------------------------------------------------------------------


def test_own_measures_see_their_queries():
    def seen(y, scores, qid):
        return float(qid)

    X, y, qid = problem(5)
    part = Rows(X, y.astype(float), qid)
    assert curve(get_measure(seen), part, np.zeros((3, len(y)))).tolist() == [2.0] * 3


def test_a_failure_is_recorded_and_the_rest_goes_on(tmp_path):
    tasks = {"small": problem(10), "large": problem(15), "other": problem(20)}
    rankers = {"good": Columns(), "bad": Columns(fail_on=72)}  # 9 of 15 queries train
    found = Experiment(tasks, rankers, ["ndcg@3"]).run(tmp_path / "r")
    assert len(found.cells) == 30
    assert {(one["task"], one["ranker"]) for one in found.failures} == {("large", "bad")}
    assert len(found.failures) == 5
    assert found.failures[0]["error"] == "ZeroDivisionError: no such luck"
    assert found.failures[0]["where"].startswith("fit, line ")
    ranks = found.ranks("ndcg@3")
    assert (ranks.n_blocks, ranks.n_left_out) == (2, 1)
    assert re.search(r"^bad .* 5$", str(found), re.MULTILINE)
    rows = [row for row in found.to_rows("cell") if row["status"] == "failed"]
    assert {row["error"] for row in rows} == {"ZeroDivisionError: no such luck"}
    assert found.compare()["ndcg@3", "bad"].n == 2
    # A failure is a finished cell, unless it is to be tried again.
    lines = (tmp_path / "r" / "cells.jsonl").read_bytes().count(b"\n")
    again = Experiment(tasks, rankers, ["ndcg@3"])
    assert len(again.run(tmp_path / "r").failures) == 5
    assert (tmp_path / "r" / "cells.jsonl").read_bytes().count(b"\n") == lines
    again.run(tmp_path / "r", retry_failed=True)
    assert (tmp_path / "r" / "cells.jsonl").read_bytes().count(b"\n") == lines + 5
    assert len(load_experiment(tmp_path / "r").failures) == 5


def test_warnings_are_kept():
    X, y, qid = problem(10)
    constant = np.column_stack((X, np.ones(len(y))))
    rankers = {"rb": crucial.RankBoost(3, n_jobs=1)}
    found = Experiment({"t": (constant, y, qid)}, rankers, "r2").run()
    assert found.to_rows("cell")[0]["warnings"].startswith("1 feature is constant")


# -- the same numbers -----------------------------------------------------------------


def test_processes_and_order_change_nothing(tmp_path):
    tasks = {f"t{k}": problem(8, seed=k) for k in range(3)}
    tree = DecisionTreeRegressor(max_depth=2, random_state=0)
    rankers = {"rb": crucial.RankBoost(4), "tree": tree}
    alone = Experiment(tasks, rankers, ["ndcg@3", "r2"]).run()
    beside = Experiment(tasks, rankers, ["ndcg@3", "r2"]).run(tmp_path / "r", n_jobs=2)
    assert values(alone) == values(beside)
    turned = Experiment(dict(reversed(tasks.items())), rankers, ["ndcg@3", "r2"]).run()
    assert sorted(values(turned), key=place_of) == sorted(values(alone), key=place_of)
    assert str(alone).splitlines()[0] == f"3 tasks: {ThreeWayFolds().text}"


@pytest.mark.parametrize("backend", ["threading", "multiprocessing"])
def test_other_ways_of_joblib_to_run_jobs(backend):
    tasks = {f"t{k}": problem(8, seed=k) for k in range(2)}
    experiment = Experiment(tasks, {"rb": crucial.RankBoost(4, n_jobs=1)}, ["ndcg@3"])
    with parallel_config(backend=backend):
        beside = experiment.run(n_jobs=2)
    assert values(beside) == values(experiment.run())


def test_a_run_goes_on_and_repeats_nothing(tmp_path, monkeypatch):
    folder = tmp_path / "results"
    tasks = {"a": problem(8), "b": problem(8, seed=1)}
    whole = Experiment(tasks, {"c": Columns()}, ["ndcg@3"]).run()
    ran: list[tuple[str, str, str]] = []

    def counted(job):
        if len(ran) == 4:
            raise KeyboardInterrupt
        ran.append(job.key)
        return run_job(job)

    monkeypatch.setattr("crucial.lab.experiment.run_job", counted)
    with pytest.raises(KeyboardInterrupt):
        Experiment(tasks, {"c": Columns()}, ["ndcg@3"]).run(folder)
    half = load_experiment(folder)
    assert (len(half.cells), half.n_missing) == (4, 6)
    assert "6 cells are not computed yet" in str(half)
    first, ran[:] = list(ran), []
    monkeypatch.setattr(
        "crucial.lab.experiment.run_job", lambda job: (ran.append(job.key), run_job(job))[1]
    )
    found = Experiment(tasks, {"c": Columns()}, ["ndcg@3"]).run(folder)
    assert not set(first) & set(ran)
    assert (len(first) + len(ran), values(found)) == (10, values(whole))
    assert values(load_experiment(folder)) == values(whole)
    ran.clear()
    Experiment(tasks, {"c": Columns()}, ["ndcg@3"]).run(folder)
    assert ran == []
    # More rankers and tasks are welcome.
    more = {"c": Columns(), "d": Columns(-1)}
    found = Experiment(tasks | {"z": problem(8, seed=2)}, more, ["ndcg@3"]).run(folder)
    assert (len(ran), len(found.cells)) == (20, 30)
    assert len(found.settings["sessions"]) == 4


@pytest.mark.parametrize(("change", "said"), [
    ({"seed": 1}, "another seed.*0 before, 1 now"),
    ({"measures": ["r2"]}, "other measures"),
    ({"protocol": "four-folds"}, "another protocol"),
    ({"rankers": {"c": Columns(-1)}},
     r"another ranker 'c' \(estimator\.sign\).*: 1 before, -1 now"),
    ({"grids": {"c": {"sign": [1, -1]}}},
     r"another ranker 'c' \(grid\.sign\).*: None before, \[1, -1\] now"),
    ({"tasks": {"a": problem(8, seed=5)}}, r"another task 'a' \(data\)"),
])  # fmt: skip
def test_other_settings_are_not_mixed(tmp_path, change, said):
    settings = {"tasks": {"a": problem(8)}, "rankers": {"c": Columns()}, "measures": ["ndcg@3"]}
    Experiment(**settings).run(tmp_path / "r")
    before = (tmp_path / "r" / "cells.jsonl").read_bytes()
    refused(DataError, said, Experiment(**(settings | change)).run, tmp_path / "r")
    assert (tmp_path / "r" / "cells.jsonl").read_bytes() == before


def test_torn_lines_are_computed_again(tmp_path):
    trial = Experiment({"a": problem(8)}, {"c": Columns()}, ["ndcg@3"])
    whole = values(trial.run(tmp_path / "r"))
    path = tmp_path / "r" / "cells.jsonl"
    data = path.read_bytes()
    last = data.rstrip(b"\n").rfind(b"\n") + 1
    for length in (last, last + 1, last + 40, len(data) - 2):
        path.write_bytes(data[:length])
        assert load_experiment(tmp_path / "r").n_missing == 1
        assert values(trial.run(tmp_path / "r")) == whole
        assert path.read_bytes().count(b"\n") == 5
    path.write_bytes(data[:last] + b"\0" * 30 + b"\n")
    assert values(trial.run(tmp_path / "r")) == whole
    path.write_bytes(data[:-1])
    assert load_experiment(tmp_path / "r").n_missing == 0
    assert values(trial.run(tmp_path / "r")) == whole
    path.write_bytes(b"{}\n" + data)
    refused(FileError, r"cells\.jsonl, line 1: this line is damaged", trial.run, tmp_path / "r")


def test_two_runs_do_not_write_the_same_folder(tmp_path, monkeypatch):
    trial = Experiment({"a": problem(8)}, {"c": Columns()}, ["ndcg@3"])

    def meddle(job):
        refused(FileError, "another process is at work in this folder", trial.run, tmp_path / "r")
        return run_job(job)

    monkeypatch.setattr("crucial.lab.experiment.run_job", meddle)
    assert len(trial.run(tmp_path / "r").cells) == 5


def test_what_a_killed_run_left_is_swept(tmp_path):
    (tmp_path / ".crucial-00ff.tmp").write_text("half")
    (tmp_path / "notes.txt").write_text("mine")
    Experiment({"a": problem(8)}, {"c": Columns()}, ["ndcg@3"]).run(tmp_path)
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        "cells.jsonl", "experiment.json", "lock", "notes.txt",
    ]  # fmt: skip


def test_no_experiment_here(tmp_path):
    refused(FileError, "there is no experiment in this folder", load_experiment, tmp_path)
    (tmp_path / "experiment.json").write_text('{"format": 99}')
    refused(FileError, "is not an experiment of format 1", load_experiment, tmp_path)


# -- tables -------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "json", "parquet", "tsv"])
def test_tables_in_files(tmp_path, ending):
    pandas = pytest.importorskip("pandas")
    found = Experiment({"a": problem(8)}, {"c": Columns()}, ["ndcg@3", "r2"]).run()
    path = tmp_path / f"cells.{ending}"
    found.save(path)
    if ending == "json":
        read = pandas.DataFrame(json.loads(path.read_text()))
    elif ending == "parquet":
        read = pandas.read_parquet(path)
    else:
        read = pandas.read_csv(
            path, sep="," if ending == "csv" else "\t", float_precision="round_trip"
        )
    frame = found.to_frame("cell")
    assert list(read.columns) == list(frame.columns)
    assert read["value"].tolist() == frame["value"].tolist()
    assert set(read["crucial"]) == {crucial.__version__}
    assert len(found.to_frame("query")) == 16


# -- bad input ------------------------------------------------------------------------


@pytest.mark.parametrize(("settings", "said"), [
    ({"rankers": ["rankbost"]}, "unknown ranker 'rankbost'; did you mean 'rankboost'"),
    ({"measures": "ndgc@10"}, "unknown measure 'ndgc'; did you mean 'ndcg'"),
    ({"measures": []}, "measures is empty"),
    ({"rankers": []}, "rankers is empty"),
    ({"rankers": [3]}, "names or objects with fit and predict. Got 3"),
    ({"rankers": [crucial.RankBoost]}, "names or objects with fit and predict"),
    ({"rankers": ["random", "random"]}, "two rankers have the name 'random'"),
    ({"protocol": "letor"}, "unknown protocol 'letor'"),
    ({"seed": -1}, "'seed' parameter of Experiment"),
    ({"grids": {"c": {"sgn": [1]}}}, "unknown parameter of c 'sgn'; did you mean 'sign'"),
    ({"grids": {"d": {}}}, "unknown ranker in grids 'd'"),
    ({"grids": {"c": {"sign": 1}}}, "a list of values. Got 1"),
    ({"grids": "large"}, "None, 'small' or a mapping"),
    ({"grids": {"c": {"sign": [1]}}, "protocol": "four-folds"},
     "grids need a validation part to choose by, and PlainFolds has none"),
    ({"protocol": ThreeWayFolds(choose_by={"map": "r2"})}, "unknown measure in choose_by 'map'"),
    ({"protocol": ThreeWayFolds(choose_by="mapp")}, "unknown measure 'mapp'"),
])  # fmt: skip
def test_bad_settings(settings, said):
    base = {"tasks": {"a": problem(8)}, "rankers": {"c": Columns()}, "measures": ["ndcg@3"]}
    refused(ParameterError, said, Experiment, **base | settings)


def test_unknown_names_in_results():
    found = Experiment({"a": problem(8)}, {"c": Columns()}, ["ndcg@3"]).run()
    refused(ParameterError, "unknown measure of this experiment 'map'", found.blocks, "map")
    refused(ParameterError, "unknown ranker of this experiment 'x'", found.value, "ndcg@3", "x")
    refused(DataError, "two systems or more", found.compare)


def test_changes_reach_who_has_them_and_leave_the_given_alone():
    given = crucial.RankBoost()
    one, two = as_contenders([given, "random"], changes={"n_estimators": 7})
    assert (one.estimator.n_estimators, given.n_estimators) == (7, 300)
    assert "n_estimators" not in two.estimator.get_params()
    assert [c.name for c in as_contenders(["rb_c", "rankboost"], "small")] == ["rb_c", "rankboost"]


@pytest.mark.parametrize("changes", [{"zz": 1}, {"n_estimators": 5, "rankboost": {}}, 5])
def test_changes_that_no_ranker_has_are_refused(changes):
    with pytest.raises(ParameterError, match="changes"):
        Experiment({"a": problem(8)}, ["rankboost"], ["ndcg@3"], changes=changes)
