"""FeatureRank: Wang, Mao, Zeng & Xia, ranking strictly ordered lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from common import (
    Numbers,
    experiment_options,
    list_option,
    new_figure,
    print_experiment,
    save_figure,
    studies,
    write,
)  # fmt: skip
from crucial.data.dataset import Dataset
from crucial.data.groups import Groups, deal_at_random
from crucial.errors import DataError, FileError, in_file
from crucial.io.tables import read_data
from crucial.lab.protocols import Fold, FoldTask, Rows, SplitRows, Task, read_folds
from crucial.measures.names import get_measure
from crucial.model.weak import QuasiKNN
from crucial.parameters import at_least, check, int_between, lookup, one_of
from crucial.types import Floats, PathLike, TableLike, VectorLike

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from crucial.boosting.loop import Trace
    from crucial.lab.protocols import TaskLike
    from crucial.lab.rankers import Estimator, LightGBMPeer
    from crucial.lab.results import ExperimentResult

app = studies(__doc__)

# -- strictly ordered lists ---------------------------------------------------------------------

# MQ2007-list and MQ2008-list of LETOR 4.0 (Qin & Liu 2013) are svmlight files, ``1008 qid:10
# 1:0.004 ... #docid = ...``, whose label is the place of the document in one order of the whole
# query: all labels of a query differ, and the largest is at the top (best="largest"). Files that
# number positions from 1 at the top are read with best="smallest".


def heights(y: Floats, groups: Groups, best: str = "largest") -> Floats:
    """Return places from the bottom of every list: 1 for the last, its length for the first.

    Parameters
    ----------
    y : array over the rows
        Labels that differ inside a query.
    groups : Groups
    best : {"largest", "smallest"}
        Which label is at the top.

    Raises
    ------
    DataError
        Two rows of a query have the same label.

    Examples
    --------
    >>> heights(np.array([7.0, 1.0, 3.0]), Groups.single(3)).tolist()
    [3.0, 1.0, 2.0]
    >>> heights(np.array([7.0, 1.0, 3.0]), Groups.single(3), "smallest").tolist()
    [1.0, 3.0, 2.0]
    """
    check("heights", "best", best, one_of("largest", "smallest"))
    rising = y if best == "largest" else -y
    query = np.repeat(np.arange(groups.n_groups), groups.sizes)
    order = groups.order[np.lexsort((rising[groups.order], query))]
    same = (query[1:] == query[:-1]) & (y[order[1:]] == y[order[:-1]])
    if same.any():
        at = int(np.flatnonzero(same)[0])
        rows = sorted((int(order[at]) + 1, int(order[at + 1]) + 1))
        name = groups.ids[query[at : at + 1]].tolist()[0]
        raise DataError(
            f"a strict order was expected, but rows {rows[0]} and {rows[1]} of query {name!r} "
            f"both have the label {y[order[at]]:g}. Use `crucial experiment` for graded data."
        )
    out = np.empty(len(y))
    out[order] = np.arange(1, len(y) + 1) - np.repeat(groups.starts[:-1], groups.sizes)
    return out


def _strict(path: PathLike, y: Floats, qid: NDArray[np.generic] | None, best: str) -> Floats:
    """Return the places of the rows of a file, or name the file in the error."""
    if qid is None:
        raise FileError(path, "its rows have no query ids (qid:...); lists were expected.")
    with in_file(path):
        return heights(y, Groups.from_qid(qid, len(y)), best)


def read_lists(path: PathLike, best: str = "largest", **options: Any) -> Dataset:
    """Read a file of strictly ordered lists; labels become places from the bottom.

    Parameters
    ----------
    path : str or path
    best : {"largest", "smallest"}
        Which label is at the top of a list.
    **options
        Options of `crucial.read_data`.

    Raises
    ------
    FileError
        A query has the same label twice, or the rows have no labels or queries.
    """
    data = read_data(path, **options)
    if data.y is None:
        raise FileError(path, "its rows have no labels.")
    return replace(data, y=_strict(path, data.y, data.qid, best))


@dataclass(frozen=True, eq=False)
class StrictFolds(FoldTask):
    """Folds of strictly ordered lists in files.

    Attributes
    ----------
    best : {"largest", "smallest"}
    """

    best: str = "largest"

    def parts(self, split: Fold) -> SplitRows:
        """Read the files of a fold and check that they are strict."""
        read = super().parts(split)
        files = next(one for one in self.folds if one.name == split.name)
        assert read.valid is not None

        def strict(part: Rows, path: str) -> Rows:
            return replace(part, y=_strict(path, part.y, part.qid, self.best))

        return SplitRows(
            strict(read.train, files.train),
            strict(read.valid, files.valid),
            strict(read.test, files.test),
        )

    def digest(self) -> str:
        """Return a hash of all files and of ``best``."""
        return f"{super().digest()}-{self.best}"


def read_strict_folds(folder: PathLike, best: str = "largest", **options: Any) -> StrictFolds:
    """Find the folds of MQ2008-list or the like: ``Fold1/train.txt, vali.txt, test.txt``.

    Parameters
    ----------
    folder : str or path
    best : {"largest", "smallest"}
        Which label is at the top of a list; LETOR's is the largest.
    **options
        Options of `crucial.read_data`.
    """
    check("read_strict_folds", "best", best, one_of("largest", "smallest"))
    found = read_folds(folder, **options)
    return StrictFolds(found.name, found.folds, found.options, best)


# -- substitutes ------------------------------------------------------------------------


def digit_lists(n_queries: int = 200, length: int = 100, seed: int = 0) -> Task:
    """Make lists of images of handwritten digits, ordered by similarity to a query image.

    A query is an image of scikit-learn's ``load_digits``; its list has other images, drawn at
    random, in the order of their Euclidean distance to it over all 64 pixels (of several at the
    same distance one is kept). Half of the features say how near partial or coarse views of the
    two images are, higher is nearer; the other half by how much a property of the image (its ink,
    say) exceeds that of the query, which is best where it is 0. So the images are real, and their
    order is computed.

    Parameters
    ----------
    n_queries : int
    length : int
        Images drawn for a list; a few less are kept.
    seed : int
    """
    from sklearn.datasets import load_digits

    images = load_digits().images
    check("digit_lists", "n_queries", n_queries, int_between(1, len(images)))
    check("digit_lists", "length", length, int_between(2, len(images) - 1))
    random = np.random.default_rng(seed)
    views = [view(images).reshape(len(images), -1) for view in _VIEWS.values()]
    properties = np.column_stack([measure(images) for measure in _PROPERTIES.values()])
    tables, labels, names = [], [], []
    for query in random.permutation(len(images))[:n_queries]:
        drawn = random.permutation(np.delete(np.arange(len(images)), query))[:length]
        apart = np.square(images[drawn] - images[query]).sum(axis=(1, 2))
        kept = np.unique(apart, return_index=True)[1]
        drawn, apart = drawn[kept], apart[kept]
        near = [-np.sqrt(np.square(v[drawn] - v[query]).sum(axis=1)) for v in views]
        tables.append(np.column_stack([*near, properties[drawn] - properties[query]]))
        labels.append(np.arange(len(drawn), 0, -1.0))
        names.append(np.full(len(drawn), query))
    return Task("digits", np.vstack(tables), np.concatenate(labels), np.concatenate(names))


def _middle(images: Floats, axis: int) -> Floats:
    """Return the mean position of the ink along an axis."""
    sums = images.sum(axis=3 - axis)
    return np.asarray(sums @ np.arange(sums.shape[1]) / sums.sum(axis=1))


# None of them has all pixels, and no two of them together do.
_VIEWS: dict[str, Callable[[Floats], Floats]] = {
    "rows": lambda x: x.sum(axis=2),
    "columns": lambda x: x.sum(axis=1),
    "quarters": lambda x: x.reshape(-1, 2, 4, 2, 4).sum(axis=(2, 4)),
    "centre": lambda x: x[:, 2:6, 2:6],
    "top left": lambda x: x[:, :4, :4],
    "last rows": lambda x: x[:, 6:],
    "diagonal": lambda x: np.diagonal(x, axis1=1, axis2=2),
    "outline": lambda x: np.concatenate([x[:, 0], x[:, :, 1], x[:, :, 6]], axis=1),
}
_PROPERTIES: dict[str, Callable[[Floats], Floats]] = {
    "ink": lambda x: x.sum(axis=(1, 2)),
    "ink above": lambda x: x[:, :4].sum(axis=(1, 2)),
    "ink left": lambda x: x[:, :, :4].sum(axis=(1, 2)),
    "ink in the middle": lambda x: x[:, 2:6, 2:6].sum(axis=(1, 2)),
    "middle row": lambda x: _middle(x, 1),
    "middle column": lambda x: _middle(x, 2),
    "dark pixels": lambda x: (x >= 12).sum(axis=(1, 2)),
    "unlike its mirror image": lambda x: np.abs(x - x[:, :, ::-1]).sum(axis=(1, 2)),
}


def diabetes_lists(length: int = 34, seed: int = 0) -> Task:
    """Make lists of patients, ordered by the progression of their diabetes in a year.

    The 442 patients of scikit-learn's ``load_diabetes`` are dealt into lists at random (of several
    with the same progression in a list one is kept); age, sex, body mass, blood pressure and six
    serum values are the features. Data and order are real, the lists are not.

    Parameters
    ----------
    length : int
        Patients drawn for a list; a few less are kept.
    seed : int
    """
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True, scaled=False)
    check("diabetes_lists", "length", length, int_between(2, len(y) // 5))
    qid = deal_at_random(len(y) // length, len(y), np.random.default_rng(seed))
    keep = np.unique(np.column_stack([qid, y]), axis=0, return_index=True)[1]
    X, y, qid = X[keep], y[keep], qid[keep]
    return Task("diabetes", X, heights(y, Groups.from_qid(qid, len(y))), qid)


#: Lists to run the study on without MQ2008-list, by name.
SUBSTITUTES: dict[str, Callable[..., Task]] = {"digits": digit_lists, "diabetes": diabetes_lists}


# -- section 5.5: rankers of strict orders ------------------------------------------------------

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
    from crucial.lab.rankers import LightGBMPeer
    from crucial.rankers.feature_rank import DiffRank, FeatureRank
    from crucial.rankers.linear.estimators import ListMLE, RankCosine, SVMMap
    from crucial.rankers.rankboost import RankBoost

    found: dict[str, Estimator] = {
        "DiffRank": DiffRank(intervals),
        "BL-FeatureRank": FeatureRank(intervals, balance_control="mean"),
        "FeatureRank": FeatureRank(intervals),
        "ListMLE": ListMLE(),
        "SVM-map": SVMMap(top=relevant),
        "RankCosine": RankCosine(rounds, centred=False),
        "RankCosine centred": RankCosine(rounds),
        "RankBoost": RankBoost(n_estimators=rounds),
        "LightGBM": Graded(LightGBMPeer(rounds)),
    }
    if find_spec("lightgbm") is None:
        del found["LightGBM"]
    return found


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


def tables_of(found: ExperimentResult, data: str) -> Numbers:
    """Return tables 1 and 2, and the mean ranks by the Kendall distance."""
    failed = {one["ranker"] for one in found.failures}
    names = [name for name in found.rankers if name not in failed]
    values = {
        name: {measure: found.value(measure, name, "query") for measure in MEASURES}
        for name in names
    }
    best = sorted(names, key=lambda name: values[name]["kendall"])
    return {"data": data, "values": values, "by_kendall": best,
            "ranks": str(found.ranks("kendall", "query"))}  # fmt: skip


def print_tables(numbers: Numbers) -> None:
    """Print tables 1 and 2 of the paper, with its figures in brackets."""
    values = numbers["values"]
    wide = max(map(len, values)) + 1
    write("\nTable 1: mean over queries (the paper's on MQ2008-list in brackets)")
    write(f"{'':{wide}}{'Kendall distance':>19}{'top-10 persistence':>21}")
    for name, row in values.items():
        cells = []
        for at, measure in enumerate(("kendall", "persistence@10")):
            theirs = f"[{PUBLISHED[name][at]:.3f}]" if name in PUBLISHED else " " * 7
            cells.append(f"{row[measure]:.3f} {theirs}")
        write(f"{name:{wide}}{cells[0]:>19}{cells[1]:>21}")
    write("\nTable 2: NDCG at k, linear gain, base 2 (the paper's on MQ2008-list in brackets)")
    write(f"{'k':{wide}}" + "".join(f"{k:>8}" for k in range(1, 11)))
    for name, row in values.items():
        write(f"{name:{wide}}" + "".join(f"{row[measure]:8.3f}" for measure in NDCG))
        if name in PUBLISHED_NDCG:
            theirs = "".join(f"{f'[{value:.3f}]':>8}" for value in PUBLISHED_NDCG[name])
            write(f"{'':{wide}}{theirs}")
    order = numbers["by_kendall"]
    write(f"\n{numbers['ranks']}")
    if "DiffRank" in order:
        write(
            f"DiffRank is number {order.index('DiffRank') + 1} of {len(order)} by Kendall distance."
        )


def draw_tables(numbers: Numbers) -> Figure:
    """Draw figure 8, NDCG at 1 to 10: ours, and the published lines on the paper's data."""
    figure, panels = new_figure(1, 2, (11.0, 4.4))
    lines = {name: [row[measure] for measure in NDCG] for name, row in numbers["values"].items()}
    titles = (f"NDCG@k, {numbers['data'].split(':')[0]}", "NDCG@k, published, MQ2008-list")
    for panel, curves, title in zip(panels, (lines, PUBLISHED_NDCG), titles):
        for number, name in enumerate(lines):
            if name in curves:
                panel.plot(range(1, 11), curves[name], "o-", color=f"C{number}", label=name)
        panel.set(title=title, xlabel="k")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center")
    return figure


