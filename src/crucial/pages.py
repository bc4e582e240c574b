"""Pages of HTML that have everything they need, and load nothing.

The data of a page are a block of JSON in which no character can end the block; the script puts them
on the page as text only. The content policy allows exactly this script and this style, known by
their hashes, and pictures that are in the page itself; nothing can be fetched. A page that is made
to be printed has its body in HTML instead, and no script.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from crucial.data.files import atomic_write
from crucial.results import json_value
from crucial.types import PathLike
from crucial.wording import printable

_SHARED = ("colours.css", "page.css")
#: Styles and scripts of each page, concatenated in this order.
_ASSETS = {
    "report": ((*_SHARED,), ("core.js", "charts.js", "report.js")),
    "fusion": ((*_SHARED, "fusion.css"), ("core.js", "charts.js", "fusion.js")),
    "leaderboard": ((*_SHARED, "leaderboard.css"), ("core.js", "leaderboard.js")),
    "scorecard": (("scorecard.css",), ()),
    "experiment": (("experiment.css",), ()),
    "session": (("colours.css", "session.css"), ("core.js", "session.js")),
}
_DRAWN = """<a class="skip" href="#content">Skip to the content</a>
<noscript><p class="noscript">This page draws itself with the script that is in it. Allow scripts \
to see it; it fetches nothing.</p></noscript>
<div id="app"></div>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>"""


def page_asset(name: str) -> str:
    """Return the text of a file that pages are made of."""
    return (files("crucial") / "assets" / name).read_text("utf-8")


def page_style(kind: str) -> str:
    """Return the style of a kind of page."""
    return "\n".join(map(page_asset, _ASSETS[kind][0]))


def page_script(kind: str) -> str:
    """Return the script of a kind of page."""
    return "'use strict';\n" + "\n".join(map(page_asset, _ASSETS[kind][1]))


def as_json(data: object) -> str:
    """Return JSON of ASCII characters that is safe inside a script element.

    Examples
    --------
    >>> as_json({"name": "</script><!--", "value": float("nan")})
    '{"name":"\\\\u003c/script\\\\u003e\\\\u003c!--","value":null}'
    """
    text = json.dumps(json_value(data), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def page_html(
    kind: str, title: str, *, data: Mapping[str, object] | None = None, body: str = ""
) -> str:
    """Return a page; the same arguments give the same bytes.

    Parameters
    ----------
    kind : str
        Which style and script the page has.
    title : str
    data : mapping, optional
        What the script shows.
    body : str
        HTML of a page without a script.
    """
    style, script = page_style(kind), ""
    if data is not None:
        script = f"(() => {{\n{page_script(kind)}\n}})();\n"
        body = _DRAWN.format(data=as_json(data), script=script)
    policy = (
        "default-src 'none'",
        f"script-src {_hash(script)}" if script else "script-src 'none'",
        f"style-src {_hash(style)}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    # (a lone surrogate stands for a byte that was not text: shown as a question mark)
    name = title.encode("utf-8", "replace").decode()
    fields = {
        "policy": html.escape("; ".join(policy)),
        "title": html.escape(name),
        "style": style,
        "body": body,
    }
    # One pass over the template: what is inserted is never searched for fields.
    first, *parts = page_asset("page.html").split("{{")
    return first + "".join(
        fields[key] + rest for key, _, rest in (part.partition("}}") for part in parts)
    )


class SavedAsHtml:
    """Base of results that are a page of HTML."""

    def to_html(self) -> str:
        """Return the page; the same data give the same bytes."""
        raise NotImplementedError

    def save(self, path: PathLike) -> None:
        """Write the page to a file, atomically."""
        page = self.to_html().encode("utf-8")
        with atomic_write(path) as file:
            file.write(page)


@dataclass(frozen=True, eq=False, repr=False)
class Page(SavedAsHtml):
    """A page that a script draws from plain data.

    Attributes
    ----------
    kind : str
        "report", "fusion" or "leaderboard".
    title : str
    data : dict
        Everything on the page, as plain data.
    sentences : sequence of str
        What the page shows, in words.
    """

    kind: str
    title: str
    data: dict[str, Any]
    sentences: tuple[str, ...] = ()

    def to_html(self) -> str:
        """Return the page; the same data give the same bytes."""
        return page_html(self.kind, self.title, data=self.data)

    def __str__(self) -> str:
        return "\n".join(printable(line, 4000) for line in (self.title, *self.sentences))

    def __repr__(self) -> str:
        return f"<Page: {self.kind}, {self.title!r}>"
