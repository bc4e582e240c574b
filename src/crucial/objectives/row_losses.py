"""Losses over labels whose gradient and curvature are known row by row, and what they share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from crucial.data.arrays import check_values
from crucial.errors import DataError
from crucial.feedback.base import Feedback, Output, draw_share
from crucial.feedback.labels import GAINS
from crucial.feedback.layout import LabelledRows
from crucial.kernels.elementary import log
from crucial.kernels.sums import ExactSum
from crucial.objectives.base import Objective
from crucial.parameters import lookup
from crucial.types import Floats, Ints

__all__ = ["Gain", "LossTotals", "RowLoss", "RowLossState", "query_weights", "worths_of"]

#: How much a label is worth: by name, by a rising function, or as the loss does by itself.
Gain: TypeAlias = str | Callable[[Floats], Floats] | None

# The loss counts as no smaller than this share of its start: what is left is rounding.
_FLOOR = 1e-16


@dataclass(frozen=True)
class LossTotals:
    """The loss of queries and the size of potentials, added up without rounding.

    Attributes
    ----------
    loss : ExactSum
        Over the queries, with their coefficients.
    size : ExactSum
        Absolute potentials, over the rows.
    """

    loss: ExactSum
    size: ExactSum

    def merge(self, other: LossTotals) -> LossTotals:
        """Return the totals of both parts of the queries."""
        return LossTotals(self.loss + other.loss, self.size + other.size)

    def finish(self, start: float) -> tuple[float, float]:
        """Return the scale of potentials and the logarithm of the loss.

        Parameters
        ----------
        start : float
            The loss at scores of 0.
        """
        size = self.size.value
        scale = 2.0 / size if size > 0.0 else 1.0
        if not start > 0.0:
            return scale, 0.0
        return scale, log(max(self.loss.value / start, _FLOOR))


class RowLossState:
    """See `crucial.feedback.base.ScoreState`; has a `curvature` too.

    A subclass writes potentials, curvature and the loss of every query in `_write`. Queries
    weigh ``coefficient``; the loss of the trace is the mean over all queries, drawn or not,
    over its value at scores of 0.

    Parameters
    ----------
    feedback : Feedback
    rows : LabelledRows
        Of the feedback.
    coefficient : array over the queries
    threads : int

    Attributes
    ----------
    scores : array over the rows
    curvature : array over the rows
        Second derivative of the loss by the score of each row, or what a Newton step should
        divide by in its place, in the units of the potentials (before their scale).
    rounds : int
        How often the scores moved; seeds what is random.
    """

    def __init__(
        self, feedback: Feedback, rows: LabelledRows, coefficient: Floats, threads: int
    ) -> None:
        self._feedback, self._threads = feedback, threads
        self._layout = rows.layout
        n = len(rows.layout.rows)
        self.scores, self.curvature = np.zeros(n), np.zeros(n)
        self.rounds = 0
        self._all = self._drawn = coefficient
        self._loss = np.zeros(rows.layout.n_queries)
        self._start: float | None = None

    def _write(self, pi: Floats) -> None:
        """Write the potentials of all rows, ``self.curvature`` and ``self._loss``."""
        raise NotImplementedError

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write minus the gradient of the loss; return its scale and the log of the loss."""
        return self.finish(self.sums(pi))

    def sums(self, pi: Floats) -> LossTotals:
        """Write minus the gradient of the loss; add up the losses of all queries."""
        n = len(self.scores)
        self._write(pi[:n])
        pi[n:] = 0.0
        size = ExactSum.of(np.abs(pi), self._threads)
        return LossTotals(ExactSum.of(self._all * self._loss), size)

    def finish(self, totals: LossTotals) -> tuple[float, float]:
        """Return the scale of the potentials and the logarithm of the loss."""
        if self._start is None:
            self._start = totals.loss.value
        return totals.finish(self._start)

    def advance(self, output: Output, alpha: float) -> None:
        """Add ``alpha * output`` to the scores."""
        self.scores += alpha * output[: len(self.scores)]
        self.rounds += 1

    def risks(self) -> tuple[float, float]:
        """Return R1 and R2 of the current scores: O(n log n)."""
        state = self._feedback.state(threads=self._threads)
        state.advance(self.scores, 1.0)
        return state.risks()

    def draw(self, fraction: float, random: np.random.Generator) -> None:
        """Count only a random share of the queries, at least one, until the next draw."""
        self.count_only(draw_share(self.counting, fraction, random))

    @property
    def counting(self) -> Ints:
        """The queries that weigh anything."""
        return np.flatnonzero(self._all > 0)

    def count_only(self, chosen: Ints) -> None:
        """Count only some queries until the next draw."""
        self._drawn = np.zeros_like(self._all)
        self._drawn[chosen] = self._all[chosen]


class RowLoss(Objective):
    """A loss over the labels of whole queries; pairs that labels do not imply have none."""

    #: Its name among the losses of `GradientRanker`.
    name: str

    @abstractmethod
    def over_labels(self, feedback: Feedback, rows: LabelledRows, threads: int) -> RowLossState:
        """Return the state of the loss at scores of 0."""

    def begin(self, feedback: Feedback, threads: int) -> RowLossState:
        """Return the state of the loss at scores of 0."""
        rows = feedback.labelled()
        if rows is None:
            raise DataError(
                f"loss={self.name!r} learns from labels, and these are pairs. Use "
                "fit(X, y, qid=...), or a loss of pairs: 'exponential', 'logistic' or RankBoost's."
            )
        return self.over_labels(feedback, rows, threads)


def query_weights(rows: LabelledRows) -> Floats:
    """Return the weight of every query, without balance."""
    if rows.query_weight is not None:
        return rows.query_weight
    return np.ones(rows.layout.n_queries)


def worths_of(gain: Gain, rows: LabelledRows, loss: str) -> Floats:
    """Return what the label of every row is worth; refuse what is not finite or not rising.

    Parameters
    ----------
    gain : {None, "linear", "exp"} or function
        None: the label itself.
    loss : str
        Named in messages.
    """
    labels = rows.labels
    if gain is None:
        check_values(labels, f"loss={loss!r}")
        return labels
    values, places = np.unique(labels, return_inverse=True)
    function = lookup(GAINS, gain, "gain") if isinstance(gain, str) else gain
    with np.errstate(over="ignore", invalid="ignore"):
        worths = np.asarray(function(values), np.float64)
    if (
        worths.shape != values.shape
        or not np.isfinite(worths).all()
        or (np.diff(worths) <= 0).any()
    ):
        raise DataError(
            f"the 'gain' of labels must be finite and rise with the label for loss={loss!r}. "
            f"Labels here go from {values[0]:g} to {values[-1]:g}; use gain='linear'."
        )
    check_values(worths, f"loss={loss!r} with gain")
    return worths[places]
