"""A user's weak learner that breaks its contract is told so, at once."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from crucial import RankBoost
from crucial.boosting.loop import Candidate
from crucial.errors import ParameterError


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


@pytest.mark.parametrize(
    ("change", "said"),
    [
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
    ],
)
def test_broken_contracts(data: Any, change: Any, said: str):
    X, y, qid = data
    with pytest.raises(ParameterError, match=f"the weak learner Changed: .*{said}"):
        RankBoost(n_estimators=3, weak=Changed(change)).fit(X, y, qid=qid)


def test_scores_that_a_step_cannot_take(data: Any):
    X, y, qid = data
    with pytest.raises(ParameterError, match="step='exact' needs weak rankers of 0 and 1"):
        RankBoost(n_estimators=3, step="exact", weak=Medians(0.5)).fit(X, y, qid=qid)
    with pytest.raises(ParameterError, match="step='bound' needs weak rankers with scores in"):
        RankBoost(n_estimators=3, step="bound", weak=Medians(3.0)).fit(X, y, qid=qid)
    # The numeric step finds the weight for any scale: three times the height, a third of it.
    one, three = (
        RankBoost(n_estimators=8, step="numeric", weak=Medians(h)).fit(X, y, qid=qid)
        for h in (1.0, 3.0)
    )
    np.testing.assert_allclose(one.predict(X), three.predict(X), rtol=1e-9)


@pytest.mark.parametrize("kind", [bool, np.float32, np.int64, list])
@pytest.mark.parametrize("step", ["bound", "exact", "numeric"])
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


def test_nothing_left_to_offer_ends_the_rounds(data: Any):
    X, y, qid = data

    class Once(Medians):
        def propose(self, potentials: Any) -> Any:
            return None if hasattr(self, "done") else super().propose(potentials)

        def accept(self, candidate: Any, alpha: float) -> None:
            self.done = True

    ranker = RankBoost(n_estimators=9, weak=Once()).fit(X, y, qid=qid)
    assert len(ranker.trace_) == 1
    assert ranker.trace_.stopped == "no weak ranker helps"
