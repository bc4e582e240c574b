"""RankBoost+: Connamacher, Pancha, Liu & Ray (2019), on MovieLens-100K and LETOR.

RankBoost+, RB-C and RB-D beside the published figures; convergence, bounds and counterexamples.
"""

from __future__ import annotations

import math
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import click
import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import minimize
from sklearn.base import clone

from common import SOURCES, Numbers, new_figure, steps, studies, title_of, write
from crucial import make_letor
from crucial.data.dataset import Dataset, Ratings
from crucial.data.groups import Groups
from crucial.errors import DataError
from crucial.feedback.labels import LabelFeedback
from crucial.io.ratings import read_ratings
from crucial.io.svmlight import write_svmlight
from crucial.kernels.pairs import PlusSums
from crucial.lab.comparison import critical_difference, ranks_of
from crucial.lab.cross_validation import curves
from crucial.lab.experiment import Experiment
from crucial.lab.protocols import GivenFolds, Task, ThreeWayFolds, read_folds
from crucial.measures.names import get_measure
from crucial.rankers.rankboost import RankBoost
from crucial.rankers.rankboost_plus import PlusWeights, RankBoostPlus, Span, list_pairs
from crucial.types import Floats, PathLike, VectorLike
from perfect_rounds import TREATMENTS, lemma_1, lemma_2, treat

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from crucial.lab.protocols import TaskLike
    from crucial.lab.results import ExperimentResult

app = studies(__doc__)

RANKERS = ("RB+", "RB-C", "RB-D")

_folder = click.option("--folder", help="stores finished cells: a killed run can be continued")
_jobs = click.option("--jobs", type=int, default=1, help="processes")
_rounds = click.option("--rounds", type=int, default=200)
_users = click.option("--users", type=int, help="the first so many users only")
_seed = click.option("--seed", type=int, default=0, help="deals films into folds")


def _write_row(head: str, cells: Iterable[str], width: int = 10, cell_width: int = 27) -> None:
    write(f"{head:{width}}" + "".join(f"{cell:>{cell_width}}" for cell in cells))


# -- section 5: films, tables 1 and 3 -----------------------------------------------------------

# Their figures, tables 1 and 3: average rank and median stopping round, then the mean.
Published: TypeAlias = dict[str, dict[str, tuple[float, int, float]]]
FILM_TABLES: Published = {
    "r1": {"RB+": (1.314, 32, 0.3100), "RB-C": (1.938, 31, 0.3218), "RB-D": (2.748, 26, 0.3394)},
    "r2": {"RB+": (1.356, 25, 0.3114), "RB-C": (1.952, 21, 0.3218), "RB-D": (2.692, 18, 0.3376)},
    "ndcg@3": {"RB+": (1.696, 4, 0.7920), "RB-C": (2.125, 2, 0.7642), "RB-D": (2.179, 3, 0.7620)},
    "ndcg@5": {"RB+": (1.559, 7, 0.8019), "RB-C": (2.211, 2, 0.7684), "RB-D": (2.230, 4, 0.7675)},
    "ndcg@7": {"RB+": (1.476, 11, 0.8104), "RB-C": (2.268, 2, 0.7744), "RB-D": (2.256, 4, 0.7749)},
}
# The same for 300 queries of WEB10K.
WEB_TABLES: Published = {
    "r1": {"RB+": (1.543, 33, 0.3763), "RB-C": (1.907, 37, 0.3804), "RB-D": (2.550, 28, 0.3918)},
    "r2": {"RB+": (1.652, 20, 0.3762), "RB-C": (1.922, 20, 0.3790), "RB-D": (2.427, 16, 0.3880)},
    "ndcg@3": {"RB+": (2.038, 6, 0.4628), "RB-C": (1.942, 7, 0.4667), "RB-D": (2.020, 10, 0.4847)},
    "ndcg@5": {
        "RB+": (1.952, 9, 0.4836), "RB-C": (1.955, 11, 0.4847), "RB-D": (2.093, 17, 0.4881),
    },
    "ndcg@7": {
        "RB+": (1.927, 12, 0.4972), "RB-C": (1.963, 16, 0.4989), "RB-D": (2.110, 20, 0.4911),
    },
}  # fmt: skip
FILM_MEASURES = tuple(FILM_TABLES)


def make_tasks(ratings: Ratings, least: int = 100) -> tuple[list[Task], int]:
    """Return one task per user with at least so many ratings, and how many had no feature.

    A feature is another user who rated half of the films of the task or more. Where that user
    did not rate a film, the value is below all ratings (the paper's rule).
    """
    users = ratings.users
    table = np.full((len(ratings.items), len(users)), np.nan)
    table[ratings.item_code, ratings.user_code] = ratings.rating
    known = ~np.isnan(table)
    lowest = ratings.rating.min() - 1.0
    tasks, empty = [], 0
    for number in np.flatnonzero(known.sum(axis=0) >= least):
        rows = known[:, number]
        enough = known[rows].sum(axis=0) * 2 >= rows.sum()
        enough[number] = False
        if not enough.any():
            empty += 1
            continue
        X = np.nan_to_num(table[np.ix_(rows, enough)], nan=lowest)
        tasks.append(Task(f"user {users[number]}", X, table[rows, number]))
    if not tasks:
        raise DataError(
            f"no user has {least} ratings or more and a feature; {len(users)} users were read."
        )
    return tasks, empty


def made_ratings(n_users: int = 24, n_films: int = 50, seed: int = 0) -> Ratings:
    """Return generated ratings from 1 to 5 of three quarters of all films."""
    random = np.random.default_rng(seed)
    taste, quality = random.normal(size=(n_users, 1)), random.normal(size=n_films)
    liked = quality + 0.3 * taste + 0.7 * random.normal(size=(n_users, n_films))
    stars = np.clip(np.round(3 + liked), 1, 5)
    user, film = np.nonzero(random.random((n_users, n_films)) < 0.75)
    return Ratings(user + 1, film + 1, stars[user, film])


def film_tasks(data: Mapping[str, Path], users: int | None) -> tuple[list[Task], str]:
    """Return the tasks of the first users, and which data they are from."""
    if "movielens" in data:
        ratings, least, words = read_ratings(data["movielens"]), 100, title_of(data, "movielens")
    else:
        ratings, least, words = made_ratings(), 30, "generated ratings"
    tasks, empty = make_tasks(ratings, least)
    part = f", of which the first {users}" if users is not None else ""
    counted = (
        f"{len(tasks) + empty} users with {least} ratings or more, {len(tasks)} with a feature"
    )
    return tasks[:users], f"{words}: {counted}{part}"


