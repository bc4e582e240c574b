"""Sums of the logistic loss over pairs: no prefix sums, every pair is visited.

``ln(1 + e^{-(H(hi) - H(lo))})`` does not fall apart into a factor for hi and one for lo, as the
exponential does, so a pass costs O(pairs). Every row is summed up for itself, so that rows can be
cut into ranges anywhere. Large queries are left to `crucial.kernels.logistic_grid`.

Scores may be any distance apart. ``shift`` is 0, or where every margin is positive a number c
that no margin is below: weights and losses come times ``e^c``, since by themselves they all
underflow once every margin is large.

Where the scores of every query lie within `NARROW` of each other, ``e^{H}`` is known for every
row and a pair costs one division; elsewhere it costs two exponentials.
"""

from __future__ import annotations

from crucial.kernels.compiled.elementary import exp, log1p
from crucial.kernels.jit import kernel

__all__ = ["logistic_along", "logistic_sums"]

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
