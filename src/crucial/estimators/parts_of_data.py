"""Runs on parts of the data: one per fold, to choose the rounds, or one per bag, to be averaged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from crucial.boosting.bags import BagWatch, averaged
from crucial.boosting.fold_curves import FoldCurves
from crucial.boosting.loop import Ensemble
from crucial.boosting.progress import Progress
from crucial.boosting.trace import Round, Trace
from crucial.boosting.watch import Watch
from crucial.data.dealing import deal
from crucial.errors import DataError
from crucial.estimators.base import RankingInput
from crucial.estimators.eval_set import EvalRows, take_rows
from crucial.types import Bools, Floats, Ints

__all__ = ["BagRuns", "Run", "choose_rounds", "offset"]

# Share of the queries in a bag: as many as are in a sample of all with replacement, on average.
_IN_BAG = 0.632


class Run(Protocol):
    """Boosts on a part of the data: rows of positive weight."""

    def __call__(
        self,
        weight: Floats,
        seed: int,
        watch: Watch | None,
        rounds: int,
        progress: Progress | None,
        earlier: Sequence[Round],
    ) -> Ensemble:
        """Return the ensemble of so many rounds, earlier ones included.

        Parameters
        ----------
        weight : array of shape (n_rows,)
            Weights of all rows, 0 for those left out.
        """


def choose_rounds(
    run: Run,
    data: RankingInput,
    n_folds: int,
    seed: int,
    watch_of: Callable[[EvalRows], Watch],
    rounds: int,
    patience: int | None,
    progress: Progress | None,
) -> FoldCurves:
    """Boost once per fold of the queries, and return what the held-out rows say.

    Parameters
    ----------
    run : Run
    watch_of : function that prepares the measures on held-out rows
    rounds : int
        Most rounds of a run.
    patience : int or None
        Rounds without a better mean after which no fold goes on.
    """
    labels, groups = data.known_labels, data.groups
    if data.with_qid:
        _check_queries(int((~groups.one_valued(labels)).sum()), n_folds)
    random = np.random.default_rng([seed, 20037])
    fold = deal(n_folds, labels, groups, data.with_qid, random, "validation_folds")
    own = np.ones(len(fold)) if data.weight is None else data.weight
    traces: list[Trace] = [Trace() for _ in range(n_folds)]
    for length in _lengths(rounds, patience):
        for k in range(n_folds):
            held = np.flatnonzero((fold == k) & (own > 0.0))
            watch = _watch_fold(watch_of, take_rows(data, held), n_folds)
            weight = np.where(fold == k, 0.0, own)
            ahead = offset(progress, k * rounds)
            traces[k] = run(weight, seed, watch, length, ahead, list(traces[k])).trace
        name, higher = watch.deciding
        curves = FoldCurves.of(name, higher, [trace.column(name).tolist() for trace in traces])
        if patience is not None and curves.waited(patience):
            break
    return curves


def _check_queries(found: int, n_folds: int) -> None:
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


def _watch_fold(watch_of: Callable[[EvalRows], Watch], rows: EvalRows, n_folds: int) -> Watch:
    """Prepare the measures on the rows of a fold."""
    try:
        return watch_of(rows)
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


@dataclass
class BagRuns:
    """Runs on random parts of the data that take turns in one model.

    Attributes
    ----------
    data : RankingInput
    rows : int array
        The rows that pairs are made of.
    seed : int
    runs : list of lists of rounds, one per bag
        What was done so far.
    """

    data: RankingInput
    rows: Ints
    seed: int
    runs: list[list[Round]]

    def weights(self) -> list[Floats]:
        """Return the weights of all rows in every bag, 0 for those left out."""
        groups, n_rows = self.data.groups, self.data.instances.n_rows
        own = np.ones(n_rows) if self.data.weight is None else self.data.weight
        out = []
        if self.data.with_qid:
            codes = groups.codes
            queries = np.unique(codes[self.rows])
            if len(queries) < 2:
                raise DataError(
                    "n_bags learns from parts of the queries, and only one of them has rows of "
                    "different labels. Leave qid out to divide the rows, or set n_bags=1.",
                    parameter="n_bags",
                )
        for number in range(len(self.runs)):
            random = np.random.default_rng([self.seed, 20039, number])
            if self.data.with_qid:
                count = max(1, round(_IN_BAG * len(queries)))
                kept = np.isin(codes, random.permutation(queries)[:count])
            else:
                kept = _systematic(n_rows, self.rows, self.data.labels, random)
            out.append(np.where(kept, own, 0.0))
        return out

    def boost(
        self,
        run: Run,
        mean: Callable[[list[Round], Watch | None], Ensemble],
        watch_of: Callable[[list[int], list[Floats]], BagWatch] | None,
        rounds: int,
        patience: int | None,
        progress: Progress | None,
    ) -> tuple[Ensemble, BagWatch | None]:
        """Return the mean of all runs, and what watched it.

        Parameters
        ----------
        run : Run
        mean : function that replays rounds on all data
        watch_of : function of the run that each round is from and the weights of all bags
        rounds : int
            Of each run.
        """
        weights = self.weights()
        watch = None
        for length in _lengths(rounds, patience):
            for number, weight in enumerate(weights):
                seed = int(np.random.default_rng([self.seed, 20043, number]).integers(2**31))
                ahead = offset(progress, number * rounds)
                ended = run(weight, seed, None, length, ahead, self.runs[number]).trace
                self.runs[number] = list(ended)
            turns, origins = averaged(self.runs)
            watch = None if watch_of is None else watch_of(origins, weights)
            ensemble = mean(turns, watch)
            if watch is not None and watch.done:
                break
        if not ensemble.trace.stopped and len(turns) < rounds * len(weights):
            ensemble.trace.stopped = ended.stopped
        return ensemble, watch


def _systematic(
    n_rows: int, rows: Ints, labels: Floats | None, random: np.random.Generator
) -> Bools:
    """Draw rows such that every label keeps its share: evenly spaced ones in order of labels."""
    order = random.permutation(rows)
    if labels is not None and labels.ndim == 1:
        order = order[np.argsort(labels[order], kind="stable")]
    steps = np.floor(_IN_BAG * np.arange(len(order) + 1) + random.random())
    kept = np.zeros(n_rows, bool)
    kept[order[np.diff(steps) > 0]] = True
    return kept
