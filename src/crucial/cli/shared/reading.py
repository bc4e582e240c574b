"""Reading the files a command names, the same way at training and afterwards."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from crucial.cli.shared.terminal import note
from crucial.errors import DataError, FileError, Message

if TYPE_CHECKING:
    from crucial.data.dataset import Dataset
    from crucial.data.instances import Instances
    from crucial.model.payloads import Model

__all__ = [
    "Reading",
    "as_instances",
    "naming",
    "read_for_model",
    "read_training",
    "refuse_same_file",
]


@dataclass(frozen=True)
class Reading:
    """How files are read.

    Attributes
    ----------
    form : {"svmlight", "table"}
        The kind of file.
    absent, index_base, group_sizes
        As `read_svmlight` takes them.
    label, qid, item, weight, ignore
        As `read_table` takes them.
    """

    form: str = "svmlight"
    absent: str = "zero"
    index_base: str | int = "auto"
    group_sizes: str | None = None
    label: str | None = "label"
    qid: str | None = "qid"
    item: str | None = None
    weight: str | None = None
    ignore: tuple[str, ...] = ()

    @classmethod
    def of_options(
        cls, path: str, given: Mapping[str, Any], known: Mapping[str, Any] | None = None
    ) -> Reading:
        """What the options say; where they are silent, what the model knows, then defaults."""
        from crucial.data.formats.reading import find_format

        form = given["input_format"] or "auto"
        form = find_format(path) if form == "auto" else form
        made = cls(form)
        if known is not None and known.get("form") == form:
            made = made._reminded(known)
        names = ("absent", "index_base", "group_sizes", "label", "qid", "item", "weight", "ignore")
        said = {name: given[name] for name in names if given.get(name)}
        if said.get("index_base") in ("0", "1"):
            said["index_base"] = int(said["index_base"])
        own, other = _OWN[form], next(kind for kind in _OWN if kind != form)
        for name in said:
            if name not in own:
                raise DataError(
                    f"--{name.replace('_', '-')} is for {_SAID[other]}, and {path} is read as "
                    f"{_SAID[form]} (--input-format tells otherwise)."
                )
        return replace(made, **said)

    def _reminded(self, known: Mapping[str, Any]) -> Reading:
        """Take what a model file says, if it is of the right kind."""
        choices = {"absent": ("zero", "missing"), "index_base": (0, 1)}
        taken: dict[str, Any] = {}
        for name, values in choices.items():
            if any(type(known.get(name)) is type(v) and known[name] == v for v in values):
                taken[name] = known[name]
        for name in ("label", "qid", "item"):
            if isinstance(known.get(name), str):
                taken[name] = known[name]
        return replace(self, **taken)

    def to_remember(self) -> dict[str, Any]:
        """What a model keeps, so that other files are read the same way."""
        if self.form == "svmlight":
            return {"form": self.form, "absent": self.absent, "index_base": self.index_base}
        return {"form": self.form, "label": self.label, "qid": self.qid, "item": self.item}


_OWN = {
    "svmlight": ("absent", "index_base", "group_sizes"),
    "table": ("label", "qid", "item", "weight", "ignore"),
}
_SAID = {"svmlight": "svmlight", "table": "a table with named columns"}


def _read(
    path: str,
    how: Reading,
    *,
    n_features: int | None = None,
    features: tuple[str, ...] | None = None,
    jobs: int | None = None,
) -> Dataset:
    from crucial.data.formats.reading import read_data

    options: dict[str, Any] = {name: getattr(how, name) for name in _OWN[how.form]}
    if how.form == "svmlight":
        options["n_features"] = n_features
    else:
        options["features"] = features
    return read_data(path, how.form, n_jobs=jobs, **options)  # type: ignore[arg-type]


def _tell(path: str, data: Dataset) -> None:
    """Say in one line what was assumed in reading a file."""
    if data.notes:
        after = [part for one in data.notes[1:] for part in ("; ", one)]
        note(Message(f"{path}: ", data.notes[0], *after))


def read_training(
    path: str, valid: str | None, given: Mapping[str, Any]
) -> tuple[Dataset, Dataset | None, Reading]:
    """Read the rows to learn from and those to judge by, with the same columns.

    Of two svmlight files the wider one says how many features there are, and index 0 in
    either makes both begin at 0.
    """
    how = Reading.of_options(path, given)
    train = _read(path, how, jobs=given["jobs"])
    judge: Dataset | None = None
    if how.form == "svmlight":
        train, judge, how = _read_alike(path, train, valid, how, given["jobs"])
    elif valid is not None:
        names = tuple(train.feature_names or ())
        judge = _read(valid, how, features=names, jobs=given["jobs"])
    _tell(path, train)
    if judge is not None and valid is not None:
        _tell(valid, judge)
    return train, judge, how


def _read_alike(
    path: str, train: Dataset, valid: str | None, how: Reading, jobs: int | None
) -> tuple[Dataset, Dataset | None, Reading]:
    base = train.index_base or 0
    if valid is None:
        return train, None, replace(how, index_base=base)
    # The sizes of the training file say nothing about another one; its own lie beside it.
    beside = f"{valid}.query"
    sizes = beside if how.group_sizes is not None and os.path.exists(beside) else None
    if how.group_sizes is not None and sizes is None:
        raise FileError(
            valid,
            f"its queries are not known: put its group sizes into {beside}, as "
            f"{how.group_sizes} has those of {path}.",
        )
    asked = "auto" if how.index_base == "auto" and base == 1 else base
    other = replace(how, index_base=asked, group_sizes=sizes)
    judge = _read(valid, other, jobs=jobs)
    final = replace(how, index_base=judge.index_base or 0)
    wide = max(train.n_features + base, judge.n_features + int(final.index_base))
    wide -= int(final.index_base)
    if (base, train.n_features) != (final.index_base, wide):
        train = _read(path, final, n_features=wide, jobs=jobs)
    if judge.n_features != wide:
        other = replace(other, index_base=final.index_base)
        judge = _read(valid, other, n_features=wide, jobs=jobs)
    return train, judge, final


def read_for_model(path: str, model: Model, given: Mapping[str, Any], *, labels: bool) -> Dataset:
    """Read rows to be scored, as the model's training rows were read."""
    known = model.training.get("data")
    how = Reading.of_options(path, given, known if isinstance(known, Mapping) else None)
    names = model.feature_names
    if how.form == "svmlight":
        if names is not None and names[0] in ("0", "1") and how.index_base == "auto":
            how = replace(how, index_base=int(names[0]))
        data = _read(path, how, n_features=model.n_features, jobs=given["jobs"])
    else:
        if not labels and names is not None:
            how = replace(how, label=None)
        data = _read(path, replace(how, weight=None), features=names, jobs=given["jobs"])
    _tell(path, data)
    if data.qid is None and model.needs_query and model.training.get("with_qid") is True:
        raise FileError(
            path,
            "its rows have no query ids, and the model ranks every row against the others of its "
            "query. Give them (qid:, --qid or --group-sizes).",
        )
    return data


def as_instances(data: Dataset) -> Instances:
    """The table with its names, as a ranker takes it."""
    from crucial.data.instances import Instances

    checked = Instances.from_input(data.X)
    return Instances(checked.table, tuple(data.feature_names) if data.feature_names else None)


@contextmanager
def naming(path: str, valid: str | None = None) -> Iterator[None]:
    """Name the file in errors about its rows; those of an eval set are in another one."""
    try:
        yield
    except FileError:
        raise
    except DataError as error:
        of_valid = valid is not None and error.parameter == "eval_set"
        raise error.in_file(valid if of_valid else path) from error


def refuse_same_file(target: str, *sources: str | None) -> None:
    """Refuse to write over a file that is read."""
    if not os.path.exists(target):
        return
    for source in sources:
        if source is not None and os.path.exists(source) and os.path.samefile(target, source):
            raise FileError(target, "would be written over what is read; name another file.")
