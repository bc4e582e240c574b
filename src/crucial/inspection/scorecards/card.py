"""The scorecard: bins with points, what the points mean, and the score of rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from crucial.inspection.calibration import Calibration, sigmoid
from crucial.inspection.pipelines import InnerRanker
from crucial.inspection.scorecards.cells import BinnedFeature
from crucial.inspection.scorecards.reasons import AGAINST, ReasonCodes
from crucial.model.additive import AdditiveRanker
from crucial.model.base import checked_rows
from crucial.pages import SavedAsHtml
from crucial.parameters import at_least, check, instance_of, one_of
from crucial.results import Frame, as_frame
from crucial.types import Floats, Ints, TableLike

__all__ = ["CardBin", "CardFeature", "Scale", "ScoreBand", "Scorecard"]


@dataclass(frozen=True)
class Scale:
    """How log odds become points.

    Attributes
    ----------
    points_to_double_odds, base_points, base_odds : float
        ``base_points`` stand for odds of ``base_odds`` to 1, and each ``points_to_double_odds``
        more double them.
    """

    points_to_double_odds: float
    base_points: float
    base_odds: float

    @property
    def factor(self) -> float:
        """Points per unit of log odds."""
        return self.points_to_double_odds / math.log(2.0)

    @property
    def offset(self) -> float:
        """Points at odds of 1 to 1."""
        return self.base_points - self.factor * math.log(self.base_odds)

    def points(self, log_odds: Floats) -> Floats:
        """Return points, not rounded."""
        return np.asarray(self.offset + self.factor * log_odds)

    def odds(self, points: float) -> float:
        """Return the odds that points stand for.

        Examples
        --------
        >>> Scale(20, 600, 50).odds(620)
        100.0
        """
        doublings = (points - self.base_points) / self.points_to_double_odds
        return float(self.base_odds * 2.0 ** min(max(doublings, -1000.0), 1000.0))

    def probabilities(self, points: Floats) -> Floats:
        """Return the probabilities that points stand for."""
        return sigmoid((points - self.offset) / self.factor)


@dataclass(frozen=True)
class CardBin:
    """A bin of a feature.

    Attributes
    ----------
    text : str
        The bin in words.
    above, up_to : float
        The bin has values x with ``above < x <= up_to``; NaN for categories and missing values.
    categories : tuple of str
        The categories in it, if the feature has categories.
    missing : bool
        Whether it is the bin of missing values, on which the feature abstains.
    points : int
    exact : float
        The points before rounding.
    rows, goods : float
        Weight of the rows, and of the good rows, in it.
    """

    text: str
    above: float
    up_to: float
    categories: tuple[str, ...]
    missing: bool
    points: int
    exact: float
    rows: float
    goods: float

    @property
    def good_share(self) -> float:
        """Share of good rows; NaN without rows."""
        return self.goods / self.rows if self.rows else math.nan


@dataclass(frozen=True, eq=False)
class CardFeature:
    """A feature of the card.

    Attributes
    ----------
    code : str
        Its reason code: R1 for the feature whose points vary most.
    name : str
    bins : tuple of CardBin
        The last one is for missing values.
    best : int
        Most points of a bin that has rows.
    neutral : float
        Mean points of the rows.
    cut : BinnedFeature
        Which bin a value is in.
    """

    code: str
    name: str
    bins: tuple[CardBin, ...]
    best: int
    neutral: float
    cut: BinnedFeature = field(repr=False)

    @property
    def points(self) -> Ints:
        """Points of the bins."""
        return np.array([one.points for one in self.bins], np.int64)


@dataclass(frozen=True)
class ScoreBand:
    """Rows of neighbouring points.

    Attributes
    ----------
    low, high : int
        Least and most points of its rows.
    rows, goods : float
        Weight of the rows, and of the good rows.
    expected : float
        Mean probability to be good that the points stand for.
    """

    low: int
    high: int
    rows: float
    goods: float
    expected: float


@dataclass(frozen=True, eq=False)
class Scorecard(SavedAsHtml):
    """Result of `scorecard`.

    Attributes
    ----------
    features : tuple of CardFeature
        Features with points; those whose points vary most over the rows come first.
    start : int
        Points that every row has; 0 if they are spread over the features.
    scale : Scale
    calibration : Calibration
        Log odds to be good as a line of the model's score.
    good : str
        Which labels are good.
    n_rows, n_good : float
        Weight of the rows that the card was made on, and of the good ones.
    auc : dict of str to float
        Area under the ROC curve: of the "model", of its "bins" before and of the "points" after
        rounding.
    auc_interval : (float, float) or None
        95% interval of the area by points, from the rows (see `crucial.evaluate`).
    ks : float
        Largest difference between the shares of good and bad rows below some points
        (Kolmogorov and Smirnov).
    bands : tuple of ScoreBand
        The rows by tenths of the points.
    left_out : tuple of str
        Features of the model that have no points on the card.
    title : str
    notes : tuple of str
        What to know before the card is used.
    model : AdditiveRanker
        The model behind the card.
    inner : InnerRanker
        The ranker with the steps of a pipeline in front of it, which rows go through first.
    """

    features: tuple[CardFeature, ...]
    start: int
    scale: Scale
    calibration: Calibration
    good: str
    n_rows: float
    n_good: float
    auc: Mapping[str, float]
    auc_interval: tuple[float, float] | None
    ks: float
    bands: tuple[ScoreBand, ...]
    left_out: tuple[str, ...]
    title: str
    notes: tuple[str, ...]
    model: AdditiveRanker = field(repr=False)
    inner: InnerRanker = field(repr=False)

    @property
    def summary(self) -> str:
        """The card in one sentence."""
        bins = sum(len(one.bins) for one in self.features)
        return (
            f"{len(self.features)} features with {bins} bins; "
            f"AUC {self.auc['points']:.4f} by points, {self.auc['bins']:.4f} before rounding, "
            f"{self.auc['model']:.4f} of the model."
        )

    def __repr__(self) -> str:
        bins = sum(len(one.bins) for one in self.features)
        return f"Scorecard({len(self.features)} features, {bins} bins)"

    def __str__(self) -> str:
        from crucial.inspection.scorecards.text import card_text

        return card_text(self)

    def _repr_html_(self) -> str:
        from crucial.inspection.scorecards.page import card_fragment

        return card_fragment(self)

    def to_frame(self) -> Frame:
        """Return one row per bin, after one for the points that every row has."""
        from crucial.inspection.scorecards.text import card_columns

        return as_frame(card_columns(self))

    def to_sql(self, table: str = "data") -> str:
        """Return a query that computes the points of the rows of a table; NULL abstains.

        Columns are named as the features. Dates are compared with dates and times.
        """
        from crucial.inspection.scorecards.sql import card_sql

        check("to_sql", "table", table, instance_of(str))
        return card_sql(self, table)

    def to_html(self) -> str:
        """Return a page to print; the same card gives the same bytes."""
        from crucial.inspection.scorecards.page import card_page

        return card_page(self)

    def _bins(self, X: TableLike) -> Ints:
        """Return the bin of each row in each feature."""
        rows = checked_rows(self.model, self.inner.rows(X))
        columns = (rows.column(one.cut.feature).astype(np.float64) for one in self.features)
        found = [one.cut.bins(x) for one, x in zip(self.features, columns, strict=True)]
        return np.stack(found, axis=1)

    def _points(self, bins: Ints) -> Ints:
        """Return the points of each row in each feature."""
        return np.stack([one.points[bins[:, j]] for j, one in enumerate(self.features)], axis=1)

    def score(self, X: TableLike) -> Ints:
        """Return the points of rows.

        Parameters
        ----------
        X : array, sparse matrix or frame
            The columns of the model; a missing value or a new category abstains.
        """
        return np.asarray(self.start + self._points(self._bins(X)).sum(axis=1))

    def probabilities(self, X: TableLike) -> Floats:
        """Return the probability to be good that the points of rows stand for."""
        return self.scale.probabilities(self.score(X).astype(np.float64))

    def reasons(self, X: TableLike, top: int = 4, against: str = "best") -> ReasonCodes:
        """Return the features that cost each row most points.

        Parameters
        ----------
        X : array, sparse matrix or frame
        top : int
            Most reasons per row. A feature that costs nothing is none.
        against : {"best", "neutral"}
            What points are compared with: the best bin of the feature that has rows, or the mean
            points of the rows that the card was made on.
        """
        check("reasons", "top", top, at_least(1))
        check("reasons", "against", against, one_of(*AGAINST))
        bins = self._bins(X)
        points = self._points(bins)
        full = [one.best if against == "best" else one.neutral for one in self.features]
        lost = np.array(full, np.float64) - points
        order = np.argsort(-lost, axis=1, kind="stable")[:, :top]
        costs = np.take_along_axis(lost, order, axis=1)
        total = np.asarray(self.start + points.sum(axis=1))
        return ReasonCodes(
            total,
            self.scale.probabilities(total.astype(np.float64)),
            np.where(costs > 0, order, -1),
            np.where(costs > 0, costs, 0.0),
            bins,
            self.features,
            against,
        )
