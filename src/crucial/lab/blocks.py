"""Values of several systems on the same queries, folds or tasks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.lab.tidy import Row
from crucial.measures.base import Aggregate, summarise
from crucial.measures.intervals import Interval, bootstrap_interval
from crucial.types import Floats

__all__ = ["UNITS", "Blocks"]


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
        return bootstrap_interval(
            self.column(system),
            self.weights,
            self.aggregate,
            level=level,
            random_state=seed,
            unit=UNITS[self.unit],
        )

    def to_rows(self) -> list[Row]:
        """Return one dict per block."""
        return [
            {self.unit: name, "measure": self.measure} | dict(zip(self.systems, map(float, row)))
            for name, row in zip(self.names, self.values)
        ]
