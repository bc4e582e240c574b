"""The parts of the line parser; the whole is held against the plain one in the properties."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucial.kernels import runtime, text
from crucial.kernels.compiled import text as kernels

pytestmark = [pytest.mark.kernels, pytest.mark.bounds]


def test_count_marks():
    raw = np.frombuffer(b"1:2\n:\n\n::", np.uint8)
    assert kernels.count_marks(raw, 0, len(raw)) == (3, 4)
    assert kernels.count_marks(raw, 2, 5) == (1, 1)


@settings(deadline=None)
@given(st.lists(st.dictionaries(st.integers(1, 6), st.floats(allow_nan=False)), max_size=5))
def test_fill_dense(rows):
    expected = np.zeros((len(rows), 6))
    for row, entries in enumerate(rows):
        for index, value in entries.items():
            expected[row, index - 1] = value
    starts = np.cumsum([0] + [len(entries) for entries in rows])
    indices = np.array([i for entries in rows for i in sorted(entries)], np.int32)
    values = np.array([entries[i] for entries in rows for i in sorted(entries)], np.float64)
    for most in (-1, 100):
        table = np.zeros((len(rows), 6))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(runtime, "FILL_PLAIN", most)
            text.fill_dense([(starts, indices, values)], 1, table, 1)
        np.testing.assert_array_equal(table, expected)
