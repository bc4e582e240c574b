"""Theorem 2 of Rudin & Schapire (2009) with its corollaries 4 and 5, solved for epsilon."""

import math
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import lambertw

from crucial.errors import ParameterError
from crucial.inspection import (
    covering_bound,
    finite_class_bound,
    log_covering_of_means,
    margin_bound,
)


def corollary_4(m, share, n_rankers, theta, delta):
    """The exact epsilon in closed form, by Lambert's function."""
    a, b = 8 * math.log(n_rankers) / theta**2, m * share**2 / 8
    exponent = 2 * (math.log(16) + math.log(2 / delta) / a)
    return math.sqrt(a / (2 * b) * lambertw(2 * b / a * math.exp(exponent)).real)


def failure(m, share, n_rankers, theta, epsilon):
    """The probability that corollary 4 gives up at an epsilon."""
    classes = math.log(n_rankers) * math.log(16 / epsilon) / (theta**2 / 8)
    return 2 * math.exp(classes - m * (epsilon * share) ** 2 / 8)


def test_corollary_4_solved_exactly():
    exact = margin_bound(10_000_000, 0.25, 1000, 0.1, 0.05, solve="exact")
    assert exact.value == pytest.approx(0.49577930691815, abs=1e-13)
    assert exact.value == pytest.approx(corollary_4(1e7, 0.25, 1000, 0.1, 0.05), rel=1e-12)
    assert failure(1e7, 0.25, 1000, 0.1, exact.value) == pytest.approx(0.05, rel=1e-9)
    # Equation 2 is larger, and has a condition that the exact solution does not need.
    assert margin_bound(10_000_000, 0.25, 1000, 0.1).value == pytest.approx(0.538376937641)
    assert math.isinf(margin_bound(10_000, 0.25, 1000, 0.1).value)
    assert margin_bound(10_000, 0.25, 1000, 0.1, solve="exact").value == pytest.approx(
        corollary_4(1e4, 0.25, 1000, 0.1, 0.05), rel=1e-12
    )


def test_lemma_3():
    assert log_covering_of_means(1000, 0.1, 0.05) == pytest.approx(
        math.log(1000) * math.log(40) / 0.02
    )
    assert log_covering_of_means(1000, 0.1, 3.0) == 0.0
    assert log_covering_of_means(1, 0.1, 0.05) == 0.0


def test_theorem_2_with_the_covering_number_of_lemma_3_is_corollary_4():
    by_cover = covering_bound(1e6, 0.3, partial(log_covering_of_means, 50), 0.2, 0.01, below=0.1)
    direct = margin_bound(1e6, 0.3, 50, 0.2, 0.01, below=0.1, solve="exact")
    assert by_cover.value == pytest.approx(direct.value, rel=1e-12)
    epsilon = by_cover.terms["epsilon"]
    expected = math.log(50) * math.log(16 / epsilon) * 8 / 0.2**2
    assert by_cover.terms["log_covering"] == pytest.approx(expected)
    assert "10% have a margin of at most 0.2 in training" in str(by_cover)


def test_corollary_5_of_a_number_is_the_finite_class():
    by_cover = covering_bound(100_000, 0.25, math.log(1000), 0.1)
    assert by_cover.value == pytest.approx(finite_class_bound(100_000, 0.25, 1000).value)
    assert by_cover.value == pytest.approx(
        math.sqrt(8 / (1e5 * 0.25**2) * (math.log(2000) + math.log(20))), rel=1e-13
    )
    probability = 2 * 1000 * math.exp(-1e5 * (by_cover.value * 0.25) ** 2 / 8)
    assert probability == pytest.approx(0.05)


@given(
    st.floats(3, 9), st.floats(0.05, 0.5), st.integers(2, 10**6), st.floats(0.02, 1.0),
    st.floats(1e-6, 0.5),
)  # fmt: skip
def test_the_exact_solution_is_the_smallest_and_equation_2_is_never_below_it(
    log_m, share, n_rankers, theta, delta
):
    m = int(10**log_m)
    exact = margin_bound(m, share, n_rankers, theta, delta, solve="exact").value
    assert exact > 0
    if exact < 16:
        assert failure(m, share, n_rankers, theta, exact * 1.0001) < delta
        assert failure(m, share, n_rankers, theta, exact * 0.9999) > delta
    assert margin_bound(m, share, n_rankers, theta, delta).value >= exact * (1 - 1e-12)


@given(st.floats(3, 8), st.floats(0, 300), st.floats(0.05, 1.0))
def test_a_cover_that_does_not_depend_on_epsilon_is_a_square_root(log_m, size, theta):
    m = int(10**log_m)
    number = covering_bound(m, 0.25, size, theta).value
    function = covering_bound(m, 0.25, lambda theta, epsilon: size, theta).value
    assert function == pytest.approx(number, rel=1e-10)


def test_a_class_without_a_cover_has_no_bound():
    bound = covering_bound(1000, 0.25, lambda theta, epsilon: math.inf, 0.1)
    assert math.isinf(bound.value)
    assert str(bound) == "No bound: the covering number is infinite."


@pytest.mark.parametrize(("call", "message"), [
    (lambda: covering_bound(1000, 0.25, -1.0, 0.1), "'log_covering' .*covering_bound"),
    (lambda: covering_bound(1000, 0.25, 1.0, 0.0), "'theta' parameter of covering_bound"),
    (lambda: margin_bound(9, 0.2, 5, 0.1, solve="by hand"), "'solve' parameter of margin_b"),
])  # fmt: skip
def test_refusals(call, message):
    with pytest.raises(ParameterError, match=message):
        call()
