"""Why an item is recommended: viewers who liked it and agree with the user."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crucial.apps.recommend.taste import ScoreParts, Target
from crucial.notebook import HtmlResult, HtmlTable
from crucial.types import Floats, Id, Ints

__all__ = ["Reason", "listed", "reasons_by_item"]

# Over fewer films, nothing is said about how often somebody agrees.
_FEWEST_SHARED = 5

# Agreement from which on each word is used; chance is 1/2.
_WORDS = ((0.85, "almost always agrees with you"), (0.7, "mostly agrees with you"),
          (0.0, "agrees with you more often than not"))  # fmt: skip


@dataclass(frozen=True)
class Reason(HtmlResult):
    """A viewer who liked an item and agrees with the user.

    ``str`` of it is a sentence, with the ids of films; `words` takes their titles.

    Attributes
    ----------
    viewer : id or None
        None for the score of VSIM (method "hybrid").
    rating : float
        The viewer's rating of the item, or VSIM's score.
    loved : bool
        Whether the viewer rated nothing higher.
    adds : float
        How much more it adds to the score than to that of the average item; for the methods that
        find items ("auto", "ease", "items") how strong an argument it is.
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
    loved: bool
    adds: float
    seen_only: bool
    shared: int
    agreement: float
    films: tuple[Id, ...]

    def __str__(self) -> str:
        return self.words()

    def words(self, title: Callable[[Id], str] = str) -> str:
        """Return the reason as a sentence, without numbers.

        Examples
        --------
        >>> str(Reason("ann", 5.0, True, 0.8, False, 12, 0.9, ("heat", "alien")))
        'ann loved it, almost always agrees with you and also likes heat and alien'
        """
        if self.viewer is None:
            return "viewers like you rate it highly"
        # (a number alone is no name)
        name = f"viewer {self.viewer}" if str(self.viewer).isdigit() else str(self.viewer)
        parts = [f"{name} {'loved' if self.loved else 'liked'} it"]
        if self.shared >= _FEWEST_SHARED and not math.isnan(self.agreement):
            parts.append(next(word for least, word in _WORDS if self.agreement >= least))
        if self.films:
            parts.append(f"also likes {listed([title(film) for film in self.films])}")
        return listed(parts)

    def _html_title(self) -> str:
        return str(self)

    def _html_tables(self) -> list[HtmlTable]:
        return []


def listed(parts: Sequence[str]) -> str:
    """Join by commas, and the last by "and"."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def reasons_by_item(
    parts: Sequence[ScoreParts], target: Target, items: NDArray[np.generic], top: int
) -> list[tuple[Reason, ...]]:
    """Return the reasons for each of a list of items.

    They are viewers who rated the item above their own mean, whose rating raises its score, and
    who agree with the user more often than not (see `Target.trust`); the largest contributions
    first. Viewers who are a reason for an earlier item come last, so that reasons differ.

    Parameters
    ----------
    parts : sequence of ScoreParts
        Of the items of the list, in its order.
    target : Target
    items : array of ids
        By row of the club.
    top : int
        Largest number of reasons per item.
    """
    used: set[int] = set()
    found = []
    for one in parts:
        chosen = _arguments(one, target, used)[:top]
        used.update(one.column[chosen].tolist())
        found.append(tuple(_reason(one, at, target, items) for at in chosen.tolist()))
    return found


def _arguments(parts: ScoreParts, target: Target, used: set[int]) -> Ints:
    """Return the places in the parts that argue for the item, best first."""
    of_vsim = parts.column == target.club.n_columns
    viewer = np.where(of_vsim, 0, parts.column)
    with np.errstate(invalid="ignore"):  # (an abstention is not above the mean)
        liked = (parts.rating > target.club.mean[viewer]) & (target.trust[viewer] > 0.0)
    argues = np.flatnonzero((parts.adds > 0.0) & ~np.isnan(parts.rating) & (liked | of_vsim))
    again = np.array([column in used for column in parts.column[argues].tolist()], bool)
    return argues[np.lexsort((-parts.adds[argues], again))]


def _reason(parts: ScoreParts, at: int, target: Target, items: NDArray[np.generic]) -> Reason:
    column = int(parts.column[at])
    rating, adds = float(parts.rating[at]), float(parts.adds[at])
    if column == target.club.n_columns:
        return Reason(None, rating, False, adds, False, 0, float("nan"), ())
    shared, liked = _in_common(target, column)
    highest = target.club.of_column(column)[1].max()
    return Reason(
        target.viewers[column : column + 1].tolist()[0],
        rating,
        bool(rating == highest),
        adds,
        bool(parts.seen_only[at]),
        shared,
        float(target.agreement[column]),
        tuple(items[liked].tolist()),
    )


def _in_common(target: Target, column: int) -> tuple[int, Ints]:
    """Return the number of films that the viewer and the user rated, and some both like."""
    rows, theirs = target.rated.of_column(column)
    own: Floats = target.labels[rows]
    mean = target.club.mean[column]
    liked = np.flatnonzero((theirs > mean) & (own >= target.labels.mean()))
    best = liked[np.lexsort((-theirs[liked], -own[liked]))][:3]
    return len(rows), target.films[rows[best]]
