"""Programs that start at once: one process imports everything, and forks for each of them."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

FORKING = """
import json, os, runpy, sys, warnings
import matplotlib, numpy, scipy.stats, sklearn.metrics, sklearn.model_selection
import crucial, crucial.cli.app
for name in crucial.__all__:
    getattr(crucial, name)

for line in sys.stdin:
    path, folder, said, strict = json.loads(line)
    child = os.fork()
    if not child:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    os._exit(0)
# The child goes on here, and ends as a program does.
for stream, file in enumerate((os.devnull, said + ".out", said + ".err")):
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(handle, stream)
    os.close(handle)
os.chdir(folder)
sys.argv = [path]
if strict:
    warnings.simplefilter("error", UserWarning)
    warnings.filterwarnings("ignore", message=".*is non-interactive, and thus cannot be shown.*")
runpy.run_path(path, run_name="__main__")
"""


@dataclass(frozen=True)
class Ended:
    """How a program ended, and what it printed."""

    code: int
    out: str
    err: str


class RunProgram(Protocol):
    """Run a file as a program in a folder; if strict, a ``UserWarning`` is an error."""

    def __call__(self, path: Path, folder: Path, *, strict: bool = False) -> Ended: ...


@pytest.fixture(scope="session")
def run_program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunProgram]:
    said = tmp_path_factory.mktemp("said") / "program"
    command = [sys.executable, "-X", "utf8", "-c", FORKING]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def run(path: Path, folder: Path, *, strict: bool = False) -> Ended:
            asked = json.dumps([str(path), str(folder), str(said), strict])
            print(asked, file=process.stdin, flush=True)
            code = int(process.stdout.readline())
            out, err = (
                said.with_suffix(end).read_text(encoding="utf-8") for end in (".out", ".err")
            )
            return Ended(code, out, err)

        yield run
