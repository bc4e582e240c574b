"""RankNet, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from crucial.boosting.watch import Watch
from crucial.data.groups import Groups
from crucial.errors import NoProgressWarning
from crucial.estimators.base import Ranker, RankingInput
from crucial.estimators.eval_set import EarlyStopping, EvalSet
from crucial.estimators.shared import RandomState, Seeded
from crucial.estimators.warn import warn_caller
from crucial.feedback.labels import LabelFeedback, QueryWeight
from crucial.kernels.elementary import dot
from crucial.kernels.runtime import count_threads
from crucial.linear.design import Design
from crucial.measures.names import Measures
from crucial.model.additive import AdditiveRanker
from crucial.model.base import FrozenModel
from crucial.model.kernel import Column, scaled_columns
from crucial.model.net import ACTIVATIONS, Layer, NetRanker
from crucial.model.weak import ScaledFeature
from crucial.nets.canonical import merged_rows
from crucial.nets.network import Inputs, Network
from crucial.nets.pair_loss import Shuffled
from crucial.nets.training import AfterEpoch, Trained, adam, lbfgs
from crucial.parameters import (
    Rule,
    above,
    at_least,
    between,
    flag,
    none_or,
    one_of,
    parameter,
    with_parameters,
)
from crucial.types import Floats, TableLike, VectorLike

__all__ = ["RankNet"]

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
class RankNet(EarlyStopping, Seeded, Ranker[FrozenModel]):
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
    >>> from crucial import RankNet
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
    balance: str = parameter(
        one_of("pairs", "queries"),
        "Whether all pairs weigh the same, or all queries do.",
        default="pairs",
        grid=("pairs", "queries"),
    )
    standardise: bool = parameter(
        flag, "Scale features to mean 0 and standard deviation 1, or to [0, 1].", default=True
    )
    tol: float = parameter(
        above(0), "L-BFGS ends where no entry of the gradient is larger.", default=1e-6
    )
    max_iter: int = parameter(at_least(1), "Iterations of L-BFGS or epochs at most.", default=200)
    early_stopping_rounds: int | None = parameter(
        none_or(at_least(1)),
        "Stop after so many iterations or epochs without a better value on the validation rows; "
        "predict uses the first best one.",
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
    random_state: RandomState = parameter(
        text="Seeds the weights at the start, the minibatches and validation_fraction.", default=0
    )

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
        X : array, sparse matrix or frame of shape (n_rows, n_features)
            NaN: the feature abstains.
        y : array of shape (n_rows,)
            Labels.
        qid : array of shape (n_rows,), optional
            Query of every row, of any type, in any order. Without, all rows are one list.
        sample_weight : array of shape (n_rows,), optional
            A row of weight 2 counts as two rows, of weight 0 as none.
        query_weight : array of shape (n_rows,) or mapping from query id, optional
            Factor on the pairs of a query.
        validation : (X, y), optional
            Rows to measure ``eval_metric`` on after every iteration or epoch.
        validation_qid : array, optional
            Their queries.
        """
        data = self._input(X, y, qid, sample_weight, query_weight)
        seed = self._seed()
        watch, weight = self._stopping(data, query_weight, validation, validation_qid, seed)
        given = LabelFeedback(
            data.known_labels,
            data.groups,
            weight=weight,
            balance=self.balance,
            query_weight=query_weight,
        )
        merged = merged_rows(
            data.instances, given.rows, data.known_labels, data.groups.codes, weight
        )
        if query_weight is not None and not isinstance(query_weight, Mapping):
            query_weight = np.asarray(query_weight)[merged.rows]
        feedback = LabelFeedback(
            data.known_labels[merged.rows],
            Groups.from_qid(data.groups.ids[data.groups.codes[merged.rows]], len(merged.rows)),
            weight=merged.weight,
            balance=self.balance,
            query_weight=query_weight,
        )
        rows = merged.rows[feedback.rows]
        design = Design.of(
            data.instances, rows, feedback.weight, abstentions="mean", standard=self.standardise
        )
        self._train(data, given, feedback, design, watch, seed)
        return self

    def _train(
        self,
        data: RankingInput,
        given: LabelFeedback,
        feedback: LabelFeedback,
        design: Design,
        watch: Watch | None,
        seed: int,
    ) -> None:
        """Find the weights of the net, and set the fitted attributes."""
        columns = _columns(design, self.standardise)
        if not columns:
            warn_caller("no feature distinguishes any rows; all scores are 0.", NoProgressWarning)
        inputs = _inputs(design, columns, self.standardise)
        hidden = [int(n) for n in self.hidden] if columns else []
        network = Network(len(columns), hidden, self.activation)
        theta = network.initial(np.random.default_rng([seed, 0]))
        batches = Shuffled(
            feedback.labelled(), self.ties, count_threads(self.n_jobs), self.batch_rows
        )
        seen = _Seen(network, columns, watch)
        found = self._solve(network, theta, inputs, batches, feedback.n_pairs, seed, seen.look)
        kept = found.theta if watch is None or not watch.best_round else seen.best
        self.n_iter_, self.history_ = max(1, found.n_iter), seen.history
        self.best_iter_ = found.n_iter if watch is None else watch.best_round
        self._report(found)
        figures = {"objective": self.objective_, "slope": self.slope_, "iterations": found.n_iter}
        summary = self._summary(figures, given, data.with_qid)
        names, n_features = data.instances.names, data.instances.n_features
        layers, output = network.layers(kept)
        model: FrozenModel
        if layers:
            made = [Layer(weights, bias) for weights, bias in layers]
            slopes = network.slopes(kept, inputs)
            model = NetRanker(
                n_features, columns, made, output, slopes, self.activation, names, summary
            )
        else:
            model = AdditiveRanker(
                n_features, design.rankers, output * design.scale, names, summary
            )
        self._set_model(model, data.with_qid)

    def _solve(
        self,
        network: Network,
        theta: Floats,
        inputs: Inputs,
        batches: Shuffled,
        n_pairs: int,
        seed: int,
        after: AfterEpoch,
    ) -> Trained:
        if self.solver == "lbfgs" or (self.solver == "auto" and n_pairs <= _FEW_PAIRS):
            rules = (self.l2, self.tol, self.max_iter, after)
            return lbfgs(network, theta, inputs, batches, *rules)
        rate = self.learning_rate
        return adam(network, theta, inputs, batches, self.l2, self.max_iter, rate, seed, after)

    def _report(self, found: Trained) -> None:
        """Set how far the solver came, and warn if L-BFGS did not finish."""
        self.objective_ = found.value
        self.slope_ = float(np.abs(found.slope).max(initial=0.0))
        convex = not len(self.hidden) and self.l2 > 0
        with np.errstate(over="ignore"):
            squares = dot(found.slope, found.slope)
        self.gap_ = squares / (2.0 * self.l2) if convex else np.inf
        if convex and found.n_iter >= self.max_iter and self.slope_ > self.tol:
            warn_caller(
                f"{found.n_iter} iterations left a slope of {self.slope_:.2g}; raise max_iter, l2 "
                "or tol.",
                ConvergenceWarning,
            )


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


def _columns(design: Design, standard: bool) -> tuple[Column, ...]:
    """Return the inputs of the net: features of mean 0 and spread 1, or in [0, 1]."""
    out = []
    for ranker, scale in zip(design.rankers, design.scale.tolist(), strict=True):
        assert isinstance(ranker, ScaledFeature)
        out.append(Column(ranker, scale, -ranker.default * scale if standard else 0.0))
    return tuple(out)


def _inputs(design: Design, columns: Sequence[Column], standard: bool) -> Inputs:
    """Return the training rows; a sparse matrix has standard columns that were not moved."""
    if isinstance(design.matrix, np.ndarray) or not standard:
        return Inputs(design.matrix)
    moved = []
    for column in columns:
        low, high, unit = column.ranker.low, column.ranker.high, column.ranker.unit
        moved.append(column.offset - column.scale * (low * unit / (high * unit - low * unit)))
    return Inputs(design.matrix, np.array(moved))
