"""Make the scores of different systems comparable, query by query."""

from __future__ import annotations

import numpy as np

from crucial.apps.fusion.pool import Listing, Pool
from crucial.parameters import lookup
from crucial.types import Floats

__all__ = ["NORMALISATIONS", "normalised"]


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
