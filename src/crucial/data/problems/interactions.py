"""A seeded synthetic problem whose features matter in pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from crucial.data.dtypes import float_type
from crucial.data.problems.problem import Problem
from crucial.parameters import at_least, between, check

__all__ = ["make_interactions"]

_SHARE = 0.45  # each level is this many times as frequent as the one below


def make_interactions(
    n_queries: int = 200,
    docs_per_query: int = 25,
    n_pairs: int = 4,
    n_noise: int = 8,
    main: float = 0.5,
    noise: float = 0.5,
    n_levels: int = 5,
    seed: int = 0,
    dtype: DTypeLike = np.float32,
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
    dtype : dtype
        Floating-point type of ``X``.

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
    owner = "make_interactions"
    for name, value in (
        ("n_queries", n_queries),
        ("docs_per_query", docs_per_query),
        ("n_pairs", n_pairs),
    ):
        check(owner, name, value, at_least(1))
    check(owner, "n_noise", n_noise, at_least(0))
    check(owner, "main", main, between(0, np.inf))
    check(owner, "noise", noise, between(0, np.inf))
    check(owner, "n_levels", n_levels, at_least(2))
    check(owner, "seed", seed, at_least(0))
    kept = float_type(owner, dtype)

    rng = np.random.default_rng(seed)
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
    shares = _SHARE ** np.arange(n_levels)
    below = np.cumsum(shares / shares.sum())[:-1]
    y = np.searchsorted(np.quantile(useful, below), useful).astype(np.int64)
    return Problem(X=X.astype(kept), y=y, qid=qid, feature_names=tuple(names), item=None)
