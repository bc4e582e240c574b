"""Covering numbers, and the margin bounds of Rudin & Schapire (2009, section 3) solved for epsilon.

A set G is a *theta-sloppy epsilon-cover* of a class F of rankers if for every ranker of F and
every distribution over instances some member of G is within theta of it, except on a share
epsilon of the instances (definition 1). The covering number is the size of the smallest one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from scipy.optimize import brentq

from crucial.parameters import Rule, above, at_least, between, check, either, one_of, refuse

__all__ = ["COUNT", "LogCovering", "log_covering_of_means", "smallest_epsilon"]

#: Sizes of classes, of which only the logarithm counts: also integers beyond the floats.
COUNT = Rule(
    ("a number of at least 1",), ("float",), either(at_least(1), between(1.0, math.inf)).accepts
)
_POSITIVE = Rule(("a number above 0",), ("float",), either(above(0), one_of(math.inf)).accepts)

# An epsilon beyond this is treated as infinite.
_LARGEST = 1e9

#: ``ln N(F, theta, epsilon)``: a function of both, or a number that holds for all epsilon.
LogCovering: TypeAlias = float | Callable[[float, float], float]


def log_covering_of_means(n_rankers: float, theta: float, epsilon: float) -> float:
    """Bound the logarithm of the covering number of means of {0, 1} weak rankers (lemma 3).

    ``ln N(F, theta, epsilon) <= ln|H| ln(2 / epsilon) / (2 theta^2)`` for the weighted means of
    the weak rankers of a class H; at most 0 for an epsilon of 2 or more, where it is 0 here.

    Parameters
    ----------
    n_rankers : number
        ``|H|``.
    theta, epsilon : float
        As in definition 1 of the paper.

    Examples
    --------
    >>> round(log_covering_of_means(1000, 0.1, 0.05), 6)
    1274.093826
    """
    owner = "log_covering_of_means"
    check(owner, "n_rankers", n_rankers, COUNT)
    check(owner, "theta", theta, _POSITIVE)
    check(owner, "epsilon", epsilon, _POSITIVE)
    # (the square of a tiny theta would be 0)
    spread = max(math.log(2.0) - math.log(epsilon), 0.0)
    return math.log(n_rankers) * spread / theta / theta / 2.0


def smallest_epsilon(
    log_covering: LogCovering, m: float, crucial_share: float, theta: float, delta: float
) -> float:
    """Return the smallest epsilon for which theorem 2 holds with probability ``1 - delta``.

    Solves ``2 N(F, theta / 4, epsilon / 8) exp(-m (epsilon E)^2 / 8) = delta``; the left side
    falls as epsilon grows. Where N is a number, the solution is a square root.

    Parameters
    ----------
    log_covering : function of (theta, epsilon), or number
        ``ln N(F, theta, epsilon)``, or ``ln N(F, theta / 4)`` where epsilon plays no role.
    m, crucial_share, theta, delta
        As in `crucial.inspection.margin_bound`.
    """
    rate = m * crucial_share * crucial_share / 8.0
    needed = math.log(2.0) - math.log(delta)
    if not callable(log_covering):
        return math.sqrt(8.0 * (log_covering + needed) / m) / crucial_share

    def excess(epsilon: float) -> float:
        found = _log_covering_at(log_covering, theta / 4.0, epsilon / 8.0)
        return found + needed - rate * epsilon * epsilon

    high = math.sqrt(8.0 * needed / m) / crucial_share  # (with one ranker)
    if high > _LARGEST:
        return math.inf
    if excess(high) <= 0.0:
        return high
    while excess(high) > 0.0:
        high *= 2.0
        if high > _LARGEST:
            return math.inf
    return float(brentq(excess, high / 2.0, high, xtol=1e-15, rtol=1e-14))


def _log_covering_at(
    log_covering: Callable[[float, float], float], theta: float, epsilon: float
) -> float:
    """Return what a function says; refuse what is no number."""
    found = log_covering(theta, epsilon)
    try:
        value = float(found)
    except (OverflowError, TypeError, ValueError):
        value = math.nan
    if math.isnan(value):
        rule = f"a function that returns a number at ({theta:g}, {epsilon:g})"
        raise refuse("covering_bound", "log_covering", rule, found)
    return value
