"""Losses over labels: what they refuse, subsampling, seeds, losses of one's own, their limits."""

import math

import numpy as np
import pytest

from crucial.boosting import row_losses
from crucial.boosting.loop import ExponentialLoss
from crucial.boosting.pair_losses import LogisticLoss
from crucial.boosting.row_losses import (
    CustomLoss,
    LambdaLoss,
    QuerySquares,
    SoftmaxLoss,
    XENDCGLoss,
    YetiLoss,
)
from crucial.data import Groups
from crucial.errors import DataError, ParameterError
from crucial.feedback import LabelFeedback
from crucial.feedback.base import Potentials
from naive.paths import PATHS, using
from naive.top_losses import divergence, xendcg_gradient
from refusals import refused

RANDOM = np.random.default_rng(0)
Y, QID = RANDOM.integers(0, 4, 200) * 1.0, RANDOM.integers(0, 12, 200)
SCORES = RANDOM.normal(size=200)
LOSSES = [loss() for loss in row_losses.LOSSES.values() if not loss.takes_pairs]


def named(loss):
    return type(loss).__name__


def feedback_of(y=Y, qid=QID, **more):
    return LabelFeedback(y, Groups.from_qid(qid, len(y)), **more)


def begun(loss, feedback, scores):
    potentials = Potentials(loss.begin(feedback, 2))
    potentials.advance(np.asarray(scores)[feedback.rows], 1.0)
    return potentials


OWN = CustomLoss(lambda scores, labels, groups: (scores - labels, np.ones(len(scores))))


@pytest.mark.parametrize("loss", [*LOSSES, ExponentialLoss(), LogisticLoss(), OWN], ids=named)
def test_only_drawn_queries_count_and_the_trace_has_all(loss):
    feedback = feedback_of()
    whole = begun(loss, feedback, SCORES)
    n, query = len(feedback.rows), QID[feedback.rows]
    before, log_loss = whole.pi[:n].copy(), whole.log_loss
    bend = whole.pairs.curvature[:n].copy()
    whole.subsample(0.25, np.random.default_rng(5))
    pi, curvature = whole.pi[:n], whole.pairs.curvature[:n]
    drawn = np.isin(query, np.unique(query[curvature > 0]))
    assert len(np.unique(query[drawn])) == 3
    assert not pi[~drawn].any()
    assert not curvature[~drawn].any()
    np.testing.assert_allclose(pi[drawn] * bend[drawn], before[drawn] * curvature[drawn], 1e-9)
    if loss in LOSSES:
        np.testing.assert_array_equal(pi[drawn], before[drawn])
        np.testing.assert_array_equal(curvature[drawn], bend[drawn])
        assert whole.log_loss == log_loss
        assert np.abs(whole.scale * pi).sum() == pytest.approx(2.0)


@pytest.mark.parametrize("loss", [loss() for loss in row_losses.LOSSES.values()], ids=named)
def test_losses_say_whether_balance_and_gain_change_them(loss):
    pairs, queries = (begun(loss, feedback_of(balance=how), SCORES) for how in ("pairs", "queries"))
    assert (pairs.pi.tobytes() != queries.pi.tobytes()) == loss.takes_balance
    assert bool(loss.default_gain) == (loss.takes_pairs or "gain" in loss.settings)


@pytest.mark.parametrize("loss", LOSSES, ids=named)
def test_risks_are_those_of_the_scores(loss):
    feedback = feedback_of()
    risks = begun(loss, feedback, SCORES).pairs.risks()
    assert risks == pytest.approx((feedback.r1(SCORES), feedback.r2(SCORES)))


@pytest.mark.parametrize("make", [XENDCGLoss, lambda seed: YetiLoss(seed=seed)])
def test_noise_follows_seed_and_round_alone(make):
    feedback = feedback_of()
    one, two = begun(make(1), feedback, SCORES), begun(make(1), feedback, SCORES)
    two.renew()  # (asked twice in a round)
    assert one.pi.tobytes() == two.pi.tobytes()
    assert begun(make(2), feedback, SCORES).pi.tobytes() != one.pi.tobytes()
    later = one.pi.copy()
    one.advance(np.zeros(len(feedback.rows)), 1.0)
    assert one.pi.tobytes() != later.tobytes()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("loss", [*LOSSES, LambdaLoss("map"), LambdaLoss("mrr")], ids=named)
def test_numbers_stay_numbers_far_apart(loss, path):
    for scale in (1e3, 1e6):
        with using(path), np.errstate(over="raise", invalid="raise", divide="raise"):
            for sign in (1.0, -1.0):
                found = begun(loss, feedback_of(), sign * scale * (Y + 0.1 * SCORES))
                assert np.isfinite(found.pi).all()
                assert (found.pairs.curvature >= 0).all()
                assert np.isfinite([found.log_loss, found.scale]).all()


