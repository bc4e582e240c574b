"""Fusion rules without judgements: reciprocal ranks, sums of scores, votes; judging a pool."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec
import numpy as np

from crucial.data.dataset import Run
from crucial.data.groups import Groups
from crucial.data.words import name_places, shown
from crucial.errors import DataError
from crucial.fusion.pool import Adder, Listing, Pool, Runs, sum_exactly
from crucial.io.runs import as_qrels
from crucial.kernels.predict import NOT_RETURNED, sort_by_majority
from crucial.measures.base import Measure, Prepared
from crucial.measures.evaluation import measure_ranking
from crucial.measures.lists import JudgedLists, Ranking, as_numbers
from crucial.measures.names import get_measure
from crucial.parameters import at_least, between, check, instance_of, lookup, none_or
from crucial.types import Bools, Floats, Ids, Ints

# --- Make the scores of different systems comparable, query by query


#: The methods of `normalised`, and what each does.
NORMALISATIONS = {
    "min-max": "the lowest score of a list is 0, the highest 1",
    "z-score": "mean 0 and standard deviation 1 in every list",
    "rank": "1 for the first of n documents, 1/n for the last; scores are not used",
}

# Beyond this, differences of scores could overflow; scaling by a power of 2 is exact. Small scores
# need none: their differences are exact or rounded as those of larger ones, and only shares of the
# largest difference are ever squared.
_LARGE, _SCALE = 1e150, 2.0**-600


def normalised(pool: Pool, method: str) -> list[Floats]:
    """Return the scores of every run on a common scale, in the order of its list.

    A list whose scores are all equal is 0 by "min-max" and "z-score", as in ranx.

    Parameters
    ----------
    pool : Pool
    method : {"min-max", "z-score", "rank"}
    """
    lookup(NORMALISATIONS, method, "normalisation")
    scale = {"min-max": _min_max, "z-score": _z_score, "rank": _by_rank}[method]
    return [scale(one) for one in pool.lists]


def _scores(one: Listing) -> Floats:
    """Return the scores of a run; those of a list with a very large one are scaled."""
    filled = one.sizes > 0
    ends = one.score[one.starts[:-1][filled]], one.score[one.starts[1:][filled] - 1]
    large = np.maximum(*np.abs(ends)) > _LARGE
    if not large.any():
        return one.score
    scale = np.where(large, _SCALE, 1.0)
    return np.asarray(one.score * np.repeat(scale, one.sizes[filled]))


def _by_rank(one: Listing) -> Floats:
    size = np.repeat(one.sizes, one.sizes)
    shares: Floats = 1.0 - (one.position - 1) / size
    return shares


def _min_max(one: Listing) -> Floats:
    scores, sizes = _scores(one), one.sizes
    filled = sizes > 0
    # (a list is sorted: its first score is the highest, its last the lowest)
    high = np.repeat(scores[one.starts[:-1][filled]], sizes[filled])
    low = np.repeat(scores[one.starts[1:][filled] - 1], sizes[filled])
    spread = high - low
    out = np.zeros(len(scores))
    np.divide(scores - low, spread, out=out, where=spread > 0)
    return out


def _z_score(one: Listing) -> Floats:
    """Scale every list to mean 0 and standard deviation 1; 0 where all scores are equal."""
    # From 0 to 1 first: the mean of large scores that are close to each other would be rounded to
    # more than their differences. Equal scores are all 0.
    shares, sizes = _min_max(one), one.sizes
    of_list = np.repeat(np.arange(len(sizes)), sizes)
    n = np.maximum(sizes, 1)
    mean = np.bincount(of_list, shares, len(sizes)) / n
    centred = shares - mean[of_list]
    spread = np.sqrt(np.bincount(of_list, centred * centred, len(sizes)) / n)[of_list]
    out = np.zeros(len(shares))
    np.divide(centred, spread, out=out, where=spread > 0)
    return out


# --- Fusion rules that need no judgements: reciprocal ranks, sums of scores, votes


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
    """A fusion rule: the function that scores a pool, its parameter and a summary."""

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


# --- Judgements beside a pool: which documents are relevant, and how good a ranking is


#: What is measured, for the notes of tables.
MEASURED = (
    f"a fusion is measured as the run that it writes, up to {DEPTH:,} documents per query, a run "
    "with all its documents"
)


@dataclass(frozen=True, eq=False)
class Judging:
    """A pool and the judgements of its queries.

    Attributes
    ----------
    pool : Pool
    relevance : float64 array of shape (n_rows,)
        As judged; 0 where nobody judged the document.
    is_judged : bool array of shape (n_rows,)
    lost_query : int array
        Query of every judged document that no run returned.
    lost_relevance : float64 array
        Relevance of these documents.
    n_unknown_queries : int
        Number of judged queries that no run has.
    """

    pool: Pool
    relevance: Floats
    is_judged: Bools
    lost_query: Ints
    lost_relevance: Floats
    n_unknown_queries: int = 0

    @classmethod
    def of(cls, runs: Runs | Pool, qrels: object) -> Judging:
        """Put judgements beside the pool of runs; those of other queries are left out.

        Raises
        ------
        DataError
            No query of the runs is judged, or a document is judged twice in a query.
        """
        pool, table = Pool.of(runs), as_qrels(qrels)
        label = as_numbers(table.relevance, "qrels.relevance")
        numbers = {query: at for at, query in enumerate(pool.queries.tolist())}
        qids = table.qid.tolist()
        query = np.array([numbers.get(one, -1) for one in qids], np.int64)
        known = query >= 0
        if not known.any():
            raise DataError(
                f"no query of the runs is judged: the runs have queries such as "
                f"{shown(pool.queries[0])}, the qrels such as {shown(next(iter(qids), ''))}."
            )
        query, label, docs = query[known], label[known], table.doc[known]
        codes, n_docs = pool.codes_of(docs.tolist())
        wanted = query * n_docs + codes
        _refuse_twice(wanted, docs)
        # Rows go by query, then by the number of the document: their keys ascend.
        keys = pool.query_of_row * n_docs + pool.doc_code
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        found = keys[at] == wanted
        relevance, judged = np.zeros(pool.n_rows), np.zeros(pool.n_rows, bool)
        relevance[at[found]] = label[found]
        judged[at[found]] = True
        n_unknown = len(set(qids).difference(numbers))
        return cls(pool, relevance, judged, query[~found], label[~found], n_unknown)

    @cached_property
    def judged_queries(self) -> Bools:
        """Whether each query of the pool has a judgement."""
        out = np.zeros(self.pool.n_queries, bool)
        out[self.pool.query_of_row[self.is_judged]] = True
        out[self.lost_query] = True
        return out

    def of_queries(self, wanted: Bools) -> Judging:
        """Return the part of some queries of the pool, selected by one bool per query."""
        rows = wanted[self.pool.query_of_row]
        lost = wanted[self.lost_query]
        number = np.cumsum(wanted) - 1
        own = (self.relevance[rows], self.is_judged[rows])
        rest = (number[self.lost_query[lost]], self.lost_relevance[lost])
        return Judging(self.pool.of_queries(wanted), *own, *rest)

    def only_judged(self) -> Judging:
        """Return the part of the judged queries."""
        wanted = self.judged_queries
        return self if wanted.all() else self.of_queries(wanted)

    @property
    def labels(self) -> Floats:
        """Label of every row of the pool: 0 where nobody judged it, or below 0."""
        return np.maximum(self.relevance, 0.0)

    @cached_property
    def judged(self) -> JudgedLists:
        """The rows of the pool, then the judged documents that no run returned."""
        query = np.concatenate((self.pool.query_of_row, self.lost_query))
        return JudgedLists(
            np.concatenate((self.relevance, self.lost_relevance)),
            Groups.from_qid(query, len(query)),
            retrieved=np.arange(len(query)) < self.pool.n_rows,
            judged=np.concatenate((self.is_judged, np.ones(len(self.lost_query), bool))),
        )

    def values(self, measure: str | Measure, ranking: Floats | Listing) -> Floats:
        """Return the measure of each query of the pool; NaN where it has none.

        The values are those of `crucial.evaluate_run` on the run of the ranking.

        Parameters
        ----------
        measure : str or Measure
        ranking : array of scores of the pool's rows, or Listing
            Scores are of a fusion, whose run has the first `DEPTH` documents of each query. Of a
            listing, all returned documents have a position.
        """
        judged, scores = self._ranked(ranking)
        prepared = Prepared(get_measure(measure), judged)
        out = np.full(self.pool.n_queries, np.nan)
        out[judged.groups.ids] = prepared.bound.values(Ranking(judged, scores))
        return out

    def unjudged(self, depth: int, ranking: Floats | Listing) -> float:
        """Return the share of unjudged documents among the first ``depth``."""
        judged, scores = self._ranked(ranking)
        share = measure_ranking(judged, scores, f"p@{depth}").results[f"p@{depth}"].unjudged
        return float("nan") if share is None else share

    def _ranked(self, ranking: Floats | Listing) -> tuple[JudgedLists, Floats]:
        """Return the documents that the run of a ranking has or that are judged, with scores."""
        scores = np.zeros(self.pool.n_rows + len(self.lost_query))
        if isinstance(ranking, Listing):
            rows = ranking.rows
            scores[rows] = ranking.score
        else:
            scores[: self.pool.n_rows] = ranking
            if self.pool.sizes.max(initial=0) <= DEPTH:
                return self.judged, scores
            rows = self.pool.best_first(ranking)
            rows = rows[self.pool.place_in_query(rows) < DEPTH]
        retrieved = np.zeros(len(scores), bool)
        retrieved[rows] = True
        judged = self.judged
        assert judged.judged is not None
        keep = retrieved | judged.judged  # (others are not in the pool of this run)
        query = judged.groups.ids[judged.codes[keep]]
        groups = Groups.from_qid(query, len(query))
        parts = {"retrieved": retrieved[keep], "judged": judged.judged[keep]}
        return JudgedLists(judged.y[keep], groups, **parts), scores[keep]


def _refuse_twice(keys: Ints, docs: Ids) -> None:
    """Raise an error if two judgements have the same key of query and document."""
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(np.diff(keys[order]) == 0)
    if len(again):
        name = docs[order[again[0]]]
        raise DataError(f"the qrels have document {shown(str(name))} twice in a query.")


# --- Put the queries and documents of a pool in an order that the order of files does not change


def sorted_by_name(judging: Judging) -> Judging:
    """Return the judgements with queries, and documents within queries, sorted by name.

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
