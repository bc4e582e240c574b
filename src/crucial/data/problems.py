"""Problems to learn from that need no download: real digits, and seeded synthetic ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crucial.data.dataset import Run
from crucial.data.groups import deal_at_random
from crucial.errors import DataError
from crucial.kernels.elementary import exp, log
from crucial.parameters import Rule, at_least, between, check, int_between, none_or
from crucial.types import Bools, Bytes, Floats, Ints, Reals, Singles
from crucial.wording import counted

# --- What every built-in problem has: the arguments of a ``fit``, and names


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Problem:
    """Rows to be ranked, as ``fit(X, y, qid=qid)`` takes them.

    Attributes
    ----------
    X : float array of shape (n_rows, n_features)
        Values of the features; NaN where a feature abstains.
    y : int array of shape (n_rows,)
        What the ranking should follow: more is better.
    qid : int array of shape (n_rows,) or None
        The query of every row, ascending; None where all rows make one ranking.
    feature_names : tuple of str
        One name per column.
    item : int array of shape (n_rows,) or None
        Number of the document, image or film in the row.
    """

    X: Reals
    y: Ints
    qid: Ints | None
    feature_names: tuple[str, ...]
    item: Ints | None

    def __repr__(self) -> str:
        n_queries = 1 if self.qid is None else len(np.unique(self.qid))
        queries = counted(n_queries, "query")
        rows, features = self.X.shape
        shape = f"{counted(rows, 'row')} x {counted(features, 'feature')}"
        return f"{type(self).__name__}({shape}, {queries})"


# --- A seeded synthetic problem whose features matter in pairs


_SHARE = 0.45  # each level is this many times as frequent as the one below


def _checked(owner: str, given: Mapping[str, Any], **rules: Rule) -> np.random.Generator:
    """Check the parameters of a problem; return its random numbers."""
    for name, rule in {**rules, "seed": at_least(0)}.items():
        check(owner, name, given[name], rule)
    return np.random.default_rng(given["seed"])


def _levels(useful: Floats | Singles, n_levels: int) -> Ints:
    """Cut usefulness into levels, each .45 times as frequent as the one below."""
    shares = _SHARE ** np.arange(n_levels)
    below = np.cumsum(shares / shares.sum())[:-1]
    return np.searchsorted(np.quantile(useful, below), useful).astype(np.int64)


def make_interactions(
    n_queries: int = 200,
    docs_per_query: int = 25,
    n_pairs: int = 4,
    n_noise: int = 8,
    main: float = 0.5,
    noise: float = 0.5,
    n_levels: int = 5,
    seed: int = 0,
) -> Problem:
    """Make a problem in which features matter in pairs, as products and as exclusive ors.

    Usefulness is the sum of ``a b`` for pairs of columns ``product`` and of ``sign(a b)`` for
    pairs of columns ``xor``, by turns, of ``main`` times every third of these columns, of the
    query and of chance. No sum of functions of one column each orders the pairs of rows that
    differ in a product or an exclusive or alone.

    Parameters
    ----------
    n_queries, docs_per_query : int
        Number of queries, and of rows of each.
    n_pairs : int
        Pairs of columns that matter.
    n_noise : int
        Further columns, which do not.
    main : float
        How much single columns matter.
    noise : float
        Standard deviation of what is chance.
    n_levels : int
        Labels are 0, ..., n_levels - 1, each level .45 times as frequent as the one below.
    seed : int
        Seed of all random numbers.

    Returns
    -------
    Problem
        With queries, in ascending order.

    Examples
    --------
    >>> problem = make_interactions(n_queries=10, docs_per_query=20, n_pairs=2, n_noise=1)
    >>> problem
    Problem(200 rows x 5 features, 10 queries)
    >>> problem.feature_names
    ('product_1a', 'product_1b', 'xor_2a', 'xor_2b', 'noise_5')
    """
    rng = _checked(
        "make_interactions",
        locals(),
        n_queries=at_least(1),
        docs_per_query=at_least(1),
        n_pairs=at_least(1),
        n_noise=at_least(0),
        main=between(0, np.inf),
        noise=between(0, np.inf),
        n_levels=at_least(2),
    )
    qid = np.repeat(np.arange(n_queries), docs_per_query)
    n_columns = 2 * n_pairs + n_noise
    X = rng.standard_normal((len(qid), n_columns), np.float32)
    useful = 0.5 * rng.standard_normal(n_queries)[qid] + noise * rng.standard_normal(len(qid))
    names = []
    for pair in range(n_pairs):
        product = X[:, 2 * pair].astype(np.float64) * X[:, 2 * pair + 1]
        useful += product if pair % 2 == 0 else np.sign(product)
        kind = "product" if pair % 2 == 0 else "xor"
        names += [f"{kind}_{pair + 1}a", f"{kind}_{pair + 1}b"]
    useful += main * X[:, : 2 * n_pairs : 3].sum(axis=1)
    names += [f"noise_{j + 1}" for j in range(2 * n_pairs, n_columns)]
    y = _levels(useful, n_levels)
    return Problem(X=X, y=y, qid=qid, feature_names=tuple(names), item=None)


# --- A seeded synthetic problem like those of the LETOR and web search collections


# What a LETOR column may be; dealt out in this order again and again, so that few columns
# are as mixed as many.
_KINDS = (
    *("rising", "count", "noise", "heavy", "falling", "rising", "middle", "count", "noise"),
    *("constant", "heavy", "rising", "falling", "noise", "middle", "rising", "count", "noise"),
    *("rising", "heavy"),
)
_N_TRAITS = 8
_N_MIDDLE = 2  # the last traits are best when neither low nor high
_ROWS_A_BLOCK = 4096  # 136 columns of it take 2 MB: the block is shaped while in cache


def make_letor(
    n_queries: int = 100,
    docs_per_query: int = 120,
    n_features: int = 136,
    n_levels: int = 5,
    missing: float = 0.0,
    seed: int = 0,
) -> Problem:
    """Make a problem like those of the LETOR and web search collections.

    Documents have hidden traits; usefulness is a weighted sum of them, of the query and of
    chance, and is cut into levels of which the lowest is by far the most frequent. A column
    shows one trait through noise, shifted by the query, in one of these ways, named in
    its name: ``rising`` and ``falling`` with the trait, ``count`` (whole numbers, many zeros),
    ``heavy`` (a long tail), ``middle`` (documents in the middle are best), ``noise`` and
    ``constant`` (no information).

    Parameters
    ----------
    n_queries, docs_per_query : int
        The problem has exactly ``n_queries * docs_per_query`` rows; a query has from half to
        one and a half times ``docs_per_query`` of them.
    n_features : int
        Number of columns.
    n_levels : int
        Labels are 0, ..., n_levels - 1, each level about .45 times as frequent as the last.
    missing : float
        Share of values replaced by NaN, at random.
    seed : int
        Seed of all random numbers.

    Returns
    -------
    Problem
        With queries, in ascending order.

    Examples
    --------
    >>> problem = make_letor(n_queries=10, docs_per_query=20, n_features=4)
    >>> problem
    Problem(200 rows x 4 features, 10 queries)
    >>> problem.feature_names
    ('rising_1', 'count_2', 'noise_3', 'heavy_4')
    """
    rng = _checked(
        "make_letor",
        locals(),
        n_queries=at_least(1),
        docs_per_query=at_least(1),
        n_features=at_least(1),
        n_levels=at_least(2),
        missing=between(0, 1),
    )
    qid = np.repeat(np.arange(n_queries), _query_sizes(rng, n_queries, docs_per_query))
    traits = rng.standard_normal((_N_TRAITS, len(qid)), np.float32)
    y = _graded_labels(rng, traits, qid, n_queries, n_levels)
    columns = [_LetorColumn.draw(rng, _KINDS[j % len(_KINDS)]) for j in range(n_features)]
    shifts = rng.standard_normal((_N_TRAITS, n_queries), np.float32)
    X = np.empty((len(qid), n_features), np.float32)
    for first in range(0, len(qid), _ROWS_A_BLOCK):
        rows = slice(first, first + _ROWS_A_BLOCK)
        hidden, shift = traits[:, rows], shifts[:, qid[rows]]
        values = rng.standard_normal((n_features, hidden.shape[1]), np.float32)
        for column, noise in zip(columns, values, strict=True):
            column.show(noise, hidden[column.trait], shift[column.trait])
        if missing:
            values[rng.random(values.shape, np.float32) < missing] = np.nan
        X[rows] = values.T
    names = tuple(f"{column.kind}_{j}" for j, column in enumerate(columns, start=1))
    return Problem(X=X, y=y, qid=qid, feature_names=names, item=None)


def _query_sizes(rng: np.random.Generator, n_queries: int, mean: int) -> Ints:
    """Sizes between half and one and a half times the mean, which they have exactly."""
    extra = rng.integers(0, (mean - 1) // 2 + 1, n_queries // 2)
    sizes = np.full(n_queries, mean)
    sizes[: len(extra)] += extra
    sizes[len(extra) : 2 * len(extra)] -= extra
    return rng.permutation(sizes)


def _graded_labels(
    rng: np.random.Generator, traits: Singles, qid: Ints, n_queries: int, n_levels: int
) -> Ints:
    """Cut usefulness into levels, each .45 times as frequent as the one below."""
    useful = rng.standard_normal(n_queries, np.float32)[qid]  # some queries have few answers
    useful += 0.7 * rng.standard_normal(len(qid), np.float32)
    weights = 0.75 ** np.arange(_N_TRAITS, dtype=np.float32)
    for number, weight in enumerate(weights[:-_N_MIDDLE]):
        useful += weight * traits[number]
    for trait in traits[-_N_MIDDLE:]:
        useful -= np.float32(0.7) * trait * trait
    return _levels(useful, n_levels)


@dataclass(frozen=True)
class _LetorColumn:
    """A LETOR column: the trait that it shows, its noise and its shape."""

    kind: str
    trait: int
    noise: np.float32
    shift: np.float32
    spread: np.float32
    centre: np.float32

    @classmethod
    def draw(cls, rng: np.random.Generator, kind: str) -> _LetorColumn:
        """Draw what the kind leaves open: some columns are far better than others."""
        n_plain = _N_TRAITS - _N_MIDDLE
        traits, noise = ((0, n_plain), (0.7, 3.0))
        if kind == "middle":  # little noise, since noise hides a middle sooner than a slope
            traits, noise = ((n_plain, _N_TRAITS), (0.2, 1.0))
        return cls(
            kind,
            int(rng.integers(*traits)),
            np.float32(rng.uniform(*noise)),
            np.float32(rng.uniform(0.0, 1.0)),
            np.float32(rng.uniform(0.5, 1.5)),
            np.float32(rng.normal(0.0, 5.0)),
        )

    def show(self, values: Singles, trait: Singles, shift: Singles) -> None:
        """Turn noise, in place, into the column's values."""
        if self.kind == "constant":
            values[:] = self.centre
            return
        if self.kind != "noise":
            values *= self.noise
            values += trait
            values += self.shift * shift
            values /= np.sqrt(1 + self.noise**2 + self.shift**2)
        if self.kind == "falling":
            np.negative(values, out=values)
        values *= self.spread
        if self.kind == "count":
            values[:] = np.floor(exp(values))
        elif self.kind == "heavy":
            values *= 2
            values[:] = exp(values)
        else:
            values += self.centre


