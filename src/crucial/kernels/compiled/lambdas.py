"""Logistic pairs weighted by how much a measure changes when both rows swap their positions.

LambdaMART (Burges 2010). Rows are ordered by falling score; rows of equal score in the order in
which they lie, which is by rising label: the worst first. Rows of the same score and worth have
their mean weight while pairs are summed up, and then share what they got by their own weights,
so that the order of equal rows changes nothing.

The change of a measure is ``|worth_i - worth_j| (a_i - a_j) inverse`` for positions i < j, where
a are the worths of the places, see `_worths_of_places`.

Where the scores of a query lie within `NARROW` of each other, ``e^score`` is known for every
row and a pair costs one division; elsewhere it costs an exponential.
"""

from __future__ import annotations

import numpy as np

from crucial.kernels.compiled.elementary import exp, log2
from crucial.kernels.compiled.sorting import order_falling
from crucial.kernels.jit import kernel

__all__ = ["lambda_sums"]

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
    scores,
    worth,
    weight,
    coefficient,
    inverse,
    discount,
    how,
    row_start,
    first_query,
    last_query,
    pi,
    curvature,
    value,
):
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
