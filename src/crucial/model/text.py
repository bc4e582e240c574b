"""Text from files, made safe for a terminal."""

from __future__ import annotations

__all__ = ["printable"]


def printable(text: str, limit: int = 60) -> str:
    """Make text from a file safe to print: no control characters, not too long.

    Examples
    --------
    >>> printable("bm25\\x1b[31m\\n")
    'bm25\\\\x1b[31m\\\\n'
    """
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return safe if len(safe) <= limit else safe[: limit - 1] + "…"
