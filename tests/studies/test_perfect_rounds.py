"""The study of perfect rounds: numbers of appendix B of Connamacher et al. (2019)."""

import math
import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "studies" / "perfect_rounds.py"


@pytest.fixture(scope="module")
def study():
    return runpy.run_path(str(SCRIPT))


@pytest.mark.parametrize("n", [3, 4, 30])
def test_lemma_1(study, n):
    problem = study["lemma_1"](n)
    bound = math.exp(-0.5 * (((n - 1) / (n + 1)) ** 2 + 1 / 4))
    alone, limit = (study["treat"](problem, way) for way in ("infinite", "limit"))
    assert alone == pytest.approx((n / (n + 1), n / (n + 1), bound))  # equation 48
    assert (alone.r1 > bound) == (n >= 4)  # equation 47: violated from 10 elements on
    # (Z is 4n / (n + 1)^2, then one half: what is left is tied by the second ranker)
    assert limit == pytest.approx((n / (n + 1) ** 2, 2 * n / (n + 1) ** 2, bound))
    stopped = study["treat"](problem, "stop")
    assert stopped.e1 == pytest.approx(4 * n / (n + 1) ** 2)


def test_lemma_2(study):
    problem = study["lemma_2"](2)
    large = study["treat"](problem, "constant")
    assert large == pytest.approx((4 / 5, 4 / 5, math.exp(-0.5 * (0.8**2 + 0.2**2))))
    limit = study["treat"](problem, "limit")
    assert limit[:2] == pytest.approx((4 / 25, 4 / 25))
    assert study["treat"](problem, "stop") == (1.0, 1.0, 1.0)


def test_the_table(study, capsys):
    study["main"]()
    lines = capsys.readouterr().out.splitlines()
    broken = {line.split()[0] for line in lines if line.endswith("  no")}
    assert broken == {"infinite", "constant"}
