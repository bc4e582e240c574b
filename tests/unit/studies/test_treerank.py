"""The study of ranking trees on data sets by path."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from crucial.errors import DataError
from crucial.studies.treerank import areas, find_sets, main


@pytest.fixture
def folder(tmp_path):
    random = np.random.default_rng(0)
    for part, n in (("learn", 120), ("test", 80)):
        X = random.normal(size=(n, 2)).round(3)
        y = (X[:, 0] + random.normal(size=n) > 0).astype(int)
        lines = ["V1,V2,label", *(f"{a},{b},{c}" for (a, b), c in zip(X, y))]
        text = "\n".join(lines) + "\n"
        if part == "learn":
            (tmp_path / f"Toy.{part}.csv").write_text(text)
        else:
            (tmp_path / f"Toy.{part}.csv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "Toy.roc.csv").write_text("fpr,tpr\n0,0\n0.5,0.9\n1,1\n")
    return tmp_path


def test_sets_are_found_and_learned(folder) -> None:
    (data,) = find_sets(folder)
    assert (data.name, len(data.learn[1]), len(data.test[1])) == ("Toy", 120, 80)
    assert data.best == pytest.approx(0.7)
    found = areas(data)
    assert set(found) == {"TreeRank", "RankingForest", "RankOver"}
    assert all(area > 0.6 for area, _ in found.values())


def test_the_command_prints_one_line_per_ranker(folder, capsys) -> None:
    assert main([str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[1].split()[:2] == ["Toy", "TreeRank"]


def test_missing_files_are_named(folder, tmp_path, capsys) -> None:
    with pytest.raises(DataError, match=r"has no file that ends in .learn.csv"):
        find_sets(tmp_path / "nowhere")
    (folder / "Toy.test.csv.gz").unlink()
    assert main([str(folder)]) == 2
    assert "has no Toy.test.csv" in capsys.readouterr().err
