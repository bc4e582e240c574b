"""Forking while another thread imports or compiles, as web servers with threads do.

Locks that another thread has stay locked in a forked child for ever: the child would wait at its
first import of the same module, or its first compilation. A fork therefore waits until no other
thread imports anything of ours, and takes the locks that were handed in.

What was registered last waits first. The modules whose locks importing threads may need are
therefore imported before: a fork must not have their locks while it waits.
"""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401
import logging  # noqa: F401
import os
import sys
import time
from threading import get_ident
from types import FrameType
from typing import Protocol

__all__ = ["hold_at_fork"]

# What we import on first use.
_OURS = frozenset(
    ["crucial", "llvmlite", "msgspec", "narwhals", "numba", "numpy", "scipy", "sklearn"]
)
# A thread may itself wait for the one that forks: then the child has to go without.
_LONGEST_WAIT = 30.0


class Lock(Protocol):
    """A lock to hold during a fork."""

    def acquire(self, blocking: bool = ..., timeout: float = ...) -> bool:
        """Take the lock, if that succeeds in this many seconds."""

    def release(self) -> None:
        """Give it back."""


_locks: list[Lock] = []
_taken: dict[int, list[Lock]] = {}  # by thread


def hold_at_fork(lock: Lock) -> None:
    """Take a lock before every fork, and release it afterwards in parent and child."""
    _locks.append(lock)


def _imports(frame: FrameType | None) -> bool:
    """Return whether a thread with this innermost frame is importing something of ours."""
    while frame is not None:
        code = frame.f_code
        importing = code.co_name == "_find_and_load" and "importlib" in code.co_filename
        if importing and str(frame.f_locals.get("name")).partition(".")[0] in _OURS:
            return True
        frame = frame.f_back
    return False


def _before() -> None:
    own, until = get_ident(), time.monotonic() + _LONGEST_WAIT
    if not _imports(sys._getframe()):
        while time.monotonic() < until:
            frames = sys._current_frames()
            if not any(_imports(frame) for thread, frame in frames.items() if thread != own):
                break
            del frames
            time.sleep(0.001)
    _taken[own] = [
        lock for lock in _locks if lock.acquire(timeout=max(0.0, until - time.monotonic()))
    ]


def _after() -> None:
    for lock in reversed(_taken.pop(get_ident(), [])):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
