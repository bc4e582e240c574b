"""EASE, item neighbours and the top-N protocol beside their naive twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, csr_matrix
from sklearn.exceptions import NotFittedError
from tests.naive import item_models as naive

from crucial.apps.recommend import Ease, ItemNeighbours, Popularity, VectorSimilarity
from crucial.apps.recommend.interactions import RatingScale, weighted_rows
from crucial.apps.recommend.opinions import Opinions
from crucial.apps.recommend.top_n import best_items, hold_out, ndcg, recall
from crucial.errors import DataError, DataTypeError, ParameterError
from crucial.measures.evaluation import evaluate


def some_users(seed: int, n_users: int = 12, n_items: int = 7) -> np.ndarray:
    random = np.random.default_rng(seed)
    there = random.random((n_users, n_items)) < 0.4
    return np.where(there, random.integers(1, 5, (n_users, n_items)) / 4, 0.0)


@given(st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 30.0]))
def test_ease_is_its_naive_twins(seed, penalty):
    X = some_users(seed)
    ours = Ease(penalty).fit(csr_matrix(X))
    assert ours.weight_ == pytest.approx(naive.ease_weights(X, penalty), abs=1e-9)
    assert ours.weight_ == pytest.approx(naive.ease_by_regressions(X, penalty), abs=1e-9)
    assert ours.predict(X) == pytest.approx(X @ ours.weight_, abs=1e-12)


@given(st.integers(0, 10**6), st.sampled_from([1, 3, 100]))
def test_neighbours_are_their_naive_twin(seed, k):
    X = some_users(seed)
    ours = ItemNeighbours(k).fit(X)
    dense = ours.weight_.toarray()
    naive_weights = naive.neighbour_weights(X.tolist(), k)
    # (which of items at equal distance are kept may differ where rounding does)
    assert np.sort(dense, axis=0) == pytest.approx(np.sort(naive_weights, axis=0), abs=1e-9)
    assert ((dense > 0).sum(axis=0) <= k).all()
    assert ours.predict(X) == pytest.approx(X @ dense, abs=1e-12)
    row = csr_array(X[:1])
    assert weighted_rows(ours.weight_, row.indices, row.data) == pytest.approx(X[0] @ dense)


@pytest.mark.parametrize("model", [Ease(2.0), ItemNeighbours(3)], ids=["ease", "items"])
def test_order_of_users_and_items_does_not_matter(model):
    X = some_users(3, 30, 9)
    random = np.random.default_rng(0)
    users, items = random.permutation(30), random.permutation(9)
    before = model.fit(X).predict(X)
    after = model.fit(X[users][:, items]).predict(X[:, items])
    assert after == pytest.approx(before[:, items], abs=1e-9)


def test_two_of_every_user_are_twice_the_weight():
    X = some_users(4)
    twice = Ease(2.0).fit(np.vstack((X, X))).weight_
    assert twice == pytest.approx(Ease(1.0).fit(X).weight_, abs=1e-9)
    assert twice == pytest.approx(Ease(2.0).fit(np.sqrt(2.0) * X).weight_, abs=1e-9)
    assert ItemNeighbours(3).fit(np.vstack((X, X))).weight_.toarray() == pytest.approx(
        ItemNeighbours(3).fit(X).weight_.toarray()
    )


def test_equal_neighbours_are_the_first():
    X = np.ones((3, 6))
    weights = ItemNeighbours(2).fit(X).weight_.toarray()
    assert np.flatnonzero(weights[:, 5]).tolist() == [0, 1]
    assert np.flatnonzero(weights[:, 0]).tolist() == [1, 2]


def test_what_is_refused():
    with pytest.raises(ParameterError, match="'penalty' parameter of Ease"):
        Ease(0.0).fit([[1.0]])
    with pytest.raises(ParameterError, match="'k' parameter of ItemNeighbours"):
        ItemNeighbours(0).fit([[1.0]])
    with pytest.raises(DataError, match="numbers up to 1e100"):
        Ease().fit([[1.0, np.nan]])
    with pytest.raises(DataError, match="numbers up to 1e100"):
        ItemNeighbours().fit([[1e300, 1.0]])
    with pytest.raises(DataError, match="Expected 2D array"):
        Ease().fit([1.0])
    with pytest.raises(DataError, match="there must be 2 items"):
        Ease().fit([[1.0, 0.0]]).predict([[1.0]])
    with pytest.raises(DataError, match="penalty of EASE, 1e-09, is too small"):
        Ease(1e-9).fit(np.full((3, 3), 1e50))
    with pytest.raises(DataTypeError, match=r"X must be numbers\. Row 0 is 'a'"):
        Ease().fit([["a", "b"]])
    with pytest.raises(DataTypeError, match=r"real numbers\. Got a sparse matrix of complex128"):
        Ease().fit(csr_array([[1j]]))


@pytest.mark.parametrize("model", [Ease(), ItemNeighbours()], ids=["ease", "items"])
@pytest.mark.parametrize("shape", [(3, 0), (0, 0)])
def test_no_item_is_refused_before_anything_is_computed(model, shape, capfd):
    with pytest.raises(
        DataError, match=rf"X must have at least one item. Got shape \({shape[0]}, 0"
    ):
        model.fit(np.zeros(shape))
    assert capfd.readouterr() == ("", "")  # (LAPACK prints its own errors)


@pytest.mark.parametrize("model", [Ease(), ItemNeighbours(), Popularity(), VectorSimilarity()])
def test_models_that_are_not_fitted_say_so(model):
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        model.predict([[1.0]])


def test_standing_depends_on_the_order_of_ratings_alone():
    ratings = np.array([1.0, 5.0, 3.0, 3.0, 4.0])
    one, other = RatingScale.of(ratings), RatingScale.of(np.exp(ratings))
    assert one.standing(ratings).tolist() == other.standing(np.exp(ratings)).tolist()
    assert one.weights(ratings, 1.0).tolist() == [1.0] * 5
    assert one.standing(np.array([-1.0, 9.0])).tolist() == [0.0, 1.0]


@given(st.integers(0, 10**6))
def test_ndcg_is_the_naive_one_and_the_librarys(seed):
    random = np.random.default_rng(seed)
    scores = random.random((4, 9))
    rated = csr_array((random.random((4, 9)) < 0.3) * 1.0)
    gains = np.where(
        rated.toarray() > 0, 0.0, (random.random((4, 9)) < 0.4) * random.random((4, 9))
    )
    best = best_items(scores, rated, np.zeros(9, int), 3)
    ours, share = ndcg(best, csr_array(gains)), recall(best, csr_array(gains))
    for user in range(4):
        own = {item: gain for item, gain in enumerate(gains[user].tolist()) if gain}
        if not own:
            assert np.isnan(ours[user])
            continue
        found = [item for item in best[user].tolist() if item >= 0]
        assert share[user] == len(own.keys() & set(found)) / min(len(own), 3)
        if len(found) < 3:
            continue
        assert ours[user] == pytest.approx(naive.ndcg(found, own))
        unseen = rated.toarray()[user] == 0
        judged = evaluate(gains[user, unseen], scores[user, unseen], measures=["ndcg@3"])
        assert ours[user] == pytest.approx(judged["ndcg@3"])


def test_best_items_breaks_ties_by_raters():
    rated = csr_array(np.array([[1.0, 0, 0, 0]]))
    scores = np.array([[9.0, 1.0, 1.0, np.nan]])
    assert best_items(scores, rated, np.array([0, 1, 5, 9]), 4).tolist() == [[2, 1, -1, -1]]


def test_hold_out_hides_a_fifth_of_every_user_and_loses_nothing():
    random = np.random.default_rng(0)
    table = np.where(random.random((40, 15)) < 0.5, random.random((40, 15)), np.nan)
    table[:, 0] = np.nan
    table[3, 0] = 1.0
    whole = Opinions.from_dense(table)
    parts = hold_out(whole)
    assert parts.train.count[0] == 1  # (the only rating stays)
    assert 0 not in parts.users
    assert parts.test.count[1:].tolist() == np.round(whole.count[1:] / 5).astype(int).tolist()
    joined = np.fmax(parts.train.to_dense(), parts.test.to_dense())
    assert np.array_equal(joined, table, equal_nan=True)
    assert hold_out(whole, most_users=4).users.shape == (4,)


def test_rounding_does_not_choose_between_equally_near_items():
    """Item 0 has the cosine 1/sqrt(3) with all others."""
    table = np.array([[1, 0.5, 0.5, 1], [1, 1, 0, 0.5], [1, 0, 0, 0], [0, 1, 0, 1.0]])
    for order in ([0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 1, 2]):
        near = ItemNeighbours(1).fit(table[:, order]).weight_.toarray()[:, 0]
        assert np.flatnonzero(near).tolist() == [1]
