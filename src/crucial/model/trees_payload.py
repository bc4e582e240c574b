"""The form in which ranking trees are written."""

from __future__ import annotations

from typing import Any

import msgspec

from crucial.errors import NotRankedError
from crucial.model.ranking_trees import RankingTrees
from crucial.model.tree_table import TreeTable

__all__ = ["RankingTreesPayload"]


class RankingTreesPayload(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="ranking_trees"
):
    """A `RankingTrees` as it is written."""

    n_features: int
    feature_names: list[str] | None
    consensus: str
    trees: list[TreeTable]
    cells: list[list[int]]
    cell_weights: list[float]
    training: dict[str, Any]

    @classmethod
    def of(cls, model: RankingTrees) -> RankingTreesPayload:
        """Return what to write; a tree that asks a classifier cannot be written."""
        if model.routers:
            asked = type(model.routers[0]).__name__
            raise NotRankedError(
                f"the nodes of this tree ask objects of class {asked}, which a model file cannot "
                "hold: it knows comparisons of a feature with a threshold. Use splitter='stump' or "
                "'tree' (RankOver: sets='half-lines'), or pickle the model."
            )
        names = None if model.feature_names is None else list(model.feature_names)
        cells = [list(cell) for cell in model.cells]
        weights = list(model.cell_weights)
        trees, training = list(model.trees), dict(model.training)
        return cls(model.n_features, names, model.consensus, trees, cells, weights, training)

    def build(self) -> RankingTrees:
        """Return the model, with everything checked."""
        return RankingTrees(
            self.n_features,
            self.trees,
            self.consensus,
            self.cells,
            self.cell_weights,
            self.feature_names,
            self.training,
        )
