"""Files of ratings: the forms they come in, and what is wrong with others."""

import csv
import gzip

import numpy as np
import pandas
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crucial.data.dataset import Ratings
from crucial.errors import DataError, FileError, ParameterError
from crucial.io.ratings import read_own_ratings, read_ratings, read_titles, write_own_ratings
from refusals import refused

FORMS = {
    "u.data": "7\t3\t4\t88\n7\t5\t1\t89\n9\t3\t2.5\t90\n",
    "inter": "user_id:token\titem_id:token\trating:float\n7\t3\t4\n7\t5\t1\n9\t3\t2.5\n",
    "csv": "userId,movieId,rating\n7,3,4\n7,5,1\n9,3,2.5\n",
    "dat": "7::3::4::88\n7::5::1::89\n9::3::2.5::90\n",
    "spaces": "\n7,3,4\r\n\r\n 7 , 5,1\n9,3,2.5",
    "named": "rating;film;viewer\n4;3;7\n1;5;7\n2.5;3;9\n",
    "unknown names": '\ufeffa,b,c\n"7",3,4\n7,"5",1\n9,3,2.5\n',
    "comma": "user;item;rating\n7;3;4,0\n7;5;1\n9;3;2,5\n",
    "book_id": "book_id,user_id,rating\n3,7,4\n5,7,1\n3,9,2.5\n",
    "reversed": "rating,user_id,book_id\n4,7,3\n1,7,5\n2.5,9,3\n",
    "hyphens": '"User-ID";"ISBN";"Book-Rating"\n7;3;4\n7;5;1\n9;3;2,5\n',
    "space in name": "Product ID,reviewerID,overall\n3,7,4\n5,7,1\n3,9,2.5\n",
    "one left": "stars,thing,user\n4,3,7\n1,5,7\n2.5,3,9\n",
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_forms(made, text):
    for content in (text, gzip.compress(text.encode())):
        ratings = read_ratings(made(content))
        assert ratings.user.tolist() == [7, 7, 9]
        assert ratings.item.tolist() == [3, 5, 3]
        assert ratings.rating.tolist() == [4.0, 1.0, 2.5]
    assert repr(ratings) == "Ratings(3 by 2 users of 2 items)"


def test_names_and_chosen_columns(made):
    path, columns = (
        made("who,when,what,liked\nann,1,alien,5\nbob,2,antz,3\n"),
        ["who", "what", "liked"],
    )
    ratings = read_ratings(path, columns=columns)
    assert ratings.user.tolist() == ["ann", "bob"]
    assert ratings.items.tolist() == ["alien", "antz"]
    match = "x, line 1: there is no column 'y'; columns: 'who'"
    refused(FileError, match, read_ratings, path, columns=["y", "what", "liked"])
    path.write_text("ann,alien,5\n")
    assert read_ratings(path).user.tolist() == ["ann"]
    match = "line 1: the first line names no columns"
    refused(FileError, match, read_ratings, path, columns=columns)


@pytest.mark.parametrize("sep", [";", "\t", "::", "|"])
def test_a_rating_with_a_decimal_comma_is_no_name(made, sep):
    ratings = read_ratings(made("ann;alien;4,5\nbob;alien;3,5\n".replace(";", sep)))
    assert ratings.user.tolist() == ["ann", "bob"]
    assert ratings.rating.tolist() == [4.5, 3.5]


@pytest.mark.parametrize("cell", ["NA", "", "?", "nan"])
def test_a_first_line_without_a_rating_is_no_heading(made, cell):
    match = "line 1, column 3: .*Leave the line out where there is"
    refused(FileError, match, read_ratings, made(f"ann,alien,{cell}\nbob,alien,3\n"))
    path = made(f"user,item,{cell},rating\nbob,alien,x,3\n")
    if cell != "nan":
        assert read_ratings(path).rating.tolist() == [3.0]
    path = made("who,what,,liked\nbob,alien,x,3\n")
    assert read_ratings(path, columns=["who", "what", "liked"]).rating.tolist() == [3.0]


@pytest.mark.parametrize(("names", "said"), [
    ("rating,user_id,thing,when", "which column is the item; columns: 'rating', 'user_id'"),
    ("who,what,rating", "which columns are the user and the item; columns: 'who', 'what'"),
    ("user,item", "which column is the rating; columns: 'user', 'item'"),
])  # fmt: skip
def test_columns_of_which_some_are_unknown_are_refused(made, names, said):
    path = made(f"{names}\n1,2,3,4\n")
    match = rf"line 1: no usual name shows {said}.* argument columns"
    refused(FileError, match, read_ratings, path)
    for columns in (["user", "item"], "abc"):
        match = "'columns' parameter .* three column names"
        refused(ParameterError, match, read_ratings, path, columns=columns)


@pytest.mark.parametrize(("text", "said"), [
    ("", "x: the file is empty"),
    ("user,item,rating\n", "x: there is no rating"),
    ("1\t2\t3\n1\t2\n", r"line 2: expected user, item and rating. Got '1\\t2'"),
    ("1,2,3\n1,3,four\n", r"line 2, column 3: a rating must be a number. Got 'four'"),
    ("1,2,3\n\n,3,4\n", r"line 3, column 1: the id of the user is empty"),
    ("1,2,3\n1,,4\n", r"line 2, column 2: the id of the item is empty"),
    ("when,rating,user,item\n1,1e300,2,3\n", r"line 2, column 2: a rating must be between -2"),
    ("1,2,3\n1,3,nan\n", r"line 2, column 3: a rating must be a finite number. Got nan"),
    ("1,2,3\n1,3,1e999\n", r"line 2, column 3: a rating must be a finite number. Got inf"),
    ("1,2,3\n2,2,4\n1,2,5\n", r"line 3: user '1' rated item '2' in line 1 already"),
    ("1,2,3\n1,\0,3\n", r"line 2, column 3: there is a NUL byte"),
])  # fmt: skip
def test_bad_lines_are_named(made, text, said):
    refused(FileError, said, read_ratings, made(text))


def test_only_the_first_line_may_lack_names(made):
    for text, first in (("1,2,x\n", True), ("1,2,3\n1,3,x\n", False)):
        with pytest.raises(FileError, match="a rating must be a number") as caught:
            read_ratings(made(text))
        assert ("Name the columns in the first line" in str(caught.value)) == first


def test_the_last_of_duplicates_counts_if_asked(made):
    path = made("1,2,3\n2,2,4\n1,2,5\n1,3,1\n1,2,2\n")
    assert read_ratings(path, duplicates="last").rating.tolist() == [4.0, 1.0, 2.0]
    refused(ParameterError, "'duplicates' parameter", read_ratings, path, duplicates="first")


def test_frames_and_columns():
    frame = pandas.DataFrame({"user": ["b", "a"], "item": [2, 1], "rating": [3, 4.5]})
    ratings = Ratings.from_frame(frame)
    assert ratings.users.tolist() == ["a", "b"]
    assert ratings.user_code.tolist() == [1, 0]
    assert ratings.items.tolist() == [1, 2]
    match = "the frame has no column 'stars'; columns: 'user'"
    refused(DataError, match, Ratings.from_frame, frame, rating="stars")


@pytest.mark.parametrize(("columns", "match"), [
    (([None], [1], [1]), "row 0.*lacks the id"),
    (([1, 2], [1], [1]), "of one length"),
    (([1], [1], [np.nan]), "finite number. Got nan"),
    ((["a", "a"], ["x", "x"], [1, 2]), r"row 1 \(from 0\): user 'a' rated item 'x' in row 0"),
    (([[1], [2]], [1, 2], [3, 4]), r"user must have one value per row .*shape \(2, 1\)"),
    (([1, 2], [[1], [2, 3]], [3, 4]), "item is ragged"),
    (([1, 2], [1, 2], [[3], [4]]), "rating must have one value per row"),
])  # fmt: skip
def test_bad_columns(columns, match):
    refused(DataError, match, Ratings.from_columns, *columns)


def test_missing_ids_are_refused_and_names_are_not():
    frame = {"user": [1, 2], "item": [3, 4], "rating": [1, 2]}
    columns = {
        "user": [pandas.array([1, None], "Int64"), [1, pandas.NaT], [1.0, np.nan], ["a", np.nan]],
        "item": [pandas.array(["a", None], "string"), ["a", None], ["a", ""]],
    }
    for name, wrong in columns.items():
        for column in wrong:
            match = rf"row 1 \(from 0\) lacks the id of its {name}"
            refused(DataError, match, Ratings.from_frame, pandas.DataFrame({**frame, name: column}))
            refused(DataError, match, Ratings.from_columns, **{**frame, name: column})
    assert Ratings.from_columns(["Nan", "null"], [1, 2], [3, 4]).users.tolist() == ["Nan", "null"]


def test_large_ids_stay_what_they_are():
    large = np.array([2**63 + 5, 2], np.uint64)
    assert Ratings.from_columns(large, [1, 2], [3, 4]).user.tolist() == [str(2**63 + 5), "2"]
    small = Ratings.from_columns(np.array([2**63 - 1, 2], np.uint64), [1, 2], [3, 4])
    assert small.user.tolist() == [2**63 - 1, 2]


def test_unknown_ids_are_answered_with_close_ones():
    ratings = Ratings.from_columns(["anna", "bob"], ["alien", "antz"], [1, 2])
    assert ratings.place_of_user("bob") == 1
    refused(DataError, "there is no user 'ana'; close are 'anna'", ratings.place_of_user, "ana")
    match = "no item 'zzz'; the first of 2 are 'alien', 'antz'"
    refused(DataError, match, ratings.place_of_item, "zzz")


@pytest.mark.parametrize(("text", "titles"), [
    (
        "1|Les Misérables (1995)|x\n2|Heat|y\n".encode("latin-1"),
        {"1": "Les Misérables (1995)", "2": "Heat"},
    ),
    ('movieId,title,genres\n3,"Net, The",Drama\n', {"3": "Net, The"}),
    ("1::Heat::Action\n", {"1": "Heat"}),
    ("1;American President, The (1995)\n", {"1": "American President, The (1995)"}),
    ("1;Crying, Game, The\n", {"1": "Crying, Game, The"}),
    ("1;8,5\n", {"1": "8,5"}),
    ("1,Toy Story,Adventure|Animation|Children|Comedy\n", {"1": "Toy Story"}),
    ("1|Net, The|01-Jan-1995||http\n", {"1": "Net, The"}),
])  # fmt: skip
def test_titles(made, text, titles):
    assert read_titles(made(text)) == titles


def test_own_ratings_come_back(tmp_path):
    own = {"alien, the first": 4.5, "3": 1.0}
    write_own_ratings(tmp_path / "mine.csv", own)
    assert read_own_ratings(tmp_path / "mine.csv") == own


@pytest.mark.parametrize(("text", "own"), [
    ("alien;4,5\n3;1\n", {"alien": 4.5, "3": 1.0}),
    ("item;rating\nalien;4,5\n3;1,0\n", {"alien": 4.5, "3": 1.0}),
    ("Net, The;4,5\n", {"Net, The": 4.5}),
    ("alien; the 2,5\n", {"alien; the 2": 5.0}),
])  # fmt: skip
def test_own_ratings(made, text, own):
    assert read_own_ratings(made(text)) == own


def test_bad_titles_and_own_ratings(made, tmp_path):
    refused(FileError, "line 1: expected an item and its title", read_titles, made("1\n"))
    match = "line 2: expected an item and a finite rating"
    refused(FileError, match, read_own_ratings, made("alien,5\nalien,four\n"))
    refused(FileError, "line 2, column 2: ", read_own_ratings, made("alien,5\nantz,1e300\n"))
    refused(FileError, "cannot be read: no such file", read_ratings, tmp_path / "none")


CHANGED = [HealthCheck.function_scoped_fixture]
NAMES = st.text('abc,"| ;', min_size=1).map(str.strip).filter(bool)


CELLS = st.dictionaries(st.tuples(st.integers(0, 9), NAMES), st.floats(-1e6, 1e6), min_size=1)


@given(CELLS)
@settings(max_examples=60, deadline=None, suppress_health_check=CHANGED)
def test_what_is_written_as_csv_comes_back(tmp_path, cells):
    path = tmp_path / "ratings.csv"
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["user", "item", "rating"])
        out.writerows([user, item, repr(stars)] for (user, item), stars in cells.items())
    ratings = read_ratings(path)
    again = zip(ratings.user.tolist(), map(str, ratings.item.tolist()), ratings.rating.tolist())
    assert {(user, item): stars for user, item, stars in again} == cells


@pytest.mark.parametrize("signs", [(0.0, -0.0), (-0.0, 0.0)])
def test_ratings_have_one_zero(signs, made):
    """The least rating is printed: "-0 to 5" would depend on the CPU."""
    values = np.repeat([*signs, 5.0], 20)
    users, items = np.repeat(np.arange(6), 10), np.tile(np.arange(10), 6)
    rows = zip(users.tolist(), items.tolist(), values.tolist())
    path = made("user,item,rating\n" + "".join(f"{u},{i},{r}\n" for u, i, r in rows))
    for ratings in (Ratings.from_columns(users, items, values), read_ratings(path)):
        assert f"{ratings.rating.min():g} to {ratings.rating.max():g}" == "0 to 5"
        assert not np.signbit(ratings.rating).any()
