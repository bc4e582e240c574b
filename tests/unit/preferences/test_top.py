"""When the first places are settled, and what is ranked at all."""

from __future__ import annotations

import stat
import subprocess
import sys

import numpy as np
import pytest

from crucial.errors import DataError, ParameterError
from crucial.preferences import PreferenceSession
from crucial.preferences.server import PageOptions, check_blind, page_state
from crucial.preferences.session import (
    Item,
    Items,
    learn_posterior,
    next_pair,
    prior_precision,
    settled_by,
)

NAMES = [f"{k:02}" for k in range(8)]
OPEN = np.array([[1, 2, 3, 4], [4, 3, 2, 1]])  # draws that settle nothing
SURE = np.array([[1, 2, 3, 4]])


def wins_of(*pairs, ties=()):
    won, tied = np.zeros((4, 4)), np.zeros((4, 4))
    for high, low in pairs:
        won[high, low] += 1
    for a, b in ties:
        tied[a, b] += 1
        tied[b, a] += 1
    return won, tied


@pytest.mark.parametrize(
    ("wins", "top", "places", "expected"),
    [
        (wins_of((0, 1), (1, 2), (2, 3)), 3, OPEN, "answers"),  # a chain
        (wins_of((0, 1), (0, 2), (0, 3)), 1, OPEN, "answers"),
        (wins_of((0, 1), (0, 2), (0, 3)), 2, OPEN, None),  # who is second?
        (wins_of((0, 1), (0, 2)), 1, OPEN, None),  # nothing about 3
        (wins_of((0, 1), (0, 2)), 1, SURE, "model"),
        (wins_of((0, 1), (1, 2), (2, 3), (3, 0)), 1, OPEN, None),  # an answer against the first
        (wins_of((0, 1), (1, 2), (2, 3), (3, 1)), 1, OPEN, "answers"),  # a circle below the first
        (wins_of((0, 1), (1, 0), (0, 1), (1, 2), (2, 3)), 1, OPEN, "answers"),  # two to one
        (wins_of((0, 1), (1, 0), (1, 2), (2, 3)), 1, OPEN, None),  # one to one
        (wins_of((0, 1), (1, 0), (1, 2), (2, 3), ties=[(0, 1)]), 1, OPEN, None),
        (wins_of((1, 2), (2, 3), ties=[(0, 1)]), 2, OPEN, "answers"),  # equal, above the others
        (wins_of((0, 1), ties=[(1, 2)]), 2, OPEN, None),
        (wins_of((0, 1), (1, 2), (2, 3)), 9, OPEN, "answers"),
    ],
)
def test_what_settles_the_first_places(wins, top, places, expected):
    assert settled_by(np.arange(4), *wins, places, top) == expected


def test_one_answer_for_each_settles_nothing():
    session = PreferenceSession(["a", "b"])
    for name in ("a", "b"):
        session.answer("left" if session.names[session.question[0]] == name else "right")
    assert session.top_settled() == "all"  # (there is nothing more to ask)
    assert not session.ranking()[0].settled


def answer_all(session, most=200):
    """Answer as somebody who likes low names; returns how many answers the top took."""
    while session.top_settled() is None and session.n_answers < most:
        left, right = session.question
        session.answer("left" if left < right else "right")
    return session.n_answers


def test_the_top_is_settled_by_few_answers():
    assert PreferenceSession(NAMES).top == 3
    assert PreferenceSession(NAMES[:2]).top == 1
    whole = PreferenceSession(NAMES)
    assert answer_all(whole) < 28  # (28 pairs)
    assert whole.top_settled() == "answers"
    assert [one.name for one in whole.ranking()[:3]] == NAMES[:3]
    one = PreferenceSession(NAMES, top=1)
    assert answer_all(one) <= 9  # (7 can do)
    assert one.ranking()[0].name == NAMES[0]
    with pytest.raises(ParameterError, match="top"):
        PreferenceSession(NAMES, top=0)


def test_every_pair_asked_is_an_end():
    session = PreferenceSession(NAMES[:3])
    for k, word in enumerate(("left", "skip", "skip")):
        assert session.top_settled() is None, k
        session.answer(word)
    assert session.top_settled() == "all"


def test_items_without_an_answer_have_no_rank():
    session = PreferenceSession(NAMES)
    assert session.ranking() == []
    assert session.top_settled() is None
    session.answer("skip")
    assert session.ranking() == []
    asked = session.question
    session.answer("tie")
    assert sorted(one.item for one in session.ranking()) == sorted(asked)
    assert [(one.rank_low, one.rank_high) for one in session.ranking()] == [(1, 2)] * 2
    with_features = PreferenceSession(NAMES, features=np.arange(8.0)[:, None])
    assert with_features.ranking() == []
    with_features.answer("left")
    assert len(with_features.ranking()) == 8  # features tell something about all


def test_questions_concentrate_on_the_top():
    found = learn_posterior(
        np.array([0, 0, 1]), np.array([1, 2, 2]), np.full(3, 9.0), prior_precision(5)
    )
    chances = np.array([0.9, 0.5, 1e-9, 1e-9, 1e-9])
    pair = next_pair(found, np.zeros((5, 5), int), np.random.default_rng(0), chances)
    assert set(pair) & {0, 1}


def test_answers_are_for_their_owner_only(tmp_path):
    path = tmp_path / "a.jsonl"
    with PreferenceSession(NAMES, path) as session:
        session.answer("left")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)  # what was chosen since stays
    PreferenceSession(NAMES, path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_blind_pages_contain_no_name():
    cells = (("ID", "secret"), ("size", "3"))
    items = Items((Item("secret a", "one", cells=cells), Item("secret b", "two", cells=cells)))
    session = PreferenceSession(items)
    session.answer("left")
    assert "secret" not in str(page_state(session, PageOptions(blind=True)))
    assert "secret a" in str(page_state(session, PageOptions()))
    check_blind(items.items)
    with pytest.raises(DataError, match="nothing else of 'b' can be shown: it needs a text"):
        check_blind((Item("a", "text"), Item("b", cells=(("id", "1"),))))


def test_cut_texts_say_so():
    session = PreferenceSession(Items((Item("a", "x" * 30_000), Item("b"))))
    assert "… (cut: 20,000 of 30,000 characters)" in str(page_state(session, PageOptions()))


def test_a_turn_uses_one_thread():
    """Libraries that are loaded late are limited, too: spinning threads took most of a turn."""
    program = """
import numpy as np
from threadpoolctl import threadpool_info
from crucial.preferences import PreferenceSession, session
learn = session.learn_posterior
def watched(*arguments):
    found = learn(*arguments)
    print(sorted({one["num_threads"] for one in threadpool_info()}))
    return found
session.learn_posterior = watched
PreferenceSession(["tea", "milk"])
"""
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout == "[1]\n"


def test_few_places_are_sent_with_a_question():
    session = PreferenceSession([f"{k:03}" for k in range(60)])
    for _ in range(30):
        session.answer("left")
    state = page_state(session, PageOptions())
    assert (state["ranked"], len(state["ranking"])) == (60, 20)
