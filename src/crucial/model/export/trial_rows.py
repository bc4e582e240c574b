"""Rows that an export is tried on: values at and around the thresholds, and abstentions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from crucial.model.export.form import ScoreForm
from crucial.model.export.target import Target
from crucial.types import Floats

__all__ = ["trial_rows"]

_SPECIAL = (0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e-40, 1e30, -1e30)


def trial_rows(
    form: ScoreForm,
    moved: Mapping[int, Floats],
    n_rows: int,
    target: Target,
    seed: int = 0,
) -> Floats:
    """Return made-up rows for every path through the model, as numbers that the engine has.

    Of every used feature a row has, by chance, a threshold, its neighbour on either side, a number
    between two thresholds or beyond them, one of a few special ones, or none. Columns of text have
    the numbers of their categories.

    Parameters
    ----------
    form : ScoreForm
        That of the model.
    moved : mapping from feature to float64 array
        The engine's number for every threshold; values that are on different sides of the two,
        since the user's rows needed the threshold moved, are left out.
    n_rows : int
    target : Target
        The rows contain nothing but numbers that its engine has.
    seed : int

    Returns
    -------
    float64 array of shape (n_rows, form.n_features)
    """
    random = np.random.default_rng(seed)
    out = np.zeros((n_rows, form.n_features))
    for feature, thresholds in form.cuts().items():
        categories = form.encodings.categories.get(feature)
        if categories:
            pool = np.array(sorted({*categories.values()}))
        else:
            pool = target.numbers_of(_pool(thresholds, target.dtype))
        there = np.searchsorted(moved[feature], target.numbers_of(pool))
        pool = pool[np.searchsorted(thresholds, pool) == there]
        column = random.choice(pool, n_rows) if len(pool) else np.full(n_rows, np.nan)
        column[random.random(n_rows) < 0.15] = np.nan
        out[:, feature] = column
    return out


def _pool(thresholds: Floats, numbers: type[np.floating]) -> Floats:
    """Return the values that a feature is tried on."""
    special = np.array(_SPECIAL, numbers)
    if not len(thresholds):
        return special.astype(np.float64)
    own = thresholds.astype(numbers)
    beside = [own, np.nextafter(own, numbers(-np.inf)), np.nextafter(own, numbers(np.inf))]
    between = (own[1:] / 2 + own[:-1] / 2) if len(own) > 1 else own[:0]
    with np.errstate(over="ignore"):
        span = float(np.ptp(thresholds)) or max(1.0, abs(float(thresholds[0])))
        beyond = np.array([thresholds[0] - span, thresholds[-1] + span])
    # (presence is asked by a comparison with the largest float32 number)
    limit = float(np.finfo(numbers).max) / (4 if numbers is np.float32 else 1)
    often = np.repeat(special, max(1, len(own) // 20))
    pool = np.concatenate((*beside, between, np.clip(beyond, -limit, limit).astype(numbers), often))
    inside: Floats = pool[np.abs(pool) <= limit].astype(np.float64)
    return inside
