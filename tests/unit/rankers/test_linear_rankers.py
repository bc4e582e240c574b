"""Rankers of lists, pushes and penalties: what they learn, and that it is the minimum."""

import math
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from crucial import RankBoost, evaluate
from crucial.errors import DataError, NoProgressWarning
from crucial.rankers import InfinitePush, ListMLE, RankCosine, RankingSVM, RSRank, SVMMap
from refusals import refused

RANDOM = np.random.default_rng(4)
N = 120
X = RANDOM.normal(size=(N, 4))
HEIGHT = X @ [1.0, -0.5, 0.2, 0.0] + 0.7 * RANDOM.normal(size=N)
QID = np.repeat(np.arange(8), 15)
ORDER = np.concatenate([np.argsort(np.argsort(HEIGHT[q == QID])) for q in range(8)]) + 1.0
ALL = [ListMLE(), RankCosine(), RankCosine(centred=False), SVMMap(top=5, tol=1e-8)]
IDS = ["listmle", "rankcosine", "rankcosine-as-published", "svm-map"]

every = pytest.mark.parametrize("ranker", ALL, ids=IDS)


@every
def test_abstentions_count_as_the_mean(ranker: Any) -> None:
    holes = X.copy()
    holes[RANDOM.random(X.shape) < 0.2] = np.nan
    holed = ranker.fit(holes, ORDER, qid=QID).predict(holes)
    filled = np.where(np.isnan(holes), np.nanmean(holes, axis=0), holes)
    assert ranker.predict(filled) == pytest.approx(holed, abs=1e-9)
    assert ranker.score(holes, ORDER, qid=QID) > 0.65
    nothing = ranker.predict(np.full((2, 4), np.nan))
    assert nothing[0] == nothing[1]


def test_list_mle_says_when_it_did_not_end() -> None:
    with pytest.warns(ConvergenceWarning, match="raise max_iter, l2 or tol"):
        ListMLE(max_iter=1).fit(X, ORDER, qid=QID)
    loose, tight = (ListMLE(l2).fit(X, ORDER, qid=QID) for l2 in (1e-4, 1.0))
    assert np.abs(tight.model_.weights).sum() < np.abs(loose.model_.weights).sum()


def test_rank_cosine_rounds_can_be_looked_at() -> None:
    ranker = RankCosine(6, tol=0.0).fit(X, ORDER, qid=QID)
    assert len(ranker.loss_curve_) == ranker.n_iter_ == 6
    assert (np.diff(ranker.loss_curve_) < 0).all()
    staged = list(ranker.staged_predict(X))
    assert staged[-1].tobytes() == ranker.predict(X).tobytes()
    assert staged[2].tobytes() == ranker.truncate(3).predict(X).tobytes()
    # The cosine of centred scores and labels is their correlation.
    by_query = [np.corrcoef(staged[-1][q == QID], ORDER[q == QID])[0, 1] for q in range(8)]
    assert ranker.loss_curve_[-1] == pytest.approx(np.mean(0.5 - 0.5 * np.array(by_query)))


def test_svm_map_minimises_what_average_precision_loses() -> None:
    y = (ORDER > 10).astype(int)
    ranker = SVMMap().fit(X, y, qid=QID)
    reached = evaluate(y, ranker.predict(X), qid=QID, measures=["map"])["map"]
    assert ranker.objective_ >= 1.0 - reached  # the hinge lies above the loss itself
    assert 0.0 <= ranker.gap_ <= ranker.tol
    assert SVMMap(top=5).fit(X, ORDER, qid=QID).predict(X).tobytes() == ranker.predict(X).tobytes()
    share = SVMMap(top=1 / 3).fit(X, ORDER, qid=QID)
    assert share.predict(X).tobytes() == ranker.predict(X).tobytes()
    with pytest.warns(ConvergenceWarning, match="raise max_iter, l2 or tol"):
        SVMMap(max_iter=2).fit(X, y, qid=QID)


