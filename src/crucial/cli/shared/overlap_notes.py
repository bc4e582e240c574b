"""Notes on queries and rows that are measured though they were learned from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from crucial.cli.shared.terminal import note
from crucial.wording import counted

if TYPE_CHECKING:
    from crucial.data.dataset import Dataset, Qrels, Run
    from crucial.fusion.learning import FusionRanker

__all__ = ["LEARNED_TAG", "note_learned_queries", "note_learned_run", "note_overlap"]

#: Share of rows that two files may have in common by chance, such as rows of few categories.
_BY_CHANCE = 0.05


def note_overlap(path: str, valid_path: str, train: Dataset, valid: Dataset) -> None:
    """Report queries and rows of the validation file that are also in the training file."""
    from crucial.data.dataset import find_overlap

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


#: Tag of a run that a fusion wrote for queries it learned from, unless --tag names another.
LEARNED_TAG = "crucial-learned"


def note_learned_queries(
    fusion: FusionRanker, queries: Iterable[object], qrels: Qrels | None = None
) -> int:
    """Report queries to fuse that the fusion learned from; return how many there are.

    With judgements, only the queries that are judged count: nothing else is measured.
    """
    judged = None if qrels is None else set(map(str, qrels.qid))
    ids = [one for one in queries if judged is None or str(one) in judged]
    known = fusion.n_learned_from(ids)
    if known:
        note(
            f"the fusion learned from {known:,} of these {counted(len(ids), 'query')}: measures "
            "over them look better than they are for new queries ('crucial fuse' prints a table "
            "over held-out ones)"
        )
    return known


def note_learned_run(path: str, run: Run) -> None:
    """Report that a run is of a fusion that learned from its queries, as its tag says."""
    tags = {run.tag} if isinstance(run.tag, str) else set(run.tag[:1].tolist())
    if LEARNED_TAG in tags:
        note(
            f"{path} was fused by a model that learned from some of its queries, as its tag says: "
            "measures over them look better than they are for new queries"
        )
