"""The pool: every document that at least one run returned, query by query, in a fixed order."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import gt
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from crucial.data.dataset import Run
from crucial.data.words import as_objects, name_places, numbered, shown
from crucial.errors import DataError, DataTypeError, DataWarning
from crucial.io.runs import CodedRun, as_run, file_stem, read_coded_runs, read_run, result_list
from crucial.types import Bools, Floats, Ints, Objects, PathLike, Singles

# --- Read the runs to fuse, name them, and number their queries and documents


#: Runs by name, or in a list; each in a form that `crucial.io.as_run` accepts.
Runs: TypeAlias = Mapping[str, object] | Sequence[object]

#: Total size in bytes from which run files are read by pyarrow.
_LARGE = 8_000_000


@dataclass(frozen=True, eq=False)
class CodedRuns:
    """Runs whose queries and documents are numbers.

    Attributes
    ----------
    names : tuple of str
    runs : list of CodedRun
    queries : object array of str
        Query ids by number, in the order in which the runs first name them.
    words : object array of str
        Names of documents by number.
    paths : list of paths
        The files, if they were not checked for documents that occur twice.
    """

    names: tuple[str, ...]
    runs: list[CodedRun]
    queries: Objects
    words: Objects
    paths: Sequence[PathLike] = ()


def coded_runs(runs: Runs) -> CodedRuns:
    """Number the queries and documents of runs, and name the runs.

    The keys of a mapping are the names. In a list, runs go by their tags; where tags are missing
    or not distinct, files go by their file names and other tables by their numbers.
    """
    is_table = hasattr(runs, "qid") or hasattr(runs, "columns")
    if is_table or isinstance(runs, str | os.PathLike) or not isinstance(runs, Iterable):
        raise DataTypeError(
            "runs must be a list of runs, or a mapping from names to them. "
            f"Got {type(runs).__name__}."
        )
    keys = [str(key) for key in runs] if isinstance(runs, Mapping) else None
    sources = list(runs.values() if isinstance(runs, Mapping) else runs)
    if not sources:
        raise DataError("there is no run to fuse.")
    paths = [one for one in sources if isinstance(one, str | os.PathLike)]
    if len(paths) == len(sources) and sum(map(_size, paths)) >= _LARGE:
        fast = read_coded_runs(paths)
        if fast is not None:  # (the reader below explains what is irregular)
            names = keys or _distinct_names(paths, fast[0])
            return CodedRuns(tuple(names), *fast, paths)
    queries: dict[str, int] = {}
    docs: dict[str, int] = {}
    coded = []
    for source, name in zip(sources, keys or _numbered_names(len(sources))):
        run = as_run(source, name)
        query, doc = numbered(run.qid.tolist(), queries), numbered(run.doc.tolist(), docs)
        coded.append(CodedRun(query, doc, run.score, tag_of(run)))
    if not queries:
        raise DataError("every run is empty: there is nothing to fuse.")
    names = keys or _distinct_names(sources, coded)
    empty = [repr(name) for name, run in zip(names, coded) if not len(run.qid)]
    if empty:
        warnings.warn(
            f"a run without documents abstains: {', '.join(empty)}.", DataWarning, stacklevel=4
        )
    return CodedRuns(tuple(names), coded, as_objects(list(queries)), as_objects(list(docs)))


def _size(path: PathLike) -> int:
    """Estimate the unpacked size of a file in bytes; 0 if it cannot be read."""
    try:
        return os.stat(path).st_size * (4 if os.fspath(path).endswith(".gz") else 1)
    except (OSError, ValueError):
        return 0


def tag_of(run: Run) -> str:
    """Return the tag of a run; the empty string if it has several or none."""
    if isinstance(run.tag, str):
        return run.tag
    tags = set(np.asarray(run.tag).tolist())
    return str(tags.pop()) if len(tags) == 1 else ""


def _numbered_names(count: int) -> list[str]:
    return [f"run {number}" for number in range(1, count + 1)]


def _distinct_names(sources: Sequence[object], runs: Sequence[CodedRun]) -> list[str]:
    """Name the runs of a list as `coded_runs` documents it; repeated names get a number."""
    tags = [run.tag for run in runs]
    if all(tags) and len(set(tags)) == len(tags):
        return tags
    names = [
        file_stem(one) if isinstance(one, str | os.PathLike) else number
        for one, number in zip(sources, _numbered_names(len(sources)))
    ]
    seen: dict[str, int] = {}
    for at, name in enumerate(names):
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            names[at] = f"{name} ({seen[name]})"
    return names


# --- The pool: every document that at least one run returned, query by query


_Number = TypeVar("_Number", np.float32, np.float64, np.int64)

#: Cells of a dense table of positions that are in memory at a time.
_CELLS = 20_000_000


@dataclass(frozen=True, eq=False)
class Listing:
    """The documents that one run returned, query by query and best first.

    Attributes
    ----------
    rows : int array of shape (n_returned,)
        Rows of the pool.
    position : int array of shape (n_returned,)
        1 for the best of its query.
    score : float64 array of shape (n_returned,)
        The run's own scores.
    starts : int array of shape (n_queries + 1,)
        Where the list of each query begins, and where the last one ends.
    """

    rows: Ints
    position: Ints
    score: Floats
    starts: Ints

    @property
    def sizes(self) -> Ints:
        """Number of documents returned for each query."""
        return np.diff(self.starts)


@dataclass(frozen=True, eq=False)
class Pool:
    """Runs side by side: one row per query and document that a run returned.

    Positions are computed from the scores, as trec_eval does: higher scores first, equal ones by
    the name of the document, last name first. The rank column of a file is never read.

    Attributes
    ----------
    names : tuple of str
        Names of the runs.
    tags : tuple of str
        Tags of the runs, empty where a run has none.
    queries : object array of str
        Query ids, in the order in which the runs first name them.
    starts : int array of shape (n_queries + 1,)
        Where the rows of each query begin, and where the last ones end.
    words : object array of str
        Names of documents by number.
    doc_code : int array of shape (n_rows,)
        Number of the document of each row.
    lists : tuple of Listing
        The documents that each run returned.
    """

    names: tuple[str, ...]
    tags: tuple[str, ...]
    queries: Objects
    starts: Ints
    words: Objects
    doc_code: Ints
    lists: tuple[Listing, ...]

    @classmethod
    def of(cls, runs: Runs | Pool) -> Pool:
        """Put runs side by side.

        Parameters
        ----------
        runs : mapping from name to run, or list of runs
            Paths of TREC run files, objects with qid, doc and score (`crucial.Run`), or frames
            with such columns. Their queries and numbers of documents may differ.

        Raises
        ------
        DataError
            A run returns a document twice for a query, a score is not finite, or a run is empty.
        """
        return runs if isinstance(runs, Pool) else _side_by_side(coded_runs(runs))

    @classmethod
    def of_query(cls, lists: Mapping[str, object]) -> Pool:
        """Put the lists of one query side by side; faster than `of` for these.

        Parameters
        ----------
        lists : mapping from the name of a run to its results
            Results as in `crucial.io.runs.result_list`; an empty list, or None,
            abstains.
        """
        row_of: dict[str, int] = {}
        found = []
        for name, results in lists.items():
            docs, scores = result_list(results, f"run {name!r}")
            if not all(map(gt, scores, scores[1:])):
                # (highest score first, equal ones by name, last first, as `_best_first`)
                ranked = sorted(zip(scores, docs), reverse=True)
                scores, docs = [score for score, _ in ranked], [doc for _, doc in ranked]
            rows = np.array([row_of.setdefault(doc, len(row_of)) for doc in docs], np.int64)
            n, values = len(rows), np.array(scores, np.float64)
            found.append(Listing(rows, np.arange(1, n + 1), values, np.array([0, n])))
        names, words, n = tuple(map(str, lists)), as_objects(list(row_of)), len(row_of)
        query = (as_objects([""]), np.array([0, n]))
        return cls(names, ("",) * len(found), *query, words, np.arange(n), tuple(found))

    @property
    def n_rows(self) -> int:
        """Number of rows: documents, counted in every query."""
        return len(self.doc_code)

    @cached_property
    def doc(self) -> Objects:
        """Name of the document of each row."""
        return self.docs(slice(None))

    def docs(self, rows: Ints | slice) -> Objects:
        """Return the names of the documents of some rows."""
        return self.words[self.doc_code[rows]]

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.queries)

    @property
    def sizes(self) -> Ints:
        """Number of documents of each query."""
        return np.diff(self.starts)

    @cached_property
    def query_of_row(self) -> Ints:
        """Number of the query of each row."""
        return np.repeat(np.arange(self.n_queries), self.sizes)

    @cached_property
    def n_returned(self) -> Ints:
        """Number of runs that returned each row."""
        out = np.zeros(self.n_rows, np.int64)
        for one in self.lists:
            out[one.rows] += 1
        return out

    def codes_of(self, names: list[str]) -> tuple[Ints, int]:
        """Return the numbers of documents by name, and a number above all of them.

        Names that no run has get new numbers, above the known ones.
        """
        table = {name: at for at, name in enumerate(self.words.tolist())}
        found = [table.setdefault(name, len(table)) for name in names]
        return np.array(found, np.int64), len(table)

    def of_queries(self, wanted: Bools) -> Pool:
        """Return the pool of some queries, selected by one bool per query."""
        kept_rows = wanted[self.query_of_row]
        new_row = np.cumsum(kept_rows) - 1
        lists = []
        for one in self.lists:
            kept = kept_rows[one.rows]
            rows = new_row[one.rows[kept]]
            starts = _ends(one.sizes[wanted])
            lists.append(Listing(rows, one.position[kept], one.score[kept], starts))
        return replace(
            self,
            queries=self.queries[wanted],
            starts=_ends(self.sizes[wanted]),
            doc_code=self.doc_code[kept_rows],
            lists=tuple(lists),
        )

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of rows of whole queries, small enough for a dense table of all runs."""
        step = max(1, _CELLS // len(self.names))
        begin = 0
        while begin < self.n_rows:
            query = int(np.searchsorted(self.starts, begin + step, side="right")) - 1
            end = int(self.starts[query])
            if end <= begin:  # (one query is larger than a block)
                end = int(self.starts[np.searchsorted(self.starts, begin, side="right")])
            yield begin, end
            begin = end

    def dense(
        self, values: Sequence[NDArray[_Number]], begin: int = 0, end: int | None = None
    ) -> Singles:
        """Return the values of the runs as a table, NaN where a run did not return the row.

        Parameters
        ----------
        values : sequence of arrays
            One array per run, with a value for each row of its list.
        begin, end : int
            Range of rows, of whole queries.
        """
        end = self.n_rows if end is None else end
        out = np.full((end - begin, len(self.lists)), np.nan, np.float32)
        for column, (one, values_of_run) in enumerate(zip(self.lists, values)):
            # (lists are in the order of queries, so a range of queries is a slice of them)
            first, last = np.searchsorted(self.starts, [begin, end])
            part = slice(one.starts[first], one.starts[last])
            out[one.rows[part] - begin, column] = values_of_run[part]
        return out

    def best_first(self, scores: Floats) -> Ints:
        """Return the rows query by query, best score first, ties by name as in trec_eval."""
        return _best_first(self.query_of_row, scores, self.words, self.doc_code)

    def place_in_query(self, order: Ints) -> Ints:
        """Return the place in its query, from 0, of each row of an order of `best_first`."""
        return np.arange(len(order)) - self.starts[self.query_of_row[order]]

    def to_run(self, scores: Floats, depth: int | None = None, tag: str = "crucial") -> Run:
        """Return the pool as one run, best document first.

        Parameters
        ----------
        scores : array of shape (n_rows,)
        depth : int, optional
            Number of documents to keep per query; all by default.
        tag : str
            Name of the run.
        """
        order = self.best_first(scores)
        if depth is not None:
            order = order[self.place_in_query(order) < depth]
        return Run(self.queries[self.query_of_row[order]], self.docs(order), scores[order], tag)


def _ends(sizes: Ints) -> Ints:
    return np.concatenate(([0], np.cumsum(sizes)))


def _side_by_side(coded: CodedRuns) -> Pool:
    """Give every document of a query a row, query by query."""
    n_docs, n_queries = len(coded.words), len(coded.queries)
    keys = np.concatenate([run.qid.astype(np.int64) * n_docs + run.doc for run in coded.runs])
    distinct, inverse = np.unique(keys, return_inverse=True)
    del keys
    row_of = inverse.ravel()
    row_query, doc_code = np.divmod(distinct, n_docs)
    lists, begin = [], 0
    for number, run in enumerate(coded.runs):
        rows = row_of[begin : begin + len(run.qid)]
        begin += len(rows)
        _refuse_twice(coded, number, rows)
        order = _best_first(run.qid, run.score, coded.words, run.doc)
        starts = np.searchsorted(run.qid[order], np.arange(n_queries + 1))
        position = np.arange(1, len(order) + 1) - starts[run.qid[order]]
        lists.append(Listing(rows[order], position, run.score[order], starts))
    tags = tuple(run.tag for run in coded.runs)
    starts = np.searchsorted(row_query, np.arange(n_queries + 1))
    return Pool(coded.names, tags, coded.queries, starts, coded.words, doc_code, tuple(lists))


def _refuse_twice(coded: CodedRuns, number: int, rows: Ints) -> None:
    """Raise an error if a run returns a document twice for a query."""
    twice = np.flatnonzero(np.bincount(rows) > 1)
    if len(twice):
        if coded.paths:  # (the line-by-line reader names the lines)
            read_run(coded.paths[number])
        run, places = coded.runs[number], np.flatnonzero(rows == twice[0])[:2]
        doc = shown(coded.words[run.doc[places[0]]])
        raise DataError(
            f"run {coded.names[number]!r}: document {doc} occurs twice in query "
            f"{shown(coded.queries[run.qid[places[0]]])}: in rows {places[0]} and {places[1]}."
        )


def _best_first(
    query: NDArray[np.int32] | Ints, scores: Floats, names: Objects, name: NDArray[np.integer]
) -> Ints:
    """Return the order by query, then score, highest first, then name, last first."""
    order = np.argsort(query, kind="stable")
    inside = np.diff(query[order]) == 0
    listed = scores[order]  # (differences of which may overflow)
    if (listed[1:] > listed[:-1])[inside].any():
        order = np.lexsort((-scores, query))
        listed = scores[order]
    tied = np.zeros(len(order) + 1, bool)
    tied[1:-1] = inside & (listed[1:] == listed[:-1])
    tied = tied[:-1] | tied[1:]
    if tied.any():
        # Names are compared only where scores are equal: that is slow.
        among = order[tied]
        by_name = name_places(names[name[among]].tolist())
        order[tied] = among[np.lexsort((-by_name, -scores[among], query[among]))]
    return order


# --- Add the values that runs give to the rows of a pool


#: Returns the sum of every row, from the number of rows and, per run, rows and their values.
Adder: TypeAlias = Callable[[int, Sequence[tuple[Ints, Floats]]], Floats]


def sum_in_order(n_rows: int, parts: Sequence[tuple[Ints, Floats]]) -> Floats:
    """Return the sum of every row, one run added after the other."""
    out = np.zeros(n_rows)
    for rows, values in parts:
        out[rows] += values
    return out


def sum_exactly(n_rows: int, parts: Sequence[tuple[Ints, Floats]]) -> Floats:
    """Round the sum of every row once, so that the order of the runs changes nothing.

    Parameters
    ----------
    n_rows : int
    parts : sequence of (rows, values)
        One per run; no row occurs twice in a part.

    Examples
    --------
    >>> row = np.array([0])
    >>> sum_exactly(1, [(row, np.array([value])) for value in (1e16, 1.0, -1e16)]).tolist()
    [1.0]
    """
    if len(parts) < 3:  # (the sum of two is rounded once anyway)
        return sum_in_order(n_rows, parts)
    total, rest, lossy = np.zeros(n_rows), np.zeros(n_rows), np.zeros(n_rows, bool)
    for rows, values in parts:
        total[rows], error = _two_sum(total[rows], values)
        rest[rows], lost = _two_sum(rest[rows], error)
        lossy[rows] |= lost != 0.0
    out: Floats = total + rest
    if lossy.any():  # (terms of very different sizes)
        terms: dict[int, list[float]] = {row: [] for row in np.flatnonzero(lossy).tolist()}
        for rows, values in parts:
            mine = lossy[rows]
            for row, value in zip(rows[mine].tolist(), values[mine].tolist()):
                terms[row].append(value)
        out[list(terms)] = [math.fsum(one) for one in terms.values()]
    return out


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the rounded sum and its rounding error, which is exact (Knuth)."""
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    return total, error
