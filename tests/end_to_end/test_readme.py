"""README.md: its blocks of code run one after the other, and print the blocks of text after them.

A block of text may end in ``...``: it shows the first lines.
``python tests/end_to_end/test_readme.py`` writes what the code prints into the file.
"""

import contextlib
import io
import os
import re
import tempfile
import tomllib
import warnings
from pathlib import Path
from unittest.mock import patch

import pytest
from click.testing import CliRunner

from crucial.cli.app import app

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
_BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.S | re.M)


def printed(kind: str, code: str, names: dict[str, object]) -> str:
    """Run one block of the README in this folder; return what it prints. Warnings are errors."""
    if kind == "python":
        screen = io.StringIO()
        with contextlib.redirect_stdout(screen), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", DeprecationWarning)  # (of packages, hidden by Python)
            exec(compile(code, "README.md", "exec"), names)
        return screen.getvalue()
    outputs = []
    for line in code.replace("\\\n", " ").splitlines():
        words = line.partition("#")[0].split()
        if words[:1] == ["crucial"]:
            done = CliRunner().invoke(app, words[1:], prog_name="crucial")
            assert done.exit_code == 0, f"{line}\n{done.output}"
            outputs.append(done.stdout)
    return "".join(outputs)


def as_shown(output: str, shown: str) -> str:
    """Return as much of the output as the block shows."""
    lines = [line.rstrip() for line in output.strip("\n").splitlines()]
    if shown.endswith("...\n"):
        lines = [*lines[: shown.count("\n") - 1], "..."]
    return "\n".join([*lines, ""])


def outputs() -> list[tuple[str, str]]:
    """Return the text that each block of code shows, and that it printed."""
    names: dict[str, object] = {}
    before, found = Path.cwd(), []
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, COLUMNS="80"):
        os.chdir(folder)
        try:
            for kind, code, shown in _BLOCK.findall(TEXT):
                output = printed(kind, code, names)
                if shown:
                    found.append((shown, as_shown(output, shown)))
        finally:
            os.chdir(before)
    return found


def test_the_code_prints_what_is_shown() -> None:
    found = outputs()
    assert len(found) >= 3
    for shown, output in found:
        assert shown == output


@pytest.mark.parametrize("link", sorted({*re.findall(r"\]\((?!https?:)([^)#]+)", TEXT)}))
def test_links_lead_somewhere(link: str) -> None:
    assert (ROOT / link).exists()


def test_badges_are_true() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    version = "Programming Language :: Python :: 3."
    minors = sorted(int(name.removeprefix(version)) for name in project["classifiers"]
                    if name.startswith(version))  # fmt: skip
    badges = re.findall(r"img\.shields\.io/badge/([\w%.-]+)", TEXT)
    assert badges == [
        f"python-3.{minors[0]}%E2%80%933.{minors[-1]}-blue",
        f"license-{project['license'].replace('-', '--')}-blue",
        "types-checked%20by%20mypy-blue",
    ]


if __name__ == "__main__":
    for shown, output in outputs():
        TEXT = TEXT.replace(f"```text\n{shown}```\n", f"```text\n{output}```\n")
    README.write_text(TEXT, encoding="utf-8")
