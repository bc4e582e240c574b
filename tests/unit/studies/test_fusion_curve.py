"""The learning curve of fusion: what is learned from, what is measured, what is printed."""

from __future__ import annotations

import numpy as np
import pytest

from crucial import Qrels, Run, load_digits_search, write_qrels, write_run
from crucial.errors import DataError, ParameterError
from crucial.studies import fusion_curve


@pytest.fixture(scope="module")
def search():
    problem = load_digits_search(n_queries=24, top=20)
    runs = []
    for column, name in enumerate(problem.feature_names[:4]):
        rows = np.flatnonzero(~np.isnan(problem.X[:, column]))
        runs.append(Run(problem.qid[rows], problem.item[rows], problem.X[rows, column], name))
    return runs, Qrels(problem.qid, problem.item, problem.y)


@pytest.fixture(scope="module")
def points(search):
    runs, qrels = search
    return fusion_curve.run(runs, qrels, sizes=(4, 14, 99), n_runs=4, depth=20, splits=2)


def test_points(points) -> None:
    assert [one.n_queries for one in points] == [4, 14]  # 99 are more than there are
    few, more = points
    assert few.share.tolist() == [0.0, 0.0]  # four queries support nothing
    np.testing.assert_array_equal(few.learned, few.rrf)
    np.testing.assert_array_equal(few.rrf, more.rrf)  # the same held-out queries
    np.testing.assert_allclose(few.largest, 1 / 4)
    supported = more.share > 0
    assert supported.any()
    assert (more.gain[supported] > 0).all()
    np.testing.assert_array_equal(more.gain[~supported], 0.0)


def test_the_command_prints_and_draws(search, tmp_path, capsys) -> None:
    runs, qrels = search
    for run in runs:
        write_run(tmp_path / f"{run.tag}.run", run)
    write_qrels(tmp_path / "qrels.txt", qrels)
    figure = tmp_path / "curve.svg"
    arguments = [*map(str, sorted(tmp_path.glob("*.run"))), "--qrels", str(tmp_path / "qrels.txt"),
                 "--sizes", "4", "--splits", "2", "--figure", str(figure)]  # fmt: skip
    assert fusion_curve.main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "map on held-out queries, mean over 2 splits; gains are over rrf(60)"
    assert lines[2].split()[:1] == ["4"]
    assert "0/2/0" in lines[2]
    assert figure.read_text().count("<svg") == 1


def test_what_cannot_be_is_refused(search, tmp_path, capsys) -> None:
    runs, qrels = search
    with pytest.raises(DataError, match="too few judged queries"):
        fusion_curve.run(runs, qrels, sizes=(99,), splits=2)
    with pytest.raises(ParameterError, match="'splits' parameter of fusion_curve"):
        fusion_curve.run(runs, qrels, splits=1)
    assert fusion_curve.main(["a.run", "--qrels", str(tmp_path / "none")]) == 2
    assert "no such file" in capsys.readouterr().err
