"""Scores of large batches and ranks inside queries, in Numba."""

from __future__ import annotations

import numpy as np

from crucial.kernels.compiled.elementary import exp, log
from crucial.kernels.compiled.sums import log_add, log_sum
from crucial.kernels.jit import kernel
from crucial.kernels.predict import MASK_BITS, PLACE_FACTOR, PLACE_SHIFT

# --- Scores of a large batch from the step functions of a model, in Numba


_ROWS = 256  # rows whose values of one feature, cells and scores stay in the first cache


@kernel
def add_steps(
    data, row_stride, column_stride, first, features, thresholds, starts, values, scores,
):  # fmt: skip
    """Sum the step functions of all features for consecutive rows.

    Equivalent to, and much faster than::

        for i in range(len(scores)):
            scores[i] = 0.0
            for u, j in enumerate(features):                # ascending
                x = float(data[(first + i) * row_stride + j * column_stride])
                ladder = thresholds[starts[u]:starts[u + 1]]
                cell = sum(x > t for t in ladder)           # 0 for NaN
                scores[i] += values[starts[u] + u + cell]

    Comparing a run of rows with one threshold after the other costs more comparisons
    than a binary search and is still several times faster, because it vectorises.

    Parameters
    ----------
    data : float32 or float64 array, contiguous
        The matrix's memory, in row or column order.
    row_stride, column_stride : int
        Steps, in elements, to the next row and to the next column.
    first : int
        Row that ``scores[0]`` belongs to.
    features, thresholds, starts, values
        As in `crucial.kernels.predict.StepTables`.
    """
    x = np.empty(_ROWS, np.float64)
    cell = np.empty(_ROWS, np.int64)
    n = len(scores)
    for begin in range(0, n, _ROWS):
        m = min(_ROWS, n - begin)
        for i in range(m):
            scores[begin + i] = 0.0
        for u in range(len(features)):
            origin = (first + begin) * row_stride + features[u] * column_stride
            for i in range(m):
                x[i] = data[origin + i * row_stride]
            for i in range(m):
                cell[i] = starts[u] + u
            for t in range(starts[u], starts[u + 1]):
                threshold = thresholds[t]
                for i in range(m):
                    cell[i] += x[i] > threshold
            for i in range(m):
                scores[begin + i] += values[cell[i]]


# --- Scores of rows from the trees of a model


_LINEAR = 64  # thresholds that are all compared, several rows at a time
_SHARED = 4  # levels of a tree that all rows walk together, whether at a leaf already or not

_ONE, _LOW, _WRAP = np.uint64(1), np.uint64(0xFFFF), np.uint64(0x10000)
_TO_BASE, _BASE = np.uint64(8), np.uint64(0xFFFF00)  # (256 times the slot)
_TO_LOST, _TO_LEFT, _LEFT, _TO_LEAF = map(np.uint64, (32, 33, 0x3FFFFFFF, 63))
_TO_SLOT, _NOT = np.uint64(16), np.uint64(0xFFFFFFFF)
_FACTOR, _SHIFT, _LAST = map(np.uint64, (PLACE_FACTOR, PLACE_SHIFT, MASK_BITS - 1))
_FULL = 32  # loops over a multiple of so many rows have no remainder, which would be slow


@kernel
def _write_cells(data, row_stride, column_stride, first, m, features, thresholds, starts, cells):
    """Write, for a few rows, the number of thresholds below each value: 0 where it is missing."""
    x = np.empty(_ROWS, np.float64)
    at = np.empty(_ROWS, np.uint64)
    for u in range(len(features)):
        origin = first * row_stride + features[u] * column_stride
        own = cells[u]
        begin = np.uint64(starts[u])
        left = starts[u + 1] - starts[u]
        for i in range(m):
            x[i] = data[origin + i * row_stride]
            own[i] = 0
            at[i] = begin
        if left <= _LINEAR:
            for t in range(starts[u], starts[u + 1]):
                threshold = thresholds[t]
                for i in range(m):
                    own[i] += x[i] > threshold
            continue
        # All rows halve the thresholds together, without branches to guess.
        while left > 1:
            half = np.uint64(left >> 1)
            for i in range(m):
                more = half if x[i] > thresholds[at[i] + half - _ONE] else np.uint64(0)
                at[i] += more
            left -= left >> 1
        for i in range(m):
            own[i] = at[i] - begin + np.uint64(x[i] > thresholds[at[i]])


