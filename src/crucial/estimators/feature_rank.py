"""FeatureRank and BL-FeatureRank, as scikit-learn estimators."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from crucial.boosting.feature_rank import RankAddition, RankAdditionSteps
from crucial.boosting.progress import show_rounds
from crucial.boosting.trace import Trace
from crucial.boosting.watch import Watch
from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.errors import DataError, NoProgressWarning
from crucial.estimators.base import Ranker
from crucial.estimators.diff_rank import check_intervals, warn_useless
from crucial.estimators.eval_set import eval_groups, eval_pair, make_watch
from crucial.estimators.fit_notes import plain_parameters
from crucial.feedback.agreement import Agreement
from crucial.feedback.base import smoothing_of
from crucial.feedback.labels import check_labels
from crucial.feedback.top import TopFeedback
from crucial.kernels.threads import count_threads
from crucial.model.rank_addition import RankAdditionRanker
from crucial.types import Floats
from crucial.validation import check_choice, check_integer, refuse
from crucial.weak.base import TrainingRows
from crucial.weak.quasi_knn import FeatureRankings, RankedQueries

__all__ = ["BLFeatureRank", "FeatureRank"]

# An eval set: its rows, its queries, and the measures on it.
_Judge = tuple[Instances, Groups, Watch]


class FeatureRank(Ranker):
    """Add up the rankings that features make inside queries (Wang et al., figure 2).

    Every feature, one after the other, ranks the rows of a query by where its value lies
    among the centres of intervals of relevance (quasi-KNN). The ranking is added with a
    weight that grows with its agreement with the labels, in the queries that are not yet
    right above all, and the sum is ranked again before the next feature comes.

    Its score is a rank inside the query: predict needs whole queries.

    Parameters
    ----------
    n_intervals : int, default=8
        Intervals of relevance, K in the paper: at least 2, which rank by the feature itself,
        up or down; at most the number of rows in the largest query. A query with fewer rows
        places no centre but is learned from all the same.
    cycles : int, default=1
        How often to go through the features, T in the paper.
    order : {"given", "best_first"}, default="given"
        Take the features as they come, or by falling agreement with the labels.
    centre : {"mean", "prior", "middle", "posterior"}, default="mean"
        Whether the centre of an interval is the mean of all its values, or of its more
        relevant third, the middle one, the less relevant one.
    eval_metric : str, Measure or list of them, optional
        Measured on the eval set after every step; the first decides which steps to keep.
    n_jobs : int or None, default=None
        Threads; None for all cores. The result is the same for any number.
    verbose : int, default=0
        1 shows a progress bar where standard error is a terminal.

    Attributes
    ----------
    model_ : RankAdditionRanker
        What predict uses: the best steps, if an eval set said which.
    ensemble_ : RankAdditionRanker
        All steps.
    trace_ : Trace
        What happened in every step: ``alpha`` is the weight (lambda), ``r`` the agreement E
        of the ranking that was added, ``r2`` the Kendall distance after it (mean over
        queries, a tie counted half), ``loss`` the mean of ``exp(-E)``, equation 10, and
        ``bound`` half of that, below which the Kendall distance stays.
    best_round_ : int
        Steps in ``model_``.
    feature_importances_ : array of shape (n_features,)
        Share of the absolute weight that went to each feature.
    n_features_in_ : int
    feature_names_in_ : array of str, where X had names

    Notes
    -----
    Agreement is ``E = 1 - 2 T`` with T the Kendall distance, a tie counted half, so that a
    ranking without an opinion has 0. A weight is negative where a ranking agrees less than
    that; definition 1 of the paper asks for more of a weak ranker, and the training summary
    counts such steps. Where every query is ranked right in full the weight would be infinite:
    half a pair is then added on both sides.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import FeatureRank
    >>> X = np.array([[2.0, 9.0], [1.0, 7.0], [3.0, 8.0], [6.0, 6.0], [4.0, 2.0]])
    >>> ranker = FeatureRank(n_intervals=2).fit(X, [5, 4, 3, 2, 1])
    >>> ranker.predict(X).tolist()
    [5.0, 4.0, 3.0, 2.0, 1.0]
    """

    model_: RankAdditionRanker  # type: ignore[assignment]
    ensemble_: RankAdditionRanker

    def __init__(
        self,
        n_intervals: int = 8,
        cycles: int = 1,
        *,
        order: str = "given",
        centre: str = "mean",
        eval_metric: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_intervals = n_intervals
        self.cycles = cycles
        self.order = order
        self.centre = centre
        self.eval_metric = eval_metric
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _balance(self) -> str | None:
        """How balance control works, if there is any."""
        return None

    def _check_parameters(self) -> None:
        owner = type(self).__name__
        check_intervals(owner, self.n_intervals, self.centre, self.order, self.cycles)
        check_integer(owner, "verbose", self.verbose, 0)
        whole = isinstance(self.n_jobs, Integral) and not isinstance(self.n_jobs, bool)
        if self.n_jobs is not None and not (whole and self.n_jobs != 0):
            raise refuse(owner, "n_jobs", "an int other than 0, or None", self.n_jobs)

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
            NaN: the feature abstains, and ranks the row at the middle of its query.
        y : array of shape (n_rows,)
            Labels; the paper's are strictly ordered. Rows of one label share the interval in
            which the middle of their positions lies.
        qid : array of shape (n_rows,), optional
            Query of every row, of any type, in any order. Without, all rows are one query.
        sample_weight : array of shape (n_rows,), optional
            A row of weight 2 counts as two rows, of weight 0 as none.
        query_weight : array of shape (n_rows,) or mapping from query id, optional
            How much a query counts.
        eval_set : (X, y), optional
            Decides how many steps to keep.
        eval_qid : array, optional
            Queries of the eval set.
        """
        if y is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        self._check_parameters()
        instances = self._instances(X, reset=True)
        watch = self._watch(qid, eval_set, eval_qid)
        feedback = TopFeedback(
            check_labels(y, instances.n_rows),
            Groups.from_qid(qid, instances.n_rows),
            weight=sample_weight,
            balance="queries",
            query_weight=query_weight,
        )
        made = self._add(instances, feedback)
        self._keep(made, instances, feedback, watch, qid is not None)
        return self

    def _watch(self, qid: Any, eval_set: Any, eval_qid: Any) -> _Judge | None:
        if eval_set is None:
            if eval_qid is not None:
                raise DataError("eval_qid was given without eval_set.")
            return None
        if (eval_qid is None) != (qid is None):
            has, lacks = ("qid", "eval_qid") if eval_qid is None else ("eval_qid", "qid")
            raise DataError(f"{has} was given without {lacks}: both or neither are needed.")
        X, y = eval_pair(eval_set)
        there = self._instances(X, reset=False)
        groups = eval_groups(eval_qid, there.n_rows)
        return there, groups, make_watch(there, y, groups, self.eval_metric, None)

    def _add(self, instances: Instances, feedback: TopFeedback) -> RankAdditionSteps:
        threads, owner = count_threads(self.n_jobs), type(self).__name__
        queries = RankedQueries.of(feedback)
        training = TrainingRows(instances, feedback.rows, feedback.weight, feedback.groups, threads)
        rankings = FeatureRankings(training, queries, self.n_intervals, self.centre, owner)
        rows = feedback.labelled()
        agreement = Agreement(rows.layout, rows.weight, threads)
        pairs = agreement.counts(np.zeros(len(feedback.rows))).sum(axis=1)
        algorithm = RankAddition(
            rankings,
            queries,
            agreement,
            rows.coefficient * pairs,  # (balanced: what the query itself counts)
            self._balance(),
            smoothing_of(feedback.total),
            threads,
        )
        steps = self.cycles * instances.n_features
        with show_rounds(steps, bool(self.verbose)) as progress:
            made = algorithm.run(self.order, self.cycles, progress)
        warn_useless(rankings.useless, instances)
        if not made.rankers:
            made.trace.stopped = "no weak ranker helps"
            warnings.warn(
                "no step could be made: no feature ranks anything. All ranks are equal.",
                NoProgressWarning,
                stacklevel=3,
            )
        return made

    def _keep(
        self,
        made: RankAdditionSteps,
        instances: Instances,
        feedback: TopFeedback,
        watch: _Judge | None,
        with_qid: bool,
    ) -> None:
        """Set the fitted attributes."""
        bare = RankAdditionRanker(
            instances.n_features, made.rankers, made.keeps, made.weights, instances.names
        )
        self.trace_, self.best_round_ = made.trace, len(made.rankers)
        if watch is not None and made.rankers:
            self.trace_, self.best_round_ = _watched(bare, made.trace, *watch)
        last = self.trace_[-1] if len(self.trace_) else None
        summary = {
            "estimator": type(self).__name__,
            "parameters": plain_parameters(self.get_params()),
            "rounds": len(made.rankers),
            "best_round": self.best_round_,
            "stopped": made.trace.stopped or "all rounds done",
            "log_loss": 0.0 if last is None else last.log_loss,
            "kendall": 0.5 if last is None or last.r2 is None else last.r2,
            "negative_weights": sum(one.alpha < 0.0 for one in self.trace_),
            "rows": len(feedback.rows),
            "with_qid": with_qid,
            **feedback.summary(),
        }
        if self.best_round_ and self.trace_[self.best_round_ - 1].measures:
            summary["eval"] = dict(self.trace_[self.best_round_ - 1].measures)
        self.ensemble_ = replace(bare, training=summary)
        whole = self.best_round_ == len(made.rankers)
        self.model_ = self.ensemble_ if whole else self.ensemble_.truncate(self.best_round_)
        self.fitted_with_qid_ = with_qid

    # -- what was learned ---------------------------------------------------------

    @property
    def feature_importances_(self) -> Floats:
        """Share of the absolute weight that went to each feature."""
        check_is_fitted(self, "model_")
        return self.model_.feature_importances()

    def staged_predict(self, X: Any, qid: Any = None) -> Iterator[Floats]:
        """Ranks after every step, all steps included; arguments as in `predict`."""
        check_is_fitted(self, "model_")
        instances = self._instances(X, reset=False)
        groups = self._queries(self.ensemble_, qid, instances.n_rows)  # type: ignore[arg-type]
        return self.ensemble_.staged_predict(instances, groups)

    def truncate(self, n_rounds: int) -> RankAdditionRanker:
        """The ranker as it was after ``n_rounds`` steps."""
        check_is_fitted(self, "model_")
        return self.ensemble_.truncate(n_rounds)

    def save(self, path: Any) -> None:
        """Write ``model_`` to a JSON file; `crucial.load_model` reads it."""
        check_is_fitted(self, "model_")
        self.model_.save(path)


