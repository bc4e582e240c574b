"""Margins: Rudin & Schapire (2009)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click
import numpy as np

from common import new_figure, save_figure, studies, write
from crucial.boosting.smooth_margin import smooth_step
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
