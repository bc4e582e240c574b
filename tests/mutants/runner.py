"""Running tests against mutants, in a copy of the tree: nothing is changed in place."""

from __future__ import annotations

import importlib.util
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from mutants.mutate import Mutant

_MEMORY = 16 << 30  # bytes of address space; a fault may ask for any amount
_SLOWER = 4  # a mutant may take so many times as long as the module itself,
_LEAST = 20.0  # and so many seconds at least
_NO_TESTS = 5  # (pytest's exit code)


def copy_tree(root: Path, folder: Path) -> Path:
    """Copy what the tests need, and return where it is."""
    target = folder / "tree"
    leave = shutil.ignore_patterns("__pycache__", "_build", "gallery", "generated")
    for name in ("src", "tests", "docs"):
        shutil.copytree(root / name, target / name, ignore=leave)
    shutil.copy(root / "pyproject.toml", target)
    return target


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


def run_tests(tree: Path, tests: Iterable[str], limit: float | None = None) -> int | None:
    """Run tests until the first failure; return the exit code, or None if time ran out."""
    command = [sys.executable, "-m", "pytest", "-x", "-n", "0", "-p", "no:cacheprovider", *tests]
    settings = {"PYTHONPATH": str(tree / "src"), "HYPOTHESIS_PROFILE": "few"}
    process = subprocess.Popen(
        command,
        cwd=tree,
        env={**os.environ, **settings},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=_limit_memory,
    )
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # (with whatever the tests started)
            process.wait()


def survivors(
    tree: Path,
    module: str,
    tests: Iterable[str],
    mutants: Iterable[Mutant],
    say: Callable[[Mutant], None] = lambda mutant: None,
) -> list[Mutant]:
    """Return the mutants of a module that its tests do not notice.

    Parameters
    ----------
    tree : Path
        A copy of the tree, see `copy_tree`.
    module : str
        Path of the module below ``tree``.
    tests : iterable of str
        What pytest is to run.
    mutants : iterable of Mutant
    say : callable, optional
        Called with each survivor at once.

    Raises
    ------
    RuntimeError
        The tests fail, or there are none, without any fault: nothing could be learnt.
    """
    path = tree / module
    whole = path.read_text()
    tests = list(tests)
    start = time.monotonic()
    if (code := run_tests(tree, tests)) != 0:
        raise RuntimeError(f"the tests of {module} end in {code} without any fault: {tests}")
    limit = max(_LEAST, _SLOWER * (time.monotonic() - start))
    compiled = Path(importlib.util.cache_from_source(str(path)))
    left = []
    try:
        for mutant in mutants:
            path.write_text(mutant.text)
            compiled.unlink(missing_ok=True)  # (same second, same size: it would be used)
            code = run_tests(tree, tests, limit)
            if code == _NO_TESTS:
                raise RuntimeError(f"no tests were found: {tests}")
            if code == 0:
                left.append(mutant)
                say(mutant)
    finally:
        path.write_text(whole)
        compiled.unlink(missing_ok=True)
    return left
