"""L2 boosting in the space of the features: no round looks at the rows.

Component-wise L2 boosting (Buehlmann & Yu 2003; Werner 2019, section 4) needs of the residuals only
their products with the columns. These change by a column of the matrix of products when a feature
gets a step, so that a round costs O(features). A column of that matrix is made when its feature is
first chosen.
"""

from __future__ import annotations

import math
import time

import numpy as np

from crucial.boosting.loop import Ensemble
from crucial.boosting.parts import TrainingRows
from crucial.boosting.stump_search import first_best
from crucial.boosting.trace import Progress, Round
from crucial.boosting.watch import Watch
from crucial.feedback.base import Feedback
from crucial.feedback.query_means import QueryMeans
from crucial.kernels.elementary import dot, matrix_product
from crucial.objectives.regression import log_of
from crucial.types import Floats
from crucial.weak.columns import UnitColumns
from crucial.weak.lines import fitted_line

__all__ = ["EffectiveParameters", "boost_squares", "corrected_aic"]


def boost_squares(
    training: TrainingRows,
    feedback: Feedback,
    labels: Floats,
    means: QueryMeans,
    *,
    rounds: int,
    rate: float,
    watch: Watch | None = None,
    record_risks: bool = False,
    progress: Progress | None = None,
    criterion: bool = False,
) -> Ensemble:
    """Fit the residuals by one feature per round, and add a share of the fit.

    Every query has its own intercept, the mean of its labels; with one query, that of the model.

    Parameters
    ----------
    training, feedback : the data
    labels : array over the training rows
    means : QueryMeans
    rounds : int
    rate : float
        The share.
    watch : Watch, optional
        The eval set, which decides about early stopping.
    criterion : bool
        Whether to record the corrected AIC and the effective number of parameters.
    """
    columns = UnitColumns(training, means)
    products = _Products(columns)
    residual = means.centred(labels)
    pull = columns.dots(means.mass * residual)
    start = left = float((means.mass * residual**2).sum())
    offset = float((means.mass * labels).sum()) / means.whole
    effective = EffectiveParameters(products, columns.norm, len(means.means(labels)), rate)
    ensemble, pairs = Ensemble(), feedback.state()
    for number in range(rounds):
        began = time.perf_counter()
        slope = pull / columns.norm
        found = first_best(np.abs(pull) / np.sqrt(columns.norm * start), slope)
        if found is None:
            ensemble.trace.stopped = "no weak ranker helps"
            break
        gained = float(pull[found] * slope[found])
        line = fitted_line(columns, found, float(slope[found]), 0.0 if number else offset / rate)
        pull = pull - rate * slope[found] * products.with_column(found)
        before, left = left, max(0.0, left - rate * (2.0 - rate) * gained)
        r1, r2 = None, None
        if record_risks:
            pairs.advance(columns.column(found), rate * line.slope)
            r1, r2 = pairs.risks()
        extras = {"risk": left / means.whole}
        if criterion:
            parameters = effective.after(found)
            aicc = corrected_aic(left / means.whole, parameters, means.whole)
            extras |= {"aicc": aicc, "parameters": parameters}
        entry = Round(
            line,
            rate,
            float(slope[found]),
            left / before if before > 0 else 0.0,
            log_of(left / start),
            r1,
            r2,
            measures={} if watch is None else watch.advance(line, rate),
            extras=extras,
            seconds=time.perf_counter() - began,
        )
        ensemble.add(entry, progress)
        if watch is not None and watch.done:
            ensemble.trace.stopped = "early stopping"
        if ensemble.trace.stopped:
            break
    return ensemble


class _Products:
    """Columns of the matrix of products of all columns, made when they are needed."""

    def __init__(self, columns: UnitColumns) -> None:
        self._columns = columns
        self._made: dict[int, Floats] = {}

    def with_column(self, at: int) -> Floats:
        """Return the products of all columns with one."""
        if at not in self._made:
            self._made[at] = self._columns.products(at)
        return self._made[at]


class EffectiveParameters:
    """Trace of the matrix that maps the labels to the fit, round by round (Buehlmann 2006).

    That matrix is ``I - (I - k P_1) (I - k P_2) ...`` with the projections on the chosen columns.
    What the product leaves of a chosen column is a combination of the chosen columns: these
    combinations are followed, and the rows are not.

    Parameters
    ----------
    products : the products of the columns
    norm : array over the columns
    intercepts : int
        One per query; each is a parameter.
    rate : float
    """

    def __init__(self, products: _Products, norm: Floats, intercepts: int, rate: float) -> None:
        self._products, self._norm, self._rate = products, norm, rate
        self._chosen: list[int] = []  # distinct, in order
        self._path: list[int] = []  # of every round, by place in _chosen
        self._left = np.zeros((0, 0))  # column s: what is taken of every chosen column from s
        self._gram = np.zeros((0, 0))
        self._trace = float(intercepts)

    def after(self, at: int) -> float:
        """Return the trace after a round that chose a column."""
        if at not in self._chosen:
            self._admit(at)
        place = self._chosen.index(at)
        norm = self._norm[at]
        # <h_j, R h_s> of the chosen column j with what is left of every s, j itself among them
        inner = self._gram[place] - matrix_product(self._gram[place][None, :], self._left)[0]
        self._trace += self._rate * float(inner[place]) / norm
        self._left[place] += self._rate / norm * inner
        self._path.append(place)
        return self._trace

    def _admit(self, at: int) -> None:
        """Begin to follow a column: replay what all rounds have left of it."""
        self._chosen.append(at)
        chosen, n = np.array(self._chosen), len(self._chosen)
        gram = np.zeros((n, n))
        gram[:-1, :-1] = self._gram
        gram[-1, :] = gram[:, -1] = self._products.with_column(at)[chosen]
        taken = np.zeros(n)
        for place in self._path:
            inner = gram[place, -1] - dot(gram[place], taken)
            taken[place] += self._rate / self._norm[self._chosen[place]] * inner
        left = np.zeros((n, n))
        left[:-1, :-1] = self._left
        left[:, -1] = taken
        self._gram, self._left = gram, left


def corrected_aic(mean_square: float, parameters: float, n_rows: float) -> float:
    """Return the corrected AIC of a linear smoother (Hurvich, Simonoff & Tsai 1998).

    ``ln(s2) + (1 + k / n) / (1 - (k + 2) / n)``; infinite where k is within 2 of n.

    Examples
    --------
    >>> round(corrected_aic(1.0, 2.0, 10.0), 6)
    2.0
    """
    room = 1.0 - (parameters + 2.0) / n_rows
    if room <= 0.0:
        return math.inf
    return log_of(mean_square) + (1.0 + parameters / n_rows) / room
