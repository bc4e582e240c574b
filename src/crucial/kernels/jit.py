"""Compiling kernels, and where their machine code is kept.

Numba caches machine code per function and renews it only when that function's own file
changes, so a kernel whose helper changed in another file would stay stale. The folder used here
is therefore named after a hash of all kernel sources, and of the settings of Numba that change
the code. Each file has a checksum: machine code with a wrong byte would end the process. A cache
that cannot be read or written costs a compilation, never an error.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import pickle
import shutil
import tempfile
import threading
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core.serialize import dumps

__all__ = ["cache_folder", "kernel"]

F = TypeVar("F", bound=Callable[..., Any])

_DIGEST = 32  # bytes of a checksum

_decorating = threading.Lock()


def _source_hash(folder: Path) -> str:
    settings = (numba.__version__, numba.config.BOUNDSCHECK, numba.config.OPT)
    digest = hashlib.sha256(repr(settings).encode())
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


class _CheckedFiles:
    """The machine code of a function on disk, one file per signature.

    A file has a checksum in front, and the key that it answers to. Numba's own files have neither:
    a flipped byte is executed, and so is code of other types, where two processes chose the same
    number for their files at the same time.

    Parameters
    ----------
    folder : str
    name : str
        How the names of the files begin.
    version : object
        Part of every key.
    """

    def __init__(self, folder: str, name: str, version: object) -> None:
        self._folder, self._name, self._version = Path(folder), name, version

    def _path(self, key: Any) -> Path:
        digest = hashlib.sha256(repr((self._version, key)).encode()).hexdigest()[:16]
        return self._folder / f"{self._name}.{digest}.nbc"

    def load(self, key: Any) -> Any:
        """Return what was saved under a key; None if nothing was, or if it is damaged."""
        content = self._path(key).read_bytes()
        checksum, code = content[:_DIGEST], content[_DIGEST:]
        if _checksum(code) != checksum:
            return None
        version, own_key, data = pickle.loads(code)
        return data if (version, own_key) == (self._version, key) else None

    def save(self, key: Any, data: Any) -> None:
        """Save data under a key; the file is there in full or not at all."""
        code = dumps((self._version, key, data))
        path = self._path(key)
        if path.is_dir():  # (it would be in the way for ever)
            shutil.rmtree(path)
        handle, temporary = tempfile.mkstemp(prefix=f"{path.name}.", dir=self._folder)
        try:
            with open(handle, "wb") as file:
                file.write(_checksum(code) + code)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise


def _checksum(code: bytes) -> bytes:
    return hashlib.blake2b(code, digest_size=_DIGEST).digest()


class _ForgivingCache:
    """Numba's cache with checked files, except that an error on disk means compiling again."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache
        version = (numba.__version__, cache._impl.locator.get_source_stamp())
        cache._cache_file = _CheckedFiles(cache.cache_path, cache._impl.filename_base, version)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return self._cache.load_overload(sig, target_context)
        except Exception:  # (no file, or one that cannot be read)
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
    with _decorating:
        before = numba.config.CACHE_DIR
        # Numba looks the folder up while decorating; the user's own functions keep theirs.
        numba.config.CACHE_DIR = folder or before
        try:
            decorate = numba.njit(nogil=True, cache=folder is not None, error_model="numpy")
            compiled = decorate(function)
        finally:
            numba.config.CACHE_DIR = before
    if folder is not None:
        compiled._cache = _ForgivingCache(compiled._cache)
    return compiled  # type: ignore[no-any-return]
