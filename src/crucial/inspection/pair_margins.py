"""Margins: how confidently a ranker orders pairs, or puts rows on the right side of zero."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from crucial.data.groups import Groups
from crucial.errors import DataError, NotRankedError
from crucial.feedback.base import Feedback, MarginCounts, quantiles, shares_at_most
from crucial.feedback.labels import LabelFeedback, check_labels, check_weights
from crucial.feedback.pairs import PairFeedback
from crucial.feedback.sums import SumFeedback
from crucial.inspection.shape_functions import model_of
from crucial.kernels.runtime import count_threads
from crucial.model.additive import AdditiveRanker, sparkline
from crucial.model.base import checked_rows
from crucial.model.weak import Constant, Presence, Stump, Tree, Vote
from crucial.parameters import at_least, check, refuse
from crucial.rankers.classifiers import RankingClassifier
from crucial.results import Axes, Frame, Result, as_frame, new_axes
from crucial.types import Floats, TableLike, VectorLike
from crucial.wording import counted

# --- Margins of pairs: how confidently a ranker orders them (Rudin & Schapire 2009, sections 2, 4)


_QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75)


@dataclass(frozen=True, eq=False, repr=False)
class Margins(Result):
    """The distribution of the margins of all pairs.

    Attributes
    ----------
    minimum, maximum : float
        The margin of the ranker, which is that of its worst pair, and the largest one.
    curve : (margins, shares), two arrays
        Share of the weight of all pairs with a margin of at most each of the margins.
    n_pairs : int
        Number of pairs.
    norm : float
        |lambda|_1, by which differences of scores are divided: the sum of the absolute
        weights of the weak rankers, after adding those of the same ranker. Votes of -1 and 1
        count twice, trees with what their values span, constants not at all.
    """

    _bars = ("share",)

    minimum: float
    maximum: float
    curve: tuple[Floats, Floats]
    n_pairs: int
    norm: float
    _counts: MarginCounts = field(repr=False)

    def quantile(self, q: ArrayLike) -> Any:
        """Return the smallest margin at or below which a share q of the pairs (by weight) is.

        Parameters
        ----------
        q : number or array of numbers in [0, 1]

        Returns
        -------
        float or array of the shape of q
            Margins of pairs, exact to the last bit where all pairs weigh the same.
        """
        wanted = np.asarray(q, np.float64)
        if not ((wanted >= 0.0) & (wanted <= 1.0)).all():
            raise refuse("quantile", "q", "in [0, 1]", q)
        found = quantiles(self._counts, wanted.ravel()).reshape(wanted.shape)
        return float(found) if found.ndim == 0 else found

    def at_most(self, theta: ArrayLike) -> Any:
        """Return the share of the pairs (by weight) with a margin of at most theta.

        `crucial.inspection.margin_bound` takes it as ``below``; at 0 it is R1.
        """
        wanted = np.asarray(theta, np.float64)
        if np.isnan(wanted).any():
            raise refuse("at_most", "theta", "a number or numbers", theta)
        found = shares_at_most(self._counts, wanted.ravel()).reshape(wanted.shape)
        return float(found) if found.ndim == 0 else found

    def __str__(self) -> str:
        thresholds, shares = self.curve
        values = self.quantile(np.array(_QUANTILES))
        text = "  ".join(f"{q:.0%} {value:.4g}" for q, value in zip(_QUANTILES, values))
        lines = [
            f"margins of {counted(self.n_pairs, 'pair')}, weights sum to {self.norm:.4g}",
            f"minimum {self.minimum:.4g}  {text}  maximum {self.maximum:.4g}",
            f"tied or in the wrong order: {self.at_most(0.0):.4%}",
        ]
        if len(thresholds) > 2:
            bars = sparkline(np.diff(shares, prepend=0.0).tolist(), 48)
            lines.append(f"{thresholds[0]:>10.4g} {bars} {thresholds[-1]:.4g}")
        return "\n".join(lines)

    def to_frame(self) -> Frame:
        """Return the curve, one row per margin."""
        thresholds, shares = self.curve
        return as_frame({"margin": thresholds, "share": shares})

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the curve; needs matplotlib. Returns the axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
        options
            Options of ``ax.plot``, such as colour and label.
        """
        ax = new_axes(ax)
        thresholds, shares = self.curve
        ax.plot(thresholds, shares, drawstyle="steps-post", **options)
        ax.axvline(0.0, linestyle=":", color="0.5")
        ax.set_xlabel("margin")
        ax.set_ylabel("share of pairs with at most this margin")
        return ax