@kernel
def _next(node, cells, i):
    """Return the node that a row goes to."""
    cell = np.uint64(cells[((node >> _TO_BASE) & _BASE) + i])
    right = ((_WRAP + cell - ((node >> _TO_LOST) & _ONE)) & _LOW) > (node & _LOW)
    return ((node >> _TO_LEFT) & _LEFT) + np.uint64(right)


@kernel
def _walk(nodes, root, depth, cells, m, at, rest):
    """Write the leaves that a few rows reach in one tree."""
    node = nodes[root]
    for i in range(m):
        at[i] = _next(node, cells, i)
    for _ in range(min(depth, _SHARED) - 1):
        for i in range(m):
            at[i] = _next(nodes[at[i]], cells, i)
    if depth <= _SHARED:
        return
    # Few rows go deeper. Each is written to the list, and counts if it is not at a leaf.
    left = np.uint64(0)
    for i in range(m):
        rest[left] = i
        left += _ONE - (nodes[at[i]] >> _TO_LEAF)
    while left > 0:
        kept = np.uint64(0)
        for j in range(left):
            i = rest[j]
            to = _next(nodes[at[i]], cells, i)
            at[i] = to
            rest[kept] = i
            kept += _ONE - (nodes[to] >> _TO_LEAF)
        left = kept


@kernel
def add_trees(
    data, row_stride, column_stride, first, features, thresholds, starts, nodes, values, roots,
    depths, scores,
):  # fmt: skip
    """Add the values of the leaves that consecutive rows reach, tree after tree.

    Parameters
    ----------
    data, row_stride, column_stride, first, features, thresholds, starts
        As in ``compiled.predict.add_steps``.
    nodes : uint64 array
        ``leaf << 63 | left << 33 | lost << 32 | slot << 16 | cut``: a row goes to ``left + 1``
        if its cell of the feature minus ``lost`` is greater than the cut, else to ``left``. The
        difference is taken in 16 bits: where ``lost`` is 1, cell 0 (missing) becomes the
        greatest. A leaf leads to itself.
    values : float64 array like nodes
        Of the leaves.
    roots, depths : int arrays, one entry per tree
    """
    cells = np.empty((len(features), _ROWS), np.uint16)
    flat = cells.ravel()
    at = np.empty(_ROWS, np.uint64)
    rest = np.empty(_ROWS, np.uint64)
    n = len(scores)
    for begin in range(0, n, _ROWS):
        m = min(_ROWS, n - begin)
        _write_cells(
            data, row_stride, column_stride, first + begin, m, features, thresholds, starts, cells
        )
        out = scores[begin : begin + m]
        for t in range(len(roots)):
            _walk(nodes, roots[t], depths[t], flat, np.uint64(m), at, rest)
            for i in range(m):
                out[i] += values[at[i]]


@kernel
def add_masked(
    data, row_stride, column_stride, first, features, thresholds, starts, tests, masks, roots,
    values, scores,
):  # fmt: skip
    """Add the values of the leaves that consecutive rows reach, by the leaves that tests exclude.

    Rows take all tests of a tree, and reach the one leaf that none of them excludes (after
    Lucchese et al., QuickScorer, SIGIR 2015). This vectorises over rows, as a walk does not.

    Parameters
    ----------
    data, row_stride, column_stride, first, features, thresholds, starts
        As in ``add_steps``.
    tests : uint64 array, one entry per node
        As in ``add_trees``, without the children.
    masks : uint32 array of shape (n_nodes, 2)
        The leaves excluded for rows that go right and left, as bits.
    roots : int array of shape (n_trees + 1,)
        Where the tests of a tree begin.
    values : float64 array of shape (n_trees * MASK_BITS,)
        Of the leaves; see ``leaf_places``.
    """
    cells = np.empty((len(features), _ROWS), np.uint16)
    gone = np.empty(_ROWS, np.uint32)
    n = len(scores)
    for begin in range(0, n, _ROWS):
        m = min(_ROWS, n - begin)
        full = (m + _FULL - 1) // _FULL * _FULL
        _write_cells(
            data, row_stride, column_stride, first + begin, m, features, thresholds, starts, cells
        )
        out = scores[begin : begin + m]
        for t in range(len(roots) - 1):
            for i in range(full):
                gone[i] = 0
            for k in range(roots[t], roots[t + 1]):
                own = cells[(tests[k] >> _TO_SLOT) & _LOW]
                cut, lost = tests[k] & _LOW, (tests[k] >> _TO_LOST) & _ONE
                if_right, if_left = masks[k, 0], masks[k, 1]
                for i in range(full):
                    right = (_WRAP + np.uint64(own[i]) - lost) & _LOW > cut
                    gone[i] |= if_right if right else if_left
            base = np.uint64(t * MASK_BITS)
            for i in range(m):
                place = ((np.uint64(gone[i]) ^ _NOT) * _FACTOR >> _SHIFT) & _LAST
                out[i] += values[base + place]


