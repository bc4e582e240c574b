"""Compiling kernels, and where their machine code is kept.

Numba caches machine code per function and renews it only when that function's own file
changes, so a kernel whose helper changed in another file would stay stale. The folder used here
is therefore named after a hash of all kernel sources. A cache that cannot be read or written
costs a compilation, never an error.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numba

__all__ = ["cache_folder", "kernel"]

F = TypeVar("F", bound=Callable[..., Any])


def _source_hash(folder: Path) -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@lru_cache(maxsize=1)
def cache_folder() -> str | None:
    """Return the folder of the machine code, or None where nothing is writable.

    ``NUMBA_CACHE_DIR`` first, then the user's cache folder, then the temporary one.
    """
    name = f"crucial-{_source_hash(Path(__file__).parent)}"
    user = f"-{os.getuid()}" if hasattr(os, "getuid") else ""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    # (the path of a user without a home is the relative "~")
    candidates = [os.environ.get("NUMBA_CACHE_DIR"), home if os.path.isabs(home) else None]
    for base in candidates:
        if base and _writable(Path(base) / name):
            return str(Path(base) / name)
    try:
        # A folder of our own making only: machine code is never read from a shared name.
        own = tempfile.mkdtemp(prefix=f"{name}{user}-")
    except OSError:
        return None
    atexit.register(shutil.rmtree, own, ignore_errors=True)  # nobody will find it again
    return own


class _ForgivingCache:
    """Numba's cache, except that an error on disk means compiling again."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return self._cache.load_overload(sig, target_context)
        except Exception:  # (a damaged pickle can raise anything)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            self._cache.save_overload(sig, data)
        except Exception:  # (full disk, folder gone, ...)
            return


def kernel(function: F) -> F:
    """Compile a function on its first call, without the GIL, with NumPy's rules for division."""
    if numba.config.DISABLE_JIT:
        return function
    folder = cache_folder()
    before = numba.config.CACHE_DIR
    # Numba looks the folder up while decorating; the user's own functions keep theirs.
    numba.config.CACHE_DIR = folder or before
    try:
        compiled = numba.njit(nogil=True, cache=folder is not None, error_model="numpy")(function)
    finally:
        numba.config.CACHE_DIR = before
    if folder is not None:
        compiled._cache = _ForgivingCache(compiled._cache)
    return compiled  # type: ignore[no-any-return]
