"""What makes few data steady: the mean of several runs, and folds that choose the rounds."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from copy import copy
from typing import Self

from crucial.boosting.fold_curves import FoldCurves
from crucial.boosting.loop import Ensemble
from crucial.boosting.parts import TrainingRows
from crucial.boosting.trace import Progress, Round, with_callbacks
from crucial.boosting.watch import Watch
from crucial.data.instances import Instances
from crucial.errors import DataError, ParameterError
from crucial.estimators.eval_set import EarlyStopping
from crucial.estimators.judged import FeedbackRanker
from crucial.estimators.parts_of_data import TableRuns
from crucial.estimators.rounds import EvaluatedRanker
from crucial.estimators.runs import RunPlan, average_runs, choose_rounds, offset
from crucial.estimators.shared import Followed, RandomState, Seeded
from crucial.estimators.warm_start import WarmStart
from crucial.feedback.base import Feedback
from crucial.model.additive import AdditiveRanker
from crucial.parameters import at_least, int_between, none_or, parameter, with_parameters
from crucial.wording import counted

__all__ = ["Resampled"]

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
        self,
        runs: TableRuns,
        seed: int,
        shown: AbstractContextManager[Progress | None],
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

    def _fit_folds(self, runs: TableRuns, seed: int, progress: Progress | None) -> Ensemble:
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
        self,
        runs: TableRuns,
        seed: int,
        progress: Progress | None,
        bags: list[list[Round]],
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
