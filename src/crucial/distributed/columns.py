"""The columns of a part by their roles: labels, queries, weights; the features are left."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crucial.data.arrays import frame_column, whole_table
from crucial.data.dataset import Dataset
from crucial.data.instances import Instances
from crucial.data.words import one_line, shown
from crucial.errors import Argument, DataError, DataTypeError, Message, ParameterError
from crucial.parameters import refuse
from crucial.types import Floats

__all__ = ["ColumnRoles", "RankingPart", "column_names"]


@dataclass(frozen=True)
class RankingPart:
    """The rows of one part as they were read.

    Attributes
    ----------
    data : Dataset
    query_weight : float64 array of shape (n_rows,), optional
        Factor on the pairs of the query of every row.
    """

    data: Dataset
    query_weight: Floats | None = None


@dataclass(frozen=True)
class ColumnRoles:
    """Which columns of a table are what.

    Attributes
    ----------
    label, qid, weight, query_weight : str or None
        Names of columns.
    features : tuple of str, or None
        Columns that are features; by default all that are left.
    ignore : tuple of str
        Columns to leave out.
    labelled : bool
        Whether labels are needed.
    n_features : int or None
        Of svmlight files, where a part may lack the last ones.
    """

    label: str | None = "label"
    qid: str | None = "qid"
    weight: str | None = None
    query_weight: str | None = None
    features: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    labelled: bool = True
    n_features: int | None = None

    def __post_init__(self) -> None:
        roles = {"qid": self.qid, "weight": self.weight, "query_weight": self.query_weight}
        roles |= {"label": self.label} if self.labelled else {}
        for role, name in roles.items():
            if isinstance(name, str) and name in (self.features or ()):
                raise ParameterError(
                    f"features names {shown(name)}, which is already the {role}.",
                    parameter="features",
                )

    def of_part(self, table: Any) -> RankingPart:
        """Return the rows of a frame, of a data set, or of (X, y, qid, weight).

        Raises
        ------
        DataError
            A column is not there, or is not what its role needs.
        """
        if isinstance(table, tuple):
            data, factor = _of_tuple(table)
        elif isinstance(table, Dataset):
            data, factor = self._of_dataset(table)
        else:
            data, factor = self._of_frame(table)
        if self.labelled and data.y is None:
            raise DataError("its rows have no labels.", remedy=_name_it(table, "label"))
        if self.qid is not None and data.qid is None:
            raise DataError("its rows have no query ids.", remedy=_name_it(table, "qid"))
        return RankingPart(data, factor)

    def _of_dataset(self, data: Dataset) -> tuple[Dataset, Floats | None]:
        """Take the query weights out of the features that a reader found."""
        if self.query_weight is None:
            return data, None
        instances = data.instances()
        place = instances.columns_of([self.query_weight])[0]
        rest = [j for j in range(instances.n_features) if j != place]
        if instances.levels and place in instances.levels:
            raise DataTypeError(f"the column {shown(self.query_weight)} must have numbers.")
        factor = np.asarray(instances.column(place), np.float64)
        names = None if instances.names is None else tuple(instances.names[j] for j in rest)
        own = Instances(instances.table[:, rest], names)
        return replace(data, X=own, feature_names=None if names is None else list(names)), factor

    def _of_frame(self, table: Any) -> tuple[Dataset, Floats | None]:
        """Divide the columns of a pandas, polars or pyarrow frame."""
        import narwhals as nw

        try:
            frame = nw.from_native(whole_table(table), eager_only=True)
        except TypeError:
            raise DataTypeError(
                f"must be a frame, a Dataset, or a tuple (X, y, qid). Got {type(table).__name__}."
            ) from None
        except nw.exceptions.DuplicateError as error:
            raise DataError(f"column names must differ. {one_line(error)}") from None
        there = set(frame.columns)
        wanted = (("label", self.label), ("weight", self.weight))
        pairs = (*wanted, ("query_weight", self.query_weight))
        roles = {role: name for role, name in pairs if name is not None}
        if not self.labelled:
            roles.pop("label", None)
        named = [*roles.values(), *([] if self.qid is None else [self.qid])]
        for name in (*named, *self.ignore, *(self.features or ())):
            if name not in there:
                listed = ", ".join(map(shown, frame.columns[:8]))
                more = ", ..." if len(frame.columns) > 8 else ""
                raise DataError(f"there is no column {shown(name)}; columns: {listed}{more}.")
        taken = {*named, *self.ignore, self.label}
        features = [name for name in frame.columns if name not in taken]
        if self.features is not None:
            features = list(self.features)
        if not features:
            raise DataError("there is no column left that could be a feature.")
        values = {role: _numbers(frame, name) for role, name in roles.items()}
        data = Dataset(
            _table(frame.select(features).to_native()) if len(frame) else _EMPTY,
            values.get("label"),
            None if self.qid is None else np.asarray(frame[self.qid].to_numpy()),
            weight=values.get("weight"),
            feature_names=features,
        )
        return data, values.get("query_weight")


def column_names(
    owner: str, features: Iterable[str] | None, ignore: Iterable[str] | None
) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return the names of the features and of columns to leave out, checked for a function.

    Examples
    --------
    >>> column_names("fit", np.array(["age", "price"]), None)
    (('age', 'price'), ())
    """
    chosen = None if features is None else _names(owner, "features", features)
    if chosen == ():
        raise DataError("no column is left for the features.", parameter="features")
    return chosen, () if ignore is None else _names(owner, "ignore", ignore)


def _names(owner: str, parameter: str, values: Iterable[str]) -> tuple[str, ...]:
    listed = tuple(values) if isinstance(values, Iterable) else (None,)
    if isinstance(values, str) or not all(isinstance(one, str) for one in listed):
        raise refuse(owner, parameter, "a list of column names", values)
    return tuple(str(one) for one in listed)


_EMPTY = np.zeros((0, 1))


def _name_it(table: object, role: str) -> Message:
    """Return how to say where the labels or ids of a part are."""
    if isinstance(table, tuple):
        return Message("Pass them with ", Argument(role), ", as an array beside the rows.")
    return Message("Name their column with ", Argument(role), ".")


def _of_tuple(parts: tuple[Any, ...]) -> tuple[Dataset, Floats | None]:
    """Return the rows of (X, y, qid, weight, query weight), of which the last may be left out."""
    if not 1 <= len(parts) <= 5:
        raise DataError(f"must be (X, y, qid) with or without weights. Got {len(parts)} values.")
    X, y, qid, weight, factor = parts + (None,) * (5 - len(parts))
    if not X.shape[0]:
        return Dataset(_EMPTY, y, qid, weight=weight), None
    numbers = [None if one is None else np.asarray(one, np.float64) for one in (y, weight, factor)]
    queries = None if qid is None else np.asarray(qid)
    return Dataset(_table(X), numbers[0], queries, weight=numbers[1]), numbers[2]


def _table(X: Any) -> Instances:
    """Return checked rows; text is for the model to read, or for the fit to refuse."""
    return Instances.from_input(X, texts=True)


def _numbers(frame: Any, name: str) -> Floats:
    """Return a column of numbers."""
    column = frame_column(frame[name])
    if column is None or column.levels is not None or column.unit is not None:
        raise DataTypeError(f"the column {shown(name)} must have numbers.")
    return np.asarray(column.values, np.float64)
