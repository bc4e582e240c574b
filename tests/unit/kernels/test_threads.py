"""Ranges that threads share out."""

from itertools import pairwise

import numpy as np
import pytest

from crucial.kernels.threads import count_threads, cut_evenly, cut_lists, over_ranges, run_all


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_order(threads):
    assert run_all(threads, [lambda i=i: i * i for i in range(9)]) == [i * i for i in range(9)]
    assert over_ranges([0, 3, 4, 9], threads, lambda a, b: (a, b)) == [(0, 3), (3, 4), (4, 9)]
    assert over_ranges([0], threads, lambda a, b: (a, b)) == []


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 20])
@pytest.mark.parametrize("sizes", [[5], [1, 1, 1], [0, 0, 9, 0, 1], [3, 50, 2, 2, 2, 40], []])
def test_lists_are_never_split(sizes, parts):
    starts = np.cumsum([0, *sizes])
    bounds = cut_lists(starts, parts)
    assert bounds[0] == 0
    assert bounds[-1] == len(sizes)
    assert all(a < b for a, b in pairwise(bounds))
    assert len(bounds) <= parts + 1
    goal = starts[-1] / parts
    assert all(starts[b] - starts[a] <= goal + 1 + max(sizes) for a, b in pairwise(bounds))


def test_even_parts_differ_by_one():
    bounds = cut_evenly(3, 25, 4)
    assert (bounds[0], bounds[-1]) == (3, 25)
    assert {b - a for a, b in pairwise(bounds)} <= {5, 6}


def test_numbers_of_threads():
    cores = count_threads(None)
    assert count_threads(-1) == cores
    assert count_threads(3) == 3
    assert count_threads(-1000) == 1
