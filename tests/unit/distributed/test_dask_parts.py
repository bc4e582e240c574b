"""Parts on Dask workers: lost and slow workers, Ctrl-C, a lost scheduler."""

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import suppress

import distributed
import pytest
from sklearn.base import clone

import dask
from crucial import GradientRanker, RankBoost
from crucial.distributed import transport
from crucial.distributed.ranker import connected
from crucial.distributed.transport import DaskParts, LocalParts
from crucial.errors import ClusterError, ParameterError
from naive.cuts import Problem, assert_same, fit_parted
from refusals import refused
from toy_parts import (
    AskingRecipe,
    DyingRecipe,
    HungryRecipe,
    ToyPart,
    ToyRecipe,
    UnreadableRecipe,
    chain,
    local_chain,
    local_client,
)

N_PARTS = 5


@pytest.fixture(scope="module")
def client():
    with local_client(2, processes=True) as client:
        yield client


@pytest.fixture
def doomed_client():
    """A client for many kills: workers that Dask gives up on are started again."""
    with local_client(2, processes=True) as client:
        client.cluster.adapt(minimum=2, maximum=2)
        yield client


def parts_on(client, n_parts=N_PARTS, pause=0.0, **settings):
    return DaskParts(client, [ToyRecipe(seed, pause) for seed in range(n_parts)], **settings)


def kill(client, how=signal.SIGKILL):
    """Kill a worker; return its process."""
    for _ in range(600):
        workers = sorted(client.nthreads())
        # (a worker may be gone before it is asked, or before it is killed: then another one)
        with suppress(OSError):
            if workers:
                worker = random.choice(workers)
                process = client.run(os.getpid, workers=[worker])[worker]
                time.sleep(0.2)  # (Dask gives up on a worker that dies while it starts)
                os.kill(process, how)
                return process
        time.sleep(0.1)
    raise AssertionError("there was no worker to kill for a minute")


def tasks_left(client):
    """Return the tasks of fits that the scheduler still has, once it had time to free them."""
    for _ in range(1200):
        keys = client.run_on_scheduler(
            lambda dask_scheduler: [str(k) for k in dask_scheduler.tasks]
        )
        if not (left := [key for key in keys if "crucial" in key]):
            break
        time.sleep(0.05)
    return left


def wait_for_workers(client, n_workers=2):
    client.wait_for_workers(n_workers, timeout=300)


def test_the_same_as_in_this_process_and_nothing_is_left_behind(client):
    with parts_on(client) as parts:
        assert (chain(parts, 20), parts.n_workers) == (local_chain(N_PARTS, 20), 2)
        assert parts.losses == 0
        assert len(set(parts.total("process"))) == 2
        assert parts.bytes_sent > 0
        assert parts.bytes_received > 0
    assert tasks_left(client) == []


def test_a_worker_killed_within_a_round_and_another_that_joins(client, monkeypatch):
    monkeypatch.setattr(transport, "_LOOK_AROUND", 0.0)
    killer = threading.Timer(0.02, kill, [client])

    def before(number):
        if number == 5:
            killer.start()
        if number == 20:
            killer.join()
        if number == 22:
            client.cluster.scale(3)  # (Dask may take long to replace the one that was killed)
            wait_for_workers(client)

    with parts_on(client, pause=0.01, grace=0.0) as parts:
        assert (chain(parts, 25, before), parts.losses) == (local_chain(N_PARTS, 25), 1)
        assert parts.n_workers > 1


def test_an_error_of_a_part_is_raised_and_the_parts_live_on(client):
    with parts_on(client) as parts:
        parts.total("advance", 3, changes=True)
        refused(ZeroDivisionError, "as asked", parts.total, "fail")
        toys = LocalParts([ToyPart(seed) for seed in range(N_PARTS)])
        toys.total("advance", 3)
        assert parts.total("advance", 5, changes=True) == toys.total("advance", 5)


def test_a_part_that_cannot_be_read_is_named_and_the_others_are_freed(client):
    recipes = [ToyRecipe(0), UnreadableRecipe(1), ToyRecipe(2)]
    with pytest.raises(ClusterError, match=r"Part 1 \(toy 1\) cannot be loaded: OSError: no such"):
        DaskParts(client, recipes)
    assert tasks_left(client) == []


