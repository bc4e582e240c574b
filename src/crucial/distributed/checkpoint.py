"""Checkpoints: the rounds of a fit so far in a file, from which a later fit goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from crucial.boosting.trace import Progress, Round, Trace
from crucial.distributed.checkpoint_file import shaping_parameters, write_rounds
from crucial.errors import (
    Argument,
    ClusterError,
    DataError,
    FileError,
    Message,
    NotRankedError,
)
from crucial.rankers.base import warn_caller
from crucial.types import PathLike
from crucial.wording import counted

__all__ = ["Checkpoint", "checking"]


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
        self._rounds: Sequence[Round] | Trace = ()  # none before the first new one
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
        checked = checking(progress, earlier)

        def after_round(done: int, trace: Trace) -> bool:
            stop = checked(done, trace)
            if done > len(earlier):
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
            if isinstance(error, ClusterError) and self._n_written:
                raise self._with_remedy(error) from error
            if self._n_written:
                error.add_note(f"{self._where}, from which it can be resumed.")
            raise

    @property
    def _where(self) -> str:
        return f"The rounds so far ({self._n_written}) are in {self.path}"

    def _with_remedy(self, error: ClusterError) -> ClusterError:
        kept = Message(
            error.remedy,
            " " if error.remedy else "",
            f"{self._where}: go on with ",
            Argument("resume", str(self.path)),
            ".",
        )
        return ClusterError(error.problem, remedy=kept)

    def _try(self, last: bool = False) -> None:
        """Write the rounds; warn where the file cannot be written now."""
        self._tried = time.monotonic()
        try:
            self.write(self._rounds)
        except FileError as error:
            said = [str(error)]
            if self._n_written:
                said.append(f"It still has {counted(self._n_written, 'round')}.")
            if not last:
                said.append("The fit goes on, and this is tried again.")
            warn_caller(" ".join(said))

    def write(self, rounds: Sequence[Round] | Trace) -> None:
        """Write rounds, whole or not at all.

        Raises
        ------
        NotRankedError
            A weak ranker is user-written.
        FileError
            The file cannot be written.
        """
        write_rounds(self.path, self._estimator, self._parameters, rounds)
        self._n_written = len(rounds)


def checking(progress: Progress | None, earlier: Sequence[Round]) -> Progress:
    """Return a function for the loop to call after every round, which checks replayed rounds.

    Parameters
    ----------
    progress : function or None
        Called as well.
    earlier : sequence of Round
        As in `Checkpoint.watching`.
    """

    def after_round(done: int, trace: Trace) -> bool:
        stop = progress is not None and progress(done, trace)
        if done <= len(earlier):
            _check_loss(done, trace[-1].log_loss, earlier[done - 1].log_loss)
        return stop

    return after_round


def _check_loss(number: int, now: float, before: float) -> None:
    if now != before and not (np.isnan(now) and np.isnan(before)):
        raise DataError(
            f"Round {number} of the checkpoint has another loss on these data than on those that "
            "it was written with.",
            remedy="Fit on the same data in the same parts, or begin anew without the checkpoint.",
            parameter="resume",
        )
