"""Which pair to ask next: the one whose answer tells most.

The measure is the mutual information of the answer and the strengths (Houlsby, Huszár, Ghahramani
& Lengyel 2011): how unsure the answer is, less how unsure it would be if the strengths were known.
Two items far apart tell nothing, as the answer is known; two that are surely equal tell nothing,
as the answer is chance.
"""

from __future__ import annotations

import numpy as np

from crucial.apps.preferences.posterior import Posterior
from crucial.types import Floats, Ints

__all__ = ["information", "next_pair"]


_NODES = 16
_LOOKED_AT = 20_000  # pairs for which the measure is worked out; a rough one chooses them


def _entropy(p: Floats) -> Floats:
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return np.asarray(-p * np.log(p) - (1 - p) * np.log1p(-p))


def information(mean: Floats, variance: Floats) -> Floats:
    """Nats that an answer tells where the difference of strengths is normal.

    Examples
    --------
    >>> information(np.array([0.0, 0.0, 8.0]), np.array([4.0, 0.0, 1.0])).round(2).tolist()
    [0.23, 0.0, 0.0]
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    weights = weights / weights.sum()
    d = mean[:, None] + np.sqrt(variance)[:, None] * nodes
    p = 1.0 / (1.0 + np.exp(-np.clip(d, -700, 700)))
    return np.asarray(np.maximum(_entropy(p @ weights) - _entropy(p) @ weights, 0.0))


def next_pair(found: Posterior, asked: Ints, rng: np.random.Generator) -> tuple[int, int]:
    """The pair to ask, left and right.

    Parameters
    ----------
    found : Posterior
    asked : int array of shape (n_items, n_items), symmetric
        How often each pair was asked; none is asked again before all have been.
    rng : Generator
        Breaks ties, and puts one of the two at the left.
    """
    n = len(asked)
    a, b = np.triu_indices(n, 1)
    times = asked[a, b]
    fresh = times == times.min()
    a, b = a[fresh], b[fresh]
    means, variances = found.differences()
    mean, variance = means[a, b], variances[a, b]
    if len(a) > _LOOKED_AT:
        p = 1.0 / (1.0 + np.exp(-np.abs(mean) / np.sqrt(1 + np.pi * variance / 8)))
        rough = p * (1 - p) * variance
        some = np.argpartition(-rough, _LOOKED_AT)[:_LOOKED_AT]
        a, b, mean, variance = a[some], b[some], mean[some], variance[some]
    told = information(mean, variance)
    best = np.flatnonzero(told >= told.max() - 1e-9)
    chosen = int(best[rng.integers(len(best))])
    pair = (int(a[chosen]), int(b[chosen]))
    return pair if rng.random() < 0.5 else pair[::-1]
