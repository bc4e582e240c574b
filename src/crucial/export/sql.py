"""One SQL expression: a sum of CASE, in which NULL is "no opinion", for six dialects."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crucial.data.arrays import DAYS, SECONDS
from crucial.errors import Argument, Message, MissingExtraError, NotRankedError, ParameterError
from crucial.export.export import UNSEEN, text_of, time_texts, time_ticks
from crucial.export.targets import Target
from crucial.export.trees import ExportSettings, ProgramTables
from crucial.model.form import Answer, FormTree, ScoreForm, StepFunction, StraightPiece, region_tree
from crucial.parameters import lookup
from crucial.types import Floats

if TYPE_CHECKING:
    import sqlite3


# --- How databases write names, numbers, text and dates


@dataclass(frozen=True)
class Dialect:
    """Names, numbers, text and dates as a database writes them.

    Attributes
    ----------
    double : str
        Type of double numbers.
    literal : callable
        Returns a literal that is a double, not a decimal number.
    is_nan : str
        Test for NaN of ``{x}``; "" where a database has none.
    quote : str
        Sign around names.
    longest : int
        Longest name in bytes.
    escapes : bool
        Whether a backslash in text begins an escape.
    refused : str
        Signs that no name of a column can have.
    times : mapping from unit to str
        The number that the model makes of a date or time ``{x}``, to the last bit; empty where
        none is known.
    walks : bool
        Whether many trees are walked by `crucial.export.sql`.
    """

    double: str
    literal: Callable[[float], str]
    is_nan: str
    quote: str = '"'
    longest: int = 255
    escapes: bool = False
    refused: str = ""
    times: Mapping[str, str] = field(default_factory=dict)
    walks: bool = False

    def name(self, word: str) -> str:
        """Return the name of a column or table, quoted.

        Examples
        --------
        >>> DIALECTS["duckdb"].name('5" screen'), DIALECTS["sqlite"].name("price")
        ('"5"" screen"', '`price`')
        """
        return self.quote + word.replace(self.quote, self.quote * 2) + self.quote

    def text(self, word: str) -> str:
        """Return text as a literal, which nothing in it can end.

        Examples
        --------
        >>> DIALECTS["duckdb"].text("it's"), DIALECTS["snowflake"].text("it's")
        ("'it''s'", "'it\\\\'s'")
        """
        if not self.escapes:
            return "'" + word.replace("'", "''") + "'"
        for sign, written in _ESCAPES.items():
            word = word.replace(sign, written)
        return f"'{word}'"


def _exponent(value: float) -> str:
    """Return a literal with an exponent, which makes it a double."""
    text = repr(value)
    return text if "e" in text else f"{text}e0"


# (the backslash first, as the others are written with one)
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r"}
# SQLite has dates as ISO text, with a time zone or without; its own functions count milliseconds,
# so the fraction of a second is read apart. A number is taken as it is, as in Python.
_SQLITE_TIME = (
    "CASE typeof({x}) WHEN 'text' THEN (CAST(strftime('%s', SECOND || ltrim(substr({x}, AFTER), "
    "'.0123456789')) AS INTEGER) * 1000000 + CAST(ROUND(CAST('0' || substr({x}, AFTER, 7) AS REAL) "
    "* 1e6) AS INTEGER)) / PER ELSE CAST({x} AS REAL) END"
)


def _sqlite_time(second: str, after: int, per: str) -> str:
    replaced = _SQLITE_TIME.replace("SECOND", second).replace("AFTER", str(after))
    return replaced.replace("PER", per)


_TIMES = {
    "sqlite": {
        DAYS: _sqlite_time("substr({x}, 1, 19)", 20, "86400e6"),
        SECONDS: _sqlite_time("'1970-01-01 ' || substr({x}, 1, 8)", 9, "1e6"),
    },
    "duckdb": {
        DAYS: "CAST(epoch_us({x}) AS DOUBLE) / 86400e6",
        SECONDS: "CAST(epoch_us({x}) AS DOUBLE) / 1e6",
    },
    "postgres": {
        DAYS: "CAST(EXTRACT(EPOCH FROM {x}) * 1000000 AS float8) / '86400e6'::float8",
        SECONDS: "CAST(EXTRACT(EPOCH FROM {x}) * 1000000 AS float8) / '1e6'::float8",
    },
}
#: The dialects that can be written. SQLite takes a name in double quotes for text if there is no
#: such column; one in backticks it refuses.
DIALECTS: Mapping[str, Dialect] = {
    "ansi": Dialect("DOUBLE PRECISION", _exponent, "{x} <> {x}"),
    "postgres": Dialect(
        "DOUBLE PRECISION",
        lambda value: f"'{value!r}'::float8",
        "{x} = 'NaN'::float8",
        longest=63,
        times=_TIMES["postgres"],
    ),
    "sqlite": Dialect("REAL", _exponent, "", "`", times=_TIMES["sqlite"]),
    "duckdb": Dialect("DOUBLE", _exponent, "isnan({x})", times=_TIMES["duckdb"], walks=True),
    "bigquery": Dialect(
        "FLOAT64", _exponent, "IS_NAN({x})", "`", 300, True, '!"$()*,./;?@[\\]^`{}~\n'
    ),
    "snowflake": Dialect("DOUBLE", _exponent, "{x} = 'NaN'::float", escapes=True),
}


# --- Many trees in DuckDB: a walk through lists of nodes in place of nested CASE
#
# DuckDB needs milliseconds to plan each nested CASE, and much longer for many of them. Lists of
# numbers are planned at once, and a step through all trees is one function of all rows.


#: Trees of this many nodes and leaves together are walked.
WALKED = 400

_BEGIN, _END = "/* trees */", "/* end of trees */"
# A number above 0 is a node, one below 0 a leaf. NULL has no opinion; a node that asks for a value
# at all compares with infinity, which nothing is above.
_STEP = (
    "CASE WHEN s < 0 THEN s WHEN COALESCE(x[({features})[s]] > ({thresholds})[s], ({missing})[s]) "
    "THEN ({right})[s] ELSE ({left})[s] END"
)
_WALK = (
    "list_transform([[{values}]], lambda x: list_sum(list_transform(list_reduce(list_prepend("
    "{roots}, list_transform(range({depth}), lambda level: [CAST(level AS INTEGER)])), "
    "lambda states, level: list_transform(states, lambda s: {step})), "
    "lambda s: ({leaves})[-s])))[1]"
)


def walked_trees(trees: Sequence[FormTree], value: Callable[[int], str]) -> str:
    """Return the sum of trees, added in their order.

    Parameters
    ----------
    trees : sequence of FormTree
    value : callable
        Returns the value of a feature as a double, NULL where it has no opinion.
    """
    used = sorted({feature for tree in trees for feature in tree.features.tolist()})
    place = {feature: at for at, feature in enumerate(used, 1)}
    form = ScoreForm(0, (), False, trees=tuple(trees))
    tables = ProgramTables.of(form)
    numbers = {
        "roots": _list(_states(tables.roots), "INTEGER"),
        "features": _list([place[feature] for feature in tables.node_feature], "INTEGER"),
        "thresholds": _list(["inf" if t is None else t for t in tables.node_threshold], "DOUBLE"),
        "missing": _list([bool(one) for one in tables.node_missing], "BOOLEAN"),
        "left": _list(_states(tables.node_left), "INTEGER"),
        "right": _list(_states(tables.node_right), "INTEGER"),
        "leaves": _list(tables.leaves, "DOUBLE"),
    }
    step = _STEP.format(**numbers)
    depth = max((_depth(tree) for tree in trees), default=0)
    values = ", ".join(map(value, used)) or "NULL"
    return f"{_BEGIN} {_WALK.format(values=values, depth=depth, step=step, **numbers)} {_END}"


def _states(nodes: Sequence[int]) -> list[int]:
    return [node + 1 if node >= 0 else node for node in nodes]


def _list(numbers: Sequence[object], kind: str) -> str:
    """Return a list; as text, since DuckDB reads that much quicker than an array of literals."""
    return f"CAST('[{', '.join(map(str, numbers))}]' AS {kind}[])"


def _depth(tree: FormTree) -> int:
    """Return the length of the longest way to a leaf."""
    depths = [1] * len(tree.features)
    for node, children in enumerate(zip(tree.left.tolist(), tree.right.tolist(), strict=True)):
        for child in children:
            if child >= 0:
                depths[child] = max(depths[child], depths[node] + 1)
    return max(depths, default=0)


class FoundWalk(NamedTuple):
    """The walk of a written expression: where it is, and its lists in the order of the text."""

    begin: int
    end: int
    values: str
    lists: tuple[np.ndarray, ...]

    def scores(self, X: Floats) -> Floats:
        """Return the sums of the trees of rows, whose columns are those in ``values``."""
        roots, features, thresholds, missing, right, left, leaves = self.lists
        starts, rights, lefts = ((one - (one > 0)).tolist() for one in (roots, right, left))
        own = ((features - 1).tolist(), thresholds.tolist(), missing.tolist(), lefts, rights)
        tables = ProgramTables([], [0], [], [], starts, *own, leaves.tolist(), [])
        return tables.forest().scores(X)


def found_walk(text: str) -> FoundWalk | None:
    """Return the walk in an expression, read back; None if there is none."""
    begin = text.find(_BEGIN)
    if begin < 0:
        return None
    end = text.index(_END, begin) + len(_END)
    own = text[begin:end]
    values = own[own.index("([[") + 3 : own.index("]], lambda x: ")]
    lists = re.findall(r"CAST\('(\[[^']*\])' AS \w+\[\]\)", own)
    read = [json.loads(one.replace("True", "1").replace("False", "0").replace("inf", "1e999"))
            for one in lists]  # fmt: skip
    return FoundWalk(begin, end, values, tuple(np.array(one) for one in read))


# --- Numbers that SQLite reads exactly
#
# SQLite before 3.43 reads about one decimal fraction in ten thousand as the neighbouring double.
# Such
# numbers are written as a whole number divided by powers of two, which is exact.


# Quoted text and names, and numbers with an exponent, as the writer makes them.
_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\d+(?:\.\d+)?e[+-]?\d+""")
_SQLITE_BATCH = 500


