"""The MovieLens study: what is read, which tasks are made, and that its tables come out."""

from __future__ import annotations

import re

import numpy as np
import pytest

from crucial.data.ratings import Ratings
from crucial.errors import DataError
from crucial.studies.movielens import (
    PUBLISHED,
    main,
    make_tasks,
    print_readings,
    run,
)


def film_club(n_users: int = 9, n_items: int = 40, seed: int = 0) -> Ratings:
    random = np.random.default_rng(seed)
    taste, quality = random.normal(size=(n_users, 1)), random.normal(size=n_items)
    liked = quality + 0.3 * taste + 0.7 * random.normal(size=(n_users, n_items))
    stars = np.clip(np.round(3 + liked), 1, 5)
    seen = random.random((n_users, n_items)) < 0.75
    user, item = np.nonzero(seen)
    return Ratings(user + 1, item + 1, stars[user, item])


def test_tasks_follow_the_rule_of_the_paper():
    ratings = film_club()
    tasks, empty = make_tasks(ratings, least=30)
    counts = {u: int((ratings.user == u).sum()) for u in range(1, 10)}
    assert [one.name for one in tasks] == [f"user {u}" for u, c in counts.items() if c >= 30]
    assert empty == 0
    rated = {u: set(ratings.item[ratings.user == u].tolist()) for u in counts}
    for one in tasks:
        me = int(one.name.split()[1])
        enough = [u for u in rated if u != me and 2 * len(rated[u] & rated[me]) >= len(rated[me])]
        assert one.X.shape == (len(rated[me]), len(enough))
        # What was not rated is below every rating.
        assert one.X.min() == 0.0
        column = one.X[:, 0]
        assert (column == 0.0).sum() == len(rated[me] - rated[enough[0]])
    with pytest.raises(DataError, match="no user has 100 ratings or more"):
        make_tasks(ratings)


def test_the_same_ratings_half_missing_are_kept_and_more_are_not():
    user = [1] * 4 + [2] * 2 + [3]
    item = [1, 2, 3, 4, 1, 2, 1]
    tasks, _ = make_tasks(Ratings(np.array(user), np.array(item), np.arange(1.0, 8.0)), least=4)
    assert tasks[0].X.tolist() == [[5.0], [6.0], [0.0], [0.0]]


def test_study_runs_and_goes_on_from_a_folder(tmp_path):
    tasks, _ = make_tasks(film_club(), least=32)
    found = run(tasks[:2], rounds=4, folder=str(tmp_path / "cells"), n_jobs=1)
    again = run(tasks[:2], rounds=4, folder=str(tmp_path / "cells"), n_jobs=1)
    assert not found.failures
    for measure in PUBLISHED:
        for ranker in PUBLISHED[measure]:
            value = found.value(measure, ranker, "task")
            assert 0.0 <= value <= 1.0
            assert value == again.value(measure, ranker, "task")


def test_readings_of_the_rule_for_ndcg():
    tasks, _ = make_tasks(film_club(), least=32)
    said: list[str] = []
    print_readings(tasks[:1], rounds=3, seed=0, write=said.append)
    lines = "".join(said)
    values = {
        kept: [float(v) for v in re.findall(r"(0\.\d+) +[\d.]+ \[", line)]
        for line in said
        for kept in ("ndcg@5, largest", "ndcg@5, smallest")
        if line.startswith(kept)
    }
    assert len(values["ndcg@5, largest"]) == len(values["ndcg@5, smallest"]) == 3
    assert "[0.8019 7]" in lines
    assert "ndcg_exp@5, smallest" in lines


def test_error_is_one_line(tmp_path, capsys):
    assert main([str(tmp_path / "nothing")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "nothing" in said.err


@pytest.mark.slow
def test_twenty_users_come_close_to_the_paper(movielens, capsys):
    """R1 and R2 within .025 of table 3, and its order of the three rankers."""
    assert main([str(movielens), "--users", "20", "--jobs", "2"]) == 0
    said = capsys.readouterr().out
    assert "364 users have 100 or more, and 360 of them" in said
    table = said[said.index("table 3") :]
    for measure in ("r1", "r2"):
        line = next(one for one in table.splitlines() if one.startswith(f"{measure} "))
        ours = [float(one) for one in re.findall(r"(0\.\d+) \[", line)]
        theirs = [PUBLISHED[measure][name][2] for name in ("RB+", "RB-C", "RB-D")]
        assert ours == sorted(ours)
        np.testing.assert_allclose(ours, theirs, atol=0.025)