@app.item(
    "tables-1-2",
    needs=("mq2008_list",),
    minutes=0.5,
    quick={"substitute": "diabetes", "rounds": 50},
    tiny={"substitute": "diabetes", "rounds": 3, "intervals": 4, "few": True},
)
@click.option("--substitute", default="digits", help=f"without lists: {' or '.join(SUBSTITUTES)}")
@click.option("--rounds", type=int, default=200)
@click.option("--intervals", type=int, default=8, help="K of quasi-KNN")
@click.option("--few", is_flag=True, help="the paper's own three rankers only")
def tables_1_2(
    data: Mapping[str, Path], substitute: str, rounds: int, intervals: int, few: bool
) -> Numbers:
    """Rank strictly ordered lists by the paper's six rankers and ours: tables 1 and 2, figure 8.

    Without MQ2008-list of LETOR 4.0, real data that come with scikit-learn are used: its figures
    cannot be reached there. `strict-order` runs the same with a report and more options.
    """
    task: TaskLike
    if "mq2008_list" in data:
        task, named = read_strict_folds(data["mq2008_list"]), "MQ2008-list, five folds"
    else:
        make = lookup(SUBSTITUTES, substitute, "substitute")
        task = make()
        named = (
            f"a substitute, {substitute}: {' '.join((make.__doc__ or '').split('.')[0].split())}"
        )
    systems = rankers(rounds, intervals)
    if few:
        systems = {name: systems[name] for name in ("DiffRank", "BL-FeatureRank", "FeatureRank")}
    return tables_of(run(task, systems, n_jobs=1), named)


