"""Time of the ranking losses, listed pair by pair and by sorting (Werner 2019, figure 1).

``python -m crucial.studies.loss_times`` measures p columns of n rows against one label: the hard
loss from the listed pairs, O(n^2), and hard and localised losses in O(n log n).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from crucial.errors import CrucialError
from crucial.parameters import at_least, check
from crucial.studies.common import Write, new_parser, run_study, write
from crucial.types import Floats

__all__ = ["LossTimes", "listed_hard_loss", "main", "print_table", "run"]

SIZES = (100, 1_000, 10_000)
COLUMNS = (10, 100)
#: Best items that the localised losses look at, as shares of the rows.
SHARES = (0.1, 0.5)


@dataclass(frozen=True)
class LossTimes:
    """Seconds for all columns of one table.

    Attributes
    ----------
    n_rows, n_columns : int
    listed : float or None
        Hard loss from the listed pairs; None if left out.
    hard : float
        Hard loss by sorting.
    localised : dict of int to float
        Localised losses by sorting, by K.
    """

    n_rows: int
    n_columns: int
    listed: float | None
    hard: float
    localised: dict[int, float]


def listed_hard_loss(y: Floats, scores: Floats, block: int = 512) -> float:
    """Return the hard loss from all pairs, a tie counting half: 2 / (n(n - 1)) times a sum.

    Equation 2.2 of Werner (2019). Blocks of rows keep the memory small; the time is O(n^2).

    Examples
    --------
    >>> listed_hard_loss(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0]))
    0.3333333333333333
    """
    wrong, n = 0.0, len(y)
    for start in range(0, n, block):
        rows = slice(start, start + block)
        below = y[rows, None] < y
        wrong += np.count_nonzero(below & (scores[rows, None] > scores))
        wrong += 0.5 * np.count_nonzero(below & (scores[rows, None] == scores))
    return float(2.0 * wrong / (n * (n - 1)))


def _seconds(work: Callable[[Floats], float], X: Floats) -> tuple[float, list[float]]:
    """Return the time of one call per column, and the values."""
    began = time.perf_counter()
    values = [work(column) for column in X.T]
    return time.perf_counter() - began, values


def run(n_rows: int, n_columns: int, listed: bool = True, seed: int = 0) -> LossTimes:
    """Measure the times for one table of random columns.

    Parameters
    ----------
    n_rows, n_columns : int
    listed : bool
        Also list the pairs.
    seed : int
    """
    from crucial.measures.names import get_measure

    check("loss_times", "n_rows", n_rows, at_least(2))
    check("loss_times", "n_columns", n_columns, at_least(1))
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(n_rows, n_columns)), random.normal(size=n_rows)
    cutoffs = [max(1, int(share * n_rows)) for share in SHARES]
    names = ["hard_loss", *(f"localised_loss@{k}" for k in cutoffs)]
    found = []
    for name in names:
        measure = get_measure(name).prepare(y)  # reads the labels once for all columns
        measure(X[:, 0])  # (loads the kernels)
        found.append(_seconds(measure, X))
    slow = None
    if listed:
        slow, values = _seconds(lambda column: listed_hard_loss(y, column), X)
        if not np.allclose(values, found[0][1], rtol=1e-12):
            raise CrucialError("the hard losses of the two ways differ.")
    localised = {k: seconds for k, (seconds, _) in zip(cutoffs, found[1:], strict=True)}
    return LossTimes(n_rows, n_columns, slow, found[0][0], localised)


def print_table(found: Sequence[LossTimes], write: Write = write) -> None:
    """Print the seconds, and how many times faster the hard loss is by sorting."""
    write("Seconds for all columns (figure 1 of Werner 2019 draws them for one data set each)")
    heads = [f"localised {share:.0%}" for share in SHARES]
    write(f"{'n':>7}{'p':>5}{'hard, listed':>15}{'hard':>10}"
          + "".join(f"{head:>15}" for head in heads) + f"{'listed/hard':>13}")  # fmt: skip
    for one in found:
        slow = "left out" if one.listed is None else f"{one.listed:.4f}"
        times = "" if one.listed is None else f"{one.listed / one.hard:.0f}"
        cells = "".join(f"{seconds:>15.4f}" for seconds in one.localised.values())
        write(f"{one.n_rows:>7}{one.n_columns:>5}{slow:>15}{one.hard:>10.4f}{cells}{times:>13}")


def _study(options: argparse.Namespace) -> None:
    print_table(
        [
            run(n, p, n <= options.list_up_to, options.seed)
            for n in options.rows
            for p in options.columns
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table of times."""
    parser = new_parser("loss_times", "Times of ranking losses, listed and by sorting.")
    parser.add_argument("--rows", type=int, nargs="+", default=SIZES, help="values of n")
    parser.add_argument("--columns", type=int, nargs="+", default=COLUMNS, help="values of p")
    parser.add_argument(
        "--list-up-to", type=int, default=max(SIZES), help="largest n whose pairs are listed"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random columns")
    return run_study(_study, parser, arguments)


if __name__ == "__main__":
    sys.exit(main())
