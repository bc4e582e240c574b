"""Losses of whole queries and of logistic pairs, in Numba."""

from __future__ import annotations

import numpy as np

from crucial.kernels.compiled.elementary import exp, log, log1p, log2
from crucial.kernels.compiled.sums import UNIT, mix, order_falling, uniform
from crucial.kernels.jit import kernel

# --- Sums of the logistic loss over pairs: no prefix sums, every pair is visited
#
# ``ln(1 + e^{-(H(hi) - H(lo))})`` does not fall apart into a factor for hi and one for lo, as the
# exponential does, so a pass costs O(pairs). Every row is summed up for itself, so that rows can be
# cut into ranges anywhere. Large queries are left to `crucial.kernels.losses`.
#
# Scores may be any distance apart. ``shift`` is 0, or where every margin is positive a number c
# that no margin is below: weights and losses come times ``e^c``, since by themselves they all
# underflow once every margin is large.
#
# Where the scores of every query lie within `NARROW` of each other, ``e^{H}`` is known for every
# row and a pair costs one division; elsewhere it costs two exponentials.


# Pairs that share one logarithm: (1 + e^NARROW)^8 is finite.
_TOGETHER = 8


@kernel
def _pair(margin, shift):
    """Return ``(s, 1 - s, ln(1 + e^-margin))`` of a pair, the first and last times e^shift."""
    tail = exp(-abs(margin))
    if margin > 0:
        share = exp(shift - margin) / (1.0 + tail)
        ratio = 1.0 - tail / 2 if tail < 1e-8 else log1p(tail) / tail
        return share, 1.0 / (1.0 + tail), exp(shift - margin) * ratio
    # (there is a shift only where no margin is negative)
    return 1.0 / (1.0 + tail), tail / (1.0 + tail), log1p(tail) - margin


@kernel
def logistic_sums(
    scores, grown, weight, gains, shift, narrow, weighted, places, first_row, last_row, out
):
    """Write the weight that every row of a range wins and loses, its curvature and its loss.

    Equivalent to: for every pair of rows (lo, hi) of one query with a higher label for hi, let
    ``w = (gain_hi - gain_lo) u_lo u_hi``, ``s = 1 / (1 + e^{H(hi) - H(lo)})`` and ``d = w s``;
    add d to ``positive[hi]`` and ``negative[lo]``, ``d (1 - s)`` to the ``curvature`` of both
    and ``w ln(1 + e^{H(lo) - H(hi)})`` to ``loss[hi]``; everything times ``e^shift``.

    Parameters
    ----------
    scores, weight : arrays of shape (n_rows,)
    grown : array of shape (n_rows,)
        ``e^{H}``, centred in each query; used if ``narrow``.
    gains : array of shape (n_segments,) or (0,)
        Gain of every level; empty: all pairs count the same.
    out : positive, negative, curvature, loss, arrays of shape (n_rows,)  # OUT
    """
    level_start, query_first, query_of_row, level_of_row = places
    positive, negative, curvature, loss = out
    graded = len(gains) > 0
    for i in range(first_row, last_row):
        a = query_first[query_of_row[i]]
        b = query_first[query_of_row[i] + 1]
        own = a + level_of_row[i]
        won = 0.0
        lost = 0.0
        bend = 0.0
        paid = 0.0
        for s in range(a, b):
            if s == own:
                continue
            level_won = 0.0
            level_bend = 0.0
            level_paid = 0.0
            begin, end = level_start[s], level_start[s + 1]
            if narrow and s < own:
                inverse = 1.0 / grown[i]
                for block in range(begin, end, _TOGETHER):
                    more = 0.0  # the product of all 1 + odds, less 1: no digit is lost to the 1
                    for j in range(block, min(block + _TOGETHER, end)):
                        odds = grown[j] * inverse
                        against = 1.0 / (1.0 + odds)
                        share = weight[j] * odds * against
                        level_won += share
                        level_bend += share * against
                        if weighted:
                            level_paid += weight[j] * log1p(odds)
                        else:
                            more += odds + more * odds
                    if not weighted:
                        level_paid += log1p(more)
            elif narrow:
                for j in range(begin, end):
                    whole = 1.0 / (grown[j] + grown[i])
                    share = weight[j] * grown[i] * whole
                    level_won += share
                    level_bend += share * grown[j] * whole
            elif s < own:
                for j in range(begin, end):
                    share, against, cost = _pair(scores[i] - scores[j], shift)
                    level_won += weight[j] * share
                    level_bend += weight[j] * share * against
                    level_paid += weight[j] * cost
            else:
                for j in range(begin, end):
                    share, against, _ = _pair(scores[j] - scores[i], shift)
                    level_won += weight[j] * share
                    level_bend += weight[j] * share * against
            factor = abs(gains[s] - gains[own]) if graded else 1.0
            if s < own:
                won += factor * level_won
                paid += factor * level_paid
            else:
                lost += factor * level_won
            bend += factor * level_bend
        positive[i] = weight[i] * won
        negative[i] = weight[i] * lost
        curvature[i] = weight[i] * bend
        loss[i] = weight[i] * paid


