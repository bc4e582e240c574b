"""The free memory of the machine."""

from __future__ import annotations

import os

__all__ = ["free_memory"]


def free_memory() -> int | None:
    """Return the bytes of free memory; None where the system does not report them."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None
