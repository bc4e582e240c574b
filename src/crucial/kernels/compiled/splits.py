"""The best split of every cell of a tree."""

from __future__ import annotations

import numpy as np

from crucial.kernels.jit import kernel

__all__ = ["peaks", "places"]


@kernel
def _fill(codes, rows, good, weight, begin, end, n_bins, hist):
    """Add up the weights per side and code of one feature."""
    for k in range(n_bins + 1):
        hist[0, k] = 0.0
        hist[1, k] = 0.0
    for i in range(np.uint64(begin), np.uint64(end)):
        hist[np.uint64(good[i]), np.uint64(codes[np.uint64(rows[i])])] += weight[i]


@kernel
def _impurity(bad, good):
    bad = max(bad, 0.0)
    good = max(good, 0.0)
    total = bad + good
    return bad * good / total if total > 0.0 else 0.0


@kernel
def _decrease(parent, bad, good, all_bad, all_good):
    return parent - _impurity(bad, good) - _impurity(all_bad - bad, all_good - good)


@kernel
def peaks(
    codes,
    n_bins,
    rows,
    starts,
    good,
    weight,
    scale,
    features,
    gini,
    learned,
    begin,
    end,
    peak,  # OUT
):
    """Write the largest criterion of the splits of each cell by each of its features.

    A split cuts a feature between two bins; abstentions go to either side. Its criterion is
    ``|TPR - FPR|`` of one side, or the decrease of the Gini impurity.

    Parameters
    ----------
    codes : unsigned array of shape (n_features, n_padded)
        Code ``n_bins[f]`` is an abstention.
    n_bins : int array of shape (n_features,)
    rows : uint32 array
        The rows of all cells, cell by cell.
    starts : int array of shape (n_cells + 1,)
    good : uint8 array like rows
        1 where the row should be on the left.
    weight : array like rows
        0 for rows that do not count.
    scale : array of shape (n_cells, 2)
        Factors on the weights of the rows that are not good, and of those that are.
    features : int array of shape (n_cells, n_slots)
        Features to try, ascending.
    gini : bool
        Which criterion.
    learned : bool
        Whether abstentions may go to either side; else they are below every threshold.
    begin, end : int
        Slots to work on.
    peak : array of shape (n_cells, n_slots)  # OUT
    """
    widest = 0
    for f in range(len(n_bins)):
        widest = max(widest, n_bins[f] + 1)
    hist = np.empty((2, widest))
    for cell in range(len(starts) - 1):
        s0 = scale[cell, 0]
        s1 = scale[cell, 1]
        for slot in range(begin, end):
            f = features[cell, slot]
            bins = n_bins[f]
            _fill(codes[f], rows, good, weight, starts[cell], starts[cell + 1], bins, hist)
            bad_absent = hist[0, bins] * s0
            good_absent = hist[1, bins] * s1
            bad = 0.0
            up = 0.0
            best = 0.0
            if gini:
                for k in range(bins):
                    bad += hist[0, bins - 1 - k]
                    up += hist[1, bins - 1 - k]
                all_bad = bad * s0 + bad_absent
                all_good = up * s1 + good_absent
                parent = _impurity(all_bad, all_good)
                bad = 0.0
                up = 0.0
                for j in range(bins):
                    bad += hist[0, bins - 1 - j]
                    up += hist[1, bins - 1 - j]
                    b = bad * s0
                    g = up * s1
                    best = max(best, _decrease(parent, b, g, all_bad, all_good))
                    if learned:
                        b += bad_absent
                        g += good_absent
                        best = max(best, _decrease(parent, b, g, all_bad, all_good))
            else:
                for j in range(bins):
                    bad += hist[0, bins - 1 - j]
                    up += hist[1, bins - 1 - j]
                    b = bad * s0
                    g = up * s1
                    best = max(best, abs(g - b))
                    if learned:
                        best = max(best, abs((g + good_absent) - (b + bad_absent)))
            peak[cell, slot] = best


@kernel
def places(
    codes, n_bins, rows, starts, good, weight, scale, chosen, least, gini, learned,
    place, above, missing,  # OUT
):  # fmt: skip
    """Write the first split of each cell, by its chosen feature, that reaches ``least``.

    Splits are in the order of thresholds; of one threshold, the values above it come first as
    the left side, and abstentions on the right side come before those on the left.

    Parameters
    ----------
    chosen : int array of shape (n_cells,)
        -1 where a cell is not split.
    least : array of shape (n_cells,)
    place : int array of shape (n_cells,)  # OUT
        The left or right side begins with this code; 0 splits present values from abstentions.
    above : bool array of shape (n_cells,)  # OUT
        Whether the codes from ``place`` on are the left side.
    missing : bool array of shape (n_cells,)  # OUT
        Whether abstentions are on the left side.
    """
    widest = 0
    for f in range(len(n_bins)):
        widest = max(widest, n_bins[f] + 1)
    hist = np.empty((2, widest))
    for cell in range(len(starts) - 1):
        f = chosen[cell]
        if f < 0:
            continue
        bins = n_bins[f]
        _fill(codes[f], rows, good, weight, starts[cell], starts[cell + 1], bins, hist)
        s0 = scale[cell, 0]
        s1 = scale[cell, 1]
        for k in range(bins - 2, -1, -1):
            hist[0, k] += hist[0, k + 1]
            hist[1, k] += hist[1, k + 1]
        bad_absent = hist[0, bins] * s0
        good_absent = hist[1, bins] * s1
        all_bad = hist[0, 0] * s0 + bad_absent
        all_good = hist[1, 0] * s1 + good_absent
        parent = _impurity(all_bad, all_good)
        enough = least[cell]
        for k in range(bins):
            b = hist[0, k] * s0
            g = hist[1, k] * s1
            kind = -1
            if gini:
                if _decrease(parent, b, g, all_bad, all_good) >= enough:
                    kind = 0
                elif learned and (
                    _decrease(parent, b + bad_absent, g + good_absent, all_bad, all_good) >= enough
                ):
                    kind = 1
            else:
                first = g - b
                second = (g + good_absent) - (b + bad_absent)
                if first >= enough:
                    kind = 0
                elif learned and second >= enough:
                    kind = 1
                elif learned and -second >= enough:
                    kind = 2
                elif -first >= enough:
                    kind = 3
            if kind >= 0:
                place[cell] = k
                above[cell] = kind < 2
                missing[cell] = kind % 2 == 1
                break
