"""The ranker that chooses among the others."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crucial
from crucial import AutoRanker, RankBoost, load_model, make_letor
from crucial.errors import DataError, NotRankedError, ParameterError
from crucial.lab import auto_ranker as search_module
from crucial.lab.auto_candidates import KINDS, Facts, Plan, Stage, candidates_for, plan_for
from refusals import refused

DATA = make_letor(n_queries=30, docs_per_query=8, n_features=4, seed=1)
QUERIES = np.array([f"q{one}" for one in DATA.qid])
#: Few rounds and folds: what is tested does not depend on their number.
PLAN = Plan(3, (Stage(4, 1, 1, 10**9), Stage(2, 1, 3, 10**9)), 2)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Search with a small plan and rankers of few rounds."""
    from crucial.lab import auto_ranker as module

    def small(facts: Facts, interactions: int | None, count: int) -> list[Any]:
        found = candidates_for(facts, interactions, count)
        for one in found:
            if hasattr(one.estimator, "n_estimators"):
                one.estimator.set_params(n_estimators=6)
        return found

    def plan(budget: Any, facts: Facts) -> Plan:
        made = plan_for(budget, facts)
        return Plan(PLAN.n_folds, PLAN.stages if made.stages else (), PLAN.averaged, made.seconds)

    monkeypatch.setattr(module, "candidates_for", small)
    monkeypatch.setattr(module, "plan_for", plan)


def fitted(**parameters: Any) -> AutoRanker:
    return AutoRanker("quick", **parameters).fit(DATA.X, DATA.y, qid=QUERIES)


def test_it_keeps_a_ranker_and_says_why(tmp_path: Path):
    auto = fitted(interactions=2)
    table = auto.table_
    assert auto.choice_.startswith(f"Kept {table.kept.name}")
    assert "held-out quer" in auto.choice_
    rows = table.to_rows()
    assert len(rows) >= 4
    assert {one["kind"] for one in rows} <= set(KINDS[:3])
    assert sum(one["kept"] for one in rows) == sum(one["best"] for one in rows) == 1
    assert all(one["seconds"] > 0 for one in rows)
    dropped = [one for one in rows if one["folds"] == 1]
    assert dropped, "halving drops somebody"
    assert "dropped" in str(table)
    assert str(table).startswith(f"{len(rows)} tried, kept")
    # What is saved is the chosen ranker's own model.
    auto.save(tmp_path / "m.json")
    model = load_model(tmp_path / "m.json")
    assert model == auto.ranker_.model_
    assert model.predict(DATA.X).tobytes() == auto.predict(DATA.X).tobytes()
    assert auto.score(DATA.X, DATA.y, qid=QUERIES, measure="ndcg@10") > 0.6
    assert auto.rank(DATA.X, QUERIES).min() == 1


def test_the_same_data_and_seed_give_the_same_bytes(tmp_path: Path):
    models = []
    for n_jobs in (1, 2, None):
        fitted(n_jobs=n_jobs).save(tmp_path / "m.json")
        models.append((tmp_path / "m.json").read_bytes())
    assert models[0] == models[1] == models[2]


def test_a_search_that_was_killed_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    expected = fitted(store=tmp_path / "whole")
    assert fitted().model_ == expected.model_
    total = len((tmp_path / "whole" / "cells.jsonl").read_text().splitlines())
    left = [5]

    def counted(compute: Any) -> Any:
        def computed(*arguments: Any) -> Any:
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
            return compute(*arguments)

        return computed

    for name in ("compute_cell", "compute_scores"):
        monkeypatch.setattr(search_module, name, counted(getattr(search_module, name)))
    for part in (5, total - 8):  # (killed while candidates are tried, and while they are averaged)
        left[0] = part
        with pytest.raises(KeyboardInterrupt):
            fitted(store=tmp_path / "store")
    left[0] = 3
    assert fitted(store=tmp_path / "store").model_ == expected.model_
    assert left[0] == 0
    again = fitted(store=tmp_path / "store")
    assert again.table_.kept.name == expected.table_.kept.name
    found = crucial.lab.load_experiment(tmp_path / "store")
    assert set(expected.table_.to_frame()["ranker"]) >= set(found.rankers)
    with pytest.raises(DataError, match="another task 'rows'"):
        AutoRanker("quick", store=tmp_path / "store").fit(DATA.X, 1 + DATA.y, qid=QUERIES)


