"""Both ways of counting pairs against the plain meaning."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucial.kernels import pairs, runtime
from crucial.kernels.pairs import count_pairs
from crucial.kernels.plain import count_pairs as count_pairs_plain
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


def test_size_alone_decides_which_way_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    ways = []
    plain = SimpleNamespace(count_pairs=lambda *a: ways.append("plain"))
    monkeypatch.setattr(pairs, "plain", plain)
    monkeypatch.setattr(pairs, "over_ranges", lambda *a: ways.append("compiled"))
    for n in (10, runtime.COUNT_COMPILED - 1, runtime.COUNT_COMPILED):
        count_pairs(np.zeros(n, np.int64), None, np.array([0, n]), np.array([0, 1]))
    assert ways == ["plain", "plain", "compiled"]


@pytest.mark.kernels
def test_threads_share_out_lists() -> None:
    rng = np.random.default_rng(0)
    level = rng.integers(0, 7, 900)
    starts = np.unique(np.append(rng.integers(0, 900, 500), [0, 900]))
    lists = np.unique(np.append(rng.integers(0, len(starts) - 1, 40), [0, len(starts) - 1]))
    weight = rng.random(900)
    with counting("compiled"):
        alone = count_pairs(level, weight, starts, lists, 1)
        for threads in (2, 3, 7):
            again = count_pairs(level, weight, starts, lists, threads)
            np.testing.assert_array_equal(again, alone)
    np.testing.assert_allclose(count_pairs_plain(level, weight, starts, lists), alone, rtol=1e-13)


@pytest.mark.kernels
def test_weights_of_other_sizes_in_other_lists() -> None:
    """A light list next to a heavy one keeps its digits."""
    rng = np.random.default_rng(0)
    level, weight = rng.integers(0, 4, 60), rng.random(60)
    starts, lists = np.arange(61), np.array([0, 30, 60])
    light = count_pairs_plain(level[30:], weight[30:], np.arange(31), np.array([0, 30]))
    weight[:30] *= 1e12
    for path in PATHS:
        with counting(path):
            found = count_pairs(level, weight, starts, lists)
        np.testing.assert_allclose(found[1:], light, rtol=1e-13)
