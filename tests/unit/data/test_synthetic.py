"""Synthetic problems have the sizes, shapes and repeatability they promise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucial.data.problems import (
    Problem,
    make_bipartite,
    make_film_club,
    make_interactions,
    make_letor,
)
from crucial.errors import ParameterError
from refusals import refused


def auc(score: np.ndarray, positive: np.ndarray) -> float:
    """Share of (positive, negative) pairs in the right order, ties half."""
    diff = score[positive][:, None] - score[~positive]
    return float(((diff > 0) + 0.5 * (diff == 0)).mean())


def columns(problem: Problem, kind: str) -> list[int]:
    return [j for j, name in enumerate(problem.feature_names) if name.startswith(kind)]


@pytest.fixture(scope="module")
def letor() -> Problem:
    return make_letor(n_queries=100, docs_per_query=60, n_features=40, seed=1)


@pytest.mark.parametrize("make", [make_letor, make_film_club, make_bipartite, make_interactions])
def test_the_seed_decides_everything(make) -> None:
    first, again, other = make(seed=5), make(seed=5), make(seed=6)
    assert np.array_equal(first.X, again.X, equal_nan=True)
    assert np.array_equal(first.y, again.y)
    assert not np.array_equal(first.X, other.X, equal_nan=True)
    assert first.X.dtype == np.float32
    assert first.X.flags.c_contiguous


@given(st.integers(1, 30), st.integers(1, 40), st.integers(1, 25), st.integers(2, 6))
def test_letor_sizes(n_queries: int, docs: int, n_features: int, n_levels: int) -> None:
    problem = make_letor(n_queries, docs, n_features, n_levels)
    sizes = np.bincount(problem.qid)
    assert problem.X.shape == (n_queries * docs, n_features)
    assert len(sizes) == n_queries
    assert len(set(problem.feature_names)) == n_features
    assert np.all((sizes >= docs / 2) & (sizes <= 1.5 * docs))
    assert np.all(np.diff(problem.qid) >= 0)
    assert problem.y.min() >= 0
    assert problem.y.max() < n_levels
    assert np.isfinite(problem.X).all()


def test_letor_levels_are_skewed(letor: Problem) -> None:
    shares = np.bincount(letor.y, minlength=5) / len(letor.y)
    expected = 0.45 ** np.arange(5)
    np.testing.assert_allclose(shares, expected / expected.sum(), atol=0.001)


def test_letor_columns_are_what_their_names_say(letor: Problem) -> None:
    X, good = letor.X, letor.y >= 2
    for j in columns(letor, "rising") + columns(letor, "count") + columns(letor, "heavy"):
        assert auc(X[:, j], good) > 0.51
    for j in columns(letor, "falling"):
        assert auc(X[:, j], good) < 0.49
    for j in columns(letor, "noise"):
        assert abs(auc(X[:, j], good) - 0.5) < 0.03
    for j in columns(letor, "middle"):
        assert abs(auc(X[:, j], good) - 0.5) < 0.05
    assert max(auc(-abs(X[:, j] - X[:, j].mean()), good) for j in columns(letor, "middle")) > 0.53
    for j in columns(letor, "constant"):
        assert np.ptp(X[:, j]) == 0
    for j in columns(letor, "count"):
        assert np.array_equal(X[:, j], np.rint(X[:, j]))
        assert (X[:, j] == 0).mean() > 0.3
        assert len(np.unique(X[:, j])) < 200
    for j in columns(letor, "heavy"):
        assert X[:, j].min() > 0
        assert X[:, j].mean() > 1.3 * np.median(X[:, j])
    kinds = ("rising", "falling", "middle", "count", "heavy", "constant", "noise")
    assert sum(len(columns(letor, kind)) for kind in kinds) == 40
    assert all(columns(letor, kind) for kind in kinds)


def test_letor_missing_share() -> None:
    full = make_letor(50, 40, 20, missing=0.0)
    assert not np.isnan(full.X).any()
    holed = make_letor(50, 40, 20, missing=0.3)
    assert abs(np.isnan(holed.X).mean() - 0.3) < 0.01
    assert np.isnan(make_letor(5, 4, 3, missing=1.0).X).all()


def test_film_club_is_a_table_of_ratings() -> None:
    club = make_film_club(n_viewers=300, n_films=400, n_rated=120, seed=2)
    assert club.X.shape == (120, 300)
    assert club.qid is None
    assert np.all(np.diff(club.item) > 0)
    assert 0 <= club.item[0] < club.item[-1] < 400
    rated = ~np.isnan(club.X)
    assert set(np.unique(club.X[rated])) <= set(range(6))
    assert set(np.unique(club.y)) <= set(range(6))
    assert len(set(club.y)) > 2
    assert 0.05 < rated.mean() < 0.95  # most viewers abstain on many films
    # (everyone saw everything where all is rated)
    assert make_film_club(n_viewers=4, n_films=5, n_rated=5).item.tolist() == [0, 1, 2, 3, 4]


@given(n=st.integers(2, 200), n_features=st.integers(1, 9), positives=st.floats(0, 1))
def test_bipartite_sizes(n: int, n_features: int, positives: float) -> None:
    problem = make_bipartite(n, n_features, positives)
    assert problem.X.shape == (n, n_features)
    assert len(problem.feature_names) == n_features
    assert problem.y.sum() == min(max(round(n * positives), 1), n - 1)
    assert set(problem.y) == {0, 1}


def test_bipartite_columns_are_what_their_names_say() -> None:
    problem = make_bipartite(1000, 8, 0.3)
    names = [name.split("_")[0] for name in problem.feature_names[:4]]
    found = {name: auc(problem.X[:, j], problem.y == 1) for j, name in enumerate(names)}
    assert found["rising"] > 0.65
    assert found["falling"] < 0.35
    assert abs(found["middle"] - 0.5) < 0.06
    assert abs(found["noise"] - 0.5) < 0.06
    assert auc(-abs(problem.X[:, 2]), problem.y == 1) > 0.6


@pytest.mark.parametrize(("make", "arguments", "message"), [
    (make_letor, {"n_queries": 0}, "'n_queries' parameter of make_letor .* Got 0"),
    (make_letor, {"docs_per_query": 2.5}, "'docs_per_query' .* Got 2.5"),
    (make_letor, {"n_features": 0}, "'n_features' .* Got 0"),
    (make_letor, {"n_levels": 1}, "'n_levels' .* at least 2. Got 1"),
    (make_letor, {"missing": 1.5}, r"'missing' .* in \[0, 1\]. Got 1.5"),
    (make_film_club, {"n_films": 10, "n_rated": 11}, r"'n_rated' .* \[2, 10\]. Got 11"),
    (make_film_club, {"n_viewers": 0}, "'n_viewers' .* Got 0"),
    (make_bipartite, {"n": 1}, "'n' parameter of make_bipartite .* Got 1"),
    (make_bipartite, {"positives": -0.1}, r"'positives' .* in \[0, 1\]. Got -0.1"),
    (make_bipartite, {"seed": None}, "'seed' .* Got None"),
    (make_interactions, {"n_pairs": 0}, "'n_pairs' parameter of make_interactions must be"),
    (make_interactions, {"noise": -1.0}, "'noise' parameter of make_interactions must be"),
])  # fmt: skip
def test_bad_parameters_are_refused(make, arguments, message) -> None:
    refused(ParameterError, message, make, **arguments)


def test_interactions_are_in_pairs_and_not_in_single_columns() -> None:
    problem = make_interactions(n_queries=100, docs_per_query=20, main=0.0, noise=0.2, seed=2)
    X, high = problem.X.astype(np.float64), problem.y > np.median(problem.y)
    assert problem.feature_names[:4] == ("product_1a", "product_1b", "xor_2a", "xor_2b")
    for j in range(X.shape[1]):
        assert abs(auc(X[:, j], high) - 0.5) < 0.05
    for pair in range(4):
        assert auc(X[:, 2 * pair] * X[:, 2 * pair + 1], high) > 0.65
    with_main = make_interactions(n_queries=100, docs_per_query=20, main=1.0, seed=2)
    assert auc(with_main.X[:, 0], with_main.y > 0) > 0.6
