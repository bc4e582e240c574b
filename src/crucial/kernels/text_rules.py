"""What the compiled and the plain text parser have in common: codes and limits.

Apart from the kernels, so that small files are read without importing Numba.
"""

from __future__ import annotations

__all__ = [
    "FEATURE",
    "FINE",
    "INDEX",
    "LABEL",
    "MAX_INDEX",
    "ORDER",
    "QID_EMPTY",
    "QID_MISSING",
    "QID_UNEXPECTED",
    "VALUE",
]

MAX_INDEX = 2**31 - 2
"""Largest feature index: columns are counted in int32."""

FINE = 0
LABEL = 1  # the first token is no finite number
QID_MISSING = 2  # no qid, and the file's first row has one
QID_UNEXPECTED = 3  # a qid, and the file's first row has none
QID_EMPTY = 4  # nothing after "qid:"
FEATURE = 5  # a token that is not index:value
INDEX = 6  # an index below the base or above the largest allowed
ORDER = 7  # an index not above the one before
VALUE = 8  # a value that is no finite number and does not say "missing"
