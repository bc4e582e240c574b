"""Results of an experiment: stored cells, ranks with their tests, tables, text and page."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import ClassVar, NotRequired, TypeAlias, TypedDict, cast

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from crucial.data.append_log import AppendLog, Entry, LogKind, open_locked, read_log
from crucial.data.files import atomic_write, os_reason
from crucial.data.groups import Groups
from crucial.errors import DataError, FileError, ParameterError
from crucial.lab.comparison import (
    UNITS,
    Blocks,
    Comparison,
    Row,
    RowComparison,
    columns_of,
    compare_blocks,
    frame_of,
    write_rows,
)
from crucial.measures.base import Aggregate, Measure
from crucial.measures.evaluation import interval_notes
from crucial.measures.intervals import SAME, Interval
from crucial.measures.lists import JudgedLists
from crucial.measures.names import get_measure
from crucial.measures.row_intervals import RowSampling
from crucial.notebook import HtmlResult, HtmlTable
from crucial.parameters import at_least, between, check, lookup, one_of
from crucial.results import Axes, Frame, literal, new_axes
from crucial.types import Floats, Ints, PathLike
from crucial.wording import counted, interval_text, noun_for, p_text, printable

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


def average_ranks(values: ArrayLike, higher_is_better: bool = True) -> Floats:
    """Return the ranks of `ranks_of`, averaged over blocks.

    Examples
    --------
    >>> average_ranks([[0.9, 0.5, 0.5], [0.1, 0.2, 0.3]]).tolist()
    [2.0, 2.25, 1.75]
    """
    return np.asarray(ranks_of(values, higher_is_better).mean(axis=0))


@dataclass(frozen=True)
class FriedmanTest(HtmlResult):
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

    def __str__(self) -> str:
        return (
            f"Friedman chi-square {self.statistic:.3f} over {counted(self.n_blocks, 'block')} and "
            f"{counted(self.n_rankers, 'ranker')}, p {p_text(self.p)}; Iman-Davenport F "
            f"{self.f_statistic:.3f}, p {p_text(self.f_p)}"
        )

    def _html_title(self) -> str:
        return "Do the rankers differ at all?"

    def _html_tables(self) -> list[HtmlTable]:
        columns: dict[str, Sequence[object]] = {
            "test": ["Friedman's chi-square", "Iman and Davenport's F"],
            "statistic": [self.statistic, self.f_statistic],
            "p": [p_text(self.p), p_text(self.f_p)],
        }
        return [HtmlTable(columns)]

    def _html_notes(self) -> list[str]:
        return [f"{self.n_blocks:,} blocks, {self.n_rankers} rankers"]


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
    from scipy.stats import chi2, f

    ranks = ranks_of(values, higher_is_better)
    n, k = ranks.shape
    if k < 2:
        raise DataError("Friedman's test compares two rankers or more. Got 1.")
    spread = 12.0 * float(((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum()) * n / (k * (k + 1))
    untied = 1.0 - sum(_tied(row) for row in ranks) / (n * k * (k * k - 1.0))
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


def _tied(ranks: Floats) -> float:
    """Return the sum of t^3 - t over the groups of t equal ranks."""
    counts = np.unique(ranks, return_counts=True)[1].astype(np.float64)
    return float((counts**3 - counts).sum())


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
class RankSummary(HtmlResult):
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

    def to_rows(self) -> list[Row]:
        """Return one dict per ranker."""
        return [
            {
                "measure": self.measure,
                "ranker": name,
                "average_rank": float(rank),
                "critical_difference": self.difference,
                "blocks": self.n_blocks,
                "unit": self.unit,
            }
            for name, rank in zip(self.rankers, self.ranks)
        ]

    def to_frame(self) -> Frame:
        """Return the rows as a pandas frame, where pandas is installed."""
        return frame_of(self.to_rows())

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

    def __repr__(self) -> str:
        ranks = ", ".join(f"{name} {rank:.3f}" for name, rank in zip(self.rankers, self.ranks))
        return f"RankSummary({self.measure}: {ranks}; difference {self.difference:.4f})"

    def __str__(self) -> str:
        return self.text()

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
        return "\n".join([*lines, str(self.friedman)])

    def to_svg(self) -> str:
        """Return the diagram as an SVG element for a page, whose text colour it takes."""
        return _svg(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the diagram with matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.

        Returns
        -------
        matplotlib Axes
        """
        return _plot(self, ax)

    def _html_title(self) -> str:
        return self.title

    def _html_tables(self) -> list[HtmlTable]:
        columns: dict[str, Sequence[object]] = {
            "ranker": self.rankers,
            "average rank": self.ranks.tolist(),
        }
        return [HtmlTable(columns, {"average rank": float(len(self.rankers))})]

    def _html_notes(self) -> list[str]:
        return [str(self.friedman)]


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
    >>> found
    RankSummary(value: plus 1.000, c 2.250, d 2.750; difference 1.6572)
    >>> found.groups
    ((0, 1), (1, 2))
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
    return RankSummary(
        measure,
        tuple(rankers[i] for i in order),
        ranks[order],
        friedman_test(table[whole], higher_is_better),
        difference,
        alpha,
        unit,
        n_blocks,
        int((~whole).sum()),
        _not_told_apart(ranks[order], difference),
        absent,
    )


def _not_told_apart(ranks: Floats, difference: float) -> tuple[tuple[int, int], ...]:
    """Return the longest runs of sorted ranks that span less than the difference."""
    found: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = int(np.flatnonzero(ranks - ranks[first] < difference)[-1])
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return tuple(found)


# -- the picture ------------------------------------------------------------------


def _line(place: int, k: int) -> tuple[bool, int]:
    """Return whether a name is on the left, where half of them are, and its line there."""
    return (True, place) if place < (k + 1) // 2 else (False, k - 1 - place)