class BLFeatureRank(FeatureRank):
    """FeatureRank with balance control (Wang et al., section 4.3), meant to learn steadily.

    Before a ranking h is added it is compared, query by query, with the ranking so far, H,
    and with a mixture h'' of both; the best of the three is added. Nobody knows the best
    at prediction. Each choice is a mixture ``a H + (1 - a) h``, so the mean of a over the
    training queries is kept, and ``H <- ranks((1 + lambda a) H + lambda (1 - a) h)`` is
    what both training and prediction do. That is our reading: the paper does not say.
    It need not be better than FeatureRank on every data set.

    Parameters
    ----------
    n_intervals : int, default=8
        Intervals of relevance; see `FeatureRank`.
    cycles : int, default=1
        How often to go through the features, T in the paper.
    balance_control : {"mean", "figure"}, default="mean"
        "mean": as said. "figure": figure 3 as it is printed. The weights are learned with
        the best of the three in every query, and predict adds the rankings h themselves;
        ``r2`` of the trace then is of a ranking that has seen the labels, and ``model_r2``
        what the model reaches.
    order : {"given", "best_first"}, default="given"
        Take the features as they come, or by falling agreement with the labels.
    centre : {"mean", "prior", "middle", "posterior"}, default="mean"
        What the centre of an interval is; see `FeatureRank`.
    eval_metric : str, Measure or list of them, optional
        Measured on the eval set after every step; the first decides which steps to keep.
    n_jobs : int or None, default=None
        Threads; None for all cores. The result is the same for any number.
    verbose : int, default=0
        1 shows a progress bar where standard error is a terminal.

    Attributes
    ----------
    model_, ensemble_, trace_, best_round_, feature_importances_
        As in `FeatureRank`. The trace also has ``kept`` and ``mixed``, the share of the
        queries in which H or h'' was best, and ``share_kept``, the mean of a.
    n_features_in_ : int
    feature_names_in_ : array of str, where X had names

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import BLFeatureRank
    >>> X = np.array([[2.0, 9.0], [1.0, 7.0], [3.0, 8.0], [6.0, 6.0], [4.0, 2.0]])
    >>> ranker = BLFeatureRank(n_intervals=2, cycles=2).fit(X, [5, 4, 3, 2, 1])
    >>> ranker.predict(X).tolist()
    [5.0, 4.0, 3.0, 1.0, 2.0]
    """

    def __init__(
        self,
        n_intervals: int = 8,
        cycles: int = 1,
        *,
        balance_control: str = "mean",
        order: str = "given",
        centre: str = "mean",
        eval_metric: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_intervals,
            cycles,
            order=order,
            centre=centre,
            eval_metric=eval_metric,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.balance_control = balance_control

    def _balance(self) -> str | None:
        return self.balance_control

    def _check_parameters(self) -> None:
        super()._check_parameters()
        choices = ["mean", "figure"]
        check_choice(type(self).__name__, "balance_control", self.balance_control, choices)


def _watched(
    model: RankAdditionRanker, trace: Trace, instances: Instances, groups: Groups, watch: Watch
) -> tuple[Trace, int]:
    """The trace with the measures of an eval set, and the number of steps that is best."""
    seen = Trace()
    for entry, scores in zip(trace, model.staged_predict(instances, groups), strict=True):
        watch.scores = scores
        seen.add(replace(entry, measures=watch.look()))
    seen.stopped = trace.stopped
    return seen, watch.best_round
