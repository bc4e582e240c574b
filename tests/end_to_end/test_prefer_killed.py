"""``crucial prefer`` killed while answers come: what was acknowledged is there afterwards."""

import http.client
import json
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from crucial.io.comparisons import read_comparisons


class Page:
    """The program, and a client that answers as its page does."""

    def __init__(self, items: Path) -> None:
        command = [sys.executable, "-m", "crucial", "prefer", str(items), "--no-open"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, **pipes)
        self.lines: list[str] = []
        for line in self.process.stdout:
            self.lines.append(line)
            if line.startswith("Compare at "):
                break
        else:
            raise AssertionError(self.process.stderr.read())
        parts = urlsplit(line.split()[-1])
        self.host, self.path = parts.netloc, parts.path

    def ask(self, route: str, body: dict[str, object] | None = None) -> dict[str, object]:
        line = http.client.HTTPConnection(self.host, timeout=300)
        headers = {"Origin": f"http://{self.host}", "Content-Type": "application/json"}
        if body is None:
            line.request("GET", self.path + route)
        else:
            line.request("POST", self.path + route, json.dumps(body), headers)
        reply = line.getresponse()
        said = json.loads(reply.read())
        assert reply.status == 200, said
        return said

    def end(self, how: int) -> str:
        self.process.send_signal(how)
        out, _ = self.process.communicate(timeout=300)
        return out


def answer_until_it_dies(page: Page, acknowledged: list[int], seed: int) -> None:
    rng = random.Random(seed)
    try:
        state = page.ask("state")
        while True:
            if state["answers"] > 3 and rng.random() < 0.2:
                state = page.ask("undo", {"number": state["number"]})
            else:
                word = rng.choice(["left", "right", "tie", "skip"])
                state = page.ask("answer", {"number": state["number"], "answer": word})
            acknowledged[:] = [state["number"], state["answers"]]
    except (OSError, http.client.HTTPException, ValueError):
        pass


def kill_again_and_again(tmp_path: Path, kills: int, seed: int = 0) -> None:
    items = tmp_path / "items.txt"
    items.write_text("".join(f"item {k}\n" for k in range(9)))
    rng = random.Random(seed)
    acknowledged = [0, 0]
    for number in range(kills):
        page = Page(items)
        state = page.ask("state")
        # what was acknowledged, and at most the one answer that was under way
        assert state["number"] - acknowledged[0] in (0, 1)
        acknowledged = [state["number"], state["answers"]]
        if number:
            assert page.lines[0].startswith(f"Continuing after {state['answers']} answer")
        told = (page, acknowledged, kills * seed + number)
        client = threading.Thread(target=answer_until_it_dies, args=told)
        client.start()
        # At least two answers more, however busy the machine is, and soon after them.
        while acknowledged[0] < state["number"] + 2 and client.is_alive():
            time.sleep(0.002)
        time.sleep(rng.uniform(0.0, 0.2))
        page.end(signal.SIGKILL)
        client.join()
    page = Page(items)
    state = page.ask("state")
    assert state["number"] - acknowledged[0] in (0, 1)
    assert state["number"] > kills
    out = page.end(signal.SIGTERM)
    assert page.process.returncode == 0
    assert f"{state['answers']} answer" in out
    lines = (tmp_path / "items.answers.jsonl").read_bytes().splitlines()
    events = [json.loads(line) for line in lines]
    assert [event["n"] for event in events[1:]] == list(range(1, state["number"] + 1))
    target = tmp_path / "answers.csv"
    command = [sys.executable, "-m", "crucial", "prefer", str(items), "--export", str(target)]
    subprocess.run(command, check=True, capture_output=True)
    undone = {event["undo"] for event in events[1:] if "undo" in event}
    told = [e for e in events[1:] if "undo" not in e and e["n"] not in undone]
    answers = sum(event["answer"] != "skip" for event in told)
    assert len(read_comparisons(target)) == state["answers"] == answers


@pytest.mark.parametrize(
    ("kills", "seed"), [(3, 0), *(pytest.param(50, k, marks=pytest.mark.slow) for k in range(4))]
)
def test_kills(tmp_path, kills, seed):
    kill_again_and_again(tmp_path, kills, seed)


def test_ctrl_c_ends_with_the_ranking(tmp_path):
    items = tmp_path / "items.txt"
    items.write_text("tea\nmilk\nwine\n")
    page = Page(items)
    state = page.ask("answer", {"number": 0, "answer": "left"})
    first = state["ranking"][0]["name"]
    command = [sys.executable, "-m", "crucial", "prefer", str(items), "--no-open"]
    second = subprocess.run(command, capture_output=True, text=True)
    assert second.returncode == 2
    assert "is open in another 'crucial prefer'" in second.stderr
    out = page.end(signal.SIGINT)
    assert page.process.returncode == 0
    assert "1 answer\n" in out
    assert f"1 (1-2)   {first}" in out
    assert "1 item not compared yet" in out