@kernel
def logistic_along(
    scores, grown, weight, gains, shift, narrow, output, places, first_row, last_row, out
):
    """Write what a {0, 1} ranker gains in the pairs that each row of a range should win.

    Equivalent to, with d and s as in `logistic_sums`: add d to ``out[hi, 0]`` where the output
    is 1 for hi and 0 for lo, to ``out[hi, 1]`` where it is the reverse, and ``d (1 - s)`` to
    ``out[hi, 2]`` in both.

    Parameters
    ----------
    out : array of shape (n_rows, 3)  # OUT
    """
    level_start, query_first, query_of_row, level_of_row = places
    graded = len(gains) > 0
    for i in range(first_row, last_row):
        a = query_first[query_of_row[i]]
        own = a + level_of_row[i]
        inverse = 1.0 / grown[i]
        gain = 0.0
        bend = 0.0
        for s in range(a, own):
            level_gain = 0.0
            level_bend = 0.0
            if narrow:
                for j in range(level_start[s], level_start[s + 1]):
                    odds = grown[j] * inverse
                    against = 1.0 / (1.0 + odds)
                    share = weight[j] * odds * against * abs(output[j] - output[i])
                    level_gain += share
                    level_bend += share * against
            else:
                for j in range(level_start[s], level_start[s + 1]):
                    if output[j] != output[i]:
                        share, against, _ = _pair(scores[i] - scores[j], shift)
                        level_gain += weight[j] * share
                        level_bend += weight[j] * share * against
            factor = gains[own] - gains[s] if graded else 1.0
            gain += factor * level_gain
            bend += factor * level_bend
        won = output[i] > 0.5
        out[i, 0] = weight[i] * gain if won else 0.0
        out[i, 1] = 0.0 if won else weight[i] * gain
        out[i, 2] = weight[i] * bend


# --- Sums of the logistic loss over many pairs, by interpolation on a grid of scores
#
# See `crucial.kernels.losses`.


_NODES = 8
_BEFORE = 3  # nodes to the left of the interval that a score is in
# One over the product of the distances of each node to the others: (-1)^(7-k) / (k! (7-k)!).
_INVERSE = (-1 / 5040, 1 / 720, -1 / 240, 1 / 144, -1 / 144, 1 / 240, -1 / 720, 1 / 5040)


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
    out,
):  # fmt: skip
    """Add what the tables have at the scores of rows, times their weights, to ``out``.

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
            out[what, i] += factor * max(value, 0.0)


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
        read_grid(scores, weight, gain, sign, cut, shift, *rows, *place, tables, out)


@kernel
def exact_pairs(
    scores, grown, winners, losers, gain, level_begin, shift, narrow, logs, block_start, first,
    last, out,
):  # fmt: skip
    """Add the sums over all pairs of rows of the same block and of different levels.

    For ``out`` see `crucial.kernels.losses.GridSums.add`. ``level_begin`` has where the
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


