"""Scores of weak rankers on binned rows."""

from __future__ import annotations

from crucial.boosting.stump_search import StumpGrid
from crucial.boosting.trees import tree_output
from crucial.data.bins import Bins
from crucial.errors import ParameterError
from crucial.feedback.base import Output
from crucial.model.weak import Presence, Stump, Tree, WeakRankerLike

__all__ = ["CodedRows"]


class CodedRows:
    """Binned rows that stumps and trees can score.

    Parameters
    ----------
    bins : Bins
        Of the rows, in the order in which scores are wanted.
    """

    def __init__(self, bins: Bins) -> None:
        self.bins, self._grid = bins, StumpGrid(bins, "learned")

    def output(self, ranker: WeakRankerLike) -> Output:
        """Return the scores of a weak ranker: uint8 for a stump, float64 for a tree."""
        if isinstance(ranker, Stump | Presence):
            return self._grid.output(*self._grid.find(ranker))
        if isinstance(ranker, Tree):
            return tree_output(self.bins, ranker)
        raise ParameterError(f"parts of the rows cannot score a {type(ranker).__name__}.")
