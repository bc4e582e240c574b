"""The tie rule: rounding never picks a weak ranker."""

import numpy as np
import pytest

from crucial.boosting.stumps import NOISE, first_best, first_best_of, worst_tied


def test_rising_slopes_come_first_then_the_order():
    slope = np.array([-0.5, 0.5, 0.5 * (1 + 1e-12), 0.2])
    assert first_best(np.abs(slope), slope) == 1
    assert first_best(np.abs(-slope), -slope) == 0
    assert first_best(np.full(3, NOISE), np.ones(3)) is None
    assert first_best(np.zeros(0), np.zeros(0)) is None


def test_small_criteria_are_equal_to_1e_14():
    assert worst_tied(1e-8) < 1e-8 - 1e-15
    assert worst_tied(1e-8) > 1e-8 - 3e-14


@pytest.mark.parametrize("seed", range(20))
def test_features_apart_are_chosen_from_as_all_together(seed: int):
    random = np.random.default_rng(seed)
    parts = [random.choice([-0.5, -0.25, 0.25, 0.5], random.integers(1, 5)) for _ in range(4)]
    flat = np.concatenate(parts)
    best = float(np.abs(flat).max())
    close = [at for at, part in enumerate(parts) if np.abs(part).max() >= worst_tied(best)]
    found = first_best_of(((np.abs(parts[at]), parts[at]) for at in close), best)
    assert found is not None
    part, place = close[found[0]], found[1]
    start = sum(len(before) for before in parts[:part])
    assert start + place == first_best(np.abs(flat), flat)


def test_nothing_is_chosen_from_nothing():
    assert first_best_of([], 0.5) is None
    assert first_best_of([(np.zeros(2), np.zeros(2))], 0.0) is None
