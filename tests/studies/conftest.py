"""How the studies are run, and MovieLens-100K for the slow tests of the studies on it."""

import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

FETCH = Path(__file__).parents[2] / "scripts" / "movielens.py"


@pytest.fixture
def study() -> Callable[..., Result]:
    """Return a function that runs a command of a script: ``study("margins", "progress", ...)``."""

    def run(script: str, *words: object) -> Result:
        done = CliRunner().invoke(import_module(script).app, [str(word) for word in words])
        if done.exit_code not in (0, 2):
            raise done.exception
        return done

    return run


@pytest.fixture(scope="session")
def movielens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fetch the ratings: the one thing in the tests that may reach another machine."""
    path = tmp_path_factory.mktemp("movielens") / "ml-100k.inter"
    # (the path of Python is where the refusal of all other connections is found)
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([sys.executable, str(FETCH), str(path)], check=True, env=environment)
    return path
