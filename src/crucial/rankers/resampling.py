"""Several runs of the loop on parts of the rows: folds that choose the rounds, bags to average."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Self

import numpy as np

from crucial.boosting.loop import Ensemble, Progress, Round, Trace, with_callbacks
from crucial.boosting.parts import TrainingRows
from crucial.boosting.trees import grid_unit, scaled
from crucial.boosting.watch import Watch
from crucial.data.bins import SharedBins
from crucial.data.groups import Groups, deal
from crucial.data.instances import Instances
from crucial.errors import DataError, ParameterError
from crucial.feedback.base import Feedback
from crucial.feedback.labels import QueryWeight, weighing_rows
from crucial.kernels.runtime import count_threads
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Tree, WeakRankerLike
from crucial.parameters import at_least, int_between, none_or, parameter, with_parameters
from crucial.rankers.base import Followed, RandomState, RankingInput, Seeded
from crucial.rankers.staged import (
    EarlyStopping,
    EvalRows,
    EvaluatedRanker,
    FeedbackRanker,
    WarmStart,
    measure_of,
    take_rows,
)
from crucial.types import Bools, Floats, Ints
from crucial.wording import counted

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
        """Return what a model file keeps: the measure and its mean after the best round."""
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
    """Return what a round of one of n runs is in their mean."""
    if isinstance(entry.ranker, Tree):
        return replace(entry, ranker=scaled(entry.ranker, entry.alpha / n, unit), alpha=1.0)
    return replace(entry, alpha=entry.alpha / n)


class BagWatch(Watch):
    """The eval set of the mean of several runs; the best round is one where all took their turn.

    Parameters
    ----------
    instances, groups, measures : as in `Watch`
    patience : int or None
        Turns of all runs without a new best value before stopping.
    origins : sequence of int
        The run that each round is from.
    unseen : bool array of shape (n_runs, n_rows), optional
        The rows that each run has not learned from: only these get its scores, so that the
        measure is that of the mean of the runs that a row is new to. By default all rows.
    tolerance : float
        As in `Watch`.
    """

    def __init__(
        self,
        instances: Instances,
        groups: Groups,
        measures: Sequence[tuple[str, Callable[[Floats], float], bool]],
        patience: int | None,
        origins: Sequence[int],
        unseen: Bools | None = None,
        tolerance: float = 0.0,
    ) -> None:
        self._n_runs = max(origins, default=0) + 1
        rounds = None if patience is None else patience * self._n_runs
        super().__init__(instances, groups, measures, rounds, tolerance)
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
    runs: Refits, ranker: Resampled, n_folds: int, seed: int, progress: Progress | None
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
    runs: Refits, ranker: Resampled, done: list[list[Round]], seed: int, progress: Progress | None
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


# --- Runs of the loop on a table, and on the rows of folds or bags of it


class Refits:
    """Runs on a table; all share its bins.

    Parameters
    ----------
    ranker : Resampled
        Whose feedback it is.
    data : RankingInput
    query_weight : as in `fit`
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
        self,
        ranker: Resampled,
        data: RankingInput,
        query_weight: QueryWeight | None,
        eval_rows: EvalRows | None = None,
    ) -> None:
        self._data, self._query_weight, self._eval_rows = data, query_weight, eval_rows
        self.instances, self.with_qid = data.instances, data.with_qid
        feedback = self.feedback = ranker._feedback(data, data.weight, query_weight, None)
        rows, threads = feedback.rows, count_threads(ranker.n_jobs)
        shared = SharedBins(data.instances, rows, feedback.weight, threads)
        self._training = TrainingRows(
            data.instances, rows, feedback.weight, data.groups, threads, shared
        )
        self._weighing = weighing_rows(data.weight, query_weight, data.groups)
        own = np.ones(data.instances.n_rows) if data.weight is None else data.weight
        self._own = own if self._weighing is None else np.where(self._weighing, own, 0.0)

    def on_all(self, ranker: Resampled, plan: RunPlan, watch: Watch | None = None) -> Ensemble:
        """Run the loop on all data."""
        return ranker._boost(
            self._training, self.feedback, watch, plan.seed, plan.rounds, plan.progress,
            plan.earlier,
        )  # fmt: skip

    def _on_some(
        self, ranker: Resampled, weight: Floats, plan: RunPlan, watch: Watch | None
    ) -> Trace:
        """Run the loop on the rows of positive weight."""
        feedback = ranker._feedback(self._data, weight, self._query_weight, None)
        training = replace(self._training, rows=feedback.rows, weight=feedback.weight)
        return ranker._boost(
            training, feedback, watch, plan.seed, plan.rounds, plan.progress, plan.earlier
        ).trace

    def chosen_pairs(self, ranker: Resampled, seed: int) -> list[tuple[int, int]] | None:
        """Return the pairs of features that trees may combine; None without a limit."""
        return ranker._chosen_pairs(self._training, self.feedback, seed)

    def deal(self, n_folds: int, seed: int) -> None:
        """Divide the queries into folds; without queries, the rows."""
        labels, groups = self._data.known_labels, self._data.groups
        rows = np.flatnonzero(self._own > 0.0)
        if len(rows) < len(labels):  # (those of weight 0 are as good as absent)
            labels, groups = labels[rows], Groups.from_qid(groups.codes[rows], len(rows))
        if self.with_qid:
            check_queries(int((~groups.one_valued(labels)).sum()), n_folds)
        random = fold_random(seed)
        self._fold = np.full(len(self._own), -1)
        self._fold[rows] = deal(n_folds, labels, groups, self.with_qid, random, "validation_folds")
        self._n_folds = n_folds

    def on_fold(self, ranker: Resampled, fold: int, plan: RunPlan) -> tuple[Trace, Watch]:
        """Run the loop on all rows but those of a fold, which are measured."""
        in_fold = self._fold == fold
        held = self._take(np.flatnonzero(in_fold))
        watch = fold_watch(self._n_folds, lambda: ranker._watch(held))
        return self._on_some(ranker, np.where(in_fold, 0.0, self._own), plan, watch), watch

    def _take(self, rows: Ints) -> EvalRows:
        """Return some rows as an eval set, with one default measure for all such sets."""
        return take_rows(self._data, rows, measure_of(self._data, self._weighing))

    def draw(self, n_bags: int, seed: int) -> None:
        """Draw the queries of every bag; without queries, the rows."""
        self._weights = bag_weights(self._data, self.feedback.rows, n_bags, seed)

    def on_bag(self, ranker: Resampled, number: int, plan: RunPlan) -> Trace:
        """Run the loop on the rows of a bag."""
        return self._on_some(ranker, self._weights[number], plan, None)

    def mean(
        self, ranker: Resampled, turns: list[Round], origins: list[int], seed: int
    ) -> tuple[Ensemble, Watch | None]:
        """Replay the rounds of all bags on all data."""
        watch = self._bag_watch(ranker, origins)
        return self.on_all(ranker, RunPlan(seed, len(turns), None, turns), watch), watch

    def _bag_watch(self, ranker: Resampled, origins: list[int]) -> BagWatch | None:
        """Return what watches the mean: the eval set, or the rows that bags have not seen."""
        rows, unseen, tolerance = self._eval_rows, None, ranker._tolerance()
        patience = ranker.early_stopping_rounds
        if rows is None:
            if patience is None:
                return None
            # Nearly all queries are left out of some bag: their best round is no luck.
            tolerance = 0.0
            counts = self._own > 0.0
            left_out = np.array([(weight == 0.0) & counts for weight in self._weights])
            places = np.flatnonzero(left_out.any(axis=0))
            rows, unseen = self._take(places), left_out[:, places]
        measures = ranker._prepared(rows, ranker.eval_metric)
        return BagWatch(rows.instances, rows.groups, measures, patience, origins, unseen, tolerance)


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
    queries = np.unique(codes[rows]) if data.with_qid else np.zeros(0, np.int64)
    out = []
    for number in range(n_bags):
        if data.with_qid:
            kept = np.isin(codes, draw_bag(queries, seed, number))
        else:
            kept = _systematic(n_rows, rows, data.labels, bag_random(seed, number))
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


