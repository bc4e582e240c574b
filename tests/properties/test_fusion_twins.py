"""Fusions agree with their definitions; no order of anything changes them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucial.data.dataset import Run
from crucial.fusion import Pool, fuse
from crucial.fusion.rules import METHODS, Fusion
from crucial.kernels.predict import NOT_RETURNED, sort_by_majority
from naive import fusions

quiet = settings(deadline=None)
scores = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e3, 1e3, width=16))
lists = st.dictionaries(st.sampled_from("abcdefgh"), scores, max_size=6)
# Two queries of three runs, some of them empty.
problems = st.lists(st.tuples(lists, lists), min_size=2, max_size=4).filter(
    lambda runs: all(any(run) for run in runs)
)


def as_runs(problem, queries=("1", "2")):
    made = {}
    for number, run in enumerate(problem):
        rows = [(t, d, s) for t, one in zip(queries, run) for d, s in one.items()]
        qid, doc, score = zip(*rows)
        made[f"r{number}"] = Run(list(qid), list(doc), np.array(score), f"r{number}")
    return made


def by_query(run):
    out = {}
    for qid, doc, score in zip(run.qid, run.doc, run.score):
        out.setdefault(qid, {})[doc] = float(score)
    return out


@pytest.mark.parametrize("method", [name for name in METHODS if name != "condorcet"])
@quiet
@given(problem=problems, how=st.sampled_from(["min-max", "z-score", "rank"]), k=st.floats(0, 99))
def test_definitions(method, problem, how, k):
    found = by_query(fuse(as_runs(problem), method, k=k, normalise=how, depth=None))
    for at, query in enumerate(("1", "2")):
        runs = [run[at] for run in problem]
        if not any(runs):
            continue
        expected = fusions.fused(runs, method, k, how)
        assert found[query].keys() == expected.keys()
        for doc, value in expected.items():
            # (half precision numbers that are nearly equal have a spread of nearly nothing)
            assert found[query][doc] == pytest.approx(value, rel=1e-6, abs=1e-6)


@quiet
@given(problem=problems)
def test_neighbours_in_condorcet_order_agree_with_the_majority(problem):
    found = fuse(as_runs(problem), "condorcet", depth=None)
    for at, query in enumerate(("1", "2")):
        runs = [run[at] for run in problem]
        docs = [d for q, d in zip(found.qid, found.doc) if q == query]
        assert sorted(docs) == fusions.candidates(runs)
        docs_scores = [s for q, s in zip(found.qid, found.score) if q == query]
        assert docs_scores == list(range(len(docs), 0, -1))
        # The last comparison of every merge that put two neighbours together holds.
        if all(
            fusions.majority(runs, a, b) != 0 or a == b for a in docs for b in docs
        ) and _transitive(runs, docs):
            for i, a in enumerate(docs):
                assert all(fusions.majority(runs, a, b) > 0 for b in docs[i + 1 :])


def _transitive(runs, docs):
    beats = {(a, b) for a in docs for b in docs if fusions.majority(runs, a, b) > 0}
    return all((a, c) in beats for a, b in beats for c in docs if (b, c) in beats)


@pytest.mark.kernels
@quiet
@given(data=st.data())
def test_sorting_by_majority_is_a_merge_sort(data):
    sizes = data.draw(st.lists(st.integers(0, 9), min_size=1, max_size=4))
    n, runs = sum(sizes), data.draw(st.integers(1, 5))
    cell = st.one_of(st.integers(1, 6), st.just(int(NOT_RETURNED)))
    table = data.draw(st.lists(cell, min_size=n * runs, max_size=n * runs))
    positions = np.array(table, np.int32).reshape(n, runs)
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    order = np.arange(n)
    sort_by_majority(positions, starts, order)
    for begin, end in pairwise(starts):
        expected = fusions.sorted_by_majority(positions, range(begin, end))
        assert order[begin:end].tolist() == expected
        assert sorted(expected) == list(range(begin, end))


@quiet
@given(problem=problems)
def test_a_part_of_the_queries_is_fused_as_the_whole(problem):
    pool = Pool.of(as_runs(problem))
    for query in range(pool.n_queries):
        wanted = np.arange(pool.n_queries) == query
        part = pool.of_queries(wanted)
        rows = pool.query_of_row == query
        assert part.doc.tolist() == pool.doc[rows].tolist()
        for method in METHODS:
            assert (
                Fusion(method).scores(part).tolist() == Fusion(method).scores(pool)[rows].tolist()
            )
