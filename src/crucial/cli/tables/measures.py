"""State the conventions of measures beside their values."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rich.console import Console

from crucial.measures.names import get_measure

__all__ = ["gain_rule", "print_heading", "print_meanings"]

_GAINS = {"ndcg": "linear gain y", "ndcg_exp": "gain 2^y - 1"}


def gain_rule(names: Iterable[str]) -> str:
    """Return which gain the measures of a table use, for its heading; empty if none uses one.

    Examples
    --------
    >>> gain_rule(["ndcg@10", "map", "ndcg@5"])
    'ndcg with linear gain y'
    >>> gain_rule(["ndcg_exp(letor)", "ndcg@10"])
    'ndcg with linear gain y, ndcg_exp with gain 2^y - 1'
    """
    families = {re.split(r"[@(]", name)[0] for name in names}
    rules = [f"{family} with {gain}" for family, gain in _GAINS.items() if family in families]
    return ", ".join(rules)


def print_heading(screen: Console, text: str, measures: Iterable[str]) -> None:
    """Print the heading of a table of measures, with the gain that they use."""
    screen.print("; ".join(filter(None, [text, gain_rule(measures)])), style="bold")


def print_meanings(screen: Console, names: Iterable[str], unit: str = "query") -> None:
    """Print what the measures of a table are, below it; of rows where there are no queries."""

    for name in names:
        screen.print(f"{name}: {get_measure(name).description_of(unit)}", style="dim")
