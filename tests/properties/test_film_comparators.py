"""The rankers that RankBoost is compared with, held to their words in plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucial.apps.recommend import (
    NearestNeighbours,
    PearsonCorrelation,
    Popularity,
    Regression,
    VectorSimilarity,
)
from crucial.apps.recommend.opinions import Opinions
from crucial.errors import DataError, ParameterError
from naive.films import (
    best_default_loss,
    best_scale_default,
    correlation,
    mean_of,
    neighbour_scores,
    ranking_loss,
    ratings_of,
    regression_table,
    vsim_scores,
)

CELL = st.one_of(st.none(), st.none(), st.integers(0, 5).map(float))


@st.composite
def clubs(draw):
    """A table with gaps and a user who rated some films, not all the same."""
    n_films, n_viewers = draw(st.integers(3, 9)), draw(st.integers(1, 5))
    row = st.lists(CELL, min_size=n_viewers, max_size=n_viewers)
    table = draw(st.lists(row, min_size=n_films, max_size=n_films))
    films = draw(st.lists(st.integers(0, n_films - 1), min_size=2, max_size=n_films, unique=True))
    stars = [float(draw(st.integers(1, 5))) for _ in films]
    if len(set(stars)) == 1:
        stars[0] = stars[0] % 5 + 1
    return table, dict(zip(films, stars))


def arrays(table, rated):
    club = np.array([[np.nan if cell is None else cell for cell in row] for row in table])
    films = np.array(list(rated))
    return club, films, np.array(list(rated.values()))


@given(clubs())
def test_vsim(case):
    table, rated = case
    club, films, y = arrays(table, rated)
    ranker = VectorSimilarity().fit(club[films], y, club=club)
    np.testing.assert_allclose(ranker.predict(club), vsim_scores(table, rated), atol=1e-12)
    # A film's own rating has no part in its score if it is left out.
    left = ranker.scores_left_out(club[films], y)
    for at, film in enumerate(rated):
        others = {one: stars for one, stars in rated.items() if one != film}
        expected = vsim_scores(table, others)[film] - mean_of(others) + mean_of(rated)
        assert left[at] == pytest.approx(expected, abs=1e-12)


@given(clubs(), st.integers(1, 3))
def test_nearest_neighbours(case, k):
    table, rated = case
    club, films, y = arrays(table, rated)
    ranker = NearestNeighbours(k, default="between").fit(club[films], y, club=club)
    for viewer in range(len(table[0])):
        assert ranker.loss_[viewer] == pytest.approx(best_default_loss(table, viewer, rated))
        scores = neighbour_scores(table, viewer, ranker.default_[viewer])
        assert ranking_loss(scores, rated) == pytest.approx(ranker.loss_[viewer])
        said = ratings_of(table, viewer)
        if set(rated) <= set(said):
            assert ranker.default_[viewer] == pytest.approx(mean_of(said))
    near = sorted(range(len(table[0])), key=lambda v: ranker.loss_[v])[:k]
    assert ranker.neighbours_.tolist() == near
    parts = [neighbour_scores(table, v, ranker.default_[v]) for v in near]
    np.testing.assert_allclose(ranker.predict(club), np.mean(parts, axis=0), atol=1e-12)


@given(clubs(), st.integers(1, 3), st.sampled_from([0.0, 1.0, 5.0]))
def test_nearest_neighbours_with_defaults_on_the_scale(case, k, shared):
    table, rated = case
    club, films, y = arrays(table, rated)
    ranker = NearestNeighbours(k, shared=shared).fit(club[films], y, club=club)
    trust, distance = [], []
    for viewer in range(len(table[0])):
        loss, default = best_scale_default(table, viewer, rated)
        assert ranker.loss_[viewer] == pytest.approx(loss)
        assert ranker.default_[viewer] == pytest.approx(default)
        n = len(set(rated) & set(ratings_of(table, viewer)))
        assert ranker.n_shared_[viewer] == n
        trust.append(n / (n + shared) if shared else 1.0)
        distance.append(0.5 + (loss - 0.5) * trust[-1])
    np.testing.assert_allclose(ranker.distance_, distance)
    near = sorted(range(len(table[0])), key=lambda v: round(distance[v], 10))[:k]
    assert ranker.neighbours_.tolist() == near
    weight = [trust[v] for v in near]
    weight = [one / sum(weight) if sum(weight) else 1 / len(near) for one in weight]
    parts = [neighbour_scores(table, v, ranker.default_[v]) for v in near]
    expected = np.average(parts, axis=0, weights=weight)
    np.testing.assert_allclose(ranker.predict(club), expected, atol=1e-12)


def test_a_neighbour_who_shares_few_films_counts_less():
    """Viewer 0 knows the worst film alone, and has 3 pairs of 10 wrong; viewer 1 all, and 4."""
    nan = np.nan
    y = np.array([1.0, 2, 3, 4, 5])
    X = np.column_stack(([1, nan, nan, nan, nan], [3, 4, 1, 2, 5])).astype(float)
    plain = NearestNeighbours().fit(X, y)
    assert plain.loss_.tolist() == pytest.approx([0.3, 0.4])
    assert plain.neighbours_.tolist() == [0]
    shared = NearestNeighbours(shared=5.0).fit(X, y)
    assert shared.distance_.tolist() == pytest.approx([0.5 - 0.2 / 6, 0.5 - 0.1 / 2])
    assert shared.neighbours_.tolist() == [1]


@given(clubs(), st.sampled_from(["shared", "all", "middle"]), st.sampled_from([0.0, 10.0]))
def test_pearson_correlation(case, centre, shared):
    table, rated = case
    club, films, y = arrays(table, rated)
    ranker = PearsonCorrelation(centre, shared=shared).fit(club[films], y, club=club)
    n_viewers = len(table[0])
    expected = [correlation(table, v, rated, centre, shared) for v in range(n_viewers)]
    np.testing.assert_allclose(ranker.similarity_, expected, atol=1e-9)
    total = sum(map(abs, expected)) or 1.0
    means = [mean_of(ratings_of(table, v)) for v in range(n_viewers)]
    scores = [
        mean_of(rated)
        + sum(
            expected[v] * (row[v] - means[v]) / total
            for v in range(n_viewers)
            if row[v] is not None
        )
        for row in table
    ]
    np.testing.assert_allclose(ranker.predict(club), scores, atol=1e-9)


def test_pearson_correlation_is_numpys():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(30, 6)), random.normal(size=30)
    X[random.random(X.shape) < 0.4] = np.nan
    found = PearsonCorrelation(shared=0.0).fit(X, y).similarity_
    for viewer, value in enumerate(found):
        both = ~np.isnan(X[:, viewer])
        assert value == pytest.approx(np.corrcoef(X[both, viewer], y[both])[0, 1])
    # Another zero and another unit of a viewer's scale change nothing.
    moved = PearsonCorrelation(shared=0.0).fit(3.0 * X + 7.0, 0.1 * y - 2.0)
    np.testing.assert_allclose(moved.similarity_, found, atol=1e-12)


def test_bad_parameters_of_comparators():
    X = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ParameterError, match=r"'shared' .* must be a number in \[0, inf\)"):
        NearestNeighbours(shared=-1.0).fit(X, [1, 2])
    with pytest.raises(ParameterError, match=r"'default' .* must be one of 'scale', 'between'"):
        NearestNeighbours(default="mean").fit(X, [1, 2])
    with pytest.raises(ParameterError, match=r"'centre' .* must be one of 'shared', 'all'"):
        PearsonCorrelation("median").fit(X, [1, 2])


@given(clubs(), st.booleans())
def test_regression(case, normalise):
    table, rated = case
    club, films, y = arrays(table, rated)
    ranker = Regression(normalise).fit(club[films], y, club=club)
    filled = np.array(regression_table(table, normalise))
    wanted = (y - y.mean()) / y.std() if normalise else y
    shortest = np.linalg.pinv(filled[films], rcond=1e-10) @ wanted
    np.testing.assert_allclose(ranker.weight_, shortest, atol=1e-8)
    np.testing.assert_allclose(ranker.predict(club), filled @ shortest, atol=1e-7)


@given(clubs())
@settings(max_examples=20, deadline=None)
def test_popularity(case):
    table, rated = case
    club, films, y = arrays(table, rated)
    counts = [sum(cell is not None for cell in row) for row in table]
    popular = Popularity().fit(club[films], y, club=club)
    assert popular.predict(club).tolist() == counts
    means = [mean_of(ratings_of(table, v)) for v in range(len(table[0]))]
    above = [sum(c - m for c, m in zip(row, means) if c is not None) for row in table]
    damped = Popularity("mean", damping=2.0).fit(club[films], y, club=club)
    expected = [a / (n + 2.0) for a, n in zip(above, counts)]
    np.testing.assert_allclose(damped.predict(club), expected, atol=1e-12)


def test_dense_and_sparse_are_one():
    rng = np.random.default_rng(0)
    X = rng.integers(1, 6, (20, 8)).astype(float)
    X[rng.random(X.shape) < 0.5] = np.nan
    y = rng.integers(1, 6, 20).astype(float)
    for ranker in (
        Regression(),
        NearestNeighbours(3),
        VectorSimilarity(),
        PearsonCorrelation(),
        Popularity(),
    ):
        dense = ranker.fit(X, y).predict(X)
        some = Opinions.from_dense(X)
        assert ranker.fit(some, y).predict(some).tolist() == dense.tolist()


def test_vsim_left_out_does_not_divide_rounding_by_rounding():
    # Viewer 0 shares film 0 alone with the user: without it there is nobody similar.
    nan = np.nan
    club, y = np.array([[0.2], [nan], [nan], [0.4]]), np.array([0.4, 0.2, 0.6])
    left = VectorSimilarity().fit(club[:3], y, club=club).scores_left_out(club[:3], y)
    np.testing.assert_allclose(left, [0.4, 0.4, 0.4], atol=1e-12)


@given(clubs(), st.sampled_from([0.1, 0.2, 0.3, 1 / 3]), st.integers(0, 3))
def test_vsim_depends_on_the_ratings_and_not_on_the_rounding_of_their_scale(case, scale, down):
    # Tenths are not exact, and with negative ratings products of both signs may add up to 0.
    table, rated = case
    table = [[None if cell is None else cell - down for cell in row] for row in table]
    club, films, y = arrays(table, rated)
    y = y - down
    whole = VectorSimilarity().fit(club[films], y, club=club)
    tenths = VectorSimilarity().fit(scale * club[films], scale * y, club=scale * club)
    for one, other in (
        (whole.predict(club), tenths.predict(scale * club)),
        (
            whole.scores_left_out(club[films], y),
            tenths.scores_left_out(scale * club[films], scale * y),
        ),
    ):
        np.testing.assert_allclose(other, scale * one, atol=1e-11)


@given(clubs())
def test_sums_over_others(case):
    some = Opinions.from_dense(arrays(*case)[0])
    of_column = some.sums(some.value)[some.column]
    assert some.other_sums(some.value).tolist() == (of_column - some.value).tolist()
    filled = np.where(np.isnan(some.to_dense()), 0.5, some.to_dense())
    found = some.filled_row_sums(some.value, np.full(some.n_columns, 0.5))
    assert found.tolist() == filled.sum(axis=1).tolist()


def test_other_viewers_are_refused():
    X = np.array([[1.0, 2.0], [2.0, 1.0]])
    ranker = VectorSimilarity().fit(X, [1, 2])
    with pytest.raises(DataError, match=r"there must be 2 viewers.*Got 3"):
        ranker.predict(np.ones((1, 3)))
    with pytest.raises(DataError, match=r"there must be 2 viewers.*Got 1"):
        ranker.fit(X, [1, 2], club=np.ones((4, 1)))
    with pytest.raises(DataError, match="contains infinity"):
        ranker.predict(np.array([[1.0, np.inf]]))
