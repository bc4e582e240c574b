"""One number for how well scores agree with labels, higher is better."""

from __future__ import annotations

from crucial.data.groups import Groups
from crucial.feedback.labels import LabelFeedback, check_labels, check_weights
from crucial.measures.names import MeasureLike, get_measure
from crucial.types import Floats, VectorLike

__all__ = ["agreement_score"]


def agreement_score(
    scores: Floats,
    y: VectorLike,
    qid: VectorLike | None = None,
    sample_weight: VectorLike | None = None,
    measure: MeasureLike | None = None,
) -> float:
    """Return a measure of scores, losses negated, so that higher is better.

    Parameters
    ----------
    scores : array of shape (n_rows,)
    y, qid, sample_weight : labels, queries and weights of the rows
    measure : str, Measure or callable, optional
        Default: 1 - R2, the share of pairs in the right order, ties counted half, averaged over
        queries (the AUC for two labels).

    Examples
    --------
    >>> import numpy as np
    >>> agreement_score(np.array([3.0, 2.0, 1.0]), [1, 0, 1])
    0.5
    """
    labels = check_labels(y, len(scores))
    groups = Groups.from_qid(qid, len(scores))
    weights = check_weights(sample_weight, len(scores))
    if measure is None:
        feedback = LabelFeedback(labels, groups, weight=weights, balance="queries")
        return 1.0 - feedback.r2(scores)
    chosen = get_measure(measure)
    value = float(chosen.prepare(labels, groups, sample_weight=weights)(scores))
    return value if chosen.higher_is_better else -value
