"""Score what was written, and compare with the model, before a file is moved into place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crucial.errors import NotRankedError
from crucial.model.export.form import ScoreForm
from crucial.model.export.settings import ExportSettings
from crucial.model.export.target import Target
from crucial.types import Floats

__all__ = ["Verification", "verified"]


@dataclass(frozen=True)
class Verification:
    """What an export was tried on, and how it compares.

    Attributes
    ----------
    n_rows : int
        Rows that were scored.
    n_data : int
        Those of the user's own among them.
    n_thresholds : int
        Rows with a value that is a threshold.
    by : str
        The engine and its version, or the twin of its evaluation.
    same_scores : bool
        Whether all scores are the same numbers as the model's.
    n_swapped : int
        Neighbours in the order of the model's scores that the engine orders or ties differently.
    difference : float
        Largest difference of two scores.
    lowest : float
        The least score of the engine.
    """

    n_rows: int
    n_data: int
    n_thresholds: int
    by: str
    same_scores: bool
    n_swapped: int
    difference: float
    lowest: float

    def __str__(self) -> str:
        rows = f"{self.n_rows:,} rows"
        if self.n_data:
            rows += f" ({self.n_data:,} of the data)"
        order = "identical order"
        if self.n_swapped:
            order = (
                f"{self.n_swapped:,} of {self.n_rows - 1:,} neighbours in the order differ, by "
                "rounding"
            )
        equal = "scores equal" if self.same_scores else f"scores within {self.difference:.1g}"
        return f"{rows}, {self.n_thresholds:,} on thresholds, {self.by}: {order}, {equal}"


def verified(
    target: Target,
    content: bytes,
    form: ScoreForm,
    settings: ExportSettings,
    rows: Floats,
    expected: Floats,
    n_data: int = 0,
) -> Verification:
    """Score rows by what was written, and refuse an export that scores them differently.

    Parameters
    ----------
    target : Target
    content : bytes
        What was written.
    form : ScoreForm
        What it was written from.
    settings : ExportSettings
    rows : float64 array of shape (n_rows, n_features)
        Numbers that the engine has.
    expected : float64 array of shape (n_rows,)
        The scores of the model.
    n_data : int
        The first rows that are the user's own.

    Raises
    ------
    NotRankedError
        A score differs by more than rounding.
    """
    found = target.twin(content, rows, form, settings)
    by = f"the twin of {target.engine_name or target.name}'s evaluation"
    if target.engine is not None:
        try:
            by_engine, by = target.engine(content, rows, form, settings)
        except ImportError as error:
            by += f" ({error})"
        else:
            near = 1e-6 if settings.probability else target.rounding(form)
            near = near if settings.probability or target.numbers == "float64" else 0.0
            pair = f"{by} and the twin of its evaluation"
            if by_engine is not None:
                _refuse_difference(by_engine, found, rows, near, pair)
                found = by_engine
    reach = target.rounding(form)
    reach = max(reach, 1e-12) if settings.probability else reach  # (functions exp differ)
    _refuse_difference(found, expected, rows, reach, f"{by} and the model")
    on = [np.isin(rows[:, feature], cuts) for feature, cuts in form.cuts().items()]
    return Verification(
        len(rows),
        n_data,
        int(np.any(on, axis=0).sum()) if on else 0,
        by,
        bool(np.array_equal(found, expected)),
        _swapped(expected, found),
        float(np.abs(found - expected).max(initial=0.0)),
        float(found.min(initial=np.inf)),
    )


def _refuse_difference(
    found: Floats, expected: Floats, rows: Floats, reach: float, of: str
) -> None:
    wrong = np.flatnonzero(~(np.abs(found - expected) <= reach))
    if len(wrong):
        row = int(wrong[0])
        raise NotRankedError(
            f"the export was not written: {of} differ on {len(wrong):,} of {len(rows):,} rows, "
            f"the first with scores {float(found[row])!r} and {float(expected[row])!r}. This is an "
            "error of the export; please report the model file."
        )


def _swapped(expected: Floats, found: Floats) -> int:
    """Return how many neighbours in the order of the model the engine orders differently."""
    order = np.argsort(expected, kind="stable")
    return int(np.sum(np.sign(np.diff(expected[order])) != np.sign(np.diff(found[order]))))
