"""How well rankers rank: this library's beside LightGBM's, XGBoost's, CatBoost's, in one run.

Run as ``python -m benchmarks quality [--data FOLDER ...] [--cells FOLDER]``. A data folder has
data sets in the forms that `benchmarks.datasets` describes; without one, the sets of two classes
that scikit-learn has are all there is. Every fit is kept as a file in the folder of cells, so that
a run that was ended goes on where it stopped, and only what is not there is fitted.

Five folds. In each, one fifth tests, the fifth before it validates, and three train. Everybody
learns from the same rows, stops by the same measure on the same validation rows, and takes the
best of its settings (leaves 2, 8 or 31, or depth 1, 3 or 6) on them (see
`benchmarks.contestants`). Rankers that validate by themselves get both parts.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.contestants import others, ours
from benchmarks.datasets import FOLDS, Case, from_folder, keel, two_classes
from benchmarks.quality_cells import Cells, fill
from benchmarks.quality_tables import lines_of, overview, show, summary


def cases_of(folders: list[Path]) -> tuple[list[Case], list[Case]]:
    """Return data sets with queries and of two classes, small ones first."""
    with_queries = [case for folder in folders for case in from_folder(folder)]
    without = [*two_classes(), *(case for folder in folders for case in keel(folder))]
    return sorted(with_queries, key=_size), sorted(without, key=_size)


def _size(case: Case) -> int:
    return int(case.X.shape[0])


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks quality", description=__doc__.split("\n")[0])
    parser.add_argument("--data", metavar="FOLDER", nargs="+", default=[], help="folders of data")
    parser.add_argument("--cells", metavar="FOLDER", default="quality-cells", help="where fits are")
    parser.add_argument("--sets", metavar="NAME", nargs="+", help="only these data sets")
    parser.add_argument("--folds", metavar="N", type=int, default=FOLDS, help="only the first N")
    parser.add_argument(
        "--ours", metavar="NAME", nargs="+", help="of this library's rankers, only these"
    )
    parser.add_argument(
        "--others", metavar="NAME", nargs="+", help="of the others, only these (QueryRMSE ...)"
    )
    options = parser.parse_args(arguments)
    folders = [Path(one) for one in options.data]
    cells = Cells(Path(options.cells))
    for queries, cases in zip((True, False), cases_of(folders)):
        cases = [case for case in cases if options.sets is None or case.name in options.sets]
        mine = [one for one in ours(queries) if options.ours is None or one.name in options.ours]
        peers = [
            one for one in others(queries) if options.others is None or one.name in options.others
        ]
        for case in cases:
            fill(cells, case, [*peers, *mine], options.folds)
        tables = [lines_of(cells, case, mine, peers, options.folds) for case in cases]
        for case, lines in zip(cases, tables):
            show(case, lines)
        if tables:
            overview(cases, tables)
            summary(cases, tables)
