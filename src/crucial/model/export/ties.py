"""Rows that an engine scores differently, since its numbers are coarser than the model's."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from crucial.data.instances import Instances
from crucial.model.export.form import ScoreForm
from crucial.model.export.target import Target
from crucial.types import Floats

__all__ = ["tied_rows"]


def tied_rows(
    form: ScoreForm, cuts: Mapping[int, Floats], data: Instances, target: Target
) -> NDArray[np.bool_]:
    """Return which rows have a value that is on another side of a threshold in the engine.

    Parameters
    ----------
    form : ScoreForm
        That of the model.
    cuts : mapping from feature to float64 array
        The engine's number for every threshold of ``form.cuts()``.
    data : Instances
    target : Target
    """
    found = np.zeros(data.n_rows, bool)
    for feature, thresholds in form.cuts().items():
        values = np.asarray(data.column(feature), np.float64)
        there = np.searchsorted(cuts[feature], target.numbers_of(values))
        found |= np.searchsorted(thresholds, values) != there
    return found