tables_1_2.shows(print_tables)
tables_1_2.draws(draw_tables)


@app.command("strict-order")
@click.argument("lists", required=False)
@click.option(
    "--best",
    type=click.Choice(["largest", "smallest"]),
    default="largest",
    help="which label is at the top of a list (LETOR: the largest)",
)
@click.option("--substitute", default="digits", help=f"without lists: {' or '.join(SUBSTITUTES)}")
@click.option("--intervals", type=int, default=8, help="K of quasi-KNN")
@click.option("--relevant", type=int, default=10, help="first positions that SVM-map is to find")
@click.option("--plot", help="file to draw figure 8 to: NDCG at 1 to 10; needs matplotlib")
@list_option("--only", kind=str, text="these systems only")
@experiment_options("deals substitutes into folds")
def strict_order_command(
    lists: str | None,
    best: str,
    substitute: str,
    intervals: int,
    relevant: int,
    plot: str | None,
    only: Sequence[str] | None,
    rounds: int,
    seed: int,
    folder: str | None,
    report: str | None,
    jobs: int,
) -> None:
    """Rank strictly ordered lists: tables 1 and 2, figure 8.

    LISTS is the folder of MQ2008-list of LETOR 4.0, with Fold1 to Fold5; without it, real data that
    come with scikit-learn are used, which are not the paper's.

    DiffRank, BL-FeatureRank, FeatureRank, ListMLE, SVM-map and RankCosine are its six; RankBoost
    and LightGBM are added. Rounds, and the ridge of ListMLE and SVM-map, are chosen by the Kendall
    distance on the validation part (the paper does not say how it chose).
    """
    if lists is not None:
        task: TaskLike = read_strict_folds(lists, best)
    else:
        make = lookup(SUBSTITUTES, substitute, "substitute")
        task = make(seed=seed)
        about = " ".join((make.__doc__ or "").split("\n\n")[1].split())
        write(f"A substitute for the paper's data: its figures cannot be reached here. {about}")
    write(repr(task))
    systems = rankers(rounds, intervals, relevant)
    if "LightGBM" not in systems:
        write("LightGBM is left out: lightgbm is not installed.")
    if only:
        systems = {name: lookup(systems, name, "system") for name in only}

    def show(found: ExperimentResult) -> None:
        numbers = tables_of(found, task.name)
        print_tables(numbers)
        if plot:
            write(f"drawn: {save_figure(draw_tables(numbers), plot)}")

    print_experiment(
        lambda: run(task, systems, folder, jobs, seed), show, "Strictly ordered lists", report
    )


