"""A report on a ranker, one page: measures, curves, learned shapes, best and worst queries."""

from __future__ import annotations

import base64
import math
import re
import struct
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from crucial.data.arrays import as_array
from crucial.data.groups import Groups
from crucial.data.instances import Instances, as_table, take_rows
from crucial.errors import DataError, NotRankedError, ParameterError
from crucial.feedback.labels import check_labels
from crucial.inspection.curves import calibration_curve, read_rows, roc_curve
from crucial.inspection.explain import pair_differences
from crucial.inspection.guarantees import margins, training_bound
from crucial.inspection.importance import importances, scored_rows
from crucial.inspection.learning_curves import learning_curve
from crucial.inspection.shape_functions import (
    FeatureShape,
    PairShape,
    additive_model,
    feature_parts,
    shapes,
)
from crucial.kernels.predict import run_starts
from crucial.measures.base import Measure
from crucial.measures.evaluation import Evaluation, evaluate
from crucial.measures.names import Measures, default_measure, get_measures
from crucial.model.additive import AdditiveRanker
from crucial.model.base import FrozenModel
from crucial.model.tree_table import boosted_lines, cell_text
from crucial.pages import Page
from crucial.parameters import at_least, check, instance_of, mapping
from crucial.results import feature_name
from crucial.types import Bytes, Floats, Ints, Objects, TableLike, VectorLike
from crucial.wording import counted

# --- The subject of a report: a ranker and labelled rows, checked once


#: A part of the page as plain data.
PageData: TypeAlias = dict[str, object]


@dataclass(frozen=True, eq=False)
class Subject:
    """A ranker on labelled rows.

    Attributes
    ----------
    ranker, X : the ranker and the rows as the caller passed them
    model : AdditiveRanker or None
        The ranker as a sum of functions of features and of trees; None if it is no such sum.
    reason : str
        Why it cannot.
    instances, y, groups : rows, labels, queries
    has_queries : bool
        Whether there are query ids, or all rows are one list.
    item : object array of str or None
    scores : array of shape (n_rows,)
    measures : tuple of Measure
        The first one chooses the best and the worst queries.
    pictures, query_pictures : mapping from the name of an item, a query, to grey values
    seed : int
    """

    ranker: object
    X: TableLike
    model: AdditiveRanker | None
    reason: str
    instances: Instances
    y: Floats
    groups: Groups
    has_queries: bool
    item: Objects | None
    scores: Floats
    measures: tuple[Measure, ...]
    pictures: Mapping[str, Bytes]
    query_pictures: Mapping[str, Bytes]
    seed: int

    @property
    def scored_model(self) -> object:
        """The model of the ranker, which scores `instances`; another ranker scores ``X``."""
        return getattr(self.ranker, "model_", self.ranker)

    @cached_property
    def order(self) -> int:
        """Most features that one weak ranker combines."""
        trees = None if self.model is None else self.model.tree_sums
        return max((len(set(tree.features)) for tree in trees.trees), default=1) if trees else 1

    @cached_property
    def heaviest(self) -> list[tuple[int, float]]:
        """The used features and their shares of the weight or the gains, heaviest first."""
        weights = {} if self.model is None else self.model.weight_by_feature()
        total = math.fsum(weights.values()) or 1.0
        found = [(feature, weight / total) for feature, weight in weights.items() if weight > 0.0]
        return sorted(found, key=lambda one: (-one[1], one[0]))

    @cached_property
    def leading(self) -> Sequence[int]:
        """The features to look at one by one: used ones, heaviest first, if the model names any."""
        if self.model is not None:
            return [feature for feature, _ in self.heaviest]
        model = self.scored_model
        shares = model.feature_importances() if isinstance(model, FrozenModel) else np.zeros(0)
        used = np.flatnonzero(shares)
        heaviest_first: list[int] = used[np.argsort(-shares[used], kind="stable")].tolist()
        return heaviest_first or range(self.instances.n_features)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self.groups.n_groups

    @property
    def lead(self) -> Measure:
        """The first measure."""
        return self.measures[0]

    @cached_property
    def names(self) -> tuple[str, ...] | None:
        """Names of the features, if the model or the rows have them."""
        return getattr(self.scored_model, "feature_names", None) or self.instances.names

    def feature_title(self, feature: int) -> str:
        """Return the name of a feature; in svmlight files it is only a number."""
        name = feature_name(self.names, feature)
        return f"feature {name}" if name.isdigit() else name

    def rows_of(self, query: int) -> Ints:
        """Return the rows of a query, highest score first; ties in the order of the input."""
        begin, end = self.groups.starts[query], self.groups.starts[query + 1]
        rows = self.groups.order[begin:end]
        return np.asarray(rows[np.argsort(-self.scores[rows], kind="stable")])

    def item_name(self, row: int) -> str:
        """Return the name of a row, or its number."""
        name = "" if self.item is None else str(self.item[row])
        return name or f"row {row + 1}"


