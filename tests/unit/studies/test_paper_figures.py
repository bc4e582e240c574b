"""Figures of the papers as commands: tables to read, and files that are drawn."""

import math
import re

import numpy as np
import pytest
from scipy.optimize import brentq

from crucial import RankBoost, RankBoostPlus
from crucial.data.ratings import Ratings
from crucial.inspection.e2_trace import e2_trace
from crucial.lab.protocols import ThreeWayFolds
from crucial.studies import movielens_figures, quasi_knn_example, smooth_progress, strict_order
from crucial.studies.movielens import make_tasks
from crucial.studies.smooth_progress import progress_share

PNG = b"\x89PNG"


# -- Connamacher et al. 2019, figures 2 and 4 -----------------------------------------------


def film_club(n_users=9, n_items=40, seed=0):
    random = np.random.default_rng(seed)
    taste, quality = random.normal(size=(n_users, 1)), random.normal(size=n_items)
    liked = quality + 0.3 * taste + 0.7 * random.normal(size=(n_users, n_items))
    stars = np.clip(np.round(3 + liked), 1, 5)
    user, item = np.nonzero(random.random((n_users, n_items)) < 0.75)
    return Ratings(user + 1, item + 1, stars[user, item])


def write_ratings(path, ratings):
    rows = zip(ratings.user.tolist(), ratings.item.tolist(), ratings.rating.tolist())
    path.write_text("user,item,rating\n" + "".join(f"{u},{i},{r}\n" for u, i, r in rows))
    return str(path)


def test_figure_2_is_the_mean_over_tasks_and_folds():
    tasks, _ = make_tasks(film_club(), least=32)
    found = movielens_figures.convergence(tasks[:2], 6, n_jobs=1)
    assert {name for _, name in found} == {"RB+", "RB-C", "RB-D"}
    e1, e2, plus = [], [], []
    for task in tasks[:2]:
        for split in ThreeWayFolds().splits(task, 0):
            train = task.parts(split).train
            ranker = RankBoost.preset("rb_c", n_estimators=6).fit(train.X, train.y)
            e1.append(ranker.trace_.column("loss"))
            e2.append(e2_trace(ranker, train.X, train.y))
            plus.append(RankBoostPlus(6).fit(train.X, train.y).trace_.column("loss"))
    np.testing.assert_allclose(found["e1", "RB-C"], np.mean(e1, axis=0))
    np.testing.assert_allclose(found["e2", "RB-C"], np.mean(e2, axis=0))
    np.testing.assert_allclose(found["e2", "RB+"], np.mean(plus, axis=0))
    # What the paper sees: RankBoost+ has the lowest E2, RB-D and RB-C a lower E1.
    assert found["e2", "RB+"][-1] < found["e2", "RB-C"][-1] < found["e2", "RB-D"][-1]
    assert found["e1", "RB-D"][-1] < found["e1", "RB-C"][-1] < found["e1", "RB+"][-1]
    assert np.all(np.diff(found["e2", "RB+"]) < 0)


def test_figure_4_is_a_halt_of_rb_d():
    tasks, _ = make_tasks(film_club(), least=28)
    found = movielens_figures.find_halt(tasks, 200)
    assert found is not None
    task = next(one for one in tasks if one.name == found.task)
    halted = RankBoost.preset("rb_d", n_estimators=200, on_perfect="stop").fit(task.X, task.y)
    assert halted.trace_.stopped == "perfect weak ranker"
    np.testing.assert_array_equal(found.losses["RB-D"], halted.trace_.column("loss"))
    # RB-C goes on, below what RB-D was left with.
    assert len(found.losses["RB-C"]) > len(found.losses["RB-D"])
    assert found.losses["RB-C"][-1] < found.losses["RB-D"][-1]
    assert movielens_figures.find_halt(tasks, 1) is None


def test_figures_2_and_4_are_printed_and_drawn(tmp_path, capsys):
    path = write_ratings(tmp_path / "ratings.csv", film_club())
    options = ["--least", "28", "--jobs", "1", "--rounds"]
    plots = ["--plots", str(tmp_path / "figures")]
    assert (
        movielens_figures.main([path, *options, "7", "--figures", "2", "--users", "1", *plots]) == 0
    )
    said = capsys.readouterr().out
    assert re.search(r"^ +1 +2 +5 +7$", said, re.M)
    for measure in ("r1", "r2", "ndcg@5", "e1", "e2"):
        assert len(re.findall(rf"^{measure} +RB[-+]", said, re.M)) == 3
    assert movielens_figures.main([path, *options, "200", "--figures", "4", *plots]) == 0
    assert "where RB-D halts after round" in capsys.readouterr().out
    for name in ("figure_2.png", "figure_4.png"):
        assert (tmp_path / "figures" / name).read_bytes()[:4] == PNG
    assert movielens_figures.main([path, *options, "1", "--figures", "4"]) == 2
    assert "RB-D meets no ranker without a mistake" in capsys.readouterr().err


