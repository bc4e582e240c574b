"""Numbers that Connamacher, Pancha, Liu & Ray (2019) give, or that follow from RankBoost+."""

import math

import numpy as np
import pytest

from crucial import LabelFeedback, PairFeedback, RankBoost, RankBoostPlus
from crucial.inspection.learning_curves import e2_trace
from crucial.model.weak import Stump
from naive.papers import H1, H2, INSIDE, LEMMA_3, SET_A, SET_Y
from naive.paths import PATHS, using
from perfect_rounds import lemma_1, lemma_2


@pytest.fixture(params=PATHS, autouse=True)
def path(request):
    with using(request.param):
        yield request.param


# -- a small set, 13 pairs ----------------------------------------------------------------


@pytest.mark.parametrize("search", ["efficient", "optimal"])
def test_set_a_three_rounds(search):
    ranker = RankBoostPlus(3, search=search).fit(SET_A, SET_Y)
    assert ranker.n_pairs_ == 13
    assert ranker.model_.rankers == (Stump(2, 2.0, 0), Stump(0, 0.5, 0), Stump(0, 1.5, 0))
    assert ranker.model_.weights == pytest.approx(
        [-0.405465108108, -0.378163041091, 0.267993584771], abs=1e-12
    )
    assert [one.loss for one in ranker.trace_] == pytest.approx(
        [0.923076923077, 0.860790273415, 0.830777825764], abs=1e-12
    )
    assert ranker.static_round_ is None


def test_set_a_becomes_static_in_round_5():
    """The best new ranker of round 5, f2 > 0, is dependent: S gains f1 > 2 and is static."""
    ranker = RankBoostPlus(5).fit(SET_A, SET_Y)
    assert ranker.static_round_ == 5
    assert ranker.model_.rankers[3:] == (Stump(0, 2.5, 0), Stump(0, 1.5, 0))
    assert ranker.model_.weights[3:] == pytest.approx([-0.282331561226, 0.087726230883], abs=1e-12)
    assert [one.loss for one in ranker.trace_][3:] == pytest.approx(
        [0.798731900099, 0.795668247774], abs=1e-12
    )
    assert ranker.basis_ == (
        Stump(2, 2.0, 0), Stump(0, 0.5, 0), Stump(0, 1.5, 0), Stump(0, 2.5, 0), Stump(1, 2.5, 0),
    )  # fmt: skip
    assert ranker.eta_ == pytest.approx(
        [-0.405465108108, -0.378163041091, 0.267993584771 + 0.087726230883, -0.282331561226, 0],
        abs=1e-11,
    )


# -- proposition 1, proposition 3 and corollary 1 -----------------------------------------


def test_connamacher_2019_proposition_1_for_e2():
    """E1 orders h1 and h2 against R1; E2 finds them equal, as R2 does."""
    feedback = PairFeedback(INSIDE, 8)
    losses = []
    for h in (H1, H2):
        assert feedback.r2(h) == pytest.approx(17 / 38)
        ranker = RankBoostPlus(1, weak="column").fit_pairs(h[:, None], INSIDE)
        losses.append(ranker.trace_[0].loss)
    r2 = 17 / 38
    assert losses == pytest.approx([2 * math.sqrt(r2 * (1 - r2))] * 2, rel=1e-12)


def test_connamacher_2019_equation_42_in_the_first_round():
    """E2(alpha h) = 2 sqrt(R2 (1 - R2)), so E2 and R2 order binary rankers alike."""
    random = np.random.default_rng(1)
    y = random.integers(0, 4, 30)
    feedback = LabelFeedback(y)
    for _ in range(10):
        h = random.integers(0, 2, 30).astype(float)
        ranker = RankBoostPlus(1, weak="column").fit(h[:, None], y)
        r2 = feedback.r2(h)
        assert ranker.trace_[0].loss == pytest.approx(2 * math.sqrt(r2 * (1 - r2)), rel=1e-12)


# -- appendix B: what breaks RB-D's guarantees does not break these -----------------------


def test_connamacher_2019_lemma_1_does_not_touch_rankboost_plus():
    """A ranker with W- = 0 has a finite weight, and theorem 2 holds."""
    n = 4
    _, X, pairs = lemma_1(n)
    ranker = RankBoostPlus(200, weak="column", on_perfect="stop").fit_pairs(X, pairs)
    assert ranker.trace_.stopped != "perfect weak ranker"
    first = ranker.trace_[0]
    assert first.extras["delta"] == pytest.approx(-(n**2 - 1) / (n + 1) ** 2)
    assert first.alpha == pytest.approx(
        0.5 * math.log((n**2 + n) / (n + 1))
    )  # (W+ + W0 / 2) / (W- + W0 / 2)
    feedback = PairFeedback(pairs, len(X))
    bound = math.exp(-0.5 * sum(one.extras["delta"] ** 2 for one in ranker.trace_))
    assert feedback.r2(ranker.predict(X)) <= ranker.trace_[-1].loss <= bound


