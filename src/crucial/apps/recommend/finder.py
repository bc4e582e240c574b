"""Find items that a user has not rated: base scores in closed form, RankBoost as the last word.

A `Finder` scores all items by EASE, item neighbours or popularity, whichever `Settings` name. The
first `CANDIDATES` of them are then ordered by a model over the features `FEATURES`: the scores of
the item models and what the other viewers say. `crucial.apps.recommend.finding` chooses the
settings and learns the model on ratings that are held out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from crucial.apps.recommend.interactions import (
    Interactions,
    RatingScale,
    stored_cells,
    weighted_rows,
)
from crucial.apps.recommend.item_models import Ease, ItemNeighbours
from crucial.apps.recommend.opinions import Opinions
from crucial.errors import DataError
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import ScaledFeature
from crucial.types import Floats, Ints

__all__ = [
    "BASES",
    "CANDIDATES",
    "FEATURES",
    "Finder",
    "Settings",
    "base_model",
    "base_part",
    "settings_of",
]

#: What can make the base scores.
BASES = ("ease", "items", "popularity")

#: Features of a candidate, each standardised over the candidates of its user: the base score,
#: that of item neighbours, the number of its raters, how far above their means they rate it, and
#: the same two of the viewers who are nearest to the user, weighted by how near they are.
FEATURES = ("base", "items", "popularity", "mean", "viewers", "taste")

#: Number of items that the model orders; the others follow in the order of the base scores.
CANDIDATES = 100

# EASE inverts a matrix of items x items: of larger catalogues it knows the most rated items.
_EASE_ITEMS = 5000

# The viewers who are asked for the features "viewers" and "taste".
_NEAREST = 50

# Ratings at the viewers' means that are added to the mean of an item.
_DAMPING = 5.0

# No standardised number of so many candidates is larger: sqrt(CANDIDATES - 1).
_REACH = 10.0


@dataclass(frozen=True)
class Settings:
    """What a `Finder` computes in closed form.

    Attributes
    ----------
    base : str
        One of `BASES`.
    penalty : float
        Of `Ease`.
    seen : float
        Share of a rating's weight that does not depend on its value, see `RatingScale`.
    """

    base: str = "ease"
    penalty: float = 200.0
    seen: float = 0.5


def settings_of(model: object) -> Settings:
    """Return the settings in a saved model's training summary; refuse one of another kind."""
    if isinstance(model, AdditiveRanker) and tuple(model.feature_names or ()) == FEATURES:
        base: Any = model.training.get("base")
        penalty: Any = model.training.get("penalty")
        seen: Any = model.training.get("seen")
        numbers = isinstance(penalty, float | int) and isinstance(seen, float | int)
        if base in BASES and numbers and 0.0 < penalty < math.inf and 0.0 <= seen <= 1.0:
            return Settings(base, float(penalty), float(seen))
    raise DataError(
        "the model was not written by a recommender of the method 'auto'.",
        remedy="Write one by crucial recommend RATINGS --user ID --model FILE.",
    )


def base_model() -> AdditiveRanker:
    """Return the model that leaves the order of the base scores as it is."""
    rankers, weights = base_part()
    return AdditiveRanker(len(FEATURES), rankers, weights, FEATURES)


def base_part() -> tuple[list[ScaledFeature], list[float]]:
    """Return the weak ranker that is the base score itself, up to a constant, and its weight."""
    ranker = ScaledFeature(0, -_REACH, _REACH, 0.0)
    return [ranker], [2.0 * _REACH]


