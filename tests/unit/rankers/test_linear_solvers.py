"""Columns, sums and solvers of linear rankers, and the gaps that they prove."""

import warnings
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize, rosen, rosen_der
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.feedback.labels import LabelFeedback
from crucial.kernels import elementary
from crucial.kernels.elementary import TallTable
from crucial.kernels.minimise import quasi_newton
from crucial.rankers import InfinitePush, ListMLE, RankingSVM, RSRank, SVMMap
from crucial.rankers.linear.closed_form import Centring, difference_loss, rounded, solve_kernel
from crucial.rankers.linear.columns import (
    Design,
    DifferenceFeedback,
    KernelSpace,
    Space,
    dense_design,
)
from crucial.rankers.linear.losses import Hinges, SmoothHinge
from crucial.rankers.linear.solvers import best_mixture, truncated_newton
from crucial.rankers.rank_net import Network
from crucial.rankers.registry import ranker_class

RANDOM = np.random.default_rng(11)


def brute_mixture(gram: np.ndarray, heights: np.ndarray) -> float:
    """The best value over all sets of planes in use, each by its linear system."""
    n, best = len(heights), -np.inf
    for size in range(1, n + 1):
        for used in combinations(range(n), size):
            at = list(used)
            system = np.ones((size + 1, size + 1))
            system[:size, :size], system[size, size] = gram[np.ix_(at, at)], 0.0
            z = np.linalg.lstsq(system, np.append(heights[at], 1.0), rcond=None)[0][:size]
            if z.min() >= -1e-12 and abs(z.sum() - 1) < 1e-9:
                value = heights[at] @ z - 0.5 * z @ gram[np.ix_(at, at)] @ z
                best = max(best, float(value))
    return best


