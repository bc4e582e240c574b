"""From collections and files to parts on workers: columns, survey, assignment, memory, coding.

`load_parts` reads the input twice, on the workers. The first reading checks every part and finds
the bins and the queries (`Survey`). Each query then gets a part (`Assignment`), the memory that the
workers need is estimated, and the second reading codes the rows and brings queries together.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from itertools import zip_longest
from operator import getitem
from typing import Any, TypeAlias

import numpy as np

from crucial.data.arrays import check_sum, frame_column, whole_table
from crucial.data.bins import Bins
from crucial.data.dataset import Dataset
from crucial.data.groups import Groups
from crucial.data.instances import CodedTable, Instances
from crucial.data.words import one_line, shown
from crucial.distributed.part import Part, PartRows
from crucial.distributed.transport import DaskParts, failed, no_worker, placed, result_of
from crucial.errors import Argument, CrucialError, DataError, DataTypeError, Message, ParameterError
from crucial.feedback.labels import query_factors
from crucial.io.options import TableOptions
from crucial.io.parquet import ParquetRows
from crucial.io.parts import (
    QuantileSketch,
    TablePart,
    bins_without_rows,
    checked_part,
    cut_sketches,
    list_parts,
    look_at,
    read_part,
    split_parts,
)
from crucial.io.tables import find_format
from crucial.parameters import refuse
from crucial.progress import progress_bar, write_line
from crucial.types import Bools, Floats, Ids, Ints
from crucial.wording import counted

# --- The columns of a part by their roles: labels, queries, weights; the features are left


#: Roles that a column may have beside being a feature.
_ROLES = ("label", "qid", "weight", "query_weight")


#: Rows, and the factor on the pairs of the query of every row, if they have one.
WeightedRows: TypeAlias = tuple[Dataset, Floats | None]


@dataclass(frozen=True)
class ColumnRoles:
    """The roles of the columns of a table.

    Attributes
    ----------
    label, qid, weight, query_weight : str, or None; or a Dask array or series beside the table
        Names of columns. `list_sources` replaces arrays by names.
    features : tuple of str, or None
        Columns that are features; by default all that are left.
    ignore : tuple of str
        Columns to leave out.
    labelled : bool
        Whether labels are needed.
    n_features : int or None
        Of svmlight files, where a part may lack the last ones.
    """

    label: Any = "label"
    qid: Any = "qid"
    weight: Any = None
    query_weight: Any = None
    features: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    labelled: bool = True
    n_features: int | None = None

    @classmethod
    def checked(
        cls,
        owner: str,
        data: Any,
        *,
        features: Iterable[str] | None,
        ignore: Iterable[str] | None,
        **others: Any,
    ) -> ColumnRoles:
        """Return the roles that a user gives to a function, which ``owner`` names."""
        takes_arrays = is_local(data) or (is_dask(data) and not hasattr(data, "columns"))
        for role in _ROLES:
            value = others.get(role)
            if value is None or isinstance(value, str) or is_dask(value):
                continue
            if not (takes_arrays and np.iterable(value)):
                rule = "the name of a column, a Dask array or None"
                raise refuse(owner, role, rule, value)
        chosen = None if features is None else _names(owner, "features", features)
        if chosen == ():
            raise DataError("no column is left for the features.", parameter="features")
        left_out = () if ignore is None else _names(owner, "ignore", ignore)
        return cls(**others, features=chosen, ignore=left_out)

    def __post_init__(self) -> None:
        for role, name in self.named().items():
            if name in (self.features or ()):
                raise ParameterError(
                    f"features names {shown(name)}, which is already the {role}.",
                    parameter="features",
                )

    def named(self) -> dict[str, str]:
        """Return the columns that a table must have beside the features, by their roles."""
        roles = {role: getattr(self, role) for role in _ROLES if role != "label" or self.labelled}
        return {role: name for role, name in roles.items() if isinstance(name, str)}

    def of_part(self, table: Any) -> WeightedRows:
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
        return data, factor

    def _of_dataset(self, data: Dataset) -> WeightedRows:
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

    def _of_frame(self, table: Any) -> WeightedRows:
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
        roles = self.named()
        for name in (*roles.values(), *self.ignore, *(self.features or ())):
            if name not in frame.columns:
                listed = ", ".join(map(shown, frame.columns[:8]))
                more = ", ..." if len(frame.columns) > 8 else ""
                raise DataError(f"there is no column {shown(name)}; columns: {listed}{more}.")
        taken = {*roles.values(), *self.ignore, self.label}
        features = [name for name in frame.columns if name not in taken]
        if self.features is not None:
            features = list(self.features)
        if not features:
            raise DataError("there is no column left that could be a feature.")
        values = {role: _numbers(frame, name) for role, name in roles.items() if role != "qid"}
        data = Dataset(
            _checked(frame.select(features).to_native()) if len(frame) else _EMPTY,
            values.get("label"),
            None if self.qid is None else np.asarray(frame[self.qid].to_numpy()),
            weight=values.get("weight"),
            feature_names=features,
        )
        return data, values.get("query_weight")


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


def _of_tuple(parts: tuple[Any, ...]) -> WeightedRows:
    """Return the rows of (X, y, qid, weight, query weight), of which the last may be left out."""
    if not 1 <= len(parts) <= 5:
        raise DataError(f"must be (X, y, qid) with or without weights. Got {len(parts)} values.")
    X, y, qid, weight, factor = parts + (None,) * (5 - len(parts))
    if not X.shape[0]:
        return Dataset(_EMPTY, y, qid, weight=weight), None
    numbers = [None if one is None else np.asarray(one, np.float64) for one in (y, weight, factor)]
    queries = None if qid is None else np.asarray(qid)
    return Dataset(_checked(X), numbers[0], queries, weight=numbers[1]), numbers[2]


def _checked(X: Any) -> Instances:
    """Return checked rows; text is for the model to read, or for the fit to refuse."""
    return Instances.from_input(X, texts=True)


def _numbers(frame: Any, name: str) -> Floats:
    """Return a column of labels or weights as floats; refuse what is not a number."""
    column = frame_column(frame[name])
    if column is None or column.levels is not None or column.unit is not None:
        raise DataTypeError(f"the column {shown(name)} must have numbers.")
    return np.asarray(column.values, np.float64)


# --- Where the rows come from: the blocks of a Dask collection, delayed tables, or files


@dataclass(frozen=True)
class Source:
    """One part of the input, which any worker can read.

    Attributes
    ----------
    name : str
        As messages call it.
    value : str, or Delayed or Future of the rows
        The path of a file, or what Dask computes before the worker reads it.
    columns : ColumnRoles
    options : dict
        Those of `read_data`, for a file.
    """

    name: str
    value: Any
    columns: ColumnRoles
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_file(self) -> bool:
        """Whether this is a file."""
        return isinstance(self.value, str)

    def without_value(self) -> Source:
        """Return the source as `read` needs it; the value is an argument of its own for Dask."""
        return replace(self, value=None)

    def read(self, value: Any, compact: bool = False) -> WeightedRows | None:
        """Return the rows, or None if there are none; errors name the part.

        Parameters
        ----------
        value : what Dask made of the value of the source
        compact : bool
            As in `read_part`.
        """
        try:
            if isinstance(value, str):
                _, table = read_part(value, 0, self._reader_options(value), compact)
            else:
                table = value
            part = None if table is None else self.columns.of_part(table)
        except DataError as error:
            raise error.about(self.name) from None
        except CrucialError:
            raise
        except Exception as error:
            raise failed(self.name, error) from error
        return part if part is not None and part[0].n_rows else None

    def _reader_options(self, path: str) -> dict[str, Any]:
        """Return the options of the reader of this file."""
        options = {"n_jobs": 1, **self.options}
        if not os.path.exists(path) or not os.path.getsize(path):
            return options  # (the reader reports the first, and leaves out the second)
        kind = options.get("format", "auto")
        own = self.columns
        if (find_format(path) if kind == "auto" else kind) == "svmlight":
            if own.n_features is not None:
                options.setdefault("n_features", own.n_features)
        else:
            if own.features is not None and own.query_weight is not None:
                own = replace(own, features=(*own.features, own.query_weight), query_weight=None)
            for option in fields(TableOptions):
                if hasattr(own, option.name):
                    options.setdefault(option.name, getattr(own, option.name))
        return options


def with_one_width(client: Any, sources: Sequence[Source]) -> list[Source]:
    """Return svmlight files with the features of all of them, counted from the same index.

    A file may lack the last features, or the first. Unless the options have ``n_features``, the
    files are read once to see which there are.
    """
    listed = list(sources)
    if not all(one.is_file and "n_features" not in one.options for one in listed):
        return listed
    futures = client.map(_width, listed, pure=False)
    found = [result_of(one.name, future) for one, future in zip(listed, futures)]
    ranges = [one for one in found if one is not None]
    if not ranges:
        return listed
    base = min(first for first, _ in ranges)
    width = max(last for _, last in ranges) + 1 - base
    options = {"n_features": width, "index_base": base}
    return [
        one if own is None else replace(one, options={**one.options, **options})
        for one, own in zip(listed, found)
    ]


def _width(source: Source) -> tuple[int, int] | None:
    """Return the first and the last index of a svmlight file with rows; None for other files."""
    path, options = source.value, dict(source.options)
    if not os.path.exists(path) or not os.path.getsize(path):
        return None
    if options.get("format", "auto") == "table" or find_format(path) != "svmlight":
        return None
    part = source.read(path)
    if part is None or part[0].index_base is None:
        return None
    base = part[0].index_base
    return base, base + part[0].n_features - 1


def is_local(value: object) -> bool:
    """Return whether a value is a table of this process: a frame, an array, or a data set."""
    return isinstance(value, Dataset) or (hasattr(value, "shape") and not is_dask(value))


_PATHS = (str, os.PathLike)


def is_dask(value: object) -> bool:
    """Return whether a value is a Dask collection: a frame, a series, an array or a delayed."""
    return hasattr(value, "__dask_graph__") and hasattr(value, "dask")


def list_sources(
    data: Any, columns: ColumnRoles, options: Mapping[str, Any], client: Any = None
) -> list[Source]:
    """Return the parts of the input, in order.

    Parameters
    ----------
    data : Dask frame or array, sequence of delayed tables, futures or data sets, str or path
        Of a folder or a pattern, the files are listed by a worker.
    columns : ColumnRoles
        Roles that are arrays have as many blocks as ``data``.
    options : mapping
        Those of `read_data`, for files.
    client : distributed.Client, optional
        Without, files are listed in this process.
    """
    roles = {role: getattr(columns, role) for role in _ROLES}
    others = {role: one for role, one in roles.items() if not (one is None or isinstance(one, str))}
    names: dict[str, Any] = {role: beside(role) for role in others}
    columns = replace(columns, **names)
    if not (is_dask(data) or isinstance(data, (*_PATHS, list, tuple))):
        raise DataTypeError(
            "the rows must be a Dask frame or array, a list of delayed tables or files, a folder, "
            f"or a pattern of file names. Got {type(data).__name__}.",
            remedy="Fit rows of this process with the ranker itself, or make them a collection "
            "(dask.dataframe.from_pandas)."
            if is_local(data)
            else "",
        )
    if options and not _are_files(data):
        listed = ", ".join(sorted(options))
        raise DataError(f"the parts are no files: {listed} cannot apply to them.")
    if others and not is_dask(data):
        raise DataTypeError(
            f"{next(iter(others))} must be the name of a column, since the parts are no Dask "
            "collection."
        )
    if isinstance(data, _PATHS):
        path = os.path.abspath(os.fspath(data))
        values: Sequence[Any] = _on_a_worker(client, path, _listed)
    elif not is_dask(data):
        values = [os.path.abspath(one) if isinstance(one, _PATHS) else one for one in data]
        if _are_files(values):
            values = _on_a_worker(client, values, _split)
    elif hasattr(data, "columns"):
        values = data.assign(**{beside(role): one for role, one in others.items()}).to_delayed()
    else:
        values = _blocks(data, others)
    if not len(values):
        raise DataError("there are no parts: the sequence is empty.")
    return [
        Source(value.name if isinstance(value, ParquetRows) else value, value, columns, options)
        if isinstance(value, str)
        else Source(f"part {number} (from 0)", value, columns)
        for number, value in enumerate(values)
    ]


def beside(role: str) -> str:
    """Return the name of the column of labels, ids or weights that lie beside a frame."""
    return f"__{role}__"


def _are_files(data: Any) -> bool:
    if isinstance(data, list | tuple) and data:
        return all(isinstance(one, _PATHS) for one in data)
    return isinstance(data, _PATHS)


def _on_a_worker(client: Any, value: Any, function: Callable[[Any], list[Any]]) -> list[Any]:
    """Call a function of files on a worker, or in this process without a cluster."""
    if client is None:
        return function(value)
    name = value if isinstance(value, str) else "the files"
    values: list[Any] = result_of(name, client.submit(function, value, pure=False))
    return values


def _listed(path: str) -> list[Any]:
    """Return the files of a folder or pattern; large ones are several parts."""
    return _split(list_parts(path, once=False))


def _split(files: Iterable[Any]) -> list[Any]:
    return list(split_parts(files))


def _blocks(data: Any, others: Mapping[str, Any]) -> list[Any]:
    """Return the blocks of rows of an array, each with the blocks of what lies beside it."""
    from dask import delayed

    if getattr(data, "ndim", 0) != 2:
        raise DataTypeError(
            f"the rows must be a table: a Dask frame, or an array of two dimensions. Got "
            f"{type(data).__name__}."
        )
    tables = list(data.rechunk({1: -1}).to_delayed().ravel())
    chunks = data.chunks[0]
    blocks = []
    for role in _ROLES:
        own = others.get(role)
        found = [None] * len(tables) if own is None else _aligned(own, role, chunks)
        if len(found) != len(tables):
            raise DataError(
                f"the rows have {len(tables)} blocks, and {role} has {len(found)}. Rechunk them "
                "alike."
            )
        blocks.append(found)
    together = delayed(tuple)
    return [together([*block]) for block in zip(tables, *blocks)]


def _aligned(values: Any, role: str, chunks: tuple[Any, ...]) -> list[Any]:
    """Return one block of labels, ids or weights per block of rows."""
    import dask.array as da

    if not is_dask(values):
        values = da.from_array(np.asarray(values), chunks=-1)  # (of texts, Dask knows no size)
    if hasattr(values, "to_dask_array"):  # (a series)
        values = values.to_dask_array()
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise DataError(f"{role} must be 1D. Got an array of shape {values.shape}.")
    known = all(size == size for size in (*chunks, *values.chunks[0]))
    if known and values.shape[0] != sum(chunks):
        raise DataError(f"X has {sum(chunks):,} rows, and {role} has {values.shape[0]:,}.")
    if known and values.chunks[0] != chunks:
        values = values.rechunk((chunks,))
    return list(values.to_delayed().ravel())


# --- The first reading of the parts: check them, count their queries, find the bins


# Sketches that one task merges; neighbours are mostly on the same worker. A power of two: then the
# levels of the merged sketches are those of one sketch that sees all parts in order.
_MERGED = 4


@dataclass(frozen=True)
class SurveyedPart:
    """Facts about a part after the first reading.

    Attributes
    ----------
    ids : array
        Of its queries, ascending.
    sizes : int array
        Rows of each of them.
    missing : bool array of shape (n_features,)
        Which features abstain on some row.
    lowest, highest : float
        Label; NaN without labels.
    weight : float
        The largest weight of a row, 1 without weights.
    notes : tuple of str
        Assumptions made in reading.
    factors : array, optional
        Weight of each of its queries.
    """

    ids: Ids
    sizes: Ints
    missing: Bools
    lowest: float
    highest: float
    weight: float
    notes: tuple[str, ...]
    factors: Floats | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.sizes.sum())


@dataclass(frozen=True)
class Survey:
    """Facts about all parts after the first reading.

    Attributes
    ----------
    sources : list of Source
        Those with rows.
    parts : list of SurveyedPart
        One per source.
    first : TablePart
        The first row of the first part, which says what columns there are.
    bins : Bins
        Without rows.
    ids : array
        Of all queries, ascending: a query is known by its place among them.
    numbers : list of int arrays
        Places of the ids of each part.
    """

    sources: list[Source]
    parts: list[SurveyedPart]
    first: TablePart
    bins: Bins
    ids: Ids
    numbers: list[Ints]

    @property
    def n_rows(self) -> int:
        """Number of rows of all parts."""
        return sum(part.n_rows for part in self.parts)

    def query_sizes(self) -> Ints:
        """Return the number of rows of every query."""
        sizes = np.zeros(len(self.ids), np.int64)
        for part, numbers in zip(self.parts, self.numbers):
            sizes[numbers] += part.sizes
        return sizes


# -- on a worker ------------------------------------------------------------------------


def checked_rows(
    source: Source, value: Any, first: TablePart | None
) -> tuple[TablePart, Floats | None] | None:
    """Read a part and its query weights, checked against the first one; None without rows."""
    read = source.read(value, compact=True)
    if read is None:
        return None
    data, factor = read
    part = checked_part(source.name, data, first)
    if factor is not None and not ((factor >= 0) & (factor < np.inf)).all():
        row = int(np.flatnonzero(~((factor >= 0) & (factor < np.inf)))[0])
        raise DataError(
            f"{source.name}: query weights must be finite and not negative. Row {row} is "
            f"{factor[row]}."
        )
    if factor is not None:
        check_sum(factor, f"{source.name}: query weight")
    return part, factor


def _first_row(source: Source, value: Any) -> TablePart | None:
    """Return the first row of a part; None without rows."""
    found = checked_rows(source, value, None)
    return None if found is None else found[0].head()


def _look(
    source: Source, value: Any, first: TablePart, sketched: bool, alone: bool
) -> tuple[SurveyedPart | None, list[QuantileSketch]]:
    """Return the facts about a part, and the sketches of its features if they are wanted."""
    found = checked_rows(source, value, first)
    if found is None:
        return None, []
    (part, factor), data = found, found[0].data
    weight = part.weights()
    sketches = [QuantileSketch() for _ in range(part.instances.n_features)] if sketched else []
    missing = look_at(part, sketches, others=not alone)
    groups = Groups.from_qid(data.qid, part.instances.n_rows)
    low, high = (np.nan, np.nan) if data.y is None else (data.y.min(), data.y.max())
    largest = 1.0 if weight is None else float(weight.max())
    try:
        factors = query_factors(factor, groups)
    except DataError as error:
        raise part.failed(error) from None
    labels = float(low), float(high)
    found_part = SurveyedPart(
        groups.ids, groups.sizes, missing, *labels, largest, tuple(data.notes), factors
    )
    return found_part, sketches


def _merge(sketches: list[list[QuantileSketch]]) -> list[QuantileSketch]:
    """Merge the sketches of several parts into new ones, one per feature."""
    merged = [QuantileSketch() for _ in sketches[0]]
    for part in sketches:
        for own, added in zip(merged, part, strict=True):
            own.merge(added)
    return merged


# -- on the driver ----------------------------------------------------------------------


def survey(
    client: Any,
    sources: Sequence[Source],
    *,
    bins: Bins | None = None,
    max_bins: int = 255,
    first: TablePart | None = None,
    verbose: int = 0,
) -> Survey:
    """Read all parts once, on the workers.

    Parameters
    ----------
    client : distributed.Client
    sources : sequence of Source
    bins : Bins, optional
        To use, without rows. By default they are found from sketches.
    max_bins : int
    first : TablePart, optional
        What the columns must be; by default those of the first part with rows.

    Raises
    ------
    DataError
        A part cannot be read or does not fit the first one; it is named.
    """
    from dask import delayed

    first = first or _first(client, sources)
    head = client.submit(same, first, pure=False)
    alone = len(sources) == 1
    look, item = delayed(_look, pure=False), delayed(getitem, pure=False)
    looks = [look(one.without_value(), one.value, head, bins is None, alone) for one in sources]
    wanted = [(item(one, 0), item(one, 1)) for one in looks]
    computed = client.compute([one for pair in wanted for one in pair])
    found = gathered("reading parts", [one.name for one in sources], computed[::2], verbose)
    kept = [number for number, one in enumerate(found) if one is not None]
    parts = [one for one in found if one is not None]
    if not parts:
        raise DataError("there is no row in any part.")
    if bins is None:
        sketches = _merged(client, [computed[2 * number + 1] for number in kept])
        cut = client.submit(cut_sketches, sketches, max_bins, pure=False)
        bins = result_of("the bins", cut)
        assert bins is not None
    elif bins.n_features != first.instances.n_features:
        raise DataError(
            f"the rows have {first.instances.n_features} features, and the bins are those of "
            f"{bins.n_features}.",
            parameter="bins",
        )
    missing = np.logical_or.reduce([part.missing for part in parts])
    bins = replace(bins, has_missing=missing[bins.features])
    ids, numbers = _numbered([part.ids for part in parts])
    return Survey([sources[number] for number in kept], parts, first, bins, ids, numbers)


def same(value: Any) -> Any:
    """Return a value: a task that makes it known to all workers."""
    return value


def _first(client: Any, sources: Sequence[Source]) -> TablePart:
    """Return the first row of the first part that has one."""
    from dask import delayed

    first_row = delayed(_first_row, pure=False)
    for one in sources:
        found = result_of(one.name, client.compute(first_row(one.without_value(), one.value)))
        if found is not None:
            assert isinstance(found, TablePart)
            return found
    raise DataError("there is no row in any part.")


def gathered(
    label: str, names: Sequence[str], futures: Sequence[Any], verbose: int, fetch: bool = True
) -> list[Any]:
    """Return the results of one task per part, in order, and show how many there are.

    Parameters
    ----------
    fetch : bool
        As in `result_of`.

    Raises
    ------
    DataError
        Naming the part whose task failed.
    """
    results = []
    with progress_bar(label, len(names), wanted=bool(verbose)) as show:
        for number, (name, future) in enumerate(zip(names, futures)):
            results.append(result_of(name, future, fetch))
            if show is not None:
                show(number + 1, "")
    return results


def _merged(client: Any, sketches: Sequence[Any]) -> Any:
    """Return a future of one sketch per feature, of those of all parts, merged in their order."""
    left = list(sketches)
    while len(left) > 1:
        runs = [left[k : k + _MERGED] for k in range(0, len(left), _MERGED)]
        left = [client.submit(_merge, run, pure=False) for run in runs]
    return left[0]


def _numbered(ids: Sequence[Ids]) -> tuple[Ids, list[Ints]]:
    """Return all ids once, ascending, and the places of those of each part."""
    every = np.concatenate([*ids])
    distinct = np.unique(every)
    return distinct, [np.searchsorted(distinct, own).astype(np.int64) for own in ids]


# --- Which part every query is put into, so that its rows are together


# Most pieces that parts of the input are cut into to bring queries together.
_PIECES = 10_000


@dataclass(frozen=True)
class Assignment:
    """The part of every query.

    Attributes
    ----------
    part : int array of shape (n_queries,)
        The part of each query.
    sizes : int array of shape (n_parts,)
        Rows of each part.
    """

    part: Ints
    sizes: Ints

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return len(self.sizes)


def assign_queries(survey: Survey, n_parts: int) -> Assignment:
    """Choose a part for every query.

    Parts of the input that follow each other make one part. A query whose rows are all in one
    of these stays there. The others are mixed by a hash of their numbers, and divided among the
    parts evenly.

    Parameters
    ----------
    survey : Survey
    n_parts : int
        Parts to make at most.

    Raises
    ------
    DataError
        A query has another weight in each of two parts of the input; both are named.
    """
    n_queries = len(survey.ids)
    _check_factors(survey)
    group = _groups([part.n_rows for part in survey.parts], n_parts)
    lowest = np.full(n_queries, len(group), np.int64)
    highest = np.full(n_queries, -1, np.int64)
    for own, numbers in zip(group, survey.numbers):
        lowest[numbers] = np.minimum(lowest[numbers], own)
        highest[numbers] = np.maximum(highest[numbers], own)
    split = np.flatnonzero(lowest != highest)
    part, rows = lowest, survey.query_sizes()
    mixed = split[np.argsort(_hashed(split), kind="stable")]
    # (a piece per part of the input and target: their number must not explode)
    targets = min(int(group.max()) + 1, max(1, _PIECES // len(group)))
    part[mixed] = _shares(rows[mixed], targets)
    used, part = np.unique(part, return_inverse=True)
    return Assignment(part, np.bincount(part, rows, len(used)).astype(np.int64))


def _check_factors(survey: Survey) -> None:
    """Refuse a query whose weights in two parts of the input differ."""
    known = np.full(len(survey.ids), np.nan)
    seen = np.full(len(survey.ids), -1, np.int64)
    for number, (part, numbers) in enumerate(zip(survey.parts, survey.numbers)):
        if part.factors is None:
            continue
        before = known[numbers]
        differs = np.flatnonzero(~np.isnan(before) & (before != part.factors))
        if len(differs):
            own, query = differs[0], int(numbers[differs[0]])
            one, other = survey.sources[seen[query]].name, survey.sources[number].name
            raise DataError(
                "query_weight must be constant inside a query. It is not in "
                f"{survey.ids[query].item()!r}: {before[own]:g} in {one}, {part.factors[own]:g} in "
                f"{other}.",
                parameter="query_weight",
            )
        known[numbers], seen[numbers] = part.factors, number


def _groups(sizes: list[int], n_parts: int) -> Ints:
    """Return the part of each part of the input: neighbours together, of about equal size."""
    if n_parts >= len(sizes):
        return np.arange(len(sizes))
    _, dense = np.unique(_shares(np.array(sizes), n_parts), return_inverse=True)
    return np.asarray(dense, np.int64)


def _shares(sizes: Ints, n: int) -> Ints:
    """Return which of n shares each of some sizes is in: neighbours together, shares alike."""
    rows = sizes.astype(np.float64)
    middle = np.cumsum(rows) - rows / 2
    return np.asarray(middle * (n / max(1.0, rows.sum())), np.int64)


def _hashed(numbers: Ints) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Mix the bits of numbers (the finalizer of SplitMix64)."""
    x = numbers.astype(np.uint64)
    x = (x + np.uint64(0x9E3779B97F4A7C15)) & np.uint64(0xFFFFFFFFFFFFFFFF)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


