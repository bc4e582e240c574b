"""From Dask collections, delayed tables and files to coded parts of whole queries."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest

import dask
from crucial import Dataset, GradientRanker, RankBoost
from crucial.distributed import input
from crucial.distributed.input import (
    ColumnRoles,
    assign_queries,
    coded_parts,
    join_rows,
    list_sources,
    load_parts,
    survey,
)
from crucial.distributed.part import Part
from crucial.errors import DataError
from crucial.io import parquet
from crucial.io.parts import QuantileSketch
from refusals import refused

FEATURES = ["f0", "f1", "f2"]


def rows(n=400, queries=25, seed=0, ids=None):
    """Rows in no order: the rows of a query are in many parts."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3)).round(2)
    X[random.random(X.shape) < 0.1] = np.nan
    frame = pd.DataFrame(X, columns=FEATURES)
    names = np.arange(queries) if ids is None else np.asarray(ids)
    frame["qid"] = names[random.integers(0, queries, n)]
    frame["label"] = random.integers(0, 3, n).astype(float)
    return frame


def cut(frame, sizes):
    ends = np.cumsum(sizes)
    assert ends[-1] == len(frame)
    return [frame.iloc[b - n : b].reset_index(drop=True) for n, b in zip(sizes, ends)]


def as_dataset(frame):
    weight = frame["weight"].to_numpy() if "weight" in frame else None
    labels, qid = frame["label"].to_numpy(), frame["qid"].to_numpy()
    return Dataset(frame[FEATURES].to_numpy(), labels, qid, weight=weight)


def coded(client, data, n_parts=4, columns=None, bins=None, **options):
    """Return the survey, and the parts of whole queries."""
    sources = list_sources(data, columns or ColumnRoles(), options, client)
    surveyed = survey(client, sources, bins=bins)
    assigned = assign_queries(surveyed, n_parts)
    return surveyed, assigned, client.gather(coded_parts(client, surveyed, assigned))


