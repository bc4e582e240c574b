"""What the models that add one weak ranker per round have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from crucial.model.base import FrozenModel, check_width
from crucial.model.checks import check_ranker, plain_weights
from crucial.parameters import check, int_between
from crucial.types import Floats, TableLike

if TYPE_CHECKING:
    from crucial.data.groups import Groups
    from crucial.model.shape import Shape
    from crucial.model.weak import WeakRankerLike

__all__ = ["RoundsModel"]


@dataclass(frozen=True, init=False, repr=False)
class RoundsModel(FrozenModel):
    """Base of the models with one weak ranker and weight per round.

    Parameters
    ----------
    n_features : int
        Number of columns the model scores.
    rankers : sequence of weak rankers
        One per round, in the order they were learned.
    weights : sequence of float
        Their weights.
    feature_names : sequence of str, optional
        One per feature.
    training : mapping, optional
        Summary of the training: text, numbers, lists and mappings of them.
    """

    rankers: tuple[WeakRankerLike, ...]
    weights: tuple[float, ...]

    #: Fields with one entry per round.
    _per_round: ClassVar[tuple[str, ...]] = ("rankers", "weights")

    def __init__(
        self,
        n_features: int,
        rankers: Sequence[WeakRankerLike],
        weights: Sequence[float] | Floats,
        feature_names: Sequence[str] | None = None,
        training: Mapping[str, Any] | None = None,
    ) -> None:
        owner = type(self).__name__
        check_width(n_features, owner)
        rankers = tuple(rankers)
        for number, ranker in enumerate(rankers):
            check_ranker(number, ranker, int(n_features), owner)
        self._set_columns(n_features, feature_names, training)
        reach = [float(getattr(ranker, "reach", 1.0)) for ranker in rankers]
        self._set(rankers=rankers, weights=plain_weights(weights, len(rankers), owner, reach=reach))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_features={self.n_features}, n_rounds={self.n_rounds})"

    @property
    def n_rounds(self) -> int:
        """Number of rounds."""
        return len(self.rankers)

    @property
    def size(self) -> str:
        """The number of rounds, in words."""
        return f"{self.n_rounds:,} round{'' if self.n_rounds == 1 else 's'}"

    @property
    def intercept(self) -> float:
        """What the score of every row contains."""
        raise NotImplementedError

    def staged_predict(self, X: TableLike, groups: Groups | None = None) -> Iterator[Floats]:
        """Yield the scores after every round."""
        raise NotImplementedError

    def truncate(self, n_rounds: int) -> Self:
        """Return the model of the first rounds."""
        check("truncate", "n_rounds", n_rounds, int_between(0, self.n_rounds))
        return replace(self, **{name: getattr(self, name)[:n_rounds] for name in self._per_round})

    def shapes(self) -> dict[int, Shape]:
        """Return what each feature adds to the score, where that depends on its value alone."""
        raise NotImplementedError

    def weighted(self) -> list[tuple[WeakRankerLike, float]]:
        """Return the weak ranker of every round with its weight."""
        return list(zip(self.rankers, self.weights, strict=True))

    def weight_by_feature(self) -> dict[int, float]:
        """Return the absolute weight of every used feature, ascending by feature."""
        raise NotImplementedError

    def feature_importances(self) -> Floats:
        """Return the share of every feature in the absolute weight; all 0 if there is none."""
        out = np.zeros(self.n_features)
        for feature, weight in self.weight_by_feature().items():
            out[feature] = weight
        total = out.sum()
        return out / total if total > 0 else out
