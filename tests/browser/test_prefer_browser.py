"""The page where a person compares, in a real browser: clicks, keys, undo, kill and go on."""

import base64
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crucial.inspection.report_page import data_uri
from crucial.io.comparisons import read_comparisons

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
        self.process.communicate(timeout=300)


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
def visit(open_page: Any) -> Callable[..., Any]:
    """Open the page of a program."""

    def open_program(program, width=1280, scheme="light", height=850):
        return open_page(program.url, width, scheme, height)

    open_program.trouble = open_page.trouble  # type: ignore[attr-defined]
    return open_program


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


def prefer_high_numbers(page: Any) -> None:
    """Answer as somebody who likes the item with the higher number; close what opens."""
    left, right = (int(name.split()[1]) for name in pair(page))
    act(page, lambda: page.keyboard.press("ArrowLeft" if left > right else "ArrowRight"))
    if page.locator("#result").is_visible():
        page.keyboard.press("Enter")


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
    assert "6 answers" in page.inner_text("#progress")
    assert "% of all pairs" in page.inner_text("#settled")
    with page.expect_download() as download:
        page.click("#export")
    target = tmp_path / "down.csv"
    download.value.save_as(target)
    table = read_comparisons(target)
    assert (len(table), table.tie.tolist()) == (6, [False] * 4 + [True] * 2)
    winners = [table.items[k] for k in table.winner[:4]]
    assert winners == [told[0][0], told[1][1], told[2][0], told[3][1]]


def test_undo_shows_the_same_question_again(start: Start, visit: Any, tmp_path: Path) -> None:
    page = visit(start(items_file(tmp_path)))
    first = pair(page)
    before = page.inner_text("#so-far")
    act(page, lambda: page.keyboard.press("ArrowLeft"))
    second = pair(page)
    act(page, lambda: page.keyboard.press("ArrowLeft"))
    act(page, lambda: page.click("#undo"))
    assert pair(page) == second
    act(page, lambda: page.keyboard.press("u"))
    assert pair(page) == first
    assert page.inner_text("#so-far") == before
    assert page.locator("#undo").is_disabled()


def test_a_kill_and_going_on(start: Start, visit: Any, tmp_path: Path) -> None:
    items = items_file(tmp_path)
    program = start(items)
    page = visit(program)
    for key in ("ArrowLeft", "ArrowLeft", "ArrowRight", "t", "ArrowLeft"):
        act(page, lambda key=key: page.keyboard.press(key))
    asked, so_far = pair(page), page.inner_text("#ranking")
    program.end(signal.SIGKILL)
    page.wait_for_selector("html[data-connection=offline]")
    assert "start \u201ccrucial prefer\u201d again" in page.inner_text("#trouble")
    assert "ended" not in page.inner_text("#trouble")
    page.keyboard.press("ArrowLeft")  # counts for nothing
    assert pair(page) == asked
    page.close()
    lost = [text for text in visit.trouble if "net::ERR_" in text]
    assert lost  # the browser says so, too
    visit.trouble[:] = [text for text in visit.trouble if text not in lost]
    again = visit(start(items))
    assert "5 answers" in again.inner_text("#progress")
    assert pair(again) == asked
    assert again.inner_text("#ranking") == so_far
    act(again, lambda: again.keyboard.press("ArrowRight"))
    assert "6 answers" in again.inner_text("#progress")


def test_two_windows_are_one_session(start: Start, visit: Any, tmp_path: Path) -> None:
    program = start(items_file(tmp_path))
    one, other = visit(program), visit(program)
    before = number(other)
    act(one, lambda: one.keyboard.press("ArrowLeft"))
    other.wait_for_function("n => document.documentElement.dataset.number !== n", arg=before)
    assert "1 answer about" in other.inner_text("#progress")
    assert pair(other) == pair(one)
    act(other, lambda: other.keyboard.press("ArrowLeft"))
    assert other.locator("#trouble").is_hidden()


def test_ended_is_not_offline(start: Start, visit: Any, tmp_path: Path) -> None:
    items = items_file(tmp_path)
    program = start(items)
    page = visit(program)
    act(page, lambda: page.keyboard.press("ArrowLeft"))
    asked = pair(page)
    page.context.set_offline(True)
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("html[data-connection=offline]")
    assert "this device has no network" in page.inner_text("#trouble")
    assert page.locator("#tie").is_disabled()
    page.context.set_offline(False)
    page.wait_for_selector("html[data-connection=on]")
    assert page.locator("#trouble").is_hidden()
    assert pair(page) == asked
    with page.expect_request(lambda request: "/wait/2" in request.url):
        act(page, lambda: page.keyboard.press("ArrowLeft"))
    visit.trouble[:] = [text for text in visit.trouble if "net::ERR_" not in text]
    program.end(signal.SIGINT)
    page.wait_for_selector("html[data-connection=ended]")
    assert "This session has ended. Every answer that it took is kept" in page.inner_text(
        "#trouble"
    )
    assert page.locator("#left .pick").is_disabled()
    page.click("#open-result")  # what is known stays
    assert page.locator("#card .places li").count() > 1


