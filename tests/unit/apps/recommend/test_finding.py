"""The method "auto": what is chosen, that it finds hidden items, its reasons and its model."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from crucial.apps.recommend import Recommender
from crucial.apps.recommend.finder import CANDIDATES, FEATURES, Finder, Settings
from crucial.apps.recommend.opinions import Opinions
from crucial.apps.recommend.top_n import hold_out, ndcg
from crucial.data.ratings import Ratings
from crucial.errors import DataError, NotRankedError, ParameterError
from crucial.model.file import load_model


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


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return viewing_club()


@pytest.fixture(scope="module")
def fitted(ratings) -> Recommender:
    return Recommender(ratings, rounds=40).fit()


def found_hidden(ratings: Ratings, method: str) -> float:
    """NDCG@10 of finding a fifth of everybody's ratings through the public interface."""
    parts = hold_out(Opinions.from_ratings(ratings), seed=9)
    rows, columns = parts.train.row, parts.train.column
    train = Ratings.from_columns(ratings.users[columns], ratings.items[rows], parts.train.value)
    recommender = Recommender(train, method, rounds=40, min_raters=0)
    best = np.full((len(ratings.users), 10), -1)
    for number, one in enumerate(recommender.recommend_all(10, n_jobs=1)):
        best[number, : len(one.picks)] = [ratings.place_of_item(pick.item) for pick in one.picks]
    from scipy.sparse import csr_array

    gains = (np.ones(len(parts.test.row)), parts.test.row, parts.test.start)
    return float(np.nanmean(ndcg(best, csr_array(gains, (len(best), len(ratings.items))))))


def test_auto_finds_more_than_popularity_and_as_much_as_ease(ratings):
    """The old rule, RankBoost on the viewers, is worse than popularity at this task."""
    auto = found_hidden(ratings, "auto")
    assert auto > 1.2 * found_hidden(ratings, "popularity")
    assert auto > 0.97 * found_hidden(ratings, "ease")
    assert auto > 1.2 * found_hidden(ratings, "viewers")


def test_what_was_chosen_is_the_best_that_was_tried(fitted):
    choice = fitted.choice
    assert choice.found[choice.settings.base] >= choice.found["popularity"]
    if choice.boosted:
        assert choice.found["rankboost"] > choice.found[choice.settings.base]
    assert fitted.model.training["base"] == choice.settings.base
    assert "chosen by ndcg@10 on held-out ratings" in str(choice)


def test_popularity_is_chosen_where_there_is_no_taste():
    """Everybody sees films at random by how popular these are: nothing can be better."""
    random = np.random.default_rng(1)
    users, items = [], []
    weight = 1.0 / np.arange(1, 61)
    for user in range(120):
        users += [user] * 12
        items += random.choice(60, 12, replace=False, p=weight / weight.sum()).tolist()
    noise = Ratings.from_columns(users, items, random.integers(1, 6, len(users)))
    choice = Recommender(noise, rounds=20).fit().choice
    assert choice.settings.base == "popularity"


def test_order_of_rows_and_scale_of_ratings_do_not_matter(ratings, fitted):
    order = np.random.default_rng(0).permutation(len(ratings))
    moved = Ratings.from_columns(
        ratings.user[order], ratings.item[order], 2.0 ** ratings.rating[order]
    )
    other = Recommender(moved, rounds=40).fit()
    assert other.choice.found == fitted.choice.found
    for user in (0, 7):
        assert other.recommend(user).picks == fitted.recommend(user).picks


def test_lists_are_prefixes_and_leave_out_what_was_rated(ratings, fitted):
    long, short = fitted.recommend(5, 10**6), fitted.recommend(5, 7)
    assert long.picks[:7] == short.picks
    rated = set(fitted.rated_by(5))
    items = [pick.item for pick in long.picks]
    assert not rated & set(items)
    assert len(set(items)) == len(items) > CANDIDATES
    scores = [pick.score for pick in long.picks]
    assert scores == sorted(scores, reverse=True)
    assert all(pick.raters >= 5 for pick in long.picks)


def test_same_lists_at_any_number_of_threads(fitted):
    one = [str(found) for found in fitted.recommend_all(5, n_jobs=1)]
    assert one == [str(found) for found in fitted.recommend_all(5, n_jobs=3)]
    assert one[5] == str(fitted.recommend(5, 5))


