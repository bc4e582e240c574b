"""Compare systems: differences to a baseline, with tests; average ranks over several tasks."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from html import escape
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from crucial.data.dataset import Dataset, Run
from crucial.data.groups import Groups
from crucial.errors import DataError, FileError, ParameterError, about
from crucial.io.runs import as_qrels, as_run
from crucial.io.writing import table_kind_of, write_columns
from crucial.measures.base import EMPTY, Aggregate, Measure, Prepared, summarise
from crucial.measures.evaluation import Evaluation, evaluate, evaluate_run, interval_notes
from crucial.measures.intervals import (
    ROW_TESTS,
    SAME,
    TESTS,
    Interval,
    PairedTest,
    RowSampling,
    bootstrap_interval,
    holm,
    paired_test,
    row_difference,
    row_interval,
    win_tie_loss,
    within_folds,
)
from crucial.measures.lists import TIES, JudgedLists, as_numbers
from crucial.measures.names import Measures, default_measure, get_measures
from crucial.model.file import Model
from crucial.parameters import at_least, between, check, lookup, mapping, none_or, one_of
from crucial.results import Frame, Result, as_frame, columns_of, json_value, text_table
from crucial.types import Floats, Ints, PathLike, VectorLike
from crucial.wording import counted, interval_text, number_text, p_text, printable

# --- Tables of rows: to a data frame, or to a file that other programs read


#: A row of a table: cells by name of the column.
Row: TypeAlias = dict[str, Any]


def write_rows(path: PathLike, rows: Sequence[Row]) -> None:
    """Write rows as CSV, TSV, JSON, JSON lines or parquet, as the name of the file ends.

    Raises
    ------
    FileError
        The name has another ending, or the file cannot be written.
    """
    if table_kind_of(path) is None:
        raise FileError(path, "the name must end in .csv, .tsv, .json, .jsonl or .parquet.")
    columns = {name: [json_value(one) for one in some] for name, some in columns_of(rows).items()}
    write_columns(path, columns)


# --- Values of several systems on the same queries, folds or tasks


#: What a block can be, singular and plural.
UNITS = {"query": "queries", "fold": "folds", "task": "tasks"}


@dataclass(frozen=True, eq=False)
class Blocks:
    """The values of one measure, block by block.

    Attributes
    ----------
    measure : str
    higher_is_better : bool
    aggregate : {"mean", "pool", "sum"}
        How the values of blocks are combined.
    unit : {"query", "fold", "task"}
        What a block is; without queries a fold is one list.
    names : list of str
        Names of the blocks.
    systems : tuple of str
    values : array of shape (n_blocks, n_systems)
        NaN where a system has none.
    weights : array of shape (n_blocks,) or None
        Weights of the blocks in a pooled value.
    """

    measure: str
    higher_is_better: bool
    aggregate: Aggregate
    unit: str
    names: list[str]
    systems: tuple[str, ...]
    values: Floats
    weights: Floats | None = None

    def column(self, system: str) -> Floats:
        """Return the values of a system."""
        return np.asarray(self.values[:, self.systems.index(system)])

    def value(self, system: str) -> tuple[float, int]:
        """Return one number over the blocks that have a value, and how many have."""
        value, count, _ = summarise(self.column(system), self.weights, self.aggregate, "skip")
        return value, count

    def interval(self, system: str, level: float, seed: int) -> Interval | None:
        """Return the bootstrap interval of that number; None with fewer than two blocks."""
        values, unit = self.column(system), UNITS[self.unit]
        how = (self.weights, self.aggregate)
        return bootstrap_interval(values, *how, level=level, random_state=seed, unit=unit)


# --- Result of a comparison of systems with a baseline


@dataclass(frozen=True)
class Difference:
    """A system compared with the baseline, by one measure.

    Attributes
    ----------
    measure, system : str
    value, low, high : float
        Value of the system and its interval; NaN without one.
    difference, difference_low, difference_high : float
        System minus baseline over the blocks where both have a value, with a paired interval;
        0 for the baseline itself.
    p, p_holm : float
        p-value of the paired test, and the same corrected (Holm) for the number of systems
        compared with the baseline. NaN for the baseline.
    wins, ties, losses : int
        Blocks in which the system is better, equal, worse; 0 where the blocks are rows.
    n : int
        Blocks where both have a value.
    error, difference_error : float or None
        Standard errors of the ends of both intervals that are due to the draws; None where
        nothing was drawn.
    """

    measure: str
    system: str
    value: float
    low: float
    high: float
    difference: float
    difference_low: float
    difference_high: float
    p: float
    p_holm: float
    wins: int
    ties: int
    losses: int
    n: int
    error: float | None = None
    difference_error: float | None = None

    @property
    def interval_text(self) -> str:
        """The interval of the value, with the digits that stand."""
        return interval_text((self.low, self.high), self.error)

    @property
    def difference_text(self) -> str:
        """The interval of the difference, with the digits that stand."""
        ends = (self.difference_low, self.difference_high)
        return interval_text(ends, self.difference_error, sign="+")


@dataclass(frozen=True)
class Mover:
    """A block in which a system differs much from the baseline."""

    measure: str
    system: str
    block: str
    baseline_value: float
    value: float
    change: float


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """Systems compared with a baseline.

    Attributes
    ----------
    baseline : str
    differences : list of Difference
        Measure by measure, the baseline first.
    movers : list of Mover
        For each measure and system, the blocks with the largest gains and losses.
    unit : str
        What a block is: "query", "fold" or "task"; or "row" without queries.
    test : {"permutation", "t", "rows"}
        "rows": DeLong's test for shares of pairs, a bootstrap over rows for other measures.
    level : float
        Confidence level of the intervals.
    notes : list of str
        What else to know about the numbers.
    methods : list of str
        How intervals and p-values were found, with the draws and their seed.
    """

    _bars: ClassVar[tuple[str, ...]] = ("difference",)

    baseline: str
    differences: list[Difference]
    movers: list[Mover]
    unit: str
    test: str
    level: float
    notes: list[str] = field(default_factory=list)
    methods: list[str] = field(default_factory=list)

    def __getitem__(self, key: tuple[str, str]) -> Difference:
        """Find a difference by (measure, system)."""
        found = {(one.measure, one.system): one for one in self.differences}
        if key not in found:
            known = ", ".join(f"({m!r}, {s!r})" for m, s in found)
            raise KeyError(f"no difference {key!r}; there are: {known}")
        return found[key]

    def to_rows(self) -> list[Row]:
        """Return one dict per measure and system."""
        return [asdict(one) | {"baseline": self.baseline} for one in self.differences]

    def text(self, width: int = 100, *, values: bool = True) -> str:
        """Return one table per measure, and the biggest movers of the first measure.

        Parameters
        ----------
        width : int
        values : bool
            Also show the systems' own values, and not only the differences.
        """
        lines = [f"against {printable(self.baseline, 80)}, paired by {self.unit}"]
        for measure in dict.fromkeys(one.measure for one in self.differences):
            lines += self._table(measure, width, values)
        first = self.differences[0].measure
        moved = [one for one in self.movers if one.measure == first]
        if moved:
            heads = ["system", self.unit, "baseline", "system's", "change"]
            rows = []
            for one in moved:
                names = (printable(one.system, 80), printable(one.block, 80))
                both = (number_text(one.baseline_value), number_text(one.value))
                rows.append([*names, *both, number_text(one.change, "+")])
            lines += [f"biggest movers, {first}", *text_table(heads, rows, (0, 1), width)]
        return "\n".join([*lines, *self.methods, *self.notes])

    def _table(self, measure: str, width: int, values: bool) -> list[str]:
        """Return the lines of the table of one measure."""
        span, counts = f"{self.level:.0%} interval", self.unit != "row"
        heads = [measure, *(["value", span] if values else []), "difference", span, "p", "p Holm"]
        heads += ["won/tied/lost"] * counts  # (a row alone is neither won nor lost)
        rows = []
        for one in self.differences:
            if one.measure != measure:
                continue
            cells = [printable(one.system, 80)]
            cells += [number_text(one.value), one.interval_text] if values else []
            if one.system == self.baseline:
                cells += ["baseline", *[""] * (3 + counts)]
            else:
                cells += [number_text(one.difference, "+"), one.difference_text]
                cells += [p_text(one.p), p_text(one.p_holm)]
                cells += [f"{one.wins}/{one.ties}/{one.losses}"] * counts
            rows.append(cells)
        return [*text_table(heads, rows, width=width), ""]


# --- Compare systems with a baseline: differences with intervals, tests, wins and losses, movers


_TESTS = {"permutation": "sign-flip permutation test", "t": "paired t test"}


def compare_blocks(
    tables: Sequence[Blocks],
    baseline: str | None = None,
    *,
    test: str = "permutation",
    resamples: int = 10_000,
    level: float = 0.95,
    movers: int = 5,
    random_state: int = 0,
    notes: Iterable[str] = (),
) -> Comparison:
    """Compare every system with the baseline on the same blocks.

    Parameters
    ----------
    tables : sequence of Blocks
        One per measure, of the same systems.
    baseline : str, optional
        The first system by default.
    test, resamples, level, random_state
        As in `crucial.measures.intervals.paired_test`.
    movers : int
        How many blocks with the largest gains to name, and as many with the largest losses.
    notes : iterable of str
        Shown below the table.
    """
    systems = tables[0].systems
    if len(systems) < 2:
        raise DataError(f"a comparison needs two systems or more. Got {len(systems)}.")
    base = systems[0] if baseline is None else baseline
    lookup(dict.fromkeys(systems), base, "baseline")
    check("compare", "level", level, between(0.0, 1.0, low_open=True))
    check("compare", "movers", movers, at_least(0))
    differences: list[Difference] = []
    moved: list[Mover] = []
    methods: list[tuple[str, str, int | None]] = []
    tests: list[PairedTest] = []
    for table in tables:
        found = []
        for system in (base, *(one for one in systems if one != base)):
            one, own, paired = _difference(
                table, base, system, test, resamples, level, random_state
            )
            found.append(one)
            tests += [] if paired is None else [paired]
            intervals = [own, None if paired is None else paired.interval]
            methods += [(table.measure, i.method, i.draws) for i in intervals if i is not None]
            if system != base:
                moved += _movers(table, base, system, movers)
        differences += corrected(found)
    how = [
        *interval_notes(methods, level, random_state),
        _test_note(tests, test, tables[0].unit, random_state),
    ]
    return Comparison(base, differences, moved, tables[0].unit, test, level, list(notes), how)


def corrected(found: Sequence[Difference]) -> list[Difference]:
    """Return the differences of a measure with p-values corrected for their number (Holm)."""
    return [replace(one, p_holm=float(p)) for one, p in zip(found, holm([one.p for one in found]))]


def _test_note(tests: Sequence[PairedTest], test: str, unit: str, seed: int) -> str:
    """Return the note on the p-values."""
    draws = next((one.draws for one in tests if one.draws is not None), None)
    drawn = "" if draws is None else f", {counted(draws, 'draw')}, seed {seed}"
    return (
        f"p: {_TESTS[test]} over {UNITS[unit]}{drawn}, two-sided; Holm's correction within a "
        "measure"
    )


def _difference(
    table: Blocks, base: str, system: str, test: str, resamples: int, level: float, seed: int
) -> tuple[Difference, Interval | None, PairedTest | None]:
    """Compare one system with the baseline, before Holm's correction."""
    value, n = table.value(system)
    own = table.interval(system, level, seed)
    low, high, error = _ends(own)
    head = (table.measure, system, value, low, high)
    if system == base:
        same = Difference(*head, 0.0, 0.0, 0.0, math.nan, math.nan, 0, n, 0, n, error)
        return same, own, None
    first, second = table.column(base), table.column(system)
    found = paired_test(
        first, second, weights=table.weights, how=table.aggregate,
        method=test, resamples=resamples, level=level, random_state=seed,
    )  # fmt: skip
    counts = win_tie_loss(first, second, table.higher_is_better)
    errors = (error, _ends(found.interval)[2])
    span = (found.difference, found.low, found.high)
    return Difference(*head, *span, found.p, math.nan, *counts, found.n, *errors), own, found


