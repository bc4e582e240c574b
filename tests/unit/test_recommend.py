"""Recommending: what is found, in which order, why, and to whom nothing can be recommended."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from crucial import RankBoost, evaluate, recommend
from crucial.data import Ratings, make_film_club
from crucial.errors import DataError, NotRankedError, ParameterError
from crucial.recommend import (
    METHODS,
    Finder,
    Opinions,
    RatingScale,
    Recommender,
    best_items,
    ease_weights,
    hold_out,
    ndcg,
)
from naive import item_models as naive
from refusals import refused


def viewing_club(n_users: int = 150, n_items: int = 200, seed: int = 0) -> Ratings:
    """Users who see what is popular and what suits them, and rate by quality and taste."""
    random = np.random.default_rng(seed)
    taste, kind = random.normal(size=(n_users, 3)), random.normal(size=(n_items, 3))
    suits = taste @ kind.T
    seen = suits + 1.5 * random.normal(size=n_items) + random.gumbel(size=suits.shape)
    users, items = [], []
    for user in range(n_users):
        some = np.argsort(-seen[user])[: random.integers(12, 40)]
        users += [user] * len(some)
        items += some.tolist()
    stars = np.clip(np.round(3 + suits[users, items] + random.normal(size=len(items)) / 2), 1, 5)
    return Ratings.from_columns(users, items, stars)


def film_club(n_viewers=40, n_films=120, n_rated=60, seed=0) -> Ratings:
    """The film club as a table of ratings; the target is user 0 and did not rate the last ten."""
    problem = make_film_club(n_viewers, n_films, n_rated, seed)
    row, viewer = np.nonzero(~np.isnan(problem.X))
    seen = np.arange(n_rated - 10)
    users = (np.zeros(len(seen), int), viewer + 1)
    items, stars = problem.item[[*seen, *row]], (problem.y[seen], problem.X[row, viewer])
    return Ratings.from_columns(np.concatenate(users), items, np.concatenate(stars))


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return viewing_club()


@pytest.fixture(scope="module")
def fitted(ratings) -> Recommender:
    return Recommender(ratings).fit()


@pytest.fixture(scope="module")
def club() -> Ratings:
    return film_club()


# -- finding ----------------------------------------------------------------------------------


def some_users(seed: int, n_users: int = 12, n_items: int = 7) -> np.ndarray:
    random = np.random.default_rng(seed)
    there = random.random((n_users, n_items)) < 0.4
    return np.where(there, random.integers(1, 5, (n_users, n_items)) / 4, 0.0)


@given(st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 30.0]))
def test_ease_is_its_naive_twins(seed, penalty):
    X = some_users(seed)
    ours = ease_weights(csr_array(X), penalty)
    assert ours == pytest.approx(naive.ease_weights(X, penalty), abs=1e-9)
    assert ours == pytest.approx(naive.ease_by_regressions(X, penalty), abs=1e-9)


def test_a_penalty_that_is_too_small_is_refused():
    match, huge = "penalty of EASE, 1e-09, is too small", csr_array(np.full((3, 3), 1e50))
    refused(DataError, match, ease_weights, huge, 1e-9)


def test_weights_depend_on_the_order_of_ratings_alone():
    ratings = np.array([1.0, 5.0, 3.0, 3.0, 4.0])
    one, other = RatingScale.of(ratings), RatingScale.of(np.exp(ratings))
    assert one.weights(ratings).tolist() == other.weights(np.exp(ratings)).tolist()
    assert one.weights(np.array([-1.0, 9.0])).tolist() == [0.5, 1.0]


@given(st.integers(0, 10**6))
def test_ndcg_is_the_naive_one_and_the_librarys(seed):
    random = np.random.default_rng(seed)
    scores, gains = random.random((4, 9)), (random.random((4, 9)) < 0.4) * random.random((4, 9))
    best = np.array([best_items(own, np.zeros(9, int), 3)[0] for own in scores])
    ours = ndcg(best, gains)
    for user in range(4):
        own = {item: gain for item, gain in enumerate(gains[user].tolist()) if gain}
        if not own:
            assert np.isnan(ours[user])
            continue
        assert ours[user] == pytest.approx(naive.ndcg(best[user].tolist(), own))
        judged = evaluate(gains[user], scores[user], measures=["ndcg@3"])
        assert ours[user] == pytest.approx(judged["ndcg@3"])


def test_hold_out_hides_a_fifth_of_every_user_and_loses_nothing():
    random = np.random.default_rng(0)
    table = np.where(random.random((40, 15)) < 0.5, random.random((40, 15)), np.nan)
    table[:, 0] = np.nan
    table[3, 0] = 1.0
    whole = Opinions.from_dense(table)
    train, test, users = hold_out(whole)
    assert train.count[0] == 1  # (the only rating stays)
    assert 0 not in users
    assert test.count[1:].tolist() == np.round(whole.count[1:] / 5).astype(int).tolist()
    joined = np.fmax(train.to_dense(), test.to_dense())
    assert np.array_equal(joined, table, equal_nan=True)
    assert hold_out(whole, most_users=4)[2].shape == (4,)


@given(st.integers(0, 10**6))
def test_rounding_orders_no_equal_scores(seed):
    """Scores with errors of 1e-12 make the same list as exact ones, with the same numbers."""
    random = np.random.default_rng(seed)
    exact, raters = random.integers(-4, 5, 40) / 7.0, random.integers(0, 3, 40)
    exact[random.random(40) < 0.1] = np.nan
    rounded = exact + 1e-12 * random.normal(size=40)
    for top in (3, 40):
        items, scores = best_items(exact, raters, top)
        others = best_items(rounded, raters, top)
        assert (others[0].tolist(), others[1].tolist()) == (items.tolist(), scores.tolist())
        keys = [(-round(exact[one], 6), -raters[one], one) for one in range(40)]
        known = sorted(key for key in keys if not np.isnan(key[0]))
        assert items.tolist() == [key[2] for key in known[:top]]


def test_what_was_chosen_is_the_best_that_was_tried(ratings, fitted):
    choice = fitted.choice
    assert choice.method == "ease"
    assert choice.found["ease"] > choice.found["popularity"]
    said = f"chosen by ndcg@10 on held-out ratings: ease, penalty {choice.penalty:g} (popularity 0."
    assert str(choice).startswith(said)
    fixed = Recommender(ratings, "ease", penalty=choice.penalty)
    assert fixed.choice is None
    assert str(fixed.recommend(3)) == str(fitted.recommend(3))


def test_popularity_is_chosen_where_there_is_no_taste():
    """Everybody sees films at random by how popular these are: nothing can be better."""
    random = np.random.default_rng(1)
    users, items = [], []
    weight = 1.0 / np.arange(1, 61)
    for user in range(120):
        users += [user] * 12
        items += random.choice(60, 12, replace=False, p=weight / weight.sum()).tolist()
    noise = Ratings.from_columns(users, items, random.integers(1, 6, len(users)))
    recommender = Recommender(noise)
    assert recommender.choice.method == "popularity"
    found = recommender.recommend(0)
    assert [one.score for one in found.picks] == [one.raters for one in found.picks]
    assert str(found) == str(Recommender(noise, "popularity").recommend(0))
    assert found.related(found.picks[0]) == ()


def test_order_of_rows_and_scale_of_ratings_do_not_matter(ratings, fitted):
    order = np.random.default_rng(0).permutation(len(ratings))
    stars = 2.0 ** ratings.rating[order]
    moved = Ratings.from_columns(ratings.user[order], ratings.item[order], stars)
    other = Recommender(moved)
    assert other.choice == fitted.choice
    for user in (0, 7):
        assert other.recommend(user).picks == fitted.recommend(user).picks


def test_lists_are_prefixes_and_leave_out_what_was_rated(fitted):
    long, short = fitted.recommend(5, 10**6), fitted.recommend(5, 7)
    assert long.picks[:7] == short.picks
    rated = set(fitted.rated_by(5))
    items = [pick.item for pick in long.picks]
    assert not rated & set(items)
    assert len(set(items)) == len(items) > 100
    scores = [pick.score for pick in long.picks]
    assert scores == sorted(scores, reverse=True)
    assert all(pick.raters >= 5 for pick in long.picks)


@pytest.mark.parametrize("method", METHODS)
def test_same_lists_at_any_number_of_threads(club, method):
    recommender = Recommender(club, method, rounds=10)
    one = [str(found) for found in recommender.recommend_all(3, n_jobs=1)]
    assert one == [str(found) for found in recommender.recommend_all(3, n_jobs=3)]
    assert one[5] == str(recommender.recommend(club.users[5], 3))
    some = list(recommender.recommend_all(3, users=[7, 2]))
    assert [found.user for found in some] == [7, 2]
    refused(NotRankedError, "have no reasons", some[0].why, some[0].picks[0])
    again = pickle.loads(pickle.dumps(recommender))
    assert str(again.recommend(3)) == str(recommender.recommend(3))


def test_one_rating_is_enough(ratings, fitted):
    film = int(ratings.items[0])
    found = fitted.recommend_new({film: 5}, 5)
    assert len(found.picks) == 5
    assert found.why(found.picks[0], 1)[0].films == (film,)
    refused(DataError, "you gave 0 ratings; at least one is needed", fitted.recommend_new, {})
    alone = Ratings.from_columns(["ann", "bob"], ["x", "y"], [1, 2])
    nothing = Recommender(alone, min_raters=0)
    assert [one.item for one in nothing.recommend("ann").picks] == ["y"]
    assert "nobody has two ratings" in str(nothing.choice)
    assert nothing.recommend("ann").why(nothing.recommend("ann").picks[0]) == ()


@pytest.mark.parametrize("known", [10**6, 60])
def test_related_films_are_the_largest_parts_of_the_score(ratings, monkeypatch, known):
    monkeypatch.setattr(recommend, "_EASE_ITEMS", known)
    by_user = Opinions.from_ratings(ratings)
    finder = Finder(by_user, 200.0)
    films, labels = by_user.of_column(2)
    scores = finder.scores(films, labels)
    scores[films] = np.nan
    row = int(np.nanargmax(scores))
    parts = {}
    for film in films.tolist():  # (the score without a film: scores are sums)
        kept = films != film
        parts[film] = scores[row] - finder.scores(films[kept], labels[kept])[row]
    largest = sorted(parts, key=lambda film: -parts[film])[:3]
    assert finder.related(films, labels, row).tolist() == largest
    most = np.argsort(-by_user.row_count, kind="stable")[:known]
    assert set(np.flatnonzero(~np.isnan(scores))) == set(most.tolist()) - set(films.tolist())


# -- ordering ---------------------------------------------------------------------------------


def test_it_is_rankboost_on_the_others(club):
    found = Recommender(club, "rankboost", min_raters=1).recommend(0)
    others, mine = club.user != 0, club.user == 0
    X = np.full((len(club.items), len(club.users) - 1), np.nan)
    X[club.item_code[others], club.user_code[others] - 1] = club.rating[others]
    rows = club.item_code[mine]
    fitted = RankBoost.preset("rankboost.3.cum", n_estimators=44).fit(X[rows], club.rating[mine])
    scores = fitted.predict(X)
    for one in found.picks:
        assert one.score == pytest.approx(scores[club.place_of_item(one.item)], rel=1e-6)
        assert one.raters == int((~np.isnan(X[club.place_of_item(one.item)])).sum())
    unseen = set(club.items.tolist()) - set(club.item[mine].tolist())
    assert len(found.picks) == len(unseen) == 10
    assert {one.item for one in found.picks} == unseen
    ordered = [one.score for one in found.picks]
    assert ordered == sorted(ordered, reverse=True)
    assert found.model.n_rounds == fitted.model_.n_rounds
    assert found.related(found.picks[0]) == ()


def test_a_new_user_with_the_same_ratings_gets_nearly_the_same(club):
    """The new one also learns from the old one, who agrees in everything."""
    recommender = Recommender(club, "rankboost")
    found = recommender.recommend_new(recommender.rated_by(0), top=3)
    assert found.user is None
    assert len(found.why(found.picks[0], 1)) <= 1
    assert found.model.feature_names[0] == "viewer 0"


@pytest.mark.parametrize("method", METHODS)
def test_reasons_are_viewers_who_like_the_film_and_agree(ratings, fitted, method):
    titles = {str(item): f"Film {item}" for item in ratings.items.tolist()}
    recommender = Recommender(ratings, method, titles=titles)
    found, mine = recommender.recommend(3, 8), recommender.rated_by(3)
    named = []
    for pick in found.picks:
        assert pick.title == f"Film {pick.item}"
        reasons = found.why(pick, 2)
        named += [reason.viewer for reason in reasons]
        assert all(reason.adds > 0.0 for reason in reasons)
        for reason in reasons:
            theirs = recommender.rated_by(reason.viewer)
            assert theirs[pick.item] == reason.rating > np.mean(list(theirs.values()))
            assert reason.loved == (reason.rating == max(theirs.values()))
            assert reason.agreement > 0.5 or (np.isnan(reason.agreement) and reason.films)
            both = sorted(theirs.keys() & mine.keys())
            assert reason.shared == len(both)
            pairs = [(a, b) for a in both for b in both if mine[a] > mine[b]]
            right = [1.0 * (theirs[a] > theirs[b]) + 0.5 * (theirs[a] == theirs[b])
                     for a, b in pairs]  # fmt: skip
            if pairs:
                assert reason.agreement == pytest.approx(np.mean(right))
            assert all(mine[film] >= np.mean(list(mine.values())) for film in reason.films)
            assert not any(word.isdigit() for word in reason.words(lambda film: "F").split()[2:])
            assert str(reason).startswith(f"viewer {reason.viewer} l")
        assert set(found.related(pick)) <= set(mine)
    if method in ("auto", "ease"):
        assert len(named) == 16
        assert len(set(named)) >= 14  # (few liked some of the films)
        assert len(found.related(found.picks[0])) == 3
    assert named
    stranger = replace(found.picks[0], item=-1)
    refused(DataError, "item '-1' is not one of the recommended", found.why, stranger)
    if method != "rankboost":
        refused(NotRankedError, "only method='rankboost' has a model", lambda: found.model)


# -- what cannot be recommended ---------------------------------------------------------------


def test_few_viewers_and_few_raters(club):
    found = Recommender(club, "rankboost", max_viewers=5).recommend(0)
    assert found.model.training["viewers"] == 5
    known = Recommender(club, "rankboost", min_raters=20).recommend(0)
    assert all(one.raters >= 20 for one in known.picks)
    nothing = Recommender(club, "popularity", min_raters=10**6).recommend(0)
    assert nothing.picks == ()
    assert "no item left that 1000000 others rated" in str(nothing)


def test_what_to_rate_is_known_and_divides():
    users = [1, 2, 3, 1, 2, 3, 1]
    ratings = Ratings.from_columns(users, list("aaabbbc"), [1, 5, 3, 4, 4, 4, 2])
    assert Recommender(ratings).to_rate(1) == ["a"]
    match = "'number' parameter of to_rate must be an int of at"
    refused(ParameterError, match, Recommender(ratings).to_rate, -1)


def test_users_who_say_nothing():
    ratings = Ratings.from_columns(
        ["ann", "ann", "bob", "cyd", "cyd"], ["x", "y", "x", "p", "q"], [3, 3, 4, 1, 2]
    )
    recommender = Recommender(ratings, "rankboost", min_raters=0)
    for user, match in (
        ("ann", "user 'ann' gave the same rating, 3, to all 2 items"),
        ("bob", "user 'bob' gave 1 rating, .*two different ratings"),
        ("cyd", "nobody else rated what user 'cyd' did"),
        ("anne", "there is no user 'anne'; close are 'ann'"),
    ):
        refused(DataError, match, recommender.recommend, user)
    for mine, match in (
        ({}, "you gave 0 ratings"),
        ({"x": np.nan, "y": 1}, r"item 'x': a rating must be a finite number\. Got nan"),
        ({"x": 1, "y": "good"}, r"item 'y' must be a finite number\. Got 'good'"),
    ):
        refused(DataError, match, recommender.recommend_new, mine)
    problems = [found.problem for found in recommender.recommend_all()]
    assert all(problems)
    assert len(problems) == 3


def test_items_by_title():
    ratings = Ratings.from_columns([1, 1, 2, 2, 2], [10, 11, 10, 11, 12], [5, 1, 4, 2, 3])
    recommender = Recommender(ratings, "ease", min_raters=0, titles={"10": "Alien", "11": "Antz"})
    found = recommender.recommend_new({"alien": 5, 11: 1})
    assert [one.item for one in found.picks] == [12]
    new = recommender.recommend_new
    refused(DataError, "there is no item 'Aliens'", new, {"Aliens": 5, 11: 1})
    refused(DataError, "rated twice, by its id and by its title", new, {"alien": 5, 10: 1})


def test_parameters(club):
    match = r"'ratings' parameter .*Ratings\.from_columns"
    refused(ParameterError, match, Recommender, [("ann", "x", 3)])
    for name, value in (("method", "magic"), ("penalty", 0.0), ("max_viewers", 0), ("rounds", 0)):
        match = f"'{name}' parameter of Recommender must be"
        refused(ParameterError, match, Recommender, club, **{name: value})
    refused(ParameterError, "'top' parameter", Recommender(club).recommend, 0, top=0)