def _names(item: VectorLike | None, n_rows: int) -> Objects | None:
    """Return the names of the items as text."""
    if item is None:
        return None
    names = as_array(item, "item")
    if names.shape != (n_rows,):
        raise DataError(
            f"item must have one name for each of the {n_rows} rows. Got {names.shape}."
        )
    return np.array([str(one) for one in names.tolist()], dtype=object)


def _grey(owner: str, pictures: Mapping[str, ArrayLike] | None) -> dict[str, Bytes]:
    """Check pictures, and return them by name."""
    found = {}
    for name, values in (pictures or {}).items():
        grey = np.asarray(values)
        if grey.ndim != 2 or grey.dtype != np.uint8 or not 0 < grey.size <= 64 * 64:
            raise DataError(
                f"{owner} must be arrays of uint8 with two dimensions and at most 64 x 64 grey "
                f"values, 0 black and 255 white. Got {grey.dtype} of shape {grey.shape} for "
                f"{name!r}."
            )
        found[str(name)] = grey
    return found


# --- Curves of a report without queries: ROC, precision-recall, gain, lift, calibration


_CURVE_POINTS = 250  # of a curve, at most
_FIRST = (*range(1, 21), 25, 30, 40, 50, 75, 100)


def cutoffs_to(longest: int) -> list[int]:
    """Return the cut-offs that a page offers: few but for the first, up to a number of rows.

    Examples
    --------
    >>> cutoffs_to(1234)[-9:]
    [100, 150, 200, 300, 400, 500, 750, 1000, 1234]
    """
    found = list(_FIRST)
    unit = 100
    while unit < longest:
        found += [unit * tenths // 10 for tenths in (15, 20, 30, 40, 50, 75, 100)]
        unit *= 10
    return [k for k in found if k < longest] + ([longest] if longest > 0 else [])


def row_curves(subject: Subject) -> PageData | None:
    """Return the curves of all rows as one list; None if there are queries or one label only.

    All curves follow from how much the first rows contain, tied rows by expectation over their
    order: straight lines between blocks of equal scores. Labels of more than two values have gain
    and lift alone.
    """
    labels = np.unique(subject.y)
    if subject.has_queries or len(labels) < 2 or (len(labels) > 2 and labels[0] < 0):
        return None
    two = len(labels) == 2
    worth = (subject.y == labels[1]).astype(np.float64) if two else subject.y
    rows = read_rows(worth, subject.scores, None, "report")
    seen, found = rows.sums(rows.weight), rows.sums(rows.y)
    ks = cutoffs_to(len(worth))
    grid = np.union1d(seen[_thinned(seen / seen[-1], found / found[-1])], ks)
    best = np.concatenate([[0.0], np.cumsum(np.sort(worth)[::-1])])
    data: PageData = {
        "labels": len(labels),
        "label": float(labels[-1]),
        "rows": len(worth),
        "total": float(worth.sum()),
        "seen": _plain(grid),
        "found": _plain(np.interp(grid, seen, found)),
        "best": _plain(best[grid.astype(np.int64)]),
        "ks": ks,
        "at": np.searchsorted(grid, ks).tolist(),
        "score": _plain(rows.scores[np.searchsorted(seen, ks) - 1]),
    }
    if two:
        precision = found[1:] / seen[1:]
        data |= {
            "roc": _roc(subject, worth),
            "average_precision": float(np.sum(np.diff(found / found[-1]) * precision)),
            "calibration": _calibration(subject, worth),
        }
    return data


def _thinned(x: Floats, y: Floats) -> Ints:
    """Return which points of a curve to draw: evenly along it, with both ends."""
    along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))])
    if len(along) <= _CURVE_POINTS:
        return np.arange(len(along))
    found = np.searchsorted(along, np.linspace(0.0, along[-1], _CURVE_POINTS))
    return np.unique(np.concatenate([[0], found.clip(0, len(along) - 1), [len(along) - 1]]))


def _plain(values: Floats) -> list[float]:
    return [_short(value) for value in values.tolist()]


def _roc(subject: Subject, good: Floats) -> PageData:
    """Return the area under the ROC curve with its interval, and the largest distance."""
    curve = roc_curve(good, subject.scores)
    one = evaluate(good, subject.scores, measures="auc", intervals=True).results["auc"]
    low, high = one.interval or (None, None)
    distance = float((curve.beta - curve.alpha).max())
    return {"auc": curve.auc, "low": low, "high": high, "ks": distance}


def _calibration(subject: Subject, good: Floats) -> PageData:
    curve = calibration_curve(good, subject.scores)
    columns = ("expected", "observed", "low", "high")
    about = {"brier": curve.brier, "error": curve.error, "source": curve.source}
    return {name: _plain(getattr(curve, name)) for name in columns} | about


# --- Facts of the page about the model and the data


_POINTS = 400  # points of a curve
_MARGIN_BARS = 40  # bars of the margins of pairs
_NO_CURVES = ("alpha", "r", "z", "seconds", "log_loss", "threshold", "feature", "round")
_LABELS = 12  # distinct labels that are counted one by one
_MISSING = 300  # features whose missing rate is shown


