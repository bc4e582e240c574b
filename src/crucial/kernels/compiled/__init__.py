"""The kernels in Numba; those with a twin in ``plain`` have their meaning documented there.

Serial and without the GIL: the modules above give every thread a range of queries or features.
Sums never cross such a range, so the number of threads cannot change a result.
"""

from threading import RLock

from numba.core.compiler_lock import global_compiler_lock

from crucial._forks import hold_at_fork

# (its own methods cannot give up)
if isinstance(_lock := getattr(global_compiler_lock, "_lock", None), type(RLock())):
    hold_at_fork(_lock)
