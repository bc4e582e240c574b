"""RankBoost+ (Connamacher, Pancha, Liu & Ray 2019): boosting on E2, which counts ties half.

A round moves along a {0, 1} weak ranker h with cumulative weight eta: with
``delta = -W+ + W- + W0 tanh(eta)``, its weight grows by ``.5 ln((1 - delta) / (1 + delta))``
(equation 34 written with ``W+ + W- + W0 = 1``), and E2 falls by exactly
``Z = sqrt(1 - delta^2)``: the steepest ranker is the one with the largest drop. It does not fit
into `crucial.boosting.loop`: each ranker weighs a tie on its own, so that weights belong to
pairs and not to rows.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from crucial.boosting.loop import Ensemble
from crucial.boosting.parts import TrainingRows
from crucial.boosting.plus.candidates import Candidates, check_columns
from crucial.boosting.plus.optimal import OptimalSearch, line_search
from crucial.boosting.plus.pairs import PairList, list_pairs
from crucial.boosting.plus.search import Direction, EfficientSearch
from crucial.boosting.plus.weights import PlusWeights
from crucial.boosting.steps import half_log_ratio
from crucial.boosting.trace import Progress, Round
from crucial.boosting.watch import Watch
from crucial.feedback.base import Feedback, smoothing_of
from crucial.kernels.elementary import dot, exp
from crucial.kernels.pairs import PlusSums
from crucial.model.weak import WeakRankerLike
from crucial.types import Bytes, Floats

__all__ = ["PlusEnsemble", "PlusRules", "boost_plus"]


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
