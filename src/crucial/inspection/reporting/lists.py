"""Best and worst queries: their items in order, and the parts of their scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from crucial.inspection.parts import feature_parts
from crucial.inspection.reporting.png import data_uri
from crucial.inspection.reporting.reasons import JointReasons
from crucial.inspection.reporting.subject import PageData, Subject
from crucial.measures.evaluation import Evaluation
from crucial.model.tree_table import cell_text
from crucial.types import Bytes, Floats, Ints
from crucial.wording import counted

__all__ = ["ranked_lists"]

_QUERIES = 8  # best, and as many worst
_FIRST_ITEMS = 20  # items shown from the top of a list
_FIRST_OF_TREES = 12  # the same where every pair of items has its own reasons
_MORE = 8  # items with the highest label shown from further down
_LIST_CELLS = 60_000  # (item, feature) cells on the page, at most
_FEATURES = 200  # features shown; the others are summed


class _Item(TypedDict):
    """An item of a list."""

    id: str
    place: int
    label: float
    score: float
    picture: int | None
    x: list[float | str | None]
    c: list[int]


def ranked_lists(subject: Subject, found: Evaluation) -> PageData:
    """Return the lists of the best and the worst queries.

    What a feature adds to an item is stored as the number of a level, and each level once, so that
    the page can subtract the exact values of two items.
    """
    values = found.per_query[subject.lead.name]
    chosen = _extremes(values, subject.lead.higher_is_better)
    first = _first(subject, sum(map(len, chosen.values())))
    lists: dict[str, list[Ints]] = {
        side: [_shown(subject, q, first) for q in queries] for side, queries in chosen.items()
    }
    rows = np.array([int(r) for side in lists.values() for one in side for r in one], np.int64)
    joint = _joint(subject, rows, [len(one) for side in lists.values() for one in side])
    parts = _parts_of(subject, rows) if joint is None else _values_of(subject, rows, joint)
    number = 0
    at = {int(row): slot for slot, row in enumerate(rows)}
    pictures = _Album(subject.pictures)
    query_pictures = _Album(subject.query_pictures)
    entries: dict[str, list[PageData]] = {side: [] for side in chosen}
    for side, queries in chosen.items():
        for query, shown in zip(queries, lists[side]):
            ranked = subject.rows_of(query)
            place = {int(row): number + 1 for number, row in enumerate(ranked)}
            items: list[_Item] = [
                {
                    "id": subject.item_name(int(row)),
                    "place": place[int(row)],
                    "label": float(subject.y[row]),
                    "score": float(subject.scores[row]),
                    "picture": pictures.number(subject.item_name(int(row))),
                    "x": parts.values[at[int(row)]],
                    "c": parts.levels_of[at[int(row)]],
                }
                for row in shown
            ]
            name = str(subject.groups.ids[query]) if subject.has_queries else "all rows"
            entries[side].append(
                {
                    "qid": name,
                    "value": None if np.isnan(values[query]) else float(values[query]),
                    "length": len(ranked),
                    "relevant": int((subject.y[ranked] > 0).sum()),
                    "picture": query_pictures.number(name),
                    "pair": _pair(items),
                    "items": items,
                    "reasons": None if joint is None else joint.of_list(number),
                }
            )
            number += 1
    return {
        **entries,
        "measure": subject.lead.name,
        "features": parts.names,
        "levels": parts.levels,
        "pictures": pictures.uris,
        "query_pictures": query_pictures.uris,
        "exact": subject.model is not None,
        "reason": subject.reason,
    }


def _extremes(values: Floats, higher: bool) -> dict[str, list[int]]:
    """Return the worst queries, worst first, and the best, best first; none is both."""
    signed = values if higher else -values
    there = np.flatnonzero(~np.isnan(values)) if not np.isnan(values).all() else np.arange(1)
    worst = there[np.argsort(signed[there], kind="stable")][: min(_QUERIES, (len(there) + 1) // 2)]
    others = np.setdiff1d(there, worst)
    best = others[np.argsort(-signed[others], kind="stable")][:_QUERIES]
    return {"worst": worst.tolist(), "best": best.tolist()}


def _first(subject: Subject, n_lists: int) -> int:
    """Return how many items from the top of each list to show, fewer with many features."""
    used = min(_FEATURES, 1 if subject.model is None else len(subject.heaviest))
    most = _FIRST_ITEMS if subject.order == 1 else _FIRST_OF_TREES
    return max(5, min(most, _LIST_CELLS // max(1, used * n_lists) - _MORE))


def _shown(subject: Subject, query: int, first: int) -> Ints:
    """Return the first items of a list, and items further down with the highest label."""
    ranked = subject.rows_of(query)
    top, rest = ranked[:first], ranked[first:]
    if not len(rest):
        return top
    labels = subject.y[rest]
    good = rest[(labels == subject.y[ranked].max()) & (labels > subject.y[ranked].min())]
    return np.concatenate([top, good[:_MORE]])


def _pair(items: list[_Item]) -> list[int]:
    """Return the two items to compare first: the costliest mistake, or the top of the list."""
    best, pair = 0.0, [0, min(1, len(items) - 1)]
    worth = [1.0 / np.log2(item["place"] + 1.0) for item in items]
    for low, below in enumerate(items):
        for high, above in enumerate(items[:low]):
            cost = (below["label"] - above["label"]) * (worth[high] - worth[low])
            if cost > best:
                best, pair = float(cost), [high, low]
    return pair


@dataclass(frozen=True)
class _Parts:
    """What the features add to the shown items.

    Attributes
    ----------
    names : list of str
        Names of the features.
    levels : list of list of float
        The distinct values that each feature adds.
    values : list of list
        Values of the features, by item: categories and dates as text; None where one is missing.
    levels_of : list of list of int
        Number of the level of each feature, by item.
    """

    names: list[str]
    levels: list[list[float]]
    values: list[list[float | str | None]]
    levels_of: list[list[int]]


def _parts_of(subject: Subject, rows: Ints) -> _Parts:
    """Split the scores of the shown items, where the ranker can be split."""
    if subject.model is None:
        nothing: list[list[Any]] = [[] for _ in rows]
        return _Parts([], [], nothing, nothing)
    parts = feature_parts(subject.model, subject.instances.take_rows(rows))
    weights = subject.model.weight_by_feature()
    # (a feature that adds the same to all shown items explains nothing)
    differ = [s for s in range(len(parts.features)) if len(np.unique(parts.added[:, s])) > 1]
    heavy = sorted(differ, key=lambda s: (-weights.get(int(parts.features[s]), 0.0), s))
    kept, others = sorted(heavy[:_FEATURES]), sorted(heavy[_FEATURES:])
    names = [subject.feature_title(int(parts.features[s])) for s in kept]
    columns = [parts.added[:, s] for s in kept]
    if others:
        names.append(counted(len(others), "other feature"))
        columns.append(parts.added[:, others].sum(axis=1))
    levels, at = [], np.zeros((len(rows), len(columns)), np.int64)
    for slot, column in enumerate(columns):
        distinct, at[:, slot] = np.unique(column, return_inverse=True)
        levels.append(distinct.tolist())
    own = [int(parts.features[s]) for s in kept]
    values = _texts(subject, rows, own)
    if others:
        values = [[*row, None] for row in values]
    return _Parts(names, levels, values, at.tolist())


def _texts(subject: Subject, rows: Ints, features: list[int]) -> list[list[float | str | None]]:
    """Return values of features by row: numbers, the names of categories, dates as text."""
    assert subject.model is not None
    part, encodings = subject.instances.take_rows(rows), subject.model.encodings
    columns: list[list[float | str | None]] = []
    for feature in features:
        numbers = part.column(feature).astype(np.float64).tolist()
        if feature in encodings.categories or feature in encodings.times:
            texts = [cell_text(encodings, part, row, feature) for row in range(len(rows))]
            columns.append([None if text == "missing" else text for text in texts])
        else:
            columns.append([None if v != v else float(f"{v:.6g}") for v in numbers])
    return [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in rows]


def _joint(subject: Subject, rows: Ints, sizes: list[int]) -> JointReasons | None:
    """Return the reasons of all pairs of shown items, where trees combine features."""
    if subject.model is None or subject.order == 1:
        return None
    return JointReasons(subject.model, subject.instances.take_rows(rows), sizes)


def _values_of(subject: Subject, rows: Ints, joint: JointReasons) -> _Parts:
    """Return the values of the features that are named as reasons; nothing is added alone."""
    values = _texts(subject, rows, list(joint.features))
    nothing: list[list[Any]] = [[] for _ in rows]
    names = [subject.feature_title(feature) for feature in joint.features]
    return _Parts(names, [], values, nothing)


class _Album:
    """The pictures of the page, each once."""

    def __init__(self, known: Mapping[str, Bytes]) -> None:
        self._known = known
        self._numbers: dict[str, int] = {}
        self.uris: list[str] = []

    def number(self, name: str) -> int | None:
        """Return the number of a picture, or None if there is none of this name."""
        if name not in self._known:
            return None
        if name not in self._numbers:
            self._numbers[name] = len(self.uris)
            self.uris.append(data_uri(self._known[name]))
        return self._numbers[name]