def model_facts(subject: Subject) -> PageData:
    """Return size, kind and training of the ranker."""
    training = dict(getattr(subject.scored_model, "training", {}))
    parameters = training.get("parameters")
    of_queries = () if training.get("with_qid") is False else ("queries", "skipped_queries")
    known = {
        key: training[key]
        for key in ("rows", *of_queries, "pairs", "stopped")
        if isinstance(training.get(key), int | float | str)
    }
    return {
        "kind": str(training.get("estimator") or type(subject.ranker).__name__),
        "rounds": getattr(subject.scored_model, "n_rounds", None),
        "features": subject.instances.n_features,
        "parameters": [
            [key, str(value)]
            for key, value in (parameters.items() if isinstance(parameters, Mapping) else ())
            if value is not None
        ],
        "training": [[key.replace("_", " "), value] for key, value in known.items()],
    }


def bound_facts(subject: Subject) -> list[PageData]:
    """Return the bounds on the training error, in sentences."""
    found: list[PageData] = []
    for by in ("z", "slopes"):
        try:
            bound = training_bound(subject.model or subject.ranker, by)
        except (NotRankedError, ParameterError):
            continue
        if by == "slopes" and bound.vacuous:
            continue  # (the first bound says so)
        found.append({"name": bound.name, "value": bound.value, "says": str(bound)})
    return found


def margin_facts(subject: Subject) -> PageData | None:
    """Return the histogram of the margins of all pairs."""
    if subject.model is None or subject.groups.one_valued(subject.y).all():
        return None
    qid = subject.groups.codes if subject.has_queries else None
    try:
        found = margins(
            subject.model, subject.instances, subject.y, qid, resolution=_MARGIN_BARS + 1
        )
    except NotRankedError:  # (no weights)
        return None
    thresholds, shares = found.curve
    if not thresholds[-1] > thresholds[0]:
        return None
    parts = np.diff(shares)
    parts[0] += shares[0]  # (pairs of the least margin)
    return {
        "edges": thresholds.tolist(),
        "shares": parts.tolist(),
        "pairs": found.n_pairs,
        "wrong": found.at_most(0.0),
        "median": found.quantile(0.5),
        "minimum": found.minimum,
    }


def data_facts(subject: Subject, found: Evaluation, notes: Sequence[str]) -> PageData:
    """Return rows, queries, labels, missing values, and what was left out."""
    sizes = subject.groups.sizes
    labels, counts = np.unique(subject.y, return_counts=True)
    features, rates = _missing_rates(subject)
    worst = np.argsort(-rates, kind="stable")[:_MISSING].tolist()
    return {
        "rows": len(subject.y),
        "queries": subject.n_queries if subject.has_queries else None,
        "sizes": [int(sizes.min()), float(np.median(sizes)), int(sizes.max())],
        "labels": [[float(one), int(count)] for one, count in zip(labels, counts)]
        if len(labels) <= _LABELS
        else [],
        "label_range": [float(labels[0]), float(labels[-1]), len(labels)],
        "one_label": int(subject.groups.one_valued(subject.y).sum()),
        "left_out": [[name, one.n_empty] for name, one in found.results.items() if one.n_empty],
        "missing": [[subject.feature_title(int(features[k])), float(rates[k])] for k in worst],
        "never_missing": subject.instances.n_features - len(features),
        "notes": list(notes),
    }


def _missing_rates(subject: Subject) -> tuple[Ints, Floats]:
    """Return the features with missing values, ascending, and the share of these values."""
    table = subject.instances.table
    if table.dtype.kind != "f":
        return np.zeros(0, np.int64), np.zeros(0)
    if subject.instances.is_sparse:
        absent = np.flatnonzero(np.isnan(table.data)).astype(table.indptr.dtype)
        places = np.searchsorted(table.indptr, absent, "right") - 1
        features, counts = np.unique(places, return_counts=True)
    else:
        every = np.array([np.isnan(table[:, f]).sum() for f in range(table.shape[1])])
        features = np.flatnonzero(every)
        counts = every[features]
    return features, counts / max(1, table.shape[0])