def _ends(interval: Interval | None) -> tuple[float, float, float | None]:
    """Return both ends of an interval and their standard error; NaN and None without one."""
    return (math.nan, math.nan, None) if interval is None else (*interval.ends, interval.error)


def _movers(table: Blocks, base: str, system: str, count: int) -> list[Mover]:
    """Return the blocks with the largest gains, then those with the largest losses."""
    first, second = table.column(base), table.column(system)
    change = second - first
    sign = 1.0 if table.higher_is_better else -1.0
    gain = sign * np.where(np.isnan(change), 0.0, change)
    order = np.argsort(-gain, kind="stable")
    up = [int(i) for i in order[:count] if gain[i] > SAME]
    down = [int(i) for i in order[::-1][:count] if gain[i] < -SAME]
    rows = np.stack([first, second, change], axis=1).tolist()
    return [Mover(table.measure, system, table.names[i], *rows[i]) for i in (*up, *down)]


def compare_runs(
    qrels: object,
    runs: Mapping[str, object] | Iterable[object],
    measures: Measures = ("ndcg@10",),
    *,
    baseline: str | None = None,
    test: str = "permutation",
    ties: str = "expected",
    empty: str | int = "skip",
    unjudged: str = "not_relevant",
    missing: str = "count",
    resamples: int = 10_000,
    level: float = 0.95,
    movers: int = 5,
    random_state: int = 0,
) -> Comparison:
    """Compare runs with a baseline, query by query.

    Parameters
    ----------
    qrels : Qrels, path, frame or mapping
        Any form that `crucial.io.as_qrels` accepts.
    runs : mapping from name to run, or list of runs
        Each in a form that `crucial.io.as_run` accepts; in a list their tags are their names.
    measures, ties, empty, unjudged, missing
        As in `crucial.evaluate_run`.
    baseline : str, optional
        Name of a run; the first by default.
    test : {"permutation", "t"}
        Paired test over queries; p-values are also corrected for the number of runs (Holm).
    resamples : int
        Permutations to draw where there are too many to try all.
    level : float
        Confidence level of the intervals (bootstrap over queries).
    movers : int
        How many queries with the largest gains to name, and as many with the largest losses.
    random_state : int
        Seed of all draws.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from types import SimpleNamespace as Table
    >>> qrels = Table(qid=["1", "2", "3"], doc=["a", "a", "a"], relevance=[1, 1, 1])
    >>> old = Table(qid=["1", "1", "2", "2", "3"], doc=["b", "a", "b", "a", "a"],
    ...             score=[2.0, 1.0, 2.0, 1.0, 1.0])
    >>> new = Table(qid=["1", "2", "3"], doc=["a", "a", "a"], score=[1.0, 1.0, 1.0])
    >>> found = compare_runs(qrels, {"old": old, "new": new}, "mrr")["mrr", "new"]
    >>> round(found.difference, 4), found.wins, found.ties, found.losses, found.p
    (0.3333, 2, 1, 0, 0.5)
    """
    named = _named_runs(runs)
    judged = as_qrels(qrels)
    get_measures(measures, required=True)
    if len(named) < 2:
        raise ParameterError(f"runs: a comparison needs two or more. Got {len(named)}.")
    if baseline is not None:
        lookup(dict.fromkeys(named), baseline, "baseline")
    found: dict[str, Evaluation] = {}
    for name, run in named.items():
        with about(f"run {name!r}"):
            found[name] = evaluate_run(
                judged, run, measures, ties=ties, empty=empty, unjudged=unjudged, missing=missing
            )
    notes = []
    for name, one in found.items():
        if one.n_missing:
            what = "counted as empty lists" if missing == "count" else "left out"
            text = counted(one.n_missing, "judged query")
            notes.append(f"{name}: {text} without a document, {what}")
        if one.n_unjudged_queries:
            text = counted(one.n_unjudged_queries, "query")
            notes.append(f"{name}: {text} without judgement, left out")
    how = {"test": test, "resamples": resamples, "level": level, "random_state": random_state}
    return compare_evaluations(found, baseline, empty=empty, movers=movers, notes=notes, **how)


