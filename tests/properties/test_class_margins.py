"""Coordinate ascent boosting and its approximation, against a plain AdaBoost."""

import warnings

import numpy as np
from hypothesis import strategies as st

from crucial import AdaBoostRanker
from crucial.errors import NotSeparableWarning
from crucial.inspection import class_margins
from naive.adaboost import NaiveAdaBoost
from naive.paths import PATHS, quiet, using
from naive.sweep import holds_for
from naive.tables import tables

ROUNDS = 25

two_classes = tables(max_rows=8, max_queries=1, labels=(0, 1), values=10)


def ones(table):
    return np.ones(table.n_rows) if table.weight is None else table.weight


def fitted(table, **more):
    ranker = AdaBoostRanker(ROUNDS, **({"learning_rate": 1.0, "max_bins": None} | more))
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore", NotSeparableWarning)
        return ranker.fit(table.X, table.y, sample_weight=table.weight)


@holds_for(
    two_classes,
    st.sampled_from([1.0, 0.5]),
    st.sampled_from(["smooth", "line_search"]),
    quick=60,
    full=1_500,
)
def test_rounds(table, rate, step):
    naive = NaiveAdaBoost(table.X, 2 * table.y - 1, ones(table), rate, step=step).run(ROUNDS)
    # A line search is as exact as its optimum is flat; ties are then a matter of luck.
    loose = 1e-8 if step == "smooth" else 2e-4
    for path in PATHS:
        with using(path):
            found = fitted(table, learning_rate=rate, step=step)
        same = len(naive.rounds) if step == "smooth" else first_ascent(naive) + 1
        rankers = [ranker for ranker, _ in naive.rounds]
        assert list(found.model_.rankers)[:same] == rankers[:same]
        np.testing.assert_allclose(
            found.model_.weights[:same], [a for _, a in naive.rounds][:same], rtol=loose, atol=loose
        )
        for column, expected in (
            ("smooth_margin", naive.smooth_margins),
            ("margin", naive.margins),
        ):
            np.testing.assert_allclose(
                found.trace_.column(column)[:same], expected[:same], rtol=loose, atol=loose
            )


def first_ascent(naive):
    above = [n for n, g in enumerate(naive.smooth_margins, 1) if g > 0]
    return above[0] if above else len(naive.rounds) - 1


@holds_for(two_classes, st.sampled_from(["smooth", "line_search"]), quick=60, full=1_500)
def test_the_smooth_margin_never_falls_and_stays_below_the_margin(table, step):
    found = fitted(table, step=step)
    if not len(found.trace_):
        return
    g, margin = found.trace_.column("smooth_margin"), found.trace_.column("margin")
    assert np.all(g < margin + 1e-12)
    first = found.separable_round_
    if first is not None:
        assert np.all(np.diff(g[first - 1 :]) >= -1e-12)
        assert np.all(margin[first - 1 :] > 0)
        live = ones(table) > 0
        # Weights of the same vote may cancel, so the distinct ones can only be larger margins.
        minimum = class_margins(found, table.X[live], table.y[live]).minimum
        assert minimum >= margin[-1] - 1e-9


@holds_for(two_classes, quick=40, full=400)
def test_class_margins_are_those_of_a_sum_over_rows(table):
    with quiet():
        booster = fitted(table)
    if not len(booster.trace_):
        return
    live = np.flatnonzero(ones(table) > 0)
    X, y = table.X[live], table.y[live]
    signs = 2 * y - 1
    total = {}
    for ranker, weight in zip(booster.model_.rankers, booster.model_.weights):
        total[ranker] = total.get(ranker, 0.0) + weight
    norm = sum(map(abs, total.values()))
    if norm < 1e-9:
        return
    expected = np.sort(signs * booster.predict(X) / norm)
    found = class_margins(booster, X, y)
    assert found.n_pairs == len(X)
    np.testing.assert_allclose(found.minimum, expected[0], atol=1e-12)
    np.testing.assert_allclose(found.maximum, expected[-1], atol=1e-12)
    np.testing.assert_allclose(found.norm, norm)
    assert abs(found.at_most(0.1) - np.mean(expected <= 0.1)) < 1e-12
