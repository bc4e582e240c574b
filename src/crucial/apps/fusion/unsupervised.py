"""Fuse runs without judgements."""

from __future__ import annotations

from crucial.apps.fusion.inputs import Runs
from crucial.apps.fusion.methods import Fusion
from crucial.apps.fusion.pool import Pool
from crucial.data.runs import Run
from crucial.validation import check_integer

__all__ = ["DEPTH", "fuse"]

#: Number of documents per query in a fused run, as in TREC.
DEPTH = 1000


def fuse(
    runs: Runs | Pool,
    method: str = "rrf",
    *,
    k: float = 60.0,
    normalise: str = "min-max",
    depth: int | None = DEPTH,
    tag: str | None = None,
) -> Run:
    """Fuse runs into one, without judgements.

    Parameters
    ----------
    runs : mapping from name to run, or list of runs
        Paths of TREC run files, `crucial.Run` objects, or frames with the columns qid, doc
        and score. Their queries and numbers of documents may differ.
    method : {"rrf", "combsum", "combmnz", "borda", "condorcet", "median"}
        Reciprocal rank fusion (Cormack, Clarke & Buettcher 2009), sums of scores (Fox & Shaw
        1993), points (Aslam & Montague 2001), majorities (Montague & Aslam 2002), median
        position.
    k : float
        For "rrf".
    normalise : {"min-max", "z-score", "rank"}
        For "combsum" and "combmnz": how the scores of each list are made comparable.
    depth : int or None
        Number of documents to keep per query; None for all.
    tag : str, optional
        Name of the fused run; that of the method by default.

    Returns
    -------
    Run
        Query by query, best document first.

    Examples
    --------
    >>> from crucial import Run
    >>> bm25 = Run(["1", "1", "1"], ["a", "b", "c"], [9.0, 5.0, 1.0], "bm25")
    >>> dense = Run(["1", "1"], ["c", "a"], [0.9, 0.2], "dense")
    >>> fuse([bm25, dense]).doc.tolist()
    ['a', 'c', 'b']
    """
    rule = Fusion(method, k, normalise)
    check_integer("fuse", "depth", depth, 1, none=True)
    pool = Pool.of(runs)
    return pool.to_run(rule.scores(pool), depth, rule.method if tag is None else tag)
