"""One user's taste, learned from the opinions of others: the model and what it says of films."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from crucial.apps.recommend.comparators import (
    NearestNeighbours,
    Popularity,
    Regression,
    VectorSimilarity,
)
from crucial.boosting.opinions import boost_opinions
from crucial.data.opinions import Opinions
from crucial.model.additive import AdditiveRanker
from crucial.validation import lookup

__all__ = ["METHODS", "BoostedTaste", "Taste", "learn_taste", "rounds_for"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: What a recommendation may be learned by.
METHODS: dict[str, str] = {
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


def rounds_for(n_viewers: int) -> int:
    """Rounds that Freund et al. (2003, section 6.2.2) take for so many features.

    Examples
    --------
    >>> rounds_for(1000)
    140
    """
    return 40 + n_viewers // 10


class Taste(Protocol):
    """Scores every film of the club."""

    @property
    def scores(self) -> Floats:
        """One a film; the higher, the higher the rank."""


@dataclass(frozen=True, eq=False)
class PlainTaste:
    """What a comparator says."""

    scores: Floats


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
    rated = club.take_rows(films) if rated is None else rated
    if method in _COMPARATORS:
        ranker = _COMPARATORS[method]().fit(rated, labels, club=club)
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
