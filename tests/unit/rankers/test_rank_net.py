"""RankNet: solvers, early stopping, what it leaves behind, errors."""

import numpy as np
import pytest
from msgspec.structs import replace
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

import crucial
from crucial.errors import ModelFileError, ParameterError
from crucial.model.kernel import Column
from crucial.model.net import Layer, NetPayload, NetRanker
from crucial.model.weak import ScaledFeature
from crucial.rankers import LogisticRanker, RankNet
from refusals import refused


def problem(n_rows=400, n_queries=20, seed=0):
    """Labels that depend on a product of features: no sum of functions of one ranks them."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 4))
    signal = X[:, 0] * X[:, 1] + 0.3 * random.normal(size=n_rows)
    return X, np.digitize(signal, (-0.5, 0.5)), random.integers(0, n_queries, n_rows)


X, Y, QID = problem()


@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
def test_it_finds_what_features_do_together(solver):
    other = problem(seed=1)
    net = RankNet((16,), 1e-3, solver=solver).fit(X, Y, qid=QID)
    additive = LogisticRanker(100).fit(X, Y, qid=QID)
    assert net.score(other[0], other[1], qid=other[2]) > 0.8
    assert additive.score(other[0], other[1], qid=other[2]) < 0.65


def test_without_hidden_layers_it_is_the_ranker_that_scipy_finds():
    ranker = RankNet((), 0.01, tol=1e-10).fit(X, Y, qid=QID)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    high, low = np.nonzero((Y[:, None] > Y[None, :]) & (QID[:, None] == QID[None, :]))
    D = Z[high] - Z[low]

    def objective(w):
        return np.logaddexp(0, -D @ w).mean() + 0.005 * w @ w

    found = minimize(objective, np.zeros(4), method="BFGS", options={"gtol": 1e-9})
    assert ranker.objective_ == pytest.approx(found.fun, rel=1e-9)
    assert ranker.gap_ < 1e-12
    order = Z @ found.x
    np.testing.assert_allclose(
        ranker.predict(X) - ranker.predict(X)[0], order - order[0], atol=1e-4
    )


def test_solvers_reach_the_same_minimum_of_a_convex_problem():
    one = RankNet((), 0.1, solver="lbfgs").fit(X, Y, qid=QID)
    two = RankNet((), 0.1, solver="adam", max_iter=300).fit(X, Y, qid=QID)
    assert two.objective_ == pytest.approx(one.objective_, abs=1e-4)
    assert two.objective_ >= one.objective_ - 1e-9


def test_ties_draw_equal_labels_together():
    spread = []
    for ties in (False, True):
        scores = RankNet((8,), 1e-4, ties=ties).fit(X, Y, qid=QID).predict(X)
        spread.append(np.mean([scores[k == Y].std() for k in (0, 1, 2)]) / scores.std())
    assert spread[1] < spread[0]


@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
def test_early_stopping_keeps_the_first_best_iteration(solver):
    other = problem(seed=2)
    ranker = RankNet((16,), 0.0, solver=solver, early_stopping_rounds=10, eval_metric="auc")
    ranker.fit(X, Y > 0, qid=QID, validation=(other[0], other[1] > 0), validation_qid=other[2])
    history = ranker.history_["auc"]
    assert len(history) == ranker.n_iter_
    assert ranker.best_iter_ == int(np.argmax(history)) + 1
    assert len(history) == min(200, ranker.best_iter_ + 10)
    found = crucial.evaluate(other[1] > 0, ranker.predict(other[0]), qid=other[2], measures=["auc"])
    assert found["auc"] == pytest.approx(max(history), rel=1e-12)


def test_queries_are_held_out_where_there_are_no_validation_rows():
    ranker = RankNet((16,), 0.0, early_stopping_rounds=5).fit(X, Y, qid=QID)
    assert ranker.n_iter_ < 200
    assert set(ranker.history_) == {"objective", "ndcg@10"}
    assert ranker.model_.training["rows"] < len(Y)


def test_the_seed_decides():
    fits = (RankNet((4,), max_iter=10, random_state=s).fit(X, Y, qid=QID).model_ for s in (1, 1, 2))
    one, two, other = fits
    assert one == two != other
    assert hash(one) == hash(two)


def test_a_linear_ranker_that_is_cut_short_says_so():
    with pytest.warns(ConvergenceWarning, match="raise max_iter, l2 or tol"):
        RankNet((), 1e-4, max_iter=2).fit(X, Y, qid=QID)


def net() -> NetRanker:
    columns = [Column(ScaledFeature(j, -1.0, 1.0, 0.5), 2.0, -1.0) for j in (0, 2)]
    layers = [Layer(np.array([[0.5, -1.0], [1.0, 0.5]]), np.array([0.1, -0.2]))]
    return NetRanker(3, columns, layers, [1.0, -0.5], [0.3, 0.1], "relu", list("abc"), {"rows": 4})


def test_equal_nets_are_equal():
    assert net() == net()
    assert hash(net()) == hash(net())
    assert net() != "net"
    assert "2 relu units" in repr(net())


@pytest.mark.parametrize(("changes", "problem"), [
    ({"activation": "sin"}, "'tanh' or 'relu'"),
    ({"output": [1.0]}, "output"),
    ({"output": [1.0, np.inf]}, "finite numbers"),
    ({"layers": []}, "at least one layer"),
    ({"layers": [Layer(np.eye(3), np.zeros(3))]}, "weights"),
    ({"slopes": [1.0, "x"]}, "slopes"),
    ({"n_features": 2}, "features below 2"),
])  # fmt: skip
def test_nets_that_cannot_be(changes, problem):
    made = net()
    parts = {
        "n_features": 3,
        "columns": made.columns,
        "layers": made.layers,
        "output": made.output,
        "slopes": made.slopes,
        "activation": "tanh",
    } | changes
    refused(ParameterError, problem, NetRanker, **parts)


def test_a_file_is_read_back_as_it_was_or_refused(tmp_path):
    path = tmp_path / "net.json"
    net().save(path)
    assert crucial.load_model(path) == net()
    path.write_text(path.read_text().replace('"bias":[0.1,-0.2]', '"bias":[0.1]'))
    refused(ModelFileError, "checksum", crucial.load_model, path)
    payload = NetPayload.of(net())
    short = replace(payload, layers=[replace(payload.layers[0], weights=[[0.5, -1.0], [1.0]])])
    refused(ParameterError, "weights", short.build)
