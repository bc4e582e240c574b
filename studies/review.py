"""Reviews: the losses of Werner (2019), ranking trees, and all rankers on one data set."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from common import Numbers, experiment_options, list_option, new_figure, steps, studies, write
from crucial.data.files import atomic_write
from crucial.errors import CrucialError, DataError, FileError
from crucial.feedback.labels import LabelFeedback
from crucial.lab.experiment import Experiment
from crucial.lab.protocols import GivenFolds, read_folds
from crucial.measures.names import CustomMeasure, get_measure
from crucial.parameters import at_least, check, lookup, parameters_of
from crucial.rankers.ranking_trees.estimators import PooledRanker, RankingForest, TreeRank
from crucial.rankers.ranking_trees.rank_over import RankOver
from crucial.rankers.registry import RANKERS, ranker_class
from crucial.rankers.regression_boosting import ComponentwiseBoost
from crucial.types import Floats, Ints, PathLike, TableLike, VectorLike

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from crucial.lab.protocols import FoldTask
    from crucial.lab.results import ExperimentResult

app = studies(__doc__)

# -- Werner (2019, section 4.6): component-wise boosting ----------------------------------------

#: Features, rows, and coefficients other than 0.
ALLOCATIONS = ((25, 50, 10), (100, 50, 20), (250, 200, 10))
ROUNDS, STEP = 100, 0.1
#: Variance of the signal over that of the noise.
RATIO = 2.0

#: Losses by the name in the table, with their parameters.
LOSSES: dict[str, dict[str, Any]] = {
    "L2": {"loss": "l2"},
    "Exp": {"loss": "exp"},
    "Hinge": {"loss": "hinge"},
    "piecewise .1": {"loss": "piecewise", "width": 0.1},
    "piecewise .5": {"loss": "piecewise", "width": 0.5},
    "piecewise .9": {"loss": "piecewise", "width": 0.9},
}

#: What the paper says of each, by the first word of its name.
WORDS = {
    "L2": "the yardstick",
    "Exp": "never finishes since the gradients diverge",
    "Hinge": "much worse than L2 on the responses, profits from expit, still worse than L2",
    "piecewise": "much worse than L2; selects very few variables or overfits",
}


@dataclass(frozen=True)
class LossCell:
    """One loss under one rule of choice, over all draws.

    Attributes
    ----------
    loss : str
    choice : str
        "updated" or "simple"; L2 has one rule only, and is filed under both.
    expit : bool
        Whether the labels were put through the expit.
    hard : array of shape (n_draws,)
        Hard ranking loss against the labels as they were, ties counted half.
    features : array of shape (n_draws,)
        Features in the model.
    diverged : int
        Draws in which the scores diverged.
    """

    loss: str
    choice: str
    expit: bool
    hard: Floats
    features: Floats
    diverged: int


def draw(p: int, n: int, nonzero: int, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw features and responses ``X b + noise``."""
    X = random.normal(size=(n, p))
    b = np.zeros(p)
    b[:nonzero] = random.normal(size=nonzero)
    signal = X @ b
    noise = random.normal(size=n)
    return X, signal + noise * np.sqrt(np.var(signal) / RATIO / np.var(noise))


def run_losses(
    p: int, n: int, nonzero: int, *, draws: int = 5, seed: int = 0, rounds: int = ROUNDS
) -> list[LossCell]:
    """Boost every loss on the draws of one allocation."""
    check("component_boosting", "draws", draws, at_least(1))
    check("component_boosting", "rounds", rounds, at_least(1))
    tables = [draw(p, n, nonzero, np.random.default_rng([seed, p, n, k])) for k in range(draws)]
    cells = []
    for name, settings in steps(f"losses, p = {p}, n = {n}", LOSSES.items()):
        for expit in (False, True):
            for choice in ("simple", "updated"):
                if name == "L2" and choice == "updated":
                    continue
                fits = [
                    _fit(X, y, rounds, {**settings, "selection": choice, "expit": expit})
                    for X, y in tables
                ]
                hard, features, diverged = (np.array(part) for part in zip(*fits))
                cells.append(LossCell(name, choice, expit, hard, features, int(diverged.sum())))
                if name == "L2":
                    cells.append(LossCell(name, "updated", expit, hard, features, 0))
    return cells


