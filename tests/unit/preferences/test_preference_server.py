"""The local page is closed: every route against every way in that is not the page's own."""

import contextlib
import errno
import http.client
import json
import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from crucial.errors import DataError
from crucial.preferences.server import LARGEST_BODY, PageOptions, PreferenceServer
from crucial.preferences.session import PreferenceSession, read_items

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
SCRIPTS = ["page.js"]
GETS = [
    "",
    "page.css",
    *SCRIPTS,
    "icon.svg",
    "state",
    "ranking",
    "wait/0",
    "answers.csv",
    "image/0",
]
POSTS = ["answer", "undo"]
ROUTES = [("GET", route) for route in GETS] + [("POST", route) for route in POSTS]
SVG = "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setattr("crucial.preferences.server._PATIENCE", 0.05)
    monkeypatch.setattr("crucial.preferences.server._GRACE", 0.0)
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "b.svg").write_text(SVG)
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "items.csv").write_text("item,image\ntea,a.png\nmilk,b.svg\nwine,\n")
    session = PreferenceSession(read_items(tmp_path / "items.csv"), tmp_path / "answers.jsonl")
    with PreferenceServer(session, PageOptions(title="drinks")) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()
    session.close()


class Connection(http.client.HTTPConnection):
    """Sends any bytes as a path."""

    def _encode_request(self, request):
        return request.encode("latin-1")


def ask(server, method, path, *, host=None, origin="own", body=None, headers=()):
    """One request, with what is asked for wrong in it; gives status, headers, body."""
    line = Connection("127.0.0.1", server.port, timeout=120)
    own = f"127.0.0.1:{server.port}"
    line.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for one in [own] if host is None else host if isinstance(host, list) else [host]:
        line.putheader("Host", one)
    if origin == "own":
        if method == "POST":
            line.putheader("Origin", f"http://{own}")
    elif origin is not None:
        line.putheader("Origin", origin)
    if body is not None:
        line.putheader("Content-Type", "application/json")
        line.putheader("Content-Length", str(len(body)))
    for name, value in headers:
        line.putheader(name, value)
    line.endheaders(body)
    reply = line.getresponse()
    found = reply.status, dict(reply.getheaders()), reply.read()
    line.close()
    return found


def ask_own(server, method, route, *, number=None, **how):
    """Ask for a route of the page, with a good body where one is needed; gives the same."""
    if method == "POST":
        number = server.session.n_events if number is None else number
        how = {"body": said(number)} | how
    return ask(server, method, f"/{server.token}/{route}", **how)


def said(number, answer="left"):
    return json.dumps({"number": number, "answer": answer}).encode()


def state_of(server, method, route, **how):
    """Ask for JSON; gives the status and the data."""
    status, _, body = ask_own(server, method, route, **how)
    return status, json.loads(body)


def unchanged(server):
    return server.session.n_events == 0 and server.session.n_answers == 0


def test_it_listens_at_this_machine_only(server):
    assert server.server_address[0] == "127.0.0.1"
    assert server.url == f"http://127.0.0.1:{server.port}/{server.token}/"
    assert len(server.token) >= 40
    with pytest.raises(DataError, match=f"port {server.port} cannot be used"):
        PreferenceServer(server.session, port=server.port)


