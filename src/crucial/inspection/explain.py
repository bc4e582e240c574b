"""Explain why one item ranks above another, and what a score is made of."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import factorial
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from crucial.data.instances import Instances
from crucial.errors import DataError, MissingExtraError, ParameterError
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
from crucial.results import (
    Axes,
    Frame,
    Result,
    as_frame,
    bar_chart,
    feature_name,
    padded,
    text_table,
)
from crucial.types import Bools, Floats, Ints, TableLike
from crucial.wording import counted, printable

# --- What a score is made of, and why one item ranks above another: the results


_TOP = 12  # features drawn; the others are summed


@dataclass(frozen=True, eq=False, repr=False)
class Contributions(Result):
    """The parts of the score of one item, the largest first.

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
        columns: dict[str, Any] = {"feature": [*self.features, *self.pairs]}
        columns["name"] = [*self.names, *self.pair_names]
        columns["value"] = np.append(self.values, none)
        columns["text"] = [*self.texts, *[""] * len(self.pairs)]
        return as_frame({**columns, "adds": np.append(self.added, self.pair_added)})

    def plot(self, ax: Axes | None = None, top: int = _TOP) -> Axes:
        """Draw the largest parts as bars; needs matplotlib. Returns the axes."""
        labels = [f"{name} = {text}" for name, text in zip(self.names, self.texts)]
        added = np.concatenate((self.added, self.pair_added))
        order = np.argsort(-np.abs(added), kind="stable").tolist()
        every = [*labels, *self.pair_names]
        drawn = [every[place] for place in order]
        return _bars(ax, drawn, added[order], top, f"score {self.score:.4g}")


@dataclass(frozen=True, eq=False, repr=False)
class ContributionMatrix(Result):
    """The part of each feature in the scores of several rows, compared with a mean score.

    Attributes
    ----------
    features : tuple of int
        Numbers of the features, ascending: all of them; of sparse rows, those that are used.
    names : tuple of str
    values : float64 array of shape (n_rows, n_features)
        Values of the rows; NaN where a feature is missing.
    added : float64 array of the same shape
        Shapley values of the features: what they add on average over the rows of the background.
        Those of a row and ``base`` sum to its score (up to rounding).
    base : float
        Mean score of the background.
    scores : float64 array of shape (n_rows,)
        The predictions of the ranker.
    texts : tuple of tuple of str
        The values of each row as text, if a feature has categories or dates; else empty.
    """

    features: tuple[int, ...]
    names: tuple[str, ...]
    values: Floats
    added: Floats
    base: float
    scores: Floats
    texts: tuple[tuple[str, ...], ...] = ()

    def text(self, width: int = 100, top: int = 20) -> str:
        """Return the parts of the largest features: on average without the sign, least and most."""
        size = np.abs(self.added).mean(axis=0)
        order = np.argsort(-size, kind="stable")[:top].tolist()
        rows = []
        for at in order:
            part = self.added[:, at]
            numbers = (f"{size[at]:.4g}", f"{part.min():+.4g}", f"{part.max():+.4g}")
            rows.append([printable(self.names[at], 40), *numbers])
        of = f"{counted(len(self.names), 'feature')} in {counted(len(self.scores), 'row')}"
        title = f"contributions of {of}, compared with a mean score of {self.base:.6g}"
        lines = text_table(["feature", "mean size", "least", "most"], rows, width=width)
        rest = len(self.names) - len(order)
        return "\n".join([title, *lines, *([f"and {rest} more"] if rest else [])])

    def to_frame(self) -> Frame:
        """Return one row per row, one column per feature."""
        return as_frame(dict(zip(self.names, self.added.T, strict=True)))

    def to_shap(self) -> Any:
        """Return a ``shap.Explanation``, for the plots of SHAP."""
        try:
            import shap
        except ImportError as error:
            raise MissingExtraError(
                "to_shap() needs shap: pip install shap. print() and to_frame() show the same "
                "without."
            ) from error
        return shap.Explanation(
            self.added,
            np.full(len(self.scores), self.base),
            self.values,
            display_data=np.array(self.texts, object) if self.texts else None,
            feature_names=list(self.names),
        )


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
        """The names of the two rows: "row" and label or number."""
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
        values = {"value_a": self.values_a, "value_b": self.values_b}
        texts = {"text_a": self.texts_a, "text_b": self.texts_b}
        names = {"feature": self.features, "name": self.names}
        return as_frame({**names, **values, **texts, "adds": self.added})

    def plot(self, ax: Axes | None = None, top: int = _TOP) -> Axes:
        """Draw the largest reasons as bars; needs matplotlib. Returns the axes."""
        texts = zip(self.names, self.texts_a, self.texts_b)
        labels = [f"{name}: {x} against {y}" for name, x, y in texts]
        title = f"{self.titles[0]} above {self.titles[1]}: {self.margin:+.4g}"
        return _bars(ax, labels, self.added, top, title)


