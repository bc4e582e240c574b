"""Kernels in NumPy for small problems: pairs, stumps, predictions, exact sums.

Every function has the name and meaning of its twin in ``compiled`` (`FeatureSums` has two in
one, and keeps from round to round what both use). Sums run in the same order there
(``np.bincount`` and ``np.cumsum`` add one after the other), so the bytes are the same wherever
no transcendental function is involved.

Rows of label feedback are ordered as in `crucial.kernels.runtime.Levels`.
"""
