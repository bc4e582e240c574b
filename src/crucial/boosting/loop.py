"""The one loop: potentials, weak ranker, weight, scores; and the choice of pairs of features."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from crucial.boosting.parts import (
    Candidate,
    Constraints,
    Objective,
    StepRule,
    TrainingRows,
    WeakLearner,
    check_needs,
    check_parts,
)
from crucial.boosting.trace import STOPPED, Progress, Round, Trace
from crucial.boosting.trees import TreeLearner
from crucial.boosting.watch import Watch
from crucial.data.bins import Bins
from crucial.feedback.base import Feedback, Potentials
from crucial.kernels.elementary import exp
from crucial.model.weak import Tree, WeakRankerLike
from crucial.types import Floats

# --- The one loop: potentials, weak ranker, weight, scores


FREE = Constraints()


@dataclass
class Ensemble:
    """Weak rankers and their weights, with what happened in every round.

    Attributes
    ----------
    rankers, weights : lists, one entry per round
    trace : Trace
    bins : Bins or None
        As made by the weak learner.
    scores : array over ``feedback.rows``
        Of the whole ensemble.
    """

    rankers: list[WeakRankerLike] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    trace: Trace = field(default_factory=Trace)
    bins: Bins | None = None
    scores: Floats = field(default_factory=lambda: np.zeros(0))

    def add(self, entry: Round, progress: Progress | None) -> None:
        """Append the weak ranker of a round, and report it; ``trace.stopped`` says if to stop."""
        self.rankers.append(entry.ranker)
        self.weights.append(entry.alpha)
        self.trace.add(entry)
        if progress is not None and progress(len(self.rankers), self.trace):
            self.trace.stopped = STOPPED


def boost(
    training: TrainingRows,
    feedback: Feedback,
    objective: Objective,
    learner: WeakLearner,
    step: StepRule,
    *,
    rounds: int,
    constraints: Constraints = FREE,
    subsample: float = 1.0,
    seed: int = 0,
    watch: Watch | None = None,
    record_risks: bool = False,
    progress: Progress | None = None,
    earlier: Sequence[Round] = (),
) -> Ensemble:
    """Add weak rankers until the rounds are done, none helps, or early stopping ends them.

    A round after which the objective is infinite is not added: the scores have diverged.

    Parameters
    ----------
    training, feedback : the data
    objective, learner, step : the parts that make the algorithm
        A part that lacks a method is refused before the first round.
    rounds : int
        Length of the whole ensemble, earlier rounds included.
    constraints : Constraints
        Includes the learning rate.
    subsample : float
        Share of the queries that count in a round, drawn anew each time.
    watch : Watch, optional
        The eval set, which decides about early stopping.
    earlier : rounds of an earlier call on the same data
        They are replayed without a search. What follows is to the byte what one longer
        call would have done.
    """
    check_parts(objective, learner, step)
    ensemble = Ensemble(bins=learner.prepare(training, constraints, step))
    potentials = Potentials(objective.begin(feedback, training.threads), training.threads)
    check_needs(objective, learner, step, potentials.pairs)
    if watch is not None:
        watch.prepare(ensemble.bins, training.threads)
    for number in range(rounds):
        began = time.perf_counter()
        if subsample < 1.0:
            # Seeded by round, so that a continued run draws what a long one would.
            potentials.draw(subsample, np.random.default_rng([seed, number]))
            learner.forget()
        before = potentials.log_loss
        if number < len(earlier):
            found = _replayed(earlier[number], learner, training)
        else:
            found = _next(learner, step, potentials, constraints.rate)
        if isinstance(found, str):
            ensemble.trace.stopped = found
            break
        candidate, alpha = found
        potentials.advance(candidate.output, alpha)
        if potentials.log_loss == math.inf:
            # The model ends with the round before; its scores are not those of the state.
            ensemble.trace.stopped = f"diverged in round {number + 1}"
            return ensemble
        learner.accept(candidate, alpha)
        step.accept(candidate, alpha)
        r1, r2 = potentials.pairs.risks() if record_risks else (None, None)
        ensemble.add(
            Round(
                candidate.ranker,
                alpha,
                candidate.slope,
                exp(potentials.log_loss - before),
                potentials.log_loss,
                r1,
                r2,
                measures={} if watch is None else watch.advance(candidate.ranker, alpha),
                extras={**objective.notes(potentials), **step.notes(potentials)},
                seconds=time.perf_counter() - began,
            ),
            progress,
        )
        if watch is not None and watch.done:
            ensemble.trace.stopped = "early stopping"
        if ensemble.trace.stopped:
            break
    ensemble.scores = potentials.pairs.scores
    return ensemble


def _next(
    learner: WeakLearner, step: StepRule, potentials: Potentials, rate: float
) -> tuple[Candidate, float] | str:
    """Return the candidate of a round and its weight, or why there is none."""
    candidate = learner.propose(potentials)
    if candidate is None:
        return "no weak ranker helps"
    alpha = step(candidate, potentials)
    if alpha is None:
        return "perfect weak ranker"
    if alpha == 0.0:
        return "no weak ranker helps"
    folded, weight = learner.fold(candidate, rate * alpha)
    # (values may be too small for the grid that a learner rounds them to)
    if folded is not candidate and not folded.output.any():
        return "no weak ranker helps"
    return folded, weight


def _replayed(
    entry: Round, learner: WeakLearner, training: TrainingRows
) -> tuple[Candidate, float] | str:
    """Return the candidate of a round of an earlier call and its weight."""
    candidate = learner.replay(entry.ranker, entry.r)
    if candidate is None:
        candidate = Candidate(entry.ranker, training.scored(entry.ranker), entry.r)
    return candidate, entry.alpha


# --- Which pairs of features trees of two features may combine: those that gain most in a trial


#: Rounds of the trial. A number that depends on nothing, so that a continued run has the same
#: pairs as a long one.
TRIAL_ROUNDS = 100


def best_pairs(
    training: TrainingRows,
    feedback: Feedback,
    objective: Objective,
    learner: TreeLearner,
    step: StepRule,
    most: int,
    *,
    constraints: Constraints = FREE,
    subsample: float = 1.0,
    seed: int = 0,
) -> list[tuple[int, int]]:
    """Boost for 100 rounds with all pairs, and return those whose trees gained most.

    Parameters
    ----------
    training, feedback, objective, learner, step, constraints, subsample, seed
        As in `boost`.
    most : int
        How many pairs to return; none of them needs a trial at 0.
    """
    if most == 0:
        return []
    trial = boost(
        training,
        feedback,
        objective,
        learner,
        step,
        rounds=TRIAL_ROUNDS,
        constraints=constraints,
        subsample=subsample,
        seed=seed,
    )
    return list(gains_of_pairs(trial.rankers))[:most]


def gains_of_pairs(rankers: Iterable[WeakRankerLike]) -> dict[tuple[int, int], float]:
    """Return what the trees of each pair of features gained, most first.

    Examples
    --------
    >>> one = Tree((0,), (0.5,), (0,), (~0,), (~1,), (9.0,), (0.0, 1.0))
    >>> two = Tree((0, 1), (0.5, 0.5), (0, 0), (1, ~0), (~2, ~1), (2.0, 1.0), (0.0, 1.0, 2.0))
    >>> gains_of_pairs([one, two, two])
    {(0, 1): 6.0}
    """
    gains: dict[tuple[int, int], float] = {}
    for tree in rankers:
        if not isinstance(tree, Tree):
            continue
        features = sorted(set(tree.features))
        if len(features) == 2:
            pair = features[0], features[1]
            gains[pair] = gains.get(pair, 0.0) + sum(tree.gains)
    return dict(sorted(gains.items(), key=lambda entry: (-entry[1], entry[0])))
