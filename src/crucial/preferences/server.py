"""The local page of a session, closed to other machines and other pages."""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast

from crucial.data.words import shown
from crucial.errors import CrucialError, DataError, FileError
from crucial.io.comparisons import comparison_columns
from crucial.io.writing import table_lines
from crucial.pages import page_asset, page_script, page_style
from crucial.preferences.session import ANSWERS, NAMES, Item, PreferenceSession

# --- What the page of a session shows, as JSON


_SHOWN = 20  # places sent with every question; the page asks for all if they are wanted
_CELLS = 40  # other cells of an item on the page
_LONGEST = 20_000  # characters of a text on the page
#: Columns that say what an item is, and are not shown where names are hidden.
_TELLING = frozenset((*NAMES, "author"))


@dataclass(frozen=True)
class PageOptions:
    """Options of the page of a session.

    Attributes
    ----------
    title : str
        Heading of the page.
    blind : bool
        Whether names are hidden, and the ranking until it is asked for.
    markdown : bool
        Whether texts are Markdown.
    """

    title: str = ""
    blind: bool = False
    markdown: bool = True


def check_blind(items: Sequence[Item]) -> None:
    """Refuse items of which nothing is left to compare when their names are hidden."""
    for item in items:
        if not (item.text or item.picture or _cells(item, blind=True)):
            raise DataError(
                f"names are hidden, and nothing else of {shown(item.name)} can be shown: it needs "
                "a text, a picture or another column."
            )


def page_state(session: PreferenceSession, options: PageOptions) -> dict[str, object]:
    """Return the question, how far the ranking is settled, and its first places."""
    with session.lock:
        left, right = session.question
        state: dict[str, object] = {
            "title": options.title,
            "blind": options.blind,
            "markdown": options.markdown,
            "number": session.n_events,
            "answers": session.n_answers,
            "items": len(session.names),
            "settled": session.settled(),
            "top": session.top,
            "done": session.done(),
            "undo": session.can_undo,
            "left": _shown(left, session.items[left], blind=options.blind),
            "right": _shown(right, session.items[right], blind=options.blind),
        }
        return {**state, **ranking_state(session, 0 if options.blind else _SHOWN)}


def ranking_state(session: PreferenceSession, most: int | None = None) -> dict[str, object]:
    """Return the first places of the ranking, and how many items have a place."""
    with session.lock:
        places = session.ranking()
        return {
            "number": session.n_events,
            "judge": session.judge or "",
            "ranked": len(places),
            "ranking": [vars(one) for one in places[:most]],
        }


def _cells(item: Item, *, blind: bool) -> list[tuple[str, str]]:
    cells = [cell for cell in item.cells if not blind or cell[0].lower() not in _TELLING]
    return cells[:_CELLS]


def _shown(number: int, item: Item, *, blind: bool) -> dict[str, object]:
    """Return an item as the page shows it."""
    return {
        "item": number,
        "name": "" if blind else _text(item.name),
        "text": _text(item.text),
        "image": None if item.picture is None else f"image/{number}",
        "cells": [[_text(name), _text(cell)] for name, cell in _cells(item, blind=blind)],
    }


def _text(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]} … (cut: {_LONGEST:,} of {len(text):,} characters)"


# --- The local page of a session, closed to other machines and other pages
#
# Every request must name the address the server listens at (``Host``): ``127.0.0.1`` or
# ``localhost`` with its port, which excludes other names that resolve to this machine.
# (``localhost`` is allowed because browsers do not look it up elsewhere, and forwarded ports are
# opened by that name. To the page of the one name, the page of the other is another page.) A
# request
# must not come from another page (``Origin``, ``Sec-Fetch-Site``), and must start its path with the
# token that was drawn at the start. Routes are a fixed list; a path is never split, decoded or
# joined
# to a folder. Pictures are served by number, and only those that the table names. The content
# policy
# limits the page to its own script, style, pictures and routes.


LARGEST_BODY = 4096
_PATIENCE = 15.0  # seconds until a page that waits for news is answered anyway
_MOST_WAITING = 3  # pages that may wait (a browser has six connections per server)
_GRACE = 0.2  # seconds after the end for pages that have just been opened
_RETURN = 3.0  # seconds in which a page that was answered asks for the next news
_PICTURE = re.compile(r"image/(0|[1-9][0-9]{0,3})")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
_FILES: dict[str, tuple[Callable[[], str], str]] = {
    "": (lambda: page_asset("session.html"), "text/html; charset=utf-8"),
    "page.css": (lambda: page_style("session"), "text/css; charset=utf-8"),
    "page.js": (lambda: page_script("session"), "text/javascript; charset=utf-8"),
    "icon.svg": (lambda: page_asset("icon.svg"), "image/svg+xml"),
}
_READS = ("state", "ranking", "answers.csv")
_WAIT = re.compile(r"wait/(0|[1-9][0-9]{0,8})")


class _Refused(Exception):
    """Ends a request with a status and a sentence."""

    def __init__(self, status: HTTPStatus, problem: str) -> None:
        super().__init__(problem)
        self.status, self.problem = status, problem


