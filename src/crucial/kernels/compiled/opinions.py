"""RankBoost over columns of which most cells abstain, whole ensembles in one call.

The same choices as `crucial.weak.stumps.StumpLearner` with ``choice="steepest"``, the bound
step and cumulative weights; a property test compares the two. Only stored cells are visited, and
no round returns to Python: thousands of small ensembles are learned one after the other.
"""

from __future__ import annotations

import numpy as np

from crucial.kernels.compiled.elementary import exp, log
from crucial.kernels.compiled.logs import log_add
from crucial.kernels.jit import kernel

__all__ = ["boost_opinions"]


@kernel
def _log_sum(values, sign, first, last):
    """Return ``log(sum(exp(sign * values)))`` over a range."""
    top = -np.inf
    for i in range(first, last):
        top = max(top, sign * values[i])
    total = 0.0
    for i in range(first, last):
        total += exp(sign * values[i] - top)
    return top + log(total)


@kernel
def _potentials(scores, level_start, pi):
    """Write the potentials of rows sorted by label; they sum to 0, the positive parts to 1.

    ``pi(x)`` is in proportion to ``e^-H(x) sum_below e^H - e^H(x) sum_above e^-H``. In
    logarithms, since scores may be large where every pair is in order.
    """
    n_levels = len(level_start) - 1
    below = -np.inf
    top = -np.inf
    for level in range(n_levels):
        a, b = level_start[level], level_start[level + 1]
        for i in range(a, b):
            pi[i] = below - scores[i]
            top = max(top, pi[i])
        below = log_add(below, _log_sum(scores, 1.0, a, b))
    total = 0.0
    for i in range(len(scores)):
        pi[i] = exp(pi[i] - top)
        total += pi[i]
    above = -np.inf
    for level in range(n_levels - 1, -1, -1):
        a, b = level_start[level], level_start[level + 1]
        for i in range(a, b):
            pi[i] = (pi[i] - exp(above + scores[i] - top)) / total
        above = log_add(above, _log_sum(scores, -1.0, a, b))


@kernel
def _step(r, smoothing, snap):
    """Return the weight of method 3, ``.5 ln((1 + r) / (1 - r))``, smoothed in a perfect round."""
    r = min(1.0, max(-1.0, r))
    right, wrong = (1.0 + r) / 2.0, (1.0 - r) / 2.0
    if right < snap or wrong < snap:
        right, wrong = right + smoothing, wrong + smoothing
    return 0.5 * log(right / wrong)


@kernel
def _worth(r, total, smoothing, snap):
    """Return ``|r|`` if the summed weight stays positive after such a step, else 0."""
    if r > 0.0:
        return r
    if total > 0.0 and total + _step(r, smoothing, snap) > 0.0:
        return -r
    return 0.0


@kernel
def boost_opinions(
    row, bin_start, first_bin, level_start, smoothing, snap, tie, slack, noise, place, weights
):
    """Learn an ensemble of stumps with positive cumulative weights; return its rounds.

    Parameters
    ----------
    row : int array
        Rows of all entries, by column and by value in it; rows are sorted by label.
    bin_start : int array
        Entries of bin b, one distinct value of one column: ``bin_start[b]:bin_start[b + 1]``.
    first_bin : int array
        Bins of column f: ``first_bin[f]:first_bin[f + 1]``, lowest value first.
    level_start : int array
        Rows of each label, lowest first.
    smoothing, snap : float
        Of the step rule.
    tie, slack, noise : float
        Of the tie rule: a stump worth ``best * (1 - tie) - slack`` or more ties with the best.
    place : int array of shape (rounds, 3)
        OUT: column, number of bins below the threshold, default.
    weights : float array of shape (rounds,)
        OUT.
    """
    n_rows = level_start[-1]
    n_columns = len(first_bin) - 1
    n_places = first_bin[-1] + n_columns  # (a threshold below each bin, and one above all)
    slope = np.zeros((n_places, 2))
    total = np.zeros((n_places, 2))  # weight of each stump so far
    worth = np.zeros((n_places, 2))
    scores = np.zeros(n_rows)
    pi = np.zeros(n_rows)
    for done in range(len(place)):
        _potentials(scores, level_start, pi)
        best = 0.0
        for f in range(n_columns):
            bottom, top = first_bin[f], first_bin[f + 1]
            at = bottom + f
            abstains = bin_start[top] - bin_start[bottom] < n_rows
            above = 0.0
            for b in range(top - 1, bottom - 1, -1):
                inside = 0.0
                for e in range(bin_start[b], bin_start[b + 1]):
                    inside += pi[row[e]]
                above += inside
                slope[at + b - bottom, 0] = above
            for k in range(top - bottom + 1):
                for default in range(2):
                    offered = (k > 0 or abstains) and k < top - bottom
                    if default == 1:
                        offered = k > 0 and abstains
                        slope[at + k, 1] = slope[at + k, 0] - above  # (potentials sum to 0)
                    if offered:
                        worth[at + k, default] = _worth(
                            slope[at + k, default], total[at + k, default], smoothing, snap
                        )
                        best = max(best, worth[at + k, default])
        if not best > noise:
            return done
        least = best * (1.0 - tie) - slack
        found, found_default = -1, 0
        for p in range(n_places):
            for default in range(2):
                if worth[p, default] >= least and worth[p, default] > 0.0:
                    rising = slope[p, default] > 0.0
                    if found < 0 or rising:
                        found, found_default = p, default
                    if rising:
                        break
            if found >= 0 and slope[found, found_default] > 0.0:
                break
        if found < 0:  # (only numbers that are not finite come here)
            return done
        alpha = _step(slope[found, found_default], smoothing, snap)
        if alpha == 0.0:
            return done
        f = 0
        while first_bin[f + 1] + f + 1 <= found:
            f += 1
        k = found - first_bin[f] - f
        total[found, found_default] += alpha
        cut = bin_start[first_bin[f] + k]
        # A constant moves no rank: with the abstentions at 1, what is below loses instead.
        if found_default == 0:
            for e in range(cut, bin_start[first_bin[f + 1]]):
                scores[row[e]] += alpha
        else:
            for e in range(bin_start[first_bin[f]], cut):
                scores[row[e]] -= alpha
        place[done, 0], place[done, 1], place[done, 2] = f, k, found_default
        weights[done] = alpha
    return len(place)
