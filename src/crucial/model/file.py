"""The model file: one JSON document that holds the whole model and executes nothing.

One payload per kind of model; a file that is not a model file is recognised by its first bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeAlias

import msgspec

from crucial.data.files import atomic_write
from crucial.errors import FileError, ModelFileError, NotRankedError, ParameterError
from crucial.model.additive import AdditiveRanker
from crucial.model.base import FrozenModel, Payload
from crucial.model.kernel import KernelPayload, KernelRanker
from crucial.model.net import NetPayload, NetRanker
from crucial.model.rank_addition import RankAdditionRanker
from crucial.model.ranking_trees import RankingTrees, RankingTreesPayload
from crucial.model.weak import QuasiKNN, WeakRanker
from crucial.parameters import refuse
from crucial.types import Floats, PathLike
from crucial.wording import printable

if TYPE_CHECKING:
    from crucial.data.groups import Groups


# --- The kinds of models that a file can contain, and the form in which each is written


class WrappedModel(Protocol):
    """A model of a higher layer, such as a fusion of runs, around one that scores rows."""

    @property
    def model(self) -> AdditiveRanker:
        """The model that scores rows."""

    @property
    def n_features(self) -> int:
        """Number of columns of the rows."""

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns, if they have any."""

    @property
    def training(self) -> Mapping[str, Any]:
        """Summary of the training."""

    @property
    def needs_query(self) -> bool:
        """Whether the score of a row depends on the other rows of its query."""

    def predict(self, X: Any, groups: Groups | None = None, *, n_jobs: int | None = None) -> Floats:
        """Score rows."""

    def save(self, path: PathLike) -> None:
        """Write the model to a file."""


#: Everything that a model file can contain.
Model: TypeAlias = FrozenModel | WrappedModel


def row_model(model: Model) -> FrozenModel:
    """Return the model that scores rows: the one inside a wrapped model, or the model itself."""
    return model if isinstance(model, FrozenModel) else model.model