def _svg(found: RankSummary) -> str:
    """Draw the diagram as SVG."""
    k = len(found.rankers)
    width, left, right, axis = 760, 210, 550, 60
    below = axis + 18 + 10 * len(found.groups)
    height = below + 24 * ((k + 1) // 2) + 12

    def x(rank: float) -> float:
        return round(left + (rank - 1) / (k - 1) * (right - left), 2)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="13" '
        f'fill="currentColor" stroke="none"><title>{escape(found.title)}</title>'
    ]

    def stroke(x1: float, y1: float, x2: float, y2: float, wide: float = 1.2) -> None:
        parts.append(
            f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="currentColor" '
            f'stroke-width="{wide}"/>'
        )

    def text(x0: float, y0: float, words: str, anchor: str) -> None:
        parts.append(f'<text x="{x0}" y="{y0}" text-anchor="{anchor}">{escape(words)}</text>')

    end = min(right, x(1 + found.difference))
    stroke(left, 20, end, 20, 2)
    text((left + end) / 2, 14, f"CD {found.difference:.3f}", "middle")
    stroke(left, axis, right, axis)
    for whole in range(1, k + 1):
        stroke(x(whole), axis - 6, x(whole), axis)
        text(x(whole), axis - 10, str(whole), "middle")
    for number, (first, last) in enumerate(found.groups):
        y = axis + 12 + 10 * number
        stroke(x(found.ranks[first]) - 4, y, x(found.ranks[last]) + 4, y, 4)
    for place, (name, rank) in enumerate(zip(found.rankers, found.ranks)):
        near, line = _line(place, k)
        y = below + 24 * line + 10
        edge = left - 16 if near else right + 16
        stroke(x(rank), axis, x(rank), y)
        stroke(x(rank), y, edge, y)
        words = f"{printable(name, 26)} {rank:.3f}"
        text(edge - 4 if near else edge + 4, y + 4, words, "end" if near else "start")
    return "".join([*parts, "</svg>"])


def _plot(found: RankSummary, ax: Axes | None) -> Axes:
    """Draw the diagram with matplotlib."""
    k = len(found.rankers)
    lines = (k + 1) // 2
    ax = new_axes(ax, size=(8, 1.6 + 0.3 * lines))
    step, top = 0.5, 0.35 + 0.25 * len(found.groups)
    ax.plot([1, k], [0, 0], color="black", linewidth=1)
    for whole in range(1, k + 1):
        ax.plot([whole, whole], [0, 0.15], color="black", linewidth=1)
        ax.text(whole, 0.2, str(whole), ha="center", va="bottom")
    ax.plot([1, 1 + found.difference], [0.9, 0.9], color="black", linewidth=2)
    ax.text(1 + found.difference / 2, 0.95, f"CD {found.difference:.3f}", ha="center", va="bottom")
    for number, (first, last) in enumerate(found.groups):
        y = -0.2 - 0.25 * number
        ax.plot([found.ranks[first], found.ranks[last]], [y, y], color="black", linewidth=4)
    for place, (name, rank) in enumerate(zip(found.rankers, found.ranks)):
        near, line = _line(place, k)
        y, edge = -top - step * line, 0.9 if near else k + 0.1
        ax.plot([rank, rank, edge], [0, y, y], color="black", linewidth=0.8)
        words = literal(f"{printable(name, 26)} {rank:.3f}")
        ax.text(edge, y, f" {words} ", ha="right" if near else "left", va="center")
    ax.set_xlim(1 - 0.45 * k, k + 0.45 * k)
    ax.set_ylim(-top - step * lines, 1.4)
    ax.set_axis_off()
    ax.set_title(found.title, fontsize=10, parse_math=False)
    return ax


# --- What an experiment writes down: its settings and its cells, as plain JSON data


#: Task, split and ranker of a cell.
Key: TypeAlias = tuple[str, str, str]


class MeasureRecord(TypedDict):
    """A measure of an experiment."""

    name: str
    higher_is_better: bool
    aggregate: Aggregate
    description: str


class TaskRecord(TypedDict):
    """A task: a hash of its data, and the names of its splits."""

    data: str
    splits: list[str]


class RankerRecord(TypedDict):
    """A ranker: all parameters, and the grid it is tuned over."""

    estimator: dict[str, object] | str
    grid: dict[str, list[object]]


class SessionRecord(TypedDict):
    """One run of an experiment: when it started, and with which versions."""

    started: str
    versions: dict[str, str]


class ExperimentSettings(TypedDict):
    """Everything that decides the numbers of an experiment."""

    format: int
    crucial: str
    seed: int
    protocol: dict[str, object]
    measures: list[MeasureRecord]
    tasks: dict[str, TaskRecord]
    rankers: dict[str, RankerRecord]
    sessions: list[SessionRecord]


class CellMeasure(TypedDict):
    """One measure of a cell; None where there is no value or nothing was chosen."""

    value: float | None
    valid: float | None
    round: int | None
    of_rounds: int | None
    parameters: dict[str, object]
    queries: int
    empty: int


class CellStages(TypedDict):
    """Values of a cell after some of its rounds.

    ``rounds`` are their numbers (0 for a ranker without rounds), ``values`` one list of values
    per query for each.
    """

    rounds: list[int]
    values: list[list[float | None]]


class TestRows(TypedDict):
    """Test rows without queries: labels, numbers in the task, and scores.

    A measure may choose other rounds or parameters than another: ``scores`` are by the measure
    that chose, and ``chosen_by`` says which one chose for a measure.
    """

    y: list[float]
    numbers: list[int] | None
    scores: dict[str, list[float]]
    chosen_by: dict[str, str]


