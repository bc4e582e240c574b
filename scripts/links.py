"""Check the links inside the built site: every page, file and anchor must be there.

python scripts/links.py docs/_build/html
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = {"", "top"}
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and name in ("href", "src") and tag in ("a", "img", "link", "script"):
                self.links.append(value)
            elif value and name in ("id", "name"):
                self.anchors.add(value)


def broken(site: Path) -> list[str]:
    """Return ``page: link`` for every link inside the site that leads nowhere."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = pages[target].anchors if target in pages else None
            if target.parent.name == "pages":  # scripts of these pages make their anchors
                known = None
            if not target.exists() or (known and unquote(parts.fragment) not in known):
                found.append(f"{path.relative_to(site.resolve())}: {link}")
    return found


if __name__ == "__main__":
    missing = broken(Path(sys.argv[1]))
    print("\n".join(missing) or "every link leads somewhere")
    sys.exit(bool(missing))
