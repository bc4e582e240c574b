"""Bounds: the papers' numbers, their conditions, and that they hold."""

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import crucial
from crucial import RankBoost
from crucial.boosting.loop import Round, Trace
from crucial.cli.app import app
from crucial.errors import NotRankedError, ParameterError
from crucial.feedback import LabelFeedback
from crucial.inspection import guarantees as bounds
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Stump
from naive.paths import quiet
from naive.tables import tables
from refusals import refused

# -- numbers ------------------------------------------------------------------------------


def test_freund_2003_theorem_3():
    bound = bounds.vc_bound(1_000_000, 1_000_000, 2, 10, 0.05)
    assert bound.terms["dimension"] == pytest.approx(323.540359529, abs=5e-10)
    assert bound.value == pytest.approx(0.224631904534, abs=5e-13)
    assert float(bound) == bound.value
    assert bound.terms["lower_class"] == bound.terms["higher_class"] == bound.value / 2
    assert str(bound).startswith("With probability 0.95, the share of misordered pairs")
    assert not bound.vacuous


def test_rudin_schapire_2009_equation_2():
    bound = bounds.margin_bound(10_000_000, 0.25, 1000, 0.1, 0.05)
    assert bound.value == bound.terms["epsilon"] == pytest.approx(0.538376937641, abs=5e-13)
    more = bounds.margin_bound(1e7, 0.25, 1000, 0.1, below=0.125)
    assert more.value == bound.value + 0.125
    assert "at most 66.3% of new crucial pairs are misranked: 12.5% have" in str(more)


def test_rudin_schapire_2009_the_finite_class():
    bound = bounds.finite_class_bound(100_000, 0.25, 1000, 0.05, below=0.1)
    expected = math.sqrt(8 / (100_000 * 0.25**2) * (math.log(2000) + math.log(20)))
    assert bound.terms["epsilon"] == pytest.approx(expected, rel=1e-14)
    assert bound.value == pytest.approx(0.1 + expected)
    assert "that misranks 10% in training" in str(bound)


# -- where they end -----------------------------------------------------------------------


def test_a_bound_of_one_or_more_is_called_vacuous():
    for bound in (
        bounds.vc_bound(1000, 1000, 2, 10),
        bounds.margin_bound(10_000_000, 0.25, 1000, 0.1, below=0.9),
        bounds.finite_class_bound(100, 0.25, 10),
    ):
        assert 1 <= bound.value < math.inf
        assert bound.vacuous
        assert str(bound).startswith("Vacuous: ")
        assert "Vacuous" in repr(bound)


def test_outside_its_conditions_a_bound_is_infinite():
    few = bounds.vc_bound(100, 10**9, 2, 10)
    assert few.value == math.inf
    assert few.vacuous
    assert str(few).startswith("No bound: the ensemble's VC dimension is up to 323.5")
    # The root of theorem 3 is of a negative number here, and of a small positive one there.
    assert bounds.vc_bound(50, 50, 2, 10).value == math.inf
    needed = bounds.margin_bound(10, 0.25, 1000, 0.1).terms["instances_needed"]
    assert needed == pytest.approx(64 * math.log(1000) / (0.25**2 * 0.1**2))
    assert bounds.margin_bound(math.ceil(needed), 0.25, 1000, 0.1).value < math.inf
    below = bounds.margin_bound(math.floor(needed) - 1, 0.25, 1000, 0.1)
    assert below.value == math.inf
    assert str(below).startswith("No bound: a margin of 0.1 needs 7.074e+05 instances")


def test_a_single_weak_ranker_costs_nothing():
    bound = bounds.margin_bound(1000, 0.25, 1, 0.1, 0.05)
    assert bound.value == pytest.approx(math.sqrt(4 / (1000 * 0.25**2) * 2 * math.log(40)))


