"""The parts of the rows as the loop sees them: in this process, or on workers that come and go.

`Parts.total` calls a method of every part and adds up the results. On a cluster, every worker has
one `WorkerParts` per fit. It is a Dask actor, which gives it the right lifetime: Dask neither
spills nor moves it, and frees it when the client releases it or dies. Requests do not go through
the actor's proxy, whose futures can stay pending when a worker dies, but through ``Client.run``,
which reports every worker that does not answer.

A part of a lost worker is loaded on another one, and brought up to date by ``restore(log)``. A
request may arrive twice, or after its sender has given up waiting. Changes of parts are therefore
numbered: a part that has made a change does not make it again, and the worker keeps the result of
the last change for whoever asks again.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import math
import pickle
import signal
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, Protocol, Self, TypeAlias, TypeVar
from uuid import uuid4
from weakref import WeakValueDictionary

from crucial.data.words import one_line
from crucial.errors import ClusterError, CrucialError, DataError

# --- The parts of the rows, wherever they are


def merge(one: Any, other: Any) -> Any:
    """Return the sum of two results; None is that of a part without rows.

    Tuples are added field by field, and other results by their method ``merge`` or by ``+``.
    Sums are exact: neither the cut into parts nor their order changes the total.

    Examples
    --------
    >>> merge((1, [2], None), (3, [4], 5))
    (4, [2, 4], 5)
    """
    if one is None or other is None:
        return other if one is None else one
    if hasattr(one, "merge"):
        return one.merge(other)
    if isinstance(one, tuple):
        fields = tuple(map(merge, one, other))
        return type(one)(*fields) if hasattr(one, "_fields") else fields
    return one + other


class Parts(Protocol):
    """The parts of the rows.

    Attributes
    ----------
    n_parts : int
    """

    n_parts: int

    @abstractmethod
    def total(self, method: str, *args: Any, changes: bool = False) -> Any:
        """Call a method of every part; return the sum of the results, None if there is none.

        Parameters
        ----------
        changes : bool
            Whether the call alters the parts. Such calls are kept: a part that has to be loaded
            again is brought up to date by its method ``restore(calls)``, with all of them as
            pairs (method, arguments), the oldest first. So arguments are small, and what a call
            does depends on them alone.
        """


class LocalParts(Parts):
    """Parts in this process.

    Parameters
    ----------
    parts : sequence of objects with the methods to call

    Examples
    --------
    >>> LocalParts(["one", "three"]).total("upper")
    'ONETHREE'
    """

    def __init__(self, parts: Sequence[object]) -> None:
        self._parts = list(parts)
        self.n_parts = len(self._parts)

    def total(self, method: str, *args: Any, changes: bool = False) -> Any:
        """Call a method of every part; return the sum of the results."""
        return reduce(merge, (getattr(part, method)(*args) for part in self._parts), None)


# --- The side of the workers: parts that stay on a worker, and the requests that it answers


#: A call: the name of a method and its arguments.
Entry: TypeAlias = tuple[str, tuple[Any, ...]]


class PartRecipe(Protocol):
    """Makes a part on whichever worker it is called; ``str()`` names it in errors."""

    def load(self) -> Any:
        """Return the part of this process."""


@dataclass(frozen=True)
class Load:
    """Load parts and repeat the logged changes in them.

    Attributes
    ----------
    recipes : dict
        By the number of the part.
    log : tuple of bytes
        The pickled `Entry` of every change so far, oldest first.
    """

    recipes: dict[int, PartRecipe]
    log: tuple[bytes, ...]


@dataclass(frozen=True)
class Call:
    """Call a method of every part.

    Attributes
    ----------
    entry : bytes
        The pickled `Entry`.
    position : int or None
        Place in the log of a call that changes the parts; None for one that does not.
    """

    entry: bytes
    position: int | None


@dataclass(frozen=True)
class Drop:
    """Forget parts that another worker is about to load."""

    parts: tuple[int, ...]


@dataclass(frozen=True)
class Done:
    """Answer: which parts the worker has, and the sum of their results."""

    parts: tuple[int, ...]
    result: Any = None


@dataclass(frozen=True)
class Lost:
    """Answer: the worker does not have the parts, or not in the state that it should."""


@dataclass(frozen=True)
class Failed:
    """Answer: a part raised an error."""

    error: Exception


Answer: TypeAlias = Done | Lost | Failed

_WORKER_PARTS: WeakValueDictionary[tuple[str, str], WorkerParts] = WeakValueDictionary()


class WorkerParts:
    """The parts of one fit on one worker.

    Parameters
    ----------
    token : str
        Of the fit.
    address, threads : optional
        Of the worker; by default those of the Dask worker that runs this.
    """

    def __init__(self, token: str, address: str | None = None, threads: int = 1) -> None:
        if address is None:
            from distributed import get_worker

            worker = get_worker()
            address, threads = str(worker.address), int(worker.state.nthreads)
            _silence_calls()
        self._threads = threads
        # Recipes may ask Dask for its client, which it finds by the context of its own threads.
        self._context = contextvars.copy_context()
        self._parts: dict[int, Any] = {}
        self._changes: dict[int, int] = {}  # how many each part has made
        self._kept: tuple[int, frozenset[int], Any] = (-1, frozenset(), None)
        # One thread, so that a request never sees a part in the middle of another one.
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="crucial-parts")
        _WORKER_PARTS[token, address] = self

    def answer(self, request: bytes) -> bytes:
        """Return the pickled answer to a pickled request."""
        try:
            return pickle.dumps(self._answer(pickle.loads(request)), protocol=5)
        except Exception as error:
            # A part may be left half changed: it must not be used any more.
            self._parts.clear()
            return _pickled_failure(error)

    def _answer(self, request: Load | Call | Drop) -> Answer:
        if isinstance(request, Load):
            return self._load(request)
        if isinstance(request, Drop):
            for number in request.parts:
                self._parts.pop(number, None)
            return Done(tuple(self._parts))
        return self._call(request)

    def _load(self, request: Load) -> Done:
        log = [pickle.loads(entry) for entry in request.log]
        load = partial(_loaded, log, self._threads)
        with ThreadPoolExecutor(min(self._threads, len(request.recipes))) as pool:
            loading = [
                (number, pool.submit(self._context.copy().run, load, number, recipe))
                for number, recipe in request.recipes.items()
            ]
            for number, future in loading:
                self._parts[number] = future.result()
                self._changes[number] = len(log)
        return Done(tuple(self._parts))

    def _call(self, request: Call) -> Answer:
        method, arguments = pickle.loads(request.entry)
        position = request.position
        waiting = sorted(self._parts)
        result = None
        if position is not None:
            waiting = [n for n in waiting if self._changes[n] == position]
            changed = frozenset(self._parts) - frozenset(waiting)
            if changed:
                last, covered, result = self._kept
                if last != position or changed != covered:
                    return Lost()
        for number in waiting:
            result = merge(result, getattr(self._parts[number], method)(*arguments))
            if position is not None:
                self._changes[number] += 1
        if position is not None:
            self._kept = position, frozenset(self._parts), result
        return Done(tuple(self._parts), result)


def _loaded(log: Sequence[Entry], threads: int, number: int, recipe: PartRecipe) -> Any:
    """Return a part in the state after the logged changes."""
    try:
        part = recipe.load()
    except CrucialError:
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise ClusterError(f"Part {number} ({recipe}) cannot be loaded: {what}") from error
    part.threads = threads
    part.restore(log)
    return part


def _pickled_failure(error: Exception) -> bytes:
    """Return the answer that reports an error, whether or not the error can be pickled."""
    try:
        answer = pickle.dumps(Failed(error), protocol=5)
        pickle.loads(answer)
    except Exception:
        answer = pickle.dumps(Failed(ClusterError(f"{type(error).__name__}: {error}")), protocol=5)
    return answer


async def serve(token: str, request: bytes, dask_worker: Any = None) -> bytes:
    """Answer a request on a worker; ``Client.run`` calls it with the worker itself."""
    there = _WORKER_PARTS.get((token, str(dask_worker.address)))
    if there is None:
        return pickle.dumps(Lost(), protocol=5)
    # Not in the event loop, which has to go on sending heartbeats.
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(there.thread, partial(there.answer, request))


def _silence_calls() -> None:
    """Keep the worker from logging a line for every call of `serve`."""
    logger = logging.getLogger("distributed.worker")
    if _not_a_call not in logger.filters:
        logger.addFilter(_not_a_call)


def _not_a_call(record: logging.LogRecord) -> bool:
    arguments = record.args if isinstance(record.args, tuple) else ()
    return not ("out-of-band" in str(record.msg) and "serve" in arguments)


def dask_setup(worker: Any) -> None:
    """Ignore Ctrl-C; the worker processes of a local cluster preload this module for it.

    A terminal sends Ctrl-C to all processes of a command. The process that fits closes the cluster
    then; workers that end by themselves, with a traceback each, would only be in its way.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


