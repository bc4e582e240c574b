"""The numbers of stumps, and the tie rule: rounding never picks a weak ranker."""

import numpy as np
import pytest

from crucial.boosting.stumps import NOISE, StumpGrid, first_best, first_best_of, worst_tied
from crucial.data import Instances
from crucial.data.bins import Bins
from crucial.model.weak import Presence


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


# -- The numbers of stumps: every one is found again and scores as its ranker does. --
TABLE = np.array([[1.0, 5.0, np.nan], [2.0, 5.0, 1.0], [np.nan, 5.0, 1.0], [3.0, 5.0, np.nan]])


def grid(default_rank: str | int) -> StumpGrid:
    rows = np.arange(len(TABLE))
    return StumpGrid(Bins.build(Instances.from_input(TABLE), rows), default_rank)


@pytest.mark.parametrize("default_rank", ["learned", 0, 1])
def test_a_stump_scores_as_its_ranker_and_is_found_again(default_rank: str | int):
    stumps = grid(default_rank)
    offered = np.argwhere(stumps.offered())
    assert len(offered)
    outputs = set()
    for default, position in offered.tolist():
        ranker = stumps.ranker(position, default)
        output = stumps.output(position, default)
        assert output.tolist() == ranker.scores(TABLE).tolist()
        assert 0 < output.sum() < len(TABLE)
        assert stumps.find(ranker) == (position, default)
        if default_rank != "learned" and not isinstance(ranker, Presence):
            assert ranker.default == default_rank
        outputs.add((ranker.feature, *output.tolist()))
    assert {feature for feature, *_ in outputs} == {0, 2}


def test_a_feature_without_abstentions_has_one_default():
    rows = np.arange(3)
    table = np.array([[1.0], [2.0], [3.0]])
    stumps = StumpGrid(Bins.build(Instances.from_input(table), rows), 1)
    offered = stumps.offered()
    assert offered[0].sum() == 2
    assert not offered[1].any()
    position = int(np.flatnonzero(offered[0])[0])
    assert stumps.ranker(position, 0).default == 1  # (as the parameter says)
