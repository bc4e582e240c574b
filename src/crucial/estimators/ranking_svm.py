"""The ranking SVM, as a scikit-learn estimator."""

from __future__ import annotations

from typing import Self

from crucial.estimators.base import RankingInput
from crucial.estimators.kernel_ranker import KernelMachine
from crucial.feedback.base import Feedback
from crucial.feedback.labels import LabelFeedback, QueryWeight
from crucial.kernels.runtime import count_threads, one_blas_thread
from crucial.linear.bundle import HingeMinimum, minimise_hinge
from crucial.linear.hinge import SquaredHinge, hinges_of
from crucial.linear.representations import represent
from crucial.linear.truncated_newton import Minimum, truncated_newton
from crucial.parameters import one_of, parameter, with_parameters

__all__ = ["RankingSVM"]


@with_parameters
class RankingSVM(KernelMachine):
    """Ask every pair for a margin: the ranking SVM (Herbrich et al. 2000; Joachims 2002).

    The score f is a weighted sum of the features, or a kernel expansion. It minimises ::

        mean over pairs of [1 - (f_hi - f_lo)]_+  +  (l2 / 2) |f|^2

    or half of the mean squared hinge. On two labels without queries this is the AUC-SVM (Brefeld
    & Scheffer 2005; Rakotomamonjy 2004): the share of pairs in the wrong order is at most the
    first term. Pairs that labels imply are never listed: a pass over n rows takes O(n log n). It
    ends at a proven distance from the minimum.

    Attributes
    ----------
    n_iter_ : int
        Newton's steps and cutting planes.

    Notes
    -----
    The C of SVM-light is ``1 / (l2 * number of pairs)``. Features are standardised inside and cut
    off at the range that they had in training. Where a feature abstains it counts as its mean.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import RankingSVM
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = RankingSVM().fit(X, [2, 1, 0, 1, 0], qid=["a", "a", "a", "b", "b"])
    >>> ranker.rank(X[:3], ["a"] * 3).tolist()
    [1, 2, 3]
    """

    l2: float = parameter(
        text="Ridge ``(l2 / 2) |f|^2`` beside the mean over pairs; above 0. A Gaussian kernel "
        "takes a ridge about as many times smaller as there are features.",
        default=0.1,
        kw_only=False,
        grid=(0.001, 0.01, 0.1, 1.0),
    )
    loss: str = parameter(
        one_of("hinge", "squared_hinge"),
        "Mean hinge, or half of the mean squared hinge, which is faster to minimise.",
        default="hinge",
    )
    margin: str = parameter(
        one_of("sign", "product", "gap"),
        'What is asked of a pair. "sign": ``f_hi - f_lo >= 1``. "gap": at least the difference '
        'of their labels. "product": that difference times ``f_hi - f_lo`` is at least 1, as the '
        "review writes it; a pass then takes O(n labels). Explicit pairs ask for 1.",
        default="sign",
    )
    max_iter: int = parameter(text="Newton's steps and cutting planes at most.", default=1000)
    n_jobs: int | None = parameter(
        text="Threads; None for all cores. The result is the same for any number.", default=None
    )

    def _label_feedback(
        self, data: RankingInput, query_weight: QueryWeight | None
    ) -> LabelFeedback:
        return LabelFeedback(
            data.known_labels,
            data.groups,
            weight=data.weight,
            balance=self.balance,
            query_weight=query_weight,
        )

    def _fit(self, data: RankingInput, feedback: Feedback) -> Self:
        threads = count_threads(self.n_jobs)
        seen = represent(data.instances, feedback.rows, feedback.weight, self._settings(), threads)
        hinges = hinges_of(feedback, self.margin, threads)
        rules = (seen.space(threads), self.l2, self.tol, self.max_iter)
        found: HingeMinimum | Minimum
        with one_blas_thread():
            if self.loss == "hinge":
                found = minimise_hinge(hinges, *rules)
            else:
                found = truncated_newton(SquaredHinge(hinges), *rules)
        figures = self._set_figures(found.value, found.gap, found.n_iter, self.tol)
        self._set_solution(data, feedback, seen, found.weights, figures)
        return self
