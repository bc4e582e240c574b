"""Inputs of one shape in rising sizes: whether a reader of text takes time in proportion.

Random mutations of small files rarely get at what is slow: a million spaces, a number of a million
digits, a file of comments, as many queries as lines.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from crucial.errors import CrucialError
from fuzz.targets import TARGETS

#: Bytes of an input: from the first to the last each is four times the one before.
SIZES = (1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20)


def _lines(line: Callable[[int], bytes], size: int) -> bytes:
    """Return lines of a number, counted from 1, of about so many bytes together."""
    return b"".join(line(i) for i in range(1, 2 + size // len(line(1000))))


def _repeated(before: bytes, part: bytes, after: bytes) -> Callable[[int], bytes]:
    return lambda size: before + part * (size // len(part)) + after


def _numbered(line: Callable[[int], bytes], after: bytes = b"") -> Callable[[int], bytes]:
    return lambda size: _lines(line, size) + after


#: Functions of a size, by name.
SHAPES: dict[str, Callable[[int], bytes]] = {
    "the same short token": _repeated(b"1 qid:1 ", b"1:1 ", b"\n"),
    "rising short tokens": lambda n: b"1 " + b" ".join(b"%d:1" % i for i in range(1, n // 7)),
    "tokens before any line": _repeated(b"", b"1:1 ", b""),
    "spaces": _repeated(b"1 ", b" ", b"1:1\n"),
    "tabs": _repeated(b"1", b"\t", b"1:1\n"),
    "colons": _repeated(b"1 1", b":", b"1\n"),
    "signs": _repeated(b"1 1:", b"+", b"1\n"),
    "dots": _repeated(b"1 1:1", b".", b"\n"),
    "digits of a value": _repeated(b"1 1:", b"9", b"\n"),
    "digits of a fraction": _repeated(b"1 1:0.", b"1", b"\n"),
    "zeros of a fraction": _repeated(b"1 1:0.", b"0", b"1\n"),
    "digits of an exponent": _repeated(b"1 1:1e", b"9", b"\n"),
    "digits of a negative exponent": _repeated(b"1 1:1e-", b"9", b"\n"),
    "digits of an index": _repeated(b"1 ", b"9", b":1\n"),
    "zeros of an index": _repeated(b"1 ", b"0", b"1:1\n"),
    "digits of a label": _repeated(b"", b"1", b" 1:1\n"),
    "digits of a query": _repeated(b"1 qid:", b"7", b" 1:1\n"),
    "values with exponents": _numbered(lambda i: b"1 1:1e-%d\n" % (i % 400)),
    "values of 30 digits": _numbered(lambda i: b"1 1:0.%d\n" % (10**29 + i)),
    "one comment": _repeated(b"1 1:1 # ", b"x", b"\n"),
    "hashes": _repeated(b"1 1:1 ", b"#", b"\n"),
    "ids in a comment": _repeated(b"1 1:1 # ", b"docid = a ", b"\n"),
    "a comment in every line": _repeated(b"", b"1 1:1 # docid = a\n", b""),
    "comments alone": _repeated(b"", b"# x\n", b"1 1:1\n"),
    "empty lines": _repeated(b"", b"\n", b"1 1:1\n"),
    "carriage returns": _repeated(b"", b"\r", b""),
    "lines of DOS": _repeated(b"", b"1 1:1\r\n", b""),
    "as many queries as lines": _numbered(lambda i: b"1 qid:%d 1:1\n" % i),
    "queries in words": _numbered(lambda i: b"1 qid:q%x 1:1\n" % (i * 2654435761 % 2**32)),
    "two queries in turn": _repeated(b"", b"1 qid:1 1:1\n0 qid:2 1:1\n", b""),
    "the same item": _repeated(b"", b"1 qid:1 1:1 # a\n", b""),
    "distinct items": _numbered(lambda i: b"1 qid:1 1:1 # d%d\n" % i),
    "distinct labels": _numbered(lambda i: b"%d qid:1 1:1\n" % i),
    "huge indices": _numbered(lambda i: b"1 %d:1\n" % (16777216 - i % 10**6)),
    "scattered indices": _numbered(lambda i: b"1 %d:1\n" % (1 + i * 7919 % 16000000)),
    "an error after huge indices": _repeated(b"", b"1 16777216:1\n", b"1 x:1\n"),
    "an error at the end": _repeated(b"", b"1 1:1\n", b"1 x\n"),
    "infinity at the end": _repeated(b"", b"1 1:1\n", b"1 1:inf\n"),
    "no number anywhere": _repeated(b"", b"1 1:nan\n", b""),
    "one long line, then short ones": lambda n: (
        b"1 " + b" ".join(b"%d:1" % i for i in range(1, n // 14)) + b"\n" + b"1 1:1\n" * (n // 12)
    ),
    "NUL": _repeated(b"1 1:1 ", b"\0", b""),
    "no UTF-8": _repeated(b"1 1:1 # ", b"\xff", b""),
    "wide spaces": _repeated(b"1 1:1 ", b"\xc2\xa0", b"1\n"),
    "braces": _repeated(b"", b"{", b""),
    "brackets": _repeated(b"", b"[", b""),
    "a quote without end": _repeated(b'label,a\n1,"', b"a,", b""),
    "separators": _repeated(b"", b";", b""),
    "a wide header": lambda n: b"label," + b",".join(b"c%d" % i for i in range(n // 6)) + b"\n",
}  # fmt: skip


def times(name: str, folder: Path) -> Iterator[tuple[str, list[float], float]]:
    """Yield, for every shape, seconds of CPU per size, and the power of the last step.

    The power is 1 where time is in proportion; 0 where too little is measured to say.
    """
    target = TARGETS[name]
    path = folder / f"x{target.suffix}"
    path.write_bytes(b"1 1:1\n" * (SIZES[-1] // 6))
    _seconds(name, path)  # (imports and compiling take time once)
    for shape, make in SHAPES.items():
        took = []
        for size in SIZES:
            path.write_bytes(make(size))
            took.append(min(_seconds(name, path) for _ in range(2)))
        power = math.log(took[-1] / took[-2], 4) if took[-2] > 0.005 else 0.0
        yield shape, took, power


def _seconds(name: str, path: Path) -> float:
    start = time.process_time()
    with suppress(CrucialError):
        TARGETS[name].read(path)
    return time.process_time() - start