@pytest.mark.parametrize(("call", "message"), [
    (lambda: bounds.vc_bound(0, 5, 2, 3), "'m' parameter of vc_bound must be a whole number"),
    (lambda: bounds.vc_bound(5, 2.5, 2, 3), "'n' parameter of vc_bound must be a whole"),
    (lambda: bounds.vc_bound(5, math.inf, 2, 3), "'n' parameter of vc_bound must be a whole"),
    (lambda: bounds.vc_bound(5, 5, 1, 3), "'d' parameter of vc_bound .* at least 2"),
    (lambda: bounds.vc_bound(5, 5, 2, True), "'rounds' parameter of vc_bound"),
    (lambda: bounds.vc_bound(5, 5, 2, 3, 1.0), r"'delta' .* a number in \(0, 1\)"),
    (lambda: bounds.vc_bound(5, 5, 2, 3, math.nan), "'delta' parameter of vc_bound"),
    (lambda: bounds.margin_bound(1, 0.2, 5, 0.1), "'m' parameter of margin_bound"),
    (lambda: bounds.margin_bound(9, 0.6, 5, 0.1), r"'crucial_share' .* in \(0, 0.5\]"),
    (lambda: bounds.margin_bound(9, 0.2, 0, 0.1), "'n_rankers' parameter of margin_bound"),
    (lambda: bounds.margin_bound(9, 0.2, 5, 0.0), "'theta' parameter of margin_bound"),
    (lambda: bounds.margin_bound(9, 0.2, 5, 0.1, below=2), "'below' parameter of margin_b"),
    (lambda: bounds.finite_class_bound(9, 0.2, 0.5), "'n_functions' parameter of finite_cl"),
    (lambda: bounds.training_bound("model.json"), "'source' parameter of training_bound"),
    (lambda: bounds.training_bound(Trace(), "theory"), "'by' parameter of training_bound"),
])  # fmt: skip
def test_bad_arguments_are_refused(call, message):
    refused(ParameterError, message, call)


# -- training -----------------------------------------------------------------------------


@given(
    tables(),
    st.sampled_from(["rankboost.2", "rankboost.3", "rb_d", "coordinate_descent"]),
    st.sampled_from([1.0, 0.3]),
)
def test_the_training_bound_holds(table, preset, rate):
    with quiet():
        ranker = table.fit(RankBoost.preset(preset, n_estimators=7, learning_rate=rate))
    feedback = LabelFeedback(
        table.y, crucial.data.Groups.from_qid(table.qid, table.n_rows), weight=table.weight
    )
    r1 = feedback.r1(ranker.predict(table.X))
    bound, slopes = bounds.training_bound(ranker), bounds.training_bound(ranker, by="slopes")
    assert r1 <= bound.value + 1e-12
    assert bound.value == pytest.approx(math.prod(ranker.trace_.column("z")), rel=1e-9)
    assert bound.value <= slopes.value + 1e-12
    if math.isfinite(slopes.value):
        r = ranker.trace_.column("r")
        assert slopes.value == pytest.approx(math.exp(-0.5 * (r**2).sum()), rel=1e-9)
    assert bounds.training_bound(ranker.trace_).value == bound.value
    assert bounds.training_bound(ranker.model_) == bound


def test_without_a_perfect_round_the_papers_steps_obey_the_slopes():
    random = np.random.default_rng(1)
    X, y = random.normal(size=(80, 4)), random.integers(0, 3, 80)
    for preset in ("rankboost.2", "rankboost.3", "rb_c", "rb_d"):
        ranker = RankBoost.preset(preset, n_estimators=25).fit(X, y)
        assert bounds.training_bound(ranker, by="slopes").value < 1
    slow = RankBoost(25, 0.1).fit(X, y)
    bound = bounds.training_bound(slow, by="slopes")
    assert bound.value == math.inf
    assert str(bound).startswith("No bound: in some round Z was above")
    assert bounds.training_bound(slow).value < 1


