"""The comparison on strictly ordered lists of Wang, Mao, Zeng & Xia (section 5.5).

``python -m crucial.studies.strict_order FOLDER`` where FOLDER is MQ2008-list of LETOR 4.0, with its
five folds; without FOLDER, on real data that come with scikit-learn, which are not theirs.

DiffRank, BL-FeatureRank, FeatureRank, ListMLE, SVM-map and RankCosine are their six; RankBoost and
LightGBM are added. Rounds, and the ridge of ListMLE and SVM-map, are chosen by the Kendall distance
on the validation part (the paper does not say how it chose).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from crucial.errors import CrucialError
from crucial.studies.strict_lists import SUBSTITUTES, heights, read_strict_folds
from crucial.validation import lookup

if TYPE_CHECKING:
    from crucial.lab.experiment_result import ExperimentResult

__all__ = ["Graded", "main", "print_tables", "rankers", "run"]

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

#: What ListMLE and SVM-map are tuned by.
RIDGES = [1e-4, 1e-3, 1e-2, 1e-1]


class Graded(BaseEstimator):
    """A ranker that wants few grades, given strict orders: every list is cut into equal parts.

    Parameters
    ----------
    ranker : object with fit and predict
    n_grades : int
        LightGBM's objective knows 31.
    """

    def __init__(self, ranker: Any, n_grades: int = 31) -> None:
        self.ranker = ranker
        self.n_grades = n_grades

    def fit(self, X: Any, y: Any, *, qid: Any = None) -> Self:
        """Learn from grades 0 to n_grades - 1."""
        from crucial.data.groups import Groups

        groups = Groups.from_qid(qid, len(y))
        place = heights(np.asarray(y, np.float64), groups) - 1.0
        grades = np.floor(self.n_grades * place / groups.sizes[groups.codes])
        self.ranker.fit(X, grades, qid=qid)
        return self

    def predict(self, X: Any) -> Any:
        """Scores after all rounds."""
        return self.ranker.predict(X)

    def staged_predict(self, X: Any) -> Any:
        """Scores after every round."""
        return self.ranker.staged_predict(X)


def rankers(rounds: int = 200, intervals: int = 8, relevant: int = 10) -> dict[str, Any]:
    """The six of the paper, in its order, and ours, as far as what they need is installed.

    Parameters
    ----------
    rounds : int
        Of RankBoost, LightGBM and RankCosine.
    intervals : int
        K of quasi-KNN.
    relevant : int
        SVM-map knows relevant and not: so many of the first positions are.
    """
    from crucial.estimators.diff_rank import DiffRank
    from crucial.estimators.feature_rank import BLFeatureRank, FeatureRank
    from crucial.estimators.list_mle import ListMLE
    from crucial.estimators.rank_cosine import RankCosine
    from crucial.estimators.rankboost import RankBoost
    from crucial.estimators.svm_map import SVMMap
    from crucial.lab.peers import LightGBMPeer

    found: dict[str, Any] = {
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
    task: Any,
    systems: dict[str, Any],
    folder: str | None = None,
    n_jobs: int = -1,
    seed: int = 0,
) -> ExperimentResult:
    """The folds that came with the data, or five: three to train, one to choose by, one to test."""
    from crucial.lab.experiment import Experiment
    from crucial.lab.protocols import GivenFolds, ThreeWayFolds

    given = hasattr(task, "folds")
    protocol = (GivenFolds if given else ThreeWayFolds)(choose_by="kendall")
    grids = {name: {"l2": RIDGES} for name in ("ListMLE", "SVM-map") if name in systems}
    trial = Experiment([task], systems, MEASURES, protocol, grids=grids, seed=seed)
    return trial.run(folder, n_jobs=n_jobs)


def print_tables(found: ExperimentResult, write: Any = print) -> None:
    """Tables 1 and 2 of the paper, its figures in brackets."""
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study and print its tables."""
    parser = argparse.ArgumentParser(
        prog="python -m crucial.studies.strict_order",
        description="Rankers of strictly ordered lists, beside the published figures.",
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
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--intervals", type=int, default=8, help="K of quasi-KNN")
    parser.add_argument(
        "--relevant", type=int, default=10, help="first positions that SVM-map is to find"
    )
    parser.add_argument("--only", nargs="+", metavar="SYSTEM", help="these systems only")
    parser.add_argument("--seed", type=int, default=0, help="deals substitutes into folds")
    parser.add_argument("--folder", help="keeps finished cells: a killed run goes on")
    parser.add_argument("--report", help="also write a page")
    parser.add_argument("--jobs", type=int, default=-1)
    given = parser.parse_args(arguments)
    try:
        _study(given)
    except CrucialError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


def _study(given: argparse.Namespace) -> None:
    def write(text: str) -> None:
        sys.stdout.write(f"{text}\n")

    if given.lists is not None:
        task: Any = read_strict_folds(given.lists, given.best)
    else:
        make = lookup(SUBSTITUTES, given.substitute, "substitute")
        task = make(seed=given.seed)
        said = " ".join((make.__doc__ or "").split("\n\n")[1].split())
        write(f"A substitute, not the paper's data: its figures are not to be met here. {said}")
    write(repr(task))
    systems = rankers(given.rounds, given.intervals, given.relevant)
    for name in set(_NEEDS) - set(systems):
        write(f"{name} is left out: {_NEEDS[name]} is not installed.")
    if given.only:
        systems = {name: lookup(systems, name, "system") for name in given.only}
    began = time.perf_counter()
    found = run(task, systems, given.folder, given.jobs, given.seed)
    write(f"{found!r} in {time.perf_counter() - began:.0f} s")
    for one in found.failures:
        write(f"failed: {one}")
    print_tables(found, write)
    if given.report:
        found.report(given.report, "Strictly ordered lists")


if __name__ == "__main__":
    sys.exit(main())
