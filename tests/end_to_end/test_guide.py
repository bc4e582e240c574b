"""What the guide shows works as it stands: its Python and its commands, page by page."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from crucial.cli.app import VERBS
from crucial.rankers.registry import RANKERS

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted((DOCS / "guide").glob("*.md"))
EXPORTS = sorted((DOCS / "export").glob("*.md"))
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


START = """
from crucial.cli.app import app

def command(*words):
    try:
        app(words, prog_name="crucial")
    except SystemExit as end:
        if end.code:
            raise
"""


def steps(page: Path) -> list[str]:
    """A page as one program: its Python, and its commands in the same process."""
    program = [START]
    for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            program.append(text)
            continue
        for line in text.replace("\\\n", " ").splitlines():
            assert line.startswith("crucial "), f"{page.name}: not a command of ours: {line}"
            program.append(f"command(*{line.split()[1:]!r})")
    return program


def test_the_pages_on_exports(tmp_path: Path, run_program):
    program = [line for page in EXPORTS for line in steps(page)]
    assert len(program) > 30
    assert len(PAGES) >= 5
    run(program, tmp_path, run_program)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(page: Path, tmp_path: Path, run_program):
    program = steps(page)
    assert len(program) > 1
    run(program, tmp_path, run_program)


def run(program: list[str], folder: Path, run_program) -> None:
    path = folder / "page.py"
    path.write_text("\n".join(program), encoding="utf-8")
    done = run_program(path, folder)
    assert done.code == 0, done.err


def test_every_public_name_is_in_the_reference(monkeypatch):
    """docs/conf.py makes it from the stubs of the packages."""
    monkeypatch.syspath_prepend(DOCS)
    listed = set(re.findall(r"^   (\w+)$", import_module("conf").reference(), re.M))
    for package in ("crucial", *(f"crucial.{name}" for name in ("rankers", "io", "lab", "fusion"))):
        names = {*import_module(package).__all__} - {"__version__"}
        values = {name: getattr(import_module(package), name) for name in names}
        assert {name for name, value in values.items() if callable(value)} <= listed


def test_every_verb_and_every_ranker_is_in_its_table():
    verbs = (DOCS / "verbs.md").read_text(encoding="utf-8")
    assert [name for name in VERBS if f"`{name}`" not in verbs] == []
    rankers = (DOCS / "rankers.md").read_text(encoding="utf-8")
    assert [name for name in RANKERS if name not in rankers] == []