class Cell(TypedDict):
    """One ranker on one split of one task; a failed cell has ``error`` and ``where`` only."""

    task: str
    split: str
    ranker: str
    status: str
    warnings: list[str]
    seconds: float
    error: NotRequired[str]
    where: NotRequired[str]
    measures: NotRequired[dict[str, CellMeasure]]
    per_query: NotRequired[dict[str, list[float | None]]]
    weights: NotRequired[dict[str, list[float]]]
    candidates: NotRequired[int]
    fit_seconds: NotRequired[float]
    choose_seconds: NotRequired[float]
    test_seconds: NotRequired[float]
    rows: NotRequired[dict[str, int]]
    test_rows: NotRequired[TestRows]
    stages: NotRequired[CellStages]
    scores: NotRequired[list[float]]
    spread: NotRequired[float]


def key_of(cell: Cell) -> Key:
    """Return task, split and ranker of a cell."""
    return cell["task"], cell["split"], cell["ranker"]


# --- The cells of an experiment, and their values per task, fold and query


class ExperimentCells:
    """What was measured in each cell: a ranker on a split of a task.

    Parameters
    ----------
    settings, cells
        As in `ExperimentResult`.
    """

    def __init__(self, settings: ExperimentSettings, cells: Iterable[Cell]) -> None:
        self.settings = settings
        self._cells = {key_of(one): one for one in cells}

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks."""
        return tuple(self.settings["tasks"])

    @property
    def rankers(self) -> tuple[str, ...]:
        """Names of the rankers."""
        return tuple(self.settings["rankers"])

    @cached_property
    def measures(self) -> dict[str, MeasureRecord]:
        """Facts about each measure, by name: higher_is_better, aggregate, description."""
        return {one["name"]: one for one in self.settings["measures"]}

    @property
    def cells(self) -> list[Cell]:
        """Finished cells, in the order of tasks, splits and rankers."""
        return [self._cells[key] for key in self._keys() if key in self._cells]

    def _keys(self) -> list[Key]:
        return [
            (task, split, ranker)
            for task, one in self.settings["tasks"].items()
            for split in one["splits"]
            for ranker in self.rankers
        ]

    @property
    def n_missing(self) -> int:
        """Number of cells that are not computed yet: the run was killed."""
        return len(self._keys()) - len(self.cells)

    @property
    def failures(self) -> list[dict[str, str]]:
        """Task, split, ranker and error of every cell that failed."""
        keys = ("task", "split", "ranker", "error", "where")
        failed = (dict(one) for one in self.cells if one["status"] != "ok")
        return [{key: str(one[key]) for key in keys} for one in failed]

    def unit_of(self, unit: str = "auto") -> str:
        """Return what values are compared by: tasks if there are several, else queries.

        Without queries a fold is one list, and ranks are over folds.
        """
        check("an experiment", "unit", unit, one_of("auto", *UNITS))
        if unit != "auto":
            return unit
        if len(self.tasks) > 1:
            return "task"
        return "query" if self.has_queries else "fold"

    @cached_property
    def has_queries(self) -> bool:
        """Whether any task has queries; without, every fold is one list."""
        fine = [one for one in self.cells if one["status"] == "ok"]
        return not fine or any(
            [str(qid) for qid in one["per_query"]["qid"]] != [one["split"]] for one in fine
        )

    def description(self, measure: str) -> str:
        """Return what a measure is, in the words for tasks with queries or without."""
        if self.has_queries:
            return self.measures[measure]["description"]
        text, _, aggregate = self.measures[measure]["description"].rpartition("; ")
        return f"{text}; {aggregate.replace('queries', 'folds')}"

    def blocks(self, measure: str, unit: str = "auto") -> Blocks:
        """Return the values of a measure per task, fold or query.

        Parameters
        ----------
        measure : str
        unit : {"auto", "task", "fold", "query"}
            The value of a task is the mean over its splits; it has none if a split failed. A
            query that is tested more than once has the mean.
        """
        about = lookup(self.measures, measure, "measure of this experiment")
        kind = self.unit_of(unit)
        by_query = kind == "query"
        table: dict[str, Floats] = {}
        mass: dict[str, float] = {}
        columns = self._by_query if by_query else self._by_fold
        for number, ranker in enumerate(self.rankers):
            for name, value, weight in columns(measure, ranker, kind):
                row = table.setdefault(name, np.full(len(self.rankers), np.nan))
                row[number] = value
                mass[name] = weight
        names = list(table)
        pooled = by_query and about["aggregate"] == "pool"
        return Blocks(
            measure,
            bool(about["higher_is_better"]),
            about["aggregate"] if by_query else "mean",
            kind,
            names,
            self.rankers,
            np.array([table[name] for name in names]).reshape(len(names), len(self.rankers)),
            np.array([mass[name] for name in names]) if pooled else None,
        )

    def _by_fold(self, measure: str, ranker: str, unit: str) -> list[tuple[str, float, float]]:
        """Return name, value and weight of every fold or task."""
        found = []
        for task, one in self.settings["tasks"].items():
            values = []
            for split in one["splits"]:
                cell = self._cells.get((task, split, ranker))
                if cell is None or cell["status"] != "ok":
                    values.append((split, False, np.nan))
                else:
                    value = cell["measures"][measure]["value"]
                    values.append((split, True, np.nan if value is None else float(value)))
            if unit == "fold":
                several = len(self.tasks) > 1
                found += [(f"{task}, {s}" if several else s, v, 1.0) for s, _, v in values]
            else:
                there = [v for _, _, v in values if not np.isnan(v)]
                whole = all(fine for _, fine, _ in values) and there
                found.append((task, float(np.mean(there)) if whole else np.nan, 1.0))
        return found

    def _by_query(self, measure: str, ranker: str, unit: str) -> list[tuple[str, float, float]]:
        """Return name, mean value and mean weight of every query."""
        sums: dict[str, list[float]] = {}
        for task, one in self.settings["tasks"].items():
            for split in one["splits"]:
                cell = self._cells.get((task, split, ranker))
                if cell is None or cell["status"] != "ok":
                    continue
                values = cell["per_query"][measure]
                weights = cell["weights"].get(measure) or [1.0] * len(values)
                for qid, value, weight in zip(cell["per_query"]["qid"], values, weights):
                    name = f"{task}, {qid}" if len(self.tasks) > 1 else str(qid)
                    held = sums.setdefault(name, [0.0, 0.0, 0.0, 0.0])
                    if value is not None:
                        held[0] += weight * value
                        held[1] += weight
                    held[2] += weight
                    held[3] += 1
        return [
            (name, total / there if there > 0 else np.nan, mass / times)
            for name, (total, there, mass, times) in sums.items()
        ]

    def value(self, measure: str, ranker: str, unit: str = "auto") -> float:
        """Return the value of a ranker: over all queries of one task, or the mean over tasks."""
        lookup(dict.fromkeys(self.rankers), ranker, "ranker of this experiment")
        return self.blocks(measure, unit).value(ranker)[0]


# --- The test rows of an experiment without queries, fold by fold


@dataclass(frozen=True, eq=False)
class FoldRows:
    """Labels and scores of the test rows of all folds.

    Attributes
    ----------
    judged : JudgedLists
        The labels; every fold is a list.
    scores : callable
        ``scores(measure)`` returns the scores of every ranker, as chosen by the measure.
    numbers : int array of shape (n_rows,)
        Which row of the task each one is.
    """

    judged: JudgedLists
    scores: Callable[[str], Mapping[str, Floats]]
    numbers: Ints


def rows_of_folds(cells: Iterable[Cell], rankers: Iterable[str]) -> FoldRows | None:
    """Return the test rows of all folds; None unless every cell has kept them.

    Parameters
    ----------
    cells : iterable of Cell
        Of one task.
    rankers : iterable of str
    """
    by_split: dict[str, dict[str, Cell]] = {}
    for cell in cells:
        by_split.setdefault(cell["split"], {})[cell["ranker"]] = cell
    wanted = tuple(rankers)
    whole = by_split and all(
        name in some and "test_rows" in some[name] for some in by_split.values() for name in wanted
    )
    if not whole:
        return None
    first = [some[wanted[0]]["test_rows"] for some in by_split.values()]
    sizes = [len(one["y"]) for one in first]
    starts = np.append(0, np.cumsum(sizes))
    numbers = [
        np.arange(start, start + size) if one["numbers"] is None else np.array(one["numbers"])
        for one, start, size in zip(first, starts, sizes)
    ]

    def scores(measure: str) -> dict[str, Floats]:
        key = first[0]["chosen_by"][measure]
        return {
            name: np.concatenate(
                [np.array(some[name]["test_rows"]["scores"][key]) for some in by_split.values()]
            )
            for name in wanted
        }

    lists = Groups(np.arange(len(sizes)), starts.astype(np.int64))
    judged = JudgedLists.from_labels(np.concatenate([one["y"] for one in first]), lists)
    return FoldRows(judged, scores, np.concatenate(numbers).astype(np.int64))


# --- A folder of results that a killed run leaves intact and a later run continues
#
# ``experiment.json``
#     The settings: protocol, measures, seed, versions, tasks (with a hash of their data) and
#     rankers
#     (with all parameters). A run with other settings is refused.
# ``cells.jsonl``
#     A `crucial.data.append_log` with one entry per finished cell.
# ``lock``
#     Locked by the process that writes.


FORMAT = 1

_BUSY = "another process is at work in this folder; wait for it to end."
_CELLS = LogKind(
    busy=_BUSY,
    damaged=lambda number, line: (
        "this line is damaged; take it out to have its cell computed again."
    ),
    compact=True,
)

#: Settings that all cells of a folder share, and what a difference is called.
_COMMON = {
    "protocol": "another protocol",
    "measures": "other measures",
    "seed": "another seed",
    "crucial": "another version of crucial",
}


class ResultFolder:
    """The folder of an experiment.

    Parameters
    ----------
    path : str or path
        Created if missing.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = os.fspath(path)
        self._settings_path = os.path.join(self.path, "experiment.json")
        self._cells_path = os.path.join(self.path, "cells.jsonl")
        self._cells: dict[Key, Cell] = {}
        self._log: AppendLog | None = None

    def settings(self) -> ExperimentSettings | None:
        """Return the settings of the experiment, or None if there is none yet."""
        if not os.path.exists(self._settings_path):
            return None
        try:
            with open(self._settings_path, encoding="utf-8") as file:
                found = json.load(file)
        except (OSError, ValueError, RecursionError) as error:
            raise FileError(
                self._settings_path, f"cannot be read: {printable(str(error), 200)}."
            ) from error
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise FileError(
                self._settings_path,
                f"is not an experiment of format {FORMAT}; it may come from another version.",
            )
        try:
            msgspec.convert(found, ExperimentSettings)
        except (msgspec.ValidationError, UnicodeEncodeError) as error:
            raise FileError(
                self._settings_path, f"is damaged: {printable(str(error), 200)}."
            ) from error
        return cast(ExperimentSettings, found)

    def cells(self) -> dict[Key, Cell]:
        """Read every finished cell; of a failure that was tried again, the last one."""
        self._cells = {}
        if os.path.exists(self._cells_path):
            read_log(self._cells_path, _CELLS, self._take)
        return self._cells

    def _take(self, entry: Entry) -> bool:
        if not all(isinstance(entry.get(k), str) for k in ("task", "split", "ranker", "status")):
            return False
        try:
            # (a cell that was computed for its scores alone has no measures)
            if entry["status"] == "ok" and not ("scores" in entry and "measures" not in entry):
                msgspec.convert(entry.get("measures"), dict[str, CellMeasure])
        except (msgspec.ValidationError, UnicodeEncodeError):
            return False
        cell = cast(Cell, entry)
        old = self._cells.get(key_of(cell))
        if cell["status"] == "ok" or old is None or old["status"] != "ok":
            self._cells[key_of(cell)] = cell
        return True

    @contextmanager
    def opened(self, settings: ExperimentSettings) -> Iterator[dict[Key, Cell]]:
        """Lock the folder to continue the experiment; yields the cells that are finished.

        Raises
        ------
        FileError
            Another process writes here, or the folder cannot be written.
        DataError
            The folder has an experiment with other settings; the message names the difference.
        """
        try:
            os.makedirs(self.path, exist_ok=True)
        except OSError as error:
            raise FileError(self.path, f"cannot be written: {os_reason(error)}.") from error
        lock = open_locked(os.path.join(self.path, "lock"), _BUSY)
        try:
            self._sweep()
            merged = _merged(self.path, self.settings(), settings)
            with atomic_write(self._settings_path) as target:
                target.write((json.dumps(merged, indent=1, allow_nan=False) + "\n").encode())
            self._cells = {}
            self._log = AppendLog(self._cells_path, _CELLS, self._take)
            try:
                yield dict(self._cells)
            finally:
                self._log.close()
        finally:
            self._log = None
            os.close(lock)

    def _sweep(self) -> None:
        """Remove temporary files of a run that was killed while it wrote the settings."""
        for one in os.scandir(self.path):
            if one.name.startswith(".crucial-") and one.name.endswith(".tmp"):
                with contextlib.suppress(OSError):
                    os.unlink(one.path)

    def append(self, cell: Cell) -> None:
        """Add a finished cell; it is on disk when this returns."""
        if self._log is None:
            raise FileError(self.path, "is not open for writing.")
        self._log.append(cast(Entry, cell))