def _fit(X: Floats, y: Floats, rounds: int, settings: dict[str, Any]) -> tuple[float, float, bool]:
    """Return hard loss, features and divergence of one fit."""
    ranker = ComponentwiseBoost(rounds, STEP, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # (divergence is a result here)
        ranker.fit(X, y)
    hard = LabelFeedback(y).r2(ranker.predict(X))
    return hard, float(np.count_nonzero(ranker.coef_)), ranker.diverged_ is not None


def print_allocation(one: Numbers) -> None:
    """Print one allocation: losses by rows, rules of choice by columns."""
    p, n, nonzero = one["allocation"]
    draws = one["draws"]
    write(f"p = {p}, n = {n}, {nonzero} coefficients other than 0, means of {draws} draws")
    head = f"{'':14}{'labels':8}{'simple fit alone':>29}{'updated model':>29}   in the paper"
    write(head)
    write(f"{'':22}" + 2 * f"{'loss':>9}{'features':>10}{'diverged':>10}")
    for name, rows in one["losses"].items():
        for labels, cells in rows.items():
            line = f"{name if labels == 'raw' else '':14}{labels:8}"
            for choice in ("simple", "updated"):
                hard, features, diverged = cells[choice]
                line += f"{hard:9.3f}{features:10.1f}"
                line += f"{diverged if name != 'L2' else '':>10}"
            words = WORDS[name.split()[0]] if labels == "raw" else ""
            write(f"{line}   {words}".rstrip())
    write(one["verdict"])
    write("")


def verdict(cells: Sequence[LossCell]) -> str:
    """Return what the table says about hinge boosting, in one sentence."""
    mean = {(one.loss, one.choice, one.expit): float(one.hard.mean()) for one in cells}
    l2 = mean["L2", "updated", False]
    simple, updated = (mean["Hinge", choice, False] for choice in ("simple", "updated"))
    if updated < l2 < simple:
        return (
            f"HingeBoost fails by its selection rule, not by its loss: {simple:.3f} where the "
            f"simple fit alone chooses, {updated:.3f} where the updated model does, L2 {l2:.3f}."
        )
    return (
        f"HingeBoost has {simple:.3f} where the simple fit alone chooses and {updated:.3f} where "
        f"the updated model does; L2 has {l2:.3f}."
    )


@app.item(
    "section-4-6",
    minutes=6,
    quick={"allocations": 1},
    tiny={"allocations": 1, "draws": 1, "rounds": 8},
)
@click.option("--draws", type=int, default=5, help="tables per allocation")
@click.option("--rounds", type=int, default=ROUNDS)
@click.option("--seed", type=int, default=0)
@click.option(
    "--allocations",
    type=click.IntRange(1, len(ALLOCATIONS)),
    default=len(ALLOCATIONS),
    help="how many of the three, smallest first",
)
def section_4_6(draws: int, rounds: int, seed: int, allocations: int) -> Numbers:
    """Boost surrogates of the ranking loss: the simulation of section 4.6.

    Draws tables of standard normal features and linear responses, boosts every loss for 100 rounds
    with a step of .1, and prints the hard ranking loss on the rows learned from, the features
    chosen, and how often the scores diverged. The surrogates over pairs choose their feature in two
    ways: by the loss of the simple fit alone, which is the letter of the paper's algorithm 2, and
    by the loss of the updated model. The paper prints no numbers, only what it saw; its words stand
    beside the table.
    """
    out = []
    for allocation in ALLOCATIONS[:allocations]:
        cells = run_losses(*allocation, draws=draws, seed=seed, rounds=rounds)
        table: Numbers = {name: {"raw": {}, "expit": {}} for name in LOSSES}
        for one in cells:
            mean = [float(one.hard.mean()), float(one.features.mean()), one.diverged]
            table[one.loss]["expit" if one.expit else "raw"][one.choice] = mean
        out.append({"allocation": allocation, "draws": draws, "losses": table,
                    "verdict": verdict(cells)})  # fmt: skip
    return {"data": f"{draws} draws of {allocations} allocations", "allocations": out}


@section_4_6.shows
def print_section_4_6(numbers: Numbers) -> None:
    """Print every allocation."""
    for one in numbers["allocations"]:
        print_allocation(one)


@section_4_6.draws
def draw_section_4_6(numbers: Numbers) -> Figure:
    """Draw the hard loss of every surrogate on labels as they are, by the rule of choice."""
    found = numbers["allocations"]
    figure, panels = new_figure(1, len(found), (4.2 * len(found), 3.8), sharey=True)
    for panel, one in zip(panels, found):
        places = np.arange(len(one["losses"]))
        for shift, choice in ((-0.2, "simple"), (0.2, "updated")):
            cells = [rows["raw"][choice] for rows in one["losses"].values()]
            bars = panel.bar(places + shift, [cell[0] for cell in cells], 0.38,
                             label=f"{choice} model chooses")  # fmt: skip
            ended = [f"{cell[2]}/{one['draws']}" if cell[2] else "" for cell in cells]
            panel.bar_label(bars, ended, fontsize="x-small")
        panel.set_xticks(places, list(one["losses"]), rotation=40, ha="right")
        panel.set_title(f"p = {one['allocation'][0]}, n = {one['allocation'][1]}")
    panels[0].set(ylabel="hard ranking loss", ylim=(0.0, 0.6))
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


# -- Werner (2019, figure 1): times of losses ---------------------------------------------------

SIZES = (100, 1_000, 10_000)
COLUMNS = (10, 100)
#: Best items that the localised losses look at, as shares of the rows.
SHARES = (0.1, 0.5)


@dataclass(frozen=True)
class LossTimes:
    """Seconds for all columns of one table.

    Attributes
    ----------
    n_rows, n_columns : int
    listed : float or None
        Hard loss from the listed pairs; None if left out.
    hard : float
        Hard loss by sorting.
    localised : dict of int to float
        Localised losses by sorting, by K.
    """

    n_rows: int
    n_columns: int
    listed: float | None
    hard: float
    localised: dict[int, float]


def listed_hard_loss(y: Floats, scores: Floats, block: int = 512) -> float:
    """Return the hard loss from all pairs, a tie counting half: 2 / (n(n - 1)) times a sum.

    Equation 2.2 of Werner (2019). Blocks of rows keep the memory small; the time is O(n^2).

    Examples
    --------
    >>> listed_hard_loss(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0]))
    0.3333333333333333
    """
    wrong, n = 0.0, len(y)
    for start in range(0, n, block):
        rows = slice(start, start + block)
        below = y[rows, None] < y
        wrong += np.count_nonzero(below & (scores[rows, None] > scores))
        wrong += 0.5 * np.count_nonzero(below & (scores[rows, None] == scores))
    return float(2.0 * wrong / (n * (n - 1)))


def _seconds(work: Callable[[Floats], float], X: Floats) -> tuple[float, list[float]]:
    """Return the processor time of one call per column, and the values."""
    began = time.process_time()
    values = [work(column) for column in X.T]
    return time.process_time() - began, values


def time_losses(n_rows: int, n_columns: int, listed: bool = True, seed: int = 0) -> LossTimes:
    """Measure the times for one table of random columns.

    Parameters
    ----------
    n_rows, n_columns : int
    listed : bool
        Also list the pairs.
    seed : int
    """
    check("loss_times", "n_rows", n_rows, at_least(2))
    check("loss_times", "n_columns", n_columns, at_least(1))
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(n_rows, n_columns)), random.normal(size=n_rows)
    cutoffs = [max(1, int(share * n_rows)) for share in SHARES]
    names = ["hard_loss", *(f"localised_loss@{k}" for k in cutoffs)]
    found = []
    for name in names:
        measure = get_measure(name).prepare(y)  # reads the labels once for all columns
        measure(X[:, 0])  # (loads the kernels)
        found.append(_seconds(measure, X))
    slow = None
    if listed:
        slow, values = _seconds(lambda column: listed_hard_loss(y, column), X)
        if not np.allclose(values, found[0][1], rtol=1e-12):
            raise CrucialError("the hard losses of the two ways differ.")
    localised = {k: seconds for k, (seconds, _) in zip(cutoffs, found[1:], strict=True)}
    return LossTimes(n_rows, n_columns, slow, found[0][0], localised)


