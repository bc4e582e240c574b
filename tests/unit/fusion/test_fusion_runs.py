"""Runs as people have them, side by side."""

import gzip
import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas
import pytest

from crucial.data.dataset import Run
from crucial.errors import DataError, DataTypeError, FileError, ParameterError
from crucial.fusion import Pool, fuse
from crucial.fusion import pool as inputs
from crucial.fusion.pool import sum_exactly
from crucial.fusion.rules import METHODS
from refusals import refused

BM25 = "1 Q0 a 1 9 bm25\n1 Q0 b 2 5 bm25\n1 Q0 c 3 1 bm25\n2 Q0 a 1 4 bm25\n"
DENSE = "1 Q0 c 1 .9 dense\n1 Q0 a 2 .2 dense\n3 Q0 z 1 .5 dense\n"


@pytest.fixture
def files(tmp_path):
    def make(**texts):
        paths = []
        for name, text in texts.items():
            path = tmp_path / f"{name}.run"
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
            paths.append(path)
        return paths

    return make


@pytest.fixture(params=[False, True], ids=["small", "large"])
def large(request, monkeypatch):
    """Read small files as such, or as large ones."""
    monkeypatch.setattr(inputs, "_LARGE", 0 if request.param else 10**9)
    return request.param


def lists(pool):
    """Query, document and position, of every run."""
    return [
        sorted(
            (pool.queries[pool.query_of_row[row]], pool.doc[row], int(at))
            for row, at in zip(one.rows, one.position)
        )
        for one in pool.lists
    ]


SIDE_BY_SIDE = [
    [("1", "a", 1), ("1", "b", 2), ("1", "c", 3), ("2", "a", 1)],
    [("1", "a", 2), ("1", "c", 1), ("3", "z", 1)],
]


class TestFiles:
    def test_fewer_documents_and_other_queries(self, files, large):
        pool = Pool.of(files(one=BM25, two=DENSE))
        assert (pool.names, pool.tags) == (("bm25", "dense"),) * 2
        assert lists(pool) == SIDE_BY_SIDE
        assert fuse(pool).doc.tolist()[:3] == ["a", "c", "b"]
        if not large:
            assert pool.queries.tolist() == ["1", "2", "3"]
            assert pool.n_returned.tolist() == [2, 1, 2, 1, 1]

    @pytest.mark.parametrize("text", [
        BM25.replace(" ", "\t"),
        BM25.replace(" ", "   ").replace("\n", " \r\n"),
        "\ufeff\n" + BM25,
        gzip.compress(BM25.encode(), mtime=0),
        # the rank column is never read
        "1 Q0 b 1 5 bm25\n1 Q0 a 99 9 bm25\n2 Q0 a x 4 bm25\n1 Q0 c 1 1 bm25\n",
    ])  # fmt: skip
    def test_forms(self, files, text, large):
        assert lists(Pool.of(files(one=text, two=DENSE))) == SIDE_BY_SIDE

    def test_ties_go_by_name_last_first_as_in_trec_eval(self, files, large):
        text = "1 Q0 b 1 2 x\n1 Q0 é 2 2 x\n1 Q0 a 3 2 x\n1 Q0 z 4 3 x\n"
        pool = Pool.of(files(one=text, two=DENSE))
        assert lists(pool)[0] == [("1", "a", 4), ("1", "b", 3), ("1", "z", 1), ("1", "é", 2)]

    @pytest.mark.parametrize(("text", "match"), [
        (BM25 + "1 Q0 b 4 3 bm25\n", r"line 5: document 'b' occurs twice .* line 2 and in li"),
        (BM25 + "1 Q0 d 4 nan bm25\n", r"line 5, column 10: the score must be a finite number"),
        (BM25 + "1 Q0 d 4 3\n", r"line 5, column 1: expected 6 fields"),
        ("", "there is no line in this file"),
    ])  # fmt: skip
    def test_what_is_wrong_is_named(self, files, text, match, large):
        refused(FileError, f"bad.run.*{match}", Pool.of, files(good=DENSE, bad=text))

    def test_a_missing_file(self, tmp_path, files, large):
        paths = [*files(one=BM25), tmp_path / "none.run"]
        refused(FileError, "none.run: cannot be read: no such file", Pool.of, paths)

    def test_files_of_the_same_tag_go_by_their_names(self, files, tmp_path):
        assert Pool.of(files(one=BM25, two=BM25)).names == ("one", "two")
        paths = [tmp_path / "x.run", tmp_path / "x.run.gz"]
        for path in paths:
            path.write_text(BM25)
        assert Pool.of(paths).names == ("x", "x (2)")
        assert Pool.of({"old": paths[0], "new": paths[1]}).names == ("old", "new")


