"""Which pair to ask next: the most informative one.

The criterion is the mutual information of the answer and the strengths (Houlsby, Huszár,
Ghahramani & Lengyel 2011): the uncertainty of the answer, less its uncertainty if the strengths
were known. Two items far apart are not informative, as the answer is known; nor are two that are
surely equal, as the answer is chance.
"""

from __future__ import annotations

import numpy as np

from crucial.apps.preferences.posterior import Posterior
from crucial.types import Floats, Ints

__all__ = ["information", "next_pair"]


_NODES = 16
_MAX_PAIRS = 4_000  # pairs to compute it for; an approximation chooses them


def _entropy(p: Floats) -> Floats:
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return np.asarray(-p * np.log(p) - (1 - p) * np.log1p(-p))


def information(mean: Floats, variance: Floats) -> Floats:
    """Return the information of an answer, in nats, if the difference of strengths is normal.

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


def next_pair(
    found: Posterior, asked: Ints, rng: np.random.Generator, chances: Floats | None = None
) -> tuple[int, int]:
    """Return the pair to ask next, left and right.

    Parameters
    ----------
    found : Posterior
    asked : int array of shape (n_items, n_items), symmetric
        How often each pair was asked; none is asked again before all were asked.
    rng : Generator
        Breaks ties, and chooses the side of each item.
    chances : float array of shape (n_items,), optional
        Chance of each item to be among the first. Information then counts as much as the chance
        that one of the two items is.
    """
    n = len(asked)
    a, b = np.triu_indices(n, 1)
    times = asked[a, b]
    fresh = times == times.min()
    a, b = a[fresh], b[fresh]
    means, variances = found.differences
    mean, variance = means[a, b], variances[a, b]
    matters = np.ones(len(a)) if chances is None else 1 - (1 - chances[a]) * (1 - chances[b])
    if len(a) > _MAX_PAIRS:
        p = 1.0 / (1.0 + np.exp(-np.abs(mean) / np.sqrt(1 + np.pi * variance / 8)))
        # (most pairs of new items tie, and a partition is slow with ties: break them first)
        rough = p * (1 - p) * variance * matters * (1 + 1e-9 * rng.random(len(a)))
        some = np.argpartition(-rough, _MAX_PAIRS)[:_MAX_PAIRS]
        a, b = a[some], b[some]
        mean, variance, matters = mean[some], variance[some], matters[some]
    nats = information(mean, variance) * matters
    best = np.flatnonzero(nats >= nats.max() - 1e-9)
    chosen = int(best[rng.integers(len(best))])
    pair = (int(a[chosen]), int(b[chosen]))
    return pair if rng.random() < 0.5 else pair[::-1]
