"""The form of a model scores as the model does, to the bit; float32 cuts keep values apart."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucial.export.export import verified
from crucial.export.trees import (
    ExportSettings,
    float32_cuts,
    missing_goes_right,
    plain_trees,
    sums_differ,
)
from crucial.model.form import score_form
from naive.random_models import KINDS, random_model, random_rows

numbers = st.floats(-1e30, 1e30, allow_subnormal=False) | st.sampled_from([0.0, 0.1, 0.2, 1.0])
near = st.integers(0, 60).map(lambda step: 1.0 + 2e-8 * step)  # (three to a number of float32)


@pytest.mark.parametrize("kind", KINDS)
@given(st.integers(0, 10**6))
def test_the_form_scores_as_the_model(kind, seed):
    model = random_model(kind, seed)
    X = random_rows(model, seed)
    form = score_form(model)
    assert form.scores(X).tolist() == model.predict(X).tolist()
    assert form.lowest() <= form.scores(X).min() + 1e-12


@given(st.integers(0, 10**6))
def test_a_step_function_is_a_search_tree_of_logarithmic_depth(seed):
    model = random_model("stumps", seed, n_rounds=40)
    X = random_rows(model, seed)
    for step in score_form(model).steps:
        tree = step.tree()
        assert tree.scores(X).tolist() == step.scores(X).tolist()
        depth = np.zeros(len(tree.features), int)
        for node, (left, right) in enumerate(zip(tree.left, tree.right)):
            for child in (left, right):
                if child >= 0:
                    depth[child] = depth[node] + 1
        assert depth.max(initial=0) <= 1 + np.log2(len(step.thresholds) + 1)


@pytest.mark.parametrize("kind", ["trees", "ranking_trees", "stumps"])
@given(st.integers(0, 10**6))
def test_trees_that_send_missing_values_right_score_the_same(kind, seed):
    model = random_model(kind, seed)
    X = random_rows(model, seed)
    for tree in score_form(model).all_trees():
        right = missing_goes_right(tree)
        assert right.missing_right.all()
        assert right.scores(X).tolist() == tree.scores(X).tolist()


@given(st.lists(numbers, min_size=1, max_size=8, unique=True), st.lists(numbers, max_size=20))
def test_float32_values_stay_on_their_side(thresholds, values):
    ordered = np.sort(np.array(thresholds))
    found = float32_cuts(ordered)
    x = np.array(values, np.float32)
    sides = np.searchsorted(ordered, x.astype(np.float64))
    assert np.searchsorted(found.cuts, x.astype(np.float64)).tolist() == sides.tolist()
    assert np.array_equal(found.cuts, found.cuts.astype(np.float32))


@given(st.lists(numbers | near, min_size=2, max_size=20, unique=True), st.data())
def test_given_values_stay_on_their_side_or_are_named(values, data):
    places = data.draw(st.sets(st.integers(0, len(values) - 2), min_size=1))
    share = data.draw(st.sampled_from([0.0, 0.1, 0.5, 0.9]))
    sides_are_kept_or_named(np.sort(np.array(values)), sorted(places), share)


def sides_are_kept_or_named(values, places, share):
    """The thresholds are so far from a value to the next."""
    thresholds = np.unique([values[at] * (1 - share) + values[at + 1] * share for at in places])
    found = float32_cuts(thresholds, values)
    rounded = values.astype(np.float32).astype(np.float64)
    lost = list(found.lost)
    for threshold, cut in zip(thresholds, found.cuts, strict=True):
        below = values <= threshold
        if below.all() or not below.any():  # (by rounding the mean of two may be one of them)
            continue
        if rounded[below].max() == rounded[~below].min():
            lost.remove((values[below].max(), values[~below].min()))
        else:
            assert (rounded[below] <= cut).all()
            assert (rounded[~below] > cut).all()
    one = np.flatnonzero(found.cuts[1:] <= found.cuts[:-1])
    assert lost == [(thresholds[at], thresholds[at + 1]) for at in one]


@pytest.mark.parametrize(("parts", "differ"), [
    ({}, False),
    ({"intercept": 0.5}, False),
    ({"offset": 0.5}, False),
    ({"intercept": 0.5, "offset": 0.5}, True),
    ({"divisor": 3.0}, True),
    ({"divisor": 2.0}, True),
])  # fmt: skip
def test_which_sums_may_round_differently(parts, differ):
    alone = {"divisor": 1.0, "intercept": 0.0, "offset": 0.0}
    steps, trees = (score_form(random_model(kind, 1)) for kind in ("stumps", "trees"))
    for form in (steps, trees):
        form = replace(form, **(alone | parts))
        assert sums_differ(form) is differ
        X = random_rows(random_model("stumps", 1), 1)
        total = sum(tree.scores(X) for tree in plain_trees(form, ExportSettings()))
        np.testing.assert_allclose(total, form.scores(X), rtol=1e-12, atol=1e-12)
    assert sums_differ(replace(steps, trees=trees.trees, **alone))


def test_an_export_that_scores_differently_is_refused():
    from crucial.errors import NotRankedError
    from crucial.export.targets import Target
    from crucial.export.trees import ExportSettings

    model = random_model("stumps", 1)
    form = score_form(model)
    X = random_rows(model, 1)
    wrong = Target(
        "wrong", "", "float64", lambda *_: b"", lambda c, X, n, s: model.predict(X) + 1e-9, None
    )
    with pytest.raises(NotRankedError, match="differ on 200 of 200 rows"):
        verified(wrong, b"", form, ExportSettings(), X, model.predict(X))
