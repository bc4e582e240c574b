"""One user's taste, learned from the ratings of other viewers: scores for all films."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from crucial.apps.recommend.boosting import boost_opinions
from crucial.apps.recommend.comparators import (
    NearestNeighbours,
    PearsonCorrelation,
    Popularity,
    Regression,
    VectorSimilarity,
    ViewerRanker,
)
from crucial.apps.recommend.neighbours import agreements
from crucial.apps.recommend.opinions import Opinions
from crucial.data.instances import Instances
from crucial.inspection.parts import feature_parts
from crucial.model.additive import AdditiveRanker
from crucial.parameters import lookup
from crucial.types import Bools, Floats, Ints

__all__ = [
    "METHODS",
    "NEEDS_NO_ORDER",
    "BoostedTaste",
    "FoundTaste",
    "ScoreParts",
    "Target",
    "Taste",
    "learn_taste",
    "rounds_for",
]


#: The methods by which one user's order is learned from the viewers.
METHODS: dict[str, str] = {
    "viewers": "vsim for a user with fewer than 50 ratings, otherwise rankboost",
    "rankboost": "RankBoost over the viewers' ratings (Freund et al. 2003, section 6.2)",
    "hybrid": "rankboost, with the score of vsim as one more feature",
    "vsim": "viewers weighted by the cosine of their ratings with the user's",
    "pearson": "viewers weighted by the correlation of their ratings with the user's",
    "pearson-constrained": "pearson, around the middle of the scale instead of means",
    "neighbour": "the viewer whose order is nearest",
    "neighbour-shared": "neighbour, where a viewer counts less who shares few films",
    "neighbours": "the mean of the 20 nearest viewers",
    "regression": "least squares on the viewers' ratings",
    "regression-normalised": "regression, every viewer scaled to mean 0 and standard deviation 1",
    "mean": "how far above their means viewers rate a film, on average",
    "popularity": "the number of viewers who rated a film",
}

#: The methods among them that learn no order: one rating is enough, to find viewers.
NEEDS_NO_ORDER = ("mean", "popularity")

_COMPARATORS: dict[str, Callable[[], ViewerRanker]] = {
    "vsim": VectorSimilarity,
    "pearson": PearsonCorrelation,
    "pearson-constrained": lambda: PearsonCorrelation("middle"),
    "neighbour": NearestNeighbours,
    "neighbour-shared": lambda: NearestNeighbours(shared=20.0),
    "neighbours": lambda: NearestNeighbours(k=20),
    "regression": Regression,
    "regression-normalised": lambda: Regression(normalise=True),
    "popularity": Popularity,
    "mean": lambda: Popularity(by="mean"),
}

#: Name of the feature that is the score of VSIM instead of a viewer's ratings.
VSIM = "vsim"

# With fewer ratings vsim orders better, with more RankBoost: figure 7 of the paper, which says 20,
# and the same figure on MovieLens (crucial.studies.films).
_FEW = 50

# Shared films at which an agreement counts half.
_SHARED = 10.0


def rounds_for(n_viewers: int) -> int:
    """Return the number of rounds of Freund et al. (2003, section 6.2.2) for so many features.

    Examples
    --------
    >>> rounds_for(1000)
    140
    """
    return 40 + n_viewers // 10


@dataclass(frozen=True, eq=False)
class Target:
    """The user to recommend to, and the viewers to learn from.

    Attributes
    ----------
    club : Opinions
        Films x viewers, without the user.
    films : int array
        Rows that the user rated.
    labels : array like films
        The user's ratings.
    viewers : array of ids
        The viewers by column.
    rated : Opinions
        ``club.take_rows(films)``.
    """

    club: Opinions
    films: Ints
    labels: Floats
    viewers: NDArray[np.generic]
    rated: Opinions

    @cached_property
    def agreement(self) -> Floats:
        """How often each viewer orders two films as the user does; see `agreements`."""
        return agreements(self.rated, self.labels)

    @cached_property
    def trust(self) -> Floats:
        """How far each viewer agrees with the user beyond chance, from 0 to 1/2.

        Less the fewer films they share. Of a viewer without a pair of the user's to agree on, a
        film that both like counts as an agreement of 3/4.
        """
        rated = self.rated
        liked = (rated.value > self.club.mean[rated.column]) & (
            self.labels[rated.row] >= self.labels.mean()
        )
        unknown = np.where(rated.sums(liked.astype(np.float64)) > 0.0, 0.75, 0.5)
        agreement = np.where(np.isnan(self.agreement), unknown, self.agreement)
        return np.asarray(np.maximum(agreement - 0.5, 0.0) * rated.count / (rated.count + _SHARED))


@dataclass(frozen=True, eq=False)
class ScoreParts:
    """The ratings for one film, and how much each adds to its score.

    Attributes
    ----------
    column : int array
        Viewers, by their columns; the column after the last is VSIM's.
    rating : array
        Their ratings; NaN where one abstains.
    adds : array
        How much more each adds than to the average film; for a `FoundTaste`, how strong an argument
        it is.
    seen_only : bool array
        Whether only the fact counts that the viewer rated the film.
    """

    column: Ints
    rating: Floats
    adds: Floats
    seen_only: Bools


@dataclass(frozen=True, eq=False)
class Taste:
    """Scores of all films of the club, and how the ratings of viewers make them up.

    Attributes
    ----------
    scores : array of shape (n_films,)
        The higher, the higher the rank.
    """

    scores: Floats

    def score_parts(self, row: int) -> ScoreParts | None:
        """Return the parts of a film's score; None if it is not a sum over viewers."""
        return None

    def related(self, row: int) -> Ints:
        """Return the user's films that a film goes with; none if that is not how it was found."""
        return np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class SimilarTaste(Taste):
    """The scores of VSIM."""

    ranker: VectorSimilarity
    club: Opinions

    def score_parts(self, row: int) -> ScoreParts | None:
        """Return the viewers who rated the film, by similarity and distance from their means."""
        entries = np.flatnonzero(self.club.row == row)
        column, rating = self.club.column[entries], self.club.value[entries]
        adds = self.ranker.added(self.club)[entries]
        return ScoreParts(column, rating, adds, np.zeros(len(column), bool))