def margins(
    model: object,
    X: TableLike,
    y: VectorLike | None = None,
    qid: VectorLike | None = None,
    *,
    sample_weight: VectorLike | None = None,
    pairs: ArrayLike | None = None,
    pair_weight: VectorLike | None = None,
    resolution: int = 101,
    n_jobs: int | None = None,
) -> Margins:
    """Return the margins of the pairs of some rows.

    The margin of a pair is the score of the better item minus that of the other, divided by the
    sum of the absolute weights of the weak rankers, those of trees times what their values span:
    in [-1, 1] for trees and for weak rankers that score in [0, 1], above 0 for a pair in the right
    order. The pairs that labels imply are counted and not listed: a threshold costs O(n log n).

    Parameters
    ----------
    model : fitted estimator or AdditiveRanker
    X : array, sparse matrix, frame or Instances of shape (n_rows, n_features)
    y : array of shape (n_rows,), optional
        Labels: within a query, a higher one should rank higher.
    qid : array of shape (n_rows,), optional
        Query of each row; without it, all rows are compared.
    sample_weight : array of shape (n_rows,), optional
        A row of weight 2 counts as two rows.
    pairs : int array of shape (n_pairs, 2), optional
        Row numbers (winner, loser), instead of y or in addition.
    pair_weight : array of shape (n_pairs,), optional
        A pair that labels imply weighs 1.
    resolution : int
        Points of the curve.
    n_jobs : int, optional
        Threads; None is all cores.

    Examples
    --------
    >>> from crucial import RankBoost
    >>> X = np.array([[1, 0], [1, 1], [0, 1], [0, 0]], float)
    >>> ranker = RankBoost(10, weak="column").fit(X, [2, 2, 1, 0])
    >>> found = margins(ranker, X, [2, 2, 1, 0])
    >>> found.n_pairs, found.minimum > 0, found.at_most(0.0)
    (5, True, 0.0)
    """
    check("margins", "resolution", resolution, at_least(2))
    learned = model_of(model)
    if not isinstance(learned, AdditiveRanker):
        raise NotRankedError(
            "margins are measured against the weights of an additive ranker, and "
            f"{type(model).__name__} has none."
        )
    norm = _norm(learned)
    instances = checked_rows(learned, X)
    groups = Groups.from_qid(qid, instances.n_rows)
    scores = learned.predict(instances, groups, n_jobs=n_jobs) / norm
    threads = count_threads(n_jobs)
    parts: list[Feedback] = []
    if y is None and pairs is None:
        raise DataError("margins needs to know what should rank above what: give y or pairs.")
    if y is not None:
        labels = check_labels(y, instances.n_rows)
        weights = check_weights(sample_weight, instances.n_rows)
        parts.append(LabelFeedback(labels, groups, weight=weights))
    elif sample_weight is not None:
        raise DataError("sample_weight weighs the pairs that labels imply; use pair_weight.")
    if pairs is not None:
        parts.append(PairFeedback(pairs, instances.n_rows, weight=pair_weight))
    elif pair_weight is not None:
        raise DataError("pair_weight was given without pairs.")
    feedback = parts[0] if len(parts) == 1 else SumFeedback(parts)
    counts = feedback.margin_counts(scores[feedback.rows], threads)
    # (rounding may leave the last point of linspace a little below the maximum)
    thresholds = np.linspace(counts.minimum, counts.maximum, resolution)
    thresholds[-1] = counts.maximum
    curve = thresholds, shares_at_most(counts, thresholds)
    return Margins(counts.minimum, counts.maximum, curve, feedback.n_pairs, norm, counts)


