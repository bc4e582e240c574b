"""RankBoost, as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

from crucial.boosting.pair_losses import ExponentialLoss
from crucial.boosting.steps import STEPS
from crucial.errors import ParameterError
from crucial.estimators.boosted import Algorithm
from crucial.estimators.presets import PRESETS
from crucial.estimators.stumps import StumpRanker
from crucial.estimators.weak_rankers import WeakRankers
from crucial.feedback.base import Feedback
from crucial.parameters import lookup, one_of, parameter, with_parameters

__all__ = ["RankBoost"]


@with_parameters
class RankBoost(WeakRankers, StumpRanker):
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
        one_of(None, "bound", "exact", "numeric"),
        "Its weight: methods 3, 2 and 1 of the paper. By default method 3, and method 1 for trees.",
        default=None,
    )
    positive_weights: str | None = parameter(
        text='"cumulative": the summed weight of every stump stays positive, for features known '
        "to point up (the paper's ``.cum`` variants).",
        default=None,
    )

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
        return ExponentialLoss(), self._weak_learner(self.choice, self._method), step

    @property
    def _method(self) -> str:
        """The step rule's name."""
        if self.step is not None:
            return self.step
        return "numeric" if self.weak == "tree" else "bound"

    def _check_combinations(self) -> None:
        super()._check_combinations()
        if self.weak in ("feature", "tree") and self.step == "exact":
            raise ParameterError(
                f"step='exact' needs weak rankers of 0 and 1; with weak={self.weak!r} use "
                "step='numeric' or 'bound'."
            )
        self._check_choice(self.choice)
        if not isinstance(self.weak, str) and self.choice == "largest_drop":
            raise ParameterError(
                "choice='largest_drop' needs weak='stump', 'feature' or 'column': a weak learner "
                "of your own chooses by itself."
            )
        self._check_default(self._method)
