"""The command as a process of its own: what it imports, how fast it answers, how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

HEAVY = ("numba", "sklearn", "scipy", "narwhals", "pandas", "polars", "pyarrow", "numpy", "rich")


def run(*words: object, **how: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "crucial", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, **how)


def modules_after(code: str) -> set[str]:
    """Top-level names in sys.modules after some code ran in a fresh process."""
    program = f"""
import contextlib, io, sys
with contextlib.redirect_stdout(io.StringIO()):
    try:
        {code}
    except SystemExit as ended:
        assert not ended.code, ended.code
print(" ".join({{name.partition(".")[0] for name in sys.modules}}))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=600
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import crucial",
        "import crucial; dir(crucial)",
        "import crucial.cli; sys.argv = ['crucial', '--help']; crucial.cli.main()",
        "import crucial.cli; sys.argv = ['crucial', '--version']; crucial.cli.main()",
        "import crucial.cli; sys.argv = ['crucial', 'train', '--help']; crucial.cli.main()",
    ],
)
def test_nothing_heavy_is_imported(code: str) -> None:
    loaded = modules_after(code)
    assert "crucial" in loaded
    assert not loaded.intersection(HEAVY)


def test_the_list_of_verbs_imports_none() -> None:
    code = (
        "import sys, crucial.cli.app as cli\n"
        "cli.app(['--help'], standalone_mode=False)\n"
        "print([name for name in sys.modules if name[:12] == 'crucial.cli.'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    shared = [f"crucial.cli.{name}" for name in ("options", "terminal", "app")]
    assert done.stdout.splitlines()[-1] == str(shared)


def test_ranking_a_small_file_imports_nothing_heavy(trained: Path) -> None:
    few = svmlight(trained / "few.txt", 3)
    words = ["rank", str(trained / "m.json"), str(few), "-o", str(trained / "few.scores")]
    loaded = modules_after(f"import crucial.cli; sys.argv[1:] = {words}; crucial.cli.main()")
    assert "numpy" in loaded
    assert not loaded.intersection({*HEAVY} - {"numpy", "rich"})


@pytest.mark.parametrize(
    ("words", "own", "all_modules"),
    [([], 3, 130), (["--help"], 20, 200), (["train", "--help"], 40, 250)],
)
def test_help_imports_little(words: list[str], own: int, all_modules: int) -> None:
    """What decides how soon help is there, and does not depend on a busy machine."""
    code = f"sys.argv[1:] = {words}; crucial.cli.main()" if words else "pass"
    start = "import crucial.cli" if words else "import crucial"
    count = "len(sys.modules), sum(one.partition('.')[0] == 'crucial' for one in sys.modules)"
    program = f"import sys\n{start}\ntry:\n    {code}\nexcept SystemExit:\n    pass\nprint({count})"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    total, ours = map(int, done.stdout.splitlines()[-1].split())
    assert ours <= own
    assert total <= all_modules


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
    done = run("train", train, "-o", folder / "m.json", "--rounds", 20)
    assert done.returncode == 0, done.stderr
    return folder


def test_search_engineers_way(trained: Path) -> None:
    """Train, evaluate, rank, show: journey A."""
    done = run("evaluate", trained / "m.json", trained / "train.txt", "-m", "ndcg@10", "-m", "mrr")
    assert done.returncode == 0, done.stderr
    assert "ndcg@10" in done.stdout
    done = run("rank", trained / "m.json", trained / "train.txt", "-o", trained / "a.run",
               "--format", "trec")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len((trained / "a.run").read_text().splitlines()) == 80
    done = run("show", trained / "m.json")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout


def test_one_line_and_a_code(trained: Path) -> None:
    (trained / "bad.txt").write_text("1 qid:1 1:1\n0 qid:1 1:x\n")
    before = (trained / "m.json").read_bytes()
    done = run("train", trained / "bad.txt", "-o", trained / "m.json")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("crucial: error: ")
    assert "bad.txt, line 2, column" in done.stderr
    assert (trained / "m.json").read_bytes() == before


def test_reader_that_leaves_early(trained: Path) -> None:
    """``crucial rank ... -o - | head -1`` says nothing about it."""
    big = svmlight(trained / "big.txt", 3000)
    command = f"{sys.executable} -m crucial rank m.json {big.name} -o - -f tsv | head -1"
    done = subprocess.run(
        command, shell=True, cwd=trained, capture_output=True, text=True, timeout=600
    )
    assert done.stdout == "qid\titem\tscore\trank\n"
    lines = done.stderr.splitlines()
    assert all(line.startswith("crucial: note: big.txt") for line in lines), done.stderr


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_a_stream_that_is_a_file_is_written_on(trained: Path, name: str) -> None:
    """Neither what is before nor what comes after is lost."""
    words = f"(echo first; {sys.executable} -m crucial rank m.json train.txt -o {name}; echo last)"
    subprocess.run(["sh", "-c", f"{words} > all.txt"], cwd=trained, timeout=600, check=True)
    lines = (trained / "all.txt").read_text().splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("first", "last", 82)


def test_no_processes_for_jobs(trained: Path) -> None:
    """Where joblib cannot start any, as without shared memory, jobs run one after the other."""
    words = ("experiment", trained / "train.txt", "--rankers", "rankboost,random", "--rounds", 2)
    done = run(
        *words, "--jobs", 2, "--save", trained / "alone.csv",
        env={**os.environ, "JOBLIB_MULTIPROCESSING": "0"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (trained / "alone.csv").exists()


@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-"])
def test_jobs_without_streams(trained: Path, closed: str) -> None:
    words = "experiment train.txt --rankers rankboost,random --rounds 2 --jobs 2 --save beside.csv"
    command = f"{sys.executable} -m crucial {words} {closed}"
    (trained / "beside.csv").unlink(missing_ok=True)
    done = subprocess.run(
        ["sh", "-c", command], cwd=trained, stdout=subprocess.PIPE, timeout=600, check=False
    )
    assert done.returncode == 0
    assert (trained / "beside.csv").exists()


def test_questions_without_an_input(trained: Path) -> None:
    (trained / "ratings.csv").write_text("user,item,rating\na,x,3\na,y,4\nb,x,2\nb,y,5\n")
    command = f"{sys.executable} -m crucial recommend ratings.csv --rate <&-"
    done = subprocess.run(
        ["sh", "-c", command], cwd=trained, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("you gave 0 ratings; at least one is needed.")


def test_a_python_without_sqlite(trained: Path) -> None:
    program = "import sys; sys.modules['sqlite3'] = None; from crucial.cli import main; main()"
    words = ("export", str(trained / "m.json"), "--to", "sql", "-o", str(trained / "m.sql"))
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "this Python was built without its module sqlite3" in done.stderr
    assert not (trained / "m.sql").exists()


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-"])
def test_standard_output_that_is_closed(trained: Path, closed: str) -> None:
    """As programs without a terminal start others: nothing can be said, all else is done."""
    words = f"{sys.executable} -m crucial rank m.json train.txt -o scores.txt {closed}"
    done = subprocess.run(["sh", "-c", words], cwd=trained, timeout=600, check=False)
    assert done.returncode == 0
    assert (trained / "scores.txt").read_text()


def test_full_standard_output(trained: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no device that is always full")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "crucial", "rank", "m.json", "train.txt", "-o", "-"],
            cwd=trained, stdout=full, stderr=subprocess.PIPE, text=True, timeout=600, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    said = done.stderr.splitlines()[-1]
    assert said == "crucial: error: standard output cannot be written: no space left on the disk."


def test_interrupted_training_leaves_nothing(trained: Path) -> None:
    big = svmlight(trained / "long.txt", 400, rows=20)
    target = trained / "never.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "crucial", "train", str(big), "-o", str(target),
         "--rounds", "2000000"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    assert process.stderr.readline().startswith("crucial: note: ")  # the file is read
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 130
    assert said.strip().splitlines()[-1].startswith("crucial: error: interrupted")
    assert "Traceback" not in said
    assert not target.exists()
    assert not list(trained.glob(".crucial-*"))


def test_plain_text_on_a_poor_terminal(trained: Path) -> None:
    """Signs that the encoding lacks are replaced, not fatal."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = run("show", trained / "m.json", env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
