"""Ranking trees on two-class data sets by path, beside the figures of the authors' package.

``python -m crucial.studies.treerank FOLDER`` learns on ``NAME.learn.csv[.gz]`` and prints the area
under the ROC curve on ``NAME.test.csv[.gz]`` for every NAME in the folder. The label is the last
column. Where the folder has ``NAME.roc.csv[.gz]``, it prints the area under the best possible curve
too.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from crucial.errors import DataError
from crucial.estimators.rank_over import RankOver
from crucial.estimators.ranking_forest import RankingForest
from crucial.estimators.tree_rank import TreeRank
from crucial.estimators.trees import PooledRanker
from crucial.studies.common import new_parser, run_study, write
from crucial.types import Floats, Ints

__all__ = ["PUBLISHED", "TwoClassSet", "areas", "find_sets", "main"]

#: Areas of a tree and of a forest of 50 trees by the authors' package.
PUBLISHED = {
    "Gauss2D": {"TreeRank": 0.6655, "RankingForest": 0.682},
    "Gauss20DClose": {"TreeRank": 0.517, "RankingForest": 0.513},
    "Pyr2D": {"TreeRank": 0.7593, "RankingForest": 0.7626},
}


@dataclass(frozen=True)
class TwoClassSet:
    """A data set with a part to learn on and a part to test on.

    Attributes
    ----------
    name : str
    learn, test : tuple of arrays
        Features and labels.
    best : float or None
        Area under the best possible curve, if known.
    """

    name: str
    learn: tuple[Floats, Ints]
    test: tuple[Floats, Ints]
    best: float | None


def find_sets(folder: str | Path) -> list[TwoClassSet]:
    """Read all data sets of a folder, by name."""
    names = sorted({path.name.split(".learn.csv")[0] for path in Path(folder).glob("*.learn.csv*")})
    if not names:
        raise DataError(
            f"{folder} has no file that ends in .learn.csv or .learn.csv.gz.",
            remedy="Name the folder of the data sets.",
        )
    return [_read_set(Path(folder), name) for name in names]


def _read_set(folder: Path, name: str) -> TwoClassSet:
    parts = []
    for part in ("learn", "test"):
        table = _read(folder, f"{name}.{part}.csv")
        if table is None:
            raise DataError(f"{folder} has no {name}.{part}.csv, nor one that ends in .gz.")
        parts.append((table[:, :-1], table[:, -1].astype(np.int64)))
    curve = _read(folder, f"{name}.roc.csv")
    best = None if curve is None else float(np.trapezoid(curve[:, 1], curve[:, 0]))
    return TwoClassSet(name, parts[0], parts[1], best)


def _read(folder: Path, name: str) -> Floats | None:
    """Return the numbers of a CSV file, plain or compressed; None if there is no such file."""
    for path in (folder / name, folder / f"{name}.gz"):
        if path.exists():
            table: Floats = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
            return table
    return None


def areas(data: TwoClassSet, seed: int = 0) -> dict[str, tuple[float, float]]:
    """Return the area on the test part and the seconds of training, by ranker."""
    rankers: dict[str, PooledRanker] = {
        "TreeRank": TreeRank(random_state=seed),
        "RankingForest": RankingForest(50, random_state=seed),
        "RankOver": RankOver(),
    }
    out = {}
    for name, ranker in rankers.items():
        began = time.perf_counter()
        ranker.fit(*data.learn)
        seconds = time.perf_counter() - began
        out[name] = ranker.score(*data.test), seconds
    return out


def _study(options: argparse.Namespace) -> None:
    write(f"{'data':<16}{'ranker':<15}{'AUC':>8}{'package':>9}{'best':>8}{'seconds':>9}")
    for data in find_sets(options.folder):
        for name, (area, seconds) in areas(data, options.seed).items():
            known = PUBLISHED.get(data.name, {}).get(name)
            published = "" if known is None else f"{known:.4f}"
            best = "" if data.best is None else f"{data.best:.4f}"
            write(f"{data.name:<16}{name:<15}{area:>8.4f}{published:>9}{best:>8}{seconds:>9.2f}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study and print its table."""
    parser = new_parser("treerank", "Ranking trees beside the figures of the authors' package.")
    parser.add_argument("folder", help="has NAME.learn.csv and NAME.test.csv, plain or .gz")
    parser.add_argument("--seed", type=int, default=0, help="random_state of the rankers")
    return run_study(_study, parser, arguments)


if __name__ == "__main__":
    sys.exit(main())
