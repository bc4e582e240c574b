"""The page of a leaderboard: what is on it, one file, closed."""

import json
import re

from crucial.preferences import Comparisons, Rankings, board_page, leaderboard, leaderboards

HOSTILE = '</script><script>window.pwned=1</script><img src=x onerror="window.pwned=1">'


def made() -> Comparisons:
    winner = ["a", "a", "b", HOSTILE, "a", "b", "a", "c"] * 3
    loser = ["b", "c", "c", "c", HOSTILE, HOSTILE, "b", "a"] * 3
    return Comparisons.from_columns(
        [*winner, "new"],
        [*loser, "a"],
        tie=[k % 5 == 0 for k in range(24)] + [False],
        judge=[f"j{k % 2}" for k in range(25)],
        first=[k % 3 > 0 for k in range(25)],
        category=["code" if k % 2 else "<b>prose</b>" for k in range(25)],
    )


def data_of(text: str) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found.group(1))


def test_a_page_has_everything_and_fetches_nothing():
    data = made()
    board = leaderboard(data)
    page = board_page(board, data, leaderboards(data), title="A & B")
    text = page.to_html()
    assert text == board_page(board, data, leaderboards(data), title="A & B").to_html()
    assert HOSTILE not in text
    assert "<b>prose</b>" not in text
    assert "default-src 'none'" in text.replace("&#x27;", "'")
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", text)
    assert "<title>A &amp; B</title>" in text
    shown = data_of(text)
    assert [one["name"] for one in shown["boards"]] == ["All", "<b>prose</b>", "code"]
    first = shown["boards"][0]
    assert [one["name"] for one in first["items"]] == [one.item for one in board.standings]
    provisional = [one.provisional for one in board.standings]
    assert [one["provisional"] for one in first["items"]] == provisional
    place = {one["name"]: k for k, one in enumerate(first["items"])}
    cells = {(i, j): (won, tied) for i, j, won, tied in first["wins"]}
    a, b = data.items.index("a"), data.items.index("b")
    won = ((data.winner == a) & (data.loser == b) & ~data.tie).sum()
    tied = ((data.winner == a) & (data.loser == b) & data.tie).sum()
    assert cells[place["a"], place["b"]] == (won, tied)
    assert cells[place["b"], place["a"]][1] == tied
    assert {one["name"] for one in shown["judges"]} == {"j0", "j1"}
    assert shown["position"]["n"] == int((~data.tie).sum())


def test_rankings_have_a_page_too(tmp_path):
    votes = Rankings.from_orders([["a", "b", "c"], ["b", "a", "c"]], [5, 2])
    page = board_page(leaderboard(votes), votes)
    page.save(tmp_path / "x.html")
    shown = data_of((tmp_path / "x.html").read_text())
    assert shown["subtitle"] == "7 rankings of 3 items"
    assert [0, 1, 5.0, 0.0] in shown["boards"][0]["wins"]
    assert shown["boards"][0]["items"][0]["tally"] is None
    assert repr(page) == "<Page: leaderboard, 'Leaderboard'>"
