"""Summaries of sorted values: few of them, each with the mass that it stands for."""

from __future__ import annotations

from crucial.kernels.jit import kernel

__all__ = ["summarise"]


@kernel
def summarise(ranked, size, values, mass):
    """Write at most ``size`` of ascending values, and how many each stands for.

    Neighbours move up to the last of their group where there are more distinct ones.

    Returns
    -------
    count, moved : int
        How many were written, and the most values that move past any number.
    """
    n = len(ranked)
    found = 1
    for i in range(1, n):
        found += ranked[i] != ranked[i - 1]
    few = found <= size
    share = size / n
    at = -1
    group = -1
    first = 0
    begin = 0
    moved = 0
    for i in range(1, n + 1):
        if i < n and ranked[i] == ranked[begin]:
            continue
        own = at + 1 if few else min(int(begin * share), size - 1)
        if own != group:
            if at >= 0:
                mass[at] = begin - first
            at += 1
            first = begin
            group = own
        values[at] = ranked[begin]
        moved = max(moved, begin - first)
        begin = i
    mass[at] = n - first
    return at + 1, moved
