"""Parts on the workers of a Dask cluster, which may come and go."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from crucial.distributed.messenger import Messenger, pickled
from crucial.distributed.parts import Parts, merged
from crucial.distributed.placement import moves_to_idle, placed
from crucial.distributed.residence import Call, Done, Drop, Failed, Load, PartRecipe
from crucial.distributed.results import no_worker
from crucial.errors import ClusterError

__all__ = ["DaskParts"]

_LOOK_AROUND = 5.0  # seconds between two looks for workers that have joined
_LOST_IN_A_ROW = 5  # losses of a part, with no call answered in between, that end the fit


class DaskParts(Parts):
    """Parts that stay on the workers of a Dask cluster, several per worker.

    A call sends one message to every worker and gets one back. When a worker is lost, its parts
    are loaded on others, the changes so far are repeated in them, and the call is made again; no
    part makes a change twice. A slow worker is waited for: what ends the wait is its answer, or
    that the scheduler has removed it. Workers that join get parts of those that have several.

    Parameters
    ----------
    client : distributed.Client
    recipes : sequence of PartRecipe
        One per part.
    sizes : sequence of int, optional
        Rows of every part, to spread them evenly.
    patience : float
        Seconds to wait for a first worker, or a scheduler to come back, before giving up.
    grace : float
        Seconds to wait for a lost worker to be replaced, before its parts go to the others.

    Attributes
    ----------
    n_parts, n_workers : int
    losses : int
        Workers lost so far.
    bytes_sent, bytes_received : int
    """

    def __init__(
        self,
        client: Any,
        recipes: Sequence[PartRecipe],
        *,
        sizes: Sequence[int] | None = None,
        patience: float = 60.0,
        grace: float = 10.0,
    ) -> None:
        self.n_parts = len(recipes)
        self._lost: set[str] = set()
        self._recipes = list(recipes)
        self._sizes = [1] * self.n_parts if sizes is None else list(sizes)
        self._patience, self._grace = patience, grace
        self._messenger = Messenger(client, f"crucial-parts-{uuid4().hex}", patience)
        self._homes: list[str | None] = [None] * self.n_parts
        self._in_a_row = [0] * self.n_parts
        self._log: list[bytes] = []
        self._expected_workers = 0
        self._looked_around = time.monotonic()
        try:
            self._settle()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free the parts on all workers; never raises."""
        with suppress(Exception):
            self._messenger.close()

    @property
    def n_workers(self) -> int:
        """Number of workers that have parts."""
        return len(set(self._homes) - {None})

    @property
    def losses(self) -> int:
        """Number of workers lost so far."""
        return len(self._lost)

    @property
    def bytes_sent(self) -> int:
        """Bytes of all messages to workers."""
        return self._messenger.sent

    @property
    def bytes_received(self) -> int:
        """Bytes of all answers of workers."""
        return self._messenger.received

    def call(self, method: str, *args: Any, changes: bool = False) -> list[Any]:
        """Call a method of every part; return the results, merged where they offer it.

        Raises
        ------
        ClusterError
            No worker or no scheduler is left, or a part is lost again and again.
        """
        if time.monotonic() - self._looked_around > _LOOK_AROUND:
            self._look_around()
        entry = pickled((method, args))
        request = pickled(Call(entry, len(self._log) if changes else None))
        results = self._answered(request)
        if changes:
            self._log.append(entry)
        self._in_a_row = [0] * self.n_parts
        return merged(value for _, value in sorted(results, key=lambda pair: pair[0]))

    def _answered(self, request: bytes) -> list[tuple[int, Any]]:
        """Return the results of a request to all workers, repeated until all have answered."""
        while True:
            if None in self._homes:
                self._settle()
            parts = self._parts_by_worker()
            answers = self._messenger.ask([(list(parts), request)])
            results: list[tuple[int, Any]] = []
            missing = False
            for worker, numbers in parts.items():
                answer = answers.get(worker)
                if isinstance(answer, Failed):
                    raise answer.error
                if isinstance(answer, Done) and sorted(answer.parts) == numbers:
                    results += answer.results
                    continue
                missing = True
                # (a worker without any answer was asked together with one that is lost)
                if answer is not None:
                    self._lose(worker)
            if not missing:
                return results

    def _parts_by_worker(self) -> dict[str, list[int]]:
        parts: dict[str, list[int]] = {}
        for number, home in enumerate(self._homes):
            if home is not None:
                parts.setdefault(home, []).append(number)
        return parts

    def _lose(self, worker: str, loading: Sequence[int] = ()) -> None:
        """Take a worker's parts from it, and those that it was loading, to load them elsewhere.

        Raises
        ------
        ClusterError
            The workers of these parts die one after the other.
        """
        self._lost.add(worker)
        self._messenger.leave(worker)
        lost = sorted({*loading, *(n for n, home in enumerate(self._homes) if home == worker)})
        for number in lost:
            self._homes[number] = None
            self._in_a_row[number] += 1
        often = [n for n in lost if self._in_a_row[n] > _LOST_IN_A_ROW]
        if often:
            names = ", ".join(f"{n} ({self._recipes[n]})" for n in often[:5])
            more = f" and {len(often) - 5} more" if len(often) > 5 else ""
            raise ClusterError(
                f"{'Part' if len(often) == 1 else 'Parts'} {names}{more}: the worker was lost "
                f"{self._in_a_row[often[0]]} times in a row. The workers probably run out of "
                "memory.",
                remedy="Use more workers, workers with more memory, or smaller parts.",
            )

    def _settle(self) -> None:
        """Load parts until every one has a worker."""
        while None in self._homes:
            workers = self._workers()
            for worker in set(self._homes) - {None} - set(workers):
                assert worker is not None
                self._lose(worker)
            loads = dict.fromkeys(workers, 0)
            for worker, numbers in self._parts_by_worker().items():
                loads[worker] = sum(self._sizes[n] for n in numbers)
            homeless = [n for n, home in enumerate(self._homes) if home is None]
            self._load(placed(homeless, self._sizes, loads))

    def _load(self, plan: Mapping[str, list[int]]) -> None:
        """Load parts on the workers of a plan; workers that are lost meanwhile load none."""
        there = self._messenger.move_in(plan)
        log = tuple(self._log)
        answers = self._messenger.ask(
            [
                ([worker], pickled(Load({n: self._recipes[n] for n in numbers}, log)))
                for worker, numbers in plan.items()
                if worker in there
            ]
        )
        for worker, answer in answers.items():
            if isinstance(answer, Failed):
                raise answer.error
            if isinstance(answer, Done):
                for number in plan[worker]:
                    self._homes[number] = worker
                continue
            self._lose(worker, plan[worker])

    def _workers(self) -> list[str]:
        """Return the workers there are; wait for some, and for lost ones to be replaced."""
        began = time.monotonic()
        while True:
            workers = self._messenger.workers()
            waited = time.monotonic() - began
            enough = len(workers) >= self._expected_workers or waited > self._grace
            if workers and enough:
                self._expected_workers = len(workers)
                return workers
            if not workers and waited > self._patience:
                raise no_worker(self._patience)
            time.sleep(0.1)

    def _look_around(self) -> None:
        """Give parts to workers that have joined, and keep the scheduler from seeing us as idle."""
        self._messenger.keep_alive()
        workers = self._messenger.workers()
        self._expected_workers = max(self._expected_workers, len(workers))
        homes = [home for home in self._homes if home is not None]
        if len(homes) == self.n_parts:
            moves = moves_to_idle(homes, self._sizes, workers)
            for worker, numbers in self._parts_by_worker().items():
                leaving = tuple(n for n in numbers if n in moves)
                if leaving:
                    # (what is answered does not matter: a worker that did not drop them
                    # lists other parts than it should in its next answer, and loses all)
                    self._messenger.ask([([worker], pickled(Drop(leaving)))])
                    for number in leaving:
                        self._homes[number] = None
        self._looked_around = time.monotonic()
