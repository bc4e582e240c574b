"""Result of a comparison of systems with a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import ClassVar

import numpy as np

from crucial.lab.tidy import Row, columns_of, frame_of
from crucial.notebook import HtmlResult, HtmlTable
from crucial.results import Frame
from crucial.wording import counted, interval_text, p_text, printable

__all__ = ["Comparison", "Difference", "Mover"]


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

    _html_bars: ClassVar[Mapping[str, float | None]] = {"difference": None}

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

    def to_frame(self) -> Frame:
        """Return the rows as a pandas frame, where pandas is installed."""
        return frame_of(self.to_rows())

    def __repr__(self) -> str:
        systems = counted(len({one.system for one in self.differences}), "system")
        measures = counted(len({one.measure for one in self.differences}), "measure")
        return (
            f"Comparison({systems}, {measures}, baseline {self.baseline!r}, paired by {self.unit})"
        )

    def __str__(self) -> str:
        lines: list[str] = []
        wide = max(8, *(len(printable(one.system, 30)) for one in self.differences))
        counts = "" if self.unit == "row" else "  win/tie/loss"
        for measure in dict.fromkeys(one.measure for one in self.differences):
            mine = [one for one in self.differences if one.measure == measure]
            lines += [
                f"{measure}, against {printable(self.baseline, 30)}, paired by {self.unit}",
                f"{'system':<{wide}} value   {self.level:.0%} interval     difference  "
                f"{self.level:.0%} interval       p       p Holm{counts}",
            ]
            for one in mine:
                head = f"{printable(one.system, 30):<{wide}} {one.value:.4f}  "
                head += f"{one.interval_text:<16}"
                if one.system == self.baseline:
                    lines.append(f"{head}  (baseline)")
                    continue
                tests = f"{p_text(one.p):<6}  {p_text(one.p_holm):<6}"
                won = "" if self.unit == "row" else f"  {one.wins}/{one.ties}/{one.losses}"
                lines.append(
                    f"{head}  {one.difference:+.4f}    {one.difference_text:<18}  {tests}{won}"
                )
        return "\n".join([*lines, *self.methods, *self.notes])

    def _html_title(self) -> str:
        return f"Against {self.baseline}, paired by {self.unit}"

    def _html_tables(self) -> list[HtmlTable]:
        tables = []
        for measure in dict.fromkeys(one.measure for one in self.differences):
            rows = [asdict(one) for one in self.differences if one.measure == measure]
            hidden = {"measure", "error", "difference_error"}
            hidden |= {"wins", "ties", "losses"} if self.unit == "row" else set()
            columns = columns_of(
                [{k: v for k, v in row.items() if k not in hidden} for row in rows]
            )
            for name in ("p", "p_holm"):
                columns[name] = ["" if np.isnan(row[name]) else p_text(row[name]) for row in rows]
            tables.append(HtmlTable(columns, self._html_bars, heading=measure))
        return tables

    def _html_notes(self) -> list[str]:
        return [*self.methods, *self.notes]
