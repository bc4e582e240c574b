"""Paired tests, Holm's correction, wins and losses."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from crucial.errors import DataError, ParameterError
from crucial.measures.intervals import holm, paired_test, win_tie_loss

VALUES = st.lists(st.integers(-4, 4), min_size=1, max_size=9)


@given(VALUES)
def test_permutation_tries_every_sign(changes):
    change = np.array(changes) / 8
    found = paired_test(np.zeros(len(change)), change)
    sums = [abs(np.dot(signs, change)) for signs in product((-1, 1), repeat=len(change))]
    expected = np.mean([one >= abs(change.sum()) - 1e-12 for one in sums])
    assert found.p == pytest.approx(expected, abs=1e-15)
    assert found.exact
    assert found.difference == pytest.approx(change.mean())


def test_permutation_agrees_with_scipy():
    random = np.random.default_rng(1)
    a = random.random(12)
    b = a + random.normal(0.05, 0.1, 12)
    theirs = stats.permutation_test(
        (a, b), lambda x, y, axis: (x - y).mean(axis=axis), permutation_type="samples",
        n_resamples=np.inf, vectorized=True,
    )  # fmt: skip
    assert paired_test(a, b).p == pytest.approx(theirs.pvalue, abs=1e-12)


def test_drawn_signs_come_near_and_are_the_same_again():
    random = np.random.default_rng(0)
    a = random.random(200)
    b = a + random.normal(0.01, 0.1, 200)
    found = paired_test(a, b, resamples=4000)
    assert not found.exact
    assert found == paired_test(a, b, resamples=4000)
    assert found.draws == 4000
    assert paired_test(a, b, method="t").draws is None
    assert paired_test(a[:5], b[:5]).draws is None  # (all signs)
    # With 200 queries the test of signs and Student's differ little.
    assert found.p == pytest.approx(stats.ttest_rel(a, b).pvalue, abs=0.03)
    apart = paired_test(a, a + 0.5 + 0.01 * random.random(200), resamples=99)
    assert apart.p == 0.01


def test_student_agrees_with_scipy():
    random = np.random.default_rng(2)
    a, b = random.random((2, 30))
    found = paired_test(a, b, method="t")
    assert found.p == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-12)
    assert paired_test([0.5, 0.5], [0.5, 0.5], method="t").p == 1.0
    assert paired_test([0.5, 0.5], [0.75, 0.75], method="t").p == 0.0
    assert np.isnan(paired_test([0.5], [0.6], method="t").p)


def test_queries_without_a_value_are_left_out():
    found = paired_test([0.5, np.nan, 0.25, 0.5], [0.75, 0.5, np.nan, 1.0])
    assert found.n == 2
    assert found.difference == 0.375
    none = paired_test([np.nan], [0.5])
    assert none.n == 0
    assert np.isnan([none.p, none.difference, none.low]).all()


def test_pooled_differences_weigh():
    found = paired_test([0.5, 0.5], [0.75, 0.25], weights=np.array([3.0, 1.0]), how="pool")
    assert found.difference == 0.125
    assert found.p == 1.0  # (signs ++, +-, -+, --: amounts .75 and .25; the observed one is least)


def test_equal_but_for_rounding_is_equal():
    a = np.array([0.1 + 0.2, 0.5])
    found = paired_test(a, [0.3, 0.5])
    assert found.p == 1.0
    assert win_tie_loss(a, [0.3, 0.5]) == (0, 2, 0)


def test_losses_turn_wins_around():
    assert win_tie_loss([0.5, 0.5, 0.5], [0.4, 0.6, 0.3], higher_is_better=False) == (2, 0, 1)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_as_defined(p):
    order = sorted(range(len(p)), key=lambda i: p[i])
    expected = [0.0] * len(p)
    for k in range(len(p)):
        expected[order[k]] = max(min(1.0, (len(p) - j) * p[order[j]]) for j in range(k + 1))
    assert holm(p) == pytest.approx(expected)


def test_holm_leaves_out_what_has_no_p():
    assert holm([np.nan, 0.02, 0.01])[1:].tolist() == [0.02, 0.02]


def test_refusals():
    with pytest.raises(DataError, match=r"same queries, of the same length. Got shapes \(2,\)"):
        paired_test([1, 2], [1, 2, 3])
    with pytest.raises(ParameterError, match="'method' parameter of paired_test must be one of"):
        paired_test([1, 2], [1, 2], method="z")
