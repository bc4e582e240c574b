"""Files as bytes: opened whatever their packing, written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import gzip
import os
import re
import secrets
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, BinaryIO, TextIO, TypeVar, cast

from crucial.errors import FileError
from crucial.progress import ReadingProgress

if TYPE_CHECKING:
    # NumPy's import would slow down `crucial --help`, which needs this module.
    from crucial.types import PathLike

T = TypeVar("T")

_GZIP = b"\x1f\x8b"
_OTHER_PACKINGS = {
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
}

# A packed file may unpack to so many MiB, or so many times its own size, whichever is more.
_FREE_MIB, _FREE_VARIABLE = 256, "CRUCIAL_MAX_UNPACKED_MIB"
_TIMES = 200
_PART = 8 << 20  # bytes that are unpacked at a time

_WORDS = {
    errno.ENOENT: "no such file",
    errno.EISDIR: "this is a directory; name a file in it",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ENOSPC: "no space left on the disk",
    errno.EROFS: "the file system is read-only",
    errno.EBADF: "there is no such open stream",
    errno.EDQUOT: "the disk quota is used up",
}


def os_reason(error: OSError | ValueError) -> str:
    """Return in plain words why the operating system refused (a ValueError: a NUL in the name)."""
    if isinstance(error, ValueError):
        # (whose words differ between versions of Python)
        return "its name has a null character" if "null" in str(error) else str(error)
    return _WORDS.get(error.errno or 0, error.strerror or str(error))


def _unpacked_limit(path: str, packed: int) -> int:
    """Return the bytes that a file of so many may unpack to."""
    text = os.environ.get(_FREE_VARIABLE) or str(_FREE_MIB)
    if not (text.isascii() and text.isdecimal()):
        problem = f"{_FREE_VARIABLE} must be a whole number of MiB. Got {text[:40]!r}."
        raise FileError(path, problem, remedy="Change it in the environment.")
    return max(int(text) << 20, _TIMES * packed)


def check_unpacked(path: PathLike, unpacked: int, packed: int | None = None) -> None:
    """Refuse a packed file whose content is out of proportion to its size.

    Parameters
    ----------
    path : str or path
    unpacked : int
        Bytes of the content: as far as it is known, and as the library keeps it.
    packed : int, optional
        Bytes of the file; by default those that it has on the disk.

    Raises
    ------
    FileError
        The content takes more than 256 MiB and 200 times the file. The variable
        ``CRUCIAL_MAX_UNPACKED_MIB`` in the environment puts another number for 256.
    """
    name = os.fspath(path)
    packed = os.path.getsize(name) if packed is None else packed
    if unpacked > _unpacked_limit(name, packed):
        raise FileError(
            name,
            f"this file of {packed:,} bytes unpacks to {unpacked:,} bytes or more, over {_TIMES} "
            "times its size.",
            remedy=f"If you trust it, set {_FREE_VARIABLE} (MiB; {_FREE_MIB} if not set) to more "
            "in the environment.",
        )


@cache
def _copied(stream: TextIO) -> str:
    """Copy a stream to a file, which can be read more than once; return its name."""
    import atexit
    import shutil
    import tempfile

    number, name = tempfile.mkstemp(prefix="crucial-")
    atexit.register(os.unlink, name)
    with open(number, "wb") as file:
        shutil.copyfileobj(stream.buffer, file)
    return name


def place_of(path: PathLike) -> str:
    """Return the file to open for a name: ``-`` is standard input."""
    name = os.fspath(path)
    return _copied(sys.stdin) if name == "-" and sys.stdin is not None else name


class _Counted:
    """A file that counts the bytes that were read from it."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw, self.size = raw, 0

    def read(self, size: int) -> bytes:
        part = self._raw.read(size)
        self.size += len(part)
        return part


