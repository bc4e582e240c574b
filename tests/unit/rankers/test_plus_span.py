"""Independence of weak rankers as vectors over pairs, tested in as many dimensions as rows."""

import numpy as np
import pytest

from crucial.rankers.rankboost_plus import TOLERANCE, Span
from naive.plus import ExactSpan


def over_pairs(component, output):
    """A ranker as a vector over all pairs of rows that are compared."""
    n = len(component)
    rows = [(a, b) for a in range(n) for b in range(a) if component[a] == component[b]]
    return [int(output[a]) - int(output[b]) for a, b in rows]


@pytest.mark.parametrize("seed", range(8))
def test_decisions_are_those_of_rational_numbers_over_pairs(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(3, 11))
    component = random.integers(0, random.integers(1, 4), n)
    component = np.unique(component, return_inverse=True)[1]
    span, exact = Span(component), ExactSpan()
    members = []
    for _ in range(3 * n):
        output = random.integers(0, 2, n).astype(np.uint8)
        independent = exact.add(over_pairs(component, output))
        assert span.outside(output[None, :])[0] == independent
        dependent, beta = span.coordinates(output[None, :])
        assert dependent[0] != independent
        if not independent:
            made = np.array(members).reshape(-1, n).T @ beta[0]
            assert over_pairs(component, output) == pytest.approx(
                [a - b for a, b in _differences(component, made)], abs=1e-9
            )
        assert span.add(output) == independent
        if independent:
            members.append(output)
    assert span.size == len(exact.rows) <= span.largest == n - len(np.unique(component))


def _differences(component, values):
    n = len(component)
    return [
        (values[a], values[b]) for a in range(n) for b in range(a) if component[a] == component[b]
    ]


def ill_conditioned(n):
    """A {0, 1} matrix whose inverse has Fibonacci numbers for entries, a ranker a row.

    Unit triangular with the pattern 1 1 0 1 0 1 ...; Graham & Sloane (1984) study such
    anti-Hadamard matrices. Its rows are independent, and nearly are not. A last row of the
    table that all rankers leave at 0 keeps constants out.
    """
    made = np.zeros((n, n + 1))
    for i in range(n):
        for j in range(i, n):
            made[i, j] = i == j or (j - i) % 2
    return made


def least_rest(span, outputs):
    """Add all; the smallest share of one that lay outside the span of those before."""
    shares = []
    for one in outputs:
        centred = span.centred(one[None, :])
        shares.append(np.linalg.norm(span._split(centred)[1]) / np.linalg.norm(centred))
        span.add(one)
    return min(shares)


@pytest.mark.parametrize("n", [8, 16, 24])
@pytest.mark.parametrize("order", ["forwards", "backwards", "random"])
def test_nearly_dependent_columns_are_told_from_dependent_ones(n, order):
    """Independent by as little as 1e-5, they all enter; then everything is dependent."""
    outputs = ill_conditioned(n)
    largest = np.abs(np.linalg.inv(outputs[:, :n])).max()
    assert largest > 1.6 ** (n - 3)
    way = {
        "forwards": np.arange(n),
        "backwards": np.arange(n)[::-1],
        "random": np.random.default_rng(n).permutation(n),
    }[order]
    outputs = outputs[way]
    span = Span(np.zeros(n + 1, np.int64))
    least = least_rest(span, outputs)
    assert span.size == n
    if order == "forwards":  # (the last is nearly a combination of all others)
        assert 0.1 / largest < least < 10 / largest
    random = np.random.default_rng(n)
    for _ in range(20):
        output = random.integers(0, 2, n + 1)
        dependent, beta = span.coordinates(output[None, :])
        assert dependent[0]
        made = outputs.T @ beta[0]
        assert made - made[-1] == pytest.approx(output - output[-1], abs=1e-8)


def test_beyond_the_tolerance_a_column_counts_as_dependent():
    """60 of these rows: the last lies outside by less than rounding leaves of it."""
    outputs = ill_conditioned(60)
    span = Span(np.zeros(61, np.int64))
    assert least_rest(span, outputs) < TOLERANCE
    assert span.size < 60


def test_the_tolerance_is_the_border():
    """What lies outside the span by less than the tolerance counts as inside."""
    n = 40
    random = np.random.default_rng(0)
    base = random.normal(size=n)
    other = random.normal(size=n)
    base, other = base - base.mean(), other - other.mean()
    base /= np.linalg.norm(base)
    other -= base * (base @ other)
    other /= np.linalg.norm(other)
    for share, independent in ((3 * TOLERANCE, True), (TOLERANCE / 3, False)):
        span = Span(np.zeros(n, np.int64))
        assert span.add(base)
        assert span.outside((base + share * other)[None, :])[0] == independent
        assert span.add(base + share * other) == independent


def test_a_row_without_a_pair_is_free():
    span = Span(np.array([0, 0, 1]))
    assert span.largest == 1
    assert span.add(np.array([1, 0, 0]))
    assert not span.outside(np.array([[1, 0, 1], [0, 0, 1]])).any()
