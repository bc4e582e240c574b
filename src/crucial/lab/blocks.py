"""Values of several systems on the same queries, folds or tasks: what comparisons stand on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crucial.measures.base import Aggregate, summarise
from crucial.measures.intervals import bootstrap_interval
from crucial.types import Floats

__all__ = ["UNITS", "Blocks"]


#: What a block is, and how many of them are called.
UNITS = {"query": "queries", "fold": "folds", "task": "tasks"}


@dataclass(frozen=True, eq=False)
class Blocks:
    """One measure's values, block by block.

    Attributes
    ----------
    measure : str
    higher_is_better : bool
    aggregate : {"mean", "pool", "sum"}
        How blocks are put together.
    unit : {"query", "fold", "task"}
        What a block is.
    names : list of str
        One a block.
    systems : tuple of str
    values : array of shape (n_blocks, n_systems)
        NaN where a system has none.
    weights : array of shape (n_blocks,) or None
        Of blocks in a pooled value.
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
        """Values of a system."""
        return np.asarray(self.values[:, self.systems.index(system)])

    def value(self, system: str) -> tuple[float, int]:
        """One number over the blocks that have a value, and how many have."""
        value, count, _ = summarise(self.column(system), self.weights, self.aggregate, "skip")
        return value, count

    def interval(self, system: str, level: float, seed: int) -> tuple[float, float]:
        """Bootstrap interval of that number; NaN where there are fewer than two blocks."""
        found = bootstrap_interval(
            self.column(system), self.weights, self.aggregate, level=level, random_state=seed
        )
        return found or (float("nan"), float("nan"))

    def counted(self, number: int | None = None) -> str:
        """Say a number of blocks."""
        count = len(self.names) if number is None else number
        return f"{count:,} {self.unit if count == 1 else UNITS[self.unit]}"

    def to_rows(self) -> list[dict[str, Any]]:
        """One dict a block."""
        return [
            {self.unit: name, "measure": self.measure} | dict(zip(self.systems, map(float, row)))
            for name, row in zip(self.names, self.values)
        ]
