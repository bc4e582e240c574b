"""Comparisons of two items: who won, whether it was a tie, who judged it, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crucial.data.frames import frame_columns
from crucial.data.words import shown
from crucial.errors import DataError
from crucial.types import Bools, Floats, Ints

__all__ = ["Comparisons"]


@dataclass(frozen=True, eq=False, repr=False)
class Comparisons:
    """A table of comparisons, items and judges by number.

    Make one with `from_columns`, `from_frame` or `read_comparisons`.

    Attributes
    ----------
    items : tuple of str
        Names of the items, sorted.
    winner, loser : int64 arrays
        Places in ``items``; in a tie the order has no meaning.
    tie : bool array
    weight : float64 array
    judge, context : int64 arrays or None
        Places in ``judges`` and ``contexts``.
    judges, contexts : tuples of str
    """

    items: tuple[str, ...]
    winner: Ints
    loser: Ints
    tie: Bools
    weight: Floats
    judge: Ints | None = None
    judges: tuple[str, ...] = ()
    context: Ints | None = None
    contexts: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.winner)

    def __repr__(self) -> str:
        counts = [f"{len(self)} of {len(self.items)} items", f"{int(self.tie.sum())} ties"]
        counts += [f"{len(self.judges)} judges"] if self.judge is not None else []
        counts += [f"{len(self.contexts)} contexts"] if self.context is not None else []
        return f"Comparisons({', '.join(counts)})"

    @classmethod
    def from_columns(
        cls,
        winner: Sequence[Any],
        loser: Sequence[Any],
        *,
        tie: Sequence[Any] | None = None,
        weight: Sequence[float] | None = None,
        judge: Sequence[Any] | None = None,
        context: Sequence[Any] | None = None,
        items: Sequence[Any] = (),
    ) -> Comparisons:
        """Put columns together.

        Parameters
        ----------
        winner, loser : sequences of names
            Anything; compared as text.
        tie : sequence of bool, optional
        weight : sequence of float, optional
            Finite, at least 0; 1 by default.
        judge, context : sequences of names, optional
            Who compared, and on what occasion (a prompt, a day).
        items : sequence of names, optional
            Items that belong to the table even if nobody compared them.

        Examples
        --------
        >>> Comparisons.from_columns(["tea", "tea"], ["milk", "wine"], tie=[False, True])
        Comparisons(2 of 3 items, 1 ties)
        """
        n = len(winner)
        for name, column in (("loser", loser), ("tie", tie), ("weight", weight)):
            _check_length(name, column, n)
        for name, column in (("judge", judge), ("context", context)):
            _check_length(name, column, n)
        if n == 0:
            raise DataError("there is no comparison.")
        high, low = [str(one) for one in winner], [str(one) for one in loser]
        for row, (one, other) in enumerate(zip(high, low)):
            if one == other:
                raise DataError(f"comparison {row} (from 0) is of {shown(one)} with itself.")
            if not one or not other:
                raise DataError(f"comparison {row} (from 0) lacks the name of an item.")
        names = sorted({*high, *low, *(str(one) for one in items)})
        place = {name: k for k, name in enumerate(names)}
        weights = np.ones(n) if weight is None else np.array(weight, np.float64)
        _check_weights(weights)
        judges, judge_codes = _codes(judge)
        contexts, context_codes = _codes(context)
        return cls(
            tuple(names),
            np.array([place[one] for one in high], np.int64),
            np.array([place[one] for one in low], np.int64),
            np.zeros(n, bool) if tie is None else np.array(tie, bool),
            weights,
            judge_codes,
            judges,
            context_codes,
            contexts,
        )

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        winner: str = "winner",
        loser: str = "loser",
        tie: str = "tie",
        weight: str = "weight",
        judge: str = "judge",
        context: str = "context",
    ) -> Comparisons:
        """Take the columns of a frame or of a mapping; only winner and loser must be there."""
        columns = frame_columns(frame, (winner, loser), (tie, weight, judge, context))
        return cls.from_columns(
            columns[winner],
            columns[loser],
            tie=columns.get(tie),
            weight=columns.get(weight),
            judge=columns.get(judge),
            context=columns.get(context),
        )

    def take(self, rows: Any) -> Comparisons:
        """Some of the comparisons, of the same items and judges; a mask or row numbers."""
        return replace(
            self,
            winner=self.winner[rows],
            loser=self.loser[rows],
            tie=self.tie[rows],
            weight=self.weight[rows],
            judge=None if self.judge is None else self.judge[rows],
            context=None if self.context is None else self.context[rows],
        )

    def directed(self) -> tuple[Ints, Ints, Floats, Ints]:
        """Every comparison as wins: high, low, weight, row; a tie is half a win each way."""
        rows = np.arange(len(self))
        ties = np.flatnonzero(self.tie)
        half = np.where(self.tie, 0.5, 1.0) * self.weight
        return (
            np.concatenate((self.winner, self.loser[ties])),
            np.concatenate((self.loser, self.winner[ties])),
            np.concatenate((half, half[ties])),
            np.concatenate((rows, ties)),
        )


def _check_length(name: str, column: Sequence[Any] | None, n: int) -> None:
    if column is not None and len(column) != n:
        raise DataError(f"{name} must have a value for each of the {n} comparisons. "
                        f"Got {len(column)}.")  # fmt: skip


def _check_weights(weights: Floats) -> None:
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise DataError(
            f"weights must be finite and at least 0. Got {weights[row]} in comparison {row} "
            "(from 0)."
        )
    if not 0 < weights.sum() < np.inf:
        raise DataError("the weights of the comparisons must add up to a finite number above 0.")


def _codes(column: Sequence[Any] | None) -> tuple[tuple[str, ...], Ints | None]:
    if column is None:
        return (), None
    texts = [str(one) for one in column]
    names = sorted(set(texts))
    place = {name: k for k, name in enumerate(names)}
    return tuple(names), np.array([place[one] for one in texts], np.int64)
