"""The files that the demo leaves behind."""

from __future__ import annotations

import os

import numpy as np

from crucial.cli.demo.runs import ListedRun, relevant_documents
from crucial.data.files import atomic_write
from crucial.data.formats.trec import write_qrels, write_run
from crucial.data.problems.digits import SearchProblem
from crucial.data.runs import Qrels, Run
from crucial.model.additive import AdditiveRanker

__all__ = ["write_files"]


def write_files(
    folder: str,
    model: AdditiveRanker,
    train: SearchProblem,
    test: SearchProblem,
    runs: dict[str, ListedRun],
) -> dict[str, str]:
    """Write everything; give the names and what is in them."""
    paths = {
        "model.json": "the model",
        "train.csv": "rows to learn from: label, query, image, minus the place in each list",
        "test.csv": "held-out rows",
        "test.qrels": "every relevant image of every held-out query",
        "rankboost.run": "RankBoost's ranking of the held-out rows, a TREC run",
        "rrf.run": "the same by reciprocal rank fusion",
    }
    at = {name: os.path.join(folder, name) for name in paths}
    model.save(at["model.json"])
    _write_csv(at["train.csv"], train)
    _write_csv(at["test.csv"], test)
    qid, doc = relevant_documents(test)
    write_qrels(at["test.qrels"], Qrels(qid, doc, np.ones(len(qid), np.int64)))
    for name, system in (("rankboost", "RankBoost"), ("rrf", "rank fusion")):
        run = runs[system]
        lists = Run(test.qid[run.rows], test.item[run.rows], run.scores, name)
        write_run(at[f"{name}.run"], lists)
    return paths


def _write_csv(path: str, problem: SearchProblem) -> None:
    """Write places as whole numbers, shorter than `write_table` would; empty: not returned."""
    X = problem.X
    places = np.where(np.isnan(X), "", np.nan_to_num(X).astype(np.int64).astype(str))
    columns = (problem.y.tolist(), problem.qid.tolist(), problem.item.tolist(), places.tolist())
    with atomic_write(path) as file:
        file.write((",".join(["label", "qid", "item", *problem.feature_names]) + "\n").encode())
        for label, qid, item, lists in zip(*columns):
            file.write(f"{label},{qid},{item},{','.join(lists)}\n".encode())
