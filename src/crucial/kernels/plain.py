"""Kernels in NumPy for small problems: pairs, stumps, exact sums.

Every function has the name and meaning of its twin in ``compiled`` (`FeatureSums` has two in
one, and keeps from round to round what both use). Sums run in the same order there
(``np.bincount`` and ``np.cumsum`` add one after the other), so the bytes are the same wherever
no transcendental function is involved.

Rows of label feedback are ordered as in `crucial.kernels.runtime.Levels`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from crucial.kernels.elementary import exp, log, logaddexp
from crucial.kernels.predict import run_starts
from crucial.kernels.runtime import Levels
from crucial.types import Bools, Bytes, Codes, Floats, Ints

# --- Sums over pairs that are never listed


def _accumulated(add: Callable[..., Floats], terms: NDArray[np.number]) -> Floats:
    if isinstance(add, np.ufunc):
        return np.asarray(add.accumulate(terms, axis=0))
    return np.array(list(accumulate(terms.tolist(), add)))


def _below(
    sums: NDArray[np.number],
    gap: Floats,
    query_first: Ints,
    add: Callable[..., Floats],
    multiply: np.ufunc,
    zero: float,
) -> Floats:
    """Sums over the lower levels of each query, in numbers or in their logarithms."""
    out = np.full(sums.shape, zero)
    gap = gap.reshape(-1, *(1,) * (sums.ndim - 1))
    sizes = np.diff(query_first)
    deepest = int(sizes.max(initial=0))
    if len(sizes) <= deepest:  # few deep queries: one after the other
        for a, b in pairwise(query_first.tolist()):
            cumulative = _accumulated(add, sums[a : b - 1])
            if len(gap):
                cumulative = _accumulated(add, multiply(gap[a + 1 : b], cumulative))
            out[a + 1 : b] = cumulative
        return out
    cumulative = np.full((len(sizes), *sums.shape[1:]), zero)
    total = cumulative.copy() if len(gap) else cumulative
    for level in range(1, deepest):  # many shallow queries: level after level
        live = np.flatnonzero(sizes > level)
        at = query_first[live] + level
        cumulative[live] = add(cumulative[live], sums[at - 1])
        if len(gap):
            total[live] = add(total[live], multiply(gap[at], cumulative[live]))
        out[at] = total[live]
    return out


def _from_above(gap: Floats, query_first: Ints) -> tuple[Floats, Ints]:
    """Gaps and queries, as they are for segments in the opposite order."""
    if len(gap):
        gap = np.concatenate(([0.0], gap[:0:-1]))
    return gap, (query_first[-1] - query_first)[::-1]


def sums_below(sums: NDArray[np.number], gap: Floats, query_first: Ints) -> Floats:
    """Return, for every segment, the sum over the lower levels of its query.

    Each level counts times the difference of gains, or times 1 where ``gap`` has length 0.
    ``sums`` may have further dimensions.
    """
    return _below(sums, gap, query_first, np.add, np.multiply, 0.0)


def sums_above(sums: NDArray[np.number], gap: Floats, query_first: Ints) -> Floats:
    """Return, for every segment, the sum over the higher levels of its query."""
    return sums_below(sums[::-1], *_from_above(gap, query_first))[::-1]


def logs_below(sums: Floats, log_gap: Floats, query_first: Ints) -> Floats:
    """Return `sums_below` of logarithms, as logarithms."""
    return _below(sums, log_gap, query_first, logaddexp, np.add, -np.inf)


def logs_above(sums: Floats, log_gap: Floats, query_first: Ints) -> Floats:
    """Return `sums_above` of logarithms, as logarithms."""
    return logs_below(sums[::-1], *_from_above(log_gap, query_first))[::-1]


def potentials(
    up: Floats,
    down: Floats,
    gap: Floats,
    coefficient: Floats,
    sign: float,
    levels: Levels,
    pi: Floats,
    loss: Floats,
) -> None:
    """Write what every row wins, and loses times a sign, and the loss of every query.

    Equivalent to, and much faster than: for every pair of rows (lo, hi) of one query
    with a higher label for hi, let ``d = (gain_hi - gain_lo) * up[lo] * down[hi]``, add
    ``coefficient * d`` to ``pi[hi]``, take it from ``pi[lo]``, add ``d`` to ``loss``.

    Parameters
    ----------
    up, down : arrays of shape (n_rows,)
        ``u e^{H}`` and ``u e^{-H}``.
    gap : array of shape (n_segments,) or (0,)
        Gain of a level minus gain of the level below it in the query; empty: all pairs
        count the same.
    coefficient : array of shape (n_queries,)
    sign : float
        -1 for potentials, 1 for the second derivative of the loss by the scores.
    pi, loss : arrays of shape (n_rows,) and (n_queries,)  # OUT
    """
    segment = levels.segment_of_row
    query = levels.query_of_segment
    n = len(segment)
    n_segments = levels.n_segments
    below = sums_below(np.bincount(segment, up[:n], n_segments), gap, levels.query_first)
    above = sums_above(np.bincount(segment, down[:n], n_segments), gap, levels.query_first)
    positive = down[:n] * below[segment]
    row_query = query[segment]
    loss[:] = np.bincount(row_query, positive, len(loss))
    pi[:n] = coefficient[row_query] * (positive + sign * up[:n] * above[segment])
    pi[n:] = 0.0


def log_halves(
    scores: Floats,
    log_weight: Floats,
    log_gap: Floats,
    levels: Levels,
    positive: Floats,
    negative: Floats,
    log_loss: Floats,
) -> None:
    """Write the logarithms of what every row wins and loses, and of the loss of every query.

    The two halves of `potentials`, for scores whose exponentials overflow. Stable because every
    sum has positive terms only and carries its own maximum.

    Parameters
    ----------
    positive, negative : arrays of shape (n_rows,)  # OUT
    log_loss : array of shape (n_queries,)  # OUT
    """
    segment = levels.segment_of_row
    n = len(segment)
    up = log_weight[:n] + scores[:n]
    down = log_weight[:n] - scores[:n]
    below = logs_below(log_sums(up, levels.level_start), log_gap, levels.query_first)
    above = logs_above(log_sums(down, levels.level_start), log_gap, levels.query_first)
    positive[:] = down + below[segment]
    negative[:] = up + above[segment]
    log_loss[:] = -np.inf
    won, first = log_sums(positive, levels.level_start), levels.query_first
    for level in range(levels.deepest):  # (level after level, as the compiled kernel adds)
        live = np.flatnonzero(np.diff(first) > level)
        log_loss[live] = logaddexp(log_loss[live], won[first[live] + level])


def log_shift(log_loss: Floats, coefficient: Floats, top: float | None = None) -> Floats:
    """Return what to subtract from the exponents of each query.

    The largest loss of the queries that count; for a query that does not, enough to
    keep its own exponentials from overflowing.

    Parameters
    ----------
    top : float, optional
        The largest loss, where these queries are some of many.
    """
    counts = coefficient > 0
    largest = log_loss[counts].max(initial=-np.inf) if top is None else top
    return np.where(counts, largest, np.maximum(log_loss, 0.0))


def log_sums(values: Floats, starts: Ints) -> Floats:
    """Return the logarithm of the sum of exponentials of every slice."""
    top = np.maximum.reduceat(values, starts[:-1])
    safe = np.where(np.isfinite(top), top, 0.0)
    sizes = np.diff(starts)
    inner = exp(values - np.repeat(safe, sizes))
    return safe + log(np.bincount(np.repeat(np.arange(len(sizes)), sizes), inner, len(sizes)))


def binary_weights(
    up: Floats, down: Floats, gap: Floats, coefficient: Floats, output: Bytes, levels: Levels
) -> Floats:
    """Return the weight of the pairs that a {0, 1} ranker orders right, and wrong, per query.

    Equivalent to, and much faster than: adding ``coefficient * (gain_hi - gain_lo) *
    up[lo] * down[hi]`` over the pairs with output 1 for hi and 0 for lo, or the reverse.
    """
    segment = levels.segment_of_row
    n = len(segment)
    n_segments = levels.n_segments
    one = output[:n].astype(bool)
    query, n_queries = levels.query_of_segment, levels.n_queries
    zero_up = sums_below(np.bincount(segment, up[:n] * ~one, n_segments), gap, levels.query_first)
    one_up = sums_below(np.bincount(segment, up[:n] * one, n_segments), gap, levels.query_first)
    one_down = np.bincount(segment, down[:n] * one, n_segments)
    zero_down = np.bincount(segment, down[:n] * ~one, n_segments)
    right = np.bincount(query, one_down * zero_up, n_queries)
    wrong = np.bincount(query, zero_down * one_up, n_queries)
    return np.stack((coefficient * right, coefficient * wrong), axis=1)


def wrong_weights(
    up: Floats,
    down: Floats,
    gap: Floats,
    coefficient: Floats,
    inverse: float,
    codes: Codes,
    n_bins: int,
    missing_rank: int,
    levels: Levels,
    wrong: Ints,
) -> None:
    """Write the weight of wrongly ordered pairs for every threshold of one feature.

    ``wrong[k]`` belongs to the stump that is 1 for codes of ``k`` and more (and for the
    abstaining rows, code ``n_bins``, if ``missing_rank`` is 1), ``k = 0..n_bins``. It is a whole
    number of units, of which a weight of 1 has ``inverse``: sums over queries are exact.

    Equivalent to, and much faster than: `binary_weights` for every ``k``.
    """
    segment = levels.segment_of_row
    n = len(segment)
    n_segments = levels.n_segments
    width = n_bins + 2
    # Position 0: abstaining and ranked below all; n_bins + 1: abstaining, above all.
    place = codes[:n].astype(np.int64) + 1
    if not missing_rank:
        place[place == n_bins + 1] = 0
    cell = segment * width + place
    size = n_segments * width
    up_table = np.bincount(cell, up[:n], size).reshape(n_segments, width)
    down_table = np.bincount(cell, down[:n], size).reshape(n_segments, width)
    ones_up = np.cumsum(up_table[:, ::-1], axis=1)[:, ::-1][:, 1:]  # [s, k]: place > k
    zeros_down = np.cumsum(down_table, axis=1)[:, :-1]  # [s, k]: place <= k
    weight = coefficient[levels.query_of_segment] * inverse
    below = sums_below(ones_up, gap, levels.query_first)
    wrong[:] = np.rint(weight[:, None] * zeros_down * below).astype(np.int64).sum(axis=0)


def advance_binary(
    output: Bytes,
    alpha: float,
    grow: float,
    shrink: float,
    scores: Floats,
    up: Floats,
    down: Floats,
) -> None:
    """Add alpha to the scores of rows with output 1; multiply their ``up`` and ``down``.

    ``grow`` and ``shrink`` are ``exp(alpha)`` and ``exp(-alpha)``, or 1 once the scores
    have outgrown the exponentials.
    """
    one = output.view(bool)
    n = len(one)
    scores[:n][one] += alpha
    up[:n][one] *= grow
    down[:n][one] *= shrink


# --- Counting ordered pairs without making them; see `crucial.kernels.pairs`


def running(values: Floats, starts: Ints, whole: bool) -> Floats:
    """Return the sum of the earlier values of the same run, for every value.

    Parameters
    ----------
    values : array of shape (n_values,)
    starts : int array of shape (n_runs + 1,)
        Run ``r`` is ``values[starts[r]:starts[r + 1]]``, possibly empty.
    whole : bool
        All values are whole numbers, of which differences of sums lose nothing.
    """
    sizes = np.diff(starts)
    if whole:
        before = np.cumsum(values) - values
        first = np.append(before, 0.0)[starts[:-1]]
        return np.asarray(before - np.repeat(first, sizes))
    out = np.zeros_like(values)
    power = np.frexp(sizes)[1]
    for p in np.unique(power):
        runs = np.flatnonzero(power == p)
        within = np.arange(sizes[runs].max())
        valid = within < sizes[runs, None]
        at = np.where(valid, starts[runs, None] + within, 0)
        summed = np.cumsum(np.where(valid, values[at], 0.0), axis=1)
        later = valid[:, 1:]
        out[at[:, 1:][later]] = summed[:, :-1][later]
    return out


def count_pairs(
    level: Ints, weight: Floats | None, block_starts: Ints, list_blocks: Ints
) -> Floats:
    """Return the weights of concordant, discordant and tied pairs, O(n log levels).

    One pass per bit of the level. Two different levels part at exactly one bit, counted from
    the top. Items that agree on the higher bits form a node, in ranked order; each pass counts
    the pairs of a node that part at this bit, then splits it, ranked order kept.
    """
    n_lists = len(list_blocks) - 1
    counts = np.zeros((n_lists, 3))
    if len(level) == 0:
        return counts
    block = np.repeat(np.arange(len(block_starts) - 1), np.diff(block_starts))
    node = np.repeat(np.arange(n_lists), np.diff(block_starts[list_blocks]))
    lists, whole = node, weight is None
    weight = np.ones(len(level)) if weight is None else weight
    for shift in reversed(range(int(level.max()).bit_length())):
        upper = (level >> shift) & 1
        first = run_starts(node, block)
        up = np.add.reduceat(weight * upper, first)
        low = np.add.reduceat(weight * (1 - upper), first)
        nodes = np.append(run_starts(node[first]), len(first))
        found = (low * running(up, nodes, whole), up * running(low, nodes, whole), up * low)
        for kind, pairs in enumerate(found):
            counts[:, kind] += np.bincount(lists[first], pairs, minlength=n_lists)
        if shift:
            node = 2 * node + upper
            order = np.argsort(node, kind="stable")
            node, block, lists = node[order], block[order], lists[order]
            level, weight = level[order], weight[order]
    return counts


# --- Search the stumps of binned features


class FeatureSums:
    """Histograms and slopes of the same features, round after round.

    Parameters
    ----------
    codes : array of shape (n_features, n_rows)
    features : int array
        The features to scan.
    first : int array of shape (n_features + 1,)
        Where the bins of a feature begin; its last bin is for abstentions.
    has_missing : bool array of shape (n_features,)
    fixed_default : int
        Rank of abstentions, 0 or 1, or -1 where both are to be tried.
    """

    def __init__(
        self, codes: Codes, features: Ints, first: Ints, has_missing: Bools, fixed_default: int
    ) -> None:
        self._features = features
        self._plan_histogram(codes, features, first)
        # One row per feature, as wide as the widest; places beyond its bins are 0.
        start = first[features][:, None]
        n_bins = first[features + 1][:, None] - start - 1
        missing = has_missing[features][:, None]
        k = np.arange(int(n_bins.max(initial=0)) + 1)
        self._inside, self._ranked = k <= n_bins, k < n_bins
        self._at = np.where(self._inside, start + k, 0)
        self._absent = (start + n_bins)[:, 0]
        self._low = self._ranked & ((k > 0) | missing) & (~missing | (fixed_default != 1))
        self._high = self._inside & (k > 0) & missing & (fixed_default != 0)
        self._written = self._at[self._inside]

    def _plan_histogram(self, codes: Codes, features: Ints, first: Ints) -> None:
        """Order the rows of every feature by code: a bin is then one stretch of them."""
        place = codes[features].astype(np.int64) + first[features][:, None]
        order = np.argsort(place, axis=1, kind="stable")
        placed = np.take_along_axis(place, order, axis=1).ravel()
        self._order = order.ravel()
        begins = np.flatnonzero(np.diff(placed, prepend=-1))
        self._begins, self._filled = begins, placed[begins]
        widths = first[features + 1] - first[features]
        inside = np.arange(int(widths.sum())) - np.repeat(np.cumsum(widths) - widths, widths)
        self._out = np.repeat(first[features], widths) + inside

    def histogram(self, fixed: Ints, out: Ints) -> None:
        """Write the sum of potentials per bin, both whole numbers of a unit.

        ``out[first[f] + b]`` becomes the sum of ``fixed`` over rows with code ``b`` in feature
        ``f``.
        """
        out[self._out] = 0
        if len(self._begins):
            out[self._filled] = np.add.reduceat(fixed[self._order], self._begins)

    def slopes(self, hist: Ints, factor: float, signed: bool, slope: Floats, peak: Floats) -> None:
        """Write the slope r of every candidate stump, and the best of each feature.

        Parameters
        ----------
        hist : int64 array of shape (first[-1],)
            Potentials per bin, as whole numbers of a unit.
        factor : float
            What a unit is worth.
        signed : bool
            Whether only the largest r counts, or the largest magnitude.
        slope : array of shape (2, first[-1])  # OUT
            ``slope[d, first[f] + k]``: ones are codes of k and more, abstentions rank d.
            0 where that stump is constant or has another default. A feature that never abstains
            has its stumps in row 0.
        peak : array of shape (n_features,)  # OUT
            At least 0.
        """
        values = np.where(self._ranked, hist[self._at], 0)
        total = np.cumsum(values[:, ::-1], axis=1)[:, ::-1]
        low = np.where(self._low, total * factor, 0.0)
        high = np.where(self._high, (total + hist[self._absent][:, None]) * factor, 0.0)
        slope[0, self._written], slope[1, self._written] = low[self._inside], high[self._inside]
        if not signed:
            low, high = np.abs(low), np.abs(high)
        best = np.maximum(low.max(axis=1, initial=0.0), high.max(axis=1, initial=0.0))
        peak[self._features] = best


def drop_bounds(
    slope: Floats,
    offered: Bools,
    drift: Floats,
    wrong: Floats,
    right: Floats,
    change: Floats,
    first: Ints,
    features: Ints,
    reach: Floats,
) -> None:
    """Write a lower bound of the Z that the stumps of each feature can reach.

    With ``s = W+ + W-``, ``Z = 1 - s + sqrt(s^2 - r^2)``: it is smallest where r is as large
    and s as small as they may be. r may be off by ``drift``, but by no more than W+ and W-
    are. These were ``right`` and ``wrong`` when the feature was last scanned, and ``change``
    says what the steps since then can have made of them.

    Parameters
    ----------
    slope, offered, wrong, right : arrays of shape (2, first[-1])
    drift : array of shape (n_features,)
        Infinite where nothing is known.
    change : array of shape (5, n_features)
        Of any weight W since the scan, a sum over some pairs: it is now at least
        ``change[0] W`` and ``change[2] W - change[3]``, and at most ``change[1] W`` and
        ``change[2] W + change[4]``.
    reach : array of shape (n_features,)  # OUT
        Infinite where the feature has no stump on offer.
    """
    for f in features:
        part = np.s_[:, first[f] : first[f + 1]]
        if np.isinf(drift[f]):
            reach[f] = -np.inf
            continue
        shrink, grow, scale, lost, won = change[:, f]
        w = np.maximum(wrong[part] * shrink - 1e-13, 0.0)
        v = np.maximum(right[part] * shrink - 1e-13, 0.0)
        up, down = drift[f] + slope[part], drift[f] - slope[part]
        if drift[f] > 0.0 and won < np.inf:
            # (a weight that was taken for 0 may have been a little more)
            most = right[part] + 1e-13
            up = np.minimum(up, np.minimum(most * grow, most * scale + won) - w + 1e-13)
            most = wrong[part] + 1e-13
            down = np.minimum(down, np.minimum(most * grow, most * scale + won) - v + 1e-13)
        apart = (wrong[part] + right[part]) * scale - lost - 1e-13
        largest = np.zeros_like(w)
        for other, gain in ((w, up), (v, down)):
            r = np.maximum(gain, 0.0)
            s = np.maximum(apart, 2.0 * other + r)
            drop = np.divide(
                r * r, s + np.sqrt((s - r) * (s + r)), out=np.zeros_like(r), where=r > 0
            )
            largest = np.maximum(largest, drop)
        reach[f] = np.where(offered[part], 1.0 - largest, np.inf).min()


def drops(
    slope: Floats, offered: Bools, snap: float, wrong: Floats, right: Floats, z: Floats
) -> float:
    """Write Z of the stumps of a feature from their slopes and W-; return the lowest.

    Parameters
    ----------
    slope, offered : arrays over the stumps
    snap : float
        Weights below are 0.
    wrong : array over the stumps
        W-  # IN and OUT
    right, z : arrays over the stumps
        W+, and Z where the stump is on offer  # OUT
    """
    wrong[wrong < snap] = 0.0
    right[:] = wrong + slope
    none_right = right < snap
    right[none_right] = 0.0
    wrong[none_right] = np.maximum(-slope[none_right], 0.0)
    z[offered] = np.maximum(1.0 - right - wrong + 2.0 * np.sqrt(right * wrong), 0.0)[offered]
    return float(z[offered].min(initial=np.inf))
