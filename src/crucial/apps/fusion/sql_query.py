"""A learned fusion as one SQL query over a table of result lists, with the same scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from crucial.apps.fusion.normalise import LARGE, SCALE
from crucial.apps.fusion.plan import FusionPlan
from crucial.errors import NotRankedError
from crucial.model.export.form import ScoreForm
from crucial.model.export.sql_dialects import DIALECTS, Dialect
from crucial.model.export.sql_trial import for_sqlite, sqlite_connection
from crucial.model.export.sql_writer import SqlWriter
from crucial.model.export.sqlite_numbers import exact_numbers, sqlite_module
from crucial.parameters import lookup

__all__ = ["TABLE", "by_query", "fusion_query"]

#: Name of the table of result lists.
TABLE = "results"
# Below the first, float32 numbers are multiples of one number; adding and taking away the second
# rounds to them. Above it, (x - c x) + c x is x rounded to 24 bits (Dekker 1971), ties to even.
_TINY, _ROUND, _SPLIT = 2.0**-126, 1.5 * 2.0**-97, 2.0**29 + 1.0


def fusion_query(plan: FusionPlan, form: ScoreForm, dialect: str, table: str | None) -> str:
    """Return a query that gives query, doc and score, best first.

    Parameters
    ----------
    plan : FusionPlan
    form : ScoreForm
        That of the fusion's model.
    dialect : str
    table : str, optional
        Has the columns run, query, doc and score; `TABLE` by default.
    """
    own = lookup(DIALECTS, dialect, "dialect")
    parts = _Parts(plan, own, own.name(table or TABLE))
    columns = tuple(f"c{at}" for at in range(form.n_features))
    score = SqlWriter(replace(form, names=columns), own, numbers=True).total()
    q = own.name
    out = f"SELECT {q('query')}, {q('doc')},\n{score}\nAS {q('score')}\nFROM {q('pooled')}"
    if plan.extra is not None:
        out = f"{out.rpartition('FROM ')[0]}FROM {q('placed')}"
    order = f"{q('query')}, {q('score')} DESC, {parts.doc} DESC"
    text = "WITH RECURSIVE " if parts.needs_sums else "WITH "
    text += ",\n".join(parts.steps()) + f"\nSELECT * FROM (\n{out}\n) AS {q('fused')}\n"
    text += f"ORDER BY {order}\n"
    if dialect in ("ansi", "sqlite"):
        text = exact_numbers(text)
    comments = (
        "-- The scores of a learned fusion: query, doc and score, best first.",
        f"-- Dialect: {dialect}. From a table with the columns run, query, doc and score, in which",
        "-- a run names a document once per query, and every score is a finite number. Positions",
        "-- are computed from the scores; a rank that the table may have is not read.",
    )
    return "\n".join([*comments, text])


@dataclass(frozen=True)
class _Parts:
    """Writes the subqueries of a plan: lists, scales of scores, one column per feature."""

    plan: FusionPlan
    dialect: Dialect
    table: str

    @property
    def scales(self) -> list[str]:
        """The normalisations that are needed."""
        found = {self.plan.scores}
        if self.plan.extra is not None and self.plan.extra.method != "rrf":
            found.add(self.plan.extra.normalise)
        return sorted(one for one in found if one is not None)

    @property
    def needs_sums(self) -> bool:
        return "z-score" in self.scales

    @property
    def doc(self) -> str:
        """A document's name for ties, by code points."""
        name, own = self.dialect.name("doc"), self.dialect
        return f"CAST({name} AS {own.words}){own.text_order}"

    def steps(self) -> list[str]:
        """Return the subqueries in their order."""
        steps = [self._listed(), self._sized()]
        if self.needs_sums:
            steps += [self._shared(), *self._sums("share", "shared", "totals")]
            steps += [self._centred(), *self._sums("square", "centred", "squares")]
        steps += [self._scaled(), self._rounded(), self._pooled()]
        if self.plan.extra is not None:
            steps.append(self._placed())
        return steps

    def _step(self, name: str, text: str) -> str:
        return f"{self.dialect.name(name)} AS{self.dialect.keeps} (\n{text}\n)"

    def _double(self, text: str) -> str:
        return f"CAST({text} AS {self.dialect.double})"

    def _listed(self) -> str:
        """Return the lists, with positions; only runs of the fusion."""
        q, score = self.dialect.name, self._double(self.dialect.name("score"))
        lists = f"PARTITION BY {q('run')}, {q('query')}"
        runs = ", ".join(map(self.dialect.text, self.plan.runs))
        return self._step(
            "listed",
            f"SELECT {q('run')}, {q('query')}, {q('doc')}, {score} AS {q('score')},\n"
            f"ROW_NUMBER() OVER ({lists} ORDER BY {score} DESC, {self.doc} DESC) AS {q('place')},\n"
            f"COUNT(*) OVER ({lists}) AS {q('n')},\n"
            f"MAX({score}) OVER ({lists}) AS {q('best')},\n"
            f"MIN({score}) OVER ({lists}) AS {q('worst')}\n"
            f"FROM {self.table} WHERE {q('run')} IN ({runs})",
        )

    def _sized(self) -> str:
        """Return the lists with very large scores scaled, which changes no share."""
        q, number = self.dialect.name, self.dialect.literal
        large = f"ABS({q('best')}) > {number(LARGE)} OR ABS({q('worst')}) > {number(LARGE)}"
        factor = f"CASE WHEN {large} THEN {number(SCALE)} ELSE {number(1.0)} END"
        scaled = ", ".join(f"{q(one)} * {factor} AS {q(one)}" for one in ("score", "best", "worst"))
        return self._step(
            "sized",
            f"SELECT {q('run')}, {q('query')}, {q('doc')}, {q('place')}, {q('n')}, {scaled}\n"
            f"FROM {q('listed')}",
        )

    def _sums(self, column: str, source: str, name: str) -> list[str]:
        """Return running sums of the lists, each from its first document to its last."""
        q = self.dialect.name
        key = ("run", "query", "place", "n")
        own = ", ".join(f"l.{q(one)}" for one in key)
        names = ", ".join([*map(q, key), q("total")])
        zero = self.dialect.literal(0.0)
        running = (
            f"{q(name)} ({names}) AS (\n"
            f"SELECT {own}, {zero} + l.{q(column)} FROM {q(source)} AS l WHERE l.{q('place')} = 1\n"
            f"UNION ALL\n"
            f"SELECT {own}, t.{q('total')} + l.{q(column)}\n"
            f"FROM {q(name)} AS t JOIN {q(source)} AS l ON l.{q('run')} = t.{q('run')}\n"
            f"AND l.{q('query')} = t.{q('query')} AND l.{q('place')} = t.{q('place')} + 1\n)"
        )
        mean = f"{q('total')} / {self._double(q('n'))}"
        ends = self._step(
            f"mean {name}",
            f"SELECT {q('run')}, {q('query')}, {mean} AS {q('mean')} FROM {q(name)}\n"
            f"WHERE {q('place')} = {q('n')}",
        )
        return [running, ends]

    def _joined(self, source: str, name: str) -> str:
        q = self.dialect.name
        return (
            f"FROM {q(source)} AS l JOIN {q(f'mean {name}')} AS m ON m.{q('run')} = l.{q('run')}\n"
            f"AND m.{q('query')} = l.{q('query')}"
        )

    def _min_max(self) -> str:
        """Return the share of a score of ``sized AS l`` in the range of its list."""
        q, zero = self.dialect.name, self.dialect.literal(0.0)
        score, best, worst = (f"l.{q(name)}" for name in ("score", "best", "worst"))
        share = f"({score} - {worst}) / ({best} - {worst})"
        return f"CASE WHEN {best} - {worst} > {zero} THEN {share} ELSE {zero} END"

    def _shared(self) -> str:
        """Return the lists with shares, from which z-scores are computed."""
        q = self.dialect.name
        return self._step(
            "shared", f"SELECT l.*, {self._min_max()} AS {q('share')}\nFROM {q('sized')} AS l"
        )

    def _centred(self) -> str:
        q = self.dialect.name
        away = f"(l.{q('share')} - m.{q('mean')})"
        return self._step(
            "centred",
            f"SELECT l.*, {away} AS {q('away')}, {away} * {away} AS {q('square')}\n"
            f"{self._joined('shared', 'totals')}",
        )

    def _scaled(self) -> str:
        """Return the values of every document in every list, as doubles."""
        q, number = self.dialect.name, self.dialect.literal
        one, place, n = number(1.0), self._double(f"l.{q('place')}"), self._double(f"l.{q('n')}")
        spread = f"SQRT(m.{q('mean')})"
        values = {
            "min-max": self._min_max(),
            "rank": f"{one} - ({place} - {one}) / {n}",
            "z-score": f"CASE WHEN {spread} > {number(0.0)} THEN l.{q('away')} / {spread} "
            f"ELSE {number(0.0)} END",
        }
        k = number(float(self.plan.k))
        chosen = [f"{one} / ({k} + {place}) AS {q('reciprocal')}"]
        if self.plan.extra is not None:
            chosen.append(
                f"{one} / ({number(float(self.plan.extra.k))} + {place}) AS {q('extra rrf')}"
            )
        chosen += [f"{values[scale]} AS {q(scale)}" for scale in self.scales]
        source = f"FROM {q('sized')} AS l"
        if self.needs_sums:
            source = self._joined("centred", "squares")
        return self._step(
            "scaled",
            f"SELECT l.{q('run')}, l.{q('query')}, l.{q('doc')}, -{place} AS {q('position')},\n"
            + ",\n".join(chosen)
            + f"\n{source}",
        )

    def _rounded(self) -> str:
        """Return the values as the model has them, which is as float32 numbers."""
        q = self.dialect.name
        chosen = ["s.*", self._single("reciprocal")]
        if self.plan.scores is not None:
            chosen.append(self._single(self.plan.scores))
        return self._step("rounded", f"SELECT {', '.join(chosen)}\nFROM {q('scaled')} AS s")

    def _single(self, column: str) -> str:
        q, number = self.dialect.name, self.dialect.literal
        x = f"s.{q(column)}"
        tiny = f"({x} + {number(_ROUND)}) - {number(_ROUND)}"
        split = f"({x} - {x} * {number(_SPLIT)}) + {x} * {number(_SPLIT)}"
        test = f"ABS({x}) < {number(_TINY)}"
        return f"CASE WHEN {test} THEN {tiny} ELSE {split} END AS {q(f'single {column}')}"

    def _pooled(self) -> str:
        """Return one row per query and document, with the columns of the plan."""
        q, plan = self.dialect.name, self.plan
        first = "single reciprocal" if plan.columns == "reciprocal" else "position"
        columns = [(run, first) for run in plan.runs]
        if plan.scores is not None:
            columns += [(run, f"single {plan.scores}") for run in plan.runs]
        shift = len(columns)
        if plan.columns == "positions+reciprocal":
            columns += [(run, "single reciprocal") for run in plan.runs]
        chosen = [
            f"{self._of_run(run, column)} AS {q(self._column(at, shift))}"
            for at, (run, column) in enumerate(columns)
        ]
        if plan.extra is not None:
            chosen.append(f"{self._extra()} AS {q('extra')}")
        return self._step(
            "pooled",
            f"SELECT {q('query')}, {q('doc')},\n"
            + ",\n".join(chosen)
            + f"\nFROM {q('rounded')} GROUP BY {q('query')}, {q('doc')}",
        )

    def _column(self, at: int, shift: int) -> str:
        """Return the name of a column; the extra ranking comes before the last reciprocals."""
        return f"c{at + (self.plan.extra is not None and at >= shift)}"

    def _of_run(self, run: str, column: str) -> str:
        q = self.dialect.name
        return f"MAX(CASE WHEN {q('run')} = {self.dialect.text(run)} THEN {q(column)} END)"

    def _extra(self) -> str:
        """Return the score of the extra rule, added in the order of the runs."""
        rule, zero = self.plan.extra, self.dialect.literal(0.0)
        assert rule is not None
        column = "extra rrf" if rule.method == "rrf" else rule.normalise
        parts = (f"COALESCE({self._of_run(run, column)}, {zero})" for run in self.plan.runs)
        total = " + ".join([zero, *parts])
        return f"({total}) * {self._double('COUNT(*)')}" if rule.method == "combmnz" else total

    def _placed(self) -> str:
        """Return the rows with minus the position by the extra rule."""
        q = self.dialect.name
        order = f"PARTITION BY {q('query')} ORDER BY {q('extra')} DESC, {self.doc} DESC"
        place = self._double(f"ROW_NUMBER() OVER ({order})")
        at = len(self.plan.runs) * (1 + (self.plan.scores is not None))
        return self._step(
            "placed", f"SELECT p.*, -{place} AS {q(f'c{at}')}\nFROM {q('pooled')} AS p"
        )


