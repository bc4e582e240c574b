"""Small rules that all text readers share."""

import math

import numpy as np
import pytest

from crucial.data.words import as_ids, decode, place_of, shown, shown_name, to_number


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("+1.", 1), ("-.5e1", -5), ("1E-2", 0.01), ("1e999", math.inf), ("00", 0)],
)
def test_numbers(text, value):
    assert to_number(text) == value


def test_what_is_no_number_and_what_is_missing():
    for text in ("", ".", "1_0", "0x1", "inf", "infinity", " 1", "1\n", "١", "e1"):
        assert to_number(text) is None
    for text in ("nan", "NaN", "-NAN", "null", "NULL"):
        assert math.isnan(to_number(text))


def test_shown_is_short_and_harmless():
    assert shown(b"a\x1b[2J\xff") == r"'a\x1b[2J\ufffd'"
    assert shown_name("région") == "'région'"
    assert shown_name("x" * 50) == shown("x" * 50)
    assert shown("x" * 50) == "'" + "x" * 40 + "'..."
    assert shown("it's") == '"it\'s"'


def test_place_of():
    text = "ab\nüx\n".encode()
    assert place_of(text, 0) == (1, 1)
    assert place_of(text, text.index(b"x")) == (2, 2)


def test_ids():
    assert as_ids(["9" * 18, "-1", "0"]).tolist() == [10**18 - 1, -1, 0]
    assert as_ids(["9" * 19]).tolist() == ["9" * 19]
    ends = [2**63 - 1, -(2**63)]
    assert as_ids([str(one) for one in ends]).dtype == np.int64
    assert as_ids([str(one) for one in ends]).tolist() == ends
    for beyond in (2**63, -(2**63) - 1):
        assert as_ids(["1", str(beyond)]).tolist() == ["1", str(beyond)]
    assert as_ids(["-0"]).tolist() == ["-0"]
    assert as_ids(["a", "b"], [2, 0]).tolist() == ["a", "a"]


def test_bytes_that_are_not_utf8_stay_apart():
    assert decode(b"\xff") != decode(b"\xfe")
    assert decode("é".encode()) == "é"
