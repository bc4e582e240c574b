"""Feedback from labels: every row above the rows of its query with a lower label.

Two levels (good and bad), grades, real numbers and strict orders are one case. The
pairs are never listed: sums over them become prefix sums over the levels of a query.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from crucial.data.arrays import as_array, as_reals, check_sum, complex_error
from crucial.data.groups import Groups
from crucial.errors import DataError
from crucial.feedback.base import Feedback, TwoClasses, finite_total
from crucial.feedback.extremes import log_lightest_pairs, margin_range
from crucial.feedback.label_state import LabelState
from crucial.feedback.label_weights import gains_of, weighed
from crucial.feedback.layout import LabelledRows, Layout
from crucial.feedback.listed import ListedPairs
from crucial.feedback.margins import LabelMargins
from crucial.feedback.states import PairState
from crucial.kernels.elementary import exp, log
from crucial.parameters import check, one_of
from crucial.types import Bools, Floats, Ints, VectorLike
from crucial.wording import counted

__all__ = [
    "LabelFeedback",
    "QueryWeight",
    "check_labels",
    "check_labels_of_weights",
    "check_weights",
    "query_factors",
    "weighing_rows",
]

#: One weight per row, constant inside a query, or one per query id.
QueryWeight: TypeAlias = VectorLike | Mapping[Any, float]


def check_labels(y: VectorLike, n_rows: int | None = None) -> Floats:
    """Return labels as floats; refuse what has no order or no value."""
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
        raise complex_error("labels")
    if values.dtype.kind in "mM":  # (NumPy would count ticks, and take NaT for a large number)
        raise DataError(f"Unknown label type: labels must be numbers, not {values.dtype}.")
    if values.dtype.kind not in "fiub":
        bad = next(((i, v) for i, v in enumerate(values.tolist()) if not _is_number(v)), None)
        if bad is not None:
            raise DataError(
                f"Unknown label type: labels must be numbers, higher is better. Row {bad[0]} is "
                f"{bad[1]!r}. Map names of grades to numbers first."
            )
    values = as_reals(values, "y")
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise DataError(
            f"Input y contains NaN or infinity: row {row} is {values[row]}. Leave rows without a "
            "label out."
        )
    return values + 0.0  # (one zero: see `crucial.data.arrays`)


def _is_number(value: Any) -> bool:
    # (text is refused even where it reads as a number: "10" would sort before "9")
    if isinstance(value, str | bytes):
        return False
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    except OverflowError:
        return True
    return True


def check_labels_of_weights(
    y: VectorLike | None, sample_weight: VectorLike | None, query_weight: QueryWeight | None
) -> None:
    """Refuse weights of rows and queries without labels, where a ranker learns from pairs alone."""
    if y is None and not (sample_weight is None and query_weight is None):
        raise DataError(
            "sample_weight and query_weight weigh the pairs that labels imply, and there is no y; "
            "use pair_weight."
        )


def check_weights(weight: VectorLike | None, n: int, name: str = "sample_weight") -> Floats | None:
    """Return weights as floats, or None where all are 1; refuse negative and infinite ones.

    Weights whose sum is infinite are refused too: no share of it can be computed.
    """
    if weight is None:
        return None
    values = as_reals(weight, name)
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
    check_sum(values, name)
    return None if np.all(values == 1.0) else values


class LabelFeedback(Feedback):
    """All pairs of rows of one query with different labels.

    Pair (lo, hi) weighs ``c_q u_lo u_hi (g(y_hi) - g(y_lo))``, with instance weights u,
    gains g (without ``gain``, their difference counts as 1) and c_q set by ``balance``.

    Parameters
    ----------
    y : array of shape (n_rows,)
        Labels; higher is better.
    groups : Groups, optional
        The queries; by default all rows are one.
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
        y: VectorLike,
        groups: Groups | None = None,
        *,
        weight: VectorLike | None = None,
        balance: str = "pairs",
        query_weight: QueryWeight | None = None,
        gain: str | Callable[[Floats], Floats] | None = None,
    ) -> None:
        check("LabelFeedback", "balance", balance, one_of("pairs", "queries"))
        labels = check_labels(y)
        self.n_rows = len(labels)
        groups = groups or Groups.single(self.n_rows)
        if groups.n_rows != self.n_rows:
            raise DataError(f"y has {self.n_rows} rows, and groups were made for {groups.n_rows}.")
        weights = check_weights(weight, self.n_rows)
        factor = query_factors(query_weight, groups)
        keep = _kept(weights, factor, groups)
        layout = Layout.of(labels, groups, keep)
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
        per_query = None if factor is None else factor[layout.queries]
        self._labelled, self.total = weighed(
            layout, self.weight, gains_of(gain, layout), balance == "queries", per_query
        )

    @property
    def n_levels(self) -> int:
        """Number of different labels in pairs."""
        return self._labelled.layout.n_levels

    def labelled(self) -> LabelledRows:
        """Return the rows by query and label, with their weights."""
        return self._labelled

    def two_classes(self) -> TwoClasses | None:
        """Return both classes; None where there are more labels, or more queries."""
        layout = self._labelled.layout
        if self.groups.n_groups > 1 or len(layout.values) != 2:
            return None
        low, high = layout.values.tolist()
        return TwoClasses(low, high, int(layout.level_start[1]))

    def _state(self, threads: int) -> PairState:
        return LabelState(self._labelled, threads)

    def pairs_at(self, numbers: Ints) -> ListedPairs:
        """Return the pairs with these numbers.

        Examples
        --------
        >>> high, low, weight = LabelFeedback([2, 0, 1]).pairs_at(np.arange(3))
        >>> [(int(h), int(l)) for h, l in zip(high, low)]  # (rows by rising label)
        [(1, 0), (2, 0), (2, 1)]
        >>> weight.round(3).tolist()
        [0.333, 0.333, 0.333]
        """
        return self._labelled.pairs_at(numbers)

    def without(self, places: Ints) -> LabelFeedback | None:
        """Return the pairs in which none of these places occurs, with their weights.

        None if there are none. ``total`` is what the pairs weigh here.
        """
        rows, layout = self._labelled, self._labelled.layout
        kept = np.ones(len(self.rows), bool)
        kept[places] = False
        labels, keep = np.zeros(self.n_rows), np.zeros(self.n_rows, bool)
        labels[self.rows], keep[self.rows] = layout.values[layout.segment_of_row], kept
        fewer = Layout.of(labels, self.groups, keep)
        place = np.empty(self.n_rows, np.int64)
        place[self.rows] = np.arange(len(self.rows))
        left = place[fewer.rows]
        labelled = rows.taken(fewer, left) if len(left) else None
        if labelled is None:
            return None
        other = copy.copy(self)
        other._labelled, other.rows = labelled, fewer.rows
        other.weight = None if self.weight is None else self.weight[left]
        other.n_pairs, other.n_queries = fewer.n_pairs, fewer.n_queries
        other.n_skipped = self.groups.n_groups - fewer.n_queries
        other.total = finite_total(self.total * exp(labelled.log_total - rows.log_total))
        return other

    def log_lightest(self) -> float:
        """Return the logarithm of the weight of the lightest pair, as a share of all weight."""
        rows = self._labelled
        first = rows.layout.row_start[:-1]
        scale = np.zeros(len(first))
        if self.weight is not None and rows.weight is not None:
            heaviest = np.maximum.reduceat(self.weight, first)  # (a light row may be 0 as a share)
            scale = 2.0 * (log(np.maximum.reduceat(rows.weight, first)) - log(heaviest))
        with np.errstate(divide="ignore"):
            logs = log(rows.coefficient) + scale
            logs += log_lightest_pairs(rows.layout, self.weight, rows.gains)
        return float(logs[rows.coefficient > 0].min(initial=math.inf)) - rows.log_total

    def margin_range(self, scores: Floats) -> tuple[float, float]:
        """Return the smallest and largest margin, for scores like ``rows``: O(n)."""
        return margin_range(self._labelled.layout, scores)

    def margin_counts(self, scores: Floats, threads: int = 1) -> LabelMargins:
        """Return the distribution of the margins, without gains and balance."""
        return LabelMargins(self._labelled, scores, threads)


