"""What the documentation shows works as it stands: the cells of every page, page by page."""

import os
import re
import sys
from importlib import import_module
from pathlib import Path
from unittest.mock import patch

import click
import pytest

from crucial.cli.app import VERBS, app
from crucial.rankers.registry import RANKERS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "{code-cell}" in page.read_text("utf-8"))

sys.path.insert(0, str(ROOT / "scripts"))
guides = import_module("guides")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_page(page: Path, tmp_path: Path, run_program):
    path = tmp_path / "page.py"
    path.write_text(guides.program(page), encoding="utf-8")
    done = run_program(path, tmp_path, strict=page.stem == "quickstart")
    assert done.code == 0, done.err
    for name, guide in guides.PAGES.items():
        if page == DOCS / "guide" / f"{guide}.md":
            assert (tmp_path / f"{name}.html").exists()


def test_all_code_is_run():
    """Python and commands that do not run have another language: text, console."""
    pages = [*(DOCS / "guide").glob("*.md"), *(DOCS / "export").glob("*.md")]
    shown = [page.name for page in pages if re.search(r"(?m)^```(python|sh)$", page.read_text())]
    assert shown == []
    assert len(PAGES) > 10


@pytest.fixture
def conf(monkeypatch):
    """docs/conf.py, whose settings of the environment end with the test."""
    monkeypatch.syspath_prepend(DOCS)
    with patch.dict(os.environ):
        yield import_module("conf")


def test_every_public_name_is_in_the_reference(conf):
    """docs/conf.py makes it from the stubs of the packages."""
    listed = set(re.findall(r"^   (\w+)$", conf.reference(), re.M))
    for package in ("crucial", *(f"crucial.{name}" for name in ("rankers", "io", "lab", "fusion"))):
        names = {*import_module(package).__all__} - {"__version__"}
        values = {name: getattr(import_module(package), name) for name in names}
        assert {name for name, value in values.items() if callable(value)} <= listed


def test_every_option_is_in_the_reference(conf):
    """docs/conf.py makes it from click."""
    text = conf.command_line()
    assert [name for name in VERBS if f"## {name}\n" not in text] == []
    context = click.Context(app)
    for name in VERBS:
        own = text.split(f"## {name}\n")[1].split("\n## ")[0]
        options = [p for p in app.get_command(context, name).params if isinstance(p, click.Option)]
        assert [one.opts[-1] for one in options if one.opts[-1] not in own] == []


def test_options_in_the_text_exist():
    """Options of `crucial` in prose, and of commands that are shown and not run."""
    known: dict[str, list[click.Parameter]] = {"--help": []}
    for name in VERBS:
        for one in app.get_command(click.Context(app), name).params:
            for flag in [*one.opts, *one.secondary_opts]:
                known.setdefault(flag, []).append(one)
    pages = [ROOT / "README.md", *(page for page in DOCS.glob("*.md") if page.stem != "studies")]
    pages += [
        page for name in ("guide", "export", "migrate") for page in (DOCS / name).glob("*.md")
    ]
    for page in pages:
        text = page.read_text("utf-8").replace("\\\n", " ")
        shown = re.findall(r"`((?:crucial |--)[^`\n]*)`", text)
        shown += re.findall(r"(?m)^(?:\$ |!)?(crucial [^#\n]*)", text)
        for code in shown:
            for flag, value in re.findall(r"(?<!\S)(--[\w-]+)(?:[= ]([^\s-]\S*))?", code):
                assert flag in known, f"{page.name}: {code}"
                choices = [one.type for one in known[flag] if isinstance(one.type, click.Choice)]
                if value and choices and len(choices) == len(known[flag]):
                    assert any(value in one.choices for one in choices), f"{page.name}: {code}"


def test_every_ranker_is_in_its_table():
    rankers = (DOCS / "all-rankers.md").read_text(encoding="utf-8")
    assert [name for name in RANKERS if name not in rankers] == []
