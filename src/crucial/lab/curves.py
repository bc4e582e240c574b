"""Measures after every round, computed for many rounds at a time."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from crucial.data.groups import Groups
from crucial.lab.adapter import is_scorer
from crucial.lab.tasks import TaskRows
from crucial.measures.base import CustomMeasure, Measure, summarise
from crucial.measures.lists import as_numbers
from crucial.types import Floats

__all__ = ["curve", "curves", "stages"]


#: Scores in memory at a time.
_AT_ONCE = 1_000_000


def stages(estimator: object, part: TaskRows) -> Iterator[Floats] | None:
    """Yield the scores of the rows after every round; None for what does not learn in rounds."""
    name = "staged_predict"
    if not is_scorer(estimator):
        if len(getattr(estimator, "classes_", ())) > 2:
            return None
        name = "staged_decision_function"
    method = getattr(estimator, name, None)
    if method is None:
        return None
    more = {"qid": part.qid} if "qid" in inspect.signature(method).parameters else {}
    found: Iterator[Floats] = iter(method(part.X, **more))
    return found


def curve(measure: Measure, part: TaskRows, scores: Floats) -> Floats:
    """Return the value of a measure for every row of a table of scores, one row per round.

    Equal to ``measure(part.y, row, part.groups)`` for each row, and faster: the rounds are measured
    at once, as if they were other queries.
    """
    n_rounds, n_rows = scores.shape
    if isinstance(measure, CustomMeasure):  # (it may look at the names of the queries)
        prepared = measure.prepare(part.y, part.groups)
        return np.array([prepared(row) for row in scores])
    groups = part.groups
    n_groups = groups.n_groups
    # Queries of round r follow those of round r - 1; inside, the order stays.
    starts = groups.starts[:-1][None, :] + n_rows * np.arange(n_rounds)[:, None]
    order = groups.order[None, :] + n_rows * np.arange(n_rounds)[:, None]
    many = Groups(
        np.arange(n_rounds * n_groups),
        np.append(starts.ravel(), n_rounds * n_rows).astype(np.int64),
        order.ravel(),
    )
    prepared = measure.prepare(np.tile(part.y, n_rounds), many)
    values = prepared.per_query(scores.ravel()).reshape(n_rounds, n_groups)
    weights = prepared.bound.weights
    if measure.aggregate == "mean" and not np.isnan(values).any():
        return np.asarray(values.mean(axis=1))  # (as below, at once)
    inside = None if weights is None else weights[:n_groups]
    return np.array([summarise(row, inside, measure.aggregate, "skip")[0] for row in values])


def curves(
    rounds: Iterable[Floats], part: TaskRows, measures: Iterable[Measure]
) -> tuple[dict[str, Floats], int]:
    """Return the value of every measure after every round, and the number of rounds."""
    source, chosen = iter(rounds), list(measures)
    at_once = max(1, _AT_ONCE // max(1, len(part.y)))
    found: dict[str, list[Floats]] = {one.name: [] for one in chosen}
    count = 0
    while block := list(islice(source, at_once)):
        scores = np.stack([as_numbers(row, "scores", len(part.y)) for row in block])
        for one in chosen:
            found[one.name].append(curve(one, part, scores))
        count += len(block)
    return {
        name: np.concatenate(some) if some else np.empty(0) for name, some in found.items()
    }, count
