"""The one loop: potentials, weak ranker, weight, scores."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crucial.boosting.trace import Round, Trace
from crucial.boosting.watch import Watch
from crucial.data.bins import Bins
from crucial.feedback.base import Feedback, exp_or_inf
from crucial.feedback.potentials import Potentials
from crucial.model.weak import WeakRankerLike
from crucial.objectives.base import Objective
from crucial.types import Floats
from crucial.weak.base import Candidate, Constraints, StepRule, TrainingRows, WeakLearner

__all__ = ["Ensemble", "boost"]

FREE = Constraints()

Progress = Callable[[int, Trace], None]


@dataclass
class Ensemble:
    """What the loop made.

    Attributes
    ----------
    rankers, weights : the ensemble, round by round
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
    """Add weak rankers until the rounds are done, nothing helps, or the watch says stop.

    Parameters
    ----------
    training, feedback : what to learn from
    objective, learner, step : the parts that make the algorithm
        An objective or step with a method ``notes(potentials)`` puts what it returns, names
        and numbers, into the trace after every round.
    rounds : int
        Length of the whole ensemble, earlier rounds included.
    constraints : Constraints
        Holds the learning rate too.
    subsample : float
        Share of the queries that count in a round, drawn anew each time.
    earlier : rounds of an earlier call on the same data
        They are played again, not searched for again: what follows is to the byte what
        one longer call would have done.
    """
    made = Ensemble()
    made.bins = learner.prepare(training, constraints, step)
    potentials = objective.begin(feedback, training.threads)
    if watch is not None:
        watch.prepare(made.bins, training.threads)
    for number in range(rounds):
        began = time.perf_counter()
        if subsample < 1.0:
            # Seeded by round, so that a continued run draws what a long one would.
            potentials.pairs.draw(subsample, np.random.default_rng([seed, number]))
            potentials.draws += 1
            objective.renew(potentials)
        before = potentials.log_loss
        found = _next(number, earlier, learner, step, potentials, training, constraints.rate)
        if isinstance(found, str):
            made.trace.stopped = found
            break
        candidate, alpha = found
        potentials.pairs.advance(candidate.output, alpha)
        potentials.norm += abs(alpha)
        learner.accept(candidate, alpha)
        objective.renew(potentials)
        r1, r2 = potentials.pairs.risks() if record_risks else (None, None)
        measures = {}
        if watch is not None:
            watch.advance(candidate.ranker, alpha)
            measures = watch.look()
        made.rankers.append(candidate.ranker)
        made.weights.append(alpha)
        made.trace.add(
            Round(
                candidate.ranker,
                alpha,
                candidate.slope,
                exp_or_inf(potentials.log_loss - before),
                potentials.log_loss,
                r1,
                r2,
                measures=measures,
                extras={**_notes(objective, potentials), **_notes(step, potentials)},
                seconds=time.perf_counter() - began,
            )
        )
        if progress is not None:
            progress(number + 1, made.trace)
        if watch is not None and watch.done:
            made.trace.stopped = "early stopping"
            break
    made.scores = potentials.pairs.scores
    return made


def _notes(part: Any, potentials: Potentials) -> dict[str, float]:
    """What a part has to tell of the round, if it tells anything."""
    tell = getattr(part, "notes", None)
    return {} if tell is None else tell(potentials)


def _next(
    number: int,
    earlier: Sequence[Round],
    learner: WeakLearner,
    step: StepRule,
    potentials: Potentials,
    training: TrainingRows,
    rate: float,
) -> tuple[Candidate, float] | str:
    """The candidate of this round and its weight, or why there is none."""
    if number < len(earlier):
        played = earlier[number]
        replay = getattr(learner, "replay", None)
        if replay is not None:
            return replay(played.ranker, played.r), played.alpha
        table = training.instances.table
        dense = table.toarray() if training.instances.is_sparse else table
        output = played.ranker.scores(dense, training.groups)[training.rows]
        return Candidate(played.ranker, output, played.r), played.alpha
    candidate = learner.propose(potentials)
    if candidate is None:
        return "no weak ranker helps"
    alpha = step(candidate, potentials)
    if alpha is None:
        return "perfect weak ranker"
    if alpha == 0.0:
        return "no weak ranker helps"
    return candidate, rate * alpha