def curve_facts(
    subject: Subject, trace: Mapping[str, Sequence[float | str]] | None
) -> PageData | None:
    """Return measures on these rows after some of the rounds, and the trace of the training."""
    if subject.model is None or subject.model.n_rounds == 0:
        return None
    stages, margin_stages = (40, 8) if len(subject.y) <= 200_000 else (15, 0)
    ranker, metrics = subject.ranker if trace is None else subject.model, list(subject.measures)
    qid = subject.groups.codes if subject.has_queries else None
    found = learning_curve(
        ranker, subject.instances, subject.y, qid=qid, metrics=metrics,
        stages=stages, margin_stages=margin_stages,
    )  # fmt: skip
    rounds, training, watched = found.rounds, dict(found.training), found.watched
    if trace is not None:
        training = _numeric(trace)
        count = max((len(one) for one in training.values()), default=0)
        rounds = training.pop("round", np.arange(1.0, count + 1)).astype(np.int64)
        known = {one.name for one in subject.measures}
        watched = tuple(name for name in training if name in known or "@" in name)
    thin = np.linspace(0, len(rounds) - 1, min(len(rounds), _POINTS)).round().astype(np.int64)
    stopped = subject.model.training.get("stopped", "")
    return {
        "stages": found.stages.tolist(),
        "measured": {name: values.tolist() for name, values in found.measured.items()},
        "rounds": rounds[thin].tolist(),
        "training": {
            name: values[thin].tolist()
            for name, values in training.items()
            if name not in _NO_CURVES
        },
        "watched": list(watched),
        "margin_stages": found.margin_stages.tolist(),
        "margins": {name: values.tolist() for name, values in found.margins.items()},
        "kept": found.best_round,
        "stopped": found.stopped or (stopped if isinstance(stopped, str) else ""),
    }


def check_trace(trace: Mapping[str, Sequence[float | str]]) -> None:
    """Refuse a trace whose columns of numbers differ in length."""
    check("report", "trace", trace, mapping)
    sizes = {name: len(values) for name, values in _numeric(trace).items()}
    if len(set(sizes.values())) > 1:
        short, long = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
        raise ParameterError(
            "The 'trace' parameter of report must have one number per round in each column. Got "
            f"{sizes[short]} for {short!r} and {sizes[long]} for {long!r} instead.",
            parameter="trace",
            value=trace,
        )


def _numeric(trace: Mapping[str, Sequence[float | str]]) -> dict[str, Floats]:
    """Return the columns of numbers."""
    columns: dict[str, Floats] = {}
    for name, values in trace.items():
        try:
            columns[str(name)] = np.array([float(one) for one in values])
        except (TypeError, ValueError):
            continue  # (names of features)
    return columns


# --- What a ranker learned, as plain data that a page can draw


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
        "edges": [_plain(part) for part in edges],
        "values": [_plain(row) for row in values],
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
        "edges": _plain(edges),
        "values": _plain(values),
        "share": [round(part, 5) for part in share.tolist()],
        "missing": _short(one.missing),
        "missing_share": one.share_missing,
        "even": bool(one.ramps),
        "thinned": len(one.values) if len(values) < len(one.values) else 0,
    }


def _drawn_categories(one: FeatureShape, subject: Subject, most: int) -> PageData:
    """Return the part and the share of rows of each category, largest first; of many, the ends."""
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


# --- Small grey pictures as text


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def data_uri(grey: Bytes) -> str:
    """A PNG of grey values, 0 black and 255 white, as a ``data:`` address.

    Examples
    --------
    >>> data_uri(np.array([[0, 255]], np.uint8))[:32]
    'data:image/png;base64,iVBORw0KGg'
    """
    height, width = grey.shape
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)  # 8 bits, grey
    lines = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(grey))
    data = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head)
    data += _chunk(b"IDAT", zlib.compress(lines, 9)) + _chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(data).decode()


# --- Why items of a list stand above each other, in a ranker with trees of several features


_TOP = 8  # features named per pair of items; the others are summed


def _joint_reasons(
    subject: Subject, rows: Ints, sizes: list[int]
) -> tuple[list[int], list[list[list[list[float]]]]]:
    """Return the Shapley values of all pairs of items of some lists.

    Returns
    -------
    features : list of int
        The features that make a difference in any pair.
    reasons : list
        By list, for every pair (0, 1), (0, 2), ... of its items: [place in ``features``, what the
        feature adds], largest first; the place -1 stands for all others.
    """
    assert subject.model is not None
    starts = np.cumsum([0, *sizes]).tolist()
    pairs = [
        np.array(list(combinations(range(begin, begin + size), 2)), np.int64).reshape(-1, 2)
        for begin, size in zip(starts, sizes)
    ]
    items = subject.instances.take_rows(rows)
    used, added = pair_differences(subject.model, items, np.concatenate(pairs))
    kept = np.flatnonzero(np.abs(added).max(axis=0, initial=0.0) > 0.0)
    by_list = np.split(added[:, kept], np.cumsum([len(one) for one in pairs])[:-1])
    return [used[slot] for slot in kept.tolist()], [list(map(_largest, one)) for one in by_list]


def _largest(row: Floats) -> list[list[float]]:
    order = np.argsort(-np.abs(row), kind="stable")
    out: list[list[float]] = [[int(at), _short(row[at])] for at in order[:_TOP] if row[at] != 0.0]
    rest = float(row[order[_TOP:]].sum())
    return [*out, [-1, _short(rest)]] if rest else out


# --- Best and worst queries: their items in order, and the parts of their scores