def _merged(
    path: str, old: ExperimentSettings | None, new: ExperimentSettings
) -> ExperimentSettings:
    """Add new tasks and rankers to the settings; refuse different ones under a known name."""
    if old is None:
        return new
    before, now = cast(Entry, old), cast(Entry, new)
    for what, difference in _COMMON.items():
        if before.get(what) != now[what]:
            raise _refused(path, difference, *_differing(before.get(what), now[what]))
    merged = dict(now)
    merged["sessions"] = [*before.get("sessions", []), *now.get("sessions", [])]
    for what, word in (("tasks", "task"), ("rankers", "ranker")):
        known = before.get(what, {})
        for name, one in now[what].items():
            if name in known and known[name] != one:
                raise _refused(path, f"another {word} {name!r}", *_differing(known[name], one))
        merged[what] = {**known, **now[what]}
    return cast(ExperimentSettings, merged)


def _differing(old: object, new: object, place: str = "") -> tuple[str, object, object]:
    """Return the first place in which two settings differ, and both values there."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            if old.get(key) != new.get(key):
                return _differing(old.get(key), new.get(key), f"{place}.{key}" if place else key)
    return place, old, new


def _refused(path: str, what: str, place: str, old: object, new: object) -> DataError:
    where = f" ({printable(place, 200)})" if place else ""
    before, now = printable(str(old), 500), printable(str(new), 500)
    return DataError(
        f"{path} has an experiment with {what}{where}, and results are not mixed: {before} "
        f"before, {now} now. Name another folder, or restore the setting."
    )


# --- Results of an experiment: ranks, comparisons, tables and text


LEVEL = 0.95

_NOT_IN_HTML = ("measure", "unit", "error", "method", "draws")


class ExperimentResult(ExperimentCells, HtmlResult):
    """Result of `crucial.Experiment`.

    Parameters
    ----------
    settings : dict
        Settings of the experiment: protocol, measures, tasks, rankers, versions.
    cells : iterable of dict
        One per task, split and ranker: values, chosen rounds and parameters, times; or the error.
    """

    _html_bars: ClassVar[Mapping[str, float | None]] = {"value": 1.0}

    @cached_property
    def _fold_rows(self) -> FoldRows | None:
        """Test rows of the only task, if it has no queries and they were kept."""
        if self.has_queries or len(self.tasks) > 1 or self.n_missing:
            return None
        return rows_of_folds(self.cells, self.rankers)

    def _by_rows(self, unit: str) -> RowComparison | None:
        """Return the rankers to compare by rows, where there are no queries."""
        rows = self._fold_rows
        if unit != "auto" or rows is None:
            return None
        sampling = RowSampling(LEVEL, None, 0)
        return RowComparison(
            rows.judged, rows.scores, self.rankers[0], sampling, rows.numbers, folds=True
        )

    def ranks(self, measure: str, unit: str = "auto", alpha: float = 0.05) -> RankSummary:
        """Return average ranks, Friedman's test and Nemenyi's critical difference."""
        blocks = self.blocks(measure, unit)
        return summarise_ranks(
            blocks.values,
            blocks.systems,
            measure=measure,
            higher_is_better=blocks.higher_is_better,
            alpha=alpha,
            unit=blocks.unit,
        )

    def compare(
        self,
        baseline: str | None = None,
        *,
        unit: str = "auto",
        test: str = "permutation",
        movers: int = 5,
        random_state: int = 0,
    ) -> Comparison:
        """Compare every ranker with a baseline (the first by default), paired by query or task.

        Without queries, differences of one task are tested by rows (``unit="auto"``).
        """
        rows, measures = self._by_rows(unit), self._known_measures
        if rows is not None and measures is not None and len(self.rankers) > 1:
            rows.base = self.rankers[0] if baseline is None else baseline
            lookup(dict.fromkeys(self.rankers), rows.base, "baseline")
            return rows.compare(measures)
        return compare_blocks(
            [self.blocks(name, unit) for name in self.measures],
            baseline,
            test=test,
            level=LEVEL,
            movers=movers,
            random_state=random_state,
        )

    def summary(self, unit: str = "auto") -> list[Row]:
        """Return one dict per measure and ranker: value, interval, average rank, round, time."""
        rows, by_rows = [], self._by_rows(unit)
        for measure in self.measures:
            blocks = self.blocks(measure, unit)
            rank: dict[str, float] = {}
            values = blocks.values[:, ~np.isnan(blocks.values).all(axis=0)]
            if values.shape[1] > 1 and not np.isnan(values).any(axis=1).all():
                found = self.ranks(measure, unit)
                rank = {name: float(r) for name, r in zip(found.rankers, found.ranks)}
            for ranker in self.rankers:
                value, n = blocks.value(ranker)
                interval = self._interval(blocks, by_rows, ranker)
                low, high = (np.nan, np.nan) if interval is None else interval.ends
                fine = [c for c in self.cells if c["ranker"] == ranker and c["status"] == "ok"]
                rounds = [c["measures"][measure]["round"] for c in fine]
                chosen = [one for one in rounds if one is not None]
                rows.append(
                    {
                        "measure": measure,
                        "ranker": ranker,
                        "value": value,
                        "low": low,
                        "high": high,
                        "error": None if interval is None else interval.error,
                        "method": "" if interval is None else interval.method,
                        "draws": None if interval is None else interval.draws,
                        "average_rank": rank.get(ranker, float("nan")),
                        "blocks": n,
                        "unit": blocks.unit,
                        "mean_round": float(np.mean(chosen)) if chosen else float("nan"),
                        "fit_seconds": float(sum(c["fit_seconds"] for c in fine)),
                        "failures": sum(one["ranker"] == ranker for one in self.failures),
                    }
                )
        return rows

    def _interval(self, blocks: Blocks, rows: RowComparison | None, ranker: str) -> Interval | None:
        """Return the interval of a ranker: by rows, if they were kept, else over blocks."""
        known = {one.name: one for one in self._known_measures or ()}
        if rows is None or blocks.measure not in known:
            return blocks.interval(ranker, LEVEL, 0)
        return rows.interval(known[blocks.measure], ranker)

    @cached_property
    def _known_measures(self) -> list[Measure] | None:
        """The measures by name; None if one was defined elsewhere."""
        try:
            return [get_measure(name) for name in self.measures]
        except ParameterError:
            return None

    def interval_notes(self, summary: list[Row], measure: str) -> list[str]:
        """Return how the intervals of a summary were found, for one measure."""
        found = [
            (measure, one["method"], one["draws"])
            for one in summary
            if one["measure"] == measure and one["method"]
        ]
        return interval_notes(found, LEVEL, 0)

    def to_rows(self, by: str = "cell") -> list[Row]:
        """Return one dict per measure and cell, query or ranker."""
        check("to_rows", "by", by, one_of("cell", "query", "ranker"))
        if by == "ranker":
            return self.summary()
        rows: list[Row] = []
        for cell in self.cells:
            head: Row = dict(zip(("task", "split", "ranker"), key_of(cell)))
            head["status"] = cell["status"]
            for measure in self.measures:
                if cell["status"] != "ok":
                    if by == "cell":
                        rows.append(head | {"measure": measure, "error": cell["error"]})
                elif by == "cell":
                    rows.append(head | {"measure": measure} | self._cell_row(cell, measure))
                else:
                    pairs = zip(cell["per_query"]["qid"], cell["per_query"][measure])
                    rows += [head | {"measure": measure, "qid": q, "value": v} for q, v in pairs]
        return rows

    def _cell_row(self, cell: Cell, measure: str) -> Row:
        """Return the row of a cell and a measure, but for its names."""
        one = cell["measures"][measure]
        rows = {f"{part}_rows": count for part, count in cell["rows"].items()}
        return {
            "value": one["value"],
            "valid": one["valid"],
            "round": one["round"],
            "of_rounds": one["of_rounds"],
            "parameters": json.dumps(one["parameters"], sort_keys=True),
            "queries": one["queries"],
            "empty": one["empty"],
            **rows,
            "fit_seconds": cell["fit_seconds"],
            "choose_seconds": cell["choose_seconds"],
            "test_seconds": cell["test_seconds"],
            "warnings": "; ".join(cell["warnings"]),
            "error": "",
            "crucial": self.settings["crucial"],
        }

    def to_frame(self, by: str = "cell") -> Frame:
        """Return the rows as a pandas frame, where pandas is installed."""
        return frame_of(self.to_rows(by))

    def save(self, path: PathLike, by: str = "cell") -> None:
        """Write the rows as .csv, .tsv, .json or .parquet."""
        write_rows(path, self.to_rows(by))

    def report(
        self, path: PathLike, title: str = "Experiment", baseline: str | None = None
    ) -> None:
        """Write a page with everything, in one file that needs no network."""

        write_report(path, self, title, baseline)

    # -- text -------------------------------------------------------------------------

    def __repr__(self) -> str:
        n_splits = {len(one["splits"]) for one in self.settings["tasks"].values()}
        splits = "/".join(map(str, sorted(n_splits)))
        n = max(n_splits, default=0)
        return (
            f"ExperimentResult({counted(len(self.tasks), 'task')} x {splits} "
            f"{noun_for(n, 'split')} x {counted(len(self.rankers), 'ranker')}, "
            f"{counted(len(self.measures), 'measure')})"
        )

    def __str__(self) -> str:
        rows = self.summary()
        wide = max(8, *(len(printable(name, 30)) for name in self.rankers))
        lines = [str(self.settings["protocol"]["text"])]
        for measure in self.measures:
            mine = [one for one in rows if one["measure"] == measure]
            mine.sort(key=lambda one: (np.isnan(one["average_rank"]), one["average_rank"]))
            lines.append(f"{measure}, by {mine[0]['unit']}: {self.description(measure)}")
            lines.append(f"{'ranker':<{wide}} value   95% interval      rank   round  seconds")
            for one in mine:
                span = interval_text((one["low"], one["high"]), one["error"])
                failed = f"  {one['failures']} failed" if one["failures"] else ""
                lines.append(
                    f"{printable(one['ranker'], 30):<{wide}} {one['value']:.4f}  {span:<16}  "
                    f"{_shown(one['average_rank'], 5, 2)}  {_shown(one['mean_round'], 6, 1)}  "
                    f"{one['fit_seconds']:7.2f}{failed}"
                )
            lines += self.interval_notes(rows, measure)
        if self.n_missing:
            are = "is" if self.n_missing == 1 else "are"
            lines.append(f"{counted(self.n_missing, 'cell')} {are} not computed yet")
        return "\n".join(lines)

    def _html_title(self) -> str:
        return str(self.settings["protocol"]["text"])

    def _html_tables(self) -> list[HtmlTable]:
        rows = self.summary()
        found = []
        for measure in self.measures:
            mine = [
                {k: v for k, v in one.items() if k not in _NOT_IN_HTML}
                for one in rows
                if one["measure"] == measure
            ]
            mine.sort(key=lambda one: (np.isnan(one["average_rank"]), one["average_rank"]))
            heading = f"{measure}: {self.description(measure)}"
            found.append(HtmlTable(columns_of(mine), self._html_bars, heading=heading))
        return found

    def _html_notes(self) -> list[str]:
        rows = self.summary()
        return [text for measure in self.measures for text in self.interval_notes(rows, measure)]


def _shown(value: float, width: int, digits: int) -> str:
    """Return a number as wide as its column, or a dash for NaN."""
    return f"{'-':>{width}}" if np.isnan(value) else f"{value:{width}.{digits}f}"


def load_experiment(folder: PathLike) -> ExperimentResult:
    """Read the results in a folder, of a finished run or not.

    Raises
    ------
    FileError
        There is no experiment in the folder.
    """
    store = ResultFolder(folder)
    settings = store.settings()
    if settings is None:
        raise FileError(folder, "there is no experiment in this folder (no experiment.json).")
    for key in ("tasks", "rankers", "measures", "protocol"):
        if key not in settings:
            raise DataError(f"{store.path}: experiment.json lacks {key!r}.")
    return ExperimentResult(settings, store.cells().values())


# --- The page of an experiment: one file of tables and diagrams, without network and scripts
#
# The content policy allows nothing but the page's own style, known by its hash. All text comes
# from data and is escaped.


_WORDS = ' class="text"'

#: Rows of a long table that are shown; the results folder has all of them.
_ROWS = 200

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8882; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
table { border-collapse: collapse; margin: .7rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child { text-align: left; } th { font-weight: 600; }
td.text, th.text { text-align: left; } tr.best td { background: var(--soft); }
div.wide { overflow-x: auto; } svg { max-width: 100%; height: auto; } p.dim { opacity: .75; }
"""