# --- The second reading of the parts: code their cells, bring the rows of each query together


# -- on a worker ------------------------------------------------------------------------


def code_rows(
    source: Source, value: Any, first: TablePart, bins: Bins, numbers: Ints, sizes: Ints
) -> PartRows:
    """Read a part again and code its cells; the rows are put in the order of their queries.

    Parameters
    ----------
    numbers, sizes : int arrays
        The number of each of its queries, by ascending id, and how many rows it had.
    """
    found = checked_rows(source, value, first)
    groups = None
    if found is not None:
        part, factor = found
        groups = Groups.from_qid(part.data.qid, part.instances.n_rows)
    if groups is None or not np.array_equal(groups.sizes, sizes):
        raise DataError(f"{source.name} has other rows than when it was read first.")
    order, n = groups.order, part.instances.n_rows
    codes = bins.recode(part.instances, order)
    labels = np.asarray(part.data.y, np.float64)[order]
    weight = part.weights()
    return PartRows(
        replace(bins, codes=codes, n_rows=n),
        labels,
        np.repeat(numbers, groups.sizes),
        None if weight is None else weight[order],
        None if factor is None else factor[order],
    )


def take_rows(rows: PartRows, there: Bools, numbers: Ints) -> PartRows:
    """Return the rows of some queries.

    Parameters
    ----------
    rows : PartRows
    there, numbers : arrays
        The queries of the rows, ascending, and which of them are wanted.
    """
    return _chosen(rows, np.flatnonzero(there[np.searchsorted(numbers, rows.query)]))


