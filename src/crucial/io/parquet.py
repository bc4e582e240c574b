"""Parquet tables, whole or some of their rows, through pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from crucial.data.arrays import NumberColumn, frame_column, text_column
from crucial.data.dataset import Dataset
from crucial.data.files import atomic_write, check_unpacked, place_of
from crucial.data.words import as_objects, one_line, shown
from crucial.errors import FileError
from crucial.io.options import TableOptions
from crucial.io.tables import Roles, assign_roles, set_features, unusable_error
from crucial.types import Floats, PathLike

# --- Some rows of a parquet file, by its row groups


# Cells up to which row groups are put together: 250,000 rows of 134 features.
_CELLS = 1 << 25


class ParquetRows(str):
    """The path of a parquet file, of which some row groups are read.

    Parameters
    ----------
    path : str
    groups : (int, int), optional
        The first row group and the one after the last; all by default.
    first_row : int
        Rows before the first row group.
    compact : bool
        Whether the table is stored column by column, in floats of 4 bytes where the file has no
        longer ones: for readers that look at one column after the other.

    Examples
    --------
    >>> ParquetRows("train.parquet", (2, 4)).name
    'train.parquet, row groups 2 to 3'
    """

    groups: tuple[int, int] | None
    first_row: int
    compact: bool

    def __new__(
        cls,
        path: str,
        groups: tuple[int, int] | None = None,
        first_row: int = 0,
        compact: bool = False,
    ) -> Self:
        """Make a path that knows its rows."""
        made = super().__new__(cls, path)
        made.groups, made.first_row, made.compact = groups, first_row, compact
        return made

    def __getnewargs__(self) -> Any:
        return str(self), self.groups, self.first_row, self.compact

    @classmethod
    def compacted(cls, path: str) -> Self:
        """Return the path of the rows, to be stored column by column."""
        own = path if isinstance(path, ParquetRows) else ParquetRows(path)
        return cls(path, own.groups, own.first_row, True)

    @property
    def name(self) -> str:
        """The name of the rows in messages."""
        if self.groups is None:
            return str(self)
        first, last = self.groups[0], self.groups[1] - 1
        which = f"row group {first}" if first == last else f"row groups {first} to {last}"
        return f"{self!s}, {which}"


def is_parquet(path: str) -> bool:
    """Return whether the name of a file says that it is parquet."""
    return path.lower().endswith((".parquet", ".pq"))


def file_metadata(path: str) -> Any:
    """Return pyarrow's metadata of a parquet file before it is read.

    None for other files and row groups, without pyarrow, and for a damaged file, of which the
    reader says what is wrong.
    """
    if not is_parquet(path) or isinstance(path, ParquetRows):
        return None
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import read_metadata
    except ImportError:
        return None
    try:
        return read_metadata(path)
    except (ArrowException, OSError):
        return None


def split_file(path: str) -> list[str]:
    """Return the parts that a file is read in: a large parquet file is divided by row groups.

    They depend on the file alone, so that bins do as well.
    """
    found = file_metadata(path)
    if found is None or found.num_rows * found.num_columns <= _CELLS:
        return [path]
    sizes = [found.row_group(number).num_rows for number in range(found.num_row_groups)]
    return [*_pieces(path, sizes, _CELLS // found.num_columns)]


def _pieces(path: str, sizes: list[int], most: int) -> list[ParquetRows]:
    """Return row groups with at most so many rows together, or one group each."""
    pieces, begin, before, rows = [], 0, 0, 0
    for number, size in enumerate(sizes):
        if rows and rows + size > most:
            pieces.append(ParquetRows(path, (begin, number), before))
            begin, before, rows = number, before + rows, 0
        rows += size
    if rows:
        pieces.append(ParquetRows(path, (begin, len(sizes)), before))
    return pieces


# --- Parquet tables, through pyarrow


@contextmanager
def _refused(path: PathLike) -> Iterator[None]:
    """Say in one line why pyarrow cannot do it, or that it is not there."""
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        raise FileError(path, "parquet needs pyarrow: pip install crucial[parquet].") from error
    try:
        yield
    except (pa.ArrowException, OSError, MemoryError) as error:
        first = (str(error).splitlines() or ["no reason given"])[0]
        raise FileError(path, f"this parquet file cannot be read: {one_line(first)}") from error
    except UnicodeDecodeError as error:  # (of a schema; those of cells are found in `_texts`)
        problem = f"the names of its columns must be UTF-8 text. Got {shown(error.object)}."
        raise FileError(path, problem, remedy="Write the file again with other names.") from error


def _is_feature(kind: Any) -> bool:
    """Whether a column of this type can be a feature: numbers, text, dates, or all missing."""
    import pyarrow as pa

    of_values = kind.value_type if pa.types.is_dictionary(kind) else kind
    return _is_number(kind) or pa.types.is_temporal(of_values) or _is_text(of_values)


def _is_text(kind: Any) -> bool:
    return str(kind) in ("string", "large_string", "string_view")


def _is_number(kind: Any) -> bool:
    """Whether values of a type are numbers, or true and false, or all missing."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    tests = ("boolean", "integer", "floating", "decimal", "null")
    return any(getattr(pa.types, f"is_{test}")(kind) for test in tests)


