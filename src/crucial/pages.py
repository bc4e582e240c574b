"""One page of HTML that has everything it needs, and loads nothing."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from crucial.data.files import atomic_write
from crucial.results import json_value
from crucial.types import PathLike

# --- One page of HTML that has everything it needs, and loads nothing
#
# The data are a block of JSON in which no character can end the block; the script puts them
# on the page as text only. The content policy allows exactly this script and this style,
# known by their hashes, and pictures that are in the page itself; nothing can be fetched.


#: Concatenated in this order.
SCRIPTS = (
    "core.js",
    "charts.js",
    "measures.js",
    "curves.js",
    "features.js",
    "queries.js",
    "main.js",
)
STYLE = "page.css"
TEMPLATE = "page.html"


def page_asset(name: str, folder: str = "report") -> str:
    """Return the text of a file that pages are made of."""
    return (files("crucial") / "assets" / folder / name).read_text("utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


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


def page_html(
    title: str,
    data: Mapping[str, object],
    *,
    scripts: Sequence[str] | None = None,
    styles: Sequence[str] | None = None,
) -> str:
    """Return the page: the template filled in.

    Parameters
    ----------
    title : str
    data : mapping
        What the scripts show.
    scripts, styles : sequences of str, optional
        Texts of another page than the report on a ranker; they are concatenated.
    """
    style = "\n".join([page_asset(STYLE)] if styles is None else styles)
    texts = list(map(page_asset, SCRIPTS)) if scripts is None else scripts
    script = "(() => {\n'use strict';\n" + "\n".join(texts) + "\n})();\n"
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hash(script)}",
            f"style-src {_hash(style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    # (a lone surrogate stands for a byte that was not text: shown as a question mark)
    name = title.encode("utf-8", "replace").decode()
    fields = {
        "policy": html.escape(policy),
        "title": html.escape(name),
        "style": style,
        "script": script,
        "data": as_json(data),
    }
    # One pass over the template: what is inserted is never searched for fields.
    parts = page_asset(TEMPLATE).split("{{")
    out = [parts[0]]
    for part in parts[1:]:
        key, _, rest = part.partition("}}")
        out += [fields[key], rest]
    return "".join(out)


# --- What all pages have in common


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
    """A page made of plain data.

    Attributes
    ----------
    title : str
    data : dict
        Everything on the page, as plain data.
    """

    title: str
    data: dict[str, Any]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.title!r})"
