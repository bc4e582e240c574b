"""Ordered classes by cut-offs on scores, and the best K rows."""

import pickle
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import is_classifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from crucial import DiffRank, InfinitePush, ListMLE, RankBoost
from crucial.errors import DataError, NotRankedError, ParameterError
from crucial.rankers.classifiers import OrdinalClassifier, RankingClassifier, best_cuts
from refusals import refused

X = np.random.default_rng(0).normal(size=(120, 3))
Y = np.digitize(X[:, 0] + 0.2 * X[:, 1], [-0.5, 0.4, 1.2])


@parametrize_with_checks([OrdinalClassifier(RankBoost(20))])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


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
    ranker = RankBoost(50).fit(X[:60], Y[:60])
    made = ranker.to_ordinal(X[:60], np.array(["a", "b", "c", "d"])[Y[:60]])
    assert is_classifier(made)
    assert made.classes_.tolist() == ["a", "b", "c", "d"]
    assert made.cuts_.shape == (3,)
    assert np.all(np.diff(made.cuts_) >= 0)
    graded = ranker.to_ordinal(X[:60], Y[:60])
    assert graded.score(X[60:], Y[60:]) > 0.6
    assert pickle.loads(pickle.dumps(graded)).predict(X).tolist() == graded.predict(X).tolist()
    assert graded.ranker_ is ranker
    fitted = OrdinalClassifier(RankBoost(50)).fit(X[:60], Y[:60])
    assert fitted.cuts_.tolist() == graded.cuts_.tolist()


@pytest.mark.parametrize(
    ("ranker", "more", "match"),
    [
        (RankBoost(5), {"error": "squared"}, "'error' parameter"),
        (RankBoost(5), {"y": X[:, 0]}, "Unknown label type: continuous"),
        (RankBoost(5), {"y": Y[:5]}, "one label for each of the 120 rows"),
        (RankBoost(5), {"y": np.zeros(120, int)}, "only one class is present"),
        (RankBoost(5), {"y": np.eye(120, 2, dtype=int)}, "one class per row"),
        (DiffRank(3), {}, r"no score for a row alone. Use RankBoost"),
    ],
)
def test_what_cannot_be_cut_is_refused(ranker, more, match):
    with pytest.raises((ParameterError, DataError, NotRankedError), match=match):
        ranker.fit(X, Y).to_ordinal(**{"X": X, "y": Y, **more})


def test_rankers_of_queries_and_what_is_no_ranker_cannot_be_cut():
    with pytest.raises(ParameterError, match="'ranker' parameter of OrdinalClassifier must be a"):
        OrdinalClassifier(3).fit(X, Y)
    with pytest.raises(NotRankedError, match=r"fitted with queries.*Fit it without qid"):
        RankBoost(5).fit(X, Y, qid=np.arange(120) // 30).to_ordinal(X, Y)


@pytest.mark.parametrize("ranker", [RankBoost(3), ListMLE(), DiffRank(3)])
def test_the_best_k_of_every_query(ranker):
    qid = np.array(["b", "a", "c"])[np.arange(120) % 3]
    qid[0] = "d"  # a query of one row
    ranker.fit(X, Y, qid=qid)
    chance = ranker.select(X, 7, qid)
    chosen = ranker.select(X, 7, qid, ties="first")
    scores = ranker.predict(X, qid)
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
    ranker = InfinitePush().fit(X, Y > 1)
    assert ranker.select(X, 10).sum() == pytest.approx(10)
    assert ranker.select(X, 500).tolist() == [1.0] * 120
    refused(ParameterError, "'k' parameter of select must be", ranker.select, X, 0)
    refused(ParameterError, "'ties' parameter of select must be", ranker.select, X, 3, ties="last")


@pytest.mark.parametrize("signs", [(0.0, -0.0), (-0.0, 0.0)])
def test_classes_have_one_zero(signs):
    """In either order: which of both stands for the class would depend on the CPU."""
    X = np.arange(40.0)[:, None]
    y = np.repeat([*signs, 1.0, 2.0], 10)
    plain = RankBoost(5).fit(X, y).to_ordinal(X, y)
    two = RankingClassifier(RankBoost(5)).fit(X[:30], y[:30])
    for classes in (plain.classes_, two.classes_):
        assert classes[0] == 0.0
        assert not np.signbit(classes).any()
