"""Comparisons whose winner is named by its side, as in arena files: model_a, model_b, winner."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from crucial.data.comparisons import MAX_COVARIATE, MAX_WEIGHT, Comparisons, places_of
from crucial.data.words import number_rule, shown
from crucial.errors import Argument, DataError, Message
from crucial.types import Bools, Ints

__all__ = ["NamedColumns", "comparisons_of_table"]

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


class NamedColumns(Protocol):
    """A table by columns, which knows how to report a cell."""

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        ...

    @property
    def notes(self) -> list[str]:
        """How the table was read, if that is not obvious."""
        ...

    def place(self, name: str) -> int | None:
        """Return the number of a column, or None."""
        ...

    def require(self, name: str) -> int:
        """Return the number of a column that must be there."""
        ...

    def column(self, place: int) -> list[str]:
        """Return the cells of a column, without the spaces around them."""
        ...

    def numbers(self, place: int, what: str, *, low: float = ..., high: float = ...) -> list[float]:
        """Return the cells of a column as numbers between two."""
        ...

    def error(self, row: int, place: int, problem: str, remedy: str = "") -> DataError:
        """Return the error about a cell."""
        ...


class FrameColumns:
    """The columns of a frame or mapping, as a `NamedColumns`."""

    notes: list[str]

    def __init__(self, columns: Mapping[str, Sequence[object]]) -> None:
        self.notes = []
        self.names = list(columns)
        self._columns = [list(column) for column in columns.values()]

    def place(self, name: str) -> int | None:
        """Return the number of a column, or None."""
        return self.names.index(name) if name in self.names else None

    def require(self, name: str) -> int:
        """Return the number of a column that must be there."""
        if name not in self.names:
            known = ", ".join(map(shown, self.names))
            raise DataError(f"the frame has no column {shown(name)}; columns: {known}.", value=name)
        return self.names.index(name)

    def column(self, place: int) -> list[str]:
        """Return the cells of a column as text; what is missing is empty."""
        return ["" if one is None or one != one else str(one) for one in self._columns[place]]

    def numbers(
        self, place: int, what: str, *, low: float = -np.inf, high: float = np.inf
    ) -> list[float]:
        """Return the cells of a column as numbers between two."""
        values = np.array(self._columns[place], np.float64)
        bad = ~(np.isfinite(values) & (values >= low) & (values <= high))
        for row in np.flatnonzero(bad)[:1].tolist():
            rule = number_rule(low, high)
            raise self.error(row, place, f"the {what} must be {rule}. Got {values[row]}.")
        return [float(value) for value in values]

    def error(self, row: int, place: int, problem: str, remedy: str = "") -> DataError:
        """Return the error about a cell."""
        where = f"row {row} (from 0), column {shown(self.names[place])}"
        return DataError(f"{where}: {problem}", remedy=remedy)


def comparisons_of_table(
    table: NamedColumns,
    asked: Mapping[str, str],
    *,
    category: str | None = None,
    covariates: Sequence[str] = (),
    left: str | None = None,
    right: str | None = None,
) -> Comparisons:
    """Return the comparisons in a table: winner and loser, or two sides and which of them won.

    Parameters
    ----------
    table : NamedColumns
    asked : mapping
        Names of the columns by role: winner, loser, tie, weight, judge, context.
    category : str, optional
        Column of the kinds of comparisons.
    covariates : sequence of str
        Columns of differences: of the first side less the second, or of the winner less the
        loser.
    left, right : str, optional
        Columns of the items of both sides; found by their names by default.
    """
    if (left is None) != (right is None):
        raise DataError("left and right go together: name the columns of both sides.")
    sides = None
    if left is not None and right is not None:
        sides = (table.require(left), table.require(right))
    elif asked["loser"] == "loser" and table.place("loser") is None:
        sides = _find_sides(table, asked["winner"])
    places = {}
    for role in _OPTIONAL:
        name = asked[role]
        place = table.place(name) if name == role else table.require(name)
        if place is None and sides is not None:
            place = _alias(table, role, sides)
        if place is not None:
            places[role] = place
    if category is not None:
        places["category"] = table.require(category)
    ties = _side_flags(table, places["tie"]) if "tie" in places else None
    if sides is None:
        found = _winners(table, asked, ties)
    else:
        found = _sides_won(table, sides, asked["winner"], ties)
        found.notes.extend(
            f"{role}s: column {shown(table.names[places[role]])}"
            for role in ("judge", "context")
            if role in places and table.names[places[role]].lower() != role
        )
    turn = 1.0 if found.first is None else np.where(found.first, 1.0, -1.0)
    text = {
        role: table.column(places[role]) if role in places else None
        for role in ("judge", "context", "category")
    }
    return Comparisons.from_places(
        found.items,
        found.winner,
        found.loser,
        tie=found.tie,
        weight=table.numbers(places["weight"], "weight", low=0.0, high=MAX_WEIGHT)
        if "weight" in places
        else None,
        first=found.first,
        covariates={
            name: turn
            * np.array(
                table.numbers(
                    table.require(name), "covariate", low=-MAX_COVARIATE, high=MAX_COVARIATE
                )
            )
            for name in covariates
        },
        notes=[*table.notes, *found.notes],
        judge=text["judge"],
        context=text["context"],
        category=text["category"],
    )


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


def _find_sides(table: NamedColumns, winner: str) -> tuple[int, int] | None:
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


def _alias(table: NamedColumns, role: str, sides: tuple[int, int]) -> int | None:
    """Return a column that is usually called otherwise in arena files."""
    places = [table.place(name) for name in _ALIASES.get(role, ())]
    return next((one for one in places if one is not None and one not in sides), None)


def _winners(table: NamedColumns, asked: Mapping[str, str], ties: Bools | None) -> _Decided:
    """Return the columns winner and loser; a winner that only names a side is refused."""
    high_at, low_at = table.require(asked["winner"]), table.require(asked["loser"])
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


def _outcomes(table: NamedColumns, sides: tuple[int, int], winner: str) -> tuple[int, list[str]]:
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
    table: NamedColumns, sides: tuple[int, int], winner: str, ties: Bools | None
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


def _side_flags(table: NamedColumns, place: int) -> Bools:
    """Read a column of ties."""
    cells = table.column(place)
    known = {cell: cell.lower() for cell in set(cells)}
    for cell, word in known.items():
        if word not in _YES and word not in _NO:
            problem = f"a tie must be 1, true, yes or tie, else 0 or empty. Got {shown(cell)}."
            raise table.error(cells.index(cell), place, problem)
    yes = {cell: word in _YES for cell, word in known.items()}
    return np.fromiter(map(yes.__getitem__, cells), bool, len(cells))
