"""The training kernels in NumPy, for problems too small to be worth compiling.

Every function has the name and meaning of its twin in ``compiled`` (`FeatureSums` has two in
one, with what they share kept from round to round); sums run in the
same order there (``np.bincount`` and ``np.cumsum`` add one after the other), so the
bytes are the same wherever no transcendental function is involved.

Layout of label feedback, shared by all functions: rows are sorted by query and by label
inside it. Segment ``s`` (one label level of one query) is rows
``level_start[s]:level_start[s+1]``; query ``q`` has segments
``query_first[q]:query_first[q+1]``, lowest label first.
"""

from __future__ import annotations

from crucial.kernels.plain.features import (
    FeatureSums,
    drop_bounds,
    drops,
)
from crucial.kernels.plain.pairs import (
    advance_binary,
    binary_weights,
    log_potentials,
    log_shift,
    misordered,
    moments,
    potentials,
    sums_above,
    sums_below,
    wrong_weights,
)

__all__ = [
    "FeatureSums",
    "advance_binary",
    "binary_weights",
    "drop_bounds",
    "drops",
    "log_potentials",
    "log_shift",
    "misordered",
    "moments",
    "potentials",
    "sums_above",
    "sums_below",
    "wrong_weights",
]