@kernel
def add_tables(
    data, row_stride, column_stride, first, features, thresholds, starts, one_slot, one_start,
    pair_slots, pair_maps, map_start, pair_start, pair_width, values, scores,
):  # fmt: skip
    """Add the entries of tables of one and of two features for consecutive rows.

    Parameters
    ----------
    one_slot, one_start : int arrays, one entry per feature with a table
        The feature, and where its table begins in ``values``.
    pair_slots : int array of shape (n_pairs, 2)
    pair_maps : uint16 array
        From the cell of a feature to the row or column of a table of a pair.
    map_start : int array of shape (n_pairs, 2)
        Where both maps of a pair begin.
    pair_start, pair_width : int arrays, one entry per pair
        Where the table of a pair begins in ``values``, and the length of its rows.
    """
    cells = np.empty((len(features), _ROWS), np.uint16)
    n = len(scores)
    for begin in range(0, n, _ROWS):
        m = min(_ROWS, n - begin)
        _write_cells(
            data, row_stride, column_stride, first + begin, m, features, thresholds, starts, cells
        )
        out = scores[begin : begin + m]
        for t in range(len(one_slot)):
            own = cells[one_slot[t]]
            base = np.uint64(one_start[t])
            for i in range(m):
                out[i] += values[base + np.uint64(own[i])]
        for t in range(len(pair_slots)):
            a = cells[pair_slots[t, 0]]
            b = cells[pair_slots[t, 1]]
            map_a = np.uint64(map_start[t, 0])
            map_b = np.uint64(map_start[t, 1])
            base = np.uint64(pair_start[t])
            width = np.uint64(pair_width[t])
            for i in range(m):
                row = np.uint64(pair_maps[map_a + np.uint64(a[i])])
                column = np.uint64(pair_maps[map_b + np.uint64(b[i])])
                out[i] += values[base + row * width + column]


# --- Ranking inside queries


# From so many rows on, all of them are sorted at once, digit by digit, and dealt out to their
# queries: that is linear, where comparing is not. Fewer would not fill the tables of digits.
_DIGITS_FROM = 4096
_DIGIT = np.uint64(11)
_MASK = np.uint64(2047)
_PASSES = 6
_SIGN = np.uint64(63)
_U1 = np.uint64(1)


@kernel
def _sort_keys(keys, rows, n):
    """Sort the first n keys, rows along with them; return the sorted rows."""
    counts = np.zeros((_PASSES, 2049), np.int64)
    for i in range(n):
        key = keys[i]
        for p in range(_PASSES):
            counts[p, np.int64(key & _MASK) + 1] += 1
            key >>= _DIGIT
    other_keys = np.empty(n, np.uint64)
    other_rows = np.empty(n, np.int32)
    for p in range(_PASSES):
        place = counts[p]
        if place.max() == n:
            continue  # (all keys have the same digit, as low ones of float32 numbers do)
        for k in range(2048):
            place[k + 1] += place[k]
        shift = np.uint64(p) * _DIGIT
        for i in range(n):
            digit = np.int64((keys[i] >> shift) & _MASK)
            at = place[digit]
            place[digit] = at + 1
            other_keys[at] = keys[i]
            other_rows[at] = rows[i]
        keys, other_keys = other_keys, keys
        rows, other_rows = other_rows, rows
    return rows


