"""The progress bar of a fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from crucial.boosting.trace import Trace
from crucial.progress import progress_bar

__all__ = ["show_rounds"]


@contextmanager
def show_rounds(rounds: int, wanted: bool) -> Iterator[Callable[[int, Trace], None] | None]:
    """Show the rounds done and the last loss; yields the function to call after each round.

    None is yielded if nobody would see it.
    """
    with progress_bar("boosting", rounds, wanted=wanted) as show:
        if show is None:
            yield None
            return

        def show_round(done: int, trace: Trace) -> None:
            last = trace[-1]
            values = {"loss": last.loss, **last.measures}
            show(done, "  ".join(f"{name} {value:.4f}" for name, value in values.items()))

        yield show_round
