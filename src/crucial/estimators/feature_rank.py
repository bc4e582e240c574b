"""FeatureRank and BL-FeatureRank, as scikit-learn estimators."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import numpy as np

from crucial.boosting.feature_rank import RankAddition, RankAdditionSteps
from crucial.boosting.parts import TrainingRows
from crucial.boosting.trace import Trace, show_rounds, with_callbacks
from crucial.data.instances import Instances
from crucial.errors import NoProgressWarning
from crucial.estimators.base import RankingInput
from crucial.estimators.eval_set import EvalRows, EvalSet
from crucial.estimators.intervals import USELESS, Intervals
from crucial.estimators.rounds import EvaluatedRanker
from crucial.estimators.shared import Followed
from crucial.estimators.warn import warn_caller, warn_ignored
from crucial.feedback.base import smoothing_of
from crucial.feedback.labels import QueryWeight, TopFeedback
from crucial.feedback.layout import Agreement
from crucial.kernels.runtime import count_threads
from crucial.measures.names import Measures
from crucial.model.rank_addition import RankAdditionRanker
from crucial.parameters import one_of, parameter, with_parameters
from crucial.types import VectorLike
from crucial.weak.quasi_knn import FeatureRankings, RankedQueries

__all__ = ["BLFeatureRank", "FeatureRank"]


@with_parameters
class FeatureRank(Intervals, Followed, EvaluatedRanker[RankAdditionRanker]):
    """Add up the rankings that features make inside queries (Wang et al., figure 2).

    Every feature, one after the other, ranks the rows of a query by where its value lies
    among the centres of intervals of relevance (quasi-KNN). The ranking is added with a
    weight that grows with its agreement with the labels, in the queries that are not yet
    right above all, and the sum is ranked again before the next feature comes.

    Its score is a rank inside the query: predict needs whole queries.

    Attributes
    ----------
    model_ : RankAdditionRanker
        What predict uses: the best steps, if an eval set decided which.
    ensemble_ : RankAdditionRanker
        All steps.
    trace_ : Trace
        What happened in every step: ``alpha`` is the weight (lambda), ``r`` the agreement E
        of the ranking that was added, ``r2`` the Kendall distance after it (mean over
        queries, a tie counted half), ``loss`` the mean of ``exp(-E)``, equation 10, and
        ``bound`` half of that, below which the Kendall distance stays.
    best_round_ : int
        Steps in ``model_``.

    Notes
    -----
    The paper orders strictly; here labels may tie. Rows of one label share the interval in
    which the middle of their positions lies. A row on which a feature abstains (NaN) ranks
    at the middle of its query by that feature.

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

    cycles: int = parameter(
        text="How often to go through the features, T in the paper.", default=1, kw_only=False
    )
    eval_metric: Measures | None = parameter(
        text="Measured on the eval set after every step; the first decides which steps to keep.",
        default=None,
    )

    def _balance_control(self) -> str | None:
        """Return how balance control works, if there is any."""
        return None

    def _fit(
        self,
        data: RankingInput,
        query_weight: QueryWeight | None,
        eval_set: EvalSet | None,
        eval_qid: VectorLike | None,
    ) -> Self:
        eval_rows = self._eval_rows(data, eval_set, eval_qid)
        feedback = TopFeedback(
            data.known_labels,
            data.groups,
            weight=data.weight,
            balance="queries",
            query_weight=query_weight,
        )
        steps = self._add(data.instances, feedback)
        instances, trace, best = data.instances, steps.trace, len(steps.trace)
        bare = RankAdditionRanker(
            instances.n_features, steps.rankers, steps.keeps, steps.weights, instances.names
        )
        if eval_rows is not None:
            trace, best = self._evaluated(bare, trace, eval_rows)
        last = trace[-1] if len(trace) else None
        figures = {
            "kendall": 0.5 if last is None or last.r2 is None else last.r2,
            "negative_weights": sum(one.alpha < 0.0 for one in trace),
        }
        summary = self._set_trace(trace, best, figures, feedback, data.with_qid)
        self._set_ensemble(replace(bare, training=summary), best, data.with_qid)
        return self

    def _add(self, instances: Instances, feedback: TopFeedback) -> RankAdditionSteps:
        """Run rank addition."""
        threads, owner = count_threads(self.n_jobs), type(self).__name__
        queries = RankedQueries.of(feedback)
        training = TrainingRows(instances, feedback.rows, feedback.weight, feedback.groups, threads)
        rankings = FeatureRankings(training, queries, self.n_intervals, self.centre, owner)
        rows = feedback.labelled()
        counted = np.ones(rows.layout.n_queries) if rows.query_weight is None else rows.query_weight
        algorithm = RankAddition(
            rankings,
            queries,
            Agreement(rows.layout, queries.weight, threads),
            np.where(rows.coefficient > 0.0, counted, 0.0),  # (0 for pairs that weigh nothing)
            self._balance_control(),
            smoothing_of(feedback.total),
            threads,
        )
        rounds = self.cycles * instances.n_features
        with show_rounds(rounds, self.verbose) as shown:
            progress = with_callbacks(shown, rounds, self.callbacks)
            steps = algorithm.run(self.order, self.cycles, progress)
        warn_ignored(rankings.useless, USELESS, instances)
        if not steps.rankers:
            steps.trace.stopped = "no weak ranker helps"
            warn_caller(
                "no step could be made: no feature ranks anything. All ranks are equal.",
                NoProgressWarning,
            )
        return steps

    def _evaluated(
        self, model: RankAdditionRanker, trace: Trace, rows: EvalRows
    ) -> tuple[Trace, int]:
        """Return the trace with the measures of an eval set, and the best number of steps."""
        watch = self._watch(rows)
        measured = Trace()
        for entry, scores in zip(
            trace, model.staged_predict(rows.instances, rows.groups), strict=True
        ):
            watch.scores = scores
            measured.add(replace(entry, measures=watch.look()))
        measured.stopped = trace.stopped
        return measured, watch.best_round


@with_parameters
class BLFeatureRank(FeatureRank):
    """FeatureRank with balance control (Wang et al., section 4.3), meant to learn steadily.

    Before a ranking h is added it is compared, query by query, with the ranking so far, H,
    and with a mixture h'' of both; the best of the three is added. Nobody knows the best
    at prediction. Each choice is a mixture ``a H + (1 - a) h``, so the mean of a over the
    training queries is kept, and ``H <- ranks((1 + lambda a) H + lambda (1 - a) h)`` is
    what both training and prediction do. That is our reading: the paper leaves it open.
    It need not be better than FeatureRank on every data set.

    Attributes
    ----------
    trace_ : Trace
        As in `FeatureRank`, and ``kept`` and ``mixed``, the share of the queries in which H or
        h'' was best, and ``share_kept``, the mean of a.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import BLFeatureRank
    >>> X = np.array([[2.0, 9.0], [1.0, 7.0], [3.0, 8.0], [6.0, 6.0], [4.0, 2.0]])
    >>> ranker = BLFeatureRank(n_intervals=2, cycles=2).fit(X, [5, 4, 3, 2, 1])
    >>> ranker.predict(X).tolist()
    [5.0, 4.0, 3.0, 1.0, 2.0]
    """

    balance_control: str = parameter(
        one_of("mean", "figure"),
        '"mean": as above. "figure": figure 3 as it is printed. The weights are learned with the '
        "best of the three in every query, and predict adds the rankings h themselves; ``r2`` of "
        "the trace then is of a ranking that has seen the labels, and ``model_r2`` what the model "
        "reaches.",
        default="mean",
    )

    def _balance_control(self) -> str | None:
        return self.balance_control
