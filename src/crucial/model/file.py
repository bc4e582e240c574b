"""The model file: one JSON document that says everything and executes nothing.

::

    {
      "format": "crucial-model",
      "version": 1,
      "checksum": "<SHA-256 of the model, without white space, in hexadecimal>",
      "model": {"kind": "additive", ...}
    }

White space is free; any other change of the model changes its checksum. There is no
line end after the last brace, so that a file cut short anywhere is noticed.

The checksum guards against damage, not against malice: it proves nothing about who
wrote a file. What makes a hostile file harmless is that reading one only ever builds
the classes below, and checks every number of them.

A new kind of model joins `_KINDS`, a new kind of weak ranker joins `WeakRanker`; neither
needs a new version: a reader that does not know the kind says so. A change of what
is written for an existing kind does:

1. add 1 to `VERSION`;
2. keep the old payload class under a name of its own, and turn what it reads into the
   new one: `load_model` looks up the version and reads every version ever written;
3. write a file with the new version into ``tests/golden`` beside the old ones, which
   stay and must keep giving the same scores, bit for bit;
4. say in the changelog which release reads which versions.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from typing import Annotated, Any

import msgspec

from crucial.data.files import PathLike, atomic_write
from crucial.errors import FileError, ModelFileError, NotRankedError, ParameterError
from crucial.model.additive import AdditiveRanker
from crucial.model.quasi_knn import QuasiKNN
from crucial.model.rank_addition import RankAdditionRanker
from crucial.model.recognise import what_else
from crucial.model.text import printable
from crucial.model.weak import WeakRanker
from crucial.validation import refuse

__all__ = ["FORMAT", "MAX_BYTES", "VERSION", "Model", "load_model", "save_model"]

FORMAT = "crucial-model"
VERSION = 1
MAX_BYTES = 64 * 1024 * 1024  # about half a million rounds


class _Round(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    weight: float
    ranker: WeakRanker


class _Additive(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="additive"
):
    """An `AdditiveRanker` as it is written."""

    n_features: int
    feature_names: list[str] | None
    rounds: list[_Round]
    training: dict[str, Any]

    @classmethod
    def of(cls, model: AdditiveRanker) -> _Additive:
        rounds = []
        for number, (ranker, weight) in enumerate(zip(model.rankers, model.weights, strict=True)):
            if not isinstance(ranker, WeakRanker):
                raise NotRankedError(
                    f"round {number + 1} is a weak ranker of class {type(ranker).__name__}, which "
                    "a model file cannot hold: it knows Stump, Presence, ScaledFeature, Vote, "
                    "Constant and QuasiKNN. Keep the code and train again, or pickle the model."
                )
            rounds.append(_Round(weight, ranker))
        names = None if model.feature_names is None else list(model.feature_names)
        return cls(model.n_features, names, rounds, dict(model.training))

    def build(self) -> AdditiveRanker:
        return AdditiveRanker(
            self.n_features,
            [one.ranker for one in self.rounds],
            [one.weight for one in self.rounds],
            self.feature_names,
            self.training,
        )


class _Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    keep: float
    weight: float
    ranker: QuasiKNN


class _RankAddition(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="rank_addition"
):
    """A `RankAdditionRanker` as it is written."""

    n_features: int
    feature_names: list[str] | None
    rounds: list[_Step]
    training: dict[str, Any]

    @classmethod
    def of(cls, model: RankAdditionRanker) -> _RankAddition:
        steps = zip(model.keeps, model.weights, model.rankers, strict=True)
        names = None if model.feature_names is None else list(model.feature_names)
        return cls(model.n_features, names, [_Step(*one) for one in steps], dict(model.training))

    def build(self) -> RankAdditionRanker:
        return RankAdditionRanker(
            self.n_features,
            [one.ranker for one in self.rounds],
            [one.keep for one in self.rounds],
            [one.weight for one in self.rounds],
            self.feature_names,
            self.training,
        )


#: Every frozen form of a ranker that a file can hold.
Model = AdditiveRanker | RankAdditionRanker

_KINDS: dict[str, type[_Additive] | type[_RankAddition]] = {
    "additive": _Additive,
    "rank_addition": _RankAddition,
}


class _Kind(msgspec.Struct):
    kind: str


class _Heading(msgspec.Struct):
    """What every version has, whatever else a later one adds."""

    format: str
    version: Annotated[int, msgspec.Meta(ge=0, le=2**31)]


class _Envelope(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    version: int
    checksum: str
    model: msgspec.Raw


def save_model(model: Model, path: PathLike) -> None:
    """Write a model to a file, whole or not at all.

    Parameters
    ----------
    model : AdditiveRanker or RankAdditionRanker
        The model. All its weak rankers must be of a kind the file knows.
    path : str or path
        The file to make or replace; by custom its name ends in ``.json``.

    Raises
    ------
    NotRankedError
        A weak ranker is user-written.
    FileError
        The file cannot be written; what was there before is untouched.
    """
    if not isinstance(model, AdditiveRanker | RankAdditionRanker):
        raise refuse("save_model", "model", "an AdditiveRanker or a RankAdditionRanker", model)
    if os.fspath(path).lower().endswith(".gz"):
        raise FileError(path, "model files are plain JSON; choose a name without .gz.")
    payload: _Additive | _RankAddition
    if isinstance(model, AdditiveRanker):
        payload = _Additive.of(model)
    else:
        payload = _RankAddition.of(model)
    data = _written(payload)
    if len(data) > MAX_BYTES:
        raise FileError(
            path, f"the model takes {len(data)} bytes, more than the {MAX_BYTES} a file may have."
        )
    with atomic_write(path) as file:
        file.write(data)


def _written(payload: _Additive | _RankAddition) -> bytes:
    """The file's bytes: every round on a line of its own, so that two files can be compared."""
    encode = msgspec.json.encode
    body = []
    for key, value in msgspec.to_builtins(payload).items():
        if isinstance(value, list) and value:
            text = b"[\n      " + b",\n      ".join(map(encode, value)) + b"\n    ]"
        elif isinstance(value, dict) and value:
            pairs = (encode(name) + b": " + encode(one) for name, one in value.items())
            text = b"{\n      " + b",\n      ".join(pairs) + b"\n    }"
        else:
            text = encode(value)
        body.append(encode(key) + b": " + text)
    model = b"{\n    " + b",\n    ".join(body) + b"\n  }"
    checksum = _checksum(msgspec.json.format(model, indent=-1))
    return (
        f'{{\n  "format": "{FORMAT}",\n  "version": {VERSION},\n  "checksum": "{checksum}",\n'
    ).encode() + (b'  "model": ' + model + b"\n}")