@pytest.mark.parametrize("rank", [1, 2, 5])
@pytest.mark.parametrize("seed", range(8))
def test_mixtures_are_the_best_of_all_sets_of_planes(rank: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    slopes = random.normal(size=(6, rank))
    slopes[5] = slopes[0]  # (planes that differ in height only)
    gram, heights = slopes @ slopes.T, random.normal(size=6)
    found = best_mixture(gram, heights, np.eye(6)[0])
    assert found.min() >= 0.0
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    value = heights @ found - 0.5 * found @ gram @ found
    assert value == pytest.approx(brute_mixture(gram, heights), abs=1e-9)


def hinges(n: int = 40) -> tuple[LabelFeedback, np.ndarray]:
    random = np.random.default_rng(2)
    X = random.normal(size=(n, 3))
    y = np.digitize(X[:, 0] + random.normal(size=n), [-0.5, 0.5])
    return LabelFeedback(y, Groups.from_qid(np.arange(n) % 3, n)), X


def test_smooth_forms_are_below_the_hinge_and_their_planes_too() -> None:
    feedback, X = hinges()
    loss = Hinges(feedback, "sign", 1)
    for sharp in (1.0, 8.0, 300.0):
        smooth = SmoothHinge(loss, sharp)
        for _ in range(5):
            at, other = (X[feedback.rows] @ RANDOM.normal(size=3) for _ in range(2))
            value = loss(at, 1)[0]
            low, slope = smooth(at)
            assert value - 0.5 / sharp - 1e-12 <= low <= value + 1e-12
            height, _ = smooth.plane(at, low, slope)
            assert height + slope @ other <= loss(other, 1)[0] + 1e-10


@pytest.mark.parametrize("sharp", [None, 3.0])
def test_gradients_and_curvature_are_those_of_differences(sharp: float | None) -> None:
    feedback, X = hinges()
    loss = Hinges(feedback, "gap", 1)
    smooth = loss if sharp is None else SmoothHinge(loss, sharp)
    at, move = X[feedback.rows] @ [1.0, 0.3, -0.2], RANDOM.normal(size=len(feedback.rows))
    step = 1e-6
    low, high = smooth(at - step * move), smooth(at + step * move)
    assert (high[0] - low[0]) / (2 * step) == pytest.approx(smooth(at)[1] @ move, rel=1e-5)
    np.testing.assert_allclose(
        (high[1] - low[1]) / (2 * step), smooth.curvature(at)(move), atol=1e-5
    )


def test_newton_solves_least_squares() -> None:
    n = 30
    X, y = RANDOM.normal(size=(n, 4)), RANDOM.normal(size=n)
    feedback = DifferenceFeedback(y, Groups.single(n))
    found = truncated_newton(difference_loss(feedback), Space(X), 0.2, 1e-12, 50)
    centred = X - X.mean(axis=0)
    system = 2.0 / (n - 1) * centred.T @ centred + 0.1 * np.eye(4)
    expected = np.linalg.solve(system, 2.0 / (n - 1) * centred.T @ y)
    np.testing.assert_allclose(found.weights, expected, atol=1e-6)
    assert found.gap <= 1e-12


@pytest.mark.parametrize("order", ["C", "F"])
def test_threads_do_not_change_a_byte_of_a_product(order: str) -> None:
    table = np.asarray(RANDOM.normal(size=(30_000, 20)), order=order)
    w, values = RANDOM.normal(size=20), RANDOM.normal(size=30_000)
    one, two = TallTable(table, 1), TallTable(table, 3)
    assert one.times(w).tobytes() == two.times(w).tobytes()
    assert one.turned_times(values).tobytes() == two.turned_times(values).tobytes()
    np.testing.assert_allclose(one.times(w), table @ w, atol=1e-11)
    np.testing.assert_allclose(one.turned_times(values), table.T @ values, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("standard", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("holes", [True, False])
def test_columns_by_blocks_are_those_of_the_design(
    standard: bool, weighted: bool, holes: bool
) -> None:
    table = RANDOM.normal(size=(500, 5)) * [1.0, 100.0, 1e-3, 1.0, 0.0] + [0.0, 1e4, 0.0, -2.0, 7.0]
    if holes:
        table[RANDOM.random(table.shape) < 0.2] = np.nan
        table[:, 3] = np.nan
    instances, rows = Instances.from_input(table), RANDOM.permutation(500)[:400]
    weight = RANDOM.integers(1, 4, 400).astype(float) if weighted else None
    found = dense_design(instances, rows, weight, standard, 2)
    expected = Design.of(instances, rows, weight, scaling="standard" if standard else "raw")
    assert [one.feature for one in found.rankers] == [one.feature for one in expected.rankers]
    np.testing.assert_allclose(found.matrix, expected.matrix, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.scale, expected.scale, rtol=1e-9)
    for one, other in zip(found.rankers, expected.rankers, strict=True):
        assert (one.low, one.high) == (other.low, other.high)
        assert one.default == pytest.approx(other.default, rel=1e-9)


def test_values_that_overflow_in_a_sum_are_columns_all_the_same() -> None:
    table = np.array([[1e308], [-1e308], [1e308], [0.0]])
    found = dense_design(Instances.from_input(table), np.arange(4), None, True, 1)
    assert np.isfinite(found.matrix).all()
    assert found.matrix[0, 0] > found.matrix[3, 0] > found.matrix[1, 0]


PROBLEM = np.random.default_rng(0).normal(size=(80, 5))
CONVEX = {
    "RankingSVM": RankingSVM(0.01),
    "RankingSVM, rbf": RankingSVM(0.01, kernel="rbf"),
    "RankingSVM, squared": RankingSVM(0.01, loss="squared_hinge"),
    "RankingSVM, l1": RankingSVM(penalty="l1", l1=0.003),
    "RankingSVM, l1_ball": RankingSVM(penalty="l1_ball", radius=3.0),
    "RSRank": RSRank(0.003),
    "InfinitePush": InfinitePush(),
    "InfinitePush, l1": InfinitePush(penalty="l1", l1=0.003),
    "SVMMap": SVMMap(),
    "ListMLE": ListMLE(),
}


@pytest.mark.parametrize("name", CONVEX)
def test_gaps_are_proven(name: str) -> None:
    """However early a solver stops, the objective is no further from the minimum than it says."""
    ranker = clone(CONVEX[name])
    y, qid = PROBLEM[:, 0] - 0.5 * PROBLEM[:, 1] + PROBLEM[:, 4] > 0.3, np.arange(80) % 4
    best = clone(ranker).set_params(tol=1e-7).fit(PROBLEM, y, qid=qid)
    assert 0.0 <= best.gap_ <= 1e-7
    for steps in (1, 3, 10):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ranker.set_params(max_iter=steps, tol=1e-7).fit(PROBLEM, y, qid=qid)
        assert -1e-7 <= ranker.objective_ - best.objective_ <= ranker.gap_ + 1e-12
        warned = [one for one in caught if one.category is ConvergenceWarning]
        assert len(warned) == (ranker.gap_ > 1e-7)
        assert all("steps left the objective" in str(one.message) for one in warned)
    if name != "ListMLE":  # (its tolerance is one of the gradient)
        ranker.set_params(max_iter=1000, tol=0.05).fit(PROBLEM, y, qid=qid)
        assert ranker.objective_ - best.objective_ <= ranker.gap_ <= 0.05


# -- Columns of mean 0 and spread 1, whatever the features were. --
RANDOM_DESIGN = np.random.default_rng(0)
X = np.column_stack(
    [
        RANDOM_DESIGN.normal(5.0, 3.0, 40),
        np.full(40, 2.0),
        RANDOM_DESIGN.exponential(size=40) * 1e300,
        RANDOM_DESIGN.integers(0, 2, 40),
        np.full(40, np.nan),
    ]
)
X[:7, 0] = np.nan
ROWS = np.arange(40)


def test_mean_0_spread_1_and_abstentions_at_the_mean() -> None:
    made = Design.of(Instances.from_input(X), ROWS)
    assert [one.feature for one in made.rankers] == [0, 2, 3]
    assert (made.matrix[:7, 0] == 0.0).all()
    there = ~np.isnan(X[:, [0, 2, 3]])
    for j in range(3):
        values = made.matrix[there[:, j], j]
        assert values.mean() == pytest.approx(0.0, abs=1e-12)
        assert values.std() == pytest.approx(1.0, rel=1e-12)
        # In a model: the ranker times scale, up to a constant.
        scores = made.scale[j] * made.rankers[j].scores(X)
        np.testing.assert_allclose(np.ptp(scores - made.matrix[:, j]), 0.0, atol=1e-12)


def test_in_the_unit_interval_on_request() -> None:
    made = Design.of(Instances.from_input(X), ROWS, scaling="unit")
    assert made.matrix.min() == 0.0
    assert made.matrix.max() == 1.0
    assert made.scale.tolist() == [1.0] * 3
    assert made.matrix[0, 0] == pytest.approx(made.matrix[7:, 0].mean(), rel=1e-12)


@pytest.mark.parametrize("scaling", ["standard", "unit", "raw"])
def test_sparse_columns_differ_by_a_constant_at_most(scaling: Any) -> None:
    table = np.where(np.nan_to_num(X[:, [0, 3]]) < 4.0, 0.0, X[:, [0, 3]] - 9.0)
    table = np.column_stack([table, X[:, 0]])
    dense = Design.of(Instances.from_input(table), ROWS, scaling=scaling)
    sparse = Design.of(Instances.from_input(sp.csr_array(table)), ROWS, scaling=scaling)
    assert sp.issparse(sparse.matrix)
    assert sparse.rankers == dense.rankers
    apart = sparse.matrix.toarray() - dense.matrix
    np.testing.assert_allclose(np.ptp(apart, axis=0), 0.0, atol=1e-9)
    if scaling != "standard":
        assert not apart.any()


def test_abstentions_may_have_a_column_of_their_own() -> None:
    made = Design.of(Instances.from_input(X), ROWS, learned=True)
    assert [(type(one).__name__, one.feature) for one in made.rankers] == [
        ("ScaledFeature", 0), ("Presence", 0), ("ScaledFeature", 2), ("ScaledFeature", 3),
    ]  # fmt: skip
    assert made.scale.tolist() == [1.0] * 4
    assert made.matrix[:, 1].tolist() == [1.0] * 7 + [0.0] * 33
    for ranker, column in zip(made.rankers, np.asarray(made.matrix).T):
        apart = column - ranker.scores(X)
        assert np.ptp(apart) == 0.0


# -- Sums of linear, kernel and net rankers run in one order, whatever BLAS and the CPU do. --
SHAPES = [(0, 3), (1, 1), (700, 1), (700, 2), (999, 3), (129, 600), (3, 700), (17, 16)]


def one_by_one(terms: Any) -> float:
    total = 0.0
    for term in terms.tolist():
        total += term
    return total


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_terms_are_added_one_after_the_other(
    shape: tuple[int, int], compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elementary, "_compiled", lambda n_products: compiled)
    random = np.random.default_rng(0)
    table = random.normal(size=shape) * 10.0 ** random.integers(-8, 8, shape)
    rows, columns = random.normal(size=shape[0]), random.normal(size=shape[1])
    by_row = [one_by_one(row * columns) for row in table]
    by_column = [one_by_one(column * rows) for column in table.T]
    for stored in (table, np.asfortranarray(table)):
        assert elementary.row_sums(stored, columns).tolist() == by_row
        assert elementary.column_sums(stored, rows).tolist() == by_column
        assert elementary.matrix_product(stored.T, rows[:, None])[:, 0].tolist() == by_column
        assert elementary.row_products(stored, columns[None, :])[:, 0].tolist() == by_row
        some = elementary.matrix_product(stored.T, stored[:, :2])
        first = [one_by_one(table[:, 0] * column) for column in table.T]
        assert some[:, 0].tolist() == first


SETTINGS: dict[str, dict[str, Any]] = {
    "infinite-push": {"max_iter": 3},
    "listmle": {},
    "rankcosine": {"n_estimators": 3},
    "ranking-svm": {"l2": 10.0},
    "ranknet": {"max_iter": 4},
    "rankrls": {},
    "rankrls rbf": {"kernel": "rbf"},
    "rsrank": {"max_iter": 10},
    "ranking-svm l1": {"penalty": "l1"},
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", SETTINGS)
def test_the_threads_of_blas_change_no_byte(name: str) -> None:
    random = np.random.default_rng(7)
    X = random.random((1200, 700)) - 0.5
    y = (X[:, :20].sum(axis=1) + random.random(1200) > 0.5).astype(float)
    qid = np.arange(1200) % 30
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            ranker = ranker_class(name.split()[0])(**SETTINGS[name]).fit(X, y, qid=qid)
            found.append((ranker.predict(X).tobytes(), str(ranker.model_.training)))
    assert found[0] == found[1]


def test_weights_keep_twelve_digits_of_the_size_of_the_scores() -> None:
    values = np.array([1.0, -0.1, 1.0 / 3.0, 1e-5, 7.0])
    kept = rounded(values, 1.0)
    np.testing.assert_allclose(kept, values, rtol=0.0, atol=1e-12)
    assert kept.tolist() == rounded(values * (1.0 + 1e-15), 1.0).tolist()
    assert kept.tolist() != values.tolist()
    assert rounded(1e-300 * values, 1e-300) == pytest.approx(1e-300 * values, rel=1e-6)
    assert rounded(values, 0.0).tolist() == values.tolist()


def test_coefficients_of_a_kernel_are_rounded_and_still_sum_to_nothing_in_a_query() -> None:
    random = np.random.default_rng(0)
    rows, labels = random.normal(size=(60, 3)), random.normal(size=60)
    feedback = DifferenceFeedback(labels, Groups.from_qid(np.repeat([0, 1, 2], 20), 60))
    space = KernelSpace(rows @ rows.T, np.arange(60))
    found = solve_kernel(space, feedback, 0.1).weights
    assert rounded(found, 2.0**-8).tolist() == found.tolist()
    starts = Centring(feedback).starts[:-1]
    assert np.add.reduceat(found, starts).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_lbfgs_reaches_the_slope_it_is_asked_for(scale: float) -> None:
    def objective(w: Any) -> tuple[float, Any]:
        return scale * float(rosen(w)), scale * rosen_der(w)

    w, steps = quasi_newton(objective, np.zeros(6), scale * 1e-10, 500)
    assert np.abs(rosen_der(w)).max() <= 1e-10
    assert w == pytest.approx(np.ones(6), abs=1e-7)
    other = minimize(rosen, np.zeros(6), jac=rosen_der, method="L-BFGS-B")
    assert steps <= 2 * other.nit
    seen: list[float] = []
    assert quasi_newton(objective, np.zeros(6), 0.0, 500, lambda w, v: True)[1] == 1
    assert quasi_newton(objective, np.zeros(6), 0.0, 3, lambda w, v: bool(seen.append(v)))[1] == 3
    assert sorted(seen, reverse=True) == seen


def test_the_first_weights_of_a_net_are_normal() -> None:
    net = Network(100, (100,))
    weights = net.initial(np.random.default_rng(0))[: 100 * 100] * 10.0
    assert abs(weights.mean()) < 0.04
    assert weights.std() == pytest.approx(1.0, abs=0.03)
    assert (np.abs(weights) > 1.96).mean() == pytest.approx(0.05, abs=0.01)
    assert (weights**4).mean() == pytest.approx(3.0, abs=0.3)
