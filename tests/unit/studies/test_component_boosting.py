"""The simulation of component-wise boosting."""

import numpy as np
import pytest

from crucial.errors import ParameterError
from crucial.studies.component_boosting import ALLOCATIONS, draw, main, print_table, run, verdict


def test_section_31_the_signal_has_twice_the_variance_of_the_noise():
    X, y = draw(25, 50, 10, np.random.default_rng(0))
    assert X.shape == (50, 25)
    again = np.random.default_rng(0)
    again.normal(size=(50, 25))
    b = np.r_[again.normal(size=10), np.zeros(15)]
    assert np.var(X @ b) / np.var(y - X @ b) == pytest.approx(2.0)


@pytest.mark.slow
def test_section_31_simulation_of_the_smallest_tables():
    """Means of 5 draws, as the specification gives them; their standard deviation is about .02."""
    cells = run(*ALLOCATIONS[0])
    found = {(one.loss, one.choice, one.expit): one for one in cells}

    def mean(*key):
        return found[key].hard.mean()

    expected = {
        ("L2", "updated", False): 0.16,
        ("L2", "updated", True): 0.16,
        ("Hinge", "simple", False): 0.49,
        ("Hinge", "simple", True): 0.27,
        ("Hinge", "updated", False): 0.14,
        ("Hinge", "updated", True): 0.24,
        ("piecewise .1", "simple", False): 0.18,
        ("piecewise .5", "simple", False): 0.19,
        ("piecewise .9", "simple", False): 0.21,
        ("piecewise .1", "simple", True): 0.26,
        ("piecewise .5", "simple", True): 0.32,
        ("piecewise .9", "simple", True): 0.33,
        ("Exp", "updated", True): 0.27,
    }
    for key, value in expected.items():
        # (other draws than those of the specification: their means differ by some .04)
        assert mean(*key) == pytest.approx(value, abs=0.08), key
    raw = found["Exp", "updated", False]
    assert raw.diverged > 0 or raw.hard.mean() > 0.3
    assert mean("Hinge", "updated", False) < mean("L2", "updated", False)
    assert mean("L2", "updated", False) < mean("Hinge", "simple", False) - 0.1
    assert "selection rule, not by its loss" in verdict(cells)


def test_the_table_and_its_words(capsys):
    lines = []
    print_table(*ALLOCATIONS[0], run(4, 12, 2, draws=1, rounds=3), lines.append)
    assert len(lines) == 3 + 12 + 1
    assert "never finishes since the gradients diverge" in "\n".join(lines)
    assert main(["--draws", "1", "--rounds", "2", "--allocations", "1"]) == 0
    assert "HingeBoost" in capsys.readouterr().out
    with pytest.raises(ParameterError, match="'draws' parameter of component_boosting"):
        run(4, 12, 2, draws=0)
