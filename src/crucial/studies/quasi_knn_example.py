"""Figure 9 of Wang, Mao, Zeng & Xia: a feature that ranks along a curve, not a line.

``python -m crucial.studies.quasi_knn_example --plot FILE``. The curve of their equation 19 is cut
by the lines y = 2 and y = -1 into three intervals of relevance, whose centres are the means of the
feature's values. The table compares quasi-KNN's order of the values with the true one and with the
linear orders. The paper gives -2.5 as the centre of the lowest interval, which is from -5 to -2 and
has its mean at -3.5; both are shown.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from crucial.model.quasi_knn import QuasiKNN
from crucial.parameters import at_least, check
from crucial.studies.common import Write, new_parser, run_study, write
from crucial.studies.drawing import new_figure, save_figure
from crucial.types import Floats, PathLike

__all__ = ["curve", "distances", "draw", "main", "sample"]

#: Lines that cut the relevance into intervals, lowest first.
LINES = (-1.0, 2.0)
#: The paper's centres, lowest interval first.
PUBLISHED_CENTRES = (-2.5, 1.5, 0.5)


def curve(x: Floats) -> Floats:
    """Return the relevance of values of the feature, from -5 to 4 (equation 19).

    Examples
    --------
    >>> curve(np.array([-2.0, -1.0, 0.0, 2.0, 4.0])).tolist()
    [-1.0, 2.0, 3.0, 2.0, -1.0]
    """
    return np.where(x < 0.0, -np.square(x) + 3.0, -0.25 * np.square(x) + 3.0)


def sample(points: int = 900) -> Floats:
    """Return values that are spread evenly from -5 to 4."""
    return -5.0 + 9.0 * (np.arange(points) + 0.5) / points


def centres(x: Floats) -> tuple[float, ...]:
    """Return the mean of the values of every interval, lowest first.

    Examples
    --------
    >>> [round(one, 6) for one in centres(sample())]
    [-3.5, 1.5, 0.5]
    """
    interval = np.searchsorted(LINES, curve(x))
    return tuple(float(x[interval == k].mean()) for k in range(len(LINES) + 1))


def distances(x: Floats) -> dict[str, float]:
    """Return the Kendall distance of every order to the true one."""
    from crucial.measures.names import get_measure

    kendall, truth = get_measure("kendall"), curve(x)
    table = x[:, None]
    orders = {
        "linear, falling (4 first)": x,
        "linear, rising (-5 first)": -x,
        "quasi-KNN, centres as means": QuasiKNN(0, centres(x)).ranks(table),
        "quasi-KNN, the paper's centres": QuasiKNN(0, PUBLISHED_CENTRES).ranks(table),
    }
    return {name: float(kendall(truth, scores)) for name, scores in orders.items()}


def print_table(x: Floats, write: Write = write) -> None:
    """Print the intervals and the distances."""
    interval = np.searchsorted(LINES, curve(x))
    own = centres(x)
    write("interval  relevance        values                   centre  the paper's")
    bounds = ("below -1", "from -1 to 2", "above 2")
    places = ("-5 to -2", "-2 to -1 and 2 to 4", "-1 to 2")
    for k in reversed(range(len(own))):
        number = len(own) - k  # (the paper counts from the top)
        share = f"{np.mean(interval == k):.0%}"
        write(
            f"{number:<10}{bounds[k]:<17}{places[k]:<20}{share:>4} {own[k]:7.2f} "
            f"{PUBLISHED_CENTRES[k]:9.2f}"
        )
    write("\nKendall distance to the true order")
    for name, value in distances(x).items():
        write(f"{name:34}{value:.4f}")


def draw(x: Floats, path: PathLike) -> Path:
    """Draw the curve, its intervals and centres, and quasi-KNN's order; return the path."""
    figure, panels = new_figure(1, 2, (10.0, 4.2))
    panels[0].plot(x, curve(x))
    for line in LINES:
        panels[0].axhline(line, linestyle="--", color="0.6")
    for k, centre in enumerate(centres(x)):
        panels[0].axvline(centre, linestyle=":", color=f"C{k + 1}", label=f"centre {centre:.2g}")
    panels[0].set_title("relevance")
    panels[0].legend()
    for name, ranker in (("means", centres(x)), ("the paper's", PUBLISHED_CENTRES)):
        ranks = QuasiKNN(0, ranker).ranks(x[:, None])
        panels[1].plot(x, ranks / len(x), ".", markersize=2, label=f"quasi-KNN, {name}")
    true = np.argsort(np.argsort(curve(x), kind="stable"), kind="stable")
    panels[1].plot(x, true / len(x), color="0.5", label="true")
    panels[1].set_title("rank, from 0 to 1")
    panels[1].legend(markerscale=4)
    for panel in panels:
        panel.set_xlabel("value of the feature")
    return save_figure(figure, path)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the example and draw it."""
    parser = new_parser("quasi_knn_example", "Figure 9 of Wang et al.: ranking along a curve.")
    parser.add_argument("--points", type=int, default=900, help="values from -5 to 4")
    parser.add_argument("--plot", help="file to draw the figure to; needs matplotlib")
    return run_study(_study, parser, arguments)


def _study(options: argparse.Namespace) -> None:
    """Print and draw the example."""
    check("quasi_knn_example", "points", options.points, at_least(9))
    x = sample(options.points)
    print_table(x, write)
    if options.plot:
        write(f"drawn: {draw(x, options.plot)}")


if __name__ == "__main__":
    sys.exit(main())
