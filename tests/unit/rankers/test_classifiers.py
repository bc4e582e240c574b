"""Rankers as classifiers of two or of ordered classes, and their exports."""

import pickle
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.metrics import brier_score_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

from crucial import RankBoost
from crucial.errors import DataError, NotRankedError, ParameterError
from crucial.rankers import AdaBoostRanker, DiffRank, InfinitePush, ListMLE, LogitBoost
from crucial.rankers.classifiers import OrdinalClassifier, RankingClassifier, best_cuts
from refusals import refused

X, Y = load_breast_cancer(return_X_y=True)
X = X[:, :4]
TRAIN, HELD, TEST = slice(0, 300), slice(300, 430), slice(430, None)


@parametrize_with_checks(
    [
        RankingClassifier(RankBoost(20)),
        RankingClassifier(AdaBoostRanker(20, 1.0)),
        OrdinalClassifier(RankBoost(20)),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def f_parts(decision, y, weight=1.0):
    parts = weight * np.exp(np.where(y, -decision, decision))
    return parts[y == 1].sum(), parts[y == 0].sum()


@pytest.mark.parametrize("ranker", [RankBoost(60), AdaBoostRanker(60)], ids=["rank", "ada"])
def test_the_intercept_balances_the_classes(ranker):
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 300)
    ranker.fit(X[TRAIN], Y[TRAIN], sample_weight=weight)
    made = ranker.to_classifier()
    decision = made.decision_function(X[TRAIN])
    np.testing.assert_array_equal(decision, ranker.predict(X[TRAIN]) + made.intercept_)
    good, bad = f_parts(decision, Y[TRAIN], weight)
    assert good == pytest.approx(bad, rel=1e-10)
    assert is_classifier(made)
    assert made.classes_.tolist() == [0, 1]
    assert made.classes_.dtype == np.int64
    assert made.score(X[TEST], Y[TEST]) > 0.85
    proba = made.predict_proba(X[TEST])
    decision = made.decision_function(X[TEST])
    np.testing.assert_allclose(proba[:, 1], 1 / (1 + np.exp(-2 * decision)), rtol=1e-12)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert made.predict(X[TEST]).tolist() == (decision > 0).astype(int).tolist()


def test_it_holds_no_data_and_can_be_pickled():
    small, large = (RankBoost(5).fit(np.tile(X, (n, 1)), np.tile(Y, n)) for n in (1, 20))
    sizes = [len(pickle.dumps(one.to_classifier())) for one in (small, large)]
    assert abs(sizes[1] - sizes[0]) < 200
    again = pickle.loads(pickle.dumps(small.to_classifier()))
    assert again.predict(X).tolist() == small.to_classifier().predict(X).tolist()


def test_the_intercept_is_of_the_rounds_that_are_kept():
    ranker = RankBoost(100, 1.0, early_stopping_rounds=3)
    ranker.fit(X[TRAIN], Y[TRAIN], eval_set=(X[HELD], Y[HELD]))
    assert ranker.best_round_ < len(ranker.trace_)
    good, bad = f_parts(ranker.to_classifier().decision_function(X[TRAIN]), Y[TRAIN])
    assert good == pytest.approx(bad, rel=1e-10)


def test_extreme_scores_have_probabilities():
    x, y = np.arange(20.0)[:, None], np.arange(20) > 9
    made = RankBoost(3000, 1.0).fit(x, y).to_classifier()
    proba = made.predict_proba(x)
    assert np.isfinite(proba).all()
    assert made.predict(x).tolist() == y.astype(int).tolist()


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration_by_scikit_learn(method):
    ranker = RankBoost(400, 1.0).fit(X[TRAIN], Y[TRAIN])
    plain = ranker.to_classifier()
    made = ranker.to_classifier(method, X[HELD], Y[HELD])
    assert isinstance(made, CalibratedClassifierCV)
    assert made.classes_.tolist() == [0, 1]
    assert made.method == method
    before, after = (
        brier_score_loss(Y[TEST], one.predict_proba(X[TEST])[:, 1]) for one in (plain, made)
    )
    assert after < before
    weights = np.ones(430 - 300)
    again = ranker.to_classifier(method, X[HELD], Y[HELD], sample_weight=weights)
    np.testing.assert_allclose(again.predict_proba(X), made.predict_proba(X), rtol=1e-12)


def test_what_is_no_ranker_makes_no_classifier():
    with pytest.raises(ParameterError, match=r"'ranker' parameter of RankingClassifier must be a"):
        RankingClassifier("x").fit(X, Y)


def test_few_rows_are_enough_to_calibrate():
    ranker = RankBoost(10).fit(X[TRAIN], Y[TRAIN])
    rows = np.flatnonzero(Y == 1)[:2].tolist() + np.flatnonzero(Y == 0)[:2].tolist()
    assert ranker.to_classifier("sigmoid", X[rows], Y[rows]).predict(X[TEST]).shape == (139,)


def test_what_makes_no_classifier():
    graded = RankBoost(5).fit(X, np.arange(len(X)) % 3)
    refused(NotRankedError, r"not fitted to labels of two values.*X=X, y=y", graded.to_classifier)
    made = graded.to_classifier(X=X, y=np.where(Y == 1, "benign", "malignant"))
    assert made.classes_.tolist() == ["benign", "malignant"]
    paired = RankBoost(5).fit_pairs(X, [(0, 20), (1, 30)])
    refused(NotRankedError, "not fitted to labels of two values", paired.to_classifier)
    assert paired.to_classifier(X=X, y=Y).classes_.tolist() == [0, 1]
    asked = RankBoost(5).fit(X, Y, qid=np.arange(len(X)) % 2)
    refused(NotRankedError, r"fitted with queries.*no common zero", asked.to_classifier, X=X, y=Y)


@pytest.mark.parametrize(("given", "match"), [
    ((True,), r"'calibrated' .* one of False, 'sigmoid'.* Got True"),
    (("sigmoid",), r"calibrated='sigmoid' needs rows to learn it from"),
    ((False, X), "both X and y, or neither"),
    (("sigmoid", X, Y + 1), r"labels that RankBoost was fitted to, \[0, 1\]\. Got"),
    ((False, X, np.arange(len(X)) % 3), "Only binary classification is supported"),
    ((False, X, np.eye(len(X), 2, dtype=int)), "type of the target is multilabel-indicator"),
])  # fmt: skip
def test_bad_arguments(given, match):
    refused((DataError, ParameterError), match, RankBoost(5).fit(X, Y).to_classifier, *given)


def test_labels_keep_their_values():
    half = RankBoost(5).fit(X, Y - 0.5).to_classifier()
    assert half.classes_.tolist() == [-0.5, 0.5]
    assert set(half.predict(X)) == {-0.5, 0.5}


def test_rows_that_are_given_balance_the_classes():
    ranker = RankBoost(20).fit(X[TRAIN], Y[TRAIN])
    weight = np.where(Y[HELD] == 1, 5.0, 1.0)
    made = ranker.to_classifier(X=X[HELD], y=Y[HELD], sample_weight=weight)
    good, bad = f_parts(made.decision_function(X[HELD]), Y[HELD], weight)
    assert good == pytest.approx(bad)
    assert made.intercept_ != pytest.approx(ranker.to_classifier().intercept_, rel=0.01)


# -- Ordered classes by cut-offs on scores, and the best K rows. --
Z = np.random.default_rng(0).normal(size=(120, 3))
GRADES = np.digitize(Z[:, 0] + 0.2 * Z[:, 1], [-0.5, 0.4, 1.2])


def errors_of(cuts, scores, codes, weight):
    """Both errors of some cut-offs, by their definition."""
    assigned = (scores[:, None] > np.asarray(cuts)).sum(axis=1)
    total = weight.sum()
    return (
        (weight * (assigned != codes)).sum() / total,
        (weight * abs(assigned - codes)).sum() / total,
    )


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 3), st.sampled_from([0.1, 0.3, 1.0])),
        min_size=1,
        max_size=9,
    ),
    n_classes=st.integers(2, 4),
    weighted=st.booleans(),
    absolute=st.booleans(),
)
def test_no_other_cuts_are_better(rows, n_classes, weighted, absolute):
    scores, codes, weight = (np.array(one) for one in zip(*rows, strict=True))
    codes = codes % n_classes
    used = weight if weighted else np.ones(len(codes))
    error = "absolute" if absolute else "zero_one"
    cuts = best_cuts(scores.astype(float), codes, n_classes, weight if weighted else None, error)
    values = np.unique(scores)
    places = [-np.inf, *((values[:-1] + values[1:]) / 2), np.inf]
    turn = -1 if absolute else 1

    def judge(candidate):
        both = errors_of(candidate, scores, codes, used)[::turn]
        return (*np.round(both, 9), *candidate)  # the lowest cuts among equals

    best = min(combinations_with_replacement(places, n_classes - 1), key=judge)
    assert tuple(cuts) == best


