"""The training kernels in Numba; meanings, parameters and layout as in ``plain``.

Serial and without the GIL: callers give every thread a range of queries or features.
Sums never cross such a range, so the number of threads cannot change a result.
"""

from __future__ import annotations

from crucial.kernels.compiled.features import (
    bin_column,
    bin_column8,
    copy_ranked,
    distance,
    drop_bounds,
    drops,
    gather_columns,
    histogram8,
    histogram_wide,
    slopes,
    sort_bits,
)
from crucial.kernels.compiled.pairs import (
    advance_binary,
    binary_weights,
    log_potentials,
    misordered,
    moments,
    potentials,
)
from crucial.kernels.compiled.scans import (
    wrong_weights,
    wrong_weights_few,
)

__all__ = [
    "advance_binary",
    "bin_column",
    "bin_column8",
    "binary_weights",
    "copy_ranked",
    "distance",
    "drop_bounds",
    "drops",
    "gather_columns",
    "histogram8",
    "histogram_wide",
    "log_potentials",
    "misordered",
    "moments",
    "potentials",
    "slopes",
    "sort_bits",
    "wrong_weights",
    "wrong_weights_few",
]
