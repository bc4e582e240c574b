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
                for reference in named:
                    check_reference(reference)


@pytest.mark.parametrize("page", PAGES, ids=[one.stem for one in PAGES])
def test_every_embedded_study_exists(page):
    for script, item in re.findall(r"^```\{study\} (\w+) ([\w-]+)$", page.read_text("utf-8"), re.M):
        assert item in scripts()[script].items


@pytest.mark.parametrize("wrong", ["test_house.py::test_nothing", "rankboost.py figure-99",
                                   "nothing.py figure-1", "section 3"])  # fmt: skip
def test_what_does_not_exist_is_refused(wrong):
    with pytest.raises(AssertionError):
        check_reference(wrong)
