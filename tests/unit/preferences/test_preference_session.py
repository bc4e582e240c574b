"""Asking a person: what is learned, what is asked next, what is kept."""

from __future__ import annotations

import errno
import json
import os
from datetime import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import norm

from crucial.errors import DataError, FileError, ParameterError
from crucial.preferences import PreferenceSession
from crucial.preferences.session import (
    Items,
    Journal,
    StaleQuestionError,
    information,
    learn_posterior,
    next_pair,
    prior_precision,
    read_items,
    spread_of,
)

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
    grid = np.eye(5) * step
    curve = np.array(
        [
            [
                (loss(best + a + b) - loss(best + a - b) - loss(best - a + b) + loss(best - a - b))
                for b in grid
            ]
            for a in grid
        ]
    ) / (4 * step**2)
    off = np.eye(5) - 0.2
    assert found.covariance == pytest.approx(off @ np.linalg.inv(curve) @ off, abs=1e-4)


def test_intervals_of_strength_are_of_90_percent():
    with PreferenceSession(NAMES) as session:
        for _ in range(6):
            session.answer("left")
        places, covariance = session.ranking(), session.posterior.covariance
    for place in places:
        deviation = np.sqrt(covariance[place.item, place.item])
        assert place.high - place.strength == pytest.approx(norm.ppf(0.95) * deviation, rel=1e-3)
        assert place.strength - place.low == pytest.approx(norm.ppf(0.95) * deviation, rel=1e-3)


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
    assert information(np.array([mean]), np.array([variance]))[0] == pytest.approx(
        expected, abs=2e-3
    )


def test_the_pair_that_tells_most_is_asked():
    rng = np.random.default_rng(1)
    found = learn_posterior(
        np.array([0, 0, 1]), np.array([1, 2, 2]), np.full(3, 9.0), prior_precision(5)
    )
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


def test_many_items_are_looked_at_roughly(monkeypatch):
    monkeypatch.setattr("crucial.preferences.session._MAX_PAIRS", 5)
    found = learn_posterior(
        np.array([0, 0, 1]), np.array([1, 2, 2]), np.full(3, 9.0), prior_precision(5)
    )
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
                    session._question = tuple(rng.choice(12, 2, replace=False).tolist())
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
        assert again.n_answers == 4
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
    with pytest.raises(FileError, match=r"answer 1 is about '\w+', which is not among the items"):
        PreferenceSession(["juice", "beer"], path)
    with PreferenceSession(NAMES, path) as last:  # (the refusal let go of the file)
        assert last.n_answers == 1


def test_undo_and_stale_answers():
    session = PreferenceSession(NAMES)
    with pytest.raises(DataError, match="there is no answer to take back"):
        session.undo()
    with pytest.raises(DataError, match="there is no comparison yet"):
        session.comparisons()
    session.answer("skip", number=0)
    with pytest.raises(StaleQuestionError, match="another answer was taken meanwhile"):
        session.answer("left", number=0)
    with pytest.raises(StaleQuestionError, match="another answer was taken meanwhile"):
        session.undo(number=0)
    assert (session.n_answers, session.n_events) == (1, 1)
    session.undo(number=1)
    assert (session.n_answers, session.n_events) == (0, 2)
    with pytest.raises(ParameterError, match="must be one of 'left', 'right', 'tie', 'skip'"):
        session.answer("both")
    for _ in range(14):  # more than there are pairs: they come again
        session.answer("tie")
    assert session.posterior.mean == pytest.approx(0, abs=1e-9)
    assert session.to_frame()["asked"].sum() == 28


@pytest.mark.parametrize(
    ("items", "features", "said"),
    [
        (["a"], None, "items must be 2 to 1000 different names. Got 1, 1 different"),
        (["a", "a"], None, "Got 2, 1 different"),
        (["a", "b"], [[1.0]], "features must be a table of finite numbers with 2 rows"),
        (["a", "b"], [[1.0], [np.inf]], "features must be a table of finite numbers"),
    ],
)
def test_bad_sessions(items, features, said):
    with pytest.raises(DataError, match=said):
        PreferenceSession(items, features=features)


