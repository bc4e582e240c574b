"""Compare systems with a baseline: differences with intervals, tests, wins and losses, movers."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import ClassVar

import numpy as np

from crucial.data.formats.run_inputs import as_qrels, as_run
from crucial.data.runs import Run
from crucial.errors import DataError, ParameterError, about
from crucial.inspection.results import Frame
from crucial.lab.blocks import Blocks
from crucial.lab.tidy import Row, columns_of, frame_of
from crucial.measures.evaluation import Evaluation
from crucial.measures.names import Measures
from crucial.measures.paired import SAME, holm, paired_test, win_tie_loss
from crucial.measures.runs import evaluate_run
from crucial.model.text import printable
from crucial.notebook import HtmlResult, HtmlTable
from crucial.parameters import at_least, between, check, lookup
from crucial.types import Floats
from crucial.wording import p_text

__all__ = ["Comparison", "Difference", "Mover", "compare_blocks", "compare_runs"]


@dataclass(frozen=True)
class Difference:
    """A system compared with the baseline, by one measure.

    Attributes
    ----------
    measure, system : str
    value, low, high : float
        Value of the system and its interval.
    difference, difference_low, difference_high : float
        System minus baseline over the blocks where both have a value, with a paired interval;
        0 for the baseline itself.
    p, p_holm : float
        p-value of the paired test, and the same corrected (Holm) for the number of systems
        compared with the baseline. NaN for the baseline.
    wins, ties, losses : int
        Blocks in which the system is better, equal, worse.
    n : int
        Blocks where both have a value.
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
class Comparison(HtmlResult):
    """Systems compared with a baseline.

    Attributes
    ----------
    baseline : str
    differences : list of Difference
        Measure by measure, the baseline first.
    movers : list of Mover
        For each measure and system, the blocks with the largest gains and losses.
    unit : str
        What a block is: "query", "fold" or "task".
    test : {"permutation", "t"}
    level : float
        Confidence level of the intervals.
    notes : list of str
        What else to know about the numbers.
    """

    _html_bars: ClassVar[Mapping[str, float | None]] = {"difference": None}

    baseline: str
    differences: list[Difference]
    movers: list[Mover]
    unit: str
    test: str
    level: float
    notes: list[str] = field(default_factory=list)

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

    def to_frame(self) -> Frame:
        """Return the rows as a pandas frame, where pandas is installed."""
        return frame_of(self.to_rows())

    def __repr__(self) -> str:
        systems = len({one.system for one in self.differences})
        measures = len({one.measure for one in self.differences})
        return (
            f"Comparison({systems} systems, {measures} measures, baseline {self.baseline!r}, "
            f"paired by {self.unit})"
        )

    def __str__(self) -> str:
        lines: list[str] = []
        wide = max(8, *(len(printable(one.system, 30)) for one in self.differences))
        for measure in dict.fromkeys(one.measure for one in self.differences):
            mine = [one for one in self.differences if one.measure == measure]
            lines += [
                f"{measure}, against {printable(self.baseline, 30)}, paired by {self.unit}",
                f"{'system':<{wide}} value   {self.level:.0%} interval     difference  "
                f"{self.level:.0%} interval       p       p Holm  win/tie/loss",
            ]
            for one in mine:
                own = f"[{one.low:.4f}, {one.high:.4f}]"
                head = f"{printable(one.system, 30):<{wide}} {one.value:.4f}  {own:<16}"
                if one.system == self.baseline:
                    lines.append(f"{head}  (baseline)")
                    continue
                span = f"[{one.difference_low:+.4f}, {one.difference_high:+.4f}]"
                lines.append(
                    f"{head}  {one.difference:+.4f}    {span:<18}  {one.p:.4f}  "
                    f"{one.p_holm:.4f}  {one.wins}/{one.ties}/{one.losses}"
                )
        how = {"permutation": "sign-flip permutation test", "t": "paired t test"}[self.test]
        notes = [f"p: {how}, two-sided; Holm's correction within a measure", *self.notes]
        return "\n".join([*lines, *notes])

    def _html_title(self) -> str:
        return f"Against {self.baseline}, paired by {self.unit}"

    def _html_tables(self) -> list[HtmlTable]:
        tables = []
        for measure in dict.fromkeys(one.measure for one in self.differences):
            rows = [asdict(one) for one in self.differences if one.measure == measure]
            columns = columns_of([{k: v for k, v in row.items() if k != "measure"} for row in rows])
            for name in ("p", "p_holm"):
                columns[name] = ["" if np.isnan(row[name]) else p_text(row[name]) for row in rows]
            tables.append(HtmlTable(columns, self._html_bars, heading=measure))
        return tables

    def _html_notes(self) -> list[str]:
        return list(self.notes)


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
        As in `crucial.measures.paired.paired_test`.
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
    for table in tables:
        found = [
            _difference(table, base, system, test, resamples, level, random_state)
            for system in (base, *(one for one in systems if one != base))
        ]
        for one, p in zip(found, holm([one.p for one in found])):
            differences.append(replace(one, p_holm=float(p)))
            if one.system != base:
                moved += _movers(table, base, one.system, movers)
    return Comparison(base, differences, moved, tables[0].unit, test, level, list(notes))