def _norm(model: AdditiveRanker) -> float:
    """Return the sum of the absolute weights, after adding those of the same weak ranker."""
    total: dict[object, float] = {}
    for ranker, weight in model.weighted():
        if isinstance(ranker, Constant):
            continue  # (it is in no difference of scores)
        key = ranker if type(ranker).__hash__ is not None else id(ranker)
        spread = 2.0 if isinstance(ranker, Vote) else 1.0  # (-1 and 1 are 2 apart)
        spread = ranker.span if isinstance(ranker, Tree) else spread
        total[key] = total.get(key, 0.0) + spread * weight
    norm = sum(map(abs, total.values()))
    if not norm > 0.0:
        raise NotRankedError("this ranker has no weights, so its margins are all 0 over 0.")
    return norm


class MaxMargin(NamedTuple):
    """The largest possible margin, and weights that reach it."""

    rho: float
    weights: Floats


def max_margin(H: ArrayLike, pairs: ArrayLike) -> MaxMargin:
    """Return the largest margin of a weighted mean of weak rankers, by linear programming.

    ``rho = max over lambda of min over pairs of sum_j lambda_j (h_j(hi) - h_j(lo))``, over
    lambda >= 0 that sum to 1 (Rudin & Schapire 2009, section 4.2): the value of a matrix
    game. For checks: it has all pairs times all weak rankers in memory.

    Parameters
    ----------
    H : array of shape (n_rows, n_rankers)
        Scores of the weak rankers, such as within [0, 1]. No two rows of a pair may be more
        than 1 apart.
    pairs : int array of shape (n_pairs, 2)
        Row numbers (winner, loser).

    Returns
    -------
    rho : float
        The largest margin; 0 or less if no such mean orders all pairs correctly.
    weights : array of shape (n_rankers,)
        Weights of a ranker that reaches it.

    Examples
    --------
    >>> rho, weights = max_margin([[1, 1], [1, 0], [0, 1]], [(0, 1), (0, 2)])
    >>> round(rho, 6), weights.round(6).tolist()
    (0.5, [0.5, 0.5])
    """
    from scipy.optimize import linprog

    scores = np.asarray(H, np.float64)
    if scores.ndim != 2 or not scores.size:
        raise DataError(
            f"H must have a row for every instance and a column for every weak ranker. Got an "
            f"array of shape {scores.shape}."
        )
    if not np.isfinite(scores).all():
        row, column = np.argwhere(~np.isfinite(scores))[0].tolist()
        raise DataError(f"H must be finite. Row {row} of column {column} is {scores[row, column]}.")
    feedback = PairFeedback(pairs, len(scores))
    M = np.column_stack([feedback.margins(column) for column in scores[feedback.rows].T])
    if np.abs(M).max() > 1.0:
        at, column = np.argwhere(np.abs(M) > 1.0)[0].tolist()
        raise DataError(
            "the scores of a weak ranker must differ by at most 1 in every pair, as they do "
            f"within [0, 1]. Column {column} of H has a pair {M[at, column]:+.6g} apart."
        )
    n_pairs, n_rankers = M.shape
    found = linprog(
        np.append(np.zeros(n_rankers), -1.0),
        A_ub=np.column_stack((-M, np.ones(n_pairs))),
        b_ub=np.zeros(n_pairs),
        A_eq=np.append(np.ones(n_rankers), 0.0)[None, :],
        b_eq=[1.0],
        bounds=[(0.0, None)] * n_rankers + [(None, None)],
        method="highs",
    )
    if not found.success:
        raise NotRankedError(f"the linear program was not solved: {found.message}")
    solution = np.asarray(found.x, np.float64)
    return MaxMargin(float(solution[-1]), solution[:-1])


# --- Margins of classification: how confidently rows are on the right side of zero


