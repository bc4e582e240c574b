"""The Dask cluster of a fit: the one that the user names, or a local one for the time being."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

from crucial.errors import ClusterError, MissingExtraError
from crucial.parameters import refuse

__all__ = ["ClientLike", "connected"]

#: A Dask client or cluster, the address of a scheduler, or None.
ClientLike: TypeAlias = Any


@contextmanager
def connected(client: ClientLike = None) -> Iterator[Any]:
    """Yield a Dask client, and close at the end what was opened for it.

    Parameters
    ----------
    client : distributed.Client, cluster, str or None
        A client is used as it is. A cluster object, or the address of a scheduler such as
        ``"tcp://host:8786"``, gets a client of its own. None takes the active client of this
        process; if there is none, it starts a local cluster with all cores and the memory of
        this machine.
    """
    try:
        import distributed
    except ImportError as error:
        raise MissingExtraError(
            "Training on a cluster needs Dask.", remedy="pip install 'crucial[dask]'"
        ) from error
    if client is None:
        with suppress(ValueError):  # (there is no active client)
            client = distributed.default_client()
    if isinstance(client, distributed.Client):
        yield client
        return
    with _local_cluster() if client is None else _nothing_to_close(client) as scheduler:
        opened = _client_of(scheduler)
        try:
            yield opened
        finally:
            with suppress(Exception):  # (what is lost is closed)
                opened.close()


@contextmanager
def _nothing_to_close(scheduler: Any) -> Iterator[Any]:
    yield scheduler


@contextmanager
def _local_cluster() -> Iterator[Any]:
    """Start worker processes on this machine, as many as Dask finds right for its cores."""
    from distributed import LocalCluster

    import dask

    # A worker short of memory is ended and replaced, not paused: parts stay in memory anyway.
    memory = {f"distributed.worker.memory.{name}": False for name in ("target", "spill", "pause")}
    try:
        # (the dashboard at any free port; lost workers are reported by the progress bar)
        with dask.config.set(memory):
            cluster = LocalCluster(
                dashboard_address=":0",
                silence_logs=logging.CRITICAL,
                preload=["crucial.distributed.ignore_interrupts"],
            )
    except Exception as error:
        raise ClusterError(
            f"The local Dask cluster cannot be started: {error}.",
            remedy='In a script, call fit below `if __name__ == "__main__":`, since every worker '
            "process imports the script.",
        ) from error
    # Dask gives up on a worker that dies while it starts: have it replaced all the same.
    cluster.adapt(minimum=len(cluster.workers), maximum=len(cluster.workers))
    try:
        yield cluster
    finally:
        with suppress(Exception):
            cluster.close()


def _client_of(scheduler: Any) -> Any:
    """Return a client of a cluster object or an address."""
    from distributed import Client
    from distributed.comm import resolve_address

    if not isinstance(scheduler, str) and not hasattr(scheduler, "scheduler_address"):
        raise refuse(
            "connected",
            "client",
            "a Dask client or cluster, the address of a scheduler, or None",
            scheduler,
        )
    try:
        if isinstance(scheduler, str):
            # (a client that was given no address at all does not end for a minute)
            resolve_address(scheduler)
        return Client(scheduler, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"No Dask scheduler answers at {scheduler}: {error}.",
            remedy="Check the address; `dask scheduler` prints it when it starts.",
        ) from error
