"""Mutations of files: bytes, tokens, lines and numbers, from a seed."""

import random
import re

_NUMBER = re.compile(rb"[+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?")
_NUMBERS = (
    b"0", b"-0", b"1", b"-1", b"1e300", b"-1e300", b"1e-320", b"1e999", b"nan", b"inf", b"-inf",
    b"9007199254740993", b"2147483647", b"2147483648", b"4294967296", b"18446744073709551616",
    b"9" * 60, b"0." + b"0" * 60 + b"1", b"1_0", b"0x10", b"1,5", b"1e", b".", b"",
)  # fmt: skip
_JSON_NUMBERS = (
    b"0", b"-1", b"2", b"3", b"1e300", b"-1e300", b"1.7e308", b"-1.7e308", b"1e160", b"-1e160",
    b"1e-320", b"5e-324", b"0.5", b"2147483646",
)  # fmt: skip
_TOKENS = (
    b"\n", b"\r\n", b"\r", b"\t", b" ", b",", b";", b":", b"::", b"|", b"#", b'"', b'""', b"'",
    b"{", b"}", b"[", b"]", b"[]", b"{}", b"\\", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe",
    b"\xc3\xa9", b"\xe2\x80\xa8", b"\xc2\xa0", b"\x1b[2J", b"\x1f\x8b", b"PK\x03\x04", b"PAR1",
    b"qid:", b"1:1", b"null", b"true", b"NA", b"tie", b"a" * 300, b"\\ud800", b'"a":', b"{1,2}",
)  # fmt: skip


def mutated(seeds: list[bytes], rng: random.Random) -> bytes:
    """Return one of the seeds after one to eight mutations."""
    text = rng.choice(seeds)
    for _ in range(1 + min(rng.randrange(8), rng.randrange(8))):
        text = rng.choice(_MUTATIONS)(text, seeds, rng)
        if len(text) > 20_000:
            text = text[:20_000]
    return text


def renumbered(text: bytes, rng: random.Random) -> bytes:
    """Return JSON with up to eight of its numbers replaced by others, and otherwise as it was."""
    for _ in range(1 + rng.randrange(8)):
        found = list(_NUMBER.finditer(text))
        one = rng.choice(found)
        text = text[: one.start()] + rng.choice(_JSON_NUMBERS) + text[one.end() :]
    return text


def _flip(text: bytes, seeds: list[bytes], rng: random.Random) -> bytes:
    if not text:
        return b"\0"
    at = rng.randrange(len(text))
    return text[:at] + bytes([text[at] ^ 1 << rng.randrange(8)]) + text[at + 1 :]


def _replace(text: bytes, seeds: list[bytes], rng: random.Random) -> bytes:
    at = rng.randrange(len(text) + 1)
    return text[:at] + bytes([rng.randrange(256)]) + text[at + 1 :]


def _cut(text: bytes, seeds: list[bytes], rng: random.Random) -> bytes:
    return text[: rng.randrange(len(text) + 1)]


def _remove(text: bytes, seeds: list[bytes], rng: random.Random) -> bytes:
    at = rng.randrange(len(text) + 1)
    return text[:at] + text[at + rng.choice((1, 1, 2, 5, 20)) :]


def _token(text: bytes, seeds: list[bytes], rng: random.Random) -> bytes:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(_TOKENS) * rng.choice((1, 1, 1, 2, 50)) + text[at:]


def _number(text: bytes, seeds: list[bytes], rng: random.Random) -> bytes:
    found = list(_NUMBER.finditer(text))
    if not found:
        return text
    one = rng.choice(found)
    return text[: one.start()] + rng.choice(_NUMBERS) + text[one.end() :]


def _lines(text: bytes, seeds: list[bytes], rng: random.Random) -> bytes:
    lines = text.splitlines(keepends=True)
    if not lines:
        return text
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(4)
    if kind == 0:
        lines[at:at] = [lines[other]] * rng.choice((1, 1, 2, 30))
    elif kind == 1:
        del lines[at]
    elif kind == 2:
        lines[at], lines[other] = lines[other], lines[at]
    else:
        lines[at] = lines[at].rstrip(b"\r\n") + lines[other]
    return b"".join(lines)


def _splice(text: bytes, seeds: list[bytes], rng: random.Random) -> bytes:
    other = rng.choice(seeds)
    return text[: rng.randrange(len(text) + 1)] + other[rng.randrange(len(other) + 1) :]


def _repeat(text: bytes, seeds: list[bytes], rng: random.Random) -> bytes:
    start = rng.randrange(len(text) + 1)
    part = text[start : start + rng.choice((1, 2, 5, 20))]
    return text[:start] + part * rng.choice((2, 3, 100, 1000)) + text[start:]


_MUTATIONS = (
    _flip, _replace, _cut, _remove, _token, _token, _number, _number, _lines, _splice, _repeat,
)  # fmt: skip