@app.item(
    "figure-1", minutes=0.4, quick={"rows": (100, 1000)}, tiny={"rows": (20, 40), "columns": (2,)}
)
@list_option("--rows", SIZES, text="values of n")
@list_option("--columns", COLUMNS, text="values of p")
@click.option("--list-up-to", type=int, default=max(SIZES), help="largest n whose pairs are listed")
@click.option("--seed", type=int, default=0, help="of the random columns")
def figure_1(rows: Sequence[int], columns: Sequence[int], list_up_to: int, seed: int) -> Numbers:
    """Measure the time of ranking losses: figure 1.

    For p columns of n rows against one label: the hard loss from the listed pairs, O(n^2), and hard
    and localised losses in O(n log n).
    """
    sizes = [(n, p) for n in rows for p in columns]
    found = [time_losses(n, p, n <= list_up_to, seed) for n, p in steps("sizes", sizes)]
    return {
        "data": "random columns",
        "sizes": [[one.n_rows, one.n_columns, one.listed is not None] for one in found],
        "seconds": [[one.listed, one.hard, *one.localised.values()] for one in found],
    }


@figure_1.shows
def print_figure_1(numbers: Numbers) -> None:
    """Print the seconds, and how many times faster the hard loss is by sorting."""
    write("Processor seconds for all columns (figure 1 draws them for one data set each)")
    heads = [f"localised {share:.0%}" for share in SHARES]
    write(f"{'n':>7}{'p':>5}{'hard, listed':>15}{'hard':>10}"
          + "".join(f"{head:>15}" for head in heads) + f"{'listed/hard':>13}")  # fmt: skip
    for (n, p, _), (listed, hard, *localised) in zip(numbers["sizes"], numbers["seconds"]):
        slow = "left out" if listed is None else f"{listed:.4f}"
        times = "" if listed is None else f"{listed / hard:.0f}"
        cells = "".join(f"{seconds:>15.4f}" for seconds in localised)
        write(f"{n:>7}{p:>5}{slow:>15}{hard:>10.4f}{cells}{times:>13}")