def test_the_address_of_an_earlier_session(start: Start, visit: Any, tmp_path: Path) -> None:
    items = items_file(tmp_path)
    program = start(items)
    port = program.url.split(":")[2].split("/")[0]
    page = visit(program)
    program.end(signal.SIGKILL)
    page.wait_for_selector("html[data-connection=offline]")
    start(items, "--port", port)
    page.wait_for_selector("html[data-connection=ended]")
    assert "use the address it gives" in page.inner_text("#trouble")
    visit.trouble[:] = [text for text in visit.trouble if "net::" not in text and "403" not in text]


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


def test_pictures(start: Start, visit: Any, tmp_path: Path) -> None:
    for k in range(3):
        address = data_uri(np.full((4, 6), 80 * k, np.uint8))
        (tmp_path / f"{k}.png").write_bytes(base64.b64decode(address.split(",")[1]))
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
        page.keyboard.press("Escape")
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
        page.keyboard.press("Escape")
    assert (page.locator("img").count(), page.locator("script").count()) == (0, 1)
    assert page.evaluate("window.pwned") is None


def test_the_policy_refuses_what_is_not_the_pages_own(
    browser, start, tmp_path, refused_by_the_policy
):
    program = start(items_file(tmp_path))
    page = browser.new_page()
    page.goto(program.url)
    page.wait_for_selector("html[data-ready=yes]")
    assert refused_by_the_policy(page) == ["connect-src", "img-src", "script-src-elem"]
    page.close()


def test_everything_by_keyboard(start: Start, visit: Any, tmp_path: Path) -> None:
    page = visit(start(items_file(tmp_path)))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.focus("#left .pick")
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
        assert page.get_attribute(f"{part} .pick", "aria-label").endswith("is better")


# What is shown


def test_no_rank_before_an_answer(start: Start, visit: Any, tmp_path: Path) -> None:
    page = visit(start(items_file(tmp_path)))
    assert ranking(page) == []
    assert "Nothing is known yet" in page.inner_text("#settled")
    assert page.locator("#open-result").is_disabled()
    act(page, lambda: page.keyboard.press("s"))  # a skip says nothing
    assert ranking(page) == []
    asked = pair(page)
    act(page, lambda: page.keyboard.press("ArrowRight"))
    assert ranking(page) == [asked[1], asked[0]]
    assert page.locator("#ranking .rank").all_inner_texts() == ["1 (1\u20132)", "2 (1\u20132)"]
    assert "6 items were not compared yet" in page.inner_text("#new")


def test_the_bar_is_the_number(start: Start, visit: Any, tmp_path: Path) -> None:
    page = visit(start(items_file(tmp_path, 5)))
    seen = []
    for turn in range(6):
        if turn:
            prefer_high_numbers(page)
        page.wait_for_timeout(450)  # the bar moves
        share = page.evaluate(
            "100 * document.getElementById('meter').getBoundingClientRect().width"
            " / document.getElementById('bar').getBoundingClientRect().width"
        )
        shown = int(page.inner_text("#settled").split("%")[0]) if turn else 0
        assert share == pytest.approx(shown, abs=0.5)
        assert page.get_attribute("#bar", "aria-valuenow") == str(shown)
        seen.append(shown)
    assert seen[0] == 0 < seen[1] < seen[-1] < 100


