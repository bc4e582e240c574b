"""Draw shares and pictures with the block characters of a terminal."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["bar", "half_blocks"]

_EIGHTHS = " ▏▎▍▌▋▊▉"
_HALVES = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}


def bar(share: float, width: int = 20) -> str:
    """Draw a share of 1 as a bar.

    Examples
    --------
    >>> bar(0.55, width=10)
    '█████▌'
    """
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def half_blocks(rows: Sequence[Sequence[bool]]) -> list[str]:
    """Draw a black and white picture, two rows per line of text.

    Examples
    --------
    >>> half_blocks([[True, False, True], [False, False, True]])
    ['▀ █']
    """
    pairs = zip(rows[::2], rows[1::2], strict=True)
    return ["".join(_HALVES[bool(a), bool(b)] for a, b in zip(*pair)) for pair in pairs]
