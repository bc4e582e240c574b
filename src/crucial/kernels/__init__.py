"""Loops over arrays: the only folder that knows Numba.

Each module offers the functions of one topic. It picks NumPy or Numba by the size of the problem
alone (`sizes`) and spreads the work over threads (`threads`). Nothing outside this folder imports
the two subfolders:

``plain``
    The kernels in NumPy. They need no compilation, so small problems run on them.
``compiled``
    The same kernels in Numba: serial, without the GIL, to be spread over threads. Imported on
    first use only.

Both add the same numbers in the same order, so that a result never depends on which of them ran.
"""
