"""Recommend items to users by the ratings of others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import Self

import numpy as np

from crucial.apps.recommend import taste
from crucial.apps.recommend.finder import Finder, Settings, settings_of
from crucial.apps.recommend.finding import Choice, choose
from crucial.apps.recommend.opinions import Opinions
from crucial.apps.recommend.recommendations import Learned, Pick, Recommendations
from crucial.apps.recommend.taste import (
    NEEDS_NO_ORDER,
    FoundTaste,
    Target,
    Taste,
    learn_taste,
)
from crucial.data.ratings import Ratings, rating_values
from crucial.errors import DataError, NotRankedError, ParameterError
from crucial.kernels.threads import count_threads, run_all
from crucial.model.additive import AdditiveRanker
from crucial.parameters import at_least, check, instance_of, mapping, none_or, one_of
from crucial.progress import Show
from crucial.types import Floats, Id, Ints
from crucial.wording import counted

__all__ = ["FINDERS", "METHODS", "Recommender"]


# Users per thread and batch: small, so that whoever waits for results sees some soon.
_AT_A_TIME = 4


#: The methods by which items are recommended.
METHODS: dict[str, str] = {
    "auto": "ease, items or popularity, then rankboost over the best; chosen on held-out ratings",
    "ease": "least squares of every item on all others (Steck 2019)",
    "items": "the items nearest to those that the user rated",
    **taste.METHODS,
}

#: The methods that find items by who rated what; the others order items by the viewers' ratings.
FINDERS = ("auto", "ease", "items")


_RATINGS = instance_of(Ratings, remedy="Use crucial.read_ratings, or crucial.Ratings.from_columns.")


class Recommender:
    """Recommends items that a user has not rated.

    The default method, "auto", finds them by who rated what: EASE or item neighbours, in closed
    form, make base scores of all items, and RankBoost orders the best hundred by these scores, by
    popularity and by the viewers nearest to the user. All of this is chosen once for all users, on
    ratings that are held out, with popularity among the candidates.

    The other methods learn one user's order from the viewers, by the construction of Freund et al.
    (2003, section 6.2) or one of its rivals: every other user is a ranking feature, that user's
    ratings, and an abstention where there is none. The feedback are the user's own ratings.

    Parameters
    ----------
    ratings : Ratings
    method : str, default="auto"
        One of `crucial.apps.recommend.METHODS`.
    rounds : int, optional
        Rounds of boosting; by default 200 for "auto", and otherwise 40 and one for every ten
        viewers, as in the paper.
    max_viewers : int or None, default=2000
        Largest number of others to learn from or to name in reasons: those who rated most of the
        user's items. The methods "auto", "ease" and "items" learn from all.
    min_raters : int, default=5
        Recommend only items that at least this many of them rated. An item that nobody rated can
        have any place in a learned order: there is nothing to learn it from.
    titles : mapping from item to str, optional
        See `crucial.data.formats.ratings.read_titles`.
    model : AdditiveRanker, optional
        ``Recommender.model`` of the method "auto", as saved before: its choices are used, and
        nothing is held out and tried again.

    Examples
    --------
    >>> users = ["ann"] * 3 + ["bob"] * 4 + ["cyd"] * 4
    >>> items = ["alien", "antz", "heat"] + ["alien", "antz", "heat", "tron"] * 2
    >>> stars = [5, 1, 4, 5, 2, 4, 5, 2, 4, 3, 1]
    >>> club = Ratings.from_columns(users, items, stars)
    >>> print(Recommender(club, "rankboost", min_raters=1).recommend("ann"))
       1  tron  27.57
    """

    def __init__(
        self,
        ratings: Ratings,
        method: str = "auto",
        *,
        rounds: int | None = None,
        max_viewers: int | None = 2000,
        min_raters: int = 5,
        titles: Mapping[str, str] | None = None,
        model: AdditiveRanker | None = None,
    ) -> None:
        check("Recommender", "ratings", ratings, _RATINGS)
        check("Recommender", "method", method, one_of(*METHODS))
        check("Recommender", "rounds", rounds, none_or(at_least(1)))
        check("Recommender", "max_viewers", max_viewers, none_or(at_least(1)))
        check("Recommender", "min_raters", min_raters, at_least(0))
        self.ratings, self.method, self.rounds = ratings, method, rounds
        self.max_viewers, self.min_raters = max_viewers, min_raters
        self.titles = titles or {}
        if model is not None and method != "auto":
            raise ParameterError("a saved model is for method='auto'.", parameter="model")
        self._choice: Choice | None = None
        self._saved = None if model is None else (settings_of(model), model)
        self._by_user = Opinions.from_ratings(ratings)
        self._by_item = self._by_user.transposed()

    def fit(self, show: Show | None = None) -> Self:
        """Choose and learn what all users share; `recommend` does so where it has not been done.

        Parameters
        ----------
        show : callable, optional
            Is called with the number of steps done, out of `finding.STEPS`, and a note.
        """
        if self.method == "auto" and self._saved is None:
            self._choice = choose(self._by_user, self.rounds, show)
            self._saved = self._choice.settings, self._choice.model
        if self.method in FINDERS:
            _ = self._finder
        return self

    @property
    def choice(self) -> Choice | None:
        """What the method "auto" chose and how everything that was tried did, once fitted."""
        return self._choice

    @property
    def model(self) -> AdditiveRanker:
        """The model of the method "auto", which contains its choices."""
        return self._settled()[1]

    def _settled(self) -> tuple[Settings, AdditiveRanker]:
        """Return the settings and the model of "auto", chosen now if they have not been."""
        if self.method != "auto":
            raise NotRankedError("only the method 'auto' has a model of all users.")
        if self._saved is None:
            self.fit()
        assert self._saved is not None
        return self._saved

    @cached_property
    def _finder(self) -> Finder:
        if self.method != "auto":
            return Finder(self._by_user, Settings(self.method)).prepared()
        settings, model = self._settled()
        return Finder(self._by_user, settings, model if model.n_rounds > 1 else None).prepared()

    def title(self, item: object) -> str:
        """Return the title of an item; its id where no title is known."""
        return self.titles.get(str(item), str(item))

    def _row(self, item: object) -> int:
        """Return the place of an item, given by its id or, if there is no such id, its title."""
        if self.ratings.has_item(item):
            return self.ratings.place_of_item(item)
        return self.ratings.place_of_item(self._items_by_title.get(str(item).casefold(), item))

    @cached_property
    def _items_by_title(self) -> dict[str, str]:
        return {title.casefold(): item for item, title in reversed(list(self.titles.items()))}

    def rated_by(self, user: object) -> dict[Id, float]:
        """Return the ratings of a user by item."""
        films, labels = self._by_user.of_column(self.ratings.place_of_user(user))
        return dict(zip(self.ratings.items[films].tolist(), labels.tolist()))

    def recommend(self, user: object, top: int = 20) -> Recommendations:
        """Recommend items that a user has not rated yet.

        Raises
        ------
        DataError
            There is no such user, or the ratings express no preference.
        """
        check("recommend", "top", top, at_least(1))
        return self._recommend_known(self.ratings.place_of_user(user), top)

    def recommend_new(
        self, rated: Mapping[str, float] | Mapping[int, float], top: int = 20
    ) -> Recommendations:
        """Recommend items to somebody who is not among the users.

        Parameters
        ----------
        rated : mapping from item (its id or title) to rating
            At least two different ratings for the methods that learn an order, else one.
        top : int
        """
        check("recommend_new", "rated", rated, mapping)
        check("recommend_new", "top", top, at_least(1))
        films = np.array([self._row(item) for item in rated], np.int64)
        if len(np.unique(films)) < len(films):
            raise DataError("an item is rated twice, by its id and by its title.")
        return self._recommend(None, films, rating_values(rated), top)

    def recommend_all(
        self, top: int = 20, *, users: Iterable[Id] | None = None, n_jobs: int | None = None
    ) -> Iterator[Recommendations]:
        """Recommend to every user, in parallel; a user without preferences has a ``problem``.

        Parameters
        ----------
        top : int
        users : iterable of ids, optional
            All by default.
        n_jobs : int, optional
            Threads; None for all cores. The results are the same for any number.
        """
        check("recommend_all", "top", top, at_least(1))
        everybody = self.ratings.users if users is None else list(users)
        places = [self.ratings.place_of_user(user) for user in everybody]
        self.fit()
        threads = count_threads(n_jobs)
        step = threads * _AT_A_TIME
        for begin in range(0, len(places), step):
            some = places[begin : begin + step]
            yield from run_all(threads, [partial(self._attempt, place, top) for place in some])

    def to_rate(self, number: int) -> list[Id]:
        """Return items to ask a new user about: many know them and ratings differ."""
        check("to_rate", "number", number, at_least(1))
        count, spread = self._by_item.count, self._by_item.spread
        order = np.argsort(-(count * spread), kind="stable")
        return list(self.ratings.items[order[:number]].tolist())

    def _attempt(self, place: int, top: int) -> Recommendations:
        try:
            found = self._recommend_known(place, top)
        except DataError as error:
            return Recommendations(self._user(place), (), str(error))
        # (without the taste: thousands of them would fill the memory)
        return Recommendations(found.user, found.picks, found.problem)

    def _user(self, place: int) -> Id:
        user: Id = self.ratings.users[place : place + 1].tolist()[0]
        return user

    def _recommend_known(self, place: int, top: int) -> Recommendations:
        return self._recommend(place, *self._by_user.of_column(place), top)

    def _target(self, place: int | None, films: Ints, labels: Floats) -> Target:
        """Choose the viewers to learn from; ``place`` is None for a new user."""
        who = self._who(place)
        if not len(labels) and self.method in NEEDS_NO_ORDER:
            raise DataError(f"{who} gave 0 ratings; at least one is needed.")
        if self.method not in (*FINDERS, *NEEDS_NO_ORDER) and len(np.unique(labels)) < 2:
            gave = f"{len(labels)} rating{'' if len(labels) == 1 else 's'}"
            if len(labels) > 1:
                gave = f"the same rating, {labels[0]:g}, to all {counted(len(labels), 'item')}"
            raise DataError(
                f"{who} gave {gave}, which expresses no preference; two different ratings are "
                "needed."
            )
        shared = self._by_item.take_columns(films)
        count = shared.row_count.copy()
        if place is not None:
            count[place] = 0
        viewers = np.flatnonzero(count)
        if not len(viewers) and self.method not in FINDERS:
            raise DataError(f"nobody else rated what {who} did.")
        if self.max_viewers is not None and len(viewers) > self.max_viewers:
            most = np.argsort(-count[viewers], kind="stable")[: self.max_viewers]
            viewers = np.sort(viewers[most])
        club = self._by_user.take_columns(viewers)
        # (the same as club.take_rows(films), for less)
        rated = shared.take_rows(viewers).transposed()
        return Target(club, films, labels, self.ratings.users[viewers], rated)

    def _who(self, place: int | None) -> str:
        return "you" if place is None else f"user {str(self._user(place))!r}"

    def _recommend(
        self, place: int | None, films: Ints, labels: Floats, top: int
    ) -> Recommendations:
        """Pick the best items that a user has not rated."""
        learned: Learned
        if self.method in FINDERS:
            if not len(films):
                raise DataError(f"{self._who(place)} gave 0 ratings; at least one is needed.")
            raters = self._finder.raters
            rows, scores = self._finder.best(films, labels, place, top, self.min_raters)
            learned = partial(self._found, place, films, labels)
        else:
            target = self._target(place, films, labels)
            ordered = learn_taste(self.method, target, self.rounds)
            raters = target.club.row_count
            offered = raters >= self.min_raters
            offered[films] = False
            rows = np.flatnonzero(offered)
            # Of equal scores, items with more raters come first, then the first item.
            rows = rows[np.lexsort((rows, -raters[rows], -ordered.scores[rows]))][:top]
            scores = ordered.scores[rows]
            learned = partial(_pair, ordered, target)
        items = self.ratings.items[rows].tolist()
        picks = tuple(
            Pick(k, item, self.title(item), score, count)
            for k, (item, score, count) in enumerate(
                zip(items, scores.tolist(), raters[rows].tolist()), 1
            )
        )
        problem = None
        if not picks:
            problem = "there is no item left" + (
                f" that {self.min_raters} others rated" if self.min_raters > 0 else ""
            )
        user = None if place is None else self._user(place)
        return Recommendations(user, picks, problem, self.ratings.items, learned)

    def _found(self, place: int | None, films: Ints, labels: Floats) -> tuple[FoundTaste, Target]:
        """Return the scores of all items that may be recommended, NaN for others, and viewers."""
        target = self._target(place, films, labels)
        n_items = len(self.ratings.items)
        scores = np.full(n_items, np.nan)
        rows, found = self._finder.best(films, labels, place, n_items, self.min_raters)
        scores[rows] = found
        model = self.model if self.method == "auto" else None
        related = partial(self._finder.related, films, labels)
        return FoundTaste(scores, target, model, related), target


def _pair(learned: Taste, target: Target) -> tuple[Taste, Target]:
    return learned, target
