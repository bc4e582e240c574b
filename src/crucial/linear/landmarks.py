"""A kernel by its values at a few landmarks, after Nystroem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from crucial.data.instances import Instances
from crucial.errors import DataError
from crucial.kernels.elementary import column_sums, dot, expect_products
from crucial.linear.spaces import FeatureSpace
from crucial.model.kernel import Column, Kernel, KernelRanker
from crucial.types import Floats

__all__ = ["Landmarks"]

# A landmark is not taken where the others explain all but this share of the largest kernel.
_EXPLAINED = 1e-12


@dataclass(frozen=True)
class Landmarks:
    """Rows by their kernels with a few landmarks; see `representations.Representation`.

    Landmarks are chosen one by one, each the row that those before explain worst, which is Cholesky
    factorisation with pivots (Fine & Scheinberg 2001): K is approximated by ``B B'``, and ridge and
    scores of B's columns are those of the kernel on the span of the landmarks.

    Attributes
    ----------
    kernel : Kernel
    columns : tuple of Column
    rows : array of shape (n_landmarks, n_columns)
    matrix : array of shape (n_rows, n_landmarks)
        B.
    corner : array of shape (n_landmarks, n_landmarks)
        Its rows at the landmarks, lower triangular.
    """

    kernel: Kernel
    columns: tuple[Column, ...]
    rows: Floats
    matrix: Floats
    corner: Floats

    @classmethod
    def of(
        cls, kernel: Kernel, columns: tuple[Column, ...], table: Floats, n_landmarks: int
    ) -> Landmarks:
        """Choose landmarks among rows."""
        n = len(table)
        left = kernel.diagonal(table)
        if not (np.isfinite(left) & (left >= 0.0)).all():
            raise DataError(
                f"the {kernel.name} kernel of a row with itself must be finite and not negative.",
                parameter="kernel",
            )
        smallest = _EXPLAINED * float(left.max(initial=0.0))
        most = min(n_landmarks, n)
        matrix = np.zeros((n, most), order="F")
        chosen: list[int] = []
        expect_products(n * most * most // 2)
        while len(chosen) < most:
            # (of rows that are explained equally badly, the first)
            pivot = int(np.argmax(left >= (1.0 - 1e-10) * left.max(initial=0.0)))
            if not left[pivot] > smallest:
                break
            k = len(chosen)
            column = kernel(table, table[pivot : pivot + 1])[:, 0]
            column = column - column_sums(matrix.T[:k], matrix[pivot, :k])
            matrix[:, k] = column / np.sqrt(left[pivot])
            left = np.maximum(left - matrix[:, k] ** 2, 0.0)
            left[pivot] = 0.0
            chosen.append(pivot)
        matrix = np.ascontiguousarray(matrix[:, : len(chosen)])
        corner = np.tril(matrix[chosen])
        return cls(kernel, columns, table[chosen], matrix, corner)

    def space(self, threads: int) -> FeatureSpace:
        """Return where the weights lie."""
        return FeatureSpace(self.matrix, threads)

    @property
    def n_columns(self) -> int:
        """Number of columns of the kernel."""
        return len(self.columns)

    def model(
        self, weights: Floats, instances: Instances, training: Mapping[str, Any]
    ) -> KernelRanker:
        """Return the landmarks with their coefficients."""
        coefficients = np.zeros(len(weights))
        for k in reversed(range(len(weights))):
            known = dot(self.corner[k + 1 :, k], coefficients[k + 1 :])
            coefficients[k] = (weights[k] - known) / self.corner[k, k]
        return KernelRanker(
            instances.n_features,
            self.kernel,
            self.columns,
            self.rows,
            coefficients,
            instances.names,
            training,
        )
