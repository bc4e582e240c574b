"""Scores for serving: one row, or the rows of one query, at the least cost per call."""

from __future__ import annotations

import difflib
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, overload

import numpy as np

from crucial.data.arrays import number_text, time_number, too_large_error
from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.errors import DataError, DataTypeError, NotRankedError
from crucial.model.additive import AdditiveRanker
from crucial.model.base import FrozenModel
from crucial.model.form import (
    Answer,
    FormTree,
    ScoreForm,
    StepFunction,
    StraightPiece,
    region_tree,
    score_form,
)
from crucial.types import Floats, Numbers, TableLike

# --- The score of one row as a Python function made for the model: comparisons with constants
#
# For one row, NumPy spends more on calls than on numbers. A function whose thresholds and values
# are constants in its code needs about 10 ns per comparison.


_MAX_CODE_NODES = 20_000  # about half a second of compiling; kernels score larger models
_MAX_DEPTH = 24  # (Python reads up to about 90 nested brackets)


def row_function(form: ScoreForm) -> Callable[[Sequence[float]], float] | None:
    """Return a function of the values of the used features; None if its code would be too long.

    It adds the same numbers in the same order as `ScoreForm.scores`.

    Parameters
    ----------
    form : ScoreForm

    Returns
    -------
    callable
        Takes floats in the order of ``form.used``, NaN where a feature abstains.

    Examples
    --------
    >>> import numpy as np
    >>> step = StepFunction(2, np.array([1.0, 2.0]), np.array([0.0, 0.5, 1.0]), -1.0)
    >>> score = row_function(ScoreForm(3, ("a", "b", "c"), True, steps=(step,), intercept=10.0))
    >>> score([1.5]), score([float("nan")])
    (10.5, 9.0)
    """
    nodes = sum(len(step.thresholds) for step in form.steps)
    nodes += sum(len(tree.features) for tree in form.trees) + 4 * len(form.pieces)
    if nodes > _MAX_CODE_NODES or not all(map(_countable, form.trees)):
        return None
    space: dict[str, Callable[[Sequence[float]], float]] = {}
    # (the code is made of the names below and of numbers written by repr)
    exec(compile("\n".join(_lines(form)), "<scorer>", "exec"), space)
    return space["score"]


def _lines(form: ScoreForm) -> list[str]:
    lines = ["def score(values):"]
    if form.used:
        lines.append(f"    {', '.join(f'x{feature}' for feature in form.used)}, = values")
    sums = []
    for name, terms in (
        ("steps", [_step_text(step) for step in form.steps]),
        ("trees", [_tree_text(tree) for tree in form.trees]),
        ("pieces", [_piece_text(piece) for piece in form.pieces]),
    ):
        if terms:
            lines += [f"    {name} = 0.0", *(f"    {name} += {term}" for term in terms)]
            sums.append(name)
    total = " + ".join(sums) or "0.0"
    if form.intercept:
        total = f"{total} + {form.intercept!r}"
    if form.divisor != 1.0:
        total = f"({total}) / {form.divisor!r}"
    if form.offset:
        total = f"{total} + {form.offset!r}"
    return [*lines, f"    return {total}"]


def _step_text(step: StepFunction) -> str:
    """Return a search for the cell of a value. No comparison is true of NaN, so it ends lowest."""
    x, values, thresholds = f"x{step.feature}", step.values.tolist(), step.thresholds.tolist()
    lowest = repr(values[0])
    if repr(step.missing) != lowest:
        lowest = f"({lowest} if {x} == {x} else {step.missing!r})"

    def between(low: int, high: int) -> str:
        if low == high:
            return repr(values[low]) if low else lowest
        middle = (low + high) // 2
        above, below = between(middle + 1, high), between(low, middle)
        return f"({above} if {x} > {thresholds[middle]!r} else {below})"

    return between(0, len(thresholds))


def _tree_text(tree: FormTree) -> str:
    """Return a tree as nested conditions, one per region, so that every test is there once."""
    if not len(tree.features):
        return repr(float(tree.values[0]))
    regions = region_tree(tree)
    assert regions is not None  # (checked by `_countable`)

    def below(at: int) -> str:
        if at < 0:
            return repr(float(tree.values[~at]))
        left, right = below(regions.left[at]), below(regions.right[at])
        return f"({right} if {_answer_text(tree, regions.answers[at])} else {left})"

    return below(0)


