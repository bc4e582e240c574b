"""Read files of rows, the same way at training and afterwards, here or on a cluster."""

from __future__ import annotations

import codecs
import difflib
import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import click

from crucial.cli.options import RowOptions
from crucial.cli.terminal import check_sources, note
from crucial.errors import Argument, DataError, FileError, Message, ModelFileError
from crucial.io.options import (
    SvmlightOptions,
    TableOptions,
    from_store,
    option_names,
    text_options,
    to_store,
)
from crucial.wording import counted, printable

if TYPE_CHECKING:
    from crucial.data.dataset import Dataset, Qrels, Run
    from crucial.distributed.input import ColumnRoles, Source
    from crucial.fusion.pool import Pool
    from crucial.fusion.ranker import FusionRanker
    from crucial.measures.evaluation import Evaluation
    from crucial.model.base import FrozenModel
    from crucial.model.file import Model
    from crucial.types import Floats


# --- Notes on queries and rows that are measured though they were learned from


#: Share of rows that two files may have in common by chance, such as rows of few categories.
_BY_CHANCE = 0.05


def note_overlap(path: str, valid_path: str, train: Dataset, valid: Dataset) -> None:
    """Report queries and rows of the validation file that are also in the training file."""
    from crucial.data.dataset import find_overlap

    found = find_overlap(valid, train)
    rows = f"{found.n_rows:,} of the {counted(found.rows_of, 'row')} of {valid_path}"
    queries = f"{found.n_queries:,} of the {counted(found.queries_of, 'query')} of {valid_path}"
    if found.n_rows > _BY_CHANCE * found.rows_of:
        note(
            f"{rows} are also in {path}: a round is then chosen by rows that were learned from, "
            "and measures look better than they are. Split by whole queries"
        )
    elif found.n_queries:
        note(
            f"{queries} have an id that {path} has too, with other rows: all rows of a query must "
            "be in one file. This is harmless if each file numbers its queries for itself"
        )


#: Tag of a run that a fusion wrote for queries it learned from, unless --tag names another.
LEARNED_TAG = "crucial-learned"


def read_runs(
    fusion: FusionRanker, paths: Sequence[str], qrels: Qrels | None = None
) -> tuple[Pool, int]:
    """Read the runs to fuse; report and count queries that the fusion learned from.

    With judgements, only the queries that are judged count: nothing else is measured.
    """
    from crucial.fusion.pool import Pool

    if not paths:
        raise click.UsageError("Missing argument 'DATA': the runs to fuse.")
    pool = Pool.of(list(paths))
    judged = None if qrels is None else set(map(str, qrels.qid))
    ids = [one for one in pool.queries if judged is None or str(one) in judged]
    known = fusion.n_learned_from(ids)
    if known:
        note(
            f"the fusion learned from {known:,} of these {counted(len(ids), 'query')}: measures "
            "over them look better than they are for new queries ('crucial fuse' prints a table "
            "over held-out ones)"
        )
    return pool, known


def note_learned_run(path: str, run: Run) -> None:
    """Report that a run is of a fusion that learned from its queries, as its tag says."""
    tags = {run.tag} if isinstance(run.tag, str) else set(run.tag[:1].tolist())
    if LEARNED_TAG in tags:
        note(
            f"{path} was fused by a model that learned from some of its queries, as its tag says: "
            "measures over them look better than they are for new queries"
        )


# --- Read files of rows, the same way at training and afterwards


_FORMAT_NAMES = {"svmlight": "svmlight", "table": "a table with named columns"}

_FEWEST_ROWS = 20  # of a file whose absent features say that it is of another data set
_LOOK = 1 << 16  # bytes of the start of a file that show how its text is written


