"""``crucial recommend``."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from crucial.cli.app import app
from crucial.io.ratings import read_own_ratings


@pytest.fixture(autouse=True)
def ratings(tmp_path, monkeypatch):
    """ratings.csv in the current folder."""
    monkeypatch.chdir(tmp_path)
    rows = ((u, f, (u * 3 + f * (1 + u % 3)) % 6) for u in range(14) for f in range(16))
    rated("ratings.csv", "user,item,rating", *(f"{u},film{f},{r}" for u, f, r in rows if r + f % 3))


def rated(name, *ratings):
    Path(name).write_text("\n".join(ratings) + "\n")


def typed(text, words):
    return CliRunner().invoke(app, words.split(), input=text)


def test_the_penalty_that_was_chosen_gives_the_same_list(ok):
    # (every user has seen films of one half)
    lines = [f"{u},{u % 2}{f},{(u + f) % 5}" for u in range(30) for f in range(9) if (u + f) % 7]
    rated("halves.csv", "user,item,rating", *lines)
    words = "recommend halves.csv --user 0 --top 3 -o -"
    first = ok(words)
    (penalty,) = re.findall(r"ease, penalty (\d+) ", first.stderr)
    again = ok(f"{words} --method ease --penalty {penalty}")
    assert (again.stdout, again.stderr) == (first.stdout, "")


def test_rate_a_few_and_go_on_later():
    words = "recommend ratings.csv --method ease"
    mine = f"{words} --rate --mine mine.csv --top 2"
    first = typed("5\n\n77\nwhat\n0\n3\nq\n", mine)
    assert first.exit_code == 0, first.stderr
    assert "Rate 10 films, 0 to 5" in first.stderr
    assert first.stderr.count("a number from 0 to 5, Enter or q.") == 2
    assert list(read_own_ratings("mine.csv").values()) == [5.0, 0.0, 3.0]
    second = typed("4\n", f"{mine} --questions 9")  # (and the input ends)
    assert second.exit_code == 0, second.stderr
    assert len(read_own_ratings("mine.csv")) == 4
    assert "4 ratings of yours, kept in" in second.stderr
    third = typed("", f"{words} --mine mine.csv --top 2 -o -")
    assert third.exit_code == 0, third.stderr
    assert [line.split(",")[0] for line in third.stdout.splitlines()] == ["user", "", ""]
    assert "2 ratings of yours" in typed("1\n2\n3\n", f"{words} --rate --questions 2").stderr
    nothing = typed("", "recommend ratings.csv --rate")
    assert nothing.exit_code == 2
    assert "you gave 0 ratings; at least one is needed" in nothing.stderr.splitlines()[-1]


def test_bad_files_are_refused_before_anything_heavy_is_imported():
    """Importing scikit-learn takes longer than reading: an error needs neither it nor kernels."""
    rated("bad.csv", "user,item,rating", "1,a,x")
    rated("good.csv", "user,item,rating", "1,a,2", "1,b,3", "2,a,1")
    code = (
        "import sys\nfrom crucial.cli.app import app\n"
        "try:\n    app(['recommend', 'good.csv', '--mine', 'bad.csv'])\n"
        "finally:\n    print([m for m in ('sklearn', 'numba', 'scipy') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert done.stdout == "[]\n"
    assert done.stderr.count("\n") == 1
