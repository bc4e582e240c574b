"""Pairs that matter for the top of the list: LambdaMART's and YetiRank's.

Neither has a loss: the weights of the pairs follow the order of the current scores.
"""

from __future__ import annotations

import numpy as np

from crucial.errors import DataError
from crucial.feedback.base import Feedback
from crucial.feedback.layout import LabelledRows
from crucial.kernels.elementary import log2
from crucial.kernels.losses import AVERAGE_PRECISION, NDCG, RECIPROCAL_RANK, LambdaSums, YetiSums
from crucial.kernels.runtime import is_part
from crucial.kernels.sums import QueryNoise
from crucial.objectives.row_losses import Gain, RowLoss, RowLossState, query_weights, worths_of
from crucial.parameters import lookup
from crucial.types import Floats

__all__ = ["LAMBDA_MEASURES", "LambdaLoss", "YetiLoss"]

LAMBDA_MEASURES = {"ndcg": NDCG, "map": AVERAGE_PRECISION, "mrr": RECIPROCAL_RANK}


class LambdaLoss(RowLoss):
    """Logistic pairs weighted by the change of a measure when both rows swap (Burges 2010).

    Rows of equal score are ordered worst first and, where their labels are equal too, share
    what they get, so that the order of the rows of a query does not matter. O(truncation n)
    per query. The "loss" of the trace is 1 minus the mean of the measure on the training
    queries. With ``k=None`` these are LightGBM's ``lambdarank`` gradients where no scores are
    equal.

    Parameters
    ----------
    measure : {"ndcg", "map", "mrr"}
        Of those, map and mrr count labels above 0 as relevant.
    k : int, optional
        Depth of nDCG: positions beyond it have no discount. By default all positions have
        one, and the best DCG, which gains are divided by, is that of the first ``truncation``.
    truncation : int, optional
        Only pairs with a row among so many first count; None: all pairs.
    sigmoid : float
        Steepness of the logistic function.
    normalise : bool
        Divide the weight of a pair by the distance of its scores, and let the sum of a query
        grow as a logarithm, as LightGBM's ``lambdarank_norm`` does.
    gain : {None, "linear", "exp"} or function
        Gain of a label in nDCG; None is ``2^y - 1``.
    """

    name = "lambda"

    def __init__(
        self,
        measure: str = "ndcg",
        k: int | None = None,
        truncation: int | None = 30,
        sigmoid: float = 1.0,
        normalise: bool = True,
        gain: Gain = None,
    ) -> None:
        self.measure, self.k, self.truncation = measure, k, truncation
        self.sigmoid, self.normalise, self.gain = sigmoid, normalise, gain

    def over_labels(self, feedback: Feedback, rows: LabelledRows, threads: int) -> RowLossState:
        """Return the state of the loss at scores of 0."""
        kind = lookup(LAMBDA_MEASURES, self.measure, "measure")
        layout = rows.layout
        longest = int(np.diff(layout.row_start).max())
        truncation = longest if self.truncation is None else self.truncation
        depth = truncation if self.k is None else self.k
        discount = 1.0 / log2(np.arange(longest) + 2.0)
        if self.k is not None:
            discount[self.k :] = 0.0
        worth = self._worths(kind, rows)
        if kind == NDCG:
            best = _best_dcg(worth, rows, discount[: min(depth, longest)])
        elif kind == AVERAGE_PRECISION:
            best = np.add.reduceat(worth, layout.row_start[:-1])
        else:
            best = np.maximum.reduceat(worth, layout.row_start[:-1])
        inverse = np.divide(1.0, best, out=np.zeros_like(best), where=best > 0)
        how = (kind, depth, truncation, float(self.sigmoid), bool(self.normalise))
        sums = LambdaSums(layout.row_start, worth, feedback.weight, inverse, discount, how, threads)
        # A query that the measure has no value for cannot get better.
        coefficient = np.where(inverse > 0, query_weights(rows), 0.0)
        return LambdaState(feedback, rows, coefficient, threads, sums)

    def _worths(self, kind: int, rows: LabelledRows) -> Floats:
        """Return the gain of every row, or whether it is relevant."""
        if kind == NDCG:
            worth = worths_of("exp" if self.gain is None else self.gain, rows, self.name)
            if float(worth.min()) < 0.0:
                raise DataError(
                    "nDCG needs gains of 0 and more, and the lowest label here has "
                    f"{worth.min():g}; shift the labels, or use loss='softmax' or 'query_rmse'."
                )
            return worth
        worth = (rows.labels > 0).astype(np.float64)
        starts = rows.layout.row_start[:-1]
        highest, lowest = (f.reduceat(worth, starts) for f in (np.maximum, np.minimum))
        if not (highest > lowest).any() and not is_part():
            raise DataError(
                f"measure={self.measure!r} counts labels above 0 as relevant, and no query has "
                "both relevant rows and others; use measure='ndcg', or shift the labels."
            )
        return worth