class ByteSource:
    """A file being read, unpacked if need be; every failure is a `FileError`.

    Use `open_bytes` to make one, and ``with`` to close it.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = os.fspath(path)
        try:
            raw = open(place_of(path), "rb")  # noqa: SIM115 (closed by __exit__)
        except (OSError, ValueError) as error:
            raise FileError(self.path, f"cannot be read: {os_reason(error)}.") from error
        self._raw = raw
        self._progress = ReadingProgress(self.path, os.fstat(raw.fileno()).st_size)
        self._stream: BinaryIO = raw
        self._packed, self._unpacked = _Counted(raw), 0
        try:
            start = self._guarded(raw.peek, 6)
            for magic, packing in _OTHER_PACKINGS.items():
                if start.startswith(magic):
                    problem = f"is packed with {packing}; only gzip is read. Unpack it first."
                    raise FileError(self.path, problem)
            if start.startswith(_GZIP):
                self._stream = cast(
                    BinaryIO, gzip.GzipFile(fileobj=cast(BinaryIO, self._packed), mode="rb")
                )
        except FileError:
            raw.close()
            raise

    def _guarded(self, action: Callable[..., T], *arguments: int) -> T:
        try:
            return action(*arguments)
        except EOFError as error:
            problem = "the gzip data end too early: the file is cut short. Fetch it again."
            raise FileError(self.path, problem) from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise FileError(self.path, f"the gzip data are damaged ({error}).") from error
        except OSError as error:
            raise FileError(self.path, f"cannot be read: {os_reason(error)}.") from error

    def read(self, size: int = -1) -> bytes:
        """Read ``size`` bytes, fewer only at the end; all that is left by default."""
        is_packed = self._stream is not self._raw
        if size < 0 and not is_packed:
            text = self._guarded(self._stream.read)
            self._show()
            return text
        left = sys.maxsize if size < 0 else size
        parts = []
        while left > 0 and (
            part := self._guarded(self._stream.read, min(left, _PART) if is_packed else left)
        ):
            parts.append(part)
            left -= len(part)
            self._show()
            if is_packed:
                self._check_unpacked(len(part))
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _check_unpacked(self, more: int) -> None:
        """Refuse a file that unpacks to too much, before much of it is kept."""
        before, self._unpacked = self._unpacked, self._unpacked + more
        size = max(os.fstat(self._raw.fileno()).st_size, self._packed.size)  # (a pipe has none)
        check_unpacked(self.path, self._unpacked, size)
        dense = self._unpacked > 32 * self._packed.size  # (of which up to 128 KiB are not yet used)
        if dense and before < _PART <= self._unpacked and os.path.isfile(self.path):
            # See how it goes on, and keep nothing.
            with contextlib.suppress(OSError, EOFError, zlib.error), gzip.open(self.path) as ahead:
                total = 0
                while part := ahead.read(_PART):
                    total += len(part)
                    check_unpacked(self.path, total, size)

    def _show(self) -> None:
        if self._progress.wanted:
            self._progress.show(self._raw.tell())  # (of a packed file, the packed bytes)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines, each with its end."""
        rest = b""
        # (a long line is read in ever larger parts, not to copy it too often)
        while part := self.read(max(1 << 16, len(rest))):
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                yield line + b"\n"
        if rest:
            yield rest

    def close(self) -> None:
        """Close the file."""
        self._progress.stop()
        self._stream.close()
        self._raw.close()

    def __enter__(self) -> ByteSource:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def open_bytes(path: PathLike) -> ByteSource:
    """Open a file for reading, gzip recognised by its first bytes (not by its name).

    Raises
    ------
    FileError
        Here, or later while reading: the file is missing, a directory, not readable,
        packed by something else, or its gzip data are damaged or cut short.
    """
    return ByteSource(path)


def refuse_pipe(path: PathLike) -> None:
    """Refuse what can be read only once, where a reader has to look at a file first."""
    try:
        kind = os.stat(path).st_mode
    except (OSError, ValueError):
        return  # (opening it says what is wrong)
    if stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind):
        problem = "this is a pipe, which can be read only once, and its format has to be found."
        raise FileError(path, f"{problem} Write it to a file first.")


def first_bytes(path: PathLike, size: int) -> bytes:
    """Return the first bytes of a file that will be read again; see `refuse_pipe`."""
    refuse_pipe(path)
    with open_bytes(path) as source:
        return source.read(size)


def _create_beside(target: str) -> tuple[int, str]:
    """Create a file of our own in the folder of the target (absolute), with a new file's rights.

    `tempfile` would make it readable by its owner alone, and the result would stay so.
    """
    folder = os.path.dirname(target)
    while True:
        name = os.path.join(folder, f".crucial-{secrets.token_hex(8)}.tmp")
        with contextlib.suppress(FileExistsError):
            return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), name


