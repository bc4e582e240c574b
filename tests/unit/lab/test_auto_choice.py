"""The simplest within noise of the best, on tables made up for it."""

import math
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from sklearn.base import clone

from crucial import AutoRanker, RankBoost
from crucial.data import make_interactions
from crucial.lab import auto_ranker
from crucial.lab.auto_candidates import (
    Facts,
    Plan,
    RankerCandidate,
    Stage,
    Trial,
    candidates_for,
    choose,
    gap_of,
    mean_of,
    plan_for,
)
from crucial.lab.auto_ranker import _average_of, _members, _part, _survivors, folds_of, refitted
from crucial.lab.protocols import Rows
from crucial.rankers import RankRLS

BASE = np.random.default_rng(0).uniform(0.2, 0.9, 200)
#: Paired differences of mean 0 and standard error 0.01.
WAVE = np.tile([1.0, -1.0], 100) * 0.01 * math.sqrt(199)
RLS = RankerCandidate("RankRLS", "linear", "RankRLS", RankRLS())


def test_the_gap_is_the_mean_of_paired_differences():
    gap = gap_of(BASE + WAVE + 0.004, BASE)
    assert (gap.mean, gap.error) == (pytest.approx(0.004), pytest.approx(0.01))
    folds = gap_of(BASE + WAVE, BASE, overlap=0.25)
    assert folds.error == pytest.approx(0.01 * math.sqrt(1 + 200 * 0.25))


def test_weights_and_missing_values_count_as_they_should():
    values = np.array([0.5, np.nan, 0.7])
    assert mean_of(values) == pytest.approx(0.6)
    assert mean_of(values, np.array([3.0, 5.0, 1.0])) == pytest.approx(0.55)
    assert math.isnan(mean_of(np.array([np.nan])))
    equal = gap_of(BASE + WAVE, BASE, np.full(200, 7.0))
    assert equal.error == pytest.approx(0.01)
    assert math.isinf(gap_of(values[:1], values[2:]).error)


def entrant(kind: str, values: np.ndarray) -> Trial:
    return Trial(RankerCandidate(kind, kind, kind, None), 0, 2, 300, values, None, 0.0, 1.0)


@pytest.mark.parametrize(
    ("lead", "noise", "kept"),
    [(0.004, 0.5, "stumps"), (0.006, 0.5, "trees"), (0.006, 1.0, "stumps"), (0.0001, 0.0, "trees")],
)
def test_stumps_stay_unless_trees_are_ahead_by_more_than_noise(lead, noise, kept):
    found = choose([entrant("stumps", BASE), entrant("trees", BASE + WAVE + lead)], noise)
    assert [one.kind for one in found] == ["trees", kept]


def test_the_simplest_of_several_within_noise_is_kept():
    linear = entrant("linear", BASE + WAVE - 0.02)
    stumps, weak = entrant("stumps", BASE + WAVE - 0.003), entrant("stumps", BASE - 0.01)
    pairs, trees = entrant("pairs", BASE + WAVE - 0.002), entrant("trees", BASE)
    assert choose([trees, pairs, weak, stumps, linear], 0.5) == (trees, stumps)
    assert choose([trees, pairs, weak, linear], 0.5) == (trees, pairs)


@pytest.mark.parametrize("lag", [0.1, 0.0])
def test_a_simpler_best_is_kept_and_equal_means_go_to_the_simpler(lag):
    trees, stumps = entrant("trees", BASE - lag), entrant("stumps", BASE)
    assert choose([trees, stumps], 0.5) == (stumps, stumps)


def test_one_unit_has_no_noise_to_be_within():
    linear, trees = entrant("linear", np.array([0.5])), entrant("trees", np.array([0.6]))
    assert choose([linear, trees], 0.5) == (trees, trees)


def trial(name: str, family: str, lead: float) -> Trial:
    return tried_out(RankerCandidate(name, "trees", family, None), lead)


@pytest.mark.parametrize(
    ("families", "kept"), [(False, {"best"}), (True, {"best", "alike", "loss behind", "its twin"})]
)
def test_what_is_within_noise_of_the_best_of_its_loss_stays_in_the_search(families, kept):
    ready = [
        trial("best", "one", 0.0), trial("alike", "one", -0.009), trial("unlike", "one", -0.011),
        trial("loss behind", "two", -0.060), trial("its twin", "two", -0.060),
        trial("loss far behind", "three", -0.066),
    ]  # fmt: skip
    assert _survivors(ready, Stage(1, 1, 5, 10**9, families=families)) == kept


