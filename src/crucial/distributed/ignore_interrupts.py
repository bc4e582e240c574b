"""Preloaded by the worker processes of a local cluster: Ctrl-C is for the process that fits.

A terminal sends Ctrl-C to all processes of a command. The process that fits closes the cluster
then; workers that end by themselves, with a traceback each, would only be in its way.
"""

from __future__ import annotations

import signal
import threading
from typing import Any

__all__ = ["dask_setup"]


def dask_setup(worker: Any) -> None:
    """Ignore interrupts; Dask calls this when a worker starts."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
