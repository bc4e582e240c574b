"""RankBoost+: Connamacher, Pancha, Liu & Ray (2019), on MovieLens-100K and LETOR 4.0.

RankBoost+, RB-C and RB-D beside the published figures. RATINGS is u.data of MovieLens-100K (or the
same as ml-100k.inter or a table with a header); scripts/movielens.py fetches it.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click
import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from common import (
    experiment_options,
    list_option,
    new_figure,
    print_experiment,
    save_figure,
    studies,
    write,
)  # fmt: skip
from crucial.data.groups import Groups
from crucial.data.ratings import Ratings
from crucial.errors import DataError
from crucial.feedback.labels import LabelFeedback
from crucial.io.ratings import read_ratings
from crucial.kernels.pairs import PlusSums
from crucial.lab.comparison import average_ranks, critical_difference
from crucial.lab.cross_validation import curves
from crucial.lab.experiment import Experiment
from crucial.lab.protocols import GivenFolds, Task, ThreeWayFolds, read_folds
from crucial.measures.names import get_measure
from crucial.rankers.rankboost import RankBoost
from crucial.rankers.rankboost_plus import PlusWeights, RankBoostPlus, Span, list_pairs
from crucial.types import Floats, PathLike, VectorLike

if TYPE_CHECKING:
    from crucial.lab.protocols import TaskLike
    from crucial.lab.results import ExperimentResult

app = studies(__doc__)

RANKERS = ("RB+", "RB-C", "RB-D")


def _write_row(head: str, cells: Iterable[str], width: int = 8, cell_width: int = 27) -> None:
    write(f"{head:{width}}" + "".join(f"{cell:>{cell_width}}" for cell in cells))


# -- section 5: films, tables 1 and 3 -----------------------------------------------------------

# Their figures, tables 1 and 3: average rank and median stopping round, then the mean.
FILM_TABLES: dict[str, dict[str, tuple[float, int, float]]] = {
    "r1": {"RB+": (1.314, 32, 0.3100), "RB-C": (1.938, 31, 0.3218), "RB-D": (2.748, 26, 0.3394)},
    "r2": {"RB+": (1.356, 25, 0.3114), "RB-C": (1.952, 21, 0.3218), "RB-D": (2.692, 18, 0.3376)},
    "ndcg@3": {"RB+": (1.696, 4, 0.7920), "RB-C": (2.125, 2, 0.7642), "RB-D": (2.179, 3, 0.7620)},
    "ndcg@5": {"RB+": (1.559, 7, 0.8019), "RB-C": (2.211, 2, 0.7684), "RB-D": (2.230, 4, 0.7675)},
    "ndcg@7": {"RB+": (1.476, 11, 0.8104), "RB-C": (2.268, 2, 0.7744), "RB-D": (2.256, 4, 0.7749)},
}
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


def print_films(found: ExperimentResult) -> None:
    """Print tables 1 and 3 of the paper, with its figures in brackets."""
    rounds: dict[tuple[str, str], list[int]] = {}
    for cell in found.cells:
        for measure in FILM_MEASURES:
            chosen = cell["measures"][measure]["round"]
            rounds.setdefault((measure, cell["ranker"]), []).append(chosen or 0)
    write("\nAverage rank over tasks, median round (table 1; the paper's in brackets)")
    _write_row("", RANKERS)
    for measure in FILM_MEASURES:
        summary = found.ranks(measure, "task")
        ranks = dict(zip(summary.rankers, summary.ranks))
        cells = []
        for name in RANKERS:
            theirs = FILM_TABLES[measure][name]
            median = statistics.median(rounds[measure, name])
            cells.append(f"{ranks[name]:.3f} {median:4g} [{theirs[0]:.3f} {theirs[1]:2d}]")
        _write_row(measure, cells)
    write("\nMean over tasks (table 3; the paper's in brackets)")
    _write_row("", RANKERS)
    for measure in FILM_MEASURES:
        cells = [
            f"{found.value(measure, name, 'task'):.4f} [{FILM_TABLES[measure][name][2]:.4f}]"
            for name in RANKERS
        ]
        _write_row(measure, cells)
    for measure in ("r2", "ndcg@5"):
        write(f"\n{found.ranks(measure, 'task')}")


def print_readings(tasks: list[Task], rounds: int, seed: int) -> None:
    """Print NDCG under other readings: of the gain, and of "minimized on the validation set".

    The paper's NDCG is lower than that of any ranker here, and its rounds are fewer. Taken to the
    letter, its rule keeps the round in which NDCG is smallest.
    """
    measures = [get_measure(f"{gain}@5") for gain in ("ndcg", "ndcg_exp")]
    found: dict[tuple[str, str, str], list[tuple[float, int]]] = {}
    for task in tasks:
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
    write("\nNDCG@5 under other readings: mean, median round (the paper's in brackets)")
    _write_row("gain, round kept", RANKERS, 26)
    for measure in (one.name for one in measures):
        for kept in ("largest", "smallest"):
            cells = []
            for name in RANKERS:
                values, rounds_kept = zip(*found[measure, kept, name])
                theirs = FILM_TABLES["ndcg@5"][name]
                cells.append(
                    f"{np.mean(values):.4f} {statistics.median(rounds_kept):4g} "
                    f"[{theirs[2]:.4f} {theirs[1]}]"
                )
            _write_row(f"{measure}, {kept}", cells, 26)


@app.command("movielens")
@click.argument("ratings")
@click.option("--users", type=int, help="the first so many users only")
@click.option("--readings", is_flag=True, help="NDCG under other readings of the rule instead")
@experiment_options("deals films into folds")
def movielens_command(
    ratings: str,
    users: int | None,
    readings: bool,
    rounds: int,
    seed: int,
    folder: str | None,
    report: str | None,
    jobs: int,
) -> None:
    """Rank films by the ratings of others: tables 1 and 3.

    Every user with 100 ratings or more is a task: rank the films that the user rated by the ratings
    that others gave them. RankBoost+, RB-C and RB-D learn 200 rounds; for each measure the round is
    the best one on the validation fold.
    """
    table = read_ratings(ratings)
    tasks, empty = make_tasks(table)
    write(
        f"{len(table.rating)} ratings; {len(tasks) + empty} users have 100 or more, and "
        f"{len(tasks)} of them another user who rated half of their films (the paper: 367)"
    )
    if users is not None:
        tasks = tasks[:users]
        write(f"the first {len(tasks)} users")
    if readings:
        print_readings(tasks, rounds, seed)
        return
    print_experiment(
        lambda: run_films(tasks, rounds, folder, jobs, seed), print_films, "MovieLens", report
    )


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


# -- figures 2 and 4 ----------------------------------------------------------------------------

#: Values after every round, by measure and ranker.
Curves: TypeAlias = dict[tuple[str, str], Floats]

TEST = ("r1", "r2", "ndcg@5")
TRAIN = ("e1", "e2")


def convergence(tasks: Sequence[Task], rounds: int, seed: int = 0, n_jobs: int = -1) -> Curves:
    """Return the curves of figure 2: means over tasks and folds after every round.

    A ranker that ends earlier keeps the values of its last round.
    """
    found = Parallel(n_jobs=n_jobs)(delayed(_of_task)(task, rounds, seed) for task in tasks)
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


@dataclass(frozen=True)
class Halt:
    """A task on which RB-D halts, for figure 4.

    Attributes
    ----------
    task : str
    losses : dict of str to array
        E1 after every round, by ranker; RB-D's ends where it halts.
    """

    task: str
    losses: Mapping[str, Floats]


def find_halt(tasks: Iterable[Task], rounds: int) -> Halt | None:
    """Return the first task on which RB-D chooses a ranker that misorders nothing.

    As in the paper, RB-D is halted before that round; it must have made one round or more.
    """
    for task in tasks:
        halted = RankBoost.preset("rb_d", n_estimators=rounds, on_perfect="stop")
        trace = halted.fit(task.X, task.y, qid=task.qid).trace_
        if not len(trace) or trace.stopped != "perfect weak ranker":
            continue
        other = RankBoost.preset("rb_c", n_estimators=rounds).fit(task.X, task.y, qid=task.qid)
        losses = {"RB-D": trace.column("loss"), "RB-C": other.trace_.column("loss")}
        return Halt(task.name, losses)
    return None


def _rounds_shown(rounds: int) -> list[int]:
    """Return the rounds that a table shows.

    Examples
    --------
    >>> _rounds_shown(30)
    [1, 2, 5, 10, 20, 30]
    """
    marks = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    return sorted({number for number in marks if number < rounds} | {rounds})


def print_convergence(found: Curves) -> None:
    """Print figure 2 as a table."""
    rounds = _rounds_shown(len(found["r1", RANKERS[0]]))
    write("\nFigure 2: means over tasks and folds after so many rounds")
    write(f"{'':16}" + "".join(f"{number:>9}" for number in rounds))
    for measure in (*TEST, *TRAIN):
        for name in RANKERS:
            cells = "".join(f"{found[measure, name][number - 1]:9.4f}" for number in rounds)
            write(f"{measure:8}{name:8}{cells}")


def print_halt(found: Halt) -> None:
    """Print figure 4 as a table."""
    last = len(found.losses["RB-D"])
    rounds = sorted({*_rounds_shown(len(found.losses["RB-C"])), last})
    write(f"\nFigure 4: E1 on {found.task}, where RB-D halts after round {last}")
    write(f"{'':8}" + "".join(f"{number:>9}" for number in rounds))
    for name, losses in found.losses.items():
        cells = (f"{losses[n - 1]:9.4f}" if n <= len(losses) else f"{'-':>9}" for n in rounds)
        write(f"{name:8}" + "".join(cells))


def draw_convergence(found: Curves, path: PathLike) -> Path:
    """Draw figure 2 to a file: R1 and R2, E1 and E2, NDCG@5; return its path."""
    figure, panels = new_figure(3, 1, (6.4, 9.6), sharex=True)
    contents = (("test R1, R2", TEST[:2]), ("train E1, E2", TRAIN), ("test NDCG@5", TEST[2:]))
    for panel, (title, measures) in zip(panels, contents):
        for number, name in enumerate(RANKERS):
            for measure, line in zip(measures, ("-", "--")):
                values = found[measure, name]
                label = f"{name}, {measure}" if len(measures) > 1 else name
                panel.plot(range(1, len(values) + 1), values, line, color=f"C{number}", label=label)
        panel.set_ylabel(title)
        panel.legend(fontsize="small")
    panels[-1].set_xlabel("round")
    return save_figure(figure, path)


def draw_halt(found: Halt, path: PathLike) -> Path:
    """Draw figure 4 to a file; return its path."""
    figure, (panel,) = new_figure()
    for name, losses in found.losses.items():
        panel.plot(range(1, len(losses) + 1), losses, marker="o", markersize=3, label=name)
    panel.set_xlabel("round")
    panel.set_ylabel("E1 on the training pairs")
    panel.set_title(found.task)
    panel.legend()
    return save_figure(figure, path)


@app.command("figures")
@click.argument("ratings")
@list_option("--figures", (2, 4), choices=(2, 4))
@click.option("--users", type=int, help="the first so many users only")
@click.option("--least", type=int, default=100, help="ratings that a user must have")
@click.option("--rounds", type=int, default=200)
@click.option("--seed", type=int, default=0, help="deals films into folds")
@click.option("--jobs", type=int, default=-1)
@click.option("--plots", help="folder for the figures; needs matplotlib")
def figures_command(
    ratings: str,
    figures: Sequence[int],
    users: int | None,
    least: int,
    rounds: int,
    seed: int,
    jobs: int,
    plots: str | None,
) -> None:
    """Print and draw figures 2 and 4.

    Figure 2 is how RankBoost+, RB-C and RB-D converge on the tasks of the command movielens: R1, R2
    and NDCG@5 on the test folds, E1 and E2 on the training folds, means over all tasks and folds.
    Figure 4 is a task on which RB-D meets a weak ranker that misorders nothing, and halts, while
    RB-C goes on.
    """
    tasks = make_tasks(read_ratings(ratings), least)[0][:users]
    write(f"{len(tasks)} tasks")
    if 2 in figures:
        found = convergence(tasks, rounds, seed, jobs)
        print_convergence(found)
        if plots:
            write(f"drawn: {draw_convergence(found, Path(plots) / 'figure_2.png')}")
    if 4 in figures:
        halt = find_halt(tasks, rounds)
        if halt is None:
            raise DataError(
                f"figure 4: RB-D meets no ranker without a mistake within {rounds} rounds "
                f"on any of the {len(tasks)} tasks. Use more users or rounds."
            )
        print_halt(halt)
        if plots:
            write(f"drawn: {draw_halt(halt, Path(plots) / 'figure_4.png')}")


# -- LETOR 4.0, tables 2 and 4 ------------------------------------------------------------------

NDCG = tuple(f"ndcg_exp@{k}(letor)" for k in (3, 5, 7))
LETOR_MEASURES = ("r1", "r2", *NDCG)

# Table 2: average rank over the folds of both data sets.
LETOR_RANKS: dict[str, tuple[float, float, float]] = {
    "r1": (1.3, 1.9, 2.8),
    "r2": (1.1, 2.1, 2.8),
    NDCG[0]: (1.9, 1.8, 2.3),
    NDCG[1]: (1.7, 1.6, 2.7),
    NDCG[2]: (1.5, 1.7, 2.8),
}
# Table 4: means over the folds.
LETOR_MEANS: dict[str, dict[str, tuple[float, float, float]]] = {
    "MQ2007": {
        "r1": (0.2974, 0.2980, 0.3049),
        "r2": (0.2985, 0.2978, 0.3098),
        NDCG[0]: (0.4121, 0.4104, 0.4034),
        NDCG[1]: (0.4186, 0.4169, 0.4126),
        NDCG[2]: (0.4280, 0.4276, 0.4218),
    },
    "MQ2008": {
        "r1": (0.2082, 0.2153, 0.2190),
        "r2": (0.2027, 0.2161, 0.2192),
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
        if measure in ("r1", "r2"):
            pooled = cell["measures"][measure]["value"]
            value = np.nan if pooled is None else float(pooled)
        values.setdefault((cell["task"], cell["ranker"]), []).append(value)
    return values


def print_letor(found: ExperimentResult, tables: Sequence[int]) -> None:
    """Print tables 2 and 4 of the paper, with its figures in brackets."""
    failed = {(one["task"], one["split"]) for one in found.failures}
    if failed:
        write(f"{len(failed)} folds failed; there is no table without all of them.")
        return
    blocks = {measure: letor_blocks(found, measure) for measure in LETOR_MEASURES}
    if 2 in tables:
        count = sum(len(blocks["r1"][task, RANKERS[0]]) for task in found.tasks)
        write(
            f"\nTable 2: average rank over {count} folds (the paper's, over the 10 of MQ2007 and "
            "MQ2008, in brackets)"
        )
        _write_row("", RANKERS, 20, 18)
        for measure in LETOR_MEASURES:
            by_fold = np.array(
                [
                    np.concatenate([blocks[measure][task, name] for task in found.tasks])
                    for name in RANKERS
                ]
            ).T
            ranks = average_ranks(by_fold, higher_is_better=measure in NDCG)
            theirs = LETOR_RANKS[measure]
            _write_row(measure, (f"{a:.2f} [{b:.1f}]" for a, b in zip(ranks, theirs)), 20, 18)
        write(f"critical difference {critical_difference(len(RANKERS), count):.3f} [1.048]")
    if 4 in tables:
        for task in found.tasks:
            known = LETOR_MEANS.get(task.upper(), {})
            where = "the paper's in brackets" if known else "the paper has no such data set"
            write(f"\nTable 4: {task}, mean over folds ({where})")
            _write_row("", RANKERS, 20, 18)
            for measure in LETOR_MEASURES:
                ours = [float(np.mean(blocks[measure][task, name])) for name in RANKERS]
                row = known.get(measure)
                texts = [""] * len(RANKERS) if row is None else [f" [{v:.4f}]" for v in row]
                _write_row(measure, (f"{a:.4f}{b}" for a, b in zip(ours, texts)), 20, 18)


@app.command("letor")
@click.argument("folders", nargs=-1, required=True)
@list_option("--tables", (2, 4), choices=(2, 4))
@click.option("--max-pairs", type=int, help="pairs that RankBoost+ learns from, at most")
@experiment_options("not used: the folds are given")
def letor_command(
    folders: Sequence[str],
    tables: Sequence[int],
    max_pairs: int | None,
    rounds: int,
    seed: int,
    folder: str | None,
    report: str | None,
    jobs: int,
) -> None:
    """Learn on the folds of LETOR 4.0: tables 2 and 4.

    Each of FOLDERS, MQ2007 and MQ2008, has the folds of a data set (Fold1/train.txt and so on, or
    the parts S1.txt to S5.txt). R1 and R2 are measured at the round that is best for them on the
    validation part, NDCG at the round of the best mean average precision. NDCG is that of LETOR's
    script Eval-Score-4.0: gain 2^y - 1, no discount at the first two positions, and 0 for a query
    without a relevant document.
    """
    tasks = [read_folds(one) for one in folders]
    print_experiment(
        lambda: run_letor(tasks, rounds, folder, jobs, max_pairs),
        lambda found: print_letor(found, tables),
        "LETOR 4.0",
        report,
    )


if __name__ == "__main__":
    app()