def test_a_ranker_with_cuts():
    ranker = RankBoost(50).fit(Z[:60], GRADES[:60])
    made = ranker.to_ordinal(Z[:60], np.array(["a", "b", "c", "d"])[GRADES[:60]])
    assert is_classifier(made)
    assert made.classes_.tolist() == ["a", "b", "c", "d"]
    assert made.cuts_.shape == (3,)
    assert np.all(np.diff(made.cuts_) >= 0)
    graded = ranker.to_ordinal(Z[:60], GRADES[:60])
    assert graded.score(Z[60:], GRADES[60:]) > 0.6
    assert pickle.loads(pickle.dumps(graded)).predict(Z).tolist() == graded.predict(Z).tolist()
    assert graded.ranker_ is ranker
    fitted = OrdinalClassifier(RankBoost(50)).fit(Z[:60], GRADES[:60])
    assert fitted.cuts_.tolist() == graded.cuts_.tolist()


@pytest.mark.parametrize(("ranker", "more", "match"), [
    (RankBoost(5), {"error": "squared"}, "'error' parameter"),
    (RankBoost(5), {"y": Z[:, 0]}, "Unknown label type: continuous"),
    (RankBoost(5), {"y": GRADES[:5]}, "one label for each of the 120 rows"),
    (RankBoost(5), {"y": np.zeros(120, int)}, "only one class is present"),
    (RankBoost(5), {"y": np.eye(120, 2, dtype=int)}, "one class per row"),
    (DiffRank(3), {}, r"no score for a row alone. Use RankBoost"),
])  # fmt: skip
def test_what_cannot_be_cut_is_refused(ranker, more, match):
    with pytest.raises((ParameterError, DataError, NotRankedError), match=match):
        ranker.fit(Z, GRADES).to_ordinal(**{"X": Z, "y": GRADES, **more})


