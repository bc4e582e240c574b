"""A seeded synthetic problem like those of the LETOR and web search collections."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from crucial.data.dtypes import float_type
from crucial.data.problems.problem import Problem
from crucial.kernels.elementary import exp
from crucial.parameters import at_least, between, check
from crucial.types import Ints, Singles

__all__ = ["make_letor"]


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
    dtype: DTypeLike = np.float32,
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
    dtype : dtype
        Floating-point type of ``X``.

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
    owner = "make_letor"
    for name, value in (
        ("n_queries", n_queries),
        ("docs_per_query", docs_per_query),
        ("n_features", n_features),
    ):
        check(owner, name, value, at_least(1))
    check(owner, "n_levels", n_levels, at_least(2))
    check(owner, "missing", missing, between(0, 1))
    check(owner, "seed", seed, at_least(0))
    kept = float_type(owner, dtype)

    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), _query_sizes(rng, n_queries, docs_per_query))
    traits = rng.standard_normal((_N_TRAITS, len(qid)), np.float32)
    y = _graded_labels(rng, traits, qid, n_queries, n_levels)
    columns = [_LetorColumn.draw(rng, _KINDS[j % len(_KINDS)]) for j in range(n_features)]
    shifts = rng.standard_normal((_N_TRAITS, n_queries), np.float32)
    X = np.empty((len(qid), n_features), kept)
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
    shares = 0.45 ** np.arange(n_levels)
    below = np.cumsum(shares / shares.sum())[:-1]
    return np.searchsorted(np.quantile(useful, below), useful).astype(np.int64)


@dataclass(frozen=True)
class _LetorColumn:
    """How one LETOR column shows a trait."""

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
