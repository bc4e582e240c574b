"""The cells of an experiment, and their values per task, fold and query."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from crucial.lab.blocks import UNITS, Blocks
from crucial.lab.records import Cell, ExperimentSettings, Key, MeasureRecord, key_of
from crucial.parameters import check, lookup, one_of
from crucial.types import Floats

__all__ = ["ExperimentCells"]


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