def write_report(
    path: PathLike, result: ExperimentResult, title: str = "Experiment", baseline: str | None = None
) -> None:
    """Write the page, atomically; arguments as in `report_html`."""
    page = report_html(result, title, baseline)
    with atomic_write(path) as file:
        file.write(page.encode("utf-8", "replace"))


def report_html(
    result: ExperimentResult, title: str = "Experiment", baseline: str | None = None
) -> str:
    """Return the HTML report as a string.

    Parameters
    ----------
    result : ExperimentResult
    title : str
    baseline : str, optional
        The ranker that others are compared with; the first one by default.
    """
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    rows = result.summary()
    body = "".join(
        (
            f"<h1>{_text(title)}</h1>",
            _head(result),
            *(_measure(result, name, rows) for name in result.measures),
            _differences(result, baseline),
            _tasks(result),
            _failures(result),
            _made_with(result),
        )
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_text(policy)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(title)}</title><style>{_STYLE}</style></head><body>{body}</body></html>\n"
    )


def _text(value: object) -> str:
    return escape(str(value), quote=True)


def _number(value: float | None, digits: int = 4) -> str:
    if value is None or math.isnan(value):
        return "none"
    return f"{value:.{digits}f}"


def _table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], best: int | None = None, text: int = 1
) -> str:
    """Return a table; the first ``text`` columns are words, the others numbers."""

    def cells(tag: str, values: Sequence[str]) -> str:
        return "".join(
            f"<{tag}{_WORDS if at < text else ''}>{_text(value)}</{tag}>"
            for at, value in enumerate(values)
        )

    lines = [f"<tr>{cells('th', heads)}</tr>"]
    for number, row in enumerate(rows):
        mark = ' class="best"' if number == best else ""
        lines.append(f"<tr{mark}>{cells('td', row)}</tr>")
    return f'<div class="wide"><table>{"".join(lines)}</table></div>'


