"""Measures by name, and the measure that applies where none is named."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crucial.data.dataset import Dataset

__all__ = ["DEFAULT_MEASURE", "default_measure", "measure_names"]

#: What `default_measure` returns, for help texts.
DEFAULT_MEASURE = "ndcg@10; auc without queries, or with labels below 0"


def measure_names(texts: Iterable[str]) -> list[str]:
    """Return the full names of measures as the user wrote them; unknown ones are refused."""
    from crucial.measures.names import get_measure

    return [get_measure(text).name for text in texts]


def default_measure(*files: Dataset | None) -> str:
    """Return the measure that applies where none is named.

    It is ndcg@10 for queries, and the share of pairs in the right order (auc) without queries or
    where labels below 0 cannot be gains.
    """
    known = [data for data in files if data is not None]
    below = any(data.y is not None and float(data.y.min()) < 0 for data in known)
    queries = all(data.qid is not None for data in known)
    return "ndcg@10" if queries and not below else "auc"
