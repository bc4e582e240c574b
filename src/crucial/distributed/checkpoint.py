"""Checkpoints: the rounds of a fit so far in a file, from which a later fit goes on.

The file is JSON and executes nothing::

    {
      "format": "crucial-checkpoint",
      "version": 1,
      "checksum": "<SHA-256 of the content, without white space>",
      "content": {"estimator": "RankBoost", "parameters": {...}, "rounds": [...]}
    }

A fit of several runs, by bags or folds, has the rounds of the first run in "rounds", and those of
the others as lists in "others".

Numbers of rounds are hexadecimal floats, so that infinite weights can be written, and every bit is
as it was. The rounds of a checkpoint are replayed without a search. What follows is to the byte
what an uninterrupted fit would have done; that the data are the same is checked by the losses.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import msgspec
import numpy as np

from crucial.boosting.progress import Progress
from crucial.boosting.trace import Round, Trace
from crucial.data.files import atomic_write, open_bytes
from crucial.errors import (
    Argument,
    ClusterError,
    DataError,
    FileError,
    Message,
    NotRankedError,
    ParameterError,
)
from crucial.estimators.warn import warn_caller
from crucial.model.text import printable
from crucial.model.weak import WeakRanker
from crucial.parameters import parameters_of, plain
from crucial.types import PathLike
from crucial.wording import counted

__all__ = ["Checkpoint", "read_checkpoint", "read_runs"]

_FORMAT = "crucial-checkpoint"
_VERSION = 1


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    weight: str
    r: str
    z: str
    log_loss: str
    ranker: WeakRanker


class _Content(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    estimator: str
    parameters: dict[str, str]
    rounds: list[_Entry]
    others: list[list[_Entry]] = []


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: str
    version: int
    checksum: str
    content: msgspec.Raw


class Checkpoint:
    """Writes the rounds of a fit to a file, some seconds apart and when the fit ends early.

    A file that cannot be written ends no fit: it is tried again when the next write is due, and a
    warning says so.

    Parameters
    ----------
    path : str or path
    estimator : estimator that is fitted
        Its parameters are written too: a fit with others cannot go on from the file.
    every : float
        Seconds between two writes.
    """

    def __init__(self, path: PathLike, estimator: Any, *, every: float = 60.0) -> None:
        self.path, self._every = path, every
        self._estimator = type(estimator).__name__
        self._parameters = shaping_parameters(estimator)
        self._tried = time.monotonic()
        self._runs: list[Sequence[Round] | Trace] = [()]
        self._moved = False  # whether there are rounds that no checkpoint had
        self._n_written = 0

    def watching(self, progress: Progress | None, earlier: Sequence[Round] = ()) -> Progress:
        """Return a function for the loop to call after every round, which writes the file.

        Parameters
        ----------
        progress : function or None
            Called as well.
        earlier : sequence of Round
            Rounds of a checkpoint that the loop replays. An error is raised if one of them has
            another loss than it had.
        """

        return self.watching_runs(progress, [earlier])

    def watching_runs(
        self,
        progress: Progress | None,
        earlier: Sequence[Sequence[Round]] = (),
        rounds: int | None = None,
    ) -> Progress:
        """Do the same for several runs.

        Parameters
        ----------
        earlier : sequence of sequences of Round
            Those of each run of a checkpoint.
        rounds : int, optional
            What the rounds of run k, from 0, are numbered from: ``k * rounds + 1``. By default
            there is one run.
        """
        self._runs = list(earlier) or [()]

        def after_round(done: int, trace: Trace) -> bool:
            stop = progress is not None and progress(done, trace)
            run, number = (0, done) if rounds is None else divmod(done - 1, rounds)
            number = number if rounds is None else number + 1
            before = earlier[run] if run < len(earlier) else ()
            if number <= len(before):
                _check_loss(number, trace[-1].log_loss, before[number - 1].log_loss)
                return stop
            self._runs += [()] * (run + 1 - len(self._runs))
            if len(trace) >= len(self._runs[run]):  # (a run that goes on is replayed first)
                self._runs[run], self._moved = trace, True
            if time.monotonic() - self._tried >= self._every:
                self._try()
            return stop

        return after_round

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Write the rounds so far if anything ends the block early, Ctrl-C included.

        A `ClusterError` then names the file.
        """
        try:
            yield
        except BaseException as error:
            if not self._moved:
                raise
            with suppress(NotRankedError):  # (the first error counts)
                self._try(last=True)
            if isinstance(error, ClusterError) and self._n_written:
                raise self._with_remedy(error) from error
            raise

    def _with_remedy(self, error: ClusterError) -> ClusterError:
        kept = Message(
            error.remedy,
            " " if error.remedy else "",
            f"The rounds so far ({self._n_written}) are in {self.path}: go on with ",
            Argument("resume", str(self.path)),
            ".",
        )
        return ClusterError(error.problem, remedy=kept)

    def _try(self, last: bool = False) -> None:
        """Write the rounds of all runs; warn where the file cannot be written now."""
        self._tried = time.monotonic()
        try:
            self.write(*self._runs)
        except FileError as error:
            said = [str(error)]
            if self._n_written:
                said.append(f"It still has {counted(self._n_written, 'round')}.")
            if not last:
                said.append("The fit goes on, and this is tried again.")
            warn_caller(" ".join(said))

    def write(self, first: Sequence[Round] | Trace, *others: Sequence[Round] | Trace) -> None:
        """Write the rounds of one run or several, whole or not at all.

        Raises
        ------
        NotRankedError
            A weak ranker is user-written.
        FileError
            The file cannot be written.
        """
        runs = [[_entry(n, one) for n, one in enumerate(run, 1)] for run in (first, *others)]
        content = msgspec.json.encode(
            _Content(self._estimator, self._parameters, runs[0], runs[1:])
        )
        checksum = hashlib.sha256(content).hexdigest()
        with atomic_write(self.path) as file:
            file.write(
                msgspec.json.encode(_File(_FORMAT, _VERSION, checksum, msgspec.Raw(content)))
            )
        self._n_written = sum(map(len, runs))