@figure_1.draws
def draw_figure_1(numbers: Numbers) -> Figure:
    """Draw seconds by the number of rows, for the largest number of columns."""
    figure, (panel,) = new_figure()
    most = max(p for _, p, _ in numbers["sizes"])
    rows = [
        (n, times) for (n, p, _), times in zip(numbers["sizes"], numbers["seconds"]) if p == most
    ]
    names = ("hard, pairs listed", "hard, sorted", *(f"localised {one:.0%}" for one in SHARES))
    for at, name in enumerate(names):
        line = [(n, times[at]) for n, times in rows if times[at] is not None]
        panel.loglog(*zip(*line), marker="o", label=name)
    panel.set(xlabel="rows", ylabel=f"processor seconds for {most} columns")
    panel.legend()
    return figure


# -- ranking trees beside the authors' package --------------------------------------------------

#: Areas of a tree and of a forest of 50 trees by the authors' package.
TREE_AREAS = {
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


@app.item("treerank", needs=("treerank",), minutes=0.2, tiny={"rows": 200})
@click.option("--seed", type=int, default=0, help="random_state of the rankers")
@click.option("--rows", type=int, default=2000, help="without the data: generated rows to learn on")
def treerank(data: Mapping[str, Path], seed: int, rows: int) -> Numbers:
    """Learn ranking trees beside the authors' package, on its two-class data sets.

    Learns on NAME.learn.csv and gives the area under the ROC curve on NAME.test.csv for every NAME
    in the folder, plain or .gz. The label is the last column. Where there is a NAME.roc.csv, the
    area under the best possible curve is given too.
    """
    sets = find_sets(data["treerank"]) if data else [_two_normals(rows)]
    tables = []
    for one in steps("sets", sets):
        for name, (area, seconds) in areas(one, seed).items():
            known = TREE_AREAS.get(one.name, {}).get(name)
            tables.append({"set": one.name, "ranker": name, "area": area, "package": known,
                           "best": one.best, "seconds": seconds})  # fmt: skip
    named = "the sets of the TreeRank package" if data else "two normal classes, generated"
    return {"data": named, "areas": tables}


def _two_normals(rows: int) -> TwoClassSet:
    """Return two classes of normal rows in the plane, one moved by 1 in either direction."""
    random = np.random.default_rng(0)
    parts = []
    for _ in range(2):
        y = random.integers(0, 2, rows)
        parts.append((random.normal(size=(rows, 2)) + y[:, None], y))
    return TwoClassSet("normal", parts[0], parts[1], None)


@treerank.shows
def print_treerank(numbers: Numbers) -> None:
    """Print one line per set and ranker."""
    write(f"{'data':<16}{'ranker':<15}{'AUC':>8}{'package':>9}{'best':>8}{'seconds':>9}")
    for one in numbers["areas"]:
        package, best = (f"{v:.4f}" if v is not None else "" for v in (one["package"], one["best"]))
        write(f"{one['set']:<16}{one['ranker']:<15}{one['area']:>8.4f}{package:>9}{best:>8}"
              f"{one['seconds']:>9.2f}")  # fmt: skip


# -- the form of feedback that a ranker takes ---------------------------------------------------


@dataclass(frozen=True)
class Form:
    """How labels are given to a ranker.

    Attributes
    ----------
    queries : bool
        Whether it gets the query ids; else all rows are pooled.
    grades : bool
        Whether it gets the labels as they are; else relevant (above 0) or not.
    """

    queries: bool
    grades: bool

    def __str__(self) -> str:
        labels = "grades" if self.grades else "two labels"
        return f"queries, {labels}" if self.queries else f"pooled, {labels}"


#: The form nearest to the data first.
FORMS = (Form(True, True), Form(True, False), Form(False, True), Form(False, False))


class Adapted(BaseEstimator):
    """A ranker that is fitted in the form that it takes, and scores as it is.

    Parameters
    ----------
    ranker : ranker of this package
    queries, grades : bool
        As in `Form`.
    """

    def __init__(self, ranker: Any, queries: bool = True, grades: bool = True) -> None:
        self.ranker, self.queries, self.grades = ranker, queries, grades

    def fit(self, X: TableLike, y: VectorLike, qid: VectorLike | None = None) -> Self:
        """Fit a copy of the ranker."""
        labels: NDArray[Any] = np.asarray(y)
        if not self.grades:
            labels = (labels > 0).astype(np.int64)
        more = {"qid": qid} if self.queries and qid is not None else {}
        self.ranker_ = clone(self.ranker).fit(X, labels, **more)
        return self

    def predict(self, X: TableLike, qid: VectorLike | None = None) -> Floats:
        """Return the scores of the ranker."""
        found: Floats = self.ranker_.predict(X, **self._queries(self.ranker_.predict, qid))
        return found

    def _queries(self, method: Any, qid: VectorLike | None) -> dict[str, Any]:
        """Return the query ids for a method that takes them."""
        takes = self.queries and "qid" in inspect.signature(method).parameters
        return {"qid": qid} if takes and qid is not None else {}


class AdaptedInRounds(Adapted):
    """The same for a ranker that learns in rounds."""

    def staged_predict(self, X: TableLike, qid: VectorLike | None = None) -> Iterator[Floats]:
        """Yield the scores after every round."""
        method = self.ranker_.staged_predict
        found: Iterator[Floats] = method(X, **self._queries(method, qid))
        return found


def adapt(ranker: Any, form: Form) -> Adapted:
    """Return a ranker that is fitted in a form."""
    kind = AdaptedInRounds if hasattr(ranker, "staged_predict") else Adapted
    return kind(ranker, form.queries, form.grades)


def find_form(ranker: Any) -> Form | str:
    """Return the form nearest to graded labels with queries that a ranker takes.

    Tries the forms on a few rows, with one round.

    Returns
    -------
    Form, or str
        The reason why it takes none of them.

    Examples
    --------
    >>> from crucial import RankBoost
    >>> from crucial.rankers import AdaBoostRanker
    >>> str(find_form(RankBoost())), str(find_form(AdaBoostRanker()))
    ('queries, grades', 'pooled, two labels')
    """
    random = np.random.default_rng(0)
    qid = np.repeat(np.arange(6), 10)
    X = random.normal(size=(60, 3))
    y = np.digitize(X[:, 0] + random.normal(size=60), [0.0, 1.0])
    y[::10] = 2  # (every query has a relevant row)
    few = {"n_estimators": 1} if "n_estimators" in ranker.get_params() else {}
    reason = ""
    for form in FORMS:
        trial = adapt(clone(ranker).set_params(**few), form)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                trial.fit(X, y, qid).predict(X, qid)
            except CrucialError as error:
                reason = str(error)
                continue
        return form
    return reason


# -- all rankers on one data set with folds -----------------------------------------------------

#: Mean average precision on MQ2007 by LETOR's script (Qin & Liu 2013, the site of LETOR 4.0).
LETOR_PUBLISHED = {"RankSVM": 0.4645, "RankBoost": 0.4662, "ListNet": 0.4652}

#: Rankers of which one fit takes long on some ten thousand rows: no grid for them.
SLOW = ("infinite-push", "logistic", "rankboost-plus", "ranknet", "svm-map")
#: Factors on the default of l2, for a ranker that declares no grid of it.
RIDGES = (0.1, 1.0, 10.0)
#: Rows that represent all in a kernel.
LANDMARKS = 200

_MARKS = ("<!-- all_rankers: begin -->", "<!-- all_rankers: end -->")


def letor_map(y: Floats, scores: Floats) -> float:
    """Return the average precision of a query as Eval-Score-4.0 does; 0 without a relevant row.

    Examples
    --------
    >>> letor_map(np.array([0.0, 2.0, 1.0]), np.array([1.0, 3.0, 1.0]))  # (ties as in the file)
    0.8333333333333333
    >>> letor_map(np.zeros(3), np.arange(3.0))
    0.0
    """
    relevant = y[np.argsort(-scores, kind="stable")] > 0
    if not relevant.any():
        return 0.0
    precision = np.cumsum(relevant) / np.arange(1, len(y) + 1)
    return float(precision[relevant].mean())


def letor_ndcg(y: Floats, scores: Floats) -> float:
    """Return NDCG@10 of a query as Eval-Score-4.0 does.

    0 without a relevant row, and for fewer than ten rows.

    Examples
    --------
    >>> y = np.array([0.0, 2.0, 1.0, 0, 0, 0, 0, 0, 0, 0, 2.0])
    >>> round(letor_ndcg(y, -np.arange(11.0)), 6)  # (3 + 1 / log2 3) / (3 + 3 + 1 / log2 3)
    0.547575
    """
    if len(y) < 10:
        return 0.0
    discount = 1.0 / np.maximum(1.0, np.log2(np.arange(1, 11)))
    gains = 2.0**y - 1.0
    best = float(np.sort(gains)[::-1][:10] @ discount)
    found = float(gains[np.argsort(-scores, kind="stable")][:10] @ discount)
    return found / best if best > 0.0 else 0.0


LETOR_MAP = CustomMeasure("map of LETOR", letor_map, True, "MAP by Eval-Score-4.0")
LETOR_NDCG = CustomMeasure("ndcg@10 of LETOR", letor_ndcg, True, "NDCG@10 by Eval-Score-4.0")
MEASURES = ("map", "ndcg@10", LETOR_MAP, LETOR_NDCG)
NAMES = ("map", "ndcg@10", LETOR_MAP.name, LETOR_NDCG.name)


#: Other settings of rankers to compare, by the names that the table gives them.
SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    "featurerank": {"balanced": {"balance_control": "mean"}},
    "treerank": {task: {"task": task} for task in ("bipartite", "continuous")},
    "ranking-forest": {
        **{task: {"task": task} for task in ("bipartite", "continuous")},
        "aggregation": {
            "task": "aggregation",
            "n_estimators": 1,
            "bootstrap": False,
            "max_features": None,
            "consensus": "rank",
        },
    },
}


