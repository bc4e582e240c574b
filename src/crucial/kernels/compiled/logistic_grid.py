"""Sums of the logistic loss over many pairs, by interpolation on a grid of scores.

See `crucial.kernels.logistic_grid`.
"""

from __future__ import annotations

import numpy as np

from crucial.kernels.compiled.elementary import exp, log, log1p
from crucial.kernels.compiled.logistic import _pair
from crucial.kernels.jit import kernel

__all__ = ["cut_levels", "exact_pairs", "read_grid", "read_pieces", "spread", "spread_pieces"]

_NODES = 8
_BEFORE = 3  # nodes to the left of the interval that a score is in
# One over the product of the distances of each node to the others: (-1)^(7-k) / (k! (7-k)!).
_INVERSE = (-1 / 5040, 1 / 720, -1 / 240, 1 / 144, -1 / 144, 1 / 240, -1 / 720, 1 / 5040)
# Pairs that share one logarithm: (1 + e^60)^8 is finite.
_TOGETHER = 8


@kernel
def _shares(offset, shares):
    """Write the Lagrange polynomials of the nodes -3 to 4 at an offset in [0, 1]."""
    product = 1.0
    for k in range(_NODES):
        shares[k] = product  # (of the distances to the nodes before)
        product *= offset + _BEFORE - k
    product = 1.0
    for k in range(_NODES - 1, -1, -1):
        shares[k] *= product * _INVERSE[k]
        product *= offset + _BEFORE - k


@kernel
def cut_levels(level_start, rows, out):
    """Write where blocks of whole levels begin, and the end; return how many numbers that is.

    A block has up to ``rows`` rows, or one level.
    """
    out[0] = level_start[0]
    n = 1
    for level in range(1, len(level_start) - 1):
        if level_start[level + 1] - out[n - 1] > rows:
            out[n] = level_start[level]
            n += 1
    out[n] = level_start[-1]
    return n + 1


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
        grown = weight[i] * exp(sign * (scores[i] - middle))
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
        factor = weight[i] * exp(shift - (centred if form else 0.0))
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
def spread_pieces(
    scores, weight, gain, sign, pieces, first, last, lowest, middle, per_unit, out
):  # fmt: skip
    """Do `spread` for each of some pieces of rows; ``out[piece]`` gets the sums of a piece."""
    for p in range(first, last):
        place = (lowest, middle, per_unit)
        spread(scores, weight, gain, sign, pieces[p], pieces[p + 1], *place, out[p])


@kernel
def _convolve(mass, lines, graded, tables):
    """Write ``tables[form, what, gain, k] = sum_j mass[j] line[nodes - 1 + k - j]``."""
    nodes = mass.shape[1]
    tables[:] = 0.0
    for form in range(2):
        for gain in range(2 if graded else 1):
            for j in range(nodes):
                amount = mass[2 * form + gain, j]
                if amount == 0.0:
                    continue
                for what in range(lines.shape[1]):
                    line = lines[form, what, nodes - 1 - j : 2 * nodes - 1 - j]
                    table = tables[form, what, gain]
                    for k in range(nodes):
                        table[k] += amount * line[k]


@kernel
def read_pieces(
    scores, weight, gain, sign, shift, pieces, others, mass, lines, first, last, lowest, middle,
    per_unit, out,
):  # fmt: skip
    """Add the sums over other rows to those of some pieces of rows.

    ``mass[others[p]]`` are the rows that piece p is compared with, as `spread` made them; for
    ``lines`` see `_convolve`.
    """
    nodes = mass.shape[2]
    tables = np.empty((2, lines.shape[1], 2, nodes))
    known = -1
    total = 0.0
    cut = 0.0
    for p in range(first, last):
        if others[p] != known:
            known = others[p]
            own = mass[known]
            total = own[0].sum()
            if total > 0.0:
                cut = log(own[2].sum() / total)
                _convolve(own, lines, len(gain) > 0, tables)
        if not total > 0.0:  # (there are no others)
            continue
        rows = (pieces[p], pieces[p + 1])
        place = (lowest, middle, per_unit)
        read_grid(scores, weight, gain, sign, cut, shift, *rows, *place, tables, 0, out)


@kernel
def exact_pairs(
    scores, grown, winners, losers, gain, level_begin, shift, narrow, logs, block_start, first,
    last, out,
):  # fmt: skip
    """Add the sums over all pairs of rows of the same block and of different levels.

    For ``out`` see `crucial.kernels.logistic_grid.GridSums.add`. ``level_begin`` has where the
    level of each row begins, from the first row of all blocks on. If ``narrow``, ``grown`` is
    e^score. ``logs``: 0 leaves the loss out, and with 2 all pairs weigh 1, so that eight share a
    logarithm.
    """
    graded = len(gain) > 0
    offset = block_start[0]
    for block in range(first, last):
        begin = block_start[block]
        for i in range(begin, block_start[block + 1]):
            inverse = 1.0 / grown[i] if narrow else 0.0
            won = 0.0
            bent = 0.0
            paid = 0.0
            more = 0.0  # the product of all 1 + odds, less 1: no digit is lost to the 1
            held = 0
            for j in range(begin, max(begin, level_begin[i - offset])):
                factor = winners[i] * losers[j]
                if factor == 0.0:
                    continue
                if graded:
                    factor *= gain[i] - gain[j]
                if narrow:
                    odds = grown[j] * inverse
                    against = 1.0 / (1.0 + odds)
                    amount = factor * odds * against
                    if logs == 2:
                        more += odds + more * odds
                        held += 1
                        if held == _TOGETHER:
                            paid += log1p(more)
                            more = 0.0
                            held = 0
                    elif logs == 1:
                        paid += factor * log1p(odds)
                else:
                    share, against, cost = _pair(scores[i] - scores[j], shift)
                    amount = factor * share
                    paid += factor * cost
                won += amount
                bent += amount * against
                out[3, j] += amount
                out[4, j] += amount * against
            out[0, i] += won
            out[1, i] += bent
            out[2, i] += paid + log1p(more)
