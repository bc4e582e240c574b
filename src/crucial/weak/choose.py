"""One tie rule for every search, so that rounding never picks a weak ranker.

Criteria that agree to 1e-10 relative are equal, and so are small ones that agree to
1e-14. Among equals a ranker with r > 0 comes before one with r < 0, then the first in
(feature, threshold, default) order wins.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np

from crucial.types import Floats

__all__ = ["NOISE", "TIE", "first_best", "first_best_of", "first_largest", "worst_tied"]

T = TypeVar("T", float, Floats)

TIE = 1e-10
# Criteria at or below this are treated as zero.
NOISE = 1e-13
# A sum of weights rounds at 1e-16 however small it comes out: added to a criterion before
# it is compared, this makes 1e-14 of it equal.
_SMALL = 1e-4


def worst_tied(best: T) -> T:
    """Return the smallest criterion that counts as equal to the best, of one or of several.

    Examples
    --------
    >>> worst_tied(0.5) < 0.5 * (1 - 0.9e-10)
    True
    """
    return best - TIE * (best + _SMALL)


def first_best(criterion: Floats, slope: Floats, best: float | None = None) -> int | None:
    """Return the position of the best candidate by the tie rule; None if every criterion is 0.

    Parameters
    ----------
    criterion : array
        In candidate order; larger is better, at most `NOISE` is not on offer.
    slope : array of the same shape
        r of the candidates.
    best : float, optional
        The largest criterion, if known.

    Examples
    --------
    >>> first_best(np.array([0.3, 0.5, 0.5]), np.array([0.3, -0.5, 0.5]))
    2
    """
    top = float(criterion.max(initial=0.0)) if best is None else best
    if not top > NOISE:
        return None
    tied = np.flatnonzero(criterion >= worst_tied(top))
    rising = tied[slope[tied] > 0.0]
    return int(rising[0] if len(rising) else tied[0])


def first_largest(values: Floats) -> int:
    """Return the position of the largest value by the tie rule, whatever its sign.

    Examples
    --------
    >>> first_largest(np.array([-0.7, -0.5 - 1e-12, -0.5]))
    1
    """
    top = float(values.max())
    return int(np.flatnonzero(values >= top - TIE * (abs(top) + _SMALL))[0])


def first_best_of(parts: Iterable[tuple[Floats, Floats]], best: float) -> tuple[int, int] | None:
    """Return the best candidate of several features: which part, and where in it.

    Parameters
    ----------
    parts : criterion and slope of the candidates of each feature
        In order; only features with a candidate that ties with the best.
    best : float
        The largest criterion.
    """
    falling: tuple[int, int] | None = None
    for number, (criterion, slope) in enumerate(parts):
        at = first_best(criterion, slope, best)
        if at is not None and slope[at] > 0.0:
            return number, at
        if at is not None and falling is None:
            falling = number, at
    return falling
