"""Options of reading files of rows, each declared once.

A field of `TableOptions` or `SvmlightOptions` declares an option: its type, its default, the rule
for its values and its text. Derived from it are the signature and the documentation of the reader
(`with_options`), the options of the command line, the settings that a model file stores to read
other files the same way, and the columns that workers of a cluster read.
"""

from __future__ import annotations

import codecs
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, TypeVar

from crucial.parameters import Rule, check, entry, flag, instance_of, none_or, one_of, with_fields

Reader = TypeVar("Reader", bound=Callable[..., Any])

#: The name of a file, as the value of an option.
FileName: TypeAlias = Annotated[str, "file"]


def _is_sep(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 1 and value.isascii() and value not in '"\r\n\0'


def _contains_ascii(encoding: Any) -> bool:
    if not isinstance(encoding, str):
        return False
    signs = bytes(range(1, 128))
    try:
        is_wide = codecs.lookup(encoding).name.startswith("utf-16")
        return is_wide or signs.decode(encoding) == signs.decode()
    except (LookupError, UnicodeError, ValueError):
        return False


def _are_texts(values: Any) -> bool:
    is_list = isinstance(values, Iterable) and not isinstance(values, str)
    return is_list and all(isinstance(value, str) for value in values)


_text = instance_of(str)
_names = Rule(("a list of column names",), ("sequence of str",), _are_texts)
_cells = Rule(("a list of cells",), ("sequence of str",), _are_texts)
_sep = Rule(("one ASCII character other than a quote or line end",), ("str",), _is_sep)
_encoding = Rule(
    ("UTF-16, or an encoding that contains ASCII, such as 'utf-8' or 'latin-1'",),
    ("str",),
    _contains_ascii,
)


def declare(
    default: Any,
    rule: Rule,
    text: str,
    *flags: str,
    more: str = "",
    shown: str = "",
    metavar: str | None = None,
    stored: Literal["never", "always", "if given"] = "never",
    stored_rule: Rule | None = None,
    is_of_text: bool = False,
    in_verbs: bool = True,
) -> Any:
    """Declare an option as the field of a class.

    Parameters
    ----------
    default : object
        Of the reader.
    rule : Rule
        Which values it may take.
    text : str
        The first sentences of its documentation, and its help text.
    *flags : str
        Flags of the command line in place of the field's name.
    more : str
        Further documentation.
    shown : str
        The default in the help text, where it is not a value.
    metavar : str, optional
        What stands for the value in the help text.
    stored : {"never", "always", "if given"}
        Whether a model file stores it: also where it has its default, or not.
    stored_rule : Rule, optional
        Which values can be stored; ``rule`` by default.
    is_of_text : bool
        Whether it says how text is written, which errors repeat where training decided it.
    in_verbs : bool
        Whether it is an option of the command line.
    """
    shown = shown or (default if isinstance(default, str) else "")
    help_text = f"{text} May be repeated." if default == () else text
    help_text = f"{help_text} [default: {shown}]" if shown else help_text
    settings: dict[str, Any] = {"help": help_text}
    settings |= {} if metavar is None else {"metavar": metavar}
    settings |= {"default": None} if rule is flag else {}
    metadata = {
        "rule": rule,
        "text": f"{text} {more}".strip(),
        "stored": stored,
        "stored_rule": stored_rule or rule,
        "is_of_text": is_of_text,
    }
    if in_verbs:
        metadata["option"] = (flags, {}, settings)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class SvmlightOptions:
    """Options of svmlight files that verbs share; `read_svmlight` documents them."""

    heading: ClassVar[str] = "svmlight files"

    absent: Literal["zero", "missing"] = declare(
        "zero",
        one_of("zero", "missing"),
        "The value of a feature that a line does not mention.",
        stored="always",
    )
    index_base: Literal["auto", 0, 1] = declare(
        "auto",
        one_of("auto", 0, 1),
        "Index of the first feature.",
        shown="auto: 0 if index 0 occurs, else 1",
        stored="always",
        stored_rule=one_of(0, 1),
    )
    group_sizes: FileName | None = declare(
        None,
        none_or(_text),
        "Rows per query, one number per line (LightGBM's .query), for a file without qid.",
    )


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """Options of reading a table with named columns; `read_table` documents them."""

    heading: ClassVar[str] = "Tables"

    label: str | None = declare(
        "label",
        none_or(_text),
        "Column of labels.",
        more="A file without a column ``label`` is read without labels, and the notes say so; any "
        "other name must be there.",
        stored="always",
        stored_rule=_text,
    )
    qid: str | None = declare(
        "qid",
        none_or(_text),
        "Column of query ids.",
        more="A file without a column ``qid`` is read without queries, and the notes say so; any "
        "other name must be there.",
        stored="always",
        stored_rule=_text,
    )
    item: str | None = declare(
        None, none_or(_text), "Column of item names.", stored="always", stored_rule=_text
    )
    weight: str | None = declare(None, none_or(_text), "Column of row weights.")
    features: tuple[str, ...] | None = declare(
        None,
        none_or(_names),
        "Names of the feature columns, in the order wanted; by default all that are left.",
        in_verbs=False,
    )
    ignore: tuple[str, ...] = declare((), _names, "Columns that are not features.")
    categories: tuple[str, ...] = declare(
        (),
        _names,
        "Features that are categories, though they have numbers.",
        "--category",
        shown="columns without a number",
    )
    header: bool = declare(
        True,
        flag,
        "Whether the first line, or row of a sheet, names the columns; if not, columns are named "
        "by their numbers, from 1.",
        "--header/--no-header",
        shown="--header",
        stored="if given",
    )
    missing: tuple[str, ...] = declare(
        (),
        _cells,
        "Cells that are missing values, besides empty ones, NA, N/A, ?, nan and null.",
        metavar="CELL",
        stored="if given",
    )
    sep: str | None = declare(
        None,
        none_or(_sep),
        "The character between the cells of CSV.",
        more="By default a tab if the name ends in ``.tsv`` or ``.tab`` (before ``.gz``); else "
        "whichever of comma, tab, semicolon and bar is most frequent in the first line.",
        shown="comma, tab, semicolon or bar, as found",
        metavar="CHAR",
        stored="if given",
        stored_rule=_sep,
        is_of_text=True,
    )
    decimal: Literal[".", ","] | None = declare(
        None,
        one_of(".", ",", None),
        "The decimal sign.",
        more="By default a comma if numbers of the first 1,000 rows have one and none has a "
        "point; the notes say so.",
        shown="a comma if numbers have it and no point",
        stored="if given",
        stored_rule=one_of(".", ","),
        is_of_text=True,
    )
    encoding: str | None = declare(
        None,
        none_or(_encoding),
        "Text encoding of CSV and JSON lines.",
        more="Any that contains ASCII, or UTF-16. By default UTF-8, or UTF-16 by the mark at the "
        "start, and Latin-1 (Windows-1252) where the file is neither; the notes say so.",
        shown="UTF-8, else Latin-1",
        stored="if given",
        stored_rule=_encoding,
        is_of_text=True,
    )
    sheet: str | None = declare(
        None, none_or(_text), "The sheet of an Excel file.", shown="the first"
    )
    needs_label: bool = declare(
        False,
        flag,
        "Whether to refuse a table without a column ``label``, before its rows are read.",
        in_verbs=False,
    )
    unlabelled: Literal["refuse", "drop"] = declare(
        "refuse", one_of("refuse", "drop"), "Whether rows without a label are refused or left out."
    )
    missing_features: Literal["refuse", "allow"] = declare(
        "refuse",
        one_of("refuse", "allow"),
        "Whether rows in which wanted features never occur are refused; if not, these abstain.",
    )

    @classmethod
    def checked(cls, owner: str, options: Mapping[str, Any]) -> Self:
        """Return the options that a function was called with; refuse those that break a rule."""
        rules = {one.name: one.metadata["rule"] for one in fields(cls)}
        values = dict(options)
        for name, value in values.items():
            if name not in rules:
                raise TypeError(f"{owner}() got an unexpected keyword argument {name!r}")
            check(owner, name, value, rules[name])
            if isinstance(value, Iterable) and not isinstance(value, str):
                values[name] = tuple(value)
        return cls(**values)


#: The options of each format of files.
FORMATS: dict[str, type[Any]] = {"svmlight": SvmlightOptions, "table": TableOptions}


def option_names(form: str) -> list[str]:
    """Return the names of the options of a format that verbs have.

    Examples
    --------
    >>> option_names("svmlight")
    ['absent', 'index_base', 'group_sizes']
    """
    return [one.name for one in fields(FORMATS[form]) if "option" in one.metadata]


def text_options() -> list[str]:
    """Return the names of the options that say how text is written."""
    return [one.name for one in fields(TableOptions) if one.metadata["is_of_text"]]


def to_store(form: str, options: object) -> dict[str, Any]:
    """Return the options of a format that a model file stores, by name.

    Examples
    --------
    >>> to_store("table", TableOptions(sep=";", missing=("-",)))
    {'label': 'label', 'qid': 'qid', 'item': None, 'missing': ['-'], 'sep': ';'}
    """
    stored: dict[str, Any] = {}
    for one in fields(FORMATS[form]):
        value, when = getattr(options, one.name), one.metadata["stored"]
        if when == "always" or (when == "if given" and value != one.default):
            stored[one.name] = list(value) if isinstance(value, tuple) else value
    return stored


def from_store(form: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that a model file stored; values that are not possible are left out.

    Examples
    --------
    >>> from_store("table", {"label": "y", "sep": 7, "missing": ["-"], "colour": "red"})
    {'label': 'y', 'missing': ('-',)}
    """
    options: dict[str, Any] = {}
    for one in fields(FORMATS[form]):
        value = stored.get(one.name)
        kept = one.metadata["stored"] != "never" and one.name in stored
        if kept and one.metadata["stored_rule"].accepts(value):
            options[one.name] = tuple(value) if isinstance(value, list) else value
    return options


def with_options(options: type[Any]) -> Callable[[Reader], Reader]:
    """Give a reader that takes ``**options`` the signature and documentation of declared ones.

    The line ``**options`` in the docstring is replaced by them.
    """

    def wrap(reader: Reader) -> Reader:
        reader = with_fields(options)(reader)
        if reader.__doc__:  # (python -OO leaves none)
            entries = [
                entry(one.name, one.metadata["rule"].kind, one.default, one.metadata["text"])
                for one in fields(options)
            ]
            text = inspect.cleandoc(reader.__doc__)  # (as Python 3.13 keeps it)
            reader.__doc__ = text.replace("**options", "\n".join(entries))
        return reader

    return wrap
