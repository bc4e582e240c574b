"""Measures beside their conventions: no number without the gain it stands on."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from crucial.data.dataset import Dataset

__all__ = ["default_measure", "gain_rule", "print_meanings"]

_GAINS = {"ndcg": "linear gain y", "ndcg_exp": "gain 2^y - 1"}


def default_measure(*files: Dataset | None) -> str:
    """The measure that is taken where none is asked for.

    ndcg@10 of queries; the share of pairs in the right order (auc) without queries, or where
    labels below 0 are no gains.
    """
    given = [data for data in files if data is not None]
    below = any(data.y is not None and float(data.y.min()) < 0 for data in given)
    queries = all(data.qid is not None for data in given)
    return "ndcg@10" if queries and not below else "auc"


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
