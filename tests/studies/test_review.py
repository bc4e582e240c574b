"""The studies of losses, of ranking trees, and of all rankers on one data set."""

import gzip
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import review
from crucial import RankBoost, evaluate, make_letor
from crucial.data.dataset import Dataset
from crucial.errors import DataError, FileError, ParameterError
from crucial.io.svmlight import write_svmlight
from crucial.lab.protocols import read_folds
from crucial.lab.results import load_experiment
from crucial.rankers import FeatureRank, ListMLE
from crucial.rankers.registry import RANKERS, ranker_class
from naive import losses
from refusals import refused
from review import (
    ALLOCATIONS,
    LANDMARKS,
    LETOR_PUBLISHED,
    Adapted,
    AdaptedInRounds,
    Entry,
    Form,
    adapt,
    by_fold,
    draw,
    entries,
    find_sets,
    letor_map,
    letor_ndcg,
    listed_hard_loss,
    run_losses,
    run_rankers,
    tables,
    verdict,
    write_tables,
)

# -- losses -------------------------------------------------------------------------------------


def test_section_31_the_signal_has_twice_the_variance_of_the_noise():
    X, y = draw(25, 50, 10, np.random.default_rng(0))
    assert X.shape == (50, 25)
    again = np.random.default_rng(0)
    again.normal(size=(50, 25))
    b = np.r_[again.normal(size=10), np.zeros(15)]
    assert np.var(X @ b) / np.var(y - X @ b) == pytest.approx(2.0)


@pytest.mark.slow
def test_section_31_simulation_of_the_smallest_tables():
    """Means of 5 draws, as the specification gives them; their standard deviation is about .02."""
    cells = run_losses(*ALLOCATIONS[0])
    found = {(one.loss, one.choice, one.expit): one for one in cells}

    def mean(*key):
        return found[key].hard.mean()

    expected = {
        ("L2", "updated", False): 0.16, ("L2", "updated", True): 0.16,
        ("Hinge", "simple", False): 0.49, ("Hinge", "simple", True): 0.27,
        ("Hinge", "updated", False): 0.14, ("Hinge", "updated", True): 0.24,
        ("piecewise .1", "simple", False): 0.18, ("piecewise .5", "simple", False): 0.19,
        ("piecewise .9", "simple", False): 0.21, ("piecewise .1", "simple", True): 0.26,
        ("piecewise .5", "simple", True): 0.32, ("piecewise .9", "simple", True): 0.33,
        ("Exp", "updated", True): 0.27,
    }  # fmt: skip
    for key, value in expected.items():
        # (other draws than those of the specification: their means differ by some .04)
        assert mean(*key) == pytest.approx(value, abs=0.08), key
    raw = found["Exp", "updated", False]
    assert raw.diverged > 0 or raw.hard.mean() > 0.3
    assert mean("Hinge", "updated", False) < mean("L2", "updated", False)
    assert mean("L2", "updated", False) < mean("Hinge", "simple", False) - 0.1
    assert "selection rule, not by its loss" in verdict(cells)


def test_the_table_and_its_words(study):
    words = ("--draws", 1, "--rounds", 2, "--allocations", 1)
    said = study("review", "section-4-6", *words).stdout
    assert len(said.splitlines()) == 2 + 3 + 12 + 1 + 1
    assert "never finishes since the gradients diverge" in said
    assert "HingeBoost" in said
    with pytest.raises(ParameterError, match="'draws' parameter of component_boosting"):
        run_losses(4, 12, 2, draws=0)


def test_the_listed_loss_is_the_definition():
    random = np.random.default_rng(0)
    y, s = random.integers(0, 4, 30).astype(float), random.integers(0, 5, 30).astype(float)
    assert listed_hard_loss(y, s, block=7) == pytest.approx(losses.hard_loss(y, s, 0.5, "all"))


def test_the_command_prints_a_line_per_table(study):
    words = ("--rows", "20,40", "--columns", "2,3", "--list-up-to", 20)
    lines = study("review", "figure-1", *words).stdout.splitlines()
    assert (len(lines), lines[4].split()[:2]) == (4 + 4, ["20", "2"])
    assert sum("left out" in line for line in lines) == 2
    assert "'n_rows'" in study("review", "figure-1", "--rows", 1).stderr


# -- ranking trees ------------------------------------------------------------------------------