def sync_folder(folder: str) -> None:
    """Make the new name last through a power cut, where the file system can do that."""
    with contextlib.suppress(OSError):
        number = os.open(folder or ".", os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


@contextmanager
def _packed(raw: BinaryIO, path: str) -> Iterator[BinaryIO]:
    """Pack with gzip if the name ends in .gz; without time stamp: same data, same bytes."""
    if path.lower().endswith(".gz"):
        with gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0) as packed:
            yield cast(BinaryIO, packed)
    else:
        yield raw


def _old_mode(path: str) -> int | None:
    """Return the mode of the present file, None if there is none; refuse one that is read-only."""
    if not path or path.endswith(os.sep):
        # (the folder that this is, or names; the system would drop the slash)
        raise IsADirectoryError(errno.EISDIR, "is a directory", path or os.curdir)
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return None
    except ValueError as error:  # (a NUL in the name)
        raise OSError(errno.EINVAL, os_reason(error), path) from error
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "is a directory", path)
    if not os.access(path, os.W_OK):
        # (replacing would succeed where the folder is writable, against the owner's wish)
        raise PermissionError(errno.EACCES, "permission denied", path)
    return mode


@contextmanager
def _said(path: str, unnamed_only: bool = False) -> Iterator[None]:
    """Turn the operating system's refusal into a `FileError` that names the target."""
    try:
        yield
    except OSError as error:
        if unnamed_only and error.filename is not None:
            raise
        missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
        reason = "its folder does not exist; make it first" if missing else os_reason(error)
        raise FileError(path, f"cannot be written: {reason}.") from error


def _open_stream(path: str) -> int | None:
    """Return a copy of the open stream that a name such as ``/dev/stdout`` means; else None.

    To open it anew would cut the file that it is, and begin at its start.
    """
    word = re.fullmatch(r"/dev/(stdout|stderr)|/(?:dev|proc/self)/fd/(\d+)", path)
    if word is None:
        return None
    number = int(word[2] or ("stdout", "stderr").index(word[1]) + 1)
    if sys.stdout is not None:
        sys.stdout.flush()  # (what was printed before comes before)
    return os.dup(number)


@contextmanager
def atomic_write(path: PathLike) -> Iterator[BinaryIO]:
    """Write a file whole or not at all.

    The bytes go to a temporary file in the same folder, which is flushed to disk and
    then takes the target's name. Whatever fails, also in the caller's block, the old
    file stays as it was and the temporary one is removed. A name that ends in ``.gz``
    is packed. A link is followed; a device or pipe is written directly, and so is a stream
    that is open already (``/dev/stdout``), also where it is a file.

    Parameters
    ----------
    path : str or path
        The file to make or replace.

    Yields
    ------
    binary file
        Write to it; do not close it.

    Raises
    ------
    FileError
        The file cannot be written: missing folder, read-only, full disk.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "scores.txt")
    ...     with atomic_write(name) as file:
    ...         _ = file.write(b"0.5")
    ...     os.listdir(folder)
    ['scores.txt']
    """
    name = os.fspath(path)
    with _said(name):
        mode = _old_mode(name)
        stream = _open_stream(name)
    if stream is not None or (mode is not None and not stat.S_ISREG(mode)):
        opened = name if stream is None else stream
        with _said(name), open(opened, "wb") as raw, _packed(raw, name) as file:
            yield file
        return
    with _said(name):
        target = os.path.realpath(name)
        number, temporary = _create_beside(target)
    try:
        # (an error that names another file is the caller's own and passes unchanged)
        with _said(name, unnamed_only=True), open(number, "wb") as raw:
            with _packed(raw, name) as file:
                yield file
            raw.flush()
            os.fsync(number)
            if mode is not None:
                os.fchmod(number, stat.S_IMODE(mode))
        with _said(name):
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(os.path.dirname(target))


def check_writable(path: PathLike) -> None:
    """Refuse a path that `atomic_write` could not write to now; nothing is changed.

    Raises
    ------
    FileError
        As `atomic_write` would raise it.
    """
    name = os.fspath(path)
    with _said(name):
        mode = _old_mode(name)
        stream = _open_stream(name)
        if stream is not None:
            os.close(stream)
        elif mode is None or stat.S_ISREG(mode):
            number, temporary = _create_beside(os.path.realpath(name))
            os.close(number)
            os.unlink(temporary)
