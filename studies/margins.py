"""Margins: Rudin & Schapire (2009)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy.optimize import brentq

from common import new_figure, save_figure, studies, write
from crucial.boosting.steps import smooth_step
from crucial.inspection import margin_bound
from crucial.parameters import between, check
from crucial.types import Floats, PathLike

app = studies(__doc__)


def progress_share(r: float, g: float, tied: float) -> float:
    """Return ``B(r, g, d0)``; NaN outside the conditions of lemma 20.

    Parameters
    ----------
    r : float
        Edge ``d+ - d-`` of the weak ranker, in (0, 1).
    g : float
        Smooth margin, in [0, r).
    tied : float
        Weight d0 of tied pairs, below ``2/3 (1 - r)(1 - r^2)``.

    Examples
    --------
    >>> round(progress_share(0.5, 0.0, 0.0), 6)
    0.523719
    >>> progress_share(0.9, 0.1, 0.1)
    nan
    """
    if not (0.0 < r < 1.0 and 0.0 <= g < r and 0.0 <= tied < 2 / 3 * (1 - r) * (1 - r * r)):
        return math.nan
    right, wrong = (1.0 + r - tied) / 2.0, (1.0 - r - tied) / 2.0
    alpha = smooth_step(right, wrong, tied, g)
    # ln tau = log1p(tau - 1), whose terms do not cancel for the small steps near g = r.
    log_tau = math.log1p(right * math.expm1(-alpha) + wrong * math.expm1(alpha))
    return (-log_tau / alpha - g) / (r - g)


def surface(tied: float = 0.01, points: int = 60) -> tuple[Floats, Floats, Floats]:
    """Return r, g and B on a grid, r in rows; NaN where the lemma says nothing."""
    r = np.linspace(0.0, 1.0, points + 2)[1:-1]
    g = np.linspace(0.0, 1.0, points, endpoint=False)
    values = [[progress_share(a, b, tied) for b in g.tolist()] for a in r.tolist()]
    return r, g, np.array(values)


def print_table(tied: float) -> None:
    """Print B for some r, and g from 0 to nearly r, with its smallest value on a fine grid."""
    shares = (0.0, 0.2, 0.4, 0.6, 0.8, 0.95)
    write(f"B(r, g, d0) with d0 = {tied:g}; above 1/2 by lemma 20, towards it as g nears r")
    write(f"{'r':>6}" + "".join(f"{f'g = {share:g} r':>12}" for share in shares))
    for r in np.arange(0.1, 1.0, 0.1).round(1).tolist():
        values = [progress_share(r, share * r, tied) for share in shares]
        cells = (f"{value:12.6f}" if not math.isnan(value) else f"{'-':>12}" for value in values)
        write(f"{r:>6g}" + "".join(cells))
    fine = surface(tied, 200)[2]
    there = fine[~np.isnan(fine)]
    write(f"on {len(there):,} points: smallest {there.min():.6f}, largest {there.max():.6f}")


def draw(path: PathLike, tied: float = 0.01) -> Path:
    """Draw the surface to a file; return its path."""
    figure, (panel,) = new_figure(size=(7.0, 5.6), subplot_kw={"projection": "3d"})
    r, g, values = surface(tied)
    across, along = np.meshgrid(g, r)
    solid: Any = panel  # (axes in three dimensions)
    solid.plot_surface(along, across, values, cmap="viridis", rstride=1, cstride=1)
    panel.set_xlabel("r")
    panel.set_ylabel("g")
    panel.set_title(f"B(r, g, d0), d0 = {tied:g}")
    return save_figure(figure, path)


# --- Theorem 2: covering numbers, solved for epsilon


def log_covering_of_means(n_rankers: float, theta: float, epsilon: float) -> float:
    """Bound ``ln N(F, theta, epsilon)`` of means of {0, 1} weak rankers (lemma 3).

    The bound is ``ln|H| ln(2 / epsilon) / (2 theta^2)`` for the weighted means of the weak rankers
    of a class H, and 0 for an epsilon of 2 or more.

    Examples
    --------
    >>> round(log_covering_of_means(1000, 0.1, 0.05), 6)
    1274.093826
    """
    return math.log(n_rankers) * max(math.log(2.0 / epsilon), 0.0) / (2.0 * theta * theta)


def covering_epsilon(
    m: int,
    crucial_share: float,
    log_covering: Callable[[float, float], float],
    theta: float,
    delta: float = 0.05,
) -> float:
    """Return the smallest epsilon of theorem 2: what a class of rankers may cost on new pairs.

    Solves ``2 N(F, theta / 4, epsilon / 8) exp(-m (epsilon E)^2 / 8) = delta``, whose left side
    falls as epsilon grows. With a constant covering number it is corollary 5, with that of lemma 3
    corollary 4, of which `crucial.inspection.margin_bound` has the paper's simpler equation 2.

    Examples
    --------
    >>> round(covering_epsilon(100_000, 0.25, lambda theta, epsilon: math.log(1000), 0.1), 6)
    0.116463
    >>> round(covering_epsilon(10_000_000, 0.25, partial(log_covering_of_means, 1000), 0.1), 6)
    0.495779
    """

    def excess(epsilon: float) -> float:
        size = log_covering(theta / 4.0, epsilon / 8.0)
        return size + math.log(2.0 / delta) - m * (crucial_share * epsilon) ** 2 / 8.0

    low = math.sqrt(8.0 * math.log(2.0 / delta) / m) / crucial_share  # (with one ranker)
    if excess(low) <= 0.0:
        return low
    high = 2.0 * low
    while excess(high) > 0.0:
        high *= 2.0
    return float(brentq(excess, low, high, xtol=1e-15, rtol=1e-14))


@app.command("covering")
@click.option("--rankers", type=int, default=1000, help="|H|, the number of weak rankers")
@click.option("--share", type=float, default=0.25, help="E, the share of crucial pairs")
@click.option("--theta", type=float, default=0.1, help="margin")
def covering_command(rankers: int, share: float, theta: float) -> None:
    """Theorem 2, corollary 4: what means of weak rankers may cost on new pairs.

    Prints the exact solution of theorem 2 with the covering number of lemma 3 beside equation 2.
    """
    write(f"epsilon for |H| = {rankers:,}, E = {share:g}, theta = {theta:g}, delta = 0.05")
    write(f"{'instances':>14} {'theorem 2':>12} {'equation 2':>12}")
    for m in (10**6, 10**7, 10**8, 10**9):
        exact = covering_epsilon(m, share, partial(log_covering_of_means, rankers), theta)
        stated = margin_bound(m, share, rankers, theta).value
        write(f"{m:>14,} {exact:>12.6f} {stated:>12.6f}")


@app.command("smooth-progress")
@click.option("--tied", type=float, default=0.01, help="d0, the weight of tied pairs")
@click.option("--plot", help="file to draw the surface to; needs matplotlib")
def smooth_progress_command(tied: float, plot: str | None) -> None:
    """Smooth margin ranking, how far a step gets: figure 2.

    Prints and draws B(r, g, d0) = (Gamma - g) / (r - g) with Gamma = -ln tau / alpha, where r is
    the edge of the weak ranker, g the smooth margin before the step and d0 the weight of the pairs
    that it ties. Lemma 20 says that it is above 1/2 where d0 < 2/3 (1 - r)(1 - r^2): a step closes
    at least half of the gap between g and r, per unit of weight.
    """
    check("smooth_progress", "tied", tied, between(0.0, 2 / 3, high_open=True))
    print_table(tied)
    if plot:
        write(f"drawn: {draw(plot, tied)}")


if __name__ == "__main__":
    app()
