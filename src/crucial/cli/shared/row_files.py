"""Read files of rows, the same way at training and afterwards."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import click

from crucial.cli.shared.options import RowOptions
from crucial.cli.shared.overlap_notes import note_overlap
from crucial.cli.shared.terminal import note
from crucial.errors import Argument, DataError, FileError, Message

if TYPE_CHECKING:
    from crucial.data.dataset import Dataset
    from crucial.model.payloads import Model

__all__ = [
    "RowFormat",
    "check_for_model",
    "is_model_file",
    "note_assumptions",
    "only_file",
    "read_for_model",
    "read_training",
    "reader_for_model",
    "refuse_row_options",
]

#: The options that each format has, and what the format is called in messages.
_OPTIONS = {
    "svmlight": ("absent", "index_base", "group_sizes", "missing_features"),
    "table": (
        "label", "qid", "item", "weight", "ignore", "categories",
        "header", "sep", "decimal", "missing", "encoding", "sheet", "missing_features",
    ),
}  # fmt: skip
#: Options that no reader has: they are about the model that the rows are for.
_OF_MODELS: dict[str, tuple[str, ...]] = {"svmlight": ("missing_features",), "table": ()}
_FORMAT_NAMES = {"svmlight": "svmlight", "table": "a table with named columns"}

_FEWEST_ROWS = 20  # of a file whose absent features say that it is of another data set

#: The values of svmlight options that a model file may store.
_STORED_VALUES = {
    "absent": ("zero", "missing"),
    "index_base": (0, 1),
    "complete": (True, False),
}


@dataclass(frozen=True)
class RowFormat:
    """How files of rows are read.

    Attributes
    ----------
    form : {"svmlight", "table"}
        The kind of file.
    absent, index_base, group_sizes
        As `read_svmlight` takes them.
    label, qid, item, weight, ignore, categories, header, sep, decimal, missing, encoding, sheet
        As `read_table` takes them.
    missing_features : {"refuse", "allow"}
        As `read_table` takes it, for svmlight too.
    complete : bool
        Whether the rows to learn from named every feature.
    """

    form: Literal["svmlight", "table"] = "svmlight"
    absent: str = "zero"
    index_base: str | int = "auto"
    group_sizes: str | None = None
    label: str | None = "label"
    qid: str | None = "qid"
    item: str | None = None
    weight: str | None = None
    ignore: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    header: bool = True
    sep: str | None = None
    decimal: str | None = None
    missing: tuple[str, ...] = ()
    encoding: str | None = None
    sheet: str | None = None
    missing_features: str = "refuse"
    complete: bool = False

    @classmethod
    def of_options(
        cls, path: str, options: RowOptions, stored: Mapping[str, Any] | None = None
    ) -> RowFormat:
        """Return what the options state; else what a model file stored, else the defaults."""
        from crucial.data.formats.reading import find_format

        explicit = options.explicit()
        if explicit.get("sep") in ("\\t", "tab"):  # (as a shell passes it)
            explicit["sep"] = "\t"
        form = explicit.pop("input_format", "auto")
        form = find_format(path) if form == "auto" else form
        found = cls(form)
        if stored is not None and stored.get("form") == form:
            found = replace(found, **_checked(stored))
        for name in explicit:
            if name not in _OPTIONS[form]:
                other = next(kind for kind in _OPTIONS if kind != form)
                flag = "category" if name == "categories" else name.replace("_", "-")
                raise DataError(
                    f"--{flag} is for {_FORMAT_NAMES[other]}, and {path} is "
                    f"read as {_FORMAT_NAMES[form]} (--input-format changes that)."
                )
        return replace(found, **explicit)

    def reader_options(self) -> dict[str, Any]:
        """Return the options of the reader of this format, by name."""
        names = (name for name in _OPTIONS[self.form] if name not in _OF_MODELS[self.form])
        return {name: getattr(self, name) for name in names}

    def to_store(self) -> dict[str, Any]:
        """Return what a model file stores, so that other files are read the same way."""
        if self.form == "svmlight":
            own = {"absent": self.absent, "index_base": self.index_base, "complete": self.complete}
            return {"form": self.form, **own}
        stored: dict[str, Any] = {"label": self.label, "qid": self.qid, "item": self.item}
        stored |= {} if self.header else {"header": False}
        stored |= {"missing": list(self.missing)} if self.missing else {}
        return {"form": self.form, **stored}


def _checked(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a model file whose values are possible; the file may be damaged."""
    kept: dict[str, Any] = {}
    for name, values in _STORED_VALUES.items():
        if any(type(stored.get(name)) is type(v) and stored[name] == v for v in values):
            kept[name] = stored[name]
    for name in ("label", "qid", "item"):
        if isinstance(stored.get(name), str):
            kept[name] = stored[name]
    if stored.get("header") is False:
        kept["header"] = False
    if isinstance(missing := stored.get("missing"), list):
        kept["missing"] = tuple(text for text in missing if isinstance(text, str))
    return kept


