"""Instances: the rows to rank and their features, which may be numbers, categories or dates."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crucial.data.arrays import (
    NUMBERS,
    NumberColumn,
    as_array,
    as_frame,
    check_room,
    check_structure,
    checked_columns,
    complex_error,
    frame_column,
    number_text,
    too_large_error,
    whole_table,
)
from crucial.errors import DataError, DataTypeError
from crucial.parameters import refuse
from crucial.types import Bools, Floats, Ints, Numbers, Reals, TableLike

if TYPE_CHECKING:
    from crucial.data.bins import Bins


# --- A table of which only the bins of its cells are known


_BLOCK_CELLS = 1 << 22


class CodedTable:
    """Bins that stand for a table of floats, one byte per cell.

    A cell reads as one number of its bin: the threshold that ends it, or the next number after
    the last threshold. That is enough for whatever compares values with these thresholds, and
    for nothing else. Constant features read as 0.

    Parameters
    ----------
    bins : Bins
        Of all rows.

    Examples
    --------
    >>> from crucial.data import Bins, Instances
    >>> values = Instances.from_input([[1.0], [3.0], [np.nan]])
    >>> CodedTable(Bins.build(values, np.arange(3)))[:, 0].round(6).tolist()
    [2.0, 2.0, nan]
    """

    ndim = 2
    dtype = np.dtype(np.float64)

    def __init__(self, bins: Bins) -> None:
        self.bins = bins
        self._place = {int(feature): place for place, feature in enumerate(bins.features)}

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features."""
        return self.bins.n_rows, self.bins.n_features

    def __len__(self) -> int:
        return self.bins.n_rows

    def _values(self, feature: int) -> Floats:
        """Return the number that each code of a kept feature reads as."""
        cuts = self.bins.thresholds[self._place[feature]]
        last = np.nextafter(cuts[-1:], np.inf) if len(cuts) else np.zeros(1)
        return np.concatenate((cuts, last, [np.nan]))

    def _column(self, feature: int, rows: slice) -> Floats:
        if feature in self._place:
            codes = self.bins.column(self._place[feature])[: self.bins.n_rows]
            column: Floats = self._values(feature)[codes[rows]]
            return column
        empty = np.nan if feature in self.bins.all_missing else 0.0
        return np.full(len(range(*rows.indices(len(self)))), empty)

    def __getitem__(self, key: Any) -> Any:
        """Return some rows as a table of codes, ``table[:, j]`` as floats, or one cell."""
        if not isinstance(key, tuple):
            return CodedTable(self.bins.taken(np.arange(len(self))[key]))
        rows, feature = key
        if isinstance(rows, slice):
            return self._column(int(feature), rows)
        row = int(rows)
        return float(self._column(int(feature), slice(row, row + 1))[0])

    def blocks(self) -> Iterator[Floats]:
        """Yield all rows as floats, some at a time."""
        step = max(1, _BLOCK_CELLS // max(1, self.shape[1]))
        for begin in range(0, len(self), step):
            rows = slice(begin, min(begin + step, len(self)))
            yield np.column_stack([self._column(j, rows) for j in range(self.shape[1])])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        n, width = self.shape
        check_room(
            n * width * 8,
            f"A table of {n:,} rows and {width:,} features that is known by its bins, as floats,",
            "Use weak rankers that need only the bins: stumps or trees.",
        )
        return np.concatenate(list(self.blocks()))

    def arrays(self) -> list[Any]:
        """Return the arrays of the table: codes, features and thresholds."""
        bins = self.bins
        cuts: Floats = np.concatenate((*bins.thresholds, np.zeros(0)))
        features: Ints = bins.features
        return [bins.codes, features, bins.n_bins, cuts]


# --- Instances: the rows to rank and their features
#
# Columns of text are kept as places in the list of their texts, until `crucial.data.instances`
# replaces them by numbers. A feature that is NaN for a row abstains on it. In sparse input an entry
# that is not stored is the number 0, not an abstention.


_BLOCK = 1 << 19  # cells looked at a time


@dataclass(frozen=True)
class Instances:
    """A checked table of numbers.

    Attributes
    ----------
    table : array of shape (n_rows, n_features), scipy CSC array of that shape, or CodedTable
        In the number type of the input; nothing is copied that need not be. A coded table has
        the bins of its cells instead of their values.
    names : tuple of str, or None
        Feature names, if the input had them.
    levels : mapping from feature to tuple of str, or None
        The texts of columns of text, whose cells in the table are places in them.
    times : mapping from feature to str, or None
        What the numbers of columns of dates and times count.
    declared : frozenset of int
        Columns of text whose type says that they are categories.
    origin : Instances or None
        The rows as they came, where columns of text were replaced by numbers.
    """

    table: Any
    names: tuple[str, ...] | None = None
    levels: Mapping[int, tuple[str, ...]] | None = None
    times: Mapping[int, str] | None = None
    declared: frozenset[int] = frozenset()
    origin: Instances | None = None

    @classmethod
    def from_input(cls, X: TableLike, *, texts: bool = False, coded: bool = False) -> Instances:
        """Check an array, a scipy sparse matrix or a pandas / polars / pyarrow frame.

        Parameters
        ----------
        X : array, sparse matrix, frame, Instances, or Dataset, whose features have their names
        texts : bool
            Whether columns of a frame may be text, to be encoded by the caller. If not, they are
            all named in one error.
        coded : bool
            Whether the bins of cells will do instead of their values.
        """
        instances = cls._from_any(X)
        if instances.is_coded and not coded:
            raise DataError(
                "Input X has the bins of its cells instead of their values "
                "(Dataset.from_parts), and values are needed here. Boosters of stumps and trees, "
                "such as RankBoost, learn from bins; to predict, pass the parts one by one."
            )
        if instances.levels and not texts:
            listed = ", ".join(instances.name(feature) for feature in sorted(instances.levels))
            raise DataTypeError(
                f"Input X: the values of {listed} cannot be read as numbers; encode them as "
                "numbers or leave them out."
            )
        return instances

    @classmethod
    def _from_any(cls, X: TableLike) -> Instances:
        """Return checked rows; columns of text are numbered by their levels."""
        if isinstance(X, cls):
            return X
        if callable(instances := getattr(X, "instances", None)):  # (a `Dataset`)
            return cls._from_any(instances())
        if isinstance(X, np.ndarray):
            return cls(_checked_array(as_array(X, "Input X")))
        if hasattr(X, "tocsc") and hasattr(X, "nnz"):
            matrix: Any = X
            _check_shape(matrix.shape)
            return cls(checked_columns(matrix))
        if hasattr(X, "collect"):  # (its columns are not computed yet)
            raise DataTypeError(f"Input X is a {type(X).__name__}; call its collect() first.")
        frame = as_frame(X, "Input X") if _is_frame(X) else None
        if frame is not None:
            return _from_frame(frame)
        table = as_array(X, "Input X")
        if table.ndim == 0:
            raise DataTypeError(
                "Input X must be a table: an array, a sparse matrix or a frame. Got "
                f"{type(X).__name__}."
            )
        return cls(_checked_array(table))

    @classmethod
    def of_columns(
        cls, table: Numbers, names: tuple[str, ...] | None, columns: Sequence[NumberColumn]
    ) -> Instances:
        """Return a table of the values of columns, with their texts and units."""
        return cls(
            table,
            names,
            {j: one.levels for j, one in enumerate(columns) if one.levels is not None} or None,
            {j: one.unit for j, one in enumerate(columns) if one.unit is not None} or None,
            frozenset(j for j, one in enumerate(columns) if one.declared),
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.table.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.table.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether the table is a scipy sparse one."""
        return not isinstance(self.table, np.ndarray | CodedTable)

    @property
    def is_coded(self) -> bool:
        """Whether the bins of the cells are known, and not their values."""
        return isinstance(self.table, CodedTable)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features."""
        return self.n_rows, self.n_features

    def __len__(self) -> int:
        return self.n_rows

    def text(self, row: int, feature: int) -> str | None:
        """Return a cell of a column of categories; None where it is missing."""
        value = float(self.table[row, feature])
        if np.isnan(value):
            return None
        if self.levels is not None and feature in self.levels:
            return self.levels[feature][int(value)]
        return number_text(value)

    def name(self, feature: int) -> str:
        """Return a feature as messages name it."""
        return repr(self.names[feature]) if self.names is not None else str(feature)

    def column(self, feature: int, rows: NDArray[np.integer] | None = None) -> Reals:
        """Return the values of a feature for the given rows, as a fresh array of floats.

        Raises
        ------
        DataError
            If a value is infinite; row and column are named.
        """
        assert self.levels is None or feature not in self.levels, "text must be encoded first"
        whole: Numbers
        if self.is_sparse:
            a, b = self.table.indptr[feature], self.table.indptr[feature + 1]
            whole = np.zeros(self.n_rows, self.table.dtype)
            whole[self.table.indices[a:b]] = self.table.data[a:b]
        else:
            whole = self.table[:, feature]
        values = whole.take(rows) if rows is not None else whole.copy()
        return self.checked(values, feature, rows)

    def dense_table(self, features: Ints | None = None) -> NDArray[Any]:
        """Return the table as an array, of all features or of some.

        Raises
        ------
        DataError
            If sparse input would take more than half of the free memory that way.
        """
        table = self.table if features is None else self.table[:, features]
        if self.is_sparse:
            n, width = table.shape
            check_room(
                n * width * table.dtype.itemsize,
                f"Sparse input of {n:,} rows and {width:,} features as an array of all cells,",
                "Use weak rankers that need only what is stored, such as stumps, or choose fewer "
                "features or rows.",
            )
            table = table.toarray()
        return np.asarray(table)

    def take_rows(self, rows: Ints | list[int]) -> Instances:
        """Return some of the rows, by number."""
        table = self.table.tocsr()[rows].tocsc() if self.is_sparse else self.table[rows]
        origin = None if self.origin is None else self.origin.take_rows(rows)
        return replace(self, table=table, origin=origin)

    def join(self, others: Sequence[Instances]) -> Instances:
        """Return these rows and others of the same columns; equal texts have the same place."""
        every = [self, *others]
        levels = {}
        tables = [np.array(one.table, np.float64) for one in every]
        for feature in self.levels or ():
            known = [(one.levels or {}).get(feature, ()) for one in every]
            texts = tuple(sorted({text for own in known for text in own}))
            place = {text: number for number, text in enumerate(texts)}
            for table, own in zip(tables, known):
                of_text = np.array([*(place[text] for text in own), np.nan])
                codes = table[:, feature]
                table[:, feature] = of_text[np.where(np.isnan(codes), -1, codes).astype(np.int64)]
            levels[feature] = texts
        return replace(self, table=np.concatenate(tables), levels=levels or None)

    def checked(
        self, values: NDArray[Any], feature: int, rows: NDArray[np.integer] | None
    ) -> Reals:
        """Return values as floats; infinite ones are refused."""
        if values.dtype.kind != "f" or values.dtype.itemsize not in (4, 8):
            values = values.astype(np.float64)
        # The sum of finite numbers is rarely infinite: a cheap test, then a thorough one.
        with np.errstate(over="ignore", invalid="ignore"):
            suspicious = not np.isfinite(values.sum())
        if suspicious and np.isinf(values).any():
            row, column = self.first_infinity(rows) or (0, feature)
            raise DataError(
                f"Input X contains infinity or a value too large: row {row}, column "
                f"{self.name(column)} is {self.table[row, column]}. Use a finite number, or NaN "
                "where the feature has no opinion."
            )
        return values

    def first_infinity(self, rows: NDArray[np.integer] | None = None) -> tuple[int, int] | None:
        """Return the row and column of the first infinite value, row by row; None without one.

        Parameters
        ----------
        rows : int array, optional
            The rows to look at, all by default.
        """
        if self.is_sparse:
            at = np.flatnonzero(np.isinf(self.table.data))
            if rows is not None:
                at = at[np.isin(self.table.indices[at], rows)]
            if not len(at):
                return None
            # (argmin takes the first: the leftmost column)
            place = int(at[self.table.indices[at].argmin()])
            column = int(np.searchsorted(self.table.indptr, place, side="right")) - 1
            return int(self.table.indices[place]), column
        order = np.arange(self.n_rows) if rows is None else np.unique(rows)
        step = max(1, _BLOCK // max(1, self.n_features))
        for begin in range(0, len(order), step):
            some = order[begin : begin + step]
            found = np.argwhere(np.isinf(self.table[some]))
            if len(found):
                return int(some[found[0, 0]]), int(found[0, 1])
        return None

    def columns_of(self, names: Sequence[str], where: str = "") -> list[int]:
        """Return the numbers of the named features; ``where`` begins the error for unknown ones."""
        if self.names is None:
            raise DataError("these instances have no feature names")
        places = {name: j for j, name in enumerate(self.names)}
        unknown = [name for name in names if name not in places]
        if unknown:
            close = difflib.get_close_matches(str(unknown[0]), self.names, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise DataError(f"{where}unknown feature names: {', '.join(map(repr, unknown))}{hint}")
        return [places[name] for name in names]


def _check_shape(shape: tuple[int, ...]) -> None:
    """Refuse a shape that is no table, in scikit-learn's words."""
    if len(shape) != 2:
        raise DataError(
            f"Expected 2D array, got {len(shape)}D array of shape {shape} instead. "
            "Reshape your data using array.reshape(-1, 1) if it has a single feature or "
            "array.reshape(1, -1) if it has a single row."
        )
    if shape[0] == 0:
        raise DataError(f"Found array with 0 sample(s) (shape={shape}) while at least 1 is needed.")
    if shape[1] == 0:
        raise DataError(
            f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required."
        )


def _checked_array(X: NDArray[Any]) -> Numbers:
    """Refuse a wrong shape or type; convert to numbers of native byte order."""
    if X.dtype.kind == "c":
        raise complex_error("features")
    _check_shape(X.shape)
    if X.dtype.kind not in NUMBERS:
        X = _numbers_from_objects(X)
    if X.dtype.kind == "f" and X.dtype.itemsize not in (4, 8):
        X = X.astype(np.float64)
    if not X.dtype.isnative:  # (compiled kernels know one byte order)
        X = X.astype(X.dtype.newbyteorder("="))
    return X


def _numbers_from_objects(X: NDArray[Any]) -> Floats:
    """Convert objects or text to floats; the first cell that is no number is named."""
    if X.dtype.kind in "mM":  # (NumPy would count ticks, and take NaT for a large number)
        raise DataTypeError(f"Input X of dtype {X.dtype} cannot be read as numbers.")
    try:
        return X.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    for row, line in enumerate(X.tolist()):
        for column, value in enumerate(line):
            try:
                float(value)
            except OverflowError:
                raise too_large_error(f"Input X: row {row}, column {column}") from None
            except (TypeError, ValueError):
                raise DataTypeError(
                    f"Input X: row {row}, column {column} is {value!r} of type "
                    f"{type(value).__name__}; the argument must be a string or a real number "
                    "that float() understands, or NaN where the feature has no opinion."
                ) from None
    raise DataTypeError(f"Input X of dtype {X.dtype} cannot be read as numbers.")


def _from_frame(frame: Any) -> Instances:
    """Convert a narwhals frame: text by levels, dates to numbers; the rest must be numbers."""
    names = list(frame.columns)
    _check_shape(frame.shape)
    kinds = {str(kind) for kind in frame.schema.dtypes()}
    if kinds in ({"Float64"}, {"Float32"}):  # (no column needs a check of its own)
        whole = np.asarray(frame.to_numpy())
        if whole.dtype.kind == "f":
            return Instances(_checked_array(whole), _string_names(names))
    found = [frame_column(one) for one in frame.iter_columns()]
    unusable = [repr(name) for name, one in zip(names, found) if one is None]
    if unusable:
        raise DataTypeError(
            f"Input X: the values of {', '.join(unusable)} cannot be read as numbers, text or "
            "dates; encode them as numbers or leave them out."
        )
    columns = [one for one in found if one is not None]
    small = all(one.values.dtype == np.float32 for one in columns)
    table = np.empty(frame.shape, np.float32 if small else np.float64, order="F")
    for j, one in enumerate(columns):
        table[:, j] = one.values
    return Instances.of_columns(table, _string_names(names), columns)


def _string_names(names: list[Any]) -> tuple[str, ...] | None:
    """Return names that are strings, None for numbers; refuse a mixture as scikit-learn does."""
    strings = [isinstance(name, str) for name in names]
    if any(strings) and not all(strings):
        kinds = sorted({type(name).__name__ for name in names})
        raise DataTypeError(
            "Feature names are only supported if all input features have string names, but X has "
            f"{' and '.join(kinds)} as column names. Use X.columns = X.columns.astype(str)."
        )
    return tuple(names) if all(strings) else None


# --- Rows of a table in the form in which a caller passed it, for rankers that are not ours


#: An array, a sparse matrix, a frame or Instances.
Table: TypeAlias = Any


def as_table(X: TableLike) -> Table:
    """Return X as a table whose rows can be selected."""
    if isinstance(X, Instances):
        return X
    if hasattr(X, "tocsr"):
        check_structure(X)  # (rows are taken by scipy, which trusts it)
        return X.tocsr()
    return X if hasattr(X, "shape") else np.asarray(X)


def take_rows(X: Table, rows: Ints) -> Table:
    """Return rows of an array, a sparse matrix, or a frame, which stays a frame."""
    if isinstance(X, Instances):
        return X.take_rows(rows)
    if not _is_frame(X):
        return X[rows]
    import narwhals as nw

    return nw.from_native(whole_table(X), eager_only=True)[rows].to_native()


def with_shuffled(X: Table, feature: int, order: Ints) -> Table:
    """Return a copy of a table with the values of one column in another order.

    Examples
    --------
    >>> with_shuffled(np.array([[1, 5], [2, 6]]), 1, np.array([1, 0])).tolist()
    [[1, 6], [2, 5]]
    """
    if hasattr(X, "isetitem"):  # (pandas, whose columns may have any names, also twice)
        frame = X.copy(deep=False)
        frame.isetitem(feature, X.iloc[order, feature].array)
        return frame
    if _is_frame(X):
        import narwhals as nw

        table = nw.from_native(whole_table(X), eager_only=True)
        name = table.columns[feature]
        # (a column of pyarrow is not indexed by an array up to narwhals 1.35; a table is)
        return table.with_columns(table.select(name)[order][name]).to_native()
    if hasattr(X, "tocsr"):
        columns = X.tocsc(copy=True)
        columns.sum_duplicates()
        values = columns[:, [feature]].toarray()[order, 0]
        return with_sparse_column(columns, feature, values).asformat(X.format)
    copy = X.copy()
    copy[:, feature] = X[order, feature]
    return copy


def with_sparse_column(table: Table, feature: int, column: NDArray[np.generic]) -> Table:
    """Return a scipy CSC table with other values of one column."""
    rows = np.flatnonzero(column != 0)  # (a NaN is not)
    first, last = int(table.indptr[feature]), int(table.indptr[feature + 1])
    data = np.concatenate([table.data[:first], column[rows], table.data[last:]])
    indices = np.concatenate([table.indices[:first], rows, table.indices[last:]])
    ends = table.indptr
    if first + len(rows) != last:  # (values that only change places leave it as it is)
        ends = ends.copy()
        ends[feature + 1 :] += first + len(rows) - last
    return type(table)((data, indices.astype(table.indices.dtype), ends), shape=table.shape)


def _is_frame(X: Table) -> bool:
    return hasattr(X, "columns") or hasattr(X, "column_names")


# --- Columns of categories and of dates as numbers, the same at training and afterwards


_RULE = (
    "a mapping from the number of a feature to {'kind': 'category', 'values': {...}} or "
    "{'kind': 'time', 'unit': ...}"
)


@dataclass(frozen=True)
class Encodings:
    """The numbers that a model reads columns of text and dates as.

    Attributes
    ----------
    categories : mapping from feature to mapping from category to number
        A category that is not in it was not seen at training: the feature abstains.
    times : mapping from feature to str
        Features that are dates or times, with what their numbers count.

    Examples
    --------
    >>> encodings = Encodings({0: {"red": 0.5, "blue": -0.5}})
    >>> texts = Instances(np.array([[1.0], [0.0], [2.0]]), levels={0: ("blue", "red", "pink")})
    >>> encodings.encode(texts).table.tolist()
    [[0.5], [-0.5], [nan]]
    """

    categories: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    times: Mapping[int, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.categories or self.times)

    @classmethod
    def from_plain(cls, plain: object, n_features: int, owner: str) -> Encodings:
        """Return the encodings that `to_plain` wrote, checked; None is no encoding."""
        if plain is None:
            return cls()
        if not isinstance(plain, dict):
            raise refuse(owner, "columns", _RULE, plain)
        categories: dict[int, dict[str, float]] = {}
        times: dict[int, str] = {}
        for key, one in plain.items():
            kind = one.get("kind") if isinstance(one, dict) else None
            known = isinstance(key, str) and key.isdecimal() and int(key) < n_features
            values = one.get("values") if kind == "category" else None
            if known and isinstance(values, dict) and all(map(_is_number, values.values())):
                categories[int(key)] = {str(text): float(v) for text, v in values.items()}
            elif known and kind == "time" and isinstance(one.get("unit"), str):
                times[int(key)] = one["unit"]
            else:
                raise refuse(owner, "columns", _RULE, f"{key!r}: {str(one)[:80]}")
        return cls(categories, times)

    def to_plain(self) -> dict[str, object]:
        """Return the encodings as a model file stores them, by the number of the feature."""
        found: dict[int, object] = {
            feature: {"kind": "category", "values": dict(values)}
            for feature, values in self.categories.items()
        }
        found |= {feature: {"kind": "time", "unit": unit} for feature, unit in self.times.items()}
        return {str(feature): found[feature] for feature in sorted(found)}

    def encode(self, instances: Instances) -> Instances:
        """Return the rows as numbers; rows that are encoded already are not changed.

        Raises
        ------
        DataTypeError
            Columns have text or dates where the model was trained on numbers; it names them all.
        """
        if instances.origin is not None:
            return instances
        self._check_kinds(instances)
        if not self.categories:
            return replace(instances, origin=instances) if self.times else instances
        if instances.is_sparse:
            raise DataTypeError("Input X is sparse, and the model has categories; pass a frame.")
        table = np.array(instances.table, np.float64, order="F")
        for feature, values in self.categories.items():
            table[:, feature] = _numbers(instances, feature, values)
        return replace(instances, table=table, levels=None, origin=instances)

    def _check_kinds(self, instances: Instances) -> None:
        """Refuse text or dates in place of numbers."""
        text = [f for f in instances.levels or () if f not in self.categories]
        times = instances.times or {}
        dates = [f for f in times if f not in self.times]
        for found, what in ((text, "text"), (dates, "dates")):
            if found:
                names = ", ".join(instances.name(feature) for feature in sorted(found))
                raise DataTypeError(
                    f"Input X has {what} in {names}, where the model was trained on other values."
                )
        for feature, unit in times.items():
            if self.times[feature] != unit:
                raise DataTypeError(
                    f"Input X has {unit} in {instances.name(feature)}, where the model was trained "
                    f"on {self.times[feature]}."
                )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _numbers(instances: Instances, feature: int, values: Mapping[str, float]) -> Floats:
    """Return the numbers of the categories of a column; NaN for those not seen at training."""
    levels = (instances.levels or {}).get(feature)
    if levels is not None:
        codes = np.asarray(instances.table[:, feature], np.float64)
    else:
        numbers, inverse = np.unique(instances.table[:, feature], return_inverse=True)
        spelled = _by_number(values)
        levels = tuple(_category_of(one, values, spelled) for one in numbers.tolist())
        codes = inverse.astype(np.float64)
        codes[np.isnan(numbers[inverse])] = np.nan
    of_level = np.array([values.get(level, math.nan) for level in levels] + [math.nan])
    places = np.where(np.isnan(codes), len(levels), codes).astype(np.int64)
    return of_level[places]


def _category_of(
    number: float, values: Mapping[str, float], spelled: Mapping[float, str | None]
) -> str:
    """Return the category that a number is: written the usual way, or in the only other one.

    A part of the rows may have no text but "007", which then is read as 7.
    """
    usual = number_text(number)
    return usual if usual in values else spelled.get(number) or usual


def _by_number(values: Mapping[str, float]) -> dict[float, str | None]:
    """Return categories by the numbers that they can be read as; None where two are the same."""
    found: dict[float, str | None] = {}
    for text in values:
        try:
            number = float(text)
        except ValueError:
            continue
        found[number] = None if number in found else text
    return found


# --- Features that look like the number, id or date of a row, which a ranker must not learn from


_FEWEST_ROWS = 20
_LOOK = 64  # rows looked at first: most features are no suspects there
_ID_NAME = re.compile(r"(?:^|.*[_\W])(?:id|ids|idx|index|key|rownum|row_number)|.*[a-z](?:Id|ID)")
_FIRST_DATE, _LAST_DATE = 19000101, 21001231
_FEWEST_DATES = 10
_SHARE_OF_IDS = 0.9  # distinct values per row, from which whole numbers under such a name are ids


def suspicious_features(instances: Instances) -> dict[int, str]:
    """Return the features that look like ids or dates, with what each of them looks like.

    Looked at are tables of at least 20 rows and two features that are neither sparse nor coded.
    A feature is suspicious if its values are whole numbers and

    - all distinct, and rising or falling from row to row: numbers of rows, or of orders;
    - nearly all distinct under a name such as ``id`` or ``user_id``;
    - dates written as numbers, 20240131.

    Examples
    --------
    >>> rows = np.arange(20.0)
    >>> table = np.column_stack([100 + 3 * rows, rows % 7, 20240101 + rows])
    >>> suspicious_features(Instances(table, ("order", "day", "date")))
    {0: 'distinct, rising whole numbers', 2: 'dates written as whole numbers'}
    """
    if (
        not isinstance(instances.table, np.ndarray)
        or instances.n_rows < _FEWEST_ROWS
        or instances.n_features < 2
    ):
        return {}
    found = {}
    for feature in range(instances.n_features):
        name = None if instances.names is None else instances.names[feature]
        reason = _suspicion(instances.table[:, feature], name)
        if reason is not None:
            found[feature] = reason
    return found


_SHOWN = "follows an earlier ranking, and a new item has none"
_LEAKS = {
    **dict.fromkeys(("position", "pos", "rank"), _SHOWN),
    **dict.fromkeys(("click", "clicks", "clicked"), "counts what came after an item was shown"),
}
_COPIES = 0.998  # squared correlation with the label, from which a feature is nearly the label


def leaking_features(instances: Instances, y: Floats | None) -> dict[int, str]:
    """Return the features that know the label, or an earlier ranking, and why.

    A feature is one of them by its name (position, pos, rank, click, clicks, clicked), or in a
    dense table of at least 20 rows by its values, if their correlation with the label is 0.999 or
    more.

    Examples
    --------
    >>> y = np.arange(20.0) % 3
    >>> leaking_features(Instances(np.column_stack([y * 2, y[::-1]]), ("grade", "Rank")), y)
    {0: 'is the label, or nearly', 1: 'follows an earlier ranking, and a new item has none'}
    """
    names = () if instances.names is None else instances.names
    found = {j: _LEAKS[name.lower()] for j, name in enumerate(names) if name.lower() in _LEAKS}
    if y is None or not isinstance(instances.table, np.ndarray) or len(y) < _FEWEST_ROWS:
        return found
    some = np.linspace(0, len(y) - 1, min(_LOOK, len(y))).astype(np.int64)
    for feature in range(instances.n_features):
        column = instances.table[:, feature]
        if _is_copy(column[some], y[some]) and _is_copy(column, y):
            found[feature] = "is the label, or nearly"
    return dict(sorted(found.items()))


def _is_copy(column: Floats, y: Floats) -> bool:
    """Whether values are a linear function of labels, or nearly; equal labels tell nothing."""
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        a, b = column - column.mean(dtype=np.float64), y - y.mean()
        squares = (a * a).sum() * (b * b).sum()
        return bool((a * b).sum() ** 2 >= _COPIES * squares and squares > 0)


def _suspicion(column: Floats, name: str | None) -> str | None:
    """Return the kind of id or date that a feature looks like; None if it is ordinary."""
    start = column[:_LOOK]
    with np.errstate(invalid="ignore"):
        if start.dtype.kind == "b" or not (start == np.floor(start)).all():
            return None
        if _is_date(start).all() and _is_date(column).all():
            if len(np.unique(column)) >= _FEWEST_DATES:
                return "dates written as whole numbers"
            return None
        for word, sign in (("rising", 1), ("falling", -1)):
            rises = _rises(sign * start.astype(np.float64))  # (most features end here)
            rises = rises and _rises(sign * column.astype(np.float64))
            if rises and (column == np.floor(column)).all():
                return f"distinct, {word} whole numbers"
        if name is not None and _ID_NAME.fullmatch(name):
            known = column[~np.isnan(column)]
            if (known == np.floor(known)).all():
                share = len(np.unique(known)) / len(column)
                return "ids, nearly all distinct" if share >= _SHARE_OF_IDS else None
    return None


def _rises(values: Floats) -> bool:
    """Whether every value is above the one before it (their difference may overflow)."""
    return bool((values[1:] > values[:-1]).all())


def _is_date(values: Floats) -> Bools:
    """Whether whole numbers read as year, month and day."""
    inside = (values >= _FIRST_DATE) & (values <= _LAST_DATE)
    month, day = values // 100 % 100, values % 100
    return np.asarray(inside & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31))