def test_the_clock_decides_what_is_reached():
    auto = AutoRanker(1e-6).fit(DATA.X, DATA.y, qid=QUERIES)
    assert (len(auto.table_.trials), auto.table_.budget) == (1, "1e-06")


def test_a_candidate_that_fails_is_shown_and_not_kept(monkeypatch: pytest.MonkeyPatch):
    def broken(*arguments: Any, **more: Any) -> None:
        raise DataError("cannot learn from this.")

    monkeypatch.setattr(crucial.GradientRanker, "fit", broken)
    plan = Plan(3, (Stage(8, 1, 1, 10**9),), 2)
    monkeypatch.setattr("crucial.lab.auto_ranker.plan_for", lambda budget, facts: plan)
    table = fitted().table_
    assert table.kept.kind == "linear"
    assert "failed: DataError: cannot learn from this." in table.text(width=200)
    for name in ("ListMLE", "RankCosine", "RankRLS"):
        monkeypatch.setattr(getattr(crucial.rankers, name), "fit", broken)
    refused(DataError, "no ranker could be fitted: DataError: cannot learn", fitted)


def test_rows_without_queries_are_chosen_by_auc():
    random = np.random.default_rng(0)
    X = random.normal(size=(240, 4))
    y = (X[:, 0] * X[:, 1] + 0.3 * random.normal(size=240) > 0).astype(int)
    auto = AutoRanker("quick").fit(X, y)
    assert auto.measure_ == "auc"
    assert auto.table_.kept.kind in ("pairs", "trees")
    assert "held-out folds" in auto.choice_
    weight = np.where(np.arange(240) < 200, 1.0, 0.0)
    short = AutoRanker("quick").fit(X[:200], y[:200])
    assert AutoRanker("quick").fit(X, y, sample_weight=weight).choice_ == short.choice_


def test_columns_of_text_are_features(tmp_path: Path):
    frame = pd.DataFrame({"size": DATA.X[:, 0], "brand": np.array(list("abcdef"))[DATA.y]})
    auto = AutoRanker("quick").fit(frame, DATA.y, qid=QUERIES)
    assert auto.score(frame, DATA.y, qid=QUERIES) > 0.95
    auto.save(tmp_path / "m.json")
    again = load_model(tmp_path / "m.json").predict(frame)
    assert again.tobytes() == auto.predict(frame).tobytes()


def test_too_few_data_are_not_searched():
    few = QUERIES <= "q14"
    auto = AutoRanker().fit(DATA.X[few], DATA.y[few], qid=QUERIES[few])
    assert auto.table_ is None
    assert "too few to choose by" in auto.choice_
    assert isinstance(auto.ranker_, RankBoost)


def test_weights_do_not_make_rows_more_or_fewer():
    random = np.random.default_rng(0)
    X = random.normal(size=(220, 2))
    y = (X[:, 0] > 0).astype(int)
    light = AutoRanker(0.05).fit(X, y, sample_weight=np.full(220, 1 / 220))
    assert light.table_ is not None
    assert light.score(X, y) > 0.9  # (also by trees, whose leaves count weights)
    heavy = AutoRanker(0.05).fit(X[:60], y[:60], sample_weight=np.full(60, 10.0))
    assert heavy.choice_ == "RankBoost with its defaults: 60 rows are too few to choose by."


def test_losses_are_shown_as_they_are_and_the_least_wins():
    table = fitted(measure="r2", average=False).table_
    values = table.to_frame()["r2"]
    assert (values > 0).all()
    best = next(one for one in table.to_rows() if one["best"])
    finals = [one for one in table.to_rows() if one["folds"] == best["folds"]]
    assert best["r2"] == min(one["r2"] for one in finals)