def film_rankers(rounds: int) -> dict[str, Any]:
    """Return the paper's three rankers; its stumps have either sign, so |r| is the steepness."""
    return {
        "RB+": RankBoostPlus(rounds),
        "RB-C": RankBoost.preset("rb_c", n_estimators=rounds),
        "RB-D": RankBoost.preset("rb_d", n_estimators=rounds),
    }


def run_films(
    tasks: list[Task], rounds: int = 200, folder: str | None = None, n_jobs: int = -1, seed: int = 0
) -> ExperimentResult:
    """Run five folds per task: three to train, one to choose the round, one to test."""
    trial = Experiment(tasks, film_rankers(rounds), FILM_MEASURES, "five-folds", seed=seed)
    return trial.run(folder, n_jobs=n_jobs)


def table_numbers(found: ExperimentResult, words: str) -> Numbers:
    """Return average ranks, median rounds and means over tasks, by measure and ranker."""
    if found.failures:
        raise DataError(f"{len(found.failures)} cells failed: {found.failures[0]}")
    rounds: dict[tuple[str, str], list[int]] = {}
    for cell in found.cells:
        for measure in FILM_MEASURES:
            chosen = cell["measures"][measure]["round"]
            rounds.setdefault((measure, cell["ranker"]), []).append(chosen or 0)
    table: dict[str, dict[str, tuple[float, float, float]]] = {}
    for measure in FILM_MEASURES:
        summary = found.ranks(measure, "task")
        ranks = dict(zip(summary.rankers, summary.ranks))
        table[measure] = {
            name: (ranks[name], statistics.median(rounds[measure, name]),
                   found.value(measure, name, "task"))
            for name in RANKERS
        }  # fmt: skip
    n_tasks = len(found.tasks)
    gap = critical_difference(len(RANKERS), n_tasks)
    return {"data": words, "tasks": n_tasks, "critical_difference": gap, "table": table}


def print_tables(numbers: Numbers, published: Published) -> None:
    """Print tables 1 and 3 of the paper, with its figures in brackets."""
    write("\nAverage rank over tasks, median round (table 1; the paper's in brackets)")
    _write_row("", RANKERS)
    for measure, row in numbers["table"].items():
        theirs = [published[measure][name] for name in RANKERS]
        cells = [f"{row[name][0]:.3f} {row[name][1]:4g} [{rank:.3f} {median:2d}]"
                 for name, (rank, median, _) in zip(RANKERS, theirs)]  # fmt: skip
        _write_row(measure, cells)
    write(f"critical difference {numbers['critical_difference']:.4f} for {numbers['tasks']} tasks")
    write("\nMean over tasks (table 3; the paper's in brackets)")
    _write_row("", RANKERS)
    for measure, row in numbers["table"].items():
        cells = [f"{row[name][2]:.4f} [{published[measure][name][2]:.4f}]" for name in RANKERS]
        _write_row(measure, cells)


def draw_differences(numbers: Numbers) -> Figure:
    """Draw critical difference diagrams of R1 and R2: average ranks, and bars over equals."""
    figure, panels = new_figure(1, 2, (9.0, 2.0))
    gap = numbers["critical_difference"]
    for axes, measure in zip(panels, ("r1", "r2")):
        ranks = {name: row[0] for name, row in numbers["table"][measure].items()}
        axes.plot([1, len(ranks)], [0, 0], color="black")
        for name, rank in ranks.items():
            axes.plot([rank, rank], [0, 0.5], color="black")
            axes.text(rank, 0.6, f"{name}\n{rank:.2f}", ha="center", va="bottom")
        best = min(ranks.values())
        axes.plot([best, best + gap], [1.9, 1.9], color="C1", linewidth=3)
        axes.text(best, 2.0, f"critical difference {gap:.3f}", va="bottom", color="C1")
        ordered = sorted(ranks.values())
        for low, high in pairwise(ordered):
            if high - low < gap:  # (no significant difference)
                axes.plot([low - 0.02, high + 0.02], [0.25, 0.25], color="black", linewidth=4)
        axes.set_xlim(0.9, len(ranks) + 0.1)
        axes.set_ylim(-0.2, 2.6)
        axes.set_yticks([])
        axes.set_title(f"test {measure.upper()}")
    return figure


@app.item("table-1", needs=["movielens"], minutes=6, quick={"rounds": 60, "users": 8},
          tiny={"rounds": 4, "users": 2})  # fmt: skip
@_users
@_rounds
@_seed
@_folder
@_jobs
def table_1(
    users: int | None, rounds: int, seed: int, folder: str | None, jobs: int,
    data: Mapping[str, Path],
) -> Numbers:  # fmt: skip
    """Tables 1 and 3, MovieLens: average ranks, median rounds and means of R1, R2 and NDCG.

    Every user with 100 ratings or more is a task: rank the films that the user rated by the ratings
    that others gave them. RankBoost+, RB-C and RB-D learn 200 rounds; for each measure the round is
    the best one on the validation fold. The picture is figure 3 for these tasks.
    """
    tasks, words = film_tasks(data, users)
    return table_numbers(run_films(tasks, rounds, folder, jobs, seed), words)


table_1.shows(lambda numbers: print_tables(numbers, FILM_TABLES))
table_1.draws(draw_differences)


def web_tasks(
    X: Floats, y: Floats, qid: Floats, queries: int = 300, most_pairs: int = 50_000
) -> list[Task]:
    """Return one task per query: of those with fewer pairs than a limit, those with the most."""
    groups = Groups.from_qid(qid, len(y))
    pairs = {}
    for number in range(groups.n_groups):
        rows = groups.order[groups.starts[number] : groups.starts[number + 1]]
        counts = np.unique(y[rows], return_counts=True)[1].astype(float)
        n_pairs = (len(rows) ** 2 - float(counts @ counts)) / 2
        if 0 < n_pairs < most_pairs:
            pairs[number] = n_pairs
    chosen = sorted(sorted(pairs, key=lambda number: -pairs[number])[:queries])
    tasks = []
    for number in chosen:
        rows = groups.order[groups.starts[number] : groups.starts[number + 1]]
        tasks.append(Task(f"query {groups.ids[number]}", X[rows], y[rows]))
    return tasks


@app.item("table-1-web10k", needs=["web10k"], minutes=90, quick={"rounds": 40, "queries": 6},
          tiny={"rounds": 3, "queries": 2})  # fmt: skip
