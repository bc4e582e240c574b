"""Fusions give what ranx gives, where it has them.

Not held against it: Condorcet (its order depends on that of a Python set, and it counts a run
without either document as a vote for the second), median rank (it has the median of scores).
"""

import json

import numpy as np
import pytest

from agreement.ranx_values import RECORD, by_ranx, make_runs, measured_by_ranx
from crucial.data.dataset import Run
from crucial.fusion import fuse

RECORDED = json.loads(RECORD.read_text())["fusions"]


def ours(name):
    method, norm = name.split()
    runs = {}
    for number, queries in enumerate(make_runs()):
        rows = [(q, d, s) for q, docs in queries.items() for d, s in docs.items()]
        qid, doc, score = zip(*rows)
        runs[f"r{number}"] = Run(list(qid), list(doc), np.array(score))
    run = fuse(runs, method, k=20, normalise=norm)
    found = {}
    for qid, doc, score in zip(run.qid, run.doc, run.score):
        found.setdefault(qid, {})[doc] = float(score)
    return found


@pytest.mark.parametrize("name", RECORDED)
def test_as_recorded(name):
    found = ours(name)
    assert found.keys() == RECORDED[name].keys()
    for query, docs in RECORDED[name].items():
        assert found[query] == pytest.approx(docs, rel=1e-12, abs=1e-12)


@pytest.mark.slow
def test_the_record_is_what_ranx_says():
    pytest.importorskip("ranx")
    said = by_ranx()
    assert said.keys() == RECORDED.keys()
    for name, queries in said.items():
        for query, docs in queries.items():
            assert RECORDED[name][query] == pytest.approx(docs, rel=1e-12, abs=1e-12)
    measured = json.loads(RECORD.read_text())["measures"]
    for record, values in measured_by_ranx().items():
        assert measured[record] == pytest.approx(values, rel=1e-12)
