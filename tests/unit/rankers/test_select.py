"""The selection of features as a part of scikit-learn's pipelines."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from crucial import RankBoost, cross_validate, make_letor
from crucial.errors import DataError
from crucial.rankers import SelectByRanking
from refusals import refused

DATA = make_letor(n_queries=15, docs_per_query=20, n_features=6, seed=3)
TABLE = np.asarray(DATA.X.table if hasattr(DATA.X, "table") else DATA.X, float)


def test_selected_columns_come_out_in_every_form():
    select = SelectByRanking(3).fit(TABLE, DATA.y, qid=DATA.qid)
    mask = select.get_support()
    assert mask.sum() == 3
    assert sorted(select.chosen_.tolist()) == select.get_support(indices=True).tolist()
    np.testing.assert_array_equal(select.transform(TABLE), TABLE[:, mask])
    sparse = SelectByRanking(3).fit(sp.csr_array(TABLE), DATA.y, qid=DATA.qid)
    assert sparse.chosen_.tolist() == select.chosen_.tolist()
    np.testing.assert_array_equal(sparse.transform(sp.csr_array(TABLE)).toarray(), TABLE[:, mask])
    assert select.inverse_transform(select.transform(TABLE)).shape == TABLE.shape


def test_names_of_features_and_frames():
    frame = pd.DataFrame(TABLE, columns=list("abcdef"))
    select = SelectByRanking(2).set_output(transform="pandas")
    out = select.fit(frame, DATA.y, qid=DATA.qid).transform(frame)
    assert list(out.columns) == select.get_feature_names_out().tolist()
    assert len(out.columns) == 2


def test_a_pipeline_passes_queries_to_selection_and_ranker():
    pipe = make_pipeline(SelectByRanking(2, c=0.2), RankBoost(10))
    with sklearn.config_context(enable_metadata_routing=True):
        pipe.fit(TABLE, DATA.y, qid=DATA.qid)
        scores = pipe.predict(TABLE, qid=DATA.qid)
    select = SelectByRanking(2, c=0.2).fit(TABLE, DATA.y, qid=DATA.qid)
    alone = RankBoost(10).fit(select.transform(TABLE), DATA.y, qid=DATA.qid)
    np.testing.assert_array_equal(scores, alone.predict(select.transform(TABLE)))
    assert pipe[0].scores_.tolist() == select.scores_.tolist()
    without = SelectByRanking(2, c=0.2, measure="ndcg@10").fit(TABLE, DATA.y)
    assert without.scores_.tolist() != select.scores_.tolist()
    found = cross_validate(pipe, TABLE, DATA.y, qid=DATA.qid, cv=3)
    assert 0.0 < found["ndcg@10"] <= 1.0


def test_a_share_and_more_than_there_are():
    assert SelectByRanking(0.4).fit(TABLE, DATA.y).get_support().sum() == 3  # (2.4, rounded up)
    assert SelectByRanking(99).fit(TABLE, DATA.y).get_support().all()


def test_abstentions_count_as_the_mean_and_stay():
    X = TABLE.copy()
    X[::7, 0] = np.nan
    filled = X.copy()
    filled[::7, 0] = np.nanmean(X[:, 0])
    select = SelectByRanking(6).fit(X, DATA.y, qid=DATA.qid)
    other = SelectByRanking(6).fit(filled, DATA.y, qid=DATA.qid)
    np.testing.assert_allclose(select.scores_, other.scores_, rtol=1e-12)
    np.testing.assert_allclose(select.similarity_, other.similarity_, rtol=1e-12)
    assert np.isnan(select.transform(X)[::7, 0]).all()
    X[:, 0] = np.nan  # (no opinion at all: a constant)
    assert SelectByRanking(1).fit(X, DATA.y, qid=DATA.qid).chosen_[0] != 0


def test_a_loss_is_negated():
    loss = SelectByRanking(2, c=0.0, measure="kendall").fit(TABLE, DATA.y, qid=DATA.qid)
    right = SelectByRanking(2, c=0.0, measure="auc").fit(TABLE, DATA.y > 0, qid=DATA.qid)
    assert (loss.scores_ <= 0).all()
    assert loss.chosen_[0] == loss.scores_.argmax()
    assert right.scores_.min() >= 0.5


def test_wrong_input():
    refused(DataError, "requires y to be passed", SelectByRanking().fit, TABLE, None)
    with pytest.raises(DataError, match="has no value on these labels"):
        SelectByRanking().fit(TABLE, np.zeros(len(TABLE)))
    with pytest.raises(NotFittedError, match="not fitted"):
        clone(SelectByRanking().fit(TABLE, DATA.y)).transform(TABLE)
    refused(TypeError, "positional argument", SelectByRanking().fit, TABLE, DATA.y, DATA.qid)


def test_a_huge_c_chooses_different_features():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 4))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    large = SelectByRanking(3, c=1e12).fit(X, y).chosen_.tolist()
    assert len(set(large)) == 3
    for c in (1e200, 1e308):
        assert SelectByRanking(3, c=c).fit(X, y).chosen_.tolist() == large
