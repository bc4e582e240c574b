"""RankBoost+, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from crucial.boosting.loop import Ensemble
from crucial.boosting.parts import TrainingRows
from crucial.boosting.plus.algorithm import PlusRules, boost_plus
from crucial.boosting.trace import Progress, Round
from crucial.boosting.watch import Watch
from crucial.estimators.boosted import BoostedRanker
from crucial.estimators.shared import RandomState, Stumps
from crucial.feedback.base import Feedback
from crucial.kernels.runtime import one_blas_thread
from crucial.parameters import at_least, fixed, none_or, one_of, parameter, with_parameters

__all__ = ["RankBoostPlus"]


@with_parameters
class RankBoostPlus(Stumps, BoostedRanker):
    """RankBoost on a loss that counts a tie half (Connamacher, Pancha, Liu & Ray 2019).

    RankBoost minimises E1, in which a pair that a weak ranker ties counts 1 whatever the
    ranker's weight. RankBoost+ minimises E2, in which it counts as the mean of a right and a
    wrong pair. E2 bounds R2, the share of wrong pairs plus half of the ties, and orders
    single weak rankers as R2 does. It needs weak rankers of 0 and 1 that are linearly
    independent as vectors over pairs, and one weight for every pair: pairs are listed.

    Attributes
    ----------
    basis_ : tuple of weak rankers
        The independent set after the last round.
    eta_ : array, one number per member of the basis
        Their cumulative weights: E2 is F2 of these.
    static_round_ : int or None
        First round in which the set was static.
    n_pairs_ : int
        Pairs that were learned from.
    trace_ : Trace
        What happened in every round; its loss is E2, and it has ``delta``, ``e1``, ``e2``.

    Notes
    -----
    A weak ranker and its opposite are one direction, since weights have either sign: only
    the first of them is a candidate. A round along a combination of rankers ("optimal")
    adds the candidate that it makes up to the model: on the training pairs both are the same
    ranker, and elsewhere a stump is tamer than a combination with large coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial import RankBoostPlus
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> qid = ["a", "a", "a", "b", "b"]
    >>> ranker = RankBoostPlus(n_estimators=20).fit(X, [2, 1, 0, 1, 0], qid=qid)
    >>> ranker.rank(X, qid=qid).tolist()
    [1, 2, 3, 1, 2]
    """

    bounded_risk = "R2"
    takes_judges = True

    learning_rate: float = parameter(
        text="Factor on every weight, in (0, 1]. With 1, as in the paper, every round makes E2 "
        "smaller by ``sqrt(1 - delta^2)``, and its theorem 2 holds.",
        default=1.0,
        kw_only=False,
    )
    search: str = parameter(
        one_of("efficient", "optimal"),
        '"efficient": the paper\'s algorithm 2. The steepest ranker is taken, new or in use; the '
        "first time that it is a combination of those in use, the set gains all that is "
        'independent of it and stays as it is. "optimal": combinations stay on offer, as '
        "directions over the rankers in use. Slower.",
        default="efficient",
    )
    static_after: int | None = parameter(
        none_or(at_least(0)),
        'Make the set static after so many rounds if nothing did before ("efficient").',
        default=None,
    )
    max_static: int | None = parameter(
        none_or(at_least(1)),
        "Members at which a set that is made static stops growing; None: as many as there are.",
        default=None,
    )
    max_pairs: int | None = parameter(
        none_or(at_least(1)),
        "Learn from a random sample of so many pairs where there are more.",
        default=None,
    )
    weak: str = parameter(
        replace(
            one_of("stump", "column"),
            remedy="RankBoost+ needs a finite set of weak rankers of 0 and 1; for trees use "
            "RankBoost(weak='tree').",
        ),
        "Stumps, or columns of 0 and 1 that are weak rankers already.",
        default="stump",
    )
    default_rank: str | int = parameter(
        text="Score of a weak ranker where its feature abstains (NaN).", default="learned"
    )
    random_state: RandomState = parameter(
        text="Seeds max_pairs, the order in which a set becomes static, random thresholds, "
        "validation_fraction and validation_folds.",
        default=0,
    )
    # All pairs count in every round, and a run is not continued.
    subsample: float = fixed(default=1.0)
    n_bags: int = fixed(default=1)
    warm_start: bool = fixed(default=False)

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
        rules = PlusRules(
            self.search,
            self.weak == "column",
            self.default_rank,
            self.max_bins,
            self.max_pairs,
            self.static_after,
            self.max_static,
            self.learning_rate,
            self.on_perfect == "stop",
            self._drawn_by(),
        )
        with one_blas_thread():  # (products with one vector at a time)
            ensemble = boost_plus(
                training,
                feedback,
                rules,
                rounds=rounds,
                seed=seed,
                watch=watch,
                record_risks=self.record_risks,
                progress=progress,
            )
        self.basis_, self.eta_ = tuple(ensemble.basis), ensemble.eta
        self.static_round_, self.n_pairs_ = ensemble.static_round, ensemble.n_pairs
        return ensemble