@click.option("--queries", type=int, default=300)
@click.option("--most-pairs", type=int, default=50_000, help="a query has fewer")
@_rounds
@_seed
@_folder
@_jobs
def table_1_web10k(
    queries: int, most_pairs: int, rounds: int, seed: int, folder: str | None, jobs: int,
    data: Mapping[str, Path],
) -> Numbers:  # fmt: skip
    """Tables 1 and 3 and figure 3, WEB10K: 300 queries, a task each.

    Of the queries with fewer than 50,000 pairs, the 300 with the most. Five folds per query, and
    255 thresholds per feature, drawn at random.
    """
    if "web10k" in data:
        folds = read_folds(data["web10k"])
        parts = folds.parts(folds.splits[0])
        some = [one for one in (parts.train, parts.valid, parts.test) if one is not None]
        X, y, qid = (np.concatenate([getattr(one, name) for one in some])
                     for name in ("X", "y", "qid"))  # fmt: skip
        words = SOURCES["web10k"].title
    else:
        made = make_letor(n_queries=2 * queries, docs_per_query=60, n_features=12)
        X, y, qid, words = np.asarray(made.X), made.y, made.qid, "generated queries"
    tasks = web_tasks(X, y, qid, queries, most_pairs)
    trial = Experiment(tasks, letor_rankers(rounds, None), FILM_MEASURES, "five-folds", seed=seed)
    found = trial.run(folder, n_jobs=jobs)
    return table_numbers(found, f"{words}, {len(tasks)} queries")


table_1_web10k.shows(lambda numbers: print_tables(numbers, WEB_TABLES))
table_1_web10k.draws(draw_differences)


@app.item("ndcg-readings", needs=["movielens"], minutes=1, quick={"rounds": 40, "users": 4},
          tiny={"rounds": 3, "users": 1})  # fmt: skip
@click.option("--users", type=int, default=60, help="the first so many users")
@_rounds
@_seed
def ndcg_readings(users: int, rounds: int, seed: int, data: Mapping[str, Path]) -> Numbers:
    """NDCG@5 of table 3 under other readings: of the gain, and of "minimized on validation".

    The paper's NDCG is lower than that of any ranker here, and its rounds are fewer. Taken to the
    letter, its rule keeps the round in which NDCG is smallest.
    """
    tasks, words = film_tasks(data, users)
    measures = [get_measure(f"{gain}@5") for gain in ("ndcg", "ndcg_exp")]
    found: dict[tuple[str, str, str], list[tuple[float, int]]] = {}
    for task in steps("tasks", tasks):
        for split in ThreeWayFolds().splits(task, seed):
            parts = task.parts(split)
            assert parts.valid is not None
            for name, ranker in film_rankers(rounds).items():
                fitted = clone(ranker).fit(parts.train.X, parts.train.y)
                tables = []
                for part in (parts.valid, parts.test):
                    staged = fitted.staged_predict(part.X)
                    tables.append(curves(staged, part, measures)[0])
                for measure in (one.name for one in measures):
                    for kept, at in (("largest", np.argmax), ("smallest", np.argmin)):
                        where = int(at(tables[0][measure]))
                        found.setdefault((measure, kept, name), []).append(
                            (float(tables[1][measure][where]), where + 1)
                        )
    values: dict[str, dict[str, tuple[float, float]]] = {}
    for (measure, kept, name), pairs in found.items():
        value, rounds_kept = zip(*pairs)
        entry = values.setdefault(f"{measure}, {kept}", {})
        entry[name] = (float(np.mean(value)), statistics.median(rounds_kept))
    return {"data": words, "values": values}


@ndcg_readings.shows
def print_readings(numbers: Numbers) -> None:
    """Print mean and median round by gain and by the round that is kept."""
    write("\nmean, median round (the paper's in brackets)")
    _write_row("gain, round kept", RANKERS, 26)
    for reading, row in numbers["values"].items():
        theirs = {name: FILM_TABLES["ndcg@5"][name] for name in RANKERS}
        cells = [f"{row[name][0]:.4f} {row[name][1]:4g} [{theirs[name][2]:.4f} {theirs[name][1]}]"
                 for name in RANKERS]  # fmt: skip
        _write_row(reading, cells, 26)


# -- E2 of an ensemble that was not trained on it, round by round ------------------------------


def e2_trace(ranker: Any, X: Floats, y: VectorLike) -> Floats:
    """Return E2 after every round, with the ensemble expressed on independent weak rankers.

    E2 depends on the set that F2 is defined on (section 3.2), so the weak rankers of the ensemble
    are processed one after the other as in section 5: an independent one joins the set; one in the
    span of the set changes the weights of its members, so that the scores of all pairs stay those
    of the ensemble.

    Parameters
    ----------
    ranker : fitted boosting estimator
        Its weak rankers have scores 0 and 1.
    X, y : rows and labels of one query

    Examples
    --------
    >>> from crucial import RankBoost
    >>> X = np.array([[2, 2, 1], [0, 2, 0], [0, 3, 3], [1, 3, 3], [3, 3, 0], [1, 2, 3]], float)
    >>> y = [3, 2, 2, 1, 1, 0]
    >>> model = RankBoost.preset("rb_c", choice="steepest", n_estimators=3).fit(X, y)
    >>> e2_trace(model, X, y).round(4).tolist()  # (in its first round RB-C is RankBoost+)
    [0.9231, 0.8608, 0.8809]
    """
    feedback = LabelFeedback(y, Groups.single(len(X)))
    pairs = list_pairs(feedback, None, 0)
    weights = PlusWeights(pairs, PlusSums(pairs.start, pairs.low, 1))
    span = Span(pairs.component)
    betas: dict[object, Floats] = {}
    model = ranker.ensemble_
    values = np.empty(model.n_rounds)
    for number, (weak, alpha) in enumerate(zip(model.rankers, model.weights)):
        if weak not in betas:
            output = weak.scores(X)[feedback.rows].astype(np.uint8)
            if span.add(output):
                beta = np.zeros(weights.add(output) + 1)
                beta[-1] = 1.0
            else:
                beta = span.coordinates(output[None, :])[1][0]
                beta[np.abs(beta) < 1e-9] = 0.0
            betas[weak] = beta
        beta = betas[weak]
        for place in np.flatnonzero(beta).tolist():
            column = weights.used[:, place].astype(np.uint8)
            weights.step(place, column, alpha * float(beta[place]))
        values[number] = np.exp(weights.log_e2)
    return values


# -- figures 1, 2 and 4 ----------------------------------------------------------------------------