def written(tmp_path, n=3):
    path = tmp_path / "a.jsonl"
    with PreferenceSession(NAMES, path) as session:
        for _ in range(n):
            session.answer("left")
    return path, path.read_bytes()


def test_cut_at_any_byte_only_the_last_answer_is_lost(tmp_path):
    path, data = written(tmp_path)
    ends = [k + 1 for k, byte in enumerate(data) if byte == 10]
    for cut in range(len(data) + 1):
        path.write_bytes(data[:cut])
        journal = Journal(path)
        # (an answer that lacks the end of its line alone is whole)
        assert len(journal.answers) == sum(end - 1 <= cut for end in ends[1:])
        assert journal.torn == (cut not in (0, *ends, *(end - 1 for end in ends[1:])))
        journal.append("tea", "milk", "tie")
        journal.close()
        again = Journal(path)
        assert [one.answer for one in again.answers][-1] == "tie"
        assert not again.torn
        again.close()


def test_a_last_line_of_zeros_is_taken_off(tmp_path):
    path, data = written(tmp_path)
    path.write_bytes(data + b"\0" * 30 + b"\n")
    journal = Journal(path)
    assert journal.torn
    assert len(journal.answers) == 3
    assert path.read_bytes() == data
    journal.close()


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (b'"n": 2', b'"n": 7', 3),
        (b'"n": 2,', b'"n": 2', 3),
        (b'"answer": "left"', b'"answer": "up"', 2),
        (b'"version": 1', b'"version": 2', 1),
        (b'"crucial"', b'"other"', 1),
    ],
)
def test_other_damage_is_named(tmp_path, old, new, line):
    path, data = written(tmp_path)
    changed = data.replace(old, new, 1)
    path.write_bytes(changed)
    with pytest.raises(FileError, match=f"line {line}: "):
        Journal(path)
    assert path.read_bytes() == changed


@pytest.mark.parametrize("text", ["winner,loser\na,b\n", "x", '{"n": 1}', "[]\n", "\n"])
def test_another_file_is_refused_and_stays(tmp_path, text):
    path = tmp_path / "x"
    path.write_text(text)
    with pytest.raises(FileError, match="line 1: this is not a file of answers"):
        Journal(path)
    assert path.read_text() == text


@given(st.binary(max_size=60))
def test_any_bytes_after_the_heading(tmp_path_factory, tail):
    path = tmp_path_factory.mktemp("j") / "a"
    Journal(path).close()
    head = path.read_bytes()
    path.write_bytes(head + tail)
    try:
        journal = Journal(path)
    except FileError:
        assert path.read_bytes() == head + tail
        return
    assert journal.answers == []
    assert path.read_bytes() == head
    journal.close()


def test_times_are_the_same_on_disk_and_in_memory(tmp_path, monkeypatch):
    class Clock(datetime):
        ticks = iter(range(60))

        @classmethod
        def now(cls, zone):
            return datetime(2024, 5, 1, 10, 0, next(cls.ticks), tzinfo=zone)

    monkeypatch.setattr("crucial.preferences.session.datetime", Clock)
    with PreferenceSession(NAMES, tmp_path / "a.jsonl") as session:
        for _ in range(3):
            session.answer("left")
        times = [one.at for one in session._journal.answers]
    kept = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()[1:]]
    assert [one["at"] for one in kept] == times == [f"2024-05-01T10:00:0{k}Z" for k in range(3)]


def test_only_one_may_write(tmp_path):
    path, _ = written(tmp_path)
    first = Journal(path)
    with pytest.raises(FileError, match="is open in another 'crucial prefer'"):
        Journal(path)
    first.close()
    with pytest.raises(FileError, match="could not be written before"):
        first.append("tea", "milk", "left")
    Journal(path).close()


def test_a_folder_and_a_missing_folder(tmp_path):
    with pytest.raises(FileError, match="cannot be opened"):
        Journal(tmp_path)
    with pytest.raises(FileError, match="cannot be opened: no such file"):
        Journal(tmp_path / "no" / "a.jsonl")


