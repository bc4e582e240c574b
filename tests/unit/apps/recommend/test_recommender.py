"""Recommending: what is offered, in which order, why, and to whom nothing can be."""

from __future__ import annotations

import numpy as np
import pytest

from crucial import RankBoost, make_film_club
from crucial.apps.recommend import METHODS, Recommender
from crucial.data.ratings import Ratings
from crucial.errors import DataError, NotRankedError, ParameterError


def club(n_viewers=40, n_films=120, n_rated=60, seed=0) -> Ratings:
    """The film club as a table of ratings; the target is user 0 and did not rate the last ten."""
    problem = make_film_club(n_viewers, n_films, n_rated, seed)
    row, viewer = np.nonzero(~np.isnan(problem.X))
    seen = np.arange(n_rated - 10)
    return Ratings.from_columns(
        np.concatenate((np.zeros(len(seen), int), viewer + 1)),
        np.concatenate((problem.item[seen], problem.item[row])),
        np.concatenate((problem.y[seen], problem.X[row, viewer])),
    )


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return club()


def test_it_is_rankboost_on_the_others(ratings):
    recommender = Recommender(ratings, "rankboost", min_raters=1)
    found = recommender.recommend(0)
    others, mine = ratings.user != 0, ratings.user == 0
    X = np.full((len(ratings.items), len(ratings.users) - 1), np.nan)
    X[ratings.item_code[others], ratings.user_code[others] - 1] = ratings.rating[others]
    rows = ratings.item_code[mine]
    fitted = RankBoost.preset("rankboost.3.cum", n_estimators=44).fit(X[rows], ratings.rating[mine])
    scores = fitted.predict(X)
    for one in found.picks:
        assert one.score == pytest.approx(scores[ratings.place_of_item(one.item)])
        assert one.raters == int((~np.isnan(X[ratings.place_of_item(one.item)])).sum())
    unseen = set(ratings.items.tolist()) - set(ratings.item[mine].tolist())
    assert len(found.picks) == len(unseen) == 10
    assert {one.item for one in found.picks} == unseen
    ordered = [one.score for one in found.picks]
    assert ordered == sorted(ordered, reverse=True)
    assert found.model.n_rounds == fitted.model_.n_rounds


@pytest.mark.parametrize(
    "method", [name for name in METHODS if name not in ("auto", "ease", "items")]
)
def test_every_method_beats_chance(method):
    """Over a few users: more of the pairs they did not show in the right order than chance."""
    right = []
    for seed in range(4):
        problem = make_film_club(60, 150, 60, seed)
        ratings = club(60, 150, 60, seed)
        found = Recommender(ratings, method, min_raters=0).recommend(0)
        truth = dict(zip(problem.item.tolist(), problem.y.tolist()))
        for k, one in enumerate(found.picks):
            for other in found.picks[k + 1 :]:
                if truth[one.item] != truth[other.item]:
                    right.append(truth[one.item] > truth[other.item])
    assert np.mean(right) > {"popularity": 0.4, "regression-normalised": 0.55}.get(method, 0.6)


def test_viewers_is_vsim_for_few_and_rankboost_for_many(ratings):
    auto = Recommender(ratings, "viewers")
    many = auto.recommend(0)
    assert str(many) == str(Recommender(ratings, "rankboost").recommend(0))
    few = dict(list(auto.rated_by(0).items())[:20])
    assert str(auto.recommend_new(few)) == str(Recommender(ratings, "vsim").recommend_new(few))


def test_a_new_user_with_the_same_ratings_gets_nearly_the_same(ratings):
    """The new one also learns from the old one, who agrees in everything."""
    recommender = Recommender(ratings, "rankboost")
    own = recommender.rated_by(0)
    found = recommender.recommend_new(own, top=3)
    assert found.user is None
    reason = found.why(found.picks[0], 1)
    assert len(reason) <= 1
    assert found.model.feature_names[0] == "viewer 0"


def test_reasons_add_up_and_name_films(ratings):
    titles = {str(item): f"Film {item}" for item in ratings.items.tolist()}
    for method in ("rankboost", "hybrid", "vsim"):
        found = Recommender(ratings, method, titles=titles).recommend(0)
        pick = found.picks[0]
        assert pick.title == f"Film {pick.item}"
        reasons = found.why(pick, 100)
        assert reasons
        adds = [one.adds for one in reasons]
        assert adds == sorted(adds, reverse=True)
        assert min(adds) > 0.0
        for one in reasons:
            if one.viewer is None:
                continue
            theirs = Recommender(ratings).rated_by(one.viewer)
            mine = Recommender(ratings).rated_by(0)
            assert theirs[pick.item] == one.rating
            assert one.rating > np.mean(list(theirs.values()))
            assert one.loved == (one.rating == max(theirs.values()))
            assert one.agreement > 0.5 or (np.isnan(one.agreement) and one.films)
            both = sorted(set(theirs) & set(mine))
            assert one.shared == len(both)
            assert set(one.films) <= set(both)
            pairs = [(a, b) for a in both for b in both if mine[a] > mine[b]]
            right = [1.0 * (theirs[a] > theirs[b]) + 0.5 * (theirs[a] == theirs[b])
                     for a, b in pairs]  # fmt: skip
            assert one.agreement == pytest.approx(np.mean(right))


