"""RankNet (Burges et al. 2005): a net scores each row, and a loss over pairs teaches it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from crucial.boosting.loop import Watch
from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.errors import NoProgressWarning
from crucial.feedback.base import LabelledRows
from crucial.feedback.labels import LabelFeedback, QueryWeight
from crucial.kernels.elementary import (
    column_sums,
    dot,
    log,
    matrix_product,
    power,
    row_products,
    row_sums,
)
from crucial.kernels.losses import LogisticSums
from crucial.kernels.minimise import quasi_newton
from crucial.kernels.runtime import Levels, count_threads
from crucial.measures.names import Measures
from crucial.model.additive import AdditiveRanker
from crucial.model.base import FrozenModel
from crucial.model.kernel import Column, scaled_columns
from crucial.model.net import ACTIVATIONS, Layer, NetRanker, activated, slope_of
from crucial.parameters import (
    Rule,
    above,
    at_least,
    between,
    flag,
    one_of,
    parameter,
    with_parameters,
)
from crucial.rankers.base import (
    BALANCE,
    RANDOM_STATE,
    EvalSet,
    EvaluatedRanker,
    RandomState,
    documented,
    warn_caller,
)
from crucial.rankers.linear.columns import Design, Scaling, kernel_columns
from crucial.types import Floats, Ints, TableLike, VectorLike

# --- Rows in an order of their own, equal ones merged, so that training depends on neither


def merged_rows(
    instances: Instances, rows: Ints, labels: Floats, queries: Ints, weight: Floats | None
) -> tuple[Ints, Floats]:
    """Return a row of every group of equal query, label and features, and the group's weight.

    A net is no convex problem: rounding that differs with the order of the rows can lead it to
    another minimum. Rows of sparse input keep their order and are not merged.

    Parameters
    ----------
    instances : Instances
    rows : int array
        Those with a weight above 0.
    labels, queries : arrays over all instances
    weight : array over all instances, or None
    """
    mass = np.ones(len(rows)) if weight is None else weight[rows]
    if instances.is_sparse:
        return rows, mass
    table = np.asarray(instances.table[rows], np.float64) + 0.0  # (one zero only)
    table[np.isnan(table)] = np.nan  # (one NaN only)
    keys = np.column_stack((queries[rows].astype(np.float64), labels[rows] + 0.0, table))
    _, first, group = np.unique(
        np.ascontiguousarray(keys).view(np.dtype((np.void, keys.shape[1] * 8)))[:, 0],
        return_index=True,
        return_inverse=True,
    )
    return rows[first], np.bincount(group.ravel(), mass, len(first)).astype(np.float64)


# --- A feed-forward net with one score per row, and its gradient by backpropagation


@dataclass(frozen=True)
class Inputs:
    """The columns of rows.

    Attributes
    ----------
    matrix : array or scipy CSR array of shape (n_rows, n_columns)
    shift : array of shape (n_columns,), or None
        Added to every row: so a sparse matrix stays sparse although its columns are centred.
    """

    matrix: Any
    shift: Floats | None = None

    def take(self, rows: Ints) -> Inputs:
        """Return the inputs of a selection of rows."""
        return Inputs(self.matrix[rows], self.shift)

    def times(self, weights: Floats) -> Floats:
        """Return the product with a matrix of shape (n_columns, k)."""
        if isinstance(self.matrix, np.ndarray):
            return matrix_product(self.matrix, weights)
        product = np.asarray(self.matrix @ weights)
        return product if self.shift is None else product + column_sums(weights, self.shift)

    def back(self, by_product: Floats) -> Floats:
        """Return the gradient by that matrix, given the gradient by the product."""
        if isinstance(self.matrix, np.ndarray):
            return matrix_product(self.matrix.T, by_product)
        found = np.asarray(self.matrix.T @ by_product)
        if self.shift is None:
            return found
        return np.asarray(found + np.multiply.outer(self.shift, by_product.sum(axis=0)))


def _normal(random: np.random.Generator, size: int) -> Floats:
    """Draw normal numbers by the polar method (Marsaglia & Bray 1964).

    Those of NumPy contain logarithms of the C library, whose last digits depend on the CPU.
    """
    out = np.zeros(0)
    while len(out) < size:
        x, y = 2.0 * random.random((2, size)) - 1.0
        square = x * x + y * y
        inside = (square > 0.0) & (square < 1.0)
        within = square[inside]
        out = np.append(out, x[inside] * np.sqrt(-2.0 * log(within) / within))
    return out[:size]


class Network:
    """``s = v . a(W_k a(... a(W_1 x + b_1)) + b_k)``; without hidden layers, ``s = v . x``.

    The score has no bias, which no comparison would see. All weights and biases are one vector
    theta: layer after layer ``W`` row by row and ``b``, then ``v``.

    Parameters
    ----------
    n_columns : int
    hidden : sequence of int
        Units of every hidden layer.
    activation : {"tanh", "relu"}
    """

    def __init__(self, n_columns: int, hidden: Sequence[int], activation: str = "tanh") -> None:
        self._widths, self.activation = [n_columns, *hidden], activation
        self._shapes = [(b, a) for a, b in zip(self._widths, self._widths[1:])]
        self.n_weights = sum(b * a + b for b, a in self._shapes) + self._widths[-1]

    def initial(self, random: np.random.Generator) -> Floats:
        """Draw weights whose sums keep the size of what they add; zeros without hidden layers."""
        if not self._shapes:
            return np.zeros(self.n_weights)
        parts = []
        for b, a in self._shapes:
            parts += [_normal(random, b * a) / np.sqrt(max(a, 1)), np.zeros(b)]
        parts.append(_normal(random, self._widths[-1]) / np.sqrt(self._widths[-1]))
        return np.concatenate(parts)

    def layers(self, theta: Floats) -> tuple[list[tuple[Floats, Floats]], Floats]:
        """Return W and b of every hidden layer, and v."""
        out, at = [], 0
        for b, a in self._shapes:
            out.append((theta[at : at + b * a].reshape(b, a), theta[at + b * a : at + b * a + b]))
            at += b * a + b
        return out, theta[at:]

    def scores(self, theta: Floats, inputs: Inputs) -> Floats:
        """Return the score of every row."""
        return self._forward(theta, inputs)[0]

    def _forward(self, theta: Floats, inputs: Inputs) -> tuple[Floats, list[Floats]]:
        """Return the scores, and what every hidden layer gives out."""
        layers, v = self.layers(theta)
        outs: list[Floats] = []
        for number, (weights, bias) in enumerate(layers):
            total = inputs.times(weights.T) if number == 0 else row_products(outs[-1], weights)
            outs.append(activated(total + bias, self.activation))
        scores = row_sums(outs[-1], v) if outs else inputs.times(v[:, None])[:, 0]
        return scores, outs

    def gradient(self, theta: Floats, inputs: Inputs, loss: Any) -> tuple[float, Floats]:
        """Return a loss of the scores and its gradient by theta.

        Parameters
        ----------
        loss : function of scores
            Returns the loss and its gradient by the scores, the lambda of every row, which is
            passed back through the net once.
        """
        scores, outs = self._forward(theta, inputs)
        value, by_score = loss(scores)
        layers, v = self.layers(theta)
        if not outs:
            return value, inputs.back(by_score[:, None])[:, 0]
        parts = [column_sums(outs[-1], by_score)]
        back = np.multiply.outer(by_score, v)
        for number in reversed(range(len(layers))):
            back = back * slope_of(outs[number], self.activation)
            below = inputs.back(back).T if number == 0 else matrix_product(back.T, outs[number - 1])
            parts[:0] = [below.ravel(), back.sum(axis=0)]
            if number:
                back = matrix_product(back, layers[number][0])
        return value, np.concatenate(parts)

    def slopes(self, theta: Floats, inputs: Inputs) -> Floats:
        """Return the root mean square slope of the score along every column."""
        layers, v = self.layers(theta)
        outs = self._forward(theta, inputs)[1]
        if not outs:
            return np.abs(v)
        back = np.broadcast_to(v, outs[-1].shape)
        for number in reversed(range(len(layers))):
            back = back * slope_of(outs[number], self.activation)
            back = matrix_product(back, layers[number][0])
        return np.asarray(np.sqrt(np.mean(back**2, axis=0)))


# --- RankNet's loss over pairs, as a function of the scores (Burges et al. 2005)
#
# A pair costs ``ln(1 + e^-(s_hi - s_lo))``; two rows of equal labels, if they count, cost
# ``ln(1 + e^-d) / 2 + ln(1 + e^d) / 2``, the cross entropy for a target of 1/2, which draws their
# scores together. The gradient by the scores is one number per row, RankNet's lambda. Every pair is
# visited and none is kept.


class MeanPairLoss:
    """The mean over pairs of rows with different labels, as a function of scores.

    Pairs of equal labels are added in the same unit: a row of weight 2 then has the effect of two
    rows, whose own pair costs the same wherever they score.

    Parameters
    ----------
    levels : Levels
        Rows by query and label.
    weight : array over the rows
    coefficient : array over the queries
        Factor on the pairs of each.
    ties : bool
        Whether pairs of equal labels count.
    threads : int

    Attributes
    ----------
    total : float
        Weight of all pairs of different labels.
    """

    def __init__(
        self, levels: Levels, weight: Floats, coefficient: Floats, ties: bool, threads: int
    ) -> None:
        factor = coefficient[levels.query_of_row()]
        mass = np.add.reduceat(weight, levels.level_start[:-1])
        of_query = np.add.reduceat(mass, levels.query_first[:-1])
        squares = np.add.reduceat(mass**2, levels.query_first[:-1])
        self.total = max(float((coefficient * (of_query**2 - squares)).sum()) / 2.0, 5e-324)
        self._sums = [(LogisticSums(levels, weight, np.zeros(0), threads), factor)]
        self._line = np.zeros(levels.n_rows)
        if ties:
            # Every level is a list of its own, in which each row is above those before it ...
            alone = Levels(np.arange(levels.n_rows + 1), levels.level_start)
            sums = LogisticSums(alone, weight, np.zeros(0), threads)
            self._sums.append((sums, factor))
            # ... and half of the difference on top makes its pairs the same in both directions.
            before = np.cumsum(weight) - weight
            start = before[levels.level_start[:-1]][levels.segment_of_row]
            level = mass[levels.segment_of_row]
            self._line = 0.5 * factor * weight * (2.0 * (before - start) + weight - level)

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the loss, and its gradient by the scores."""
        value, gradient = dot(self._line, scores), self._line.copy()
        for sums, factor in self._sums:
            won, lost, _, loss = sums.sums(scores, 0.0)
            value += float((factor * loss).sum())
            gradient += factor * (lost - won)
        return value / self.total, gradient / self.total


