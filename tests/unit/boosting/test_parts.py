"""Parts that are incomplete, do not fit together or break their contract are refused."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from crucial import GradientRanker, RankBoost
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
from crucial.boosting.steps import LINE_STEPS, STEPS, BoundStep, LineStep, NumericStep
from crucial.boosting.stumps import StumpLearner, VoteLearner
from crucial.data import Instances
from crucial.data.groups import Groups
from crucial.errors import NoProgressWarning, ParameterError
from crucial.feedback import LabelFeedback
from crucial.model.weak import Presence
from crucial.parameters import parameters_of
from crucial.rankers import LogisticRanker, PNormPush, SmoothMarginRanker
from refusals import refused

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


@pytest.mark.parametrize(("parts", "message"), [
    (
        {"learner": OnlyProposes()},
        "the weak learner OnlyProposes lacks prepare, accept, apply_weight, reset_bounds, "
        "restore. Define .* or derive the class from crucial.boosting.loop.WeakLearner",
    ),
    ({"objective": OnlyBegins()}, "the objective OnlyBegins lacks notes.*boosting.loop.Obj"),
    ({"step": lambda c, p: 0.5}, "the step rule function lacks accept, notes.*loop.StepRule"),
    ({"step": object()}, "the step rule object lacks __call__, accept, notes"),
    ({"learner": StumpLearner}, r"StumpLearner is a class. Pass an instance: StumpLearner\(\)"),
])  # fmt: skip
def test_a_part_without_a_method_is_refused_by_name(parts: Any, message: str):
    refused(ParameterError, message, boosted, **parts)


@pytest.mark.parametrize(("parts", "message"), [
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
])  # fmt: skip
def test_a_part_that_needs_more_than_the_objective_has_is_refused(parts: Any, message: str):
    refused(ParameterError, message, boosted, **parts)


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
    for ranker, name, register in (
        (GradientRanker, "loss", LOSSES),
        (RankBoost, "step", STEPS),
        (LogisticRanker, "step", LINE_STEPS),
        (PNormPush, "step", LINE_STEPS),
    ):
        declared = parameters_of(ranker)[name]
        assert [one for one in declared.rule.choices if one is not None] == list(register)
        for key, entry in register.items():
            assert entry.name == key
            assert f'"{key}": {entry.about}.' in declared.text
            assert ranker(**{name: key})._parts(FEEDBACK)
    assert {one.parted for one in LOSSES.values()} <= {"pairs", "logistic", "rows"}
    assert all(one.parted is True for one in STEPS.values())
    texts = parameters_of(GradientRanker)
    for key, loss in LOSSES.items():
        assert (f'"{key}"' in texts["balance"].text) == loss.takes_balance
        assert (f'"{key}"' in texts["gain"].text) == bool(loss.default_gain)
    assert {*LINE_STEPS} <= {*STEPS}
    assert {one.scores for one in STEPS.values()} == {"binary", "unit", "any"}


# -- A user's weak learner that breaks its contract is told so, at once. --
@dataclass(frozen=True)
class Above:
    """1 above a threshold; times ``height``, for those who want other scores."""

    feature: int
    threshold: float
    height: float = 1.0

    def scores(self, X: Any, groups: Any = None) -> NDArray[np.float64]:
        return self.height * (X[:, self.feature] > self.threshold)


class Medians:
    """Offers every feature cut at its median."""

    def __init__(self, height: float = 1.0) -> None:
        self.height = height

    def prepare(self, training: Any, constraints: Any, step: Any) -> None:
        table = training.instances.table
        table = table.toarray() if training.instances.is_sparse else table
        cuts = np.median(table, axis=0)
        self.rankers = [Above(j, float(cut), self.height) for j, cut in enumerate(cuts)]
        self.outputs = np.array([one.scores(table[training.rows]) for one in self.rankers])

    def propose(self, potentials: Any) -> Any:
        slopes = self.outputs @ potentials.pi[: self.outputs.shape[1]] * potentials.scale
        best = int(np.argmax(np.abs(slopes)))
        return Candidate(self.rankers[best], self.outputs[best], float(slopes[best]))

    def accept(self, candidate: Any, alpha: float) -> None:
        pass


class Changed(Medians):
    """The same, with something wrong."""

    def __init__(self, change: Any) -> None:
        super().__init__()
        self.change = change

    def propose(self, potentials: Any) -> Any:
        return self.change(super().propose(potentials))


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any, Any]:
    random = np.random.default_rng(2)
    X = random.normal(size=(120, 3))
    y = (X[:, 0] + X[:, 1] + random.normal(size=120) > 0).astype(int)
    return X, y, random.integers(0, 6, 120)


@pytest.mark.parametrize(("change", "said"), [
    (lambda c: (c.ranker, c.output), "propose must return a Candidate or None. Got tuple"),
    (lambda c: replace(c, output=c.output[1:]), r"one number for each of the 120 training"),
    (lambda c: replace(c, output=c.output[None]), r"float64 values of shape \(1, 120\)"),
    (lambda c: replace(c, output=c.output.astype(str)), r"Got <U32 values"),
    (lambda c: replace(c, output=np.where(c.output, np.nan, 0)), "must be finite.*Got nan"),
    (lambda c: replace(c, output=2 * c.output), r"scores in \[0, 1\]. Got .* from 0 to 2"),
    (lambda c: replace(c, output=-c.output), r"scores in \[0, 1\]. Got .* from -1 to "),
    (lambda c: replace(c, output=1 - c.output, slope=-c.slope), "predict would not do what"),
    (lambda c: replace(c, ranker=None), r"must have a method scores\(X, groups\). Got NoneTyp"),
    (lambda c: replace(c, slope=2 * c.slope), "the slope of a candidate must be the sum of"),
    (lambda c: replace(c, slope=float("nan")), "the slope of a candidate.* Got nan"),
])  # fmt: skip
def test_broken_contracts(data: Any, change: Any, said: str):
    X, y, qid = data
    with pytest.raises(ParameterError, match=f"the weak learner Changed: .*{said}"):
        RankBoost(n_estimators=3, weak=Changed(change)).fit(X, y, qid=qid)


def test_scores_that_a_step_cannot_take(data: Any):
    X, y, qid = data
    with pytest.raises(ParameterError, match="step='exact' needs weak rankers of 0 and 1"):
        RankBoost(n_estimators=3, step="exact", weak=Medians(0.5)).fit(X, y, qid=qid)
    match = r"step='smooth' needs .* from 0 to 3; scale"
    refused(ParameterError, match, SmoothMarginRanker(3, weak=Medians(3.0)).fit, X, y, qid=qid)
    with pytest.raises(ParameterError, match="step='bound' needs weak rankers with scores in"):
        RankBoost(n_estimators=3, step="bound", weak=Medians(3.0)).fit(X, y, qid=qid)
    # The numeric step finds the weight for any scale: three times the height, a third of it.
    one, three = (
        RankBoost(n_estimators=8, step="numeric", weak=Medians(h)).fit(X, y, qid=qid)
        for h in (1.0, 3.0)
    )
    np.testing.assert_allclose(one.predict(X), three.predict(X), rtol=1e-9)


@pytest.mark.parametrize("kind", [bool, np.float32, np.int64, list])
@pytest.mark.parametrize("step", STEPS)
def test_output_of_any_number_type_is_the_same(data: Any, kind: Any, step: str):
    X, y, qid = data

    def convert(candidate: Candidate) -> Candidate:
        given = candidate.output
        output: Any = given.tolist() if kind is list else given.astype(kind)
        return replace(candidate, output=output)

    plain = RankBoost(n_estimators=5, step=step, weak=Medians()).fit(X, y, qid=qid)
    other = RankBoost(n_estimators=5, step=step, weak=Changed(convert)).fit(X, y, qid=qid)
    assert plain.predict(X).tobytes() == other.predict(X).tobytes()
    assert plain.trace_.column("loss").tolist() == other.trace_.column("loss").tolist()


def test_nothing_to_offer_ends_the_rounds(data: Any):
    X, y, qid = data
    with pytest.warns(NoProgressWarning, match="no round could be made"):
        RankBoost(n_estimators=9, weak=Changed(lambda candidate: None)).fit(X, y, qid=qid)


@pytest.mark.parametrize("weak", ["feature", "column"])
@pytest.mark.parametrize("default", ["learned", 0])
def test_a_constant_that_abstains_elsewhere_ranks_those_rows(weak: str, default: Any) -> None:
    here, y = np.array([1, 1, 0, 0, 1, 0], bool), [2, 1, 0, 1, 1, 0]
    constant = np.where(here, 1.0, np.nan)[:, None]
    found = RankBoost(5, weak=weak, default_rank=default).fit(constant, y)
    filled = here[:, None].astype(float)
    same = RankBoost(5, weak=weak).fit(filled, y)
    np.testing.assert_array_equal(found.predict(constant), same.predict(filled))
    assert np.ptp(found.predict(constant)) > 0.1


def test_a_constant_that_only_a_low_rank_sets_apart() -> None:
    """Where abstaining rows rank as 1 the constant ranks as 0; where nothing is absent it goes."""
    some = np.array([[7.0], [np.nan], [7.0], [np.nan]])
    found = RankBoost(1, weak="feature", default_rank=1).fit(some, [0, 1, 0, 1])
    assert np.diff(found.predict(some[:2]))[0] > 0
    with pytest.warns(NoProgressWarning):
        RankBoost(1, weak="feature").fit(np.full((4, 1), 7.0), [0, 1, 0, 1])


def test_presence_among_equal_criteria() -> None:
    """Before all thresholds of its feature among stumps, after them in boosted trees."""
    X = np.repeat([1.0, 1.0, 2.0, np.nan], 30)[:, None]
    y = np.repeat([0, 1, 1, 0], 30)
    assert RankBoost(1).fit(X, y).model_.rankers == (Presence(0, 0),)
    tree = RankBoost(1, weak="tree", max_leaves=2, min_rows=1).fit(X, y).model_.rankers[0]
    assert tree.thresholds == (1.5,)
