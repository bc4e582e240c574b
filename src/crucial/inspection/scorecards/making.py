"""Make a scorecard of an additive ranker: bins, odds, points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from crucial.errors import Argument, DataError, Message
from crucial.inspection.calibration import Calibration, fit_calibration
from crucial.inspection.pipelines import inner_ranker
from crucial.inspection.ranking_curves import roc_curve
from crucial.inspection.scorecards.card import CardFeature, Scale, Scorecard
from crucial.inspection.scorecards.cells import BinnedFeature, bin_feature
from crucial.inspection.scorecards.inputs import (
    card_model,
    check_classes,
    good_words,
    row_weights,
    two_labels,
)
from crucial.inspection.scorecards.points import card_features, exact_points, score_bands
from crucial.inspection.shape_functions import shapes
from crucial.measures.evaluation import evaluate
from crucial.model.base import checked_rows
from crucial.parameters import above, at_least, between, check, flag, instance_of, none_or, one_of
from crucial.results import listed
from crucial.types import Floats, Ints, TableLike, VectorLike

__all__ = ["ANCHORS", "MISSING", "scorecard"]

#: Where the points of each feature begin.
ANCHORS = ("lowest", "neutral", "spread")
#: What missing values get in a feature that no row misses, and what that is in words.
MISSING = {
    "neutral": "the mean of the rows",
    "lowest": "the lowest of the feature",
    "model": "the model's default",
}
_FEW = 50  # goods, or bads, below which the odds are hardly known


def scorecard(
    ranker: object,
    X: TableLike,
    y: VectorLike,
    *,
    sample_weight: VectorLike | None = None,
    points_to_double_odds: float = 20.0,
    base_points: float = 600.0,
    base_odds: float = 50.0,
    low_is_good: bool = False,
    good_from: float | None = None,
    max_bins: int | None = 6,
    min_share: float = 0.05,
    max_features: int | None = None,
    anchor: str = "lowest",
    missing_points: str = "neutral",
    title: str = "Scorecard",
) -> Scorecard:
    """Turn an additive ranker into a scorecard: integer points per bin of each feature.

    What each feature adds is cut into few bins, the sum is calibrated to odds by a logistic fit
    on the rows, and the log odds are scaled to points (Siddiqi 2006, chapter 6):
    ``points = base_points + points_to_double_odds * log2(odds / base_odds)``. The card states what
    bins and rounding cost, as areas under the ROC curve.

    Parameters
    ----------
    ranker : fitted estimator or AdditiveRanker
        A sum of functions of one feature, trained without queries: `RankBoost`, `PNormPush`,
        `LogisticRanker` and the other boosted stumps; linear rankers, whose lines become steps.
        Of a pipeline, the last step: features are those that arrive there.
    X, y : rows and labels
        To calibrate and count on; best rows that the ranker was not trained on, as its odds are
        too good on others. Labels have two values, or see ``good_from``.
    sample_weight : array-like of shape (n_rows,), optional
        A row of weight 2 counts as two rows.
    points_to_double_odds : float
        Points that double the odds.
    base_points, base_odds : float
        Points that stand for odds of ``base_odds`` good rows to 1 bad row.
    low_is_good : bool
        Whether the lower label is the good one, as where 1 marks a default: points then rise
        against the ranker's score.
    good_from : float, optional
        Labels from this value on count as the higher one.
    max_bins : int or None
        Most bins of a feature, besides the one for missing values. None keeps all steps.
    min_share : float
        Least share of the rows in a bin, in [0, 0.5]; missing values and categories that no row
        has are exempt.
    max_features : int, optional
        Keep the features whose points vary most.
    anchor : {"lowest", "neutral", "spread"}
        Where points begin. "lowest": the lowest bin of each feature has 0 points, and every row
        starts with the same points. "neutral": the mean points of each feature are about 0.
        "spread": rows start with 0 points, the rest is spread over the features.
    missing_points : {"neutral", "lowest", "model"}
        Points of missing values in features that no row misses, and of new categories in them:
        the mean points of the feature over the rows, which moves nobody up or down; its lowest
        points; or the model's default, which nothing was learned about and which may be the best
        points. Where rows miss values, the points are the model's.
    title : str

    Returns
    -------
    Scorecard
        ``score(X)``, ``reasons(X)``, ``to_frame()``, ``save("card.html")``.

    Notes
    -----
    ``max_bins`` and ``min_share`` were chosen on the German credit, crx, saheart and breast cancer
    data: on rows that neither ranker nor card had seen, these points lost no area under the ROC
    curve.

    Examples
    --------
    >>> from crucial.model.additive import AdditiveRanker
    >>> from crucial.model.weak import Stump
    >>> model = AdditiveRanker(2, [Stump(0, 2.5, 0), Stump(1, 7, 0)], [1.0, 0.5], ["age", "income"])
    >>> X = np.array([[1, 5], [2, 9], [3, 5], [4, 9], [1, 9], [4, 5]])
    >>> card = scorecard(model, X, [0, 1, 1, 1, 0, 0], base_points=100, base_odds=1)
    >>> [(one.text, one.points) for one in card.features[0].bins]
    [('up to 2', 0), ('above 2', 80), ('missing (abstains)', 40)]
    >>> card.start, card.score(X).tolist()
    (40, [40, 80, 120, 160, 80, 120])
    """
    _check_scale(points_to_double_odds, base_points, base_odds)
    for name, value, rule in (
        ("low_is_good", low_is_good, flag),
        ("good_from", good_from, none_or(between(-1e300, 1e300))),
        ("max_bins", max_bins, none_or(at_least(2))),
        ("min_share", min_share, between(0, 0.5)),
        ("max_features", max_features, none_or(at_least(1))),
        ("anchor", anchor, one_of(*ANCHORS)),
        ("missing_points", missing_points, one_of(*MISSING)),
        ("title", title, instance_of(str)),
    ):
        check("scorecard", name, value, rule)
    inner = inner_ranker(ranker)
    model = card_model(inner.ranker, inner.names)
    rows = checked_rows(model, inner.rows(X))
    labels = two_labels(y, rows.n_rows, good_from)
    weight, row_unit = row_weights(sample_weight, rows.n_rows)
    check_classes(labels, weight)
    scores = model.predict(rows)
    binned, bins = [], []
    for shape in shapes(model).features:
        column = rows.column(shape.feature).astype(np.float64)
        unit = model.encodings.times.get(shape.feature, "")
        one = bin_feature(shape, column, weight, unit, max_bins, min_share)
        one = _with_missing(one, missing_points, low_is_good)
        binned.append(one)
        bins.append(one.bins(column))
    kept = _most_varied(binned, max_features)
    total = np.zeros(rows.n_rows)
    for j in sorted(kept, key=lambda j: binned[j].feature):  # (added in the order of the model)
        total += binned[j].values[bins[j]]
    total += model.intercept
    calibration = _calibrated(total, labels, weight, row_unit)
    sign = -1.0 if low_is_good else 1.0
    good = 1.0 - labels if low_is_good else labels
    signed = Calibration(
        sign * calibration.intercept,
        sign * calibration.slope,
        calibration.intercept_error,
        calibration.slope_error,
        calibration.separated,
    )
    scale = Scale(float(points_to_double_odds), float(base_points), float(base_odds))
    start, exact = exact_points([binned[j] for j in kept], model.intercept, signed, scale, anchor)
    features, points = card_features(
        [binned[j] for j in kept],
        exact,
        [bins[j] for j in kept],
        good,
        weight,
        row_unit,
        model,
        start,
    )
    if not features:
        raise DataError(
            "no feature has points: each rounds to 0 points in all bins.",
            remedy=Message("Set a larger ", Argument("points_to_double_odds"), "."),
        )
    names = {one.name for one in features}
    by_points = roc_curve(good, points, sample_weight=weight)
    return Scorecard(
        features,
        round(start),
        scale,
        signed,
        good_words(y, labels, low_is_good, good_from),
        float(weight.sum()) * row_unit,
        float(weight @ good) * row_unit,
        {
            "model": roc_curve(labels, scores, sample_weight=weight).auc,
            "bins": roc_curve(labels, total, sample_weight=weight).auc,
            "points": by_points.auc,
        },
        _auc_interval(good, points, weight),
        float((by_points.beta - by_points.alpha).max()),
        score_bands(points, good, weight, row_unit, scale),
        tuple(one.name for one in binned if one.name not in names),
        title,
        _notes(calibration, good, weight * row_unit, features, missing_points),
        model,
        inner,
    )


def _check_scale(points_to_double_odds: float, base_points: float, base_odds: float) -> None:
    """Check the parameters of the scale of points."""
    rule = between(0, 1e9, low_open=True)
    check("scorecard", "points_to_double_odds", points_to_double_odds, rule)
    check("scorecard", "base_points", base_points, between(-1e9, 1e9))
    check("scorecard", "base_odds", base_odds, above(0))


def _with_missing(one: BinnedFeature, points: str, low_is_good: bool) -> BinnedFeature:
    """Return a feature with other points for missing values, if no row misses it."""
    if points == "model" or one.weight[-1] > 0:
        return one
    known, weight = one.values[:-1], one.weight[:-1]
    value = np.average(known, weights=weight)
    if points == "lowest":
        value = known.max() if low_is_good else known.min()
    return replace(one, values=np.append(known, value))


def _most_varied(binned: Sequence[BinnedFeature], max_features: int | None) -> list[int]:
    """Return the features to keep, largest standard deviation over the rows first."""
    spread = []
    for one in binned:
        mean = np.average(one.values, weights=one.weight)
        spread.append(float(np.sqrt(np.average((one.values - mean) ** 2, weights=one.weight))))
    order = sorted(range(len(binned)), key=lambda j: (-spread[j], binned[j].feature))
    return order[:max_features]


def _calibrated(total: Floats, labels: Floats, weight: Floats, unit: float) -> Calibration:
    """Return the logistic fit; refuse one that would turn the ranking around."""
    there = weight > 0
    total, labels, weight = total[there], labels[there], weight[there]
    if total.min() == total.max():
        raise DataError(
            "the ranker gives all rows the same score: there are no odds to fit. Pass other rows."
        )
    found = fit_calibration(total, labels, weight * unit)
    if found.slope <= 0:
        area = roc_curve(labels, total, sample_weight=weight).auc
        raise DataError(
            f"the ranker puts the lower label first on these rows (AUC {area:.3f}), and its points "
            "would say the opposite of its scores.",
            remedy=Message(
                "Check the labels; ", Argument("low_is_good"), " does not change what was learned."
            ),
        )
    return found


def _auc_interval(good: Floats, points: Ints, weight: Floats) -> tuple[float, float] | None:
    """Return the 95% interval of the area under the ROC curve by points, from the rows."""
    found = evaluate(good, points, measures="auc", sample_weight=weight, intervals=True)
    interval = found.results["auc"].interval
    return None if interval is None or np.isnan(interval).any() else interval


def _notes(
    calibration: Calibration,
    good: Floats,
    weight: Floats,
    features: Sequence[CardFeature],
    missing_points: str,
) -> tuple[str, ...]:
    """Return what to know before the card is used."""
    notes = []
    if calibration.separated:
        notes.append(
            "Some score separates all good rows from all bad ones, so the odds have no largest "
            "likelihood; they are fitted to Platt's targets, and stand for little beyond these "
            "rows."
        )
    few = min(float(weight @ good), float(weight @ (1.0 - good)))
    if few < _FEW:
        notes.append(
            f"The rarer label has {few:g} rows, fewer than {_FEW}: the odds are hardly known "
            "(see the standard errors)."
        )
    never = [one.name for one in features if not one.bins[-1].rows]
    if never:
        what = "any value" if len(never) == len(features) else f"a value of {listed(never)}"
        notes.append(
            f"No row misses {what}: the points of a missing value are "
            f"{MISSING[missing_points]} there, since these rows say nothing about it "
            "(missing_points sets others)."
        )
    return tuple(notes)
