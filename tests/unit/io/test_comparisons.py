"""Comparisons: columns, frames, files as judges and arenas write them, and what is refused."""

import json

import numpy as np
import pandas
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucial.data.comparisons import Comparisons
from crucial.errors import DataError, FileError
from crucial.io.comparisons import read_comparisons, write_comparisons
from crucial.io.text import read_cells
from crucial.preferences.standings import leaderboards
from refusals import refused


def same(a: Comparisons, b: Comparisons) -> bool:
    columns = ("winner", "loser", "tie", "weight")
    optional = [(a.judge, b.judge), (a.context, b.context)]
    return (
        (a.items, a.judges, a.contexts) == (b.items, b.judges, b.contexts)
        and all(getattr(a, c).tolist() == getattr(b, c).tolist() for c in columns)
        and all((x is None) == (y is None) and (x is None or (x == y).all()) for x, y in optional)
    )


def test_a_file_of_journey_d(made):
    text = "prompt,Winner,LOSER,judge,weight,tie,why\np1,a,b,gpt,2,,x\np2,b,c,ann,0.5,TRUE,y\n"
    read = read_comparisons(made(text, "judged.csv"), context="prompt")
    assert read.items == ("a", "b", "c")
    assert read.winner.tolist() == [0, 1]
    assert read.loser.tolist() == [1, 2]
    assert read.tie.tolist() == [False, True]
    assert read.weight.tolist() == [2.0, 0.5]
    assert [read.judges[k] for k in read.judge] == ["gpt", "ann"]
    assert [read.contexts[k] for k in read.context] == ["p1", "p2"]


def test_a_tie_is_half_a_win_each_way():
    high, low, weight, row = Comparisons.from_columns(
        ["a", "b"], ["b", "c"], tie=[False, True], weight=[1, 4]
    ).directed()
    rows = sorted(zip(high.tolist(), low.tolist(), weight.tolist(), row.tolist()))
    assert rows == [(0, 1, 1.0, 0), (1, 2, 2.0, 1), (2, 1, 2.0, 1)]


def test_pairs_without_names_of_columns(made):
    for text, weight in (("x\ty\ny\tz\n", [1.0, 1.0]), ("x\ty\t2\n", [2.0]), ("x\ty\n", [1.0])):
        read = read_comparisons(made(text, "pairs.tsv"))
        assert read.winner[0] == 0
        assert read.loser[0] == 1
        assert read.weight.tolist() == weight


@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame, dict])
def test_frames(make):
    frame = make({"best": ["a", "b"], "loser": ["b", "c"], "tie": [False, True]})
    read = Comparisons.from_frame(frame, winner="best")
    assert (read.items, read.tie.tolist(), read.judge) == (("a", "b", "c"), [False, True], None)
    refused(DataError, "the frame has no column 'winner'", Comparisons.from_frame, frame)


def test_columns_of_one_name():
    frame = pandas.DataFrame([["a", "a", "b"]], columns=["winner", "winner", "loser"])
    match = "the frame: column names must differ. .* 'winner' 2"
    refused(DataError, match, Comparisons.from_frame, frame)


