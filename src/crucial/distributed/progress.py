"""Progress of a fit on a cluster: rounds, loss, workers and bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from crucial.boosting.progress import Progress
from crucial.boosting.trace import Trace
from crucial.progress import progress_bar
from crucial.wording import counted

__all__ = ["Traffic", "show_parted_rounds", "traffic_note"]


class Traffic(Protocol):
    """What there is to report of parts on workers."""

    @property
    def n_workers(self) -> int:
        """Workers that have parts."""

    @property
    def losses(self) -> int:
        """Workers lost so far."""

    @property
    def bytes_sent(self) -> int:
        """Bytes of all messages to workers."""

    @property
    def bytes_received(self) -> int:
        """Bytes of all answers of workers."""


def traffic_note(traffic: Traffic) -> str:
    """Return the workers and the bytes in words."""
    size = f"{(traffic.bytes_sent + traffic.bytes_received) / 1e6:,.1f} MB"
    note = f"{counted(traffic.n_workers, 'worker')}  {size}"
    return f"{note}  {counted(traffic.losses, 'worker')} lost" if traffic.losses else note


@contextmanager
def show_parted_rounds(traffic: Traffic, rounds: int, verbose: int) -> Iterator[Progress | None]:
    """Show rounds, loss, measures, workers and bytes; yields the function to call after each round.

    None is yielded if nobody would see it; see `progress_bar` for what is shown where.
    """
    with progress_bar("boosting", rounds, wanted=bool(verbose), verbose=verbose) as show:
        if show is None:
            yield None
            return

        def after_round(done: int, trace: Trace) -> bool:
            last = trace[-1]
            values = {"loss": last.loss, **last.measures}
            written = "  ".join(f"{name} {value:.4f}" for name, value in values.items())
            show(done, f"{written}  {traffic_note(traffic)}")
            return False

        yield after_round
