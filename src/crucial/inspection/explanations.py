"""Explain why one item ranks above another, and what a score is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crucial.data.instances import Instances
from crucial.errors import DataError
from crucial.inspection.explanation_results import Contributions, PairExplanation
from crucial.inspection.pair_shapes import pair_shapes
from crucial.inspection.parts import FeatureParts, additive_model, feature_parts, step_of
from crucial.inspection.pipelines import inner_ranker
from crucial.inspection.row_labels import two_rows
from crucial.inspection.tree_differences import tree_difference
from crucial.model.additive import AdditiveRanker, Shape
from crucial.model.base import checked_rows
from crucial.model.tree_table import cell_text
from crucial.parameters import check, int_between
from crucial.results import feature_name
from crucial.types import Floats, TableLike

__all__ = ["contributions", "why"]


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
    order, features, names = _largest_first(model, parts, parts.added[0])
    value_of = dict(zip(parts.features.tolist(), parts.columns[0].tolist(), strict=True))
    joint = np.array([one(*(value_of[f] for f in one.features)) for one in pairs])
    largest = np.argsort(-np.abs(joint), kind="stable").tolist()
    return Contributions(
        float(model.predict(instances)[0]),
        features,
        names,
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


def _largest_first(
    model: AdditiveRanker, parts: FeatureParts, added: Floats
) -> tuple[NDArray[np.intp], tuple[int, ...], tuple[str, ...]]:
    """Return the order of the parts, and numbers and names of their features in this order."""
    order = np.argsort(-np.abs(added), kind="stable")
    features = tuple(parts.features[order].tolist())
    return order, features, tuple(feature_name(model.feature_names, f) for f in features)


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


def _with_joint_trees(model: AdditiveRanker, pair: Instances, parts: FeatureParts) -> FeatureParts:
    """Add what trees of several features contribute to the difference of two rows."""
    if model.tree_sums is None:
        return parts
    trees = zip(model.tree_sums.trees, model.tree_sums.weights, strict=True)
    joint = [(tree, weight) for tree, weight in trees if len(set(tree.features)) > 1]
    if not joint:
        return parts
    used = sorted({*parts.features.tolist(), *(f for tree, _ in joint for f in tree.features)})
    slot = {feature: number for number, feature in enumerate(used)}
    columns = np.column_stack([pair.column(feature).astype(np.float64) for feature in used])
    added = np.zeros((2, len(used)))
    added[:, [slot[feature] for feature in parts.features.tolist()]] = parts.added
    for tree, weight in joint:
        change = np.zeros(len(used))
        tree_difference(tree.with_features(slot), columns[0], columns[1], change)
        added[0] += weight * change
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
    parts = _with_joint_trees(model, pair, feature_parts(model, pair))
    added = parts.added[0] - parts.added[1]
    order, features, names = _largest_first(model, parts, added)
    score_a, score_b = model.predict(pair).tolist()
    values_a, values_b = parts.columns[:, order]
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
        names,
        values_a,
        values_b,
        added[order],
        texts_a,
        texts_b,
        *titles,
    )