def _feature(path: PathLike, field: Any, column: Any, category: bool) -> NumberColumn:
    """Return a column as a feature; ``field`` has the name and the type that the file says."""
    import pyarrow as pa

    name, kind = field.name, field.type
    if _is_number(kind) and not category:
        return NumberColumn(_numbers(path, name, "feature", column))
    if pa.types.is_temporal(kind) and not category:
        import narwhals as nw

        found = frame_column(nw.from_native(column, series_only=True))
        assert found is not None
        return found
    return text_column(_texts(path, name, column), category or pa.types.is_dictionary(kind))


def _numbers(path: PathLike, name: str, what: str, column: Any) -> Floats:
    """Make doubles of a column; null is NaN."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not _is_number(kind):
        raise FileError(path, f"{what} {name!a} must contain numbers. Got the type {kind}.")
    column = column.cast(pa.uint8() if pa.types.is_boolean(kind) else kind)
    short = isinstance(path, ParquetRows) and path.compact and kind == pa.float32()
    values: Floats = arrow_values(column if short else column.cast(pa.float64(), safe=False))
    bad = np.isinf(values) if what == "feature" else ~np.isfinite(values)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        place = _rows_before(path) + row
        raise FileError(
            path, f"{what} {name!a} must be finite. Got {values[row]} in row {place} (from 0)."
        )
    return values


def arrow_values(column: Any) -> NDArray[Any]:
    """Return a column of numbers as an array; null, which floats alone may have, is NaN.

    Its own memory is used where it is one piece without null. (`to_numpy`, `fill_null` and, up to
    pyarrow 18, `to_pandas_dtype` would import pandas, which takes longer than to read most files.)
    """
    kind = _dtype(column.type)
    pieces = [_piece(piece, kind) for piece in column.chunks if len(piece)]
    return pieces[0] if len(pieces) == 1 else np.concatenate([np.zeros(0, kind), *pieces])


def _dtype(kind: Any) -> np.dtype[Any]:
    """Return NumPy's name for a type of numbers."""
    floats = {"halffloat": "float16", "float": "float32", "double": "float64"}
    return np.dtype(floats.get(str(kind), str(kind)))


def _piece(piece: Any, kind: np.dtype[Any], missing: float = np.nan) -> NDArray[Any]:
    """Return one piece of a column of numbers, ``missing`` for null."""
    begin, size = piece.offset, len(piece)
    known, memory = piece.buffers()
    values: NDArray[Any] = np.frombuffer(memory, kind, size, begin * kind.itemsize)
    if not piece.null_count:
        return values
    bits = np.unpackbits(np.frombuffer(known, np.uint8), bitorder="little")
    return np.where(bits[begin : begin + size], values, kind.type(missing))


def _rows_before(path: PathLike) -> int:
    """Return how many rows of the file come before those that are read."""
    return path.first_row if isinstance(path, ParquetRows) else 0


def _texts(path: PathLike, name: str, column: Any) -> list[str | None]:
    """Return a column as text; refuse bytes that are not UTF-8, naming the first row."""
    import pyarrow as pa

    try:
        texts: list[str | None] = []
        for piece in column.chunks:
            if pa.types.is_dictionary(column.type):  # (equal texts stay one object)
                words = [*piece.dictionary.cast(pa.string()).to_pylist(), None]
                places = _piece(piece.indices, _dtype(piece.indices.type), len(words) - 1)
                texts += map(words.__getitem__, places.tolist())
            else:
                texts += piece.cast(pa.string()).to_pylist()
    except (UnicodeDecodeError, pa.ArrowInvalid) as error:
        row = 0
        try:
            for row in range(len(column)):
                column[row].as_py()
        except UnicodeDecodeError as found:
            problem = (
                f"the column {name!a} must be UTF-8 text. Got {shown(found.object)} in row "
                f"{_rows_before(path) + row} (from 0)."
            )
            raise FileError(path, problem) from error
        raise
    return texts


def _ids(path: PathLike, name: str, column: Any) -> NDArray[Any]:
    """Make query ids of a column: integers stay so, all else becomes text."""
    import pyarrow as pa

    if column.null_count:
        row = _rows_before(path) + column.is_null().to_pylist().index(True)
        raise FileError(
            path, f"the query id {name!a} is null in row {row} (from 0); every row must have one."
        )
    if pa.types.is_integer(column.type):
        return arrow_values(column)
    if pa.types.is_floating(column.type):
        values: Floats = arrow_values(column)
        if not ((np.abs(values) < 2**53) & (values == np.floor(values))).all():
            raise FileError(path, f"the query id {name!a} must be whole numbers or text.")
        return values.astype(np.int64)
    return as_objects([text or "" for text in _texts(path, name, column)])


