"""The kernels of ``compiled.splits`` in NumPy: the best split of every cell of a tree."""

import numpy as np

from crucial.types import Floats

__all__ = ["peaks", "places"]


def peaks(
    codes, n_bins, rows, starts, good, weight, scale, features, gini, learned, begin, end, peak
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
    if begin == end:
        return
    for cell in range(len(starts) - 1):
        slots = features[cell, begin:end]
        table = _histograms(codes, n_bins, rows, starts, good, weight, cell, slots)
        found = _criteria(table, n_bins[slots], scale[cell], gini)
        peak[cell, begin:end] = found[:, : 1 + learned].max(axis=(1, 2))


def places(
    codes,
    n_bins,
    rows,
    starts,
    good,
    weight,
    scale,
    chosen,
    least,
    gini,
    learned,
    place,
    above,
    missing,
):
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
    for cell in range(len(starts) - 1):
        if chosen[cell] < 0:
            continue
        slots = chosen[cell : cell + 1]
        table = _histograms(codes, n_bins, rows, starts, good, weight, cell, slots)
        found = _criteria(table, n_bins[slots], scale[cell], gini, signed=True)[0]
        # In order: above, above with abstentions, below, below with abstentions.
        options = found if gini else np.stack([found[0], found[1], -found[1], -found[0]])
        if gini:
            options = np.concatenate([options, np.full_like(options, -1.0)])
        if not learned:
            options[1:3] = -1.0
        at = int(np.argmax((options >= least[cell]).T.ravel()))
        place[cell], kind = divmod(at, 4)
        above[cell] = kind < 2
        missing[cell] = kind % 2 == 1


def _histograms(codes, n_bins, rows, starts, good, weight, cell, slots):
    """Return the weight per slot, side (not good, good) and code."""
    inside = slice(int(starts[cell]), int(starts[cell + 1]))
    width = int(n_bins[slots].max()) + 1
    side = good[inside].astype(np.int64) * width
    first = np.arange(len(slots))[:, None] * (2 * width)
    at = codes[slots[:, None], rows[inside]] + side + first
    values = np.broadcast_to(weight[inside], at.shape)
    size = 2 * width * len(slots)
    table = np.bincount(at.ravel(), values.ravel(), size).astype(np.float64, copy=False)
    return table.reshape(-1, 2, width)


def _criteria(table, n_bins, scale, gini, signed=False):
    """Return the criterion per slot, side of abstentions (below, above) and first code above."""
    slots, width = np.arange(len(table)), table.shape[2]
    absent = table[slots, :, n_bins] * scale
    table = table.copy()
    table[slots, :, n_bins] = 0.0
    up = np.cumsum(table[:, :, ::-1], axis=2)[:, :, ::-1] * scale[:, None]
    # (the last column is the abstentions of the widest feature, and so 0)
    up = up[:, :, : max(width - 1, 1)]
    both = np.stack([up, up + absent[:, :, None]], axis=1)
    # Beyond the bins of a feature there is no split: abstentions alone are split at code 0.
    there = np.arange(up.shape[2]) < np.maximum(n_bins, 1)[:, None, None]
    if not gini:
        found = np.where(there, both[:, :, 1] - both[:, :, 0], 0.0)
        return found if signed else np.abs(found)
    total = up[:, :, :1] + absent[:, :, None]
    down = total[:, None] - both
    parent = _impurity(total[:, 0], total[:, 1])[:, None]
    above, below = _impurity(both[:, :, 0], both[:, :, 1]), _impurity(down[:, :, 0], down[:, :, 1])
    return np.where(there, parent - above - below, 0.0)


def _impurity(bad: Floats, good: Floats) -> Floats:
    bad, good = np.maximum(bad, 0.0), np.maximum(good, 0.0)
    total = bad + good
    return np.divide(bad * good, total, out=np.zeros_like(total), where=total > 0.0)
