"""The same runs and judgements as ir-measures reads."""

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from crucial.data.dataset import Qrels, Run
from crucial.io.runs import read_qrels, read_run, write_qrels, write_run
from crucial.io.svmlight import read_svmlight
from crucial.kernels import runtime

ir_measures = pytest.importorskip("ir_measures")


def test_files_are_read_alike(tmp_path):
    rng = np.random.default_rng(0)
    qid = np.repeat([f"q{i}" for i in range(5)], 8).tolist()
    doc = [f"d{i % 8}" for i in range(40)]
    run = Run(qid, doc, np.round(rng.normal(size=40), 1), "me")
    write_run(tmp_path / "run", run)
    write_qrels(tmp_path / "qrels", Qrels(qid, doc, rng.integers(-2, 4, 40)))
    theirs = [
        (r.query_id, r.doc_id, r.score) for r in ir_measures.read_trec_run(str(tmp_path / "run"))
    ]
    ours = read_run(tmp_path / "run")
    assert list(zip(ours.qid, ours.doc, ours.score.tolist())) == theirs
    judged = [(q.query_id, q.doc_id, q.relevance)
              for q in ir_measures.read_trec_qrels(str(tmp_path / "qrels"))]  # fmt: skip
    qrels = read_qrels(tmp_path / "qrels")
    assert list(zip(qrels.qid, qrels.doc, qrels.relevance.tolist())) == judged


# -- the same arrays as scikit-learn's reader, where it can read the file -------------------------


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize(
    "small", [1 << 20, pytest.param(2, marks=pytest.mark.kernels)], ids=["plain", "compiled"]
)
def test_its_own_files(tmp_path, monkeypatch, zero_based, small):
    monkeypatch.setattr(runtime, "TEXT_PLAIN", small)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 7)) * 10.0 ** rng.integers(-30, 30, size=(50, 7))
    X[rng.random(X.shape) < 0.3] = 0
    X[0, 0] = 1.0
    y, qid = rng.integers(0, 5, 50).astype(float), np.sort(rng.integers(0, 9, 50))
    path = tmp_path / "x.txt"
    dump_svmlight_file(X, y, str(path), query_id=qid, zero_based=zero_based, comment="made")
    theirs = load_svmlight_file(str(path), query_id=True, zero_based=zero_based, n_features=7)
    ours = read_svmlight(path)
    np.testing.assert_array_equal(ours.X, theirs[0].toarray())
    np.testing.assert_array_equal(ours.y, theirs[1])
    np.testing.assert_array_equal(ours.qid, theirs[2])