@dataclass(frozen=True)
class RowFormat(SvmlightOptions, TableOptions):
    """The format of a file of rows, and the reading options of both formats.

    Attributes
    ----------
    form : {"svmlight", "table"}
        The kind of file.
    complete : bool
        Whether the rows to learn from named every feature.
    """

    form: Literal["svmlight", "table"] = "svmlight"
    complete: bool = False

    @classmethod
    def of_options(
        cls, path: str, options: RowOptions, stored: Mapping[str, Any] | None = None
    ) -> RowFormat:
        """Return the reading options: those stated, else those of the model file, else defaults."""
        from crucial.io.tables import find_format

        explicit = options.explicit()
        if explicit.get("sep") in ("\\t", "tab"):  # (as a shell passes it)
            explicit["sep"] = "\t"
        stored = stored or {}
        form = explicit.pop("input_format", "auto")
        if form == "auto":
            # (a separator that no other table has says nothing about the format by itself)
            told: Literal["table"] | None = (
                "table" if "sep" in explicit or "sep" in stored else None
            )
            form = find_format(path, told)
        found = cls(form)
        if stored.get("form") == form:
            kept = from_store(form, stored)
            if form == "svmlight":
                kept["complete"] = stored.get("complete") is True
            found = replace(found, **kept)._fitting(path)
        for name in explicit:
            if name not in (*option_names(form), "missing_features"):
                other = next(kind for kind in _FORMAT_NAMES if kind != form)
                flag = "category" if name == "categories" else name.replace("_", "-")
                instead = "; --absent missing makes absent features missing" * (name == "missing")
                raise DataError(
                    f"--{flag} is for {_FORMAT_NAMES[other]}, and {path} is "
                    f"read as {_FORMAT_NAMES[form]} (--input-format changes that){instead}."
                )
        return replace(found, **explicit)

    def reader_options(self) -> dict[str, Any]:
        """Return the options of the reader of this format, by name."""
        return {name: getattr(self, name) for name in option_names(self.form)}

    def to_store(self) -> dict[str, Any]:
        """Return the settings that a model file stores, so that other files are read alike."""
        stored = {"form": self.form, **to_store(self.form, self)}
        return stored if self.form == "table" else stored | {"complete": self.complete}

    def _fitting(self, path: str) -> RowFormat:
        """Return the stored format without what the start of a file shows to be otherwise.

        A first line without the separator, and text that can only be in Unicode, are as in files
        for which nothing is stored.
        """
        if self.sep is self.decimal is self.encoding is None:
            return self
        start = start_of(path, _LOOK)
        found = self
        first = next((line for line in start.split(b"\n") if line.strip(b"\r\0 ")), b"")
        if self.sep is not None and self.sep.encode() not in first:
            found = replace(found, sep=None)
        if self.encoding is not None and _is_unicode(start, codecs.lookup(self.encoding).name):
            found = replace(found, encoding=None)
        return found

    @contextmanager
    def stated(self, options: RowOptions) -> Iterator[None]:
        """Add to errors about a file how its text was read, where training decided that."""
        given = options.explicit()
        used = [
            part
            for name in text_options()
            if getattr(self, name) is not None and name not in given
            for part in (" ", Argument(name, getattr(self, name)))
        ]
        try:
            yield
        except FileError as error:
            if not used:
                raise
            remedy = Message(
                *((error.remedy, " ") if error.remedy else ()),
                "It was read as in training, with",
                *used,
                "; give other values if this file differs.",
            )
            raise FileError(
                error.path,
                error.problem,
                error.line,
                error.column,
                remedy=remedy,
                parameter=error.parameter,
                value=error.value,
            ) from error


def _is_unicode(start: bytes, stored: str) -> bool:
    """Return whether text is UTF-8, or marked as Unicode, and not in the stored encoding."""
    if start.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return True
    if stored.startswith("utf-16"):
        return b"\0" not in start
    try:  # (the last character may be cut)
        text = codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return stored != "utf-8" and not text.isascii()


def start_of(path: str, size: int) -> bytes:
    """Return the first bytes of a file of text; none of Excel files, which are packed."""
    from crucial.data.files import first_bytes
    from crucial.io.text import EXCEL

    return b"" if path.lower().endswith(EXCEL) else first_bytes(path, size)


