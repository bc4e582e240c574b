"""Results of tasks about parts: waiting for them, and what their errors say."""

from __future__ import annotations

import time
from typing import Any

from crucial.data.words import one_line
from crucial.errors import ClusterError, CrucialError, DataError

__all__ = ["failed", "no_worker", "result_of"]

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


def result_of(name: str, future: Any) -> Any:
    """Return the result of a task, however long it takes as long as there are workers.

    Parameters
    ----------
    name : str
        What the task is about, for messages.
    future : distributed.Future

    Raises
    ------
    DataError
        Dask could not compute it.
    ClusterError
        Its workers die, or there is none.
    """
    from distributed import KilledWorker

    try:
        return _waited(future)
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


def _waited(future: Any) -> Any:
    """Wait for a task: Dask itself would wait for ever where no worker is left."""
    seen = time.monotonic()
    while True:
        try:
            return future.result(timeout=_LOOK)
        except TimeoutError:
            if future.done():  # (the task itself timed out, or has ended this moment)
                return future.result()
        now = time.monotonic()
        if future.client.nthreads():
            seen = now
        elif now - seen > _PATIENCE:
            raise no_worker(_PATIENCE)
