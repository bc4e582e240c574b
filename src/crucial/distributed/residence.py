"""The side of the workers: parts that stay on a worker, and the requests that it answers.

Every worker has one `Residence` per fit. It is a Dask actor, which gives it the right lifetime:
Dask neither spills nor moves it, and frees it when the client releases it or dies. Requests do
not go through the actor's proxy, whose futures can stay pending when a worker dies, but through
``Client.run``, which reports every worker that does not answer.

A request may arrive twice, or after its sender has given up waiting. Changes of parts are
therefore numbered: a part that has made a change does not make it again, and the residence keeps
the results of the last change for whoever asks again.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeAlias
from weakref import WeakValueDictionary

from crucial.distributed.parts import merged
from crucial.errors import ClusterError, CrucialError

__all__ = [
    "Answer",
    "Call",
    "Done",
    "Drop",
    "Failed",
    "Load",
    "Lost",
    "PartRecipe",
    "Residence",
    "numbered_merge",
    "serve",
]

#: A call: the name of a method and its arguments.
Entry: TypeAlias = tuple[str, tuple[Any, ...]]


class PartRecipe(Protocol):
    """Makes a part on whichever worker it is called; ``str()`` names it in errors."""

    def load(self) -> Any:
        """Return the part."""


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
    """Answer: which parts the worker has, and results with the number of their first part."""

    parts: tuple[int, ...]
    results: list[tuple[int, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Lost:
    """Answer: the worker does not have the parts, or not in the state that it should."""


@dataclass(frozen=True)
class Failed:
    """Answer: a part raised an error."""

    error: Exception


Answer: TypeAlias = Done | Lost | Failed

_RESIDENCES: WeakValueDictionary[tuple[str, str], Residence] = WeakValueDictionary()


class Residence:
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
        self._kept: tuple[int, frozenset[int], list[tuple[int, Any]]] = (-1, frozenset(), [])
        # One thread, so that a request never sees a part in the middle of another one.
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="crucial-parts")
        _RESIDENCES[token, address] = self

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
        kept: list[tuple[int, Any]] = []
        if position is not None:
            waiting = [n for n in waiting if self._changes[n] == position]
            changed = frozenset(self._parts) - frozenset(waiting)
            if changed:
                last, covered, kept = self._kept
                if last != position or changed != covered:
                    return Lost()
        values = []
        for number in waiting:
            values.append((number, getattr(self._parts[number], method)(*arguments)))
            if position is not None:
                self._changes[number] += 1
        results = numbered_merge([*kept, *values])
        if position is not None:
            self._kept = position, frozenset(self._parts), results
        return Done(tuple(self._parts), results)


def _loaded(log: Sequence[Entry], threads: int, number: int, recipe: PartRecipe) -> Any:
    """Return a part in the state after the logged changes."""
    try:
        part = recipe.load()
    except CrucialError:
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise ClusterError(f"Part {number} ({recipe}) cannot be loaded: {what}") from error
    if hasattr(part, "threads"):
        part.threads = threads
    if hasattr(part, "replay"):
        part.replay(log)
        return part
    for method, arguments in log:
        getattr(part, method)(*arguments)
    return part


def numbered_merge(results: Sequence[tuple[int, Any]]) -> list[tuple[int, Any]]:
    """Merge numbered results as `merged` does; a merged one has the number of the first.

    Examples
    --------
    >>> numbered_merge([(0, "a"), (1, "b")])
    [(0, 'a'), (1, 'b')]
    """
    values = merged(value for _, value in results)
    if len(values) == len(results):
        return list(results)
    return [(results[0][0], values[0])]


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
    residence = _RESIDENCES.get((token, str(dask_worker.address)))
    if residence is None:
        return pickle.dumps(Lost(), protocol=5)
    # Not in the event loop, which has to go on sending heartbeats.
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(residence.thread, partial(residence.answer, request))


def _silence_calls() -> None:
    """Keep the worker from logging a line for every call of `serve`."""
    logger = logging.getLogger("distributed.worker")
    if _not_a_call not in logger.filters:
        logger.addFilter(_not_a_call)


def _not_a_call(record: logging.LogRecord) -> bool:
    arguments = record.args if isinstance(record.args, tuple) else ()
    return not ("out-of-band" in str(record.msg) and "serve" in arguments)
