"""Thresholds drawn at random, and the presets that draw them (Connamacher et al. 2019)."""

import numpy as np
import pytest

from crucial import RankBoost, RankBoostPlus
from crucial.data.bins import Bins
from crucial.data.instances import Instances
from crucial.errors import ParameterError
from crucial.rankers import AdaBoostRanker

RNG = np.random.default_rng(7)
X = RNG.normal(size=(1500, 3))
Y = (X @ [1.0, -0.5, 0.2] + RNG.normal(size=1500) > 0).astype(int)


def bins(table, drawn_by, max_bins=256, weight=None, threads=1):
    rows = np.arange(len(table))
    return Bins.build(Instances.from_input(table), rows, weight, max_bins, threads, drawn_by)


def test_a_draw_depends_on_seed_and_feature_alone():
    first = bins(X, 3).thresholds
    order = RNG.permutation(len(X))
    others = (
        bins(X[order], 3),
        bins(X, 3, weight=RNG.uniform(0.5, 2.0, len(X))),
        bins(X, 3, threads=2),
        bins(np.repeat(X, 2, axis=0), 3),
    )
    for other in others:
        for one, two in zip(first, other.thresholds):
            np.testing.assert_array_equal(one, two)
    assert not np.array_equal(first[0], bins(X, 4).thresholds[0])
    # Numbers of the thresholds are drawn, so that a rising transform draws the same ones.
    places = np.searchsorted(np.sort(X[:, 0]), first[0])
    grown = np.searchsorted(np.sort(np.exp(X[:, 0])), bins(np.exp(X), 3).thresholds[0])
    np.testing.assert_array_equal(places, grown)


@pytest.mark.parametrize("kind", [RankBoost, RankBoostPlus, AdaBoostRanker])
def test_stumps_stand_at_drawn_thresholds(kind):
    more = {"max_pairs": 4000} if kind is RankBoostPlus else {}
    ranker = kind(12, max_bins=9, thresholds="random", random_state=5, **more).fit(X, Y)
    offered = bins(X, 5, max_bins=9).thresholds
    for one in ranker.model_.rankers:
        stump = getattr(one, "ranker", one)
        if hasattr(stump, "threshold"):
            assert stump.threshold in offered[stump.feature]
    other = kind(12, max_bins=9, thresholds="random", random_state=6, **more).fit(X, Y)
    assert other.model_.rankers != ranker.model_.rankers


def test_a_warm_start_needs_the_thresholds_of_the_last_fit():
    ranker = RankBoost(2, thresholds="random", max_bins=9, warm_start=True, random_state=1)
    longer = ranker.fit(X, Y).set_params(n_estimators=4).fit(X, Y)
    assert (
        longer.model_.rankers
        == RankBoost(4, thresholds="random", max_bins=9, random_state=1).fit(X, Y).model_.rankers
    )
    with pytest.raises(ParameterError, match="needs an integer as random_state"):
        RankBoost(2, thresholds="random", warm_start=True, random_state=None).fit(X, Y)


def test_presets_as_run_and_to_the_letter():
    # A feature that points down: eq. 13 alone has no use for it, a complement has.
    table = np.column_stack((X[:, 1], np.full(len(X), 1.0)))
    down = (X[:, 1] < 0).astype(int)
    as_run = RankBoost.preset("rb_c", n_estimators=5).fit(table, down)
    assert as_run.model_.weights[0] < 0
    assert as_run.trace_[-1].loss < 0.2
    with pytest.warns(Warning, match="no round could be made"):
        letter = RankBoost.preset("rb_c.eq13", n_estimators=5).fit(table, down)
    assert letter.model_.weights == ()


@pytest.mark.parametrize("preset", ["rb_d", "rb_c"])
def test_stumps_of_either_sign_are_stumps_with_their_complements(preset):
    """Largest |r| over stumps = largest r over stumps and complements, as the paper's leaves."""
    table = np.round(X[:60], 1)
    middles = [(v[:-1] + v[1:]) / 2 for v in map(np.unique, table.T)]
    columns = [table[:, [j]] > t for j, ts in enumerate(middles) for t in ts.tolist()]
    h = np.concatenate(columns, axis=1).astype(float)
    both = np.concatenate((h, 1.0 - h), axis=1)
    ours = RankBoost.preset(preset, n_estimators=15).fit(table, Y[:60])
    theirs = RankBoost.preset(f"{preset}.eq13", weak="column", n_estimators=15).fit(both, Y[:60])
    np.testing.assert_allclose(ours.trace_.column("loss"), theirs.trace_.column("loss"), rtol=1e-9)
    np.testing.assert_allclose(
        np.abs(ours.trace_.column("alpha")), theirs.trace_.column("alpha"), rtol=1e-9
    )


def test_missing_values_are_below_all_others():
    table = np.array([[np.nan], [1.0], [2.0], [np.nan], [3.0], [0.5]])
    filled = np.nan_to_num(table, nan=-1.0)
    y = [0, 1, 2, 1, 0, 2]
    one = RankBoost.preset("rb_c", n_estimators=6).fit(table, y)
    other = RankBoost.preset("rb_c", n_estimators=6).fit(filled, y)
    np.testing.assert_allclose(one.predict(table), other.predict(filled))


def test_a_generator_is_saved_by_its_kind_and_not_by_its_address() -> None:
    one, two = (
        RankBoost(2, random_state=np.random.RandomState(3)).fit(X, Y).model_.training for _ in "ab"
    )
    assert one["parameters"]["random_state"] == two["parameters"]["random_state"] == "RandomState"