# --- Seeded synthetic problems of any size, shaped like those of the papers and of LETOR
#
# The same arguments give the same problem.


_VIEWERS_A_BLOCK = 256


def make_film_club(
    n_viewers: int = 200, n_films: int = 1000, n_rated: int = 100, seed: int = 0
) -> Problem:
    """Make a problem like the movie recommendation of Freund et al. (JMLR 2003).

    One viewer, the target, is to be given films in the order of his or her taste; the
    features are the other viewers' ratings. Viewers see mostly popular films, some share the
    target's taste and some have the opposite, and each uses the scale differently, so that
    orders can be compared and ratings cannot.

    Parameters
    ----------
    n_viewers : int
        Number of other viewers, the columns.
    n_films : int
        Number of films in the club.
    n_rated : int
        Number of films the target rated, the rows; half of the other viewers rated fewer, in
        all the club, and half more.
    seed : int
        Seed of all random numbers.

    Returns
    -------
    Problem
        One ranking (``qid`` is None); ``X`` and ``y`` are ratings 0, ..., 5, ``X`` NaN where
        the viewer did not rate the film; ``item`` is the film's number, 0 the most popular.

    Examples
    --------
    >>> make_film_club(n_viewers=30, n_films=100, n_rated=25)
    Problem(25 rows x 30 features, 1 query)
    """
    rng = _checked(
        "make_film_club",
        locals(),
        n_viewers=at_least(1),
        n_films=at_least(2),
        n_rated=int_between(2, n_films),
    )
    n_tastes = 4
    popularity = -0.8 * log(np.arange(1, n_films + 1))
    quality = rng.standard_normal(n_films, np.float32) + np.float32(0.3) * _scaled(popularity)
    films = rng.standard_normal((n_films, n_tastes), np.float32)
    target = rng.standard_normal(n_tastes, np.float32)
    likeness = rng.uniform(-0.5, 1.0, (n_viewers, 1)).astype(np.float32)
    own = rng.standard_normal((n_viewers, n_tastes), np.float32)
    tastes = (likeness * target + np.sqrt(1 - likeness**2) * own).astype(np.float32)
    busy = n_rated * exp(0.6 * rng.standard_normal(n_viewers))
    counts = np.clip(np.rint(busy), 1, n_films).astype(np.int64)

    film = np.flatnonzero(_seen(rng, popularity, np.array([n_rated]))[0])
    y = _ratings(rng, quality[film], films[film], target[None])[:, 0].astype(np.int64)
    X = np.empty((n_rated, n_viewers), np.float32)
    for first in range(0, n_viewers, _VIEWERS_A_BLOCK):
        block = slice(first, first + _VIEWERS_A_BLOCK)
        ratings = _ratings(rng, quality[film], films[film], tastes[block])
        ratings[~_seen(rng, popularity, counts[block])[:, film].T] = np.nan
        X[:, block] = ratings
    names = tuple(f"viewer_{j}" for j in range(1, n_viewers + 1))
    return Problem(X=X, y=y, qid=None, feature_names=names, item=film)


