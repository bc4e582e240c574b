"""The LETOR study: its tables, with the values of LETOR's own script."""

import re

import numpy as np
import pytest

from crucial import make_letor
from crucial.data.dataset import Dataset
from crucial.data.formats.svmlight import write_svmlight
from crucial.lab.given_folds import read_folds
from crucial.studies import letor
from crucial.studies.letor import MEASURES, NDCG, PUBLISHED, PUBLISHED_RANKS, RANKERS, main


def letor_folder(folder, seed=0, n_parts=3):
    folder.mkdir(parents=True)
    random = np.random.default_rng(seed)
    for part in range(n_parts):
        data = make_letor(n_queries=8, docs_per_query=10, n_features=4, seed=10 * seed + part)
        y = np.minimum(data.y, 2.0)
        qid = np.asarray(data.qid) + 100 * part
        y[qid == qid[0]] = 0.0  # a query without a relevant document
        X = np.round(data.X + 0.5 * random.normal(size=data.X.shape), 3)
        write_svmlight(folder / f"S{part + 1}.txt", Dataset(X, y, qid))
    return folder


def by_hand(y, scores, k):
    """NDCG as Eval-Score-4.0 computes it: the first two positions are not discounted."""

    def dcg(labels):
        gains = 2.0 ** np.asarray(labels[:k]) - 1
        return sum(g / max(1.0, np.log2(at)) for at, g in enumerate(gains, 1))

    best = dcg(sorted(y, reverse=True))
    return dcg(y[np.argsort(-scores, kind="stable")]) / best if best else 0.0


def test_queries_without_relevant_documents_count_zero(tmp_path):
    task = read_folds(letor_folder(tmp_path / "MQ2007"))
    found = letor.run([task], rounds=6, n_jobs=1)
    assert not found.failures
    blocks = letor.letor_blocks(found, NDCG[1])
    cell = next(one for one in found.cells if one["ranker"] == "RB-C" and one["split"] == "Fold1")
    parts = task.parts(task.splits[0])
    ranker = letor.rankers(6, None)["RB-C"].fit(parts.train.X, parts.train.y, qid=parts.train.qid)
    scores = ranker.truncate(cell["measures"][NDCG[1]]["round"]).predict(parts.test.X)
    test = parts.test
    rows = [np.flatnonzero(test.qid == one) for one in test.groups.ids]
    if all(len(np.unique(scores[at])) == len(at) for at in rows):  # (ties are averaged here)
        expected = np.mean([by_hand(test.y[at], scores[at], 5) for at in rows])
        assert blocks["MQ2007", "RB-C"][0] == pytest.approx(expected)
    queries = cell["per_query"][NDCG[1]]
    assert queries.count(None) == 1
    assert blocks["MQ2007", "RB-C"][0] == pytest.approx(cell["measures"][NDCG[1]]["value"] * 7 / 8)


def test_ndcg_of_letor_by_hand():
    from crucial import evaluate

    y, scores = np.array([1.0, 0, 2, 0, 1, 2]), np.array([5.0, 4, 3, 2.5, 1, 0])
    for k, name in zip((3, 5), NDCG):
        assert evaluate(y, scores, measures=name)[name] == pytest.approx(by_hand(y, scores, k))


def test_both_tables_are_printed_beside_the_published_ones(tmp_path, capsys):
    folders = [str(letor_folder(tmp_path / name, at)) for at, name in enumerate(PUBLISHED)]
    options = ["--rounds", "4", "--jobs", "1", "--folder", str(tmp_path / "cells")]
    assert main([*folders, *options]) == 0
    said = capsys.readouterr().out
    assert "failed" not in said
    table_2, mq2007, mq2008 = re.split("Table 4", said)
    assert "average rank over 6 folds" in table_2
    for measure in MEASURES:
        line = next(one for one in table_2.splitlines() if one.startswith(measure))
        ours = [float(one) for one in re.findall(r"([\d.]+) \[", line)]
        assert sum(ours) == pytest.approx(6.0, abs=0.02)  # ranks of three
        assert all(f"[{value:.1f}]" in line for value in PUBLISHED_RANKS[measure])
        for text, name in ((mq2007, "MQ2007"), (mq2008, "MQ2008")):
            line = next(one for one in text.splitlines() if one.startswith(measure))
            assert all(f"[{value:.4f}]" in line for value in PUBLISHED[name][measure])
            assert len(re.findall(r"(0\.\d{4}) \[", line)) == len(RANKERS)
    assert "critical difference 1.353 [1.048]" in table_2
    assert main([folders[0], *options, "--tables", "4"]) == 0
    said = capsys.readouterr().out
    assert "Table 2" not in said
    assert "Table 4: MQ2007" in said


def test_the_published_ranks_are_ranks():
    for ranks in PUBLISHED_RANKS.values():
        assert sum(ranks) == pytest.approx(6.0)


def test_a_folder_without_folds(tmp_path, capsys):
    assert main([str(tmp_path)]) == 2
    assert "there are no folds" in capsys.readouterr().err
