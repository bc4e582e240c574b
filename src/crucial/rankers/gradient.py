"""Gradient boosting of trees under many losses, as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

from crucial.boosting.loop import StepRule
from crucial.boosting.row_losses import LAMBDA_MEASURES, LOSSES, CustomLoss
from crucial.boosting.steps import FixedStep, NumericStep
from crucial.errors import ParameterError
from crucial.feedback.base import Feedback
from crucial.parameters import (
    above,
    at_least,
    between,
    described,
    either,
    fixed,
    flag,
    function,
    int_between,
    none_or,
    one_of,
    parameter,
    quoted,
    with_parameters,
)
from crucial.rankers.rankboost import Algorithm, StumpRanker


def _losses_of(attribute: str, value: object) -> str:
    """Return the names of the losses whose attribute has this value, in words."""
    *names, last = (quoted(n) for n, one in LOSSES.items() if getattr(one, attribute) == value)
    return " and ".join(filter(None, (", ".join(names), last)))


_GAINS = dict.fromkeys(one.default_gain for one in LOSSES.values() if one.default_gain)
_DEFAULT_GAINS = "; ".join(f"{gain} in {_losses_of('default_gain', gain)}" for gain in _GAINS)


@with_parameters
class GradientRanker(StumpRanker):
    """Trees grown on the gradient and the curvature of a ranking loss, one per round.

    Every leaf has the value of a Newton step. The losses differ in what they look at: squares,
    whole queries, pairs, or the top of the list. A loss of your own is a function
    ``loss(scores, labels, groups)`` that returns the derivative of a loss by each score and its
    curvature, and optionally the loss: of every query, or of all. Rows come query after query and
    by rising label; ``groups.starts`` says where queries begin.

    The order of the rows does not matter, except to ``"xendcg"`` and ``"yeti"``, whose noise is
    drawn row by row: rows of the same score are ordered worst first, and equal ones share what
    they get.

    Attributes
    ----------
    trace_ : Trace
        What happened in every round. Its loss is relative to that at equal scores; ``"lambda"``
        and ``"yeti"`` have no loss: 1 minus the mean of the measure, and the chance that a
        sampled pair is in the wrong order, stand in.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import GradientRanker
    >>> random = np.random.default_rng(0)
    >>> X, qid = random.normal(size=(200, 3)), np.repeat(np.arange(10), 20)
    >>> y = (X[:, 0] * X[:, 1] > 0.3).astype(int)  # (no sum of functions of one feature each)
    >>> ranker = GradientRanker().fit(X, y, qid=qid)
    >>> bool(ranker.score(X, y, qid=qid) > 0.99)
    True
    """

    n_estimators: int = parameter(default=200, kw_only=False)
    loss: Any = parameter(
        either(one_of(*LOSSES), function),
        f"What to minimise. {described(LOSSES)} Or a function.",
        default="query_rmse",
    )
    weak: str = parameter(
        one_of("tree", "stump"),
        "Trees, or stumps: trees of two leaves, with max_leaves at None or 2.",
        default="tree",
    )
    learning_rate: float | None = parameter(
        text="Factor on the values of every tree, in (0, 1]. None: 0.1, and 0.2 for stumps and "
        "with interactions, whose small trees learn less per round.",
        default=None,
        kw_only=False,
        grid=(0.03, 0.1, 0.3),
    )
    step: str = parameter(
        one_of("newton", "line"),
        'The weight of a tree: its leaves are Newton steps already; ``"line"``, for the '
        "exponential loss alone, goes to the minimum of the loss along the tree (method 1 of "
        "RankBoost).",
        default="newton",
    )
    balance: str = parameter(
        text=f"For {_losses_of('takes_balance', True)}: whether all pairs (rows) weigh the same, "
        "or all queries do. In the other losses all queries do.",
        default="pairs",
    )
    gain: Any = parameter(
        text="What a label is worth: y, 2^y - 1, or a rising function of your own. By default "
        f"{_DEFAULT_GAINS}.",
        default=None,
    )
    measure: str = parameter(
        one_of(*LAMBDA_MEASURES),
        '"lambda": the measure whose change weighs the pairs; "map" and "mrr" count labels above '
        "0 as relevant.",
        default="ndcg",
    )
    k: int | None = parameter(
        none_or(at_least(1)), '"lambda": depth of nDCG; None discounts all positions.', default=None
    )
    truncation: int | None = parameter(
        none_or(at_least(1)),
        '"lambda": only pairs with a row among so many first count; None for all pairs.',
        default=30,
    )
    sigmoid: float = parameter(
        above(0), '"lambda": steepness of the logistic function.', default=1.0
    )
    normalise: bool = parameter(
        flag,
        '"lambda": divide the weight of a pair by the distance of its scores, and let the sum of '
        "a query grow like a logarithm, as LightGBM does.",
        default=True,
    )
    permutations: int = parameter(
        at_least(1), '"yeti": noisy orders per round and query.', default=10
    )
    decay: float = parameter(
        between(0, 1, low_open=True), '"yeti": factor on the weight of the next position.',
        default=0.99,
    )  # fmt: skip
    l2: float = parameter(default=200.0, grid=(0.0, 10.0, 200.0))
    max_leaves: int | None = parameter(default=None, grid=(2, 4, 16, 64))
    max_bins: int = parameter(int_between(2, 255), "Bins per feature.", default=255)
    on_perfect: str = fixed(default="smooth")
    thresholds: str = fixed(default="quantiles")
    default_rank: str = fixed(default="learned")
    positive_weights: str | None = fixed(default=None)

    def _takes_bins(self) -> bool:
        return True

    def _check_combinations(self) -> None:
        if self.weak == "stump" and self.max_leaves not in (2, None):
            raise ParameterError(
                f"GradientRanker: weak='stump' has trees of 2 leaves, and max_leaves is "
                f"{self.max_leaves}. Set weak='tree', or leave max_leaves at None."
            )
        if self.step == "line" and self.loss != "exponential":
            raise ParameterError(
                "step='line' needs loss='exponential'; use step='newton' with other losses."
            )

    def _parts(self, feedback: Feedback) -> Algorithm:
        step: StepRule = FixedStep()
        if self.step == "line":
            step = NumericStep(*self._perfect(feedback))
        if callable(self.loss):
            return CustomLoss(self.loss), self._trees(), step
        kind, values = LOSSES[self.loss], vars(self) | {"seed": self._seed()}
        return kind(**{name: values[name] for name in kind.settings}), self._trees(), step

    def _default_rate(self) -> float:
        return 0.1 if self.weak == "tree" and self.interactions is None else 0.2

    def _takes(self, name: str) -> bool:
        return True  # (a stump is a tree of two leaves)

    def _leaves(self) -> int:
        return 2 if self.weak == "stump" else super()._leaves()