def _bars(ax: Axes | None, labels: list[str], added: Floats, top: int, title: str) -> Axes:
    """Draw the first ``top`` parts as bars, and the sum of the others."""
    check("plot", "top", top, at_least(1))
    names, values = labels[:top], added[:top]
    if len(added) > top:
        names = [*names, counted(len(added) - top, "other")]
        values = np.append(values, added[top:].sum())
    colours = ["tab:blue" if v >= 0 else "tab:orange" for v in values]
    ax = bar_chart(ax, names, values, color=colours)
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
    weights = _shapley_weights(len(set(tree.features)))
    out = np.zeros((len(pairs), rows.shape[1]))
    for value, passed in _leaves(tree, rows):
        both = {f: (lets[pairs[:, 0]], lets[pairs[:, 1]]) for f, lets in passed.items()}
        reached = np.logical_and.reduce([a | b for a, b in both.values()])
        own = sum((a & ~b).astype(np.int64) for a, b in both.values())
        other = sum((b & ~a).astype(np.int64) for a, b in both.values())
        up, down = (np.where(reached, value * weights[own, other, side], 0.0) for side in (0, 1))
        for f, (a, b) in both.items():
            out[:, f] += np.where(a & ~b, up, 0.0) - np.where(b & ~a, down, 0.0)
    return out


def _leaves(tree: Tree, rows: Floats) -> Iterator[tuple[float, dict[int, Bools]]]:
    """Yield the value of each leaf, and by feature which rows its tests on the way let pass."""
    goes_right = []
    for feature, threshold, missing in zip(tree.features, tree.thresholds, tree.missing):
        column = rows[:, feature]
        right = np.zeros(len(column), bool) if threshold is None else column > threshold
        goes_right.append(np.where(np.isnan(column), bool(missing), right))
    ways: list[tuple[int, dict[int, Bools]]] = [(0, {})]
    while ways:
        at, passed = ways.pop()
        if at < 0:
            yield tree.values[~at], passed
            continue
        feature, right = tree.features[at], goes_right[at]
        for child, here in ((tree.left[at], ~right), (tree.right[at], right)):
            passes = here & passed.get(feature, True)
            if passes.any():  # (else no item gets there)
                ways.append((child, passed | {feature: passes}))


_CELLS = 1 << 22  # (pattern, pattern, feature) at a time


