"""Parts in this process, and what they are made from."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from crucial import Bins, Instances
from crucial.distributed.messages import LocalParts, PartRows
from crucial.errors import DataError


@dataclass
class Count:
    value: int

    def merge(self, other):
        return Count(self.value + other.value)


class Counter:
    def __init__(self, start):
        self.value = start

    def add(self, more):
        self.value += more
        return Count(self.value)

    def plain(self):
        return self.value

    def maybe(self):
        return Count(self.value) if self.value else None


def test_local_parts_merge_in_order():
    parts = LocalParts([Counter(1), Counter(2), Counter(0)])
    assert parts.n_parts == 3
    assert parts.total("add", 0, changes=True) == Count(3)
    assert parts.call("plain") == [1, 2, 0]
    assert parts.call("maybe") == [Count(3)]


def coded(n):
    table = Instances.from_input(np.arange(float(2 * n)).reshape(n, 2))
    return Bins.build(table, np.arange(n))


def test_part_rows_of_other_lengths_are_refused():
    bins = coded(3)
    PartRows(bins, np.zeros(3), np.zeros(3, np.int64))
    with pytest.raises(DataError, match=r"3 rows has labels of shape \(2,\)"):
        PartRows(bins, np.zeros(2), np.zeros(3, np.int64))
    wide = replace(bins, codes=bins.codes.astype(np.uint16))
    with pytest.raises(DataError, match="at most 255 bins"):
        PartRows(wide, np.zeros(3), np.zeros(3, np.int64))