def _checksum(minified: bytes) -> str:
    return hashlib.sha256(minified).hexdigest()


def load_model(path: PathLike) -> Model:
    """Read a model from a file.

    Everything in the file is checked before a model is made of it, and nothing in it is
    ever executed.

    Parameters
    ----------
    path : str or path
        A file written by ``save``, of at most 64 MiB.

    Returns
    -------
    AdditiveRanker or RankAdditionRanker
        The model, equal to the one that was saved.

    Raises
    ------
    ModelFileError
        The file is missing, damaged, cut short, from a newer version, or no model file.
    """
    name = os.fspath(path)
    try:
        return _parsed(_read(name))
    except _Invalid as problem:
        raise ModelFileError(str(problem), path=name) from problem.__cause__


def _short(error: Exception) -> str:
    # (the parser repeats keys of the file in its messages)
    return printable(str(error), 200)


class _Invalid(Exception):
    """What is wrong with the file, without its name."""


def _read(name: str) -> bytes:
    try:
        kind = os.stat(name).st_mode
        if stat.S_ISDIR(kind):
            raise _Invalid("this is a directory; name the model file in it.")
        if not stat.S_ISREG(kind):
            raise _Invalid("this is not a regular file.")
        with open(name, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise _Invalid("there is no such file.") from error
    except (OSError, ValueError) as error:  # (a ValueError is a NUL in the name)
        reason = getattr(error, "strerror", None) or str(error)
        raise _Invalid(f"cannot be read: {reason}.") from error
    if len(data) > MAX_BYTES:
        raise _Invalid(f"has more than the {MAX_BYTES} bytes a model file may have.")
    return data


def _parsed(data: bytes) -> Model:
    """Check a file from the outside inwards, and build the model last."""
    if not data.strip():
        raise _Invalid("is empty.")
    other = what_else(data)
    if other is not None:
        raise _Invalid(other)
    try:
        data.decode("utf-8")
        minified = msgspec.json.format(data, indent=-1)
    except UnicodeDecodeError as error:
        raise _Invalid(f"is damaged: byte {error.start} is not UTF-8 text.") from error
    except RecursionError as error:
        raise _Invalid("is nested too deeply to be a model file.") from error
    except msgspec.DecodeError as error:
        if "truncated" in str(error):
            raise _Invalid("is cut short: the JSON ends too early. Copy it again.") from error
        raise _Invalid(f"is damaged or no model file: {_short(error)}.") from error
    _check_heading(minified)
    envelope = _decoded(minified, _Envelope)
    model = bytes(envelope.model)
    if _checksum(model) != envelope.checksum:
        raise _Invalid(
            "is damaged or was edited: the checksum does not match. Copy it again, or train "
            "and save the model again."
        )
    _check_keys(minified)
    kind = _decoded(model, _Kind).kind
    if kind not in _KINDS:
        known = ", ".join(_KINDS)
        raise _Invalid(f"holds a model of kind '{printable(kind)}'; this release knows: {known}.")
    payload: _Additive | _RankAddition = _decoded(model, _KINDS[kind])
    try:
        return payload.build()
    except ParameterError as error:
        raise _Invalid(f"holds a model that cannot be: {error}") from error


def _check_heading(minified: bytes) -> None:
    try:
        heading = msgspec.json.decode(minified, type=_Heading)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise _Invalid(f"is JSON, but no model file: {_short(error)}.") from error
    if heading.format != FORMAT:
        raise _Invalid(f"is JSON, but no model file: its format is '{printable(heading.format)}'.")
    if heading.version > VERSION:
        raise _Invalid(
            f"is of version {heading.version} of the format, newer than version {VERSION}, the "
            "newest that this release reads. Install a newer release of crucial."
        )
    if heading.version < 1:
        raise _Invalid(f"is damaged: there is no version {heading.version} of the format.")


def _decoded(minified: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(minified, type=kind)
    except (msgspec.DecodeError, ValueError) as error:
        raise _Invalid(f"does not hold what a model file must: {_short(error)}.") from error
    except RecursionError as error:
        raise _Invalid("is nested too deeply to be a model file.") from error


def _check_keys(minified: bytes) -> None:
    """Refuse a key that is given twice: readers would differ on which one counts."""

    def unique(pairs: list[tuple[str, Any]]) -> None:
        seen = set()
        for key, _ in pairs:
            if key in seen:
                raise _Invalid(f"gives the key '{printable(key)}' twice.")
            seen.add(key)

    try:
        json.loads(minified, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise _Invalid(f"holds what JSON readers disagree on: {_short(error)}.") from error