# --- Logistic pairs weighted by how much a measure changes when both rows swap their positions
#
# LambdaMART (Burges 2010). Rows are ordered by falling score; rows of equal score in the order in
# which they lie, which is by rising label: the worst first. Rows of the same score and worth have
# their mean weight while pairs are summed up, and then share what they got by their own weights,
# so that the order of equal rows changes nothing.
#
# The change of a measure is ``|worth_i - worth_j| (a_i - a_j) inverse`` for positions i < j, where
# a are the worths of the places, see `_worths_of_places`.
#
# Where the scores of a query lie within `NARROW` of each other, ``e^score`` is known for every
# row and a pair costs one division; elsewhere it costs an exponential.


NARROW = 60.0
# Regularises the division by the distance of two scores, as in LightGBM.
_NEAR = 0.01
# Pairs that the compiler takes at a time, on most machines.
_ABREAST = 8
# (a signed index makes Numba test it for its sign, and keeps the compiler from vectors)
_ONE, _TWO, _THREE, _FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


@kernel
def _worths_of_places(kind, worth, size, discount, depth, places):
    """Write what a place is worth under a row above it that is not relevant, and that is.

    - nDCG: the discount.
    - Average precision, with C relevant rows up to a position p (from 1) and I the sum of 1/p
      over them: a swap of a relevant row at i with another at j > i loses
      ``(C_i/i - I_i) - (C_j/j - I_j)``; where the lower one is relevant it gains the same with
      ``C + 1`` in place of C.
    - Reciprocal rank: only the first relevant row counts. Swapped down, it is replaced by the
      second or itself; swapped above, a row takes its place.

    Parameters
    ----------
    kind : int
        0 for nDCG, 1 for average precision, 2 for the reciprocal rank.
    worth : array of shape (n_rows,)
        Gain of every row, in order; 1 and 0 for measures of two levels.
    discount : array of at least n_rows
    depth : int
        Positions that count in the value of nDCG.

    places : array of shape (2, at least n_rows)  # OUT

    Returns
    -------
    float
        The measure of the order, before ``inverse``.
    """
    value = 0.0
    if kind == 0:
        for p in range(size):
            places[0, p] = discount[p]
            places[1, p] = discount[p]
            if p < depth:
                value += worth[p] * discount[p]
        return value
    if kind == 1:
        count = 0.0
        inside = 0.0  # sum of 1 / position over relevant rows so far
        for p in range(size):
            inverse = 1.0 / (p + 1.0)
            count += worth[p]
            inside += worth[p] * inverse
            value += worth[p] * count * inverse
            places[1, p] = count * inverse - inside
            places[0, p] = (count + 1.0) * inverse - inside
        return value
    first = size
    second = size
    for p in range(size):
        if worth[p] > 0 and first == size:
            first = p
        elif worth[p] > 0 and second == size:
            second = p
    for p in range(size):
        places[0, p] = 1.0 / (min(p, first) + 1.0)
        places[1, p] = 1.0 / (min(p, second) + 1.0)
    return 1.0 / (first + 1.0) if first < size else 0.0


@kernel
def _totals(pull, bend, begin, end):
    """Return the sums of pull, bend and ``|pull|`` over a range, each in four interleaved sums."""
    a0 = a1 = a2 = a3 = 0.0
    b0 = b1 = b2 = b3 = 0.0
    c0 = c1 = c2 = c3 = 0.0
    i, last = np.uint64(begin), np.uint64(end)
    while i + _FOUR <= last:
        x0, x1, x2, x3 = pull[i], pull[i + _ONE], pull[i + _TWO], pull[i + _THREE]
        a0 += x0
        a1 += x1
        a2 += x2
        a3 += x3
        b0 += bend[i]
        b1 += bend[i + _ONE]
        b2 += bend[i + _TWO]
        b3 += bend[i + _THREE]
        c0 += abs(x0)
        c1 += abs(x1)
        c2 += abs(x2)
        c3 += abs(x3)
        i += _FOUR
    while i < last:
        a0 += pull[i]
        b0 += bend[i]
        c0 += abs(pull[i])
        i += _ONE
    return (a0 + a1) + (a2 + a3), (b0 + b1) + (b2 + b3), (c0 + c1) + (c2 + c3)