def test_rankers_of_queries_and_what_is_no_ranker_cannot_be_cut():
    with pytest.raises(ParameterError, match="'ranker' parameter of OrdinalClassifier must be a"):
        OrdinalClassifier(3).fit(Z, GRADES)
    with pytest.raises(NotRankedError, match=r"fitted with queries.*Fit it without qid"):
        RankBoost(5).fit(Z, GRADES, qid=np.arange(120) // 30).to_ordinal(Z, GRADES)


@pytest.mark.parametrize("ranker", [RankBoost(3), ListMLE(), DiffRank(3)])
def test_the_best_k_of_every_query(ranker):
    qid = np.array(["b", "a", "c"])[np.arange(120) % 3]
    qid[0] = "d"  # a query of one row
    ranker.fit(Z, GRADES, qid=qid)
    chance = ranker.select(Z, 7, qid)
    chosen = ranker.select(Z, 7, qid, ties="first")
    scores = ranker.predict(Z, qid)
    assert chosen.dtype == bool
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        k = min(7, len(rows))
        assert chance[rows].sum() == pytest.approx(k)
        assert chosen[rows].sum() == k
        bar = np.sort(scores[rows])[-k]
        tied = scores[rows] == bar
        above = scores[rows] > bar
        assert (chance[rows][above] == 1).all()
        assert (chance[rows][scores[rows] < bar] == 0).all()
        np.testing.assert_allclose(chance[rows][tied], (k - above.sum()) / tied.sum())
        first = np.sort(rows[tied])[: k - above.sum()]
        assert set(rows[chosen[rows]]) == {*rows[above], *first}


def test_selection_without_queries_and_what_is_refused():
    ranker = InfinitePush().fit(Z, GRADES > 1)
    assert ranker.select(Z, 10).sum() == pytest.approx(10)
    assert ranker.select(Z, 10**20).tolist() == [1.0] * 120
    assert ranker.select(Z, 10**20, ties="first").all()
    refused(ParameterError, "'k' parameter of select must be", ranker.select, Z, 0)
    refused(ParameterError, "'ties' parameter of select must be", ranker.select, Z, 3, ties="last")


@pytest.mark.parametrize("signs", [(0.0, -0.0), (-0.0, 0.0)])
def test_classes_have_one_zero(signs):
    """In either order: which of both stands for the class would depend on the CPU."""
    Z = np.arange(40.0)[:, None]
    y = np.repeat([*signs, 1.0, 2.0], 10)
    plain = RankBoost(5).fit(Z, y).to_ordinal(Z, y)
    two = RankingClassifier(RankBoost(5)).fit(Z[:30], y[:30])
    for classes in (plain.classes_, two.classes_):
        assert classes[0] == 0.0
        assert not np.signbit(classes).any()


# -- Estimators and classifiers export what they compute. --
@pytest.fixture(scope="module")
def two_classes():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3)).astype(np.float32).astype(float)
    X[random.random(X.shape) < 0.1] = np.nan
    return X, (np.nan_to_num(X[:, 0]) + random.normal(size=200) > 0).astype(int)


