"""One property, two lengths: a quick look by default and a long sweep marked slow."""

import os
from collections.abc import Callable

import pytest
from hypothesis import given, settings

# Without the JIT a kernel is some hundred times slower, so fewer examples have to do.
_INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def holds_for(*strategies, quick, full, interpreted=15):
    """Make a check of drawn examples into two tests.

    The decorated name becomes the quick test; ``<name>_at_length``, marked ``slow``, is
    put beside it in the module.

    Parameters
    ----------
    strategies : hypothesis strategies, one an argument
    quick, full : int
        Examples of the two.
    interpreted : int
        At most so many examples of the quick one where the JIT is disabled.
    """
    if os.environ.get("HYPOTHESIS_PROFILE") == "full":
        quick = full
    elif _INTERPRETED:
        quick = min(quick, interpreted)

    def make(check: Callable[..., None], count: int) -> Callable[..., None]:
        return settings(max_examples=count)(given(*strategies)(check))

    def decorate(check: Callable[..., None]) -> Callable[..., None]:
        long = make(check, full)
        long.__name__ = f"{check.__name__}_at_length"
        check.__globals__[long.__name__] = pytest.mark.slow(long)
        return make(check, quick)

    return decorate
