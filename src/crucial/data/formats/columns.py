"""Which column of a table is what, and cells as numbers; for every kind of table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crucial.data.files import PathLike
from crucial.data.formats.cells import missing_column
from crucial.data.words import shown, to_number
from crucial.errors import Argument, FileError, Message, ParameterError

__all__ = ["RoleNames", "Roles", "assign_roles", "cell_error", "to_cell"]

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

    label: int | None
    qid: int | None
    item: int | None
    weight: int | None
    features: list[int]
    notes: list[str]


def _find(
    path: PathLike, line: int | None, names: Sequence[str], role: str, name: str | None
) -> int | None:
    """Find the column of a role. The usual names may be absent, others not."""
    if name is None:
        return None
    if name in names:
        return names.index(name)
    if name == role and role in ("label", "qid"):
        return None
    raise missing_column(path, line, names, name, role)


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
    asked = {role: getattr(wanted, role) for role in ("label", "qid", "item", "weight")}
    places = {role: _find(path, line, names, role, name) for role, name in asked.items()}
    taken: dict[int, str] = {}
    for role, place in places.items():
        if place is not None:
            if place in taken:
                raise ParameterError(
                    f"column {names[place]!r} cannot be both {taken[place]} and {role}."
                )
            taken[place] = role
    for one in wanted.ignore:
        place = _find(path, line, names, "ignore", one)
        assert place is not None
        taken.setdefault(place, "ignore")
    notes = [
        f"there is no column {role!r}: {what}"
        for role, what in (("label", "rows have no labels"), ("qid", "all rows are one query"))
        if asked[role] is not None and places[role] is None
    ]
    if wanted.features is None:
        chosen = [place for place in range(len(names)) if place not in taken]
    else:
        chosen = []
        for one in wanted.features:
            place = _find(path, line, names, "features", one)
            assert place is not None
            if place in taken or place in chosen:
                as_what = taken.get(place, "feature")
                raise ParameterError(f"features names {one!r}, which is already the {as_what}.")
            chosen.append(place)
    for place in chosen:
        if not names[place]:
            raise FileError(
                path,
                "this column has no name.",
                line,
                place + 1,
                remedy=Message(
                    "If it is a row number written by another program, write the file without "
                    "it, or leave it out with ",
                    Argument("ignore", [""]),
                    ".",
                ),
            )
    if not chosen:
        raise FileError(path, "no column is left for the features.", line)
    return Roles(places["label"], places["qid"], places["item"], places["weight"], chosen, notes)
