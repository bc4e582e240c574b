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

__all__ = ["LogCovering", "log_covering_of_means", "smallest_epsilon"]

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
    return math.log(n_rankers) * max(math.log(2.0 / epsilon), 0.0) / (2.0 * theta * theta)


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
        return math.sqrt((log_covering + needed) / rate)

    def excess(epsilon: float) -> float:
        return log_covering(theta / 4.0, epsilon / 8.0) + needed - rate * epsilon * epsilon

    high = math.sqrt(needed / rate)  # (with one ranker)
    if excess(high) <= 0.0:
        return high
    while excess(high) > 0.0:
        high *= 2.0
        if high > _LARGEST:
            return math.inf
    return float(brentq(excess, high / 2.0, high, xtol=1e-15, rtol=1e-14))
