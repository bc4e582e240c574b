"""RankBoost and its kin by loss or step, and the base of the boosting rankers."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from copy import copy, deepcopy
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from crucial.boosting.loop import (
    Constraints,
    Ensemble,
    ExponentialLoss,
    Objective,
    Round,
    StepRule,
    Trace,
    TrainingRows,
    Watch,
    WeakLearner,
    boost,
    check_methods,
    show_rounds,
    with_callbacks,
)
from crucial.boosting.other_learners import CheckedLearner, ColumnLearner, FeatureLearner
from crucial.boosting.pair_losses import ClassificationLoss, LogisticLoss, PNormLoss
from crucial.boosting.steps import (
    LINE_STEPS,
    STEPS,
    ExactStep,
    NumericStep,
    SmoothClassMarginStep,
    SmoothMarginStep,
)
from crucial.boosting.stumps import StumpLearner, VoteLearner
from crucial.boosting.trees import (
    Sampling,
    TreeLearner,
    TreeLimits,
    UnitTreeLearner,
    gains_of_pairs,
)
from crucial.data.arrays import as_array
from crucial.data.instances import CodedTable, Encodings, Instances
from crucial.errors import (
    DataError,
    NoPairError,
    NoProgressWarning,
    NotSeparableWarning,
    ParameterError,
)
from crucial.feedback.base import Feedback, smoothing_of
from crucial.feedback.labels import LabelFeedback, QueryWeight, check_labels_of_weights
from crucial.feedback.pairs import (
    PairFeedback,
    add_feedback,
    check_judge_weights,
    check_judges,
    judge_parts,
)
from crucial.kernels.runtime import count_threads
from crucial.measures.names import Measures
from crucial.model.additive import AdditiveRanker, scores_of_rows
from crucial.parameters import (
    Rule,
    anything,
    at_least,
    between,
    described,
    either,
    fixed,
    flag,
    function,
    int_between,
    lookup,
    none_or,
    one_of,
    parameter,
    parameters_of,
    plain,
    refuse,
    with_parameters,
)
from crucial.rankers.base import (
    BALANCE,
    MAX_BINS,
    RANDOM_STATE,
    EvalRows,
    EvalSet,
    RandomState,
    RankingInput,
    RoundRanker,
    documented,
    warn_caller,
    warn_ignored,
)
from crucial.rankers.classifiers import ClassSums, check_one_list_of_two, make_classifier
from crucial.rankers.registry import PRESETS
from crucial.rankers.resampling import MOST_BAGS, FoldCurves, LoopInput, Refits, fit_bags, fit_folds
from crucial.types import Floats, TableLike, VectorLike

#: Rounds of the trial that chooses pairs of features. Fixed, so that warm starts choose the same.
TRIAL_ROUNDS = 100

# --- Base class of the boosting estimators: from input to ensemble


#: What makes a boosting algorithm: an objective, a weak learner and a step rule.
Algorithm: TypeAlias = tuple[Objective, WeakLearner, StepRule]


@with_parameters
class BoostedRanker(RoundRanker[AdditiveRanker]):
    """Base of the boosting estimators: a subclass names its parts in `_parts`.

    Attributes
    ----------
    model_ : AdditiveRanker
        What predict uses: the best rounds, if an eval set decided which.
    ensemble_ : AdditiveRanker
        All rounds.
    fold_curves_ : FoldCurves
        With ``validation_folds``: the measure on every fold after every round.
    """

    #: The risk that the product of all Z bounds, "R1" or "R2"; None for a loss that bounds
    #: no share of pairs.
    bounded_risk: ClassVar[str | None] = None
    #: Whether y may have one column per judge.
    takes_judges: ClassVar[bool] = False

    n_estimators: int = parameter(at_least(1), "Rounds.", default=300, kw_only=False)
    learning_rate: float | None = parameter(
        between(0, 1, low_open=True),
        "Factor on every weight, in (0, 1]. The papers use 1.",
        default=0.3,
        kw_only=False,
        grid=(0.1, 0.3, 1.0),
    )
    balance: str = BALANCE
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
    n_bags: int = parameter(
        int_between(1, MOST_BAGS),
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

    random_state: RandomState = RANDOM_STATE
    warm_start: bool = parameter(
        flag,
        "Continue the ensemble of the last fit, on the same data, up to n_estimators; after a fit "
        "without warm_start begin anew. random_state must be an int.",
        default=False,
        shapes_model=False,
    )

    #: Fingerprint of the data and parameters of a fit, and the rounds that it made.
    _fitted_on: tuple[str, Trace] | None = None
    #: Seed of thresholds that several runs share; None where each draws its own.
    _threshold_seed: int | None = None
    #: Pairs of features that several runs share; None where each chooses its own.
    _shared_pairs: list[tuple[int, int]] | None = None

    def _parts(self, feedback: Feedback) -> Algorithm:
        """Return the objective, the weak learner and the step rule that make the algorithm."""
        raise NotImplementedError

    def _constraints(self, instances: Instances) -> Constraints:
        """Return what the weights must obey, and the learning rate."""
        assert self.learning_rate is not None
        return Constraints(rate=self.learning_rate)

    def _perfect(self, feedback: Feedback) -> tuple[float, bool]:
        """Return how step rules treat a perfect weak ranker: smoothing, and whether to stop."""
        return smoothing_of(feedback.total), self.on_perfect == "stop"

    def _drawn_by(self, thresholds: str) -> int | None:
        """Return the seed of thresholds that are drawn; None for quantiles."""
        if thresholds == "quantiles":
            return None
        return self._seed() if self._threshold_seed is None else self._threshold_seed

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.warm_start and not isinstance(self.random_state, Integral):
            raise ParameterError(
                "warm_start continues with the random numbers of the last fit, and needs an "
                f"integer as random_state. Got {self.random_state!r}.",
                parameter="random_state",
                value=self.random_state,
            )

    # -- fitting ------------------------------------------------------------------

    @documented
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
        y : array of shape (n_rows,), or (n_rows, n_judges)
            Labels: two values, grades, real numbers, or a strict order. `RankBoost`,
            `RankBoostPlus` and `SmoothMarginRanker` also take one column per judge, and learn
            from the sum of all judges' pairs; NaN where a judge did not label a row. Labels of
            different judges are never compared.
        """
        data = self._judged_input(X, y, judge_weight, qid, sample_weight, query_weight)
        return self._fit(data, self._eval_rows(data, eval_set, eval_qid))

    @documented
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
        """Learn from explicit pairs, and from labels too where y is given."""
        check_labels_of_weights(y, sample_weight, query_weight)
        data = self._judged_input(
            X, y, judge_weight, qid, sample_weight, query_weight, needs_y=False
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
        return self._fit(data, self._eval_rows(data, eval_set, eval_qid), explicit)

    def _fit(
        self, data: RankingInput, eval_rows: EvalRows | None, explicit: PairFeedback | None = None
    ) -> Self:
        """Make the feedback, run the loop and keep what it made."""
        self._check_resampling(data, eval_rows is not None, explicit is not None)
        for name in ("fold_curves_", "feature_pairs_"):
            vars(self).pop(name, None)
        seed = self._seed()
        if self.n_bags > 1 or self.validation_folds is not None:
            return self._fit_resampled(data, eval_rows, seed)
        watch, data = self._stopping(data, eval_rows, seed)
        feedback, instances = self._feedback(data, explicit), data.instances
        fingerprint = self._fingerprint(instances, feedback)
        rounds = self.n_estimators
        earlier = self._earlier_rounds(fingerprint, rounds)
        training = TrainingRows(
            instances, feedback.rows, feedback.weight, data.groups, count_threads(self.n_jobs)
        )
        with show_rounds(rounds, self.verbose) as shown:
            progress = with_callbacks(shown, rounds, self.callbacks, replayed=len(earlier))
            run = LoopInput(training, feedback, seed, rounds, progress, earlier, watch)
            ensemble = self._boost(run)
        self._set_fitted(ensemble, instances, feedback, watch, data.with_qid)
        self._note_data(fingerprint)
        return self

    def fit_prepared(self, opened: AbstractContextManager[Any]) -> Self:
        """Fit rows that are not in a table of this process, such as those on a cluster.

        Parameters
        ----------
        opened : context manager
            Opens the rows, a `PartedTraining`, once the parameters are checked.
        """
        self._check_parameters()
        for name in ("fold_curves_", "feature_pairs_"):
            vars(self).pop(name, None)
        seed, rounds = self._seed(), self.n_estimators
        with opened as rows:
            watch = rows.watch(self, seed)
            feedback = rows.feedback(self.balance, self.gain)
            training = rows.training(feedback, count_threads(self.n_jobs))
            instances, earlier = training.instances, rows.earlier
            self._learn_columns(instances)
            self._encodings = Encodings(times=dict(instances.times or {}))
            progress = with_callbacks(rows.progress, rounds, self.callbacks, replayed=len(earlier))
            run = LoopInput(training, feedback, seed, rounds, progress, earlier, watch)
            ensemble = self._boost(run)
            self._set_fitted(ensemble, instances, feedback, watch, rows.with_qid)
        return self

    def _fit_resampled(self, data: RankingInput, eval_rows: EvalRows | None, seed: int) -> Self:
        """Run the loop on bags or folds, and keep what it made."""
        watch = None
        if self.n_bags > 1 and eval_rows is None and self.early_stopping_rounds is not None:
            self._check_judge(data)
        refits = Refits(self, data, eval_rows)
        fingerprint = self._fingerprint(refits.instances, refits.feedback)
        bags: list[list[Round]] = [[] for _ in range(self.n_bags)]
        if self._earlier_rounds(fingerprint, self.n_bags * self.n_estimators):
            bags = list(self._bag_runs)
        runs = self.n_bags if self.validation_folds is None else self.validation_folds + 1
        with show_rounds(runs * self.n_estimators, self.verbose) as progress:
            if self.n_bags > 1:
                ensemble, watch = fit_bags(refits, self, bags, seed, progress)
            else:
                ensemble, self.fold_curves_ = fit_folds(refits, self, seed, progress)
        self._set_fitted(ensemble, refits.instances, refits.feedback, watch, refits.with_qid)
        if self.warm_start:
            self._bag_runs: list[list[Round]] = bags
        self._note_data(fingerprint)
        return self

    def _boost(self, run: LoopInput) -> Ensemble:
        """Run the loop; an algorithm with a loop of its own replaces this."""
        objective, learner, step = self._parts(run.feedback)
        if isinstance(learner, TreeLearner) and run.rounds > len(run.earlier):
            pairs = self._chosen_pairs(run, objective, learner, step)
            if pairs is not None:
                learner.pairs, self.feature_pairs_ = set(pairs), pairs
        followed = {"watch": run.watch, "progress": run.progress, "earlier": run.earlier}
        return self._loop(
            run, objective, learner, step, run.rounds, record_risks=self.record_risks, **followed
        )

    def _loop(
        self,
        run: LoopInput,
        objective: Objective,
        learner: WeakLearner,
        step: StepRule,
        rounds: int,
        **followed: Any,
    ) -> Ensemble:
        """Run the loop with given parts for some rounds; further arguments as of `boost`."""
        constraints, drawn = self._constraints(run.training.instances), self.subsample
        how = {"constraints": constraints, "subsample": drawn, "seed": run.seed, **followed}
        return boost(run.training, run.feedback, objective, learner, step, rounds=rounds, **how)

    def _chosen_pairs(
        self, run: LoopInput, objective: Objective, learner: TreeLearner, step: StepRule
    ) -> list[tuple[int, int]] | None:
        """Return the pairs of features that trees may combine; None without a limit."""
        if learner.limits.max_pairs is None:
            return None
        if self._shared_pairs is not None:
            return self._shared_pairs
        if learner.limits.max_pairs == 0:
            return []
        # (copies: a trial must leave no trace in the parts)
        trial = self._loop(run, objective, copy(learner), copy(step), TRIAL_ROUNDS)
        return list(gains_of_pairs(trial.rankers))[: learner.limits.max_pairs]

    # -- feedback: labels of one judge or several, and explicit pairs ---------------

    def _judged_input(
        self, X: TableLike, y: VectorLike | None, judge_weight: VectorLike | None, *rest: Any,
        needs_y: bool = True,
    ) -> RankingInput:  # fmt: skip
        """Check the arguments of a fit; labels of several judges have a second axis.

        The rest are qid, sample_weight and query_weight.
        """
        shape = () if y is None else as_array(y, "y").shape
        several = len(shape) == 2 and shape[1] > 1
        if judge_weight is not None and not several:
            raise DataError(
                "judge_weight weighs the columns of y, one per judge, and y has no second one.",
                parameter="judge_weight",
            )
        if not several:
            return self._input(X, y, *rest, needs_y=needs_y)
        assert y is not None
        if not self.takes_judges:
            raise DataError(
                f"y should be a 1d array: {type(self).__name__} learns from the labels of one "
                f"judge, and y has {shape[1]} columns.",
                remedy="RankBoost, RankBoostPlus and SmoothMarginRanker add up several judges.",
                parameter="y",
            )
        data = self._input(X, None, *rest, needs_y=False)
        labels = check_judges(y, data.instances.n_rows)
        weight = check_judge_weights(judge_weight, labels.shape[1])
        return self._with_numbers(replace(data, labels=labels, judge_weight=weight))

    def _feedback(self, data: RankingInput, explicit: PairFeedback | None = None) -> Feedback:
        """Return the pairs of labels, of one judge or several, and explicit ones.

        A judge whose labels imply no pair adds nothing, nor do such labels beside explicit pairs.
        """
        labels: list[LabelFeedback] = []
        factors = np.ones(1)
        if data.judge_weight is not None:
            judges = judge_parts(
                data.known_labels,
                data.weight,
                lambda column, mass: self._label_feedback(
                    replace(data, labels=column, weight=mass)
                ),
            )
            labels, factors = [*judges.values()], data.judge_weight[[*judges]]
            if not labels and explicit is None:
                raise NoPairError("No comparable pair: no judge gives two rows different labels.")
        elif data.labels is not None:
            with nullcontext() if explicit is None else suppress(NoPairError):
                labels = [self._label_feedback(data)]
            if explicit is None and self.contradictions == "keep":
                return labels[0]
        return add_feedback(labels, factors, explicit, self.contradictions)

    def _label_feedback(self, data: RankingInput) -> LabelFeedback:
        """Return the pairs that labels imply; an algorithm that leaves some out replaces this."""
        return data.label_feedback(self.balance, self.gain)

    # -- what a fit leaves behind ---------------------------------------------------

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
            scores = ensemble.scores
            if best != len(trace) or len(scores) != len(feedback.rows):
                scores = scores_of_rows(self.model_, instances)[feedback.rows]
            self._classes = ClassSums.of(feedback, scores)

    def _best_round(self, trace: Trace, watch: Watch | None) -> int:
        """Return how many rounds ``model_`` has: as the eval set decides, or all."""
        return len(trace) if watch is None else watch.best_round

    def _remedy(self, instances: Instances, weight: Floats | None) -> str:
        """Return the remedy where no round could be made; empty if none is known."""
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

    def _figures(self) -> dict[str, object]:
        """Return what the training summary says of folds and pairs of features."""
        curves: FoldCurves | None = getattr(self, "fold_curves_", None)
        figures: dict[str, object] = {} if curves is None else {"folds": curves.summary()}
        if hasattr(self, "feature_pairs_"):
            figures["feature_pairs"] = [list(pair) for pair in self.feature_pairs_]
        return figures

    def _check_resampling(self, data: RankingInput, has_eval_set: bool, has_pairs: bool) -> None:
        """Refuse what does not go with bags or folds."""
        name = "n_bags" if self.n_bags > 1 else "validation_folds"
        if has_pairs and (self.n_bags > 1 or self.validation_folds is not None):
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
        if data.judge_weight is not None:
            raise DataError(
                "validation_folds with several judges would hold out rows of several labels each; "
                "use eval_set=(X, y)."
            )

    # -- warm starts: continue an earlier fit on the same data -----------------------

    def _fingerprint(self, instances: Instances, feedback: Feedback) -> str | None:
        """Return a hash of everything that a fit depends on; None without ``warm_start``."""
        if not self.warm_start:
            return None
        free = {p.name for p in parameters_of(self).values() if not p.shapes_model} | {
            "n_estimators"
        }
        same = {k: v for k, v in self.get_params().items() if k not in free}
        return _hashed(instances, feedback, same)

    def _earlier_rounds(self, fingerprint: str | None, rounds: int) -> Sequence[Round]:
        """Return the rounds of the last fit, to be continued.

        None where that fit is not known to be of the same data: it was without ``warm_start``, or
        this one is. Other data than those of a fit with ``warm_start`` are refused.
        """
        last = self._fitted_on
        # (a fit without warm_start, or on a cluster, has replaced the rounds and noted nothing)
        if fingerprint is None or last is None or last[1] is not vars(self)["trace_"]:
            return ()
        before, earlier = last
        if before != fingerprint:
            raise DataError(
                "warm_start continues on the data and parameters of the last fit, and these are "
                "others. Set warm_start=False to begin anew."
            )
        if rounds < len(earlier):
            raise ParameterError(
                f"warm_start: n_estimators={rounds} is less than the {len(earlier)} "
                "rounds there are; use truncate(n) for fewer."
            )
        return list(earlier)

    def _note_data(self, fingerprint: str | None) -> None:
        """Remember what the model was fitted on, once there is one."""
        self._fitted_on = None if fingerprint is None else (fingerprint, vars(self)["trace_"])


def _hashed(instances: Instances, feedback: Feedback, parameters: Mapping[str, object]) -> str:
    """Return a hash of rows, pairs and parameters."""
    digest = hashlib.blake2b(digest_size=16)
    table = instances.table
    # At scores of no pattern, since at equal ones other pairs may have the same potentials.
    scores = np.random.default_rng(0).random(feedback.n_rows)
    arrays: list[Any] = [feedback.potentials(scores), feedback.rows, np.array(feedback.total)]
    if feedback.weight is not None:
        arrays.append(feedback.weight)
    if isinstance(table, CodedTable):
        arrays += table.arrays()
    else:
        arrays += [table.data, table.indices, table.indptr] if instances.is_sparse else [table]
    for array in arrays:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    for name, value in sorted(parameters.items()):
        # (the repr of a long array leaves its middle out)
        written = value.tolist() if isinstance(value, np.ndarray) else plain(value)
        digest.update(f"{name}={written!r};".encode())
    return digest.hexdigest()


# --- Base of the estimators whose weak rankers are stumps or trees, or others that users choose


_METHODS = ("prepare", "propose", "accept")
_WEAK_LEARNER = Rule(
    ("an object with prepare, propose and accept",),
    ("object",),
    lambda value: any(hasattr(value, name) for name in _METHODS),
)
#: Words on trees, to end the description of ``weak``.
TREES = (
    "or trees of at most ``max_leaves`` leaves, to which ``max_depth``, ``min_rows``, ``l2``, "
    "``interactions``, ``max_pairs``, ``subsample_rows`` and ``max_features`` apply too"
)
_TREE_BINS = int_between(2, 255)


#: The score of abstentions, and where a feature's thresholds are.
DEFAULT_RANK: Any = parameter(
    one_of("learned", 0, 1),
    "Score of a stump where its feature abstains (``q_def``).",
    default="learned",
)
THRESHOLDS: Any = parameter(
    one_of("quantiles", "random"),
    "Which thresholds a feature keeps that has more than fit in ``max_bins``: weighted "
    "quantiles, or ``max_bins - 1`` of them drawn at random (Connamacher et al. 2019, who "
    "draw 255), seeded by random_state.",
    default="quantiles",
)
#: Allows any finite number.
_ANY_NUMBER = Rule(("a finite number",), ("float",), between(-math.inf, math.inf).accepts)
#: ``weak`` and ``default_rank`` of estimators that let users choose the weak rankers.
ANY_WEAK: Any = parameter(
    either(one_of("stump", "tree", "feature", "column"), _WEAK_LEARNER),
    "Weak rankers: stumps; features scaled to [0, 1]; columns that are weak rankers already; "
    f"a weak learner of your own; {TREES}.",
    default="stump",
)
ANY_DEFAULT_RANK: Any = parameter(
    either(one_of("learned", 0, 1), _ANY_NUMBER),
    "Score of a weak ranker where its feature abstains (``q_def``): 0, 1, or the better of "
    'both. With ``weak="feature"`` or ``"column"`` any number in [0, 1]; with '
    '``step="numeric"`` any number at all.',
    default="learned",
)
#: Parameters that apply to trees alone.
_OF_TREES = (
    "max_leaves", "max_depth", "symmetric", "min_rows", "l2", "interactions", "max_pairs",
    "subsample_rows", "max_features",
)  # fmt: skip


@with_parameters
class StumpRanker(BoostedRanker):
    """Base of estimators that boost stumps or trees, which may be constrained.

    Attributes
    ----------
    feature_pairs_ : list of (int, int)
        With ``max_pairs``: the pairs of features that trees may combine, largest gain first.
    """

    learning_rate: float | None = parameter(
        none_or(between(0, 1, low_open=True)),
        "Factor on every weight, in (0, 1]. The papers use 1. None: 0.3, and 0.1 for trees.",
        default=None,
        kw_only=False,
    )
    positive_weights: str | None = parameter(
        one_of(None, "cumulative"),
        '"cumulative": the summed weight of every stump stays positive, for features known to '
        "point up.",
        default=None,
    )
    max_leaves: int | None = parameter(
        none_or(at_least(2)),
        "Leaves of a tree. None: 2 with interactions=1, 4 with interactions=2, else 16.",
        default=None,
    )
    max_depth: int | None = parameter(
        none_or(at_least(1)), "Depth of a tree; None for any.", default=None
    )
    symmetric: bool = parameter(
        flag,
        "Split all leaves of a level by the same test, as CatBoost does: log2(max_leaves) tests "
        "per tree, each chosen by all rows, which bears more leaves on little data. False: split "
        "leaf by leaf, where it gains most.",
        default=True,
    )
    min_rows: float = parameter(
        between(0, math.inf), "Least weight of the rows of a leaf.", default=1.0
    )
    l2: float = parameter(
        between(0, math.inf),
        "Makes the values of leaves smaller, small leaves most: curvature that every leaf has "
        "beside that of its rows, in average rows.",
        default=200.0,
    )
    interactions: int | None = parameter(
        one_of(None, 1, 2),
        "Most features of one tree: 1 makes a sum of functions of one feature each, 2 of one and "
        "two features, None has no limit.",
        default=None,
    )
    max_pairs: int | None = parameter(
        none_or(at_least(0)),
        "With interactions=2: most pairs of features, those whose trees gain most in a trial of "
        "100 rounds with all pairs. Bags share theirs; 0 is interactions=1.",
        default=None,
    )
    subsample_rows: float = parameter(
        between(0, 1, low_open=True), "Share of the rows that each tree is grown on.", default=1.0
    )
    max_features: float = parameter(
        between(0, 1, low_open=True), "Share of the features that each tree may use.", default=1.0
    )
    thresholds: str = THRESHOLDS
    default_rank: str | float = DEFAULT_RANK
    max_bins: int | None = MAX_BINS
    monotone_constraints: Any = parameter(
        anything("sequence or mapping"),
        "1, -1 or 0 per feature (or feature name: 1): the score never falls (never rises) where "
        "the feature grows. The score of an abstention is not constrained.",
        default=None,
    )
    weak: str | WeakLearner = parameter(
        one_of("stump", "tree"), f"Weak rankers: stumps, {TREES}.", default="stump"
    )

    def _takes_bins(self) -> bool:
        return isinstance(self.weak, str) and self.weak in ("stump", "tree")

    def _constraints(self, instances: Instances) -> Constraints:
        signs = monotone_signs(type(self).__name__, self.monotone_constraints, instances)
        rate = self._default_rate() if self.learning_rate is None else self.learning_rate
        return Constraints(self.positive_weights == "cumulative", signs, rate)

    def _default_rate(self) -> float:
        """Return the learning rate where none is set."""
        return 0.1 if self.weak == "tree" else 0.3

    def _check_combinations(self) -> None:
        self._check_weak()
        if self.weak == "tree" and self.positive_weights is not None:
            raise ParameterError(
                f"{type(self).__name__}: positive_weights is about stumps, and trees have values "
                "of either sign; with weak='tree' use monotone_constraints."
            )

    def _check_weak(self, also: tuple[str, ...] = ()) -> None:
        """Refuse parameters that do not apply to the weak rankers.

        Parameters
        ----------
        also : names of further parameters that apply to trees alone
        """
        owner, known = type(self).__name__, parameters_of(self)
        if self.weak != "tree":
            for name in (*_OF_TREES, *also):
                value, default = getattr(self, name), known[name].default
                changed = value is not None if default is None else value != default
                if changed and not self._takes(name):
                    raise ParameterError(
                        f"{owner}: {name} is for weak='tree', and weak is {self.weak!r}. Set "
                        f"weak='tree', or leave {name} at {default!r}."
                    )
            return
        if not _TREE_BINS.accepts(self.max_bins):
            rule = f"{_TREE_BINS.wording} with weak='tree'"
            raise refuse(owner, "max_bins", rule, self.max_bins)
        if self.default_rank != "learned":
            rule = "'learned' with weak='tree', where an abstention takes a branch of its own"
            raise refuse(owner, "default_rank", rule, self.default_rank)

    def _takes(self, name: str) -> bool:
        """Return whether a parameter of trees applies to other weak rankers too."""
        return False

    def _limits(self) -> TreeLimits:
        """Return how far a tree grows."""
        if self.max_pairs is not None and self.interactions != 2:
            raise ParameterError(
                f"{type(self).__name__}: max_pairs limits the pairs of features of trees with "
                f"interactions=2, and interactions is {self.interactions}. Set interactions=2, or "
                "leave max_pairs at None."
            )
        return TreeLimits(
            self._leaves(),
            self.max_depth,
            self.min_rows,
            self.l2,
            self.interactions,
            self.max_pairs,
            self.symmetric,
        )

    def _leaves(self) -> int:
        """Return the most leaves of a tree: few where it must be readable."""
        if self.max_leaves is not None:
            return self.max_leaves
        if self.interactions is None:
            return 16
        return 2 if self.max_pairs == 0 else 2 * self.interactions

    def _remedy(self, instances: Instances, weight: Floats | None) -> str:
        """Return the remedy where no tree could be grown; empty if none is known."""
        if self.weak != "tree" and not self._takes("min_rows"):
            return ""
        if weight is not None and weight.sum() < 2 * self.min_rows <= instances.n_rows:
            return (
                f" The weights of the rows add up to {weight.sum():.3g}, and two leaves need "
                f"min_rows={self.min_rows:g} each: multiply the weights, or set min_rows lower."
            )
        if 2 * self.min_rows <= instances.n_rows:
            return ""
        return (
            f" {instances.n_rows:,} rows do not fill two leaves of min_rows={self.min_rows:g}: set "
            "min_rows lower."
        )

    def _stump_learner(self, choice: str = "steepest") -> StumpLearner:
        """Make the learner of stumps, with a rule of choice."""
        rank = self.default_rank if isinstance(self.default_rank, str) else int(self.default_rank)
        return StumpLearner(choice, rank, self.max_bins, self._drawn_by(self.thresholds))

    def _trees(self) -> TreeLearner:
        """Make the learner of trees whose values are Newton steps."""
        return TreeLearner(*self._growth(), drawn_by=self._drawn_by(self.thresholds))

    def _unit_trees(self, votes: bool = False) -> UnitTreeLearner:
        """Make the learner of trees that a step rule weighs."""
        learner = UnitTreeLearner(*self._growth(), drawn_by=self._drawn_by(self.thresholds))
        learner.votes = votes
        return learner

    def _growth(self) -> tuple[TreeLimits, int, Sampling]:
        """Return how trees grow, their bins per feature, and what they see of the data."""
        assert self.max_bins is not None
        sampling = Sampling(self.subsample_rows, self.max_features, self._seed())
        return self._limits(), self.max_bins, sampling

    def _check_default(self, step: str, scores: str) -> None:
        """Refuse a score of abstentions that the weak rankers or the step rule cannot have."""
        if self.default_rank == "learned" or not isinstance(self.weak, str):
            return
        owner, shown = type(self).__name__, self.default_rank
        if self.weak == "stump" and self.default_rank not in (0, 1):
            rule = "one of 'learned', 0, 1 with weak='stump'"
            raise refuse(owner, "default_rank", rule, shown, "weak='feature' takes any number.")
        if scores != "any" and not 0 <= float(self.default_rank) <= 1:
            any_scores = [repr(name) for name, one in STEPS.items() if one.scores == "any"]
            remedy = f"step={' or '.join(any_scores)} takes any number."
            rule = f"'learned' or in [0, 1] with step={step!r}"
            raise refuse(owner, "default_rank", rule, shown, remedy if owner == "RankBoost" else "")

    def _check_choice(self, choice: str) -> None:
        """Refuse a rule of choice for trees, which have their own."""
        default = parameters_of(self)["choice"].default
        if self.weak == "tree" and choice != default:
            raise ParameterError(
                f"{type(self).__name__}: choice={choice!r} is about stumps and features; with "
                f"weak='tree', whose trees are grown by what their splits gain, leave it at "
                f"{default!r}."
            )

    def _weak_learner(self, choice: str = "steepest") -> WeakLearner:
        """Make the weak learner that ``weak`` names, with a rule of choice."""
        if isinstance(self.weak, str):
            if self.weak == "stump":
                return self._stump_learner(choice)
            if self.weak == "tree":
                return self._unit_trees()
            kind = FeatureLearner if self.weak == "feature" else ColumnLearner
            return kind(choice, self.default_rank)
        check_methods("weak learner", self.weak, WeakLearner, _METHODS)
        # A copy: what a learner keeps of the data must not end up in a parameter.
        return CheckedLearner(deepcopy(self.weak))


@with_parameters
class ClassRanker(StumpRanker):
    """Base of estimators that learn from one list of two classes, row by row."""

    monotone_constraints: Any = parameter(
        text="For trees: 1, -1 or 0 per feature (or feature name: 1): the score never falls (never "
        "rises) where the feature grows. The score of an abstention is not constrained.",
        default=None,
    )
    validation_fraction: float = parameter(
        text="Share of the rows held out for early stopping where no eval set is given.",
        default=0.2,
    )
    record_risks: bool = parameter(
        text="Record R1 and R2 on the pairs of a good and a bad row in the trace, every round.",
        default=False,
    )
    # There are no pairs to be weighed or to contradict each other.
    balance: str = fixed(default="pairs")
    gain: None = fixed(default=None)
    contradictions: str = fixed(default="keep")
    n_bags: int = fixed(default=1)
    positive_weights: str | None = fixed(default=None)

    def _needs_two_labels(self) -> bool:
        return True


def monotone_signs(owner: str, constraints: Any, instances: Instances) -> NDArray[np.int8] | None:
    """Return monotone constraints as -1, 0 or 1 per feature.

    Parameters
    ----------
    owner : str
        Whose parameter it is, for messages.
    constraints : sequence of one per feature, mapping from feature number or name, or None
    """
    if constraints is None or (isinstance(constraints, Mapping) and not constraints):
        return None
    n = instances.n_features
    values: list[Any]
    if isinstance(constraints, Mapping):
        values = [0] * n
        keys = list(constraints)
        if instances.names is None and any(isinstance(k, str) for k in keys):
            raise DataError(
                "monotone_constraints calls features by name, but X has no feature names; "
                "use their numbers."
            )
        by_name = all(isinstance(k, str) for k in keys)
        where = instances.columns_of(keys, "monotone_constraints: ") if by_name else keys
        for at, key in zip(where, keys):
            if not isinstance(at, int | np.integer) or not 0 <= at < n:
                raise DataError(f"monotone_constraints: there is no feature {key!r}.")
            values[at] = constraints[key]
    else:
        values = list(constraints) if np.iterable(constraints) else []
    if len(values) != n or not all(np.ndim(v) == 0 and v in (-1, 0, 1) for v in values):
        rule = f"one of -1, 0, 1 for each of the {n} features"
        raise refuse(owner, "monotone_constraints", rule, constraints)
    return np.array(values, np.int8)


# --- RankBoost, as a scikit-learn estimator


@with_parameters
class RankBoost(StumpRanker):
    """Learn one ranking from many opinions (Freund, Iyer, Schapire & Singer 2003).

    Every feature is an opinion: it ranks the rows it has a value for and abstains where
    it is NaN. Labels or pairs say what should rank above what. The ranker is a weighted
    sum of stumps ``[feature > threshold]``, one per round, chosen to minimise the
    exponential loss over all pairs; the pairs that labels imply are never listed.

    With ``weak="tree"`` a round adds a tree that is grown on the potentials and the curvature of
    the loss; its weight, by method 1 of the paper, minimises Z. The bound is the same: the
    product of all Z is never less than the share of misordered pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import RankBoost
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = RankBoost(n_estimators=20).fit(X, [2, 1, 0, 1, 0], qid=["a", "a", "a", "b", "b"])
    >>> ranker.rank(X, qid=["a", "a", "a", "b", "b"]).tolist()
    [1, 2, 3, 1, 2]
    """

    bounded_risk = "R1"
    takes_judges = True

    choice: str = parameter(
        one_of("steepest", "steepest_positive", "largest_drop"),
        "Which weak ranker: largest ``|r|``, largest ``r``, or smallest Z at its best weight. "
        "Trees are grown by what their splits gain.",
        default="steepest",
    )
    step: str | None = parameter(
        one_of(None, *STEPS),
        f'Its weight. {described(STEPS)} By default "bound", and "numeric" for trees.',
        default=None,
    )
    positive_weights: str | None = parameter(
        text='"cumulative": the summed weight of every stump stays positive, for features known '
        "to point up (the paper's ``.cum`` variants).",
        default=None,
    )
    weak: str | WeakLearner = ANY_WEAK
    default_rank: str | float = ANY_DEFAULT_RANK

    @classmethod
    def preset(cls, name: str, **changes: Any) -> RankBoost:
        """Return a paper's RankBoost by name; ``changes`` override its parameters.

        Examples
        --------
        >>> RankBoost.preset("rb_c.eq13", n_estimators=200)
        RankBoost(choice='steepest_positive', learning_rate=1.0, n_estimators=200,
                  step='bound', stopping_tolerance=0.0)
        """
        return cls(**{**lookup(PRESETS, name, "preset"), **changes})

    def _parts(self, feedback: Feedback) -> Algorithm:
        step = STEPS[self._method](*self._perfect(feedback))
        return ExponentialLoss(), self._weak_learner(self.choice), step

    @property
    def _method(self) -> str:
        """The step rule's name."""
        if self.step is not None:
            return self.step
        return "numeric" if self.weak == "tree" else "bound"

    def _check_combinations(self) -> None:
        super()._check_combinations()
        if self.weak in ("feature", "tree") and STEPS[self._method].scores == "binary":
            others = [f"step={name!r}" for name, one in STEPS.items() if one.scores != "binary"]
            raise ParameterError(
                f"step={self.step!r} needs weak rankers of 0 and 1; with weak={self.weak!r} use "
                f"{' or '.join(others)}."
            )
        self._check_choice(self.choice)
        if not isinstance(self.weak, str) and self.choice == "largest_drop":
            raise ParameterError(
                "choice='largest_drop' needs weak='stump', 'feature' or 'column': a weak learner "
                "of your own chooses by itself."
            )
        self._check_default(self._method, STEPS[self._method].scores)


# --- Boosting with the logistic loss over pairs, as a scikit-learn estimator


@with_parameters
class LogisticRanker(StumpRanker):
    """RankBoost's loop under the logistic loss, RankNet's (Burges et al. 2005).

    A pair costs ``ln(1 + e^-(H(hi) - H(lo)))``. Where a pair is badly wrong this grows like
    the margin and not like its exponential, so that wrong labels and rows that cannot be
    helped draw less attention than in RankBoost.

    The price is time: a round looks at every pair of a query, which is little for queries of
    some hundred rows; queries of more than 2^24 pairs are summed up by interpolation, in O(n)
    times the range of the scores and with an error below 1e-11 of their weight. Pairs are never
    stored.

    Attributes
    ----------
    trace_ : Trace
        What happened in every round. Its loss is the mean of log2(1 + e^-margin): 1 at
        equal scores, and never below R1.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial.rankers import LogisticRanker
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = LogisticRanker(n_estimators=20)
    >>> ranker = ranker.fit(X, [2, 1, 0, 1, 0], qid=["a", "a", "a", "b", "b"])
    >>> ranker.rank(X[:3], ["a"] * 3).tolist()
    [1, 2, 3]
    """

    bounded_risk = "R1"

    step: str = parameter(
        one_of(*LINE_STEPS),
        f"Weight of a stump or tree. {described(LINE_STEPS)} Each step towards the minimum visits "
        "all pairs again; method 3 lowers this loss too (Collins, Schapire & Singer 2002) and is "
        "cheaper, but takes shorter steps and needs several times as many rounds.",
        default="exact",
    )

    def _parts(self, feedback: Feedback) -> Algorithm:
        return LogisticLoss(), self._weak_learner(), LINE_STEPS[self.step](*self._perfect(feedback))


# --- The p-norm push, as a scikit-learn estimator


# Rudin's experiments go up to 64; a hundred times the p-norm is the maximum but for a few per
# cent (n^(1/100) is 1.1 for a thousand negatives and 1.15 for a million).
MAX_P = 100.0


@with_parameters
class _Exponent:
    # A class of its own, so that p is the first positional parameter.

    p: float = parameter(
        between(
            1,
            MAX_P,
            remedy="For the limit of large p use InfinitePush, which minimises the maximum itself.",
        ),
        "Power of the push, in [1, 100]. Its limit for large p, the infinite push, is another "
        "problem: `InfinitePush`.",
        default=4.0,
        kw_only=False,
    )


@with_parameters
class PNormPush(StumpRanker, _Exponent):
    """Rank with few mistakes at the very top of the list (Rudin 2009).

    RankBoost counts every misordered pair alike. The push sums, for each row, the cost of
    the rows that it is wrongly above, and raises that sum to the power p:
    ``sum_lo (sum_hi e^(H(lo) - H(hi)))^p`` over the rows lo and the rows hi of their query that
    should rank above them. One row that is wrongly above many costs far more than many that
    are above one each, so a large p improves the top of the list at the expense of the rest.
    ``p=1`` is RankBoost.

    Labels may be graded: a row is pushed down by all rows of its query with higher labels.
    A round costs O(n), as in RankBoost.

    Attributes
    ----------
    trace_ : Trace
        What happened in every round. Its loss is the p-norm, relative to that of equal scores.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial.rankers import PNormPush
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = PNormPush(p=8, n_estimators=20)
    >>> ranker = ranker.fit(X, [2, 1, 0, 1, 0], qid=["a", "a", "a", "b", "b"])
    >>> ranker.rank(X[:3], ["a"] * 3).tolist()
    [1, 2, 3]
    """

    step: str = parameter(
        one_of(*LINE_STEPS),
        f"Weight of a stump or tree. {described(LINE_STEPS)} The minimum is iterated, except for a "
        "stump, one query and two labels: ``ln(A1 B0 / (A0 B1)) / (p + 1)``. Method 3, ``ln((1 + "
        "r) / (1 - r)) / 2p``, is cheaper and more careful.",
        default="exact",
    )
    balance: str = parameter(
        text='Whether all pairs weigh the same at equal scores, or all queries do. With "pairs" '
        "a query of twice as many relevant rows counts 2^p times as much.",
        default="queries",
    )

    def _parts(self, feedback: Feedback) -> Algorithm:
        perfect = self._perfect(feedback)
        learner = self._weak_learner()
        if self.p == 1:  # RankBoost, and to the last bit
            exact = "numeric" if self.weak == "tree" else "exact"
            return ExponentialLoss(), learner, STEPS[self.step.replace("exact", exact)](*perfect)
        return PNormLoss(self.p), learner, LINE_STEPS[self.step](*perfect, power=self.p)


# --- Smooth margin ranking, as a scikit-learn estimator


@with_parameters
class SmoothMarginRanker(StumpRanker):
    """Boost the margin of the worst pair (Rudin & Schapire 2009, section 4.2).

    The margin of a pair is the difference of its scores over the sum of all weights; that
    of a ranker is its smallest. RankBoost need not reach the largest margin there is. This
    ranker begins as coordinate descent on RankBoost's loss until a smooth form G of the
    margin is above 0, so that every pair is in the right order, and then takes steps that
    never let G fall. Where the pairs cannot all be ordered right that moment never comes:
    the answer is coordinate descent's, and a warning says so.

    Weak rankers score in [0, 1]; a tree counts in the sum of the weights with what its values
    span. F counts the lightest pair as 1, so that G lies below the
    margin; a row of weight 2 counts as two rows.

    Attributes
    ----------
    separable_round_ : int or None
        The round after which G was above 0 for the first time.
    trace_ : Trace
        What happened in every round; ``trace_.column("smooth_margin")`` is G after it,
        ``trace_.column("margin")`` the smallest margin.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial.rankers import SmoothMarginRanker
    >>> X = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [0, 0, 1], [0, 0, 0]], float)
    >>> ranker = SmoothMarginRanker(n_estimators=200, weak="column").fit(X, [3, 2, 2, 1, 0])
    >>> ranker.separable_round_
    4
    >>> round(ranker.trace_[-1].extras["margin"], 3)
    0.192
    """

    bounded_risk = "R1"
    takes_judges = True

    choice: str = parameter(
        one_of("steepest_positive", "steepest"),
        "Which stump: largest ``r``, so that every weight is positive, as in the paper; or "
        "largest ``|r|``, as if each stump were there with its opposite too. Trees are grown by "
        "what their splits gain.",
        default="steepest_positive",
    )
    step: str = parameter(
        one_of("smooth", "line_search"),
        "Weight of a stump once G > 0: equation 12 of the paper (equation 11 for real-valued "
        "weak rankers), or the maximum of G along the stump, equation 10.",
        default="smooth",
    )
    learning_rate: float = parameter(
        text="Factor on every weight, in (0, 1]. G never falls at any rate; the paper's is 1.",
        default=1.0,
        kw_only=False,
    )
    weak: str | WeakLearner = ANY_WEAK
    default_rank: str | float = ANY_DEFAULT_RANK
    positive_weights: str | None = fixed(default=None)
    # G is about all pairs: on a draw of them it could fall, and a mean of runs has another.
    subsample: float = fixed(default=1.0)
    n_bags: int = fixed(default=1)

    def _parts(self, feedback: Feedback) -> Algorithm:
        learner = self._weak_learner(self.choice)
        step = SmoothMarginStep(feedback, self.step == "line_search", *self._perfect(feedback))
        return ExponentialLoss(), learner, step

    def _check_combinations(self) -> None:
        super()._check_combinations()
        self._check_choice(self.choice)
        self._check_default(self.step, SmoothMarginStep.scores)

    def _after_fit(self, ensemble: Ensemble, instances: Instances) -> None:
        trace = ensemble.trace
        self.separable_round_ = first_separable(trace)
        if self.separable_round_ is None and len(trace):
            what = "some pair is in the wrong order, or tied"
            if trace[-1].extras["margin"] > 0.0:
                what = "every pair is in the right order, but the weights are too small yet"
            hope = "More rounds may get there, if any ranker can."
            if trace.stopped:
                hope = f"The rounds ended by themselves: {trace.stopped}."
            if self.choice == "steepest_positive":
                hope += " choice='steepest' also uses features that point down."
            _warn_not_separable(trace, what, "RankBoost's coordinate descent", hope)


def first_separable(trace: Trace) -> int | None:
    """Return the round after which the smooth margin was above 0 for the first time."""
    reached = (n for n, one in enumerate(trace, 1) if one.extras["smooth_margin"] > 0.0)
    return next(reached, None)


def _warn_not_separable(trace: Trace, what: str, steps: str, hope: str) -> None:
    """Warn that the margin was never worked on, and say what might help."""
    warn_caller(
        f"after {len(trace)} rounds the smooth margin is {trace[-1].extras['smooth_margin']:.4g}, "
        f"not above 0 ({what}), so all steps were {steps}. {hope}",
        NotSeparableWarning,
    )


@with_parameters
class AdaBoostRanker(ClassRanker):
    """AdaBoost with the constant hypothesis, which ranks as RankBoost does.

    For labels of two values. Every row is an example ``y_i`` in {-1, 1} and the loss is the
    sum of ``exp(-y_i H(x_i))``, so that a round costs O(n) without any thought of pairs.
    With the constant among its hypotheses AdaBoost minimises RankBoost's objective too, and
    where the minimum exists both rank alike (Rudin & Schapire 2009, corollary 11 and
    theorem 12). The price: a round may go to the constant, which moves no rank.

    Hypotheses are RankBoost's stumps h as votes ``2 h - 1`` in {-1, 1}, weighted by
    ``.5 ln(W+ / W-)``, the exact minimum; with the constant they span the same ensembles as
    the stumps themselves. The steepest vote is also the one that lowers the loss most, so
    that there is no choice to make here between the two. With ``weak="tree"`` a hypothesis is a
    tree with real values, grown on the weights of the rows, whose own weight minimises the loss
    (confidence-rated predictions: Schapire & Singer 1999); its leaves include the constant.

    AdaBoost need not reach the largest margin ``min_i y_i H(x_i) / |lambda|_1`` there is.
    ``step="smooth"`` and ``"line_search"`` do: approximate coordinate ascent boosting and
    coordinate ascent boosting (Rudin, Schapire & Daubechies 2007), which maximise a smooth form
    ``G = -ln F / |lambda|_1`` of it once it is above 0. Where no sum of votes classifies all rows
    right that moment never comes, and a warning says so.

    Labels of more than two values, pairs and queries are refused: the equivalence does not
    hold there (one intercept cannot balance several queries), and `RankBoost` takes them.

    Attributes
    ----------
    model_ : AdditiveRanker
        What predict uses; constants are part of the scores and of no rank.
    trace_ : Trace
        What happened in every round: ``loss`` is F over its value at the start, ``f_skew``
        the F-skew ``F+ - F-`` (equation 15), which goes to 0. With ``step="smooth"`` or
        ``"line_search"``, ``smooth_margin`` is G and ``margin`` the smallest margin.
    separable_round_ : int or None
        The round after which G was above 0 for the first time; None for ``step="exact"``.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial.rankers import AdaBoostRanker
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = AdaBoostRanker(n_estimators=20).fit(X, [1, 1, 0, 1, 0])
    >>> ranker.score(X, [1, 1, 0, 1, 0])
    1.0
    >>> ranker.to_classifier().predict(X).tolist()
    [1, 1, 0, 1, 0]
    """

    step: str = parameter(
        one_of("exact", "smooth", "line_search"),
        "Weight of a vote: AdaBoost's, the minimum of the loss; or, once all rows are classified "
        "right with G > 0, steps that raise the smooth margin G: approximate coordinate ascent "
        "boosting in closed form, or coordinate ascent boosting by a line search.",
        default="exact",
    )
    default_rank: str | int = parameter(
        text="Score of a stump where its feature abstains; 0 becomes a vote of -1.",
        default="learned",
    )
    on_perfect: str = parameter(
        text="What to do in a round whose hypothesis errs nowhere, so that its best weight is "
        "infinite: smooth the weights by half a row, or stop before it.",
        default="smooth",
    )
    subsample: float = parameter(
        text="Share of the rows of each class that count in a round.", default=1.0
    )
    eval_metric: Measures | None = parameter(
        text='Measured on the eval set after every round; default: "auc".', default=None
    )

    def _parts(self, feedback: Feedback) -> Algorithm:
        check_one_list_of_two("AdaBoostRanker", feedback)
        perfect = smoothing_of(feedback.row_mass().total), self.on_perfect == "stop"
        tree = self.weak == "tree"
        step: StepRule = NumericStep(*perfect) if tree else ExactStep(*perfect)
        if self.step != "exact":
            step = SmoothClassMarginStep(feedback, self.step == "line_search", *perfect)
        learner: WeakLearner = (
            self._unit_trees(votes=True) if tree else VoteLearner(self._stump_learner())
        )
        return ClassificationLoss(), learner, step

    def _check_combinations(self) -> None:
        self._check_weak(("monotone_constraints",))
        if self.step != "exact" and self.subsample < 1.0:
            raise ParameterError(
                f"step={self.step!r} needs subsample=1: the smooth margin is about all rows, and "
                "on a draw of them it could fall."
            )

    def _after_fit(self, ensemble: Ensemble, instances: Instances) -> None:
        self.separable_round_: int | None = None
        if self.step == "exact" or not len(ensemble.trace):
            return
        self.separable_round_ = first_separable(ensemble.trace)
        if self.separable_round_ is None:
            what = f"the smallest margin is {ensemble.trace[-1].extras['margin']:.4g}"
            hope = "More rounds may get there, if any sum of votes classifies every row right."
            _warn_not_separable(ensemble.trace, what, "AdaBoost's", hope)
