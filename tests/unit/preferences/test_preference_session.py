"""Asking a person: what is learned, what is asked next, what settles the top, what is kept."""

import os
import stat

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import norm

from crucial.errors import DataError, FileError, ParameterError
from crucial.preferences import Comparisons, PreferenceSession, next_comparisons
from crucial.preferences.server import PageOptions, check_blind, page_state
from crucial.preferences.session import (
    Item,
    Items,
    Journal,
    StaleQuestionError,
    agreed,
    information,
    learn_posterior,
    next_pair,
    prior_precision,
    read_items,
    spread_of,
)
from refusals import refused

NAMES = ["tea", "milk", "wine", "water"]

# What is learned


def test_the_posterior_is_at_its_mode():
    rng = np.random.default_rng(0)
    precision = prior_precision(5, rng.normal(size=(5, 2)))
    high, low = rng.integers(0, 5, 12), rng.integers(0, 5, 12)
    high, low = high[high != low], low[high != low]
    weight = rng.uniform(0.5, 2, len(high))

    def loss(s):
        return weight @ np.logaddexp(0, s[low] - s[high]) + 0.5 * s @ precision @ s

    best = minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-9}).x
    found = learn_posterior(high, low, weight, precision)
    assert found.mean == pytest.approx(best - best.mean(), abs=1e-6)
    # curvature by differences of the loss, mean strength taken off
    step = 1e-4
    curve = np.zeros((5, 5))
    for i, a in enumerate(np.eye(5) * step):
        for j, b in enumerate(np.eye(5) * step):
            rise = loss(best + a + b) - loss(best + a - b) - loss(best - a + b) + loss(best - a - b)
            curve[i, j] = rise / (4 * step**2)
    off = np.eye(5) - 0.2
    assert found.covariance == pytest.approx(off @ np.linalg.inv(curve) @ off, abs=1e-4)


def test_intervals_of_strength_are_of_90_percent():
    with PreferenceSession(NAMES) as session:
        for _ in range(6):
            session.answer("left")
        places, covariance = session.ranking(), session.posterior.covariance
    for place in places:
        wide = norm.ppf(0.95) * np.sqrt(covariance[place.item, place.item])
        ends = place.high - place.strength, place.strength - place.low
        assert ends == pytest.approx((wide, wide), rel=1e-3)


def test_like_items_are_expected_alike():
    features = np.array([[0.0], [0.1], [5.0], [np.nan]])
    found = learn_posterior(np.array([0]), np.array([2]), np.ones(1), prior_precision(4, features))
    assert found.mean[1] > 0 > found.mean[2]
    assert prior_precision(3, np.ones((3, 1))) == pytest.approx(prior_precision(3))


def test_ranks_narrow_with_answers():
    few = learn_posterior(np.array([0]), np.array([1]), np.ones(1), prior_precision(2))
    many = learn_posterior(np.array([0]), np.array([1]), np.full(1, 50.0), prior_precision(2))
    assert [one.tolist() for one in spread_of(few.places(np.arange(2)))] == [[1, 1], [2, 2]]
    assert [one.tolist() for one in spread_of(many.places(np.arange(2)))] == [[1, 2], [1, 2]]
    assert 0.5 < few.settled() < 0.95 < many.settled() < 1


# What is asked


@given(st.floats(-5, 5), st.floats(0.01, 9))
def test_information_against_many_draws(mean, variance):
    nodes = np.linspace(-8, 8, 4001)
    weights = np.exp(-(nodes**2) / 2)
    p = 1 / (1 + np.exp(-(mean + np.sqrt(variance) * nodes)))

    def entropy(p):
        return -p * np.log(p) - (1 - p) * np.log(1 - p)

    average = (p * weights).sum() / weights.sum()
    expected = entropy(average) - (entropy(p) * weights).sum() / weights.sum()
    found = information(np.array([mean]), np.array([variance]))[0]
    assert found == pytest.approx(expected, abs=2e-3)


def posterior_of_three():
    """Items 0, 1 and 2 of five are well known."""
    high, low = np.array([0, 0, 1]), np.array([1, 2, 2])
    return learn_posterior(high, low, np.full(3, 9.0), prior_precision(5))


