"""Parts on workers, and what they need there."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crucial import Dataset, GradientRanker, RankBoost
from crucial.distributed import input
from crucial.distributed.fit import FitInput, load_parts
from crucial.distributed.input import join_rows
from crucial.errors import DataError

dask = pytest.importorskip("dask")


def tables(n_parts=6, rows=60, seed=0):
    random = np.random.default_rng(seed)
    return [
        pd.DataFrame(
            {
                "a": random.normal(size=rows).round(2),
                "b": random.integers(0, 5, rows),
                "qid": random.integers(0, 15, rows),
                "label": random.integers(0, 2, rows),
                "w": random.integers(1, 4, rows),
            }
        )
        for _ in range(n_parts)
    ]


def delayed(frames):
    return [dask.delayed(one) for one in frames]


def rows_of(loaded, name="_rows"):
    return loaded.parts.call("__getattribute__", name)


def test_parts_and_eval_parts_are_on_the_workers(client):
    frames, held = tables(), tables(2, seed=1)
    held[0]["more"] = 1  # (an eval set may have columns that are no features)
    given = FitInput(delayed(frames), weight="w", eval_set=delayed(held))
    reported = []
    with load_parts(client, given, n_parts=5, report=reported.append) as loaded:
        assert reported == [loaded.memory]
        assert loaded.parts.n_parts == 5
        assert loaded.parts.n_workers == 3
        rows, watched = rows_of(loaded), rows_of(loaded, "_eval_rows")
    bins = loaded.survey.bins
    whole = join_rows(sorted(rows, key=lambda part: part.query[0]))
    together = pd.concat(frames)
    order = np.argsort(together["qid"].to_numpy(), kind="stable")
    np.testing.assert_array_equal(whole.labels, together["label"].to_numpy()[order])
    np.testing.assert_array_equal(whole.weight, together["w"].to_numpy()[order])
    measured = join_rows([part for part in watched if part.n_rows])
    assert measured.weight is None
    local = pd.concat(held).sort_values("qid", kind="stable")
    values = Dataset(local[["a", "b"]].to_numpy(), local["label"].to_numpy())
    codes = Dataset.from_parts([values], bins=bins).X.table.bins.codes
    np.testing.assert_array_equal(measured.bins.codes, codes)
    assert all(part.bins.codes.shape[0] == 2 for part in watched)
    text = "360 rows in 15 queries: needs about 350 MB on each of 3 workers; the largest"
    assert str(loaded.memory).startswith(text)


def test_arrays_with_an_eval_set(client):
    import dask.array as da

    frame = pd.concat(tables())
    X, y, qid = frame[["a", "b"]].to_numpy(), frame["label"].to_numpy(), frame["qid"].to_numpy()
    table, labels = da.from_array(X, chunks=(100, 2)), da.from_array(y, chunks=90)
    given = FitInput(table, labels, qid, eval_set=(table[:150], labels[:150], qid[:150]))
    with load_parts(client, given) as loaded:
        assert sum(part.n_rows for part in rows_of(loaded)) == 360
        assert sum(part.n_rows for part in rows_of(loaded, "_eval_rows")) == 150
    without = replace(given, eval_set=(table, labels))
    with pytest.raises(DataError, match="eval_set has no query ids, and the rows to learn"):
        load_parts(client, without).__enter__()


def test_a_bad_eval_set_is_named(client):
    frames = tables(2)
    bad = [frames[0], frames[1].drop(columns="b")]
    given = FitInput(delayed(frames), weight="w", eval_set=delayed(bad))
    with pytest.raises(DataError, match=r"eval_set, part 1 \(from 0\): there is no column 'b'"):
        load_parts(client, given).__enter__()


def test_what_does_not_fit_is_refused_before_it_is_loaded(client, monkeypatch):
    frames = tables(2)
    frames[0].loc[:45, "qid"] = 7
    given = FitInput(delayed(frames))
    monkeypatch.setattr(input, "ROW_BYTES", 10**9)
    monkeypatch.setattr("crucial.distributed.fit.memory_limit", lambda *_: 20 * 10**9)
    message = (
        r"query 7 has \d+ rows, for which a worker needs \d+\.[34] GB, and it has 20\.0 GB. A q"
    )
    with pytest.raises(DataError, match=message):
        load_parts(client, given).__enter__()
    # (what a worker needs anyway is no fault of a query)
    monkeypatch.setattr("crucial.distributed.fit.memory_limit", lambda *_: 10**8)
    with pytest.raises(DataError, match=r"needs about .*, and a worker has 100 MB. Use more work"):
        load_parts(client, given).__enter__()
    monkeypatch.setattr("crucial.distributed.fit.memory_limit", lambda *_: 60 * 10**9)
    message = (
        r"needs about \d+\.[34] GB on each of \d workers; .*, and a worker has 60\.0 GB. Use mo"
    )
    with pytest.raises(DataError, match=message):
        load_parts(client, replace(given, qid="qid"), n_parts=2).__enter__()


@pytest.mark.parametrize(("ranker", "largest", "expected"), [
    (RankBoost(), 300, 2),
    (RankBoost(choice="largest_drop"), 256, 3),
    (RankBoost(choice="largest_drop"), 257, 4),
    (RankBoost(choice="largest_drop"), 70_000, 2),
    (RankBoost(weak="tree"), 300, 4),
    (GradientRanker(weak="stump"), 300, 4),
])  # fmt: skip
def test_bytes_that_a_ranker_keeps_of_a_cell(ranker, largest, expected):
    assert input.KeptCells.of(ranker).per_cell(largest) == expected


def test_the_limit_is_that_of_the_smallest_worker(client):
    workers = sorted(client.nthreads())
    limits = [one["memory_limit"] for one in client.scheduler_info()["workers"].values()]
    assert input.memory_limit(client, workers) == min(limits)
