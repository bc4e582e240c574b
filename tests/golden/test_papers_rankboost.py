"""Numbers that the papers on RankBoost give, or that follow from their definitions.

002 Freund, Iyer, Schapire & Singer (2003), 003 Rudin & Schapire (2009), 000 Connamacher,
Pancha, Liu & Ray (2019).
"""

import math
import warnings

import numpy as np
import pytest

from crucial import RankBoost, RankBoostPlus
from crucial.errors import NoProgressWarning
from crucial.feedback import LabelFeedback, PairFeedback
from crucial.model.weak import Presence, Stump
from naive.papers import H1, H2, INSIDE, LEMMA_3, PAIRS8, SET_A, SET_Y, SIGNS, X8, totals
from naive.paths import PATHS, using
from perfect_rounds import lemma_1, lemma_2

nan = math.nan


def close(found, expected):
    """Compare numbers to twelve digits after the point."""
    assert list(found) == pytest.approx(expected, abs=1e-12)


@pytest.fixture(params=PATHS, autouse=True)
def path(request):
    with using(request.param):
        yield request.param


# -- Connamacher et al. 2019, proposition 1 -----------------------------------------------


@pytest.mark.parametrize(("h", "right", "wrong", "r1", "plain", "discrete", "continuous"), [
    (H1, 3, 1, 16 / 19, 0.9906274, 0.9717948, 0.9900339),
    (H2, 7, 5, 12 / 19, 1.2192929, 0.9911663, 0.9923862),
])  # fmt: skip
def test_connamacher_2019_proposition_1(h, right, wrong, r1, plain, discrete, continuous):
    feedback = PairFeedback(INSIDE, 8)
    assert feedback.n_pairs == 19
    state = feedback.state()
    state.potentials(np.zeros(8))
    assert state.binary_weights(h.astype(np.uint8)) == pytest.approx((right / 19, wrong / 19))
    assert (feedback.r1(h), feedback.r2(h)) == (pytest.approx(r1), pytest.approx(17 / 38))
    assert feedback.loss(h) == pytest.approx(plain, abs=5e-8)
    for preset, expected in (("rb_d", discrete), ("rb_c", continuous)):
        ranker = RankBoost.preset(preset, weak="column", n_estimators=1)
        ranker.fit_pairs(h[:, None], INSIDE)
        assert ranker.trace_[0].loss == pytest.approx(expected, abs=5e-8)
        assert feedback.loss(ranker.predict(h[:, None])) == pytest.approx(expected, abs=5e-8)


# -- Connamacher et al. 2019, appendix B --------------------------------------------------


def test_connamacher_2019_lemma_1():
    """A perfect ranker with an infinite weight breaks theorem 1; smoothed, it does not."""
    n = 4
    _, X, pairs = lemma_1(n)
    feedback = PairFeedback(pairs, len(X))
    bound = math.exp(-0.5 * (((n - 1) / (n + 1)) ** 2 + 1 / 4))
    assert bound == pytest.approx(0.7371234, abs=5e-8)
    assert feedback.r1(1e6 * X[:, 1]) == pytest.approx(0.8)
    stopped = RankBoost.preset("rb_d", weak="column", on_perfect="stop").fit_pairs(X, pairs)
    assert stopped.model_.weights == pytest.approx([math.log(n)])
    assert stopped.trace_[0].z == pytest.approx(4 * n / (n + 1) ** 2)
    assert stopped.trace_.stopped == "perfect weak ranker"
    smooth = RankBoost.preset("rb_d", weak="column", n_estimators=2).fit_pairs(X, pairs)
    assert smooth.trace_[1].r == pytest.approx(0.5)
    assert feedback.r1(smooth.predict(X)) <= smooth.trace_[-1].loss < bound