def compare_evaluations(
    found: Mapping[str, Evaluation],
    baseline: str | None = None,
    *,
    empty: str | int = "skip",
    **options: Any,
) -> Comparison:
    """Compare evaluations on the same queries; options as in `compare_blocks`."""
    measures = next(iter(found.values())).results
    tables = [_query_blocks(measure, found, empty) for measure in measures]
    return compare_blocks(tables, baseline, **options)


def _named_runs(runs: Mapping[str, object] | Iterable[object]) -> dict[str, Run]:
    """Return runs by name; in a list, by tag or number."""
    if isinstance(runs, Mapping):
        return {str(name): as_run(run, str(name)) for name, run in runs.items()}
    single = isinstance(runs, str | os.PathLike) or hasattr(runs, "columns")
    if single or not isinstance(runs, Iterable):
        raise ParameterError(
            "runs: expected a list of runs, or a mapping from names to them. "
            f"Got {type(runs).__name__}."
        )
    named: dict[str, Run] = {}
    for number, one in enumerate(runs, start=1):
        run = as_run(one, f"run {number}")
        tag = run.tag if isinstance(run.tag, str) else str(run.tag[0])
        name = tag or f"run {number}"
        if name in named:
            raise ParameterError(f"two runs have the tag {name!r}; give a mapping with names.")
        named[name] = run
    return named


