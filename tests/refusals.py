"""Calls that must be refused, in one line each."""

from collections.abc import Callable

import pytest


def refuses(
    error: type[BaseException], match: str, call: Callable[..., object], *words: object, **how: object
) -> None:
    """Check that a call raises an error with these words."""
    with pytest.raises(error, match=match):
        call(*words, **how)