def sqlite_module() -> ModuleType:
    """Return Python's module of SQLite, which some builds of Python lack.

    Raises
    ------
    MissingExtraError
        This one does.
    """
    try:
        import sqlite3
    except ImportError as error:
        raise MissingExtraError(
            "SQL is written and tried with SQLite, and this Python was built without its module "
            "sqlite3: install the development files of SQLite and build it again, or use another "
            "Python."
        ) from error
    return sqlite3


def exact_numbers(text: str) -> str:
    """Return an expression with every number that SQLite misreads written as a fraction.

    Examples
    --------
    >>> exact_numbers('"x" <= 0.5e0')
    '"x" <= 0.5e0'
    """
    found = sorted({one for one in _TOKEN.findall(text) if one[0] not in "'\"`"})
    wrong = _misread(found)
    if not wrong:
        return text
    return _TOKEN.sub(lambda one: _fraction(one[0]) if one[0] in wrong else one[0], text)


def _misread(numbers: list[str]) -> set[str]:
    connection = sqlite_module().connect(":memory:")
    wrong: set[str] = set()
    for at in range(0, len(numbers), _SQLITE_BATCH):
        some = numbers[at : at + _SQLITE_BATCH]
        read = connection.execute(f"SELECT {', '.join(some)}").fetchone()
        wrong |= {text for text, value in zip(some, read, strict=True) if value != float(text)}
    connection.close()
    return wrong


