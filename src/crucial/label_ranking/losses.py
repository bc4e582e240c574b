"""Objectives of label rankers: AdaBoost.MH, AdaBoost.MR, and the product form between them.

Every (instance, label) is right (the instance has the label) or wrong. Each objective gives it a
weight. With W+ and W- the weights of right and wrong labels among the rows of a part of a stump,
the best real prediction there is ``step * ln(W+ / W-)``, and the loss falls by a factor that is an
increasing function of the sum over parts and labels of ``sqrt(W+ W-)``.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from crucial.errors import DataError
from crucial.kernels.elementary import exp, log
from crucial.types import Bools, Floats

__all__ = ["LABEL_OBJECTIVES", "LabelObjective", "ProductLoss", "TwoClassLoss", "WithinLoss"]


class LabelObjective:
    """Base class of the objectives of label rankers.

    Parameters
    ----------
    right : bool array of shape (n_rows, n_labels)
        Which labels each row has.
    weight : array of shape (n_rows,)
        Positive.
    """

    #: Factor on ``ln(W+ / W-)``, the best prediction of a part.
    step: ClassVar[float]
    #: Summed weight of all (row, label): 1, or 1 for right and 1 for wrong labels.
    mass: ClassVar[float]

    def __init__(self, right: Bools, weight: Floats) -> None:
        self.right = right
        with np.errstate(divide="ignore"):
            self._log_weight: Floats = log(weight / weight.max())[:, None]
        self._sign = np.where(right, 1.0, -1.0)
        self._start = 0.0
        self._start = self.weigh(np.zeros(right.shape))[1]

    def weigh(self, scores: Floats) -> tuple[Floats, float]:
        """Return the weight of every (row, label), negative if wrong, and the log of the loss.

        The loss is relative to that of scores of 0.
        """
        raise NotImplementedError

    def factor(self, criterion: Floats) -> Floats:
        """Return a bound on the factor on the loss, given a stump's sum of ``sqrt(W+ W-)``."""
        raise NotImplementedError

    def _exponents(self, scores: Floats) -> Floats:
        """Return ``ln u - Y f`` of every (row, label), with Y = 1 if right and -1 if wrong."""
        return self._log_weight - self._sign * scores

    def log_parts(self, scores: Floats) -> tuple[float, float]:
        """Return the logarithms of F+ and F-, up to the same constant.

        F+ is the sum of ``u exp(-f)`` over right (row, label), F- that of ``u exp(f)`` over wrong
        ones.
        """
        exponent = self._exponents(scores)
        return _log_sum(exponent[self.right]), _log_sum(exponent[~self.right])


def _log_sum(values: Floats) -> float:
    top = float(values.max(initial=-np.inf))
    return top if math.isinf(top) else top + log(float(exp(values - top).sum()))


class TwoClassLoss(LabelObjective):
    """AdaBoost.MH: the sum of ``exp(-Y_i[l] f(x_i, l))`` over all (row, label).

    Every (row, label) is an example of two classes, right and wrong (Schapire & Singer
    1999, section 4; F_MH of Rudin & Schapire 2009, section 5.1).
    """

    step, mass = 0.5, 1.0

    def weigh(self, scores: Floats) -> tuple[Floats, float]:
        """Return weights that sum to 1, and the log of the loss."""
        exponent = self._exponents(scores)
        top = float(exponent.max())
        weights = exp(exponent - top)
        total = float(weights.sum())
        return self._sign * (weights / total), top + log(total) - self._start

    def factor(self, criterion: Floats) -> Floats:
        """Return ``Z = 2 sum sqrt(W+ W-)``, which is attained (their equation 11)."""
        return 2.0 * criterion


class ProductLoss(LabelObjective):
    """``F+ F-``: the sum of ``exp(f(x_k, m) - f(x_i, l))`` over all right (i, l), wrong (k, m).

    Pairs across instances count too, which makes it RankBoost over (row, label): the form of
    AdaBoost.MR that Rudin & Schapire (2009, section 5.1) show to be equivalent to AdaBoost.MH
    (where they write a minus between the two sums, a product is meant).
    """

    step, mass = 0.5, 2.0

    def weigh(self, scores: Floats) -> tuple[Floats, float]:
        """Return weights, of which right labels sum to 1 and wrong ones to -1, and the log loss."""
        exponent = self._exponents(scores)
        good, bad = self.log_parts(scores)
        pi = exp(exponent - np.where(self.right, good, bad))
        pi *= self._sign
        return pi, good + bad - self._start

    def factor(self, criterion: Floats) -> Floats:
        """Return ``Z = (sum sqrt(W+ W-))^2``, which is attained."""
        return criterion * criterion


class WithinLoss(LabelObjective):
    """AdaBoost.MR: pairs of a wrong and a right label of the same instance.

    The sum of ``exp(f(x_i, l0) - f(x_i, l1))`` with weight ``1 / (|Y_i| |not Y_i|)``, so that
    every row with both kinds of labels counts the same (Schapire & Singer 1999, section 6).
    Rows with only one kind have no pair. O(labels) per row, since the weight of a pair is a
    product (their figure 5).
    """

    step, mass = 0.25, 2.0

    def __init__(self, right: Bools, weight: Floats) -> None:
        n_right = right.sum(axis=1)
        pairs = n_right * (right.shape[1] - n_right)
        if not pairs.any():
            raise DataError(
                "objective='mr' compares right with wrong labels of the same row, and every row "
                "has only one kind; use 'mh' or 'mr_product'."
            )
        with np.errstate(divide="ignore"):
            self._log_share = -log(pairs)[:, None]
        self._log_share[pairs == 0] = -np.inf
        super().__init__(right, weight)

    def weigh(self, scores: Floats) -> tuple[Floats, float]:
        """Return weights, of which right labels sum to 1 and wrong ones to -1, and the log loss."""
        exponent = -self._sign * scores
        sums = []
        for mask in (self.right, ~self.right):
            part = np.where(mask, exponent, -np.inf)
            top = part.max(axis=1, keepdims=True)
            top[np.isinf(top)] = 0.0
            with np.errstate(divide="ignore"):
                sums.append(top + log(exp(part - top).sum(axis=1, keepdims=True)))
        share = np.where(np.isinf(self._log_share), -np.inf, self._log_share + self._log_weight)
        # Times the sum of the other kind, a label's weight is that of all pairs it is in.
        known = np.isfinite(share)
        other = np.where(self.right, sums[1], sums[0])
        log_pairs = np.where(known, share + sums[0] + sums[1], -np.inf)
        total = _log_sum(log_pairs)
        with np.errstate(invalid="ignore"):
            pi = np.where(known, exp(exponent + other + share - total), 0.0)
        return self._sign * pi, total - self._start

    def factor(self, criterion: Floats) -> Floats:
        """Return a bound: ``Z <= sum sqrt(W+ W-)``, as ``e^{a - b} <= (e^{2a} + e^{-2b}) / 2``."""
        return criterion


LABEL_OBJECTIVES: dict[str, type[LabelObjective]] = {
    "mh": TwoClassLoss,
    "mr": WithinLoss,
    "mr_product": ProductLoss,
}