def _query_blocks(measure: str, found: Mapping[str, Evaluation], empty: str | int) -> Blocks:
    """Return the values per query of all runs, in the order of the query ids."""
    place: dict[object, int] = {}
    for one in found.values():
        for qid in one.per_query["qid"].tolist():
            place.setdefault(qid, len(place))
    values = np.full((len(place), len(found)), np.nan)
    weights: Floats | None = None
    for column, one in enumerate(found.values()):
        rows = [place[qid] for qid in one.per_query["qid"].tolist()]
        mine = one.per_query[measure]
        values[rows, column] = mine if empty == "skip" else np.where(np.isnan(mine), empty, mine)
        mass = one.results[measure].weights
        if mass is not None:
            weights = np.full(len(place), np.nan) if weights is None else weights
            if not np.all(np.isnan(weights[rows]) | (weights[rows] == mass)):
                raise DataError(
                    f"{measure} weighs queries by their pairs, which differ between the runs "
                    "because unjudged documents count; use unjudged='drop', or a measure that "
                    "averages queries."
                )
            weights[rows] = mass
    about = next(iter(found.values())).results[measure].measure
    names = [str(qid) for qid in place]
    rule = (about.higher_is_better, about.aggregate)
    return Blocks(measure, *rule, "query", names, tuple(found), values, weights)


# --- Compare rankings of the same rows, by rows