class Finder:
    """Scores of all items for any user of a table of ratings, or a new one.

    Parameters
    ----------
    by_user : Opinions
        Items as rows, users as columns.
    settings : Settings
    model : AdditiveRanker, optional
        The last word, over `FEATURES`; without it the base scores stay.
    scale : RatingScale, optional
        By default that of the ratings.
    """

    def __init__(
        self,
        by_user: Opinions,
        settings: Settings,
        model: AdditiveRanker | None = None,
        scale: RatingScale | None = None,
    ) -> None:
        self.by_user, self.settings, self.model = by_user, settings, model
        scale = RatingScale.of(by_user.value) if scale is None else scale
        self.users = Interactions.of(by_user, scale, settings.seen)
        self.raters = by_user.row_count
        matrix = self.users.matrix
        self.length = np.sqrt(np.asarray((matrix * matrix).sum(axis=1)).ravel())

    @cached_property
    def _known(self) -> Ints | None:
        """The items of EASE, ascending; None for all."""
        if self.by_user.n_rows <= _EASE_ITEMS:
            return None
        return np.sort(np.argsort(-self.raters, kind="stable")[:_EASE_ITEMS])

    @cached_property
    def ease(self) -> Ease:
        """EASE of the most rated items."""
        matrix = self.users.matrix
        return Ease(self.settings.penalty).fit(
            matrix if self._known is None else matrix[:, self._known]
        )

    @cached_property
    def items(self) -> ItemNeighbours:
        """Item neighbours of all items."""
        return ItemNeighbours().fit(self.users.matrix)

    @cached_property
    def _by_item(self) -> Any:
        """The weights, items x users."""
        return self.users.matrix.T.tocsr()

    @cached_property
    def _deviations(self) -> Floats:
        """How far the standing of every rating is from its user's mean."""
        own = self.by_user
        standing = self.users.scale.standing(own.value)
        mean = own.sums(standing) / np.maximum(own.count, 1)
        return np.asarray(standing - mean[own.column])

    @cached_property
    def _mean(self) -> Floats:
        sums = self.by_user.row_sums(self._deviations)
        return np.asarray(sums / (self.raters + _DAMPING))

    def prepared(self) -> Finder:
        """Compute now what scores need, so that threads do not compute it twice."""
        empty = self.users.row(np.zeros(0, np.int64), np.zeros(0))
        self.base_scores(empty)
        if self.model is not None:
            self.features(empty, self.base_scores(empty)[0], np.zeros(0, np.int64), None)
        return self

    def base_scores(self, users: Any, base: str | None = None) -> Floats:
        """Return the base scores of all items, users x items; NaN for items unknown to EASE.

        Parameters
        ----------
        users : scipy csr matrix of weights, users x items
        base : str, optional
            By default that of the settings.
        """
        base = self.settings.base if base is None else base
        if base == "popularity":
            return np.tile(self.raters.astype(np.float64), (users.shape[0], 1))
        if base == "items":
            if users.shape[0] == 1:
                return weighted_rows(self.items.weight_, users.indices, users.data)[None, :]
            return self.items.scores(users)
        if self._known is None:
            return self.ease.scores(users)
        scores = np.full(users.shape, np.nan)
        scores[:, self._known] = self.ease.scores(users[:, self._known])
        return scores

    def candidates(self, base: Floats, films: Ints, enough: int) -> Ints:
        """Return the items with the largest base scores that are not among a user's films.

        Of equal scores, items with more raters come first, then the first item.

        Parameters
        ----------
        base : array of shape (n_items,)
        films : int array
        enough : int
            Items with fewer raters are left out.
        """
        offered = (self.raters >= enough) & ~np.isnan(base)
        offered[films] = False
        rows = np.flatnonzero(offered)
        if len(rows) > 4 * CANDIDATES:  # (sort those that can be among the first)
            least = np.partition(base[rows], len(rows) - CANDIDATES)[len(rows) - CANDIDATES]
            first = rows[base[rows] >= least]
        else:
            first = rows
        return np.asarray(
            first[np.lexsort((first, -self.raters[first], -base[first]))][:CANDIDATES]
        )

    def features(self, user: Any, base: Floats, rows: Ints, place: int | None) -> Floats:
        """Return the features of a user's candidates.

        Parameters
        ----------
        user : scipy csr matrix of one row
            The user's weights.
        base : array of shape (n_items,)
            Scores of the settings' base, not computed again.
        rows : int array
            The candidates.
        place : int or None
            The column of a known user, who is not among the viewers.
        """
        near = self._similar(user, place)
        first = _nearest(near)
        matrix, weight = self.users.matrix, near[first]
        table = np.empty((len(rows), len(FEATURES)))
        table[:, 0] = base[rows]
        table[:, 1] = self.base_scores(user, "items")[0][rows]
        table[:, 2] = self.raters[rows]
        table[:, 3] = self._mean[rows]
        # (deviations have the same cells as weights)
        at, lengths = stored_cells(matrix, first)
        item, weight = matrix.indices[at], np.repeat(weight, lengths)
        n_items = matrix.shape[1]
        table[:, 4] = np.bincount(item, matrix.data[at] * weight, n_items)[rows]
        table[:, 5] = np.bincount(item, self._deviations[at] * weight, n_items)[rows]
        return _standardised(table)

    def _similar(self, user: Any, place: int | None) -> Floats:
        """Return the cosine of every viewer's weights with the user's; 0 with oneself."""
        size = float(np.sqrt(np.sum(user.data * user.data)))
        product = weighted_rows(self._by_item, user.indices, user.data)
        length = self.length * (size or 1.0)
        near: Floats = np.divide(product, length, out=np.zeros_like(product), where=length > 0.0)
        if place is not None:
            near[place] = 0.0
        return near

    def related(self, films: Ints, labels: Floats, row: int) -> Ints:
        """Return up to three of a user's films that raise the base score of an item most.

        None for popularity, which does not depend on the user.
        """
        if self.settings.base == "popularity":
            return np.zeros(0, np.int64)
        user = self.users.row(films, labels)
        films, weight = user.indices, user.data
        if self.settings.base == "items":
            adds = weight * self.items.weight_[films][:, [row]].toarray().ravel()
        elif self._known is None:
            adds = weight * self.ease.weight_[films, row]
        else:
            place = np.searchsorted(self._known, films)
            inside = self._known[np.minimum(place, len(self._known) - 1)] == films
            films, place = films[inside], place[inside]
            column = int(np.searchsorted(self._known, row))
            adds = weight[inside] * self.ease.weight_[place, column]
        order = np.argsort(-adds, kind="stable")[:3]
        return np.asarray(films[order[adds[order] > 0.0]], np.int64)

    def best(
        self, films: Ints, labels: Floats, place: int | None, top: int, enough: int
    ) -> tuple[Ints, Floats]:
        """Return the best items for a user, and their scores.

        The scores of items after the candidates lie below those of all candidates.

        Parameters
        ----------
        films, labels : arrays
            Items that the user rated, and the ratings.
        place : int or None
            The column of a known user.
        top : int
        enough : int
            Leave out items with fewer raters.
        """
        user = self.users.row(films, labels)
        base = self.base_scores(user)[0]
        rows = self.candidates(base, films, enough)
        scores = base[rows]
        if self.model is not None and len(rows):
            scores = self.model.predict(self.features(user, base, rows, place), n_jobs=1)
            order = np.lexsort((rows, -self.raters[rows], -scores))
            rows, scores = rows[order], scores[order]
        if top > len(rows) == CANDIDATES:
            more = self._after(base, np.concatenate((films, rows)), enough)[: top - len(rows)]
            # (their base scores, moved below the last candidate)
            last = scores[-1] - 1.0 if len(scores) else 0.0
            below = base[more] - base[more].max(initial=-np.inf) + last if len(more) else base[more]
            rows, scores = np.concatenate((rows, more)), np.concatenate((scores, below))
        return rows[:top], scores[:top]

    def _after(self, base: Floats, taken: Ints, enough: int) -> Ints:
        offered = (self.raters >= enough) & ~np.isnan(base)
        offered[taken] = False
        rows = np.flatnonzero(offered)
        return rows[np.lexsort((rows, -self.raters[rows], -base[rows]))]


def _nearest(near: Floats) -> Ints:
    """Return the viewers with the largest similarities above 0; of equals, the first."""
    first = np.flatnonzero(near > 0.0)
    if len(first) > _NEAREST:
        least = np.partition(near[first], len(first) - _NEAREST)[len(first) - _NEAREST]
        first = first[near[first] >= least]
        first = first[np.argsort(-near[first], kind="stable")][:_NEAREST]
    return first


def _standardised(table: Floats) -> Floats:
    """Return columns with mean 0 and standard deviation 1; 0 for a constant, NaN abstains."""
    there = ~np.isnan(table)
    count = np.maximum(there.sum(axis=0), 1)
    filled = np.where(there, table, 0.0)
    apart = np.where(there, table - filled.sum(axis=0) / count, 0.0)
    spread = np.sqrt((apart * apart).sum(axis=0) / count)
    # A spread that is a rounding error of the numbers themselves is none.
    real = spread > 1e-12 * np.abs(filled).max(axis=0, initial=0.0)
    scaled = np.divide(apart, spread, out=np.zeros_like(apart), where=real)
    return np.where(there, scaled, np.nan)
