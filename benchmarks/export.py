"""Exports: scoring 100,000 rows by the exported files beside predict, and seconds of an export.

Scoring: 300 stumps over 40 features, float64 rows with 5% missing, one thread each, CPU time, the
minimum of several runs that take turns. The C function is compiled for any machine, and for this
one, as the kernels of predict are. Peers that are not installed are left out. Exports: 5,000 trees
of 8 leaves, verification included, CPU seconds with those of gcc and node, the least of three.
"""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.serving import N_FEATURES, stump_model, tree_model
from benchmarks.timing import table
from crucial.model.additive import AdditiveRanker

N_ROWS, N_TREES = 100_000, 5_000
TARGETS: dict[str, dict[str, Any]] = {
    "xgboost": {}, "lightgbm": {}, "onnx": {}, "elasticsearch-ltr": {}, "elasticsearch": {},
    # (its numbers do not separate all thresholds of the random trees)
    "solr": {"allow_ties": True},
    "c": {}, "python": {}, "javascript": {}, "sql": {},
    "sql, duckdb": {"dialect": "duckdb"}, "sql, postgres": {"dialect": "postgres"},
}  # fmt: skip


def _c(
    flags: tuple[str, ...], folder: Path, model: AdditiveRanker, X: np.ndarray
) -> Callable[[], Any]:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise ImportError("gcc")
    model.export(folder / "m.c", "c", verify=False)
    library = folder / f"m{''.join(flags)}.so"
    options = [*flags, "-ffp-contract=off", "-shared", "-fPIC", "-lm"]
    subprocess.run([compiler, folder / "m.c", *options, "-o", library], check=True)
    rows, out = ctypes.CDLL(str(library)).score_rows, np.empty(len(X))

    def call() -> Any:
        rows(
            ctypes.c_void_p(X.ctypes.data),
            ctypes.c_size_t(len(X)),
            ctypes.c_void_p(out.ctypes.data),
        )
        return out

    return call


def _xgboost(folder: Path, model: AdditiveRanker, X: np.ndarray) -> Callable[[], Any]:
    import xgboost

    model.export(folder / "xgb.json", "xgboost", verify=False)
    booster = xgboost.Booster({"nthread": 1}, model_file=folder / "xgb.json")
    return lambda: booster.inplace_predict(X, validate_features=False)


def _onnx(folder: Path, model: AdditiveRanker, X: np.ndarray) -> Callable[[], Any]:
    import onnxruntime

    model.export(folder / "m.onnx", "onnx", verify=False)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(folder / "m.onnx", settings)
    wanted = session.get_inputs()[0]
    rows = X.astype(np.float64 if "double" in wanted.type else np.float32)
    return lambda: session.run(None, {wanted.name: rows})[0]


def _treelite(folder: Path, model: AdditiveRanker, X: np.ndarray) -> Callable[[], Any]:
    import treelite

    model.export(folder / "lgb.txt", "lightgbm", verify=False)
    loaded = treelite.frontend.load_lightgbm_model(folder / "lgb.txt")
    return lambda: treelite.gtil.predict(loaded, X, nthread=1)


def scoring() -> dict[str, float]:
    """Print and return the CPU seconds of every way relative to predict."""
    model = stump_model()
    random = np.random.default_rng(1)
    X = random.normal(size=(N_ROWS, N_FEATURES))
    X[random.random(X.shape) < 0.05] = np.nan
    expected = model.predict(X, n_jobs=1)
    ways: dict[str, Callable[[], Any]] = {"predict": lambda: model.predict(X, n_jobs=1)}
    with tempfile.TemporaryDirectory() as name:
        for title, make in (
            ("C, gcc -O2", partial(_c, ("-O2",))),
            ("C, gcc -O3 -march=native", partial(_c, ("-O3", "-march=native"))),
            ("xgboost", _xgboost), ("onnxruntime", _onnx),
            ("treelite (gtil)", _treelite),
        ):  # fmt: skip
            try:
                ways[title] = make(Path(name), model, X)
            except ImportError as missing:
                print(f"{title} is left out: {missing}")
        best = dict.fromkeys(ways, np.inf)
        far = {}
        for title, call in ways.items():
            far[title] = float(np.abs(np.ravel(call()) - expected).max())
        for _ in range(5):
            for title, call in ways.items():
                began = time.process_time()
                call()
                best[title] = min(best[title], time.process_time() - began)
    rows = [
        [title, spent * 1e3, spent / best["predict"], far[title]] for title, spent in best.items()
    ]
    header = ["", "CPU ms", "ratio to predict", "largest difference"]
    table(f"{N_ROWS:,} rows, 300 stumps, {N_FEATURES} features, one thread", header, rows)
    return {f"{title} ratio": spent / best["predict"] for title, spent in best.items()}


def _spent() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def exports() -> dict[str, float]:
    """Print and return the CPU seconds of the export of many trees."""
    model, rows, found = tree_model(N_TREES, n_leaves=8), [], {}
    with tempfile.TemporaryDirectory() as folder:
        for title, settings in TARGETS.items():
            path, target = os.path.join(folder, "model"), title.partition(",")[0]
            # (what engines need for their first import is not counted)
            tree_model(2).export(path, target, **settings)
            best = np.inf
            for _ in range(3):
                began = _spent()
                export = model.export(path, target, **settings)
                best = min(best, _spent() - began)
            found[title] = best
            rows.append([title, best, export.n_bytes])
    header = ["", "CPU seconds (wanted below 2)", "bytes"]
    table(f"Export of {N_TREES:,} trees of 8 leaves, verified", header, rows)
    return found


def main() -> dict[str, float]:
    return scoring() | exports()


if __name__ == "__main__":
    main()
