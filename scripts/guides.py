"""Run the cells of a page of the documentation; make the pages that the guides write.

    python scripts/guides.py docs/_live/pages    # report, fusion, leaderboard, scorecard

The site links these pages, `make pictures` takes their pictures, and the tests run the cells of
every page of the documentation.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"

#: Which guide writes which page.
PAGES = {"report": "search", "fusion": "fusion", "leaderboard": "pairs", "scorecard": "scorecard"}

_CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(?::[^\n]*\n)*(.*?)^```$", re.DOTALL | re.MULTILINE)

_START = """
import subprocess

import matplotlib

matplotlib.use("agg")


def command(line, words):
    if words[0] != "crucial":
        subprocess.run(line, shell=True, check=True)
        return
    from crucial.cli.app import app

    try:
        app(words[1:], prog_name="crucial")
    except SystemExit as end:
        if end.code:
            raise
"""


def program(page: Path) -> str:
    """Return the cells of a page as one program; ``!`` lines are run in the same process.

    Examples
    --------
    >>> path = Path(tempfile.mkdtemp()) / "page.md"
    >>> _ = path.write_text("Text\\n```{code-cell}\\n:tags: [hide-input]\\n!crucial list\\n```\\n")
    >>> program(path).splitlines()[-1]
    "command('crucial list', ['crucial', 'list'])"
    """
    lines = [_START]
    for cell in _CELL.findall(page.read_text("utf-8")):
        for line in re.sub(r"(?m)^(!.*)\\\n\s*", r"\1", cell).splitlines():
            if line.startswith("!"):
                line = f"command({line[1:]!r}, {shlex.split(line[1:])!r})"
            lines.append(line)
    return "\n".join(lines)


def make_pages(target: Path) -> None:
    """Run the guides that write pages, each in a fresh folder, and copy the pages."""
    target.mkdir(parents=True, exist_ok=True)
    for name, guide in PAGES.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "guide.py"
            path.write_text(program(DOCS / "guide" / f"{guide}.md"), "utf-8")
            done = subprocess.run([sys.executable, path], cwd=folder, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
            if done.returncode:
                raise SystemExit(f"docs/guide/{guide}.md:\n{done.stdout}")
            shutil.copy(Path(folder) / f"{name}.html", target)


if __name__ == "__main__":
    make_pages(Path(sys.argv[1]))
