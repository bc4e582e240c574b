"""Shrink a learned fusion towards reciprocal rank fusion."""

from __future__ import annotations

import msgspec
import numpy as np

from crucial.apps.fusion.methods import Fusion
from crucial.apps.fusion.plan import FusionPlan
from crucial.apps.fusion.pool import Pool
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import ScaledFeature
from crucial.types import Floats

__all__ = ["RRF", "blended", "spread"]

#: Reciprocal rank fusion as it is customary (Cormack, Clarke & Buettcher 2009).
RRF = Fusion("rrf", 60.0)


def spread(pool: Pool, scores: Floats) -> float:
    """Return the standard deviation of scores around the mean of their query.

    Examples
    --------
    >>> from crucial import Run
    >>> pool = Pool.of([Run(["1", "1", "2"], ["a", "b", "a"], [2.0, 1.0, 5.0])])
    >>> round(spread(pool, np.array([3.0, 1.0, 9.0])), 4)
    0.8165
    """
    query = pool.query_of_row
    means = np.bincount(query, scores, pool.n_queries) / np.maximum(pool.sizes, 1)
    return float(np.sqrt(np.mean((scores - means[query]) ** 2)))


def _merged(model: AdditiveRanker) -> AdditiveRanker:
    """Return the same model with one round per distinct feature, where rounds are features."""
    if not all(isinstance(one, ScaledFeature) for one in model.rankers):
        return model
    weights: dict[object, float] = {}
    for ranker, weight in zip(model.rankers, model.weights):
        weights[ranker] = weights.get(ranker, 0.0) + float(weight)
    rankers = [one for one in model.rankers if isinstance(one, ScaledFeature)]
    distinct = list(dict.fromkeys(rankers))
    return AdditiveRanker(
        model.n_features, distinct, [weights[one] for one in distinct], training=model.training
    )


def blended(
    model: AdditiveRanker | None, plan: FusionPlan, pool: Pool, share: float
) -> tuple[FusionPlan, AdditiveRanker]:
    """Return a plan and a model of ``(1 - share) rrf / spread(rrf) + share learned / spread``.

    Both parts are divided by their spread within the queries of the pool. Reciprocal rank fusion
    is a sum of one `ScaledFeature` per run, so the blend is an additive model as well.

    Parameters
    ----------
    model : AdditiveRanker or None
        The learned scores over the columns of the plan; None for reciprocal rank fusion alone.
    plan : FusionPlan
    pool : Pool
        The queries that were learned from.
    share : float
        From 0 to 1.
    """
    if model is not None:
        model = _merged(model)
        if share >= 1:
            return plan, model
    if plan.columns == "positions":
        plan = msgspec.structs.replace(plan, columns="positions+reciprocal", k=RRF.k)
    n_features = len(plan.feature_names)
    best = float(np.float32(1.0 / (plan.k + 1.0)))
    uniform = [ScaledFeature(at, 0.0, best, 0.0) for at in plan.reciprocal_columns]
    if model is None:
        return plan, AdditiveRanker(n_features, uniform, [1.0] * len(uniform))
    parts = plan.prepare(pool)
    table = plan.table(pool, parts)
    learned = AdditiveRanker(n_features, model.rankers, model.weights, training=model.training)
    width = spread(pool, learned.predict(table))
    learned_weights = np.asarray(model.weights) * (share / width if width > 0 else 0.0)
    unit = (1.0 - share) / (spread(pool, RRF.scores(pool)) / best or 1.0)
    return plan, AdditiveRanker(
        n_features,
        [*model.rankers, *uniform],
        [*learned_weights.tolist(), *[unit] * len(uniform)],
        training=model.training,
    )