# --- What makes few data steady: the mean of several runs, and folds that choose the rounds


# The weights of all bags are in memory together; no mean needs more runs.
_MOST_BAGS = 10_000


@with_parameters
class Resampled(
    FeedbackRanker[AdditiveRanker],
    EarlyStopping,
    Seeded,
    WarmStart,
    Followed,
    EvaluatedRanker[AdditiveRanker],
):
    """Rankers that may run several times, on parts of the data."""

    n_bags: int = parameter(
        int_between(1, _MOST_BAGS),
        "Average so many runs of n_estimators rounds, each on 63% of the queries (of the rows, "
        "where there are no queries), into one model. The runs take turns: its first "
        "``m * n_bags`` rounds are the mean of m rounds of each. early_stopping_rounds, counted "
        "per run, then looks at each query through the runs that have not seen it, without "
        "stopping_tolerance, unless there is an eval set.",
        default=1,
        grid=(1, 10),
    )
    validation_folds: int | None = parameter(
        none_or(at_least(2)),
        "Choose the number of rounds by so many folds of whole queries (of the rows, where there "
        "are none): one run per fold, then one on all data with as many rounds as are best on "
        "the mean of the held-out parts. early_stopping_rounds ends the runs when that mean has "
        "not improved for so many rounds; without, each has n_estimators. The first best round "
        "counts, without stopping_tolerance.",
        default=None,
    )

    # Declared by the estimators.
    n_estimators: int
    subsample: float
    record_risks: bool
    random_state: RandomState

    def _boost(
        self,
        training: TrainingRows,
        feedback: Feedback,
        watch: Watch | None,
        seed: int,
        rounds: int,
        progress: Progress | None,
        earlier: Sequence[Round],
    ) -> Ensemble:
        """Run the loop."""
        raise NotImplementedError

    def _set_fitted(
        self,
        ensemble: Ensemble,
        instances: Instances,
        feedback: Feedback,
        watch: Watch | None,
        with_qid: bool,
    ) -> None:
        """Set the fitted attributes."""
        raise NotImplementedError

    #: Pairs of features that several runs share; None where each chooses its own.
    _shared_pairs: list[tuple[int, int]] | None = None

    def _chosen_pairs(
        self, training: TrainingRows, feedback: Feedback, seed: int
    ) -> list[tuple[int, int]] | None:
        """Return the pairs of features that trees may combine; None without a limit."""
        return None

    def _figures(self) -> dict[str, object]:
        """Return what the training summary says of folds and pairs of features."""
        curves: FoldCurves | None = getattr(self, "fold_curves_", None)
        figures: dict[str, object] = {} if curves is None else {"folds": curves.summary()}
        if hasattr(self, "feature_pairs_"):
            figures["feature_pairs"] = [list(pair) for pair in self.feature_pairs_]
        return figures

    def _check_resampling(
        self, has_eval_set: bool = False, has_pairs: bool = False, has_judges: bool = False
    ) -> None:
        """Refuse what does not go with bags or folds."""
        for name, wanted in (
            ("n_bags", self.n_bags > 1),
            ("validation_folds", self.validation_folds is not None),
        ):
            if wanted and has_pairs:
                raise DataError(
                    f"{name} resamples the queries of labels, and explicit pairs belong to none. "
                    f"Leave {name} at its default."
                )
        if self.n_bags > 1 and self.callbacks is not None:
            raise ParameterError(
                "callbacks follow one run, and n_bags makes several: set callbacks=None or "
                "n_bags=1."
            )
        if self.validation_folds is None:
            return
        if self.n_bags > 1:
            raise ParameterError(
                "n_bags and validation_folds do not go together: bags choose the rounds by the "
                "queries that they leave out. Set early_stopping_rounds in place of "
                "validation_folds."
            )
        if has_eval_set:
            raise DataError(
                "validation_folds chooses the rounds by the training queries, and eval_set by "
                "its own: pass one of them."
            )
        if getattr(self, "warm_start", False):
            raise ParameterError(
                "warm_start continues up to n_estimators, and validation_folds chooses another "
                "number of rounds: set one of them."
            )
        if has_judges:
            raise DataError(
                "validation_folds with several judges would hold out rows of several labels each; "
                "use eval_set=(X, y)."
            )

    def _planned_rounds(self) -> int:
        """Return how many rounds all runs have at most."""
        folds = self.validation_folds
        runs = self.n_bags if folds is None else folds + 1
        return runs * self.n_estimators

    def _fit_runs(
        self, runs: Refits, seed: int, shown: AbstractContextManager[Progress | None]
    ) -> Self:
        """Run the loop on bags or folds, and keep what it made."""
        fingerprint = self._fingerprint(runs.instances, runs.feedback)
        bags = self._earlier_bags(fingerprint)
        watch = None
        with shown as progress:
            if self.n_bags > 1:
                ensemble, watch = self._fit_bags(runs, seed, progress, bags)
            else:
                ensemble = self._fit_folds(runs, seed, progress)
        self._set_fitted(ensemble, runs.instances, runs.feedback, watch, runs.with_qid)
        if self.warm_start:
            self._bag_runs: list[list[Round]] = bags
        self._note_data(fingerprint)
        return self

    def _earlier_bags(self, fingerprint: str | None) -> list[list[Round]]:
        """Return the rounds of every bag of the last fit, to be continued; or none."""
        if self._earlier_rounds(fingerprint, self.n_bags * self.n_estimators):
            return list(self._bag_runs)
        return [[] for _ in range(self.n_bags)]

    def _fit_folds(self, runs: Refits, seed: int, progress: Progress | None) -> Ensemble:
        """Choose the number of rounds by folds, and learn from all data."""
        assert self.validation_folds is not None
        n_folds, rounds = self.validation_folds, self.n_estimators
        curves = choose_rounds(runs, self, n_folds, seed, progress)
        best = curves.best_round
        ahead = with_callbacks(offset(progress, n_folds * rounds), best, self.callbacks)
        ensemble = runs.on_all(self, RunPlan(seed, best, ahead))
        if len(ensemble.trace) == best < rounds:
            ensemble.trace.stopped = (
                f"{counted(n_folds, 'fold')} rank best after {counted(best, 'round')}"
            )
        self.fold_curves_: FoldCurves = curves
        return ensemble

    def _fit_bags(
        self, runs: Refits, seed: int, progress: Progress | None, bags: list[list[Round]]
    ) -> tuple[Ensemble, Watch | None]:
        """Run the loop on bags, and learn the mean of all runs.

        Parameters
        ----------
        bags : one list of rounds per bag
            What was done before; what is done now is put there.
        """
        runs.draw(self.n_bags, seed)
        one = copy(self)
        one._threshold_seed = seed
        one._shared_pairs = runs.chosen_pairs(one, seed)
        if one._shared_pairs is not None:
            self.feature_pairs_ = one._shared_pairs
        return average_runs(runs, one, bags, seed, progress)
