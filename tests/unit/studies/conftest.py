"""MovieLens-100K, for the slow tests of the studies on it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FETCH = Path(__file__).parents[3] / "scripts" / "movielens.py"


@pytest.fixture(scope="session")
def movielens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fetch the ratings: the one thing in the tests that may reach another machine."""
    path = tmp_path_factory.mktemp("movielens") / "ml-100k.inter"
    # (the path of Python is where the refusal of all other connections is found)
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([sys.executable, str(FETCH), str(path)], check=True, env=environment)
    return path
