"""Which column of a table is what, and cells as numbers; for every kind of table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crucial.data.formats.cells import missing_column
from crucial.data.words import shown, to_number
from crucial.errors import Argument, FileError, Message, ParameterError
from crucial.types import PathLike

__all__ = ["RoleNames", "Roles", "assign_roles", "cell_error", "to_cell"]

#: Roles whose usual names a file may lack, and what is then assumed.
_MAY_BE_ABSENT = {"label": "rows have no labels", "qid": "all rows are one query"}

_WORDS = {"": float("nan"), "NA": float("nan"), "true": 1.0, "false": 0.0}
_WORDS |= {"True": 1.0, "False": 0.0}


def to_cell(text: str) -> float | None:
    """Read a cell as a number; None if it is none.

    Empty, ``NA``, ``nan`` and ``null`` are missing; true and false are 1 and 0.
    """
    text = text.strip()
    return _WORDS[text] if text in _WORDS else to_number(text)


def cell_error(
    path: PathLike, line: int | None, column: int, name: str, what: str, cell: str
) -> FileError:
    """Return the error for a cell that is not the number it must be."""
    rule, remedy = "a finite number", ""
    if what == "feature":
        rule = "a finite number, or empty for missing"
        remedy = Message("Leave the column out with ", Argument("ignore", [name]),
                         ", or make it the item with ", Argument("item", name), ".")  # fmt: skip
    problem = f"{what} {shown(name)} must be {rule}. Got {shown(cell)}."
    return FileError(path, problem, line, column, remedy=remedy, value=cell)


@dataclass(frozen=True)
class RoleNames:
    """Names of the columns by their roles, as in `crucial.read_table`."""

    label: str | None = "label"
    qid: str | None = "qid"
    item: str | None = None
    weight: str | None = None
    features: Sequence[str] | None = None
    ignore: Sequence[str] = ()


@dataclass(frozen=True)
class Roles:
    """Number of the column of each role, None where there is none."""

    features: list[int]
    notes: list[str]
    label: int | None = None
    qid: int | None = None
    item: int | None = None
    weight: int | None = None


def _check_names(
    path: PathLike, line: int | None, names: Sequence[str], default_label: bool
) -> None:
    """Refuse a first line that does not name the columns, or names two alike."""
    seen: dict[str, int] = {}
    for number, name in enumerate(names, 1):
        if name and name in seen:
            raise FileError(
                path,
                f"two columns are called {shown(name)}: the {seen[name]}. and the {number}.",
                line,
                number,
            )
        seen[name] = number
    if names and all(to_number(name) is not None for name in names) and default_label:
        raise FileError(
            path,
            "the first line must name the columns; this one has only numbers. Add a line "
            "such as label,qid,feature_a,feature_b.",
            line,
        )


def assign_roles(
    path: PathLike, line: int | None, names: Sequence[str], wanted: RoleNames
) -> Roles:
    """Give every column its role; a column without one is a feature, unless ignored.

    ``line`` is the line of the names, for errors; None where they are not in a line.
    """
    default_label = wanted.label == "label" and wanted.features is None
    _check_names(path, line, names, default_label)

    def place_of(role: str, name: str) -> int:
        if name not in names:
            raise missing_column(path, line, names, name, role)
        return names.index(name)

    places: dict[str, int] = {}
    notes = []
    for role in ("label", "qid", "item", "weight"):
        name = getattr(wanted, role)
        if name == role and role in _MAY_BE_ABSENT and name not in names:
            notes.append(f"there is no column {role!r}: {_MAY_BE_ABSENT[role]}")
        elif name is not None:
            place = place_of(role, name)
            for other, taken in places.items():
                if taken == place:
                    raise ParameterError(f"column {name!r} cannot be both {other} and {role}.")
            places[role] = place
    role_of = {place_of("ignore", name): "ignore" for name in wanted.ignore}
    role_of |= {place: role for role, place in places.items()}
    if wanted.features is None:
        features = [place for place in range(len(names)) if place not in role_of]
    else:
        features = []
        for name in wanted.features:
            place = place_of("features", name)
            if place in role_of or place in features:
                role = role_of.get(place, "feature")
                raise ParameterError(f"features names {name!r}, which is already the {role}.")
            features.append(place)
    if not features:
        raise FileError(path, "no column is left for the features.", line)
    unnamed = next((place for place in features if not names[place]), None)
    if unnamed is not None:
        remedy = Message(
            "If it is a row number written by another program, write the file without it, or "
            "leave it out with ",
            Argument("ignore", [""]),
            ".",
        )
        raise FileError(path, "this column has no name.", line, unnamed + 1, remedy=remedy)
    return Roles(features, notes, **places)
