"""The free memory of the machine."""

from __future__ import annotations

import os

from crucial.errors import DataError

__all__ = ["MAX_FEATURES", "check_room", "free_memory"]

#: Columns that rows and models may have. Whatever is kept per feature must fit the memory, and a
#: sparse row or a model file of a few bytes may claim any number.
MAX_FEATURES = 1 << 24


def free_memory() -> int | None:
    """Return the bytes that can be allocated; None where the system does not report them."""
    free, room = _free_in_machine(), _room_of_process()
    return free if room is None or free is None else min(free, room)


def _room_of_process() -> int | None:
    """Return what a limit of the process (`ulimit -v`) leaves; None without one."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        with open("/proc/self/statm", encoding="ascii") as sizes:
            return max(0, limit - int(sizes.read().split()[0]) * resource.getpagesize())
    except (ImportError, OSError, ValueError):
        return None


def _free_in_machine() -> int | None:
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def check_room(needed: int, what: str, remedy: str) -> None:
    """Refuse to allocate more than half of the free memory.

    Parameters
    ----------
    needed : int
        Bytes.
    what : str
        What would take them, as the subject of a sentence.
    remedy : str

    Raises
    ------
    DataError
        With both numbers.
    """
    free = free_memory()
    if free is not None and needed > free // 2:
        raise DataError(
            f"{what} would take {needed / 2**30:.1f} GiB, more than half of the "
            f"{free / 2**30:.1f} GiB of free memory. {remedy}"
        )