def _fraction(text: str) -> str:
    """Return a number as a whole number times or divided by powers of two.

    Examples
    --------
    >>> _fraction("0.75e0")
    '(CAST(6755399441055744 AS REAL) / CAST(9007199254740992 AS REAL))'
    """
    mantissa, exponent = math.frexp(float(text))
    out = f"CAST({int(math.ldexp(mantissa, 53))} AS REAL)"
    exponent -= 53
    sign, left = ("*", exponent) if exponent > 0 else ("/", -exponent)
    while left:
        step = min(left, 62)
        out += f" {sign} CAST({2**step} AS REAL)"
        left -= step
    return f"({out})"


# --- Run an exported SQL expression on rows


_TABLE = "rows"
# Names in either quotes; text, in which a quote is doubled or a backslash escapes; its cast.
_NAME = r"""(?P<name>"(?:[^"]|"")*"|`(?:[^`]|``)*`)"""
_DOUBLED = re.compile(_NAME + r"|'(?P<text>(?:[^']|'')*)'(?P<cast>::float8?)?")
_ESCAPED = re.compile(_NAME + r"|'(?P<text>(?:[^'\\]|\\.)*)'(?P<cast>::float8?)?")
_SIGNS = {"n": "\n", "r": "\r", "'": "''"}
_EPOCH = re.compile(rf"CAST\(EXTRACT\(EPOCH FROM {_NAME}\) \* 1000000 AS float8\)")
_TREES = "the sum of the trees"