# -- figures 5 to 7: centres of intervals, and how steadily rankers learn ------------------------

#: How an interval of relevance is represented.
KINDS = ("mean", "prior", "middle", "posterior")
#: Features whose centres are printed and drawn.
SHOWN = (0, 2, 3)


def centres_by_kind(task: Task, intervals: int) -> dict[str, Floats]:
    """Return the centres of all features by kind, the least relevant interval first.

    An interval without values has the centre NaN.
    """
    from crucial.rankers.feature_rank import FeatureRank

    found = {}
    for kind in KINDS:
        ranker = FeatureRank(intervals, centre=kind).fit(task.X, task.y, qid=task.qid)
        found[kind] = np.array([one.centres for one in ranker.model_.rankers], np.float64)
    return found


def wrong_shares(trace: Trace) -> Floats:
    """Return the share of training pairs in the wrong order after every step (definition 2)."""
    return np.maximum(2.0 * trace.column("r2") - trace.column("r1"), 0.0)


def promised(trace: Trace) -> Floats:
    """Return the bound of the algorithm after every step: the loss itself if it has no other."""
    return trace.column("bound" if "bound" in trace[0].extras else "loss")


@app.item(
    "figures-5-7",
    uses="diabetes, from scikit-learn",
    minutes=0.1,
    quick={"substitute": "diabetes"},
    tiny={"substitute": "diabetes", "intervals": 4, "cycles": 2},
)
@click.option("--substitute", default="diabetes", help=" or ".join(SUBSTITUTES))
@click.option("--intervals", type=int, default=8, help="K of quasi-KNN")
@click.option("--cycles", type=int, default=3, help="how often each feature is added")
def figures_5_7(substitute: str, intervals: int, cycles: int) -> Numbers:
    """The four kinds of centre, and how steadily rankers learn: figures 5, 6 and 7."""
    task = lookup(SUBSTITUTES, substitute, "substitute")()
    centres_of = {
        kind: table[list(SHOWN)] for kind, table in centres_by_kind(task, intervals).items()
    }
    curves = {}
    for name, ranker in rankers(intervals=intervals).items():
        if name in ("FeatureRank", "BL-FeatureRank", "DiffRank"):
            more = {"record_risks": True} if name == "DiffRank" else {}
            ranker.set_params(cycles=cycles, **more)
            trace = ranker.fit(task.X, task.y, qid=task.qid).trace_
            curves[name] = {
                "kendall": trace["r2"],
                "loss": trace["loss"],
                "promised": promised(trace),
                "misordered": wrong_shares(trace),
            }
    return {"data": f"{substitute}, from scikit-learn", "cycles": cycles, "centres": centres_of,
            "curves": curves}  # fmt: skip


