"""Scaled features as weak rankers: method 1, the choice by Z, and any score of abstentions."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from crucial import RankBoost, load_model
from crucial.errors import ParameterError
from crucial.model.weak import ScaledFeature
from naive.pairs import from_labels
from naive.paths import quiet
from naive.scaled import best_weight, method_1, outputs


@st.composite
def tables(draw):
    n, m = draw(st.integers(4, 12)), draw(st.integers(1, 4))
    random = np.random.default_rng(draw(st.integers(0, 2**20)))
    X = random.integers(-5, 6, (n, m)) / draw(st.sampled_from([1, 10]))
    if draw(st.booleans()):
        X[random.random(X.shape) < 0.25] = np.nan
    y = random.integers(0, 3, n)
    qid = random.integers(0, draw(st.sampled_from([1, 2])), n)
    pairs = from_labels(y.tolist(), qid.tolist())
    assume(len(pairs))
    return X, y, qid, pairs


DEFAULTS = st.sampled_from(["learned", 0, 1, 0.5, -2.0, 3.0])


@given(tables(), DEFAULTS)
def test_method_1_with_the_smallest_z_is_its_naive_twin(table, default):
    X, y, qid, pairs = table
    lo, hi, weight = np.array(pairs.lo), np.array(pairs.hi), np.array(pairs.weight)
    expected = method_1(X, lo, hi, weight, 4, default)
    way = {"weak": "feature", "choice": "largest_drop", "step": "numeric", "default_rank": default}
    with quiet():
        made = RankBoost(4, 1.0, **way, n_jobs=1).fit(X, y, qid=qid)
    rounds = list(zip(made.model_.rankers, made.trace_))
    for (ranker, one), (feature, alpha, z) in zip(rounds, expected):
        if abs(alpha) > 14.9:  # (an infinite weight, which is smoothed)
            return
        assert ranker.feature == feature
        assert one.alpha == pytest.approx(alpha, abs=1e-7)
        assert one.z == pytest.approx(z, abs=1e-9)
        assert default in ("learned", ranker.default)
    assert len(rounds) == len(expected)


@given(tables(), st.sampled_from(["feature", "column"]), st.booleans())
def test_no_other_feature_has_a_smaller_z(table, weak, cumulative):
    X, y, qid, pairs = table
    low, high = np.nanmin(X), np.nanmax(X)
    X = (X - low) / (high - low if high > low else 1.0)
    way = {"weak": weak, "choice": "largest_drop", "step": "numeric"}
    rule = "cumulative" if cumulative else None
    with quiet():
        made = RankBoost(3, 1.0, **way, positive_weights=rule).fit(X, y, qid=qid)
    lo, hi, weight = np.array(pairs.lo), np.array(pairs.hi), np.array(pairs.weight)
    scores = np.zeros(len(X))
    total: dict[object, float] = {}
    for ranker, one in zip(made.model_.rankers, made.trace_):
        d = weight * np.exp(scores[lo] - scores[hi])
        d /= d.sum()
        rows = np.unique(np.concatenate((lo, hi)))
        offers = outputs(X, rows, "learned", scaled=weak == "feature")
        found = [best_weight(output[hi] - output[lo], d) for _, output in offers]
        alpha, z = min(found, key=lambda pair: pair[1])
        if not cumulative and abs(alpha) < 14.9:  # (an infinite weight is smoothed)
            assert one.z <= z + 1e-9
        scores = scores + one.alpha * ranker.scores(X)
        total[ranker] = total.get(ranker, 0.0) + one.alpha
        if cumulative:
            assert total[ranker] > 0.0


def test_a_score_of_abstentions_outside_0_and_1_is_learned_with_and_saved(tmp_path):
    """Of the rows that the feature abstains on, all should rank above the others."""
    X = np.array([[1.0, 0.2], [2.0, 0.1], [3.0, 0.4], [np.nan, 0.3], [np.nan, 0.5]])
    y = [0, 1, 1, 2, 2]
    way = {"weak": "feature", "step": "numeric", "choice": "largest_drop"}
    above = RankBoost(1, 1.0, default_rank=1.5, **way).fit(X[:, :1], y)
    assert above.model_.rankers == (ScaledFeature(0, 1.0, 3.0, 1.5),)
    scores = above.predict(X[:, :1])
    assert scores[3] == scores[4] > scores[2] > scores[1] > scores[0]
    assert above.score(X[:, :1], y) > RankBoost(1, 1.0, **way).fit(X[:, :1], y).score(X[:, :1], y)
    above.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert again.predict(X[:, :1]).tolist() == scores.tolist()


def test_a_default_inside_0_and_1_suits_method_3():
    X = np.array([[1.0], [2.0], [3.0], [np.nan]])
    ranker = RankBoost(2, 1.0, weak="feature", default_rank=0.25).fit(X, [0, 1, 2, 1])
    assert {one.default for one in ranker.model_.rankers} == {0.25}
    with pytest.raises(ParameterError, match=r"in \[0, 1\] with step='bound'"):
        RankBoost(2, weak="feature", default_rank=1.25).fit(X, [0, 1, 2, 1])
