"""The pages of the papers: what they name as held by a test or a command exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from common import scripts

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "papers").glob("*.md"))
HELD_BY = "held by"  # the column of the tables of a paper's theorems, algorithms, tables, figures


@cache
def names_by_file():
    """Return the names of the test functions of every file."""
    out = {}
    for path in (ROOT / "tests").rglob("test_*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        names = {one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)}
        out.setdefault(path.name, set()).update(names)
    return out


def tables(text):
    """Yield the rows of every table, as dicts from the head of a column to the cell."""
    for block in re.findall(r"(?:^\|.*\n)+", text, re.M):
        lines = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
                 for line in block.splitlines()]  # fmt: skip
        yield [dict(zip(lines[0], cells)) for cells in lines[2:]]


def check_reference(reference):
    """Refuse a test, a command or a record that does not exist."""
    if found := re.fullmatch(r"(test_\w+\.py)::(test_\w+)", reference):
        assert found[2] in names_by_file().get(found[1], ()), f"no such test: {reference}"
    elif found := re.fullmatch(r"(?:python studies/)?(\w+)\.py ([\w-]+)(?: .*)?", reference):
        assert found[1] in scripts(), f"no such script: {reference}"
        assert found[2] in scripts()[found[1]].commands, f"no such item: {reference}"
    else:
        raise AssertionError(f"neither test_file.py::test_name nor script.py item: {reference}")


@pytest.mark.parametrize("page", PAGES, ids=[one.stem for one in PAGES])
def test_every_row_names_a_test_or_a_command_that_exists(page):
    for rows in tables(page.read_text("utf-8")):
        for row in rows:
            if HELD_BY in row:
                named = re.findall(r"`([^`]+)`", row[HELD_BY])
                assert named, f"held by nothing: {row}"
                assert row["what we found"], f"nothing found: {row}"
                for reference in named:
                    check_reference(reference)


#: What each paper numbers; the tables of its page have a row for every one.
NUMBERED = {
    "rankboost": "theorems 1 to 3; figures 1 to 8; table 1; equations 1 to 24",
    "rankboost-plus": "theorems 1 to 3; lemmas 1 to 3; propositions 1 to 3; corollary 1; "
    "observations 1 to 2; algorithms 1 to 2; figures 1 to 5; tables 1 to 4; equations 1 to 49",
    "margins": "theorems 2, 6 to 8, 10, 12, 14, 18; lemmas 3, 9, 15 to 17, 19 to 24; "
    "corollaries 4 to 5, 11, 13; definition 1; figures 1 to 2; equations 1 to 28",
    "feature-rank": "theorems 1 to 2; lemmas 1 to 4; properties 1 to 2; definitions 1 to 2; "
    "figures 1 to 9; tables 1 to 2; equations 1 to 31",
    "review": "definition 2.1; remarks 2.1 to 2.4, 3.1 to 3.3, 4.1 to 4.2; lemma 2.1; "
    "example 2.1; algorithms 1 to 2; figure 1; equations 2.1 to 2.6, 4.1 to 4.5",
}
SINGULAR = {"corollaries": "corollary", "properties": "property"}


def numbered(text):
    """Return what a text names as a set: "theorems 1 to 3" are theorem 1, theorem 2, theorem 3."""
    out = set()
    number = r"\d+(?:\.\d+)?"
    for kind, places in re.findall(rf"([a-z]+) ({number}(?:(?:, and|,| and| to) {number})*)", text):
        kind = SINGULAR.get(kind, kind.removesuffix("s"))
        for first, last in re.findall(rf"({number})(?: to ({number}))?", places):
            head, _, low = first.rpartition(".")
            for at in range(int(low), int((last or first).rpartition(".")[2]) + 1):
                out.add(f"{kind} {head}.{at}" if head else f"{kind} {at}")
    return out


@pytest.mark.parametrize("page", NUMBERED)
def test_everything_that_the_paper_numbers_has_a_row(page):
    text = (ROOT / "docs" / "papers" / f"{page}.md").read_text("utf-8")
    named = set()
    for rows in tables(text):
        named |= {one for row in rows if HELD_BY in row for one in numbered(row["in the paper"])}
    assert sorted(numbered(NUMBERED[page]) - named) == []


def test_every_paper_is_checked():
    assert {one.stem for one in PAGES} == {*NUMBERED, "index", "mq2007"}


def test_numbers_are_read_in_words():
    assert numbered("lemmas 1 to 2, 4, corollaries 5 and 7; remark 2.3") == {
        "lemma 1", "lemma 2", "lemma 4", "corollary 5", "corollary 7", "remark 2.3"}  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=[one.stem for one in PAGES])
def test_every_embedded_study_exists(page):
    for script, item in re.findall(r"^```\{study\} (\w+) ([\w-]+)$", page.read_text("utf-8"), re.M):
        assert item in scripts()[script].items


@pytest.mark.parametrize("wrong", ["test_house.py::test_nothing", "rankboost.py figure-99",
                                   "nothing.py figure-1", "section 3"])  # fmt: skip
def test_what_does_not_exist_is_refused(wrong):
    with pytest.raises(AssertionError):
        check_reference(wrong)