def test_one_rating_is_enough(ratings, fitted):
    film = int(ratings.items[0])
    found = fitted.recommend_new({film: 5}, 5)
    assert len(found.picks) == 5
    assert found.why(found.picks[0], 1)[0].films == (film,)
    with pytest.raises(DataError, match="you gave 0 ratings; at least one is needed"):
        fitted.recommend_new({})
    alone = Ratings.from_columns(["ann", "bob"], ["x", "y"], [1, 2])
    nothing = Recommender(alone, min_raters=0)
    assert [one.item for one in nothing.recommend("ann").picks] == ["y"]
    assert "nobody has two ratings" in str(nothing.choice)
    assert nothing.recommend("ann").why(nothing.recommend("ann").picks[0]) == ()


@pytest.mark.parametrize("method", ["auto", "ease", "items"])
def test_reasons_are_viewers_who_like_the_film_and_agree(ratings, fitted, method):
    recommender = fitted if method == "auto" else Recommender(ratings, method)
    found = recommender.recommend(3, 8)
    mine = recommender.rated_by(3)
    named = []
    for pick in found.picks:
        for reason in found.why(pick, 2):
            theirs = recommender.rated_by(reason.viewer)
            assert theirs[pick.item] == reason.rating > np.mean(list(theirs.values()))
            assert reason.agreement > 0.5 or (np.isnan(reason.agreement) and reason.films)
            assert reason.shared == len(mine.keys() & theirs.keys())
            assert all(mine[film] >= np.mean(list(mine.values())) for film in reason.films)
            assert not any(word.isdigit() for word in reason.words(lambda film: "F").split()[2:])
            assert str(reason).startswith(f"viewer {reason.viewer} l")
            named.append(reason.viewer)
    assert len(named) == 16
    assert len(set(named)) >= 14  # (few liked some of the films)
    first = [found.why(pick, 1)[0].viewer for pick in found.picks]
    assert len(set(first)) == 8
    for pick in found.picks:
        assert set(found.related(pick)) <= set(mine)
    if method != "auto":
        assert len(found.related(found.picks[0])) == 3
    stranger = replace(found.picks[0], item=-1)
    with pytest.raises(DataError, match="item '-1' is not one of the recommended"):
        found.why(stranger)


@pytest.mark.parametrize("base", ["ease", "items"])
@pytest.mark.parametrize("known", [10**6, 60])
def test_related_films_are_the_largest_parts_of_the_base_score(ratings, monkeypatch, base, known):
    monkeypatch.setattr("crucial.apps.recommend.finder._EASE_ITEMS", known)
    by_user = Opinions.from_ratings(ratings)
    finder = Finder(by_user, Settings(base))
    films, labels = by_user.of_column(2)
    row = int(finder.best(films, labels, 2, 1, 0)[0][0])
    whole = finder.base_scores(finder.users.row(films, labels))[0, row]
    parts = {}
    for film in films.tolist():  # (the score without a film: scores are sums)
        kept = films != film
        less = finder.base_scores(finder.users.row(films[kept], labels[kept]))[0, row]
        parts[film] = whole - less
    largest = sorted(parts, key=lambda film: -parts[film])[:3]
    assert finder.related(films, labels, row).tolist() == largest


def test_a_saved_model_gives_the_same_lists(ratings, fitted, tmp_path):
    path = tmp_path / "model.json"
    fitted.model.save(path)
    again = Recommender(ratings, model=load_model(path))
    assert str(again.recommend(3)) == str(fitted.recommend(3))
    assert again.choice is None
    assert fitted.recommend(3).model.feature_names == FEATURES
    assert str(pickle.loads(pickle.dumps(fitted)).recommend(3)) == str(fitted.recommend(3))


def test_models_of_others_are_refused(ratings, fitted):
    foreign = Recommender(ratings, "rankboost").recommend(0).model
    with pytest.raises(DataError, match="not written by a recommender of the method 'auto'"):
        Recommender(ratings, model=foreign)
    with pytest.raises(ParameterError, match="a saved model is for method='auto'"):
        Recommender(ratings, "ease", model=fitted.model)
    with pytest.raises(NotRankedError, match="only the method 'auto' has a model"):
        _ = Recommender(ratings, "ease").model


def test_items_that_ease_does_not_know_are_left_to_the_neighbours(ratings, monkeypatch):
    monkeypatch.setattr("crucial.apps.recommend.finder._EASE_ITEMS", 50)
    by_user = Opinions.from_ratings(ratings)
    finder = Finder(by_user, Settings("ease"))
    rows, _ = finder.best(*by_user.of_column(0), 0, 1000, 0)
    known = np.argsort(-by_user.row_count, kind="stable")[:50]
    assert set(rows.tolist()) <= set(known.tolist())
    every, _ = Finder(by_user, Settings("items")).best(*by_user.of_column(0), 0, 1000, 0)
    assert len(every) == by_user.n_rows - by_user.count[0]