@kernel
def _deal_sorted(values, starts, first_query, last_query, out, ends):
    """Write the rows of every query that have a value, by rising value, through one sort.

    Query ``q`` gets ``out[starts[q] - begin:ends[q - first_query]]``, with begin the first
    row of the range.
    """
    begin = starts[first_query]
    size = starts[last_query] - begin
    bits = values.view(np.uint64)
    keys = np.empty(size, np.uint64)
    rows = np.empty(size, np.int32)
    query = np.empty(size, np.int32)
    n = 0
    for q in range(first_query, last_query):
        ends[q - first_query] = starts[q] - begin
        for i in range(starts[q], starts[q + 1]):
            query[i - begin] = q - first_query
            if values[i] == values[i]:
                # As unsigned numbers, bits of floats rise with them, once negative ones are
                # turned over and the others put above them.
                one = bits[i]
                negative = (one >> _SIGN) == _U1
                keys[n] = ~one if negative else one | (_U1 << _SIGN)
                rows[n] = i - begin
                n += 1
    ordered = _sort_keys(keys, rows, n)
    for k in range(n):
        row = ordered[k]
        q = query[row]
        out[ends[q]] = begin + row
        ends[q] += 1


@kernel
def _sorted_rows(values, starts, first_query, last_query, out, ends):
    """Sort the rows of every query by their values, in the faster of two ways."""
    begin = starts[first_query]
    if starts[last_query] - begin >= _DIGITS_FROM:
        _deal_sorted(values, starts, first_query, last_query, out, ends)
        return
    keys = np.empty(starts[last_query] - begin)
    for q in range(first_query, last_query):
        n = 0
        base = starts[q] - begin
        for i in range(starts[q], starts[q + 1]):
            if values[i] == values[i]:
                keys[n] = values[i]
                out[base + n] = i
                n += 1
        rows = out[base : base + n].copy()
        order = np.argsort(keys[:n])
        for k in range(n):
            out[base + k] = rows[order[k]]
        ends[q - first_query] = base + n


@kernel
def rank_rows(values, weight, regions, starts, first_query, last_query, out):
    """Write the middle of the positions that every row takes, for a range of queries.

    The line of values is cut into regions; region ``g`` has the values greater than
    exactly ``g`` of the cuts. Equivalent to, and much faster than::

        key(x) = (place of the region of x in by_interval, direction[region] * values[x])
        below, same = weight of the rows of the query with a smaller key, and with an equal one
        out[x] = below + same / 2

    where rows without a value are left out first. They then go into the middle of the
    others: rows above the middle of those move up by their weight, equal rows across the
    middle by the share of them that is above, and they themselves get the middle of the
    query.

    Parameters
    ----------
    values : array over the rows, query after query; NaN where there is none
    weight : array like values, or of length 0 where all weigh 1
    regions : (cuts, by_interval, direction)
        Ascending cuts; the regions, lowest ranked first; and for each region 1 where larger
        values rank higher, -1 where smaller ones do, 0 where all are equal.
    starts : int array
        Query ``q`` is rows ``starts[q]:starts[q + 1]``.
    first_query, last_query : int
        The range of queries to rank.
    out : array like values
        Filled in for the rows of these queries.
    """
    cuts, by_interval, direction = regions
    weighted = len(weight) > 0
    n_regions = len(by_interval)
    mass = np.empty(n_regions)
    offset = np.empty(n_regions)
    begin = starts[first_query]
    rows = np.empty(starts[last_query] - begin, np.int64)
    ends = np.empty(last_query - first_query, np.int64)
    # One sort by value; every region is a stretch of it.
    _sorted_rows(values, starts, first_query, last_query, rows, ends)
    for q in range(first_query, last_query):
        first = starts[q] - begin
        end = ends[q - first_query]
        mass[:] = 0.0
        region = 0
        for k in range(first, end):
            while region < len(cuts) and values[rows[k]] > cuts[region]:
                region += 1
            mass[region] += weight[rows[k]] if weighted else 1.0
        present = 0.0
        for k in range(n_regions):
            offset[by_interval[k]] = present
            present += mass[by_interval[k]]
        half = present / 2.0
        missing = 0.0
        if end - first < starts[q + 1] - starts[q]:
            for i in range(starts[q], starts[q + 1]):
                if values[i] != values[i]:
                    missing += weight[i] if weighted else 1.0
            for i in range(starts[q], starts[q + 1]):
                if values[i] != values[i]:
                    out[i] = (present + missing) / 2.0
        region = 0
        before = 0.0
        k = first
        while k < end:
            value = values[rows[k]]
            while region < len(cuts) and value > cuts[region]:
                region += 1
                before = 0.0
            same = 0.0
            last = k
            while last < end and values[rows[last]] == value:
                same += weight[rows[last]] if weighted else 1.0
                last += 1
            below = offset[region]
            width = same
            if direction[region] > 0.0:
                below += before
            elif direction[region] < 0.0:
                below += mass[region] - before - same
            else:
                width = mass[region]
            before += same
            above = min(max((below + width - half) / width, 0.0), 1.0)
            middle = below + width / 2.0 + missing * above
            for j in range(k, last):
                out[rows[j]] = middle
            k = last


