"""Notes on queries and rows that are measured though they were learned from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from crucial.cli.shared.terminal import counted, note

if TYPE_CHECKING:
    from crucial.apps.fusion.ranker import FusionRanker
    from crucial.data.dataset import Dataset

__all__ = ["note_learned_queries", "note_overlap"]

#: Share of rows that two files may have in common by chance, such as rows of few categories.
_BY_CHANCE = 0.05


def note_overlap(path: str, valid_path: str, train: Dataset, valid: Dataset) -> None:
    """Report queries and rows of the validation file that are also in the training file."""
    from crucial.data.overlap import find_overlap

    found = find_overlap(valid, train)
    rows = f"{found.n_rows:,} of the {counted(found.rows_of, 'row')} of {valid_path}"
    queries = f"{found.n_queries:,} of the {counted(found.queries_of, 'query')} of {valid_path}"
    if found.n_rows > _BY_CHANCE * found.rows_of:
        note(
            f"{rows} are also in {path}: a round is then chosen by rows that were learned from, "
            "and measures look better than they are. Split by whole queries"
        )
    elif found.n_queries:
        note(
            f"{queries} have an id that {path} has too, with other rows: all rows of a query must "
            "be in one file. This is harmless if each file numbers its queries for itself"
        )


def note_learned_queries(fusion: FusionRanker, queries: Iterable[object]) -> None:
    """Report queries to fuse that the fusion learned from."""
    ids = list(queries)
    known = fusion.n_learned_from(ids)
    if known:
        note(
            f"the fusion learned from {known:,} of these {counted(len(ids), 'query')}: measures "
            "over them look better than they are for new queries ('crucial fuse' prints a table "
            "over held-out ones)"
        )
