"""A real browser, in which any complaint or request of a page fails its test."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Open = Callable[..., Any]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    path = os.environ.get("CRUCIAL_BROWSER")
    if not path:
        pytest.fail("CRUCIAL_BROWSER names no browser; run these tests by `make test-browser`.")
    with sync_playwright() as client:
        started = client.chromium.launch(executable_path=path)
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Open]:
    """Open a file or an address; at the end of the test nothing must have gone wrong."""
    trouble: list[str] = []
    contexts = []

    def open_at(place: Path | str, width: int = 1280, scheme: str = "light", height: int = 900):
        address = place.as_uri() if isinstance(place, Path) else place
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme,
            has_touch=width < 500, permissions=["clipboard-read", "clipboard-write"],
        )  # fmt: skip
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: trouble.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (trouble.append("a dialog"), dialog.dismiss()))
        own = (address, "data:")
        page.on("request", lambda one: one.url.startswith(own) or trouble.append(one.url))
        page.goto(address)
        page.wait_for_selector("[data-ready=yes]", state="attached")
        return page

    open_at.trouble = trouble  # type: ignore[attr-defined]
    yield open_at
    for context in contexts:
        context.close()
    assert trouble == []


@pytest.fixture
def refused_by_the_policy() -> Callable[[Any], list[str]]:
    """Let a page try a script, a picture and a request of others; return what was refused."""
    trial = """() => new Promise((done) => {
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
    return lambda page: page.evaluate(trial)
