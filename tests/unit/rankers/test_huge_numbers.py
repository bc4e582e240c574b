"""Huge and tiny features, labels and weights: finite scores, or one line of refusal; no warning."""

import numpy as np
import pytest
import scipy.sparse as sp

from crucial.boosting.row_losses import LOSSES
from crucial.errors import CrucialError, DataError
from crucial.feedback.labels import check_weights
from crucial.rankers.registry import RANKERS, WITHOUT_QUERIES, ranker_class
from refusals import refused

pytestmark = pytest.mark.filterwarnings("ignore", "error::RuntimeWarning")

MORE = [
    *[("gradient", {"loss": loss}) for loss in LOSSES],
    *[("rankrls", {"kernel": kernel}) for kernel in ("rbf", "poly")],
    *[("componentwise", {"loss": loss}) for loss in ("l1", "hinge")],
    ("rankboost", {"weak": "tree"}),
    ("rankboost", {"weak": "feature"}),
]
HUGE, TINY = 1.7e308, 5e-324
N = 40
random = np.random.default_rng(3)
X = random.uniform(-1.0, 1.0, size=(N, 3))
Y = (X[:, 0] + 0.4 * random.normal(size=N) > 0.2).astype(float)
QID = np.repeat(np.arange(4), N // 4)
ONE = np.arange(N) == 5


def cases():
    yield "features", HUGE * X, Y, None
    yield "features", 1e300 * X, Y, None
    yield "one value", np.where(ONE[:, None], HUGE, X), Y, None
    yield "features", TINY * np.rint(4.0 * X), Y, None
    yield "labels", X, HUGE * (2.0 * Y - 1.0), None
    yield "labels", X, 1e-300 * Y, None
    yield "weights", X, Y, np.full(N, 1e300)
    yield "weights", X, Y, np.full(N, TINY)
    yield "one weight", X, Y, np.where(ONE, 1e300, 1.0)
    yield "one weight", X, Y, np.where(ONE, TINY, 1.0)


def outcome(name, settings, X, y, weight):
    """Fit and score; return the refusal, if there is one."""
    ranker = ranker_class(name)(**settings)
    if "n_estimators" in ranker.get_params():
        ranker.set_params(n_estimators=3)
    queries = {} if name in WITHOUT_QUERIES else {"qid": QID}
    try:
        ranker.fit(X, y, sample_weight=weight, **queries)
    except CrucialError as error:
        return str(error)
    assert np.isfinite(ranker.predict(X, **queries)).all()
    assert np.isfinite(ranker.model_.feature_importances()).all()
    assert np.isfinite(ranker.score(X, y, **queries))
    return ""


@pytest.mark.parametrize(
    ("name", "settings"),
    [*((name, {}) for name in sorted(RANKERS)), *MORE],
    ids=lambda value: value if isinstance(value, str) else "-".join(value.values()),
)
def test_numbers_stay_numbers(name, settings):
    for case, rows, y, weight in cases():
        refusal = outcome(name, settings, rows, y, weight)
        assert "\n" not in refusal
        assert "training" not in refusal  # (found at the end of a fit, about its summary)
        if "features" in case:
            assert not refusal


@pytest.mark.parametrize("name", ["componentwise", "infinite-push", "ranknet", "ranking-svm"])
def test_sparse_numbers_stay_numbers(name):
    for case, rows, y, weight in cases():
        if case == "features":
            table = sp.csr_array(np.where(ONE[:, None], 0.0, rows))
            assert not outcome(name, {}, table, y, weight)


@pytest.mark.parametrize(("name", "settings", "match"), [
    ("gradient", {}, "loss='query_rmse' computes with the values of labels"),
    ("gradient", {"loss": "yeti"}, "loss='yeti' computes with the values of labels"),
    ("gradient", {"loss": "softmax"}, "loss='softmax' computes with the values of labels"),
    ("componentwise", {}, "ComponentwiseBoost computes with the values of labels"),
    ("rankrls", {}, "RankRLS computes with the values of labels"),
])  # fmt: skip
@pytest.mark.parametrize("labels", [1e101 * Y, -1e101 * Y, 1e-101 * Y], ids=["huge", "low", "near"])
def test_labels_whose_squares_are_not_numbers(name, settings, match, labels):
    refused(DataError, match, ranker_class(name)(**settings).fit, X, labels, qid=QID)


def test_labels_at_the_limit_are_taken():
    for labels in (1e100 * Y, 1e-100 * Y):
        for name in ("gradient", "componentwise", "rankrls"):
            assert not outcome(name, {}, X, labels, None)


def test_labels_too_small_for_gains():
    with pytest.raises(DataError, match=r"RSRank: labels are so small that 2\^y - 1"):
        ranker_class("rsrank")().fit(X, 1e-20 * Y, qid=QID)


@pytest.mark.parametrize("name", ["rankboost", "gradient", "ranking-svm"])
def test_only_ratios_of_weights_count(name):
    weight = random.integers(1, 4, N).astype(float)
    models = [
        ranker_class(name)().fit(X, Y, qid=QID, sample_weight=weight * 2.0**power).model_
        for power in (300, 1000)
    ]
    assert models[0] == models[1]


def test_weights_that_count_rows_are_named_as_they_came():
    with pytest.raises(DataError, match=r"sample_weight adds up to 4e\+301 rows"):
        ranker_class("svm-map")().fit(X, Y, qid=QID, sample_weight=np.full(N, 1e300))
    assert check_weights(np.full(3, 1e300), 3)[0] == 1e300
    with pytest.raises(
        DataError, match=r"^sample_weight adds up to more than 9.0072e\+15 rows, and"
    ):
        ranker_class("treerank")().fit(X, Y > 0, sample_weight=np.full(N, 1e300))


@pytest.mark.parametrize("name", ["rankboost", "smooth-margin"])
@pytest.mark.parametrize(("pair", "row"), [(1e300, TINY), (TINY, 1e300)])
def test_pairs_of_huge_weights_beside_labels_of_tiny_ones(name, pair, row):
    pairs = np.argsort(X[:, 0]).reshape(2, -1)[::-1].T
    weights = {"pair_weight": np.full(len(pairs), pair), "sample_weight": np.full(N, row)}
    ranker = ranker_class(name)(4)
    ranker.fit_pairs(X, pairs, y=Y, qid=QID, **weights)
    assert np.isfinite(ranker.predict(X, qid=QID)).all()


@pytest.mark.parametrize(("name", "parameters"), [
    ("rsrank", {"l1": 10**30}),
    ("svm-map", {"l2": 10**30}),
    *[("ranking-svm", {"l1": 10**30, "penalty": one}) for one in ("l1", "log", "mcp")],
])  # fmt: skip
def test_whole_numbers_beyond_64_bits_are_floats(name, parameters, tmp_path):
    same = {key: float(v) if isinstance(v, int) else v for key, v in parameters.items()}
    first, second = (ranker_class(name)(**one).fit(X, Y, qid=QID) for one in (parameters, same))
    assert first.predict(X).tolist() == second.predict(X).tolist()
    for number, one in enumerate((first, second)):
        one.save(tmp_path / f"{number}.json")
    assert (tmp_path / "0.json").read_bytes() == (tmp_path / "1.json").read_bytes()


@pytest.mark.parametrize(
    ("name", "parameter"),
    [("rankover", "levels"), ("diffrank", "cycles"), ("featurerank", "cycles")],
)
def test_numbers_of_steps_end(name, parameter):
    with pytest.raises(CrucialError, match=rf"The '{parameter}' parameter .* \[1, 1000000\]"):
        ranker_class(name)(**{parameter: 10**30}).fit(X, Y)
