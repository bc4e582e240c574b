"""Meta-search over handwritten digits: a real problem of rank fusion, without a download.

The task is the meta-search of Freund, Iyer, Schapire and Singer (JMLR 2003): several
search engines answer the same query, each with a short list, and one better list is to be
learned from theirs. Here a query is an image of a handwritten digit, the documents are the
other images of scikit-learn's ``load_digits``, and a document is relevant when it shows the
same digit. Each engine compares images by a partial view of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crucial.data.problems.problem import Problem
from crucial.data.runs import Run
from crucial.errors import DataError
from crucial.parameters import at_least, check, int_between, none_or
from crucial.types import Bytes, Ints, Singles

__all__ = ["ENGINES", "SearchProblem", "load_digits_search"]


# No engine sees the whole image: one that does is better alone than any fusion. The grid is
# as coarse as a grid can be, since 4 x 4 cells are nearly the image again. Two engines
# (columns, grid) are poor on purpose: a fusion should find out whom not to trust.
ENGINES: dict[str, Callable[[Ints], Ints]] = {
    "top": lambda images: images[:, :4].reshape(len(images), -1),
    "bottom": lambda images: images[:, 4:].reshape(len(images), -1),
    "left": lambda images: images[:, :, :4].reshape(len(images), -1),
    "right": lambda images: images[:, :, 4:].reshape(len(images), -1),
    "rows": lambda images: images.sum(axis=2),
    "columns": lambda images: images.sum(axis=1),
    "grid": lambda images: images.reshape(-1, 2, 4, 2, 4).sum(axis=(2, 4)).reshape(-1, 4),
}
"""Name of every engine and its view: 8 x 8 images to one vector an image."""

_QUERIES_A_BLOCK = 128  # 128 x 1,797 x 7 positions take 6 MB


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SearchProblem(Problem):
    """A meta-search problem: ``X`` contains minus the position in each engine's list.

    Attributes
    ----------
    X : float32 array of shape (n_rows, n_engines)
        -1 for the first document of the engine's list, -2 for the second, and so on; NaN
        where the engine did not return the document.
    y : int array of shape (n_rows,)
        1 where the document shows the digit of the query, else 0.
    qid : int array of shape (n_rows,)
        Number of the query image; the rows of a query follow each other.
    item : int array of shape (n_rows,)
        Number of the image that is the document; ascending inside a query. A query's
        documents are those that at least one engine returned.
    fold : int array of shape (n_rows,)
        The part, drawn at random, that the row's query belongs to.
    queries : int array of shape (n_queries,)
        The query images, ascending.
    n_relevant : int array of shape (n_queries,)
        Relevant documents of each query in the collection, retrieved or not.
    images : uint8 array of shape (n_images, 8, 8)
        All images, 0 (paper) to 16 (ink).
    digit : int array of shape (n_images,)
        The digit each image shows.
    """

    qid: Ints
    item: Ints
    fold: Ints
    queries: Ints
    n_relevant: Ints
    images: Bytes
    digit: Ints

    def of_queries(self, queries: Any) -> SearchProblem:
        """Return the part of the problem that these query images make."""
        wanted = np.unique(np.asarray(queries))
        unknown = np.setdiff1d(wanted, self.queries)
        if len(unknown):
            raise DataError(f"image {unknown[0]} is not a query of this problem.")
        rows, kept = np.isin(self.qid, wanted), np.isin(self.queries, wanted)
        return replace(
            self,
            X=self.X[rows],
            y=self.y[rows],
            qid=self.qid[rows],
            item=self.item[rows],
            fold=self.fold[rows],
            queries=self.queries[kept],
            n_relevant=self.n_relevant[kept],
        )

    def runs(self) -> dict[str, Run]:
        """Return the list of every engine as a run, by the engine's name."""
        runs = {}
        for engine, name in enumerate(self.feature_names):
            rows = np.flatnonzero(~np.isnan(self.X[:, engine]))
            scores = self.X[rows, engine].astype(np.float64)
            runs[name] = Run(self.qid[rows], self.item[rows], scores, name)
        return runs

    def split(self, fold: int = 0) -> tuple[SearchProblem, SearchProblem]:
        """Split into the queries outside a fold, to train on, and those in it, to test on."""
        held_out = np.unique(self.qid[self.fold == fold])
        train = np.setdiff1d(self.queries, held_out)
        if not len(held_out) or not len(train):
            raise DataError(
                f"fold {fold!r} leaves no query to {'train' if len(held_out) else 'test'} on; "
                f"this problem has the folds {np.unique(self.fold).tolist()}."
            )
        return self.of_queries(train), self.of_queries(held_out)


