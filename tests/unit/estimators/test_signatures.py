"""Calls that look right and are not, and what a model file tells of the call that made it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import crucial
from crucial import RankBoost
from crucial.errors import DataError, ParameterError

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


def test_an_eval_set_may_come_in_lists_of_one() -> None:
    """As other libraries want it; and what is wrong with its queries is said of them."""
    plain = RankBoost(5).fit(X, Y, qid=QID, eval_set=(X, Y), eval_qid=QID)
    listed = RankBoost(5).fit(X, Y, qid=QID, eval_set=[(X, Y)], eval_qid=[QID])
    assert listed.trace_.column("ndcg@10").tolist() == plain.trace_.column("ndcg@10").tolist()
    with pytest.raises(DataError, match=r"^eval_qid must have one id for each of the 40 rows"):
        RankBoost(5).fit(X, Y, qid=QID, eval_set=(X, Y), eval_qid=QID[:-1])


@pytest.mark.parametrize("n_jobs", ["2", 0, 1.5, True])
def test_threads_are_a_nonzero_int(n_jobs: object) -> None:
    with pytest.raises(ParameterError, match=r"'n_jobs' .* must be a nonzero int or None"):
        RankBoost(2, n_jobs=n_jobs).fit(X, Y)  # type: ignore[arg-type]


def test_a_query_is_called_by_its_own_name() -> None:
    with pytest.raises(DataError, match=r"constant inside a query\. It is not in 0\."):
        RankBoost(2).fit(X, Y, qid=QID, query_weight=np.arange(40))
    with pytest.raises(DataError, match=r"It is not in 'q0'\."):
        RankBoost(2).fit(X, Y, qid=[f"q{q}" for q in QID], query_weight=np.arange(40))


def test_the_package_completes_to_its_public_names_alone() -> None:
    shown = [name for name in dir(crucial) if not name.startswith("__")]
    assert shown == sorted(set(crucial.__all__) - {"__version__"})


@pytest.mark.parametrize("kind", ["datetime64[D]", "timedelta64[s]"])
def test_times_are_no_labels(kind: str) -> None:
    with pytest.raises(DataError, match=r"labels must be numbers, not (datetime|timedelta)64"):
        RankBoost(2).fit(X, np.arange(40).astype(kind))
