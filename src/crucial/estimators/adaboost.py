"""AdaBoost as a ranker of two classes."""

from __future__ import annotations

from crucial.boosting.steps import ExactStep
from crucial.errors import DataError
from crucial.estimators.boosted import Algorithm, BoostedRanker
from crucial.estimators.shared import Stumps
from crucial.feedback.base import Feedback, smoothing_of
from crucial.measures.names import Measures
from crucial.objectives.classification import ClassificationLoss
from crucial.parameters import fixed, parameter, with_parameters
from crucial.weak.votes import VoteLearner

__all__ = ["AdaBoostRanker"]


@with_parameters
class AdaBoostRanker(Stumps, BoostedRanker):
    """AdaBoost with the constant hypothesis, which ranks as RankBoost does.

    For labels of two values. Every row is an example ``y_i`` in {-1, 1} and the loss is the
    sum of ``exp(-y_i H(x_i))``, so that a round costs O(n) without any thought of pairs.
    With the constant among its hypotheses AdaBoost minimises RankBoost's objective too, and
    where the minimum exists both rank alike (Rudin & Schapire 2009, corollary 11 and
    theorem 12). The price: a round may go to the constant, which moves no rank.

    Hypotheses are RankBoost's stumps h as votes ``2 h - 1`` in {-1, 1}, weighted by
    ``.5 ln(W+ / W-)``, the exact minimum; with the constant they span the same ensembles as
    the stumps themselves. The steepest vote is also the one that lowers the loss most, so
    that there is no choice to make here between the two.

    Labels of more than two values, pairs and queries are refused: the equivalence does not
    hold there (one intercept cannot balance several queries), and `RankBoost` takes them.

    Attributes
    ----------
    model_ : AdditiveRanker
        What predict uses; constants are part of the scores and of no rank.
    trace_ : Trace
        What happened in every round: ``loss`` is F over its value at the start, ``f_skew``
        the F-skew ``F+ - F-`` (equation 15), which goes to 0.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import AdaBoostRanker
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = AdaBoostRanker(n_estimators=20).fit(X, [1, 1, 0, 1, 0])
    >>> ranker.score(X, [1, 1, 0, 1, 0])
    1.0
    >>> ranker.to_classifier().predict(X).tolist()
    [1, 1, 0, 1, 0]
    """

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

    def _needs_two_labels(self) -> bool:
        return True

    def _parts(self, feedback: Feedback) -> Algorithm:
        _check_classes(feedback)
        weight = feedback.weight
        total = float(len(feedback.rows) if weight is None else weight.sum())
        step = ExactStep(smoothing_of(total), self.on_perfect == "stop")
        return ClassificationLoss(), VoteLearner(self._stump_learner()), step


def _check_classes(feedback: Feedback) -> None:
    """Refuse what is not a classification into two."""
    rows, n_queries = feedback.labelled(), feedback.n_queries + feedback.n_skipped
    if rows is None:
        raise DataError(
            "AdaBoostRanker learns from labels of two values alone. For explicit pairs use "
            "RankBoost or RankBoostPlus."
        )
    if n_queries > 1:
        raise DataError(
            f"AdaBoostRanker compares every row with the same zero, and qid names "
            f"{n_queries} queries, whose scores have none in common. Use RankBoost, "
            "or leave qid out to compare all rows."
        )
    if feedback.two_classes() is None:
        raise DataError(
            f"AdaBoostRanker needs labels of two values, and y has {rows.layout.n_levels}. For "
            "grades use RankBoost, which takes any order of labels (or set y = y >= threshold); "
            "for classes without an order use LabelRanker."
        )
