"""RankBoost+ does round by round what listing everything does.

By the kernels pair_step, pair_ties, column_sums and stump_sums.
"""

import pytest
from hypothesis import strategies as st

from crucial import RankBoostPlus
from naive.paths import PATHS, quiet, using
from naive.plus import NaivePlus
from naive.sweep import holds_for
from naive.tables import tables


def check_against_twin(table, search, default_rank, rounds):
    pairs = table.pairs()
    twin = NaivePlus(
        table.X, pairs, raw_total=pairs.total, search=search, default_rank=default_rank
    ).run(rounds)
    for path in PATHS:
        with using(path), quiet():
            model = table.fit(
                RankBoostPlus(
                    rounds, search=search, default_rank=default_rank, max_bins=None, n_jobs=1
                )
            )
        trace = model.trace_
        assert [one.ranker for one in trace] == [ranker for ranker, _ in twin.rounds]
        assert [one.alpha for one in trace] == pytest.approx(
            [alpha for _, alpha in twin.rounds], rel=1e-6, abs=1e-8
        )
        assert [one.loss for one in trace] == pytest.approx(twin.losses, rel=1e-9)
        assert model.static_round_ == twin.static_round
        assert dict(zip(model.basis_, model.eta_)) == pytest.approx(
            {twin.offers[at].ranker: twin.eta[at] for at in twin.members}, rel=1e-5, abs=1e-7
        )


@pytest.mark.kernels
@holds_for(tables(), st.sampled_from(["learned", 0, 1]), quick=25, full=2_000)
def test_the_efficient_search_agrees_with_its_twin(table, default_rank):
    check_against_twin(table, "efficient", default_rank, rounds=14)


@pytest.mark.kernels
@holds_for(tables(max_rows=9, max_features=3), quick=15, full=1_000)
def test_the_optimal_search_agrees_with_its_twin(table):
    check_against_twin(table, "optimal", "learned", rounds=14)


@holds_for(tables(max_rows=10, missing=False), quick=15, full=500)
def test_columns_are_stumps_on_them(table):
    table = table.changed(X=(table.X > 1.0).astype(float))
    with quiet():
        stumps = table.fit(RankBoostPlus(10))
        columns = table.fit(RankBoostPlus(10, weak="column"))
    assert columns.model_.weights == stumps.model_.weights
    assert [one.feature for one in columns.model_.rankers] == [
        one.feature for one in stumps.model_.rankers
    ]
    assert columns.predict(table.X) == pytest.approx(stumps.predict(table.X), abs=1e-12)