def test_a_perfect_fit_has_the_loss_of_rounding():
    found = begun(QuerySquares(), feedback_of(), Y)
    assert found.log_loss == math.log(1e-16)
    assert np.abs(found.pi).max() < 1e-12


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("unit", [0.01, 1.0, 40.0])
@pytest.mark.parametrize("loss", [SoftmaxLoss(), SoftmaxLoss("linear"), XENDCGLoss(3)], ids=named)
def test_a_cross_entropy_is_a_loss_for_weights_in_any_unit(loss, unit, path):
    """The divergence of the targets: not below 0, and 0 at the scores that the targets are."""
    weight = unit * np.random.default_rng(1).uniform(0.2, 3.0, len(Y))
    feedback = feedback_of(weight=weight)
    whole = first = 0.0
    perfect = np.zeros(len(Y))
    for q in np.unique(QID):
        rows = np.flatnonzero(q == QID)
        if np.ptp(Y[rows]) == 0:
            continue
        worth = {"softmax": np.exp(Y[rows]), "xendcg": np.exp2(Y[rows]) - 0.5}[loss.name]
        if getattr(loss, "gain", None) == "linear":
            worth = Y[rows] - Y[rows].min()
        u = weight[rows]
        target = worth * u / (worth * u).sum()
        whole += divergence(SCORES[rows], target, u)
        first += divergence(np.zeros(len(rows)), target, u)
        perfect[rows] = np.log(np.maximum(worth, 1e-30))
    with using(path):
        found = begun(loss, feedback, SCORES)
        done = begun(loss, feedback, perfect)
    assert found.log_loss == pytest.approx(math.log(whole / first), rel=1e-9)
    assert done.log_loss < math.log(1e-14)


def test_measures_of_two_levels_need_relevant_rows_and_others():
    with pytest.raises(DataError, match=r"labels above 0 as relevant.*measure='ndcg'"):
        LambdaLoss("map").begin(feedback_of(Y + 1.0), 1)


def test_negative_labels_have_no_gain_below_0():
    for loss, word in ((LambdaLoss(), "nDCG needs gains of 0"), (XENDCGLoss(), "labels of 0 and")):
        with pytest.raises(DataError, match=f"{word}.*'softmax' or 'query_rmse'"):
            loss.begin(feedback_of(Y - 1.0), 1)


def test_gains_must_be_finite_and_rise():
    for gain in ("exp", lambda y: -y):
        with pytest.raises(DataError, match=r"must be finite and rise.*use gain='linear'"):
            QuerySquares(gain).begin(feedback_of(2000.0 * Y), 1)
    refused(ParameterError, "gain", QuerySquares("square").begin, feedback_of(), 1)
    refused(ParameterError, "measure", LambdaLoss("err").begin, feedback_of(), 1)


def test_large_labels_cost_xendcg_no_digits():
    y, scores = np.array([0.0, 2.0, 2.0, 1.0]), np.array([0.3, -0.2, 1.0, 0.0])
    feedback = LabelFeedback(y + 1000.0)
    found = begun(XENDCGLoss(), feedback, scores)
    # Noise is nothing beside gains of 2^1000: targets are plain shares of the gains.
    rows = feedback.rows
    gradient, _ = xendcg_gradient(scores[rows], np.exp2(y[rows]))
    np.testing.assert_allclose(found.pi[:4], -gradient, rtol=1e-12)


# -- a loss of one's own ------------------------------------------------------------------


def test_ones_own_loss_gets_scores_labels_and_queries():
    seen = []

    def loss(scores, labels, groups):
        seen.append((scores, labels, groups))
        return scores - labels, np.ones(len(scores)), 7.0 / len(seen)

    feedback = feedback_of(weight=np.where(np.arange(200) % 2, 1.0, 3.0))
    found = begun(CustomLoss(loss), feedback, SCORES)
    scores, labels, groups = seen[-1]
    rows = feedback.rows
    assert labels.tolist() == Y[rows].tolist()
    assert scores.tolist() == SCORES[rows].tolist()
    ids = np.repeat(groups.ids, groups.sizes)
    assert np.unique(QID)[ids].tolist() == QID[rows].tolist()
    weight = np.where(rows % 2, 1.0, 3.0)
    np.testing.assert_allclose(found.pi[: len(rows)], weight * (labels - scores))
    np.testing.assert_allclose(found.pairs.curvature, weight)
    assert found.log_loss == pytest.approx(math.log(1.0 / 2.0))


@pytest.mark.parametrize(("answer", "message"), [
    (lambda n: np.ones(n), r"must return \(gradient, curvature\)"),
    (lambda n: (np.ones(n),), r"must return \(gradient, curvature\)"),
    (lambda n: (np.ones(n - 1), np.ones(n)), "gradient of a loss must have one number for each"),
    (lambda n: (np.ones(n), np.full(n, np.nan)), "curvature of a loss must be finite. Row 0"),
    (lambda n: (np.ones(n), -np.ones(n)), "must not be negative. Row 0 is -1.0; return"),
    (lambda n: (np.ones(n), np.ones(n), -1.0), "third value, must be 0 or more"),
    (lambda n: (np.ones(n), np.ones(n), np.ones(n)), "one number, or one for each of the"),
    (lambda n: (np.full(n, 1e200), np.ones(n)), r"gradient .* at most 1e\+100 in size"),
    (lambda n: (np.ones(n), np.full(n, 1e200)), r"curvature .* at most 1e\+100 in size"),
    (lambda n: (["a"] * n, np.ones(n)), r"gradient of a loss must be numbers. Got \['a'"),
])  # fmt: skip
def test_wrong_answers_of_ones_own_loss_are_refused(answer, message):
    loss = CustomLoss(lambda scores, labels, groups: answer(len(scores)))
    refused(DataError, message, Potentials, loss.begin(feedback_of(), 1))


def test_it_may_change_its_arguments():
    def loss(scores, labels, groups):
        scores[:] = labels[:] = 9.0
        return np.zeros(len(scores)), np.ones(len(scores))

    feedback = feedback_of()
    found = begun(CustomLoss(loss), feedback, SCORES)
    assert found.pairs.scores.tolist() == SCORES[feedback.rows].tolist()
    assert found.scale == 1.0
    assert found.log_loss == 0.0
