"""Parts that are incomplete, or do not fit together, are refused before the first round."""

from typing import Any

import numpy as np
import pytest

from crucial import GradientRanker, Instances, LabelFeedback, RankBoost
from crucial.boosting.loop import (
    Candidate,
    ExponentialLoss,
    Objective,
    StepRule,
    TrainingRows,
    WeakLearner,
    boost,
)
from crucial.boosting.pair_losses import LogisticLoss
from crucial.boosting.row_losses import LOSSES
from crucial.boosting.steps import STEPS, BoundStep, LineStep, NumericStep
from crucial.boosting.stumps import StumpLearner, VoteLearner
from crucial.data.groups import Groups
from crucial.errors import ParameterError
from crucial.parameters import parameters_of

X = np.array([[3.0, 1.0], [2.0, 0.0], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
Y = [1, 1, 0, 1, 0]
FEEDBACK = LabelFeedback(Y)
TRAINING = TrainingRows(Instances.from_input(X), FEEDBACK.rows, None, Groups.single(5), 1)


def boosted(
    objective: Any = None, learner: Any = None, step: Any = None, rounds: int = 3, **more: Any
) -> Any:
    parts = (objective or ExponentialLoss(), learner or StumpLearner(), step or BoundStep())
    return boost(TRAINING, FEEDBACK, *parts, rounds=rounds, **more)


class Column(WeakLearner):
    """The least that a learner of one's own has to be."""

    def prepare(self, training: Any, constraints: Any, step: Any) -> None:
        self.output = self.scores(training.instances.table[training.rows])

    def propose(self, potentials: Any) -> Candidate:
        slope = float(potentials.pi[: len(self.output)] @ self.output) * potentials.scale
        return Candidate(self, self.output, slope)

    def scores(self, table: Any, groups: Any = None) -> Any:
        return table[:, 0] / 4.0


class Half(StepRule):
    """The least that a step rule of one's own has to be."""

    def __call__(self, candidate: Any, potentials: Any) -> float:
        return 0.5


class Doubled(Objective):
    """The least that an objective of one's own has to be."""

    def begin(self, feedback: Any, threads: int) -> Any:
        return feedback.state(threads=threads)


def test_base_classes_leave_little_to_write():
    ensemble = boosted(Doubled(), Column(), Half())
    assert ensemble.weights == [0.5] * 3
    assert [one.extras for one in ensemble.trace] == [{}] * 3
    continued = boosted(Doubled(), Column(), Half(), rounds=5, earlier=list(ensemble.trace))
    assert continued.scores.tobytes() == boosted(Doubled(), Column(), Half(), 5).scores.tobytes()
    assert boosted(Doubled(), Column(), Half(), subsample=0.5).weights == [0.5] * 3


class OnlyProposes:
    def propose(self, potentials: Any) -> None:
        raise AssertionError("a round was begun")


class OnlyBegins:
    def begin(self, feedback: Any, threads: int) -> None:
        raise AssertionError("a round was begun")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"learner": OnlyProposes()},
            "the weak learner OnlyProposes lacks prepare, accept, apply_weight, reset_bounds, "
            "restore. Define .* or derive the class from crucial.boosting.loop.WeakLearner",
        ),
        ({"objective": OnlyBegins()}, "the objective OnlyBegins lacks notes.*boosting.loop.Obj"),
        ({"step": lambda c, p: 0.5}, "the step rule function lacks accept, notes.*loop.StepRule"),
        ({"step": object()}, "the step rule object lacks __call__, accept, notes"),
        ({"learner": StumpLearner}, r"StumpLearner is a class. Pass an instance: StumpLearner\(\)"),
    ],
)
def test_a_part_without_a_method_is_refused_by_name(parts: Any, message: str):
    with pytest.raises(ParameterError, match=message):
        boosted(**parts)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"step": LineStep()}, "LineStep needs an objective whose state has line, .* Exponential"),
        (
            {"objective": LogisticLoss(), "step": NumericStep()},
            "NumericStep needs .* has moments, copy, and that of LogisticLoss does not",
        ),
        (
            {"objective": LogisticLoss(), "learner": StumpLearner("largest_drop")},
            "StumpLearner needs .* has prepare_scan, wrong_weights",
        ),
        ({"learner": VoteLearner(StumpLearner())}, "VoteLearner needs .* has net, and that of Exp"),
    ],
)
def test_a_part_that_needs_more_than_the_objective_has_is_refused(parts: Any, message: str):
    with pytest.raises(ParameterError, match=message):
        boosted(**parts)


def test_an_incomplete_weak_learner_is_refused_by_the_estimator():
    class Incomplete:
        def prepare(self, training: Any, constraints: Any, step: Any) -> None:
            raise AssertionError("the data was looked at")

        def propose(self, potentials: Any) -> None:
            raise AssertionError("a round was begun")

    with pytest.raises(ParameterError, match=r"the weak learner Incomplete lacks accept\. Define"):
        RankBoost(weak=Incomplete()).fit(X, Y)
    with pytest.raises(ParameterError, match=r"Column is a class. Pass an instance: Column\(\)"):
        RankBoost(weak=Column).fit(X, Y)


def test_a_derived_weak_learner_works_in_the_estimator():
    ranker = RankBoost(3, weak=Column(), subsample=0.9).fit(X, Y)
    assert len(ranker.trace_) == 3


def test_an_abstract_learner_cannot_be_made():
    class Nothing(WeakLearner):
        pass

    with pytest.raises(TypeError, match=r"prepare.*propose"):
        Nothing()  # type: ignore[abstract]


def test_registers_and_what_is_derived_from_them_agree():
    """Every loss and step rule describes itself; rankers, documentation and clusters follow."""
    for ranker, name, register in ((GradientRanker, "loss", LOSSES), (RankBoost, "step", STEPS)):
        declared = parameters_of(ranker)[name]
        assert [one for one in declared.rule.choices if one is not None] == list(register)
        for key, entry in register.items():
            assert entry.name == key
            assert f'"{key}": {entry.about}.' in declared.text
            assert ranker(**{name: key})._parts(FEEDBACK)
            assert entry.parted in ((True,) if name == "step" else ("pairs", "logistic", "rows"))
    assert {one.scores for one in STEPS.values()} == {"binary", "unit", "any"}