def mean_tree_differences(tree: Tree, rows: Floats, background: Floats) -> Floats:
    """Return the means of `tree_differences` from each row to all rows of the background.

    What a leaf adds depends only on which tests on the way to it let either row pass, so that rows
    of the same pattern are counted and not listed.

    Examples
    --------
    >>> tree = Tree((0, 1), (0.5, 0.5), (0, 0), (~0, ~1), (1, ~2), (1.0, 1.0), (0.0, 0.0, 1.0))
    >>> mean_tree_differences(tree, np.array([[1.0, 1.0]]), np.array([[0.0, 0.0], [0.0, 1.0]]))
    array([[0.75, 0.25]])
    """
    weights = _shapley_weights(len(set(tree.features)))
    out = np.zeros(rows.shape)
    for value, passed in _leaves(tree, np.concatenate((rows, background))):
        if not value:
            continue
        lets = np.column_stack(list(passed.values()))
        own, places, _ = _patterns(lets[: len(rows)])
        others, _, counts = _patterns(lets[len(rows) :])
        step = max(1, _CELLS // others.size)
        parts = []
        for begin in range(0, len(own), step):
            a = own[begin : begin + step, None]
            up, down = a & ~others, others & ~a
            sizes = up.sum(axis=2), down.sum(axis=2)
            share = (a | others).all(axis=2) * (counts * value)
            gain, loss = ((share * weights[*sizes, side])[:, :, None] for side in (0, 1))
            parts.append((up * gain - down * loss).sum(axis=1))
        out[:, list(passed)] += np.concatenate(parts)[places]
    return out / len(background)


def _patterns(lets: Bools) -> tuple[Bools, Ints, Ints]:
    """Return the different rows of a table, the place of each row among them, and their counts."""
    code = np.zeros(len(lets), np.int64)
    for number, column in enumerate(lets.T):
        if number % 32 == 31:  # (codes stay below 2**63)
            code = np.unique(code, return_inverse=True)[1]
        code = 2 * code + column
    _, first, places, counts = np.unique(
        code, return_index=True, return_inverse=True, return_counts=True
    )
    return lets[first], places, counts


def pair_differences(
    model: AdditiveRanker, rows: Instances, pairs: Ints
) -> tuple[list[int], Floats]:
    """Return the used features, and what each adds for row a minus for row b, for pairs (a, b)."""
    used, parts, joint = _parts(model, rows)
    out = parts[pairs[:, 0]] - parts[pairs[:, 1]]
    columns = _columns(rows, used)
    for tree, weight in joint:
        out += weight * tree_differences(tree, columns, pairs)
    return used, out


def _parts(
    model: AdditiveRanker, rows: Instances, features: Iterable[int] = ()
) -> tuple[list[int], Floats, list[tuple[Tree, float]]]:
    """Return the used features and ``features``, what each adds alone, the trees of several."""
    alone = feature_parts(model, rows)
    sums = model.tree_sums
    trees = [] if sums is None else zip(sums.trees, sums.weights, strict=True)
    joint = [(tree, weight) for tree, weight in trees if len(set(tree.features)) > 1]
    of_trees = (f for tree, _ in joint for f in tree.features)
    used = sorted({*features, *alone.features.tolist(), *of_trees})
    slot = {feature: number for number, feature in enumerate(used)}
    out = np.zeros((rows.n_rows, len(used)))
    out[:, [slot[feature] for feature in alone.features.tolist()]] = alone.added
    return used, out, [(tree.with_features(slot), weight) for tree, weight in joint]


def _columns(rows: Instances, features: list[int]) -> Floats:
    """Return some columns as numbers, NaN where a value is missing."""
    columns = [rows.column(feature).astype(np.float64) for feature in features]
    return np.column_stack(columns) if columns else np.zeros((rows.n_rows, 0))


# --- Explain why one item ranks above another, and what a score is made of


def contributions(
    ranker: object, x: TableLike, X: TableLike | None = None
) -> Contributions | ContributionMatrix:
    """Split the score of one item, or the scores of several rows, into the parts of the features.

    Parameters
    ----------
    ranker : AdditiveRanker or fitted estimator
        A sum of functions of one feature each, or of trees. Of a pipeline, the last step: features
        are those that arrive there.
    x : array of shape (n_features,), pandas Series, or a table of one or more rows
        One item, or several rows. The index of a Series, as of ``X.iloc[7]``, has the names of the
        features.
    X : array, sparse matrix or frame, optional
        The background. Of one item: rows over which what a pair adds is 0 on average, for every
        value of either feature, as in `shapes`; by default over all combinations of steps. Of
        several rows: the rows they are compared with; by default themselves.

    Returns
    -------
    Contributions
        Of one item: the parts of its score, by feature, and by pair where there are trees of two
        features. The score of one item has no such parts in larger trees.
    ContributionMatrix
        Of several rows: the Shapley values of each feature, exact for trees of any size, which add
        up to the score minus the mean score of the background (interventional SHAP values).

    Examples
    --------
    >>> from crucial.model.additive import AdditiveRanker
    >>> from crucial.model.weak import Stump
    >>> model = AdditiveRanker(2, [Stump(0, 0.5, 0), Stump(1, 2.0, 1)], [1.0, 0.25])
    >>> print(contributions(model, [1.0, np.nan]))
    score 1.25
            +1  feature 0                1
         +0.25  feature 1                missing
    >>> found = contributions(model, [[1.0, np.nan], [0.0, 0.0]])
    >>> found.base, found.added.tolist()
    (0.625, [[0.5, 0.125], [-0.5, -0.125]])
    """
    x = _as_row(x)
    inner = inner_ranker(ranker)
    model = additive_model(inner.ranker, "contributions", features=None, names=inner.names)
    instances = checked_rows(model, inner.rows(x))
    if instances.n_rows != 1:
        background = instances if X is None else checked_rows(model, inner.rows(X))
        return _matrix(model, instances, background)
    model = additive_model(model, "contributions", features=2)
    pairs, moved = pair_shapes(model, None if X is None else checked_rows(model, inner.rows(X)))
    parts = _with_moved(feature_parts(model, instances), moved, instances)
    order = np.argsort(-np.abs(parts.added[0]), kind="stable")
    features = tuple(parts.features[order].tolist())
    value_of = dict(zip(parts.features.tolist(), parts.columns[0].tolist(), strict=True))
    joint = np.array([one(*(value_of[f] for f in one.features)) for one in pairs])
    largest = np.argsort(-np.abs(joint), kind="stable").tolist()
    head = (float(model.predict(instances)[0]), features, _names(model, features))
    alone = (parts.columns[0, order], parts.added[0, order], model.intercept)
    together = (tuple(pairs[place].features for place in largest), joint[largest])
    texts = tuple(cell_text(model.encodings, instances, 0, feature) for feature in features)
    return Contributions(*head, *alone, *together, texts)


def _matrix(model: AdditiveRanker, rows: Instances, background: Instances) -> ContributionMatrix:
    """Return the Shapley values of all rows against a background."""
    if not rows.n_rows or not background.n_rows:
        raise DataError("contributions needs rows, and rows to compare them with. Got none.")
    shown = () if rows.is_sparse else range(model.n_features)
    used, alone, joint = _parts(model, rows, shown)
    columns, others = _columns(rows, used), _columns(background, used)
    added = alone - _parts(model, background, shown)[1].mean(axis=0)
    for tree, weight in joint:
        added += weight * mean_tree_differences(tree, columns, others)
    texts = (
        tuple(cell_text(model.encodings, rows, row, feature) for feature in used)
        for row in range(rows.n_rows if model.encodings else 0)
    )
    names = _names(model, used)
    base, scores = float(model.predict(background).mean()), model.predict(rows)
    return ContributionMatrix(tuple(used), names, columns, added, base, scores, tuple(texts))


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
    values_a, values_b = (np.array([column[row] for column in values]) for row in (0, 1))
    head = (int(a), int(b), score_a, score_b, features, _names(model, features))
    return PairExplanation(*head, values_a, values_b, added[order], texts_a, texts_b, *titles)


def _names(model: AdditiveRanker, features: Iterable[int]) -> tuple[str, ...]:
    return tuple(feature_name(model.feature_names, feature) for feature in features)
