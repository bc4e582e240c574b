"""Both ways through the library: NumPy for small problems, compiled kernels for the rest."""

import warnings
from contextlib import contextmanager

import pytest

from crucial.errors import DataWarning, NoProgressWarning
from crucial.kernels import runtime

PATHS = ("plain", "compiled")


@contextmanager
def using(path):
    """Take a way through the kernels whatever the size of the problem."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "PLAIN_CELLS", -1 if path == "compiled" else 10**12)
        yield


@contextmanager
def counting(path):
    """Take a way through the kernels that count pairs whatever the number of rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "COUNT_COMPILED", 0 if path == "compiled" else 10**12)
        yield


@contextmanager
def quiet():
    """Let random problems be as useless as they like."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoProgressWarning)
        warnings.simplefilter("ignore", DataWarning)
        yield
