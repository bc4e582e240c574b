"""What a ranker learned, as plain data that a page can draw."""

from __future__ import annotations

from collections import Counter

import numpy as np

from crucial.inspection.pair_shapes import PairShape
from crucial.inspection.reporting.subject import PageData, Subject
from crucial.inspection.shape_functions import FeatureShape, shapes
from crucial.model.tree_table import boosted_lines

__all__ = ["shape_facts", "tree_facts"]

_SHAPES = 200  # features drawn, at most
_STEPS = 16_000  # steps drawn of all features together
_RAMP_PARTS = 16  # what a ramp is drawn as
_UNUSED = 300  # unused features named
_PAIRS = 24  # pairs of features drawn, at most
_CELLS = 24  # cells drawn per feature of a pair
_TREES = 3  # trees written out
_NODES = 31  # nodes of a tree written out


def shape_facts(subject: Subject) -> PageData | None:
    """Return the functions of the heaviest features and pairs, as steps that a page can draw."""
    if subject.model is None or subject.order > 2:
        return None
    found = shapes(subject.model, subject.instances)
    shown = found.features[:_SHAPES]
    steps = sum(len(one.values) for one in shown)
    most = max(8, _STEPS // max(1, len(shown))) if steps > _STEPS else steps
    return {
        "features": [_drawn(one, subject, most) for one in shown],
        "not_drawn": len(found.features) - len(shown),
        "used": len(found.features),
        "unused": list(found.unused[:_UNUSED]),
        "n_unused": len(found.unused),
        "pairs": [_drawn_pair(one, subject) for one in found.pairs[:_PAIRS]],
        "n_pairs": len(found.pairs),
        "importance": subject.model.importance_of,
    }


def _drawn_pair(one: PairShape, subject: Subject) -> PageData:
    """Return the table of a pair without missing values, at most `_CELLS` cells per feature."""
    kept = [
        np.unique(np.linspace(0, len(cuts), min(len(cuts) + 1, _CELLS)).round().astype(np.int64))
        for cuts in one.thresholds
    ]
    values = one.values[1:, 1:][np.ix_(*kept)]
    # A kept cell begins where the one before it ends.
    edges = [cuts[cells[:-1]] for cuts, cells in zip(one.thresholds, kept, strict=True)]
    return {
        "names": [subject.feature_title(feature) for feature in one.features],
        "weight": one.importance,
        "edges": [[_short(edge) for edge in part.tolist()] for part in edges],
        "values": [[_short(value) for value in row] for row in values.tolist()],
        "missing": [float(np.abs(one.values[0]).max()), float(np.abs(one.values[:, 0]).max())],
        "thinned": values.size < one.values[1:, 1:].size,
    }


def tree_facts(subject: Subject) -> PageData | None:
    """Return the gains of the features and the first trees, where trees combine many features."""
    if subject.model is None or subject.order <= 2:
        return None
    trees = subject.model.tree_sums
    assert trees is not None
    return {
        "features": [[subject.feature_title(f), share] for f, share in subject.heaviest[:_SHAPES]],
        "used": len(subject.heaviest),
        "importance": subject.model.importance_of,
        "order": subject.order,
        "trees": len(trees.trees),
        "first": [
            "\n".join(boosted_lines(tree, subject.names, _NODES, subject.model.encodings))
            for tree in trees.trees[:_TREES]
        ],
    }


def _drawn(one: FeatureShape, subject: Subject, most: int) -> PageData:
    """Return the edges of cells, what is added in each, and the share of rows."""
    if one.categories:
        return _drawn_categories(one, subject, most)
    edges, values, share = one.thresholds, one.values, one.share
    if one.ramps:
        parts = [np.linspace(ramp.low, ramp.high, _RAMP_PARTS + 1) for ramp in one.ramps]
        edges = np.unique(np.concatenate([edges, *parts]))
        middle = (edges[:-1] + edges[1:]) / 2
        values = np.array([one(float(v)) for v in (edges[0], *middle, np.inf)])
        share = None
    elif len(edges) > most:
        keep = np.unique(np.linspace(0, len(edges) - 1, most).round().astype(np.int64))
        edges, values = edges[keep], np.append(one.values[keep], one.values[-1])
        share = None
    if share is None:
        column = subject.instances.column(one.feature)
        inside = edges.searchsorted(column[~np.isnan(column)].astype(np.float64))
        share = np.bincount(inside, minlength=len(edges) + 1) / max(1, len(column))
    return {
        "name": subject.feature_title(one.feature),
        "weight": one.share_of_weight,
        "direction": one.direction,
        "edges": [_short(edge) for edge in edges.tolist()],
        "values": [_short(value) for value in values.tolist()],
        "share": [round(part, 5) for part in share.tolist()],
        "missing": _short(one.missing),
        "missing_share": one.share_missing,
        "even": bool(one.ramps),
        "thinned": len(one.values) if len(values) < len(one.values) else 0,
    }


def _drawn_categories(one: FeatureShape, subject: Subject, most: int) -> PageData:
    """Return what each category adds, and its share of rows, largest first; of many, the ends."""
    parts = list(one.by_category().items())
    kept = parts if len(parts) <= most else [*parts[: most // 2], *parts[-(most // 2) :]]
    source = subject.instances.origin or subject.instances
    texts = [source.text(row, one.feature) for row in range(source.n_rows)]
    counts = Counter(texts)
    return {
        "name": subject.feature_title(one.feature),
        "weight": one.share_of_weight,
        "direction": one.direction,
        "edges": [],
        "categories": [text for text, _ in kept],
        "values": [_short(part) for _, part in kept],
        "share": [round(counts[text] / len(texts), 5) for text, _ in kept],
        "missing": _short(one.missing),
        "missing_share": one.share_missing,
        "even": False,
        "thinned": len(parts) if len(kept) < len(parts) else 0,
    }


def _short(value: float) -> float:
    return float(f"{value:.7g}")
