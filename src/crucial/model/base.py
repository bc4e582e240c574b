"""What all fitted models share: checked input, rounds, ranks in queries, plain data for JSON."""

from __future__ import annotations

import math
import numbers
import reprlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import msgspec
import numpy as np

from crucial.data.arrays import MAX_FEATURES
from crucial.data.groups import Groups
from crucial.data.instances import Encodings, Instances
from crucial.data.words import is_unicode
from crucial.errors import DataError, NotRankedError, ParameterError
from crucial.kernels.elementary import exact_sum
from crucial.kernels.runtime import count_threads, over_ranges
from crucial.parameters import check, int_between, one_of, refuse
from crucial.types import Floats, Ints, PathLike, TableLike, VectorLike

if TYPE_CHECKING:
    from crucial.export.export import Export
    from crucial.measures.names import MeasureLike
    from crucial.model.additive import Shape
    from crucial.model.scorer import Scorer
    from crucial.model.weak import WeakRankerLike


# --- The parts of a model, converted to plain data that JSON can write exactly


_DEPTH = 16
_WHOLE = 2**63
_HEAVIEST = sys.float_info.max / 4  # so that differences of two scores are finite too


def plain_summary(summary: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Copy a summary as dicts, lists, text, booleans, None and finite numbers.

    NumPy's scalars and arrays become plain ones. Whatever JSON cannot write (infinite
    numbers, NaN, other objects) is refused here, not when the model is saved.

    Examples
    --------
    >>> plain_summary({"rounds": np.int64(3), "loss": (0.5, None)}, "RankBoost")
    {'rounds': 3, 'loss': [0.5, None]}
    """
    try:
        out = _plain(summary, 0)
    except _NotPlain as problem:
        place = "training" + "".join(f"[{one}]" for one in reversed(problem.places))
        raise refuse(owner, place, problem.rule, _Short(problem.value)) from None
    if not isinstance(out, dict):
        raise refuse(owner, "training", "a mapping", _Short(summary))
    return out


class _Short:
    """A value with a short repr, however large it is."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __repr__(self) -> str:
        return reprlib.repr(self._value)


class _NotPlain(Exception):
    """A value that JSON cannot write, the rule that it breaks, and where it is, innermost first."""

    def __init__(self, rule: str, value: object) -> None:
        super().__init__(rule)
        self.rule, self.value = rule, value
        self.places: list[str] = []


def _plain(value: object, depth: int) -> Any:
    """Copy one value of a summary."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str) and is_unicode(value):
        return str(value)
    if isinstance(value, int) and -_WHOLE <= value < _WHOLE:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if depth < _DEPTH and isinstance(value, list | tuple):
        # (names of places are made where one is wrong alone: a summary may have millions)
        plain_list: list[Any] = []
        try:
            for one in value:
                plain_list.append(_plain(one, depth + 1))
        except _NotPlain as problem:
            problem.places.append(str(len(plain_list)))
            raise
        return plain_list
    if depth < _DEPTH and isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise _NotPlain("a mapping with text as keys", key)
        plain_dict: dict[str, Any] = {}
        for key, one in value.items():
            own = _plain(key, depth)
            try:
                plain_dict[own] = _plain(one, depth + 1)
            except _NotPlain as problem:
                problem.places.append(reprlib.repr(key))
                raise
        return plain_dict
    raise _NotPlain("text, finite numbers, or lists and mappings of them, not too deep", value)


def plain_weights(
    weights: Sequence[float] | Floats,
    n_rankers: int,
    owner: str,
    name: str = "weights",
    reach: Sequence[float] | Floats | None = None,
) -> tuple[float, ...]:
    """Return weights as plain floats, one per ranker, such that no score can overflow.

    Parameters
    ----------
    reach : sequence of float or array, optional
        Largest absolute score of every ranker; 1 by default.
    """
    plain = tuple(map(float, weights))
    if len(plain) != n_rankers:
        rule = f"one number for each of the {n_rankers} rankers"
        raise refuse(owner, name, rule, f"{len(plain)} numbers")
    reach = [1.0] * n_rankers if reach is None else list(map(float, reach))
    total = exact_sum(np.array([abs(w) * r for w, r in zip(plain, reach, strict=True)]))
    if not total <= _HEAVIEST:  # (a NaN is not, either)
        odd = next((w for w in plain if not math.isfinite(w)), f"a sum of {total}")
        rule = f"finite numbers with an absolute sum of at most {_HEAVIEST:.3g}"
        raise refuse(owner, name, rule, odd)
    return plain


def plain_names(names: Sequence[str] | None, n_features: int, owner: str) -> tuple[str, ...] | None:
    """Return feature names as plain text, one per feature."""
    if names is None:
        return None
    plain = tuple(names)
    if len(plain) != n_features:
        rule = f"one name for each of the {n_features} features, or None"
        raise refuse(owner, "feature_names", rule, f"{len(plain)} names")
    for name in plain:
        if not isinstance(name, str) or not is_unicode(name):
            raise refuse(owner, "feature_names", "text that UTF-8 can write", _Short(name))
    return tuple(map(str, plain))


def plain_index(owner: str, value: object) -> int:
    """Return the number of a feature as a plain int; NumPy's are taken, True is not."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 0:
        raise refuse(owner, "feature", "the number of a feature, counted from 0", value)
    return int(value)


