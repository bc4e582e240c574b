"""Comparisons of two items by judges, explicit pairs, and rankings by many voters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from crucial.data.arrays import as_array, as_reals, frame_columns, is_missing
from crucial.data.words import CellTable, number_rule, shown
from crucial.errors import Argument, DataError, DataTypeError, Message, in_short
from crucial.parameters import check, one_of, with_fields
from crucial.types import Bools, Floats, FrameLike, Ids, Ints, VectorLike
from crucial.wording import counted

# --- Comparisons of two items by judges: winner, loser, ties, weights, contexts


#: The largest weight of a comparison, and of a prior. Beyond it the comparisons of weight 1 beside
#: it are lost in rounding, and the search for the strengths does not end.
MAX_WEIGHT = 1e9
#: The largest absolute covariate: sums of squares must stay finite.
MAX_COVARIATE = 1e100
#: Fields of `Comparisons` that are places in names, and the fields of these names.
_NAMED = {"judge": "judges", "context": "contexts", "category": "categories"}
#: Fields of `Comparisons` with one value per comparison.
_BY_COMPARISON = (
    "winner", "loser", "tie", "weight", "judge", "context", "category", "first", "covariates",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ComparisonColumns:
    """The columns of a table of comparisons.

    Attributes
    ----------
    winner, loser, tie, weight, judge, context : str
        Names of the columns. ``tie`` contains 1, true, yes or tie; or 0, false, no or nothing.
    category : str or sequence of str, optional
        Column of the kinds of comparisons, for `leaderboards`, or several columns.
    covariates : sequence of str
        Columns of numbers that may have decided: of the first side less the second, or of the
        winner less the loser. ``"length_a-length_b"`` is the difference of two columns, and
        ``"length=length_a-length_b"`` gives it a name.
    left, right : str, optional
        Columns of the items of both sides, if their names do not say so.
    """

    winner: str = "winner"
    loser: str = "loser"
    tie: str = "tie"
    weight: str = "weight"
    judge: str = "judge"
    context: str = "context"
    category: str | Sequence[str] | None = None
    covariates: Sequence[str] = ()
    left: str | None = None
    right: str | None = None


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
        Places in ``judges``, ``contexts`` and ``categories``. Categories of several columns are a
        table with one column each.
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
        first: Sequence[bool] | Bools | None = None,
        covariates: Mapping[str, Sequence[float] | Floats] | None = None,
        notes: Sequence[str] = (),
        **names: Sequence[object] | Mapping[str, Sequence[object]] | None,
    ) -> Comparisons:
        """Return comparisons from the places of winners and losers in the sorted names of items.

        ``names`` are those of judge, context and category; a mapping has several columns of
        categories by their names.
        """
        _check_items(items, winner, loser)
        n = len(winner)
        weights = np.ones(n) if weight is None else as_reals(weight, "weight").copy()
        _check_weights(weights)
        known: dict[str, Any] = {}
        for role, plural in _NAMED.items():
            known[plural], known[role] = _places_of_names(names.get(role))
        return cls(
            items,
            winner,
            loser,
            np.zeros(n, bool) if tie is None else _flags(tie, "tie"),
            weights,
            first=None if first is None else _flags(first, "first"),
            covariates=_covariates(covariates),
            covariate_names=tuple(covariates or ()),
            notes=tuple(notes),
            **known,
        )

    @classmethod
    @with_fields(ComparisonColumns)
    def from_frame(
        cls, frame: FrameLike | Mapping[str, Sequence[object]], **columns: Any
    ) -> Comparisons:
        """Return the comparisons in a frame or a mapping.

        Needed are winner and loser, or two columns of items and a winner that is one of them or
        names its side (``model_a``, ``model_b``, ``winner``). Covariates are of the winner less
        the loser, or of the first side less the second; ``"a-b"`` is the difference of two
        columns, ``"name=a-b"`` gives it a name.
        """

        table = CellTable.from_columns(frame_columns(frame))
        return comparisons_of_table(table, ComparisonColumns(**columns))

    def take(self, rows: Bools | Ints) -> Comparisons:
        """Return some of the comparisons, by a mask or row numbers; items and judges stay."""
        columns = {name: getattr(self, name) for name in _BY_COMPARISON}
        return replace(self, **{n: own[rows] for n, own in columns.items() if own is not None})

    def compact(self) -> Comparisons:
        """Return the comparisons without items and judges that do not occur."""
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

    def wins(self) -> tuple[Ints, Ints, Floats]:
        """Return comparisons as wins: high, low and weight; a tie is half a win each way."""
        return self.directed()[:3]

    def above(self) -> Floats:
        """Return a matrix of the weight with which item i won against item j."""
        high, low, weight = self.wins()
        matrix = np.zeros((len(self.items), len(self.items)))
        np.add.at(matrix, (high, low), weight)
        return matrix


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


def _places_of_names(
    texts: Sequence[object] | Mapping[str, Sequence[object]] | None,
) -> tuple[tuple[str, ...], Ints | None]:
    """Return the distinct names and their places: of several columns, one column each."""
    if texts is None:
        return (), None
    if not isinstance(texts, Mapping):
        names, (codes,) = places_of(texts)
        return names, codes
    columns = ([f"{name}: {one}" for one in _texts(own)] for name, own in texts.items())
    names, several = places_of(*columns)
    return names, np.column_stack(several)


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


# --- Pairs: which row or item should rank above which


@dataclass
class PairTable:
    """Pairs of rows or items, of which the winner should rank above the loser.

    Attributes
    ----------
    winner, loser : int64 arrays, or object arrays of str
        Row numbers (from 0) or item ids; both of one kind.
    weight : float64 array or None
        Importance of each pair.
    """

    winner: Ids
    loser: Ids
    weight: Floats | None = None

    def rows(
        self,
        n_rows: int,
        item: VectorLike | None = None,
        *,
        by: Literal["auto", "row", "item"] = "auto",
    ) -> Ints:
        """Return the pairs as row numbers of a table.

        Parameters
        ----------
        n_rows : int
            Number of rows of the table.
        item : array of shape (n_rows,), optional
            Item ids of its rows.
        by : {"auto", "row", "item"}
            Whether pairs name row numbers or items; "auto": items where ``item`` is given.

        Returns
        -------
        int64 array of shape (n_pairs, 2)
            Winner and loser.

        Examples
        --------
        >>> pairs = PairTable(np.array(["b"], object), np.array(["a"], object))
        >>> pairs.rows(3, ["a", "b", "c"]).tolist()
        [[1, 0]]
        """
        check("rows", "by", by, one_of("auto", "row", "item"))
        if by == "item" and item is None:
            raise DataError("pairs by item need the item ids of the rows; pass them as item.")
        if by == "row" or item is None:
            return self._by_number(n_rows)
        return self._by_item(n_rows, as_array(item, "item"))

    def _by_number(self, n_rows: int) -> Ints:
        """Return pairs that name row numbers."""
        ids = np.column_stack([self.winner, self.loser])
        if ids.dtype.kind not in "iu":
            text = next(name for name in ids.ravel() if isinstance(name, str))
            raise DataError(
                f"pairs must name row numbers where rows have no item ids. Got {shown(text)}."
            )
        table = ids.astype(np.int64)
        outside = (table < 0) | (table >= n_rows)
        if outside.any():
            pair, side = np.argwhere(outside)[0].tolist()
            raise DataError(
                f"pair {pair} (from 0) names row {table[pair, side]}, but rows go from 0 to "
                f"{n_rows - 1}."
            )
        return table

    def _by_item(self, n_rows: int, item: Ids) -> Ints:
        """Return the rows of pairs that name items, each of exactly one row."""
        if len(item) != n_rows:
            raise DataError(f"item must have an id for each of the {n_rows} rows. Got {len(item)}.")
        places: dict[str, list[int]] = {}
        for row, name in enumerate(item):
            places.setdefault(str(name), []).append(row)
        table = np.empty((len(self.winner), 2), np.int64)
        for side, names in enumerate((self.winner, self.loser)):
            for pair, name in enumerate(names):
                found = places.get(str(name), [])
                if len(found) != 1:
                    what = f"rows {found[0]} and {found[1]} have both" if found else "no row has"
                    raise DataError(
                        f"pair {pair} (from 0) names item {shown(str(name))}, which {what}.",
                        remedy=Message("Use ", Argument("by", "row"), " if these are row numbers."),
                    )
                table[pair, side] = found[0]
        return table


# --- Rankings of the same items by many voters


#: One ranking: groups of places in ``items``, best first; several in a group are tied.
Order = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False, repr=False)
class Rankings:
    """Rankings of items, full or partial, and the number of voters of each.

    Attributes
    ----------
    items : tuple of str
    orders : tuple of orders
        Each a tuple of groups, best first; a group is a tuple of places in ``items``,
        tied where it has several. An item that is not in an order is not ranked in it.
    count : float64 array
        Number of voters of each order.
    """

    items: tuple[str, ...]
    orders: tuple[Order, ...]
    count: Floats

    def __repr__(self) -> str:
        return (
            f"Rankings({self.count.sum():g} of {counted(len(self.items), 'item')}, "
            f"{len(self.orders)} different)"
        )

    @property
    def complete(self) -> bool:
        """Whether every order ranks every item."""
        return all(sum(map(len, order)) == len(self.items) for order in self.orders)

    @classmethod
    def from_orders(
        cls, orders: Sequence[Sequence[object]], count: Sequence[float] | None = None
    ) -> Rankings:
        """Return rankings of names, best first; a set, list or tuple inside one is a tie.

        Examples
        --------
        >>> Rankings.from_orders([["tea", "milk"], [{"milk", "wine"}, "tea"]])
        Rankings(2 of 3 items, 2 different)
        """
        if isinstance(orders, str) or not isinstance(orders, Iterable):
            raise DataTypeError(f"orders must be a list of rankings. Got {type(orders).__name__}.")
        groups = [
            [_names(one, number) for one in _groups(order, number)]
            for number, order in enumerate(orders)
        ]
        names = sorted({name for order in groups for group in order for name in group})
        place = {name: k for k, name in enumerate(names)}
        placed = [
            tuple(tuple(sorted(place[name] for name in group)) for group in order)
            for order in groups
        ]
        return cls.from_places(tuple(names), placed, count)

    @classmethod
    def from_places(
        cls, items: tuple[str, ...], orders: Sequence[Order], count: Sequence[float] | None
    ) -> Rankings:
        """Return rankings of places in ``items``, checked."""
        if not orders:
            raise DataError("there is no ranking.")
        counts = np.ones(len(orders)) if count is None else np.atleast_1d(as_reals(count, "count"))
        if len(counts) != len(orders):
            raise DataError(f"count must have a number for each of the {len(orders)} rankings. "
                            f"Got {len(counts)}.")  # fmt: skip
        bad = np.flatnonzero(~((counts >= 0) & (counts <= MAX_WEIGHT)))
        if len(bad):
            raise DataError(
                f"counts must be {number_rule(0.0, MAX_WEIGHT)}. Got {counts[bad[0]]} for ranking "
                f"{bad[0]} (from 0)."
            )
        if not counts.any():
            raise DataError("the counts of the rankings must add up to a number above 0.")
        for number, order in enumerate(orders):
            flat = [k for group in order for k in group]
            if not flat or any(not group for group in order):
                raise DataError(f"ranking {number} (from 0) is empty or has an empty tie.")
            if len(set(flat)) < len(flat):
                twice = next(k for k in flat if flat.count(k) > 1)
                raise DataError(f"ranking {number} (from 0) has {shown(items[twice])} twice.")
        return cls(items, tuple(orders), counts)

    def wins(self) -> tuple[Ints, Ints, Floats]:
        """Return every pair that some ranking orders: above, below, and the number of voters.

        Examples
        --------
        >>> high, low, voters = Rankings.from_orders([["a", "b"], ["b", "a"]], [3, 1]).wins()
        >>> list(zip(high.tolist(), low.tolist(), voters.tolist()))
        [(0, 1, 3.0), (1, 0, 1.0)]
        """
        return self._wins

    @cached_property
    def _wins(self) -> tuple[Ints, Ints, Floats]:
        table = self.above()
        high, low = np.nonzero(table)
        return high, low, table[high, low]

    def above(self) -> Floats:
        """Return a matrix of the numbers of voters who rank item i above item j."""
        n = len(self.items)
        matrix = np.zeros((n, n))
        for order, weight in zip(self.orders, self.count.tolist()):
            ranked = np.array([k for group in order for k in group])
            level = np.repeat(np.arange(len(order)), [len(group) for group in order])
            if 5 * len(ranked) < 3 * n:
                matrix[np.ix_(ranked, ranked)] += weight * (level[:, None] < level)
                continue
            place = np.full(n, np.nan)
            place[ranked] = level
            matrix += weight * (place[:, None] < place)
        return matrix


def _groups(order: Iterable[object], number: int) -> Iterable[object]:
    """Return the names and ties of a ranking."""
    if isinstance(order, str) or not isinstance(order, Iterable):
        raise DataTypeError(
            f"ranking {number} (from 0) must be a list of names. Got {type(order).__name__}."
        )
    return order


def _names(one: object, number: int) -> list[str]:
    """Return a name, or those of a tie."""
    tied = list(one) if isinstance(one, set | frozenset | list | tuple) else [one]
    if any(is_missing(name) for name in tied):
        raise DataError(f"ranking {number} (from 0) lacks the name of an item.")
    return [str(name) for name in tied]


# --- Comparisons whose winner is named by its side, as in arena files: model_a, model_b, winner


#: Ends of the names of two columns that are the two sides, first side first.
_MARKS = (("a", "b"), ("left", "right"), ("1", "2"), ("x", "y"), ("first", "second"))
#: What such columns of items are usually called; others are taken if there is one such pair.
_STEMS = ("model", "", "item", "system", "option", "player", "candidate", "name", "llm", "bot")
_FIRST = frozenset(("a", "left", "1", "x", "first", "model a", "model 1", "response a",
                    "assistant a", "a>b", "a>>b", "b<a", "b<<a"))  # fmt: skip
_SECOND = frozenset(("b", "right", "2", "y", "second", "model b", "model 2", "response b",
                     "assistant b", "b>a", "b>>a", "a<b", "a<<b"))  # fmt: skip
_TIES = frozenset(("tie", "ties", "tied", "draw", "drawn", "equal", "same", "both", "neither",
                   "tie bothbad", "tie both bad", "bothbad", "both bad", "tie bothgood",
                   "tie both good", "both good", "bothgood", "a=b", "b=a"))  # fmt: skip
_ALIASES = {
    "winner": ("preference", "preferred", "choice", "vote", "verdict", "outcome", "result"),
    "judge": ("worker", "annotator", "rater", "judge_id", "evaluator", "worker_id"),
    "context": ("prompt", "prompt_id", "question_id", "question", "instruction_id"),
}
_YES = frozenset(("1", "true", "yes", "y", "t", "tie", "1.0"))
_NO = frozenset(("", "0", "false", "no", "n", "f", "0.0"))
_OPTIONAL = ("tie", "weight", "judge", "context")


def comparisons_of_table(table: CellTable, wanted: ComparisonColumns) -> Comparisons:
    """Return the comparisons in a table: winner and loser, or two sides and which of them won."""
    left, right, category = wanted.left, wanted.right, wanted.category
    if (left is None) != (right is None):
        raise DataError("left and right go together: name the columns of both sides.")
    sides = None
    if left is not None and right is not None:
        sides = (table.require(left), table.require(right))
    elif wanted.loser == "loser" and table.place("loser") is None:
        sides = _find_sides(table, wanted.winner)
    places = {}
    for role in _OPTIONAL:
        name = getattr(wanted, role)
        place = table.place(name) if name == role else table.require(name)
        if place is None and sides is not None:
            place = _alias(table, role, sides)
        if place is not None:
            places[role] = place
    kinds = [category] if isinstance(category, str) else list(category or ())
    tags = {name: table.column(table.require(name)) for name in kinds}
    effects = [_covariate(table, one) for one in wanted.covariates]
    names = [name for name, _ in effects]
    if len(set(names)) < len(names):
        raise DataError(f"covariates need different names. Got {', '.join(map(shown, names))}.")
    ties = _side_flags(table, places["tie"]) if "tie" in places else None
    if sides is None:
        found = _winners(table, wanted, ties)
    else:
        found = _sides_won(table, sides, wanted.winner, ties)
        found.notes.extend(
            f"{role}s: column {shown(table.names[places[role]])}"
            for role in ("judge", "context")
            if role in places and table.names[places[role]].lower() != role
        )
    turn = 1.0 if found.first is None else np.where(found.first, 1.0, -1.0)
    return Comparisons.from_places(
        found.items,
        found.winner,
        found.loser,
        tie=found.tie,
        weight=table.numbers(places["weight"], "weight", low=0.0, high=MAX_WEIGHT)
        if "weight" in places
        else None,
        first=found.first,
        covariates={name: turn * column for name, column in effects},
        notes=[*table.notes, *found.notes],
        **{role: table.column(places[role]) for role in _NAMED if role in places},
        **({"category": tags if len(tags) > 1 else tags[kinds[0]]} if tags else {}),
    )


def _covariate(table: CellTable, text: str) -> tuple[str, Floats]:
    """Return the name and the values of a covariate: ``column`` or ``[name=]column-column``."""
    name, equals, difference = text.partition("=")
    columns = [text]
    if table.place(text) is None:
        columns = [difference if equals else text]
        words = columns[0].split("-")
        halves = (["-".join(words[:k]), "-".join(words[k:])] for k in range(1, len(words)))
        # (a column may have a minus sign in its name)
        absent = words if len(words) == 2 else columns
        columns = next((two for two in halves if None not in map(table.place, two)), absent)
    values = [
        np.array(
            table.numbers(table.require(one), "covariate", low=-MAX_COVARIATE, high=MAX_COVARIATE)
        )
        for one in columns
    ]
    own = values[0] if len(values) == 1 else values[0] - values[1]
    return name if equals and columns != [text] else text, own


@dataclass(frozen=True)
class _Decided:
    """Winners and losers as places in the names of items, and how they were found."""

    items: tuple[str, ...]
    winner: Ints
    loser: Ints
    tie: Bools | None
    first: Bools | None
    notes: list[str]


def _normal(word: str) -> str:
    """Return a word without case and signs, as the sets above have it."""
    return re.sub(r"[^a-z0-9<>=]+", " ", word.lower()).strip()


def _find_sides(table: CellTable, winner: str) -> tuple[int, int] | None:
    """Return the columns of both sides: those the winners name, else by their usual names."""
    found: list[tuple[str, int, int]] = []
    lower = {name.lower().strip(): k for k, name in reversed(list(enumerate(table.names)))}
    for one, other in _MARKS:
        for name, place in lower.items():
            match = re.fullmatch(rf"(.*?)[_ .-]?{one}|{one}[_ .-](.+)", name)
            if match is None or place == table.place(winner):
                continue
            before, after = match.group(1), match.group(2)
            stem = after if before is None else before
            partner = (
                name[: len(name) - len(one)] + other
                if before is not None
                else (other + name[len(one) :])
            )
            glued = before and not re.search(r"[_ .-]$", name[: len(name) - len(one)])
            if partner in lower and not (glued and stem not in _STEMS):
                found.append((stem, place, lower[partner]))
    if not found:
        return None
    at = table.place(winner)
    words = set() if at is None else {_normal(one) for one in set(table.column(at))}
    named = [one for one in found if {_normal(table.names[k]) for k in one[1:]} & words]
    usual = sorted((one for one in found if one[0] in _STEMS), key=lambda one: _STEMS.index(one[0]))
    best = named or usual or found
    if len(best) > 1 and not named and not usual:
        listed = "; ".join(f"{table.names[a]} and {table.names[b]}" for _, a, b in best[:5])
        raise DataError(
            f"several pairs of columns may be the two sides ({listed}).",
            remedy=Message("Name them with ", Argument("left"), " and ", Argument("right"), "."),
        )
    return best[0][1], best[0][2]


def _alias(table: CellTable, role: str, sides: tuple[int, int]) -> int | None:
    """Return a column that is usually called otherwise in arena files."""
    places = [table.place(name) for name in _ALIASES.get(role, ())]
    return next((one for one in places if one is not None and one not in sides), None)


def _winners(table: CellTable, wanted: ComparisonColumns, ties: Bools | None) -> _Decided:
    """Return the columns winner and loser; a winner that only names a side is refused."""
    high_at, low_at = table.require(wanted.winner), table.require(wanted.loser)
    items, (high, low) = places_of(table.column(high_at), table.column(low_at))
    for role, place, codes in (("winner", high_at, high), ("loser", low_at, low)):
        if items and items[0] == "" and (codes == 0).any():
            row = int(np.flatnonzero(codes == 0)[0])
            raise table.error(row, place, f"the {role} is empty.")
    for row in np.flatnonzero(high == low)[:1].tolist():
        raise table.error(row, low_at, f"{shown(items[high[row]])} is compared with itself.")
    lost = set(np.unique(low).tolist())
    never_lost = [k for k in np.unique(high).tolist() if k not in lost]
    ties_named = [items[k] for k in never_lost if _normal(items[k]) in _TIES]
    won = {_normal(items[k]) for k in np.unique(high).tolist()}
    only_sides = won <= _FIRST | _SECOND | _TIES and not lost & set(np.unique(high).tolist())
    if ties_named or (only_sides and len(won) > 1):
        word = ties_named[0] if ties_named else items[int(high[0])]
        row = int(np.flatnonzero(high == items.index(word))[0])
        raise table.error(
            row,
            high_at,
            f"the column {shown(table.names[high_at])} says {shown(word)}, which is no item: it "
            "never occurs as a loser.",
            remedy=Message(
                "If the winners name a side, name the columns of both sides with ",
                Argument("left"),
                " and ",
                Argument("right"),
                " instead of ",
                Argument("loser"),
                ".",
            ),
        )
    return _Decided(items, high, low, ties, None, [])


def _outcomes(table: CellTable, sides: tuple[int, int], winner: str) -> tuple[int, list[str]]:
    """Return the column of winners, and its cells; one column per outcome also serves."""
    place = table.place(winner)
    if place is None and winner == "winner":
        place = _alias(table, "winner", sides)
    if place is not None:
        return place, table.column(place)
    words = [table.names[sides[0]], table.names[sides[1]], "tie"]
    flags = [table.place(f"winner_{word}") for word in words]
    if winner == "winner" and flags[0] is not None and flags[1] is not None:
        known = [(word, one) for word, one in zip(words, flags) if one is not None]
        columns = [_side_flags(table, one) for _, one in known]
        total = np.sum(columns, axis=0)
        for row in np.flatnonzero(total != 1)[:1].tolist():
            raise table.error(row, known[0][1], "exactly one of the winner columns must be 1.")
        which = np.argmax(columns, axis=0)
        return known[0][1], [known[k][0] for k in which.tolist()]
    return table.require(winner), []


def _sides_won(
    table: CellTable, sides: tuple[int, int], winner: str, ties: Bools | None
) -> _Decided:
    """Return who won where a column names the winner or its side."""
    left, right = sides
    place, won = _outcomes(table, sides, winner)
    names = [table.names[left], table.names[right], table.names[place]]
    items, (a, b, said) = places_of(table.column(left), table.column(right), won)
    for side, codes in ((left, a), (right, b)):
        if items and items[0] == "" and (codes == 0).any():
            raise table.error(int(np.flatnonzero(codes == 0)[0]), side, "the item is empty.")
    for row in np.flatnonzero(a == b)[:1].tolist():
        raise table.error(row, right, f"{shown(items[a[row]])} is compared with itself.")
    first_words, second_words = _FIRST | {_normal(names[0])}, _SECOND | {_normal(names[1])}
    kinds = np.zeros(len(items), np.int64)  # (1: first side, 2: second, 3: tie, 0: no such word)
    for k in np.unique(said).tolist():
        word = _normal(items[k])
        kinds[k] = 1 if word in first_words else 2 if word in second_words else 3 * (word in _TIES)
    by_word = kinds[said]
    tied = by_word == 3 if ties is None else (by_word == 3) | ties
    by_name = np.where(said == a, 1, np.where(said == b, 2, 0))
    by_names = bool((tied | (by_name > 0)).all() and (by_name > 0).any())
    outcome = np.where(tied & (by_name == 0), 3, by_name if by_names else by_word)
    outcome[tied] = 3
    if not by_names:
        clash = (by_name > 0) & (by_name != outcome) & ~tied
        wrong = np.flatnonzero((outcome == 0) | clash)
        if len(wrong):
            cell = items[said[wrong[0]]]
            raise table.error(
                int(wrong[0]),
                place,
                f"the winner must be {names[0]}, {names[1]} or tie, or the name of one of the two "
                f"items. Got {shown(cell)}.",
            )
    used = np.unique(np.concatenate((a, b)))
    kept = tuple(items[k] for k in used.tolist())
    a, b = np.searchsorted(used, a), np.searchsorted(used, b)
    how = "is the name of the winner" if by_names else "names the side that won"
    notes = [f"{shown(names[0])} against {shown(names[1])}; column {shown(names[2])} {how}"]
    second = outcome == 2
    return _Decided(
        kept, np.where(second, b, a), np.where(second, a, b), outcome == 3, ~second, notes
    )


def _side_flags(table: CellTable, place: int) -> Bools:
    """Read a column of ties."""
    cells = table.column(place)
    known = {cell: cell.lower() for cell in set(cells)}
    for cell, word in known.items():
        if word not in _YES and word not in _NO:
            problem = f"a tie must be 1, true, yes or tie, else 0 or empty. Got {shown(cell)}."
            raise table.error(cells.index(cell), place, problem)
    yes = {cell: word in _YES for cell, word in known.items()}
    return np.fromiter(map(yes.__getitem__, cells), bool, len(cells))
