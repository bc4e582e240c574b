"""The page of a scorecard, and the report without queries, in a real browser."""

from pathlib import Path

import numpy as np
import pytest

from crucial import inspection
from crucial.fusion import fusion_page, learn_fusion
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Stump
from crucial.preferences import Comparisons, board_page, leaderboard, leaderboards

pytestmark = pytest.mark.browser

HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def problem() -> tuple[AdditiveRanker, np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(700, 8)).round(2)
    X[random.random(X.shape) < 0.05] = np.nan
    y = (np.nansum(X[:, :6], axis=1) + 2 * random.normal(size=700) > 1).astype(int)
    cuts = [(f, t) for f in range(8) for t in (-1.0, -0.3, 0.4, 1.1)]
    names = [HOSTILE, "a name that is much longer than any column of the card " * 2, *"cdefgh"]
    rankers = [Stump(f, t, 0) for f, t in cuts]
    return AdditiveRanker(8, rankers, random.random(len(cuts)), names), X, y


@pytest.mark.parametrize("width", [1280, 390])
def test_the_card_fits_and_prints_on_one_page(open_page, problem, tmp_path: Path, width) -> None:
    card = inspection.scorecard(*problem, title="Card")
    card.save(tmp_path / "card.html")
    page = open_page(tmp_path / "card.html", width)
    assert page.inner_text("h1") == "Card"
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.locator(".features table").count() == 8
    points = page.locator(".features td.points").all_inner_texts()
    assert points == [str(part.points) for one in card.features for part in one.bins]
    if width > 1000:
        printed = page.pdf(prefer_css_page_size=True)
        assert printed.count(b"/Type /Page\n") == 1


def test_the_slider_reaches_the_last_row(open_page, problem, tmp_path: Path) -> None:
    made = inspection.report(*problem)
    made.save(tmp_path / "report.html")
    page = open_page(tmp_path / "report.html")
    assert page.locator("#curves figure").count() == 5
    page.get_by_role("slider", name="Cut-off").focus()
    page.keyboard.press("End")
    assert page.inner_text(".cutoff output") == "700"
    said = page.inner_text("#first-rows")
    assert "The first 700 rows of 700" in said
    assert "100.0% of all" in said
    assert f"AUC {made.data['curves']['roc']['auc']:.4f}" in page.inner_text("#curves")


# -- the page of a fusion in a real browser: it draws, fits, and its lists open -------------------


HOSTILE_FUSION = '</script><img src=x onerror="window.pwned=1">'


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    judged = {f"query {q} {HOSTILE}": {"a": 1, "b": q % 2} for q in range(8)}
    runs = {
        "bm25": {q: ["a", "c", "b"] if k % 3 else ["c", "a"] for k, q in enumerate(judged)},
        "a dense run with a long name": {q: ["c", "b", "a"] for q in judged},
        HOSTILE_FUSION: {q: ["b", "a", HOSTILE_FUSION] for q in judged},
    }
    path = tmp_path_factory.mktemp("page") / "fusion.html"
    fusion_page(learn_fusion(runs, judged), runs, judged, title="Three runs").save(path)
    return path


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_it_draws_everything_and_fits(open_page, file: Path, width: int, scheme: str) -> None:
    page = open_page(file, width, scheme)
    assert page.inner_text("h1") == "Three runs"
    targets = page.eval_on_selector_all("nav a", "links => links.map(a => a.hash.slice(1))")
    assert targets == ["summary", "systems", "runs", "top", "queries", "notes"]
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.locator("#runs .line").count() >= 3
    assert page.locator("#systems tbody tr").count() == 5
    first = page.locator("details.fused").first
    assert not first.locator("table").is_visible()
    first.locator("summary").click()
    assert first.locator("table").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate("window.pwned") is None


# -- the page of a leaderboard in a real browser: tabs, search, cells, picture, phone -------------


HOSTILE_BOARD = '</script><script>window.pwned=1</script><img src=x onerror="window.pwned=1">\u202e'


@pytest.fixture(scope="module")
def board_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    names = [HOSTILE_BOARD, *(f"model with a long name, number {k}" for k in range(130)), "once"]
    a = rng.integers(0, 131, 4000)
    b = (a + rng.integers(1, 131, 4000)) % 131
    data = Comparisons.from_columns(
        [*(names[k] for k in np.minimum(a, b)), "once"],
        [*(names[k] for k in np.maximum(a, b)), HOSTILE_BOARD],
        judge=[f"<i>{k % 11}</i>" for k in range(4001)],
        category=[("code", "<b>prose</b>")[k % 2] for k in range(4001)],
        first=[k % 2 == 0 for k in range(4001)],
    )
    path = tmp_path_factory.mktemp("board") / "board.html"
    board_page(leaderboard(data), data, leaderboards(data), title=HOSTILE_BOARD).save(path)
    return path


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (360, "light")])
def test_the_page_draws(open_page, board_file: Path, width: int, scheme: str) -> None:
    page = open_page(board_file, width, scheme)
    assert page.locator("table.board tbody tr").count() == 100
    assert page.evaluate("window.pwned") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(17, 21, 27)"
    assert dark == (scheme == "dark")
    page.locator("#board button.more").click()
    assert page.locator("table.board tbody tr").count() == 132
    assert page.locator("table.judges tbody tr").count() == 8
    page.get_by_role("button", name="Show all 11 judges").click()
    assert page.locator("table.judges tbody tr").count() == 11
    assert page.locator("#judges button").count() == 0
    assert page.locator("tr.provisional").count() >= 1


def test_controls_do_what_they_say(open_page, board_file: Path, tmp_path: Path) -> None:
    page = open_page(board_file)
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
