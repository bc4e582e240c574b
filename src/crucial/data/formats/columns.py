"""Which column of a table is what; for every kind of table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crucial.data.formats.cells import missing_column
from crucial.data.words import shown_name, to_number
from crucial.errors import Argument, FileError, Message, ParameterError
from crucial.types import PathLike

__all__ = ["RoleNames", "Roles", "assign_roles"]

#: Roles whose usual names a file may lack, and what is then assumed.
_MAY_BE_ABSENT = {"label": "rows have no labels", "qid": "all rows are ranked together"}

#: Names that other programs give the column of labels.
_LIKELY_LABELS = frozenset(
    ["y", "target", "class", "relevance", "rel", "grade", "rating", "score", "outcome", "labels"]
)

#: Names that other programs give the column of query ids.
_LIKELY_QUERIES = frozenset(
    ["query", "query_id", "queryid", "q_id", "group", "group_id", "session", "session_id",
     "srch_id", "topic", "topic_id"]
)  # fmt: skip


@dataclass(frozen=True)
class RoleNames:
    """Names of the columns by their roles, as in `crucial.read_table`."""

    label: str | None = "label"
    qid: str | None = "qid"
    item: str | None = None
    weight: str | None = None
    features: Sequence[str] | None = None
    ignore: Sequence[str] = ()
    needs_label: bool = False
    missing_features: str = "refuse"
    categories: Sequence[str] = ()


@dataclass(frozen=True)
class Roles:
    """Number of the column of each role, None where there is none."""

    features: list[int]
    notes: list[str]
    label: int | None = None
    qid: int | None = None
    item: int | None = None
    weight: int | None = None
    categories: frozenset[int] = frozenset()


def _check_names(
    path: PathLike, line: int | None, names: Sequence[str], default_label: bool
) -> None:
    """Refuse a first line that does not name the columns, or names two alike."""
    seen: dict[str, int] = {}
    for number, name in enumerate(names, 1):
        if name and name in seen:
            raise FileError(
                path,
                f"two columns are called {shown_name(name)}: the {seen[name]}. and the {number}.",
                line,
                number,
            )
        seen[name] = number
    if names and all(to_number(name) is not None for name in names) and default_label:
        raise FileError(
            path,
            "the first line must name the columns; this one has only numbers. Add a line "
            "such as label,qid,feature_a,feature_b,",
            line,
            remedy=Message(
                "or say that there is none with ",
                Argument("header", False),
                ": columns are then known by their numbers, from 1.",
            ),
        )


def _separator_remedy(line: int | None, names: Sequence[str]) -> str:
    """Return what to do about a table of text with one column only; empty if it has more."""
    if line is None or len(names) > 1:
        return ""
    return Message(
        "If there are more columns, say what is between cells with ", Argument("sep"), "."
    )


def _no_label(path: PathLike, line: int | None, names: Sequence[str]) -> FileError:
    """Return the error for a table to learn from that has no column of labels."""
    listed = ", ".join(map(shown_name, names[:20])) + (", ..." if len(names) > 20 else "")
    likely = next((name for name in names if name.lower() in _LIKELY_LABELS), names[-1])
    remedy = _separator_remedy(line, names) or Message(
        "Name the column of labels, such as with ", Argument("label", likely), "."
    )
    problem = f"there is no column 'label'; columns: {listed}."
    return FileError(path, problem, line, remedy=remedy, value="label")


def _absent(role: str, names: Sequence[str]) -> str:
    """Return the note that a column is absent, and which one may be meant."""
    said = f"there is no column {role!r}: {_MAY_BE_ABSENT[role]}"
    likely = next((name for name in names if name.lower() in _LIKELY_QUERIES), None)
    if role != "qid" or likely is None:
        return said
    meant = Argument("qid", likely)
    return Message(said, f"; if {shown_name(likely)} names the queries, say so with ", meant)


def _known_categories(wanted: RoleNames, names: Sequence[str]) -> list[str]:
    """Return the columns that are categories; those of a model may be absent from a table."""
    if wanted.missing_features == "allow":
        return [name for name in wanted.categories if name in names]
    return list(wanted.categories)


def _present(
    path: PathLike, line: int | None, names: Sequence[str], wanted: RoleNames
) -> list[str]:
    """Return the wanted features to look for; refuse a table that lacks several of them."""
    all_wanted = list(wanted.features or ())
    absent = [name for name in all_wanted if name not in names]
    if wanted.missing_features == "allow" and len(absent) < len(all_wanted):
        return [name for name in all_wanted if name in names]
    if len(absent) < 2:
        return all_wanted
    listed = ", ".join(map(shown_name, absent[:5])) + (", ..." if len(absent) > 5 else "")
    found = ", ".join(map(shown_name, names[:5])) + (", ..." if len(names) > 5 else "")
    raise FileError(
        path,
        f"{len(absent)} of the {len(all_wanted)} features never occur: {listed}; columns: {found}.",
        line,
        remedy=_separator_remedy(line, names)
        or Message(
            "Is this another table? If not, let them abstain with ",
            Argument("missing_features", "allow"),
            ".",
        ),
        value=absent,
    )


def assign_roles(
    path: PathLike, line: int | None, names: Sequence[str], wanted: RoleNames
) -> Roles:
    """Give every column its role; a column without one is a feature, unless ignored.

    ``line`` is the line of the names, for errors; None where they are not in a line.
    """
    default_label = wanted.label == "label" and wanted.features is None
    _check_names(path, line, names, default_label and line is not None)
    if wanted.needs_label and wanted.label == "label" and "label" not in names:
        raise _no_label(path, line, names)

    def place_of(role: str, name: str) -> int:
        if name not in names:
            raise missing_column(path, line, names, name, role, _separator_remedy(line, names))
        return names.index(name)

    places: dict[str, int] = {}
    notes = []
    for role in ("label", "qid", "item", "weight"):
        name = getattr(wanted, role)
        if name == role and role in _MAY_BE_ABSENT and name not in names:
            notes.append(_absent(role, names))
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
        for name in _present(path, line, names, wanted):
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
    categories = frozenset(
        place_of("categories", name) for name in _known_categories(wanted, names)
    )
    return Roles(features, notes, **places, categories=categories)