class WeightedRanker(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A weak ranker and its weight."""

    weight: float
    ranker: WeakRanker


class AdditivePayload(Payload, frozen=True, tag="additive"):
    """An `AdditiveRanker` as it is written."""

    rounds: list[WeightedRanker]
    training: dict[str, Any]

    @classmethod
    def of(cls, model: AdditiveRanker) -> AdditivePayload:
        """Return the payload of a model; a weak ranker of the user's own cannot be written."""
        rounds = []
        for number, (ranker, weight) in enumerate(zip(model.rankers, model.weights, strict=True)):
            if not isinstance(ranker, WeakRanker):
                raise NotRankedError(
                    f"round {number + 1} is a weak ranker of class {type(ranker).__name__}, which "
                    "a model file cannot hold: it knows Stump, Presence, ScaledFeature, Vote, "
                    "Constant, QuasiKNN and Affine. Keep the code and train again, or pickle the "
                    "model."
                )
            rounds.append(WeightedRanker(weight, ranker))
        return cls.filled(model, rounds=rounds)

    def build(self) -> AdditiveRanker:
        """Return the model, with everything checked."""
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


class RankAdditionPayload(Payload, frozen=True, tag="rank_addition"):
    """A `RankAdditionRanker` as it is written."""

    rounds: list[_Step]
    training: dict[str, Any]

    @classmethod
    def of(cls, model: RankAdditionRanker) -> RankAdditionPayload:
        """Return the payload of a model."""
        steps = zip(model.keeps, model.weights, model.rankers, strict=True)
        return cls.filled(model, rounds=[_Step(*one) for one in steps])

    def build(self) -> RankAdditionRanker:
        """Return the model, with everything checked."""
        return RankAdditionRanker(
            self.n_features,
            [one.ranker for one in self.rounds],
            [one.keep for one in self.rounds],
            [one.weight for one in self.rounds],
            self.feature_names,
            self.training,
        )


_KINDS: dict[str, tuple[type[Model], type[Payload]]] = {
    "additive": (AdditiveRanker, AdditivePayload),
    "rank_addition": (RankAdditionRanker, RankAdditionPayload),
    "kernel": (KernelRanker, KernelPayload),
    "net": (NetRanker, NetPayload),
    "ranking_trees": (RankingTrees, RankingTreesPayload),
}

#: Kinds of higher layers, and the module of each, which calls `register_kind` when imported.
_ELSEWHERE = {"fusion": "crucial.fusion.ranker"}


def register_kind(kind: str, model: type[Model], payload: type[Payload]) -> None:
    """Add a kind of model to those that `save_model` and `load_model` know."""
    _KINDS[kind] = (model, payload)


def payload_of(kind: str) -> type[Payload] | None:
    """Return the payload class of a kind, importing its module if need be; None if unknown."""
    if kind not in _KINDS and kind in _ELSEWHERE:
        import_module(_ELSEWHERE[kind])
    return _KINDS[kind][1] if kind in _KINDS else None


def payload_for(model: object) -> Payload | None:
    """Return the payload of a model; None if no kind fits it."""
    for model_class, payload in _KINDS.values():
        if isinstance(model, model_class):
            return payload.of(model)
    return None


def known_kinds() -> list[str]:
    """Return the names of all kinds."""
    return list(dict.fromkeys([*_KINDS, *_ELSEWHERE]))


# --- Recognise a file that is not a model file by its first bytes


_OPENINGS = (
    (b"\x1f\x8b", "gzip data"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "a zip archive"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\x00", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x89HDF", "an HDF5 file"),
    (b"PAR1", "a parquet file"),
    (b"\xef\xbb\xbf", "text with a byte-order mark"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
    (b"tree\nversion", "a LightGBM model"),
)
_UNPACK = "Unpack it first; model files are plain JSON."
_ADVICE = {
    "a pickle": "Pickles run code when they are read and are never opened here; "
    "save the model again with save().",
    **dict.fromkeys(("gzip data", "a zip archive", "bzip2 data", "xz data", "zstd data"), _UNPACK),
    "text with a byte-order mark": "Remove its first three bytes.",
}


def foreign_format(data: bytes) -> str | None:
    """Return which other format the data are in and what to do; None if they may be JSON.

    Examples
    --------
    >>> foreign_format(b"PK\\x03\\x04...")
    'this is a zip archive, not a model file. Unpack it first; model files are plain JSON.'
    """
    kind = None
    if data[:1] == b"\x80" and data[1:2] <= b"\x0f":
        kind = "a pickle"
    elif data[:1] in (b"(", b"c") and data[-1:] == b".":
        kind = "a pickle"  # (protocols 0 and 1 begin with an opcode that is a letter)
    for opening, name in _OPENINGS:
        if data.startswith(opening):
            kind = name
    if kind is None and b"\x00" in data[:4096]:
        kind = "binary data"
    if kind is None:
        return None
    return f"this is {kind}, not a model file. {_ADVICE.get(kind, '')}".rstrip()


# --- The model file: one JSON document that holds the whole model and executes nothing
#
# ::
#
#     {
#       "format": "crucial-model",
#       "version": 1,
#       "checksum": "<SHA-256 of the model, without white space, in hexadecimal>",
#       "model": {"kind": "additive", ...}
#     }
#
# White space is free; any other change of the model changes its checksum. There is no
# line end after the last brace, so that a truncated file is always noticed.
#
# The checksum guards against damage, not against malice: it proves nothing about who
# wrote a file. What makes a hostile file harmless is that reading one only ever builds
# the classes of `crucial.model.file`, and checks every number of them.
#
# A new kind of model joins `crucial.model.file`, a new kind of weak ranker joins `WeakRanker`;
# neither needs a new version: a reader that does not know the kind reports it. A change of what
# is written for an existing kind does:
#
# 1. add 1 to `VERSION`;
# 2. keep the old payload class under another name, and turn what it reads into the
#    new one: `load_model` looks up the version and reads every version ever written;
# 3. write a file with the new version into ``tests/golden`` beside the old ones, which
#    stay and must keep giving the same scores, bit for bit;
# 4. state in the changelog which release reads which versions.


FORMAT = "crucial-model"
VERSION = 1
MAX_BYTES = 64 * 1024 * 1024  # about half a million rounds
# Values, and lists and mappings, of a file: a few bytes of text each, but much more in memory.
# 64 MiB of weights are four million numbers; half a million rounds have one mapping in 47 bytes.
_MAX_VALUES = 1 << 23
_MOST_LEVELS = 500
_DEEP = "is nested too deeply to be a model file."
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_FEW_CONTAINERS, _BYTES_PER_CONTAINER = 1 << 16, 8
# Those of the summary of the training become dicts and lists of Python, twice for a while.
_SUMMARY_BYTES_PER_CONTAINER = 32


class _Kind(msgspec.Struct):
    """The fields that every kind has, the summary of the training as text."""

    kind: str
    training: msgspec.Raw = msgspec.Raw(b"{}")


class _Heading(msgspec.Struct):
    """The fields that every version has, now and later."""

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
    model : FrozenModel or crucial.fusion.FusionRanker
        The model. All its parts must be of a kind the file knows.
    path : str or path
        The file to make or replace; by custom its name ends in ``.json``.

    Raises
    ------
    NotRankedError
        A weak ranker is user-written.
    FileError
        The file cannot be written; what was there before is untouched.
    """
    payload = payload_for(model)
    if payload is None:
        raise refuse("save_model", "model", "a fitted model of crucial", model)
    if os.fspath(path).lower().endswith(".gz"):
        raise FileError(path, "model files are plain JSON; choose a name without .gz.")
    data = _written(payload)
    if len(data) > MAX_BYTES:
        raise FileError(
            path, f"the model takes {len(data)} bytes, more than the {MAX_BYTES} a file may have."
        )
    too_many = _too_many(data) or _crowded_summary(bytes(_decoded(data, _Envelope).model))
    if too_many:
        raise FileError(path, f"the model has {too_many}.")
    with atomic_write(path) as file:
        file.write(data)


def _too_many(data: bytes) -> str:
    """Return what a file has too many of, if it does; brackets and commas in texts count too."""
    return _crowd(data, _BYTES_PER_CONTAINER, "a file of its size") or _crowd_of_values(data)


def _crowd(text: bytes, bytes_each: int, where: str) -> str:
    """Return how many lists and mappings there are, if there are too many."""
    count, most = text.count(b"[") + text.count(b"{"), _FEW_CONTAINERS + len(text) // bytes_each
    several = f"{count:,} lists and mappings, more than the {most:,} {where} may have"
    return several if count > most else ""


def _crowd_of_values(text: bytes) -> str:
    count = text.count(b",")
    several = f"{count:,} values, more than the {_MAX_VALUES:,} a file may have"
    return several if count > _MAX_VALUES else ""


def _crowded_summary(model: bytes) -> str:
    """Return what the summary of the training has too many of, if it does."""
    summary = bytes(_decoded(model, _Kind).training)
    return _crowd(summary, _SUMMARY_BYTES_PER_CONTAINER, "a summary of the training of its size")


def _has_levels(text: bytes) -> bool:
    """Return whether lists and mappings are nested too deeply; brackets in texts count too."""
    marks = text.translate(None, _NO_BRACKETS)
    for _ in range(_MOST_LEVELS):
        inner = marks
        marks = inner.replace(b"[]", b"").replace(b"{}", b"")
        if marks == inner:  # (nothing is left, or not all are closed)
            return marks.count(b"[") + marks.count(b"{") > _MOST_LEVELS
    return True


def _written(payload: Payload) -> bytes:
    """Return the bytes of the file: one round per line, so that two files can be compared."""
    encode = msgspec.json.encode
    body = []
    for key, value in msgspec.to_builtins(payload).items():
        if isinstance(value, list | tuple) and value:
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

    Everything in the file is checked before the model is built, and nothing in it is ever
    executed.

    Parameters
    ----------
    path : str or path
        A file written by ``save``, of at most 64 MiB.

    Returns
    -------
    FrozenModel or crucial.fusion.FusionRanker
        The model, equal to the one that was saved. A model of rows has ``predict``, ``rank`` and
        ``score`` like the estimator that it comes from.

    Raises
    ------
    ModelFileError
        The file is missing, damaged, truncated, from a newer version, or not a model file.
    """
    name = os.fspath(path)
    try:
        return _parsed(_read(name))
    except _Invalid as problem:
        raise ModelFileError(str(problem), path=name) from problem.__cause__


def _short(error: Exception) -> str:
    # (the parser's messages repeat keys of the file)
    return printable(str(error), 200)


class _Invalid(Exception):
    """The problem with the content, without the name of the file."""


def _read(name: str) -> bytes:
    """Return the content of a regular file of at most `MAX_BYTES`."""
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
    """Check the content from the outside inwards, and build the model last."""
    if not data.strip():
        raise _Invalid("is empty.")
    foreign = foreign_format(data)
    if foreign is not None:
        raise _Invalid(foreign)
    if too_many := _too_many(data):
        raise _Invalid(f"has {too_many}.")
    # (up to Python 3.13, parsers stop at a number of levels; since then, where the stack ends)
    if _has_levels(data) and _has_levels(_TEXT.sub(b"", data)):
        raise _Invalid(_DEEP)
    try:
        data.decode("utf-8")
        minified = msgspec.json.format(data, indent=-1)
    except UnicodeDecodeError as error:
        raise _Invalid(f"is damaged: byte {error.start} is not UTF-8 text.") from error
    except RecursionError as error:
        raise _Invalid(_DEEP) from error
    except msgspec.DecodeError as error:
        if "truncated" in str(error):
            raise _Invalid("is truncated: the JSON ends too early. Copy it again.") from error
        if data[:4096].lstrip()[:1] != b"{":
            raise _Invalid("is not a model file, which begins with '{'.") from error
        raise _Invalid(f"is damaged or not a model file: {_short(error)}.") from error
    _check_heading(minified)
    envelope = _decoded(minified, _Envelope)
    model = bytes(envelope.model)
    if _checksum(model) != envelope.checksum:
        raise _Invalid(
            "is damaged or was edited: the checksum does not match. Copy it again, or train "
            "and save the model again."
        )
    if too_many := _crowded_summary(model):
        raise _Invalid(f"has {too_many}.")
    _check_keys(minified)
    payload = _payload(model)
    try:
        built: Model = payload.build()
        return built
    except ParameterError as error:
        raise _Invalid(f"contains an invalid model: {error}") from error


def _payload(model: bytes) -> Payload:
    """Decode a model as the class of its kind."""
    kind = _decoded(model, _Kind).kind
    payload_class = payload_of(kind)
    if payload_class is None:
        known = ", ".join(known_kinds())
        raise _Invalid(
            f"contains a model of kind '{printable(kind)}'; this release knows: {known}."
        )
    payload: Payload = _decoded(model, payload_class)
    if isinstance(payload, AdditivePayload) and isinstance(payload.training.get("fusion"), dict):
        fusion = payload_of("fusion")  # (additive until fusions became a separate kind)
        assert fusion is not None
        return fusion.of(payload)
    return payload


def _check_heading(minified: bytes) -> None:
    """Refuse another format and versions that this release cannot read."""
    try:
        heading = msgspec.json.decode(minified, type=_Heading)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise _Invalid(f"is JSON, but not a model file: {_short(error)}.") from error
    if heading.format != FORMAT:
        raise _Invalid(
            f"is JSON, but not a model file: its format is '{printable(heading.format)}'."
        )
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
        raise _Invalid(f"does not contain what a model file must: {_short(error)}.") from error
    except RecursionError as error:
        raise _Invalid(_DEEP) from error


def _check_keys(minified: bytes) -> None:
    """Refuse a duplicate key: readers would differ on which one counts."""

    def unique(pairs: list[tuple[str, Any]]) -> None:
        seen = set()
        for key, _ in pairs:
            if key in seen:
                raise _Invalid(f"has the key '{printable(key)}' twice.")
            seen.add(key)

    try:
        json.loads(minified, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise _Invalid(f"contains JSON that readers disagree on: {_short(error)}.") from error
