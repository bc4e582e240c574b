"""Fixtures of rankers."""

from collections.abc import Iterator

import pytest
import sklearn


@pytest.fixture
def routing() -> Iterator[None]:
    """Let scikit-learn pass queries on."""
    with sklearn.config_context(enable_metadata_routing=True):
        yield