@figures_5_7.shows
def print_figures_5_7(numbers: Numbers) -> None:
    """Print centres, and how often and far Kendall distance and loss rose in training."""
    for at, feature in enumerate(SHOWN):
        write(f"centres of feature {feature}, least relevant interval first")
        for kind, table in numbers["centres"].items():
            write(f"{kind:16}" + "".join(f"{value:9.4g}" for value in table[at]))
    for title, key in (("Kendall distance", "kendall"), ("loss", "loss")):
        write(f"{title:16}{'first':>8}{'last':>8}{'rises':>10}{'climbed':>9}")
        for name, one in numbers["curves"].items():
            steps = np.diff(one[key])
            rises = f"{(steps > 1e-12).sum()} of {len(steps)}"
            ends = f"{one[key][0]:8.4f}{one[key][-1]:8.4f}"
            write(f"{name:16}{ends}{rises:>10}{np.maximum(steps, 0.0).sum():9.4f}")


@figures_5_7.draws
def draw_figures_5_7(numbers: Numbers) -> Figure:
    """Draw the centres of three features, and Kendall distances, losses and errors by round."""
    figure, panels = new_figure(2, 3, (13.0, 7.6))
    for at, (feature, panel) in enumerate(zip(SHOWN, panels)):
        for kind, table in numbers["centres"].items():
            panel.plot(range(1, len(table[at]) + 1), table[at], marker=".", label=kind)
        panel.set(title=f"figure 5: centres of feature {feature}", xlabel="interval, worst first")
    curves = numbers["curves"]
    length = len(curves["FeatureRank"]["kendall"])
    rounds = range(1, length + 1)
    for name, one in curves.items():
        panels[3].plot(rounds, one["kendall"], label=name)
    for cycle in range(1, numbers["cycles"]):
        panels[3].axvline(cycle * length / numbers["cycles"] + 0.5, linestyle="--", color="0.7")
    panels[3].set(title="figure 6: Kendall distance", xlabel="round")
    boosted = curves["DiffRank"]
    for key, style, label in (("promised", ":", "product of the bounds"), ("loss", "-", "loss")):
        panels[4].plot(rounds, boosted[key], style, color="C0", label=label)
    panels[4].set(title="figure 7a: loss of DiffRank", xlabel="round")
    panels[5].plot(rounds, boosted["misordered"], color="C0", label="misordered pairs")
    panels[5].set(title="figure 7b: error of DiffRank", xlabel="round")
    for panel in panels:
        panel.legend(fontsize="small")
    return figure


