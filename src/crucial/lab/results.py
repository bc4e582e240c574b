"""Results of an experiment: stored cells, ranks with their tests, tables, text and page."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from html import escape
from typing import Any, ClassVar, TypeAlias, TypedDict, cast

import msgspec
import numpy as np

from crucial.data.append_log import AppendLog, Entry, LogKind, open_locked, read_log
from crucial.data.files import atomic_write, os_reason
from crucial.data.groups import Groups
from crucial.errors import DataError, FileError, ParameterError
from crucial.lab.comparison import (
    UNITS,
    Blocks,
    Comparison,
    RankSummary,
    Row,
    RowComparison,
    compare_blocks,
    summarise_ranks,
    write_rows,
)
from crucial.measures.base import Aggregate, Measure
from crucial.measures.evaluation import interval_notes
from crucial.measures.intervals import Interval, RowSampling
from crucial.measures.lists import JudgedLists
from crucial.measures.names import get_measure
from crucial.pages import page_html
from crucial.parameters import check, lookup, one_of
from crucial.results import Frame, Result, as_frame, columns_of, text_table
from crucial.types import Floats, PathLike
from crucial.wording import counted, interval_text, number_text, p_text, printable

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


def cell_measure(
    summary: tuple[float, int, int],
    valid: float | None = None,
    round: int | None = None,
    of_rounds: int | None = None,
    parameters: dict[str, object] | None = None,
) -> CellMeasure:
    """Return a measure of a cell, from its value and the numbers of queries with and without."""
    value, queries, empty = summary
    found = (value, valid, round, of_rounds, parameters or {}, queries, empty)
    return cast(CellMeasure, dict(zip(CellMeasure.__annotations__, found, strict=True)))


#: One ranker on one split of one task, as plain JSON data: "task", "split", "ranker", "status",
#: "warnings" and "seconds". A failed cell has "error" and "where"; a finished one has "measures"
#: (a `CellMeasure` each), "per_query", "weights" of queries, "candidates", "rows" and the time of
#: its steps. "test_rows" are kept without queries: labels, row numbers, scores by the measure that
#: chose, and "chosen_by". `crucial.AutoRanker` keeps "stages" (values after some rounds; 0 for a
#: ranker without rounds), "scores" and their "spread".
Cell: TypeAlias = dict[str, Any]


def key_of(cell: Cell) -> Key:
    """Return task, split and ranker of a cell."""
    return cell["task"], cell["split"], cell["ranker"]


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
        path = self._settings_path
        if not os.path.exists(path):
            return None
        try:
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
        except (OSError, ValueError, RecursionError) as error:
            raise FileError(path, f"cannot be read: {printable(str(error), 200)}.") from error
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise FileError(
                path, f"is not an experiment of format {FORMAT}; it may come from another version."
            )
        try:
            msgspec.convert(found, ExperimentSettings)
        except (msgspec.ValidationError, UnicodeEncodeError) as error:
            raise FileError(path, f"is damaged: {printable(str(error), 200)}.") from error
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
        old = self._cells.get(key_of(entry))
        if entry["status"] == "ok" or old is None or old["status"] != "ok":
            self._cells[key_of(entry)] = entry
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
        self._log.append(cell)


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


class ExperimentResult(Result):
    """Result of `crucial.Experiment`.

    Parameters
    ----------
    settings : dict
        Settings of the experiment: protocol, measures, tasks, rankers, versions.
    cells : iterable of dict
        One per task, split and ranker: values, chosen rounds and parameters, times; or the error.
    """

    _bars: ClassVar[tuple[str, ...]] = ("value",)

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
        """Return the unit that values are compared by: tasks if there are several, else queries.

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
        """Return the description of a measure, in the words for tasks with queries or without."""
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
        pooled = by_query and about["aggregate"] == "pool"
        higher, how = bool(about["higher_is_better"]), about["aggregate"] if by_query else "mean"
        values = np.array(list(table.values())).reshape(len(table), len(self.rankers))
        weights = np.array([mass[name] for name in table]) if pooled else None
        return Blocks(measure, higher, how, kind, list(table), self.rankers, values, weights)

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

    @cached_property
    def _test_rows(self) -> dict[str, dict[str, Cell]] | None:
        """Kept test rows of the only task by split and ranker, if it has no queries."""
        if self.has_queries or len(self.tasks) > 1 or self.n_missing:
            return None
        found: dict[str, dict[str, Cell]] = {}
        for cell in self.cells:
            if "test_rows" not in cell:
                return None
            found.setdefault(cell["split"], {})[cell["ranker"]] = cell["test_rows"]
        return found

    def _by_rows(self, unit: str) -> RowComparison | None:
        """Return the rankers to compare by the test rows of all folds, where they were kept."""
        folds = self._test_rows
        if unit != "auto" or not folds:
            return None
        first = [some[self.rankers[0]] for some in folds.values()]
        sizes = [len(one["y"]) for one in first]
        starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
        numbers = [
            np.arange(start, start + size) if one["numbers"] is None else np.array(one["numbers"])
            for one, start, size in zip(first, starts, sizes)
        ]

        def scores(measure: str) -> dict[str, Floats]:
            key = first[0]["chosen_by"][measure]
            return {
                name: np.concatenate([some[name]["scores"][key] for some in folds.values()])
                for name in self.rankers
            }

        labels, groups = [one["y"] for one in first], Groups(np.arange(len(sizes)), starts)
        judged = JudgedLists.from_labels(np.concatenate(labels), groups)
        rows, sampling = np.concatenate(numbers).astype(np.int64), RowSampling(LEVEL, None, 0)
        return RowComparison(judged, scores, self.rankers[0], sampling, rows, folds=True)

    def ranks(self, measure: str, unit: str = "auto", alpha: float = 0.05) -> RankSummary:
        """Return average ranks, Friedman's test and Nemenyi's critical difference."""
        blocks = self.blocks(measure, unit)
        higher = blocks.higher_is_better
        how = {"measure": measure, "unit": blocks.unit}
        return summarise_ranks(
            blocks.values, blocks.systems, higher_is_better=higher, alpha=alpha, **how
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
        tables = [self.blocks(name, unit) for name in self.measures]
        return compare_blocks(
            tables, baseline, test=test, level=LEVEL, movers=movers, random_state=random_state
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
                known = self._interval(blocks, by_rows, ranker)
                interval = known or Interval(math.nan, math.nan, "")
                fine = [c for c in self.cells if c["ranker"] == ranker and c["status"] == "ok"]
                rounds = [c["measures"][measure]["round"] for c in fine]
                chosen = [one for one in rounds if one is not None]
                parts = ("low", "high", "error", "method", "draws")
                row: Row = {"measure": measure, "ranker": ranker, "value": value}
                row |= {name: getattr(interval, name) for name in parts}
                row |= {"average_rank": rank.get(ranker, math.nan), "blocks": n}
                row |= {"unit": blocks.unit, "mean_round": math.nan}
                if chosen:
                    row["mean_round"] = float(np.mean(chosen))
                row["fit_seconds"] = math.fsum(c["fit_seconds"] for c in fine)
                row["failures"] = sum(one["ranker"] == ranker for one in self.failures)
                rows.append(row)
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

    def to_rows(self, by: str = "ranker") -> list[Row]:
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
        times = ("fit_seconds", "choose_seconds", "test_seconds")
        return {
            **{name: one[name] for name in CellMeasure.__annotations__},
            "parameters": json.dumps(one["parameters"], sort_keys=True),
            **{f"{part}_rows": count for part, count in cell["rows"].items()},
            **{name: cell[name] for name in times},
            "warnings": "; ".join(cell["warnings"]),
            "error": "",
            "crucial": self.settings["crucial"],
        }

    def to_frame(self, by: str = "ranker") -> Frame:
        """Return the rows per measure and ranker, cell or query, as a pandas frame."""
        return as_frame(columns_of(self.to_rows(by)))

    def save(self, path: PathLike, by: str = "cell") -> None:
        """Write the rows as .csv, .tsv, .json, .jsonl or .parquet."""
        write_rows(path, self.to_rows(by))

    def report(
        self, path: PathLike, title: str = "Experiment", baseline: str | None = None
    ) -> None:
        """Write a page with everything, in one file that needs no network."""
        page = report_html(self, title, baseline)
        with atomic_write(path) as file:
            file.write(page.encode("utf-8", "replace"))

    def text(self, width: int = 100) -> str:
        """Return one table of rankers per measure, best first, and what the measures are."""
        rows = self.summary()
        lines = [f"{counted(len(self.tasks), 'task')}: {self.settings['protocol']['text']}"]
        for measure in self.measures:
            mine = self._best_first(rows, measure)
            cells = [[printable(one["ranker"], 80), *_shown(one).values()] for one in mine]
            lines += text_table([measure, *_shown(mine[0])], cells, width=width)
            lines.append(f"{measure}, by {mine[0]['unit']}: {self.description(measure)}")
            lines += self.interval_notes(rows, measure)
        if self.n_missing:
            lines.append(_not_computed(self.n_missing))
        return "\n".join(lines)

    def _best_first(self, summary: list[Row], measure: str) -> list[Row]:
        """Return the rows of a measure in a summary, the best ranker first."""
        sign = -1.0 if self.measures[measure]["higher_is_better"] else 1.0
        rows = [one for one in summary if one["measure"] == measure]
        return sorted(rows, key=lambda one: (math.isnan(one["value"]), sign * one["value"]))

    @property
    def notes(self) -> list[str]:
        """The methods of the intervals, for all measures."""
        rows = self.summary()
        return [text for measure in self.measures for text in self.interval_notes(rows, measure)]


def _shown(one: Row) -> dict[str, str]:
    """Return the numbers of a ranker in a summary as text, by heading."""
    return {
        "value": number_text(one["value"]),
        "95% interval": interval_text((one["low"], one["high"]), one["error"]),
        "average rank": number_text(one["average_rank"], digits=3),
        "mean round": number_text(one["mean_round"], digits=1),
        "fit s": number_text(one["fit_seconds"], digits=2),
        "failed": str(one["failures"] or ""),
    }


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


#: Rows of a long table that are shown; the results folder has all of them.
_ROWS = 200


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
    summary = result.summary()
    measures = (_measure(result, name, summary) for name in result.measures)
    parts = [_head(result), *measures, _differences(result, baseline), _tasks(result)]
    body = f"<h1>{_text(title)}</h1>{''.join(parts)}{_failures(result)}{_made_with(result)}"
    return page_html("experiment", title, body=body)


def _text(value: object) -> str:
    return escape(str(value), quote=True)


def _table(rows: Sequence[Mapping[str, str]], text: int = 1, mark_first: bool = False) -> str:
    """Return a table of rows by heading; the first ``text`` columns are words, others numbers."""

    def line(tag: str, cells: Iterable[str], kind: str = "") -> str:
        words = ' class="text"'
        inside = "".join(
            f"<{tag}{words if at < text else ''}>{_text(cell)}</{tag}>"
            for at, cell in enumerate(cells)
        )
        return f"<tr{kind}>{inside}</tr>"

    lines = [line("th", rows[0] if rows else ())]
    for at, row in enumerate(rows[:_ROWS]):
        kind = ' class="best"' if mark_first and at == 0 else ""
        lines.append(line("td", row.values(), kind))
    cut = f'<p class="dim">The first {_ROWS} of {len(rows):,}.</p>' if len(rows) > _ROWS else ""
    return f'<div class="wide"><table>{"".join(lines)}</table></div>{cut}'


def _head(result: ExperimentResult) -> str:
    """Return tasks, rankers, protocol and number of cells."""
    n_failed, n_missing = len(result.failures), result.n_missing
    done = counted(len(result.cells), "cell")
    done += f", {n_failed:,} of them failed" if n_failed else ""
    done += f"; {_not_computed(n_missing)}" if n_missing else ""
    return (
        f"<p>{counted(len(result.tasks), 'task')}, {counted(len(result.rankers), 'ranker')}: "
        f"{_text(', '.join(result.rankers))}.<br>"
        f"Protocol: {_text(result.settings['protocol']['text'])}.<br>{done}.</p>"
    )


def _not_computed(count: int) -> str:
    return f"{counted(count, 'cell')} {'is' if count == 1 else 'are'} not computed yet"


def _measure(result: ExperimentResult, measure: str, summary: list[Row]) -> str:
    """Return the values of all rankers, best first, and the diagram of their ranks."""
    higher = result.measures[measure]["higher_is_better"]
    rows = result._best_first(summary, measure)
    notes = "; ".join(result.interval_notes(summary, measure))
    shown = [{"ranker": one["ranker"]} | _shown(one) for one in rows]
    parts = [
        f"<h2>{_text(measure)}</h2>",
        f'<p class="dim">{_text(result.description(measure))}; '
        f"{'higher' if higher else 'lower'} is better. Values over "
        f"{_text(UNITS[rows[0]['unit']])}. {_text(notes)}.</p>",
        _table(shown, mark_first=True),
    ]
    if len(result.rankers) > 1 and any(not math.isnan(one["average_rank"]) for one in rows):
        ranks = result.ranks(measure)
        test = _text(ranks.friedman.text)
        parts.append(f"<p>{_text(ranks.title)}.</p>{ranks.to_svg()}<p>{test}.</p>")
    return "".join(parts)


def _differences(result: ExperimentResult, baseline: str | None) -> str:
    """Return the comparison with the baseline and the blocks with the largest differences."""
    if len(result.rankers) < 2:
        return ""
    found = result.compare(baseline)
    rows = [
        {
            "measure": one.measure,
            "ranker": one.system,
            "difference": f"{one.difference:+.4f}",
            "95% interval": one.difference_text,
            "p": p_text(one.p),
            "p (Holm)": p_text(one.p_holm),
        }
        | ({"win / tie / loss": f"{one.wins} / {one.ties} / {one.losses}"} if found.movers else {})
        for one in found.differences
        if one.system != found.baseline
    ]
    movers = [
        {
            "ranker": one.system,
            found.unit: one.block,
            found.baseline: number_text(one.baseline_value),
            "ranker's": number_text(one.value),
            "change": f"{one.change:+.4f}",
        }
        for one in found.movers
        if one.measure == found.differences[0].measure
    ]
    return (
        f"<h2>Differences to {_text(found.baseline)}</h2>"
        f'<p class="dim">Paired by {_text(found.unit)}. {_text("; ".join(found.methods))}.</p>'
        + _table(rows, text=2)
        + (f"<h2>Biggest movers</h2>{_table(movers, text=2)}" if movers else "")
    )


def _tasks(result: ExperimentResult) -> str:
    """Return the values per task and measure, where there are several tasks."""
    if len(result.tasks) < 2:
        return ""
    parts = ["<h2>By task</h2>"]
    for measure in result.measures:
        blocks = result.blocks(measure, "task")
        rows = [
            {"task": name} | dict(zip(blocks.systems, map(number_text, row.tolist())))
            for name, row in zip(blocks.names, blocks.values)
        ]
        parts.append(f"<p>{_text(measure)}</p>{_table(rows)}")
    return "".join(parts)


def _failures(result: ExperimentResult) -> str:
    """Return the errors of failed cells."""
    keys = ("ranker", "task", "split", "error")
    failed = [{key: one[key] for key in keys} for one in result.failures]
    return f"<h2>Failures</h2>{_table(failed, text=4)}" if failed else ""


def _made_with(result: ExperimentResult) -> str:
    """Return versions, parameters of the rankers, and the seed."""
    sessions = []
    for one in result.settings["sessions"][-20:]:
        versions = ", ".join(f"{k} {v}" for k, v in one["versions"].items())
        sessions.append({"started": one["started"], "versions": versions})
    rankers = [
        {"ranker": name, "parameters": _parameters(one)}
        for name, one in result.settings["rankers"].items()
    ]
    return (
        f"<h2>Made with</h2>{_table(sessions, text=2)}{_table(rankers, text=2)}"
        f'<p class="dim">Seed {_text(result.settings["seed"])}.</p>'
    )


def _parameters(one: RankerRecord) -> str:
    """Return the parameters in a line, the grid after them."""
    estimator = one["estimator"]
    text = str(estimator)
    if isinstance(estimator, dict):
        values = ", ".join(f"{k}={v!r}" for k, v in estimator.items() if k != "class")
        text = f"{str(estimator.get('class', '')).rpartition('.')[2]}({values})"
    return text + (f"; tuned over {one['grid']}" if one["grid"] else "")
