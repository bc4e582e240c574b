"""Calls that look right and are not, and what a model file tells of the call that made it."""

from __future__ import annotations

import numpy as np
import pytest

import crucial
from crucial import RankBoost
from crucial.errors import DataError

X = np.random.default_rng(3).normal(size=(40, 3))
Y = np.arange(40) % 3
QID = np.repeat(np.arange(4), 10)


def test_an_eval_set_may_come_in_lists_of_one() -> None:
    """As other libraries want it; and what is wrong with its queries is said of them."""
    plain = RankBoost(5).fit(X, Y, qid=QID, eval_set=(X, Y), eval_qid=QID)
    listed = RankBoost(5).fit(X, Y, qid=QID, eval_set=[(X, Y)], eval_qid=[QID])
    assert listed.trace_.column("ndcg@10").tolist() == plain.trace_.column("ndcg@10").tolist()
    with pytest.raises(DataError, match=r"^eval_qid must have one id for each of the 40 rows"):
        RankBoost(5).fit(X, Y, qid=QID, eval_set=(X, Y), eval_qid=QID[:-1])


def test_a_query_is_called_by_its_own_name() -> None:
    with pytest.raises(DataError, match=r"constant inside a query\. It is not in 0\."):
        RankBoost(2).fit(X, Y, qid=QID, query_weight=np.arange(40))
    with pytest.raises(DataError, match=r"It is not in 'q0'\."):
        RankBoost(2).fit(X, Y, qid=[f"q{q}" for q in QID], query_weight=np.arange(40))


def test_the_package_completes_to_its_public_names_alone() -> None:
    shown = [name for name in dir(crucial) if not name.startswith("__")]
    assert shown == sorted(set(crucial.__all__) - {"__version__"})
