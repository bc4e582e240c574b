"""A loss of one's own: a function that returns gradient and curvature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from crucial.data.groups import Groups
from crucial.errors import DataError, in_short
from crucial.feedback.base import Feedback
from crucial.feedback.layout import LabelledRows
from crucial.kernels.runtime import is_part
from crucial.objectives.row_losses import RowLoss, RowLossState, query_weights
from crucial.types import Floats
from crucial.wording import counted

__all__ = ["CustomLoss", "LossFunction"]

_LARGEST = 1e100  # gradients and curvatures

#: ``loss(scores, labels, groups)`` returns gradient and curvature, and the loss if it has one.
LossFunction: TypeAlias = Callable[[Floats, Floats, Groups], Any]


class CustomLoss(RowLoss):
    """A function of scores, labels and queries that returns gradient and curvature.

    Parameters
    ----------
    function : ``loss(scores, labels, groups)``
        Gets scores and labels of the rows, query after query and by rising label inside a
        query, and their `Groups`: ``groups.starts`` says where queries begin. Rows of queries
        whose labels are all equal are left out. It returns the derivative of the loss by each
        score and a curvature, arrays like the scores, and optionally the loss as a third
        value for the trace: one number that is not negative for every query, or one for all of
        them; without it the trace has the mean absolute gradient. Weights of rows and queries are
        multiplied afterwards.

        Where rows are in parts, it is called with the queries of one part after the other: what
        it returns for a query must depend on no other, and a third value is one number for every
        query.

    Examples
    --------
    >>> from crucial import LabelFeedback
    >>> from crucial.feedback.base import Potentials
    >>> squares = CustomLoss(lambda scores, labels, groups: (scores - labels, np.ones(3)))
    >>> potentials = Potentials(squares.begin(LabelFeedback([0.0, 2.0, 1.0]), 1))
    >>> (potentials.pi[:3] + 0.0).tolist()  # (rows by rising label)
    [0.0, 1.0, 2.0]
    """

    name = "a function"

    def __init__(self, function: LossFunction) -> None:
        self.function = function

    def over_labels(self, feedback: Feedback, rows: LabelledRows, threads: int) -> RowLossState:
        """Return the state of the loss at scores of 0."""
        return CustomState(feedback, rows, query_weights(rows), threads, self.function)


class CustomState(RowLossState):
    """See `CustomLoss`."""

    def __init__(
        self,
        feedback: Feedback,
        rows: LabelledRows,
        coefficient: Floats,
        threads: int,
        function: LossFunction,
    ) -> None:
        super().__init__(feedback, rows, coefficient, threads)
        self._function, self._labels = function, rows.labels
        self._row_weight = feedback.weight
        self._query = rows.layout.query_of_row()
        self._groups = Groups(rows.layout.queries, rows.layout.row_start)
        self._is_part = is_part()

    def _write(self, pi: Floats) -> None:
        # (copies: the function may do with them as it likes)
        found = self._function(self.scores.copy(), self._labels.copy(), self._groups)
        if not isinstance(found, tuple | list) or len(found) not in (2, 3):
            raise DataError(
                "a loss of one's own must return (gradient, curvature) or (gradient, curvature, "
                f"loss). Got {type(found).__name__}."
            )
        gradient = self._checked("gradient", found[0])
        curvature = self._checked("curvature", found[1])
        if float(curvature.min()) < 0.0:
            row = int(curvature.argmin())
            raise DataError(
                f"the curvature of a loss must not be negative. Row {row} is {curvature[row]}; "
                "return a positive bound, such as 1."
            )
        factor = self._drawn[self._query]
        if self._row_weight is not None:
            factor = factor * self._row_weight
        np.multiply(factor, -gradient, out=pi)
        np.multiply(factor, curvature, out=self.curvature)
        starts = self._groups.starts[:-1]
        if len(found) == 2:
            np.add.reduceat(np.abs(gradient), starts, out=self._loss)
        else:
            self._loss[:] = self._losses(found[2])

    def _losses(self, value: Any) -> Floats | float:
        """Return the loss of every query, from one number for each or for all."""
        losses, n = np.asarray(value, np.float64), self._groups.n_groups
        if losses.shape not in ((), (n,)) or not ((losses >= 0.0) & (losses < np.inf)).all():
            raise DataError(
                "the loss, the third value, must be 0 or more and finite: one number, or one for "
                f"each of the {counted(n, 'query')}. Got {value}."
            )
        if losses.shape == (n,):
            return losses
        if self._is_part:
            raise DataError(
                "a loss of one's own that returns one number for all queries does not run on parts "
                f"of the rows; return one number for each of the {counted(n, 'query')}, or none."
            )
        # Each query gets its share, so that their mean is the loss.
        return float(losses) / float(self._all.sum())

    def _checked(self, what: str, values: Any) -> Floats:
        try:
            array = np.asarray(values, np.float64)
        except (TypeError, ValueError, OverflowError):
            raise DataError(
                f"the {what} of a loss must be numbers. Got {in_short(repr(values))}."
            ) from None
        if array.shape != self.scores.shape:
            raise DataError(
                f"the {what} of a loss must have one number for each of the {len(self.scores)} "
                f"rows. Got shape {array.shape}."
            )
        if not np.isfinite(array).all():
            row = int(np.flatnonzero(~np.isfinite(array))[0])
            raise DataError(f"the {what} of a loss must be finite. Row {row} is {array[row]}.")
        row = int(np.abs(array).argmax())
        if abs(array[row]) > _LARGEST:
            raise DataError(
                f"the {what} of a loss must be at most {_LARGEST:g} in size, since it is squared. "
                f"Row {row} is {array[row]}."
            )
        return array
