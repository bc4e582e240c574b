"""The top-N study: its table, its splits and its errors."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.sparse import csr_array

from crucial.apps.recommend import Ease
from crucial.apps.recommend.opinions import Opinions
from crucial.apps.recommend.top_n import best_items, hold_out, ndcg
from crucial.data.formats.ratings import read_ratings
from crucial.studies.films_top_n import MEASURES, main, measure


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Two kinds of users, each of whom sees films of one half."""
    random = np.random.default_rng(0)
    lines = []
    for user in range(60):
        half = np.arange(30) + 30 * (user % 2)
        for film in random.permutation(half)[:15]:
            lines.append(f"{user},{film},{random.integers(1, 6)}\n")
    target = tmp_path_factory.mktemp("study") / "ratings.csv"
    target.write_text("user,item,rating\n" + "".join(lines))
    return target


def test_table(path, capsys):
    words = [str(path), "--methods", "ease", "items", "popularity", "--splits", "2"]
    assert main([*words, "--users", "40"]) == 0
    said = capsys.readouterr().out
    assert "2 splits; a fifth hidden; 40 users per split" in said
    rows = dict(re.findall(r"^(\w+) +([0-9.]+) ", said, re.MULTILINE))
    assert all(name in said for name in MEASURES)
    # (18 unseen films of one's half hide 3; popularity is that among viewers who share a film)
    assert set(rows) == {"ease", "items", "popularity"}
    assert all(0.3 < float(value) < 0.6 for value in rows.values())


def test_values_are_per_user_and_liked_films_are_some_of_them(path):
    ratings = read_ratings(path)
    parts = hold_out(Opinions.from_ratings(ratings))
    found = measure(ratings, parts, parts.users, "popularity")
    assert all(len(values) == 60 for values in found.values.values())
    hidden_liked = np.isfinite(found.values["ndcg@10 liked"])
    assert 0 < hidden_liked.sum() < 60


def test_error_is_one_line(tmp_path, capsys):
    (tmp_path / "lonely.csv").write_text("1,2,3\n2,2,3\n")
    assert main([str(tmp_path / "lonely.csv")]) == 2
    assert "no user has two ratings" in capsys.readouterr().err


@pytest.mark.slow
def test_auto_on_movielens(movielens):
    """Within 3% of EASE on who rated what at any penalty, and far above popularity."""
    ratings = read_ratings(movielens)
    parts = hold_out(Opinions.from_ratings(ratings))
    found = {
        method: float(measure(ratings, parts, parts.users, method).values["ndcg@10"].mean())
        for method in ("auto", "ease", "popularity")
    }
    binary = csr_array(
        (np.ones(len(parts.train.row)), parts.train.row, parts.train.start),
        (parts.train.n_columns, parts.train.n_rows),
    )
    gains = csr_array(
        (np.ones(len(parts.test.row)), parts.test.row, parts.test.start), binary.shape
    )
    for penalty in (100.0, 200.0, 400.0):
        scores = Ease(penalty).fit(binary).predict(binary)
        best = best_items(scores, binary, parts.train.row_count, 10)
        assert found["auto"] > 0.97 * np.nanmean(ndcg(best, gains))
    assert found["auto"] > 0.97 * found["ease"]
    assert found["auto"] > 1.5 * found["popularity"]