def _head(result: ExperimentResult) -> str:
    """Return tasks, rankers, protocol and number of cells."""
    n_failed, n_missing = len(result.failures), result.n_missing
    done = counted(len(result.cells), "cell")
    if n_failed:
        done += f", {n_failed:,} of them failed"
    if n_missing:
        done += f"; {n_missing:,} {'is' if n_missing == 1 else 'are'} not computed yet"
    tasks = counted(len(result.tasks), "task")
    protocol = result.settings["protocol"]["text"]
    return (
        f"<p>{_text(tasks)}, {counted(len(result.rankers), 'ranker')}: "
        f"{_text(', '.join(result.rankers))}.<br>"
        f"Protocol: {_text(protocol)}.<br>{_text(done)}.</p>"
    )


def _measure(result: ExperimentResult, measure: str, summary: list[Row]) -> str:
    """Return the values of all rankers, best first, and the diagram of their ranks."""
    about = result.measures[measure]
    rows = [one for one in summary if one["measure"] == measure]
    sign = -1.0 if about["higher_is_better"] else 1.0
    rows.sort(key=lambda one: (math.isnan(one["value"]), sign * one["value"]))
    direction = "higher is better" if about["higher_is_better"] else "lower is better"
    cells = [
        (
            one["ranker"],
            _number(one["value"]),
            interval_text((one["low"], one["high"]), one["error"]),
            _number(one["average_rank"], 3),
            _number(one["mean_round"], 1),
            _number(one["fit_seconds"], 2),
            str(one["failures"] or ""),
        )
        for one in rows
    ]
    heads = ("ranker", "value", "95% interval", "average rank", "mean round", "fit s", "failed")
    parts = [
        f"<h2>{_text(measure)}</h2>",
        f'<p class="dim">{_text(result.description(measure))}; {direction}. Values over '
        f"{_text(UNITS[rows[0]['unit']])}. "
        f"{_text('; '.join(result.interval_notes(summary, measure)))}.</p>",
        _table(heads, cells, best=0),
    ]
    if len(result.rankers) > 1 and any(not math.isnan(one["average_rank"]) for one in rows):
        ranks = result.ranks(measure)
        parts += [
            f"<p>{_text(ranks.title)}.</p>",
            ranks.to_svg(),
            f"<p>{_text(ranks.friedman)}.</p>",
        ]
    return "".join(parts)


