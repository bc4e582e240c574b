"""Ranges that threads share out."""

import threading
import time
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from crucial.kernels.runtime import count_threads, cut_evenly, cut_lists, over_ranges, run_all
from refusals import refused


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_order(threads):
    assert run_all(threads, [lambda i=i: i * i for i in range(9)]) == [i * i for i in range(9)]
    assert over_ranges([0, 3, 4, 9], threads, lambda a, b: (a, b)) == [(0, 3), (3, 4), (4, 9)]
    assert over_ranges([0], threads, lambda a, b: (a, b)) == []


def test_the_first_failure_ends_the_work():
    done = []

    def work(n):
        if n == 0:
            raise IndexError("the first")
        time.sleep(0.001)  # (the one thread may have to wait for a processor, and the other not)
        done.append(n)

    refused(IndexError, "the first", run_all, 2, [partial(work, n) for n in range(10_000)])
    assert len(done) < 9_999


def test_two_tasks_run_at_the_same_time():
    both = threading.Barrier(2, timeout=600)
    assert sorted(run_all(2, [both.wait, both.wait])) == [0, 1]


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
    assert count_threads(10**30) == max(cores, 64)
