"""Why an item is recommended: the viewers whose ratings raise its score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crucial.apps.recommend.neighbours import learn_defaults
from crucial.apps.recommend.opinions import Opinions
from crucial.apps.recommend.taste import ScoreParts, Target
from crucial.types import Floats, Id, Ints

__all__ = ["Reason", "reasons_for"]


@dataclass(frozen=True)
class Reason:
    """A viewer whose rating raises the score of an item.

    Attributes
    ----------
    viewer : id or None
        None for the score of VSIM (method "hybrid").
    rating : float
        The viewer's rating of the item, or VSIM's score.
    adds : float
        How much more it adds to the score than to that of the average item.
    seen_only : bool
        Whether only the fact counts that the viewer rated the item, whatever the rating.
    shared : int
        Number of items that both the viewer and the user rated.
    agreement : float
        Share of the user's pairs among these that the viewer has in the same order, ties half;
        NaN where there is no such pair.
    films : tuple
        Up to three items that the user rated highest and the viewer above the viewer's mean.
    """

    viewer: Id | None
    rating: float
    adds: float
    seen_only: bool
    shared: int
    agreement: float
    films: tuple[Id, ...]


def reasons_for(
    found: ScoreParts, target: Target, items: NDArray[np.generic], top: int
) -> tuple[Reason, ...]:
    """Return the largest contributions to a score; ``items`` are the ids by row of the club.

    An abstention may raise a score too, but it is no argument and is left out.
    """
    raising = np.flatnonzero((found.adds > 0.0) & ~np.isnan(found.rating))
    reasons: list[Reason] = []
    for at in raising[np.argsort(-found.adds[raising], kind="stable")][:top].tolist():
        column = int(found.column[at])
        rating, adds = float(found.rating[at]), float(found.adds[at])
        if column == target.club.n_columns:
            reasons.append(Reason(None, rating, adds, False, 0, float("nan"), ()))
            continue
        theirs = target.club.take_columns(np.array([column]))
        shared, agreement, liked = _in_common(theirs, target.films, target.labels)
        viewer = target.viewers[column : column + 1].tolist()[0]
        seen_only = bool(found.seen_only[at])
        films = tuple(items[liked].tolist())
        reasons.append(Reason(viewer, rating, adds, seen_only, shared, agreement, films))
    return tuple(reasons)


def _in_common(column: Opinions, films: Ints, labels: Floats) -> tuple[int, float, Ints]:
    """Return the number of films that both rated, the agreement on them, and some both like."""
    place = np.full(column.n_rows, -1, np.int64)
    place[films] = np.arange(len(films))
    both = place[column.row] >= 0
    own, theirs = labels[place[column.row[both]]], column.value[both]
    agreement = float("nan")
    if len(own) > 1 and (own != own[0]).any():
        alone = Opinions.from_dense(theirs[:, None])
        agreement = 1.0 - float(learn_defaults(alone, own, alone).loss[0])
    liked = np.flatnonzero((theirs > column.mean[0]) & (own > labels.mean()))
    best = liked[np.argsort(-own[liked], kind="stable")][:3]
    return int(both.sum()), agreement, column.row[both][best]