class TestTables:
    @pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
    @pytest.mark.parametrize("names", [("qid", "doc"), ("q_id", "docno"), ("query", "doc_id")])
    def test_frames(self, library, names):
        module = pytest.importorskip(library)
        qid, doc = names
        columns = {qid: [1, 1, 2], doc: ["a", "b", "a"], "score": [2.0, 3.0, 1.0]}
        make = module.table if library == "pyarrow" else module.DataFrame
        pool = Pool.of({"one": make(columns), "two": Run(["1"], ["b"], [1.0])})
        assert lists(pool) == [[("1", "a", 2), ("1", "b", 1), ("2", "a", 1)], [("1", "b", 1)]]

    @pytest.mark.parametrize(("change", "error", "match"), [
        ({"score": [np.nan, 1.0]}, DataError, "run 'one': scores must be finite. Got nan in r"),
        ({"score": ["x", "y"]}, DataTypeError, "run 'one': scores must be numbers"),
        ({"doc": ["a"]}, DataError, "run 'one': the columns must be of one length. Got 2 qid"),
        ({"doc": ["a", "a"]}, DataError, "run 'one': document 'a' occurs twice in query '1'"),
        ({"qid": [], "doc": [], "score": []}, DataError, "every run is empty"),
    ])  # fmt: skip
    def test_what_is_wrong_is_named(self, change, error, match):
        parts = {"qid": ["1", "1"], "doc": ["a", "b"], "score": [1.0, 2.0], **change}
        refused(error, match, Pool.of, {"one": SimpleNamespace(**parts)})

    def test_what_is_no_list_of_runs(self):
        frame = pandas.DataFrame({"x": [1]})
        match = r"run 'one': a frame must have a column 'qid' \(or"
        refused(DataError, match, Pool.of, {"one": frame})
        for runs in ("a.run", Run(["1"], ["a"], [1.0])):
            match = "runs must be a list of runs, or a mapping"
            refused(DataTypeError, match, Pool.of, runs)
        refused(DataError, "there is no run to fuse", Pool.of, [])
        refused(DataTypeError, "run 'run 1' must be a path, a frame", Pool.of, [7])


RUNS = {
    "x": Run(["1"] * 3, ["a", "b", "c"], [3.0, 2.0, 1.0]),
    "y": Run(["1"] * 2, ["b", "d"], [5.0, 1.0]),
}


class TestFuse:
    def test_depth_and_tag(self):
        run = fuse(RUNS, depth=2, tag="mine")
        assert (run.doc.tolist(), run.tag) == (["b", "a"], "mine")
        assert len(fuse(RUNS, depth=None).doc) == 4

    @pytest.mark.parametrize("method", METHODS)
    def test_the_order_of_the_runs_changes_nothing(self, method):
        # (thirds, and places whose sums differ in the last bit when added in another order)
        lists = [["c", "a", "b", "d"], ["b", "c", "d", "a"], ["b", "c", "d", "a"]]
        rng = np.random.default_rng(0)
        lists += [[f"d{at}" for at in rng.permutation(40)] for _ in range(4)]
        runs = {str(at): {"q": docs} for at, docs in enumerate(lists)}
        how = {"normalise": "z-score" if method == "combmnz" else "min-max"}
        wanted = fuse(runs, method, **how)
        for order in ("2103456", "6350421"):
            found = fuse({at: runs[at] for at in order}, method, **how)
            assert found.doc.tolist() == wanted.doc.tolist()
            assert found.score.tolist() == wanted.score.tolist()

    def test_sums_of_terms_of_any_size_are_rounded_once(self):
        rng = np.random.default_rng(0)
        terms = rng.normal(size=(9, 50)) * 10.0 ** rng.integers(-40, 40, (9, 50))
        terms[rng.random(terms.shape) < 0.3] = 0.0
        terms[:3, 0] = 2.0**53, 1.0, 2.0**-60  # (just above the middle between two floats)
        terms[3:, 0] = 0.0
        rows = np.arange(50)
        wanted = [math.fsum(column) for column in terms.T.tolist()]
        for order in (slice(None), slice(None, None, -1)):
            parts = [(rows[one != 0], one[one != 0]) for one in terms[order]]
            assert sum_exactly(50, parts).tolist() == wanted

    @pytest.mark.parametrize(("options", "match"), [
        ({"method": "rff"}, "unknown fusion method 'rff'; did you mean 'rrf'"),
        ({"normalise": "minmax"}, "unknown normalisation 'minmax'; did you mean 'min-max'"),
        ({"k": -1.0}, "The 'k' parameter of fuse must be a number in"),
        ({"depth": 0}, "The 'depth' parameter of fuse must be an int of at least 1 or None"),
        ({"tag": 5}, "The 'tag' parameter of fuse must be str or None. Got 5"),
    ])  # fmt: skip
    def test_parameters(self, options, match):
        refused(ParameterError, match, fuse, RUNS, **options)


@pytest.mark.parametrize("size", [5e-324, 3e-310, 1e-300, 1e-170, 1e-30, 1, 1e149, 1e200, 2.5e307])
def test_scores_of_any_size_have_the_same_shares(size):
    """Shares by exact fractions: no difference or square vanishes or overflows."""
    lists = {"a": [7, 5, 4, -1], "b": [3, 2, 2, -6]}
    scores = {q: [size * number for number in own] for q, own in lists.items()}
    run = {q: {f"d{at}": one for at, one in enumerate(own)} for q, own in scores.items()}
    for how in ("min-max", "z-score"):
        fused = fuse([run], "combsum", normalise=how).to_dict()
        for query, own in scores.items():
            exact = [Fraction(one) for one in own]
            shares = [(one - exact[-1]) / (exact[0] - exact[-1]) for one in exact]
            if how == "z-score":
                mean = sum(shares) / 4
                deviation = math.sqrt(sum((one - mean) ** 2 for one in shares) / 4)
                shares = [(one - mean) / Fraction(deviation) for one in shares]
            found = [fused[query][f"d{at}"] for at in range(4)]
            assert found == pytest.approx(list(map(float, shares)), rel=1e-14, abs=1e-15)
