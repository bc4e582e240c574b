"""What makes few data steady: the mean of several runs, and folds that choose the rounds."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Self

import numpy as np

from crucial.boosting.bags import BagWatch
from crucial.boosting.fold_curves import FoldCurves
from crucial.boosting.loop import Ensemble
from crucial.boosting.progress import Progress, show_rounds, with_callbacks
from crucial.boosting.trace import Round
from crucial.boosting.watch import Watch
from crucial.data.instances import Instances
from crucial.data.shared_bins import SharedBins
from crucial.errors import DataError, ParameterError
from crucial.estimators.base import RankingInput
from crucial.estimators.eval_set import EarlyStopping, EvalSet, take_rows
from crucial.estimators.judged import Judged
from crucial.estimators.parts_of_data import BagRuns, Run, choose_rounds, offset
from crucial.estimators.rounds import EvaluatedRanker
from crucial.estimators.shared import Followed, RandomState, Seeded
from crucial.estimators.warm_start import WarmStart
from crucial.feedback.base import Feedback
from crucial.feedback.labels import QueryWeight
from crucial.kernels.threads import count_threads
from crucial.model.additive import AdditiveRanker
from crucial.parameters import at_least, none_or, parameter, with_parameters
from crucial.types import Floats, VectorLike
from crucial.weak.base import TrainingRows
from crucial.wording import counted

__all__ = ["Resampled"]


@with_parameters
class Resampled(
    Judged[AdditiveRanker],
    EarlyStopping,
    Seeded,
    WarmStart,
    Followed,
    EvaluatedRanker[AdditiveRanker],
):
    """Rankers that may run several times, on parts of the data."""

    n_bags: int = parameter(
        at_least(1),
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

    def _check_resampling(self, data: RankingInput, has_eval_set: bool, has_pairs: bool) -> None:
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
        on_perfect = getattr(self, "on_perfect", "smooth")
        if self.n_bags > 1 and on_perfect in ("limit", "infinite"):
            raise ParameterError(
                f"n_bags averages weights, and on_perfect={on_perfect!r} makes infinite ones; use "
                "on_perfect='smooth'."
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
        if data.judge_weight is not None:
            raise DataError(
                "validation_folds with several judges would hold out rows of several labels each; "
                "use eval_set=(X, y)."
            )

    def _on_all(
        self, data: RankingInput, query_weight: QueryWeight | None
    ) -> tuple[Feedback, TrainingRows]:
        """Return the feedback and the rows of all data, whose bins runs on parts of them share."""
        feedback = self._feedback(data, data.weight, query_weight, None)
        rows, threads = feedback.rows, count_threads(self.n_jobs)
        shared = SharedBins(data.instances, rows, feedback.weight, threads)
        return feedback, TrainingRows(
            data.instances, rows, feedback.weight, data.groups, threads, shared
        )

    def _part(
        self, data: RankingInput, query_weight: QueryWeight | None, all_rows: TrainingRows
    ) -> Run:
        """Return the function that runs the loop on a part of the data."""

        def run(
            weight: Floats,
            seed: int,
            watch: Watch | None,
            rounds: int,
            progress: Progress | None,
            earlier: Sequence[Round],
        ) -> Ensemble:
            ranker = copy(self)
            ranker.random_state, ranker.record_risks = seed, False
            feedback = ranker._feedback(data, weight, query_weight, None)
            training = replace(all_rows, rows=feedback.rows, weight=feedback.weight)
            return ranker._boost(training, feedback, watch, seed, rounds, progress, earlier)

        return run

    def _fit_folds(self, data: RankingInput, query_weight: QueryWeight | None, seed: int) -> Self:
        """Choose the number of rounds by folds, and learn from all data."""
        assert self.validation_folds is not None
        feedback, training = self._on_all(data, query_weight)
        n_folds, rounds = self.validation_folds, self.n_estimators
        with show_rounds((n_folds + 1) * rounds, self.verbose) as progress:
            curves = choose_rounds(
                self._part(data, query_weight, training),
                data,
                n_folds,
                seed,
                self._watch,
                rounds,
                self.early_stopping_rounds,
                progress,
            )
            best = curves.best_round
            ahead = with_callbacks(offset(progress, n_folds * rounds), best, self.callbacks)
            ensemble = self._boost(training, feedback, None, seed, best, ahead, ())
        if len(ensemble.trace) == best < rounds:
            ensemble.trace.stopped = (
                f"{counted(n_folds, 'fold')} rank best after {counted(best, 'round')}"
            )
        self.fold_curves_: FoldCurves = curves
        self._set_fitted(ensemble, data.instances, feedback, None, data.with_qid)
        return self

    def _fit_bags(
        self,
        data: RankingInput,
        query_weight: QueryWeight | None,
        eval_set: EvalSet | None,
        eval_qid: VectorLike | None,
        seed: int,
    ) -> Self:
        """Run the loop on parts of the data, and learn the mean of all runs."""
        feedback, training = self._on_all(data, query_weight)
        instances, n_bags, rounds = data.instances, self.n_bags, self.n_estimators
        eval_rows, patience = self._eval_rows(data, eval_set, eval_qid), self.early_stopping_rounds
        earlier = self._earlier_rounds(instances, feedback, n_bags * rounds)
        runs: list[list[Round]] = [[] for _ in range(n_bags)]
        if earlier:
            runs = getattr(self, "_bag_runs", runs)
        bags = BagRuns(data, feedback.rows, seed, runs)
        one = copy(self)
        one._threshold_seed = seed

        def watched(origins: list[int], weights: list[Floats]) -> BagWatch:
            rows, unseen, tolerance = eval_rows, None, self._tolerance()
            if rows is None:
                # Nearly all queries are left out of some bag: their best round is no luck.
                tolerance = 0.0
                counts = True if data.weight is None else data.weight > 0.0
                left_out = np.array([(weight == 0.0) & counts for weight in weights])
                places = np.flatnonzero(left_out.any(axis=0))
                rows, unseen = take_rows(data, places), left_out[:, places]
            measures = self._prepared(rows, self.eval_metric)
            return BagWatch(
                rows.instances, rows.groups, measures, patience, origins, unseen, tolerance
            )

        def mean(turns: list[Round], watch: Watch | None) -> Ensemble:
            ranker = copy(one)
            ranker.subsample = 1.0
            return ranker._boost(training, feedback, watch, seed, len(turns), None, turns)

        if eval_rows is None and patience is not None:
            self._check_judge(data)
        watch_of = watched if eval_rows is not None or patience is not None else None
        one._shared_pairs = one._chosen_pairs(training, feedback, seed)
        if one._shared_pairs is not None:
            self.feature_pairs_ = one._shared_pairs
        run = one._part(data, query_weight, training)
        with show_rounds(n_bags * rounds, self.verbose) as progress:
            ensemble, watch = bags.boost(run, mean, watch_of, rounds, patience, progress)
        if self.warm_start:
            self._bag_runs: list[list[Round]] = bags.runs
        self._set_fitted(ensemble, instances, feedback, watch, data.with_qid)
        return self
