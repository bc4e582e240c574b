"""Scored rows as text: query by query, best first."""

from __future__ import annotations

import numpy as np

from crucial.data.dataset import Dataset
from crucial.data.formats.cells import sheet_cell
from crucial.data.groups import Groups
from crucial.data.runs import Run
from crucial.types import Floats

__all__ = ["ranked_run", "ranked_tsv"]


def _names(data: Dataset) -> list[str]:
    """Return the names of the items; the number of the row, from 1, where there is none."""
    items = [""] * data.n_rows if data.item is None else [str(one) for one in data.item.tolist()]
    return [name or str(number) for number, name in enumerate(items, 1)]


def ranked_tsv(data: Dataset, groups: Groups, scores: Floats) -> str:
    """Return lines of qid, item, score and rank; equal scores share a rank.

    Examples
    --------
    >>> data = Dataset(np.zeros((3, 1)), item=np.array(["a", "b", "c"], object))
    >>> print(ranked_tsv(data, Groups.from_qid(None, 3), np.array([0.5, 2.0, 0.5])).expandtabs())
    qid     item    score   rank
    1       b       2.0     1
    1       a       0.5     2
    1       c       0.5     2
    """
    query = np.repeat(np.arange(groups.n_groups), groups.sizes)
    order = groups.order[np.lexsort((-scores[groups.order], query))]
    # Within its query a row ranks behind the rows with higher scores.
    first = np.ones(len(order), bool)
    first[1:] = (scores[order[1:]] != scores[order[:-1]]) | (query[1:] != query[:-1])
    place = np.arange(len(order)) - groups.starts[query] + 1
    rank = place[np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))]
    names = _names(data)
    qids = ["1"] if data.qid is None else [str(qid) for qid in groups.ids.tolist()]
    lines = ["qid\titem\tscore\trank\n"]
    columns = (query.tolist(), order.tolist(), scores[order].tolist(), rank.tolist())
    for q, row, score, at in zip(*columns):
        # (tabs in a name would break the line)
        cells = (sheet_cell(" ".join(word.split())) for word in (qids[q], names[row]))
        lines.append("\t".join([*map(str, cells), repr(score), str(at)]) + "\n")
    return "".join(lines)


def ranked_run(data: Dataset, scores: Floats, tag: str) -> Run:
    """Return the scored rows as a TREC run."""
    qid = np.array(["1"] * data.n_rows, object) if data.qid is None else data.qid
    return Run(qid, np.array(_names(data), object), scores, tag)
