"""One line per refusal."""

import pytest


def refused(kind, said, call, /, *given, **named):
    """Check that a call raises an error of a kind whose text has a pattern in it."""
    __tracebackhide__ = True
    with pytest.raises(kind, match=said):
        call(*given, **named)
