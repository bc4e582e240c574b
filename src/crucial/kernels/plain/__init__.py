"""The kernels in NumPy, for problems too small to be worth compiling.

Every function has the name and meaning of its twin in ``compiled`` (`FeatureSums` has two in
one, with what they share kept from round to round). Sums run in the same order there
(``np.bincount`` and ``np.cumsum`` add one after the other), so the bytes are the same wherever
no transcendental function is involved.

``level_start`` and ``query_first`` lay rows out as `crucial.kernels.levels.Levels` says.
"""