def test_connamacher_2019_lemma_2():
    """Large constants for perfect rankers break R1 <= E1 = prod Z; smoothed, they do not."""
    _, X, pairs = lemma_2(1)
    feedback, (h1, h2) = PairFeedback(pairs, 10), X.T
    large = 40 * (h1 + h2)
    assert feedback.r1(large) == pytest.approx(4 / 5)
    assert feedback.loss(large) == pytest.approx(4 / 5)
    z = feedback.z(np.zeros(10), h1, 40.0), feedback.z(40 * h1, h2, 15.0)
    assert (z[0], z[1]) == (pytest.approx(1 / 5), pytest.approx(4 / 5, abs=1e-5))
    assert z[0] * z[1] == pytest.approx(4 / 25, abs=1e-5)
    assert math.exp(-0.5 * (0.8**2 + 0.2**2)) == pytest.approx(0.7117703, abs=5e-8)
    smooth = RankBoost.preset("rb_d", weak="column", n_estimators=2).fit_pairs(X, pairs)
    product = math.prod(smooth.trace_.column("z"))
    assert feedback.loss(smooth.predict(X)) == pytest.approx(product, rel=1e-12)
    assert feedback.r1(smooth.predict(X)) <= product


def test_connamacher_2019_lemma_3():
    """With positive weights only, RB-D ends above the minimum of its own span."""
    feedback = LabelFeedback([6, 5, 4, 3, 2, 1])
    ranker = RankBoost.preset("rb_d.eq13", weak="column", n_estimators=50)
    ranker.fit(LEMMA_3, [6, 5, 4, 3, 2, 1])
    assert [one.feature for one in ranker.model_.rankers] == [0, 1]
    assert ranker.model_.weights == pytest.approx([0.54931, 0.57445], abs=5e-6)
    assert ranker.trace_[-1].loss == pytest.approx(0.8883865, abs=5e-8)
    assert ranker.trace_.stopped == "no weak ranker helps"
    best = feedback.loss(LEMMA_3 @ [0.468945, 0.589531])
    assert best == pytest.approx(0.887036518, abs=5e-10)
    # Of either sign, coordinate descent reaches it.
    free = RankBoost(400, 1.0, weak="column", step="exact").fit(LEMMA_3, [6, 5, 4, 3, 2, 1])
    assert free.trace_[-1].loss == pytest.approx(0.887036518, abs=5e-10)
    assert totals(free) == pytest.approx([0.468945, 0.589531], abs=2e-6)


# -- Rudin & Schapire 2009, theorem 6 -----------------------------------------------------


def test_rudin_schapire_2009_theorem_6():
    """RankBoost does not reach the largest margin, 3/8: it tends to 1/3."""
    ranker = RankBoost.preset("coordinate_descent", weak="column", n_estimators=20_000)
    weights = totals(ranker.fit_pairs(X8, PAIRS8))
    assert (weights >= 0).all()
    assert (SIGNS @ weights).min() / weights.sum() == pytest.approx(0.33329, abs=5e-6)


# -- a small set, 13 pairs ----------------------------------------------------------------


def test_set_a_signed_slope_and_exact_step():
    ranker = RankBoost.preset("coordinate_descent", n_estimators=3).fit(SET_A, SET_Y)
    assert LabelFeedback(SET_Y).n_pairs == 13
    assert ranker.model_.rankers == (Stump(0, 1.5, 0), Stump(2, 0.5, 0), Stump(0, 1.5, 0))
    close(ranker.model_.weights, [0.458145365937, 0.099736488356, 0.025307240896])
    close(ranker.trace_.column("loss"), [0.948042716949, 0.945815303583, 0.945663093823])


def test_set_a_a_feature_itself():
    column = SET_A[:, 2:] / 3
    numeric = RankBoost(1, 1.0, weak="feature", step="numeric").fit(column, SET_Y)
    assert numeric.model_.weights == pytest.approx([-0.675824852351], abs=1e-12)
    assert numeric.trace_[0].z == pytest.approx(0.916079273337, abs=1e-12)
    bound = RankBoost(1, 1.0, weak="feature", step="bound").fit(column, SET_Y)
    assert bound.trace_[0].r == pytest.approx(-0.256410256410, abs=1e-12)
    assert bound.model_.weights == pytest.approx([-0.262262234062], abs=1e-12)


