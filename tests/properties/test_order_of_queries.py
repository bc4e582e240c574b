"""Sums over queries are exact: their order changes no byte of a model or its trace."""

import numpy as np
import pytest
from hypothesis import strategies as st
from tests.naive.sweep import holds_for

from crucial import GradientRanker, LogisticRanker, PNormPush, RankBoost, SmoothMarginRanker
from crucial.kernels import runtime

WAYS = {
    "stumps": lambda: RankBoost(6, n_jobs=1),
    "exact steps": lambda: RankBoost(6, 1.0, step="exact", n_jobs=2),
    "largest drop": lambda: RankBoost(6, 1.0, choice="largest_drop", step="exact", n_jobs=1),
    "risks": lambda: RankBoost(6, record_risks=True, n_jobs=1),
    "trees": lambda: RankBoost(3, weak="tree", step="numeric", n_jobs=1),
    "gradients": lambda: GradientRanker(3, loss="lambda", n_jobs=2),
    "logistic": lambda: LogisticRanker(5, n_jobs=1),
    "push": lambda: PNormPush(5, n_jobs=1),
    "smooth margin": lambda: SmoothMarginRanker(5, n_jobs=1),
}


def problem(seed, weighted):
    """Return features with abstentions, graded labels, queries and weights."""
    random = np.random.default_rng(seed)
    sizes = random.integers(2, 12, 9)
    n = int(sizes.sum())
    X = np.round(random.normal(size=(n, 4)), 1)
    X[random.random(X.shape) < 0.1] = np.nan
    y = np.clip(np.round(np.nan_to_num(X[:, 0]) + random.normal(size=n) + 1.5), 0, 4)
    weight = random.uniform(0.3, 3.0, n) if weighted else None
    return X, y, np.repeat(np.arange(len(sizes)), sizes), weight


def moved(X, y, qid, weight, seed):
    """Return the same queries in another order, each with its rows as they are."""
    number = np.random.default_rng(seed).permutation(int(qid.max()) + 1)[qid]
    order = np.argsort(number, kind="stable")
    return X[order], y[order], number[order], None if weight is None else weight[order]


def fitted(make, X, y, qid, weight, watched):
    ranker = make()
    more = {} if weight is None else {"sample_weight": weight}
    if watched is not None:
        more |= {"eval_set": watched[:2], "eval_qid": watched[2]}
    return ranker.fit(X, y, qid=qid, **more)


@holds_for(st.integers(0, 10**6), st.booleans(), st.booleans(), quick=3, full=200)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WAYS)
def test_the_order_of_queries_changes_no_byte(name, seed, weighted, small):
    """The eval set as well, in the same order each time and in another."""
    data = problem(seed, weighted)
    watched = problem(seed + 1, weighted=False)
    orders = [(data, watched), (moved(*data, seed), moved(*watched, seed))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "PLAIN_CELLS", 10**6 if small else 0)
        one, other = (fitted(WAYS[name], *order, seen) for order, seen in orders)
    assert one.model_.rankers == other.model_.rankers
    assert one.model_.weights == other.model_.weights
    traces = (ranker.trace_.to_dict() | {"seconds": None} for ranker in (one, other))
    assert repr(next(traces)) == repr(next(traces))  # (a measure may be NaN)