@pytest.mark.parametrize(("method", "route"), ROUTES)
def test_every_route_works_for_the_page(server, method, route):
    if route == "undo":
        server.session.answer("left")
    status, headers, body = ask_own(server, method, route)
    assert status == 200
    for name, value in (
        ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"),
        ("Referrer-Policy", "no-referrer"), ("Cache-Control", "no-store"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
    ):  # fmt: skip
        assert headers[name] == value
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"] or route == "image/0"
    assert server.token.encode() not in body
    assert not any(server.token in value for value in headers.values())
    assert "Access-Control-Allow-Origin" not in headers
    assert "Set-Cookie" not in headers
    assert "Python" not in headers["Server"]


@pytest.mark.parametrize(("method", "route"), ROUTES)
def test_wrong_hosts(server, method, route):
    port = server.port
    right = f"127.0.0.1:{port}"
    for host in (
        "evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}",
        f"{right}.evil.example", f"127.0.0.1.evil.example:{port}", f"0.0.0.0:{port}",
        f"[::1]:{port}", f"user@{right}", f"{right}, evil.example", "", [],
        [right, "evil.example"], [right, right],
    ):  # fmt: skip
        status, _, body = ask_own(server, method, route, host=host)
        assert status == 403, host
        assert b"has another address" in body
    assert unchanged(server)
    local = {"host": f"LOCALHOST:{port}", "origin": f"http://localhost:{port}"}
    assert ask_own(server, method, route, **local)[0] == (409 if route == "undo" else 200)


@pytest.mark.parametrize(("method", "route"), ROUTES)
def test_wrong_origins(server, method, route):
    port = server.port
    right = f"http://127.0.0.1:{port}"
    wrong = [
        "http://evil.example", "null", "", f"https://127.0.0.1:{port}", "http://127.0.0.1",
        f"http://127.0.0.1:{port + 1}", f"{right}.evil.example", f"http://localhost:{port}",
        f"{right}/", *([None] if method == "POST" else []),
    ]  # fmt: skip
    for origin in wrong:
        status, headers, _ = ask_own(server, method, route, origin=origin)
        assert status == 403, origin
        assert "Access-Control-Allow-Origin" not in headers
    for site in ("cross-site", "same-site", "other"):
        assert ask_own(server, method, route, headers=[("Sec-Fetch-Site", site)])[0] == 403, site
    assert unchanged(server)


@pytest.mark.parametrize(("method", "route"), ROUTES)
def test_wrong_tokens(server, method, route):
    token = server.token
    for path in (
        f"/{route}", f"//{route}", f"/x/{route}", f"/{token[:-1]}/{route}", f"/{token}x/{route}",
        f"/{token.swapcase()}/{route}", f"/x/../{token}/{route}", f"/%2e%2e/{token}/{route}",
        f"/{route}?token={token}", f"/\u00e9/{route}".encode().decode("latin-1"),
        f"http://127.0.0.1:{server.port}/{token}/{route}", "*",
    ):  # fmt: skip
        status, _, body = ask(server, method, path, body=said(0) if method == "POST" else None)
        assert status == 403, path
        assert b"token" in body
    assert unchanged(server)


TRAVERSALS = [
    "../secret.txt", "..%2fsecret.txt", "%2e%2e/secret.txt", "image/../secret.txt",
    "image/..%2f..%2fsecret.txt", "image//0", "image/0/", "image/0/../1", "image/-1", "image/+0",
    "image/00", "image/0x0", "image/0%00", "image/\u0660".encode().decode("latin-1"),
    "image/9999", "image/99999999999999999999", "image/2", "image/a.png", "image/", "image",
    "page/page.js", "page.html", "page.js/", "page.js?x", "./page.js", "/etc/passwd",
    "//etc/passwd", "..\\secret.txt", "file:///etc/passwd", "secret.txt", "items.csv",
    "answers.jsonl", "state/", "wait", "wait/", "wait/-1", "wait/01", "wait/9999999999", "STATE",
    "state?token", ".git/config", "server.py",
]  # fmt: skip


@pytest.mark.parametrize("route", TRAVERSALS)
def test_nothing_else_is_there(server, route):
    for method in ("GET", "POST"):
        status, _, body = ask_own(server, method, route)
        assert status in (404, 405) if method == "POST" else status == 404
        assert b"secret" not in body
    assert unchanged(server)


@pytest.mark.parametrize(
    "method", ["HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"]
)
def test_other_methods(server, method):
    for route in GETS + POSTS:
        status, headers, body = ask_own(server, method, route, origin=None)
        assert status == 405
        assert b"secret" not in body
        assert "Access-Control-Allow-Origin" not in headers
    for own, route in ROUTES:  # (a route takes its own method)
        assert ask_own(server, "POST" if own == "GET" else "GET", route)[0] == 405
    assert unchanged(server)


@pytest.mark.parametrize(("method", "route"), ROUTES)
def test_oversized_bodies(server, method, route):
    refused = 413 if method == "POST" else 400
    large = b'{"number": 0, "answer": "left", "x": "' + b"x" * LARGEST_BODY + b'"}'
    status, headers, _ = ask_own(server, method, route, body=large)
    assert status == refused
    assert headers["Connection"] == "close"
    # a length that is only said: nobody waits for a gigabyte
    lengths = [("Content-Type", "application/json"), ("Content-Length", "1073741824")]
    assert ask_own(server, method, route, body=None, headers=lengths)[0] == refused
    assert unchanged(server)


JSON = ("Content-Type", "application/json")


@pytest.mark.parametrize("route", POSTS)
@pytest.mark.parametrize(("headers", "body", "expected"), [
    ([JSON], None, 411),
    ([("Transfer-Encoding", "chunked"), JSON], None, 411),
    ([("Content-Length", "5"), ("Content-Length", "6")], None, 411),
    ([("Content-Length", "-1"), JSON], None, 400),
    ([("Content-Length", "1e3"), JSON], None, 400),
    ([("Content-Length", "2"), ("Content-Type", "text/plain")], None, 415),
    ([("Content-Length", "2")], None, 415),
    ((), b"{}", 400),
    ((), b"[]", 400),
    ((), b"\xff", 400),
    ((), b"", 400),
    ((), b"[" * 4000, 400),
    ((), b'{"number": "0", "answer": "left"}', 400),
    ((), b'{"number": true, "answer": "left"}', 400),
    ((), b'{"number": 0.0, "answer": "left"}', 400),
    ((), b'{"number": 99, "answer": "left"}', 409),
])  # fmt: skip
def test_bad_bodies(server, route, headers, body, expected):
    status, found = state_of(server, "POST", route, headers=headers, body=body)
    assert status == expected
    assert found["error"]
    assert unchanged(server)


def test_no_such_answer(server):
    for answer in ("up", None, 1, ["left"], {}, "LEFT"):
        assert ask_own(server, "POST", "answer", body=said(0, answer))[0] == 400
    assert unchanged(server)


def raw_reply(server, sent, *, end=False):
    with socket.create_connection(("127.0.0.1", server.port), timeout=120) as line:
        line.sendall(sent)
        if end:
            line.shutdown(socket.SHUT_WR)
        reply = b""
        with contextlib.suppress(ConnectionError):
            while part := line.recv(4096):
                reply += part
    return reply


def test_a_body_is_not_the_next_request(server):
    """What stands in a refused body is not taken for a request of its own."""
    inner = (
        f"POST /{server.token}/answer HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"Origin: http://127.0.0.1:{server.port}\r\nContent-Type: application/json\r\n"
        'Content-Length: 32\r\n\r\n{"number": 0, "answer": "left"}  '
    )
    outer = f"GET /wrong/ HTTP/1.1\r\nHost: x\r\nContent-Length: {len(inner)}\r\n\r\n"
    assert raw_reply(server, (outer + inner).encode()).count(b"HTTP/1.1 ") == 1
    assert unchanged(server)


def test_a_body_cut_short(server):
    """Even if what has come is a whole answer."""
    head = (
        f"POST /{server.token}/answer HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"Origin: http://127.0.0.1:{server.port}\r\nContent-Type: application/json\r\n"
        "Content-Length: 33\r\n\r\n"
    )
    reply = raw_reply(server, head.encode() + said(0), end=True)
    assert b" 400 " in reply
    assert b"cut short" in reply
    assert unchanged(server)


@pytest.mark.parametrize("raw", [
    b"\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00",
    b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n",
    b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost\r\n\r\n",
])  # fmt: skip
def test_broken_requests(server, raw):
    reply = raw_reply(server, raw, end=True)
    assert b"Traceback" not in reply
    assert b" 200 " not in reply
    assert ask_own(server, "GET", "state")[0] == 200


def test_pictures_are_inert_and_stay_the_same_file(server, tmp_path):
    status, headers, body = ask_own(server, "GET", "image/0")
    assert (status, headers["Content-Type"], body) == (200, "image/png", PNG)
    _, headers, body = ask_own(server, "GET", "image/1")
    assert (headers["Content-Type"], body.decode()) == ("image/svg+xml", SVG)
    assert "sandbox" in headers["Content-Security-Policy"]
    assert "script-src" not in headers["Content-Security-Policy"]
    (tmp_path / "a.png").unlink()
    (tmp_path / "a.png").symlink_to(tmp_path / "secret.txt")
    status, _, body = ask_own(server, "GET", "image/0")
    assert status == 404
    assert body != b"secret"


def test_pictures_of_a_folder_that_became_a_link_are_refused(server, tmp_path):
    moved, other = (tmp_path.with_name(f"{tmp_path.name}-{one}") for one in ("moved", "other"))
    other.mkdir()
    (other / "b.svg").write_text("secret")
    tmp_path.rename(moved)
    tmp_path.symlink_to(other)
    try:
        status, _, body = ask_own(server, "GET", "image/1")
    finally:
        tmp_path.unlink()
        moved.rename(tmp_path)
    assert status == 404
    assert b"secret" not in body
    assert ask_own(server, "GET", "image/1")[0] == 200


def test_a_way_through(server):
    state = state_of(server, "GET", "state")[1]
    assert (state["title"], state["items"], state["answers"]) == ("drinks", 3, 0)
    for word in ("left", "tie", "skip"):
        body = said(state["number"], word)
        status, state = state_of(server, "POST", "answer", body=body)
        assert status == 200
    status, again = state_of(server, "POST", "answer", body=body)  # sent twice
    assert status == 409
    assert again["number"] == state["number"] == 3
    found = state_of(server, "GET", "ranking")[1]
    assert (found["number"], found["ranked"], len(found["ranking"])) == (3, 3, 3)
    _, headers, body = ask_own(server, "GET", "answers.csv")
    assert headers["Content-Disposition"].startswith("attachment")
    assert body.decode().splitlines()[0] == "winner,loser,tie,weight"
    assert len(body.decode().splitlines()) == 3
    status, undone = state_of(server, "POST", "undo")
    assert (status, undone["answers"]) == (200, 2)
    assert {one["name"] for one in state["ranking"]} == {"tea", "milk", "wine"}


def test_a_full_disk_is_said(server, monkeypatch):
    def write(number, line):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        status, found = state_of(server, "POST", "answer")
    assert status == 507
    assert "no space left" in found["error"]
    assert unchanged(server)


def test_many_at_once_are_taken_one_by_one(server):
    with ThreadPoolExecutor(8) as pool:
        replies = pool.map(lambda _: ask_own(server, "POST", "answer", number=0)[0], range(8))
    assert sorted(replies) == [200] + [409] * 7
    assert server.session.n_answers == 1


def test_waiting_pages_hear_of_answers_and_of_the_end(server, monkeypatch):
    monkeypatch.setattr("crucial.preferences.server._PATIENCE", 300.0)

    def wait(replies, known):
        replies.append(state_of(server, "GET", f"wait/{known}")[1])

    def waiting(n, replies, known):
        threads = [threading.Thread(target=wait, args=(replies, known)) for _ in range(n)]
        for one in threads:
            one.start()
        # (one that is sent away counts until its reply is written)
        while (server._waiting, len(replies)) != (min(n, 3), max(0, n - 3)):
            time.sleep(0.005)
        return threads

    replies = []
    threads = waiting(5, replies, 0)  # more than may wait: the others are sent away at once
    assert sum(one["later"] for one in replies) == len(replies) == 2
    assert ask_own(server, "POST", "answer")[0] == 200
    for one in threads:
        one.join(120)
    told = sorted((one["number"], one["ended"]) for one in replies)
    assert told == [(0, False)] * 2 + [(1, False)] * 3
    wait(replies, 0)  # what was missed is told at once
    assert replies[-1]["number"] == 1
    last = []
    threads = waiting(1, last, 1)
    server.end()
    threads[0].join(120)
    assert last == [{"number": 1, "ended": True, "later": False}]


def test_a_page_between_two_requests_hears_of_the_end(server, monkeypatch):
    monkeypatch.setattr("crucial.preferences.server._RETURN", 60.0)
    monkeypatch.setattr("crucial.preferences.server._GRACE", 0.0)
    server.session.answer("left")
    ask_own(server, "GET", "wait/0")  # answered at once, and about to ask again
    ending = threading.Thread(target=server.end)
    ending.start()
    ending.join(0.3)
    news = state_of(server, "GET", "wait/1")[1]
    ending.join(60)
    assert news["ended"]
    assert not ending.is_alive()
