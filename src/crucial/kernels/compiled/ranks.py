"""Ranking inside queries."""

from __future__ import annotations

import numpy as np

from crucial.kernels.jit import kernel

__all__ = ["interval_sums", "order_rows", "rank_rows"]

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
    """Do the same in the faster way."""
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
