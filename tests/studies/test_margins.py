"""The study of smooth margins: figure 2 of Rudin & Schapire (2009)."""

import math
import runpy
from pathlib import Path

import pytest
from scipy.optimize import brentq

from margins import progress_share


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
