"""Section 29: integrated AUC on set B."""

import numpy as np
import pytest

from crucial.measures.names import get_measure
from naive.set_b import YC, F


def test_section_29_iauc_of_set_b():
    assert get_measure("iauc")(YC, F) == pytest.approx(0.965277777778, abs=1e-12)
    assert get_measure("iauc(triples)")(YC, F) == pytest.approx(0.973214285714, abs=1e-12)


def test_section_29_iauc_of_distinct_labels_by_ranks():
    """The formula with A(r), the sum over thresholds 2..min(r, n-1) of 1/((t-1)(n-t))."""
    n, rank = len(YC), np.argsort(np.argsort(YC)) + 1

    def total(r):
        return sum(1 / ((t - 1) * (n - t)) for t in range(2, min(r, n - 1) + 1))

    value = sum(
        (total(rank[j] - 1) - total(rank[i])) * (1.0 * (F[i] < F[j]) + 0.5 * (F[i] == F[j]))
        for i in range(n)
        for j in range(n)
        if YC[i] < YC[j]
    ) / (n - 2)
    assert get_measure("iauc")(YC, F) == pytest.approx(value, abs=1e-14)
