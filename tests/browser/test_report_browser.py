"""The report in a real browser: it draws, its controls do what they say, text stays text."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from crucial import inspection
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Stump
from crucial.pages import Page
from crucial.rankers.rankboost import RankBoost

pytestmark = pytest.mark.browser

NAMES = tuple(f"signal {j}" for j in range(14))
HOSTILE = '</script><script>window.pwned=1</script><img src=x onerror="window.pwned=1">\u202e'


def problem() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(600, len(NAMES))).round(2)
    y = np.digitize(X[:, :12].sum(axis=1) + rng.normal(size=600), [1.0, 4.0])
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y, np.repeat([f"query {q}" for q in range(20)], 30)


@pytest.fixture(scope="module")
def made() -> Page:
    import pandas

    X, y, qid = problem()
    frame = pandas.DataFrame(X, columns=NAMES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker = RankBoost(120, record_risks=True, early_stopping_rounds=60).fit(frame, y, qid=qid)
    pictures = {f"item {row}": np.full((8, 8), row % 256, np.uint8) for row in range(len(y))}
    return inspection.report(
        ranker, frame, y, qid=qid, item=[f"item {row}" for row in range(len(y))],
        metrics=["ndcg@10", "map"], title="A ranker", pictures=pictures,
    )  # fmt: skip


@pytest.fixture(scope="module")
def file(made: Page, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    made.save(path)
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_draws_everything_and_fits(open_page, file: Path, width: int, scheme: str) -> None:
    page = open_page(file, width, scheme)
    assert page.inner_text("h1") == "A ranker"
    targets = page.eval_on_selector_all("nav a", "links => links.map(a => a.hash.slice(1))")
    assert len(targets) >= 8
    for target in targets:
        assert page.locator(f"section#{target}").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    for chart in page.locator(".chart svg").all():
        chart.scroll_into_view_if_needed()
        assert chart.bounding_box()["width"] > 150
        assert chart.get_attribute("aria-label")
    assert page.locator("#learning .line").count() >= 4
    assert page.locator("#queries img").first.evaluate("image => image.naturalWidth") == 8


def test_the_cutoff_moves_values_and_the_line(open_page, file: Path, made: Page) -> None:
    page = open_page(file)
    slider = page.get_by_role("slider", name="Cut-off")
    assert page.inner_text(".cutoff output") == "10"
    slider.focus()
    for _ in range(6):
        page.keyboard.press("ArrowLeft")
    assert page.inner_text(".cutoff output") == "4"
    assert slider.get_attribute("aria-valuetext") == "4"
    at = made.data["cutoffs"]["ks"].index(4)
    for curve in made.data["cutoffs"]["curves"]:
        assert f"{curve['name']}@4 {curve['values'][at]:.4f}" in page.inner_text("#at-cutoff")
    assert page.locator("tr.cut").get_attribute("data-place") == "5"
    assert page.locator("tr.below").first.get_attribute("data-place") == "5"
    page.locator("#queries .chips button").nth(3).click()  # another list keeps the cut-off
    assert page.locator("tr.cut").get_attribute("data-place") == "5"


def test_two_items_are_compared(open_page, file: Path, made: Page) -> None:
    page = open_page(file)
    lists = made.data["lists"]
    entries = lists["worst"] + lists["best"]
    for number in (0, len(entries) - 1):
        entry = entries[number]
        page.locator("#queries .chips button").nth(number).click()
        pressed = page.locator("#queries .chips button[aria-pressed=true]")
        assert pressed.locator("bdi").inner_text() == entry["qid"]
        shown = page.locator(".list tbody td.id").all_inner_texts()
        assert shown == [item["id"] for item in entry["items"]]
        a, b = entry["items"][6], entry["items"][2]
        page.get_by_label(f"compare {a['id']} as A", exact=True).check()
        page.get_by_label(f"compare {b['id']} as B", exact=True).check()
        said = page.inner_text("#why")
        assert f"A {a['id']} (place 7" in said
        assert f"stands below B {b['id']} (place 3" in said
        parts = {
            name: levels[a["c"][f]] - levels[b["c"][f]]
            for f, (name, levels) in enumerate(zip(lists["features"], lists["levels"]))
        }
        first = max(parts, key=lambda name: abs(parts[name]))
        assert page.locator(".reasons .name").first.inner_text() == first
        amounts = page.locator(".reasons .amount").all_inner_texts()
        numbers = [float(text.replace("\u2212", "-")) for text in amounts]
        assert numbers[-1] == pytest.approx(a["score"] - b["score"], rel=0.01)
        assert sum(numbers[:-1]) == pytest.approx(numbers[-1], abs=0.02)
        if a["label"] != b["label"]:
            right = b["label"] > a["label"]
            assert f"this order is {'right' if right else 'wrong'}" in said


def test_radios_work_from_the_keyboard(open_page, file: Path) -> None:
    page = open_page(file)
    page.locator("input[name=A]").first.focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("input[name=A]").nth(1).is_checked()
    assert "(place 2," in page.locator("#why p").first.inner_text()


def test_charts_are_read_by_pointer_and_keys(open_page, file: Path, made: Page) -> None:
    page = open_page(file)
    figure = page.locator("#features figure").first
    shape = made.data["shapes"]["features"][0]
    chart = figure.locator("svg")
    chart.scroll_into_view_if_needed()
    chart.focus()
    page.keyboard.press("Home")
    assert figure.locator(".readout").inner_text().startswith("missing: adds")
    page.keyboard.press("End")
    said = figure.locator(".readout").inner_text()
    last = shape["edges"][-1]
    assert said.startswith(f"above {last:.4g}".rstrip("0"))
    assert said.endswith("% of rows")
    curve = page.locator("#learning figure").first
    curve.locator(".chart").hover()
    assert "ndcg@10" in curve.locator(".readout").inner_text()
    bars = page.locator("#measures figure").nth(1)
    bars.locator(".chart").hover()
    assert "quer" in bars.locator(".readout").inner_text()


def test_features_are_found(open_page, file: Path, made: Page) -> None:
    page = open_page(file)
    total = len(made.data["shapes"]["features"])
    assert total > 9
    assert page.locator(".shapes figure").count() == 9
    page.click("#all-features")
    assert page.locator(".shapes figure").count() == total
    assert page.get_attribute("#all-features", "aria-pressed") == "true"
    name = made.data["shapes"]["features"][-1]["name"]
    page.get_by_label("Find a feature by name").fill(name.upper())
    shown = page.locator(".shapes figcaption bdi").all_inner_texts()
    assert name in shown
    assert all(name in one for one in shown)


def test_hostile_names_stay_text(open_page, tmp_path: Path) -> None:
    X, y, _ = problem()
    qid = np.array([f"{HOSTILE}{row // 30}" for row in range(len(y))])
    names = [f"{HOSTILE}{j}" for j in range(14)]
    model = AdditiveRanker(14, [Stump(j, 0.0, j % 2) for j in range(12)], [1.0] * 12, names)
    report = inspection.report(
        model, X, y, qid=qid, item=qid, title=HOSTILE, subtitle=HOSTILE, notes=[HOSTILE]
    )
    path = tmp_path / "hostile<b>.html"
    report.save(path)
    page = open_page(path)
    assert page.title() == HOSTILE
    assert page.evaluate("document.querySelector('h1').textContent") == HOSTILE
    assert page.evaluate("document.querySelector('.list td.id').textContent").startswith(HOSTILE)
    assert page.evaluate("document.querySelector('.shapes bdi').textContent").startswith(HOSTILE)
    assert (page.locator("img").count(), page.locator("script").count()) == (0, 2)
    assert page.evaluate("window.pwned") is None


def test_the_policy_refuses_what_is_not_the_pages_own(browser, file, refused_by_the_policy):
    page = browser.new_page()
    page.goto(file.as_uri())
    assert refused_by_the_policy(page) == ["connect-src", "img-src", "script-src-elem"]
    assert page.evaluate("window.pwned") is None
    page.close()


class Black:
    """A ranker nobody can look into."""

    def predict(self, X):
        return np.nan_to_num(np.asarray(X)[:, 1])


def test_pages_with_less_to_show(open_page, tmp_path: Path) -> None:
    X, y, qid = problem()
    model = AdditiveRanker(14, [Stump(1, 0.0, 0)], [1.0])
    flat = AdditiveRanker(14, [], [])
    reports = {
        "one list": inspection.report(model, X, y),
        "no gains": inspection.report(model, X, y - 1.0, qid=qid),
        "black box": inspection.report(Black(), X, y, qid=qid),
        "no rounds": inspection.report(flat, X, y, qid=qid),
        "one query": inspection.report(model, X[:4], y[:4], qid=qid[:4]),
    }
    for name, report in reports.items():
        path = tmp_path / f"{name}.html"
        report.save(path)
        page = open_page(path)
        assert page.locator("section").count() >= 8, name
        assert page.locator(".list tbody tr").count() >= 4, name
    assert "permutation" in open_page(tmp_path / "black box.html").inner_text("#features")


@pytest.mark.parametrize("interactions", [2, None])
@pytest.mark.parametrize("width", [1280, 390])
def test_trees(open_page, tmp_path: Path, interactions: int | None, width: int) -> None:
    X, y, qid = problem()
    ranker = RankBoost(20, weak="tree", interactions=interactions).fit(X, y, qid=qid)
    inspection.report(ranker, X, y, qid=qid).save(tmp_path / "r.html")
    page = open_page(tmp_path / "r.html", width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    if interactions == 2:
        chart = page.locator("#pairs .chart svg").first
        chart.scroll_into_view_if_needed()
        assert chart.locator("rect").count() > 3
        chart.focus()
        page.keyboard.press("ArrowRight")
        assert "adds" in page.locator("#pairs .readout").first.inner_text()
        assert chart.locator(".marked").count() == 1
    else:
        page.click("#trees summary")
        assert "adds" in page.locator("#trees pre").first.inner_text()

    def number(text: str) -> float:
        return float(text.replace("\u2212", "-"))

    for place in (0, 4):
        page.locator("input[name=A]").nth(place).check()
        amounts = page.locator("#why .amount").all_inner_texts()
        if len(amounts) > 1:
            assert sum(map(number, amounts[:-1])) == pytest.approx(number(amounts[-1]), abs=0.02)
