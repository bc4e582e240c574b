"""Base class of the boosting estimators: from input to ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self, TypeAlias

from sklearn.utils.validation import check_is_fitted

from crucial.boosting.loop import Ensemble, best_pairs, boost
from crucial.boosting.parts import Constraints, Objective, StepRule, TrainingRows, WeakLearner
from crucial.boosting.trace import Progress, Round, Trace, show_rounds, with_callbacks
from crucial.boosting.trees import TreeLearner
from crucial.boosting.watch import Watch
from crucial.data.instances import Instances
from crucial.errors import DataError, NoProgressWarning
from crucial.estimators.base import RankingInput
from crucial.estimators.classifier import ClassSums, make_classifier
from crucial.estimators.eval_set import EvalSet
from crucial.estimators.parts_of_data import TableRuns
from crucial.estimators.resampling import Resampled
from crucial.estimators.shared import RandomState
from crucial.estimators.warn import warn_caller, warn_ignored
from crucial.feedback.base import Feedback, smoothing_of
from crucial.feedback.labels import QueryWeight, check_labels_of_weights
from crucial.feedback.pairs import PairFeedback
from crucial.kernels.runtime import count_threads
from crucial.model.additive import AdditiveRanker, scores_of_rows
from crucial.parameters import (
    at_least,
    between,
    either,
    flag,
    function,
    one_of,
    parameter,
    with_parameters,
)
from crucial.types import Floats, TableLike, VectorLike

__all__ = ["Algorithm", "BoostedRanker"]

#: What makes a boosting algorithm: an objective, a weak learner and a step rule.
Algorithm: TypeAlias = tuple[Objective, WeakLearner, StepRule]


@with_parameters
class BoostedRanker(Resampled):
    """Base of the boosting estimators: a subclass names its parts in `_parts`.

    Attributes
    ----------
    model_ : AdditiveRanker
        What predict uses: the best rounds, if an eval set decided which.
    ensemble_ : AdditiveRanker
        All rounds.
    feature_pairs_ : list of (int, int)
        With ``max_pairs``: the pairs of features that trees may combine, largest gain first.
    fold_curves_ : FoldCurves
        With ``validation_folds``: the measure on every fold after every round.
    """

    #: The risk that the product of all Z bounds, "R1" or "R2"; None for a loss that bounds
    #: no share of pairs.
    bounded_risk: ClassVar[str | None] = None

    n_estimators: int = parameter(at_least(1), "Rounds.", default=300, kw_only=False)
    learning_rate: float = parameter(
        between(0, 1, low_open=True),
        "Factor on every weight, in (0, 1]. The papers use 1.",
        default=0.3,
        kw_only=False,
        grid=(0.1, 0.3, 1.0),
    )
    balance: str = parameter(
        one_of("pairs", "queries"),
        "Whether all pairs weigh the same, or all queries do.",
        default="pairs",
        grid=("pairs", "queries"),
    )
    gain: Any = parameter(
        either(one_of(None, "linear", "exp"), function),
        "Weigh a pair by the difference of the gains of its labels: y, 2^y - 1, or a rising "
        "function of your own.",
        default=None,
    )
    stopping_tolerance: float = parameter(
        text="A later round takes the place of the best one on the eval set as long as it is worse "
        "by less than so many standard errors of the difference, query by query: with few queries "
        "the first best round is a matter of luck, and mostly too early.",
        default=1.0,
    )
    on_perfect: str = parameter(
        one_of("smooth", "stop"),
        "What to do in a round whose weak ranker misorders nothing, so that its best weight is "
        "infinite: smooth the weights by half a pair, or stop before it.",
        default="smooth",
    )
    subsample: float = parameter(
        between(0, 1, low_open=True), "Share of the queries that count in a round.", default=1.0
    )
    contradictions: str = parameter(
        one_of("keep", "net"),
        "For pairs given in both directions, by labels, judges or explicitly: keep both, or their "
        "difference.",
        default="keep",
    )
    record_risks: bool = parameter(
        flag, "Record R1 and R2 on the training pairs in the trace, every round.", default=False
    )
    random_state: RandomState = parameter(
        text="Seeds subsample, n_bags, random thresholds, validation_fraction and "
        "validation_folds.",
        default=0,
    )

    def _parts(self, feedback: Feedback) -> Algorithm:
        """Return the objective, the weak learner and the step rule that make the algorithm."""
        raise NotImplementedError

    def _constraints(self, instances: Instances) -> Constraints:
        """Return what the weights must obey, and the learning rate."""
        return Constraints(rate=self.learning_rate)

    def _perfect(self, feedback: Feedback) -> tuple[float, bool]:
        """Return how step rules treat a perfect weak ranker: smoothing, and whether to stop."""
        return smoothing_of(feedback.total), self.on_perfect == "stop"

    # -- fitting ------------------------------------------------------------------

    def fit(
        self,
        X: TableLike,
        y: VectorLike,
        *,
        qid: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
        query_weight: QueryWeight | None = None,
        judge_weight: VectorLike | None = None,
        eval_set: EvalSet | None = None,
        eval_qid: VectorLike | None = None,
    ) -> Self:
        """Learn from labels: within a query, a higher label should rank higher.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
            NaN: the feature abstains. Absent entries of sparse input are 0.
        y : array of shape (n_rows,), or (n_rows, n_judges)
            Labels: two values, grades, real numbers, or a strict order. `RankBoost`,
            `RankBoostPlus` and `SmoothMarginRanker` also take one column per judge, and learn
            from the sum of all judges' pairs; NaN where a judge did not label a row. Labels of
            different judges are never compared.
        qid : array of shape (n_rows,), optional
            Query of every row, of any type, in any order. Without, all rows are compared.
        sample_weight : array of shape (n_rows,), optional
            A row of weight 2 counts as two rows, of weight 0 as none.
        query_weight : array of shape (n_rows,) or mapping from query id, optional
            Factor on all pairs of a query.
        judge_weight : array of shape (n_judges,), optional
            Factor on all pairs of a judge, where y has several columns; 1 by default.
        eval_set : (X, y), optional
            Rows to measure ``eval_metric`` on after every round.
        eval_qid : array, optional
            Queries of the eval set.
        """
        data = self._judged_input(X, y, qid, sample_weight, query_weight, judge_weight)
        return self._fit(data, query_weight, eval_set, eval_qid)

    def fit_pairs(
        self,
        X: TableLike,
        pairs: VectorLike,
        *,
        pair_weight: VectorLike | None = None,
        y: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
        qid: VectorLike | None = None,
        query_weight: QueryWeight | None = None,
        judge_weight: VectorLike | None = None,
        eval_set: EvalSet | None = None,
        eval_qid: VectorLike | None = None,
    ) -> Self:
        """Learn from explicit pairs, and from labels too where y is given.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        pairs : int array of shape (n_pairs, 2)
            Row numbers (winner, loser); contradictions and cycles are fine.
        pair_weight : array of shape (n_pairs,), optional
            Importance of each pair; a pair that labels imply weighs 1.
        y, sample_weight, qid, query_weight, judge_weight, eval_set, eval_qid
            As in `fit`.
        """
        check_labels_of_weights(y, sample_weight, query_weight)
        data = self._judged_input(
            X, y, qid, sample_weight, query_weight, judge_weight, needs_y=False
        )
        explicit = PairFeedback(
            pairs, data.instances.n_rows, weight=pair_weight, contradictions=self.contradictions
        )
        if data.labels is None:
            data = self._with_numbers(data, pairs=explicit)
        if self.early_stopping_rounds is not None and eval_set is None:
            raise DataError(
                "early_stopping_rounds with pairs needs eval_set=(X, y): pairs have no queries to "
                "set aside."
            )
        return self._fit(data, query_weight, eval_set, eval_qid, explicit)

    def _fit(
        self,
        data: RankingInput,
        query_weight: QueryWeight | None,
        eval_set: EvalSet | None,
        eval_qid: VectorLike | None,
        explicit: PairFeedback | None = None,
    ) -> Self:
        """Make the feedback, run the loop and keep what it made."""
        self._check_resampling(
            eval_set is not None, explicit is not None, data.judge_weight is not None
        )
        for name in ("fold_curves_", "feature_pairs_"):
            vars(self).pop(name, None)
        seed = self._seed()
        if self.n_bags > 1 or self.validation_folds is not None:
            eval_rows = self._eval_rows(data, eval_set, eval_qid)
            if self.n_bags > 1 and eval_rows is None and self.early_stopping_rounds is not None:
                self._check_judge(data)
            runs = TableRuns(self, data, query_weight, eval_rows)
            return self._fit_runs(runs, seed, show_rounds(self._planned_rounds(), self.verbose))
        watch, weight = self._stopping(data, query_weight, eval_set, eval_qid, seed)
        feedback = self._feedback(data, weight, query_weight, explicit)
        instances, groups, with_qid = data.instances, data.groups, data.with_qid
        del data, weight, explicit  # the feedback has what it needs; memory counts from here
        fingerprint = self._fingerprint(instances, feedback)
        earlier = self._earlier_rounds(fingerprint, self.n_estimators)
        training = TrainingRows(
            instances, feedback.rows, feedback.weight, groups, count_threads(self.n_jobs)
        )
        rounds, replayed = self.n_estimators, len(earlier)
        with show_rounds(rounds, self.verbose) as shown:
            progress = with_callbacks(shown, rounds, self.callbacks, replayed=replayed)
            ensemble = self._boost(training, feedback, watch, seed, rounds, progress, earlier)
        self._set_fitted(ensemble, instances, feedback, watch, with_qid)
        self._note_data(fingerprint)
        return self

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
        """Run the loop; an algorithm with a loop of its own replaces this."""
        objective, learner, step = self._parts(feedback)
        if isinstance(learner, TreeLearner) and rounds > len(earlier):
            pairs = self._chosen_pairs(training, feedback, seed)
            if pairs is not None:
                learner.pairs, self.feature_pairs_ = set(pairs), pairs
        return boost(
            training,
            feedback,
            objective,
            learner,
            step,
            rounds=rounds,
            constraints=self._constraints(training.instances),
            subsample=self.subsample,
            seed=seed,
            watch=watch,
            record_risks=self.record_risks,
            progress=progress,
            earlier=earlier,
        )

    def _chosen_pairs(
        self, training: TrainingRows, feedback: Feedback, seed: int
    ) -> list[tuple[int, int]] | None:
        objective, learner, step = self._parts(feedback)
        if not isinstance(learner, TreeLearner) or learner.limits.max_pairs is None:
            return None
        if self._shared_pairs is not None:
            return self._shared_pairs
        return best_pairs(
            training,
            feedback,
            objective,
            learner,
            step,
            learner.limits.max_pairs,
            constraints=self._constraints(training.instances),
            subsample=self.subsample,
            seed=seed,
        )

    def _set_fitted(
        self,
        ensemble: Ensemble,
        instances: Instances,
        feedback: Feedback,
        watch: Watch | None,
        with_qid: bool,
    ) -> None:
        """Set the fitted attributes."""
        self._warn_of_waste(ensemble, instances, feedback)
        trace, bound = ensemble.trace, None
        best = self._best_round(trace, watch)
        if self.bounded_risk is not None:
            bound = {"risk": self.bounded_risk, **trace.bound_terms(best)}
        model = AdditiveRanker(
            instances.n_features,
            ensemble.rankers,
            ensemble.weights,
            instances.names,
            self._set_trace(trace, best, self._figures(), feedback, with_qid, bound),
        )
        self._set_ensemble(model, best, with_qid)
        self._after_fit(ensemble, instances)
        self._classes: ClassSums | None = None
        if not with_qid and feedback.two_classes() is not None:
            self._classes = self._class_sums(ensemble, instances, feedback)

    def _class_sums(
        self, ensemble: Ensemble, instances: Instances, feedback: Feedback
    ) -> ClassSums:
        """Return the sums over the rows of two classes under ``model_``."""
        scores, current = ensemble.scores, self.best_round_ == len(ensemble.trace)
        if not current or len(scores) != len(feedback.rows):
            scores = scores_of_rows(self.model_, instances)[feedback.rows]
        return ClassSums.of(feedback, scores)

    def _best_round(self, trace: Trace, watch: Watch | None) -> int:
        """Return how many rounds ``model_`` has: as the eval set decides, or all."""
        return len(trace) if watch is None else watch.best_round

    def _remedy(self, instances: Instances, weight: Floats | None) -> str:
        """Return what would help where no round could be made, or nothing."""
        return ""

    def _warn_of_waste(self, ensemble: Ensemble, instances: Instances, feedback: Feedback) -> None:
        """Warn of features without use, and of an empty ensemble."""
        if ensemble.bins is not None:
            warn_ignored(
                ensemble.bins.all_missing,
                ("abstains on every row", "abstain on every row"),
                instances,
            )
            warn_ignored(ensemble.bins.constant, ("is constant", "are constant"), instances)
        if not ensemble.rankers:
            warn_caller(
                f"no round could be made ({ensemble.trace.stopped}); all scores are 0."
                + self._remedy(instances, feedback.weight),
                NoProgressWarning,
            )

    def _after_fit(self, ensemble: Ensemble, instances: Instances) -> None:
        """Set further attributes and issue further warnings, once all else is set."""

    def to_classifier(
        self,
        calibrated: bool | str = False,
        X: TableLike | None = None,
        y: VectorLike | None = None,
        *,
        sample_weight: VectorLike | None = None,
    ) -> Any:
        """Return a scikit-learn classifier of two classes with this ranker's scores.

        Its decision function is ``H(x) + b`` with ``b = .5 ln(F+ / F-)``, the intercept that
        makes a minimiser of RankBoost's objective one of AdaBoost's (Rudin & Schapire 2009,
        corollary 13). F+ and F- are two sums over the rows that ``fit`` learned from, which
        it keeps, or over the rows given here.

        Parameters
        ----------
        calibrated : {False, "sigmoid", "isotonic"}
            How scikit-learn's `CalibratedClassifierCV` maps decisions to probabilities,
            learned from the rows given here; better not those of ``fit``. False: they are the
            link of the exponential loss, and not calibrated.
        X, y : rows and labels of two values, optional
            Needed to calibrate, and for a ranker that was fitted to grades or pairs. A ranker
            fitted with queries makes no classifier: its scores have no common zero.
        sample_weight : array of shape (n_rows,), optional
            Weights of those rows.

        Returns
        -------
        RankingClassifier
            With decision_function, predict and predict_proba; or scikit-learn's own
            `CalibratedClassifierCV` around it.
        """
        check_is_fitted(self, "model_")
        return make_classifier(self, self._classes, calibrated, X, y, sample_weight)