def is_model_file(path: str) -> bool:
    """Return whether a file begins as a model does; rows and runs may be JSON too."""
    start = start_of(path, 512).lstrip()
    return start.startswith(b"{") and re.search(rb'"format":\s*"crucial', start) is not None


def read_model(path: str, *others: str) -> Model:
    """Read the model of a verb; ``others`` are the rows, which may have been given first."""
    check_sources(path)
    from crucial.model.file import load_model

    try:
        return load_model(path)
    except ModelFileError:
        swapped = [one for one in others if os.path.isfile(one) and is_model_file(one)]
        if swapped and os.path.isfile(path) and not is_model_file(path):
            raise click.UsageError(
                f"{path} is no model, and {swapped[0]} is one: MODEL comes before DATA."
            ) from None
        raise


def data_files(paths: Sequence[str]) -> list[str]:
    """Return the files that folders, patterns and paths name; - is standard input."""
    from crucial.io.parts import list_parts

    if not paths:
        raise click.UsageError("Missing argument 'DATA'.")
    files: list[str] = []
    for path in paths:
        several = os.path.isdir(path) or (glob.has_magic(path) and not os.path.exists(path))
        files += map(str, list_parts(path, once=False)) if several else [path]
    twice = next((path for path in files if files.count(path) > 1), None)
    if twice is not None:
        raise click.UsageError(f"{twice} is given twice; its rows would count twice.")
    models = [path for path in files if os.path.isfile(path) and is_model_file(path)]
    if models:
        raise click.UsageError(
            f"{models[0]} is a model, where rows are expected ('crucial compare DATA MODEL MODEL' "
            "compares models)."
        )
    return files


def refuse_row_options(options: RowOptions) -> None:
    """Refuse options about rows of features where the files are runs."""
    for name in options.explicit():
        raise click.UsageError(
            f"--{name.replace('_', '-')} is for rows of features; these files are runs."
        )


def _read(path: str, how: RowFormat, jobs: int | None, **columns: Any) -> Dataset:
    from crucial.io.tables import read_data

    options = how.reader_options() | columns
    return read_data(path, how.form, n_jobs=jobs, **options)


def note_assumptions(path: str, data: Dataset) -> None:
    """Report in one line what was assumed in reading a file."""
    if data.notes:
        more = [part for one in data.notes[1:] for part in ("; ", one)]
        note(Message(f"{path}: ", data.notes[0], *more))


def read_training(
    files: Sequence[str], valid_path: str | None, options: RowOptions, *, needs_label: bool = True
) -> tuple[Dataset, Dataset | None, RowFormat]:
    """Read the rows to learn from and those to validate by, with the same columns."""
    from crucial.io.tables import joined, read_alike

    path, files = named(files), data_files(files)
    valid_files = [] if valid_path is None else data_files([valid_path])
    paths = [*files, *valid_files]
    how = RowFormat.of_options(files[0], options)
    reader = how.reader_options() | {"n_jobs": options.jobs}
    if how.form == "table":
        reader["needs_label"] = needs_label
    if how.group_sizes is not None and (len(files) > 1 or len(valid_files) > 1):
        raise click.UsageError("--group-sizes is for one file: write qid:Q into several.")
    if how.group_sizes is not None:
        # The sizes of the training file do not apply to another one; its own lie beside it.
        beside = f"{valid_path}.query"
        if valid_path is not None and not os.path.exists(beside):
            raise FileError(
                valid_path,
                f"its queries are not known: put its group sizes into {beside}, as "
                f"{how.group_sizes} has those of {path}.",
            )
        reader["group_sizes"] = [how.group_sizes, beside][: len(paths)]
    parts = read_alike(paths, how.form, **reader)
    data = [joined(files, parts[: len(files)])]
    data += [joined(valid_files, parts[len(files) :])] if valid_files else []
    for name, one in zip((path, str(valid_path)), data):
        note_assumptions(name, one)
    if how.form == "svmlight":
        how = replace(how, index_base=1 if data[0].index_base else 0, complete=data[0].complete)
    if valid_path is None:
        return data[0], None, how
    train, valid = data
    if (train.qid is None) != (valid.qid is None):
        with_, without = (path, valid_path) if valid.qid is None else (valid_path, path)
        raise FileError(without, f"its rows have no query ids, and those of {with_} have.")
    note_overlap(path, valid_path, train, valid)
    return train, valid, how


