"""All rankers on one data set: forms of feedback, LETOR's measures, tables, a run that resumes."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucial import (
    AdaBoostRanker,
    FeatureRank,
    InfinitePush,
    ListMLE,
    RankBoost,
    evaluate,
    make_letor,
)
from crucial.data.dataset import Dataset
from crucial.data.formats.svmlight import write_svmlight
from crucial.errors import CrucialError, FileError
from crucial.estimators.registry import RANKERS, ranker_class
from crucial.lab.experiment_result import load_experiment
from crucial.lab.given_folds import read_folds
from crucial.studies import all_rankers
from crucial.studies.all_rankers import (
    LANDMARKS,
    PUBLISHED,
    entries,
    letor_map,
    letor_ndcg,
    main,
    write_tables,
)
from crucial.studies.forms import Adapted, AdaptedInRounds, Form, adapt, find_form

# -- LETOR's script ---------------------------------------------------------------------------


def script(rates, top=10):
    """MAP and NDCG@10 of one ranked query, as Eval-Score-4.0 counts, position by position."""
    relevant, precision = 0, 0.0
    for at, rate in enumerate(rates):
        if rate > 0:
            relevant += 1
            precision += relevant / (at + 1)
    average = precision / relevant if relevant else 0.0

    def dcg(labels):
        total = 0.0
        for at, rate in enumerate(labels[:top]):
            gain = {0: 0, 1: 1, 2: 3}[rate]
            total += gain if at < 2 else gain * np.log(2) / np.log(at + 1)
        return total

    best = dcg(sorted(rates, reverse=True))
    whole = len(rates) >= top and best > 0
    return average, dcg(rates) / best if whole else 0.0


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5)), min_size=1, max_size=25))
def test_letors_measures_are_those_of_its_script(rows):
    y = np.array([label for label, _ in rows], float)
    scores = np.array([score for _, score in rows], float)
    ranked = [label for label, _ in sorted(rows, key=lambda row: -row[1])]  # (stable)
    average, ndcg = script(ranked)
    assert letor_map(y, scores) == pytest.approx(average, abs=1e-12)
    assert letor_ndcg(y, scores) == pytest.approx(ndcg, abs=1e-12)


# -- forms ------------------------------------------------------------------------------------


def test_the_form_nearest_to_the_data():
    assert find_form(RankBoost()) == Form(True, True)
    assert find_form(InfinitePush()) == Form(True, False)
    assert find_form(AdaBoostRanker()) == Form(False, False)
    assert str(Form(False, True)) == "pooled, grades"


def test_a_ranker_that_takes_nothing_says_why():
    class Picky(ListMLE):
        def fit(self, X, y, *, qid=None):
            raise CrucialError("only on Sundays.")

    assert find_form(Picky()) == "only on Sundays."


def test_labels_and_queries_in_each_form():
    rng = np.random.default_rng(1)
    X, y, qid = rng.normal(size=(40, 3)), rng.integers(0, 3, 40), np.repeat(np.arange(8), 5)
    whole = adapt(RankBoost(5), Form(True, True)).fit(X, y, qid)
    assert isinstance(whole, AdaptedInRounds)
    np.testing.assert_array_equal(whole.predict(X, qid), RankBoost(5).fit(X, y, qid=qid).predict(X))
    assert len(list(whole.staged_predict(X, qid))) == 5
    pooled = adapt(RankBoost(5), Form(False, False)).fit(X, y, qid)
    np.testing.assert_array_equal(pooled.predict(X, qid), RankBoost(5).fit(X, y > 0).predict(X))
    ranks = adapt(FeatureRank(3), Form(True, True)).fit(X, y, qid)
    np.testing.assert_array_equal(
        ranks.predict(X, qid), FeatureRank(3).fit(X, y, qid=qid).predict(X, qid=qid)
    )
    assert type(adapt(ListMLE(), Form(True, True))) is Adapted


def test_every_ranker_of_the_registry_is_there():
    found = entries()
    names = [one.name for one in found]
    assert {name.split(",")[0] for name in names} == set(RANKERS)
    assert len(set(names)) == len(names)
    for one in found:
        if one.estimator is None:
            assert one.form  # the reason
            continue
        known = one.estimator.get_params()
        assert all(key in known for key in one.grid)
        if one.name.endswith(", rbf"):
            assert known["ranker__kernel"] == "rbf"
            assert known["ranker__n_landmarks"] == LANDMARKS
    kernels = {
        n for n in RANKERS if {"kernel", "n_landmarks"} <= set(ranker_class(n)().get_params())
    }
    assert {f"{name}, rbf" for name in kernels} <= set(names)


def test_one_parameter_is_chosen_where_a_fit_is_cheap():
    grids = {one.name: one.grid for one in entries(["rankrls", "sparse-ranking-svm", "logistic"])}
    assert grids["rankrls"]["ranker__l2"] == [0.001, 0.01, 0.1, 1.0]  # (as it declares)
    assert list(grids["sparse-ranking-svm"]) == ["ranker__l1"]
    assert grids["logistic"] == {}


def test_rounds_are_set_where_rankers_learn_in_rounds():
    one, other = entries(["rankboost", "listmle"], 7)
    assert one.estimator.ranker.n_estimators == 7
    assert one.grid == {"ranker__balance": ["pairs", "queries"]}
    default = ListMLE().l2
    assert other.grid["ranker__l2"] == pytest.approx([default / 10, default, 10 * default])


# -- the command ------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "MQ"
    place.mkdir()
    data = make_letor(n_queries=18, docs_per_query=12, n_features=3, seed=0)
    y, qid = np.minimum(data.y, 2.0), np.asarray(data.qid)
    part = np.searchsorted(np.unique(qid), qid) // 6
    for number in range(3):
        mine = part == number
        y[qid == qid[mine][0]] = 0.0  # a query without a relevant document
        rows = Dataset(data.X[mine], y[mine], qid[mine])
        write_svmlight(place / f"S{number + 1}.txt", rows)
    return place


ONLY = ["--only", "rankboost", "adaboost", "listmle", "--rounds", "4", "--jobs", "1"]


def test_tables_by_fold_beside_the_published_ones(folder, tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("Above.\n<!-- all_rankers: begin -->\nold\n<!-- all_rankers: end -->\nBelow.\n")
    cells = tmp_path / "cells"
    assert main([str(folder), *ONLY, "--folder", str(cells), "--write", str(page)]) == 0
    said = capsys.readouterr().out
    assert "Not in the tables" not in said
    text = page.read_text()
    assert text.startswith("Above.\n<!-- all_rankers: begin -->\n**MAP**")
    assert text.endswith("<!-- all_rankers: end -->\nBelow.\n")
    assert "\nold\n" not in text
    heads = "| ranker | learns from | Fold1 | Fold2 | Fold3 | mean | by LETOR's script |"
    assert text.count(heads) == 2
    for name, form in (
        ("rankboost", "queries, grades"),
        ("adaboost", "pooled, two labels"),
        ("listmle", "queries, grades"),
    ):
        assert text.count(f"| {name} | {form} | ") == 2
    for name, value in PUBLISHED.items():
        assert f"| {name}, published |" in text
        assert f" {value:.4f} " in text
    # Queries without a relevant document are skipped here, and 0 in LETOR's script.
    task = read_folds(folder)
    tests = [task.parts(split).test for split in task.splits]
    shares = [
        np.mean([(part.y[part.qid == one] > 0).any() for one in part.groups.ids]) for part in tests
    ]
    assert max(shares) < 1
    row = next(line for line in text.splitlines() if line.startswith("| listmle"))
    *folds, mean, letor = (float(v) for v in re.findall(r"0\.\d{4}", row))
    assert mean == pytest.approx(np.mean(folds), abs=1e-4)
    assert letor == pytest.approx(np.mean(np.multiply(folds, shares)), abs=1e-4)
    values = [float(v) for v in re.findall(r"\*\*(0\.\d{4})\*\*", text)][:3]
    assert values == sorted(values, reverse=True)


def test_a_run_that_was_ended_continues(folder, tmp_path, capsys, monkeypatch):
    cells = str(tmp_path / "cells")
    assert main([str(folder), *ONLY[:2], *ONLY[4:], "--folder", cells]) == 0
    before = capsys.readouterr().out
    fitted = []
    fit = all_rankers.Adapted.fit
    monkeypatch.setattr(
        all_rankers.Adapted, "fit", lambda self, *a: fitted.append(self.ranker) or fit(self, *a)
    )
    monkeypatch.setattr(all_rankers, "find_form", lambda ranker: Form(True, True))
    assert main([str(folder), "--only", "rankboost", "listmle", *ONLY[4:], "--folder", cells]) == 0
    after = capsys.readouterr().out
    assert {type(one).__name__ for one in fitted} == {"ListMLE"}
    row = next(line for line in before.splitlines() if line.startswith("| rankboost"))
    assert row in after
    assert load_experiment(cells).rankers == ("rankboost", "listmle")


def test_values_are_those_of_a_fit_by_hand(folder):
    task = read_folds(folder)
    (one,) = entries(["rankboost"], 5)
    found = all_rankers.run(task, [one])
    parts = task.parts(task.splits[1])
    best, value = -1.0, None
    for balance in ("pairs", "queries"):
        ranker = RankBoost(5, balance=balance).fit(
            parts.train.X, parts.train.y, qid=parts.train.qid
        )
        for stage, scores in enumerate(ranker.staged_predict(parts.valid.X), 1):
            now = evaluate(parts.valid.y, scores, parts.valid.qid, measures="map")["map"]
            if now > best:
                best = now
                test = ranker.truncate(stage).predict(parts.test.X)
                value = evaluate(parts.test.y, test, parts.test.qid, measures="map")["map"]
    assert all_rankers.by_fold(found, "map")["rankboost"][1] == pytest.approx(value)


def test_what_fails_is_listed(folder, monkeypatch):
    task = read_folds(folder)
    whole = entries(["rankboost", "listmle"], 3)
    refused = all_rankers.Entry("sundays", "only on\n  Sundays.", None, {})
    monkeypatch.setattr(ListMLE, "fit", lambda *a, **b: 1 / 0)
    rankers = [*whole, refused]
    lines = "\n".join(all_rankers.tables(all_rankers.run(task, rankers), rankers))
    assert "- sundays: only on Sundays." in lines
    assert "- listmle: ZeroDivisionError: division by zero" in lines
    assert "| listmle |" not in lines


def test_folds_and_marks_are_checked(folder, tmp_path, capsys):
    assert main([str(folder), "--folds", "7", *ONLY]) == 2
    assert "unknown fold '7'" in capsys.readouterr().err
    assert main([str(folder), "--only", "rankbost"]) == 2
    assert "did you mean 'rankboost'" in capsys.readouterr().err
    assert main([str(folder), "--folds", "2", *ONLY]) == 0
    assert "| ranker | learns from | Fold2 | mean |" in capsys.readouterr().out
    page = tmp_path / "page.md"
    page.write_text("nothing")
    with pytest.raises(FileError, match=r"page\.md: the page needs the lines <!-- all_rankers"):
        write_tables(page, ["a"])
    assert page.read_text() == "nothing"