def _for_sqlite(text: str, dialect: str) -> str:
    """Return SQL of any dialect with text and numbers as SQLite reads them."""
    if dialect in ("ansi", "sqlite"):  # (written for it, numbers included)
        return text
    escapes = DIALECTS[dialect].escapes

    def written(token: re.Match[str]) -> str:
        if token["name"] is not None:
            return token[0]
        word = token["text"]
        if token["cast"]:  # (NaN equals no number there)
            return "'NaN'" if word == "NaN" else word if "e" in word else f"{word}e0"
        if escapes:
            word = re.sub(r"\\(.)", lambda sign: _SIGNS.get(sign[1], sign[1]), word)
        return f"'{word}'"

    text = _EPOCH.sub(lambda one: f"epoch_us({one['name']})", text)
    return exact_numbers((_ESCAPED if escapes else _DOUBLED).sub(written, text))


def _sqlite_connection() -> sqlite3.Connection:
    """Return an empty database with the functions that dialects use."""
    lite = sqlite_module()
    connection: sqlite3.Connection = lite.connect(":memory:")
    connection.setlimit(lite.SQLITE_LIMIT_SQL_LENGTH, 10**9)
    for name in ("isnan", "is_nan"):
        connection.create_function(name, 1, lambda value: False)
    connection.create_function("exp", 1, math.exp)
    connection.create_function("epoch_us", 1, _epoch_us)
    return connection


