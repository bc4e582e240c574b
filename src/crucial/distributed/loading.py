"""From the input of a fit to parts on workers: survey, plan, estimate, code, load."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from crucial.data.bins import Bins
from crucial.data.dataset import Dataset
from crucial.distributed.coding import RowsRecipe, coded_parts
from crucial.distributed.columns import ColumnRoles
from crucial.distributed.dask_parts import DaskParts
from crucial.distributed.fit import Head
from crucial.distributed.homes import Homes, find_homes
from crucial.distributed.placement import placed
from crucial.distributed.results import no_worker
from crucial.distributed.room import (
    KeptCells,
    MemoryEstimate,
    check_workers,
    estimate_memory,
    memory_limit,
)
from crucial.distributed.sources import (
    Source,
    beside,
    column_of,
    is_dask,
    list_sources,
    with_one_width,
)
from crucial.distributed.survey import Survey, gathered, survey
from crucial.errors import DataError
from crucial.io.parts import TablePart, bins_without_rows

__all__ = ["FitInput", "LoadedParts", "load_parts"]

# Parts per worker: enough that those of a lost worker are shared among the others.
_PARTS_PER_WORKER = 4


@dataclass(frozen=True)
class FitInput:
    """The rows to learn from, as the user gives them.

    Attributes
    ----------
    data : what `list_sources` takes
    label, qid, weight, query_weight : names of columns, or Dask arrays
    features, ignore : names of columns
    eval_set : rows to measure on, optional
        In a form of ``data``, with the same columns; or (X, y, qid) of Dask arrays.
    bins : Bins or Dataset, optional
        Bins to use.
    options : mapping
        Of the reader of files.
    """

    data: Any
    label: Any = "label"
    qid: Any = "qid"
    weight: Any = None
    query_weight: Any = None
    features: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    eval_set: Any = None
    bins: Bins | Dataset | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def sources(self, client: Any) -> list[Source]:
        """Return the parts of the rows to learn from."""
        roles = {
            "label": self.label,
            "qid": self.qid,
            "weight": self.weight,
            "query_weight": self.query_weight,
        }
        named: dict[str, Any] = {role: column_of(role, one) for role, one in roles.items()}
        columns = ColumnRoles(**named, features=self.features, ignore=self.ignore)
        found = list_sources(self.data, roles, columns, self.options, client)
        return with_one_width(client, found)

    def eval_sources(self, client: Any, first: TablePart) -> list[Source]:
        """Return the parts of the eval set, which has the features of the first part."""
        roles, data = {}, self.eval_set
        if isinstance(data, tuple) and len(data) in (2, 3) and is_dask(data[0]):
            data, *others = data
            roles = dict(zip(("label", "qid"), others))
            if len(others) == 1 and self.qid is not None:
                raise DataError(
                    "eval_set has no query ids, and the rows to learn from have.",
                    remedy="Pass eval_set=(X, y, qid).",
                    parameter="eval_set",
                )
        rows, options = first.instances, dict(self.options)
        names: dict[str, Any] = {}
        for role in ("label", "qid"):
            names[role] = column_of(role, getattr(self, role))
            if names[role] == beside(role) and role not in (rows.names or ()):
                names[role] = role  # (a frame may have what lay beside the rows to learn from)
        columns = ColumnRoles(**names, features=rows.names, n_features=rows.n_features)
        if first.data.index_base is not None:
            options["index_base"] = first.data.index_base
        found = list_sources(data, roles, columns, options, client)
        return [one if one.is_file else replace(one, name=f"eval_set, {one.name}") for one in found]


@dataclass(frozen=True)
class LoadedParts:
    """Parts on workers.

    Attributes
    ----------
    parts : DaskParts
    survey : Survey
        Of the rows to learn from.
    memory : MemoryEstimate
    """

    parts: DaskParts
    survey: Survey
    memory: MemoryEstimate

    @property
    def head(self) -> Head:
        """What the rows of all parts have in common."""
        first = self.survey.first
        rows, with_qid = first.instances, first.data.qid is not None
        return Head(self.survey.bins, rows.names, rows.times, with_qid)

    @property
    def lowest_label(self) -> float:
        """The lowest label of all rows."""
        return min(part.lowest for part in self.survey.parts)


@contextmanager
def load_parts(
    client: Any,
    given: FitInput,
    *,
    max_bins: int = 255,
    shuffle: bool = True,
    n_parts: int | None = None,
    kept: KeptCells | None = None,
    report: Callable[[MemoryEstimate], None] | None = None,
    verbose: int = 0,
) -> Iterator[LoadedParts]:
    """Load the rows on the workers of a cluster, and free them at the end of the block.

    Parameters
    ----------
    client : distributed.Client
    given : FitInput
    max_bins : int
    shuffle : bool
        Whether queries may be in several parts of the input.
    n_parts : int, optional
        Parts to make at most; by default a few per worker.
    kept : KeptCells, optional
        What the ranker makes the parts keep.
    report : function, optional
        Called with the memory that the rows need, before they are loaded.
    verbose : int
        0 shows no progress.
    """
    workers = _workers(client)
    limit = n_parts or _PARTS_PER_WORKER * len(workers)
    bins = None if given.bins is None else bins_without_rows(given.bins)
    sources = given.sources(client)
    surveyed = survey(client, sources, bins=bins, max_bins=max_bins, verbose=verbose)
    homes = find_homes(surveyed, limit, shuffle)
    watched = None
    if given.eval_set is not None:
        watched = _eval_rows(client, given, surveyed, homes.n_parts, verbose)
    plan = placed(range(homes.n_parts), homes.sizes.tolist(), dict.fromkeys(workers, 0))
    worker_of = {part: worker for worker, parts in plan.items() for part in parts}
    memory = estimate_memory(
        surveyed,
        homes,
        worker_of,
        watched,
        memory_limit(client, workers),
        kept,
        max(client.nthreads().values(), default=1),
    )
    check_workers(memory, surveyed)
    if report is not None:
        report(memory)
    rows = coded_parts(client, surveyed, homes)
    eval_rows = [] if watched is None else coded_parts(client, *watched)
    # (first of all: on a worker that is still coding, parts would have to wait for a thread)
    _wait(rows, homes.n_parts, verbose)
    _wait(eval_rows, homes.n_parts, 0)
    recipes = [
        RowsRecipe(
            f"part {number} of {homes.n_parts}",
            one.key,
            eval_rows[number].key if number < len(eval_rows) else None,
            None if watched is None else surveyed.bins,
        )
        for number, one in enumerate(rows)
    ]
    # (the futures are kept: where rows are lost with their worker, Dask makes them again)
    with DaskParts(client, recipes, sizes=homes.sizes.tolist()) as parts:
        yield LoadedParts(parts, surveyed, memory)
    del rows, eval_rows


def _wait(futures: list[Any], n_parts: int, verbose: int) -> None:
    """Wait until the rows of all parts are coded; they stay on the workers."""
    names = [f"part {number} of {n_parts}" for number in range(len(futures))]
    gathered("coding parts", names, [_Finished(one) for one in futures], verbose)


class _Finished:
    """The end of a task, whose result is not fetched."""

    def __init__(self, future: Any) -> None:
        self._future, self.client, self.done = future, future.client, future.done

    def result(self, timeout: float | None = None) -> None:
        """Wait for the task, and raise what it raised."""
        error = self._future.exception(timeout)
        if error is not None:
            raise error


def _workers(client: Any) -> list[str]:
    """Return the workers of the cluster; wait for the first one."""
    try:
        client.wait_for_workers(1, timeout=60)
    except TimeoutError:
        raise no_worker(60) from None
    return sorted(client.nthreads())


def _eval_rows(
    client: Any, given: FitInput, surveyed: Survey, n_parts: int, verbose: int
) -> tuple[Survey, Homes]:
    """Survey the eval set: the same features, bins and kind of ids, without weights."""
    first = surveyed.first
    unweighted = replace(first, data=replace(first.data, weight=None))
    sources = given.eval_sources(client, first)
    found = survey(client, sources, bins=surveyed.bins, first=unweighted, verbose=verbose)
    return found, find_homes(found, n_parts, True)
