"""Importances of features: by weight, by what the rounds improved, by permutation."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.groups import Groups
from crucial.data.instances import Instances, Table, with_shuffled, with_sparse_column
from crucial.errors import DataError, DataTypeError, NotRankedError
from crucial.feedback.labels import check_labels
from crucial.inspection.shape_functions import inner_ranker, model_of, with_names
from crucial.measures.names import MeasureLike, default_measure, get_measure
from crucial.model.base import FrozenModel, RoundsModel, checked_rows
from crucial.model.weak import Tree
from crucial.parameters import at_least, check, int_between, one_of
from crucial.results import Axes, Frame, Result, as_frame, bar_chart, listed, names_of, padded
from crucial.types import Floats, Ints, TableLike, VectorLike

# --- Rows with the ranker that scores them, as they are or with one feature shuffled


@dataclass(frozen=True, eq=False)
class ScoredTable:
    """Rows with the ranker that scores them.

    Attributes
    ----------
    ranker : FrozenModel, or object with ``predict``
        A model of this library scores ``instances``, in which columns of text and dates are numbers
        already. Any other ranker gets ``table``, with its own types and names.
    instances, groups : rows, as numbers where they are, and queries
    table : the caller's rows
    qid : query ids, or None
    """

    ranker: object
    instances: Instances
    groups: Groups
    table: Table
    qid: VectorLike | None

    def scores(self, n_jobs: int | None = None) -> Floats:
        """Return the scores of the rows."""
        if isinstance(self.ranker, FrozenModel):
            return self.ranker.predict(self.instances, self.groups, n_jobs=n_jobs)
        return predict_any(self.ranker, self.table, self.qid)

    def shuffled_scores(self, feature: int, order: Ints) -> Floats:
        """Return the scores if a feature has the values of the rows ``order``."""
        if isinstance(self.ranker, FrozenModel):
            column = self.instances.column(feature)[order]
            return self.ranker.predict(_with_column(self.instances, feature, column), self.groups)
        return predict_any(self.ranker, with_shuffled(self.table, feature, order), self.qid)


def scored_rows(ranker: object, X: TableLike, qid: VectorLike | None = None) -> ScoredTable:
    """Check rows and return them with the ranker, of this library or any other."""
    model = getattr(ranker, "model_", ranker)
    if isinstance(model, FrozenModel):
        encoded = checked_rows(model, X)
        return ScoredTable(model, encoded, Groups.from_qid(qid, encoded.n_rows), X, qid)
    instances = Instances.from_input(X, texts=True)
    table: Table = instances.table if isinstance(X, Instances) else X
    table = table if hasattr(table, "shape") else np.asarray(table)
    return ScoredTable(ranker, instances, Groups.from_qid(qid, instances.n_rows), table, qid)


def predict_any(ranker: object, X: Table, qid: VectorLike | None) -> Floats:
    """Return one score per row by ``predict`` of any ranker, with the queries if it takes them."""
    outer: Any = ranker
    while hasattr(outer, "best_estimator_"):  # (a search passes rows on, and nothing else)
        outer = outer.best_estimator_
    last: Any = inner_ranker(outer).ranker
    if not (hasattr(outer, "predict") and hasattr(last, "predict")):
        raise NotRankedError(f"importances need a ranker with predict(X). Got {ranker!r}.")
    if qid is None or "qid" not in inspect.signature(last.predict).parameters:
        found = np.asarray(outer.predict(X))
    else:
        from sklearn import config_context

        # (without routing, a pipeline hands everything else to its last step)
        with config_context(enable_metadata_routing=False):
            found = np.asarray(outer.predict(X, qid=qid))
    if found.dtype.kind not in "biuf" or found.size != X.shape[0]:
        raise DataTypeError(
            f"predict of {type(ranker).__name__} must return one number per row. Got {found.dtype} "
            f"of shape {found.shape}.",
            remedy="Pass a ranker or a regressor, or a classifier whose classes are numbers.",
        )
    return found.reshape(-1).astype(np.float64)


def _with_column(instances: Instances, feature: int, column: NDArray[np.generic]) -> Instances:
    """Return the rows with other values of one feature."""
    if instances.is_sparse:
        return replace(instances, table=with_sparse_column(instances.table, feature, column))
    table = np.array(instances.table, dtype=np.result_type(instances.table, column), copy=True)
    table[:, feature] = column
    return replace(instances, table=table)


KINDS = ("weight", "drop", "r_squared", "permutation")
_MEANINGS = {
    "drop": "share of the drop in the logarithm of the training loss",
    "r_squared": "share of the sum of r^2 over the rounds",
}


@dataclass(frozen=True, eq=False, repr=False)
class Importances(Result):
    """Result of `importances`; ``result["bm25"]`` is the importance of one feature.

    Attributes
    ----------
    kind : str
        "weight", "drop", "r_squared" or "permutation".
    meaning : str
        What the numbers are.
    names : sequence of str
        All features, in the order of the ranker.
    values : array of shape (n_features,)
        Importance of each feature; for permutation the mean over repeats.
    repeats : array of shape (n_repeats, n_features) or None
        Permutation: how much worse the measure got in each repeat.
    baseline : float or None
        Permutation: the measure before.
    """

    _bars = ("importance",)

    kind: str
    meaning: str
    names: Sequence[str]
    values: Floats
    repeats: Floats | None = None
    baseline: float | None = None

    def __getitem__(self, name: str) -> float:
        if name not in self.names:
            raise KeyError(name)
        return float(self.values[self.names.index(name)])

    @property
    def order(self) -> list[int]:
        """Features, the most important first; equals in the order of the ranker."""
        return [int(f) for f in np.argsort(-self.values, kind="stable")]

    @property
    def never(self) -> tuple[str, ...]:
        """Features that made no difference at all."""
        each = self.values != 0.0 if self.repeats is None else (self.repeats != 0.0).any(axis=0)
        return tuple(self.names[feature] for feature in np.flatnonzero(~each).tolist())

    @property
    def spread(self) -> Floats | None:
        """Permutation: standard deviation over the repeats; None with fewer than two."""
        if self.repeats is None or len(self.repeats) < 2:
            return None
        # Most features of a wide model are never shuffled, and their changes are all 0.
        some = np.flatnonzero((self.repeats != 0.0).any(axis=0))
        out = np.zeros(self.repeats.shape[1])
        out[some] = self.repeats[:, some].std(axis=0, ddof=1)
        return out

    def __str__(self) -> str:
        before = "" if self.baseline is None else f" from {self.baseline:.4f}"
        lines = [f"{self.meaning}{before}"]
        silent, spread = set(self.never), self.spread
        for feature in self.order:
            if self.names[feature] in silent:
                continue
            give = "" if spread is None else f" ± {spread[feature]:.4f}"
            lines.append(
                f"{padded(self.names[feature], 24)} {self.values[feature]:8.4f}{give}".rstrip()
            )
        if silent:
            lines.append(f"never mattered: {listed(self.never)}")
        return "\n".join(lines)

    def to_frame(self) -> Frame:
        """Return one row per feature, the most important first."""
        order = self.order
        columns: dict[str, list[object]] = {
            "feature": list(order),
            "name": [self.names[f] for f in order],
            "importance": self.values[order].tolist(),
        }
        if self.spread is not None:
            columns["spread"] = self.spread[order].tolist()
        return as_frame(columns)

    def plot(self, ax: Axes | None = None, top: int = 20) -> Axes:
        """Draw the most important features as bars; needs matplotlib. Returns the axes."""
        check("plot", "top", top, at_least(1))
        order = self.order[:top]
        spread = None if self.spread is None else self.spread[order]
        ax = bar_chart(ax, [self.names[f] for f in order], self.values[order], xerr=spread)
        ax.set_xlabel(self.meaning)
        return ax


def importances(
    ranker: object,
    X: TableLike | None = None,
    y: VectorLike | None = None,
    *,
    qid: VectorLike | None = None,
    kind: str = "weight",
    metric: MeasureLike | None = None,
    shuffle: str = "within",
    repeats: int = 5,
    random_state: int = 0,
    features: Sequence[int] | None = None,
) -> Importances:
    """Return how much each feature matters.

    Parameters
    ----------
    ranker : AdditiveRanker, fitted estimator, or anything with ``predict(X)``
        Of a pipeline, "permutation" shuffles the columns that go in; the others are about the
        features of its last step.
    X, y, qid : rows, labels and queries
        For "permutation" only.
    kind : {"weight", "drop", "r_squared", "permutation"}
        "weight": share of the absolute weight of the ranker, or of the gains of a tree. "drop"
        and "r_squared": share of what the rounds that chose the feature improved (Pan et al.
        2009), as the drop in the logarithm of the training loss, which is the sum of ``-ln Z``,
        or as the sum of ``r^2``, of which the features of a tree get parts by their gains; they
        need an estimator, which has the trace. "permutation": how
        much worse a measure gets when the values of the feature are shuffled; works for every
        ranker.
    metric : str or Measure, optional
        For "permutation". Default: ndcg@10, or auc without queries or with labels below 0.
    shuffle : {"within", "over"}
        Shuffle values within each query, or over all rows. Only "within" leaves alone what
        the items of a query have in common, which no ranking depends on.
    repeats, random_state : int
        How often to shuffle a feature, and the seed.
    features : sequence of int, optional
        For "permutation": the features to shuffle; the others are left at 0.

    Returns
    -------
    Importances

    Examples
    --------
    >>> from crucial.model.additive import AdditiveRanker
    >>> from crucial.model.weak import Stump
    >>> model = AdditiveRanker(2, [Stump(0, 0.5, 0)], [1.0], ["bm25", "age"])
    >>> importances(model)["bm25"], importances(model).never
    (1.0, ('age',))
    """
    check("importances", "kind", kind, one_of(*KINDS))
    if kind != "permutation":
        return _learned(ranker, kind)
    check("importances", "shuffle", shuffle, one_of("within", "over"))
    check("importances", "repeats", repeats, at_least(1))
    check("importances", "random_state", random_state, at_least(0))
    if X is None or y is None:
        raise DataError("importances of kind 'permutation' need rows and labels: X and y.")
    rows = scored_rows(ranker, X, qid)
    instances, groups = rows.instances, rows.groups
    own = rows.ranker if isinstance(rows.ranker, FrozenModel) else None
    labels = check_labels(y)
    measure = get_measure(default_measure(labels, qid is not None) if metric is None else metric)
    value = measure.prepare(labels, groups)
    before = value(rows.scores())
    sign = 1.0 if measure.higher_is_better else -1.0
    every: range | set[int] = range(instances.n_features) if own is None else _used_features(own)
    if features is not None:
        for feature in features:
            check("importances", "features", feature, int_between(0, instances.n_features - 1))
        every = {int(feature) for feature in features if feature in every}
    used = sorted(every)
    out = np.zeros((repeats, instances.n_features))
    for feature in used:
        for repeat in range(repeats):
            rng = np.random.default_rng([random_state, feature, repeat])
            other = value(rows.shuffled_scores(feature, _new_order(groups, shuffle, rng)))
            out[repeat, feature] = sign * (before - other)
    known = None if own is None else own.feature_names
    known = known or instances.names
    names = names_of(known, instances.n_features)
    where = "inside queries" if shuffle == "within" else "among all rows"
    meaning = f"loss of {measure.name} when values change places {where}"
    values = np.zeros(instances.n_features)
    values[used] = out[:, used].mean(axis=0)
    return Importances("permutation", meaning, names, values, out, float(before))


def _learned(ranker: object, kind: str) -> Importances:
    """Return importances that a model or the trace of its training has."""
    inner = inner_ranker(ranker)
    model = model_of(inner.ranker)
    if not isinstance(model, FrozenModel):
        raise NotRankedError(
            f"importances of kind {kind!r} are read from a model of crucial, and "
            f"{type(ranker).__name__} has none; kind='permutation' works for every ranker."
        )
    model = with_names(model, inner.names)
    names = names_of(model.feature_names, model.n_features)
    if kind == "weight":
        return Importances(kind, model.importance_of, names, model.feature_importances())
    return Importances(kind, _MEANINGS[kind], names, _improvements(inner.ranker, model, kind))


def _improvements(ranker: object, model: FrozenModel, kind: str) -> Floats:
    """Return the share of each feature in what the rounds of the model improved."""
    trace = getattr(ranker, "trace_", None)
    if trace is None or not isinstance(model, RoundsModel):
        raise NotRankedError(
            f"importances of kind {kind!r} need the trace of the training (trace_), and "
            f"{type(ranker).__name__} has none: only an estimator that learns round by round has. "
            "Use kind='weight' or kind='permutation'."
        )
    out = np.zeros(model.n_features)
    before = 0.0
    for entry in list(trace)[: model.n_rounds]:
        improved = before - entry.log_loss if kind == "drop" else entry.r**2
        for feature, share in _shares(entry.ranker).items():
            out[feature] += share * improved
        before = entry.log_loss
    total = out.sum()
    return out / total if total > 0 else out


def _shares(ranker: object) -> dict[int, float]:
    """Return the features of a weak ranker, with their shares of what it improved."""
    if isinstance(ranker, Tree):
        gains = ranker.gain_by_feature()
        total = math.fsum(gains.values()) or 1.0
        return {feature: gain / total for feature, gain in gains.items()}
    feature = getattr(ranker, "feature", None)
    return {} if feature is None else {feature: 1.0}


def _used_features(model: FrozenModel) -> range | set[int]:
    """Return the features that can make a difference; all if a weak ranker does not name its."""
    if not isinstance(model, RoundsModel):
        return range(model.n_features)
    named = [_shares(weak) for weak in model.rankers]
    if not all(named):
        return range(model.n_features)
    return {feature for one in named for feature in one}


def _new_order(groups: Groups, shuffle: str, rng: np.random.Generator) -> Ints:
    """Return which row's value each row gets."""
    n = len(groups.codes)
    if shuffle == "over":
        return rng.permutation(n)
    out = np.empty(n, np.int64)
    out[groups.order] = np.lexsort((rng.random(n), groups.codes))
    return out
