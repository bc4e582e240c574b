"""Calls that look right and are not, and what a model file tells of the call that made it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from crucial import RankBoost

X = np.random.default_rng(3).normal(size=(40, 3))
Y = np.arange(40) % 3
QID = np.repeat(np.arange(4), 10)


def test_query_ids_are_not_taken_for_weights() -> None:
    """In fit(X, y, qid) the ids would weigh the rows, and nothing would show it."""
    ranker = RankBoost(2).fit(X, Y, qid=QID)
    with pytest.raises(TypeError, match="positional argument"):
        RankBoost(2).fit(X, Y, QID)  # type: ignore[misc]
    with pytest.raises(TypeError, match="positional argument"):
        ranker.score(X, Y, QID)  # type: ignore[misc]


def test_a_warm_start_writes_the_same_file_as_one_run(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole.json", tmp_path / "parts.json"
    RankBoost(9).fit(X, Y, qid=QID).save(whole)
    ranker = RankBoost(4, warm_start=True).fit(X, Y, qid=QID)
    ranker.set_params(n_estimators=9).fit(X, Y, qid=QID).save(parts)
    assert parts.read_bytes() == whole.read_bytes()
