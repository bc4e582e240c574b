"""The files that the demo writes; the last is a report with pictures of the digits."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from crucial.cli.demo.systems import System, judgements
from crucial.data.files import atomic_write
from crucial.data.instances import Instances
from crucial.data.problems import SearchProblem
from crucial.inspection.report_page import report
from crucial.io.runs import write_qrels, write_run
from crucial.model.additive import AdditiveRanker

__all__ = ["write_files", "write_page"]

_MEASURES = ("ndcg@10", "p@10", "mrr")
_INK = 16  # the darkest value of an image

_FILES = {
    "model.json": "the model",
    "train.csv": "rows to learn from: label, query, image, minus the place in each list",
    "test.csv": "held-out rows",
    "test.qrels": "every relevant image of every held-out query",
    "rankboost.run": "RankBoost's ranking of the held-out rows, a TREC run",
    "rrf.run": "the same by reciprocal rank fusion",
}


def write_files(
    folder: str,
    model: AdditiveRanker,
    train: SearchProblem,
    test: SearchProblem,
    systems: dict[str, System],
) -> dict[str, str]:
    """Write the model, the rows, the judgements and the runs; return what each file is."""
    paths = {name: os.path.join(folder, name) for name in _FILES}
    model.save(paths["model.json"])
    _write_csv(paths["train.csv"], train)
    _write_csv(paths["test.csv"], test)
    write_qrels(paths["test.qrels"], judgements(test))
    write_run(paths["rankboost.run"], systems["RankBoost"].run)
    write_run(paths["rrf.run"], systems["rank fusion"].run)
    return dict(_FILES)


def _write_csv(path: str, problem: SearchProblem) -> None:
    """Write places as integers, shorter than `write_table` would; empty: not returned."""
    X = problem.X
    places = np.where(np.isnan(X), "", np.nan_to_num(X).astype(np.int64).astype(str))
    columns = (problem.y.tolist(), problem.qid.tolist(), problem.item.tolist(), places.tolist())
    with atomic_write(path) as file:
        file.write((",".join(["label", "qid", "item", *problem.feature_names]) + "\n").encode())
        for label, qid, item, lists in zip(*columns):
            file.write(f"{label},{qid},{item},{','.join(lists)}\n".encode())


def write_page(
    path: str, model: AdditiveRanker, test: SearchProblem, trace: Mapping[str, Sequence[Any]]
) -> None:
    """Write a report on the held-out queries; every image is shown as a thumbnail."""
    names = np.array([f"{digit} (image {n})" for n, digit in enumerate(test.digit.tolist())])
    grey = (255 - test.images.astype(np.int64) * 255 // _INK).astype(np.uint8)
    pictures = dict(zip(names.tolist(), grey))
    page = report(
        model,
        Instances(test.X, test.feature_names),
        test.y,
        qid=names[test.qid],
        item=names[test.item],
        metrics=_MEASURES,
        title="Seven search engines over handwritten digits",
        subtitle=(
            f"Fused by RankBoost; {len(test.queries):,} held-out queries. A query is an image, and "
            "an image is relevant (label 1) if it shows the same digit."
        ),
        trace=trace,
        notes=[
            "A value is minus the place in an engine's list, -1 for the first image; it is missing "
            "where the engine did not return the image.",
            "Only images that some engine returned are ranked.",
        ],
        pictures=pictures,
        query_pictures=pictures,
    )
    page.save(path)