def test_the_pair_that_tells_most_is_asked(monkeypatch):
    rng = np.random.default_rng(1)
    found = posterior_of_three()
    pair = next_pair(found, np.zeros((5, 5), int), rng)
    assert set(pair) == {3, 4}  # nothing is known of these two
    asked = np.zeros((5, 5), int)
    asked[3, 4] = asked[4, 3] = 1
    assert set(next_pair(found, asked, rng)) != {3, 4}
    everything = np.ones((5, 5), int)
    everything[1, 2] = everything[2, 1] = 0
    assert set(next_pair(found, everything, rng)) == {1, 2}
    sides = {next_pair(found, everything, rng) for _ in range(20)}
    assert sides == {(1, 2), (2, 1)}
    chances = np.array([0.9, 0.5, 1e-9, 1e-9, 1e-9])  # (of being at the top)
    assert set(next_pair(found, np.zeros((5, 5), int), rng, chances)) & {0, 1}
    monkeypatch.setattr("crucial.preferences.session._MAX_PAIRS", 5)  # (many items are looked at)
    assert set(next_pair(found, np.zeros((5, 5), int), np.random.default_rng(0))) == {3, 4}


def test_asking_well_beats_asking_at_random():
    right = {"well": [], "random": []}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        s = rng.normal(size=12) * 2
        for how, shares in right.items():
            session = PreferenceSession([f"{k:02}" for k in range(12)], random_state=seed)
            for _ in range(30):
                if how == "random":
                    session.question = tuple(rng.choice(12, 2, replace=False).tolist())
                left, other = session.question
                session.answer("left" if s[left] > s[other] else "right")
            m = session.posterior.mean
            shares.append(((m[:, None] > m) == (s[:, None] > s))[np.triu_indices(12, 1)].mean())
    assert np.mean(right["well"]) > np.mean(right["random"]) + 0.02
    assert np.mean(right["well"]) > 0.85


# What is kept


def test_a_session_goes_on_where_it_was(tmp_path):
    path = tmp_path / "a.jsonl"
    seen = []
    with PreferenceSession(NAMES, path, judge="ann") as first:
        for word in ("left", "tie", "skip", "right"):
            seen.append(first.question)
            first.answer(word)
        first.undo()
        assert first.question == seen[-1]
        first.answer("right")
        expected = (first.question, first.ranking(), first.n_events)
        table = first.comparisons()
    with PreferenceSession(NAMES, path, judge="ann") as again:
        assert (again.question, again.ranking(), again.n_events) == expected
        assert again.n_answers == 3  # (one was skipped)
        assert not again.torn
        assert again.comparisons().winner.tolist() == table.winner.tolist()
    assert len(table) == 3
    assert table.tie.tolist() == [False, True, False]
    assert table.judges == ("ann",)
    left, right = (NAMES[k] for k in seen[3])
    assert (table.items[table.winner[2]], table.items[table.loser[2]]) == (right, left)


def test_more_items_may_join(tmp_path):
    path = tmp_path / "a.jsonl"
    with PreferenceSession(NAMES, path) as first:
        first.answer("left")
    with PreferenceSession([*NAMES, "juice"], path) as again:
        assert again.n_answers == 1
    match = r"answer 1 is about '\w+', which is not among the items"
    refused(FileError, match, PreferenceSession, ["juice", "beer"], path)
    with PreferenceSession(NAMES, path) as last:  # (the refusal let go of the file)
        assert last.n_answers == 1


def test_undo_and_stale_answers():
    session = PreferenceSession(NAMES)
    refused(DataError, "there is no answer to take back", session.undo)
    refused(DataError, "there is no comparison yet", session.comparisons)
    session.answer("skip", number=0)
    meanwhile = "another answer was taken meanwhile"
    refused(StaleQuestionError, meanwhile, session.answer, "left", number=0)
    refused(StaleQuestionError, meanwhile, session.undo, number=0)
    assert (session.n_answers, session.n_events) == (0, 1)
    session.undo(number=1)
    assert (session.n_answers, session.n_events) == (0, 2)
    match = "must be one of 'left', 'right', 'tie', 'skip'"
    refused(ParameterError, match, session.answer, "both")
    for _ in range(14):  # more than there are pairs: they come again
        session.answer("tie")
    assert session.posterior.mean == pytest.approx(0, abs=1e-9)
    assert session.to_frame()["asked"].sum() == 28


@pytest.mark.parametrize(("items", "features", "said"), [
    (["a"], None, "items must be 2 to 1000 different names. Got 1, 1 different"),
    (["a", "a"], None, "Got 2, 1 different"),
    (["a", "b"], [[1.0]], "features must be a table of finite numbers with 2 rows"),
    (["a", "b"], [[1.0], [np.inf]], "features must be a table of finite numbers"),
])  # fmt: skip
def test_bad_sessions(items, features, said):
    refused(DataError, said, PreferenceSession, items, features=features)


