"""Loops over arrays: the only folder that knows Numba.

Each module offers the functions of one topic. It picks NumPy or Numba by the size of the problem
alone (`sizes`) and spreads the work over threads (`threads`). Nothing outside this folder imports
the two subfolders:

``plain``
    The kernels in NumPy. They need no compilation, so small problems run on them.
``compiled``
    The same kernels in Numba: serial, without the GIL, to be spread over threads. Imported on
    first use only.

The size of a problem alone decides which of them runs, so that a result never depends on the
machine, on threads or on parts. Stumps, predictions and the sums over pairs of a round have the
same bytes in both. Weights of all thresholds, counts of misordered pairs and the losses of single
rankers are added in another order by another algorithm, and agree to rounding.

Nothing here calls BLAS, or an exp or log of NumPy or of the C library, whose last digits depend on
the CPU: see `elementary` and `products`.
"""
