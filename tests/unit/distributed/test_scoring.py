"""Scores, positions and measures of Dask collections are those of one table."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import crucial
import dask
from crucial import Dataset, RankBoost
from crucial.distributed.scoring import evaluate_parts, predict_parts, rank_parts
from crucial.errors import DataError, NotRankedError

FEATURES = ["f0", "f1", "f2"]
SIZES = (70, 0, 90, 40)


@pytest.fixture(scope="module")
def problem():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(200, 3)).round(1), columns=FEATURES)
    frame["qid"] = random.integers(0, 12, 200)
    frame["label"] = random.integers(0, 3, 200).astype(float)
    frame["url"] = [f"u{k}" for k in range(200)]
    frame.index = random.permutation(200)
    ranker = RankBoost(8).fit(frame[FEATURES], frame["label"], qid=frame["qid"])
    return frame, ranker


def parts(frame):
    ends = np.cumsum(SIZES)
    return [frame.iloc[b - n : b] for n, b in zip(SIZES, ends)]


def collections(frame, tmp_path):
    """Return the same rows in four forms."""
    for number, one in enumerate(parts(frame)):
        one.drop(columns="url").to_parquet(tmp_path / f"{number}.parquet", index=False)
    return {
        "frame": dd.from_delayed([dask.delayed(one) for one in parts(frame)], meta=frame.head(0)),
        "delayed": [dask.delayed(one) for one in parts(frame)],
        "files": str(tmp_path / "*.parquet"),
    }


def test_scores_positions_and_measures(problem, tmp_path):
    frame, ranker = problem
    scores = ranker.predict(frame[FEATURES])
    ranks = ranker.rank(frame[FEATURES], frame["qid"])
    expected = crucial.evaluate(frame["label"], scores, frame["qid"], ["ndcg@10", "map"])
    for form, data in collections(frame, tmp_path).items():
        lazy = predict_parts(ranker, data)
        assert dask.is_dask_collection(lazy)
        found = lazy.compute(scheduler="sync")
        np.testing.assert_array_equal(found, scores)
        placed = rank_parts(ranker, data).compute(scheduler="sync")
        np.testing.assert_array_equal(placed, ranks)
        if form == "frame":
            assert (found.name, placed.name) == ("score", "rank")
            assert placed.index.equals(frame.index)
            assert found.index.equals(frame.index)
        measured = evaluate_parts(ranker, data, ["ndcg@10", "map"]).compute(scheduler="sync")
        assert str(measured) == str(expected)
        np.testing.assert_array_equal(measured.per_query["map"], expected.per_query["map"])


def test_arrays_keep_their_chunks(problem):
    frame, named = problem
    X, y, qid = (frame[one].to_numpy() for one in (FEATURES, "label", "qid"))
    ranker = RankBoost(8).fit(X, y, qid=qid)
    assert ranker.model_.n_features == named.model_.n_features
    table = da.from_array(X, chunks=((70, 90, 40), (2, 1)))
    scores = predict_parts(ranker.model_, table)
    assert scores.chunks == ((70, 90, 40),)
    np.testing.assert_array_equal(scores.compute(scheduler="sync"), ranker.predict(X))
    ranks = rank_parts(ranker, table, da.from_array(qid, chunks=50)).compute(scheduler="sync")
    np.testing.assert_array_equal(ranks, ranker.rank(X, qid))
    found = evaluate_parts(ranker, table, label=y, qid=qid, weight=da.ones(200), measures="auc")
    assert found.compute(scheduler="sync")["auc"] == pytest.approx(
        crucial.evaluate(y, ranker.predict(X), qid, "auc")["auc"], abs=1e-15
    )
    with pytest.raises(NotRankedError, match="rank_parts needs qid"):
        rank_parts(ranker, table, None)
    plain = RankBoost(8).fit(X, y)
    first = rank_parts(plain, table, None, ties="first").compute(scheduler="sync")
    np.testing.assert_array_equal(first, plain.rank(X, ties="first"))


def test_svmlight_files_may_lack_the_last_features(problem, tmp_path):
    (tmp_path / "0.txt").write_text("1 qid:1 1:0.5 2:3\n0 qid:1 1:2 2:1 3:4\n")
    (tmp_path / "1.txt").write_text("1 qid:2 1:0.5\n0 qid:1 1:2\n")
    frame, _ = problem
    ranker = RankBoost(8).fit(frame[FEATURES].to_numpy(), frame["label"], qid=frame["qid"])
    files = str(tmp_path / "*.txt")
    scores = predict_parts(ranker, files, index_base=1).compute(scheduler="sync")
    whole = np.array([[0.5, 3, 0], [2, 1, 4], [0.5, 0, 0], [2, 0, 0]])
    np.testing.assert_array_equal(scores, ranker.predict(whole))
    ranks = rank_parts(ranker, files, index_base=1).compute(scheduler="sync")
    np.testing.assert_array_equal(ranks, ranker.rank(whole, [1, 1, 2, 1]))


def test_what_cannot_be_scored(problem):
    frame, ranker = problem
    mixed = [dask.delayed(frame.iloc[:100]), dask.delayed(frame.iloc[100:].assign(qid="a"))]
    with pytest.raises(DataError, match=r"qid: part 0 \(from 0\) has numbers, and part 1 .* text"):
        rank_parts(ranker, mixed).compute(scheduler="sync")
    lacking = [dask.delayed(frame), dask.delayed(frame.drop(columns="f1"))]
    with pytest.raises(DataError, match=r"part 1 \(from 0\): there is no column 'f1'"):
        predict_parts(ranker, lacking).compute(scheduler="sync")
    with pytest.raises(DataError, match="there is no row in any part"):
        rank_parts(ranker, [dask.delayed(frame.head(0))]).compute(scheduler="sync")
    X, y = frame[FEATURES].to_numpy(), frame["label"].to_numpy()
    other = crucial.rankers.FeatureRank(2).fit(X, y, qid=frame["qid"])
    assert other.model_.needs_query
    with pytest.raises(NotRankedError, match="against the others of its query"):
        rank_parts(other, [dask.delayed(Dataset(X, y, frame["qid"].to_numpy()))])


def test_features_named_as_roles_are_by_default(problem):
    frame, _ = problem
    other = frame.rename(columns={"label": "grade", "qid": "query"})
    other = other.rename(columns={"f0": "label", "f1": "qid"}).drop(columns="url")
    ranker = RankBoost(4).fit(other[["label", "qid", "f2"]], other["grade"], qid=other["query"])
    scores = ranker.predict(other[["label", "qid", "f2"]])
    parts = dd.from_pandas(other.reset_index(drop=True), npartitions=3, sort=False)
    found = predict_parts(ranker, parts).compute(scheduler="sync")
    np.testing.assert_array_equal(found, scores)
    ranks = rank_parts(ranker, parts, qid="query").compute(scheduler="sync")
    assert ranks.tolist() == ranker.rank(other[["label", "qid", "f2"]], other["query"]).tolist()
    for label in ("grade", parts["grade"]):
        measured = evaluate_parts(ranker, parts, "map", label=label, qid="query")
        expected = crucial.evaluate(other["grade"], scores, other["query"], "map")
        assert str(measured.compute(scheduler="sync")) == str(expected)
