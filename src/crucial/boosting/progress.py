"""What follows a fit round by round: the progress bar, and functions of the user."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from crucial.boosting.trace import Round, Trace
from crucial.progress import progress_bar

__all__ = ["STOPPED", "Callback", "FinishedRound", "Progress", "show_rounds", "with_callbacks"]

#: Why a run ended that a callback stopped, as the trace has it.
STOPPED = "stopped by a callback"


@dataclass(frozen=True, eq=False)
class FinishedRound:
    """A round that is done, as callbacks get it.

    Attributes
    ----------
    number : int
        Of this round, from 1.
    n_rounds : int
        Rounds at most.
    entry : Round
        Weak ranker, weight, loss, and the measures on the eval set.
    trace : Trace
        All rounds so far.
    """

    number: int
    n_rounds: int
    entry: Round
    trace: Trace

    @property
    def loss(self) -> float:
        """The training loss after the round."""
        return self.entry.loss

    @property
    def measures(self) -> dict[str, float]:
        """Values on the eval set after the round, by name; empty without an eval set."""
        return dict(self.entry.measures)


#: A function of the user, called after every round; True ends the training.
Callback: TypeAlias = Callable[[FinishedRound], object]
#: What the loops call after every round: takes the number of rounds done and the trace, and
#: returns whether to stop.
Progress: TypeAlias = Callable[[int, Trace], bool]


@contextmanager
def show_rounds(
    rounds: int, verbose: int, more: Callable[[], str] | None = None
) -> Iterator[Progress | None]:
    """Show the rounds done and the last loss; yields the function to call after each round.

    None is yielded if nobody would see it; see `progress_bar` for what is shown where.

    Parameters
    ----------
    more : function, optional
        Returns what else is shown after each round.
    """
    with progress_bar("boosting", rounds, wanted=bool(verbose), verbose=verbose) as show:
        if show is None:
            yield None
            return

        def after_round(done: int, trace: Trace) -> bool:
            last = trace[-1]
            values = {"loss": last.loss, **last.measures}
            notes = [f"{name} {value:.4f}" for name, value in values.items()]
            show(done, "  ".join(notes if more is None else [*notes, more()]))
            return False

        yield after_round


def with_callbacks(
    progress: Progress | None,
    rounds: int,
    callbacks: Callback | Sequence[Callback] | None,
    *,
    replayed: int = 0,
) -> Progress | None:
    """Return a function that shows progress, then calls the callbacks, and returns whether to stop.

    Parameters
    ----------
    progress : function, or None
        Shows the progress.
    rounds : int
        Rounds at most.
    callbacks : function, sequence of functions, or None
        Each is called with a `FinishedRound`; one that returns True ends the run.
    replayed : int
        First rounds, which an earlier fit has made: callbacks are not called for them.
    """
    every = [callbacks] if callable(callbacks) else list(callbacks or ())
    if not every:
        return progress

    def after_round(done: int, trace: Trace) -> bool:
        if progress is not None:
            progress(done, trace)
        if done <= replayed:
            return False
        finished = FinishedRound(done, rounds, trace[-1], trace)
        answers = [callback(finished) for callback in every]  # (all are called)
        # (NumPy's True too, as comparisons of its numbers return it; no other number stops)
        return any(isinstance(answer, bool | np.bool_) and bool(answer) for answer in answers)

    return after_round
