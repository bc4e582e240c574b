"""The page of a fusion in a real browser: it draws, fits, and its lists open."""

from pathlib import Path

import pytest

from crucial.fusion import fusion_page, learn_fusion

pytestmark = pytest.mark.browser

HOSTILE = '</script><img src=x onerror="window.pwned=1">'


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    judged = {f"query {q} {HOSTILE}": {"a": 1, "b": q % 2} for q in range(8)}
    runs = {
        "bm25": {q: ["a", "c", "b"] if k % 3 else ["c", "a"] for k, q in enumerate(judged)},
        "a dense run with a long name": {q: ["c", "b", "a"] for q in judged},
        HOSTILE: {q: ["b", "a", HOSTILE] for q in judged},
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
