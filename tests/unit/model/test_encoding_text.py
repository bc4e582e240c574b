"""Dates and times of day as text: as many digits as the value needs."""

import numpy as np
import pytest

from crucial.data.arrays import DAYS, time_number
from crucial.data.instances import Encodings
from crucial.model.tree_table import value_text

DATES = Encodings(times={0: DAYS})


@pytest.mark.parametrize(
    "text",
    [
        "2024-03-05",
        "2024-03-05 10:20",
        "2024-03-05 10:20:07",
        "2024-03-05 10:20:10",
        "2024-03-05 00:00:00.5",
        "2024-03-05 10:20:07.361",
        "2024-03-05 10:20:07.361002",
        "1969-07-20 20:17:40.000001",
        "0999-01-01 01:00",
        # Here a float is coarser than a microsecond.
        "2300-05-05 01:02:03.25",
        "9000-05-05 01:02",
    ],
)
def test_a_moment_is_read_back(text):
    assert value_text(DATES, 0, time_number(np.datetime64(text), DAYS)) == text


def test_other_thresholds_are_rounded_to_microseconds():
    assert value_text(DATES, 0, 19787.1 + 1e-11) == "2024-03-05 02:24:00.000001"
    assert value_text(DATES, 0, 1e7) == "1e+07"