def _differences(result: ExperimentResult, baseline: str | None) -> str:
    """Return the comparison with the baseline, where there are two rankers or more."""
    if len(result.rankers) < 2:
        return ""
    found = result.compare(baseline)
    rows = [
        (
            one.measure,
            one.system,
            f"{one.difference:+.4f}",
            one.difference_text,
            p_text(one.p),
            p_text(one.p_holm),
            *([f"{one.wins} / {one.ties} / {one.losses}"] if found.unit != "row" else []),
        )
        for one in found.differences
        if one.system != found.baseline
    ]
    heads = ["measure", "ranker", "difference", "95% interval", "p", "p (Holm)"]
    heads += ["win / tie / loss"] if found.unit != "row" else []
    return (
        f"<h2>Differences to {_text(found.baseline)}</h2>"
        f'<p class="dim">Paired by {_text(found.unit)}. {_text("; ".join(found.methods))}.</p>'
        + _table(heads, rows, text=2)
        + _movers(found)
    )


def _movers(found: Comparison) -> str:
    """Return the blocks with the largest gains and losses, by the first measure."""
    first = found.differences[0].measure
    rows = [
        (
            one.system,
            one.block,
            _number(one.baseline_value),
            _number(one.value),
            f"{one.change:+.4f}",
        )
        for one in found.movers
        if one.measure == first
    ]
    if not rows:
        return ""
    heads = ("ranker", found.unit, found.baseline, "ranker's", "change")
    return f"<h2>Biggest movers, {_text(first)}</h2>" + _table(heads, rows[:_ROWS], text=2)


