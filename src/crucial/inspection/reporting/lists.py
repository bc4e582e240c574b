"""Best and worst queries: their items in order, and what the page needs to say why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from crucial.data.instances import Instances
from crucial.inspection.parts import feature_parts
from crucial.inspection.reporting.png import data_uri
from crucial.inspection.reporting.subject import Subject
from crucial.measures.evaluation import Evaluation
from crucial.types import Bytes, Floats, Ints

__all__ = ["ranked_lists"]

_QUERIES = 8  # best, and as many worst
_FIRST = 20  # items shown from the top of a list
_MORE = 8  # items with the highest label shown from further down
_CELLS = 60_000  # (item, feature) cells on the page, at most
_FEATURES = 200  # features told apart; the others are added up


def ranked_lists(subject: Subject, found: Evaluation) -> dict[str, Any]:
    """Lists of the queries that a page shows.

    What a feature adds to an item is written as a number of its level, and every level once:
    the page can subtract the exact values of two items.
    """
    values = found.per_query[subject.lead.name]
    chosen = _extremes(values, subject.lead.higher_is_better)
    first = _first(subject, sum(map(len, chosen.values())))
    lists: dict[str, list[Ints]] = {
        side: [_shown(subject, q, first) for q in queries] for side, queries in chosen.items()
    }
    rows = np.array([int(r) for side in lists.values() for one in side for r in one], np.int64)
    told = _told(subject, rows)
    at = {int(row): slot for slot, row in enumerate(rows)}
    pictures = _Album(subject.pictures)
    asked = _Album(subject.query_pictures)
    entries: dict[str, list[dict[str, Any]]] = {side: [] for side in chosen}
    for side, queries in chosen.items():
        for query, shown in zip(queries, lists[side]):
            ranked = subject.rows_of(query)
            place = {int(row): number + 1 for number, row in enumerate(ranked)}
            items = [
                {
                    "id": subject.item_name(int(row)),
                    "place": place[int(row)],
                    "label": float(subject.y[row]),
                    "score": float(subject.scores[row]),
                    "picture": pictures.number(subject.item_name(int(row))),
                    **told.item(at[int(row)]),
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
                    "picture": asked.number(name),
                    "pair": _pair(items),
                    "items": items,
                }
            )
    return {
        **entries,
        "measure": subject.lead.name,
        "features": told.names,
        "levels": told.levels,
        "pictures": pictures.made,
        "query_pictures": asked.made,
        "exact": subject.model is not None,
        "reason": subject.reason,
    }


def _extremes(values: Floats, higher: bool) -> dict[str, list[int]]:
    """The worst queries, worst first, and the best, best first; none is both."""
    signed = values if higher else -values
    there = np.flatnonzero(~np.isnan(values)) if not np.isnan(values).all() else np.arange(1)
    worst = there[np.argsort(signed[there], kind="stable")][: min(_QUERIES, (len(there) + 1) // 2)]
    others = np.setdiff1d(there, worst)
    best = others[np.argsort(-signed[others], kind="stable")][:_QUERIES]
    return {"worst": worst.tolist(), "best": best.tolist()}


def _first(subject: Subject, n_lists: int) -> int:
    """Items from the top of each list, fewer where there are many features."""
    used = min(_FEATURES, 1 if subject.model is None else len(subject.model.weight_by_feature()))
    return max(5, min(_FIRST, _CELLS // max(1, used * n_lists) - _MORE))


def _shown(subject: Subject, query: int, first: int) -> Ints:
    """The first items of a list, and the best labelled that stand too low."""
    ranked = subject.rows_of(query)
    top, rest = ranked[:first], ranked[first:]
    if not len(rest):
        return top
    labels = subject.y[rest]
    good = rest[(labels == subject.y[ranked].max()) & (labels > subject.y[ranked].min())]
    return np.concatenate([top, good[:_MORE]])


def _pair(items: list[dict[str, Any]]) -> list[int]:
    """The two items to begin with: the costliest mistake, or the first of the list."""
    best, pair = 0.0, [0, min(1, len(items) - 1)]
    worth = [1.0 / np.log2(item["place"] + 1.0) for item in items]
    for low, below in enumerate(items):
        for high, above in enumerate(items[:low]):
            cost = (below["label"] - above["label"]) * (worth[high] - worth[low])
            if cost > best:
                best, pair = float(cost), [high, low]
    return pair


class _Told:
    """What the features say of the shown items."""

    def __init__(self, names: list[str], levels: list[list[float]], x: Any, at: Any) -> None:
        self.names, self.levels, self._x, self._at = names, levels, x, at

    def item(self, slot: int) -> dict[str, Any]:
        """Values of one item, and the number of each level."""
        values = [None if v != v else float(f"{v:.6g}") for v in self._x[slot].tolist()]
        return {"x": values, "c": self._at[slot].tolist()}


def _told(subject: Subject, rows: Ints) -> _Told:
    if subject.model is None:
        empty = np.zeros((len(rows), 0))
        return _Told([], [], empty, empty.astype(np.int64))
    table = subject.instances.table
    part = table.tocsr()[rows].tocsc() if subject.instances.is_sparse else table[rows]
    parts = feature_parts(subject.model, Instances(part, subject.instances.names))
    weights = subject.model.weight_by_feature()
    # (a feature that says the same of all shown items explains nothing)
    tells = [s for s in range(len(parts.features)) if len(np.unique(parts.added[:, s])) > 1]
    heavy = sorted(tells, key=lambda s: (-weights.get(int(parts.features[s]), 0.0), s))
    kept, others = sorted(heavy[:_FEATURES]), sorted(heavy[_FEATURES:])
    names = [subject.called(int(parts.features[s])) for s in kept]
    columns = [parts.added[:, s] for s in kept]
    shown = parts.columns[:, kept]
    if others:
        names.append(f"{len(others)} other features")
        columns.append(parts.added[:, others].sum(axis=1))
        shown = np.column_stack([shown, np.full(len(rows), np.nan)])
    levels, at = [], np.zeros((len(rows), len(columns)), np.int64)
    for slot, column in enumerate(columns):
        distinct, at[:, slot] = np.unique(column, return_inverse=True)
        levels.append(distinct.tolist())
    return _Told(names, levels, shown, at)


class _Album:
    """Pictures that occur on the page, each once."""

    def __init__(self, known: Mapping[str, Bytes]) -> None:
        self._known = known
        self._numbers: dict[str, int] = {}
        self.made: list[str] = []

    def number(self, name: str) -> int | None:
        """Number of a picture, or None where there is none of this name."""
        if name not in self._known:
            return None
        if name not in self._numbers:
            self._numbers[name] = len(self.made)
            self.made.append(data_uri(self._known[name]))
        return self._numbers[name]
