"""Queries and their ids."""

import datetime
import enum
from decimal import Decimal

import numpy as np
import pytest

from crucial.data.groups import Groups
from crucial.errors import DataError
from refusals import refused


def test_errors_name_the_parameter():
    with pytest.raises(DataError, match="eval_qid is NaN in row 1") as caught:
        Groups.from_qid([1.0, float("nan")], 2, "eval_qid")
    assert caught.value.parameter == "eval_qid"


def codes_of(qid):
    groups = Groups.from_qid(qid, len(qid))
    return groups.ids.tolist(), groups.codes.tolist()


@pytest.mark.parametrize("qid", [
    [2**63 + 1, 7, 2**63 + 2],
    [2**63, -1, 2**63 + 1],
    [np.uint64(2**63), np.int64(7), np.uint64(2**63 + 1)],
    [2**70, True, 2**70 + 1],
])  # fmt: skip
def test_large_whole_numbers_stay_apart(qid):
    """NumPy makes floats of such a list, which are equal."""
    ids = sorted(int(one) for one in qid)
    assert codes_of(qid) == (ids, [ids.index(one) for one in qid])


def test_texts_that_end_in_null_stay_apart():
    for qid in (["a\0", "a", "a\0"], [b"a\0", b"a", b"a\0"], np.array(["a\0", "a", "a\0"], object)):
        assert codes_of(qid) == ([qid[1], qid[0]], [1, 0, 1])


def test_strings_of_any_length():
    qid = np.array(["b", "a", "b"], dtype=np.dtypes.StringDType())
    assert codes_of(qid) == (["a", "b"], [1, 0, 1])


def test_ids_without_an_order():
    """Equal ids are one query; queries are in the order of their first rows."""
    colour = enum.Enum("colour", "red blue")
    naive, aware = datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    first, second = object(), object()
    sets = frozenset([2]), frozenset([1])
    for a, b in (sets, (colour.blue, colour.red), (aware, naive), (second, first)):
        assert codes_of([a, b, a]) == ([a, b], [0, 1, 0])
    sets = [frozenset([row % 20]) for row in range(240)]
    assert codes_of(sets)[1] == [row % 20 for row in range(240)]


def test_objects_with_an_order_ascend():
    tuples, lists = np.empty(3, object), np.empty(3, object)
    for row, one in enumerate((2, 1, 2)):
        tuples[row], lists[row] = (one, 0), [one, 0]
    days = [datetime.date(2020, 1, day) for day in (2, 1, 2)]
    for qid in (tuples, lists, days, [Decimal(2), Decimal(1), Decimal(2)]):
        assert codes_of(qid) == ([qid[1], qid[0]], [1, 0, 1])
    chain = [frozenset(range(n)) for n in (2, 1, 2)]
    assert codes_of(chain) == ([chain[1], chain[0]], [1, 0, 1])


def test_ids_without_a_hash():
    match = "qid has ids of type dict, .* Use whole numbers or text"
    refused(DataError, match, Groups.from_qid, [{}, {}], 2)
