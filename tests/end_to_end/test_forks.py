"""Forks, threads and pools of processes, at the first use of the library and later."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import crucial

SOURCES = Path(crucial.__file__).parent

PRELUDE = """
import hashlib, os, signal, sys, threading, time
import crucial

def in_child(work, seconds=300):
    # What a forked process returns; None if it hangs.
    readable, writable = os.pipe()
    process = os.fork()
    if process == 0:
        signal.alarm(seconds)
        os.write(writable, str(work()).encode())
        os._exit(0)
    os.close(writable)
    said = os.read(readable, 1000).decode()
    return said if os.waitpid(process, 0)[1] == 0 else None

class Slow:
    # Some modules take so long to import that another thread can fork meanwhile.
    def __init__(self, *names):
        self.names = {name: threading.Event() for name in names}

    def find_spec(self, name, path, target=None):
        if name in self.names:
            self.names.pop(name).set()
            time.sleep(0.3)
        return None
"""

WHILE_IMPORTING = """
slow = Slow("crucial.data.groups", "crucial.kernels.elementary")
begun = dict(slow.names)
sys.meta_path.insert(0, slow)

def plainly():
    import crucial.kernels.elementary

uses = {"crucial.data.groups": lambda: crucial.data.Groups, "crucial.kernels.elementary": plainly}
for name, use in uses.items():
    thread = threading.Thread(target=use)
    thread.start()
    begun[name].wait()
    print(in_child(lambda: use() is None))
    thread.join()
"""

WHILE_COMPILING = """
from crucial.kernels.compiled.trees import tree_sum, tree_add
from numba.core.compiler_lock import global_compiler_lock
import numpy as np
begun = threading.Event()

def compiling():
    with global_compiler_lock:
        begun.set()
        time.sleep(0.3)
        tree_add(np.zeros(4), 0, 4, 1, 2.0)

thread = threading.Thread(target=compiling)
thread.start()
begun.wait()
print(in_child(lambda: tree_sum(np.ones(4), 0, 3)))
thread.join()
"""

MODEL = """
import numpy as np
from crucial.kernels import runtime
runtime.PLAIN_CELLS = 0  # (so that kernels are compiled)
random = np.random.default_rng(0)
X = random.normal(size=(60, 3))
y = (X[:, 0] + random.normal(size=60) > 0).astype(int)

def fitted(_=None):
    model = crucial.RankBoost(5, n_jobs=2).fit(X, y)
    return hashlib.sha256(model.predict(X).tobytes()).hexdigest()
"""

IN_THREADS = """
start = threading.Barrier(6)
found = []

def use():
    start.wait()
    try:
        found.append(fitted())
    except BaseException as error:
        found.append(repr(error))

threads = [threading.Thread(target=use) for _ in range(6)]
for one in threads:
    one.start()
for one in threads:
    one.join()
print(*sorted(set(found)), len(found))
# A server that has loaded everything, and a pool of threads, before it forks its workers.
here = fitted()
print([in_child(fitted) == here for _ in range(2)], here == found[0])
"""

POOLS = """
import multiprocessing
multiprocessing.set_start_method("fork")  # (the default up to Python 3.13)
from joblib import Parallel, delayed
for backend in sys.argv[1:]:
    with Parallel(n_jobs=2, backend=backend) as pool:
        print(backend, len(set(pool(delayed(fitted)(k) for k in range(4)) + [fitted()])))
"""


def run(code: str, *words: str, **more: Any) -> list[str]:
    """Lines that a fresh process prints."""
    command = [sys.executable, "-c", PRELUDE + code, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **more)
    assert done.returncode == 0, done.stderr
    return list(done.stdout.splitlines())


def test_a_fork_waits_for_imports_of_other_threads() -> None:
    assert run(WHILE_IMPORTING) == ["False", "True"]


def test_a_fork_waits_for_compilations_of_other_threads(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}  # (nothing is compiled yet)
    assert run(WHILE_COMPILING, env=environment) == ["2.0"]


def test_threads_at_first_use_then_forked_workers_and_pools() -> None:
    lines = run(MODEL + IN_THREADS + POOLS, "threading", "multiprocessing")
    assert re.fullmatch("[0-9a-f]{64} 6", lines[0])
    assert lines[1:] == ["[True, True] True", "threading 1", "multiprocessing 1"]


@pytest.mark.slow
def test_a_pool_of_fresh_processes() -> None:
    assert run(MODEL + POOLS, "loky") == ["loky 1"]


def test_no_module_imports_itself_through_others() -> None:
    """Threads that import modules of a cycle from different ends would get unfinished ones."""
    found = re.compile(r"^from (crucial[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
    imports = {}
    for path in SOURCES.rglob("*.py"):
        parts = path.relative_to(SOURCES.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        imports[name] = found.findall(path.read_text("utf-8"))
    graph = {
        name: {
            full if (full := f"{module}.{one}") in imports else module
            for module, what in found_here
            for one in re.findall(r"\w+", what.partition("#")[0])
        }
        for name, found_here in imports.items()
    }
    while graph:
        free = {name for name, used in graph.items() if not used & graph.keys() - {name}}
        assert free, f"these modules import each other: {sorted(graph)}"
        graph = {name: used for name, used in graph.items() if name not in free}