def _scaled(values: Floats) -> Singles:
    """Values with mean 0 and deviation 1."""
    scaled: Singles = ((values - values.mean()) / values.std()).astype(np.float32)
    return scaled


def _seen(rng: np.random.Generator, popularity: Floats, counts: Ints) -> Bools:
    """Draw which films (columns) each viewer (row) saw: so many, without repetition.

    The largest of log-weights plus Gumbel noise are a draw without replacement with
    probabilities in proportion to the weights.
    """
    keys = popularity + rng.gumbel(size=(len(counts), len(popularity)))
    order = np.argsort(-keys, axis=1, kind="stable")
    seen = np.zeros(keys.shape, np.bool_)
    np.put_along_axis(seen, order, np.arange(len(popularity)) < counts[:, None], axis=1)
    return seen


def _ratings(
    rng: np.random.Generator, quality: Singles, films: Singles, tastes: Singles
) -> Singles:
    """Ratings 0, ..., 5 of films (rows) by viewers (columns), each with an own use of the scale."""
    liking = quality[:, None] + rng.standard_normal((len(films), len(tastes)), np.float32)
    for film_side, viewer_side in zip(films.T, tastes.T, strict=True):
        liking += film_side[:, None] * viewer_side
    generous = rng.uniform(2.5, 4.0, len(tastes)).astype(np.float32)
    width = rng.uniform(0.3, 1.0, len(tastes)).astype(np.float32)
    ratings: Singles = np.clip(np.rint(generous + width * liking), 0, 5)
    return ratings


