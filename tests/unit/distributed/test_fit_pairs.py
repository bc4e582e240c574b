"""Explicit pairs on a cluster of threads: the model of one machine, to the byte."""

import numpy as np
import pandas as pd
import pytest

from crucial import Dataset, LogisticRanker, RankBoost
from crucial.distributed import DaskRankBoost, DaskRanker
from crucial.errors import DataError, ParameterError

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

FEATURES = ["a", "b", "c"]


def problem(n=300, queries=25, seed=0):
    """Rows in no order, and pairs inside queries."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(random.normal(size=(n, 3)).round(1), columns=FEATURES)
    frame["qid"] = [f"q{k}" for k in random.integers(0, queries, n)]
    frame["grade"] = np.digitize(frame["a"] + random.normal(size=n), [0.0, 1.0])
    one, other = random.integers(0, n, (2, 5000))
    ids = frame["qid"].to_numpy()
    there = (ids[one] == ids[other]) & (frame["a"].to_numpy()[one] > frame["a"].to_numpy()[other])
    pairs = np.column_stack((one, other))[there]
    return frame, pairs, random.integers(1, 4, len(pairs)) / 2.0


def local(ranker, frame, bins, pairs, weight, **options):
    data = Dataset(frame[FEATURES], frame["grade"].to_numpy(), frame["qid"].to_numpy())
    data = Dataset.from_parts([data], bins=bins)
    return ranker.fit_pairs(data.X, pairs, pair_weight=weight, qid=data.qid, **options)


def test_the_model_is_that_of_one_machine(client):
    frame, pairs, weight = problem()
    held = problem(seed=1)[0]
    cuts = [dask.delayed(frame.iloc[a:b]) for a, b in ((0, 70), (70, 70), (70, 220), (220, 300))]
    ranker = RankBoost(9, early_stopping_rounds=3)
    found = DaskRanker(ranker, client=client, n_parts=3, verbose=0).fit_pairs(
        cuts, da.from_array(pairs), weight, label="grade", eval_set=[dask.delayed(held)]
    )
    options = {"eval_set": (held[FEATURES], held["grade"]), "eval_qid": held["qid"]}
    expected = local(ranker, frame, found.bins_, pairs, weight, **options)
    assert found.to_local().model_ == expected.model_
    assert [one.log_loss for one in found.trace_] == [one.log_loss for one in expected.trace_]
    # without labels, and without weights
    table = da.from_array(frame[FEATURES].to_numpy(), chunks=(90, 3))
    ids = da.from_array(frame["qid"].to_numpy().astype("U8"), chunks=90)
    plain = DaskRankBoost(4, client=client, verbose=0).fit_pairs(table, pairs, qid=ids)
    alone = local(RankBoost(4), frame, plain.bins_, pairs, None)
    assert [one.alpha for one in plain.trace_] == [one.alpha for one in alone.trace_]


def test_bad_pairs_are_refused(client):
    frame, pairs, _ = problem()
    data = [dask.delayed(frame.drop(columns="grade"))]
    fit = DaskRankBoost(3, client=client, verbose=0).fit_pairs
    with pytest.raises(DataError, match="rows go from 0 to 299"):
        fit(data, [(0, 300)])
    with pytest.raises(DataError, match="pair_weight"):
        fit(data, pairs, [1.0])
    ids = frame["qid"].to_numpy()
    other = int(np.flatnonzero(ids != ids[0])[0])
    with pytest.raises(DataError, match=f"rows 0 and {other} are of different queries"):
        fit(data, [(0, other)])
    with pytest.raises(ParameterError, match="does not learn from explicit pairs"):
        DaskRanker(LogisticRanker(), client=client).fit_pairs(None, pairs)
    with pytest.raises(DataError, match="pairs have no queries to set aside"):
        DaskRanker(RankBoost(early_stopping_rounds=2), client=client).fit_pairs(None, pairs)