class RowComparison:
    """Rankings of one list, or of folds, compared by rows.

    Parameters
    ----------
    judged : JudgedLists
        Labels of the rows.
    scores : mapping from name to array of shape (n_rows,), or callable
        The scores of every ranking, or a function of a measure that returns them.
    base : str
        Name of the baseline.
    sampling : RowSampling
    rows : int array of shape (n_rows,), optional
        Which row of the data each one is, where folds test some rows more than once.
    folds : bool
        Whether the lists are folds, which the names of the methods then say.
    """

    def __init__(
        self,
        judged: JudgedLists,
        scores: Mapping[str, Floats] | Callable[[str], Mapping[str, Floats]],
        base: str,
        sampling: RowSampling,
        rows: Ints | None = None,
        folds: bool = False,
    ) -> None:
        self.judged, self.base, self.sampling = judged, base, sampling
        self.scores = scores if callable(scores) else lambda measure: scores
        self.rows, self.folds = rows, folds
        self.methods: list[tuple[str, str, int | None]] = []
        self.tests: dict[str, list[str]] = {}

    def compare(self, measures: Iterable[Measure]) -> Comparison:
        """Compare every ranking with the baseline by every measure."""
        differences: list[Difference] = []
        for measure in measures:
            names = [self.base, *(n for n in self.scores(measure.name) if n != self.base)]
            differences += corrected([self._difference(measure, name) for name in names])
        level, seed = self.sampling.level, self.sampling.random_state
        several = len(self.tests) > 1
        tests = "; ".join(
            ROW_TESTS[test] + (f" ({', '.join(dict.fromkeys(of))})" if several else "")
            for test, of in self.tests.items()
        )
        how = [
            *interval_notes(self.methods, level, seed if isinstance(seed, int) else None),
            f"p: {tests}, two-sided; Holm's correction within a measure",
        ]
        return Comparison(self.base, differences, [], "row", "rows", level, [], how)

    def interval(self, measure: Measure, name: str) -> Interval | None:
        """Return the interval of one ranking."""
        scores = self.scores(measure.name)[name]
        return self._in_folds(row_interval(measure, self.judged, scores, self.sampling, self.rows))

    def _in_folds(self, found: Interval | None) -> Interval | None:
        """Return an interval with the name of its method, which folds change."""
        if found is None or not self.folds:
            return found
        return replace(found, method=within_folds(found.method))

    def _difference(self, measure: Measure, name: str) -> Difference:
        """Compare one ranking with the baseline, before Holm's correction."""
        judged, n = self.judged, len(self.judged.y)
        base, scores = (self.scores(measure.name)[one] for one in (self.base, name))
        prepared = Prepared(measure, judged, ties=self.sampling.ties, empty=self.sampling.empty)
        value = prepared(scores)
        own = self.interval(measure, name)
        span: Interval | None = Interval(0.0, 0.0, "")
        change, p = 0.0, math.nan
        if name != self.base:
            change, span, p, test = row_difference(
                measure, judged, base, scores, self.sampling, self.rows
            )
            self.tests.setdefault(test, []).append(measure.name)
        for one in (own, self._in_folds(span)):
            if one is not None and (one is own or one.draws is not None):
                self.methods.append((measure.name, one.method, one.draws))
        (low, high, error), (below, above, span_error) = _ends(own), _ends(span)
        head = (measure.name, name, value, low, high, change, below, above)
        return Difference(*head, p, math.nan, 0, 0, 0, n, error, span_error)


# --- Compare rankings of the same labelled rows, with queries or without


def compare_rankings(
    y: VectorLike,
    rankings: Mapping[str, VectorLike],
    measures: Measures = ("auc",),
    *,
    qid: Groups | VectorLike | None = None,
    sample_weight: VectorLike | None = None,
    ids: VectorLike | None = None,
    baseline: str | None = None,
    test: str = "permutation",
    ties: str = "expected",
    empty: str | int = "skip",
    level: float = 0.95,
    resamples: int | None = None,
    movers: int = 5,
    random_state: int = 0,
) -> Comparison:
    """Compare rankings of the same rows with a baseline.

    With queries, rankings are compared query by query, as `crucial.compare_runs` does. Without,
    intervals and tests come from the rows: DeLong's for shares of pairs such as the AUC, also
    weighted; else a bootstrap over the rows of each label.

    Parameters
    ----------
    y : array of shape (n_rows,)
        Labels, higher is better.
    rankings : mapping from name to array of shape (n_rows,)
        Scores of the rows; a higher score ranks first.
    measures : str, Measure, or several of them
    qid : array of shape (n_rows,), optional
        Query of each row; None or one query compares by rows.
    sample_weight, ids, ties, empty
        As in `crucial.evaluate`.
    baseline : str, optional
        Name of a ranking; the first by default.
    test : {"permutation", "t"}
        With queries: the paired test.
    level : float
        Confidence level of the intervals.
    resamples : int, optional
        Without queries: draws of the bootstrap, by default as many as the third digit of an
        interval needs. With queries: permutations to draw, 10,000 by default.
    movers : int
        With queries: length of the lists of queries that gained and lost most.
    random_state : int
        Seed of all draws.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> y = [1, 1, 1, 0, 0, 0]
    >>> found = compare_rankings(y, {"old": [1, 5, 3, 4, 2, 6], "new": [6, 5, 3, 4, 2, 1]})
    >>> one = found["auc", "new"]
    >>> found.unit, round(one.difference, 4), round(one.p, 4)
    ('row', 0.5556, 0.1518)
    """
    check("compare_rankings", "rankings", rankings, mapping)
    named = {str(name): scores for name, scores in rankings.items()}
    if len(named) < 2:
        raise ParameterError(f"rankings: a comparison needs two or more. Got {len(named)}.")
    if baseline is not None:
        lookup(dict.fromkeys(named), baseline, "baseline")
    check("compare_rankings", "test", test, one_of(*TESTS))
    check("compare_rankings", "level", level, between(0.0, 1.0, low_open=True))
    check("compare_rankings", "resamples", resamples, none_or(at_least(10)))
    judged = JudgedLists.from_labels(y, qid, sample_weight=sample_weight, ids=ids)
    scores: dict[str, Floats] = {}
    for name, one in named.items():
        with about(f"ranking {name!r}"):
            scores[name] = as_numbers(one, "scores", len(judged.y))
    if judged.n_queries > 1:
        found = {
            name: evaluate(
                judged.y, one, judged.groups, measures,
                ids=ids, sample_weight=sample_weight, ties=ties, empty=empty,
            )
            for name, one in scores.items()
        }  # fmt: skip
        return compare_evaluations(
            found, baseline, empty=empty, test=test, level=level, movers=movers,
            resamples=10_000 if resamples is None else resamples, random_state=random_state,
        )  # fmt: skip
    check("compare_rankings", "ties", ties, one_of(*TIES))
    check("compare_rankings", "empty", empty, one_of(*EMPTY))
    base = next(iter(scores)) if baseline is None else baseline
    sampling = RowSampling(level, resamples, random_state, ties, empty)
    by_rows = RowComparison(judged, scores, base, sampling)
    return by_rows.compare(get_measures(measures, required=True))