def long_items(tmp_path: Path, n: int = 500) -> Path:
    path = tmp_path / "many.csv"
    rows = (f"model number {k} of many,{'many words ' * (4 if k % 2 else 200)}\n" for k in range(n))
    path.write_text("name,text\n" + "".join(rows))
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_500_items_on_a_phone(start: Start, visit: Any, tmp_path: Path, scheme: str) -> None:
    items = long_items(tmp_path)
    lines = ['{"crucial": "answers", "version": 1}']
    names = [f"model number {k} of many" for k in range(500)]
    for n in range(499):
        answer = {"n": n + 1, "left": names[n], "right": names[n + 1], "answer": "left", "at": ""}
        lines.append(json.dumps(answer))
    (tmp_path / "many.answers.jsonl").write_text("\n".join(lines) + "\n")
    page = visit(start(items), 360, scheme, 740)

    def fits() -> bool:
        inside = page.evaluate(
            """[...document.querySelectorAll('main *')].filter((node) => {
              const box = node.getBoundingClientRect();
              return box.width && (box.right > 360.5 || box.left < -0.5);
            }).map((node) => node.outerHTML.slice(0, 80))"""
        )
        return inside == [] and page.evaluate("document.documentElement.scrollWidth") == 360

    assert fits()
    assert page.locator("#undo").bounding_box()["y"] + 40 < 740
    assert page.locator("#ranking li").count() == 20
    page.click("#all")
    page.wait_for_function("() => document.querySelectorAll('#ranking li').length === 500")
    assert fits()
    act(page, lambda: page.tap("#left"))
    page.wait_for_function("() => document.querySelectorAll('#ranking li').length === 500")
    page.click("#all")
    page.wait_for_function("() => document.querySelectorAll('#ranking li').length === 20")


