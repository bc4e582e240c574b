"""Effects of covariates on who wins: slopes with intervals and tests."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from crucial.apps.preferences.board import Effect
from crucial.apps.preferences.paired import PairedLikelihood
from crucial.apps.preferences.uncertainty import (
    inverse_curvature,
    p_of,
    quantile,
    sandwich_covariance,
)
from crucial.types import Floats, Ints

__all__ = ["covariate_effects"]


def covariate_effects(
    model: PairedLikelihood,
    p: Floats,
    covariates: Sequence[str],
    level: float,
    groups: Ints | None,
) -> tuple[Effect, ...]:
    """Return slopes of covariates with intervals and tests: Wald's, or those of the sandwich.

    Parameters
    ----------
    model : PairedLikelihood
    p : array
        Its parameters at the maximum.
    covariates : sequence of str
    level : float
        Of the intervals.
    groups : array, optional
        Numbers of the judges or contexts that are independent; without, comparisons are.
    """
    if not covariates:
        return ()
    if groups is not None:
        covariance, freedom = sandwich_covariance(model, p, groups)
    else:
        covariance, freedom = inverse_curvature(model, p), math.inf
    errors = np.sqrt(np.diag(covariance))
    found = []
    for j, name in enumerate(covariates):
        slope, error = float(p[model.n + j]), float(errors[model.n + j])
        half = quantile((1 - level) / 2, freedom) * error
        chance = p_of(slope, error, freedom)
        found.append(Effect(name, slope, slope - half, slope + half, chance))
    return tuple(found)