def _answer_text(tree: FormTree, answer: Answer) -> str:
    """Return the condition that a row goes right."""
    if isinstance(answer, bool):
        return repr(answer)
    node, yes, no = answer
    x, threshold = f"x{tree.features[node]}", float(tree.thresholds[node])
    missing_right = bool(tree.missing_right[node])
    if threshold != threshold:  # any value goes left
        test = f"{x} != {x}" if missing_right else "False"
    elif missing_right:
        test = f"not {x} <= {threshold!r}"
    else:
        test = f"{x} > {threshold!r}"
    if (yes, no) == (True, False):
        return test
    return f"({_answer_text(tree, yes)} if {test} else {_answer_text(tree, no)})"


def _piece_text(piece: StraightPiece) -> str:
    x, low, high, unit = f"x{piece.feature}", piece.low, piece.high, piece.unit
    cut = f"({low!r} if {x} < {low!r} else {high!r} if {x} > {high!r} else {x})"
    span = high * unit - low * unit
    inside = f"{piece.weight!r} * (({cut} * {unit!r} - {low * unit!r}) / {span!r})"
    return f"({inside} if {x} == {x} else {piece.weight * piece.default!r})"


def _countable(tree: FormTree) -> bool:
    """Return whether a tree is not nested deeper than Python reads."""
    regions = region_tree(tree)
    if regions is None:
        return False
    depths = [1] * len(regions.answers)
    for at, children in enumerate(zip(regions.left, regions.right, strict=True)):
        for child in children:
            if child >= 0:
                depths[child] = depths[at] + 1
    return max(depths, default=0) + max(0, regions.depth() - 1) <= _MAX_DEPTH


# --- Scores for serving: one row, or the rows of one query, at the least cost per call


_NUMBERS = "fiub"


class _Categories(dict[Any, float]):
    """The numbers of categories; NaN for one that was not seen at training."""

    def __missing__(self, key: object) -> float:
        if key is None or isinstance(key, str) or key != key:
            return math.nan
        if isinstance(key, int | float | np.integer | np.floating):
            return self.get(number_text(key), math.nan)
        raise TypeError(f"{key!r} is no category")


