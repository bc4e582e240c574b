"""The loops of RankBoost+ in NumPy; see Connamacher et al. (2019).

Pairs lie by winner: those of row x are ``start[x]:start[x + 1]``, and ``low`` names their
losers. Sums run in the order in which ``compiled.plus`` adds, so the bytes are the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crucial.types import Bools, Bytes, Codes, Floats, Ints

__all__ = ["column_sums", "pair_step", "pair_ties", "stump_sums"]


def _winners(start: Ints, first_row: int, last_row: int) -> Ints:
    return np.repeat(np.arange(first_row, last_row), np.diff(start[first_row : last_row + 1]))


def _running_total(values: NDArray[np.number]) -> float:
    # (np.sum adds in another order than a loop does)
    return float(np.cumsum(values)[-1]) if len(values) else 0.0


def pair_step(
    start: Ints,
    low: NDArray[np.int32],
    output: Bytes,
    factors: Floats,
    d: Floats,
    e: Floats,
    first_row: int,
    last_row: int,
    win: Floats,
    lose: Floats,
    sums: Floats,
) -> None:
    """Multiply pair weights by the factors of a {0, 1} ranker, and add them up by row.

    Parameters
    ----------
    output : uint8 array of shape (n_rows,)
        The ranker.
    factors : array of shape (2, 4)
        On ``d`` and on ``e``: for a tie at 0, a wrong pair, a right one, a tie at 1.
    d, e : arrays of shape (n_pairs,)  # IN and OUT
    first_row, last_row : int
        The range of winners whose pairs are visited.
    win, lose : arrays of shape (n_rows,)  # OUT
        Weight d of the pairs that a row should win (those winners only) and lose.
    sums : array of shape (4,)  # OUT
        Of d, of e, and of d over the tied and over the right pairs.
    """
    part = slice(start[first_row], start[last_row])
    high = _winners(start, first_row, last_row)
    kind = 2 * output[high].astype(np.int64) + output[low[part]]
    d[part] *= factors[0][kind]
    e[part] *= factors[1][kind]
    n = len(win)
    above = low[part]
    ones, zeros = (
        np.bincount(high[take], d[part][take], n)[first_row:last_row]
        for take in (output[above] != 0, output[above] == 0)
    )
    top = output[first_row:last_row] != 0
    win[first_row:last_row] = ones + zeros
    lose[:] = np.bincount(above, d[part], n)
    sums[0] = _running_total(ones + zeros)
    sums[1] = _running_total(np.bincount(high, e[part], n)[first_row:last_row])
    sums[2] = _running_total(np.where(top, ones, zeros))
    sums[3] = _running_total(np.where(top, zeros, 0.0))


def pair_ties(
    start: Ints,
    low: NDArray[np.int32],
    d: Floats,
    used: Floats,
    size: int,
    first_row: int,
    last_row: int,
    tied: Floats,
) -> None:
    """Write the weight of the pairs that each ranker in use ties (epsilon^0 of equation 8).

    Parameters
    ----------
    used : array of shape (n_rows, at least size)
        One column per ranker, of 0 and 1.
    tied : array of shape (size,)  # OUT
    """
    part = slice(start[first_row], start[last_row])
    high = _winners(start, first_row, last_row)
    rows = np.flatnonzero(np.diff(start[first_row : last_row + 1])) + first_row
    whole = np.bincount(high, d[part], last_row)[rows]
    for j in range(size):
        ones = np.bincount(high, d[part] * used[low[part], j], last_row)[rows]
        tied[j] = _running_total(np.where(used[rows, j] != 0.0, ones, whole - ones))


def column_sums(values: Floats, columns: Floats, out: Floats) -> None:
    """Write the sum of values over the ones of every column.

    Row after row and not by BLAS, whose order of adding depends on the machine.

    Parameters
    ----------
    columns : array of shape (n_rows, at least size)
        Of 0 and 1.
    out : array of shape (size,)  # OUT
    """
    products = values[:, None] * columns[:, : len(out)]
    out[:] = np.cumsum(products, axis=0)[-1] + 0.0 if len(values) else 0.0  # (no -0)


def stump_sums(
    codes: Codes,
    n_rows: int,
    first: Ints,
    features: Ints,
    values: Floats,
    offered: Bools,
    out: Floats,
    peak: Floats,
) -> None:
    """Write the sum of values over the ones of every stump of the features.

    With potentials for values, this is ``W+ - W-`` of every stump.

    Parameters
    ----------
    codes : unsigned array of shape (n_features, at least n_rows)
    first : int array of shape (n_features + 1,)
        Where the bins of a feature begin; the last of them are its abstentions.
    offered : bool array of shape (2 * first[-1],)
        Stumps on offer; the others get 0.
    out : array of the same shape  # OUT
        Place ``2 * (first[f] + k) + q``: ones are codes of k and more, abstentions are q.
    peak : array of shape (n_features,)  # OUT
        Largest magnitude of each of the features.
    """
    if not len(features):
        return
    width = (first[features + 1] - first[features]).astype(np.int64)
    widest = int(width.max())
    place = np.arange(len(features))[:, None] * widest + codes[features, :n_rows]
    weights = np.broadcast_to(values[:n_rows], place.shape).ravel()
    hist = np.bincount(place.ravel(), weights, len(features) * widest)
    hist = hist.reshape(len(features), widest)
    absent = hist[np.arange(len(features)), width - 1].copy()
    hist[np.arange(len(features)), width - 1] = 0.0
    total = np.cumsum(hist[:, ::-1], axis=1)[:, ::-1]
    both = np.stack((total, total + absent[:, None]), axis=2)
    inside = np.arange(widest) < width[:, None]
    at = (2 * (first[features][:, None] + np.arange(widest)))[..., None] + np.arange(2)
    flat = at[inside].ravel()
    out[flat] = np.where(offered[flat], both[inside].ravel(), 0.0)
    both = np.where(inside[..., None], both, 0.0)
    both[inside] = np.abs(out[flat]).reshape(-1, 2)
    peak[features] = both.max(axis=(1, 2))
