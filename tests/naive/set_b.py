"""Set B: eight rows whose numbers for the review's systems were computed by enumeration."""

import numpy as np

X1 = np.array([0, 0.5, 0.125, 0.75, 0.25, 1, 0.625, 0.875])
X2 = np.array([0.5, 0, 0.25, 0.125, 1, 0.375, 0.875, 0.75])
X3 = np.array([1, 0.75, 0, 0.375, 0.5, 0.25, 0.125, 0.625])
X12, X123 = np.column_stack([X1, X2]), np.column_stack([X1, X2, X3])
F = np.array([0.1, 0.4, 0.4, 0.2, 0.9, 0.4, 0.7, 0.8])
YB = np.array([0, 1, 0, 0, 1, 0, 1, 1])
YT = np.array([1, 0, 1, 0, 1, 0, 0, 1])
YD = np.array([0, 1, 0, 0, 2, 1, 2, 1])
YC = np.array([-1.5, 0.3, -0.4, -2.2, 2.1, 0.8, 3.0, 1.2])
Q = np.array([0, 0, 0, 0, 1, 1, 1, 1])


def leaf_sets(ranker):
    """Return the rows of every leaf of the first tree, from left to right."""
    leaf = ranker.model_.leaves(X12)[:, 0]
    return [set(np.flatnonzero(leaf == k).tolist()) for k in range(leaf.max() + 1)]
