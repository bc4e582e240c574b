"""Which pairs of features trees of two features may combine: those that gain most in a trial."""

from __future__ import annotations

from collections.abc import Iterable

from crucial.boosting.loop import FREE, boost
from crucial.feedback.base import Feedback
from crucial.model.weak import Tree, WeakRankerLike
from crucial.objectives.base import Objective
from crucial.weak.base import Constraints, StepRule, TrainingRows
from crucial.weak.trees import TreeLearner

__all__ = ["best_pairs", "gains_of_pairs"]

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