def test_hybrid_counts_the_score_of_vsim(ratings):
    found = Recommender(ratings, "hybrid", rounds=300).recommend(0)
    assert "vsim" in found.model.feature_names
    none = Recommender(ratings, "popularity").recommend(0)
    with pytest.raises(NotRankedError, match="'hybrid' and 'vsim' give reasons"):
        none.why(none.picks[0])
    with pytest.raises(NotRankedError, match="only RankBoost has a model"):
        _ = none.model


def test_all_users_in_parallel_are_the_same_as_one_by_one(ratings):
    recommender = Recommender(ratings, "rankboost", rounds=10)
    one = [str(found) for found in recommender.recommend_all(3, n_jobs=1)]
    assert one == [str(found) for found in recommender.recommend_all(3, n_jobs=3)]
    assert one[5] == str(recommender.recommend(ratings.users[5], 3))
    some = list(recommender.recommend_all(3, users=[7, 2]))
    assert [found.user for found in some] == [7, 2]
    with pytest.raises(NotRankedError, match="have no reasons"):
        some[0].why(some[0].picks[0])


def test_few_viewers_and_few_raters(ratings):
    found = Recommender(ratings, "rankboost", max_viewers=5).recommend(0)
    assert found.model.training["viewers"] == 5
    known = Recommender(ratings, "rankboost", min_raters=20).recommend(0)
    assert all(one.raters >= 20 for one in known.picks)
    nothing = Recommender(ratings, "vsim", min_raters=10**6).recommend(0)
    assert nothing.picks == ()
    assert "no item left that 1000000 others rated" in str(nothing)


def test_what_to_rate_is_known_and_divides():
    users = [1, 2, 3, 1, 2, 3, 1]
    ratings = Ratings.from_columns(users, list("aaabbbc"), [1, 5, 3, 4, 4, 4, 2])
    assert Recommender(ratings).to_rate(1) == ["a"]
    with pytest.raises(ParameterError, match="'number' parameter of to_rate must be an int of at"):
        Recommender(ratings).to_rate(-1)


def test_ratings_that_are_none():
    with pytest.raises(ParameterError, match=r"'ratings' parameter .*Ratings\.from_columns"):
        Recommender([("ann", "x", 3)])


def test_users_who_say_nothing():
    ratings = Ratings.from_columns(
        ["ann", "ann", "bob", "cyd", "cyd"], ["x", "y", "x", "p", "q"], [3, 3, 4, 1, 2]
    )
    recommender = Recommender(ratings, "viewers", min_raters=0)
    with pytest.raises(DataError, match=r"user 'ann' gave the same rating, 3, to all 2 items"):
        recommender.recommend("ann")
    with pytest.raises(DataError, match=r"user 'bob' gave 1 rating.*two different ratings"):
        recommender.recommend("bob")
    with pytest.raises(DataError, match="nobody else rated what user 'cyd' did"):
        recommender.recommend("cyd")
    with pytest.raises(DataError, match="there is no user 'anne'; close are 'ann'"):
        recommender.recommend("anne")
    with pytest.raises(DataError, match="you gave 0 ratings"):
        recommender.recommend_new({})
    with pytest.raises(DataError, match=r"item 'x': a rating must be a finite number\. Got nan"):
        recommender.recommend_new({"x": np.nan, "y": 1})
    with pytest.raises(DataError, match=r"item 'y' must be a finite number\. Got 'good'"):
        recommender.recommend_new({"x": 1, "y": "good"})
    problems = [found.problem for found in recommender.recommend_all()]
    assert all(problems)
    assert len(problems) == 3


@pytest.mark.parametrize("method", ["popularity", "mean"])
def test_one_rating_is_enough_where_no_order_is_learned(method):
    ratings = Ratings.from_columns(list("abbcc"), list("xxyxz"), [3, 4, 2, 5, 1])
    recommender = Recommender(ratings, method, min_raters=0)
    assert {pick.item for pick in recommender.recommend("a").picks} == {"y", "z"}
    assert {pick.item for pick in recommender.recommend_new({"y": 2}).picks} == {"x", "z"}
    with pytest.raises(DataError, match="you gave 0 ratings; at least one is needed"):
        recommender.recommend_new({})


def test_items_by_title():
    ratings = Ratings.from_columns([1, 1, 2, 2, 2], [10, 11, 10, 11, 12], [5, 1, 4, 2, 3])
    recommender = Recommender(ratings, "items", min_raters=0, titles={"10": "Alien", "11": "Antz"})
    found = recommender.recommend_new({"alien": 5, 11: 1})
    assert [one.item for one in found.picks] == [12]
    with pytest.raises(DataError, match="there is no item 'Aliens'"):
        recommender.recommend_new({"Aliens": 5, 11: 1})
    with pytest.raises(DataError, match="rated twice, by its id and by its title"):
        recommender.recommend_new({"alien": 5, 10: 1})


def test_parameters(ratings):
    with pytest.raises(ParameterError, match="'method' parameter of Recommender must be one of"):
        Recommender(ratings, "magic")
    with pytest.raises(ParameterError, match="'top' parameter"):
        Recommender(ratings).recommend(0, top=0)
    with pytest.raises(ParameterError, match="'max_viewers' parameter"):
        Recommender(ratings, max_viewers=0)