def test_connamacher_2019_theorem_2():
    """R2 <= exp(-.5 sum delta^2): parts that tell their delta are bounded by it."""
    trace = Trace()
    log_loss = 0.0
    for delta in (0.5, 0.3):
        z = math.sqrt(1 - delta**2)
        log_loss += math.log(z)
        trace.add(Round(Stump(0, 0.5, 0), 0.1, 0.9, z, log_loss, extras={"delta": delta}))
    bound = bounds.training_bound(trace, by="slopes")
    assert bound.value == pytest.approx(math.exp(-0.5 * (0.25 + 0.09)))
    assert bound.name == "training bound on R2"
    assert "in the wrong order, ties by half (exp(-.5 sum delta^2) over 2 rounds)" in str(bound)
    assert bounds.training_bound(trace).value == pytest.approx(math.sqrt(0.75 * 0.91))


def test_a_trace_that_grew_is_vacuous():
    trace = Trace()
    trace.add(Round(Stump(0, 0.5, 0), 0.1, 0.1, 1.5, math.log(1.5)))
    assert str(bounds.training_bound(trace)).startswith("Vacuous: the product of Z over 1 round")
    trace.add(Round(Stump(0, 0.5, 0), 9e3, 0.1, math.inf, 9e3))
    assert bounds.training_bound(trace).value == math.inf
    assert bounds.training_bound(Trace()).value == 1.0


X = np.array([[1, 2], [2, 5], [3, 1], [0, 4], [2, 2]], float)
Y = [0, 1, 0, 1, 1]


def test_the_bound_is_that_of_the_rounds_kept():
    ranker = RankBoost(40).fit(X, Y, eval_set=(X, Y))
    assert ranker.best_round_ < 40
    bound = bounds.training_bound(ranker)
    assert bound.terms["rounds"] == ranker.best_round_
    assert bound.value == ranker.trace_[ranker.best_round_ - 1].loss
    with pytest.raises(NotRankedError, match="cut to other rounds"):
        bounds.training_bound(ranker.truncate(ranker.best_round_ + 3))


@pytest.mark.parametrize("known", [
    None,
    "0.5",
    {},
    {"risk": "R1", "rounds": 1, "log_loss": "low", "squares": None},
    {"risk": "R9", "rounds": 1, "log_loss": -1.0, "squares": None},
    {"risk": "R1", "rounds": 1, "log_loss": -1.0, "squares": [1]},
    {"risk": "R1", "rounds": 2, "log_loss": -1.0, "squares": None},
])  # fmt: skip
def test_a_model_that_does_not_say_how_its_training_went(known):
    model = AdditiveRanker(1, [Stump(0, 0.5, 0)], [1.0], None, {"bound": known})
    refused(NotRankedError, "has no record of its training", bounds.training_bound, model)


# -- show ---------------------------------------------------------------------------------


def test_show_writes_no_infinity(tmp_path):
    path = str(tmp_path / "model.json")
    known = {"risk": "R1", "rounds": 1, "log_loss": 1e6, "squares": None}
    AdditiveRanker(1, [Stump(0, 0.5, 0)], [1.0], None, {"bound": known}).save(path)
    data = json.loads(CliRunner().invoke(app, ["show", path, "--json"]).output)
    assert data["training_bound"]["value"] is None
    assert data["training_bound"]["vacuous"] is True


def test_numbers_beyond_the_floats():
    many = bounds.finite_class_bound(10**6, 0.25, 10**400)
    assert many.value == pytest.approx(math.sqrt(128e-6 * (math.log(40) + 400 * math.log(10))))
    assert bounds.margin_bound(10**12, 0.25, 10**400, 0.1).value < 1
    for large in (10**400, 10**5000):
        with pytest.raises(ParameterError, match=r"'m' parameter.* No float can hold it"):
            bounds.finite_class_bound(large, 0.25, 10)
    assert bounds.margin_bound(10**6, 0.25, 10, 1e-200).value == math.inf
    assert bounds.finite_class_bound(10**6, 1e-200, 10).value > 1e190
