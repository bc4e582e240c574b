"""A part of the rows: what a worker keeps of a fit, and the questions it answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crucial.distributed.part_rows import PartRows

__all__ = ["Part"]


class Part:
    """Rows of whole queries with their scores, on the worker that has them.

    Parameters
    ----------
    rows : PartRows
        The training rows; none is fine.
    eval_rows : PartRows, optional
        Rows of the eval set. All parts have some, or none has; a part may have 0 of them.
    """

    def __init__(self, rows: PartRows, eval_rows: PartRows | None = None) -> None:
        self._rows, self._eval_rows = rows, eval_rows

    def replay(self, calls: Sequence[tuple[str, tuple[Any, ...]]]) -> None:
        """Bring a part that was loaded again up to date.

        Parameters
        ----------
        calls : sequence of (method, arguments)
            All calls so far that changed the parts, the oldest first.
        """
        for method, arguments in calls:
            getattr(self, method)(*arguments)
