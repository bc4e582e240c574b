"""Kernels on bins: codes, sorting, histograms, slopes, bounds; NumPy = Numba = by hand."""

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from crucial.kernels import plain
from crucial.kernels.compiled import stumps as binning
from crucial.kernels.compiled import stumps as compiled
from crucial.kernels.elementary import to_fixed
from crucial.kernels.stumps import StumpSums
from naive.paths import PATHS, using
from naive.sweep import holds_for

pytestmark = [pytest.mark.kernels, pytest.mark.bounds]

UNIT = 2.0**-54  # (of 25 numbers of at most 2)
REACH = {"quick": 40, "full": 10_000}
ENDS = [-1.7e308, -1e300, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1e-300, 0.1, 1.0, 1e300, 1.7e308]


@st.composite
def binned(draw, max_features=4):
    """Codes of a few features, some of which abstain, and potentials that sum to 0."""
    n = draw(st.integers(1, 25))
    n_bins = draw(st.lists(st.integers(1, 6) | st.just(255), min_size=1, max_size=max_features))
    missing = np.array([draw(st.booleans()) for _ in n_bins])
    codes = np.zeros((len(n_bins), -(-n // 8) * 8), np.uint8)
    for f, (count, absent) in enumerate(zip(n_bins, missing)):
        one = st.integers(0, count if absent else count - 1)
        codes[f, :n] = draw(st.lists(one, min_size=n, max_size=n))
    pi = np.zeros(codes.shape[1])
    pi[:n] = draw(st.lists(st.floats(-1, 1), min_size=n, max_size=n))
    pi[:n] -= pi[:n].mean()
    first = np.concatenate(([0], np.cumsum(np.array(n_bins) + 1))).astype(np.int64)
    return codes, n, pi, first, missing


@holds_for(binned(), st.sampled_from([-1, 0, 1]), st.booleans(), **REACH)
def test_slopes_of_all_stumps(drawn, fixed_default, signed):
    codes, n, pi, first, missing = drawn
    features = np.arange(len(codes))
    hist = np.zeros(first[-1], np.int64)
    in_numpy = plain.FeatureSums(codes[:, :n], features, first, missing, fixed_default)
    in_numpy.histogram(to_fixed(pi, UNIT), hist)
    made = [(np.full((2, first[-1]), np.nan), np.full(len(codes), np.nan)) for _ in range(2)]
    in_numpy.slopes(hist, UNIT, signed, *made[0])
    compiled.slopes(hist, UNIT, first, missing, features, fixed_default, signed, *made[1])
    assert made[0][0].tobytes() == made[1][0].tobytes()
    assert made[0][1].tobytes() == made[1][1].tobytes()
    slope, peak = made[0]
    for f in features:
        n_bins = int(first[f + 1] - first[f]) - 1
        best = 0.0
        for default in (0, 1):
            for k in range(n_bins + 1):
                offered = _on_offer(k, default, n_bins, missing[f], fixed_default)
                one = codes[f, :n] >= k
                one = np.where(codes[f, :n] == n_bins, bool(default), one)
                r = math.fsum(pi[:n][one]) if offered else 0.0
                assert slope[default, first[f] + k] == pytest.approx(r, rel=0, abs=1e-14)
                best = max(best, r if signed else abs(r))
        assert peak[f] == pytest.approx(best, rel=0, abs=1e-14)


@holds_for(binned(), st.sampled_from([np.uint8, np.uint16]), st.randoms(), quick=25, full=5000)
def test_histograms_of_parts_add_up_to_those_of_all_rows(drawn, kind, random):
    """Any rows in any part, by histogram8, histogram_wide or NumPy: the same slopes to the byte."""
    codes, n, pi, first, missing = drawn
    features, codes, fixed = np.arange(len(codes)), codes.astype(kind), to_fixed(pi, UNIT)
    by_hand = [
        sum(fixed[:n][codes[f, :n] == b].tolist())
        for f in features
        for b in range(first[f + 1] - first[f])
    ]
    part, made = np.array([random.randrange(3) for _ in range(n)]), set()
    for path, own in itertools.product(PATHS, (np.zeros(n, int), part)):
        with using(path):
            hist = np.zeros(first[-1], np.int64)
            for number in np.unique(own):
                at = np.flatnonzero(own == number)
                width = -(-len(at) // 8) * 8
                table, mine = np.zeros((len(codes), width), kind), np.zeros(width)
                table[:, : len(at)], mine[: len(at)] = codes[:, at], pi[at]
                stumps = StumpSums(table, len(at), (first, missing, -1), False, 2)
                hist += stumps.histogram(features, to_fixed(mine, UNIT))
            assert hist.tolist() == by_hand
            whole = StumpSums(codes, n, (first, missing, -1), False, 1)
            slope, peak = np.zeros((2, 2, first[-1])), np.zeros((2, len(codes)))
            stumps.slopes(features, hist, 2.0 * UNIT, slope[0], peak[0])
            whole.scan(features, fixed, 2.0 * UNIT, slope[1], peak[1])
            made |= {(slope[k].tobytes(), peak[k].tobytes()) for k in (0, 1)}
    assert len(made) == 1


def _on_offer(k, default, n_bins, missing, fixed_default):
    """Whether the stump of codes >= k is one: not constant, and with the default asked for."""
    if not missing:
        return default == 0 and 0 < k < n_bins
    if fixed_default not in (-1, default):
        return False
    return k > 0 if default == 1 else k < n_bins


@holds_for(st.lists(st.floats(0.001, 1), min_size=2, max_size=12), st.data(), **REACH)
def test_bounds_on_z_hold_whatever_a_step_did(raw, data):
    """Pairs get weights, a step changes them; the bound stays below the new Z of any stump."""
    d = np.array(raw) / sum(raw)
    kinds = st.lists(st.sampled_from([-1, 0, 1]), min_size=len(d), max_size=len(d))
    stumps = [np.array(data.draw(kinds)) for _ in range(3)]
    step = np.array(data.draw(kinds))
    factor = np.exp(-data.draw(st.floats(-2, 2)) * step)
    new = d * factor / np.sum(d * factor)
    # One feature of two bins and no abstention a stump: its only place is 1.
    first = np.arange(len(stumps) + 1) * 3
    slope, wrong, right = (np.zeros((2, first[-1])) for _ in range(3))
    offered = np.zeros(slope.shape, bool)
    offered[0, first[:-1] + 1] = True
    drift = np.array([data.draw(st.sampled_from([0.0, 0.01, 0.3, np.inf])) for _ in stumps])
    z = []
    for f, stump in enumerate(stumps):
        at = first[f] + 1
        wrong[0, at], right[0, at] = d[stump == -1].sum(), d[stump == 1].sum()
        now_right, now_wrong = new[stump == 1].sum(), new[stump == -1].sum()
        off = data.draw(st.floats(-1, 1)) * min(drift[f], 1.0)
        slope[0, at] = now_right - now_wrong + off
        z.append(new[stump == 0].sum() + 2 * math.sqrt(now_right * now_wrong))
    scale = 1.0 / np.sum(d * factor)
    change = scale * np.array([factor.min(), factor.max(), 1.0, 0.0, 0.0])
    change[3] = scale * np.sum(d * np.maximum(1.0 - factor, 0.0))
    change[4] = scale * np.sum(d * np.maximum(factor - 1.0, 0.0))
    change = np.repeat(change[:, None], len(stumps), axis=1)
    reaches = []
    for bounds in (plain.drop_bounds, compiled.drop_bounds):
        reach = np.full(len(stumps), np.nan)
        arrays = (slope, offered, drift, wrong, right, change, first)
        bounds(*arrays, np.arange(len(stumps)), reach)
        reaches.append(reach)
    np.testing.assert_allclose(*reaches, rtol=1e-12)
    assert (reaches[0] <= np.array(z) + 5e-8).all()  # (a root turns 1e-16 into 1e-8)
    # It is of use: with nothing changed and nothing off, it is Z itself.
    reach = np.full(len(stumps), np.nan)
    still = np.zeros(len(stumps))
    none = np.repeat([[1.0], [1.0], [1.0], [0.0], [0.0]], len(stumps), axis=1)
    arrays = (right - wrong, offered, still, wrong, right, none, first)
    compiled.drop_bounds(*arrays, np.arange(len(stumps)), reach)
    at = first[:-1] + 1
    exact = 1 - right[0, at] - wrong[0, at] + 2 * np.sqrt(right[0, at] * wrong[0, at])
    np.testing.assert_allclose(reach, exact, atol=2e-6)
    offered[:] = False
    arrays = (slope, offered, still, wrong, right, change, first)
    compiled.drop_bounds(*arrays, np.arange(len(stumps)), reach)
    assert np.isinf(reach).all()


floats = st.sampled_from(ENDS) | st.floats(allow_nan=False, allow_infinity=False)
floats32 = st.floats(allow_nan=False, allow_infinity=False, width=32)


@holds_for(
    st.lists(floats, max_size=50) | st.lists(floats32, max_size=50).map(lambda v: np.float32(v)),
    **REACH,
)
def test_sorting_by_bits(values):
    values = np.asarray(values, getattr(values, "dtype", np.float64))
    kind = np.uint32 if values.dtype.itemsize == 4 else np.uint64
    bits = values.copy().view(kind)
    sign = kind(1) << kind(8 * values.dtype.itemsize - 1)
    shifts = np.arange(0, 8 * values.dtype.itemsize, 11).astype(kind)
    binning.sort_bits(bits, np.empty_like(bits), sign, kind(2047), shifts)
    np.testing.assert_array_equal(bits.view(values.dtype), np.sort(values))
    # Nothing is lost: the same bit patterns, both zeros too.
    assert sorted(bits.tolist()) == sorted(values.view(kind).tolist())


def test_every_kernel_is_tested():
    """Every compiled kernel is named in a test, or called by one, or by a reader of text."""
    tests = Path(__file__).parents[1]
    text = "".join(path.read_text() for path in tests.rglob("test_*.py"))
    untested = set()
    for path in Path(compiled.__file__).parent.glob("[a-z]*.py"):
        if path.stem != "text":
            names = re.findall(r"^@kernel.*\ndef ([a-z]\w*)", path.read_text(), re.M)
            untested |= {name for name in names if not re.search(rf"\b{name}\b", text)}
    # (through label_criteria, and through the state of label feedback)
    through_others = {"label_histogram", "order_by_code", "wrong_weights_few"}
    # (sums inside other kernels)
    through_others |= {"log_add", "log_sum", "triple_add", "triple_sum"}
    # (by their names in kernels.elementary)
    through_others |= {"exp_all", "log_all", "log1p_all"}
    # (through the doors of hinges, noise, grids of logistic losses and surrogates over pairs, each
    # compared with NumPy or with listed pairs)
    through_doors = {"sort_segments", "same_sums", "same_moved", "graded_sums", "graded_moved"}
    through_doors |= {
        "mix",
        "exact_pairs",
        "read_grid",
        "read_pieces",
        "spread_pieces",
        "cut_levels",
    }
    assert untested <= through_others | through_doors


weights = st.floats(0, 1) | st.sampled_from([0.0, 1e-15, 1e-13, 1.0])


@holds_for(
    st.lists(st.tuples(weights, weights, st.booleans()), min_size=1, max_size=9), quick=30, full=500
)
def test_drops_agree_with_their_twin_and_the_formula(stumps):
    """Z of every stump on offer, from W- and r alone; what is not on offer stays as it was."""
    snap = 1e-13
    right, wrong = (np.array([s[i] for s in stumps]) / 2 for i in (0, 1))
    offered = np.array([s[2] for s in stumps])
    made = []
    for drops in (plain.drops, compiled.drops):
        w, v, z = wrong.copy(), np.zeros_like(right), np.full(len(stumps), np.inf)
        made.append((drops(right - wrong, offered, snap, w, v, z), w, v, z))
    for one, other in zip(*made, strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
    lowest, w, v, z = made[0]
    exact = np.where(offered, 1 - right - wrong + 2 * np.sqrt(right * wrong), np.inf)
    np.testing.assert_allclose(z, exact, atol=1e-6)
    np.testing.assert_allclose(w, wrong, atol=2e-13)
    np.testing.assert_allclose(v, right, atol=2e-13)
    assert lowest == z.min()
