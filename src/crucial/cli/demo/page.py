"""The page that the demo writes: the report, with pictures of the digits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from crucial.data.instances import Instances
from crucial.data.problems.digits import SearchProblem
from crucial.inspection.report_page import report
from crucial.model.additive import AdditiveRanker

__all__ = ["write_page"]

_MEASURES = ("ndcg@10", "p@10", "mrr")
_INK = 16  # the darkest value of an image


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
