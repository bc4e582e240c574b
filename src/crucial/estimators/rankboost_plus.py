"""RankBoost+, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crucial.boosting.loop import Ensemble, Progress
from crucial.boosting.plus.algorithm import PlusEnsemble, PlusRules, boost_plus
from crucial.boosting.trace import Round
from crucial.boosting.watch import Watch
from crucial.estimators.boosted import BoostedRanker
from crucial.feedback.base import Feedback
from crucial.model.weak import WeakRankerLike
from crucial.types import Floats
from crucial.validation import check_choice, check_integer, check_real
from crucial.weak.base import TrainingRows

__all__ = ["RankBoostPlus"]


class RankBoostPlus(BoostedRanker):
    """RankBoost on a loss that counts a tie half (Connamacher, Pancha, Liu & Ray 2019).

    RankBoost minimises E1, to which a pair that a weak ranker ties is worth 1 whatever the
    ranker's weight. RankBoost+ minimises E2, to which it is worth the mean of a right and a
    wrong pair. E2 bounds R2, the share of wrong pairs plus half of the ties, and orders
    single weak rankers as R2 does. It needs weak rankers of 0 and 1 that are linearly
    independent as vectors over pairs, and one weight for every pair: pairs are listed.

    Parameters
    ----------
    n_estimators : int, default=300
        Rounds.
    learning_rate : float, default=1.0
        Factor on every weight, in (0, 1]. With 1, as in the paper, every round makes E2
        smaller by ``sqrt(1 - delta^2)``, and its theorem 2 holds.
    search : {"efficient", "optimal"}, default="efficient"
        "efficient": the paper's algorithm 2. The steepest ranker is taken, new or in use;
        the first time that it is a combination of those in use, the set gains all that is
        independent of it and stays as it is. "optimal": combinations stay on offer, as
        directions over the rankers in use. Slower.
    static_after : int or None, default=None
        Make the set static after so many rounds if nothing did before ("efficient").
    max_static : int or None, default=None
        Members at which a set that is made static stops to grow; None: as many as there are.
    max_pairs : int or None, default=None
        Learn from a random sample of so many pairs where there are more.
    weak : {"stump", "column"}, default="stump"
        Stumps, or columns of 0 and 1 that are weak rankers already.
    default_rank : {"learned", 0, 1}, default="learned"
        What a weak ranker says where its feature abstains (NaN).
    balance : {"pairs", "queries"}, default="pairs"
        Whether all pairs weigh the same, or all queries do.
    gain : {None, "linear", "exp"}, default=None
        Weigh a pair by the difference of the gains of its labels, y or 2^y - 1.
    on_perfect : {"smooth", "stop"}, default="smooth"
        What to do in a round whose ranker orders every pair right, so that its best weight
        is infinite: smooth the weights by half a pair, or end before it.
    max_bins : int or None, default=255
        Bins a feature; None for one per distinct value.
    early_stopping_rounds : int or None, default=None
        Stop after so many rounds without a better value on the eval set; the first best
        round is what predict uses.
    eval_metric : str, Measure or list of them, optional
        Measured on the eval set after every round; the first decides when to stop.
        Default: "ndcg@10" with queries, "auc" without or with labels below 0.
    validation_fraction : float, default=0.2
        Share of whole queries set aside for early stopping where no eval set is given.
    contradictions : {"keep", "net"}, default="keep"
        For pairs given in both directions: keep both, or their difference.
    record_risks : bool, default=False
        Put R1 and R2 on the training pairs into the trace, every round.
    random_state : int, RandomState or None, default=0
        Seeds max_pairs, the order in which a set becomes static, and validation_fraction.
    n_jobs : int or None, default=None
        Threads; None for all cores. The result is the same for any number.
    verbose : int, default=0
        1 shows a progress bar where standard error is a terminal.

    Attributes
    ----------
    model_ : AdditiveRanker
        What predict uses: the best rounds, if an eval set said which.
    ensemble_ : AdditiveRanker
        All rounds.
    trace_ : Trace
        What happened in every round; its loss is E2, and it has ``delta``, ``e1``, ``e2``.
    basis_ : tuple of weak rankers
        The independent set after the last round.
    eta_ : array, one number a member of the basis
        Their cumulative weights: E2 is F2 of these.
    static_round_ : int or None
        First round in which the set was static.
    n_pairs_ : int
        Pairs that were learned from.
    best_round_ : int
        Rounds in ``model_``.
    feature_importances_ : array of shape (n_features,)
        Share of the absolute weight that went to each feature.
    n_features_in_ : int
    feature_names_in_ : array of str, where X had names

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
    # What the other boosting estimators have and this one has not: all pairs count in every
    # round, and a run is not continued.
    subsample = 1.0
    warm_start = False

    def __init__(
        self,
        n_estimators: int = 300,
        learning_rate: float = 1.0,
        *,
        search: str = "efficient",
        static_after: int | None = None,
        max_static: int | None = None,
        max_pairs: int | None = None,
        weak: str = "stump",
        default_rank: str | int = "learned",
        balance: str = "pairs",
        gain: str | None = None,
        on_perfect: str = "smooth",
        max_bins: int | None = 255,
        early_stopping_rounds: int | None = None,
        eval_metric: Any = None,
        validation_fraction: float = 0.2,
        contradictions: str = "keep",
        record_risks: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.search = search
        self.static_after = static_after
        self.max_static = max_static
        self.max_pairs = max_pairs
        self.weak = weak
        self.default_rank = default_rank
        self.balance = balance
        self.gain = gain
        self.on_perfect = on_perfect
        self.max_bins = max_bins
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.validation_fraction = validation_fraction
        self.contradictions = contradictions
        self.record_risks = record_risks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    basis_: tuple[WeakRankerLike, ...]
    eta_: Floats
    static_round_: int | None
    n_pairs_: int

    def _boost(
        self,
        training: TrainingRows,
        feedback: Feedback,
        watch: Watch | None,
        seed: int,
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
        )
        made: PlusEnsemble = boost_plus(
            training,
            feedback,
            rules,
            rounds=self.n_estimators,
            seed=seed,
            watch=watch,
            record_risks=self.record_risks,
            progress=progress,
        )
        self.basis_, self.eta_ = tuple(made.basis), made.eta
        self.static_round_, self.n_pairs_ = made.static_round, made.n_pairs
        return made

    def _check_parameters(self) -> None:
        self._check_common()
        owner = type(self).__name__
        check_real(owner, "learning_rate", self.learning_rate, 0.0, 1.0, low_open=True)
        check_choice(owner, "search", self.search, ["efficient", "optimal"])
        check_integer(owner, "static_after", self.static_after, 0, none=True)
        check_integer(owner, "max_static", self.max_static, 1, none=True)
        check_integer(owner, "max_pairs", self.max_pairs, 1, none=True)
        check_choice(owner, "weak", self.weak, ["stump", "column"])
        check_choice(owner, "default_rank", self.default_rank, ["learned", 0, 1])
        check_choice(owner, "on_perfect", self.on_perfect, ["smooth", "stop"])
        check_integer(owner, "max_bins", self.max_bins, 2, 65535, none=True)