def plain_number(owner: str, name: str, value: object, rule: str = "a finite number") -> float:
    """Return a finite number as a plain float."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not math.isfinite(value):
        raise refuse(owner, name, rule, value)
    return float(value)


def plain_bit(owner: str, value: object) -> int:
    """Return 0 or 1 as a plain int."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value not in (0, 1):
        raise refuse(owner, "default", "0 or 1", value)
    return int(value)


def check_ranker(number: int, ranker: object, n_features: int, owner: str) -> None:
    """Refuse an object that cannot score, or that uses a feature the model has not."""
    if not callable(getattr(ranker, "scores", None)):
        rule = "weak rankers, objects with a method scores(X, groups)"
        raise refuse(owner, "rankers", rule, _Short(ranker))
    feature = getattr(ranker, "largest_feature", getattr(ranker, "feature", None))
    if isinstance(feature, numbers.Integral) and not 0 <= int(feature) < n_features:
        rule = f"about features 0 to {n_features - 1}"
        raise refuse(owner, "rankers", rule, f"feature {feature} in round {number + 1}")


# --- The checks of rows before a model scores them: columns, names, infinities


_BLOCK = 1 << 19  # numbers checked at a time: they and the result stay in the cache


def check_columns(
    instances: Instances,
    n_features: int,
    names: tuple[str, ...] | None = None,
    owner: str = "the model",
) -> None:
    """Check that a table has the columns that a model was trained on, in scikit-learn's words.

    If the table or the model has no names, only the number of columns is checked.

    Parameters
    ----------
    instances : Instances
        The table.
    n_features : int
        The required number of columns.
    names : tuple of str, optional
        Their required names.
    owner : str
        The model or estimator, for messages.
    """
    if instances.names is not None and names is not None:
        _check_names(instances.names, names)
    if instances.n_features != n_features:
        raise DataError(
            f"X has {instances.n_features} features, but {owner} is expecting {n_features} "
            "features as input. Pass the columns that it was trained on, in the same order."
        )


def _check_names(found: tuple[str, ...], expected: tuple[str, ...]) -> None:
    """Refuse other names, or another order, listing up to five differences of each kind."""
    if found == expected:
        return
    unseen, missing = sorted({*found} - {*expected}), sorted({*expected} - {*found})
    lines = ["The feature names should match those that were passed during fit."]
    for title, names in (
        ("Feature names unseen at fit time:", unseen),
        ("Feature names seen at fit time, yet now missing:", missing),
    ):
        if names:
            lines += [title, *(f"- {name}" for name in names[:5])]
            lines += [f"- ... and {len(names) - 5} more"] if len(names) > 5 else []
    if not unseen and not missing and len(found) != len(expected):
        lines.append("X has columns of the same name; pass every feature once.")
    elif not unseen and not missing:
        place = next(j for j, name in enumerate(found) if name != expected[j])
        lines.append(
            "Feature names must be in the same order as they were in fit.\n"
            f"Column {place} is {found[place]!r}, expected {expected[place]!r}."
        )
    if missing:
        lines.append(
            f"{len(missing)} of the {len(expected)} features never occur. "
            "X.reindex(columns=...) with the names of fit makes them abstain."
        )
    raise DataError("\n".join(lines) + "\n")


