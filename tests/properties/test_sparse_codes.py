"""Codes of stored entries: the same bins, the same stumps and the same models as dense codes."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st

from crucial import RankBoost
from crucial.boosting.stumps import SparseSearch, StumpGrid
from crucial.data import Instances
from crucial.data import bins as bins_module
from crucial.data.bins import Bins
from crucial.data.groups import Groups
from crucial.feedback import LabelFeedback
from crucial.feedback.base import Potentials
from crucial.rankers import AdaBoostRanker, LogitBoost
from naive.paths import PATHS, quiet, using
from naive.sweep import holds_for
from naive.tables import tables

REACH = {"quick": 25, "full": 2_000}

ways = st.sampled_from(
    [
        {"choice": "steepest", "step": "bound"},
        {"choice": "steepest_positive", "step": "exact"},
        {"choice": "largest_drop", "step": "exact"},
        {"choice": "largest_drop", "step": "exact", "gain": "exp", "balance": "queries"},
        {"choice": "largest_drop", "step": "exact", "positive_weights": "cumulative"},
        {"choice": "largest_drop", "step": "exact", "default_rank": 1},
        {"choice": "steepest", "step": "bound", "positive_weights": "cumulative"},
        {"choice": "steepest", "step": "numeric", "monotone_constraints": {0: 1}},
        {"choice": "largest_drop", "step": "exact", "monotone_constraints": {0: -1}},
        {"choice": "steepest", "step": "bound", "subsample": 0.5},
        {"choice": "steepest", "step": "bound", "default_rank": 0, "max_bins": None},
        {"choice": "steepest", "step": "bound", "thresholds": "random", "max_bins": 3},
        {"choice": "largest_drop", "step": "exact", "max_bins": 2},
    ]
)
signed = tables(max_rows=16, values=5, labels=(0, 1, 2, 3)).map(
    lambda table: table.changed(X=table.X - 1.0)  # zeros among negative and positive values
)


@pytest.fixture(autouse=True, scope="module")
def _always_stored():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bins_module, "stays_sparse", lambda instances, *_: instances.is_sparse)
        yield


def fitted(estimator, table):
    with quiet():
        return table.fit(estimator)


def assert_same_bytes(one, two):
    assert one.model_.rankers == two.model_.rankers
    assert np.array(one.model_.weights).tobytes() == np.array(two.model_.weights).tobytes()


@holds_for(signed, ways, st.integers(1, 2), **REACH)
def test_a_model_of_stored_entries_is_that_of_all_cells(table, way, n_jobs):
    stored = table.changed(X=sp.csr_array(table.X))
    for path in PATHS:
        with using(path):
            made = [fitted(RankBoost(8, 1.0, n_jobs=n_jobs, **way), one) for one in (table, stored)]
            assert_same_bytes(*made)


@holds_for(signed, st.sampled_from([None, "exp"]), st.data(), **REACH)
def test_criteria_of_entries_are_those_of_rows(table, gain, data):
    """Slopes of every feature, by entries and by all rows.

    Through feature_slopes and sparse_peaks on codes of cut_sparse and code_sparse; change_of bounds
    what changes.
    """
    feedback = LabelFeedback(table.y, Groups.from_qid(table.qid, table.n_rows), gain=gain)
    potentials = Potentials(feedback.state())
    n = len(feedback.rows)
    scores = st.lists(st.integers(-3, 3), min_size=n, max_size=n)
    instances = Instances.from_input(sp.csc_array(table.X))
    bins = Bins.build(instances, feedback.rows, sparse=True)
    grid = StumpGrid(bins, data.draw(st.sampled_from(["learned", 0, 1])))
    features = np.arange(len(bins.features))
    search = SparseSearch(grid, False, None, 1)
    for _ in range(2):
        potentials.advance(np.array(data.draw(scores), float), 0.3)
        before, known = search.best_slope.copy(), search.slope_change == 0.0
        search.renew(potentials)
        drift = search.slope_change.copy()
        search.scan(features)
        assert (np.abs(search.best_slope - before) <= drift + 1e-12)[known].all()
        for f in features.tolist():
            slope = search.dense_slopes(f)
            np.testing.assert_array_equal(search.entry_slopes(f), slope)
            assert search.best_slope[f] == np.abs(slope).max()


@holds_for(tables(labels=(0, 1), max_queries=1), st.sampled_from([0, 1, "learned"]), **REACH)
def test_classifiers_of_stored_entries(table, default_rank):
    """Votes, and the least squares of sparse_fits."""
    for kind in (AdaBoostRanker, LogitBoost):
        ranker = kind(6, default_rank=default_rank, n_jobs=1)
        stored = table.changed(X=sp.csc_array(table.X), qid=None)
        assert_same_bytes(
            fitted(ranker, table.changed(qid=None)), fitted(kind(**ranker.get_params()), stored)
        )


@holds_for(signed, st.sampled_from([None, 2, 3, 255]), st.data(), **REACH)
def test_bins_of_stored_entries(table, max_bins, data):
    """Thresholds, codes and parts of the rows, whose order and number are free."""
    rows = data.draw(st.lists(st.integers(0, table.n_rows - 1), min_size=1, max_size=20))
    rows, weight = np.array(rows), None
    if table.weight is not None:
        weight = table.weight[rows] + 0.5
    drawn_by = data.draw(st.sampled_from([None, 3]))
    form = data.draw(st.sampled_from([np.float64, np.float32, np.float64]))
    inputs = [Instances.from_input(table.X.astype(form))]
    inputs.append(Instances.from_input(sp.csr_array(table.X.astype(form))))
    dense, stored = (
        Bins.build(one, rows, weight, max_bins, 1, drawn_by, sparse=True) for one in inputs
    )
    assert (dense.sparse is None, stored.sparse is None) == (True, False)
    part = np.array(data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=9)), np.int64)
    for one, other in ((dense, stored), (dense.taken(part), stored.taken(part))):
        assert one.features.tolist() == other.features.tolist()
        assert one.constant == other.constant
        assert one.all_missing == other.all_missing
        assert one.has_missing.tolist() == other.has_missing.tolist()
        for f, cuts in enumerate(one.thresholds):
            assert cuts.tobytes() == other.thresholds[f].tobytes()
            assert one.column(f).tolist() == other.column(f).tolist()