def test_parts_of_an_average_fade_with_the_distance_to_the_best_in_errors():
    ready = [trial(name, name, lead) for name, lead in
             (("best", 0.0), ("near", -0.003), ("behind", -0.03), ("far", -0.065))]  # fmt: skip
    members = _members(ready)
    assert [one.name for one in members] == ["best", "near", "behind"]
    parts = [_part(one, members[0]) for one in members]
    np.testing.assert_allclose(parts, [1.0, math.exp(-0.005), math.exp(-0.5)], rtol=1e-6)
    assert _part(trial("ahead", "ahead", 0.01), ready[0]) == 1.0
    shares = _average_of([replace(one, candidate=RLS) for one in members]).shares
    np.testing.assert_allclose(shares, np.array(parts) / sum(parts), atol=5e-4)


def test_equal_lags_on_every_query_leave_no_doubt_and_one_query_leaves_all():
    lag = replace(trial("behind", "two", 0.0), values=BASE - BASE)
    best = replace(lag, values=lag.values + 0.125)
    assert _part(lag, best) == 0.0
    one, other = (replace(lag, values=np.array([value])) for value in (0.9, 0.1))
    assert _part(other, one) == 1.0


# -- when larger trees and more rounds are tried --------------------------------------------------
#: Paired differences of mean 0 and standard error 0.01.


def candidates(family: str) -> dict[str, RankerCandidate]:
    found = candidates_for(Facts(4000, 20, 100, 5, 0.0, 4.0), None, 99)
    return {one.name: one for one in found if one.family == family}


def tried_out(candidate: RankerCandidate, lead: float, rising: bool = False) -> Trial:
    """Return a trial that is ahead of `BASE` by so much, with an error of 0.01."""
    values = BASE + lead + (WAVE if lead else 0.0)
    return Trial(candidate, 0, 2, 300, values, None, 0.0, 1.0, rising=rising)


def next_sizes(leaders: list[Trial], trials: list[Trial], tried: set[str]) -> list[RankerCandidate]:
    return auto_ranker.next_sizes(leaders, trials, tried, n_rows=100_000, more_rounds=True)


def names(found: list[RankerCandidate]) -> list[str]:
    return [one.name for one in found]


@pytest.mark.parametrize(("lead", "tried"), [(0.011, ["xendcg, 64 leaves"]), (0.009, [])])
def test_the_next_size_is_tried_if_this_one_is_clearly_ahead(lead, tried):
    own = candidates("xendcg")
    stumps = tried_out(own["xendcg, stumps"], 0.0)
    small = tried_out(own["xendcg, trees"], lead)
    assert names(next_sizes([small], [stumps, small], {stumps.name, small.name})) == tried
    assert next_sizes([stumps], [stumps, small], {stumps.name, small.name}) == []


def test_a_family_climbs_until_a_size_is_no_better():
    own = candidates("xendcg")
    small = tried_out(own["xendcg, trees"], 0.0)
    (middle,) = small.candidate.larger
    all_names = {small.name, middle.name}
    up, level = tried_out(middle, 0.02), tried_out(middle, 0.005)
    assert names(next_sizes([up], [small, up], all_names)) == ["xendcg, 256 leaves"]
    assert next_sizes([level], [small, level], all_names) == []
    # What was tried already is not tried again.
    assert names(next_sizes([up], [small, up], {*all_names, "xendcg, 256 leaves"})) == []


def test_without_smaller_ones_of_its_loss_simpler_rankers_are_the_measure():
    small = tried_out(candidates("softmax")["softmax, trees"], 0.02)
    other = tried_out(candidates("RankBoost")["RankBoost"], 0.0)
    assert names(next_sizes([small], [small, other], {small.name})) == ["softmax, 64 leaves"]
    far = tried_out(candidates("RankBoost")["RankBoost"], 0.03)
    assert next_sizes([small], [small, far], {small.name}) == []
    assert names(next_sizes([small], [small], {small.name})) == ["softmax, 64 leaves"]


