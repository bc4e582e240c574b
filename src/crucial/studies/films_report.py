"""The film study as tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from crucial.studies.drawing import new_figure, save_figure

if TYPE_CHECKING:
    from crucial.studies.films import Point

__all__ = ["draw", "write_table"]


def write_table(
    title: str,
    points: Sequence[Point],
    rankers: Sequence[str],
    measures: Sequence[str],
    write: Callable[[str], None],
) -> None:
    """Write one block per measure, one line per ranker and one column per point."""
    write(f"\n{title}")
    users = "  ".join(f"{p.label}: {sum(p.n_targets) / len(p.n_targets):.0f}" for p in points)
    write(f"target users per split: {users}")
    width = max(map(len, rankers)) + 2
    for measure in measures:
        write(f"{measure:{width}}" + "".join(f"{point.label:>10}" for point in points))
        best = []
        for point in points:
            values = [point.mean(name, measure) for name in rankers]
            best.append(min(values) if measure == "disagreement" else max(values))
        for name in rankers:
            cells = []
            for point, top in zip(points, best):
                value = point.mean(name, measure)
                cells.append(f"{value:.3f}{'*' if value == top else ' '}".rjust(10))
            write(f"  {name:{width - 2}}" + "".join(cells))


def draw(
    title: str,
    varied: str,
    points: Sequence[Point],
    rankers: Sequence[str],
    measures: Sequence[str],
    folder: str,
) -> Path:
    """Draw four panels with one line per ranker as a PNG in the folder; return its path."""
    figure, panels = new_figure(2, 2, (10, 7))
    for panel, measure in zip(panels, measures):
        for name in rankers:
            values = [point.mean(name, measure) for point in points]
            dashed = "--" if name == "random" else "-"
            panel.plot([point.x for point in points], values, dashed, marker="o", label=name)
        panel.set_title(measure)
        panel.set_xlabel(varied)
    figure.suptitle(title)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center")
    name = title.split(":")[0].lower().replace(" ", "_")
    return save_figure(figure, Path(folder) / f"{name}.png")