def read_parquet(path: PathLike, wanted: TableOptions) -> Dataset:
    """Read a parquet file, or those of its row groups that the path has."""
    with _refused(path):
        from pyarrow.parquet import ParquetFile

        with ParquetFile(place_of(path)) as file:
            schema = file.schema_arrow
            all_names = list(schema.names)
            roles = assign_roles(path, None, all_names, wanted)
            others = (roles.label, roles.qid, roles.item, roles.weight)
            unusable = {
                all_names[place]: str(schema.field(place).type)
                for place in roles.features
                if not _is_feature(schema.field(place).type)
            }
            if unusable:
                raise unusable_error(path, unusable)
            chosen = [*roles.features, *(place for place in others if place is not None)]
            names = [all_names[place] for place in chosen]
            whole = range(file.metadata.num_row_groups)
            own = path.groups if isinstance(path, ParquetRows) else None
            groups = whole if own is None else range(*own)
            _check_size(path, file.metadata, groups, set(names))
            texts = [all_names[place] for place in chosen if _is_text(schema.field(place).type)]
        # A text that occurs in many rows is in the file once, and must stay so.
        with ParquetFile(place_of(path), read_dictionary=texts) as file:
            table = file.read_row_groups(groups, columns=names)
        return _dataset(path, table, schema, roles)


def _check_size(path: PathLike, found: Any, groups: range, names: set[str]) -> None:
    """Refuse row groups whose columns, unpacked or as floats, are out of proportion to the file."""
    rows = unpacked = 0
    for group in map(found.row_group, groups):
        rows += group.num_rows
        for chunk in map(group.column, range(group.num_columns)):
            name = chunk.path_in_schema
            if name in names or name.split(".")[0] in names:  # (a list has parts)
                unpacked += chunk.total_uncompressed_size
    check_unpacked(place_of(path), max(unpacked, 8 * rows * len(names)))


def _dataset(path: PathLike, table: Any, schema: Any, roles: Roles) -> Dataset:
    """Make a data set of the columns of a table."""
    if table.num_rows == 0:
        raise FileError(path, "there is no row in this table.")
    all_names = list(schema.names)

    def numbers(place: int, what: str) -> Floats:
        return _numbers(path, all_names[place], what, table.column(all_names[place]))

    columns = [
        _feature(path, schema.field(p), table.column(all_names[p]), p in roles.categories)
        for p in roles.features
    ]
    data = Dataset(np.empty((0, 0)), notes=list(roles.notes))
    data.feature_names = [all_names[place] for place in roles.features]
    if any(one.levels is not None or one.unit is not None for one in columns):
        set_features(path, data, columns)
    elif isinstance(path, ParquetRows) and path.compact:
        data.X = np.stack([one.values for one in columns]).T  # (stored column by column)
    else:
        data.X = np.column_stack([one.values for one in columns])
    if roles.label is not None:
        # (a feature, too, may be missing)
        data.y = numbers(roles.label, "feature" if roles.may_lack_label else "label")
    if roles.weight is not None:
        data.weight = numbers(roles.weight, "weight")
    if roles.qid is not None:
        data.qid = _ids(path, all_names[roles.qid], table.column(all_names[roles.qid]))
    if roles.item is not None:
        items = _texts(path, all_names[roles.item], table.column(all_names[roles.item]))
        data.item = as_objects([text or "" for text in items])
    return data


def parquet_objects(path: PathLike) -> list[dict[str, Any]]:
    """Return the rows as objects, without lists of other things than text: conversations."""
    with _refused(path):
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile

        with ParquetFile(path) as file:
            names = [
                field.name
                for field in file.schema_arrow
                if not pa.types.is_nested(field.type)
                or pa.types.is_struct(field.type)
                or _is_text(getattr(field.type, "value_type", None))
            ]
            _check_size(path, file.metadata, range(file.metadata.num_row_groups), set(names))
            objects: list[dict[str, Any]] = file.read(names).to_pylist()
    return objects


def write_parquet(path: PathLike, columns: Mapping[str, Sequence[Any] | NDArray[Any]]) -> None:
    """Write columns, whole or not at all; NaN becomes null."""
    with _refused(path):
        import pyarrow as pa
        from pyarrow.parquet import write_table

    table = pa.table({name: pa.array(column, from_pandas=True) for name, column in columns.items()})
    packed = pa.BufferOutputStream()
    write_table(table, packed)
    with atomic_write(path) as file:
        file.write(packed.getvalue())
