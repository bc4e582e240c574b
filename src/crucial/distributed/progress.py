"""Progress of a fit on a cluster: rounds, loss, workers and bytes."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from crucial.boosting.progress import Progress, show_rounds
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


def show_parted_rounds(
    traffic: Traffic, rounds: int, verbose: int
) -> AbstractContextManager[Progress | None]:
    """Show rounds as `show_rounds` does, with workers and bytes."""
    return show_rounds(rounds, verbose, lambda: traffic_note(traffic))
