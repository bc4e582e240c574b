"""Seeded synthetic problems of any size, shaped like those of the papers and of LETOR.

The same arguments give the same problem. Random numbers are drawn in float32 whatever the
``dtype``, so that it changes how values are kept, not which they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from crucial.data.dtypes import float_type
from crucial.data.problems.interactions import make_interactions
from crucial.data.problems.letor import make_letor
from crucial.data.problems.problem import Problem
from crucial.kernels.elementary import exp, log
from crucial.parameters import at_least, between, check, int_between
from crucial.types import Bools, Floats, Ints, Singles

__all__ = ["make_bipartite", "make_film_club", "make_interactions", "make_letor"]


_VIEWERS_A_BLOCK = 256


def make_film_club(
    n_viewers: int = 200,
    n_films: int = 1000,
    n_rated: int = 100,
    seed: int = 0,
    dtype: DTypeLike = np.float32,
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
    dtype : dtype
        Floating-point type of ``X``.

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
    owner = "make_film_club"
    check(owner, "n_viewers", n_viewers, at_least(1))
    check(owner, "n_films", n_films, at_least(2))
    check(owner, "n_rated", n_rated, int_between(2, n_films))
    check(owner, "seed", seed, at_least(0))
    kept = float_type(owner, dtype)

    rng = np.random.default_rng(seed)
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
    X = np.empty((n_rated, n_viewers), kept)
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
    n: int = 1000,
    n_features: int = 10,
    positives: float = 0.3,
    seed: int = 0,
    dtype: DTypeLike = np.float32,
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
    dtype : dtype
        Floating-point type of ``X``.

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
    owner = "make_bipartite"
    check(owner, "n", n, at_least(2))
    check(owner, "n_features", n_features, at_least(1))
    check(owner, "positives", positives, between(0, 1))
    check(owner, "seed", seed, at_least(0))
    kept = float_type(owner, dtype)

    rng = np.random.default_rng(seed)
    y = (rng.permutation(n) < min(max(round(n * positives), 1), n - 1)).astype(np.int64)
    positive = y == 1
    X = np.empty((n, n_features), kept)
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