#: Values after every round, by measure and ranker.
Curves: TypeAlias = dict[tuple[str, str], Floats]

TEST = ("r1", "r2", "ndcg@5")
TRAIN = ("e1", "e2")


def convergence(tasks: Sequence[Task], rounds: int, seed: int = 0, n_jobs: int = -1) -> Curves:
    """Return the curves of figure 2: means over tasks and folds after every round.

    A ranker that ends earlier keeps the values of its last round.
    """
    run = Parallel(n_jobs=n_jobs, return_as="generator")
    jobs = (delayed(_of_task)(task, rounds, seed) for task in tasks)
    found = list(steps("tasks", run(jobs), len(tasks)))
    return {key: np.mean([one[key] for one in found], axis=0) for key in found[0]}


def _of_task(task: Task, rounds: int, seed: int) -> Curves:
    """Return the curves of one task, means over its folds."""
    measures = [get_measure(name) for name in TEST]
    folds: dict[tuple[str, str], list[Floats]] = {}
    for split in ThreeWayFolds().splits(task, seed):
        parts = task.parts(split)
        for name, ranker in film_rankers(rounds).items():
            fitted = clone(ranker).set_params(n_jobs=1).fit(parts.train.X, parts.train.y)
            staged = fitted.staged_predict(parts.test.X)
            values, _ = curves(staged, parts.test, measures)
            if name == "RB+":
                values |= {loss: fitted.trace_.column(loss) for loss in TRAIN}
            else:
                values["e1"] = fitted.trace_.column("loss")
                values["e2"] = e2_trace(fitted, parts.train.X, parts.train.y)
            for measure in (*TEST, *TRAIN):
                folds.setdefault((measure, name), []).append(_continued(values[measure], rounds))
    return {key: np.mean(some, axis=0) for key, some in folds.items()}


def _continued(values: Floats, rounds: int) -> Floats:
    """Return values for all rounds, the last one repeated; those of no ensemble if there is none.

    Examples
    --------
    >>> _continued(np.array([3.0, 2.0]), 4).tolist()
    [3.0, 2.0, 2.0, 2.0]
    """
    if not len(values):
        return np.full(rounds, np.nan)
    return np.concatenate((values, np.full(rounds - len(values), values[-1])))


@app.item("figure-2", needs=["movielens"], minutes=6, quick={"rounds": 60, "users": 4},
          tiny={"rounds": 5, "users": 1})  # fmt: skip
@_users
@_rounds
@_seed
@_jobs
def figure_2(
    users: int | None, rounds: int, seed: int, jobs: int, data: Mapping[str, Path]
) -> Numbers:
    """Figure 2: how RankBoost+, RB-C and RB-D converge on the tasks of table 1.

    R1, R2 and NDCG@5 on the test folds, E1 and E2 on the training folds, means over all tasks and
    folds. E2 of RB-C and RB-D is that of their ensembles on independent weak rankers (`e2_trace`).
    """
    tasks, words = film_tasks(data, users)
    found = convergence(tasks, rounds, seed, jobs)
    table: dict[str, dict[str, Floats]] = {}
    for (measure, name), values in found.items():
        table.setdefault(measure, {})[name] = values
    return {"data": words, "rounds": rounds, "curves": table}


def _rounds_shown(rounds: int) -> list[int]:
    """Return the rounds that a table shows.

    Examples
    --------
    >>> _rounds_shown(30)
    [1, 2, 5, 10, 20, 30]
    """
    marks = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    return sorted({number for number in marks if number < rounds} | {rounds})


@figure_2.shows
def print_convergence(numbers: Numbers) -> None:
    """Print the means after some rounds; E2 of RB-C and RB-D by `e2_trace`."""
    rounds = _rounds_shown(numbers["rounds"])
    write(f"{'round':16}" + "".join(f"{number:>9}" for number in rounds))
    for measure in (*TEST, *TRAIN):
        for name in RANKERS:
            values = [numbers["curves"][measure][name][one - 1] for one in rounds]
            cells = (f"{one:9.4f}" if one < 1000 else f"{one:9.1e}" for one in values)
            write(f"{measure:8}{name:8}" + "".join(cells))
    write("(E2 of RB-C and RB-D: of their ensembles on independent weak rankers, by e2_trace)")


@figure_2.draws
def draw_convergence(numbers: Numbers) -> Figure:
    """Draw R1 and R2, E1 and E2, and NDCG@5."""
    figure, panels = new_figure(1, 3, (13.0, 4.2))
    contents = (("test R1, R2", TEST[:2]), ("train E1, E2", TRAIN), ("test NDCG@5", TEST[2:]))
    for panel, (title, measures) in zip(panels, contents):
        for number, name in enumerate(RANKERS):
            for measure, line in zip(measures, ("-", "--")):
                values = numbers["curves"][measure][name]
                label = f"{name}, {measure.upper()}" if len(measures) > 1 else name
                panel.plot(range(1, len(values) + 1), values, line, color=f"C{number}", label=label)
        panel.set_title(title)
        panel.legend(fontsize="small")
        panel.set_xlabel("round")
    panels[1].set_ylim(0.0, 2.0)  # (E2 of RB-D grows without end)
    return figure


class Halt(NamedTuple):
    """A task on which RB-D halts before a ranker that misorders nothing (figure 4).

    ``losses`` is E1 after every round, by ranker; RB-D's ends where it halts.
    """

    task: str
    losses: dict[str, Floats]

    @property
    def fall(self) -> float:
        """How far RB-C ends below E1 with which RB-D halts."""
        return float(self.losses["RB-D"][-1] - self.losses["RB-C"][-1])


def find_halts(tasks: Iterable[Task], rounds: int) -> list[Halt]:
    """Return the tasks on which RB-D, halted as in the paper, has made one round or more."""
    halts = []
    for task in tasks:
        halted = RankBoost.preset("rb_d", n_estimators=rounds, on_perfect="stop")
        trace = halted.fit(task.X, task.y, qid=task.qid).trace_
        if not len(trace) or trace.stopped != "perfect weak ranker":
            continue
        other = RankBoost.preset("rb_c", n_estimators=rounds).fit(task.X, task.y, qid=task.qid)
        losses = {"RB-D": trace.column("loss"), "RB-C": other.trace_.column("loss")}
        halts.append(Halt(task.name, losses))
    return halts


