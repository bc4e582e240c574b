"""The table of ``crucial train --auto``: what was tried and what was kept."""

from __future__ import annotations

from rich.console import Console

from crucial.cli.shared.terminal import label_column, number_column, one_line, table
from crucial.lab.auto_candidates import TriedRankers

__all__ = ["print_choice"]


def print_choice(screen: Console, choice: TriedRankers | str) -> None:
    """Print every ranker that was tried, and why one was kept."""
    if isinstance(choice, TriedRankers):
        # (a name says the kind; the outcome is a mark, as the numbers need the room)
        ranker, _, *numbers, _ = choice.heads
        columns = [number_column(one) for one in numbers]
        shown = table(label_column(ranker, 34), *columns)
        for trial, (name, _, *cells, _) in zip(choice.trials, choice.cells(), strict=True):
            mark = "> " if trial is choice.kept else "  "
            shown.add_row(mark + one_line(name), *(one_line(cell) for cell in cells))
        screen.print(shown)
        for trial in choice.trials:
            if trial.error is not None:
                screen.print(f"{one_line(trial.name)} failed: {one_line(trial.error)}")
        choice = choice.choice
    screen.print(f"\n{one_line(choice)}\n")
