"""Logistic pairs of rows that are neighbours in noisy orders of a query."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.elementary import exp, log, log1p
from crucial.kernels.plain.noise import GOLDEN, mix
from crucial.types import Floats, Ints

__all__ = ["yeti_sums"]


def yeti_sums(
    scores: Floats,
    worth: Floats,
    weight: Floats,
    coefficient: Floats,
    keys: NDArray[np.uint64],
    permutations: int,
    decay: float,
    row_start: Ints,
    pi: Floats,
    curvature: Floats,
    loss: Floats,
) -> None:
    """Write potentials and curvature of pairs of neighbours, averaged over noisy orders.

    YetiRank (Gulin, Kuralenok & Pavlov 2011). Equivalent to: for every permutation, order the
    rows of a query by falling ``H + ln(z / (1 - z))`` with z uniform; for rows at positions p
    and p + 1 (from 0) of different worth, let
    ``w = decay^p |worth difference| u_hi u_lo / permutations`` and
    ``s = 1 / (1 + e^{H_hi - H_lo})``; add ``w s`` to ``pi[hi]``, subtract it from ``pi[lo]``,
    and add ``w s (1 - s)`` to the curvature of both and ``w s`` to the loss.

    Parameters
    ----------
    scores, worth, weight : arrays of shape (n_rows,)
    coefficient : array of shape (n_queries,)
        Factor on potentials and curvature, not on the loss.
    keys : uint64 array of shape (n_queries,)
        Keys of the noise, see `crucial.kernels.plain.noise`; row i of permutation k gets the
        number of place i under the key ``mix(key + k + 1)``.
    row_start : int array of shape (n_queries + 1,)
    pi, curvature : arrays of shape (n_rows,)  # OUT
    loss : array of shape (n_queries,)  # OUT
    """
    numbers = np.arange(1, permutations + 1, dtype=np.uint64)
    for q, (a, b) in enumerate(zip(row_start[:-1].tolist(), row_start[1:].tolist())):
        score, own, u = scores[a:b], worth[a:b], weight[a:b]
        places = GOLDEN * np.arange(1, b - a + 1, dtype=np.uint64)
        drawn = mix(mix(keys[q] + numbers)[:, None] + places) >> np.uint64(11)
        uniform = (drawn + 0.5) * 2.0**-53
        noisy = score + log(uniform) - log1p(-uniform)
        order = np.argsort(-noisy, axis=1, kind="stable")
        upper, lower = order[:, :-1], order[:, 1:]
        gap = own[upper] - own[lower]
        margin = np.where(gap > 0, 1.0, -1.0) * (score[upper] - score[lower])
        tail = exp(-np.abs(margin))
        decayed = np.multiply.accumulate([1.0, *[decay] * (b - a - 2)])[: b - a - 1]
        w = decayed / permutations * np.abs(gap) * u[upper] * u[lower]
        amount = w * np.where(margin > 0, tail, 1.0) / (1.0 + tail)
        bend = w * tail / (1.0 + tail) ** 2
        signed = np.where(gap > 0, amount, -amount).ravel()
        up, low, size = upper.ravel(), lower.ravel(), b - a
        won = np.bincount(up, signed, size) - np.bincount(low, signed, size)
        curved = np.bincount(up, bend.ravel(), size) + np.bincount(low, bend.ravel(), size)
        pi[a:b] = coefficient[q] * won
        curvature[a:b] = coefficient[q] * curved
        loss[q] = amount.sum()
