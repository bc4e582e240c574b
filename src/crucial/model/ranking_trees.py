"""The model of one or several trees whose leaves are ranked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from crucial.data.instances import Instances
from crucial.errors import NotRankedError
from crucial.kernels.trees import Routes
from crucial.model.base import FrozenModel, Payload, as_shares, plain_weights
from crucial.model.tree_table import OUTSIDE, Router, TreeTable, tree_lines
from crucial.parameters import check, one_of, refuse
from crucial.types import Floats, Ints, TableLike

if TYPE_CHECKING:
    from crucial.data.groups import Groups


_BLOCK_ROWS = 1 << 14
_OWNER = "RankingTrees"


@dataclass(frozen=True, init=False, repr=False)
class RankingTrees(FrozenModel):
    """Trees whose leaves have scores; several trees agree on one score by a consensus rule.

    Parameters
    ----------
    n_features : int
        Number of columns the model scores.
    trees : sequence of TreeTable
    consensus : {"mean", "median"}
        The mean of the scores, or the place of the row in the median ranking of ``cells``.
    cells : sequence of sequences of int
        For "median": leaves of the known cells, one per tree; the best cell first.
    cell_weights : sequence of float
        The weight of each cell.
    feature_names : sequence of str, optional
        One per feature.
    training : mapping, optional
        Summary of the training: text, numbers, lists and mappings of them.
    routers : sequence of Router
        Answer the tests that are no comparisons with a threshold; a model file cannot hold them.

    Notes
    -----
    A row in a cell that is not known takes the place in the median ranking where it disagrees
    least with the trees: the first such place from the top.

    Examples
    --------
    >>> tree = TreeTable((0,), (1,), (0.5,), (False,), (~0,), (~1,), (0.2,), (1.0, 0.5))
    >>> model = RankingTrees(2, [tree])
    >>> model.predict(np.array([[0.0, 1.0], [0.0, 0.0], [0.0, np.nan]])).tolist()
    [1.0, 0.5, 0.5]
    """

    trees: tuple[TreeTable, ...]
    consensus: str = "mean"
    cells: tuple[tuple[int, ...], ...] = ()
    cell_weights: tuple[float, ...] = ()
    routers: tuple[Router, ...] = field(default=(), hash=False, compare=False)

    def __init__(
        self,
        n_features: int,
        trees: Sequence[TreeTable],
        consensus: str = "mean",
        cells: Sequence[Sequence[int]] = (),
        cell_weights: Sequence[float] = (),
        feature_names: Sequence[str] | None = None,
        training: Mapping[str, Any] | None = None,
        routers: Sequence[Router] = (),
    ) -> None:
        self._set_columns(n_features, feature_names, training)
        check(_OWNER, "consensus", consensus, one_of("mean", "median"))
        if not trees:
            raise refuse(_OWNER, "trees", "at least one tree", len(trees))
        for tree in trees:
            tree.check(self.n_features)
        if not routers and any(OUTSIDE in tree.feature for tree in trees):
            raise refuse(_OWNER, "trees", "features of at least 0", OUTSIDE)
        self._set(
            trees=tuple(trees),
            consensus=consensus,
            cells=tuple(tuple(map(int, cell)) for cell in cells),
            cell_weights=tuple(map(float, cell_weights)),
            routers=tuple(routers),
        )
        self._check_cells()
        self._check_sums()

    def _check_sums(self) -> None:
        """Refuse numbers whose sums, in scores and in importances, may overflow."""
        highest = [max(map(abs, tree.scores)) for tree in self.trees]
        plain_weights(highest, len(highest), _OWNER, "scores")
        gains = [math.fsum(tree.gain) for tree in self.trees]
        plain_weights(gains, len(gains), _OWNER, "gains")
        votes = [len(self.trees) * weight for weight in self.cell_weights]
        plain_weights(votes, len(votes), _OWNER, "cell_weights")

    def _check_cells(self) -> None:
        """Refuse cells that are not made of leaves of the trees."""
        if (self.consensus == "median") != bool(self.cells):
            raise refuse(_OWNER, "cells", "cells for the median alone", f"{len(self.cells)} cells")
        if len(self.cell_weights) != len(self.cells):
            rule = "one per cell"
            raise refuse(_OWNER, "cell_weights", rule, f"{len(self.cell_weights)} weights")
        if any(not 0.0 < weight < np.inf for weight in self.cell_weights):
            raise refuse(_OWNER, "cell_weights", "finite numbers above 0", self.cell_weights[:4])
        sizes = [len(tree.scores) for tree in self.trees]
        for cell in self.cells:
            inside = all(0 <= leaf < size for leaf, size in zip(cell, sizes, strict=False))
            if len(cell) != len(sizes) or not inside:
                raise refuse(_OWNER, "cells", "one leaf per tree", cell)

    @property
    def size(self) -> str:
        """The size of the model in words."""
        leaves = sum(len(tree.scores) for tree in self.trees)
        counted = f"{leaves} leaves" if leaves != 1 else "1 leaf"
        many = len(self.trees) != 1
        return f"{len(self.trees)} trees with {counted}" if many else f"tree of {counted}"

    @cached_property
    def _used(self) -> Ints:
        """The columns that a test asks about."""
        used = {feature for tree in self.trees for feature in tree.feature if feature >= 0}
        return np.array(sorted(used) or [0], np.int64)

    @cached_property
    def _routes(self) -> Routes:
        """The tests of all trees over the used columns."""
        first = np.cumsum([0, *(len(tree.node) for tree in self.trees)])
        slot = {feature: number for number, feature in enumerate(self._used.tolist())}

        def moved(targets: Callable[[TreeTable], tuple[int, ...]]) -> Ints:
            parts = []
            for tree, offset in zip(self.trees, first.tolist(), strict=False):
                target = np.array(targets(tree), np.int64)
                parts.append(np.where(target >= 0, target + offset, target))
            return np.concatenate(parts)

        roots = [int(at) if tree.node else ~0 for tree, at in zip(self.trees, first, strict=False)]
        flat = [(f, t) for tree in self.trees for f, t in zip(tree.feature, tree.threshold)]
        routes = Routes(
            np.array([slot.get(feature, OUTSIDE) for feature, _ in flat], np.int64),
            np.array([-np.inf if t is None else t for _, t in flat], np.float64),
            np.array([answer for tree in self.trees for answer in tree.missing], bool),
            moved(lambda tree: tree.yes),
            moved(lambda tree: tree.no),
            np.array(roots, np.int64),
        )
        for array in vars(routes).values():
            array.flags.writeable = False  # (Numba compiles anew for writable arrays)
        return routes

    def leaves(self, X: TableLike, *, n_jobs: int | None = None) -> Ints:
        """Return the leaf of every row in every tree, counted from the left.

        Returns
        -------
        int array of shape (n_rows, n_trees)
        """
        instances = self._check_rows(X, None, n_jobs)
        return np.concatenate([block for _, block in self._blocks(instances, n_jobs)])

    def _blocks(self, instances: Instances, n_jobs: int | None) -> Any:
        """Yield the first row and the leaves of blocks of rows."""
        table = instances.table
        by_row = table[:, self._used].tocsr() if instances.is_sparse else table
        for begin in range(0, instances.n_rows, _BLOCK_ROWS):
            block = by_row[begin : begin + _BLOCK_ROWS]
            dense = block.toarray() if instances.is_sparse else block.take(self._used, axis=1)
            values = np.asarray(dense, np.float64)
            if self.routers:
                yield begin, self._routed(values, instances, begin)
            else:
                yield begin, self._routes.leaves(values, n_jobs)

    def _routed(self, values: Floats, instances: Instances, begin: int) -> Ints:
        """Follow tests of which some are answered by routers."""
        routes = self._routes
        out = np.empty((len(values), len(self.trees)), np.int64)
        for tree, root in enumerate(routes.roots.tolist()):
            at = np.full(len(values), root, np.int64)
            while (at >= 0).any():
                test = int(at[at >= 0].min())  # (later tests follow: all rows wait for them here)
                here = np.flatnonzero(at == test)
                if routes.feature[test] == OUTSIDE:
                    router = self.routers[int(routes.threshold[test])]
                    answer = router.goes_left(instances, here + begin)
                else:
                    value = values[here, routes.feature[test]]
                    above = value > routes.threshold[test]
                    answer = np.where(np.isnan(value), routes.missing[test], above)
                at[here] = np.where(answer, routes.yes[test], routes.no[test])
            out[:, tree] = ~at
        return out

    def _predict(self, X: TableLike, groups: Groups | None, n_jobs: int | None) -> Floats:
        """Return the score of every row, whatever its query."""
        instances = self._check_rows(X, groups, n_jobs)
        out = np.zeros(instances.n_rows)
        for begin, leaves in self._blocks(instances, n_jobs):
            part = out[begin : begin + len(leaves)]
            if self.consensus == "median":
                part[:] = self._median_places(leaves)
                continue
            for tree, scores in enumerate(self._scores):
                part += scores[leaves[:, tree]]
            part /= len(self.trees)
        return out

    @cached_property
    def _scores(self) -> list[Floats]:
        return [np.array(tree.scores) for tree in self.trees]

    def _median_places(self, leaves: Ints) -> Floats:
        """Return the place of rows in the median ranking, from 1 at the top down to 0."""
        cells, weight = np.array(self.cells, np.int64), np.array(self.cell_weights)
        known = {cell: place for place, cell in enumerate(self.cells)}
        distinct, which = np.unique(leaves, axis=0, return_inverse=True)
        n = len(cells)
        score = np.empty(len(distinct))
        for number, cell in enumerate(distinct):
            place = float(known.get(tuple(cell.tolist()), -1))
            if place < 0:
                # Trees that rank each known cell above this one, less those that rank it below.
                net = np.sign(cell - cells).sum(axis=1) * weight
                # (from the top: passing a cell costs what the trees object to)
                place = float(np.argmin(np.concatenate(([0.0], np.cumsum(-net))))) - 0.5
            score[number] = (n - place) / n
        out: Floats = score[which.ravel()]
        return out

    @property
    def importance_of(self) -> str:
        """What `feature_importances` counts."""
        return "share of the gains of the splits"

    def feature_importances(self) -> Floats:
        """Return the share of every feature in the gains; all 0 if there is none."""
        out = np.zeros(self.n_features)
        for tree in self.trees:
            for feature, gain in zip(tree.feature, tree.gain, strict=True):
                if feature >= 0:
                    out[feature] += gain
        return as_shares(out)

    def explain(self, top: int = 10) -> list[str]:
        """Return the first tree as lines of text, ``top`` nodes of it."""
        return tree_lines(self.trees, self.feature_names, top, self.encodings)


# --- The form in which ranking trees are written


class RankingTreesPayload(Payload, frozen=True, tag="ranking_trees"):
    """A `RankingTrees` as it is written."""

    consensus: str
    trees: tuple[TreeTable, ...]
    cells: tuple[tuple[int, ...], ...]
    cell_weights: tuple[float, ...]
    training: dict[str, Any]

    @classmethod
    def of(cls, model: RankingTrees) -> RankingTreesPayload:
        """Return the payload of a model; a tree that asks a classifier cannot be written."""
        if model.routers:
            asked = type(model.routers[0]).__name__
            raise NotRankedError(
                f"the nodes of this tree ask objects of class {asked}, which a model file cannot "
                "hold: it knows comparisons of a feature with a threshold. Use splitter='stump' or "
                "'tree' (RankOver: sets='half-lines'), or pickle the model."
            )
        return cls.filled(model)

    def build(self) -> RankingTrees:
        """Return the model, with everything checked."""
        return RankingTrees(**self.values())