@kernel
def _pairs_of(at, size, score, grown, worth, weight, place, apart, pull, bend, won, curved):
    """Add the pairs of the row at a position with all rows below it; ``e^score`` is known.

    Free of branches and of sums, so that the compiler takes several pairs at a time; so does the
    end of the loop, as rows of weight 0 fill the last `_ABREAST`.
    """
    own = grown[at]
    own_worth = worth[at]
    own_place = place[at]
    own_weight = weight[at]
    own_score = score[at]
    base = 1.0 if apart == 0.0 else _NEAR
    end = at + 1 + (size - at - 2 + _ABREAST) // _ABREAST * _ABREAST
    for j in range(np.uint64(at + 1), np.uint64(end)):
        gap = own_worth - worth[j]
        other = grown[j]
        distance = base + apart * (own_score - score[j])
        whole = 1.0 / ((own + other) * distance)
        change = gap * (own_place - place[j]) * (own_weight * weight[j]) * whole
        amount = change * (other if gap > 0.0 else own)
        more = abs(change) * (own * other) * (whole * distance)
        pull[j] = amount
        bend[j] = more
        won[j] -= amount
        curved[j] += more


@kernel
def _wide_pairs_of(at, size, sigmoid, score, worth, weight, place, apart, pull, bend, won, curved):
    """Add the same for scores any distance apart."""
    base = 1.0 if apart == 0.0 else _NEAR
    for j in range(at + 1, size):
        gap = worth[at] - worth[j]
        distance = score[at] - score[j]  # (not negative)
        change = gap * (place[at] - place[j]) * (weight[at] * weight[j])
        change /= base + apart * distance
        tail = exp(-sigmoid * distance)
        pull[j] = change * (tail if gap > 0.0 else 1.0) / (1.0 + tail)
        bend[j] = abs(change) * tail / ((1.0 + tail) * (1.0 + tail))
        won[j] -= pull[j]
        curved[j] += bend[j]


@kernel
def _even_out(size, score, worth, weight, even):
    """Write the mean weight of the rows of equal score and worth for each of them."""
    begin = 0
    while begin < size:
        end = begin + 1
        mass = weight[begin]
        while end < size and score[end] == score[begin] and worth[end] == worth[begin]:
            mass += weight[end]
            end += 1
        for p in range(begin, end):
            even[p] = mass / (end - begin)
        begin = end


@kernel
def _share_ties(size, score, worth, weight, won, curved):
    """Share what rows of equal score and worth have got between them, by their weights."""
    begin = 0
    while begin < size:
        end = begin + 1
        while end < size and score[end] == score[begin] and worth[end] == worth[begin]:
            end += 1
        if end > begin + 1:
            mass = 0.0
            total = 0.0
            bent = 0.0
            for p in range(begin, end):
                mass += weight[p]
                total += won[p]
                bent += curved[p]
            for p in range(begin, end):
                won[p] = weight[p] * (total / mass)
                curved[p] = weight[p] * (bent / mass)
        begin = end


