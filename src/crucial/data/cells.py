"""A table of text: names, columns of cells, and the lines that they came from.

Every reader of tables makes one, and so does a frame: comparisons, items and data sets are made of
its columns, and errors name its cells.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crucial.data.words import number_rule, shown, shown_name, to_number
from crucial.errors import DataError, FileError


@dataclass(eq=False)
class CellTable:
    """Cells as text, by columns.

    Attributes
    ----------
    names : list of str
        Of the columns.
    columns : list of columns
        Each a list of str, or an array of floats where a quick reader made numbers of it.
    path : str
        The file; empty for a frame.
    lines : sequence of int
        The line in which each row begins, from 1; of an array of JSON, the number of the entry.
    names_line : int or None
        The line of the names; None where they are not in a line.
    notes : list of str
        How the text was read, if that is not obvious.
    """

    names: list[str]
    columns: list[Any]
    path: str = ""
    lines: Sequence[int] = ()
    names_line: int | None = None
    notes: list[str] = field(default_factory=list)

    @classmethod
    def from_columns(cls, columns: Mapping[str, Sequence[object]]) -> CellTable:
        """Return the columns of a frame; missing values are empty cells."""
        texts = [
            ["" if cell is None or cell != cell else str(cell) for cell in column]
            for column in columns.values()
        ]
        return cls(list(columns), texts)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0]) if self.columns else 0

    def place(self, name: str) -> int | None:
        """Return the number of a column, by its name in any case; None if there is none."""
        wanted = name.strip()
        names = [own.strip() for own in self.names]
        places = [k for k, own in enumerate(names) if own.lower() == wanted.lower()]
        places = [k for k in places if names[k] == wanted] or places
        if len(places) > 1:
            raise self._error(f"two columns are called {shown(name)}.", 1)
        return places[0] if places else None

    def require(self, name: str) -> int:
        """Return the number of a column that must be there."""
        place = self.place(name)
        if place is None:
            raise missing_column(self.path, 1, self.names, name)
        return place

    def column(self, place: int) -> list[str]:
        """Return the cells of a column, without the spaces around them."""
        cells: list[str] = self.columns[place]
        if any(cell != cell.strip() for cell in set(cells)):
            cells = [cell.strip() for cell in cells]
        return cells

    def _error(self, problem: str, line: int | None, **fields: Any) -> DataError:
        if not self.path:
            return DataError(problem, remedy=fields.get("remedy", ""))
        return FileError(self.path, problem, line, **fields)

    def error(self, row: int, place: int, problem: str, remedy: str = "") -> DataError:
        """Return the error about a cell."""
        if not self.path:
            problem = f"row {row} (from 0), column {shown(self.names[place])}: {problem}"
            return self._error(problem, None, remedy=remedy)
        cell = self.columns[place][row].strip()
        return self._error(problem, self.lines[row], column=place + 1, value=cell, remedy=remedy)

    def numbers(
        self,
        place: int,
        what: str,
        *,
        missing: bool = False,
        low: float = -math.inf,
        high: float = math.inf,
    ) -> list[float]:
        """Return the cells of a column as finite numbers from ``low`` to ``high``.

        With ``missing``, cells that are empty or ``NA``, ``nan`` or ``null`` are NaN.
        """
        cells = self.column(place)
        known: dict[str, float] = {}
        for cell in dict.fromkeys(cells):  # each distinct cell once, in order: the first is named
            value = math.nan if missing and cell in ("", "NA") else to_number(cell)
            fits = value is not None and low <= value <= high and math.isfinite(value)
            if value is None or not (fits or (missing and value != value)):
                problem = f"the {what} must be {number_rule(low, high)}. Got {shown(cell)}."
                raise self.error(cells.index(cell), place, problem)
            known[cell] = value
        return [known[cell] for cell in cells]


def missing_column(
    path: object,
    line: int | None,
    names: Sequence[str],
    wanted: str,
    role: str = "",
    remedy: str = "",
) -> DataError:
    """Return the error for a column that a file, or a frame without path, does not have."""
    if not path:
        known = ", ".join(map(shown, names))
        return DataError(
            f"the frame has no column {shown(wanted)}; columns: {known}.", value=wanted
        )
    close = difflib.get_close_matches(wanted, names, n=3)
    listed = close or list(names[:20])
    more = ", ..." if len(names) > len(listed) else ""
    of_role = f" ({role})" if role and role != wanted else ""
    which = "close ones" if close else "columns"
    return FileError(
        path,
        f"there is no column {shown_name(wanted)}{of_role}; {which}: "
        f"{', '.join(map(shown_name, listed))}{more}.",
        line,
        remedy=remedy,
        value=wanted,
    )
