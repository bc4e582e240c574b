"""Feedback from labels: every row above the rows of its query with a lower label.

Two levels (good and bad), grades, real numbers and strict orders are one case. The
pairs are never listed: sums over them become prefix sums over the levels of a query.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from crucial.data.groups import Groups, as_array
from crucial.errors import DataError
from crucial.feedback.base import (
    Feedback,
    PairState,
    TwoClasses,
    finite_total,
    power_of_two_scale,
)
from crucial.feedback.extremes import log_lightest_pairs, margin_range
from crucial.feedback.gather import GatheredState
from crucial.feedback.label_state import LabelState
from crucial.feedback.layout import LabelledRows, Layout
from crucial.kernels.pairs import sums_below
from crucial.types import Bools, Floats, Ints
from crucial.validation import check_choice, lookup

__all__ = ["GAINS", "LabelFeedback", "check_labels", "check_weights"]

# Pairs that weigh less than this in sum are weighed anew.
_TINY = 1e-100

GAINS: dict[str, Callable[[Floats], Floats]] = {
    "linear": lambda y: y,
    "exp": lambda y: np.exp2(y) - 1.0,
}


def check_labels(y: Any, n_rows: int | None = None) -> Floats:
    """Labels as floats; refuses what has no order or no value."""
    values = as_array(y, "y")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise DataError(f"y should be a 1d array, got an array of shape {values.shape} instead.")
    if n_rows is not None and len(values) != n_rows:
        raise DataError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, "
            f"y has {len(values)}."
        )
    if values.dtype.kind == "c":
        raise DataError("Complex data not supported: labels must be real numbers.")
    if values.dtype.kind in "mM":  # (NumPy would count ticks, and take NaT for a large number)
        raise DataError(f"Unknown label type: labels must be numbers, not {values.dtype}.")
    if values.dtype.kind not in "fiub":
        bad = next(((i, v) for i, v in enumerate(values.tolist()) if not _is_number(v)), None)
        if bad is not None:
            raise DataError(
                f"Unknown label type: labels must be numbers, higher is better. Row {bad[0]} is "
                f"{bad[1]!r}. Map names of grades to numbers first."
            )
    values = values.astype(np.float64, copy=False)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise DataError(
            f"Input y contains NaN or infinity: row {row} is {values[row]}. Leave rows without a "
            "label out."
        )
    return values


def _is_number(value: Any) -> bool:
    # (text is refused even where it reads as a number: "10" would sort before "9")
    if isinstance(value, str | bytes):
        return False
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def check_weights(weight: Any, n: int, name: str = "sample_weight") -> Floats | None:
    """Weights as floats; None where all are 1."""
    if weight is None:
        return None
    try:
        values = np.asarray(weight, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name} must be numbers.") from None
    if values.ndim == 0:
        values = np.full(n, float(values))
    if values.ndim != 1:
        raise DataError(f"{name} must be 1D. Got an array of shape {values.shape}.")
    if len(values) != n:
        raise DataError(f"{name}.shape == ({len(values)},), expected ({n},)!")
    wrong = ~((values >= 0) & (values < np.inf))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise DataError(f"{name} must be finite and not negative. Row {row} is {values[row]}.")
    if n and not values.any():
        raise DataError(f"{name} must be positive somewhere. All of the {n} are zero.")
    return None if np.all(values == 1.0) else values


class LabelFeedback(Feedback):
    """All pairs of rows of one query with different labels.

    Pair (lo, hi) weighs ``c_q u_lo u_hi (g(y_hi) - g(y_lo))``: instance weights u, gains g
    where asked for (else 1), and c_q as ``balance`` says.

    Parameters
    ----------
    y : array of shape (n_rows,)
        Labels; higher is better.
    groups : Groups, optional
        The queries; without, all rows are one.
    weight : array of shape (n_rows,), optional
        Instance weights u. A row of weight 2 counts as two rows, of weight 0 as none.
    balance : {"pairs", "queries"}
        Whether all pairs weigh the same, as in the papers, or all queries do.
    query_weight : array of shape (n_rows,) or mapping from query id, optional
        A further factor on the pairs of each query; an array is constant inside a query.
    gain : {None, "linear", "exp"} or callable
        Weigh a pair by the difference of the gains of its labels.

    Examples
    --------
    >>> feedback = LabelFeedback([2, 0, 1, 1], Groups.from_qid(["a", "a", "a", "b"], 4))
    >>> feedback.n_pairs, feedback.n_queries, feedback.n_skipped
    (3, 1, 1)
    >>> feedback.r2([3.0, 1.0, 2.0, 0.0])
    0.0
    """

    def __init__(
        self,
        y: Any,
        groups: Groups | None = None,
        *,
        weight: Any = None,
        balance: str = "pairs",
        query_weight: Any = None,
        gain: str | Callable[[Floats], Floats] | None = None,
    ) -> None:
        check_choice("LabelFeedback", "balance", balance, ["pairs", "queries"])
        labels = check_labels(y)
        self.n_rows = len(labels)
        groups = groups or Groups.single(self.n_rows)
        if groups.n_rows != self.n_rows:
            raise DataError(f"y has {self.n_rows} rows, and groups were made for {groups.n_rows}.")
        weights = check_weights(weight, self.n_rows)
        factor = _factors(query_weight, groups)
        keep = _kept(weights, factor, groups)
        layout = self._layout = Layout.of(labels, groups, keep)
        self.rows = layout.rows
        self.weight = None if weights is None else weights[self.rows]
        if self.weight is not None and np.all(self.weight == 1.0):
            self.weight = None
        self.n_queries = layout.n_queries
        self.n_skipped = groups.n_groups - layout.n_queries
        self.groups = groups
        if not len(self.rows):
            raise DataError(_no_pair(labels, groups, keep))
        self.n_pairs = layout.n_pairs
        self._gains = _gains_of(gain, layout)
        self._balanced = balance == "queries"
        self._set_weights(balance, None if factor is None else factor[layout.queries])

    _scaled: Floats | None

    def _set_weights(self, balance: str, factor: Floats | None) -> None:
        """Scale the weights so that no sum over pairs overflows, and balance the queries."""
        layout = self._layout
        sizes = np.diff(layout.row_start)
        counts = np.diff(layout.level_start).astype(np.float64)
        scale = np.ones(layout.n_queries)
        self._scaled, mass = None, counts
        if self.weight is not None:
            largest = np.maximum.reduceat(self.weight, layout.row_start[:-1])
            if balance == "pairs":
                largest = np.full_like(largest, largest.max())
            scale = np.array([power_of_two_scale(float(top)) for top in largest])
            self._scaled = self.weight * np.repeat(scale, sizes)
            mass = np.add.reduceat(self._scaled, layout.level_start[:-1])
        gap = layout.gaps(self._gains)
        with np.errstate(over="ignore"):
            pairs = mass * sums_below(mass, gap, layout.query_first)
            per_query = np.add.reduceat(pairs, layout.query_first[:-1])
            self.total = finite_total(float(np.sum(per_query / scale / scale)))
        if not np.isfinite(per_query).all():
            raise DataError(
                "the gains of the labels add up to infinity; use gain='linear' or None."
            )
        if self._scaled is not None:
            size = per_query if balance == "queries" else np.full_like(per_query, per_query.sum())
            if size.min() < _TINY:  # (weights far apart: what pairs weigh is far below 1)
                more = np.ldexp(1.0, -np.frexp(size)[1] // 2)
                self._scaled *= np.repeat(more, sizes)
                per_query = per_query * more * more
        coefficient = np.ones(layout.n_queries)
        if balance == "queries":
            with np.errstate(divide="ignore"):
                coefficient = np.where(per_query > 0, 1.0 / per_query, 0.0)
        if factor is not None:
            coefficient = coefficient * (factor / factor.max())
        self._coefficient = coefficient
        whole = float(np.dot(coefficient, per_query))
        if not whole > 0:
            raise DataError(
                "the weights of all pairs are too small to be told from 0; use weights of a "
                "similar size."
            )
        self._log_total = math.log(whole)

    @property
    def n_levels(self) -> int:
        """Number of different labels in pairs."""
        return self._layout.n_levels

    def two_classes(self) -> TwoClasses | None:
        """Return both classes; None where there are more labels, or more queries."""
        layout = self._layout
        if self.groups.n_groups > 1 or len(layout.values) != 2:
            return None
        low, high = layout.values.tolist()
        return TwoClasses(low, high, int(layout.level_start[1]))

    def state(self, rows: Ints | None = None, threads: int = 1) -> PairState:
        """Begin at scores of 0."""
        made = LabelState(
            self._layout,
            self._scaled,
            self._gains,
            self._coefficient,
            self._log_total,
            threads,
        )
        if rows is None or rows is self.rows:
            return made
        return GatheredState(made, self.rows, rows)

    def laid_out(self) -> LabelledRows:
        """Return the rows by query and level, with what they weigh."""
        return LabelledRows(
            self._layout, self._scaled, self._gains, self._coefficient, self._balanced
        )

    def log_lightest(self) -> float:
        """Logarithm of the weight of the lightest pair, as a share of all weight."""
        first = self._layout.row_start[:-1]
        scale = np.zeros(len(first))
        if self.weight is not None and self._scaled is not None:
            scale = 2.0 * (np.log(self._scaled[first]) - np.log(self.weight[first]))
        with np.errstate(divide="ignore"):
            logs = np.log(self._coefficient) + scale
            logs += log_lightest_pairs(self._layout, self.weight, self._gains)
        return float(logs[self._coefficient > 0].min()) - self._log_total

    def margin_range(self, scores: Floats) -> tuple[float, float]:
        """Smallest and largest margin, for scores in the order of ``self.rows``: O(n)."""
        return margin_range(self._layout, scores)


def _gains_of(gain: str | Callable[[Floats], Floats] | None, layout: Layout) -> Floats:
    """Gain of every segment, or an empty array where all pairs count the same."""
    if gain is None:
        return np.zeros(0)
    function = lookup(GAINS, gain, "gain") if isinstance(gain, str) else gain
    with np.errstate(over="ignore", invalid="ignore"):
        gains = np.asarray(function(layout.values), np.float64)
    rising = np.diff(gains)
    rising[layout.query_first[1:-1] - 1] = 1.0
    if gains.shape != layout.values.shape or not np.isfinite(gains).all() or not (rising > 0).all():
        raise DataError(
            "the 'gain' of labels must be finite and rise with the label. Labels here go from "
            f"{layout.values.min():g} to {layout.values.max():g}; use gain='linear' or None."
        )
    # Only differences count: from 0 in every query, a large offset costs no digits.
    return gains - np.repeat(gains[layout.query_first[:-1]], np.diff(layout.query_first))


def _factors(query_weight: Any, groups: Groups) -> Floats | None:
    """Weight of every query, or None where all weigh the same."""
    if query_weight is None:
        return None
    if isinstance(query_weight, Mapping):
        missing = [q for q in groups.ids.tolist() if q not in query_weight]
        if missing:
            raise DataError(f"query_weight has no weight for query {missing[0]!r}.")
        values = [query_weight[q] for q in groups.ids.tolist()]
        return check_weights(values, groups.n_groups, "query_weight")
    per_row = check_weights(query_weight, groups.n_rows, "query_weight")
    if per_row is None:
        return None
    ordered = per_row[groups.order]
    per_group: Floats = ordered[groups.starts[:-1]]
    differs = np.flatnonzero(ordered != np.repeat(per_group, groups.sizes))
    if len(differs):
        label = np.repeat(groups.ids, groups.sizes)[differs[:1]].tolist()[0]
        raise DataError(f"query_weight must be constant inside a query. It is not in {label!r}.")
    return per_group


def _kept(weights: Floats | None, factor: Floats | None, groups: Groups) -> Bools | None:
    """Rows that weigh anything; None where all do."""
    keep = None if weights is None else weights > 0
    if factor is not None and not factor.all():
        counts = factor[groups.codes] > 0
        keep = counts if keep is None else keep & counts
    return keep


def _no_pair(labels: Floats, groups: Groups, keep: Bools | None) -> str:
    if len(labels) == 1:
        return (
            "No comparable pair: n_samples = 1, and it takes two rows with different labels to "
            "learn an order."
        )
    if len(np.unique(labels)) == 1:
        return (
            f"No comparable pair: all {len(labels)} labels are {labels[0]:g} (one class), so "
            "nothing says what should rank above what."
        )
    if keep is not None and len(Layout.of(labels, groups, None).rows):
        return (
            "No comparable pair: sample_weight or query_weight is zero for one row of every pair "
            "(or the rows of all pairs were set aside for early stopping)."
        )
    hint = ""
    if groups.n_groups == len(labels):
        hint = " Every row has a qid of its own: are these row numbers?"
    return (
        f"No comparable pair: none of the {groups.n_groups} queries has two rows of different "
        f"labels.{hint}"
    )