@kernel
def lambda_sums(
    scores, worth, weight, coefficient, inverse, discount, how, row_start, first_query, last_query,
    pi, curvature, value,
):  # fmt: skip
    """Write potentials, curvature and the measure of every query of a range.

    Equivalent to: for all rows i, j of a query of different worth of which at least one is
    among the first ``truncation``, with ``w`` the change of the measure when both swap times
    both weights, and hi the one of more worth, let ``s = 1 / (1 + e^{sigmoid (H_hi - H_lo)})``;
    add ``sigmoid w s`` to ``pi[hi]``, subtract it from ``pi[lo]`` and add
    ``sigmoid^2 w s (1 - s)`` to the curvature of both. Normalised, w is divided by
    ``.01 + |H_i - H_j|`` unless all scores are equal, and the sums of the query are multiplied
    by ``log2(1 + S) / S`` with S twice the sum of all ``sigmoid w s``.

    Parameters
    ----------
    scores, worth, weight : arrays of shape (n_rows,)
    coefficient : array of shape (n_queries,)
        Factor on potentials and curvature, not on the measure.
    inverse : array of shape (n_queries,)
        One over the best value that the measure can have; 0 where it has none.
    discount : array as long as the largest query
    how : measure, depth, truncation, sigmoid, normalise
    row_start : int array of shape (n_queries + 1,)
    pi, curvature : arrays of shape (n_rows,)  # OUT
    value : array of shape (n_queries,)  # OUT
    """
    kind, depth, truncation, sigmoid, normalise = how
    longest = 0
    for q in range(first_query, last_query):
        longest = max(longest, row_start[q + 1] - row_start[q])
    length = longest + _ABREAST
    score = np.empty(length)
    row = np.empty(longest, np.int64)
    spare = np.empty(longest)
    spare_row = np.empty(longest, np.int64)
    sorted_worth = np.empty(length)
    sorted_weight = np.empty(longest)
    even = np.empty(length)
    grown = np.empty(length)
    places = np.zeros((2, length))
    pull = np.empty(length)
    bend = np.empty(length)
    won = np.empty(length)
    curved = np.empty(length)
    for q in range(first_query, last_query):
        begin = row_start[q]
        size = row_start[q + 1] - begin
        order_falling(scores, begin, size, score, row, spare, spare_row)
        middle = (score[0] + score[size - 1]) / 2.0
        spread = score[0] - score[size - 1]
        narrow = sigmoid * spread <= NARROW
        for p in range(size):
            sorted_worth[p] = worth[row[p]]
            sorted_weight[p] = weight[row[p]]
            grown[p] = exp(sigmoid * (score[p] - middle)) if narrow else 1.0
            won[p] = 0.0
            curved[p] = 0.0
        for p in range(size, size + _ABREAST):
            score[p] = score[size - 1]
            grown[p] = 1.0
            sorted_worth[p] = even[p] = won[p] = curved[p] = 0.0
        _even_out(size, score, sorted_worth, sorted_weight, even)
        found = _worths_of_places(kind, sorted_worth, size, discount, depth, places)
        value[q] = inverse[q] * found
        apart = 1.0 if normalise and spread > 0.0 else 0.0
        whole = 0.0
        for i in range(min(truncation, size - 1)):
            place = places[1] if sorted_worth[i] > 0.0 else places[0]
            if narrow:
                _pairs_of(
                    i, size, score, grown, sorted_worth, even, place, apart,
                    pull, bend, won, curved,
                )  # fmt: skip
            else:
                _wide_pairs_of(
                    i, size, sigmoid, score, sorted_worth, even, place, apart,
                    pull, bend, won, curved,
                )  # fmt: skip
            amount, more, pulled = _totals(pull, bend, i + 1, size)
            won[i] += amount
            curved[i] += more
            whole += pulled
        factor = sigmoid * inverse[q]
        if normalise and whole > 0.0:
            total = 2.0 * factor * whole
            factor *= log2(1.0 + total) / total
        factor *= coefficient[q]
        _share_ties(size, score, sorted_worth, sorted_weight, won, curved)
        for p in range(size):
            pi[row[p]] = factor * won[p]
            curvature[row[p]] = factor * sigmoid * curved[p]


# --- Losses of whole queries, with minus their gradient and their curvature per row
#
# A row of weight u counts as u rows. Of the u copies of a row, each has its own diagonal entry in
# the curvature, so that a row of weight 2 and the same row twice give the same sums; a weight
# below 1 is one row that counts less.


# 1 - r is at least this, where exponentials underflow.
_LEAST = 1e-300


@kernel
def squares(
    scores, target, weight, coefficient, row_start, first_query, last_query, pi, curvature, loss
):
    """Write the squared error up to a shift per query, for a range of queries.

    With ``e = target - score`` less its weighted mean in the query, ``loss[q]`` is
    ``sum u e^2 / 2``, ``pi = c u e`` and ``curvature = c u``: the Hessian is
    ``diag(u) - u u' / sum(u)``, which ``diag(u)`` bounds, so that a Newton step never overshoots.

    Parameters
    ----------
    scores, target, weight : arrays of shape (n_rows,)
    coefficient : array of shape (n_queries,)
        Factor c on potentials and curvature, not on the loss.
    row_start : int array of shape (n_queries + 1,)
    pi, curvature : arrays of shape (n_rows,)  # OUT
    loss : array of shape (n_queries,)  # OUT
    """
    for q in range(first_query, last_query):
        a, b = row_start[q], row_start[q + 1]
        total = 0.0
        mass = 0.0
        for i in range(a, b):
            total += weight[i] * (target[i] - scores[i])
            mass += weight[i]
        mean = total / mass
        factor = coefficient[q]
        paid = 0.0
        for i in range(a, b):
            error = target[i] - scores[i] - mean
            weighted = weight[i] * error
            pi[i] = factor * weighted
            curvature[i] = factor * weight[i]
            paid += weighted * error
        loss[q] = paid / 2.0


