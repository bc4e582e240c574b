"""Make the pictures of the documentation, docs/pictures/*.png (``make pictures``).

``crucial demo`` and the guides write the pages, which are opened in the Chromium that
CRUCIAL_BROWSER names.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import guides
from click.testing import CliRunner
from PIL import Image
from playwright.sync_api import sync_playwright

from crucial.cli.app import app

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
WIDTH, SCALE, COLOURS = 1000, 1.5, 64

#: Commands that make the pages, in a folder of their own.
PAGES = {
    "report": "demo --out .",
    "leaderboard": "pairs battles.csv --scale elo --by digit --report leaderboard.html",
    "learned": "fuse left.run right.run grid.run --qrels judged.qrels -o fusion.json",
    "fusion": "report fusion.json left.run right.run grid.run --qrels test.qrels -o fusion.html",
}

#: Heights of the pictures of the pages that the guides write.
GUIDES = {"report": 860, "fusion": 900, "leaderboard": 700, "scorecard": 1180}

#: Answers to compare on the page of ``crucial prefer``.
QUESTION = "What is the difference between a linter and a formatter?"
ANSWERS = """model\tanswer
alder-70b\tA **formatter** rewrites the layout of your code, a **linter** looks for likely mistakes.
birch-8b\tA linter finds errors. A formatter makes the code nice.
cedar-mini\tFormatting is how code looks. Linting is what code does wrong.
dogwood-2\tRun the formatter first, then `lint --fix`. Formatters never change what code does.
elm-large\tTwo tools. A formatter prints code in one agreed layout: \
indentation, quotes, line length. A linter changes nothing; it reports what is often a mistake.
hazel-32b\tFormatters care about style, linters about bugs, and both make reviews shorter.
"""


def make_pages(folder: Path) -> None:
    """Write the pages that the documentation shows."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        for command in PAGES.values():
            done = CliRunner().invoke(app, command.split(), catch_exceptions=False)
            if done.exit_code:
                raise SystemExit(f"crucial {command}\n{done.output}")
    finally:
        os.chdir(before)


def save(part: Any, name: str, height: int | None = None) -> None:
    """Save the picture of a part of a page, cut at a height, with few colours."""
    image = Image.open(io.BytesIO(part.screenshot())).convert("RGB")
    if height:
        image = image.crop((0, 0, image.width, min(image.height, int(height * SCALE))))
    path = PICTURES / f"{name}.png"
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.relative_to(PICTURES.parents[1])}  {path.stat().st_size // 1024} kB")


@contextmanager
def preferring(folder: Path) -> Iterator[str]:
    """Run ``crucial prefer`` on the answers; yield the address of its page."""
    (folder / "answers.tsv").write_text(ANSWERS, "utf-8")
    command = [sys.executable, "-m", "crucial", "prefer", "answers.tsv", "--no-open", "--seed", "3"]
    with subprocess.Popen(
        [*command, "--title", QUESTION], cwd=folder, stdout=subprocess.PIPE, text=True
    ) as server:
        found = re.search(r"http://\S+", server.stdout.readline() if server.stdout else "")
        try:
            yield found[0] if found else ""
        finally:
            server.terminate()


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as path, sync_playwright() as client:
        folder = Path(path)
        make_pages(folder)
        browser = client.chromium.launch(executable_path=os.environ["CRUCIAL_BROWSER"])
        page = browser.new_page(
            viewport={"width": WIDTH, "height": 8000}, device_scale_factor=SCALE
        )

        def opened(name: str) -> Any:
            page.goto((folder / f"{name}.html").as_uri())
            page.wait_for_selector("[data-ready=yes]", state="attached")
            return page

        guides.make_pages(folder / "guides")
        for name, height in GUIDES.items():
            page.goto((folder / "guides" / f"{name}.html").as_uri())
            save(page.locator("body"), f"{name}-page", height)
        with preferring(folder) as address:
            page.goto(address)
            for key in ("ArrowLeft", "ArrowRight"):
                page.wait_for_selector("[data-ready=yes]", state="attached")
                page.keyboard.press(key)
                page.wait_for_timeout(700)
            save(page.locator("body"), "prefer", 760)

        queries = opened("report").locator("section#queries")
        queries.get_by_role("button", name="8 (image 769)").click()
        queries.locator("input[name=A]").nth(1).check()
        queries.locator("input[name=B]").nth(2).check()
        save(queries, "why", 640)
        save(page.locator("section#features"), "shapes", 372)
        save(opened("leaderboard").locator("section").first, "leaderboard")
        opened("fusion")
        save(page.locator("body"), "fusion", 600)
        browser.close()


if __name__ == "__main__":
    main()
