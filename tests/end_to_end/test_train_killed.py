"""``crucial train`` killed at random moments goes on to the same model, to the byte.

One process imports everything and forks a trainer again and again, so that a kill costs no start.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SCRIPT = """
import json, os, random, signal, sys, time
import crucial, crucial.distributed.ranker as fitting
from crucial.cli.app import app
from crucial.distributed.ranker import Checkpoint

ON_CLUSTER, WANTED = sys.argv[1] == "checkpoint", int(sys.argv[2])
WORDS = ["train", "train.txt", "-m", "ndcg@5", "-o", "model.json", "--jobs", "1"]
if ON_CLUSTER:
    import distributed
    # (a checkpoint after every round, not once a minute)
    fitting.Checkpoint = lambda *given, **how: Checkpoint(*given, **{**how, "every": 0})
    WORDS += ["--rounds", "40", "--checkpoint", "rounds.json"]
else:
    from crucial.lab import auto_candidates as candidates, auto_ranker as ranker
    # (few rounds and folds: what is tested does not depend on their number)
    def small(*given):
        found = candidates.candidates_for(*given)
        for one in found:
            if hasattr(one.estimator, "n_estimators"):
                one.estimator.set_params(n_estimators=6)
        return found
    stages = candidates.Stage(4, 1, 1, 10**9), candidates.Stage(2, 1, 3, 10**9)
    ranker.candidates_for = small
    ranker.plan_for = lambda budget, facts: candidates.Plan(3, stages, 2)
    WORDS += ["--ranker", "auto", "--set", "budget=quick", "--set", "store=cells"]

def train():
    words = list(WORDS)
    if not ON_CLUSTER:
        app(words, prog_name="crucial")
    if os.path.exists("rounds.json"):
        words += ["--resume", "rounds.json"]
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False,
        dashboard_address=":0", worker_dashboard_address=None,
    ) as cluster:
        app([*words, "--dask=" + cluster.scheduler_address], prog_name="crucial")

def start():
    number = os.fork()
    if number:
        return number
    code = 70
    try:
        sys.stdout = open(os.devnull, "w")
        train()
    except SystemExit as end:
        code = end.code or 0
    finally:
        os._exit(code)

def ended(child):
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

def clean():
    for one in os.scandir("."):
        if one.is_file() and one.name != "train.txt":
            os.unlink(one)
    if os.path.isdir("cells"):
        for one in os.scandir("cells"):
            os.unlink(one)

def model():
    return open("model.json", "rb").read() if os.path.exists("model.json") else None

def length():
    # how much is kept; a torn file ends this program
    if os.path.exists("rounds.json"):
        return len(json.load(open("rounds.json"))["content"]["rounds"])
    if os.path.exists("cells/cells.jsonl"):
        return open("cells/cells.jsonl", "rb").read().count(b"\\n")
    return 0

began = time.monotonic()
assert os.waitpid(start(), 0)[1] == 0
whole, seconds = model(), time.monotonic() - began
assert whole is not None
clean()
chance = random.Random(WANTED)
kills, ends, kept = 0, 0, []
while kills < WANTED or not ends:
    before = length()
    child = start()
    if kills < WANTED:
        if kills % 2:
            time.sleep(chance.uniform(0, seconds))
        else:  # soon after something more was kept
            while length() == before and not ended(child):
                time.sleep(0.002)
            time.sleep(chance.uniform(0, seconds / 10))
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    assert length() >= before, (length(), before)
    assert model() in (None, whole)
    if os.WIFSIGNALED(status):
        kills += 1
        kept.append(length())
    else:
        assert status == 0 and model() == whole, status
        ends += 1
        clean()
print(json.dumps({"kills": kills, "ends": ends, "kept": kept, "seconds": seconds}))
"""


def killed(folder: Path, how: str, kills: int) -> dict[str, Any]:
    """Kill a training that many times; returns what was counted."""
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 4)).round(3)
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] + 0.3 * random.normal(size=len(X)), [0.3, 1.2])
    rows = (" ".join(f"{j + 1}:{value}" for j, value in enumerate(one)) for one in X)
    lines = [f"{y[k]} qid:{k // 10} {row}\n" for k, row in enumerate(rows)]
    (folder / "train.txt").write_text("".join(lines))
    command = [sys.executable, "-c", SCRIPT, how, str(kills)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["kills"] == kills
    assert found["ends"]
    assert any(found["kept"])
    return found


@pytest.mark.parametrize("kills", [2, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("how", ["checkpoint", "auto"])
def test_kills(tmp_path: Path, how: str, kills: int) -> None:
    if how == "checkpoint":
        pytest.importorskip("distributed")
    found = killed(tmp_path, how, kills)
    # (many fell within the training, not before it only)
    assert kills == 2 or len(set(found["kept"])) > 10