def checked_rows(model: FrozenModel, X: TableLike, n_jobs: int | None = 1) -> Instances:
    """Return the rows to score, checked to have the model's columns and no infinite values."""
    instances = Instances.from_input(X, texts=True)
    owner = str(model.training.get("estimator", type(model).__name__))
    check_columns(instances, model.n_features, model.feature_names, owner)
    instances = model.encodings.encode(instances)
    check_finite(instances, model.feature_names, n_jobs)
    return instances


def check_finite(
    instances: Instances, names: tuple[str, ...] | None = None, n_jobs: int | None = 1
) -> None:
    """Refuse infinite values, naming the first in the order of rows. NaN is allowed.

    Parameters
    ----------
    instances : Instances
        The table to check.
    names : tuple of str, optional
        Names of the columns, for instances without names.
    n_jobs : int, optional
        Threads for large tables.
    """
    table = instances.table
    if table.dtype.kind != "f":
        return
    cells = table.data if instances.is_sparse else table
    step = max(1, _BLOCK // max(1, cells.shape[-1] if cells.ndim == 2 else 1))
    bounds = [*range(0, len(cells), step), len(cells)]
    infinite = over_ranges(
        bounds, count_threads(n_jobs), lambda a, b: bool(np.isinf(cells[a:b]).any())
    )
    place = instances.first_infinity() if any(infinite) else None
    if place is not None:
        row, column = place
        known = instances.names or names
        shown = repr(known[column]) if known is not None else str(column)
        raise DataError(
            f"Input X contains infinity: row {row}, column {shown} is {table[row, column]}. Use a "
            "finite number, or NaN where the feature has no opinion."
        )


def scored_blocks(
    instances: Instances, size: int, n_jobs: int | None, scores: Callable[[Instances], Floats]
) -> Floats:
    """Return the scores of all rows, computed for blocks of a size, several at a time."""
    out = np.empty(instances.n_rows)

    def block(first: int, last: int) -> None:
        out[first:last] = scores(instances.take_rows(np.arange(first, last)))

    over_ranges([*range(0, len(out), size), len(out)], count_threads(n_jobs), block)
    return out


# --- Places of rows in their queries, by their scores


def check_queries(call: str, qid: VectorLike | None, with_qid: object, more: str = "") -> None:
    """Refuse rows without queries, where the ranker was fitted with some.

    Parameters
    ----------
    call : str
        How to call the method, such as ``rank(X, qid=...)``.
    qid : array, or None
    with_qid : object
        Whether the ranker was fitted with queries, as the summary of the training has it.
    more : str
        What else to do, in sentences.

    Examples
    --------
    >>> check_queries("rank(X, qid=...)", ["a", "a"], True)
    >>> check_queries("rank(X, qid=...)", None, True)
    Traceback (most recent call last):
    ...
    crucial.errors.NotRankedError: rank needs qid, since this ranker was fitted with queries: \
scores of different queries cannot be compared. Call rank(X, qid=...); if all rows are of one \
query, give all the same qid.
    """
    if qid is None and with_qid is True:
        raise NotRankedError(
            f"{call.partition('(')[0]} needs qid, since this ranker was fitted with queries: "
            "scores of different queries cannot be compared.",
            remedy=f"Call {call}; if all rows are of one query, give all the same qid.{more}",
            parameter="qid",
        )


def positions(scores: Floats, groups: Groups, ties: str = "min") -> Ints:
    """Return the position of every row in its query, 1 for the highest score.

    Parameters
    ----------
    scores : array of shape (n_rows,)
    groups : Groups
    ties : {"min", "first"}
        Equal scores share the best position, or stand in the order of their rows.

    Examples
    --------
    >>> positions(np.array([1.0, 3.0, 3.0]), Groups.single(3)).tolist()
    [3, 1, 1]
    """
    check("rank", "ties", ties, one_of("min", "first"))
    order, query, first = groups.ranked(scores)
    place = first if ties == "min" else np.arange(len(order))
    out = np.empty(len(order), np.int64)
    out[order] = place - groups.starts[query] + 1
    return out


def membership(scores: Floats, groups: Groups, k: int) -> Floats:
    """Return the chance of every row to be among the first k of its query, ties at random.

    Parameters
    ----------
    scores : array of shape (n_rows,)
    groups : Groups
    k : int
        Of a query of fewer rows, all are selected.

    Examples
    --------
    >>> membership(np.array([1.0, 3.0, 1.0, 2.0]), Groups.single(4), 3).tolist()
    [0.5, 1.0, 0.5, 1.0]
    """
    order, query, ties = groups.ranked(scores)
    first = np.flatnonzero(ties == np.arange(len(order)))
    sizes = np.diff(np.append(first, len(order)))
    k = min(k, len(order))  # (beyond 64 bits there is no array)
    share = np.clip((k - (first - groups.starts[query[first]])) / sizes, 0.0, 1.0)
    out = np.empty(len(order))
    out[order] = np.repeat(share, sizes)
    return out


# --- What all fitted models of rows have in common


def as_shares(weights: Floats) -> Floats:
    """Return weights divided by their sum; all 0 if there is none."""
    total = weights.sum()
    return weights / total if total > 0 else weights


def check_width(n_features: int, owner: str) -> None:
    """Refuse a number of features that no table may have."""
    check(owner, "n_features", n_features, int_between(1, MAX_FEATURES))


@dataclass(frozen=True, init=False, repr=False)
class FrozenModel:
    """Base of the models that score rows.

    A model made of rounds is a `RoundsModel`. Any other, such as a tree, a kernel expansion or a
    net, sets its columns with `_set_columns`, its own fields with `_set`, and defines `_predict`,
    `feature_importances` and `size`; `explain` adds what ``crucial show`` prints of it.

    Attributes
    ----------
    n_features : int
        Number of columns the model scores.
    feature_names : tuple of str, or None
        One per feature.
    training : mapping
        Summary of the training: text, numbers, lists and mappings of them.
    """

    n_features: int
    feature_names: tuple[str, ...] | None
    training: Mapping[str, Any] = field(hash=False)

    def _set(self, **values: object) -> None:
        """Set fields of the frozen instance."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _set_columns(
        self,
        n_features: int,
        feature_names: Sequence[str] | None,
        training: Mapping[str, Any] | None,
    ) -> None:
        """Set the fields of every model, checked."""
        owner = type(self).__name__
        check_width(n_features, owner)
        self._set(
            n_features=int(n_features),
            feature_names=plain_names(feature_names, n_features, owner),
            training=plain_summary(training or {}, owner),
        )
        Encodings.from_plain(self.training.get("columns"), self.n_features, owner)  # (checked)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_features={self.n_features}, {self.size})"

    def __getstate__(self) -> dict[str, Any]:
        # What is cached is computed again where it is needed.
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @cached_property
    def encodings(self) -> Encodings:
        """How columns of text and dates become numbers: "columns" of the training summary."""
        owner = type(self).__name__
        return Encodings.from_plain(self.training.get("columns"), self.n_features, owner)

    @property
    def needs_query(self) -> bool:
        """Whether the score of a row depends on the other rows of its query."""
        return False

    @property
    def size(self) -> str:
        """The size of the model in words, such as "tree of 12 leaves"."""
        raise NotImplementedError

    @property
    def importance_of(self) -> str:
        """What `feature_importances` counts."""
        return "share of the absolute weight"

    def predict(
        self,
        X: TableLike,
        groups: Groups | VectorLike | None = None,
        *,
        qid: VectorLike | None = None,
        n_jobs: int | None = None,
    ) -> Floats:
        """Return the score of every row; scores are comparable within a query only.

        Parameters
        ----------
        X : array, scipy sparse matrix, frame or Instances, of shape (n_rows, n_features)
            NaN where a feature abstains. In sparse input an absent entry is 0. The names of a
            frame's columns must be the model's. Of a kernel ranker with a precomputed kernel, the
            kernel of every row with every row that was learned from.
        groups : Groups or array of shape (n_rows,), optional
            The queries; needed only by models that rank whole queries.
        qid : array of shape (n_rows,), optional
            The same as ids of any type, in any order.
        n_jobs : int, optional
            Threads for large batches; None or -1 is all cores.

        Returns
        -------
        float64 array of shape (n_rows,)
        """
        if groups is not None and qid is not None:
            raise ParameterError("predict takes the queries as groups or as qid, not both.")
        if groups is not None and not isinstance(groups, Groups):
            groups, qid = None, groups
        if qid is not None or (self.needs_query and self.training.get("with_qid") is False):
            X = Instances.from_input(X, texts=True)
            groups = Groups.from_qid(qid, X.n_rows) if groups is None else groups
        return self._predict(X, groups, n_jobs)

    def _predict(self, X: TableLike, groups: Groups | None, n_jobs: int | None) -> Floats:
        """Return the score of every row."""
        raise NotImplementedError

    def scorer(self) -> Scorer:
        """Return a function of one row or of the rows of one query, for serving.

        It gives the same bits as `predict` in a fraction of the time of a call: a row of 40
        features takes a few microseconds. A row is a dict, a list or an array of one dimension and
        gives a float; a list of rows, an array of two dimensions or a frame gives an array. Only
        the first call of each kind checks its input, and the first with several rows loads Numba.
        Threads can share it.

        Examples
        --------
        >>> from crucial.model.additive import AdditiveRanker
        >>> from crucial.model.weak import Stump
        >>> score = AdditiveRanker(1, [Stump(0, 2.5, 0)], [1.0], ["bm25"]).scorer()
        >>> score({"bm25": 3.0}), score([{"bm25": 3.0}, {"bm25": 2.0}]).tolist()
        (1.0, [1.0, 0.0])
        """
        from crucial.model.scorer import Scorer

        return Scorer(self)

    def rank(
        self,
        X: TableLike,
        qid: VectorLike | None = None,
        *,
        ties: str = "min",
        n_jobs: int | None = None,
    ) -> Ints:
        """Return the position of every row in its query, 1 for the best.

        Parameters
        ----------
        X, qid, n_jobs
            As in `predict`. A model that was trained with queries needs qid; without, all rows
            are ranked together.
        ties : {"min", "first"}
            Equal scores share the best position, or stand in the order of their rows.

        Examples
        --------
        >>> from crucial.model.additive import AdditiveRanker
        >>> from crucial.model.weak import Stump
        >>> model = AdditiveRanker(1, [Stump(0, 2.5, 0)], [1.0])
        >>> model.rank([[1.0], [2.0], [3.0]], ["a", "b", "a"]).tolist()
        [2, 1, 1]
        """
        check_queries("rank(X, qid=...)", qid, self.training.get("with_qid"))
        scores = self.predict(X, qid=qid, n_jobs=n_jobs)
        return positions(scores, Groups.from_qid(qid, len(scores)), ties)

    def score(
        self,
        X: TableLike,
        y: VectorLike,
        *,
        qid: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
        measure: MeasureLike | None = None,
        n_jobs: int | None = None,
    ) -> float:
        """Measure how well the ranking agrees with the labels; higher is better.

        Parameters
        ----------
        X, y : rows and their labels
        qid : array of shape (n_rows,), optional
            Required of a model that was trained with queries.
        sample_weight : array of shape (n_rows,), optional
            Weights of rows, for the default measure and others over pairs.
        measure : str, Measure or callable, optional
            Any measure by name; losses are negated. Default: 1 - R2, the share of pairs in
            the right order, ties counted half, averaged over queries (the AUC for two labels).
        n_jobs : int, optional
            As in `predict`.
        """
        from crucial.measures.evaluation import agreement_score

        check_queries("score(X, y, qid=...)", qid, self.training.get("with_qid"))
        scores = self.predict(X, qid=qid, n_jobs=n_jobs)
        return agreement_score(scores, y, qid, sample_weight, measure)

    def feature_importances(self) -> Floats:
        """Return the share of every feature; all 0 if there is none."""
        raise NotImplementedError

    def explain(self, top: int = 10) -> list[str]:
        """Return lines of text on what was learned, beyond the importances.

        Parameters
        ----------
        top : int
            About how many details, such as features or leaves, to describe.
        """
        del top
        return []

    def _check_rows(self, X: TableLike, groups: Groups | None, n_jobs: int | None) -> Instances:
        """Return the rows to score; refuse queries that are missing or of other rows."""
        instances = checked_rows(self, X, n_jobs)
        if self.needs_query and groups is None:
            raise NotRankedError(
                "this model ranks every row against the others of its query: pass the query of "
                "every row (groups; an estimator's predict takes qid)"
            )
        if groups is not None and groups.n_rows != instances.n_rows:
            raise DataError(
                f"groups must be made for the {instances.n_rows} rows of X. "
                f"Got groups of {groups.n_rows} rows."
            )
        return instances

    def save(self, path: PathLike) -> None:
        """Write the model to one JSON file, whole or not at all; see `load_model`."""
        from crucial.model.file import save_model

        save_model(self, path)

    def export(self, path: PathLike, target: str, **settings: Any) -> Export:
        """Write the model in another engine's format; see `crucial.export.export_model`.

        Parameters
        ----------
        path : str or path
        target : str
            Such as "xgboost", "sql" or "onnx"; ``crucial list targets`` describes all.
        **settings
            Such as ``data``, ``features``, ``shift``.
        """
        from crucial.export.export import export_model

        return export_model(self, path, target, **settings)


class Payload(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """The form in which one kind of model is written, tagged with the kind."""

    n_features: int
    feature_names: tuple[str, ...] | None

    @classmethod
    def of(cls, model: Any) -> Self:
        """Return the payload of a model."""
        return cls.filled(model)

    @classmethod
    def filled(cls, model: FrozenModel, **others: object) -> Self:
        """Return the fields of a model that have the payload's names, and ``others``."""
        names = (name for name in cls.__struct_fields__ if name not in others)
        own = {name: getattr(model, name) for name in names}
        arrays = {name: one.tolist() for name, one in own.items() if isinstance(one, np.ndarray)}
        return cls(**own | arrays | others)

    def values(self) -> dict[str, Any]:
        """Return the fields by their names."""
        return {name: getattr(self, name) for name in self.__struct_fields__}

    def build(self) -> Any:
        """Return the model, with everything checked."""
        raise NotImplementedError


# --- What the models that add one weak ranker per round have in common


@dataclass(frozen=True, init=False, repr=False)
class RoundsModel(FrozenModel):
    """Base of the models with one weak ranker and weight per round.

    Parameters
    ----------
    n_features : int
        Number of columns the model scores.
    rankers : sequence of weak rankers
        One per round, in the order they were learned.
    weights : sequence of float
        Their weights.
    feature_names : sequence of str, optional
        One per feature.
    training : mapping, optional
        Summary of the training: text, numbers, lists and mappings of them.
    """

    rankers: tuple[WeakRankerLike, ...]
    weights: tuple[float, ...]

    #: Fields with one entry per round.
    _per_round: ClassVar[tuple[str, ...]] = ("rankers", "weights")

    def __init__(
        self,
        n_features: int,
        rankers: Sequence[WeakRankerLike],
        weights: Sequence[float] | Floats,
        feature_names: Sequence[str] | None = None,
        training: Mapping[str, Any] | None = None,
    ) -> None:
        owner = type(self).__name__
        check_width(n_features, owner)
        rankers = tuple(rankers)
        for number, ranker in enumerate(rankers):
            check_ranker(number, ranker, int(n_features), owner)
        self._set_columns(n_features, feature_names, training)
        reach = [float(getattr(ranker, "reach", 1.0)) for ranker in rankers]
        self._set(rankers=rankers, weights=plain_weights(weights, len(rankers), owner, reach=reach))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_features={self.n_features}, n_rounds={self.n_rounds})"

    @property
    def n_rounds(self) -> int:
        """Number of rounds."""
        return len(self.rankers)

    @property
    def size(self) -> str:
        """The number of rounds, in words."""
        return f"{self.n_rounds:,} round{'' if self.n_rounds == 1 else 's'}"

    @property
    def intercept(self) -> float:
        """What the score of every row contains."""
        raise NotImplementedError

    def staged_predict(self, X: TableLike, groups: Groups | None = None) -> Iterator[Floats]:
        """Yield the scores after every round."""
        raise NotImplementedError

    def truncate(self, n_rounds: int) -> Self:
        """Return the model of the first rounds."""
        check("truncate", "n_rounds", n_rounds, int_between(0, self.n_rounds))
        return replace(self, **{name: getattr(self, name)[:n_rounds] for name in self._per_round})

    def shapes(self) -> dict[int, Shape]:
        """Return what each feature adds to the score, where that depends on its value alone."""
        raise NotImplementedError

    def weighted(self) -> list[tuple[WeakRankerLike, float]]:
        """Return the weak ranker of every round with its weight."""
        return list(zip(self.rankers, self.weights, strict=True))

    def weight_by_feature(self) -> dict[int, float]:
        """Return the absolute weight of every used feature, ascending by feature."""
        raise NotImplementedError

    def feature_importances(self) -> Floats:
        """Return the share of every feature in the absolute weight; all 0 if there is none."""
        out = np.zeros(self.n_features)
        for feature, weight in self.weight_by_feature().items():
            out[feature] = weight
        return as_shares(out)