def shaping_parameters(estimator: Any) -> dict[str, str]:
    """Return the parameters on which the rounds of an estimator depend, written as text."""
    free = {one.name for one in parameters_of(estimator).values() if not one.shapes_model}
    return {
        name: repr(value.tolist() if isinstance(value, np.ndarray) else plain(value))
        for name, value in sorted(estimator.get_params(deep=False).items())
        if name not in free | {"n_estimators"}
    }


def read_checkpoint(path: PathLike, estimator: Any) -> list[Round]:
    """Read the rounds of a checkpoint of one run; see `read_runs`."""
    return read_runs(path, estimator)[0]


def read_runs(path: PathLike, estimator: Any) -> list[list[Round]]:
    """Read the rounds of every run of a checkpoint, for an estimator to go on from.

    Parameters
    ----------
    path : str or path
    estimator : estimator to fit
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
    name = type(estimator).__name__
    if content.estimator != name:
        raise ParameterError(
            f"{path} is a checkpoint of {printable(content.estimator)}, not of {name}.",
            parameter="resume",
            value=str(path),
        )
    _check_parameters(path, content.parameters, shaping_parameters(estimator))
    runs = [content.rounds, *content.others]
    longest = max(map(len, runs))
    if longest > estimator.n_estimators:
        raise ParameterError(
            f"{path} has {counted(longest, 'round')}, more than "
            f"n_estimators={estimator.n_estimators}.",
            parameter="resume",
            value=str(path),
        )
    try:
        return [[_round(one) for one in run] for run in runs]
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


def _check_loss(number: int, now: float, before: float) -> None:
    if now != before and not (np.isnan(now) and np.isnan(before)):
        raise DataError(
            f"Round {number} of the checkpoint has another loss on these data than on those that "
            "it was written with.",
            remedy="Fit on the same data in the same parts, or begin anew without the checkpoint.",
            parameter="resume",
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
