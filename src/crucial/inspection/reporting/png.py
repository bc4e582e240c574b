"""Small grey pictures as text."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

from crucial.types import Bytes

__all__ = ["data_uri"]


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def data_uri(grey: Bytes) -> str:
    """A PNG of grey values, 0 black and 255 white, as a ``data:`` address.

    Examples
    --------
    >>> data_uri(np.array([[0, 255]], np.uint8))[:32]
    'data:image/png;base64,iVBORw0KGg'
    """
    height, width = grey.shape
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)  # 8 bits, grey
    lines = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(grey))
    data = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head)
    data += _chunk(b"IDAT", zlib.compress(lines, 9)) + _chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(data).decode()
