"""Measures written by the user."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from crucial.errors import ParameterError, in_short
from crucial.measures.base import BoundMeasure, Measure
from crucial.measures.judged import JudgedLists, Ranking
from crucial.types import Floats

__all__ = ["CustomMeasure"]


def _wants_qid(function: Callable[..., Any]) -> bool:
    try:
        return "qid" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # (some compiled functions have no signature)
        return False


@dataclass(frozen=True)
class CustomMeasure(Measure):
    """A function of the labels and scores of one query.

    Attributes
    ----------
    function : callable
        ``function(y, scores)``, or ``function(y, scores, qid)`` if it has a parameter of
        that name, returns a number; NaN or None where the query has no value. It treats
        ties as it likes. Of a run, judged documents that were not retrieved have the score
        -inf.
    direction : bool
        Whether higher is better.
    text : str
        One line of description.

    Examples
    --------
    >>> from crucial.measures.names import get_measure
    >>> def best_label_first(y, scores):
    ...     return float(y[scores.argmax()] == y.max())
    >>> get_measure(best_label_first)([0, 1, 2, 0], [1.0, 2.0, 2.0, 3.0], ["a", "a", "b", "b"])
    0.5
    """

    function: Callable[..., Any]
    direction: bool = True
    text: str = ""

    @property
    def meaning(self) -> str:
        """The description, or the name of the function."""
        return self.text or f"user's function {self.name}"

    @property
    def higher_is_better(self) -> bool:
        """The given direction."""
        return self.direction

    def _number(self, value: Any) -> float:
        """Return what the function returned as a number."""
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            raise ParameterError(
                f"the measure {self.name} must return a number. Got {in_short(repr(value))}."
            ) from None

    def bind(self, judged: JudgedLists) -> BoundMeasure:
        """Return a measure that calls the function query by query."""
        groups, with_id = judged.groups, _wants_qid(self.function)

        def values(ranking: Ranking) -> Floats:
            scores = ranking.scores
            if judged.retrieved is not None:
                scores = np.where(judged.retrieved, scores, -np.inf)
            out = np.full(judged.n_queries, np.nan)
            for g, (a, b) in enumerate(zip(groups.starts[:-1], groups.starts[1:], strict=True)):
                rows = groups.order[a:b]
                more = {"qid": groups.ids[g]} if with_id else {}
                value = self.function(judged.y[rows], scores[rows], **more)
                out[g] = np.nan if value is None else self._number(value)
            return out

        return BoundMeasure(values)