def with_names(data: Dataset, path: str | None) -> Dataset:
    """Return rows whose features have the names of a file, if one is given."""
    if path is None:
        return data
    from crucial.io.svmlight import read_names

    if data.index_base is None:
        raise click.UsageError("--feature-names is for svmlight lines; columns have names.")
    return replace(data, feature_names=read_names(path, data.n_features, data.index_base))


def renamed(model: FrozenModel, path: str | None) -> FrozenModel:
    """Return a model whose features have the names of a file, if one is given."""
    if path is None:
        return model
    from crucial.io.svmlight import read_names

    names, stored = model.feature_names, model.training.get("data")
    stored = stored if isinstance(stored, Mapping) else {}
    numbered = names is None or names[0] in ("0", "1")
    if not numbered and stored.get("form") != "svmlight":
        raise click.UsageError("--feature-names is for svmlight lines; the model has names.")
    base = int(names[0]) if names is not None and numbered else stored.get("index_base")
    training = {**model.training, "data": {**stored, "form": "svmlight"}}
    own = tuple(read_names(path, model.n_features, base))
    return replace(model, feature_names=own, training=training)


def _name_features(data: Dataset, model: Model) -> None:
    """Name the features of svmlight lines as those of the lines that the model learned from."""
    stored = model.training.get("data")
    if data.index_base is None or not isinstance(stored, Mapping):
        return
    same = stored.get("index_base", data.index_base) == data.index_base
    if stored.get("form") == "svmlight" and same and model.feature_names is not None:
        data.feature_names = list(model.feature_names)


def _check_numbered(path: str, data: Dataset, model: Model) -> None:
    """Refuse rows whose features have numbers, where those of the model have names."""
    from crucial.data.words import shown_name

    names, found = model.feature_names, data.feature_names
    if names is None or found is None or not {*names}.isdisjoint(found):
        return
    listed = ", ".join(map(shown_name, names[:5])) + (", ..." if len(names) > 5 else "")
    raise FileError(
        path,
        "its features have numbers, as svmlight lines do, and those of the model have names: "
        f"{listed}. Give a table with these columns, such as a CSV.",
    )


def _check_features(path: str, data: Dataset, model: Model, how: RowFormat) -> None:
    """Refuse rows of another data set: features that the model uses never occur in them.

    Where the rows to learn from left features out, those to score may do so too; only if most
    of the features never occur, they are of another kind.
    """
    import numpy as np

    from crucial.model.file import row_model

    assert data.occurs is not None
    used = row_model(model).feature_importances() > 0
    unseen = used & ~data.occurs
    few_rows = data.n_rows < _FEWEST_ROWS
    if not unseen.any() or (not how.complete and (few_rows or 2 * unseen.sum() <= used.sum())):
        return
    never = np.flatnonzero(~data.occurs)
    if how.missing_features == "allow":
        note(f"{path}: {len(never)} of the model's {model.n_features} features never occur")
        return
    base = data.index_base or 0
    listed = ", ".join(str(column + base) for column in never[:5])
    raise FileError(
        path,
        f"{len(never)} of the model's {model.n_features} features never occur: {listed}"
        f"{', ...' if len(never) > 5 else ''}; the model uses {unseen.sum()} of them.",
        remedy=Message(
            "Are these rows of another data set? If not, go on with ",
            Argument("missing_features", "allow"),
            ".",
        ),
    )