def assert_same(parts, surveyed, frame, bins=None):
    """Parts have whole queries, and together they are what one process makes of the rows."""
    seen = [set(part.query.tolist()) for part in parts]
    assert sum(map(len, seen)) == len(set().union(*seen)) == len(surveyed.ids)
    whole = join_rows(sorted(parts, key=lambda part: part.query[0]))
    n = len(frame)
    local = Dataset.from_parts([as_dataset(frame)], bins=bins).X.table.bins
    ids = frame["qid"].to_numpy()
    order = np.argsort(ids, kind="stable")
    for one, other in zip(local.thresholds, surveyed.bins.thresholds, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(whole.bins.codes[:, :n], local.codes[:, order])
    np.testing.assert_array_equal(whole.bins.has_missing, local.has_missing)
    np.testing.assert_array_equal(whole.labels, frame["label"].to_numpy()[order])
    np.testing.assert_array_equal(surveyed.ids[whole.query], ids[order])


@pytest.mark.parametrize("n_parts", [1, 3, 40])
def test_delayed_frames_of_every_kind(client, n_parts):
    frame = rows(ids=[f"query {k}" for k in range(25)])
    cuts = cut(frame, [1, 0, 199, 120, 80])
    kinds = [pd.DataFrame, pd.DataFrame, pl.from_pandas, lambda f: pl.from_pandas(f).to_arrow()]
    made = [dask.delayed(kind(one)) for kind, one in zip([*kinds, as_dataset], cuts)]
    # (a data set has no names, which the others have)
    refused(DataError, r"part 4 \(from 0\) has 3 features without names, and", coded, client, made)
    surveyed, assigned, parts = coded(client, [*made[:4], dask.delayed(cuts[4])], n_parts)
    assert len(surveyed.sources) == 4  # (one is empty)
    assert assigned.n_parts == min(n_parts, 4)
    assert assigned.sizes.tolist() == [part.n_rows for part in parts]
    assert_same(parts, surveyed, frame)


def test_frames_arrays_futures_and_files_are_the_same_rows(client, tmp_path):
    import dask.array as da

    frame = rows()
    frame["weight"] = np.random.default_rng(1).integers(0, 3, len(frame)).astype(float)
    weighted = ColumnRoles(weight="weight")
    surveyed, _, parts = coded(client, dd.from_pandas(frame, npartitions=5), columns=weighted)
    assert_same(parts, surveyed, frame)
    expected = join_rows(sorted(parts, key=lambda part: part.query[0]))

    sizes = (100, 180, 120)
    table = da.from_array(frame[FEATURES].to_numpy(), chunks=(sizes, (2, 1)))
    roles = {
        "label": da.from_array(frame["label"].to_numpy(), chunks=50),
        "qid": frame["qid"].to_numpy(),
        "weight": da.from_array(frame["weight"].to_numpy()[:, None], chunks=70),
    }
    cuts = cut(frame, sizes)
    for number, one in enumerate(cuts):
        one.to_parquet(tmp_path / f"{number}.parquet")
    one.head(0).to_parquet(tmp_path / "empty.parquet")
    series = {"weight": dd.from_pandas(frame["weight"], npartitions=3)}
    bare = dd.from_pandas(frame.drop(columns="weight"), npartitions=3)
    for data, given in (
        (table, roles),
        (client.scatter(cuts), {}),
        (str(tmp_path / "*.parquet"), {}),
        (sorted(tmp_path.glob("[0-9]*")), {}),
        (tmp_path, {}),
        (bare, series),
    ):
        columns = ColumnRoles(**given) if given else weighted
        _, _, parts = coded(client, data, columns=columns)
        found = join_rows(sorted(parts, key=lambda part: part.query[0]))
        np.testing.assert_array_equal(found.bins.codes, expected.bins.codes)
        np.testing.assert_array_equal(found.weight, expected.weight)
        np.testing.assert_array_equal(found.query, expected.query)


def test_a_large_file_is_several_parts(client, tmp_path, monkeypatch):
    frame = rows()
    path = tmp_path / "one.parquet"
    pl.from_pandas(frame).write_parquet(path, row_group_size=50)
    monkeypatch.setattr(parquet, "_CELLS", 5 * 120)
    for data in (path, [path]):
        surveyed, _, parts = coded(client, data)
        names = [f"{path}, row groups {first} to {first + 1}" for first in (0, 2, 4, 6)]
        assert [one.name for one in surveyed.sources] == names
        assert_same(parts, surveyed, frame)
    assert len(list_sources([path], ColumnRoles(), {})) == 4


def test_queries_in_one_part_stay_there(client):
    frame = rows().sort_values("qid", kind="stable")
    sizes = np.bincount(frame["qid"])
    whole = cut(frame, [sizes[:10].sum(), sizes[10:11].sum(), sizes[11:].sum()])
    sources = list_sources([dask.delayed(one) for one in whole], ColumnRoles(), {})
    surveyed = survey(client, sources)
    assert assign_queries(surveyed, 3).sizes.tolist() == [len(one) for one in whole]
    through = [dask.delayed(one) for one in cut(frame, [200, 199, 1])]
    surveyed = survey(client, list_sources(through, ColumnRoles(), {}))
    assert assign_queries(surveyed, 3).sizes.max() <= 200 + 2 * sizes.max()


def test_sketches_of_many_parts_are_merged_as_one_process_merges_them(client, monkeypatch):
    monkeypatch.setattr(QuantileSketch.__init__, "__defaults__", (64,))
    random = np.random.default_rng(5)
    frame = pd.DataFrame(random.lognormal(sigma=3, size=(1080, 3)), columns=FEATURES)
    frame["qid"], frame["label"] = np.arange(len(frame)) // 30, random.integers(0, 2, len(frame))
    cuts = cut(frame, [30] * 36)
    made = [dask.delayed(one) for one in cuts]
    surveyed = survey(client, list_sources(made, ColumnRoles(), {}))
    local = Dataset.from_parts([as_dataset(one) for one in cuts]).X.table.bins
    exact = Dataset.from_parts([as_dataset(frame)]).X.table.bins
    all_bins = (bins.thresholds for bins in (local, surveyed.bins, exact))
    for one, other, third in zip(*all_bins, strict=True):
        np.testing.assert_array_equal(one, other)
        assert len(one) < len(third)  # (the sketches had to leave values out)


def test_given_bins_are_used(client):
    frame = rows()
    bins = Dataset.from_parts([as_dataset(rows(seed=7))], max_bins=9).X.table.bins
    given = Dataset.from_parts([as_dataset(rows(seed=7))], max_bins=9)
    surveyed, _, parts = coded(client, [dask.delayed(frame)], bins=bins)
    assert max(surveyed.bins.n_bins) <= 9
    assert_same(parts, surveyed, frame, given)


def test_query_weights_and_features_by_name(client):
    frame = rows().assign(importance=lambda f: f["qid"] % 3 + 1.0, url="x")
    columns = ColumnRoles(query_weight="importance", ignore=("url",))
    surveyed, _, parts = coded(client, [dask.delayed(one) for one in cut(frame, [150, 250])],
                               columns=columns)  # fmt: skip
    assert surveyed.first.instances.names == tuple(FEATURES)
    for part in parts:
        np.testing.assert_array_equal(part.query_weight, surveyed.ids[part.query] % 3 + 1.0)
    chosen = ColumnRoles(features=("f2", "f0"))
    surveyed, _, _ = coded(client, [dask.delayed(frame)], columns=chosen)
    assert surveyed.first.instances.names == ("f2", "f0")


def nan_qid(frame):
    return frame.assign(qid=[np.nan, *frame["qid"][1:]])


def unreadable():
    raise OSError("the disk is on fire")


@pytest.mark.parametrize(("change", "message"), [
    (nan_qid, r"part 1 \(from 0\): qid is NaN in row 0; every row must belong to a query"),
    (lambda f: f.drop(columns="f1"), r"part 1 \(from 0\) lacks 'f1'; its columns must be"),
    (lambda f: f.drop(columns="qid"), r"part 1 \(from 0\): there is no column 'qid'; columns"),
    (lambda f: f.assign(more=1), r"part 1 \(from 0\) also has 'more'; its columns must be"),
    (lambda f: f.assign(f1="a"), r"part 1 \(from 0\): Input X: the values of 'f1' cannot be"),
    (lambda f: f.assign(label="a"), r"part 1 \(from 0\): the column 'label' must have number"),
    (lambda f: f.assign(f0=np.inf), r"part 1 \(from 0\): Input X contains infinity .* row 0"),
    (lambda f: f.assign(qid="a"), r"qid: part 0 \(from 0\) has numbers, and part 1 .* text"),
    (lambda f: f["f0"], r"part 1 \(from 0\): must be a frame, a Dataset, or a tuple"),
    (lambda f: f.set_axis(["f0", "f0", *f.columns[2:]], axis=1),
     r"part 1 \(from 0\): column names must differ. [^\n]*'f0' 2 times$"),
    (lambda f: unreadable(), r"part 1 \(from 0\) cannot be read: OSError: the disk is on fi"),
])  # fmt: skip
def test_a_bad_part_is_named(client, change, message):
    cuts = cut(rows(), [200, 100, 100])
    made = [dask.delayed(cuts[0]), dask.delayed(change)(cuts[1]), dask.delayed(cuts[2])]
    refused(DataError, message, coded, client, made)


def test_a_bad_weight_is_named(client):
    frame = rows().assign(w=[1.0, -1.0] * 200, c=[np.nan] * 400)
    with pytest.raises(DataError, match=r"part 0 .*: weights must be finite .* Row 1 is -1.0"):
        coded(client, [dask.delayed(frame)], columns=ColumnRoles(weight="w", ignore=("c",)))
    with pytest.raises(DataError, match=r"part 0 .*: query weights must be .* Row 0 is nan"):
        coded(client, [dask.delayed(frame)], columns=ColumnRoles(query_weight="c", ignore=("w",)))


def test_query_weights_that_differ_inside_a_query_are_refused(client):
    frame = rows(queries=2).assign(c=lambda f: f["qid"] + 1.0)
    frame["qid"] = np.array(["ant", "bee"])[frame["qid"]]
    columns = ColumnRoles(query_weight="c")
    cuts = cut(frame, [300, 100])
    within = frame.assign(c=np.arange(400.0))
    match = r"part 0 \(from 0\): query_weight must be constant inside a query. It is not in 'ant'"
    refused(DataError, match, coded, client, [dask.delayed(within)], columns=columns)
    match = r"It is not in 'ant': 1 in part 0 \(from 0\), 1.5 in part 1 \(from 0\)"
    other = cuts[1].assign(c=cuts[1]["c"].replace(1.0, 1.5))
    with pytest.raises(DataError, match=match):
        coded(client, [dask.delayed(cuts[0]), dask.delayed(other)], columns=columns)


def test_a_bad_file_is_named(client, tmp_path):
    for number, one in enumerate(cut(rows(), [200, 200])):
        one.to_parquet(tmp_path / f"{number}.parquet")
    bad = tmp_path / "2.parquet"
    bad.write_bytes(b"PAR1 and nothing else")
    refused(DataError, r"2\.parquet: .*parquet", coded, client, tmp_path)
    bad.unlink()
    with pytest.raises(DataError, match=r"2\.parquet: .*[Nn]o such file"):
        coded(client, [tmp_path / "0.parquet", bad])
    refused(DataError, r"[*]\.csv: no file has such a name", coded, client, str(tmp_path / "*.csv"))
    (tmp_path / "3.txt").write_text("1 qid:4 1:0.5\n0 qid:4 1:zero\n")
    refused(DataError, r"3\.txt, line 2, column", coded, client, str(tmp_path / "*.txt"))


@pytest.mark.parametrize(("data", "roles", "message"), [
    ([], {}, "there are no parts: the sequence is empty"),
    (pd.DataFrame({"a": [1]}), {}, "must be a Dask frame or array, a list .* Got DataFrame"),
    ([dask.delayed(1)], {"label": np.ones(3)}, "label must be the name of a column, since"),
    ([dask.delayed(rows().head(0))], {}, "there is no row in any part"),
])  # fmt: skip
def test_bad_input(client, data, roles, message):
    refused(DataError, message, coded, client, data, columns=ColumnRoles(**roles))


def test_bad_arrays(client):
    table, ones = da.ones((40, 2), chunks=(10, 2)), da.ones(40, chunks=10)
    for data, roles, said in (
        (table, {"label": ones, "qid": da.ones(30)}, "X has 40 rows, and qid has 30"),
        (table, {"label": table}, r"label must be 1D. Got an array of shape \(40, 2\)"),
        (ones, {"label": ones}, "an array of two dimensions. Got Array"),
        (table, {"qid": ones}, "have no .* Pass them with label, as an array beside"),
        (table, {"label": ones}, "have no .* Pass them with qid, as an array beside"),
    ):
        refused(DataError, said, coded, client, data, columns=ColumnRoles(**roles))
    said = "the parts are no files: sep cannot apply to them"
    refused(DataError, said, coded, client, table, sep=",")


def test_a_part_that_changes_between_two_readings_is_refused(client):
    frame = rows()
    surveyed = survey(client, list_sources([dask.delayed(frame)], ColumnRoles(), {}))
    other = list_sources([dask.delayed(frame.head(399))], ColumnRoles(), {})
    surveyed.sources[0] = other[0]
    futures = coded_parts(client, surveyed, assign_queries(surveyed, 1))
    with pytest.raises(DataError, match=r"part 0 .* has other rows than when it was read first"):
        client.gather(futures)


# -- parts on workers, and what they need there ---------------------------------------------------


def tables(n_parts=6, rows=60, seed=0):
    random = np.random.default_rng(seed)
    ranges = {"b": (0, 5), "qid": (0, 15), "label": (0, 2), "w": (1, 4)}
    made = [pd.DataFrame({"a": random.normal(size=rows).round(2)}) for _ in range(n_parts)]
    return [one.assign(**{k: random.integers(*r, rows) for k, r in ranges.items()}) for one in made]


def delayed(frames):
    return [dask.delayed(one) for one in frames]


def load(client, data, columns=None, **options):
    return load_parts(client, data, columns or ColumnRoles(), ranker=RankBoost(), **options)


def rows_of(parts, name="_rows"):
    """Return the rows of all parts, in a list."""
    return parts.total("list_of", name)


@pytest.fixture(autouse=True)
def parts_that_list(monkeypatch):
    listed = lambda part, name: [getattr(part, name)]  # noqa: E731
    monkeypatch.setattr(Part, "list_of", listed, raising=False)


def test_parts_and_eval_parts_are_on_the_workers(client, capsys):
    frames, held = tables(), tables(2, seed=1)
    held[0]["more"] = 1  # (an eval set may have columns that are no features)
    columns, eval_set = ColumnRoles(weight="w"), delayed(held)
    loading = load(client, delayed(frames), columns, eval_set=eval_set, n_parts=5, verbose=1)
    with loading as (parts, schema, memory):
        assert (parts.n_parts, parts.n_workers) == (5, 3)
        rows, watched = rows_of(parts), rows_of(parts, "_eval_rows")
    assert f"{memory}\n" in capsys.readouterr().err
    assert (schema.n_rows, schema.lowest_label, schema.names) == (360, 0.0, ("a", "b"))
    bins = schema.bins
    whole = join_rows(sorted(rows, key=lambda part: part.query[0]))
    together = pd.concat(frames)
    order = np.argsort(together["qid"].to_numpy(), kind="stable")
    np.testing.assert_array_equal(whole.labels, together["label"].to_numpy()[order])
    np.testing.assert_array_equal(whole.weight, together["w"].to_numpy()[order])
    measured = join_rows([part for part in watched if part is not None])
    assert measured.weight is None
    local = pd.concat(held).sort_values("qid", kind="stable")
    values = Dataset(local[["a", "b"]].to_numpy(), local["label"].to_numpy())
    codes = Dataset.from_parts([values], bins=bins).X.table.bins.codes
    np.testing.assert_array_equal(measured.bins.codes, codes)
    text = "360 rows in 15 queries: needs about 350 MB on each of 3 workers; the largest"
    assert str(memory).startswith(text)


def test_arrays_with_an_eval_set(client):
    frame = pd.concat(tables())
    X, y, qid = frame[["a", "b"]].to_numpy(), frame["label"].to_numpy(), frame["qid"].to_numpy()
    table, labels = da.from_array(X, chunks=(100, 2)), da.from_array(y, chunks=90)
    columns, eval_set = ColumnRoles(labels, qid), (table[:150], labels[:150], qid[:150])
    with load(client, table, columns, eval_set=eval_set) as (parts, _, _):
        assert sum(part.n_rows for part in rows_of(parts)) == 360
        assert sum(part.n_rows for part in rows_of(parts, "_eval_rows") if part) == 150
    with pytest.raises(DataError, match="eval_set has no query ids, and the rows to learn"):
        load(client, table, columns, eval_set=(table, labels)).__enter__()


def test_a_bad_eval_set_is_named(client):
    frames = tables(2)
    bad = [frames[0], frames[1].drop(columns="b")]
    loading = load(client, delayed(frames), ColumnRoles(weight="w"), eval_set=delayed(bad))
    with pytest.raises(DataError, match=r"eval_set, part 1 \(from 0\): there is no column 'b'"):
        loading.__enter__()


def test_what_does_not_fit_is_refused_before_it_is_loaded(client, monkeypatch):
    frames = tables(2)
    frames[0].loc[:45, "qid"] = 7
    data = delayed(frames)
    monkeypatch.setattr(input, "ROW_BYTES", 10**9)
    # (what a worker needs anyway is no fault of a query)
    for limit, message in (
        (20 * 10**9, r"query 7 has \d+ rows, for which a worker needs \d+\.[34] GB, and it has 20"),
        (10**8, r"needs about .*, and a worker has 100 MB. Use more work"),
        (60 * 10**9, r"needs about \d+\.[34] GB on each of \d workers; .* has 60\.0 GB. Use mo"),
    ):
        monkeypatch.setattr(input, "memory_limit", lambda client, limit=limit: limit)
        refused(DataError, message, load(client, data, n_parts=2).__enter__)


@pytest.mark.parametrize(("ranker", "largest", "expected"), [
    (RankBoost(), 300, 2),
    (RankBoost(choice="largest_drop"), 256, 3),
    (RankBoost(choice="largest_drop"), 257, 4),
    (RankBoost(choice="largest_drop"), 70_000, 2),
    (RankBoost(weak="tree"), 300, 4),
    (GradientRanker(weak="stump"), 300, 4),
])  # fmt: skip
def test_bytes_that_a_ranker_keeps_of_a_cell(ranker, largest, expected):
    assert input.cell_bytes(ranker, largest) == expected


def test_the_limit_is_that_of_the_smallest_worker(client):
    limits = [one["memory_limit"] for one in client.scheduler_info()["workers"].values()]
    assert input.memory_limit(client) == min(limits)
