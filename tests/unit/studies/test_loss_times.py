"""The study of times of ranking losses."""

import numpy as np
import pytest

from crucial.errors import ParameterError
from crucial.studies.loss_times import listed_hard_loss, main, run
from naive import losses


def test_the_listed_loss_is_the_definition():
    random = np.random.default_rng(0)
    y, s = random.integers(0, 4, 30).astype(float), random.integers(0, 5, 30).astype(float)
    assert listed_hard_loss(y, s, block=7) == pytest.approx(losses.hard_loss(y, s, 0.5, "all"))


def test_one_table_of_times():
    found = run(50, 3)
    assert (found.n_rows, found.n_columns) == (50, 3)
    assert found.listed > 0
    assert list(found.localised) == [5, 25]
    assert run(50, 3, listed=False).listed is None
    with pytest.raises(ParameterError, match="'n_rows' parameter of loss_times"):
        run(1, 3)


def test_the_command_prints_a_line_per_table(capsys):
    assert main(["--rows", "20", "40", "--columns", "2", "3", "--list-up-to", "20"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 4
    assert lines[2].split()[:2] == ["20", "2"]
    assert sum("left out" in line for line in lines) == 2
    assert main(["--rows", "1"]) == 2
    assert "'n_rows'" in capsys.readouterr().err