@dataclass(frozen=True)
class Entry:
    """A ranker of the table.

    Attributes
    ----------
    name : str
    form : str
        How it is fitted; or why it is not.
    estimator : Adapted or None
        None for a ranker that takes no form of the data.
    grid : dict of str to list
        What is chosen on the validation part beside the rounds.
    """

    name: str
    form: str
    estimator: Adapted | None
    grid: dict[str, list[Any]]


def entries(names: Iterable[str] = RANKERS, rounds: int | None = None) -> list[Entry]:
    """Return the rankers of the registry in their forms, some also with other `SETTINGS`.

    A kernel ranker is there with landmarks, too.

    Parameters
    ----------
    names : iterable of str
        Names of the registry.
    rounds : int, optional
        Rounds of those that learn in rounds; their own defaults without.
    """
    found = []
    for name in names:
        lookup(RANKERS, name, "ranker")
        kind = ranker_class(name)
        ranker = kind()
        if rounds is not None and hasattr(kind, "staged_predict"):
            known = ranker.get_params()
            ranker.set_params(**{"n_estimators": rounds} if "n_estimators" in known else {})
        found.append(_entry(name, ranker))
        for setting, values in SETTINGS.get(name, {}).items():
            found.append(_entry(f"{name}, {setting}", kind(**values)))
        if {"kernel", "n_landmarks"} <= set(ranker.get_params()):
            other = kind(kernel="rbf", n_landmarks=LANDMARKS)
            found.append(_entry(f"{name}, rbf", other))
        if name == "ranking-svm":
            found.append(_entry(f"{name}, l1", kind(penalty="l1", tol=1e-6)))
    return found


