"""RankRLS: forms that must agree, invariances, cross-validation and what it refuses."""

import subprocess
import sys
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge

from crucial.data.groups import Groups
from crucial.errors import DataError, ParameterError
from crucial.rankers import RankRLS
from crucial.rankers.linear.closed_form import NormalEquations
from crucial.rankers.linear.columns import DifferenceFeedback
from refusals import refused

RANDOM = np.random.default_rng(4)
N = 90
QID = np.array([f"q{i}" for i in RANDOM.integers(0, 6, N)])
X = RANDOM.normal(size=(N, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 5.0, 0.0, -3.0]
Y = X[:, 0] - 0.2 * X[:, 1] + 0.3 * RANDOM.normal(size=N)
HOLES = np.where(RANDOM.random(X.shape) < 0.15, np.nan, X)


def scores(ranker: RankRLS, rows: Any = X, **more: Any) -> Any:
    return ranker.fit(rows, Y, **{"qid": QID, **more}).predict(rows)


def test_without_queries_it_is_ridge_regression_with_an_intercept() -> None:
    """Np = n (n - 1) / 2 pairs of n centred squares: the ridge per row is l2 (n - 1) / 4."""
    found = RankRLS(0.3, standardise=False).fit(X, Y)
    other = Ridge(alpha=0.3 * (N - 1) / 4).fit(X, Y)
    apart = found.predict(X) - other.predict(X)
    assert np.ptp(apart) < 1e-9


@pytest.mark.parametrize("queries", [True, False])
@pytest.mark.parametrize("l2", [1e-3, 1.0])
def test_equations_of_rows_and_of_columns_have_one_minimum(queries: bool, l2: float) -> None:
    random = np.random.default_rng(1)
    wide = random.normal(size=(N, N + 30)) * random.uniform(0.1, 10.0, N + 30)
    groups = Groups.from_qid(QID if queries else None, N)
    feedback = DifferenceFeedback(Y, groups)
    matrix = (wide - wide.mean(axis=0))[feedback.rows] / wide.std(axis=0)
    of_columns = NormalEquations.of_columns(matrix, feedback)
    expected = of_columns.solve(l2)
    found = RankRLS(l2).fit(wide, Y, qid=QID if queries else None)
    # Either solution is off by the condition number of its equations times a few roundings.
    condition = 1.0 + 2.0 * np.linalg.norm(of_columns.gram, 2) / feedback.whole / l2
    off = 10 * np.finfo(float).eps * condition
    assert found.objective_ == pytest.approx(expected.value, rel=off)
    np.testing.assert_allclose(
        [factor / (one.high - one.low) for one, factor in parts(found)],
        expected.weights / wide.std(axis=0),
        atol=off * np.abs(expected.weights / wide.std(axis=0)).max(),
    )


def parts(ranker: RankRLS) -> Any:
    return zip(ranker.model_.rankers, ranker.model_.weights, strict=True)


def test_memory_of_more_features_than_rows_is_not_quadratic_in_features() -> None:
    random = np.random.default_rng(0)
    wide, y = random.normal(size=(40, 3000)), random.normal(size=40)
    calls: list[Callable[[], Any]] = [
        lambda: RankRLS().fit(wide, y),
        lambda: RankRLS().leave_pair_out(wide, y),
        lambda: RankRLS().path(wide, y, l2=[0.1, 1.0]),
    ]
    for call in calls:
        tracemalloc.start()
        call()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 3000 * 3000 * 8 / 4


def test_blocks_of_rows_do_not_wait_in_memory() -> None:
    """The sums of 64 blocks of 800 columns would take 330 MB."""
    random = np.random.default_rng(0)
    table = random.normal(size=(10_432, 800)).astype(np.float32)
    tracemalloc.start()
    RankRLS(n_jobs=1).fit(table, table[:, 0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6


def test_equations_beyond_the_free_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crucial.data.arrays._free_in_machine", lambda: 2 * 4 * 8 * 20 * 20 - 1)
    table = np.random.default_rng(0).normal(size=(60, 20))
    says = r"RankRLS of 60 rows of 20 features would take.*free memory.*RankingSVM.*n_landmarks"
    refused(DataError, says, RankRLS().fit, table, table[:, 0])
    refused(DataError, says, RankRLS().leave_pair_out, table, table[:, 0])


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are Linux's")
def test_a_limit_of_the_process_counts_as_free_memory() -> None:
    code = (
        "import resource, numpy as np; from crucial.rankers import RankRLS; "
        "resource.setrlimit(resource.RLIMIT_AS, (6 << 30,) * 2); "
        "RankRLS().fit(np.ones((13_000, 12_000), np.int8), np.arange(13_000))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "DataError: RankRLS of 13,000 rows of 12,000 features would take 4.3 GiB" in done.stderr


def test_all_rows_as_landmarks_are_the_whole_kernel() -> None:
    whole = scores(RankRLS(0.1, kernel="rbf"))
    landmarks = scores(RankRLS(0.1, kernel="rbf", n_landmarks=N))
    np.testing.assert_allclose(landmarks, whole, atol=1e-5)
    few = RankRLS(0.1, kernel="rbf", n_landmarks=20).fit(X, Y, qid=QID)
    assert len(few.model_.coefficients) == 20
    assert few.objective_ >= RankRLS(0.1, kernel="rbf").fit(X, Y, qid=QID).objective_ - 1e-9


def test_weights_of_queries_and_balance() -> None:
    counts = {one: 1.0 + (one == "q1") for one in np.unique(QID)}
    twice = np.concatenate([np.arange(N), np.flatnonzero(QID == "q1")])
    names = np.where(np.arange(len(twice)) < N, QID[twice], "again")
    one = RankRLS(0.1, standardise=False).fit(X, Y, qid=QID, query_weight=counts)
    two = RankRLS(0.1, standardise=False).fit(X[twice], Y[twice], qid=names)
    np.testing.assert_allclose(one.predict(X), two.predict(X), rtol=1e-8, atol=1e-8)
    balanced = RankRLS(0.1, balance="queries").fit(X, Y, qid=QID)
    assert not np.allclose(balanced.predict(X), scores(RankRLS(0.1)))


def test_pairs_and_labels_together() -> None:
    """Pairs that say what labels say pull the same way; without them nothing changes."""
    order = np.argsort(-Y)
    pairs = np.column_stack([order[:30], order[-30:]])
    ranker = RankRLS(0.1, tol=1e-14).fit_pairs(X, pairs, y=Y, qid=QID)
    assert ranker.model_.training["pairs"] == 30 + sum(
        n * (n - 1) // 2 for n in np.unique(QID, return_counts=True)[1].tolist()
    )
    assert ranker.score(X, Y, qid=QID) > 0.8
    light = RankRLS(0.1, tol=1e-15).fit_pairs(X, pairs, pair_weight=np.full(30, 1e-9), y=Y, qid=QID)
    np.testing.assert_allclose(light.predict(X), scores(RankRLS(0.1)), atol=1e-5)
    kernel = RankRLS(0.1, kernel="rbf").fit_pairs(X, pairs)
    assert kernel.gap_ <= 1e-8
    assert (kernel.predict(X)[pairs[:, 0]] > kernel.predict(X)[pairs[:, 1]]).all()


def test_the_path_chooses_a_ridge() -> None:
    path = RankRLS().path(X, Y, qid=QID, l2=[1e-3, 1e-1, 1e3])
    assert path.kind == "query"
    assert (np.diff(path.norm) < 0).all()
    assert (np.diff(path.error) > 0).all()
    assert path.best_l2 < 1e3
    assert f"3 ridges of RankRLS, the best l2={path.best_l2:g} by leaving" in str(path)
    assert set(path.to_frame()) == {"l2", "objective", "error", "norm", "left_out"}
    assert RankRLS().path(X[:20], Y[:20] > 0).kind == "pair"


def test_what_it_refuses() -> None:
    few = r"at least two queries.*leave_pair_out"
    refused(DataError, few, RankRLS().leave_query_out, X, Y, qid=np.zeros(N))
    refused(ParameterError, "ridges above 0", RankRLS().path, X, Y, l2=[0.0])
    gram = RankRLS(kernel="precomputed")
    refused(DataError, "not positive semidefinite", gram.leave_pair_out, -np.eye(N), Y)


def test_few_conjugate_gradients_warn() -> None:
    with pytest.warns(UserWarning, match="above its minimum; raise max_iter"):
        RankRLS(1e-9, tol=1e-300, max_iter=1).fit(sp.csr_array(X), Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RankRLS().fit(sp.csr_array(X), Y)
