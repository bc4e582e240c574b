"""The film study: halves, bins, and that its tables and figures come out."""

from __future__ import annotations

import re

import numpy as np
import pytest

from crucial.data.ratings import Ratings
from crucial.studies.films import MEASURES, METHODS, Study, main, run


def club(n_users=100, n_items=150, seed=0) -> Ratings:
    """Users with 12 to 120 ratings, who share some taste."""
    random = np.random.default_rng(seed)
    quality, taste = random.normal(size=n_items), random.normal(size=(n_users, 2))
    kind = random.normal(size=(2, n_items))
    users, items = [], []
    for user in range(n_users):
        some = random.permutation(n_items)[: random.integers(12, 120)]
        users += [user] * len(some)
        items += some.tolist()
    users, items = np.array(users), np.array(items)
    liked = quality[items] + (taste[users] * kind[:, items].T).sum(axis=1)
    stars = np.clip(np.round(3 + liked + 0.5 * random.normal(size=len(items))), 1, 5)
    return Ratings.from_columns(users, items, stars)


def test_halves_are_of_the_user_and_do_not_overlap():
    ratings = club()
    study = Study(ratings)
    halves = study.halves(np.arange(100), [0, 0])
    assert len(halves) >= 90
    for film in halves:
        both = np.concatenate((film.train, film.test))
        own = ratings.item_code[ratings.user_code == film.user]
        assert sorted(both.tolist()) == sorted(own.tolist())
        assert len(film.test) - len(film.train) in (0, 1)
    again = study.halves(np.arange(100), [0, 0])
    assert all((a.train == b.train).all() for a, b in zip(halves, again))


def test_targets_are_no_features():
    study = Study(club(), methods=["mean"])
    seen = []
    study.measure = lambda point, features, targets, seed: seen.append((features, targets))
    for figure in (5, 6, 7):
        run(study, figure, splits=2)
    assert len(seen) >= 6
    for features, targets in seen:
        assert not set(features.tolist()) & set(targets.tolist())


def test_tables_and_figures(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    ratings = club()
    path = tmp_path / "ratings.csv"
    rows = zip(ratings.user.tolist(), ratings.item.tolist(), ratings.rating.tolist())
    path.write_text("user,item,rating\n" + "".join(f"{u},{i},{r}\n" for u, i, r in rows))
    folder = tmp_path / "plots"
    assert main([str(path), "--targets", "12", "--plots", str(folder), "--jobs", "1"]) == 0
    said = capsys.readouterr().out
    for number in (5, 6, 7):
        assert f"Figure {number}: " in said
        assert (folder / f"figure_{number}.png").stat().st_size > 10_000
    for name in (*METHODS, "random"):
        assert len(re.findall(rf"^  {name} ", said, re.MULTILINE)) == 3 * len(MEASURES)
    chance = re.findall(r"^  random +([0-9. *]+)$", said, re.MULTILINE)[0]
    assert set(re.findall(r"[0-9.]+", chance)) == {"0.500"}


def test_error_is_one_line(tmp_path, capsys):
    assert main([str(tmp_path / "nothing")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1


@pytest.mark.slow
def test_what_the_paper_finds_on_movielens(movielens):
    """RankBoost ahead of the nearest neighbour and regression; more feedback, fewer errors."""
    from crucial.data.formats.ratings import read_ratings

    methods = ("rankboost", "vsim", "neighbour", "regression")
    study = Study(read_ratings(movielens), methods, most_targets=150)
    for point in run(study, 5):
        ours = point.mean("rankboost", "disagreement")
        assert ours < point.mean("neighbour", "disagreement")
        assert ours < point.mean("regression", "disagreement")
    feedback = run(study, 7)
    boosted = [point.mean("rankboost", "disagreement") for point in feedback]
    assert boosted[-1] == min(boosted)
    few, many = feedback[1], feedback[-1]
    assert few.mean("vsim", "disagreement") < few.mean("rankboost", "disagreement")
    assert many.mean("rankboost", "disagreement") < many.mean("vsim", "disagreement")