def compare_models(
    models: Mapping[str, tuple[Model, Dataset]],
    measures: Measures | None = None,
    *,
    n_jobs: int | None = None,
    **options: Any,
) -> Comparison:
    """Compare models on the same labelled rows.

    Parameters
    ----------
    models : mapping from name to (model, rows)
        Every model with the rows as it reads them; labels, queries and order are the same.
    measures : str, Measure, or several of them, optional
        Default: ndcg@10, or auc without queries or with labels below 0.
    n_jobs : int, optional
        Number of threads.
    **options
        As in `compare_rankings`.

    Raises
    ------
    DataError
        The rows have no labels.
    """
    rows = next(iter(models.values()))[1]
    if rows.y is None:
        raise DataError("the rows have no labels to compare by.")
    scores = {}
    for name, (model, data) in models.items():
        groups = Groups.from_qid(data.qid, data.n_rows)
        with about(f"model {name!r}"):
            scores[name] = model.predict(data.instances(), groups, n_jobs=n_jobs)
    measures = measures or default_measure(rows.y, rows.qid is not None)
    return compare_rankings(rows.y, scores, measures, qid=rows.qid, ids=rows.item, **options)


# --- Statistics of several rankers over several tasks: average ranks, Friedman's test, Nemenyi's
#
# Connamacher, Pancha, Liu & Ray (2019), section 5, compare rankers by them; the tests are those of
# Demšar (2006).


def ranks_of(values: ArrayLike, higher_is_better: bool = True) -> Floats:
    """Return the rank of every ranker in every block, 1 for the best; equal values share ranks.

    Parameters
    ----------
    values : array of shape (n_blocks, n_rankers)
        A block is a task, fold or query. NaN is refused.
    higher_is_better : bool

    Examples
    --------
    >>> ranks_of([[0.9, 0.5, 0.5], [0.1, 0.2, 0.3]]).tolist()
    [[1.0, 2.5, 2.5], [3.0, 2.0, 1.0]]
    """
    from scipy.stats import rankdata

    table = np.asarray(values, np.float64)
    if table.ndim != 2 or 0 in table.shape:
        raise DataError(
            f"values must be a table of blocks and rankers, neither empty. Got shape {table.shape}."
        )
    if np.isnan(table).any():
        row, column = (int(one) for one in np.argwhere(np.isnan(table))[0])
        raise DataError(
            f"values: ranker {column} has no value in block {row}; leave such blocks out."
        )
    # Values that differ by rounding alone are equal.
    steps = np.round(table / SAME / 4) if np.abs(table).max() < 1e3 else table
    return np.asarray(rankdata(-steps if higher_is_better else steps, axis=1), np.float64)


@dataclass(frozen=True)
class FriedmanTest:
    """Result of Friedman's test: do the rankers differ at all?

    Attributes
    ----------
    statistic, p : float
        Friedman's chi-square, corrected for equal ranks, and its p-value.
    f_statistic, f_p : float
        Iman and Davenport's less conservative form; infinite and 0 where all blocks agree.
    n_blocks, n_rankers : int
    """

    statistic: float
    p: float
    f_statistic: float
    f_p: float
    n_blocks: int
    n_rankers: int

    @property
    def text(self) -> str:
        """Both statistics in one line."""
        return (
            f"Friedman chi-square {self.statistic:.3f} over {counted(self.n_blocks, 'block')} and "
            f"{counted(self.n_rankers, 'ranker')}, p {p_text(self.p)}; Iman-Davenport F "
            f"{self.f_statistic:.3f}, p {p_text(self.f_p)}"
        )


