"""The page of a leaderboard in a real browser: tabs, search, cells, picture, phone."""

from pathlib import Path

import numpy as np
import pytest

from crucial.preferences import Comparisons, board_page, leaderboard, leaderboards

pytestmark = pytest.mark.browser

HOSTILE = '</script><script>window.pwned=1</script><img src=x onerror="window.pwned=1">\u202e'


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    names = [HOSTILE, *(f"model with a long name, number {k}" for k in range(130)), "once"]
    a = rng.integers(0, 131, 4000)
    b = (a + rng.integers(1, 131, 4000)) % 131
    data = Comparisons.from_columns(
        [*(names[k] for k in np.minimum(a, b)), "once"],
        [*(names[k] for k in np.maximum(a, b)), HOSTILE],
        judge=[f"<i>{k % 3}</i>" for k in range(4001)],
        category=[("code", "<b>prose</b>")[k % 2] for k in range(4001)],
        first=[k % 2 == 0 for k in range(4001)],
    )
    path = tmp_path_factory.mktemp("board") / "board.html"
    board_page(leaderboard(data), data, leaderboards(data), title=HOSTILE).save(path)
    return path


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (360, "light")])
def test_the_page_draws(open_page, file: Path, width: int, scheme: str) -> None:
    page = open_page(file, width, scheme)
    assert page.locator("table.board tbody tr").count() == 100
    assert page.evaluate("window.pwned") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(17, 21, 27)"
    assert dark == (scheme == "dark")
    page.locator("button.more").click()
    assert page.locator("table.board tbody tr").count() == 132
    assert page.locator("tr.provisional").count() >= 1


def test_controls_do_what_they_say(open_page, file: Path, tmp_path: Path) -> None:
    page = open_page(file)
    page.fill("input[type=search]", "number 7")
    assert page.locator("table.board tbody tr").count() == 11
    page.get_by_role("tab", name="<b>prose</b>").click()
    assert page.locator("table.board tbody tr").count() == 100
    assert page.locator("#content b", has_text="prose").count() == 0
    page.locator("rect[data-cell='0 1']").click()
    assert "against" in page.locator(".readout").inner_text()
    with page.expect_download() as saved:
        page.click("#picture")
    saved.value.save_as(tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
