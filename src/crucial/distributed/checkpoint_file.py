"""The file of a checkpoint: the rounds of a fit so far.

The file is JSON and executes nothing::

    {
      "format": "crucial-checkpoint",
      "version": 1,
      "checksum": "<SHA-256 of the content, without white space>",
      "content": {"estimator": "RankBoost", "parameters": {...}, "rounds": [...]}
    }

Numbers of rounds are hexadecimal floats, so that infinite weights can be written, and every bit is
as it was. The rounds of a checkpoint are replayed without a search. What follows is to the byte
what an uninterrupted fit would have done; that the data are the same is checked by the losses.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from crucial.boosting.trace import Round, Trace
from crucial.data.files import atomic_write, open_bytes
from crucial.errors import (
    FileError,
    NotRankedError,
    ParameterError,
)
from crucial.model.weak import WeakRanker
from crucial.parameters import parameters_of, plain
from crucial.types import PathLike
from crucial.wording import counted, printable

__all__ = ["read_checkpoint", "shaping_parameters", "write_rounds"]

_FORMAT = "crucial-checkpoint"
_VERSION = 1


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    weight: str
    r: str
    z: str
    log_loss: str
    ranker: WeakRanker


class _Content(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    estimator: str
    parameters: dict[str, str]
    rounds: list[_Entry]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: str
    version: int
    checksum: str
    content: msgspec.Raw


def write_rounds(
    path: PathLike,
    estimator: str,
    parameters: dict[str, str],
    rounds: Sequence[Round] | Trace,
) -> None:
    """Write rounds, whole or not at all.

    Parameters
    ----------
    path : str or path
    estimator : str
        Name of the class.
    parameters : dict
        As `shaping_parameters` returns them.
    rounds : sequence of Round
    """
    entries = [_entry(number, one) for number, one in enumerate(rounds, 1)]
    content = msgspec.json.encode(_Content(estimator, parameters, entries))
    checksum = hashlib.sha256(content).hexdigest()
    with atomic_write(path) as file:
        file.write(msgspec.json.encode(_File(_FORMAT, _VERSION, checksum, msgspec.Raw(content))))


def shaping_parameters(estimator: Any) -> dict[str, str]:
    """Return the parameters on which the rounds of an estimator depend, written as text."""
    free = {one.name for one in parameters_of(estimator).values() if not one.shapes_model}
    return {
        name: repr(value.tolist() if isinstance(value, np.ndarray) else plain(value))
        for name, value in sorted(estimator.get_params(deep=False).items())
        if name not in free | {"n_estimators"}
    }


def read_checkpoint(path: PathLike, estimator: Any, unknown: Collection[str] = ()) -> list[Round]:
    """Read the rounds of a checkpoint, for an estimator to go on from.

    Parameters
    ----------
    path : str or path
    estimator : estimator to fit
        Of the same class, and with the same parameters except for ``n_estimators`` and those that
        do not shape the model.
    unknown : collection of str
        Parameters that are not set yet, and are not compared.

    Raises
    ------
    FileError
        The file is missing, damaged, or no checkpoint.
    ParameterError
        It is one of another estimator, or of other parameters.
    """
    content = _content(path)
    name = type(estimator).__name__
    if content.estimator != name:
        raise ParameterError(
            f"{path} is a checkpoint of {printable(content.estimator)}, not of {name}.",
            parameter="resume",
            value=str(path),
        )
    both = (content.parameters, shaping_parameters(estimator))
    _check_parameters(path, *({k: own[k] for k in own if k not in unknown} for own in both))
    if len(content.rounds) > estimator.n_estimators:
        raise ParameterError(
            f"{path} has {counted(len(content.rounds), 'round')}, more than "
            f"n_estimators={estimator.n_estimators}.",
            parameter="resume",
            value=str(path),
        )
    try:
        return [_round(one) for one in content.rounds]
    except (ValueError, OverflowError) as error:
        problem = printable(str(error), 200)
        raise FileError(path, f"this checkpoint is damaged: {problem}.") from error


def _content(path: PathLike) -> _Content:
    """Return the content of a file, checked from the outside inwards."""
    with open_bytes(path) as source:
        data = b"".join(source.lines())
    try:
        file = msgspec.json.decode(data, type=_File)
        if file.format != _FORMAT:
            raise msgspec.ValidationError(f"its format is {printable(file.format)!r}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problem = printable(str(error), 200)
        raise FileError(path, f"this is not a checkpoint, or a damaged one: {problem}.") from error
    if file.version > _VERSION:
        raise FileError(
            path,
            f"this checkpoint is of version {file.version}, newer than version {_VERSION}, which "
            "this release reads.",
            remedy="Install a newer release of crucial.",
        )
    content = bytes(file.content)
    if hashlib.sha256(content).hexdigest() != file.checksum:
        raise FileError(path, "this checkpoint is damaged: its checksum does not match.")
    try:
        return msgspec.json.decode(content, type=_Content)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise FileError(
            path, f"this checkpoint is damaged: {printable(str(error), 200)}."
        ) from error


def _check_parameters(path: PathLike, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            was, known = printable(before.get(name, "unknown"), 200), printable(name, 200)
            raise ParameterError(
                f"{path} was written with {known}={was}, and {known} is now "
                f"{now.get(name, 'unknown')}.",
                remedy="Fit with the same parameters, or begin anew without the checkpoint.",
                parameter=name,
            )


def _entry(number: int, one: Round) -> _Entry:
    if not isinstance(one.ranker, WeakRanker):
        raise NotRankedError(
            f"round {number} is a weak ranker of class {type(one.ranker).__name__}, which a "
            "checkpoint cannot contain."
        )
    weight, r, z, log_loss = (float(f).hex() for f in (one.alpha, one.r, one.z, one.log_loss))
    return _Entry(weight, r, z, log_loss, one.ranker)


def _round(entry: _Entry) -> Round:
    number = float.fromhex
    return Round(
        entry.ranker,
        number(entry.weight),
        number(entry.r),
        number(entry.z),
        number(entry.log_loss),
    )