def friedman_test(values: ArrayLike, higher_is_better: bool = True) -> FriedmanTest:
    """Test whether equally good rankers could have such average ranks.

    Parameters
    ----------
    values : array of shape (n_blocks, n_rankers), two rankers or more
    higher_is_better : bool

    Examples
    --------
    >>> found = friedman_test([[3, 2, 1], [3, 1, 2], [3, 2, 1], [2, 3, 1]])
    >>> round(found.statistic, 3), round(found.p, 4)
    (4.5, 0.1054)
    """
    from scipy.stats import chi2, f, tiecorrect

    ranks = ranks_of(values, higher_is_better)
    n, k = ranks.shape
    if k < 2:
        raise DataError("Friedman's test compares two rankers or more. Got 1.")
    spread = 12.0 * float(((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum()) * n / (k * (k + 1))
    untied = math.fsum(map(tiecorrect, ranks)) / n
    if untied <= 0.0:  # every ranker is equal in every block
        return FriedmanTest(0.0, 1.0, 0.0, 1.0, n, k)
    statistic = spread / untied
    rest = n * (k - 1) - statistic
    if n < 2:
        f_statistic, f_p = math.nan, math.nan
    elif rest <= 1e-9 * n:
        f_statistic, f_p = math.inf, 0.0
    else:
        f_statistic = (n - 1) * statistic / rest
        f_p = float(f.sf(f_statistic, k - 1, (k - 1) * (n - 1)))
    return FriedmanTest(statistic, float(chi2.sf(statistic, k - 1)), f_statistic, f_p, n, k)


def critical_difference(n_rankers: int, n_blocks: int, alpha: float = 0.05) -> float:
    """Return Nemenyi's critical difference: average ranks at least so far apart differ.

    ``q sqrt(k (k + 1) / (6 n))`` for k rankers and n blocks, where q is the studentized
    range at ``alpha`` over infinite degrees of freedom, divided by the root of 2.

    Examples
    --------
    >>> [round(critical_difference(3, n), 4) for n in (300, 357, 10)]
    [0.1914, 0.1754, 1.0481]
    """
    from scipy.stats import studentized_range

    check("critical_difference", "n_rankers", n_rankers, at_least(2))
    check("critical_difference", "n_blocks", n_blocks, at_least(1))
    check("critical_difference", "alpha", alpha, between(1e-6, 0.5))
    q = float(studentized_range.ppf(1 - alpha, n_rankers, np.inf)) / math.sqrt(2)
    return q * math.sqrt(n_rankers * (n_rankers + 1) / (6.0 * n_blocks))


# --- Average ranks and which of them differ: as data, text, SVG and picture


_SAME = " not significantly different"
_TRACK = 50  # characters of the axis in the text form


@dataclass(frozen=True, eq=False, repr=False)
class RankSummary(Result):
    """Average rank of each ranker, Friedman's test and Nemenyi's critical difference.

    Attributes
    ----------
    measure : str
    rankers : tuple of str
        Best average rank first.
    ranks : array of shape (n_rankers,)
        Average ranks; 1 is the best possible.
    friedman : FriedmanTest
    difference : float
        Average ranks at least so far apart differ, at ``alpha``.
    alpha : float
    unit : {"task", "fold", "query"}
        What the ranks were averaged over.
    n_blocks : int
        Blocks with a value for every ranker.
    n_left_out : int
        Blocks without.
    groups : tuple of (first, last)
        Places in ``rankers`` of the longest runs without a significant difference.
    absent : tuple of str
        Rankers without any value, which have no rank.
    """

    measure: str
    rankers: tuple[str, ...]
    ranks: Floats
    friedman: FriedmanTest
    difference: float
    alpha: float
    unit: str
    n_blocks: int
    n_left_out: int
    groups: tuple[tuple[int, int], ...]
    absent: tuple[str, ...] = ()

    _bars: ClassVar[tuple[str, ...]] = ("average_rank",)

    def to_frame(self) -> Frame:
        """Return one row per ranker."""
        gap = np.full(len(self.rankers), self.difference)
        columns: Row = {"ranker": self.rankers, "average_rank": self.ranks}
        return as_frame({**columns, "critical_difference": gap})

    @property
    def title(self) -> str:
        """The kind of ranks in one line."""
        left = f" ({self.n_left_out} left out)" if self.n_left_out else ""
        gone = f"; no value: {', '.join(self.absent)}" if self.absent else ""
        blocks = counted(self.n_blocks, self.unit)
        return (
            f"{self.measure}: average rank over {blocks}{left}; critical "
            f"difference {self.difference:.4f} at {self.alpha:g}{printable(gone, 200)}"
        )

    def text(self, width: int = 120) -> str:
        """Return the diagram in characters, no wider than a width where names leave room."""
        k = len(self.rankers)
        names = [printable(name, 28) for name in self.rankers]
        wide = max(5, *map(len, names))
        track = max(2 * k, min(_TRACK, width - wide - 9))

        def at(rank: float) -> int:
            return round((rank - 1) / (k - 1) * (track - 1))

        margin = " " * (wide + 8)
        axis, marks = ["-"] * track, [" "] * (track + 3)
        for whole in range(1, k + 1):
            axis[at(whole)] = "|"
            marks[at(whole) : at(whole) + len(str(whole))] = str(whole)
        reach = min(track - 1, at(1 + self.difference))
        lines = [
            self.title,
            margin + "".join(marks).rstrip(),
            margin + "".join(axis),
            f"{'CD':<{wide}} {self.difference:6.3f} " + "|" + "=" * max(0, reach - 1) + "|",
        ]
        for name, rank in zip(names, self.ranks):
            lines.append(f"{name:<{wide}} {rank:6.3f} " + " " * at(float(rank)) + "*")
        for first, last in self.groups:
            begin, end = at(float(self.ranks[first])), at(float(self.ranks[last]))
            line = margin + " " * begin + "=" * (end - begin + 1)
            lines.append(line + _SAME if len(line + _SAME) <= width else f"{line}\n{_SAME.strip()}")
        return "\n".join([*lines, self.friedman.text])

    @property
    def notes(self) -> list[str]:
        """Friedman's test."""
        return [self.friedman.text]

    def to_svg(self) -> str:
        """Return the diagram as an SVG element for a page, whose text colour it takes."""
        k = len(self.rankers)
        width, left, right, axis = 760, 210, 550, 60
        below = axis + 18 + 10 * len(self.groups)
        height = below + 24 * ((k + 1) // 2) + 12

        def x(rank: float) -> float:
            return round(left + (rank - 1) / (k - 1) * (right - left), 2)

        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            f'width="{width}" height="{height}" font-family="sans-serif" font-size="13" '
            f'fill="currentColor" stroke="none"><title>{escape(self.title)}</title>'
        ]

        def stroke(x1: float, y1: float, x2: float, y2: float, wide: float = 1.2) -> None:
            parts.append(
                f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="currentColor" '
                f'stroke-width="{wide}"/>'
            )

        def text(x0: float, y0: float, words: str, anchor: str) -> None:
            parts.append(f'<text x="{x0}" y="{y0}" text-anchor="{anchor}">{escape(words)}</text>')

        end = min(right, x(1 + self.difference))
        stroke(left, 20, end, 20, 2)
        text((left + end) / 2, 14, f"CD {self.difference:.3f}", "middle")
        stroke(left, axis, right, axis)
        for whole in range(1, k + 1):
            stroke(x(whole), axis - 6, x(whole), axis)
            text(x(whole), axis - 10, str(whole), "middle")
        for number, (first, last) in enumerate(self.groups):
            y = axis + 12 + 10 * number
            stroke(x(self.ranks[first]) - 4, y, x(self.ranks[last]) + 4, y, 4)
        for place, (name, rank) in enumerate(zip(self.rankers, self.ranks)):
            # The better half of the names is on the left, from above; the other half mirrors it.
            near = place < (k + 1) // 2
            line = place if near else k - 1 - place
            y = below + 24 * line + 10
            edge = left - 16 if near else right + 16
            stroke(x(rank), axis, x(rank), y)
            stroke(x(rank), y, edge, y)
            words = f"{printable(name, 26)} {rank:.3f}"
            text(edge - 4 if near else edge + 4, y + 4, words, "end" if near else "start")
        return "".join([*parts, "</svg>"])


def summarise_ranks(
    values: ArrayLike,
    rankers: Sequence[str],
    *,
    measure: str = "value",
    higher_is_better: bool = True,
    alpha: float = 0.05,
    unit: str = "task",
) -> RankSummary:
    """Rank rankers in every block, and find which average ranks differ.

    Parameters
    ----------
    values : array of shape (n_blocks, n_rankers)
        Rankers without a value (all NaN) are left out and named; then blocks in which another
        ranker has none are left out and counted.
    rankers : sequence of str
    measure, unit : str
        What the values and the blocks are, for the text.
    higher_is_better : bool
    alpha : float
        Level of the critical difference.

    Examples
    --------
    >>> values = [[0.9, 0.5, 0.3], [0.8, 0.6, 0.5], [0.7, 0.6, 0.1], [0.7, 0.2, 0.5]]
    >>> found = summarise_ranks(values, ["plus", "c", "d"])
    >>> found.rankers, found.ranks.tolist(), found.groups
    (('plus', 'c', 'd'), [1.0, 2.25, 2.75], ((0, 1), (1, 2)))
    """
    table = np.asarray(values, np.float64)
    if table.ndim != 2 or table.shape[1] != len(rankers):
        raise DataError(
            f"values must have a column for each of the {len(rankers)} rankers. Got shape "
            f"{table.shape}."
        )
    there = np.flatnonzero(~np.isnan(table).all(axis=0)).tolist()
    absent = tuple(name for at, name in enumerate(rankers) if at not in there)
    rankers, table = [rankers[at] for at in there], table[:, there]
    if len(rankers) < 2:
        raise DataError(
            f"{measure}: average ranks compare two rankers or more that have values. Got "
            f"{len(rankers)}."
        )
    whole = ~np.isnan(table).any(axis=1)
    if not whole.any():
        raise DataError(f"{measure}: there is no {unit} in which every ranker has a value.")
    ranks = ranks_of(table[whole], higher_is_better).mean(axis=0)
    order = np.argsort(ranks, kind="stable")
    n_blocks = int(whole.sum())
    difference = critical_difference(len(rankers), n_blocks, alpha)
    groups = _not_told_apart(ranks[order], difference)
    names, friedman = [rankers[i] for i in order], friedman_test(table[whole], higher_is_better)
    head = (measure, tuple(names), ranks[order], friedman, difference, alpha)
    return RankSummary(*head, unit, n_blocks, int((~whole).sum()), groups, absent)


def _not_told_apart(ranks: Floats, difference: float) -> tuple[tuple[int, int], ...]:
    """Return the longest runs of sorted ranks that span less than the difference."""
    found: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = int(np.flatnonzero(ranks - ranks[first] < difference)[-1])
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return tuple(found)
