"""Comparisons of two items by judges: winner, loser, ties, weights, contexts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from crucial.data.arrays import as_reals, is_missing
from crucial.data.frames import frame_columns
from crucial.data.words import number_rule, shown
from crucial.errors import DataError, DataTypeError, in_short
from crucial.types import Bools, Floats, FrameLike, Ints
from crucial.wording import counted

__all__ = ["MAX_COVARIATE", "MAX_WEIGHT", "Comparisons"]

#: The largest weight of a comparison, and of a prior. Beyond it the comparisons of weight 1 beside
#: it are lost in rounding, and the search for the strengths does not end.
MAX_WEIGHT = 1e9
#: The largest absolute covariate: sums of squares must stay finite.
MAX_COVARIATE = 1e100


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
    judge, context, category : int64 arrays or None
        Places in ``judges``, ``contexts`` and ``categories``.
    judges, contexts, categories : tuples of str
    first : bool array or None
        Whether the item in ``winner`` was shown first (at the left, as "model_a").
    covariates : float64 array of shape (n_comparisons, n_covariates) or None
        What else may have decided, seen from the item in ``winner``: its value less the other's.
    covariate_names : tuple of str
    notes : tuple of str
        How a file was understood.
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
    category: Ints | None = None
    categories: tuple[str, ...] = ()
    first: Bools | None = None
    covariates: Floats | None = None
    covariate_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.winner)

    def __repr__(self) -> str:
        parts = [
            f"{len(self)} of {counted(len(self.items), 'item')}",
            f"{int(self.tie.sum())} ties",
        ]
        parts += [counted(len(self.judges), "judge")] if self.judge is not None else []
        parts += [f"{len(self.contexts)} contexts"] if self.context is not None else []
        parts += [counted(len(self.categories), "category")] if self.category is not None else []
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
        category: Sequence[object] | None = None,
        first: Sequence[bool] | None = None,
        covariates: Mapping[str, Sequence[float]] | None = None,
        items: Sequence[object] = (),
        notes: Sequence[str] = (),
    ) -> Comparisons:
        """Return the comparisons of columns, checked.

        Parameters
        ----------
        winner, loser : sequences of names
            Anything that is not missing; compared as text.
        tie : sequence of bool, optional
        weight : sequence of float, optional
            Finite, at least 0; 1 by default.
        judge, context, category : sequences of names, optional
            Who compared, in which context (a prompt, a day), and of what kind it is; those
            without a name count as one.
        first : sequence of bool, optional
            Whether the item in ``winner`` was shown first.
        covariates : mapping from name to sequence of float, optional
            Differences that may have decided, such as the winner's length less the loser's.
        items : sequence of names, optional
            Items of the table that need not be compared at all.
        notes : sequence of str, optional
            How the columns were understood.

        Examples
        --------
        >>> Comparisons.from_columns(["tea", "tea"], ["milk", "wine"], tie=[False, True])
        Comparisons(2 of 3 items, 1 ties)
        """
        for name, names in {"winner": winner, "loser": loser}.items():
            if isinstance(names, str) or not hasattr(names, "__len__"):
                raise DataTypeError(
                    f"{name} must be a sequence of names. Got {type(names).__name__}.",
                    parameter=name,
                )
        n = len(winner)
        others = {"loser": loser, "tie": tie, "weight": weight, "judge": judge, "context": context}
        others |= {"category": category, "first": first, **(covariates or {})}
        for name, column in others.items():
            if column is not None and len(column) != n:
                rule = f"{name} must have a value for each of the {n} comparisons."
                raise DataError(f"{rule} Got {len(column)}.", parameter=name)
        if n == 0:
            raise DataError("there is no comparison.")
        known, (high, low, _) = places_of(winner, loser, items)
        return cls.from_places(
            known, high, low, tie=tie, weight=weight, judge=judge, context=context,
            category=category, first=first, covariates=covariates, notes=notes,
        )  # fmt: skip

    @classmethod
    def from_places(
        cls,
        items: tuple[str, ...],
        winner: Ints,
        loser: Ints,
        *,
        tie: Sequence[object] | Bools | None = None,
        weight: Sequence[float] | None = None,
        judge: Sequence[object] | None = None,
        context: Sequence[object] | None = None,
        category: Sequence[object] | None = None,
        first: Sequence[bool] | Bools | None = None,
        covariates: Mapping[str, Sequence[float] | Floats] | None = None,
        notes: Sequence[str] = (),
    ) -> Comparisons:
        """Do the same for winners and losers that are places in sorted names of items."""
        _check_items(items, winner, loser)
        n = len(winner)
        weights = np.ones(n) if weight is None else as_reals(weight, "weight").copy()
        _check_weights(weights)
        judges, judge_codes = _optional(judge)
        contexts, context_codes = _optional(context)
        categories, category_codes = _optional(category)
        return cls(
            items,
            winner,
            loser,
            np.zeros(n, bool) if tie is None else _flags(tie, "tie"),
            weights,
            judge_codes,
            judges,
            context_codes,
            contexts,
            category_codes,
            categories,
            None if first is None else _flags(first, "first"),
            _covariates(covariates),
            tuple(covariates or ()),
            tuple(notes),
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
        category: str | None = None,
        covariates: Sequence[str] = (),
        left: str | None = None,
        right: str | None = None,
    ) -> Comparisons:
        """Return the comparisons in a frame or a mapping.

        Needed are winner and loser, or two columns of items and a winner that is one of them or
        names its side (``model_a``, ``model_b``, ``winner``). Covariates are of the winner less
        the loser, or of the first side less the second.
        """
        from crucial.data.sides import FrameColumns, comparisons_of_table

        return comparisons_of_table(
            FrameColumns(frame_columns(frame)),
            {"winner": winner, "loser": loser, "tie": tie, "weight": weight, "judge": judge,
             "context": context},
            category=category, covariates=covariates, left=left, right=right,
        )  # fmt: skip

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
            category=None if self.category is None else self.category[rows],
            first=None if self.first is None else self.first[rows],
            covariates=None if self.covariates is None else self.covariates[rows],
        )

    def compact(self) -> Comparisons:
        """Return the same without items and judges that do not occur."""
        used, ends = np.unique(np.concatenate((self.winner, self.loser)), return_inverse=True)
        judges, judge = self.judges, self.judge
        if judge is not None:
            active, judge = np.unique(judge, return_inverse=True)
            judges = tuple(self.judges[k] for k in active.tolist())
        return replace(
            self,
            items=tuple(self.items[k] for k in used.tolist()),
            winner=ends[: len(self)],
            loser=ends[len(self) :],
            judge=judge,
            judges=judges,
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
    bad = ~((weights >= 0) & (weights <= MAX_WEIGHT))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise DataError(
            f"weights must be {number_rule(0.0, MAX_WEIGHT)}. Got {weights[row]} in comparison "
            f"{row} (from 0)."
        )
    if not weights.any():
        raise DataError("the weights of the comparisons must add up to a number above 0.")


def _check_items(names: tuple[str, ...], high: Ints, low: Ints) -> None:
    """Refuse comparisons of an item with itself, or without a name."""
    wrong = high == low
    if names[0] == "":
        wrong |= (high == 0) | (low == 0)
    if not wrong.any():
        return
    row = int(np.flatnonzero(wrong)[0])
    if high[row] == low[row] and names[high[row]]:
        raise DataError(f"comparison {row} (from 0) is of {shown(names[high[row]])} with itself.")
    raise DataError(f"comparison {row} (from 0) lacks the name of an item.")


def _flags(values: Sequence[object] | Bools, name: str) -> Bools:
    """Return a column of yes and no; anything but booleans, 0 and 1 is refused."""
    if isinstance(values, np.ndarray) and values.dtype == bool:
        return values.copy()
    cells = list(values)
    for row, one in enumerate(cells):
        # (as a number: the text "no" is true, and so is NaN)
        if is_missing(one) or isinstance(one, str) or not np.isscalar(one) or one not in (0, 1):
            raise DataError(
                f"{name} must be True or False. Got {in_short(repr(one))} in comparison {row} "
                "(from 0).",
                parameter=name,
            )
    return np.array(cells, bool)


def _covariates(covariates: Mapping[str, Sequence[float] | Floats] | None) -> Floats | None:
    """Return the covariates as columns; all must be finite, and small enough to be squared."""
    if not covariates:
        return None
    columns = []
    for name, values in covariates.items():
        column = as_reals(values, f"the covariate {shown(name)}").copy()
        bad = ~(np.abs(column) <= MAX_COVARIATE)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            rule = number_rule(-MAX_COVARIATE, MAX_COVARIATE)
            raise DataError(
                f"the covariate {shown(name)} must be {rule}. "
                f"Got {column[row]} in comparison {row} (from 0).",
                parameter=name,
            )
        columns.append(column)
    return np.column_stack(columns)


def _optional(texts: Sequence[object] | None) -> tuple[tuple[str, ...], Ints | None]:
    if texts is None:
        return (), None
    names, (codes,) = places_of(texts)
    return names, codes


def places_of(*columns: Sequence[object]) -> tuple[tuple[str, ...], list[Ints]]:
    """Return the distinct texts of columns, sorted, and the place of every cell among them.

    Examples
    --------
    >>> places_of(["b", "a"], ["c", "b"])
    (('a', 'b', 'c'), [array([1, 0]), array([2, 1])])
    """
    texts = [_texts(column) for column in columns]
    names = sorted(set().union(*texts))
    place = {name: k for k, name in enumerate(names)}
    found = [np.fromiter(map(place.__getitem__, one), np.int64, len(one)) for one in texts]
    return tuple(names), found


def _texts(column: Sequence[object]) -> list[str]:
    """Return names as text; what is missing has an empty one."""
    if isinstance(column, list) and set(map(type, column)) <= {str}:
        return column
    if (shape := getattr(column, "shape", None)) is not None and len(shape) != 1:
        raise DataError(f"names must be a list. Got a table of shape {shape}.")
    return ["" if is_missing(one) else str(one) for one in column]
