"""The infinite push finds the minimum of what it says it minimises."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from crucial import InfinitePush, RankBoost


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
