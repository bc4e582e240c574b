"""What every estimator that boosts shares: from input to ensemble."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from crucial.boosting.loop import Ensemble, Progress, boost
from crucial.boosting.progress import show_rounds
from crucial.boosting.trace import Round, Trace
from crucial.boosting.watch import Watch
from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.errors import DataError, ParameterError
from crucial.estimators.base import Ranker
from crucial.estimators.classifier import ClassSums, make_classifier
from crucial.estimators.eval_set import eval_groups, eval_pair, make_watch, set_aside, split_rows
from crucial.estimators.fingerprint import fingerprint
from crucial.estimators.fit_notes import plain_parameters, seed_of, warn_of
from crucial.feedback.base import Feedback
from crucial.feedback.combined import SumFeedback
from crucial.feedback.labels import LabelFeedback, check_labels, check_weights
from crucial.feedback.pairs import PairFeedback
from crucial.kernels.threads import count_threads
from crucial.model.additive import AdditiveRanker
from crucial.objectives.base import Objective
from crucial.types import Floats
from crucial.validation import check_choice, check_flag, check_integer, check_real, refuse
from crucial.weak.base import Constraints, StepRule, TrainingRows, WeakLearner

__all__ = ["BoostedRanker"]


class BoostedRanker(Ranker):
    """Base of the boosting estimators.

    A subclass has the parameters named here, checks them (`_check_common`) and its own in
    ``_check_parameters`` and names its parts in ``_parts``.
    """

    #: The risk that the product of all Z bounds, "R1" or "R2"; None for a loss that bounds
    #: no share of pairs.
    bounded_risk: ClassVar[str | None] = None

    n_estimators: int
    balance: str
    gain: Any
    subsample: float
    early_stopping_rounds: int | None
    eval_metric: Any
    validation_fraction: float
    contradictions: str
    record_risks: bool
    random_state: Any
    n_jobs: int | None
    verbose: int
    warm_start: bool

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _check_common(self) -> None:
        """Refuse values that no boosting estimator can use, of the parameters named above."""
        owner = type(self).__name__
        check_integer(owner, "n_estimators", self.n_estimators, 1)
        check_choice(owner, "balance", self.balance, ["pairs", "queries"])
        if not (self.gain is None or isinstance(self.gain, str) or callable(self.gain)):
            raise refuse(owner, "gain", "None, 'linear', 'exp' or a function", self.gain)
        check_real(owner, "subsample", self.subsample, 0.0, 1.0, low_open=True)
        check_integer(owner, "early_stopping_rounds", self.early_stopping_rounds, 1, none=True)
        check_real(owner, "validation_fraction", self.validation_fraction, 0.0, 0.9, low_open=True)
        check_choice(owner, "contradictions", self.contradictions, ["keep", "net"])
        check_integer(owner, "verbose", self.verbose, 0)
        for name in ("record_risks", "warm_start"):
            check_flag(owner, name, getattr(self, name))
        whole = isinstance(self.n_jobs, Integral) and not isinstance(self.n_jobs, bool)
        if self.n_jobs is not None and not (whole and self.n_jobs != 0):
            raise refuse(owner, "n_jobs", "an int other than 0, or None", self.n_jobs)

    def _parts(self, feedback: Feedback) -> tuple[Objective, WeakLearner, StepRule]:
        """The objective, the weak learner and the step rule that make the algorithm."""
        raise NotImplementedError

    def _constraints(self, instances: Instances) -> Constraints:
        """What the weights must obey, and the learning rate."""
        raise NotImplementedError

    # -- fitting ------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
    ) -> Self:
        """Learn from labels: within a query, a higher label should rank higher.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
            NaN: the feature abstains. Absent entries of sparse input are 0.
        y : array of shape (n_rows,)
            Labels: two values, grades, real numbers, or a strict order.
        qid : array of shape (n_rows,), optional
            Query of every row, of any type, in any order. Without, all rows are compared.
        sample_weight : array of shape (n_rows,), optional
            A row of weight 2 counts as two rows, of weight 0 as none.
        query_weight : array of shape (n_rows,) or mapping from query id, optional
            Factor on all pairs of a query.
        eval_set : (X, y), optional
        eval_qid : array, optional
            Queries of the eval set.
        """
        if y is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        self._check_parameters()
        instances = self._instances(X, reset=True)
        return self._fit(
            instances,
            check_labels(y, instances.n_rows),
            sample_weight,
            qid,
            query_weight,
            eval_set,
            eval_qid,
        )

    def fit_pairs(
        self,
        X: Any,
        pairs: Any,
        *,
        pair_weight: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        qid: Any = None,
        query_weight: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
    ) -> Self:
        """Learn from explicit pairs, and from labels too where y is given.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        pairs : int array of shape (n_pairs, 2)
            Row numbers (winner, loser); contradictions and cycles are fine.
        pair_weight : array of shape (n_pairs,), optional
            Importance of each pair; a pair that labels imply weighs 1.
        y, sample_weight, qid, query_weight, eval_set, eval_qid
            As in `fit`.
        """
        self._check_parameters()
        instances = self._instances(X, reset=True)
        explicit = PairFeedback(
            pairs, instances.n_rows, weight=pair_weight, contradictions=self.contradictions
        )
        if self.early_stopping_rounds is not None and eval_set is None:
            raise DataError(
                "early_stopping_rounds with pairs needs eval_set=(X, y): pairs have no queries to "
                "set aside."
            )
        if y is None and not (sample_weight is None and query_weight is None):
            raise DataError(
                "sample_weight and query_weight weigh the pairs that labels imply, and there is no "
                "y; use pair_weight."
            )
        labels = None if y is None else check_labels(y, instances.n_rows)
        return self._fit(
            instances, labels, sample_weight, qid, query_weight, eval_set, eval_qid, explicit
        )

    def _fit(
        self,
        instances: Instances,
        labels: Floats | None,
        sample_weight: Any,
        qid: Any,
        query_weight: Any,
        eval_set: Any,
        eval_qid: Any,
        explicit: PairFeedback | None = None,
    ) -> Self:
        groups = Groups.from_qid(qid, instances.n_rows)
        weights = check_weights(sample_weight, instances.n_rows)
        seed = seed_of(self.random_state)
        watch, aside = self._watch(instances, labels, groups, qid, eval_set, eval_qid, seed)
        if aside is not None:
            weights = np.ones(instances.n_rows) if weights is None else weights.copy()
            weights[aside] = 0.0
        parts: list[Feedback] = [] if explicit is None else [explicit]
        if labels is not None:
            parts.insert(0, self._label_feedback(labels, groups, weights, query_weight))
        feedback = parts[0] if len(parts) == 1 else SumFeedback(parts)
        del labels, weights, parts  # the feedback has what it needs; memory counts from here
        earlier = self._earlier_rounds(instances, feedback)
        training = TrainingRows(
            instances, feedback.rows, feedback.weight, groups, count_threads(self.n_jobs)
        )
        with show_rounds(self.n_estimators, bool(self.verbose)) as progress:
            made = self._boost(training, feedback, watch, seed, progress, earlier)
        self._keep(made, instances, feedback, watch, qid is not None)
        return self

    def _label_feedback(
        self, labels: Floats, groups: Groups, weights: Floats | None, query_weight: Any
    ) -> LabelFeedback:
        """The pairs that labels imply; an algorithm that leaves some out replaces this."""
        return LabelFeedback(
            labels,
            groups,
            weight=weights,
            balance=self.balance,
            query_weight=query_weight,
            gain=self.gain,
        )

    def _boost(
        self,
        training: TrainingRows,
        feedback: Feedback,
        watch: Watch | None,
        seed: int,
        progress: Progress | None,
        earlier: Sequence[Round],
    ) -> Ensemble:
        """Run the loop; an algorithm with a loop of its own replaces this."""
        return boost(
            training,
            feedback,
            *self._parts(feedback),
            rounds=self.n_estimators,
            constraints=self._constraints(training.instances),
            subsample=self.subsample,
            seed=seed,
            watch=watch,
            record_risks=self.record_risks,
            progress=progress,
            earlier=earlier,
        )

    def _keep(
        self,
        made: Ensemble,
        instances: Instances,
        feedback: Feedback,
        watch: Watch | None,
        with_qid: bool,
    ) -> None:
        """Set the fitted attributes."""
        warn_of(made, instances, self.n_estimators)
        self.trace_ = made.trace
        self.best_round_ = len(made.rankers) if watch is None else watch.best_round
        self.fitted_with_qid_ = with_qid
        summary = {
            "estimator": type(self).__name__,
            "parameters": plain_parameters(self.get_params()),
            "rounds": len(made.rankers),
            "best_round": self.best_round_,
            "stopped": made.trace.stopped or "all rounds done",
            "log_loss": made.trace[-1].log_loss if len(made.trace) else 0.0,
            "rows": len(feedback.rows),
            "with_qid": with_qid,
            **feedback.summary(),
        }
        if self.bounded_risk is not None:
            terms = made.trace.bound_terms(self.best_round_)
            summary["bound"] = {"risk": self.bounded_risk, **terms}
        if self.best_round_ and made.trace[self.best_round_ - 1].measures:
            summary["eval"] = dict(made.trace[self.best_round_ - 1].measures)
        self.ensemble_ = AdditiveRanker(
            instances.n_features, made.rankers, made.weights, instances.names, summary
        )
        whole = self.best_round_ == len(made.rankers)
        self.model_ = self.ensemble_ if whole else self.ensemble_.truncate(self.best_round_)
        self._look_back(made)
        self._classes = None
        if not with_qid and feedback.two_classes() is not None:
            known = whole and len(made.scores) == len(feedback.rows)
            scores = made.scores
            if not known:
                everything = self.model_.predict(instances, Groups.single(feedback.n_rows))
                scores = everything[feedback.rows]
            self._classes = ClassSums.of(feedback, scores)

    def _look_back(self, made: Ensemble) -> None:
        """Further attributes and warnings of an estimator, once all else is set."""

    def _earlier_rounds(self, instances: Instances, feedback: Feedback) -> Sequence[Round]:
        """Rounds of the last fit to be continued; none without warm_start."""
        if not self.warm_start:
            return ()
        free = ("n_estimators", "n_jobs", "verbose")
        same = {k: v for k, v in self.get_params().items() if k not in free}
        now = fingerprint(instances, feedback, same)
        before = getattr(self, "_fitted_on", None)
        earlier: Trace | tuple[()] = getattr(self, "trace_", ())
        self._fitted_on = now
        if before is None:
            return ()
        if before != now:
            self._fitted_on = before
            raise DataError(
                "warm_start continues on the data and parameters of the last fit, and these are "
                "others. Set warm_start=False to begin anew."
            )
        if self.n_estimators < len(earlier):
            raise ParameterError(
                f"warm_start: n_estimators={self.n_estimators} is less than the {len(earlier)} "
                "rounds there are; use truncate(n) for fewer."
            )
        return list(earlier)

    def _watch(
        self,
        instances: Instances,
        labels: Floats | None,
        groups: Groups,
        qid: Any,
        eval_set: Any,
        eval_qid: Any,
        seed: int,
    ) -> tuple[Watch | None, Any]:
        """The eval set, and the rows of the training set that were set aside for it."""
        metric, patience = self.eval_metric, self.early_stopping_rounds
        if eval_set is not None:
            X, y = eval_pair(eval_set)
            there = self._instances(X, reset=False)
            if (eval_qid is None) != (qid is None) and labels is not None:
                has, lacks = ("qid", "eval_qid") if eval_qid is None else ("eval_qid", "qid")
                raise DataError(f"{has} was given without {lacks}: both or neither are needed.")
            return make_watch(there, y, eval_groups(eval_qid, there.n_rows), metric, patience), None
        if eval_qid is not None:
            raise DataError("eval_qid was given without eval_set.")
        if patience is None:
            return None, None
        assert labels is not None  # (pairs without an eval set were refused)
        _, aside = split_rows(labels, groups, self.validation_fraction, seed, qid is not None)
        return make_watch(*set_aside(instances, labels, groups, aside), metric, patience), aside

    # -- what was learned ---------------------------------------------------------

    @property
    def feature_importances_(self) -> Floats:
        """Share of the absolute weight that went to each feature."""
        check_is_fitted(self, "model_")
        return self.model_.feature_importances()

    def staged_predict(self, X: Any, qid: Any = None) -> Iterator[Floats]:
        """Scores after every round, all rounds included; arguments as in `predict`."""
        check_is_fitted(self, "model_")
        instances = self._instances(X, reset=False)
        return self.ensemble_.staged_predict(
            instances, self._queries(self.ensemble_, qid, instances.n_rows)
        )

    def truncate(self, n_rounds: int) -> AdditiveRanker:
        """The ranker as it was after ``n_rounds`` rounds."""
        check_is_fitted(self, "model_")
        return self.ensemble_.truncate(n_rounds)

    def to_classifier(
        self,
        calibrated: bool | str = False,
        X: Any = None,
        y: Any = None,
        *,
        sample_weight: Any = None,
    ) -> Any:
        """A scikit-learn classifier of two classes with this ranker's scores.

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

    def save(self, path: Any) -> None:
        """Write ``model_`` to a JSON file; `crucial.load_model` reads it."""
        check_is_fitted(self, "model_")
        self.model_.save(path)