def _tasks(result: ExperimentResult) -> str:
    """Return the values per task and measure, where there are several tasks."""
    if len(result.tasks) < 2:
        return ""
    parts = ["<h2>By task</h2>"]
    for measure in result.measures:
        blocks = result.blocks(measure, "task")
        rows = [
            (name, *(_number(float(value)) for value in np.atleast_1d(row)))
            for name, row in zip(blocks.names[:_ROWS], blocks.values)
        ]
        parts.append(f"<p>{_text(measure)}</p>" + _table(("task", *blocks.systems), rows))
        parts.append(_cut_note(len(blocks.names), " tasks"))
    return "".join(parts)


def _cut_note(count: int, what: str) -> str:
    """Return how many rows are shown, if not all are."""
    return f'<p class="dim">The first {_ROWS} of {count:,}{what}.</p>' if count > _ROWS else ""


def _failures(result: ExperimentResult) -> str:
    """Return the errors of failed cells."""
    failed = result.failures
    if not failed:
        return ""
    rows = [(one["ranker"], one["task"], one["split"], one["error"]) for one in failed[:_ROWS]]
    table = _table(("ranker", "task", "split", "error"), rows, text=4)
    return "<h2>Failures</h2>" + table + _cut_note(len(failed), "")


def _made_with(result: ExperimentResult) -> str:
    """Return versions, parameters of the rankers, and the seed."""
    sessions = result.settings.get("sessions", [])
    rows = [
        (one["started"], ", ".join(f"{k} {v}" for k, v in one["versions"].items()))
        for one in sessions[-20:]
    ]
    rankers = [(name, _settings(one)) for name, one in result.settings["rankers"].items()]
    return (
        "<h2>Made with</h2>"
        + _table(("started", "versions"), rows, text=2)
        + _table(("ranker", "parameters"), rankers, text=2)
        + f'<p class="dim">Seed {_text(result.settings["seed"])}.</p>'
    )


def _settings(one: RankerRecord) -> str:
    """Return the parameters in a line, the grid after them."""
    estimator = one["estimator"]
    text = str(estimator)
    if isinstance(estimator, dict):
        values = ", ".join(f"{k}={v!r}" for k, v in estimator.items() if k != "class")
        text = f"{str(estimator.get('class', '')).rpartition('.')[2]}({values})"
    return text + (f"; tuned over {one['grid']}" if one["grid"] else "")
