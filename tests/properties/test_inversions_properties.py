"""Both ways of counting pairs against the plain meaning."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucial.kernels.pairs import count_pairs
from naive.paths import PATHS, counting

item = st.tuples(st.integers(0, 6), st.floats(0.1, 10))
lists_of_blocks = st.lists(st.lists(st.lists(item, min_size=1, max_size=4), max_size=5), max_size=4)


def count_naively(level, weight, starts, lists):
    counts = np.zeros((len(lists) - 1, 3))
    block = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    for l in range(len(lists) - 1):
        for a in range(starts[lists[l]], starts[lists[l + 1]]):
            for b in range(a + 1, starts[lists[l + 1]]):
                if level[a] != level[b]:
                    kind = 2 if block[a] == block[b] else int(level[a] < level[b])
                    counts[l, kind] += weight[a] * weight[b]
    return counts


@pytest.mark.kernels
@given(lists_of_blocks)
def test_twins_agree(drawn) -> None:
    flat = [item for one in drawn for block in one for item in block]
    level = np.array([l for l, _ in flat], np.int64)
    weight = np.array([w for _, w in flat], float)
    starts = np.cumsum([0] + [len(block) for one in drawn for block in one])
    lists = np.cumsum([0] + [len(one) for one in drawn])
    expected = count_naively(level, weight, starts, lists)
    whole = count_naively(level, np.ones(len(level)), starts, lists)
    for path in PATHS:
        with counting(path):
            found = count_pairs(level, weight, starts, lists)
            np.testing.assert_allclose(found, expected, rtol=1e-12)
            np.testing.assert_array_equal(count_pairs(level, None, starts, lists), whole)
