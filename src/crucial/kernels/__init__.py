"""Loops over arrays: the only folder that knows Numba.

Each module offers the functions of one topic, and spreads the work over threads (`runtime`).
Nothing outside this folder imports the two subfolders:

``compiled``
    The kernels in Numba: serial, without the GIL, to be spread over threads. Imported on first
    use only.
``plain``
    Twins in NumPy of the sums over pairs, the search of stumps, predictions and exact sums: a
    small RankBoost fits, predicts and is evaluated without loading Numba.

Where there are two, the size of the problem alone decides which of them runs (`runtime`), so that a
result never depends on the machine, on threads or on parts. Both have the same bytes, but for the
weights of all thresholds (`choice="largest_drop"`) and weighted counts of ordered pairs, whose last
digits may differ by size.

Nothing here calls BLAS, or an exp or log of NumPy or of the C library, whose last digits depend on
the CPU: see `elementary`.
"""
