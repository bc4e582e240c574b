"""Recognise a file that is not a model file by its first bytes."""

from __future__ import annotations

__all__ = ["foreign_format"]

_OPENINGS = (
    (b"\x1f\x8b", "gzip data"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "a zip archive"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\x00", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x89HDF", "an HDF5 file"),
    (b"PAR1", "a parquet file"),
    (b"\xef\xbb\xbf", "text with a byte-order mark"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
    (b"tree\nversion", "a LightGBM model"),
)
_UNPACK = "Unpack it first; model files are plain JSON."
_ADVICE = {
    "a pickle": "Pickles run code when they are read and are never opened here; "
    "save the model again with save().",
    **dict.fromkeys(("gzip data", "a zip archive", "bzip2 data", "xz data", "zstd data"), _UNPACK),
    "text with a byte-order mark": "Remove its first three bytes.",
}


def foreign_format(data: bytes) -> str | None:
    """Return which other format the data are in and what to do; None if they may be JSON.

    Examples
    --------
    >>> foreign_format(b"PK\\x03\\x04...")
    'this is a zip archive, not a model file. Unpack it first; model files are plain JSON.'
    """
    kind = None
    if data[:1] == b"\x80" and data[1:2] <= b"\x0f":
        kind = "a pickle"
    elif data[:1] in (b"(", b"c") and data[-1:] == b".":
        kind = "a pickle"  # (protocols 0 and 1 begin with an opcode that is a letter)
    for opening, name in _OPENINGS:
        if data.startswith(opening):
            kind = name
    if kind is None and b"\x00" in data[:4096]:
        kind = "binary data"
    if kind is None:
        return None
    return f"this is {kind}, not a model file. {_ADVICE.get(kind, '')}".rstrip()
