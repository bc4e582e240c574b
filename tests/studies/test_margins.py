"""The study of smooth margins: figure 2 of Rudin & Schapire (2009)."""

import math
import re
import runpy
from pathlib import Path

import pytest
from scipy.optimize import brentq

from margins import app, progress_share


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


def test_figure_2_is_above_a_half(study):
    said = study("margins", "figure-2").stdout
    assert "0.523867" in said  # r = .5, g = 0
    assert f"{by_root(0.5, 0.0, 0.01):.6f}" == "0.523867"
    assert float(re.search(r"smallest ([\d.]+)", said)[1]) >= 0.5
    assert study("margins", "figure-2", "--tied", 0.9).exit_code == 2


def test_theorem_7_every_step_closes_half_of_the_gap():
    """With ties, on problems of several sizes; the smooth margin never falls (theorem 8)."""
    for pairs, rankers in ((20, 20), (40, 30)):
        found = app.items["theorem-7"].compute({"rounds": 400, "pairs": pairs, "rankers": rankers})
        assert found["least_where_it_holds"] >= 0.5
        assert found["condition_holds"] > 0.9
        assert found["steps_that_lower_g"] == 0
        assert found["smooth_margin"][-1] < found["rho"]
        assert found["share_of_weight"][-1] < 0.02 * found["share_of_weight"][0] + 0.002  # lemma 9


def test_corollary_4_is_below_equation_2():
    for _, exact, stated, finite in app.items["corollary-4"].compute({})["rows"]:
        assert finite < exact < stated


def test_the_minima_are_one():
    """Theorems 10, 12 and 14 at the minimum that 500 rounds reach."""
    found = app.items["equivalence"].compute({"rounds": 500})
    assert found["minimum"]["AdaBoost"] == pytest.approx(found["minimum"]["RankBoost"], rel=1e-5)
    assert found["auc"]["AdaBoost"][-1] == pytest.approx(found["auc"]["RankBoost"][-1], abs=1e-6)
    assert found["same_decisions"] == 1.0


# -- the study of perfect rounds: numbers of appendix B of Connamacher et al. (2019) --------------


SCRIPT = Path(__file__).parents[2] / "studies" / "perfect_rounds.py"


@pytest.fixture(scope="module")
def perfect():
    return runpy.run_path(str(SCRIPT))


@pytest.mark.parametrize("n", [3, 4, 30])
def test_lemma_1(perfect, n):
    problem = perfect["lemma_1"](n)
    bound = math.exp(-0.5 * (((n - 1) / (n + 1)) ** 2 + 1 / 4))
    alone, limit = (perfect["treat"](problem, way) for way in ("infinite", "limit"))
    assert alone == pytest.approx((n / (n + 1), n / (n + 1), bound))  # equation 48
    assert (alone.r1 > bound) == (n >= 4)  # equation 47: violated from 10 elements on
    # (Z is 4n / (n + 1)^2, then one half: what is left is tied by the second ranker)
    assert limit == pytest.approx((n / (n + 1) ** 2, 2 * n / (n + 1) ** 2, bound))
    stopped = perfect["treat"](problem, "stop")
    assert stopped.e1 == pytest.approx(4 * n / (n + 1) ** 2)


def test_lemma_2(perfect):
    problem = perfect["lemma_2"](2)
    large = perfect["treat"](problem, "constant")
    assert large == pytest.approx((4 / 5, 4 / 5, math.exp(-0.5 * (0.8**2 + 0.2**2))))
    limit = perfect["treat"](problem, "limit")
    assert limit[:2] == pytest.approx((4 / 25, 4 / 25))
    assert perfect["treat"](problem, "stop") == (1.0, 1.0, 1.0)