@app.item("figure-4", needs=["movielens"], minutes=0.5, tiny={"users": 12})
@_users
@_rounds
def figure_4(users: int | None, rounds: int, data: Mapping[str, Path]) -> Numbers:
    """Figure 4: RB-D meets a weak ranker that misorders nothing, and halts; RB-C goes on.

    Of all tasks on which RB-D halts, the one on which RB-C falls furthest below.
    """
    tasks, words = film_tasks(data, users)
    halts = find_halts(steps("tasks", tasks), rounds)
    if not halts:
        raise DataError(
            f"figure 4: RB-D meets no ranker without a mistake within {rounds} rounds "
            f"on any of the {len(tasks)} tasks. Use more users or rounds."
        )
    furthest = max(halts, key=lambda one: one.fall)
    table = [(one.task, len(one.losses["RB-D"]), one.losses["RB-D"][-1], one.losses["RB-C"][-1])
             for one in halts]  # fmt: skip
    return {"data": words, "rounds": rounds, "halts": table, "task": furthest.task,
            "losses": furthest.losses}  # fmt: skip


@figure_4.shows
def print_halt(numbers: Numbers) -> None:
    """Print all halts, and E1 by round on the task that is drawn."""
    rounds = numbers["rounds"]
    write(
        f"{'RB-D halts on':16}{'after round':>12}{'its E1':>9}{f'RB-C, {rounds}':>12}"
        f"{'below by':>10}"
    )
    for task, halted, ours, other in numbers["halts"]:
        write(f"{task:16}{halted:>12}{ours:9.4f}{other:12.4f}{ours - other:10.4f}")
    losses = numbers["losses"]
    shown = sorted({*_rounds_shown(len(losses["RB-C"])), len(losses["RB-D"])})
    write(f"\nE1 on {numbers['task']}")
    write(f"{'round':8}" + "".join(f"{number:>9}" for number in shown))
    for name, values in losses.items():
        cells = (f"{values[n - 1]:9.4f}" if n <= len(values) else f"{'-':>9}" for n in shown)
        write(f"{name:8}" + "".join(cells))


@figure_4.draws
def draw_halt(numbers: Numbers) -> Figure:
    """Draw E1 of both by round."""
    figure, (panel,) = new_figure()
    for name, losses in numbers["losses"].items():
        panel.plot(range(1, len(losses) + 1), losses, label=name)
    halted = numbers["losses"]["RB-D"]
    panel.plot(len(halted), halted[-1], "o", color="C0")
    panel.set_xlabel("round")
    panel.set_ylabel("E1 on the training pairs")
    panel.set_title(numbers["task"])
    panel.legend()
    return figure


def _seconds_by_round(ranker: Any, X: Floats, y: Floats) -> list[float]:
    """Return the time since the start of the fit after every round."""
    seconds: list[float] = []
    began = time.process_time()

    def note(_: Any) -> None:
        seconds.append(time.process_time() - began)

    ranker.set_params(callbacks=note, n_jobs=1).fit(X, y)
    return seconds


@app.item("figure-1", minutes=0.1, quick={"rows": 60, "features": 80, "rounds": 120},
          tiny={"rows": 20, "features": 8, "rounds": 25})  # fmt: skip
@click.option("--rows", type=int, default=150)
@click.option("--features", type=int, default=200)
@click.option("--rounds", type=int, default=250)
@click.option("--seed", type=int, default=0)
def figure_1(rows: int, features: int, rounds: int, seed: int) -> Numbers:
    """Figure 1: seconds by round of both forms of RankBoost+, and of RB-C and RB-D.

    One query of generated rows with five labels. The optimal form searches all directions of the
    span of the rankers in use; the efficient form (algorithm 2) fixes an independent set once.
    """
    X, y = made_rows(rows, features, 5, seed)
    rankers = {
        "optimal RB+": RankBoostPlus(rounds, search="optimal"),
        "efficient RB+": RankBoostPlus(rounds),
        "RB-C": RankBoost.preset("rb_c", n_estimators=rounds),
        "RB-D": RankBoost.preset("rb_d", n_estimators=rounds),
    }
    seconds, static = {}, None
    for name, ranker in steps("rankers", rankers.items()):
        clone(ranker).set_params(n_estimators=1).fit(X, y)  # (compiles)
        seconds[name] = _seconds_by_round(ranker, X, y)
        static = getattr(ranker, "static_round_", static)
    n_pairs = LabelFeedback(y).n_pairs
    words = f"{rows} generated rows, {features} features, {n_pairs} pairs"
    return {"data": words, "rounds": rounds, "static_round": static, "seconds": seconds}


@figure_1.shows
def print_seconds(numbers: Numbers) -> None:
    """Print seconds after some rounds."""
    shown = _rounds_shown(numbers["rounds"])
    write(f"{'seconds, round':16}" + "".join(f"{number:>9}" for number in shown))
    for name, values in numbers.get("seconds", {}).items():
        cells = (f"{values[one - 1]:9.3f}" if one <= len(values) else f"{'-':>9}" for one in shown)
        write(f"{name:16}" + "".join(cells))
    write(f"efficient RB+ fixes its set of rankers in round {numbers['static_round']}")


@figure_1.draws
def draw_seconds(numbers: Numbers) -> Figure:
    """Draw the time since the start by round."""
    figure, (panel,) = new_figure()
    for name, values in numbers.get("seconds", {}).items():
        panel.plot(range(1, len(values) + 1), values, label=name)
    panel.set_xlabel("round")
    panel.set_ylabel("seconds")
    panel.legend()
    return figure


