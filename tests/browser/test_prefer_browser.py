"""The page where a person compares, in a real browser: clicks, keys, undo, kill and go on."""

from __future__ import annotations

import signal
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from crucial.data.formats.comparisons import read_comparisons

pytestmark = pytest.mark.browser

HOSTILE = '</script><script>window.pwned=1</script><img src=x onerror="window.pwned=1">\u202e'
Start = Callable[..., "Program"]


class Program:
    """``crucial prefer`` in a process of its own."""

    def __init__(self, items: Path, *more: str) -> None:
        command = [sys.executable, "-m", "crucial", "prefer", str(items), "--no-open", *more]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if line.startswith("Compare at "):
                self.url = line.split()[-1]
                return
        raise AssertionError("it did not start")

    def end(self, how: int = signal.SIGTERM) -> None:
        self.process.send_signal(how)
        self.process.communicate(timeout=60)


@pytest.fixture
def start() -> Iterator[Start]:
    running: list[Program] = []

    def begin(items: Path, *more: str) -> Program:
        running.append(Program(items, *more))
        return running[-1]

    yield begin
    for one in running:
        if one.process.poll() is None:
            one.end()


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open the page; at the end nothing it did not ask for must have gone wrong."""
    trouble: list[str] = []
    contexts = []

    def open_page(program: Program, width: int = 1280, scheme: str = "light") -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": 850}, color_scheme=scheme, accept_downloads=True,
            has_touch=width < 500,
        )  # fmt: skip
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: trouble.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on(
            "request",
            lambda request: (
                trouble.append(request.url) if not request.url.startswith(program.url) else None
            ),
        )
        page.goto(program.url)
        page.wait_for_selector("html[data-ready=yes]")
        return page

    open_page.trouble = trouble  # type: ignore[attr-defined]
    yield open_page
    for context in contexts:
        context.close()
    assert trouble == []


def items_file(tmp_path: Path, n: int = 8) -> Path:
    path = tmp_path / "items.csv"
    rows = "".join(f"item {k},text of {k},{k}.5\n" for k in range(n))
    path.write_text("name,text,price\n" + rows)
    return path


def number(page: Any) -> str:
    return page.get_attribute("html", "data-number")


def act(page: Any, action: Callable[[], None]) -> None:
    """Do something, and wait until the page has taken it."""
    before = number(page)
    action()
    page.wait_for_function("n => document.documentElement.dataset.number !== n", arg=before)


def pair(page: Any) -> tuple[str, str]:
    return page.inner_text("#left .name"), page.inner_text("#right .name")


def ranking(page: Any) -> list[str]:
    return page.locator("#ranking .name").all_inner_texts()


def test_clicks_and_keys(start: Start, visit: Any, tmp_path: Path) -> None:
    items = items_file(tmp_path)
    program = start(items)
    page = visit(program)
    assert "0 answers about 8 items" in page.inner_text("#progress")
    assert page.locator("#undo").is_disabled()
    assert page.title() == "items.csv"
    told = []
    for step in (
        lambda: page.click("#left"),
        lambda: page.keyboard.press("ArrowRight"),
        lambda: page.keyboard.press("ArrowLeft"),
        lambda: page.click("#right"),
    ):
        asked = pair(page)
        act(page, step)
        told.append(asked)
        assert pair(page) != asked
    act(page, lambda: page.click("#tie"))
    act(page, lambda: page.keyboard.press("t"))
    act(page, lambda: page.click("#pass"))
    act(page, lambda: page.keyboard.press("s"))
    assert "8 answers" in page.inner_text("#progress")
    assert "% of all pairs" in page.inner_text("#settled")
    with page.expect_download() as download:
        page.click("#export")
    target = tmp_path / "down.csv"
    download.value.save_as(target)
    table = read_comparisons(target)
    assert len(table) == 6
    assert table.tie.tolist() == [False] * 4 + [True] * 2
    winners = [table.items[k] for k in table.winner[:4]]
    assert winners == [told[0][0], told[1][1], told[2][0], told[3][1]]


def test_it_learns_and_settles(start: Start, visit: Any, tmp_path: Path) -> None:
    """Somebody who likes high numbers: the ranking turns that way, intervals shrink."""
    page = visit(start(items_file(tmp_path, 6)))

    def widths() -> float:
        return page.eval_on_selector_all(
            "#ranking .span",
            "bars => bars.reduce((sum, bar) => sum + parseFloat(bar.style.width), 0)",
        )

    first_open = page.locator("#ranking .rank").first.inner_text()
    assert "(1\u20136)" in first_open
    before = widths()
    for _ in range(15):
        left, right = (int(name.split()[1]) for name in pair(page))
        act(
            page, lambda key="ArrowLeft" if left > right else "ArrowRight": page.keyboard.press(key)
        )
    assert ranking(page) == [f"item {k}" for k in range(5, -1, -1)]
    assert widths() < 0.8 * before
    share = int(page.inner_text("#settled").split("About ")[1].split("%")[0])
    assert share > 80


def test_undo_shows_the_same_question_again(start: Start, visit: Any, tmp_path: Path) -> None:
    page = visit(start(items_file(tmp_path)))
    first = pair(page)
    before = page.inner_text("#ranking")
    act(page, lambda: page.keyboard.press("ArrowLeft"))
    second = pair(page)
    act(page, lambda: page.keyboard.press("ArrowLeft"))
    act(page, lambda: page.click("#undo"))
    assert pair(page) == second
    act(page, lambda: page.keyboard.press("u"))
    assert pair(page) == first
    assert page.inner_text("#ranking") == before
    assert page.locator("#undo").is_disabled()


def test_a_kill_and_going_on(start: Start, visit: Any, tmp_path: Path) -> None:
    items = items_file(tmp_path)
    program = start(items)
    page = visit(program)
    for key in ("ArrowLeft", "ArrowLeft", "ArrowRight", "t", "ArrowLeft"):
        act(page, lambda key=key: page.keyboard.press(key))
    asked, so_far = pair(page), page.inner_text("#ranking")
    program.end(signal.SIGKILL)
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("#trouble:not([hidden])")
    assert "start \u201ccrucial prefer\u201d again" in page.inner_text("#trouble")
    assert pair(page) == asked
    lost = [text for text in visit.trouble if "ERR_CONNECTION" in text]
    assert lost  # the browser says so, too
    visit.trouble[:] = [text for text in visit.trouble if text not in lost]
    # a last line cut short by the kill
    with open(tmp_path / "items.answers.jsonl", "ab") as file:
        file.write(b'{"n": 6, "left": "item')
    again = visit(start(items))
    assert "5 answers" in again.inner_text("#progress")
    assert pair(again) == asked
    assert again.inner_text("#ranking") == so_far
    act(again, lambda: again.keyboard.press("ArrowRight"))
    assert "6 answers" in again.inner_text("#progress")


def test_two_windows_do_not_answer_twice(start: Start, visit: Any, tmp_path: Path) -> None:
    program = start(items_file(tmp_path))
    one, other = visit(program), visit(program)
    act(one, lambda: one.keyboard.press("ArrowLeft"))
    act(other, lambda: other.keyboard.press("ArrowLeft"))  # to a question that is gone
    assert "meanwhile" in other.inner_text("#trouble")
    assert "1 answer about" in other.inner_text("#progress")
    assert pair(other) == pair(one)
    refused = [text for text in visit.trouble if "409" in text]
    assert len(refused) == 1
    visit.trouble[:] = []
    act(other, lambda: other.keyboard.press("ArrowLeft"))
    assert other.locator("#trouble").is_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_it_fits(start: Start, visit: Any, tmp_path: Path, width: int, scheme: str) -> None:
    path = tmp_path / "long.csv"
    word = "incomprehensibilities" * 3
    path.write_text(
        "name,text,a,b,c\n"
        + "".join(f"{k} {word},{'many words ' * 60},1,2,{word}\n" for k in "xyz")
    )
    page = visit(start(path), width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    for part in ("#left", "#right", "#tie", "#pass", "#undo"):
        box = page.locator(part).bounding_box()
        assert box["height"] >= 40, part
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    if width < 500:
        # all that is needed to answer is on the screen without scrolling
        assert page.locator("#tie").bounding_box()["y"] < 850
        assert page.locator("#left").bounding_box()["y"] < 425
        act(page, lambda: page.tap("#left"))
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    bright = sum(int(one) for one in colour[4:-1].split(",")) / 3
    assert bright > 200 if scheme == "light" else bright < 60
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != colour


def png(grey: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4)

    rows = (b"\0" + bytes([grey]) * 6) * 4
    head = (6).to_bytes(4) + (4).to_bytes(4) + b"\x08\0\0\0\0"
    start = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head)
    return start + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def test_pictures(start: Start, visit: Any, tmp_path: Path) -> None:
    for k in range(3):
        (tmp_path / f"{k}.png").write_bytes(png(80 * k))
    (tmp_path / "v.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script/></svg>'
    )
    path = tmp_path / "items.csv"
    path.write_text("name,image\na,0.png\nb,1.png\nc,2.png\nd,v.svg\n")
    page = visit(start(path))
    seen = set()
    for _ in range(6):
        for side in ("#left", "#right"):
            image = page.locator(f"{side} img")
            image.evaluate("image => image.decode()")
            assert image.evaluate("image => image.naturalWidth") in (6, 9)
            seen.add(image.get_attribute("alt"))
        act(page, lambda: page.keyboard.press("ArrowLeft"))
    assert seen == {"a", "b", "c", "d"}


def test_hostile_names_stay_text(start: Start, visit: Any, tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    quoted = HOSTILE.replace('"', '""')
    rows = "".join(f'"{quoted}{k}","{quoted}","{quoted}"\n' for k in range(3))
    path.write_text(f'name,text,"{quoted}"\n{rows}')
    page = visit(start(path, "--title", HOSTILE))
    for _ in range(3):
        assert page.evaluate("document.querySelector('h1').textContent") == HOSTILE
        assert page.evaluate("document.querySelector('#left .name').textContent").startswith(
            HOSTILE
        )
        assert page.evaluate("document.querySelector('#left .text').textContent") == HOSTILE
        act(page, lambda: page.click("#left"))
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 1
    assert page.evaluate("window.pwned") is None


def test_the_policy_and_other_pages(browser: Any, start: Start, tmp_path: Path) -> None:
    program = start(items_file(tmp_path))
    page = browser.new_page()
    page.goto(program.url)
    page.wait_for_selector("html[data-ready=yes]")
    refused = page.evaluate(
        """() => new Promise((done) => {
          const seen = [];
          document.addEventListener('securitypolicyviolation', (event) => {
            seen.push(event.effectiveDirective);
            if (seen.length === 3) done(seen.sort());
          });
          const script = document.createElement('script');
          script.textContent = 'window.pwned = 1';
          document.body.append(script);
          const image = new Image();
          image.src = 'http://127.0.0.1:9/x.png';
          fetch('http://127.0.0.1:9/').catch(() => {});
        })"""
    )
    assert refused == ["connect-src", "img-src", "script-src-elem"]
    # Another site (here: another name for this machine) that knows the whole address.
    evil = browser.new_page()
    evil.goto("data:text/html,<p>evil")
    outcome = evil.evaluate(
        """async (url) => {
          const out = [];
          for (const options of [{}, {mode: 'no-cors'}]) {
            try {
              const reply = await fetch(url + 'state', options);
              out.push(reply.type + ' ' + (await reply.text()).length);
            } catch { out.push('refused'); }
          }
          try {
            await fetch(url + 'answer', {method: 'POST', mode: 'no-cors',
              body: JSON.stringify({number: 0, answer: 'left'})});
          } catch {}
          const frame = document.createElement('iframe');
          frame.src = url;
          document.body.append(frame);
          await new Promise((done) => { frame.onload = done; setTimeout(done, 1500); });
          return out;
        }""",
        program.url,
    )
    assert outcome[0] == "refused"
    assert outcome[1] in ("refused", "opaque 0")
    again = browser.new_page()
    again.goto(program.url)
    again.wait_for_selector("html[data-ready=yes]")
    assert again.get_attribute("html", "data-number") == "0"
    for one in (page, evil, again):
        one.close()


def test_everything_by_keyboard(start: Start, visit: Any, tmp_path: Path) -> None:
    page = visit(start(items_file(tmp_path)))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.focus("#left")
    act(page, lambda: page.keyboard.press("Enter"))
    page.focus("#tie")
    act(page, lambda: page.keyboard.press("Space"))
    assert "2 answers" in page.inner_text("#progress")
    before = number(page)
    page.keyboard.press("ArrowDown")  # scrolls, answers nothing
    page.keyboard.press("Control+ArrowLeft")
    page.wait_for_timeout(200)
    assert number(page) == before
    for part in ("#left", "#right"):
        assert page.get_attribute(part, "aria-label").endswith("is better")