# -- The infinite push finds the minimum of what it says it minimises. --
def problem(n: int = 40, d: int = 3, queries: int = 1, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    y = (X[:, 0] + 0.8 * random.normal(size=n) > 0.4).astype(int)
    return X, y, np.arange(n) % queries


def listed(scores: Any, y: Any, qid: Any, u: Any, balance: str, factor: Any = None) -> float:
    """The objective without its ridge: over every query, the worst loser against all winners."""
    total, weight = 0.0, 0.0
    for q in np.unique(qid):
        hi, lo = (np.flatnonzero((qid == q) & (y == label) & (u > 0)) for label in (1, 0))
        if not len(hi) or not len(lo):
            continue
        c = 1.0 if factor is None else factor[q]
        c /= u[hi].sum() if balance == "queries" else 1.0
        sums = [sum(u[h] * math.log1p(math.exp(scores[b] - scores[h])) for h in hi) for b in lo]
        total += c * max(sums)
        weight += c * u[hi].sum()
    return total / weight


def ramps(ranker: Any) -> tuple[Any, Any]:
    """Weights of the model by feature, and their squares' sum."""
    w = np.array(ranker.model_.weights)
    return w, float(np.dot(w, w))


@pytest.mark.parametrize("balance", ["pairs", "queries"])
@pytest.mark.parametrize("queries", [1, 4])
def test_it_minimises_the_maximum_over_negatives(queries: int, balance: str) -> None:
    """Against a general solver on the epigraph form, and the objective by listing all pairs."""
    X, y, qid = problem(queries=queries)
    u = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    l2 = 0.01
    ranker = InfinitePush(l2, balance=balance, tol=1e-6)
    ranker.fit(X, y, qid=qid, sample_weight=u)
    w, square = ramps(ranker)
    value = listed(ranker.predict(X), y, qid, u, balance) + l2 / 2 * square
    assert ranker.objective_ == pytest.approx(value, rel=1e-9)
    assert 0.0 <= ranker.gap_ <= 1e-6

    low, high = X.min(axis=0), X.max(axis=0)
    A = (X - low) / (high - low)

    def objective(at: Any) -> float:
        return listed(A @ at, y, qid, u, balance) + l2 / 2 * float(np.dot(at, at))

    best = minimize(objective, w, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    assert ranker.objective_ <= best.fun + 1e-6
    start = minimize(objective, np.zeros(3), method="Nelder-Mead", options={"maxiter": 4000})
    assert ranker.objective_ <= start.fun + 1e-6
    assert start.fun == pytest.approx(ranker.objective_, abs=1e-3)


def test_query_weights() -> None:
    X, y, qid = problem(queries=4)
    factor = {0: 1.0, 1: 3.0, 2: 0.0, 3: 0.5}
    ranker = InfinitePush(0.01, tol=1e-6).fit(X, y, qid=qid, query_weight=factor)
    keep = qid != 2
    u = np.ones(len(y))
    value = listed(ranker.predict(X[keep]), y[keep], qid[keep], u[keep], "queries", factor)
    assert ranker.objective_ == pytest.approx(value + 0.005 * ramps(ranker)[1])


def test_abstentions_are_worth_what_is_learned() -> None:
    """Relevant rows are those without an opinion, and one feature says no more."""
    y = np.arange(20) % 2
    X = np.where(y == 1, np.nan, np.linspace(0, 1, 20))[:, None]
    ranker = InfinitePush().fit(X, y)
    scores = ranker.predict(X)
    assert scores[y == 1].min() > scores[y == 0].max()
    assert ranker.predict(sp.csr_array(X)).tolist() == scores.tolist()
    np.testing.assert_allclose(InfinitePush().fit(sp.csr_array(X), y).predict(X), scores, atol=1e-3)


def test_it_gives_up_the_list_for_its_top() -> None:
    """Feature 0 orders 11 pairs of 12 but has five bad rows on top; feature 1 finds half of the
    good ones, and nothing bad among them."""
    y = np.repeat([1, 0], 60)
    first = np.where(y == 1, 1.0, 0.0)
    first[-5:] = 2.0
    second = (np.arange(120) < 30).astype(float)
    X = np.column_stack((first, second))
    push = InfinitePush().fit(X, y).predict(X)
    whole = RankBoost(50, weak="feature", step="numeric").fit(X[:, :1], y).predict(X[:, :1])
    above = [float((s[y == 1] > s[y == 0].max()).mean()) for s in (push, whole)]
    assert above == [0.5, 0.0]


# -- Sparse linear rankers: what they promise beside their minima. --
def problem_sparse(n=160, p=12, queries=8, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, p))
    y = np.digitize(2.0 * X[:, 3] - X[:, 1] + 0.5 * random.normal(size=n), [-1, 1])
    return X, y, np.array([f"q{i}" for i in np.arange(n) % queries])


PENALTIES = ["l1", "l1_ball", "log", "lq", "mcp"]
RANKERS = [RankingSVM(penalty=penalty, l1=0.02, radius=0.5) for penalty in PENALTIES] + [
    RSRank(0.05)
]


def named(ranker):
    return getattr(ranker, "penalty", "rsrank")


@pytest.mark.parametrize("ranker", RANKERS, ids=named)
def test_it_finds_the_features_that_matter(ranker):
    X, y, qid = problem_sparse()
    ranker.fit(X, y, qid=qid)
    assert {1, 3} <= set(ranker.selected_.tolist())
    assert len(ranker.selected_) < 12
    assert ranker.score(X, y, qid=qid) > 0.85
    assert ranker.feature_importances_.argmax() == 3
    assert (ranker.feature_importances_ > 0).nonzero()[0].tolist() == ranker.selected_.tolist()
    other = problem_sparse(seed=1)
    assert ranker.score(other[0], other[1], qid=other[2]) > 0.85


@pytest.mark.parametrize("penalty", ["log", "lq", "mcp", "l1_ball"])
def test_the_objective_never_rises(penalty):
    for seed in range(3):
        X, y, qid = problem_sparse(seed=seed)
        ranker = RankingSVM(penalty=penalty, l1=0.01, tol=1e-8).fit(X, y, qid=qid)
        assert len(ranker.objectives_) > 1
        assert (np.diff(ranker.objectives_) <= 0.0).all()
        assert ranker.objectives_[-1] == pytest.approx(ranker.objective_, rel=1e-12)


@pytest.mark.parametrize("penalty", ["log", "lq", "mcp"])
def test_local_minima_are_stationary(penalty):
    X, y, qid = problem_sparse()
    ranker = RankingSVM(penalty=penalty, l1=0.01, tol=1e-14, max_iter=5000).fit(X, y, qid=qid)
    assert ranker.violation_ < 1e-5
    assert np.isnan(ranker.gap_)
    assert "gap" not in ranker.model_.training
    convex = RankingSVM(penalty="l1", l1=0.01).fit(X, y, qid=qid)
    assert len(ranker.selected_) <= len(convex.selected_)


def test_frank_wolfe_adds_one_feature_per_step_at_most():
    X, y, qid = problem_sparse()
    for t in (1, 2, 5, 12):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            ranker = RankingSVM(penalty="l1_ball", radius=2.0, max_iter=t).fit(X, y, qid=qid)
        assert len(ranker.selected_) <= t


def test_equal_columns_and_more_features_than_rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(12, 40))
    X[:, 1] = X[:, 0]
    y = random.integers(0, 3, 12)
    for ranker in (RankingSVM(penalty="l1", l1=0.01, tol=1e-6), RSRank(0.01)):
        ranker.fit(X, y)
        assert ranker.gap_ <= 1e-6
        assert len(ranker.selected_) < 12


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
def test_columns_as_they_are(wrap):
    """Twice the feature is half the penalty on it."""
    X, y, qid = problem_sparse()
    one = RankingSVM(penalty="l1", l1=0.02, standardise=False, tol=1e-9).fit(wrap(X), y, qid=qid)
    two = RankingSVM(penalty="l1", l1=0.04, standardise=False, tol=1e-9).fit(
        wrap(2.0 * X), y, qid=qid
    )
    assert one.selected_.tolist() == two.selected_.tolist()
    difference = two.predict(wrap(2.0 * X)) - one.predict(wrap(X))
    np.testing.assert_allclose(difference, difference[0], atol=1e-6)
    assert one.objective_ == pytest.approx(two.objective_, abs=1e-8)