BAD = [
    ("winner,loser\na,a\n", "line 2, column 2: 'a' is compared with itself"),
    ("winner,loser\na,b\n,b\n", "line 3, column 1: the winner is empty"),
    ("winner,loser,tie\na,b,maybe\n", "line 2, column 3: a tie must be 1, .* Got 'maybe'"),
    ("winner,loser,weight\na,b,-1\n", "line 2, column 3: the weight must be .* Got '-1'"),
    ("winner,loser,weight\na,b,nan\n", "line 2, column 3: the weight must be"),
    ("winner,loser,weight\na,b,1e999\n", "line 2, column 3: the weight must be"),
    ("winner,loser,weight\na,b,1\na,c,1e300\n", r"line 3, column 3: .* from 0 to 1e\+09\. Got"),
    ("a\tb\t1\na\tc\t1e300\n", r"line 2, column 5: the weight must be .* from 0 to 1e\+09\. Got"),
    ("winner,loser,weight\na,b,0\n", "must add up to a number above 0"),
    ("winner,loser\na,b,c\n", "line 2: expected 2 cells, as in the first line. Got 3"),
    ("winner,looser\na,b\n", "line 1: there is no column 'loser'; close ones: 'looser'"),
    ("a,b\nb,c\n", "line 1: there is no column 'winner'"),
    ("winner,loser\n", "there is no"),
    ("", "the file is empty"),
    ("\n \n", "the file is empty"),
    ('winner,loser\n"a,b\n', "line 2: the line cannot be split"),
    ("winner,loser\na,b\0\n", "line 2, column 4: there is a NUL byte"),
    # (of the weights, of which all are bad, the first is named)
    ("winner,loser,weight\na,b,1\na,b,z\na,b,y\na,b,x\na,b,w\n", "line 3, column 3: .*Got 'z'"),
    ("model_a,model_b,winner\na,b,0\n", "line 2, column 3: the winner must be model_a, m"),
    ("model_a,model_b,winner\na,b,model_a\na,b,\n", "line 3, column 3: the winner must be"),
    ("model_a,model_b,winner\na,a,tie\n", "line 2, column 2: 'a' is compared with itself"),
    ("model_a,model_b,winner\na,,tie\n", "line 2, column 2: the item is empty"),
    ("model_a,model_b,votes\na,b,3\n", "there is no column 'winner'"),
    ("text_a,text_b,id_a,id_b,winner\np,q,r,s,a\n", "several pairs of columns may be"),
    ("model_a,model_b,winner_model_a,winner_model_b\na,b,1,1\n", "exactly one of the winner"),
    ("winner,loser\ntie,b\na,b\n", "says 'tie', which is no item"),
    ("left,right,winner\nleft,x,right\ny,left,left\n", "line 3, column 3: the winner must be le"),
]


@pytest.mark.parametrize(("text", "said"), BAD)
def test_bad_files(made, text, said):
    refused(FileError, said, read_comparisons, made(text, "x.csv"))


def test_columns_that_are_named(made):
    path = made("winner,loser,Loser\na,b,c\n", "x.csv")
    assert read_comparisons(path).items == ("a", "b")  # (an exact name first)
    match = "line 1: there is no column 'who'; columns: 'winner'"
    refused(FileError, match, read_comparisons, path, judge="who")


def test_a_difference_of_unknown_columns_names_the_first(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"winner": "a", "loser": "b", "meta": {"tokens_a": 1, "tokens_b": 2}}\n')
    match = "no column 'tokens_a'; close ones: 'meta.tokens_a', 'meta.tokens_b'\\.$"
    refused(FileError, match, read_comparisons, path, covariates=["length=tokens_a-tokens_b"])


def test_a_covariate_that_cannot_be_squared(made):
    path = made("winner,loser,length\na,b,3\nb,a,-1e300\n", "x.csv")
    match = "line 3, column 3: the covariate must be .* Got '-1e300'"
    refused(FileError, match, read_comparisons, path, covariates=["length"])
    frame = {"winner": ["a"], "loser": ["b"], "weight": [1e300]}
    match = r"row 0 \(from 0\), column 'weight': .* from 0 to 1e\+09"
    refused(DataError, match, Comparisons.from_frame, frame)


@pytest.mark.parametrize(("winner", "loser", "more", "said"), [
    ("ab", "c", {}, "loser must have a value for each of the 2 comparisons"),
    ("ab", "cb", {}, r"comparison 1 \(from 0\) is of 'b' with itself"),
    ("", "", {}, "there is no comparison"),
    ("a", "b", {"weight": [np.inf]}, "weights must be a number from 0 to 1e"),
    (
        "ab",
        "ba",
        {"covariates": {"x": [0.0, 1e300]}},
        r"'x' must be .* Got 1e\+300 in comparison 1",
    ),
])  # fmt: skip
def test_bad_columns(winner, loser, more, said):
    refused(DataError, said, Comparisons.from_columns, [*winner], [*loser], **more)


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1,
                max_size=6).map(str.strip).filter(bool)  # fmt: skip


