"""Calls that must be refused, in one line each."""

import pytest


def refuses(error, match, call, *words, **how):
    """Check that a call raises an error with these words."""
    with pytest.raises(error, match=match):
        call(*words, **how)