# -- abstentions --------------------------------------------------------------------------

ABSTAINING = np.array([[0, 0], [1, 3], [2, 1], [nan, 1], [1, 3], [nan, nan]])


def test_abstentions_with_a_learned_default():
    ranker = RankBoost.preset("rankboost.3", n_estimators=3).fit(ABSTAINING, SET_Y)
    # [f1 > 1] with 1 for abstentions: a threshold anywhere between 1 and 3.
    assert ranker.model_.rankers == (Presence(0, 0), Stump(1, 2.0, 1), Presence(0, 0))
    close(ranker.model_.weights, [0.601986402163, -0.500418452629, 0.496384077010])
    close(ranker.trace_.column("z"), [0.756465992503, 0.832165197010, 0.820300933951])


def test_abstentions_with_cumulative_weights():
    ranker = RankBoost.preset("rankboost.3.cum", n_estimators=3).fit(ABSTAINING, SET_Y)
    assert ranker.model_.rankers == (Presence(0, 0),) * 3
    close(ranker.model_.weights, [0.601986402163, 0.411653168852, 0.306715520324])


# -- Freund et al. 2003, section 3.2 ------------------------------------------------------


def test_method_1_refuses_what_it_cannot_order():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(NoProgressWarning, match="no weak ranker helps"):
            RankBoost.preset("rankboost.1").fit([[1.0], [2.0], [2.0], [1.0]], [0, 0, 1, 1])


# -- Freund et al. 2003, section 6.1 ------------------------------------------------------


def test_section_6_1_meta_search_is_weak_learn_3_cum():
    """Fifty rounds of WeakLearn.3.cum; what an engine did not return ranks below the rest."""
    ranker = RankBoost.preset("meta_search")
    assert (ranker.step, ranker.choice, ranker.default_rank) == ("bound", "steepest", 0)
    assert (ranker.n_estimators, ranker.learning_rate) == (50, 1.0)
    random = np.random.default_rng(0)
    X = np.where(random.random((80, 4)) < 0.3, nan, random.integers(-8, 0, (80, 4)))
    y = (random.random(80) < 0.5).astype(int)  # (no engine knows anything: weights would turn)
    fitted = ranker.fit(X, y)
    total: dict[object, float] = {}
    for weak, weight in zip(fitted.model_.rankers, fitted.model_.weights):
        total[weak] = total.get(weak, 0.0) + weight
        assert total[weak] > 0.0
    free = RankBoost.preset("meta_search", positive_weights=None).fit(X, y)
    assert min(free.model_.weights) < 0.0


# -- numbers that Connamacher, Pancha, Liu & Ray (2019) give, or that follow from RankBoost+ ------


# -- a small set, 13 pairs ----------------------------------------------------------------


@pytest.mark.parametrize("search", ["efficient", "optimal"])
def test_set_a_three_rounds(search):
    ranker = RankBoostPlus(3, search=search).fit(SET_A, SET_Y)
    assert ranker.n_pairs_ == 13
    assert ranker.model_.rankers == (Stump(2, 2.0, 0), Stump(0, 0.5, 0), Stump(0, 1.5, 0))
    close(ranker.model_.weights, [-0.405465108108, -0.378163041091, 0.267993584771])
    close(ranker.trace_.column("loss"), [0.923076923077, 0.860790273415, 0.830777825764])
    assert ranker.static_round_ is None


def test_set_a_becomes_static_in_round_5():
    """The best new ranker of round 5, f2 > 0, is dependent: S gains f1 > 2 and is static."""
    ranker = RankBoostPlus(5).fit(SET_A, SET_Y)
    assert ranker.static_round_ == 5
    assert ranker.model_.rankers[3:] == (Stump(0, 2.5, 0), Stump(0, 1.5, 0))
    assert ranker.model_.weights[3:] == pytest.approx([-0.282331561226, 0.087726230883], abs=1e-12)
    close(ranker.trace_.column("loss")[3:], [0.798731900099, 0.795668247774])
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