some_rows = st.tuples(names, names, st.booleans(), st.floats(1e-6, 1e6), names)


@given(st.lists(some_rows.filter(lambda row: row[0] != row[1]), min_size=1, max_size=6))
def test_what_is_written_is_read(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("c") / "x.csv.gz"
    winner, loser, tie, weight, judge = zip(*rows)
    made = Comparisons.from_columns(winner, loser, tie=tie, weight=weight, judge=judge)
    write_comparisons(path, made)
    assert same(read_comparisons(path), made)


@pytest.mark.parametrize("first", [None, [True, False, True]])
def test_covariates_are_of_the_winner_less_the_loser(first, tmp_path):
    made = Comparisons.from_columns(
        ["a", "b", "c"], ["b", "c", "a"], first=first, covariates={"longer": [1.0, -2.0, 3.0]}
    )
    write_comparisons(tmp_path / "x.csv", made)
    again = read_comparisons(tmp_path / "x.csv", covariates=["longer"])
    assert again.covariates.tolist() == made.covariates.tolist()
    assert again.winner.tolist() == made.winner.tolist()


# Arena files as they are: two sides and who won, in CSV and JSON lines


ARENA = """question_id,model_a,model_b,winner,judge,turn,length_diff
1,gpt,llama,model_a,u1,1,10
2,llama,gpt,model_b,u2,1,-3
3,gpt,palm,tie,u1,2,0
4,palm,llama,tie (bothbad),u2,1,5
"""


def rows(found):
    names = found.items
    return [(names[a], names[b], bool(t)) for a, b, t in zip(found.winner, found.loser, found.tie)]


@pytest.fixture
def read(made):
    return lambda text, name="x.csv", **how: read_comparisons(made(text, name), **how)


def test_an_arena_file_as_it_is(read, tmp_path):
    found = read(ARENA, covariates=["length_diff"], category="turn")
    assert found.items == ("gpt", "llama", "palm")
    decided = ("gpt", "llama", False)
    assert rows(found) == [decided, decided, ("gpt", "palm", True), ("palm", "llama", True)]
    assert found.first.tolist() == [True, False, True, True]
    assert found.covariates[:, 0].tolist() == [10.0, 3.0, 0.0, 5.0]  # of the winner's side
    assert found.categories == ("1", "2")
    assert found.judges == ("u1", "u2")
    assert found.contexts == ("1", "2", "3", "4")
    assert "'model_a' against 'model_b'; column 'winner' names the side" in found.notes[0]
    frame = Comparisons.from_frame(pandas.read_csv(tmp_path / "x.csv"))
    assert rows(frame) == rows(found)
    # Who was shown first is written and read.
    write_comparisons(tmp_path / "again.csv", found)
    how = {"covariates": ["length_diff"], "category": "category"}
    again = read_comparisons(tmp_path / "again.csv", **how)
    assert rows(again)[:2] == rows(found)[:2]
    assert sorted(rows(again)[2][:2]) == sorted(rows(found)[2][:2])
    assert again.first.tolist() == found.first.tolist()
    assert again.covariates.tolist() == found.covariates.tolist()
    assert (again.judges, again.categories) == (found.judges, found.categories)


def test_json_lines_arrays_and_sheets_say_the_same(read, tmp_path):
    lines = ARENA.splitlines()
    keys = lines[0].split(",")
    records = [dict(zip(keys, line.split(","))) for line in lines[1:]]
    for one in records:
        one["conversation_a"] = [{"role": "user", "content": "x"}]
        one["conversation_b"] = []
    text = "\n".join(map(json.dumps, records))
    wanted = rows(read(ARENA))
    for name, body in (("a.jsonl", text), ("a.txt", text), ("a.json", json.dumps(records))):
        assert rows(read(body, name)) == wanted
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for line in lines:
        book.active.append(line.split(","))
    book.save(tmp_path / "x.xlsx")
    assert rows(read_comparisons(tmp_path / "x.xlsx")) == wanted
    good = '{"winner": "a", "loser": "b"}'
    refused(
        FileError,
        "x.jsonl.*line 2: every line must be one JSON object",
        read,
        f'{good}\n{{"w\n',
        "x.jsonl",
    )
    refused(
        FileError,
        "line 2: every line must be one JSON object. Got '7'",
        read,
        f"{good}\n7\n",
        "x.jsonl",
    )


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
def test_ways_to_name_the_winner(read, head, row, wanted):
    assert rows(read(f"{head}\n{row}\n")) == [wanted]


def test_an_item_called_like_a_side(read):
    """Items A and B on either side: the winner is the item, not the side."""
    found = read("left,right,winner\nA,B,A\nB,A,A\nB,A,tie\n")
    assert rows(found)[:2] == [("A", "B", False), ("A", "B", False)]


def test_a_side_is_never_taken_for_an_item(read):
    """Once a silent wrong leaderboard of the items model_a, model_b and tie."""
    refused(FileError, "which is no item.*left and right", read, ARENA, loser="model_b")
    assert rows(read(ARENA, left="model_a", right="model_b"))[0][0] == "gpt"
    refused(DataError, "left and right go together", read, ARENA, left="model_a")


@pytest.mark.parametrize(("text", "columns", "lines"), [
    ("a,b\n1, 2 \n3,4\n", [["1", "3"], ["2", "4"]], [2, 3]),
    ("a,b\r\n1,2\r\n\r\n3,4\r\n", [["1", "3"], ["2", "4"]], [2, 4]),
    ('a,b\n"1,5",2\n3,4\n', [["1,5", "3"], ["2", "4"]], [2, 3]),
    ("\ufeffa;b\n1;2", [["1"], ["2"]], [2]),
    ("a,b\n é ,2\n,\n3,4\n", [["é", "", "3"], ["2", "", "4"]], [2, 3, 4]),
    ("\na,b\n \n1,2\n", [["1"], ["2"]], [4]),
    ('a,b\n"x\ny",2\n3,4\n', [["x\ny", "3"], ["2", "4"]], [2, 4]),
])  # fmt: skip
def test_cells_and_their_lines(made, text, columns, lines):
    table = read_cells(made(text, "x.csv"))
    assert table.names == ["a", "b"]
    assert [table.column(k) for k in range(2)] == columns
    assert list(table.lines) == lines


def test_other_encodings(read):
    """Latin-1 and UTF-16 as spreadsheets write them, plain and with quotes; a note says so."""
    text = "winner,loser,judge\nCafé,thé,Ann\nthé,lait,Bob\n"
    for quoted in (text, text.replace("thé,lait", '"thé","lait"')):
        for encoding, note in (("cp1252", "Latin-1"), ("utf-16", "UTF-16"), ("utf-8-sig", "")):
            table = read(quoted.encode(encoding))
            assert set(table.items) == {"Café", "thé", "lait"}
            assert [note in one for one in table.notes] == ([True] if note else [])
    picture = b"winner,loser\n\x89PNG\x01\xff,\xfe\n"
    refused(FileError, "line 2: this is not UTF-8 text", read, picture)
    refused(FileError, "this is not UTF-16 text, as it begins", read, b"\xff\xfew")


# --- arena files as published: objects inside a line, tags, token counts of both sides

BATTLES = [
    {"model_a": "x", "model_b": "y", "winner": "model_a", "is_code": True, "turns": [1],
     "conv_metadata": {"tokens_a": 9, "tokens_b": 4, "bold_a": {"**": 2}},
     "category_tag": {"math_v0.1": {"math": False}}},
    {"model_a": "y", "model_b": "x", "winner": "model_a", "is_code": False, "turns": [1],
     "conv_metadata": {"tokens_a": 3, "tokens_b": 8, "bold_a": {"**": 0}},
     "category_tag": {"math_v0.1": {"math": True}}},
    {"model_a": "x", "model_b": "z", "winner": "tie (bothbad)", "is_code": True, "turns": [],
     "conv_metadata": {"tokens_a": 5, "tokens_b": 5, "bold_a": {"**": 1}},
     "category_tag": {"math_v0.1": {"math": True}}},
]  # fmt: skip
TOKENS = "conv_metadata.tokens_a-conv_metadata.tokens_b"


@pytest.fixture(params=["lines", "list", "parquet"])
def published(request, made, tmp_path):
    if request.param == "parquet":
        pandas.DataFrame(BATTLES).to_parquet(tmp_path / "a.parquet")
        return tmp_path / "a.parquet"
    lines = "".join(json.dumps(row) + "\n" for row in BATTLES)
    as_lines = request.param == "lines"
    return made(lines if as_lines else json.dumps(BATTLES), "a.jsonl" if as_lines else "a.json")


@pytest.mark.parametrize(("covariate", "name", "seen_from_winner"), [
    ("conv_metadata.bold_a.**", "conv_metadata.bold_a.**", [2, 0, 1]),
    (TOKENS, TOKENS, [5, -5, 0]),
    (f"length={TOKENS}", "length", [5, -5, 0]),
    ("turn=conv_metadata.tokens_a", "turn", [9, 3, 5]),
])  # fmt: skip
def test_covariates_inside_objects(published, covariate, name, seen_from_winner):
    read = read_comparisons(published, covariates=[covariate])
    assert read.covariate_names == (name,)
    assert read.covariates[:, 0].tolist() == seen_from_winner
    assert read.tie.tolist() == [False, False, True]


@pytest.mark.parametrize(("covariates", "said"), [
    (["conv_metadata.tokens_a-turns"], "there is no column 'turns'"),
    (["l=a-b-c"], "there is no column 'a-b-c'"),
    (["turns"], "there is no column 'turns'"),
    (["category_tag"], "column 'category_tag'; close ones: 'category_tag.math_v0.1.math'"),
    ([f"l={TOKENS}", "l=conv_metadata.tokens_a"], "covariates need different names. Got 'l'"),
])  # fmt: skip
def test_covariates_that_are_not_there(published, covariates, said):
    refused(FileError, said, read_comparisons, published, covariates=covariates)


def test_a_minus_in_the_name_of_a_column_and_the_plain_key_first(made):
    row = {"winner": "a", "loser": "b", "len-a": 3, "len-b": 1, "t.x": 7, "t": {"x": 8, "y": 2}}
    path = made(json.dumps(row), "x.jsonl")
    read = read_comparisons(path, covariates=["len-a-len-b", "len-a", "t.x", "t.y"])
    assert read.covariates.tolist() == [[2.0, 3.0, 7.0, 2.0]]


def test_categories_of_several_columns(published, tmp_path):
    tags = ["category_tag.math_v0.1.math", "is_code"]
    read = read_comparisons(published, category=tags)
    labels = [[read.categories[k] for k in row] for row in read.category]
    assert labels[1] == ["category_tag.math_v0.1.math: true", "is_code: false"]
    boards = leaderboards(read, intervals=False)
    assert list(boards) == [
        "category_tag.math_v0.1.math: true", "category_tag.math_v0.1.math: false",
        "is_code: true", "is_code: false",
    ]  # fmt: skip
    assert [one.item for one in boards["is_code: false"].standings] == ["y", "x"]
    alone = leaderboards(read_comparisons(published, category="is_code"), intervals=False)
    assert str(alone["true"]) == str(boards["is_code: true"])
    write_comparisons(tmp_path / "back.csv", read)
    back = read_comparisons(tmp_path / "back.csv", category=tags)
    assert (back.categories, back.category.tolist()) == (read.categories, read.category.tolist())


def test_tags_in_lists(made):
    rows = [
        {"model_a": "x", "model_b": "y", "winner": side, "tags": tags}
        for side, tags in (("model_a", ["math"]), ("model_b", ["math", "code"]), ("model_a", []))
    ]
    path = made("".join(json.dumps(row) + "\n" for row in rows), "tags.jsonl")
    read = read_comparisons(path, category=["tags.math", "tags.code"])
    counts = [sum(read.categories[k].endswith("true") for k in row) for row in read.category]
    assert counts == [1, 2, 0]
    boards = leaderboards(read, intervals=False)
    assert boards["tags.code: true"].standings[0].item == "y"