@kernel
def order_rows(scores, starts, first_query, last_query, out):
    """Write the rows of every query by falling score, for a range of queries."""
    begin = starts[first_query]
    rows = np.empty(starts[last_query] - begin, np.int64)
    ends = np.empty(last_query - first_query, np.int64)
    _sorted_rows(scores, starts, first_query, last_query, rows, ends)
    for q in range(first_query, last_query):
        place = starts[q]
        for k in range(ends[q - first_query] - 1, place - begin - 1, -1):
            out[place] = rows[k]
            place += 1
        if place == starts[q + 1]:
            continue
        # Rows without a score come last: every place gets a row, whatever the scores are.
        for i in range(starts[q], starts[q + 1]):
            if scores[i] != scores[i]:
                out[place] = i
                place += 1


@kernel
def interval_sums(values, codes, weight, scale, sums, counts):
    """Add up values and weights of every interval; return the largest absolute value added.

    Equivalent to: for every row with a value and a code that is not negative, add
    ``weight * value * scale`` to ``sums[code]`` and ``weight`` to ``counts[code]``.
    """
    weighted = len(weight) > 0
    top = 0.0
    for i in range(len(values)):
        x = values[i]
        if codes[i] >= 0 and x == x:
            w = weight[i] if weighted else 1.0
            top = max(top, abs(x * w))
            sums[codes[i]] += x * w * scale
            counts[codes[i]] += w
    return top


# --- Sorting documents by majority


@kernel
def _preferred(positions, first, second):
    """Return the votes for the first minus those for the second; a run with neither abstains."""
    votes = 0
    for run in range(positions.shape[1]):
        here, there = positions[first, run], positions[second, run]
        if here < there:
            votes += 1
        elif here > there:
            votes -= 1
    return votes


@kernel
def sort_by_majority(positions, starts, order, spare):
    """Merge sort every query by majority of the runs, from the bottom up.

    A run votes for the document it puts first, and abstains where it returned neither. A
    majority need not be transitive; the result is then one of many.

    Parameters
    ----------
    positions : int32 array of shape (n_rows, n_runs)
        `NOT_RETURNED` where a run does not have the document.
    starts : array of shape (n_queries + 1,)
        Where the queries begin in ``order``.
    order : array of shape (n_rows,)
        Rows, query by query, in the order they start from.  # OUT: best first
    """
    for query in range(len(starts) - 1):
        low, high = starts[query], starts[query + 1]
        width = 1
        while width < high - low:
            begin = low
            while begin < high:
                middle = min(begin + width, high)
                end = min(begin + 2 * width, high)
                left, right = begin, middle
                for at in range(begin, end):
                    if left < middle and (
                        right >= end or _preferred(positions, order[right], order[left]) <= 0
                    ):
                        spare[at] = order[left]
                        left += 1
                    else:
                        spare[at] = order[right]
                        right += 1
                begin = end
            for at in range(low, high):
                order[at] = spare[at]
            width *= 2


# --- RankBoost over columns of which most cells abstain, whole ensembles in one call
#
# The same choices as `crucial.boosting.stumps.StumpLearner` with ``choice="steepest"``, the bound
# step and cumulative weights; a property test compares the two. Only stored cells are visited, and
# no round returns to Python: thousands of small ensembles are learned one after the other.


@kernel
def _potentials(scores, log_weight, level_start, pi):
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
        below = log_add(below, log_sum(scores, log_weight, 1.0, a, b))
    total = 0.0
    for i in range(len(scores)):
        pi[i] = exp(pi[i] - top)
        total += pi[i]
    above = -np.inf
    for level in range(n_levels - 1, -1, -1):
        a, b = level_start[level], level_start[level + 1]
        for i in range(a, b):
            pi[i] = (pi[i] - exp(above + scores[i] - top)) / total
        above = log_add(above, log_sum(scores, log_weight, -1.0, a, b))


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
    scores, log_weight, pi = np.zeros(n_rows), np.zeros(n_rows), np.zeros(n_rows)
    for done in range(len(place)):
        _potentials(scores, log_weight, level_start, pi)
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