def is_model_file(path: str) -> bool:
    """Return whether a file begins as a model does; rows and runs may be JSON too."""
    from crucial.data.files import first_bytes

    start = first_bytes(path, 512).lstrip()
    return bool(start.startswith(b"{") and b'"format"' in start)


def only_file(paths: tuple[str, ...]) -> str:
    """Return the one file of rows that a model of features takes."""
    if not paths:
        raise click.UsageError("Missing argument 'DATA'.")
    if len(paths) > 1:
        models = [path for path in paths if is_model_file(path)]
        if models:
            rows = next((path for path in paths if path not in models), "DATA")
            raise click.UsageError(
                f"one model is measured at a time; 'crucial compare {rows} MODEL MODEL' compares "
                "several."
            )
        raise click.UsageError(
            f"this model ranks the rows of one file, and {len(paths)} were given; only a model "
            "of 'crucial fuse' takes several."
        )
    return paths[0]


def refuse_row_options(options: RowOptions) -> None:
    """Refuse options about rows of features where the files are runs."""
    for name in options.explicit():
        raise click.UsageError(
            f"--{name.replace('_', '-')} is for rows of features; these files are runs."
        )


def _read(path: str, how: RowFormat, jobs: int | None, **columns: Any) -> Dataset:
    from crucial.data.formats.reading import read_data

    options = how.reader_options() | columns
    return read_data(path, how.form, n_jobs=jobs, **options)


def note_assumptions(path: str, data: Dataset) -> None:
    """Report in one line what was assumed in reading a file."""
    if data.notes:
        more = [part for one in data.notes[1:] for part in ("; ", one)]
        note(Message(f"{path}: ", data.notes[0], *more))


def read_training(
    path: str, valid_path: str | None, options: RowOptions, *, needs_label: bool = True
) -> tuple[Dataset, Dataset | None, RowFormat]:
    """Read the rows to learn from and those to validate by, with the same columns."""
    from crucial.data.formats.alike import read_alike

    how = RowFormat.of_options(path, options)
    paths = [path] if valid_path is None else [path, valid_path]
    reader = how.reader_options() | {"n_jobs": options.jobs}
    if how.form == "table":
        reader["needs_label"] = needs_label
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
    data = read_alike(paths, how.form, **reader)
    for name, one in zip(paths, data):
        note_assumptions(name, one)
    if how.form == "svmlight":
        how = replace(how, index_base=data[0].index_base or 0, complete=data[0].complete)
    if valid_path is None:
        return data[0], None, how
    train, valid = data
    if (train.qid is None) != (valid.qid is None):
        with_, without = (path, valid_path) if valid.qid is None else (valid_path, path)
        raise FileError(without, f"its rows have no query ids, and those of {with_} have.")
    note_overlap(path, valid_path, train, valid)
    return train, valid, how


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

    from crucial.model.payloads import row_model

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
    path: str,
    model: Model,
    options: RowOptions,
    *,
    labels: bool,
    weights: bool = False,
    notes: bool = True,
) -> Dataset:
    """Read rows to be scored as the model's training rows were read, with notes about them.

    Weights are read if they are wanted (``weights``) and --weight names their column.

    Raises
    ------
    FileError
        The rows have no labels though they are to be measured, or no query ids though scores
        are compared within queries.
    """
    how, reader = reader_for_model(path, model, options, labels=labels, weights=weights)
    data = _read(path, how, options.jobs, **reader)
    if notes:
        note_assumptions(path, data)
    check_for_model(path, data, model, how, labels=labels)
    return data


def reader_for_model(
    path: str, model: Model, options: RowOptions, *, labels: bool, weights: bool = False
) -> tuple[RowFormat, dict[str, Any]]:
    """Return how the model's training rows were read, and the columns that it needs."""
    from crucial.model.payloads import row_model

    stored = model.training.get("data")
    how = RowFormat.of_options(path, options, stored if isinstance(stored, Mapping) else None)
    names = model.feature_names
    if how.form == "svmlight":
        if names is not None and names[0] in ("0", "1") and how.index_base == "auto":
            how = replace(how, index_base=int(names[0]))
        return how, {"n_features": model.n_features}
    label = how.label if labels or names is None else None
    own = [] if names is None else [names[j] for j in row_model(model).encodings.categories]
    weight = options.weight if weights else None
    return replace(how, label=label, weight=weight, categories=tuple(own)), {"features": names}


def check_for_model(
    path: str, data: Dataset, model: Model, how: RowFormat, *, labels: bool
) -> None:
    """Refuse rows that the model cannot rank or that cannot be measured; see `read_for_model`."""
    compared = labels or model.needs_query
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