def made_rows(n_rows: int, n_features: int, n_labels: int, seed: int) -> tuple[Floats, Floats]:
    """Return rows of whole numbers from 0 to 19, and labels that depend on some of them."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 20, (n_rows, n_features)).astype(float)
    worth = X[:, : max(1, n_features // 3)].mean(axis=1) + 4.0 * random.normal(size=n_rows)
    cuts = np.quantile(worth, np.linspace(0.0, 1.0, n_labels + 1)[1:-1])
    return X, np.digitize(worth, cuts).astype(float)


# -- LETOR 4.0, tables 2 and 4 ------------------------------------------------------------------

NDCG = tuple(f"ndcg_exp@{k}(letor)" for k in (3, 5, 7))
POOLED = ("r1(pool)", "r2(pool)")  # equations 3 and 4: all pairs of all queries
LETOR_MEASURES = (*POOLED, *NDCG)

# Table 2: average rank over the folds of both data sets.
LETOR_RANKS: dict[str, tuple[float, float, float]] = {
    POOLED[0]: (1.3, 1.9, 2.8),
    POOLED[1]: (1.1, 2.1, 2.8),
    NDCG[0]: (1.9, 1.8, 2.3),
    NDCG[1]: (1.7, 1.6, 2.7),
    NDCG[2]: (1.5, 1.7, 2.8),
}
# Table 4: means over the folds.
LETOR_MEANS: dict[str, dict[str, tuple[float, float, float]]] = {
    "MQ2007": {
        POOLED[0]: (0.2974, 0.2980, 0.3049),
        POOLED[1]: (0.2985, 0.2978, 0.3098),
        NDCG[0]: (0.4121, 0.4104, 0.4034),
        NDCG[1]: (0.4186, 0.4169, 0.4126),
        NDCG[2]: (0.4280, 0.4276, 0.4218),
    },
    "MQ2008": {
        POOLED[0]: (0.2082, 0.2153, 0.2190),
        POOLED[1]: (0.2027, 0.2161, 0.2192),
        NDCG[0]: (0.4190, 0.4250, 0.4185),
        NDCG[1]: (0.4684, 0.4702, 0.4582),
        NDCG[2]: (0.4887, 0.4899, 0.4819),
    },
}


def letor_rankers(rounds: int, max_pairs: int | None) -> dict[str, Any]:
    """Return the paper's three rankers, with 255 random thresholds per feature."""
    drawn: dict[str, Any] = {"thresholds": "random", "max_bins": 256, "default_rank": 0}
    return {
        "RB+": RankBoostPlus(rounds, max_pairs=max_pairs, **drawn),
        "RB-C": RankBoost.preset("rb_c", n_estimators=rounds),
        "RB-D": RankBoost.preset("rb_d", n_estimators=rounds),
    }


def run_letor(
    tasks: Sequence[TaskLike],
    rounds: int = 200,
    folder: str | None = None,
    n_jobs: int = -1,
    max_pairs: int | None = None,
) -> ExperimentResult:
    """Run the given folds; NDCG's round is chosen by mean average precision."""
    protocol = GivenFolds(choose_by=dict.fromkeys(NDCG, "map"))
    trial = Experiment(list(tasks), letor_rankers(rounds, max_pairs), LETOR_MEASURES, protocol)
    return trial.run(folder, n_jobs=n_jobs)


def letor_blocks(found: ExperimentResult, measure: str) -> dict[tuple[str, str], list[float]]:
    """Return the value of every fold by task and ranker, as LETOR's script averages.

    A query without a relevant document counts 0. R1 and R2 are shares of the pairs of all queries.
    """
    values: dict[tuple[str, str], list[float]] = {}
    for cell in found.cells:
        if cell["status"] != "ok":
            continue
        queries = np.array(cell["per_query"][measure], np.float64)
        value = float(np.nan_to_num(queries).mean())
        if measure in POOLED:
            pooled = cell["measures"][measure]["value"]
            value = np.nan if pooled is None else float(pooled)
        values.setdefault((cell["task"], cell["ranker"]), []).append(value)
    return values


def made_folds(folder: PathLike, seed: int = 0) -> Path:
    """Write five parts of a generated data set; one query in each has no relevant document."""
    place = Path(folder)
    place.mkdir(parents=True)
    for part in range(5):
        data = make_letor(n_queries=8, docs_per_query=12, n_features=6, seed=10 * seed + part)
        y, qid = np.minimum(data.y, 2.0), np.asarray(data.qid) + 100 * part
        y[qid == qid[0]] = 0.0
        write_svmlight(place / f"S{part + 1}.txt", Dataset(np.round(data.X, 3), y, qid))
    return place


@app.item("table-4", needs=["mq2007", "mq2008"], minutes=1, quick={"rounds": 60},
          tiny={"rounds": 4})  # fmt: skip
@click.option("--max-pairs", type=int, help="pairs that RankBoost+ learns from, at most")
@_rounds
@_folder
@_jobs
def table_4(
    max_pairs: int | None, rounds: int, folder: str | None, jobs: int, data: Mapping[str, Path]
) -> Numbers:
    """Tables 2 and 4, LETOR 4.0: average ranks over folds, and means.

    The folds are those of the data. R1 and R2 are shares of all pairs of all queries, as equations
    3 and 4 define them, at the round that is best for them on the validation part; NDCG is taken at
    the round of the best mean average precision. NDCG is that of LETOR's script Eval-Score-4.0: the
    gain is 2^y - 1, the first two positions have no discount, and a query without a relevant
    document counts 0.
    """
    with tempfile.TemporaryDirectory() as made:
        if data:
            tasks = [read_folds(path) for path in data.values()]
            words = " and ".join(SOURCES[name].title for name in data)
        else:
            names = ("MQ2007", "MQ2008")
            tasks = [read_folds(made_folds(Path(made) / one, at)) for at, one in enumerate(names)]
            words = "generated queries in the folds of two data sets"
        return letor_numbers(run_letor(tasks, rounds, folder, jobs, max_pairs), words)


def letor_numbers(found: ExperimentResult, words: str) -> Numbers:
    """Return average ranks over all folds, and means per data set."""
    if found.failures:
        raise DataError(f"{len(found.failures)} folds failed: {found.failures[0]}")
    blocks = {measure: letor_blocks(found, measure) for measure in LETOR_MEASURES}
    count = sum(len(blocks[POOLED[0]][task, RANKERS[0]]) for task in found.tasks)
    ranks = {}
    for measure in LETOR_MEASURES:
        by_fold = [np.concatenate([blocks[measure][task, name] for task in found.tasks])
                   for name in RANKERS]  # fmt: skip
        ordered = ranks_of(np.array(by_fold).T, higher_is_better=measure in NDCG)
        ranks[measure] = ordered.mean(axis=0)
    means = {task: {measure: [float(np.mean(blocks[measure][task, name])) for name in RANKERS]
                    for measure in LETOR_MEASURES} for task in found.tasks}  # fmt: skip
    gap = critical_difference(len(RANKERS), count)
    return {"data": words, "folds": count, "critical_difference": gap, "ranks": ranks,
            "means": means}  # fmt: skip


@table_4.shows
def print_letor(numbers: Numbers) -> None:
    """Print tables 2 and 4 of the paper, with its figures in brackets."""
    write(
        f"\nTable 2: average rank over {numbers['folds']} folds (the paper's, over the 10 of "
        "MQ2007 and MQ2008, in brackets)"
    )
    _write_row("", RANKERS, 20, 18)
    for measure, ranks in numbers["ranks"].items():
        theirs = LETOR_RANKS[measure]
        _write_row(measure, (f"{a:.2f} [{b:.1f}]" for a, b in zip(ranks, theirs)), 20, 18)
    write(f"critical difference {numbers['critical_difference']:.3f} [1.048]")
    for task, table in numbers["means"].items():
        write(f"\nTable 4: {task}, mean over folds (the paper's in brackets)")
        _write_row("", RANKERS, 20, 18)
        for measure, ours in table.items():
            theirs = LETOR_MEANS[task.upper()][measure]
            _write_row(measure, (f"{a:.4f} [{b:.4f}]" for a, b in zip(ours, theirs)), 20, 18)


