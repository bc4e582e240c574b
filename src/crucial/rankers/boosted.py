"""Base of the boosting rankers: their weak rankers and constraints, from input to ensemble."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from copy import deepcopy
from dataclasses import replace
from typing import Any, ClassVar, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from crucial.boosting.loop import (
    Ensemble,
    Progress,
    Round,
    Trace,
    best_pairs,
    boost,
    show_rounds,
    with_callbacks,
)
from crucial.boosting.other_learners import CheckedLearner, ColumnLearner, FeatureLearner
from crucial.boosting.parts import (
    Constraints,
    Objective,
    StepRule,
    TrainingRows,
    WeakLearner,
    check_methods,
)
from crucial.boosting.steps import STEPS
from crucial.boosting.tree_growth import TreeLimits
from crucial.boosting.trees import Sampling, TreeLearner, UnitTreeLearner
from crucial.boosting.watch import Watch
from crucial.data.instances import Encodings, Instances
from crucial.errors import DataError, NoProgressWarning, ParameterError
from crucial.feedback.base import Feedback, smoothing_of
from crucial.feedback.labels import QueryWeight, check_labels_of_weights
from crucial.feedback.pairs import PairFeedback
from crucial.kernels.runtime import count_threads
from crucial.model.additive import AdditiveRanker, scores_of_rows
from crucial.parameters import (
    Rule,
    anything,
    at_least,
    between,
    either,
    flag,
    function,
    int_between,
    none_or,
    one_of,
    parameter,
    parameters_of,
    refuse,
    with_parameters,
)
from crucial.rankers.base import (
    ANY_NUMBER,
    Binned,
    RandomState,
    RankingInput,
    Seeded,
    Stumps,
    warn_caller,
    warn_ignored,
)
from crucial.rankers.classifiers import ClassSums, make_classifier
from crucial.rankers.resampling import Refits, Resampled
from crucial.rankers.staged import EvalSet
from crucial.types import Floats, TableLike, VectorLike

# --- Base class of the boosting estimators: from input to ensemble


#: What makes a boosting algorithm: an objective, a weak learner and a step rule.
Algorithm: TypeAlias = tuple[Objective, WeakLearner, StepRule]


class PreparedRows(Protocol):
    """Rows that are not in a table of this process, such as `PartedTraining` on a cluster."""

    @property
    def with_qid(self) -> bool:
        """Whether the rows belong to queries."""

    @property
    def progress(self) -> Progress | None:
        """A function to call after every round, if any."""

    @property
    def earlier(self) -> Sequence[Round]:
        """Rounds of an earlier fit, to be replayed."""

    def watch(self, ranker: BoostedRanker, seed: int) -> Watch | None:
        """Return the eval set of a ranker, or rows that are held out; None without either."""

    def feedback(self, balance: str, gain: Any) -> Any:
        """Return the feedback."""

    def training(self, feedback: Any, threads: int) -> TrainingRows:
        """Return the rows of a feedback."""


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
            runs = Refits(self, data, query_weight, eval_rows)
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

    def fit_prepared(self, opened: AbstractContextManager[PreparedRows]) -> Self:
        """Fit rows that are not in a table of this process, such as those on a cluster.

        Parameters
        ----------
        opened : context manager
            Opens the rows; it is entered once the parameters are checked.
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
            ensemble = self._boost(training, feedback, watch, seed, rounds, progress, earlier)
            self._set_fitted(ensemble, instances, feedback, watch, rows.with_qid)
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


# --- Parameters of estimators whose weak rankers are trees, and the learner they describe


