"""Comparisons: columns, frames, files, and what is refused where."""

from __future__ import annotations

import numpy as np
import pandas
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucial.data.comparisons import Comparisons
from crucial.errors import DataError, FileError
from crucial.io.comparisons import read_comparisons, read_preflib, write_comparisons
from crucial.io.text import read_text_table


def same(a: Comparisons, b: Comparisons) -> bool:
    columns = ("winner", "loser", "tie", "weight")
    optional = [(a.judge, b.judge), (a.context, b.context)]
    return (
        (a.items, a.judges, a.contexts) == (b.items, b.judges, b.contexts)
        and all(getattr(a, c).tolist() == getattr(b, c).tolist() for c in columns)
        and all((x is None) == (y is None) and (x is None or (x == y).all()) for x, y in optional)
    )


def test_a_file_of_journey_d(tmp_path):
    path = tmp_path / "judged.csv"
    path.write_text(
        "prompt,Winner,LOSER,judge,weight,tie,why\np1,a,b,gpt,2,,x\np2,b,c,ann,0.5,TRUE,y\n"
    )
    read = read_comparisons(path, context="prompt")
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


def test_pairs_without_names_of_columns(tmp_path):
    for text, weight in (("x\ty\ny\tz\n", [1.0, 1.0]), ("x\ty\t2\n", [2.0]), ("x\ty\n", [1.0])):
        path = tmp_path / "pairs.tsv"
        path.write_text(text)
        read = read_comparisons(path)
        assert read.winner[0] == 0
        assert read.loser[0] == 1
        assert read.weight.tolist() == weight


@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame, dict])
def test_frames(make):
    frame = make({"best": ["a", "b"], "loser": ["b", "c"], "tie": [False, True]})
    read = Comparisons.from_frame(frame, winner="best")
    assert (read.items, read.tie.tolist(), read.judge) == (("a", "b", "c"), [False, True], None)
    with pytest.raises(DataError, match="the frame has no column 'winner'"):
        Comparisons.from_frame(frame)


def test_columns_of_one_name():
    frame = pandas.DataFrame([["a", "a", "b"]], columns=["winner", "winner", "loser"])
    with pytest.raises(DataError, match=r"the frame: column names must differ. .* 'winner' 2"):
        Comparisons.from_frame(frame)


BAD = [
    ("winner,loser\na,a\n", "line 2, column 2: 'a' is compared with itself"),
    ("winner,loser\na,b\n,b\n", "line 3, column 1: the winner is empty"),
    ("winner,loser,tie\na,b,maybe\n", "line 2, column 3: a tie must be 1, .* Got 'maybe'"),
    ("winner,loser,weight\na,b,-1\n", "line 2, column 3: the weight must be .* Got '-1'"),
    ("winner,loser,weight\na,b,nan\n", "line 2, column 3: the weight must be"),
    ("winner,loser,weight\na,b,1e999\n", "line 2, column 3: the weight must be"),
    (
        "winner,loser,weight\na,b,1\na,c,1e300\n",
        r"line 3, column 3: .* from 0 to 1e\+09\. Got",
    ),
    ("a\tb\t1\na\tc\t1e300\n", r"line 2, column 5: the weight must be .* from 0 to 1e\+09\. Got"),
    ("winner,loser,weight\na,b,0\n", "must add up to a number above 0"),
    ("winner,loser\na,b,c\n", "line 2: expected 2 cells, as in the first line. Got 3"),
    ("winner,looser\na,b\n", "line 1: there is no column 'loser'; close ones: 'looser'"),
    ("a,b\nb,c\n", "line 1: there is no column 'winner'"),
    ("winner,loser\n", "there is no"),
    ("", "the file is empty"),
    ("\n \n", "the file is empty"),
    ("winner,loser,Loser\na,b,c\n", "b"),
    ('winner,loser\n"a,b\n', "line 2: the line cannot be split"),
    ("winner,loser\na,b\0\n", "line 2, column 4: there is a NUL byte"),
]


@pytest.mark.parametrize(("text", "said"), BAD)
def test_bad_files(tmp_path, text, said):
    path = tmp_path / "x.csv"
    path.write_bytes(text.encode())
    if said == "b":  # an exact name goes before one in another case
        assert read_comparisons(path).items == ("a", "b")
        return
    with pytest.raises(FileError, match=said):
        read_comparisons(path)


def test_a_covariate_that_cannot_be_squared(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("winner,loser,length\na,b,3\nb,a,-1e300\n")
    with pytest.raises(FileError, match=r"line 3, column 3: the covariate must be .* Got '-1e300'"):
        read_comparisons(path, covariates=["length"])
    with pytest.raises(DataError, match=r"'length' must be .* Got 1e\+300 in comparison 1"):
        Comparisons.from_columns(["a", "b"], ["b", "a"], covariates={"length": [0.0, 1e300]})
    frame = {"winner": ["a"], "loser": ["b"], "weight": [1e300]}
    with pytest.raises(DataError, match=r"row 0 \(from 0\), column 'weight': .* from 0 to 1e\+09"):
        Comparisons.from_frame(frame)


def test_a_column_asked_for_must_be_there(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("winner,loser\na,b\n")
    with pytest.raises(FileError, match="line 1: there is no column 'who'; columns: 'winner'"):
        read_comparisons(path, judge="who")


def test_bad_columns():
    with pytest.raises(DataError, match="loser must have a value for each of the 2 comparisons"):
        Comparisons.from_columns(["a", "b"], ["c"])
    with pytest.raises(DataError, match=r"comparison 1 \(from 0\) is of 'b' with itself"):
        Comparisons.from_columns(["a", "b"], ["c", "b"])
    with pytest.raises(DataError, match="there is no comparison"):
        Comparisons.from_columns([], [])
    with pytest.raises(DataError, match="weights must be a number from 0 to 1e"):
        Comparisons.from_columns(["a"], ["b"], weight=[np.inf])


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1,
                max_size=6).map(str.strip).filter(bool)  # fmt: skip


@given(
    st.lists(
        st.tuples(names, names, st.booleans(), st.floats(1e-6, 1e6), names).filter(
            lambda row: row[0] != row[1]
        ),
        min_size=1,
        max_size=6,
    )
)
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


@pytest.mark.parametrize("read", [read_comparisons, read_preflib, read_text_table])
@given(
    text=st.one_of(
        st.binary(max_size=80),
        st.text("winerlos,;\t\n\"# 01{}:", max_size=80).map(str.encode),
        st.lists(
            st.sampled_from(
                [b"# NUMBER ALTERNATIVES: 2\n", b"# ALTERNATIVE NAME 1: a\n", b"\n", b"1: ", b"1",
                 b"# ALTERNATIVE NAME 2: b\n", b",", b"{", b"}", b"2", b"winner,loser", b"a,b",
                 b"# DATA TYPE: soc\n", b"1,a\n", b"2,b\n", b"1,1,1\n"]
            )
        ).map(b"".join),
    )
)  # fmt: skip
def test_anything_is_read_or_refused(tmp_path_factory, read, text):
    path = tmp_path_factory.mktemp("any") / "x"
    path.write_bytes(text)
    said = str(path)
    try:
        read(path)
    except FileError as error:
        said = str(error)
    assert said.startswith(str(path))


def test_of_several_bad_numbers_the_first_is_named(tmp_path):
    path = tmp_path / "judged.csv"
    bad = "".join(f"a,b,{letter}\n" for letter in "zyxwvutsrq")
    path.write_text(f"winner,loser,weight\na,b,1\n{bad}")
    with pytest.raises(FileError, match=r"line 3, column 3: .*Got 'z'"):
        read_comparisons(path)
