"""Both ways through the library: NumPy for small problems, compiled kernels for the rest."""

import warnings
from contextlib import contextmanager

from crucial.errors import DataWarning, NoProgressWarning
from crucial.kernels import sizes

PATHS = ("plain", "compiled")


@contextmanager
def using(path):
    """Take a way through the kernels whatever the size of the problem."""
    before = sizes.PLAIN_CELLS
    sizes.PLAIN_CELLS = -1 if path == "compiled" else 10**12
    try:
        yield
    finally:
        sizes.PLAIN_CELLS = before


@contextmanager
def quiet():
    """Let random problems be as useless as they like."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoProgressWarning)
        warnings.simplefilter("ignore", DataWarning)
        yield
