"""Several runs of the loop on parts of the rows: folds that choose the rounds, bags to average."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from crucial.boosting.loop import (
    Ensemble,
    Progress,
    Round,
    Trace,
    TrainingRows,
    Watch,
    with_callbacks,
)
from crucial.boosting.trees import TreeLearner, grid_unit, scaled
from crucial.data.bins import SharedBins
from crucial.data.groups import Groups, deal
from crucial.errors import DataError
from crucial.feedback.base import Feedback
from crucial.kernels.runtime import count_threads
from crucial.model.weak import Tree, WeakRankerLike
from crucial.rankers.base import EvalRows, RankingInput, take_rows
from crucial.types import Bools, Floats, Ints
from crucial.wording import counted

if TYPE_CHECKING:
    from crucial.rankers.rankboost import BoostedRanker

# --- How a measure goes on over the rounds, on the held-out part of every fold


@dataclass(frozen=True, eq=False)
class FoldCurves:
    """A measure on the held-out rows of every fold, after every round.

    Attributes
    ----------
    measure : str
    values : array of shape (n_folds, n_rounds)
    higher_is_better : bool

    Examples
    --------
    >>> curves = FoldCurves.of("auc", True, [[0.6, 0.8, 0.7], [0.6, 0.6]])
    >>> curves.mean.tolist(), curves.best_round
    ([0.6, 0.7, 0.6499999999999999], 2)
    """

    measure: str
    values: Floats
    higher_is_better: bool

    @classmethod
    def of(
        cls, measure: str, higher_is_better: bool, curves: Sequence[Sequence[float]]
    ) -> FoldCurves:
        """Make the table of several curves; one that ends early keeps its last value."""
        longest = max(len(curve) for curve in curves)
        values = [
            [*curve, *[curve[-1] if curve else 0.0] * (longest - len(curve))] for curve in curves
        ]
        return cls(
            measure, np.array(values, np.float64).reshape(len(curves), longest), higher_is_better
        )

    @property
    def mean(self) -> Floats:
        """The mean over the folds after every round."""
        return np.asarray(self.values.mean(axis=0))

    @property
    def best_round(self) -> int:
        """The round with the best mean, the first of equals; 0 if there are no rounds."""
        mean = self.mean if self.higher_is_better else -self.mean
        return int(np.argmax(mean)) + 1 if len(mean) else 0

    def waited(self, patience: int) -> bool:
        """Return whether the mean had no new best value for so many rounds."""
        return len(self.mean) - self.best_round >= patience

    def summary(self) -> dict[str, object]:
        """Return the measure and its mean after the best round, for the model file."""
        best = self.best_round
        return {
            "folds": len(self.values),
            "measure": self.measure,
            "value": float(self.mean[best - 1]) if best else 0.0,
            "error": self.error(best) if best else 0.0,
        }

    def error(self, number: int) -> float:
        """Return the standard error of the mean after some round, over the folds."""
        values = self.values[:, number - 1]
        return float(values.std(ddof=1) / np.sqrt(len(values)))


# --- Bags: several short runs on random parts of the data, averaged to one additive model
#
# The model of a run is a sum, and so is the mean of several (Breiman 1996): every weight, or every
# leaf of a tree, is divided by the number of runs. The rounds of the runs take turns, so that the
# first ``m n_bags`` rounds of the mean are the mean of the first m rounds of every run.


def averaged(runs: Sequence[Sequence[Round]]) -> tuple[list[Round], list[int]]:
    """Return the rounds of the mean of several runs, and the run that each is from.

    A run that ended early takes no more turns. The values of trees are rounded to one grid, on
    which their sums are exact (`crucial.boosting.trees`).

    Parameters
    ----------
    runs : one sequence of rounds per run

    Examples
    --------
    >>> from crucial.model.weak import Stump
    >>> a, b = (Round(Stump(f, 0.5, 0), 1.0, 0.1, 1.0, 0.0) for f in (0, 1))
    >>> rounds, origins = averaged([[a, a], [b]])
    >>> [(one.ranker.feature, one.alpha) for one in rounds], origins
    ([(0, 0.5), (1, 0.5), (0, 0.5)], [0, 1, 0])
    """
    n = len(runs)
    turns = [
        (number, entry)
        for turn in zip_longest(*runs)
        for number, entry in enumerate(turn)
        if entry is not None
    ]
    first = [
        entry.alpha / n * np.array(entry.ranker.values)
        for _, entry in turns[:n]
        if isinstance(entry.ranker, Tree)
    ]
    unit = grid_unit(np.concatenate(first)) if first else 0.0
    rounds = [_share(entry, n, unit) for _, entry in turns]
    return rounds, [number for number, _ in turns]


def _share(entry: Round, n: int, unit: float) -> Round:
    """Return a round of one of n refits, its weight divided by n."""
    if isinstance(entry.ranker, Tree):
        return replace(entry, ranker=scaled(entry.ranker, entry.alpha / n, unit), alpha=1.0)
    return replace(entry, alpha=entry.alpha / n)


class BagWatch(Watch):
    """The eval set of the mean of several runs; the best round is one where all took their turn.

    Parameters
    ----------
    ranker : BoostedRanker
        ``early_stopping_rounds`` are turns of all runs without a new best value.
    rows : EvalRows
    origins : sequence of int
        The run that each round is from.
    unseen : bool array of shape (n_runs, n_rows), optional
        The rows that each run has not learned from: only these get its scores, so that the
        measure is that of the mean of the runs that a row is new to. By default all rows.
    """

    def __init__(
        self, ranker: BoostedRanker, rows: EvalRows, origins: Sequence[int], unseen: Bools | None
    ) -> None:
        patience = ranker.early_stopping_rounds
        measures = ranker._prepared(rows, ranker.eval_metric)
        rounds = None if patience is None else patience * (max(origins, default=0) + 1)
        # Nearly all queries are left out of some bag: their best round is no luck.
        tolerance = ranker.stopping_tolerance if unseen is None else 0.0
        super().__init__(rows.instances, rows.groups, measures, rounds, tolerance)
        self._origins = origins
        self._shares: Floats | None = None
        if unseen is not None:
            # (a row that few runs have not seen gets as much from them as others from many)
            few = np.maximum(unseen.sum(axis=0), 1.0)
            self._shares = np.asarray(unseen * (len(unseen) / few))

    def advance(self, ranker: WeakRankerLike, alpha: float) -> dict[str, float]:
        """Add a weak ranker to the scores and measure them."""
        share: Floats | float = 1.0
        if self._shares is not None:
            share = self._shares[self._origins[self._seen]]
        self.scores += alpha * share * self._output(ranker)
        return self.look()

    def _may_be_best(self) -> bool:
        # (all runs have taken their turn)
        origins, done = self._origins, self._seen
        return done == len(origins) or origins[done] <= origins[done - 1]


# --- Several runs of the loop: one per fold, to choose the rounds, or one per bag, to be averaged


#: Share of the queries in a bag: as many as are in a sample of all with replacement, on average.
IN_BAG = 0.632


# The weights of all bags are in memory together; no mean needs more runs.
MOST_BAGS = 10_000


@dataclass(frozen=True)
class LoopInput:
    """The arguments of one run of the loop.

    Attributes
    ----------
    training, feedback : the data
    seed : int
    rounds : int
        Of the whole ensemble, earlier ones included.
    progress : function or None
        Called after every round.
    earlier : sequence of Round
        To be replayed.
    watch : Watch or None
        The eval set.
    """

    training: TrainingRows
    feedback: Feedback
    seed: int
    rounds: int
    progress: Progress | None = None
    earlier: Sequence[Round] = ()
    watch: Watch | None = None


def fit_folds(
    refits: Refits, ranker: BoostedRanker, seed: int, progress: Progress | None
) -> tuple[Ensemble, FoldCurves]:
    """Choose the number of rounds by folds, and learn from all data."""
    assert ranker.validation_folds is not None
    n_folds, rounds = ranker.validation_folds, ranker.n_estimators
    curves = choose_rounds(refits, ranker, n_folds, seed, progress)
    best = curves.best_round
    ahead = with_callbacks(offset(progress, n_folds * rounds), best, ranker.callbacks)
    ensemble = ranker._boost(refits.run(seed, best, ahead))
    if len(ensemble.trace) == best < rounds:
        ensemble.trace.stopped = (
            f"{counted(n_folds, 'fold')} rank best after {counted(best, 'round')}"
        )
    return ensemble, curves


def choose_rounds(
    refits: Refits, ranker: BoostedRanker, n_folds: int, seed: int, progress: Progress | None
) -> FoldCurves:
    """Boost once per fold of the queries, and return what the held-out rows say.

    Runs are so long as ``n_estimators`` allows, and end where the mean of all folds has not
    improved for ``early_stopping_rounds``.
    """
    rounds, patience = ranker.n_estimators, ranker.early_stopping_rounds
    folds = refits.deal(n_folds, seed)
    single = copy(ranker)
    single.random_state, single.record_risks = seed, False
    traces: list[Trace] = [Trace() for _ in range(n_folds)]
    for length in _lengths(rounds, patience):
        for k in range(n_folds):
            watch = refits.fold_watch(single, folds == k, n_folds)
            run = refits.run(seed, length, offset(progress, k * rounds), list(traces[k]), watch)
            traces[k] = single._boost(refits.without(run, single, folds == k)).trace
        name, higher = watch.deciding
        curves = FoldCurves.of(name, higher, [trace.column(name).tolist() for trace in traces])
        if patience is not None and curves.waited(patience):
            break
    return curves


def _lengths(rounds: int, patience: int | None) -> Iterator[int]:
    """Yield the numbers of rounds after which to look whether to stop: twice as many each time."""
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


def fit_bags(
    refits: Refits,
    ranker: BoostedRanker,
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
    weights = bag_weights(refits.data, refits.feedback.rows, ranker.n_bags, seed)
    shared = copy(ranker)
    shared._threshold_seed = seed
    everything = refits.run(seed, rounds)
    objective, learner, step = shared._parts(refits.feedback)
    if isinstance(learner, TreeLearner):
        shared._shared_pairs = shared._chosen_pairs(everything, objective, learner, step)
    if shared._shared_pairs is not None:
        ranker.feature_pairs_ = shared._shared_pairs
    for length in _lengths(rounds, patience):
        for number in range(len(done)):
            single = copy(shared)
            bag_seed = int(np.random.default_rng([seed, 20043, number]).integers(2**31))
            single.random_state, single.record_risks = bag_seed, False
            ahead = offset(progress, number * rounds)
            run = refits.run(bag_seed, length, ahead, done[number])
            ended = single._boost(refits.weighing(run, single, weights[number])).trace
            done[number] = list(ended)
        turns, origins = averaged(done)
        mean = copy(shared)
        mean.subsample = 1.0
        watch = refits.bag_watch(mean, weights, origins)
        ensemble = mean._boost(refits.run(seed, len(turns), None, turns, watch))
        if watch is not None and watch.done:
            break
    if not ensemble.trace.stopped and len(turns) < rounds * len(done):
        ensemble.trace.stopped = ended.stopped
    return ensemble, watch


# --- Runs of the loop on a table, and on the rows of folds or bags of it


class Refits:
    """Runs on a table; all share its bins.

    Parameters
    ----------
    ranker : BoostedRanker
        Whose feedback it is.
    data : RankingInput
    eval_rows : EvalRows, optional
        To measure the mean of bags on.

    Attributes
    ----------
    instances : Instances
    feedback : Feedback
        The pairs of all data.
    with_qid : bool
    """

    def __init__(
        self, ranker: BoostedRanker, data: RankingInput, eval_rows: EvalRows | None = None
    ) -> None:
        self.data, self._eval_rows = data, eval_rows
        self.instances, self.with_qid = data.instances, data.with_qid
        feedback = self.feedback = ranker._feedback(data)
        rows, threads = feedback.rows, count_threads(ranker.n_jobs)
        shared = SharedBins(data.instances, rows, feedback.weight, threads)
        self._training = TrainingRows(
            data.instances, rows, feedback.weight, data.groups, threads, shared
        )
        own = np.ones(data.instances.n_rows) if data.weight is None else data.weight
        self._own = own if data.weighing is None else np.where(data.weighing, own, 0.0)

    def run(
        self,
        seed: int,
        rounds: int,
        progress: Progress | None = None,
        earlier: Sequence[Round] = (),
        watch: Watch | None = None,
    ) -> LoopInput:
        """Return a run on all data."""
        return LoopInput(self._training, self.feedback, seed, rounds, progress, earlier, watch)

    def weighing(self, run: LoopInput, ranker: BoostedRanker, weight: Floats) -> LoopInput:
        """Return a run with other weights of the rows, 0 for those that are left out."""
        feedback = ranker._feedback(replace(self.data, weight=weight))
        training = replace(self._training, rows=feedback.rows, weight=feedback.weight)
        return replace(run, training=training, feedback=feedback)

    def without(self, run: LoopInput, ranker: BoostedRanker, left_out: Bools) -> LoopInput:
        """Return a run on all rows but some."""
        return self.weighing(run, ranker, np.where(left_out, 0.0, self._own))

    def deal(self, n_folds: int, seed: int) -> Ints:
        """Divide the queries into folds, without queries the rows; return the fold of every row."""
        labels, groups = self.data.known_labels, self.data.groups
        rows = np.flatnonzero(self._own > 0.0)
        if len(rows) < len(labels):  # (those of weight 0 are as good as absent)
            labels, groups = labels[rows], Groups.from_qid(groups.codes[rows], len(rows))
        if self.with_qid:
            usable = int((~groups.one_valued(labels)).sum())
            if usable < n_folds:
                fewer = f"Use validation_folds={usable} or less." if usable > 1 else ""
                raise DataError(
                    f"validation_folds={n_folds} needs as many queries with rows of different "
                    f"labels. Got {usable}.",
                    remedy=fewer or "Set validation_folds=None.",
                    parameter="validation_folds",
                    value=n_folds,
                )
        random = np.random.default_rng([seed, 20037])
        folds = np.full(len(self._own), -1)
        folds[rows] = deal(n_folds, labels, groups, self.with_qid, random, "validation_folds")
        return folds

    def fold_watch(self, ranker: BoostedRanker, in_fold: Bools, n_folds: int) -> Watch:
        """Prepare the measures on the rows of a fold."""
        try:
            return ranker._watch(take_rows(self.data, np.flatnonzero(in_fold)))
        except DataError as error:
            raise DataError(
                f"validation_folds={n_folds}: the rows of a fold cannot be measured ({error}) Use "
                "fewer folds, or another eval_metric.",
                parameter="validation_folds",
                value=n_folds,
            ) from error

    def bag_watch(
        self, ranker: BoostedRanker, weights: list[Floats], origins: list[int]
    ) -> BagWatch | None:
        """Return the watch over the mean of the bags, on the eval set or on rows left out."""
        rows, unseen = self._eval_rows, None
        if rows is None:
            if ranker.early_stopping_rounds is None:
                return None
            counts = self._own > 0.0
            left_out = np.array([(weight == 0.0) & counts for weight in weights])
            places = np.flatnonzero(left_out.any(axis=0))
            rows, unseen = take_rows(self.data, places), left_out[:, places]
        return BagWatch(ranker, rows, origins, unseen)


def bag_weights(data: RankingInput, rows: Ints, n_bags: int, seed: int) -> list[Floats]:
    """Return the weights of all rows in every bag, 0 for those left out.

    Parameters
    ----------
    rows : int array
        The rows that pairs are made of.
    """
    n_rows = data.instances.n_rows
    own = np.ones(n_rows) if data.weight is None else data.weight
    codes = data.groups.codes
    queries = np.unique(codes[rows])
    if data.with_qid and len(queries) < 2:
        raise DataError(
            "n_bags learns from parts of the queries, and only one of them has rows of "
            "different labels. Leave qid out to divide the rows, or set n_bags=1.",
            parameter="n_bags",
        )
    count, out = max(1, round(IN_BAG * len(queries))), []
    for number in range(n_bags):
        random = np.random.default_rng([seed, 20039, number])
        if data.with_qid:
            kept = np.isin(codes, random.permutation(queries)[:count])
        else:
            kept = _systematic(n_rows, rows, data.labels, random)
        out.append(np.where(kept, own, 0.0))
    return out


def _systematic(
    n_rows: int, rows: Ints, labels: Floats | None, random: np.random.Generator
) -> Bools:
    """Draw rows such that every label keeps its share: evenly spaced ones in order of labels."""
    order = random.permutation(rows)
    if labels is not None and labels.ndim == 1:
        order = order[np.argsort(labels[order], kind="stable")]
    steps = np.floor(IN_BAG * np.arange(len(order) + 1) + random.random())
    kept = np.zeros(n_rows, bool)
    kept[order[np.diff(steps) > 0]] = True
    return kept
