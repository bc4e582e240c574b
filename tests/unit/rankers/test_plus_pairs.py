"""The pairs that RankBoost+ lists, or draws."""

import numpy as np
import pytest

from crucial.rankers.plus_search import sample_numbers


@pytest.mark.parametrize(
    ("whole", "count"), [(10, 10), (10, 4), (10, 3), (1000, 300), (10**15, 50)]
)
def test_numbers_are_drawn_without_repetition(whole, count):
    drawn = sample_numbers(whole, count, np.random.default_rng(0))
    assert len(drawn) == count
    assert (np.diff(drawn) > 0).all()
    assert 0 <= drawn[0] <= drawn[-1] < whole
