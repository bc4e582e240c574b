"""Averages of rankers that stay one sum of weak rankers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from msgspec import structs
from sklearn.base import clone

from crucial.data.groups import Groups
from crucial.feedback.labels import LabelFeedback
from crucial.model.additive import AdditiveRanker
from crucial.model.weak import Tree
from crucial.parameters import anything, parameter, with_parameters
from crucial.rankers.base import Ranker
from crucial.types import Floats, TableLike, VectorLike

__all__ = ["AverageRanker", "scale_factors", "score_spread"]

#: Bits of a factor: sums of leaves on a grid stay exact if factors have few.
_BITS = 4


def score_spread(scores: Floats, groups: Groups) -> float:
    """Return the standard deviation of scores around the means of their queries.

    Examples
    --------
    >>> score_spread(np.array([1.0, 3.0, 10.0, 12.0]), Groups.from_qid([1, 1, 2, 2], 4))
    1.0
    """
    inside = scores[groups.order]
    means = np.add.reduceat(inside, groups.starts[:-1]) / groups.sizes
    return float(np.sqrt(np.mean((inside - np.repeat(means, groups.sizes)) ** 2)))


def scale_factors(spreads: Sequence[float], parts: Sequence[float] = ()) -> list[float]:
    """Return what to multiply the scores of several models by, to average them on one scale.

    Each is divided by its spread and multiplied by its share, to four binary digits; a model that
    gives all rows the same score is left out.

    Parameters
    ----------
    spreads : sequence of float
        Standard deviations of the scores of every model.
    parts : sequence of float
        What the shares are proportional to; empty where all are the same.

    Examples
    --------
    >>> scale_factors([0.5, 4.0])
    [1.0, 0.125]
    >>> scale_factors([0.5, 4.0], [3.0, 1.0])
    [1.5, 0.0625]
    """
    parts = parts or [1.0] * len(spreads)
    total = sum(parts)
    return [
        _short(part / (total * one)) if one > 0 else 0.0
        for one, part in zip(spreads, parts, strict=True)
    ]


def _short(value: float) -> float:
    """Return the nearest number of few binary digits.

    Examples
    --------
    >>> _short(0.3), _short(1000.0)
    (0.3125, 1024.0)
    """
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(mantissa * 2**_BITS), exponent - _BITS)


def _sharing(rankers: Sequence[Any]) -> list[Any]:
    """Return weak rankers whose trees gain 1 together: the gains of losses have no common unit."""
    total = sum(sum(one.gains) for one in rankers if isinstance(one, Tree))
    if not total:
        return list(rankers)
    return [
        structs.replace(one, gains=tuple(gain / total for gain in one.gains))
        if isinstance(one, Tree)
        else one
        for one in rankers
    ]


@with_parameters
class AverageRanker(Ranker[AdditiveRanker]):
    """The average of several rankers that are sums of weak rankers: one such sum itself.

    The scores of each ranker are divided by their standard deviation inside queries, on the rows
    it learned from, and multiplied by its share.

    Attributes
    ----------
    model_ : AdditiveRanker
        The weak rankers of all.
    rankers_ : list
        The fitted rankers.
    """

    rankers: Any = parameter(anything("list of rankers"), "What to average.", default=())
    parts: Any = parameter(
        anything("list of numbers"),
        "What the share of every ranker is proportional to; none where all have the same.",
        default=(),
    )

    def fit(
        self,
        X: TableLike,
        y: VectorLike,
        *,
        qid: VectorLike | None = None,
        sample_weight: VectorLike | None = None,
    ) -> Self:
        """Fit every ranker; parameters as in `crucial.RankBoost.fit`."""
        data = self._input(X, y, qid, sample_weight)
        self.rankers_: list[Any] = []
        spreads = []
        for one in self.rankers:
            ranker = clone(one).set_params(n_jobs=self.n_jobs)
            ranker.fit(data.instances, data.labels, qid=qid, sample_weight=data.weight)
            self.rankers_.append(ranker)
            scores = ranker.model_.predict(data.instances, data.groups, n_jobs=self.n_jobs)
            spreads.append(score_spread(scores, data.groups))
        models = [one.model_ for one in self.rankers_]
        rankers: list[Any] = []
        weights: list[float] = []
        for model, factor in zip(models, scale_factors(spreads, self.parts), strict=True):
            if factor:
                rankers += _sharing(model.rankers)
                weights += [factor * weight for weight in model.weights]
        feedback = LabelFeedback(data.known_labels, data.groups, weight=data.weight)
        figures = {"averaged": [dict(model.training) for model in models]}
        summary = self._summary(figures, feedback, data.with_qid)
        names = data.instances.names
        model = AdditiveRanker(data.instances.n_features, rankers, weights, names, summary)
        self._set_model(model, data.with_qid)
        return self
