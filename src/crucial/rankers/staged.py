"""Base of the rankers that are made round by round, and of those that an eval set may stop."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from crucial.boosting.loop import Callback, Trace
from crucial.boosting.watch import Watch
from crucial.data.groups import Groups
from crucial.data.instances import Instances
from crucial.errors import DataError, ParameterError, about
from crucial.feedback.base import Feedback
from crucial.feedback.labels import QueryWeight, check_labels, weighing_rows
from crucial.measures.names import Measures, default_measure, get_measures
from crucial.model.base import RoundsModel
from crucial.parameters import (
    Rule,
    anything,
    at_least,
    between,
    none_or,
    parameter,
    with_parameters,
)
from crucial.rankers.base import VERBOSE, Model, Ranker, RankingInput, documented
from crucial.types import Bools, Floats, Ints, TableLike, VectorLike

# --- Rows to measure while learning: an eval set, or rows of the training set held out


#: Seeds the queries held out, beside the seed of the fit.
HELD_OUT = 20031


#: What ``eval_set`` takes: rows and labels, or a list with one such pair.
EvalSet: TypeAlias = tuple[TableLike, VectorLike] | list[tuple[TableLike, VectorLike]]


@dataclass(frozen=True)
class EvalRows:
    """Checked rows to measure a ranker on.

    Attributes
    ----------
    instances : Instances
    labels : array of shape (n_rows,)
    groups : Groups
    measure : str
        Measured where ``eval_metric`` is None.
    """

    instances: Instances
    labels: Floats
    groups: Groups
    measure: str


@with_parameters
class EvaluatedRanker(Ranker[Model]):
    """Base of rankers that measure an eval set while they learn, and may stop by it."""

    #: What ``fit`` calls the eval set and its queries, for messages.
    _eval_names: ClassVar[tuple[str, str]] = ("eval_set", "eval_qid")
    #: What ``eval_metric`` may name beside the measures.
    _own_metrics: ClassVar[tuple[str, ...]] = ()

    eval_metric: Measures | None = parameter(
        anything("str, Measure or list of them"),
        "Measured on the eval set after every round; the first decides which round is best. "
        'Default: "ndcg@10" with queries, "auc" without or with labels below 0.',
        default=None,
    )
    early_stopping_rounds: int | None = parameter(
        none_or(at_least(1)),
        "Stop after so many rounds without a better value on the eval set; predict uses the "
        "first best round, or a later one within ``stopping_tolerance``.",
        default=None,
    )
    stopping_tolerance: float = parameter(
        between(0, math.inf),
        "A later round takes the place of the best one as long as it is worse by less than so many "
        "standard errors of the difference, query by query: with few queries in the eval set, "
        "the first best round is a matter of luck.",
        default=0.0,
    )
    validation_fraction: float = parameter(
        between(0, 0.9, low_open=True),
        "Share of whole queries held out for early stopping where no eval set is given. Rows and "
        "queries of weight 0 are neither held out nor measured; other weights do not count in the "
        "measures.",
        default=0.2,
    )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        named = self.eval_metric
        if named is None:
            return
        wanted: list[Any] = list(named) if isinstance(named, list | tuple) else [named]
        # (arrays and pandas' NA cannot be compared with a name)
        own = self._own_metrics
        others = [one for one in wanted if not (isinstance(one, str) and one in own)]
        if others or not wanted:
            try:
                get_measures(others, required=True)
            except ParameterError as error:
                raise ParameterError(
                    f"eval_metric of {type(self).__name__}: {error}",
                    parameter="eval_metric",
                    value=self.eval_metric,
                ) from error

    def _eval_rows(
        self, data: RankingInput, eval_set: EvalSet | None, eval_qid: VectorLike | None
    ) -> EvalRows | None:
        """Check the eval set, if there is one."""
        name, queries = self._eval_names
        if eval_set is None:
            if eval_qid is not None:
                raise DataError(f"{queries} was given without {name}.")
            return None
        X, y = _pair(eval_set, name, queries)
        with about(name):
            instances = self._encoded(self._checked_table(X))
            labels = check_labels(y, instances.n_rows)
        if (eval_qid is not None) != data.with_qid and data.labels is not None:
            has, lacks = ("qid", queries) if eval_qid is None else (queries, "qid")
            raise DataError(f"{has} was given without {lacks}: both or neither are needed.")
        groups = _eval_groups(eval_qid, instances.n_rows, queries)
        return EvalRows(instances, labels, groups, default_measure(labels, eval_qid is not None))

    def _watch(self, rows: EvalRows, patience: int | None = None) -> Watch:
        """Prepare ``eval_metric`` on an eval set.

        Parameters
        ----------
        rows : EvalRows
        patience : int or None
            Rounds without a new best value before stopping.
        """
        measures = self._prepared(rows, self.eval_metric)
        return Watch(rows.instances, rows.groups, measures, patience, self.stopping_tolerance)

    def _prepared(
        self, rows: EvalRows, metric: Measures | None
    ) -> list[tuple[str, Callable[[Floats], float], bool]]:
        """Return measures of an eval set: name, function of scores, whether more is better."""
        if metric is None:
            metric = rows.measure
        measures: list[tuple[str, Callable[[Floats], float], bool]] = [
            (m.name, m.prepare(rows.labels, rows.groups), m.higher_is_better)
            for m in get_measures(metric, required=True)
        ]
        for name, prepared, _ in measures:
            if not np.isfinite(prepared(np.zeros(len(rows.labels)))):
                raise DataError(
                    f"{self._eval_names[0]}: {name} has no value on it, since no query has a "
                    "relevant row (or a pair of different labels).",
                    parameter=self._eval_names[0],
                )
        return measures

    def _stopping(
        self,
        data: RankingInput,
        query_weight: QueryWeight | None,
        eval_set: EvalSet | None,
        eval_qid: VectorLike | None,
        seed: int,
    ) -> tuple[Watch | None, Floats | None]:
        """Return what to watch, and the weights of rows, 0 for those held out to be watched."""
        rows, patience = self._eval_rows(data, eval_set, eval_qid), self.early_stopping_rounds
        if rows is not None:
            return self._watch(rows, patience), data.weight
        if patience is None:
            return None, data.weight
        self._check_judge(data)
        weighing = weighing_rows(data.weight, query_weight, data.groups)
        held = _held_out(data, weighing, self.validation_fraction, seed, self._eval_names[0])
        weight = np.ones(data.instances.n_rows) if data.weight is None else data.weight.copy()
        weight[held] = 0.0
        return self._watch(take_rows(data, held, measure_of(data, weighing)), patience), weight

    def _check_judge(self, data: RankingInput) -> None:
        """Refuse to set rows of several judges aside."""
        if data.judge_weight is not None:
            raise DataError(
                "early_stopping_rounds with several judges needs eval_set=(X, y): rows that are "
                "set aside would have several labels each."
            )


def _pair(eval_set: EvalSet, name: str, queries: str) -> tuple[TableLike, VectorLike]:
    """Return (X, y), also where it comes in a list of one, as other libraries take it."""
    pair: Any = eval_set
    if isinstance(pair, list) and len(pair) == 1:
        pair = pair[0]
    if isinstance(pair, list) and any(isinstance(one, tuple) for one in pair):
        raise DataError(f"there can be one eval set, a pair (X, y). Got {len(pair)}.")
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise DataError(
            f"{name} must be a pair (X, y); its queries go to {queries}.", parameter=name
        )
    return pair[0], pair[1]


def _eval_groups(eval_qid: VectorLike | None, n_rows: int, name: str) -> Groups:
    """Return the queries of an eval set; they too may come in a list of one."""
    if isinstance(eval_qid, list) and len(eval_qid) == 1 and np.ndim(eval_qid[0]) == 1:
        eval_qid = eval_qid[0]
    return Groups.from_qid(eval_qid, n_rows, name)


def measure_of(data: RankingInput, weighing: Bools | None) -> str:
    """Return the default measure of all parts of the training set, by the rows that weigh."""
    y = data.known_labels
    return default_measure(y if weighing is None else y[weighing], data.with_qid)


def take_rows(data: RankingInput, rows: Ints, measure: str) -> EvalRows:
    """Return some rows of the training set as an eval set."""
    part = Instances(data.instances.take_rows(rows).table)
    groups = Groups.from_qid(data.groups.codes[rows], len(rows))
    return EvalRows(part, data.known_labels[rows], groups, measure)


def n_held_out(fraction: float, n_queries: int) -> int:
    """Return how many of at least two queries to hold out."""
    return min(n_queries - 1, max(1, round(fraction * n_queries)))


def _held_out(
    data: RankingInput, weighing: Bools | None, fraction: float, seed: int, name: str
) -> Ints:
    """Choose the training rows to hold out: whole queries, or without qid rows of every label.

    Parameters
    ----------
    weighing : bool array over the rows, or None
        Which rows weigh more than 0; None for all. The others are as good as absent.
    name : str
        What ``fit`` calls the eval set.
    """
    groups, y, rows = data.groups, data.known_labels, np.arange(data.groups.n_rows)
    what = "rows" if weighing is None else "rows of positive weight"
    if weighing is not None:
        rows = np.flatnonzero(weighing)
        groups, y = Groups.from_qid(groups.codes[rows], len(rows)), y[rows]
    random = np.random.default_rng([seed, HELD_OUT])
    held = np.zeros(groups.n_rows, bool)
    if data.with_qid:
        if groups.n_groups < 2:
            raise DataError(
                f"early_stopping_rounds needs rows to judge by, and all {what} are of one query: "
                f"pass {name}=(X, y), or set early_stopping_rounds=None."
            )
        count = n_held_out(fraction, groups.n_groups)
        for g in random.permutation(groups.n_groups)[:count]:
            held[groups.order[groups.starts[g] : groups.starts[g + 1]]] = True
    else:
        # Sorted by label with random order inside: every k-th row takes from each label.
        order = np.lexsort((random.random(len(y)), y))
        count = max(2, round(fraction * len(y)))
        if count >= len(y) - 1:
            raise DataError(
                f"early_stopping_rounds needs rows to judge by, and {len(y)} {what} are too few to "
                f"set some aside: pass {name}=(X, y), or set early_stopping_rounds=None."
            )
        held[order[np.linspace(0, len(y) - 1, count).astype(np.int64)]] = True
    return rows[held]


# --- Base of rankers that are made round by round


_CALLBACKS = Rule(
    ("a function", "a list of functions"),
    ("callable", "list of them"),
    lambda value: (
        callable(value) or (isinstance(value, list | tuple) and all(callable(one) for one in value))
    ),
)
StagedModel = TypeVar("StagedModel", bound=RoundsModel)


@with_parameters
class RoundRanker(EvaluatedRanker[StagedModel]):
    """Base of rankers that are made round by round; ``_fit`` ends with `_set_ensemble`.

    Attributes
    ----------
    trace_ : Trace
        What happened in every round.
    best_round_ : int
        Rounds in ``model_``.
    """

    verbose: int = VERBOSE
    callbacks: Callback | Sequence[Callback] | None = parameter(
        none_or(_CALLBACKS),
        "Called after every round with a `crucial.boosting.loop.FinishedRound`: number, loss, "
        "measures on the eval set, trace. The training ends after a round for which one returns "
        "True. With validation_folds, only the run on all data is followed.",
        default=None,
        shapes_model=False,
    )

    def _set_ensemble(self, ensemble: StagedModel, n_rounds: int, with_qid: bool) -> None:
        """Keep all rounds as the ensemble, and the first ``n_rounds`` as the model."""
        self.ensemble_: StagedModel = self._with_columns(ensemble)
        complete = n_rounds == ensemble.n_rounds
        self._set_model(ensemble if complete else ensemble.truncate(n_rounds), with_qid)

    def staged_predict(self, X: TableLike, qid: VectorLike | None = None) -> Iterator[Floats]:
        """Yield the scores after every round, all rounds included; arguments as in `predict`."""
        check_is_fitted(self, "model_")
        instances = self._table(X)
        return self.ensemble_.staged_predict(instances, self._queries(qid, instances.n_rows))

    def truncate(self, n_rounds: int) -> StagedModel:
        """Return the ranker as it was after ``n_rounds`` rounds."""
        check_is_fitted(self, "model_")
        return self.ensemble_.truncate(n_rounds)

    @documented
    def fit(
        self,
        X: TableLike,
        y: VectorLike,
        *,
        qid: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
        query_weight: QueryWeight | None = None,
        eval_set: EvalSet | None = None,
        eval_qid: VectorLike | None = None,
    ) -> Self:
        """Learn from labels: within a query, a higher label should rank higher."""
        data = self._input(X, y, qid, sample_weight, query_weight)
        return self._fit(data, query_weight, eval_set, eval_qid)

    def _fit(
        self,
        data: RankingInput,
        query_weight: QueryWeight | None,
        eval_set: EvalSet | None,
        eval_qid: VectorLike | None,
    ) -> Self:
        """Learn from checked input."""
        raise NotImplementedError

    def _set_trace(
        self,
        trace: Trace,
        best_round: int,
        figures: Mapping[str, object],
        feedback: Feedback,
        with_qid: bool,
        bound: Mapping[str, object] | None = None,
    ) -> dict[str, object]:
        """Keep the trace and the best round, and return the training summary.

        Parameters
        ----------
        trace, best_round
            As the attributes.
        figures, bound
            Further entries of the summary.
        """
        self.trace_, self.best_round_ = trace, best_round
        rounds = {
            "rounds": len(trace),
            "best_round": best_round,
            "stopped": trace.stopped or "all rounds done",
            "log_loss": trace[-1].log_loss if len(trace) else 0.0,
        }
        summary = self._summary(rounds | dict(figures), feedback, with_qid)
        if bound is not None:
            summary["bound"] = bound
        if best_round and trace[best_round - 1].measures:
            summary["eval"] = dict(trace[best_round - 1].measures)
        return summary
