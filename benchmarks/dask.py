"""RankBoost on a Dask cluster of this machine, against the local fit and LightGBM's and XGBoost's.

``python -m benchmarks dask --rows 1000000 --rounds 100``; every contestant runs in processes of its
own and reads the same parquet files. ``--contestants`` runs some of them, ``--kills 3`` kills
workers of a third run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.memory import peak_mb, reset_peak
from benchmarks.timing import THREADS, in_new_process, table

FEATURES, DOCS = 136, 120
PART_ROWS = 125_000
CONTESTANTS = ["local", "dask-1", "dask-2", "lightgbm", "xgboost"]


def write_parts(folder: Path, n_rows: int) -> int:
    """Write parquet files of whole queries; return the number of rows."""
    import polars as pl

    from crucial import make_letor

    queries = min(PART_ROWS, n_rows // 2) // DOCS
    n_parts = round(n_rows / (queries * DOCS))
    for number in range(n_parts):
        made = make_letor(queries, DOCS, FEATURES, seed=number)
        columns: dict[str, Any] = {f"f{j}": made.X[:, j].astype("float32") for j in range(FEATURES)}
        columns = {"qid": made.qid + number * queries, "label": made.y, **columns}
        pl.DataFrame(columns).write_parquet(folder / f"{number:04d}.parquet", compression=None)
    return n_parts * queries * DOCS


def local(folder: str, rounds: int) -> Any:
    """Fit in this process; return the ranker."""
    from crucial import Dataset, RankBoost

    data = Dataset.from_parts(folder, n_jobs=THREADS)
    return RankBoost(rounds, n_jobs=THREADS).fit(data.X, data.y, qid=data.qid)


def on_dask(client: Any, folder: str, rounds: int) -> Any:
    """Fit on the workers of a cluster; return the ranker."""
    from crucial.distributed import DaskRankBoost

    ranker = DaskRankBoost(rounds, client=client, verbose=0)
    return ranker.fit(f"{folder}/*.parquet", label="label", qid="qid")


def frame_of(client: Any, folder: str) -> Any:
    """Return the parquet files as a Dask frame that is on the workers."""
    import dask.dataframe as dd
    from distributed import wait

    frame = client.persist(dd.read_parquet(f"{folder}/*.parquet", split_row_groups=False))
    wait(frame)
    return frame


def lightgbm(client: Any, folder: str, rounds: int) -> Any:
    """Fit LightGBM's stumps on the workers of a cluster."""
    from lightgbm import DaskLGBMRanker

    frame = frame_of(client, folder)
    X = frame.drop(columns=["qid", "label"]).to_dask_array(lengths=True)
    group = frame["qid"].map_partitions(
        lambda qid: qid.value_counts(sort=False).sort_index(), meta=("count", "int64")
    )
    ranker = DaskLGBMRanker(
        client=client, n_estimators=rounds, num_leaves=2, num_threads=1, verbose=-1
    )
    label = frame["label"].to_dask_array(lengths=True)
    return ranker.fit(X, label, group=group.to_dask_array(lengths=True))


def xgboost(client: Any, folder: str, rounds: int) -> Any:
    """Fit XGBoost's stumps on the workers of a cluster."""
    from xgboost.dask import DaskXGBRanker

    frame = frame_of(client, folder)
    ranker = DaskXGBRanker(n_estimators=rounds, max_depth=1, objective="rank:ndcg")
    ranker.client = client
    X = frame.drop(columns=["qid", "label"])
    return ranker.fit(X, frame["label"], qid=frame["qid"])


def kill_workers(client: Any, kills: int, seconds: float, stop: threading.Event) -> None:
    """Kill one worker after the other, so many seconds apart."""
    for _ in range(kills):
        if stop.wait(seconds):
            return
        processes = client.run(os.getpid)
        os.kill(sorted(processes.values())[0], signal.SIGKILL)


