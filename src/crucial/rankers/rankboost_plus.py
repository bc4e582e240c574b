"""RankBoost+ (Connamacher, Pancha, Liu & Ray 2019): boosting on E2, which counts ties half."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from crucial.boosting.loop import Ensemble, Progress, Round, TrainingRows
from crucial.boosting.steps import half_log_ratio
from crucial.boosting.watch import Watch
from crucial.feedback.base import Feedback, smoothing_of
from crucial.kernels.elementary import dot, exp
from crucial.kernels.pairs import PlusSums
from crucial.kernels.runtime import one_blas_thread
from crucial.model.weak import WeakRankerLike
from crucial.parameters import at_least, fixed, none_or, one_of, parameter, with_parameters
from crucial.rankers.base import MAX_BINS
from crucial.rankers.boosted import DEFAULT_RANK, THRESHOLDS, BoostedRanker
from crucial.rankers.plus_search import (
    Candidates,
    Direction,
    EfficientSearch,
    OptimalSearch,
    PairList,
    PlusWeights,
    check_columns,
    line_search,
    list_pairs,
)
from crucial.rankers.resampling import LoopInput
from crucial.types import Bytes, Floats

# --- RankBoost+ (Connamacher, Pancha, Liu & Ray 2019): boosting on E2, which counts ties half
#
# A round moves along a {0, 1} weak ranker h with cumulative weight eta: with
# ``delta = -W+ + W- + W0 tanh(eta)``, its weight grows by ``.5 ln((1 - delta) / (1 + delta))``
# (equation 34 written with ``W+ + W- + W0 = 1``), and E2 falls by exactly
# ``Z = sqrt(1 - delta^2)``: the steepest ranker is the one with the largest drop. It does not fit
# into `crucial.boosting.loop`: each ranker weighs a tie on its own, so that weights belong to
# pairs and not to rows.


@dataclass(frozen=True)
class PlusRules:
    """The choices of RankBoost+: how it searches, and how far a step goes.

    Attributes
    ----------
    search : {"efficient", "optimal"}
        Algorithm 2, or all directions in the span of the rankers in use as well.
    columns : bool
        Whether features are {0, 1} weak rankers already, instead of being cut into stumps.
    default_rank : {"learned", 0, 1}
    max_bins, max_pairs, static_after, max_static : int or None
    rate : float
        Factor on every weight.
    stop_when_perfect : bool
        End at a round whose best weight is infinite, instead of smoothing it.
    drawn_by : int or None
        Seed to draw thresholds at random; None for quantiles.
    """

    search: str = "efficient"
    columns: bool = False
    default_rank: str | int = "learned"
    max_bins: int | None = 255
    max_pairs: int | None = None
    static_after: int | None = None
    max_static: int | None = None
    rate: float = 1.0
    stop_when_perfect: bool = False
    drawn_by: int | None = None


@dataclass
class PlusEnsemble(Ensemble):
    """The ensemble of RankBoost+.

    Attributes
    ----------
    basis : list of weak rankers
        The independent set S.
    eta : array of the same length
        Their cumulative weights; E2 is F2 of these.
    static_round : int or None
        Round, from 1, from which on S was static.
    n_pairs : int
        Pairs that were learned from.
    """

    basis: list[WeakRankerLike] = field(default_factory=list)
    eta: Floats = field(default_factory=lambda: np.zeros(0))
    static_round: int | None = None
    n_pairs: int = 0


class _Move(NamedTuple):
    """What a round did: its weak ranker and weight, ``W+ - W-`` and delta before it, ln Z."""

    ranker: WeakRankerLike
    alpha: float
    r: float
    delta: float
    log_z: float


def boost_plus(
    training: TrainingRows,
    feedback: Feedback,
    rules: PlusRules,
    *,
    rounds: int,
    seed: int = 0,
    watch: Watch | None = None,
    record_risks: bool = False,
    progress: Progress | None = None,
) -> PlusEnsemble:
    """Add weak rankers until the rounds are done, none helps, or early stopping ends them.

    The trace has the columns of `crucial.boosting.loop.boost`, its loss being E2, and
    ``delta``, ``e1`` and ``e2`` of every round.
    """
    run = _Run(training, feedback, rules, seed)
    if watch is not None:
        watch.prepare(run.bins, training.threads)
    ensemble = PlusEnsemble(bins=run.bins, n_pairs=run.pairs.n_pairs)
    for number in range(rounds):
        began = time.perf_counter()
        move = run.next(number)
        if isinstance(move, str):
            ensemble.trace.stopped = move
            break
        r1, r2 = run.weights.risks(run.scores) if record_risks else (None, None)
        losses = {"e1": run.weights.log_e1, "e2": run.weights.log_e2}
        ensemble.add(
            Round(
                move.ranker,
                move.alpha,
                move.r,
                exp(move.log_z),
                run.weights.log_e2,
                r1,
                r2,
                measures={} if watch is None else watch.advance(move.ranker, move.alpha),
                extras={"delta": move.delta, **{k: exp(v) for k, v in losses.items()}},
                seconds=time.perf_counter() - began,
            ),
            progress,
        )
        if watch is not None and watch.done:
            ensemble.trace.stopped = "early stopping"
        if ensemble.trace.stopped:
            break
    run.finish(ensemble)
    return ensemble


class _Run:
    """The state of one call: pairs, candidates, weights and scores."""

    def __init__(
        self, training: TrainingRows, feedback: Feedback, rules: PlusRules, seed: int
    ) -> None:
        self.rules = rules
        if rules.columns:
            check_columns(training.instances, training.rows)
        self.pairs: PairList = list_pairs(feedback, rules.max_pairs, seed)
        self.bins = training.binned(rules.max_bins, rules.drawn_by)
        kernels = PlusSums(self.pairs.start, self.pairs.low, training.threads)
        component = self.pairs.component
        self.candidates = Candidates(
            self.bins, component, rules.default_rank, rules.columns, kernels
        )
        self.weights = PlusWeights(self.pairs, kernels)
        self.search: EfficientSearch | OptimalSearch
        if rules.search == "optimal":
            self.search = OptimalSearch(self.candidates, self.weights, component)
        else:
            self.search = EfficientSearch(
                self.candidates, self.weights, component, seed, rules.static_after, rules.max_static
            )
        self.scores = np.zeros(self.pairs.n_rows)
        self._smoothing = 0.0 if rules.stop_when_perfect else smoothing_of(feedback.total)
        self._rankers: dict[int, WeakRankerLike] = {}

    def ranker(self, number: int) -> WeakRankerLike:
        """Return a candidate as it goes into the model, made once."""
        if number not in self._rankers:
            self._rankers[number] = self.candidates.ranker(number)
        return self._rankers[number]

    def next(self, number: int) -> _Move | str:
        """Choose, weigh and move; or return why not."""
        choice = self.search.propose(number)
        if choice is None:
            return "no weak ranker helps"
        output = self.candidates.output(choice.number)
        if choice.beta is None:  # equation 34
            delta = min(1.0, max(-1.0, choice.delta))
            best = half_log_ratio((1.0 - delta) / 2.0, (1.0 + delta) / 2.0, self._smoothing)
        else:
            best = line_search(self.weights, choice.beta, output, self._smoothing)
        if best is None:
            return "perfect weak ranker"
        if best == 0.0:
            return "no weak ranker helps"
        alpha = self.rules.rate * best
        r = choice.slope
        if r is None:
            r = dot(self.weights.potentials, output)
        log_z = self._move(choice, output, alpha)
        self.scores += alpha * output
        return _Move(self.ranker(choice.number), alpha, r, choice.delta, log_z)

    def _move(self, choice: Direction, output: Bytes, alpha: float) -> float:
        """Let the weights follow; return the logarithm of Z."""
        if choice.beta is None:
            place = choice.place if choice.place >= 0 else self.weights.add(output)
            return self.weights.step(place, output, alpha)
        log_z = 0.0
        for place in np.flatnonzero(choice.beta).tolist():
            column = self.weights.used[:, place].astype(np.uint8)
            log_z += self.weights.step(place, column, alpha * float(choice.beta[place]))
        return log_z

    def finish(self, ensemble: PlusEnsemble) -> None:
        """Set the independent set, its weights and the first static round."""
        members = self.search.members
        ensemble.basis = [self.ranker(number) for number in members]
        ensemble.eta = np.zeros(len(members))
        ensemble.eta[: self.weights.size] = self.weights.eta
        first = self.search.static_round
        ensemble.static_round = None if first is None else first + 1


# --- RankBoost+, as a scikit-learn estimator


@with_parameters
class RankBoostPlus(BoostedRanker):
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
    thresholds: str = THRESHOLDS
    default_rank: str | int = DEFAULT_RANK
    max_bins: int | None = MAX_BINS
    # All pairs count in every round, and a run is not continued.
    subsample: float = fixed(default=1.0)
    n_bags: int = fixed(default=1)
    warm_start: bool = fixed(default=False)

    def _boost(self, run: LoopInput) -> Ensemble:
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
            self._drawn_by(self.thresholds),
        )
        with one_blas_thread():  # (products with one vector at a time)
            ensemble = boost_plus(
                run.training,
                run.feedback,
                rules,
                rounds=run.rounds,
                seed=run.seed,
                watch=run.watch,
                record_risks=self.record_risks,
                progress=run.progress,
            )
        self.basis_, self.eta_ = tuple(ensemble.basis), ensemble.eta
        self.static_round_, self.n_pairs_ = ensemble.static_round, ensemble.n_pairs
        return ensemble
