"""Instances: the rows to rank and their features.

Columns of text are kept as places in the list of their texts, until `crucial.data.encodings`
replaces them by numbers. A feature that is NaN for a row abstains on it. In sparse input an entry
that is not stored is the number 0, not an abstention.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.arrays import NUMBERS, as_array, complex_error, too_large_error
from crucial.data.coded_table import CodedTable
from crucial.data.frame_columns import frame_column, number_text
from crucial.data.frames import whole_table
from crucial.data.memory import check_room
from crucial.data.sparse_checks import checked_columns
from crucial.data.words import one_line
from crucial.errors import DataError, DataTypeError
from crucial.types import Floats, Ints, Numbers, Reals, TableLike

__all__ = ["Instances"]

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
        X : array, sparse matrix, frame or Instances
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
        if isinstance(X, np.ndarray):
            return cls(_checked_array(as_array(X, "Input X")))
        if hasattr(X, "tocsc") and hasattr(X, "nnz"):
            matrix: Any = X
            _check_shape(matrix.shape)
            return cls(checked_columns(matrix))
        if hasattr(X, "collect"):  # (its columns are not computed yet)
            raise DataTypeError(f"Input X is a {type(X).__name__}; call its collect() first.")
        frame = _as_frame(X)
        if frame is not None:
            return _from_frame(frame)
        table = as_array(X, "Input X")
        if table.ndim == 0:
            raise DataTypeError(
                "Input X must be a table: an array, a sparse matrix or a frame. Got "
                f"{type(X).__name__}."
            )
        return cls(_checked_array(table))

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

    def columns_of(self, names: Sequence[str]) -> list[int]:
        """Return the numbers of the named features."""
        if self.names is None:
            raise DataError("these instances have no feature names")
        where = {name: j for j, name in enumerate(self.names)}
        unknown = [name for name in names if name not in where]
        if unknown:
            raise DataError(f"unknown feature names: {', '.join(map(repr, unknown))}")
        return [where[name] for name in names]


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


def _as_frame(X: Any) -> Any:
    """Return the narwhals frame around X, or None if X is no frame."""
    if not (hasattr(X, "columns") or hasattr(X, "column_names")):
        return None
    import narwhals as nw

    try:
        frame = nw.from_native(whole_table(X), eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise DataError(f"Input X: column names must differ. {one_line(error)}") from None
    return frame if isinstance(frame, nw.DataFrame) else None


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
    return Instances(
        table,
        _string_names(names),
        {j: one.levels for j, one in enumerate(columns) if one.levels is not None} or None,
        {j: one.unit for j, one in enumerate(columns) if one.unit is not None} or None,
        frozenset(j for j, one in enumerate(columns) if one.declared),
    )


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
