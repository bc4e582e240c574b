"""Explain why one item ranks above another, and what a score is made of."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import factorial
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from crucial.data.instances import Instances
from crucial.errors import DataError, ParameterError
from crucial.inspection.shape_functions import (
    FeatureParts,
    additive_model,
    feature_parts,
    inner_ranker,
    pair_shapes,
    step_of,
)
from crucial.model.additive import AdditiveRanker, Shape
from crucial.model.base import checked_rows
from crucial.model.tree_table import cell_text
from crucial.model.weak import Tree
from crucial.parameters import at_least, check, int_between, plain, refuse
from crucial.results import Axes, Frame, Result, as_frame, feature_name, new_axes, padded
from crucial.types import Bools, Floats, Ints, TableLike
from crucial.wording import counted, printable

# --- What a score is made of, and why one item ranks above another: the results


_TOP = 12  # features drawn; the others are summed


@dataclass(frozen=True, eq=False, repr=False)
class Contributions(Result):
    """What the score of one item is made of, the largest part first.

    Attributes
    ----------
    score : float
        The prediction of the ranker.
    features : tuple of int
        Numbers of the used features, by absolute part.
    names : tuple of str
    values : array
        Values of the item; NaN where a feature is missing.
    added : array
        What each feature adds. They and the intercept sum to the score (up to rounding).
    intercept : float
        What is added for every item, if the ranker has constants.
    pairs : tuple of (int, int)
        Pairs of features that add something together, by absolute part; for trees of two features.
    pair_added : array
        What each pair adds beyond what its features add alone.
    texts : tuple of str
        The values as text: categories by name, dates as dates.
    """

    _bars = ("adds",)

    score: float
    features: tuple[int, ...]
    names: tuple[str, ...]
    values: Floats
    added: Floats
    intercept: float = 0.0
    pairs: tuple[tuple[int, int], ...] = ()
    pair_added: Floats = field(default_factory=lambda: np.zeros(0))
    texts: tuple[str, ...] = ()

    @property
    def pair_names(self) -> tuple[str, ...]:
        """Names of the pairs of features."""
        name = dict(zip(self.features, self.names, strict=True))
        return tuple(f"{name[a]} with {name[b]}" for a, b in self.pairs)

    def __str__(self) -> str:
        lines = [f"score {self.score:.6g}"]
        if self.intercept:
            lines.append(f"{self.intercept:+10.4g}  for every item")
        for name, text, part in zip(self.names, self.texts, self.added):
            lines.append(f"{part:+10.4g}  {padded(name, 24)} {text}")
        for name, part in zip(self.pair_names, self.pair_added):
            lines.append(f"{part:+10.4g}  {name}")
        return "\n".join(lines)

    def to_frame(self) -> Frame:
        """Return one row per feature, then one per pair of features."""
        none = np.full(len(self.pairs), np.nan)
        return as_frame(
            {
                "feature": [*self.features, *self.pairs],
                "name": [*self.names, *self.pair_names],
                "value": np.append(self.values, none),
                "text": [*self.texts, *[""] * len(self.pairs)],
                "adds": np.append(self.added, self.pair_added),
            }
        )

    def plot(self, ax: Axes | None = None, top: int = _TOP) -> Axes:
        """Draw the largest parts as bars; needs matplotlib. Returns the axes."""
        labels = [f"{name} = {text}" for name, text in zip(self.names, self.texts)]
        added = np.concatenate((self.added, self.pair_added))
        order = np.argsort(-np.abs(added), kind="stable").tolist()
        every = [*labels, *self.pair_names]
        drawn = [every[place] for place in order]
        return _bars(ax, drawn, added[order], top, f"score {self.score:.4g}")


@dataclass(frozen=True, eq=False, repr=False)
class PairExplanation(Result):
    """Why item a ranks above item b (or below), the largest reason first.

    Attributes
    ----------
    a, b : int
        Rows of the two items.
    score_a, score_b : float
        The predictions of the ranker.
    features : tuple of int
        Numbers of the used features, by absolute part.
    names : tuple of str
    values_a, values_b : array
        Values of the items; NaN where a feature is missing.
    added : array
        What each feature adds for a minus what it adds for b.
    texts_a, texts_b : tuple of str
        The values as text: categories by name, dates as dates.
    label_a, label_b : str
        Labels of the rows in the index of a frame, as text; empty where the rows have none.
    """

    _bars = ("adds",)

    a: int
    b: int
    score_a: float
    score_b: float
    features: tuple[int, ...]
    names: tuple[str, ...]
    values_a: Floats
    values_b: Floats
    added: Floats
    texts_a: tuple[str, ...] = ()
    texts_b: tuple[str, ...] = ()
    label_a: str = ""
    label_b: str = ""

    @property
    def titles(self) -> tuple[str, str]:
        """What the two rows are called: "row" and label or number."""
        return f"row {self.label_a or self.a}", f"row {self.label_b or self.b}"

    @property
    def margin(self) -> float:
        """``score_a - score_b``, the sum of ``added`` (up to rounding)."""
        return self.score_a - self.score_b

    def __str__(self) -> str:
        side = "above" if self.margin > 0 else "below" if self.margin < 0 else "level with"
        by = f" by {abs(self.margin):.6g}" if self.margin else ""
        first, second = self.titles
        lines = [
            f"{first} (score {self.score_a:.6g}) ranks {side} {second} "
            f"(score {self.score_b:.6g}){by}:"
        ]
        for name, a, b, part in zip(self.names, self.texts_a, self.texts_b, self.added):
            if part:
                lines.append(f"{part:+10.4g}  {padded(name, 24)} {a} against {b}")
        same = len(self.names) - int(np.count_nonzero(self.added))
        if same:
            makes = "makes" if same == 1 else "make"
            lines.append(f"{'0':>10}  {counted(same, 'feature')} {makes} no difference")
        return "\n".join(lines)

    def to_frame(self) -> Frame:
        """Return one row per feature."""
        return as_frame(
            {
                "feature": self.features,
                "name": self.names,
                "value_a": self.values_a,
                "value_b": self.values_b,
                "text_a": self.texts_a,
                "text_b": self.texts_b,
                "adds": self.added,
            }
        )

    def plot(self, ax: Axes | None = None, top: int = _TOP) -> Axes:
        """Draw the largest reasons as bars; needs matplotlib. Returns the axes."""
        texts = zip(self.names, self.texts_a, self.texts_b)
        labels = [f"{name}: {x} against {y}" for name, x, y in texts]
        title = f"{self.titles[0]} above {self.titles[1]}: {self.margin:+.4g}"
        return _bars(ax, labels, self.added, top, title)


def _bars(ax: Axes | None, labels: list[str], added: Floats, top: int, title: str) -> Axes:
    """Draw the first ``top`` parts as bars, and the sum of the others."""
    check("plot", "top", top, at_least(1))
    ax = new_axes(ax)
    names, values = labels[:top], added[:top].tolist()
    if len(added) > top:
        names, values = ([*names, counted(len(added) - top, "other")], [*values, added[top:].sum()])
    places = range(len(values))
    ax.barh(places, values, color=["tab:blue" if v >= 0 else "tab:orange" for v in values])
    ax.set_yticks(places, names, parse_math=False)
    ax.invert_yaxis()
    ax.axvline(0.0, color="0.3", linewidth=0.8)
    ax.set_title(title, parse_math=False)
    return ax


# --- Rows of a table by their positions, or by their labels in the index of a frame


def two_rows(
    X: object, a: object, b: object, loc: Iterable[object] | None
) -> tuple[int, int, tuple[str, str]]:
    """Return the positions of two rows, and their labels as text.

    Labels are empty where X has no index, or one that counts from 0. A position is refused
    where the index of X has other whole numbers, since it might be meant as a label.

    Examples
    --------
    >>> import pandas
    >>> frame = pandas.DataFrame({"age": [3.0, 5.0]}, index=["d7", "d9"])
    >>> two_rows(frame, None, None, ("d9", "d7"))
    (1, 0, ('d9', 'd7'))
    >>> two_rows(frame, 0, 1, None)
    (0, 1, ('d7', 'd9'))
    """
    index = _index_of(X)
    if loc is not None:
        if a is not None or b is not None:
            raise ParameterError("why takes two positions (a and b) or two labels (loc), not both.")
        labels = list(loc) if isinstance(loc, Iterable) and not isinstance(loc, str) else []
        if len(labels) != 2:
            raise refuse("why", "loc", "a pair of labels", loc)
        if index is None:
            raise DataError(
                f"loc names rows by the index of a frame, and {type(X).__name__} has none: pass "
                "positions as a and b."
            )
        first, second = (_position(index, label) for label in labels)
        return first, second, (_text(labels[0]), _text(labels[1]))
    if a is None or b is None:
        raise ParameterError("why needs two rows: positions a and b, or labels loc=(a, b).")
    if index is None or _counts(index):
        return _whole("a", a, X), _whole("b", b, X), ("", "")
    if index.dtype.kind in "iuf" or any(isinstance(one, numbers.Real) for one in index):
        raise ParameterError(
            f"the index of X has other numbers than the positions of its rows, so that {a!r} and "
            f"{b!r} may be either: pass labels as loc=({a!r}, {b!r}), or the labels of the "
            f"positions as loc=X.index[[{a!r}, {b!r}]]."
        )
    first, second = _whole("a", a, X), _whole("b", b, X)
    inside = [_text(index[row]) if 0 <= row < len(index) else "" for row in (first, second)]
    return first, second, (inside[0], inside[1])


def _index_of(X: object) -> Any:
    """Return the index of a pandas frame; None of anything else."""
    return getattr(X, "index", None) if hasattr(X, "iloc") else None


def _counts(index: Any) -> bool:
    """Return whether labels are positions: 0, 1, 2 and so on."""
    return index.dtype.kind in "iu" and bool(np.array_equal(index, np.arange(len(index))))


def _whole(name: str, row: object, X: object) -> int:
    if not isinstance(row, numbers.Integral) or isinstance(row, bool):
        remedy = "Pass labels of rows as loc=(a, b)." if _index_of(X) is not None else ""
        raise refuse("why", name, "the position of a row, an int", row, remedy)
    return int(row)


def _position(index: Any, label: object) -> int:
    """Return the position of the one row that has the label."""
    from pandas.errors import InvalidIndexError

    try:
        found = index.get_loc(label)
    except (KeyError, TypeError, InvalidIndexError):
        known = ", ".join(repr(_plain(one)) for one in index[:3].tolist())
        raise DataError(
            f"loc: no row has the label {_plain(label)!r}. The index begins with {known}."
        ) from None
    if not isinstance(found, numbers.Integral):
        raise DataError(
            f"loc: several rows have the label {_plain(label)!r}. Make the index unique, or pass "
            "positions as a and b of X.reset_index(drop=True)."
        )
    return int(found)


def _plain(label: object) -> object:
    """Return a label with Python's values in the place of NumPy's, also inside a tuple."""
    return tuple(map(plain, label)) if isinstance(label, tuple) else plain(label)


def _text(label: object) -> str:
    return printable(str(_plain(label)), 60)


# --- What each feature contributes to the difference of two items in trees of several features


@lru_cache(maxsize=64)
def _shapley_weights(n_features: int) -> Floats:
    """Return the Shapley weights of a leaf for a feature of either item, by numbers of features.

    A leaf that is reached where ``own`` features have the values of one item and ``other`` those
    of the other counts in the orders of features in which the last of the former comes before the
    first of the latter.
    """
    out = np.zeros((n_features + 1, n_features + 1, 2))
    for own in range(n_features + 1):
        for other in range(n_features + 1):
            orders = factorial(own + other)
            if own:
                out[own, other, 0] = factorial(own - 1) * factorial(other) / orders
            if other:
                out[own, other, 1] = factorial(own) * factorial(other - 1) / orders
    return out


def tree_differences(tree: Tree, rows: Floats, pairs: Ints) -> Floats:
    """Return the Shapley values of the change from row b to row a in one tree, for pairs (a, b).

    The value of a set of features is the score of an item that has the values of a in them and
    those of b elsewhere (interventional Shapley values with b as the only reference). They are
    exact and add up to the difference of the two scores. A leaf counts for a pair where every
    feature on the way to it lets one of both items pass; which features let only one of them pass
    decides its weight.

    Parameters
    ----------
    tree : Tree
    rows : float64 array of shape (n_rows, n_features)
    pairs : int array of shape (n_pairs, 2)

    Returns
    -------
    float64 array of shape (n_pairs, n_features)

    Examples
    --------
    >>> tree = Tree((0, 1), (0.5, 0.5), (0, 0), (~0, ~1), (1, ~2), (1.0, 1.0), (0.0, 0.0, 1.0))
    >>> tree_differences(tree, np.array([[1.0, 1.0], [0.0, 0.0]]), np.array([[0, 1]]))
    array([[0.5, 0.5]])
    """
    goes_right = []
    for feature, threshold, missing in zip(tree.features, tree.thresholds, tree.missing):
        column = rows[:, feature]
        right = np.zeros(len(column), bool) if threshold is None else column > threshold
        goes_right.append(np.where(np.isnan(column), bool(missing), right))
    weights = _shapley_weights(len(set(tree.features)))
    out = np.zeros((len(pairs), rows.shape[1]))
    ways: list[tuple[int, dict[int, Bools]]] = [(0, {})]
    while ways:
        at, passed = ways.pop()
        if at >= 0:
            feature, right = tree.features[at], goes_right[at]
            for child, here in ((tree.left[at], ~right), (tree.right[at], right)):
                passes = here & passed.get(feature, True)
                if passes.any():  # (else no item gets there)
                    ways.append((child, passed | {feature: passes}))
            continue
        both = {f: (lets[pairs[:, 0]], lets[pairs[:, 1]]) for f, lets in passed.items()}
        reached = np.logical_and.reduce([a | b for a, b in both.values()])
        own = sum((a & ~b).astype(np.int64) for a, b in both.values())
        other = sum((b & ~a).astype(np.int64) for a, b in both.values())
        value = np.where(reached, tree.values[~at], 0.0)
        up, down = (value * weights[own, other, side] for side in (0, 1))
        for f, (a, b) in both.items():
            out[:, f] += np.where(a & ~b, up, 0.0) - np.where(b & ~a, down, 0.0)
    return out


def pair_differences(
    model: AdditiveRanker, rows: Instances, pairs: Ints
) -> tuple[list[int], Floats]:
    """Return the used features, and what each adds for row a minus for row b, for pairs (a, b)."""
    alone = feature_parts(model, rows)
    sums = model.tree_sums
    trees = [] if sums is None else zip(sums.trees, sums.weights, strict=True)
    joint = [(tree, weight) for tree, weight in trees if len(set(tree.features)) > 1]
    used = sorted({*alone.features.tolist(), *(f for tree, _ in joint for f in tree.features)})
    slot = {feature: number for number, feature in enumerate(used)}
    out = np.zeros((len(pairs), len(used)))
    places = [slot[feature] for feature in alone.features.tolist()]
    out[:, places] = alone.added[pairs[:, 0]] - alone.added[pairs[:, 1]]
    if joint:
        columns = np.column_stack([rows.column(feature).astype(np.float64) for feature in used])
        for tree, weight in joint:
            out += weight * tree_differences(tree.with_features(slot), columns, pairs)
    return used, out


# --- Explain why one item ranks above another, and what a score is made of


def contributions(ranker: object, x: TableLike, X: TableLike | None = None) -> Contributions:
    """Return what each feature, and each pair of features, adds to the score of one item.

    Parameters
    ----------
    ranker : AdditiveRanker or fitted estimator
        A sum of functions of one feature, or of two where it has trees of pairs. The score of
        larger trees has no such parts: `why` explains its differences. Of a pipeline, the last
        step: features are those that arrive there.
    x : array of shape (n_features,), pandas Series, or a table of one row
        The item. The index of a Series, as of ``X.iloc[7]``, has the names of the features.
    X : array, sparse matrix or frame, optional
        Rows over which what a pair adds is 0 on average, for every value of either feature, as
        in `shapes`; by default over all combinations of steps.

    Examples
    --------
    >>> from crucial.model.additive import AdditiveRanker
    >>> from crucial.model.weak import Stump
    >>> model = AdditiveRanker(2, [Stump(0, 0.5, 0), Stump(1, 2.0, 1)], [1.0, 0.25])
    >>> print(contributions(model, [1.0, np.nan]))
    score 1.25
            +1  feature 0                1
         +0.25  feature 1                missing
    """
    x = _as_row(x)
    inner = inner_ranker(ranker)
    model = additive_model(inner.ranker, "contributions", features=2, names=inner.names)
    instances = checked_rows(model, inner.rows(x))
    if instances.n_rows != 1:
        raise DataError(
            f"contributions explains one row. Got {instances.n_rows}: pass one of them, as X[[7]], "
            "or see shapes for what features add over all rows.",
            parameter="x",
        )
    pairs, moved = pair_shapes(model, None if X is None else checked_rows(model, inner.rows(X)))
    parts = _with_moved(feature_parts(model, instances), moved, instances)
    order = np.argsort(-np.abs(parts.added[0]), kind="stable")
    features = tuple(parts.features[order].tolist())
    value_of = dict(zip(parts.features.tolist(), parts.columns[0].tolist(), strict=True))
    joint = np.array([one(*(value_of[f] for f in one.features)) for one in pairs])
    largest = np.argsort(-np.abs(joint), kind="stable").tolist()
    return Contributions(
        float(model.predict(instances)[0]),
        features,
        tuple(feature_name(model.feature_names, feature) for feature in features),
        parts.columns[0, order],
        parts.added[0, order],
        model.intercept,
        tuple(pairs[place].features for place in largest),
        joint[largest],
        tuple(cell_text(model.encodings, instances, 0, feature) for feature in features),
    )


def _as_row(x: TableLike) -> TableLike:
    """Return one item as a table of one row; a table as it is."""
    if isinstance(x, Instances) or hasattr(x, "columns"):
        return x
    if hasattr(x, "to_frame") and hasattr(x, "index"):
        series: Any = x
        # (a Series of numbers, text and dates has objects, which as columns have types again)
        row: TableLike = series.to_frame().T.infer_objects()
        return row
    values = cast(ArrayLike, x)
    return np.asarray(values, np.float64).reshape(1, -1) if np.ndim(values) == 1 else x


def _with_moved(
    parts: FeatureParts, moved: Mapping[int, Shape], instances: Instances
) -> FeatureParts:
    """Add to the parts of features what one feature explains of the tables of pairs."""
    if not moved:
        return parts
    used = sorted({*parts.features.tolist(), *moved})
    columns = np.column_stack([instances.column(f).astype(np.float64) for f in used])
    added = np.zeros((instances.n_rows, len(used)))
    added[:, np.searchsorted(used, parts.features)] = parts.added
    for feature, shape in moved.items():
        slot = used.index(feature)
        steps = np.append(shape.values, shape.missing)
        added[:, slot] += steps[step_of(shape, columns[:, slot])]
    return FeatureParts(np.array(used, np.int64), columns, added)


def why(
    ranker: object,
    X: TableLike,
    a: int | None = None,
    b: int | None = None,
    *,
    loc: Iterable[object] | None = None,
) -> PairExplanation:
    """Explain why the item in row ``a`` ranks above the one in row ``b``.

    Parameters
    ----------
    ranker : AdditiveRanker or fitted estimator
        Where the ranker is a sum of functions of one feature each, the difference of two scores
        is exactly a sum over features. In trees of several features, each feature gets its
        Shapley value of the change from b to a, which add up to the same difference. Of a
        pipeline, the last step: features are those that arrive there.
    X : array, sparse matrix or frame of shape (n_rows, n_features)
    a, b : int
        Rows of two items of the same query, counted from 0. Refused where X is a frame whose
        index has other numbers, which might be meant.
    loc : pair of labels, optional
        The two rows by their labels in the index of a frame, instead of ``a`` and ``b``;
        ``X.index[[a, b]]`` has the labels of two positions.

    Examples
    --------
    >>> from crucial.model.additive import AdditiveRanker
    >>> from crucial.model.weak import Stump
    >>> model = AdditiveRanker(2, [Stump(0, 0.5, 0), Stump(1, 2.0, 1)], [1.0, 0.25])
    >>> print(why(model, np.array([[1.0, 0.0], [0.0, 3.0]]), 0, 1))
    row 0 (score 1) ranks above row 1 (score 0.25) by 0.75:
            +1  feature 0                1 against 0
         -0.25  feature 1                0 against 3
    """
    inner = inner_ranker(ranker)
    model = additive_model(inner.ranker, "why", features=None, names=inner.names)
    a, b, titles = two_rows(X, a, b, loc)
    instances = checked_rows(model, inner.rows(X))
    for name, row in (("a", a), ("b", b)):
        check("why", name, row, int_between(0, instances.n_rows - 1))
    pair = instances.take_rows([a, b])
    used, differences = pair_differences(model, pair, np.array([[0, 1]]))
    added = differences[0]
    order = np.argsort(-np.abs(added), kind="stable")
    features = tuple(used[place] for place in order)
    score_a, score_b = model.predict(pair).tolist()
    values = [pair.column(feature).astype(np.float64) for feature in features]
    texts_a, texts_b = (
        tuple(cell_text(model.encodings, pair, row, feature) for feature in features)
        for row in (0, 1)
    )
    return PairExplanation(
        int(a),
        int(b),
        score_a,
        score_b,
        features,
        tuple(feature_name(model.feature_names, feature) for feature in features),
        np.array([column[0] for column in values]),
        np.array([column[1] for column in values]),
        added[order],
        texts_a,
        texts_b,
        *titles,
    )