def _best_dcg(worth: Floats, rows: LabelledRows, discount: Floats) -> Floats:
    """Return the largest DCG of every query; rows lie by rising label."""
    starts = rows.layout.row_start
    position = np.repeat(starts[1:], np.diff(starts)) - 1 - np.arange(len(worth))
    counts = position < len(discount)
    each = np.zeros(len(worth))
    each[counts] = worth[counts] * discount[position[counts]]
    return np.add.reduceat(each, starts[:-1])


class LambdaState(RowLossState):
    """See `LambdaLoss`."""

    def __init__(
        self,
        feedback: Feedback,
        rows: LabelledRows,
        coefficient: Floats,
        threads: int,
        sums: LambdaSums,
    ) -> None:
        super().__init__(feedback, rows, coefficient, threads)
        self._sums = sums

    def _write(self, pi: Floats) -> None:
        self._sums.sums(self.scores, self._drawn, pi, self.curvature, self._loss)
        np.subtract(1.0, self._loss, out=self._loss)


class YetiLoss(RowLoss):
    """Logistic pairs of neighbours, averaged over noisy orders: YetiRank (Gulin et al. 2011).

    As CatBoost's YetiRank in its classic mode: rows are ordered by their scores plus logistic
    noise, and the pair at positions p and p + 1 weighs ``decay^p`` times the difference of
    its labels. O(permutations n log n) per query. The "loss" of the trace is the weighted
    chance that such a pair is in the wrong order, estimated by the orders of the round.

    Parameters
    ----------
    permutations : int
        Orders per round and query.
    decay : float
        In (0, 1].
    gain : {None, "linear", "exp"} or function
        What a label is worth; None is the label.
    seed : int
    """

    name = "yeti"

    def __init__(
        self, permutations: int = 10, decay: float = 0.99, gain: Gain = None, seed: int = 0
    ) -> None:
        self.permutations, self.decay, self.gain, self.seed = permutations, decay, gain, seed

    def over_labels(self, feedback: Feedback, rows: LabelledRows, threads: int) -> RowLossState:
        """Return the state of the loss at scores of 0."""
        starts = rows.layout.row_start
        sums = YetiSums(
            starts,
            worths_of(self.gain, rows, self.name),
            feedback.weight,
            self.permutations,
            self.decay,
            threads,
        )
        noise = QueryNoise(self.seed, rows.layout.queries, starts, threads)
        return YetiState(feedback, rows, query_weights(rows), threads, sums, noise)


class YetiState(RowLossState):
    """See `YetiLoss`."""

    def __init__(
        self,
        feedback: Feedback,
        rows: LabelledRows,
        coefficient: Floats,
        threads: int,
        sums: YetiSums,
        noise: QueryNoise,
    ) -> None:
        super().__init__(feedback, rows, coefficient, threads)
        self._sums, self._noise = sums, noise

    def _write(self, pi: Floats) -> None:
        keys = self._noise.keys(self.rounds)
        self._sums.sums(self.scores, self._drawn, keys, pi, self.curvature, self._loss)