def load_digits_search(
    n_queries: int | None = None, top: int = 50, n_folds: int = 4, seed: int = 0
) -> SearchProblem:
    """Build the meta-search problem over scikit-learn's handwritten digits.

    Parameters
    ----------
    n_queries : int, optional
        Number of query images, drawn at random; by default every image is a query once.
        The documents are all images in either case.
    top : int
        Length of every engine's list.
    n_folds : int
        Number of equal parts the queries are dealt into (four in the paper).
    seed : int
        Seed of the draw of queries and folds. The lists do not depend on it.

    Returns
    -------
    SearchProblem
        The engines' lists as features, and whether the digit is the query's as label.

    Examples
    --------
    >>> problem = load_digits_search(n_queries=20)
    >>> train, test = problem.split()
    >>> len(train.queries), len(test.queries), problem.feature_names[:2]
    (15, 5, ('top', 'bottom'))
    """
    from sklearn.datasets import load_digits

    owner = "load_digits_search"
    data = load_digits()
    images = data.images.astype(np.uint8)
    digit = data.target.astype(np.int64)
    check(owner, "top", top, int_between(1, len(images) - 1))
    check(owner, "n_folds", n_folds, at_least(1))
    check(owner, "n_queries", n_queries, none_or(int_between(n_folds, len(images))))
    check(owner, "seed", seed, at_least(0))

    rng = np.random.default_rng(seed)
    n_queries = len(images) if n_queries is None else n_queries
    queries = np.sort(rng.permutation(len(images))[:n_queries])
    fold_of_query = rng.permutation(n_queries) % n_folds
    views = [view(images.astype(np.int64)) for view in ENGINES.values()]
    number, item, X = _collect(views, queries, top)
    qid = queries[number]
    return SearchProblem(
        X=X,
        y=(digit[qid] == digit[item]).astype(np.int64),
        qid=qid,
        feature_names=tuple(ENGINES),
        item=item,
        fold=fold_of_query[number],
        queries=queries,
        n_relevant=np.bincount(digit)[digit[queries]] - 1,  # a query is not its own document
        images=images,
        digit=digit,
    )


def _collect(views: list[Ints], queries: Ints, top: int) -> tuple[Ints, Ints, Singles]:
    """Ask every engine every query; give query number, document and features of each row."""
    numbers, items, features = [], [], []
    for first in range(0, len(queries), _QUERIES_A_BLOCK):
        block = queries[first : first + _QUERIES_A_BLOCK]
        lists = np.full((len(block), len(views[0]), len(views)), np.nan, np.float32)
        for engine, view in enumerate(views):
            found = _nearest(view, block, top)
            lists[np.arange(len(block))[:, None], found, engine] = -np.arange(1, top + 1)
        row, document = np.nonzero(~np.isnan(lists).all(axis=2))
        numbers.append(first + row)
        items.append(document)
        features.append(lists[row, document])
    return np.concatenate(numbers), np.concatenate(items), np.concatenate(features)


def _nearest(view: Ints, queries: Ints, top: int) -> Ints:
    """Documents nearest to each query by Euclidean distance, ties by document number.

    Equivalent to, and much faster than: for each query, sort the other documents by
    (distance, document number) and take the first ``top``.
    """
    # Pixels are small whole numbers, so that sums in float64 are exact on every machine and
    # distance and document fit into one integer key without equals.
    exact = view.astype(np.float64)
    norms = (exact**2).sum(axis=1)
    squared = norms[queries, None] + norms - 2.0 * (exact[queries] @ exact.T)
    key = squared.astype(np.int64) * len(view) + np.arange(len(view))
    key[np.arange(len(queries)), queries] = np.iinfo(np.int64).max
    best = np.partition(key, top - 1, axis=1)[:, :top]
    return np.sort(best, axis=1) % len(view)
