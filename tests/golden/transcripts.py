"""What commands print and write on fixed files: output, errors, exit codes, digests of files.

``transcripts.txt`` has the commands, in lines that begin with ``$``, and the result of each. Most
are of ``crucial``; ``printf`` and others prepare files. ``python tests/golden/transcripts.py`` runs
them again and writes that file anew; a change of a text is reviewed as a change of it. A new
refusal is a new line there. Clocks stand still, so that no text has a time in it.
"""

import hashlib
import os
import re
import shlex
import subprocess
import tempfile
from pathlib import Path
from unittest.mock import patch

import numpy as np
from click.testing import CliRunner

from crucial.cli.app import app

FILE = Path(__file__).parent / "transcripts.txt"
_PROMPT = "$ "


def _rows(n_queries: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = np.round((random.random((8 * n_queries, 4)) + random.random((8 * n_queries, 4)) - 1) * 9, 1)
    y = np.digitize(X[:, 1] + 0.5 * X[:, 0] + 3.0 * random.random(len(X)), [1.0, 4.0])
    return X, y, np.repeat(np.arange(n_queries), 8)


def make_files(folder: Path) -> None:
    """Write the fixed files."""
    texts: dict[str, list[str]] = {}
    for name, n_queries, seed in (("train", 12, 0), ("valid", 6, 1), ("test", 6, 2)):
        X, y, qid = _rows(n_queries, seed)
        texts[f"{name}.txt"] = [
            f"{y[i]} qid:q{qid[i]} {' '.join(f'{j + 1}:{v}' for j, v in enumerate(X[i]))} # d{i}"
            for i in range(len(y))
        ]
        texts[f"{name}.csv"] = ["query,url,grade,bm25,clicks,age,length"] + [
            f"q{qid[i]},d{i},{y[i]},{','.join(map(str, X[i]))}" for i in range(len(y))
        ]
        if name == "train":
            texts["two.csv"] = ["good,bm25,clicks,colour"] + [
                f"{int(y[i] > 0)},{X[i, 0]},{X[i, 1]},{('red', 'blue', '')[i % 3]}"
                for i in range(len(y))
            ]
            texts["pairs.tsv"] = [f"{i}\t{i + 1}\t2" for i in range(0, 40, 8)]
    texts["broken.txt"] = [*texts["train.txt"][:3], "1 qid:q1 1:x 2:3"]
    texts["broken.csv"] = [*texts["train.csv"][:3], "q1,d9,1,2"]
    texts["empty.txt"] = []
    random = np.random.default_rng(5)
    good = random.random((10, 12)) < 0.3
    texts["qrels.txt"] = [f"t{q} 0 doc{d} {int(good[q, d])}" for q in range(10) for d in range(12)]
    for name, noise in (("a", 1.5), ("b", 2.5), ("c", 4.0)):
        scores = np.round(good + noise * random.random((10, 12)), 3)
        lines = []
        for q in range(10):
            order = np.argsort(-scores[q], kind="stable")[:9]
            lines += [f"t{q} Q0 doc{d} {k + 1} {scores[q, d]} {name}" for k, d in enumerate(order)]
        texts[f"{name}.run"] = lines
    items = ["ada", "bea", "cleo", "dot"]
    texts["battles.csv"] = ["winner,loser,tie,judge,task"]
    for k in range(120):
        i, j = random.choice(4, 2, replace=False)
        first = random.random() < 0.5 + 0.12 * (j - i)
        a, b = (items[i], items[j]) if first else (items[j], items[i])
        texts["battles.csv"].append(
            f"{a},{b},{int(k % 11 == 0)},j{k % 5},{('code', 'prose')[k % 2]}"
        )
    texts["broken-battles.csv"] = ["winner,loser", "ada,bea", "ada"]
    texts["items.csv"] = ["item,size,price"] + [f"{one},{k},{5 - k}" for k, one in enumerate(items)]
    texts["orders.toc"] = [
        "# FILE NAME: orders.toc", "# NUMBER ALTERNATIVES: 3", "# NUMBER VOTERS: 6",
        "# ALTERNATIVE NAME 1: tea", "# ALTERNATIVE NAME 2: coffee", "# ALTERNATIVE NAME 3: milk",
        "3: 1,2,3", "2: 2,1,3", "1: 3,{1,2}",
    ]  # fmt: skip
    texts["ratings.csv"] = ["user,item,rating"] + [
        f"u{u},film{f},{(u * 3 + f * (1 + u % 3)) % 5 + 1}"
        for u in range(14)
        for f in range(16)
        if (u * 5 + f * 7) % 4
    ]
    for name, lines in texts.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines))


def _six_places(text: str) -> str:
    """Return a leaderboard's text with its numbers as promised: to rounding, not to the byte."""
    return re.sub(r"-?\d+\.\d+(e-?\d+)?", lambda one: str(round(float(one[0]), 6) + 0.0), text)


def _contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def run(command: str, folder: Path) -> str:
    """Return the transcript of a command: exit code, both streams, and files that it wrote."""
    program, *words = shlex.split(command)
    if program != "crucial":
        subprocess.run(command, shell=True, check=True)
        return f"{_PROMPT}{command}\n"
    before = _contents(folder)
    done = CliRunner().invoke(app, words)
    lines = [f"{_PROMPT}{command}", f"exit {done.exit_code}"]
    for stream, text in (("", done.stdout), ("! ", done.stderr)):
        text = re.sub(r"(on thresholds, \w+) [\d.]+\d:", r"\1 VERSION:", text)
        if words[:1] == ["pairs"] and words[-2:] == ["-o", "-"]:
            text = _six_places(text)
        text = re.sub(r"([;?] known): .*", r"\1: ...", text)  # (registers have tests of their own)
        lines += [f"{stream}{line}".rstrip() for line in text.splitlines()]
    for path, content in _contents(folder).items():
        if before.get(path) != content:
            if path.name.startswith("board"):
                content = _six_places(content.decode()).encode()
            lines.append(f"wrote {path.name} {hashlib.sha256(content).hexdigest()[:12]}")
    return "\n".join(lines) + "\n"


def commands() -> list[str]:
    """Return the commands of the stored transcripts."""
    lines = FILE.read_text().splitlines()
    return [line.removeprefix(_PROMPT) for line in lines if line.startswith(_PROMPT)]


def transcripts() -> list[str]:
    """Return the transcripts of all commands, run one after the other in one folder."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        try:
            make_files(Path())
            with patch("time.perf_counter", lambda: 0.0), patch("time.process_time", lambda: 0.0):
                return [run(command, Path()) for command in commands()]
        finally:
            os.chdir(here)


if __name__ == "__main__":
    FILE.write_text("\n".join(transcripts()))