_QUERIES = 8  # best, and as many worst
_FIRST_ITEMS = 20  # items shown from the top of a list
_FIRST_OF_TREES = 12  # the same where every pair of items has its own reasons
_MORE = 8  # items with the highest label shown from further down
_LIST_CELLS = 60_000  # (item, feature) cells on the page, at most
_FEATURES = 200  # features shown; the others are summed


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
    reasons = None
    if subject.model is None or subject.order == 1:
        parts = _parts_of(subject, rows)
    else:  # (trees combine features: nothing is added by one alone)
        sizes = [len(one) for side in lists.values() for one in side]
        named, reasons = _joint_reasons(subject, rows, sizes)
        names = [subject.feature_title(feature) for feature in named]
        parts = _Parts(names, [], _texts(subject, rows, named), [[] for _ in rows])
    number = 0
    at = {int(row): slot for slot, row in enumerate(rows)}
    pictures: dict[str, int] = {}  # (each is on the page once)
    query_pictures: dict[str, int] = {}
    entries: dict[str, list[PageData]] = {side: [] for side in chosen}
    for side, queries in chosen.items():
        for query, shown in zip(queries, lists[side]):
            ranked = subject.rows_of(query)
            place = {int(row): number + 1 for number, row in enumerate(ranked)}
            items: list[dict[str, Any]] = [
                {
                    "id": subject.item_name(int(row)),
                    "place": place[int(row)],
                    "label": float(subject.y[row]),
                    "score": float(subject.scores[row]),
                    "picture": _number_of(subject.item_name(int(row)), subject.pictures, pictures),
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
                    "picture": _number_of(name, subject.query_pictures, query_pictures),
                    "pair": _pair(items),
                    "items": items,
                    "reasons": None if reasons is None else reasons[number],
                }
            )
            number += 1
    return {
        **entries,
        "measure": subject.lead.name,
        "features": parts.names,
        "levels": parts.levels,
        "pictures": [data_uri(subject.pictures[name]) for name in pictures],
        "query_pictures": [data_uri(subject.query_pictures[name]) for name in query_pictures],
        "exact": subject.model is not None,
        "reason": subject.reason,
    }


def _number_of(name: str, known: Mapping[str, Bytes], used: dict[str, int]) -> int | None:
    """Return the number of a picture among those used; None if there is none of this name."""
    return used.setdefault(name, len(used)) if name in known else None


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


