"""Forking while another thread imports or compiles, as web servers with threads do.

Locks that another thread has stay locked in a forked child for ever: the child would wait at its
first import of the same module, or its first compilation. A fork therefore waits until no other
thread imports anything of ours, and takes the locks that were handed in.
"""

from __future__ import annotations

import os
import sys
import time
from _thread import get_ident
from types import FrameType
from typing import Protocol

__all__ = ["hold_at_fork"]

# What we import on first use.
_OURS = frozenset(
    ["crucial", "llvmlite", "msgspec", "narwhals", "numba", "numpy", "scipy", "sklearn"]
)
# A thread may also wait for the one that forks: better a child that may hang than no child.
_LONGEST_WAIT = 60.0


class Lock(Protocol):
    """A lock to hold during a fork."""

    def acquire(self) -> object:
        """Take the lock."""

    def release(self) -> None:
        """Give it back."""


_held: list[Lock] = []


def hold_at_fork(lock: Lock) -> None:
    """Take a lock before every fork, and release it afterwards in parent and child."""
    _held.append(lock)


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
    if not _imports(sys._getframe()):
        until = time.monotonic() + _LONGEST_WAIT
        own = get_ident()
        while time.monotonic() < until:
            frames = sys._current_frames()
            if not any(_imports(frame) for thread, frame in frames.items() if thread != own):
                break
            del frames
            time.sleep(0.001)
    for lock in _held:
        lock.acquire()


def _after() -> None:
    for lock in reversed(_held):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
