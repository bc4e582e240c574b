"""Which worker gets which part."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

__all__ = ["moves_to_idle", "placed"]


def placed(
    parts: Collection[int], sizes: Sequence[int], loads: Mapping[str, int]
) -> dict[str, list[int]]:
    """Return the parts that each worker gets: the largest first, each to the least loaded worker.

    Parameters
    ----------
    parts : numbers of the parts to place
    sizes : rows of every part, by its number
    loads : rows that each worker has already

    Examples
    --------
    >>> placed([0, 1, 2], [5, 3, 3], {"a": 0, "b": 0})
    {'a': [0], 'b': [1, 2]}
    """
    loads = dict(loads)
    plan: dict[str, list[int]] = {}
    for number in sorted(parts, key=lambda n: (-sizes[n], n)):
        worker = min(loads, key=lambda name: (loads[name], name))
        plan.setdefault(worker, []).append(number)
        loads[worker] += sizes[number]
    return {worker: sorted(numbers) for worker, numbers in sorted(plan.items())}


def moves_to_idle(homes: Sequence[str], sizes: Sequence[int], workers: Collection[str]) -> set[int]:
    """Return the parts to take from loaded workers if others have none, as after a restart.

    Workers keep what they have up to their share, so that few parts are loaded again.

    Examples
    --------
    >>> moves_to_idle(["a", "a", "a", "a"], [1, 1, 1, 1], ["a", "b"])
    {2, 3}
    >>> moves_to_idle(["a", "a", "b"], [1, 1, 1], ["a", "b"])
    set()
    """
    if not set(workers) - set(homes):
        return set()
    share = sum(sizes) / len(workers)
    moves: set[int] = set()
    for worker in set(homes):
        load = 0
        for number in (n for n, home in enumerate(homes) if home == worker):
            # (every worker keeps at least one part: moving a single one gains nothing)
            if load and load + sizes[number] > share:
                moves.add(number)
            else:
                load += sizes[number]
    return moves