def test_more_rounds_where_the_last_ones_still_gained():
    stumps = tried_out(candidates("xendcg")["xendcg, stumps"], 0.0, rising=True)
    (longer,) = next_sizes([stumps], [stumps], {stumps.name})
    assert (longer.name, longer.rounds) == ("xendcg, stumps, 600 rounds", 600)
    assert stumps.candidate.rounds == 200
    again = replace(stumps, candidate=longer)
    assert next_sizes([again], [again], {stumps.name, longer.name}) == []


def test_bags_and_linear_rankers_have_neither():
    for family in ("bags", "RankRLS"):
        for one in candidates(family).values():
            late = tried_out(one, 0.0, rising=True)
            assert next_sizes([late], [tried_out(one, 0.0)], {one.name}) == []


@pytest.mark.parametrize("qid", [None, np.repeat(np.arange(20), 3)], ids=["rows", "queries"])
def test_every_repeat_deals_anew_and_fewer_folds_are_the_first_of_all(qid):
    rows = Rows(np.zeros((60, 1)), np.arange(60) % 3 / 1.0, qid)
    folds = [(one.name, one.test.tolist()) for one in folds_of(rows, 5, 2, 5, 0)]
    assert len({name for name, _ in folds}) == 10
    for repeat in (folds[:5], folds[5:]):
        assert sorted(chain.from_iterable(test for _, test in repeat)) == list(range(60))
    tests = [{tuple(test) for _, test in repeat} for repeat in (folds[:5], folds[5:])]
    assert tests[0].isdisjoint(tests[1])
    used = [(one.name, one.test.tolist()) for one in folds_of(rows, 5, 2, 2, 0)]
    assert used == [*folds[:2], *folds[5:7]]


def test_more_rows_bear_more_rounds_at_most_twice_as_many():
    boosted = RankerCandidate("a", "trees", "a", RankBoost(300))
    for growth, rounds in ((1.0, 100), (0.5, 100), (2.25, 150), (9.0, 200)):
        assert refitted(boosted, None, 100, growth).n_estimators == rounds


def test_of_large_data_more_rows_take_part_in_fewer_folds():
    small, large = Facts(5000, 20, 100, 5, 0.0, 4.0), Facts(100_000, 240, 5000, 5, 0.0, 4.0)
    assert [one.folds for one in plan_for("thorough", small).stages] == [2, 5]
    first, last = plan_for("thorough", large).stages
    assert (first.folds, last.folds) == (1, 1)
    assert first.cells < last.cells == 24_000_000
    # Without queries, folds are what tells noise.
    rows = replace(large, n_queries=None)
    assert [one.folds for one in plan_for("thorough", rows).stages] == [2, 5]


def test_trees_whose_leaves_would_have_few_rows_are_not_tried():
    own = candidates("xendcg")
    stumps = tried_out(own["xendcg, stumps"], 0.0)
    small = tried_out(own["xendcg, trees"], 0.05)
    for n_rows, tried in ((6_399, []), (6_400, ["xendcg, 64 leaves"])):
        found = auto_ranker.next_sizes([small], [stumps, small], set(), n_rows, True)
        assert names(found) == tried
    late = tried_out(own["xendcg, stumps"], 0.0, rising=True)
    assert auto_ranker.next_sizes([late], [late], set(), 6_400, False) == []


def test_a_search_climbs_where_features_act_together(monkeypatch: pytest.MonkeyPatch):
    made = make_interactions(n_queries=60, n_pairs=2, n_noise=2, seed=0)

    def short(one: RankerCandidate) -> RankerCandidate:
        estimator = clone(one.estimator).set_params(n_estimators=30, l2=1.0)
        return replace(one, estimator=estimator, larger=tuple(map(short, one.larger)))

    few = [short(candidates(one)[f"query_rmse, {one}"]) for one in ("stumps", "pairs")]
    plan = Plan(3, (Stage(2, 1, 2, 10**9), Stage(2, 1, 3, 10**9)), 2, climbs=2)
    monkeypatch.setattr("crucial.lab.auto_ranker.candidates_for", lambda *all: few)
    monkeypatch.setattr("crucial.lab.auto_ranker.plan_for", lambda *all: plan)
    monkeypatch.setattr(auto_ranker, "_ROWS", 10)
    auto = AutoRanker(average=False).fit(made.X, made.y, qid=made.qid)
    tried = {one.name for one in auto.table_.trials}
    assert tried >= {"query_rmse, stumps", "query_rmse, pairs", "query_rmse, pairs, 16 leaves"}
    assert auto.table_.kept.name in tried - {"query_rmse, stumps"}
