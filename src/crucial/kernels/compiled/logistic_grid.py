"""Sums of the logistic loss over many pairs, by interpolation on a grid of scores.

See `crucial.kernels.logistic_grid`.
"""

from __future__ import annotations

import numpy as np

from crucial.kernels.compiled.logistic import _pair
from crucial.kernels.jit import kernel

__all__ = ["exact_pairs", "read_grid", "spread"]

_NODES = 8
_BEFORE = 3  # nodes to the left of the interval that a score is in


@kernel
def _shares(offset, shares):
    """Write the Lagrange polynomials of the nodes -3 to 4 at an offset in [0, 1]."""
    for k in range(_NODES):
        product = 1.0
        for other in range(_NODES):
            if other != k:
                product *= (offset + _BEFORE - other) / (k - other)
        shares[k] = product


@kernel
def _node(place, n_nodes):
    """Return the node before a place; one inside the grid for NaN and infinity too."""
    if not 0.0 <= place < n_nodes:
        return 0
    return min(int(place), n_nodes - _NODES)


@kernel
def spread(scores, weight, gain, sign, first_row, last_row, lowest, middle, per_unit, out):
    """Add the weights of rows to the eight nodes around their scores.

    The fourth node is at the lowest score, and ``per_unit`` nodes are in one unit of it.

    ``out[:, node]``: the weights, the same times the gains, and both times e^(sign score).
    """
    shares = np.empty(_NODES)
    graded = len(gain) > 0
    for i in range(first_row, last_row):
        if weight[i] == 0.0:
            continue
        place = (scores[i] - lowest) * per_unit
        node = _node(place, out.shape[1])
        _shares(place - node, shares)
        grown = weight[i] * np.exp(sign * (scores[i] - middle))
        for k in range(_NODES):
            out[0, node + k] += weight[i] * shares[k]
            out[2, node + k] += grown * shares[k]
            if graded:
                out[1, node + k] += weight[i] * gain[i] * shares[k]
                out[3, node + k] += grown * gain[i] * shares[k]


@kernel
def read_grid(
    scores, weight, gain, sign, cut, shift, first_row, last_row, lowest, middle, per_unit, tables,
    first_out, out,
):  # fmt: skip
    """Add what the tables have at the scores of rows, times their weights, to ``out[first_out:]``.

    ``tables[form, what, 0 or 1]`` are sums over the other rows, without and with their gains;
    form 1 is to be multiplied by e^(-sign score), and serves rows with ``sign score > cut``.
    """
    shares = np.empty(_NODES)
    graded = len(gain) > 0
    for i in range(first_row, last_row):
        place = (scores[i] - lowest) * per_unit
        node = _node(place, tables.shape[3])
        _shares(place - node, shares)
        centred = sign * (scores[i] - middle)
        form = 1 if centred > cut else 0
        factor = weight[i] * np.exp(shift - (centred if form else 0.0))
        for what in range(tables.shape[1]):
            value = 0.0
            for k in range(_NODES):
                value += shares[k] * tables[form, what, 0, node + k]
            if graded:
                value *= sign * gain[i]
                for k in range(_NODES):
                    value -= sign * shares[k] * tables[form, what, 1, node + k]
            # (interpolation may go a little below 0, where there is nothing)
            out[first_out + what, i] += factor * max(value, 0.0)


@kernel
def exact_pairs(scores, winners, losers, gain, level_begin, shift, begin, middle, end, out):
    """Add the sums over all pairs of rows ``middle:end`` with lower ones from ``begin``.

    Lower are the rows before the level of a row, and before ``middle`` if that is not 0.
    For ``out`` see `crucial.kernels.logistic_grid.GridSums.add`.
    """
    graded = len(gain) > 0
    for i in range(max(begin, middle), end):
        last = middle if middle > 0 else max(begin, level_begin[i])
        won = 0.0
        bent = 0.0
        paid = 0.0
        for j in range(begin, last):
            factor = winners[i] * losers[j]
            if factor == 0.0:
                continue
            if graded:
                factor *= gain[i] - gain[j]
            share, against, cost = _pair(scores[i] - scores[j], shift)
            amount = factor * share
            won += amount
            bent += amount * against
            paid += factor * cost
            out[3, j] += amount
            out[4, j] += amount * against
        out[0, i] += won
        out[1, i] += bent
        out[2, i] += paid
