"""Steps on the smooth margin solve the equations of Rudin & Schapire (2009)."""

import math

import pytest

from crucial import PairFeedback
from crucial.boosting.steps import SmoothMarginStep, smooth_step


@pytest.mark.parametrize("line_search", [False, True])
def test_a_perfect_ranker_once_separable(line_search):
    feedback = PairFeedback([(0, 1)], 2)
    smooth = SmoothMarginStep(feedback, line_search, 0.001)
    alpha = smooth._binary(1.0, 0.0, 0.3, 5.0)
    # Half of a pair more on either side, and the equations of the paper.
    assert alpha == pytest.approx(smooth._binary(1.001 / 1.002, 0.001 / 1.002, 0.3, 5.0))
    assert alpha > 0
    assert SmoothMarginStep(feedback, line_search, 0.001, True)._binary(1.0, 0.0, 0.3, 5.0) is None


@pytest.mark.parametrize("g", [1e-12, 0.1, 0.5, 0.999999])
@pytest.mark.parametrize(
    ("right", "wrong", "tied"),
    [(0.9, 0.1, 0.0), (0.8, 0.0, 0.2), (0.55, 0.05, 0.4), (0.999, 0.0005, 0.0005)],
)
def test_rudin_schapire_2009_equation_11_is_solved(right, wrong, tied, g):
    alpha = smooth_step(right, wrong, tied, g)
    z = right * math.exp(-alpha) + wrong * math.exp(alpha) + tied
    slope = -right * math.exp(-alpha) + wrong * math.exp(alpha)
    assert g * z == pytest.approx(-slope, rel=1e-9, abs=1e-15)
    assert (alpha > 0) == (right - wrong > g)


def test_rudin_schapire_2009_equation_12_is_the_same():
    right, wrong, tied, g = 0.6, 0.1, 0.3, 0.2
    root = math.sqrt(g**2 * tied**2 + (1 + g) * (1 - g) * 4 * right * wrong)
    written = math.log((-g * tied + root) / ((1 + g) * 2 * wrong))
    assert smooth_step(right, wrong, tied, g) == pytest.approx(written, rel=1e-12)
