"""RankRLS agrees with listing every pair, and its cross-validation with fitting again."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.naive import rank_rls as naive

from crucial.data.groups import Groups
from crucial.rankers import RankRLS
from crucial.rankers.linear.closed_form import Centring, Decomposition, LeftOut
from crucial.rankers.linear.columns import DifferenceFeedback


@st.composite
def problems(draw: Any) -> dict[str, Any]:
    n = draw(st.integers(6, 18))
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    qid = np.sort(random.integers(0, draw(st.sampled_from([1, 2, 4])), n))
    y = random.integers(0, draw(st.sampled_from([2, 4])), n).astype(float)
    y[:2], qid[:2] = [0.0, 1.0], qid[0]
    X = random.normal(size=(n, draw(st.sampled_from([1, 3, 8]))))
    whole = draw(st.booleans())
    weight = random.integers(1, 4, n).astype(float) if whole else random.uniform(0.2, 2.0, n)
    return {"X": X, "y": y, "qid": qid, "weight": weight, "l2": draw(st.sampled_from([0.01, 1.0]))}


def raw_weights(ranker: RankRLS, n_features: int) -> Any:
    """The weights of the features as they are."""
    out = np.zeros(n_features)
    for one, factor in zip(ranker.model_.rankers, ranker.model_.weights, strict=True):
        out[one.feature] = factor / (one.high - one.low)
    return out


@given(problem=problems())
def test_the_weights_are_those_of_listed_pairs(problem: dict[str, Any]) -> None:
    X, y, qid, weight, l2 = problem.values()
    found = RankRLS(l2, standardise=False).fit(X, y, qid=qid, sample_weight=weight)
    expected = naive.fit_linear(X, y, qid, weight, l2)
    np.testing.assert_allclose(raw_weights(found, X.shape[1]), expected, rtol=1e-7, atol=1e-9)
    square = float(expected @ expected)
    value = naive.objective(X @ expected, square, y, qid, weight, l2)
    assert found.objective_ == pytest.approx(value, rel=1e-9, abs=1e-11)
    sparse = RankRLS(l2, standardise=False, tol=1e-14).fit(
        sp.csr_array(X), y, qid=qid, sample_weight=weight
    )
    assert sparse.objective_ == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(raw_weights(sparse, X.shape[1]), expected, rtol=1e-5, atol=1e-6)


@given(problem=problems())
def test_queries_left_out_are_those_of_fitting_again(problem: dict[str, Any]) -> None:
    X, y, qid, weight, l2 = problem.values()
    sizes = [np.sum(qid == q) for q in np.unique(qid)]
    assume(len(sizes) > 1 and min(sizes) > 1)
    found = RankRLS(l2, standardise=False).leave_query_out(X, y, qid=qid, sample_weight=weight)
    expected = naive.left_out_queries(X, y, qid, weight, l2)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kernel", [False, True], ids=["columns", "kernel"])
@given(problem=problems())
def test_pairs_left_out_are_those_of_fitting_again(kernel: bool, problem: dict[str, Any]) -> None:
    X, y, qid, _, l2 = problem.values()
    feedback = DifferenceFeedback(y, Groups.from_qid(qid, len(y)))
    rows, centring = feedback.rows, Centring(feedback)
    if kernel:
        parts = Decomposition.of_kernel(X[rows] @ X[rows].T, centring, feedback.labels)
    else:
        parts = Decomposition.of_columns(X[rows], centring, feedback.labels)
    left_out = LeftOut(feedback, parts)
    expected = naive.left_out_pairs(X[rows], y[rows], qid[rows], l2)
    for q in range(feedback.n_queries):
        a, b = feedback.starts[q : q + 2].tolist()
        margins = left_out.margins(q, l2)
        for i in range(b - a):
            for j in range(i + 1, b - a):
                assert margins[i, j] == pytest.approx(expected[a + i, a + j], rel=1e-6, abs=1e-8)
                assert margins[j, i] == pytest.approx(-margins[i, j])


def tied_rows(seed: int) -> dict[str, Any]:
    """A small problem of few distinct rows, of one positive row in every seventh."""
    random = np.random.default_rng(seed)
    n, p = random.integers(6, 12), random.integers(1, 4)
    X = random.integers(0, random.choice([2, 3, 4]), (n, p)) * random.choice([0.5, 1.0, 100.0])
    X[:, 0] += 2000.0 * (seed % 5 == 0)
    y = random.integers(0, random.choice([2, 3]), n).astype(float)
    y[:2] = [0.0, 1.0]
    if seed % 7 == 0:
        y = np.eye(n)[random.integers(n)]
    qid = np.sort(random.integers(0, 2, n)) if seed % 2 else np.zeros(n, int)
    qid[:2] = qid[0]
    l2 = float(random.choice([1e-5, 0.01, 0.1, 1.0]))
    return {"X": X, "y": y, "qid": qid, "l2": l2, "order": random.permutation(n)}


@pytest.mark.parametrize("standardise", [True, False])
def test_ties_of_pairs_left_out_are_those_of_exact_fits(standardise: bool) -> None:
    """Margins that are 0 count half, whatever the order of the rows."""
    n_ties = 0
    for seed in range(150):
        X, y, qid, l2, order = tied_rows(seed).values()
        if not any(np.ptp(y[qid == q]) for q in np.unique(qid)):
            continue
        margins = naive.exact_left_out_margins(X, y, qid, l2, standardise).values()
        expected = np.mean([0.5 * (1 + (m > 0) - (m < 0)) for m in margins])
        n_ties += sum(m == 0 for m in margins)
        ranker = RankRLS(l2, standardise=standardise)
        assert ranker.leave_pair_out(X, y, qid=qid) == pytest.approx(expected, abs=1e-12), seed
        turned = ranker.leave_pair_out(X[order], y[order], qid=qid[order])
        assert turned == pytest.approx(expected, abs=1e-12), seed
    assert n_ties > 500


def test_ties_of_a_kernel_of_pairs_left_out_are_those_of_columns() -> None:
    for seed in range(60):
        X, y, qid, l2, _ = tied_rows(seed).values()
        if l2 < 0.01 or not any(np.ptp(y[qid == q]) for q in np.unique(qid)):
            continue
        found = RankRLS(l2, kernel="precomputed").leave_pair_out(X @ X.T, y, qid=qid)
        expected = RankRLS(l2, standardise=False).leave_pair_out(X, y, qid=qid)
        assert found == pytest.approx(expected, abs=1e-12), seed


@given(problem=problems())
def test_a_kernel_has_the_coefficients_of_its_equations(problem: dict[str, Any]) -> None:
    X, y, qid, _, l2 = problem.values()
    gram = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    found = RankRLS(l2, kernel="precomputed").fit(gram, y, qid=qid)
    several = np.bincount(qid)[qid] > 1
    expected = np.zeros(len(y))
    inside = np.ix_(several, several)
    expected[several] = naive.fit_kernel(gram[inside], y[several], qid[several], l2)
    np.testing.assert_allclose(found.predict(gram), gram @ expected, rtol=1e-7, atol=1e-9)
    for query in np.unique(qid).tolist():
        own = np.isin(found.model_.rows, np.flatnonzero(qid == query))
        assert found.model_.coefficients[own].sum() == pytest.approx(0.0, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(problem=problems())
def test_the_path_is_that_of_single_fits(problem: dict[str, Any]) -> None:
    X, y, qid, weight, _ = problem.values()
    ridges = [0.001, 0.1, 10.0]
    if len(np.unique(qid)) == 1:
        weight = np.ones(len(y))
    path = RankRLS(standardise=True).path(X, y, l2=ridges, qid=qid, sample_weight=weight)
    for l2, objective in zip(ridges, path.objective.tolist(), strict=True):
        one = RankRLS(l2).fit(X, y, qid=qid, sample_weight=weight)
        assert objective == pytest.approx(one.objective_, rel=1e-8, abs=1e-11)
    assert path.best_l2 in ridges


def test_explicit_pairs_ask_for_a_difference_of_one() -> None:
    random = np.random.default_rng(0)
    X, pairs = random.normal(size=(12, 3)), random.integers(0, 12, (40, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    weight = random.uniform(0.5, 2.0, len(pairs))
    found = RankRLS(0.2, standardise=False, tol=1e-15).fit_pairs(X, pairs, pair_weight=weight)
    rows = np.sqrt(weight / weight.sum())[:, None] * (X[pairs[:, 0]] - X[pairs[:, 1]])
    right = rows.T @ np.sqrt(weight / weight.sum())
    expected = np.linalg.solve(rows.T @ rows + 0.1 * np.eye(3), right)
    np.testing.assert_allclose(raw_weights(found, 3), expected, rtol=1e-6)
