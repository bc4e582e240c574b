"""Progress of a fit on a cluster: rounds, loss, workers and bytes."""

from __future__ import annotations

from contextlib import AbstractContextManager

from crucial.boosting.trace import Progress, show_rounds
from crucial.distributed.dask_parts import DaskParts
from crucial.wording import counted

__all__ = ["show_parted_rounds", "traffic_note"]


def traffic_note(parts: DaskParts) -> str:
    """Return the workers and the bytes in words."""
    size = f"{(parts.bytes_sent + parts.bytes_received) / 1e6:,.1f} MB"
    note = f"{counted(parts.n_workers, 'worker')}  {size}"
    return f"{note}  {counted(parts.losses, 'worker')} lost" if parts.losses else note


def show_parted_rounds(
    parts: DaskParts, rounds: int, verbose: int
) -> AbstractContextManager[Progress | None]:
    """Show rounds as `show_rounds` does, with workers and bytes."""
    return show_rounds(rounds, verbose, lambda: traffic_note(parts))