@pytest.mark.parametrize(("old", "new", "line"), [
    (b'"n": 2', b'"n": 7', 3),
    (b'"answer": "left"', b'"answer": "up"', 2),
    (b'"version": 1', b'"version": 2', 1),
])  # fmt: skip
def test_damage_is_named(tmp_path, old, new, line):
    path = tmp_path / "a.jsonl"
    with PreferenceSession(NAMES, path) as session:
        for _ in range(3):
            session.answer("left")
    changed = path.read_bytes().replace(old, new, 1)
    path.write_bytes(changed)
    refused(FileError, f"line {line}: ", Journal, path)
    assert path.read_bytes() == changed


# When the first places are settled, and what is ranked at all

EIGHT = [f"{k:02}" for k in range(8)]


def wins_of(*pairs, ties=()):
    won, tied = np.zeros((4, 4)), np.zeros((4, 4))
    for high, low in pairs:
        won[high, low] += 1
    for a, b in ties:
        tied[a, b] += 1
        tied[b, a] += 1
    return won, tied


@pytest.mark.parametrize(("wins", "top", "expected"), [
    (wins_of((0, 1), (1, 2), (2, 3)), 3, True),  # a chain
    (wins_of((0, 1), (0, 2), (0, 3)), 1, True),
    (wins_of((0, 1), (0, 2), (0, 3)), 2, False),  # who is second?
    (wins_of((0, 1), (0, 2)), 1, False),  # nothing about 3
    (wins_of((0, 1), (1, 2), (2, 3), (3, 0)), 1, False),  # an answer against the first
    (wins_of((0, 1), (1, 2), (2, 3), (3, 1)), 1, True),  # a circle below the first
    (wins_of((0, 1), (1, 0), (0, 1), (1, 2), (2, 3)), 1, True),  # two to one
    (wins_of((0, 1), (1, 0), (1, 2), (2, 3)), 1, False),  # one to one
    (wins_of((0, 1), (1, 0), (1, 2), (2, 3), ties=[(0, 1)]), 1, False),
    (wins_of((1, 2), (2, 3), ties=[(0, 1)]), 2, True),  # equal, above the others
    (wins_of((0, 1), ties=[(1, 2)]), 2, False),
    (wins_of((0, 1), (1, 2), (2, 3)), 9, True),
])  # fmt: skip
def test_whether_the_answers_agree_on_the_first_places(wins, top, expected):
    assert agreed(np.arange(4), *wins, top) is expected


def test_one_answer_for_each_settles_nothing():
    session = PreferenceSession(["a", "b"])
    for name in ("a", "b"):
        session.answer("left" if session.names[session.question[0]] == name else "right")
    assert session.done() == "all"  # (there is nothing more to ask)
    assert not session.ranking()[0].settled


def answer_all(session, most=200):
    """Answer as somebody who likes low names; returns how many answers the top took."""
    while session.done() is None and session.n_answers < most:
        left, right = session.question
        session.answer("left" if left < right else "right")
    return session.n_answers


def test_few_answers_agree_on_the_top():
    assert PreferenceSession(EIGHT).top == 3
    assert PreferenceSession(EIGHT[:2]).top == 1
    whole = PreferenceSession(EIGHT)
    assert answer_all(whole) < 28  # (28 pairs)
    assert whole.done() == "answers"
    assert [one.name for one in whole.ranking()[:3]] == EIGHT[:3]
    one = PreferenceSession(EIGHT, top=1)
    assert answer_all(one) <= 9  # (7 can do)
    assert one.ranking()[0].name == EIGHT[0]
    refused(ParameterError, "top", PreferenceSession, EIGHT, top=0)


def test_every_pair_asked_is_an_end():
    session = PreferenceSession(EIGHT[:3])
    for k, word in enumerate(("left", "skip", "skip")):
        assert session.done() is None, k
        session.answer(word)
    assert session.done() == "all"


@pytest.mark.parametrize("top", [1, 2, None])
def test_settled_is_what_the_intervals_show(top):
    """A place is called settled where its interval has no other rank, and nowhere else."""
    session = PreferenceSession(EIGHT[:4], top=top)
    states = []
    while session.n_answers < 120 and session.done() != "settled":
        left, right = session.question
        session.answer("left" if left < right else "right")
        ranking = session.ranking()
        assert all(one.settled == (one.rank_low == one.rank_high) for one in ranking)
        first = ranking[: session.top]
        if session.done() == "settled":
            assert [one.rank_low for one in first] == [*range(1, session.top + 1)]
            assert [one.name for one in first] == EIGHT[: session.top]
        else:
            assert not all(one.settled for one in first) or len(ranking) < 4
        states.append(session.done())
    assert states[0] is None
    assert "answers" in states  # (long before, at one answer per pair)
    assert states[-1] == "settled"


