"""The simplest within noise of the best, on tables made up for it."""

import math
from dataclasses import replace

import numpy as np
import pytest

from crucial import RankRLS
from crucial.lab.auto_candidates import (
    Entrant,
    RankerCandidate,
    Stage,
    Trial,
    choose,
    gap_of,
    mean_of,
)
from crucial.lab.auto_search import _average_of, _members, _part, _survivors

RANDOM = np.random.default_rng(0)
BASE = RANDOM.uniform(0.2, 0.9, 200)
#: Paired differences of mean 0 and standard error 0.01.
WAVE = np.tile([1.0, -1.0], 100) * 0.01 * math.sqrt(199)
RLS = RankerCandidate("RankRLS", "linear", "RankRLS", RankRLS())


def test_the_gap_is_the_mean_of_paired_differences():
    gap = gap_of(BASE + WAVE + 0.004, BASE)
    assert gap.mean == pytest.approx(0.004)
    assert gap.error == pytest.approx(0.01)
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


@pytest.mark.parametrize(
    ("lead", "noise", "kept"), [(0.004, 0.5, 0), (0.006, 0.5, 1), (0.006, 1.0, 0), (0.0001, 0.0, 1)]
)
def test_stumps_stay_unless_trees_are_ahead_by_more_than_noise(lead, noise, kept):
    stumps, trees = Entrant(2, BASE), Entrant(6, BASE + WAVE + lead)
    assert choose([stumps, trees], noise) == (1, kept)


def test_the_simplest_of_several_within_noise_is_kept():
    linear, stumps = Entrant(0, BASE + WAVE - 0.02), Entrant(2, BASE + WAVE - 0.003)
    weak, pairs = Entrant(2, BASE - 0.01), Entrant(4, BASE + WAVE - 0.002)
    trees = Entrant(6, BASE)
    assert choose([trees, pairs, weak, stumps, linear], 0.5) == (0, 3)
    assert choose([trees, pairs, weak, linear], 0.5) == (0, 1)


def test_a_simpler_best_is_kept_and_equal_means_go_to_the_simpler():
    assert choose([Entrant(6, BASE - 0.1), Entrant(2, BASE)], 0.5) == (1, 1)
    assert choose([Entrant(6, BASE), Entrant(2, BASE.copy())], 0.5) == (1, 1)


def test_one_unit_has_no_noise_to_be_within():
    assert choose([Entrant(0, np.array([0.5])), Entrant(6, np.array([0.6]))], 0.5) == (1, 1)


def trial(name: str, family: str, lead: float) -> Trial:
    """Return a trial that is ahead of `BASE` by so much, with an error of 0.01."""
    values = BASE + lead + (WAVE if lead else 0.0)
    return Trial(RankerCandidate(name, "trees", family, None), 0, 2, None, values, None, 0.0, 1.0)


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
