"""What RankBoost+ promises of every run (Connamacher et al. 2019)."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st

from crucial import RankBoostPlus
from crucial.data import Groups
from crucial.feedback import LabelFeedback
from naive.paths import PATHS, quiet, using
from naive.plus import f2
from naive.sweep import holds_for
from naive.tables import tables

ways = st.fixed_dictionaries(
    {
        "search": st.sampled_from(["efficient", "optimal"]),
        "learning_rate": st.sampled_from([1.0, 1.0, 0.3]),
        "balance": st.sampled_from(["pairs", "queries"]),
        "gain": st.sampled_from([None, "linear"]),
        "default_rank": st.sampled_from(["learned", 0, 1]),
        "static_after": st.sampled_from([None, None, 0, 2]),
    }
)


def fitted(table, way, rounds=20, **more):
    with quiet():
        return table.fit(RankBoostPlus(rounds, n_jobs=1, record_risks=True, **way, **more))


def matrix_of(model, X, lo, hi):
    """The independent set as vectors over pairs."""
    columns = [one.scores(X) for one in model.basis_]
    return np.array([c[hi] - c[lo] for c in columns]).reshape(len(columns), len(lo)).T


@holds_for(tables(), ways, quick=15, full=1_000)
def test_e2_is_f2_from_scratch_and_never_rises(table, way):
    """E2 = prod Z = F2(eta) (equation 29), and R2 <= E2, E1 <= E2 (proposition 2)."""
    gain = {"linear": lambda y: y}.get(way["gain"])
    pairs = table.pairs(balance=way["balance"], gain=gain)
    lo, hi, weight = np.array(pairs.lo), np.array(pairs.hi), np.array(pairs.weight)
    weight = weight / weight.sum()
    groups = Groups.from_qid(table.qid, table.n_rows)
    feedback = LabelFeedback(
        table.y, groups, weight=table.weight, balance=way["balance"], gain=way["gain"]
    )
    for path in PATHS:
        with using(path):
            model = fitted(table, way)
        trace = model.trace_
        if not len(trace):
            continue
        e2 = trace.column("loss")
        assert trace[-1].loss == pytest.approx(
            f2(matrix_of(model, table.X, lo, hi), model.eta_, weight), rel=1e-9
        )
        assert np.cumprod(trace.column("z")) == pytest.approx(e2, rel=1e-9)
        assert (np.diff(trace.column("log_loss"), prepend=0.0) <= 1e-12).all()
        assert (trace.column("r2") <= e2 * (1 + 1e-12)).all()
        assert (trace.column("e1") <= e2 * (1 + 1e-12)).all()
        for one, scores in zip(trace, model.staged_predict(table.X), strict=True):
            assert one.extras["e1"] == pytest.approx(feedback.loss(scores), rel=1e-9)


@holds_for(tables(), ways, quick=15, full=1_000)
def test_theorem_2_holds_in_every_round(table, way):
    """R2 <= E2 <= exp(-.5 sum delta^2); with one ranker atanh(-delta), Z = sqrt(1 - delta^2)."""
    model = fitted(table, {**way, "learning_rate": 1.0})
    bound = 1.0
    smoothed = False
    for one in model.trace_:
        delta = one.extras["delta"]
        bound *= math.exp(-0.5 * delta**2)
        smoothed |= abs(delta) > 1 - 1e-12  # (a perfect ranker's weight is no minimum)
        if smoothed:
            break
        assert one.r2 <= one.loss * (1 + 1e-12)
        assert one.loss <= bound * (1 + 1e-9)
        if way["search"] == "efficient":
            assert one.z == pytest.approx(math.sqrt(1 - delta**2), rel=1e-9)
            assert one.alpha == pytest.approx(-math.atanh(delta), rel=1e-8)


@pytest.mark.parametrize("search", ["efficient", "optimal"])
@pytest.mark.parametrize("seed", range(4))
def test_it_reaches_the_minimum_that_a_convex_solver_finds(search, seed):
    from scipy.optimize import minimize

    random = np.random.default_rng(seed)
    n = 12
    X = random.integers(0, 4, (n, 3)).astype(float)
    X[random.random(X.shape) < 0.15] = np.nan
    y = random.integers(0, 4, n)
    model = RankBoostPlus(3000, search=search).fit(X, y)
    hi, lo = np.nonzero(y[:, None] > y[None, :])
    matrix = matrix_of(model, X, lo, hi)
    weight = np.full(len(hi), 1 / len(hi))

    def value_and_slope(eta):
        d = weight * np.where(matrix == 0, np.cosh(eta), np.exp(-eta * matrix)).prod(axis=1)
        return d.sum(), d @ np.where(matrix == 0, np.tanh(eta), -matrix)

    found = minimize(value_and_slope, np.zeros(matrix.shape[1]), jac=True, method="BFGS", tol=1e-12)
    assert np.linalg.matrix_rank(matrix) == matrix.shape[1]
    assert model.trace_[-1].loss == pytest.approx(found.fun, rel=1e-9)
    if search == "efficient":  # (S is a maximal set: the whole span)
        assert model.static_round_ is not None
    # No candidate is left that would bring E2 down, whichever set it is expressed on.
    assert abs(model.trace_[-1].extras["delta"]) < 1e-6
