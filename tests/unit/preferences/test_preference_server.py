"""The local page is closed: every route against every way in that is not the page's own."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time

import pytest

from crucial.errors import DataError
from crucial.preferences.server import LARGEST_BODY, PageOptions, PreferenceServer
from crucial.preferences.session import PreferenceSession, read_items

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
SCRIPTS = ["dom.js", "markdown.js", "ranking.js", "result.js", "page.js"]
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


def ask(server, method, path, *, host=None, origin="own", body=None, headers=(), token=None):
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


def own(server, route):
    return f"/{server.token}/{route}"


def good_body(server, method):
    said = {"number": server.session.n_events, "answer": "left"}
    return json.dumps(said).encode() if method == "POST" else None


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
    status, headers, body = ask(server, method, own(server, route), body=good_body(server, method))
    assert status == 200
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    if route not in ("image/0",):
        assert "unsafe" not in headers["Content-Security-Policy"]
    assert server.token.encode() not in body
    assert not any(server.token in value for value in headers.values())
    assert "Access-Control-Allow-Origin" not in headers
    assert "Set-Cookie" not in headers
    assert "Python" not in headers["Server"]


def wrong_hosts(port):
    return [
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1",
        f"127.0.0.1:{port + 1}",
        f"127.0.0.1:{port}.evil.example",
        f"127.0.0.1.evil.example:{port}",
        f"0.0.0.0:{port}",
        f"[::1]:{port}",
        f"user@127.0.0.1:{port}",
        f"127.0.0.1:{port}, evil.example",
        "",
        [],
        [f"127.0.0.1:{port}", "evil.example"],
        [f"127.0.0.1:{port}", f"127.0.0.1:{port}"],
    ]


@pytest.mark.parametrize(("method", "route"), ROUTES)
def test_wrong_hosts(server, method, route):
    for host in wrong_hosts(server.port):
        status, _, body = ask(
            server, method, own(server, route), host=host, body=good_body(server, method)
        )
        assert status == 403, host
        assert b"has another address" in body
    assert unchanged(server)
    host = f"LOCALHOST:{server.port}"
    status, _, _ = ask(
        server, method, own(server, route), host=host, body=good_body(server, method),
        origin=f"http://localhost:{server.port}",
    )  # fmt: skip
    assert status == (409 if route == "undo" else 200)


@pytest.mark.parametrize(("method", "route"), ROUTES)
def test_wrong_origins(server, method, route):
    port = server.port
    wrong = [
        "http://evil.example",
        "null",
        "",
        f"https://127.0.0.1:{port}",
        "http://127.0.0.1",
        f"http://127.0.0.1:{port + 1}",
        f"http://127.0.0.1:{port}.evil.example",
        f"http://localhost:{port}",
        f"http://127.0.0.1:{port}/",
    ] + ([None] if method == "POST" else [])
    for origin in wrong:
        status, headers, _ = ask(
            server, method, own(server, route), origin=origin, body=good_body(server, method)
        )
        assert status == 403, origin
        assert "Access-Control-Allow-Origin" not in headers
    for site in ("cross-site", "same-site", "other"):
        status, _, _ = ask(
            server, method, own(server, route), body=good_body(server, method),
            headers=[("Sec-Fetch-Site", site)],
        )  # fmt: skip
        assert status == 403, site
    assert unchanged(server)


@pytest.mark.parametrize(("method", "route"), ROUTES)
def test_wrong_tokens(server, method, route):
    token = server.token
    for path in (
        f"/{route}",
        f"//{route}",
        f"/x/{route}",
        f"/{token[:-1]}/{route}",
        f"/{token}x/{route}",
        f"/{token.swapcase()}/{route}",
        f"/x/../{token}/{route}",
        f"/%2e%2e/{token}/{route}",
        f"/{route}?token={token}",
        f"/\u00e9/{route}".encode().decode("latin-1"),
        f"http://127.0.0.1:{server.port}/{token}/{route}",
        "*",
    ):
        status, _, body = ask(server, method, path, body=good_body(server, method))
        assert status == 403, path
        assert b"token" in body
    assert unchanged(server)


TRAVERSALS = [
    "../secret.txt",
    "..%2fsecret.txt",
    "%2e%2e/secret.txt",
    "image/../secret.txt",
    "image/..%2f..%2fsecret.txt",
    "image//0",
    "image/0/",
    "image/0/../1",
    "image/-1",
    "image/+0",
    "image/00",
    "image/0x0",
    "image/0%00",
    "image/\u0660".encode().decode("latin-1"),
    "image/9999",
    "image/99999999999999999999",
    "image/2",
    "image/a.png",
    "image/",
    "image",
    "page/page.js",
    "page.html",
    "page.js/",
    "page.js?x",
    "./page.js",
    "/etc/passwd",
    "//etc/passwd",
    "..\\secret.txt",
    "file:///etc/passwd",
    "secret.txt",
    "items.csv",
    "answers.jsonl",
    "state/",
    "wait",
    "wait/",
    "wait/-1",
    "wait/01",
    "wait/9999999999",
    "STATE",
    "state?token",
    ".git/config",
    "server.py",
]


@pytest.mark.parametrize("route", TRAVERSALS)
def test_nothing_else_is_there(server, route):
    for method in ("GET", "POST"):
        status, _, body = ask(server, method, own(server, route), body=good_body(server, method))
        assert status in (404, 405) if method == "POST" else status == 404
        assert b"secret" not in body
    assert unchanged(server)


@pytest.mark.parametrize(
    "method", ["HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"]
)
def test_other_methods(server, method):
    for route in GETS + POSTS:
        status, headers, body = ask(server, method, own(server, route), origin=None)
        assert status == 405
        assert b"secret" not in body
        assert "Access-Control-Allow-Origin" not in headers
    assert unchanged(server)


def test_routes_take_their_own_method(server):
    for route in GETS:
        status, _, _ = ask(server, "POST", own(server, route), body=good_body(server, "POST"))
        assert status == 405
    for route in POSTS:
        assert ask(server, "GET", own(server, route))[0] == 405
    assert unchanged(server)


@pytest.mark.parametrize(("method", "route"), ROUTES)
def test_oversized_bodies(server, method, route):
    large = b'{"number": 0, "answer": "left", "x": "' + b"x" * LARGEST_BODY + b'"}'
    status, headers, _ = ask(server, method, own(server, route), body=large)
    assert status == (413 if method == "POST" else 400)
    assert headers["Connection"] == "close"
    # a length that is only said: nobody waits for a gigabyte
    status, _, _ = ask(
        server, method, own(server, route), headers=[("Content-Type", "application/json"),
                                                     ("Content-Length", "1073741824")],
    )  # fmt: skip
    assert status == (413 if method == "POST" else 400)
    assert unchanged(server)


@pytest.mark.parametrize("route", POSTS)
@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        ([("Content-Type", "application/json")], None, 411),
        ([("Transfer-Encoding", "chunked"), ("Content-Type", "application/json")], None, 411),
        ([("Content-Length", "5"), ("Content-Length", "6")], None, 411),
        ([("Content-Length", "-1"), ("Content-Type", "application/json")], None, 400),
        ([("Content-Length", "1e3"), ("Content-Type", "application/json")], None, 400),
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
    ],
)
def test_bad_bodies(server, route, headers, body, expected):
    status, _, said = ask(server, "POST", own(server, route), headers=headers, body=body)
    assert status == expected
    assert json.loads(said)["error"]
    assert unchanged(server)


def test_no_such_answer(server):
    for answer in ("up", None, 1, ["left"], {}, "LEFT"):
        body = json.dumps({"number": 0, "answer": answer}).encode()
        assert ask(server, "POST", own(server, "answer"), body=body)[0] == 400
    assert unchanged(server)


def test_a_body_is_not_the_next_request(server):
    """What stands in a refused body is not taken for a request of its own."""
    inner = (
        f"POST /{server.token}/answer HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"Origin: http://127.0.0.1:{server.port}\r\nContent-Type: application/json\r\n"
        'Content-Length: 32\r\n\r\n{"number": 0, "answer": "left"}  '
    )
    outer = f"GET /wrong/ HTTP/1.1\r\nHost: x\r\nContent-Length: {len(inner)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=120) as line:
        line.sendall((outer + inner).encode())
        said = b""
        while part := line.recv(4096):
            said += part
    assert said.count(b"HTTP/1.1 ") == 1
    assert unchanged(server)


@pytest.mark.parametrize(
    "raw",
    [
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost\r\n\r\n",
    ],
)
def test_broken_requests(server, raw):
    with socket.create_connection(("127.0.0.1", server.port), timeout=120) as line:
        line.sendall(raw)
        line.shutdown(socket.SHUT_WR)
        said = b""
        try:
            while part := line.recv(4096):
                said += part
        except ConnectionError:
            pass
    assert b"Traceback" not in said
    assert b" 200 " not in said
    assert ask(server, "GET", own(server, "state"))[0] == 200


def test_pictures_are_inert_and_stay_the_same_file(server, tmp_path):
    status, headers, body = ask(server, "GET", own(server, "image/0"))
    assert (status, headers["Content-Type"], body) == (200, "image/png", PNG)
    status, headers, body = ask(server, "GET", own(server, "image/1"))
    assert (headers["Content-Type"], body.decode()) == ("image/svg+xml", SVG)
    assert "sandbox" in headers["Content-Security-Policy"]
    assert "script-src" not in headers["Content-Security-Policy"]
    (tmp_path / "a.png").unlink()
    (tmp_path / "a.png").symlink_to(tmp_path / "secret.txt")
    status, _, body = ask(server, "GET", own(server, "image/0"))
    assert status == 404
    assert body != b"secret"


def test_pictures_of_a_folder_that_became_a_link_are_refused(server, tmp_path):
    moved, other = (tmp_path.with_name(f"{tmp_path.name}-{one}") for one in ("moved", "other"))
    other.mkdir()
    (other / "b.svg").write_text("secret")
    tmp_path.rename(moved)
    tmp_path.symlink_to(other)
    try:
        status, _, body = ask(server, "GET", own(server, "image/1"))
    finally:
        tmp_path.unlink()
        moved.rename(tmp_path)
    assert status == 404
    assert b"secret" not in body
    assert ask(server, "GET", own(server, "image/1"))[0] == 200


def test_a_way_through(server):
    _, _, body = ask(server, "GET", own(server, "state"))
    state = json.loads(body)
    assert (state["title"], state["items"], state["answers"]) == ("drinks", 3, 0)
    for word in ("left", "tie", "skip"):
        said = json.dumps({"number": state["number"], "answer": word}).encode()
        status, _, body = ask(server, "POST", own(server, "answer"), body=said)
        assert status == 200
        state = json.loads(body)
    status, _, again = ask(server, "POST", own(server, "answer"), body=said)  # sent twice
    assert status == 409
    assert json.loads(again)["number"] == state["number"] == 3
    _, headers, body = ask(server, "GET", own(server, "answers.csv"))
    assert headers["Content-Disposition"].startswith("attachment")
    assert body.decode().splitlines()[0] == "winner,loser,tie,weight"
    assert len(body.decode().splitlines()) == 3
    undo = json.dumps({"number": 3}).encode()
    status, _, body = ask(server, "POST", own(server, "undo"), body=undo)
    assert (status, json.loads(body)["answers"]) == (200, 2)
    assert {one["name"] for one in state["ranking"]} == {"tea", "milk", "wine"}


def test_a_full_disk_is_said(server, monkeypatch):
    import errno
    import os

    def write(number, line):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", write)
    said = json.dumps({"number": 0, "answer": "left"}).encode()
    status, _, body = ask(server, "POST", own(server, "answer"), body=said)
    monkeypatch.undo()
    assert status == 507
    assert "no space left" in json.loads(body)["error"]
    assert unchanged(server)


def test_many_at_once_are_taken_one_by_one(server):
    results = []

    def click():
        said = json.dumps({"number": 0, "answer": "left"}).encode()
        results.append(ask(server, "POST", own(server, "answer"), body=said)[0])

    threads = [threading.Thread(target=click) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(results) == [200] + [409] * 7
    assert server.session.n_answers == 1


def test_waiting_pages_hear_of_answers_and_of_the_end(server, monkeypatch):
    monkeypatch.setattr("crucial.preferences.server._PATIENCE", 300.0)

    def wait(replies, known):
        replies.append(json.loads(ask(server, "GET", own(server, f"wait/{known}"))[2]))

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
    said = json.dumps({"number": 0, "answer": "left"}).encode()
    assert ask(server, "POST", own(server, "answer"), body=said)[0] == 200
    for one in threads:
        one.join(120)
    assert (
        sorted((one["number"], one["ended"]) for one in replies)
        == [(0, False)] * 2 + [(1, False)] * 3
    )
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
    ask(server, "GET", own(server, "wait/0"))  # answered at once, and about to ask again
    ending = threading.Thread(target=server.end)
    ending.start()
    ending.join(0.3)
    news = json.loads(ask(server, "GET", own(server, "wait/1"))[2])
    ending.join(60)
    assert news["ended"]
    assert not ending.is_alive()


def test_rankings(server):
    server.session.answer("left")
    _, _, body = ask(server, "GET", own(server, "ranking"))
    found = json.loads(body)
    assert (found["number"], found["ranked"], len(found["ranking"])) == (1, 2, 2)
