"""What an experiment writes down: its settings and its cells, as plain JSON data."""

from __future__ import annotations

from typing import NotRequired, TypeAlias, TypedDict

from crucial.measures.base import Aggregate

__all__ = [
    "Cell",
    "CellMeasure",
    "CellStages",
    "ExperimentSettings",
    "Key",
    "MeasureRecord",
    "RankerRecord",
    "SessionRecord",
    "TaskRecord",
    "key_of",
]

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
