"""Weights of rows and queries in the numbers of categories."""

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest

from crucial import RankBoost, RSRank
from crucial.errors import DataTypeError
from crucial.rankers.registry import RANKERS

from .test_categories import make
from .test_every_ranker import WITHOUT_QUERIES
from .test_every_ranker import make as make_ranker


def data():
    """Two columns of text: one of common categories, one of rare ones."""
    frame, y, qid = make(120, queries=12)
    frame["rare"] = np.random.default_rng(5).choice(list("abcdefghijklmnopqrstuvwxyz"), len(y))
    return frame, (y > 0).astype(int), qid


def fit(ranker, frame, y, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return ranker.fit(frame, y, **more)


def part(grouped, rows):
    return {name: values[rows] for name, values in grouped.items()}


@pytest.mark.parametrize("name", sorted(RANKERS))
def test_rows_of_weight_0_are_absent(name):
    frame, y, qid = data()
    grouped = {} if name in WITHOUT_QUERIES else {"qid": qid}
    weight = (np.random.default_rng(1).random(len(y)) < 0.7).astype(float)
    weight[qid == 3] = 0.0
    keep = weight > 0
    first = fit(make_ranker(name), frame, y, sample_weight=weight, **grouped)
    second = fit(make_ranker(name), frame[keep], y[keep], **part(grouped, keep))
    assert first.model_.encodings == second.model_.encodings
    scores = [one.predict(frame[keep], **part(grouped, keep)).tolist() for one in (first, second)]
    assert scores[0] == scores[1]


@pytest.mark.parametrize("name", sorted(set(RANKERS) - WITHOUT_QUERIES))
def test_queries_of_weight_0_are_absent(name):
    frame, y, qid = data()
    assert "query_weight" in inspect.signature(make_ranker(name).fit).parameters
    keep = qid % 3 > 0
    weights = {int(query): float(query % 3 > 0) for query in set(qid)}
    first = fit(make_ranker(name), frame, y, qid=qid, query_weight=weights)
    second = fit(make_ranker(name), frame[keep], y[keep], qid=qid[keep])
    assert first.model_.encodings == second.model_.encodings
    scores = [one.predict(frame[keep], qid=qid[keep]).tolist() for one in (first, second)]
    assert scores[0] == scores[1]


def test_a_query_weighs_as_its_rows():
    frame, y, qid = data()
    weight = 1.0 + qid % 3
    first = RankBoost(5).fit(frame, y, qid=qid, query_weight=weight).model_.encodings
    second = RankBoost(5).fit(frame, y, qid=qid, sample_weight=weight).model_.encodings
    assert first == second
    assert first != RankBoost(5).fit(frame, y, qid=qid).model_.encodings


def test_judges():
    """A row that no judge labels is absent, and so is a query of weight 0."""
    frame, y, qid = data()
    labels = np.column_stack([y, np.where(np.arange(len(y)) % 2, 1.0 - y, np.nan)])
    labels[::7] = np.nan
    keep = ~np.isnan(labels).all(axis=1) & (qid != 2)
    first = RankBoost(5).fit(frame, labels, qid=qid, query_weight=(qid != 2).astype(float))
    second = RankBoost(5).fit(frame[keep], labels[keep], qid=qid[keep])
    assert first.model_.encodings == second.model_.encodings
    assert first.predict(frame).tolist() == second.predict(frame).tolist()


def test_a_category_of_weight_0_abstains():
    frame, y, qid = data()
    frame.loc[:1, "rare"] = "new"
    weight = np.where(frame["rare"] == "new", 0.0, 1.0)
    found = RankBoost(5).fit(frame, y, qid=qid, sample_weight=weight).model_.encodings
    assert "new" not in found.categories[2]


def test_ids_are_refused_by_the_rows_that_weigh():
    frame = pd.DataFrame({"text": ["a", "a", "b", "c"]})
    with pytest.raises(DataTypeError, match="every value occurs once in 'text'"):
        RankBoost(5).fit(frame, [0, 1, 1, 0], sample_weight=[0, 1, 1, 1])


@pytest.mark.parametrize("scale", [1 / 240, 1e-8, 3.0])
def test_only_ratios_of_weights_count(scale):
    """Shrinkage, and what is a common category, do not depend on the unit of weights."""
    texts = np.repeat(["a", "b", "c", "d"], [100, 99, 30, 11])
    y = np.random.default_rng(0).integers(0, 3, len(texts))
    frame, qid = pd.DataFrame({"place": texts}), np.arange(len(y)) % 12
    weight = np.tile([1.0, 2.0, 3.0], 80)
    for one in (None, weight):
        first = RankBoost(5).fit(frame, y, qid=qid, sample_weight=one)
        scaled = scale * (np.ones(len(y)) if one is None else one)
        second = RankBoost(5).fit(frame, y, qid=qid, sample_weight=scaled)
        third = RankBoost(5).fit(frame, y, qid=qid, sample_weight=one, query_weight=scale + 0 * y)
        for other in (second, third):
            assert other.model_.encodings == first.model_.encodings
            np.testing.assert_allclose(other.predict(frame), first.predict(frame), rtol=1e-9)


def test_rankers_that_count_rows_count_them_here_too():
    frame, y, qid = data()
    once = RSRank().fit(frame, y, qid=qid, sample_weight=2.0 + 0 * y).model_.encodings
    rows = np.repeat(np.arange(len(y)), 2)
    twice = RSRank().fit(frame.iloc[rows], y[rows], qid=qid[rows]).model_.encodings
    assert once == twice
