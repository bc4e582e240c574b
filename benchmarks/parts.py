"""Peak memory of RankBoost on 136 features in parts, against the whole table; a process each."""

from __future__ import annotations

import sys
import time
from functools import partial

from benchmarks.memory import peak_mb, reset_peak
from benchmarks.timing import THREADS, in_new_process, table

QUERIES, DOCS = 125, 120  # of a part


def measure(how: str, n_parts: int, rounds: int = 100) -> None:
    """Print the memory before, at the peak of reading, and at the peak of all, in MB; seconds.

    "given" codes the parts with the bins of the first eight, so that each is made once:
    ``python -m benchmarks.parts given 1334 20`` is 20 million rows.
    """
    import numpy as np

    from crucial import Dataset, RankBoost, make_letor

    def part(number: int, queries: int = QUERIES) -> Dataset:
        made = make_letor(queries, DOCS, 136, seed=number)
        return Dataset(made.X, made.y, made.qid + number * QUERIES)

    def ranker(rounds: int) -> RankBoost:
        return RankBoost(rounds, n_jobs=THREADS)

    small = Dataset.from_parts([part(0, 100), part(1, 100)])
    ranker(2).fit(small.X, small.y, qid=small.qid)
    del small
    parts = [partial(part, number) for number in range(n_parts)]
    bins = Dataset.from_parts(parts[:8]) if how == "given" else None
    reset_peak()
    before, began = peak_mb(), time.process_time()
    if how != "whole":
        data = Dataset.from_parts(parts, bins=bins, n_jobs=THREADS)
    else:
        n, size = n_parts * QUERIES * DOCS, QUERIES * DOCS
        data = Dataset(np.empty((n, 136), np.float32), np.empty(n), np.empty(n, np.int64))
        for number, one in enumerate(parts):
            rows, read = slice(number * size, (number + 1) * size), one()
            data.X[rows], data.y[rows], data.qid[rows] = read.X, read.y, read.qid
            del read
    made, seconds = peak_mb(), time.process_time() - began
    ranker(rounds).fit(data.X, data.y, qid=data.qid)
    print(before, made, peak_mb(), seconds, time.process_time() - began - seconds)


def main() -> None:
    rows = []
    for how, n_parts in (("parts", 16), ("whole table", 16), ("parts", 64)):
        printed = in_new_process("benchmarks.parts", how.split()[0], str(n_parts))
        n_rows = n_parts * QUERIES * DOCS
        before, made, peak, reading, fitting = map(float, printed.split())
        each = (peak - before) * 2**20 / n_rows
        million = f"{2**30 / each / 1e6:.1f}"
        sizes = [f"{made - before:.0f}", f"{peak - before:.0f}", f"{each:.0f}", million]
        rows.append([how, f"{n_rows:,}", *sizes, f"{reading:.1f}", f"{fitting:.1f}"])
    header = ["input", "rows", "MB, reading", "MB at peak", "bytes a row", "million rows per GiB"]
    header += ["CPU s, reading", "CPU s, 100 rounds"]
    table(f"RankBoost, parts of {QUERIES * DOCS:,} rows, 136 features, float32", header, rows)


if __name__ == "__main__":
    measure(sys.argv[1], *map(int, sys.argv[2:])) if len(sys.argv) > 1 else main()
