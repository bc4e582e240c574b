"""Losses whose gradient and curvature are known row by row, as objectives.

Squares, softmax, XE-NDCG, LambdaMART, YetiRank, and losses of the user's own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from crucial.boosting.loop import ExponentialLoss, Objective
from crucial.boosting.pair_losses import LogisticLoss
from crucial.data.arrays import check_values
from crucial.data.groups import Groups
from crucial.errors import DataError, in_short
from crucial.feedback.base import DrawnShare, Feedback, LabelledRows, Output
from crucial.feedback.labels import GAINS
from crucial.kernels.elementary import ExactSum, QueryNoise, exp, exp2, log, log2
from crucial.kernels.losses import AVERAGE_PRECISION, NDCG, RECIPROCAL_RANK, query_losses
from crucial.kernels.runtime import is_part
from crucial.parameters import lookup
from crucial.types import Floats, Ints
from crucial.wording import counted

# --- Losses over labels whose gradient and curvature are known row by row, and what they share


#: How much a label is worth: by name, by a rising function, or as the loss does by itself.
Gain: TypeAlias = str | Callable[[Floats], Floats] | None

# The loss counts as no smaller than this share of its start: what is left is rounding.
_FLOOR = 1e-16


class LossTotals(NamedTuple):
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


class RowLossState(DrawnShare):
    """State of a loss over rows: a `ScoreState` with the curvature of every row.

    Queries weigh ``coefficient``; the loss of the trace is the mean over all queries, drawn or not,
    over its value at scores of 0.

    Parameters
    ----------
    feedback : Feedback
    rows : LabelledRows
        Of the feedback.
    coefficient : array over the queries
    threads : int
    write : function of the state and an array over the rows
        Writes potentials into the array, and ``curvature`` and ``losses`` of the state.

    Attributes
    ----------
    scores : array over the rows
    curvature : array over the rows
        Second derivative of the loss by the score of each row, or what a Newton step should
        divide by in its place, in the units of the potentials (before their scale).
    losses : array over the queries
    rounds : int
        How often the scores moved; seeds what is random.
    """

    def __init__(
        self,
        feedback: Feedback,
        rows: LabelledRows,
        coefficient: Floats,
        threads: int,
        write: Callable[[Any, Floats], None],
    ) -> None:
        self._feedback, self._threads, self._write = feedback, threads, write
        self._layout = rows.layout
        n = len(rows.layout.rows)
        self.scores, self.curvature = np.zeros(n), np.zeros(n)
        self.rounds = 0
        self._all = self._drawn = coefficient
        self.losses = np.zeros(rows.layout.n_queries)
        self._start: float | None = None

    def by_query(self, kernel: str, pi: Floats, *inputs: Any, more: tuple[Any, ...] = ()) -> None:
        """Write by a kernel of `crucial.kernels.losses.query_losses`."""
        weight = self._feedback.weight
        weight = np.ones(len(self.scores)) if weight is None else weight
        everything = (self.scores, *inputs, weight, self._drawn, *more)
        out = (pi, self.curvature, self.losses)
        query_losses(kernel, everything, self._layout.row_start, self._threads, out)

    def potentials(self, pi: Floats) -> tuple[float, float]:
        """Write minus the gradient of the loss; return its scale and the log of the loss."""
        return self.finish(self.sums(pi))

    def sums(self, pi: Floats) -> LossTotals:
        """Write minus the gradient of the loss; add up the losses of all queries."""
        n = len(self.scores)
        self._write(self, pi[:n])
        pi[n:] = 0.0
        size = ExactSum.of(np.abs(pi), self._threads)
        return LossTotals(ExactSum.of(self._all * self.losses), size)

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
        return self._feedback.risks_at(self.scores, self._threads)


class RowLoss(Objective):
    """A loss over the labels of whole queries; pairs that labels do not imply have none."""

    takes_pairs = takes_balance = False
    default_gain = ""
    parted = "rows"

    @abstractmethod
    def over_labels(self, feedback: Feedback, rows: LabelledRows, threads: int) -> RowLossState:
        """Return the state of the loss at scores of 0."""

    def begin(self, feedback: Feedback, threads: int) -> RowLossState:
        """Return the state of the loss at scores of 0."""
        rows = feedback.labelled()
        if rows is None:
            of_pairs = ", ".join(repr(name) for name, one in LOSSES.items() if one.takes_pairs)
            raise DataError(
                f"loss={self.name!r} learns from labels, and these are pairs. Use "
                f"fit(X, y, qid=...), or a loss of pairs: {of_pairs} or RankBoost's."
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


# --- Losses of whole queries: squared error up to a shift, softmax, XE-NDCG
#
# In all of them a row of weight 2 counts as two rows. Queries whose labels are all equal are left
# out, as everywhere in this library: they say nothing about an order.


class QuerySquares(RowLoss):
    """``sum_q min_c sum_i u_i (y_i - H_i - c)^2 / 2``: squared error up to a shift per query.

    CatBoost's QueryRMSE. Only differences inside a query count, so that a feature that is
    constant in each query cannot help. Rows weigh the same, or with ``balance="queries"`` of
    the feedback queries do.

    Parameters
    ----------
    gain : {None, "linear", "exp"} or function
        What the scores should be: the label, ``2^y - 1``, or a rising function of it.
    """

    name, about = "query_rmse", "squared error up to a shift per query"
    takes_balance, default_gain = True, "y"
    settings: tuple[str, ...] = ("gain",)
    cost = 1.0

    def __init__(self, gain: Gain = None) -> None:
        self.gain = gain

    def over_labels(self, feedback: Feedback, rows: LabelledRows, threads: int) -> RowLossState:
        """Return the state of the loss at scores of 0."""
        target = worths_of(self.gain, rows, self.name)
        first = rows.layout.row_start[:-1]
        # (each query from 0: a large offset costs no digits)
        target = target - np.minimum.reduceat(target, first)[rows.layout.query_of_row()]
        coefficient = query_weights(rows)
        if rows.balanced:
            weight = np.ones(len(target)) if feedback.weight is None else feedback.weight
            coefficient = coefficient / np.add.reduceat(weight, first)

        def write(state: RowLossState, pi: Floats) -> None:
            state.by_query("squares", pi, target)

        return RowLossState(feedback, rows, coefficient, threads, write)


class SoftmaxLoss(RowLoss):
    """Cross entropy of the probabilities of being first: ListNet's top one (Cao et al. 2007).

    ``-sum_i t_i ln(e^{H_i} / sum_j e^{H_j})`` per query, all queries alike. The loss of the trace
    is less the entropy of the targets, which no score changes: 0 where the probabilities are the
    targets, and the same for weights in any unit (the divergence of Kullback and Leibler).

    Parameters
    ----------
    gain : {None, "linear", "exp"} or function
        Targets t are proportional to ``e^y`` (None, as in ListNet), or to the gain of the label
        less that of the lowest label of the query (CatBoost's QuerySoftMax where that is 0).
    """

    name = "softmax"
    about = "cross entropy of the chances to be first, ListNet (Cao et al. 2007)"
    default_gain = "e^y"
    settings: tuple[str, ...] = ("gain",)
    cost = 1.5

    def __init__(self, gain: Gain = None) -> None:
        self.gain = gain

    def over_labels(self, feedback: Feedback, rows: LabelledRows, threads: int) -> RowLossState:
        """Return the state of the loss at scores of 0."""
        worth = worths_of(self.gain, rows, self.name)
        first, query = rows.layout.row_start[:-1], rows.layout.query_of_row()
        if self.gain is None:
            target = exp(worth - np.maximum.reduceat(worth, first)[query])
        else:
            target = worth - np.minimum.reduceat(worth, first)[query]
        if feedback.weight is not None:
            target = target * feedback.weight
        target = target / np.add.reduceat(target, first)[query]
        entropy = _entropies(target, feedback.weight, rows.layout.row_start)

        def write(state: RowLossState, pi: Floats) -> None:
            state.by_query("cross_entropy", pi, target)
            state.losses -= entropy

        return RowLossState(feedback, rows, query_weights(rows), threads, write)


class XENDCGLoss(RowLoss):
    """XE-NDCG (Bruch 2021): cross entropy with noisy gains, which bounds nDCG from below.

    Targets are proportional to ``2^y - g`` with g uniform on [0, 1), drawn for every round,
    query and row. Potentials include the second and third order terms of the paper's Newton
    step (section 3.4), as LightGBM's ``rank_xendcg`` does; the loss of the trace has 1/2 in
    the place of every g, and is less the entropy of the targets, as in `SoftmaxLoss`.

    Parameters
    ----------
    seed : int
    """

    name = "xendcg"
    about = (
        "cross entropy with noisy gains, a bound on nDCG (Bruch 2021), for grades: where labels "
        "differ by less than 1, the noise drowns them"
    )
    settings: tuple[str, ...] = ("seed",)

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def over_labels(self, feedback: Feedback, rows: LabelledRows, threads: int) -> RowLossState:
        """Return the state of the loss at scores of 0."""
        labels = rows.labels
        if float(labels.min()) < 0.0:
            raise DataError(
                f"loss='xendcg' needs labels of 0 and more, and there is {labels.min():g}; shift "
                "them, or use loss='softmax' or 'query_rmse'."
            )
        layout, query = rows.layout, rows.layout.query_of_row()
        noise = QueryNoise(self.seed, layout.queries, layout.row_start, threads)
        # In units of the highest gain of the query, which may be any power of 2.
        highest = np.maximum.reduceat(labels, layout.row_start[:-1])
        worth, unit = exp2(labels - highest[query]), exp2(-highest)
        expected = worth - 0.5 * unit[query]
        if feedback.weight is not None:
            expected = expected * feedback.weight
        expected /= np.add.reduceat(expected, layout.row_start[:-1])[query]
        entropy = _entropies(expected, feedback.weight, layout.row_start)

        def write(state: RowLossState, pi: Floats) -> None:
            state.by_query("xendcg", pi, worth, unit, noise.uniforms(state.rounds))
            state.losses -= entropy

        return RowLossState(feedback, rows, query_weights(rows), threads, write)


def _entropies(target: Floats, weight: Floats | None, row_start: Ints) -> Floats:
    """Return the least cross entropy of each query, ``-sum t ln(t / u)``; below 0 for small u."""
    ratio = target if weight is None else target / weight
    logs = log(np.where(ratio > 0.0, ratio, 1.0))
    return -np.add.reduceat(target * logs, row_start[:-1])


# --- Pairs that matter for the top of the list: LambdaMART's and YetiRank's
#
# Neither has a loss: the weights of the pairs follow the order of the current scores.


LAMBDA_MEASURES = {"ndcg": NDCG, "map": AVERAGE_PRECISION, "mrr": RECIPROCAL_RANK}


class LambdaLoss(RowLoss):
    """Logistic pairs weighted by the change of a measure when both rows swap (Burges 2010).

    Rows of equal score are ordered worst first and, where their labels are equal too, share
    what they get, so that the order of the rows of a query does not matter. O(truncation n)
    per query. The "loss" of the trace is 1 minus the mean of the measure on the training
    queries. With ``k=None`` these are LightGBM's ``lambdarank`` gradients where no scores are
    equal.

    Parameters
    ----------
    measure : {"ndcg", "map", "mrr"}
        Of those, map and mrr count labels above 0 as relevant.
    k : int, optional
        Depth of nDCG: positions beyond it have no discount. By default all positions have
        one, and the best DCG, which gains are divided by, is that of the first ``truncation``.
    truncation : int, optional
        Only pairs with a row among so many first count; None: all pairs.
    sigmoid : float
        Steepness of the logistic function.
    normalise : bool
        Divide the weight of a pair by the distance of its scores, and let the sum of a query
        grow as a logarithm, as LightGBM's ``lambdarank_norm`` does.
    gain : {None, "linear", "exp"} or function
        Gain of a label in nDCG; None is ``2^y - 1``.
    """

    name = "lambda"
    about = (
        "pairs weighted by the change in nDCG, average precision or reciprocal rank when both rows "
        "swap, LambdaMART (Burges 2010)"
    )
    default_gain = "2^y - 1 (for nDCG)"
    settings: tuple[str, ...] = ("measure", "k", "truncation", "sigmoid", "normalise", "gain")
    cost = 4.0

    def __init__(
        self,
        measure: str = "ndcg",
        k: int | None = None,
        truncation: int | None = 30,
        sigmoid: float = 1.0,
        normalise: bool = True,
        gain: Gain = None,
    ) -> None:
        self.measure, self.k, self.truncation = measure, k, truncation
        self.sigmoid, self.normalise, self.gain = sigmoid, normalise, gain

    def over_labels(self, feedback: Feedback, rows: LabelledRows, threads: int) -> RowLossState:
        """Return the state of the loss at scores of 0."""
        kind = lookup(LAMBDA_MEASURES, self.measure, "measure")
        layout = rows.layout
        longest = int(np.diff(layout.row_start).max())
        truncation = longest if self.truncation is None else self.truncation
        depth = truncation if self.k is None else self.k
        discount = 1.0 / log2(np.arange(longest) + 2.0)
        if self.k is not None:
            discount[self.k :] = 0.0
        worth = self._worths(kind, rows)
        if kind == NDCG:
            best = _best_dcg(worth, rows, discount[: min(depth, longest)])
        elif kind == AVERAGE_PRECISION:
            best = np.add.reduceat(worth, layout.row_start[:-1])
        else:
            best = np.maximum.reduceat(worth, layout.row_start[:-1])
        inverse = np.divide(1.0, best, out=np.zeros_like(best), where=best > 0)
        how = (kind, depth, truncation, float(self.sigmoid), bool(self.normalise))
        # A query that the measure has no value for cannot get better.
        coefficient = np.where(inverse > 0, query_weights(rows), 0.0)
        more = (inverse, discount, how)

        def write(state: RowLossState, pi: Floats) -> None:
            state.by_query("lambda_sums", pi, worth, more=more)
            np.subtract(1.0, state.losses, out=state.losses)

        return RowLossState(feedback, rows, coefficient, threads, write)

    def _worths(self, kind: int, rows: LabelledRows) -> Floats:
        """Return the gain of every row, or whether it is relevant."""
        if kind == NDCG:
            worth = worths_of("exp" if self.gain is None else self.gain, rows, self.name)
            if float(worth.min()) < 0.0:
                raise DataError(
                    "nDCG needs gains of 0 and more, and the lowest label here has "
                    f"{worth.min():g}; shift the labels, or use loss='softmax' or 'query_rmse'."
                )
            return worth
        worth = (rows.labels > 0).astype(np.float64)
        starts = rows.layout.row_start[:-1]
        highest, lowest = (f.reduceat(worth, starts) for f in (np.maximum, np.minimum))
        if not (highest > lowest).any() and not is_part():
            raise DataError(
                f"measure={self.measure!r} counts labels above 0 as relevant, and no query has "
                "both relevant rows and others; use measure='ndcg', or shift the labels."
            )
        return worth


def _best_dcg(worth: Floats, rows: LabelledRows, discount: Floats) -> Floats:
    """Return the largest DCG of every query; rows lie by rising label."""
    starts = rows.layout.row_start
    position = np.repeat(starts[1:], np.diff(starts)) - 1 - np.arange(len(worth))
    counts = position < len(discount)
    each = np.zeros(len(worth))
    each[counts] = worth[counts] * discount[position[counts]]
    return np.add.reduceat(each, starts[:-1])


class YetiLoss(RowLoss):
    """Logistic pairs of neighbours, averaged over noisy orders: YetiRank (Gulin et al. 2011).

    As CatBoost's YetiRank in its classic mode: rows are ordered by their scores plus logistic
    noise, and the pair at positions p and p + 1 weighs ``decay^p`` times the difference of
    its labels. O(permutations n log n) per query. The "loss" of the trace is the weighted
    chance that such a pair is in the wrong order, estimated by the orders of the round.

    Parameters
    ----------
    permutations : int
        Orders per round and query.
    decay : float
        In (0, 1].
    gain : {None, "linear", "exp"} or function
        What a label is worth; None is the label.
    seed : int
    """

    name = "yeti"
    about = "pairs of neighbours, averaged over noisy orders, YetiRank (Gulin et al. 2011)"
    default_gain = "y"
    settings: tuple[str, ...] = ("permutations", "decay", "gain", "seed")
    cost = 4.0

    def __init__(
        self, permutations: int = 10, decay: float = 0.99, gain: Gain = None, seed: int = 0
    ) -> None:
        self.permutations, self.decay, self.gain, self.seed = permutations, decay, gain, seed

    def over_labels(self, feedback: Feedback, rows: LabelledRows, threads: int) -> RowLossState:
        """Return the state of the loss at scores of 0."""
        noise = QueryNoise(self.seed, rows.layout.queries, rows.layout.row_start, threads)
        worth, orders = worths_of(self.gain, rows, self.name), (self.permutations, self.decay)

        def write(state: RowLossState, pi: Floats) -> None:
            state.by_query("yeti_sums", pi, worth, more=(noise.keys(state.rounds), *orders))

        return RowLossState(feedback, rows, query_weights(rows), threads, write)


# --- A loss of one's own: a function that returns gradient and curvature


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
    >>> from crucial.feedback import LabelFeedback
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
        return CustomState(feedback, rows, threads, self.function)


class CustomState(RowLossState):
    """State of a `CustomLoss`: the function's gradient and curvature at the present scores."""

    def __init__(
        self, feedback: Feedback, rows: LabelledRows, threads: int, function: LossFunction
    ) -> None:
        write = CustomState._from_function
        super().__init__(feedback, rows, query_weights(rows), threads, write)
        self._function, self._labels = function, rows.labels
        self._row_weight = feedback.weight
        self._query = rows.layout.query_of_row()
        self._groups = Groups(rows.layout.queries, rows.layout.row_start)
        self._is_part = is_part()

    def _from_function(self, pi: Floats) -> None:
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
            np.add.reduceat(np.abs(gradient), starts, out=self.losses)
        else:
            self.losses[:] = self._losses(found[2])

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


# --- The losses by name: what users choose from, and what documentation and command line list


#: The losses of `GradientRanker`.
LOSSES: dict[str, type[Objective]] = {
    one.name: one
    for one in (
        QuerySquares,
        XENDCGLoss,
        LambdaLoss,
        SoftmaxLoss,
        YetiLoss,
        ExponentialLoss,
        LogisticLoss,
    )
}
