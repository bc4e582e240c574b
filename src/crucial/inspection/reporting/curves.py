"""Curves of a report without queries: ROC, precision-recall, gain, lift, calibration."""

from __future__ import annotations

import numpy as np

from crucial.inspection.curve_parts import read_rows
from crucial.inspection.precision_curves import precision_recall_curve
from crucial.inspection.ranking_curves import roc_curve
from crucial.inspection.reliability import calibration_curve
from crucial.inspection.reporting.subject import PageData, Subject
from crucial.measures.evaluation import evaluate
from crucial.types import Floats, Ints

__all__ = ["cutoffs_to", "row_curves"]

_CURVE_POINTS = 250  # of a curve, at most
_FIRST = (*range(1, 21), 25, 30, 40, 50, 75, 100)


def cutoffs_to(longest: int) -> list[int]:
    """Return the cut-offs that a page offers: few but for the first, up to a number of rows.

    Examples
    --------
    >>> cutoffs_to(1234)[-9:]
    [100, 150, 200, 300, 400, 500, 750, 1000, 1234]
    """
    found = list(_FIRST)
    unit = 100
    while unit < longest:
        found += [unit * tenths // 10 for tenths in (15, 20, 30, 40, 50, 75, 100)]
        unit *= 10
    return [k for k in found if k < longest] + ([longest] if longest > 0 else [])


def row_curves(subject: Subject) -> PageData | None:
    """Return the curves of all rows as one list; None if there are queries or one label only.

    All curves follow from how much the first rows contain, tied rows by expectation over their
    order: straight lines between blocks of equal scores. Labels of more than two values have gain
    and lift alone.
    """
    labels = np.unique(subject.y)
    if subject.has_queries or len(labels) < 2 or (len(labels) > 2 and labels[0] < 0):
        return None
    two = len(labels) == 2
    worth = (subject.y == labels[1]).astype(np.float64) if two else subject.y
    rows = read_rows(worth, subject.scores, None, "report")
    seen, found = rows.sums(rows.weight), rows.sums(rows.y)
    ks = cutoffs_to(len(worth))
    grid = np.union1d(seen[_thinned(seen / seen[-1], found / found[-1])], ks)
    best = np.concatenate([[0.0], np.cumsum(np.sort(worth)[::-1])])
    data: PageData = {
        "labels": len(labels),
        "label": float(labels[-1]),
        "rows": len(worth),
        "total": float(worth.sum()),
        "seen": _plain(grid),
        "found": _plain(np.interp(grid, seen, found)),
        "best": _plain(best[grid.astype(np.int64)]),
        "ks": ks,
        "at": np.searchsorted(grid, ks).tolist(),
        "score": _plain(rows.scores[np.searchsorted(seen, ks) - 1]),
    }
    if two:
        data |= {
            "roc": _roc(subject, worth),
            "average_precision": precision_recall_curve(worth, subject.scores).average_precision,
            "calibration": _calibration(subject, worth),
        }
    return data


def _thinned(x: Floats, y: Floats) -> Ints:
    """Return which points of a curve to draw: evenly along it, with both ends."""
    along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))])
    if len(along) <= _CURVE_POINTS:
        return np.arange(len(along))
    found = np.searchsorted(along, np.linspace(0.0, along[-1], _CURVE_POINTS))
    return np.unique(np.concatenate([[0], found.clip(0, len(along) - 1), [len(along) - 1]]))


def _plain(values: Floats) -> list[float]:
    return [float(f"{value:.7g}") for value in values.tolist()]


def _roc(subject: Subject, good: Floats) -> PageData:
    """Return the area under the ROC curve with its interval, and the largest distance."""
    curve = roc_curve(good, subject.scores)
    one = evaluate(good, subject.scores, measures="auc", intervals=True).results["auc"]
    low, high = one.interval or (None, None)
    distance = float((curve.beta - curve.alpha).max())
    return {"auc": curve.auc, "low": low, "high": high, "ks": distance}


def _calibration(subject: Subject, good: Floats) -> PageData:
    curve = calibration_curve(good, subject.scores)
    return {
        "expected": _plain(curve.expected),
        "observed": _plain(curve.observed),
        "low": _plain(curve.low),
        "high": _plain(curve.high),
        "brier": curve.brier,
        "error": curve.error,
        "source": curve.source,
    }