def make_bipartite(
    n: int = 1000, n_features: int = 10, positives: float = 0.3, seed: int = 0
) -> Problem:
    """Make a problem of two classes, in which positives should rank above negatives.

    Columns take turns: ``rising`` and ``falling`` (the classes differ in the mean, less and
    less from column to column), ``middle`` (the same mean, the positives nearer to it) and
    ``noise``.

    Parameters
    ----------
    n, n_features : int
        Number of rows and columns.
    positives : float
        Share of positive rows; ``round(n * positives)``, but at least one, and not all.
    seed : int
        Seed of all random numbers.

    Returns
    -------
    Problem
        One ranking (``qid`` is None), labels 0 and 1.

    Examples
    --------
    >>> problem = make_bipartite(n=50, n_features=4, positives=0.2)
    >>> problem.y.sum(), problem.feature_names
    (np.int64(10), ('rising_1', 'falling_2', 'middle_3', 'noise_4'))
    """
    rng = _checked(
        "make_bipartite", locals(), n=at_least(2), n_features=at_least(1), positives=between(0, 1)
    )
    y = (rng.permutation(n) < min(max(round(n * positives), 1), n - 1)).astype(np.int64)
    positive = y == 1
    X = np.empty((n, n_features), np.float32)
    names = []
    for j in range(n_features):
        kind = ("rising", "falling", "middle", "noise")[j % 4]
        values = rng.standard_normal(n, np.float32)
        gap = np.float32(0.9 ** (j // 4))
        if kind == "rising":
            values[positive] += gap
        elif kind == "falling":
            values[positive] -= gap
        elif kind == "middle":
            values[positive] /= 1 + gap
        X[:, j] = values
        names.append(f"{kind}_{j + 1}")
    return Problem(X=X, y=y, qid=None, feature_names=tuple(names), item=None)


# --- Meta-search over handwritten digits: a real problem of rank fusion, without a download
#
# The task is the meta-search of Freund, Iyer, Schapire and Singer (JMLR 2003): several
# search engines answer the same query, each with a short list, and one better list is to be
# learned from theirs. Here a query is an image of a handwritten digit, the documents are the
# other images of scikit-learn's ``load_digits``, and a document is relevant when it shows the
# same digit. Each engine compares images by a partial view of them.


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
    fold_of_query = deal_at_random(n_folds, n_queries, rng)
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