def _difference(
    table: Blocks, base: str, system: str, test: str, resamples: int, level: float, seed: int
) -> Difference:
    """Compare one system with the baseline, before Holm's correction."""
    value, n = table.value(system)
    low, high = table.interval(system, level, seed)
    head = (table.measure, system, value, low, high)
    if system == base:
        return Difference(*head, 0.0, 0.0, 0.0, math.nan, math.nan, 0, n, 0, n)
    first, second = table.column(base), table.column(system)
    found = paired_test(
        first,
        second,
        weights=table.weights,
        how=table.aggregate,
        method=test,
        resamples=resamples,
        level=level,
        random_state=seed,
    )
    counts = win_tie_loss(first, second, table.higher_is_better)
    span = (found.difference, found.low, found.high)
    return Difference(*head, *span, found.p, math.nan, *counts, found.n)


def _movers(table: Blocks, base: str, system: str, count: int) -> list[Mover]:
    """Return the blocks with the largest gains, then those with the largest losses."""
    first, second = table.column(base), table.column(system)
    change = second - first
    sign = 1.0 if table.higher_is_better else -1.0
    gain = sign * np.where(np.isnan(change), 0.0, change)
    order = np.argsort(-gain, kind="stable")
    up = [int(i) for i in order[:count] if gain[i] > SAME]
    down = [int(i) for i in order[::-1][:count] if gain[i] < -SAME]
    return [
        Mover(
            table.measure,
            system,
            table.names[i],
            float(first[i]),
            float(second[i]),
            float(change[i]),
        )
        for i in (*up, *down)
    ]


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
        Any form that `crucial.as_qrels` accepts.
    runs : mapping from name to run, or list of runs
        Each in a form that `crucial.as_run` accepts; in a list their tags are their names.
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
    first = next(iter(found.values()))
    notes = []
    for name, one in found.items():
        if one.n_missing:
            what = "counted as empty lists" if missing == "count" else "left out"
            notes.append(f"{name}: {one.n_missing} judged queries without a document, {what}")
        if one.n_unjudged_queries:
            notes.append(f"{name}: {one.n_unjudged_queries} queries without judgement, left out")
    return compare_blocks(
        [_query_blocks(measure, found, empty) for measure in first.results],
        baseline,
        test=test,
        resamples=resamples,
        level=level,
        movers=movers,
        random_state=random_state,
        notes=notes,
    )


def _named_runs(runs: Mapping[str, object] | Iterable[object]) -> dict[str, Run]:
    """Return runs by name; in a list, by tag or number."""
    if isinstance(runs, Mapping):
        return {str(name): as_run(run, str(name)) for name, run in runs.items()}
    if isinstance(runs, str | os.PathLike) or hasattr(runs, "columns"):
        raise ParameterError("runs: expected a list of runs, or a mapping from names to them.")
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
    return Blocks(
        measure,
        about.higher_is_better,
        about.aggregate,
        "query",
        names,
        tuple(found),
        values,
        weights,
    )
