"""Rows as solvers see them: columns to be weighted, kernels of every two rows, or landmarks.

Each turns the weights that a solver found into a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from crucial.data.instances import Instances
from crucial.errors import DataError
from crucial.linear.dense_rows import dense_design
from crucial.linear.design import Design, Matrix
from crucial.linear.landmarks import Landmarks
from crucial.linear.spaces import FeatureSpace, KernelSpace, Space
from crucial.model.additive import AdditiveRanker
from crucial.model.base import FrozenModel
from crucial.model.kernel import (
    Column,
    Kernel,
    KernelCall,
    KernelRanker,
    check_kernels,
    scaled_columns,
)
from crucial.model.weak import ScaledFeature
from crucial.types import Floats, Ints

__all__ = [
    "KernelRows",
    "KernelSettings",
    "Representation",
    "WeightedColumns",
    "represent",
]

#: Rows of which the kernel of every two fits into memory.
MAX_KERNEL_ROWS = 20_000
# Coefficients below this share of the largest are rounding.
_NO_SUPPORT = 1e-10


class Representation(Protocol):
    """Rows in a form that a solver weighs."""

    def space(self, threads: int) -> Space:
        """Return where the weights lie."""

    @property
    def n_columns(self) -> int:
        """Columns that distinguish rows; 0 where nothing can be learned."""

    def model(
        self, weights: Floats, instances: Instances, training: Mapping[str, Any]
    ) -> FrozenModel:
        """Return the model that these weights make."""


@dataclass(frozen=True)
class KernelSettings:
    """Which kernel, of which columns.

    Attributes
    ----------
    form : str or callable
        See `crucial.model.kernel.Kernel`; or "precomputed".
    gamma : float or None
        None: one over the number of columns times their mean variance.
    degree : int
    coef0 : float
    n_landmarks : int or None
        None: the kernel of every two rows.
    standardise : bool
    """

    form: str | KernelCall
    gamma: float | None = None
    degree: int = 3
    coef0: float = 1.0
    n_landmarks: int | None = None
    standardise: bool = True


def represent(
    instances: Instances,
    rows: Ints,
    weight: Floats | None,
    settings: KernelSettings,
    threads: int = 1,
) -> WeightedColumns | KernelRows | Landmarks:
    """Return rows as a solver sees them.

    Parameters
    ----------
    instances : Instances
    rows : int array
        The rows to learn from.
    weight : array like rows, or None
        Their instance weights, for means and standard deviations of features.
    settings : KernelSettings
    threads : int
    """
    if settings.form == "precomputed":
        return _precomputed(instances, rows, settings)
    if instances.is_sparse:
        design = Design.of(instances, rows, weight, raw=not settings.standardise)
    else:
        design = dense_design(instances, rows, weight, settings.standardise, threads)
    if settings.form == "linear":
        return WeightedColumns(design)
    columns = _columns(design, settings.standardise)
    table = scaled_columns(columns, instances.take_rows(rows))
    kernel = Kernel(settings.form, _gamma(settings, table, weight), settings.degree, settings.coef0)
    if settings.n_landmarks is not None:
        return Landmarks.of(kernel, columns, table, settings.n_landmarks)
    _check_size(len(rows))
    with np.errstate(over="ignore", invalid="ignore"):
        gram = kernel(table, table)
    if not np.isfinite(gram).all():
        raise DataError(
            f"the {kernel.name} kernel overflows.", remedy="Set standardise=True, or lower degree."
        )
    return KernelRows(_symmetric(gram, kernel.name), kernel, columns, table, rows)


def _columns(design: Design, standard: bool) -> tuple[Column, ...]:
    """Return the features of a design as columns of a kernel, with mean 0 or as they are."""
    out = []
    for ranker, scale in zip(design.rankers, design.scale.tolist(), strict=True):
        assert isinstance(ranker, ScaledFeature)
        out.append(Column(ranker, scale, -ranker.default * scale if standard else ranker.low))
    return tuple(out)


def _check_size(n_rows: int) -> None:
    if n_rows > MAX_KERNEL_ROWS:
        raise DataError(
            f"the kernel of every two of {n_rows:,} rows does not fit into memory; up to "
            f"{MAX_KERNEL_ROWS:,} do.",
            remedy="Set n_landmarks, such as 500, or use kernel='linear'.",
            parameter="n_landmarks",
        )


def _precomputed(instances: Instances, rows: Ints, settings: KernelSettings) -> KernelRows:
    """Return the rows of a kernel that was computed by the user."""
    check_kernels(instances)
    n, width = instances.n_rows, instances.n_features
    if n != width:
        raise DataError(
            "a precomputed kernel must be a square matrix, the kernel of every two rows. Got an "
            f"array of shape {(n, width)}.",
            parameter="X",
        )
    _check_size(len(rows))
    gram = np.asarray(instances.dense_table()[np.ix_(rows, rows)], np.float64)
    return KernelRows(
        _symmetric(gram, "precomputed"), Kernel("precomputed"), (), np.zeros((len(rows), 0)), rows
    )


def _symmetric(gram: Floats, name: str) -> Floats:
    """Return a kernel matrix; refuse one that is not symmetric."""
    if not np.allclose(gram, gram.T, rtol=1e-6, atol=1e-8 * float(np.abs(gram).max(initial=0.0))):
        raise DataError(
            f"the {name} kernel must be symmetric: K(x, z) = K(z, x).", parameter="kernel"
        )
    return gram


def _gamma(settings: KernelSettings, table: Floats, weight: Floats | None) -> float:
    """Return the factor of a kernel; by default after the number and variance of the columns."""
    if settings.gamma is not None:
        return settings.gamma
    n_columns = max(1, int(table.shape[1]))
    if settings.standardise or not table.shape[1]:
        return 1.0 / n_columns
    mean = np.average(table, axis=0, weights=weight)
    variance = np.average((table - mean) ** 2, axis=0, weights=weight)
    return 1.0 / float(n_columns * variance.mean())


@dataclass(frozen=True)
class WeightedColumns:
    """Columns of features, one weight each; see `Representation`."""

    design: Design

    @property
    def matrix(self) -> Matrix:
        """Rows by columns."""
        return self.design.matrix

    def space(self, threads: int) -> FeatureSpace:
        """Return where the weights lie."""
        return FeatureSpace(self.design.matrix, threads)

    @property
    def n_columns(self) -> int:
        """Number of features that are not constant."""
        return len(self.design.rankers)

    def model(
        self, weights: Floats, instances: Instances, training: Mapping[str, Any]
    ) -> AdditiveRanker:
        """Return the weighted features."""
        scaled = weights * self.design.scale
        return AdditiveRanker(
            instances.n_features, self.design.rankers, scaled, instances.names, training
        )


@dataclass(frozen=True)
class KernelRows:
    """The kernel of every two rows, one coefficient per row; see `Representation`.

    Attributes
    ----------
    gram : array of shape (n_rows, n_rows)
    kernel : Kernel
    columns : tuple of Column
    table : array of shape (n_rows, n_columns)
        The rows as columns.
    rows : int array of shape (n_rows,)
        Their numbers.
    """

    gram: Floats
    kernel: Kernel
    columns: tuple[Column, ...]
    table: Floats
    rows: Ints

    def space(self, threads: int) -> KernelSpace:
        """Return where the coefficients lie."""
        return KernelSpace(self.gram, threads)

    @property
    def n_columns(self) -> int:
        """Number of columns of the kernel; of rows, for a precomputed one."""
        return len(self.rows) if self.kernel.form == "precomputed" else len(self.columns)

    def model(
        self, weights: Floats, instances: Instances, training: Mapping[str, Any]
    ) -> KernelRanker:
        """Return the rows with a coefficient other than 0."""
        kept = np.flatnonzero(np.abs(weights) > _NO_SUPPORT * np.abs(weights).max(initial=0.0))
        return KernelRanker(
            instances.n_features,
            self.kernel,
            self.columns,
            self.table[kept],
            weights[kept],
            instances.names,
            training,
            rows=self.rows[kept] if self.kernel.form == "precomputed" else None,
        )
