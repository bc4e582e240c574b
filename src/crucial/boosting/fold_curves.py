"""How a measure goes on over the rounds, on the held-out part of every fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crucial.types import Floats

__all__ = ["FoldCurves"]


@dataclass(frozen=True, eq=False)
class FoldCurves:
    """A measure on the held-out rows of every fold, after every round.

    Attributes
    ----------
    measure : str
    values : array of shape (n_folds, n_rounds)
    higher_is_better : bool

    Examples
    --------
    >>> curves = FoldCurves.of("auc", True, [[0.6, 0.8, 0.7], [0.6, 0.6]])
    >>> curves.mean.tolist(), curves.best_round
    ([0.6, 0.7, 0.6499999999999999], 2)
    """

    measure: str
    values: Floats
    higher_is_better: bool

    @classmethod
    def of(
        cls, measure: str, higher_is_better: bool, curves: Sequence[Sequence[float]]
    ) -> FoldCurves:
        """Make the table of several curves; one that ends early keeps its last value."""
        longest = max(len(curve) for curve in curves)
        values = [
            [*curve, *[curve[-1] if curve else 0.0] * (longest - len(curve))] for curve in curves
        ]
        return cls(
            measure, np.array(values, np.float64).reshape(len(curves), longest), higher_is_better
        )

    @property
    def mean(self) -> Floats:
        """The mean over the folds after every round."""
        return np.asarray(self.values.mean(axis=0))

    @property
    def best_round(self) -> int:
        """The round with the best mean, the first of equals; 0 if there are no rounds."""
        mean = self.mean if self.higher_is_better else -self.mean
        return int(np.argmax(mean)) + 1 if len(mean) else 0

    def waited(self, patience: int) -> bool:
        """Return whether the mean had no new best value for so many rounds."""
        return len(self.mean) - self.best_round >= patience

    def summary(self) -> dict[str, object]:
        """Return what a model file keeps: the measure and its mean after the best round."""
        best = self.best_round
        return {
            "folds": len(self.values),
            "measure": self.measure,
            "value": float(self.mean[best - 1]) if best else 0.0,
            "error": self.error(best) if best else 0.0,
        }

    def error(self, number: int) -> float:
        """Return the standard error of the mean after some round, over the folds."""
        values = self.values[:, number - 1]
        return float(values.std(ddof=1) / np.sqrt(len(values)))
