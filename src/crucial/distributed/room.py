"""How much memory the parts take on the workers, before they are loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crucial.distributed.homes import Homes
from crucial.distributed.survey import Survey
from crucial.errors import DataError
from crucial.rankers.gradient import GradientRanker
from crucial.wording import counted

__all__ = ["KeptCells", "MemoryEstimate", "check_workers", "estimate_memory"]

#: Bytes that a part keeps of a row beside its codes: label, query, weights, scores, potentials.
ROW_BYTES = 160
#: Bytes of a worker without rows: Python, libraries, machine code, and what they do not give back.
WORKER_BYTES = 350_000_000
#: Bytes of a row of a piece, beside its codes: label, query, weight.
PIECE_BYTES = 24


@dataclass(frozen=True)
class KeptCells:
    """What a ranker makes the parts keep of every cell, beside its code in the order of the input.

    Attributes
    ----------
    bytes : int
        The code in the order in which rows are used; for trees also by row and by block.
    orders : bool
        Whether the order of the rows of every query is kept, of 1 byte, or 2 where queries have
        more than 256 rows.
    """

    bytes: int = 1
    orders: bool = False

    @classmethod
    def of(cls, ranker: object) -> KeptCells:
        """Return what a ranker needs."""
        trees = isinstance(ranker, GradientRanker) or getattr(ranker, "weak", None) == "tree"
        drops = not trees and getattr(ranker, "choice", None) == "largest_drop"
        return cls(3 if trees else 1, drops)

    def per_cell(self, largest_query: int) -> int:
        """Return bytes of a cell, with its code."""
        order = np.min_scalar_type(max(0, largest_query - 1)).itemsize if self.orders else 0
        # (longer ones are not kept)
        return 1 + self.bytes + (order if order <= 2 else 0)


@dataclass(frozen=True)
class MemoryEstimate:
    """What a fit needs on the workers.

    Attributes
    ----------
    per_worker : int
        Bytes on the worker with most rows, while it is loading or training.
    n_workers, n_parts, n_rows, n_queries, n_features : int
        Features are those that vary.
    largest_query : int
        Rows of the query that has most.
    limit : int or None
        The least memory that a worker may use.
    row_bytes : int
        Bytes of a row.
    """

    per_worker: int
    n_workers: int
    n_parts: int
    n_rows: int
    n_queries: int
    n_features: int
    largest_query: int
    limit: int | None = None
    row_bytes: int = ROW_BYTES

    def __str__(self) -> str:
        size = f"{counted(self.n_rows, 'row')} in {counted(self.n_queries, 'query')}"
        each = f"on each of {self.n_workers} workers" if self.n_workers > 1 else "on 1 worker"
        return (
            f"{size}: needs about {_in_words(self.per_worker)} {each}; the largest query has "
            f"{counted(self.largest_query, 'row')}"
        )


def estimate_memory(
    survey: Survey,
    homes: Homes,
    worker_of: Mapping[int, str],
    watched: tuple[Survey, Homes] | None,
    limit: int | None,
    kept: KeptCells | None = None,
    threads: int = 1,
) -> MemoryEstimate:
    """Return what a fit needs on the workers.

    Parameters
    ----------
    survey, homes : the training rows
    worker_of : mapping
        The worker of each part.
    watched : the rows of the eval set, optional
    limit : int or None
        Of the worker with least memory.
    kept : KeptCells, optional
        What the ranker needs; that of stumps by default.
    threads : int
        Of a worker, each of which reads a part.
    """
    bins, largest = survey.bins, int(survey.query_sizes().max())
    cells = (kept or KeptCells()).per_cell(largest)
    row_bytes = cells * len(bins.features) + ROW_BYTES
    rows = dict.fromkeys(worker_of.values(), 0)
    for one in [homes] if watched is None else [homes, watched[1]]:
        for part, size in enumerate(one.sizes.tolist()):
            rows[worker_of[part]] += size
    resident = WORKER_BYTES + max(rows.values()) * row_bytes
    # (a part and its pieces, while they are joined)
    resident += int(homes.sizes.max(initial=0)) * (len(bins.features) + PIECE_BYTES)
    every = [*survey.parts, *([] if watched is None else watched[0].parts)]
    # (twice: as the reader has it, and as a table)
    width = 2 * bins.n_features * survey.first.instances.table.dtype.itemsize
    table = threads * max(part.n_rows for part in every) * width
    return MemoryEstimate(
        resident + table,
        len(rows),
        homes.n_parts,
        survey.n_rows,
        len(survey.ids),
        len(bins.features),
        largest,
        limit,
        row_bytes,
    )


def check_workers(estimate: MemoryEstimate, survey: Survey) -> None:
    """Refuse a query, or rows, that the memory of a worker has no room for.

    Raises
    ------
    DataError
        With the query, and with both sizes.
    """
    limit = estimate.limit
    if limit is None:
        return
    sizes = survey.query_sizes()
    largest = int(np.argmax(sizes))
    needed = WORKER_BYTES + int(sizes[largest]) * estimate.row_bytes
    if WORKER_BYTES < limit < needed:  # (more workers would not help)
        raise DataError(
            f"query {survey.ids[largest].item()!r} has {counted(int(sizes[largest]), 'row')}, "
            f"for which a worker needs {_in_words(needed)}, and it has {_in_words(limit)}. A query "
            "must fit into one worker.",
            remedy="Use workers with more memory, or divide the query.",
        )
    if estimate.per_worker > limit:
        raise DataError(
            f"{estimate}, and a worker has {_in_words(limit)}.",
            remedy="Use more workers, workers with more memory, or parts with fewer rows each.",
        )


def memory_limit(client: Any, workers: Sequence[str]) -> int | None:
    """Return the memory of the worker that has least; None if none has a limit."""
    known = client.scheduler_info()["workers"]
    limits = [known[one].get("memory_limit") for one in workers if one in known]
    found = [int(limit) for limit in limits if limit]
    return min(found) if found else None


def _in_words(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{max(1, round(size / 1e6)):,} MB"
