"""Rows that an export is tried on: values at and around the thresholds, and abstentions."""

from __future__ import annotations

import numpy as np

from crucial.model.export.form import ScoreForm
from crucial.model.export.target import Target
from crucial.types import Floats

__all__ = ["trial_rows"]

_SPECIAL = (0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e-40, 1e30, -1e30)


def trial_rows(
    form: ScoreForm,
    written: ScoreForm,
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
    written : ScoreForm
        The same with the engine's thresholds; values that are on different sides in the two, since
        the user's rows needed the threshold moved, are left out.
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
    cuts, moved = form.cuts(), written.cuts()
    for feature, thresholds in cuts.items():
        categories = form.encodings.categories.get(feature)
        if categories:
            pool = np.array(sorted({*categories.values()}))
        else:
            pool = target.numbers_of(_pool(thresholds, target.dtype))
            same = np.searchsorted(thresholds, pool) == np.searchsorted(moved[feature], pool)
            pool = pool[same]
        column = random.choice(pool, n_rows)
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
    span = float(np.ptp(thresholds)) or max(1.0, abs(float(thresholds[0])))
    beyond = np.array([thresholds[0] - span, thresholds[-1] + span])
    limit = float(np.finfo(numbers).max) / 4
    often = np.repeat(special, max(1, len(own) // 20))
    pool = np.concatenate((*beside, between, np.clip(beyond, -limit, limit).astype(numbers), often))
    inside: Floats = pool[np.abs(pool) <= limit].astype(np.float64)
    return inside