def test_connamacher_2019_lemma_2_does_not_touch_rankboost_plus():
    """Two rankers without a wrong pair where they are chosen: R2 <= E2 = prod Z <= U."""
    _, X, pairs = lemma_2(1)
    ranker = RankBoostPlus(2, weak="column", on_perfect="stop").fit_pairs(X, pairs)
    assert ranker.trace_[0].alpha == pytest.approx(0.5 * math.log((20 + 2.5) / 2.5))
    product = math.prod(ranker.trace_.column("z"))
    assert ranker.trace_[-1].loss == pytest.approx(product, rel=1e-12)
    bound = math.exp(-0.5 * sum(ranker.trace_.column("delta") ** 2))
    assert PairFeedback(pairs, 10).r2(ranker.predict(X)) <= product <= bound


def test_connamacher_2019_lemma_3_does_not_touch_rankboost_plus():
    """Weights of either sign reach the minimum of E2 on the span, where RB-D stays above."""
    from scipy.optimize import minimize

    y = [6, 5, 4, 3, 2, 1]
    ranker = RankBoostPlus(300, weak="column").fit(LEMMA_3, y)
    hi, lo = np.triu_indices(6, 1)
    matrix = LEMMA_3[hi] - LEMMA_3[lo]

    def f2(eta):
        return np.where(matrix == 0, np.cosh(eta), np.exp(-eta * matrix)).prod(axis=1).mean()

    best = minimize(f2, np.zeros(2), tol=1e-14)
    assert ranker.trace_[-1].loss == pytest.approx(best.fun, rel=1e-9)
    order = [one.feature for one in ranker.basis_]
    assert ranker.eta_ == pytest.approx(best.x[order], abs=1e-5)


# -- section 3.4: RB-C and RankBoost+ -----------------------------------------------------


def test_connamacher_2019_a_step_with_eta_0_is_that_of_rb_c():
    """Equation 39 is equation 34 with alpha' = 0: the first round of both is the same."""
    random = np.random.default_rng(4)
    X, y = random.normal(size=(50, 5)), random.integers(0, 3, 50)
    ours = RankBoostPlus(1).fit(X, y)
    theirs = RankBoost.preset("rb_c", choice="steepest", n_estimators=1).fit(X, y)
    assert ours.model_.rankers == theirs.model_.rankers
    assert ours.model_.weights == pytest.approx(theirs.model_.weights, rel=1e-13)
    assert ours.trace_[0].extras["e1"] == pytest.approx(theirs.trace_[0].loss, rel=1e-12)
    # And in every later round that takes a new ranker: the weight is .5 ln((1 + r) / (1 - r)).
    longer = RankBoostPlus(40).fit(X, y)
    seen = set()
    for one in longer.trace_:
        if one.ranker not in seen:
            assert one.alpha == pytest.approx(math.atanh(one.r), rel=1e-12)
            assert one.extras["delta"] == -one.r
        seen.add(one.ranker)
    assert 3 < len(seen) < 40


# -- section 5: E2 of the other two -------------------------------------------------------


def test_connamacher_2019_figure_2_the_course_of_e2():
    """RankBoost+ brings E2 down; RB-D's rises, RB-C's falls first and rises then."""
    random = np.random.default_rng(2)
    X = random.normal(size=(60, 12))
    y = np.digitize(X[:, :4].sum(axis=1) + 2 * random.normal(size=60), [-1, 0, 1])
    plus = RankBoostPlus(100).fit(X, y)
    discrete = RankBoost.preset("rb_d", choice="steepest", n_estimators=100).fit(X, y)
    continuous = RankBoost.preset("rb_c", choice="steepest", n_estimators=100).fit(X, y)
    e2 = {name: e2_trace(one, X, y) for name, one in
          (("plus", plus), ("d", discrete), ("c", continuous))}  # fmt: skip
    assert e2["plus"] == pytest.approx(plus.trace_.column("e2"), rel=1e-9)
    assert (np.diff(e2["plus"]) <= 0).all()
    lowest = int(e2["c"].argmin())
    assert 3 < lowest < 90
    assert e2["c"][-1] > 1.5 * e2["c"][lowest]
    assert e2["d"][-1] > 10 * e2["d"][0]
    assert e2["plus"][-1] < e2["c"].min() < e2["d"].min()
    # As expected, the other two are better at E1.
    assert discrete.trace_[-1].loss < plus.trace_[-1].extras["e1"]