def test_long_texts_say_that_there_is_more(start: Start, visit: Any, tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text(f"name,text\na,short\nb,{'many words ' * 300}the end\n")
    page = visit(start(path), 360, "light", 740)
    long, short = ("left", "right") if pair(page)[0] == "b" else ("right", "left")
    assert page.locator(f"#{short} .more").is_hidden()
    more = page.locator(f"#{long} .more")
    assert more.inner_text() == "Show all of it"
    words = page.locator(f"#{long} .words")
    assert words.bounding_box()["height"] < 250
    assert "gradient" in words.evaluate("node => getComputedStyle(node).maskImage")
    before = number(page)
    more.click()
    assert words.evaluate("node => node.scrollHeight <= node.clientHeight + 1")
    assert words.bounding_box()["height"] > 500
    assert (more.inner_text(), more.get_attribute("aria-expanded")) == ("Show less", "true")
    page.keyboard.press("m")
    assert words.bounding_box()["height"] < 250
    assert number(page) == before  # reading answers nothing
    more.click()
    page.mouse.wheel(0, 900)
    page.wait_for_function("() => scrollY > 300")
    act(page, lambda: page.keyboard.press("t"))
    assert page.evaluate("scrollY") < 200  # the next pair begins at its top


MARKDOWN = r"""# Head *one*
Some **bold**, _slanted_, ~~struck~~ and `code <b>`; snake_case_name, 2 * 3 * 4, \*kept\*.
second line

- one
- two
  1. inner
  2. more
> quoted

```js
let x = "<script>";
```
| a | b |
|---|---|
| 1 | **2** |

[words](https://example.org/x) ![alt](https://example.org/y.png) [run](javascript:window.pwned=1)
***
"""
ATTACKS = r"""<script>window.pwned=1</script> <img src=x onerror=window.pwned=1> &lt;b&gt;
[a](javascript:window.pwned=1) [b](data:text/html,<script>window.pwned=1</script>)
<javascript:window.pwned=1> [c]: javascript:window.pwned=1 <iframe srcdoc="<script>">
![d](x" onerror="window.pwned=1) **<svg onload=window.pwned=1>**
`<img src=x onerror=window.pwned=1>`
# <a href="javascript:window.pwned=1">e</a>
| <style>*{display:none}</style> | b |
|---|---|
| <input autofocus onfocus=window.pwned=1> | <form action=//evil.example> |
"""


def test_markdown(start: Start, visit: Any, tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    quoted = '"' + MARKDOWN.replace('"', '""') + '"'
    path.write_text(f"name,text\na,{quoted}\nb,{quoted}\n")
    page = visit(start(path))
    html = page.evaluate("document.querySelector('#left .text').innerHTML")
    for part in (
        '<p class="head head-1">Head <em>one</em></p>',
        "<strong>bold</strong>, <em>slanted</em>, <s>struck</s> and <code>code &lt;b&gt;</code>",
        "snake_case_name, 2 * 3 * 4, *kept*.<br>second line",
        "<ul><li><p>one</p></li><li><p>two</p>",
        '<ol start="1"><li><p>inner</p></li><li><p>more</p></li></ol></li></ul>',
        "<blockquote><p>quoted</p></blockquote>",
        '<pre><code>let x = "&lt;script&gt;";</code></pre>',
        "<tr><th>a</th><th>b</th></tr><tr><td>1</td><td><strong>2</strong></td></tr>",
        'words<span class="address"> (https://example.org/x)</span>',
        "[picture: alt]",
        "<hr>",
    ):
        assert part in html, part
    assert page.locator("#ask a, #ask img").count() == 0
    plain = visit(start(path, "--no-markdown", "--answers", str(tmp_path / "other.jsonl")))
    assert plain.evaluate("document.querySelector('#left .text').textContent") == MARKDOWN.strip()


def test_markdown_is_harmless(start: Start, visit: Any, tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    quoted = '"' + ATTACKS.replace('"', '""') + '"'
    path.write_text(f"name,text\na,{quoted}\nb,{quoted}\n")
    page = visit(start(path))
    tags = page.evaluate(
        "[...document.querySelectorAll('.text, .text *')].map((node) => node.tagName)"
    )
    assert set(tags) <= {"DIV", "P", "BR", "CODE", "SPAN", "STRONG", "TABLE", "TR", "TH", "TD"}
    attributes = page.evaluate(
        "[...document.querySelectorAll('.text *')].flatMap((n) => n.getAttributeNames())"
    )
    assert set(attributes) <= {"class"}
    assert page.evaluate("window.pwned") is None
    assert "<script>window.pwned=1</script>" in page.inner_text("#left .text")
    # Texts made to be slow: each is rendered at once.
    slow = page.evaluate(
        """() => ['*', '_', '`', '**a', '[', '![', '~~', '> ', '- ', '*_', '|-', '\\\\',
                  '``` ', '1. ', '[a](', '**_`'].map((part) => {
          const start = performance.now();
          markdown(part.repeat(20000 / part.length));
          markdown((part + '\\n').repeat(20000 / (part.length + 1)));
          return performance.now() - start;
        })"""
    )
    assert max(slow) < 4000, slow


def test_blind(start: Start, visit: Any, tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    rows = "".join(f"secret {k},secret-{k},text {k},{k}\n" for k in range(4))
    path.write_text("name,id,text,size\n" + rows)
    page = visit(start(path, "--blind"))

    def everything() -> str:
        return page.evaluate("document.documentElement.outerHTML")

    for _ in range(3):
        assert pair(page) == ("A", "B")
        assert page.inner_text("#left .text").startswith("text ")
        assert "size" in page.inner_text("#left .cells")
        assert "secret" not in everything()
        assert "secret" not in page.evaluate("fetch('state').then((reply) => reply.text())")
        better = [int(page.inner_text(f"#{side} .text").split()[1]) for side in ("left", "right")]
        key = "ArrowLeft" if better[0] > better[1] else "ArrowRight"
        act(page, lambda key=key: page.keyboard.press(key))
        page.keyboard.press("Escape")
    assert ranking(page) == []
    assert page.locator("#export").is_hidden()
    page.click("#reveal")
    page.wait_for_selector("#ranking li")
    assert ranking(page)[0] == "secret 3"
    act(page, lambda: page.keyboard.press("ArrowLeft"))
    assert pair(page) == ("A", "B")


def test_done_and_the_card_of_the_result(start: Start, visit: Any, tmp_path: Path) -> None:
    page = visit(start(items_file(tmp_path, 6), "--top", "2", "--judge", "ann"), 360, "dark", 740)
    result = page.locator("#result")
    for _ in range(15):
        left, right = (int(name.split()[1]) for name in pair(page))
        act(page, lambda key="left" if left > right else "right": page.tap(f"#{key}"))
        if result.is_visible():
            break
    assert page.inner_text("#moment") == "Your answers agree on the first 2 places"
    assert "above all other items" in page.inner_text("#reason")
    places = page.locator("#card .name").all_inner_texts()
    assert places[:2] == ["item 5", "item 4"]
    ranges = page.locator("#card .open").all_inner_texts()
    assert page.locator("#card .sure").count() == ranges.count("")  # settled: no range is shown
    assert "by ann" in page.inner_text("#card")
    box = result.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360
    before = number(page)
    page.keyboard.press("ArrowLeft")  # does not answer while the card is shown
    with page.expect_download() as download:
        page.click("#picture")
    target = tmp_path / "ranking.png"
    download.value.save_as(target)
    head = target.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(head[16:20]), int.from_bytes(head[20:24])) == (1200, 630)
    page.click("#copy")
    page.wait_for_function("() => document.getElementById('copied').textContent === 'Copied.'")
    text = page.evaluate("navigator.clipboard.readText()")
    shown = [f"{k}. item {6 - k}{open_ and f' {open_}'}" for k, open_ in enumerate(ranges[:2], 1)]
    assert text.splitlines()[:3] == ["items.csv", *shown]
    page.click("#go-on")
    assert not result.is_visible()
    assert number(page) == before
    assert "agree on the first 2 places" in page.inner_text("#top")
    act(page, lambda: page.tap("#left"))
    assert not result.is_visible()  # it was said once