def test_a_worker_that_stops_for_a_while_is_waited_for(client):
    with parts_on(client, pause=0.01) as parts:
        stopped = kill(client, signal.SIGSTOP)
        threading.Timer(0.7, os.kill, [stopped, signal.SIGCONT]).start()
        assert (chain(parts, 3), parts.losses) == (local_chain(N_PARTS, 3), 0)


def test_clients_that_are_none():
    with pytest.raises(ParameterError, match="must be a Dask client or cluster, the address of"):
        connected(7).__enter__()


def test_no_scheduler_at_the_address():
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "200ms"}),
        pytest.raises(ClusterError, match=r"No Dask scheduler answers at tcp://127.0.0.1:9"),
        connected("tcp://127.0.0.1:9"),
    ):
        pass


@pytest.mark.parametrize(("address", "reason"), [
    ("http://host:1", "unknown address scheme 'http'"),
    ("tcp://localhost", "missing port number"),
])  # fmt: skip
def test_what_is_no_address_gets_no_client(monkeypatch, address, reason):
    # (Dask would keep the process alive for a minute, and print a traceback)
    made = []
    monkeypatch.setattr(distributed.Client, "__init__", lambda *given, **named: made.append(given))
    with pytest.raises(ClusterError, match=f"answers at {address}: .*{reason}"), connected(address):
        pass
    assert made == []


def test_a_cluster_without_workers_and_one_that_closes():
    with distributed.LocalCluster(
        n_workers=0, processes=False, dashboard_address=":0", silence_logs=50
    ) as cluster:
        with (
            connected(cluster) as client,
            pytest.raises(ClusterError, match=r"had no worker for 0 s\. Start workers"),
        ):
            parts_on(client, patience=0.0)
        cluster.scale(1)
        with connected(cluster) as client:
            parts = parts_on(client, patience=300.0)
            assert chain(parts, 3) == local_chain(N_PARTS, 3)
            cluster.close()
            refused(ClusterError, "scheduler does not answer any more", parts.total, "read")
            parts.close()


def test_recipes_may_ask_dask(client):
    with DaskParts(client, [AskingRecipe(seed) for seed in range(3)]) as parts:
        assert sorted(parts.total("read")) == [0, 1, 2]


def test_workers_that_are_paused_for_lack_of_memory():
    with local_client(1, memory_limit=0) as client:
        for recipe in (AskingRecipe(0, paused=True), ToyRecipe(0)):
            with pytest.raises(ClusterError, match="Dask pauses workers that are short of memory"):
                DaskParts(client, [recipe], patience=0.2)


@pytest.mark.parametrize(
    "ranker",
    [RankBoost(12), pytest.param(GradientRanker(3, min_rows=5), marks=pytest.mark.slow)],
    ids=repr,
)
def test_a_fit_that_loses_a_worker_has_the_same_bytes(client, ranker):
    wait_for_workers(client)
    problem = Problem(3, weighted=True)
    local = problem.fit(clone(ranker))

    def kill_in_round_2(done, trace):
        if done == 2:
            kill(client)
        return False

    with DaskParts(client, problem.recipes(N_PARTS), grace=0.0) as parts:
        assert_same(local, fit_parted(ranker, parts, problem.schema, progress=kill_in_round_2))
        assert parts.losses == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ranker", "n_kills", "seed"),
    [
        *((RankBoost(300), 20, seed) for seed in range(7)),
        *((GradientRanker(60, min_rows=5), 10, seed) for seed in range(6)),
    ],
    ids=[*(f"stumps-{seed}" for seed in range(7)), *(f"trees-{seed}" for seed in range(6))],
)
def test_many_kills_within_a_fit(doomed_client, ranker, n_kills, seed):
    problem = Problem(4 + seed, n_queries=200)
    local = problem.fit(clone(ranker))
    draw = random.Random(seed)
    rounds = set(draw.sample(range(3, ranker.n_estimators - 1), n_kills))

    def kill_soon(done, trace):
        time.sleep(0.02)
        if done in rounds:
            threading.Timer(draw.uniform(0.0, 0.05), kill, [doomed_client]).start()
        return False

    with DaskParts(doomed_client, problem.recipes(11)) as parts:
        assert_same(local, fit_parted(ranker, parts, problem.schema, progress=kill_soon))
        assert parts.losses >= n_kills / 2  # (a worker may be killed twice, or before it has parts)