@kernel
def cross_entropy(
    scores, target, weight, coefficient, row_start, first_query, last_query, pi, curvature, loss
):
    """Write the cross entropy of the targets and a softmax, for a range of queries.

    With ``P = u e^score / sum(u e^score)``, ``loss[q] = -sum t ln(P / u)``, ``pi = c (t - P)``
    and ``curvature = c P (1 - P / max(u, 1))``.

    Parameters
    ----------
    target : array of shape (n_rows,)
        t; sums to 1 over a query, all copies of a row included.
    scores, weight, coefficient, row_start, pi, curvature, loss
        As in `squares`.
    """
    for q in range(first_query, last_query):
        a, b = row_start[q], row_start[q + 1]
        top = scores[a]
        for i in range(a + 1, b):
            top = max(top, scores[i])
        whole = 0.0
        right = 0.0
        for i in range(a, b):
            centred = scores[i] - top
            share = weight[i] * exp(centred)
            pi[i] = share
            whole += share
            right += target[i] * centred
        loss[q] = log(whole) - right
        inverse = 1.0 / whole
        factor = coefficient[q]
        for i in range(a, b):
            share = pi[i] * inverse
            pi[i] = factor * (target[i] - share)
            curvature[i] = factor * share * (1.0 - share / max(weight[i], 1.0))


@kernel
def xendcg(
    scores, worth, unit, noise, weight, coefficient, row_start, first_query, last_query, pi,
    curvature, loss,
):  # fmt: skip
    """Write XE-NDCG for a range of queries.

    With ``t = u (worth - unit noise)`` over its sum, P as in `cross_entropy`, copies
    ``m = max(u, 1)``, ``r = P / m`` and ``g1 = r - t / m``: ``g2 = r (S1 - p1)`` with
    ``p1 = g1 / (1 - r)`` and ``S1 = sum(m p1)``, ``g3`` from g2 in the same way,
    ``pi = -c m (g1 + g2 + g3)`` and ``curvature = c m r (1 - r)``. ``loss[q]`` is the cross
    entropy with all noise 1/2, its mean.

    Parameters
    ----------
    worth : array of shape (n_rows,)
        ``2^y``, in any unit.
    unit : array of shape (n_queries,)
        What 1 is in the units of ``worth``.
    noise : array of shape (n_rows,)
        Numbers in [0, 1).
    scores, weight, coefficient, row_start, pi, curvature, loss
        As in `squares`.
    """
    for q in range(first_query, last_query):
        a, b = row_start[q], row_start[q + 1]
        highest = scores[a]
        for i in range(a + 1, b):
            highest = max(highest, scores[i])
        targets = 0.0
        expected = 0.0
        right = 0.0
        top = a  # the row of the largest share
        for i in range(a, b):
            centred = scores[i] - highest
            curvature[i] = weight[i] * exp(centred)
            top = i if curvature[i] > curvature[top] else top
            pi[i] = weight[i] * (worth[i] - unit[q] * noise[i])
            targets += pi[i]
            weighted = weight[i] * (worth[i] - 0.5 * unit[q])
            expected += weighted
            right += weighted * centred
        others = 0.0
        for i in range(a, b):
            others += curvature[i] if i != top else 0.0
        whole = others + curvature[top]
        loss[q] = log(whole) - right / expected
        copies = max(weight[top], 1.0)
        rest_top = max((others + curvature[top] * (1.0 - 1.0 / copies)) / whole, _LEAST)
        without = 0.0  # sum of p1 over all rows but the top one
        ratio_top = 0.0
        for i in range(a, b):
            m = max(weight[i], 1.0)
            r = curvature[i] / m / whole
            curvature[i] = r
            pi[i] = r - pi[i] / targets / m
            if i == top:
                ratio_top = pi[i] / rest_top
            else:
                without += m * pi[i] / (1.0 - r)
        sum_first = without + copies * ratio_top
        left_first = without + (copies - 1.0) * ratio_top
        without = 0.0  # the same of p2
        for i in range(a, b):
            if i != top:
                r = curvature[i]
                more = r * (sum_first - pi[i] / (1.0 - r))
                without += max(weight[i], 1.0) * more / (1.0 - r)
        second_top = curvature[top] * left_first / rest_top
        sum_second = without + copies * second_top
        left_second = without + (copies - 1.0) * second_top
        factor = coefficient[q]
        for i in range(a, b):
            r = curvature[i]
            if i == top:
                gradient = pi[i] + r * left_first + r * left_second
                bend = r * rest_top
            else:
                more = r * (sum_first - pi[i] / (1.0 - r))
                gradient = pi[i] + more + r * (sum_second - more / (1.0 - r))
                bend = r * (1.0 - r)
            m = factor * max(weight[i], 1.0)
            pi[i] = -m * gradient
            curvature[i] = m * bend