# -- figure 9: a feature that ranks along a curve, not a line -----------------------------------

#: Lines that cut the relevance into intervals, lowest first.
LINES = (-1.0, 2.0)
#: The paper's centres, lowest interval first.
PUBLISHED_CENTRES = (-2.5, 1.5, 0.5)


def curve(x: Floats) -> Floats:
    """Return the relevance of values of the feature, from -5 to 4 (equation 19).

    Examples
    --------
    >>> curve(np.array([-2.0, -1.0, 0.0, 2.0, 4.0])).tolist()
    [-1.0, 2.0, 3.0, 2.0, -1.0]
    """
    return np.where(x < 0.0, -np.square(x) + 3.0, -0.25 * np.square(x) + 3.0)


def sample(points: int = 900) -> Floats:
    """Return values that are spread evenly from -5 to 4."""
    return -5.0 + 9.0 * (np.arange(points) + 0.5) / points


def centres(x: Floats) -> tuple[float, ...]:
    """Return the mean of the values of every interval, lowest first.

    Examples
    --------
    >>> [round(one, 6) for one in centres(sample())]
    [-3.5, 1.5, 0.5]
    """
    interval = np.searchsorted(LINES, curve(x))
    return tuple(float(x[interval == k].mean()) for k in range(len(LINES) + 1))


