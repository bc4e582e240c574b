"""Why an item is recommended: the viewers who speak for it, and why they are listened to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.apps.recommend.neighbours import learn_defaults
from crucial.apps.recommend.taste import Voices
from crucial.data.opinions import Opinions
from crucial.types import Floats, Ints

__all__ = ["Reason", "reasons_for"]


@dataclass(frozen=True)
class Reason:
    """One who speaks for an item.

    Attributes
    ----------
    viewer : id or None
        None: the score of VSIM (method "hybrid").
    rating : float
        What the viewer gave the item, or VSIM's score.
    adds : float
        What it adds to the score, above what it adds to the average item.
    seen_only : bool
        Whether it counts only that the viewer rated the item, whatever the rating.
    shared : int
        How many items both the viewer and the user rated.
    agreement : float
        Share of the user's pairs among them that the viewer has in the same order, ties half;
        NaN where there is no such pair.
    films : tuple
        Up to three items that the user rated highest and the viewer above his or her mean.
    """

    viewer: Any
    rating: float
    adds: float
    seen_only: bool
    shared: int
    agreement: float
    films: tuple[Any, ...]


def reasons_for(
    voices: Voices,
    club: Opinions,
    films: Ints,
    labels: Floats,
    viewers: NDArray[Any],
    top: int,
) -> tuple[Reason, ...]:
    """The strongest of those who speak for an item; ``films`` of a reason are rows of the club.

    An abstention may add to a score too, but it is no argument and is left out.
    """
    pro = np.flatnonzero((voices.adds > 0.0) & ~np.isnan(voices.said))
    reasons: list[Reason] = []
    for at in pro[np.argsort(-voices.adds[pro], kind="stable")][:top].tolist():
        column = int(voices.column[at])
        rating, adds = float(voices.said[at]), float(voices.adds[at])
        if column == club.n_columns:
            reasons.append(Reason(None, rating, adds, False, 0, float("nan"), ()))
            continue
        shared, agreement, both = _in_common(club.take_columns(np.array([column])), films, labels)
        viewer = viewers[column : column + 1].tolist()[0]
        flat = bool(voices.seen_only[at])
        reasons.append(Reason(viewer, rating, adds, flat, shared, agreement, both))
    return tuple(reasons)


def _in_common(column: Opinions, films: Ints, labels: Floats) -> tuple[int, float, tuple[int, ...]]:
    """Number of films that both rated, the agreement on them, and some that both like."""
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
    return int(both.sum()), agreement, tuple(column.row[both][best].tolist())
