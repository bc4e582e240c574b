"""When larger trees and more rounds are tried."""

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from crucial import AutoRanker, make_interactions
from crucial.lab import auto_search
from crucial.lab.auto_candidates import (
    Facts,
    Plan,
    RankerCandidate,
    Stage,
    Trial,
    candidates_for,
    plan_for,
)

BASE = np.random.default_rng(0).uniform(0.2, 0.9, 200)
#: Paired differences of mean 0 and standard error 0.01.
WAVE = np.tile([1.0, -1.0], 100) * 0.01 * math.sqrt(199)


def candidates(family: str) -> dict[str, RankerCandidate]:
    found = candidates_for(Facts(4000, 20, 100, 5, 0.0, 4.0), None, 99)
    return {one.name: one for one in found if one.family == family}


def trial(candidate: RankerCandidate, lead: float, rising: bool = False) -> Trial:
    """Return a trial that is ahead of `BASE` by so much, with an error of 0.01."""
    values = BASE + lead + (WAVE if lead else 0.0)
    return Trial(candidate, 0, 2, 300, values, None, 0.0, 1.0, rising=rising)


def next_sizes(leaders: list[Trial], trials: list[Trial], tried: set[str]) -> list[RankerCandidate]:
    return auto_search.next_sizes(leaders, trials, tried, n_rows=100_000, more_rounds=True)


def names(found: list[RankerCandidate]) -> list[str]:
    return [one.name for one in found]


@pytest.mark.parametrize(("lead", "tried"), [(0.011, ["lambda, 8 leaves"]), (0.009, [])])
def test_the_next_size_is_tried_if_this_one_is_clearly_ahead(lead, tried):
    own = candidates("lambda")
    stumps, small = trial(own["lambda, stumps"], 0.0), trial(own["lambda, 4 leaves"], lead)
    assert names(next_sizes([small], [stumps, small], {stumps.name, small.name})) == tried
    assert next_sizes([stumps], [stumps, small], {stumps.name, small.name}) == []


def test_a_family_climbs_until_a_size_is_no_better():
    own = candidates("lambda")
    small = trial(own["lambda, 4 leaves"], 0.0)
    (middle,) = small.candidate.larger
    all_names = {small.name, middle.name}
    up, level = trial(middle, 0.02), trial(middle, 0.005)
    sizes = ["lambda, 16 leaves, symmetric", "lambda, 31 leaves"]
    assert names(next_sizes([up], [small, up], all_names)) == sizes
    assert next_sizes([level], [small, level], all_names) == []
    # What was tried already is not tried again.
    assert names(next_sizes([up], [small, up], {*all_names, sizes[0]})) == sizes[1:]


def test_without_smaller_ones_of_its_loss_simpler_rankers_are_the_measure():
    small = trial(candidates("softmax")["softmax, 4 leaves"], 0.02)
    other = trial(candidates("RankBoost")["RankBoost"], 0.0)
    assert names(next_sizes([small], [small, other], {small.name})) == ["softmax, 8 leaves"]
    far = trial(candidates("RankBoost")["RankBoost"], 0.03)
    assert next_sizes([small], [small, far], {small.name}) == []
    assert names(next_sizes([small], [small], {small.name})) == ["softmax, 8 leaves"]


def test_more_rounds_where_the_last_ones_still_gained():
    stumps = trial(candidates("lambda")["lambda, stumps"], 0.0, rising=True)
    (longer,) = next_sizes([stumps], [stumps], {stumps.name})
    assert longer.name == "lambda, stumps, 1200 rounds"
    assert longer.rounds == 1200
    assert stumps.candidate.rounds == 400
    again = replace(stumps, candidate=longer)
    assert next_sizes([again], [again], {stumps.name, longer.name}) == []


def test_bags_and_linear_rankers_have_neither():
    for family in ("bags", "RankRLS"):
        for one in candidates(family).values():
            assert next_sizes([trial(one, 0.0, rising=True)], [trial(one, 0.0)], {one.name}) == []


def test_of_large_data_more_rows_take_part_in_fewer_folds():
    small, large = Facts(5000, 20, 100, 5, 0.0, 4.0), Facts(100_000, 240, 5000, 5, 0.0, 4.0)
    assert [one.folds for one in plan_for("normal", small).stages] == [2, 5]
    first, last = plan_for("normal", large).stages
    assert (first.folds, last.folds) == (1, 1)
    assert first.cells < last.cells == 24_000_000
    # Without queries, folds are what tells noise.
    rows = replace(large, n_queries=None)
    assert [one.folds for one in plan_for("normal", rows).stages] == [2, 5]


def test_trees_whose_leaves_would_have_few_rows_are_not_tried():
    own = candidates("lambda")
    stumps, small = trial(own["lambda, stumps"], 0.0), trial(own["lambda, 4 leaves"], 0.05)
    for n_rows, tried in ((799, []), (800, ["lambda, 8 leaves"])):
        found = auto_search.next_sizes([small], [stumps, small], set(), n_rows, True)
        assert names(found) == tried
    late = trial(own["lambda, stumps"], 0.0, rising=True)
    assert auto_search.next_sizes([late], [late], set(), 800, False) == []


def test_a_search_climbs_where_features_act_together(monkeypatch: pytest.MonkeyPatch):
    made = make_interactions(n_queries=60, n_pairs=2, n_noise=2, seed=0)

    def short(one: RankerCandidate) -> RankerCandidate:
        estimator = clone(one.estimator).set_params(n_estimators=30, min_rows=1)
        return replace(one, estimator=estimator, larger=tuple(map(short, one.larger)))

    few = [short(candidates("query_rmse")[f"query_rmse, {one}"]) for one in ("stumps", "4 leaves")]
    plan = Plan(3, (Stage(2, 1, 2, 10**9), Stage(2, 1, 3, 10**9)), 2)
    monkeypatch.setattr("crucial.lab.auto_ranker.candidates_for", lambda *all: few)
    monkeypatch.setattr("crucial.lab.auto_ranker.plan_for", lambda *all: plan)
    monkeypatch.setattr(auto_search, "_ROWS", 10)
    auto = AutoRanker(average=False).fit(made.X, made.y, qid=made.qid)
    tried = {one.name for one in auto.table_.trials}
    assert {"query_rmse, stumps", "query_rmse, 4 leaves", "query_rmse, 8 leaves"} < tried
    assert auto.table_.kept.name in tried - {"query_rmse, stumps", "query_rmse, 4 leaves"}
