"""Dates and times in tables, at the edges of the calendar and of the clock."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from crucial import RankBoost, read_data
from crucial.errors import DataTypeError, FileError
from crucial.io.columns import to_moment


def test_the_ends_of_the_calendar(tmp_path: Path) -> None:
    first, last = "0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-01:00"
    assert to_moment(first) == pytest.approx(to_moment("0001-01-01") - 5 / 24)
    assert to_moment(last) == pytest.approx(to_moment("9999-12-31T23:59:59") + 1 / 24)
    path = tmp_path / "a.csv"
    path.write_text(f"label,when\n1,{first}\n0,{last}\n")
    assert read_data(path).n_rows == 2


@pytest.mark.parametrize(
    ("cell", "seconds"),
    [
        ("23:59:59.5", 86399.5),
        ("10:00:75", None),
        ("10:60", None),
        ("24:00", None),
        ("9:05", 32700),
    ],
)
def test_times_of_day(cell: str, seconds: float | None) -> None:
    assert to_moment(cell) == seconds


@pytest.mark.parametrize("clock", ["9:05:07", "09:05:07"])
def test_german_dates_with_seconds(clock: str) -> None:
    day = to_moment("1999-12-31")
    assert day is not None
    assert to_moment(f"31.12.1999 {clock}") == pytest.approx(day + (9 * 3600 + 307) / 86400)


def test_a_time_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("label,when\n1,10:00\n0,10:00:75\n")
    with pytest.raises(FileError, match=r"line 3, column 2: .* must be a time such as 23:59, or"):
        read_data(path)


def test_days_are_not_taken_for_seconds() -> None:
    days = pd.DataFrame({"when": pd.date_range("2024-01-01", periods=20)})
    ranker = RankBoost(5).fit(days, range(20))
    lengths = pd.DataFrame({"when": pd.to_timedelta(range(20), unit="h")})
    with pytest.raises(DataTypeError, match=r"seconds in 'when', .* on days since 1970"):
        ranker.predict(lengths)