def test_a_skip_is_no_answer():
    told, skipped = PreferenceSession(EIGHT), PreferenceSession(EIGHT)
    for _ in range(3):
        skipped.answer("skip")
    assert (skipped.n_answers, skipped.n_events, skipped.can_undo) == (0, 3, True)
    assert page_state(skipped, PageOptions())["answers"] == 0
    np.testing.assert_array_equal(skipped.posterior.mean, told.posterior.mean)
    np.testing.assert_array_equal(skipped.posterior.covariance, told.posterior.covariance)
    refused(DataError, "there is no comparison yet", skipped.comparisons)
    for _ in range(3):
        skipped.undo()
    assert not skipped.can_undo
    assert skipped.question == told.question


def test_items_without_an_answer_have_no_rank():
    session = PreferenceSession(EIGHT)
    assert session.ranking() == []
    assert session.done() is None
    session.answer("skip")
    assert session.ranking() == []
    asked = session.question
    session.answer("tie")
    assert sorted(one.item for one in session.ranking()) == sorted(asked)
    assert [(one.rank_low, one.rank_high) for one in session.ranking()] == [(1, 2)] * 2
    with_features = PreferenceSession(EIGHT, features=np.arange(8.0)[:, None])
    assert with_features.ranking() == []
    with_features.answer("left")
    assert len(with_features.ranking()) == 8  # features tell something about all