def distances(x: Floats) -> dict[str, float]:
    """Return the Kendall distance of every order to the true one."""
    kendall, truth = get_measure("kendall"), curve(x)
    table = x[:, None]
    orders = {
        "linear, falling (4 first)": x,
        "linear, rising (-5 first)": -x,
        "quasi-KNN, centres as means": QuasiKNN(0, centres(x)).ranks(table),
        "quasi-KNN, the paper's centres": QuasiKNN(0, PUBLISHED_CENTRES).ranks(table),
    }
    return {name: float(kendall(truth, scores)) for name, scores in orders.items()}


@app.item("figure-9", uses="the curve of equation 19", minutes=0.1, tiny={"points": 90})
@click.option("--points", type=int, default=900, help="values from -5 to 4")
def figure_9(points: int) -> Numbers:
    """Rank along a curve by quasi-KNN: figure 9, theorem 1.

    The curve of equation 19 is cut by the lines y = 2 and y = -1 into three intervals of relevance,
    whose centres are the means of the feature's values. The table compares quasi-KNN's order of the
    values with the true one and with the linear orders. The paper gives -2.5 as the centre of the
    lowest interval, which is from -5 to -2 and has its mean at -3.5; both are shown.
    """
    check("figure-9", "points", points, at_least(9))
    x = sample(points)
    interval = np.searchsorted(LINES, curve(x))
    shares = [float(np.mean(interval == k)) for k in range(len(LINES) + 1)]
    return {"data": f"the curve of equation 19 at {points} points", "points": points,
            "centres": centres(x), "shares": shares, "distances": distances(x)}  # fmt: skip


@figure_9.shows
def print_figure_9(numbers: Numbers) -> None:
    """Print the intervals and the distances."""
    write("interval  relevance        values                   centre  the paper's")
    bounds = ("below -1", "from -1 to 2", "above 2")
    places = ("-5 to -2", "-2 to -1 and 2 to 4", "-1 to 2")
    own = numbers["centres"]
    for k in reversed(range(len(own))):
        number = len(own) - k  # (the paper counts from the top)
        share = f"{numbers['shares'][k]:.0%}"
        write(
            f"{number:<10}{bounds[k]:<17}{places[k]:<20}{share:>4} {own[k]:7.2f} "
            f"{PUBLISHED_CENTRES[k]:9.2f}"
        )
    write("\nKendall distance to the true order")
    for name, value in numbers["distances"].items():
        write(f"{name:34}{value:.4f}")


@figure_9.draws
def draw_figure_9(numbers: Numbers) -> Figure:
    """Draw the curve, its intervals and centres, quasi-KNN's order and those of both lines."""
    x = sample(numbers["points"])
    figure, panels = new_figure(1, 2, (10.0, 4.2))
    panels[0].plot(x, curve(x))
    for line in LINES:
        panels[0].axhline(line, linestyle="--", color="0.6")
    for k, centre in enumerate(centres(x)):
        panels[0].axvline(centre, linestyle=":", color=f"C{k + 1}", label=f"centre {centre:.2g}")
    panels[0].set_title("relevance")
    panels[0].legend()
    for name, ranker in (("means", centres(x)), ("the paper's", PUBLISHED_CENTRES)):
        ranks = QuasiKNN(0, ranker).ranks(x[:, None])
        panels[1].plot(x, ranks / len(x), ".", markersize=2, label=f"quasi-KNN, {name}")
    true = np.argsort(np.argsort(curve(x), kind="stable"), kind="stable")
    panels[1].plot(x, true / len(x), color="0.5", label="true")
    panels[1].plot(x, np.linspace(1.0, 0.0, len(x)), ":", color="0.5", label="a line, -5 first")
    panels[1].plot(x, np.linspace(0.0, 1.0, len(x)), "--", color="0.5", label="a line, 4 first")
    panels[1].set_title("rank, from 0 to 1")
    panels[1].legend(markerscale=4)
    for panel in panels:
        panel.set_xlabel("value of the feature")
    return figure


if __name__ == "__main__":
    app()