# --- Requests to the parts on workers, with an answer about every worker whatever happens


T = TypeVar("T")

_WORKER_LOOK = 0.5  # seconds between two looks at whether workers that have not answered are there


def pickled(value: object) -> bytes:
    """Return a request as bytes; functions and classes of a notebook or script are included."""
    from distributed.protocol.pickle import dumps

    written: bytes = dumps(value)
    return written


class Messenger:
    """Talks to the `WorkerParts` of one fit.

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
        self._actors: dict[str, Any] = {}
        self._n_actors = 0
        self._stuck: set[str] = set()
        self.sent = self.received = 0

    def workers(self) -> list[str]:
        """Return the addresses of the workers of the cluster that start what they are sent."""
        return sorted(set(self._insist(self._client.nthreads)) - self._stuck)

    def start(self, workers: Iterable[str]) -> set[str]:
        """Make `WorkerParts` on every worker that has none; return the workers that have some.

        Raises
        ------
        ClusterError
            Workers cannot import the package, or none of all workers starts anything.
        """
        wanted = set(workers)
        for worker in sorted(wanted - set(self._actors)):
            self._n_actors += 1
            self._actors[worker] = self._insist(partial(self._new_actor, worker))
        began = time.monotonic()
        while waiting := {w for w in wanted if self._actors[w].status == "pending"}:
            waited = time.monotonic() - began
            if waited > _WORKER_LOOK and not waiting <= set(self.workers()):
                break
            if waited > self._patience:
                self._give_up(waiting)
                break
            time.sleep(0.005)
        there = {w for w in wanted if self._actors[w].status == "finished"}
        for worker in wanted - there:
            self._check_startable(worker)
            self.free(worker)
        return there

    def _new_actor(self, worker: str) -> Any:
        return self._client.submit(
            WorkerParts,
            self._token,
            actor=True,
            workers=[worker],
            pure=False,
            key=f"{self._token}-{self._n_actors}",
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
        """Raise an error if a worker is there, but cannot make its `WorkerParts`."""
        from distributed import KilledWorker

        actor = self._actors[worker]
        error = actor.exception() if actor.status == "error" else None
        # (a RuntimeError is Dask's own, and means that the worker is lost)
        if error is not None and not isinstance(error, (KilledWorker, RuntimeError, OSError)):
            raise ClusterError(
                f"The worker {worker} cannot load parts: {type(error).__name__}: {error}.",
                remedy="Install the same version of crucial on every worker.",
            ) from error

    def free(self, worker: str) -> None:
        """Free the parts on a worker."""
        actor = self._actors.pop(worker, None)
        if actor is not None:
            with suppress(Exception):  # (a client without a scheduler has nothing to release)
                actor.release()

    def close(self) -> None:
        """Free the parts on all workers."""
        for worker in list(self._actors):
            self.free(worker)

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
        """Return the result of a request to the scheduler; wait for a scheduler that is away."""
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


# --- Which worker gets which part


def placed(
    parts: Collection[int], sizes: Sequence[int], loads: Mapping[str, int]
) -> dict[str, list[int]]:
    """Return the parts that each worker gets: the largest first, each to the least loaded worker.

    Parameters
    ----------
    parts : numbers of the parts to place
    sizes : rows of every part, by its number
    loads : rows that each worker has already

    Examples
    --------
    >>> placed([0, 1, 2], [5, 3, 3], {"a": 0, "b": 0})
    {'a': [0], 'b': [1, 2]}
    """
    loads = dict(loads)
    plan: dict[str, list[int]] = {}
    for number in sorted(parts, key=lambda n: (-sizes[n], n)):
        worker = min(loads, key=lambda name: (loads[name], name))
        plan.setdefault(worker, []).append(number)
        loads[worker] += sizes[number]
    return {worker: sorted(numbers) for worker, numbers in sorted(plan.items())}


def moves_to_idle(
    worker_of: Sequence[str], sizes: Sequence[int], workers: Collection[str]
) -> set[int]:
    """Return the parts to take from loaded workers if others have none, as after a restart.

    Workers keep what they have up to their share, so that few parts are loaded again.

    Examples
    --------
    >>> moves_to_idle(["a", "a", "a", "a"], [1, 1, 1, 1], ["a", "b"])
    {2, 3}
    >>> moves_to_idle(["a", "a", "b"], [1, 1, 1], ["a", "b"])
    set()
    """
    if not set(workers) - set(worker_of):
        return set()
    share = math.fsum(sizes) / len(workers)
    moves: set[int] = set()
    for worker in set(worker_of):
        load = 0
        for number in (n for n, own in enumerate(worker_of) if own == worker):
            # (every worker keeps at least one part: moving a single one gains nothing)
            if load and load + sizes[number] > share:
                moves.add(number)
            else:
                load += sizes[number]
    return moves


# --- Results of tasks about parts: waiting for them, and what their errors say


_LOOK = 5.0  # seconds between two looks at whether there is a worker at all
_PATIENCE = 60.0  # seconds to wait for one


def failed(name: str, error: BaseException) -> DataError:
    """Return the error for a part that something else than its content kept from being read."""
    said = f"{name} cannot be read: {type(error).__name__}: {one_line(error)}"
    return DataError(said.rstrip(": "))


def no_worker(seconds: float) -> ClusterError:
    """Return the error for a cluster without workers."""
    return ClusterError(
        f"The cluster has had no worker for {seconds:.0f} s.",
        remedy="Start workers (`dask worker ADDRESS`), then fit again.",
    )


def result_of(name: str, future: Any, fetch: bool = True) -> Any:
    """Return the result of a task, however long it takes as long as there are workers.

    Parameters
    ----------
    name : str
        What the task is about, for messages.
    future : distributed.Future
    fetch : bool
        Whether the result is wanted; else it stays on the workers, and None is returned.

    Raises
    ------
    DataError
        Dask could not compute it.
    ClusterError
        Its workers die, or there is none.
    """
    from distributed import KilledWorker

    try:
        if fetch:
            return _waited(future, future.result)
        error = _waited(future, future.exception)
        if error is not None:
            raise error
        return None
    except CrucialError:
        raise
    except KilledWorker as error:
        raise ClusterError(
            f"{name}: the workers that were at it were lost one after the other. They probably run "
            "out of memory.",
            remedy="Use workers with more memory, or parts with fewer rows each.",
        ) from error
    except Exception as error:
        raise failed(name, error) from error


def _waited(future: Any, get: Callable[..., Any]) -> Any:
    """Wait for a task, and raise an error where no worker is left: Dask would wait for ever."""
    seen = time.monotonic()
    while True:
        try:
            return get(timeout=_LOOK)
        except TimeoutError:
            if future.done():  # (the task itself timed out, or has ended this moment)
                return get()
        now = time.monotonic()
        if future.client.nthreads():
            seen = now
        elif now - seen > _PATIENCE:
            raise no_worker(_PATIENCE)


# --- Parts on the workers of a Dask cluster, which may come and go


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
        self._worker_of: list[str | None] = [None] * self.n_parts
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

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the parts on all workers; never raises."""
        with suppress(Exception):
            self._messenger.close()

    @property
    def n_workers(self) -> int:
        """Number of workers that have parts."""
        return len(set(self._worker_of) - {None})

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

    def total(self, method: str, *args: Any, changes: bool = False) -> Any:
        """Call a method of every part; return the sum of the results.

        Raises
        ------
        ClusterError
            No worker or no scheduler is left, or a part is lost again and again.
        """
        if time.monotonic() - self._looked_around > _LOOK_AROUND:
            self._look_around()
        entry = pickled((method, args))
        request = pickled(Call(entry, len(self._log) if changes else None))
        result = self._answered(request)
        if changes:
            self._log.append(entry)
        self._in_a_row = [0] * self.n_parts
        return result

    def _answered(self, request: bytes) -> Any:
        """Return the sum of the answers of all workers, asked until all have answered."""
        while True:
            if None in self._worker_of:
                self._settle()
            parts = self._parts_by_worker()
            answers = self._messenger.ask([(list(parts), request)])
            result, missing = None, False
            for worker, numbers in parts.items():
                answer = answers.get(worker)
                if isinstance(answer, Failed):
                    raise answer.error
                if isinstance(answer, Done) and sorted(answer.parts) == numbers:
                    result = merge(result, answer.result)
                    continue
                missing = True
                # (a worker without any answer was asked together with one that is lost)
                if answer is not None:
                    self._lose(worker)
            if not missing:
                return result

    def _parts_by_worker(self) -> dict[str, list[int]]:
        parts: dict[str, list[int]] = {}
        for number, worker in enumerate(self._worker_of):
            if worker is not None:
                parts.setdefault(worker, []).append(number)
        return parts

    def _lose(self, worker: str, loading: Sequence[int] = ()) -> None:
        """Take a worker's parts from it, and those that it was loading, to load them elsewhere.

        Raises
        ------
        ClusterError
            The workers of these parts die one after the other.
        """
        self._lost.add(worker)
        self._messenger.free(worker)
        lost = sorted({*loading, *(n for n, own in enumerate(self._worker_of) if own == worker)})
        for number in lost:
            self._worker_of[number] = None
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
        while None in self._worker_of:
            workers = self._workers()
            for worker in set(self._worker_of) - {None} - set(workers):
                assert worker is not None
                self._lose(worker)
            loads = dict.fromkeys(workers, 0)
            for worker, numbers in self._parts_by_worker().items():
                loads[worker] = sum(self._sizes[n] for n in numbers)
            unplaced = [n for n, own in enumerate(self._worker_of) if own is None]
            self._load(placed(unplaced, self._sizes, loads))

    def _load(self, plan: Mapping[str, list[int]]) -> None:
        """Load parts on the workers of a plan; workers that are lost meanwhile load none."""
        there = self._messenger.start(plan)
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
                    self._worker_of[number] = worker
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
        worker_of = [one for one in self._worker_of if one is not None]
        if len(worker_of) == self.n_parts:
            moves = moves_to_idle(worker_of, self._sizes, workers)
            for worker, numbers in self._parts_by_worker().items():
                leaving = tuple(n for n in numbers if n in moves)
                if leaving:
                    # (what is answered does not matter: a worker that did not drop them
                    # lists other parts than it should in its next answer, and loses all)
                    self._messenger.ask([([worker], pickled(Drop(leaving)))])
                    for number in leaving:
                        self._worker_of[number] = None
        self._looked_around = time.monotonic()
