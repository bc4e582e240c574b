"""Boosting of surrogates of the hard ranking loss: the simulation of Werner (2019, section 4.6).

``python -m crucial.studies.component_boosting`` draws tables of standard normal features and linear
responses, boosts every loss for 100 rounds with a step of .1, and prints the hard ranking loss on
the rows learned from, the features chosen, and how often the scores diverged. The surrogates over
pairs choose their feature in two ways: by the loss of the simple fit alone, which is the letter of
the paper's algorithm 2, and by the loss of the updated model.

The paper prints no numbers, only what it saw; its words stand beside the table.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crucial.estimators.componentwise import ComponentwiseBoost
from crucial.feedback.labels import LabelFeedback
from crucial.parameters import at_least, check
from crucial.studies.common import Write, new_parser, run_study, write
from crucial.types import Floats

__all__ = ["ALLOCATIONS", "Cell", "draw", "main", "print_table", "run", "verdict"]

#: Features, rows, and coefficients other than 0.
ALLOCATIONS = ((25, 50, 10), (100, 50, 20), (250, 200, 10))
ROUNDS, STEP = 100, 0.1
#: Variance of the signal over that of the noise.
RATIO = 2.0

#: Losses by the name in the table, with their parameters.
LOSSES: dict[str, dict[str, Any]] = {
    "L2": {"loss": "l2"},
    "Exp": {"loss": "exp"},
    "Hinge": {"loss": "hinge"},
    "piecewise .1": {"loss": "piecewise", "width": 0.1},
    "piecewise .5": {"loss": "piecewise", "width": 0.5},
    "piecewise .9": {"loss": "piecewise", "width": 0.9},
}

#: What the paper says of each, by the first word of its name.
WORDS = {
    "L2": "the yardstick",
    "Exp": "never finishes since the gradients diverge",
    "Hinge": "much worse than L2 on the responses, profits from expit, still worse than L2",
    "piecewise": "much worse than L2; selects very few variables or overfits",
}


@dataclass(frozen=True)
class Cell:
    """One loss under one rule of choice, over all draws.

    Attributes
    ----------
    loss : str
    choice : str
        "updated" or "simple"; L2 has one rule only, and is filed under both.
    expit : bool
        Whether the labels were put through the expit.
    hard : array of shape (n_draws,)
        Hard ranking loss against the labels as they were, ties counted half.
    features : array of shape (n_draws,)
        Features in the model.
    diverged : int
        Draws in which the scores diverged.
    """

    loss: str
    choice: str
    expit: bool
    hard: Floats
    features: Floats
    diverged: int


def draw(p: int, n: int, nonzero: int, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw features and responses ``X b + noise``."""
    X = random.normal(size=(n, p))
    b = np.zeros(p)
    b[:nonzero] = random.normal(size=nonzero)
    signal = X @ b
    noise = random.normal(size=n)
    return X, signal + noise * np.sqrt(np.var(signal) / RATIO / np.var(noise))


def run(
    p: int, n: int, nonzero: int, *, draws: int = 5, seed: int = 0, rounds: int = ROUNDS
) -> list[Cell]:
    """Boost every loss on the draws of one allocation."""
    check("component_boosting", "draws", draws, at_least(1))
    check("component_boosting", "rounds", rounds, at_least(1))
    tables = [draw(p, n, nonzero, np.random.default_rng([seed, p, n, k])) for k in range(draws)]
    cells = []
    for name, settings in LOSSES.items():
        for expit in (False, True):
            for choice in ("simple", "updated"):
                if name == "L2" and choice == "updated":
                    continue
                fits = [
                    _fit(X, y, rounds, {**settings, "selection": choice, "expit": expit})
                    for X, y in tables
                ]
                hard, features, diverged = (np.array(part) for part in zip(*fits))
                cells.append(Cell(name, choice, expit, hard, features, int(diverged.sum())))
                if name == "L2":
                    cells.append(Cell(name, "updated", expit, hard, features, 0))
    return cells


def _fit(X: Floats, y: Floats, rounds: int, settings: dict[str, Any]) -> tuple[float, float, bool]:
    """Return hard loss, features and divergence of one fit."""
    ranker = ComponentwiseBoost(rounds, STEP, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # (divergence is a result here)
        ranker.fit(X, y)
    hard = LabelFeedback(y).r2(ranker.predict(X))
    return hard, float(np.count_nonzero(ranker.coef_)), ranker.diverged_ is not None


def print_table(p: int, n: int, nonzero: int, cells: Sequence[Cell], out: Write = write) -> None:
    """Print one allocation: losses by rows, rules of choice by columns."""
    found = {(one.loss, one.choice, one.expit): one for one in cells}
    draws = len(cells[0].hard)
    out(f"p = {p}, n = {n}, {nonzero} coefficients other than 0, means of {draws} draws")
    head = f"{'':14}{'labels':8}{'simple fit alone':>26}{'updated model':>26}   in the paper"
    out(head)
    out(f"{'':22}" + 2 * f"{'loss':>9}{'features':>10}{'diverged':>7}" + "   ")
    for name in LOSSES:
        for expit in (False, True):
            line = f"{name if not expit else '':14}{'expit' if expit else 'raw':8}"
            for choice in ("simple", "updated"):
                one = found[name, choice, expit]
                line += f"{one.hard.mean():9.3f}{one.features.mean():10.1f}"
                line += f"{one.diverged if name != 'L2' else '':>7}"
            words = "" if expit else WORDS[name.split()[0]]
            out(f"{line}   {words}".rstrip())
    out("")


def verdict(cells: Sequence[Cell]) -> str:
    """Return what the table says about hinge boosting, in one sentence."""
    mean = {(one.loss, one.choice, one.expit): float(one.hard.mean()) for one in cells}
    l2 = mean["L2", "updated", False]
    simple, updated = (mean["Hinge", choice, False] for choice in ("simple", "updated"))
    if updated < l2 < simple:
        return (
            f"HingeBoost fails by its selection rule, not by its loss: {simple:.3f} where the "
            f"simple fit alone chooses, {updated:.3f} where the updated model does, L2 {l2:.3f}."
        )
    return (
        f"HingeBoost has {simple:.3f} where the simple fit alone chooses and {updated:.3f} where "
        f"the updated model does; L2 has {l2:.3f}."
    )


def _study(options: argparse.Namespace) -> None:
    for p, n, nonzero in ALLOCATIONS[: options.allocations]:
        cells = run(p, n, nonzero, draws=options.draws, seed=options.seed, rounds=options.rounds)
        print_table(p, n, nonzero, cells)
        write(f"{verdict(cells)}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study."""
    parser = new_parser("component_boosting", "The simulation of Werner (2019, section 4.6).")
    parser.add_argument("--draws", type=int, default=5, help="tables per allocation")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--allocations", type=int, default=len(ALLOCATIONS), choices=range(1, 4),
        help="how many of the three, smallest first",
    )  # fmt: skip
    return run_study(_study, parser, arguments)


if __name__ == "__main__":
    sys.exit(main())
