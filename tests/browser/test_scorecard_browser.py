"""The page of a scorecard, and the report without queries, in a real browser."""

from pathlib import Path

import numpy as np
import pytest

from crucial import inspection
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Stump

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
