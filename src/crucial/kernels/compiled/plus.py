"""The loops of RankBoost+ over pairs and stumps; see Connamacher et al. (2019).

Pairs lie by winner: those of row x are ``start[x]:start[x + 1]``, and ``low`` names their
losers. Every thread gets a range of rows or of features.
"""

from __future__ import annotations

import numpy as np

from crucial.kernels.jit import kernel

__all__ = ["column_sums", "pair_step", "pair_ties", "stump_sums"]


@kernel
def pair_step(start, low, output, factors, d, e, first_row, last_row, win, lose, sums):
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
    for l in range(len(lose)):
        lose[l] = 0.0
    total = 0.0
    other_total = 0.0
    tied_total = 0.0
    right_total = 0.0
    tied, wrong, right = factors[0, 0], factors[0, 1], factors[0, 2]
    other_tied, other_wrong, other_right = factors[1, 0], factors[1, 1], factors[1, 2]
    for x in range(first_row, last_row):
        ones = 0.0
        zeros = 0.0
        other_row = 0.0
        top = output[x] != 0
        # By the winner's output only two of the three cases are left.
        if top:
            one, zero, other_one, other_zero = tied, right, other_tied, other_right
        else:
            one, zero, other_one, other_zero = wrong, tied, other_wrong, other_tied
        for k in range(start[x], start[x + 1]):
            l = low[k]
            if output[l] != 0:
                weight = d[k] * one
                other = e[k] * other_one
                ones += weight
            else:
                weight = d[k] * zero
                other = e[k] * other_zero
                zeros += weight
            d[k] = weight
            e[k] = other
            other_row += other
            lose[l] += weight
        row = ones + zeros
        win[x] = row
        total += row
        other_total += other_row
        tied_total += ones if top else zeros
        right_total += zeros if top else 0.0
    sums[0] = total
    sums[1] = other_total
    sums[2] = tied_total
    sums[3] = right_total


@kernel
def pair_ties(start, low, d, used, size, first_row, last_row, tied):
    """Write the weight of the pairs that each ranker in use ties.

    Parameters
    ----------
    used : array of shape (n_rows, at least size)
        One column per ranker, of 0 and 1.
    tied : array of shape (size,)  # OUT
    """
    ones = np.zeros(size)
    tied[:] = 0.0
    for x in range(first_row, last_row):
        a, b = start[x], start[x + 1]
        if a == b:
            continue
        ones[:] = 0.0
        whole = 0.0
        for k in range(a, b):
            weight = d[k]
            whole += weight
            row = used[low[k]]
            # Ranker by ranker at once: no sum depends on another, so this needs no fastmath.
            for j in range(size):
                ones[j] += weight * row[j]
        here = used[x]
        for j in range(size):
            tied[j] += ones[j] if here[j] != 0.0 else whole - ones[j]


@kernel
def column_sums(values, columns, out):
    """Write the sum of values over the ones of every column.

    Row after row and not by BLAS, whose order of adding depends on the machine.

    Parameters
    ----------
    columns : array of shape (n_rows, at least size)
        Of 0 and 1.
    out : array of shape (size,)  # OUT
    """
    out[:] = 0.0
    for i in range(len(values)):
        value = values[i]
        row = columns[i]
        for j in range(len(out)):
            out[j] += value * row[j]


@kernel
def stump_sums(codes, n_rows, first, features, values, offered, out, peak):
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
    for f in features:
        a = first[f]
        n_bins = first[f + 1] - a - 1
        row = codes[f]
        hist = np.zeros(n_bins + 1)
        for i in range(n_rows):
            hist[row[i]] += values[i]
        total = 0.0
        best = 0.0
        for k in range(n_bins, -1, -1):
            if k < n_bins:
                total += hist[k]
            p = 2 * (a + k)
            low = total if offered[p] else 0.0
            high = total + hist[n_bins] if offered[p + 1] else 0.0
            out[p] = low
            out[p + 1] = high
            best = max(best, abs(low), abs(high))
        peak[f] = best