# --- Logistic pairs of neighbours in noisy orders


@kernel
def yeti_sums(
    scores, worth, weight, coefficient, keys, permutations, decay, row_start, first_query,
    last_query, pi, curvature, loss,
):  # fmt: skip
    """Write potentials, curvature and loss of every query of a range.

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
        Keys of the noise, see `crucial.kernels.elementary`; row i of permutation k gets the
        number of place i under the key ``mix(key + k + 1)``.
    row_start : int array of shape (n_queries + 1,)
    pi, curvature : arrays of shape (n_rows,)  # OUT
    loss : array of shape (n_queries,)  # OUT
    """
    longest = 0
    for q in range(first_query, last_query):
        longest = max(longest, row_start[q + 1] - row_start[q])
    noisy = np.empty(longest)
    grown = np.empty(longest)
    key = np.empty(longest)
    row = np.empty(longest, np.int64)
    spare = np.empty(longest)
    spare_row = np.empty(longest, np.int64)
    for q in range(first_query, last_query):
        begin = row_start[q]
        size = row_start[q + 1] - begin
        low = scores[begin]
        high = scores[begin]
        for i in range(begin, begin + size):
            low = min(low, scores[i])
            high = max(high, scores[i])
            pi[i] = 0.0
            curvature[i] = 0.0
        narrow = high - low <= NARROW
        for p in range(size):
            grown[p] = exp(scores[begin + p] - 0.5 * (low + high)) if narrow else 1.0
        paid = 0.0
        for number in range(permutations):
            own = mix(keys[q] + np.uint64(number + 1))
            for p in range(size):
                z = uniform(own, p) + 0.5 * UNIT  # (not 0)
                if narrow:  # (exponentials have the same order)
                    noisy[p] = grown[p] * z / (1.0 - z)
                else:
                    noisy[p] = scores[begin + p] + log(z) - log1p(-z)
            order_falling(noisy, 0, size, key, row, spare, spare_row)
            decayed = 1.0 / permutations
            for p in range(size - 1):
                i = begin + row[p]
                j = begin + row[p + 1]
                gap = worth[i] - worth[j]
                if gap != 0.0:
                    if narrow:
                        one, other = grown[row[p]], grown[row[p + 1]]
                    else:
                        distance = scores[i] - scores[j]
                        one = 1.0 if distance > 0.0 else exp(distance)
                        other = exp(-distance) if distance > 0.0 else 1.0
                    whole = 1.0 / (one + other)
                    w = decayed * abs(gap) * weight[i] * weight[j]
                    amount = w * (other if gap > 0.0 else one) * whole
                    bend = w * (one * whole) * (other * whole)
                    signed = amount if gap > 0.0 else -amount
                    pi[i] += signed
                    pi[j] -= signed
                    curvature[i] += bend
                    curvature[j] += bend
                    paid += amount
                decayed *= decay
        for i in range(begin, begin + size):
            pi[i] *= coefficient[q]
            curvature[i] *= coefficient[q]
        loss[q] = paid
