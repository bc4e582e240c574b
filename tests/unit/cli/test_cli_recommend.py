"""``crucial recommend``."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from crucial.cli.app import app
from crucial.data.problems import make_film_club
from crucial.io.ratings import read_own_ratings
from crucial.model.file import load_model


@pytest.fixture(scope="module")
def club(tmp_path_factory):
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


def typed(text, *words):
    return CliRunner().invoke(app, [str(word) for word in words], input=text)


def test_a_list_with_reasons(crucial, club):
    done = crucial("recommend", club / "ratings.csv", "--user", 0, "--top", 4, "--reasons", 2,
                   "--titles", club / "movies.csv", "--min-raters", 1)  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert done.stdout.count("Film, No. ") >= 4
    assert "because" in done.stdout
    assert " it, " in done.stdout
    assert "agrees with you" in " ".join(done.stdout.split())
    assert "chosen by ndcg@10 on held-out ratings: " in done.stderr
    plain = crucial("recommend", club / "ratings.csv", "--user", 0, "--reasons", 0)
    assert plain.exit_code == 0
    assert "because" not in plain.stdout


def test_a_table_and_a_model(crucial, club, tmp_path):
    words = ("recommend", club / "ratings.csv", "--user", 0, "--top", 3, "--method", "rankboost")
    target, model = tmp_path / "list.tsv", tmp_path / "model.json"
    done = crucial(*words, "-o", target, "--model", model, "--titles", club / "movies.csv")
    assert done.exit_code == 0, done.stderr
    lines = target.read_text().splitlines()
    assert lines[0] == "user\tposition\titem\tscore\ttitle"
    assert [line.split("\t")[:2] for line in lines[1:]] == [["0", "1"], ["0", "2"], ["0", "3"]]
    assert lines[1].split("\t")[4] == f"Film, No. {lines[1].split(chr(9))[2]}"
    assert load_model(model).feature_names[0].startswith("viewer ")


def test_the_penalty_that_was_chosen_gives_the_same_list(crucial, tmp_path):
    lines = [f"{u},{u % 2}{f},{(u + f) % 5}" for u in range(30) for f in range(9) if (u + f) % 7]
    path = tmp_path / "halves.csv"  # (every user has seen films of one half)
    path.write_text("user,item,rating\n" + "\n".join(lines) + "\n")
    words = ("recommend", path, "--user", 0, "--top", 3, "-o", "-")
    first = crucial(*words)
    assert first.exit_code == 0, first.stderr
    (penalty,) = re.findall(r"ease, penalty (\d+) ", first.stderr)
    again = crucial(*words, "--method", "ease", "--penalty", penalty)
    assert (again.exit_code, again.stdout, again.stderr) == (0, first.stdout, "")


def test_for_all(crucial, club, tmp_path):
    words = ("recommend", club / "ratings.csv", "--all", "--top", 2)
    target = tmp_path / "all.tsv"
    done = crucial(*words, "-o", target, "--jobs", 2)
    assert done.exit_code == 0, done.stderr
    users = {line.split("\t")[0] for line in target.read_text().splitlines()[1:]}
    assert {"0", "1", "30"} <= users
    assert f"lists for {len(users)} users" in done.stderr
    again = crucial(*words, "-o", "-", "--jobs", 1)
    assert again.stdout == target.read_text()


def test_rate_a_few_and_go_on_later(club, tmp_path):
    mine = tmp_path / "mine.csv"
    words = ("recommend", club / "ratings.csv", "--method", "ease")
    words += ("--rate", "--mine", mine, "--top", 2)
    first = typed("5\n\n77\nwhat\n0\n3\nq\n", *words)
    assert first.exit_code == 0, first.stderr
    assert "Rate 10 films, 0 to 5" in first.stderr
    assert first.stderr.count("a number from 0 to 5, Enter or q.") == 2
    assert list(read_own_ratings(mine).values()) == [5.0, 0.0, 3.0]
    second = typed("4\n", *words, "--questions", 9)  # (and the input ends)
    assert second.exit_code == 0, second.stderr
    assert len(read_own_ratings(mine)) == 4
    assert "4 ratings of yours, kept in" in second.stderr
    third = typed("", *words[:4], "--mine", mine, "--top", 2, "-o", "-")
    assert third.exit_code == 0, third.stderr
    assert [line.split("\t")[0] for line in third.stdout.splitlines()] == ["user", "", ""]
    enough = typed("1\n2\n3\n", *words[:4], "--rate", "--questions", 2)
    assert "2 ratings of yours" in enough.stderr


def test_nothing_said_is_an_error(club):
    done = typed("", "recommend", club / "ratings.csv", "--rate")
    assert done.exit_code == 2
    assert "you gave 0 ratings; at least one is needed" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "choose for whom"),
        (("--user", 0, "--all", "-o", "x"), "choose for whom"),
        (("--user", 300), "there is no user '300'; close are '30'"),
        (("--all",), "--all needs -o"),
        (("--all", "-o", "-", "--model", "m", "--method", "rankboost"), "rankboost and one user"),
        (("--user", 0, "--model", "m.json"), "--model is for --method rankboost"),
        (("--user", 0, "--penalty", 50), "--penalty is for --method ease"),
        (("--user", 0, "--penalty", 0, "--method", "ease"), "must be a number in (0, inf)"),
        (("--user", 0, "--rounds", 5), "--rounds is for --method rankboost"),
        (("--user", 0, "--reasons", 2, "-o", "-"), "--reasons are for the terminal"),
        (("--user", 0, "--columns", "a,b"), "three names"),
        (("--user", 0, "--columns", "a,b,c"), "there is no column 'a'"),
        (("--user", 0, "--titles", "none.csv"), "none.csv: cannot be read"),
        (("--mine", "none.csv"), "none.csv: cannot be read"),
        (("--user", 0, "-o", "no/such/folder.tsv"), "its folder does not exist"),
    ],
)
def test_one_line_says_what_is_wrong(crucial, club, error_line, words, said):
    assert said in error_line(crucial("recommend", club / "ratings.csv", *words))


def test_it_writes_over_nothing_that_it_reads(crucial, club, error_line):
    path = club / "ratings.csv"
    before = path.read_text()
    error_line(crucial("recommend", path, "--user", 0, "-o", path))
    error_line(crucial("recommend", path, "--rate", "--mine", path))
    assert path.read_text() == before


def test_duplicates(crucial, tmp_path, error_line):
    path = tmp_path / "twice.csv"
    path.write_text("1,a,1\n1,b,2\n2,a,3\n2,b,5\n2,c,4\n1,a,2\n")
    said = error_line(crucial("recommend", path, "--user", 1))
    assert "line 6: user '1' rated item 'a' in line 1 already" in said
    assert "--duplicates last" in said
    words = ("--user", 2, "--duplicates", "last", "--min-raters", 0)
    assert crucial("recommend", path, *words).exit_code == 0


@pytest.mark.parametrize("words", [("bad.csv", "--user", "1"), ("good.csv", "--user", "9"),
                                   ("good.csv", "--mine", "bad.csv")])  # fmt: skip
def test_bad_files_are_refused_before_anything_heavy_is_imported(tmp_path, words):
    """Importing scikit-learn takes longer than reading: an error needs neither it nor kernels."""
    (tmp_path / "bad.csv").write_text("user,item,rating\n1,a,x\n")
    (tmp_path / "good.csv").write_text("user,item,rating\n1,a,2\n1,b,3\n2,a,1\n")
    code = (
        "import sys\nfrom crucial.cli.app import app\n"
        f"try:\n    app(['recommend', *{list(words)!r}])\n"
        "finally:\n    print([m for m in ('sklearn', 'numba', 'scipy') if m in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2, done.stderr
    assert done.stdout == "[]\n"
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("huge", ["1e300", "-1e17"])
def test_huge_ratings_are_refused_at_their_cell(crucial, tmp_path, error_line, huge):
    path, mine = tmp_path / "huge.csv", tmp_path / "mine.csv"
    path.write_text(f"user,item,rating\n1,a,2\n1,b,{huge}\n2,a,1\n2,b,3\n2,c,1\n")
    assert "huge.csv, line 3, column 3: a rating must be between" in error_line(
        crucial("recommend", path, "--user", 1)
    )
    path.write_text("user,item,rating\n1,a,2\n1,b,1\n2,a,1\n2,b,3\n2,c,1\n")
    mine.write_text(f"a,1\nb,{huge}\n")
    assert "mine.csv, line 2, column 2: a rating must be between" in error_line(
        crucial("recommend", path, "--mine", mine)
    )


def test_tiny_tables_have_a_list_without_notes_about_features(crucial, tmp_path):
    path = tmp_path / "tiny.csv"
    path.write_text("ann,a,2\nann,b,5\nbob,a,1\nbob,c,0\ncyd,c,3\ncyd,b,5\n")
    done = crucial("recommend", path, "--user", "ann", "--min-raters", 1)
    assert done.exit_code == 0, done.stderr
    assert "constant" not in done.stderr
    assert "cyd" in done.stdout or "goes with" in done.stdout or "popular" in done.stdout
    same = tmp_path / "same.csv"
    same.write_text("ann,a,3\nann,b,3\nbob,a,3\nbob,c,3\ncyd,c,3\ncyd,b,3\n")
    words = ("--user", "ann", "--min-raters", 1, "--method", "ease")
    assert "goes with a and b, which you rated" in crucial("recommend", same, *words).stdout
    lone = tmp_path / "lone.csv"
    lone.write_text("ann,a,3\nann,b,3\n")
    assert "there is no item left" in crucial("recommend", lone, "--user", "ann").stderr


def test_a_first_line_with_a_decimal_comma_is_a_rating(crucial, tmp_path):
    path = tmp_path / "sc.csv"
    path.write_text("ann;alien;4,5\nbob;alien;3,5\nann;antz;2,0\nbob;antz;1,5\nbob;heat;3\n")
    words = ("recommend", path, "--method", "ease", "--min-raters", 0, "-o", "-")
    done = crucial(*words, "--user", "ann")
    assert done.exit_code == 0, done.stderr
    assert [line.split("\t")[2] for line in done.stdout.splitlines()[1:]] == ["heat"]
    mine = tmp_path / "mine.csv"
    mine.write_text("alien;4,5\nantz;2\n")
    assert crucial(*words, "--mine", mine).stdout.count("heat") == 2  # (item and title)


def test_unknown_columns_are_refused_with_the_option(crucial, tmp_path, error_line):
    path = tmp_path / "r.csv"
    path.write_text("who,what,rating\nann,alien,4\n")
    said = error_line(crucial("recommend", path, "--user", "ann"))
    assert "which columns are the user and the item" in said
    assert "--columns" in said
