"""LabelRanker does what lists of all labels, or of all pairs of labels, say."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume
from hypothesis import strategies as st

from crucial.data.bins import Bins
from crucial.data.instances import Instances
from crucial.kernels.compiled.stumps import label_criteria
from crucial.rankers import LabelRanker
from crucial.rankers.label_ranker import LABEL_OBJECTIVES, LabelStumpSearch, boost_labels
from naive.paths import PATHS, quiet, using
from naive.sweep import holds_for

NAMES = sorted(LABEL_OBJECTIVES)


@st.composite
def label_tables(draw, max_rows=10, one_label=None):
    """Rows, which labels they have, and weights; something can be told apart."""
    n, n_features = draw(st.integers(2, max_rows)), draw(st.integers(1, 3))
    n_labels = draw(st.integers(2, 4))
    cell = st.one_of(st.integers(0, 3).map(float), st.integers(0, 3).map(float), st.just(np.nan))
    X = draw(st.lists(cell, min_size=n * n_features, max_size=n * n_features))
    if one_label or (one_label is None and draw(st.booleans())):
        codes = draw(st.lists(st.integers(0, n_labels - 1), min_size=n, max_size=n))
        right = np.array(codes)[:, None] == np.arange(n_labels)
        assume(len(set(codes)) > 1)
    else:
        bits = draw(st.lists(st.booleans(), min_size=n * n_labels, max_size=n * n_labels))
        right = np.array(bits).reshape(n, n_labels)
    assume((right.any(axis=1) & ~right.all(axis=1)).any())
    weight = np.array(draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=n, max_size=n)))
    return np.array(X).reshape(n, n_features), right, weight


def listed(name, right, weight):
    """Every comparison of an objective: ((row, right label), (row, wrong label), weight).

    One of the two is None where a label is compared with 0.
    """
    n, n_labels = right.shape
    cells = list(itertools.product(range(n), range(n_labels)))
    good, bad = [c for c in cells if right[c]], [c for c in cells if not right[c]]
    if name == "mh":
        return [(c, None, weight[c[0]]) for c in good] + [(None, c, weight[c[0]]) for c in bad]
    pairs = list(itertools.product(good, bad))
    if name == "mr_product":
        return [(g, b, weight[g[0]] * weight[b[0]]) for g, b in pairs]
    sizes = [right[i].sum() * (~right[i]).sum() for i in range(n)]
    return [(g, b, weight[g[0]] / sizes[g[0]]) for g, b in pairs if g[0] == b[0]]


def losses(comparisons, f):
    """exp(-margin) of each comparison, times its weight."""
    margins = [(f[g] if g else 0.0) - (f[b] if b else 0.0) for g, b, _ in comparisons]
    return np.array([w for _, _, w in comparisons]) * np.exp(-np.array(margins))


@holds_for(
    label_tables(), st.sampled_from(NAMES), st.sampled_from([0.0, 1.0, 30.0]), st.integers(0, 99),
    quick=60, full=1_000,
)  # fmt: skip
def test_weights_and_loss(table, name, scale, seed):
    _, right, weight = table
    f = scale * np.random.default_rng(seed).normal(size=right.shape)
    pi, log_loss = LABEL_OBJECTIVES[name](right, weight).weigh(f)
    comparisons = listed(name, right, weight)
    parts = losses(comparisons, f)
    start = losses(comparisons, np.zeros(right.shape)).sum()
    assert log_loss == pytest.approx(math.log(parts.sum() / start), rel=1e-9, abs=1e-9)
    expected = np.zeros(right.shape)
    for (g, b, _), part in zip(comparisons, parts, strict=True):
        if g:
            expected[g] += part
        if b:
            expected[b] -= part
    np.testing.assert_allclose(pi, expected / parts.sum(), rtol=1e-8, atol=1e-12)
    assert np.isfinite(LABEL_OBJECTIVES[name](right, weight).weigh(40 * f + 900)[1])


def naive_best(X, pi, name, discrete):
    """Every threshold in the order of features: the first best, and its parts."""
    found = []
    for j in range(X.shape[1]):
        x = X[:, j]
        values = np.unique(x[~np.isnan(x)])
        cuts = [(a + b) / 2 for a, b in itertools.pairwise(values)]
        if np.isnan(x).any() and len(values):
            cuts.insert(0, None)
        for cut in cuts:
            part = np.where(np.isnan(x), 0, 2 if cut is None else np.where(x > cut, 2, 1))
            right = np.array([np.maximum(pi, 0)[part == p].sum(axis=0) for p in range(3)])
            wrong = np.array([np.maximum(-pi, 0)[part == p].sum(axis=0) for p in range(3)])
            s = np.sqrt(right * wrong).sum()
            z = {"mh": 2 * s, "mr": s, "mr_product": s * s}[name]
            value = np.abs(right - wrong).sum() if discrete else 1 / (z + 1e-5)
            if (value > 1e-13) if discrete else (z < 1 - 1e-13):
                found.append((value, j, cut, right, wrong, z))
    if not found:
        return None
    top = max(one[0] for one in found)
    return next(one for one in found if one[0] >= top - 1e-10 * (top + 1e-4))


@pytest.mark.kernels
@holds_for(
    label_tables(), st.sampled_from(NAMES), st.booleans(), st.sampled_from([1.0, 0.3]),
    quick=60, full=1_000,
)  # fmt: skip
def test_rounds(table, name, discrete, rate):
    X, right, weight = table
    fits = []
    for path in PATHS:
        with using(path):
            bins = Bins.build(Instances(X), np.arange(len(X)), weight, None)
            objective = LABEL_OBJECTIVES[name](right, weight)
            search = LabelStumpSearch(bins, right.shape[1], discrete, 1)
            total = float(weight.sum()) * right.shape[1]
            fits.append(
                boost_labels(search, objective, total, rounds=5, rate=rate, discrete=discrete)
            )
    (made, scores), (again, same) = fits
    assert [r.stump.threshold for r in again] == [r.stump.threshold for r in made]
    np.testing.assert_allclose(same, scores, rtol=1e-9, atol=1e-12)
    comparisons = listed(name, right, weight)
    f = np.zeros(right.shape)
    smoothing = objective.mass * min(max(0.5 / total, 1e-12), 1e-2)
    for one in made:
        pi, _ = objective.weigh(f)
        best = naive_best(X, pi, name, discrete)
        assert best is not None
        _, j, cut, good, bad, z = best
        assert (one.stump.feature, one.stump.threshold) == (j, cut)
        if discrete:
            r = np.abs(good - bad).sum() / objective.mass
            alpha = 0.5 / objective.mass * math.log((1 + r + smoothing) / (1 - r + smoothing))
            values = rate * alpha * np.sign(np.where(np.abs(good - bad) > 1e-13, good - bad, 0))
        else:
            step = 0.25 if name == "mr" else 0.5
            values = rate * step * np.log((good + smoothing) / (bad + smoothing))
        found = np.array([one.stump.missing, one.stump.low, one.stump.high])
        np.testing.assert_allclose(found, values, rtol=1e-7, atol=1e-10)
        before = losses(comparisons, f).sum()
        x = X[:, j]
        part = np.where(np.isnan(x), 0, 2 if cut is None else np.where(x > cut, 2, 1))
        f = f + found[part]
        after = losses(comparisons, f).sum()
        assert one.z == pytest.approx(after / before, rel=1e-8)
        assert one.z < 1.0  # every round helps
        if not discrete and rate == 1.0 and name == "mr":
            exact = step * np.log(np.maximum(good, 1e-300) / np.maximum(bad, 1e-300))
            if np.isfinite(exact).all() and (good * bad > 0).all():
                moved = losses(comparisons, f - found[part] + exact[part]).sum()
                assert moved / before <= z + 1e-9  # the bound that the choice goes by
    np.testing.assert_allclose(scores, f, rtol=1e-9, atol=1e-12)


@pytest.mark.kernels
@holds_for(
    st.integers(1, 40), st.integers(1, 5), st.integers(1, 6), st.integers(0, 999), quick=40,
    full=2_000,
)  # fmt: skip
def test_the_kernel_agrees_with_adding_one_by_one(n, n_labels, n_bins, seed):
    random = np.random.default_rng(seed)
    pi = random.normal(size=(n, n_labels)) * (random.random((n, n_labels)) < 0.8)
    for dtype in (np.uint8, np.uint16):
        codes = random.integers(0, n_bins + 1, n).astype(dtype)
        hist = np.zeros((n_bins + 1, 2 * n_labels))
        for i, label in itertools.product(range(n), range(n_labels)):
            hist[codes[i], label + (n_labels if pi[i, label] < 0 else 0)] += abs(pi[i, label])
        for discrete in (False, True):
            expected = np.zeros(n_bins)
            for k in range(n_bins):
                for part in (hist[:k].sum(0), hist[k:n_bins].sum(0), hist[n_bins]):
                    a, b = part[:n_labels], part[n_labels:]
                    expected[k] += (np.abs(a - b) if discrete else np.sqrt(a * b)).sum()
            room, out = np.full_like(hist, 7.0), np.full(n_bins, 7.0)
            label_criteria(codes, pi, discrete, room, out)
            np.testing.assert_allclose(room, hist, rtol=1e-12, atol=1e-14)
            np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-12)


# -- what must not matter -----------------------------------------------------------------

ways = st.fixed_dictionaries(
    {
        "objective": st.sampled_from(NAMES),
        "predictions": st.sampled_from(["real", "discrete"]),
        "learning_rate": st.sampled_from([1.0, 0.3]),
    }
)


def fitted(X, y, way, weight=None, **more):
    with quiet():
        return LabelRanker(6, **way, **more).fit(X, y, sample_weight=weight)


@holds_for(label_tables(), ways, st.data(), quick=30, full=400)
def test_weight_2_is_a_row_twice_and_weight_0_a_row_left_out(table, way, data):
    X, right, _ = table
    counts = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(X), max_size=len(X))))
    kept = right[counts > 0]
    assume(len(kept) and (kept.any(axis=1) & ~kept.all(axis=1)).any())
    one = fitted(X, right.astype(int), way, counts.astype(float), max_bins=3)
    repeated = X.repeat(counts, axis=0)
    two = fitted(repeated, right.repeat(counts, axis=0).astype(int), way, max_bins=3)
    np.testing.assert_allclose(
        one.label_scores(repeated), two.label_scores(repeated), rtol=1e-7, atol=1e-9
    )


@holds_for(label_tables(one_label=True), ways, quick=30, full=400)
def test_rising_transforms_names_of_classes_sparse_input_and_threads(table, way):
    X, right, weight = table
    y = right.argmax(axis=1)
    one = fitted(X, y, way, weight)
    moved = fitted(np.exp(X), np.array(["a", "b", "c", "d"])[y], way, weight)
    np.testing.assert_array_equal(one.label_scores(X), moved.label_scores(np.exp(X)))
    filled = np.nan_to_num(X)
    dense = fitted(filled, y, way, weight).label_scores(filled)
    sparse = fitted(sp.csr_array(filled), y, way, weight).label_scores(sp.csr_array(filled))
    np.testing.assert_array_equal(dense, sparse)
    assert fitted(filled, y, way, weight, n_jobs=3).label_scores(filled).tobytes() == (
        dense.tobytes()
    )