def test_a_full_disk_leaves_whole_answers(tmp_path, monkeypatch):
    """Whichever write or flush fails: nothing half written stays, and nothing was taken."""
    path, data = written(tmp_path)
    real_write, real_fsync = os.write, os.fsync
    for failing in ("write", "half", "fsync"):
        with PreferenceSession(NAMES, path) as session:
            question = session.question

            def write(number, line, how=failing):
                if how == "half":
                    real_write(number, line[: len(line) // 2])
                if how != "fsync":
                    raise OSError(errno.ENOSPC, "No space left on device")
                return real_write(number, line)

            failed = []

            def fsync(number, how=failing, failed=failed):
                if how == "fsync" and not failed:
                    failed.append(1)
                    raise OSError(errno.EIO, "Input/output error")
                real_fsync(number)

            monkeypatch.setattr(os, "write", write)
            monkeypatch.setattr(os, "fsync", fsync)
            with pytest.raises(FileError, match="cannot be written"):
                session.answer("left")
            monkeypatch.undo()
            assert (session.n_answers, session.question) == (3, question)
            assert path.read_bytes() == data
            session.answer("tie")  # there is room again
            session.undo()
        data = path.read_bytes()
        events = [json.loads(line) for line in data.splitlines()]
        assert [event["n"] for event in events[1:]] == list(range(1, len(events)))


# Items


PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "sub").mkdir()
    (folder / "a.png").write_bytes(PNG)
    (folder / "sub" / "b.PNG").write_bytes(PNG)
    (folder / "fake.png").write_text("secret")
    (folder / "text.md").write_text("secret")
    (folder / "v.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (tmp_path / "outside.png").write_bytes(PNG)
    sibling = folder.with_name(f"{folder.name}-private")  # (begins with the folder's name)
    sibling.mkdir()
    (sibling / "x.png").write_bytes(PNG)
    (folder / "near.png").symlink_to(sibling / "x.png")
    (folder / "link.png").symlink_to(tmp_path / "outside.png")
    (folder / "dir.png").mkdir()
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
    assert np.array_equal(
        read.features, [[2.5, np.nan], [np.nan, 3], [7, np.nan], [1, 1]], equal_nan=True
    )
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
    with pytest.raises(FileError, match="there is a NUL byte"):
        read_items(tmp_path / "z.txt")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("item,image\na,../outside.png\nb,\n", "line 2, column 2: '../outside.png' is not in the"),
        ("item,image\na,link.png\nb,\n", "line 2, column 2: 'link.png' is not in the folder"),
        ("item,image\na,near.png\nb,\n", "line 2, column 2: 'near.png' is not in the folder"),
        (
            "item,image\na,../photos-private/x.png\nb,\n",
            "line 2, column 2: '../photos-private/x.png' is not in the folder",
        ),
        ("item,image\nb,\na,/etc/passwd\n", "line 3, column 2: expected a picture"),
        ("item,image\nb,\na,/etc/passwd.png\n", "line 3, column 2: '/etc/passwd.png' is not in"),
        ("item,image\na,text.md\nb,\n", "line 2, column 2: expected a picture"),
        ("item,image\na,fake.png\nb,\n", "line 2, column 2: 'fake.png' does not begin as its kind"),
        ("item,image\na,none.png\nb,\n", "line 2, column 2: 'none.png': No such file"),
        (
            "item,image\na,dir.png\nb,\n",
            "line 2, column 2: 'dir.png' must be a file of at most 50 MB",
        ),
        ("item\na\na\n", "line 3, column 1: 'a' is already the item of line 2"),
        ('item,x\n"",1\nb,2\n', "line 2, column 1: the item has no name"),
        ("item\na\n", "there must be 2 to 1000 items. Got 1"),
    ],
)
def test_bad_items(photos, text, said):
    table = photos / "t.csv"
    table.write_text(text)
    with pytest.raises(FileError, match=said):
        read_items(table)


def test_bad_columns_of_items(photos):
    table = photos / "t.csv"
    table.write_text("item,price\na,1\nb,cheap\n")
    with pytest.raises(FileError, match="line 3, column 2: the feature 'price' must be a finite"):
        read_items(table, features=["price"])
    with pytest.raises(FileError, match="line 1: there is no column 'cost'; columns: 'item'"):
        read_items(table, features=["cost"])
    (photos / "e.txt").write_text("\n")
    with pytest.raises(FileError, match="the file is empty: expected one item per line"):
        read_items(photos / "e.txt")