# -- theorems, and appendix B -------------------------------------------------------------------


@app.item("theorems-1-2", needs=["movielens"], minutes=0.1, tiny={"rounds": 5})
@click.option("--rounds", type=int, default=60)
def theorems_1_2(rounds: int, data: Mapping[str, Path]) -> Numbers:
    """Theorems 1 and 2: R1 <= E1 <= the bound of RB-D, R2 <= E2 <= that of RankBoost+, by round."""
    tasks, words = film_tasks(data, 1)
    X, y = tasks[0].X, tasks[0].y
    out: Numbers = {"data": words, "task": tasks[0].name, "rounds": rounds}
    rankers = {"RB-D": RankBoost.preset("rb_d", n_estimators=rounds), "RB+": RankBoostPlus(rounds)}
    for name, ranker in rankers.items():
        trace = ranker.set_params(record_risks=True).fit(X, y).trace_
        slopes = trace.column("r" if name == "RB-D" else "delta")
        risk = "r1" if name == "RB-D" else "r2"
        gamma = float(np.abs(slopes).min()) / 2
        out[name] = {
            risk: trace.column(risk), "loss": trace.column("loss"),
            "product_of_z": np.cumprod(trace.column("z")),
            "bound": np.exp(-0.5 * np.cumsum(slopes**2)),
            "gamma": gamma, "equation_36": math.exp(-2 * gamma**2 * len(trace)),
        }  # fmt: skip
    return out


@theorems_1_2.shows
def print_bounds(numbers: Numbers) -> None:
    """Print risk, loss and bound after some rounds."""
    shown = _rounds_shown(numbers["rounds"])
    write(f"{numbers['task']}\n{'round':22}" + "".join(f"{number:>9}" for number in shown))
    for name, risk in (("RB-D", "r1"), ("RB+", "r2")):
        one = numbers[name]
        for row in (risk, "loss", "product_of_z", "bound"):
            values = (f"{one[row][at - 1]:9.4f}" for at in shown if at <= len(one[row]))
            write(f"{name:6}{row:16}" + "".join(values))
        text = f"gamma {one['gamma']:.4g}, exp(-2 gamma^2 T) {one['equation_36']:.4f}"
        write(f"{name:6}equation 36: {text}")


@theorems_1_2.draws
def draw_bounds(numbers: Numbers) -> Figure:
    """Draw risk, loss and bound by round."""
    figure, panels = new_figure(1, 2, (9.0, 3.8), sharey=True)
    for axes, name, risk in zip(panels, ("RB-D", "RB+"), ("r1", "r2")):
        labels = {risk: risk.upper(), "loss": risk.upper().replace("R", "E"), "bound": "bound"}
        for row, label in labels.items():
            values = numbers[name][row]
            axes.plot(range(1, len(values) + 1), values, label=label)
        axes.set_title(f"{name}: theorem {1 if name == 'RB-D' else 2}")
        axes.set_xlabel("round")
        axes.legend(loc="center right")
    return figure


def f2(matrix: Floats, eta: Floats, copies: int = 1) -> tuple[float, Floats, Floats]:
    """Return F2 (equation 22), its slope and its second derivatives.

    Parameters
    ----------
    matrix : array of shape (n_pairs, n_rankers)
        1 for a pair that a ranker orders, -1 for one that it reverses, 0 for a tie.
    eta : array of shape (n_rankers,)
    copies : int
        Every ranker is there so many times, with an equal share of its weight: a tie is the power
        ``cosh(eta / copies) ^ copies``.
    """
    part = eta / copies
    factors = np.where(matrix == 0, copies * np.log(np.cosh(part)), -matrix * eta)
    weight = np.exp(factors.sum(axis=1)) / len(matrix)
    slope = np.where(matrix == 0, np.tanh(part), -matrix)
    bend = np.where(matrix == 0, (1.0 - np.tanh(part) ** 2) / copies, 0.0)
    second = (slope * weight[:, None]).T @ slope + np.diag(weight @ bend)
    return float(weight.sum()), weight @ slope, second


def f1(matrix: Floats, eta: Floats) -> tuple[float, Floats, Floats]:
    """Return F1 (equation 6), its slope and its second derivatives."""
    weight = np.exp(-matrix @ eta) / len(matrix)
    return float(weight.sum()), -(weight @ matrix), (matrix * weight[:, None]).T @ matrix


def minimum(function: Callable[[Floats], tuple[float, Floats, Floats]], size: int) -> Any:
    """Return SciPy's minimum of a convex function by a trust region method."""
    return minimize(
        lambda eta: function(eta)[0], np.zeros(size), method="trust-exact",
        jac=lambda eta: function(eta)[1], hess=lambda eta: function(eta)[2],
        options={"gtol": 1e-12},
    )  # fmt: skip


#: Lemma 3: rows 1 to 6 in this order, and two rankers.
LEMMA_3 = np.array([[1, 0], [1, 1], [1, 0], [0, 0], [0, 0], [1, 0]], float)


@app.item("theorem-3", minutes=0.1, quick={"rounds": 1000}, tiny={"rounds": 40})
@click.option("--rounds", type=int, default=4000)
def theorem_3(rounds: int) -> Numbers:
    """Theorem 3: how far RankBoost+ is from the minimum of F2 that a convex solver finds.

    The solver (SciPy's trust region, exact second derivatives) minimises F2 over the weak rankers
    that RankBoost+ ended with, from zero.
    """
    problems = {
        "lemma 3": (LEMMA_3, np.arange(6.0)[::-1], "column"),
        "20 rows, 2 features": (*made_rows(20, 2, 3, 1), "stump"),
        "40 rows, 3 features": (*made_rows(40, 3, 4, 2), "stump"),
        "120 rows, 4 features": (*made_rows(120, 4, 5, 3), "stump"),
    }
    out: Numbers = {"data": "generated rows, and lemma 3", "rounds": rounds, "problems": {}}
    for name, (X, y, weak) in steps("problems", problems.items()):
        ranker = RankBoostPlus(rounds, weak=weak, stopping_tolerance=0.0).fit(X, y)
        hi, lo = np.nonzero(y[:, None] > y[None, :])
        scores = np.array([one.scores(X) for one in ranker.basis_], float)
        matrix = (scores[:, hi] - scores[:, lo]).T
        best = minimum(lambda eta, matrix=matrix: f2(matrix, eta), len(scores))
        losses = ranker.trace_.column("loss")
        shown = _rounds_shown(len(losses))
        out["problems"][name] = {
            "pairs": len(hi), "rankers": len(scores), "minimum": best.fun, "at": shown,
            "gap": [max(losses[at - 1] - best.fun, 0.0) for at in shown],
            "eta": float(np.abs(ranker.eta_ - best.x).max()),
        }  # fmt: skip
    return out


