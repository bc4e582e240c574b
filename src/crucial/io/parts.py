"""A table in parts: read, checked, cut by sketches and coded part by part in bounded memory."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crucial.data.arrays import as_reals, check_room, check_sum
from crucial.data.bins import Bins, Cutter, cut_points, over_features
from crucial.data.dataset import Dataset
from crucial.data.groups import Groups
from crucial.data.instances import CodedTable, Instances
from crucial.errors import DataError, DataTypeError, FileError
from crucial.io.parquet import ParquetRows, file_metadata, is_parquet, split_file
from crucial.io.tables import read_data
from crucial.kernels.runtime import count_threads
from crucial.kernels.stumps import compressed, distinct
from crucial.parameters import check, int_between, refuse
from crucial.types import Bools, Codes, Floats, Ids, Reals

# --- The parts of a table: files, data sets, or functions that return one


def list_parts(parts: Any, once: bool) -> Iterable[Any]:
    """Return the parts that a folder, a pattern or a sequence names.

    Parameters
    ----------
    parts : str, path or sequence
    once : bool
        Whether they are read only once, so that an iterator will do.
    """
    if isinstance(parts, str | os.PathLike):
        return _files(os.fspath(parts))
    if isinstance(parts, Dataset) or not isinstance(parts, Iterable):
        raise DataTypeError(
            "parts must be a folder, a pattern of file names, or a sequence of files, data sets "
            f"or functions. Got {type(parts).__name__}."
        )
    if isinstance(parts, Iterator):
        if not once:
            raise DataError(
                "parts are read twice, and an iterator can be read once. Pass a list of files or "
                "of functions that return a Dataset, or the bins to use."
            )
        return parts
    listed = list(parts)
    if not listed:
        raise DataError("there are no parts: the sequence is empty.")
    return listed


def split_parts(parts: Iterable[Any]) -> Iterator[Any]:
    """Yield the parts, of large parquet files several; see `split_file`."""
    for one in parts:
        if isinstance(one, str | os.PathLike):
            yield from split_file(os.fspath(one))
        else:
            yield one


def _files(path: str) -> list[str]:
    """Return the files of a folder or pattern, in the order of their names."""
    folder = os.path.isdir(path)
    pattern = os.path.join(glob.escape(path), "*") if folder else path
    if not folder and os.path.exists(path):
        return [path]
    found = sorted(
        name
        for name in glob.glob(pattern, recursive=True)
        if os.path.isfile(name) and os.path.basename(name)[0] not in "._"
    )
    if not found:
        raise DataError(
            f"{path}: there is no file in this folder."
            if folder
            else f"{path}: no file has such a name."
        )
    return found


def read_part(
    part: Any, number: int, options: dict[str, Any], compact: bool = False
) -> tuple[str, Dataset | None]:
    """Return the name of a part in messages, and its rows; None for a file without rows.

    Parameters
    ----------
    part : str, path, Dataset or function
    number : int
        Of the part.
    options : dict
        Those of `read_data`.
    compact : bool
        Whether the features will be looked at one by one; see `ParquetRows`.
    """
    if isinstance(part, str | os.PathLike):
        path = os.fspath(part)
        name = path.name if isinstance(path, ParquetRows) else path
        if _is_empty(path):
            return name, None
        if compact and is_parquet(path):
            path = ParquetRows.compacted(path)
        return name, read_data(path, **options)
    name = f"part {number} (from 0)"
    if options:
        raise DataError(f"{name} is no file: {', '.join(sorted(options))} cannot apply to it.")
    data = part() if callable(part) else part
    if not isinstance(data, Dataset):
        raise DataTypeError(
            f"{name} must be a file, a Dataset, or a function that returns one. Got "
            f"{type(data).__name__}."
        )
    return name, data if data.n_rows else None


def _is_empty(name: str) -> bool:
    """Whether a file has no rows, as writers of many parts leave some."""
    if os.path.isfile(name) and os.path.getsize(name) == 0:
        return True
    metadata = file_metadata(name)
    return metadata is not None and metadata.num_rows == 0


# --- The parts of a table, each checked against the first


_COLUMNS = ("y", "qid", "item", "weight")


@dataclass
class TablePart:
    """A part whose columns are those of the first one.

    Attributes
    ----------
    name : str
        As messages call it.
    data : Dataset
        Labels, queries and so on.
    instances : Instances
    """

    name: str
    data: Dataset
    instances: Instances

    def failed(self, error: DataError) -> DataError:
        """Return an error with the name of the part."""
        return error if isinstance(error, FileError) else error.about(self.name)

    def head(self) -> TablePart:
        """Return the first row alone, which says what columns there are."""
        row, heads = self.instances.take_rows([0]), {}
        for name, values in columns_of(self.data).items():
            heads[name] = None if values is None else values[:1]
        notes, base, complete = self.data.notes, self.data.index_base, self.data.complete
        head = Dataset(row, **heads, notes=notes, index_base=base, complete=complete)
        return TablePart(self.name, head, row)

    def weights(self) -> Floats | None:
        """Return the weights of the rows, None where they have none; bad ones are refused."""
        if self.data.weight is None:
            return None
        weight = as_reals(self.data.weight, f"{self.name}: weights")
        wrong = ~((weight >= 0) & (weight < np.inf))
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise DataError(
                f"{self.name}: weights must be finite and not negative. Row {row} is {weight[row]}."
            )
        check_sum(weight, f"{self.name}: weight")
        return weight


def checked_parts(parts: Iterable[Any], options: dict[str, Any]) -> Iterator[TablePart]:
    """Yield the parts with rows, each checked against the first."""
    first: TablePart | None = None
    for number, one in enumerate(parts):
        name, data = read_part(one, number, options, compact=True)
        if data is None:
            continue
        part = checked_part(name, data, first)
        yield part
        if first is None:
            first = part.head()
        del data, part  # (before the next part is read)
    if first is None:
        raise DataError("there is no row in any part.")


def checked_part(name: str, data: Dataset, first: TablePart | None) -> TablePart:
    """Return a part with the columns of the first one, in its order; errors name the part."""
    try:
        instances = Instances.from_input(data.X)
        _check_columns(data, instances.n_rows)
    except DataError as error:
        raise error.about(name) from None
    if data.feature_names is not None and instances.names is None:
        instances = replace(instances, names=tuple(data.feature_names))
    part = TablePart(name, data, instances)
    return part if first is None else _like(first, part)


def _check_columns(data: Dataset, n_rows: int) -> None:
    """Refuse labels and ids that are missing."""
    if data.y is not None:
        missing = np.flatnonzero(~np.isfinite(np.asarray(data.y, np.float64)))
        if len(missing):
            raise DataError(
                f"the label of row {missing[0]} is {data.y[missing[0]]}. Leave rows without a "
                "label out."
            )
    if data.qid is not None:
        Groups.from_qid(data.qid, n_rows)  # (raises, naming the row)


def columns_of(data: Dataset) -> dict[str, Any]:
    """Return the columns beside the features by name, None for those that are not there."""
    return {name: getattr(data, name) for name in _COLUMNS}


def _like(first: TablePart, part: TablePart) -> TablePart:
    """Return a part with its features in the order of the first part; refuse any that differs."""
    own, wanted = part.instances, first.instances
    for name, there in columns_of(first.data).items():
        has = getattr(part.data, name) is not None
        if has != (there is not None):
            with_it, without = (part, first) if has else (first, part)
            raise DataError(f"{without.name} has no {name}, and {with_it.name} has one.")
    if first.data.qid is not None and part.data.qid is not None:
        kinds = [kind_of(one.data.qid) for one in (first, part) if one.data.qid is not None]
        if kinds[0] != kinds[1]:
            raise DataError(
                f"qid: {first.name} has {kinds[0]}, and {part.name} has {kinds[1]}; write ids of "
                "one type."
            )
    if first.data.index_base != part.data.index_base:
        raise DataError(
            f"features count from {first.data.index_base} in {first.name} and from "
            f"{part.data.index_base} in {part.name}, as it seems; say which by index_base."
        )
    numbered = first.data.index_base is not None or own.names is None
    if (own.names is None) != (wanted.names is None) or (
        numbered and own.n_features != wanted.n_features
    ):
        remedy = " Pass n_features." if first.data.index_base is not None else ""
        raise DataError(
            f"{part.name} has {own.n_features} features{_named(own)}, and {first.name} has "
            f"{wanted.n_features}{_named(wanted)}.{remedy}"
        )
    if own.names is not None and wanted.names is not None and own.names != wanted.names:
        if sorted(own.names) != sorted(wanted.names):
            lacks = [name for name in wanted.names if name not in own.names]
            extra = [name for name in own.names if name not in wanted.names]
            problem = f"lacks {_list(lacks)}" if lacks else f"also has {_list(extra)}"
            raise DataError(f"{part.name} {problem}; its columns must be those of {first.name}.")
        order = own.columns_of(wanted.names)
        times = {order.index(j): unit for j, unit in (own.times or {}).items()}
        own = Instances(own.table[:, order], wanted.names, times=times or None)
    if (own.times or {}) != (wanted.times or {}):
        raise DataError(f"columns of dates differ in type between {first.name} and {part.name}.")
    return replace(part, instances=own)


def _named(instances: Instances) -> str:
    return " without names" if instances.names is None else " with names"


def _list(names: list[str]) -> str:
    """Return some names for a message."""
    shown = ", ".join(map(repr, names[:3]))
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more columns"


def kind_of(ids: Ids) -> str:
    """Return the kind of ids, in words."""
    return "numbers" if ids.dtype.kind in "iuf" else "text"


# --- Quantile sketches: the values of a feature, part by part, in bounded memory


#: Values that a sketch keeps of a summary once there are several blocks.
SIZE = 8192


@dataclass(frozen=True)
class _Summary:
    """Ascending distinct values, the mass at each, and how far their ranks may be off.

    The mass up to any number is between what the summary counts and ``error`` more.
    """

    values: Floats
    mass: Floats
    error: float = 0.0

    def __add__(self, other: _Summary) -> _Summary:
        """Return the summary of both: ranks add up, and so do their errors."""
        values = np.concatenate((self.values, other.values))
        mass = np.concatenate((self.mass, other.mass))
        order = np.argsort(values, kind="stable")
        return _Summary(*distinct(values[order], mass[order]), self.error + other.error)

    def compressed(self, size: int) -> _Summary:
        """Return at most ``size`` values: neighbours move up to the last of their group."""
        values, mass, moved = compressed(self.values, self.mass, size)
        return _Summary(values, mass, self.error + moved)


class QuantileSketch:
    """The quantiles of one feature, from blocks of rows that are seen once each.

    A summary of at most ``size`` values stands for every run of blocks; two summaries of the
    same level become one of the next, like the digits of a binary counter (the multi-level
    scheme of Munro & Paterson 1980, with weights). The result depends on the blocks and their
    order, and on nothing else.

    Parameters
    ----------
    size : int
        At least 2. As long as there is one block, or no more than so many distinct values, the
        sketch is exact.

    Attributes
    ----------
    n_missing, n_rows : int
        Rows that abstain, and all rows that were added.

    Notes
    -----
    With ``W`` the mass of all rows and ``m`` blocks, ranks are off by at most
    ``W (1 + log2 m) / size``: a row takes part in one compression per level, and each moves less
    than ``1 / size`` of the mass that it compresses past any number. `rank_error` is the bound
    for the values at hand, mostly smaller.

    Examples
    --------
    >>> sketch = QuantileSketch()
    >>> sketch.add(np.array([3.0, 1.0, np.nan]))
    >>> sketch.add(np.array([1.0, 2.0]))
    >>> sketch.cut(255).tolist(), sketch.n_missing, sketch.rank_error
    ([1.5, 2.5], 1, 0.0)
    """

    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        self._levels: list[_Summary | None] = []
        self._only: _Summary | None = None  # the first block, whole until a second one comes
        self.n_rows = self.n_missing = 0

    def add(self, values: Reals, weight: Floats | None = None) -> None:
        """Add a block of values to the sketch.

        Parameters
        ----------
        values : float array without infinite values
            NaN where the feature abstains.
        weight : array of the same length, optional
            A row of weight 2 counts as two rows, of weight 0 as none.
        """
        known = ~np.isnan(values)
        n_rows = len(values)
        if weight is not None:
            known &= weight > 0
            n_rows = int(np.count_nonzero(weight > 0))
        self.n_rows += n_rows
        self.n_missing += n_rows - int(np.count_nonzero(known))
        present = values[known]
        if not len(present):
            return
        if weight is None:
            ranked, mass = np.sort(present), np.ones(len(present))
        else:
            order = np.argsort(present, kind="stable")
            ranked, mass = present[order], weight[known][order]
        self._add_block(_Summary(*distinct(ranked.astype(np.float64), mass)))

    def merge(self, other: QuantileSketch) -> None:
        """Add the rows of another sketch of the same size, after the own ones."""
        self.n_rows += other.n_rows
        self.n_missing += other.n_missing
        if other._only is not None:
            self._add_block(other._only)
        if any(other._levels):
            self.compress()
        for level, summary in enumerate(other._levels):
            if summary is not None:
                self._carry(summary, level)

    def _add_block(self, block: _Summary) -> None:
        if self._only is None and not self._levels:
            self._only = block
            return
        self.compress()
        self._carry(block.compressed(self._size), 0)

    def compress(self) -> None:
        """Compress the first block now, as the next one would have it compressed.

        A sketch that is about to be merged with others is smaller that way, and the merged one
        is the same.
        """
        if self._only is not None:
            block, self._only = self._only, None
            self._carry(block.compressed(self._size), 0)

    def _carry(self, summary: _Summary, level: int) -> None:
        """Put a summary on its level; two of one level are one of the next."""
        while level < len(self._levels):
            same = self._levels[level]
            if same is None:
                break
            self._levels[level] = None
            summary = (same + summary).compressed(self._size)
            level += 1
        self._levels += [None] * (level + 1 - len(self._levels))
        self._levels[level] = summary

    def _whole(self) -> _Summary:
        """Return one summary of all blocks, the highest level first."""
        whole = self._only or _Summary(np.zeros(0), np.zeros(0))
        for summary in reversed(self._levels):
            if summary is not None:
                whole = whole + summary
        return whole

    @property
    def rank_error(self) -> float:
        """Bound on the mass up to any number that `masses` does not count."""
        return self._whole().error

    def masses(self) -> tuple[Floats, Floats]:
        """Return ascending values, and the mass of the rows up to each of them."""
        whole = self._whole()
        return whole.values, np.cumsum(whole.mass)

    def cut(self, max_bins: int | None) -> Floats:
        """Return thresholds for at most ``max_bins`` bins, as `Bins` cuts all rows at once."""
        values, mass = self.masses()
        return cut_points(values, mass, max_bins)


# --- The values of a part, feature by feature: checked, and added to sketches


def look_at(
    part: TablePart,
    sketches: Sequence[QuantileSketch] = (),
    *,
    others: bool = False,
    threads: int = 1,
) -> Bools:
    """Return which features abstain on some row; refuse infinite values.

    Parameters
    ----------
    part : TablePart
    sketches : sequence of QuantileSketch
        To add the rows to, one per feature; none by default.
    others : bool
        Whether other parts are known to follow, so that sketches may be compressed at once.
    threads : int

    Raises
    ------
    DataError
        Naming the part, and the row and column of an infinite value.
    """
    instances, weight = part.instances, part.weights()
    rows = np.arange(instances.n_rows)

    def look(feature: int, cutter: Cutter) -> bool:
        values = cutter.fetch(feature)
        instances.checked(values, feature, rows)
        if sketches:
            sketches[feature].add(values, weight)
            if others:
                sketches[feature].compress()
        return bool(np.isnan(values).any())

    try:
        found = over_features(instances, np.arange(instances.n_features), rows, threads, look)
    except DataError as error:
        raise part.failed(error) from None
    return np.array(found, bool)


# --- A table in parts: cut by sketches, coded part by part, joined as one table of codes


def code_parts(
    parts: Any,
    bins: Bins | Dataset | None,
    max_bins: int,
    n_jobs: int | None,
    options: dict[str, Any],
) -> Dataset:
    """Return a data set of codes; parameters as in `Dataset.from_parts`."""
    check("Dataset.from_parts", "max_bins", max_bins, int_between(2, 255))
    threads = count_threads(n_jobs)
    listed = list_parts(parts, once=bins is not None)
    if not isinstance(listed, Iterator):
        listed = list(split_parts(listed))
    if bins is None:
        cuts = _cut(checked_parts(listed, options), max_bins, threads)
    else:
        cuts = bins_without_rows(bins)
    return _join(checked_parts(listed, options), cuts, bins is not None, threads)


# -- bins -------------------------------------------------------------------------------


def _cut(parts: Iterator[TablePart], max_bins: int, threads: int) -> Bins:
    """Return the bins of all rows of positive weight, without codes."""
    sketches: list[QuantileSketch] = []
    n_rows = 0
    for part in parts:
        sketches = sketches or [QuantileSketch() for _ in range(part.instances.n_features)]
        look_at(part, sketches, threads=threads)
        n_rows += part.instances.n_rows
        del part  # (before the next part is read)
    bins = cut_sketches(sketches, max_bins)
    kept = len(bins.features)
    check_room(
        n_rows * kept,
        f"{n_rows:,} rows of {kept:,} features that vary, at one byte per cell,",
        "Choose fewer features or parts.",
    )
    return bins


def cut_sketches(sketches: list[QuantileSketch], max_bins: int) -> Bins:
    """Return the bins of the rows that sketches have seen, one per feature, without codes."""
    found = [(sketch.cut(max_bins), sketch.n_missing) for sketch in sketches]
    bins, _ = Bins.of_cuts(np.arange(len(found)), found, sketches[0].n_rows, len(found))
    return replace(bins, n_rows=0)


def bins_without_rows(bins: Bins | Dataset) -> Bins:
    """Return given bins without the rows that they were made from."""
    if isinstance(bins, Dataset):
        table = bins.X.table if isinstance(bins.X, Instances) else None
        if not isinstance(table, CodedTable):
            raise DataError(
                "the data set given for bins was not made by Dataset.from_parts and has none.",
                parameter="bins",
            )
        bins = table.bins
    if not isinstance(bins, Bins):
        raise refuse("from_parts", "bins", "Bins or a Dataset made by from_parts", bins)
    most = int(bins.n_bins.max(initial=1))
    if most > 255:
        raise DataError(
            f"bins has a feature with {most} bins; codes of one byte have room for 255.",
            parameter="bins",
        )
    empty = np.zeros((len(bins.features), 0), np.uint8)
    return replace(bins, codes=empty, n_rows=0, sparse=None)


# -- codes ------------------------------------------------------------------------------


@dataclass
class _Joined:
    """The codes, columns and notes of the parts."""

    codes: list[Codes] = field(default_factory=list)
    columns: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    def add(self, part: TablePart, codes: Codes) -> None:
        self.codes.append(codes)
        for name, values in columns_of(part.data).items():
            if values is not None:
                column = np.asarray(values)
                if column.dtype == object:  # (one object per text, not one per row)
                    same = [self.texts.setdefault(one, one) for one in column]
                    column = np.empty(len(same), object)
                    column[:] = same
                self.columns.setdefault(name, []).append(column)
        self.notes.update(dict.fromkeys(part.data.notes))

    def bins(self, cuts: Bins) -> Bins:
        """Return the codes of all parts, feature after feature; the parts are forgotten."""
        sizes = [codes.shape[1] for codes in self.codes]
        n = sum(sizes)
        whole = np.zeros((len(cuts.features), -(-n // 8) * 8), np.uint8)
        missing = np.zeros(len(whole), bool)
        end = n
        while self.codes:
            codes = self.codes.pop()
            whole[:, end - codes.shape[1] : end] = codes
            missing |= (codes == cuts.n_bins[:, None]).any(axis=1)
            end -= codes.shape[1]
        return replace(cuts, codes=whole, has_missing=missing, n_rows=n)


def _join(parts: Iterator[TablePart], cuts: Bins, unseen: bool, threads: int) -> Dataset:
    """Code the parts; ``unseen`` where their values have not been checked yet."""
    joined = _Joined()
    head: TablePart | None = None
    for part in parts:
        instances = part.instances
        if instances.n_features != cuts.n_features:
            raise DataError(
                f"{part.name} has {instances.n_features} features, and the bins are those of "
                f"{cuts.n_features}.",
                parameter="bins",
            )
        if unseen:
            look_at(part, threads=threads)
        codes = cuts.recode(instances, np.arange(instances.n_rows), threads)
        joined.add(part, codes[:, : instances.n_rows])
        head = head or part.head()
        del part, instances  # (before the next part is read)
    assert head is not None
    table = CodedTable(joined.bins(cuts))
    rows = Instances(table, head.instances.names, times=head.instances.times)
    names = None if rows.names is None else list(rows.names)
    columns: dict[str, Any] = {n: np.concatenate(own) for n, own in joined.columns.items()}
    return Dataset(
        rows,
        **columns,
        feature_names=names,
        notes=list(joined.notes),
        index_base=head.data.index_base,
        complete=head.data.complete,
    )
