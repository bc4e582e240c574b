"""From collections and files to parts: columns, survey, assignment, memory, coding."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from crucial.data.arrays import check_sum, frame_column, whole_table
from crucial.data.bins import Bins
from crucial.data.dataset import Dataset
from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.data.words import one_line, shown
from crucial.distributed.messages import PartRows
from crucial.distributed.part import Part
from crucial.distributed.transport import failed, result_of
from crucial.errors import Argument, CrucialError, DataError, DataTypeError, Message, ParameterError
from crucial.feedback.labels import query_factors
from crucial.io.options import TableOptions
from crucial.io.parquet import ParquetRows
from crucial.io.parts import (
    QuantileSketch,
    TablePart,
    checked_part,
    cut_sketches,
    list_parts,
    look_at,
    read_part,
    split_parts,
)
from crucial.io.tables import find_format
from crucial.parameters import refuse
from crucial.progress import progress_bar
from crucial.types import Bools, Floats, Ids, Ints
from crucial.wording import counted

# --- The columns of a part by their roles: labels, queries, weights; the features are left


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


# --- Where the rows come from: the blocks of a Dask collection, delayed tables, or files


_ROLES = ("label", "qid", "weight", "query_weight")


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

    def read(self, value: Any, compact: bool = False) -> RankingPart | None:
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
        return part if part is not None and part.data.n_rows else None

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
    if part is None or part.data.index_base is None:
        return None
    base = part.data.index_base
    return base, base + part.data.n_features - 1


def is_dask(value: object) -> bool:
    """Return whether a value is a Dask collection: a frame, a series, an array or a delayed."""
    return hasattr(value, "__dask_graph__") and hasattr(value, "dask")


def list_sources(
    data: Any,
    roles: Mapping[str, Any],
    columns: ColumnRoles,
    options: Mapping[str, Any],
    client: Any = None,
) -> list[Source]:
    """Return the parts of the input, in order.

    Parameters
    ----------
    data : Dask frame or array, sequence of delayed tables, futures or data sets, str or path
        Of a folder or a pattern, the files are listed by a worker.
    roles : mapping
        ``label``, ``qid``, ``weight`` and ``query_weight``: names of columns, or Dask series and
        arrays with as many blocks as ``data``.
    columns : ColumnRoles
        The roles that are names, and which columns are features.
    options : mapping
        Those of `read_data`, for files.
    client : distributed.Client, optional
        Without, files are listed in this process.
    """
    others = {role: one for role, one in roles.items() if not (one is None or isinstance(one, str))}
    if options and not _are_files(data):
        listed = ", ".join(sorted(options))
        raise DataError(f"the parts are no files: {listed} cannot apply to them.")
    if isinstance(data, str | os.PathLike):
        return _files(os.path.abspath(os.fspath(data)), columns, options, client)
    if is_dask(data) and hasattr(data, "columns"):
        names: dict[str, Any] = {role: beside(role) for role in others}
        data = data.assign(**{names[role]: values for role, values in others.items()})
        columns = replace(columns, **names)
        values: Sequence[Any] = data.to_delayed()
    elif is_dask(data):
        values = _blocks(data, others)
    elif others:
        raise DataTypeError(
            f"{next(iter(others))} must be the name of a column, since the parts are no Dask "
            "collection."
        )
    elif isinstance(data, list | tuple):
        values = _split(data, client)
    else:
        raise DataTypeError(
            "the rows must be a Dask frame or array, a list of delayed tables or files, a folder, "
            f"or a pattern of file names. Got {type(data).__name__}."
        )
    if not len(values):
        raise DataError("there are no parts: the sequence is empty.")
    return [_source(number, value, columns, options) for number, value in enumerate(values)]


def beside(role: str) -> str:
    """Return the name of the column of labels, ids or weights that lie beside a frame."""
    return f"__{role}__"


def column_of(role: str, value: Any) -> str | None:
    """Return the name of the column of a role, which is given by name, beside the rows or not."""
    return value if value is None or isinstance(value, str) else beside(role)


def _are_files(data: Any) -> bool:
    if isinstance(data, list | tuple) and data:
        return all(isinstance(one, str | os.PathLike) for one in data)
    return isinstance(data, str | os.PathLike)


def _source(number: int, value: Any, columns: ColumnRoles, options: Mapping[str, Any]) -> Source:
    if isinstance(value, str):
        return Source(_name(value), value, columns, options)
    return Source(f"part {number} (from 0)", value, columns)


def _files(
    path: str, columns: ColumnRoles, options: Mapping[str, Any], client: Any
) -> list[Source]:
    """Return the files of a folder or pattern, as a worker sees them."""
    if client is None:
        found = _listed(path)
    else:
        found = result_of(path, client.submit(_listed, path, pure=False))
    return [Source(_name(one), one, columns, options) for one in found]


def _listed(path: str) -> list[Any]:
    return list(split_parts(list_parts(path, once=False)))


def _split(values: Sequence[Any], client: Any) -> list[Any]:
    """Return parts, where large files are several, as a worker sees them."""
    full = [os.path.abspath(one) if isinstance(one, str | os.PathLike) else one for one in values]
    if not _are_files(values):
        return full
    if client is None:
        return list(split_parts(full))
    found: list[Any] = result_of("the files", client.submit(_split, full, None, pure=False))
    return found


def _name(path: str) -> str:
    return path.name if isinstance(path, ParquetRows) else path


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
    together = delayed(_together)
    return [together(*block) for block in zip(tables, *blocks)]


def _together(*block: Any) -> tuple[Any, ...]:
    return block


def _aligned(values: Any, role: str, chunks: tuple[Any, ...]) -> list[Any]:
    """Return one block of labels, ids or weights per block of rows."""
    import dask.array as da
    import numpy as np

    if not is_dask(values):
        values = da.from_array(np.asarray(values))
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
    """What is known of a part after the first reading.

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
    """What is known of all parts after the first reading.

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
) -> tuple[TablePart, RankingPart] | None:
    """Read a part and check it against the first one; None without rows."""
    read = source.read(value, compact=True)
    if read is None:
        return None
    part = checked_part(source.name, read.data, first)
    factor = read.query_weight
    if factor is not None and not ((factor >= 0) & (factor < np.inf)).all():
        row = int(np.flatnonzero(~((factor >= 0) & (factor < np.inf)))[0])
        raise DataError(
            f"{source.name}: query weights must be finite and not negative. Row {row} is "
            f"{factor[row]}."
        )
    if factor is not None:
        check_sum(factor, f"{source.name}: query weight")
    return part, read


def _head(source: Source, value: Any) -> TablePart | None:
    """Return the first row of a part; None without rows."""
    found = checked_rows(source, value, None)
    return None if found is None else found[0].head()


def _look(
    source: Source, value: Any, first: TablePart, sketched: bool, alone: bool
) -> tuple[SurveyedPart | None, list[QuantileSketch]]:
    """Return what is known of a part, and the sketches of its features if they are wanted."""
    found = checked_rows(source, value, first)
    if found is None:
        return None, []
    (part, read), data = found, found[0].data
    weight = part.weights()
    sketches = [QuantileSketch() for _ in range(part.instances.n_features)] if sketched else []
    missing = look_at(part, sketches, others=not alone)
    groups = Groups.from_qid(data.qid, part.instances.n_rows)
    low, high = (np.nan, np.nan) if data.y is None else (data.y.min(), data.y.max())
    largest = 1.0 if weight is None else float(weight.max())
    try:
        factors = query_factors(read.query_weight, groups)
    except DataError as error:
        raise part.failed(error) from None
    labels = float(low), float(high)
    found_part = SurveyedPart(
        groups.ids, groups.sizes, missing, *labels, largest, tuple(data.notes), factors
    )
    return found_part, sketches


def _item(pair: tuple[Any, Any], place: int) -> Any:
    return pair[place]


def _merge(sketches: list[list[QuantileSketch]]) -> list[QuantileSketch]:
    """Return the sketches of several parts as one per feature; those given stay as they are."""
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
    look, item = delayed(_look, pure=False), delayed(_item, pure=False)
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

    head = delayed(_head, pure=False)
    for one in sources:
        found = result_of(one.name, client.compute(head(one.without_value(), one.value)))
        if found is not None:
            assert isinstance(found, TablePart)
            return found
    raise DataError("there is no row in any part.")


def gathered(label: str, names: Sequence[str], futures: Sequence[Any], verbose: int) -> list[Any]:
    """Return the results of one task per part, in order, and show how many there are.

    Raises
    ------
    DataError
        Naming the part whose task failed.
    """
    found = []
    with progress_bar(label, len(names), wanted=bool(verbose)) as show:
        for number, (name, future) in enumerate(zip(names, futures)):
            found.append(result_of(name, future))
            if show is not None:
                show(number + 1, "")
    return found


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
class Homes:
    """Where the queries go.

    Attributes
    ----------
    part : int array of shape (n_queries,)
        The part of each query.
    sizes : int array of shape (n_parts,)
        Rows of each part.
    moved : int
        Rows that come from another part of the input than they go to.
    """

    part: Ints
    sizes: Ints
    moved: int

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return len(self.sizes)


def find_homes(survey: Survey, n_parts: int, shuffle: bool) -> Homes:
    """Choose a part for every query.

    Parts of the input that follow each other make one part. A query whose rows are all in one
    of these stays there. The others are mixed by a hash of their numbers, and divided among the
    parts evenly.

    Parameters
    ----------
    survey : Survey
    n_parts : int
        Parts to make at most.
    shuffle : bool
        Whether queries may be in several parts of the input; if not, one that is, is refused.

    Raises
    ------
    DataError
        A query that must not be in several parts, or has another weight in each; both parts are
        named.
    """
    n_queries = len(survey.ids)
    if not shuffle:
        _check_whole(survey)
    _check_factors(survey)
    group = _groups([part.n_rows for part in survey.parts], n_parts)
    lowest = np.full(n_queries, len(group), np.int64)
    highest = np.full(n_queries, -1, np.int64)
    for own, numbers in zip(group, survey.numbers):
        lowest[numbers] = np.minimum(lowest[numbers], own)
        highest[numbers] = np.maximum(highest[numbers], own)
    split = np.flatnonzero(lowest != highest)
    homes = lowest
    rows = survey.query_sizes()
    mixed = split[np.argsort(_hashed(split), kind="stable")]
    # (a piece per part of the input and target: their number must not explode)
    targets = min(int(group.max()) + 1, max(1, _PIECES // len(group)))
    homes[mixed] = _shares(rows[mixed], targets)
    used, homes = np.unique(homes, return_inverse=True)
    sizes = np.bincount(homes, rows, len(used)).astype(np.int64)
    place = {int(one): number for number, one in enumerate(used)}
    moved = 0
    for own, numbers, part in zip(group, survey.numbers, survey.parts):
        moved += int(part.sizes[homes[numbers] != place.get(int(own), -1)].sum())
    return Homes(homes, sizes, moved)


def _check_whole(survey: Survey) -> None:
    """Refuse queries that are in several parts of the input."""
    seen = np.full(len(survey.ids), -1, np.int64)
    for number, numbers in enumerate(survey.numbers):
        twice: Bools = seen[numbers] >= 0
        if twice.any():
            query = int(numbers[np.flatnonzero(twice)[0]])
            one, other = survey.sources[seen[query]].name, survey.sources[number].name
            raise DataError(
                f"query {survey.ids[query].item()!r} has rows in {one} and in {other}, and "
                "shuffle=False promises that every query is in one part.",
                remedy="Leave shuffle out, or write each query to one part.",
                parameter="shuffle",
            )
        seen[numbers] = number


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
        part, read = found
        groups = Groups.from_qid(part.data.qid, part.instances.n_rows)
    if groups is None or not np.array_equal(groups.sizes, sizes):
        raise DataError(f"{source.name} has other rows than when it was read first.")
    order, n = groups.order, part.instances.n_rows
    codes = bins.recode(part.instances, order)
    labels = np.asarray(part.data.y, np.float64)[order]
    weight, factor = part.weights(), read.query_weight
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


def no_rows(bins: Bins, weighted: bool, factors: bool) -> PartRows:
    """Return a part without rows."""
    none = np.zeros(0)
    empty = replace(bins, codes=np.zeros((len(bins.features), 0), np.uint8), n_rows=0)
    return PartRows(
        empty, none, np.zeros(0, np.int64), none if weighted else None, none if factors else None
    )


@dataclass(frozen=True)
class RowsRecipe:
    """Makes a part from rows that Dask has computed, or computes again where they were lost.

    Attributes
    ----------
    name : str
        As messages call the part.
    rows, eval_rows : key of the result, or None
    bins : Bins or None
        To make a part without eval rows, where other parts have some.
    """

    name: str
    rows: Any
    eval_rows: Any = None
    bins: Bins | None = None

    def __str__(self) -> str:
        return self.name

    def load(self) -> Part:
        """Return the part, on a worker."""
        watched = None if self.bins is None else no_rows(self.bins, False, False)
        if self.eval_rows is not None:
            watched = _fetched(self.eval_rows)
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


def coded_parts(client: Any, survey: Survey, homes: Homes) -> list[Any]:
    """Return futures of the rows of each part.

    Parameters
    ----------
    client : distributed.Client
    survey, homes : what is known of the parts of the input, and where their queries go
    """
    from dask import delayed

    head = client.submit(same, survey.first, pure=False)
    bins = client.submit(same, survey.bins, pure=False)
    code, take, join = (delayed(one, pure=False) for one in (code_rows, take_rows, join_rows))
    pieces: list[list[Any]] = [[] for _ in range(homes.n_parts)]
    for source, part, numbers in zip(survey.sources, survey.parts, survey.numbers):
        rows = code(source.without_value(), source.value, head, bins, numbers, part.sizes)
        homes_of = homes.part[numbers]
        targets = np.unique(homes_of)
        for target in targets.tolist():
            there = homes_of == target
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


@dataclass(frozen=True)
class KeptCells:
    """What a ranker makes the parts keep of every cell, beside its code in the order of the input.

    Attributes
    ----------
    bytes : int
        The code in the order in which rows are used; for trees also by row and by block.
    orders : bool
        Whether the order of the rows of every query is kept, of 1 byte, or 2 where queries have
        more than 256 rows.
    """

    bytes: int = 1
    orders: bool = False

    @classmethod
    def of(cls, ranker: object) -> KeptCells:
        """Return what a ranker needs."""
        from crucial.rankers.gradient import GradientRanker

        trees = isinstance(ranker, GradientRanker) or getattr(ranker, "weak", None) == "tree"
        drops = not trees and getattr(ranker, "choice", None) == "largest_drop"
        return cls(3 if trees else 1, drops)

    def per_cell(self, largest_query: int) -> int:
        """Return bytes of a cell, with its code."""
        order = np.min_scalar_type(max(0, largest_query - 1)).itemsize if self.orders else 0
        # (longer ones are not kept)
        return 1 + self.bytes + (order if order <= 2 else 0)


@dataclass(frozen=True)
class MemoryEstimate:
    """What a fit needs on the workers.

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
    homes: Homes,
    worker_of: Mapping[int, str],
    watched: tuple[Survey, Homes] | None,
    limit: int | None,
    kept: KeptCells | None = None,
    threads: int = 1,
) -> MemoryEstimate:
    """Return what a fit needs on the workers.

    Parameters
    ----------
    survey, homes : the training rows
    worker_of : mapping
        The worker of each part.
    watched : the rows of the eval set, optional
    limit : int or None
        Of the worker with least memory.
    kept : KeptCells, optional
        What the ranker needs; that of stumps by default.
    threads : int
        Of a worker, each of which reads a part.
    """
    bins, largest = survey.bins, int(survey.query_sizes().max())
    cells = (kept or KeptCells()).per_cell(largest)
    row_bytes = cells * len(bins.features) + ROW_BYTES
    rows = dict.fromkeys(worker_of.values(), 0)
    for one in [homes] if watched is None else [homes, watched[1]]:
        for part, size in enumerate(one.sizes.tolist()):
            rows[worker_of[part]] += size
    resident = WORKER_BYTES + max(rows.values()) * row_bytes
    # (a part and its pieces, while they are joined)
    resident += int(homes.sizes.max(initial=0)) * (len(bins.features) + PIECE_BYTES)
    every = [*survey.parts, *([] if watched is None else watched[0].parts)]
    # (twice: as the reader has it, and as a table)
    width = 2 * bins.n_features * survey.first.instances.table.dtype.itemsize
    table = threads * max(part.n_rows for part in every) * width
    return MemoryEstimate(
        resident + table,
        len(rows),
        homes.n_parts,
        survey.n_rows,
        len(survey.ids),
        len(bins.features),
        largest,
        limit,
        row_bytes,
    )


def check_workers(estimate: MemoryEstimate, survey: Survey) -> None:
    """Refuse a query, or rows, that the memory of a worker has no room for.

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


def memory_limit(client: Any, workers: Sequence[str]) -> int | None:
    """Return the memory of the worker that has least; None if none has a limit."""
    known = client.scheduler_info()["workers"]
    limits = [known[one].get("memory_limit") for one in workers if one in known]
    found = [int(limit) for limit in limits if limit]
    return min(found) if found else None


def _in_words(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{max(1, round(size / 1e6)):,} MB"
