"""Trees whose values span one unit, for step rules that choose the weight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from msgspec.structs import replace as replaced

from crucial.feedback.base import Output, Potentials
from crucial.model.weak import Tree
from crucial.weak.base import Candidate
from crucial.weak.tree_growth import TreeLimits
from crucial.weak.trees import Sampling, TreeLearner

__all__ = ["UnitTreeLearner"]


class UnitTreeLearner(TreeLearner):
    """Trees divided by what their values span, so that no pair gains a margin above 1.

    Such a tree is a weak ranker in [0, 1] but for a shift, which no pair sees: methods 1 and 3 of
    Freund et al. (2003, section 3.2) give it a weight with their guarantees, and its slope r lies
    in [-1, 1].

    Parameters
    ----------
    limits, max_bins, sampling
        As in `crucial.weak.trees.TreeLearner`.
    votes : bool
        Divide by the largest absolute value instead: a vote in [-1, 1] on every row, for
        classification.
    drawn_by : int, optional
        Seed to draw thresholds at random; None for quantiles.
    """

    def __init__(
        self,
        limits: TreeLimits | None = None,
        max_bins: int = 255,
        sampling: Sampling | None = None,
        votes: bool = False,
        drawn_by: int | None = None,
    ) -> None:
        super().__init__(limits, max_bins, sampling, drawn_by=drawn_by)
        self.votes, self._sampled = votes, True

    def _row_share(self) -> float:
        return super()._row_share() if self._sampled else 1.0

    def propose(self, potentials: Potentials) -> Candidate | None:
        """Return the best tree, divided by its unit; None if no split helps."""
        found = super().propose(potentials)
        if found is not None and not found.slope > 0.0:
            # Grown on a sample, it may order all rows backwards: a weight below 0 would turn it
            # round, and break monotone constraints.
            self._sampled = False
            found = super().propose(potentials)
            self._sampled = True
        if found is None or not found.slope > 0.0:
            return None
        tree = found.ranker
        assert isinstance(tree, Tree)
        unit = tree.size if self.votes else tree.span
        values = tuple((np.array(tree.values) / unit).tolist())
        divided = replaced(tree, values=values)
        output = self._divided(found, divided, unit)
        return replace(found, ranker=divided, output=output, slope=found.slope / unit)

    def _divided(self, found: Candidate, divided: Tree, unit: float) -> Output:
        """Return the scores of a divided tree, by those that the candidate had before."""
        return found.output / unit