def measure(who: str, folder: str, rounds: int, kills: int, apart: float) -> None:
    """Print seconds, peaks of memory in MB and a hash of the model, as JSON."""
    if who == "local":
        reset_peak()
        began, used = time.perf_counter(), time.process_time()
        ranker = local(folder, rounds)
        report(began, time.process_time() - used, [peak_mb()], digest(ranker))
        return
    import distributed

    workers = 1 if who == "dask-1" else 2
    fit = {"lightgbm": lightgbm, "xgboost": xgboost}.get(who, on_dask)
    with (
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=THREADS // workers,
            dashboard_address=":0",
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        stop = threading.Event()
        killer = threading.Thread(target=kill_workers, args=(client, kills, apart, stop))
        client.run(reset_peak)
        reset_peak()
        began, used = time.perf_counter(), processor_seconds(client)
        killer.start()
        ranker = fit(client, folder, rounds)
        stop.set()
        # (processors of workers that were killed are not counted)
        used = processor_seconds(client) - used
        peaks = [peak_mb(), *client.run(peak_mb).values()]
        if fit is on_dask:
            estimate = ranker.memory_.per_worker / 2**20
            report(began, used, peaks, digest(ranker.to_local()), estimate)
        else:
            report(began, used, peaks, "")
        killer.join()


def processor_seconds(client: Any) -> float:
    """Return the processor time of this process and all workers so far."""
    return time.process_time() + sum(client.run(time.process_time).values())


def report(
    began: float, used: float, peaks: list[float], model: str, estimate: float = 0.0
) -> None:
    """Print what was measured, as JSON, and the memory that was estimated for a worker."""
    seconds = time.perf_counter() - began
    found = {"seconds": seconds, "cpu": used, "peaks": peaks, "model": model, "estimate": estimate}
    print(json.dumps(found), flush=True)


def digest(ranker: Any) -> str:
    """Return a hash of weak rankers and weights."""
    model = ranker.ensemble_
    return hashlib.sha256(repr((model.rankers, model.weights)).encode()).hexdigest()[:8]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks dask", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--contestants", nargs="+", default=CONTESTANTS, choices=CONTESTANTS)
    parser.add_argument("--folder", help="where to write the files; kept, and used again")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.folder or temporary) / str(options.rows)
        if not folder.exists():
            folder.mkdir(parents=True)
            write_parts(folder, options.rows)
        run(folder, options)


def run(folder: Path, options: argparse.Namespace) -> None:
    """Run the contestants and print their table."""
    rows, seconds = [], {}

    def add(name: str, who: str, kills: int = 0, apart: float = 0.0) -> None:
        arguments = [who, str(folder), str(options.rounds), str(kills), str(apart)]
        done = json.loads(in_new_process("benchmarks.dask", *arguments).splitlines()[-1])
        seconds[name] = done["seconds"]
        first = next(iter(seconds.values()))
        peaks = ", ".join(f"{peak:,.0f}" for peak in done["peaks"])
        ratio = f"{done['seconds'] / first:.2f}"
        estimate = f"{done['estimate']:,.0f}" if done["estimate"] else ""
        times = [f"{done['seconds']:.1f}", ratio, f"{done['cpu']:.1f}"]
        rows.append([name, *times, peaks, estimate, done["model"]])
        print(*rows[-1], sep="  ", flush=True)

    for who in options.contestants:
        add(who, who)
    if options.kills and "dask-2" in seconds:
        add(f"dask-2, {options.kills} kills", "dask-2", options.kills, seconds["dask-2"] / 3)
    header = ["contestant", "s, reading and fit", "ratio", "CPU s", "MB at peak, each process"]
    header += ["MB estimated for a worker", "model"]
    table(f"{options.rows:,} rows x {FEATURES}, {options.rounds} rounds of stumps", header, rows)
    if options.kills and "dask-2" in seconds:
        killed = seconds[f"dask-2, {options.kills} kills"]
        print(
            f"  seconds lost per killed worker: {(killed - seconds['dask-2']) / options.kills:.1f}"
        )


if __name__ == "__main__":
    measure(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