class PreferenceServer(ThreadingHTTPServer):
    """Serve a session to a browser on this machine.

    Parameters
    ----------
    session : PreferenceSession
    port : int
        0 chooses a free one.
    options : PageOptions
        Heading of the page, hidden names, Markdown.

    Attributes
    ----------
    url : str
        Address of the page, with the token.

    Raises
    ------
    DataError
        The port cannot be used, or items have nothing to show when their names are hidden.
    """

    daemon_threads = True
    # (a port in use must be refused, not shared)
    allow_reuse_port = False

    def __init__(
        self, session: PreferenceSession, options: PageOptions | None = None, *, port: int = 0
    ) -> None:
        self.session, self.options = session, options or PageOptions()
        if self.options.blind:
            check_blind(session.items)
        self._changed = threading.Condition()
        self._ended, self._waiting = False, 0
        self._away, self._last_news = 0, 0.0  # pages between two requests for news
        self.token = secrets.token_urlsafe(32)
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise DataError(f"port {port} cannot be used: {reason}. Choose another.") from error
        self.port = int(self.server_address[1])
        self.hosts = frozenset((f"127.0.0.1:{self.port}", f"localhost:{self.port}"))
        self.url = f"http://127.0.0.1:{self.port}/{self.token}/"

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore broken connections."""

    @contextmanager
    def news(self, known: int) -> Iterator[dict[str, object]]:
        """Wait for another question than a known one, or the end; gives the reply to a page."""
        with self._changed:
            later = self._waiting >= _MOST_WAITING
            self._waiting += 1
            self._away = max(0, self._away - 1)
            self._changed.notify_all()
            if not later:
                self._changed.wait_for(
                    lambda: self._ended or self.session.n_events != known, _PATIENCE
                )
            # (from now on: the page may have its answer before this thread goes on)
            self._away += 1
            self._last_news = time.monotonic()
        try:
            yield {"number": self.session.n_events, "ended": self._ended, "later": later}
        finally:
            with self._changed:
                self._waiting -= 1
                self._changed.notify_all()

    def tell(self) -> None:
        """Answer the pages that wait for news."""
        with self._changed:
            self._changed.notify_all()

    def end(self) -> None:
        """Tell open pages that the session has ended, and stop serving."""
        with self._changed:
            # A page that was answered a moment ago is about to ask again, and must hear of it.
            soon = self._last_news + _RETURN - time.monotonic()
            self._changed.wait_for(lambda: not self._away, max(0.0, soon))
            self._ended = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._waiting, 1.0)
        time.sleep(_GRACE)
        self.shutdown()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "crucial"
    sys_version = ""
    timeout = 20  # seconds a connection may keep silent

    def do_GET(self) -> None:
        self._answered(self._get)

    def do_POST(self) -> None:
        self._answered(self._post)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what the standard library refuses in the form of our own refusals."""
        self.close_connection = True
        status = HTTPStatus(code)
        if code == HTTPStatus.NOT_IMPLEMENTED:
            status = HTTPStatus.METHOD_NOT_ALLOWED
        self._send(status, json.dumps({"error": status.phrase}).encode(), "application/json")

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: requests contain the token."""

    @property
    def _own(self) -> PreferenceServer:
        return cast(PreferenceServer, self.server)

    def _route(self) -> str:
        """Return the path behind the token; refuse requests that are not from our own page."""
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or hosts[0].lower() not in self._own.hosts:
            raise _Refused(HTTPStatus.FORBIDDEN, "This page has another address.")
        origins = self.headers.get_all("Origin") or []
        allowed = f"http://{hosts[0].lower()}"
        if len(origins) > 1 or any(one.lower() != allowed for one in origins):
            raise _Refused(HTTPStatus.FORBIDDEN, "Requests of other pages are refused.")
        if self.command != "GET" and not origins:
            raise _Refused(HTTPStatus.FORBIDDEN, "The request does not name its page.")
        if (self.headers.get("Sec-Fetch-Site") or "none") not in ("none", "same-origin"):
            raise _Refused(HTTPStatus.FORBIDDEN, "Requests of other pages are refused.")
        first, slash, route = self.path.removeprefix("/").partition("/")
        right = hmac.compare_digest(first.encode("utf-8", "replace"), self._own.token.encode())
        if not self.path.startswith("/") or not right or not slash:
            raise _Refused(HTTPStatus.FORBIDDEN, "The address lacks its token; use all of it.")
        return route

    def _body(self) -> dict[str, object]:
        """Return the body of a request, a small JSON object."""
        lengths = self.headers.get_all("Content-Length") or []
        if self.headers.get("Transfer-Encoding") is not None or len(lengths) != 1:
            raise _Refused(HTTPStatus.LENGTH_REQUIRED, "The body needs a length.")
        if not re.fullmatch(r"[0-9]{1,18}", lengths[0]):
            raise _Refused(HTTPStatus.BAD_REQUEST, "The length is not a number.")
        if int(lengths[0]) > LARGEST_BODY:
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The body is too large.")
        kind = (self.headers.get("Content-Type") or "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise _Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "The body must be JSON.")
        raw = self.rfile.read(int(lengths[0]))
        if len(raw) < int(lengths[0]):
            raise _Refused(HTTPStatus.BAD_REQUEST, "The body is cut short.")
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            raise _Refused(HTTPStatus.BAD_REQUEST, "The body must be a JSON object.")
        return body

    def _answered(self, action: Callable[[str], None]) -> None:
        """Answer a request, or refuse it."""
        try:
            action(self._route())
        except _Refused as refused:
            # (a body that was not read must not be parsed as the next request)
            self.close_connection = True
            self._say(refused.status, {"error": refused.problem})
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def _get(self, route: str) -> None:
        """Send a file of the page, the state, the answers or a picture."""
        if self.headers.get("Content-Length") not in (None, "0") or (
            self.headers.get("Transfer-Encoding") is not None
        ):
            raise _Refused(HTTPStatus.BAD_REQUEST, "GET takes no body.")
        if route in _FILES:
            text, kind = _FILES[route]
            self._send(HTTPStatus.OK, text().encode(), kind)
        elif route == "state":
            self._say(HTTPStatus.OK, self._state())
        elif route == "ranking":
            self._say(HTTPStatus.OK, ranking_state(self._own.session))
        elif found := _WAIT.fullmatch(route):
            with self._own.news(int(found.group(1))) as news:
                self._say(HTTPStatus.OK, news)
        elif route == "answers.csv":
            self._export()
        elif found := _PICTURE.fullmatch(route):
            self._picture(int(found.group(1)))
        elif route in ("answer", "undo"):
            raise _Refused(HTTPStatus.METHOD_NOT_ALLOWED, "Use POST.")
        else:
            raise _Refused(HTTPStatus.NOT_FOUND, "There is no such page.")

    def _post(self, route: str) -> None:
        """Take or undo an answer, and send the new state."""
        if route not in ("answer", "undo"):
            known = _PICTURE.fullmatch(route) or _WAIT.fullmatch(route)
            if known or route in _FILES or route in _READS:
                raise _Refused(HTTPStatus.METHOD_NOT_ALLOWED, "Use GET.")
            raise _Refused(HTTPStatus.NOT_FOUND, "Use GET.")
        body = self._body()
        number, answer = body.get("number"), body.get("answer")
        if type(number) is not int or (route == "answer" and answer not in ANSWERS):
            raise _Refused(HTTPStatus.BAD_REQUEST, "This is not an answer.")
        session = self._own.session
        try:
            if route == "answer":
                session.answer(cast(str, answer), number=number)
            else:
                session.undo(number=number)
            self._own.tell()
        except FileError as error:
            self._say(HTTPStatus.INSUFFICIENT_STORAGE, {"error": f"Not kept: {error}"})
        except CrucialError as error:
            self._say(HTTPStatus.CONFLICT, {**self._state(), "error": str(error)})
        else:
            self._say(HTTPStatus.OK, self._state())

    def _state(self) -> dict[str, object]:
        """Return all that the page shows."""
        return page_state(self._own.session, self._own.options)

    def _export(self) -> None:
        """Send the answers as CSV."""
        try:
            columns = comparison_columns(self._own.session.comparisons())
            text = "".join(table_lines("answers.csv", columns, exact=True))
        except DataError:
            text = "winner,loser,tie,weight\n"
        more = {"Content-Disposition": 'attachment; filename="answers.csv"'}
        data = text.encode("utf-8", "replace")
        self._send(HTTPStatus.OK, data, "text/csv; charset=utf-8", more)

    def _picture(self, number: int) -> None:
        """Send the picture of an item."""
        items = self._own.session.items
        picture = items[number].picture if number < len(items) else None
        if picture is None:
            raise _Refused(HTTPStatus.NOT_FOUND, "There is no such picture.")
        try:
            # What was a picture at the start may have become a link since, which is not followed.
            handle = os.open(picture.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with open(handle, "rb") as file:
                if os.path.realpath(picture.path) != picture.path:
                    raise OSError("moved")
                data = file.read()
        except OSError:
            raise _Refused(HTTPStatus.NOT_FOUND, "The picture cannot be read.") from None
        more = {"Content-Security-Policy": _PICTURE_POLICY}
        self._send(HTTPStatus.OK, data, picture.kind, more)

    def _say(self, status: HTTPStatus, data: dict[str, object]) -> None:
        text = json.dumps(data, ensure_ascii=True, allow_nan=False)
        self._send(status, text.encode(), "application/json")

    def _send(
        self, status: HTTPStatus, data: bytes, kind: str, more: dict[str, str] | None = None
    ) -> None:
        """Send an answer; the headers close the page to everything else."""
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(data)),
            "Content-Security-Policy": _POLICY,
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-store",
            **(more or {}),
        }
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if getattr(self, "command", None) != "HEAD":
            self.wfile.write(data)
        if self.close_connection:
            self._drain()

    def _drain(self) -> None:
        """Read some of what is left of the request, or the refusal may not arrive."""
        try:
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(0.2)
            for _ in range(16):
                if not self.connection.recv(65536):
                    return
        except OSError:
            pass