@with_parameters
class Trees(Seeded):
    """Estimators whose weak rankers may be trees grown on gradient and curvature."""

    max_leaves: int = parameter(
        at_least(2), "Leaves of a tree, grown where they gain most.", default=8, grid=(2, 4, 8, 31)
    )
    max_depth: int | None = parameter(
        none_or(at_least(1)), "Depth of a tree; None for any.", default=None
    )
    symmetric: bool = parameter(
        flag,
        "Split all leaves of a level by the same test, as CatBoost does: log2(max_leaves) tests "
        "per tree, each chosen by all rows. Such trees bear more leaves on little data.",
        default=False,
    )
    min_rows: float = parameter(
        between(0, math.inf), "Least weight of the rows of a leaf.", default=20.0
    )
    l2: float | None = parameter(
        between(0, math.inf),
        "Makes the values of leaves smaller, small leaves most: curvature that every leaf has "
        "beside that of its rows, in average rows.",
        default=1.0,
        grid=(0.0, 1.0, 10.0),
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

    def _limits(self, max_leaves: int | None = None) -> TreeLimits:
        """Return how far a tree grows; ``max_leaves`` replaces the parameter."""
        if self.max_pairs is not None and self.interactions != 2:
            raise ParameterError(
                f"{type(self).__name__}: max_pairs limits the pairs of features of trees with "
                f"interactions=2, and interactions is {self.interactions}. Set interactions=2, or "
                "leave max_pairs at None."
            )
        return TreeLimits(
            self.max_leaves if max_leaves is None else max_leaves,
            self.max_depth,
            self.min_rows,
            self._leaf_l2(),
            self.interactions,
            self.max_pairs,
            self.symmetric,
        )

    def _remedy(self, instances: Instances, weight: Floats | None) -> str:
        """Return what would help where no tree could be grown."""
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

    def _leaf_l2(self) -> float:
        """Return the curvature that every leaf has beside that of its rows."""
        assert self.l2 is not None
        return self.l2

    def _sampling(self, seed: int) -> Sampling:
        """Return what a tree sees of the data."""
        return Sampling(self.subsample_rows, self.max_features, seed)


@with_parameters
class GradientTrees(Trees, Binned):
    """Estimators whose weak rankers are trees grown on gradient and curvature."""

    max_bins: int = parameter(int_between(2, 255), "Bins per feature.", default=255)

    def _tree_learner(self, seed: int, max_leaves: int | None = None) -> TreeLearner:
        """Make the learner of trees; ``max_leaves`` replaces the parameter."""
        return TreeLearner(self._limits(max_leaves), self.max_bins, self._sampling(seed))


# --- The choice of the weak rankers: stumps, trees, features, or the user's own


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


@with_parameters
class StumpsOrTrees(Trees, Stumps):
    """Estimators whose weak rankers are stumps or trees."""

    weak: str | WeakLearner = parameter(
        one_of("stump", "tree"), f"Weak rankers: stumps, {TREES}.", default="stump"
    )
    # (stumps are the default, so that no grid tries parameters of trees)
    max_leaves: int = parameter(default=8, grid=())
    l2: float = parameter(default=1.0, grid=())
    random_state: RandomState = parameter(
        text="Seeds subsample, n_bags, random thresholds, subsample_rows, max_features, "
        "validation_fraction and validation_folds.",
        default=0,
    )

    def _takes_bins(self) -> bool:
        return isinstance(self.weak, str) and self.weak in ("stump", "tree")

    def _check_weak(self, also: tuple[str, ...] = ()) -> None:
        """Refuse parameters that do not apply to the weak rankers.

        Parameters
        ----------
        also : names of further parameters that apply to trees alone
        """
        owner, known = type(self).__name__, parameters_of(self)
        if self.weak != "tree":
            names = [name for name in parameters_of(Trees) if name != "random_state"]
            for name in (*names, *also):
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

    def _remedy(self, instances: Instances, weight: Floats | None) -> str:
        return super()._remedy(instances, weight) if self.weak == "tree" else ""

    def _takes(self, name: str) -> bool:
        """Return whether a parameter of trees applies to other weak rankers too."""
        return False

    def _trees(self) -> TreeLearner:
        """Make the learner of trees whose values are Newton steps."""
        sampling, drawn_by = self._sampling(self._seed()), self._drawn_by()
        return TreeLearner(self._limits(), self._bins, sampling, drawn_by=drawn_by)

    @property
    def _bins(self) -> int:
        """Bins per feature, checked for trees."""
        assert self.max_bins is not None
        return self.max_bins

    def _unit_trees(self, votes: bool = False) -> UnitTreeLearner:
        """Make the learner of trees that a step rule weighs."""
        sampling = self._sampling(self._seed())
        return UnitTreeLearner(self._limits(), self._bins, sampling, votes, self._drawn_by())

    def _learner(self) -> WeakLearner:
        """Make the learner of stumps or trees."""
        return self._unit_trees() if self.weak == "tree" else self._stump_learner()


@with_parameters
class WeakRankers(StumpsOrTrees):
    """Estimators that let the user choose the weak rankers."""

    weak: str | WeakLearner = parameter(
        either(one_of("stump", "tree", "feature", "column"), _WEAK_LEARNER),
        "Weak rankers: stumps; features scaled to [0, 1]; columns that are weak rankers already; "
        f"a weak learner of your own; {TREES}.",
        default="stump",
    )

    default_rank: str | float = parameter(
        either(one_of("learned", 0, 1), ANY_NUMBER),
        "Score of a weak ranker where its feature abstains (``q_def``): 0, 1, or the better of "
        'both. With ``weak="feature"`` or ``"column"`` any number in [0, 1]; with '
        '``step="numeric"`` any number at all.',
        default="learned",
    )

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

    def _weak_learner(self, choice: str) -> WeakLearner:
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


# --- Base classes of estimators whose weak rankers, or their weights, may be constrained


@with_parameters
class MonotoneRanker(BoostedRanker):
    """Base of estimators whose scores may be made to rise or fall with a feature."""

    monotone_constraints: Any = parameter(
        anything("sequence or mapping"),
        "1, -1 or 0 per feature (or feature name: 1): the score never falls (never rises) where "
        "the feature grows. The score of an abstention is not constrained.",
        default=None,
    )

    def _constraints(self, instances: Instances) -> Constraints:
        signs = monotone_signs(type(self).__name__, self.monotone_constraints, instances)
        return Constraints(False, signs, self.learning_rate)


@with_parameters
class StumpRanker(StumpsOrTrees, MonotoneRanker):
    """Base of estimators that boost stumps or trees, whose weights may be constrained."""

    learning_rate: float = parameter(
        text="Factor on every weight, in (0, 1]. The papers use 1; for trees begin with 0.1.",
        default=0.3,
        kw_only=False,
    )
    positive_weights: str | None = parameter(
        one_of(None, "cumulative"),
        '"cumulative": the summed weight of every stump stays positive, for features known to '
        "point up.",
        default=None,
    )

    def _constraints(self, instances: Instances) -> Constraints:
        both = super()._constraints(instances)
        return replace(both, cumulative=self.positive_weights == "cumulative")

    def _check_combinations(self) -> None:
        self._check_weak()
        if self.weak == "tree" and self.positive_weights is not None:
            raise ParameterError(
                f"{type(self).__name__}: positive_weights is about stumps, and trees have values "
                "of either sign; with weak='tree' use monotone_constraints."
            )


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
        where = instances.columns_of(keys) if all(isinstance(k, str) for k in keys) else keys
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