@theorem_3.shows
def print_minima(numbers: Numbers) -> None:
    """Print F2 minus its minimum after some rounds, and the largest difference of a weight."""
    shown = _rounds_shown(numbers["rounds"])
    head = f"{'F2 minus its minimum':24}{'pairs':>6}{'|S|':>5}{'minimum':>12}"
    write(head + "".join(f"{number:>9}" for number in shown) + f"{'weights':>10}")
    for name, one in numbers["problems"].items():
        gaps = dict(zip(one["at"], one["gap"]))
        last = one["gap"][-1]
        cells = "".join(f"{gaps.get(at, last):9.1e}" for at in shown)
        head = f"{name:24}{one['pairs']:>6}{one['rankers']:>5}{one['minimum']:12.6f}"
        write(f"{head}{cells}{one['eta']:10.1e}")


@theorem_3.draws
def draw_minima(numbers: Numbers) -> Figure:
    """Draw the gap by round on logarithmic axes."""
    figure, (panel,) = new_figure()
    for name, one in numbers["problems"].items():
        panel.loglog(one["at"], np.maximum(one["gap"], 1e-16), "o-", label=name)
    panel.set_xlabel("round")
    panel.set_ylabel("F2 minus its minimum")
    panel.legend()
    return figure


@app.item("section-3-2", minutes=0.1)
@click.option("--copies", type=int, default=256, help="at most")
def section_3_2(copies: int) -> Numbers:
    """Section 3.2: with more and more dependent rankers the minimum of F2 becomes that of F1.

    Every ranker of a problem (lemma 3; stumps of generated rows) is there 1, 2, 4, ... times.
    """
    X, y = made_rows(30, 2, 3, 4)
    stumps = np.array([X[:, j] > cut for j in range(2) for cut in (5, 10, 15)], float).T
    problems = {"lemma 3": (LEMMA_3, np.arange(6.0)[::-1]), "30 rows, 6 stumps": (stumps, y)}
    out: Numbers = {"data": "lemma 3, and generated rows", "copies": [], "problems": {}}
    out["copies"] = [2**k for k in range(copies.bit_length())]
    for name, (H, labels) in problems.items():
        hi, lo = np.nonzero(labels[:, None] > labels[None, :])
        matrix = H[hi] - H[lo]
        limit = minimum(lambda eta, matrix=matrix: f1(matrix, eta), H.shape[1])
        rows = []
        for count in out["copies"]:

            def with_copies(
                eta: Floats, matrix: Floats = matrix, count: int = count
            ) -> tuple[float, Floats, Floats]:
                return f2(matrix, eta, count)

            found = minimum(with_copies, H.shape[1])
            rows.append((found.fun, float(np.abs(found.x - limit.x).max())))
        out["problems"][name] = {"f1": limit.fun, "rows": rows}
    return out


@section_3_2.shows
def print_copies(numbers: Numbers) -> None:
    """Print the minimum of F2 and the distance of its weights from those of F1's."""
    write(f"{'copies':28}" + "".join(f"{one:>10}" for one in numbers["copies"]) + f"{'F1':>10}")
    for name, one in numbers["problems"].items():
        values, apart = zip(*one["rows"])
        cells = "".join(f"{value:10.5f}" for value in values)
        write(f"{name + ', minimum':28}{cells}{one['f1']:10.5f}")
        write(f"{'  weights apart from F1':28}" + "".join(f"{value:10.5f}" for value in apart))


@app.item("appendix-b", uses="the counterexamples of the paper", minutes=0.1)
def appendix_b() -> Numbers:
    """Appendix B: treatments of a round that misorders nothing, and what they break.

    ``smooth`` adds half a pair to both sides, as RankBoost does here; ``stop`` ends before the
    round; ``infinite`` ends with the perfect ranker alone (lemma 1); ``constant`` goes on with a
    large weight (lemma 2); ``limit`` is equation 49. Lemma 3 is RB-D with positive weights only.
    """
    rows = []
    for problem in (lemma_1(3), lemma_1(4), lemma_1(30), lemma_2(2)):
        rows += [(problem.name, treatment, *treat(problem, treatment)) for treatment in TREATMENTS]
    y = np.arange(6.0)[::-1]
    positive = RankBoost.preset("rb_d.eq13", weak="column", n_estimators=50).fit(LEMMA_3, y)
    hi, lo = np.nonzero(y[:, None] > y[None, :])
    best = minimum(lambda eta: f1(LEMMA_3[hi] - LEMMA_3[lo], eta), 2)
    weights = dict(zip((one.feature for one in positive.model_.rankers), positive.model_.weights))
    third = {"weights": [weights[0], weights[1]], "e1": positive.trace_[-1].loss,
             "best_weights": best.x, "minimum": best.fun}  # fmt: skip
    return {"data": "the counterexamples of the paper", "rows": rows, "lemma_3": third}


@appendix_b.shows
def print_perfect_rounds(numbers: Numbers) -> None:
    """Print R1, E1 and the bound of every treatment, and whether they are in order."""
    before = None
    for name, treatment, r1, e1, bound in numbers["rows"]:
        if name != before:
            write(f"\n{name:18}{'R1':>9}{'E1':>9}{'bound':>9}  R1 <= E1 <= bound")
        kept = r1 <= e1 + 1e-6 and e1 <= bound + 1e-6
        write(f"{treatment:18}{r1:9.4f}{e1:9.4f}{bound:9.4f}  {'yes' if kept else 'no'}")
        before = name
    one = numbers["lemma_3"]
    ours, best = ("{:.5f} h1 + {:.5f} h2".format(*one[key]) for key in ("weights", "best_weights"))
    write(f"\nlemma 3: RB-D with positive weights ends with {ours}, E1 = {one['e1']:.6f}")
    write(f"the minimum is E1 = {one['minimum']:.6f} at {best}")


if __name__ == "__main__":
    app()
