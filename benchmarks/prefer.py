"""A turn of ``crucial prefer``: from an answer to the next question.

Processor milliseconds of the server; and, if CRUCIAL_BROWSER names a Chromium, those of the page on
a phone's screen, also times four for a processor that is so much slower, and the whole turn by the
clock with a browser that is slowed that way.
"""

from __future__ import annotations

import json
import os
import statistics
import threading
import time
from typing import Any

import numpy as np

from benchmarks.timing import table
from crucial.preferences import PreferenceSession
from crucial.preferences.server import PageOptions, PreferenceServer, page_state
from crucial.preferences.session import Item, Items

TURNS = 20
SLOWER = 4
_TURNS = """async (turns) => {
  const taken = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const changed = new Promise((done) => {
      new MutationObserver(done).observe(document.documentElement, { attributes: true });
    });
    const start = performance.now();
    document.querySelector('#left .pick').click();
    await changed;
    await new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); });
    taken.push(performance.now() - start);
    await new Promise((done) => { setTimeout(done, 100); });
  }
  return taken;
}"""


def session_of(n: int) -> PreferenceSession:
    """A session about items with long texts, three answers per item into it."""
    rng = np.random.default_rng(0)
    items = tuple(Item(f"item {k}", "many words " * int(rng.integers(2, 200))) for k in range(n))
    session = PreferenceSession(Items(items))
    for _ in range(3 * n):
        a, b = rng.choice(n, 2, replace=False)
        session._journal.append(f"item {a}", f"item {b}", "left" if a < b else "right")
    session._learn()
    return session


def on_the_server(session: PreferenceSession) -> float:
    taken = []
    for _ in range(TURNS):
        began = time.process_time()
        session.answer("left")
        json.dumps(page_state(session, PageOptions()))
        taken.append(1000 * (time.process_time() - began))
    return statistics.median(taken)


def on_the_page(session: PreferenceSession, path: str) -> tuple[float, float]:
    """Processor milliseconds per turn, and milliseconds by the clock if slowed."""
    from playwright.sync_api import sync_playwright

    with PreferenceServer(session) as server, sync_playwright() as client:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        browser = client.chromium.launch(executable_path=path)
        page = browser.new_page(viewport={"width": 360, "height": 740}, has_touch=True)
        page.goto(server.url)
        page.wait_for_selector("html[data-ready=yes]")
        line = page.context.new_cdp_session(page)
        line.send("Performance.enable", {"timeDomain": "threadTicks"})

        def work() -> float:
            found: list[dict[str, Any]] = line.send("Performance.getMetrics")["metrics"]
            return 1000 * next(one["value"] for one in found if one["name"] == "TaskDuration")

        page.evaluate(_TURNS, 2)
        before = work()
        page.evaluate(_TURNS, TURNS)
        own = (work() - before) / TURNS
        line.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
        slowed = statistics.median(page.evaluate(_TURNS, TURNS))
        browser.close()
        server.shutdown()
    return own, slowed


def main() -> None:
    path = os.environ.get("CRUCIAL_BROWSER")
    rows = []
    for n in (100, 500, 1000):
        session = session_of(n)
        row = [f"{n:,} items", on_the_server(session)]
        if path:
            own, slowed = on_the_page(session, path)
            row += [own, row[1] + SLOWER * own, slowed]
        rows.append(row)
    names = ["", "server, ms", "page, ms", f"server + {SLOWER} x page", "slowed, by the clock"]
    table("a turn of crucial prefer", names[: len(rows[0])], rows)


if __name__ == "__main__":
    main()