@pytest.fixture
def two_classes(tmp_path):
    folder = tmp_path / "treerank"
    folder.mkdir()
    random = np.random.default_rng(0)
    for part, n in (("learn", 120), ("test", 80)):
        X = random.normal(size=(n, 2)).round(3)
        y = (X[:, 0] + random.normal(size=n) > 0).astype(int)
        lines = ["V1,V2,label", *(f"{a},{b},{c}" for (a, b), c in zip(X, y))]
        text = "\n".join(lines) + "\n"
        if part == "learn":
            (folder / f"Toy.{part}.csv").write_text(text)
        else:
            (folder / f"Toy.{part}.csv.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "Toy.roc.csv").write_text("fpr,tpr\n0,0\n0.5,0.9\n1,1\n")
    return folder


def test_the_command_prints_one_line_per_ranker(study, two_classes) -> None:
    lines = study("review", "treerank", "--data", two_classes.parent).stdout.splitlines()
    assert (len(lines), lines[3].split()[:2]) == (6, ["Toy", "TreeRank"])


def test_missing_files_are_named(study, two_classes, tmp_path) -> None:
    refused(DataError, r"has no file that ends in .learn.csv", find_sets, tmp_path / "nowhere")
    (two_classes / "Toy.test.csv.gz").unlink()
    done = study("review", "treerank", "--data", two_classes.parent)
    assert done.exit_code == 2
    assert "has no Toy.test.csv" in done.stderr


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
    alone = FeatureRank(3).fit(X, y, qid=qid).predict(X, qid=qid)
    np.testing.assert_array_equal(ranks.predict(X, qid), alone)
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


ROUNDS = ("--rounds", 4, "--jobs", 1)
ONLY = ("--only", "rankboost,adaboost,listmle", *ROUNDS)


def test_tables_by_fold_beside_the_published_ones(study, folder, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("Above.\n<!-- all_rankers: begin -->\nold\n<!-- all_rankers: end -->\nBelow.\n")
    cells = tmp_path / "cells"
    words = ("--folder", cells, "--write", page)
    said = study("review", "all-rankers", folder, *ONLY, *words).stdout
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
    for name, value in LETOR_PUBLISHED.items():
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


def test_a_run_that_was_ended_continues(study, folder, tmp_path, monkeypatch):
    cells = tmp_path / "cells"
    words = ("review", "all-rankers", folder, *ROUNDS, "--folder", cells, "--only")
    before = study(*words, "rankboost").stdout
    fitted = []
    fit = review.Adapted.fit
    monkeypatch.setattr(
        review.Adapted, "fit", lambda self, *a: fitted.append(self.ranker) or fit(self, *a)
    )
    monkeypatch.setattr(review, "find_form", lambda ranker: Form(True, True))
    after = study(*words, "rankboost,listmle").stdout
    assert {type(one).__name__ for one in fitted} == {"ListMLE"}
    row = next(line for line in before.splitlines() if line.startswith("| rankboost"))
    assert row in after
    assert load_experiment(cells).rankers == ("rankboost", "listmle")


def test_values_are_those_of_a_fit_by_hand(folder):
    task = read_folds(folder)
    (one,) = entries(["rankboost"], 5)
    found = run_rankers(task, [one])
    parts = task.parts(task.splits[1])
    best, value = -1.0, None
    for balance in ("pairs", "queries"):
        ranker = RankBoost(5, balance=balance)
        ranker.fit(parts.train.X, parts.train.y, qid=parts.train.qid)
        for stage, scores in enumerate(ranker.staged_predict(parts.valid.X), 1):
            now = evaluate(parts.valid.y, scores, parts.valid.qid, measures="map")["map"]
            if now > best:
                best = now
                test = ranker.truncate(stage).predict(parts.test.X)
                value = evaluate(parts.test.y, test, parts.test.qid, measures="map")["map"]
    assert by_fold(found, "map")["rankboost"][1] == pytest.approx(value)


def test_what_fails_is_listed(folder, monkeypatch):
    task = read_folds(folder)
    whole = entries(["rankboost", "listmle"], 3)
    refused = Entry("sundays", "only on\n  Sundays.", None, {})
    monkeypatch.setattr(ListMLE, "fit", lambda *a, **b: 1 / 0)
    rankers = [*whole, refused]
    lines = "\n".join(tables(run_rankers(task, rankers), rankers))
    assert "- sundays: only on Sundays." in lines
    assert "- listmle: ZeroDivisionError: division by zero" in lines
    assert "| listmle |" not in lines


def test_folds_and_marks_are_checked(study, folder, tmp_path):
    words = ("review", "all-rankers", folder)
    assert "unknown fold '7'" in study(*words, "--folds", 7, *ONLY).stderr
    assert "did you mean 'rankboost'" in study(*words, "--only", "rankbost").stderr
    said = study(*words, "--folds", 2, *ONLY).stdout
    assert "| ranker | learns from | Fold2 | mean |" in said
    page = tmp_path / "page.md"
    page.write_text("nothing")
    with pytest.raises(FileError, match=r"page\.md: the page needs the lines <!-- all_rankers"):
        write_tables(page, ["a"])
    assert page.read_text() == "nothing"
