"""Put the queries and documents of a pool in an order that the order of files does not change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crucial.apps.fusion.judging import Judging
from crucial.apps.fusion.pool import Listing
from crucial.data.words import name_places

__all__ = ["sorted_by_name"]


def sorted_by_name(judging: Judging) -> Judging:
    """Return the same judgements with queries, and documents within queries, sorted by name.

    Folds, samples and sums then do not depend on the order of queries and lines in the files.

    Examples
    --------
    >>> judging = Judging.of([{"b": ["y", "x"], "a": ["x"]}], {"a": ["x"], "b": ["x"]})
    >>> sorted_by_name(judging).pool.queries.tolist(), sorted_by_name(judging).pool.doc.tolist()
    (['a', 'b'], ['x', 'x', 'y'])
    """
    pool = judging.pool
    new_query = name_places(pool.queries.tolist())
    codes, code_of_row = np.unique(pool.doc_code, return_inverse=True)
    doc_place = name_places(pool.words[codes].tolist())[code_of_row.ravel()]
    rows = np.lexsort((doc_place, new_query[pool.query_of_row]))
    new_row = np.empty_like(rows)
    new_row[rows] = np.arange(len(rows))
    queries = np.argsort(new_query)
    lists = []
    for one in pool.lists:
        # (stable: within a query, the best document stays the first)
        at = np.argsort(new_query[pool.query_of_row[one.rows]], kind="stable")
        starts = np.concatenate(([0], np.cumsum(one.sizes[queries])))
        lists.append(Listing(new_row[one.rows[at]], one.position[at], one.score[at], starts))
    ordered = replace(
        pool,
        queries=pool.queries[queries],
        starts=np.concatenate(([0], np.cumsum(pool.sizes[queries]))),
        doc_code=pool.doc_code[rows],
        lists=tuple(lists),
    )
    lost = np.lexsort((judging.lost_relevance, new_query[judging.lost_query]))
    return replace(
        judging,
        pool=ordered,
        relevance=judging.relevance[rows],
        is_judged=judging.is_judged[rows],
        lost_query=new_query[judging.lost_query[lost]],
        lost_relevance=judging.lost_relevance[lost],
    )
