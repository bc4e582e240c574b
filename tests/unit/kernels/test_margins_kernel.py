"""Which kernel counts pairs by margin: the one that is faster for so many rows and levels."""

import numpy as np
import pytest

from crucial.kernels import margins, sizes
from naive.paths import counting


def problem(n_rows, n_levels):
    random = np.random.default_rng(0)
    score = np.sort(random.normal(size=n_rows))[::-1].copy()
    level = random.permutation(np.arange(n_rows) % n_levels)
    return score, level, np.ones(n_rows), np.array([0, n_rows]), np.array([-1.0, 0.0, 1.0])


@pytest.mark.parametrize(
    ("n_rows", "n_levels", "compiled"),
    [
        (1000, 1000, False),
        (3000, 3000, True),  # (12 passes of NumPy)
        (6000, 5, False),
        (7000, 5, True),
        (sizes.COUNT_COMPILED - 1, 2, False),
        (sizes.COUNT_COMPILED, 2, True),
        (sizes.COUNT_COMPILED, 1, True),
    ],
)
def test_rows_times_bits_of_a_level_choose_the_kernel(n_rows, n_levels, compiled, monkeypatch):
    called = []
    inner = margins.over_ranges
    monkeypatch.setattr(margins, "over_ranges", lambda *given: called.append(1) or inner(*given))
    given = problem(n_rows, n_levels)
    found = margins.count_margins(*given)
    assert bool(called) == compiled
    for path in ("plain", "compiled"):
        with counting(path):
            assert margins.count_margins(*given).tobytes() == found.tobytes()
