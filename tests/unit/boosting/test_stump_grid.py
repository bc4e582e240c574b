"""The numbers of stumps: every one is found again and scores as its ranker does."""

import numpy as np
import pytest

from crucial import Instances
from crucial.boosting.stumps import StumpGrid
from crucial.data.bins import Bins
from crucial.model.weak import Presence

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