def read_for_model(
    paths: str | Sequence[str],
    model: Model,
    options: RowOptions,
    *,
    labels: bool,
    weights: bool = False,
    ordered: bool = False,
    notes: bool = True,
) -> Dataset:
    """Read rows to be scored as the model's training rows were read, with notes about them.

    Weights are read if they are wanted (``weights``) and --weight names their column. Rows that
    are to be put in order (``ordered``), and not only scored, need queries as labelled ones do.

    Raises
    ------
    FileError
        The rows have no labels though they are to be measured, or no query ids though scores
        are compared within queries.
    """
    from crucial.io.tables import joined

    paths = [paths] if isinstance(paths, str) else paths
    files = data_files(paths)
    path = named(paths)
    how, reader = reader_for_model(files[0], model, options, labels=labels, weights=weights)
    with how.stated(options):
        data = joined(files, [_read(one, how, options.jobs, **reader) for one in files])
    _name_features(data, model)
    if notes:
        note_assumptions(path, data)
    check_for_model(path, data, model, how, labels=labels, ordered=ordered)
    return data


def reader_for_model(
    path: str, model: Model, options: RowOptions, *, labels: bool, weights: bool = False
) -> tuple[RowFormat, dict[str, Any]]:
    """Return how the model's training rows were read, and the columns that it needs."""
    from crucial.model.file import row_model

    stored = model.training.get("data")
    how = RowFormat.of_options(path, options, stored if isinstance(stored, Mapping) else None)
    names = model.feature_names
    if how.form == "svmlight":
        if names is not None and names[0] in ("0", "1") and how.index_base == "auto":
            how = replace(how, index_base=1 if names[0] == "1" else 0)
        return how, {"n_features": model.n_features}
    label = how.label if labels or names is None else None
    own = [] if names is None else [names[j] for j in row_model(model).encodings.categories]
    weight = options.weight if weights else None
    return replace(how, label=label, weight=weight, categories=tuple(own)), {"features": names}


def check_for_model(
    path: str, data: Dataset, model: Model, how: RowFormat, *, labels: bool, ordered: bool = False
) -> None:
    """Refuse rows that the model cannot rank or that cannot be measured; see `read_for_model`."""
    compared = labels or ordered or model.needs_query
    if compared and data.qid is None and model.training.get("with_qid") is True:
        why = "was trained with queries: scores of different queries cannot be compared"
        if model.needs_query:
            why = "ranks every row against the others of its query"
        raise FileError(
            path,
            f"its rows have no query ids, and the model {why}. Give them (qid:, --qid or "
            "--group-sizes).",
        )
    if labels and data.y is None:
        raise FileError(
            path, "its rows have no labels to measure by; name the column with --label."
        )
    if how.form == "svmlight":
        _check_numbered(path, data, model)
        _check_features(path, data, model, how)


def evaluate_rows(
    model: Model, data: Dataset, measures: Sequence[str] = (), n_jobs: int | None = None, **how: Any
) -> Evaluation:
    """Measure how well a model ranks labelled rows.

    Parameters
    ----------
    model : Model
    data : Dataset
        Without query ids all rows are one query.
    measures : sequence of str
        Default: ndcg@10, or auc without queries or with labels below 0.
    n_jobs : int, optional
        Number of threads.
    **how
        As in `crucial.evaluate`.
    """
    from crucial.data.groups import Groups
    from crucial.measures.evaluation import evaluate
    from crucial.measures.names import default_measure

    assert data.y is not None
    groups = Groups.from_qid(data.qid, data.n_rows)
    scores = model.predict(data.instances(), groups, n_jobs=n_jobs)
    measures = measures or [default_measure(data.y, data.qid is not None)]
    return evaluate(data.y, scores, groups, measures, ids=data.item, **how)


# --- Files in parts that the workers of a Dask cluster read


def named(paths: Sequence[str]) -> str:
    """Return the name of several files in messages."""
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"