def query_factors(query_weight: QueryWeight | None, groups: Groups) -> Floats | None:
    """Return the weight of every query, or None where all weigh the same."""
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
        query = np.repeat(groups.ids, groups.sizes)[differs[:1]].tolist()[0]
        raise DataError(f"query_weight must be constant inside a query. It is not in {query!r}.")
    return per_group


def weighing_rows(
    weight: Floats | None, query_weight: QueryWeight | None, groups: Groups
) -> Bools | None:
    """Return which rows weigh more than 0, and so do their queries; None where all do."""
    return _kept(weight, query_factors(query_weight, groups), groups)


def _kept(weights: Floats | None, factor: Floats | None, groups: Groups) -> Bools | None:
    """Return which rows weigh anything; None where all do."""
    keep = None if weights is None else weights > 0
    if factor is not None and not factor.all():
        counts = factor[groups.codes] > 0
        keep = counts if keep is None else keep & counts
    return keep


def _no_pair(labels: Floats, groups: Groups, keep: Bools | None) -> str:
    """Return why no row can be compared with another."""
    if len(labels) == 1:
        return (
            "No comparable pair: n_samples = 1, and it takes two rows with different labels to "
            "learn an order."
        )
    if len(np.unique(labels)) == 1:
        return (
            f"No comparable pair: all {len(labels)} labels are {labels[0]:g} (one class), so "
            "no row should rank above another."
        )
    if keep is not None and len(Layout.of(labels, groups, None).rows):
        return (
            "No comparable pair: sample_weight or query_weight is zero for one row of every pair, "
            "or too small to distinguish from 0 beside the largest (or a judge left it without a "
            "label, or it was set aside for early stopping, folds or bags)."
        )
    hint = ""
    if groups.n_groups == len(labels):
        hint = " Every row has a different qid: are these row numbers?"
    return (
        f"No comparable pair: none of the {counted(groups.n_groups, 'query')} has two rows of "
        f"different labels.{hint}"
    )
