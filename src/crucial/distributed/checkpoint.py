"""Checkpoints: the rounds of a fit so far in a file, from which a later fit goes on.

The file is JSON and executes nothing::

    {
      "format": "crucial-checkpoint",
      "version": 1,
      "checksum": "<SHA-256 of the content, without white space>",
      "content": {"estimator": "RankBoost", "parameters": {...}, "rounds": [...]}
    }

Numbers of rounds are hexadecimal floats, so that infinite weights can be written and every bit
survives. The rounds of a checkpoint are replayed without a search. The rounds that follow are to
the byte those of an uninterrupted fit; the losses show whether the data are the same.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import msgspec
import numpy as np

from crucial.boosting.loop import Progress, Round, Trace
from crucial.data.files import atomic_write, check_writable, open_bytes
from crucial.errors import (
    Argument,
    ClusterError,
    DataError,
    FileError,
    Message,
    NotRankedError,
    ParameterError,
)
from crucial.model.weak import WeakRanker
from crucial.parameters import parameters_of, plain
from crucial.rankers.base import warn_caller
from crucial.types import PathLike
from crucial.wording import counted, printable

# --- The file


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


def shaping_parameters(estimator: Any) -> dict[str, str]:
    """Return the parameters on which the rounds of an estimator depend, written as text."""
    free = {one.name for one in parameters_of(estimator).values() if not one.shapes_model}
    return {
        name: repr(value.tolist() if isinstance(value, np.ndarray) else plain(value))
        for name, value in sorted(estimator.get_params(deep=False).items())
        if name not in free | {"n_estimators"}
    }


def read_checkpoint(path: PathLike, ranker: Any) -> list[Round]:
    """Read the rounds of a checkpoint, for a ranker to go on from.

    Parameters
    ----------
    path : str or path
    ranker : estimator to fit
        Of the same class, and with the same parameters except for ``n_estimators`` and those that
        do not shape the model.

    Raises
    ------
    FileError
        The file is missing, damaged, or no checkpoint.
    ParameterError
        It is one of another estimator, or of other parameters.
    """
    content = _content(path)
    name, n_rounds = type(ranker).__name__, len(content.rounds)
    problem = None
    if content.estimator != name:
        problem = f"is a checkpoint of {printable(content.estimator)}, not of {name}."
    elif n_rounds > ranker.n_estimators:
        problem = f"has {counted(n_rounds, 'round')}, more than n_estimators={ranker.n_estimators}."
    if problem is not None:
        raise ParameterError(f"{path} {problem}", parameter="resume", value=str(path))
    before, now = content.parameters, shaping_parameters(ranker)
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            was, known = printable(before.get(name, "unknown"), 200), printable(name, 200)
            raise ParameterError(
                f"{path} was written with {known}={was}, and {known} is now "
                f"{now.get(name, 'unknown')}.",
                remedy="Fit with the same parameters, or begin anew without the checkpoint.",
                parameter=name,
            )
    number = float.fromhex
    try:
        return [
            Round(
                one.ranker, number(one.weight), number(one.r), number(one.z), number(one.log_loss)
            )
            for one in content.rounds
        ]
    except (ValueError, OverflowError) as error:
        raise _damaged(path, error) from error


def _content(path: PathLike) -> _Content:
    """Read the content of a file, checked from the outside inwards."""
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
        raise _damaged(path, error) from error


def _damaged(path: PathLike, error: Exception) -> FileError:
    return FileError(path, f"this checkpoint is damaged: {printable(str(error), 200)}.")


# --- Rounds that are written while a fit runs


class Checkpoint:
    """Reads the rounds of an earlier fit, and writes those of a fit some seconds apart.

    They are also written when the fit ends early. A file that cannot be written ends no fit: it is
    tried again when the next write is due, and a warning says so.

    Parameters
    ----------
    ranker : estimator to fit
        Its parameters are written too: a fit with others cannot go on from the file.
    path : str or path, optional
        File to write. The folder must exist.
    resume : str or path, optional
        Checkpoint to go on from.
    every : float
        Seconds between two writes.

    Attributes
    ----------
    earlier : list of Round
        Rounds of ``resume``, which the loop replays.
    """

    def __init__(
        self,
        ranker: Any,
        path: PathLike | None = None,
        *,
        resume: PathLike | None = None,
        every: float = 60.0,
    ) -> None:
        if path is not None:
            check_writable(path)
        self.earlier = [] if resume is None else read_checkpoint(resume, ranker)
        self.path, self._every = path, every
        self._estimator, self._parameters = type(ranker).__name__, shaping_parameters(ranker)
        self._tried = time.monotonic()
        self._rounds: Sequence[Round] | Trace = ()  # none before the first new one
        self._n_written = 0

    def watching(self, progress: Progress | None) -> Progress:
        """Return a function for the loop to call after every round.

        It calls ``progress`` as well, writes the file, and raises an error if a replayed round has
        another loss than it had.
        """
        earlier = self.earlier

        def after_round(done: int, trace: Trace) -> bool:
            stop = progress is not None and progress(done, trace)
            if done <= len(earlier):
                _check_loss(done, trace[-1].log_loss, earlier[done - 1].log_loss)
            elif self.path is not None:
                self._rounds = trace
                if time.monotonic() - self._tried >= self._every:
                    self._try()
            return stop

        return after_round

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Write the rounds so far if anything ends the block early, Ctrl-C included.

        A `ClusterError` then names the file, as does a note to any other error.
        """
        try:
            yield
        except BaseException as error:
            if not len(self._rounds):
                raise
            with suppress(NotRankedError):  # (the first error counts)
                self._try(last=True)
            where = f"The rounds so far ({self._n_written}) are in {self.path}"
            if isinstance(error, ClusterError) and self._n_written:
                resume = Argument("resume", str(self.path))
                gap = " " if error.remedy else ""
                remedy = Message(error.remedy, gap, f"{where}: go on with ", resume, ".")
                raise ClusterError(error.problem, remedy=remedy) from error
            if self._n_written:
                error.add_note(f"{where}, from which it can be resumed.")
            raise

    def _try(self, last: bool = False) -> None:
        """Write the rounds; warn where the file cannot be written now."""
        self._tried = time.monotonic()
        try:
            self.write(self._rounds)
        except FileError as error:
            lines = [str(error)]
            if self._n_written:
                lines.append(f"It still has {counted(self._n_written, 'round')}.")
            if not last:
                lines.append("The fit goes on, and this is tried again.")
            warn_caller(" ".join(lines))

    def write(self, rounds: Sequence[Round] | Trace) -> None:
        """Write rounds, all or none.

        Raises
        ------
        NotRankedError
            A weak ranker is user-written.
        FileError
            The file cannot be written.
        """
        assert self.path is not None
        entries = [_entry(number, one) for number, one in enumerate(rounds, 1)]
        content = msgspec.json.encode(_Content(self._estimator, self._parameters, entries))
        checksum = hashlib.sha256(content).hexdigest()
        file = _File(_FORMAT, _VERSION, checksum, msgspec.Raw(content))
        with atomic_write(self.path) as target:
            target.write(msgspec.json.encode(file))
        self._n_written = len(rounds)


def _entry(number: int, one: Round) -> _Entry:
    if not isinstance(one.ranker, WeakRanker):
        raise NotRankedError(
            f"round {number} is a weak ranker of class {type(one.ranker).__name__}, which a "
            "checkpoint cannot contain."
        )
    weight, r, z, log_loss = (float(f).hex() for f in (one.alpha, one.r, one.z, one.log_loss))
    return _Entry(weight, r, z, log_loss, one.ranker)


def _check_loss(number: int, now: float, before: float) -> None:
    if now != before and not (np.isnan(now) and np.isnan(before)):
        raise DataError(
            f"Round {number} of the checkpoint has another loss on these data than on those that "
            "it was written with.",
            remedy="Fit on the same data in the same parts, or begin anew without the checkpoint.",
            parameter="resume",
        )
