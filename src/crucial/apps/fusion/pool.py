"""The pool: every document that at least one run returned, topic by topic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.apps.fusion.inputs import CodedRuns, coded_runs
from crucial.data.formats.run_blocks import Words
from crucial.data.formats.trec import read_run
from crucial.data.runs import Run
from crucial.data.words import shown
from crucial.errors import DataError
from crucial.types import Bools, Floats, Ints

__all__ = ["Listing", "Pool"]


#: Cells of a dense table of positions that are held at a time.
_CELLS = 20_000_000


@dataclass(frozen=True, eq=False)
class Listing:
    """What one run returned, topic by topic and best first.

    Attributes
    ----------
    rows : int array of shape (n_returned,)
        Rows of the pool.
    position : int array of shape (n_returned,)
        1 for the best of its topic.
    score : float64 array of shape (n_returned,)
        As the run has it.
    starts : int array of shape (n_topics + 1,)
        Where the list of each topic begins, and where the last one ends.
    """

    rows: Ints
    position: Ints
    score: Floats
    starts: Ints

    @property
    def sizes(self) -> Ints:
        """Documents returned for each topic."""
        return np.diff(self.starts)


@dataclass(frozen=True, eq=False)
class Pool:
    """Runs side by side: a row for every document of a topic that a run returned.

    Positions are made anew from the scores, as trec_eval makes them: higher scores first,
    equal ones by the name of the document, last name first. The rank column of a file is
    never read.

    Attributes
    ----------
    names : tuple of str
        The runs.
    tags : tuple of str
        Their tags, empty where a run has none.
    topics : object array of str
        In the order in which the runs first name them.
    starts : int array of shape (n_topics + 1,)
        Where the rows of each topic begin, and where the last ones end.
    words : object array of str, or Words
        Names of documents, by number.
    doc_code : int array of shape (n_rows,)
        Number of the document of each row.
    lists : tuple of Listing
        What each run returned.
    """

    names: tuple[str, ...]
    tags: tuple[str, ...]
    topics: NDArray[Any]
    starts: Ints
    words: Any
    doc_code: Ints
    lists: tuple[Listing, ...]

    @classmethod
    def of(cls, runs: Mapping[str, Any] | Sequence[Any] | Pool) -> Pool:
        """Put runs side by side.

        Parameters
        ----------
        runs : mapping from name to run, or list of runs
            Paths of TREC run files, objects with qid, doc and score (`crucial.Run`), or
            frames with such columns. They may have other topics and other numbers of
            documents.

        Raises
        ------
        DataError
            A document is twice in a topic of a run, a score is not finite, a run is empty.
        """
        return runs if isinstance(runs, Pool) else _side_by_side(coded_runs(runs))

    @property
    def n_rows(self) -> int:
        """Number of documents, counted in every topic."""
        return len(self.doc_code)

    @cached_property
    def doc(self) -> NDArray[Any]:
        """Name of the document of each row."""
        return self.docs(slice(None))

    def docs(self, rows: Any) -> NDArray[Any]:
        """Names of the documents of some rows."""
        names: NDArray[Any] = self.words[self.doc_code[rows]]
        return names

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return len(self.topics)

    @property
    def sizes(self) -> Ints:
        """Documents of each topic."""
        return np.diff(self.starts)

    @cached_property
    def topic_of_row(self) -> Ints:
        """Number of the topic of each row."""
        return np.repeat(np.arange(self.n_topics), self.sizes)

    @cached_property
    def n_returned(self) -> Ints:
        """How many runs returned each row."""
        out = np.zeros(self.n_rows, np.int64)
        for one in self.lists:
            out[one.rows] += 1
        return out

    def codes_of(self, names: list[str]) -> tuple[Ints, int]:
        """Numbers of documents by name, and a number above all of them.

        Names that no run has get numbers of their own, above those that are known.
        """
        if isinstance(self.words, Words):
            codes = self.words.numbers_of(names).astype(np.int64)
            return codes, len(self.words)
        table = {name: at for at, name in enumerate(self.words.tolist())}
        found = [table.setdefault(name, len(table)) for name in names]
        return np.array(found, np.int64), len(table)

    def of_topics(self, wanted: Bools) -> Pool:
        """The part of the pool that these topics make (a bool a topic)."""
        kept_rows = wanted[self.topic_of_row]
        new_row = np.cumsum(kept_rows) - 1
        lists = []
        for one in self.lists:
            mine = kept_rows[one.rows]
            sizes = one.sizes[wanted]
            starts = np.concatenate(([0], np.cumsum(sizes)))
            rows = new_row[one.rows[mine]]
            lists.append(Listing(rows, one.position[mine], one.score[mine], starts))
        starts = np.concatenate(([0], np.cumsum(self.sizes[wanted])))
        codes = self.doc_code[kept_rows]
        return replace(
            self, topics=self.topics[wanted], starts=starts, doc_code=codes, lists=tuple(lists)
        )

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Ranges of rows of whole topics, small enough for a dense table of all runs."""
        step = max(1, _CELLS // len(self.names))
        begin = 0
        while begin < self.n_rows:
            topic = int(np.searchsorted(self.starts, begin + step, side="right")) - 1
            end = int(self.starts[topic])
            if end <= begin:  # (one topic is larger than a block)
                end = int(self.starts[np.searchsorted(self.starts, begin, side="right")])
            yield begin, end
            begin = end

    def dense(self, values: Sequence[NDArray[Any]], begin: int = 0, end: int | None = None) -> Any:
        """Values of the runs as a table, NaN where a run did not return the row.

        Parameters
        ----------
        values : sequence of arrays
            One a run, with a value for each row of its list.
        begin, end : int
            Range of rows, of whole topics.
        """
        end = self.n_rows if end is None else end
        out = np.full((end - begin, len(self.lists)), np.nan, np.float32)
        for column, (one, mine) in enumerate(zip(self.lists, values)):
            # (lists are in the order of topics, so a range of topics is a slice of them)
            first, last = np.searchsorted(self.starts, [begin, end])
            part = slice(one.starts[first], one.starts[last])
            out[one.rows[part] - begin, column] = mine[part]
        return out

    def best_first(self, scores: Floats) -> Ints:
        """Rows topic by topic, best score first, ties by name as trec_eval breaks them."""
        return _best_first(self.topic_of_row, scores, self.docs)

    def to_run(self, scores: Floats, depth: int | None = None, tag: str = "crucial") -> Run:
        """The pool as one run, best document first.

        Parameters
        ----------
        scores : array of shape (n_rows,)
        depth : int, optional
            Documents of a topic to keep; all by default.
        tag : str
            Its name.
        """
        order = self.best_first(scores)
        if depth is not None:
            place = np.arange(len(order)) - self.starts[self.topic_of_row[order]]
            order = order[place < depth]
        return Run(self.topics[self.topic_of_row[order]], self.docs(order), scores[order], tag)


def _side_by_side(runs: CodedRuns) -> Pool:
    """Give every document of a topic a row, topic by topic."""
    n_docs, n_topics = len(runs.words), len(runs.topics)
    keys = np.concatenate([topic.astype(np.int64) * n_docs + doc for topic, doc in runs.columns])
    distinct, inverse = np.unique(keys, return_inverse=True)
    del keys
    row_of = inverse.ravel()
    row_topic, doc_code = np.divmod(distinct, n_docs)
    lists, begin = [], 0
    for name, (topic, doc), score in zip(runs.names, runs.columns, runs.scores):
        rows = row_of[begin : begin + len(topic)]
        begin += len(topic)
        _refuse_twice(name, runs, rows, topic, doc)
        order = _best_first(topic, score, partial(_names_of, runs.words, doc))
        starts = np.searchsorted(topic[order], np.arange(n_topics + 1))
        position = np.arange(1, len(order) + 1) - starts[topic[order]]
        lists.append(Listing(rows[order], position, score[order], starts))
    return Pool(
        runs.names,
        runs.tags,
        runs.topics,
        np.searchsorted(row_topic, np.arange(n_topics + 1)),
        runs.words,
        doc_code,
        tuple(lists),
    )


def _names_of(words: Any, doc: NDArray[Any], rows: Any) -> NDArray[Any]:
    names: NDArray[Any] = words[doc[rows]]
    return names


def _refuse_twice(name: str, runs: CodedRuns, rows: Ints, topic: Any, doc: Any) -> None:
    """Refuse a document that a run returns twice for a topic."""
    twice = np.flatnonzero(np.bincount(rows) > 1)
    if len(twice):
        if runs.paths:  # (the careful reader says in which lines)
            read_run(runs.paths[runs.names.index(name)])
        first, second = np.flatnonzero(rows == twice[0])[:2].tolist()
        raise DataError(
            f"run {name!r}: document {shown(runs.words[doc[[first]]][0])} occurs twice in query "
            f"{shown(runs.topics[topic[first]])}: in rows {first} and {second}."
        )


def _best_first(group: Any, scores: Floats, names: Callable[[Any], NDArray[Any]]) -> Ints:
    """Order by group, then score, highest first, then name, last first."""
    order = np.argsort(group, kind="stable")
    inside = np.diff(group[order]) == 0
    step = np.diff(scores[order])
    if (step[inside] > 0).any():
        order = np.lexsort((-scores, group))
        step = np.diff(scores[order])
    tied = np.zeros(len(order) + 1, bool)
    tied[1:-1] = inside & (step == 0)
    tied = tied[:-1] | tied[1:]
    if tied.any():
        # Names are compared only where scores are equal: that is slow.
        among = order[tied]
        by_name = np.unique(names(among).astype(str), return_inverse=True)[1].ravel()
        order[tied] = among[np.lexsort((-by_name, -scores[among], group[among]))]
    return order
