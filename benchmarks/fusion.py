"""Rank fusion: how fast on large synthetic runs, or how good on runs of yours (--data FOLDER).

FOLDER has files ``*.run`` or ``*.run.gz`` and one ``qrels*``. Everything is chosen on the
training queries of each split; the table is of the held-out ones.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from crucial.fusion import FusionRanker, Pool, compare_fusions, fuse, learn_fusion
from crucial.io.runs import read_qrels, write_run

MEASURES = ("map", "ndcg@10")


def quality(folder: Path, splits: int, holdout: float) -> None:
    """Average every system over seeded splits of the queries."""
    runs = sorted([*folder.glob("*.run"), *folder.glob("*.run.gz")])
    pool, qrels = Pool.of(runs), read_qrels(next(folder.glob("qrels*")))
    rows: dict[str, list[list[float]]] = {}
    chosen: dict[str, int] = {}
    for seed in range(splits):
        found = compare_fusions(pool, qrels, holdout=holdout, measures=MEASURES, random_state=seed)
        best, rrf = found[found.baseline], found[found.rrf]
        named = {"best run": best, "tuned rrf": rrf}
        named |= {one.name: one for one in found.systems if not one.name.startswith("rrf(")}
        named |= {"rrf(60)": found["rrf(60)"]}
        for name, one in named.items():
            rows.setdefault(name, []).append([one.values[m] for m in MEASURES])
        features = found.fusion.choice.setting.features
        chosen[features] = chosen.get(features, 0) + 1
        print(".", end="", flush=True)
    n_queries = len(found.test_queries)
    print(f"\n{splits} seeded splits, {n_queries} held-out queries each, mean (standard error)")
    learned = np.array(rows["learned"])
    print(f"{'system':<20}" + "".join(f"{m:>10}" for m in MEASURES) + "   learned is better by")
    for name, values in sorted(rows.items(), key=lambda item: -np.mean(item[1], axis=0)[0]):
        mine = np.array(values)
        change = learned - mine
        error = change.std(axis=0, ddof=1) / np.sqrt(splits)
        said = "  ".join(f"{c:+.4f} ({e:.4f})" for c, e in zip(change.mean(axis=0), error))
        cells = "".join(f"{value:>10.4f}" for value in mine.mean(axis=0))
        print(f"{name:<20}{cells}   {said if name != 'learned' else ''}")
    print("features chosen: " + ", ".join(f"{k} {v} times" for k, v in chosen.items()))


def write_synthetic(folder: Path, n_runs: int, n_queries: int, depth: int) -> None:
    """Runs over a pool of four times the depth, better and worse ones, and judgements."""
    rng = np.random.default_rng(0)
    size = 4 * depth
    with contextlib.ExitStack() as stack:
        qrels = stack.enter_context(open(folder / "qrels.txt", "w"))
        names = [folder / f"system{j:02}.run" for j in range(n_runs)]
        files = [stack.enter_context(open(name, "w")) for name in names]
        for query in range(n_queries):
            docs = [f"clue-{query % 500:04d}-{number:06d}" for number in range(size)]
            truth = rng.normal(size=size)
            relevant = np.argsort(-truth)[: size // 100]
            pooled = np.union1d(relevant, rng.integers(0, size, 50))
            good = set(relevant.tolist())
            qrels.writelines(f"{query} 0 {docs[d]} {int(d in good)}\n" for d in pooled.tolist())
            for j, file in enumerate(files):
                scores = truth + rng.normal(size=size) * (0.5 + 0.2 * j)
                best = np.argsort(-scores)[:depth].tolist()
                values = scores[best].tolist()
                file.writelines(
                    f"{query} Q0 {docs[d]} {place} {value:.6f} system{j:02}\n"
                    for place, (d, value) in enumerate(zip(best, values), 1)
                )


def speed(n_runs: int, n_queries: int, depth: int, folder: Path | None) -> None:
    """Time every step from files to a fused run; peak memory of the process at the end."""
    with tempfile.TemporaryDirectory() as made:
        where = folder or Path(made)
        if not list(where.glob("*.run")):
            write_synthetic(where, n_runs, n_queries, depth)
        paths = sorted(where.glob("system*.run"))
        print(f"{len(paths)} runs x {n_queries} queries x {depth} documents, from files")
        began = time.perf_counter()
        pool = Pool.of(paths)
        read = time.perf_counter() - began
        print(f"reading and pooling {pool.n_rows:,} documents: {read:.1f} s")
        began = time.perf_counter()
        write_run(where / "fused.rrf", fuse(pool))
        print(f"rrf, and writing 1,000 per query: {time.perf_counter() - began:.1f} s, "
              f"in all {read + time.perf_counter() - began:.1f} s; {peak()}")  # fmt: skip
        began = time.perf_counter()
        fusion = learn_fusion(pool, where / "qrels.txt")
        print(f"learning from all queries: {time.perf_counter() - began:.1f} s; {peak()}")
        fusion.save(where / "fuse.json")
        began = time.perf_counter()
        write_run(where / "fused.learned", FusionRanker.load(where / "fuse.json").fuse(pool))
        print(f"learned fusion, and writing: {time.perf_counter() - began:.1f} s, "
              f"in all {read + time.perf_counter() - began:.1f} s; {peak()}")  # fmt: skip


def peak() -> str:
    """The most memory that the process has had."""
    return f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of runs and qrels")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--holdout", type=float, default=0.5)
    parser.add_argument("--topics", type=int, default=1000, help="of the synthetic runs")
    parser.add_argument("--keep", type=Path, help="folder for the synthetic runs, to use again")
    given = parser.parse_args(arguments or [])
    if given.data is not None:
        quality(given.data, given.splits, given.holdout)
    else:
        speed(20, given.topics, 1000, given.keep)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
