"""The leaf of every row in a tree of tests; see `crucial.kernels.routes`."""

from __future__ import annotations

from crucial.kernels.jit import kernel

__all__ = ["find_leaves"]


@kernel
def find_leaves(X, first, feature, threshold, missing, yes, no, roots, out):  # OUT
    """Write the leaves of the rows ``first`` to ``first + len(out)`` of X in every tree."""
    for tree in range(len(roots)):
        for i in range(len(out)):
            at = roots[tree]
            while at >= 0:
                value = X[first + i, feature[at]]
                if value != value:
                    answer = missing[at]
                else:
                    answer = value > threshold[at]
                at = yes[at] if answer else no[at]
            out[i, tree] = ~at
