"""Measure a model on labelled rows."""

from __future__ import annotations

from crucial.data.dataset import Dataset
from crucial.data.groups import Groups
from crucial.errors import DataError
from crucial.measures.base import default_measure
from crucial.measures.evaluation import Evaluation, evaluate
from crucial.measures.names import Measures
from crucial.model.file import Model
from crucial.types import VectorLike

__all__ = ["evaluate_model"]


def evaluate_model(
    model: Model,
    data: Dataset,
    measures: Measures | None = None,
    *,
    sample_weight: VectorLike | None = None,
    ties: str = "expected",
    empty: str | int = "skip",
    intervals: bool | float = False,
    resamples: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Evaluation:
    """Measure how well a model ranks the rows of a dataset.

    Parameters
    ----------
    model : Model
    data : Dataset
        Rows with labels; without query ids all of them are one query.
    measures : str, Measure, or several of them, optional
        Default: ndcg@10, or auc without queries or with labels below 0.
    sample_weight, ties, empty, intervals, resamples, random_state
        As in `crucial.evaluate`.
    n_jobs : int, optional
        Number of threads.

    Raises
    ------
    DataError
        The rows have no labels.
    """
    if data.y is None:
        raise DataError("the rows have no labels to measure by.")
    groups = Groups.from_qid(data.qid, data.n_rows)
    return evaluate(
        data.y,
        model.predict(data.instances(), groups, n_jobs=n_jobs),
        groups,
        measures or default_measure(data.y, data.qid is not None),
        ids=data.item,
        sample_weight=sample_weight,
        ties=ties,
        empty=empty,
        intervals=intervals,
        resamples=resamples,
        random_state=random_state,
    )