def _epoch_us(value: object) -> int | None:
    """Return the microseconds of a date, of a time of day or of a number of seconds."""
    if isinstance(value, str):
        text = value if "-" in value else f"1970-01-01 {value}"
        return (datetime.fromisoformat(text) - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    return round(value * 1e6) if isinstance(value, float) else None


def _columns(
    X: Floats, form: ScoreForm, settings: ExportSettings
) -> dict[str, NDArray[np.object_]]:
    """Return the columns that the expression names; text where the model has text or dates."""
    out = {}
    times = {} if settings.encoded else form.encodings.times
    for feature in form.used or (0,):
        values = X[:, feature].astype(object)
        known = None if settings.encoded else form.encodings.categories.get(feature)
        if known is not None:
            words = text_of(known)
            values = np.array([words.get(value, UNSEEN) for value in values.tolist()], object)
        elif feature in times:
            values = time_texts(X[:, feature], times[feature])
        out[form.names[feature]] = values
    return out


def by_sqlite(content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings) -> Floats:
    """Score rows by SQLite, which reads all dialects but for their casts and tests for NaN."""
    text = content.decode()
    walk = found_walk(text)
    if walk is not None:
        text = text[: walk.begin] + _quoted(_TREES) + text[walk.end :]
    text = _for_sqlite(text, settings.dialect)
    columns = _columns(X, form, settings)
    rows = list(zip(*(column.tolist() for column in columns.values()), strict=True))
    connection = _sqlite_connection()
    try:
        return _selected(connection, text, list(columns), rows, settings, walk)
    except sqlite_module().Error as error:
        raise NotRankedError(
            f"SQLite cannot run the expression of {len(content):,} bytes ({error}), so that it "
            "cannot be verified here: export fewer rounds (truncate), or skip it with "
            "verify=False."
        ) from error
    finally:
        connection.close()


def _selected(
    connection: sqlite3.Connection,
    text: str,
    columns: Sequence[str],
    rows: Sequence[tuple[object, ...]],
    settings: ExportSettings,
    walk: FoundWalk | None,
) -> Floats:
    cursor = connection.cursor()
    table = _quoted(settings.name or _TABLE)
    cursor.execute(f"CREATE TABLE {table} ({', '.join(map(_quoted, columns))})")
    marks = ", ".join("?" * len(columns))
    cursor.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # (NaN becomes NULL)
    if walk is not None:
        _add_trees(cursor, table, walk)
    query = text if settings.name else f"SELECT (\n{text}) AS score FROM {table}"
    return np.array([row[-1] for row in cursor.execute(query)], np.float64)


def _add_trees(cursor: sqlite3.Cursor, table: str, walk: FoundWalk) -> None:
    """Add a column with the sum of the trees, which are walked by the lists of the file."""
    values = cursor.execute(f"SELECT {walk.values} FROM {table}").fetchall()
    sums = walk.scores(np.array(values, np.float64)).tolist()
    cursor.execute(f"ALTER TABLE {table} ADD COLUMN {_quoted(_TREES)}")
    numbered = [(one, at) for at, one in enumerate(sums, 1)]
    cursor.executemany(f"UPDATE {table} SET {_quoted(_TREES)} = ? WHERE rowid = ?", numbered)


def by_database(
    content: bytes, X: Floats, form: ScoreForm, settings: ExportSettings
) -> tuple[Floats | None, str]:
    """Score rows by the database of the dialect, where it can be had; None: `by_sqlite` did."""
    if settings.dialect in ("ansi", "sqlite"):
        return None, f"sqlite {sqlite_module().sqlite_version}"
    if settings.dialect != "duckdb":
        raise ImportError(f"sqlite reads the {settings.dialect} dialect")
    import duckdb

    used = form.used or (0,)
    times = {} if settings.encoded else form.encodings.times
    columns: dict[str, np.ndarray] = {}
    for feature, column in zip(used, _columns(X, form, settings).values(), strict=True):
        if feature in times:
            column = time_ticks(X[:, feature], times[feature])
        elif not isinstance(column[0], str):
            column = column.astype(np.float64)
        columns[f"c{len(columns)}"] = column
    names = [form.names[feature] for feature in used]
    listed = ", ".join(f"c{at} AS {_quoted(name)}" for at, name in enumerate(names))
    table = _quoted(settings.name or _TABLE)
    with duckdb.connect() as connection:
        connection.register("given", columns)
        connection.execute(f"CREATE TABLE {table} AS SELECT {listed} FROM given")
        text = content.decode()
        query = text if settings.name else f"SELECT (\n{text}) AS score FROM {table}"
        found = connection.execute(query).fetchall()
    return np.array([row[-1] for row in found], np.float64), f"duckdb {duckdb.__version__}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# --- The parts of a score as SQL expressions: sums of CASE, in which NULL is "no opinion"


#: Databases refuse expressions that are nested about 1,000 deep, and a plain sum is as deep as it
#: is long: longer ones are cut into batches.
PLAIN_SUM = 400
_BATCH = 50
# SQLite reads about 16 nested CASE.
_DEEPEST = 10


@dataclass(frozen=True)
class SqlWriter:
    """Writes the parts of a form in one dialect.

    Attributes
    ----------
    form : ScoreForm
    dialect : Dialect
    encoded : bool
        Columns of text and dates are the model's numbers.
    """

    form: ScoreForm
    dialect: Dialect
    encoded: bool = False
    _made: dict[int, tuple[str, str]] = field(default_factory=dict, init=False, repr=False)

    def total(self) -> str:
        """Return the expression of the score."""
        number, form = self.dialect.literal, self.form
        sums = [
            self.added([self.step(step) for step in form.steps]),
            self.trees(),
            self.added([self.piece(piece) for piece in form.pieces]),
        ]
        total = f"((({sums[0]})\n + ({sums[1]}))\n + ({sums[2]}))"
        return (
            f"({total} + {number(form.intercept)}) / {number(form.divisor)} + {number(form.offset)}"
        )

    def trees(self) -> str:
        """Return the expression of the sum of the trees."""
        trees = self.form.trees
        size = sum(len(tree.features) + len(tree.values) for tree in trees)
        if self.dialect.walks and size >= WALKED:
            return walked_trees(trees, self.known)
        return self.added([self.tree(tree) for tree in trees])

    def known(self, feature: int) -> str:
        """Return the value of a feature, NULL where it has no opinion."""
        return f"CASE WHEN {self.missing(feature)} THEN NULL ELSE {self.value(feature)} END"

    def name(self, feature: int) -> str:
        """Return the name of a feature, quoted."""
        return self.dialect.name(self.form.names[feature])

    def value(self, feature: int) -> str:
        """Return the value of a feature as a double; that of a category is its number."""
        name = self.name(feature)
        known = self.categories(feature)
        if known is not None:
            cases = (
                f"WHEN {self.words([w])} THEN {self.dialect.literal(v)}" for w, v in known.items()
            )
            return f"CASE {name} {' '.join(cases)} END"
        time = self.time(feature)
        return f"CAST({name} AS {self.dialect.double})" if time is None else f"({time})"

    def missing(self, feature: int) -> str:
        """Return the test whether a feature has no opinion."""
        test = f"{self.name(feature)} IS NULL"
        known = self.categories(feature)
        if known is not None:
            return f"{test} OR {self.name(feature)} NOT IN ({self.words(list(known))})"
        if self.time(feature) is not None:  # (text may be no date)
            return f"{self.value(feature)} IS NULL"
        if self.dialect.is_nan:
            test += " OR " + self.dialect.is_nan.format(x=self.value(feature))
        return test

    def categories(self, feature: int) -> Mapping[str, float] | None:
        """Return the numbers of the categories of a feature; None for a column of numbers."""
        return None if self.encoded else self.form.encodings.categories.get(feature)

    def time(self, feature: int) -> str | None:
        """Return the number of a date or time; None for a feature that is no such column."""
        unit = None if self.encoded else self.form.encodings.times.get(feature)
        return None if unit is None else self.dialect.times[unit].format(x=self.name(feature))

    def words(self, some: Sequence[str]) -> str:
        """Return a list of texts."""
        return ", ".join(map(self.dialect.text, some))

    def step(self, step: StepFunction) -> str:
        """Return a step function as a search tree of CASE."""
        known = self.categories(step.feature)
        if known is not None:
            return self._by_category(step, known)
        number = self.dialect.literal
        x = self.value(step.feature)

        def between(low: int, high: int) -> str:
            if low == high:
                return number(float(step.values[low]))
            middle = (low + high) // 2
            test = f"{x} <= {number(float(step.thresholds[middle]))}"
            return (
                f"CASE WHEN {test} THEN {between(low, middle)} ELSE {between(middle + 1, high)} END"
            )

        inside = between(0, len(step.thresholds))
        return (
            f"CASE WHEN {self.missing(step.feature)} THEN {number(step.missing)} ELSE {inside} END"
        )

    def _by_category(self, step: StepFunction, known: Mapping[str, float]) -> str:
        """Return the CASE expression over the categories of a column of text."""
        words: dict[float, list[str]] = {}
        for word, value in known.items():
            own = float(step.values[int(np.searchsorted(step.thresholds, value))])
            words.setdefault(own, []).append(word)
        number, name = self.dialect.literal, self.name(step.feature)
        cases = " ".join(
            f"WHEN {name} IN ({self.words(some)}) THEN {number(value)}"
            for value, some in words.items()
        )
        return f"CASE {cases} ELSE {number(step.missing)} END"

    def tree(self, tree: FormTree) -> str:
        """Return a tree as nested CASE, one per region.

        What is deeper than a few levels is a part of its own, which is 0 for rows that do not come
        there; all parts but one are 0, so that their sum is exact.
        """
        regions = region_tree(tree)
        if regions is None:
            plain = tree.spread()
            assert plain is not None
            return self.tree(plain)
        number = self.dialect.literal
        n = len(regions.answers)
        found = {~leaf: number(float(value)) for leaf, value in enumerate(tree.values)}
        if not n:
            return found[~0]
        tests = [self._answer(tree, answer) for answer in regions.answers]
        paths: list[tuple[str, ...]] = [()] * n  # (what leads to every region)
        for at in range(n):
            for child, test in ((regions.left[at], "NOT ({})"), (regions.right[at], "({})")):
                if child >= 0:
                    paths[child] = (*paths[at], test.format(tests[at]))
        deepest = max(2, _DEEPEST + 1 - regions.depth())
        apart = []
        for at in reversed(range(n)):
            left, right = found[regions.left[at]], found[regions.right[at]]
            own = f"CASE WHEN {tests[at]} THEN {right} ELSE {left} END"
            if paths[at] and len(paths[at]) % deepest == 0:
                apart.append(
                    f"CASE WHEN {' AND '.join(paths[at])} THEN {own} ELSE {number(0.0)} END"
                )
                own = number(0.0)
            found[at] = own
        return f"({self.added([found[0], *apart])})" if apart else found[0]

    def _answer(self, tree: FormTree, answer: Answer) -> str:
        """Return the test whether a row goes right in a region; never unknown."""
        if isinstance(answer, bool):
            return "1 = 1" if answer else "1 = 0"
        node, yes, no = answer
        test = self._goes_right(
            int(tree.features[node]), float(tree.thresholds[node]), bool(tree.missing_right[node])
        )
        if yes is True and no is False:
            return test
        if yes is False and no is True:
            return f"NOT ({test})"
        sides = [
            str(int(side)) if isinstance(side, bool) else self._side(tree, side)
            for side in (yes, no)
        ]
        return f"CASE WHEN {test} THEN {sides[0]} ELSE {sides[1]} END = 1"

    def _side(self, tree: FormTree, answer: Answer) -> str:
        """Return 1 for a row that goes right, and 0 for another."""
        test = self._answer(tree, answer)
        if test.endswith(" END = 1"):
            return test.removesuffix(" = 1")
        return f"CASE WHEN {test} THEN 1 ELSE 0 END"

    def _read(self, feature: int) -> tuple[str, str]:
        """Return the test whether a feature has no opinion, and its value; each is made once."""
        found = self._made.get(feature)
        if found is None:
            found = self._made[feature] = self.missing(feature), self.value(feature)
        return found

    def _goes_right(self, feature: int, threshold: float, missing_right: bool) -> str:
        """Return the test of a node; it is true or false, and never unknown."""
        known = self.categories(feature)
        if known is not None:
            # (text that was not seen at training abstains, as NULL does)
            right = [word for word, value in known.items() if value > threshold]
            left = [word for word, value in known.items() if not value > threshold]
            name = self.name(feature)
            if missing_right:
                return f"{name} IS NULL OR {name} NOT IN ({self.words(left)})" if left else "1 = 1"
            return f"{name} IN ({self.words(right)})" if right else "1 = 0"
        missing, value = self._read(feature)
        if threshold != threshold:
            return missing if missing_right else "1 = 0"
        above = f"{value} > {self.dialect.literal(threshold)}"
        return f"{missing} OR {above}" if missing_right else f"NOT ({missing}) AND {above}"

    def piece(self, piece: StraightPiece) -> str:
        """Return a straight piece, by the operations that define it."""
        number, x = self.dialect.literal, self.value(piece.feature)
        low, high = number(piece.low), number(piece.high)
        inside = f"CASE WHEN {x} < {low} THEN {low} WHEN {x} > {high} THEN {high} ELSE {x} END"
        bottom, width = piece.low * piece.unit, piece.high * piece.unit - piece.low * piece.unit
        scaled = f"(({inside}) * {number(piece.unit)} - {number(bottom)}) / {number(width)}"
        return (
            f"CASE WHEN {self.missing(piece.feature)} THEN {number(piece.weight * piece.default)} "
            f"ELSE {number(piece.weight)} * ({scaled}) END"
        )

    def added(self, parts: Sequence[str]) -> str:
        """Return a sum in the order of the model; a very long one in batches."""
        zero = self.dialect.literal(0.0)
        if len(parts) <= PLAIN_SUM:
            return "\n  + ".join([zero, *parts])
        batches = [
            "(" + " + ".join([zero, *parts[at : at + _BATCH]]) + ")"
            for at in range(0, len(parts), _BATCH)
        ]
        return self.added(batches)


# --- One SQL expression: a sum of CASE, in which NULL is "no opinion"


def _expression(form: ScoreForm, dialect: Dialect, settings: ExportSettings) -> str:
    total = SqlWriter(form, dialect, settings.encoded).total()
    if settings.probability:
        assert form.slope is not None
        number = dialect.literal
        return f"{number(1.0)} / ({number(1.0)} + EXP({number(-form.slope)} * ({total})))"
    return total


def _check_dates(form: ScoreForm, dialect: Dialect, settings: ExportSettings) -> None:
    """Refuse columns of dates in dialects that have no expression for them."""
    dates = [feature for feature in form.used if feature in form.encodings.times]
    if dates and not dialect.times and not settings.encoded:
        able = [name for name, one in DIALECTS.items() if one.times]
        raise NotRankedError(
            Message(
                f"{form.names[dates[0]]!r} is a column of dates, which databases compute with in "
                f"different ways; the dialects {', '.join(able)} can: pass ",
                Argument("dialect", able[0]),
                ", or ",
                Argument("encoded"),
                f" if the column has {form.encodings.times[dates[0]]} as numbers.",
            ),
            parameter="dialect",
        )


def _check_name(name: str, dialect: Dialect, what: str, parameter: str) -> None:
    """Refuse a name of a column or table that a database cannot hold."""
    size, got = len(name.encode()), f"Got {name[:40]!r}"
    # (a table is named with its data set, as in data.rows)
    refused = dialect.refused.replace(".", "") if what == "table" else dialect.refused
    bad = next((sign for sign in name if sign in refused), "")
    if size > dialect.longest or "\0" in name or not name:
        rule = f"a name of 1 to {dialect.longest} bytes, none of them NUL. {got} ({size} bytes)"
    elif bad:
        rule = f"no {bad!r} in its name. {got}"
    else:
        return
    problem = f"a {what} in this dialect has {rule}. Give it another name there with "
    raise ParameterError(Message(problem, Argument(parameter), "."), parameter=parameter)


def _check_names(form: ScoreForm, dialect: Dialect) -> None:
    """Refuse names that a database cannot hold or cannot tell apart."""
    names = [form.names[feature] for feature in form.used]
    for name in names:
        _check_name(name, dialect, "column", "features")
    twice = [name for name, count in Counter(map(str.casefold, names)).items() if count > 1]
    if twice:
        raise ParameterError(
            Message(
                "databases do not tell upper from lower case in names of columns, and two features "
                f"are called {twice[0]!r}: give one of them another name there with ",
                Argument("features"),
                ".",
            ),
            parameter="features",
        )


def _write(form: ScoreForm, settings: ExportSettings) -> bytes:
    dialect = lookup(DIALECTS, settings.dialect, "dialect")
    _check_names(form, dialect)
    if settings.name is not None:
        _check_name(settings.name, dialect, "table", "name")
    _check_dates(form, dialect, settings)
    expression = _expression(form, dialect, settings)
    if settings.dialect in ("ansi", "sqlite"):
        expression = exact_numbers(expression)
    lines = [
        '-- The score of a ranker: the higher, the better. NULL and NaN are "no opinion".',
        f"-- Dialect: {settings.dialect}.",
    ]
    if settings.missing_note:
        lines.append(f"-- {settings.missing_note}")
    if settings.name is None:
        lines.append(
            "-- One expression over the columns of a table: SELECT *, <this> AS score FROM ..."
        )
        return "\n".join([*lines, expression, ""]).encode()
    table = dialect.name(settings.name)
    return "\n".join([*lines, f"SELECT *,\n{expression}\nAS score\nFROM {table}", ""]).encode()


TARGET = Target(
    name="sql",
    title="one SQL expression, in the dialect of a database",
    numbers="float64",
    write=_write,
    twin=by_sqlite,
    engine=by_database,
    engine_name="the database",
    by_name=True,
    holds=frozenset({"trees", "pieces", "probability", "text", "dates"}),
    takes=frozenset({"shift", "probability", "dialect"}),
    trial_cells=1_000_000,
    shares_nodes=True,
    reorders=lambda form: max(len(form.steps), len(form.trees), len(form.pieces)) > PLAIN_SUM,
)