def by_query(
    content: str,
    queries: Sequence[Mapping[str, Sequence[tuple[str, float]]]],
    dialect: str,
    table: str | None,
) -> tuple[list[list[tuple[str, float]]], str]:
    """Fuse lists by a query, in the database of its dialect or else in SQLite.

    Returns
    -------
    list of list of (doc, score)
        Per query.
    str
        The database.
    """
    rows = [
        (run, at, doc, score)
        for at, lists in enumerate(queries)
        for run, found in lists.items()
        for doc, score in found
    ]
    name = '"' + (table or TABLE).replace('"', '""') + '"'
    columns = '"run", "query", "doc", "score"'
    fused: list[list[tuple[str, float]]] = [[] for _ in queries]
    if dialect == "duckdb":
        try:
            import duckdb
        except ImportError:
            pass
        else:
            with duckdb.connect() as connection:
                # (one column at a time is quicker than row by row)
                given = zip(("run", "query", "doc", "score"), zip(*rows, strict=True), strict=True)
                kinds = {"query": np.int64, "score": np.float64}
                connection.register(
                    "given", {key: np.array(own, kinds.get(key, object)) for key, own in given}
                )
                connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
                for query, doc, score in connection.execute(content).fetchall():
                    fused[query].append((doc, score))
            return fused, f"duckdb {duckdb.__version__}"
    lite = sqlite_connection()
    try:
        lite.execute(f"CREATE TABLE {name} ({columns})")
        lite.executemany(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", rows)
        for query, doc, score in lite.execute(for_sqlite(content, dialect)):
            fused[query].append((doc, score))
    except sqlite_module().Error as error:
        raise NotRankedError(
            f"SQLite cannot run the query of {len(content):,} bytes ({error}), so that it cannot "
            "be verified here: skip it with verify=False."
        ) from error
    finally:
        lite.close()
    return fused, f"sqlite {sqlite_module().sqlite_version}"
