"""What trees of two features keep of what trees without limits gain over stumps.

Run as ``python -m benchmarks interactions [--data FOLDER ...] [--cells FOLDER] [--folds N]``, with
folders as in `benchmarks.quality`; without any, on synthetic problems alone. In each fold, one
fifth tests, one fifth validates, which picks the number of leaves (4, 8 or 16) and of rounds, and
three train. Of data sets with more rows, whole queries are drawn.

Trees of at most two features add up to one table per feature and per pair. `max_pairs` leaves only
as many pairs as a person can look at.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contestants import Contestant, fitted_by
from benchmarks.datasets import SEED, Case, from_folder, make_case
from benchmarks.quality_cells import Cells, fill
from benchmarks.quality_tables import line_of
from benchmarks.timing import table
from crucial import GradientRanker, make_interactions

ROUNDS, MOST_ROWS, FOLDS = 300, 10_000, 3
LEAVES = (4, 8, 16)
STUMPS, PAIRS, TREES = "stumps", "two features", "no limit"


def contestants() -> list[Contestant]:
    """Stumps, trees of two features, with fewer pairs, and trees of any features."""
    kinds: dict[str, dict[str, Any]] = {
        STUMPS: {"weak": "stump"},
        PAIRS: {"interactions": 2},
        "30 pairs": {"interactions": 2, "max_pairs": 30},
        "10 pairs": {"interactions": 2, "max_pairs": 10},
        TREES: {},
    }
    found = []
    for name, how in kinds.items():
        settings = tuple({"max_leaves": n} for n in LEAVES) if name != STUMPS else ({},)
        how = {"n_estimators": ROUNDS, "random_state": SEED, **how}
        found.append(Contestant("", name, settings, fitted_by(GradientRanker, how)))
    return found


def synthetic() -> Iterator[Case]:
    """Products and exclusive ors within queries, with effects of single features and without."""
    kinds: dict[str, dict[str, Any]] = {
        "products and xor": {},
        "the same, no single effects": {"main": 0.0, "n_noise": 30},
        "much noise": {"noise": 2.0},
    }
    for name, how in kinds.items():
        made = make_interactions(n_queries=160, seed=SEED, **how)
        yield make_case(name, made.X, made.y, made.qid, real=False)


def smaller(case: Case) -> Case:
    """Return a data set of few enough rows, by drawing whole queries."""
    ids, codes = np.unique(np.asarray(case.qid), return_inverse=True)
    order = np.random.default_rng(SEED).permutation(len(ids))
    fits = np.cumsum(np.bincount(codes)[order]) <= MOST_ROWS
    if fits.all():
        return case
    rows = np.flatnonzero(np.isin(codes, order[fits]))
    part = make_case(case.name, case.X[rows], case.y[rows], codes[rows], real=case.real)
    return replace(part, name=case.name)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks interactions")
    parser.add_argument("--data", nargs="*", type=Path, default=[])
    parser.add_argument("--cells", type=Path, default=Path("build/interactions"))
    parser.add_argument("--folds", type=int, default=FOLDS)
    options = parser.parse_args(arguments)
    cells, every = Cells(options.cells), contestants()
    real = (case for folder in options.data for case in from_folder(folder))
    rows, gains = [], []
    for case in [*synthetic(), *(smaller(case) for case in real)]:
        fill(cells, case, every, options.folds)
        found = {one.name: line_of(cells, case, one.name, [one], options.folds) for one in every}
        base, whole = found[STUMPS].mean, found[TREES].mean - found[STUMPS].mean
        rows.append([case.name, *(f"{line.mean:.4f}" for line in found.values())])
        gains.append([line.mean - base for line in found.values()])
        rows[-1].append(f"{(found[PAIRS].mean - base) / whole:.0%}" if whole > 0.0 else "no gain")
    together = np.mean(gains, axis=0)
    rows.append(["gain, mean of all", *(f"{gain:+.4f}" for gain in together), ""])
    shares = [f"{gain / together[-1]:.0%}" if together[-1] > 0.0 else "" for gain in together]
    rows.append(["share of the gain", *shares, ""])
    table(
        "ndcg_exp@10 of GradientRanker; leaves and rounds by validation",
        ["data set", *(one.name for one in every), "kept"],
        rows,
    )
