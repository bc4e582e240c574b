"""Measures by name."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["DEFAULT_MEASURE", "measure_names"]

#: The measure that applies where none is named, for help texts.
DEFAULT_MEASURE = "ndcg@10; auc without queries, or with labels below 0"


def measure_names(texts: Iterable[str]) -> list[str]:
    """Return the full names of measures as the user wrote them; unknown ones are refused."""
    from crucial.measures.names import get_measure

    return [get_measure(text).name for text in texts]