def test_a_penalty_too_large_is_reported():
    X, y, qid = problem_sparse()
    with pytest.warns(NoProgressWarning, match="l1=100 makes all weights 0"):
        ranker = RankingSVM(penalty="l1", l1=100.0).fit(X, y, qid=qid)
    assert not ranker.predict(X).any()
    assert not len(ranker.selected_)


def test_the_sparse_infinite_push():
    random = np.random.default_rng(2)
    X = random.normal(size=(400, 8))
    margin = X[:, 2] - X[:, 5] - 0.5
    X, y = X[np.abs(margin) > 1.0], (margin[np.abs(margin) > 1.0] > 0).astype(int)
    dense = InfinitePush().fit(X, y)
    sparse = InfinitePush(penalty="l1", l1=0.05, tol=1e-6).fit(X, y)
    assert sparse.selected_.tolist() == [2, 5]
    assert len(dense.selected_) == 8
    assert len(sparse.model_.rankers) == 2
    assert sparse.gap_ <= 1e-6
    scores = sparse.predict(X)
    assert scores[y == 1].min() > scores[y == 0].max()
    with pytest.warns(ConvergenceWarning, match="2 steps left the objective"):
        InfinitePush(penalty="l1", l1=1e-4, tol=1e-9, max_iter=2).fit(X, y)
    refused(DataError, "PNormPush", InfinitePush(penalty="l1").fit, X, np.arange(len(X)) % 3)


def test_a_push_that_cannot_reach_the_top_says_so():
    X, y, qid = problem_sparse()
    with pytest.warns(NoProgressWarning, match="use PNormPush"):
        InfinitePush(penalty="l1", l1=10.0).fit(X, y > 0, qid=qid)