def run(path):
    space = {}
    exec(path.read_text(), space)
    return space["score"]


def test_a_ranker_exports_its_model(two_classes, tmp_path):
    X, y = two_classes
    with pytest.raises(NotFittedError):
        RankBoost().export(tmp_path / "x.py", "python")
    ranker = RankBoost(20).fit(X, y)
    ranker.export(tmp_path / "x.py", "python", data=X)
    assert [run(tmp_path / "x.py")(row) for row in X] == ranker.predict(X).tolist()


def test_a_classifier_exports_probabilities_or_decisions(two_classes, tmp_path):
    X, y = two_classes
    classifier = RankBoost(20).fit(X, y).to_classifier()
    classifier.export(tmp_path / "p.py", "python")
    found = [run(tmp_path / "p.py")(row) for row in X]
    assert found == pytest.approx(classifier.predict_proba(X)[:, 1], abs=1e-14)
    classifier.export(tmp_path / "d.py", "python", probability=False)
    assert [run(tmp_path / "d.py")(row) for row in X] == classifier.decision_function(X).tolist()


def test_probabilities_of_logit_boost(two_classes, tmp_path):
    X, y = two_classes
    ranker = LogitBoost(20).fit(X, y)
    ranker.export(tmp_path / "p.py", "python", probability=True)
    found = [run(tmp_path / "p.py")(row) for row in X]
    assert found == pytest.approx(ranker.predict_proba(X)[:, 1], abs=1e-14)
    with pytest.raises(NotRankedError, match="no probabilities"):
        RankBoost(2).fit(X, y).export(tmp_path / "q.py", "python", probability=True)
