"""One SQL expression: a sum of CASE, in which NULL is "no opinion"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from crucial.errors import ParameterError
from crucial.model.export.form import FormTree, ScoreForm, StepFunction, StraightPiece
from crucial.model.export.settings import ExportSettings
from crucial.model.export.sql_trial import by_database, by_sqlite
from crucial.model.export.sqlite_numbers import exact_numbers
from crucial.model.export.target import Target
from crucial.parameters import lookup

__all__ = ["DIALECTS", "TARGET", "Dialect"]

# Databases refuse expressions that are nested about 1,000 deep, and a plain sum is as deep as it
# is long.
_PLAIN_SUM = 400
_BATCH = 50
# SQLite reads about 16 nested CASE.
_DEEPEST = 10


@dataclass(frozen=True)
class Dialect:
    """How a database writes things.

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
    """

    double: str
    literal: Callable[[float], str]
    is_nan: str
    quote: str = '"'
    longest: int = 255
    escapes: bool = False
    refused: str = ""

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
#: The dialects that can be written. SQLite takes a name in double quotes for text if there is no
#: such column; one in backticks it refuses.
DIALECTS: Mapping[str, Dialect] = {
    "ansi": Dialect("DOUBLE PRECISION", _exponent, "{x} <> {x}"),
    "postgres": Dialect(
        "DOUBLE PRECISION", lambda value: f"'{value!r}'::float8", "{x} = 'NaN'::float8", longest=63
    ),
    "sqlite": Dialect("REAL", _exponent, "", "`"),
    "duckdb": Dialect("DOUBLE", _exponent, "isnan({x})"),
    "bigquery": Dialect(
        "FLOAT64", _exponent, "IS_NAN({x})", "`", 300, True, '!"$()*,./;?@[\\]^`{}~\n'
    ),
    "snowflake": Dialect("DOUBLE", _exponent, "{x} = 'NaN'::float", escapes=True),
}


@dataclass(frozen=True)
class _Writer:
    """Writes the parts of a form in one dialect."""

    form: ScoreForm
    dialect: Dialect
    encoded: bool

    def name(self, feature: int) -> str:
        sign = self.dialect.quote
        return sign + self.form.names[feature].replace(sign, sign * 2) + sign

    def value(self, feature: int) -> str:
        """Return the value of a feature as a double; that of a category is its number."""
        known = self.categories(feature)
        if known is not None:
            cases = (
                f"WHEN {self.words([w])} THEN {self.dialect.literal(v)}" for w, v in known.items()
            )
            return f"CASE {self.name(feature)} {' '.join(cases)} END"
        return f"CAST({self.name(feature)} AS {self.dialect.double})"

    def missing(self, feature: int) -> str:
        """Return the test whether a feature has no opinion."""
        test = f"{self.name(feature)} IS NULL"
        known = self.categories(feature)
        if known is not None:
            return f"{test} OR {self.name(feature)} NOT IN ({self.words(list(known))})"
        if self.dialect.is_nan:
            test += " OR " + self.dialect.is_nan.format(x=self.value(feature))
        return test

    def categories(self, feature: int) -> Mapping[str, float] | None:
        return None if self.encoded else self.form.encodings.categories.get(feature)

    def words(self, some: Sequence[str]) -> str:
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
        """Return what the categories of a column of text add."""
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
        """Return a tree as nested CASE.

        What is deeper than a few levels is a part of its own, which is 0 for rows that do not come
        there; all parts but one are 0, so that their sum is exact.
        """
        number = self.dialect.literal
        n = len(tree.features)
        found = {~leaf: number(float(value)) for leaf, value in enumerate(tree.values)}
        if not n:
            return found[~0]
        tests = [
            self._goes_right(
                int(tree.features[node]),
                float(tree.thresholds[node]),
                bool(tree.missing_right[node]),
            )
            for node in range(n)
        ]
        paths: list[tuple[str, ...]] = [()] * n  # (what leads to every node)
        for node in range(n):
            for child, test in ((tree.left[node], "NOT ({})"), (tree.right[node], "({})")):
                if child >= 0:
                    paths[child] = (*paths[node], test.format(tests[node]))
        apart = []
        for node in reversed(range(n)):
            left, right = found[int(tree.left[node])], found[int(tree.right[node])]
            own = f"CASE WHEN {tests[node]} THEN {right} ELSE {left} END"
            if paths[node] and len(paths[node]) % _DEEPEST == 0:
                apart.append(
                    f"CASE WHEN {' AND '.join(paths[node])} THEN {own} ELSE {number(0.0)} END"
                )
                own = number(0.0)
            found[node] = own
        return f"({self.added([found[0], *apart])})" if apart else found[0]

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
        missing = self.missing(feature)
        if threshold != threshold:
            return missing if missing_right else "1 = 0"
        above = f"{self.value(feature)} > {self.dialect.literal(threshold)}"
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
        if len(parts) <= _PLAIN_SUM:
            return "\n  + ".join([zero, *parts])
        batches = [
            "(" + " + ".join([zero, *parts[at : at + _BATCH]]) + ")"
            for at in range(0, len(parts), _BATCH)
        ]
        return self.added(batches)


def _expression(form: ScoreForm, dialect: str, settings: ExportSettings) -> str:
    writer = _Writer(form, lookup(DIALECTS, dialect, "dialect"), settings.encoded)
    number = writer.dialect.literal
    sums = [
        writer.added([writer.step(step) for step in form.steps]),
        writer.added([writer.tree(tree) for tree in form.trees]),
        writer.added([writer.piece(piece) for piece in form.pieces]),
    ]
    total = f"((({sums[0]})\n + ({sums[1]}))\n + ({sums[2]}))"
    total = f"({total} + {number(form.intercept)}) / {number(form.divisor)} + {number(form.offset)}"
    if settings.probability:
        assert form.slope is not None
        return f"{number(1.0)} / ({number(1.0)} + EXP({number(-form.slope)} * ({total})))"
    return total


def _check_names(form: ScoreForm, dialect: Dialect) -> None:
    """Refuse names that a database cannot hold or cannot tell apart."""
    names = [form.names[feature] for feature in form.used]
    for name in names:
        if len(name.encode()) > dialect.longest or "\0" in name or not name:
            raise ParameterError(
                f"a column in this dialect has a name of 1 to {dialect.longest} bytes, none of "
                f"them NUL. Got {name[:40]!r} ({len(name.encode())} bytes). Give it another name "
                "there (features).",
                parameter="features",
            )
        bad = next((sign for sign in name if sign in dialect.refused), "")
        if bad:
            raise ParameterError(
                f"a column in this dialect has no {bad!r} in its name. Got {name[:40]!r}. Give it "
                "another name there (features).",
                parameter="features",
            )
    twice = [name for name, count in Counter(map(str.casefold, names)).items() if count > 1]
    if twice:
        raise ParameterError(
            f"databases do not tell upper from lower case in names of columns, and two features "
            f"are called {twice[0]!r}: give one of them another name there (features).",
            parameter="features",
        )


def _write(form: ScoreForm, settings: ExportSettings) -> bytes:
    _check_names(form, lookup(DIALECTS, settings.dialect, "dialect"))
    expression = _expression(form, settings.dialect, settings)
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
    sign = DIALECTS[settings.dialect].quote
    table = sign + settings.name.replace(sign, sign * 2) + sign
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
    holds=frozenset({"trees", "pieces", "probability", "text"}),
    takes=frozenset({"shift", "probability", "dialect"}),
    trial_cells=1_000_000,
    reorders=lambda form: max(len(form.steps), len(form.trees), len(form.pieces)) > _PLAIN_SUM,
)