def _entry(name: str, ranker: Any) -> Entry:
    """Return a ranker in its form, with its grid."""
    form = find_form(ranker)
    if isinstance(form, str):
        return Entry(name, form, None, {})
    grid = {} if name.split(",")[0] in SLOW else _grid(ranker, form)
    return Entry(name, str(form), adapt(ranker, form), grid)


def _grid(ranker: Any, form: Form) -> dict[str, list[Any]]:
    """Return the values of one parameter to choose from: l1, l2 or balance, in that order."""
    declared = parameters_of(ranker)
    if getattr(ranker, "penalty", "l2") == "l1":
        return {"ranker__l1": [0.001, 0.003, 0.01, 0.03]}
    for name in ("l1", "l2", "balance"):
        if name not in declared or (name == "balance" and not form.queries):
            continue
        if name == "l2" and getattr(ranker, "weak", None) == "stump":
            continue  # (it is about trees)
        values = list(declared[name].grid or ())
        if not values and name == "l2" and ranker.l2:
            values = [ranker.l2 * factor for factor in RIDGES]
        if values:
            return {f"ranker__{name}": values}
    return {}


def run_rankers(
    task: FoldTask, rankers: Sequence[Entry], folder: str | None = None, n_jobs: int | None = None
) -> ExperimentResult:
    """Fit every ranker on every fold; what is chosen is chosen by MAP on the validation part."""
    systems = {one.name: one.estimator for one in rankers if one.estimator is not None}
    grids = {one.name: one.grid for one in rankers if one.grid}
    trial = Experiment([task], systems, MEASURES, GivenFolds(choose_by="map"), grids=grids)
    return trial.run(folder, n_jobs=n_jobs)


