"""ListMLE, RankCosine and SVMMap: what they learn, what changes nothing, and what they refuse."""

from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from crucial import ListMLE, RankCosine, SVMMap, evaluate

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
def test_strict_orders_are_learned(ranker: Any) -> None:
    ranker.fit(X, ORDER, qid=QID)
    assert ranker.score(X, ORDER, qid=QID) > 0.75
    importances = ranker.feature_importances_
    assert importances.argmax() == 0
    assert importances[3] < 0.15
    assert importances.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("ranker", [ListMLE(), SVMMap(top=5)], ids=["listmle", "svm-map"])
def test_only_the_order_of_labels_counts(ranker: Any) -> None:
    before = ranker.fit(X, ORDER, qid=QID).predict(X)
    after = ranker.fit(X, np.exp(ORDER) + 100.0 * QID, qid=QID).predict(X)
    assert after.tobytes() == before.tobytes()


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