class Scorer:
    """A function of one row, or of the rows of one query; see `FrozenModel.scorer`.

    A call with one row returns a float, a call with rows an array; both are the same bits as
    `FrozenModel.predict` gives. The input of the first call of each kind is checked as by
    `predict`; afterwards only what cannot be scored is refused, so that infinite values and names
    that the model does not know pass unseen. Threads can share a scorer.

    One row is scored by Python code made for the model, several rows of stumps and trees by the
    compiled kernels of `predict`. The first call with several rows therefore loads Numba, and its
    first use on a machine compiles for some seconds: a server calls a new scorer once with two rows
    before it takes requests.

    Parameters
    ----------
    model : FrozenModel
        One that ranks every row against the others of its query takes rows only.

    Examples
    --------
    >>> from crucial.model.weak import Stump
    >>> model = AdditiveRanker(2, [Stump(0, 0.5, 0), Stump(1, 2.0, 1)], [1.0, 0.25], ["a", "b"])
    >>> score = Scorer(model)
    >>> score({"a": 1.0, "b": 0.0}), score({"a": 1.0}), score([0.0, 3.0])
    (1.0, 1.25, 0.25)
    >>> score([{"a": 1.0, "b": 0.0}, {"b": 3.0}])
    array([1.  , 0.25])
    >>> score(np.array([[1.0, 0.0], [0.0, 3.0]]))
    array([1.  , 0.25])
    """

    def __init__(self, model: FrozenModel) -> None:
        self.model = model
        try:
            form = score_form(model, shared=True)
        except NotRankedError:  # (the model is no sum of comparisons: `predict` scores it)
            used: tuple[int, ...] = tuple(range(model.n_features))
            self._score: Callable[[Sequence[float]], float] | None = None
        else:
            used, self._score = form.used, row_function(form)
            if self._score is None:
                used = tuple(range(model.n_features))
        names = model.feature_names
        self._used = used
        self._keys: tuple[Any, ...] = used if names is None else tuple(names[f] for f in used)
        self._by_name, self._by_place = _getter(self._keys), _getter(used)
        cells = struct.Struct(f"{len(used)}d")
        self._pack, self._unpack = cells.pack, cells.unpack
        self._encoded = self._encoders(used)
        self._takes_tables = not (self._encoded or model.needs_query)
        self._kernel: Callable[[Floats], Floats] | None = None
        if isinstance(model, AdditiveRanker) and not model.needs_query:
            self._kernel = partial(model._dense_scores, groups=None, n_jobs=1, compiled=True)
        self._checked: set[object] = set()
        self._columns: object = None

    def __reduce__(self) -> tuple[type[Scorer], tuple[FrozenModel]]:
        return type(self), (self.model,)

    def __repr__(self) -> str:
        return f"Scorer({self.model!r})"

    def _encoders(self, used: tuple[int, ...]) -> list[tuple[int, Callable[[Any], float]]]:
        """Return the functions that make numbers of text and dates, by places in ``used``."""
        found: list[tuple[int, Callable[[Any], float]]] = []
        for place, feature in enumerate(used):
            if feature in self.model.encodings.categories:
                numbers = _Categories(self.model.encodings.categories[feature])
                found.append((place, numbers.__getitem__))
            elif feature in self.model.encodings.times:
                found.append(
                    (place, partial(time_number, unit=self.model.encodings.times[feature]))
                )
        return found

    def _predict(self, X: TableLike) -> Floats:
        """Score rows as one query."""
        instances = Instances.from_input(X, texts=True)
        return self.model.predict(instances, Groups.from_qid(None, instances.n_rows), n_jobs=1)

    def _predict_numbers(self, X: Numbers) -> Floats:
        """Score rows whose text and dates are numbers already."""
        return self._predict(Instances(X, origin=Instances(X)) if self._encoded else X)

    @overload
    def __call__(self, rows: Mapping[Any, Any]) -> float: ...

    @overload
    def __call__(self, rows: Any) -> Any: ...

    def __call__(self, rows: Any) -> Any:
        """Return the score of one row, or those of the rows of a query.

        Parameters
        ----------
        rows : one row, or the rows of one query
            One row is a mapping from names (of a model without names, numbers of features from 0),
            a sequence or array of one number per feature, or a pandas Series. A name that is not
            in a mapping, None and NaN are abstentions. Rows are a list of such rows, an array or
            sparse matrix of shape (n_rows, n_features), or a frame.

        Returns
        -------
        float, or float64 array of shape (n_rows,)
        """
        kind = type(rows)
        if kind is dict:
            return self._row(rows, self._by_name, dict)
        if kind is np.ndarray:
            return self._array(rows)
        if kind is list or kind is tuple:
            if len(rows) and not isinstance(rows[0], list | tuple | Mapping | np.ndarray):
                return self._row(rows, self._by_place, list)
            return self._list(rows)
        if isinstance(rows, Mapping):
            return self._row(rows, self._by_name, dict)
        if hasattr(rows, "to_dict") and hasattr(rows, "index") and not hasattr(rows, "columns"):
            return self._row(rows.to_dict(), self._by_name, dict)
        return self._frame(rows)

    def _row(self, row: Any, get: Callable[[Any], tuple[Any, ...]], kind: type) -> float:
        """Score one row; what the quick way does not take goes value by value."""
        if kind not in self._checked:
            self._check_row(row, kind)
        try:
            values = get(row)
            if self._encoded:
                values = self._numbers(values)
            numbers = self._unpack(self._pack(*values))
        except (KeyError, IndexError, TypeError, ValueError, struct.error):
            numbers = self._careful(row)
        if self._score is not None:
            return self._score(numbers)
        return float(self._table(np.array([numbers]))[0])

    def _numbers(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        found = list(values)
        for place, encode in self._encoded:
            found[place] = encode(found[place])
        return tuple(found)

    def _careful(self, row: Any) -> tuple[float, ...]:
        """Return the numbers of a row; refuse a value that is none, with its name."""
        if isinstance(row, Mapping):
            values = [row.get(key) for key in self._keys]
        elif len(row) == self.model.n_features:
            values = [row[feature] for feature in self._used]
        else:
            raise DataError(
                f"a row of the model has {self.model.n_features} values. Got {len(row)}."
            )
        encoders = dict(self._encoded)
        return tuple(
            _number(value, self._keys[place], encoders.get(place, float))
            for place, value in enumerate(values)
        )

    def _check_row(self, row: Any, kind: type) -> None:
        """Check the first row of a kind: no query needed, known names, finite numbers."""
        if self.model.needs_query:
            raise NotRankedError(
                "this model ranks every row against the others of its query: pass the rows of one "
                "query (a list of rows, an array of two dimensions or a frame), not one row."
            )
        if isinstance(row, Mapping):
            self._check_names(row)
        elif len(row) != self.model.n_features:
            self._careful(row)
        for place, number in enumerate(self._careful(row)):
            if math.isinf(number):
                raise DataError(
                    f"the row contains infinity: {self._keys[place]!r} is {number}. Use a finite "
                    "number, or NaN where the feature has no opinion."
                )
        self._checked.add(kind)

    def _check_names(self, row: Mapping[Any, Any]) -> None:
        """Refuse names that the model does not know."""
        names = self.model.feature_names
        known: Any = range(self.model.n_features) if names is None else set(names)
        unknown = [key for key in row if key not in known]
        if not unknown:
            return
        if names is None:
            raise DataError(
                f"the model has no names of features: use their numbers, 0 to "
                f"{self.model.n_features - 1}, as keys, or pass a list or array. "
                f"Got {unknown[0]!r}."
            )
        close = difflib.get_close_matches(str(unknown[0]), names, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else " Pass the features only."
        raise DataError(f"the model has no feature {unknown[0]!r}.{hint}")

    def _array(self, rows: np.ndarray[Any, Any]) -> Any:
        if rows.ndim == 1:
            return self._row(rows.tolist(), self._by_place, list)
        known = np.ndarray in self._checked and rows.shape[1:] == (self.model.n_features,)
        if not known or rows.dtype.kind not in _NUMBERS:
            return self._first_rows(rows, np.ndarray)
        if self._encoded:  # (numbers may be names of categories)
            return self._predict(rows)
        return self._table(rows)

    def _table(self, X: Numbers) -> Floats:
        """Score checked rows, all of numbers."""
        if self._score is not None and len(X) == 1:
            return np.array([self._score(X[0].take(self._used).astype(np.float64).tolist())])
        if self._kernel is not None:
            return self._kernel(np.ascontiguousarray(X, np.float64))
        return self._predict_numbers(X)

    def _first_rows(self, rows: Any, kind: object) -> Floats:
        """Score rows with all checks, and load the kernel that later calls need."""
        scores = self._predict(rows)
        if self._kernel is not None and self._takes_tables and kind not in self._checked:
            self._kernel(np.zeros((1, self.model.n_features)))
        self._checked.add(kind)
        return scores

    def _list(self, rows: Sequence[Any]) -> Floats:
        """Score a list of rows."""
        if len(rows) > 1 and type(rows[0]) is dict and self._takes_tables:
            if dict not in self._checked:
                self._check_row(rows[0], dict)
            table = self._table_of(rows)
            if table is not None:
                return self._table(table)
        if self._score is not None:
            return np.array([self(row) for row in rows], np.float64)
        if rows and not isinstance(rows[0], Mapping):
            scores: Floats = self._array(np.array(rows))
            return scores
        if rows and dict not in self._checked:
            self._check_names(rows[0])
        table = np.array([self._careful(row) for row in rows]).reshape(-1, len(self._used))
        return self._predict_numbers(table)

    def _table_of(self, rows: Sequence[Any]) -> Floats | None:
        """Return dicts as rows of numbers; None if they have to be read value by value."""
        if any(type(row) is not dict for row in rows):
            return None
        try:
            cells = np.array(list(map(self._by_name, rows)), np.float64)
        except (KeyError, TypeError, ValueError, OverflowError):
            return None
        table = np.full((len(rows), self.model.n_features), np.nan)
        table[:, np.array(self._used, np.int64)] = cells
        return table

    def _frame(self, rows: Any) -> Floats:
        """Score a frame; columns of one type of numbers need no look at each of them."""
        quick = "frame" in self._checked and not self._encoded and hasattr(rows, "to_numpy")
        if quick and self._has_columns(rows.columns):
            table = rows.to_numpy()
            if table.dtype.kind == "f":
                return self._table(table)
        return self._first_rows(rows, "frame")

    def _has_columns(self, columns: Any) -> bool:
        """Return whether the columns of a frame are the model's, in its order."""
        if columns is self._columns:  # (frames cut out of one frame share them)
            return True
        names = self.model.feature_names
        same = len(columns) == self.model.n_features and (names is None or tuple(columns) == names)
        if same and not isinstance(columns, list):  # (a list may change)
            self._columns = columns
        return same


def _getter(keys: tuple[Any, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that gives the items of these keys as a tuple."""
    if len(keys) > 1:
        return itemgetter(*keys)
    return lambda row: tuple(row[key] for key in keys)


def _number(value: Any, name: object, encode: Callable[[Any], float]) -> float:
    """Return one value as a number, NaN where it is missing."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return math.nan
    try:
        return float(encode(value))
    except OverflowError:
        raise too_large_error(f"the value of {name!r}") from None
    except (TypeError, ValueError):
        raise DataTypeError(
            f"the value of {name!r} is {value!r} of type {type(value).__name__}, which the model "
            "cannot read: pass what it was trained on, or NaN where the feature has no opinion."
        ) from None
