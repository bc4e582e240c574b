"""The comparison on strictly ordered lists of Wang, Mao, Zeng & Xia (section 5.5).

``python -m crucial.studies.strict_order FOLDER`` where FOLDER is MQ2008-list of LETOR 4.0, with its
five folds; without FOLDER, on real data that come with scikit-learn, which are not theirs.
``--plot FILE`` also draws figure 8, NDCG at 1 to 10.

DiffRank, BL-FeatureRank, FeatureRank, ListMLE, SVM-map and RankCosine are their six; RankBoost and
LightGBM are added. Rounds, and the ridge of ListMLE and SVM-map, are chosen by the Kendall distance
on the validation part (the paper does not say how it chose).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.base import BaseEstimator

from crucial.parameters import lookup
from crucial.studies.common import (
    Write,
    add_experiment_options,
    new_parser,
    print_experiment,
    run_study,
    write,
)
from crucial.studies.drawing import new_figure, save_figure
from crucial.studies.strict_lists import SUBSTITUTES, heights, read_strict_folds
from crucial.types import Floats, PathLike, TableLike, VectorLike

if TYPE_CHECKING:
    from crucial.lab.adapter import Estimator
    from crucial.lab.experiment_result import ExperimentResult
    from crucial.lab.peers import LightGBMPeer
    from crucial.lab.tasks import TaskLike

__all__ = ["Graded", "draw", "main", "print_tables", "rankers", "run"]

# Table 1: Kendall distance and top-10 persistence; table 2: NDCG at 1 to 10.
PUBLISHED: dict[str, tuple[float, float]] = {
    "DiffRank": (0.180, 0.337),
    "BL-FeatureRank": (0.196, 0.322),
    "FeatureRank": (0.208, 0.322),
    "ListMLE": (0.294, 0.099),
    "SVM-map": (0.204, 0.207),
    "RankCosine": (0.448, 0.014),
}
PUBLISHED_NDCG: dict[str, tuple[float, ...]] = {
    "DiffRank": (0.976, 0.973, 0.971, 0.970, 0.970, 0.970, 0.969, 0.969, 0.969, 0.969),
    "BL-FeatureRank": (0.971, 0.968, 0.967, 0.967, 0.966, 0.966, 0.966, 0.966, 0.966, 0.966),
    "FeatureRank": (0.971, 0.968, 0.967, 0.967, 0.966, 0.966, 0.966, 0.966, 0.966, 0.966),
    "ListMLE": (0.861, 0.857, 0.850, 0.850, 0.848, 0.848, 0.847, 0.845, 0.845, 0.844),
    "SVM-map": (0.953, 0.948, 0.947, 0.947, 0.946, 0.947, 0.946, 0.945, 0.944, 0.944),
    "RankCosine": (0.628, 0.617, 0.611, 0.609, 0.608, 0.608, 0.606, 0.606, 0.606, 0.605),
}
# Its equation 3 with base 2, as LETOR's own script; the paper does not name its base.
NDCG = tuple(f"ndcg@{k}(letor)" for k in range(1, 11))
MEASURES = ("kendall", "persistence@10", *NDCG)

#: The grid of the rankers that are tuned.
_TUNED = ("ListMLE", "SVM-map")
RIDGES = [1e-4, 1e-3, 1e-2, 1e-1]


class Graded(BaseEstimator):
    """Fit a ranker that needs few grades to strict orders: every list is cut into equal parts.

    Parameters
    ----------
    ranker : object with fit and predict
    n_grades : int
        LightGBM's objective has 31.
    """

    def __init__(self, ranker: LightGBMPeer, n_grades: int = 31) -> None:
        self.ranker = ranker
        self.n_grades = n_grades

    def fit(self, X: TableLike, y: VectorLike, *, qid: VectorLike | None = None) -> Self:
        """Fit on grades 0 to n_grades - 1."""
        from crucial.data.groups import Groups

        labels = np.asarray(y, np.float64)
        groups = Groups.from_qid(qid, len(labels))
        place = heights(labels, groups) - 1.0
        grades = np.floor(self.n_grades * place / groups.sizes[groups.codes])
        self.ranker.fit(X, grades, qid=qid)
        return self

    def predict(self, X: TableLike) -> Floats:
        """Return the scores after all rounds."""
        return self.ranker.predict(X)

    def staged_predict(self, X: TableLike) -> Iterator[Floats]:
        """Yield the scores after every round."""
        return self.ranker.staged_predict(X)


def rankers(rounds: int = 200, intervals: int = 8, relevant: int = 10) -> dict[str, Estimator]:
    """Return the paper's six rankers, in its order, and ours, if their packages are installed.

    Parameters
    ----------
    rounds : int
        Rounds of RankBoost, LightGBM and RankCosine.
    intervals : int
        K of quasi-KNN.
    relevant : int
        How many of the first positions are relevant for SVM-map.
    """
    from crucial.estimators.diff_rank import DiffRank
    from crucial.estimators.feature_rank import BLFeatureRank, FeatureRank
    from crucial.estimators.list_mle import ListMLE
    from crucial.estimators.rank_cosine import RankCosine
    from crucial.estimators.rankboost import RankBoost
    from crucial.estimators.svm_map import SVMMap
    from crucial.lab.peers import LightGBMPeer

    found: dict[str, Estimator] = {
        "DiffRank": DiffRank(intervals),
        "BL-FeatureRank": BLFeatureRank(intervals),
        "FeatureRank": FeatureRank(intervals),
        "ListMLE": ListMLE(),
        "SVM-map": SVMMap(top=relevant),
        "RankCosine": RankCosine(rounds, centred=False),
        "RankCosine centred": RankCosine(rounds),
        "RankBoost": RankBoost(n_estimators=rounds),
        "LightGBM": Graded(LightGBMPeer(rounds)),
    }
    for name, package in _NEEDS.items():
        if find_spec(package) is None:
            del found[name]
    return found


_NEEDS = {"SVM-map": "clarabel", "LightGBM": "lightgbm"}


def run(
    task: TaskLike,
    systems: Mapping[str, Estimator],
    folder: str | None = None,
    n_jobs: int = -1,
    seed: int = 0,
) -> ExperimentResult:
    """Run the folds that came with the data, or five: three train, one validates, one tests."""
    from crucial.lab.experiment import Experiment
    from crucial.lab.protocols import GivenFolds, ThreeWayFolds

    protocol = (GivenFolds if hasattr(task, "folds") else ThreeWayFolds)(choose_by="kendall")
    grids = {name: {"l2": RIDGES} for name in systems if name in _TUNED}
    trial = Experiment([task], systems, MEASURES, protocol, grids=grids, seed=seed)
    return trial.run(folder, n_jobs=n_jobs)


def print_tables(found: ExperimentResult, write: Write = write) -> None:
    """Print tables 1 and 2 of the paper, with its figures in brackets."""
    wide = max(len(name) for name in found.rankers) + 1
    failed = {one["ranker"] for one in found.failures}
    names = [name for name in found.rankers if name not in failed]
    write("\nTable 1: mean over queries (the paper's on MQ2008-list in brackets)")
    write(f"{'':{wide}}{'Kendall distance':>19}{'top-10 persistence':>21}")
    for name in names:
        cells = []
        for at, measure in enumerate(("kendall", "persistence@10")):
            theirs = f"[{PUBLISHED[name][at]:.3f}]" if name in PUBLISHED else " " * 7
            cells.append(f"{found.value(measure, name, 'query'):.3f} {theirs}")
        write(f"{name:{wide}}{cells[0]:>19}{cells[1]:>21}")
    write("\nTable 2: NDCG at k, linear gain, base 2 (the paper's on MQ2008-list in brackets)")
    write(f"{'k':{wide}}" + "".join(f"{k:>8}" for k in range(1, 11)))
    for name in names:
        ours = [found.value(measure, name, "query") for measure in NDCG]
        write(f"{name:{wide}}" + "".join(f"{value:8.3f}" for value in ours))
        if name in PUBLISHED_NDCG:
            theirs = "".join(f"{f'[{value:.3f}]':>8}" for value in PUBLISHED_NDCG[name])
            write(f"{'':{wide}}{theirs}")
    write(f"\n{found.ranks('kendall', 'query')}")


def draw(found: ExperimentResult, path: PathLike) -> Path:
    """Draw figure 8 of the paper, NDCG at 1 to 10 of every system, to a file; return its path.

    The lines of the paper, on MQ2008-list, are dashed.
    """
    failed = {one["ranker"] for one in found.failures}
    figure, (panel,) = new_figure(size=(8.0, 5.0))
    for name in (name for name in found.rankers if name not in failed):
        ours = [found.value(measure, name, "query") for measure in NDCG]
        (line,) = panel.plot(range(1, 11), ours, marker="o", label=name)
        if name in PUBLISHED_NDCG:
            panel.plot(range(1, 11), PUBLISHED_NDCG[name], "--", color=line.get_color(), alpha=0.5)
    panel.set_xlabel("k (dashed: the paper's)")
    panel.set_ylabel("NDCG@k")
    figure.legend(loc="outside right center")
    return save_figure(figure, path)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study and print its tables."""
    parser = new_parser(
        "strict_order", "Rankers of strictly ordered lists, with the published figures."
    )
    parser.add_argument("lists", nargs="?", help="folder of MQ2008-list, with Fold1 to Fold5")
    parser.add_argument(
        "--best",
        choices=["largest", "smallest"],
        default="largest",
        help="which label is at the top of a list (LETOR: the largest)",
    )
    parser.add_argument(
        "--substitute", default="digits", help=f"without lists: {' or '.join(SUBSTITUTES)}"
    )
    parser.add_argument("--intervals", type=int, default=8, help="K of quasi-KNN")
    parser.add_argument(
        "--relevant", type=int, default=10, help="first positions that SVM-map is to find"
    )
    parser.add_argument(
        "--plot", help="file to draw figure 8 to: NDCG at 1 to 10; needs matplotlib"
    )
    parser.add_argument("--only", nargs="+", metavar="SYSTEM", help="these systems only")
    add_experiment_options(parser, seed="deals substitutes into folds")
    return run_study(_study, parser, arguments)


def _study(options: argparse.Namespace) -> None:
    """Run the study as the options ask, on a substitute if there are no lists."""
    if options.lists is not None:
        task: TaskLike = read_strict_folds(options.lists, options.best)
    else:
        make = lookup(SUBSTITUTES, options.substitute, "substitute")
        task = make(seed=options.seed)
        about = " ".join((make.__doc__ or "").split("\n\n")[1].split())
        write(f"A substitute for the paper's data: its figures cannot be reached here. {about}")
    write(repr(task))
    systems = rankers(options.rounds, options.intervals, options.relevant)
    for name in set(_NEEDS) - set(systems):
        write(f"{name} is left out: {_NEEDS[name]} is not installed.")
    if options.only:
        systems = {name: lookup(systems, name, "system") for name in options.only}
    settings = (options.folder, options.jobs, options.seed)

    def show(found: ExperimentResult, write: Write) -> None:
        print_tables(found, write)
        if options.plot:
            write(f"drawn: {draw(found, options.plot)}")

    print_experiment(
        lambda: run(task, systems, *settings), show, "Strictly ordered lists", options.report
    )


if __name__ == "__main__":
    sys.exit(main())
