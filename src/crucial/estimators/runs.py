"""Several runs of the loop: one per fold, to choose the rounds, or one per bag, to be averaged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crucial.boosting.bags import averaged
from crucial.boosting.fold_curves import FoldCurves
from crucial.boosting.loop import Ensemble
from crucial.boosting.trace import Progress, Round, Trace
from crucial.boosting.watch import Watch
from crucial.errors import DataError
from crucial.types import Ints

if TYPE_CHECKING:
    from crucial.estimators.parts_of_data import TableRuns
    from crucial.estimators.resampling import Resampled

__all__ = [
    "IN_BAG",
    "RunPlan",
    "average_runs",
    "bag_random",
    "check_queries",
    "choose_rounds",
    "draw_bag",
    "fold_random",
    "fold_watch",
    "offset",
]

#: Share of the queries in a bag: as many as are in a sample of all with replacement, on average.
IN_BAG = 0.632


@dataclass(frozen=True)
class RunPlan:
    """How long a run of the loop is.

    Attributes
    ----------
    seed : int
    rounds : int
        Of the whole ensemble, earlier ones included.
    progress : function or None
        Called after every round.
    earlier : sequence of Round
        To be replayed.
    """

    seed: int
    rounds: int
    progress: Progress | None = None
    earlier: Sequence[Round] = ()


def choose_rounds(
    runs: TableRuns, ranker: Resampled, n_folds: int, seed: int, progress: Progress | None
) -> FoldCurves:
    """Boost once per fold of the queries, and return what the held-out rows say.

    Runs are so long as ``n_estimators`` allows, and end where the mean of all folds has not
    improved for ``early_stopping_rounds``.
    """
    rounds, patience = ranker.n_estimators, ranker.early_stopping_rounds
    runs.deal(n_folds, seed)
    one = copy(ranker)
    one.random_state, one.record_risks = seed, False
    traces: list[Trace] = [Trace() for _ in range(n_folds)]
    for length in _lengths(rounds, patience):
        for k in range(n_folds):
            plan = RunPlan(seed, length, offset(progress, k * rounds), list(traces[k]))
            traces[k], watch = runs.on_fold(one, k, plan)
        name, higher = watch.deciding
        curves = FoldCurves.of(name, higher, [trace.column(name).tolist() for trace in traces])
        if patience is not None and curves.waited(patience):
            break
    return curves


def fold_random(seed: int) -> np.random.Generator:
    """Return what deals queries into folds."""
    return np.random.default_rng([seed, 20037])


def check_queries(found: int, n_folds: int) -> None:
    """Refuse more folds than there are queries in which anything can be ranked."""
    if found < n_folds:
        remedy = f"Use validation_folds={found} or less." if found > 1 else ""
        raise DataError(
            f"validation_folds={n_folds} needs as many queries with rows of different labels. "
            f"Got {found}.",
            remedy=remedy or "Set validation_folds=None.",
            parameter="validation_folds",
            value=n_folds,
        )


def fold_watch(n_folds: int, make: Callable[[], Watch]) -> Watch:
    """Prepare the measures on the rows of a fold."""
    try:
        return make()
    except DataError as error:
        raise DataError(
            f"validation_folds={n_folds}: the rows of a fold cannot be measured ({error}) Use "
            "fewer folds, or another eval_metric.",
            parameter="validation_folds",
            value=n_folds,
        ) from error


def _lengths(rounds: int, patience: int | None) -> Iterator[int]:
    """Yield how far to go before looking whether to stop: twice as far each time."""
    length = rounds if patience is None else min(rounds, 2 * patience)
    yield length
    while length < rounds:
        length = min(rounds, 2 * length)
        yield length


def offset(progress: Progress | None, done: int) -> Progress | None:
    """Return a progress that begins at some number of rounds."""
    if progress is None:
        return None
    shown = progress
    return lambda number, trace: shown(done + number, trace)


def bag_random(seed: int, number: int) -> np.random.Generator:
    """Return what draws the data of a bag."""
    return np.random.default_rng([seed, 20039, number])


def draw_bag(queries: Ints, seed: int, number: int) -> Ints:
    """Return the queries of a bag, of all that have a pair.

    Parameters
    ----------
    queries : int array
        Numbers of the queries that have rows of different labels, in rising order.
    """
    if len(queries) < 2:
        raise DataError(
            "n_bags learns from parts of the queries, and only one of them has rows of "
            "different labels. Leave qid out to divide the rows, or set n_bags=1.",
            parameter="n_bags",
        )
    count = max(1, round(IN_BAG * len(queries)))
    return bag_random(seed, number).permutation(queries)[:count]


def average_runs(
    runs: TableRuns,
    ranker: Resampled,
    done: list[list[Round]],
    seed: int,
    progress: Progress | None,
) -> tuple[Ensemble, Watch | None]:
    """Boost once per bag; return the mean of all runs, and what watched it.

    Parameters
    ----------
    done : list of lists of rounds, one per bag
        What was done before; what is done now is put there.
    """
    rounds, patience = ranker.n_estimators, ranker.early_stopping_rounds
    for length in _lengths(rounds, patience):
        for number in range(len(done)):
            one = copy(ranker)
            own = int(np.random.default_rng([seed, 20043, number]).integers(2**31))
            one.random_state, one.record_risks = own, False
            ahead = offset(progress, number * rounds)
            ended = runs.on_bag(one, number, RunPlan(own, length, ahead, done[number]))
            done[number] = list(ended)
        turns, origins = averaged(done)
        one = copy(ranker)
        one.subsample = 1.0
        ensemble, watch = runs.mean(one, turns, origins, seed)
        if watch is not None and watch.done:
            break
    if not ensemble.trace.stopped and len(turns) < rounds * len(done):
        ensemble.trace.stopped = ended.stopped
    return ensemble, watch
