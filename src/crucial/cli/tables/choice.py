"""The table of ``crucial train --auto``: what was tried and what was kept."""

from __future__ import annotations

from rich.console import Console

from crucial.cli.shared.terminal import label_column, number_column, one_line, table
from crucial.lab.auto.trials import TriedRankers

__all__ = ["print_choice"]


def print_choice(screen: Console, choice: TriedRankers | str) -> None:
    """Print every ranker that was tried, and why one was kept."""
    if isinstance(choice, TriedRankers):
        ranker, kind, *numbers, outcome = choice.heads
        columns = [number_column(one, no_wrap=True) for one in numbers]
        shown = table(label_column(ranker, 30), kind, *columns, outcome)
        for row in choice.cells():
            shown.add_row(*(one_line(cell) for cell in row))
        screen.print(shown)
        choice = choice.choice
    screen.print(f"\n{one_line(choice)}\n")
