"""Comparisons of two items by judges: winner, loser, ties, weights, contexts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from crucial.data.frames import frame_columns
from crucial.data.words import shown
from crucial.errors import DataError
from crucial.types import Bools, Floats, FrameLike, Ints

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
        parts = [f"{len(self)} of {len(self.items)} items", f"{int(self.tie.sum())} ties"]
        parts += [f"{len(self.judges)} judges"] if self.judge is not None else []
        parts += [f"{len(self.contexts)} contexts"] if self.context is not None else []
        return f"Comparisons({', '.join(parts)})"

    @classmethod
    def from_columns(
        cls,
        winner: Sequence[object],
        loser: Sequence[object],
        *,
        tie: Sequence[object] | None = None,
        weight: Sequence[float] | None = None,
        judge: Sequence[object] | None = None,
        context: Sequence[object] | None = None,
        items: Sequence[object] = (),
    ) -> Comparisons:
        """Return the comparisons of columns, checked.

        Parameters
        ----------
        winner, loser : sequences of names
            Anything; compared as text.
        tie : sequence of bool, optional
        weight : sequence of float, optional
            Finite, at least 0; 1 by default.
        judge, context : sequences of names, optional
            Who compared, and in which context (a prompt, a day).
        items : sequence of names, optional
            Items of the table that need not be compared at all.

        Examples
        --------
        >>> Comparisons.from_columns(["tea", "tea"], ["milk", "wine"], tie=[False, True])
        Comparisons(2 of 3 items, 1 ties)
        """
        n = len(winner)
        others = {"loser": loser, "tie": tie, "weight": weight, "judge": judge, "context": context}
        for name, column in others.items():
            if column is not None and len(column) != n:
                rule = f"{name} must have a value for each of the {n} comparisons."
                raise DataError(f"{rule} Got {len(column)}.", parameter=name)
        if n == 0:
            raise DataError("there is no comparison.")
        high, low = [str(one) for one in winner], [str(one) for one in loser]
        for row, (one, other) in enumerate(zip(high, low)):
            if one == other:
                raise DataError(f"comparison {row} (from 0) is of {shown(one)} with itself.")
            if not one or not other:
                raise DataError(f"comparison {row} (from 0) lacks the name of an item.")
        names, places = _places([*high, *low, *map(str, items)])
        weights = np.ones(n) if weight is None else np.array(weight, np.float64)
        _check_weights(weights)
        judges, judge_codes = ((), None) if judge is None else _places([*map(str, judge)])
        contexts, context_codes = ((), None) if context is None else _places([*map(str, context)])
        return cls(
            names,
            places[:n],
            places[n : 2 * n],
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
        frame: FrameLike | Mapping[str, Sequence[object]],
        *,
        winner: str = "winner",
        loser: str = "loser",
        tie: str = "tie",
        weight: str = "weight",
        judge: str = "judge",
        context: str = "context",
    ) -> Comparisons:
        """Return the comparisons in a frame or a mapping; only winner and loser are needed."""
        columns = frame_columns(frame, (winner, loser), (tie, weight, judge, context))
        return cls.from_columns(
            columns[winner],
            columns[loser],
            tie=columns.get(tie),
            weight=columns.get(weight),
            judge=columns.get(judge),
            context=columns.get(context),
        )

    def take(self, rows: Bools | Ints) -> Comparisons:
        """Return some of the comparisons, by a mask or row numbers; items and judges stay."""
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
        """Return comparisons as wins: high, low, weight, row; a tie is half a win each way."""
        rows = np.arange(len(self))
        ties = np.flatnonzero(self.tie)
        half = np.where(self.tie, 0.5, 1.0) * self.weight
        return (
            np.concatenate((self.winner, self.loser[ties])),
            np.concatenate((self.loser, self.winner[ties])),
            np.concatenate((half, half[ties])),
            np.concatenate((rows, ties)),
        )


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


def _places(texts: list[str]) -> tuple[tuple[str, ...], Ints]:
    """Return the distinct texts, sorted, and the place of each text among them."""
    names = sorted(set(texts))
    place = {name: k for k, name in enumerate(names)}
    return tuple(names), np.array([place[text] for text in texts], np.int64)
