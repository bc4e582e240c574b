"""DiffRank, as a scikit-learn estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from crucial.boosting.diff_rank import DiffRankStep
from crucial.boosting.loop import Ensemble
from crucial.boosting.pair_losses import ExponentialLoss
from crucial.data.instances import Instances
from crucial.errors import NotRankedError
from crucial.estimators.base import RankingInput
from crucial.estimators.boosted import Algorithm, BoostedRanker
from crucial.estimators.intervals import USELESS, Intervals
from crucial.estimators.shared import RandomState
from crucial.estimators.warn import warn_ignored
from crucial.feedback.base import Feedback
from crucial.feedback.labels import LabelFeedback, QueryWeight, TopFeedback
from crucial.parameters import (
    at_least,
    between,
    either,
    fixed,
    none_or,
    parameter,
    with_parameters,
)
from crucial.types import Floats
from crucial.weak.quasi_knn import QuasiKNNLearner, RankedQueries

__all__ = ["DiffRank"]


@with_parameters
class DiffRank(Intervals, BoostedRanker):
    """Boost the rankings that features make inside queries (Wang et al., figure 4).

    RankBoost's third method, with other weak rankers: every feature, one after the other,
    ranks the rows of a query by where its value lies among the centres of intervals of
    relevance (quasi-KNN), so that a feature may be good in the middle of its range and bad
    at both ends. Ranks are divided by ``n_q - 1``, one less than the rows of the query. The
    share of misordered training pairs is never above the product of Z, which the trace has
    as ``loss`` (lemma 3).

    Its scores depend on the other rows of the query: predict needs whole queries.

    Attributes
    ----------
    trace_ : Trace
        What happened in every round. ``loss`` is the product of Z, ``bound`` what the step
        promises of it.

    Notes
    -----
    The paper orders strictly; here labels may tie. Rows of one label share the interval in
    which the middle of their positions lies. A row on which a feature abstains (NaN) ranks
    at the middle of its query by that feature.

    Figure 4 writes ``i < prec``; the position ``prec`` itself is taken in here.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import DiffRank
    >>> X = np.array([[2.0, 9.0], [1.0, 7.0], [3.0, 8.0], [6.0, 6.0], [4.0, 2.0]])
    >>> ranker = DiffRank(n_intervals=2).fit(X, [5, 4, 3, 2, 1])
    >>> ranker.rank(X).tolist()
    [1, 2, 3, 4, 5]
    """

    bounded_risk = "R1"
    _shared_order = ("centre", "order", "cycles", "learning_rate", *BoostedRanker._shared_order)

    prec: int | float | None = parameter(
        none_or(either(at_least(1), between(0, 1, low_open=True, noun="share"))),
        "Learn from the pairs whose better row is among the first ``prec`` positions of its query: "
        "a number of positions, the last included, or a share of them. None: all pairs. Rows of "
        "equal labels share the best of their positions.",
        default=None,
        kw_only=False,
    )
    order: str = parameter(
        text="Take the features as they come, or by falling ``|r|`` before the first round.",
        default="given",
    )
    learning_rate: float = parameter(
        text="Factor on every weight, in (0, 1]; the paper's is 1.", default=1.0
    )
    record_risks: bool = parameter(
        text="Record R1 and R2 on the training pairs in the trace, every round: R2 is the Kendall "
        "distance, a tie counted half.",
        default=False,
    )
    random_state: RandomState = parameter(
        text="Seeds validation_fraction and validation_folds.", default=0
    )
    gain: None = fixed(default=None)
    subsample: float = fixed(default=1.0)
    contradictions: str = fixed(default="keep")
    n_bags: int = fixed(default=1)
    warm_start: bool = fixed(default=False)

    if TYPE_CHECKING:
        n_estimators: int = fixed(default=1)
    else:

        @property
        def n_estimators(self) -> int:
            """Rounds at most: every feature in every cycle."""
            return self.cycles * int(getattr(self, "n_features_in_", 1))

    def _label_feedback(
        self, data: RankingInput, weight: Floats | None, query_weight: QueryWeight | None
    ) -> LabelFeedback:
        return TopFeedback(
            data.known_labels,
            data.groups,
            first=self.prec,
            weight=weight,
            balance=self.balance,
            query_weight=query_weight,
        )

    def _parts(self, feedback: Feedback) -> Algorithm:
        first = None
        if self.order == "best_first":
            first = feedback.potentials(np.zeros(feedback.n_rows))[feedback.rows]
        self._learner = QuasiKNNLearner(
            RankedQueries.of(feedback),
            self.n_intervals,
            self.centre,
            first,
            self.cycles,
            type(self).__name__,
        )
        return ExponentialLoss(), self._learner, DiffRankStep(*self._perfect(feedback))

    def _after_fit(self, ensemble: Ensemble, instances: Instances) -> None:
        warn_ignored(self._learner.rankings.useless, USELESS, instances)
        del self._learner  # (it keeps the data)

    def fit_pairs(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: intervals of relevance are made of labels."""
        raise NotRankedError(
            f"{type(self).__name__} cannot learn from pairs: it cuts queries into intervals by "
            "label. Use fit(X, y, qid=...), or RankBoost for pairs."
        )

    def to_classifier(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: the score of a row depends on the other rows of its query."""
        raise NotRankedError(
            f"{type(self).__name__} makes no classifier: it ranks a row against the others that "
            "come with it, and has no score for a row alone. Use RankBoost."
        )