def _pair(items: list[dict[str, Any]]) -> list[int]:
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
    """The parts of the features in the scores of the shown items.

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


# --- Measures on the page: with intervals, by cut-off, by query, and under every order of ties


_BAND_DRAWS = 500  # draws of an interval that is drawn as a band, of which no digits are read
_FAMILIES = ("ndcg", "p", "recall")
_SINGLES = 10  # features tried alone
_SHUFFLED = 20  # features permuted
_ROWS_SHUFFLED = 20_000
_BARS = 20


def _evaluate(
    subject: Subject, scores: Floats, measures: Measures, ties: str = "expected", **options: Any
) -> Evaluation:
    """Evaluate a ranking of the rows; options as in `evaluate`."""
    options = {"resamples": _BAND_DRAWS, "random_state": subject.seed} | options
    ids = subject.item if ties == "trec" else None
    return evaluate(subject.y, scores, subject.groups, measures, ids=ids, ties=ties, **options)


def measure_table(subject: Subject, found: Evaluation) -> list[dict[str, Any]]:
    """Return one row per measure, with the value of a random order."""
    random = _evaluate(subject, np.zeros(len(subject.y)), subject.measures)
    return [
        {
            "name": name,
            "value": one.value,
            **dict(zip(("low", "high"), one.interval or (None, None))),
            "interval": one.interval_text,
            "queries": one.n_queries,
            "empty": one.n_empty,
            "higher": one.measure.higher_is_better,
            "random": random.results[name].value,
            "description": one.measure.description_of(found.unit),
        }
        for name, one in found.results.items()
    ]


def by_cutoff(subject: Subject) -> PageData | None:
    """Return NDCG, precision and recall at every cut-off; None if labels are not gains."""
    longest = int(subject.groups.sizes.max(initial=0))
    ks = cutoffs_to(longest)
    if not ks or float(subject.y.min()) < 0 or float(subject.y.max()) <= 0:
        return None
    # (ndcg_exp if it is one of the measures and ndcg is not)
    asked = [re.split(r"[@(]", one.name)[0] for one in subject.measures]
    gains = "ndcg_exp" if "ndcg_exp" in asked and "ndcg" not in asked else "ndcg"
    families = [gains if family == "ndcg" else family for family in _FAMILIES]
    names = [f"{family}@{k}" for family in families for k in ks]
    found = _evaluate(subject, subject.scores, names, intervals=subject.n_queries > 1)
    curves = []
    for family in families:
        results = [found.results[f"{family}@{k}"] for k in ks]
        low, high = zip(*(one.interval or (None, None) for one in results))
        about = {"description": results[-1].measure.description}
        values = [one.value for one in results]
        curves.append({"name": family, "values": values, "low": low, "high": high, **about})
    return {"ks": ks, "curves": curves}


def by_query(found: Evaluation, name: str) -> PageData:
    """Return the histogram of the values of single queries."""
    values = found.per_query[name]
    there = values[~np.isnan(values)]
    if len(there) < 2:
        return {"edges": [], "counts": []}
    low, high = float(there.min()), float(there.max())
    if low >= 0.0 and high <= 1.0:
        low, high = 0.0, 1.0
    elif low == high:
        low, high = low - 0.5, high + 0.5
    counts, edges = np.histogram(there, bins=_BARS, range=(low, high))
    return {"edges": edges.tolist(), "counts": counts.tolist(), "median": float(np.median(there))}


def ties(subject: Subject, found: Evaluation) -> dict[str, Any]:
    """Return how many items tie, and how the order of ties changes the measures.

    The luckiest order puts the higher label first among items of equal score, the unluckiest
    one last.
    """
    order = np.lexsort((subject.scores, subject.groups.codes))
    codes, scores = subject.groups.codes[order], subject.scores[order]
    sizes = np.diff(np.append(run_starts(codes, scores), len(order)))
    lucky = _evaluate(subject, _untied(subject, subject.y), subject.measures)
    unlucky = _evaluate(subject, _untied(subject, -subject.y), subject.measures)
    trec = _evaluate(subject, subject.scores, subject.measures, ties="trec")
    pairs = _evaluate(subject, subject.scores, ["r1(pool)", "r2(pool)"])
    wrong, half = pairs["r1(pool)"], pairs["r2(pool)"]
    return {
        "items": int(sizes[sizes > 1].sum()),
        "share": float(sizes[sizes > 1].sum() / max(1, len(order))),
        "largest": int(sizes.max(initial=0)),
        "pairs": None if math.isnan(wrong) else max(0.0, 2.0 * (wrong - half)),
        "wrong": None if math.isnan(wrong) else max(0.0, 2.0 * half - wrong),
        "measures": [
            {
                "name": name,
                "expected": one.value,
                "lucky": lucky[name],
                "unlucky": unlucky[name],
                "trec": trec[name],
            }
            for name, one in found.results.items()
        ],
    }


def _untied(subject: Subject, first: Floats) -> Floats:
    """Return scores that order items as before, and items of equal score by ``first``."""
    order = np.lexsort((first, subject.scores))
    starts = run_starts(subject.scores[order], first[order])
    out = np.empty(len(order))
    out[order] = np.searchsorted(starts, np.arange(len(order)), side="right")
    return out


def single_features(subject: Subject) -> dict[str, Any] | None:
    """Return the best of the heaviest features alone, by the first measure, up or down."""
    best: dict[str, Any] | None = None
    lead = subject.lead
    for feature in subject.leading[:_SINGLES]:
        column = subject.instances.column(feature).astype(np.float64)
        absent = np.isnan(column)
        if absent.all() or feature in (subject.instances.levels or ()):
            continue  # (texts have no order)
        for sign, way in ((1.0, "rising"), (-1.0, "falling")):
            signed = sign * column
            signed[absent] = np.nanmin(signed) - 1.0  # (missing values come last)
            try:
                value = _evaluate(subject, signed, [lead])[lead.name]
            except DataError:
                continue
            better = best is None or (value > best["value"]) == lead.higher_is_better
            if not math.isnan(value) and better:
                name = subject.feature_title(feature)
                best = {"name": name, "value": value, "way": way}
    return best


def by_permutation(subject: Subject) -> PageData | None:
    """Return the loss of the first measure when a feature is shuffled, on a sample of queries."""
    keep = list(subject.leading[:_SHUFFLED])
    if subject.lead.aggregate == "sum" or not keep:
        return None
    rows = _some_rows(subject)
    if len(rows) < 2:
        return None
    codes = subject.groups.codes[rows] if subject.has_queries else None
    ours = isinstance(subject.scored_model, FrozenModel)
    table = subject.instances if ours else as_table(subject.X)
    some = table if len(rows) == len(subject.y) else take_rows(table, rows)
    found = importances(
        subject.ranker, some, subject.y[rows], qid=codes, kind="permutation", features=keep,
        metric=subject.lead, repeats=3, random_state=subject.seed,
    )  # fmt: skip
    assert found.repeats is not None
    spread = found.repeats[:, keep].std(axis=0, ddof=1)
    ranked = sorted(zip(keep, spread.tolist()), key=lambda one: -found.values[one[0]])
    features = [
        {"name": subject.feature_title(feature), "loss": float(found.values[feature]), "spread": by}
        for feature, by in ranked
    ]
    about = {"measure": subject.lead.name, "baseline": found.baseline, "rows": len(rows)}
    return {**about, "features": features}


def _some_rows(subject: Subject) -> Ints:
    """Return all rows, or those of queries drawn until there are enough."""
    if len(subject.y) <= _ROWS_SHUFFLED:
        return np.arange(len(subject.y))
    rng = np.random.default_rng(subject.seed)
    if subject.n_queries == 1:
        return np.sort(rng.choice(len(subject.y), _ROWS_SHUFFLED, replace=False))
    drawn = rng.permutation(subject.n_queries)
    taken = np.cumsum(subject.groups.sizes[drawn])
    kept = drawn[: max(1, int(np.searchsorted(taken, _ROWS_SHUFFLED)))]
    return np.flatnonzero(np.isin(subject.groups.codes, kept))


# --- The summary of the page: a few numbers, and the same in sentences


def _features_said(subject: Subject) -> list[str]:
    """Return sentences on the heaviest features, the unused ones and those that act together."""
    if subject.model is None or not subject.heaviest:
        return []
    few = subject.heaviest[:3]
    carried = math.fsum(share for _, share in few)
    names = ", ".join(subject.feature_title(feature) for feature, _ in few)
    which = "features" if len(few) > 1 else "feature"
    what = "gains" if "gains" in subject.model.importance_of else "weight"
    text = [f"Heaviest {which}: {names}, with {carried:.0%} of the {what}."]
    unused = subject.instances.n_features - len(subject.heaviest)
    if unused:
        are = "features are" if unused > 1 else "feature is"
        text.append(f"{unused:,} {are} never looked at.")
    trees = subject.model.tree_sums
    if trees is not None and subject.order > 1:
        shares = {k: share for k, share in trees.shares().items() if len(k) > 1}
        of = f"{math.fsum(shares.values()):.0%} of the gains"
        if subject.order == 2:
            pairs = f"{counted(len(shares), 'pair')} of features"
            text.append(f"{pairs} act together, with {of}.")
        else:
            text.append(f"Trees that combine features, up to {subject.order} of them, have {of}.")
    return text


def headline(
    subject: Subject, lead: dict[str, Any], single: dict[str, Any] | None, pairs: float
) -> list[dict[str, str]]:
    """Return the few numbers at the top: value, what it is, what to compare it with."""
    name = lead["name"]
    value, random = (
        "none" if math.isnan(lead[key]) else f"{lead[key]:.3f}" for key in ("value", "random")
    )
    tiles = [(value, name, _span(lead)), (random, "random order", f"{name} without any ranker")]
    if single is not None:
        alone = f"{name} of {single['name']} alone, {single['way']}"
        tiles.append((f"{single['value']:.3f}", "best single feature", alone))
    if not math.isnan(pairs):
        how = "ties count half" + ("; mean over queries" if subject.has_queries else "")
        tiles.append((f"{100 * pairs:.1f}%", "pairs in the right order", how))
    if subject.model is not None:
        of_all = f"of {subject.instances.n_features:,}"
        tiles.append((f"{len(subject.heaviest):,}", "features that matter", of_all))
    return [dict(zip(("value", "label", "note"), tile)) for tile in tiles]


def _span(row: dict[str, Any]) -> str:
    return "" if row["low"] is None else f"95% interval {row['interval']}"


def sentences(
    subject: Subject,
    found: Evaluation,
    lead: dict[str, Any],
    single: dict[str, Any] | None,
    tied: dict[str, Any],
    pairs: float,
) -> list[str]:
    """Return the summary in sentences."""
    if math.isnan(lead["value"]):
        return [_no_value(subject, lead["name"]), *_features_said(subject)]
    where = counted(len(subject.y), "item")
    if subject.has_queries:
        where = f"{counted(lead['queries'], 'query')} with {where}"
    span = f" ({_span(lead)})" if _span(lead) else ""
    text = [f"On {where}, the ranker reaches {lead['name']} of {lead['value']:.3f}{span}."]
    other = f"Random order would reach {lead['random']:.3f}"
    if single is not None:
        other += (
            f", the best single feature, {single['name']} ({single['way']}), {single['value']:.3f}"
        )
    text.append(other + ".")
    if not math.isnan(pairs):
        text.append(
            "Of 100 pairs of a better and a worse item it puts "
            f"{100 * pairs:.0f} in the right order."
        )
    text += _features_said(subject)
    values = found.per_query[lead["name"]]
    there = values[~np.isnan(values)]
    if len(there) > 1:
        at, worst = ("least", there.min()) if lead["higher"] else ("most", there.max())
        text.append(
            f"In half of the queries {lead['name']} is at {at} {np.median(there):.3f}; the worst "
            f"query has {worst:.3f}."
        )
    if tied["share"] >= 0.005:
        first = tied["measures"][0]
        of_list = " of their list" if subject.has_queries else ""
        low, high = f"{first['unlucky']:.3f}", f"{first['lucky']:.3f}"
        moved = f"could move {first['name']} between {low} and {high}"
        if low == high:
            moved = f"does not matter for {first['name']}, to three digits"
        text.append(
            f"{tied['share']:.0%} of the items share their score with another{of_list}; the "
            f"order of ties {moved}."
        )
    return text


def _no_value(subject: Subject, name: str) -> str:
    """Return the reason that no measure has a value on these rows."""
    why = ""
    if subject.groups.one_valued(subject.y).all():
        alike = "all items of a query have the same label"
        why = f": {alike if subject.has_queries else 'all labels are equal'}"
    return f"On {counted(len(subject.y), 'item')}, {name} has no value{why}."


# --- The report


def report(
    ranker: object,
    X: TableLike,
    y: VectorLike,
    *,
    qid: VectorLike | None = None,
    item: VectorLike | None = None,
    metrics: Measures | None = None,
    title: str = "Ranker report",
    subtitle: str = "",
    trace: Mapping[str, Sequence[float | str]] | None = None,
    notes: Sequence[str] = (),
    pictures: Mapping[str, ArrayLike] | None = None,
    query_pictures: Mapping[str, ArrayLike] | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Page:
    """Report on a ranker and its performance on labelled rows.

    Parameters
    ----------
    ranker : fitted estimator, AdditiveRanker, or anything with ``predict(X)``
        Trees of at most two features have shapes and heat maps; larger ones gains, the first
        trees as text, and Shapley values as reasons. A ranker that is no sum of functions of
        features and trees has no shapes and no reasons, only permutation.
    X, y, qid : rows, labels and queries
    item : array of shape (n_rows,), optional
        Names of the items.
    metrics : str, Measure, or several of them, optional
        Measures to show; the first one leads. Default: ndcg@10, or auc without queries.
    title, subtitle : str
    trace : mapping from name to column, optional
        Training round by round, in the form of ``estimator.trace_.to_dict()``; an estimator
        has its own.
    notes : sequence of str
        Notes about the data, to show.
    pictures, query_pictures : mapping, optional
        From the name of an item, or the id of a query, to its picture: an array of uint8 with
        two dimensions, 0 black and 255 white, of at most 64 x 64.
    random_state : int
        Seed of the bootstrap and of permutations.
    n_jobs : int, optional
        Threads to predict with.

    Returns
    -------
    Page
        ``save(path)`` writes the page.

    Examples
    --------
    >>> from crucial.model.additive import AdditiveRanker
    >>> from crucial.model.weak import Stump
    >>> model = AdditiveRanker(1, [Stump(0, 0.5, 0)], [1.0], ["bm25"])
    >>> print(report(model, [[0.0], [1.0], [2.0]], [0, 1, 0], title="bm25 alone"))
    bm25 alone
    On 3 items, the ranker reaches auc of 0.750 (95% interval 0.1645 to 0.9780).
    ...
    """
    check("report", "random_state", random_state, at_least(0))
    check("report", "title", title, instance_of(str))
    check("report", "subtitle", subtitle, instance_of(str))
    if trace is not None:
        check_trace(trace)
    chosen = get_measures(() if metrics is None else metrics)
    model, reason = None, ""
    try:
        model = additive_model(ranker, "the report", features=None)
    except NotRankedError as error:
        reason = str(error)
    rows = scored_rows(ranker, X, qid)
    instances, groups = rows.instances, rows.groups
    whole = getattr(ranker, "model_", ranker)
    if qid is None and getattr(whole, "training", {}).get("with_qid") is True:
        raise DataError(
            "the rows have no query ids (qid), and the ranker was trained with queries: "
            "scores of different queries cannot be compared."
        )
    labels = check_labels(y, instances.n_rows)
    head = (ranker, X, model, reason, instances, labels, groups, qid is not None)
    names, scores = _names(item, instances.n_rows), rows.scores(n_jobs)
    measures = tuple(chosen or get_measures(default_measure(labels, qid is not None)))
    grey = (_grey("pictures", pictures), _grey("query_pictures", query_pictures))
    subject = Subject(*head, names, scores, measures, *grey, random_state)
    found = _evaluate(subject, subject.scores, subject.measures, intervals=True, resamples=None)
    table = measure_table(subject, found)
    single = single_features(subject)
    tied = ties(subject, found)
    pairs = evaluate(subject.y, subject.scores, subject.groups, "auc")["auc"]
    text = sentences(subject, found, table[0], single, tied, pairs)
    data = {
        "version": version("crucial"),
        "title": title,
        "subtitle": subtitle,
        "summary": {"tiles": headline(subject, table[0], single, pairs), "sentences": text},
        "measures": table,
        "intervals": {"unit": found.unit, "notes": found.notes},
        "cutoffs": by_cutoff(subject),
        "curves": row_curves(subject),
        "spread": by_query(found, subject.lead.name),
        "curve": curve_facts(subject, trace),
        "shapes": shape_facts(subject),
        "trees": tree_facts(subject),
        "permutation": by_permutation(subject),
        "lists": ranked_lists(subject, found),
        "ties": tied,
        "margins": margin_facts(subject),
        "bounds": bound_facts(subject),
        "model": model_facts(subject),
        "data": data_facts(subject, found, notes),
    }
    return Page("report", title, data, tuple(text))