def test_answers_are_for_their_owner_only(tmp_path):
    path = tmp_path / "a.jsonl"
    with PreferenceSession(EIGHT, path) as session:
        session.answer("left")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)  # what was chosen since stays
    PreferenceSession(EIGHT, path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_blind_pages_contain_no_name():
    cells = (("ID", "secret"), ("size", "3"))
    items = Items((Item("secret a", "one", cells=cells), Item("secret b", "two", cells=cells)))
    session = PreferenceSession(items)
    session.answer("left")
    assert "secret" not in str(page_state(session, PageOptions(blind=True)))
    assert "secret a" in str(page_state(session, PageOptions()))
    check_blind(items.items)
    match = "nothing else of 'b' can be shown: it needs a text"
    refused(DataError, match, check_blind, (Item("a", "text"), Item("b", cells=(("id", "1"),))))


# Items


PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


def test_few_places_and_cut_texts_are_sent_with_a_question():
    session = PreferenceSession(Items((Item("a", "x" * 30_000), Item("b"))))
    assert "… (cut: 20,000 of 30,000 characters)" in str(page_state(session, PageOptions()))
    session = PreferenceSession([f"{k:03}" for k in range(60)])
    for _ in range(30):
        session.answer("left")
    state = page_state(session, PageOptions())
    assert (state["ranked"], len(state["ranking"])) == (60, 20)


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    for name in ("photos/sub", "photos/dir.png", "photos-private"):  # (begins with its name)
        (tmp_path / name).mkdir(parents=True)
    for name in ("photos/a.png", "photos/sub/b.PNG", "outside.png", "photos-private/x.png"):
        (tmp_path / name).write_bytes(PNG)
    for name in ("fake.png", "text.md"):
        (folder / name).write_text("secret")
    (folder / "v.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (folder / "near.png").symlink_to(tmp_path / "photos-private" / "x.png")
    (folder / "link.png").symlink_to(tmp_path / "outside.png")
    return folder


def test_tables_and_lines(photos):
    table = photos / "t.csv"
    table.write_text(
        "id,Name,description,photo,price,size\n"
        '1,tea,"hot, green",a.png,2.5,\n2,milk,,sub/b.PNG,,3\n3,wine,red,,7,NA\n4,svg,,v.svg,1,1\n'
    )
    read = read_items(table, features=["price", "size"])
    assert read.names == ("tea", "milk", "wine", "svg")
    first = read.items[0]
    assert (first.text, first.picture.kind) == ("hot, green", "image/png")
    assert first.cells == (("id", "1"), ("price", "2.5"))
    assert read.items[1].picture.path == os.path.realpath(photos / "sub" / "b.PNG")
    assert read.items[2].picture is None
    assert read.items[3].picture.kind == "image/svg+xml"
    expected = [[2.5, np.nan], [np.nan, 3], [7, np.nan], [1, 1]]
    np.testing.assert_array_equal(read.features, expected)
    assert read_items(table, name="id").names == ("1", "2", "3", "4")
    lines = photos / "t.txt"
    lines.write_text("tea, hot\n\n milk \n")
    assert read_items(lines).names == ("tea, hot", "milk")
    with PreferenceSession(read) as session:
        assert isinstance(read, Items)
        assert session.names == read.names


def test_items_in_other_forms(tmp_path):
    (tmp_path / "l.csv").write_bytes("name,text\nCafé,noir\nthé,vert\n".encode("latin-1"))
    (tmp_path / "l.txt").write_bytes("Café\r\nthé\n".encode("utf-16"))
    for name in ("l.csv", "l.txt"):
        read = read_items(tmp_path / name)
        assert read.names == ("Café", "thé")
        assert len(read.notes) == 1
    lines = tmp_path / "answers.jsonl"
    lines.write_text(
        '{"prompt": "p", "model": "a", "answer": "one\\n\\ntwo", "size": 3}\n'
        '{"prompt": "p", "model": "b", "answer": "x"}\n'
    )
    read = read_items(lines, features=["size"])
    assert [one.text for one in read.items] == ["one\n\ntwo", "x"]
    assert read.items[0].cells == (("prompt", "p"), ("size", "3"))
    assert np.array_equal(read.features, [[3], [np.nan]], equal_nan=True)
    (tmp_path / "z.txt").write_bytes(b"a\0\n")
    refused(FileError, "there is a NUL byte", read_items, tmp_path / "z.txt")


OUTSIDE = "is not in the folder"


@pytest.mark.parametrize(("picture", "said"), [
    ("../outside.png", OUTSIDE),
    ("link.png", OUTSIDE),
    ("near.png", OUTSIDE),
    ("../photos-private/x.png", OUTSIDE),
    ("/etc/passwd.png", OUTSIDE),
    ("/etc/passwd", "expected a picture"),
    ("text.md", "expected a picture"),
    ("fake.png", "'fake.png' does not begin as its kind"),
    ("none.png", "'none.png': No such file"),
    ("dir.png", "'dir.png' must be a file of at most 50 MB"),
])  # fmt: skip
def test_bad_pictures(photos, picture, said):
    (photos / "t.csv").write_text(f"item,image\nb,\na,{picture}\n")
    said = f"'{picture}' {said}" if said == OUTSIDE else said
    refused(FileError, f"line 3, column 2: {said}", read_items, photos / "t.csv")


@pytest.mark.parametrize(("text", "features", "said"), [
    ("item\na\na\n", None, "line 3, column 1: 'a' is already the item of line 2"),
    ('item,x\n"",1\nb,2\n', None, "line 2, column 1: the item has no name"),
    ("item\na\n", None, "there must be 2 to 1000 items. Got 1"),
    ("item,x\na,1\nb,y\n", ["x"], "line 3, column 2: the feature 'x' must be a finite"),
    ("item,x\na,1\nb,2\n", ["z"], "line 1: there is no column 'z'; columns: 'item'"),
])  # fmt: skip
def test_bad_items(tmp_path, text, features, said):
    (tmp_path / "t.csv").write_text(text)
    refused(FileError, said, read_items, tmp_path / "t.csv", features=features or ())
    (tmp_path / "e.txt").write_text("\n")
    match = "the file is empty: expected one item per line"
    refused(FileError, match, read_items, tmp_path / "e.txt")


def test_the_next_comparisons_of_a_file():
    rows = [("a", "b", 60), ("b", "a", 20), ("a", "c", 60), ("c", "a", 20), ("d", "a", 1)]
    high, low, weight = zip(*rows)
    data = Comparisons.from_columns(high, low, weight=weight)
    found = next_comparisons(data, 8)
    assert "d" in found.pairs[0]  # (one comparison: the least is known of it)
    assert len({frozenset(pair) for pair in found.pairs[:6]}) == 6  # (all pairs before any again)
    assert found.pairs == next_comparisons(data, 8).pairs
    assert dict(zip(map(frozenset, found.pairs), found.compared))[frozenset("ab")] == 80
    # Each counts as answered for those after it: the second time tells less than the first.
    bits = {}
    for pair, one in zip(map(frozenset, found.pairs), found.information):
        assert one < bits.setdefault(pair, one + 1)
    assert list(found.to_frame()["first"]) == [first for first, _ in found.pairs]
    refused(
        ParameterError, "next_comparisons must be an int of at least 1", next_comparisons, data, 0
    )
    many = Comparisons.from_columns([f"i{k}" for k in range(1001)], ["x"] * 1001)
    refused(DataError, "comparisons of at most 1000 items", next_comparisons, many)