class Shuffled:
    """Minibatches: all queries in random order, some at a time; large ones in random parts.

    Parameters
    ----------
    rows : LabelledRows
    ties : bool
    threads : int
    batch_rows : int
        Rows of a minibatch, about; a query of more rows is divided at random into parts of at
        most so many, whose pairs stand for all.
    """

    def __init__(self, rows: LabelledRows, ties: bool, threads: int, batch_rows: int) -> None:
        self._rows, self._ties, self._threads = rows, ties, threads
        self._batch_rows = batch_rows
        self._weight = np.ones(len(rows.layout.rows)) if rows.weight is None else rows.weight

    def whole(self) -> MeanPairLoss:
        """Return the loss over all rows."""
        rows = self._rows
        return MeanPairLoss(rows.layout, self._weight, rows.coefficient, self._ties, self._threads)

    def epoch(self, random: np.random.Generator) -> list[tuple[Ints, MeanPairLoss]]:
        """Return the minibatches of an epoch: rows, ascending, and the loss over them."""
        starts, parts = self._rows.layout.row_start, []
        for q in random.permutation(len(starts) - 1).tolist():
            own = np.arange(starts[q], starts[q + 1])
            if len(own) > self._batch_rows:
                pieces = -(-len(own) // self._batch_rows)
                parts += [
                    (q, np.sort(one)) for one in np.array_split(random.permutation(own), pieces)
                ]
            else:
                parts.append((q, own))
        batches: list[list[tuple[int, Ints]]] = []
        group: list[tuple[int, Ints]] = []
        size = 0
        for part in parts:
            if group and size + len(part[1]) > self._batch_rows:
                batches.append(group)
                group, size = [], 0
            group.append(part)
            size += len(part[1])
        made = [self._batch(one) for one in [*batches, group]]
        return [one for one in made if one is not None]

    def _batch(self, parts: list[tuple[int, Ints]]) -> tuple[Ints, MeanPairLoss] | None:
        """Return the rows of parts of queries and their loss; None if they have no pair."""
        layout = self._rows.layout
        rows = np.concatenate([own for _, own in parts])
        segment = layout.segment_of_row[rows]
        part = np.repeat(np.arange(len(parts)), [len(own) for _, own in parts])
        change = np.ones(len(rows), bool)
        change[1:] = (segment[1:] != segment[:-1]) | (part[1:] != part[:-1])
        begin = np.flatnonzero(change)
        first = np.searchsorted(part[begin], np.arange(len(parts) + 1))
        if len(begin) == len(parts):  # (one level in every part)
            return None
        levels = Levels(np.append(begin, len(rows)), first)
        coefficient = self._rows.coefficient[np.array([q for q, _ in parts])]
        return rows, MeanPairLoss(
            levels, self._weight[rows], coefficient, self._ties, self._threads
        )


# --- Train a net: L-BFGS on all rows, or Adam on minibatches of queries


#: Called with theta and the objective (NaN where it is not known) after every iteration or epoch;
#: returns whether to stop.
AfterEpoch = Callable[[Floats, float], bool]

# Adam's averages of the gradient and of its square (Kingma & Ba 2015).
_FIRST, _SECOND, _SMALL = 0.9, 0.999, 1e-8


def _objective(
    network: Network, inputs: Inputs, loss: Callable[[Floats], tuple[float, Floats]], l2: float
) -> Callable[[Floats], tuple[float, Floats]]:
    def objective(theta: Floats) -> tuple[float, Floats]:
        value, gradient = network.gradient(theta, inputs, loss)
        return value + 0.5 * l2 * dot(theta, theta), gradient + l2 * theta

    return objective


def adam(
    gradient_of: Callable[[Floats, Ints, MeanPairLoss], Floats],
    theta: Floats,
    batches: Shuffled,
    max_iter: int,
    learning_rate: float,
    seed: int,
    after: AfterEpoch,
) -> tuple[Floats, int]:
    """Follow the gradients of minibatches, by steps that shrink to a tenth over all epochs.

    Returns theta and the number of epochs.
    """
    theta = theta.copy()
    mean, square = np.zeros_like(theta), np.zeros_like(theta)
    first_left, second_left, epochs = 1.0, 1.0, 0  # (what is left of the zeros they began with)
    for epoch in range(max_iter if len(theta) else 0):
        rate = learning_rate * power(0.1, epoch / max_iter)
        for rows, loss in batches.epoch(np.random.default_rng([seed, 1, epoch])):
            gradient = gradient_of(theta, rows, loss)
            first_left, second_left = first_left * _FIRST, second_left * _SECOND
            mean += (1.0 - _FIRST) * (gradient - mean)
            square += (1.0 - _SECOND) * (gradient**2 - square)
            scale = np.sqrt(square / (1.0 - second_left)) + _SMALL
            theta -= rate * mean / (1.0 - first_left) / scale
        epochs += 1
        if after(theta.copy(), float("nan")):
            break
    return theta, epochs


# --- RankNet, as a scikit-learn estimator


# L-BFGS visits all pairs in every iteration: up to so many.
_FEW_PAIRS = 2_000_000

_WIDTHS = Rule(
    ("a tuple of the numbers of units in each hidden layer, such as (16,), or () for none",),
    ("tuple of int",),
    lambda value: (
        isinstance(value, tuple | list | np.ndarray)
        and all(
            isinstance(n, int | np.integer) and not isinstance(n, bool) and n > 0 for n in value
        )
    ),
)


@with_parameters
class RankNet(EvaluatedRanker[FrozenModel]):
    """A small neural net that learns from pairs (Burges et al. 2005).

    The net scores each row by itself. It minimises ::

        mean over pairs of ln(1 + e^-(s_hi - s_lo))  +  (l2 / 2) |theta|^2

    with all weights and biases theta. The gradient of the first term by the scores is one number
    per row, summed over the pairs of its query, and passed back through the net once per row.
    Pairs are visited and never stored: O(pairs) per pass.

    Small problems are solved by L-BFGS on all rows; larger ones by Adam on minibatches of whole
    queries, of which the largest are divided at random.

    Attributes
    ----------
    model_ : NetRanker, or AdditiveRanker without hidden layers
    objective_ : float
        Loss and ridge on the training rows.
    slope_ : float
        Largest absolute entry of the objective's gradient: how far from a minimum it stopped.
    gap_ : float
        Without hidden layers, the objective is at most this far above its minimum; infinite for
        nets, whose minima are many, and for a ridge of 0.
    n_iter_ : int
        Iterations of L-BFGS, or epochs.
    history_ : dict of lists
        The objective, where the solver knows it, and values on the validation rows, after every
        iteration or epoch.
    best_iter_ : int
        The iteration that the model is of.

    Notes
    -----
    `LogisticRanker` minimises the same loss with stumps, in an additive model that can be read. A
    net finds what features do together.

    Features are standardised inside and cut off at the range that they had in training. Where a
    feature abstains it counts as its mean.

    Examples
    --------
    >>> import numpy as np
    >>> from crucial.rankers import RankNet
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [1.0, 2.0], [4.0, 0.0], [2.0, 3.0]])
    >>> ranker = RankNet((4,)).fit(X, [2, 1, 0, 1, 0], qid=["a", "a", "a", "b", "b"])
    >>> ranker.rank(X[:3], ["a"] * 3).tolist()
    [1, 2, 3]
    """

    _eval_names = ("validation", "validation_qid")

    hidden: Any = parameter(
        _WIDTHS,
        "Units in each hidden layer; () for a linear ranker.",
        default=(16,),
        kw_only=False,
        grid=((), (16,), (32, 16)),
    )
    l2: float = parameter(
        between(0, np.inf),
        "Ridge ``(l2 / 2) |theta|^2`` on all weights and biases, beside the mean loss of a pair.",
        default=0.01,
        kw_only=False,
        grid=(1e-3, 1e-2, 1e-1),
    )
    activation: str = parameter(
        one_of(*ACTIVATIONS), "What a hidden unit does with its sum.", default="tanh"
    )
    ties: bool = parameter(
        flag,
        "Whether two rows of equal labels count, with a target of 1/2: their scores are drawn "
        "together.",
        default=False,
    )
    solver: str = parameter(
        one_of("auto", "lbfgs", "adam"),
        'How to minimise: L-BFGS on all rows, or Adam on minibatches; "auto" takes L-BFGS up to '
        "2,000,000 pairs.",
        default="auto",
    )
    learning_rate: float = parameter(
        above(0), "Of Adam; it falls to a tenth over all epochs.", default=0.01
    )
    batch_rows: int = parameter(
        at_least(2),
        "Rows of a minibatch, about: whole queries, or random parts of one that is larger.",
        default=1024,
    )
    balance: str = BALANCE
    standardise: bool = parameter(
        flag, "Scale features to mean 0 and standard deviation 1, or to [0, 1].", default=True
    )
    tol: float = parameter(
        above(0), "L-BFGS ends where no entry of the gradient is larger.", default=1e-6
    )
    max_iter: int = parameter(at_least(1), "Iterations of L-BFGS or epochs at most.", default=200)
    early_stopping_rounds: int | None = parameter(
        text="Stop after so many iterations or epochs without a better value on the validation "
        "rows; predict uses the first best one.",
        default=None,
    )
    eval_metric: Measures | None = parameter(
        text="Measured on the validation rows after every iteration or epoch; the first decides "
        'which is best. Default: "ndcg@10" with queries, "auc" without or with labels below 0.',
        default=None,
    )
    validation_fraction: float = parameter(
        text="Share of whole queries held out for early stopping where no validation rows are "
        "given.",
        default=0.2,
    )
    random_state: RandomState = RANDOM_STATE

    @documented
    def fit(
        self,
        X: TableLike,
        y: VectorLike,
        *,
        qid: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
        query_weight: QueryWeight | None = None,
        validation: EvalSet | None = None,
        validation_qid: VectorLike | None = None,
    ) -> Self:
        """Learn from labels: within a query, a higher label should rank higher.

        Parameters
        ----------
        validation : (X, y), optional
            Rows to measure ``eval_metric`` on after every iteration or epoch.
        validation_qid : array, optional
            Their queries.
        """
        data = self._input(X, y, qid, sample_weight, query_weight)
        seed = self._seed()
        eval_rows = self._eval_rows(data, validation, validation_qid)
        watch, data = self._stopping(data, eval_rows, seed)
        raw, labels, queries = data.label_feedback(self.balance), data.known_labels, data.groups
        kept, mass = merged_rows(data.instances, raw.rows, labels, queries.codes, data.weight)
        if query_weight is not None and not isinstance(query_weight, Mapping):
            query_weight = np.asarray(query_weight)[kept]
        groups = Groups.from_qid(queries.ids[queries.codes[kept]], len(kept))
        merged = replace(
            data, labels=labels[kept], groups=groups, weight=mass, query_weight=query_weight
        )
        feedback = merged.label_feedback(self.balance)
        scaling: Scaling = "standard" if self.standardise else "unit"
        rows = kept[feedback.rows]
        design = Design.of(data.instances, rows, feedback.weight, scaling=scaling)
        columns = kernel_columns(design, scaling)
        if not columns:
            warn_caller("no feature distinguishes any rows; all scores are 0.", NoProgressWarning)
        inputs = _inputs(design, columns, self.standardise)
        hidden = [int(n) for n in self.hidden] if columns else []
        network = Network(len(columns), hidden, self.activation)
        seen = _Seen(network, columns, watch)
        theta, n_iter = self._solve(network, inputs, feedback, seed, seen.look)
        if watch is not None and watch.best_round:
            theta = seen.best
        self.n_iter_, self.history_ = max(1, n_iter), seen.history
        self.best_iter_ = n_iter if watch is None else watch.best_round
        figures = {"objective": self.objective_, "slope": self.slope_, "iterations": n_iter}
        summary = self._summary(figures, raw, data.with_qid)
        names, n_features = data.instances.names, data.instances.n_features
        layers, output = network.layers(theta)
        model: FrozenModel
        if layers:
            made = [Layer(weights, bias) for weights, bias in layers]
            slopes = network.slopes(theta, inputs)
            model = NetRanker(
                n_features, columns, made, output, slopes, self.activation, names, summary
            )
        else:
            model = AdditiveRanker(
                n_features, design.rankers, output * design.scale, names, summary
            )
        self._set_model(model, data.with_qid)
        return self

    def _solve(
        self,
        network: Network,
        inputs: Inputs,
        feedback: LabelFeedback,
        seed: int,
        after: AfterEpoch,
    ) -> tuple[Floats, int]:
        """Return the weights of the net and the number of steps; set how far the solver came."""
        theta = network.initial(np.random.default_rng([seed, 0]))
        threads = count_threads(self.n_jobs)
        batches = Shuffled(feedback.labelled(), self.ties, threads, self.batch_rows)
        objective = _objective(network, inputs, batches.whole(), self.l2)
        few = feedback.n_pairs <= _FEW_PAIRS
        if self.solver == "lbfgs" or (self.solver == "auto" and few):
            theta, n_iter = quasi_newton(objective, theta, self.tol, self.max_iter, after)
        else:

            def gradient_of(theta: Floats, rows: Ints, loss: MeanPairLoss) -> Floats:
                return _objective(network, inputs.take(rows), loss, self.l2)(theta)[1]

            limits = (self.max_iter, self.learning_rate, seed)
            theta, n_iter = adam(gradient_of, theta, batches, *limits, after)
        self.objective_, slope = objective(theta)
        self.slope_ = float(np.abs(slope).max(initial=0.0))
        convex = not len(self.hidden) and self.l2 > 0
        with np.errstate(over="ignore"):
            self.gap_ = dot(slope, slope) / (2.0 * self.l2) if convex else np.inf
        if convex and n_iter >= self.max_iter and self.slope_ > self.tol:
            warn_caller(
                f"{n_iter} iterations left a slope of {self.slope_:.2g}; raise max_iter, l2 or "
                "tol.",
                ConvergenceWarning,
            )
        return theta, n_iter


class _Seen:
    """Follows the eval set while a net is trained."""

    def __init__(self, network: Network, columns: Sequence[Column], watch: Watch | None) -> None:
        self._network, self._watch = network, watch
        self.history: dict[str, list[float]] = {"objective": []}
        self.best = np.zeros(0)
        if watch is not None:
            self._inputs = Inputs(scaled_columns(columns, watch.instances))

    def look(self, theta: Floats, objective: float) -> bool:
        """Measure the eval set; return whether to stop."""
        self.history["objective"].append(objective)
        if self._watch is None:
            return False
        self._watch.scores[:] = self._network.scores(theta, self._inputs)
        before = self._watch.best_round
        for name, value in self._watch.look().items():
            self.history.setdefault(name, []).append(value)
        if self._watch.best_round != before:
            self.best = theta.copy()
        return self._watch.done


def _inputs(design: Design, columns: Sequence[Column], standard: bool) -> Inputs:
    """Return the training rows; a sparse matrix has standard columns that were not moved."""
    if isinstance(design.matrix, np.ndarray) or not standard:
        return Inputs(design.matrix)
    moved = []
    for column in columns:
        low, high, unit = column.ranker.low, column.ranker.high, column.ranker.unit
        moved.append(column.offset - column.scale * (low * unit / (high * unit - low * unit)))
    return Inputs(design.matrix, np.array(moved))
