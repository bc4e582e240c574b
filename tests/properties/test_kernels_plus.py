"""The loops of RankBoost+ do as their meaning says."""

import numpy as np
import pytest
from hypothesis import strategies as st

from crucial.kernels.compiled import pairs
from naive.sweep import holds_for

pytestmark = pytest.mark.kernels


def problem(seed):
    """Pairs by winner, weights, and rankers in use."""
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 9))
    chosen = random.random((n, n)) < random.random()
    np.fill_diagonal(chosen, False)
    high, low = np.nonzero(chosen)
    start = np.concatenate(([0], np.cumsum(chosen.sum(axis=1)))).astype(np.int64)
    weight = random.random(len(high))
    used = random.integers(0, 2, (n, 6)).astype(float)
    return random, n, high, low.astype(np.int32), start, weight, used


@holds_for(st.integers(0, 10**9), quick=60, full=10_000)
def test_a_step_multiplies_and_adds_up(seed):
    random, n, high, low, start, weight, used = problem(seed)
    output = used[:, 0].astype(np.uint8)
    factors = random.random((2, 4))
    factors[:, 3] = factors[:, 0]
    a, b = np.sort(random.integers(0, n + 1, 2)).tolist()
    d, e = weight.copy(), weight[::-1].copy()
    win, lose, sums = np.full(n, 7.0), np.full(n, 7.0), np.full(4, 7.0)
    pairs.pair_step(start, low, output, factors, d, e, a, b, win, lose, sums)
    inside = (high >= a) & (high < b)
    kind = 2 * output[high] + output[low]
    assert d == pytest.approx(np.where(inside, weight * factors[0][kind], weight))
    assert e == pytest.approx(np.where(inside, weight[::-1] * factors[1][kind], weight[::-1]))
    for x in range(n):
        assert lose[x] == pytest.approx(d[inside & (low == x)].sum())
        expected = d[inside & (high == x)].sum() if a <= x < b else 7.0
        assert win[x] == pytest.approx(expected)
    tied, right = (kind == 0) | (kind == 3), kind == 2
    expected = [d[inside].sum(), e[inside].sum(), d[inside & tied].sum(), d[inside & right].sum()]
    assert sums == pytest.approx(expected)


@holds_for(st.integers(0, 10**9), quick=60, full=10_000)
def test_ties_of_rankers_in_use(seed):
    random, n, high, low, start, weight, used = problem(seed)
    size = int(random.integers(0, 7))
    a, b = np.sort(random.integers(0, n + 1, 2)).tolist()
    tied = np.full(size, 7.0)
    pairs.pair_ties(start, low, weight, used, size, a, b, tied)
    inside = (high >= a) & (high < b)
    for j in range(size):
        same = used[high, j] == used[low, j]
        assert tied[j] == pytest.approx(weight[inside & same].sum())


@holds_for(st.integers(0, 10**9), quick=60, full=10_000)
def test_sums_over_the_ones_of_columns(seed):
    random, n, _, _, _, _, used = problem(seed)
    values, size = random.normal(size=n), int(random.integers(0, 7))
    out = np.full(size, 7.0)
    pairs.column_sums(values, used, out)
    assert out == pytest.approx(values @ used[:, :size], abs=1e-12)


@holds_for(
    st.integers(0, 10**9), st.sampled_from([np.uint8, np.uint16, np.uint32]), quick=60, full=10_000
)
def test_sums_over_the_ones_of_stumps(seed, kind):
    random = np.random.default_rng(seed)
    n, n_features = int(random.integers(1, 9)), int(random.integers(1, 5))
    widths = random.integers(2, 7, n_features)  # bins, the one for abstentions included
    first = np.concatenate(([0], np.cumsum(widths))).astype(np.int64)
    codes = np.zeros((n_features, 16), kind)
    codes[:, :n] = random.integers(0, widths[:, None], (n_features, n))
    values = random.normal(size=n)
    offered = random.random(2 * first[-1]) < 0.7
    features = np.flatnonzero(random.random(n_features) < 0.7)
    out, peak = np.full(len(offered), 7.0), np.full(n_features, 7.0)
    pairs.stump_sums(codes, n, first, features, values, offered, out, peak)
    for f in range(n_features):
        absent = widths[f] - 1
        largest = 0.0
        for k in range(widths[f]):
            for default in (0, 1):
                place = 2 * (first[f] + k) + default
                if f not in features:
                    assert out[place] == 7.0
                    continue
                row = codes[f, :n]
                ones = (row >= k) & (row != absent) | ((row == absent) & (default == 1))
                expected = values[ones].sum() if offered[place] else 0.0
                assert out[place] == pytest.approx(expected, abs=1e-12)
                largest = max(largest, abs(expected))
        assert peak[f] == (pytest.approx(largest, abs=1e-12) if f in features else 7.0)
