"""The simplest within noise of the best, on tables made up for it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from crucial.lab.auto.candidates import Candidate
from crucial.lab.auto.choice import Entrant, choose, gap_of, mean_of
from crucial.lab.auto.plan import Stage
from crucial.lab.auto.search import _survivors
from crucial.lab.auto.trials import Trial

RANDOM = np.random.default_rng(0)
BASE = RANDOM.uniform(0.2, 0.9, 200)
#: Paired differences of mean 0 and standard error 0.01.
WAVE = np.tile([1.0, -1.0], 100) * 0.01 * math.sqrt(199)


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
    ("lead", "noise", "kept"),
    [(0.004, 0.5, 0), (0.006, 0.5, 1), (0.006, 1.0, 0), (0.0001, 0.0, 1)],
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


@pytest.mark.parametrize(("families", "kept"), [(False, {"best"}), (True, {"best", "noise"})])
def test_losses_within_noise_of_the_best_stay_in_the_search(families, kept):
    means = {"best": 0.0, "noise": -0.019, "clear": -0.021}  # (errors are 0.01)
    ready = [
        Trial(Candidate(name, "trees", name, None), 0, 2, None, values, None, 0.0, 1.0)
        for name, values in (
            (name, BASE + mean + (WAVE if mean else 0.0)) for name, mean in means.items()
        )
    ]
    assert _survivors(ready, Stage(1, 1, 5, 10**9, families=families)) == kept
