"""Problems cut into parts in this process, and fits to compare."""

import tempfile
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from crucial.data import Bins, Instances
from crucial.data.instances import CodedTable
from crucial.distributed.input import Schema
from crucial.distributed.part import Part, PartRows
from crucial.distributed.parted import PartedTraining
from crucial.distributed.ranker import check_supported
from crucial.distributed.transport import LocalParts


def fit_parted(estimator, parts, schema, **options):
    """Fit a ranker to parts that are loaded."""
    check_supported(estimator)
    return estimator.fit_prepared(nullcontext(PartedTraining(parts, schema, **options)))


@dataclass
class RowsInHand:
    """Recipe of a part that brings its rows along."""

    rows: PartRows

    def load(self):
        return Part(self.rows)


class Problem:
    """Rows with labels, queries and weights, on bins of their own."""

    def __init__(self, seed=0, n_queries=30, largest=12, n_features=5, weighted=False, levels=3):
        random = np.random.default_rng(seed)
        sizes = random.integers(1, largest + 1, n_queries)
        self.qid = np.repeat(random.permutation(n_queries), sizes)
        n = len(self.qid)
        order = random.permutation(n)  # (queries in any order, rows of each in any)
        self.qid = self.qid[order]
        X = random.normal(size=(n, n_features)).round(1)
        self.y = np.clip(np.rint(X[:, 0] + random.normal(size=n)) + 1, 0, levels - 1)
        X[random.random((n, n_features)) < 0.1] = np.nan
        X[:, -1] = np.where(np.isnan(X[:, -1]), 0.0, X[:, -1])
        self.X = X
        self.bins = Bins.build(Instances.from_input(X), np.arange(n), max_bins=15)
        self.table = Instances(CodedTable(self.bins))
        self.weight = random.integers(0, 4, n) / 2.0 if weighted else None
        factor = random.integers(0, 3, n_queries) / 2.0
        self.query_weight = factor[self.qid] if weighted else None

    def rows(self, places):
        """Some of the rows, as a part has them."""
        weight, factor = (
            None if one is None else one[places] for one in (self.weight, self.query_weight)
        )
        _, query = np.unique(self.qid, return_inverse=True)
        return PartRows(self.bins.taken(places), self.y[places], query[places], weight, factor)

    def under(self, bins):
        """The same rows, coded by the bins of others."""
        codes = bins.recode(Instances.from_input(self.X), np.arange(len(self.y)))
        self.bins = replace(bins, codes=codes, n_rows=len(self.y))
        return self

    def cut(self, n_parts, seed=0, eval_set=None):
        """All rows in parts of whole queries, some of which may be empty."""
        random = np.random.default_rng(seed)
        part_of = random.integers(0, n_parts, self.qid.max() + 1)[self.qid]
        of_eval = None
        if eval_set is not None:
            of_eval = random.integers(0, n_parts, eval_set.qid.max() + 1)[eval_set.qid]
        parts = []
        for k in range(n_parts):
            more = None if of_eval is None else eval_set.rows(np.flatnonzero(of_eval == k))
            parts.append(Part(self.rows(np.flatnonzero(part_of == k)), more))
        return LocalParts(parts)

    def recipes(self, n_parts):
        """Recipes of parts of whole queries."""
        part_of = self.qid % n_parts
        return [RowsInHand(self.rows(np.flatnonzero(part_of == k))) for k in range(n_parts)]

    @property
    def schema(self):
        bins = replace(self.bins, codes=self.bins.codes[:, :0], n_rows=0)
        return Schema(bins)

    def fit(self, estimator, eval_set=None):
        """The fit on one table."""
        options = {"sample_weight": self.weight, "query_weight": self.query_weight}
        if eval_set is not None:
            options |= {"eval_set": (eval_set.X, eval_set.y), "eval_qid": eval_set.qid}
        return estimator.fit(self.table, self.y, qid=self.qid, **options)

    def fit_cut(self, estimator, n_parts, seed=0, eval_set=None, **options):
        return fit_parted(estimator, self.cut(n_parts, seed, eval_set), self.schema, **options)


class Forgetful(LocalParts):
    """Parts of which one is lost every few calls, and made again from its rows."""

    def __init__(self, make, every=3):
        super().__init__(make())
        self.make, self.every, self.log, self.calls = make, every, [], 0

    def total(self, method, *args, changes=False):
        self.calls += 1
        if self.calls % self.every == 0:
            lost = self.calls // self.every % self.n_parts
            self._parts[lost] = self.make()[lost]
            self._parts[lost].restore(self.log)
        if changes:
            self.log.append((method, args))
        return super().total(method, *args)


def trace_of(estimator):
    """The trace, but for the time that rounds took."""
    return [replace(one, seconds=0.0) for one in estimator.trace_]


def assert_same(one, other):
    """Compare models, traces and summaries to the last bit."""
    for a, b in zip(trace_of(one), trace_of(other), strict=False):
        assert a == b
    assert len(one.trace_) == len(other.trace_)
    assert one.trace_.stopped == other.trace_.stopped
    assert saved(one) == saved(other)


def saved(estimator):
    """The bytes of the model file."""
    with tempfile.TemporaryDirectory() as folder:
        estimator.save(Path(folder) / "model.json")
        return (Path(folder) / "model.json").read_bytes()
