"""Fits on a cluster of threads: the model of one machine, to the byte."""

import os
import pickle
import signal
from itertools import pairwise

import dask.array as da
import dask.dataframe as dask_frame
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import crucial
import dask
from crucial import Dataset, GradientRanker, RankBoost
from crucial.distributed import (
    DaskGradientRanker,
    DaskRankBoost,
    DaskRanker,
    evaluate_parts,
    predict_parts,
    rank_parts,
)
from crucial.distributed.input import ColumnRoles, list_sources
from crucial.errors import CrucialError, DataError, DataTypeError, NotRankedError, ParameterError
from crucial.io.parts import bins_without_rows
from refusals import refused
from toy_parts import local_client

FEATURES = ["a", "b", "c", "d"]


def problem(n=700, queries=60, seed=0):
    """Rows in no order, with string ids, missing values and weights."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4)).round(2)
    X[random.random(X.shape) < 0.1] = np.nan
    frame = pd.DataFrame(X, columns=FEATURES)
    number = random.integers(0, queries, n)
    frame["query"] = [f"q{k}" for k in number]
    frame["grade"] = np.digitize(np.nan_to_num(X[:, 0]) + random.normal(size=n), [0.5, 1.5])
    frame["w"] = random.integers(0, 4, n).astype(float)
    frame["importance"] = 1.0 + number % 4
    return frame


COLUMNS = {"label": "grade", "qid": "query"}


def cut(frame, n_parts, seed=0):
    """Return random parts, some of them empty, as delayed frames."""
    random = np.random.default_rng(seed)
    ends = [0, *np.sort(random.integers(0, len(frame) + 1, n_parts - 1)).tolist(), len(frame)]
    return [dask.delayed(frame.iloc[a:b]) for a, b in pairwise(ends)]


def local(ranker, frame, bins, **weights):
    data = Dataset(frame[FEATURES], frame["grade"].to_numpy(), frame["query"].to_numpy())
    data = Dataset.from_parts([data], bins=bins)
    return ranker.fit(data.X, data.y, qid=data.qid, **weights)


def same(one, other):
    """Whether two fitted rankers are equal to the byte, trace included."""
    assert one.to_local().model_ == other.model_
    found, expected = (pickle.dumps([r.alpha for r in x.trace_]) for x in (one, other))
    assert found == expected
    assert [r.log_loss for r in one.trace_] == [r.log_loss for r in other.trace_]
    return True


def test_workers_and_parts_do_not_matter(client):
    frame = problem()
    weights = {"sample_weight": frame["w"], "query_weight": frame["importance"]}

    def fit(client, n_parts, **more):
        ranker = DaskRankBoost(12, client=client, n_parts=n_parts, verbose=0)
        data = cut(frame, n_parts, seed=n_parts)
        return ranker.fit(data, **COLUMNS, weight="w", query_weight="importance", **more)

    with local_client(1) as lonely:
        for one, n_parts in ((lonely, 7), (client, 1), (client, 40)):
            found = fit(one, n_parts)
            assert same(found, local(RankBoost(12), frame, found.bins_, **weights))


@pytest.mark.parametrize("ranker", [
    RankBoost(8, balance="queries", monotone_constraints={0: 1}, subsample=0.5),
    RankBoost(9, early_stopping_rounds=2),
], ids=str)  # fmt: skip
def test_rankers(client, ranker):
    frame = problem()
    data = cut(frame.drop(columns=["w", "importance"]), 9)
    found = DaskRanker(ranker, client=client, verbose=0).fit(data, **COLUMNS)
    assert same(found, local(ranker, frame, found.bins_))
    again = DaskRanker(ranker, client=client, n_parts=2, verbose=0)
    again.fit(data, **COLUMNS, bins=found.bins_)
    assert again.model_ == found.model_
    assert not hasattr(ranker, "model_") or ranker is not found.ranker_


def test_an_eval_set_is_measured_on_the_workers(client):
    frame, held = (problem(seed=k).drop(columns=["w", "importance"]) for k in (0, 1))
    ranker = RankBoost(15, early_stopping_rounds=4, eval_metric=["ndcg@5", "map"])
    found = DaskRanker(ranker, client=client, verbose=0).fit(
        cut(frame, 6), **COLUMNS, eval_set=cut(held, 3)
    )
    eval_set = (held[FEATURES], held["grade"])
    expected = local(ranker, frame, found.bins_, eval_set=eval_set, eval_qid=held["query"])
    assert same(found, expected)
    assert found.best_round_ == expected.best_round_
    assert [one.measures for one in found.trace_] == [one.measures for one in expected.trace_]


def test_save_predict_rank_evaluate_and_score(client, tmp_path):
    frame = problem().drop(columns=["importance"])
    rows = dask_frame.from_pandas(frame, npartitions=4)
    ranker = DaskGradientRanker(3, client=client, verbose=0)
    ranker.fit(rows, **COLUMNS, ignore=["w"])
    plain, X, y, qid = ranker.to_local(), frame[FEATURES], frame["grade"], frame["query"]
    assert isinstance(plain, GradientRanker)
    ranker.save(tmp_path / "model.json")
    assert crucial.load_model(tmp_path / "model.json") == plain.model_
    scores, ranks = plain.predict(X), plain.rank(X, qid)
    measured = crucial.evaluate(y, scores, qid, "map")["map"]
    agrees = [plain.score(X, y, qid=qid), plain.score(X, y, qid=qid, sample_weight=frame["w"])]
    for data in (rows, frame):  # (of the second, values come at once)
        np.testing.assert_array_equal(computed(ranker.predict(data)), scores)
        np.testing.assert_array_equal(computed(ranker.rank(data, "query")), ranks)
        assert computed(ranker.evaluate(data, "map", **COLUMNS))["map"] == measured
        assert ranker.score(data, **COLUMNS) == agrees[0]
        assert ranker.score(data, **COLUMNS, weight="w") == agrees[1]
    assert ranker.score(X, y, qid) == agrees[0]
    assert ranker.score(X, y, qid, frame["w"]) == agrees[1] != agrees[0]
    np.testing.assert_array_equal(ranker.rank(X, qid), ranks)
    refused(DataError, "there is no column 'qid'", ranker.score, frame, "grade")
    refused(DataError, "the rows are no files: sep cannot", ranker.predict, frame, sep=",")
    refused(NotRankedError, "score needs qid", ranker.score, frame, "grade", None)


def test_rows_that_are_arrays(client):
    frame = problem()
    X, y, qid = frame[FEATURES].to_numpy(), frame["grade"].to_numpy(), frame["query"].to_numpy()
    table = da.from_array(X, chunks=(200, 4))
    ranker = DaskRankBoost(3, client=client, verbose=0).fit(table, y, qid)
    plain = ranker.to_local()
    np.testing.assert_array_equal(ranker.predict(X), plain.predict(X))
    assert ranker.score(X, y, qid) == ranker.score(table, y, qid) == plain.score(X, y, qid=qid)
    refused(DataError, "have no query ids. Pass them with qid", ranker.rank, X)
    refused(DataError, "have no labels. Pass them with label", ranker.score, X, qid=qid)
    remedy = r"Got ndarray. Fit rows of this process with the ranker itself, or make them a coll"
    refused(DataError, remedy, DaskRankBoost(3, client=client, verbose=0).fit, X, y, qid)


def computed(value):
    return value.compute(scheduler="sync") if dask.is_dask_collection(value) else value


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "n_parts"), [(2, 300), (1, 9)])
def test_hundreds_of_parts_on_two_processes_of_which_one_is_killed(workers, n_parts):
    frame = problem(n=30_000, queries=2_000).sort_values("query", ignore_index=True)
    data = cut(frame.drop(columns=["w", "importance"]), n_parts)
    with local_client(workers, processes=True) as client:

        def kill(finished):
            if finished.number == 10:
                pids = client.run(os.getpid)
                os.kill(next(iter(pids.values())), signal.SIGKILL)

        ranker = DaskRankBoost(30, client=client, callbacks=[kill], n_parts=n_parts, verbose=0)
        found = ranker.fit(data, **COLUMNS)
    assert found.memory_.n_parts > 0.8 * n_parts
    assert same(found, local(RankBoost(30), frame, found.bins_))


def test_checkpoint_and_resume(client, tmp_path):
    frame = problem()
    data, path = cut(frame.drop(columns=["w", "importance"]), 5), tmp_path / "rounds.json"

    def stop(finished):
        if finished.number == 6:
            raise KeyboardInterrupt

    how = {"client": client, "verbose": 0}
    with pytest.raises(KeyboardInterrupt):
        DaskRankBoost(10, callbacks=[stop], checkpoint=path, **how).fit(data, **COLUMNS)
    found = DaskRankBoost(10, **how).fit(data, **COLUMNS, resume=path)
    assert same(found, local(RankBoost(10), frame, found.bins_))


def test_what_is_refused(client):
    frame = problem()
    with pytest.raises(ParameterError, match=r"The 'n_parts' parameter of DaskRankBoost must be"):
        DaskRankBoost(3, n_parts=0, client=client).fit(cut(frame, 2), **COLUMNS)
    with pytest.raises(AttributeError, match="no attribute 'model_'"):
        _ = DaskRankBoost(3).model_
    assert repr(DaskRankBoost(3)) == "DaskRankBoost(RankBoost(n_estimators=3))"


# -- arguments of fits and scores on Dask that cannot be meant ------------------------------------


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc"))
    table["qid"], table["label"] = np.arange(40) // 10, rng.integers(0, 3, 40)
    return dask_frame.from_pandas(table, npartitions=2)


@pytest.mark.parametrize(("words", "match"), [
    ({"features": []}, "no column is left for the features"),
    ({"features": "ab"}, "'features' parameter of fit must be a list of column names"),
    ({"features": [1, 2]}, "'features' parameter of fit must be a list of column names"),
    ({"features": 5}, "'features' parameter of fit must be a list of column names"),
    ({"ignore": "ab"}, "'ignore' parameter of fit must be a list of column names"),
    ({"query_weight": {0: 1.0}}, "'query_weight' .* must be the name of a column, a Dask"),
    ({"weight": [1.0] * 40}, "'weight' .* must be the name of a column, a Dask array or None"),
    ({"label": np.zeros(40)}, "'label' .* must be the name of a column, a Dask array or None"),
])  # fmt: skip
def test_what_is_refused_before_anything_is_read(frame, words, match):
    refused(CrucialError, match, DaskRanker(RankBoost(3), verbose=0).fit, frame, **words)


def test_nothing_is_fitted_yet(frame):
    ranker = DaskRanker(RankBoost(3))
    for call in (lambda: ranker.predict(frame), ranker.to_local):
        refused(NotFittedError, "not fitted yet", call)
    assert not hasattr(ranker, "ranker_")


@pytest.mark.parametrize("model", ["x", 5, None])
def test_scoring_needs_a_model(frame, model):
    for score in (predict_parts, rank_parts, evaluate_parts):
        refused(DataTypeError, "a fitted ranker or a model is needed", score, model, frame)
    with pytest.raises(NotFittedError):
        predict_parts(RankBoost(3), frame)


def test_the_label_and_the_query_are_no_features():
    for name in ("label", "qid"):
        with pytest.raises(CrucialError, match=f"features names '{name}', which is already the"):
            ColumnRoles(features=("a", name))
    assert ColumnRoles(features=("a", "label"), labelled=False).features == ("a", "label")


def test_bins_are_bins():
    refused(CrucialError, r"'bins' parameter .* must be Bins or a Dataset", bins_without_rows, 5)


def test_names_of_columns_in_any_form(frame):
    columns = frame.columns
    for names in (columns[:2], np.array(["a", "b"]), {"a": 0, "b": 1}.keys(), iter("ab")):
        roles = ColumnRoles.checked("fit", frame, features=names, ignore=columns[2:3])
        assert (roles.features, roles.ignore) == (("a", "b"), ("c",))


def test_scores_take_a_list_of_names(frame):
    table = frame.compute(scheduler="sync")
    ranker = RankBoost(2).fit(table[list("abc")], table["label"], qid=table["qid"])
    for score in (predict_parts, rank_parts, evaluate_parts):
        words = f"'features' parameter of {score.__name__} must be a list of column names"
        refused(CrucialError, words, score, ranker, frame, features="abc")


def test_labels_beside_rows_with_a_feature_of_that_name(frame):
    columns = ColumnRoles(frame["c"], "qid", features=("label", "a"))
    source = list_sources(frame, columns, {})[0]
    assert (source.columns.label, source.columns.features) == ("__label__", ("label", "a"))
