"""The model that adds rankings, and ranks the sum again after every step."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crucial.data.instances import Instances
from crucial.kernels.runtime import count_threads, cut_lists, over_ranges
from crucial.model.additive import Shape
from crucial.model.base import RoundsModel, plain_weights
from crucial.model.weak import QuasiKNN, middle_positions
from crucial.parameters import refuse
from crucial.types import Floats, Ints, TableLike

if TYPE_CHECKING:
    from crucial.data.groups import Groups

__all__ = ["RankAdditionRanker"]


_OWNER = "RankAdditionRanker"
_LARGEST_FACTOR = 1e100  # so that no sum of ranks can overflow
# Rows of one block of whole queries; a block's rankings stay in memory while it is ranked.
_BLOCK_ROWS = 1 << 15


@dataclass(frozen=True, init=False, repr=False)
class RankAdditionRanker(RoundsModel):
    """Rankings of features, added one after the other: ``H <- ranks(keep H + weight h)``.

    Its score is the rank of a row in its query, 1 for the lowest; equal rows share the mean
    of their ranks. It must see whole queries.

    Parameters
    ----------
    n_features : int
        Number of columns the model ranks by.
    rankers : sequence of QuasiKNN
        One per step, in the order in which they were added.
    keeps : sequence of float
        Factor on the ranking so far, one per step; 1 in FeatureRank.
    weights : sequence of float
        Factor on the new ranking, one per step.
    feature_names : sequence of str, optional
        One per feature.
    training : mapping, optional
        Summary of the training: text, numbers, lists and mappings of them.

    Examples
    --------
    >>> from crucial.data.groups import Groups
    >>> rankers = [QuasiKNN(0, (1.0, 2.0)), QuasiKNN(1, (5.0, 4.0))]
    >>> model = RankAdditionRanker(2, rankers, [1.0, 1.0], [0.5, 2.0])
    >>> model.predict(np.array([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]), Groups.single(3)).tolist()
    [3.0, 2.0, 1.0]
    """

    rankers: tuple[QuasiKNN, ...]
    keeps: tuple[float, ...]

    needs_query: ClassVar[bool] = True
    intercept: ClassVar[float] = 0.0
    _per_round: ClassVar[tuple[str, ...]] = ("rankers", "keeps", "weights")

    def __init__(
        self,
        n_features: int,
        rankers: Sequence[QuasiKNN],
        keeps: Sequence[float] | Floats,
        weights: Sequence[float] | Floats,
        feature_names: Sequence[str] | None = None,
        training: Mapping[str, Any] | None = None,
    ) -> None:
        rankers = tuple(rankers)
        for ranker in rankers:
            if not isinstance(ranker, QuasiKNN):
                raise refuse(_OWNER, "rankers", "weak rankers of class QuasiKNN", ranker)
        super().__init__(n_features, rankers, weights, feature_names, training)
        self._set(keeps=plain_weights(keeps, len(rankers), _OWNER, "keeps"))
        for name, factors in (("keeps", self.keeps), ("weights", self.weights)):
            too_large = next((one for one in factors if abs(one) > _LARGEST_FACTOR), None)
            if too_large is not None:
                raise refuse(_OWNER, name, "numbers of at most 1e100", too_large)

    def _predict(self, X: TableLike, groups: Groups | None, n_jobs: int | None) -> Floats:
        """Return the rank of every row in its query, the highest for the best."""
        instances = self._check_rows(X, groups, n_jobs)
        assert groups is not None
        out = np.empty(instances.n_rows)

        def block(first: int, last: int) -> None:
            rows, starts = _part(groups, first, last)
            out[rows] = deque(self._stages(instances, rows, starts), maxlen=1).pop()

        n_ranges = max(1, -(-instances.n_rows // _BLOCK_ROWS))  # (of whole queries)
        over_ranges(cut_lists(groups.starts, n_ranges), count_threads(n_jobs), block)
        return out

    def staged_predict(self, X: TableLike, groups: Groups | None = None) -> Iterator[Floats]:
        """Yield the ranks after every step; those after step n equal ``truncate(n).predict(X)``.

        Yields
        ------
        float64 array of shape (n_rows,)
            A fresh array, for step 1, 2, ..., ``n_rounds``.
        """
        instances = self._check_rows(X, groups, 1)
        assert groups is not None
        stages = self._stages(instances, groups.order, groups.starts)
        next(stages)
        for scores in stages:
            out = np.empty(len(scores))
            out[groups.order] = scores
            yield out

    def _stages(self, instances: Instances, rows: Ints, starts: Ints) -> Iterator[Floats]:
        """Yield the ranks of whole queries before the first step and after every step."""
        now = middle_positions(np.zeros(len(rows)), starts)
        yield now + 0.5
        known: dict[QuasiKNN, Floats] = {}
        last = {ranker: number for number, ranker in enumerate(self.rankers)}
        for number, (ranker, keep, weight) in enumerate(
            zip(self.rankers, self.keeps, self.weights, strict=True)
        ):
            ranking = known.pop(ranker, None)
            if ranking is None:
                values = instances.column(ranker.feature, rows).astype(np.float64)
                ranking = middle_positions(values, starts, ranker.regions)
            if last[ranker] > number:  # (it comes again in a later cycle)
                known[ranker] = ranking
            now = middle_positions(keep * now + weight * ranking, starts)
            yield now + 0.5

    def weight_by_feature(self) -> dict[int, float]:
        """Return the absolute weight of every used feature, ascending by feature."""
        out: dict[int, float] = {}
        for ranker, weight in zip(self.rankers, self.weights, strict=True):
            out[ranker.feature] = out.get(ranker.feature, 0.0) + abs(weight)
        return dict(sorted(out.items()))

    def shapes(self) -> dict[int, Shape]:
        """Return nothing: what a feature adds depends on the other rows."""
        return {}


def _part(groups: Groups, first: int, last: int) -> tuple[Ints, Ints]:
    """Return the rows of a range of queries, and where each query begins among them."""
    begin, end = int(groups.starts[first]), int(groups.starts[last])
    rows = np.arange(begin, end) if groups.permutation is None else groups.order[begin:end]
    return rows, groups.starts[first : last + 1] - begin
