"""The command as a process of its own: what it imports, how fast it answers, how it ends."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

HEAVY = ("numba", "sklearn", "scipy", "narwhals", "pandas", "polars", "pyarrow", "numpy", "rich")


def run(*words: object, **how: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "crucial", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, **how)


def run_well(*words: object, **how: Any) -> str:
    done = run(*words, **how)
    assert done.returncode == 0, done.stderr
    return done.stdout


def shell(command: str, folder: Path, **how: Any) -> subprocess.CompletedProcess[str]:
    """Run a command of a shell, in which CRUCIAL is the program."""
    command = command.replace("CRUCIAL", f"{sys.executable} -m crucial")
    return subprocess.run(["sh", "-c", command], cwd=folder, text=True, timeout=600, **how)


def modules_after(code: str, status: int = 0) -> list[str]:
    """Return the names in sys.modules after some code ran in a fresh process, and its status."""
    program = f"""
import contextlib, io, sys
with contextlib.redirect_stdout(io.StringIO()):
    try:
        {code}
    except SystemExit as ended:
        assert (ended.code or 0) == {status}, ended.code
print(" ".join(sys.modules))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    return done.stdout.split()


def packages(names: list[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


HELP = "import crucial.cli; sys.argv[1:] = {}; crucial.cli.main()"


@pytest.mark.parametrize(("code", "own", "total"), [
    ("import crucial; dir(crucial)", 3, 130),
    (HELP.format(["--help"]), 20, 200),
    (HELP.format(["train", "--help"]), 40, 250),
])  # fmt: skip
def test_little_is_imported(code: str, own: int, total: int) -> None:
    """What decides how soon help is there, and does not depend on a busy machine."""
    loaded = modules_after(code)
    assert "crucial" in loaded
    assert not packages(loaded).intersection(HEAVY)
    assert sum(name.partition(".")[0] == "crucial" for name in loaded) <= own
    assert len(loaded) <= total
    if "'--help'" in code and "train" not in code:  # (the list of verbs imports none)
        verbs = {name for name in loaded if name.startswith("crucial.cli.")}
        assert verbs == {f"crucial.cli.{name}" for name in ("options", "terminal", "app")}


@pytest.mark.parametrize(("words", "status"), [
    (["list", "rankers"], 0),
    (["list", "fusions"], 0),
    (["train", "missing.txt", "-o", "model.json"], 2),
    (["experiment", "missing.txt", "--rankers", "rankboost"], 2),
    (["show", "missing.json"], 2),
    (["export", "missing.json", "--to", "onnx", "-o", "x.onnx"], 2),
])  # fmt: skip
def test_the_first_answer_comes_soon(words: list[str], status: int, tmp_path: Path) -> None:
    """Learning imports scikit-learn, SciPy and Numba, which takes a second."""
    code = f"import os; os.chdir({str(tmp_path)!r}); {HELP.format(words)}"
    loaded = packages(modules_after(code, status))
    assert not loaded.intersection({"numba", "scipy", "sklearn", "numpy", "pandas"})


def test_ranking_a_small_file_imports_nothing_heavy(trained: Path) -> None:
    few = svmlight(trained / "few.txt", 3)
    words = ["rank", str(trained / "m.json"), str(few), "-o", str(trained / "few.scores")]
    loaded = packages(modules_after(HELP.format(words)))
    assert "numpy" in loaded
    assert not loaded.intersection({*HEAVY} - {"numpy", "rich"})


def svmlight(path: Path, n_queries: int, rows: int = 8) -> Path:
    lines = [
        f"{(q * r) % 3} qid:{q} 1:{(q * r) % 3 + r / 10} 2:{(7 * r + q) % 5}\n"
        for q in range(1, n_queries + 1)
        for r in range(rows)
    ]
    path.write_text("".join(lines))
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    train = svmlight(folder / "train.txt", 10)
    run_well("train", train, "-o", folder / "m.json", "--rounds", 20)
    return folder


def test_reader_that_leaves_early(trained: Path) -> None:
    """``crucial rank ... -o - | head -1`` says nothing about it."""
    big = svmlight(trained / "big.txt", 3000)
    command = f"CRUCIAL rank m.json {big.name} -o - -f tsv | head -1"
    done = shell(command, trained, capture_output=True)
    assert done.stdout == "qid\titem\tscore\trank\n"
    lines = done.stderr.splitlines()
    assert all(line.startswith("crucial: note: big.txt") for line in lines), done.stderr


@pytest.mark.parametrize("name", ["/dev/stdout", "/proc/self/fd/1"])
def test_a_stream_that_is_a_file_is_written_on(trained: Path, name: str) -> None:
    """Neither what is before nor what comes after is lost."""
    words = f"(echo first; CRUCIAL rank m.json train.txt -o {name}; echo last) > all.txt"
    shell(words, trained, check=True)
    lines = (trained / "all.txt").read_text().splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("first", "last", 82)


JOBS = "experiment train.txt --rankers rankboost,random --rounds 2 --jobs 2 --save saved.csv"


def test_no_processes_for_jobs(trained: Path) -> None:
    """Where joblib cannot start any, as without shared memory, jobs run one after the other."""
    run_well(*JOBS.split(), cwd=trained, env={**os.environ, "JOBLIB_MULTIPROCESSING": "0"})
    assert (trained / "saved.csv").exists()


def test_jobs_without_streams(trained: Path) -> None:
    (trained / "saved.csv").unlink(missing_ok=True)
    done = shell(f"CRUCIAL {JOBS} <&- >&- 2>&-", trained)
    assert done.returncode == 0
    assert (trained / "saved.csv").exists()


def test_a_python_without_sqlite(trained: Path) -> None:
    program = "import sys; sys.modules['sqlite3'] = None; from crucial.cli import main; main()"
    command = [sys.executable, "-c", program, "export", "m.json", "--to", "sql", "-o", "m.sql"]
    done = subprocess.run(command, cwd=trained, capture_output=True, text=True, timeout=600)
    assert done.returncode == 2
    assert "this Python was built without its module sqlite3" in done.stderr
    assert not (trained / "m.sql").exists()


def test_standard_output_that_is_closed(trained: Path) -> None:
    """As programs without a terminal start others: nothing can be said, all else is done."""
    done = shell("CRUCIAL rank m.json train.txt -o scores.txt >&- 2>&-", trained)
    assert done.returncode == 0
    assert (trained / "scores.txt").read_text()


def test_full_standard_output(trained: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no device that is always full")
    done = shell("CRUCIAL rank m.json train.txt -o - > /dev/full", trained, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    said = done.stderr.splitlines()[-1]
    assert said == "crucial: error: standard output cannot be written: no space left on the disk."


def test_interrupted_training_leaves_nothing(trained: Path) -> None:
    for name in ("long.txt", "same.txt"):
        svmlight(trained / name, 400, rows=20)
    words = "-m crucial train long.txt same.txt -o never.json --rounds 2000000"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    # (a shell starts background jobs with interrupts ignored, and their children inherit that)
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(
        [sys.executable, *words.split()], cwd=trained, preexec_fn=heard, **pipes
    )
    assert process.stderr is not None
    assert process.stderr.readline().startswith(
        "crucial: note: "
    )  # the files are read, and have the same queries
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 130
    assert said.strip().splitlines()[-1].startswith("crucial: error: interrupted")
    assert "Traceback" not in said
    assert not (trained / "never.json").exists()
    assert not list(trained.glob(".crucial-*"))


def test_plain_text_on_a_poor_terminal(trained: Path) -> None:
    """Signs that the encoding lacks are replaced, not fatal."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    assert run_well("show", trained / "m.json", env=environment).isascii()
