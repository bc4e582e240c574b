"""Measures beside their conventions: no number without the gain it stands on."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["gain_rule", "print_meanings"]

_GAINS = {"ndcg": "linear gain y", "ndcg_exp": "gain 2^y - 1"}


def gain_rule(names: Iterable[str]) -> str:
    """Say which gain the measures of a table have, for its heading; empty if none has one.

    Examples
    --------
    >>> gain_rule(["ndcg@10", "map", "ndcg@5"])
    'ndcg with linear gain y'
    >>> gain_rule(["ndcg_exp(letor)", "ndcg@10"])
    'ndcg with linear gain y, ndcg_exp with gain 2^y - 1'
    """
    families = {re.split(r"[@(]", name)[0] for name in names}
    said = [f"{family} with {gain}" for family, gain in _GAINS.items() if family in families]
    return ", ".join(said)


def print_meanings(screen: Console, names: Iterable[str]) -> None:
    """Say below a table what its measures are."""
    from crucial.measures.names import get_measure

    for name in names:
        screen.print(f"{name}: {get_measure(name).description}", style="dim")
