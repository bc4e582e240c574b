"""Average ranks and which of them differ: as data, text, SVG and picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import ArrayLike

from crucial.errors import DataError
from crucial.lab.statistics import (
    FriedmanTest,
    critical_difference,
    friedman_test,
    ranks_of,
)
from crucial.lab.tidy import Row, frame_of
from crucial.notebook import HtmlResult, HtmlTable
from crucial.results import Axes, Frame, literal, new_axes
from crucial.types import Floats
from crucial.wording import counted, printable

__all__ = ["RankSummary", "summarise_ranks"]


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
