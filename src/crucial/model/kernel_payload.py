"""The form in which a kernel ranker is written to a model file."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import numpy as np

from crucial.errors import NotRankedError
from crucial.model.kernel import Column, KernelRanker
from crucial.model.kernel_functions import Kernel
from crucial.model.weak import ScaledFeature
from crucial.parameters import refuse

__all__ = ["KernelPayload"]


class _KernelColumn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ranker: ScaledFeature
    scale: float
    offset: float


class _Kernel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    form: Literal["linear", "rbf", "poly", "precomputed"]
    gamma: float
    degree: int
    coef0: float


class KernelPayload(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="kernel"
):
    """A `KernelRanker` as it is written.

    A precomputed kernel has numbers of ``rows``, all others have ``support`` rows.
    """

    n_features: int
    feature_names: list[str] | None
    kernel: _Kernel
    columns: list[_KernelColumn]
    support: list[list[float]]
    rows: list[int]
    coefficients: list[float]
    training: dict[str, Any]

    @classmethod
    def of(cls, model: KernelRanker) -> KernelPayload:
        """Return what to write; a kernel of the user's own cannot be written."""
        form = model.kernel.form
        if not isinstance(form, str):
            raise NotRankedError(
                f"the kernel {model.kernel.name!r} is a function, which a model file cannot hold: "
                "it holds numbers only. Pickle the model, or learn from the kernel's values with "
                "kernel='precomputed', whose model can be saved."
            )
        kernel = _Kernel(form, model.kernel.gamma, model.kernel.degree, model.kernel.coef0)  # type: ignore[arg-type]
        names = None if model.feature_names is None else list(model.feature_names)
        return cls(
            model.n_features,
            names,
            kernel,
            [_KernelColumn(one.ranker, one.scale, one.offset) for one in model.columns],
            model.support.tolist(),
            model.rows.tolist(),
            model.coefficients.tolist(),
            dict(model.training),
        )

    def build(self) -> KernelRanker:
        """Return the model, with everything checked."""
        width = len(self.columns)
        for row in self.support:
            if len(row) != width:
                raise refuse("KernelRanker", "support", f"rows of {width} columns", row)
        support = np.array(self.support, np.float64).reshape(len(self.support), width)
        return KernelRanker(
            self.n_features,
            Kernel(self.kernel.form, self.kernel.gamma, self.kernel.degree, self.kernel.coef0),
            [Column(one.ranker, one.scale, one.offset) for one in self.columns],
            support,
            self.coefficients,
            self.feature_names,
            self.training,
            rows=self.rows,
        )