def class_margins(
    classifier: object,
    X: TableLike,
    y: VectorLike,
    *,
    sample_weight: VectorLike | None = None,
    resolution: int = 101,
    n_jobs: int | None = None,
) -> Margins:
    """Return the margins of rows of two classes (Rudin & Schapire 2009, section 2).

    The margin of a row is ``y_i H(x_i) / |lambda|_1`` with ``y_i`` in {-1, 1}: in [-1, 1], and
    above 0 for a row on the right side. H is a sum of votes of -1 and 1 and of the constant 1;
    a stump of 0 and 1 is half a vote and half a constant, a tree a vote of its largest absolute
    value. ``|lambda|_1`` is the sum of their absolute weights, after adding those of the same vote.

    Parameters
    ----------
    classifier : fitted AdaBoostRanker, AdditiveRanker, or what ``to_classifier()`` returns
        Of a ``RankingClassifier`` the intercept is part of the constant.
    X : array, sparse matrix, frame or Instances of shape (n_rows, n_features)
    y : array of shape (n_rows,)
        Labels of two values; the higher one is the good class.
    sample_weight : array of shape (n_rows,), optional
    resolution : int
        Points of the curve.
    n_jobs : int, optional
        Threads; None is all cores.

    Returns
    -------
    Margins
        Its ``n_pairs`` is the number of rows: each is compared with zero.

    Examples
    --------
    >>> from crucial.rankers import AdaBoostRanker
    >>> X = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    >>> booster = AdaBoostRanker(400, 1.0, step="smooth").fit(X, [1, 1, 1, 0])
    >>> round(class_margins(booster, X, [1, 1, 1, 0]).minimum, 2)
    0.33
    """
    check("class_margins", "resolution", resolution, at_least(2))
    intercept = 0.0
    if isinstance(classifier, RankingClassifier):
        check_is_fitted(classifier, "ranker_")
        intercept, classifier = float(classifier.intercept_), classifier.ranker_
    model = model_of(classifier)
    if not isinstance(model, AdditiveRanker):
        raise NotRankedError(
            "margins are measured against the weights of an additive ranker, and "
            f"{type(classifier).__name__} has none."
        )
    norm = _class_norm(model, intercept)
    instances = checked_rows(model, X)
    n = instances.n_rows
    labels = check_labels(y, n)
    values = np.unique(labels)
    if len(values) != 2:
        raise DataError(
            f"class_margins needs labels of two values, and y has {len(values)}. For grades, or "
            "within queries, use margins()."
        )
    scores = model.predict(instances, Groups.single(n), n_jobs=n_jobs) + intercept
    # A row n of score 0: good rows should be above it, bad ones below.
    good = labels == values[1]
    rows = np.arange(n)
    pairs = np.stack((np.where(good, rows, n), np.where(good, n, rows)), axis=1)
    weight = check_weights(sample_weight, n)
    feedback = PairFeedback(pairs, n + 1, weight=weight)
    scaled = np.append(scores, 0.0)[feedback.rows] / norm
    counts = feedback.margin_counts(scaled, count_threads(n_jobs))
    thresholds = np.linspace(counts.minimum, counts.maximum, resolution)
    thresholds[-1] = counts.maximum
    curve = thresholds, shares_at_most(counts, thresholds)
    return Margins(counts.minimum, counts.maximum, curve, feedback.n_pairs, norm, counts)


def _class_norm(model: AdditiveRanker, intercept: float) -> float:
    """Return the sum of the absolute weights of distinct votes, and of the constant."""
    total: dict[object, float] = {}
    constant = intercept
    for ranker, weight in zip(model.rankers, model.weights, strict=True):
        if isinstance(ranker, Constant):
            constant += weight
        elif isinstance(ranker, Vote):
            total[ranker.ranker] = total.get(ranker.ranker, 0.0) + weight
        elif isinstance(ranker, Stump | Presence):
            total[ranker] = total.get(ranker, 0.0) + weight / 2.0
            constant += weight / 2.0
        elif isinstance(ranker, Tree):
            total[ranker] = total.get(ranker, 0.0) + weight * ranker.size
        else:
            raise NotRankedError(
                "margins of classification need votes, stumps or trees, and "
                f"{ranker!r} is none of them."
            )
    norm = abs(constant) + sum(map(abs, total.values()))
    if not norm > 0.0:
        raise NotRankedError("this ranker has no weights, so its margins are all 0 over 0.")
    return norm
