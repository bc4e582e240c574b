"""Loops over arrays: the only folder that knows Numba.

``plain``
    The kernels in NumPy. They need no compilation, so small problems run on them.
``compiled``
    The same kernels in Numba: serial, without the GIL, to be spread over threads.

Both add the same numbers in the same order, so that a result never depends on which
of them ran. Nothing here is imported by ``import crucial``.
"""
