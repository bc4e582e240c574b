"""Fusion rules that need no judgements: reciprocal ranks, sums of scores, votes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import numpy as np

from crucial.apps.fusion.inputs import Runs
from crucial.apps.fusion.normalise import NORMALISATIONS, normalised
from crucial.apps.fusion.pool import Pool
from crucial.apps.fusion.row_sums import Adder, sum_exactly
from crucial.data.dataset import Run
from crucial.kernels.predict import NOT_RETURNED, sort_by_majority
from crucial.parameters import at_least, between, check, instance_of, lookup, none_or
from crucial.types import Floats

__all__ = ["DEPTH", "METHODS", "Fusion", "fuse"]

#: Number of documents per query in a fused run, as in TREC.
DEPTH = 1000


class Fusion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule that fuses runs without judgements.

    Attributes
    ----------
    method : str
        A name in `METHODS`.
    k : float
        For "rrf": the larger, the less the first places stand out.
    normalise : str
        For "combsum" and "combmnz": how scores are made comparable, as in `normalised`.
    """

    method: str = "rrf"
    k: float = 60.0
    normalise: str = "min-max"

    def __post_init__(self) -> None:
        lookup(METHODS, self.method, "fusion method")
        lookup(NORMALISATIONS, self.normalise, "normalisation")
        check("fuse", "k", self.k, between(0, math.inf))

    @property
    def name(self) -> str:
        """Name of the rule in tables, such as ``rrf(60)``.

        Examples
        --------
        >>> Fusion("rrf", k=20).name, Fusion("combsum").name, Fusion("borda").name
        ('rrf(20)', 'combsum(min-max)', 'borda')
        """
        parameter = METHODS[self.method].parameter
        value = {"": "", "k": f"({self.k:g})", "normalise": f"({self.normalise})"}[parameter]
        return self.method + value

    def scores(self, pool: Pool, add: Adder = sum_exactly) -> Floats:
        """Return a score for every row of the pool; the higher, the better.

        The order of the runs changes nothing, unless ``add`` is `sum_in_order`.
        """
        return METHODS[self.method].scores(pool, self, add)


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
    check("fuse", "depth", depth, none_or(at_least(1)))
    check("fuse", "tag", tag, none_or(instance_of(str)))
    pool = Pool.of(runs)
    return pool.to_run(rule.scores(pool), depth, rule.method if tag is None else tag)


def _reciprocal_ranks(pool: Pool, rule: Fusion, add: Adder) -> Floats:
    """Sum 1 / (k + position) over the runs."""
    values = [np.asarray(1.0 / (rule.k + one.position), np.float64) for one in pool.lists]
    return add(pool.n_rows, [(one.rows, own) for one, own in zip(pool.lists, values)])


def _sum(pool: Pool, rule: Fusion, add: Adder) -> Floats:
    """Sum the normalised scores of the runs that returned the document."""
    values = normalised(pool, rule.normalise)
    return add(pool.n_rows, [(one.rows, own) for one, own in zip(pool.lists, values)])


def _sum_times_count(pool: Pool, rule: Fusion, add: Adder) -> Floats:
    """Multiply the sum of normalised scores by the number of runs that returned the document."""
    return _sum(pool, rule, add) * pool.n_returned


def _borda(pool: Pool, rule: Fusion, add: Adder) -> Floats:
    """Sum points: c for the first of c candidates, c - 1 for the second, and so on.

    The candidates that a run did not return share its remaining points, as in Aslam & Montague
    (2001). Points are halves, whose sums are exact.
    """
    candidates = pool.sizes
    out = np.zeros(pool.n_rows)
    for one in pool.lists:
        left = (candidates - one.sizes + 1) / 2.0
        out += left[pool.query_of_row]
        query = pool.query_of_row[one.rows]
        out[one.rows] += candidates[query] - one.position + 1 - left[query]
    return out


def _median_rank(pool: Pool, rule: Fusion, add: Adder) -> Floats:
    """Return minus the median of the positions.

    For a run that did not return the document, the middle of the places after its list counts,
    as in `_borda`.
    """
    candidates = pool.sizes
    out = np.zeros(pool.n_rows)
    for begin, end in pool.blocks():
        table = pool.dense([one.position for one in pool.lists], begin, end).astype(np.float64)
        query = pool.query_of_row[begin:end]
        for column, one in enumerate(pool.lists):
            behind = (one.sizes + 1 + candidates) / 2.0
            missing = np.isnan(table[:, column])
            table[missing, column] = behind[query[missing]]
        out[begin:end] = -np.median(table, axis=1)
    return out


def _condorcet(pool: Pool, rule: Fusion, add: Adder) -> Floats:
    """Return places by majority: c for the first of c candidates, 1 for the last.

    Documents are sorted by "more runs rank it higher", as Montague & Aslam (2002) do; a run that
    returned neither of two documents abstains, and tied votes keep the order of `_borda`. Where
    majorities are cyclic, any order violates one of them.
    """
    order = pool.best_first(_borda(pool, rule, add))
    out = np.empty(pool.n_rows)
    for begin, end in pool.blocks():
        table = pool.dense([one.position for one in pool.lists], begin, end)
        returned = ~np.isnan(table)
        positions = np.full(table.shape, NOT_RETURNED, np.int32)
        positions[returned] = table[returned]
        first, last = np.searchsorted(pool.starts, [begin, end])
        starts = pool.starts[first : last + 1] - begin
        mine = order[begin:end] - begin
        sort_by_majority(positions, starts, mine)
        # (the best document of a query has as many points as there are rows up to the query's end)
        out[begin + mine] = np.repeat(starts[1:], np.diff(starts)) - np.arange(end - begin)
    return out


@dataclass(frozen=True)
class _Method:
    """How a rule scores a pool, the parameter it has, and a summary."""

    scores: Callable[[Pool, Fusion, Adder], Floats]
    parameter: str
    summary: str


#: Fusion rules by name.
METHODS = {
    "rrf": _Method(_reciprocal_ranks, "k", "sum of 1 / (k + position)"),
    "combsum": _Method(_sum, "normalise", "sum of normalised scores"),
    "combmnz": _Method(_sum_times_count, "normalise", "combsum times the runs that returned it"),
    "borda": _Method(_borda, "", "points for positions; documents not returned share the rest"),
    "condorcet": _Method(_condorcet, "", "sorted by majority of the runs"),
    "median": _Method(_median_rank, "", "median of the positions"),
}
