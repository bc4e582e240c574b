"""Why the defaults of GradientRanker are what they are: loss, leaves, ridge and gain.

Run as ``python -m benchmarks gradient_defaults --data FOLDER ... [--cells FOLDER] [--sets NAME]``,
with folders as in `benchmarks.quality`. Every variant is trained on four fifths and measured on
the fifth left out after every round, for 200 rounds at rate 0.1. The table has the best value of
the mean over all queries of all folds, smoothed over 11 rounds, and its round: no validation part
adds its noise, and all variants profit alike from the choice of the round. Such values compare
variants and are above what any of them reaches on new queries.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import FOLDS, Case, from_folder
from benchmarks.quality import measure_of, part_of
from benchmarks.timing import table
from crucial import GradientRanker

Floats = np.ndarray
Setting = dict[str, Any]
ROUNDS, WINDOW = 200, 11

LOSSES = ("query_rmse", "yeti", "logistic", "exponential", "lambda", "xendcg", "softmax")
#: As CatBoost's trees: large, and steadied by a larger ridge and samples.
SAMPLED = {
    "max_leaves": 31, "max_depth": 6, "l2": 3.0, "min_rows": 1.0,
    "subsample_rows": 0.8, "max_features": 0.3,
}  # fmt: skip
#: Trees whose leaves of a level share their split.
SYMMETRIC = {
    "max_leaves": 16, "symmetric": True, "min_rows": 1.0, "l2": 3.0, "subsample_rows": 0.8,
}  # fmt: skip


def variants() -> list[Setting]:
    """Return what is compared."""
    found: list[Setting] = []
    for loss in LOSSES:
        gain = {"gain": "exp"} if loss in ("logistic", "exponential") else {}
        found += [{"loss": loss, **gain, "max_leaves": n, "l2": 1.0} for n in (4, 8)]
        if loss != "exponential":
            found += [{"loss": loss, **gain, "max_leaves": n, "l2": 0.0} for n in (4, 8)]
    found += [{"loss": loss, "max_leaves": 4, "l2": 1.0} for loss in ("logistic", "exponential")]
    found += [
        {"loss": loss, "gain": "exp", "max_leaves": 4, "l2": 1.0} for loss in ("query_rmse", "yeti")
    ]
    found += [{"loss": loss, **SAMPLED} for loss in ("query_rmse", "yeti")]
    for loss in ("query_rmse", "yeti", "logistic", "exponential", "lambda", "xendcg"):
        gain = {"gain": "exp"} if loss in ("logistic", "exponential") else {}
        found.append({"loss": loss, **gain, **SYMMETRIC})
    return found


def curve(folder: Path, case: Case, setting: Setting) -> Floats:
    """Return the mean of the measure over the queries of all folds, round by round."""
    what = json.dumps([setting, ROUNDS], sort_keys=True)
    name = hashlib.sha256(what.encode()).hexdigest()[:12]
    path = folder / case.name / f"curve.{name}.npz"
    if not path.exists():
        found = [_one_fold(case, fold, setting) for fold in range(len(case.folds))]
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part.npz")
        np.savez(part, curve=np.average(found, axis=0, weights=_queries(case)), what=what)
        part.replace(path)
    with np.load(path) as kept:
        return np.asarray(kept["curve"])


def _one_fold(case: Case, fold: int, setting: Setting) -> Floats:
    measure = measure_of(case)
    train, test = (part_of(case, rows) for rows in (case.folds[fold].train, case.folds[fold].test))
    ranker = GradientRanker(ROUNDS, 0.1, eval_metric=measure, n_jobs=1, **setting)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker.fit(train.X, train.y, qid=train.qid, eval_set=(test.X, test.y), eval_qid=test.qid)
    values = ranker.trace_.column(measure)
    # (a ranker that stops for want of a split keeps its last value)
    return np.concatenate([values, np.full(ROUNDS - len(values), values[-1])])


def _queries(case: Case) -> list[int]:
    """Return the number of test queries with a relevant row, fold by fold."""
    qid = np.asarray(case.qid)
    return [len(np.unique(qid[fold.test][case.y[fold.test] > 0])) for fold in case.folds]


def best(curve: Floats) -> tuple[float, int]:
    """Return the best value of a smoothed curve and its round."""
    padded = np.pad(curve, WINDOW // 2, mode="edge")
    smooth = np.convolve(padded, np.ones(WINDOW) / WINDOW, "valid")
    at = int(np.argmax(smooth))
    return float(smooth[at]), at + 1


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="benchmarks gradient_defaults", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--data", metavar="FOLDER", nargs="+", required=True)
    parser.add_argument("--cells", metavar="FOLDER", default="quality-cells", help="where fits are")
    parser.add_argument("--sets", metavar="NAME", nargs="+", help="only these data sets")
    options = parser.parse_args(arguments)
    cases = [case for folder in options.data for case in from_folder(Path(folder))]
    cases = [case for case in cases if options.sets is None or case.name in options.sets]
    rows = []
    for setting in variants():
        row = [", ".join(f"{name}={value}" for name, value in setting.items())]
        for case in cases:
            value, at = best(curve(Path(options.cells), case, setting))
            row.append(f"{value:.4f} ({at})")
        rows.append(row)
        print(*row, flush=True)
    title = f"best of the mean test curve (round), {FOLDS} folds"
    table(title, ["variant", *(case.name for case in cases)], rows)
