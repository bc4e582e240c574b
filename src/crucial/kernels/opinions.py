"""RankBoost over columns of which most cells abstain, whole ensembles in one call."""

from __future__ import annotations

import numpy as np

from crucial.types import Floats, Ints

__all__ = ["boost_opinions"]


def boost_opinions(
    row: Ints,
    bin_start: Ints,
    first_bin: Ints,
    level_start: Ints,
    rounds: int,
    step: tuple[float, float],
    ties: tuple[float, float, float],
) -> tuple[Ints, Floats]:
    """Learn an ensemble of stumps with positive cumulative weights, always compiled.

    Parameters
    ----------
    row, bin_start, first_bin, level_start : int arrays
        See `crucial.kernels.compiled.opinions.boost_opinions`.
    rounds : int
        At most so many.
    step : (float, float)
        Of the step rule: smoothing, snap.
    ties : (float, float, float)
        Of the tie rule: tie, slack, noise.

    Returns
    -------
    place : int array of shape (rounds done, 3)
        Column, number of bins below the threshold, default.
    weights : array of shape (rounds done,)
    """
    from crucial.kernels.compiled.opinions import boost_opinions as compiled

    place, weights = np.zeros((rounds, 3), np.int64), np.zeros(rounds)
    done = compiled(row, bin_start, first_bin, level_start, *step, *ties, place, weights)
    return place[:done], weights[:done]
