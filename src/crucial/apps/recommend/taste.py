"""One user's taste, learned from the opinions of others: the model and what it says of films."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from crucial.apps.recommend.boosting import boost_opinions
from crucial.apps.recommend.comparators import (
    NearestNeighbours,
    Popularity,
    Regression,
    VectorSimilarity,
)
from crucial.data.instances import Instances
from crucial.data.opinions import Opinions
from crucial.inspection.parts import feature_parts
from crucial.model.additive import AdditiveRanker
from crucial.types import Bools, Floats, Ints
from crucial.validation import lookup

__all__ = [
    "METHODS",
    "BoostedTaste",
    "SimilarTaste",
    "Taste",
    "Voices",
    "learn_taste",
    "rounds_for",
]


#: What a recommendation may be learned by.
METHODS: dict[str, str] = {
    "auto": "vsim for a user with fewer than 50 ratings, else rankboost",
    "rankboost": "RankBoost over the viewers' ratings (Freund et al. 2003, section 6.2)",
    "hybrid": "the same, with the score of vsim as one more opinion",
    "vsim": "viewers weighed by the cosine of their ratings with the user's",
    "neighbour": "the viewer whose order is nearest",
    "neighbours": "the mean of the 20 nearest viewers",
    "regression": "least squares on the viewers' ratings",
    "regression-normalised": "the same, every viewer brought to mean 0 and deviation 1",
    "popularity": "how many rated a film",
    "mean": "how far above their means viewers rate a film, on average",
}

_COMPARATORS: dict[str, Any] = {
    "vsim": VectorSimilarity,
    "neighbour": NearestNeighbours,
    "neighbours": lambda: NearestNeighbours(k=20),
    "regression": Regression,
    "regression-normalised": lambda: Regression(normalise=True),
    "popularity": Popularity,
    "mean": lambda: Popularity(by="mean"),
}

#: The opinion that is no viewer's.
VSIM = "vsim"

# Below, vsim orders better, above RankBoost: figure 7 of the paper, which says 20, and the same
# figure on MovieLens (crucial.studies.films).
_FEW = 50


def rounds_for(n_viewers: int) -> int:
    """Rounds that Freund et al. (2003, section 6.2.2) take for so many features.

    Examples
    --------
    >>> rounds_for(1000)
    140
    """
    return 40 + n_viewers // 10


@dataclass(frozen=True, eq=False)
class Voices:
    """Who says what of one film, and what it adds to its score.

    Attributes
    ----------
    column : int array
        Viewers, among those learned from; the column after the last is VSIM's.
    said : array
        Their ratings; NaN where one abstains.
    adds : array
        Above what each adds to the average film.
    seen_only : bool array
        Whether it counts only that the viewer rated the film.
    """

    column: Ints
    said: Floats
    adds: Floats
    seen_only: Bools


class Taste(Protocol):
    """Scores every film of the club, and says whose opinions a score is made of."""

    def voices(self, row: int) -> Voices | None:
        """Those who speak of a film; None where the score is no sum of opinions."""

    @property
    def scores(self) -> Floats:
        """One a film; the higher, the higher the rank."""


@dataclass(frozen=True, eq=False)
class PlainTaste:
    """What a comparator says."""

    scores: Floats

    def voices(self, row: int) -> Voices | None:
        """None: how the score is made up is not told."""
        return None


@dataclass(frozen=True, eq=False)
class SimilarTaste:
    """What VSIM says."""

    scores: Floats
    ranker: VectorSimilarity
    club: Opinions

    def voices(self, row: int) -> Voices | None:
        """Those who rated the film, by similarity and distance from their means."""
        entries = np.flatnonzero(self.club.row == row)
        column, said = self.club.column[entries], self.club.value[entries]
        adds = self.ranker.added(self.club)[entries]
        return Voices(column, said, adds, np.zeros(len(column), bool))


@dataclass(frozen=True, eq=False)
class BoostedTaste:
    """What RankBoost learned.

    Attributes
    ----------
    scores : array over all films
    model : AdditiveRanker
        Over the viewers that it uses.
    used : int array
        Their columns among the viewers learned from; the column after the last is VSIM's.
    table : array of shape (n_films, n_used)
        What they say of every film.
    """

    scores: Floats
    model: AdditiveRanker
    used: Ints
    table: Floats

    def voices(self, row: int) -> Voices | None:
        """All viewers of the model."""
        parts = feature_parts(self.model, Instances(self.table))
        shapes = self.model.shapes()
        features = parts.features.tolist()
        flat = np.array([np.ptp(shapes[one].values) == 0.0 for one in features], bool)
        adds = parts.added[row] - parts.added.mean(axis=0)
        return Voices(self.used[parts.features], parts.columns[row], adds, flat)


def learn_taste(
    method: str,
    club: Opinions,
    films: Ints,
    labels: Floats,
    names: NDArray[Any],
    rounds: int | None = None,
    rated: Opinions | None = None,
) -> Taste:
    """Learn from the ratings of some films how the user would rank all of them.

    Parameters
    ----------
    method : str
        One of `METHODS`.
    club : Opinions
        Films x viewers, without the user.
    films : int array
        Rows that the user rated.
    labels : array like films
        The ratings.
    names : array of ids
        Of the viewers.
    rounds : int, optional
        By default `rounds_for`.
    rated : Opinions, optional
        ``club.take_rows(films)``, where it is known.
    """
    lookup(METHODS, method, "method")
    if method == "auto":
        method = "vsim" if len(films) < _FEW else "rankboost"
    rated = club.take_rows(films) if rated is None else rated
    if method in _COMPARATORS:
        ranker = _COMPARATORS[method]().fit(rated, labels, club=club)
        if isinstance(ranker, VectorSimilarity):
            return SimilarTaste(ranker.predict(club), ranker, club)
        return PlainTaste(ranker.predict(club))
    vsim = None
    if method == "hybrid":
        similar = VectorSimilarity().fit(rated, labels, club=club)
        vsim = similar.predict(club)
        vsim[films] = similar.scores_left_out(rated, labels)
        rated = rated.with_column(vsim[films])
    return _boosted(club, rated, labels, names, rounds, vsim)


def _boosted(
    club: Opinions,
    rated: Opinions,
    labels: Floats,
    names: NDArray[Any],
    rounds: int | None,
    vsim: Floats | None,
) -> BoostedTaste:
    rounds = rounds_for(club.n_columns) if rounds is None else rounds
    made = boost_opinions(rated, labels, rounds)
    used = np.unique([one.feature for one in made.rankers]).astype(np.int64)
    if not len(used):  # (nobody rated what the user did: all films are level)
        used = np.zeros(1, np.int64)
    slot = {column: k for k, column in enumerate(used.tolist())}
    rankers = [replace(one, feature=slot[one.feature]) for one in made.rankers]
    viewers = used[used < club.n_columns]
    table = club.take_columns(viewers).to_dense()
    called = [f"viewer {names[column]}" for column in viewers.tolist()]
    if len(viewers) < len(used):
        assert vsim is not None
        table = np.column_stack((table, vsim))
        called.append(VSIM)
    training = {"estimator": "RankBoost", "preset": "rankboost.3.cum", "rounds": len(rankers),
                "rows": len(labels), "viewers": club.n_columns}  # fmt: skip
    model = AdditiveRanker(len(used), rankers, made.weights, called, training)
    return BoostedTaste(model.predict(table, n_jobs=1), model, used, table)
