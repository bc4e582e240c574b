"""Arena files as they are: two sides and who won, in CSV and JSON lines."""

from __future__ import annotations

import json

import pandas
import pytest

from crucial.data.comparisons import Comparisons
from crucial.errors import DataError, FileError
from crucial.io.comparisons import read_comparisons, write_comparisons
from crucial.io.tables import read_column_table
from crucial.io.text import read_text_table

ARENA = """question_id,model_a,model_b,winner,judge,turn,length_diff
1,gpt,llama,model_a,u1,1,10
2,llama,gpt,model_b,u2,1,-3
3,gpt,palm,tie,u1,2,0
4,palm,llama,tie (bothbad),u2,1,5
"""


def rows(made: Comparisons) -> list[tuple[str, str, bool]]:
    names = made.items
    return [
        (names[a], names[b], bool(t)) for a, b, t in zip(made.winner, made.loser, made.tie)
    ]  # fmt: skip


def written(tmp_path, text, name="x.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_an_arena_file_as_it_is(tmp_path):
    made = read_comparisons(written(tmp_path, ARENA), covariates=["length_diff"], category="turn")
    assert made.items == ("gpt", "llama", "palm")
    assert rows(made) == [
        ("gpt", "llama", False),
        ("gpt", "llama", False),
        ("gpt", "palm", True),
        ("palm", "llama", True),
    ]
    assert made.first.tolist() == [True, False, True, True]
    assert made.covariates[:, 0].tolist() == [10.0, 3.0, 0.0, 5.0]  # of the winner's side
    assert made.categories == ("1", "2")
    assert made.judges == ("u1", "u2")
    assert made.contexts == ("1", "2", "3", "4")
    assert "'model_a' against 'model_b'; column 'winner' names the side" in made.notes[0]
    frame = Comparisons.from_frame(pandas.read_csv(tmp_path / "x.csv"))
    assert rows(frame) == rows(made)


def test_json_lines_and_arrays_say_the_same(tmp_path):
    lines = ARENA.splitlines()
    keys = lines[0].split(",")
    records = [dict(zip(keys, line.split(","))) for line in lines[1:]]
    for one in records:
        one["conversation_a"] = [{"role": "user", "content": "x"}]
        one["conversation_b"] = []
    text = "\n".join(map(json.dumps, records))
    wanted = rows(read_comparisons(written(tmp_path, ARENA)))
    for name, body in (("a.jsonl", text), ("a.txt", text), ("a.json", json.dumps(records))):
        assert rows(read_comparisons(written(tmp_path, body, name))) == wanted
    with pytest.raises(FileError, match=r"x.jsonl.*line 2.*this is not JSON"):
        read_comparisons(written(tmp_path, '{"winner": "a", "loser": "b"}\n{"w\n', "x.jsonl"))
    with pytest.raises(FileError, match=r"line 2.*expected an object"):
        read_comparisons(written(tmp_path, '{"winner": "a", "loser": "b"}\n7\n', "x.jsonl"))


def test_who_was_shown_first_is_written_and_read(tmp_path):
    asked = {"covariates": ["length_diff"], "category": "turn"}
    made = read_comparisons(written(tmp_path, ARENA), **asked)
    write_comparisons(tmp_path / "again.csv", made)
    again = read_comparisons(
        tmp_path / "again.csv", covariates=["length_diff"], category="category"
    )
    assert rows(again)[:2] == rows(made)[:2]
    assert sorted(rows(again)[2][:2]) == sorted(rows(made)[2][:2])
    assert again.first.tolist() == made.first.tolist()
    assert again.covariates.tolist() == made.covariates.tolist()
    assert (again.judges, again.categories) == (made.judges, made.categories)


LEFT_RIGHT = [
    # what the winners say, and what it is
    ("left,right,winner", "t,m,left", ("t", "m", False)),
    ("left,right,winner", "t,m,Right", ("m", "t", False)),
    ("left,right,winner", "t,m,m", ("m", "t", False)),  # the item's name
    ("item_a,item_b,winner", "t,m,A", ("t", "m", False)),
    ("item1,item2,winner", "t,m,2", ("m", "t", False)),
    ("a,b,preference", "t,m,b", ("m", "t", False)),
    ("model_a,model_b,verdict", "t,m,A>>B", ("t", "m", False)),
    ("model_a,model_b,winner", "t,m,both_bad", ("t", "m", True)),
    ("model_a,model_b,winner", "t,m,tie (both bad)", ("t", "m", True)),
    ("model_a,model_b,winner,tie", "t,m,,1", ("t", "m", True)),
    ("model_a,model_b,winner_model_a,winner_model_b,winner_tie", "t,m,0,1,0", ("m", "t", False)),
    ("model_a,model_b,winner_model_a,winner_model_b,winner_tie", "t,m,0,0,1", ("t", "m", True)),
    # of two pairs of columns, the one that the winners name
    ("model_x,model_y,left,right,winner", "1,2,t,m,right", ("m", "t", False)),
    ("conversation_a,conversation_b,model_a,model_b,winner", "q,r,t,m,model_b", ("m", "t", False)),
]


@pytest.mark.parametrize(("head", "row", "wanted"), LEFT_RIGHT)
def test_ways_to_name_the_winner(tmp_path, head, row, wanted):
    assert rows(read_comparisons(written(tmp_path, f"{head}\n{row}\n"))) == [wanted]


def test_an_item_called_like_a_side(tmp_path):
    """Items A and B on either side: the winner is the item, not the side."""
    path = written(tmp_path, "left,right,winner\nA,B,A\nB,A,A\nB,A,tie\n")
    assert rows(read_comparisons(path))[:2] == [("A", "B", False), ("A", "B", False)]


REFUSED = [
    ("model_a,model_b,winner\na,b,0\n", "line 2, column 3: the winner must be model_a, model_b or"),
    ("model_a,model_b,winner\na,b,model_a\na,b,\n", "line 3, column 3: the winner must be"),
    ("model_a,model_b,winner\na,a,tie\n", "line 2, column 2: 'a' is compared with itself"),
    ("model_a,model_b,winner\na,,tie\n", "line 2, column 2: the item is empty"),
    ("model_a,model_b,votes\na,b,3\n", "there is no column 'winner'"),
    ("text_a,text_b,id_a,id_b,winner\np,q,r,s,a\n", "several pairs of columns may be"),
    ("model_a,model_b,winner_model_a,winner_model_b\na,b,1,1\n", "exactly one of the winner"),
    ("winner,loser\ntie,b\na,b\n", "says 'tie', which is no item"),
    ("left,right,winner\nleft,x,right\ny,left,left\n", "line 3, column 3: the winner must be left"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), REFUSED)
def test_what_cannot_be_understood_is_refused(tmp_path, text, said):
    with pytest.raises(DataError, match=said):
        read_comparisons(written(tmp_path, text))


def test_a_side_is_never_taken_for_an_item(tmp_path):
    """Once a silent wrong leaderboard of the items model_a, model_b and tie."""
    path = written(tmp_path, ARENA)
    with pytest.raises(FileError, match=r"which is no item.*left and right"):
        read_comparisons(path, loser="model_b")
    assert rows(read_comparisons(path, left="model_a", right="model_b"))[0][0] == "gpt"
    with pytest.raises(DataError, match="left and right go together"):
        read_comparisons(path, left="model_a")


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1, 2 \n3,4\n",
        "a,b\r\n1,2\r\n\r\n3,4\r\n",
        'a,b\n"1,5",2\n3,4\n',
        "\ufeffa;b\n1;2",
        "a,b\n é ,2\n,\n3,4\n",
        "a\n1\n",
    ],
)
def test_columns_are_those_of_the_rows(tmp_path, text):
    """The quick way through a plain text, and the way by lines."""
    path = written(tmp_path, text)
    one, other = read_column_table(path), read_text_table(path)
    assert one.names == other.names
    columns = [one.column(k) for k in range(len(one.names))]
    assert [list(row) for row in zip(*columns)] == other.rows
    if "\r\n\r\n" not in text:
        assert one.lines == other.lines


def test_other_encodings(tmp_path):
    """Latin-1 and UTF-16 as spreadsheets write them, plain and with quotes; a note says so."""
    text = "winner,loser,judge\nCafé,thé,Ann\nthé,lait,Bob\n"
    for quoted in (text, text.replace("thé,lait", '"thé","lait"')):
        for encoding, note in (("cp1252", "Latin-1"), ("utf-16", "UTF-16"), ("utf-8-sig", "")):
            path = tmp_path / "votes.csv"
            path.write_bytes(quoted.encode(encoding))
            table = read_comparisons(path)
            assert set(table.items) == {"Café", "thé", "lait"}
            assert [note in one for one in table.notes] == ([True] if note else [])
    path.write_bytes(b"winner,loser\n\x89PNG\x01\xff,\xfe\n")
    with pytest.raises(FileError, match="line 2: this is not UTF-8 text"):
        read_comparisons(path)
    path.write_bytes(b"\xff\xfew")
    with pytest.raises(FileError, match="this is not UTF-16 text, as it begins"):
        read_comparisons(path)