@pytest.mark.parametrize("parts", [(), (0.5, 0.375, 0.125)])
def test_an_average_is_one_sum_of_weak_rankers(parts: tuple[float, ...]):
    from crucial.lab.auto_ranker import AverageRanker

    members = [RankBoost(5), crucial.GradientRanker(5, max_leaves=4), crucial.rankers.RankRLS()]
    average = AverageRanker(rankers=members, parts=parts).fit(DATA.X, DATA.y, qid=QUERIES)
    scores = []
    for one in average.rankers_:
        own = one.predict(DATA.X)
        means = np.array([own[q == QUERIES].mean() for q in QUERIES])
        scores.append((own - means) / (own - means).std())
    found = average.predict(DATA.X)
    found -= np.array([found[q == QUERIES].mean() for q in QUERIES])
    # (factors have four binary digits)
    expected = np.average(scores, axis=0, weights=parts or None)
    np.testing.assert_allclose(found, expected, atol=0.15)
    assert average.model_.n_rounds == sum(one.model_.n_rounds for one in average.rankers_)


def test_rankers_without_rounds_are_not_fitted_again_to_be_averaged(tmp_path: Path):
    table = fitted(interactions=1, store=tmp_path).table_
    averaged = {name for one in table.trials for name in one.candidate.members}
    assert f"It averages {table.kept.candidate.members[0]}, " in table.choice
    np.testing.assert_allclose(sum(table.kept.candidate.shares), 1.0, atol=0.01)
    whole = {one.name for one in table.trials if one.rounds is None}
    assert averaged & whole, averaged
    lines = (tmp_path / "cells.jsonl").read_text().splitlines()
    fits = [(one["split"], one["ranker"].split(" (")[0]) for one in map(json.loads, lines)]
    again = {name for split, name in fits if (split, f"{name}: scores") in fits}
    assert not again


def test_the_trees_of_every_member_of_an_average_gain_the_same():
    from crucial.lab.auto_ranker import AverageRanker

    losses = ("query_rmse", "logistic")
    members = [crucial.GradientRanker(4, loss=loss, max_leaves=4) for loss in losses]
    rankers = AverageRanker(rankers=members).fit(DATA.X, DATA.y, qid=QUERIES).model_.rankers
    totals = [sum(sum(tree.gains) for tree in rankers[begin : begin + 4]) for begin in (0, 4)]
    np.testing.assert_allclose(totals, 1.0)


@pytest.mark.parametrize(("parameters", "problem"), [
    ({"budget": "fast"}, "'budget' parameter of AutoRanker must be 'quick'"),
    ({"budget": 0}, "'budget' parameter of AutoRanker"),
    ({"measure": "ndgc@10"}, "unknown measure 'ndgc'"),
    ({"noise": -1}, "'noise' parameter of AutoRanker"),
    ({"interactions": 3}, "'interactions' parameter of AutoRanker"),
])  # fmt: skip
def test_bad_parameters_are_refused(parameters: dict[str, Any], problem: str):
    refused(ParameterError, problem, AutoRanker(**parameters).fit, DATA.X, DATA.y, qid=QUERIES)


def test_pairs_are_refused_with_a_remedy():
    with pytest.raises(NotRankedError, match=r"by held-out queries.*RankBoost\(\)\.fit_pairs"):
        AutoRanker().fit_pairs(np.zeros((2, 1)), [(0, 1)])


def test_candidates_suit_the_data():
    graded = Facts(30_000, 10, 100, 5, 0.0, 4.0)
    everybody = candidates_for(graded, None, 99)
    names = [one.name for one in everybody]
    assert len(set(names)) == len(names)
    assert any("leaf by leaf" in name for name in names)
    below = candidates_for(Facts(30_000, 10, 100, 5, -1.0, 4.0), None, 99)
    assert not any(
        name.startswith(("xendcg", "lambda", "yeti")) for name in (b.name for b in below)
    )
    for limit, kinds in ((1, KINDS[:2]), (2, KINDS[:3])):
        assert {one.kind for one in candidates_for(graded, limit, 99)} == set(kinds)


def test_a_budget_is_work_and_not_time():
    large = Facts(10**6, 100, 10**4, 5, 0.0, 4.0)
    quick, normal, thorough = (plan_for(name, large) for name in ("quick", "normal", "thorough"))
    assert quick.seconds is normal.seconds is thorough.seconds is None
    assert quick.stages[0].candidates < normal.stages[0].candidates
    assert normal.stages[0].candidates < thorough.stages[0].candidates
    assert normal.stages[-1].cells < thorough.stages[-1].cells
    assert plan_for(10, large).stages == quick.stages
    assert plan_for(3600.0, large).stages == thorough.stages
