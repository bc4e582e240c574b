"""No page scrolls sideways as a whole, on a desk or on a phone, whatever names are on it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import crucial
from crucial import inspection
from crucial.fusion import fusion_page, learn_fusion
from crucial.preferences import Comparisons, board_page, leaderboard, leaderboards

from .test_prefer_browser import Program

pytestmark = pytest.mark.browser

WORD = "incomprehensibilities" * 3
LONG = f"a name of many words that no column has room for, and one word {WORD}"
PAGES = ("report", "leaderboard", "fusion", "scorecard", "prefer")

#: Parts of a page that are outside its window, and not inside something that scrolls.
OUTSIDE = """() => {
  const inside = (node) => {
    for (let at = node.parentElement; at; at = at.parentElement)
      if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(at).overflowX)) return true;
    return false;
  };
  const wide = document.documentElement.clientWidth + 0.5;
  return [...document.querySelectorAll('body *')]
    .filter((node) => !node.closest('svg, .skip') && !inside(node))
    .filter((node) => { const box = node.getBoundingClientRect(); return box.right > wide; })
    .map((node) => node.outerHTML.slice(0, 100));
}"""


def save_report(path: Path) -> None:
    random = np.random.default_rng(0)
    frame = pandas.DataFrame(
        random.normal(size=(400, 6)), columns=[f"{LONG} {j}" for j in range(6)]
    )
    y = (frame.sum(axis=1) > 1).astype(int)
    qid = np.repeat([f"{LONG} {k}" for k in range(10)], 40)
    ranker = crucial.RankBoost(30).fit(frame, y, qid=qid)
    item = [f"{LONG} {row}" for row in range(400)]
    inspection.report(ranker, frame, y, qid=qid, item=item, title=LONG).save(path)


def save_leaderboard(path: Path) -> None:
    random = np.random.default_rng(0)
    a = random.integers(0, 9, 900)
    sides = [[f"{LONG} {k}" for k in side] for side in (a, (a + random.integers(1, 9, 900)) % 9)]
    data = Comparisons.from_columns(
        *sides,
        judge=[f"{LONG} {k % 3}" for k in range(900)],
        category=[f"{LONG} {k % 4}" for k in range(900)],
    )
    board_page(leaderboard(data), data, leaderboards(data), title=LONG).save(path)


def save_fusion(path: Path) -> None:
    judged = {f"{LONG} {k}": {f"{LONG} a": 1, f"{LONG} b": 0} for k in range(30)}
    runs = {
        f"{LONG} {side}": {q: [f"{LONG} {one}" for one in order] for q in judged}
        for side, order in (("x", "abc"), ("y", "ba"), ("z", "cab"))
    }
    fusion_page(learn_fusion(runs, judged), runs, judged, title=LONG).save(path)


def save_scorecard(path: Path) -> None:
    random = np.random.default_rng(0)
    towns = [f"{LONG} {k}" for k in random.integers(0, 5, 500)]
    frame = pandas.DataFrame({LONG: random.normal(size=500), "town": towns})
    y = (frame[LONG] + random.normal(size=500) > 0).astype(int)
    ranker = crucial.RankBoost(20).fit(frame, y)
    inspection.scorecard(ranker, frame, y, title=LONG).save(path)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Return the file of each page, and the address of that of ``crucial prefer``."""
    folder = tmp_path_factory.mktemp("pages")
    found: dict[str, Any] = {name: folder / f"{name}.html" for name in PAGES[:-1]}
    for name, path in found.items():
        globals()[f"save_{name}"](path)
    items = folder / "items.csv"
    items.write_text("".join(f'"{LONG} {k}",{k}\n' for k in ("name", *range(6))))
    program = Program(items, "--title", LONG)
    yield {**found, "prefer": program.url}
    program.end()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", PAGES)
def test_no_page_scrolls_sideways(open_page, places, name: str, width: int, scheme: str) -> None:
    page = open_page(places[name], width, scheme)
    if name == "prefer":
        page.keyboard.press("ArrowLeft")
        page.wait_for_selector("#ranking li .name")
        cut = "names => names.filter((one) => one.scrollHeight > one.clientHeight + 1).length"
        assert page.eval_on_selector_all("#ranking li .name", cut) == 0
    for closed in page.locator("details:not([open]) > summary").all():
        if closed.is_visible():
            closed.click()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(OUTSIDE) == []