# -- Rudin & Schapire 2009, figure 2 ----------------------------------------------------------


def by_root(r, g, tied):
    """B from its definitions, with the step of equation 11 found numerically."""
    right, wrong = (1 + r - tied) / 2, (1 - r - tied) / 2

    def tau(alpha):
        return right * math.exp(-alpha) + wrong * math.exp(alpha) + tied

    def slope(alpha):
        return -right * math.exp(-alpha) + wrong * math.exp(alpha)

    alpha = brentq(lambda a: g * tau(a) + slope(a), 1e-12, 20, xtol=1e-14)
    return (-math.log(tau(alpha)) / alpha - g) / (r - g)


@pytest.mark.parametrize("r", [0.1, 0.45, 0.8])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("tied", [0.0, 0.01, 0.04])
def test_progress_from_its_definitions(r, share, tied):
    assert progress_share(r, share * r, tied) == pytest.approx(
        by_root(r, share * r, tied), abs=1e-7
    )


def test_lemma_20_holds_on_the_surface():
    r, g, values = smooth_progress.surface(0.01, 80)
    there = ~np.isnan(values)
    assert np.all(values[there] > 0.5)
    assert np.all(values[there] < 1.0)
    inside = (g[None, :] < r[:, None]) & (2 / 3 * (1 - r) * (1 - r * r) > 0.01)[:, None]
    np.testing.assert_array_equal(there, inside)
    # Towards 1/2 as g nears r (lemma 23).
    assert progress_share(0.5, 0.4999, 0.01) == pytest.approx(0.5, abs=1e-4)


def test_without_ties_at_the_start_it_is_a_ratio_of_logarithms():
    for r in (0.2, 0.5, 0.9):
        assert progress_share(r, 0.0, 0.0) == pytest.approx(
            -0.5 * math.log(1 - r * r) / math.atanh(r) / r
        )


def test_the_surface_is_printed_and_drawn(tmp_path, capsys):
    path = tmp_path / "figure.png"
    assert smooth_progress.main(["--plot", str(path)]) == 0
    said = capsys.readouterr().out
    assert "0.523867" in said  # r = .5, g = 0
    assert f"{by_root(0.5, 0.0, 0.01):.6f}" == "0.523867"
    assert float(re.search(r"smallest ([\d.]+)", said)[1]) >= 0.5
    assert path.read_bytes()[:4] == PNG
    assert smooth_progress.main(["--tied", "0.9"]) == 2


# -- Wang et al., figures 8 and 9 -------------------------------------------------------------


def test_figure_9_centres_and_orders():
    x = quasi_knn_example.sample(900)
    assert quasi_knn_example.centres(x) == pytest.approx((-3.5, 1.5, 0.5))
    found = quasi_knn_example.distances(x)
    truth = quasi_knn_example.curve(x)
    # Linear orders by listing the pairs; falling and rising are complements.
    falling = np.mean([a > b for i, a in enumerate(truth) for b in truth[i + 1 :] if a != b])
    assert found["linear, falling (4 first)"] == pytest.approx(falling, abs=1e-3)
    assert found["linear, rising (-5 first)"] == pytest.approx(
        1 - found["linear, falling (4 first)"]
    )
    # Theorem 1: no less correct than a line.
    assert found["quasi-KNN, centres as means"] < found["linear, falling (4 first)"]
    assert found["quasi-KNN, the paper's centres"] < found["linear, falling (4 first)"]


def test_figure_9_ranks_by_the_nearest_centre():
    x = quasi_knn_example.sample(90)
    own = np.array(quasi_knn_example.centres(x))
    nearest = np.abs(x[:, None] - own).argmin(axis=1)
    direction = np.sign([own[1] - own[0], own[1] - own[0], own[2] - own[1]])
    expected = np.lexsort((x * direction[nearest], nearest))
    ranks = quasi_knn_example.QuasiKNN(0, tuple(own.tolist())).ranks(x[:, None])
    np.testing.assert_array_equal(np.argsort(ranks, kind="stable"), expected)


def test_figure_9_is_printed_and_drawn(tmp_path, capsys):
    path = tmp_path / "figure.png"
    assert quasi_knn_example.main(["--plot", str(path), "--points", "450"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^3 +below -1 +-5 to -2 +33% +-3\.50 +-2\.50$", said, re.M)
    assert path.read_bytes()[:4] == PNG
    assert quasi_knn_example.main(["--points", "3"]) == 2


def test_figure_8_is_drawn_beside_its_table(tmp_path, capsys):
    path = tmp_path / "figure_8.png"
    options = ["--substitute", "diabetes", "--rounds", "3", "--jobs", "1"]
    only = ["--only", "DiffRank", "RankBoost"]
    assert strict_order.main([*options, *only, "--plot", str(path)]) == 0
    said = capsys.readouterr().out
    assert "Table 2: NDCG at k" in said
    assert f"drawn: {path}" in said
    assert path.read_bytes()[:4] == PNG