def join_rows(pieces: Sequence[PartRows]) -> PartRows:
    """Return the rows of several pieces, query after query, in the order of the pieces."""
    if len(pieces) == 1:
        return pieces[0]
    bins = pieces[0].bins
    n = sum(piece.n_rows for piece in pieces)
    codes = np.zeros((len(bins.features), -(-n // 8) * 8), np.uint8)
    begin = 0
    for piece in pieces:
        codes[:, begin : begin + piece.n_rows] = piece.bins.codes[:, : piece.n_rows]
        begin += piece.n_rows
    whole = PartRows(
        replace(bins, codes=codes, n_rows=n),
        np.concatenate([piece.labels for piece in pieces]),
        np.concatenate([piece.query for piece in pieces]),
        _joined([piece.weight for piece in pieces]),
        _joined([piece.query_weight for piece in pieces]),
    )
    if (whole.query[1:] >= whole.query[:-1]).all():
        return whole
    return _chosen(whole, np.argsort(whole.query, kind="stable"))


def _joined(columns: Sequence[Floats | None]) -> Floats | None:
    there = [column for column in columns if column is not None]
    return np.concatenate(there) if there else None


def _chosen(rows: PartRows, places: Ints) -> PartRows:
    """Return some of the rows, in the order given."""
    taken = rows.taken(places)
    # (which features abstain somewhere is a fact about all parts)
    return replace(taken, bins=replace(taken.bins, has_missing=rows.bins.has_missing))


@dataclass(frozen=True)
class RowsRecipe:
    """Makes a part from rows that Dask has computed, or computes again where they were lost.

    Attributes
    ----------
    name : str
        As messages call the part.
    rows, eval_rows : key of the result, or None
    """

    name: str
    rows: Any
    eval_rows: Any = None

    def __str__(self) -> str:
        return self.name

    def load(self) -> Part:
        """Return the part, on a worker."""
        watched = None if self.eval_rows is None else _fetched(self.eval_rows)
        return Part(_fetched(self.rows), watched)


def _fetched(key: Any) -> PartRows:
    """Return a result of the cluster by its key."""
    from distributed import Future, get_client

    client = get_client()
    # (a task of its own: a client learns about the results of its own tasks only)
    rows = client.submit(same, Future(key, client), pure=False).result()
    assert isinstance(rows, PartRows)
    return rows


# -- on the driver ----------------------------------------------------------------------


def coded_parts(client: Any, survey: Survey, assignment: Assignment) -> list[Any]:
    """Return futures of the rows of each part.

    Parameters
    ----------
    client : distributed.Client
    survey : Survey
    assignment : Assignment
    """
    from dask import delayed

    head = client.submit(same, survey.first, pure=False)
    bins = client.submit(same, survey.bins, pure=False)
    code, take, join = (delayed(one, pure=False) for one in (code_rows, take_rows, join_rows))
    pieces: list[list[Any]] = [[] for _ in range(assignment.n_parts)]
    for source, part, numbers in zip(survey.sources, survey.parts, survey.numbers):
        rows = code(source.without_value(), source.value, head, bins, numbers, part.sizes)
        part_of = assignment.part[numbers]
        targets = np.unique(part_of)
        for target in targets.tolist():
            there = part_of == target
            pieces[target].append(rows if len(targets) == 1 else take(rows, there, numbers))
    # (not tied to workers, even as a wish: once no worker is left, Dask would wait for the one
    # that is gone, though another joins)
    futures: list[Any] = client.compute([join(own) for own in pieces])
    return futures


# --- How much memory the parts take on the workers, before they are loaded


#: Bytes that a part keeps of a row beside its codes: label, query, weights, scores, potentials.
ROW_BYTES = 160
#: Bytes of a worker without rows: Python, libraries, machine code, and what they do not give back.
WORKER_BYTES = 350_000_000
#: Bytes of a row of a piece, beside its codes: label, query, weight.
PIECE_BYTES = 24


def cell_bytes(ranker: Any, largest_query: int) -> int:
    """Return the bytes that a part keeps of a cell.

    They are its code in the order of the input and in that in which rows are used, for trees also
    by row and by block; for ``choice="largest_drop"`` the order of the rows of every query, unless
    it takes more than 2 bytes.
    """
    choice = getattr(ranker, "choice", None)
    if choice is None or ranker.weak == "tree":
        return 4
    order = np.min_scalar_type(max(0, largest_query - 1)).itemsize
    return 2 + (order if choice == "largest_drop" and order <= 2 else 0)


@dataclass(frozen=True)
class MemoryEstimate:
    """The memory that a fit needs on the workers.

    Attributes
    ----------
    per_worker : int
        Bytes on the worker with most rows, while it is loading or training.
    n_workers, n_parts, n_rows, n_queries, n_features : int
        Features are those that vary.
    largest_query : int
        Rows of the query that has most.
    limit : int or None
        The least memory that a worker may use.
    row_bytes : int
        Bytes of a row.
    """

    per_worker: int
    n_workers: int
    n_parts: int
    n_rows: int
    n_queries: int
    n_features: int
    largest_query: int
    limit: int | None = None
    row_bytes: int = ROW_BYTES

    def __str__(self) -> str:
        size = f"{counted(self.n_rows, 'row')} in {counted(self.n_queries, 'query')}"
        each = f"on each of {self.n_workers} workers" if self.n_workers > 1 else "on 1 worker"
        return (
            f"{size}: needs about {_in_words(self.per_worker)} {each}; the largest query has "
            f"{counted(self.largest_query, 'row')}"
        )


def estimate_memory(
    survey: Survey,
    assignment: Assignment,
    watched: tuple[Survey, Assignment] | None,
    client: Any,
    ranker: Any,
) -> MemoryEstimate:
    """Return the memory that a fit needs on the workers.

    Parameters
    ----------
    survey, assignment : of the training rows
    watched : of the rows of the eval set, optional
    client : distributed.Client
    ranker : estimator
    """
    threads = client.nthreads()
    bins, largest = survey.bins, int(survey.query_sizes().max())
    row_bytes = cell_bytes(ranker, largest) * len(bins.features) + ROW_BYTES
    sizes = assignment.sizes.tolist()
    plan = placed(range(len(sizes)), sizes, dict.fromkeys(threads, 0))
    if watched is not None:
        more = watched[1].sizes.tolist()
        sizes = [size + extra for size, extra in zip_longest(sizes, more, fillvalue=0)]
    resident = WORKER_BYTES + row_bytes * max(sum(sizes[n] for n in own) for own in plan.values())
    # (a part and its pieces, while they are joined)
    resident += int(assignment.sizes.max(initial=0)) * (len(bins.features) + PIECE_BYTES)
    every = [*survey.parts, *([] if watched is None else watched[0].parts)]
    # (twice: as the reader has it, and as a table; every thread of a worker reads a part)
    width = 2 * bins.n_features * survey.first.instances.table.dtype.itemsize
    table = max(threads.values()) * max(part.n_rows for part in every) * width
    return MemoryEstimate(
        resident + table,
        len(plan),
        assignment.n_parts,
        survey.n_rows,
        len(survey.ids),
        len(bins.features),
        largest,
        memory_limit(client),
        row_bytes,
    )


def check_memory(estimate: MemoryEstimate, survey: Survey) -> None:
    """Refuse a query, or rows, that the memory of a worker cannot hold.

    Raises
    ------
    DataError
        With the query, and with both sizes.
    """
    limit = estimate.limit
    if limit is None:
        return
    sizes = survey.query_sizes()
    largest = int(np.argmax(sizes))
    needed = WORKER_BYTES + int(sizes[largest]) * estimate.row_bytes
    if WORKER_BYTES < limit < needed:  # (more workers would not help)
        raise DataError(
            f"query {survey.ids[largest].item()!r} has {counted(int(sizes[largest]), 'row')}, "
            f"for which a worker needs {_in_words(needed)}, and it has {_in_words(limit)}. A query "
            "must fit into one worker.",
            remedy="Use workers with more memory, or divide the query.",
        )
    if estimate.per_worker > limit:
        raise DataError(
            f"{estimate}, and a worker has {_in_words(limit)}.",
            remedy="Use more workers, workers with more memory, or parts with fewer rows each.",
        )


def memory_limit(client: Any) -> int | None:
    """Return the memory of the worker that has least; None if none has a limit."""
    workers = client.scheduler_info()["workers"].values()
    return min((int(one["memory_limit"]) for one in workers if one["memory_limit"]), default=None)


def _in_words(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{max(1, round(size / 1e6)):,} MB"


# --- From the input of a fit to parts on workers


# Parts per worker: enough that those of a lost worker are shared among the others.
_PARTS_PER_WORKER = 4


@dataclass(frozen=True)
class Schema:
    """The columns and labels that the rows of all parts have.

    Attributes
    ----------
    bins : Bins
        Of all parts; the codes of rows are not used.
    names : tuple of str, or None
        Names of the features.
    times : mapping, or None
        As in `Instances`.
    with_qid : bool
        Whether rows belong to queries; else they are all of one, in one part.
    n_rows : int
    lowest_label : float
    index_base, complete
        As in `Dataset`.
    """

    bins: Bins
    names: tuple[str, ...] | None = None
    times: Mapping[int, str] | None = None
    with_qid: bool = True
    n_rows: int = 0
    lowest_label: float = 0.0
    index_base: int | None = None
    complete: bool = False

    @classmethod
    def of(cls, survey: Survey) -> Schema:
        """Return the schema of surveyed rows."""
        rows, data = survey.first.instances, survey.first.data
        return cls(
            survey.bins,
            rows.names,
            rows.times,
            data.qid is not None,
            survey.n_rows,
            min(part.lowest for part in survey.parts),
            data.index_base,
            data.complete,
        )

    def instances(self, has_missing: Bools) -> Instances:
        """Return a table without rows, by which features are known."""
        codes = np.zeros((len(self.bins.features), 0), np.uint8)
        bins = replace(self.bins, codes=codes, n_rows=0, sparse=None, has_missing=has_missing)
        return Instances(CodedTable(bins), self.names, times=self.times)


@contextmanager
def load_parts(
    client: Any,
    data: Any,
    columns: ColumnRoles,
    options: Mapping[str, Any] | None = None,
    *,
    ranker: Any,
    eval_set: Any = None,
    bins: Bins | Dataset | None = None,
    n_parts: int | None = None,
    verbose: int = 0,
) -> Iterator[tuple[DaskParts, Schema, MemoryEstimate]]:
    """Load the rows on the workers of a cluster, and free them at the end of the block.

    Parameters
    ----------
    client : distributed.Client
    data, columns, options : as in `list_sources`
    ranker : estimator
        Its bins per feature, and what it needs of memory.
    eval_set, bins, n_parts, verbose
        As in `DaskRanker`.
    """
    given = None if bins is None else bins_without_rows(bins)
    try:
        client.wait_for_workers(1, timeout=60)
    except TimeoutError:
        raise no_worker(60) from None
    limit = n_parts or _PARTS_PER_WORKER * len(client.nthreads())
    options = options or {}
    sources = with_one_width(client, list_sources(data, columns, options, client))
    surveyed = survey(client, sources, bins=given, max_bins=ranker.max_bins, verbose=verbose)
    assignment = assign_queries(surveyed, limit)
    watched = None
    if eval_set is not None:
        sources = _eval_sources(client, eval_set, columns, options, surveyed.first)
        # (the same features, bins and kind of ids, without weights)
        first = replace(surveyed.first, data=replace(surveyed.first.data, weight=None))
        seen = survey(client, sources, bins=surveyed.bins, first=first, verbose=verbose)
        watched = seen, assign_queries(seen, assignment.n_parts)
    memory = estimate_memory(surveyed, assignment, watched, client, ranker)
    check_memory(memory, surveyed)
    if verbose:
        write_line(memory)
    rows = coded_parts(client, surveyed, assignment)
    eval_rows = [] if watched is None else coded_parts(client, *watched)
    # (first of all: on a worker that is still coding, parts would have to wait for a thread)
    names = [f"part {number} of {len(rows)}" for number in range(len(rows))]
    gathered("coding parts", names, rows, verbose, fetch=False)
    gathered("coding parts", names, eval_rows, 0, fetch=False)
    keys = [one.key for one in eval_rows]
    recipes = [
        RowsRecipe(name, one.key, eval_key)
        for name, one, eval_key in zip_longest(names, rows, keys)
    ]
    # (the futures are kept: where rows are lost with their worker, Dask makes them again)
    with DaskParts(client, recipes, sizes=assignment.sizes.tolist()) as parts:
        yield parts, Schema.of(surveyed), memory
    del rows, eval_rows


def _eval_sources(
    client: Any, data: Any, columns: ColumnRoles, options: Mapping[str, Any], first: TablePart
) -> list[Source]:
    """Return the parts of the eval set, which has the features of the first part."""
    rows, options = first.instances, dict(options)
    roles = {"label": columns.label, "qid": columns.qid}
    if isinstance(data, tuple) and len(data) in (2, 3) and is_dask(data[0]):
        if len(data) == 2 and columns.qid is not None:
            raise DataError(
                "eval_set has no query ids, and the rows to learn from have.",
                remedy="Pass eval_set=(X, y, qid).",
                parameter="eval_set",
            )
        data, *arrays = data
        roles |= dict(zip(roles, arrays))
    else:
        for role, value in roles.items():
            if not (value is None or isinstance(value, str)):
                # (a frame may have what lay beside the rows to learn from)
                roles[role] = beside(role) if role in (rows.names or ()) else role
    if first.data.index_base is not None:
        options["index_base"] = first.data.index_base
    wanted = ColumnRoles(**roles, features=rows.names, n_features=rows.n_features)
    sources = list_sources(data, wanted, options, client)
    return [one if one.is_file else replace(one, name=f"eval_set, {one.name}") for one in sources]
