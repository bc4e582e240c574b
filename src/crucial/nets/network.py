"""A feed-forward net with one score per row, and its gradient by backpropagation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crucial.kernels.elementary import column_sums, log, matrix_product, row_products, row_sums
from crucial.model.net import activated, slope_of
from crucial.types import Floats, Ints

__all__ = ["Inputs", "Network"]


@dataclass(frozen=True)
class Inputs:
    """The columns of rows.

    Attributes
    ----------
    matrix : array or scipy CSR array of shape (n_rows, n_columns)
    shift : array of shape (n_columns,), or None
        Added to every row: so a sparse matrix stays sparse although its columns are centred.
    """

    matrix: Any
    shift: Floats | None = None

    def take(self, rows: Ints) -> Inputs:
        """Return some rows."""
        return Inputs(self.matrix[rows], self.shift)

    def times(self, weights: Floats) -> Floats:
        """Return the product with a matrix of shape (n_columns, k)."""
        if isinstance(self.matrix, np.ndarray):
            return matrix_product(self.matrix, weights)
        product = np.asarray(self.matrix @ weights)
        return product if self.shift is None else product + column_sums(weights, self.shift)

    def back(self, by_product: Floats) -> Floats:
        """Return the gradient by that matrix, given the gradient by the product."""
        if isinstance(self.matrix, np.ndarray):
            return matrix_product(self.matrix.T, by_product)
        found = np.asarray(self.matrix.T @ by_product)
        if self.shift is None:
            return found
        return np.asarray(found + np.multiply.outer(self.shift, by_product.sum(axis=0)))


def _normal(random: np.random.Generator, size: int) -> Floats:
    """Draw normal numbers by the polar method (Marsaglia & Bray 1964).

    Those of NumPy contain logarithms of the C library, whose last digits depend on the CPU.
    """
    out = np.zeros(0)
    while len(out) < size:
        x, y = 2.0 * random.random((2, size)) - 1.0
        square = x * x + y * y
        inside = (square > 0.0) & (square < 1.0)
        within = square[inside]
        out = np.append(out, x[inside] * np.sqrt(-2.0 * log(within) / within))
    return out[:size]


class Network:
    """``s = v . a(W_k a(... a(W_1 x + b_1)) + b_k)``; without hidden layers, ``s = v . x``.

    The score has no bias, which no comparison would see. All weights and biases are one vector
    theta: layer after layer ``W`` row by row and ``b``, then ``v``.

    Parameters
    ----------
    n_columns : int
    hidden : sequence of int
        Units of every hidden layer.
    activation : {"tanh", "relu"}
    """

    def __init__(self, n_columns: int, hidden: Sequence[int], activation: str = "tanh") -> None:
        self._widths, self.activation = [n_columns, *hidden], activation
        self._shapes = [(b, a) for a, b in zip(self._widths, self._widths[1:])]
        self.n_weights = sum(b * a + b for b, a in self._shapes) + self._widths[-1]

    def initial(self, random: np.random.Generator) -> Floats:
        """Draw weights whose sums keep the size of what they add; zeros without hidden layers."""
        if not self._shapes:
            return np.zeros(self.n_weights)
        parts = []
        for b, a in self._shapes:
            parts += [_normal(random, b * a) / np.sqrt(max(a, 1)), np.zeros(b)]
        parts.append(_normal(random, self._widths[-1]) / np.sqrt(self._widths[-1]))
        return np.concatenate(parts)

    def layers(self, theta: Floats) -> tuple[list[tuple[Floats, Floats]], Floats]:
        """Return W and b of every hidden layer, and v."""
        out, at = [], 0
        for b, a in self._shapes:
            out.append((theta[at : at + b * a].reshape(b, a), theta[at + b * a : at + b * a + b]))
            at += b * a + b
        return out, theta[at:]

    def scores(self, theta: Floats, inputs: Inputs) -> Floats:
        """Return the score of every row."""
        return self._forward(theta, inputs)[0]

    def _forward(self, theta: Floats, inputs: Inputs) -> tuple[Floats, list[Floats]]:
        """Return the scores, and what every hidden layer gives out."""
        layers, v = self.layers(theta)
        outs: list[Floats] = []
        for number, (weights, bias) in enumerate(layers):
            total = inputs.times(weights.T) if number == 0 else row_products(outs[-1], weights)
            outs.append(activated(total + bias, self.activation))
        scores = row_sums(outs[-1], v) if outs else inputs.times(v[:, None])[:, 0]
        return scores, outs

    def gradient(self, theta: Floats, inputs: Inputs, loss: Any) -> tuple[float, Floats]:
        """Return a loss of the scores and its gradient by theta.

        Parameters
        ----------
        loss : function of scores
            Returns the loss and its gradient by the scores, the lambda of every row, which is
            passed back through the net once.
        """
        scores, outs = self._forward(theta, inputs)
        value, by_score = loss(scores)
        layers, v = self.layers(theta)
        if not outs:
            return value, inputs.back(by_score[:, None])[:, 0]
        parts = [column_sums(outs[-1], by_score)]
        back = np.multiply.outer(by_score, v)
        for number in reversed(range(len(layers))):
            back = back * slope_of(outs[number], self.activation)
            below = inputs.back(back).T if number == 0 else matrix_product(back.T, outs[number - 1])
            parts[:0] = [below.ravel(), back.sum(axis=0)]
            if number:
                back = matrix_product(back, layers[number][0])
        return value, np.concatenate(parts)

    def slopes(self, theta: Floats, inputs: Inputs) -> Floats:
        """Return the root mean square slope of the score along every column."""
        layers, v = self.layers(theta)
        outs = self._forward(theta, inputs)[1]
        if not outs:
            return np.abs(v)
        back = np.broadcast_to(v, outs[-1].shape)
        for number in reversed(range(len(layers))):
            back = back * slope_of(outs[number], self.activation)
            back = matrix_product(back, layers[number][0])
        return np.asarray(np.sqrt(np.mean(back**2, axis=0)))
