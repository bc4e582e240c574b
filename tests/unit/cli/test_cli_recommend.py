"""``crucial recommend``."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from crucial.cli.app import app
from crucial.data.problems import make_film_club
from crucial.io.ratings import read_own_ratings
from crucial.model.file import load_model


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with ratings.csv and movies.csv; user 0 rated 60 films of 70 that are known."""
    folder = tmp_path_factory.mktemp("club")
    problem = make_film_club(30, 120, 70)
    lines = [f"0,{item},{stars}" for item, stars in zip(problem.item[:60], problem.y)]
    for row, viewer in np.argwhere(~np.isnan(problem.X)):
        lines.append(f"{viewer + 1},{problem.item[row]},{problem.X[row, viewer]:g}")
    (folder / "ratings.csv").write_text("user,item,rating\n" + "\n".join(lines) + "\n")
    titles = [f'{item},"Film, No. {item}"' for item in problem.item]
    (folder / "movies.csv").write_text("movieId,title\n" + "\n".join(titles) + "\n")
    return folder


@pytest.fixture(autouse=True)
def club(made, tmp_path, monkeypatch):
    """The current folder with these files."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def rated(name, *ratings):
    Path(name).write_text("\n".join(ratings) + "\n")


def typed(text, words):
    return CliRunner().invoke(app, words.split(), input=text)


def test_a_list_with_titles(ok):
    done = ok("recommend ratings.csv --user 0 --top 4 --reasons 2 --titles movies.csv "
              "--min-raters 1")  # fmt: skip
    assert done.stdout.count("Film, No. ") >= 4
    assert "agrees with you" in " ".join(done.stdout.split())


def test_a_table_and_a_model(ok):
    ok("recommend ratings.csv --user 0 --top 3 --method rankboost -o list.tsv --model model.json "
       "--titles movies.csv")  # fmt: skip
    head, *lines = [line.split("\t") for line in Path("list.tsv").read_text().splitlines()]
    assert head == ["user", "position", "item", "score", "title"]
    assert [line[:2] for line in lines] == [["0", "1"], ["0", "2"], ["0", "3"]]
    assert lines[0][4] == f"Film, No. {lines[0][2]}"
    assert load_model("model.json").feature_names[0].startswith("viewer ")


def test_the_penalty_that_was_chosen_gives_the_same_list(ok):
    # (every user has seen films of one half)
    lines = [f"{u},{u % 2}{f},{(u + f) % 5}" for u in range(30) for f in range(9) if (u + f) % 7]
    rated("halves.csv", "user,item,rating", *lines)
    words = "recommend halves.csv --user 0 --top 3 -o -"
    first = ok(words)
    (penalty,) = re.findall(r"ease, penalty (\d+) ", first.stderr)
    again = ok(f"{words} --method ease --penalty {penalty}")
    assert (again.stdout, again.stderr) == (first.stdout, "")


def test_for_all(ok):
    words = "recommend ratings.csv --all --top 2 -o"
    done = ok(f"{words} all.tsv --jobs 2")
    text = Path("all.tsv").read_text()
    users = {line.split("\t")[0] for line in text.splitlines()[1:]}
    assert {"0", "1", "30"} <= users
    assert f"lists for {len(users)} users" in done.stderr
    assert ok(f"{words} - --jobs 1").stdout == text


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
    assert [line.split("\t")[0] for line in third.stdout.splitlines()] == ["user", "", ""]
    assert "2 ratings of yours" in typed("1\n2\n3\n", f"{words} --rate --questions 2").stderr
    nothing = typed("", "recommend ratings.csv --rate")
    assert nothing.exit_code == 2
    assert "you gave 0 ratings; at least one is needed" in nothing.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "choose for whom"),
        ("--user 0 --all -o x", "choose for whom"),
        ("--user 300", "there is no user '300'; close are '30'"),
        ("--all", "--all needs -o"),
        ("--all -o - --model m --method rankboost", "rankboost and one user"),
        ("--user 0 --model m.json", "--model is for --method rankboost"),
        ("--user 0 --penalty 50", "--penalty is for --method ease"),
        ("--user 0 --penalty 0 --method ease", "must be a number in (0, inf)"),
        ("--user 0 --rounds 5", "--rounds is for --method rankboost"),
        ("--user 0 --reasons 2 -o -", "--reasons are for the terminal"),
        ("--user 0 --columns a,b", "three names"),
        ("--user 0 --columns a,b,c", "there is no column 'a'"),
        ("--user 0 --titles none.csv", "none.csv: cannot be read"),
        ("--mine none.csv", "none.csv: cannot be read"),
        ("--user 0 -o no/such/folder.tsv", "its folder does not exist"),
        ("--user 0 -o ratings.csv", "would overwrite"),
        ("--rate --mine ratings.csv", "would overwrite"),
    ],
)
def test_one_line_says_what_is_wrong(refused, words, said):
    before = Path("ratings.csv").read_text()
    assert said in refused(f"recommend ratings.csv {words}")
    assert Path("ratings.csv").read_text() == before


def test_duplicates(ok, refused):
    rated("twice.csv", "1,a,1", "1,b,2", "2,a,3", "2,b,5", "2,c,4", "1,a,2")
    said = refused("recommend twice.csv --user 1")
    assert "line 6: user '1' rated item 'a' in line 1 already" in said
    assert "--duplicates last" in said
    ok("recommend twice.csv --user 2 --duplicates last --min-raters 0")


@pytest.mark.parametrize("words", ["bad.csv --user 1", "good.csv --user 9",
                                   "good.csv --mine bad.csv"])  # fmt: skip
def test_bad_files_are_refused_before_anything_heavy_is_imported(words):
    """Importing scikit-learn takes longer than reading: an error needs neither it nor kernels."""
    rated("bad.csv", "user,item,rating", "1,a,x")
    rated("good.csv", "user,item,rating", "1,a,2", "1,b,3", "2,a,1")
    code = (
        "import sys\nfrom crucial.cli.app import app\n"
        f"try:\n    app(['recommend', *{words.split()!r}])\n"
        "finally:\n    print([m for m in ('sklearn', 'numba', 'scipy') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert done.stdout == "[]\n"
    assert done.stderr.count("\n") == 1


def test_tiny_tables_have_a_list_without_notes_about_features(ok, crucial):
    rated("tiny.csv", "ann,a,2", "ann,b,5", "bob,a,1", "bob,c,0", "cyd,c,3", "cyd,b,5")
    done = ok("recommend tiny.csv --user ann --min-raters 1")
    assert "constant" not in done.stderr
    assert "cyd" in done.stdout or "goes with" in done.stdout or "popular" in done.stdout
    rated("same.csv", "ann,a,3", "ann,b,3", "bob,a,3", "bob,c,3", "cyd,c,3", "cyd,b,3")
    done = ok("recommend same.csv --user ann --min-raters 1 --method ease")
    assert "goes with a and b, which you rated" in done.stdout
    rated("lone.csv", "ann,a,3", "ann,b,3")
    assert "there is no item left" in crucial("recommend lone.csv --user ann").stderr


def test_unknown_columns_are_refused_with_the_option(refused):
    rated("r.csv", "who,what,rating", "ann,alien,4")
    said = refused("recommend r.csv --user ann")
    assert "which columns are the user and the item" in said
    assert "--columns" in said