@dataclass(frozen=True, eq=False)
class BoostedTaste(Taste):
    """The scores and the model of RankBoost.

    Attributes
    ----------
    model : AdditiveRanker
        Over the viewers that it uses.
    used : int array
        Columns of these viewers; the column after the last is VSIM's.
    table : array of shape (n_films, n_used)
        Their ratings for every film.
    """

    model: AdditiveRanker
    used: Ints
    table: Floats

    def score_parts(self, row: int) -> ScoreParts | None:
        """Return all viewers of the model."""
        parts = feature_parts(self.model, Instances(self.table))
        shapes = self.model.shapes()
        features = parts.features.tolist()
        flat = np.array([np.ptp(shapes[one].values) == 0.0 for one in features], bool)
        adds = parts.added[row] - parts.added.mean(axis=0)
        return ScoreParts(self.used[parts.features], parts.columns[row], adds, flat)


@dataclass(frozen=True, eq=False)
class FoundTaste(Taste):
    """Scores of a `Finder`, with viewers who like a film and agree with the user as arguments.

    Attributes
    ----------
    target : Target
    model : AdditiveRanker or None
        The last word, for all users.
    find_related : callable
        Returns the user's films that raise the score of an item most; see `related`.
    """

    target: Target
    model: AdditiveRanker | None
    find_related: Callable[[int], Ints]

    def related(self, row: int) -> Ints:
        """Return up to three of the user's films that raise the score of an item most."""
        return self.find_related(row)

    def score_parts(self, row: int) -> ScoreParts | None:
        """Return the viewers who rated the film.

        The strength of an argument is how far the viewer's rating is above the viewer's mean, times
        the trust in the viewer.
        """
        club = self.target.club
        entries = np.flatnonzero(club.row == row)
        column, rating = club.column[entries], club.value[entries]
        adds = self.target.trust[column] * np.maximum(rating - club.mean[column], 0.0)
        return ScoreParts(column, rating, adds, np.zeros(len(column), bool))


def learn_taste(method: str, target: Target, rounds: int | None = None) -> Taste:
    """Learn from the ratings of some films how the user would rank all of them.

    Parameters
    ----------
    method : str
        One of `METHODS`.
    target : Target
    rounds : int, optional
        Rounds of boosting; `rounds_for` the number of viewers by default.
    """
    lookup(METHODS, method, "method")
    if method == "viewers":
        method = "vsim" if len(target.films) < _FEW else "rankboost"
    club, rated, labels = target.club, target.rated, target.labels
    if method in _COMPARATORS:
        ranker = _COMPARATORS[method]().fit(rated, labels, club=club)
        if isinstance(ranker, VectorSimilarity):
            return SimilarTaste(ranker.predict(club), ranker, club)
        return Taste(ranker.predict(club))
    vsim = None
    if method == "hybrid":
        similar = VectorSimilarity().fit(rated, labels, club=club)
        vsim = similar.predict(club)
        vsim[target.films] = similar.scores_left_out(rated, labels)
    return _boosted(target, rounds, vsim)


def _boosted(target: Target, rounds: int | None, vsim: Floats | None) -> BoostedTaste:
    """Learn by RankBoost; ``vsim`` are scores of all films as one more feature."""
    club, rated = target.club, target.rated
    if vsim is not None:
        rated = rated.with_column(vsim[target.films])
    rounds = rounds_for(club.n_columns) if rounds is None else rounds
    learned = boost_opinions(rated, target.labels, rounds)
    used = np.unique([one.feature for one in learned.rankers]).astype(np.int64)
    if not len(used):  # (nobody rated what the user did: all films have the same score)
        used = np.zeros(1, np.int64)
    slot = {column: k for k, column in enumerate(used.tolist())}
    rankers = [replace(one, feature=slot[one.feature]) for one in learned.rankers]
    columns = used[used < club.n_columns]
    table = club.take_columns(columns).to_dense()
    names = [f"viewer {viewer}" for viewer in target.viewers[columns].tolist()]
    if len(columns) < len(used):
        assert vsim is not None
        table = np.column_stack((table, vsim))
        names.append(VSIM)
    training = {"estimator": "RankBoost", "preset": "rankboost.3.cum", "rounds": len(rankers),
                "rows": len(target.labels), "viewers": club.n_columns}  # fmt: skip
    model = AdditiveRanker(len(used), rankers, learned.weights, names, training)
    return BoostedTaste(model.predict(table, n_jobs=1), model, used, table)
