"""The studies of films: rankers held to their words in plain loops, figures, top-N tables."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucial.data.dataset import Ratings
from crucial.io.ratings import read_ratings
from crucial.recommend import Opinions, Viewer
from naive.films import (
    best_scale_default,
    mean_of,
    neighbour_scores,
    ratings_of,
    regression_table,
    vsim_scores,
)
from rankboost_films import (
    MEASURES,
    METHODS,
    TOP_N_MEASURES,
    Study,
    chance,
    mean,
    nearest,
    nearest_defaults,
    popularity,
    recall,
    regression,
    run,
    vsim,
)

# -- the rankers ------------------------------------------------------------------------------

CELL = st.one_of(st.none(), st.none(), st.integers(0, 5).map(float))


@st.composite
def clubs(draw):
    """A table with gaps and a user who rated some films, not all the same."""
    n_films, n_viewers = draw(st.integers(3, 9)), draw(st.integers(1, 5))
    row = st.lists(CELL, min_size=n_viewers, max_size=n_viewers)
    table = draw(st.lists(row, min_size=n_films, max_size=n_films))
    films = draw(st.lists(st.integers(0, n_films - 1), min_size=2, max_size=n_films, unique=True))
    stars = [float(draw(st.integers(1, 5))) for _ in films]
    if len(set(stars)) == 1:
        stars[0] = stars[0] % 5 + 1
    return table, dict(zip(films, stars))


def target_of(table, rated, scale=1.0, down=0.0):
    cells = [[np.nan if cell is None else scale * (cell - down) for cell in row] for row in table]
    club, films = Opinions.from_dense(cells), np.array(list(rated))
    labels = scale * (np.array(list(rated.values())) - down)
    return Viewer(club, films, labels, np.arange(club.n_columns), club.take_rows(films))


@given(clubs())
def test_vsim(case):
    np.testing.assert_allclose(vsim(target_of(*case)), vsim_scores(*case), atol=1e-12)


@given(clubs(), st.sampled_from([0.1, 0.2, 0.3, 1 / 3]), st.integers(0, 3))
def test_vsim_depends_on_the_ratings_and_not_on_the_rounding_of_their_scale(case, scale, down):
    # Tenths are not exact, and with negative ratings products of both signs may add up to 0.
    whole, tenths = vsim(target_of(*case, down=down)), vsim(target_of(*case, scale, down))
    np.testing.assert_allclose(tenths, scale * whole, atol=1e-11)


@given(clubs(), st.integers(1, 3))
def test_nearest_neighbours(case, k):
    table, rated = case
    target = target_of(table, rated)
    loss, default = nearest_defaults(target)
    for viewer in range(len(table[0])):
        expected = best_scale_default(table, viewer, rated)
        assert (loss[viewer], default[viewer]) == pytest.approx(expected)
    near = sorted(range(len(table[0])), key=lambda viewer: round(loss[viewer], 10))[:k]
    parts = [neighbour_scores(table, viewer, default[viewer]) for viewer in near]
    np.testing.assert_allclose(nearest(target, k), np.mean(parts, axis=0), atol=1e-12)


@given(clubs(), st.booleans())
def test_regression(case, normalise):
    table, rated = case
    target = target_of(table, rated)
    y = target.labels
    filled = np.array(regression_table(table, normalise))
    wanted = (y - y.mean()) / y.std() if normalise else y
    shortest = np.linalg.pinv(filled[target.films], rcond=1e-6) @ wanted
    np.testing.assert_allclose(regression(target, normalise), filled @ shortest, atol=1e-6)


@given(clubs())
def test_popularity_and_mean(case):
    table, rated = case
    target = target_of(table, rated)
    counts = [sum(cell is not None for cell in row) for row in table]
    assert popularity(target).tolist() == counts
    means = [mean_of(ratings_of(table, viewer)) for viewer in range(len(table[0]))]
    above = [sum(c - m for c, m in zip(row, means) if c is not None) for row in table]
    expected = [a / (n + 5.0) for a, n in zip(above, counts)]
    np.testing.assert_allclose(mean(target), expected, atol=1e-12)


# -- figures 5 to 7 ---------------------------------------------------------------------------


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


def test_points_are_means_over_users_and_chance_is_one_half(study):
    words = ("--users", 100, "--targets", 12)
    for number in (5, 6, 7):
        said = study("rankboost_films", f"figure-{number}", *words).stdout
        assert said.startswith(f"Figure {number}: ")
        for name in (*METHODS, "random"):
            assert len(re.findall(rf"^  {name} ", said, re.MULTILINE)) == len(MEASURES)
        chance = re.findall(r"^  random +([0-9. *]+)$", said, re.MULTILINE)[0]
        assert set(re.findall(r"[0-9.]+", chance)) == {"0.500"}


def test_figures_are_drawn_of_ratings_of_ones_own(study, tmp_path):
    ratings = club()
    path = tmp_path / "ratings.csv"
    rows = zip(ratings.user.tolist(), ratings.item.tolist(), ratings.rating.tolist())
    path.write_text("user,item,rating\n" + "".join(f"{u},{i},{r}\n" for u, i, r in rows))
    words = ("figure-6", "--data", path, "--targets", 12, "--plot", tmp_path / "figure.png")
    said = study("rankboost_films", *words).stdout
    assert "\nData: ratings.csv; 1 split\n" in said
    assert (tmp_path / "figure.png").stat().st_size > 10_000


@pytest.mark.parametrize(("films", "good"), [(5, 2), (6, 1), (4, 4)])
def test_figure_8_by_all_orders(films, good):
    """Equation 22 of Freund et al. (2003), with every order of the films listed."""
    expected = []
    for places in itertools.combinations(range(1, films + 1), good):
        precision = [k / place for k, place in enumerate(places, 1)]
        expected.append((precision[0], np.mean(precision), precision[-1]))
    assert chance(films, good) == pytest.approx(tuple(np.mean(expected, axis=0)))


@pytest.mark.slow
def test_what_the_paper_finds_on_movielens(movielens):
    """RankBoost ahead of the nearest neighbour and regression; more feedback, fewer errors."""
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


# -- the top-N table --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_kinds(tmp_path_factory):
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


def test_top_n_table(study, two_kinds):
    words = ("--methods", "auto,ease,popularity,vsim,mean,rankboost", "--splits", 2)
    said = study("rankboost_films", "top-n", two_kinds, *words, "--users", 40).stdout
    assert "2 splits; a fifth hidden; 40 users per split" in said
    assert all(name in said for name in TOP_N_MEASURES)
    rows = {name: float(ndcg) for name, ndcg in re.findall(r"^(\w+) +([0-9.]+) ", said, re.M)}
    # (18 unseen films of one's half hide 3)
    assert 0.3 < rows["ease"] < 0.6
    assert rows["auto"] == pytest.approx(rows["ease"], rel=0.1)
    assert rows["popularity"] < 0.8 * rows["ease"]
    assert {"vsim", "mean", "rankboost"} <= set(rows)


def test_recall_is_of_what_could_be_found():
    gains = np.array([[1.0, 0.5, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0], [0.0] * 4])
    best = np.array([[0, 2], [1, -1], [0, 1]])
    assert recall(best, gains).tolist() == pytest.approx([0.5, 1.0, np.nan], nan_ok=True)


def test_errors_are_one_line(study, tmp_path):
    done = study("rankboost_films", "top-n", tmp_path / "nothing")
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    (tmp_path / "lonely.csv").write_text("1,2,3\n2,2,3\n")
    done = study("rankboost_films", "top-n", tmp_path / "lonely.csv")
    assert "no user has two ratings" in done.stderr
    done = study("rankboost_films", "top-n", tmp_path, "--methods", "ease,eased")
    assert "'eased' is not one of auto, ease," in done.stderr
    done = study("rankboost_films", "figure-6", "--users", 8)
    assert done.stderr.endswith("error: figure 6: no group has 10 users.\n")
