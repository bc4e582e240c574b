"""Base classes of rankers that are made round by round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Self, TypeVar

from sklearn.utils.validation import check_is_fitted

from crucial.boosting.trace import Trace
from crucial.estimators.base import Ranker, RankingInput
from crucial.estimators.eval_set import EvalSet, Evaluated
from crucial.feedback.base import Feedback
from crucial.feedback.labels import QueryWeight
from crucial.model.base import RoundsModel
from crucial.parameters import with_parameters
from crucial.types import Floats, TableLike, VectorLike

__all__ = ["EvaluatedRanker", "StagedRanker"]

StagedModel = TypeVar("StagedModel", bound=RoundsModel)


@with_parameters
class StagedRanker(Ranker[StagedModel]):
    """Base of rankers that are made round by round; ``fit`` ends with `_set_ensemble`."""

    def _set_ensemble(self, ensemble: StagedModel, n_rounds: int, with_qid: bool) -> None:
        """Keep all rounds as the ensemble, and the first ``n_rounds`` as the model."""
        self.ensemble_: StagedModel = self._with_columns(ensemble)
        whole = n_rounds == ensemble.n_rounds
        self._set_model(ensemble if whole else ensemble.truncate(n_rounds), with_qid)

    def staged_predict(self, X: TableLike, qid: VectorLike | None = None) -> Iterator[Floats]:
        """Yield the scores after every round, all rounds included; arguments as in `predict`."""
        check_is_fitted(self, "model_")
        instances = self._table(X)
        groups = self._queries(self.ensemble_, qid, instances.n_rows)
        return self.ensemble_.staged_predict(instances, groups)

    def truncate(self, n_rounds: int) -> StagedModel:
        """Return the ranker as it was after ``n_rounds`` rounds."""
        check_is_fitted(self, "model_")
        return self.ensemble_.truncate(n_rounds)


@with_parameters
class EvaluatedRanker(Evaluated, StagedRanker[StagedModel]):
    """Base of rankers whose number of rounds an eval set may choose, fitted by `_fit`.

    Attributes
    ----------
    trace_ : Trace
        What happened in every round.
    best_round_ : int
        Rounds in ``model_``.
    """

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
        """Learn from labels: within a query, a higher label should rank higher.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
            NaN: the feature abstains. Absent entries of sparse input are 0.
        y : array of shape (n_rows,)
            Labels: two values, grades, real numbers, or a strict order.
        qid : array of shape (n_rows,), optional
            Query of every row, of any type, in any order. Without, all rows are compared.
        sample_weight : array of shape (n_rows,), optional
            A row of weight 2 counts as two rows, of weight 0 as none.
        query_weight : array of shape (n_rows,) or mapping from query id, optional
            Factor on all pairs of a query.
        eval_set : (X, y), optional
            Rows to measure ``eval_metric`` on after every round.
        eval_qid : array, optional
            Queries of the eval set.
        """
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
