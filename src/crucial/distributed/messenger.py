"""Requests to the residences of workers, with an answer about every worker whatever happens."""

from __future__ import annotations

import asyncio
import pickle
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from crucial.distributed.residence import Answer, Lost, Residence, serve
from crucial.errors import ClusterError

__all__ = ["Messenger", "pickled"]

T = TypeVar("T")

_WORKER_LOOK = 0.5  # seconds between two looks at whether workers that have not answered are there


def pickled(value: object) -> bytes:
    """Return a request as bytes; functions and classes of a notebook or script are included."""
    from distributed.protocol.pickle import dumps

    written: bytes = dumps(value)
    return written


class Messenger:
    """Talks to the residences of one fit.

    Parameters
    ----------
    client : distributed.Client
    token : str
        Of the fit.
    patience : float
        Seconds to wait for a scheduler that does not answer.

    Attributes
    ----------
    sent, received : int
        Bytes.
    """

    def __init__(self, client: Any, token: str, patience: float) -> None:
        self._client, self._token, self._patience = client, token, patience
        self._residences: dict[str, Any] = {}
        self._n_residences = 0
        self._stuck: set[str] = set()
        self.sent = self.received = 0

    def workers(self) -> list[str]:
        """Return the addresses of the workers of the cluster that start what they are sent."""
        return sorted(set(self._insist(self._client.nthreads)) - self._stuck)

    def move_in(self, workers: Iterable[str]) -> set[str]:
        """Make a residence on every worker that has none; return the workers that have one.

        Raises
        ------
        ClusterError
            Workers cannot import the package, or none of all workers starts anything.
        """
        wanted = set(workers)
        for worker in sorted(wanted - set(self._residences)):
            self._n_residences += 1
            self._residences[worker] = self._insist(partial(self._new_residence, worker))
        began = time.monotonic()
        while waiting := {w for w in wanted if self._residences[w].status == "pending"}:
            waited = time.monotonic() - began
            if waited > _WORKER_LOOK and not waiting <= set(self.workers()):
                break
            if waited > self._patience:
                self._give_up(waiting)
                break
            time.sleep(0.005)
        there = {w for w in wanted if self._residences[w].status == "finished"}
        for worker in wanted - there:
            self._check_startable(worker)
            self.leave(worker)
        return there

    def _new_residence(self, worker: str) -> Any:
        return self._client.submit(
            Residence,
            self._token,
            actor=True,
            workers=[worker],
            pure=False,
            key=f"{self._token}-{self._n_residences}",
        )

    def _give_up(self, workers: set[str]) -> None:
        """Do without workers that do not start anything."""
        self._stuck |= workers
        if not self.workers():
            raise self._short_of_memory()

    def _short_of_memory(self) -> ClusterError:
        return ClusterError(
            f"No worker has started anything for {self._patience:.0f} s: Dask pauses workers that "
            "are short of memory.",
            remedy="Use more workers, or workers with more memory.",
        )

    async def _all_paused(self) -> bool:
        """Return whether Dask has paused all workers, so that a recipe may wait in vain."""
        known = (await self._client.scheduler.identity())["workers"].values()
        return bool(known) and all(worker["status"] == "paused" for worker in known)

    def _check_startable(self, worker: str) -> None:
        """Raise an error if a worker is there, but cannot make a residence."""
        from distributed import KilledWorker

        residence = self._residences[worker]
        error = residence.exception() if residence.status == "error" else None
        # (a RuntimeError is Dask's own, and means that the worker is lost)
        if error is not None and not isinstance(error, (KilledWorker, RuntimeError, OSError)):
            raise ClusterError(
                f"The worker {worker} cannot load parts: {type(error).__name__}: {error}.",
                remedy="Install the same version of crucial on every worker.",
            ) from error

    def leave(self, worker: str) -> None:
        """Free the residence on a worker."""
        residence = self._residences.pop(worker, None)
        if residence is not None:
            with suppress(Exception):  # (a client without a scheduler has nothing to release)
                residence.release()

    def close(self) -> None:
        """Free all residences."""
        for worker in list(self._residences):
            self.leave(worker)

    def keep_alive(self) -> None:
        """Run an empty task: a scheduler may end when it sees none for long."""
        self._insist(lambda: self._client.submit(int, pure=False).release())

    def ask(self, requests: Sequence[tuple[list[str], bytes]]) -> dict[str, Answer]:
        """Send requests, and return the answers by worker.

        Parameters
        ----------
        requests : sequence of (workers, pickled request)
            All at once; every worker gets at most one.

        Returns
        -------
        dict
            `Lost` for every worker that does not answer any more. If a worker of a request is
            lost, the others of the same request may be missing: ask them again.
        """
        self.sent += sum(len(workers) * len(request) for workers, request in requests)
        replies = self._insist(lambda: self._client.sync(self._ask_all, requests))
        answers: dict[str, Answer] = {}
        for worker, reply in replies.items():
            if isinstance(reply, bytes):
                self.received += len(reply)
                answers[worker] = pickle.loads(reply)
            elif isinstance(reply, OSError):  # (as are closed connections and timeouts)
                answers[worker] = Lost()
            else:
                raise ClusterError(
                    f"The worker {worker} cannot run its part: {type(reply).__name__}: {reply}.",
                    remedy="Install the same version of crucial on every worker.",
                ) from reply
        return answers

    async def _ask_all(self, requests: Sequence[tuple[list[str], bytes]]) -> dict[str, Any]:
        """Send requests and collect answers, while watching which workers are there."""
        asking = {
            asyncio.ensure_future(
                self._client.run(serve, self._token, request, workers=workers, on_error="return")
            ): workers
            for workers, request in requests
        }
        replies: dict[str, Any] = {}
        waiting: Collection[asyncio.Future[Any]] = set(asking)
        awake = looked = time.monotonic()
        try:
            while waiting:
                done, waiting = await asyncio.wait(waiting, timeout=_WORKER_LOOK)
                for future in done:
                    replies |= future.result()
                if waiting and not done:
                    there = await self._client.nthreads()
                    waiting = {one for one in waiting if not _gone(asking[one], there, replies)}
                    now = time.monotonic()
                    if now - looked > self._patience / 4:
                        looked = now
                        awake = awake if await self._all_paused() else now
                        if now - awake > self._patience:
                            raise self._short_of_memory()
        finally:
            for future in asking:
                future.cancel()
        return replies

    def _insist(self, request: Callable[[], T]) -> T:
        """Return what a request to the scheduler returns; wait for a scheduler that is away."""
        began = time.monotonic()
        while True:
            try:
                return request()
            except Exception as error:
                status = self._client.status
                waited = time.monotonic() - began
                lost = status in ("closed", "closing") or waited > self._patience
                if not lost and not isinstance(error, OSError):
                    raise
                if lost:
                    raise ClusterError(
                        f"The Dask scheduler does not answer any more ({error}).",
                        remedy="Start the cluster again, then fit again.",
                    ) from error
            time.sleep(0.1)


def _gone(workers: Sequence[str], there: Collection[str], replies: dict[str, Any]) -> bool:
    """Return whether some of the workers are not there, and note these as lost."""
    gone = [worker for worker in workers if worker not in there]
    replies |= {worker: OSError("the worker is gone") for worker in gone}
    return bool(gone)