def by_fold(found: ExperimentResult, measure: str) -> dict[str, list[float]]:
    """Return the value of every fold, for the rankers that failed on none; the best first."""
    values: dict[str, list[float]] = {}
    for cell in found.cells:
        if cell["status"] == "ok":
            value = cell["measures"][measure]["value"]
            values.setdefault(cell["ranker"], []).append(np.nan if value is None else value)
    whole = max(map(len, values.values()), default=0)
    kept = {name: some for name, some in values.items() if len(some) == whole}
    return dict(sorted(kept.items(), key=lambda one: -float(np.mean(one[1]))))


def tables(found: ExperimentResult, rankers: Sequence[Entry]) -> list[str]:
    """Return the lines of the tables in Markdown: by fold, in both conventions; what failed."""
    forms = {one.name: one.form for one in rankers}
    seconds: dict[str, list[float]] = {}
    for cell in found.cells:
        if cell["status"] == "ok":
            seconds.setdefault(cell["ranker"], []).append(float(cell["fit_seconds"]))
    splits = [split for one in found.settings["tasks"].values() for split in one["splits"]]
    lines: list[str] = []
    for ours, theirs, title, published in (
        (NAMES[0], NAMES[2], "MAP", LETOR_PUBLISHED),
        (NAMES[1], NAMES[3], "NDCG@10", {}),
    ):
        own, letor = by_fold(found, ours), by_fold(found, theirs)
        heads = ["ranker", "learns from", *splits, "mean", "by LETOR's script", "seconds per fold"]
        lines += ["", f"**{title}**", "", _row(heads), _row(["---"] * len(heads))]
        for name, values in own.items():
            cells = [*(f"{value:.4f}" for value in values), f"**{np.mean(values):.4f}**"]
            times = f"{np.mean(seconds[name]):.1f}"
            lines.append(_row([name, forms[name], *cells, f"{np.mean(letor[name]):.4f}", times]))
        for name, value in published.items():
            blank = [""] * (len(splits) + 1)
            lines.append(_row([f"{name}, published", "", *blank, f"{value:.4f}", ""]))
    left_out = {one.name: one.form for one in rankers if one.estimator is None}
    left_out |= {one["ranker"]: one["error"] for one in found.failures}
    if left_out:
        lines += ["", "Not in the tables:", ""]
        lines += [f"- {name}: {' '.join(why.split())}" for name, why in left_out.items()]
    return lines


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def write_tables(path: PathLike, lines: Sequence[str]) -> None:
    """Put the tables into a page, between its two marks.

    Raises
    ------
    FileError
        The page lacks the marks.
    """
    text = Path(path).read_text(encoding="utf-8")
    begin, end = _MARKS
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise FileError(path, f"the page needs the lines {begin} and {end}, once each.")
    head, rest = text.split(begin)
    tail = rest.split(end)[1]
    body = "\n".join(lines).strip("\n")
    with atomic_write(path) as file:
        file.write(f"{head}{begin}\n{body}\n{end}{tail}".encode())


