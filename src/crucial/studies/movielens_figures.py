"""Figures 2 and 4 of Connamacher, Pancha, Liu & Ray (2019), on ratings such as MovieLens'.

``python -m crucial.studies.movielens_figures RATINGS --figures 2 --plots FOLDER``. Figure 2 is how
RankBoost+, RB-C and RB-D converge on the tasks of `crucial.studies.movielens`: R1, R2 and NDCG@5 on
the test folds, E1 and E2 on the training folds, means over all tasks and folds. Figure 4 is a task
on which RB-D meets a weak ranker that misorders nothing, and halts, while RB-C goes on. Both are
printed as tables; ``--plots`` also draws them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from crucial.data.formats.ratings import read_ratings
from crucial.errors import DataError
from crucial.studies.common import Write, new_parser, run_study, write
from crucial.studies.drawing import new_figure, save_figure
from crucial.studies.movielens import RANKERS, make_tasks, rankers
from crucial.types import Floats, PathLike

if TYPE_CHECKING:
    from crucial.lab.tasks import Task

__all__ = ["Halt", "convergence", "draw_convergence", "draw_halt", "find_halt", "main"]

#: Values after every round, by measure and ranker.
Curves: TypeAlias = dict[tuple[str, str], Floats]

TEST = ("r1", "r2", "ndcg@5")
TRAIN = ("e1", "e2")


def convergence(tasks: Sequence[Task], rounds: int, seed: int = 0, n_jobs: int = -1) -> Curves:
    """Return the curves of figure 2: means over tasks and folds after every round.

    A ranker that ends earlier keeps the values of its last round.
    """
    from sklearn.utils.parallel import Parallel, delayed

    found = Parallel(n_jobs=n_jobs)(delayed(_of_task)(task, rounds, seed) for task in tasks)
    return {key: np.mean([one[key] for one in found], axis=0) for key in found[0]}


def _of_task(task: Task, rounds: int, seed: int) -> Curves:
    """Return the curves of one task, means over its folds."""
    from sklearn.base import clone

    from crucial.inspection.e2_trace import e2_trace
    from crucial.lab.curves import curves, stages
    from crucial.lab.protocols import ThreeWayFolds
    from crucial.measures.names import get_measure

    measures = [get_measure(name) for name in TEST]
    folds: dict[tuple[str, str], list[Floats]] = {}
    for split in ThreeWayFolds().splits(task, seed):
        parts = task.parts(split)
        for name, ranker in rankers(rounds).items():
            fitted = clone(ranker).set_params(n_jobs=1).fit(parts.train.X, parts.train.y)
            staged = stages(fitted, parts.test)
            assert staged is not None
            values, _ = curves(staged, parts.test, measures)
            if name == "RB+":
                values |= {loss: fitted.trace_.column(loss) for loss in TRAIN}
            else:
                values["e1"] = fitted.trace_.column("loss")
                values["e2"] = e2_trace(fitted, parts.train.X, parts.train.y, n_jobs=1)
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
    from crucial.estimators.rankboost import RankBoost

    for task in tasks:
        halted = RankBoost.preset("rb_d", n_estimators=rounds, on_perfect="stop")
        trace = halted.fit(task.X, task.y, qid=task.qid).trace_
        if not len(trace) or trace.stopped != "perfect weak ranker":
            continue
        other = RankBoost.preset("rb_c", n_estimators=rounds).fit(task.X, task.y, qid=task.qid)
        losses = {"RB-D": trace.column("loss"), "RB-C": other.trace_.column("loss")}
        return Halt(task.name, losses)
    return None


# -- tables and drawings ------------------------------------------------------------------


def _rounds_shown(rounds: int) -> list[int]:
    """Return the rounds that a table shows.

    Examples
    --------
    >>> _rounds_shown(30)
    [1, 2, 5, 10, 20, 30]
    """
    marks = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    return sorted({number for number in marks if number < rounds} | {rounds})


def print_convergence(found: Curves, write: Write = write) -> None:
    """Print figure 2 as a table."""
    rounds = _rounds_shown(len(found["r1", RANKERS[0]]))
    write("\nFigure 2: means over tasks and folds after so many rounds")
    write(f"{'':16}" + "".join(f"{number:>9}" for number in rounds))
    for measure in (*TEST, *TRAIN):
        for name in RANKERS:
            cells = "".join(f"{found[measure, name][number - 1]:9.4f}" for number in rounds)
            write(f"{measure:8}{name:8}{cells}")


def print_halt(found: Halt, write: Write = write) -> None:
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Compute the figures, print their numbers and draw them."""
    parser = new_parser(
        "movielens_figures", "Figures 2 and 4 of Connamacher et al. (2019) on MovieLens' ratings."
    )
    parser.add_argument("ratings", help="u.data, ml-100k.inter, or a table user, item, rating")
    parser.add_argument("--figures", type=int, nargs="+", choices=[2, 4], default=[2, 4])
    parser.add_argument("--users", type=int, help="the first so many users only")
    parser.add_argument("--least", type=int, default=100, help="ratings that a user must have")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="deals films into folds")
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--plots", help="folder for the figures; needs matplotlib")
    return run_study(_study, parser, arguments)


def _study(options: argparse.Namespace) -> None:
    """Compute, print and draw the figures."""
    tasks, _ = make_tasks(read_ratings(options.ratings), options.least)
    tasks = tasks[: options.users]
    write(f"{len(tasks)} tasks")
    if 2 in options.figures:
        found = convergence(tasks, options.rounds, options.seed, options.jobs)
        print_convergence(found, write)
        if options.plots:
            path = Path(options.plots) / "figure_2.png"
            write(f"drawn: {draw_convergence(found, path)}")
    if 4 in options.figures:
        halt = find_halt(tasks, options.rounds)
        if halt is None:
            raise DataError(
                f"figure 4: RB-D meets no ranker without a mistake within {options.rounds} rounds "
                f"on any of the {len(tasks)} tasks. Use more users or rounds."
            )
        print_halt(halt, write)
        if options.plots:
            write(f"drawn: {draw_halt(halt, Path(options.plots) / 'figure_4.png')}")


if __name__ == "__main__":
    sys.exit(main())
