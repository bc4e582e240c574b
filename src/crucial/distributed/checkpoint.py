"""Checkpoints: the rounds of a fit so far in a file, from which a later fit goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from crucial.boosting.progress import Progress
from crucial.boosting.trace import Round, Trace
from crucial.distributed.checkpoint_file import shaping_parameters, write_runs
from crucial.errors import (
    Argument,
    ClusterError,
    DataError,
    FileError,
    Message,
    NotRankedError,
)
from crucial.estimators.warn import warn_caller
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
            run, replayed = _replayed(done, trace, earlier, rounds)
            if replayed:
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

        A `ClusterError` then names the file, as does a note to any other error.
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
        runs = [first, *others]
        write_runs(self.path, self._estimator, self._parameters, runs)
        self._n_written = sum(map(len, runs))


def checking(
    progress: Progress | None, earlier: Sequence[Sequence[Round]], rounds: int | None = None
) -> Progress:
    """Check rounds that are replayed, where no checkpoint is written.

    Parameters
    ----------
    progress : callable, optional
        Called as well.
    earlier, rounds
        As in `Checkpoint.watching_runs`.
    """

    def after_round(done: int, trace: Trace) -> bool:
        stop = progress is not None and progress(done, trace)
        _replayed(done, trace, earlier, rounds)
        return stop

    return after_round


def _replayed(
    done: int, trace: Trace, earlier: Sequence[Sequence[Round]], rounds: int | None
) -> tuple[int, bool]:
    """Return the run of a round, and whether it is one of the checkpoint, with the same loss."""
    run, number = (0, done) if rounds is None else divmod(done - 1, rounds)
    number = number if rounds is None else number + 1
    before = earlier[run] if run < len(earlier) else ()
    if number > len(before):
        return run, False
    _check_loss(number, trace[-1].log_loss, before[number - 1].log_loss)
    return run, True


def _check_loss(number: int, now: float, before: float) -> None:
    if now != before and not (np.isnan(now) and np.isnan(before)):
        raise DataError(
            f"Round {number} of the checkpoint has another loss on these data than on those that "
            "it was written with.",
            remedy="Fit on the same data in the same parts, or begin anew without the checkpoint.",
            parameter="resume",
        )
