"""Recommend items to users by the ratings of others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from crucial.apps.recommend.opinions import Opinions
from crucial.apps.recommend.reasons import Reason, reasons_for
from crucial.apps.recommend.taste import METHODS, BoostedTaste, Target, Taste, learn_taste
from crucial.data.ratings import Ratings
from crucial.errors import DataError, NotRankedError
from crucial.kernels.threads import count_threads, run_all
from crucial.model.additive import AdditiveRanker
from crucial.parameters import at_least, check, none_or, one_of
from crucial.types import Floats, Id, Ints

__all__ = ["Pick", "Recommendations", "Recommender"]


# Users per thread and batch: small, so that whoever waits for results sees some soon.
_AT_A_TIME = 4


@dataclass(frozen=True)
class Pick:
    """One recommended item.

    Attributes
    ----------
    position : int
        From 1.
    item : id
    title : str
        The id where no title is known.
    score : float
        Comparable within one user's list.
    raters : int
        Number of the viewers learned from who rated it.
    """

    position: int
    item: Id
    title: str
    score: float
    raters: int


@dataclass(frozen=True, eq=False)
class Recommendations:
    """The items for one user, best first.

    Attributes
    ----------
    user : id or None
        None for a new user.
    picks : tuple of Pick
    taste : Taste or None
        The learned scores; None where nothing could be learned.
    problem : str or None
        Why there are no picks.
    """

    user: Id | None
    picks: tuple[Pick, ...]
    taste: Taste | None = None
    problem: str | None = None
    _target: Target | None = None
    _ratings: Ratings | None = None

    def __str__(self) -> str:
        width = max((len(one.title) for one in self.picks), default=0)
        lines = [f"{one.position:4}  {one.title:{width}}  {one.score:.4g}" for one in self.picks]
        return "\n".join(lines) if lines else self.problem or "nothing to recommend"

    @property
    def model(self) -> AdditiveRanker:
        """The user's model, if the method is RankBoost's."""
        if not isinstance(self.taste, BoostedTaste):
            raise NotRankedError("only RankBoost has a model; use method='rankboost' or 'hybrid'.")
        return self.taste.model

    def why(self, pick: Pick, top: int = 3) -> tuple[Reason, ...]:
        """Return the viewers whose ratings raise the score of a recommended item most.

        Parameters
        ----------
        pick : Pick
            One of ``picks``.
        top : int
            Largest number of reasons.
        """
        check("why", "top", top, at_least(1))
        ratings, target = self._ratings, self._target
        if self.taste is None or target is None or ratings is None:
            raise NotRankedError(
                "recommendations for all users have no reasons; recommend to one user."
            )
        found = self.taste.score_parts(ratings.place_of_item(pick.item))
        if found is None:
            raise NotRankedError(
                "only the methods 'auto', 'rankboost', 'hybrid' and 'vsim' give reasons."
            )
        return reasons_for(found, target, ratings.items, top)


class Recommender:
    """Recommends items by the construction of Freund et al. (2003, section 6.2).

    Every other user is a ranking feature: that user's ratings, and an abstention where there is
    none. The feedback are the user's own ratings. RankBoost weights the others, with weights that
    stay positive and learned ranks for items that they did not rate. For users with few ratings,
    where the paper finds its rival better, VSIM is used instead.

    Parameters
    ----------
    ratings : Ratings
    method : str, default="auto"
        One of `crucial.apps.recommend.METHODS`.
    rounds : int, optional
        Rounds of boosting; by default 40 and one for every ten viewers, as in the paper.
    max_viewers : int or None, default=2000
        Largest number of others to learn from: those who rated most of the user's items.
    min_raters : int, default=5
        Recommend only items that at least this many of them rated. An item that nobody rated can
        have any place in a learned order: there is nothing to learn it from.
    titles : mapping from item to str, optional
        See `crucial.data.formats.ratings.read_titles`.

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
    ) -> None:
        check("Recommender", "method", method, one_of(*METHODS))
        check("Recommender", "rounds", rounds, none_or(at_least(1)))
        check("Recommender", "max_viewers", max_viewers, none_or(at_least(1)))
        check("Recommender", "min_raters", min_raters, at_least(0))
        self.ratings, self.method, self.rounds = ratings, method, rounds
        self.max_viewers, self.min_raters = max_viewers, min_raters
        self.titles = titles or {}
        self._by_user = Opinions.from_ratings(ratings)
        self._by_item = self._by_user.transposed()

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
            At least two different ratings.
        top : int
        """
        check("recommend_new", "top", top, at_least(1))
        films = np.array([self._row(item) for item in rated], np.int64)
        if len(np.unique(films)) < len(films):
            raise DataError("an item is rated twice, by its id and by its title.")
        labels = np.array(list(rated.values()), np.float64)
        if not np.isfinite(labels).all():
            raise DataError("ratings must be finite numbers.")
        return self._recommend(None, films, labels, top)

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
        threads = count_threads(n_jobs)
        step = threads * _AT_A_TIME
        for begin in range(0, len(places), step):
            some = places[begin : begin + step]
            yield from run_all(threads, [partial(self._attempt, place, top) for place in some])

    def to_rate(self, number: int) -> list[Id]:
        """Return items to ask a new user about: many know them and ratings differ."""
        count, spread = self._by_item.count, self._by_item.spread
        order = np.argsort(-(count * spread), kind="stable")
        return list(self.ratings.items[order[:number]].tolist())

    def _attempt(self, place: int, top: int) -> Recommendations:
        try:
            found = self._recommend_known(place, top)
        except DataError as error:
            return Recommendations(self._user(place), (), problem=str(error))
        # (without the taste: thousands of them would fill the memory)
        return Recommendations(found.user, found.picks, problem=found.problem)

    def _user(self, place: int) -> Id:
        user: Id = self.ratings.users[place : place + 1].tolist()[0]
        return user

    def _recommend_known(self, place: int, top: int) -> Recommendations:
        return self._recommend(place, *self._by_user.of_column(place), top)

    def _target(self, place: int | None, films: Ints, labels: Floats) -> Target:
        """Choose the viewers to learn from; ``place`` is None for a new user."""
        who = "you" if place is None else f"user {str(self._user(place))!r}"
        if len(np.unique(labels)) < 2:
            gave = f"{len(labels)} rating{'' if len(labels) == 1 else 's'}"
            if len(labels) > 1:
                gave = f"the same rating, {labels[0]:g}, to all {len(labels)} items"
            raise DataError(
                f"{who} gave {gave}, which expresses no preference; two different ratings are "
                "needed."
            )
        shared = self._by_item.take_columns(films)
        count = shared.row_count.copy()
        if place is not None:
            count[place] = 0
        viewers = np.flatnonzero(count)
        if not len(viewers):
            raise DataError(f"nobody else rated what {who} did.")
        if self.max_viewers is not None and len(viewers) > self.max_viewers:
            most = np.argsort(-count[viewers], kind="stable")[: self.max_viewers]
            viewers = np.sort(viewers[most])
        club = self._by_user.take_columns(viewers)
        # (the same as club.take_rows(films), for less)
        rated = shared.take_rows(viewers).transposed()
        return Target(club, films, labels, self.ratings.users[viewers], rated)

    def _recommend(
        self, place: int | None, films: Ints, labels: Floats, top: int
    ) -> Recommendations:
        """Learn the taste of a user, and pick the best items that the user has not rated."""
        target = self._target(place, films, labels)
        taste = learn_taste(self.method, target, self.rounds)
        raters = target.club.row_count
        offered = raters >= self.min_raters
        offered[films] = False
        rows = np.flatnonzero(offered)
        # Of equal scores, items with more raters come first, then the first item.
        order = rows[np.lexsort((rows, -raters[rows], -taste.scores[rows]))][:top]
        items = self.ratings.items[order].tolist()
        picks = tuple(
            Pick(k, item, self.title(item), float(taste.scores[row]), int(raters[row]))
            for k, (item, row) in enumerate(zip(items, order.tolist()), 1)
        )
        problem = None if picks else f"there is no item left that {self.min_raters} others rated"
        user = None if place is None else self._user(place)
        return Recommendations(user, picks, taste, problem, target, self.ratings)
