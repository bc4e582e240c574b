"""Recommended items, and the reasons for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np

from crucial.apps.recommend.reasons import Reason, reasons_by_item
from crucial.apps.recommend.taste import BoostedTaste, FoundTaste, Target, Taste
from crucial.errors import DataError, NotRankedError
from crucial.model.additive import AdditiveRanker
from crucial.notebook import HtmlResult, HtmlTable
from crucial.parameters import at_least, check, instance_of
from crucial.types import Id, Ids

__all__ = ["Learned", "Pick", "Recommendations"]

#: Returns what was learned of a user, and from whom; computed only where somebody asks.
Learned: TypeAlias = Callable[[], tuple[Taste, Target]]


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
        Number of users who rated it; with methods that learn from some viewers, of these.
    """

    position: int
    item: Id
    title: str
    score: float
    raters: int


@dataclass(frozen=True, eq=False)
class Recommendations(HtmlResult):
    """The items for one user, best first.

    Attributes
    ----------
    user : id or None
        None for a new user.
    picks : tuple of Pick
    problem : str or None
        Why there are no picks.
    items : array of ids
        All items, by the rows of `taste`.
    """

    user: Id | None
    picks: tuple[Pick, ...]
    problem: str | None = None
    items: Ids | None = None
    _learned: Learned | None = None
    _reasons: dict[int, list[tuple[Reason, ...]]] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        width = max((len(one.title) for one in self.picks), default=0)
        lines = [f"{one.position:4}  {one.title:{width}}  {one.score:.4g}" for one in self.picks]
        return "\n".join(lines) if lines else self.problem or "nothing to recommend"

    @property
    def taste(self) -> Taste:
        """The learned scores of all items."""
        return self._taste_and_target[0]

    @cached_property
    def _taste_and_target(self) -> tuple[Taste, Target]:
        if self._learned is None:
            raise NotRankedError(
                "recommendations for all users have no reasons; recommend to one user."
            )
        return self._learned()

    @property
    def model(self) -> AdditiveRanker:
        """The user's model of RankBoost, or with the method "auto" the model of all users."""
        learned = self.taste
        if isinstance(learned, BoostedTaste):
            return learned.model
        if isinstance(learned, FoundTaste) and learned.model is not None:
            return learned.model
        raise NotRankedError(
            "only RankBoost has a model; use method='auto', 'rankboost' or 'hybrid'."
        )

    def related(self, pick: Pick) -> tuple[Id, ...]:
        """Return up to three items of the user that speak most for a recommended one.

        Those from which EASE or item neighbours found it; none for other methods.
        """
        assert self.items is not None
        return tuple(self.items[self.taste.related(self._row(pick))].tolist())

    def _row(self, pick: Pick) -> int:
        check("Recommendations", "pick", pick, instance_of(Pick, remedy="Take one of its picks."))
        if pick not in self.picks:
            raise DataError(f"item {str(pick.item)!r} is not one of the recommended items.")
        return int(np.flatnonzero(self.items == pick.item)[0])

    def why(self, pick: Pick, top: int = 3) -> tuple[Reason, ...]:
        """Return viewers who liked a recommended item and agree with the user.

        Viewers who are a reason for an item further up come last.

        Parameters
        ----------
        pick : Pick
            One of ``picks``.
        top : int
            Largest number of reasons.
        """
        check("why", "top", top, at_least(1))
        learned, target = self._taste_and_target
        assert self.items is not None
        self._row(pick)
        if top not in self._reasons:
            rows = [self._row(one) for one in self.picks]
            parts = [one for one in map(learned.score_parts, rows) if one is not None]
            if len(parts) < len(rows):
                raise NotRankedError(
                    "only the methods 'auto', 'ease', 'items', 'viewers', 'rankboost', 'hybrid' "
                    "and 'vsim' give reasons."
                )
            self._reasons[top] = reasons_by_item(parts, target, self.items, top)
        return self._reasons[top][self.picks.index(pick)]

    def _html_title(self) -> str:
        return "Recommendations" if self.user is None else f"Recommendations for {self.user}"

    def _html_tables(self) -> list[HtmlTable]:
        columns: dict[str, Sequence[object]] = {
            "position": [one.position for one in self.picks],
            "title": [one.title for one in self.picks],
            "score": [one.score for one in self.picks],
            "raters": [one.raters for one in self.picks],
        }
        return [HtmlTable(columns, {"score": None})] if self.picks else []

    def _html_notes(self) -> list[str]:
        return [] if self.picks else [self.problem or "nothing to recommend"]
