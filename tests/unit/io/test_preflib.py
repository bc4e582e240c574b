"""PrefLib's files, the present format and the old one."""

import gzip

import pytest

from crucial.data.comparisons import Rankings
from crucial.errors import DataError, FileError
from crucial.io.comparisons import read_preflib
from refusals import refused

HEAD = """\
# FILE NAME: 00001-00000001.toi
# TITLE: Drinks: hot or cold
# DATA TYPE: {kind}
# NUMBER ALTERNATIVES: 4
# NUMBER VOTERS: 9
# ALTERNATIVE NAME 1: tea
# ALTERNATIVE NAME 2: milk: warm
# ALTERNATIVE NAME 3: wine
# ALTERNATIVE NAME 4:
"""
OLD = "3\n1,tea\n2,milk, warm\n3,tea\n5,5,2\n3,1,2,3\n2,2,{1,3}\n"


@pytest.mark.parametrize(
    ("kind", "body", "orders", "counts"),
    [
        ("soc", "4: 1,2,3,4\n5: 4,3,2,1\n", (((0,), (1,), (2,), (3,)), ((3,), (2,), (1,), (0,))),
         [4, 5]),
        ("soi", "7: 2\n2:3, 1\n", (((1,),), ((2,), (0,))), [7, 2]),
        ("toc", "9: {3,1},2,{4}\n", (((0, 2), (1,), (3,)),), [9]),
        ("toi", "1: {4, 2},1\n8: 1,2,{}\n", (((1, 3), (0,)), ((0,), (1,))), [1, 8]),
        ("toi", "1 : { 0000000004,2, },1\n", (((1, 3), (0,)),), [1]),
    ],
)  # fmt: skip
def test_the_four_kinds(made, kind, body, orders, counts):
    path = made(HEAD.format(kind=kind) + body, f"x.{kind}")
    read = read_preflib(path)
    assert read.items == ("tea", "milk: warm", "wine", "4")
    assert read.orders == orders
    assert read.count.tolist() == counts
    assert read.complete == kind.endswith("c")
    packed = gzip.compress(path.read_bytes())
    assert read_preflib(made(packed, f"x.{kind}.gz")).orders == orders


def test_the_old_format(made):
    read = read_preflib(made(OLD, "x.toc"))
    assert read.items == ("tea (1)", "milk, warm", "tea (3)")
    assert read.orders == (((0,), (1,), (2,)), ((1,), (0, 2)))
    assert read.above().tolist() == [[0, 3, 3], [2, 0, 5], [0, 0, 0]]


def test_lines_of_a_heading_that_say_something_else(made):
    more = "# ALTERNATIVE NAME: any\n# ALTERNATIVE NAME 1 AGAIN: any\n# CATEGORY NAME 1: any\n"
    path = made(more + HEAD.format(kind="soi") + "1: 2,1\n", "x.soi")
    assert read_preflib(path).items[:2] == ("tea", "milk: warm")


@pytest.mark.parametrize(("kind", "body", "said"), [
    ("soc", "4: 1,2,3\n", "line 10: a .soc file ranks all 4 items; this order has 3"),
    ("soc", "4: 1,{2,3},4\n", "line 10: there is a tie, and a .soc file has none"),
    ("soi", "4: 1,5\n", "line 10: items go from 1 to 4. Got 5"),
    ("soi", "4: 1,0\n", "line 10: items go from 1 to 4. Got 0"),
    ("soi", "4: 1,1\n", "line 10: item 1 occurs twice"),
    ("toi", "4: {1,2},2\n", "line 10: item 2 occurs twice"),
    ("soi", "x: 1\n", "line 10: expected 'COUNT: ITEM,ITEM,...'. Got 'x: 1'"),
    ("soi", "4\x1e: 1\n", r"line 10: expected 'COUNT: ITEM,ITEM,...'. Got '4\\x1e: 1'"),
    ("toi", "4: 00000000012\n", "line 10: expected numbers of items with commas"),
    ("toi", "4: {00000000012}\n", "line 10: expected numbers of items with commas"),
    ("soi", "4: 1;2\n", "line 10: expected numbers of items with commas"),
    ("toi", "4: {1,{2}}\n", "line 10: expected numbers of items"),
    ("toi", "4: {}\n", "line 10: this order ranks nothing"),
    ("soi", "0: 1\n", "must add up to a number above 0"),
    ("soi", "", "there is no ranking"),
    ("xyz", "1: 1\n", "its data type is 'xyz'; soc, soi, toc and toi are read"),
    ("cat", "1: 1\n", "a .cat file of PrefLib is categorical"),
])  # fmt: skip
def test_bad_orders(made, kind, body, said):
    refused(FileError, said, read_preflib, made(HEAD.format(kind=kind) + body))


TWO = "# NUMBER ALTERNATIVES: 2\n# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n"


@pytest.mark.parametrize(("text", "said"), [
    (TWO + "9999999999: 1,2\n", r"line 4, column 1: an order may be given at most 1e\+09"),
    ("", "the file is empty"),
    ("# TITLE: x\n1: 1\n", "does not say '# NUMBER ALTERNATIVES"),
    ("# NUMBER ALTERNATIVES: many\n", "line 1: expected the number of alternatives. Got 'ma"),
    ("# NUMBER ALTERNATIVES: 999999999\n", "must name alternatives 1 to 999999999"),
    ("hello\n", "line 1: expected the number of alternatives, or '#'"),
    ("2\n1,a\n3,b\n", "line 3: expected '2,NAME'. Got '3,b'"),
    ("999999999\n1,a\n", "expected '2,NAME'"),
    ("1\n1,a\nx\n", "line 3: expected the numbers of voters"),
])  # fmt: skip
def test_bad_headings(made, text, said):
    refused(FileError, said, read_preflib, made(text))


@pytest.mark.parametrize(("name", "said"), [
    ("x.soc", r"line 7: there is a tie, and a \.soc file has none"),
    ("x.cat", "a .cat file of PrefLib is categorical data"),
    ("x.wmd.gz", "a .wmd file of PrefLib is a weighted matching graph"),
    ("x.dat", "a .dat file of PrefLib is data in a form of their own"),
])  # fmt: skip
def test_files_of_the_kinds_that_they_are_named_after(made, name, said):
    refused(FileError, said, read_preflib, made(OLD, name))


def test_rankings_of_names():
    made = Rankings.from_orders([["b", "a"], [["a", "c"], "b"]], [2, 1])
    assert made.items == ("a", "b", "c")
    assert made.orders == (((1,), (0,)), ((0, 2), (1,)))
    make = Rankings.from_orders
    refused(DataError, r"ranking 0 \(from 0\) has 'a' twice", make, [["a", "b", "a"]])
    refused(DataError, r"ranking 0 \(from 0\) is empty", make, [[]])
    match = "count must have a number for each of the 1 rankings"
    refused(DataError, match, make, [["a"]], [1, 2])
