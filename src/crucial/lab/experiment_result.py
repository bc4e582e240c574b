"""Results of an experiment: ranks, comparisons, tables and text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import numpy as np

from crucial.errors import DataError, FileError, ParameterError
from crucial.lab.blocks import Blocks
from crucial.lab.comparison import compare_blocks
from crucial.lab.comparison_result import Comparison
from crucial.lab.critical_difference import RankSummary, summarise_ranks
from crucial.lab.experiment_cells import ExperimentCells
from crucial.lab.fold_rows import FoldRows, rows_of_folds
from crucial.lab.records import Cell, key_of
from crucial.lab.row_comparison import RowComparison
from crucial.lab.store import ResultFolder
from crucial.lab.tidy import Row, columns_of, frame_of, write_rows
from crucial.measures.base import Measure
from crucial.measures.evaluation import interval_notes
from crucial.measures.intervals import Interval
from crucial.measures.names import get_measure
from crucial.measures.row_intervals import RowSampling
from crucial.notebook import HtmlResult, HtmlTable
from crucial.parameters import check, lookup, one_of
from crucial.results import Frame
from crucial.types import PathLike
from crucial.wording import counted, interval_text, noun_for, printable

__all__ = ["ExperimentResult", "load_experiment"]

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
        from crucial.lab.report import write_report

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
