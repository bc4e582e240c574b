"""Speed of the readers on a LETOR-like file, beside scikit-learn's and pandas' readers.

Run as ``python -m benchmarks.readers``.
"""

from __future__ import annotations

import gzip
import os
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.timing import THREADS, in_new_process, table

N_FEATURES = 136
ROWS_A_QUERY = 120
SHARE_FOR_SKLEARN = 8  # scikit-learn reads one part in so many: it would take too long


def make_rows(n_rows: int, form: str, seed: int = 0) -> list[str]:
    """Lines of features as LETOR's files have them: counts, short and long decimals."""
    random = np.random.default_rng(seed)
    lines = []
    for values in random.random((n_rows, N_FEATURES)).tolist():
        cells = []
        for j, value in enumerate(values):
            kind = j % 4
            if kind == 0:
                cells.append(str(int(value * 500)))
            elif kind == 1:
                cells.append(f"{value:.6f}")
            elif kind == 2:
                cells.append(f"{value * 100:.4f}")
            else:
                cells.append(repr(value) if form == "long" else f"{value * 20:.6g}")
        lines.append(" ".join(f"{j + 1}:{cell}" for j, cell in enumerate(cells)))
    return lines


def write_letor(path: str, size: int, form: str) -> int:
    """Write a file of about ``size`` bytes; gives the number of rows."""
    # Some thousand different rows are enough: no reader remembers what it read.
    base = make_rows(5000, form)
    written = row = 0
    with open(path, "w") as file:
        while written < size:
            document = f"#docid = GX{row:09d} inc = 1 prob = 0.5"
            line = f"{row % 5} qid:{row // ROWS_A_QUERY} {base[row % 5000]} {document}\n"
            written += file.write(line)
            row += 1
    return row


def best_seconds(
    work: Callable[..., Any], *arguments: Any, times: int = 3, **options: Any
) -> float:
    """Least time of a few runs in a warm process."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        work(*arguments, **options)
        found.append(time.perf_counter() - began)
    return min(found)


def peak_mb(path: str) -> None:
    """Print the peak memory of this process before and after reading the file."""
    from crucial.io.svmlight import read_svmlight
    from crucial.kernels.compiled import text  # noqa: F401 (the compiler is not what is measured)

    peaks = []
    for action in (lambda: None, lambda: read_svmlight(path)):
        action()
        with open("/proc/self/status") as status:
            peaks += [int(line.split()[1]) for line in status if line.startswith("VmHWM")]
    print(*(peak * 1024 / 1e6 for peak in peaks))


def svmlight_rows(folder: str, form: str, mb: int) -> list[list[Any]]:
    """Measure one kind of numbers; leaves a part of the file for others."""
    from sklearn.datasets import load_svmlight_file

    from crucial.io.svmlight import read_svmlight

    path, part = os.path.join(folder, form), os.path.join(folder, f"{form}.part")
    write_letor(path, mb * 10**6, form)
    write_letor(part, mb * 10**6 // SHARE_FOR_SKLEARN, form)
    size, part_size = os.path.getsize(path) / 1e6, os.path.getsize(part) / 1e6
    theirs = part_size / best_seconds(load_svmlight_file, part, query_id=True, times=1)
    name = f"svmlight, {form} numbers, {size:.0f} MB"
    rows = [[f"{name}: scikit-learn (on {part_size:.0f} MB of it)", theirs, 1.0]]
    for threads in (1, THREADS):
        ours = size / best_seconds(read_svmlight, path, n_jobs=threads)
        rows.append([f"{name}: crucial, {threads} threads", ours, ours / theirs])
    with open(part, "rb") as plain, gzip.open(f"{part}.gz", "wb", 1) as packed:
        packed.write(plain.read())
    ours = part_size / best_seconds(read_svmlight, f"{part}.gz", n_jobs=THREADS)
    rows.append([f"the same in gzip, {part_size:.0f} MB: crucial", ours, ours / theirs])
    return rows


def csv_rows(folder: str) -> list[list[Any]]:
    """Measure the table reader."""
    from crucial.data.dataset import Dataset
    from crucial.io.svmlight import read_svmlight
    from crucial.io.tables import read_table
    from crucial.io.writing import write_table

    data = read_svmlight(os.path.join(folder, "short.part"))
    path = os.path.join(folder, "part.csv")
    write_table(path, Dataset(data.X, data.y, data.qid))
    size = os.path.getsize(path) / 1e6
    ours = size / best_seconds(read_table, path, n_jobs=THREADS)
    rows: list[list[Any]] = [[f"CSV, {size:.0f} MB: crucial, {THREADS} threads", ours, ""]]
    if find_spec("pandas"):
        import pandas as pd

        rows.append([f"CSV, {size:.0f} MB: pandas", size / best_seconds(pd.read_csv, path), ""])
    return rows


def main(mb: int = 200) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = svmlight_rows(folder, "short", mb)
        memory = in_new_process("benchmarks.readers", os.path.join(folder, "short"))
        rows += svmlight_rows(folder, "long", mb)
        rows += csv_rows(folder)
    table("Readers, warm", ["file and reader", "MB/s", "x scikit-learn"], rows)
    before, after = map(float, memory.split())
    print(f"  peak memory of reading {mb} MB: {after - before:.0f} MB above {before:.0f} MB")


if __name__ == "__main__":
    peak_mb(sys.argv[1]) if len(sys.argv) > 1 else main()
