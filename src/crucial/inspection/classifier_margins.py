"""Margins of classification: how confidently rows are on the right side of zero."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from crucial.data.groups import Groups
from crucial.errors import DataError, NotRankedError
from crucial.feedback.labels import check_labels, check_weights
from crucial.feedback.layout import shares_at_most
from crucial.feedback.pairs import PairFeedback
from crucial.inspection.pair_margins import Margins
from crucial.inspection.parts import model_of
from crucial.kernels.runtime import count_threads
from crucial.model.additive import AdditiveRanker
from crucial.model.base import checked_rows
from crucial.model.weak import Constant, Presence, Stump, Tree, Vote
from crucial.parameters import at_least, check
from crucial.rankers.classifiers import RankingClassifier
from crucial.types import TableLike, VectorLike

__all__ = ["class_margins"]


def class_margins(
    classifier: object,
    X: TableLike,
    y: VectorLike,
    *,
    sample_weight: VectorLike | None = None,
    resolution: int = 101,
    n_jobs: int | None = None,
) -> Margins:
    """Return the margins of rows of two classes (Rudin & Schapire 2009, section 2).

    The margin of a row is ``y_i H(x_i) / |lambda|_1`` with ``y_i`` in {-1, 1}: in [-1, 1], and
    above 0 for a row on the right side. H is a sum of votes of -1 and 1 and of the constant 1;
    a stump of 0 and 1 is half a vote and half a constant, a tree a vote of its largest absolute
    value. ``|lambda|_1`` is the sum of their absolute weights, after adding those of the same vote.

    Parameters
    ----------
    classifier : fitted AdaBoostRanker, AdditiveRanker, or what ``to_classifier()`` returns
        Of a ``RankingClassifier`` the intercept is part of the constant.
    X : array, sparse matrix, frame or Instances of shape (n_rows, n_features)
    y : array of shape (n_rows,)
        Labels of two values; the higher one is the good class.
    sample_weight : array of shape (n_rows,), optional
    resolution : int
        Points of the curve.
    n_jobs : int, optional
        Threads; None is all cores.

    Returns
    -------
    Margins
        Its ``n_pairs`` is the number of rows: each is compared with zero.

    Examples
    --------
    >>> from crucial import AdaBoostRanker
    >>> X = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    >>> booster = AdaBoostRanker(400, 1.0, step="smooth").fit(X, [1, 1, 1, 0])
    >>> round(class_margins(booster, X, [1, 1, 1, 0]).minimum, 2)
    0.33
    """
    check("class_margins", "resolution", resolution, at_least(2))
    intercept = 0.0
    if isinstance(classifier, RankingClassifier):
        check_is_fitted(classifier, "ranker_")
        intercept, classifier = float(classifier.intercept_), classifier.ranker_
    model = model_of(classifier)
    if not isinstance(model, AdditiveRanker):
        raise NotRankedError(
            "margins are measured against the weights of an additive ranker, and "
            f"{type(classifier).__name__} has none."
        )
    norm = _class_norm(model, intercept)
    instances = checked_rows(model, X)
    n = instances.n_rows
    labels = check_labels(y, n)
    values = np.unique(labels)
    if len(values) != 2:
        raise DataError(
            f"class_margins needs labels of two values, and y has {len(values)}. For grades, or "
            "within queries, use margins()."
        )
    scores = model.predict(instances, Groups.single(n), n_jobs=n_jobs) + intercept
    # A row n of score 0: good rows should be above it, bad ones below.
    good = labels == values[1]
    rows = np.arange(n)
    pairs = np.stack((np.where(good, rows, n), np.where(good, n, rows)), axis=1)
    weight = check_weights(sample_weight, n)
    feedback = PairFeedback(pairs, n + 1, weight=weight)
    scaled = np.append(scores, 0.0)[feedback.rows] / norm
    counts = feedback.margin_counts(scaled, count_threads(n_jobs))
    thresholds = np.linspace(counts.minimum, counts.maximum, resolution)
    thresholds[-1] = counts.maximum
    curve = thresholds, shares_at_most(counts, thresholds)
    return Margins(counts.minimum, counts.maximum, curve, feedback.n_pairs, norm, counts)


def _class_norm(model: AdditiveRanker, intercept: float) -> float:
    """Return the sum of the absolute weights of distinct votes, and of the constant."""
    total: dict[object, float] = {}
    constant = intercept
    for ranker, weight in zip(model.rankers, model.weights, strict=True):
        if isinstance(ranker, Constant):
            constant += weight
        elif isinstance(ranker, Vote):
            total[ranker.ranker] = total.get(ranker.ranker, 0.0) + weight
        elif isinstance(ranker, Stump | Presence):
            total[ranker] = total.get(ranker, 0.0) + weight / 2.0
            constant += weight / 2.0
        elif isinstance(ranker, Tree):
            total[ranker] = total.get(ranker, 0.0) + weight * ranker.size
        else:
            raise NotRankedError(
                "margins of classification need votes, stumps or trees, and "
                f"{ranker!r} is none of them."
            )
    norm = abs(constant) + sum(map(abs, total.values()))
    if not norm > 0.0:
        raise NotRankedError("this ranker has no weights, so its margins are all 0 over 0.")
    return norm