@pytest.mark.slow
def test_a_local_cluster_replaces_workers_that_dask_gives_up_on():
    with connected() as client:
        n_workers = len(client.nthreads())
        nanny = next(iter(client.cluster.workers.values()))
        client.sync(nanny.close)  # (as Dask does when a worker dies while it starts)
        assert len(client.nthreads()) == n_workers - 1
        client.wait_for_workers(n_workers, timeout=60)


@pytest.mark.slow
def test_a_part_that_kills_every_worker(client, monkeypatch):
    monkeypatch.setattr(transport, "_LOST_IN_A_ROW", 2)
    with pytest.raises(ClusterError, match=r"1 \(toy 1\).*: the worker was lost 3 times in a row"):
        DaskParts(client, [ToyRecipe(0), DyingRecipe(1)], grace=0.0)
    assert tasks_left(client) == []


@pytest.mark.slow
def test_a_part_that_needs_more_memory_than_a_worker_has(monkeypatch):
    monkeypatch.setattr(transport, "_LOST_IN_A_ROW", 1)
    with (
        local_client(1, processes=True, memory_limit="600MB") as client,
        pytest.raises(ClusterError, match=r"Parts 0 \(toy 0\), 1 \(toy 1\): the worker was lost"),
    ):
        DaskParts(client, [ToyRecipe(0), HungryRecipe(1)])


@pytest.fixture
def command_line_cluster(tmp_path):
    """Start a scheduler and a worker as a user does; yield the address and both processes."""
    file = tmp_path / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    options = [f"--scheduler-file={file}", "--host=127.0.0.1", "--no-dashboard"]
    dask_command = [sys.executable, "-m", "dask"]
    scheduler = subprocess.Popen([*dask_command, "scheduler", "--port=0", *options], **quiet)
    quiet["env"] = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [*dask_command, "worker", "--no-nanny", *options]
    worker = subprocess.Popen(command, cwd=tmp_path, **quiet)
    try:
        while not (file.exists() and file.read_text().strip()):
            assert scheduler.poll() is None
            time.sleep(0.1)
        yield json.loads(file.read_text())["address"], scheduler, worker
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()


@pytest.mark.slow
def test_a_worker_without_a_nanny_that_dies_and_none_is_left(command_line_cluster):
    address, _, worker = command_line_cluster
    with connected(address) as client, parts_on(client, patience=1.0) as parts:
        parts.total("advance", 3, changes=True)
        worker.kill()
        refused(ClusterError, "has had no worker for 1 s", parts.total, "read")


@pytest.mark.slow
def test_a_killed_scheduler_ends_the_fit(command_line_cluster):
    address, scheduler, _ = command_line_cluster
    with (
        connected(address) as client,
        parts_on(client, pause=0.2) as parts,
        dask.config.set({"distributed.comm.timeouts.connect": "2s"}),
    ):
        threading.Timer(0.3, scheduler.kill).start()
        refused(ClusterError, "scheduler does not answer any more", chain, parts, 100)


SCRIPT = """
    import os, sys
    sys.path.insert(0, {tests!r})
    from toy_parts import ToyRecipe
    from crucial.distributed.ranker import connected
    from crucial.distributed.transport import DaskParts

    if __name__ == "__main__":
        try:
            recipes = [ToyRecipe(number, 0.2) for number in range(4)]
            with connected() as client, DaskParts(client, recipes) as parts:
                print("ready", *client.run(os.getpid).values(), flush=True)
                while True:
                    parts.total("advance", 3, changes=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
"""


@pytest.mark.slow
def test_ctrl_c_leaves_no_process_and_no_traceback(tmp_path):
    script = tmp_path / "script.py"
    tests = os.path.dirname(sys.modules["toy_parts"].__file__)
    script.write_text(textwrap.dedent(SCRIPT.format(tests=tests)))
    run = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    word, *processes = run.stdout.readline().split()
    assert word == "ready"
    time.sleep(0.5)
    os.killpg(run.pid, signal.SIGINT)  # (as a terminal does: to all processes)
    out, err = run.communicate(timeout=300)
    assert "interrupted" in out
    assert run.returncode == 0
    assert "Traceback" not in err
    limit = time.monotonic() + 300
    while any(os.path.exists(f"/proc/{one}") for one in processes):
        assert time.monotonic() < limit
        time.sleep(0.05)