@app.command("all-rankers")
@click.argument("data")
@list_option("--only", kind=str, text="these of the registry only")
@list_option("--folds", text="these folds only, from 1")
@click.option("--write", "page", help="page to put the tables into, between its marks")
@experiment_options("not used: the folds are given", rounds=None)
def all_rankers_command(
    data: str,
    only: Sequence[str] | None,
    folds: Sequence[int] | None,
    page: str | None,
    rounds: int | None,
    seed: int,
    folder: str | None,
    report: str | None,
    jobs: int,
) -> None:
    """All rankers on the folds of LETOR or another data set.

    DATA is a folder with LETOR's folds, Fold1 to Fold5, or with the parts S1 to S5. Every ranker is
    fitted on each fold with its default settings; rounds, and l1, l2 or balance where a fit is
    cheap, are chosen by mean average precision on the validation part. A ranker that takes no
    queries gets all rows as one list, one that takes no grades gets relevant or not. With --folder
    a run that was ended continues; --write FILE puts the tables into a page, between its two marks.

    MAP and NDCG@10 are printed twice: as this package defines them (a query without a relevant
    document has no value, ties count as their expectation, NDCG with gain y), and as LETOR's script
    Eval-Score-4.0 does (such a query counts 0, ties are in the order of the file, NDCG with gain
    2^y - 1 and two positions without discount, 0 for a query of fewer than ten documents).
    Published figures are of the latter kind.
    """
    task = read_folds(data)
    if folds:
        known: Mapping[str, Any] = {str(k): one for k, one in enumerate(task.folds, 1)}
        task = replace(task, folds=tuple(lookup(known, str(k), "fold") for k in folds))
    rankers = entries(only or RANKERS, rounds)
    write(f"{task!r}; {len(rankers)} rankers")
    found = run_rankers(task, rankers, folder, None if jobs == 1 else jobs)
    lines = tables(found, rankers)
    for line in lines:
        write(line)
    if page:
        write_tables(page, lines)
        write(f"written: {page}")
    if report:
        found.report(report, "All rankers")


if __name__ == "__main__":
    app()
