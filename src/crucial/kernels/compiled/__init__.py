"""The kernels in Numba; meanings, parameters and layout as in ``plain``.

Serial and without the GIL: the modules above give every thread a range of queries or features.
Sums never cross such a range, so the number of threads cannot change a result.
"""

from numba.core.compiler_lock import global_compiler_lock

from crucial._forks import hold_at_fork

hold_at_fork(global_compiler_lock)
