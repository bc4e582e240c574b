"""RankBoost and its kin by loss or step: logistic, p-norm push, smooth margin, AdaBoost."""

from __future__ import annotations

from typing import Any

from crucial.boosting.loop import Ensemble, ExponentialLoss, StepRule, Trace, WeakLearner
from crucial.boosting.pair_losses import ClassificationLoss, LogisticLoss, PNormLoss
from crucial.boosting.steps import (
    LINE_STEPS,
    STEPS,
    ExactStep,
    NumericStep,
    SmoothClassMarginStep,
    SmoothMarginStep,
)
from crucial.boosting.stumps import VoteLearner
from crucial.data.instances import Instances
from crucial.errors import NotSeparableWarning, ParameterError
from crucial.feedback.base import Feedback, smoothing_of
from crucial.measures.names import Measures
from crucial.parameters import between, described, fixed, lookup, one_of, parameter, with_parameters
from crucial.rankers.base import warn_caller
from crucial.rankers.boosted import ANY_DEFAULT_RANK, ANY_WEAK, Algorithm, ClassRanker, StumpRanker
from crucial.rankers.classifiers import check_one_list_of_two
from crucial.rankers.registry import PRESETS

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
            warn_caller(_not_separable(ensemble, self.choice), NotSeparableWarning)


def first_separable(trace: Trace) -> int | None:
    """Return the round after which the smooth margin was above 0 for the first time."""
    reached = (n for n, one in enumerate(trace, 1) if one.extras["smooth_margin"] > 0.0)
    return next(reached, None)


def _not_separable(ensemble: Ensemble, choice: str) -> str:
    """Say that the margin was never worked on, and what might help."""
    last = ensemble.trace[-1].extras
    what = "some pair is in the wrong order, or tied"
    if last["margin"] > 0.0:
        what = "every pair is in the right order, but the weights are too small yet"
    hope = "More rounds may get there, if any ranker can."
    if ensemble.trace.stopped:
        hope = f"The rounds ended by themselves: {ensemble.trace.stopped}."
    if choice == "steepest_positive":
        hope += " choice='steepest' also uses features that point down."
    return (
        f"after {len(ensemble.trace)} rounds the smooth margin is {last['smooth_margin']:.4g}, not "
        f"above 0 ({what}), so all steps were RankBoost's coordinate descent. {hope}"
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
            last = ensemble.trace[-1].extras
            warn_caller(
                f"after {len(ensemble.trace)} rounds the smooth margin is "
                f"{last['smooth_margin']:.4g}, not above 0 (the smallest margin is "
                f"{last['margin']:.4g}), so all steps were AdaBoost's. More rounds may get there, "
                "if any sum of votes classifies every row right.",
                NotSeparableWarning,
            )
