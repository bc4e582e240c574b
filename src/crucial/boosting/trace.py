"""The trace of a fit: one entry per round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypedDict

import numpy as np

from crucial.kernels.elementary import exp
from crucial.model.weak import WeakRankerLike
from crucial.notebook import HtmlResult, HtmlTable
from crucial.types import Floats
from crucial.wording import counted

__all__ = ["BoundTerms", "Round", "Trace"]


@dataclass(frozen=True)
class Round:
    """One round.

    Attributes
    ----------
    ranker : weak ranker chosen
    alpha : its weight, learning rate included
    r : weighted mean of ``h(hi) - h(lo)`` before the round
    z : factor on the loss
    log_loss : logarithm of E1 after the round (of E2 for RankBoost+)
    r1, r2 : risks on the training pairs, where recorded
    measures : values on the eval set after the round, by name
    extras : further values of the algorithm's parts, by name
    seconds : time the round took
    """

    ranker: WeakRankerLike
    alpha: float
    r: float
    z: float
    log_loss: float
    r1: float | None = None
    r2: float | None = None
    measures: dict[str, float] = field(default_factory=dict)
    extras: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def loss(self) -> float:
        """E1 (E2 for RankBoost+) after the round: the product of all z so far."""
        return exp(self.log_loss)


class BoundTerms(TypedDict):
    """The terms of bounds on the training error.

    Attributes
    ----------
    rounds : int
    log_loss : float
        Logarithm of the product of all z.
    squares : float or None
        Sum of r^2 (of delta^2 where the trace has a ``delta``).
    """

    rounds: int
    log_loss: float
    squares: float | None


class Trace(HtmlResult):
    """The rounds, as a sequence and as columns.

    Examples
    --------
    ``trace[0].alpha``, ``len(trace)``, ``trace.column("z")``, ``trace.to_dict()``.
    """

    _html_bars: ClassVar[Mapping[str, float | None]] = {"loss": None}
    _html_curve: ClassVar[bool] = True

    def __init__(self) -> None:
        self._rounds: list[Round] = []
        self.stopped = ""

    def add(self, entry: Round) -> None:
        """Append a round."""
        self._rounds.append(entry)

    def __len__(self) -> int:
        return len(self._rounds)

    def __iter__(self) -> Iterator[Round]:
        return iter(self._rounds)

    def __getitem__(self, number: int) -> Round:
        return self._rounds[number]

    def __repr__(self) -> str:
        if not self._rounds:
            return "Trace(no rounds)"
        return f"Trace({counted(len(self), 'round')}, loss {self._rounds[-1].loss:.6g})"

    def column(self, name: str) -> Floats:
        """Return one number per round: a field of `Round`, ``loss``, a measure or an extra."""
        return np.array([_value(e, name) for e in self._rounds])

    def bound_terms(self, n_rounds: int | None = None) -> BoundTerms:
        """Return the terms of bounds on the training error, after the first rounds.

        "squares" is None where a round has ``z > sqrt(1 - r^2)``, so that r does not bound z.
        """
        rounds = self._rounds if n_rounds is None else self._rounds[:n_rounds]
        edges = [one.extras.get("delta", one.r) for one in rounds]
        holds = all(one.z * one.z <= 1.0 - r * r + 1e-9 for one, r in zip(rounds, edges))
        return {
            "rounds": len(rounds),
            "log_loss": rounds[-1].log_loss if rounds else 0.0,
            "squares": sum(r * r for r in edges) if holds else None,
        }

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns, ready for a data frame."""
        names = ["alpha", "r", "z", "loss", "log_loss", "seconds"]
        if self._rounds and self._rounds[0].r1 is not None:
            names += ["r1", "r2"]
        if self._rounds:
            names += [*self._rounds[0].extras, *self._rounds[0].measures]
        table: dict[str, list[Any]] = {"round": list(range(1, len(self) + 1))}
        table["ranker"] = [e.ranker for e in self._rounds]
        table["feature"] = [getattr(e.ranker, "feature", None) for e in self._rounds]
        return table | {name: self.column(name).tolist() for name in names}

    def _html_tables(self) -> list[HtmlTable]:
        columns = {name: cells for name, cells in self.to_dict().items() if name != "ranker"}
        return [HtmlTable(columns, self._html_bars, self._html_curve)]

    def _html_notes(self) -> list[str]:
        return [f"ended: {self.stopped}"] if self.stopped else []


def _value(entry: Round, name: str) -> float:
    for named in (entry.measures, entry.extras):
        if name in named:
            return named[name]
    value: float = getattr(entry, name)
    return value