def file_sources(
    files: Sequence[str], how: RowFormat, columns: ColumnRoles, **reader: Any
) -> list[Source]:
    """Return the files as parts for workers to read.

    Parameters
    ----------
    files : sequence of str
    how : RowFormat
    columns : ColumnRoles
    **reader
        Further options of the reader.
    """
    from crucial.distributed.input import list_sources

    if how.group_sizes is not None:
        raise click.UsageError("--group-sizes is for one file: write qid:Q into parts.")
    options = {"format": how.form, **how.reader_options(), **reader}
    if how.form == "svmlight":
        del options["group_sizes"]
    return list_sources(list(files), columns, options)


def score_files(
    client: Any,
    paths: Sequence[str],
    model: Model,
    options: RowOptions,
    *,
    labels: bool,
    ordered: bool = False,
) -> tuple[Dataset, Floats]:
    """Score files on a cluster; return the rows without their features, and the scores.

    Parameters
    ----------
    client : distributed.Client
    paths : sequence of str
        A folder, a pattern, or files.
    labels : bool
        Whether the rows are to be measured, so that they need labels.
    ordered : bool
        Whether the rows are to be put in order.
    """
    from crucial.distributed.input import ColumnRoles
    from crucial.distributed.scoring import joined, scored_parts
    from crucial.model.base import FrozenModel
    from crucial.progress import progress_bar

    files = data_files(paths)
    how, reader = reader_for_model(files[0], model, options, labels=labels, weights=labels)
    # (what a part lacks is reported as for a single file, once all are read)
    columns = ColumnRoles(qid=None, labelled=False)
    nameless = how.form == "svmlight" and isinstance(model, FrozenModel)
    scorer = replace(model, feature_names=None) if nameless else model  # type: ignore[type-var]
    parts = scored_parts(scorer, file_sources(files, how, columns, **reader))
    futures = client.compute(parts)
    found = []
    with how.stated(options), progress_bar("scoring parts", len(futures)) as show:
        for number, one in enumerate(futures, 1):
            found.append(one.result())
            if show is not None:
                show(number, "")
    rows = joined(found)
    data = rows.dataset(model.n_features)
    _name_features(data, model)
    note_assumptions(named(paths), data)
    check_for_model(named(paths), data, model, how, labels=labels, ordered=ordered)
    return data, rows.scores


# --- Rows of a file by the names of their items


def row_of(data: Dataset, name: str, query: str | None) -> int:
    """Return the row of an item.

    Parameters
    ----------
    data : Dataset
    name : str
        The item's name; for an item without one the number of its row, from 1.
    query : str or None
        The id of its query; needed where an item is in several.
    """
    rows = list(range(data.n_rows))
    if query is not None:
        if data.qid is None:
            raise DataError("the rows have no query ids, so that --query selects none.")
        rows = [row for row in rows if str(data.qid[row]) == query]
        if not rows:
            raise DataError(f"there is no query {query!r}.")
    found = [row for row in rows if data.item is not None and data.item[row] == name]
    if not found and name.isdigit() and int(name) - 1 in rows:
        row = int(name) - 1
        found = [row] if data.item is None or not data.item[row] else []
    where = "" if query is None else f" in query {query!r}"
    if not found:
        names = "items" if data.item is not None and any(data.item) else "rows, counted from 1,"
        raise DataError(
            f"there is no item {name!r}{where}; name two of the {names} of the file"
            + (f", such as {', '.join(_near(data, name, rows))}." if names == "items" else ".")
        )
    if len(found) > 1:
        raise DataError(
            f"item {name!r} is in {len(found)} rows{where}."
            + (" Name its query with --query." if query is None and data.qid is not None else "")
        )
    return found[0]


def _near(data: Dataset, name: str, rows: Sequence[int]) -> list[str]:
    """Return some items of rows, those with a name like this one first."""
    assert data.item is not None
    items = dict.fromkeys(printable(str(data.item[row]), 40) for row in rows if data.item[row])
    few = list(items)[:1000]
    return list(dict.fromkeys([*difflib.get_close_matches(name, few, n=3), *few]))[:5]


def title_of(data: Dataset, row: int) -> str:
    """Return the name of an item, or the number of its row."""
    name = "" if data.item is None else str(data.item[row])
    return name or f"row {row + 1}"
